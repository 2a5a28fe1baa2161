"""Mistakes and damage: a sentence that names it, and nothing is written or lost."""

import json
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch

from helpers.lanes import lane, mostly_nightly
from helpers.training_runs import ID, SMALL, SMALL_REPLAY, mjgym_, trainer
from mjgym.policies import network as policy
from mjgym.policies import trained
from mjgym.policies.run_errors import ConfigError, RunError
from mjgym_train import comparison, config, metrics
from mjgym_train.learn.collector import Collector
from mjgym_train.learn.training import make_trainer
from mjgym_train.run import Run, code_of

pytestmark = [pytest.mark.slow, pytest.mark.torch]


def train(folder, *words, code=0):
    return mjgym_("train", "td3", ID, *SMALL_REPLAY, "--out", folder, *words, code=code)


def refused(folder, *words):
    """The error message on one line; `folder` is as it was."""
    before = content(folder)
    done = mjgym_(*words, code=None)
    assert done.exit_code in (1, 2), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert content(folder) == before
    said = " ".join(done.stderr.replace("│", " ").split())
    assert said
    assert "Traceback" not in said
    assert "Aborted" not in said
    return said


def content(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    torch.set_num_threads(1)
    made = trainer(folder, *SMALL_REPLAY, algorithm="td3", steps=80)
    made.train()
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """A copy of it, to be damaged."""
    return shutil.copytree(finished, tmp_path / "run")


def evaluated(folder):
    return sorted({m.env_step for m in Run(folder).metrics() if m.metric == metrics.RETURN})


NOISES = "exploration={gaussian: 1, parameter: 1, ornstein_uhlenbeck: 1}"


def network_arrays(made):
    """Arrays of the layers of a trainer's policy."""
    arrays = made.agent.policy(made.low, made.high).arrays()
    return {name: array for name, array in arrays.items() if name.endswith(("weight", "bias"))}


class TestStart:
    """A new run that starts from another one's networks."""

    def test_settings_may_differ(self, run, tmp_path):
        """Before its first update it has the policy of the other run."""
        words = [*SMALL_REPLAY, f"start_from={run}", "env.time_limit=1.0", "learning_starts=1000"]
        again = trainer(tmp_path / "again", *words, algorithm="td3", steps=40)
        again.train()
        policies = [policy.load(folder / "policy.npz") for folder in (run, tmp_path / "again")]
        for before, after in zip(*(each.layers for each in policies), strict=True):
            assert all(np.array_equal(before[name], after[name]) for name in before)
        assert again.env_step == 40
        shutil.rmtree(run)
        trainer(
            tmp_path / "again", *words, algorithm="td3", steps=80, resume=True
        ).train()  # from its own checkpoint

    @pytest.mark.weekly
    @pytest.mark.parametrize(
        ("algorithm", "words"),
        [
            ("td3", [*SMALL_REPLAY, NOISES]),
            ("td3", [*SMALL_REPLAY, NOISES, "ensemble=[{}, {}]", "ensemble_acting=episodes"]),
            ("ppo", [*SMALL, "rollout_steps=10"]),
        ],
        ids=["noise", "ensemble", "rollouts"],
    )
    def test_the_number_of_sub_environments_may_differ(self, algorithm, words, tmp_path):
        """Networks and statistics go on; the noise of the sub-environments begins anew."""
        before = trainer(tmp_path / "8", *words, "num_envs=8", algorithm=algorithm, steps=160)
        before.train()
        for count in (4, 16):
            given = [*words, f"num_envs={count}", f"start_from={tmp_path / '8'}"]
            made = trainer(tmp_path / str(count), *given, algorithm=algorithm, steps=320)
            learned, now = (network_arrays(each) for each in (before, made))
            assert all(np.array_equal(learned[name], now[name]) for name in learned | now)
            made.train()
            assert made.updates > 0
            seen = before.agent.normalizer.count + count + 320  # those of the start, too
            assert made.agent.normalizer.count == seen

    def test_the_task_may_differ(self, run, tmp_path):
        words = [*SMALL_REPLAY, f"start_from={run}"]
        other = {"id": "dmc/cartpole-swingup-v0", "algorithm": "td3", "steps": 80}
        made = trainer(tmp_path / "again", *words, **other)
        learned, now = policy.load(run / "policy.npz").arrays(), network_arrays(made)
        assert all(np.array_equal(learned[name], now[name]) for name in now)
        made.train()
        assert made.updates > 0

    def test_critics_keep_their_support(self, run, tmp_path):
        content = torch.load(Run(run).checkpoint_file, weights_only=True)
        content["agent"]["bounds"] = (0.0, 400.0)
        torch.save(content, Run(run).checkpoint_file)
        words = [*SMALL_REPLAY, f"start_from={run}"]
        made = trainer(tmp_path / "again", *words, algorithm="td3", steps=80)
        made.train()
        assert made.updates > 0
        assert made.agent.critic.bounds == (0.0, 400.0)

    @pytest.mark.parametrize(
        ("id", "word", "named"),
        [
            (ID, "hidden=[8]", ".weight is (16, 6) and here (8, 6); "),
            (ID, "critic=mean", ".weight is (21, 16) and here (1, 16); "),
            ("dmc/pendulum-swingup-v0", "history=1", "normalizer.mean is (5,) and here (3,); "),
        ],
    )
    def test_other_shapes_are_refused(self, id, word, named, run, tmp_path):
        again = tmp_path / "again"
        words = [*SMALL_REPLAY, f"start_from={run}", word]
        said = refused(run, "train", "td3", id, "--out", again, "--steps", 40, *words)
        assert "start_from: its networks have other shapes: " in said
        assert named in said
        assert not again.exists()

    def test_code_in_a_checkpoint_does_not_run(self, run, tmp_path):
        torch.save({"agent": os.system}, Run(run).checkpoint_file)
        words = [*SMALL_REPLAY, f"start_from={run}"]
        with pytest.raises(RunError, match=r"checkpoint\.pt is not read: .* code would run"):
            trainer(tmp_path / "again", *words, algorithm="td3", steps=40)

    def test_a_folder_without_a_run_is_refused(self, tmp_path):
        words = [*SMALL_REPLAY, f"start_from={tmp_path}"]
        with pytest.raises(ConfigError, match=r"start_from: there is no .*checkpoint\.pt"):
            trainer(tmp_path / "again", *words, algorithm="td3", steps=40)


class TestResume:
    def test_a_longer_budget_has_as_many_evaluations(self, tmp_path):
        words = ["evaluations=4", "evaluation_episodes=1"]
        trainer(tmp_path / "run", *SMALL_REPLAY, *words, algorithm="td3", steps=80).train()
        assert evaluated(tmp_path / "run") == [20, 40, 60, 80]
        again = trainer(
            tmp_path / "run", *SMALL_REPLAY, *words, algorithm="td3", steps=160, resume=True
        )
        again.train()
        assert evaluated(tmp_path / "run") == [20, 40, 60, 80, 120, 160]

    @pytest.mark.weekly
    @pytest.mark.parametrize(
        ("words", "named"),
        [
            (["hidden=[8]"], "hidden is [16] in the run, not [8]"),
            (["num_envs=2"], "num_envs is 4 in the run, not 2"),
            (["history=2"], "history is 1 in the run, not 2"),
            (["critic=mean"], "critic is categorical in the run, not mean"),
            (["discount=0.9"], "discount is 0.99 in the run, not 0.9"),
            (["env.max_episode_steps=9"], "env is"),
            (["--seed", 9], "seed is 0 in the run, not 9"),
        ],
        ids=str,
    )
    def test_what_the_checkpoint_fixes_is_refused_by_name(self, run, words, named):
        said = refused(run, "train", "td3", ID, "--out", run, "--resume", "--steps", 160, *words)
        assert named in said

    @pytest.mark.parametrize("words", [("sac", ID), ("td3", "cartpole-swingup")])
    def test_another_algorithm_or_id(self, run, words):
        assert "is a run of" in refused(run, "train", *words, "--out", run, "--resume")

    def test_a_folder_behind_the_flag(self, run):
        said = refused(run, "train", "td3", ID, "--resume", run)
        assert "is not of the form name=value; --out names the run to resume" in said

    @pytest.mark.weekly
    def test_what_is_free_is_taken(self, run):
        words = ["learning_rate=0.002", "batch_size=8", "--steps", 120]
        mjgym_("train", "td3", ID, "--out", run, "--resume", *words)
        kept = Run(run).settings()
        assert (kept["learning_rate"], kept["batch_size"], kept["steps"]) == (0.002, 8, 120)
        state = torch.load(Run(run).checkpoint_file, weights_only=True)
        rates = [
            group["lr"]
            for optimizer in state["agent"]["optimizers"].values()
            for group in optimizer["param_groups"]
        ]
        assert set(rates) == {0.002}

    def test_settings_that_a_subclass_gives_another_default_stay_fixed(self):
        names = config.marked(_config("sac"), config.FIXED)
        assert {"critic", "temperature", "hidden", "id", "seed", "buffer_size"} <= set(names)
        assert not {"learning_rate", "steps", "batch_size", "threads"} & set(names)


def _config(algorithm):
    from mjgym_train.learn import algorithms

    return algorithms.find(algorithm).Config


class TestPackagedSettings:
    @pytest.mark.parametrize("name", ["fast", "fast.yaml"])
    def test_a_name_without_a_folder(self, tmp_path, name):
        train(tmp_path / "x", "--steps", 80, "--config", name)
        kept = Run(tmp_path / "x").settings()
        assert (kept["n_step"], kept["average_rate"], kept["hidden"]) == (5, 0.005, [16])

    def test_a_folder_of_that_name_does_not_hide_it(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "fast").mkdir()
        train(tmp_path / "x", "--steps", 80, "--config", "fast")
        assert Run(tmp_path / "x").settings()["n_step"] == 5
        done = train(tmp_path / "y", "--config", tmp_path, code=2)
        assert "directory" in done.stderr

    def test_an_unknown_name(self, tmp_path):
        done = train(tmp_path / "x", "--config", "fats", code=2)
        assert "no packaged one" in done.stderr
        assert "fast" in done.stderr


LEVELS = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)]
BOMB = "".join(["a0: &a0 [x, x]\n", *LEVELS, "hidden: *a9\n"]).encode()


