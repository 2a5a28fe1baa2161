"""Gripper control: an action moves a command by increments, or is the command itself."""

from dataclasses import dataclass

from mjgym.arrays import Array, namespace

CENTRE, END = 0.0, 1.0  # of a command: the middle of an actuator's range, and either end of it


@dataclass(frozen=True)
class GripperLaw:
    """The law of a gripper's commands, by default an incremental one.

    Each control step moves the command of each actuator up or down.

    The law of the published tabletop tasks (Zhu et al., "robosuite: A modular simulation framework
    and benchmark for robot learning", 2020). A command c lies in [-1, 1], from one end of its
    actuator's control range to the other. In a control step,

        c <- clip(c + direction * speed * sign(a), -1, 1)

    so that an action of 0.01 moves as fast as 1, exactly 0 holds, and a stroke takes 2 / speed
    control steps, however long they are. A proportional gripper has a instead of sign(a). A hand
    that is not incremental has c <- clip(direction * a, -1, 1). The command has no state here: a
    task keeps it in its memory.

    Args:
        directions: of each actuator: 1 or -1 times the action moves its command; 0 holds it.
        inputs: which number of the action moves each actuator; empty for the first one.
        speed: what a command moves by in a control step.
        proportional: whether the size of the action counts, not its sign alone.
        starts: the commands at an episode's start; empty for the centre.
        incremental: whether the action moves the command, or is the command.
    """

    directions: tuple[float, ...] = ()
    inputs: tuple[int, ...] = ()
    speed: float = 0.2
    proportional: bool = False
    starts: tuple[float, ...] = ()
    incremental: bool = True

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
        """The number of action dimensions."""
        if not self.directions:
            return 0
        return max(self.inputs, default=0) + 1

    def start(self, like: Array) -> Array:
        """The commands at an episode's start.

        Args:
            like: any array (..., n) of the wanted library, type and leading shape.

        Returns:
            The commands, (..., actuators).
        """
        xp = namespace(like)
        starts = xp.asarray(self.starts or (CENTRE,) * len(self.directions), dtype=like.dtype)
        return xp.broadcast_to(starts, (*like.shape[:-1], len(self.directions)))

    def next(self, command: Array, action: Array) -> Array:
        """The commands after one control step.

        Args:
            command: before it, (..., actuators), each within [-1, 1].
            action: (..., dimensions); positive closes the grippers of this package.

        Returns:
            The commands, (..., actuators).

        Raises:
            ValueError: the action has another number of dimensions.
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
        """The actuators' controls at a command.

        Args:
            command: (..., actuators), each within [-1, 1].
            centre: the middles of the actuators' control ranges, (..., actuators), in the units of
                the actuators.
            reach: half the widths of those ranges.

        Returns:
            The controls, (..., actuators).
        """
        return centre + reach * command
