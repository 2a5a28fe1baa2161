"""The device that Warp and torch share."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import warp
from torch.overrides import TorchFunctionMode

warp.config.log_level = warp.LOG_ERROR  # else each loaded kernel prints a line


class Device:
    """A device of Warp and torch, and the stream that both use.

    Args:
        name: "cpu", "cuda" or "cuda:<number>".

    Attributes:
        captures: whether calls can be captured as graphs.
        loops: whether a graph may hold a loop with a computed condition.

    Raises:
        ValueError: the device is unknown; the message lists the known ones.
    """

    def __init__(self, name: str) -> None:
        warp.init()
        try:
            self.warp = warp.get_device(name)
        except (ValueError, RuntimeError) as error:
            known = ", ".join(repr(str(device)) for device in warp.get_devices())
            raise ValueError(f"device: Warp has no {name!r}, there are {known}: {error}") from None
        self.name = str(self.warp)
        self.torch = torch.device(warp.device_to_torch(self.warp))
        self.is_cuda: bool = self.warp.is_cuda
        # Allocations in a graph need CUDA's memory pools, which not all systems have.
        self.captures = not self.is_cuda or bool(warp.is_mempool_enabled(self.warp))
        # CUDA 12.4 or later.
        self.loops = not self.is_cuda or bool(warp.is_conditional_graph_supported())
        # CUDA cannot capture graphs on the default stream.
        self._stream = torch.cuda.Stream(self.torch) if self.is_cuda else None
        self._mode = Nonblocking(self.torch)

    @property
    def calls(self) -> int:
        return self._mode.calls

    @contextmanager
    def use(self) -> Iterator[None]:
        """A context in which Warp and torch compute on this device, in order.

        Work of the caller's stream comes before, and its later work after.
        """
        if self._stream is None:
            with warp.ScopedDevice(self.warp), torch.no_grad():
                yield
            return
        outside = torch.cuda.current_stream(self.torch)
        self._stream.wait_stream(outside)
        with (
            self._mode,
            torch.cuda.stream(self._stream),
            warp.ScopedStream(warp.stream_from_torch(self._stream)),
            torch.no_grad(),
        ):
            yield
        outside.wait_stream(self._stream)

    @staticmethod
    @contextmanager
    def recording() -> Iterator[None]:
        """Capture a graph in this context, in which no other is freed: that would invalidate it."""
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


CREATORS = frozenset(
    getattr(torch, name)
    for name in (
        *("arange", "asarray", "as_tensor", "empty", "eye", "full", "linspace", "ones"),
        *("rand", "randint", "randn", "randperm", "tensor", "zeros"),
    )
)
CONVERTERS = frozenset((torch.asarray, torch.as_tensor, torch.tensor))
UNCHECKED = {
    torch.linalg.cholesky: torch.linalg.cholesky_ex,
    torch.linalg.inv: torch.linalg.inv_ex,
    torch.linalg.solve: torch.linalg.solve_ex,
}
"""Functions that wait for the device to check a matrix, and the same without the check."""
LARGEST = 4096  # bytes of a kept constant
MOST = 512  # constants


class Nonblocking(TorchFunctionMode):
    """A context that creates tensors on a device without waiting for it.

    A copy from the CPU would wait for all queued work, so numbers, lists and small arrays are kept
    on the device by their values, and copied there. Linear algebra does not report singular
    matrices; its results are then not finite.

    Attributes:
        calls: calls of torch in this context so far.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device
        self._kept: dict[Any, torch.Tensor] = {}
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        kwargs = kwargs or {}
        if func in UNCHECKED:
            return UNCHECKED[func](*args, **kwargs)[0]
        if func not in CREATORS:
            return func(*args, **kwargs)
        if kwargs.get("device") is None:
            kwargs = {**kwargs, "device": self._device}
        if func in CONVERTERS and len(args) == 1 and not isinstance(args[0], torch.Tensor):
            return self._constant(func, args[0], kwargs)
        return func(*args, **kwargs)

    def _constant(self, func: Any, value: Any, kwargs: dict[str, Any]) -> torch.Tensor:
        try:
            numbers = np.asarray(value)
        except (TypeError, RuntimeError):  # a list of tensors
            return func(value, **kwargs)
        if numbers.dtype.kind not in "biuf" or numbers.nbytes > LARGEST:
            return func(value, **kwargs)
        own = isinstance(value, np.ndarray | np.generic)  # else torch chooses the type
        key = (own, numbers.dtype, numbers.shape, numbers.tobytes(), *kwargs.values())
        if (kept := self._kept.get(key)) is None:
            if len(self._kept) >= MOST:
                self._kept.clear()
            kept = self._kept[key] = func(value, **kwargs)
        return kept.clone()
