"""Threads that run compiled code together with the calling one, and wait for it outside Python.

A control step of a batch takes less than a millisecond: threads that took the interpreter's lock to
begin and to end it would wait for one another longer than that. Each sleeps in a lock of its own,
which another thread releases: one of Python's, as they are the system's and need no interpreter.
"""

import ctypes
import functools
import os
import threading
import weakref
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from mjgym_fast.machine_code import Code

# `active` counts the threads in the present turn; none can join it once it is 0, and all end at -1.
_TEXT = """
target triple = "{triple}"
declare i32 @acquire_lock(ptr, i32)
declare void @release_lock(ptr)

define void @serve(ptr %run, ptr %argument, ptr %active, ptr %locks, i64 %k) {{
  %own.at = getelementptr ptr, ptr %locks, i64 %k
  %own = load ptr, ptr %own.at
  %leader = load ptr, ptr %locks
  br label %sleep
sleep:
  call i32 @acquire_lock(ptr %own, i32 1)
  br label %look
look:
  %others = load atomic i64, ptr %active seq_cst, align 8
  switch i64 %others, label %join [i64 0, label %sleep i64 -1, label %end]
join:
  %all = add i64 %others, 1
  %exchange = cmpxchg ptr %active, i64 %others, i64 %all seq_cst seq_cst
  %joined = extractvalue {{i64, i1}} %exchange, 1
  br i1 %joined, label %work, label %look
work:
  call void %run(ptr %argument, i64 %k)
  %left = atomicrmw sub ptr %active, i64 1 seq_cst
  %last = icmp eq i64 %left, 1
  br i1 %last, label %tell, label %sleep
tell:
  call void @release_lock(ptr %leader)
  br label %sleep
end:
  ret void
}}

define void @lead(ptr %run, ptr %argument, ptr %active, ptr %locks, i64 %count) {{
  store atomic i64 1, ptr %active seq_cst, align 8
  br label %look
look:
  %k = phi i64 [1, %0], [%next, %wake]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %wake, label %work
wake:
  %lock.at = getelementptr ptr, ptr %locks, i64 %k
  %lock = load ptr, ptr %lock.at
  call void @release_lock(ptr %lock)
  %next = add i64 %k, 1
  br label %look
work:
  call void %run(ptr %argument, i64 0)
  %left = atomicrmw sub ptr %active, i64 1 seq_cst
  %last = icmp eq i64 %left, 1
  br i1 %last, label %end, label %sleep
sleep:
  %leader = load ptr, ptr %locks
  call i32 @acquire_lock(ptr %leader, i32 1)
  br label %end
end:
  ret void
}}
"""
_Call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)


def _of_python(name: str) -> Any:
    """A function of Python's locks."""
    function = ctypes.pythonapi[f"PyThread_{name}"]
    function.restype = ctypes.c_void_p
    return function


@functools.cache
def _code() -> Code:
    names = ("acquire_lock", "release_lock")
    external = {x: ctypes.cast(_of_python(x), ctypes.c_void_p).value or 0 for x in names}
    return Code({}, _TEXT.format(triple=llvm.get_default_triple()), ("serve", "lead"), external)


class Workers:
    """Threads that take part in each call.

    Those that wake up after the others have found nothing left to do are not waited for.

    Args:
        run: address of a function of an address and a thread's number, which takes parts of the
            work until none is left.
        argument: this address.
        count: number of threads, with the calling one, whose number is 0.
    """

    def __init__(self, run: int, argument: int, count: int) -> None:
        locks = [ctypes.c_void_p(_of_python("allocate_lock")()) for _ in range(count)]
        for lock in locks:
            _of_python("acquire_lock")(lock, 0)
        pool = np.array([0, *(lock.value or 0 for lock in locks)], dtype=np.int64)
        addresses, active = _code().addresses, int(pool.ctypes.data)
        arguments = run, argument, active, active + pool.itemsize
        self._lead = functools.partial(_Call(addresses["lead"]), *arguments, count)
        serve, threads = _Call(addresses["serve"]), list[threading.Thread]()
        self.close = weakref.finalize(self, _close, pool, locks, threads, os.getpid())
        for k in range(1, count):
            name, given = f"mjgym-step-{k}", (*arguments, k)
            thread = threading.Thread(target=serve, args=given, name=name, daemon=True)
            thread.start()
            threads.append(thread)

    def __call__(self) -> None:
        """Run the function in all threads and wait for them to finish."""
        self._lead()


def _close(
    pool: np.ndarray, locks: list[ctypes.c_void_p], threads: list[threading.Thread], process: int
) -> None:
    """End the threads; a forked child has none of them."""
    if os.getpid() != process:
        return
    pool[0] = -1
    for lock in locks:
        _of_python("release_lock")(lock)
    for thread in threads:
        thread.join()
    for lock in locks:
        _of_python("free_lock")(lock)
