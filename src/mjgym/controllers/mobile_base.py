"""Control of a base that drives forward, sideways and about the vertical."""

from dataclasses import dataclass

from mjgym.actions import Action
from mjgym.arrays import Array
from mjgym.controllers.controller import Arrays, Controller, State, limited
from mjgym.controllers.parameters import as_precise

MOTIONS = ("forward", "sideways", "turn")


@dataclass(frozen=True)
class MobileBase(Controller):
    """Velocities of a base along its own axes, as fractions of its top speeds.

    Its joints slide forward and sideways along fixed axes, and turn. An action is rotated by the
    angle of the base at the start of a control step, as in the published law, whose sense of that
    rotation is kept: with the base turned to the left, "forward" drives to its right.
    """

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        """Forward, sideways, turn."""
        return tuple(
            Action(name, -1.0, 1.0, "top speed", source=f"joint {joint}", meaning=f"drives: {name}")
            for name, joint in zip(MOTIONS, joints, strict=True)
        )

    def memory(self, state: State) -> Arrays:
        """Standstill."""
        return {"speed": state.xp.zeros_like(state.qvel)}

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        """Speeds along the joints."""
        xp = state.xp
        action = as_precise(action, state.qpos)
        angle = state.qpos[..., 2]
        cosine, sine = xp.cos(angle), xp.sin(angle)
        x, y = action[..., 0], action[..., 1]
        speed = xp.stack([x * cosine + y * sine, y * cosine - x * sine, action[..., 2]], axis=-1)
        return {"speed": speed}

    def torque(self, state: State, memory: Arrays) -> Array:
        """Targets of the velocity drives, within their ranges."""
        low, high = state.torque_low, state.torque_high
        return limited(state, (low + high) / 2 + (high - low) / 2 * memory["speed"])
