"""Files and folders that are written completely or not at all.

A full disk, an error or Ctrl-C while writing leaves the old content.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Context manager: a temporary file that replaces `path` on success.

    It is in the same folder and has the same suffix; after an exception it is removed and `path` is
    untouched. A symbolic link is followed, and an existing file keeps its permissions. A special
    file such as /dev/stdout is written directly, as it cannot be replaced.

    Raises:
        OSError: its folder is missing or not writable; raised before anything is written.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    if not target.parent.is_dir():  # else the message would name the temporary file
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    handle, name = tempfile.mkstemp(target.suffix, f".{target.stem}-", target.parent)
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


def require_new(path: str | Path) -> None:
    """Raise FileExistsError if a file or folder would be overwritten."""
    if Path(path).exists():
        raise FileExistsError(f"{path} is there already")


def require_empty(folder: str | Path) -> None:
    """Raise FileExistsError unless a folder is new or empty."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already")


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file atomically, see `replacing`.

    Raises:
        OSError: it cannot be written; the old content is untouched.
    """
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file atomically, see `replacing`.

    Raises:
        OSError: it cannot be written; the old content is untouched.
    """
    write_bytes(path, text.encode())


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several files, all of them or none; missing folders are created.

    Raises:
        OSError: one cannot be written; the old contents are untouched.
    """
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

    Raises:
        OSError: the folder cannot be created or written to.
    """
    folder = Path(folder)
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    stage: Path | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".part-", dir=folder))
        yield stage
        for entry in sorted(stage.iterdir()):
            entry.rename(folder / entry.name)
        stage.rmdir()
    except BaseException:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)
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
        while not _lock(file.fileno()):
            time.sleep(0.05)
        yield


class HeldError(RuntimeError):
    """Another process holds a folder; the message names it."""


@contextlib.contextmanager
def held(folder: str | Path) -> Iterator[None]:
    """Context manager: this process alone works in a folder, which is made if it is not there.

    The system gives the lock up with the process that holds it, so that what a killed one has left
    holds nobody up. Folders that are made and still empty in the end are removed.

    Raises:
        HeldError: another process, or another part of this one, works there.
        OSError: the folder cannot be made or written to.
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
            if not _lock(stream.fileno()):
                stream.seek(0)
                holder = stream.read(200).decode(errors="replace") or "another process"
                raise HeldError(f"{path.parent} is in use by {holder}")
            # Whoever held it may have removed the file since it was opened.
            if path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                yield stream
                return


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> bool:
        os.lseek(handle, 1 << 20, os.SEEK_SET)  # behind the content, which others may read
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
