"""Checks of a task: its model, hooks, names and docstring."""

import dataclasses
import functools
import inspect
import re
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from mjgym.actions import UNLIMITED, actuated
from mjgym.checks.array_libraries import failures
from mjgym.checks.subject import STARTS, Subject
from mjgym.checks.words import (
    MEMORY,
    SHOWN,
    TWO_NUMBERS,
    Result,
    Results,
    batch_advice,
    error_line,
    listed,
)
from mjgym.describe.fingerprint import model_sha256
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.episode import Episodes
from mjgym.loop.hooks import run_hooks
from mjgym.sim import Batched
from mjgym.sim.engine import get_field
from mjgym.task import Task, registrations
from mjgym.task.models import compile_anew, compile_model
from mjgym.task.registration import place_of
from mjgym.util.docstrings import announced
from mjgym.util.plurals import counted
from mjgym.util.suggestions import or_else

_NUMBERS = (bool, int, float)
_ELEMENTS = {"joint": "njnt", "actuator": "nactuator", "sensor": "nsensor", "tendon": "ntendon"}


def check_build(subject: Subject) -> Results:
    """The model compiles to the same numbers each time."""
    task, model = subject.task, subject.model
    if model_sha256(compile_anew(task)) != model_sha256(model):
        yield (
            "fail",
            "model() gives other numbers the second time. It may depend on the task's fields alone:"
            " draw what differs between episodes in initialize(), and name it in `varies`",
        )
    else:
        n = round(task.control_timestep / model.opt.timestep)
        yield (
            "pass",
            f"{counted(model.nq, 'position')}, {counted(model.nu, 'control')}; a control step is"
            f" {n} x {model.opt.timestep:g} s",
        )


def check_frozen(subject: Subject) -> Results:
    """The class is a frozen dataclass, and its hooks store nothing on the task."""
    task, cls = subject.task, type(subject.task)
    run_hooks(task, subject.begin(0), np.zeros(len(subject.actions)))
    cached = {
        name
        for base in cls.__mro__
        for name, value in vars(base).items()
        if isinstance(value, functools.cached_property)
    }
    stored = vars(task).keys() - {field.name for field in dataclasses.fields(task)} - cached
    if stored:
        yield "fail", f"a hook sets self.{', self.'.join(sorted(stored))}{MEMORY}"
    if "__dataclass_params__" not in vars(cls):
        yield (
            "warn",
            f"{cls.__name__} is no frozen dataclass of its own, so that nothing stops a hook from"
            " keeping something on the task: put @dataclass(frozen=True) above the class",
        )
    elif not stored:
        yield "pass", "a frozen dataclass"


def check_hooks(subject: Subject) -> Results:
    """Hooks return entries, and write to nothing."""
    outputs = subject.outputs  # types and shapes were checked at construction
    if not subject.entries:
        yield "fail", "observation() returns no entries"
    view = subject.begin(0)
    before, numbers = subject.simulation.get_state(), model_sha256(subject.simulation.model)
    run_hooks(subject.task, view, np.zeros(len(subject.actions)))
    after = subject.simulation.get_state()
    written = [k for k, v in before.items() if v.tobytes() != after[k].tobytes()]
    if not written and numbers != model_sha256(subject.simulation.model):
        written = ["the model"]
    if written:
        yield (
            "fail",
            f"a hook writes to the simulation ({listed(written)}), which only initialize() may:"
            " arrays of the view are live, so copy one before changing it in place",
        )
    elif subject.entries:
        yield "pass", f"observation: {listed(subject.entries)}; terms: {listed(outputs['terms'])}"


