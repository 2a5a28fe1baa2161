"""Checks of any `gymnasium.vector.VectorEnv`; needs Gymnasium and NumPy alone.

faults = check_vector_env(lambda: gym.make_vec("CartPole-v1", 3))
assert not faults, "\\n".join(faults)
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

DOCS = "https://gymnasium.farama.org"
API = f"{DOCS}/api/vector/"
RESET, STEP = (f"{API}#gymnasium.vector.VectorEnv.{name}" for name in ("reset", "step"))
CLOSE = f"{API}#gymnasium.vector.VectorEnv.close"
AUTORESET = "https://farama.org/Vector-Autoreset-Mode"
LIMITS = f"{DOCS}/tutorials/gymnasium_basics/handling_time_limits/"

FEW = 6  # steps of runs that are compared
SEED = 0  # of starts and actions


def check_vector_env(
    envs: VectorEnv | Callable[[], VectorEnv],
    *,
    steps: int = 300,
    max_episode_steps: int | None = None,
) -> list[str]:
    """Check a vector environment against Gymnasium's documented API.

    Args:
        envs: the vector environments, which stay open, or a function that makes them, which are
            closed, too.
        steps: most steps with random actions until episodes have ended.
        max_episode_steps: the time limit of an episode; None for that of the specification.

    Returns:
        The faults, each a sentence with the page of Gymnasium's documentation; empty if there are
        none. Faults of spaces and of the form of results leave out the other checks.
    """
    made = not isinstance(envs, VectorEnv)
    subject = envs() if callable(envs) and made else envs
    if not isinstance(subject, VectorEnv):
        return [f"expected a gymnasium.vector.VectorEnv, got {type(subject).__name__} ({API})"]
    batch = _Batch(subject, steps, max_episode_steps)
    faults: list[str] = []
    for check in (_spaces, _form, _seeds, _order, _memory, _limits, _autoreset, _partial_reset):
        faults += _failures_of(check, batch)
        if faults and check is _form:
            break
    return faults + (_failures_of(_close, batch) if made else [])


@dataclass
class _Batch:
    """The subject of the checks."""

    envs: Any
    steps: int
    limit: int | None

    def __post_init__(self) -> None:
        self.n: int = self.envs.num_envs
        self.mode = self.envs.metadata.get("autoreset_mode")
        if self.limit is None:
            spec = getattr(self.envs, "spec", None)
            if spec is None:
                try:
                    spec = self.envs.get_attr("spec")[0]
                except Exception:  # not every vector environment has sub-environments to ask
                    spec = None
            self.limit = getattr(spec, "max_episode_steps", None)

    def reset(self, seed: Any = None, **options: Any) -> tuple[Any, dict[str, Any]]:
        result = self.envs.reset(seed=seed, options=options or None)
        return copy.deepcopy(result)  # type: ignore[no-any-return]

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        return copy.deepcopy(self.envs.step(actions))  # type: ignore[no-any-return]

    def actions(self, seed: int, count: int) -> list[Any]:
        self.envs.action_space.seed(seed)
        return [self.envs.action_space.sample() for _ in range(count)]

    def mixed(self, actions: Any, others: Any, i: int) -> Any:
        """The actions, but sub-environment i's of others."""
        each = list(iterate(self.envs.action_space, actions))
        each[i] = list(iterate(self.envs.action_space, others))[i]
        space = self.envs.single_action_space
        empty: Any = create_empty_array(space, n=self.n, fn=np.zeros)
        return concatenate(space, each, empty)

    def run(self, seed: Any, actions: list[Any]) -> list[Any]:
        """The start and the results of steps, up to the first end of an episode."""
        results: list[Any] = [self.reset(seed)[:1]]
        for each in actions:
            step = self.step(each)
            results.append(step[:4])
            if step[2].any() or step[3].any():
                break
        return results


Check = Callable[[_Batch], Iterator[str]]


def _failures_of(check: Check, batch: _Batch) -> list[str]:
    faults = []
    try:
        for fault in check(batch):
            faults.append(fault)
    except Exception as error:
        words = f"{type(error).__name__}: {error}".splitlines()[0]
        what = (check.__doc__ or "").splitlines()[0].rstrip(".").lower()
        faults.append(f"{what}: it raised {words} ({API})")
    return faults


