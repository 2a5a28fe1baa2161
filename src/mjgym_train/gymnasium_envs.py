"""Vector environments to train in: those of this package, and of any id known to Gymnasium."""

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import FlattenObservation, TransformAction

import mjgym
from mjgym import registry
from mjgym.policies.network import GOAL_ENTRIES, joined
from mjgym.policies.run_errors import ConfigError
from mjgym.util.values import plain


def make_envs(id: str, num_envs: int, threads: int | None = None, **kwargs: Any) -> Any:
    """Sub-environments that begin the next episode in the step that ends one.

    Args:
        id: of a task of this package (in a match, one team is the agent), or of another package.
        **kwargs: of `gymnasium.make_vec`, or of `gymnasium.make` for other ids.
    """
    if id not in registry.ids():
        return SeededVectorEnv(id, num_envs, **kwargs)
    options = {**kwargs, "autoreset_mode": "SameStep"}
    if kwargs.get("backend", "mujoco") == "mujoco":
        options["threads"] = threads
    return gymnasium.make_vec(id, num_envs, **registry.one_agent(id, **options))


def fingerprint(envs: Any) -> dict[str, Any]:
    """`mjgym.fingerprint`, also of environments from other packages."""
    bare = envs.unwrapped
    if not isinstance(bare, SeededVectorEnv):
        return mjgym.fingerprint(envs)
    spec = gymnasium.spec(bare.id)
    return {
        "id": spec.id,
        "version": spec.version,
        "entry_point": str(spec.entry_point),
        "arguments": plain({**spec.kwargs, **bare.arguments}),
        "max_episode_steps": bare.max_episode_steps,
        **mjgym.fingerprint(),
    }


