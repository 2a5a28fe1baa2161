"""Methods and attributes of single sub-environments, as in `gymnasium.vector.SyncVectorEnv`."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding

from mjgym.arrays import namespace
from mjgym.envs.goal_methods import GoalMethods
from mjgym.envs.observations import row
from mjgym.envs.options import RESET_MASK, check_reset_options
from mjgym.envs.spaces import refuse_closed
from mjgym.loop.episode import Episodes
from mjgym.task import Arrays
from mjgym.util.suggestions import did_you_mean
from mjgym.util.values import unmasked

# Attributes for `call` and `get_attr`: those per sub-environment, those that all share, and methods
# that apply to all sub-environments only.
_GENERATORS = {"np_random", "np_random_seed"}
_SHARED = {
    **{name: name for name in ("task", "model", "physics_timestep", "control_timestep")},
    **{name: name for name in ("spec", "metadata", "render_mode", "closed")},
    "action_space": "single_action_space",
    "observation_space": "single_observation_space",
}
_TOGETHER = {"close", "reset", "step"}

Ids = Sequence[int] | np.ndarray | None
"""Numbers of sub-environments; None for all."""


def seed_list(seed: Any, n: int) -> list[int | None]:
    """A seed per sub-environment; None to continue with its generator.

    Args:
        seed: s for the seeds s, s + 1, ..., a sequence of n seeds or None, or None for all.

    Raises:
        gymnasium.error.Error: a seed is not a non-negative integer.
        TypeError: neither a number nor a sequence.
        ValueError: the sequence has a wrong length.
    """
    if seed is None:
        return [None] * n
    if isinstance(seed, int | np.integer):
        seed = range(int(seed), int(seed) + n)
    if not isinstance(seed, Sequence | np.ndarray) or isinstance(seed, str):
        raise TypeError(f"seed: expected a whole number or a sequence of them, got {seed!r}")
    if len(seed) != n:
        raise ValueError(f"seed: {len(seed)} seeds for {n} sub-environments")
    for one in seed:
        if one is not None and not (isinstance(one, int | np.integer) and one >= 0):
            raise gymnasium.error.Error(f"seed: {one!r} is not a whole number from 0 on")
    return [None if one is None else int(one) for one in seed]


def generator_list(name: str, values: Any, n: int) -> list[np.random.Generator]:
    """A random generator per sub-environment, from n generators or one that all share."""
    generators = list(values) if isinstance(values, list | tuple) else [values] * n
    if len(generators) != n:
        raise ValueError(f"{name}: {len(generators)} values for {n} sub-environments")
    for rng in generators:
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"{name}: expected a numpy.random.Generator, got {rng!r}")
    return generators


class SubEnvironments(GoalMethods, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """The part of `mjgym.VectorEnv` that addresses single sub-environments."""

    _episodes: Episodes
    camera: Callable[..., Any]
    get_state: Callable[..., dict[str, np.ndarray]]
    set_state: Callable[..., Any]
    observe: Callable[..., Arrays]
    _check_open = refuse_closed

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._seeds: list[int] = [-1] * num_envs

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(self._seeds)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        self._recall_starts()
        return tuple(self._rng(i) for i in range(self.num_envs))

    def _rng(self, i: int) -> np.random.Generator:
        rng = self._rngs[i]
        if rng is None:
            rng, self._seeds[i] = seeding.np_random(None)
            self._rngs[i] = rng
        return rng

    def _recall_starts(self) -> None:
        """Restore the generators to their state before starts were drawn ahead.

        Call it before a generator is exposed, replaced or written to.
        """

    def _seed(self, i: int, seed: int) -> None:
        self._rngs[i], self._seeds[i] = seeding.np_random(seed)
        self._episodes.reseed(i)

    # Masks and numbers of sub-environments.

    def reset_mask(self, options: dict[str, Any] | None, n: int) -> np.ndarray | None:
        """A copy of the mask in the options of `reset`; None to reset all."""
        check_reset_options(options, (RESET_MASK,))
        if not options:
            return None
        mask = self.checked_mask(options[RESET_MASK], n)
        if not mask.any():
            raise ValueError("options['reset_mask']: at least one must be True")
        return mask.copy()

    def checked_mask(self, mask: Any, n: int) -> np.ndarray:
        """A reset mask of n rows, as a NumPy array; TypeError unless it is an array of bool."""
        mask = unmasked("options['reset_mask']", mask)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask']: expected an array of bool, got {mask!r}")
        if mask.shape != (n,):
            raise ValueError(f"options['reset_mask']: expected shape ({n},), got {mask.shape}")
        return mask

    def _rows(self, ids: Ids) -> np.ndarray:
        if ids is None:
            return np.arange(self.num_envs)
        rows = np.asarray(unmasked("ids", ids))
        if not rows.size:
            raise ValueError("ids: there must be at least one")
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise ValueError(f"ids: expected a sequence of integers, got {ids!r}")
        bad = rows[(rows < 0) | (rows >= self.num_envs)]
        if bad.size:
            raise ValueError(f"ids: no sub-environment {bad[0]}, there are {self.num_envs}")
        if np.unique(rows).size != rows.size:
            raise ValueError(f"ids: each may occur once, got {ids!r}")
        return rows

    # Methods per sub-environment.

    def call(self, name: str, *args: Any, ids: Ids = None, **kwargs: Any) -> tuple[Any, ...]:
        """Results of a method or an attribute of each sub-environment, as in `Env`.

        Args:
            name: a method of single sub-environments ("camera", "get_state", "observe", "render",
                "set_state", and those of `GoalMethods`), or an attribute, see `get_attr`.
            ids: numbers of sub-environments; None for all.

        Raises:
            AttributeError: the method or attribute is unknown, or applies to all sub-environments
                only, like `reset` and `step`; the message suggests the nearest ones.
            ValueError: a number is out of range.
        """
        rows = self._rows(ids)
        methods = self._methods(rows)
        if name in methods:
            return methods[name](*args, **kwargs)
        if name in _GENERATORS:
            values = getattr(self, name)
            return tuple(values[i] for i in rows.tolist())
        if name in _SHARED:
            return (getattr(self, _SHARED[name]),) * len(rows)
        raise self._no_attribute(name)

    def _methods(self, rows: np.ndarray) -> dict[str, Callable[..., tuple[Any, ...]]]:
        def each(batch: Any) -> tuple[Any, ...]:
            return tuple(row(batch, k) for k in range(len(rows)))

        def camera(name: str | int | None = None, **options: Any) -> tuple[Any, ...]:
            return tuple(self.camera(name, ids=rows, **options))

        def get_state() -> tuple[Any, ...]:
            return each(self.get_state(rows))

        def observe() -> tuple[Any, ...]:
            entries = self.observe()
            return tuple(
                {k: namespace(v).asarray(v[i], copy=True) for k, v in entries.items()}
                for i in rows.tolist()
            )

        def render() -> tuple[Any, ...]:
            return (self.render(),) * len(rows) if self.render_mode is None else camera()

        def set_state(state: Any) -> tuple[Any, ...]:
            return each(self.set_state(state, rows))

        def of_goals(name: str) -> Callable[..., tuple[Any, ...]]:
            # Equal arguments give equal results.
            return lambda *args, **kwargs: (getattr(self, name)(*args, **kwargs),) * len(rows)

        return {
            **{f.__name__: f for f in (camera, get_state, observe, render, set_state)},
            **{name: of_goals(name) for name in self.GOAL_METHODS},
        }

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each sub-environment, as in `Env`.

        `np_random` and `np_random_seed` differ; `task`, `model`, `physics_timestep`,
        `control_timestep`, `action_space`, `observation_space`, `render_mode`, `metadata`, `spec`
        and `closed` are shared.

        Raises:
            AttributeError: the attribute is unknown; the message suggests the nearest ones.
        """
        return self.call(name)

    def set_attr(self, name: str, values: Any, *, ids: Ids = None) -> None:
        """Set the random generators of sub-environments, the only attribute that can be set.

        All others are shared, or follow from the arguments of `make_vec`.

        Args:
            name: "np_random".
            values: a list or tuple of one generator each, or one that all share.
            ids: numbers of sub-environments; None for all.

        Raises:
            AttributeError: the attribute is unknown, or cannot be set.
            TypeError: a value is not a `numpy.random.Generator`.
            ValueError: a number is out of range, or the number of values is wrong.
        """
        self._check_open()
        rows = self._rows(ids)
        if name in {*_SHARED, *_GENERATORS} - {"np_random"}:
            raise AttributeError(
                f"{name!r} cannot be set: sub-environments share one batch; give make_vec other"
                " arguments"
            )
        if name != "np_random":
            raise self._no_attribute(name)
        generators = generator_list(name, values, len(rows))
        self._recall_starts()
        for i, rng in zip(rows.tolist(), generators, strict=True):
            self._rngs[i], self._seeds[i] = rng, -1
            self._episodes.reseed(i)

    def _no_attribute(self, name: str) -> AttributeError:
        if name in _TOGETHER:
            return AttributeError(
                f"a sub-environment has no {name!r} of its own: all are one batch; use"
                f" envs.{name}()"
            )
        hint = did_you_mean(name, [*self._methods(np.arange(0)), *sorted(_GENERATORS), *_SHARED])
        return AttributeError(f"sub-environments have no {name!r}{hint}")
