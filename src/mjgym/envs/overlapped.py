"""A batch in groups that step in the background while a policy computes actions."""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDone
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from mjgym.envs.goal_methods import GoalMethods
from mjgym.envs.options import RESET_MASK
from mjgym.envs.rollouts import Rollouts
from mjgym.envs.spaces import refuse_closed
from mjgym.envs.sub_environments import Ids, generator_list, seed_list
from mjgym.envs.vector import MOST_ENVS, Result, VectorEnv
from mjgym.loop.states import check_state
from mjgym.sim.batched import require_room
from mjgym.task import Task
from mjgym.task.models import compile_model
from mjgym.util.values import whole_number

ENV_ID = "env_id"  # key of an info: the numbers of its sub-environments


class OverlappedVectorEnv(GoalMethods, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Groups of sub-environments that one background thread steps in turn.

    `send` passes actions to a group and returns at once; `recv` waits for the group that was sent
    actions first. While a policy acts for one group, the others step:

        observations, info = envs.reset(seed=0)
        for ids in envs.groups:
            envs.send(policy(observations[ids]), ids)
        while True:
            observations, rewards, terminations, truncations, info = envs.recv()
            envs.send(policy(observations), info["env_id"])

    Sub-environments, seeds and results are those of `VectorEnv`, bit for bit. `step` steps all
    groups and waits for them; `step_async` and `step_wait` are its halves.

    Args:
        overlap: number of groups, of nearly equal sizes.
        **arguments: arguments of each group's `VectorEnv`.

    Attributes:
        groups: numbers of each group's sub-environments.

    Raises:
        ValueError: `overlap` is less than two or more than `num_envs`.
    """

    _check_open = refuse_closed

    def __init__(
        self, task: Task, num_envs: int = 2, *, overlap: int = 2, **arguments: Any
    ) -> None:
        self.closed = True  # until construction succeeds
        whole_number("num_envs", num_envs, most=MOST_ENVS)
        require_room("num_envs", compile_model(task), num_envs)
        whole_number("overlap", overlap, 2, num_envs)
        counts = [len(ids) for ids in np.array_split(np.arange(num_envs), overlap)]
        self._adopt([VectorEnv(task, count, **arguments) for count in counts])

    def _adopt(self, members: list[VectorEnv]) -> None:
        self._members, first = members, members[0]
        self.task, self.model = first.task, first.model
        self.varied = first.varied
        self.physics_timestep = first.physics_timestep
        self.control_timestep = first.control_timestep
        counts = [member.num_envs for member in members]
        self.num_envs = num_envs = sum(counts)
        self.groups = np.split(np.arange(num_envs), np.cumsum(counts)[:-1])
        for ids, member in zip(self.groups, members, strict=True):
            member.number_from(int(ids[0]))
        self.autoreset_mode, self.metadata = first.autoreset_mode, first.metadata
        self.render_mode = first.render_mode
        self.single_action_space = first.single_action_space
        self.single_observation_space = first.single_observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="mjgym-step")
        self._sent: deque[tuple[int, Future[Result]]] = deque()
        self.closed = False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes in all sub-environments, or in some; see `VectorEnv.reset`.

        Groups that are stepping finish first, and their results are dropped.
        """
        self._members[0].check_usable()
        seeds = seed_list(seed, self.num_envs)
        mask = self._members[0].reset_mask(options, self.num_envs)
        self._finish()
        parts = []
        for ids, member in zip(self.groups, self._members, strict=True):
            group_seeds = None if seed is None else [seeds[i] for i in ids]
            if mask is None:
                parts.append(member.reset(seed=group_seeds))
            elif mask[ids].any():
                parts.append(member.reset(seed=group_seeds, options={RESET_MASK: mask[ids]}))
            else:
                parts.append((member.present(), {}))
        return _joined([o for o, _ in parts]), self._joined_infos([i for _, i in parts])

    # Single groups.

    def send(self, actions: Any, ids: Ids = None) -> None:
        """Step a group, or all of them, in the background.

        Args:
            actions: (len(ids), number of actions); copied.
            ids: numbers of a group's sub-environments, as in `groups` and `info["env_id"]`; None
                for all groups.
        """
        self._members[0].check_usable()
        if ids is None:
            self.step_async(actions)
            return
        k = self._group(ids)
        if any(k == waiting for waiting, _ in self._sent):
            raise RuntimeError(f"group {k} is stepping; recv() its results first")
        member = self._members[k]
        checked = member.checked_actions(actions, (member.num_envs, *self._action_shape)).copy()
        member.check_ready()
        self._sent.append((k, self._worker.submit(member.step, checked)))

    def recv(self, timeout: float | None = None) -> Result:
        """Wait for the results of the group that was sent actions first.

        Args:
            timeout: seconds to wait; None or infinity for no limit.
        """
        self._members[0].check_usable()
        wait = _seconds(timeout)
        if not self._sent:
            raise RuntimeError("recv: no group has been sent actions; send() some first")
        k, future = self._sent[0]
        try:
            result = future.result(wait)
        except NotDone:
            raise TimeoutError(f"group {k} is not done after {timeout} s") from None
        except BaseException:
            self._sent.popleft()
            raise
        self._sent.popleft()
        info = result[-1]
        info[ENV_ID], info[f"_{ENV_ID}"] = self.groups[k].copy(), np.ones(len(self.groups[k]), bool)
        return result

    def _group(self, ids: Any) -> int:
        numbers = np.asarray(ids)
        for k, group in enumerate(self.groups):
            if np.array_equal(group, numbers):
                return k
        spans = ", ".join(f"{group[0]} to {group[-1]}" for group in self.groups)
        raise ValueError(f"ids: not those of a group; the groups are {spans}")

    # All groups.

    @property
    def _action_shape(self) -> tuple[int, ...]:
        return tuple(self.single_action_space.shape or ())

    def step_async(self, actions: Any) -> None:
        """Step all groups in the background; with the errors of `send`, before any steps."""
        self._members[0].check_usable()
        if self._sent:
            raise RuntimeError(f"group {self._sent[0][0]} is stepping; receive its results first")
        member = self._members[0]
        checked = member.checked_actions(actions, (self.num_envs, *self._action_shape))
        for each in self._members:
            each.check_ready()
        for ids in self.groups:
            self.send(checked[ids], ids)

    def step_wait(self, timeout: float | None = None) -> Result:
        """Wait for the results of `step_async`; see `VectorEnv.step`, and `recv` for errors."""
        self._members[0].check_usable()
        wait = _seconds(timeout)
        if len(self._sent) < len(self.groups):
            raise RuntimeError("step_wait: call step_async() first")
        try:
            self._sent[-1][1].exception(wait)  # groups step in order
        except NotDone:
            raise TimeoutError(f"the step is not done after {timeout} s") from None
        parts: list[Result] = []
        failed: BaseException | None = None
        while self._sent:
            try:
                parts.append(self.recv())
            except BaseException as error:
                failed = failed or error
        if failed is not None:
            raise failed
        observations, rewards, terminations, truncations, infos = zip(*parts, strict=True)
        for info in infos:
            del info[ENV_ID], info[f"_{ENV_ID}"]
        return (
            _joined(observations),
            np.concatenate(rewards),
            np.concatenate(terminations),
            np.concatenate(truncations),
            self._joined_infos(infos),
        )

    def step(self, actions: Any) -> Result:
        self.step_async(actions)
        return self.step_wait()

    def _joined_infos(self, infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
        names = dict.fromkeys(name for info in infos for name in info)
        joined: dict[str, Any] = {}
        for name in names:
            if any(isinstance(info.get(name), dict) for info in infos):  # `final_info`
                joined[name] = self._joined_infos([info.get(name, {}) for info in infos])
                continue
            like = next(info[name] for info in infos if name in info)
            joined[name] = np.concatenate(
                [
                    info[name]
                    if name in info
                    else np.full(
                        (len(ids), *like.shape[1:]), None if like.dtype == object else 0, like.dtype
                    )
                    for info, ids in zip(infos, self.groups, strict=True)
                ]
            )
        return joined

    # Per sub-environment.

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything that the futures of all episodes depend on; see `VectorEnv.get_state`."""
        self._finish()
        parts = [member.get_state() for member in self._members]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def set_state(self, state: dict[str, Any]) -> Any:
        """Write a result of `get_state`, or some of its entries; see `VectorEnv.set_state`."""
        self._finish()
        checked = check_state(state, self.get_state(), np.arange(self.num_envs))
        parts = []
        for ids, member in zip(self.groups, self._members, strict=True):
            parts.append(member.set_state({name: value[ids] for name, value in checked.items()}))
        return _joined(parts)

    def rollout(self, states: dict[str, Any], actions: Any, **options: bool) -> Rollouts:
        """Rewards of action sequences from given states; see `VectorEnv.rollout`."""
        return self._members[0].rollout(states, actions, **options)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        self._finish()
        return tuple(x for m in self._members for x in m.call(name, *args, **kwargs))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        self._finish()
        return tuple(x for member in self._members for x in member.get_attr(name))

    def set_attr(self, name: str, values: Any) -> None:
        self._finish()
        if name == "np_random":  # the first group refuses all others
            values = generator_list(name, values, self.num_envs)
        for ids, member in zip(self.groups, self._members, strict=True):
            member.set_attr(name, [values[i] for i in ids] if name == "np_random" else values)

    def render(self) -> tuple[np.ndarray, ...] | None:
        self._finish()
        parts = [member.render() for member in self._members]
        return None if parts[0] is None else tuple(x for part in parts if part for x in part)

    def close_extras(self, **kwargs: Any) -> None:
        if "_worker" in vars(self):  # unless the constructor has raised
            self._worker.shutdown()
            self._sent.clear()
            for member in self._members:
                member.close()

    def _finish(self) -> None:
        self._check_open()
        if self._sent:
            self._members[0].check_usable()  # in a fork they would never finish
        while self._sent:
            self._sent.popleft()[1].exception()

    @property
    def uncompiled(self) -> str:
        """The reason why hooks run on arrays; empty with a compiled step."""
        return self._members[0].uncompiled

    @property
    def in_numpy(self) -> dict[str, str]:
        """Why a compiled step leaves some hooks to NumPy, by hook."""
        return self._members[0].in_numpy

    @property
    def spec(self) -> Any:
        return self._members[0].spec

    @spec.setter
    def spec(self, spec: Any) -> None:
        for member in self._members:
            member.spec = spec

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: the groups."""
        self._check_open()
        if self._sent:
            raise RuntimeError(f"group {self._sent[0][0]} is stepping; receive its results first")
        return {"members": self._members}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.closed = True
        self._adopt(pickled["members"])


def _seconds(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    if not (isinstance(timeout, int | float | np.number) and timeout >= 0):
        raise ValueError(f"timeout: expected seconds or None, got {timeout!r}")
    return None if timeout > threading.TIMEOUT_MAX else float(timeout)


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], dict):
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return np.concatenate(list(parts))
