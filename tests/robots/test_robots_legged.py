"""Legged robots against the numbers of the published models."""

from dataclasses import dataclass, replace

import mujoco
import numpy as np
import pytest

from helpers.legged_records import model_facts
from mjgym.envs.env import Env
from mjgym.mjcf import Spec, load
from mjgym.robots.legged_robots import Go1, LeggedRobot, legged_robots
from mjgym.tasks.legged.quadruped_joystick import QuadrupedJoystick
from mjgym.tasks.legged.servos import servos_of

EXACT = 1e-9


@pytest.fixture(scope="module", params=["go1", "g1"])
def pair(request):
    return legged_robots.find(request.param).model().compile(), model_facts(request.param)


def test_bodies_have_the_recorded_frames_and_inertias(pair):
    model, facts = pair
    recorded = {body["name"]: body for body in facts["bodies"]}
    names = [model.body(i).name for i in range(1, model.nbody)]
    assert names == [name for name in recorded if name not in ("world", "terrain")]
    for name in names:
        body, expected = model.body(name), recorded[name]
        assert model.body(body.parentid[0]).name == expected["parent"]
        for field in ("pos", "quat", "ipos", "iquat", "inertia", "mass"):
            ours = getattr(body, field)
            assert np.abs(ours - np.array(expected[field])).max() < EXACT, (name, field)


def test_joints_have_the_recorded_axes_ranges_rotors_and_limits(pair):
    model, facts = pair
    hinges = [joint for joint in facts["joints"] if joint["type"] != "mjJNT_FREE"]
    limits = {actuator["joint"]: actuator["forcerange"] for actuator in facts["actuators"]}
    names = [model.joint(i).name for i in range(1, model.njnt)]
    assert names == [joint["name"] for joint in hinges]
    for recorded in hinges:
        joint = model.joint(recorded["name"])
        assert model.body(joint.bodyid[0]).name == recorded["body"]
        assert np.array_equal(joint.axis, recorded["axis"])
        assert np.allclose(joint.range, recorded["range"], rtol=0, atol=EXACT)
        assert np.allclose(joint.armature, recorded["armature"], rtol=0, atol=EXACT)
        limit = model.jnt_actfrcrange[joint.id]
        assert np.allclose(limit, limits[recorded["name"]], rtol=0, atol=EXACT)
        assert joint.damping[0] == joint.frictionloss[0] == 0


def shapes(rows):
    """Contact shapes by their numbers: capsules by their ends, which may be swapped."""
    found = []
    for body, kind, size, pos, quat, *contact in rows:
        ends = [pos]
        if kind == int(mujoco.mjtGeom.mjGEOM_CAPSULE):
            axis = np.zeros(3)
            mujoco.mju_rotVecQuat(axis, np.array([0.0, 0.0, size[1]]), np.array(quat))
            ends = sorted([tuple(pos + axis), tuple(pos - axis)])
        numbers = [*size, *np.ravel(ends), *np.ravel(np.concatenate(contact))]
        found.append((body, kind, *(round(float(x), 4) + 0.0 for x in numbers)))
    return sorted(found)


CONTACT = ("friction", "solref", "solimp", "condim", "contype", "conaffinity", "priority")


def test_contact_shapes_are_the_recorded_ones(pair):
    model, facts = pair
    ours = [
        (
            model.body(geom.bodyid[0]).name, int(geom.type[0]), geom.size, geom.pos, geom.quat,
            *(np.atleast_1d(getattr(geom, field)) for field in CONTACT),
        )
        for geom in map(model.geom, range(model.ngeom))
        if geom.contype[0] or geom.conaffinity[0]
    ]  # fmt: skip
    recorded = [
        (
            geom["body"], int(getattr(mujoco.mjtGeom, geom["type"])), geom["size"],
            np.array(geom["pos"]), geom["quat"],
            *(np.atleast_1d(np.array(geom[field], float)) for field in CONTACT),
        )
        for geom in facts["geoms"]
        if geom["body"] != "terrain"
    ]  # fmt: skip
    assert shapes(ours) == shapes(recorded)
    assert len(ours) in (30, 33)


def test_sites_and_excluded_pairs_are_the_recorded_ones(pair):
    model, facts = pair
    for site in facts["sites"]:
        ours = model.site(site["name"])
        assert model.body(ours.bodyid[0]).name == site["body"]
        assert np.array_equal(ours.pos, site["pos"])
    pairs = {tuple(sorted(model.body(int(n)).name for n in divmod(int(s), 1 << 16)))
             for s in model.exclude_signature}  # fmt: skip
    assert pairs == {tuple(sorted(pair)) for pair in facts["excludes"]}


