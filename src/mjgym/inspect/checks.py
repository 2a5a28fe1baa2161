"""Whether a task keeps its promises, with a reason and a remedy for each that it breaks."""

import copy
import dataclasses
import functools
import inspect
import pickle
import re
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

from mjgym import registry
from mjgym.actions import UNLIMITED, bounds, controls
from mjgym.envs.infos import TERMS
from mjgym.inspect.array_libraries import failures
from mjgym.inspect.benchmark import random_actions
from mjgym.inspect.fingerprint import model_sha256
from mjgym.inspect.labels import signals
from mjgym.loop.episode import Episodes
from mjgym.loop.hooks import run_hooks
from mjgym.loop.models import compile_anew, compile_model
from mjgym.sim import Batched, Single, View
from mjgym.task import Arrays, Signal, Task

Status = Literal["pass", "warn", "fail"]

STEPS = 60  # control steps of a comparison
SHORT_EPISODE = 25  # control steps, so that a comparison sees more than one episode
NUM_ENVS = 4
LONGEST_EPISODE = 2000  # control steps of an episode with random actions, at most
NO_LIMIT = 1000  # control steps of such an episode where the task has no limit
EXTREME = 300  # control steps with every control at an end of its range, at most
STARTS = 5  # episodes that are begun to see what begins them
SHOWN = 5  # names in a list of them, at most
LONGEST_MESSAGE = 400  # characters of an error

_ELEMENTS = {"joint": "njnt", "actuator": "nu", "sensor": "nsensor", "tendon": "ntendon"}
# Advice that the package does not follow: observations are unbounded, and actions keep their units.
_ADVICE = re.compile(
    "Box observation space (minimum|maximum) value is -?infinity"
    "|we recommend using a symmetric and normalized space"
)
_COLOUR = re.compile(r"\x1b\[\d+m")


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        id: of the task.
        check: what was looked at.
        status: "pass", "warn" (it runs, but somebody will stumble) or "fail".
        reason: what was seen and, unless it passed, what to do.
    """

    id: str
    check: str
    status: Status
    reason: str


Result = tuple[Status, str]
Results = Iterable[Result]


def check(id: str, **kwargs: Any) -> list[Finding]:
    """Look at everything that a task promises.

    A check is left out where one that it rests on has failed.

    Args:
        id: of a registered task.
        **kwargs: of make.

    Returns:
        One finding or more for each check.

    Raises:
        gymnasium.error.NameNotFound: there is no such id; the message names the nearest ones.
        TypeError: make has no such argument; the message names the nearest ones.
    """
    cls = registry.registration(id).task_class
    try:
        subject = _Subject(id, kwargs)
    except Exception as error:
        if isinstance(error, TypeError) and "unexpected keyword argument" in str(error):
            raise
        return [Finding(id, "build", "fail", _said(error, cls))]
    findings: list[Finding] = []
    failed: set[str] = set()
    for name, look, needs in _CHECKS:
        if failed.intersection(needs):
            continue
        results: list[Result]
        try:
            with warnings.catch_warnings():  # `finite` reports them
                warnings.simplefilter("ignore", RuntimeWarning)
                results = list(look(subject))
        except Exception as error:
            results = [("fail", _said(error, cls))]
        if any(status == "fail" for status, _ in results):
            failed.add(name)
        findings += [Finding(id, name, status, reason) for status, reason in results]
    return findings


class _Subject:
    """A task under test, and what several checks need of it."""

    def __init__(self, id: str, kwargs: dict[str, Any]) -> None:
        self.id = id
        self.kwargs = kwargs
        env: Any = self.make()
        limits = (env.spec.max_episode_steps, env.unwrapped.max_episode_steps)
        self.limit = min((limit for limit in limits if limit is not None), default=None)
        self.task: Task = env.unwrapped.task
        self.model = compile_model(self.task)  # never simulated: the numbers before any episode
        self.simulation = Single(compile_model(self.task), self.task.varies)
        self._rng = np.random.default_rng(0)
        self.episodes = Episodes(self.task, self.simulation, lambda i: self._rng)
        self.actions = self.task.actions(self.model)
        self.low, self.high = bounds(self.actions)

    def make(self, **more: Any) -> gymnasium.Env[Any, Any]:
        return gymnasium.make(self.id, **{**self.kwargs, **more})

    def begin(self, seed: int) -> View:
        """Start an episode on the subject's own simulation, as a single environment does."""
        self._rng = np.random.default_rng(seed)
        self.episodes.reset()
        return self.simulation.view

    @functools.cached_property
    def outputs(self) -> dict[str, Any]:
        """The result of each hook for one simulation."""
        return run_hooks(self.task, self.begin(0), np.zeros(len(self.actions)))

    @functools.cached_property
    def entries(self) -> dict[str, np.ndarray]:
        """The observation's entries for one simulation."""
        return {name: np.asarray(value) for name, value in self.outputs["observation"].items()}

    @functools.cached_property
    def signals(self) -> dict[str, Signal]:
        """The labels of each entry of the observation."""
        shapes = {entry: value.shape for entry, value in self.entries.items()}
        return signals(self.task, self.begin(0), shapes)

    @functools.cached_property
    def index_names(self) -> list[str]:
        """A name for each number of the flat observation."""
        return [f"{entry}, {name}" for entry, s in self.signals.items() for name in s.names]

    def random_actions(self, lead: tuple[int, ...] = (), seed: int = 0) -> Iterator[np.ndarray]:
        return random_actions(self.low, self.high, lead, np.float32, STEPS, seed)

    @functools.cached_property
    def random_episode(self) -> "_Episode":
        """An episode with actions uniform in the control ranges."""
        actions = random_actions(self.low, self.high, (), np.float32, 500, 0)
        return _play(self.make(), actions, min(self.limit or NO_LIMIT, LONGEST_EPISODE))

    @functools.cached_property
    def extreme_episode(self) -> "_Episode":
        """An episode, or its beginning, with each control at one end of its range."""
        rng = np.random.default_rng(0)
        ends = np.where(self.high < UNLIMITED, [self.low, self.high], [[-1.0], [1.0]])
        choices = rng.integers(0, 2, (EXTREME, self.low.size))
        actions = iter(np.where(choices, ends[1], ends[0]).astype(np.float32))
        return _play(self.make(), actions, min(self.limit or EXTREME, EXTREME))