def _spaces(batch: _Batch) -> Iterator[str]:
    """Spaces and metadata."""
    envs = batch.envs
    for kind in ("observation", "action"):
        space, single = getattr(envs, f"{kind}_space"), getattr(envs, f"single_{kind}_space")
        expected = batch_space(single, batch.n)
        if not _alike(space, expected):
            yield (
                f"{kind}_space is {space}, and not {batch.n} times single_{kind}_space, which is"
                f" {expected} ({API})"
            )
    if not isinstance(batch.mode, AutoresetMode):
        yield (
            f'metadata["autoreset_mode"] is {batch.mode!r}, and no gymnasium.vector.AutoresetMode'
            f" ({AUTORESET})"
        )


def _alike(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, gymnasium.spaces.Dict):
        return one.keys() == other.keys() and all(_alike(one[k], other[k]) for k in one)
    if isinstance(one, gymnasium.spaces.Tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one.shape == other.shape and one.dtype == other.dtype)


def _form(batch: _Batch) -> Iterator[str]:
    """Forms of results."""
    observation, info = batch.reset(SEED)
    yield from _observation_faults(batch, observation, "reset", RESET)
    yield from _info_faults(batch, info, "reset", RESET)
    (actions,) = batch.actions(SEED, 1)
    result = batch.step(actions)
    if len(result) != 5:
        yield f"step returns {len(result)} values, and not 5 ({STEP})"
        return
    observation, rewards, terminations, truncations, info = result
    yield from _observation_faults(batch, observation, "step", STEP)
    yield from _info_faults(batch, info, "step", STEP)
    for name, values, word in (
        ("rewards", rewards, "floats"),
        ("terminations", terminations, "bools"),
        ("truncations", truncations, "bools"),
    ):
        array = isinstance(values, np.ndarray)
        if not (array and values.shape == (batch.n,) and values.dtype.kind == word[0]):
            got = f"{values.dtype} {values.shape}" if array else type(values).__name__
            yield f"step returns {name} as {got}, and not {word} of shape ({batch.n},) ({STEP})"


def _observation_faults(batch: _Batch, observation: Any, method: str, page: str) -> Iterator[str]:
    space = batch.envs.observation_space
    for path, part, leaf in _leaves(observation, space):
        if isinstance(leaf, gymnasium.spaces.Box) and getattr(part, "dtype", None) != leaf.dtype:
            got = getattr(part, "dtype", type(part).__name__)
            yield f"{method} returns observations{path} of dtype {got}, not {leaf.dtype} ({page})"
            return
    if not space.contains(observation):
        yield f"{method} returns observations that observation_space does not contain ({page})"


def _info_faults(batch: _Batch, info: Any, method: str, page: str) -> Iterator[str]:
    if not isinstance(info, dict):
        yield f"{method} returns an info of type {type(info).__name__}, and no dict ({page})"
        return
    for name, values in info.items():
        if name.startswith("_"):
            continue
        mask = info.get(f"_{name}")
        if not (isinstance(mask, np.ndarray) and mask.shape == (batch.n,) and mask.dtype == bool):
            yield (
                f"{method}: info has {name!r} without a mask '_{name}', bool ({batch.n},) ({page})"
            )
        elif not isinstance(values, dict) and len(values) != batch.n:
            yield f"{method}: info[{name!r}] has {len(values)} values, not {batch.n} ({page})"


def _seeds(batch: _Batch) -> Iterator[str]:
    """Seeds of sub-environments."""
    n = batch.n
    first, _ = batch.reset(SEED)
    if not _same(first, batch.reset(SEED)[0]):
        yield f"reset(seed={SEED}) gives other observations each time ({RESET})"
        return
    seeds = [SEED + i for i in range(n)]
    if not _same(first, batch.reset(seeds)[0]):
        yield (
            f"reset(seed={SEED}) gives other observations than reset(seed={seeds}): sub-environment"
            f" i has the seed {SEED} + i ({RESET})"
        )
    alone = [_row(batch.reset([SEED + i] * n)[0], i) for i in range(n)]
    for i, row in enumerate(alone):
        if not _same(row, _row(first, i)):
            yield f"sub-environment {i} does not start as its own seed {SEED + i} says ({RESET})"
    actions = batch.actions(SEED, FEW)
    if not _same(batch.run(SEED, actions), batch.run(SEED, actions)):
        yield f"steps after reset(seed={SEED}) with the same actions do not repeat ({RESET})"


