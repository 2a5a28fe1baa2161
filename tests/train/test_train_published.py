"""Files in the forms of other publishers, a few rows each."""

from pathlib import Path

import numpy as np
import pytest

from helpers.training_runs import mjgym_
from mjgym.policies.run_errors import RunError
from mjgym_train import comparison, metrics
from mjgym_train.comparison import Curve

WALK = "dmc/walker-walk-v0"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run_of(curve: Curve) -> tuple[str, str, int]:
    return curve.experiment, curve.id, curve.seed


@pytest.mark.parametrize("method", ["simba", "simbav2", "flashsac", "xqc"])
def test_one_number_a_line(tmp_path: Path, method: str) -> None:
    """SimBa, SimbaV2 and FlashSAC, whose tables have XQC too: the return under their name."""
    file = written(
        tmp_path / "scores.csv",
        ",exp_name,env_name,seed,metric,env_step,value\n"
        f"0,{method},walker-walk,0.0,avg_return,100000,962.5\n"
        f"1,{method},walker-walk,0.0,avg_return,200000,970.0\n",
    )
    (curve,) = comparison.read([file])
    assert run_of(curve) == (method, WALK, 0)
    assert (curve.steps.tolist(), curve.returns.tolist()) == ([100_000, 200_000], [962.5, 970.0])
    assert comparison.read([file], "avg_return")[0].returns.tolist() == [962.5, 970.0]


@pytest.mark.parametrize(
    ("folder", "task", "experiment", "id"),
    [
        ("results", "dog-run", "tdmpc2", "dmc/dog-run-v0"),
        ("results/dreamerv3", "cup-catch", "dreamerv3", "dmc/ball_in_cup-catch-v0"),
        ("results/sac", "finger-turn-easy", "sac", "dmc/finger-turn_easy-v0"),
        ("results/sac", "mw-assembly", "sac", "mw-assembly"),
    ],
)
def test_tdmpc2(tmp_path: Path, folder: str, task: str, experiment: str, id: str) -> None:
    """TD-MPC2: a file for each task, with all seeds."""
    file = written(
        tmp_path / folder / f"{task}.csv",
        "step,reward,seed\n0,4.5,2\n100000,7.6,2\n0,6.5,1\n100000,39.1,1\n",
    )
    two, one = comparison.read([file])
    assert [run_of(curve) for curve in (one, two)] == [(experiment, id, 1), (experiment, id, 2)]
    assert one.returns.tolist() == [6.5, 39.1]


def test_mrq(tmp_path: Path) -> None:
    """MR.Q: a block for each task, a column for each seed."""
    file = written(
        tmp_path / "MRQ.txt",
        "----------------------------------------\n"
        "Env: Dmc-walker-walk\n"
        "Timestep\tSeed 0\tSeed 1\n"
        "0\t31.5\t28.25\n"
        "5000\t900.5\t910.0\n"
        "----------------------------------------\n"
        "Env: Gym-Ant-v4\n"
        "Timestep\tSeed 0\n"
        "0\t1.0\n",
    )
    curves = {run_of(curve): curve for curve in comparison.read([file])}
    assert set(curves) == {("MRQ", WALK, 0), ("MRQ", WALK, 1), ("MRQ", "Gym-Ant-v4", 0)}
    assert curves["MRQ", WALK, 1].returns.tolist() == [28.25, 910.0]
    file.write_text("0\t1.0\n")
    with pytest.raises(RunError, match=r"MRQ\.txt:1: there is no task"):
        comparison.read([file])


def test_cleanrl_from_weights_and_biases(tmp_path: Path) -> None:
    run = "dm_control/walker-walk-v0__rpo_continuous_action__{}__1688000000"
    columns = [f"{run.format(k)} - charts/episodic_return{end}" for k in (1, 2) for end in ENDS]
    file = written(
        tmp_path / "export.csv",
        ",".join(f'"{name}"' for name in ("global_step", *columns))
        + "\n2000,20.5,20.5,20.5,,,\n4000,30.0,30.0,30.0,31.0,31.0,31.0\n",
    )
    curves = comparison.read([file], "charts/episodic_return")
    assert [run_of(curve) for curve in curves] == [
        ("rpo_continuous_action", WALK, seed) for seed in (1, 2)
    ]
    assert [curve.returns.tolist() for curve in curves] == [[20.5, 30.0], [31.0]]


ENDS = ("", "__MIN", "__MAX")


