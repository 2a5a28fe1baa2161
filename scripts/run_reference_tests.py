"""Run a published package's own tests on this MuJoCo, after `mjgym_compat.install`, and count them.

    pip install -e ".[dm-control]" pytest  # whose tests are in its wheel
    python scripts/run_reference_tests.py dm_control "mjcf/*" "composer/*"
    python scripts/run_reference_tests.py robosuite --tests CHECKOUT/tests

Each file runs in a process of its own. A pattern is matched against a file's path in the package,
without its suffix. Failures are listed below the table.
"""

import argparse
import fnmatch
import importlib.util
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

LIMIT = 1800  # s per file
OUTCOMES = ("passed", "failed", "error", "skipped")
PROGRAM = """
import os, sys, unittest.mock
sys.modules.setdefault("mock", unittest.mock)
import mjgym_compat
mjgym_compat.install({package!r})
try:  # what absltest's own main does
    from absl import flags
    from absl.testing import absltest
    flags.FLAGS(["test"])
    os.makedirs(absltest.TEST_TMPDIR.value, exist_ok=True)
except ImportError:
    pass
import pytest
options = ("-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "--import-mode=importlib")
sys.exit(pytest.main([{file!r}, *options, "--rootdir", {root!r}]))
"""


def files(root: Path, patterns: list[str]) -> Iterator[Path]:
    """The test files that match a pattern; all without patterns."""
    for file in sorted({*root.rglob("*_test.py"), *root.rglob("test_*.py")}):
        name = file.relative_to(root).with_suffix("").as_posix()
        if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            yield file


def run(package: str, root: Path, file: Path) -> tuple[Counter[str], list[str]]:
    """Counts of a file's tests by outcome, and the lines about those that failed."""
    program = PROGRAM.format(package=package, file=str(file), root=str(root))
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Counter(error=1), [f"{file}: over {LIMIT} s"]
    lines = done.stdout.splitlines()
    counts = Counter({word: int(n) for n, word in re.findall(r"(\d+) (\w+)", (lines or [""])[-1])})
    if not any(counts[outcome] for outcome in OUTCOMES) and done.returncode:
        end = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return Counter(error=1), [f"{file}: {end}"]
    return counts, [line for line in lines if line.startswith(("FAILED", "ERROR"))]


def main() -> None:
    """Run the tests and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", help="dm_control or robosuite")
    parser.add_argument("pattern", nargs="*", help='files, "mjcf/*" for example')
    parser.add_argument("--tests", type=Path, help="folder of the tests; that of the package")
    arguments = parser.parse_args()
    spec = importlib.util.find_spec(arguments.package)
    if arguments.tests is None and (spec is None or spec.origin is None):
        parser.error(f"{arguments.package} is not installed")
    root = arguments.tests or Path(str(spec and spec.origin)).parent
    print(f"| file | {' | '.join(OUTCOMES)} |\n|---|{'---|' * len(OUTCOMES)}")
    total: Counter[str] = Counter()
    reasons: list[str] = []
    for file in files(root.resolve(), arguments.pattern):
        counts, failures = run(arguments.package, root.resolve(), file)
        total += counts
        reasons += failures
        row = " | ".join(str(counts[outcome]) for outcome in OUTCOMES)
        print(f"| `{file.relative_to(root.resolve())}` | {row} |", flush=True)
    print(f"| all | {' | '.join(str(total[outcome]) for outcome in OUTCOMES)} |")
    print(*reasons, sep="\n")


if __name__ == "__main__":
    main()
