"""`mjgym ensemble`: several runs as one policy."""

import contextlib
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mjgym.cli.output import say
from mjgym_train.cli.subjects import Subject, subject_of
from mjgym_train.cli.train import Trust


def ensemble(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    out: Annotated[Path, typer.Option(help="The policy file to write.", dir_okay=False)],
    by: Annotated[
        Literal["critics", "mixtures", "mean", "softmax"],
        typer.Option(
            help="Act by the proposal that all critics value most, by that of proposals and means"
            " of two of them, by the mean, or by the mean weighted by softmax(value / temperature)."
        ),
    ] = "critics",
    temperature: Annotated[
        float | None,
        typer.Option(min=1e-6, help="With --by softmax: in units of value. Default: 1."),
    ] = None,
    choose: Annotated[
        int | None,
        typer.Option(
            metavar="EPISODES",
            min=1,
            max=100,  # as many seeds are reserved
            help="Take of each run the best policy of those that keep_policies=true kept, by this"
            " many episodes with the seeds of evaluations during training. Default: the last.",
        ),
    ] = None,
    trust: Trust = False,
) -> None:
    """Join the policies of several runs of one task: algorithms and networks may differ.

    "critics" takes the proposal that the critics of all runs value most, which needs algorithms
    that have some of actions (td3, ddpg, d4pg, sac); values of different discounts differ in scale.
    `mjgym evaluate FILE --id ID` scores the file, `mjgym view ID --policy FILE` plays it.
    """
    from mjgym.policies.network import EnsemblePolicy, Policy, PolicyError, load_valuation
    from mjgym.util.atomic import require_new

    if temperature is not None and by != "softmax":
        raise typer.BadParameter("--temperature is for --by softmax")
    if len(runs) < 2:
        raise typer.BadParameter("an ensemble has two runs or more")
    members = [subject_of(run, None, None, trust=trust) for run in runs]
    first = members[0]
    for member in members[1:]:
        for one, other in zip(_facts(first), _facts(member), strict=True):
            if one != other:
                raise typer.BadParameter(f"{first.name} is of {one}, {member.name} of {other}")
    if any(type(member.policy) is not Policy for member in members):
        raise typer.BadParameter("a run of an ensemble is one already: join runs of one agent")
    require_new(out)
    if choose is None:
        chosen = [(each.policy, each.run.critics_file if each.run else None) for each in members]
    else:
        chosen = [*_best(members, choose)]
    policies: Any = [policy for policy, _ in chosen]
    valuations = []
    if by != "mean":
        for member, (_, critics) in zip(members, chosen, strict=True):
            if critics is None or not critics.exists():
                raise PolicyError(f"{member.name} has no critics of actions: join with --by mean")
            valuations.append(load_valuation(critics))
    weighed = (temperature or 1.0) if by == "softmax" else None
    EnsemblePolicy(policies, valuations, weighed, by == "mixtures").save(out)
    say(f"written: {out}")


def _best(members: list[Subject], episodes: int) -> list[tuple[Any, Path]]:
    """The best kept policy of each run, and the file of its critics."""
    from mjgym.policies.network import load
    from mjgym_train import evaluation

    kept = [{} if member.run is None else member.run.policies() for member in members]
    for member, policies in zip(members, kept, strict=True):
        if not policies:
            raise typer.BadParameter(
                f"{member.name} has the last policy alone; keep_policies=true in training keeps"
                " that of each evaluation",
                param_hint="'--choose'",
            )
    envs = evaluation.make(members[0].id, episodes, None, **members[0].env)
    seeds, chosen = evaluation.TRAINING_SEEDS[:episodes], []
    with contextlib.closing(envs):
        for member, policies in zip(members, kept, strict=True):
            returns = {
                step: float(evaluation.evaluate(load(file), envs, seeds).returns.mean())
                for step, (file, _) in policies.items()
            }
            best = max(returns, key=lambda step: returns[step])
            found = f"of {len(returns)} policies that of step {best:,}, {returns[best]:.1f}"
            say(f"{member.name}: {found}")
            file, critics = policies[best]
            chosen.append((load(file), critics))
    return chosen


def _facts(member: Subject) -> tuple[Any, ...]:
    policy = member.policy
    return member.id, member.env, policy.mean.shape, policy.repeat
