"""The engines that `make_vec(..., backend=...)` offers: a new one is a class and a line here."""

import importlib
import importlib.util
from dataclasses import dataclass

from mjgym.envs.vector import VectorEnv
from mjgym.util.packaged import install


@dataclass(frozen=True)
class Backend:
    """An engine for batches.

    Args:
        vector_env: its vector environment, "module:Class", which is imported when it is wanted.
        arguments: names of the keyword arguments that only this one takes.
        packages: that it needs besides those of the core.
        extra: of this package that installs them.
    """

    vector_env: str
    arguments: tuple[str, ...]
    packages: tuple[str, ...] = ()
    extra: str = ""

    def missing(self) -> list[str]:
        """Names of the packages that are not installed."""
        return [name for name in self.packages if importlib.util.find_spec(name) is None]

    def load(self, name: str) -> type[VectorEnv]:
        """The class of its vector environments.

        Args:
            name: of the backend, for the message.

        Raises:
            ImportError: a package is not installed; the message says how to.
        """
        if missing := self.missing():
            raise ImportError(
                f'backend="{name}" needs {missing[0]}: {install(self.extra)}',
                name=missing[0],
            )
        module, _, cls = self.vector_env.partition(":")
        found: type[VectorEnv] = getattr(importlib.import_module(module), cls)
        return found


DEFAULT = "mujoco"
BACKENDS = {
    DEFAULT: Backend("mjgym.envs.vector:VectorEnv", ("threads", "copy", "overlap")),
    "warp": Backend(
        "mjgym.envs.tensor_vector:TensorVectorEnv",
        ("device", "output", "nconmax", "njmax", "start_threads", "deterministic"),
        ("mujoco_warp", "torch"),
        "gpu",
    ),
}
"""All backends by name."""


def arguments_of_others(name: str) -> dict[str, str]:
    """The backends that the arguments belong to that a backend does not take, by argument."""
    own = BACKENDS[name].arguments
    return {a: other for other, b in BACKENDS.items() for a in b.arguments if a not in own}
