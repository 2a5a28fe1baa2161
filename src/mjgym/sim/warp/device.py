"""The device that Warp and torch compute on together."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import warp

warp.config.log_level = warp.LOG_ERROR  # else each kernel that is loaded prints a line


class Device:
    """A device of Warp and of torch, and the stream on which both work.

    Args:
        name: "cpu", "cuda" or "cuda:<number>".

    Attributes:
        captures: whether calls can be kept as graphs.
        loops: whether a graph may hold a loop that ends by what it computes.

    Raises:
        ValueError: there is no such device; the message names those that there are.
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
        # What is allocated within a graph needs CUDA's memory pools, which not all systems have.
        self.captures = not self.is_cuda or bool(warp.is_mempool_enabled(self.warp))
        # CUDA has them from 12.4 on.
        self.loops = not self.is_cuda or bool(warp.is_conditional_graph_supported())
        # Not the default stream, on which CUDA captures no graph.
        self._stream = torch.cuda.Stream(self.torch) if self.is_cuda else None

    @contextmanager
    def use(self) -> Iterator[None]:
        """Compute here: what Warp and torch make inside is on this device and in one order.

        What the caller's stream holds comes before, and what it does next comes after.
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
