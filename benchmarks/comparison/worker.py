"""Worker processes for subjects, stopped while another one is timed."""

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from comparison.subjects import Builder, Settings, Subject, built, measure, prepare

BUILD_TIMEOUT = 600.0  # s


class WorkerError(RuntimeError):
    """A subject could not be built or timed; the message says why in one line."""


class Worker:
    """Process that builds a subject and times it on demand.

    Between requests the process is stopped (where the system has SIGSTOP), so that its threads do
    not disturb other timings.

    Args:
        target: runs in the process, with the connection and `arguments`.
        *arguments: of the target.
    """

    def __init__(self, target: Any, *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="mjgym-benchmark-")
        self._process = context.Process(
            target=_serve, args=(theirs, self._folder.name, target, arguments)
        )
        self._process.start()
        theirs.close()

    def ask(self, request: Any, timeout: float) -> Any:
        """Send a request and wait for its answer.

        Raises:
            WorkerError: the process failed, ended, or took longer than `timeout` seconds.
        """
        self._signal("SIGCONT")
        try:
            self._connection.send(request)
            if not self._connection.poll(timeout):
                raise WorkerError(f"no answer within {timeout:.0f} s")
            succeeded, answer = self._connection.recv()
        except (EOFError, OSError):
            raise WorkerError(self._end()) from None
        if not succeeded:
            raise WorkerError(answer)
        self._signal("SIGSTOP")
        return answer

    def _end(self) -> str:
        """Reason why the process ended, with its last line of output."""
        self._process.join(10)
        code = self._process.exitcode
        if code is not None and code < 0:
            how = f"the process was ended by {signal.Signals(-code).name}"
        else:
            how = f"the process ended with {code}"
        lines = _errors(self._folder.name).read_text(errors="replace").strip().splitlines()
        return f"{how}: {lines[-1]}" if lines else how

    def _signal(self, name: str) -> None:
        number = getattr(signal, name, None)
        if number is not None and self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, number)

    def close(self) -> None:
        """End the process in any state."""
        self._process.kill()  # a stopped process ends only by this one
        self._process.join()
        self._connection.close()
        with contextlib.suppress(OSError):
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _errors(folder: str) -> Path:
    return Path(folder) / "errors.txt"


def _serve(connection: Connection, folder: str, target: Any, arguments: tuple[Any, ...]) -> None:
    """Run in the process: answer until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side ends this process
    os.chdir(folder)  # engines leave log files where they run
    with _errors(folder).open("w") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
        try:
            target(connection, *arguments)
        except EOFError:
            pass
        except Exception as error:
            traceback.print_exc()
            connection.send((False, _line(error)))


def _line(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def time_subject(connection: Connection, builder: Builder, settings: Settings) -> None:
    """Target of a worker: build a subject, then measure windows of the requested seconds.

    The first request is "prepare"; its answer is that of `prepare`, and the number of simulations
    and of control steps in a call.
    """
    connection.recv()
    with built(builder, settings) as subject:
        resets = prepare(subject, cpu=settings.cpu)
        connection.send((True, (resets, subject.simulations, subject.control_steps)))
        _windows(connection, subject, cpu=settings.cpu)


def _windows(connection: Connection, subject: Subject, *, cpu: bool) -> None:
    while True:
        connection.send((True, measure(subject, connection.recv(), cpu=cpu)))


def load(connection: Connection, peer: str) -> None:
    """Target of a worker: check that a peer can be imported."""
    from comparison.other_suites import LOADERS

    connection.recv()
    LOADERS[peer]()
    connection.send((True, None))


def why_not(peer: str) -> str | None:
    """Reason why a peer does not load here; None if it does."""
    with Worker(load, peer) as worker:
        try:
            worker.ask("load", BUILD_TIMEOUT)
        except WorkerError as error:
            return str(error)
    return None