class TestAStartThatFails:
    @pytest.mark.parametrize(
        ("words", "named"),
        [
            (["env.speeed=2"], "env:"),
            (["seed=-1"], "seed: must be at least 0"),
            (["seed=99999999999999999999999"], "seed: must be at most"),
            (["learning_rate=.nan"], "learning_rate must be float"),
            (["learning_rate=.inf"], "learning_rate must be float"),
            (["learning_rate=-1"], "learning_rate: must be positive"),
            (["hidden=[0]"], "hidden: widths lie within 1"),
            (["hidden=[1e9]"], "hidden: widths lie within 1"),
            (["n_step=.inf"], "n_step must be int"),
            (["num_envs=100000000000"], "num_envs: must be at most"),
            (["buffer_size=1000000000000000"], "more memory than there is"),
            (["env=3"], "env must be"),
            (["steps=2020-13-45"], "steps must be"),
        ],
        ids=str,
    )
    def test_leaves_nothing(self, tmp_path, words, named):
        said = refused(
            tmp_path, "train", "td3", ID, *SMALL_REPLAY, "--out", tmp_path / "run", *words
        )
        assert named in said

    def test_a_folder_below_a_file(self, tmp_path):
        (tmp_path / "file").touch()
        out = tmp_path / "file" / "x"
        said = refused(tmp_path, "train", "td3", ID, *SMALL_REPLAY, "--out", out)
        assert f"{tmp_path / 'file'} is a file" in said

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            (b"batch_size: \xff\xfe", "is not text in UTF-8"),
            (b"[1, 2]: 3", ":1: the name of a setting is a word"),
            (b"env:\n  ? [1, 2]\n  : 3", ":2: found unhashable key"),
            (b"- 1", ":1: expected names with values"),
            (b"steps: 1\nbatch_size: [", ":2:"),
            (b"steps: 1\nseed: 2020-13-45", "month must be"),
            (BOMB, "has more than 100,000 entries"),
        ],
        ids=str,
    )
    def test_a_file_of_settings(self, tmp_path, text, named):
        (tmp_path / "mine.yaml").write_bytes(text)
        words = ["--config", tmp_path / "mine.yaml", "--out", tmp_path / "run"]
        said = refused(tmp_path, "train", "td3", ID, *words)
        assert named in said
        assert "mine.yaml" in said

    def test_settings_from_a_pipe(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=("n_step: 2\n",))
        writer.start()
        read = config.read(_config("td3"), [pipe])
        writer.join()
        assert read.n_step == 2

    def test_settings_that_depend_on_each_other_in_any_order(self):
        read = config.read(_config("td3"), (), ["value_min=200", "value_max=300"])
        assert (read.value_min, read.value_max) == (200, 300)
        with pytest.raises(ConfigError, match=r"'value_min=400': value_min: must be less"):
            config.read(_config("td3"), (), ["value_min=400", "value_max=300"])

    def test_an_interpreted_number_too_large_for_a_double(self):
        read = config.read(_config("td3"), (), ["seed=9007199254740993"])
        assert read.seed == 9007199254740993


