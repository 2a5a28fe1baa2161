"""Tasks by their ids."""

from collections.abc import Collection
from typing import Any

import pytest

from mjgym import registry
from mjgym.task import registrations


def registered_task(id: str, **fields: Any) -> Any:
    """The task of an id, with other fields."""
    found = registry.registration(id)
    return found.task_class(**{**found.fields, **fields})


def ids_as_parameters(always: Collection[str] = ()) -> list[Any]:
    """All ids as parameters; those beside `always` and one of each task class are slow.

    Ids of a class run the same hooks with other fields.
    """
    classes = {registrations[id].task_class: id for id in [*registry.ids(), *always]}
    quick = {*classes.values(), *always}
    slow = pytest.mark.slow
    return [pytest.param(id, marks=() if id in quick else slow) for id in registry.ids()]
