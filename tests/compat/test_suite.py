"""dm_control's suite, its wrappers and helpers, and tasks of one's own on `control.Environment`."""

import pickle
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("dm_env", reason='needs pip install -e ".[dm_env]"')

from mjgym_compat.dm_control import mujoco, suite
from mjgym_compat.dm_control.mujoco import wrapper
from mjgym_compat.dm_control.rl import control
from mjgym_compat.dm_control.suite import base, cartpole
from mjgym_compat.dm_control.suite.wrappers import action_noise, action_scale
from mjgym_compat.dm_control.utils import inverse_kinematics, rewards

# Quantities of the physics that are entries of observations, and their arguments.
OBSERVED = [
    ("acrobot", "swingup", {"orientations": "orientations"}),
    ("cartpole", "swingup", {"position": "bounded_position"}),
    ("dog", "walk", {
        "joint_angles": "joint_angles", "torso_pelvis_height": "torso_pelvis_height",
        "inertial_sensors": "inertial_sensors", "torso_com_velocity": "torso_com_velocity",
    }),
    ("finger", "turn_easy", {
        "position": "bounded_position", "velocity": "velocity", "touch": "touch",
        "target_position": "target_position", "dist_to_target": "dist_to_target",
    }),
    ("fish", "swim", {
        "joint_angles": "joint_angles", "upright": "upright", "target": "mouth_to_target",
    }),
    ("hopper", "hop", {"touch": "touch"}),
    ("humanoid", "walk", {
        "joint_angles": "joint_angles", "head_height": "head_height", "extremities": "extremities",
        "torso_vertical": "torso_vertical_orientation", "com_velocity": "center_of_mass_velocity",
    }),
    ("humanoid_CMU", "walk", {
        "joint_angles": "joint_angles", "head_height": "head_height", "extremities": "extremities",
        "torso_vertical": "torso_vertical_orientation", "com_velocity": "center_of_mass_velocity",
    }),
    ("manipulator", "bring_ball", {"touch": "touch"}),
    ("pendulum", "swingup", {"orientation": "pole_orientation", "velocity": "angular_velocity"}),
    ("quadruped", "fetch", {
        "torso_velocity": "torso_velocity", "torso_upright": "torso_upright", "imu": "imu",
        "target_position": "target_position",
    }),
    ("quadruped", "escape", {"origin": "origin"}),
    ("reacher", "easy", {"to_target": "finger_to_target"}),
    ("swimmer", "swimmer6", {
        "joints": "joints", "to_target": "nose_to_target", "body_velocities": "body_velocities",
    }),
    ("walker", "walk", {"orientations": "orientations", "height": "torso_height"}),
]  # fmt: skip


@pytest.mark.parametrize(("domain", "task", "quantities"), OBSERVED, ids=lambda x: str(x)[:16])
def test_quantities_of_the_physics_are_those_observed(domain, task, quantities):
    env = suite.load(domain, task, {"random": 0})
    env.reset()
    seen = env.step(np.full(env.action_spec().shape, 0.3)).observation
    for entry, quantity in quantities.items():
        value = np.ravel(getattr(env.physics, quantity)())
        assert value == pytest.approx(np.ravel(seen[entry]), abs=1e-12), entry


@pytest.mark.parametrize("domain", sorted(suite.TASKS_BY_DOMAIN))
def test_every_quantity_of_a_domain_can_be_read(domain):
    env = getattr(suite, domain).SUITE[suite.TASKS_BY_DOMAIN[domain][0]](random=0)
    env.reset()
    arguments = {
        "bounded_joint_pos": (["arm_root"],), "joint_vel": (["arm_root"],),
        "body_2d_pose": ("hand",), "site_distance": ("grasp", "grasp"),
    }  # fmt: skip
    fetches = {"ball_to_target_distance", "self_to_ball_distance", "target_position"}
    for name, member in vars(type(env.physics)).items():
        if name.startswith("_") or not callable(member):
            continue
        if domain == "finger" and "target" in name:
            continue  # only of its tasks turn
        if domain == "quadruped" and name in fetches:
            continue  # only of its task fetch
        value = getattr(env.physics, name)(*arguments.get(name, ()))
        assert np.isfinite(value).all(), name


