"""The script that counts a published package's own tests."""

import subprocess
import sys

import pytest

from helpers.places import SCRIPTS

pytestmark = pytest.mark.slow


def test_those_of_dm_control():
    pytest.importorskip("dm_control", reason='needs pip install -e ".[dm-control]"')
    command = [sys.executable, SCRIPTS / "run_reference_tests.py", "dm_control", "mjcf/traversal*"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "| `mjcf/traversal_utils_test.py` | 5 | 0 | 0 | 0 |" in done.stdout
    assert "| all | 5 | 0 | 0 | 0 |" in done.stdout


def test_what_fails_is_counted_and_named(tmp_path):
    pytest.importorskip("dm_control", reason='needs pip install -e ".[dm-control]"')
    test = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.fail('so')\n"
    (tmp_path / "toy_test.py").write_text(test)
    (tmp_path / "lost_test.py").write_text("import nothing_of_this_name\n")
    command = [sys.executable, SCRIPTS / "run_reference_tests.py", "dm_control"]
    done = subprocess.run(
        [*command, "--tests", tmp_path], capture_output=True, text=True, check=True, timeout=120
    )
    assert "| `toy_test.py` | 0 | 1 | 0 | 0 |" in done.stdout
    assert "| `lost_test.py` | 0 | 0 | 1 | 0 |" in done.stdout
    assert "toy_test.py::T::test_a" in done.stdout.splitlines()[-1]
