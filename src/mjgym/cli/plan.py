"""`mjgym plan`: act by planning, with the task as its own model."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mjgym.cli import shared_options, task_arguments
from mjgym.cli.convert import NAMES, kept
from mjgym.cli.ids import ID
from mjgym.cli.output import console, facts, refusing
from mjgym.cli.policy_option import planners
from mjgym.cli.record import UNLIMITED, filming
from mjgym.util.plurals import counted

FIRST_SEED = 10_000  # of the fixed seeds, those of `mjgym evaluate`


def plan(
    id: Annotated[str, ID],
    method: Annotated[
        str,
        typer.Option(
            "--planner",
            metavar="METHOD",
            help='"random_shooting", "predictive_sampling", "cem", "mppi" or "ilqg".',
            autocompletion=lambda incomplete: shared_options.beginning(incomplete, planners()),
        ),
    ] = "mppi",
    horizon: Annotated[float, typer.Option(min=0.0, help="In seconds.")] = 0.6,
    rollouts: Annotated[
        int | None, typer.Option(min=1, help="Candidates per iteration; the method's default.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Per improvement; the method's default.")
    ] = None,
    spacing: Annotated[
        float, typer.Option(min=0.0, help="Seconds between the knots of a spline of actions.")
    ] = 0.1,
    every: Annotated[int, typer.Option(min=1, help="Control steps between two improvements.")] = 1,
    learned: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="A run of `mjgym train`, for a prior and the value of the end."
        ),
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Number of episodes.")] = 10,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Largest number of control steps per episode.")
    ] = None,
    seed: shared_options.Seed = FIRST_SEED,
    out: Annotated[
        Path | None,
        typer.Option(help="A film of the first episode: .mp4, .webp or .gif.", dir_okay=False),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Record the episodes in this dataset: {NAMES}."),
    ] = None,
    set: shared_options.Settings = None,
) -> None:
    """Act by planning with the task as its own model, and print the returns.

    At each control step the planner tries sequences of actions from the current state and takes the
    first action of the best. Nothing is trained. The seeds are those of `mjgym evaluate`.
    """
    from mjgym import datasets

    shown = {"rollouts": rollouts, "iterations": iterations}
    settings = {name: value for name, value in shown.items() if value is not None}
    lines = console()
    with contextlib.ExitStack() as stack:
        env = task_arguments.make(id, set)
        stack.callback(env.close)
        planner = _planner(
            env, method, learned, horizon=horizon, spacing=spacing, every=every, **settings
        )
        if record is not None:
            description = f"{id}, by planning ({method})"
            env = datasets.record(env, record, algorithm=method, description=description)
            stack.callback(env.close)
        film = stack.enter_context(_filmed(env, out))
        limit = steps or env.spec.max_episode_steps or UNLIMITED
        returns, successes = [], []
        begun, made = time.process_time(), 0
        for number in range(episodes):
            see = film if number == 0 else None
            total, length, success = _episode(env, planner, seed + number, limit, see)
            returns.append(total)
            made += length
            successes += [] if success is None else [success]
            reached = "" if success is None else f", {'' if success else 'no '}success"
            text = f"seed {seed + number}: return {total:.2f} in {length} steps{reached}"
            lines.print(text, soft_wrap=True)
            if record is not None:
                env.keep()
        spent = (time.process_time() - begun) / (made * env.unwrapped.control_timestep)
    summary = {
        "mean return": f"{np.mean(returns):.2f} over {counted(len(returns), 'episode')}",
        **({"successes": f"{sum(successes)} of {len(successes)}"} if successes else {}),
        "CPU time": f"{spent:.2g} s per simulated second",
        **({"written": str(out)} if out else {}),
        **({"recorded": kept(env)} if record else {}),
    }
    lines.print(facts(summary))


def _planner(env: Any, method: str, learned: Path | None, **settings: Any) -> Any:
    from mjgym import planning
    from mjgym.planning.learned import learned as load

    with refusing(TypeError, ValueError):
        if learned is not None:
            settings |= load(learned)
        return planning.Planner(env, method, **settings)


def _episode(
    env: Any, planner: Any, seed: int, steps: int, film: Callable[[], None] | None
) -> tuple[float, int, bool | None]:
    """Return, length and success of an episode; success is None for a task without a goal."""
    observation, _ = env.reset(seed=seed)
    planner.restart()
    total, made, success = 0.0, 0, None
    for _ in range(steps):
        if film is not None:
            film()
        action = planner(observation).astype(env.action_space.dtype)
        observation, reward, terminated, truncated, info = env.step(action)
        total, made = total + float(reward), made + 1
        if "success_once" in info:
            success = bool(info["success_once"])
        if terminated or truncated:
            break
    if film is not None:
        film()
    return total, made, success


@contextlib.contextmanager
def _filmed(env: Any, out: Path | None) -> Iterator[Callable[[], None] | None]:
    if out is None:
        yield None
        return
    plain = env.unwrapped

    def draw(scenes: Any) -> Any:
        return plain.cameras.render([shot for scene in scenes for shot in scene])

    with filming(out, plain.control_timestep, draw) as film:
        yield lambda: film.add(plain.shots(width=320, height=240))
