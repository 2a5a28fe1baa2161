"""Two clips of dm_control 1.0.50's tests as an HDF5 file in the published layout."""

from pathlib import Path

import numpy as np
import pytest

from helpers.places import DATA

FIRST, SECOND = NAMES = ("cmuv2019_001", "cmuv2019_002")
STEP = 0.05  # s
STEPS = 10
BOX = {"name": b"box", "shape": 2, "size": (0.18, 0.13, 0.18), "mass": 3.0}


def recorded() -> dict[str, np.ndarray]:
    """The walker's arrays, (2, size, steps) each."""
    with np.load(DATA / "locomotion" / "fitted.npz") as file:
        return {name: file[name] for name in file if name != "dt"}


def write(path: Path) -> Path:
    """Write the file, with a box that lies still beside the walker."""
    h5py = pytest.importorskip("h5py")
    arrays = recorded()
    with h5py.File(path, "w") as file:
        for k, name in enumerate(NAMES):
            group = file.create_group(name)
            group.attrs.update({"dt": STEP, "num_steps": STEPS, "year": 2020, "month": 7, "day": 7})
            walker = group.create_group("walkers/walker_0")
            walker.attrs.update({"name": b"cmuv2019_CMU", "model": 1})
            for field, values in arrays.items():
                walker[field] = values[k]
            walker["center_of_mass"] = np.zeros((3, STEPS))  # as there
            walker["end_effectors"] = arrays["appendages"][k][:12]  # without the head
            box = group.create_group("props/prop_0")
            box.attrs.update(BOX)
            pose = {"position": (2.0, 0.0, 0.18), "quaternion": (1.0, 0.0, 0.0, 0.0)}
            still = {"velocity": (0.0,) * 3, "angular_velocity": (0.0,) * 3}
            for field, numbers in {**pose, **still}.items():
                box[field] = np.tile(np.array(numbers)[:, None], STEPS)
    return path
