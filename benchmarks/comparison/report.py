"""Rates, ratios and their summary, as a table, a JSON file and a plot."""

import argparse
import datetime
import functools
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from comparison.installation import ROOT

# Ratio by name: numerator and denominator subjects, measured one after the other in each repeat.
RATIOS = {
    "batch / EnvPool": ("batch", "envpool"),
    "batch / Sync": ("batch", "sync"),
    "batch / Async": ("batch", "async"),
    "batch / limit": ("batch", "limit"),
    "batch / engine": ("batch", "engine"),
    "single / dm_control": ("single", "dm_control"),
    "bare / dm_control": ("bare", "dm_control"),
    "single / bare": ("single", "bare"),
    "overlap / plain": ("overlap", "plain"),
    "overlap / plain, alone": ("overlap, alone", "plain, alone"),
    "batch / robosuite": ("batch", "robosuite"),
    "batch / one call": ("batch", "one call"),
    "single / robosuite": ("single", "robosuite"),
    "batch / OpenSim": ("batch", "opensim"),
    "single / OpenSim": ("single", "opensim"),
    "batch / mjlab": ("batch", "mjlab"),
    "planner / judo": ("planner", "judo"),
    "planner / rollouts": ("planner", "rollouts"),
    "rollouts / engine": ("rollouts", "engine"),
    "rollouts / batch": ("rollouts", "batch"),
}
PACKAGES = ("mjgym", "mujoco", "gymnasium", "numpy", "envpool", "dm_control")

Result = dict[str, Any]


def rate(
    calls: int,
    seconds: float,
    *,
    simulations: int,
    control_steps: int,
    reset_seconds: float,
    episode_steps: float,
) -> float:
    """Control steps per second, over all simulations, including the share of resets.

    Args:
        calls: number of calls.
        seconds: duration of the calls, without resets.
        simulations: number that each call advances.
        control_steps: number per call and simulation.
        reset_seconds: duration of a reset of all simulations.
        episode_steps: control steps in an episode, after which there is a reset; may be infinite.
    """
    per_step = seconds / calls / control_steps
    return simulations / (per_step + reset_seconds / episode_steps)


def result(
    id: str, num_envs: int, episode_steps: float, subjects: dict[str, dict[str, Any]]
) -> Result:
    """Measurements of one id, with rates and ratios.

    Args:
        id: of the task.
        num_envs: simulations of the vectorized subjects.
        episode_steps: control steps in an episode, may be infinite.
        subjects: by name `{"error": why}` or `{"simulations", "control_steps", "resets",
            "windows"}`, the last a list of `{"calls", "seconds", "restarts"}`, one per repeat.
    """
    described = {}
    for name, measured in subjects.items():
        if "error" in measured:
            described[name] = measured
            continue
        windows = measured["windows"]
        resets = [*measured["resets"], *(r for w in windows for r in w["restarts"])]
        reset_seconds = statistics.median(resets) if resets else 0.0
        rates = [
            rate(
                window["calls"],
                window["seconds"],
                simulations=measured["simulations"],
                control_steps=measured["control_steps"],
                reset_seconds=reset_seconds,
                episode_steps=episode_steps,
            )
            for window in windows
        ]
        described[name] = {
            **measured,
            "reset_seconds": reset_seconds,
            "rates": rates,
            "rate": statistics.median(rates),
        }
    ratios = {}
    for name, (above, below) in RATIOS.items():
        pair = [described.get(above, {}).get("rates"), described.get(below, {}).get("rates")]
        if None not in pair:
            repeats = [a / b for a, b in zip(*pair, strict=True)]
            ratios[name] = {"repeats": repeats, "median": statistics.median(repeats)}
    return {
        "id": id,
        "num_envs": num_envs,
        "episode_steps": None if episode_steps == float("inf") else episode_steps,
        "subjects": described,
        "ratios": ratios,
    }


