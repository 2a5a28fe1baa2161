"""The interface of Composer: tasks of entities, with callbacks and observables.

    from mjgym_compat.dm_control import composer

Models are those of `mjgym_compat.dm_control.mjcf`. Environments need the extra `[dm_env]`.
"""

from mjgym_compat.dm_control.composer.constants import SENSOR_SITES_GROUP
from mjgym_compat.dm_control.composer.define import cached_property, observable
from mjgym_compat.dm_control.composer.entity import (
    Arena,
    Entity,
    FreePropObservableMixin,
    Initializer,
    ModelWrapperEntity,
    Observables,
    Robot,
)
from mjgym_compat.dm_control.composer.environment import (
    HOOK_NAMES,
    Environment,
    EpisodeInitializationError,
    ObservationPadding,
)
from mjgym_compat.dm_control.composer.task import NullTask, Task
from mjgym_compat.importing import submodules

__all__ = [
    "HOOK_NAMES",
    "SENSOR_SITES_GROUP",
    "Arena",
    "Entity",
    "Environment",
    "EpisodeInitializationError",
    "FreePropObservableMixin",
    "Initializer",
    "ModelWrapperEntity",
    "NullTask",
    "Observables",
    "ObservationPadding",
    "Robot",
    "Task",
    "cached_property",
    "observable",
]

__getattr__ = submodules(__name__)
