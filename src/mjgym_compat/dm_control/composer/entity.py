"""Entities: models with observables and callbacks, attached to each other."""

import abc
import inspect
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np

from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.composer.define import observable, required
from mjgym_compat.dm_control.composer.observation.observable.base import OPTIONS, Observable


class Observables:
    """Observables of an entity: methods that `observable` decorates, sorted, and added ones."""

    def __init__(self, entity: "Entity") -> None:
        self._entity: Any = entity
        self._observables: dict[str, Observable] = {}
        for name in sorted(dir(type(self))):
            if isinstance(inspect.getattr_static(type(self), name), observable):
                self._observables[name] = getattr(self, name)

    def _full(self, name: str) -> str:
        return f"{self._entity.mjcf_model.full_identifier}{name}"

    @property
    def dict_keys(self) -> Any:
        return SimpleNamespace(**{name: self._full(name) for name in self._observables})

    def as_dict(self, fully_qualified: bool = True) -> dict[str, Observable]:
        return {
            self._full(name) if fully_qualified else name: value
            for name, value in self._observables.items()
        }

    def get_observable(self, name: str, name_fully_qualified: bool = False) -> Observable:
        return self.as_dict(name_fully_qualified)[name]

    def add_observable(self, name: str, observable: Observable, enabled: bool = True) -> None:
        self._observables[name] = observable
        observable.enabled = enabled

    def set_options(self, options: Mapping[str, Any] | None) -> None:
        """Set options of all, by option, or of some, by name."""
        for name, value in (options or {}).items():
            if name in self._observables:
                self._observables[name].configure(**(value or {}))
            elif name in OPTIONS:
                for each in self._observables.values():
                    each.configure(**{name: value})
            else:
                raise KeyError(f"No observable with name '{name}'")

    def enable_all(self) -> None:
        for each in self._observables.values():
            each.enabled = True

    def disable_all(self) -> None:
        for each in self._observables.values():
            each.enabled = False

    def __iter__(self) -> Iterator[Observable]:
        return iter(self._observables.values())


class FreePropObservableMixin(abc.ABC):
    """Names of the observables that a free prop has."""

    @property
    @abc.abstractmethod
    def position(self) -> Any:
        """Position in the world, m."""

    @property
    @abc.abstractmethod
    def orientation(self) -> Any:
        """Orientation in the world, a quaternion."""

    @property
    @abc.abstractmethod
    def linear_velocity(self) -> Any:
        """Velocity in the world, m/s."""

    @property
    @abc.abstractmethod
    def angular_velocity(self) -> Any:
        """Angular velocity in the world, rad/s."""


class Callbacks:
    """Callbacks of tasks and entities, in the order in which they are called."""

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        """Change the model before an episode."""

    def after_compile(self, physics: Any, random_state: np.random.RandomState) -> None:
        """Prepare for a model that has just been compiled."""

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        """Set the state at an episode's start."""

    def before_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        """Do something before a control step."""

    def before_substep(self, physics: Any, random_state: np.random.RandomState) -> None:
        """Do something before a physics step."""

    def after_substep(self, physics: Any, random_state: np.random.RandomState) -> None:
        """Do something after a physics step."""

    def after_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        """Do something after a control step."""


