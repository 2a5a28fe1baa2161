"""Ids, and the modules that register them, as arguments of commands."""

import contextlib
import importlib
import importlib.util
import os
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

import typer

from mjgym.cli.output import refusing, require
from mjgym.util.bounded import MOST_BYTES
from mjgym.util.suggestions import close

PLUGINS = ("gymnasium_robotics",)  # packages that register ids once they are imported
_ALIKE = 0.5  # lower than usual, as input is shorter than an id


class ModuleError(Exception):
    """A module with tasks fails on import; the message says where."""


def known_id(value: str) -> str:
    """The registered id that an argument means; namespace and version may be left out.

    A bare "walker-walk" means "dmc/walker-walk-v0": the suite comes first, an id of another
    namespace must be unambiguous.

    "module:id" imports a module first, as in `gymnasium.make`; the module may be a file. A file
    that registers one id stands for it, and the folder of a run for its task.
    """
    if run_folder(value):
        return _id_of_run(Path(value))
    if _is_file(value):
        return _only_id(value)
    module, id = _module_and_id(value)
    own = _ids_in(import_named(module)) if module else []
    registered = find_id(id)
    if registered is None:
        if other_id(id):
            raise typer.BadParameter(
                f"{id!r} is of another package; this takes ids of mjgym alone."
            )
        near = _question(close(id, own, alike=_ALIKE) or own[:3])
        near = near or _nearest_others(id) or nearest_ids(id)
        raise typer.BadParameter(f"there is no id {id!r}.{near}{_module_id(module, id)}")
    return registered


def other_id(value: str) -> str | None:
    """The id if another package registers it with Gymnasium; imports those in `PLUGINS`."""
    import gymnasium

    for package in PLUGINS:
        if value not in gymnasium.registry and importlib.util.find_spec(package):
            importlib.import_module(package)
    return value if value in gymnasium.registry else None


def _known_or_other(context: typer.Context, value: str) -> str:
    """`known_id`, or an id of another package, whose module is kept for the command."""
    if run_folder(value) or _is_file(value):
        return known_id(value)
    module, id = _module_and_id(value)
    if module:
        import_named(module)
        context.meta[MODULE] = str(Path(module).resolve()) if _is_file(module) else module
    other = None if find_id(id) else other_id(id)
    return other or known_id(value)


def _module_and_id(value: str) -> tuple[str, str]:
    """Split "module:id" into a module (may be empty) and an id; a drive letter is no module."""
    drive = value[:2] if re.match(r"[A-Za-z]:[\\/]", value) else ""
    module, _, id = value.removeprefix(drive).rpartition(":")
    if drive and not module:
        raise typer.BadParameter(f"there is no file {value}.")
    return drive + module, id


def run_folder(value: str) -> bool:
    return os.path.isfile(os.path.join(value, "config.yaml"))  # False for what can be no path


def _id_of_run(folder: Path) -> str:
    """The task of a run, from the registry alone: the folder is data and imports no module."""
    require("yaml")
    from mjgym.policies.run_errors import RunError
    from mjgym.policies.run_folder import RunFolder

    with refusing(RunError):
        id = str(RunFolder(folder).settings().get("id", ""))
    registered = find_id(id)
    if registered is None:
        raise typer.BadParameter(
            f"{folder} is a run of {id!r}, which is not registered: name its module,"
            f' "path/to/file.py:{id}", and give --policy {folder}'
        )
    return registered


def _only_id(file: str) -> str:
    with refusing(ModuleError):
        registered = ids_of(file)
    if len(registered) > 1:
        raise typer.BadParameter(
            f"{file} registers {', '.join(registered)}: name one, {file}:{registered[0]}"
        )
    return registered[0]


def import_named(module: str) -> ModuleType:
    with refusing(ModuleError):
        return load(module)


def known_ids(values: list[str]) -> list[str]:
    return [known_id(value) for value in values]


def _module_id(module: str, id: str) -> str:
    from mjgym import registry

    space = id.partition("/")[0]
    if module or "/" not in id or any(i.startswith(f"{space}/") for i in registry.ids()):
        return ""
    return (
        f' If it is your own, name its module as well: "my_module:{id}" or "path/to/file.py:{id}".'
    )


def completed(incomplete: str) -> list[str]:
    """Shell completions: ids and namespaces with this prefix."""
    from mjgym import registry

    known = registry.ids()
    if "/" in incomplete:
        return [id for id in known if id.startswith(incomplete)]
    bare = {id.partition("/")[2]: id for id in known}
    names = [name for name, id in bare.items() if name.startswith(incomplete)]
    spaces = dict.fromkeys(f"{id.partition('/')[0]}/" for id in known)
    begun = [space for space in spaces if space.startswith(incomplete)]
    return [*begun, *(name for name in names if find_id(name) == bare[name])]


MODULE = "mjgym.module"  # in the context of a command: the module named with another's id
RUN = "mjgym.run"  # in the context of a command: the folder of a run that stands for its id


def _argument(context: typer.Context, value: str) -> str:
    if run_folder(value):
        context.meta[RUN] = value
    return known_id(value)


ID = typer.Argument(
    help='An id; for one of your own "module:id", "file.py:id" or "file.py"; or a run\'s folder.',
    callback=_argument,
    autocompletion=completed,
)
"""The argument of commands that take one id."""


ANY_ID = typer.Argument(
    help='As elsewhere, or any id known to Gymnasium, such as Pendulum-v1 or "my_module:My-v0".',
    callback=_known_or_other,
    autocompletion=completed,
)
"""The argument of commands that take ids of other packages too."""


def _nearest_others(value: str) -> str:
    import gymnasium

    theirs = [] if "/" in value else [id for id in gymnasium.registry if "/" not in id]
    return _question(close(value, theirs, alike=0.75) if re.search(r"-v\d+$", value) else [])


def _question(near: list[str]) -> str:
    return f" Did you mean {', '.join(near)}?" if near else ""


def find_id(value: str) -> str | None:
    """The registered id that an argument means, or None."""
    from mjgym import registry

    known = registry.ids()
    candidates = (value, f"{value}-v0", f"dmc/{value}", f"dmc/{value}-v0")
    for candidate in candidates:
        if candidate in known:
            return candidate
    bare = [id for id in known if id.partition("/")[2] in (value, f"{value}-v0")]
    return bare[0] if len(bare) == 1 else None


def nearest_ids(value: str) -> str:
    """A question that names the nearest ids; empty if there are none."""
    from mjgym import registry

    known = registry.ids()
    if "/" in value:
        near = close(value, known, alike=_ALIKE)
    else:
        bare: dict[str, list[str]] = {}
        for id in known:
            bare.setdefault(id.partition("/")[2], []).append(id)
        matches = close(value, bare, alike=_ALIKE)
        near = [id for match in matches for id in bare[match]]
    return _question(near)


def ids_of(value: str) -> list[str]:
    """The ids for an id, for "module:id", or registered by a module or file."""
    from mjgym import registry

    named = ":" in value or find_id(value) or value.count("/") == 1
    if named and not _is_file(value):
        return [known_id(value)]
    if run_folder(value):
        return [_id_of_run(Path(value))]
    before = set(registry.ids())
    own = _ids_in(load(value))
    ids = [id for id in registry.ids() if id not in before or id in own]
    if not ids:
        raise typer.BadParameter(
            f'{value} registers no ids: put @register("my/task-v0") above the task\'s class'
        )
    return ids


def _ids_in(module: ModuleType) -> list[str]:
    from mjgym import registry

    classes = {id: registry.registration(id).task_class.__module__ for id in registry.ids()}
    name = module.__name__
    return [id for id, inside in classes.items() if f"{inside}.".startswith(f"{name}.")]


def _is_file(value: str) -> bool:
    return value.endswith(".py") or os.path.isfile(value)  # False for what can be no path


def load(name: str) -> ModuleType:
    """Import a module by its name, including the working folder, or by the path of its file.

    Its output goes to stderr, as stdout may be JSON.
    """
    importlib.invalidate_caches()
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return _load_file(Path(name)) if _is_file(name) else importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not _is_file(name) and (name == missing or name.startswith(f"{missing}.")):
            message = f"there is neither a module nor an id {name!r}.{nearest_ids(name)}"
            raise typer.BadParameter(message) from None
        raise _failed(name, error) from error
    except typer.BadParameter:
        raise
    except Exception as error:
        raise _failed(name, error) from error


def _load_file(path: Path) -> ModuleType:
    if not os.path.isfile(path):
        raise typer.BadParameter(f"there is no file {path}.")
    if path.stat().st_size > MOST_BYTES:
        raise typer.BadParameter(f"{path} has more than {MOST_BYTES:,} bytes.")
    path = path.resolve()
    folder = str(path.parent)
    if folder not in sys.path:  # for modules beside it
        sys.path.insert(0, folder)
    for module in list(sys.modules.values()):
        # Loaded already, or in a package; attributes of lazy modules may import.
        if getattr(module, "__dict__", {}).get("__file__") == str(path):
            return module
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_{abs(hash(path)):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise typer.BadParameter(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _failed(name: str, error: Exception) -> ModuleError:
    where = ""
    if isinstance(error, SyntaxError):
        where = f" ({Path(error.filename or name).name}:{error.lineno})"
        message = error.msg
    else:
        message = " ".join(str(error).split())
        library = str(Path(__file__).parents[1])
        frames = [
            f
            for f in traceback.extract_tb(error.__traceback__)
            if not f.filename.startswith((library, "<frozen")) and "importlib" not in f.filename
        ]
        if frames:
            where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
    return ModuleError(f"{name} cannot be imported: {type(error).__name__}: {message}{where}")
