"""A single environment: a task on one simulation."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import mujoco
import numpy as np

from mjgym.describe.description import describe
from mjgym.envs.camera import Cameras
from mjgym.envs.goal_methods import GoalMethods
from mjgym.envs.infos import TERMS, VARIATION
from mjgym.envs.layouts import episodes_of
from mjgym.envs.observations import Observations, copy_observation
from mjgym.envs.options import Options, check_reset_options
from mjgym.envs.rollouts import Candidates, RolloutMethods
from mjgym.envs.spaces import action_space, check_action
from mjgym.envs.vector import VectorEnv
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.episode import WRONG_RESULT
from mjgym.loop.states import check_state, identity
from mjgym.sim import Single
from mjgym.sim.single import ONLY, SingleView
from mjgym.task import Arrays, Task, registrations
from mjgym.task.models import compile_model
from mjgym.util.processes import allowed_cores

_FLAG = np.array(False).copy, np.array(True).copy  # copying is faster than creating arrays


class Env(GoalMethods, RolloutMethods, gymnasium.Env[Any, np.ndarray]):
    """A `gymnasium.Env` that runs a task.

    Args:
        **options: the fields of `mjgym.envs.options.Options`.

    Attributes:
        model: the live MjModel (without textures).
        data: the live MjData; its counts of warnings start below 0, so that the engine logs none.
        physics_timestep: seconds.
        control_timestep: seconds between two actions.
        frame_stack: frames per observation, see `mjgym.envs.options.Options`.
        cameras: renders the current state, see `mjgym.envs.camera.Cameras`.
        closed: whether `close` has been called; methods that need the simulation then raise.
    """

    metadata = {"render_modes": ["human", "rgb_array"]}  # noqa: RUF012  (as Gymnasium declares it)
    _pickled = ("_np_random_seed", "spec", "render_mode")

    def __init__(self, task: Task, *, max_episode_steps: int | None = None, **options: Any) -> None:
        self.max_episode_steps = max_episode_steps
        self._options = Options(**options)
        self.frame_stack = self._options.frame_stack
        self.task = task
        self.model: mujoco.MjModel = compile_model(task)
        draws = self._options.draws(self.model, task, 1)
        varying = None if draws is None else draws.varying
        simulation = Single(self.model, task.varies, varying, lagging=task.lagging)
        self.data: mujoco.MjData = simulation.data
        bound = BoundTask(task, simulation)
        self.cameras = Cameras(bound, self._options, allowed_cores())
        self._episodes = episodes_of(
            self._options, bound, draws, lambda i: self.np_random, self.cameras, max_episode_steps
        )
        self.physics_timestep = float(self.model.opt.timestep)
        self.control_timestep = self.physics_timestep * self._episodes.substeps
        self._observations = Observations(self._episodes, self._options, self.cameras)
        self._step, self._conclude = self._episodes.step, self._episodes.conclude
        self.action_space = action_space(task.actions(self.model))
        self._action_shape = self.action_space.shape
        memory = self._episodes.view.memory
        self._reported = [name for name in task.reported if name in memory]
        self._reported_terms = [name for name in task.reported if name not in memory]
        self.observation_space = self._observations.layout.space()
        self.render_mode = self._options.render_mode
        self.metadata = {**type(self).metadata, "render_fps": 1 / self.control_timestep}
        self._window: Any = None
        self.closed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see `gymnasium.Env.reset`. There are no options.

        `info` holds `variation/<key>`, the values drawn for the keys of `vary`, and what the task
        reports of its memory.

        Raises:
            gymnasium.error.ClosedEnvironmentError: the environment has been closed.
            ValueError: `options` has an entry.
            DivergenceError: the first observation is not finite, even after several draws of the
                start (a single one with `on_divergence="raise"`).
        """
        self._check_open()
        check_reset_options(options)
        super().reset(seed=seed)
        if seed is not None:
            self._episodes.reseed(0)
        self._observations.begin()
        observation = copy_observation(self._observations.present)
        if self.render_mode == "human":
            self.render()
        values = self._episodes.variation()
        drawn = {f"{VARIATION}{key}": v[0].copy() for key, v in values.items()}
        return observation, drawn | self._report()

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance by one control step; see `gymnasium.Env.step`.

        `info` holds `terms/<name>` (the reward's factors), `diverged`, what the task reports of its
        memory, and, for a task with a goal, `success` (now) and `success_once` (so far in this
        episode), as arrays with fixed dtypes and shapes, for clients that stack infos.

        Raises:
            gymnasium.error.ClosedEnvironmentError: the environment has been closed.
            gymnasium.error.ResetNeeded: no episode has been started.
            ValueError: the action has a wrong shape or is not finite; nothing has been stepped.
            DivergenceError: the simulation is no longer finite, with `on_divergence="raise"`.
        """
        episodes = self._episodes
        if not episodes.started:
            self._check_open()
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        action = check_action(action, self._action_shape)
        try:
            step = self._step(action)
            step = self._conclude(step, self._observations.show())
            terms, reward, terminated, truncated, success, diverged = step
            reward, terminated, truncated = float(reward), bool(terminated), bool(truncated)
        except WRONG_RESULT as error:
            episodes.name_culprit(error, action)
            raise
        info: dict[str, Any] = {"diverged": _FLAG[diverged is not None]()}
        if diverged is not None:
            self._observations.take_back()
        else:
            for name, value in terms.items():
                info[TERMS + name] = value if type(value) is np.float64 else np.float64(value)
            for name in self._reported_terms:
                info[name] = info[TERMS + name]
            if self._reported:
                info.update(self._report())
            if success is not None:
                info["success"] = _FLAG[bool(success)]()
                info["success_once"] = _FLAG[bool(episodes.success_once)]()
            if self.render_mode == "human":
                self.render()
        last = copy_observation(self._observations.present)
        return last, reward, terminated, truncated, info

    def _report(self) -> dict[str, np.ndarray]:
        memory = self._episodes.view.memory
        return {name: np.array(memory[name]) for name in self._reported}

    @property
    def view(self) -> SingleView:
        """The live arrays by name, as the task sees them; see `mjgym.sim.views.View`."""
        self._check_open()
        return self._episodes.simulation.sample

    def render(self) -> Any:
        """An image from the environment's camera, see `render_mode`.

        Returns:
            uint8 (height, width, 3) with "rgb_array"; None with "human", which shows a window.

        Raises:
            RenderingError: OpenGL does not work; the message says what to install.
        """
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() draws nothing without a render_mode, e.g. gym.make(id,"
                ' render_mode="rgb_array"); env.unwrapped.camera() draws at any time'
            )
            return None
        if self.render_mode == "rgb_array":
            return self.camera()
        self._check_open()
        if self._window is None:
            from mjgym.rendering.window import Window

            self._window = Window(
                self.task,
                self.model,
                self._options.render_quality,
                self.cameras.overlay,
                self.cameras.scene,
            )
        rewards = self._episodes.shown_rewards(ONLY)
        state = self._episodes.simulation.rendered_state(ONLY)
        self._window.show(
            {name: value[0] for name, value in state.items()},
            self.cameras.default,
            None if rewards is None else float(rewards[0]),
            {name: colour[0] for name, colour in self.cameras.colours(ONLY).items()},
        )
        return None

    def camera(self, name: Any = None, **options: Any) -> np.ndarray:
        """An image of the current state, at any time.

        Args:
            name: camera name or index, -1 for the free camera, a `mjgym.Viewpoint` or an
                `MjvCamera`; None for the environment's.
            **options: `kind`: "rgb", uint8 (height, width, 3); "depth", float32 (height, width) in
                metres; "segmentation", int32 (height, width, 2), id and type of the object in each
                pixel. `width`, `height` in pixels, `show` (words such as "joints", "contacts") and
                `groups` (e.g. {"geom": (0, 1, 2, 3)}), by default the environment's; see
                `mjgym.envs.overlays.Overlay.of`. `hidden_groups`: geom groups that are left out.

        Raises:
            ValueError: the camera, kind, word or group is unknown, or a size is not positive.
            RenderingError: OpenGL does not work; the message says what to install.
        """
        return self.cameras.render(self.shots(name, **options))[0]

    def shots(self, name: Any = None, **options: Any) -> list[Any]:
        """A copy of everything that an image of the current state shows, for `cameras.render`."""
        self._check_open()
        rewards = self._episodes.shown_rewards(ONLY)
        return self.cameras.shots(ONLY, name, rewards, **options)

    def close(self) -> None:
        """Release rendering resources and end the episode; may be called more than once."""
        self.closed = True
        self._episodes.end()
        self._close_candidates()
        self.cameras.close()
        if self._window is not None:
            self._window.close()
            self._window = None

    def get_state(self) -> dict[str, np.ndarray]:
        """Copies, by name, of everything that the episode's future depends on.

        The entries are those of `Episodes.get_state`; with `frame_stack` the frames before the
        current one, `frames.<name>`; and `id`, the bytes of the environment's id. The step count of
        Gymnasium's `TimeLimit` wrapper is not included.
        """
        self._check_open()
        state = {name: value[0] for name, value in self._episodes.get_state(ONLY).items()}
        return {**state, **self._observations.older_frames(), **identity(self.spec)}

    def set_state(self, state: dict[str, Any]) -> Any:
        """Write a state, or some entries of one, and return the observation there.

        The episode continues from there; from a whole state, bit for bit as where it was taken.

        Raises:
            ValueError: an entry is unknown, of a wrong shape or not finite, or the state is of
                another id; nothing is written.
        """
        checked = check_state(state, self.get_state())
        self._episodes.set_state({name: value[None] for name, value in checked.items()}, ONLY)
        return copy_observation(self._observations.resume(checked))

    def _make_candidates(self, n: int, options: Mapping[str, Any]) -> Candidates:
        envs = VectorEnv(self.task, n, max_episode_steps=self.max_episode_steps, **options)
        envs.spec = self.spec
        return envs.as_candidates()

    def observe(self) -> Arrays:
        return self.view.owned(self._episodes.observe())

    def describe(self) -> dict[str, Any]:
        """Describe the environment as JSON data; see `mjgym.describe.description`.

        `observation` and `action` hold a row per number, with name, unit and source; `terms` the
        reward's factors; `arguments` the task's fields; `file` and `line` the task's source.
        """
        sensing = self._episodes.sensing
        layout = self._observations.layout
        described = describe(self.task, self.view, layout, self.model, sensing)
        id = self.spec.id if self.spec else None
        if id in registrations:
            described["summary"] = registrations[id].summary
        return {"id": id, **described}

    def _arguments(self) -> dict[str, Any]:
        limit = self.max_episode_steps
        return {"task": self.task, "max_episode_steps": limit, **vars(self._options)}