def _order(batch: _Batch) -> Iterator[str]:
    """Order of the batch."""
    n = batch.n
    actions, others = batch.actions(SEED + 1, FEW), batch.actions(SEED + 5, FEW)
    run = batch.run(SEED, actions)
    for i in range(n):
        seeds = [SEED + k + (n if k == i else 0) for k in range(n)]
        mixed = [batch.mixed(a, b, i) for a, b in zip(actions, others, strict=True)]
        for t, (one, other) in enumerate(zip(run, batch.run(seeds, mixed), strict=False)):
            for k in range(n):
                if k != i and not _same([_row(x, k) for x in one], [_row(x, k) for x in other]):
                    yield (
                        f"another seed and other actions of sub-environment {i} change results of"
                        f" sub-environment {k} after {t} steps: a row of actions, observations,"
                        f" rewards and ends belongs to one sub-environment ({STEP})"
                    )
                    return


def _memory(batch: _Batch) -> Iterator[str]:
    """Memory of returned arrays."""
    if getattr(batch.envs, "copy", True) is False:  # its user wants the buffer
        return
    names = ("observations", "rewards", "terminations", "truncations")
    envs, actions = batch.envs, batch.actions(SEED, 2)
    envs.reset(seed=SEED)
    kept = envs.step(actions[0])
    before = copy.deepcopy(kept)
    over = (kept[2] | kept[3]).any() and batch.mode == AutoresetMode.DISABLED
    later = (*envs.reset()[:1], *envs.step(actions[1])[1:]) if over else envs.step(actions[1])
    for k, name in enumerate(names):
        shared = any(
            np.shares_memory(a, b)
            for _, a, _ in _leaves(kept[k])
            for _, b, _ in _leaves(later[k])
            if isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        )
        if shared or not _same(kept[k], before[k]):
            yield f"a step overwrites the {name} that the step before returned ({STEP})"


@dataclass
class _Played:
    """A step of a run whose episodes restart according to the autoreset mode."""

    observation: Any
    rewards: np.ndarray
    terminations: np.ndarray
    truncations: np.ndarray
    info: dict[str, Any]
    begun: np.ndarray  # mask of those that began an episode in this step instead of stepping
    lengths: np.ndarray  # steps of the episodes
    done: np.ndarray  # mask of the episodes that have ended


def _play(batch: _Batch) -> Iterator[_Played]:
    n, mode = batch.n, batch.mode
    batch.reset(SEED)
    done, lengths, ends = np.zeros(n, dtype=bool), np.zeros(n, dtype=int), 0
    for actions in batch.actions(SEED + 2, batch.steps):
        if mode == AutoresetMode.DISABLED and done.any():
            batch.reset(reset_mask=done.copy())
        begun = done if mode == AutoresetMode.NEXT_STEP else np.zeros(n, dtype=bool)
        lengths = np.where(begun, 0, np.where(done, 1, lengths + 1))
        step = batch.step(actions)
        done = step[2] | step[3]
        yield _Played(*step, begun, lengths, done)
        ends += int(done.sum())
        if ends >= 4 * n:
            return


def _limits(batch: _Batch) -> Iterator[str]:
    """Time limits."""
    for step in _play(batch):
        late = ~step.begun & (step.lengths >= (batch.limit or np.inf)) & ~step.truncations
        for i in np.flatnonzero(late)[:1].tolist():
            how = "terminated" if step.terminations[i] else "neither terminated nor truncated"
            yield (
                f"sub-environment {i} is {how} after {step.lengths[i]} steps, but a time limit"
                f" ({batch.limit} steps) truncates ({LIMITS})"
            )
            return


def _autoreset(batch: _Batch) -> Iterator[str]:
    """Autoreset."""
    same_step = batch.mode == AutoresetMode.SAME_STEP
    ends = moved = 0
    for step in _play(batch):
        if same_step:
            faults = list(_final_faults(batch, step.info, step.done))
        else:
            faults = list(_begin_faults(step))
            if "final_obs" in step.info:
                faults.append(f"info has 'final_obs', as only with SAME_STEP ({AUTORESET})")
        yield from faults
        if faults:
            return
        for i in np.flatnonzero(step.done).tolist():
            ends += 1
            moved += same_step and not _same(_row(step.observation, i), step.info["final_obs"][i])
    if same_step and ends and not moved:
        yield (
            "final_obs are the observations that step returns, but one is the end of an episode and"
            f" the other the start of the next ({AUTORESET})"
        )
    if batch.mode == AutoresetMode.NEXT_STEP and ends:
        yield from _ignored_actions(batch)


def _begin_faults(step: _Played) -> Iterator[str]:
    wrong = step.begun & ((step.rewards != 0) | step.done)
    for i in np.flatnonzero(wrong)[:1].tolist():
        yield (
            f"the step after the end of an episode of sub-environment {i} has the reward"
            f" {step.rewards[i]:g}, terminated {bool(step.terminations[i])}, truncated"
            f" {bool(step.truncations[i])}; with NEXT_STEP it begins the next episode: 0, False,"
            f" False ({AUTORESET})"
        )


