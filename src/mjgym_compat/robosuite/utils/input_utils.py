"""Questions at the terminal about the environment to make."""

from collections.abc import Sequence

from mjgym.robots import arms
from mjgym_compat.robosuite.controllers.configs import (
    ALL_COMPOSITE_CONTROLLERS,
    ALL_PART_CONTROLLERS,
    HUMANOID,
)
from mjgym_compat.robosuite.environments import ALL_ENVIRONMENTS
from mjgym_compat.robosuite.robots import ALL_ROBOTS

ARRANGEMENTS = {"Single-Robot": "single-robot", "Parallel": "parallel", "Opposed": "opposed"}
FIRST_CONTROLLER = "BASIC"


def _chosen(what: str, names: Sequence[str]) -> str:
    print(f"Choose {what}:")
    for number, name in enumerate(names):
        print(f"[{number}] {name}")
    answer = input(f"0 to {len(names) - 1}: ").strip()
    number = int(answer) if answer.isdecimal() else 0
    return names[min(number, len(names) - 1)]


def choose_environment() -> str:
    """Ask for an environment."""
    return _chosen("an environment", sorted(ALL_ENVIRONMENTS))


def choose_controller(part_controllers: bool = False) -> str:
    """Ask for a robot's controller, or for an arm's."""
    if part_controllers:
        return _chosen("a controller", sorted(ALL_PART_CONTROLLERS))
    others = [name for name in ALL_COMPOSITE_CONTROLLERS if name != FIRST_CONTROLLER]
    return _chosen("a controller", [FIRST_CONTROLLER, *others])


def choose_multi_arm_config() -> str:
    """Ask for the arrangement of two arms."""
    return ARRANGEMENTS[_chosen("a configuration of arms", list(ARRANGEMENTS))]


def choose_robots(
    exclude_bimanual: bool = False, use_humanoids: bool = False, exclude_single_arm: bool = False
) -> str:
    """Ask for a robot.

    Args:
        exclude_bimanual: whether those with two arms are left out.
        use_humanoids: whether humanoids are among them.
        exclude_single_arm: whether those with one arm are left out.
    """
    counts = {name: len(arms.find(name).limbs) for name in ALL_ROBOTS}
    left = {2} if exclude_bimanual else set()
    left |= {1} if exclude_single_arm else set()
    known = [name for name in ALL_ROBOTS if use_humanoids or not name.startswith(HUMANOID)]
    return _chosen("a robot", [name for name in known if counts[name] not in left])
