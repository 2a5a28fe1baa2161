"""The check that policies follow velocity commands."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import commands

ID = "legged/go1-velocity-v0"


@pytest.mark.slow
def test_standing_follows_no_fast_command():
    row = commands.measure(ID, "zero", 3, 2.0)
    assert (row.followed, row.fell) == (0, 0)
    assert row.command == "python benchmarks/commands.py legged/go1-velocity-v0 zero"


def test_the_error_of_standing_is_the_commanded_speed():
    command = np.array((0.6, -0.8, 0.0))
    error, fell = commands.episode(lambda _: np.zeros(12), ID, command, 3.0)
    assert error == pytest.approx(1.0, abs=0.05)
    assert not fell


@pytest.mark.slow
def test_the_bundled_policy_follows():
    row = commands.measure(ID, "trained", 3, 3.0)
    assert row.followed == row.commands
    assert row.worst < commands.FOLLOWED


def test_an_id_without_commands_is_refused():
    with pytest.raises(ValueError, match="no velocity commands"):
        commands.measure("dmc/walker-walk-v0", "zero")


def test_a_line_of_the_table_has_all_seeds_of_a_budget():
    row = next(row for row in commands.packaged() if row.training)
    runs = [
        dataclasses.replace(row, policy=f"ppo, seed {seed}, {minutes} CPU min", followed=followed)
        for seed, minutes, followed in ((2, 15.1, 99), (0, 14.9, 90), (1, 15.0, 93), (0, 30.0, 98))
    ]
    lines = [line for line in commands.table(runs).splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.split("|")[2:6]] for line in lines]
    # The t interval of (90, 93, 99), 94 +- 4.303 * 4.583 / sqrt(3), ends at 100.
    assert cells == [["ppo", "15", "90 93 99", "94 (83 to 100)"], ["ppo", "30", "98", "98"]]
