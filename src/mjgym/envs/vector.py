"""Many environments in one process: a task on a batch of simulations."""

import contextlib
import functools
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from mjgym.arrays import Array, any_true, copied, zero_unless
from mjgym.envs.camera import Cameras
from mjgym.envs.infos import Infos, only
from mjgym.envs.observations import Observations, copy_observation, rows_of, take
from mjgym.envs.options import Options
from mjgym.envs.spaces import action_space, check_action
from mjgym.envs.sub_environments import Ids, SubEnvironments, seed_list
from mjgym.loop.episode import Episodes, Step
from mjgym.loop.states import check_state, identity
from mjgym.sim import Batched, View
from mjgym.task import Arrays, Task
from mjgym.task.models import compile_model
from mjgym.task.visuals import compile_without_visuals
from mjgym.util.cores import allowed_cores
from mjgym.util.numbers import whole_number
from mjgym.variation.varying import Varying

Result = tuple[Any, Array, Array, Array, dict[str, Any]]

_NO_CONTEXT = contextlib.nullcontext()


class VectorEnv(SubEnvironments):
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
        **options: the fields of `mjgym.envs.options.Options`.

    Attributes:
        task: the task.
        model: the MjModel that all simulations share (without textures).
        physics_timestep: seconds.
        control_timestep: seconds between two actions.
        threads: that step the simulations.
        max_episode_steps: control steps after which an episode is truncated; None for no limit.
        cameras: pictures of the present states, see `mjgym.envs.camera.Cameras`.
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
        whole_number("num_envs", num_envs)
        if threads is not None:
            whole_number("threads", threads)
        self._arguments: dict[str, Any] = {
            "max_episode_steps": max_episode_steps,
            "threads": threads,
            "autoreset_mode": AutoresetMode(autoreset_mode),
            "copy": copy,
        }
        self._options = Options(**options)
        if self._options.render_mode == "human":
            raise ValueError('render_mode: "human" shows one environment; use "rgb_array"')
        super().__init__(num_envs)
        self.task = task
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.max_episode_steps = max_episode_steps
        self._copy = copy

        self.model = compile_model(task)
        varying = self._options.varying(self.model)
        self.threads = min(threads or allowed_cores(), num_envs)
        simulations = self._simulate(varying)
        self._simulations = simulations
        draws = self._options.draws(varying, num_envs)
        self._episodes = Episodes(
            task,
            simulations,
            self._rng,
            draws,
            max_steps=max_episode_steps,
            raises=self._options.on_divergence == "raise",
        )
        self._xp = self._episodes.view.xp
        self._infos = Infos(self._episodes)
        self.physics_timestep = float(self.model.opt.timestep)
        self.control_timestep = self.physics_timestep * self._episodes.substeps
        self.cameras = self._open_cameras()
        self._observations = Observations(self._episodes, self._options, self.cameras)
        self.render_mode = self._options.render_mode
        self.metadata = {
            **type(self).metadata,
            "autoreset_mode": self.autoreset_mode,
            "render_fps": 1 / self.control_timestep,
        }

        self.single_action_space = action_space(task.actions(self.model))
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._action_shape = (num_envs, *self.single_action_space.shape)
        layout = self._observations.layout
        self.single_observation_space = layout.space()
        self.observation_space = layout.space((num_envs,))

        self._done: Array = self._nobody()
        self._process = os.getpid()

    def _simulate(self, varying: Varying | None) -> Any:
        """The simulations that all sub-environments run on."""
        without_visuals = functools.partial(compile_without_visuals, self.task)
        return Batched(
            self.model,
            self.num_envs,
            self.threads,
            self.task.varies,
            varying,
            without_visuals,
            apart=self.task.control_every_substep,
        )

    def _open_cameras(self) -> Cameras:
        """The cameras of all sub-environments."""
        return Cameras(self._episodes, self._options, self.threads)

    @property
    def uncompiled(self) -> str:
        """The reason why control runs on arrays; empty where a compiled law does."""
        return self._episodes.uncompiled

    @property
    def entry_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the observation's entries as the task gives them; () is [1] in a dict."""
        return dict(self._observations.layout.shapes)

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
            gymnasium.error.Error: a seed is not a whole number from 0 on; nothing is changed.
            TypeError: the mask is not an array of bool, or `seed` no number and no sequence.
            ValueError: the mask or the sequence of seeds has a wrong length, the mask is empty, or
                an option is unknown.
            DivergenceError: an episode cannot begin: its observation is not finite, even when its
                start is drawn again (with `on_divergence="raise"` it is not).
        """
        self.check_usable()
        seeds = seed_list(seed, self.num_envs)
        mask = self.reset_mask(options, self.num_envs)
        if seed is not None:
            self._recall_starts()
        with self.enter():
            for i in range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist():
                if (own := seeds[i]) is not None:
                    self._seed(i, own)
            begun = ~self._nobody() if mask is None else self._episodes.view.from_numpy(mask)
            self._begin(begun, by_reset=True)
            result = self._observation(), self._infos.of_variation(begun)
            observation, info = self.to_output(result)
        return observation, info

    def _begin(self, mask: Array, *, by_reset: bool = False) -> None:
        self._episodes.reset(mask if any_true(~mask) else None, by_reset=by_reset)
        self._done = self._done & ~mask

    def _nobody(self) -> Array:
        """A mask that holds for none of the sub-environments."""
        return self._xp.zeros(self.num_envs, dtype=self._xp.bool)

    # A control step, and what becomes of the episodes that have ended.

    def step(self, actions: Array) -> Result:
        """Advance by one control step; see `gymnasium.vector.VectorEnv.step`.

        `info` holds `terms/<name>` (the reward's factors), `diverged`, and, for a task with a
        goal, `success` (now) and `success_once` (so far in this episode), each with its mask.

        Raises:
            gymnasium.error.ClosedEnvironmentError: the environments have been closed.
            gymnasium.error.ResetNeeded: a sub-environment has no episode.
            ValueError: the actions have a wrong shape or one is not finite; nothing is stepped.
            DivergenceError: a simulation is no longer finite, with `on_divergence="raise"`.
        """
        self.check_usable()
        with self.enter():
            result: Result = self.to_output(self._step(actions))
        return result

    def _step(self, actions: Array) -> Result:
        actions, ended = self._prepare(actions)
        begun = None
        if ended:
            if self.autoreset_mode == AutoresetMode.DISABLED:
                self._refuse_ended()
            # Those whose episode ended in the last step begin one in this step.
            begun = self._done
            self._begin(begun)
        if ended == self.num_envs:  # nobody is left to step
            return self._begin_all()
        step = self._episodes.step(actions, None if begun is None else ~begun)
        return self._finish(step, begun)

    def checked_actions(self, actions: Any, shape: tuple[int, ...]) -> Array:
        """Actions as the simulations take them.

        Raises:
            ValueError: they have a wrong shape or type, or one is not finite.
        """
        return check_action(actions, shape, self._episodes.first_number)

    def number_from(self, first: int) -> None:
        """Let errors name sub-environments as part of a larger batch, from this number on."""
        self._episodes.first_number = first

    def check_ready(self) -> None:
        """Refuse to step sub-environments that have no episode, or await a reset by a mask.

        Raises:
            gymnasium.error.ResetNeeded: there is such a one; the message names it.
        """
        if np.count_nonzero(self._episodes.started) < self.num_envs:  # a tenth of the cost of all()
            self._refuse_unstarted()
        if self.autoreset_mode == AutoresetMode.DISABLED and np.count_nonzero(self._done):
            self._refuse_ended()

    def _prepare(self, actions: Any) -> tuple[Array, int]:
        """Actions that can be taken, and how many episodes have ended.

        Raises:
            gymnasium.error.ResetNeeded: a sub-environment has no episode.
            ValueError: as `checked_actions`.
        """
        self.check_ready()
        ended = int(np.count_nonzero(self._done))
        return self.checked_actions(actions, self._action_shape), ended

    def _refuse_unstarted(self) -> NoReturn:
        """Refuse to step what has never been reset."""
        i = self._first(~self._episodes.started)
        raise gymnasium.error.ResetNeeded(f"sub-environment {i}: call reset() before step()")

    def _refuse_ended(self) -> NoReturn:
        """Refuse to step what has ended and has not been reset."""
        raise gymnasium.error.ResetNeeded(
            f"sub-environment {self._first(self._done)} has ended; reset it with"
            " options={'reset_mask': mask}"
        )

    def _first(self, mask: Array) -> int:
        """The number of the first sub-environment of a mask."""
        first = int(np.flatnonzero(self._episodes.view.to_numpy(mask))[0])
        return first + self._episodes.first_number

    def _begin_all(self) -> Result:
        """The result of a step in which all sub-environments have begun an episode."""
        bad, everyone = self._observations.show(), ~self._nobody()
        rewards = self._xp.zeros(self._episodes.rewards.shape, dtype=self._infos.precision)
        info: dict[str, Any] = {}
        if bad is not None:
            self._end_at_once(bad)
            info.update(diverged=copied(bad), _diverged=copied(bad))
        info.update(self._infos.of_variation(everyone))
        return self._observation(), rewards, self._nobody(), copied(self._done), info

    def _end_at_once(self, bad: Array) -> None:
        """Give up episodes whose start is not finite: they end with the step that begins them."""
        self._episodes.refuse(bad)
        self._observations.take_back(bad)
        self._done = self._done | bad

    def _finish(self, step: Step, begun: Array | None) -> Result:
        """The result of a step.

        Args:
            step: of the episodes.
            begun: who began an episode instead of stepping; None for nobody.
        """
        infos, diverged, flag = self._infos, step.diverged, self._xp.bool
        rewards = infos.each(step.reward, infos.precision)
        terminations = infos.each(step.terminated, flag)
        truncations = infos.each(step.truncated, flag)
        stepped = None
        if begun is not None:
            stepped = ~begun
            rewards = zero_unless(stepped, rewards)
            terminations &= stepped
            truncations &= stepped if diverged is None else stepped | diverged
        if diverged is not None:
            self._observations.take_back(diverged)
        info = infos.of_step(step, stepped)
        if begun is not None:
            info.update(infos.of_variation(begun))
        self._done = terminations | truncations
        if self.autoreset_mode == AutoresetMode.SAME_STEP and any_true(self._done):
            info = self._begin_at_once(info)
        return self._observation(), rewards, terminations, truncations, info

    def _begin_at_once(self, info: dict[str, Any]) -> dict[str, Any]:
        """Begin, in the step that ends an episode, the next one, and keep what has been."""
        ended, last = self._done, self._observations.present
        final_info, info = only(info, ended), only(info, ~ended)
        info.update(final_obs=self._final(last, ended), _final_obs=copied(ended))
        info.update(final_info=final_info, _final_info=copied(ended))
        self._begin(ended)
        info.update(self._infos.of_variation(ended))
        bad = self._observations.show(ended)
        if bad is not None:
            self._episodes.refuse(bad)
            self._done = self._done | bad  # they begin again with the next step
        return info

    # The two ways out of this class for simulations on other devices.

    def enter(self) -> AbstractContextManager[Any]:
        """A context in which the simulations compute: every public method works in it."""
        return _NO_CONTEXT

    def to_output(self, values: Any) -> Any:
        """Results of a public method, in arrays of the library that the user gets."""
        return values

    def _final(self, observation: Any, ended: Array) -> Any:
        """The last observations of episodes that have ended, as an info shows them."""
        return rows_of(observation, ended)

    # What is observed.

    def _observation(self) -> Any:
        observation = self._observations.present
        return copy_observation(observation) if self._copy else observation

    def present(self) -> Any:
        """A copy of the observations that the last call of `reset` or `step` returned."""
        with self.enter():
            return self.to_output(copy_observation(self._observations.present))

    def observe(self) -> Arrays:
        """The observation's entries by name as the simulator has them, in double precision."""
        with self.enter():
            entries: Arrays = self.to_output(self.view.owned(self._episodes.observe()))
        return entries

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
        name: Any = None,
        *,
        ids: Ids = None,
        **options: Any,
    ) -> np.ndarray:
        """Images of the current states of the given sub-environments, at any time.

        Args:
            name: as of `Env.camera`.
            ids: of sub-environments; None for all.
            **options: `kind`, `width`, `height`, `show`, `groups` and `hidden_groups`, as of
                `Env.camera`.

        Returns:
            The pictures, with a leading axis as long as `ids`.

        Raises:
            ValueError: there is no such camera, kind or sub-environment, or a size is not positive.
            RenderingError: no OpenGL works here; the message says what to install.
        """
        return np.stack(self.cameras.render(self.shots(name, ids=ids, **options)))

    def shots(self, name: Any = None, *, ids: Ids = None, **options: Any) -> list[Any]:
        """Copies of what pictures of the present states show, for `cameras.render` to draw later.

        Args:
            name: as of `camera`.
            ids: likewise.
            **options: likewise.

        Raises:
            ValueError: as `camera`.
        """
        self._check_open()
        with self.enter():
            return self.cameras.shots(self._rows(ids), name, **options)

    # Snapshots.

    def get_state(self, ids: Ids = None) -> dict[str, np.ndarray]:
        """Copies, by name, of everything that the given episodes' futures depend on.

        The entries are those of `Env.get_state` with a leading axis.

        Args:
            ids: of sub-environments; None for all.

        Raises:
            ValueError: there is no such sub-environment.
        """
        self._check_open()
        rows = self._rows(ids)
        self._recall_starts()
        with self.enter():
            state = self._episodes.get_state(rows)
            older = self._observations.older_frames(rows)
        return {**state, **older, **identity(self.spec, len(rows))}

    def set_state(self, state: dict[str, Any], ids: Ids = None) -> Any:
        """Write a state, or some entries of one, and return the observations there.

        Args:
            state: entries of `get_state`, the leading axis as long as `ids`. An entry without that
                axis, as `Env.get_state` gives it, or with one of length 1 is written to each.
            ids: of the sub-environments to write; None for all.

        Raises:
            ValueError: an entry is unknown, of a wrong shape or not finite, the state is of another
                id, or there is no such sub-environment; nothing is written then.
        """
        self.check_usable()
        rows = self._rows(ids)
        numbers = rows + self._episodes.first_number
        checked = check_state(state, self.get_state(rows), numbers)
        with self.enter():
            self._episodes.set_state(checked, rows)
            self._done[rows] = False
            return self.to_output(take(self._observations.resume(checked, rows), rows))

    def check_usable(self) -> None:
        """Refuse to step what has been closed, or made before a fork of this process.

        Raises:
            gymnasium.error.ClosedEnvironmentError: it has been closed.
            RuntimeError: it has been made in a process that this one is a fork of.
        """
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
        if "cameras" in vars(self):  # not where the constructor has raised
            self.cameras.close()
            self._simulations.close()

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: what the environments are made from, and their state."""
        kept = ("_done", "_seeds", "spec", "render_mode")
        return {
            "task": self.task,
            "num_envs": self.num_envs,
            "arguments": {**self._arguments, **vars(self._options)},
            "state": self.get_state(),
            "started": self._episodes.started,
            "last": self._observations.present,
            "attributes": {name: getattr(self, name) for name in kept},
        }

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__init__(pickled["task"], pickled["num_envs"], **pickled["arguments"])  # type: ignore[misc]
        self.set_state(pickled["state"])
        self._episodes.started = pickled["started"]
        self._observations.restore(pickled["last"])
        self.__dict__.update(pickled["attributes"])
