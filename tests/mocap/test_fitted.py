"""dm_control's HDF5 files of fitted motions: read, followed, converted and refused."""

import gymnasium as gym
import numpy as np
import pytest
from typer.testing import CliRunner

from helpers import fitted_clips
from helpers.fitted_clips import NAMES, STEP
from mjgym.cli.app import app
from mjgym.mocap import Trajectory, clip_names, read_fitted, subsets

h5py = pytest.importorskip("h5py")

ID = "locomotion/cmu_humanoid-tracking-v0"


@pytest.fixture
def clips(tmp_path):
    return fitted_clips.write(tmp_path / "clips.h5")


@pytest.fixture(scope="module")
def recorded():
    return fitted_clips.recorded()


def make(clips, **fields):
    usual = {"walker": "cmu_humanoid", "future": 1, "shortest": 2, "control_timestep": STEP}
    return gym.make(ID, clips=str(clips), **{**usual, **fields})


def test_states_are_those_of_the_file(clips, recorded):
    first, second = read_fitted(clips, clip_names(clips))
    assert (first.name, second.name) == NAMES
    assert first.humanoid == "2019"
    assert first.trajectory.timestep == STEP
    assert first.trajectory.qpos.shape == (10, 63)
    np.testing.assert_array_equal(first.trajectory.qpos[:, 7:], recorded["joints"][0].T)
    np.testing.assert_array_equal(second.trajectory.qvel[:, 3:6], recorded["angular_velocity"][1].T)


def test_poses_of_the_humanoid_are_those_of_the_published_one(clips, recorded):
    """Bodies and end effectors that dm_control recorded, from the joints alone."""
    reference = make(clips).unwrapped.task.references
    assert reference.clips == NAMES
    for k, first in enumerate(reference.first):
        rows = slice(first, first + 10)
        # Clips are lifted onto the ground as a whole.
        lift = np.array([0, 0, reference.position[first, 2] - recorded["position"][k, 2, 0]])
        bodies = recorded["body_positions"][k].T.reshape(10, -1, 3) + lift
        np.testing.assert_allclose(reference.bodies_pos[rows], bodies, atol=1e-9)
        turns = recorded["body_quaternions"][k].T.reshape(10, -1, 4)
        same = np.abs((reference.bodies_quats[rows] * turns).sum(axis=-1))
        np.testing.assert_allclose(same, 1, atol=1e-9)
        ends = recorded["appendages"][k].T
        np.testing.assert_allclose(reference.appendages[rows], ends, atol=1e-9)


def test_patterns_select_clips(clips):
    assert make(f"{clips}#cmuv2019_002").unwrapped.task.references.clips == NAMES[1:]
    assert clip_names(clips, "*_001, *_002") == NAMES
    with pytest.raises(ValueError, match=r"no clip 'cmuv2019_02'; did you mean cmuv2019_002"):
        make(f"{clips}#cmuv2019_02")
    with pytest.raises(ValueError, match=r"'walk' is no HDF5 file, from which '#run' could select"):
        make("walk#run")


def test_published_selections(tmp_path):
    path = tmp_path / "clips.h5"
    with h5py.File(path, "w") as file:
        for name in (*subsets()["get_up"], "CMU_001_01"):
            file.create_group(name)
    assert clip_names(path, "get_up") == tuple(sorted(subsets()["get_up"]))
    assert len(subsets()["all"]) == 836
    assert set(subsets()["locomotion_small"]) < set(subsets()["all"])
    with pytest.raises(ValueError, match="no clip 'CMU_016_22'"):
        clip_names(path, "walk_tiny")
    with pytest.raises(ValueError, match="no clip 'get_upp'; did you mean get_up"):
        clip_names(path, "get_upp")


def test_another_timestep_is_resampled(clips):
    env = make(clips, control_timestep=0.03)
    assert env.unwrapped.task.references.frames.tolist() == [16, 16]  # 0.45 s, every 0.03 s


def test_what_is_refused(clips):
    with pytest.raises(ValueError, match=r"clip 'cmuv2019_001' is fitted to the walker cmu_human"):
        make(clips, walker="cmu_humanoid_2020")
    with h5py.File(clips, "a") as file:
        walker = file[f"{NAMES[1]}/walkers/walker_0"]
        joints = walker["joints"][:]
        del walker["joints"]
        walker["joints"] = joints[:50]
    with pytest.raises(ValueError, match=r"clip 'cmuv2019_002': joints has the shape \(50, 10\)"):
        make(clips)
    with h5py.File(clips, "a") as file:
        del file[f"{NAMES[0]}/walkers/walker_0/velocity"]
    with pytest.raises(ValueError, match=r"clip 'cmuv2019_001': .*velocity"):
        make(clips)
    clips.write_bytes(b"none")
    with pytest.raises(ValueError, match=r"clips.h5 is no HDF5 file"):
        make(clips)


def test_the_command_describes_and_converts(clips, tmp_path):
    shown = CliRunner().invoke(app, ["mocap", str(clips)])
    assert shown.exit_code == 0
    assert shown.output.count("10 of the 2019 humanoid, every 0.05 s") == 2
    out = tmp_path / "one.npz"
    result = CliRunner().invoke(app, ["mocap", f"{clips}#*_002", "--out", str(out)])
    assert result.exit_code == 0, result.output
    (clip,) = read_fitted(clips, NAMES[1:])
    np.testing.assert_array_equal(Trajectory.load(out).qpos, clip.trajectory.qpos)
