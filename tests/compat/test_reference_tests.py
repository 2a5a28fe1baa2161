"""The script that counts others' own tests."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_reference_tests.py"

TEST = """
import unittest
from dm_control import suite

class Suite(unittest.TestCase):
    def test_steps(self):
        env = suite.load("cartpole", "balance")
        self.assertTrue(env.reset().first())

    def test_fails(self):
        self.assertEqual(1, 2)

    def test_skips(self):
        self.skipTest("not now")
"""
ROBOSUITE_TEST = """
import pytest
import robosuite

@pytest.mark.parametrize("name", ["Lift", "Lit"])
def test_name(name):
    assert name in robosuite.ALL_ENVIRONMENTS
"""
PAGE = """
```python
import robosuite
answer = 42
```

```python
assert answer == 42
raise ValueError("a page's mistake")
```

```sh
exit 1
```
"""


def counted(*words):
    """Rows of the table by file."""
    command = [sys.executable, SCRIPT, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| `")]
    return {cells[0].strip("| `"): [cell.strip(" |") for cell in cells[1:]] for cells in rows}


def test_a_wheel_of_dm_control(tmp_path):
    pytest.importorskip("absl")
    wheel = tmp_path / "dm_control-9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("dm_control/__init__.py", "raise ImportError('theirs')")
        archive.writestr("dm_control/suite/toy_test.py", TEST)
    rows = counted(wheel, "suite/*")
    assert rows == {"suite/toy_test.py": ["1", "1", "1", "AssertionError: 1 != 2"]}


def test_a_checkout_of_robosuite(tmp_path):
    """Its rows are written into the table of a guide, whose other rows stay."""
    guide = tmp_path / "guide.md"
    begin = "<!-- robosuite-tests:begin (written by scripts/run_reference_tests.py) -->"
    row = "| `robosuite/docs/other.md` | 7 | 0 | 0 |  |"
    guide.write_text(f"before\n{begin}\n{row}\n<!-- robosuite-tests:end -->\nafter\n")
    checkout = tmp_path / "checkout"
    (checkout / "docs").mkdir(parents=True)
    (checkout / "tests").mkdir()
    (checkout / "tests/test_toy.py").write_text(ROBOSUITE_TEST)
    (checkout / "docs/page.md").write_text(PAGE)
    counted(checkout, "--table", guide)
    text = guide.read_text()
    assert row in text
    assert "| `robosuite/tests/test_toy.py` | 1 | 1 | 0 |" in text
    assert "| `robosuite/docs/page.md` | 1 | 1 | 0 | ValueError: a page's mistake |" in text
    assert "| all | 9 | 2 | 0 | |" in text
    assert text.startswith("before")
    assert text.endswith("after\n")
