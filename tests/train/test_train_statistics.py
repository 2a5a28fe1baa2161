"""Statistics of scores against closed forms and brute force, and the comparison of runs."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from mjgym import registry
from mjgym.policies.run_errors import RunError
from mjgym_train import comparison, metrics, statistics


def curves_of(ids, experiments):
    """Runs whose returns rise linearly, some more than others."""
    steps = np.arange(0.0, 501.0, 100)
    return [
        comparison.Curve(name, id, seed, steps, steps / 10, steps * (k + 1) / 10 + seed**2, steps)
        for name, seeds in experiments.items()
        for k, id in enumerate(ids)
        for seed in range(seeds)
    ]


class TestStatistics:
    def test_the_interquartile_mean_cuts_a_quarter_at_either_end(self):
        assert statistics.interquartile_mean([np.array([0.0, 1, 2, 100])]) == 1.5
        assert statistics.interquartile_mean([np.array([5.0, 1]), np.array([3.0, 90])]) == 4
        uniform = [np.linspace(0, 1, 1_001)]
        assert statistics.interquartile_mean(uniform) == pytest.approx(0.5)

    def test_a_profile_is_the_share_above(self):
        scores = [np.array([0.1, 0.9]), np.array([0.5, 0.5])]
        thresholds = np.array([0.0, 0.4, 0.5, 0.95])
        found = statistics.performance_profile(scores, thresholds)
        assert found.tolist() == [1, 0.75, 0.25, 0]

    def test_the_probability_of_improvement_counts_pairs(self):
        rng = np.random.default_rng(0)
        one, other = ([rng.integers(0, 5, n) for n in (3, 4)] for _ in range(2))
        wanted = np.mean(
            [
                np.mean([(x > y) + 0.5 * (x == y) for x, y in itertools.product(a, b)])
                for a, b in zip(one, other, strict=True)
            ]
        )
        assert statistics.probability_of_improvement(one, other) == pytest.approx(wanted)
        assert statistics.probability_of_improvement(one, one) == 0.5

    def test_the_interval_of_a_mean_is_the_normal_one(self):
        """Closed form: mean +- 1.96 sigma / sqrt(n) for many runs."""
        sample = np.random.default_rng(0).normal(3, 2, 400)
        low, high = statistics.interval(statistics.mean, [sample])
        half = 1.96 * sample.std() / math.sqrt(400)
        assert statistics.mean_interval(sample) == pytest.approx((low, high), abs=0.03)
        assert low == pytest.approx(sample.mean() - half, abs=0.03)
        assert high == pytest.approx(sample.mean() + half, abs=0.03)

    def test_the_bootstrap_is_stratified(self):
        """Tasks of one score each leave nothing to draw, however far apart they are."""
        scores = [np.full(3, 0.1), np.full(3, 0.9)]
        assert statistics.interval(statistics.mean, scores) == (0.5, 0.5)

    def test_quantiles_of_students_t(self):
        """Tabulated: two-sided, 95 % and 99 %."""
        tabulated = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 9: 2.2622, 30: 2.0423}
        for freedom, value in tabulated.items():
            assert statistics.t_quantile(0.95, freedom) == pytest.approx(value, abs=1e-4)
        assert statistics.t_quantile(0.99, 5) == pytest.approx(4.0321, abs=1e-4)

    def test_below_three_runs_there_is_none(self):
        assert statistics.mean_interval(np.array([1.0, 2.0])) is None
        assert statistics.interval(statistics.mean, [np.ones(3), np.ones(2)]) is None
        mean, half = 2.0, 4.3027 / math.sqrt(3)
        found = statistics.mean_interval(np.array([1.0, 2.0, 3.0]))
        assert found == pytest.approx((mean - half, mean + half), abs=1e-4)

    @pytest.mark.parametrize("runs", [3, 5, 10])
    def test_the_interval_of_a_task_holds_the_mean_as_often_as_it_says(self, runs):
        rng = np.random.default_rng(runs)
        samples = rng.normal(5, 2, (runs, 4_000))
        low, high = statistics.mean_intervals(samples)
        assert ((low < 5) & (high > 5)).mean() == pytest.approx(0.95, abs=0.012)

    @pytest.mark.weekly
    @pytest.mark.parametrize(
        "statistic",
        [statistics.mean, pytest.param(statistics.interquartile_mean, marks=pytest.mark.slow)],
    )
    def test_the_interval_over_tasks_holds_what_it_estimates(self, statistic):
        """The estimate for many runs of 8 tasks, by 3 of each, in 150 repetitions."""
        rng = np.random.default_rng(0)
        middles, spreads = rng.uniform(0.2, 0.9, 8), rng.uniform(0.03, 0.15, 8)

        def drawn(n):
            return [rng.normal(m, s, n) for m, s in zip(middles, spreads, strict=True)]

        truth = statistic(drawn(20_000))
        intervals = [statistics.interval(statistic, drawn(3), repeats=150) for _ in range(150)]
        held = np.mean([low < truth < high for low, high in intervals])
        assert held > 0.85  # 0.91, less three standard errors


def lines(experiment, id, seed, returns):
    return [
        metrics.Metric(experiment, id, seed, metrics.RETURN, 100 * (k + 1), value, k, 6.0 * k)
        for k, value in enumerate(returns)
    ]


class TestComparison:
    def test_scores_are_of_the_last_evaluation(self, tmp_path):
        file = tmp_path / "metrics.csv"
        metrics.append(file, lines("a", "dmc/x-v0", 0, [900, 100, 200, 300]))
        metrics.append(file, lines("a", "dmc/x-v0", 1, [0, 300, 400, 500]))
        metrics.append(file, lines("b", "dmc/x-v0", 0, [1, 2, 250]))
        metrics.append(file, lines("b", "dmc/only_b-v0", 0, [7]))
        curves = comparison.read([file])
        first, *_ = (s for s in comparison.scores(curves) if s.experiment == "a")
        assert (first.runs, first.last, first.last_three) == (2, 400, 300)
        assert first.interval is None
        summaries = comparison.summaries(curves)
        assert [(s.experiment, s.tasks, s.runs) for s in summaries] == [("a", 1, 2), ("b", 1, 1)]
        assert summaries[0].improvement is None
        assert summaries[1].improvement == 0
        assert summaries[1].interquartile_mean == 0.25

    def test_public_files_load_beside_ours(self, tmp_path):
        """Those of SimbaV2 and FlashSAC have the first six columns, and seeds like 0.0."""
        file = tmp_path / "public.csv"
        file.write_text(
            "exp_name,env_name,seed,metric,env_step,value\nsimba,walker-walk,0.0,avg_return,1e5,960.5\n"
        )
        (curve,) = comparison.read([file], "avg_return")
        assert (curve.seed, curve.steps.tolist(), curve.returns.tolist()) == (0, [100_000], [960.5])

    def test_others_names_of_tasks_are_known(self, tmp_path):
        for k, name in enumerate(("dog-run", "dmc/dog-run", "dm_control/dog-run-v0")):
            metrics.append(tmp_path / f"{k}.csv", lines(f"e{k}", name, 0, [100]))
        metrics.append(tmp_path / "own.csv", lines("own", "dmc/dog-run-v0", 0, [200]))
        curves = comparison.read(sorted(tmp_path.glob("*.csv")))
        assert {curve.id for curve in curves} == {"dmc/dog-run-v0"}
        assert comparison.known_name("Ant-v5") == "Ant-v5"

    def test_only_scaled_tasks_are_averaged(self, tmp_path):
        file = tmp_path / "metrics.csv"
        for seed in range(3):
            metrics.append(file, lines("a", "dmc/dog-run-v0", seed, [500]))
            metrics.append(file, lines("a", "soccer/ant-1v1-v0", seed, [-1]))
            metrics.append(file, lines("a", "dmc/lqr-lqr_2_1-v0", seed, [-9000]))
        (summary,) = comparison.summaries(comparison.read([file]))
        assert (summary.tasks, summary.runs, summary.interquartile_mean) == (1, 3, 0.5)
        assert summary.interval == (0.5, 0.5)

    def test_what_cannot_be_compared_is_named(self, tmp_path):
        with pytest.raises(RunError, match="nothing: no metrics can be read"):
            comparison.read([tmp_path / "nothing"])
        file = tmp_path / "other.csv"
        file.write_text("a,b\n1,2\n")
        with pytest.raises(RunError, match="no column exp_name"):
            comparison.read([file])
        metrics.append(tmp_path / "metrics.csv", [])
        with pytest.raises(RunError, match="has no evaluation/return yet"):
            comparison.read([tmp_path])

    @pytest.mark.weekly
    def test_a_picture(self, tmp_path):
        pytest.importorskip("matplotlib")
        file = tmp_path / "metrics.csv"
        for seed in (0, 1, 2):
            metrics.append(file, lines("a", "dmc/x-v0", seed, [1, 50 + seed, 90]))
            metrics.append(file, lines("b", "dmc/x-v0", seed, [1, 20, 40 + seed]))
        comparison.plot(comparison.read([file]), tmp_path / "curves.png")
        assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.slow
    def test_a_suite_is_its_mean_and_a_grid_of_six_columns(self):
        pytest.importorskip("matplotlib")
        ids = [id for id in registry.ids(namespace="dmc") if comparison.scaled(id)][:8]
        curves = curves_of(ids, {"a": 3, "b": 5})
        first, over_minutes, _, *tasks = comparison.figure_of(curves).axes
        assert [axis.get_title() for axis in tasks] == ids
        places = [axis.get_subplotspec() for axis in tasks]
        found = [(place.rowspan.start, place.colspan.start) for place in places]
        assert found == [(1 + k // 6, k % 6) for k in range(8)]
        for axis, share in ((first, 1e3), (over_minutes, 600.0)):
            for name, line in zip("ab", axis.get_lines()[:2], strict=True):
                own = [curve for curve in curves if curve.experiment == name]
                wanted = np.mean([curve.returns for curve in own], axis=0)
                x = own[0].steps / share
                np.testing.assert_allclose(np.interp(x, *line.get_data()), wanted, rtol=0.02)

    def test_a_run_that_has_ended_counts_in_the_mean_with_its_last_evaluation(self):
        """Tasks with budgets apart had no line at all."""
        pytest.importorskip("matplotlib")
        ids = [id for id in registry.ids(namespace="dmc") if comparison.scaled(id)][:5]
        short = curves_of(ids[:1], {"a": 1})
        long = [
            dataclasses.replace(curve, steps=100 * curve.steps)
            for curve in curves_of(ids[1:], {"a": 1})
        ]
        (line,) = comparison.figure_of([*short, *long]).axes[0].get_lines()
        x, y = line.get_data()
        assert (x[0], x[-1]) == (long[0].steps[0] / 1e3, long[0].steps[-1] / 1e3)
        assert y[-1] == pytest.approx(np.mean([curve.returns[-1] for curve in (*short, *long)]))

    def test_a_few_tasks_have_minutes_too(self):
        pytest.importorskip("matplotlib")
        curves = curves_of(["dmc/dog-run-v0", "l2m/walk_planar-v0"], {"a": 2})
        labels = [axis.get_xlabel() for axis in comparison.figure_of(curves).axes]
        both = list(comparison.LABELS.values())
        assert labels == [*both, "return / 1,000", *both, *both]

    @pytest.mark.parametrize("band", ["intervals", "percentiles"])
    def test_bands(self, band):
        """Closed form: values of five runs that differ by a constant."""
        pytest.importorskip("matplotlib")
        curves = curves_of(["dmc/dog-run-v0"], {"a": 5})
        *_, axis, _ = comparison.figure_of(curves, band).axes
        at_end = np.array([curve.returns[-1] for curve in curves])
        low, line, high = np.quantile(at_end, (0.05, 0.5, 0.95))
        if band == "intervals":
            line, (low, high) = at_end.mean(), statistics.mean_interval(at_end)
        assert axis.get_lines()[0].get_ydata()[-1] == pytest.approx(line)
        (filled,) = axis.collections
        ends = filled.get_paths()[0].vertices
        at = ends[ends[:, 0] == ends[:, 0].max()][:, 1]
        assert (at.min(), at.max()) == pytest.approx((low, high))

    def test_lines_after_a_checkpoint_are_written_again(self, tmp_path):
        file = tmp_path / "metrics.csv"
        metrics.append(file, lines("a", "dmc/x-v0", 0, [1, 2, 3]))
        with file.open("a") as stream:
            stream.write("a,dmc/x-v0,0,evalu")  # where SIGKILL came
        metrics.keep_until(file, 200)
        assert [m.value for m in metrics.read(file)] == [1, 2]
        metrics.append(file, lines("a", "dmc/x-v0", 0, [9])[:1])
        assert [m.value for m in metrics.read(file)] == [1, 2, 9]


class TestAgainstRliable:
    """The package of the paper's authors, where it is installed."""

    @pytest.fixture
    def found(self):
        pytest.importorskip(
            "rliable", reason='rliable is not installed: pip install rliable "pandas<3"'
        )
        rng = np.random.default_rng(0)
        ours, theirs = (rng.beta(a, 2, (10, 6)) for a in (3, 2))  # 10 runs of 6 tasks
        return ours, theirs

    def test_interquartile_mean(self, found):
        from rliable import metrics as reference

        for scores in found:
            wanted = reference.aggregate_iqm(scores)
            assert statistics.interquartile_mean(list(scores.T)) == pytest.approx(wanted)
            wanted = reference.aggregate_mean(scores)
            assert statistics.mean(list(scores.T)) == pytest.approx(wanted)

    def test_probability_of_improvement(self, found):
        from rliable import metrics as reference

        for ours, theirs in (found, np.round(found, 1)):  # rounded, some scores are equal
            wanted = reference.probability_of_improvement(ours, theirs)
            mine = statistics.probability_of_improvement(list(ours.T), list(theirs.T))
            assert mine == pytest.approx(wanted)

    def test_performance_profile(self, found):
        from rliable import library

        thresholds = np.linspace(0, 1, 21)
        wanted = [library.run_score_deviation(found[0], threshold) for threshold in thresholds]
        mine = statistics.performance_profile(list(found[0].T), thresholds)
        np.testing.assert_allclose(mine, wanted)

    def test_intervals(self, found):
        """Both draw at random: ends agree to a tenth of the interval's width."""
        from rliable import library
        from rliable import metrics as reference

        scores = {"ours": found[0]}
        _, intervals = library.get_interval_estimates(
            scores, lambda s: np.array([reference.aggregate_iqm(s)]), reps=4_000
        )
        wanted = intervals["ours"][:, 0]
        mine = statistics.interval(statistics.interquartile_mean, list(found[0].T), repeats=4_000)
        np.testing.assert_allclose(mine, wanted, atol=0.1 * (wanted[1] - wanted[0]))