# --- what the task is ---


def _build(subject: _Subject) -> Results:
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
            f"{_count(model.nq, 'position')}, {_count(model.nu, 'control')}; a control step is"
            f" {n} x {model.opt.timestep:g} s",
        )


def _hooks(subject: _Subject) -> Results:
    outputs = subject.outputs  # of kinds and shapes that were seen to when the task was built
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
            f"a hook writes to the simulation ({_list(written)}), which only initialize() may:"
            " arrays of the view are live, so copy one before changing it in place",
        )
    elif subject.entries:
        yield "pass", f"observation: {_list(subject.entries)}; terms: {_list(outputs['terms'])}"


def _batch_shapes(subject: _Subject) -> Results:
    task, model = subject.task, subject.model
    sizes = {model.nq, model.nv, model.nu, model.nbody, model.ngeom, model.nsite, model.nsensordata}
    n = next(k for k in range(5, 100) if k not in sizes)  # not to be taken for another length
    try:
        outputs = _run_hooks_on_batch(subject, n)
    except Exception as error:
        yield "fail", f"in a batch of {n}: {_said(error, type(task))}{_hint(error)}"
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
            if shape != wanted and not (hook == "terms" and _constant(batch[name])):
                wrong.append(f"{hook}()[{name!r}] has shape {shape}, expected {wanted}")
    if wrong:
        yield (
            "fail",
            f"in a batch of {n}: {'; '.join(wrong)}. Index from the right (x[..., i]), reduce with"
            " axis=-1, and allocate with v.lead in front",
        )
    else:
        yield "pass", f"all arrays of a batch of {n} lead with it"


