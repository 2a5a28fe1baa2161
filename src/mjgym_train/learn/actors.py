"""Actors of a distributed run, samplers and trainer, and the messages between them.

They are plain classes, which `cluster` makes actors of Ray.
"""

import dataclasses
import functools
import os
import queue
import re
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies.run_errors import ConfigError, DivergedError, RunError
from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn import algorithms
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.buffer import Batch, ReplayBuffer
from mjgym_train.learn.collector import Collector, Transition
from mjgym_train.learn.exploration import Exploration
from mjgym_train.learn.off_policy import OffPolicyTrainer
from mjgym_train.learn.trainer import Progress
from mjgym_train.run import Run

FRAGMENT_STEPS = 32  # of each sub-environment
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Fragment:
    """Steps of a sampler, for the trainer.

    Args:
        life: of the sampler; another one's fragments do not follow on this one's.
        steps: entries of `Transition`, each with a leading axis of steps.
        returns: of the episodes that ended in each step.
        diverged: whose episodes each step has ended as a divergence, (steps, n) bool.
    """

    life: str
    steps: Arrays
    returns: list[list[float]]
    diverged: np.ndarray


@dataclass(frozen=True)
class Report:
    """Message of the trainer to the process that began the run.

    Args:
        progress: how far the run is.
        files: what is new in the run's folder, by path.
        error: by which the run has ended.
    """

    progress: Progress
    files: dict[str, bytes]
    error: DivergedError | None = None


def off_policy_algorithm(name: str) -> type[OffPolicyAgent]:
    """The algorithm of a name, which learns from a replay buffer.

    Raises:
        ConfigError: there is none of that name, or it learns from its own latest steps.
    """
    found = algorithms.find(name)
    if not issubclass(found, OffPolicyAgent):
        raise ConfigError(
            f"algorithm: {name} learns from its own latest steps, not from samplers'; td3, ddpg,"
            " d4pg and sac learn from a replay buffer"
        )
    return found


