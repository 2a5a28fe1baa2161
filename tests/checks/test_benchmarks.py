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
import types
from pathlib import Path

import numpy as np
import pytest

from helpers.places import BENCHMARKS
from helpers.suite import IDS, TASKS

sys.path.insert(0, str(BENCHMARKS))

import commits
import peers
import watch
from comparison import installation, names, on_device, other_suites, report, subjects
from comparison.other_suites import domain_and_task, envpool_name
from comparison.turns import compare_resets, compare_steps, missing
from comparison.worker import Worker, WorkerError, time_subject

from mjgym.checks import benchmark

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


def test_dm_control_spelling() -> None:
    assert ["-".join(domain_and_task(id)) for id in IDS] == list(TASKS)


@pytest.mark.parametrize("id", ["walker-walk", "dmc/walker-v0", "locomotion/walker-walk-v0"])
def test_spelling_of_something_else(id: str) -> None:
    with pytest.raises(ValueError, match="not of the form"):
        envpool_name(id)


def test_a_task_that_envpool_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    stand_in = types.SimpleNamespace(
        list_all_envs=lambda: ["WalkerWalk-v1"],
        make_gymnasium=lambda name, **arguments: made.append((name, arguments)),
    )
    monkeypatch.setitem(sys.modules, "envpool", stand_in)
    other_suites.make_envpool("dmc/walker-walk-v0", 8, 2, seed=3)
    assert made == [("WalkerWalk-v1", {"num_envs": 8, "num_threads": 2, "seed": 3})]
    with pytest.raises(LookupError, match="EnvPool has no WalkerRun-v1"):
        other_suites.make_envpool("dmc/walker-run-v0", 8, 2)


def test_fields_that_the_engine_lost_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "dm_control.mujoco.wrapper.mjbindings.sizes"
    table = {"mjmodel": {"geom_pos": 1, "geom_lost": 2}, "mjdata": {"qpos": 3, "qlost": 4}}
    monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(array_sizes=table))
    other_suites.drop_stale_fields()
    assert table == {"mjmodel": {"geom_pos": 1}, "mjdata": {"qpos": 3}}


