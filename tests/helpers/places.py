"""Folders of the checkout, for the tests."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
ASSETS = ROOT / "assets"
SCRIPTS = ROOT / "scripts"
BENCHMARKS = ROOT / "benchmarks"
TESTS = ROOT / "tests"
DATA = TESTS / "data"
HELPERS = TESTS / "helpers"
