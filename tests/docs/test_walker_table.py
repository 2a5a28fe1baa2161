"""The locomotion guide's table of walkers, arenas and tasks."""

import re

import gymnasium
import numpy as np
import pytest

import mjgym  # noqa: F401  (registers the ids)
from helpers.guide_code import FOLDER
from helpers.lanes import mostly_nightly
from mjgym.tasks.locomotion.arenas import find_arena
from mjgym.tasks.locomotion.walkers import find_walker, walker_names

GROUPS = {
    "humanoids": ("cmu_humanoid", "cmu_humanoid_torque", "cmu_humanoid_2020", "soccer_humanoid"),
    "`rodent`": ("rodent",),
    "`ant`": ("ant",),
    "balls, `boxhead`": ("rolling_ball", "jumping_ball", "boxhead"),
}
FINE = {"physics_timestep": 0.001, "control_timestep": 0.02}  # for the rodent
COARSE = {"physics_timestep": 0.005, "control_timestep": 0.03}
STEPS = 40  # with zero actions, in which a walker whose trunk lies on the ground has fallen


def combinations():
    text = (FOLDER / "locomotion.md").read_text().partition("<!-- combinations: tested -->\n")[2]
    head, _, *rows = [
        line.strip("| ").split(" | ") for line in text.partition("\n\n")[0].split("\n")
    ]
    for task, arena, *cells in rows:
        for group, cell in zip(head[2:], cells, strict=True):
            for walker in GROUPS[group]:
                yield task.strip("`"), arena.strip("`"), walker, cell


def steps(task, arena, walker, **fields):
    """Control steps until the episode ends, `STEPS` at most."""
    timing = FINE if walker == "rodent" else COARSE
    env = gymnasium.make(
        f"locomotion/{task}-v0", walker=walker, arena=arena, **timing, **fields
    ).unwrapped
    env.reset(seed=0)
    for i in range(1, STEPS + 1):
        _, _, terminated, truncated, info = env.step(np.zeros(env.action_space.shape))
        assert not info["diverged"]
        if terminated or truncated:
            return i
    return STEPS


@pytest.mark.parametrize(("task", "arena", "walker", "cell"), mostly_nightly(combinations(), 7))
def test_a_combination_is_as_the_table_says(task, arena, walker, cell):
    if cell == "error":
        with pytest.raises(ValueError, match=re.escape(walker)):
            steps(task, arena, walker)
        return
    need, _, scaled = cell.partition(", ")
    place = gymnasium.make(
        f"locomotion/{task}-v0", walker=walker, arena=arena, ends_on_fall=False
    ).unwrapped.task.surroundings
    assert (place != find_arena(arena)) == (scaled == "scaled")
    if need == "`ends_on_fall=False`":
        if find_walker(walker).crawls:
            with pytest.raises(ValueError, match="give ends_on_fall=False"):
                steps(task, arena, walker)
        else:
            assert steps(task, arena, walker) < STEPS / 2
        assert steps(task, arena, walker, ends_on_fall=False) == STEPS
    else:
        assert need == "yes"
        assert steps(task, arena, walker) > 3


def test_the_table_names_each_walker():
    named = {walker for group in GROUPS.values() for walker in group}
    assert named <= set(walker_names())
    assert {walker for _, _, walker, _ in combinations()} == named
