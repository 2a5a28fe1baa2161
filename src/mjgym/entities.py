"""Entities: objects with their own model, observables and hooks, which any task can add."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from mjgym import mjcf
from mjgym.arrays import Array
from mjgym.observables import Observable, observe
from mjgym.sim.views import Named, View
from mjgym.task import Arrays, Task
from mjgym.task.signals import Signal
from mjgym.util.docstrings import meanings
from mjgym.util.suggestions import or_else
from mjgym.variation.written import Written

__all__ = ["Entity", "EntityView", "WithEntities"]

_ELEMENTS = frozenset(
    {"body", "joint", "geom", "site", "sensor", "actuator", "tendon", "camera", "light"}
)


class EntityView:
    """The view that an entity's hooks get: elements and memory under the entity's local names.

    `v.joint("cap")` of the entity "left" is the scene's `left/cap`. With an empty name,
    `v.body("")` is the entity's frame and `v.joint("")` its free joint, if it has one.
    Everything else comes from the task's view: `v.lead`, `v.xp`, `v.time`, and whole fields, which
    cover the whole scene.

    Args:
        prefix: prefix of the entity's names in the scene.
    """

    def __init__(self, view: View, prefix: str) -> None:
        self.__dict__.update(_view=view, _prefix=prefix)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._view, name)
        if name not in _ELEMENTS:
            return attribute

        def element(local: str) -> Named:
            named: Named = attribute(self._prefix + local)
            return named

        return element

    def __setattr__(self, name: str, value: Array) -> None:
        setattr(self._view, name, value)

    @property
    def memory(self) -> Arrays:
        """The entity's entries of the memory."""
        start = len(self._prefix)
        memory = self._view.memory.items()
        return {name[start:]: value for name, value in memory if name.startswith(self._prefix)}

    def names(self, kind: str) -> tuple[str, ...]:
        """List the names of the entity's elements of a kind, in id order."""
        start, names = len(self._prefix), self._view.names(kind)
        return tuple(name[start:] for name in names if name.startswith(self._prefix))

    def rows(self, field: str, names: Iterable[str]) -> Any:
        """As `View.rows`, for the entity's elements."""
        return self._view.rows(field, self._scene_names(names))

    def take(self, field: str, names: Iterable[str]) -> Array:
        """As `View.take`, for the entity's elements."""
        return self._view.take(field, self._scene_names(names))

    def _scene_names(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._prefix + name for name in names)


@dataclass(frozen=True, kw_only=True)
class Entity(Written):
    """An object in a scene: its model, initial state, memory and observations.

    An entity is a frozen dataclass without state, like a task; a subclass adds fields and hooks.
    Hooks get an `EntityView`, in which names are local to the entity, and follow the rules of the
    task hooks of the same names, so the same code serves one simulation, a batch and any array
    library. A task attaches entities with `WithEntities`.
    """

    # Name in the scene; the entity's elements, memory and entries are prefixed by it and a slash
    name: str
    body: str = ""  # body of the scene that it is attached to; empty for the world
    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)  # position of its frame in that body, m
    # Orientation of its frame in that body
    quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)

    free: ClassVar[bool] = False
    """True if it has a free joint."""

    @property
    def varies(self) -> tuple[str, ...]:
        """Fields of MjModel that `initialize` writes to."""
        return ()

    @property
    def observables(self) -> Mapping[str, Observable]:
        """Observables by entry: delays, noise and the like, and entries with their own source."""
        return {}

    def model(self) -> mjcf.Spec:
        """The model in the entity's frame; depends on the fields only."""
        raise NotImplementedError(f"{type(self).__name__} must define model()")

    def initialize(self, v: Any, rng: Any) -> None:
        """Write the initial state, after the task's `initialize`."""

    def memory(self, v: Any) -> Arrays:
        """Memory at the start of an episode: arrays of leading shape `v.lead`."""
        return {}

    def before_step(self, v: Any) -> Arrays:
        """Memory entries to set before a control step."""
        return {}

    def substep(self, v: Any) -> Arrays:
        """Memory entries to set after a physics step."""
        return {}

    def update(self, v: Any) -> Arrays:
        """Memory entries to set after a control step, once the reward is computed."""
        return {}

    def observation(self, v: Any) -> Arrays:
        """The entity's entries of the observation."""
        return {}

    def labels(self, v: Any) -> dict[str, Signal]:
        """Names and units of entries that cannot be derived; see `Task.labels`."""
        return {}

    def colours(self, v: Any) -> Arrays:
        """Colours that show the state, (..., 4) each, by "geom <name>" or "site <name>"."""
        return {}

    @property
    def prefix(self) -> str:
        return f"{self.name}/"

    def view(self, v: View) -> Any:
        """The view for the entity's hooks, so that a task can call `left.pressed(left.view(v))`."""
        return EntityView(v, self.prefix)

    def attach(self, scene: mjcf.Spec) -> None:
        """Add the entity to a scene.

        Raises:
            ValueError: the scene lacks the body, or already uses the entity's name.
        """
        body = scene.body(self.body) if self.body else scene.worldbody
        if body is None:
            names = [other.name for other in scene.bodies if other.name]
            hint = or_else(self.body, names)
            raise ValueError(f"entity {self.name!r}: the scene has no body {self.body!r}{hint}")
        place = body.add_frame(pos=self.pos, quat=self.quat)
        mjcf.attach(scene, self.model(), at=place, name=self.name, free=self.free)