def _array_libraries(subject: _Subject) -> Results:
    try:
        import array_api_strict
    except ImportError:
        yield "pass", "not looked at: pip install array-api-strict"
        return
    task = subject.task
    wrong = [
        f"{hook}: {_said(found, type(task)) if isinstance(found, Exception) else found}"
        for hook, found in failures(
            task, subject.begin(0), np.zeros(len(subject.actions)), array_api_strict
        )
    ]
    if wrong:
        yield (
            "warn",
            f"only NumPy runs it: {'; '.join(wrong[:SHOWN])}. On arrays of the view, use v.xp and"
            " Python's arithmetic: v.xp.sum(x, axis=-1), v.xp.take, v.xp.reshape, no x.copy()",
        )
    else:
        yield "pass", "the hooks use nothing that the array API standard lacks"


def _constant(value: Any) -> bool:
    return type(value) in (bool, int, float)


def _run_hooks_on_batch(subject: _Subject, n: int) -> dict[str, Any]:
    task = subject.task
    simulations = Batched(compile_model(task), n, 1, task.varies)
    rngs = [np.random.default_rng(i) for i in range(n)]
    Episodes(task, simulations, rngs.__getitem__).reset()
    return run_hooks(task, simulations.view, np.zeros((n, len(subject.actions))))


def _varies(subject: _Subject) -> Results:
    task, model, rest = subject.task, subject.simulation.model, subject.model
    changed: set[str] = set()
    for seed in range(STARTS):
        subject.begin(seed)
        changed |= {k for k in task.varies if (getattr(model, k) != getattr(rest, k)).any()}
    if model_sha256(model, task.varies) != model_sha256(rest, task.varies):
        written = []
        for name in dir(model):
            value = None if name.startswith("_") else getattr(model, name)
            if name not in task.varies and isinstance(value, np.ndarray):
                before = getattr(rest, name)
                if (value != before).any():
                    written.append(name)
                    value[...] = before  # for the checks that follow
        yield (
            "fail",
            f"initialize() writes {_list(written) or 'options of the model'}, which would stay for"
            f" the next episode. Set varies = {(*task.varies, *written)!r}",
        )
    elif idle := [name for name in task.varies if name not in changed]:
        yield (
            "warn",
            f"initialize() did not change {_list(idle)} in {STARTS} starts. Take it out of"
            " `varies`: what is there is copied for every simulation",
        )
    else:
        yield "pass", f"initialize() changes {_list(sorted(changed)) or 'no field of the model'}"


def _action_space(subject: _Subject) -> Results:
    low, high = subject.low, subject.high
    names = [action.name or str(i) for i, action in enumerate(subject.actions)]
    if not names:
        yield "fail", "the model has no actuators, so there is no action"
    elif empty := [n for n, a, b in zip(names, low, high, strict=True) if not a < b]:
        yield "fail", f'the control range of {_list(empty)} is empty: give ctrlrange="low high"'
    elif wide := [n for n, b in zip(names, high, strict=True) if b >= UNLIMITED]:
        yield (
            "warn",
            f"{_list(wide)}: no control range, so the space reaches to {UNLIMITED:g}, where random"
            ' actions and most learners fail. Give ctrlrange="low high" in the model',
        )
    else:
        yield "pass", f"{low.size} in [{low.min():g}, {high.max():g}]"


def _observation_names(subject: _Subject) -> Results:
    names = subject.index_names
    found: list[Result] = []
    unitless = {entry: s.unit.count("") for entry, s in subject.signals.items() if "" in s.unit}
    if unitless:
        reason = f"{sum(unitless.values())} of {len(names)} numbers have no unit"
        remedy = f'return a Signal for {_list(unitless)} from labels(v); "1" says there is none'
        found.append(("warn", f"{reason}: {remedy}"))
    if twice := sorted({n for n in names if names.count(n) > 1}):
        found.append(("warn", f"labels(): more than one number is called {_list(twice)}"))
    if unsaid := [entry for entry, s in subject.signals.items() if not s.meaning]:
        paragraph = f"Observation: `{unsaid[0]}`, ..."
        found.append(("warn", f'{_list(unsaid)}: say in the docstring what it is, "{paragraph}"'))
    return found or [("pass", f"{len(names)} numbers named")]


