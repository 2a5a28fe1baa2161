"""Source code of a run: the package's commit, and copies of the user's modules."""

import contextlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import mjgym
from mjgym.util.code_references import is_packaged
from mjgym_train.config import Config
from mjgym_train.learn import thread_pools
from mjgym_train.run import code_of_learner


def commit() -> str:
    """The commit of the package's checkout, with "+" if files differ; empty outside a checkout."""
    folder = Path(mjgym.__file__).parent
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        tracked = _git(folder, "ls-files", "--", "__init__.py")
        if tracked:
            changed = _git(
                folder.parent, "status", "--porcelain", "--untracked-files=no", "--", "."
            )
            return _git(folder, "rev-parse", "HEAD") + ("+" if changed else "")
    return ""


def learner() -> dict[str, Any]:
    """The process that trains, for a fingerprint: PyTorch, thread pools, command and commit."""
    return {
        "torch": torch.__version__,
        "torch_threads": torch.get_num_threads(),
        "thread_pools": thread_pools.described(),
        "command": shlex.join(sys.argv),
        "source": commit(),
    }


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def keep(config: Config, algorithm: type, folder: Path) -> None:
    """Copy the files of the user's modules that a run uses.

    These are modules of the task, algorithms, critics and noise. Files of that name are replaced.
    """
    task = [config.module] if config.module else []
    names = [algorithm.__module__, *task, *code_of_learner(vars(config))]
    files = [Path(config.module)] if config.module.endswith(".py") else []
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        ours = is_packaged(name) or name.partition(".")[0] in sys.stdlib_module_names
        if file and not ours:
            files.append(Path(file))
    for file in dict.fromkeys(files):
        if file.is_file():
            folder.mkdir(exist_ok=True)
            shutil.copyfile(file, folder / file.name)
