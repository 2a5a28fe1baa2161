"""Formatting of findings."""

import inspect
import traceback
from collections.abc import Collection, Iterable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Literal

from mjgym.task import Arrays, Task

Status = Literal["pass", "skipped", "warn", "fail"]
Result = tuple[Status, str]
Results = Iterable[Result]

SHOWN = 5  # maximum number of listed names
LONGEST_MESSAGE = 400  # characters of an error
TWO_NUMBERS = (
    "v.xp.where takes one plain number, not two, beside an array that says the type:"
    " v.xp.where(d < t, v.xp.zeros_like(d), -1.0)"
)
MEMORY = (
    ". What an episode must remember does not belong on the task: memory(v) returns its start by"
    " name, update(v) what changes, and hooks read it from v.memory"
)
UNFROZEN = (
    ". A task is a frozen dataclass: put @dataclass(frozen=True) above the class instead of"
    " @dataclass"
)


def listed(names: Collection[str] | Arrays) -> str:
    """The first few names, and their number."""
    shown = [str(name) for name in names]
    more = f", ... ({len(shown)})" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more


def error_line(error: Exception, cls: type[Task]) -> str:
    """An error in one line, with its place in the task's code."""
    files = set()
    for base in cls.__mro__:
        if base not in Task.__mro__:
            try:
                files.add(inspect.getfile(base))
            except (OSError, TypeError):  # defined at a prompt
                continue
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in files]
    where = ""
    if frames:
        last = frames[-1]
        where = f" ({Path(last.filename).name}:{last.lineno} in {last.name})"
    message = " ".join(str(error).partition(" was raised from the environment creator")[0].split())
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[:LONGEST_MESSAGE]} ..."
    remedy = MEMORY if isinstance(error, FrozenInstanceError) else ""
    return f"{type(error).__name__}: {message}{where}{remedy}"


def batch_advice(error: Exception) -> str:
    """Advice on errors that code for one simulation raises in a batch."""
    text = str(error)
    if "truth value of an array" in text:
        return ". Hooks run for all simulations at once: v.xp.where(...) instead of `if`"
    if "converted to" in text and "scalar" in text:
        return ". Hooks run for all simulations at once: no float(), int() or bool() of an array"
    return ". Hooks run for all simulations at once: index from the right, x[..., i]"
