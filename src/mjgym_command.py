"""Entry point of the console script `mjgym`, which starts without MuJoCo.

`import mjgym` imports the engine and registers every id. Help and guides are shown without that,
and `mjgym doctor` runs where the engine cannot be imported. So this module, which is outside of the
package, puts the package into `sys.modules` unread; it is read when the first of its names is asked
for. Nothing else in the package knows of that.

The command's matrices are small, so BLAS and OpenMP get one thread, unless `OMP_NUM_THREADS` or the
library's own variable says otherwise: with more, threads that wait for a busy core spin.
"""

import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

PACKAGE = "mjgym"


class Unread(ModuleType):
    """A package whose `__init__` has not been executed; its submodules can be imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks of every package
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        self.__class__ = ModuleType  # type: ignore[assignment]
        try:
            spec.loader.exec_module(self)
        except BaseException:
            self.__class__ = Unread  # it says so again when it is asked again
            raise
        return getattr(self, name)


def defer() -> None:
    """Put the package into `sys.modules`, unread, unless it has been imported."""
    if PACKAGE in sys.modules:
        return
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    package = importlib.util.module_from_spec(spec)
    package.__class__ = Unread
    sys.modules[PACKAGE] = package


def main() -> None:
    """Run the command."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy and PyTorch are loaded
    defer()
    from mjgym.cli.app import main as run

    run()