class TestCodeOfOthers:
    def mine(self, folder, **changed):
        run = Run(folder)
        text = config.to_yaml(config.read(_config("td3"), [run.config_file]))
        lines = text.splitlines()
        for name, value in changed.items():
            lines = [
                f"{name}: {json.dumps(value)}" if s.startswith(f"{name}:") else s for s in lines
            ]
            if isinstance(value, dict):
                lines = [s for s in lines if not s.startswith("  max_episode")]
        run.config_file.write_text("\n".join(lines))

    @pytest.fixture
    def module(self, tmp_path):
        (tmp_path / "strangers.py").write_text(
            f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass C: pass\n"
        )
        return tmp_path / "strangers.py"

    @pytest.mark.parametrize("how", ["module", "id", "env"])
    def test_evaluate_asks(self, run, module, tmp_path, how):
        changed = {
            "module": {"module": str(module)},
            "id": {"id": f"{module}:{ID}"},
            "env": {"env": {"anything": [f"{module}:C"]}},
        }[how]
        self.mine(run, **changed)
        said = refused(run, "evaluate", run)
        assert "strangers.py" in said.replace(" ", "")
        assert "--trust" in said
        assert not (tmp_path / "ran").exists()

    def test_evaluate_runs_it_when_told(self, run, module, tmp_path):
        self.mine(run, module=str(module))
        mjgym_("evaluate", run, "--trust", "--episodes", 1)
        assert (tmp_path / "ran").exists()

    def test_evaluate_takes_the_module_of_the_command_line(self, run, module, tmp_path):
        other = tmp_path / "other.py"
        other.touch()
        self.mine(run, module=str(module))
        mjgym_("evaluate", run, "--module", other, "--episodes", 1)
        assert not (tmp_path / "ran").exists()

    def test_resume_asks(self, run, module, tmp_path):
        self.mine(run, critic="evil:C")
        said = refused(run, "train", "td3", ID, "--out", run, "--resume", "--steps", 160)
        assert "evil:C" in said
        assert "--trust" in said
        assert not (tmp_path / "ran").exists()

    def test_what_counts(self):
        assert code_of({"env": {"device": "cuda:0", "opponent": "still"}, "id": ID}) == []
        assert code_of({"critic": "mjgym_train.learn.critics:Mean"}) == []
        assert code_of({"ensemble": [{"critic": "a.b:C"}], "module": ""}) == ["a.b:C"]


