"""The comparison with the peers: names, arithmetic, tables, mistakes; nothing here is timed."""

import argparse
import importlib
import importlib.machinery
import itertools
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.places import BENCHMARKS
from helpers.small_process import fresh
from helpers.suite import IDS

sys.path.insert(0, str(BENCHMARKS))

import commits
import peers
import watch
from comparison import report, subjects
from comparison.other_suites import envpool_name
from comparison.turns import compare_steps
from comparison.worker import Worker, WorkerError

ENVPOOL = """
AcrobotSwingup AcrobotSwingupSparse BallInCupCatch CartpoleBalance CartpoleBalanceSparse
CartpoleSwingup CartpoleSwingupSparse CartpoleTwoPoles CartpoleThreePoles CheetahRun DogStand
DogWalk DogTrot DogRun DogFetch FingerSpin FingerTurnEasy FingerTurnHard FishUpright FishSwim
HopperStand HopperHop HumanoidStand HumanoidWalk HumanoidRun HumanoidRunPureState HumanoidCMUStand
HumanoidCMUWalk HumanoidCMURun LqrLqr21 LqrLqr62 ManipulatorBringBall ManipulatorBringPeg
ManipulatorInsertBall ManipulatorInsertPeg PendulumSwingup PointMassEasy PointMassHard
QuadrupedWalk QuadrupedRun QuadrupedEscape QuadrupedFetch ReacherEasy ReacherHard StackerStack2
StackerStack4 SwimmerSwimmer6 SwimmerSwimmer15 WalkerStand WalkerWalk WalkerRun
"""


def test_envpool_spelling() -> None:
    assert [envpool_name(id) for id in IDS] == [f"{name}-v1" for name in ENVPOOL.split()]


def test_gymnasiums_own_tasks_have_subjects_of_their_own() -> None:
    known = [*IDS, "gymnasium/Ant-v5"]
    options = peers.parse(["--gymnasium"], known)
    assert options.ids == ["gymnasium/Ant-v5"]
    assert "sync" in options.only
    assert "sync" not in peers.parse([], known).only
    assert peers.parse(["gymnasium/Ant-v5"], known).only == options.only


@pytest.mark.slow
def test_gymnasiums_vector_environments_are_timed() -> None:
    settings = subjects.Settings("gymnasium/Hopper-v5", 2, 1)
    for builder in (subjects.sync, subjects.asynchronous):
        with subjects.built(builder, settings) as subject:
            assert len(subjects.prepare(subject)) == subjects.RESETS
            assert subjects.measure(subject, 0.01).calls > 0


def test_peers_load_without_our_imports() -> None:
    """Their import time is measured by running the file that loads them by itself."""
    program = """
import runpy, sys
load = runpy.run_path(sys.argv[1])["load_dm_control"]
assert callable(load)
print(sorted({"mjgym", "mujoco", "numpy", "gymnasium"} & set(sys.modules)))
"""
    assert fresh(program, peers.peers_file()) == "[]\n"


