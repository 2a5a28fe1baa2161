"""The pages of scores: published numbers, what was not learned, curves, and the runs to make."""

import sys
from pathlib import Path

import pytest
from PIL import Image

from helpers.places import SCRIPTS

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(SCRIPTS))

import make_site
import scores as program
from training import scores

from mjgym import registry
from mjgym_train import baselines, metrics
from mjgym_train.score_table import Row

WALK, RUN, BALANCE = "dmc/walker-walk-v0", "dmc/dog-run-v0", "dmc/cartpole-balance-v0"


def rows(id: str, seed: int, *returns: float) -> list[Row]:
    """Evaluations of a run every thousand steps and every minute; the last one is its score."""
    return [
        Row(
            exp_name="td3",
            env_name=id,
            seed=seed,
            metric=metrics.FINAL if last else metrics.RETURN,
            env_step=1000 * count,
            value=value,
            updates=count,
            wall_s=90.0 * count,
            machine="A processor, 2 cores",
            cpu_s=60.0 * count,
            decisions=1000 * count,
            repeat=1,
            config="0123",
            seeds="10000-10099",
        )
        for last, values in ((False, returns), (True, returns[-1:]))
        for count, value in enumerate(values, 1 if not last else len(returns))
    ]


def cells(table: str, id: str) -> list[str]:
    (line,) = (line for line in table.splitlines() if line.startswith(f"| {id} "))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


class TestPublished:
    def test_ids_methods_and_sources(self):
        found = scores.published()
        assert len({(row.id, row.method) for row in found}) == len(found)
        assert all(row.steps >= 500_000 and row.source for row in found)
        suite = {row.id for row in found if not row.id.startswith("gymnasium/")}
        assert suite <= set(registry.ids(namespace="dmc"))
        assert {row.id for row in found} - suite <= set(registry.ids(namespace="gymnasium"))
        assert all(0 <= row.score <= 1000 for row in found if row.id in suite)
        assert {row.method for row in found} > set(scores.BESIDE)

    def test_beside_ours(self):
        table = scores.beside_published([*rows(WALK, 0, 100.0, 800.0), *rows(WALK, 1, 900.0)])
        assert cells(table, WALK)[0] == "850"
        simba = {row.id: row.score for row in scores.published() if row.method == "SimbaV2"}
        assert cells(table, WALK)[1 + scores.BESIDE.index("SimbaV2")] == f"{simba[WALK]:.0f}"
        assert cells(table, RUN)[0] == "not measured"
        assert "PPO 216 (8M)" in cells(table, "dmc/cartpole-two_poles-v0")[-1]

    def test_every_source_is_named(self):
        for row in scores.published():
            assert f"`{row.source}`" in scores.sources()


class TestReport:
    """The suite's report of 2018, and means over common ids."""

    def test_its_ids_methods_and_budgets(self):
        found = scores.reported()
        assert {row.id for row in found} <= set(registry.ids(namespace="dmc"))
        keys = {(row.id, row.budget, row.method) for row in found}
        assert len(keys) == len(found) == 28 * 8
        assert {row.budget for row in found} == {"1e8 steps", "24 hours"}

    def test_beside_ours(self):
        table = scores.beside_report(rows(WALK, 0, 100.0, 800.0))
        header = [cell.strip() for cell in table.splitlines()[0].strip("|").split("|")][1:]
        own = dict(zip(header, cells(table, WALK), strict=True))
        theirs = {(r.method, r.budget): r.score for r in scores.reported() if r.id == WALK}
        assert own["here, 0.5M"] == "800"
        assert own["D4PG, 24 hours"] == f"{theirs['D4PG', '24 hours']:.0f}"
        assert cells(table, "dmc/fish-swim-v0")[0] == "not measured"

    def test_means_are_over_common_ids(self):
        made = [*rows(WALK, 0, 900.0), *rows(WALK, 1, 1000.0), *rows(RUN, 0, 100.0)]
        simba = {row.id: row.score for row in scores.published() if row.method == "SimbaV2"}
        mean = f"{(simba[WALK] + simba[RUN]) / 2:.0f}"
        ahead = sum(simba[id] > score for id, score in ((WALK, 950), (RUN, 100)))
        table = scores.common(scores.scores_of(made))
        assert cells(table, "SimbaV2, 0.5M") == ["2", "525", mean, str(ahead), "3"]
        assert scores.common({}) == "Not measured."


class TestNotLearned:
    def test_what_is_near_doing_nothing(self):
        zero = baselines.recorded(BALANCE)["zero"].mean
        made = [*rows(WALK, 0, 700.0), *rows(RUN, 0, 60.0), *rows(BALANCE, 0, zero + 10)]
        table = scores.not_learned(made)
        assert cells(table, RUN)[0] == "60"
        assert cells(table, RUN)[2].startswith("582, DR.Q")
        assert cells(table, BALANCE)[1] == f"{zero:.0f}"
        assert WALK not in table

    def test_nothing_measured_is_no_success(self):
        assert scores.not_learned([]) == "Not measured."
        assert scores.not_learned(rows(WALK, 0, 700.0)).startswith("No run")


class TestPictures:
    @pytest.mark.weekly
    def test_curves_and_profile(self, tmp_path):
        made = [*rows(WALK, 0, 100.0, 800.0), *rows(WALK, 1, 90.0, 900.0), *rows(RUN, 0, 5.0, 9.0)]
        drawn = scores.draw(made, tmp_path)
        names = {"scores_suite_steps", "scores_suite_seconds", "scores_suite_profile"}
        assert {path.stem for path in drawn} == names
        for path in drawn:
            with Image.open(path) as picture:
                assert len(picture.convert("RGB").getcolors(1 << 20)) > 50

    def test_none_without_runs(self, tmp_path):
        assert scores.draw([], tmp_path) == []
        assert list(tmp_path.iterdir()) == []

    def test_curves_are_over_processor_time(self):
        first, second = scores.curves([*rows(WALK, 0, 1.0, 2.0), *rows(WALK, 1, 3.0)])
        assert first.seconds.tolist() == [60.0, 120.0]
        assert (first.final, second.final) == (2.0, 3.0)


class TestSite:
    def test_a_page_has_its_scores_and_curve(self):
        text = make_site.scores_section(
            WALK, [*rows(WALK, 0, 0.0, 500.0), *rows(WALK, 1, 0.0, 1000.0)]
        )
        assert "`td3` 500, 1000" in text
        assert "random actions" in text
        assert text.count("<polyline") == 2
        assert "240.0,160.0 480.0,80.0" in text  # half of the scale at the end of the steps

    def test_without_runs_there_are_the_baselines_alone(self):
        assert "zero actions" in make_site.scores_section(WALK, [])
        assert "svg" not in make_site.scores_section(WALK, [])


class TestRuns:
    def test_all_ids_of_a_seed_before_the_next(self):
        made = list(program.jobs(["suite", "locomotion"], [], []))
        assert len(made) == len(set(made)) == 3 * 51 + 19
        assert [seed for _, seed in made] == sorted(seed for _, seed in made)
        assert list(program.jobs(["suite"], [WALK], [2, 5])) == [(WALK, 2), (WALK, 5)]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["sweet"], "no 'sweet'; there are suite"),
            (["--ids", "dmc/walker-fly-v0"], "no table has 'dmc/walker-fly-v0'"),
            (["--part", "3/2"], "--part: must be like 1/2, got 3/2"),
        ],
    )
    def test_mistakes(self, arguments, message, capsys):
        with pytest.raises(SystemExit) as end:
            program.main(arguments)
        assert end.value.code == 2
        assert message in capsys.readouterr().err
