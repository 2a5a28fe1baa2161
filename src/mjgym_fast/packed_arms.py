"""Arm laws packed for the compiled function that runs between physics steps."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mjgym.arrays import Array
from mjgym.controllers.chain import Chain
from mjgym.controllers.controller import Arrays, Controller
from mjgym.controllers.interpolation import ramp_steps
from mjgym.controllers.inverse_kinematics_pose import InverseKinematicsPose
from mjgym.controllers.inverse_kinematics_whole_body import InverseKinematicsWholeBody
from mjgym.controllers.joint import DIFFERENCES, JointPosition, JointTorque, JointVelocity
from mjgym.controllers.operational_space import OperationalSpacePose, OperationalSpacePosition
from mjgym.controllers.parameters import constant
from mjgym.sim.dynamics import Places
from mjgym.sim.views import View
from mjgym_fast import arm_kernel as kernel
from mjgym_fast.stepping import Law

MOST_JOINTS = 8  # limit of the compiled function
_CHANGED = ("since", "error", "error_sum", "error_differences")  # changed by physics steps
_AXES = 6
# Memory entries by the index of their start.
_ENTRIES = {
    kernel.ROTATION: "rotation",
    kernel.START: "start",
    kernel.KP: "kp",
    kernel.KD: "kd",
    kernel.SINCE: "since",
    kernel.ERROR: "error",
    kernel.ERROR_SUM: "error_sum",
    kernel.ERROR_DIFFERENCES: "error_differences",
}
_KINDS: dict[type[Controller], tuple[int, str]] = {
    OperationalSpacePose: (kernel.OPERATIONAL_SPACE, "position"),
    OperationalSpacePosition: (kernel.OPERATIONAL_SPACE, "position"),
    JointPosition: (kernel.JOINT_POSITION, "qpos"),
    JointVelocity: (kernel.JOINT_VELOCITY, "velocity"),
    JointTorque: (kernel.JOINT_TORQUE, "torque"),
}
"""What each law is to the compiled function, and what its goal is called in the memory."""


class PackedArms(Law):
    """Packed arm laws; see `mjgym_fast.stepping.Law`.

    Args:
        arms: name, law and joints of each.
        rest: returns the controls of all actuators, (*lead, nu), with any values for the arms'.
        memory: memory of an episode of one simulation, with the entries of the laws.
    """

    address, work = int(kernel.law.address), kernel.WORK

    def __init__(
        self,
        arms: Sequence[tuple[str, Controller, Chain]],
        rest: Callable[[View], Array],
        memory: Mapping[str, np.ndarray],
    ) -> None:
        self._rest = rest
        self._shapes = {
            key: memory[key].shape
            for name, _, _ in arms
            for key in memory
            if key.startswith(f"{name}/")
        }
        sizes = [int(np.prod(shape)) for shape in self._shapes.values()]
        starts = np.cumsum([0, *sizes]).tolist()
        self._places = dict(zip(self._shapes, itertools.pairwise(starts), strict=True))
        self._changed = [key for key in self._shapes if key.rpartition("/")[2] in _CHANGED]
        integers: list[Any] = [[len(arms)]]
        numbers: list[np.ndarray] = []
        for name, law, chain in arms:
            first = sum(map(len, numbers))
            integers.append(self._integers(name, _tracking(law), chain, first))
            numbers.append(_numbers(_tracking(law), chain))
        self.integers = np.concatenate(integers).astype(np.int64)
        self.numbers = np.concatenate(numbers)

    def _integers(self, name: str, law: Any, chain: Chain, first: int) -> np.ndarray:
        n = len(chain.joints)
        kind, goal = _KINDS[type(law)]
        tool, origin = chain.tool, chain.origin
        head = np.full(kernel.HEAD, -1)
        head[kernel.KIND], head[kernel.JOINTS], head[kernel.NUMBERS] = kind, n, first
        head[[kernel.TOOL_SITE, kernel.TOOL_BODY, kernel.TOOL_ROOT]] = (
            tool.site,
            tool.body,
            tool.root,
        )
        head[[kernel.ORIGIN_SITE, kernel.ORIGIN_BODY, kernel.ORIGIN_ROOT]] = (
            origin.site, origin.body, origin.root,
        )  # fmt: skip
        for switch, value in (
            (kernel.ORIGIN_MOVES, origin.moves),
            (kernel.ALONE, chain.alone),
            (kernel.UNCOUPLED, getattr(law, "uncouple_pos_ori", False)),
            (kernel.COMPENSATED, getattr(law, "use_torque_compensation", True)),
            (kernel.IN_WORLD, getattr(law, "input_ref_frame", "world") == "world"),
            (kernel.RAMPS, bool(law.interpolation)),
        ):
            head[switch] = value
        for number, entry in {
            **_ENTRIES,
            kernel.GOAL: goal,
            kernel.GOAL_FROM: f"{goal}_from",
        }.items():
            head[number], _ = self._places.get(f"{name}/{entry}", (-1, -1))
        index, there = chain.inertia
        inertia = index if there is None else np.where(there, index, -1)
        moves = np.ones(n) if chain.mask is None else chain.mask
        places = map(_listed, (chain.qpos, chain.dofs, chain.ctrl))
        return np.concatenate([head, *places, moves, inertia.reshape(-1)])

    def begin(self, view: View) -> tuple[Array, np.ndarray]:
        """Controls of the other actuators, and memory of the laws, (n, k)."""
        memory = view.memory
        n = view.lead[0] if view.lead else 1
        return self._rest(view), np.concatenate(
            [memory[key].reshape(n, end - start) for key, (start, end) in self._places.items()],
            axis=1,
            dtype=np.float64,
        )

    def end(self, view: View, memory: np.ndarray) -> Arrays:
        """Memory entries that change between physics steps."""
        places = {key: slice(*self._places[key]) for key in self._changed}
        return {
            key: memory[:, where].reshape((*view.lead, *self._shapes[key]))
            for key, where in places.items()
        }


def fits(law: Controller, chain: Chain) -> bool:
    """Whether the compiled function supports the law of an arm; subclasses are not supported."""
    tracking = _tracking(law)
    if type(tracking) not in _KINDS or len(chain.joints) > MOST_JOINTS:
        return False
    # An orientation ramp uses sines, which libraries round differently.
    return not (isinstance(tracking, OperationalSpacePose) and tracking.interpolation)


def _tracking(law: Controller) -> Controller:
    """The law that tracks a goal; for inverse kinematics, its joint law."""
    if type(law) in (InverseKinematicsPose, InverseKinematicsWholeBody):
        return law.joints  # type: ignore[attr-defined]
    return law


def _numbers(law: Any, chain: Chain) -> np.ndarray:
    n = len(chain.joints)
    like = np.zeros(_AXES if isinstance(law, OperationalSpacePose) else n)
    kp, kd = np.zeros_like(like), np.zeros_like(like)
    if isinstance(law, JointVelocity):
        kp = kp + law.gain(chain.torque_low, chain.torque_high)
    elif isinstance(law, JointPosition | OperationalSpacePose):
        kp, kd = (gain + like for gain in law.gains({}, like))
        if isinstance(law, JointPosition) and law.kd is not None:
            kd = constant(law.kd, like) + like
    steps = ramp_steps(law.ramp_ratio, law.substeps)
    return np.concatenate([[steps], kp, kd, chain.torque_low, chain.torque_high], dtype=np.float64)


def _listed(places: Places) -> np.ndarray:
    if isinstance(places, slice):
        return np.arange(places.start, places.stop)
    return places


assert kernel.DIFFERENCES == DIFFERENCES
