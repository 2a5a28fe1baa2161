"""The device that Warp and torch share."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import warp

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
            torch.device(self.torch),
            torch.cuda.stream(self._stream),
            warp.ScopedStream(warp.stream_from_torch(self._stream)),
            torch.no_grad(),
        ):
            yield
        outside.wait_stream(self._stream)
