"""The models come from the installed Gymnasium, and another file than the tested is named."""

import shutil

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym
from mjgym.task.models import numbers
from mjgym.tasks.gymnasium import installed_models
from mjgym.tasks.gymnasium.half_cheetah_v5 import HalfCheetah
from mjgym.tasks.gymnasium.installed_models import TESTED
from mjgym.util.packaged import package_folder


@pytest.fixture
def another_gymnasium(tmp_path, monkeypatch):
    """The folder of the models of another version of Gymnasium."""
    folder = tmp_path / "envs" / "mujoco" / "assets"
    shutil.copytree(package_folder("gymnasium") / "envs" / "mujoco" / "assets", folder)
    monkeypatch.setattr(installed_models, "package_folder", lambda name: tmp_path)
    return folder


@pytest.mark.parametrize("name", TESTED)
def test_a_model_is_gymnasiums_to_the_bit(name, recwarn):
    path = package_folder("gymnasium") / "envs" / "mujoco" / "assets" / name
    published = dict(numbers(mujoco.MjModel.from_xml_path(str(path))))
    ours = dict(numbers(installed_models.load(name).compile()))
    assert ours.keys() == published.keys()
    differ = [key for key, x in ours.items() if not np.array_equal(x, published[key])]
    assert differ == []
    assert not [w for w in recwarn if "tested" in str(w.message)]


def test_a_file_with_other_bytes_is_named(another_gymnasium):
    path = another_gymnasium / "half_cheetah.xml"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"half_cheetah\.xml .* is not the file that was tested"):
        installed_models.load("half_cheetah.xml")


def test_a_file_that_a_later_gymnasium_lacks_is_named(another_gymnasium):
    (another_gymnasium / "half_cheetah.xml").unlink()
    with pytest.raises(FileNotFoundError, match=r"'half_cheetah\.xml' .* Gymnasium lacks it"):
        installed_models.load("half_cheetah.xml")


def test_an_unknown_file_names_the_nearest():
    with pytest.raises(FileNotFoundError, match=r"did you mean half_cheetah\.xml"):
        mjgym.Env(HalfCheetah(xml_file="halfcheetah.xml"))


def test_frame_skip_and_camera_are_checked():
    with pytest.raises(ValueError, match="frame_skip"):
        gymnasium.make("gymnasium/Ant-v5", frame_skip=0)
    with pytest.raises(ValueError, match=r"'distanc'.*did you mean distance"):
        gymnasium.make("gymnasium/Ant-v5", default_camera_config={"distanc": 1.0})


def test_a_camera_of_gymnasiums_words():
    task = HalfCheetah(default_camera_config={"trackbodyid": 1, "lookat": np.array([0.0, 0, 1])})
    assert task.viewpoint == mjgym.Viewpoint(lookat=(0.0, 0.0, 1.0), bodies=("torso",))


def test_frame_skip_keeps_the_number_of_steps():
    envs = gymnasium.make_vec("gymnasium/HalfCheetah-v5", num_envs=1, frame_skip=10)
    assert envs.max_episode_steps == 1000
    assert envs.control_timestep == pytest.approx(0.1)
    envs.close()