def _ignored_actions(batch: _Batch) -> Iterator[str]:
    starts = []
    for other in (0, 1):
        last = batch.run(SEED, batch.actions(SEED + 2, batch.steps))[-1]
        done = last[2] | last[3]
        (actions,) = batch.actions(SEED + 3 + other, 1)
        observation = batch.step(actions)[0]
        starts.append([_row(observation, i) for i in np.flatnonzero(done).tolist()])
    if not _same(*starts):
        yield (
            "the action in the step after the end of an episode has an effect, but with NEXT_STEP"
            f" that step only begins the next episode ({AUTORESET})"
        )


def _final_faults(batch: _Batch, info: dict[str, Any], done: np.ndarray) -> Iterator[str]:
    for name in ("final_obs", "final_info"):
        mask = info.get(f"_{name}")
        if not done.any():
            if mask is not None and np.any(mask):
                yield f"info has {name!r} although no episode has ended ({AUTORESET})"
            continue
        if name not in info or mask is None:
            yield (
                f"an episode of sub-environment {int(np.flatnonzero(done)[0])} has ended, but info"
                f" lacks {name!r} or its mask '_{name}' ({AUTORESET})"
            )
        elif not np.array_equal(mask, done):
            yield f"the mask '_{name}' is {mask}, but the episodes {done} have ended ({AUTORESET})"
    final, space = info.get("final_obs"), batch.envs.single_observation_space
    if final is None or not done.any():
        return
    for i in np.flatnonzero(done).tolist():
        if not space.contains(final[i]):
            yield (
                f"final_obs of sub-environment {i} is not in single_observation_space ({AUTORESET})"
            )
            return


def _partial_reset(batch: _Batch) -> Iterator[str]:
    """Reset of some sub-environments."""
    n = batch.n
    if batch.mode != AutoresetMode.DISABLED or n < 2:
        return
    actions = batch.actions(SEED + 4, 2 * FEW)
    mask = np.arange(n) == 0
    batch.reset(SEED)
    half = batch.limit is not None and batch.limit <= 2 * FEW
    first = 1 if half else FEW
    for each in actions[:first]:
        before, _, terminations, truncations, _ = batch.step(each)
        if (terminations | truncations).any():
            return
    undisturbed = []
    observation, _ = batch.reset(reset_mask=mask)
    for i in range(1, n):
        if not _same(_row(observation, i), _row(before, i)):
            yield (
                f"reset with a reset_mask of sub-environment 0 changes the observation of"
                f" sub-environment {i} ({RESET})"
            )
            return
    later = actions[first : first + (1 if half else FEW)]
    for each in later:
        result = batch.step(each)
        undisturbed.append([_row(x, n - 1) for x in result[:4]])
        if result[2].any() or result[3].any():
            break
    batch.reset(SEED)
    for each in actions[:first]:
        batch.step(each)
    for each, expected in zip(later, undisturbed, strict=False):
        result = batch.step(each)
        if not _same([_row(x, n - 1) for x in result[:4]], expected):
            yield (
                f"reset with a reset_mask of sub-environment 0 changes the episode of"
                f" sub-environment {n - 1} ({RESET})"
            )
            return


def _close(batch: _Batch) -> Iterator[str]:
    """Closing."""
    envs = batch.envs
    for attempt in ("close", "a second close"):
        try:
            envs.close()
        except Exception as error:
            yield f"{attempt} raises {type(error).__name__}: {error} ({CLOSE})"
            return
    if not getattr(envs, "closed", False):
        yield f"closed is not True after close ({CLOSE})"


# Observations: arrays, or dicts and tuples of them.


def _leaves(value: Any, space: Any = None, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            known = isinstance(space, gymnasium.spaces.Dict) and name in space.spaces
            yield from _leaves(part, space[name] if known else None, f"{path}[{name!r}]")
    elif isinstance(value, tuple):
        for i, part in enumerate(value):
            known = isinstance(space, gymnasium.spaces.Tuple) and i < len(space)
            yield from _leaves(part, space[i] if known else None, f"{path}[{i}]")
    else:
        yield path, value, space


def _row(value: Any, i: int) -> Any:
    if isinstance(value, dict):
        return {name: _row(part, i) for name, part in value.items()}
    if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray | dict | tuple):
        return tuple(_row(part, i) for part in value)
    return value[i]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype == object:
        return bool(one.shape == other.shape) and all(
            a is b or _same(a, b) for a, b in zip(one.ravel(), other.ravel(), strict=True)
        )
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))