FILES = ["config.yaml", "metrics.csv", "policy.npz", "checkpoint.pt", "fingerprint.json"]


def damaged(file, how):
    whole = file.read_bytes()
    middle = len(whole) // 2
    new = {
        "cut": whole[:middle],
        "flipped": whole[:middle] + bytes(255 - b for b in whole[middle : middle + 64])
        + whole[middle + 64 :],
        "keys": {"config.yaml": b"seed: 0\n", "fingerprint.json": b"{}\n",
                 "metrics.csv": b"exp_name,seed\ntd3,0\n"}.get(file.name, b"[]"),
    }[how]  # fmt: skip
    file.write_bytes(new)


class TestDamage:
    """Each command takes what it does not need as damaged, and names what it does."""

    @pytest.mark.parametrize("name", FILES)
    @pytest.mark.parametrize("how", mostly_nightly(["cut", "flipped", "keys"], 3))
    def test_resume(self, run, name, how):
        damaged(run / name, how)
        before = content(run)
        words = ("train", "td3", ID, "--out", run, "--resume", "--steps", 120)
        # A line of metrics that a killed run has begun is left out.
        needed = name in ("checkpoint.pt", "metrics.csv", "config.yaml")
        if needed and (name, how) != ("metrics.csv", "cut"):
            assert name.replace(".", "") in refused(run, *words).replace(" ", "").replace(".", "")
            assert content(run) == before
        else:
            mjgym_(*words)

    @pytest.mark.parametrize("name", ["metrics.csv", "checkpoint.pt", "fingerprint.json"])
    def test_evaluate_and_compare(self, run, name):
        damaged(run / name, "cut")
        mjgym_("evaluate", run, "--num-envs", 50)
        assert (run / "evaluation.json").exists()
        if name != "fingerprint.json":  # which says the machine
            mjgym_("compare", run)


