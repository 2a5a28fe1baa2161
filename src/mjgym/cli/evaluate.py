"""`mjgym evaluate`: the score of a policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli.ids import find_id, import_named, known_id
from mjgym.cli.output import console, facts, print_json, require, reserved
from mjgym.cli.seeds import seeds_of
from mjgym.cli.train import TRUST, require_trust

if TYPE_CHECKING:
    from mjgym.train.results.policy import AnyPolicy
    from mjgym.train.results.run import Run


@dataclass(frozen=True)
class Subject:
    """A policy and its task.

    Args:
        name: as it was given.
        policy: from observations to actions.
        id: of the task.
        env: its arguments.
        env_step: steps of training; None where it is not known.
        run: the folder of its run, if it has one.
    """

    name: str
    policy: "AnyPolicy"
    id: str
    env: dict[str, Any]
    env_step: int | None
    run: "Run | None" = None


def evaluate(
    policy: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="The folder of a run, a policy file (.npz), or an id: its bundled policy.",
        ),
    ],
    id: Annotated[str | None, typer.Option(help="Id of the task, for a policy file.")] = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, help="Number of episodes, with the first fixed seeds. Default: 100."),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help='Seeds of the episodes, such as "0-9" or "1,5,7".')
    ] = None,
    num_envs: Annotated[
        int, typer.Option(min=1, help="Parallel episodes; does not change the score.")
    ] = 100,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads; default: all allowed cores. Does not change the score."),
    ] = None,
    module: Annotated[
        str | None, typer.Option(help="Registers the task, instead of the one in config.yaml.")
    ] = None,
    trust: Annotated[bool, typer.Option("--trust", help=TRUST)] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score a policy: 100 episodes with the same seeds every time, without noise.

    A run is scored by its last policy, and its folder keeps the returns. Training never uses these
    seeds. The scores of random and zero actions are shown beside it, unless the task's arguments
    were changed. With other seeds or fewer episodes, the score is printed but not kept.
    """
    from mjgym.train.results import baselines, evaluation

    if seeds is not None and episodes is not None:
        raise typer.BadParameter("give either --seeds or --episodes")
    chosen: Sequence[int] = evaluation.SEEDS
    if episodes is not None:
        if episodes > len(evaluation.SEEDS):
            raise typer.BadParameter(
                f"there are {len(evaluation.SEEDS)} fixed seeds; name others with --seeds",
                param_hint="'--episodes'",
            )
        chosen = evaluation.SEEDS[:episodes]
    if seeds is not None:
        chosen = seeds_of(seeds, "'--seeds'")
    subject = _subject(policy, id, module, trust=trust)
    with reserved(json):
        try:
            count = min(num_envs, len(chosen))
            envs = evaluation.make(subject.id, count, threads, **subject.env)
        except (TypeError, ValueError) as error:
            raise typer.BadParameter(f"{subject.name}: env: {error}") from None
        try:
            _require_spaces(subject, envs)
            result = evaluation.evaluate(subject.policy, envs, chosen)
        finally:
            envs.close()
    about = {"id": subject.id, "env_step": subject.env_step, **result.about()}
    nothing = {} if subject.env else baselines.of(subject.id)
    about["baselines"] = {name: baseline.mean for name, baseline in nothing.items()}
    if json:
        print_json(about)
    else:
        _show(subject, about)
    if subject.run is not None and tuple(chosen) == evaluation.SEEDS:
        try:
            subject.run.write_json(subject.run.evaluation_file, about)
        except OSError as error:
            file = subject.run.evaluation_file
            console(stderr=True).print(f"{file} is not written: {error.strerror}", soft_wrap=True)
            raise typer.Exit(1) from None


def _subject(text: str, id: str | None, module: str | None, *, trust: bool) -> Subject:
    """The policy that is meant.

    Raises:
        typer.BadParameter: there is none, or it cannot be read.
    """
    from mjgym.train.results.policy import PolicyError
    from mjgym.train.results.policy import load as load_file

    if module is not None:
        import_named(module)
    if Path(text).is_dir():
        if id is not None:
            raise typer.BadParameter("--id is for a policy file: a run's folder says its task")
        return _of_run(Path(text), module, trust=trust)
    if Path(text).is_file():
        if id is None:
            raise typer.BadParameter(f"{text} is a policy file: name its task with --id")
        try:
            return Subject(text, load_file(text), known_id(id), {}, None)
        except (OSError, PolicyError) as error:
            raise typer.BadParameter(str(error), param_hint="'RUN'") from None
    found = find_id(text) if id is None else None
    if found is None:
        raise typer.BadParameter(
            f"{text} holds no run: it is neither a folder nor a policy file, and no id either",
            param_hint="'RUN'",
        )
    return _bundled(found)


def _bundled(id: str) -> Subject:
    """The policy of an id that comes with the package."""
    from mjgym.train.results import trained

    try:
        bundled = trained.of(id)
    except trained.TrainedError as error:
        raise typer.BadParameter(str(error), param_hint="'RUN'") from None
    name = f"the bundled policy of {id}"
    return Subject(name, bundled.policy, id, {}, bundled.about.env_step)


def _of_run(path: Path, module: str | None, *, trust: bool) -> Subject:
    """The last policy of a run's folder."""
    require("yaml")
    from mjgym.train.results.run import Run, code_of
    from mjgym.train.results.run_errors import RunError

    run = Run(path)
    try:
        settings, policy = run.settings(), run.policy()
    except RunError as error:
        raise typer.BadParameter(str(error), param_hint="'RUN'") from None
    used = {"module": settings["module"], "id": settings["id"], "env": settings["env"]}
    if module is not None:
        used["module"] = ""
    require_trust(path, code_of(used), trust)
    if used["module"]:
        import_named(used["module"])
    return Subject(str(path), policy, known_id(settings["id"]), used["env"], _last_step(run), run)


def _last_step(run: "Run") -> int | None:
    """Environment steps of the last line of metrics; the policy is at most a line away.

    Damaged metrics are reported, and do not keep the policy from being scored.
    """
    from mjgym.train.results.run_errors import RunError

    if not run.metrics_file.exists():
        return 0
    try:
        lines = run.metrics()
    except RunError as error:
        console(stderr=True).print(f"steps are not known: {error}", soft_wrap=True)
        return None
    return lines[-1].env_step if lines else 0


def _require_spaces(subject: Subject, envs: Any) -> None:
    """See whether observations and actions are those that a policy was trained with."""
    from mjgym.cli.policies import spaces_complaint

    complaint = spaces_complaint(subject.name, subject.policy, envs)
    if complaint:
        raise typer.BadParameter(complaint, param_hint="'RUN'")


def _show(subject: Subject, about: dict[str, Any]) -> None:
    shown = {
        "run" if subject.run is not None else "policy": subject.name,
        "id": subject.id,
        "return": f"{about['mean']:.1f}, standard deviation {about['std']:.1f}",
        "range": f"lowest {about['lowest']:.1f}, highest {about['highest']:.1f}",
        "episodes": str(about["episodes"]),
    }
    if "success" in about:
        shown["success"] = f"{about['success']:.0%}"
    for name, baseline in about["baselines"].items():
        shown[f"{name} actions"] = f"{baseline:.1f}"
    console().print(facts(shown))
