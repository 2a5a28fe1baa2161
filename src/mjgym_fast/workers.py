"""Threads that run compiled code together with the calling one, and wait for it outside Python.

A control step of a batch takes less than a millisecond: threads that took Python's lock to begin
and to end it would wait for one another longer than that.
"""

import ctypes
import functools
import os
import threading
import weakref

import llvmlite.binding as llvm
import numpy as np

from mjgym_fast.machine_code import Code

# The pool: a lock, conditions "a turn begins" and "a turn is done", a function and its argument,
# then the number of turns, whether the last one is open, the threads in it, and whether to stop.
_ADDRESSES = ("lock", "begun", "done", "run", "argument")
_FIELDS = (*_ADDRESSES, "turn", "open", "active", "stop")
_SYNC_WORDS = 32  # more than a lock or a condition takes on any system
_ENTER = "".join(
    f"  %{name}.at = getelementptr i64, ptr %pool, i64 {i}\n" for i, name in enumerate(_FIELDS)
)
_ENTER += "".join(f"  %{name} = load ptr, ptr %{name}.at\n" for name in _ADDRESSES)
_ENTER += "  call i32 @lock(ptr %lock)\n"
_TEXT = """
target triple = "{triple}"
declare i32 @lock(ptr)
declare i32 @unlock(ptr)
declare i32 @wait(ptr, ptr, i32, i32)
declare i32 @wake(ptr)

define void @serve(ptr %pool, i64 %k) {{
{enter}  br label %look
look:
  %seen = phi i64 [0, %0], [%seen, %sleep], [%turn, %finish], [%turn, %tell]
  %stop = load i64, ptr %stop.at
  %ends = icmp ne i64 %stop, 0
  br i1 %ends, label %end, label %ask
ask:
  %turn = load i64, ptr %turn.at
  %open = load i64, ptr %open.at
  %new = icmp ne i64 %turn, %seen
  %is.open = icmp ne i64 %open, 0
  %joins = and i1 %new, %is.open
  br i1 %joins, label %join, label %sleep
sleep:
  call i32 @wait(ptr %begun, ptr %lock, i32 -1, i32 0)
  br label %look
join:
  %active = load i64, ptr %active.at
  %more = add i64 %active, 1
  store i64 %more, ptr %active.at
  call i32 @unlock(ptr %lock)
  call void %run(ptr %argument, i64 %k)
  call i32 @lock(ptr %lock)
  br label %finish
finish:
  %now = load i64, ptr %active.at
  %fewer = sub i64 %now, 1
  store i64 %fewer, ptr %active.at
  %last = icmp eq i64 %fewer, 0
  br i1 %last, label %tell, label %look
tell:
  call i32 @wake(ptr %done)
  br label %look
end:
  call i32 @unlock(ptr %lock)
  ret void
}}

define void @lead(ptr %pool) {{
{enter}  %turn = load i64, ptr %turn.at
  %next = add i64 %turn, 1
  store i64 %next, ptr %turn.at
  store i64 1, ptr %open.at
  call i32 @wake(ptr %begun)
  call i32 @unlock(ptr %lock)
  call void %run(ptr %argument, i64 0)
  call i32 @lock(ptr %lock)
  store i64 0, ptr %open.at
  br label %look
look:
  %active = load i64, ptr %active.at
  %none = icmp eq i64 %active, 0
  br i1 %none, label %end, label %sleep
sleep:
  call i32 @wait(ptr %done, ptr %lock, i32 -1, i32 0)
  br label %look
end:
  call i32 @unlock(ptr %lock)
  ret void
}}

define void @stop(ptr %pool) {{
{enter}  store i64 1, ptr %stop.at
  call i32 @wake(ptr %begun)
  call i32 @unlock(ptr %lock)
  ret void
}}
"""
# The system's functions by their names above; `wait` is given a time limit that only Windows reads.
_POSIX = {
    "lock": "pthread_mutex_lock",
    "unlock": "pthread_mutex_unlock",
    "wait": "pthread_cond_wait",
    "wake": "pthread_cond_broadcast",
}
_WINDOWS = {
    "lock": "AcquireSRWLockExclusive",
    "unlock": "ReleaseSRWLockExclusive",
    "wait": "SleepConditionVariableSRW",
    "wake": "WakeAllConditionVariable",
}
_Pool = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Serve = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


@functools.cache
def _system() -> ctypes.CDLL:
    return ctypes.CDLL("kernel32" if os.name == "nt" else None)


@functools.cache
def _code() -> Code:
    names = _WINDOWS if os.name == "nt" else _POSIX
    external = {
        name: ctypes.cast(getattr(_system(), function), ctypes.c_void_p).value or 0
        for name, function in names.items()
    }
    text = _TEXT.format(triple=llvm.get_default_triple(), enter=_ENTER)
    return Code({}, text, ("serve", "lead", "stop"), external)


class Workers:
    """Threads that take part in each call.

    Those that wake up after the calling thread has found nothing left to do are not waited for.

    Args:
        run: address of a function of an address and a thread's number, which takes parts of the
            work until none is left.
        argument: this address.
        count: number of threads, with the calling one, whose number is 0.
    """

    def __init__(self, run: int, argument: int, count: int) -> None:
        pool = np.zeros(len(_FIELDS), dtype=np.int64)
        sync = np.zeros((3, _SYNC_WORDS), dtype=np.int64)
        pool[: len(_ADDRESSES)] = *(int(row.ctypes.data) for row in sync), run, argument
        if os.name != "nt":  # where zeros will do
            lock, *conditions = (ctypes.c_void_p(row.ctypes.data) for row in sync)
            _system().pthread_mutex_init(lock, None)
            for condition in conditions:
                _system().pthread_cond_init(condition, None)
        addresses, self._at = _code().addresses, int(pool.ctypes.data)
        self._lead = _Pool(addresses["lead"])
        serve, threads = _Serve(addresses["serve"]), list[threading.Thread]()
        self.close = weakref.finalize(self, _close, pool, sync, threads, os.getpid())
        for k in range(1, count):
            name, arguments = f"mjgym-step-{k}", (self._at, k)
            thread = threading.Thread(target=serve, args=arguments, name=name, daemon=True)
            thread.start()
            threads.append(thread)

    def __call__(self) -> None:
        """Run the function in all threads and wait for them to finish."""
        self._lead(self._at)


def _close(
    pool: np.ndarray, sync: np.ndarray, threads: list[threading.Thread], process: int
) -> None:
    """End the threads, which use both arrays; a forked child has none of them."""
    if os.getpid() != process:
        return
    _Pool(_code().addresses["stop"])(int(pool.ctypes.data))
    for thread in threads:
        thread.join()
