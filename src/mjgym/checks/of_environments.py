"""Checks of a task's environments: runs that repeat, agree, restore and stay finite."""

import copy
import pickle
import re
import warnings
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

from mjgym import registry
from mjgym.checks.runs import Step, flat, run_steps, same, stepped, terms_of
from mjgym.checks.subject import LONGEST_EPISODE, STARTS, STEPS, Subject
from mjgym.checks.words import SHOWN, Result, Results, error_line, listed
from mjgym.envs.infos import TERMS
from mjgym.envs.observations import take
from mjgym.util.plurals import counted

SHORT_EPISODE = 25  # control steps, for comparisons of more than one episode
NUM_ENVS = 4

# Advice that the package does not follow: observations are unbounded, and actions keep their units.
_ADVICE = re.compile(
    "Box observation space (minimum|maximum) value is -?infinity"
    "|we recommend using a symmetric and normalized space"
)
_COLOUR = re.compile(r"\x1b\[\d+m")


def _difference(subject: Subject, a: list[Step], b: list[Step], first: int = 0) -> str | None:
    for i, (x, y) in enumerate(zip(a, b, strict=True), first):
        when = f"in step {i}" if i else "at the start"
        if not same(x.observation, y.observation):
            other = [not same(p, q) for p, q in zip(x.observation, y.observation, strict=True)]
            k = other.index(True)
            names = subject.index_names
            name = f" ({names[k]})" if len(names) == len(other) else ""
            both = f"{x.observation[k].item()!r} and {y.observation[k].item()!r}"
            return f"{when}, observation[{k}]{name} is {both}"
        for term in x.terms.keys() & y.terms.keys():
            if not same(x.terms[term], y.terms[term]):
                return f"{when}, term {term!r} is {x.terms[term]!r} and {y.terms[term]!r}"
        for name in ("reward", "terminated", "truncated"):
            if not same(getattr(x, name), getattr(y, name)):
                return f"{when}, {name} is {getattr(x, name)!r} and {getattr(y, name)!r}"
    return None


def check_determinism(subject: Subject) -> Results:
    """A run with the same seed and actions repeats bit for bit."""
    env, other = (subject.make(max_episode_steps=SHORT_EPISODE) for _ in range(2))
    run = run_steps(env, subject.random_actions(), STEPS, seed=0)
    for what, again in (("another environment", other), ("the same environment", env)):
        fault = _difference(subject, run, run_steps(again, subject.random_actions(), STEPS, seed=0))
        if fault:
            yield (
                "fail",
                f"{what} does not repeat a run with the same seed and actions: {fault}. Draw only"
                " from the `rng` of initialize(), and keep nothing on the task or in the module",
            )
            return
    starts = [flat(env.reset(seed=seed)[0]) for seed in range(STARTS)]
    alike = all(same(start, starts[0]) for start in starts)
    note = "; every seed begins with the same observation" if alike else ""
    yield "pass", f"{STEPS} steps over several episodes repeat bit for bit{note}"


def check_single_is_batch(subject: Subject) -> Results:
    """A batch gives the numbers of single environments, bit for bit."""
    n = NUM_ENVS
    arguments = {**subject.kwargs, "max_episode_steps": SHORT_EPISODE, "threads": 2}
    arguments = registry.one_agent(subject.id, **arguments)
    envs = gymnasium.make_vec(subject.id, num_envs=n, **arguments)
    supply = subject.random_actions((n,))
    actions = [next(supply) for _ in range(STEPS)]
    observations, _ = envs.reset(seed=0)
    runs = [[Step(flat(take(observations, i)))] for i in range(n)]
    for action in actions:
        observations, rewards, terminations, truncations, info = envs.step(action)
        terms = terms_of(info)
        for i, run in enumerate(runs):
            step = Step(flat(take(observations, i)), float(rewards[i]))
            step.terminated, step.truncated = bool(terminations[i]), bool(truncations[i])
            step.terms = {k: float(v[i]) for k, v in terms.items() if info[f"_{TERMS}{k}"][i]}
            run.append(step)
    envs.close()
    for i, run in enumerate(runs):
        env = subject.make(max_episode_steps=SHORT_EPISODE)
        fault = _difference(subject, run_steps(env, (a[i] for a in actions), STEPS, seed=i), run)
        if fault:
            yield (
                "fail",
                f"one environment and sub-environment {i} of a batch differ: {fault}. A hook must"
                " treat each simulation by itself: index from the right (x[..., i]), reduce with"
                " axis=-1 only, and read nothing but the view and the task's fields",
            )
            return
    yield "pass", f"{n} environments, {STEPS} steps, bit for bit"


