"""`mjgym demo`: step a batch with random actions."""

import time
from typing import Annotated, Any

import typer

from mjgym.cli.ids import completed, known_id
from mjgym.cli.output import progress, say
from mjgym.cli.policy_option import RANDOM, load_policy
from mjgym.cli.record import UNLIMITED
from mjgym.util.plurals import counted


def demo(
    id: Annotated[
        str, typer.Argument(help="The task to run.", callback=known_id, autocompletion=completed)
    ] = "dmc/walker-walk-v0",
    num_envs: Annotated[int, typer.Option(min=1, help="Sub-environments in the batch.")] = 64,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Control steps; default: one episode.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of starts and actions.")] = 0,
) -> None:
    """Step a batch of a task with random actions, and report returns and speed."""
    import gymnasium
    import numpy as np

    envs: Any = gymnasium.make_vec(id, num_envs=num_envs)
    steps = steps or gymnasium.spec(id).max_episode_steps or UNLIMITED
    say(f"{num_envs} x {id}, {steps} control steps, random actions")
    observations, _ = envs.reset(seed=seed)
    act = load_policy(RANDOM, envs, seed=seed)
    sums, returns = np.zeros(envs.num_envs), []  # of players, in a match of several
    start = time.perf_counter()
    with progress() as bar:
        for _ in bar.track(range(steps), description="stepping"):
            observations, reward, terminated, truncated, _ = envs.step(act(observations))
            sums += reward
            ended = terminated | truncated
            returns += sums[ended].tolist()
            sums[ended] = 0
    seconds = time.perf_counter() - start
    envs.close()
    of = f"returns of {counted(len(returns), 'episode')}"
    totals = np.array(returns) if returns else sums
    say(
        f"{of if returns else 'rewards so far, no episode has ended'}: mean {totals.mean():.2f},"
        f" lowest {totals.min():.2f}, highest {totals.max():.2f}"
    )
    say(f"speed: {num_envs * steps / seconds:,.0f} control steps per second in one process")
