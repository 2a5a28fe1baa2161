"""A vector environment in one process: a task on a batch of simulations."""

import contextlib
import functools
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NoReturn

import gymnasium
import mujoco
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from mjgym.arrays import Array, any_true, copied, zero_unless
from mjgym.envs.camera import Cameras
from mjgym.envs.infos import Infos, only
from mjgym.envs.layouts import episodes_of
from mjgym.envs.observations import Observations, copy_observation, rows_of, take
from mjgym.envs.options import BatchOptions, VectorOptions, divided
from mjgym.envs.rollouts import Candidates, RolloutMethods
from mjgym.envs.spaces import action_space, check_action
from mjgym.envs.sub_environments import Ids, SubEnvironments, seed_list
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.episode import WRONG_RESULT, Step
from mjgym.loop.states import check_state, identity
from mjgym.sim import Batched, View
from mjgym.sim.batched import require_room
from mjgym.sim.single import episode_fields, varied_fields
from mjgym.task import Arrays, Task
from mjgym.task.models import compile_model
from mjgym.task.visuals import compile_without_visuals
from mjgym.util.processes import allowed_cores
from mjgym.util.values import whole_number
from mjgym.variation.varying import Varying

Result = tuple[Any, Array, Array, Array, dict[str, Any]]

MOST_ENVS = 2**31 - 1

_NO_CONTEXT = contextlib.nullcontext()


