"""Random actions, what comes of them, and equality bit for bit, for the tests."""

import copy
import pickle

import numpy as np

COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}


def actions_for(env, steps, seed=0):
    """Random actions within the limits and [-1, 1], for an environment or a batch of them."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(env.action_space.low, -1), np.minimum(env.action_space.high, 1)
    return [rng.uniform(low, high) for _ in range(steps)]


def rollout(env, steps, seed=0):
    """Observations, rewards, ends and infos of steps with random actions."""
    return [env.step(action) for action in actions_for(env, steps, seed)]


def equal(a, b):
    """Equality of nested dicts, arrays, lists and tuples, bit for bit."""
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == object:
        return a.shape == b.shape and all(
            equal(x, y) if x is not None else y is None for x, y in zip(a, b, strict=True)
        )
    return a.dtype == b.dtype and np.array_equal(a, b)


def row(observation, i):
    """What sub-environment i observes."""
    if isinstance(observation, dict):
        return {name: values[i] for name, values in observation.items()}
    return observation[i]
