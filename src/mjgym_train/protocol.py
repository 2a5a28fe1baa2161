"""Rules of the table of scores, and the check of run folders against them."""

import csv
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mjgym import registry
from mjgym.policies.run_errors import RunError
from mjgym_train import evaluation, metrics, score_table
from mjgym_train.comparison import machine_of
from mjgym_train.run import Run, code_of
from mjgym_train.score_table import Entry, Row

OF_A_RUN = ("id", "module", "name", "seed")
OF_A_MACHINE = (
    *("threads", "torch_threads", "log_every", "checkpoint_minutes", "tensorboard", "wandb"),
    "keep_buffer",
)
"""Settings that the runs of one method may differ in."""


@dataclass(frozen=True)
class Protocol:
    """Rules for all runs of a table."""

    steps: int = 500_000  # control steps of training, over all sub-environments
    evaluations: int = 50  # during training, equally spaced in these steps
    evaluation_episodes: int = 10  # per evaluation
    seeds: tuple[int, ...] = evaluation.SEEDS  # of the episodes of the final score
    others: Mapping[str, Any] = field(
        default_factory=lambda: {
            "minutes": None,
            "cpu_minutes": None,
            "env": {},
            "evaluation_env": {},
            "data": "",
        }
    )

    def settings(self) -> dict[str, Any]:
        """Settings that every run must have."""
        names = ("steps", "evaluations", "evaluation_episodes")
        return {**{name: getattr(self, name) for name in names}, **self.others}


TABLE = Protocol()


def entry_of(run: Run, protocol: Protocol = TABLE) -> Entry:
    """The table entry of a run folder.

    Raises:
        RunError: it breaks a rule, has not ended, or is damaged; the message says what differs.
    """
    settings = run.settings()
    _check_settings(run, settings, protocol)
    method = str(settings.get("name") or settings["algorithm"])
    if not re.fullmatch(r"\w[\w.-]*", method):
        raise _refused(run, f"name: {method!r} is no name of a file; use letters, digits and -")
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


def _refused(run: Run, why: str) -> RunError:
    return RunError(f"{run.path} is not added: {why}")


def _check_settings(run: Run, settings: Mapping[str, Any], protocol: Protocol) -> None:
    if settings["id"] not in registry.ids():
        raise _refused(run, f"id: {settings['id']} is none of the package's")
    if code := code_of(settings):
        raise _refused(
            run, f"it uses code outside the package, which no other can rerun: {', '.join(code)}"
        )
    differing = [
        f"{name} is {settings.get(name)!r}, the protocol's is {value!r}"
        for name, value in protocol.settings().items()
        if name in settings and settings[name] != value
    ]
    if differing:
        raise _refused(run, "; ".join(differing))


def _fingerprint(run: Run, settings: Mapping[str, Any]) -> dict[str, Any]:
    found = _json(run, "fingerprint_file", "it has not been trained")
    learner = found.get("learner")
    if not isinstance(learner, dict) or "source" not in learner:
        raise _refused(run, f"{run.fingerprint_file.name} names no commit of the package")
    commit = str(learner["source"])
    if commit.endswith("+"):
        raise _refused(run, f"the package had changes beside its commit {commit[:-1]}")
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise _refused(run, "the package was no checkout: there is no commit that it could name")
    if found.get("id") != settings["id"]:
        raise _refused(
            run,
            f"{run.fingerprint_file.name} is of {found.get('id')}, {run.config_file.name} of"
            f" {settings['id']}",
        )
    return found


def _json(run: Run, name: str, missing: str) -> dict[str, Any]:
    file = getattr(run, name)
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _refused(run, missing) from None
    except (OSError, ValueError) as error:
        raise _refused(run, f"{file.name} is damaged: {error}") from None
    if not isinstance(found, dict):
        raise _refused(run, f"{file.name} is damaged: it is no mapping")
    return found


def _metrics(run: Run, settings: Mapping[str, Any], method: str) -> list[metrics.Metric]:
    """The lines of the run itself, without those of an ensemble's agents."""
    found = run.metrics()
    with run.metrics_file.open(newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    if missing := [name for name in metrics.COLUMNS if name not in header]:
        raise _refused(run, f"{run.metrics_file.name} has no column {', '.join(missing)}")
    for line in found:
        for name, value in (("env_name", settings["id"]), ("seed", settings["seed"])):
            if getattr(line, name) != value:
                raise _refused(
                    run,
                    f"{run.metrics_file.name} has {name} {getattr(line, name)}, the settings"
                    f" {value}",
                )
    own = [line for line in found if line.exp_name == method]
    if not own:
        names = ", ".join(sorted({line.exp_name for line in found})) or "nothing"
        raise _refused(run, f"{run.metrics_file.name} has lines of {names}, not of {method}")
    return own


def _score(
    run: Run, settings: Mapping[str, Any], protocol: Protocol, lines: list[metrics.Metric]
) -> dict[str, Any]:
    evaluated = [line for line in lines if line.metric == metrics.RETURN]
    last = max((line.env_step for line in evaluated), default=0)
    if last < protocol.steps:
        raise _refused(
            run, f"it has not ended: its last evaluation is after {last} of {protocol.steps} steps"
        )
    if len(evaluated) != protocol.evaluations:
        raise _refused(
            run, f"it has {len(evaluated)} evaluations, the protocol {protocol.evaluations}"
        )
    score = _json(run, "evaluation_file", f"it has no score: mjgym evaluate {run.path}")
    file = run.evaluation_file.name
    for name in ("id", "seeds", "returns", "mean", "std", "policy_sha256"):
        if name not in score:
            raise _refused(run, f"{file} has no {name}: mjgym evaluate {run.path}")
    if score["id"] != settings["id"]:
        raise _refused(run, f"{file} is of {score['id']}, the run of {settings['id']}")
    if score["seeds"] != list(protocol.seeds) or len(score["returns"]) != len(protocol.seeds):
        raise _refused(
            run, f"{file} has other episodes than those of the seeds {_span(protocol.seeds)}"
        )
    mean = sum(score["returns"]) / len(score["returns"])
    if abs(mean - score["mean"]) > 1e-6 * max(1.0, abs(mean)):
        raise _refused(run, f"{file} says a mean of {score['mean']}, its returns {mean}")
    if score["policy_sha256"] != policy_hash(run):
        raise _refused(
            run, f"{run.policy_file.name} is not the policy of {file}: mjgym evaluate {run.path}"
        )
    return score


def policy_hash(run: Run) -> str:
    """SHA-256 of a run's last policy file."""
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
        if line.env_step not in spent:
            raise _refused(
                run,
                f"the evaluation after {line.env_step} steps has no {metrics.CPU_SECONDS}: an"
                " older version of the package has written it",
            )
        return Row(
            method,
            line.env_name,
            line.seed,
            metric,
            line.env_step,
            float(f"{value:.6g}"),
            line.updates,
            round(line.wall_s, 1),
            machine,
            round(spent[line.env_step], 1),
            line.env_step // repeat,
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
