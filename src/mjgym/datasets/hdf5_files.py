"""HDF5 files of demonstrations in the layout of robomimic and robosuite, complete or truncated."""

import contextlib
import importlib
import importlib.util
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.datasets.formats import SUFFIXES
from mjgym.datasets.recording import DAMAGE, MOST_BYTES, DemonstrationError
from mjgym.util.packaged import install
from mjgym.util.suggestions import did_you_mean

REFERENCES = "demos"  # of a file of this package, to its demonstrations
INSTALL = install("robomimic")
SHOWN = 3  # damaged demonstrations that a note names
END = 1 << 48  # larger than any file
HELD = "is being written by another process: wait until that has closed it"


def h5py() -> Any:
    """The module h5py; DemonstrationError if it is not installed."""
    if importlib.util.find_spec("h5py") is None:
        raise DemonstrationError(f"HDF5 needs h5py: {INSTALL}")
    return importlib.import_module("h5py")


class Seekable(io.RawIOBase):
    """Base class of file objects over a file on disk, with positions and seeking."""

    def __init__(self, path: Path, end: int | None = None) -> None:
        self._file = path.open("rb")
        self._size = path.stat().st_size
        self._end = self._size if end is None else end
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[whence]
        return self._at

    def close(self) -> None:
        self._file.close()
        super().close()


class _Padded(Seekable):
    """A truncated file, padded with zeros."""

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        self._file.seek(min(self._at, self._size))
        content = self._file.read(len(view))
        view[: len(content)] = content
        view[len(content) :] = bytes(len(view) - len(content))
        self._at += len(view)
        return len(view)


class File:
    """An HDF5 file of demonstrations; complete ones can be read even if it is truncated.

    Attributes:
        attributes: of the group `data`.
        demos: names of complete groups, in order.
        note: what is missing or damaged, and why; empty if complete.

    Raises:
        DemonstrationError: h5py is not installed, or there is no such file, or no demonstration.
    """

    def __init__(self, name: str) -> None:
        self._h5py = h5py()
        self._path = Path(name).expanduser()
        self.name = name
        self._cut: int | None = None  # size of a truncated file
        self.note = ""
        if not self._path.is_file():
            near = [str(p) for p in self._path.parent.glob("*") if p.suffix in SUFFIXES]
            raise DemonstrationError(f"there is no file {name!r}{did_you_mean(name, near)}")
        try:
            with self._h5py.File(self._path, "r"):
                pass
        except BlockingIOError:
            raise DemonstrationError(f"{name!r} {HELD}") from None
        except OSError as error:
            if "truncated" not in str(error):
                raise DemonstrationError(f"{name!r} is no HDF5 file: {error}") from None
            self._cut = self._path.stat().st_size
        with self._opened() as file:
            try:
                if "data" in file and not _is_inside(file, "data"):
                    raise DemonstrationError(f'{name!r}: its group "data" leads elsewhere')
                self.attributes = dict(file["data"].attrs)
            except DemonstrationError:
                raise
            except DAMAGE:
                cut = " that is left after it has been cut off" * (self._cut is not None)
                raise DemonstrationError(
                    f'{name!r} has no group "data" of demonstrations{cut}'
                ) from None
            damage = {demo: self._damage(file, demo) for demo in self._names(file)}
        self.demos = [demo for demo, reason in damage.items() if not reason]
        reasons = [f"{demo}: {reason}" for demo, reason in damage.items() if reason]
        if self._cut is not None:
            self.note = f"{name!r} has been cut off: {len(self.demos)} whole episodes are left"
        elif reasons:
            more = f"; and {len(reasons) - SHOWN} more" * (len(reasons) > SHOWN)
            self.note = (
                f"{name!r}: {len(reasons)} of {len(damage)} episodes are damaged and left out:"
                f" {'; '.join(reasons[:SHOWN])}{more}"
            )

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        if self._cut is None:
            with self._h5py.File(self._path, "r") as file:
                yield file
        else:
            with _Padded(self._path, END) as padded, self._h5py.File(padded, "r") as file:
                yield file

    def _names(self, file: Any) -> list[str]:
        """List the demonstrations in order; in a truncated file, those that may still be there."""
        if self._cut is not None and REFERENCES in file:
            with contextlib.suppress(*DAMAGE):
                numbers = [k for k, reference in enumerate(file[REFERENCES][:]) if reference]
                return [f"demo_{k}" for k in numbers]
        names: list[str] = []
        with contextlib.suppress(*DAMAGE):
            names = [name for name in file["data"] if re.fullmatch(r"demo_\d+", name)]
        return sorted(names, key=lambda name: int(name.partition("_")[2]))

    def _group(self, file: Any, name: str) -> Any:
        if self._cut is not None and REFERENCES in file:
            return file[file[REFERENCES][int(name.partition("_")[2])]]
        if not _is_inside(file["data"], name):
            raise ValueError("it leads elsewhere")
        return file["data"][name]

    def _damage(self, file: Any, name: str) -> str:
        try:
            demo = self._group(file, name)
            if hasattr(demo["actions"], "values"):
                return "its actions are a group, no array"
            steps = len(demo["actions"])
            if not steps:
                return "it has no actions"
            stated = demo.attrs.get("num_samples", steps)
            if stated != steps:
                return f"num_samples is {stated}, the number of its actions {steps}"
            if self._cut is not None and any(_end(x) > self._cut for x in _datasets(demo)):
                return "it is cut off"
        except DAMAGE as error:
            return str(error) or type(error).__name__
        return ""

    @contextlib.contextmanager
    def demo(self, number: int) -> Iterator[Any]:
        """Context manager: the group of a demonstration, by its number from 0."""
        name = self.demos[number]
        try:
            with self._opened() as file:
                group = self._group(file, name)
                require_bounded(group)
                yield group
        except DAMAGE as error:
            raise DemonstrationError(f"{self.name!r}: {name} is damaged: {error}") from None


def _is_inside(group: Any, name: str) -> bool:
    return isinstance(group.get(name, getlink=True), h5py().HardLink)


def _datasets(root: Any) -> Iterator[Any]:
    """The datasets below a group; ValueError for links out of the file or cycles."""
    left, visited = [root], set()
    while left:
        group = left.pop()
        if group.id in visited:
            raise ValueError(f"{group.name} contains itself")
        visited.add(group.id)
        for name in group:
            if not _is_inside(group, name):
                raise ValueError(f"{name} leads elsewhere")
            item = group[name]
            if hasattr(item, "values"):
                left.append(item)
            elif item.external or item.is_virtual:
                raise ValueError(f"{name} leads to another file")
            else:
                yield item


def flattened(group: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Arrays below a group, or nested dicts of them, by their paths: "state/qpos"."""
    for name, item in group.items():
        if hasattr(item, "values"):
            yield from flattened(item, f"{before}{name}/")
        else:
            yield f"{before}{name}", item[()]


def require_bounded(group: Any) -> None:
    """Raise ValueError if datasets below a group are too large to read, or outside the file."""
    size = sum(int(dataset.nbytes) for dataset in _datasets(group))
    if size > MOST_BYTES:
        raise ValueError(f"its arrays have {size:,} bytes; {MOST_BYTES:,} are the most")


def _end(dataset: Any) -> int:
    low = dataset.id
    if dataset.chunks is None:
        return int(low.get_offset() or 0) + int(low.get_storage_size())
    chunks = [low.get_chunk_info(i) for i in range(low.get_num_chunks())]
    return max((int(chunk.byte_offset) + int(chunk.size) for chunk in chunks), default=0)
