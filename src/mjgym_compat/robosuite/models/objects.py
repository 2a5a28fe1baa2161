"""All objects, under the published name of their module."""

from typing import Any

from mjgym_compat.robosuite.models import composite_objects, object_models


def __getattr__(name: str) -> Any:
    for module in (object_models, composite_objects):
        if not name.startswith("_") and hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__} has no {name!r}", name=name)


__path__: list[str] = []  # it answers for modules of others
