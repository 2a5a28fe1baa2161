"""Generated programs of PyMJCF on dm_control's library and on ours: the same compiled models."""

import datetime
import re
import subprocess
import sys

import pytest

from helpers.places import SCRIPTS

COUNT = 40


@pytest.mark.slow
def test_models_do_not_differ():
    first = COUNT * datetime.date.today().toordinal()  # others each day
    pytest.importorskip("dm_control", reason='needs pip install -e ".[dm-control]"')
    command = [sys.executable, "-W", "ignore", SCRIPTS / "compare_pymjcf.py"]
    done = subprocess.run(
        [*command, "--first", str(first), "--count", str(COUNT)],
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    compiled = re.search(r"compiled: (\d+), different: 0", done.stdout)
    assert int(compiled[1]) > 0.75 * COUNT