class VectorEnv(SubEnvironments, RolloutMethods):
    """A `gymnasium.vector.VectorEnv` that runs a task on one batch of simulations.

    Sub-environment i of `reset(seed=s)` equals the single environment seeded s + i, bit for bit,
    with any number of threads.

    Args:
        **arguments: the fields of `VectorOptions` and `Options` in `mjgym.envs.options`.

    Attributes:
        model: the MjModel that all simulations share (without textures); others are as in `Env`.
    """

    own_options: ClassVar[type[BatchOptions]] = VectorOptions
    """Its keyword arguments, besides those that all environments share."""

    metadata = {  # noqa: RUF012  (as Gymnasium declares it)
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    _pickled = ("_done", "_seeds", "spec", "render_mode")

    def __init__(self, task: Task, num_envs: int = 1, **arguments: Any) -> None:
        whole_number("num_envs", num_envs, most=MOST_ENVS)
        self._own_options, self._options = divided(self.own_options, arguments)
        if self._options.render_mode == "human":
            raise ValueError('render_mode: "human" shows one environment; use "rgb_array"')
        self.model = self.compiled_model(task)
        here = self.own_options is VectorOptions
        require_room("num_envs", self.model, num_envs, here=here)
        super().__init__(num_envs)
        self.task = task
        self.autoreset_mode = self._own_options.autoreset_mode
        self.max_episode_steps = self._own_options.max_episode_steps
        self._copy = self._own_options.copy

        draws = self._options.draws(self.model, task, num_envs)
        self.threads = min(self._own_options.threads or allowed_cores(), num_envs)
        simulations = self._simulate(None if draws is None else draws.varying)
        self._simulations = simulations
        bound = BoundTask(task, simulations)
        self.cameras = self._open_cameras(bound)
        self._episodes = episodes_of(
            self._options, bound, draws, self._rng, self.cameras, self.max_episode_steps
        )
        self._xp = self._episodes.view.xp
        self._infos = Infos(self._episodes)
        self.physics_timestep = float(self.model.opt.timestep)
        self.control_timestep = self.physics_timestep * self._episodes.substeps
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

        self._done: Array = self._empty_mask()
        self._process = os.getpid()

    def compiled_model(self, task: Task) -> mujoco.MjModel:
        """Compile the model that all simulations share; `mjgym verify` gives the published one."""
        return compile_model(task)

    def _simulate(self, varying: Varying | None) -> Any:
        without_visuals = functools.partial(compile_without_visuals, self.task)
        return Batched(
            self.model,
            self.num_envs,
            self.threads,
            self.task.varies,
            varying,
            without_visuals,
            apart=self._is_compiled(varying),
            lagging=self.task.lagging,
        )

    def _is_compiled(self, varying: Varying | None) -> bool:
        options = self._options
        if self.task.observables or options.observables or options.observation == "goal":
            return False
        varied = varied_fields(episode_fields(self.task.varies, varying), varying)
        return not isinstance(self.task.compiled_step(options.dtype, None, varied), str)

    def _open_cameras(self, bound: BoundTask) -> Cameras:
        return Cameras(bound, self._options, self.threads)

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
            seed: s for the seeds s, s + 1, ..., a sequence of one seed each, or None to continue
                with the current generators.
            options: {"reset_mask": (num_envs,) bool} starts only the masked ones; observations of
                others are kept.

        Raises:
            gymnasium.error.ClosedEnvironmentError: the environments have been closed.
            gymnasium.error.Error: a seed is not a non-negative integer; nothing is changed.
            TypeError: the mask is not an array of bool, or `seed` is neither a number nor a
                sequence.
            ValueError: the mask or the sequence of seeds has a wrong length, the mask is empty, or
                an option is unknown.
            DivergenceError: a first observation is not finite, even after several draws of the
                start (a single one with `on_divergence="raise"`).
        """
        self.check_usable()
        seeds = seed_list(seed, self.num_envs)
        mask = self.reset_mask(options, self.num_envs)
        if seed is not None:
            self._recall_starts()
        with self.enter():
            for i in range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist():
                if (value := seeds[i]) is not None:
                    self._seed(i, value)
            begun = ~self._empty_mask() if mask is None else self._episodes.view.from_numpy(mask)
            self._observations.begin(begun if any_true(~begun) else None)
            self._done = self._done & ~begun
            info = self._infos.of_variation(begun)
            self._infos.report(info, begun)
            observation, info = self.to_output((self._observation(), info))
        return observation, info

    def _begin(self, mask: Array) -> None:
        self._episodes.reset(mask if any_true(~mask) else None, by_reset=False)
        self._done = self._done & ~mask

    def _empty_mask(self) -> Array:
        return self._xp.zeros(self.num_envs, dtype=self._xp.bool)

    # A control step, and autoreset.

    def step(self, actions: Array) -> Result:
        """Advance by one control step; see `gymnasium.vector.VectorEnv.step`.

        `info` holds `terms/<name>` (the reward's factors), `diverged`, and, for a task with a goal,
        `success` (now) and `success_once` (so far in this episode), each with its mask.

        Raises:
            gymnasium.error.ClosedEnvironmentError: the environments have been closed.
            gymnasium.error.ResetNeeded: a sub-environment has no episode.
            ValueError: actions have a wrong shape or are not finite; nothing is stepped.
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
            # Episodes that ended in the last step are reset in this one.
            begun = self._done
            self._begin(begun)
        if ended == self.num_envs:
            return self._begin_all()
        stepping = None if begun is None else ~begun
        try:
            step = self._episodes.step(actions, stepping)
            step = self._episodes.conclude(step, self._observations.show(), stepping)
            return self._finish(step, begun)
        except WRONG_RESULT as error:
            self._episodes.name_culprit(error, actions)
            raise

    def checked_actions(self, actions: Any, shape: tuple[int, ...]) -> Array:
        return check_action(actions, shape, self._episodes.first_number)

    def number_from(self, first: int) -> None:
        self._episodes.first_number = first

    def check_ready(self) -> None:
        """Raise ResetNeeded if a sub-environment has no episode, or awaits a reset by mask."""
        if np.count_nonzero(self._episodes.started) < self.num_envs:  # a tenth of the cost of all()
            self._refuse_unstarted()
        if self.autoreset_mode == AutoresetMode.DISABLED and np.count_nonzero(self._done):
            self._refuse_ended()

    def _prepare(self, actions: Any) -> tuple[Array, int]:
        self.check_ready()
        ended = int(np.count_nonzero(self._done))
        return self.checked_actions(actions, self._action_shape), ended

    def _refuse_unstarted(self) -> NoReturn:
        i = self._first(~self._episodes.started)
        raise gymnasium.error.ResetNeeded(f"sub-environment {i}: call reset() before step()")

    def _refuse_ended(self) -> NoReturn:
        raise gymnasium.error.ResetNeeded(
            f"sub-environment {self._first(self._done)} has ended; reset it with"
            " options={'reset_mask': mask}"
        )

    def _first(self, mask: Array) -> int:
        first = int(np.flatnonzero(self._episodes.view.to_numpy(mask))[0])
        return first + self._episodes.first_number

    def _begin_all(self) -> Result:
        bad, everyone = self._observations.show(), ~self._empty_mask()
        rewards = self._xp.zeros(self._episodes.rewards.shape, dtype=self._infos.precision)
        info: dict[str, Any] = {}
        if bad is not None:
            self._episodes.refuse(bad)
            self._observations.take_back(bad)
            self._done = self._done | bad
            info.update(diverged=copied(bad), _diverged=copied(bad))
        info.update(self._infos.of_variation(everyone))
        self._infos.report(info, everyone)
        return self._observation(), rewards, self._empty_mask(), copied(self._done), info

    def _finish(self, step: Step, begun: Array | None) -> Result:
        """The result of a step; episodes in the mask `begun` were reset instead of stepped."""
        infos, diverged, flag = self._infos, step.diverged, self._xp.bool
        rewards = infos.per_sub_environment(step.reward, infos.precision)
        terminations = infos.per_sub_environment(step.terminated, flag)
        truncations = infos.per_sub_environment(step.truncated, flag)
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
        infos.report(info, None if diverged is None else ~diverged)
        self._done = terminations | truncations
        if self.autoreset_mode == AutoresetMode.SAME_STEP and any_true(self._done):
            info = self._begin_at_once(info)
        return self._observation(), rewards, terminations, truncations, info

    def _begin_at_once(self, info: dict[str, Any]) -> dict[str, Any]:
        """Begin the next episode in the step that ends one; returns the info with final entries."""
        ended, last = self._done, self._observations.present
        final_info, info = only(info, ended), only(info, ~ended)
        info.update(final_obs=self._final(last, ended), _final_obs=copied(ended))
        info.update(final_info=final_info, _final_info=copied(ended))
        self._begin(ended)
        info.update(self._infos.of_variation(ended))
        self._infos.report(info)
        bad = self._observations.show(ended)
        if bad is not None:
            self._episodes.refuse(bad)
            self._done = self._done | bad  # reset again in the next step
        return info

    # Overridden for simulations on other devices.

    def enter(self) -> AbstractContextManager[Any]:
        return _NO_CONTEXT

    def to_output(self, values: Any) -> Any:
        return values

    def _final(self, observation: Any, ended: Array) -> Any:
        return rows_of(observation, ended)

    # Observations and images.

    def _observation(self) -> Any:
        observation = self._observations.present
        return copy_observation(observation) if self._copy else observation

    def present(self) -> Any:
        """A copy of the observations that the last `reset` or `step` returned."""
        with self.enter():
            return self.to_output(copy_observation(self._observations.present))

    def observe(self) -> Arrays:
        """The observation's entries by name, in double precision."""
        with self.enter():
            entries: Arrays = self.to_output(self.view.owned(self._episodes.observe()))
        return entries

    def render(self) -> tuple[np.ndarray, ...] | None:
        """An image of each sub-environment, uint8 (height, width, 3), see `render_mode`.

        Raises:
            RenderingError: OpenGL does not work; the message says what to install.
        """
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() draws nothing without a render_mode, e.g. gym.make_vec(id,"
                ' render_mode="rgb_array"); envs.camera() draws at any time'
            )
            return None
        return tuple(self.camera())

    def camera(self, name: Any = None, *, ids: Ids = None, **options: Any) -> np.ndarray:
        """Images of the current states of some sub-environments, (len(ids), ...), at any time.

        Other arguments, and errors, are those of `Env.camera`.
        """
        return np.stack(self.cameras.render(self.shots(name, ids=ids, **options)))

    def shots(self, name: Any = None, *, ids: Ids = None, **options: Any) -> list[Any]:
        """Copies of everything that images of the current states show, for `cameras.render`."""
        self._check_open()
        with self.enter():
            rows = self._rows(ids)
            rewards = self._episodes.shown_rewards(rows)
            return self.cameras.shots(rows, name, rewards, **options)

    # Snapshots.

    def get_state(self, ids: Ids = None) -> dict[str, np.ndarray]:
        """Copies, by name, of everything that some episodes' futures depend on.

        The entries are those of `Env.get_state` with a leading axis.

        Raises:
            ValueError: a number in `ids` is out of range.
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
            state: entries of `get_state`, with a leading axis as long as `ids`. An entry without
                that axis, as from `Env.get_state`, or with one of length 1 is written to each.
            ids: numbers of the sub-environments to write; None for all.

        Raises:
            ValueError: an entry is unknown, of a wrong shape or not finite, the state is of another
                id, or a number is out of range; nothing is written then.
        """
        self.check_usable()
        rows = self._rows(ids)
        numbers = rows + self._episodes.first_number
        checked = check_state(state, self.get_state(rows), numbers)
        with self.enter():
            self._episodes.set_state(checked, rows)
            self._done[rows] = False
            return self.to_output(take(self._observations.resume(checked, rows), rows))

    def _make_candidates(self, n: int, options: Mapping[str, Any]) -> Candidates:
        envs = type(self)(self.task, n, **{**vars(self._own_options), **options})
        envs.spec = self.spec
        return envs.as_candidates()

    def as_candidates(self) -> Candidates:
        """These sub-environments as a batch for rollouts; their own episodes are lost."""
        random = self._episodes.sensing is not None or self._options.vary is not None
        state = self.get_state([0])
        return Candidates(self, self._episodes, self._observations, state, random)

    def check_usable(self) -> None:
        """Refuse an environment that is closed, or was made before this process forked."""
        self._check_open()
        if os.getpid() != self._process:
            raise RuntimeError(
                "this VectorEnv was made before os.fork(), and its threads are not in this"
                " process; make it in the process that steps it"
            )

    def close_extras(self, **kwargs: Any) -> None:
        """Release rendering resources, the simulations and their threads.

        Views can no longer be read. Arrays that are still referenced keep their numbers, and the
        threads alive.
        """
        self._close_candidates()
        if "cameras" in vars(self):  # unless the constructor has raised
            self.cameras.close()
            self._simulations.close()

    def _arguments(self) -> dict[str, Any]:
        options = {**vars(self._own_options), **vars(self._options)}
        return {"task": self.task, "num_envs": self.num_envs, **options}