class Entity(Callbacks):
    """A model with observables and callbacks.

    Subclasses write `_build`, which takes the arguments, `mjcf_model`, and `_build_observables`.

    Attributes:
        parent: the entity that this one is attached to.
    """

    _mjcf_root: mjcf.RootElement

    def __init__(
        self, *args: Any, observable_options: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None:
        self.parent: Entity | None = None
        self._attached: list[Entity] = []
        self._build(*args, **kwargs)
        self.observables = self._build_observables()
        self.observables.set_options(observable_options)

    def _build(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    def _build_observables(self) -> Any:
        return Observables(self)

    @property
    def mjcf_model(self) -> mjcf.RootElement:
        return self._mjcf_root

    @property
    def root_body(self) -> mjcf.Element:
        return self.mjcf_model.parent_frame or self.mjcf_model.worldbody

    @property
    def attachment_site(self) -> mjcf.Element:
        return self.mjcf_model

    def iter_entities(self, exclude_self: bool = False) -> "Iterator[Entity]":
        if not exclude_self:
            yield self
        for entity in self._attached:
            yield from entity.iter_entities()

    def attach(self, entity: "Entity", attach_site: mjcf.Element | None = None) -> mjcf.Element:
        model = entity.mjcf_model
        model.model = self.mjcf_model.namescope.free_name(model.model)  # entities may be alike
        frame = (attach_site or self.attachment_site).attach(model)
        entity.parent = self
        self._attached.append(entity)
        return frame

    def detach(self) -> None:
        """Detach this entity from its parent."""
        if self.parent is None:
            raise RuntimeError("Cannot detach an entity that is not attached.")
        self.parent._attached.remove(self)
        self.parent = None
        self.mjcf_model.detach()

    # Geometry.

    def _rotation(self, physics: Any) -> np.ndarray:
        return np.array(physics.bind(self.root_body).xmat).reshape(3, 3)

    def global_vector_to_local_frame(self, physics: Any, vec_in_world_frame: Any) -> np.ndarray:
        vector, rotation = np.asarray(vec_in_world_frame), self._rotation(physics)
        if vector.shape not in ((2,), (3,)):
            raise ValueError(f"expected a vector of 2 or 3 numbers, got shape {vector.shape}")
        size = len(vector)
        local: np.ndarray = vector @ rotation[:size, :size]
        return local

    def global_xmat_to_local_frame(self, physics: Any, xmat: Any) -> np.ndarray:
        matrix = np.asarray(xmat)
        local: np.ndarray = self._rotation(physics).T @ matrix.reshape(3, 3)
        return local.reshape(matrix.shape)

    def get_pose(self, physics: Any) -> tuple[Any, Any]:
        """Position and quaternion, as they are stored: of the free joint or of the body."""
        frame = self._frame()
        joint = mjcf.get_frame_freejoint(self.mjcf_model)
        if joint is not None:
            qpos = np.array(physics.bind(joint).qpos)
            return qpos[:3], qpos[3:]
        bound = physics.bind(frame)
        return np.array(bound.pos), np.array(bound.quat)

    def _frame(self) -> mjcf.Element:
        frame = self.mjcf_model.parent_frame
        if frame is None:
            raise ValueError("Cannot set or get the pose of an entity that is not attached.")
        return frame

    def set_pose(self, physics: Any, position: Any = None, quaternion: Any = None) -> None:
        """Move the entity, in the frame of its parent."""
        frame = self._frame()
        joint = mjcf.get_frame_freejoint(self.mjcf_model)
        target = physics.bind(joint if joint is not None else frame)
        if joint is not None:
            qpos = np.array(target.qpos)
            qpos[:3] = qpos[:3] if position is None else position
            qpos[3:] = qpos[3:] if quaternion is None else _normalized(quaternion)
            target.qpos = qpos
            return
        if position is not None:
            target.pos = position
        if quaternion is not None:
            target.quat = _normalized(quaternion)

    def shift_pose(
        self,
        physics: Any,
        position: Any = None,
        quaternion: Any = None,
        rotate_velocity: bool = False,
    ) -> None:
        here, rotation = self.get_pose(physics)
        if quaternion is not None:
            turn, turned = _normalized(quaternion), np.zeros(4)
            mujoco.mju_mulQuat(turned, turn, np.asarray(rotation, np.float64))
            if rotate_velocity:
                linear, angular = self.get_velocity(physics)
                self.set_velocity(physics, *(_turned(v, turn) for v in (linear, angular)))
            rotation = turned
        if position is not None:
            here = here + np.asarray(position)
        self.set_pose(physics, here, rotation)

    def get_velocity(self, physics: Any) -> tuple[np.ndarray, np.ndarray]:
        """Linear and angular velocity of the free joint."""
        qvel = np.array(physics.bind(self._freejoint()).qvel)
        return qvel[:3], qvel[3:]

    def set_velocity(
        self, physics: Any, velocity: Any = None, angular_velocity: Any = None
    ) -> None:
        """Set the velocity of the free joint."""
        target = physics.bind(self._freejoint())
        qvel = np.array(target.qvel)
        qvel[:3] = qvel[:3] if velocity is None else velocity
        qvel[3:] = qvel[3:] if angular_velocity is None else angular_velocity
        target.qvel = qvel

    def _freejoint(self) -> mjcf.Element:
        joint = mjcf.get_frame_freejoint(self.mjcf_model)
        if joint is None:
            raise ValueError("Cannot set or get the velocity of an entity without a free joint.")
        return joint

    def configure_joints(self, physics: Any, position: Any) -> None:
        physics.bind(self.mjcf_model.find_all("joint", exclude_attachments=True)).qpos = position


def _normalized(quaternion: Any) -> np.ndarray:
    values = np.asarray(quaternion, np.float64)
    unit: np.ndarray = values / np.linalg.norm(values)
    return unit


def _turned(vector: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    turned = np.zeros(3)
    mujoco.mju_rotVecQuat(turned, vector, quaternion)
    return turned


class ModelWrapperEntity(Entity):
    """An entity that wraps a model."""

    def _build(self, mjcf_model: mjcf.RootElement) -> None:
        self._mjcf_root = mjcf_model


# The published physics of arenas; frames of entities weigh a hundredth of a gram.
ARENA: dict[str, dict[str, Any]] = {
    "compiler": {"boundmass": 1e-5, "boundinertia": 1e-11, "angle": "radian", "eulerseq": "xyz"},
    "option": {"cone": "elliptic", "noslip_iterations": 5, "noslip_tolerance": 0.0},
}


class Arena(Entity):
    """A world that entities are attached to."""

    def _build(self, name: str | None = None) -> None:
        self._mjcf_root = mjcf.RootElement(model=name)
        for section, numbers in ARENA.items():
            getattr(self._mjcf_root, section).set_attributes(**numbers)

    @property
    def ground_geoms(self) -> tuple[mjcf.Element, ...]:
        return ()

    def add_free_entity(self, entity: Entity) -> mjcf.Element:
        frame = self.attach(entity)
        frame.add("freejoint")
        return frame

    def attach_offset(
        self, entity: Entity, offset: Any, attach_site: mjcf.Element | None = None
    ) -> mjcf.Element:
        frame = self.attach(entity, attach_site)
        frame.pos = offset
        return frame

    def regenerate(self, random_state: np.random.RandomState) -> None:
        """Redraw the arena."""


class Robot(Entity):
    """An entity with actuators."""

    actuators = required()


class Initializer:
    """Sets a part of the state at an episode's start."""

    def __call__(self, physics: Any, random_state: np.random.RandomState) -> bool:
        """Set the state; returns whether that succeeded."""
        raise NotImplementedError
