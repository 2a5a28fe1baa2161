"""`mjgym demos`: record demonstrations of a task's scripted policy, or of a planner."""

import contextlib
import copy
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from mjgym.cli import shared_options, task_arguments
from mjgym.cli.convert import kept
from mjgym.cli.ids import ID, run_folder
from mjgym.cli.output import progress, refusing, say
from mjgym.cli.policy_option import (
    RANDOM,
    SCRIPTED,
    TRAINED,
    arguments_for,
    load_policy,
    network,
    planners,
    script_of,
)
from mjgym.policies.network import begin, tell

if TYPE_CHECKING:
    from mjgym.datasets import Writer

BATCH, BATCH_WITH_PICTURES = 50, 16  # sub-environments
PRINT_SECONDS = 60.0  # between lines of progress without a terminal


def demos(
    id: Annotated[str, ID],
    out: Annotated[str, typer.Option(metavar="NAME", help="The dataset to write.")],
    expert: Annotated[
        str,
        typer.Option(
            metavar="EXPERT",
            help=f'"{SCRIPTED}", a planner such as "mppi", "{TRAINED}" (the bundled policy), the'
            f' folder of a run, a policy file, or "{RANDOM}".',
        ),
    ] = SCRIPTED,
    count: Annotated[int, typer.Option(min=1, help="Episodes to keep.")] = 200,
    keep: Annotated[
        Literal["successes", "all"] | None,
        typer.Option(help="Which episodes to keep. Default: all of networks and random actions."),
    ] = None,
    seed: shared_options.Seed = 0,
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
    set: shared_options.Settings = None,
) -> None:
    """Record demonstrations of a task's scripted policy, of a planner, or of a trained policy.

    An episode ends a few steps after success. Its seed makes it again, and `mjgym replay NAME
    --check` repeats each step bit for bit, unless there is noise that the recorded actions lack.

    The name chooses the format: "lift.hdf5" is a file of robomimic's, "lift-v0" a Minari dataset,
    which is kept in Minari's folder (MINARI_DATASETS_PATH).

    Ctrl-C ends the command; the episodes so far are kept.
    """
    from mjgym import datasets

    with refusing(datasets.DemonstrationError, hint="'--out'"):
        datasets.require_named(out)
    if envs is None:
        envs = min(count, BATCH_WITH_PICTURES if pictures else BATCH)
        if expert in planners():
            envs = 1  # planned for one after the other
    scored = {} if run_folder(expert) else arguments_for(expert, id)
    arguments: dict[str, Any] = {**scored, "observation": observation}
    if pictures:
        arguments = {
            **scored,
            "observation": f"{observation}+pixels",
            "pixels": {
                "camera": tuple(pictures) if len(pictures) > 1 else pictures[0],
                "width": size,
                "height": size,
            },
            "render_quality": quality,
        }
    with (
        contextlib.closing(task_arguments.make(id, set, **arguments)) as env,
        contextlib.closing(
            task_arguments.make(id, set, envs, **arguments, autoreset_mode="Disabled")
        ) as batch,
    ):
        policy, author = _expert(expert, env, batch, set, seed, scored)
        everything = keep == "all" or (keep is None and isinstance(policy, _EachItsOwn))
        perturbed = f", with noise of {noise:g} in its actions" * bool(noise)
        recorded = "; recorded are those before the noise" * bool(noise and actions == "expert")
        description = f"{id}, by {author}{perturbed}{recorded}"
        with (
            contextlib.closing(
                datasets.create(out, env, algorithm=Path(expert).name, description=description)
            ) as writer,
            contextlib.closing(
                datasets.attempts(
                    batch, policy, seed=seed, after=after, noise=noise, actions=actions
                )
            ) as attempts,
        ):
            _collect(attempts, writer, count, not everything)


class _EachItsOwn:
    """Policies of flat observations, one for each sub-environment, that get entries by name."""

    def __init__(self, policies: Sequence[Any]) -> None:
        self._policies = policies
        self.restart(np.ones(len(policies), dtype=bool))

    def restart(self, where: np.ndarray) -> None:
        for i in np.flatnonzero(where).tolist():
            begin(self._policies[i])

    def __call__(self, entries: Mapping[str, np.ndarray]) -> np.ndarray:
        rows = np.concatenate([part.reshape(len(part), -1) for part in entries.values()], 1)
        return np.stack([act(row) for act, row in zip(self._policies, rows, strict=True)])

    def executed(self, actions: np.ndarray) -> None:
        for policy, action in zip(self._policies, actions, strict=True):
            tell(policy, action)


class _Random:
    """Uniform actions, drawn from the seed of each episode."""

    def __init__(self, env: Any, seeds: Iterator[int]) -> None:
        self._env, self._seeds = env, seeds

    def begin(self) -> None:
        self._act = load_policy(RANDOM, self._env, seed=next(self._seeds))

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        return self._act(observation)


def _expert(
    name: str, env: Any, batch: Any, settings: list[str] | None, seed: int, scored: dict[str, Any]
) -> tuple[Any, str]:
    id, count = env.spec.id, batch.num_envs
    if name == SCRIPTED:
        return script_of(env), "its scripted policy"
    if name == RANDOM:
        seeds = itertools.count(seed)
        return _EachItsOwn([_Random(env, seeds) for _ in range(count)]), "random actions"
    flat = task_arguments.make(id, settings, **scored)  # as networks observe
    with contextlib.closing(flat):
        found = network(name, flat)
    if found is None:
        from mjgym.planning import Planner

        with refusing(ValueError, hint="'--expert'"):
            return Planner(batch, name), f"planning ({name})"
    return _EachItsOwn([copy.deepcopy(found) for _ in range(count)]), f"policy {Path(name).name}"


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
    say(kept(writer))
