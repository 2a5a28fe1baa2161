"""Facts about robots by their names."""

from mjgym.robots import arms


def check_bimanual(robot_name: str) -> bool:
    """Whether a robot has two arms."""
    return len(arms.find(robot_name).limbs) > 1
