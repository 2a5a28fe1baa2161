"""Control laws against recorded torques, and as laws: on one and many, on any array library."""

import dataclasses
import importlib
import itertools
import json
import re

import mujoco
import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from helpers.tabletop_arms import ARMS, FIELDS, FOLDER, SUBSTEPS, TIMESTEP, Arms, many
from mjgym import rotations
from mjgym.actions import UNLIMITED, Action
from mjgym.controllers import Chain, Composite, Controller, State, controllers, make
from mjgym.controllers.controller import limited
from mjgym.controllers.scaled import ramp, ramp_steps

ROLLOUTS = np.load(FOLDER / "controllers_rollouts.npz")
DYNAMICS = np.load(FOLDER / "controllers_dynamics.npz")

LAWS = tuple(controllers.names())
VARIANTS = [
    *({"type": name} for name in ("OSC_POSE", "OSC_POSITION", "IK_POSE")),
    *({"type": name} for name in ("JOINT_POSITION", "JOINT_TORQUE", "JOINT_VELOCITY")),
    {"type": "OSC_POSE", "uncouple_pos_ori": False},
    {"type": "OSC_POSE", "input_ref_frame": "world", "interpolation": "linear"},
    {"type": "OSC_POSE", "input_type": "absolute", "interpolation": "linear"},
    {"type": "OSC_POSE", "impedance_mode": "variable"},
    {"type": "OSC_POSE", "kp": [100, 110, 120, 130, 140, 150], "damping_ratio": [1, 1, 1, 2, 2, 2]},
    {"type": "OSC_POSITION", "impedance_mode": "variable_kp"},
    {"type": "OSC_POSITION", "position_limits": [[-0.2, -0.2, 0.1], [0.5, 0.2, 0.5]]},
    {"type": "JOINT_POSITION", "impedance_mode": "variable", "interpolation": "linear"},
    {"type": "JOINT_POSITION", "kd": 20, "qpos_limits": [-1.0, 1.0]},
    {"type": "JOINT_POSITION", "input_type": "absolute", "use_torque_compensation": False},
    {"type": "JOINT_TORQUE", "interpolation": "linear", "torque_limits": [-0.05, 0.05]},
    {"type": "JOINT_VELOCITY", "interpolation": "linear", "velocity_limits": None},
    {"type": "IK_POSE", "interpolation": "linear"},
]


def called(parameters):
    return ",".join(str(value) for value in parameters.values())


# Recorded: robosuite 1.5.2 on MuJoCo 4.0.0.


@pytest.mark.parametrize("name", ARMS)
def test_state_is_the_recorded_one(name):
    """Pose, Jacobian, inertia and bias forces of every arm, as its numbers have nine digits."""
    arms = Arms(name)
    others = np.setdiff1d(np.arange(arms.model.nq), arms.joints)
    for i, qpos in enumerate(DYNAMICS[f"{name}/qpos"]):
        arms.data.qpos[arms.joints] = qpos
        arms.data.qpos[others] = DYNAMICS[f"{name}/gripper_qpos"]
        arms.data.qvel[arms.joints] = DYNAMICS[f"{name}/qvel"][i]
        mujoco.mj_step1(arms.model, arms.data)
        for k, state in enumerate(arms.states()):
            n = len(arms.chains[k].joints)
            own = slice(k * n, k * n + n)
            want = {
                "position": DYNAMICS[f"{name}/{k}/pos"][i],
                "rotation": DYNAMICS[f"{name}/{k}/mat"][i].reshape(9),
                "jacobian": DYNAMICS[f"{name}/{k}/jac"][i][:, own],
                "inertia": DYNAMICS[f"{name}/mass"][i][own, own],
                "bias": DYNAMICS[f"{name}/bias_v"][i][own],
            }
            for reading, value in want.items():
                np.testing.assert_allclose(getattr(state, reading), value, rtol=0, atol=2e-7)


