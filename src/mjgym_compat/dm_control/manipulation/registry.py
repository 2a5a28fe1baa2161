"""Constructors of manipulation tasks of one's own, by name and tags."""

from mjgym_compat.dm_control.utils.containers import TaggedTasks

_CONSTRUCTORS = TaggedTasks()

add = _CONSTRUCTORS.add
get_constructor = _CONSTRUCTORS.__getitem__
get_all_names = _CONSTRUCTORS.keys
get_tags = _CONSTRUCTORS.tags
get_names_by_tag = _CONSTRUCTORS.tagged


def done_importing_tasks() -> None:
    """Let further constructors replace those of the same name."""
    _CONSTRUCTORS.allow_overriding_keys = True
