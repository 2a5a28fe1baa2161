"""`mjgym submit`: what is added to the table of scores, what is refused, and that it is all or
nothing; the table itself; and one of its policies, scored again."""

import dataclasses
import json
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from helpers.lanes import lane, mostly_nightly
from helpers.small_process import run_small
from helpers.training_runs import ID, mjgym_

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from training import scores

from mjgym.policies import network as policy
from mjgym.policies.run_errors import RunError
from mjgym.util.packaged import assets
from mjgym_train import config, evaluation, metrics, protocol, score_table
from mjgym_train.learn import algorithms
from mjgym_train.learn.training import make_trainer
from mjgym_train.protocol import Protocol
from mjgym_train.run import Run

pytestmark = [pytest.mark.slow, pytest.mark.torch]

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SHORT = Protocol(steps=160, evaluations=2, evaluation_episodes=2, seeds=(10_000, 10_001))
SMALL = (
    *("num_envs=4", "threads=1", "hidden=[8]", "evaluations=2", "evaluation_episodes=2"),
    *("log_every=80", "tensorboard=false", "learning_starts=40", "batch_size=8", "atoms=5"),
)


def changed_json(file: Path, **changes) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of the short protocol that has been scored."""
    folder = tmp_path_factory.mktemp("runs") / "td3"
    made = algorithms.find("td3").Config
    read = config.read(made, (), SMALL, algorithm="td3", id=ID, steps=SHORT.steps)
    run = Run(folder)
    run.create(read)
    make_trainer(run, read).train()
    mjgym_("evaluate", folder, "--json")
    score = json.loads(run.evaluation_file.read_text())
    assert score["policy_sha256"] == protocol.policy_hash(run)
    kept = score["returns"][:2]
    about = {"seeds": list(SHORT.seeds), "returns": kept, "mean": float(np.mean(kept))}
    changed_json(run.evaluation_file, **about, std=float(np.std(kept)))
    learner = json.loads(run.fingerprint_file.read_text())["learner"]
    changed_json(run.fingerprint_file, learner={**learner, "source": COMMIT})
    return run


@pytest.fixture
def run(trained, tmp_path):
    shutil.copytree(trained.path, tmp_path / "run")
    return Run(tmp_path / "run")


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# Two processes add a run once for each of their seeds, and begin together.
ADDING = """
import dataclasses, multiprocessing, pickle, sys
from pathlib import Path
from mjgym_train import score_table

def add_seeds(seeds):
    together.wait(120)
    for seed in seeds:
        rows = [dataclasses.replace(row, seed=seed) for row in entry.rows]
        score_table.add(dataclasses.replace(entry, rows=rows), table)

entry, table = pickle.loads(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2])
forking = multiprocessing.get_context("fork")
together = forking.Barrier(2)
adding = [
    forking.Process(target=add_seeds, args=(seeds,)) for seeds in (range(10), range(10, 20))
]
for process in adding:
    process.start()
for process in adding:
    process.join()
