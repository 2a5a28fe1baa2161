"""Compile errors that name the faulty element, its path and the line of Python that made it."""

import contextlib
import functools
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco

from mjgym.mjcf.elements import Element, Spec, every, is_element, path, require_spec, samples
from mjgym.mjcf.finding import name_unnamed
from mjgym.sim.engine import quiet

ENVIRONMENT = "MJGYM_DEBUG_MJCF"
"""Environment variable: 1 keeps `debug` on for the whole process, "stack" with whole stacks."""
STACK = "stack"

_CHANGED = "; changed at "
_NOT_OURS = (str(Path(__file__).parent) + os.sep, str(Path(mujoco.__file__).parent) + os.sep)


class CompileError(ValueError):
    """A model does not compile.

    Attributes:
        model: the model's name.
        path: of the element, e.g. "world > torso > geom 'foot'"; empty if the engine does not name
            it.
        line: where it was made and last changed, e.g. "scene.py:12", with callers if stacks are
            kept; empty if not recorded, see `debug`.
    """

    def __init__(self, reason: str, model: str, path: str = "", line: str = "") -> None:
        self.reason, self.model, self.path, self.line = reason, model, path, line
        where = f", {path}" if path else ""
        recorded = f" ({line})" if line else ""
        hint = "" if line or not path else f". {ENVIRONMENT}=1 shows the line that made the element"
        super().__init__(f"model {model!r}{where}{recorded}: {reason}{hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.model, self.path, self.line)


def compile(spec: Spec) -> mujoco.MjModel:
    """Compile a model, after naming its unnamed elements, see `name_unnamed`.

    Raises:
        CompileError: it does not compile. The message has the model's name, the path of the element
            and, with `debug`, the lines of Python that made and last changed it.
        TypeError: the model is no MjSpec; `load` reads one from a file.
        ValueError: the model is attached to another one and compiles with that.
    """
    watch()
    require_spec("compile", spec)
    if spec.parent is not None:
        raise ValueError(
            f"model {spec.modelname!r} is attached to {spec.parent.modelname!r}; compile that"
        )
    name_unnamed(spec)
    try:
        return spec.compile()
    except ValueError as error:
        raise _located(spec, error) from None


def _located(spec: Spec, error: ValueError) -> CompileError:
    """An error of the compiler with the element it is about.

    The engine repeats the element's `info` but not its kind or place: compiled again with a number
    in `info`, the error identifies the element.
    """
    wraps = [wrap for tendon in spec.tendons for wrap in _wraps(tendon)]
    parts = [(part, part.info) for part in (*(element for _, element in every(spec)), *wraps)]
    for number, (element, _) in enumerate(parts):
        _write(element, f"<element {number}>")
    message = str(error)
    try:
        with quiet():
            spec.compile()
    except ValueError as again:
        message = str(again)
    finally:
        for element, info in parts:
            _write(element, info)
    match = re.search(r"<element (\d+)>", message)
    reason = message.partition("\nElement ")[0].strip().removeprefix("Error: ")
    if match is None:
        return CompileError(reason, spec.modelname)
    element, info = parts[int(match[1])]
    if is_element(element):
        return CompileError(reason, spec.modelname, path(element), info)
    tendon = next(t for t in spec.tendons if any(w is element for w in _wraps(t)))
    return CompileError(reason, spec.modelname, path(tendon), info or tendon.info)


def _wraps(tendon: Element) -> list[Element]:
    return [tendon.path[i] for i in range(len(tendon.path))]


@functools.cache
def watch() -> None:
    """Turn `debug` on for good if the environment variable says so, at the first call only."""
    wanted = os.environ.get(ENVIRONMENT, "0")
    if wanted not in ("", "0"):
        _begin(wanted == STACK)


@contextlib.contextmanager
def debug(*, stack: bool = False) -> Iterator[None]:
    """Within the context, each element records the lines of Python that make and change it.

    They are kept in the element's `info`, which the engine repeats in its errors, and are lines of
    the caller of this package. Attribute assignments, `add`, `assign`, `attach` and MjSpec's
    methods are recorded; a write into an array (`geom.size[0] = 1`) is not. Elements that `load`
    reads record their file and line. Outside the context nothing is patched and there is no cost.
    The environment variable MJGYM_DEBUG_MJCF=1 does the same for a process from its first `load`,
    `add`, `attach` or `compile`; MJGYM_DEBUG_MJCF=stack keeps whole stacks.

    Args:
        stack: record the callers too: "leg.py:7 in leg < robot.py:31 in robot < ...". They tell
            which call of a function that makes many elements made this one.
    """
    _begin(stack)
    try:
        yield
    finally:
        _users.remove(stack)
        if not _users:
            _restore.close()


_users: list[bool] = []  # of the patches, each with whether it wants whole stacks
_restore = contextlib.ExitStack()


def _begin(stack: bool) -> None:
    _users.append(stack)
    if len(_users) > 1:
        return
    for owner in (mujoco.MjSpec, mujoco.MjsBody, mujoco.MjsFrame):
        for name in dir(owner):
            if name.startswith(("add_", "make_")):
                _patch(owner, name, _remembers_making)
    for owner in {type(element) for element in samples().values()}:
        for name in dir(owner):
            if name.startswith(("set_", "make_", "wrap_")) and name != "make_flex":
                _patch(owner, name, _remembers_change)
        _patch(owner, "__setattr__", _remembers_change)


def _patch(owner: type, name: str, remembers: Callable[[Any], Any]) -> None:
    if name in vars(owner):
        _restore.callback(setattr, owner, name, vars(owner)[name])
    else:
        _restore.callback(delattr, owner, name)
    setattr(owner, name, remembers(getattr(owner, name)))


def debugging() -> bool:
    return bool(_users)


def remember_file(spec: Spec, file: Path) -> None:
    for _, element in every(spec):
        _write(element, f"{file}, {element.info}" if element.info else str(file))


def _remembers_making(method: Any) -> Any:
    @functools.wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        element = method(*args, **kwargs)
        if is_element(element) and hasattr(element, "info"):
            _write(element, _line())
        return element

    return wrapper


def _remembers_change(method: Any) -> Any:
    @functools.wraps(method)
    def wrapper(element: Element, *args: Any, **kwargs: Any) -> Any:
        result = method(element, *args, **kwargs)
        if method.__name__ != "__setattr__" or args[0] != "info":
            line, creation = _line(), element.info.partition(_CHANGED)[0]
            _write(element, creation if creation == line else f"{creation}{_CHANGED}{line}")
        return result

    return wrapper


def _write(element: Element, info: str) -> None:
    object.__setattr__(element, "info", info)


def _line() -> str:
    """The current line outside this package and the engine, with its callers if wanted.

    Callers end at Python's machinery that runs modules.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_OURS):
        frame = frame.f_back
    if not any(_users):
        return f"{frame.f_code.co_filename}:{frame.f_lineno}"
    lines = []
    caller: types.FrameType | None = frame
    while caller is not None and not caller.f_code.co_filename.startswith("<frozen"):
        code = caller.f_code
        if not code.co_filename.startswith(_NOT_OURS):
            lines.append(f"{code.co_filename}:{caller.f_lineno} in {code.co_name}")
        caller = caller.f_back
    return " < ".join(lines)
