"""Inputs of the commands, damaged in many ways, and what each command makes of them.

Every command runs in a fork, with limits of the processor's time and of memory.
"""

import itertools
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch  # noqa: F401  (which takes long)
from typer.testing import CliRunner

from helpers import hostile
from mjgym import datasets
from mjgym.cli.app import app

SECONDS = 10  # of the processor
BYTES = 2**30
PATIENCE = 600.0  # s, for a command that waits for something
NOBODY = 65534

MODEL = "<body><joint/><geom size='1'/></body>" * 50
DEEP = {
    ".xml": f"<mujoco><worldbody>{'<body>' * 50_000}{'</body>' * 50_000}</worldbody></mujoco>",
    ".yaml": f"id: {'[' * 50_000}{']' * 50_000}",
    ".py": f"x = {'[' * 50_000}{']' * 50_000}",
}
ALIASES = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
REPLICATES = '<replicate count="100">' * 5, "</replicate>" * 5
BOMBS = {
    ".xml": f"<mujoco><worldbody>{REPLICATES[0]}<site/>{REPLICATES[1]}</worldbody></mujoco>",
    ".yaml": "\n".join(["a0: &a0 [x, x]", *ALIASES, "id: *a11"]),
}
ID = hostile.ID
COMMANDS = {  # the damaged file, and the words
    "mjcf check": ("m.xml", "mjcf check m.xml"),
    "mjcf diff": ("m.xml", "mjcf diff GOOD/m.xml m.xml"),
    "mjcf edit": ("m.xml", "mjcf edit m.xml //geom --set size=2"),
    "replay": ("d.hdf5", "replay d.hdf5 --check"),
    "convert": ("d.hdf5", "convert d.hdf5 new.hdf5"),
    "evaluate a file": ("p.npz", f"evaluate p.npz --id {ID} --episodes 1"),
    "fingerprint": ("f.npz", f"fingerprint {ID} --against f.npz"),
    "evaluate settings": ("run/config.yaml", "evaluate run --episodes 1"),
    "evaluate a policy": ("run/policy.npz", "evaluate run --episodes 1"),
    "export": ("run/policy.npz", "export run --hub hub"),
    "compare": ("run/metrics.csv", "compare run"),
    "ensemble": ("run/policy.npz", "ensemble run run --by mean --out e.npz"),
    "submit": ("run/config.yaml", "submit run --table table"),
    "train": ("c.yaml", f"train sac {ID} --config c.yaml --out new --steps 9"),
    "check": ("t.py", "check t.py"),
    "info": ("t.py", "info t.py"),
    "mocap": ("m.amc", "mocap m.amc"),
}


def write_whole(folder: Path) -> None:
    """Write each file as it is when it is whole, but for `f.npz`, which is no fingerprint."""
    (folder / "m.xml").write_text(f"<mujoco><worldbody>{MODEL}</worldbody></mujoco>")
    run = hostile.run_folder(folder / "run", {})
    lines = [f"a,{ID},0,evaluation/return,1,1.5"] * 20
    header = "exp_name,env_name,seed,metric,env_step,value"
    (run / "metrics.csv").write_text("\n".join([header, *lines, ""]))
    (folder / "c.yaml").write_text("{num_envs: 2, hidden: [8, 8], evaluations: 1, batch_size: 8}")
    for name in ("p.npz", "f.npz"):
        shutil.copy(run / "policy.npz", folder / name)
    env = datasets.record(gym.make("dmc/pendulum-swingup-v0"), str(folder / "d.hdf5"))
    env.reset(seed=0)
    for _ in range(20):
        env.step(np.zeros(1, np.float32))
    env.keep()
    env.close()
    (folder / "t.py").write_text(f"import mjgym\nx = ({'1,' * 300})\n")
    frames = "".join(f"{k}\nroot 0 0 0 0 0 0\n" for k in range(1, 31))
    (folder / "m.amc").write_text(f":FULLY-SPECIFIED\n:DEGREES\n{frames}")


ALLOWED = {
    ("compare", "cut"),  # which a killed run leaves, and is read as far as it goes
    ("train", "a pipe"),  # settings may come from one, so its writer is waited for
}
Damage = Callable[[Path, bytes, random.Random], object]


def _flipped(file: Path, content: bytes, rng: random.Random) -> None:
    changed = bytearray(content)
    for k in range(rng.randrange(8), len(changed), 8):
        changed[k] ^= 0x80 | rng.randrange(128)
    file.write_bytes(changed)


def _huge(file: Path, content: bytes, rng: random.Random) -> None:
    with file.open("wb") as opened:
        opened.truncate(3 * 2**30)