@pytest.mark.parametrize("name", ["go1", "g1"])
def test_the_usual_pose_is_the_recorded_keyframe(name):
    robot, key = legged_robots.find(name), model_facts(name)["keyframes"][0]
    assert (robot.height, *robot.pose) == (key["qpos"][2], *key["qpos"][7:])
    for spread in (robot.standing, robot.walking, robot.running):
        assert len(spread) == len(robot.pose) == len(robot.joints)


@pytest.mark.parametrize("name", ["go1", "go2", "g1"])
def test_the_look_weighs_nothing_and_touches_nothing(name):
    model = legged_robots.find(name).model().compile()
    look = model.geom_group == 1
    assert np.count_nonzero(look) > 40
    assert not (model.geom_contype[look] | model.geom_conaffinity[look]).any()
    assert np.array_equal(np.unique(model.geom_group), [1, 3])


# Of the vendor's description: mass (kg), centre of mass (m), inertia about it (kg m^2: xx, yy, zz).
GO2_LINKS = {
    "FL_hip": (0.678, (-0.0054, 0.00194, -0.000105), (0.00048, 0.000884, 0.000596)),
    "RR_thigh": (1.152, (-0.00374, 0.0223, -0.0327), (0.00584, 0.0058, 0.00103)),
}


def test_go2_has_the_vendors_numbers():
    model = legged_robots.find("go2").model().compile()
    assert model.body_mass.sum() == pytest.approx(6.923 + 4 * (0.678 + 1.152 + 0.154 + 0.04))
    for name, (mass, centre, moments) in GO2_LINKS.items():
        body = model.body(name)
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, body.iquat)
        turn = turn.reshape(3, 3)
        assert body.mass[0] == mass
        assert np.allclose(body.ipos, centre, atol=1e-9)
        assert np.allclose(np.diag(turn @ np.diag(body.inertia) @ turn.T), moments, atol=1e-8)
    for leg, side in (("FR", -1), ("RL", 1)):
        front = 1 if leg[0] == "F" else -1
        assert np.allclose(model.body(f"{leg}_hip").pos, (0.1934 * front, 0.0465 * side, 0))
        assert np.allclose(model.body(f"{leg}_thigh").pos, (0, 0.0955 * side, 0))
        assert np.allclose(model.body(f"{leg}_calf").pos, (0, 0, -0.213))
        low, high = (-1.5708, 3.4907) if front > 0 else (-0.5236, 4.5379)
        assert np.allclose(model.joint(f"{leg}_thigh_joint").range, (low, high))
        assert np.allclose(model.joint(f"{leg}_calf_joint").range, (-2.7227, -0.83776))
        calf = model.joint(f"{leg}_calf_joint").id
        assert model.jnt_actfrcrange[calf].tolist() == [-35.55, 35.55]


def test_go2_stands_in_its_usual_pose():
    robot = legged_robots.find("go2")
    model = robot.model().compile()
    data = mujoco.MjData(model)
    data.qpos[2], data.qpos[7:] = robot.height, robot.pose
    mujoco.mj_forward(model, data)
    lowest = [data.geom(sole).xpos[2] - 0.022 for sole in robot.soles]
    assert min(lowest) == pytest.approx(0, abs=1e-3)
    servos = servos_of(robot)
    assert servos.stiffness.tolist() == [20.0] * 12
    assert servos.damping.tolist() == [1.5] * 12


@dataclass(frozen=True)
class Heavier(Go1):
    """A Go1 with a load."""

    def model(self):
        spec = load("robots/go1/go1.xml")
        spec.body("trunk").mass = 8.0
        return spec


def test_a_robot_of_ones_own_is_found():
    assert isinstance(legged_robots.find(f"{__name__}:Heavier"), LeggedRobot)
    with pytest.raises(ValueError, match=r"robot: no 'go11'.*go1"):
        legged_robots.find("go11")


LEG = """
<body name="{leg}_hip" pos="{x} {y} 0">
  <joint name="{leg}_abduction" axis="1 0 0" range="-57 57" armature=".01"
         actuatorfrcrange="-20 20"/>
  <geom type="sphere" size=".03" mass=".2"/>
  <body name="{leg}_thigh">
    <joint name="{leg}_hip" axis="0 1 0" range="-90 90" armature=".01" actuatorfrcrange="-20 20"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".5"/>
    <body name="{leg}_calf" pos="0 0 -.2">
      <joint name="{leg}_knee" axis="0 1 0" range="-150 -30" armature=".01"
             actuatorfrcrange="-20 20"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".015" mass=".2"/>
      <geom name="{leg}_foot" pos="0 0 -.2" size=".025" mass=".05"/>
      <site name="{leg}" pos="0 0 -.2"/>
    </body>
  </body>
</body>
"""
FEET = "front_right", "front_left", "rear_right", "rear_left"


