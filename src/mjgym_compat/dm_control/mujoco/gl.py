"""OpenGL contexts, which live in one thread."""

import collections
import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from mjgym.rendering import backends

USING_GPU = False  # of tests that compare pictures

_T = TypeVar("_T")


class _Threads:
    drawing: ThreadPoolExecutor
    # To run in that thread before its next job. Finalizers append here: they can run while this
    # thread holds the executor's lock, which is not reentrant.
    garbage: "collections.deque[Callable[[], None]]"

    def renew(self) -> None:
        self.garbage = collections.deque()
        self.drawing = ThreadPoolExecutor(1, thread_name_prefix="dm_control rendering")


_threads = _Threads()
_threads.renew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.renew)  # a child has no such thread


class Renderer:
    """An off-screen OpenGL context."""

    def __init__(self, max_width: int = 0, max_height: int = 0) -> None:
        self._context = _threads.drawing.submit(
            lambda: backends.open_context(backends.choose())
        ).result()

    @contextlib.contextmanager
    def make_current(self) -> Iterator["Renderer"]:
        yield self

    def call(self, function: Callable[..., _T], *args: Any) -> _T:
        """Run a function in the thread of this context."""
        context = self._context

        def job() -> _T:
            while _threads.garbage:
                _threads.garbage.popleft()()
            context.make_current()
            return function(*args)

        return _threads.drawing.submit(job).result()

    def discard(self, release: Callable[[], None]) -> None:
        """Release something of this context before the next call, also from a finalizer."""
        context = self._context

        def job() -> None:
            context.make_current()
            release()

        _threads.garbage.append(job)

    def free(self) -> None:
        context, self._context = self._context, None
        if context is not None:
            _threads.garbage.append(context.free)


def __getattr__(name: str) -> str:
    if name == "BACKEND":
        return backends.choose()
    raise AttributeError(name)
