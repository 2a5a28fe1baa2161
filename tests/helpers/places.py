"""Folders of the checkout, for the tests."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
ASSETS = ROOT / "assets"
SCRIPTS = ROOT / "scripts"
BENCHMARKS = ROOT / "benchmarks"
TESTS = ROOT / "tests"
DATA = TESTS / "data"
RESULTS = BENCHMARKS / "results"  # of runs on this machine; git ignores it


def python_files(folder: Path) -> list[Path]:
    """Python files of the repository below a folder."""
    return sorted(path for path in folder.rglob("*.py") if RESULTS not in path.parents)
