"""Shared set-up of the tests."""

import functools
import gc
import os
import re
import sys
import time
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TypeVar

import gymnasium
import mujoco
import pytest

import mjgym  # noqa: F401  (registers the ids)
from helpers.lanes import lane
from mjgym.rendering import candidates, probe
from mjgym.task import registrations


@functools.cache
def _missing_backends() -> str:
    """Why nothing can be drawn off screen here; empty if both backends work."""
    found = [probe(backend) for backend in candidates() if backend in ("egl", "osmesa")]
    return "; ".join(f"{p.backend}: {p.reason}" for p in found if not p.works)


# The programs that tests start, and the next run, would otherwise compile all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Ray's workers are niced by 15 and would wait for all tests beside them.
os.environ.update(RAY_worker_niceness="0")


# What a failing assertion of theirs compared is shown as in a test.
pytest.register_assert_rewrite("helpers.described", "helpers.divergence", "helpers.equivalence")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Time no test with pytest-benchmark, and keep a file's tests in one process."""
    config.option.benchmark_disable = True
    if getattr(config.option, "dist", "no") == "load":  # the default of -n
        config.option.dist = "worksteal"  # most tests that share fixtures stay together


MISSING = re.compile(r"^E +ModuleNotFoundError: No module named '(?!mjgym)(\w+)", re.MULTILINE)
Report = TypeVar("Report", pytest.CollectReport, pytest.TestReport)


def _skipped_without_package(report: Report, path: Path) -> Report:
    """A report that is skipped if a package is missing, as with the group `dev`; CI has all."""
    missing = MISSING.search(str(report.longrepr)) if report.failed else None
    if missing and any(Path(__file__).parent.rglob(f"{missing[1]}.py")):
        return report  # a module of the tests, which must be found
    if missing and not os.environ.get("MJGYM_REQUIRE_GL"):
        report.outcome = "skipped"
        reason = f'Skipped: needs {missing[1]}: pip install -e ".[test]"'
        report.longrepr = (str(path), 0, reason)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip files that import a package which is not installed."""
    return _skipped_without_package((yield), collector.path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip tests that import one."""
    return _skipped_without_package((yield), item.path)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep the garbage collector from looking through thousands of tests again and again."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


NEEDS = ("nightly", "gl", "browser", "display", "compiled", "warp", "wheel")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark weekly tests as slow or nightly, all values of one on a day that its name sets.

    What draws in software, or needs a program beside Python, is slow wherever it stands.
    """
    for item in items:
        if item.get_closest_marker("weekly"):
            item.add_marker(lane(zlib.crc32(item.nodeid.partition("[")[0].encode())))
        if any(item.get_closest_marker(need) for need in NEEDS):
            item.add_marker("slow")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked `gl` need OpenGL without a display, which CI has and a bare machine lacks."""
    if item.get_closest_marker("gl") and (missing := _missing_backends()):
        if os.environ.get("MJGYM_REQUIRE_GL"):
            pytest.fail(f"OpenGL is required here: {missing}")
        pytest.skip(f"no OpenGL here ({missing}); `mjgym doctor` says what to install")


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Exceptions that nobody could catch, e.g. of compiled functions."""
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    return told


@pytest.fixture
def engine_version(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets the engine report another version."""
    return lambda version: monkeypatch.setattr(mujoco, "mj_versionString", lambda: version)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets some seconds pass at once, and none afterwards."""

    def passed(seconds: float) -> None:
        now = time.monotonic() + seconds
        monkeypatch.setattr(time, "monotonic", lambda: now)

    return passed


@pytest.fixture
def compiled_forces() -> None:
    """OpenSim's forces in compiled steps, which `test_compiled_walker` holds to those in NumPy."""
    pytest.importorskip("llvmlite", reason='needs llvmlite: pip install -e ".[fast]"')
    assert gymnasium.make("l2m/walk_forward-v0").unwrapped.uncompiled == ""


@pytest.fixture
def hooks_in_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks run on arrays, as without the extra `fast`."""
    monkeypatch.setattr("mjgym.task.optional_hooks.compile_step", lambda *_: "not here")


@pytest.fixture
def own_ids() -> Iterator[None]:
    """Whatever a test registers is gone afterwards."""
    ours, theirs = dict(registrations), dict(gymnasium.registry)
    yield
    for present, before in ((registrations, ours), (gymnasium.registry, theirs)):
        present.clear()
        present.update(before)


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    """Ray on this machine with four CPUs: one for all tests, as its start takes long."""
    ray = pytest.importorskip("ray", reason='needs pip install -e ".[ray]"')
    ray.init(
        "local",
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=100 * 2**20,
        log_to_driver=False,
    )
    yield ray
    ray.shutdown()


@pytest.fixture
def programs_join_ray(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that the test starts, and that would start a Ray of their own, join the tests'."""
    monkeypatch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