def test_torques_of_every_physics_step_are_the_recorded_ones():
    """The original takes rotations in single precision, which is all of the difference."""
    arms = Arms("Panda", make("OSC_POSE"))
    actions, qpos, qvel, ctrl = (
        ROLLOUTS[f"substeps/{name}"] for name in ("actions", "sub_qpos", "sub_qvel", "sub_ctrl")
    )
    arms.data.qpos[:], arms.data.qvel[:] = qpos[0], qvel[0]
    arms.begin()
    for k in range(len(qpos)):
        arms.data.qpos[:], arms.data.qvel[:] = qpos[k], qvel[k]
        mujoco.mj_step1(arms.model, arms.data)
        if k % SUBSTEPS == 0:
            arms.goal(actions[k // SUBSTEPS][:6])
        # The first torque of an episode was computed with the fingers elsewhere.
        bound = 2e-5 if k else 5e-3
        np.testing.assert_allclose(arms.torque(), ctrl[k][arms.motors], rtol=0, atol=bound)


# Torques (N m) at the end of each control step. Where the original has no single precision, what
# is left are the nine digits of the arm's numbers.
CASES = {
    "Panda/OSC_POSE": 3e-5,
    "Sawyer/OSC_POSE": 1e-4,
    "Jaco/OSC_POSE": 1e-4,
    "XArm7/OSC_POSE": 1e-4,
    "Baxter/OSC_POSE": 1e-4,
    'Panda/OSC_POSE{"uncouple_pos_ori": false}': 1e-4,
    "Panda/OSC_POSITION": 1e-8,
    "Panda/JOINT_POSITION": 1e-8,
    'Panda/JOINT_TORQUE{"output_max": 2.0, "output_min": -2.0}': 1e-9,
    'Panda/IK_POSE{"input_type": "absolute"}': 1e-5,
}
# What their fingers, whose links hang loose, do between two recorded states is not known; they are
# held still here. The bound is on the median over the control steps.
LOOSE = {"UR5e/OSC_POSE": 0.01, "IIWA/OSC_POSE": 0.005, "Kinova3/OSC_POSE": 0.01}
# In the record, these hold Sawyer's first joint in place.
TOUCHING = {"Sawyer": ("robot0_right_arm_base_link", "robot0_right_l0")}


def torques_at_ends(case, *, fingers_move):
    """How far a law is from the recorded torques at the end of each control step, (steps,), N m.

    Recorded are the joints after the last physics step, and the torques before it. The state in
    between is the one from which the physics leads to the recorded one.
    """
    robot, law = case.split("/", 1)
    name, parameters = re.fullmatch(r"(\w+)(\{.*\})?", law).groups()
    # The record's way to make IK_POSE work: what it does by itself here.
    given = {} if name == "IK_POSE" else json.loads(parameters or "{}")
    arms = Arms(robot, make(name, **given), TOUCHING.get(robot, ()))
    data, joints, motors = arms.data, arms.joints, arms.motors
    actions, qpos, speeds, ctrl, start = (
        ROLLOUTS[f"{case}/{entry}"] for entry in ("actions", "qpos", "joint_vel", "ctrl", "qpos0")
    )
    others = np.setdiff1d(np.arange(arms.model.nu), motors)
    fingers = np.setdiff1d(np.arange(arms.model.nv), joints)
    numbers_of_arm = sum(len(arms.controller.actions(chain.joints)) for chain in arms.chains)
    if not fingers_move:
        arms.model.dof_armature[fingers] = 1e6
    data.qpos[:] = start
    arms.begin()
    errors = []
    for k, action in enumerate(actions):
        data.ctrl[others] = ctrl[k][others]
        mujoco.mj_step1(arms.model, data)
        arms.goal(action[:numbers_of_arm])
        if fingers_move:
            for _ in range(SUBSTEPS - 1):
                arms.physics_step()
        before = data.qpos.copy(), data.qvel.copy()
        if not fingers_move:
            before[0][fingers] = qpos[k][fingers]
        before[0][joints] = qpos[k][joints] - TIMESTEP * speeds[k]
        guess = speeds[k].copy()
        for _ in range(30):
            data.qpos[:], data.qvel[:] = before
            data.qvel[joints] = guess
            data.ctrl[motors] = ctrl[k][motors]
            mujoco.mj_step(arms.model, data)
            guess += speeds[k] - data.qvel[joints]
        data.qpos[:], data.qvel[:] = before
        data.qvel[joints] = guess
        mujoco.mj_step1(arms.model, data)
        errors.append(np.abs(arms.torque() - ctrl[k][motors]).max())
        mujoco.mj_step2(arms.model, data)
        data.qpos[:], data.qvel[joints] = qpos[k], speeds[k]
    return np.array(errors)


@pytest.mark.parametrize("case", mostly_nightly(CASES, quick=3))
def test_torques_at_the_end_of_control_steps_are_the_recorded_ones(case):
    assert torques_at_ends(case, fingers_move=True).max() < CASES[case]


@pytest.mark.parametrize("case", LOOSE)
def test_torques_of_arms_with_loose_fingers_are_near_the_recorded_ones(case):
    assert np.median(torques_at_ends(case, fingers_move=False)) < LOOSE[case]


# As laws.


@pytest.mark.parametrize("name", mostly_nightly(ARMS, quick=4))
def test_joint_velocities_are_tracked(name):
    # Baxter's joints have no armature: a greater gain chatters, and this one is slow.
    gain, bound = (0.5, 0.08) if name == "Baxter" else (3.0, 0.02)
    arms = Arms(name, make("JOINT_VELOCITY", kp=gain))
    action = np.resize([0.5, -0.3], len(arms.joints))
    for _ in range(15):
        arms.step(action)
    speeds = np.concatenate([state.qvel for state in arms.states()])
    np.testing.assert_allclose(speeds, 0.5 * action, atol=bound)


def test_sum_of_velocity_errors_stands_still_at_a_motors_limit():
    law = make("JOINT_VELOCITY", kp=(20.0, 20.0))
    readings = {
        "qvel": np.array([0.1, 0.2]),
        "torque_low": np.full(2, -9.0),
        "torque_high": np.full(2, 9.0),
    }
    state = State(**readings, bias=np.zeros(2))
    memory = law.goal(state, np.array([0.5, 0.9]), law.memory(state))
    moving = law.substep(state, memory)
    np.testing.assert_allclose(moving["error_sum"], [0.15, 0.25])
    for bias in ([8.0, 0.0], [0.0, -20.0]):  # either joint's motor stops both sums
        held = State(**readings, bias=np.array(bias))
        np.testing.assert_array_equal(law.substep(held, moving)["error_sum"], moving["error_sum"])
    again = law.substep(state, moving)
    np.testing.assert_allclose(again["error_sum"], [0.3, 0.5])


@pytest.mark.parametrize("axis", range(3))
def test_inverse_kinematics_moves_the_tool_by_what_is_asked(axis):
    """The published default ran the other way; as it was meant, +x went 0.077 m in 1 s."""
    arms = Arms("Panda", make("IK_POSE"))
    start = arms.tool
    action = np.zeros(6)
    action[axis] = 0.02
    for _ in range(20):
        arms.step(action)
    moved = arms.tool - start
    assert moved[axis] == pytest.approx(0.077, abs=0.002)
    assert np.abs(np.delete(moved, axis)).max() < 0.005


def test_inverse_kinematics_turns_the_tool_by_what_is_asked():
    arms = Arms("Panda", make("IK_POSE"))
    before = arms.states()[0].rotation
    for _ in range(20):
        arms.step([0, 0, 0, 0, 0, 0.05])
    between = rotations.compose(arms.states()[0].rotation, rotations.transposed(before))
    turned = rotations.to_rotation_vector(between)
    assert turned[2] > 0.15
    assert np.abs(turned[:2]).max() < 0.02


def test_inverse_kinematics_asks_for_no_more_than_its_limits():
    arms = Arms("Panda", make("IK_POSE"))
    goals = []
    for size in (1, 50):
        arms.goal(size * np.array([0.012, 0, 0.016, 0.03, 0.04, 0]))  # as long as the limits
        goals.append(arms.memories[0]["qpos"])
    np.testing.assert_allclose(*goals, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "frame", "interpolation"),
    mostly_nightly(
        itertools.product(("Panda", "Baxter"), ("base", "world"), (None, "linear")),
        quick=[("Panda", "base", None)],
    ),
)
def test_absolute_poses_are_reached(name, frame, interpolation):
    law = make(
        "OSC_POSE", input_type="absolute", input_ref_frame=frame, interpolation=interpolation
    )
    arms = Arms(name, law)
    arms.model.dof_frictionloss[:] = 0  # the law has no integral that would overcome it
    actions, wanted = [], []
    for state in arms.states():
        place = state.position + np.array([-0.03, 0.02, 0.04])
        axes = rotations.compose(
            rotations.from_rotation_vector(np.array([0, 0.1, 0.2])), state.rotation
        )
        wanted.append((place, axes))
        if frame == "base":
            place = rotations.to_local(state.origin_rotation, place - state.origin_position)
            axes = rotations.compose(rotations.transposed(state.origin_rotation), axes)
        actions += [place, rotations.to_rotation_vector(axes)]
    for _ in range(60):
        arms.step(np.concatenate(actions))
    for state, (place, axes) in zip(arms.states(), wanted, strict=True):
        np.testing.assert_allclose(state.position, place, atol=2e-3)
        assert np.abs(rotations.rotation_error(state.rotation, axes)).max() < 0.02


def test_displacements_are_along_the_axes_of_the_frame():
    """Baxter's arms start at origins that are turned by 45 degrees, one to each side."""
    for frame in ("base", "world"):
        arms = Arms("Baxter", make("OSC_POSITION", input_ref_frame=frame))
        before = arms.states()
        starts = [state.position for state in before]
        axes = [state.origin_rotation for state in before]
        for _ in range(10):
            arms.step([-0.5, 0, 0, -0.5, 0, 0])
        for state, start, axis in zip(arms.states(), starts, axes, strict=True):
            moved = state.position - start
            if frame == "base":
                moved = rotations.to_local(axis, moved)
            assert moved[0] < -0.03
            assert np.abs(moved[1:]).max() < 0.015


def test_asked_impedance_is_the_fixed_one_where_it_is_the_same():
    for name, axes in (("OSC_POSE", 6), ("OSC_POSITION", 6), ("JOINT_POSITION", 7)):
        fixed = Arms("Panda", make(name, kp=200, damping_ratio=0.7))
        both = Arms("Panda", make(name, impedance_mode="variable"))
        gains = Arms("Panda", make(name, impedance_mode="variable_kp", damping_ratio=0.7))
        delta = np.linspace(-1, 1, len(fixed.controller.actions(fixed.chains[0].joints)))
        for _ in range(3):
            fixed.step(delta)
            both.step(np.concatenate([np.full(axes, 0.7), np.full(axes, 200.0), delta]))
            gains.step(np.concatenate([np.full(axes, 200.0), delta]))
        np.testing.assert_allclose(both.data.qpos, fixed.data.qpos, rtol=0, atol=1e-9)
        np.testing.assert_allclose(gains.data.qpos, fixed.data.qpos, rtol=0, atol=1e-9)


def test_asked_impedance_is_kept_within_its_limits():
    arms = Arms("Panda", make("OSC_POSE", impedance_mode="variable"))
    arms.goal(np.concatenate([np.full(6, 99.0), np.full(6, -5.0), np.zeros(6)]))
    memory = arms.memories[0]
    assert (memory["kp"] == 0).all()
    assert (memory["kd"] == 0).all()
    arms.goal(np.concatenate([np.full(6, 99.0), np.full(6, 1e4), np.zeros(6)]))
    memory = arms.memories[0]
    assert (memory["kp"] == 300).all()
    np.testing.assert_allclose(memory["kd"], 2 * 300**0.5 * 10)


def test_goal_ramps_as_published():
    steps = ramp_steps(0.2, SUBSTEPS)
    shares = [float(ramp(np.asarray(float(k)), steps)) for k in range(8)]
    assert shares == [1 / 5, 1 / 4, 1 / 3, 1 / 2, 1, 1, 1, 1]


@pytest.mark.parametrize("name", ["JOINT_POSITION", "JOINT_VELOCITY", "JOINT_TORQUE"])
def test_joint_goals_ramp_from_the_goal_before(name):
    arms = Arms("Panda", make(name, interpolation="linear", ramp_ratio=0.08))
    key = {"JOINT_POSITION": "qpos", "JOINT_VELOCITY": "velocity", "JOINT_TORQUE": "torque"}[name]
    arms.step(np.ones(7))
    first = arms.memories[0][key]
    arms.goal(-np.ones(7))
    second = arms.memories[0][key]
    law = arms.controller
    seen = []
    for _ in range(3):
        seen.append(law.current(key, arms.memories[0]))
        arms.physics_step()
    np.testing.assert_allclose(seen[0], (first + second) / 2)
    np.testing.assert_allclose(seen[1:], [second, second])


def test_tool_turns_the_short_way_while_a_goal_ramps():
    """The pose halfway is halfway: the axes stay axes."""
    arms = Arms("Panda", make("OSC_POSE", interpolation="linear", ramp_ratio=0.08))
    start = arms.memories[0]["rotation"]
    arms.goal(np.array([0, 0, 0, 0.5, -0.5, 0.5]))
    law, state = arms.controller, arms.states()[0]
    _, half = law._wanted(state, arms.memories[0])
    between = rotations.compose(half, rotations.transposed(start))
    np.testing.assert_allclose(
        rotations.to_rotation_vector(between), [0.125, -0.125, 0.125], atol=1e-12
    )


@pytest.mark.slow
def test_positions_stay_within_their_limits():
    low, high = [-1, -1, 0.05], [0.46, 1, 2]
    arms = Arms("Panda", make("OSC_POSE", position_limits=[low, high]))
    for _ in range(40):
        arms.step([1, 0, -1, 0, 0, 0])
    state = arms.states()[0]
    wanted, place = (
        rotations.to_local(state.origin_rotation, point - state.origin_position)
        for point in (arms.memories[0]["position"], state.position)
    )
    assert wanted[0] == pytest.approx(0.46, abs=1e-12)
    assert place[0] < 0.47
    assert place[2] > 0.04


def test_arm_of_two_joints_stays_finite():
    """Fewer joints than the tool has directions: the law has no inverse to take."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><worldbody><site name="origin"/><body>
      <joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/>
      <body pos=".3 0 0"><joint name="b" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/><site name="tool" pos=".3 0 0"/>
    </body></body></worldbody>
    <actuator><motor name="a" joint="a" ctrllimited="true" ctrlrange="-9 9"/>
      <motor name="b" joint="b" ctrllimited="true" ctrlrange="-9 9"/></actuator></mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[:] = 0.3, 0.5
    mujoco.mj_step1(model, data)
    state = Chain(model, ["a", "b"], ["a", "b"], "tool", "origin").state(data)
    for name in ("OSC_POSE", "OSC_POSITION", "IK_POSE"):
        law = make(name)
        memory = law.memory(state)
        count = len(law.actions(("a", "b")))
        memory = law.goal(state, np.full(count, 0.01), memory)
        assert np.isfinite(law.torque(state, memory)).all()


@pytest.mark.parametrize("name", LAWS)
def test_torques_stay_within_the_motors_limits(name):
    arms = Arms("Panda", make(name))
    arms.data.qvel[:7] = 30
    arms.begin()
    state = arms.states()[0]
    arms.goal(np.ones(len(arms.controller.actions(arms.chains[0].joints))))
    torque = arms.torque()
    assert (torque >= state.torque_low).all()
    assert (torque <= state.torque_high).all()


# One and many, of any library.


def read(chain, v, convert=lambda x: x):
    """The state with every reading taken."""
    state = chain.state(v)
    return State(**{name: taken(getattr(state, name), convert) for name in State.__annotations__})


def taken(reading, convert):
    return convert(reading) if isinstance(reading, np.ndarray) else reading


def worked(law, chain, states, action):
    """Two control steps of two physics steps: the last torques and memory."""
    memory = law.memory(states[0])
    for k in range(4):
        if k % 2 == 0:
            memory = law.goal(states[k], action, memory)
        torque = law.torque(states[k], memory)
        memory = law.substep(states[(k + 1) % 4], memory)
    return {"its torque": torque, **memory}


@pytest.mark.parametrize("parameters", mostly_nightly(VARIANTS, quick=4), ids=called)
def test_many_at_once_are_each_alone_to_the_bit(parameters):
    law, count = make(parameters), 17
    simulations = [many("Panda", count, seed) for seed in range(4)]
    chain = simulations[0][0]
    rng = np.random.default_rng(0)
    action = rng.normal(size=(count, len(law.actions(chain.joints)))) * 0.3
    together = worked(law, chain, [chain.state(v) for _, v in simulations], action)
    for i in range(count):
        alone = [
            chain.state(type(v)(**{field: getattr(v, field)[i] for field in FIELDS}))
            for _, v in simulations
        ]
        for name, value in worked(law, chain, alone, action[i]).items():
            np.testing.assert_array_equal(value, together[name][i], err_msg=name)


@pytest.mark.parametrize(
    "lead", [*(pytest.param(lead, marks=pytest.mark.slow) for lead in ((), (5,))), (2, 3)]
)
@pytest.mark.parametrize(
    "library", ["array_api_strict", pytest.param("torch", marks=pytest.mark.torch)]
)
@pytest.mark.parametrize("parameters", mostly_nightly(VARIANTS, quick=4), ids=called)
def test_other_array_libraries_give_the_same(parameters, library, lead):
    convert = importlib.import_module(library).asarray
    law, count = make(parameters), int(np.prod(lead))
    simulations = [many("UR5e", count, seed) for seed in range(4)]
    chain = simulations[0][0]
    shaped = [
        type(v)(**{f: getattr(v, f).reshape(*lead, *getattr(v, f).shape[1:]) for f in FIELDS})
        for _, v in simulations
    ]
    others = [type(v)(**{f: convert(getattr(v, f)) for f in FIELDS}) for v in shaped]
    rng = np.random.default_rng(0)
    action = rng.normal(size=(*lead, len(law.actions(chain.joints)))) * 0.3
    want = worked(law, chain, [read(chain, v) for v in shaped], action)
    got = worked(law, chain, [read(chain, v, convert) for v in others], convert(action))
    assert got.keys() == want.keys()
    for name, value in want.items():
        np.testing.assert_allclose(
            np.asarray(got[name]), value, rtol=1e-12, atol=1e-12, err_msg=name
        )


def test_memory_is_no_view_of_the_simulation():
    for name in LAWS:
        arms = Arms("Panda", make(name))
        kept = {key: value.copy() for key, value in arms.memories[0].items()}
        arms.data.qpos[:] += 0.1
        arms.data.qvel[:] += 0.1
        mujoco.mj_step1(arms.model, arms.data)
        for key, value in arms.memories[0].items():
            np.testing.assert_array_equal(value, kept[key], err_msg=f"{name}: {key}")


# What the numbers of an action do, names and parameters.


@pytest.mark.parametrize("parameters", VARIANTS, ids=called)
def test_every_number_of_an_action_is_described(parameters):
    joints = tuple(f"j{i}" for i in range(7))
    actions = make(parameters).actions(joints)
    assert len({action.name for action in actions}) == len(actions)
    for action in actions:
        assert action.meaning
        assert action.unit
        assert action.low < action.high


def column(actions, field):
    return [getattr(action, field) for action in actions]


def test_units_are_what_a_change_by_one_stands_for():
    assert column(make("OSC_POSE").actions(()), "unit") == ["0.05 m"] * 3 + ["0.5 rad"] * 3
    assert column(make("JOINT_TORQUE").actions(("a",)), "unit") == ["0.1 N m"]
    (scaled,) = make("JOINT_VELOCITY", input_min=0, input_max=4).actions(("a",))
    assert (scaled.unit, scaled.low, scaled.high) == ("0.25 rad/s", 0, 4)
    absolute = make("OSC_POSE", input_type="absolute").actions(())
    assert column(absolute, "unit") == ["m"] * 3 + ["rad"] * 3
    assert column(absolute, "high") == [UNLIMITED] * 6
    assert column(make("IK_POSE").actions(("a",)), "high") == [0.02] * 3 + [0.05] * 3
    variable = make("OSC_POSITION", impedance_mode="variable").actions(())
    assert column(variable, "high") == [10.0] * 6 + [300.0] * 6 + [1.0] * 3


def test_range_of_an_action_is_mapped_to_that_of_what_it_asks():
    arms = Arms(
        "Panda", make("JOINT_POSITION", input_min=0, input_max=2, output_min=-0.1, output_max=0.3)
    )
    start = arms.states()[0].qpos
    for given, asked in ((0, -0.1), (1, 0.1), (2, 0.3), (-5, -0.1), (9, 0.3)):
        arms.goal(np.full(7, float(given)))
        np.testing.assert_allclose(arms.memories[0]["qpos"] - start, asked, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("OSC_POS", ValueError, "OSC_POSE"),
        ({"type": "OSC_POSE", "kpp": 3}, TypeError, "did you mean kp"),
        ({"type": "OSC_POSE", "damping": 3}, TypeError, "damping_ratio"),
        ({"kp": 3}, ValueError, '"type"'),
        ({"type": "OSC_POSE", "impedance_mode": "variabel"}, ValueError, "variable"),
        ({"type": "OSC_POSE", "input_type": "absolut"}, ValueError, "absolute"),
        ({"type": "OSC_POSE", "input_ref_frame": "bas"}, ValueError, "base"),
        ({"type": "OSC_POSE", "interpolation": "linea"}, ValueError, "linear"),
        ({"type": "OSC_POSE", "kp": "150"}, ValueError, "kp"),
        ({"type": "OSC_POSE", "kp": float("nan")}, ValueError, "kp"),
        ({"type": "OSC_POSE", "kp": -1}, ValueError, "kp"),
        ({"type": "OSC_POSE", "kp_limits": [300, 0]}, ValueError, "kp_limits"),
        ({"type": "OSC_POSE", "ramp_ratio": 0}, ValueError, "ramp_ratio"),
        ({"type": "OSC_POSE", "substeps": 0}, ValueError, "substeps"),
        ({"type": "OSC_POSE", "input_min": 1}, ValueError, "input_min"),
        ({"type": "OSC_POSE", "position_limits": [[0, 0], [1, 1]]}, ValueError, "position_limits"),
        ({"type": "JOINT_POSITION", "qpos_limits": [1, 2, 3]}, ValueError, "qpos_limits"),
        ({"type": "JOINT_POSITION", "kd": 3, "impedance_mode": "variable"}, ValueError, "kd"),
        ({"type": "JOINT_TORQUE", "torque_limits": 3}, ValueError, "torque_limits"),
        ({"type": "JOINT_TORQUE", "torque_limits": [1, -1]}, ValueError, "exceeds"),
        ({"type": "IK_POSE", "ik_pos_limit": 0}, ValueError, "ik_pos_limit"),
        ({"type": "IK_POSE", "input_type": "absolute"}, TypeError, "input_type"),
        ("test_controllers:Hold_", ValueError, "Hold"),
        (3, TypeError, "module:Class"),
    ],
)
def test_what_is_wrong_is_refused_by_name(given, error, message):
    with pytest.raises(error, match=message):
        make(given)


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "OSC_POSE", "kp": [1, 2, 3]},
        {"type": "OSC_POSITION", "output_max": [0.05] * 6},
        {"type": "JOINT_POSITION", "kp": [1, 2]},
        {"type": "JOINT_VELOCITY", "kp": [1, 2]},
        {"type": "IK_POSE", "kp": [1, 2]},
        {"type": "JOINT_POSITION", "kd": [1, 2]},
        {"type": "JOINT_POSITION", "qpos_limits": [[-1, -1], 1]},
        {"type": "JOINT_VELOCITY", "velocity_limits": [[-1, -1], 1]},
        {"type": "JOINT_TORQUE", "torque_limits": [[-1, -1], 1]},
    ],
    ids=called,
)
def test_parameters_that_do_not_fit_the_arm_are_refused(parameters):
    with pytest.raises(ValueError, match=r"expected one number or \d"):
        make(parameters).actions(tuple("abcdefg"))


def test_readings_are_taken_once_and_only_if_looked_at():
    taken = []
    state = State(qpos=lambda s: taken.append("qpos") or 1.0, qvel=lambda s: 2 * s.qpos)
    assert taken == []
    assert (state.qvel, state.qvel, state.qpos) == (2.0, 2.0, 1.0)
    assert taken == ["qpos"]


def test_state_lacks_what_it_was_not_given():
    with pytest.raises(TypeError, match="did you mean qpos"):
        State(qpoz=np.zeros(3))
    with pytest.raises(AttributeError, match="bias"):
        _ = State(qpos=np.zeros(3)).bias


def test_chain_refuses_what_the_model_lacks():
    model = Arms("Panda").model
    sites = "gripper0_right_grip_site", "robot0_right_center"
    with pytest.raises(KeyError, match="did you mean robot0_joint1"):
        Chain(model, ["robot0_joint_1"], ["robot0_torq_j1"], *sites)
    with pytest.raises(KeyError, match="did you mean gripper0_right_grip_site"):
        Chain(model, ["robot0_joint1"], ["robot0_torq_j1"], "right_grip_site", sites[1])
    with pytest.raises(ValueError, match="0 actuators for 1 joints"):
        Chain(model, ["robot0_joint1"], [], *sites)


@dataclasses.dataclass(frozen=True)
class Hold(Controller):
    """A law of one's own: springs that hold the joints, by as much as the action says."""

    stiffness: float = 100.0

    def actions(self, joints):
        return (Action("grip", 0.0, 1.0, meaning="how firmly the joints are held"),)

    def goal(self, state, action, memory):
        return {"qpos": state.qpos, "share": action}

    def torque(self, state, memory):
        spring = memory["share"] * self.stiffness * (memory["qpos"] - state.qpos)
        return limited(state, spring - 10 * state.qvel + state.bias)


def test_controller_of_ones_own_is_a_small_class():
    law = make({"type": "test_controllers:Hold", "stiffness": 400})
    arms = Arms("Panda", law)
    start = arms.data.qpos[:7].copy()
    for _ in range(10):
        arms.step([1.0])
    np.testing.assert_allclose(arms.data.qpos[:7], start, atol=1e-3)


def test_composite_refuses_what_does_not_match():
    with pytest.raises(ValueError, match="twice"):
        Composite((("a", make("OSC_POSE")), ("a", make("OSC_POSE"))), ((), ()))
    with pytest.raises(ValueError, match="joints"):
        Composite((("a", make("OSC_POSE")),), ())