DEEP = b"[" * 100_000 + b"]" * 100_000
NONSENSE = {
    "evaluation.json": [
        b'{"mean": null, "returns": 3, "seeds": {}}',
        b'{"mean": 1e999, "returns": ["x"], "seeds": ["y"]}',
        b'{"returns": [[1]], "seeds": [0], "mean": 1}',
        b"\xff\xfe\x00",
        DEEP,
    ],
    "fingerprint.json": [b"null", b'{"machine": {"processor": 3, "cores": "x"}}', DEEP],
    "config.yaml": [b"id: &x [*x]\n", DEEP, BOMB],
    "metrics.csv": [b"exp_name,env_name,seed,metric,env_step,value\na,b,1e999,c,1,1\n", b"\0\0\0"],
}


@pytest.mark.parametrize("name", mostly_nightly(NONSENSE, 4))
def test_files_of_another_shape_are_named(run, name):
    (run / "evaluation.json").write_text('{"mean": 1.0, "returns": [1.0], "seeds": [0]}')
    for content in NONSENSE[name]:
        (run / name).write_bytes(content)
        for command in ("evaluate",) if name == "config.yaml" else ("compare", "submit"):
            done = mjgym_(command, run, code=None)
            assert done.exception is None or isinstance(done.exception, SystemExit), (
                f"{command}, {content[:40]!r}: {done.exception!r}"
            )
            assert done.exit_code or command == "compare"


@pytest.mark.parametrize("text", ["", "[]", '{"mean": "?"}', '{"mean": nul'])
def test_a_score_that_is_damaged(run, text):
    (run / "evaluation.json").write_text(text)
    with pytest.raises(RunError, match=r"evaluation\.json is damaged"):
        comparison.read([run])


