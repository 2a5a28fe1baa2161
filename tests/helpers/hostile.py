"""Run folders and datasets of somebody who wants their code to run, or the reader to fall over."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import yaml

import mjgym
from mjgym.policies import trained

ID = "dmc/cartpole-swingup-v0"
OWN = "own/evil-v0"  # which only evil.py registers
EVIL = """\
open("PWNED", "w").close()
from mjgym.task import register
# register("own/evil-v0")
X = C = open
"""

RUNS: dict[str, dict[str, Any]] = {
    "id of the working folder": {"id": OWN},
    "id with a module": {"id": f"evil:{OWN}"},
    "id of a file": {"id": "evil.py"},
    "id of a file by path": {"id": f"./evil.py:{OWN}"},
    "id with a colon alone": {"id": "evil:"},
    "module": {"module": "evil"},
    "module by path": {"module": "evil.py"},
    "task class": {"env": {"task_class": "evil:X"}},
    "task class, bare": {"env": {"task_class": "evil"}},
    "task class, no name": {"env": {"task_class": "evil:"}},
    "task class, unicode": {"env": {"task_class": "evil:Ä"}},
    "argument": {"env": {"anything": "evil:X"}},
    "argument in a list": {"env": {"anything": [["evil:X"]]}},
    "name of an argument": {"env": {"evil:X": 1}},
    "argument in a mapping": {"env": {"a": {"b": {"evil:X": 1}}}},
    "variation": {"env": {"vary": {"variation_class": "evil:X"}}},
    "evaluation": {"evaluation_env": {"task_class": "evil:X"}},
    "evaluation is a list": {"evaluation_env": ["evil:X"]},
    "env is a list": {"env": ["evil:X"]},
    "names are numbers": {"env": {1: 2}},
    "id is a number": {"id": 5},
    "entry point": {"env": {"entry_point": "evil:X"}},
}

LEARNERS: dict[str, dict[str, Any]] = {
    "critic": {"critic": "evil:C"},
    "critic, no name": {"critic": "evil:"},
    "critic, unicode": {"critic": "evil:Ä"},
    "critic, dotted": {"critic": "evil.sub:C"},
    "exploration": {"exploration": {"evil:C": 1.0}},
    "ensemble": {"ensemble": [{"critic": "evil:C"}]},
    "task class": {"env": {"task_class": "evil:X"}},
    "a file": {"critic": "evil.py"},
}


def tempt(folder: Path) -> None:
    """Put the code into a folder that would run if anything imported it."""
    (folder / "evil.py").write_text(EVIL)


def run_folder(folder: Path, changed: dict[str, Any]) -> Path:
    """A run of a real policy, whose settings are changed."""
    folder.mkdir()
    settings = {"algorithm": "td3", "id": ID, "module": "", "env": {}, "seed": 0, **changed}
    (folder / "config.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True))
    trained.bundled(ID).policy.save(folder / "policy.npz")
    return folder


def spec(**changed: Any) -> dict[str, Any]:
    """The specification of an environment as a dataset holds it, with changes."""
    plain: dict[str, Any] = json.loads(gymnasium.make(ID, max_episode_steps=9).spec.to_json())
    kwargs = {**plain["kwargs"], **changed.pop("kwargs", {})}
    return {**plain, "kwargs": kwargs, **changed}


WRAPPER = {"name": "Evil", "entry_point": "evil:X", "kwargs": {}}

SPECS: dict[str, Any] = {
    "entry point": {"entry_point": "subprocess:call", "kwargs": {"args": ["touch", "PWNED"]}},
    "entry point of a module here": {"entry_point": "evil:X"},
    "vector entry point": {"vector_entry_point": "evil:X"},
    "task class": {"kwargs": {"task_class": "evil:X"}},
    "task class, bare": {"kwargs": {"task_class": "evil"}},
    "argument": {"kwargs": {"anything": "evil:X"}},
    "wrapper": {"additional_wrappers": [WRAPPER]},
    "wrapper of Gymnasium": {"additional_wrappers": ["TimeAware"]},
    "id with a module": {"id": f"evil:{OWN}"},
    "id that is not registered": {"id": OWN},
    "no text as id": {"id": 5},
    "arguments that are no dict": {"kwargs": None},
    "limit": {"max_episode_steps": "9"},
}


def recorded(**changed: Any) -> dict[str, Any]:
    """The facts of this package's own files about a dataset."""
    return {
        "spec": {**spec(), **changed} if changed.get("kwargs", 0) is None else spec(**changed),
        "entries": None,
        "layout": {},
        "version": mjgym.__version__,
        "algorithm": "random",
        "description": "random",
    }


