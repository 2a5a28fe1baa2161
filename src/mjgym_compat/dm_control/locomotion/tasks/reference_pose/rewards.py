"""Rewards for following recorded motion, of the features of a walker and of its reference."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from mjgym.tasks.locomotion.tracking import POSE_TERMS
from mjgym.util.suggestions import or_else

Features = Mapping[str, Any]


class RewardFnOutput(NamedTuple):
    """A reward, numbers for a log, and the terms of the reward by name."""

    reward: Any
    debug: dict[str, Any]
    reward_terms: dict[str, Any] | None


def bounded_quat_dist(source: Any, target: Any) -> np.ndarray:
    """Half the angle between quaternions (..., 4), up to pi / 2 rad, (..., 1)."""
    a, b = (np.asarray(q) / np.linalg.norm(q, axis=-1, keepdims=True) for q in (source, target))
    return np.arccos(np.minimum(np.abs(np.sum(a * b, axis=-1, keepdims=True)), 1.0))


def compute_squared_differences(
    walker_features: Features, reference_features: Features, exclude_keys: Collection[str] = ()
) -> dict[str, Any]:
    """Squared differences of features, summed over all; half angles for quaternions."""

    def squared(key: str) -> Any:
        own, theirs = walker_features[key], reference_features[key]
        far = bounded_quat_dist(own, theirs) if "quaternion" in key else np.subtract(own, theirs)
        return np.sum(far**2)

    return {key: squared(key) for key in walker_features if key not in exclude_keys}


def termination_reward_fn(
    termination_error: Any, termination_error_threshold: Any, **unused_kwargs: Any
) -> RewardFnOutput:
    """1 without deviation, 0 at the threshold."""
    reward = 1 - termination_error / termination_error_threshold
    debug = {
        "termination_error": termination_error,
        "termination_error_threshold": termination_error_threshold,
    }
    return RewardFnOutput(reward, debug, {"termination": reward})


def multi_term_pose_reward_fn(
    walker_features: Features, reference_features: Features, **unused_kwargs: Any
) -> RewardFnOutput:
    """The terms of `mjgym.tasks.locomotion.tracking`."""
    differences = compute_squared_differences(walker_features, reference_features)
    terms = {
        name: share * np.exp(-steepness * differences[name])
        for name, (steepness, share) in sorted(POSE_TERMS.items())
    }
    return RewardFnOutput(sum(terms.values()), terms, terms)


def comic_reward_fn(
    termination_error: Any,
    termination_error_threshold: Any,
    walker_features: Features,
    reference_features: Features,
    **unused_kwargs: Any,
) -> RewardFnOutput:
    """The mean of both (Hasenclever et al., "CoMic", ICML 2020)."""
    both = (
        termination_reward_fn(termination_error, termination_error_threshold),
        multi_term_pose_reward_fn(walker_features, reference_features),
    )
    terms = {name: 0.5 * x for each in both for name, x in (each.reward_terms or {}).items()}
    debug = {**both[0].debug, **both[1].debug}
    reward = 0.5 * (both[0].reward + both[1].reward)
    return RewardFnOutput(reward, debug, dict(sorted(terms.items())))


_REWARDS: dict[str, tuple[Callable[..., RewardFnOutput], tuple[str, ...]]] = {
    "termination_reward": (termination_reward_fn, ("termination",)),
    "multi_term_pose_reward": (multi_term_pose_reward_fn, tuple(sorted(POSE_TERMS))),
    "comic": (comic_reward_fn, tuple(sorted([*POSE_TERMS, "termination"]))),
}


def _known(key: str) -> tuple[Callable[..., RewardFnOutput], tuple[str, ...]]:
    if key not in _REWARDS:
        raise ValueError(f"no reward {key!r}{or_else(key, _REWARDS)}")
    return _REWARDS[key]


def get_reward(reward_key: str) -> Callable[..., RewardFnOutput]:
    """A reward by name."""
    return _known(reward_key)[0]


def get_reward_channels(reward_key: str) -> tuple[str, ...]:
    """Names of a reward's terms."""
    return _known(reward_key)[1]
