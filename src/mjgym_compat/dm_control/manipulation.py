"""dm_control's manipulation tasks: `manipulation.load("stack_2_bricks_features", seed=42)`."""

from mjgym.util.values import one_of
from mjgym_compat.dm_env import load_manipulation as load

TAGS = FEATURES, VISION, EASY = ("features", "vision", "easy")
_TASKS = (
    *("stack_2_bricks", "stack_2_bricks_moveable_base", "stack_3_bricks"),
    *("stack_3_bricks_random_order", "stack_2_of_3_bricks_random_order"),
    *("reassemble_3_bricks_fixed_order", "reassemble_5_bricks_random_order"),
    *("lift_brick", "lift_large_box", "place_brick", "place_cradle", "reach_duplo", "reach_site"),
)
_OURS = "stack_3_bricks_random_order_vision"  # which dm_control has not
ALL = tuple(n for task in _TASKS for tag in TAGS[:2] if (n := f"{task}_{tag}") != _OURS)

__all__ = ["ALL", "TAGS", "get_environments_by_tag", "load"]


def get_environments_by_tag(tag: str) -> tuple[str, ...]:
    """List the tasks with a tag; ValueError for an unknown tag."""
    one_of("tag", tag, TAGS)
    return tuple(n for n in ALL if n.endswith(tag) or (tag == EASY and n.startswith("reach_")))
