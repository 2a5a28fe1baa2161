"""Environments of the registry in dm_control's words, and PyMJCF's interface.

These are fast and batched, and `mjcf` composes models in a fraction of the time. For all else of
dm_control (Composer, entities, wrappers, the viewer) install it and call
`mjgym_compat.install("dm_control")`: the published package, made to run on this MuJoCo.
"""

from typing import NoReturn

_ELSEWHERE = ("composer", "entities", "rl", "utils", "viewer")


def __getattr__(name: str) -> NoReturn:
    if name in _ELSEWHERE:
        raise ImportError(
            f"{__name__} has no {name!r}; mjgym_compat.install('dm_control') runs dm_control's own",
            name=f"{__name__}.{name}",
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