class Sampler:
    """Sub-environments that act; as an actor, a process of its own.

    Args:
        config: settings of the run; `num_envs` are the sampler's own.
        index: of the sampler; its seeds follow from it, the run's seed and the steps so far.
        setup: called first, to register tasks, for example.
    """

    def __init__(
        self, config: OffPolicyConfig, index: int, setup: Callable[[], None] | None
    ) -> None:
        if setup is not None:
            setup()
        self._config, self._index = config, index
        self._algorithm = off_policy_algorithm(config.algorithm)
        self._life = uuid.uuid4().hex
        self._acting: OffPolicyTrainer | None = None

    def collect(self, policy: Arrays, env_step: int) -> tuple[Fragment, None]:
        """Act for some steps.

        Args:
            policy: its `weights`.
            env_step: steps of all samplers so far.

        Returns:
            The fragment, and None, by which its end is seen without the fragment itself.
        """
        config = self._config
        if self._acting is None:
            seeds = np.random.SeedSequence((config.seed, self._index, env_step))
            seed = int(seeds.generate_state(1)[0])
            own = dataclasses.replace(
                config, seed=seed, torch_threads=1, data="", demonstrations=None
            )
            self._acting = OffPolicyTrainer(Run(os.devnull), own, self._algorithm)  # only acts
        acting = self._acting
        acting.env_step = env_step
        acting.agent.load_state_dict(_tensors(policy), strict=False)
        for module in acting.agent.modules():
            if isinstance(module, Exploration):  # whose schedule is the whole run's
                share = len(module.strategies) / config.num_envs
                module.steps.fill_(int(env_step * share) // config.action_repeat)
        steps, returns, diverged = [], [], []
        for _ in range(FRAGMENT_STEPS):
            steps.append(vars(acting.interact(acting.action())))
            returns.append(acting.collector.returns)
            diverged.append(acting.collector.diverged.numpy())
        arrays = {name: torch.stack([step[name] for step in steps]).numpy() for name in steps[0]}
        return Fragment(self._life, arrays, returns, np.stack(diverged)), None


def weights(agent: nn.Module) -> Arrays:
    """Weights that acting needs: actors, encoders and statistics of observations."""
    found = {}
    for name, value in agent.state_dict().items():
        if not _NOT_SENT.search(name):
            found[name] = value.numpy().copy()
    return found


_NOT_SENT = re.compile(r"(^|\.)(critics|target_\w+|exploration)\.")


class Shards:
    """A replay buffer for each sampler, from which is drawn as if they were one.

    Args:
        buffers: of the samplers.
    """

    def __init__(self, buffers: list[ReplayBuffer]) -> None:
        self._buffers = buffers
        self._chosen = 0  # the sampler whose steps are added

    def __len__(self) -> int:
        """Transitions that can be drawn."""
        return sum(map(len, self._buffers))

    def choose(self, sampler: int, *, begun: bool) -> None:
        """Say whose steps are added next.

        Args:
            sampler: its index.
            begun: whether it has just begun, so that they do not follow on those before.
        """
        self._chosen = sampler
        if begun:
            self._buffers[sampler].cut()

    def add(self, **step: Tensor) -> None:
        """Store a step of the sub-environments of the sampler that is chosen."""
        self._buffers[self._chosen].add(**step)

    def sample(self, count: int) -> Batch:
        """Transitions drawn uniformly from all that are stored, in random order."""
        stored = torch.tensor([float(len(buffer)) for buffer in self._buffers])
        drawn = torch.multinomial(stored, count, replacement=True)
        counts = drawn.bincount(minlength=len(stored)).tolist()
        parts = [buffer.sample(n) for buffer, n in zip(self._buffers, counts, strict=True) if n]
        return functools.reduce(Batch.beside, parts).at(torch.randperm(count))

    def state_dict(self) -> dict[str, Any]:
        """Contents, for a checkpoint."""
        return {"shards": [buffer.state_dict() for buffer in self._buffers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Store again what `state_dict` gave.

        Raises:
            RunError: there were more samplers, or fewer.
        """
        if len(state["shards"]) != len(self._buffers):
            raise RunError(
                f"the checkpoint holds transitions of {len(state['shards'])} samplers, not of "
                f"{len(self._buffers)}: go on with as many"
            )
        for buffer, content in zip(self._buffers, state["shards"], strict=True):
            buffer.load_state_dict(content)


class RemoteCollector(Collector):
    """Steps that samplers took elsewhere, one after the other, in place of own ones.

    Args:
        config: settings of the run.
        samplers: how many there are.
        take: gives the next fragment and its sampler's index, waiting for it.

    Attributes:
        sampler: index of the one that took the last step.
        begun: whether that was the first step of its life.
    """

    def __init__(
        self, config: OffPolicyConfig, samplers: int, take: Callable[[], tuple[int, Fragment]]
    ) -> None:
        # Few sub-environments, which stay at their start, know the spaces.
        super().__init__(dataclasses.replace(config, num_envs=len(config.ensemble) or 1, threads=1))
        self._samplers, self._take = samplers, take
        self._lives: dict[int, str] = {}
        self._left: Iterator[tuple[Transition, list[float], Tensor]] = iter(())
        self.sampler, self.begun = 0, False

    def step(self, action: Tensor) -> Transition:
        """The next step of a sampler, which has chosen the action itself."""
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
        """Sampler count; the samplers themselves start over."""
        return {"samplers": self._samplers}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See that the run had samplers.

        Raises:
            RunError: it had none.
        """
        if "samplers" not in state:
            raise RunError("the run acted in its own process: go on with it without --ray")


def _steps(fragment: Fragment) -> Iterator[tuple[Transition, list[float], Tensor]]:
    steps, diverged = _tensors(fragment.steps), torch.from_numpy(np.array(fragment.diverged))
    for k, returns in enumerate(fragment.returns):
        transition = Transition(**{name: value[k] for name, value in steps.items()})
        yield transition, returns, diverged[k]


class Learner(OffPolicyTrainer):
    """A run that learns from the steps of samplers.

    Args:
        run: its folder.
        config: settings; `num_envs` are each sampler's.
        samplers: how many there are.
        take: gives the next fragment and its sampler's index, waiting for it. Between two calls the
            agent learns.
        resume: go on from the checkpoint, if there is one.
    """

    collector: RemoteCollector
    buffer: Shards

    def __init__(
        self,
        run: Run,
        config: OffPolicyConfig,
        *,
        samplers: int,
        take: Callable[[], tuple[int, Fragment]],
        resume: bool,
    ) -> None:
        self._samplers, self._take = samplers, take
        super().__init__(run, config, off_policy_algorithm(config.algorithm), resume=resume)

    def make_collector(self) -> RemoteCollector:
        """Take the steps of samplers in place of own ones."""
        return RemoteCollector(self.config, self._samplers, self._take)

    def make_buffer(self) -> Shards:
        """A part of the buffer for each sampler."""
        size = self.config.buffer_size // self._samplers
        return Shards([self.replay(size) for _ in range(self._samplers)])

    def about(self) -> dict[str, Any]:
        """Fingerprint of the run, with the number of samplers."""
        return {**super().about(), "samplers": self._samplers}

    def action(self) -> Tensor:
        """None: samplers choose theirs."""
        return torch.empty(0)

    def interact(self, action: Tensor) -> Transition:
        """Take the next step of a sampler; the buffer's part is then the sampler's."""
        transition = super().interact(action)
        self.buffer.choose(self.collector.sampler, begun=self.collector.begun)
        return transition


class TrainerActor:
    """The trainer as an actor: it learns in one call, beside which others bring fragments.

    It has a folder of its own; what is new in that goes back with every call.

    Args:
        samplers: how many there are.
        setup: called first, to register tasks, for example.
    """

    def __init__(self, samplers: int, setup: Callable[[], None] | None) -> None:
        if setup is not None:
            setup()
        self._samplers = samplers
        self._fragments: queue.Queue[tuple[int, Fragment]] = queue.Queue(samplers)
        self._folder = tempfile.TemporaryDirectory(prefix="mjgym-run-")
        self._sent: dict[str, tuple[int, int]] = {}  # time in ns and size of each file
        self._lock = threading.Lock()
        self._begun = threading.Event()
        self._learner: Learner
        self._weights: Arrays
        self._progress: Progress

    def train(self, config: OffPolicyConfig, files: dict[str, bytes], resume: bool) -> Report:
        """Train until the budget is spent, or until `stop`.

        Args:
            config: settings of the run.
            files: what is in the run's folder so far.
            resume: go on from the checkpoint, if there is one.
        """
        folder = Path(self._folder.name)
        try:
            for name, content in files.items():
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_bytes(content)
            self._new_files()  # are known
            self._learner = Learner(
                Run(folder), config, samplers=self._samplers, take=self._take, resume=resume
            )
            self._publish()
            self._begun.set()
            error = None
            try:
                self._learner.train()
            except DivergedError as diverged:
                error = diverged
            self._sent.clear()  # all again: what is under way may not arrive
            return Report(self._learner.progress(), self._new_files(), error)
        finally:
            with self._lock:
                self._folder.cleanup()

    def exchange(self, index: int, fragment: Fragment | None) -> tuple[Report, Arrays]:
        """Take a fragment, as soon as there is room for it, and give the newest policy.

        Args:
            index: of its sampler.
            fragment: None for a sampler that only begins.
        """
        self._begun.wait()
        if fragment is not None:
            self._fragments.put((index, fragment))
        return Report(self._progress, self._new_files()), self._weights

    def stop(self) -> None:
        """Let the run end after the step that it is in."""
        self._begun.wait()
        self._learner.stop()

    def _take(self) -> tuple[int, Fragment]:
        self._publish()
        return self._fragments.get()

    def _publish(self) -> None:
        """Copy the policy as it is between two updates."""
        self._weights = weights(self._learner.agent)
        self._progress = self._learner.progress()

    def _new_files(self) -> dict[str, bytes]:
        folder = Path(self._folder.name)
        found = {}
        with self._lock:
            for path in folder.rglob("[!.]*"):
                about = path.stat()
                name, state = (
                    path.relative_to(folder).as_posix(),
                    (about.st_mtime_ns, about.st_size),
                )
                if path.is_file() and self._sent.get(name) != state:
                    self._sent[name] = state
                    found[name] = path.read_bytes()
        return found


def _tensors(arrays: Arrays) -> dict[str, Tensor]:
    """Copies as tensors: what Ray hands over is read-only."""
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
