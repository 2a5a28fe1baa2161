"""Find targets in a maze."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.props.target_sphere import TargetSphere
from mjgym_compat.dm_control.locomotion.tasks.walking import WalkingTask

DEFAULT_ALIVE_THRESHOLD = -0.5  # aliveness at which the episode ends
DEFAULT_PHYSICS_TIMESTEP = 0.001  # s
DEFAULT_CONTROL_TIMESTEP = 0.025  # s
RAYS = 10  # that look for the longest way ahead
RAY_HEIGHT = 0.1  # m
ALOFT = 100.0  # m, where the walker is out of the rays' way


def newly_touched(targets: Sequence[Any], counted: set[int]) -> list[int]:
    """Indices of targets touched since the last call, which are added to `counted`."""
    new = [k for k, target in enumerate(targets) if k not in counted and target.activated]
    counted.update(new)
    return new


class NullGoalMaze(WalkingTask):
    """A walker in a maze, without a goal."""

    def __init__(
        self,
        walker: Any,
        maze_arena: Any,
        randomize_spawn_position: bool = True,
        randomize_spawn_rotation: bool = True,
        rotation_bias_factor: float = 0,
        aliveness_reward: float = 0.0,
        aliveness_threshold: float = DEFAULT_ALIVE_THRESHOLD,
        contact_termination: bool = True,
        enable_global_task_observables: bool = False,
        physics_timestep: float = DEFAULT_PHYSICS_TIMESTEP,
        control_timestep: float = DEFAULT_CONTROL_TIMESTEP,
    ) -> None:
        super().__init__(walker, maze_arena, physics_timestep, control_timestep)
        walker.observables.egocentric_camera.enabled = True
        self._maze_arena = maze_arena
        self._places, self._turns = randomize_spawn_position, randomize_spawn_rotation
        self._bias = rotation_bias_factor
        self._alive, self._least = aliveness_reward, aliveness_threshold
        self._ends_on_contact = contact_termination
        self._task_observables: dict[str, Any] = {}
        if enable_global_task_observables:
            self._observe_globally()

    def _observe_globally(self) -> None:
        arena, root = self._maze_arena, self._walker.root_body

        def located(physics: Any) -> np.ndarray:
            cells = np.array([arena.maze.width, arena.maze.height])
            place = np.array(physics.bind(root).xpos)[:2] / arena.xy_scale
            return np.asarray(place + (cells - 1) / 2)

        self._task_observables = {
            "maze_layout": observable.Generic(lambda physics: arena.maze.entity_layer),
            "absolute_position": observable.Generic(lambda physics: physics.bind(root).xpos),
            "absolute_orientation": observable.Generic(
                lambda physics: np.reshape(physics.bind(root).xmat, (3, 3))
            ),
            "location_in_maze": observable.Generic(located),
        }
        for each in self._task_observables.values():
            each.enabled = True

    @property
    def task_observables(self) -> dict[str, Any]:
        return self._task_observables

    def _respawn(self, physics: Any, random_state: np.random.RandomState) -> None:
        starts = self._maze_arena.spawn_positions
        start = starts[random_state.randint(len(starts)) if self._places else 0]
        angle = self._angle(physics, random_state, start) if self._turns else None
        self.spawn(physics, random_state, start, angle)

    def _angle(self, physics: Any, random_state: np.random.RandomState, start: Any) -> float:
        """Initial heading, rad, distributed around the longest free direction."""
        self.spawn(physics, random_state, (0.0, 0.0, ALOFT), None)
        physics.forward()
        angles = 2 * np.pi * np.arange(RAYS) / RAYS
        ways = [
            mujoco.mj_ray(
                physics.model.ptr, physics.data.ptr, (*start[:2], RAY_HEIGHT),
                (np.cos(angle), np.sin(angle), 0.0), None, 1, -1, np.zeros(1, np.int32),
            )
            for angle in angles
        ]  # fmt: skip
        share = np.tanh((1 + self._bias) * np.arctanh(random_state.uniform(-1, 1)))
        return float(angles[np.argmax(ways)] + np.pi * (1 + share))

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().initialize_episode(physics, random_state)
        self._respawn(physics, random_state)

    def _fails(self, physics: Any) -> bool:
        return super()._fails(physics) or self._walker.aliveness(physics) < self._least

    def get_reward(self, physics: Any) -> float:
        return self._alive

    def get_discount(self, physics: Any) -> float:
        return 1.0


class RepeatSingleGoalMaze(NullGoalMaze):
    """A walker finds a target, again and again from another start."""

    def __init__(
        self,
        walker: Any,
        maze_arena: Any,
        target: Any = None,
        target_reward_scale: float = 1.0,
        randomize_spawn_position: bool = True,
        randomize_spawn_rotation: bool = True,
        rotation_bias_factor: float = 0,
        aliveness_reward: float = 0.0,
        aliveness_threshold: float = DEFAULT_ALIVE_THRESHOLD,
        contact_termination: bool = True,
        max_repeats: int = 0,
        enable_global_task_observables: bool = False,
        physics_timestep: float = DEFAULT_PHYSICS_TIMESTEP,
        control_timestep: float = DEFAULT_CONTROL_TIMESTEP,
        regenerate_maze_on_repeat: bool = False,
    ) -> None:
        super().__init__(
            walker, maze_arena, randomize_spawn_position, randomize_spawn_rotation,
            rotation_bias_factor, aliveness_reward, aliveness_threshold, contact_termination,
            enable_global_task_observables, physics_timestep, control_timestep,
        )  # fmt: skip
        self._target = TargetSphere() if target is None else target
        self._value, self._most, self._redraws = (
            target_reward_scale, max_repeats, regenerate_maze_on_repeat,
        )  # fmt: skip
        self._frame = maze_arena.attach(self._target)
        self._found, self._rewarded = 0, False

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        super().initialize_episode_mjcf(random_state)
        places = self._maze_arena.target_positions
        self._frame.pos = places[random_state.randint(len(places))]

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().initialize_episode(physics, random_state)
        self._found, self._rewarded = 0, False

    def after_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().after_step(physics, random_state)
        self._rewarded = self._target.activated
        if not self._rewarded:
            return
        self._found += 1
        if self._found <= self._most:
            if self._redraws:
                places = self._maze_arena.target_positions
                self._target.set_pose(physics, places[random_state.randint(len(places))])
            self._respawn(physics, random_state)
            self._target.reset(physics)

    def should_terminate_episode(self, physics: Any) -> bool:
        """Whether the walker has fallen or has found the target `max_repeats` + 1 times."""
        return super().should_terminate_episode(physics) or self._found > self._most

    def get_reward(self, physics: Any) -> float:
        """The aliveness reward plus the target's."""
        return super().get_reward(physics) + (self._value if self._rewarded else 0.0)


