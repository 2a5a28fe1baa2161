"""A match as a PettingZoo environment."""

import copy
from typing import Any

import gymnasium
import numpy as np

from mjgym.envs.observations import row
from mjgym.envs.options import check_reset_options
from mjgym.envs.players import PlayersVectorEnv
from mjgym.envs.spaces import check_action
from mjgym.task import Task
from mjgym.util.packaged import install

try:
    import pettingzoo
except ImportError as error:
    raise ImportError(f"parallel_env needs PettingZoo: {install('pettingzoo')}") from error

# PettingZoo's API test passes this option to `reset`; it has no effect.
_TRIED = ("options",)
_STATE = ("qpos", "qvel", "act")  # entries of `state`


class ParallelEnv(pettingzoo.ParallelEnv):  # type: ignore[misc]
    """A match with its players as agents: home_0, home_1, ..., away_0, ...

    All agents act until the match ends, for all of them in the same step.

    Args:
        **options: `max_episode_steps` and the keyword arguments of `mjgym.Env`.

    Attributes:
        agents: the acting players: all of them, or none after the end of a match.
        players: the same match as a vector environment of its players.
        state_space: space of `state()`.

    Raises:
        ValueError: the task has no players, or `render_mode` is "human".
    """

    def __init__(self, task: Task, name: str = "", **options: Any) -> None:
        self.players = PlayersVectorEnv(task, 1, threads=1, autoreset_mode="Disabled", **options)
        self.possible_agents = list(task.players)
        self.agents: list[str] = []
        self._begun = False
        self.render_mode = self.players.render_mode
        self.metadata = {
            "name": name or type(task).__name__,
            "render_modes": ["rgb_array"],
            "is_parallelizable": True,
            "render_fps": self.players.metadata["render_fps"],
        }
        one = self.players
        # Separate spaces, since agents seed them one by one.
        self.observation_spaces = {
            agent: copy.deepcopy(one.single_observation_space) for agent in self.possible_agents
        }
        self.action_spaces: dict[str, Any] = {
            agent: copy.deepcopy(one.single_action_space) for agent in self.possible_agents
        }
        model = one.matches.model
        size = model.nq + model.nv + model.na
        self.state_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start a match. There are no options.

        Returns:
            Observations and infos by agent; an info holds its `team` and `number`.
        """
        check_reset_options(options, _TRIED)
        observations, info = self.players.reset(seed=seed)
        self.agents, self._begun = list(self.possible_agents), True
        return self._by_agent(observations), self._infos(info)

    def step(
        self, actions: dict[str, np.ndarray]
    ) -> tuple[
        dict[str, Any],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Advance by one control step.

        Args:
            actions: by agent, for all of them.

        Returns:
            Observations, rewards, terminations, truncations and infos by agent; empty after the end
            of a match.
        """
        if not self.agents:
            if not self._begun:
                raise gymnasium.error.ResetNeeded("call reset() before step()")
            return {}, {}, {}, {}, {}
        for agent in self.agents:
            if agent not in actions:
                raise ValueError(f"actions: none for {agent!r}")
        for agent in actions:
            if agent not in self.possible_agents:
                raise ValueError(f"actions: there is no agent {agent!r}")
        rows = np.stack([self._checked(agent, actions[agent]) for agent in self.possible_agents])
        observations, rewards, terminations, truncations, info = self.players.step(rows)
        result = (
            self._by_agent(observations),
            dict(zip(self.possible_agents, rewards.tolist(), strict=True)),
            dict(zip(self.possible_agents, terminations.tolist(), strict=True)),
            dict(zip(self.possible_agents, truncations.tolist(), strict=True)),
            self._infos(info),
        )
        if (terminations | truncations).all():
            self.agents = []
        return result

    def _checked(self, agent: str, action: Any) -> np.ndarray:
        try:
            return check_action(action, self.action_spaces[agent].shape)
        except ValueError as error:
            raise ValueError(f"actions: {agent!r}: {error}") from None

    def _by_agent(self, observations: Any) -> dict[str, Any]:
        return {agent: row(observations, i) for i, agent in enumerate(self.possible_agents)}

    def _infos(self, info: dict[str, Any]) -> dict[str, dict[str, Any]]:
        known = {name: values for name, values in info.items() if not name.startswith("_")}
        return {
            agent: {name: values[i].item() for name, values in known.items() if info[f"_{name}"][i]}
            for i, agent in enumerate(self.possible_agents)
        }

    def state(self) -> np.ndarray:
        """Positions, velocities and activations of the simulation, float64 (nq + nv + na,)."""
        state = self.players.matches.get_state()
        return np.concatenate([state[name][0] for name in _STATE if name in state])

    def render(self) -> np.ndarray | None:
        images = self.players.render()
        return None if images is None else images[0]

    def close(self) -> None:
        self.players.close()
