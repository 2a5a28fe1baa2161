"""Many environments in one process: a task on a batch of simulations."""

import os
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from mjgym import infos
from mjgym.camera import Cameras
from mjgym.episode import DivergenceError, Episodes, Step, check_state
from mjgym.models import compile_model
from mjgym.observables import Image
from mjgym.options import Options
from mjgym.sim import Batched, View
from mjgym.spaces import (
    action_space,
    assign,
    check_action,
    copy_observation,
    not_finite,
    row,
    take,
)
from mjgym.suggestions import did_you_mean
from mjgym.task import Arrays, Task
from mjgym.variation.varying import Varying

# What `call` and `get_attr` give: attributes of which each sub-environment has its own, those that
# all share, and methods that only all of them do together.
_OWN = {"np_random", "np_random_seed"}
_SHARED = {
    **{name: name for name in ("task", "model", "physics_timestep", "control_timestep")},
    **{name: name for name in ("spec", "metadata", "render_mode", "closed")},
    "action_space": "single_action_space",
    "observation_space": "single_observation_space",
}
_TOGETHER = {"close", "reset", "step"}

Result = tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]


def check_reset_mask(mask: Any, num_envs: int) -> np.ndarray:
    """A mask of sub-environments that are to be reset, (num_envs,) bool.

    Raises:
        TypeError: it is not an array of bool.
        ValueError: it has a wrong length.
    """
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask']: expected an array of bool, got {mask!r}")
    if mask.shape != (num_envs,):
        raise ValueError(f"options['reset_mask']: expected shape ({num_envs},), got {mask.shape}")
    return mask


