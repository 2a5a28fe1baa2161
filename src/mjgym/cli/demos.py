"""`mjgym demos`: record demonstrations of a task's scripted policy, or of a planner."""

import contextlib
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mjgym.cli import fields, options
from mjgym.cli.convert import kept
from mjgym.cli.ids import ID
from mjgym.cli.output import failing, progress, refusing, say
from mjgym.cli.policies import SCRIPTED

if TYPE_CHECKING:
    from mjgym.datasets import Writer

BATCH, BATCH_WITH_PICTURES = 50, 16  # sub-environments
PRINT_SECONDS = 60.0  # between lines of progress without a terminal


def demos(
    id: Annotated[str, ID],
    out: Annotated[str, typer.Option(metavar="NAME", help="The dataset to write.")],
    expert: Annotated[
        str,
        typer.Option(metavar="EXPERT", help=f'"{SCRIPTED}", or a planner such as "mppi".'),
    ] = SCRIPTED,
    count: Annotated[int, typer.Option(min=1, help="Episodes to keep.")] = 200,
    keep: Annotated[
        Literal["successes", "all"], typer.Option(help="Which episodes to keep.")
    ] = "successes",
    seed: options.Seed = 0,
    after: Annotated[
        int, typer.Option(min=0, help="Control steps after success, with which an episode ends.")
    ] = 5,
    noise: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Standard deviation of what is added to the script's actions, in half ranges.",
        ),
    ] = 0.0,
    actions: Annotated[
        Literal["executed", "expert"],
        typer.Option(
            help="The actions to record: as executed, or the script's own, before the noise (DART)."
        ),
    ] = "executed",
    observation: Annotated[
        Literal["flat", "dict"],
        typer.Option(help="One vector, or entries by name."),
    ] = "flat",
    pictures: Annotated[
        list[str] | None,
        typer.Option(metavar="CAMERA", help="Observe this camera's pictures too; repeatable."),
    ] = None,
    size: Annotated[int, typer.Option(min=1, help="Pixels of a picture's sides.")] = 84,
    quality: Annotated[
        Literal["reference", "fast"], typer.Option(help='"fast" has no shadows.')
    ] = "fast",
    envs: Annotated[
        int | None, typer.Option("--num-envs", min=1, help="Sub-environments at once.")
    ] = None,
    set: options.Settings = None,
) -> None:
    """Record demonstrations of a task's scripted policy, or of a planner.

    An episode ends a few steps after success. Its seed makes it again, and `mjgym replay NAME
    --check` repeats each step bit for bit, unless there is noise that the recorded actions lack.

    The name chooses the format: "lift" or "lift-v0" is a Minari dataset, "lift.hdf5" a file of
    robomimic's.

    Ctrl-C ends the command; the episodes so far are kept.
    """
    from mjgym import datasets

    if envs is None:
        envs = min(count, BATCH_WITH_PICTURES if pictures else BATCH)
        if expert != SCRIPTED:
            envs = 1  # planned for one after the other
    arguments: dict[str, Any] = {"observation": observation}
    if pictures:
        arguments = {
            "observation": f"{observation}+pixels",
            "pixels": {
                "camera": tuple(pictures) if len(pictures) > 1 else pictures[0],
                "width": size,
                "height": size,
            },
            "render_quality": quality,
        }
    with (
        contextlib.closing(fields.make(id, set, **arguments)) as env,
        contextlib.closing(
            fields.make(id, set, envs, **arguments, autoreset_mode="Disabled")
        ) as batch,
    ):
        scripted = expert == SCRIPTED
        policy = _script(env.unwrapped.task, id) if scripted else _planner(expert, batch)
        author = "its scripted policy" if scripted else f"planning ({expert})"
        perturbed = f", with noise of {noise:g} in its actions" * bool(noise)
        recorded = "; recorded are those before the noise" * bool(noise and actions == "expert")
        description = f"{id}, by {author}{perturbed}{recorded}"
        with (
            failing(datasets.DemonstrationError),
            contextlib.closing(
                datasets.create(out, env, algorithm=expert, description=description)
            ) as writer,
            contextlib.closing(
                datasets.attempts(
                    batch, policy, seed=seed, after=after, noise=noise, actions=actions
                )
            ) as attempts,
        ):
            _collect(attempts, writer, count, keep == "successes")


def _script(task: Any, id: str) -> Any:
    with refusing(ValueError, prefix=f"{id}: "):
        policy = task.scripted_policy()
    if policy is None:
        raise typer.BadParameter(
            f"There is no scripted policy for {id}, only for {', '.join(_with_script())}."
        )
    return policy


def _planner(name: str, batch: Any) -> Any:
    from mjgym.planning import Planner

    with refusing(ValueError, hint="'--expert'"):
        return Planner(batch, name)


def _with_script() -> list[str]:
    from mjgym import registry

    ids = []
    for id in registry.ids():
        registration = registry.registration(id)
        with contextlib.suppress(ValueError):  # the task lacks an entry of its script
            if registration.task_class(**registration.fields).scripted_policy() is not None:
                ids.append(id)
    return ids


def _collect(attempts: Any, writer: "Writer", count: int, successes: bool) -> None:
    tried = won = 0
    printed = time.monotonic()
    with progress() as bar, contextlib.suppress(KeyboardInterrupt):
        task = bar.add_task("", total=count)
        for attempt in attempts:
            tried += 1
            won += attempt.success
            if attempt.success or not successes:
                writer.add(attempt.episode)
            doing = f"{won} of {tried} succeeded"
            bar.update(task, completed=writer.kept, description=doing)
            if writer.kept == count:
                break
            if bar.disable and time.monotonic() - printed > PRINT_SECONDS:
                printed = time.monotonic()
                say(f"{writer.kept} of {count} kept, {doing}", stderr=True)
    say(f"{won} of {tried} episodes succeeded")
    say(kept(writer.kept, writer.name))
