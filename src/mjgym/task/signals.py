"""Names, units and sources of the numbers in an observation."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Signal:
    """Meaning, names, units, frames and sources of the numbers of an observation entry.

    `Task.labels` states only what cannot be derived: anything left empty, even the name or unit of
    a single number, is derived.

    Args:
        meaning: one phrase, e.g. "angle of each joint, from the hip to the ankle".
        names: one per number of the entry, in order, e.g. the joints' names.
        unit: of all numbers, or one each; "1" if dimensionless.
        frame: axes of vectors, of all numbers or one each: "world" or the name of a body, geom or
            site; empty if no axes apply.
        source: engine quantity, e.g. "qpos" or "sensor velocimeter", of all numbers or one each.
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
    """List the names of vectors' components: "ball" gives "ball x", "ball y", "ball z"."""
    return tuple(f"{name} {axis}" for name in names for axis in "xyz")
