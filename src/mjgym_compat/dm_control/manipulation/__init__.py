"""The published tasks of manipulation, by name.

from mjgym_compat.dm_control import manipulation

env = manipulation.load("stack_2_bricks_features", seed=42)
"""

from typing import Any

from mjgym.util.suggestions import or_else
from mjgym_compat import dm_env
from mjgym_compat.dm_control import composer
from mjgym_compat.dm_control.manipulation import registry
from mjgym_compat.dm_env import MANIPULATION as ALL
from mjgym_compat.importing import submodules

TIME_LIMIT = 10.0  # s, of tasks of one's own
TAGS = FEATURES, VISION, EASY = ("features", "vision", "easy")


def get_environments_by_tag(tag: str) -> tuple[str, ...]:
    """Names of the tasks with a tag."""
    if tag not in TAGS:
        raise ValueError(f"no tag {tag!r}{or_else(tag, TAGS)}")
    easy = tuple(name for name in ALL if name.startswith("reach_"))
    names = easy if tag == EASY else dm_env.get_environments_by_tag(tag)
    return (*names, *registry.get_names_by_tag(tag))


def load(environment_name: str, seed: dm_env.Seed = None) -> Any:
    """A task as a `dm_env.Environment`: a published one, or one of `registry.add`."""
    if environment_name in registry.get_all_names():
        task = registry.get_constructor(environment_name)()
        return composer.Environment(task, time_limit=TIME_LIMIT, random_state=seed)
    return dm_env.load_manipulation(environment_name, seed)


__all__ = ["ALL", "TAGS", "get_environments_by_tag", "load"]

__getattr__ = submodules(__name__)