def summary(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """For each ratio: number of ids, geometric and arithmetic mean, minimum and its id, wins."""
    summarized = {}
    for name in RATIOS:
        values = {r["id"]: r["ratios"][name]["median"] for r in results if name in r["ratios"]}
        if values:
            least = min(values, key=values.__getitem__)
            summarized[name] = {
                "ids": len(values),
                "geometric_mean": statistics.geometric_mean(values.values()),
                "mean": statistics.mean(values.values()),
                "minimum": values[least],
                "minimum_id": least,
                "at_least_one": sum(v >= 1 for v in values.values()),
            }
    return summarized


COLUMNS = {  # rates and ratios by header
    "batch /s": "batch",
    "EnvPool /s": "envpool",
    "ratio to EnvPool": "batch / EnvPool",
    "Sync /s": "sync",
    "ratio to Sync": "batch / Sync",
    "Async /s": "async",
    "ratio to Async": "batch / Async",
    "limit /s": "limit",
    "ratio to limit": "batch / limit",
    "engine /s": "engine",
    "ratio to engine": "batch / engine",
    "single /s": "single",
    "dm_control /s": "dm_control",
    "ratio to dm_control": "single / dm_control",
    "bare": "bare / dm_control",
}


def columns(results: Sequence[Result]) -> dict[str, str]:
    """The columns that some result can fill."""
    known = {name for r in results for part in ("subjects", "ratios") for name in r[part]}
    return {header: name for header, name in COLUMNS.items() if name in known}


def row(measured: Result, shown: Iterable[str]) -> tuple[str, ...]:
    """Row of the table with some rates and ratios; missing cells are empty."""

    def steps(name: str) -> str:
        value = measured["subjects"].get(name, {}).get("rate")
        return "" if value is None else f"{value:,.0f}"

    def ratio(name: str) -> str:
        value = measured["ratios"].get(name)
        return "" if value is None else f"{value['median']:.2f}"

    cells = (ratio(name) if name in RATIOS else steps(name) for name in shown)
    return (measured["id"], str(measured["num_envs"]), *cells)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown table with aligned columns, all but the first to the right."""
    cells = [tuple(header), *(tuple(r) for r in rows)]
    widths = [max(3, *(len(r[i]) for r in cells)) for i in range(len(header))]

    def line(values: Sequence[str]) -> str:
        padded = [
            v.ljust(w) if i == 0 else v.rjust(w)
            for i, (v, w) in enumerate(zip(values, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(cells[0]), line(rule), *(line(r) for r in cells[1:])])


def text(results: Sequence[Result], unavailable: dict[str, str]) -> str:
    """Final report: table, summary, missing measurements and reasons."""
    shown = columns(results)
    parts = [table(("id", "N", *shown), (row(r, shown.values()) for r in results))]
    lines = [
        (
            name,
            str(s["ids"]),
            f"{s['geometric_mean']:.2f}",
            f"{s['mean']:.2f}",
            f"{s['minimum']:.2f}",
            s["minimum_id"],
            str(s["at_least_one"]),
        )
        for name, s in summary(results).items()
    ]
    header = ("ratio", "ids", "geometric mean", "mean", "minimum", "of", "ids >= 1")
    parts.append(table(header, lines))
    missing = [f"{name}: {reason}" for name, reason in unavailable.items()]
    missing += [
        f"{r['id']}, {name}: {subject['error']}"
        for r in results
        for name, subject in r["subjects"].items()
        if "error" in subject and name not in unavailable
    ]
    if missing:
        parts.append("\n".join(["Left empty:", *missing]))
    return "\n\n".join(parts)


def circumstances(threads: int, options: argparse.Namespace) -> dict[str, Any]:
    """Machine and settings, the header of a file of results."""
    names = ("num_envs", "seconds", "repeats", "cpu")
    arguments = {name: getattr(options, name) for name in names}
    return {"machine": machine(threads), "arguments": arguments}


def machine(threads: int) -> dict[str, Any]:
    """Versions, CPU, cores, date and commit."""
    versions: dict[str, str | None] = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": _processor(),
        "allowed_cores": threads,
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": versions,
        "commit": _git("rev-parse", "HEAD"),
        "changed_since_commit": bool(_git("status", "--porcelain", "--", "src", "assets")),
    }


def provenance(about: dict[str, Any]) -> str:
    """A line about the machine and the commit of `machine`."""
    changed = "+" * about["changed_since_commit"]
    where = f"{about['cpu']}, {about['allowed_cores']} cores, MuJoCo {about['versions']['mujoco']}"
    return f"{where}, commit {about['commit'][:8]}{changed}, {about['date'][:10]}."


@functools.cache
def commit() -> str | None:
    """This checkout's commit at the first call, with a plus if what is measured has changes."""
    aside = (":!tests", ":!assets/guides", ":!CHANGELOG.md", ":!assets/baselines")  # with the rows
    changed = _git("status", "--porcelain", "--", ".", *aside)
    head = _git("rev-parse", "--short=12", "HEAD")
    return head and head + "+" * bool(changed)


def origin() -> dict[str, Any]:
    """Commit, versions and machine of a row that was measured beside other work."""
    from mjgym.describe.fingerprint import versions

    return {
        "commit": commit(),
        "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, shared with other work",
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file atomically."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")
    partial.replace(path)


def plot(path: Path, results: Sequence[Result], title: str) -> None:
    """Plot horizontal bars of each id's ratios, with a line at 1 and the mean, if there are any."""
    means = summary(results)
    if not means:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    ids = [r["id"] for r in results]
    figure, axes = pyplot.subplots(
        1,
        len(means),
        figsize=(13, 1.6 + 0.26 * len(ids)),
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for axis, name in zip(axes[0], means, strict=True):
        values = [r["ratios"].get(name, {}).get("median", 0.0) for r in results]
        colors = ["tab:blue" if value >= 1 else "tab:orange" for value in values]
        if name == "batch / limit":  # an upper bound
            colors = ["tab:gray"] * len(values)
        bars = axis.barh(ids, values, color=colors, height=0.7)
        axis.bar_label(bars, [f"{v:.2f}" if v else "" for v in values], padding=3, fontsize=7)
        axis.axvline(1.0, color="black", linewidth=0.8)
        axis.margins(x=0.12, y=0.01)
        mean = means[name]["geometric_mean"]
        axis.axvline(mean, color="tab:red", linewidth=0.8, linestyle="--")
        axis.set_title(f"{name}\ngeometric mean {mean:.2f} (dashed)", fontsize=9)
        axis.tick_params(labelsize=7)
        axis.set_xlabel("ratio of control steps per second", fontsize=8)
    axes[0][0].invert_yaxis()
    figure.suptitle(f"{title} (orange: below 1)", fontsize=10)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
