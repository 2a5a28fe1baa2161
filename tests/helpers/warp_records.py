"""Control steps from recorded states on MuJoCo Warp's processor device, beside what was recorded.

Where the published systems were not recorded (our own bodies, the tabletop), the reference is the
batch of MuJoCo itself, from states of episodes with random actions.
"""

import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import array_api_compat
import gymnasium
import numpy as np

from helpers import locomotion_records, manipulation_records, suite
from helpers.places import DATA
from helpers.suite import ARGUMENTS, recorded_states
from mjgym import registry
from mjgym.sim.derived_views import ConvertedView
from mjgym.sim.warp import EngineWarning

NONE: Mapping[str, Any] = MappingProxyType({})
FIELDS = ("qpos", "qvel", "act")
DEEP = 0.01  # m: deeper in each other, bodies are thrown apart, and where to depends on rounding
SAMPLED, DEPTHS = 8, (3, 10, 25, 60)  # episodes, and control steps after which one is looked at


@dataclass
class Steps:
    """Control steps of an id.

    Attributes:
        source: "recorded", or "MuJoCo" for those of its batch.
        states: before them, as arguments of `set_state`.
        actions: (n, nu).
        after: fields of MjData behind them.
        observation: entries by name.
        reward: (n,).
        arguments: of make_vec.
    """

    source: str
    states: dict[str, np.ndarray]
    actions: np.ndarray
    after: dict[str, np.ndarray]
    observation: dict[str, np.ndarray]
    reward: np.ndarray
    arguments: Mapping[str, Any] = field(default_factory=dict)


def steps(id: str) -> Iterator[Steps]:
    """The steps to be made of an id."""
    namespace, _, rest = id.partition("/")
    name = rest.removesuffix("-v0")
    if namespace == "dmc":
        for kind in ("random", "goal"):
            yield _of_suite(id, name, kind)
        return
    for recorded in locomotion_records.NAMES:
        if locomotion_records.id_of(recorded) == id:
            yield _of_locomotion(recorded)
            return
    manipulated = name.removesuffix("_features")
    if namespace == "manipulation" and manipulated in manipulation_records.NAMES:
        yield _of_manipulation(manipulated)
        return
    yield _of_batch(id)


def _entries(record: Mapping[str, np.ndarray], known: Any) -> dict[str, np.ndarray]:
    found = {k.removeprefix("obs_"): v for k, v in record.items() if k.startswith("obs_")}
    return {name: found[name] for name in known if name in found}


def _after(record: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f: record[f"after_{f}"] for f in FIELDS if f"after_{f}" in record}


def _of_suite(id: str, name: str, kind: str) -> Steps:
    record = suite.transitions(name, kind)
    arguments = ARGUMENTS.get((name, kind), {})
    env: Any = gymnasium.make(id, observation="dict", **arguments).unwrapped
    entries = _entries(record, env.observation_space)
    states = recorded_states(env, record)
    action, reward = record["action"], record["reward"]
    return Steps("recorded", states, action, _after(record), entries, reward, arguments)


def _of_locomotion(name: str) -> Steps:
    record = locomotion_records.transitions(name)
    env = locomotion_records.make(name)
    entries = _entries(record, env.observation_space)
    states = locomotion_records.states(env, name)
    after = _after(record)
    return Steps("recorded", states, record["action"], after, entries, record["reward"])


def _of_manipulation(name: str) -> Steps:
    record = manipulation_records.Record(name)
    env = manipulation_records.make(name)
    each = [manipulation_records.states(env, record, i) for i in range(len(record))]
    states = {key: np.stack([one[key] for one in each]) for key in each[0]}
    arrays = record.arrays
    entries = _entries(arrays, env.observation_space)
    return Steps("recorded", states, arrays["action"], _after(arrays), entries, arrays["reward"])


def random_actions(envs: Any, rng: np.random.Generator) -> np.ndarray:
    """Uniform actions for all sub-environments, float32."""
    space = envs.single_action_space
    low, high = np.maximum(space.low, -1.0), np.minimum(space.high, 1.0)
    return rng.uniform(low, high, envs.action_space.shape).astype(np.float32)


def _of_batch(id: str) -> Steps:
    rng = np.random.default_rng(0)
    arguments = registry.one_agent(id)  # of a match, one player against ones that stand
    options = {"observation": "dict", "dtype": "float64", **arguments}
    envs: Any = gymnasium.make_vec(id, num_envs=SAMPLED, threads=2, **options)
    envs.reset(seed=0)
    kept = []
    for step in range(max(DEPTHS) + 1):
        if step in DEPTHS:
            kept.append(envs.get_state())
        envs.step(random_actions(envs, rng))
    envs.close()
    states = {key: np.concatenate([one[key] for one in kept]) for key in kept[0]}
    several: Any = gymnasium.make_vec(id, num_envs=SAMPLED * len(DEPTHS), threads=2, **options)
    several.reset(seed=0)
    several.set_state(states)
    actions = random_actions(several, rng)
    observation, reward, *_ = several.step(actions)
    state = several.get_state()
    after = {f: state[f] for f in FIELDS if f in state}
    several.close()
    return Steps("MuJoCo", states, actions, after, dict(observation), reward, arguments)


