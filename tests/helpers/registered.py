"""Tasks by their ids."""

from typing import Any

from mjgym import registry


def registered_task(id: str, **fields: Any) -> Any:
    """The task of an id, with other fields."""
    found = registry.registration(id)
    return found.task_class(**{**found.fields, **fields})
