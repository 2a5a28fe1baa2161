"""The rat's tasks of Merel et al., "Deep neuroethology of a virtual rodent" (2020)."""

import functools
from typing import Any

from mjgym_compat.dm_control import composer
from mjgym_compat.dm_control.composer.variation import distributions
from mjgym_compat.dm_control.locomotion import arenas, tasks
from mjgym_compat.dm_control.locomotion.examples.basic_cmu_2019 import SEEING, environment
from mjgym_compat.dm_control.locomotion.props import TargetSphere, TargetSphereTwoTouch
from mjgym_compat.dm_control.locomotion.walkers import Rat

TIMESTEPS: dict[str, Any] = {"physics_timestep": 0.001, "control_timestep": 0.02}  # s
MEADOW: dict[str, Any] = {"aesthetic": "outdoor_natural"}


def rodent_escape_bowl(random_state: Any = None) -> composer.Environment:
    """Climb out of a bowl."""
    walker, arena = Rat(observable_options=SEEING), arenas.Bowl(size=(20.0, 20.0), **MEADOW)
    return environment(tasks.Escape(walker, arena, **TIMESTEPS), random_state, 20.0)


def rodent_run_gaps(random_state: Any = None) -> composer.Environment:
    """Run along a corridor, over gaps."""
    arena = arenas.GapsCorridor(
        platform_length=distributions.Uniform(0.4, 0.8),
        gap_length=distributions.Uniform(0.05, 0.2),
        corridor_width=2,
        corridor_length=40,
        **MEADOW,
    )
    task = tasks.RunThroughCorridor(
        Rat(observable_options=SEEING),
        arena,
        walker_spawn_position=(5, 0, 0),
        walker_spawn_rotation=0,
        target_velocity=1.0,
        contact_termination=False,
        terminate_at_height=-0.3,
        **TIMESTEPS,
    )
    return environment(task, random_state)


def rodent_maze_forage(random_state: Any = None) -> composer.Environment:
    """Find targets in a maze."""
    arena = arenas.RandomMazeWithTargets(
        x_cells=11, y_cells=11, xy_scale=0.5, z_height=0.3, max_rooms=4, room_min_size=3,
        room_max_size=5, spawns_per_room=1, targets_per_room=3, **MEADOW,
    )  # fmt: skip
    task = tasks.ManyGoalsMaze(
        Rat(observable_options=SEEING),
        arena,
        functools.partial(
            TargetSphere, radius=0.05, height_above_ground=0.125, rgb1=(0, 0, 0.4), rgb2=(0, 0, 0.7)
        ),
        target_reward_scale=50.0,
        contact_termination=False,
        **TIMESTEPS,
    )
    return environment(task, random_state)


def rodent_two_touch(random_state: Any = None) -> composer.Environment:
    """Touch an orb twice, a set interval apart."""
    task = tasks.TwoTouch(
        Rat(observable_options=SEEING),
        arenas.Floor(size=(10.0, 10.0), **MEADOW),
        [functools.partial(TargetSphereTwoTouch, radius=0.025)],
        target_type_rewards=[25.0],
        target_area=(1.5, 1.5),
        **TIMESTEPS,
    )
    return environment(task, random_state)
