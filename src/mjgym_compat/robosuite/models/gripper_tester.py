"""A gripper on a vertical slide that grasps a box and lifts it."""

import xml.etree.ElementTree as ET
from typing import Any

import mujoco
import numpy as np

from mjgym_compat.robosuite.models.arenas import TableArena
from mjgym_compat.robosuite.models.object_models import BoxObject
from mjgym_compat.robosuite.models.world import MujocoWorldBase
from mjgym_compat.robosuite.utils.mjcf_utils import array_to_string, new_actuator, new_joint

SLIDE = "gripper_z_joint"
STIFFNESS, DAMPING = 500, 50  # N/m and N s/m of the slide
TABLE_SIZE, TABLE_TOP = (0.4, 0.4, 0.1), (0.0, 0.0, 0.1)  # m
BOX_FLOOR = 0.09  # m, the box settles from there
FRICTION = (1, 0.005, 0.0001)
OPEN, CLOSED = -1, 1
# Steps of a grasp: above and open, low and open, low and closed, above and closed.
PLAN = ((False, OPEN), (True, OPEN), (True, CLOSED), (False, CLOSED))


class GripperTester:
    """A gripper that moves down to a box on a table, closes and moves up.

    Args:
        gripper: the gripper; its elements move into the scene.
        pos: where it starts, "x y z", m.
        quat: how it is turned there, "w x y z".
        gripper_low_pos: of the slide at the box, m.
        gripper_high_pos: of the slide above it, m.
        box_size: half sizes, m.
        box_density: kg/m^3.
        step_time: physics steps of each of the four parts.

    Raises:
        ValueError: the lower position is above the higher one.
    """

    def __init__(
        self,
        gripper: Any,
        pos: str,
        quat: str,
        gripper_low_pos: float,
        gripper_high_pos: float,
        box_size: Any = None,
        box_density: float = 10000,
        step_time: int = 400,
        render: bool = True,
    ) -> None:
        if gripper_low_pos > gripper_high_pos:
            raise ValueError(
                f"gripper_low_pos: {gripper_low_pos} is above gripper_high_pos, {gripper_high_pos}"
            )
        self.gripper, self.step_time, self.render = gripper, step_time, render
        self.gripper_low_pos, self.gripper_high_pos = gripper_low_pos, gripper_high_pos
        self.viewer: Any = None
        world = MujocoWorldBase()
        world.merge(TableArena(TABLE_SIZE, table_offset=TABLE_TOP, has_legs=False))
        carriage = ET.SubElement(world.worldbody, "body", {"pos": pos, "quat": quat})
        carriage.append(new_joint(name=SLIDE, type="slide", axis="0 0 -1", damping=str(DAMPING)))
        carriage.extend(list(gripper.worldbody))
        world.merge(gripper, merge_body=None)
        drive = new_actuator("gripper_z", SLIDE, "position", kp=str(STIFFNESS))
        world.actuator.append(drive)
        size = np.array([0.02] * 3 if box_size is None else box_size)
        self.cube = BoxObject("object", size=size, density=box_density, friction=FRICTION)
        box = self.cube.get_obj()
        box.set("pos", array_to_string(np.array([0, 0, BOX_FLOOR + size[2]])))
        world.worldbody.append(box)
        self.world = world

    def start_simulation(self) -> None:
        """Compile the scene."""
        self._model = mujoco.MjModel.from_xml_string(self.world.get_xml())
        self._data = mujoco.MjData(self._model)
        if self.render:
            from mujoco import viewer

            self.viewer = viewer.launch_passive(self._model, self._data)
        self._fingers = [int(self._model.actuator(name).id) for name in self.gripper.actuators]
        self._slide = int(self._model.jnt_dofadr[self._model.joint(SLIDE).id])
        self.reset()

    def reset(self) -> None:
        mujoco.mj_resetData(self._model, self._data)
        mujoco.mj_forward(self._model, self._data)
        self._rest = float(self._data.body(self.cube.root_body).xpos[2])

    def step(self, low: bool, action: float) -> None:
        """Make one physics step towards the box or above it, with a gripper action."""
        data = self._data
        height = self.gripper_low_pos if low else self.gripper_high_pos
        data.ctrl[self._model.actuator("gripper_z").id] = height
        low_high = self._model.actuator_ctrlrange[self._fingers]
        command = self.gripper.format_action(np.array([action]))
        data.ctrl[self._fingers] = low_high.mean(1) + np.ptp(low_high, 1) / 2 * command
        data.qfrc_applied[self._slide] = data.qfrc_bias[self._slide]
        mujoco.mj_step(self._model, data)
        if self.viewer is not None:
            self.viewer.sync()

    def loop(self, total_iters: int = 1, test_y: bool = False, y_baseline: float = 0.01) -> None:
        """Grasp and lift.

        Args:
            test_y: whether the box has to be lifted.
            y_baseline: height that it must exceed, m.

        Raises:
            ValueError: it is not.
        """
        for _ in range(total_iters):
            for low, action in PLAN:
                for _ in range(self.step_time):
                    self.step(low, action)
            if test_y and not self.object_height > y_baseline:
                raise ValueError(f"the box is lifted {self.object_height:.4f} m, not {y_baseline}")

    @property
    def object_height(self) -> float:
        """Height of the box above its start, m."""
        return float(self._data.body(self.cube.root_body).xpos[2]) - self._rest

    def close(self) -> None:
        if self.viewer is not None:
            self.viewer.close()
            self.viewer = None
