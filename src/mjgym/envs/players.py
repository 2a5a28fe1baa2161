"""Many matches in one process, with each player as a sub-environment."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from mjgym.actions import bounds
from mjgym.arrays import Array, copied, namespace, zero_unless
from mjgym.envs.infos import VARIATION
from mjgym.envs.observations import row
from mjgym.envs.spaces import box, check_action
from mjgym.envs.sub_environments import seed_list
from mjgym.envs.vector import Result, VectorEnv
from mjgym.task import Task

MATCH, TEAM, NUMBER = "match", "team", "number"  # keys of the info that identify a row


class PlayersVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """The players of many matches as the sub-environments of one vector environment.

    64 matches of four players are 256 sub-environments, with those of a match in a row: learners
    that share parameters train on it as is. A match ends for all of its players at once, who begin
    the next one together. `info` identifies each: `match`, `team` (0, 1, ...) and `number` in the
    team.

    Match m of `reset(seed=s)` is seeded s + m.

    Args:
        on: vector environment class of the matches, `VectorEnv` or
            `mjgym.envs.tensor_vector.TensorVectorEnv`, which also makes these results tensors.
        **arguments: arguments of that class.

    Attributes:
        matches: the batch of matches, with an axis of players in observations, rewards and actions;
            methods such as `get_state`, `camera` and `view` belong to a match.

    Raises:
        ValueError: the task has no players, or `visualize_reward` is set.
    """

    def __init__(
        self, task: Task, num_matches: int = 1, *, on: type[VectorEnv] = VectorEnv, **arguments: Any
    ) -> None:
        self.closed = True  # until construction succeeds
        if not task.players:
            raise ValueError(f"{type(task).__name__} has no players: use mjgym.VectorEnv")
        if arguments.get("visualize_reward"):
            raise ValueError("visualize_reward: players' rewards differ; it needs one agent")
        self._adopt(on(task, num_matches, **arguments))

    def _adopt(self, matches: VectorEnv) -> None:
        self.matches, self.task, self.closed = matches, matches.task, False
        players = self.task.players
        self.num_players = len(players)
        self.num_envs = matches.num_envs * self.num_players
        self.autoreset_mode = matches.autoreset_mode
        self.metadata = matches.metadata
        self.render_mode = matches.render_mode
        low, high = bounds(self.task.actions(matches.model))
        count = len(low) // self.num_players
        self.single_action_space = box(low[:count], high[:count])
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._action_shape = (self.num_envs, count)
        self.single_observation_space = _of_one(matches.single_observation_space)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        teams = [name.rpartition("_")[0] for name in players]
        known = list(dict.fromkeys(teams))
        self._who: dict[str, Array] = {
            MATCH: np.repeat(np.arange(matches.num_envs), self.num_players),
            TEAM: np.tile([known.index(team) for team in teams], matches.num_envs),
            NUMBER: np.tile([int(n.rpartition("_")[2]) for n in players], matches.num_envs),
        }
        self._who = matches.to_output(self._who)
        self._everyone: Array = matches.to_output(np.ones(self.num_envs, dtype=bool))

    # Episodes and steps.

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start matches: all, or those of a mask of players.

        Args:
            seed: s for matches seeded s, s + 1, ..., or a sequence of one per player, of which that
                of a match's first player is used; None to continue with the current generators.
            options: {"reset_mask": (num_envs,) bool}, equal for all players of a match.
        """
        if seed is not None and not isinstance(seed, int | np.integer):
            seed = seed_list(seed, self.num_envs)[:: self.num_players]
        if options and "reset_mask" in options:
            options = {**options, "reset_mask": self._by_match(options["reset_mask"])}
        observations, info = self.matches.reset(seed=seed, options=options)
        return self._rows(observations), self._info(info, self._everyone)

    def _by_match(self, mask: Any) -> np.ndarray:
        by_match = self.matches.checked_mask(mask, self.num_envs).reshape(-1, self.num_players)
        apart = np.flatnonzero(by_match.any(axis=1) & ~by_match.all(axis=1))
        if apart.size:
            raise ValueError(
                f"options['reset_mask']: the players of match {apart[0]} begin together, or not"
            )
        return by_match[:, 0].copy()

    def step(self, actions: Array) -> Result:
        """Advance by one control step; see `VectorEnv.step`. Actions are (num_envs, k)."""
        checked = self.matches.checked_actions(actions, self._action_shape)
        of_matches = checked.reshape(self.matches.num_envs, -1)
        try:
            observations, rewards, terminations, truncations, info = self.matches.step(of_matches)
        except ValueError:
            check_action(self.matches.view.to_numpy(checked), self._action_shape)  # names the row
            raise
        return (
            self._rows(observations),
            rewards.reshape(self.num_envs),
            self._for_each_player(terminations),
            self._for_each_player(truncations),
            self._info(info, self._everyone),
        )

    def _rows(self, values: Any) -> Any:
        if isinstance(values, dict):
            return {name: self._rows(value) for name, value in values.items()}
        return values.reshape(self.num_envs, *values.shape[2:])

    def _for_each_player(self, values: Array) -> Array:
        return namespace(values).repeat(values, self.num_players, axis=0)

    def _info(self, info: dict[str, Any], present: Array) -> dict[str, Any]:
        """The info with one row per player, and the identifiers of the masked players."""
        by_player: dict[str, Any] = {}
        for name, values in info.items():
            if name == "final_info":
                ended = self._for_each_player(info[f"_{name}"])
                by_player[name] = self._info(values, ended)
            elif name == "final_obs" and getattr(values, "dtype", None) != np.dtype(object):
                by_player[name] = self._rows(values)
            elif name == "final_obs":
                rows = [
                    None if value is None else row(value, i)
                    for value in values
                    for i in range(self.num_players)
                ]
                by_player[name] = np.full(self.num_envs, None, dtype=object)
                by_player[name][:] = rows
            elif values.shape[1:2] == (self.num_players,) and not name.startswith(VARIATION):
                by_player[name] = self._rows(values)
            else:
                by_player[name] = self._for_each_player(values)
        for name, values in self._who.items():
            by_player[name], by_player[f"_{name}"] = zero_unless(present, values), copied(present)
        return by_player

    # Properties of matches, by player.

    def render(self) -> Any:
        """An image of each match, uint8 (height, width, 3), see `render_mode`."""
        return self.matches.render()

    def call(
        self, name: str, *args: Any, ids: Sequence[int] | np.ndarray | None = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Results of a method or an attribute of each player's match; see `VectorEnv.call`.

        `action_space` and `observation_space` are the players'.
        """
        rows = np.arange(self.num_envs) if ids is None else np.asarray(ids)
        spaces = {
            "action_space": self.single_action_space,
            "observation_space": self.single_observation_space,
        }
        if name in spaces:
            return (spaces[name],) * len(rows)
        matches = np.unique(rows // self.num_players)
        values = dict(
            zip(
                matches.tolist(),
                self.matches.call(name, *args, ids=matches, **kwargs),
                strict=True,
            )
        )
        return tuple(values[match] for match in (rows // self.num_players).tolist())

    def get_attr(self, name: str) -> tuple[Any, ...]:
        return self.call(name)

    def set_attr(self, name: str, values: Any, *, ids: Any = None) -> None:
        """Raise AttributeError: attributes belong to a match; see `matches.set_attr`."""
        raise AttributeError(f"{name!r} belongs to matches, not to players: matches.set_attr")

    def __getattr__(self, name: str) -> Any:
        """Attributes of the matches: `model`, `threads`, `get_state`, `camera`, ..."""
        if name in _OF_MATCHES and "matches" in vars(self):
            return getattr(self.matches, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def spec(self) -> Any:
        return self.matches.spec

    @spec.setter
    def spec(self, spec: Any) -> None:
        self.matches.spec = spec

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(self._for_each_player(np.array(self.matches.np_random_seed)).tolist())

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        return tuple(g for g in self.matches.np_random for _ in range(self.num_players))

    def close_extras(self, **kwargs: Any) -> None:
        self.matches.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"matches": self.matches}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self._adopt(pickled["matches"])


# Attributes that are forwarded to the matches.
_OF_MATCHES = frozenset(
    {
        "camera", "cameras", "control_timestep", "entry_shapes", "get_state", "in_numpy", "model",
        "physics_timestep", "set_state", "shots", "threads", "uncompiled", "varied", "view",
        "buffers", "device", "nbytes",
    }
)  # fmt: skip


def _of_one(space: Any) -> Any:
    if isinstance(space, gymnasium.spaces.Dict):
        # An OrderedDict keeps the order of the entries; Gymnasium sorts those of a plain dict.
        return gymnasium.spaces.Dict(
            OrderedDict((name, _of_one(part)) for name, part in space.spaces.items())
        )
    return gymnasium.spaces.Box(space.low[0], space.high[0], space.shape[1:], space.dtype)
