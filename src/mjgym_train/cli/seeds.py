"""Seeds as arguments of commands, and running a command once per seed."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import typer

from mjgym.cli.output import console

MOST = 10_000  # seeds of one command
MJGYM = (sys.executable, "-c", "from mjgym_command import main; main()")
"""Words that run the command `mjgym` of this installation in another process."""


def seeds_of(text: str, hint: str) -> tuple[int, ...]:
    """Parse seeds such as "0-4" or "1,5,8-9", in order without duplicates."""
    seeds: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise typer.BadParameter(
                f'{text!r} is not of the form "0-4" or "1,5,7"', param_hint=hint
            )
        end = int(last) if dash else int(first)
        if not 0 <= end - int(first) < MOST or end >= 2**31:
            raise typer.BadParameter(f"{part.strip()!r} is no range of seeds", param_hint=hint)
        seeds |= dict.fromkeys(range(int(first), end + 1))
    return tuple(seeds)


def run_each(commands: Mapping[int, Sequence[str]], jobs: int) -> bool:
    """Run `mjgym` once per seed, in processes; prefix their output. True if all succeeded."""
    out = console()

    def run(seed: int) -> bool:
        words = [*MJGYM, *commands[seed]]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            for line in process.stdout or ():
                if line.strip():
                    out.print(f"seed {seed}: {line.rstrip()}", soft_wrap=True)
        return process.returncode == 0

    with ThreadPoolExecutor(jobs) as pool:
        return all(list(pool.map(run, commands)))