def test_a_domain_has_its_published_constructors_and_classes():
    env = cartpole.swingup(random=3, time_limit=0.05)
    assert isinstance(env, control.Environment)
    assert [env.reset().first(), *(env.step(0.0).last() for _ in range(5))] == [
        *(True, False, False, False, False), True,
    ]  # fmt: skip
    assert set(cartpole.SUITE.tagged("benchmarking")) == {
        *("balance", "balance_sparse", "swingup", "swingup_sparse")
    }
    assert pickle.loads(pickle.dumps(env.physics)).pole_angle_cosine() == pytest.approx(
        env.physics.pole_angle_cosine()
    )


class Still(cartpole.Balance):
    """A published task with another reward."""

    def get_reward(self, physics):
        return -float(abs(physics.cart_position()))


def test_a_published_task_may_be_changed_and_run_on_its_physics():
    physics = cartpole.Physics.from_xml_string(*cartpole.get_model_and_assets())
    task = Still(swing_up=True, sparse=False, random=0)
    env = control.Environment(physics, task, time_limit=0.1, control_timestep=0.01)
    timestep = env.reset()
    assert list(timestep.observation) == ["position", "velocity"]
    while not timestep.last():
        timestep = env.step([1.0])
        assert timestep.reward == -abs(physics.cart_position())
    assert physics.time() == pytest.approx(0.1)
    with pytest.raises(TypeError, match="swing_up, sparse, random"):
        cartpole.Balance(swing_up=True)


def test_a_published_task_is_the_same_on_its_physics_and_in_the_suite():
    physics = cartpole.Physics.from_xml_string(*cartpole.get_model_and_assets())
    alone = control.Environment(physics, cartpole.Balance(False, False, random=1))
    loaded = suite.load("cartpole", "balance", {"random": 1})
    loaded.reset()
    alone.reset()
    for env in (alone, loaded):
        env.physics.set_state(np.array([0.1, 0.2, 0.0, 0.0]))
        env.physics.forward()
    first, second = alone.step([0.5]), loaded.step([0.5])
    assert first.reward == second.reward
    assert all((first.observation[k] == v).all() for k, v in second.observation.items())


class Hover(base.Task):
    """A task of one's own on a model of one's own."""

    def initialize_episode(self, physics):
        physics.data.qpos[:] = self.random.uniform(-0.1, 0.1)
        super().initialize_episode(physics)

    def get_observation(self, physics):
        return {"height": physics.position(), "speed": physics.velocity()}

    def get_reward(self, physics):
        return rewards.tolerance(physics.data.qpos[0], bounds=(-0.01, 0.01), margin=0.1)

    def get_termination(self, physics):
        return 0.0 if physics.data.qpos[0] < -0.5 else None


MODEL = """
<mujoco>
  <worldbody>
    <body><joint name="up" type="slide" axis="0 0 1"/><geom size=".1" mass="1"/></body>
  </worldbody>
  <actuator><motor joint="up" ctrlrange="0 20" ctrllimited="true"/></actuator>
</mujoco>
"""


def test_a_task_of_ones_own_runs():
    env = control.Environment(
        mujoco.Physics.from_xml_string(MODEL), Hover(random=0), n_sub_steps=5, flat_observation=True
    )
    assert env.control_timestep() == pytest.approx(0.01)
    assert env.observation_spec()["observations"].shape == (2,)
    timestep = env.reset()
    while not timestep.last():
        timestep = env.step(np.zeros(1))
    assert timestep.discount == 0.0
    assert env.physics.time() == pytest.approx(np.sqrt(2 * 0.5 / 9.81), abs=0.05)
    assert env.step(np.zeros(1)).first()


def test_the_colours_follow_the_reward_once_asked():
    env = suite.load("pendulum", "swingup", {"random": 0})
    env.task.visualize_reward = True
    env.task.get_reward = lambda physics: 0.5
    env.reset()
    colours = env.physics.named.model.mat_rgba
    weight = 0.5**4
    expected = weight * colours["self_highlight"] + (1 - weight) * colours["self_default"]
    assert colours["self"] == pytest.approx(expected)


def test_wrappers_of_actions():
    env = action_scale.Wrapper(cartpole.balance(random=0), minimum=0.0, maximum=4.0)
    assert env.action_spec().maximum == 4.0
    env.reset()
    env.step(np.array([3.0]))
    assert env.physics.control() == 0.5
    noisy = action_noise.Wrapper(cartpole.balance(random=0), scale=0.1)
    noisy.reset()
    noisy.step(np.zeros(1))
    assert 0 < abs(noisy.physics.control()[0]) < 1


