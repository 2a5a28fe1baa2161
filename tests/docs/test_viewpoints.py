"""The camera that people get where they ask for none: one per task, in view, record and gallery."""

import dataclasses
import importlib.util
import json
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import mjgym
from helpers.lanes import lane
from helpers.places import SCRIPTS
from helpers.registered import ids_as_parameters
from mjgym.cli.app import app
from mjgym.envs.pixels import viewpoint
from mjgym.tasks.dmc.pendulum import Pendulum

RODENT = "locomotion/rodent-maze_forage-v0"


def test_a_camera_that_is_not_there_is_named():
    @dataclass(frozen=True)
    class Askew(Pendulum):
        viewpoint = "fixd"

    with pytest.raises(
        ValueError, match=r"Askew.viewpoint: there is no 'fixd'; did you mean fixed"
    ):
        mjgym.Env(Askew())


@pytest.mark.slow
@pytest.mark.parametrize("id", ids_as_parameters())
def test_every_id_has_one_and_says_so(id):
    env = gymnasium.make(id).unwrapped
    where = viewpoint(env.task, env.model)
    described = env.describe()["viewpoint"]
    if isinstance(where, mjgym.Viewpoint):
        assert described == json.loads(json.dumps(dataclasses.asdict(where)))  # tuples as lists
    else:
        assert described == where
    if isinstance(where, str):
        assert where in env.view.names("camera")
    env.close()


def test_a_body_that_is_not_there_is_named():
    @dataclass(frozen=True)
    class Astray(Pendulum):
        viewpoint = mjgym.Viewpoint(bodies=("pol",))

    with pytest.raises(ValueError, match=r"Astray.viewpoint: there is no body 'pol'.*pole"):
        mjgym.Env(Astray())


@lane(1, 3)
@pytest.mark.gl
def test_render_draws_from_there_and_index_0_is_the_models():
    size = {"width": 48, "height": 32, "render_quality": "fast"}
    env = gymnasium.make(RODENT, render_mode="rgb_array", **size)
    env.reset(seed=0)
    base = env.unwrapped
    np.testing.assert_array_equal(env.render(), base.camera("walker/side_alt"))
    assert not np.array_equal(env.render(), base.camera(0))
    first = gymnasium.make(RODENT, render_mode="rgb_array", camera=0, **size)
    first.reset(seed=0)
    np.testing.assert_array_equal(first.render(), base.camera(0))
    envs = gymnasium.make_vec(RODENT, num_envs=2, render_mode="rgb_array", **size)
    envs.reset(seed=0)
    np.testing.assert_array_equal(envs.render()[0], env.render())
    for each in (env, first, envs):
        each.close()


@pytest.mark.weekly
@pytest.mark.gl
@pytest.mark.parametrize("apart", [1.0, 8.0])
def test_what_a_viewpoint_follows_stays_in_frame(apart):
    env = gymnasium.make("dmc/dog-fetch-v0", render_quality="fast").unwrapped
    env.reset(seed=0)
    qpos = env.data.qpos.copy()
    qpos[80:83] = apart, apart, 0.05
    env.set_state({"qpos": qpos})
    seen = env.camera(kind="segmentation", width=320, height=240)
    geoms = set(seen[..., 0][seen[..., 1] == mujoco.mjtObj.mjOBJ_GEOM].tolist())
    assert env.model.geom("ball").id in geoms
    dog = np.flatnonzero(env.model.body_rootid[env.model.geom_bodyid] == env.model.body("torso").id)
    assert geoms & set(dog.tolist())
    env.close()


@pytest.mark.weekly
@pytest.mark.gl
@pytest.mark.parametrize("robot", ["Panda", "UR5e"])
def test_a_tabletops_arm_and_gripper_and_cube_are_seen(robot):
    env = gymnasium.make("robosuite/Lift-v0", robot=robot, render_quality="fast").unwrapped
    env.reset(seed=0)
    seen = env.camera(kind="segmentation", width=320, height=240)
    model = env.model
    bodies = model.geom_bodyid[np.unique(seen[..., 0][seen[..., 1] == mujoco.mjtObj.mjOBJ_GEOM])]
    names = {model.body(int(body)).name for body in bodies}
    arm = env.task.manipulators[0]
    assert any(name.startswith(arm.hand_prefix) for name in names)
    assert any(name.startswith("cube") for name in names)
    env.close()


@pytest.mark.weekly
@pytest.mark.gl
@pytest.mark.parametrize("envs", [1, 2])
def test_record_draws_from_there(tmp_path, envs):
    out = tmp_path / "out.png"
    size = ("--width", "64", "--height", "48", "--quality", "fast")
    asked = ["record", RODENT, "--steps", "0", "--num-envs", str(envs), "--out", str(out), *size]
    assert CliRunner().invoke(app, asked).exit_code == 0
    env = gymnasium.make(RODENT, render_quality="fast").unwrapped
    env.reset(seed=0)
    wanted = env.camera("walker/side_alt", width=64, height=48)
    np.testing.assert_array_equal(np.asarray(Image.open(out))[:, :64], wanted)
    env.close()


@pytest.mark.weekly
@pytest.mark.gl
def test_the_gallery_draws_from_there():
    path = SCRIPTS / "make_gallery.py"
    spec = importlib.util.spec_from_file_location("make_gallery", path)
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    env = gymnasium.make(RODENT).unwrapped
    env.reset(seed=0)
    how = gallery.Shot()
    picture = np.asarray(gallery.picture(env, how, (64, 48)))
    np.testing.assert_array_equal(picture, env.camera("walker/side_alt", width=64, height=48))
    env.close()
