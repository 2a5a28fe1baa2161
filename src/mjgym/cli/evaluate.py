"""`mjgym evaluate`: the score of a run's policy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli.ids import ModuleError, load
from mjgym.cli.output import console, facts, print_json, reserved

if TYPE_CHECKING:
    from mjgym.train.run import Run


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    num_envs: Annotated[
        int, typer.Option(min=1, help="Parallel episodes; does not change the score.")
    ] = 100,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads; default: all allowed cores. Does not change the score."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score a run's last policy: 100 episodes with seeds that are always the same, without noise.

    The returns are kept in the run's folder. None of these seeds occurs in training. Beside them
    stands what random and zero actions earn, where the task is as it was registered.
    """
    from mjgym.cli.train import require

    require("yaml")
    from mjgym.train import baselines, evaluation
    from mjgym.train.errors import RunError
    from mjgym.train.run import Run

    folder = Run(run)
    try:
        settings, policy = folder.settings(), folder.policy()
    except RunError as error:
        raise typer.BadParameter(str(error), param_hint="'RUN'") from None
    register(settings)
    with reserved(json):
        envs = evaluation.make(settings["id"], num_envs, threads, **settings["env"])
        result = evaluation.evaluate(policy, envs)
        envs.close()
    about = {"id": settings["id"], "env_step": _last_step(folder), **result.about()}
    nothing = {} if settings["env"] else baselines.of(settings["id"])
    about["baselines"] = {name: baseline.mean for name, baseline in nothing.items()}
    folder.write_json(folder.evaluation_file, about)
    if json:
        print_json(about)
        return
    shown = {
        "run": str(run),
        "id": settings["id"],
        "return": f"{about['mean']:.1f}, standard deviation {about['std']:.1f}",
        "range": f"lowest {about['lowest']:.1f}, highest {about['highest']:.1f}",
        "episodes": str(about["episodes"]),
    }
    if "success" in about:
        shown["success"] = f"{about['success']:.0%}"
    for name, baseline in about["baselines"].items():
        shown[f"{name} actions"] = f"{baseline:.1f}"
    console().print(facts(shown))


def register(settings: dict[str, Any]) -> None:
    """Import what registers the task of a run's settings.

    Raises:
        typer.BadParameter: it cannot be imported, or registers no such task any more.
    """
    from mjgym.cli.ids import known_id

    if settings["module"]:
        try:
            load(settings["module"])
        except ModuleError as error:
            raise typer.BadParameter(str(error)) from None
    known_id(settings["id"])


def _last_step(folder: "Run") -> int:
    """Environment steps of the last line of metrics; the policy is at most a line away."""
    lines = folder.metrics() if folder.metrics_file.exists() else []
    return lines[-1].env_step if lines else 0
