"""Fields of an arena as keyword arguments of an id, and arenas in their walker's size."""

import gymnasium as gym
import numpy as np
import pytest
from typer.testing import CliRunner

import mjgym  # noqa: F401  (registers the ids)
from mjgym.cli.app import app
from mjgym.tasks.locomotion.arenas import find_arena
from mjgym.tasks.locomotion.arenas.corridors import WallsCorridor
from mjgym.variation import Uniform

WALLS = "locomotion/cmu_humanoid-run_walls-v0"
MAZE = "locomotion/ant-maze_forage-v0"
RAT = {"walker": "rodent", "ends_on_fall": False}


def place(id, **arguments):
    return gym.make(id, **arguments).unwrapped.task.surroundings


class TestKeywords:
    def test_of_the_id_own_arena(self):
        maze = place(MAZE, cells=15, cell=2.0)
        assert (maze.cells, maze.cell, maze.wall_height) == (15, 2.0, 2.0)

    def test_of_another_arena(self):
        gaps = place(WALLS, arena="gaps", gap_length=0.3, start=1.0)
        assert (type(gaps).__name__, gaps.gap_length) == ("GapsCorridor", 0.3)

    def test_of_an_instance(self):
        walls = place(WALLS, arena=WallsCorridor(wall_gap=5.0), wall_height=1.0)
        assert (walls.wall_gap, walls.wall_height) == (5.0, 1.0)

    def test_single_and_batched(self):
        env, envs = gym.make(MAZE, cells=13), gym.make_vec(MAZE, num_envs=2, cells=13)
        rows = envs.reset(seed=0)[0]
        assert np.array_equal(env.reset(seed=1)[0], rows[1])
        assert envs.unwrapped.task.surroundings.cells == 13

    def test_a_specification_survives_json(self):
        env = gym.make(WALLS, wall_gap=Uniform(3.0, 5.0), corridor_length=30.0)
        again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
        own, other = (e.unwrapped.task.surroundings for e in (env, again))
        assert own.corridor_length == other.corridor_length == 30.0
        assert (other.wall_gap.low, other.wall_gap.high) == (3.0, 5.0)

    def test_on_the_command_line(self):
        shown = CliRunner().invoke(app, ["check", MAZE, "--set", "cells=4"])
        assert shown.exit_code != 0
        assert "must be odd" in " ".join(shown.output.split())

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"wall_gab": 3.0}, TypeError, "did you mean wall_gap"),
            ({"cells": 15}, TypeError, "unexpected keyword argument 'cells'"),
            ({"wall_gap": -3.0}, ValueError, "wall_gap: must be positive"),
            ({"start": -1.0}, ValueError, "start: must lie in the corridor, 0 to 100"),
            ({"start": 15.0, "corridor_length": 10.0}, ValueError, "0 to 10.0 m, got 15"),
            ({"start": (1, 2)}, TypeError, "start must be a number, got"),
            ({"walker": "rodent"}, ValueError, "usual posture.*give ends_on_fall=False"),
        ],
    )
    def test_mistakes(self, arguments, error, words):
        with pytest.raises(error, match=words):
            gym.make(WALLS, **arguments)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"cells": 14}, "cells: must be odd and at least 7, got 14"),
            ({"cells": 5}, "cells: must be odd and at least 7, got 5"),
            ({"cells": -3}, "cells: must be odd"),
            ({"cell": -1.0}, "cell: must be positive, got -1"),
        ],
    )
    def test_mistakes_in_a_maze(self, arguments, words):
        with pytest.raises(ValueError, match=words):
            gym.make(MAZE, **arguments)


class TestSizes:
    @pytest.mark.slow
    def test_a_rat_runs_around_walls_of_its_size(self):
        walls = place(WALLS, **RAT)
        assert walls.wall_height == pytest.approx(0.5)
        assert walls.wall_width.high == pytest.approx(7 / 6)
        env = gym.make(WALLS, **RAT, physics_timestep=0.001, control_timestep=0.02).unwrapped
        env.reset(seed=0)
        _x, _y, height = env.model.geom("wall_0").size
        assert height == pytest.approx(0.25)
        for _ in range(40):
            _, _, terminated, truncated, _ = env.step(np.zeros(38))
            assert not terminated
            assert not truncated

    def test_keywords_are_lengths_as_given(self):
        walls = place(WALLS, **RAT, wall_height=0.4)
        assert (walls.wall_height, walls.wall_gap) == (0.4, pytest.approx(4 / 6))

    def test_an_instance_keeps_its_own(self):
        walls = WallsCorridor()
        assert place(WALLS, arena=walls, **RAT) == walls

    def test_mazes_grow_and_shrink(self):
        assert place("locomotion/rodent-maze_forage-v0", walker="ant").cell == pytest.approx(3.0)
        rat = place("locomotion/cmu_humanoid-maze_forage-v0", **RAT)
        assert rat.target_radius == pytest.approx(0.4 / 6)

    @pytest.mark.parametrize(
        ("id", "arena"),
        [
            ("rodent-run_gaps", "small_gaps"),
            ("rodent-maze_forage", "small_maze"),
            ("rodent-escape_bowl", "bowl"),
            ("ant-run_walls", "walls"),
            ("rolling_ball-maze_forage", "maze"),
            ("cmu_humanoid-run_gaps", "gaps"),
        ],
    )
    def test_published_ids_keep_theirs(self, id, arena):
        assert place(f"locomotion/{id}-v0") == find_arena(arena)