def check_batch_shapes(subject: Subject) -> Results:
    """In a batch, arrays lead with its length and have the same entries as for one simulation."""
    task, model = subject.task, subject.model
    sizes = {model.nq, model.nv, model.nu, model.nbody, model.ngeom, model.nsite, model.nsensordata}
    n = next(k for k in range(5, 100) if k not in sizes)  # distinct from all other lengths
    try:
        outputs = _run_hooks_on_batch(subject, n)
    except Exception as error:
        yield "fail", f"in a batch of {n}: {error_line(error, type(task))}{batch_advice(error)}"
        return
    wrong: list[str] = []
    for hook, batch in outputs.items():
        single = subject.outputs[hook]
        if not isinstance(batch, Mapping):
            continue
        if batch.keys() != single.keys():
            wrong.append(f"{hook}() has other entries than for one simulation")
        for name in batch.keys() & single.keys():
            shape, wanted = np.shape(batch[name]), (n, *np.shape(single[name]))
            if shape != wanted and not (hook == "terms" and type(batch[name]) in _NUMBERS):
                wrong.append(f"{hook}()[{name!r}] has shape {shape}, expected {wanted}")
    if wrong:
        yield (
            "fail",
            f"in a batch of {n}: {'; '.join(wrong)}. Index from the right (x[..., i]), reduce with"
            " axis=-1, and allocate with v.lead in front",
        )
    else:
        yield "pass", f"all arrays of a batch of {n} lead with it"


def check_array_libraries(subject: Subject) -> Results:
    """Hooks run on the arrays of another library."""
    try:
        import array_api_strict
    except ImportError:
        yield "skipped", "array-api-strict is not installed: pip install array-api-strict"
        return
    task = subject.task
    wrong = [
        f"{hook}: {error_line(failure, type(task)) if isinstance(failure, Exception) else failure}"
        for hook, failure in failures(
            task, subject.begin(0), np.zeros(len(subject.actions)), array_api_strict
        )
    ]
    if wrong:
        yield (
            "warn",
            f"only NumPy runs it: {'; '.join(wrong[:SHOWN])}. On arrays of the view, use v.xp and"
            " Python's arithmetic: v.xp.sum(x, axis=-1), v.xp.take, v.xp.reshape, no x.copy()"
            + ("; " + TWO_NUMBERS if any("Two scalars" in text for text in wrong) else ""),
        )
    else:
        yield "pass", "the hooks use nothing that the array API standard lacks"


def _run_hooks_on_batch(subject: Subject, n: int) -> dict[str, Any]:
    task = subject.task
    simulations = Batched(compile_model(task), n, 1, task.varies, lagging=task.lagging)
    rngs = [np.random.default_rng(i) for i in range(n)]
    Episodes(BoundTask(task, simulations), rngs.__getitem__).reset()
    return run_hooks(task, simulations.view, np.zeros((n, len(subject.actions))))


def check_varies(subject: Subject) -> Results:
    """`varies` names the fields of the model that initialize() writes, and no others."""
    task, model, rest = subject.task, subject.simulation.model, subject.model
    if task.varies and type(task).initialize is Task.initialize:
        yield (
            "fail",
            f"`varies` names {listed(task.varies)}, but there is no initialize(v, rng), which alone"
            " writes it: define it, or take `varies` out",
        )
        return
    changed: set[str] = set()
    for seed in range(STARTS):
        subject.begin(seed)
        changed |= {k for k in task.varies if np.any(get_field(model, k) != get_field(rest, k))}
    if idle := [name for name in task.varies if name not in changed]:
        yield (
            "warn",
            f"initialize() did not change {listed(idle)} in {STARTS} starts. Take it out of"
            " `varies`: what is there is copied for every simulation",
        )
    else:
        yield "pass", f"initialize() changes {listed(sorted(changed)) or 'no field of the model'}"


def check_action_space(subject: Subject) -> Results:
    """Each number of the action has a range."""
    low, high = subject.low, subject.high
    names = [action.name or str(i) for i, action in enumerate(subject.actions)]
    if not names:
        yield "fail", "the model has no actuators, so there is no action"
    elif empty := [n for n, a, b in zip(names, low, high, strict=True) if not a < b]:
        yield "fail", f'the control range of {listed(empty)} is empty: give ctrlrange="low high"'
    elif wide := [n for n, b in zip(names, high, strict=True) if b >= UNLIMITED]:
        yield (
            "warn",
            f"{listed(wide)}: no control range, so the space reaches to {UNLIMITED:g}, where random"
            ' actions and most learners fail. Give ctrlrange="low high" in the model',
        )
    else:
        yield "pass", f"{low.size} in [{low.min():g}, {high.max():g}]"


