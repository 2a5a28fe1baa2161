"""The code blocks of a Markdown file, and programs that run them."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers.forks import Forks, run_alone
from helpers.places import ASSETS, ROOT

README = ROOT / "README.md"
FOLDER = ASSETS / "guides"
GUIDES = sorted(FOLDER.glob("*.md"))
CLIENTS = FOLDER / "clients.md"  # each of its sections is a program of its own
NEEDS = {  # what a section of that is about, beside the package
    "stable-baselines3": ["stable_baselines3"],
    "TorchRL": ["torchrl"],
    "RLlib": ["ray"],
    "Minari": ["minari", "jax"],
    "dm_env": ["dm_env"],
}
EXTRAS = {  # that a page needs
    "gpu": ("mujoco_warp", "gpu"),
    "cluster": ("ray", "ray"),
    "exchange": ("h5py", "robomimic"),
    "dm_control": ("dm_control", "dm-control"),
    "robosuite": ("robosuite.macros", "robosuite"),  # the tests have a folder of that name
}
# What needs packages that do not go with those of the other tests runs from the checkout, where
# these are. All else runs once, from the wheel, in `test_package`.
APART = (*EXTRAS, "RLlib", "Minari")
# What trains for hours is tried with few steps: a text of a page, and what is run instead.
SHORTER = {
    "learning_starts=1_000": "learning_starts=9_000",  # episodes to plot, and no training
    "total_timesteps=20_000": "total_timesteps=4_000",
    "steps=2_048,  # a first try": "steps=512,",
    "learn(100_000)": "learn(150)",
    'PPO("MlpPolicy", sb3.make_vec("dmc/walker-walk-v0", 16))': (
        'PPO("MlpPolicy", sb3.make_vec("dmc/walker-walk-v0", 16), n_steps=8, n_epochs=1)'
    ),
    "total_frames=1_000_000)": "total_frames=1600)\nassert len(list(collector)) == 1",
    "env_runners(num_env_runners=2)": (
        "env_runners(num_env_runners=1)"
        ".training(train_batch_size_per_learner=200, minibatch_size=100, num_epochs=1)"
    ),
}
_BLOCK = re.compile(r"(?:<!-- module: (\w+) -->\n)?```python( gl)?\n(.*?)```", re.DOTALL)


def modules(page: Path) -> dict[str, str]:
    """The blocks that are modules of their own, by name."""
    return {name: code for name, _, code in _BLOCK.findall(page.read_text()) if name}


def needs_gl(page: Path) -> bool:
    """Whether a block draws."""
    return any(gl for _, gl, _ in _BLOCK.findall(page.read_text()))


def program(page: Path) -> str:
    """All other blocks one after the other, each at the line where it stands on the page."""
    text = page.read_text()
    lines = [""] * text.count("\n")
    for block in _BLOCK.finditer(text):
        if not block[1]:
            first = text.count("\n", 0, block.start(3))
            code = block[3].splitlines()
            lines[first : first + len(code)] = code
    return "\n".join(lines)


def pages(*, apart: bool) -> list[Path]:
    """The README and the guides that have blocks to run, from top to bottom; see `APART`."""
    shown = [p for p in (README, *GUIDES) if p != CLIENTS and program(p).strip()]
    return [p for p in shown if (p.stem in APART) == apart]


def sections(*, apart: bool) -> dict[str, str]:
    """The sections of the guide to clients that show code, by title: a program each."""
    found = {}
    for section in re.split(r"^## ", CLIENTS.read_text(), flags=re.MULTILINE)[1:]:
        code = "\n".join(block[3] for block in _BLOCK.finditer(section) if not block[1])
        if code:
            found[section.partition("\n")[0]] = code
    return {title: code for title, code in found.items() if (title in APART) == apart}


def need(title: str) -> None:
    """Skip a test of a section whose client is not installed."""
    for module in NEEDS.get(title, ()):
        if not _is_installed(module):
            pytest.skip(f"{module} is not installed")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its package
        return False


def need_extra(page: Path) -> None:
    """Skip a test of a page whose extra is not installed."""
    module, extra = EXTRAS.get(page.stem, ("mjgym", ""))
    if not _is_installed(module):
        pytest.skip(f'needs pip install -e ".[{extra}]"')


def run(
    code: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    forks: Forks | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program in a folder, shortened, with the modules of all pages at hand.

    Args:
        code: the program.
        folder: that it runs in.
        environment: variables; by default this process's, and its search path.
        forks: what runs it; by default this process's Python.
    """
    write_modules(folder, README, *GUIDES)
    for long, short in SHORTER.items():
        code = code.replace(long, short)
    path = folder / "page_code.py"
    path.write_text(code)
    if environment is None:
        search = os.pathsep.join(p for p in sys.path if p)
        environment = {**os.environ, "PYTHONPATH": search}
    environment = {**environment, "MINARI_DATASETS_PATH": str(folder / "datasets")}
    if forks is not None:
        return forks.run(path, folder=folder, environment=environment)
    return run_alone([sys.executable, str(path)], folder, environment)


def write_modules(folder: Path, *pages: Path) -> None:
    """Write the modules of some pages into a folder."""
    for page in pages:
        for name, code in modules(page).items():
            (folder / f"{name}.py").write_text(code)
