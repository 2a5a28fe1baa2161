"""Tasks whose hooks are called, though they could be compiled."""

import dataclasses
from dataclasses import dataclass
from typing import Any


def in_numpy(task: Any) -> Any:
    """The same task without a compiled step."""
    refuse = {"compiled_step": lambda self, *_: "not here"}
    own = dataclass(frozen=True)(type("InNumPy", (type(task),), refuse))
    fields = {f.name: getattr(task, f.name) for f in dataclasses.fields(task) if f.init}
    return own(**fields)
