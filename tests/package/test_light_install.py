"""With the group `dev` alone, files that import other packages are skipped by name."""

import os
import subprocess
import sys

import pytest

from helpers.places import TESTS

FILES = {
    "at_the_top": "import no_such_package",
    "in_a_test": "def test(): import no_such_package",
    "of_the_package": "import mjgym.no_such_module",
    "of_the_tests": "import elsewhere",
}


def reported(folder, required):
    """What pytest says of each file."""
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (folder / "folder").mkdir()
    (folder / "folder" / "elsewhere.py").touch()
    for name, content in FILES.items():
        (folder / f"test_{name}.py").write_text(f"{content}\n")
    options = ("-rsfE", "-p", "no:cacheprovider", "--continue-on-collection-errors")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder)],
        cwd=folder,
        env={
            **os.environ,
            "MJGYM_REQUIRE_GL": required,
            "COLUMNS": "200",
            "PYTHONPATH": str(TESTS),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "No module named 'mjgym.no_such_module'" in done.stdout
    assert "No module named 'elsewhere'" in done.stdout
    summary = done.stdout.rpartition("short test summary info")[2].splitlines()
    return {name: next(line for line in summary if f"test_{name}.py" in line) for name in FILES}


@pytest.mark.slow
@pytest.mark.parametrize("required", ["", "1"], ids=["here", "in CI"])
def test_a_missing_package(required, tmp_path):
    said = reported(tmp_path, required)
    for name in ("at_the_top", "in_a_test"):
        if required:
            assert said[name].startswith(("ERROR", "FAILED"))
        else:
            assert said[name].startswith("SKIPPED")
            assert 'needs no_such_package: pip install -e ".[test]"' in said[name]
    for name in ("of_the_package", "of_the_tests"):
        assert said[name].startswith("ERROR")