class ManyHeterogeneousGoalsMaze(NullGoalMaze):
    """A walker finds targets of several kinds, each with its own reward."""

    def __init__(
        self,
        walker: Any,
        maze_arena: Any,
        target_builders: Sequence[Callable[..., Any]],
        target_type_rewards: Sequence[float],
        target_type_proportions: Sequence[float],
        shuffle_target_builders: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(walker, maze_arena, *args, **kwargs)
        self._builders = list(target_builders)
        self._values, self._shuffles = list(target_type_rewards), shuffle_target_builders
        self._shares = np.asarray(target_type_proportions) / np.sum(target_type_proportions)
        self._made: list[list[Any]] = [[] for _ in self._builders]
        self._active: list[tuple[Any, float]] = []
        self._counted: set[int] = set()

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        super().initialize_episode_mjcf(random_state)
        for target, _ in self._active:
            target.detach()
        places = list(self._maze_arena.target_positions)
        random_state.shuffle(places)
        counts = np.floor(self._shares * len(places)).astype(int)
        counts[0] += len(places) - counts.sum()
        kinds = list(range(len(counts)))
        if self._shuffles:
            random_state.shuffle(kinds)
        self._active = []
        for look, value, count in zip(kinds, self._values, counts, strict=True):
            made = self._made[look]
            while len(made) < count:
                made.append(self._builders[look](name=f"target_{look}_{len(made)}"))
            for target in made[:count]:
                self._maze_arena.attach(target).pos = places.pop()
                self._active.append((target, value))

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().initialize_episode(physics, random_state)
        self._counted = set()

    def get_reward(self, physics: Any) -> float:
        """The aliveness reward plus that of each target at its first touch."""
        reward = super().get_reward(physics)
        for k in newly_touched([target for target, _ in self._active], self._counted):
            reward += self._active[k][1]
        return reward

    def should_terminate_episode(self, physics: Any) -> bool:
        failed = super().should_terminate_episode(physics)
        return failed or len(self._counted) == len(self._active)


class ManyGoalsMaze(ManyHeterogeneousGoalsMaze):
    """A walker finds targets of one kind."""

    def __init__(
        self,
        walker: Any,
        maze_arena: Any,
        target_builder: Callable[..., Any],
        target_reward_scale: float = 1.0,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        one = [target_builder], [target_reward_scale], [1]
        super().__init__(walker, maze_arena, *one, False, *args, **kwargs)


class RepeatSingleGoalMazeAugmentedWithTargets(RepeatSingleGoalMaze):
    """A walker finds a target, and smaller ones on the way."""

    def __init__(
        self,
        walker: Any,
        main_target: Any,
        maze_arena: Any,
        num_subtargets: int = 20,
        target_reward_scale: float = 10.0,
        subtarget_reward_scale: float = 1.0,
        subtarget_colors: Any = ((0, 0, 0.4), (0, 0, 0.7)),
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(walker, maze_arena, main_target, target_reward_scale, *args, **kwargs)
        rgb1, rgb2 = subtarget_colors
        make = functools.partial(TargetSphere, radius=0.4, rgb1=rgb1, rgb2=rgb2)
        self._subtargets = [make(name=f"subtarget_{k}") for k in range(num_subtargets)]
        self._frames = [maze_arena.attach(subtarget) for subtarget in self._subtargets]
        self._subvalue = subtarget_reward_scale
        self._counted: set[int] = set()

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        super().initialize_episode_mjcf(random_state)
        free = self._maze_arena.find_token_grid_positions([" "])[" "]
        chosen = [free[random_state.randint(len(free))] for _ in self._subtargets]
        places = self._maze_arena.grid_to_world_positions(chosen)
        for frame, place in zip(self._frames, places, strict=True):
            frame.pos = place
        self._counted = set()

    def get_reward(self, physics: Any) -> float:
        """The aliveness reward plus those of the target and the subtargets."""
        reward = super().get_reward(physics)
        for _ in newly_touched(self._subtargets, self._counted):
            reward += self._subvalue
        return reward

    def should_terminate_episode(self, physics: Any) -> bool:
        """Whether the walker has fallen, or found the target or all subtargets."""
        ended = super().should_terminate_episode(physics)
        return ended or len(self._counted) == len(self._subtargets)