class TestPolicyFiles:
    def test_a_layer_that_is_far_away(self, tmp_path):
        """Its index must not be how many layers are made."""
        arrays = trained.bundled("dmc/cartpole-swingup-v0").policy.arrays()
        np.savez(tmp_path / "p.npz", **arrays, **{"99999999.weight": np.zeros((1, 1))})
        with pytest.raises(policy.PolicyError, match="99999999"):
            policy.load(tmp_path / "p.npz")

    @pytest.mark.parametrize(
        "change",
        [
            {"0.weight": np.zeros((3, 3))},
            {"low": np.zeros(7)},
            {"history": np.array(0)},
            {"deviation": np.zeros(1)},
            {"0.bias": np.zeros((2, 2))},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_parts_that_do_not_fit(self, tmp_path, change):
        arrays = trained.bundled("dmc/cartpole-swingup-v0").policy.arrays()
        np.savez(tmp_path / "p.npz", **(arrays | change))
        with pytest.raises(policy.PolicyError):
            policy.load(tmp_path / "p.npz")

    def test_a_policy_of_another_task_is_not_scored(self, run):
        said = refused(run, "evaluate", run / "policy.npz", "--id", "walker-walk")
        assert "was trained with 5 observed numbers" in said


class TestEvaluate:
    @pytest.mark.weekly
    def test_a_policy_file_a_bundled_policy_and_a_run_agree(self, run):
        by_seeds = ("--seeds", "10000-10001", "--json")
        of_run = json.loads(mjgym_("evaluate", run, "--episodes", 2, "--json").stdout)
        assert of_run["returns"] == json.loads(mjgym_("evaluate", run, *by_seeds).stdout)["returns"]
        assert of_run["seeds"] == [10_000, 10_001]
        assert not (run / "evaluation.json").exists()  # which is of 100 episodes

        name = "dmc/cartpole-swingup-v0"
        bundled = json.loads(mjgym_("evaluate", name, *by_seeds).stdout)
        np.testing.assert_allclose(
            bundled["returns"], trained.bundled(name).about.returns[:2], rtol=1e-4
        )
        of_file = json.loads(
            mjgym_("evaluate", trained.file(name), "--id", "cartpole-swingup", *by_seeds).stdout
        )
        assert of_file["returns"] == bundled["returns"]

    @pytest.mark.parametrize(
        ("words", "named"),
        [
            (["--episodes", 101], "100 fixed seeds"),
            (["--episodes", 3, "--seeds", "1"], "either --seeds or --episodes"),
            (["--seeds", "5-1"], "no range of seeds"),
            (["--seeds", "a"], "is not of the form"),
        ],
        ids=str,
    )
    def test_mistakes(self, run, words, named):
        assert named in refused(run, "evaluate", run, *words)


@lane(3, 5)
def test_a_full_disk(tmp_path):
    """Files cannot grow beyond some kB; the run ends with a sentence, and the checkpoint before."""
    program = (
        "import resource, sys\n"
        "from mjgym.cli.app import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "main()\n"
    )
    words = ["train", "td3", ID, *SMALL_REPLAY, "--steps", "80", "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, *words],  # or half of a module's bytecode stays
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run" / "checkpoint.pt").exists()


@pytest.mark.weekly
def test_old_settings_are_read():
    """Those of the policies in the package, which were trained long ago."""
    for id in trained.ids():
        about = trained.bundled(id).about
        read = config.read(_config(about.settings["algorithm"]), **about.settings)
        for name, value in about.settings.items():
            assert getattr(read, name) == (tuple(value) if isinstance(value, list) else value)


def test_the_trainer_writes_nothing_before_it_trains(run):
    before = content(run)
    read = config.read(_config("td3"), [run / "config.yaml"])
    make_trainer(Run(run), read, resume=True).close()
    assert content(run) == before


def test_a_buffer_that_never_holds_enough_to_learn():
    words = ["buffer_size=1000", "learning_starts=1000", "num_envs=16"]
    with pytest.raises(ConfigError, match="learning_starts: a buffer of 1000 transitions never"):
        config.read(_config("td3"), (), words)
    config.read(_config("td3"), (), ["buffer_size=1016", *words[1:]])


def test_weights_of_entries():
    """Each number of an entry has its weight, in the order of the observation."""
    words = {"algorithm": "td3", "id": "dmc/cartpole-balance-v0", "steps": 1, "num_envs": 2}
    collector = Collector(config.read(_config("td3"), entry_weights={"velocity": 0.5}, **words))
    shapes = collector.envs.unwrapped.entry_shapes
    expected = [0.5 if name == "velocity" else 1.0 for name, k in shapes.items() for _ in range(*k)]
    assert collector.weights.tolist() == expected
    assert {0.5, 1.0} <= set(expected)
    collector.close()
    with pytest.raises(ConfigError, match="entry_weights: no entry 'velocty'; did you mean vel"):
        Collector(config.read(_config("td3"), entry_weights={"velocty": 0.5}, **words))
    with pytest.raises(ConfigError, match="entry_weights: 'velocity' must be more than 0"):
        config.read(_config("td3"), entry_weights={"velocity": 0.0}, **words)
    with pytest.raises(ConfigError, match="entry_weights: they are of normalised"):
        config.read(
            _config("td3"), entry_weights={"velocity": 0.5}, normalize_observations=False, **words
        )