def _another_format(file: Path, content: bytes, rng: random.Random) -> None:
    file.write_bytes(b"\x89HDF\r\n\x1a\n" if file.suffix == ".npz" else b"PK\x03\x04")
    with file.open("ab") as opened:
        opened.write(rng.randbytes(1000))


def _no_rights(file: Path, content: bytes, rng: random.Random) -> None:
    file.write_bytes(content)
    file.chmod(0)


DAMAGES: dict[str, Damage] = {
    "cut": lambda file, content, rng: file.write_bytes(content[: len(content) // 2]),
    "short": lambda file, content, rng: file.write_bytes(content[: rng.randrange(1, 9)]),
    "flipped": _flipped,
    "random": lambda file, content, rng: file.write_bytes(rng.randbytes(5000)),
    "empty": lambda file, content, rng: file.write_bytes(b""),
    "huge": _huge,
    "long": lambda file, content, rng: file.write_bytes(b"[ <" * 200_000),
    "deep": lambda file, content, rng: file.write_text(DEEP.get(file.suffix, "[" * 200_000)),
    "bomb": lambda file, content, rng: file.write_text(BOMBS.get(file.suffix, "&a" * 1000)),
    "another format": _another_format,
    "a folder": lambda file, content, rng: file.mkdir(),
    "missing": lambda file, content, rng: None,
    "no rights": _no_rights,
    "a device": lambda file, content, rng: file.symlink_to("/dev/zero"),
    "a pipe": lambda file, content, rng: os.mkfifo(file),
}


def outcome(words: list[str], *, lowly: bool) -> tuple[int, str, int]:
    """Exit status of a command, all that it has printed, and the memory that it took, in bytes.

    Args:
        lowly: as a user without rights, where this one has all.
    """
    with tempfile.TemporaryFile() as said:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if not (child := os.fork()):
            for stream in (1, 2):
                os.dup2(said.fileno(), stream)
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
            resource.setrlimit(resource.RLIMIT_AS, (12 * BYTES, 12 * BYTES))
            if lowly and os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            done = CliRunner().invoke(app, words)
            wrong = done.exception is not None and not isinstance(done.exception, SystemExit)
            print(done.output, f"Traceback of {done.exception!r}" if wrong else "", flush=True)
            os._exit(done.exit_code)
        end = time.monotonic() + PATIENCE
        while not (ended := os.wait4(child, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.kill(child, 9)
            time.sleep(0.003)
        said.seek(0)
        memory = (ended[2].ru_maxrss - before) * 1024
        return os.waitstatus_to_exitcode(ended[1]), said.read().decode(), memory


def fault(status: int, said: str, memory: int, left: set[Path]) -> str:
    """A complaint about a command that was given a damaged file, or an empty text."""
    for wrong, what in (
        (status not in (1, 2), f"status {status}"),
        ("Traceback" in said, "a traceback"),
        (memory > BYTES, f"{memory:,} bytes"),
        (bool(left), f"other files: {sorted(map(str, left))}"),
    ):
        if wrong:
            return f"{what}: {said[-300:]}"
    return ""


def main(every: int, first: int) -> None:
    """Print the number of damaged inputs that were tried, and what went wrong, as JSON.

    Args:
        every: one of as many is tried.
        first: the first of them.
    """
    os.umask(0o022)
    top = Path(tempfile.mkdtemp())
    top.chmod(0o755)
    good = top / "good"
    good.mkdir()
    write_whole(good)
    os.chdir(top)
    for _, words in COMMANDS.values():  # what they import by and by
        CliRunner().invoke(app, words.replace("new", "good").split())
    pairs = itertools.product(COMMANDS, DAMAGES)
    cases = [(name, damage) for name, damage in pairs if (name, damage) not in ALLOWED]
    faults, tried = [], range(first, len(cases), every)
    for number in tried:
        (name, damage), place = cases[number], top / f"case{number}"
        target, words = COMMANDS[name]
        place.mkdir()
        if "/" in target:
            shutil.copytree(good / "run", place / "run")
            (place / target).unlink()
        DAMAGES[damage](place / target, (good / target).read_bytes(), random.Random(number))
        os.chdir(place)
        before = set(place.rglob("*"))
        done = outcome(words.replace("GOOD", str(good)).split(), lowly=damage == "no rights")
        left = {path for path in place.rglob("*") if "__pycache__" not in path.parts}
        if what := fault(*done, before ^ left):
            faults.append(f"{name}, {damage}: {what}")
        os.chdir(top)
        shutil.rmtree(place)
    shutil.rmtree(top)
    json.dump([len(tried), faults], sys.stdout)