def allowed_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class VectorEnv(gymnasium.vector.VectorEnv[Any, np.ndarray, np.ndarray]):
    """A `gymnasium.vector.VectorEnv` that runs a task on one batch of simulations.

    Sub-environment i of `reset(seed=s)` equals the single environment seeded s + i, bit for bit,
    at any number of threads.

    Args:
        task: what to run.
        num_envs: number of sub-environments.
        max_episode_steps: control steps after which an episode is truncated; None for no limit.
        threads: that step the simulations; None for all cores that the process may use.
        autoreset_mode: "NextStep", "SameStep" or "Disabled", as Gymnasium defines them.
        copy: return copies of the observations; without, the next step overwrites them.
        **options: the fields of `mjgym.options.Options`.

    Attributes:
        task: the task.
        model: the MjModel that all simulations share (without textures).
        physics_timestep: seconds.
        control_timestep: seconds between two actions.
        threads: that step the simulations.
        max_episode_steps: control steps after which an episode is truncated; None for no limit.
    """

    metadata = {  # noqa: RUF012  (as Gymnasium declares it)
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        threads: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **options: Any,
    ) -> None:
        for name, number in (
            ("num_envs", num_envs),
            ("threads", 1 if threads is None else threads),
            ("max_episode_steps", 1 if max_episode_steps is None else max_episode_steps),
        ):
            if number < 1:
                raise ValueError(f"{name}: must be at least 1, got {number}")
        self._arguments: dict[str, Any] = {
            "max_episode_steps": max_episode_steps,
            "threads": threads,
            "autoreset_mode": AutoresetMode(autoreset_mode),
            "copy": copy,
        }
        self._options = Options(**options)
        if self._options.render_mode == "human":
            raise ValueError('render_mode: "human" shows one environment; use "rgb_array"')
        self.task = task
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.max_episode_steps = max_episode_steps
        self._copy = copy

        self.model = compile_model(task)
        varying = self._options.varying(self.model)
        self.threads = min(threads or allowed_cores(), num_envs)
        simulations = self._simulate(varying)
        self._simulations = simulations
        draws = self._options.draws(varying, num_envs)
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._seeds: list[int] = [-1] * num_envs
        self._episodes = Episodes(task, simulations, self._rng, draws)
        self.physics_timestep = float(self.model.opt.timestep)
        self.control_timestep = self.physics_timestep * self._episodes.substeps
        self._cameras = Cameras(self._episodes, self._options, self.threads)
        self._layout = self._options.observe(self._episodes, self._cameras.draw)
        self.render_mode = self._options.render_mode
        self.metadata = {
            **type(self).metadata,
            "autoreset_mode": self.autoreset_mode,
            "render_fps": 1 / self.control_timestep,
        }

        self.single_action_space = action_space(task.actions(self.model))
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._action_shape = (num_envs, *self.single_action_space.shape)
        self.single_observation_space = self._layout.space()
        self.observation_space = self._layout.space((num_envs,))

        # The buffers of the present and of the previous observation take turns.
        self._buffers = [self._layout.empty((num_envs,)), self._layout.empty((num_envs,))]
        self._done = np.zeros(num_envs, dtype=bool)
        self._process = os.getpid()

    def _simulate(self, varying: Varying | None) -> Any:
        """The simulations that all sub-environments run on."""
        return Batched(self.model, self.num_envs, self.threads, self.task.varies, varying)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The sub-environments' seeds; -1 where unknown."""
        return tuple(self._seeds)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The sub-environments' random generators."""
        return tuple(self._rng(i) for i in range(self.num_envs))

    def _rng(self, i: int) -> np.random.Generator:
        rng = self._rngs[i]
        if rng is None:
            rng, self._seeds[i] = seeding.np_random(None)
            self._rngs[i] = rng
        return rng

    @property
    def entry_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the observation's entries as the task gives them; () is [1] in a dict."""
        return dict(self._layout.shapes)

    @property
    def view(self) -> View:
        """The live arrays by name, as the task sees them; see `mjgym.sim.views.View`."""
        self._check_open()
        return self._episodes.view

    # Beginning episodes.

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes in all sub-environments, or in some.

        Args:
            seed: s for the seeds s, s + 1, ..., a sequence of one seed each, or None to go on with
                the present generators.
            options: {"reset_mask": (num_envs,) bool} starts only the masked ones; the others'
                observations stay as they are.

        Raises:
            gymnasium.error.ClosedEnvironmentError: the environments have been closed.
            TypeError: the mask is not an array of bool.
            ValueError: the mask or the sequence of seeds has a wrong length, or the mask is empty.
        """
        self._check_usable()
        seeds = self._seed_list(seed)
        mask = self._mask(options)
        for i in range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist():
            if seeds[i] is not None:
                self._rngs[i], self._seeds[i] = seeding.np_random(seeds[i])
                self._episodes.reseed(i)
        begun = np.ones(self.num_envs, dtype=bool) if mask is None else mask
        self._begin(begun, by_reset=True)
        self._observe()
        return self._observation(), infos.of_variation(self._episodes, begun)

    def _begin(self, mask: np.ndarray, *, by_reset: bool = False) -> None:
        self._episodes.reset(None if mask.all() else mask, by_reset=by_reset)
        self._done[mask] = False

    def _seed_list(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"seed: {len(seed)} seeds for {self.num_envs} sub-environments")
        return list(seed)

    def _mask(self, options: dict[str, Any] | None) -> np.ndarray | None:
        if not options or "reset_mask" not in options:
            return None
        mask = check_reset_mask(options["reset_mask"], self.num_envs)
        if not mask.any():
            raise ValueError("options['reset_mask']: at least one must be True")
        return mask.copy()

    # A control step, and what becomes of the episodes that have ended.

    def step(self, actions: np.ndarray) -> Result:
        """Advance by one control step; see `gymnasium.vector.VectorEnv.step`.

        `info` holds `terms/<name>` (the reward's factors), `diverged`, and, for a task with a
        goal, `success` (now) and `success_once` (so far in this episode), each with its mask.

        Raises:
            gymnasium.error.ClosedEnvironmentError: the environments have been closed.
            gymnasium.error.ResetNeeded: a sub-environment has no episode.
            ValueError: the actions have a wrong shape or one is not finite; nothing is stepped.
            DivergenceError: a simulation is no longer finite, with `on_divergence="raise"`.
        """
        self._check_usable()
        started = self._episodes.started
        if np.count_nonzero(started) < self.num_envs:  # a tenth of the cost of all()
            i = int(np.flatnonzero(~started)[0])
            raise gymnasium.error.ResetNeeded(f"sub-environment {i}: call reset() before step()")
        actions = check_action(actions, self._action_shape)
        begun = None
        if np.count_nonzero(self._done):
            if self.autoreset_mode == AutoresetMode.DISABLED:
                self._autoreset_disabled()
            begun = self._autoreset_next_step()
        if begun is not None and begun.all():  # nobody is left to step
            self._observe()
            none = np.zeros(self.num_envs, dtype=bool)
            rewards = np.zeros(np.shape(self._episodes.rewards))
            return (
                self._observation(),
                rewards,
                none,
                none.copy(),
                infos.of_variation(self._episodes, begun),
            )
        step = self._episodes.step(actions, None if begun is None else ~begun)
        self._observe()
        bad = not_finite(self._buffers[0], self.num_envs)
        if bad is not None:
            bad = bad if begun is None else bad & ~begun
            step = step._replace(diverged=bad if step.diverged is None else step.diverged | bad)
        if step.diverged is not None and self._options.on_divergence == "raise":
            self._episodes.end(step.diverged)
            raise DivergenceError(
                f"sub-environments {np.flatnonzero(step.diverged).tolist()} of"
                f" {type(self.task).__name__} are no longer finite; reset them"
            )
        return self._finish(step, begun)

    def _finish(self, step: Step, begun: np.ndarray | None) -> Result:
        """What a step returns.

        Args:
            step: of the episodes.
            begun: who began an episode instead of stepping; None for nobody.
        """
        rewards = infos.each(step.reward, np.float64, self.num_envs)
        terminations = infos.each(step.terminated, bool, self.num_envs)
        truncations = infos.each(step.truncated, bool, self.num_envs)
        if self.max_episode_steps is not None:
            truncations |= self._episodes.steps >= self.max_episode_steps
        stepped = np.ones(self.num_envs, dtype=bool) if begun is None else ~begun
        if begun is not None:
            rewards[begun] = 0.0
            terminations[begun] = False
            truncations[begun] = False
        if step.diverged is not None:
            assign(self._buffers[0], step.diverged, self._buffers[1])
            rewards[step.diverged] = 0.0
            terminations[step.diverged] = False
            truncations[step.diverged] = True
        info = infos.of_step(self._episodes, step, stepped)
        if begun is not None:
            info.update(infos.of_variation(self._episodes, begun))
        self._done = terminations | truncations
        if self.autoreset_mode == AutoresetMode.SAME_STEP and np.count_nonzero(self._done):
            info = self._autoreset_same_step(info)
        return self._observation(), rewards, terminations, truncations, info

    def _autoreset_next_step(self) -> np.ndarray:
        """Begin, in the step after the one that ended them, the next episodes; returns which."""
        ended = self._done.copy()
        self._begin(ended)
        return ended

    def _autoreset_same_step(self, info: dict[str, Any]) -> dict[str, Any]:
        """Begin, in the step that ends an episode, the next one, and keep what has been."""
        ended = self._done.copy()
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended).tolist():
            final_obs[i] = row(self._buffers[0], i)
        final_info = infos.only(info, ended)
        info = infos.only(info, ~ended)
        info.update(
            final_obs=final_obs,
            _final_obs=ended.copy(),
            final_info=final_info,
            _final_info=ended.copy(),
        )
        self._begin(ended)
        info.update(infos.of_variation(self._episodes, ended))
        fresh = self._layout.pack(
            self._entries(), lambda image: self._draw(image, ended), (self.num_envs,)
        )
        assign(self._buffers[0], ended, fresh)
        return info

    def _autoreset_disabled(self) -> NoReturn:
        """Refuse to step what has ended and has not been reset."""
        i = int(np.flatnonzero(self._episodes.view.to_numpy(self._done))[0])
        raise gymnasium.error.ResetNeeded(
            f"sub-environment {i} has ended; reset it with options={{'reset_mask': mask}}"
        )

    # What is observed.

    def _entries(self) -> Arrays:
        return self._episodes.observe() if self._layout.needs_entries else {}

    def _observe(self) -> None:
        self._buffers.reverse()
        self._layout.write(self._entries(), self._buffers[0], self._draw)

    def _draw(self, image: Image, mask: np.ndarray | None = None) -> np.ndarray:
        """Pictures of the sub-environments of a mask, or of all, in an array for all of them."""
        rows = np.arange(self.num_envs) if mask is None else np.flatnonzero(mask)
        drawn = self._cameras.draw(image, rows)
        pictures = np.zeros((self.num_envs, *drawn.shape[1:]), drawn.dtype)
        pictures[rows] = drawn
        return pictures

    def _observation(self) -> Any:
        return copy_observation(self._buffers[0]) if self._copy else self._buffers[0]

    def observe(self) -> Arrays:
        """The observation's entries by name as the simulator has them, in double precision."""
        return self.view.owned(self._episodes.observe())

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of each sub-environment, uint8 (height, width, 3), see `render_mode`.

        Raises:
            RenderingError: no OpenGL works here; the message says what to install.
        """
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() draws nothing without a render_mode, e.g. gym.make_vec(id,"
                ' render_mode="rgb_array"); envs.camera() draws at any time'
            )
            return None
        return tuple(self.camera())

    def camera(
        self,
        name: str | int | None = None,
        *,
        ids: Sequence[int] | np.ndarray | None = None,
        **options: Any,
    ) -> np.ndarray:
        """Pictures of the present states of some sub-environments, at any time.

        Args:
            name: of the camera, its index, or -1 for the free camera; None for the environment's.
            ids: of sub-environments; None for all.
            **options: `kind`, `width`, `height` and `hidden_groups`, as of `Env.camera`.

        Returns:
            The pictures, with a leading axis as long as `ids`.

        Raises:
            ValueError: there is no such camera, kind or sub-environment, or a size is not positive.
            RenderingError: no OpenGL works here; the message says what to install.
        """
        self._check_open()
        return self._cameras.take(self._rows(ids), name, **options)

    # Snapshots.

    def get_state(self, ids: Sequence[int] | np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Everything that the futures of some episodes depend on, as copies by name.

        The entries are those of `Env.get_state` with a leading axis.

        Args:
            ids: of sub-environments; None for all.

        Raises:
            ValueError: there is no such sub-environment.
        """
        self._check_open()
        return self._episodes.get_state(self._rows(ids))

    def set_state(
        self, state: dict[str, Any], ids: Sequence[int] | np.ndarray | None = None
    ) -> Any:
        """Write a state, or some entries of one, and return the observations there.

        Args:
            state: entries of `get_state`, the leading axis as long as `ids`.
            ids: of the sub-environments to write; None for all.

        Raises:
            ValueError: an entry is unknown, of a wrong shape or not finite, or there is no such
                sub-environment; nothing is written then.
        """
        self._check_usable()
        rows = self._rows(ids)
        self._episodes.set_state(check_state(state, self.get_state(rows)), rows)
        self._done[rows] = False
        self._observe()
        return take(self._buffers[0], rows)

    # One by one, as `gymnasium.vector.SyncVectorEnv` has them.

    def call(
        self, name: str, *args: Any, ids: Sequence[int] | np.ndarray | None = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """What a method or an attribute of each sub-environment gives, as of `Env`.

        Args:
            name: of a method that sub-environments have for themselves ("camera", "get_state",
                "observe", "render", "set_state"), or of an attribute, see `get_attr`.
            *args: of the method; a state is written to each.
            ids: of sub-environments; None for all.
            **kwargs: of the method.

        Raises:
            AttributeError: there is no such method or attribute, or only all do it together, as
                they reset and step; the message names the nearest ones.
            ValueError: there is no such sub-environment.
        """
        rows = self._rows(ids)
        methods = self._methods(rows)
        if name in methods:
            return methods[name](*args, **kwargs)
        if name in _OWN:
            values = getattr(self, name)
            return tuple(values[i] for i in rows.tolist())
        if name in _SHARED:
            return (getattr(self, _SHARED[name]),) * len(rows)
        raise self._no_attribute(name)

    def _methods(self, rows: np.ndarray) -> dict[str, Callable[..., tuple[Any, ...]]]:
        """The methods of `Env` by name, for some sub-environments at once."""

        def each(batch: Any) -> tuple[Any, ...]:
            return tuple(row(batch, k) for k in range(len(rows)))

        def camera(name: str | int | None = None, **options: Any) -> tuple[Any, ...]:
            return tuple(self.camera(name, ids=rows, **options))

        def get_state() -> tuple[Any, ...]:
            return each(self.get_state(rows))

        def observe() -> tuple[Any, ...]:
            entries = self.observe()
            return tuple({name: np.array(entries[name][i]) for name in entries} for i in rows)

        def render() -> tuple[Any, ...]:
            return (self.render(),) * len(rows) if self.render_mode is None else camera()

        def set_state(state: Any) -> tuple[Any, ...]:
            if isinstance(state, dict):
                state = {name: np.stack([value] * len(rows)) for name, value in state.items()}
            return each(self.set_state(state, rows))

        return {f.__name__: f for f in (camera, get_state, observe, render, set_state)}

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each sub-environment, as of `Env`.

        `np_random` and `np_random_seed` are their own; `task`, `model`, `physics_timestep`,
        `control_timestep`, `action_space`, `observation_space`, `render_mode`, `metadata`, `spec`
        and `closed` they share.

        Raises:
            AttributeError: there is no such attribute; the message names the nearest ones.
        """
        return self.call(name)

    def set_attr(
        self, name: str, values: Any, *, ids: Sequence[int] | np.ndarray | None = None
    ) -> None:
        """Set the random generators of sub-environments, the one attribute that may change.

        All else is shared by them, or follows from the arguments of `make_vec`.

        Args:
            name: "np_random".
            values: a list or tuple of one generator each, or one that they share.
            ids: of sub-environments; None for all.

        Raises:
            AttributeError: there is no such attribute, or it cannot be set.
            TypeError: a value is no `numpy.random.Generator`.
            ValueError: there is no such sub-environment, or not a value for each.
        """
        self._check_open()
        rows = self._rows(ids)
        if name in {*_SHARED, *_OWN} - {"np_random"}:
            raise AttributeError(
                f"{name!r} cannot be set: sub-environments share one batch; give make_vec other"
                " arguments"
            )
        if name != "np_random":
            raise self._no_attribute(name)
        generators = list(values) if isinstance(values, list | tuple) else [values] * len(rows)
        if len(generators) != len(rows):
            raise ValueError(f"{name}: {len(generators)} values for {len(rows)} sub-environments")
        for rng in generators:
            if not isinstance(rng, np.random.Generator):
                raise TypeError(f"{name}: expected a numpy.random.Generator, got {rng!r}")
        for i, rng in zip(rows.tolist(), generators, strict=True):
            self._rngs[i], self._seeds[i] = rng, -1
            self._episodes.reseed(i)

    def _no_attribute(self, name: str) -> AttributeError:
        if name in _TOGETHER:
            return AttributeError(
                f"a sub-environment has no {name!r} of its own: all are one batch; use"
                f" envs.{name}()"
            )
        hint = did_you_mean(name, [*self._methods(np.arange(0)), *sorted(_OWN), *_SHARED])
        return AttributeError(f"sub-environments have no {name!r}{hint}")

    def _rows(self, ids: Sequence[int] | np.ndarray | None) -> np.ndarray:
        if ids is None:
            return np.arange(self.num_envs)
        rows = np.asarray(ids)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise ValueError(f"ids: expected a sequence of integers, got {ids!r}")
        bad = rows[(rows < 0) | (rows >= self.num_envs)]
        if bad.size:
            raise ValueError(f"ids: no sub-environment {bad[0]}, there are {self.num_envs}")
        if np.unique(rows).size != rows.size:
            raise ValueError(f"ids: each may occur once, got {ids!r}")
        return rows

    def _check_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError(
                "this VectorEnv has been closed; make another one"
            )

    def _check_usable(self) -> None:
        self._check_open()
        if os.getpid() != self._process:
            raise RuntimeError(
                "this VectorEnv was made before os.fork(), and its threads are not in this"
                " process; make it in the process that steps it"
            )

    def close_extras(self, **kwargs: Any) -> None:
        """Let go of what draws, of the simulations and of their threads.

        Views of them can no longer be read. Arrays of theirs that are still held keep their
        numbers, and with them the threads.
        """
        if "_cameras" in vars(self):  # not where the constructor has raised
            self._cameras.close()
            self._simulations.close()

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: what the environments are made from, and their state."""
        kept = ("_done", "_buffers", "_seeds", "spec", "render_mode")
        return {
            "task": self.task,
            "num_envs": self.num_envs,
            "arguments": {**self._arguments, **vars(self._options)},
            "state": self.get_state(),
            "started": self._episodes.started,
            "attributes": {name: getattr(self, name) for name in kept},
        }

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__init__(pickled["task"], pickled["num_envs"], **pickled["arguments"])  # type: ignore[misc]
        self.set_state(pickled["state"])
        self._episodes.started = pickled["started"]
        self.__dict__.update(pickled["attributes"])