def _model_names(subject: _Subject) -> Results:
    model = subject.model
    actuators = [control.name for control in controls(model)]

    def name(kind: str, i: int) -> str:
        return str(actuators[i] if kind == "actuator" else getattr(model, kind)(i).name)

    unnamed = []
    for kind, size in _ELEMENTS.items():
        count = getattr(model, size)
        if missing := [str(i) for i in range(count) if not name(kind, i)]:
            unnamed.append(f"{kind} {_list(missing)} (of {count})")
    moving = [i for i in range(1, model.nbody) if model.body_dofnum[i]]
    if missing := [str(i) for i in moving if not model.body(i).name]:
        unnamed.append(f"moving body {_list(missing)}")
    if unnamed:
        yield (
            "warn",
            f"without a name: {'; '.join(unnamed)}. Name them in the model, so that v.joint(...)"
            " and the like find them and `mjgym info` shows them",
        )
    else:
        yield "pass", "all joints, actuators, sensors, tendons and moving bodies"


def _docstring(subject: _Subject) -> Results:
    cls = type(subject.task)
    text = inspect.cleandoc(cls.__doc__ or "")
    if not text or text.startswith(f"{cls.__name__}("):  # the one that @dataclass makes
        yield "warn", 'there is none: begin with one sentence, then "Reward: ..." and "Start: ..."'
        return
    inherited = "\n\n".join(inspect.getdoc(c) or "" for c in cls.__mro__ if c is not object)
    titles = ("Reward:", "Start:")
    missing = [t for t in titles if not re.search(f"^{t}", inherited, re.MULTILINE)]
    if missing:
        yield "warn", f"no paragraph begins with {' or '.join(missing)}; `mjgym info` shows them"
    else:
        yield "pass", text.partition("\n\n")[0].replace("\n", " ")


# --- what its environments do ---


@dataclasses.dataclass
class _Step:
    """Results of a step or a start."""

    observation: np.ndarray
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    terms: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class _Episode:
    """An episode: its start, its steps, whether it diverged, and the warnings of NumPy.

    `broken` names what was not finite, "observation" and "reward", where it diverged.
    """

    steps: list[_Step]
    diverged: bool
    warned: list[str]
    broken: dict[str, list[str]] = dataclasses.field(default_factory=dict)


def _flat(observation: Any) -> np.ndarray:
    if isinstance(observation, dict):
        return np.concatenate([np.ravel(value) for value in observation.values()])
    return np.ravel(observation)


def _stepped(env: Any, action: np.ndarray) -> tuple[_Step, bool]:
    """A step, and whether the simulation has diverged."""
    observation, reward, terminated, truncated, info = env.step(action)
    step = _Step(_flat(observation), float(reward), terminated, truncated, _terms(info))
    return step, info["diverged"]


def _terms(info: dict[str, Any]) -> dict[str, Any]:
    """The reward's factors by name."""
    return {k.removeprefix(TERMS): v for k, v in info.items() if k.startswith(TERMS)}


def _run(env: Any, actions: Iterable[np.ndarray], steps: int, seed: int) -> list[_Step]:
    """A start and steps, with another start in place of the step after an episode's end."""
    run = [_Step(_flat(env.reset(seed=seed)[0]))]
    for _, action in zip(range(steps), actions, strict=False):
        if run[-1].terminated or run[-1].truncated:
            run.append(_Step(_flat(env.reset()[0])))
        else:
            run.append(_stepped(env, action)[0])
    return run


def _play(env: Any, actions: Iterator[np.ndarray], steps: int) -> _Episode:
    """One episode, or its beginning."""
    with _warnings_of_numpy() as warned:
        episode = _Episode([_Step(_flat(env.reset(seed=0)[0]))], False, warned)
        for _ in range(steps):
            step, episode.diverged = _stepped(env, next(actions))
            episode.steps.append(step)
            if step.terminated or step.truncated:
                break
        if episode.diverged:
            episode.broken = _not_finite(env.unwrapped)
    return episode


