"""Many environments in one process: a task on a batch of simulations."""

import os
from collections.abc import Sequence
from copy import copy as copy_model
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from mjgym import generators
from mjgym.build import (
    OBSERVABLES,
    DivergenceError,
    Hooks,
    Options,
    check_state,
    compile_model,
    owned,
    substeps,
)
from mjgym.env import MEMORY, in_simulation
from mjgym.observables.observe import Image
from mjgym.pixels import Picture, known_camera
from mjgym.sim import Batched, Single
from mjgym.sim.batched import BatchedView
from mjgym.spaces import (
    action_space,
    assign,
    check_action,
    copy_observation,
    row,
)
from mjgym.task import Arrays, Task


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
        **options: the fields of `mjgym.build.Options`.

    Attributes:
        task: the task.
        model: the MjModel that all simulations share (without textures).
        physics_timestep: seconds.
        control_timestep: seconds between two actions.
        threads: that step the simulations.
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
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self._limit = max_episode_steps
        self._copy = copy

        self.model = compile_model(task)
        self._substeps = substeps(task, self.model)
        self.physics_timestep = float(self.model.opt.timestep)
        self.control_timestep = self.physics_timestep * self._substeps
        # Starts are drawn on a simulation of their own, with a model that they may write to.
        varying = self._options.varying(self.model)
        self._draws = self._options.draws(varying, num_envs)
        changes = task.varies or varying is not None
        scratch_model = copy_model(self.model) if changes else self.model
        self._scratch = Single(scratch_model, task.varies, varying)
        self.threads = min(threads or allowed_cores(), num_envs)
        self._simulations = Batched(self.model, num_envs, self.threads, task.varies, varying)
        self._view = self._simulations.view
        self._scratch.reset()
        self._scratch.view.memory = owned(task.memory(self._scratch.view))
        self._layout, self._sensing = self._options.sensing(
            task, self._scratch.view, self.model, num_envs, self._substeps
        )
        self._hooks = Hooks.of(task)
        self._streams_seeded = np.zeros(num_envs, dtype=bool)
        self.render_mode = self._options.render_mode
        self._camera = known_camera("camera", self._options.camera, self.model)
        self.metadata["render_fps"] = 1 / self.control_timestep
        self._renderer: Any = None
        self._bind()

        self.single_action_space = action_space(self.model)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._action_shape = (num_envs, *self.single_action_space.shape)
        self.single_observation_space = self._layout.space()
        self.observation_space = self._layout.space((num_envs,))

        # The buffers of the present and of the previous observation take turns.
        self._buffers = [self._layout.empty((num_envs,)), self._layout.empty((num_envs,))]
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._seeds: list[int] = [-1] * num_envs
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._rewards = np.full(num_envs, np.nan)  # of the last step
        self._done = np.zeros(num_envs, dtype=bool)
        self._started = np.zeros(num_envs, dtype=bool)
        self._success_once = np.zeros(num_envs, dtype=bool)
        self._process = os.getpid()

    def _bind(self) -> None:
        """Run every hook once, so that the arrays which they read are filled from now on."""
        task, view = self.task, self._view
        everyone = np.arange(self.num_envs)
        self._simulations.begin(everyone)
        view.memory = owned(task.memory(view))
        with np.errstate(all="ignore"):  # what is bound only now is still zero
            task.before_step(view)
            task.control(view, np.zeros((self.num_envs, self.model.nu)))
            task.reward(task.terms(view))
            task.terminated(view)
            task.truncated(view)
            self._has_goal = task.success(view) is not None
            task.update(view)
            task.substep(view)
            task.refreshed(view)
            task.observation(view)
            if self._sensing is not None:
                self._sensing.bind(view)
        self._simulations.begin(everyone)
        view.memory = owned(task.memory(view))

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
            TypeError: the mask is not an array of bool.
            ValueError: the mask or the sequence of seeds has a wrong length, or the mask is empty.
        """
        self._check_process()
        seeds = self._seed_list(seed)
        ids = self._masked(options)
        for i in ids:
            if seeds[i] is not None:
                self._rngs[i], self._seeds[i] = seeding.np_random(seeds[i])
                self._streams_seeded[i] = False
        self._start(ids, by_reset=True)
        self._observe()
        return self._observation(), self._variation(ids)

    def _seed_streams(self, i: int) -> None:
        """Give what draws by itself generators of its own, which leave the task's draws alone."""
        if (self._draws is None and self._sensing is None) or self._streams_seeded[i]:
            return
        of_draws, of_sensing = self._rng(i).spawn(2)
        if self._draws is not None:
            self._draws.seed(i, of_draws)
        if self._sensing is not None:
            self._sensing.seed(i, of_sensing)
        self._streams_seeded[i] = True

    def _variation(self, ids: np.ndarray) -> dict[str, Any]:
        """What the episodes that begin in some sub-environments have been given, for `info`."""
        if self._draws is None:
            return {}
        begun = np.zeros(self.num_envs, dtype=bool)
        begun[ids] = True
        named: dict[str, Any] = {}
        for key, values in self._draws.values.items():
            shown = np.zeros_like(values)
            shown[ids] = values[ids]
            named[key], named[f"_{key}"] = shown, begun.copy()
        return {"variation": named, "_variation": begun}

    def _seed_list(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"seed: {len(seed)} seeds for {self.num_envs} sub-environments")
        return list(seed)

    def _masked(self, options: dict[str, Any] | None) -> np.ndarray:
        if not options or "reset_mask" not in options:
            return np.arange(self.num_envs)
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask']: expected an array of bool, got {mask!r}")
        if mask.shape != (self.num_envs,):
            raise ValueError(
                f"options['reset_mask']: expected shape ({self.num_envs},), got {mask.shape}"
            )
        if not mask.any():
            raise ValueError("options['reset_mask']: at least one must be True")
        return np.flatnonzero(mask)

    def _start(self, ids: np.ndarray, *, by_reset: bool = False) -> None:
        """Begin an episode in some sub-environments, be it by `reset` or by an autoreset."""
        scratch, simulations = self._scratch, self._simulations
        simulations.clear(ids)
        for i in ids.tolist():
            self._seed_streams(i)
            values = None if self._draws is None else self._draws.next(i, by_reset=by_reset)
            scratch.reset(values, computed=self.task.reads_defaults)
            self.task.initialize(scratch.view, self._rng(i))
            simulations.start(i, scratch)
        simulations.begin(ids)
        view = self._view
        if view.memory:
            for name, values in self.task.memory(view).items():
                view.memory[name][ids] = values[ids]
        self._steps[ids] = 0
        self._rewards[ids] = np.nan
        self._done[ids] = False
        self._started[ids] = True
        self._success_once[ids] = False
        if self._sensing is not None:
            self._sense_anew(ids)

    def _sense_anew(self, ids: np.ndarray) -> None:
        assert self._sensing is not None
        self._sensing.restart(ids, self._time()[ids], self._view, self._evaluate, self._draw_image)

    @property
    def view(self) -> BatchedView:
        """The live arrays by name, as the task sees them; see `mjgym.sim.view.View`."""
        return self._view

    def _time(self) -> np.ndarray:
        """Physics steps of the episodes so far, (num_envs,)."""
        return self._steps * self._substeps

    def _evaluate(self) -> Arrays:
        return self.task.observation(self._view)

    def _draw_image(self, image: Image, rows: np.ndarray) -> np.ndarray:
        return self.camera(
            image.camera,
            kind=image.kind,
            width=image.width,
            height=image.height,
            hidden_groups=image.hidden_groups,
            ids=rows,
        )

    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Advance by one control step; see `gymnasium.vector.VectorEnv.step`.

        `info` holds `terms` (the reward's factors by name), `diverged`, and, for a task with a
        goal, `success` (now) and `success_once` (so far in this episode), each with its mask.

        Raises:
            gymnasium.error.ResetNeeded: a sub-environment has no episode.
            ValueError: the actions have a wrong shape or one is not finite; nothing is stepped.
            DivergenceError: a simulation is no longer finite, with `on_divergence="raise"`.
        """
        self._check_process()
        if np.count_nonzero(self._started) < self.num_envs:  # a tenth of the cost of all()
            i = int(np.flatnonzero(~self._started)[0])
            raise gymnasium.error.ResetNeeded(f"sub-environment {i}: call reset() before step()")
        actions = check_action(actions, self._action_shape)
        task, view, simulations = self.task, self._view, self._simulations

        renewed = self._done.copy() if np.count_nonzero(self._done) else None
        if renewed is not None and self.autoreset_mode == AutoresetMode.DISABLED:
            i = int(np.flatnonzero(renewed)[0])
            raise gymnasium.error.ResetNeeded(
                f"sub-environment {i} has ended; reset it with options={{'reset_mask': mask}}"
            )
        going = None if renewed is None else np.flatnonzero(~renewed)
        self._simulate(actions, renewed, going)
        diverged = simulations.diverged()

        terms = task.terms(view)
        rewards = self._each(task.reward(terms), np.float64)
        self._rewards[...] = rewards
        if renewed is not None:
            self._rewards[renewed] = np.nan
        terminations = self._each(task.terminated(view), bool)
        truncations = (
            self._steps >= self._limit
            if self._limit is not None
            else np.zeros(self.num_envs, dtype=bool)
        )
        if self._hooks.truncated:
            truncations = truncations | self._each(task.truncated(view), bool)
        success = task.success(view) if self._has_goal else None
        if view.memory:
            self._remember(task.update(view), going)
        if self._sensing is not None and (going is None or going.size):
            self._sensing.read(self._substeps, view, self._evaluate, self._draw_image)
        return self._finish(terms, rewards, terminations, truncations, success, renewed, diverged)

    def _simulate(
        self, actions: np.ndarray, renewed: np.ndarray | None, going: np.ndarray | None
    ) -> None:
        """Begin the episodes that are due, and make the others' physics steps.

        Args:
            actions: of all sub-environments.
            renewed: which begin an episode, (num_envs,) bool; None for none.
            going: ids of those that step; None for all.
        """
        task, view, simulations = self.task, self._view, self._simulations
        if self._hooks.before_step:
            rows = slice(None) if going is None else going
            for name, value in owned(task.before_step(view)).items():
                getattr(view, name)[rows] = value[rows]
        control = task.control(view, actions)  # before any of them starts anew
        if renewed is not None:
            self._start(np.flatnonzero(renewed))
        if going is not None and not going.size:
            return
        if self._sensing is None and not self._hooks.one_by_one:
            simulations.step(control, self._substeps, going, forces=task.forces_at_end)
        else:
            self._step_in_parts(actions, control, going)
        if self._hooks.refreshed:
            self._refresh(going)
        if going is None:
            self._steps += 1
        else:
            self._steps[going] += 1

    def _each(self, values: Any, dtype: Any) -> np.ndarray:
        """A new array of one value for each sub-environment."""
        array = np.empty(self.num_envs, dtype)
        array[...] = values
        return array

    def _step_in_parts(self, actions: np.ndarray, control: Any, going: np.ndarray | None) -> None:
        """The physics of a control step, with what there is to do in between.

        Args:
            actions: of all sub-environments.
            control: what the task makes of them at first.
            going: ids of those that step; None for all.
        """
        task, view, sensing = self.task, self._view, self._sensing
        stops: list[int] = []
        if sensing is not None:
            active = None
            if going is not None:
                active = np.zeros(self.num_envs, dtype=bool)
                active[going] = True
            stops = sensing.stops(self._time(), active)
        if self._hooks.one_by_one:
            stops = list(range(1, self._substeps))
        done = 0
        for stop in [*stops, self._substeps]:
            if done and task.control_every_substep:
                control = task.control(view, actions)
            last = stop == self._substeps
            forces = last and task.forces_at_end
            self._simulations.step(control, stop - done, going, forces=forces)
            done = stop
            if self._hooks.substep:
                self._remember(task.substep(view), going)
            if sensing is not None and not last:
                sensing.read(stop, view, self._evaluate, self._draw_image)

    def _refresh(self, going: np.ndarray | None) -> None:
        """Compute the forces of those that the task says, among those that stepped."""
        mask = self._each(self.task.refreshed(self._view), bool)
        ids = np.flatnonzero(mask) if going is None else going[mask[going]]
        if ids.size:
            self._simulations.refresh(ids)

    def _remember(self, updated: Arrays, going: np.ndarray | None) -> None:
        """Take over the memory of those that step; a new episode keeps what it started with."""
        memory = owned(updated)
        if going is not None:
            kept = np.ones(self.num_envs, dtype=bool)
            kept[going] = False
            for name, values in memory.items():
                values[kept] = self._view.memory[name][kept]
        self._view.memory = memory

    def _finish(
        self,
        terms: Arrays,
        rewards: np.ndarray,
        terminations: np.ndarray,
        truncations: np.ndarray,
        success: Any,
        renewed: np.ndarray | None,
        diverged: np.ndarray | None,
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        self._observe()
        stepped = np.ones(self.num_envs, dtype=bool) if renewed is None else ~renewed
        if renewed is not None:
            rewards[renewed] = 0.0
            terminations[renewed] = False
            truncations[renewed] = False
        if diverged is not None:
            if self._options.on_divergence == "raise":
                self._started &= ~diverged
                raise DivergenceError(
                    f"sub-environments {np.flatnonzero(diverged).tolist()} of"
                    f" {type(self.task).__name__} are no longer finite; reset them"
                )
            assign(self._buffers[0], diverged, self._buffers[1])
            rewards[diverged] = 0.0
            terminations[diverged] = False
            truncations[diverged] = True
        info: dict[str, Any] = {}
        if np.count_nonzero(stepped):
            valued = stepped if diverged is None else stepped & ~diverged
            info = self._info(terms, success, stepped, valued, diverged)
        if renewed is not None:
            info.update(self._variation(np.flatnonzero(renewed)))
        self._done = terminations | truncations
        if self.autoreset_mode == AutoresetMode.SAME_STEP and np.count_nonzero(self._done):
            info = self._restart(info)
        return self._observation(), rewards, terminations, truncations, info

    def _info(
        self,
        terms: Arrays,
        success: Any,
        stepped: np.ndarray,
        valued: np.ndarray,
        diverged: np.ndarray | None,
    ) -> dict[str, Any]:
        """The info of a step, in the form in which Gymnasium joins those of sub-environments.

        Args:
            terms: of all sub-environments.
            success: of all sub-environments, or None.
            stepped: who made a step.
            valued: who made a step that has a reward.
            diverged: who diverged, or None.
        """
        count = np.count_nonzero(valued)
        some, everyone = count > 0, count == self.num_envs

        def masked(values: Any, dtype: Any) -> np.ndarray:
            array = self._each(values, dtype)
            if not everyone:
                array[~valued] = 0
            return array

        named: dict[str, Any] = {}
        if some:
            for name, values in terms.items():
                named[name] = masked(values, np.float64)
                named[f"_{name}"] = valued.copy()
        info: dict[str, Any] = {"terms": named, "_terms": stepped.copy()}
        flags = np.zeros(self.num_envs, dtype=bool) if diverged is None else diverged.copy()
        info["diverged"], info["_diverged"] = flags, stepped.copy()
        if success is not None and some:
            now = masked(success, bool)
            self._success_once |= now
            info["success"], info["_success"] = now, valued.copy()
            so_far = self._success_once & valued
            info["success_once"], info["_success_once"] = so_far, valued.copy()
        return info

    def _restart(self, info: dict[str, Any]) -> dict[str, Any]:
        """Autoreset in the step that ends an episode: keep what has been, begin the next one."""
        ended = self._done.copy()
        ids = np.flatnonzero(ended)
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in ids.tolist():
            final_obs[i] = row(self._buffers[0], i)
        final_info = _only(info, ended)
        info = _only(info, ~ended)
        info.update(
            final_obs=final_obs,
            _final_obs=ended.copy(),
            final_info=final_info,
            _final_info=ended.copy(),
        )
        self._start(ids)
        info.update(self._variation(ids))
        fresh = self._layout.pack(self._entries(), lambda p: self._draw(p, ids), (self.num_envs,))
        assign(self._buffers[0], ids, fresh)
        return info

    def _observe(self) -> None:
        self._buffers.reverse()
        self._layout.write(self._entries(), self._buffers[0], self._draw)

    def _entries(self) -> Arrays:
        if self._sensing is not None:
            entries: Arrays = self._sensing.observe(self._time(), (self.num_envs,), self._evaluate)
            return entries
        return self._evaluate() if self._layout.has_entries else {}

    def _draw(self, picture: Picture, ids: np.ndarray | None = None) -> np.ndarray:
        """Pictures of some sub-environments, in an array for all of them."""
        pictures = np.zeros((batch := picture.space((self.num_envs,))).shape, batch.dtype)
        rows = np.arange(self.num_envs) if ids is None else ids
        pictures[rows] = self.camera(
            picture.camera,
            kind=picture.kind,
            width=picture.width,
            height=picture.height,
            ids=rows,
        )
        return pictures

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
        kind: str = "rgb",
        width: int | None = None,
        height: int | None = None,
        hidden_groups: tuple[int, ...] = (),
        ids: Sequence[int] | np.ndarray | None = None,
    ) -> np.ndarray:
        """Pictures of the present states of some sub-environments, at any time.

        Args:
            name: of the camera, its index, or -1 for the free camera; None for the environment's.
            kind: "rgb", "depth" or "segmentation", as of `Env.camera`.
            width: in pixels; None for the environment's.
            height: in pixels; None for the environment's.
            hidden_groups: groups of geoms that are not shown, as of `Env.camera`.
            ids: of sub-environments; None for all.

        Returns:
            The pictures, with a leading axis as long as `ids`.

        Raises:
            ValueError: there is no such camera, kind or sub-environment, or a size is not positive.
            RenderingError: no OpenGL works here; the message says what to install.
        """
        if self._renderer is None:
            from mjgym.rendering import Renderer  # not before something is to be drawn

            self._renderer = Renderer(self.task, self.model, self._options.render_quality)
        options, rows = self._options, self._rows(ids)
        states = self._simulations.shown(rows)
        rewards = self._shown_rewards()[rows] if options.visualize_reward else None
        colours = owned(self.task.colours(self._view))
        return np.stack(
            [
                self._renderer.render(
                    {field: values[k] for field, values in states.items()},
                    self._camera if name is None else name,
                    kind=kind,
                    width=options.width if width is None else width,
                    height=options.height if height is None else height,
                    reward=None if rewards is None else float(rewards[k]),
                    colours={name: colour[i] for name, colour in colours.items()},
                    hidden_groups=hidden_groups,
                )
                for k, i in enumerate(rows.tolist())
            ]
        )

    def _observation(self) -> Any:
        return copy_observation(self._buffers[0]) if self._copy else self._buffers[0]

    def observe(self) -> Arrays:
        """The observation's entries by name as the simulator has them, in double precision."""
        return owned(self._entries() if self._sensing is not None else self._evaluate())

    def _shown_rewards(self) -> np.ndarray:
        """Of the last step; where none has been made yet, of the present state."""
        here = self._each(self.task.reward(self.task.terms(self._view)), np.float64)
        return np.where(np.isnan(self._rewards), here, self._rewards)

    def get_state(self, ids: Sequence[int] | np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Everything that the futures of some episodes depend on, as copies by name.

        The entries are those of `Env.get_state` with a leading axis.

        Args:
            ids: of sub-environments; None for all.

        Raises:
            ValueError: there is no such sub-environment.
        """
        rows = self._rows(ids)
        state = self._simulations.snapshot(rows)
        state.update({MEMORY + name: m[rows] for name, m in self._view.memory.items()})
        state["steps"] = self._steps[rows]
        state["success_once"] = self._success_once[rows]
        state["rng"] = np.stack([generators.encode(self._rng(i)) for i in rows])
        for i in rows.tolist():
            self._seed_streams(i)
        if self._draws is not None:
            state.update(self._draws.state(rows))
        if self._sensing is not None:
            state.update({OBSERVABLES + k: v for k, v in self._sensing.state(rows).items()})
        return state

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
        self._check_process()
        rows = self._rows(ids)
        checked = check_state(state, self.get_state(rows))
        self._simulations.restore({k: v for k, v in checked.items() if in_simulation(k)}, rows)
        for name, value in checked.items():
            if name.startswith(MEMORY):
                self._view.memory[name.removeprefix(MEMORY)][rows] = value
        self._rewards[rows] = np.nan
        if "steps" in checked:
            self._steps[rows] = checked["steps"]
        if "success_once" in checked:
            self._success_once[rows] = checked["success_once"]
        if "rng" in checked:
            for i, words in zip(rows.tolist(), checked["rng"], strict=True):
                generators.decode(self._rng(i), words)
        if self._draws is not None:
            self._draws.restore(checked, rows)
        self._started[rows] = True
        self._done[rows] = False
        if self._sensing is not None:
            readings = {
                name.removeprefix(OBSERVABLES): values
                for name, values in checked.items()
                if name.startswith(OBSERVABLES)
            }
            if readings:
                self._sensing.restore(readings, rows)
            else:
                self._sense_anew(rows)
        self._observe()
        observation = copy_observation(self._buffers[0])
        if isinstance(observation, dict):
            return {name: value[rows] for name, value in observation.items()}
        return observation[rows]

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

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                "this VectorEnv was made before os.fork(), and its threads are not in this"
                " process; make it in the process that steps it"
            )

    def close_extras(self, **kwargs: Any) -> None:
        """Let go of what draws, and end all episodes."""
        self._started[:] = False
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: what the environments are made from, and their state."""
        kept = ("_started", "_done", "_buffers", "_seeds", "spec", "render_mode")
        return {
            "task": self.task,
            "num_envs": self.num_envs,
            "arguments": {**self._arguments, **vars(self._options)},
            "state": self.get_state(),
            "attributes": {name: getattr(self, name) for name in kept},
        }

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__init__(pickled["task"], pickled["num_envs"], **pickled["arguments"])  # type: ignore[misc]
        self.set_state(pickled["state"])
        self.__dict__.update(pickled["attributes"])


def _only(info: dict[str, Any], mask: np.ndarray) -> dict[str, Any]:
    """The part of a vector info that belongs to the sub-environments of a mask."""
    part: dict[str, Any] = {}
    for name, values in info.items():
        if name.startswith("_"):
            continue
        present = info[f"_{name}"] & mask
        if not present.any():
            continue
        if isinstance(values, dict):
            part[name] = _only(values, mask)
        else:
            part[name] = np.where(present, values, np.zeros_like(values))
        part[f"_{name}"] = present
    return part
