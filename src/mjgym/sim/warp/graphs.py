"""A task's hooks as CUDA graphs: launching small kernels takes longer than running them."""

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from mjgym.sim.warp.device import Device
from mjgym.sim.warp.world_view import WorldView

HOOKS = (
    *("before_step", "control", "substep", "terms", "terminated", "truncated", "success"),
    *("update", "observation", "current_forces"),
)
"""Hooks that are functions of the view; `reward` is one of the terms."""
FEW = 4  # calls of torch that are not worth a graph
CLOSE = 1e-5  # relative to max(1, |value|), between a graph and the calls that it holds


class Graphed:
    """A function of tensors that is launched as one CUDA graph from its third call on.

    The function must depend on its arguments and on tensors that stay in place alone. If it waits
    for the device, or makes few calls, or a graph gives other results, its calls stay as they are.

    Args:
        function: takes and returns tensors, numbers, None, and dicts and tuples of them.
    """

    def __init__(self, function: Callable[..., Any], device: Device) -> None:
        self._function, self._device = function, device
        self._graphs: dict[Any, _Graph | None] = {}
        self._known: set[Any] = set()

    def __call__(self, *arguments: Any) -> Any:
        """The function's result, in tensors of its own."""
        tensors: list[torch.Tensor] = []
        try:
            form = _form(arguments, tensors)
        except TypeError:
            return self._function(*arguments)
        if form in self._graphs:
            graph = self._graphs[form]
            return self._function(*arguments) if graph is None else graph(tensors)
        if form not in self._known:  # kernels and constants are loaded once
            self._known.add(form)
            return self._function(*arguments)
        return self._record(form, arguments, tensors)

    def _record(self, form: Any, arguments: Any, tensors: list[torch.Tensor]) -> Any:
        self._graphs[form] = None
        before = self._device.calls
        try:
            with _refused_waits():
                result = self._function(*arguments)
        except RuntimeError:  # it waits for the device
            return self._function(*arguments)
        if self._device.calls - before <= FEW:
            return result
        try:
            with self._device.recording():
                graph = _Graph(self._function, arguments, tensors)
            if _close(graph(tensors), result):
                self._graphs[form] = graph
        except (RuntimeError, TypeError):  # it cannot be recorded, or gives something else
            pass
        return result


class _Graph:
    """A recorded call, which can be repeated with other tensors of the same shapes."""

    def __init__(
        self, function: Callable[..., Any], arguments: Any, tensors: list[torch.Tensor]
    ) -> None:
        self._inputs = [tensor.clone() for tensor in tensors]
        taken = iter(self._inputs)
        inputs = mapped(arguments, lambda _: next(taken))
        self._graph: Any = torch.cuda.CUDAGraph()
        stream = torch.cuda.current_stream()
        with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
            self._result = function(*inputs)

    def __call__(self, tensors: list[torch.Tensor]) -> Any:
        if tensors:
            torch._foreach_copy_(self._inputs, tensors)
        self._graph.replay()
        return mapped(self._result, torch.clone)


@contextmanager
def _refused_waits() -> Iterator[None]:
    """A context in which calls that wait for the device raise RuntimeError."""
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls it a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(mode)


class GraphedHooks:
    """A task whose hooks run as CUDA graphs on a batch's view; everything else is the task's own.

    Hooks are functions of the view, of which memory alone changes its place.
    """

    def __init__(self, task: Any, view: WorldView, device: Device) -> None:
        self._task = task
        for name in HOOKS:
            setattr(self, name, _hook(getattr(task, name), view, device))
        self.reward = Graphed(task.reward, device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_task"], name)


def _hook(hook: Callable[..., Any], view: WorldView, device: Device) -> Callable[..., Any]:
    def on_memory(memory: dict[str, torch.Tensor], *arguments: torch.Tensor) -> Any:
        before, view.memory = view.memory, memory
        try:
            return hook(view, *arguments)
        finally:
            view.memory = before

    graphed = Graphed(on_memory, device)

    @functools.wraps(hook)
    def called(v: Any, *arguments: Any) -> Any:
        return graphed(view.memory, *arguments) if v is view else hook(v, *arguments)

    return called


def _form(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Structure, shapes and types of a value, hashable; appends its tensors to a list."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return value.shape, value.dtype
    if isinstance(value, dict):
        return tuple((name, _form(part, tensors)) for name, part in value.items())
    if isinstance(value, tuple):
        return tuple(_form(part, tensors) for part in value)
    if value is None or isinstance(value, bool | int | float):
        return value
    raise TypeError(f"no tensor or number: {value!r}")


def mapped(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """The value with every tensor in it, and in its dicts and tuples, changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: mapped(part, change) for name, part in value.items()}
    return tuple(mapped(part, change) for part in value) if isinstance(value, tuple) else value


def _close(found: Any, wanted: Any) -> bool:
    pairs: tuple[list[torch.Tensor], list[torch.Tensor]] = [], []
    if _form(found, pairs[0]) != _form(wanted, pairs[1]):
        return False
    return all(
        torch.allclose(one.double(), other.double(), rtol=CLOSE, atol=CLOSE, equal_nan=True)
        for one, other in zip(*pairs, strict=True)
    )
