"""Errors that the engine raises in compiled steps: they end an episode, and not the process.

The engine calls a handler with the message, and the default one ends the process. Python's bindings
catch errors only in their own calls. So a thread notes where a step goes on after an error, and the
handler jumps there.
"""

import atexit
import ctypes
import functools
import os

import llvmlite.binding as llvm
import numpy as np

from mjgym_fast.available import engine
from mjgym_fast.machine_code import Code

CAUGHT = os.name != "nt"
"""Whether errors are caught; on Windows they still end the process."""

JUMP, MESSAGE = 512, 1024  # bytes: more than `jmp_buf` takes on any system, and the engine's
PLACE = JUMP + MESSAGE
"""Bytes of a thread's place: where its step goes on, and then the last error's message."""

KEY = "place.key"
"""Name of the key of the threads' places."""

_TEXT = """
target triple = "{triple}"
@place.key = external global i64
@handler = external global ptr
declare ptr @pthread_getspecific(i64)
declare void @longjmp(ptr, i32)
declare ptr @memcpy(ptr, ptr, i64)

define void @handle(ptr %message) {{
  %level = load i32, ptr %message
  %is.error = icmp eq i32 %level, 3
  br i1 %is.error, label %look, label %other
look:
  %key.now = load i64, ptr @place.key
  %place = call ptr @pthread_getspecific(i64 %key.now)
  %in.step = icmp ne ptr %place, null
  br i1 %in.step, label %jump, label %other
jump:
  %words = getelementptr i8, ptr %place, i64 {jump}
  %subject = getelementptr i8, ptr %message, i64 8
  call ptr @memcpy(ptr %words, ptr %subject, i64 {message})
  call void @longjmp(ptr %place, i32 1)
  unreachable
other:
  %before = load ptr, ptr @handler
  %none = icmp eq ptr %before, null
  br i1 %none, label %end, label %pass
pass:
  call void %before(ptr %message)
  br label %end
end:
  ret void
}}
"""


class _Handler:
    """The engine's handler of messages, in front of the one that there was; never to be freed."""

    def __init__(self) -> None:
        system = ctypes.CDLL(None)
        cells = np.zeros(2, dtype=np.int64)
        key = ctypes.c_ulong()
        system.pthread_key_create(ctypes.byref(key), None)
        cells[0] = key.value
        names = "_setjmp", "longjmp", "memcpy", "pthread_getspecific", "pthread_setspecific"
        found = {x: ctypes.cast(getattr(system, x), ctypes.c_void_p).value or 0 for x in names}
        first = int(cells.ctypes.data)
        self.external = {**found, KEY: first, "handler": first + cells.itemsize}
        text = _TEXT.format(triple=llvm.get_default_triple(), jump=JUMP, message=MESSAGE)
        code = Code({}, text, ("handle",), self.external)
        install = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(engine()["mju_setLogHandler"])
        before = install(code.addresses["handle"])
        cells[1] = before or 0
        atexit.register(install, before)  # the code is freed after that
        self._kept = cells, code


_handler = functools.cache(_Handler)


def external() -> dict[str, int]:
    """Addresses of what steps call to catch errors, by name; it installs the handler."""
    return _handler().external if CAUGHT else {}


def said(places: np.ndarray) -> list[str]:
    """Take the messages of errors out of the threads' places, (threads, PLACE) uint8."""
    messages = [bytes(place[JUMP:]).partition(b"\0")[0] for place in places if place[JUMP]]
    places[:, JUMP] = 0
    return [message.decode(errors="replace") for message in messages]
