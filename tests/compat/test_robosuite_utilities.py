"""robosuite's helper functions, against numbers recorded from robosuite 1.5.2."""

import importlib
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import mjgym_compat.robosuite as suite
from mjgym_compat.robosuite.utils import control_utils, mjcf_utils, transform_utils
from mjgym_compat.robosuite.utils.binding_utils import MjModel
from mjgym_compat.robosuite.utils.mjmod import CameraModder, LightingModder, TextureModder
from mjgym_compat.robosuite.utils.traj_utils import LinearInterpolator

RECORDED = json.loads((Path(__file__).parents[1] / "data/robosuite/utilities.json").read_text())
ROUNDED = 1e-6  # their rotations are in float32


def arrays(values):
    """Numbers as they were before they became text."""
    return [np.array(x, float) if isinstance(x, list) else x for x in values]


def same(ours, theirs, **tolerance):
    if isinstance(ours, tuple):
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, **tolerance)
        return
    np.testing.assert_allclose(ours, np.array(theirs), rtol=ROUNDED, **tolerance)


@pytest.mark.parametrize(
    ("module", "name", "arguments", "options", "expected"),
    RECORDED["functions"],
    ids=[f"{i}-{row[1]}" for i, row in enumerate(RECORDED["functions"])],
)
def test_a_function_returns_the_recorded_numbers(module, name, arguments, options, expected):
    function = getattr(importlib.import_module(f"mjgym_compat.robosuite.utils.{module}"), name)
    assert options == []
    same(function(*arrays(arguments)), expected, atol=1e-6)


def test_random_rotations_draw_as_theirs():
    rng = np.random.RandomState(4)
    for limit, (axis, angle) in zip((None, 0.3, 0.3), RECORDED["random_axis_angle"], strict=True):
        same(transform_utils.random_axis_angle(limit, rng), (axis, angle))
    np.random.seed(4)
    same(transform_utils.random_axis_angle(), RECORDED["random_axis_angle"][0])


@pytest.mark.parametrize("case", RECORDED["interpolators"], ids=["vector", "quat", "euler"])
def test_goals_are_interpolated_as_theirs(case):
    ramp = LinearInterpolator(case["dim"], 500, 20, ramp_ratio=0.2, ori_interpolate=case["ori"])
    assert ramp.total_steps == case["total"] == 5
    for goal, points in zip(case["goals"], case["points"], strict=True):
        ramp.set_goal(np.array(goal))
        for point in points:
            same(ramp.get_interpolated_goal(), point, atol=1e-6)
    with pytest.raises(ValueError, match=f"expected {case['dim']} numbers, got 2"):
        ramp.set_goal(np.zeros(2))


def test_limits_of_an_orientation():
    turned = control_utils.set_goal_orientation(
        np.array([-0.6, 0, 0]), np.eye(3), np.array([[-0.3] * 3, [0.3] * 3])
    )
    np.testing.assert_allclose(transform_utils.mat2euler(turned), [-0.3, 0, 0], atol=1e-12)
    # A sector around pi: angles between 0.5 and -0.5 are forbidden.
    limits = np.array([[0.5, -1, -1], [-0.5, 1, 1]])
    for angle, expected in ((0.2, 0.5), (-0.1, -0.5), (3.0, 3.0), (-2.0, -2.0)):
        goal = transform_utils.euler2mat([angle, 0, 0])
        got = control_utils.set_goal_orientation(None, None, limits, goal)
        np.testing.assert_allclose(transform_utils.mat2euler(got), [expected, 0, 0], atol=1e-12)
    with pytest.raises(ValueError, match=r"orientation_limit: expected shape \(2, 3\)"):
        control_utils.set_goal_orientation(np.zeros(3), np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match=r"position_limit: expected shape \(2, 2\)"):
        control_utils.set_goal_position(np.zeros(2), np.zeros(2), np.ones((2, 3)))


@pytest.mark.parametrize("case", RECORDED["scaled"]["cases"], ids=["one factor", "three"])
def test_a_model_is_scaled_as_theirs(case):
    body, asset = (ET.fromstring(RECORDED["scaled"][key]) for key in ("xml", "asset"))
    world = ET.Element("worldbody")
    world.append(body)
    factors = mjcf_utils.scale_mjcf_model(body, asset, case["scale"], worldbody=world)
    np.testing.assert_array_equal(factors, case["factors"])
    for element, (tag, attributes) in zip(body.iter(), case["obj"], strict=True):
        assert element.tag == tag
        for key, text in attributes.items():
            same(mjcf_utils.string_to_array(element.get(key)), mjcf_utils.string_to_array(text))
    for mesh, scale in zip(asset, case["asset"], strict=True):
        same(mjcf_utils.string_to_array(mesh.get("scale")), mjcf_utils.string_to_array(scale))
    with pytest.raises(ValueError, match="one factor or three"):
        mjcf_utils.normalize_scale_array([1, 2])


