"""Rules of the table of scores, and the check of run folders against them."""

import csv
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mjgym import registry
from mjgym.policies.run_errors import RunError
from mjgym.util import bounded
from mjgym_train import evaluation, metrics, score_table
from mjgym_train.comparison import machine_of
from mjgym_train.run import Run, code_of
from mjgym_train.score_table import Entry, Row

OF_A_RUN = ("id", "module", "name", "seed")
OF_A_MACHINE = (
    *("threads", "torch_threads", "log_every", "checkpoint_minutes", "tensorboard", "wandb"),
    *("trackio", "keep_buffer"),
)
"""Settings that the runs of one method may differ in."""


@dataclass(frozen=True)
class Protocol:
    """Rules for all runs of a table."""

    steps: int = 500_000  # control steps of training, over all sub-environments
    evaluations: int = 50  # during training, equally spaced in these steps
    evaluation_episodes: int = 10  # per evaluation
    seeds: tuple[int, ...] = evaluation.SEEDS  # of the episodes of the final score

    def settings(self) -> dict[str, Any]:
        """Settings of a run that follows them."""
        counts = ("steps", "evaluations", "evaluation_episodes")
        others = {"minutes": None, "cpu_minutes": None, "data": "", "start_from": ""}
        arguments: dict[str, Any] = {"env": {}, "evaluation_env": {}}
        return {name: getattr(self, name) for name in counts} | others | arguments


TABLE = Protocol()


def entry_of(run: Run, protocol: Protocol = TABLE) -> Entry:
    """The table entry of a run folder."""
    try:
        return _entry(run, run.settings(), protocol)
    except RunError as error:
        raise RunError(f"{run.path} is not added: {error}") from None


def _entry(run: Run, settings: Mapping[str, Any], protocol: Protocol) -> Entry:
    _check_settings(settings, protocol)
    method = str(settings.get("name") or settings["algorithm"])
    _require(
        bool(re.fullmatch(r"\w[\w.-]*", method)),
        f"name: {method!r} is no name of a file; use letters, digits and -",
    )
    fingerprint = _fingerprint(run, settings)
    lines = _metrics(run, settings, method)
    score = _score(run, settings, protocol, lines)
    of_method = {
        name: value
        for name, value in settings.items()
        if name not in (*OF_A_RUN, *OF_A_MACHINE, *protocol.settings())
    }
    of_method |= protocol.settings()
    rows = _rows(run, settings, method, lines, score, score_table.config_hash(of_method))
    learner = fingerprint["learner"]
    about = {
        "id": settings["id"],
        "seed": settings["seed"],
        "score": score["mean"],
        "std": score["std"],
        **({"success": score["success"]} if "success" in score else {}),
        "env_step": rows[-1].env_step,
        "updates": rows[-1].updates,
        "cpu_s": rows[-1].cpu_s,
        "commit": learner["source"],
        "command": learner.get("command", ""),
        "config": rows[-1].config,
        "policy_sha256": score["policy_sha256"],
        "fingerprint": {name: value for name, value in fingerprint.items() if name != "learner"},
    }
    return Entry(method, of_method, rows, about, run.policy())


def _require(fulfilled: bool, otherwise: str) -> None:
    if not fulfilled:
        raise RunError(otherwise)


def _check_settings(settings: Mapping[str, Any], protocol: Protocol) -> None:
    id, code = settings["id"], code_of(settings)
    _require(id in registry.ids(), f"id: {id} is none of the package's")
    outside = "it uses code outside the package, which no other can rerun"
    _require(not code, f"{outside}: {', '.join(code)}")
    differing = [
        f"{name} is {settings.get(name)!r}, the protocol's is {value!r}"
        for name, value in protocol.settings().items()
        if name in settings and settings[name] != value
    ]
    _require(not differing, "; ".join(differing))


def _fingerprint(run: Run, settings: Mapping[str, Any]) -> dict[str, Any]:
    _require(run.fingerprint_file.exists(), "it has not been trained")
    content, file = run.fingerprint(), run.fingerprint_file.name
    learner = content.get("learner", {})
    _require("source" in learner, f"{file} names no commit of the package")
    commit, id = str(learner["source"]), content.get("id")
    _require(not commit.endswith("+"), f"the package had changes beside its commit {commit[:-1]}")
    known = bool(re.fullmatch(r"[0-9a-f]{40}", commit))
    _require(known, "the package was no checkout: there is no commit that it could name")
    of = f"{file} is of {id}, {run.config_file.name} of {settings['id']}"
    _require(id == settings["id"], of)
    return content


