"""HDF5 files that a killed process leaves as they were before a change, or after it.

HDF5 itself overwrites parts of a file in no particular order. Here the pages that a change touches
are gathered in memory; new ones are appended, those to be overwritten are first written to a
journal beside the file. The next process that opens the file completes the journal.
"""

import contextlib
import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.datasets.hdf5_files import HELD, Seekable, h5py
from mjgym.util import atomic

PAGE = 4096  # bytes
PATIENCE = 10.0  # s, with another process that holds a file
_RECORD = np.dtype([("page", "<i8"), ("content", "u1", (PAGE,))])


class _Pages(Seekable):
    """A file whose changes stay in memory, in whole pages."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.changed: dict[int, bytearray] = {}

    def writable(self) -> bool:
        return True

    def truncate(self, size: int | None = None) -> int:
        self._end = self._at if size is None else size
        return self._end

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._end - self._at))
        for page, begin, end, done in self._page_spans(count):
            content = self.changed.get(page) or self._read(page)
            view[done : done + end - begin] = content[begin:end]
        self._at += count
        return count

    def write(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        for page, begin, end, done in self._page_spans(len(view)):
            if page not in self.changed:
                self.changed[page] = self._read(page)
            self.changed[page][begin:end] = view[done : done + end - begin]
        self._at += len(view)
        self._end = max(self._end, self._at)
        return len(view)

    def _page_spans(self, count: int) -> Iterator[tuple[int, int, int, int]]:
        """The page, where to begin and end in it, and how many bytes came before."""
        done = 0
        while done < count:
            page, begin = divmod(self._at + done, PAGE)
            end = min(PAGE, begin + count - done)
            yield page, begin, end, done
            done += end - begin

    def _read(self, page: int) -> bytearray:
        self._file.seek(page * PAGE)
        return bytearray(self._file.read(PAGE).ljust(PAGE, b"\0"))


@contextlib.contextmanager
def creating(path: Path, **options: Any) -> Iterator[Any]:
    """Context manager: a new HDF5 file, made in memory: HDF5 itself dies of a full disk."""
    content = io.BytesIO()
    with h5py().File(content, "w", **options) as file:
        yield file
    path.write_bytes(content.getbuffer())


@contextlib.contextmanager
def changing(path: Path) -> Iterator[Any]:
    """Context manager: an HDF5 file to be changed, wholly or, after an exception, not at all."""
    with atomic.alone(path), _unheld(path):
        _finish(path)
        with _Pages(path) as pages:
            with h5py().File(pages, "r+") as file:
                yield file
            _commit(path, pages.changed)


@contextlib.contextmanager
def _unheld(path: Path) -> Iterator[None]:
    """Wait for HDF5's lock on a file and hold it."""
    end = time.monotonic() + PATIENCE
    with path.open("rb") as file:
        while not atomic.lock(file.fileno()):
            if time.monotonic() > end:
                raise BlockingIOError(HELD)
            time.sleep(0.1)
        yield


def finish(path: Path) -> None:
    """Complete the change that a killed process left in a file's journal."""
    if _journal(path).exists():
        with atomic.alone(path):
            _finish(path)


def _journal(path: Path) -> Path:
    return path.with_name(f".{path.name}.journal")


def _commit(path: Path, changed: dict[int, bytearray]) -> None:
    pages_before = -(-path.stat().st_size // PAGE)
    with path.open("r+b") as file:
        for page in sorted(changed):
            if page >= pages_before:
                file.seek(page * PAGE)
                file.write(changed[page])
        file.flush()
        os.fsync(file.fileno())
    overwritten = [page for page in sorted(changed) if page < pages_before]
    records = np.zeros(len(overwritten), _RECORD)
    records["page"] = overwritten
    for record, page in zip(records, overwritten, strict=True):
        record["content"] = np.frombuffer(changed[page], np.uint8)
    with atomic.replacing(_journal(path)) as part, part.open("wb") as file:
        np.save(file, records)
        file.flush()
        os.fsync(file.fileno())
    _finish(path)


def _finish(path: Path) -> None:
    journal = _journal(path)
    if not journal.exists():
        return
    if path.is_symlink():  # a stranger's dataset could have any other file overwritten
        raise ValueError(f"{path} leads elsewhere")
    mapped = np.lib.format.open_memmap(journal, mode="r")
    if mapped.dtype != _RECORD or mapped.ndim != 1:
        raise ValueError(f"{journal} is damaged")
    pages = -(-path.stat().st_size // PAGE)
    # The count before all are read: a journal may promise any number.
    records = np.array(mapped[: pages + 1])
    del mapped  # Windows removes no file that is mapped
    if len(records) > pages or not ((records["page"] >= 0) & (records["page"] < pages)).all():
        raise ValueError(f"{journal} is of another file")
    with path.open("r+b") as file:
        for page, content in records:
            file.seek(int(page) * PAGE)
            file.write(content.tobytes())
        file.flush()
        os.fsync(file.fileno())
    journal.unlink()