def check_observation_names(subject: Subject) -> Results:
    """Each number of the observation has a name, a unit and a meaning."""
    names = subject.index_names
    issues: list[Result] = []
    unitless = {entry: s.unit.count("") for entry, s in subject.signals.items() if "" in s.unit}
    if unitless:
        reason = f"{sum(unitless.values())} of {len(names)} numbers have no unit"
        remedy = f'return a Signal for {listed(unitless)} from labels(v); "1" says there is none'
        issues.append(("warn", f"{reason}: {remedy}"))
    if twice := sorted({n for n in names if names.count(n) > 1}):
        issues.append(("warn", f"labels(): more than one number is called {listed(twice)}"))
    if unsaid := [entry for entry, s in subject.signals.items() if not s.meaning]:
        paragraph = f"Observation: `{unsaid[0]}`, ..."
        issues.append(("warn", f'{listed(unsaid)}: say in the docstring what it is, "{paragraph}"'))
    if missing := _missing_entries(subject):
        hint = or_else(missing[0], subject.entries) if subject.entries else ""
        reason = f"the docstring names {listed(missing)}, which observation() does not return"
        issues.append(("warn", f"{reason}{hint}"))
    return issues or [("pass", f"{len(names)} numbers named")]


def _missing_entries(subject: Subject) -> list[str]:
    """Entries that the docstring names, but no id of the class observes.

    An id may observe less than others of its class, which share the docstring.
    """
    cls = type(subject.task)
    missing = [name for name in announced(cls) if name not in subject.entries]
    place = place_of(cls)
    others = [i for i, r in registrations.items() if r.place == place and i != subject.id]
    for other in others if missing else ():
        env = gymnasium.make(other, observation="dict", disable_env_checker=True)
        space: Any = env.observation_space
        missing = [name for name in missing if name not in space.spaces]
        env.close()
    return missing


def check_model_names(subject: Subject) -> Results:
    """Elements of the model have names."""
    model = subject.model

    def name(kind: str, i: int) -> str:
        of_target = actuated(model, i)[1] if kind == "actuator" else ""
        return str(getattr(model, kind)(i).name or of_target)

    unnamed = []
    for kind, size in _ELEMENTS.items():
        count = getattr(model, size)
        if missing := [str(i) for i in range(count) if not name(kind, i)]:
            unnamed.append(f"{kind} {listed(missing)} (of {count})")
    moving = [i for i in range(1, model.nbody) if model.body_dofnum[i]]
    if missing := [str(i) for i in moving if not model.body(i).name]:
        unnamed.append(f"moving body {listed(missing)}")
    if unnamed:
        yield (
            "warn",
            f"without a name: {'; '.join(unnamed)}. Name them in the model, so that v.joint(...)"
            " and the like find them and `mjgym info` shows them",
        )
    else:
        yield "pass", "all joints, actuators, sensors, tendons and moving bodies"


def check_docstring(subject: Subject) -> Results:
    """The docstring has a summary and paragraphs on reward and start."""
    cls = type(subject.task)
    text = inspect.cleandoc(cls.__doc__ or "")
    if not text or text.startswith(f"{cls.__name__}("):  # from @dataclass
        yield "warn", 'there is none: begin with one sentence, then "Reward: ..." and "Start: ..."'
        return
    inherited = "\n\n".join(inspect.getdoc(c) or "" for c in cls.__mro__ if c is not object)
    titles = ("Reward:", "Start:")
    missing = [t for t in titles if not re.search(f"^{t}", inherited, re.MULTILINE)]
    if missing:
        yield "warn", f"no paragraph begins with {' or '.join(missing)}; `mjgym info` shows them"
    else:
        yield "pass", text.partition("\n\n")[0].replace("\n", " ")
