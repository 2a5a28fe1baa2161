"""`mjgym ensemble`: several runs as one policy."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mjgym.cli.output import failing, say
from mjgym_train.cli.subjects import Subject, subject_of
from mjgym_train.cli.train import Trust


class By(StrEnum):
    """Choice of an ensemble's action."""

    CRITICS = "critics"
    MEAN = "mean"
    SOFTMAX = "softmax"


def ensemble(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    out: Annotated[Path, typer.Option(help="The policy file to write.", dir_okay=False)],
    by: Annotated[
        By,
        typer.Option(
            help="Act by the proposal that all critics value most, by the mean, or by the mean"
            " weighted by softmax(value / temperature)."
        ),
    ] = By.CRITICS,
    temperature: Annotated[
        float | None,
        typer.Option(min=1e-6, help="With --by softmax: in units of value. Default: 1."),
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

    if temperature is not None and by is not By.SOFTMAX:
        raise typer.BadParameter("--temperature is for --by softmax")
    if len(runs) < 2:
        raise typer.BadParameter("an ensemble has two runs or more")
    members = [subject_of(run, None, None, trust=trust) for run in runs]
    first = members[0]
    for member in members[1:]:
        for one, other in zip(_facts(first), _facts(member), strict=True):
            if one != other:
                raise typer.BadParameter(f"{first.name} is of {one}, {member.name} of {other}")
    policies = [member.policy for member in members if type(member.policy) is Policy]
    if len(policies) < len(members):
        raise typer.BadParameter("a run of an ensemble is one already: join runs of one agent")
    valuations = []
    with failing(OSError, PolicyError):
        require_new(out)
        if by is not By.MEAN:
            for member in members:
                if member.run is None or not member.run.critics_file.exists():
                    raise PolicyError(
                        f"{member.name} has no critics of actions: join with --by mean"
                    )
                valuations.append(load_valuation(member.run.critics_file))
        weighed = (temperature or 1.0) if by is By.SOFTMAX else None
        EnsemblePolicy(policies, valuations, weighed).save(out)
    say(f"written: {out}")


def _facts(member: Subject) -> tuple[Any, ...]:
    policy = member.policy
    return member.id, member.env, policy.mean.shape, policy.repeat
