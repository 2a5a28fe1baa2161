"""The humanoid's tasks of Merel et al., "Hierarchical visuomotor control of humanoids" (2019)."""

import functools
from typing import Any

from mjgym_compat.dm_control import composer
from mjgym_compat.dm_control.composer.variation import distributions
from mjgym_compat.dm_control.locomotion import arenas, tasks
from mjgym_compat.dm_control.locomotion.arenas.mazes import open_maze
from mjgym_compat.dm_control.locomotion.props import TargetSphere
from mjgym_compat.dm_control.locomotion.walkers import CMUHumanoidPositionControlled

TIMESTEPS: dict[str, Any] = {"physics_timestep": 0.005, "control_timestep": 0.03}  # s
CORRIDOR: dict[str, Any] = {"corridor_width": 10, "corridor_length": 100}  # m
TIME_LIMIT = 30.0  # s
SEEING = {"egocentric_camera": {"enabled": True}}
BLUE: dict[str, Any] = {"rgb1": (0, 0, 0.4), "rgb2": (0, 0, 0.7)}
RADIUS = 0.4  # m, of targets


def environment(
    task: composer.Task, random_state: Any, time_limit: float = TIME_LIMIT
) -> composer.Environment:
    """The environment of a published task, without axes of length 1 for buffers."""
    return composer.Environment(task, time_limit, random_state, strip_singleton_obs_buffer_dim=True)


def _run(arena: Any, random_state: Any) -> composer.Environment:
    task = tasks.RunThroughCorridor(
        CMUHumanoidPositionControlled(observable_options=SEEING),
        arena,
        walker_spawn_position=(0.5, 0, 0),
        target_velocity=3.0,
        **TIMESTEPS,
    )
    return environment(task, random_state)


def cmu_humanoid_run_walls(random_state: Any = None) -> composer.Environment:
    """Run along a corridor, around walls."""
    arena = arenas.WallsCorridor(
        wall_gap=4.0,
        wall_width=distributions.Uniform(1, 7),
        wall_height=3.0,
        include_initial_padding=False,
        **CORRIDOR,
    )
    return _run(arena, random_state)


def cmu_humanoid_run_gaps(random_state: Any = None) -> composer.Environment:
    """Run along a corridor, over gaps."""
    arena = arenas.GapsCorridor(
        platform_length=distributions.Uniform(0.3, 2.5),
        gap_length=distributions.Uniform(0.5, 1.25),
        **CORRIDOR,
    )
    return _run(arena, random_state)


def cmu_humanoid_go_to_target(random_state: Any = None) -> composer.Environment:
    """Go to a target on a floor."""
    walker = CMUHumanoidPositionControlled()
    return environment(tasks.GoToTarget(walker, arenas.Floor(), **TIMESTEPS), random_state)


def cmu_humanoid_maze_forage(random_state: Any = None) -> composer.Environment:
    """Find targets in a maze."""
    arena = arenas.RandomMazeWithTargets(
        x_cells=11, y_cells=11, xy_scale=3, max_rooms=4, room_min_size=3, room_max_size=5,
        spawns_per_room=1, targets_per_room=3,
    )  # fmt: skip
    task = tasks.ManyGoalsMaze(
        CMUHumanoidPositionControlled(observable_options=SEEING),
        arena,
        functools.partial(TargetSphere, radius=RADIUS, **BLUE),
        target_reward_scale=50.0,
        **TIMESTEPS,
    )
    return environment(task, random_state)


def cmu_humanoid_heterogeneous_forage(random_state: Any = None) -> composer.Environment:
    """Find the rewarding targets among penalised ones of another colour, in an open square."""
    green: dict[str, Any] = {"rgb1": (0, 0.4, 0), "rgb2": (0, 0.7, 0)}
    task = tasks.ManyHeterogeneousGoalsMaze(
        CMUHumanoidPositionControlled(observable_options=SEEING),
        arenas.MazeWithTargets(open_maze(), xy_scale=3),
        [functools.partial(TargetSphere, radius=RADIUS, **look) for look in (BLUE, green)],
        target_type_rewards=[30.0, -10.0],
        target_type_proportions=[1, 1],
        shuffle_target_builders=True,
        randomize_spawn_rotation=False,
        aliveness_reward=0.01,
        physics_timestep=0.001,
        control_timestep=0.03,
    )
    return environment(task, random_state, 25.0)
