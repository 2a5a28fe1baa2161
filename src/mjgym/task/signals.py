"""Labels of the numbers of an observation."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Signal:
    """Meaning, names, units, frames and sources of the numbers of one entry of an observation.

    From `Task.labels` it states only what is not to be derived: what is left empty, be it the name
    or the unit of a single number, is derived.

    Args:
        meaning: one phrase, e.g. "angle of each joint, from the hip to the ankle".
        names: one for each number of the entry, in their order, e.g. the joints' names.
        unit: of all numbers, or one for each; "1" for none.
        frame: the axes in which vectors are given: "world" or the name of a body, geom or site;
            empty where there is no choice of axes; one for all numbers or one for each.
        source: where the engine has it, e.g. "qpos" or "sensor velocimeter"; one for all numbers or
            one for each.
    """

    meaning: str = ""
    names: tuple[str, ...] = ()
    unit: str | tuple[str, ...] = ""
    frame: str | tuple[str, ...] = ""
    source: str | tuple[str, ...] = ""

    def __post_init__(self) -> None:
        for field in ("unit", "frame", "source"):
            value = getattr(self, field)
            if self.names and isinstance(value, tuple) and len(value) != len(self.names):
                raise ValueError(f"{field}: {len(value)} for {len(self.names)} names")


def vector_names(*names: str) -> tuple[str, ...]:
    """Names of the numbers of vectors: "ball" gives "ball x", "ball y", "ball z"."""
    return tuple(f"{name} {axis}" for name in names for axis in "xyz")
