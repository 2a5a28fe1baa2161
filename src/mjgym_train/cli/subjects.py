"""Find the policy that a command works on: of a run, a file, or the bundled one of an id."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli.ids import find_id, import_named, known_id, nearest_ids, other_id
from mjgym.cli.output import refusing, require, say
from mjgym_train.cli.train import require_trust

if TYPE_CHECKING:
    from mjgym.policies.network import AnyPolicy
    from mjgym.policies.trained import About
    from mjgym_train.run import Run

HINT = "'RUN'"
SUBJECT = typer.Argument(
    metavar="RUN", help="The folder of a run, a policy file (.npz), or an id: its bundled policy."
)
Id = Annotated[str | None, typer.Option(help="Id of the task, for a policy file.")]
Pixels = Annotated[
    bool, typer.Option("--pixels", help="Of an id, the bundled policy that acts by images.")
]


@dataclass(frozen=True)
class Subject:
    """A policy and its task."""

    name: str  # as the user wrote it
    policy: "AnyPolicy"
    id: str
    env: dict[str, Any]  # arguments of the task
    env_step: int | None  # environment steps of training, or None if unknown
    run: "Run | None" = None
    about: "About | None" = None  # of a bundled policy


def subject_of(
    text: str, id: str | None, module: str | None, *, trust: bool, pixels: bool = False
) -> Subject:
    """The policy that the text names."""
    from mjgym.policies.network import PolicyError
    from mjgym.policies.network import load as load_file

    if module is not None:
        import_named(module)
    if os.path.isdir(text):  # False for what can be no path
        if id is not None:
            raise typer.BadParameter("--id is for a policy file: a run's folder says its task")
        return _of_run(Path(text), module, trust=trust)
    if os.path.isfile(text):
        if id is None:
            raise typer.BadParameter(f"{text} is a policy file: name its task with --id")
        with refusing(OSError, PolicyError, hint=HINT):
            return Subject(text, load_file(text), other_id(id) or known_id(id), {}, None)
    found = find_id(text) if id is None else None
    if found is None:
        raise typer.BadParameter(
            f"{text} holds no run: it is neither a folder nor a policy file, and no id either",
            param_hint=HINT,
        )
    return _bundled(found, pixels)


def _bundled(id: str, pixels: bool) -> Subject:
    from mjgym.policies import trained

    with refusing(trained.TrainedError, hint=HINT):
        bundled = trained.bundled(id, pixels=pixels)
    name = f"the bundled policy of {id}"
    about = bundled.about
    return Subject(name, bundled.policy, id, about.arguments, about.env_step, about=about)


def _of_run(path: Path, module: str | None, *, trust: bool) -> Subject:
    require("yaml")
    from mjgym.policies.run_errors import RunError
    from mjgym_train.run import Run, code_of

    run = Run(path)
    with refusing(RunError, hint=HINT):
        settings, policy = run.settings(), run.policy()
    env = {**settings["env"], **settings.get("evaluation_env", {})}
    used = {"module": settings["module"], "id": settings["id"], "env": env}
    if module is not None:
        used["module"] = ""
    require_trust(run.config_file, code_of(used), trust)
    if used["module"]:
        import_named(used["module"])
    return Subject(str(path), policy, _id_of(run, used["id"], trust), env, _last_step(run), run)


def _id_of(run: "Run", id: str, trust: bool) -> str:
    """The id of a run; looked up in the registry only, unless its folder is trusted."""
    found = find_id(id) or other_id(id)
    if found is None and trust:
        return known_id(id)
    if found is None:
        raise typer.BadParameter(
            f"{run.path} is a run of {id!r}, which is not registered.{nearest_ids(id)} If it is"
            " your own, --trust looks for it in the files of the working folder",
            param_hint=HINT,
        )
    return found


def _last_step(run: "Run") -> int | None:
    from mjgym.policies.run_errors import RunError

    if not run.metrics_file.exists():
        return 0
    try:
        lines = run.metrics()
    except RunError as error:
        say(f"steps are not known: {error}", stderr=True)
        return None
    return lines[-1].env_step if lines else 0
