"""Observables: readings with interval, delay and aggregation."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from dm_env import specs

from mjgym.util.suggestions import or_else

AGGREGATORS = {
    "min": functools.partial(np.min, axis=0),
    "max": functools.partial(np.max, axis=0),
    "mean": functools.partial(np.mean, axis=0),
    "median": functools.partial(np.median, axis=0),
    "sum": functools.partial(np.sum, axis=0),
}
OPTIONS = ("update_interval", "buffer_size", "delay", "aggregator", "corruptor", "enabled")


class Observable:
    """A quantity that is observed.

    Attributes:
        array_spec: specification of a value, a `dm_env.specs.Array`; None to derive it.
    """

    array_spec: Any = None

    def __init__(
        self,
        update_interval: Any = 1,
        buffer_size: int | None = None,
        delay: Any = None,
        aggregator: Any = None,
        corruptor: Callable[..., Any] | None = None,
    ) -> None:
        self.update_interval = update_interval
        self.buffer_size = buffer_size
        self.delay = delay
        self.aggregator = aggregator
        self.corruptor = corruptor
        self.enabled = False

    @property
    def aggregator(self) -> Callable[[np.ndarray], Any] | None:
        return self._aggregator

    @aggregator.setter
    def aggregator(self, value: Any) -> None:
        if isinstance(value, str):
            if value not in AGGREGATORS:
                known = or_else(value, list(AGGREGATORS))
                raise KeyError(f"Unrecognized aggregator name: {value!r}{known}")
            value = AGGREGATORS[value]
        self._aggregator: Callable[[np.ndarray], Any] | None = value

    def raw(self, physics: Any) -> Any:
        raise NotImplementedError

    def observation_callable(self, physics: Any, random_state: Any = None) -> Callable[[], Any]:
        return lambda: self(physics, random_state)

    def __call__(self, physics: Any, random_state: Any = None) -> Any:
        value = self.raw(physics)
        if self.corruptor is None:
            return value
        return self.corruptor(value, random_state=random_state)

    def configure(self, **options: Any) -> None:
        """Set options."""
        for name, value in options.items():
            if not hasattr(self, name):
                raise AttributeError(
                    f"Cannot add attribute {name} in configure.{or_else(name, OPTIONS)}"
                )
            setattr(self, name, value)


class Generic(Observable):
    """An observable that is a function of the physics."""

    def __init__(self, raw_observation_callable: Callable[[Any], Any], **options: Any) -> None:
        self._function = raw_observation_callable
        super().__init__(**options)

    def raw(self, physics: Any) -> Any:
        return self._function(physics)


class MujocoFeature(Observable):
    """Numbers of named elements in a field of MjData."""

    def __init__(self, kind: str, feature_name: Any, **options: Any) -> None:
        self._kind, self._feature_name = kind, feature_name
        super().__init__(**options)

    def raw(self, physics: Any) -> Any:
        name = self._feature_name() if callable(self._feature_name) else self._feature_name
        return np.array(getattr(physics.named.data, self._kind)[name])


class MujocoCamera(Observable):
    """Images of a camera."""

    def __init__(
        self,
        camera_name: str,
        height: int = 240,
        width: int = 320,
        depth: bool = False,
        segmentation: bool = False,
        scene_option: Any = None,
        **options: Any,
    ) -> None:
        self._camera = camera_name
        self.height, self.width = height, width
        self.depth, self.segmentation, self.scene_option = depth, segmentation, scene_option
        super().__init__(**options)

    @property
    def name(self) -> str:
        return self._camera

    @property
    def array_spec(self) -> specs.BoundedArray:
        if self.depth:
            kind: Any = (1, np.float32, 0.0, np.inf)
        elif self.segmentation:
            kind = (2, np.int32, -1, np.iinfo(np.int32).max)
        else:
            kind = (3, np.uint8, 0, 255)
        channels, dtype, low, high = kind
        return specs.BoundedArray((self.height, self.width, channels), dtype, low, high)

    def raw(self, physics: Any) -> Any:
        image = physics.render(
            self.height,
            self.width,
            self.name,
            depth=self.depth,
            segmentation=self.segmentation,
            scene_option=self.scene_option,
        )
        return np.atleast_3d(image)