def test_peers_load_without_our_imports() -> None:
    """Their import time is measured by running the file that loads them by itself."""
    program = """
import runpy, sys
load = runpy.run_path(sys.argv[1])["load_dm_control"]
assert callable(load)
print(sorted({"mjgym", "mujoco", "numpy", "gymnasium"} & set(sys.modules)))
"""
    run = [sys.executable, "-c", program, peers.peers_file()]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


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
    run = [sys.executable, "-c", program, str(Path(peers.__file__).parent)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_dogs_are_few() -> None:
    assert names.envs_for("dmc/dog-run-v0", 256) == 32
    assert names.envs_for("dmc/dog-run-v0", 4) == 4
    assert names.envs_for("dmc/walker-walk-v0", 256) == 256


def test_quick_ids_are_registered() -> None:
    assert set(names.QUICK) <= set(IDS)


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


def test_defaults() -> None:
    options = peers.parse([], IDS)
    assert options.ids == IDS
    assert options.num_envs == 256
    assert peers.parse(["--quick"], IDS).ids == [id for id in IDS if id in names.QUICK]
    weighed = peers.parse(["--memory"], IDS)
    assert (weighed.ids, weighed.num_envs) == (["dmc/walker-walk-v0"], 1024)
    # Before mjgym is installed nothing is known about ids; they are checked afterwards.
    assert peers.parse(["dmc/unknown-v0"], None).ids == ["dmc/unknown-v0"]


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


def test_restarts_join_the_resets() -> None:
    measured = subject(10.0)
    measured["resets"] = [1.0, 1.0]
    measured["windows"][0]["restarts"] = [3.0, 3.0, 3.0]
    result = report.result("dmc/a-a-v0", 1, 10, {"single": measured})
    assert result["subjects"]["single"]["reset_seconds"] == 3.0
    assert result["subjects"]["single"]["rate"] == pytest.approx(1 / (0.1 + 0.3))


def test_summary() -> None:
    summary = report.summary(canned())
    assert summary["batch / EnvPool"]["ids"] == 1
    single = summary["single / dm_control"]
    assert single["geometric_mean"] == pytest.approx(math.sqrt(1.5))
    assert single["mean"] == pytest.approx(1.75)
    assert (single["minimum"], single["minimum_id"]) == (pytest.approx(0.5), "dmc/b-b-v0")
    assert single["at_least_one"] == 1
    assert report.summary([]) == {}


def test_text() -> None:
    text = report.text(canned(), {"dm_control": "cannot be installed: no such version"})
    lines = text.splitlines()
    assert len({len(line) for line in lines[:4]}) == 1
    cells = [cell.strip() for cell in lines[3].strip("|").split("|")]
    speeds = ["1,234", "", "", "2,468", "0.50", "", "", "3", "6", "0.50", ""]
    assert cells == ["dmc/b-b-v0", "256", *speeds]
    assert "dmc/b-b-v0, envpool: LookupError: EnvPool has no B-v1" in lines
    assert "dm_control: cannot be installed: no such version" in lines


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


def test_actions() -> None:
    low, high = np.array([-1e10, -0.5]), np.array([1e10, 2.0])
    cycle = benchmark.random_actions(low, high, (3,), np.float32, count=2, seed=0)
    first, second, third = itertools.islice(cycle, 3)
    assert first.shape == (3, 2)
    assert first.dtype == np.float32
    assert (np.abs(first[:, 0]) <= 1).all()
    assert not np.array_equal(first, second)
    assert first is third


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


def test_an_installation_that_fails_says_why(tmp_path: Path) -> None:
    fails = "import sys; sys.exit('WARNING: slow\\nERROR: no matching version\\nhint')"
    with pytest.raises(RuntimeError, match=r"^ERROR: no matching version$"):
        installation._run([sys.executable, "-c", fails])
    assert installation.refusals(tmp_path) == {}
    assert installation.is_inside(Path(sys.prefix))
    assert not installation.is_inside(tmp_path)


def test_a_subject_that_fails_says_why() -> None:
    settings = subjects.Settings("dmc/none-none-v0", 1, 1)
    with (
        Worker(time_subject, subjects.single, settings) as worker,
        pytest.raises(WorkerError, match="none"),
    ):
        worker.ask("prepare", 60)


def _end_by_signal(connection) -> None:
    connection.recv()
    print("the last words", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
def test_a_subject_that_ends_says_how() -> None:
    with (
        Worker(_end_by_signal) as worker,
        pytest.raises(WorkerError, match="SIGKILL: the last words"),
    ):
        worker.ask("prepare", 60)


@pytest.mark.slow
def test_our_subjects_run_without_peers() -> None:
    unavailable = {"envpool": "not asked for", "dm_control": "not asked for"}
    settings = subjects.Settings("dmc/cartpole-swingup-v0", 3, 2)
    options = argparse.Namespace(seconds=0.01, repeats=2)
    result = compare_steps(peers.SUBJECTS, settings, options, unavailable)
    assert set(result["ratios"]) == {"batch / limit", "batch / engine"}
    assert result["subjects"]["envpool"] == {"error": "not asked for"}
    for name in ("batch", "engine", "limit", "bare", "single"):
        assert len(result["subjects"][name]["rates"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--repeats", "0"], "repeats"), (["--num-envs", "1", "0"], "num-envs")],
)
def test_comparing_commits_says_what_is_wrong(arguments, message, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        commits.parse(arguments)
    assert message in capsys.readouterr().err


def _is_clone() -> bool:
    command = ["git", "rev-parse", "--verify", "HEAD"]
    return (
        subprocess.run(command, cwd=commits.ROOT, capture_output=True, check=False).returncode == 0
    )


@pytest.mark.slow
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

    @pytest.mark.slow
    @pytest.mark.skipif(not _is_clone(), reason="needs git and a clone")
    def test_a_commit_against_itself(self):
        """As a program, whose workers import it again, with the package of their checkout."""
        short = ["--against", "HEAD", "--seconds", "0.01", "--repeats", "2"]
        command = [sys.executable, watch.__file__, "dmc/pendulum", *short]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "Compared with HEAD: " in done.stdout
        assert "of 4 are slower" in done.stdout  # steps and resets, of one and of many
        assert "Left out" not in done.stdout


def test_the_table_of_a_device(tmp_path):
    head = {"commit": "0123456789abcdef", "changed_since_commit": True, "device": "a GPU",
            "versions": {"mujoco": "4.0.0"}}  # fmt: skip
    of = {"id": "dmc/walker-walk-v0", "worlds": 4096}
    lines = [
        {"measurement": "correctness", "id": of["id"], "worlds": 64, "median": 1e-6,
         "ninety_percent": 2e-6, "largest": 3e-6, "reward_largest": 4e-7},
        {"measurement": "speed", **of, "subject": "mjgym", "steps_per_second": 800_000.0},
        {"measurement": "speed", **of, "subject": "mujoco_warp", "steps_per_second": 1e6},
        {"measurement": "speed", **of, "subject": "playground jax", "left_out": "not installed"},
        {"measurement": "speed", **of, "subject": "CPU", "steps_per_second": 9e4},
        {"measurement": "speed", **{**of, "worlds": 256}, "left_out": "no time"},
        {"measurement": "parts", **of, "seconds": {"step": 0.004, "physics": 0.003, "hooks": 4e-4}},
        {"measurement": "pictures", **of, "error": "RuntimeError: no rays"},
        {"measurement": "memory", **of, "bytes_per_world": 2e4},
        {"measurement": "learning", **of, "seconds": 120.0, "best_return": 960.0,
         "wanted": 950.0, "seconds_to_wanted": 90.0},
    ]  # fmt: skip
    file = tmp_path / "gpu.jsonl"
    file.write_text("".join(json.dumps({**line, **head}) + "\n" for line in lines))
    table = on_device.table(file)
    assert "a GPU, commit 0123456789+, mujoco 4.0.0." in table
    row = "4,096 | 800,000 | 1,000,000 | 0.80 | 0.75 | 0.10 | 0.020 | 90,000 |"
    assert f"| `dmc/walker-walk-v0` | {row}" in table
    assert "| 256 |" not in table  # of which nothing was measured
    assert "| `dmc/walker-walk-v0` | 64 | 1.0e-06 | 2.0e-06 | 3.0e-06 | 4.0e-07 |" in table
    assert "best return 960; 950 after 90 s" in table
    assert "Failed: pictures dmc/walker-walk-v0: RuntimeError: no rays" in table


def _breaks(settings: subjects.Settings) -> subjects.Subject:
    raise LookupError(f"no {settings.id} here")


@pytest.mark.slow
def test_resets_are_compared_with_those_of_a_peer() -> None:
    settings = subjects.Settings("dmc/cartpole-swingup-v0", 3, 2)
    options = argparse.Namespace(seconds=0.01, repeats=2)
    builders = {"single": subjects.single, "batch": subjects.batch, "peer": subjects.single}
    resets = compare_resets(builders, settings, options, "peer")
    assert {name: len(seconds) for name, seconds in resets["seconds"].items()} == (
        dict.fromkeys(builders, 2)
    )
    assert list(resets["ratios"]) == ["peer / single", "peer / batch"]
    assert missing([], [resets]) == ""
    without = compare_resets({**builders, "peer": _breaks}, settings, options, "peer")
    assert without["ratios"] == {}
    assert missing([], [without]).splitlines() == [
        "Left empty:",
        "dmc/cartpole-swingup-v0, peer: LookupError: no dmc/cartpole-swingup-v0 here",
    ]


STAND_IN = """
class Env:
    action_spec = [-1.0, -1.0], [1.0, 1.0]

    def __init__(self):
        self.steps = 0
        print("what a library prints is no answer")

    def reset(self):
        self.steps = 0

    def step(self, action):
        assert len(action) == 2
        self.steps += 1
        return None, 0.0, self.steps == 50, {}


def make(task, robots, **options):
    assert (task, robots, options["seed"]) == ("TwoArmLift", ["Panda", "Panda"], 3)
    return Env()
"""


def test_robosuite_runs_in_a_process_of_another_interpreter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "robosuite.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    python = installation.python_of(tmp_path)
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    tabletop = importlib.import_module("robosuite")
    settings = subjects.Settings("robosuite/TwoArmLift-v0", 4, 2, seed=3)
    subject = tabletop.robosuite(tmp_path, settings)
    assert subject.reset() == "reset"
    actions = iter(subject.actions)
    answers = [subject.advance(next(actions)) for _ in range(3)]  # 20 control steps each
    assert answers == ["going", "going", "going"]  # one episode ended on the way
    assert subject.advance("40") == "ended"
    assert subject.ended("ended")
    window = subjects.measure(subject, 0.01)
    assert window.calls >= 1
    subject.release()
    settings = subjects.Settings("robosuite/Lift-v0", 4, 2, seed=3)
    with pytest.raises(RuntimeError, match="the peer's process ended with 1"):
        tabletop.robosuite(tmp_path, settings)


def test_table_of_the_tabletop_family() -> None:
    tabletop = importlib.import_module("robosuite")
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