def test_a_site_reaches_a_place():
    physics = mujoco.Physics.from_xml_string(
        """
        <mujoco><worldbody><body><joint name="a" axis="0 0 1"/><geom size=".1"/>
          <body pos=".5 0 0"><joint name="b" axis="0 0 1"/><geom size=".1"/>
            <site name="tip" pos=".5 0 0"/></body></body></worldbody></mujoco>
        """
    )
    physics.data.qpos[:] = 0.1, 0.2
    found = inverse_kinematics.qpos_from_site_pose(physics, "tip", target_pos=(0.3, 0.6, 0))
    assert found.success
    physics.data.qpos[:] = found.qpos
    physics.forward()
    assert physics.named.data.site_xpos["tip"] == pytest.approx([0.3, 0.6, 0])
    with pytest.raises(ValueError, match="target_pos"):
        inverse_kinematics.qpos_from_site_pose(physics, "tip")


def test_models_are_loaded_and_replaced_in_every_form(tmp_path):
    model = wrapper.MjModel.from_xml_string(MODEL.replace("<mujoco>", '<mujoco model="lift">'))
    assert model.name == "lift"
    (tmp_path / "lift.xml").write_text(MODEL)
    model.save_binary(tmp_path / "lift.mjb")
    for physics in (
        mujoco.Physics.from_model(model),
        mujoco.Physics.from_byte_string(model.to_bytes()),
        mujoco.Physics.from_binary_path(tmp_path / "lift.mjb"),
        mujoco.Physics.from_xml_path(tmp_path / "lift.xml"),
    ):
        physics.step(10)
        assert physics.velocity()[0] == pytest.approx(-9.81 * 0.02)
        physics.reload_from_xml_path(tmp_path / "lift.xml")
        assert physics.time() == 0
    with pytest.raises(ValueError, match="no file"):
        mujoco.Physics.from_xml_path(tmp_path / "left.xml")


@pytest.mark.gl
def test_pictures_of_cameras_flags_texts_and_callbacks():
    env = cartpole.balance(random=0)
    env.reset()
    physics = env.physics
    size = {"height": 48, "width": 64, "camera_id": 0}
    plain = physics.render(**size)
    assert not np.array_equal(
        physics.render(**size, render_flag_overrides={"wireframe": True}), plain
    )
    text = mujoco.TextOverlay("Title", "body", style="big", position="bottom right")
    assert not np.array_equal(physics.render(**size, overlays=[text]), plain)
    assert np.array_equal(physics.render(**size), plain)
    called = []
    physics.render(**size, scene_callback=lambda physics, scene: called.append(scene.ngeom))
    assert called[0] > 0
    camera = mujoco.MovableCamera(physics, 48, 64)
    before = camera.render()
    camera.set_pose(*camera.get_pose()._replace(azimuth=10.0))
    assert not np.array_equal(camera.render(), before)
    assert mujoco.Camera(physics, 48, 64, 0).matrix.shape == (3, 4)
    with pytest.raises(ValueError, match="camera_id"):
        physics.render(camera_id=9)
    with pytest.raises(ValueError, match="width"):
        physics.render(width=10**5)


def test_the_viewer_shows_an_environment_or_what_makes_one(launched, monkeypatch):
    from mjgym import viewing
    from mjgym_compat.dm_control import viewer

    env = cartpole.balance(random=0)
    viewer.launch(env)
    viewer.launch(lambda: env, policy=lambda timestep: timestep.observation["position"][:1])
    assert launched[0] == (env.env, None)
    assert launched[1][0] is env.env
    assert launched[1][1](env.reset().observation) == pytest.approx(env.physics.cart_position())
    monkeypatch.setattr(viewer.native, "hindrance", lambda: "no display here")
    with pytest.raises(viewing.ViewerError, match="no display"):
        viewer.launch(action_noise.Wrapper(env))


def test_a_mock_of_an_environment_has_its_task_and_physics():
    env = mock.Mock(spec=control.Environment)
    env.action_spec.return_value = cartpole.swingup().action_spec()
    wrapped = action_noise.Wrapper(env)
    assert wrapped.physics is env.physics
    assert wrapped.task is env.task
