"""The recorded rollout with a linear ramp, whose law of orientation is not this package's.

The published ramp of orientation does not ramp the orientation. Its error at the control step's
start, a vector, is read as angles about x, y and z, one after the other about axes that turn along;
a slerp goes to them from those of the control step before, by fifths; and what is reached is read
again as angles, now about fixed axes, and taken for the error, however the tool turns meanwhile.
The ramp of the position is as here. A law that does the same gives the rollout back.
"""

import math
from dataclasses import dataclass

import numpy as np

from helpers.lanes import lane
from helpers.robosuite_records import FOLDER
from mjgym import rotations
from mjgym.controllers import OperationalSpacePose, controllers
from mjgym.controllers.scaled import ramp_steps
from mjgym.envs.env import Env
from mjgym.tasks.robosuite.lift import Lift

RECORD = np.load(FOLDER / "ramp_rollout.npz")
FREE = 20  # control steps before the hand comes to the table


def turning(angles):
    """Angles about x, y and z that turn along, as a matrix (3, 3)."""
    x, y, z = (rotations.from_rotation_vector(turn).reshape(3, 3) for turn in np.diag(angles))
    return x @ y @ z


def fixed(matrix):
    """The angles of a matrix (3, 3) about x, y and z that do not turn along."""
    level = math.hypot(matrix[0, 0], matrix[1, 0])
    x = math.atan2(matrix[2, 1], matrix[2, 2])
    return np.array([x, math.atan2(-matrix[2, 0], level), math.atan2(matrix[1, 0], matrix[0, 0])])


@dataclass(frozen=True)
class PublishedRamp(OperationalSpacePose):
    """The law with the published ramp of orientation, for one simulation."""

    def memory(self, state):
        return {**super().memory(state), "error": np.zeros(3), "error_from": np.zeros(3)}

    def goal(self, state, action, memory):
        changed = super().goal(state, action, memory)
        error = rotations.rotation_error(state.rotation, changed["rotation"])
        return {**changed, "error": error, "error_from": memory["error"]}

    def _wanted(self, state, memory):
        position, _ = super()._wanted(state, memory)
        steps = ramp_steps(self.ramp_ratio, self.substeps)
        start, end = turning(memory["error_from"]), turning(memory["error"])
        way = rotations.to_rotation_vector((end @ start.T).ravel())
        share = (min(int(memory["since"]), steps - 1) + 1) / steps
        error = fixed(rotations.from_rotation_vector(share * way).reshape(3, 3) @ start)
        size = np.linalg.norm(error)  # the sine of the angle that the law sees it as
        turn = error * (math.asin(size) / size if size else 1.0)
        return position, rotations.compose(rotations.from_rotation_vector(turn), state.rotation)


def worst(controller):
    """The greatest error of the joints' angles in each control step, rad."""
    env = Env(Lift(controller=controller), observation="dict", dtype="float64")
    env.reset(seed=0)
    env.set_state({"qpos": RECORD["qpos0"], "qvel": RECORD["qvel0"]})
    start = env.task.memory(env.view)  # of the controllers, in that state
    env.set_state({f"memory.{name}": value for name, value in start.items()})
    return np.array(
        [
            np.abs(env.step(action)[0]["robot0_joint_pos"] - joints).max()
            for action, joints in zip(RECORD["actions"], RECORD["joint_pos"], strict=True)
        ]
    )


@lane(2, 3)
def test_published_ramp_gives_the_rollout_back():
    controllers.add("PUBLISHED_RAMP", PublishedRamp())
    ramped = {"input_ref_frame": "world", "interpolation": "linear"}
    assert worst({"type": "PUBLISHED_RAMP", **ramped})[:FREE].max() < 1e-6
    assert worst({"type": "OSC_POSE", **ramped})[0] > 0.01