class SeededVectorEnv(SyncVectorEnv):
    """Sub-environments of any id known to Gymnasium, as training expects them.

    Each episode has its own seed: the given one, then numbers derived from it and the episode's
    number. The seed and the actions since determine an episode, so they are its state: it is
    restored by playing it again, without pickled objects.

    Observations are flattened to vectors, except colour images. With `observation="goal"` the
    entries of a goal environment stay apart. Actions are a vector: for discrete spaces, the indices
    of the choices, rounded.
    """

    def __init__(
        self,
        id: str,
        num_envs: int,
        *,
        observation: str = "flat",
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        self.id, self.arguments = id, arguments
        self.max_episode_steps = max_episode_steps or gymnasium.spec(id).max_episode_steps
        make = functools.partial(self._made, observation)
        super().__init__([make] * num_envs, autoreset_mode=AutoresetMode.DISABLED)
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.choices = self.envs[0].get_wrapper_attr("choices")
        self._seeds = np.zeros(num_envs, np.int64)  # that were given
        self._episodes = np.zeros(num_envs, np.int64)  # since then
        self._steps = np.zeros(num_envs, np.int64)  # of the episodes
        self._actions: list[list[np.ndarray]] = [[] for _ in range(num_envs)]  # of the episodes

    def _made(self, observation: str) -> Any:
        try:
            env = gymnasium.make(
                self.id, max_episode_steps=-1, disable_env_checker=True, **self.arguments
            )
        except TypeError:
            raise
        except Exception as error:  # of another package
            reason = f"{type(error).__name__} {error}".strip()
            raise ConfigError(f"id: {self.id} cannot be made: {reason}") from error
        return _VectorActions(self.id, _with_vectors(self.id, env, observation))

    @property
    def entry_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the observation's entries."""
        space = self.single_observation_space
        parts = getattr(space, "spaces", {"observation": space})
        return {name: part.shape for name, part in parts.items()}

    def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
        bare: Any = self.envs[0].unwrapped
        return bare.compute_reward(achieved, desired, info)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Begin an episode in every sub-environment, with its seed if one is given."""
        if seed is None:
            seed = np.random.SeedSequence().generate_state(self.num_envs)
        self._seeds[:] = seed + np.arange(self.num_envs) if isinstance(seed, int) else seed
        self._episodes[:] = 0
        return self._begun(np.ones(self.num_envs, bool), options)

    def _begun(self, which: np.ndarray, options: Any = None) -> Any:
        for i in np.flatnonzero(which):
            self._steps[i], self._actions[i] = 0, []
        seeds: list[int | None] = [self._seed(i) for i in range(self.num_envs)]
        return super().reset(seed=seeds, options={**(options or {}), "reset_mask": which})

    def _seed(self, i: int) -> int:
        given, episode = int(self._seeds[i]), int(self._episodes[i])
        derived = np.random.SeedSequence((given, episode)).generate_state(1)
        return int(derived[0]) if episode else given

    def step(self, actions: Any) -> Any:
        """One step of all sub-environments; ended ones begin the next episode."""
        observation, reward, terminated, truncated, info = super().step(actions)
        self._steps += 1
        for taken, action in zip(self._actions, actions, strict=True):
            taken.append(np.array(action))
        if self.max_episode_steps is not None:
            truncated = truncated | ((self._steps >= self.max_episode_steps) & ~terminated)
        for name in ("success", "is_success"):
            if name in info:
                info["success_once"] = np.asarray(info[name]) > 0
        ended = terminated | truncated
        if ended.any():
            final = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(ended):
                final[i] = _row(observation, int(i))
                self._episodes[i] += 1
            observation, begun = self._begun(ended)
            info = {**begun, "final_obs": final, "final_info": info}
        return observation, reward, terminated, truncated, info

    def get_state(self, ids: Any = None) -> dict[str, np.ndarray]:
        """Seeds and actions of the episodes, with a leading axis of sub-environments."""
        rows = np.arange(self.num_envs) if ids is None else np.asarray(ids)
        counts = np.array([len(self._actions[i]) for i in rows])
        actions = np.zeros((len(rows), counts.max(), *(self.single_action_space.shape or ())))
        for row, i in enumerate(rows):
            if counts[row]:
                actions[row, : counts[row]] = self._actions[i]
        return {
            "seed": self._seeds[rows],
            "episode": self._episodes[rows],
            "steps": self._steps[rows],
            "taken": counts,
            "actions": actions,
            "observation": np.stack([joined(self._env_obs[i]) for i in rows]),
        }

    def set_state(self, state: Any, ids: Any = None) -> Any:
        """Play the episodes of `get_state` again; "steps" alone only counts steps differently."""
        rows: Sequence[int] = range(self.num_envs) if ids is None else [int(i) for i in ids]
        self._steps[rows] = state["steps"]
        if "seed" in state:
            self._seeds[rows], self._episodes[rows] = state["seed"], state["episode"]
            kind = self.single_action_space.dtype
            for row, i in enumerate(rows):
                actions = state["actions"][row, : state["taken"][row]].astype(kind)
                self._replay(i, list(actions), state["observation"][row])
        return np.stack([joined(seen) for seen in self._env_obs])

    def _replay(self, i: int, actions: list[np.ndarray], last: np.ndarray) -> None:
        observation, _ = self.envs[i].reset(seed=self._seed(i))
        for action in actions:
            observation, *_ = self.envs[i].step(action)
        self._actions[i] = actions
        self._env_obs[i] = observation
        if not np.array_equal(joined(observation), last):
            warnings.warn(
                f"{self.id} does not repeat an episode from its seed and actions: what is resumed"
                " differs from the run that was interrupted",
                stacklevel=2,
            )


def _row(observation: Any, i: int) -> Any:
    if isinstance(observation, dict):
        return {name: part[i].copy() for name, part in observation.items()}
    return observation[i].copy()


def _with_vectors(id: str, env: Any, observation: str) -> Any:
    """The environment with observations that the networks take."""
    space = env.observation_space
    if observation == "goal":
        parts = getattr(space, "spaces", {})
        if not set(GOAL_ENTRIES) <= set(parts) or not hasattr(env.unwrapped, "compute_reward"):
            raise ConfigError(
                f"her: {id} has no goals: its observation is {space}, which lacks"
                f" {', '.join(GOAL_ENTRIES)} or a method compute_reward"
            )
        return env
    image = isinstance(space, spaces.Box) and len(space.shape) == 3 and space.dtype == np.uint8
    if image and space.shape[2] == 3:
        return env
    if not space.is_np_flattenable:
        raise ConfigError(
            f"id: {id} observes {type(space).__name__}, which has no fixed number of entries; Box,"
            " Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of these can be learned from"
        )
    return FlattenObservation(env)


class _VectorActions(TransformAction):
    """Actions as vectors."""

    def __init__(self, id: str, env: Any) -> None:
        space: Any = env.action_space
        self.choices = _choices(id, space)

        def chosen(action: np.ndarray) -> Any:
            if self.choices is None:
                return np.reshape(action, space.shape)
            start = np.asarray(getattr(space, "start", 0), space.dtype)
            return (np.rint(action).astype(space.dtype).reshape(space.shape) + start)[()]

        if self.choices is None:
            bounds = space.low.reshape(-1), space.high.reshape(-1)
            flat = spaces.Box(*bounds, dtype=space.dtype.type)
        else:
            flat = spaces.Box(0, self.choices - 1, (int(np.prod(space.shape)),), np.float32)
        super().__init__(env, chosen, flat)


def _choices(id: str, space: Any) -> int | None:
    """The number of choices of each discrete action; None for continuous ones."""
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return None
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiBinary):
        return 2
    if isinstance(space, spaces.MultiDiscrete) and len(sizes := set(space.nvec.flat)) == 1:
        return int(sizes.pop())
    raise ConfigError(
        f"id: {id} acts in {space}; a Box of floats, Discrete, MultiBinary and MultiDiscrete of"
        " equal sizes can be learned"
    )
