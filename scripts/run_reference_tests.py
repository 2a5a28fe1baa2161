"""Run others' own tests with their imports answered by `mjgym_compat`, and count them.

    pip download --no-deps dm_control  # its tests are in the wheel
    pip install absl-py h5py pytest scipy
    python scripts/run_reference_tests.py dm_control-*.whl "suite/*" mujoco/engine_test
    python scripts/run_reference_tests.py dm_control-*.whl --table assets/guides/coming_from.md
    python scripts/run_reference_tests.py dm_control-*.whl none --notebook tutorial.ipynb
    git clone --branch v1.5.2 https://github.com/ARISE-Initiative/robosuite  # tests and pages
    python scripts/run_reference_tests.py robosuite --table assets/guides/coming_from.md

Each file runs in a process of its own. Of the wheel or checkout nothing is imported but its tests,
their helpers and their data; the Python blocks of a page of robosuite run in their order, those
that open a window without it, and these count as skipped. A pattern is matched against a file's
path, with or without its suffix; of dm_control's without `dm_control/`. A notebook's cells run in
order, without those that install something; that needs IPython, matplotlib and ffmpeg.
"""

import argparse
import collections
import fnmatch
import importlib
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock
import zipfile
from collections.abc import Iterable, Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import guide_marks

from mjgym.util import atomic

LIMIT = 1800  # s per file
TEST_LIMIT = 120  # s per test
PACKAGE = "dm_control"
PAGES = (".md", ".rst")
BLOCK = re.compile(  # a fence of Markdown, or a directive of reStructuredText
    r"^```python\n(.*?)^```|^\.\. code-block:: python\n+((?:(?: [^\n]*)?\n)+)", re.M | re.S
)
WINDOW = re.compile(r"has_renderer=True, *|^ *env\.render\(\).*", re.M)
HELPERS = re.compile(r"testing|test_utils|fake_physics|_test$|testdata|test_data|duplo\.utils")
MARK = "RESULT "


class Helpers(MetaPathFinder):
    """Finder of the wheel's test helpers, and of nothing else in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a helper."""
        name = name.removeprefix("mjgym_compat.")
        parts = name.split(".")
        if parts[0] != PACKAGE or not HELPERS.search(".".join(parts[1:])):
            return None
        place = self._folder.joinpath(*parts)
        if (place / "__init__.py").is_file():
            return importlib.util.spec_from_file_location(
                name, place / "__init__.py", submodule_search_locations=[str(place)]
            )
        own = place.with_suffix(".py")
        file = own if own.is_file() else next(self._folder.rglob(own.name), None)
        return importlib.util.spec_from_file_location(name, file) if file else None


class Result(unittest.TextTestResult):
    """Results of tests, of which one that does not end fails."""

    def startTest(self, test: unittest.TestCase) -> None:
        """Start the test's time."""
        super().startTest(test)
        signal.signal(signal.SIGALRM, _stop)
        signal.alarm(TEST_LIMIT)

    def stopTest(self, test: unittest.TestCase) -> None:
        """End the test's time."""
        signal.alarm(0)
        super().stopTest(test)


def _stop(number: int, frame: Any) -> None:
    raise TimeoutError(f"over {TEST_LIMIT} s")


