"""Files and folders that are written whole or not at all.

A full disk, an error or Ctrl-C in the middle of writing leaves what was there before.
"""

import contextlib
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

    It lies in the same folder and has the same suffix; after an exception it is removed, and what
    was at `path` is untouched. A link goes on leading where it led, a file that was there keeps its
    permissions. What is no file, as /dev/stdout, is given itself: nothing can take its place.

    Raises:
        OSError: its folder is not there or cannot be written to; said before anything is written.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        yield target
        return
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
            part.chmod(0o666 & ~mask)  # as any new file; temporary ones are for their owner alone
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def require_new(path: str | Path) -> None:
    """Check that nothing would be overwritten.

    Raises:
        FileExistsError: there is such a file or folder.
    """
    if Path(path).exists():
        raise FileExistsError(f"{path} is there already")


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file atomically, see `replacing`.

    Raises:
        OSError: it cannot be written; what was there is untouched.
    """
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file atomically, see `replacing`.

    Raises:
        OSError: it cannot be written; what was there is untouched.
    """
    write_bytes(path, text.encode())


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several files, all of them or none; folders are made where there are none.

    Raises:
        OSError: one cannot be written; what was there is untouched.
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

    It lies within `folder`, which is made with its parents if it is not there; after an exception
    both are as they were. Entries that `folder` has already must not be among the new ones.

    Raises:
        OSError: the folder cannot be made or written to.
    """
    folder = Path(folder)
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
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
        for parent in made:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


@contextlib.contextmanager
def alone(path: str | Path) -> Iterator[None]:
    """Context manager: waits until no other process of this user is in it for that path.

    For what is read, changed and written again. The lock is a file among the temporary ones, which
    the system gives up with the process that holds it.
    """
    places = f"{Path.home()} {Path(path).resolve()}"  # other users cannot open our file
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
