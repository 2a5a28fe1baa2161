"""Ray actors of a distributed run, samplers and trainer, and their messages.

They are plain classes; `cluster` turns them into Ray actors.
"""

import contextlib
import dataclasses
import functools
import os
import queue
import re
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies.run_errors import ConfigError, DivergedError, RunError
from mjgym_train.config import DAggerConfig, OfflineSettings, OffPolicyConfig
from mjgym_train.learn import algorithms
from mjgym_train.learn.algorithms.a3c import A3C
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.buffer import Batch, ReplayBuffer
from mjgym_train.learn.collector import Collector, Transition
from mjgym_train.learn.exploration import Exploration
from mjgym_train.learn.off_policy import OffPolicyTrainer
from mjgym_train.learn.on_policy import OnPolicyTrainer
from mjgym_train.learn.trainer import Progress, Trainer
from mjgym_train.run import Run

FRAGMENT_STEPS = 32  # of each sub-environment
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Fragment:
    """Steps of a sampler, for the trainer."""

    life: str  # of the sampler; fragments of another life do not continue this one
    steps: Arrays  # entries of `Transition`, each with a leading axis of steps
    returns: list[list[float]]  # of the episodes that ended in each step
    diverged: np.ndarray  # whose episodes each step has ended as a divergence, (steps, n) bool


@dataclass(frozen=True)
class Unroll:
    """Gradient of a worker's unroll, for the trainer of A3C."""

    gradients: list[np.ndarray]  # of the optimiser's parameters
    losses: dict[str, float]
    observations: np.ndarray  # (steps * n, size)
    returns: list[float]  # of the episodes that ended
    ends: list[tuple[np.ndarray, np.ndarray]]  # (n,) bool of each step: ended, and diverged


@dataclass(frozen=True)
class Report:
    """Progress message from the trainer to the process that started the run."""

    progress: Progress  # of the run
    files: dict[str, bytes]  # new contents of the run folder, by path
    error: DivergedError | None = None  # that ended the run


def distributed_algorithm(name: str) -> type[OffPolicyAgent] | type[A3C]:
    """Look up an algorithm that learns from samplers."""
    found = algorithms.find(name)
    offline = issubclass(found.Config, OfflineSettings)
    if issubclass(found, OffPolicyAgent | A3C) and not offline:
        return found
    reason = "a dataset alone, without samplers"
    if issubclass(found.Config, DAggerConfig):
        reason = "a script, which it asks in one process"
    elif not offline:
        reason = (
            "its own latest steps, not from samplers', which would wait for each update as one"
            " process with more threads does"
        )
    raise ConfigError(
        f"algorithm: {name} learns from {reason}; td3, ddpg, d4pg, sac, dqn and rainbow learn from"
        " a replay buffer, a3c from samplers' gradients"
    )


