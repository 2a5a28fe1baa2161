"""Pairs of robots, grippers and controllers: a small contract, and what actions do."""

import itertools

import gymnasium
import numpy as np
import pytest

from helpers.compiling import nothing_compiled
from helpers.equivalence import assert_every_slot_equals_a_single_env
from helpers.lanes import mostly_nightly
from helpers.suite import gymnasium_checker
from mjgym import Env
from mjgym.controllers import controllers
from mjgym.robots import arms, hands
from mjgym.rotations import to_rotation_vector
from mjgym.tasks.robosuite.lift import Lift

pytestmark = pytest.mark.slow  # quick tests take the robots of the ids

ID = "robosuite/Lift-v0"


def composes(**fields):
    """Whether there is such a task; nothing is compiled for that."""
    try:
        Lift(**fields)
    except ValueError:
        return False
    return True


ROBOTS = [name for name in arms.names() if composes(robot=name)]
GRIPPERS = [name for name in hands.names() if composes(gripper=name)]
CONTROLLERS = controllers.names()
# Every robot, every gripper and every controller at least once.
FEW = [
    tuple(kind[i % len(kind)] for kind in (ROBOTS, GRIPPERS, CONTROLLERS))
    for i in range(max(len(ROBOTS), len(GRIPPERS)))
]
few = pytest.mark.parametrize(("robot", "gripper", "controller"), mostly_nightly(FEW, 6))


def test_all_are_there():
    assert len(ROBOTS) == 18
    assert len(GRIPPERS) == 16
    assert len(CONTROLLERS) == 7
    for robot, gripper, controller in itertools.product(ROBOTS, GRIPPERS, CONTROLLERS):
        assert composes(robot=robot, gripper=gripper, controller=controller)


@few
def test_a_batch_is_as_single_environments(robot, gripper, controller):
    fields = {"robot": robot, "gripper": gripper, "controller": controller}
    assert_every_slot_equals_a_single_env(ID, count=2, steps=2, **fields)


@few
def test_small_contract(robot, gripper, controller):
    """Gymnasium's checker; actions have names of their own."""
    fields = {"robot": robot, "gripper": gripper, "controller": controller}
    env = gymnasium.make(ID, **fields)
    gymnasium_checker(env)
    names = [action.name for action in env.unwrapped.task.actions(env.unwrapped.model)]
    assert len(set(names)) == len(names) == env.action_space.shape[0]
    env.close()


# What actions do, in a task.

PUSH = {  # what an action of 1 in its first number moves, and by how much at least in 10 steps
    "OSC_POSE": ("tool", 0.05),
    "OSC_POSITION": ("tool", 0.05),
    "IK_POSE": ("tool", 0.02),
    "JOINT_POSITION": ("joint", 0.04),
    "JOINT_VELOCITY": ("joint", 0.05),
    "JOINT_TORQUE": ("joint", 0.02),
    "WHOLE_BODY_IK": ("tool", 0.03),  # whose numbers are the tool's own pose
}
STRONG = {"type": "JOINT_TORQUE", "output_max": 8.0, "output_min": -8.0}  # N m, over friction
# The humanoid's motors have 20 kN m, of which the usual gain is a fraction.
GENTLE = {"type": "JOINT_VELOCITY", "kp": [20.0] * 7}  # N m s/rad
STANDING = [robot for robot in ROBOTS if robot != "SpotWithArm"]  # which sinks to its knees
PAIRS = mostly_nightly(
    itertools.product(STANDING, CONTROLLERS), 7, [("Panda", name) for name in CONTROLLERS]
)


@pytest.mark.parametrize(("robot", "controller"), PAIRS)
def test_first_number_moves_what_it_names(robot, controller):
    law = STRONG if controller == "JOINT_TORQUE" else controller
    if robot.startswith("GR1") and controller == "JOINT_VELOCITY":
        law = GENTLE
    env = Env(Lift(robot=robot, controller=law, start_noise=0.0, gripper=None), dtype="float64")
    env.reset(seed=0)
    arm, view = env.task.manipulators[0], env.view
    what, least = PUSH[controller]
    frame = view.site(arm.origin).xmat.reshape(3, 3) if controller.startswith("OSC") else np.eye(3)

    def place():
        return view.site(arm.tool).xpos.copy(), view.qpos[view.rows("qpos", arm.joints)].copy()

    (tool, joints), action = place(), np.zeros(env.action_space.shape)
    for i, each in enumerate(env.task.actions(env.model)):
        if each.name == "robot0_torso robot0_torso_lift_joint":  # Tiago's, a position
            action[i] = env.data.joint("robot0_torso_lift_joint").qpos[0]
    if controller == "WHOLE_BODY_IK":
        sites = [view.site(each.tool) for each in env.task.manipulators]  # all stay but the first
        poses = [[*s.xpos, *to_rotation_vector(s.xmat.ravel())] for s in sites]
        action[: 6 * len(sites)] = np.concatenate(poses)
        action[0] += 0.05
    else:
        action[0] = env.action_space.high[0]
    for _ in range(10):
        env.step(action)
    new_tool, new_joints = place()
    assert np.isfinite(new_joints).all()
    if what == "joint":
        turned = new_joints - joints
        assert turned[0] > least
        if robot != "Baxter":  # whose joints are so light that one moves the others
            assert np.abs(turned[1:]).max() < max(0.02, turned[0])
    else:
        moved = frame.T @ (new_tool - tool)
        assert moved[0] > least
        assert np.abs(moved[1:]).max() < 0.3 * moved[0]


HOLDING = [
    name
    for name in GRIPPERS
    if name not in ("none", "WipingGripper") and not name.endswith("Hand")  # fists, by themselves
]


@pytest.mark.parametrize("gripper", mostly_nightly(HOLDING, 6))
def test_fingers_close_and_open_in_a_task(gripper):
    """The pads come nearer with 1 and go apart with -1, on an arm that is not the gripper's own."""
    env = Env(Lift(robot="Sawyer", gripper=gripper, start_noise=0.0), dtype="float64")
    hand, prefix = env.task.manipulators[0].hand, env.task.manipulators[0].hand_prefix
    count = env.task.manipulators[0].hand.law.dimensions
    steps = 100 if "Jaco" in gripper else 20

    def width(sign):
        env.reset(seed=0)
        action = np.zeros(env.action_space.shape)
        action[6 : 6 + count] = sign
        for _ in range(steps):
            env.step(action)
        pads = [
            np.mean([env.data.geom(prefix + pad).xpos for pad in side], axis=0)
            for side in hand.fingers
        ]
        return np.linalg.norm(pads[0] - pads[1])

    assert width(-1.0) > width(1.0) + 0.02


# What does not compose.


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"robot": "jaco_6_joints"}, "not driven by torques"),
        ({"gripper": "jaco_3_fingers"}, "cannot carry"),
        ({"robot": "Baxter", "gripper": ("PandaGripper", "PandaGripper")}, "2 of them for 1"),
        ({"robot": "UR5e", "controller": {"type": "JOINT_POSITION", "kp": [50.0] * 7}}, "or 6"),
        ({"robot": "Panda", "controller": {"type": "OSC_POSE", "kp": [150.0] * 7}}, "or 6"),
    ],
    ids=str,
)
def test_what_does_not_compose_is_refused(fields, message):
    with nothing_compiled(), pytest.raises(ValueError, match=message):
        Lift(**fields)
