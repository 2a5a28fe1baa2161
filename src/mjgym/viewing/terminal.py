"""A terminal as a remote control: keys go to the session, its reward terms come back."""

import contextlib
import importlib
import importlib.util
import os
import re
import select
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from mjgym.viewing.session import Command, Progress, Session

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

KEYS = {
    " ": Command.PAUSE,
    "s": Command.STEP,
    "r": Command.RESET,
    "n": Command.NEXT,
    "q": Command.QUIT,
}
# What a terminal sends for keys that drive something, by the names of `mjgym.viewing.keyboard`.
DRIVING = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[H": "home",
    "\x1b[1~": "home",
    "\x1b[F": "end",
    "\x1b[4~": "end",
    "\x1b[20~": "f9",
    **{key: key for key in "6789."},
}
_SEQUENCE = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|.", re.DOTALL)
REFRESH = 0.2  # s between two reports on a terminal
LINES = 1.0  # s between two lines in a pipe
BAR = 20  # characters of a term's bar


def press(session: Session, typed: str) -> None:
    """Pass on typed keys: as commands, or to the driver."""
    for key in _SEQUENCE.findall(typed):
        if session.keys is not None and key in DRIVING:
            session.press(DRIVING[key])
        elif key.lower() in KEYS:
            session.ask(KEYS[key.lower()])


class Keys:
    """Reads single keys from the terminal while open; without a terminal there are none."""

    def __init__(self) -> None:
        self._before: Any = None
        possible = importlib.util.find_spec("termios") is not None  # not on Windows
        self.active = possible and sys.stdin is not None and sys.stdin.isatty()

    def __enter__(self) -> Self:
        if self.active:
            termios: Any = importlib.import_module("termios")
            tty: Any = importlib.import_module("tty")
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)  # Ctrl-C remains one
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            termios: Any = importlib.import_module("termios")
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)
            self._before = None

    def pass_on(self, session: Session) -> None:
        """Let the session obey the keys that have been pressed since the last call."""
        if self._before is None:
            return
        while select.select([sys.stdin], [], [], 0)[0]:
            typed = os.read(sys.stdin.fileno(), 64).decode(errors="replace")
            if not typed:  # the terminal is gone
                self.__exit__()
                return
            press(session, typed)


class Report:
    """Shows the reward and its terms: in place on a terminal, as lines elsewhere."""

    def __init__(self, console: "Console", keys: bool) -> None:
        self._console = console
        self._keys = keys
        self._last: tuple[Any, ...] = ()
        self._printed: Progress | None = None
        self._due = 0.0  # s on the clock
        self._live: Any = None
        self._closing = contextlib.ExitStack()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False)
            self._closing.enter_context(self._live)
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    def show(self, progress: Progress) -> None:
        """Report when it is due, when an episode begins and when the session is paused."""
        now = time.monotonic()
        state = (progress.seed, progress.paused, progress.waiting, progress.ended)
        if now < self._due and state == self._last:
            return
        new = progress.ended and progress.ended not in self._last
        self._last = state
        self._due = now + (REFRESH if self._live else LINES)
        if new:
            self._console.print(progress.ended)
        if self._live:
            self._live.update(self._table(progress), refresh=True)
        elif progress != self._printed:
            self._printed = progress
            terms = " ".join(f"{name}={value:.3f}" for name, value in progress.terms.items())
            self._console.print(f"{_summary(progress)}  {terms}".rstrip(), soft_wrap=True)

    def _table(self, progress: Progress) -> "RenderableType":
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        rows = Table.grid(padding=(0, 2))
        rows.add_column(style="dim", no_wrap=True)
        rows.add_column(justify="right", no_wrap=True)
        rows.add_column(no_wrap=True)
        for name, value in {**progress.terms, "reward": progress.reward}.items():
            filled = round(BAR * min(max(value, 0.0), 1.0))
            rows.add_row(name, f"{value:.3f}", Text("━" * filled, style="green"))
        parts: list[Any] = [Text(_summary(progress)), rows]
        if self._keys:
            names = {key if key.strip() else "space": c.value for key, c in KEYS.items()}
            parts.append(Text(", ".join(f"{k}: {name}" for k, name in names.items()), "dim"))
        return Group(*parts)


def _summary(progress: Progress) -> str:
    pace = "" if progress.pace is None else f", {progress.pace:.2f} x real time"
    paused = ", paused" if progress.paused else ", waiting for a key" if progress.waiting else ""
    return (
        f"seed {progress.seed}, step {progress.steps}, {progress.time:.2f} s,"
        f" reward {progress.reward:.3f}, return {progress.total:.2f}{pace}{paused}"
    )