@dataclass
class Errors:
    """How far steps on Warp are from their references: the largest of each row, relative.

    Attributes:
        source: of the references.
        state: positions, velocities and activations, (n,).
        observation: all entries, (n,).
        reward: (n,).
        deep: which begin with a penetration deeper than DEEP, (n,) bool.
        hooks: of observations and rewards, between torch and NumPy on the same state.
    """

    source: str
    state: np.ndarray
    observation: np.ndarray
    reward: np.ndarray
    deep: np.ndarray
    hooks: float


def errors(id: str, device: str = "cpu") -> Errors:
    """The errors of all steps of an id."""
    found = [_errors(id, made, device) for made in steps(id)]
    return Errors(
        found[0].source,
        *(
            np.concatenate([getattr(one, what) for one in found])
            for what in ("state", "observation", "reward", "deep")
        ),
        max(one.hooks for one in found),
    )


def _errors(id: str, made: Steps, device: str) -> Errors:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)  # what it says is measured here
        envs: Any = gymnasium.make_vec(
            id,
            num_envs=len(made.actions),
            backend="warp",
            device=device,
            output="numpy",
            observation="dict",
            **made.arguments,
        )
    envs.reset(seed=0)
    envs.set_state(made.states)
    observation, reward, _, _, info = envs.step(made.actions)
    assert not info["diverged"].any()
    state = envs.get_state()

    def largest(ours: Mapping[str, Any], wanted: Mapping[str, Any]) -> np.ndarray:
        return np.max([suite.relative_errors(ours[k], v) for k, v in wanted.items()], axis=0)

    after = {name: value for name, value in made.after.items() if value.size}
    result = Errors(
        made.source,
        largest(state, after),
        largest(observation, made.observation),
        suite.relative_errors(reward, made.reward),
        _deep(id, made),
        hook_error(envs),
    )
    envs.close()
    return result


def _deep(id: str, made: Steps) -> np.ndarray:
    """Which steps begin with bodies that are deep in each other or in the ground."""
    env: Any = gymnasium.make(id, observation="dict", **made.arguments).unwrapped
    env.reset(seed=0)
    deepest = np.zeros(len(made.actions))
    for i in range(len(deepest)):
        env.set_state({name: values[i] for name, values in made.states.items()})
        deepest[i] = env.data.contact.dist.min(initial=0.0)
    env.close()
    return deepest < -DEEP


SAME = 1e-5  # between torch and NumPy on the same state
PLAIN = 1e-4  # a larger bound says why
FILE = DATA / "warp.json"


def bounds() -> dict[str, dict[str, Any]]:
    """What errors of an id must not exceed, with the reason, or what the engine lacks for it."""
    if not FILE.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text())
    return found


def measures(found: Errors) -> dict[str, float]:
    """The numbers that are bounded: of all steps, and the states of those that begin deep."""
    usual = ~found.deep
    return {
        "state": float(found.state[usual].max(initial=0.0)),
        "median": float(np.median(found.state)),
        "observation": float(found.observation[usual].max(initial=0.0)),
        "reward": float(found.reward[usual].max(initial=0.0)),
        "deep": float(found.state[found.deep].max(initial=0.0)),
    }


def above(found: Errors, bound: Mapping[str, Any]) -> list[str]:
    """What of an id's errors exceeds its bounds, in words."""
    numbers = measures(found)
    wrong = [
        f"{name} {n:.1e} > {bound[name]:.1e}" for name, n in numbers.items() if n > bound[name]
    ]
    same = bound.get("hooks", SAME)
    return wrong + ([f"hooks {found.hooks:.1e} > {same:.1e}"] if found.hooks > same else [])


class DoubleView(ConvertedView):
    """A view in NumPy and double precision of the numbers that a device has."""

    def _changed(self, value: Any) -> np.ndarray:
        numbers = self._view.to_numpy(value)
        return numbers.astype(float) if numbers.dtype.kind == "f" else np.array(numbers)


def hook_error(envs: Any) -> float:
    """The largest difference that the library makes to observations and rewards of a state.

    Relative to the largest number of an entry, or to 1 where that is smaller: float32 keeps as
    many digits of it, and what is computed of it loses them where it comes out small.
    """
    task, view = envs.task, envs.view
    double = DoubleView(view, np)
    worst = 0.0
    with envs.enter(), np.errstate(all="ignore"):
        for hook in ("observation", "terms"):
            ours, wanted = getattr(task, hook)(view), getattr(task, hook)(double)
            pairs = [(ours[name], wanted[name]) for name in wanted]
            if hook == "terms":
                pairs.append((task.reward(ours), task.reward(wanted)))
            for one, other in pairs:
                found, expected = np.asarray(view.to_numpy(one), float), np.asarray(other, float)
                if expected.size:
                    scale = max(1.0, float(np.abs(expected).max()))
                    worst = max(worst, float(np.abs(found - expected).max()) / scale)
    assert array_api_compat.is_torch_namespace(view.xp)
    return worst