print([process.exitcode for process in adding])
"""


class TestAdded:
    @pytest.mark.weekly
    def test_a_row_for_each_evaluation(self, run, tmp_path):
        table = tmp_path / "table"
        entry = protocol.entry_of(run, SHORT)
        score_table.add(entry, table)
        rows = score_table.read(table)
        assert rows == list(entry.rows)
        first, second, final = rows
        lines = {(m.metric, m.env_step): m for m in run.metrics()}
        for row, step in ((first, 80), (second, 160)):
            line = lines[metrics.RETURN, step]
            assert (row.metric, row.env_step, row.updates) == (line.metric, step, line.updates)
            assert row.value == pytest.approx(line.value, rel=1e-5)
            assert row.seeds == "20000-20001"
        score = json.loads(run.evaluation_file.read_text())
        assert (final.metric, final.seeds) == (metrics.FINAL, "10000-10001")
        assert final.value == pytest.approx(score["mean"], rel=1e-5)
        assert [row.decisions for row in rows] == [80, 160, 160]
        assert 0 <= first.cpu_s <= second.cpu_s == final.cpu_s  # to a tenth of a second
        assert len({row.config for row in rows}) == 1
        assert first.machine

    @lane(3, 5)
    def test_files_beside_the_rows(self, run, tmp_path):
        table = tmp_path / "table"
        score_table.add(protocol.entry_of(run, SHORT), table)
        assert set(content(table)) == {
            *("results.csv", "td3.yaml", f"td3/{ID}_0.yaml", f"td3/{ID}_0.npz"),
        }
        method = yaml.safe_load((table / "td3.yaml").read_text())
        assert method["settings"]["hidden"] == [8]
        assert not {"id", "seed", "name", "threads", "tensorboard"} & set(method["settings"])
        about = yaml.safe_load((table / f"td3/{ID}_0.yaml").read_text())
        assert about["commit"] == COMMIT
        assert about["config"] == method["config"] == score_table.read(table)[0].config
        assert about["fingerprint"]["id"] == ID
        rows = np.random.default_rng(0).normal(size=(3, run.policy().mean.size))
        kept = policy.load(table / f"td3/{ID}_0.npz")
        assert np.array_equal(kept(rows), run.policy()(rows))

    def test_compare_reads_the_rows(self, run, tmp_path):
        score_table.add(protocol.entry_of(run, SHORT), tmp_path / "table")
        found = json.loads(mjgym_("compare", tmp_path / "table/results.csv", "--json").stdout)
        (score,) = found["scores"]
        assert (score["experiment"], score["id"], score["runs"]) == ("td3", ID, 1)

    def test_other_seeds_of_the_method_join(self, run, tmp_path):
        table = tmp_path / "table"
        entry = protocol.entry_of(run, SHORT)
        for seed in (1, 0):
            rows = [dataclasses.replace(row, seed=seed) for row in entry.rows]
            score_table.add(dataclasses.replace(entry, rows=rows), table)
        assert [row.seed for row in score_table.read(table)] == [0] * 3 + [1] * 3
        assert (table / f"td3/{ID}_1.yaml").exists()
        assert not (table / f"td3/{ID}_1.npz").exists()  # of seed 0 alone

    def test_by_several_processes_at_the_same_time(self, run, tmp_path):
        table, entry = tmp_path / "table", tmp_path / "entry"
        entry.write_bytes(pickle.dumps(protocol.entry_of(run, SHORT)))
        assert run_small(ADDING, str(entry), str(table)) == "[0, 0]\n"
        assert {row.seed for row in score_table.read(table)} == set(range(20))

    def test_by_the_command(self, run, tmp_path):
        """A folder that says what a run of the whole protocol says."""
        whole = yaml.safe_load(run.config_file.read_text())
        whole |= protocol.TABLE.settings()
        run.config_file.write_text(yaml.safe_dump(whole))
        lines = [
            metrics.Metric("td3", ID, 0, name, 10_000 * (k + 1), 60.0 * k, k, 60.0 * k)
            for k in range(50)
            for name in (metrics.RETURN, metrics.CPU_SECONDS)
        ]
        run.metrics_file.unlink()
        metrics.append(run.metrics_file, lines)
        returns = [float(k) for k in range(100)]
        about = {"returns": returns, "seeds": list(evaluation.SEEDS), "mean": 49.5}
        changed_json(run.evaluation_file, **about)
        table = tmp_path / "table"
        done = mjgym_("submit", run.path, "--table", table)
        assert "results.csv" in done.output
        rows = score_table.read(table)
        assert len(rows) == 51
        line = scores.line_of(rows, "td3", ID)
        # Minute k of processor time has an evaluation of 60 k.
        assert line.on_the_way == {5: 300.0, 10: 600.0, 30: 1800.0}
        assert (line.scores, line.runs, line.cpu_minutes) == ([49.5], 1, 49.0)
        before = content(table)
        done = mjgym_("submit", run.path, "--table", table, code=1)
        assert f"td3 on {ID}, seed 0, already" in " ".join(done.stderr.split())
        assert content(table) == before


def of_config(**changes):
    def change(run):
        settings = yaml.safe_load(run.config_file.read_text())
        run.config_file.write_text(yaml.safe_dump({**settings, **changes}))

    return change


def of_score(**changes):
    return lambda run: changed_json(run.evaluation_file, **changes)


def of_learner(**changes):
    def change(run):
        learner = json.loads(run.fingerprint_file.read_text())["learner"]
        changed_json(run.fingerprint_file, learner={**learner, **changes})

    return change


def of_metrics(change):
    def changing(run):
        text = run.metrics_file.read_text().splitlines(keepends=True)
        run.metrics_file.write_text("".join(change(text)))

    return changing


def other_policy(run):
    found = run.policy()
    found.layers[0]["bias"] = found.layers[0]["bias"] + 1
    found.save(run.policy_file)


REFUSED = {
    "settings": (of_config(steps=80), "steps is 80, the protocol's is 160"),
    "two settings": (
        of_config(evaluations=3, env={"speed": 1}),
        "evaluations is 3, the protocol's is 2; env is {'speed': 1}, the protocol's is {}",
    ),
    "a dataset": (of_config(data="mine"), "data is 'mine', the protocol's is ''"),
    "an id": (of_config(id="own/task-v0"), "id: own/task-v0 is none of the package's"),
    "own code": (of_config(critic="mine:C"), "code outside the package, which no other can rerun"),
    "a name": (of_config(name="../up"), "name: '../up' is no name of a file"),
    "no score": (lambda run: run.evaluation_file.unlink(), "has no score: mjgym evaluate"),
    "an old score": (
        lambda run: changed_json(run.evaluation_file) or _without(run.evaluation_file),
        "has no policy_sha256",
    ),
    "seeds": (of_score(seeds=[1, 2]), "other episodes than those of the seeds 10000-10001"),
    "returns": (of_score(mean=1e9), "says a mean of 1000000000.0, its returns"),
    "a damaged score": (
        lambda run: run.evaluation_file.write_text("{"),
        "evaluation.json is damaged",
    ),
    "the policy": (other_policy, "policy.npz is not the policy of evaluation.json"),
    "changes": (of_learner(source=COMMIT + "+"), f"changes beside its commit {COMMIT}"),
    "no commit": (of_learner(source=""), "there is no commit that it could name"),
    "no fingerprint": (lambda run: run.fingerprint_file.unlink(), "it has not been trained"),
    "another id": (
        lambda run: changed_json(run.fingerprint_file, id="dmc/walker-run-v0"),
        f"fingerprint.json is of dmc/walker-run-v0, config.yaml of {ID}",
    ),
    "not ended": (
        of_metrics(lambda text: [line for line in text if ",160," not in line]),
        "it has not ended: its last evaluation is after 80 of 160 steps",
    ),
    "an evaluation": (
        of_metrics(lambda text: [line for line in text if f"{metrics.RETURN},80" not in line]),
        "it has 1 evaluations, the protocol 2",
    ),
    "a column": (
        of_metrics(lambda text: [line.replace("wall_s", "hours") for line in text]),
        "metrics.csv has no column wall_s",
    ),
    "a seed": (
        of_metrics(lambda text: [line.replace(f"{ID},0,", f"{ID},7,") for line in text]),
        "metrics.csv has seed 7, the settings 0",
    ),
    "a time": (
        of_metrics(lambda text: [line for line in text if metrics.CPU_SECONDS not in line]),
        "has no speed/cpu_seconds: an older version of the package",
    ),
}


def _without(file: Path) -> None:
    found = json.loads(file.read_text())
    del found["policy_sha256"]
    file.write_text(json.dumps(found))


class TestRefused:
    @pytest.mark.parametrize("what", mostly_nightly(REFUSED, 7))
    def test_says_what_differs(self, run, what):
        change, message = REFUSED[what]
        change(run)
        before = content(run.path)
        with pytest.raises(RunError) as caught:
            protocol.entry_of(run, SHORT)
        assert message in str(caught.value)
        assert content(run.path) == before

    def test_a_method_of_other_settings(self, run, tmp_path):
        entry = protocol.entry_of(run, SHORT)
        score_table.add(entry, tmp_path / "table")
        before = content(tmp_path / "table")
        rows = [dataclasses.replace(row, seed=1) for row in entry.rows]
        other = {**entry.settings, "hidden": [9], "n_step": 4}
        made = dataclasses.replace(entry, rows=rows, settings=other)
        with pytest.raises(RunError) as caught:
            score_table.add(made, tmp_path / "table")
        assert "hidden is [9] in the run, [8] in the table; n_step is 4" in str(caught.value)
        assert content(tmp_path / "table") == before

    @pytest.mark.parametrize("damage", ["", "a,b\n1,2\n", "exp_name"])
    def test_a_damaged_table_stays_as_it_is(self, run, damage, tmp_path):
        file = tmp_path / "table" / "results.csv"
        file.parent.mkdir()
        file.write_text(damage)
        with pytest.raises(RunError, match=r"results\.csv is damaged"):
            score_table.add(protocol.entry_of(run, SHORT), file.parent)
        assert content(file.parent) == {"results.csv": damage.encode()}

    def test_the_command_writes_nothing(self, run, tmp_path):
        done = mjgym_("submit", run.path, "--table", tmp_path / "table", code=1)
        assert "steps is 160, the protocol's is 500000" in " ".join(done.stderr.split())
        done = mjgym_("submit", tmp_path / "none", "--table", tmp_path / "table", code=1)
        assert "holds no run" in " ".join(done.stderr.split())
        assert not (tmp_path / "table").exists()

    @pytest.mark.weekly
    def test_a_place_that_cannot_be_written_leaves_all_as_it_was(self, run, tmp_path):
        table = tmp_path / "table"
        entry = protocol.entry_of(run, SHORT)
        score_table.add(entry, table)
        before = content(table)
        rows = [dataclasses.replace(row, env_name="dmc/x-v0") for row in entry.rows]
        (table / "td3" / "dmc" / "x-v0_0.yaml").mkdir()  # a folder stands in its place
        with pytest.raises(OSError, match=r"x-v0_0"):
            score_table.add(dataclasses.replace(entry, rows=rows), table)
        assert content(table) == before


class TestPages:
    def test_what_has_not_run_says_so(self):
        found = {name: scores.table(ids, []) for name, ids in scores.suites().items()}
        counts = {name: text.count("not measured") for name, text in found.items()}
        assert counts == {"suite": 51, "locomotion": 19, "tabletop": 17}
        assert "0 of 51 ids have runs, 0 in all." in found["suite"]

    def test_what_has_run(self):
        def rows(seed, score, speed):
            base = score_table.Row(
                *("td3", ID, seed, metrics.RETURN, 0, 0.0, 0, 0.0, "Chip, 2 cores"),
                *(0.0, 0, 1, "abc", "20000-20009"),
            )
            way = [
                dataclasses.replace(base, env_step=k, value=10.0 * k, cpu_s=60.0 * k / speed)
                for k in range(1, 21)
            ]
            end = dataclasses.replace(way[-1], metric=metrics.FINAL, value=score)
            won = dataclasses.replace(end, metric=metrics.FINAL_SUCCESS, value=0.25)
            return [*way, won, end]

        found = scores.table([ID], [*rows(0, 700.0, 1), *rows(1, 800.0, 1), *rows(2, 900.0, 2)])
        cells = [cell.strip() for cell in found.splitlines()[2].split("|")[1:-1]]
        assert cells[:5] == [ID, "800", "552 to 1048", "700, 800, 900", "3"]
        # The third is twice as fast; all end sooner than after half an hour.
        assert cells[5:10] == ["67", "133", "200", "17", "25%"]
        assert found.endswith("1 of 1 ids have runs, 3 in all. Chip, 2 cores.")
        two = scores.table([ID], rows(0, 700.0, 0.1) + rows(1, 800.0, 1))
        cells = [cell.strip() for cell in two.splitlines()[2].split("|")[1:-1]]
        assert cells[2] == ""  # no interval of two
        assert cells[5] == ""  # one had no evaluation yet


def test_the_file_of_settings_is_the_protocol() -> None:
    read = config.read(
        algorithms.find("td3").Config, [assets() / "training" / "scores.yaml"], algorithm="td3"
    )
    wanted = protocol.TABLE.settings()
    assert {name: getattr(read, name) for name in wanted} == wanted


def test_the_packaged_table_can_be_read() -> None:
    rows = score_table.read()
    methods = {name: score_table.settings_of_method(name) for name in {r.exp_name for r in rows}}
    hashes = {name: known and score_table.config_hash(known) for name, known in methods.items()}
    for row in rows:
        assert hashes[row.exp_name] == row.config
        assert score_table.run_file(row.exp_name, row.env_name, row.seed).exists()


def rescored(table: Path, about: Path) -> tuple[float, float, float]:
    """Scores: that a run of a table says, and that its policy earns now, with its deviation."""
    said = yaml.safe_load(about.read_text())
    acting = policy.load(about.with_name(said["policy_file"]))
    (row,) = [
        row
        for row in score_table.read(table)
        if (row.env_name, row.seed, row.metric) == (said["id"], said["seed"], metrics.FINAL)
        and row.exp_name == about.relative_to(table).parts[0]
    ]
    first, last = map(int, row.seeds.split("-"))
    envs = evaluation.make(said["id"], last + 1 - first, 1)
    returns = evaluation.evaluate(acting, envs, range(first, last + 1)).returns
    envs.close()
    return row.value, float(returns.mean()), float(returns.std())


def test_a_policy_of_a_table_earns_what_its_row_says(run, tmp_path) -> None:
    score_table.add(protocol.entry_of(run, SHORT), tmp_path / "table")
    stated, found, _ = rescored(tmp_path / "table", tmp_path / "table" / f"td3/{ID}_0.yaml")
    assert found == pytest.approx(stated, rel=1e-5)


KEPT = sorted(path.with_suffix(".yaml") for path in score_table.FOLDER.rglob("*.npz"))


@pytest.mark.weekly
@pytest.mark.parametrize("about", KEPT[:1], ids=lambda path: path.stem)
def test_a_policy_of_the_packaged_table_earns_what_its_row_says(about: Path) -> None:
    stated, found, deviation = rescored(score_table.FOLDER, about)
    # Another processor rounds otherwise, and an episode may take another way from there.
    assert abs(found - stated) <= 0.3 * deviation + 1e-3 * abs(stated)
