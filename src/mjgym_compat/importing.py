"""Import of others' module names, answered by the modules of this package."""

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from mjgym.util.suggestions import close, or_else

HERE = "mjgym_compat"
ANSWERED = ("dm_control", "robosuite")


def install(package: str) -> None:
    """Let `import dm_control` or `import robosuite`, and their submodules, find those of here.

    Raises:
        ValueError: there is no such package here.
        ImportError: it was imported already, so that classes of both would meet.
    """
    if package not in ANSWERED:
        raise ValueError(f"install: no package {package!r}{or_else(package, ANSWERED)}")
    ours = importlib.import_module(f"{HERE}.{package}")
    if sys.modules.get(package, ours) is not ours:
        raise ImportError(f"{package} was imported already; call install({package!r}) before")
    if not any(isinstance(f, _Finder) and f.prefix == package for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder(package, package))


def answer_under_own_name(package: str) -> None:
    """Let `mjgym_compat.<package>.X` find a module that has another name here."""
    sys.meta_path.append(_Finder(package, f"{HERE}.{package}"))


def submodules(package: str) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package: its modules by others' names, without an import."""
    root, _, path = package.removeprefix(f"{HERE}.").partition(".")

    def find(name: str) -> ModuleType:
        if name.startswith("__"):
            raise AttributeError(name)
        inner = f"{path}.{name}".lstrip(".")
        module = _resolve(root, inner) if inner in _table(root) else None
        if module is None:
            raise AttributeError(_missing(root, inner), name=name)
        _adopt(root, inner, module)
        return module

    return find


class _Finder(MetaPathFinder):
    """Finder of the modules of a package of this one.

    Args:
        package: its name, e.g. "dm_control".
        prefix: under which name it is imported.
    """

    def __init__(self, package: str, prefix: str) -> None:
        self._package = package
        self.prefix = prefix

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module here, or None for a name of others.

        Raises:
            ModuleNotFoundError: there is no such module here; the message names the nearest.
        """
        if name != self.prefix and not name.startswith(self.prefix + "."):
            return None
        inner = name[len(self.prefix) + 1 :]
        module = _resolve(self._package, inner)
        if module is None:
            raise ModuleNotFoundError(_missing(self._package, inner))
        _adopt(self._package, inner, module)
        if type(parent := sys.modules.get(name.rpartition(".")[0])) is ModuleType:
            parent.__class__ = _Parent
        return ModuleSpec(name, _Answer(module))


class _Parent(ModuleType):
    """A module whose functions stay when a module of the same name below it is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__.get(name, value)
        if isinstance(known, ModuleType) or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


class _Answer(Loader):
    """Loader that answers with a module that exists."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        sys.modules[module.__spec__.name] = self._module


def _table(package: str) -> Mapping[str, str]:
    """Others' module names with the names here, without the package."""
    table: Mapping[str, str] = importlib.import_module(f"{HERE}.{package}").MODULES
    return table


def _resolve(package: str, name: str) -> ModuleType | None:
    full = f"{HERE}.{package}.{_table(package).get(name, name)}".rstrip(".")
    if full in sys.modules:
        return sys.modules[full]
    parent, _, last = full.rpartition(".")
    if parent == HERE:
        return importlib.import_module(full)
    above = _resolve(package, parent[len(HERE) + len(package) + 2 :])
    if above is None:
        return None
    if hasattr(above, "__path__") and _is_file(above, last):
        return importlib.import_module(f"{above.__name__}.{last}")
    member = getattr(above, last, None)  # a module made by its parent, or the engine's own
    return member if isinstance(member, ModuleType) else None


def _adopt(package: str, name: str, module: ModuleType) -> None:
    """Let a module that answers for a package of others have that package's modules."""
    if hasattr(module, "__path__"):
        return
    for inner in _table(package):
        parent, _, last = inner.rpartition(".")
        if parent == name:
            module.__path__ = []
            if not hasattr(module, last):
                setattr(module, last, _resolve(package, inner))


def _is_file(package: ModuleType, name: str) -> bool:
    return any(found.name == name for found in pkgutil.iter_modules(package.__path__))


def _missing(package: str, name: str) -> str:
    parent, _, last = name.rpartition(".")
    above = _resolve(package, parent)
    files = [found.name for found in pkgutil.iter_modules(getattr(above, "__path__", ()))]
    names = [n for n in (*dir(above), *files) if not n.startswith("_")]
    known = {f"{parent}.{n}".lstrip(".") for n in names}
    known |= {n for n in _table(package) if n.rpartition(".")[0] == parent} or set(_table(package))
    near = close(name, sorted(known)) or close(last, sorted(known))
    mean = f"; did you mean {', '.join(f'{package}.{n}' for n in near)}?" if near else ""
    return f"{HERE} has no {package}.{name}{mean}"