def _metrics(run: Run, settings: Mapping[str, Any], method: str) -> list[metrics.Metric]:
    """The lines of the run itself, without those of an ensemble's agents."""
    lines, file = run.metrics(), run.metrics_file
    header = next(csv.reader(bounded.text(file, metrics.MOST_BYTES).splitlines()[:1]))
    missing = [name for name in metrics.COLUMNS if name not in header]
    _require(not missing, f"{file.name} has no column {', '.join(missing)}")
    for line in lines:
        for name, value in (("env_name", settings["id"]), ("seed", settings["seed"])):
            there = getattr(line, name)
            _require(there == value, f"{file.name} has {name} {there}, the settings {value}")
    own = [line for line in lines if line.exp_name == method]
    names = ", ".join(sorted({line.exp_name for line in lines})) or "nothing"
    _require(bool(own), f"{file.name} has lines of {names}, not of {method}")
    return own


def _score(
    run: Run, settings: Mapping[str, Any], protocol: Protocol, lines: list[metrics.Metric]
) -> dict[str, Any]:
    evaluated = [line for line in lines if line.metric == metrics.RETURN]
    count, last = len(evaluated), max((line.env_step for line in evaluated), default=0)
    after = f"its last evaluation is after {last} of {protocol.steps} steps"
    _require(last >= protocol.steps, f"it has not ended: {after}")
    wanted = protocol.evaluations
    _require(count == wanted, f"it has {count} evaluations, the protocol {wanted}")
    advice = f"mjgym evaluate {run.path}"
    score, file = run.score(), run.evaluation_file.name
    _require(bool(score), f"it has no score: {advice}")
    for name in ("id", "seeds", "returns", "mean", "std", "policy_sha256"):
        _require(name in score, f"{file} has no {name}: {advice}")
    id, returns = score["id"], score["returns"]
    _require(id == settings["id"], f"{file} is of {id}, the run of {settings['id']}")
    same = score["seeds"] == list(protocol.seeds) and len(returns) == len(protocol.seeds)
    _require(same, f"{file} has other episodes than those of the seeds {_span(protocol.seeds)}")
    mean = sum(returns) / len(returns)
    same = abs(mean - score["mean"]) <= 1e-6 * max(1.0, abs(mean))
    _require(same, f"{file} says a mean of {score['mean']}, its returns {mean}")
    same = score["policy_sha256"] == policy_hash(run)
    _require(same, f"{run.policy_file.name} is not the policy of {file}: {advice}")
    return score


def policy_hash(run: Run) -> str:
    return hashlib.sha256(run.policy_file.read_bytes()).hexdigest()


def _span(seeds: tuple[int, ...]) -> str:
    return f"{seeds[0]}-{seeds[-1]}"


def _rows(
    run: Run,
    settings: Mapping[str, Any],
    method: str,
    lines: list[metrics.Metric],
    score: Mapping[str, Any],
    config: str,
) -> list[Row]:
    repeat = int(settings.get("action_repeat", 1))
    machine = machine_of(run.path)
    spent = {line.env_step: line.value for line in lines if line.metric == metrics.CPU_SECONDS}
    trained_with = evaluation.TRAINING_SEEDS[: settings["evaluation_episodes"]]

    def row(line: metrics.Metric, metric: str, value: float, seeds: tuple[int, ...]) -> Row:
        step = line.env_step
        lacking = f"the evaluation after {step} steps has no {metrics.CPU_SECONDS}"
        _require(step in spent, f"{lacking}: an older version of the package has written it")
        return Row(
            method,
            line.env_name,
            line.seed,
            metric,
            step,
            float(f"{value:.6g}"),
            line.updates,
            round(line.wall_s, 1),
            machine,
            round(spent[step], 1),
            step // repeat,
            repeat,
            config,
            _span(seeds),
        )

    of_evaluations = (metrics.RETURN, metrics.SUCCESS)
    evaluated = [line for line in lines if line.metric in of_evaluations]
    rows = [row(line, line.metric, line.value, trained_with) for line in evaluated]
    last = max(evaluated, key=lambda line: line.env_step)
    seeds = tuple(score["seeds"])
    if "success" in score:
        rows.append(row(last, metrics.FINAL_SUCCESS, score["success"], seeds))
    return [*rows, row(last, metrics.FINAL, score["mean"], seeds)]
