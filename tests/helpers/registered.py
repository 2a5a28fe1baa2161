"""Tasks by their ids."""

from collections.abc import Collection
from typing import Any

from helpers.lanes import mostly_nightly
from mjgym import registry
from mjgym.task import registrations


def packaged_ids() -> list[str]:
    """The ids that come with the package: tests and scripts register some of their own."""
    packaged = (id for id, found in registrations.items() if found.place.startswith("mjgym.tasks."))
    return sorted(packaged)


def registered_task(id: str, **fields: Any) -> Any:
    """The task of an id, with other fields."""
    found = registry.registration(id)
    return found.task_class(**{**found.fields, **fields})


def of_each_class() -> list[str]:
    """An id of each task class, whose ids run the same hooks with other fields."""
    first = {registrations[id].task_class: id for id in reversed(packaged_ids())}
    return sorted(first.values())


def ids_as_parameters(always: Collection[str] = ()) -> list[Any]:
    """All ids as parameters: `always`, one of each other family, and of the rest a part a day."""
    families = {id.partition("/")[0]: id for id in [*reversed(packaged_ids()), *always]}
    return mostly_nightly(packaged_ids(), 7, {*families.values(), *always})