@pytest.mark.slow
def test_the_process_of_dm_control_registers_our_ids() -> None:
    """It is timed from our start, and nothing else in its process imports the package."""
    program = """
import sys, types
import numpy
sys.path.insert(0, sys.argv[1])
from comparison import other_suites, subjects
limits = types.SimpleNamespace(minimum=-numpy.ones(1), maximum=numpy.ones(1))
calls = {"reset": print, "step": print, "close": print, "action_spec": lambda: limits}
env = types.SimpleNamespace(**calls)
other_suites.make_dm_control = lambda id, seed: env
assert "mjgym" not in sys.modules
subject = subjects.dm_control(subjects.Settings("dmc/cartpole-swingup-v0", 1, 1))
assert subject.advance is print
"""
    assert fresh(program, Path(peers.__file__).parent).strip() == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dmc/walker-wakl-v0"], "did you mean dmc/walker-walk-v0"),
        (["--num-envs", "0"], "--num-envs: must be at least 1, got 0"),
        (["--repeats", "0"], "--repeats: must be at least 1, got 0"),
        (["--seconds", "0"], "--seconds: must be more than 0"),
        (["--seconds", "nan"], "--seconds: must be more than 0"),
        (["--quick", "dmc/walker-walk-v0"], "--quick"),
        (["--only", "dm_contrl"], "invalid choice: 'dm_contrl'"),
        (["--nothing"], "--nothing"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        peers.parse(arguments, IDS)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_rate_counts_resets_once_an_episode() -> None:
    steps = {"simulations": 4, "control_steps": 1}
    bare = report.rate(10, 1.0, **steps, reset_seconds=5.0, episode_steps=math.inf)
    assert bare == pytest.approx(40)
    # 1000 steps of 0.1 s and a reset of 100 s: half the time.
    assert report.rate(10, 1.0, **steps, reset_seconds=100.0, episode_steps=1000) == (
        pytest.approx(20)
    )
    loop = {"simulations": 4, "control_steps": 8}
    assert report.rate(10, 1.0, **loop, reset_seconds=0, episode_steps=1000) == pytest.approx(320)


def subject(*rates: float) -> dict:
    """A subject measured without resets."""
    windows = [{"calls": 10, "seconds": 10 / rate, "restarts": []} for rate in rates]
    return {"simulations": 1, "control_steps": 1, "resets": [], "windows": windows}


def canned() -> list[report.Result]:
    first = {
        "envpool": subject(10, 20, 40),
        "batch": subject(20, 20, 20),
        "limit": subject(25, 25, 40),
        "single": subject(6, 6, 6),
        "dm_control": subject(2, 3, 1),
    }
    second = {
        "envpool": {"error": "LookupError: EnvPool has no B-v1"},
        "batch": subject(1234, 1234, 1234),
        "limit": subject(2468, 2468, 2468),
        "single": subject(3, 3, 3),
        "dm_control": subject(6, 6, 6),
    }
    return [
        report.result("dmc/a-a-v0", 256, 1000, first),
        report.result("dmc/b-b-v0", 256, math.inf, second),
    ]


def test_ratios_are_taken_within_a_repeat() -> None:
    result, other = canned()
    ratios = {name: ratio["median"] for name, ratio in result["ratios"].items()}
    assert ratios == pytest.approx(
        {"batch / EnvPool": 1.0, "batch / limit": 0.8, "single / dm_control": 3.0}
    )
    assert result["ratios"]["batch / EnvPool"]["repeats"] == pytest.approx([2.0, 1.0, 0.5])
    assert "batch / EnvPool" not in other["ratios"]


def test_summary() -> None:
    summary = report.summary(canned())
    assert summary["batch / EnvPool"]["ids"] == 1
    single = summary["single / dm_control"]
    assert single["geometric_mean"] == pytest.approx(math.sqrt(1.5))
    assert single["mean"] == pytest.approx(1.75)
    assert (single["minimum"], single["minimum_id"]) == (pytest.approx(0.5), "dmc/b-b-v0")
    assert single["at_least_one"] == 1
    assert report.summary([]) == {}


@pytest.mark.slow
def test_files(tmp_path: Path) -> None:
    path = tmp_path / "peers.json"
    machine = report.machine(2)
    report.write_json(path, {"machine": machine, "results": canned()})
    read = json.loads(path.read_text())
    assert read["results"][1]["episode_steps"] is None
    assert read["machine"]["allowed_cores"] == 2
    assert read["machine"]["versions"]["mujoco"]
    assert os.listdir(tmp_path) == ["peers.json"]
    pytest.importorskip("matplotlib")
    report.plot(tmp_path / "peers.png", canned(), "canned")
    assert (tmp_path / "peers.png").stat().st_size > 0
    report.plot(tmp_path / "nothing.png", [{"id": "dmc/none-v0", "ratios": {}}], "no ratio")
    assert not (tmp_path / "nothing.png").exists()


def test_a_window_keeps_restarts_apart() -> None:
    ticks = itertools.count()
    taken: list[int] = []
    subject = subjects.Subject(
        advance=lambda action: taken.append(action) or len(taken),
        actions=itertools.cycle(range(5)),
        ended=lambda steps: steps % 4 == 0,
        restart=lambda: None,
        cpu=lambda: float(next(ticks)),
    )
    window = subjects.measure(
        subject, 5.0, cpu=True
    )  # each call takes a tick, and so does a restart
    assert (window.calls, window.seconds, window.restarts) == (4, 4.0, [1.0])
    assert taken == [0, 1, 2, 3, 4, 0, 1]  # three calls before the window do not count
    assert subjects.measure(subject, 1.0, cpu=True).restarts == []
    assert taken[7:] == [2, 3, 4, 0]


def _end_by_signal(connection) -> None:
    connection.recv()
    print("the last words", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.weekly
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
def test_a_subject_that_ends_says_how() -> None:
    with (
        Worker(_end_by_signal) as worker,
        pytest.raises(WorkerError, match="SIGKILL: the last words"),
    ):
        worker.ask("prepare", 60)


@pytest.mark.slow
@pytest.mark.weekly
def test_a_subject_may_have_processes_of_its_own() -> None:
    settings = subjects.Settings("gymnasium/Hopper-v5", 2, 1)
    options = argparse.Namespace(repeats=1, seconds=0.05, cpu=True)
    result = compare_steps({"async": subjects.asynchronous}, settings, options, {})
    assert result["subjects"]["async"]["rate"] > 0, result


@pytest.mark.weekly
def test_our_subjects_run_without_peers() -> None:
    unavailable = dict.fromkeys(("envpool", "dm_control", "sync", "async"), "not asked for")
    settings = subjects.Settings("dmc/cartpole-swingup-v0", 3, 2)
    options = argparse.Namespace(seconds=0.01, repeats=2)
    result = compare_steps(peers.SUBJECTS, settings, options, unavailable)
    assert set(result["ratios"]) == {"batch / limit", "batch / engine", "single / bare"}
    assert result["subjects"]["envpool"] == {"error": "not asked for"}
    for name in ("batch", "engine", "limit", "bare", "single"):
        assert len(result["subjects"][name]["rates"]) == 2


def _is_clone() -> bool:
    command = ["git", "rev-parse", "--verify", "HEAD"]
    return (
        subprocess.run(command, cwd=commits.ROOT, capture_output=True, check=False).returncode == 0
    )


@pytest.mark.weekly
@pytest.mark.skipif(not _is_clone(), reason="needs git and a clone")
def test_comparing_commits(capsys) -> None:
    with pytest.raises(SystemExit, match="no-such-commit"), commits.checked_out("no-such-commit"):
        pass
    short = ["--num-envs", "1", "2", "--seconds", "0.01", "--repeats", "2"]
    assert commits.main(["HEAD", "dmc/pendulum-swingup-v0", *short]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[1].strip() for row in rows] == ["1", "2"]
    assert all(float(row[4]) > 0 for row in rows)
    listed = ["git", "worktree", "list"]
    left = subprocess.run(listed, cwd=commits.ROOT, capture_output=True, text=True, check=True)
    assert "mjgym-commit-" not in left.stdout


class TestWatching:
    ROW = watch.Row("dmc/pendulum-swingup-v0", 1, "steps")

    def test_an_interval_holds_the_median_in_95_of_100_tries(self):
        rng = np.random.default_rng(0)
        for n in (6, 9, 11, 20):
            tries = [watch.interval(rng.normal(size=n).tolist()) for _ in range(2000)]
            held = np.mean([low <= 0 <= high for low, high in tries])
            assert 0.94 < held < 0.995, (n, held)
        assert watch.interval([1.0, 3.0, 2.0]) == (1.0, 3.0)

    def test_what_is_slower_by_more_than_noise_is_said(self):
        noisy = watch.Change(self.ROW, 1e-6, 1.2e-6, 1.2, 0.9, 1.5)
        slow = watch.Change(self.ROW, 1e-6, 1.2e-6, 1.2, 1.1, 1.3)
        assert not noisy.slower
        assert slow.slower
        said = watch.text([noisy, slow], ["dmc/dog-run-v0, 1, steps: no time"], "abc")
        assert "Compared with abc: 1 of 2 are slower." in said
        assert "1.100 to 1.300" in said
        assert "0.900" not in said
        assert "dmc/dog-run-v0, 1, steps: no time" in said

    def test_the_last_record_of_this_past_is_compared_with(self, tmp_path):
        file = tmp_path / "records" / "speed.jsonl"
        assert watch.last_recorded(file) == "HEAD~1"
        watch.record([watch.Change(self.ROW, 2.0, 1.0, 0.5, 0.4, 0.6)], file)
        (line,) = map(json.loads, file.read_text().splitlines())
        row = {"id": self.ROW.id, "num_envs": 1, "kind": "steps", "seconds": 1.0}
        assert line["rows"] == [row]
        line["machine"]["commit"] = "0" * 40  # of another history
        with file.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        if _is_clone():
            head = ["git", "rev-parse", "HEAD"]
            done = subprocess.run(head, cwd=commits.ROOT, capture_output=True, check=True)
            assert watch.last_recorded(file) == done.stdout.decode().strip()


def test_table_of_the_tabletop_family() -> None:
    tabletop = importlib.import_module("tabletop")
    windows = [{"calls": 10, "seconds": 1.0, "restarts": []}] * 2
    shape = {"simulations": 1, "control_steps": 1, "resets": [0.0], "windows": windows}
    measured = {name: dict(shape) for name in ("batch", "single", "robosuite")}
    measured["batch"]["simulations"] = 8
    measured["limit"] = {"error": "it is not there"}
    step = report.result("robosuite/Lift-v0", 8, 1000, measured)
    reset = {
        "id": "robosuite/Lift-v0",
        "seconds": {"single": [0.002], "batch": [0.001], "robosuite": [0.2]},
        "ratios": {
            f"robosuite / {n}": {"median": r} for n, r in (("single", 100.0), ("batch", 200.0))
        },
        "errors": {},
    }
    rows = [line.split("|")[1:-1] for line in tabletop.text([step], [reset]).splitlines()]
    cells = [cell.strip() for cell in rows[2]]
    assert cells[:6] == ["robosuite/Lift-v0", "80", "", "", "10", "10"]
    assert cells[6:] == ["8.00", "", "", "1.00", "2.00", "1.00", "200.00", "100", "200"]
    assert [cell.strip() for cell in rows[6]][:2] == ["batch / robosuite", "8.00"]
    assert "robosuite/Lift-v0, limit: it is not there" in tabletop.text([step], [reset])
