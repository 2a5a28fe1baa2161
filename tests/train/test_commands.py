"""The check that policies follow velocity commands."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import commands

ID = "legged/go1-velocity-v0"


def test_standing_follows_no_fast_command():
    row = commands.measure(ID, "zero", 3, 2.0)
    assert (row.followed, row.fell) == (0, 0)
    assert row.command == "python benchmarks/commands.py legged/go1-velocity-v0 zero"


def test_the_error_of_standing_is_the_commanded_speed():
    command = np.array((0.6, -0.8, 0.0))
    error, fell = commands.episode(lambda _: np.zeros(12), ID, command, 3.0)
    assert error == pytest.approx(1.0, abs=0.05)
    assert not fell


def test_the_bundled_policy_follows():
    row = commands.measure(ID, "trained", 3, 3.0)
    assert row.followed == row.commands
    assert row.worst < commands.FOLLOWED


def test_an_id_without_commands_is_refused():
    with pytest.raises(ValueError, match="no velocity commands"):
        commands.measure("dmc/walker-walk-v0", "zero")