@dataclass(frozen=True)
class Plain(LeggedRobot):
    """A quadruped of geoms with masses, whose angles are degrees."""

    root: str = "base"
    trunk: str = "base"
    imu: str = "imu"
    feet: tuple[str, ...] = FEET
    ankles: tuple[str, ...] = FEET
    soles: tuple[str, ...] = tuple(f"{leg}_foot" for leg in FEET)
    height: float = 0.31
    pose: tuple[float, ...] = (0.0, 0.8, -1.6) * 4
    standing: tuple[float, ...] = (0.05,) * 12
    walking: tuple[float, ...] = (0.3,) * 12
    running: tuple[float, ...] = (0.3,) * 12

    def model(self):
        places = ((0.2, -0.1), (0.2, 0.1), (-0.2, -0.1), (-0.2, 0.1))
        legs = (LEG.format(leg=leg, x=x, y=y) for leg, (x, y) in zip(FEET, places, strict=True))
        return Spec.from_string(
            '<mujoco><worldbody><body name="base"><freejoint/><site name="imu"/>'
            f'<geom type="box" size=".25 .12 .06" mass="6"/>{"".join(legs)}</body>'
            "</worldbody></mujoco>"
        )


def test_a_robot_in_degrees_has_its_ranges_in_radians():
    lower, upper = Plain().ranges
    assert np.allclose(np.degrees(lower), [-57, -90, -150] * 4)
    assert np.allclose(np.degrees(upper), [57, 90, -30] * 4)
    model = Env(QuadrupedJoystick(robot=Plain())).model
    assert np.allclose(model.actuator_ctrlrange, np.stack([lower, upper], axis=1))


@pytest.mark.slow
def test_the_joysticks_robot_weighs_what_it_does_alone():
    alone, task = Plain().compiled, QuadrupedJoystick(robot=Plain())
    model = Env(task).model
    for name in ("base", "rear_left_thigh", "rear_left_calf"):
        assert np.array_equal(model.body(name).mass, alone.body(name).mass)
        assert np.array_equal(model.body(name).inertia, alone.body(name).inertia)
    env = Env(task, vary="published")
    for seed in range(3):
        env.reset(seed=seed)
        assert 0.9 * 6 - 1 <= env.model.body("base").mass[0] <= 1.1 * 6 + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feet": (*FEET[:3], "rear_lef")}, "feet: no 'rear_lef'; did you mean rear_left"),
        ({"imu": ""}, "imu: no ''; there are imu, front_right"),
        ({"sole_kind": "body"}, "sole_kind: 'body' is none of geom, xbody"),
        ({"soles": Plain.soles[:3]}, "soles: expected 4 entries, got 3"),
        ({"walking": ()}, "walking: expected 12 entries, got 0"),
        ({"pose": (0.0, 0.8, 1.6) * 4}, "knee' has no range that holds its pose, 1.6 rad"),
    ],
)
def test_what_does_not_fit_a_robots_model_is_named(change, message):
    with pytest.raises(ValueError, match=f"robot Plain: .*{message}"):
        Env(QuadrupedJoystick(robot=replace(Plain(), **change)))


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ('range="-90 90"', "has no range"),
        ('armature=".01"', r"has no rotor inertia \(armature\)"),
        ('actuatorfrcrange="-20 20"', r"has no torque limit \(actuatorfrcrange\)"),
    ],
)
def test_a_joint_without_limits_is_refused(attribute, message, monkeypatch):
    monkeypatch.setitem(globals(), "LEG", LEG.replace(attribute, ""))

    @dataclass(frozen=True)
    class Bare(Plain):
        pass

    with pytest.raises(ValueError, match=f"robot Bare: joint 'front_right_.*' {message}"):
        Env(QuadrupedJoystick(robot=Bare()))


# Indices of motors in Unitree's SDKs: `quadruped.h`, and `G1JointIndex` of the examples.
MOTORS = {
    "go1": {"FR_hip_joint": 0, "FL_thigh_joint": 4, "RR_calf_joint": 8, "RL_hip_joint": 9},
    "go2": {"FR_calf_joint": 2, "FL_hip_joint": 3, "RL_calf_joint": 11},
    "g1": {
        "left_hip_pitch_joint": 0,
        "left_knee_joint": 3,
        "right_ankle_roll_joint": 11,
        "waist_yaw_joint": 12,
        "waist_pitch_joint": 14,
        "left_elbow_joint": 18,
        "right_shoulder_pitch_joint": 22,
        "right_wrist_yaw_joint": 28,
    },
}


@pytest.mark.parametrize("name", sorted(MOTORS))
def test_joints_in_the_order_of_the_vendor(name):
    robot = legged_robots.find(name)
    assert sorted(robot.vendor_joints) == sorted(robot.joints)
    for joint, number in MOTORS[name].items():
        assert robot.vendor_joints[number] == joint
