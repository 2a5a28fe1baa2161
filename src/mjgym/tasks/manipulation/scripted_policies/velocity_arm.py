"""An arm and a hand with velocity servos, as a scripted policy's tool."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mjgym.robots.kinematics import Kinematics
from mjgym.robots.staged_policy import Motion, Observation
from mjgym.robots.tool_poses import heading_of_x, rotation_between
from mjgym.rotations import compose, from_rotation_vector, norm
from mjgym.task.models import compile_model
from mjgym.tasks.manipulation.arm_scene import Robot, Scene

LOOK_AHEAD, TURN_AHEAD = 0.12, 0.3  # m and rad, horizon of the inverse kinematics
GAIN = 9.0  # 1/s, from remaining joint displacement to velocity
BRAKING = 0.7  # fraction of a servo's acceleration used for braking
FINGER_GAIN = 10.0  # 1/s, from remaining finger displacement to velocity
HAND = "jaco_3_fingers"  # the hand that the grasps are made for
AT_REST = 0.2  # rad/s, of a finger
AFFINE = 1  # mjtBias


class Hand:
    """A hand at the time of an observation; its fingers close along x and point along z."""

    def __init__(self, name: str, observation: Observation) -> None:
        self.position = observation[f"{name}/pinch_site_pos"]  # between the fingers, (..., 3) m
        self.rotation = observation[f"{name}/pinch_site_rmat"]  # (..., 9)
        self.heading = heading_of_x(self.rotation)  # of its x axis, (...) rad
        self.angles = observation[f"{name}/joints_pos"]  # of the fingers, (..., n) rad
        speed = np.abs(observation[f"{name}/joints_vel"]).max(axis=-1)
        self.at_rest = np.asarray(speed < AT_REST)

    def turn_to(self, rotation: np.ndarray) -> np.ndarray:
        return rotation_between(self.rotation, rotation)


@dataclass(frozen=True)
class VelocityArm:
    """Arm and hand of a scene, see `Body`."""

    robot: Robot  # names of the observation's entries
    kinematics: Kinematics
    fastest: np.ndarray  # velocity limit of each joint of the arm, rad/s
    braking: np.ndarray  # of each joint of the arm, rad/s^2
    stiffness: np.ndarray  # of each joint's servo, N m s/rad: torque per velocity error
    fingers: np.ndarray  # least and greatest angles of the fingers, (2, n) rad, for -1 and almost 1
    held: np.ndarray  # closed angles at `CLOSE`, rad: some stand still for others to press on
    finger_speed: np.ndarray  # velocity limit of each finger, rad/s

    def tools(self, observation: Observation) -> tuple[Hand]:
        return (Hand(self.robot.hand_name, observation),)

    def action(self, observation: Observation, motions: Sequence[Motion]) -> np.ndarray:
        """Joint velocities, (..., n) float32 rad/s, towards the target pose.

        Joints arrive together, at the pace of the slowest: the path is straight. A servo's error is
        proportional to its load and is compensated.
        """
        (motion,) = motions
        arm = self.robot.name
        sincos = observation[f"{arm}/joints_pos"]
        q = np.arctan2(sincos[..., 0], sincos[..., 1])
        (hand,) = self.tools(observation)
        place = hand.position + _shortened(motion.way, LOOK_AHEAD)
        turn = from_rotation_vector(_shortened(motion.turn, TURN_AHEAD))
        wanted = self.kinematics.solve(q, place, compose(turn, hand.rotation))
        way = wanted - q
        size = np.maximum(np.abs(way), 1e-9)
        most = np.minimum(self.fastest / size, np.sqrt(2 * self.braking / size))
        pace = np.minimum(GAIN, most.min(axis=-1)) * motion.speed
        felt = observation[f"{arm}/joints_torque"]
        load = np.sign(felt) * np.expm1(np.abs(felt))
        velocity = pace[..., None] * way + load / self.stiffness
        velocity = np.clip(velocity, -self.fastest, self.fastest)
        least, greatest = self.fingers
        share = (motion.fingers[..., None] + 1) / 2
        angle = np.where(share < 1, least + share * (greatest - least), self.held)
        closing = FINGER_GAIN * (angle - hand.angles)
        closing = np.clip(closing, -self.finger_speed, self.finger_speed)
        return np.concatenate([velocity, closing], axis=-1).astype(np.float32)


def _shortened(vector: np.ndarray, longest: float) -> np.ndarray:
    return np.asarray(vector * (longest / np.maximum(norm(vector), longest))[..., None])


def velocity_arm(task: Scene, held: Sequence[float] | None = None) -> VelocityArm:
    """Arm and hand of a task; `held` as in `VelocityArm`, None for the fingers' limits."""
    if task.vision:
        raise ValueError("vision: a script reads the poses of objects, which are not observed")
    if held is not None and task.hand != HAND:
        raise ValueError(f"hand: the script knows how {HAND!r} holds a brick, not {task.hand!r}")
    robot, model = task.robot, compile_model(task)
    joints = (*robot.joints, *robot.finger_joints)
    motors = [model.actuator(i).name for i in range(model.nactuator)]
    numbers = [motors.index(name) for name in joints if name in motors]
    gains, biases = model.actuator_gainprm[numbers], model.actuator_biasprm[numbers]
    servos = (
        numbers == list(range(len(joints)))
        and (model.actuator_biastype[numbers] == AFFINE).all()
        and (biases[:, 0:2] == 0).all()
        and (biases[:, 2] == -gains[:, 0]).all()
    )
    if not servos or not robot.torques:
        raise ValueError(
            f"arm, hand: a script moves joints by velocity servos and senses their torques, which"
            f" {task.arm!r} with {task.hand!r} has not"
        )
    n = len(robot.joints)
    speed, force = model.actuator_ctrlrange[:, 1], model.actuator_forcerange[:, 1]
    dofs = [int(model.joint(name).dofadr[0]) for name in robot.joints]
    limits = [model.joint(name).range for name in robot.finger_joints]
    return VelocityArm(
        robot=robot,
        kinematics=Kinematics(model, robot.joints, robot.tool),
        fastest=speed[:n].copy(),
        braking=BRAKING * force[:n] / model.dof_armature[dofs],
        stiffness=gains[:n, 0].copy(),
        fingers=np.array(limits).T,
        held=np.array(limits)[:, 1] if held is None else np.array(held),
        finger_speed=speed[n : len(joints)].copy(),
    )
