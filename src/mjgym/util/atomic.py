"""Files and folders that are written completely or not at all.

A full disk, an error or Ctrl-C while writing leaves the old content.
"""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from mjgym.util.bounded import UserError


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Context manager: a temporary file that replaces `path` on success.

    It is in the same folder and has the same suffix; after an exception it is removed and `path` is
    untouched. A symbolic link is followed, and an existing file keeps its permissions. A special
    file such as /dev/stdout is written directly, as it cannot be replaced.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    require_folder(target)  # else the message would name the temporary file
    begin = f".{target.stem}-"
    _discard_left(target.parent, begin, target.suffix)
    handle, name = tempfile.mkstemp(target.suffix, f"{begin}{_this_process()}-", target.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        if target.exists():
            shutil.copymode(target, part)
        else:
            mask = os.umask(0)
            os.umask(mask)
            part.chmod(0o666 & ~mask)  # like a new file; temporary ones are private
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


_HOST = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:6]
_STAGE = ".part-"
_OWNER = re.compile(rf"{_HOST}-(\d+)-\w+")


def _discard_left(folder: Path, begin: str, end: str = "") -> None:
    """Remove temporary entries left by processes of this machine that have ended."""
    entries: list[Path] = []
    with contextlib.suppress(OSError):  # a folder may be writable and not readable
        entries += folder.iterdir() if sys.platform != "win32" else ()
    for entry in entries:
        if not (entry.name.startswith(begin) and entry.name.endswith(end)):
            continue
        middle = entry.name[len(begin) : len(entry.name) - len(end)]
        if (owner := _OWNER.fullmatch(middle)) is None or _lives(int(owner[1])):
            continue
        with contextlib.suppress(OSError):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _this_process() -> str:
    return f"{_HOST}-{os.getpid()}"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


@contextlib.contextmanager
def stage(folder: str | Path) -> Iterator[Path]:
    """Context manager: a temporary folder in `folder`, removed in the end.

    What a killed process has left of others there is removed too.
    """
    _discard_left(Path(folder), _STAGE)
    made = Path(tempfile.mkdtemp(prefix=f"{_STAGE}{_this_process()}-", dir=folder))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def require_folder(path: str | Path) -> None:
    """Raise OSError unless a file's folder exists and is writable."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "no file can be written there", str(folder))


def require_new(path: str | Path) -> None:
    if Path(path).exists():
        raise FileExistsError(f"{path} is there already")


def require_empty(folder: str | Path) -> None:
    """Raise FileExistsError unless a folder is new or empty."""
    folder = Path(folder)
    if folder.is_dir():
        _discard_left(folder, _STAGE)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already")


def write_bytes(path: str | Path, content: bytes) -> None:
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: str | Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several files, all of them or none; missing folders are created."""
    before = {path: path.read_bytes() if path.exists() else None for path in contents}
    folders = {parent for path in contents for parent in path.parents if not parent.exists()}
    try:
        with contextlib.ExitStack() as stack:
            for path, content in contents.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(replacing(path)).write_bytes(content)
    except BaseException:
        for path, content_before in before.items():
            if content_before is None:
                if path.is_file():
                    path.unlink()
            elif path.read_bytes() != content_before:
                write_bytes(path, content_before)
        for folder in sorted(folders, reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextlib.contextmanager
def filling(folder: str | Path) -> Iterator[Path]:
    """Context manager: a temporary folder whose entries move into `folder` on success.

    It is created in `folder`, which is created with its parents if missing; after an exception
    both are as they were. New entries must not exist in `folder`.
    """
    folder = Path(folder)
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with stage(folder) as made:
            yield made
            for entry in sorted(made.iterdir()):
                entry.rename(folder / entry.name)
    except BaseException:
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


@contextlib.contextmanager
def alone(path: str | Path) -> Iterator[None]:
    """Context manager: a lock for a path among the processes of this user.

    For files that are read, changed and written again. The lock is a temporary file, which the
    system unlocks when the process ends.
    """
    places = f"{Path.home()} {Path(path).resolve()}"  # other users cannot open this user's file
    name = hashlib.sha256(places.encode()).hexdigest()[:16]
    with (Path(tempfile.gettempdir()) / f"mjgym-{name}.lock").open("a+b") as file:
        while not lock(file.fileno()):
            time.sleep(0.05)
        yield


class HeldError(UserError, RuntimeError):
    """Another process holds a folder; the message names it."""


@contextlib.contextmanager
def held(folder: str | Path) -> Iterator[None]:
    """Context manager: this process alone works in a folder, which is made if it is not there.

    The system gives the lock up with the process that holds it, so that what a killed one has left
    holds nobody up. Folders that are made and still empty in the end are removed.
    """
    folder = Path(folder)
    new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    file = folder / ".lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(file) as stream:
            stream.truncate(0)
            began = time.strftime("%Y-%m-%d %H:%M:%S")
            stream.write(f"process {os.getpid()} on {socket.gethostname()} since {began}".encode())
            stream.flush()
            try:
                yield
            finally:
                if sys.platform != "win32":  # which cannot remove an open file
                    file.unlink(missing_ok=True)
    finally:
        for parent in new:
            with contextlib.suppress(OSError):
                parent.rmdir()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    while True:
        with path.open("a+b") as stream:
            if not lock(stream.fileno()):
                stream.seek(0)
                holder = stream.read(200).decode(errors="replace") or "another process"
                raise HeldError(f"{path.parent} is in use by {holder}")
            # Whoever held it may have removed the file since it was opened.
            if path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                yield stream
                return


if sys.platform == "win32":
    import msvcrt

    def lock(handle: int) -> bool:
        """Take the system's lock on an open file; False if another process holds it."""
        os.lseek(handle, 1 << 20, os.SEEK_SET)  # behind the content, which others may read
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock(handle: int) -> bool:
        """Take the system's lock on an open file; False if another process holds it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
