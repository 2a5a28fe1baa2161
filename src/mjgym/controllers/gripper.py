"""Gripper control: an action increments a command, or is the command itself."""

from dataclasses import dataclass

from mjgym.arrays import Array, namespace

CENTRE, END = 0.0, 1.0  # command at the centre and the ends of an actuator's range


@dataclass(frozen=True)
class GripperLaw:
    """Gripper control law, incremental by default.

    The law of the published tabletop tasks (Zhu et al., "robosuite: A modular simulation framework
    and benchmark for robot learning", 2020). A command c in [-1, 1] spans its actuator's control
    range. In a control step,

        c <- clip(c + direction * speed * sign(a), -1, 1)

    so that an action of 0.01 moves as fast as 1, exactly 0 holds, and a stroke takes 2 / speed
    control steps of any length. A proportional gripper uses a instead of sign(a). Without
    increments, c <- clip(direction * a, -1, 1), or without a scale the control itself, in the
    actuator's units. The law is stateless: tasks keep the command in their memory.
    """

    # Sign of each actuator's motion with the action: 1, -1, or 0 to hold
    directions: tuple[float, ...] = ()
    inputs: tuple[int, ...] = ()  # index in the action for each actuator; empty for index 0
    speed: float = 0.2  # increment of a command per control step
    proportional: bool = False  # whether the size of the action counts, not its sign alone
    starts: tuple[float, ...] = ()  # initial commands; empty for the centre
    incremental: bool = True  # whether the action moves the command, or is the command
    scaled: bool = True  # whether a command that is an action spans the control range

    def __post_init__(self) -> None:
        for name in ("inputs", "starts"):
            count = len(getattr(self, name))
            if count not in (0, len(self.directions)):
                raise ValueError(
                    f"{name}: expected one for each of the {len(self.directions)} actuators of"
                    f" directions, got {count}"
                )

    @property
    def dimensions(self) -> int:
        """Number of action dimensions."""
        if not self.directions:
            return 0
        return max(self.inputs, default=0) + 1

    def start(self, like: Array) -> Array:
        """Initial commands, (..., actuators), in the library, dtype and leading shape of `like`."""
        xp = namespace(like)
        starts = xp.asarray(self.starts or (CENTRE,) * len(self.directions), dtype=like.dtype)
        return xp.broadcast_to(starts, (*like.shape[:-1], len(self.directions)))

    def next(self, command: Array, action: Array) -> Array:
        """Commands (..., actuators) in [-1, 1] after a control step with an action (...,
        dimensions).

        A positive action closes the grippers of this package; a wrong number raises ValueError.
        """
        if action.shape[-1] != self.dimensions:
            raise ValueError(
                f"action: expected {self.dimensions} numbers for the gripper, got"
                f" {action.shape[-1]}"
            )
        if not self.directions:
            return command
        xp = namespace(command, action)
        inputs = self.inputs or (0,) * len(self.directions)
        if self.incremental:
            push = action if self.proportional else xp.sign(action)
            moved = [
                command[..., i] + direction * self.speed * push[..., j]
                for i, (direction, j) in enumerate(zip(self.directions, inputs, strict=True))
            ]
        else:
            pairs = zip(self.directions, inputs, strict=True)
            moved = [direction * action[..., j] for direction, j in pairs]
        return xp.clip(xp.stack(moved, axis=-1), -END, END)

    def control(self, command: Array, centre: Array, reach: Array) -> Array:
        """Controls (..., actuators) for commands in [-1, 1], about the middles of their ranges by
        half the widths.
        """
        if not (self.incremental or self.scaled):
            return namespace(command).clip(command, centre - reach, centre + reach)
        return centre + reach * command
