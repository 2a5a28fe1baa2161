"""The published tasks of manipulation, by name.

from mjgym_compat.dm_control import manipulation

env = manipulation.load("stack_2_bricks_features", seed=42)
"""

from mjgym.util.suggestions import or_else
from mjgym_compat import dm_env
from mjgym_compat.dm_env import MANIPULATION as ALL
from mjgym_compat.importing import submodules

TAGS = FEATURES, VISION, EASY = ("features", "vision", "easy")


def get_environments_by_tag(tag: str) -> tuple[str, ...]:
    """Names of the tasks with a tag."""
    if tag not in TAGS:
        raise ValueError(f"no tag {tag!r}{or_else(tag, TAGS)}")
    if tag == "easy":
        return tuple(name for name in ALL if name.startswith("reach_"))
    return dm_env.get_environments_by_tag(tag)


def load(environment_name: str, seed: dm_env.Seed = None) -> dm_env.DmEnv:
    """A task as a `dm_env.Environment`."""
    return dm_env.load_manipulation(environment_name, seed)


__all__ = ["ALL", "TAGS", "get_environments_by_tag", "load"]

__getattr__ = submodules(__name__)
