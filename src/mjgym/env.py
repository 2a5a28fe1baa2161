"""One environment: a task on one simulation."""

from typing import Any

import gymnasium
import mujoco
import numpy as np

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
from mjgym.describe import describe
from mjgym.observables.observe import Image
from mjgym.pixels import Picture, known_camera
from mjgym.sim import Single
from mjgym.sim.single import SingleView
from mjgym.spaces import action_space, check_action, copy_observation
from mjgym.task import Arrays, Task

MEMORY = "memory."  # prefix of the task's memory in the state
_ONLY = np.zeros(1, dtype=np.int64)  # the rows of the one simulation


def in_simulation(name: str) -> bool:
    """Whether an entry of a state belongs to the simulation itself."""
    own = ("steps", "success_once", "rng", "rng.variation")
    return name not in own and not name.startswith((MEMORY, OBSERVABLES, "variation."))


class Env(gymnasium.Env[Any, np.ndarray]):
    """A `gymnasium.Env` that runs a task.

    Args:
        task: what to run.
        **options: the fields of `mjgym.build.Options`.

    Attributes:
        task: the task.
        model: the live MjModel (without textures).
        data: the live MjData.
        physics_timestep: seconds.
        control_timestep: seconds between two actions.
    """

    metadata = {"render_modes": ["human", "rgb_array"]}  # noqa: RUF012  (as Gymnasium declares it)

    def __init__(self, task: Task, **options: Any) -> None:
        self._options = Options(**options)
        self.task = task
        self.model: mujoco.MjModel = compile_model(task)
        varying = self._options.varying(self.model)
        self._draws = self._options.draws(varying, 1)
        self._simulation = Single(self.model, task.varies, varying)
        self.data: mujoco.MjData = self._simulation.data
        self._substeps = substeps(task, self.model)
        self.physics_timestep = float(self.model.opt.timestep)
        self.control_timestep = self.physics_timestep * self._substeps
        self.action_space = action_space(self.model)
        self._action_shape = self.action_space.shape
        self._simulation.reset()
        view = self._view = self._simulation.view
        view.memory = owned(task.memory(view))
        self._layout, self._sensing = self._options.sensing(
            task, view, self.model, 1, self._substeps
        )
        self._hooks = Hooks.of(task)
        self._plain = self._sensing is None and not self._hooks.one_by_one
        self._streams_seeded = False
        self.observation_space = self._layout.space()
        self.render_mode = self._options.render_mode
        self._camera = known_camera("camera", self._options.camera, self.model)
        self.metadata = {**type(self).metadata, "render_fps": 1 / self.control_timestep}
        self._renderer: Any = None
        self._window: Any = None
        self._started = False
        self._steps = 0
        self._success_once = False
        self._reward: float | None = None  # of the last step
        self._last: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see `gymnasium.Env.reset`. There are no options.

        `info` holds `variation`, the values by key that `vary` has been given.
        """
        super().reset(seed=seed)
        self._seed_streams(anew=seed is not None)
        simulation, view = self._simulation, self._view
        values = None if self._draws is None else self._draws.next(0, by_reset=True)
        simulation.reset(values, computed=self.task.reads_defaults)
        self.task.initialize(view, self.np_random)
        simulation.forward(actuation=False)
        view.memory = owned(self.task.memory(view))
        self._started = True
        self._reward = None
        self._steps = 0
        self._success_once = False
        self._sense_anew()
        observation = self._observe()
        if self.render_mode == "human":
            self.render()
        if values is None:
            return observation, {}
        return observation, {"variation": {key: value.copy() for key, value in values.items()}}

    def _seed_streams(self, *, anew: bool) -> None:
        """Give what draws by itself generators of its own, which leave the task's draws alone."""
        if self._draws is None and self._sensing is None:
            return
        if anew or not self._streams_seeded:
            of_draws, of_sensing = self.np_random.spawn(2)
            if self._draws is not None:
                self._draws.seed(0, of_draws)
            if self._sensing is not None:
                self._sensing.seed(0, of_sensing)
            self._streams_seeded = True

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance by one control step; see `gymnasium.Env.step`.

        `info` holds `terms` (the reward's factors by name), `diverged`, and, for a task with a
        goal, `success` (now) and `success_once` (so far in this episode).

        Raises:
            gymnasium.error.ResetNeeded: no episode has been started.
            ValueError: the action has a wrong shape or is not finite; nothing has been stepped.
            DivergenceError: the simulation is no longer finite, with `on_divergence="raise"`.
        """
        if not self._started:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        task, view, simulation = self.task, self._view, self._simulation
        action = check_action(action, self._action_shape)
        if self._hooks.before_step:
            for name, value in owned(task.before_step(view)).items():
                getattr(view, name)[...] = value
        if self._hooks.before_step or self._steps == 0:
            # As a batch does by itself where a state has been written. A start, which is computed
            # without actuators, lacks their velocities.
            simulation.recompute()
        if self._plain:
            view.ctrl[:] = task.control(view, action)
            simulation.step(self._substeps, forces=task.forces_at_end)
        else:
            self._step_in_parts(action)
        if self._hooks.refreshed and task.refreshed(view):
            simulation.refresh()
        self._steps += 1
        if simulation.diverged():
            self._read_last()  # the next episode's noise is what it would have been
            return self._end_diverged()
        terms = task.terms(view)
        reward = self._reward = float(task.reward(terms))
        terminated = bool(task.terminated(view))
        info: dict[str, Any] = {
            "terms": {name: float(value) for name, value in terms.items()},
            "diverged": False,
        }
        success = task.success(view)
        if success is not None:
            self._success_once = self._success_once or bool(success)
            info["success"] = bool(success)
            info["success_once"] = self._success_once
        if view.memory:
            view.memory = owned(task.update(view))
        self._read_last()
        observation = self._observe()
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, bool(task.truncated(view)), info

    def _step_in_parts(self, action: np.ndarray) -> None:
        """The physics of a control step, with what there is to do in between."""
        task, view, sensing = self.task, self._view, self._sensing
        stops = [] if sensing is None else sensing.stops(self._time(), None)
        if self._hooks.one_by_one:
            stops = list(range(1, self._substeps))
        done = 0
        for stop in [*stops, self._substeps]:
            if done == 0 or task.control_every_substep:
                view.ctrl[:] = task.control(view, action)
            last = stop == self._substeps
            self._simulation.step(stop - done, forces=last and task.forces_at_end)
            done = stop
            if self._hooks.substep:
                view.memory = owned(task.substep(view))
            if sensing is not None and not last:
                sensing.read(stop, view, self._evaluate, self._draw_image)

    def _read_last(self) -> None:
        """Take the readings that are due at the end of a control step."""
        if self._sensing is not None:
            self._sensing.read(self._substeps, self._view, self._evaluate, self._draw_image)

    @property
    def view(self) -> SingleView:
        """The live arrays by name, as the task sees them; see `mjgym.sim.view.View`."""
        return self._view

    def _time(self) -> np.ndarray:
        """Physics steps of the episode so far, (1,)."""
        return np.array([self._steps * self._substeps])

    def _evaluate(self) -> Arrays:
        return self.task.observation(self._view)

    def _draw_image(self, image: Image, rows: np.ndarray) -> np.ndarray:
        return self.camera(
            image.camera,
            kind=image.kind,
            width=image.width,
            height=image.height,
            hidden_groups=image.hidden_groups,
        )[None]

    def _sense_anew(self) -> None:
        if self._sensing is not None:
            self._sensing.restart(_ONLY, self._time(), self._view, self._evaluate, self._draw_image)

    def _entries(self) -> Arrays:
        if self._sensing is not None:
            entries: Arrays = self._sensing.observe(self._time(), (), self._evaluate)
            return entries
        return self._evaluate() if self._layout.has_entries else {}

    def _observe(self) -> Any:
        observation = self._last = self._layout.pack(self._entries(), self._draw)
        # The caller owns what is returned; a copy is kept for the case of a divergence.
        return copy_observation(observation)

    def _end_diverged(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._options.on_divergence == "raise":
            self._started = False
            raise DivergenceError(
                f"the simulation of {type(self.task).__name__} is no longer finite after"
                f" {self._steps} steps; reset the environment"
            )
        info: dict[str, Any] = {"terms": {}, "diverged": True}
        return copy_observation(self._last), 0.0, False, True, info

    def _draw(self, picture: Picture) -> np.ndarray:
        return self.camera(
            picture.camera, kind=picture.kind, width=picture.width, height=picture.height
        )

    def render(self) -> Any:
        """A picture from the camera that the environment was made with, see `render_mode`.

        Returns:
            uint8 (height, width, 3) with "rgb_array"; None with "human", which shows a window.

        Raises:
            RenderingError: no OpenGL works here; the message says what to install.
        """
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() draws nothing without a render_mode, e.g. gym.make(id,"
                ' render_mode="rgb_array"); env.unwrapped.camera() draws at any time'
            )
            return None
        options = self._options
        if self.render_mode == "rgb_array":
            return self.camera()
        if self._window is None:
            from mjgym.rendering.window import Window

            self._window = Window(self.task, self.model, options.render_quality)
        self._window.show(
            self._simulation.snapshot(),
            self._camera,
            self._shown_reward(),
            owned(self.task.colours(self._view)),
        )
        return None

    def camera(
        self,
        name: str | int | None = None,
        *,
        kind: str = "rgb",
        width: int | None = None,
        height: int | None = None,
        hidden_groups: tuple[int, ...] = (),
    ) -> np.ndarray:
        """A picture of the present state, at any time.

        Args:
            name: of the camera, its index, or -1 for the free camera; None for the environment's.
            kind: "rgb", uint8 (height, width, 3); "depth", float32 (height, width) in metres;
                "segmentation", int32 (height, width, 2), id and type of the object in each pixel.
            width: in pixels; None for the environment's.
            height: in pixels; None for the environment's.
            hidden_groups: groups of geoms that are not shown, besides 3 to 5, which never are.

        Raises:
            ValueError: there is no such camera, kind or group, or a size is not positive.
            RenderingError: no OpenGL works here; the message says what to install.
        """
        if self._renderer is None:
            from mjgym.rendering import Renderer  # not before something is to be drawn

            self._renderer = Renderer(self.task, self.model, self._options.render_quality)
        options = self._options
        picture: np.ndarray = self._renderer.render(
            self._simulation.snapshot(),
            self._camera if name is None else name,
            kind=kind,
            width=options.width if width is None else width,
            height=options.height if height is None else height,
            reward=self._shown_reward(),
            colours=owned(self.task.colours(self._view)),
            hidden_groups=hidden_groups,
        )
        return picture

    def _shown_reward(self) -> float | None:
        if not self._options.visualize_reward:
            return None
        if self._reward is None:  # no step has been made from here yet
            self._reward = float(self.task.reward(self.task.terms(self._view)))
        return self._reward

    def close(self) -> None:
        """Let go of what draws; more than once is fine."""
        for drawing in (self._renderer, self._window):
            if drawing is not None:
                drawing.close()
        self._renderer = self._window = None

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything that the episode's future depends on, as copies by name.

        The entries are those of MjData (`qpos`, `qvel`, `act`, `qacc_warmstart`, ...), the model
        fields in `task.varies` and those that `vary` names, `sensordata`, the task's memory
        (`memory.<name>`), `steps`, `success_once`, the random generators (`rng`, ...), what has
        been drawn (`variation.<key>`) and read (`observables.<entry>.<part>`). The step count of
        Gymnasium's `TimeLimit` wrapper is the wrapper's own.
        """
        state = self._simulation.snapshot()
        state.update({MEMORY + name: np.array(m) for name, m in self._view.memory.items()})
        state["steps"] = np.array(self._steps)
        state["success_once"] = np.array(self._success_once)
        state["rng"] = generators.encode(self.np_random)
        self._seed_streams(anew=False)
        rows = {} if self._draws is None else self._draws.state(_ONLY)
        if self._sensing is not None:
            rows.update({OBSERVABLES + k: v for k, v in self._sensing.state(_ONLY).items()})
        state.update({name: values[0] for name, values in rows.items()})
        return state

    def set_state(self, state: dict[str, Any]) -> Any:
        """Write a state, or some entries of one, and return the observation there.

        The episode goes on from there: with a whole state, bit for bit as it would have where the
        state was taken.

        Raises:
            ValueError: an entry is unknown, of a wrong shape or not finite; nothing is written.
        """
        checked = check_state(state, self.get_state())
        memory = {k.removeprefix(MEMORY): v for k, v in checked.items() if k.startswith(MEMORY)}
        self._simulation.restore({k: v for k, v in checked.items() if in_simulation(k)})
        self._view.memory = {**self._view.memory, **memory}
        self._steps = int(checked.get("steps", self._steps))
        self._success_once = bool(checked.get("success_once", self._success_once))
        if "rng" in checked:
            generators.decode(self.np_random, checked["rng"])
        rows = {name: value[None] for name, value in checked.items()}
        if self._draws is not None:
            self._draws.restore(rows, _ONLY)
        self._started = True
        self._reward = None
        self._restore_readings(rows)
        return self._observe()

    def _restore_readings(self, rows: dict[str, np.ndarray]) -> None:
        readings = {
            name.removeprefix(OBSERVABLES): values
            for name, values in rows.items()
            if name.startswith(OBSERVABLES)
        }
        if readings and self._sensing is not None:
            self._sensing.restore(readings, _ONLY)
        else:
            self._sense_anew()

    def observe(self) -> Arrays:
        """The observation's entries by name as the simulator has them, in double precision."""
        return owned(self._entries() if self._sensing is not None else self._evaluate())

    def describe(self) -> dict[str, Any]:
        """What the environment is made of, as data for JSON; see `mjgym.describe`.

        `observation` and `action` hold a row for each number, with name, unit and source; `terms`
        the reward's; `arguments` the task's fields; `file` and `line` where it is written.
        """
        described = describe(self.task, self._view, self._layout, self.model, self._sensing)
        return {"id": self.spec.id if self.spec else None, **described}

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: what the environment is made from, and its state."""
        kept = ("_started", "_last", "_np_random_seed", "spec", "render_mode")
        return {
            "task": self.task,
            "options": self._options,
            "state": self.get_state(),
            "attributes": {name: getattr(self, name) for name in kept},
        }

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        options = pickled["options"]
        self.__init__(pickled["task"], **vars(options))  # type: ignore[misc]
        self.set_state(pickled["state"])
        self.__dict__.update(pickled["attributes"])