def check_snapshot(subject: Subject) -> Results:
    """States, copies and pickles continue bit for bit."""
    env: Any = subject.make().unwrapped
    run_steps(env, subject.random_actions(), SHORT_EPISODE, seed=0)
    supply = subject.random_actions(seed=1)
    actions = [next(supply) for _ in range(SHORT_EPISODE)]

    def go_on(env: Any) -> list[Step]:
        return [stepped(env, action)[0] for action in actions]

    state = env.get_state()
    copies: dict[str, Any] = {"a deep copy": copy.deepcopy(env)}
    try:
        copies["a pickled copy"] = pickle.loads(pickle.dumps(env))
    except Exception as error:
        yield "fail", f"pickle: {error_line(error, type(subject.task))}"
    fresh: Any = subject.make().unwrapped
    fresh.reset(seed=1)
    run = go_on(env)
    env.set_state(state)
    fresh.set_state(state)
    others = {"set_state()": env, "set_state() in another environment": fresh, **copies}
    for name, other in others.items():
        fault = _difference(subject, run, go_on(other), first=1)
        if fault:
            yield (
                "fail",
                f"{name} does not go on as the original did: {fault}. What an episode must remember"
                " belongs in memory() and update(), not on the task or in the module",
            )
            return
    if "a pickled copy" in copies:
        yield "pass", "get_state, set_state, deepcopy and pickle go on bit for bit"


def check_finite(subject: Subject) -> Results:
    """Observations and the simulation stay finite under random and extreme actions."""
    episode, extreme = subject.random_episode, subject.extreme_episode
    steps = len(episode.steps) - 1
    issues: list[Result] = []
    remedy = "a smaller timestep, more damping or armature, or smaller control ranges help"
    if wrong := episode.broken.get("observation"):
        issues.append(("fail", f"observation: {listed(wrong)} in random step {steps}"))
    elif episode.diverged and not episode.broken["reward"]:
        issues.append(("fail", f"the simulation diverges in random step {steps}: {remedy}"))
    for i, step in enumerate(episode.steps):
        if not np.isfinite(step.observation).all():
            k = int(np.flatnonzero(~np.isfinite(step.observation))[0])
            names = subject.index_names
            name = f" ({names[k]})" if len(names) == step.observation.size else ""
            when = f"in random step {i}" if i else "at the start"
            issues.append(("fail", f"observation[{k}]{name} is {step.observation[k]} {when}"))
            break
    if extreme.diverged and not episode.diverged:
        when = f"in step {len(extreme.steps) - 1} with every control at an end of its range"
        issues.append(("warn", f"the simulation diverges {when}: {remedy}"))
    if warned := list(dict.fromkeys([*episode.warned, *extreme.warned])):
        issues.append(("warn", f"NumPy warns: {'; '.join(warned[:SHOWN])}"))
    ends = len(extreme.steps) - 1
    return issues or [
        ("pass", f"{counted(steps, 'random step')}, {ends} at the ends of the control ranges")
    ]


def check_reward(subject: Subject) -> Results:
    """The reward is finite, and actions change it."""
    episode = subject.random_episode
    steps = episode.steps[1:]
    if wrong := episode.broken.get("reward"):
        yield "fail", f"not finite in random step {len(steps)}: {listed(wrong)}"
        return
    rewards = [step.reward for step in steps]
    least, most = min(rewards), max(rewards)
    reason = f"{least:.4g} to {most:.4g} in {counted(len(steps), 'random step')}"
    if least == most == 0:
        yield "pass", f"{reason}: exploration alone may never meet another"
    elif least == most and len(steps) > 1:
        yield "warn", f"{reason}: nothing that the actions do changes it"
    else:
        yield "pass", reason


def check_time_limit(subject: Subject) -> Results:
    """The time limit is the length of an episode."""
    task, limit, steps = subject.task, subject.limit, subject.random_episode.steps
    last, played = steps[-1], len(steps) - 1
    whole = task.time_limit / task.control_timestep
    if limit is None:
        yield "pass", "none: an episode ends by itself, or give max_episode_steps"
    elif limit < 2:
        yield "fail", f"an episode has {counted(limit, 'control step')}: time_limit is in seconds"
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


def check_compiled(subject: Subject) -> Results:
    """Hooks are compiled, or run in NumPy for a reason: a remark, as results are the same."""
    env: Any = subject.make().unwrapped
    left = [f"{hook}: {reason}" for hook, reason in env.in_numpy.items()]
    if env.uncompiled:
        left = [f"all of them: {env.uncompiled}"]
    yield (
        "pass",
        f"in NumPy, {'; '.join(left)}" if left else "a control step is one compiled function",
    )


def check_gymnasium(subject: Subject) -> Results:
    """Gymnasium's checker has no objection."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(subject.make().unwrapped, skip_render_check=True)
    advice = [
        _COLOUR.sub("", str(w.message)).removeprefix("WARN: ")
        for w in caught
        if not issubclass(w.category, RuntimeWarning)  # `finite` reports those
    ]
    notes: list[Result] = [
        ("warn", text) for text in dict.fromkeys(advice) if not _ADVICE.search(text)
    ]
    return notes or [("pass", f"the checker of Gymnasium {gymnasium.__version__} has no objection")]