def _not_finite(env: Any) -> dict[str, list[str]]:
    """Entries of the observation, and terms of the reward, that are not finite at present."""
    task, view = env.task, env.view
    with np.errstate(all="ignore"):
        terms = {**task.terms(view)}
        terms["reward()"] = task.reward(terms)
        parts = {"observation": task.observation(view), "reward": terms}
    return {
        part: [f"{name} = {value}" for name, value in found.items() if not np.isfinite(value).all()]
        for part, found in parts.items()
    }


@contextmanager
def _warnings_of_numpy() -> Iterator[list[str]]:
    """The list holds each different warning with its place, once the context has ended."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    for warning in caught:
        text = f"{warning.message} ({Path(warning.filename).name}:{warning.lineno})"
        if issubclass(warning.category, RuntimeWarning) and text not in found:
            found.append(text)


def _difference(subject: _Subject, a: list[_Step], b: list[_Step], first: int = 0) -> str | None:
    """The first bit in which two runs, numbered from `first` on, differ, in words; None if none."""
    for i, (x, y) in enumerate(zip(a, b, strict=True), first):
        when = f"in step {i}" if i else "at the start"
        if not _same(x.observation, y.observation):
            other = [not _same(p, q) for p, q in zip(x.observation, y.observation, strict=True)]
            k = other.index(True)
            names = subject.index_names
            name = f" ({names[k]})" if len(names) == len(other) else ""
            both = f"{x.observation[k].item()!r} and {y.observation[k].item()!r}"
            return f"{when}, observation[{k}]{name} is {both}"
        for term in x.terms.keys() & y.terms.keys():
            if not _same(x.terms[term], y.terms[term]):
                return f"{when}, term {term!r} is {x.terms[term]!r} and {y.terms[term]!r}"
        for name in ("reward", "terminated", "truncated"):
            if not _same(getattr(x, name), getattr(y, name)):
                return f"{when}, {name} is {getattr(x, name)!r} and {getattr(y, name)!r}"
    return None


def _same(a: Any, b: Any) -> bool:
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def _determinism(subject: _Subject) -> Results:
    env, other = (subject.make(max_episode_steps=SHORT_EPISODE) for _ in range(2))
    run = _run(env, subject.random_actions(), STEPS, seed=0)
    for what, again in (("another environment", other), ("the same environment", env)):
        found = _difference(subject, run, _run(again, subject.random_actions(), STEPS, seed=0))
        if found:
            yield (
                "fail",
                f"{what} does not repeat a run with the same seed and actions: {found}. Draw only"
                " from the `rng` of initialize(), and keep nothing on the task or in the module",
            )
            return
    starts = [_flat(env.reset(seed=seed)[0]) for seed in range(STARTS)]
    alike = all(_same(start, starts[0]) for start in starts)
    note = "; every seed begins with the same observation" if alike else ""
    yield "pass", f"{STEPS} steps over several episodes repeat bit for bit{note}"


def _single_is_batch(subject: _Subject) -> Results:
    n = NUM_ENVS
    arguments = {**subject.kwargs, "max_episode_steps": SHORT_EPISODE, "threads": 2}
    arguments = registry.one_agent(subject.id, **arguments)
    envs = gymnasium.make_vec(subject.id, num_envs=n, **arguments)
    supply = subject.random_actions((n,))
    actions = [next(supply) for _ in range(STEPS)]
    observations, _ = envs.reset(seed=0)
    runs = [[_Step(_row(observations, i))] for i in range(n)]
    for action in actions:
        observations, rewards, terminations, truncations, info = envs.step(action)
        terms = _terms(info)
        for i, run in enumerate(runs):
            step = _Step(_row(observations, i), float(rewards[i]))
            step.terminated, step.truncated = bool(terminations[i]), bool(truncations[i])
            step.terms = {k: float(v[i]) for k, v in terms.items() if info[f"_{TERMS}{k}"][i]}
            run.append(step)
    envs.close()
    for i, run in enumerate(runs):
        env = subject.make(max_episode_steps=SHORT_EPISODE)
        found = _difference(subject, _run(env, (a[i] for a in actions), STEPS, seed=i), run)
        if found:
            yield (
                "fail",
                f"one environment and sub-environment {i} of a batch differ: {found}. A hook must"
                " treat each simulation by itself: index from the right (x[..., i]), reduce with"
                " axis=-1 only, and read nothing but the view and the task's fields",
            )
            return
    yield "pass", f"{n} environments, {STEPS} steps, bit for bit"


def _row(observations: Any, i: int) -> np.ndarray:
    if isinstance(observations, dict):
        return _flat({name: value[i] for name, value in observations.items()})
    return _flat(observations[i])


def _snapshot(subject: _Subject) -> Results:
    env: Any = subject.make().unwrapped
    _run(env, subject.random_actions(), SHORT_EPISODE, seed=0)
    supply = subject.random_actions(seed=1)
    actions = [next(supply) for _ in range(SHORT_EPISODE)]

    def go_on(env: Any) -> list[_Step]:
        return [_stepped(env, action)[0] for action in actions]

    state = env.get_state()
    copies: dict[str, Any] = {"a deep copy": copy.deepcopy(env)}
    try:
        copies["a pickled copy"] = pickle.loads(pickle.dumps(env))
    except Exception as error:
        yield "fail", f"pickle: {_said(error, type(subject.task))}"
    fresh: Any = subject.make().unwrapped
    fresh.reset(seed=1)
    run = go_on(env)
    env.set_state(state)
    fresh.set_state(state)
    others = {"set_state()": env, "set_state() in another environment": fresh, **copies}
    for name, other in others.items():
        found = _difference(subject, run, go_on(other), first=1)
        if found:
            yield (
                "fail",
                f"{name} does not go on as the original did: {found}. What an episode must remember"
                " belongs in memory() and update(), not on the task or in the module",
            )
            return
    if "a pickled copy" in copies:
        yield "pass", "get_state, set_state, deepcopy and pickle go on bit for bit"


def _finite(subject: _Subject) -> Results:
    episode, extreme = subject.random_episode, subject.extreme_episode
    steps = len(episode.steps) - 1
    found: list[Result] = []
    remedy = "a smaller timestep, more damping or armature, or smaller control ranges help"
    if wrong := episode.broken.get("observation"):
        found.append(("fail", f"observation: {_list(wrong)} in random step {steps}"))
    elif episode.diverged and not episode.broken["reward"]:
        found.append(("fail", f"the simulation diverges in random step {steps}: {remedy}"))
    for i, step in enumerate(episode.steps):
        if not np.isfinite(step.observation).all():
            k = int(np.flatnonzero(~np.isfinite(step.observation))[0])
            names = subject.index_names
            name = f" ({names[k]})" if len(names) == step.observation.size else ""
            when = f"in random step {i}" if i else "at the start"
            found.append(("fail", f"observation[{k}]{name} is {step.observation[k]} {when}"))
            break
    if extreme.diverged and not episode.diverged:
        when = f"in step {len(extreme.steps) - 1} with every control at an end of its range"
        found.append(("warn", f"the simulation diverges {when}: {remedy}"))
    if warned := list(dict.fromkeys([*episode.warned, *extreme.warned])):
        found.append(("warn", f"NumPy warns: {'; '.join(warned[:SHOWN])}"))
    ends = len(extreme.steps) - 1
    return found or [
        ("pass", f"{_count(steps, 'random step')}, {ends} at the ends of the control ranges")
    ]


def _reward(subject: _Subject) -> Results:
    episode = subject.random_episode
    steps = episode.steps[1:]
    if wrong := episode.broken.get("reward"):
        yield "fail", f"not finite in random step {len(steps)}: {_list(wrong)}"
        return
    rewards = [step.reward for step in steps]
    least, most = min(rewards), max(rewards)
    reason = f"{least:.4g} to {most:.4g} in {_count(len(steps), 'random step')}"
    if least == most == 0:
        yield "pass", f"{reason}: exploration alone may never meet another"
    elif least == most and len(steps) > 1:
        yield "warn", f"{reason}: nothing that the actions do changes it"
    else:
        yield "pass", reason


def _time_limit(subject: _Subject) -> Results:
    task, limit, steps = subject.task, subject.limit, subject.random_episode.steps
    last, played = steps[-1], len(steps) - 1
    whole = task.time_limit / task.control_timestep
    if limit is None:
        yield "pass", "none: an episode ends by itself, or give max_episode_steps"
    elif limit < 2:
        yield "fail", f"an episode has {_count(limit, 'control step')}: time_limit is in seconds"
    elif last.terminated and played == 1:
        yield "warn", "terminated() is True in the first step of a random episode"
    elif last.terminated or subject.random_episode.diverged:
        yield "pass", f"{limit} steps; a random episode ends by itself after {played}"
    elif played < min(limit, LONGEST_EPISODE) or (played == limit and not last.truncated):
        yield "fail", f"an episode of {limit} steps is truncated after {played}"
    elif abs(whole - round(whole)) > 1e-6:
        yield "warn", f"time_limit is {whole:.4g} control steps; make it a whole number of them"
    else:
        seconds = limit * task.control_timestep
        yield "pass", f"{limit} steps, {seconds:g} s" + (" (not played)" if played < limit else "")


def _gymnasium(subject: _Subject) -> Results:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(subject.make().unwrapped, skip_render_check=True)
    advice = [
        _COLOUR.sub("", str(w.message)).removeprefix("WARN: ")
        for w in caught
        if not issubclass(w.category, RuntimeWarning)  # `finite` reports those
    ]
    found: list[Result] = [
        ("warn", text) for text in dict.fromkeys(advice) if not _ADVICE.search(text)
    ]
    return found or [("pass", f"the checker of Gymnasium {gymnasium.__version__} has no objection")]


# --- words ---


def _list(names: Collection[str] | Arrays) -> str:
    """Names, the first few of them."""
    shown = [str(name) for name in names]
    more = f", ... ({len(shown)})" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _said(error: Exception, cls: type[Task]) -> str:
    """An error in one line, with the place in the task's own code where it came up."""
    files = set()
    for base in cls.__mro__:
        if base not in Task.__mro__:
            try:
                files.add(inspect.getfile(base))
            except (OSError, TypeError):  # typed in at a prompt
                continue
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in files]
    where = ""
    if frames:
        last = frames[-1]
        where = f" ({Path(last.filename).name}:{last.lineno} in {last.name})"
    message = " ".join(str(error).partition(" was raised from the environment creator")[0].split())
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[:LONGEST_MESSAGE]} ..."
    return f"{type(error).__name__}: {message}{where}"