class Counter:
    """Plugin of pytest that counts a file's tests."""

    def __init__(self) -> None:
        self.counts: dict[str, Any] = empty()

    def pytest_collectreport(self, report: Any) -> None:
        """Note an error of import."""
        if report.failed:
            self.counts["failed"] = None
            self._note("", report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count one test."""
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1
            if report.failed:
                self._note(report.nodeid, report)

    def _note(self, test: str, report: Any) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        text = crash.message.splitlines()[0] if crash else _last(str(report.longrepr))
        self.counts["reasons"].append([test, text])


def run_robosuite(file: Path) -> dict[str, Any]:
    """Counts of a file of tests, or of a page's blocks, of robosuite."""
    import mjgym_compat

    mjgym_compat.install("robosuite")
    if file.suffix in PAGES:
        return run_blocks(file.read_text())
    import pytest

    counter = Counter()
    options = ("-q", "-p", "no:cacheprovider", "--rootdir", str(file.parent))
    pytest.main([str(file), *options], plugins=[counter])
    return counter.counts


def run_blocks(page: str) -> dict[str, Any]:
    """Counts of a page's blocks, which share their names; those with a window run without it."""
    counts, names = empty(), {"__name__": "page"}
    for number, found in enumerate(BLOCK.finditer(page), 1):
        block = textwrap.dedent(found[1] or found[2])
        outcome = "skipped" if WINDOW.search(block) else "passed"
        try:
            exec(compile(WINDOW.sub("", block), f"block {number}", "exec"), names)
        except Exception as error:
            outcome = "failed"
            counts["reasons"].append([f"block {number}", _line(error)])
        counts[outcome] += 1
    return counts


def empty() -> dict[str, Any]:
    """Counts of no test."""
    return {"passed": 0, "failed": 0, "skipped": 0, "reasons": []}


def broken(reason: str) -> dict[str, Any]:
    """Counts of a file that does not run."""
    return empty() | {"failed": None, "reasons": [["", reason]]}


def run_here(folder: Path, file: Path) -> dict[str, Any]:
    """Counts of one file's tests, run in this process, and why tests fail."""
    sys.modules.setdefault("mock", unittest.mock)
    import mjgym_compat

    mjgym_compat.install(PACKAGE)
    sys.meta_path.insert(0, Helpers(folder))
    from absl import flags
    from absl.testing import absltest

    flags.FLAGS([str(file)])
    os.makedirs(absltest.TEST_TMPDIR.value, exist_ok=True)
    name = ".".join(file.relative_to(folder).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        return broken(_line(error))
    result = unittest.TextTestRunner(io.StringIO(), resultclass=Result).run(
        unittest.defaultTestLoader.loadTestsFromModule(module)
    )
    bad = [*result.failures, *result.errors]
    names = {test.id().partition(" ")[0] for test, _ in bad}  # subtests belong to one test
    return {
        "passed": result.testsRun - len(names) - len(result.skipped),
        "failed": len(names),
        "skipped": len(result.skipped),
        "reasons": [[test.id().partition(f"{name}.")[2], _last(text)] for test, text in bad],
    }


def run_cells(notebook: Path) -> dict[str, Any]:
    """Counts of a notebook's cells, run in order in this process, and why cells fail."""
    from IPython.terminal.interactiveshell import TerminalInteractiveShell

    import mjgym_compat

    mjgym_compat.install(PACKAGE)
    shell = TerminalInteractiveShell.instance()
    shell.run_line_magic("matplotlib", "inline")
    cells = [c for c in json.loads(notebook.read_text())["cells"] if c["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    wanted = {i: source for i, source in enumerate(sources, 1) if "pip install" not in source}
    errors = {}
    for i, source in wanted.items():
        done = shell.run_cell(source)
        if not done.success:
            errors[i] = done.error_in_exec or done.error_before_exec
    return {
        "passed": len(wanted) - len(errors),
        "failed": len(errors),
        "skipped": len(sources) - len(wanted),
        "reasons": [[f"cell {i}", _line(error)] for i, error in errors.items()],
    }


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _last(traceback: str) -> str:
    lines = [line for line in traceback.strip().splitlines() if re.match(r"[\w.]+(:|$)", line)]
    return lines[-1] if lines else traceback.strip().splitlines()[-1]


def run(folder: Path, file: Path) -> dict[str, Any]:
    """Counts of one file's tests, run in a process of its own."""
    command = [sys.executable, __file__, "--one", str(file), str(folder)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, cwd=folder, check=False
        )
    except subprocess.TimeoutExpired:
        return broken(f"over {LIMIT} s")
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            counts: dict[str, Any] = json.loads(line.removeprefix(MARK))
            return counts
    end = (done.stderr.strip().splitlines() or ["no output"])[-1]
    return broken(f"ended early: {end}")


def files(root: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """The test files, and pages with Python blocks, that match a pattern; all without patterns."""
    wanted = list(patterns)
    tests = [*root.rglob("*_test.py"), *root.glob("tests/**/test_*.py")]
    pages = [each for end in PAGES for each in root.glob(f"docs/**/*{end}")]
    for file in sorted(tests) + sorted(f for f in pages if BLOCK.search(f.read_text())):
        name = file.relative_to(root).as_posix()
        plain = name.removesuffix(file.suffix)
        if not wanted or any(fnmatch.fnmatch(n, p) for p in wanted for n in (name, plain)):
            yield file


def table(counts: dict[str, dict[str, Any]], before: str = "") -> str:
    """The table of files, with the reasons of failures; files that were not run keep their row."""
    rows = {row.split("`")[1]: row for row in before.splitlines() if row.startswith("| `")}
    for name, count in counts.items():
        reasons = collections.Counter(_short(reason) for _, reason in count["reasons"])
        why = "; ".join(f"{reason} ({n})" if n > 1 else reason for reason, n in reasons.items())
        failed = "all" if count["failed"] is None else count["failed"]
        rows[name] = f"| `{name}` | {count['passed']} | {failed} | {count['skipped']} | {why} |"
    cells = [row.split("|")[2:5] for row in rows.values()]
    sums = [
        sum(int(c) for c in column if c.strip() != "all") for column in zip(*cells, strict=True)
    ]
    head = ["| file | passed | failed | skipped | why |", "|---|---|---|---|---|"]
    last = f"| all | {' | '.join(map(str, sums))} | |"
    return "\n".join([*head, *(rows[name] for name in sorted(rows)), last])


def _short(reason: str, width: int = 110) -> str:
    plain = re.sub(r"0x[0-9a-f]+", "...", reason).replace("|", "/").replace("`", "'")
    return plain if len(plain) <= width else plain[: width - 3] + "..."


def count(root: Path, folder: Path, arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Counts by file, printed as they come."""
    counts = {}
    place = "robosuite/" if root == folder else ""
    tests = {place + f.relative_to(root).as_posix(): f for f in files(root, arguments.pattern)}
    tests |= {notebook.name: notebook.resolve() for notebook in arguments.notebook}
    for short, file in tests.items():
        counts[short] = found = run(folder, file)
        print(short, *(found[key] for key in ("passed", "failed", "skipped")), flush=True)
        if arguments.verbose:
            grouped = {_short(why): test for test, why in reversed(found["reasons"])}
            print(*(f"    {test}: {why}\n" for why, test in grouped.items()), sep="", end="")
    return counts


def _counts(folder: Path, file: Path) -> dict[str, Any]:
    if file.suffix == ".ipynb":
        return run_cells(file)
    return run_here(folder, file) if (folder / PACKAGE).is_dir() else run_robosuite(file)


def main() -> None:
    """Run the tests and print, or write, the table."""
    if sys.argv[1:2] == ["--one"]:
        file, folder = map(Path, sys.argv[2:4])
        sys.argv = [str(file)]
        print(MARK + json.dumps(_counts(folder, file)))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="wheel of dm_control, or checkout of robosuite")
    parser.add_argument("pattern", nargs="*", help='files, "mjcf/*" for example')
    parser.add_argument("--notebook", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table into a guide")
    parser.add_argument("--verbose", action="store_true", help="one test of each reason of failure")
    arguments = parser.parse_args()
    source = arguments.source.resolve()
    if source.is_dir():
        name, counts = "robosuite-tests", count(source, source, arguments)
    else:
        with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(source) as archive:
            archive.extractall(place)
            folder = Path(place)
            name, counts = "reference-tests", count(folder / PACKAGE, folder, arguments)
    if arguments.table is None:
        print(table(counts))
        return
    text = arguments.table.read_text()
    begin = f"<!-- {name}:begin (written by scripts/run_reference_tests.py) -->"
    head, before, tail = guide_marks.parts(text, begin, f"<!-- {name}:end -->")
    atomic.write_text(arguments.table, f"{head}\n{table(counts, before)}\n{tail}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
