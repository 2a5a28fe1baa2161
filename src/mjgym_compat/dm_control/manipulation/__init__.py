"""The published tasks of manipulation, by name.

from mjgym_compat.dm_control import manipulation

env = manipulation.load("stack_2_bricks_features", seed=42)
"""

from typing import Any

from mjgym.util.suggestions import or_else
from mjgym_compat import dm_env
from mjgym_compat.dm_control import composer
from mjgym_compat.dm_control.manipulation import registry
from mjgym_compat.importing import submodules

TIME_LIMIT = 10.0  # s, of tasks of one's own
TAGS = FEATURES, VISION, EASY = ("features", "vision", "easy")
_TASKS = (
    *("stack_2_bricks", "stack_2_bricks_moveable_base", "stack_3_bricks"),
    *("stack_3_bricks_random_order", "stack_2_of_3_bricks_random_order"),
    *("reassemble_3_bricks_fixed_order", "reassemble_5_bricks_random_order"),
    *("lift_brick", "lift_large_box", "place_brick", "place_cradle", "reach_duplo", "reach_site"),
)
_OURS = "stack_3_bricks_random_order_vision"  # which dm_control has not
ALL = tuple(n for task in _TASKS for tag in TAGS[:2] if (n := f"{task}_{tag}") != _OURS)


def get_environments_by_tag(tag: str) -> tuple[str, ...]:
    """Names of the tasks with a tag."""
    if tag not in TAGS:
        raise ValueError(f"no tag {tag!r}{or_else(tag, TAGS)}")
    names = [n for n in ALL if n.endswith(tag) or (tag == EASY and n.startswith("reach_"))]
    return (*names, *registry.get_names_by_tag(tag))


def load(environment_name: str, seed: dm_env.Seed = None) -> Any:
    """A task as a `dm_env.Environment`: a published one, or one of `registry.add`."""
    if environment_name in registry.get_all_names():
        task = registry.get_constructor(environment_name)()
        return composer.Environment(task, time_limit=TIME_LIMIT, random_state=seed)
    return dm_env.load_manipulation(environment_name, seed)


__all__ = ["ALL", "TAGS", "get_environments_by_tag", "load"]

__getattr__ = submodules(__name__)
