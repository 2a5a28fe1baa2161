"""The published tasks of manipulation, by name.

from mjgym_compat.dm_control import manipulation

env = manipulation.load("stack_2_bricks_features", seed=42)
"""

from mjgym_compat.dm_env import MANIPULATION as ALL
from mjgym_compat.dm_env import DmEnv, Seed, get_environments_by_tag, load_manipulation

TAGS = ("easy", "features", "vision")


def load(environment_name: str, seed: Seed = None) -> DmEnv:
    """A task as a `dm_env.Environment`.

    Args:
        environment_name: one of `ALL`.
        seed: of the first episode, or a `RandomState` that draws it; None for an unpredictable one.

    Raises:
        ValueError: there is no such task; the message names the nearest ones.
    """
    return load_manipulation(environment_name, seed)


__all__ = ["ALL", "TAGS", "get_environments_by_tag", "load"]