def _hint(error: Exception) -> str:
    """Advice on errors that code for one simulation makes in a batch."""
    text = str(error)
    if "truth value of an array" in text:
        return ". Hooks run for all simulations at once: v.xp.where(...) instead of `if`"
    if "converted to" in text and "scalar" in text:
        return ". Hooks run for all simulations at once: no float(), int() or bool() of an array"
    return ". Hooks run for all simulations at once: index from the right, x[..., i]"


_EVERYTHING = ("build", "hooks")
_CHECKS: tuple[tuple[str, Callable[[_Subject], Results], tuple[str, ...]], ...] = (
    ("build", _build, ()),
    ("hooks", _hooks, ()),
    ("batch shapes", _batch_shapes, _EVERYTHING),
    ("array libraries", _array_libraries, (*_EVERYTHING, "batch shapes")),
    ("varies", _varies, ("build",)),
    ("determinism", _determinism, _EVERYTHING),
    ("single = batch", _single_is_batch, (*_EVERYTHING, "batch shapes", "determinism")),
    ("finite", _finite, _EVERYTHING),
    ("snapshot", _snapshot, (*_EVERYTHING, "determinism", "finite")),
    ("reward", _reward, _EVERYTHING),
    ("time limit", _time_limit, _EVERYTHING),
    ("action space", _action_space, ()),
    ("Gymnasium", _gymnasium, _EVERYTHING),
    ("observation names", _observation_names, ("hooks",)),
    ("model names", _model_names, ()),
    ("docstring", _docstring, ()),
)