class Sampler:
    """Sub-environments that act; as a Ray actor, in a separate process.

    The run's seed, its index and the steps so far determine the seeds.
    """

    def __init__(self, config: Any, index: int, setup: Callable[[], None] | None) -> None:
        if setup is not None:
            setup()
        self._config, self._index = config, index
        self._algorithm = distributed_algorithm(config.algorithm)
        self._life = uuid.uuid4().hex
        self._acting: Any = None  # trainer of which only the acting is used

    def _seeded(self, env_step: int) -> Any:
        seeds = np.random.SeedSequence((self._config.seed, self._index, env_step))
        seed = int(seeds.generate_state(1)[0])
        return dataclasses.replace(self._config, seed=seed, torch_threads=1, start_from="")

    def collect(self, policy: Arrays, env_step: int) -> tuple[Fragment, None]:
        """Collect a fragment; also returns None, whose arrival signals completion cheaply."""
        config = self._config
        if self._acting is None:
            own = dataclasses.replace(self._seeded(env_step), data="", demonstrations=None)
            self._acting = OffPolicyTrainer(Run(os.devnull), own, self._algorithm)
        acting = self._acting
        acting.env_step = env_step
        acting.agent.load_state_dict(_tensors(policy), strict=False)
        for module in acting.agent.modules():
            if isinstance(module, Exploration):  # its schedule is the whole run's
                share = len(module.strategies) / config.num_envs
                module.steps.fill_(int(env_step * share) // config.action_repeat)
        steps, returns, diverged = [], [], []
        for _ in range(FRAGMENT_STEPS):
            steps.append(vars(acting.interact(acting.action())))
            returns.append(acting.collector.returns)
            diverged.append(acting.collector.diverged.numpy())
        arrays = {name: torch.stack([step[name] for step in steps]).numpy() for name in steps[0]}
        return Fragment(self._life, arrays, returns, np.stack(diverged)), None


class Worker(Sampler):
    """A worker of A3C: acts for an unroll, and returns its gradient."""

    def collect(self, policy: Arrays, env_step: int) -> tuple[Any, None]:
        if self._acting is None:
            own = self._seeded(env_step)
            self._acting = OnPolicyTrainer(Run(os.devnull), own, self._algorithm)
        acting = self._acting
        acting.agent.load_state_dict(_tensors(policy))
        seen, returns, ends = [], [], []
        for _ in range(self._config.rollout_steps):
            transition = acting.act()
            seen.append(acting.collector.observation.numpy().copy())
            returns += acting.collector.returns
            ends.append((transition.ended.numpy(), acting.collector.diverged.numpy()))
        loss, metrics = acting.agent.rollout_loss(acting.taken())
        gradients = acting.agent.gradients(acting.agent.optimizer, loss)
        return Unroll(
            [gradient.numpy() for gradient in gradients],
            {name: float(value) for name, value in metrics.items()},
            np.concatenate(seen),
            returns,
            ends,
        ), None


def weights(agent: nn.Module) -> Arrays:
    """Weights needed for acting: actors, encoders and observation statistics."""
    not_sent = re.compile(r"(^|\.)(critics|target_\w+|exploration)\.")
    values = agent.state_dict().items()
    return {name: value.numpy().copy() for name, value in values if not not_sent.search(name)}


_PLACES = 2**40  # more than there are in a buffer


class Shards:
    """A replay buffer per sampler, sampled as one."""

    def __init__(self, buffers: list[ReplayBuffer]) -> None:
        self._buffers = buffers
        self._chosen = 0  # the sampler that adds steps

    def __len__(self) -> int:
        return sum(map(len, self._buffers))

    def choose(self, sampler: int, *, begun: bool) -> None:
        """Select the sampler that adds the next steps; if begun, they continue no earlier ones."""
        self._chosen = sampler
        if begun:
            self._buffers[sampler].cut()

    def add(self, **step: Tensor) -> None:
        self._buffers[self._chosen].add(**step)

    def sample(self, count: int) -> Batch:
        stored = torch.tensor([float(len(buffer)) for buffer in self._buffers])
        drawn = torch.multinomial(stored, count, replacement=True)
        counts = drawn.bincount(minlength=len(stored)).tolist()
        parts = [self._from(k, n) for k, n in enumerate(counts) if n]
        return functools.reduce(Batch.beside, parts).at(torch.randperm(count))

    def _from(self, k: int, count: int) -> Batch:
        batch = self._buffers[k].sample(count)
        shift = k * _PLACES
        return batch if batch.place is None else replace(batch, place=batch.place + shift)

    def prioritize(self, places: Tensor, losses: Tensor) -> None:
        """Take losses of drawn transitions as their priorities."""
        for k, buffer in enumerate(self._buffers):
            own = places // _PLACES == k
            buffer.prioritize(places[own] % _PLACES, losses[own])

    def state_dict(self) -> dict[str, Any]:
        return {"shards": [buffer.state_dict() for buffer in self._buffers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take the contents of as many buffers."""
        if len(state["shards"]) != len(self._buffers):
            raise RunError(
                f"the checkpoint holds transitions of {len(state['shards'])} samplers, not of "
                f"{len(self._buffers)}: go on with as many"
            )
        for buffer, content in zip(self._buffers, state["shards"], strict=True):
            buffer.load_state_dict(content)


class RemoteCollector(Collector):
    """Collector that takes its steps from the samplers of other processes, in the order of arrival.

    A step is `begun` if it is the first in the life of its sampler.
    """

    def __init__(self, config: Any, samplers: int, take: Callable[[], tuple[int, Any]]) -> None:
        # A few idle sub-environments provide the spaces.
        agents = len(getattr(config, "ensemble", ()))
        super().__init__(dataclasses.replace(config, num_envs=agents or 1, threads=1))
        self._samplers, self._take = samplers, take
        self._lives: dict[int, str] = {}
        self._left: Iterator[tuple[Transition, list[float], Tensor]] = iter(())
        self.sampler, self.begun = 0, False

    def step(self, action: Tensor) -> Transition:
        """The next step of a sampler, which chose the action itself."""
        self.begun = False
        step = next(self._left, None)
        if step is None:
            self.sampler, fragment = self._take()
            self.begun = self._lives.get(self.sampler) != fragment.life
            self._lives[self.sampler] = fragment.life
            self._left = _steps(fragment)
            step = next(self._left)
        transition, self.returns, self.diverged = step
        self.stack = transition.observation[:, None]
        return transition

    def state_dict(self) -> dict[str, Any]:
        return {"samplers": self._samplers}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if "samplers" not in state:
            raise RunError("the run acted in its own process: go on with it without --ray")


def _steps(fragment: Fragment) -> Iterator[tuple[Transition, list[float], Tensor]]:
    steps, diverged = _tensors(fragment.steps), torch.from_numpy(np.array(fragment.diverged))
    for k, returns in enumerate(fragment.returns):
        transition = Transition(**{name: value[k] for name, value in steps.items()})
        yield transition, returns, diverged[k]


class _FromSamplers(Trainer):
    """A run that learns from messages of samplers."""

    def __init__(self, run: Run, config: Any, samplers: int, take: Any, *, resume: bool) -> None:
        self._samplers, self._take = samplers, take
        algorithm: Any = distributed_algorithm(config.algorithm)
        super().__init__(run, config, algorithm, resume=resume)

    def make_collector(self) -> Collector:
        return RemoteCollector(self.config, self._samplers, self._take)

    def about(self) -> dict[str, Any]:
        return {**super().about(), "samplers": self._samplers}


class Learner(_FromSamplers, OffPolicyTrainer):
    """A run that learns from the steps of samplers."""

    collector: RemoteCollector
    buffer: Shards

    def make_buffer(self) -> Shards:
        size = self.config.buffer_size // self._samplers
        return Shards([self.replay(size) for _ in range(self._samplers)])

    def action(self) -> Tensor:
        return torch.empty(0)

    def interact(self, action: Tensor) -> Transition:
        transition = super().interact(action)
        self.buffer.choose(self.collector.sampler, begun=self.collector.begun)
        return transition


class AsynchronousLearner(_FromSamplers, OnPolicyTrainer):
    """A run of A3C: applies the gradients of workers in the order in which they come."""

    agent: A3C

    def step(self) -> None:
        config = self.config
        self.collector.sampler, unroll = self._take()
        gradients = [torch.from_numpy(np.array(part)) for part in unroll.gradients]
        self.agent.descend(self.agent.optimizer, gradients, config.max_gradient_norm)
        self.agent.normalizer.update(torch.from_numpy(np.array(unroll.observations)))
        self.updates += 1
        self.env_step += len(unroll.observations) * config.action_repeat
        self._ended += unroll.returns
        self.note({name: torch.tensor(value) for name, value in unroll.losses.items()})
        for ended, diverged in unroll.ends:
            self.collector.diverged = torch.from_numpy(np.array(diverged))
            if ended.any():
                self._count_diverged(torch.from_numpy(np.array(ended)))


class TrainerActor:
    """The trainer as a Ray actor: one call learns while others deliver fragments.

    The run's files are in a temporary folder; each call returns those that have changed.
    """

    def __init__(self, samplers: int, setup: Callable[[], None] | None) -> None:
        if setup is not None:
            setup()
        self._samplers = samplers
        self._fragments: queue.Queue[tuple[int, Fragment]] = queue.Queue(samplers)
        self._ended = False  # fragments are of use no more
        self._folder = tempfile.TemporaryDirectory(prefix="mjgym-run-")
        self._sent: dict[str, tuple[int, int]] = {}  # time in ns and size of each file
        self._lock = threading.Lock()
        self._begun = threading.Event()
        self._learner: Learner | AsynchronousLearner
        self._weights: Arrays
        self._progress: Progress

    def train(self, config: OffPolicyConfig, files: dict[str, bytes], resume: bool) -> Report:
        """Train until the budget is spent or `stop` is called."""
        folder = Path(self._folder.name)
        try:
            for name, content in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
            self._new_files()  # mark them as known
            asynchronous = issubclass(distributed_algorithm(config.algorithm), A3C)
            learner: Any = AsynchronousLearner if asynchronous else Learner
            self._learner = learner(Run(folder), config, self._samplers, self._take, resume=resume)
            self._publish()
            self._begun.set()
            error = None
            try:
                self._learner.train()
            except DivergedError as diverged:
                error = diverged
            self._ended = True
            with contextlib.suppress(queue.Empty):
                while True:  # so that none waits for room
                    self._fragments.get_nowait()
            self._sent.clear()  # resend all: messages in flight may be lost
            return Report(self._learner.progress(), self._new_files(), error)
        finally:
            with self._lock:
                self._folder.cleanup()

    def exchange(self, index: int, fragment: Fragment | None) -> tuple[Report, Arrays]:
        """Accept a fragment once there is room; returns the newest policy."""
        self._begun.wait()
        if fragment is not None and not self._ended:
            self._fragments.put((index, fragment))
        return Report(self._progress, self._new_files()), self._weights

    def stop(self) -> None:
        self._begun.wait()
        self._learner.stop()

    def _take(self) -> tuple[int, Fragment]:
        self._publish()
        return self._fragments.get()

    def _publish(self) -> None:
        self._weights = weights(self._learner.agent)
        self._progress = self._learner.progress()

    def _new_files(self) -> dict[str, bytes]:
        folder = Path(self._folder.name)
        found = {}
        with self._lock:
            for path in folder.rglob("[!.]*"):
                about, name = path.stat(), path.relative_to(folder).as_posix()
                state = about.st_mtime_ns, about.st_size
                if path.is_file() and self._sent.get(name) != state:
                    self._sent[name] = state
                    found[name] = path.read_bytes()
        return found


def _tensors(arrays: Arrays) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
