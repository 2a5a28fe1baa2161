"""With the group `dev` alone, files that import other packages are skipped by name."""

import os
import subprocess
import sys

import pytest

from helpers.places import TESTS


@pytest.mark.parametrize(
    ("content", "required", "code", "said"),
    [
        ("import no_such_package", "", 5, 'needs no_such_package: pip install -e ".[test]"'),
        ("def test(): import no_such_package", "", 0, "needs no_such_package"),
        ("import no_such_package", "1", 2, "No module named 'no_such_package'"),
        ("import mjgym.no_such_module", "", 2, "No module named 'mjgym.no_such_module'"),
        ("import elsewhere", "", 2, "No module named 'elsewhere'"),
    ],
    ids=["at the top", "in a test", "CI requires it", "of the package", "of the tests"],
)
def test_a_missing_package(content, required, code, said, tmp_path):
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "elsewhere.py").touch()
    (tmp_path / "test_it.py").write_text(f"{content}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "MJGYM_REQUIRE_GL": required},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout
