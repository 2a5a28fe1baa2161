"""Registration of tasks as Gymnasium ids, single and batched.

`import mjgym` registers the ids in the importing process. For other processes, the id
"mjgym:dmc/walker-walk-v0" makes Gymnasium import the package.
"""

import dataclasses
import importlib
import inspect
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

import mjgym.tasks
from mjgym.envs.env import Env
from mjgym.envs.options import Options, names
from mjgym.envs.overlapped import OverlappedVectorEnv
from mjgym.envs.players import PlayersVectorEnv
from mjgym.envs.simulation_backends import BACKENDS, DEFAULT, arguments_of_others
from mjgym.envs.vector import VectorEnv
from mjgym.task import Registration, Task
from mjgym.task import registration as _contract
from mjgym.task.registration import place_of
from mjgym.task.task_fields import check_fields
from mjgym.util import code_references
from mjgym.util.packaged import assets
from mjgym.util.suggestions import did_you_mean, or_else
from mjgym.util.values import whole_number
from mjgym.variation.written import revived

if TYPE_CHECKING:
    from mjgym.envs.parallel import ParallelEnv

NO_LIMIT = math.inf  # steps of an episode

_OPTIONS = names(Options)
_VECTOR_OPTIONS = ("num_envs", "backend")
# make() consumes these itself.
_GYMNASIUM = ("max_episode_steps", "disable_env_checker")
# Arguments of make and make_vec; fields of a task must not share their names.
_TAKEN = {
    "task_class",
    *_OPTIONS,
    *_VECTOR_OPTIONS,
    *(argument for backend in BACKENDS.values() for argument in backend.arguments),
    *inspect.signature(gymnasium.make).parameters,
    *inspect.signature(gymnasium.make_vec).parameters,
} - {"kwargs"}

# Names in robosuite and dm_control for arguments named differently here.
_ELSEWHERE = dict.fromkeys(
    ("horizon", "episode_length"), "; the control steps of an episode are max_episode_steps"
)


def make_env(task_class: str, **kwargs: Any) -> Env:
    """Entry point of every id: a single environment.

    Args:
        task_class: "module:Class".
        **kwargs: fields of the class, and keyword arguments of `Env`.

    Raises:
        TypeError: an argument is unknown; the message suggests the nearest ones.
        ValueError: `time_limit` exceeds the registered limit, which `gymnasium.make` enforces.
    """
    cls = _load(task_class)
    fields, options = _split(cls, kwargs, _OPTIONS, _GYMNASIUM)
    task = cls(**fields).as_one_agent()
    limits = _own_limit(task)
    if limits is None:
        return Env(task, **options)
    steps, registered = limits
    longest = max(registered)
    if steps > longest:
        raise ValueError(
            f"time_limit: gymnasium.make ends episodes after the registered {longest} steps; for"
            f" {task.time_limit} s give max_episode_steps={-1 if steps == NO_LIMIT else steps}"
            " instead (make_vec takes either)"
        )
    return Env(task, max_episode_steps=int(steps), **options)


def _own_limit(task: Task) -> tuple[float, set[float]] | None:
    """The user's `time_limit` in steps and the registered limits; None if a registered one holds.

    With shorter control steps the registered limit applies: `gymnasium.make` wraps every
    environment in it, and `gymnasium.make_vec` fills it in when `max_episode_steps` is missing.
    """
    place = place_of(type(task))
    listed = [r for r in _contract.registrations.values() if r.place == place]
    others = [r.task_class(**r.fields) for r in listed]
    if not others:
        return None
    steps, *registered = (t.episode_steps() or NO_LIMIT for t in (task, *others))
    shorter_steps = steps > max(registered) and any(o.time_limit == task.time_limit for o in others)
    return None if steps in registered or shorter_steps else (steps, set(registered))


def make_vector_env(
    task_class: str, **kwargs: Any
) -> VectorEnv | PlayersVectorEnv | OverlappedVectorEnv:
    """Vector entry point of every id: a batch of environments, or of matches between players.

    Args:
        task_class: "module:Class".
        **kwargs: fields of the class, and options of `mjgym.envs.options`. As in `gymnasium.make`,
            a `max_episode_steps` of None is the registered limit, and -1 means no limit. With a
            custom `time_limit`, the earlier of the two ends an episode. `backend` names one of
            `mjgym.envs.simulation_backends`.

    Raises:
        TypeError: an argument is unknown; the message suggests the nearest ones.
        ValueError: the backend is unknown; the message lists the known ones.
        ImportError: the backend is not installed; the message says how to install it.
    """
    cls = _load(task_class)
    backend = kwargs.pop("backend", DEFAULT)
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ValueError(f"backend: {backend!r} is none of {', '.join(BACKENDS)}")
    known = (*_OPTIONS, *_VECTOR_OPTIONS, *BACKENDS[backend].arguments)
    for name, other in arguments_of_others(backend).items():
        if name in kwargs:
            raise TypeError(f"{name}: only of backend={other!r}, not of {backend!r}")
    fields, options = _split(cls, kwargs, known, ())
    task = cls(**fields)
    limit = options.pop("max_episode_steps", None)
    if limit not in (None, -1):
        whole_number("max_episode_steps", limit)
    if limit is None:
        limit = task.episode_steps()
    limits = _own_limit(task)
    if limits is not None and limit is not None:
        steps, registered = limits
        stated = NO_LIMIT if limit == -1 or limit in registered else limit
        limit = -1 if min(stated, steps) == NO_LIMIT else min(stated, steps)
    options["max_episode_steps"] = None if limit == -1 else limit
    vector_class = BACKENDS[backend].load(backend)
    if options.get("overlap", 1) != 1:
        if task.players:
            raise ValueError("overlap: matches of several players step together")
        return OverlappedVectorEnv(task, **options)
    if task.players:
        return PlayersVectorEnv(task, options.pop("num_envs", 1), on=vector_class, **options)
    return vector_class(task, **options)


def one_agent(id: str, **kwargs: Any) -> dict[str, Any]:
    """Keyword arguments of `make_vec` for a batch of single-agent environments.

    For a task with players, they select its single-agent form.

    Raises:
        gymnasium.error.NameNotFound: the id is unknown; the message suggests the nearest ones.
    """
    registered = registration(id)
    names = {f.name for f in dataclasses.fields(registered.task_class)}
    fields = {name: value for name, value in kwargs.items() if name in names}
    task = registered.task_class(**{**registered.fields, **fields})
    alone = task.as_one_agent()
    changed = {n: getattr(alone, n) for n in names if getattr(alone, n) != getattr(task, n)}
    return {**kwargs, **changed}


def on_mujoco(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `make_vec` without those of other backends."""
    others = arguments_of_others(DEFAULT)
    return {name: v for name, v in kwargs.items() if name not in {"backend", *others}}


def parallel_env(id: str, **kwargs: Any) -> "ParallelEnv":
    """One match of a task with players, as a PettingZoo `ParallelEnv`.

    Args:
        **kwargs: fields of its class, `max_episode_steps` (the registered limit by default) and
            keyword arguments of `Env`.

    Raises:
        gymnasium.error.NameNotFound: the id is unknown; the message suggests the nearest ones.
        ImportError: PettingZoo is not installed.
        TypeError: an argument is unknown; the message suggests the nearest ones.
        ValueError: the task has no players.
    """
    from mjgym.envs.parallel import ParallelEnv

    registered = registration(id)
    arguments = {**registered.fields, **registered.options, **kwargs}
    fields, options = _split(registered.task_class, arguments, (*_OPTIONS, "max_episode_steps"), ())
    task = registered.task_class(**fields)
    return ParallelEnv(task, id, **{"max_episode_steps": task.episode_steps(), **options})


def _load(task_class: str) -> type[Task]:
    cls = code_references.load(task_class)
    if not (inspect.isclass(cls) and issubclass(cls, Task)):
        raise TypeError(f"{task_class} is not a Task")
    return cls


def _split(
    cls: type[Task], kwargs: dict[str, Any], known: tuple[str, ...], elsewhere: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    kwargs, of_parts = cls.adopt(revived(kwargs))  # from a JSON specification
    fields = [f.name for f in dataclasses.fields(cls)]
    valid = [*fields, *known]
    for name in kwargs:
        if name not in valid:
            hint = _ELSEWHERE.get(name) or or_else(name, [*valid, *of_parts, *elsewhere])
            # Gymnasium and TorchRL look for Python's wording.
            raise TypeError(f"{cls.__name__} got an unexpected keyword argument {name!r}{hint}")
    values = {k: v for k, v in kwargs.items() if k in fields}
    check_fields(cls, values)
    return values, {k: v for k, v in kwargs.items() if k not in fields}


def ids(*, namespace: str | None = None, tag: str | Iterable[str] | None = None) -> list[str]:
    """Registered ids, sorted.

    Args:
        namespace: only ids in this namespace, e.g. "dmc".
        tag: only ids with this tag, or with all of these tags.

    Raises:
        ValueError: no id has such a tag or namespace; the message suggests the nearest ones.
    """
    wanted = {tag} if isinstance(tag, str) else set(tag or ())
    _require_known("tag", wanted, {t for r in _contract.registrations.values() for t in r.tags})
    spaces = {id.partition("/")[0] for id in _contract.registrations}
    _require_known("namespace", set() if namespace is None else {namespace}, spaces)
    return sorted(
        id
        for id, registration in _contract.registrations.items()
        if wanted <= registration.tags and namespace in (None, id.partition("/")[0])
    )


def _require_known(kind: str, wanted: set[str], known: set[str]) -> None:
    for word in sorted(wanted - known):
        raise ValueError(f"{kind}: no id has {word!r}{or_else(word, sorted(known))}")


def registration(id: str) -> Registration:
    """The registration of an id.

    Raises:
        gymnasium.error.NameNotFound: the id is unknown; the message suggests the nearest ones.
    """
    if id not in _contract.registrations:
        hint = did_you_mean(id, _contract.registrations)
        raise gymnasium.error.NameNotFound(f"no id {id!r}{hint}")
    return _contract.registrations[id]


def _register_with_gymnasium(registration: Registration) -> None:
    cls = registration.task_class
    for field in dataclasses.fields(cls):
        if field.name in _TAKEN:
            raise TypeError(
                f"{registration.id}: {cls.__name__} must name its field {field.name!r} otherwise:"
                " make or make_vec has an argument of that name"
            )
    for name in registration.options:
        if name not in _OPTIONS:
            hint = or_else(name, _OPTIONS)
            raise TypeError(f"{registration.id}: no option {name!r}{hint}")
    _hand_to_gymnasium(registration)


def _hand_to_gymnasium(registration: Registration) -> None:
    gymnasium.register(
        registration.id,
        entry_point="mjgym.registry:make_env",
        vector_entry_point="mjgym.registry:make_vector_env",
        max_episode_steps=registration.steps,
        # Tests run Gymnasium's checker on every id; the passive one only costs time.
        disable_env_checker=True,
        kwargs={"task_class": registration.place, **registration.fields, **registration.options},
    )


TABLE = assets() / "ids.json"
"""The package's ids and the modules of its tasks, which are imported when an id is made."""


def _packaged_modules() -> set[str]:
    folder = Path(mjgym.tasks.__path__[0])
    paths = (path.relative_to(folder.parent) for path in folder.rglob("[!_]*.py"))
    return {".".join(("mjgym", *path.with_suffix("").parts)) for path in paths}


def _register_packaged() -> None:
    """Register the ids of the table, and import the task modules that it does not know yet."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for row in table["ids"]:
        row["fields"] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in row["fields"].items()
        }
        listed = Registration(**{**row, "tags": frozenset(row["tags"])})
        _contract.registrations[listed.id] = listed
        _hand_to_gymnasium(listed)
    _contract.on_register.append(_register_with_gymnasium)
    for module in sorted(_packaged_modules().difference(table["modules"])):
        importlib.import_module(module)


def packaged_table() -> str:
    """The table as the code has it, as JSON; imports all tasks of the package."""
    modules = sorted(_packaged_modules())
    for module in modules:
        importlib.import_module(module)
    known = _contract.registrations
    ours = [r for _, r in sorted(known.items()) if r.imported and r.place.startswith("mjgym.")]
    rows = [{**dataclasses.asdict(r), "tags": sorted(r.tags)} for r in ours]
    return json.dumps({"modules": modules, "ids": rows}, indent=1) + "\n"


_register_packaged()

# Gymnasium reads this from an entry point, to offer "rgb_array_list" and the like.
setattr(make_env, "metadata", Env.metadata)  # noqa: B010  (a function has no such attribute)
