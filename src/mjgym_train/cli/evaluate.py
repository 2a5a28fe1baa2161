"""`mjgym evaluate`: the score of a policy."""

import contextlib
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from mjgym.cli import shared_options
from mjgym.cli.output import console, facts, failing, print_json, refusing, reserved
from mjgym.cli.policy_option import spaces_complaint
from mjgym_train.cli.seeds import seeds_of
from mjgym_train.cli.subjects import HINT, SUBJECT, Id, Pixels, Subject, subject_of
from mjgym_train.cli.train import Trust


def evaluate(
    policy: Annotated[str, SUBJECT],
    id: Id = None,
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
    pixels: Pixels = False,
    trust: Trust = False,
    json: shared_options.Json = False,
) -> None:
    """Score a policy: 100 episodes with the same seeds every time, without noise.

    A run is scored by its last policy, and its folder keeps the returns. Training never uses these
    seeds. The scores of random and zero actions are shown beside it, and the score normalised as
    D4RL does (0 for random actions, 100 for the bundled policy), unless the task's arguments were
    changed. With other seeds or fewer episodes, the score is printed but not kept.
    """
    from mjgym import registry
    from mjgym.policies import trained
    from mjgym.policies.network import PolicyError
    from mjgym_train import baselines, evaluation, protocol

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
    subject = subject_of(policy, id, module, trust=trust, pixels=pixels)
    with reserved(json):
        with refusing(TypeError, ValueError, prefix=f"{subject.name}: env: "):
            count = min(num_envs, len(chosen))
            envs = evaluation.make(subject.id, count, threads, **subject.env)
        refused = refusing(PolicyError, prefix=f"{subject.name}: ", hint=HINT)
        with contextlib.closing(envs), refused:
            if complaint := spaces_complaint(subject.name, subject.policy, envs):
                raise typer.BadParameter(complaint, param_hint=HINT)
            result = evaluation.evaluate(subject.policy, envs, chosen)
    about = {"id": subject.id, "env_step": subject.env_step, **result.about()}
    changed = registry.on_mujoco(subject.env).keys() - set(trained.IMAGE_OPTIONS)
    nothing = {} if changed else baselines.recorded(subject.id)
    about["baselines"] = {name: baseline.mean for name, baseline in nothing.items()}
    share = baselines.normalized(subject.id, about["mean"]) if nothing else None
    if share is not None:
        about["normalized"] = share
    if json:
        print_json(about)
    else:
        _show(subject, about)
    if subject.run is not None and tuple(chosen) == evaluation.SEEDS:
        file = subject.run.evaluation_file
        with failing(OSError, prefix=f"{file} is not written: "):
            about["policy_sha256"] = protocol.policy_hash(subject.run)
            subject.run.write_json(file, about)


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
    if "normalized" in about:
        shown["normalised"] = f"{about['normalized']:.1f} (random actions 0, bundled policy 100)"
    for name, baseline in about["baselines"].items():
        shown[f"{name} actions"] = f"{baseline:.1f}"
    console().print(facts(shown))