def test_lists_of_a_dict_grow_together():
    values = {}
    assert mjcf_utils.add_to_dict(values, a=1, b=2) == RECORDED["add_to_dict"]
    assert mjcf_utils.add_to_dict(values, c=3, a=4) == {"a": [1, 4], "b": [2, None], "c": [None, 3]}
    assert mjcf_utils.add_to_dict({"a": [1]}, fill_in_defaults=False, c=3) == {"a": [1], "c": [3]}


def test_elements_are_found_by_parts_of_their_names():
    root = ET.fromstring("<a><geom name='left_pad'/><geom name='palm'/><site name='pad'/></a>")
    found = mjcf_utils.find_elements_by_substring(root, ["geom"], ["pad", "tip"])
    assert [each.get("name") for each in found] == ["left_pad"]
    assert mjcf_utils.find_elements_by_substring(root, "geom", "tip") is None


@pytest.fixture
def sim():
    """The scene of which draws are recorded."""
    model = mujoco.MjModel.from_xml_string(RECORDED["scene"])
    return SimpleNamespace(model=MjModel(model))


@pytest.mark.parametrize(
    ("modder", "key", "options"),
    [
        (CameraModder, "camera", {}),
        (LightingModder, "lighting", {}),
        (TextureModder, "colours", {"randomize_skybox": False}),
        (TextureModder, "local", {"randomize_skybox": False, "randomize_local": True}),
    ],
)
def test_draws_are_theirs(sim, modder, key, options):
    made = modder(sim, np.random.RandomState(7), **options)
    first, second, restored = RECORDED[key]
    for drawn in (first, second):
        made.randomize()
        for field, values in drawn.items():
            same(getattr(sim.model, field), values, atol=ROUNDED)
    made.restore_defaults()
    for field, values in restored.items():
        same(getattr(sim.model, field), values, atol=1e-7)


def test_values_are_set_and_read_by_names(sim):
    cameras = CameraModder(sim, camera_names=["top"], randomize_fovy=False)
    cameras.set_fovy("front", 30)
    cameras.set_pos("front", [1, 2, 3])
    before = sim.model.cam_pos.copy()
    cameras.randomize()
    assert cameras.get_fovy("front") == 30
    assert cameras.camera_names == ["top"]
    np.testing.assert_array_equal(sim.model.cam_pos[0], before[0])
    assert (sim.model.cam_pos[1] != before[1]).all()
    with pytest.raises(ValueError, match="0 to 180"):
        cameras.set_fovy("top", 180)
    with pytest.raises(ValueError, match=r"expected shape \(3,\)"):
        cameras.set_pos("top", [1, 2])
    with pytest.raises(TypeError, match="did you mean randomize_fovy"):
        CameraModder(sim, randomize_fov=False)
    lights = LightingModder(sim)
    lights.set_active("sun", 0)
    assert not sim.model.light_active[lights.get_lightid("sun")]
    colours = TextureModder(sim, np.random.RandomState(0))
    colours.set_rgb("a", (255, 0, 51))
    np.testing.assert_allclose(colours.get_geom_rgb("a"), [1, 0, 0.2])
    assert colours.get_material("a") is None
    with pytest.raises(ValueError, match="no material"):
        colours.set_material("a", (1, 0, 0))
    assert len(colours.get_rand_rgb(3)) == 3


@pytest.mark.gl
def test_changes_of_cameras_lights_and_colours_are_seen():
    env = suite.make("Lift", robots="Panda", use_camera_obs=False, has_offscreen_renderer=True)
    env.reset()
    size = {"width": 48, "height": 48, "camera_name": "frontview"}

    def picture():
        return env.sim.render(**size).astype(int)

    plain = picture()
    modders = CameraModder(env.sim), LightingModder(env.sim), TextureModder(env.sim)
    for modder in modders:
        modder.randomize()
        assert np.abs(picture() - plain).max() > 20, type(modder).__name__
        modder.restore_defaults()
        np.testing.assert_array_equal(picture(), plain)
    (lamp,) = env.sim.model.light_names
    modders[1].set_active(lamp, 0)
    assert picture().sum() < 0.9 * plain.sum()
    env.close()
