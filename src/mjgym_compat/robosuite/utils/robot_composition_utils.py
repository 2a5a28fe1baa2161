"""Facts about robots by their names, and robots composed of an arm, a base and a gripper."""

from mjgym.robots import arms, bases, hands
from mjgym_compat.robosuite.controllers.configs import COMPOSITES

BASE_TARGET_MAPPING = {
    **dict.fromkeys(("RethinkMount", "RethinkMinimalMount", "NullMount"), "FixedBaseRobot"),
    **dict.fromkeys(("OmronMobileBase", "NullMobileBase"), "WheeledRobot"),
    **dict.fromkeys(("NoActuationBase", "Spot", "SpotFloating"), "LeggedRobot"),
}
get_target_type = BASE_TARGET_MAPPING.__getitem__


def check_bimanual(robot_name: str) -> bool:
    """Whether a robot has two arms."""
    return len(arms.find(robot_name).limbs) > 1


def create_composite_robot(
    name: str, robot: str, base: str | None = None, grippers: str | None = None
) -> tuple[str, str | None, str | None]:
    """Name a robot with another base and gripper, so that `make(..., robots=name)` takes it.

    Args:
        name: of the new robot; an earlier one of that name is replaced.
        base: name of the base; None for none.
        grippers: name of the gripper of all arms; None for none.

    Raises:
        ValueError: there is no such robot, base or gripper; the message names the nearest.
    """
    arms.find(robot, argument="robot")
    bases.find(base or "NullMount", argument="base")
    hands.find(grippers or "none", argument="grippers")
    COMPOSITES[name] = robot, base, grippers
    return COMPOSITES[name]
