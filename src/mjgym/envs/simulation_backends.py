"""The engines of `make_vec(..., backend=...)`: a new one is a class and a line here."""

import importlib
import importlib.util
from dataclasses import dataclass

from mjgym.envs.options import BatchOptions, VectorOptions, WarpOptions, names
from mjgym.envs.vector import VectorEnv
from mjgym.util.packaged import install


@dataclass(frozen=True)
class Backend:
    """An engine for batches."""

    vector_env: str  # its vector environment, "module:Class", imported on demand
    options: type[BatchOptions]  # its keyword arguments, besides those that all environments share
    packages: tuple[str, ...] = ()  # additional packages that it needs
    extra: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return names(self.options)

    def missing(self) -> list[str]:
        return [name for name in self.packages if importlib.util.find_spec(name) is None]

    def load(self, name: str) -> type[VectorEnv]:
        """Import the class of its vector environments."""
        if missing := self.missing():
            raise ImportError(
                f'backend="{name}" needs {missing[0]}: {install(self.extra)}',
                name=missing[0],
            )
        module, _, cls = self.vector_env.partition(":")
        vector_class: type[VectorEnv] = getattr(importlib.import_module(module), cls)
        return vector_class


DEFAULT = "mujoco"
BACKENDS = {
    DEFAULT: Backend("mjgym.envs.vector:VectorEnv", VectorOptions),
    "warp": Backend(
        "mjgym.envs.tensor_vector:TensorVectorEnv",
        WarpOptions,
        ("mujoco_warp", "torch"),
        "gpu",
    ),
}
"""All backends by name."""


def arguments_of_others(name: str) -> dict[str, str]:
    valid = BACKENDS[name].arguments
    return {a: other for other, b in BACKENDS.items() for a in b.arguments if a not in valid}