STEPS = 3


def arrays() -> dict[str, Any]:
    """A whole episode of an HDF5 file, all of zeros."""
    env = gymnasium.make(ID)
    seen, acted = env.observation_space.shape, env.action_space.shape
    return {
        "actions": np.zeros((STEPS, *acted)),
        "rewards": np.zeros(STEPS),
        "terminations": np.zeros(STEPS, bool),
        "truncations": np.zeros(STEPS, bool),
        "successes": np.zeros(STEPS, bool),
        "obs/flat": np.zeros((STEPS, *seen), np.float32),
        "next_obs/flat": np.zeros((STEPS, *seen), np.float32),
        "state/time": np.zeros((STEPS + 1,)),
        "state/qpos": np.zeros((STEPS + 1, 2)),
        "state/qvel": np.zeros((STEPS + 1, 2)),
    }


EPISODES: dict[str, dict[str, Any]] = {
    "actions NaN": {"actions": np.full((STEPS, 1), np.nan)},
    "actions too wide": {"actions": np.zeros((STEPS, 7))},
    "actions one-dimensional": {"actions": np.zeros(STEPS)},
    "actions text": {"actions": np.full((STEPS, 1), b"evil")},
    "actions complex": {"actions": np.zeros((STEPS, 1), complex)},
    "rewards NaN": {"rewards": np.full(STEPS, np.nan)},
    "rewards short": {"rewards": np.zeros(1)},
    "terminations short": {"terminations": np.zeros(1, bool)},
    "successes text": {"successes": np.full(STEPS, b"evil")},
    "observations short": {"next_obs/flat": np.zeros((1, 5), np.float32)},
    "observations missing": {"obs/flat": None},
    "observations text": {"obs/flat": np.full((STEPS, 5), b"x")},
    "states of no rows": {"state/qpos": np.zeros((0, 2))},
    "states of one number": {"state/qpos": np.float64(1.0)},
    "states text": {"state/qpos": np.full((STEPS + 1, 2), b"x")},
    "states NaN": {"state/qpos": np.full((STEPS + 1, 2), np.nan)},
    "states too wide": {"state/qpos": np.zeros((STEPS + 1, 9))},
    "seed negative": {"seed": -1},
    "seed text": {"seed": "evil"},
    "huge": {"rewards": (5_000_000_000_000,)},
    "huge states": {"state/qpos": (5, 1_000_000_000_000)},
}


def hdf5(path: Path, facts: Any, changed: dict[str, Any] | None = None) -> Path:
    """A file of one episode, as this package lays it out.

    Args:
        path: of the file.
        facts: its attribute "mjgym".
        changed: arrays that differ; None for none, a shape for a dataset without values.
    """
    import h5py

    with h5py.File(path, "w") as file:
        file["data/demo_0/num"] = 0
        demo = file["data/demo_0"]
        file["data"].attrs["mjgym"] = json.dumps(facts)
        for name, value in {**arrays(), **(changed or {})}.items():
            if name == "seed":
                demo.attrs["seed"] = value
            elif isinstance(value, tuple):
                demo.create_dataset(name, value, "f8", chunks=(1,) * len(value))
            elif value is not None:
                demo[name] = value
    return path


def robosuite_hdf5(path: Path, meta: Any, attribute: str = "env_args") -> Path:
    """A file of one episode, as robomimic lays it out for robosuite's environments."""
    import h5py

    with h5py.File(path, "w") as file:
        file["data/demo_0/actions"] = np.zeros((3, 7))
        file["data/demo_0/states"] = np.zeros((3, 10))
        file["data/demo_0"].attrs["model_file"] = "<mujoco/>"
        file["data"].attrs[attribute] = json.dumps(meta)
    return path


def lift(**kwargs: Any) -> dict[str, Any]:
    """robomimic's metadata of a task of robosuite's."""
    return {"env_name": "Lift", "type": 1, "env_kwargs": {"robots": "Panda", **kwargs}}


ROBOSUITE: dict[str, Any] = {
    "robots": lift(robots="evil:Panda"),
    "robots in a list": lift(robots=["evil:Panda"]),
    "gripper": lift(gripper_types="evil:Hand"),
    "controller": lift(controller_configs={"type": "evil:Law"}),
    "placement": lift(placement_initializer="evil:X"),
    "arguments are a list": {"env_name": "Lift", "type": 1, "env_kwargs": ["evil:X"]},
    "a list": ["evil:X"],
    "a name that is a list": {"env_name": ["evil:X"], "type": 1, "env_kwargs": {}},
}