def test_cleanrl_from_tensorboard(tmp_path: Path) -> None:
    content = "Wall time,Step,Value\n1688000010.5,1000,12.5\n1688000020.5,2000,13.5\n"
    name = "run-walker-walk__ppo__3__1688-tag-charts_episodic_return.csv"
    (curve,) = comparison.read([written(tmp_path / name, content)], metrics.TRAINING_RETURN)
    assert run_of(curve) == ("ppo", WALK, 3)
    assert (curve.seconds.tolist(), curve.returns.tolist()) == ([0.0, 10.0], [12.5, 13.5])
    with pytest.raises(RunError, match="name tells no run"):
        comparison.read([written(tmp_path / "curve.csv", content)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sb3 = pytest.importorskip("stable_baselines3")
    import gymnasium
    from stable_baselines3.common.callbacks import EvalCallback
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.monitor import Monitor

    folder = tmp_path_factory.mktemp("logs") / "a2c" / f"{WALK.replace('/', '-')}_7"
    make = {"max_episode_steps": 20, "observation": "flat"}
    env = Monitor(gymnasium.make(WALK, **make), str(folder / "0"))
    model = sb3.A2C("MlpPolicy", env, n_steps=10, device="cpu", seed=0)
    model.set_logger(configure(str(folder), ["csv"]))
    callback = EvalCallback(
        Monitor(gymnasium.make(WALK, **make)),
        eval_freq=40,
        n_eval_episodes=2,
        log_path=str(folder),
        verbose=0,
    )
    model.learn(80, callback=callback, log_interval=1)
    return folder


class TestStableBaselines3:
    """Files that stable-baselines3 has written itself."""

    def test_evaluations(self, folder: Path) -> None:
        kept = np.load(folder / "evaluations.npz")
        (curve,) = comparison.read([folder / "evaluations.npz"])
        assert run_of(curve) == ("a2c", WALK, 7)
        assert curve.steps.tolist() == kept["timesteps"].tolist() == [40, 80]
        assert curve.returns == pytest.approx(kept["results"].mean(1))

    def test_progress(self, folder: Path) -> None:
        (curve,) = comparison.read([folder / "progress.csv"])
        assert run_of(curve) == ("a2c", WALK, 7)
        assert curve.returns == pytest.approx(
            np.load(folder / "evaluations.npz")["results"].mean(1), rel=1e-4
        )
        (training,) = comparison.read([folder / "progress.csv"], metrics.TRAINING_RETURN)
        assert training.steps[-1] == 80

    def test_monitor(self, folder: Path) -> None:
        (curve,) = comparison.read([folder / "0.monitor.csv"], metrics.TRAINING_RETURN)
        assert curve.steps.tolist() == [20, 40, 60, 80]
        assert curve.id == WALK


def test_a_file_of_no_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no column exp_name"):
        comparison.read([written(tmp_path / "a.csv", "a,b\n1,2\n")])
    file = written(tmp_path / "b.csv", "step,reward,seed\n0,1.0,1\n100,many,1\n")
    with pytest.raises(RunError, match=r"b\.csv:3: could not convert"):
        comparison.read([file])
    np.savez(tmp_path / "c.npz", a=np.zeros(2))
    with pytest.raises(RunError, match="none of stable-baselines3's evaluations"):
        comparison.read([tmp_path / "c.npz"])


def test_all_forms_stand_beside_each_other(tmp_path: Path) -> None:
    ours = tmp_path / "ours.csv"
    metrics.append(ours, [metrics.Metric("td3", WALK, 0, metrics.RETURN, 100_000, 950.0)])
    theirs = written(tmp_path / "results/walker-walk.csv", "step,reward,seed\n100000,960.5,1\n")
    shown = mjgym_("compare", ours, theirs).output
    assert "tdmpc2" in shown
    assert "960.5" in shown


def test_runs_are_named_by_the_settings_in_which_they_differ(tmp_path: Path) -> None:
    """Runs of one name: seeds of the same settings stay together, others are told apart."""
    folders = []
    for k, (n_step, seed) in enumerate([(1, 0), (1, 1), (3, 0)]):
        text = (
            f"algorithm: td3\nid: {WALK}\nmodule: ''\nenv: {{}}\nseed: {seed}\nname: ''\n"
            f"n_step: {n_step}\nsteps: {1000 + k}\n"
        )
        folders.append(written(tmp_path / f"{k}" / "config.yaml", text).parent)
        row = metrics.Metric("td3", WALK, seed, metrics.RETURN, 1000, 10.0 * n_step)
        metrics.append(folders[-1] / "metrics.csv", [row])
    found = [run_of(curve) for curve in comparison.read(folders)]
    assert found == [
        ("td3 n_step=1", WALK, 0),
        ("td3 n_step=1", WALK, 1),
        ("td3 n_step=3", WALK, 0),
    ]
    assert [run_of(c)[0] for c in comparison.read(folders[:2])] == ["td3", "td3"]