@dataclass(frozen=True, eq=False)
class _Prefixed(observe.Quantity):
    """An entity's quantity, under the scene's names."""

    quantity: observe.Quantity
    prefix: str

    def __call__(self, v: View) -> Array:
        return self.quantity(EntityView(v, self.prefix))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"{self.prefix}{self.quantity!r}"


def _of_scene(observable: Observable, prefix: str) -> Observable:
    source = observable.source
    if source is None:
        return observable
    if isinstance(source, observe.Image):
        named = isinstance(source.camera, str)
        source = replace(source, camera=f"{prefix}{source.camera}") if named else source
        return replace(observable, source=source)
    return replace(observable, source=_Prefixed(source, prefix))


# A mixin: the task class comes after it in the bases.
if TYPE_CHECKING:
    _Mixin = Task
else:
    _Mixin = object

# Hooks that combine the task's part with the entities'.
_JOINED = (
    "varies", "observables", "model", "initialize", "memory", "before_step", "substep", "update",
    "observation", "labels", "colours",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WithEntities(_Mixin):
    """A mixin that adds entities to a task's scene: `class Press(WithEntities, Lift)`.

    It comes before the task class in the bases. Entities are added to the scene, initialized and
    observed after everything of the task, which is otherwise unchanged. A subclass may reward them
    in `terms`: an entity's memory is in `v.memory`, under its names in the scene.

    Raises:
        TypeError: a subclass overrides a combining hook without calling `super()`, or has the task
            class first, or `entities` holds something else.
    """

    entities: tuple[Entity, ...] = ()  # in the order of their observation entries

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for base in cls.__mro__[: cls.__mro__.index(WithEntities)]:
            if issubclass(base, Task) and not issubclass(base, WithEntities):
                raise TypeError(f"{cls.__name__}: WithEntities comes before {base.__name__}")
        for hook in _JOINED:
            override = vars(cls).get(hook)
            function = override.fget if isinstance(override, property) else override
            code = getattr(function, "__code__", None)
            if override is not None and (code is None or "super" not in code.co_names):
                raise TypeError(
                    f"{cls.__name__}.{hook} leaves out what the entities add: begin from"
                    f" super().{hook}, or define it in the class behind WithEntities"
                )

    def __post_init__(self) -> None:
        one = isinstance(self.entities, Entity)
        if one or not all(isinstance(entity, Entity) for entity in self.entities):
            raise TypeError(f"entities: expected a tuple of entities, got {self.entities!r}")
        object.__setattr__(self, "entities", tuple(self.entities))  # JSON gives a list
        getattr(super(), "__post_init__", lambda: None)()

    @property
    def varies(self) -> tuple[str, ...]:
        fields = (field for entity in self.entities for field in entity.varies)
        return tuple(dict.fromkeys((*super().varies, *fields)))

    @property
    def observables(self) -> Mapping[str, Observable]:
        joined = dict(super().observables)
        for entity in self.entities:
            for name, observable in entity.observables.items():
                joined[entity.prefix + name] = _of_scene(observable, entity.prefix)
        return joined

    def model(self) -> mjcf.Spec:
        scene = super().model()
        for entity in self.entities:
            entity.attach(scene)
        return scene

    def initialize(self, v: Any, rng: Any) -> None:
        super().initialize(v, rng)
        for entity in self.entities:
            entity.initialize(entity.view(v), rng)

    def memory(self, v: View) -> Arrays:
        return super().memory(v) | self._of_each("memory", v)

    def before_step(self, v: View, action: Array) -> Arrays:
        return super().before_step(v, action) | self._of_each("before_step", v)

    def substep(self, v: View) -> Arrays:
        return super().substep(v) | self._of_each("substep", v)

    def update(self, v: View) -> Arrays:
        return super().update(v) | self._of_each("update", v)

    def observation(self, v: View) -> Arrays:
        """The task's entries, then the entities', the same for all players."""
        entries = self._of_each("observation", v)
        if self.players:
            xp, lead = v.xp, len(v.lead)
            for name, entry in entries.items():
                value = xp.asarray(entry)
                shape = (*v.lead, len(self.players), *value.shape[lead:])
                entries[name] = xp.broadcast_to(xp.expand_dims(value, axis=lead), shape)
        return super().observation(v) | entries

    def labels(self, v: View) -> dict[str, Signal]:
        """Labels of the task and of the entities, with meanings from the entities' docstrings."""
        joined = super().labels(v)
        for entity in self.entities:
            view, stated = entity.view(v), entity.labels(entity.view(v))
            for name, meaning in meanings(type(entity), entity.observation(view)).items():
                signal = stated.pop(name, Signal())
                joined[entity.prefix + name] = replace(signal, meaning=signal.meaning or meaning)
            joined |= {entity.prefix + name: signal for name, signal in stated.items()}
        return joined

    def colours(self, v: View) -> Arrays:
        joined = super().colours(v)
        for entity in self.entities:
            for element, colour in entity.colours(entity.view(v)).items():
                kind, _, name = element.partition(" ")
                joined[f"{kind} {entity.prefix}{name}"] = colour
        return joined

    def _of_each(self, hook: str, v: View) -> Arrays:
        return {
            entity.prefix + name: value
            for entity in self.entities
            for name, value in getattr(entity, hook)(entity.view(v)).items()
        }
