"""Training over many machines: samplers that act and a trainer that learns, as Ray actors.

A sampler acts in sub-environments of its own by the policy that it was last given, and hands over
what came of it, a fragment of some steps. The trainer stores the fragments of all samplers, learns
as often as the settings say for each of their steps, and gives its policy in return. Both go
through Ray's object store. The process that began the run passes them on, replaces what dies, and
keeps the run's folder.
"""

import contextlib
import dataclasses
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

from mjgym import atomic
from mjgym.train import algorithms
from mjgym.train.buffer import Batch, ReplayBuffer
from mjgym.train.collector import Collector, Transition
from mjgym.train.config import Config, OffPolicyConfig
from mjgym.train.errors import ConfigError, DivergedError, RunError
from mjgym.train.exploration import Exploration
from mjgym.train.off_policy import OffPolicyTrainer
from mjgym.train.run import Run
from mjgym.train.trainer import Progress, signalled

FRAGMENT_STEPS = 32  # of each sub-environment
ATTEMPTS = 4  # an actor that dies so often without getting on dies of what it does
TRAINER = "the trainer"

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Fragment:
    """What a sampler did, for the trainer.

    Args:
        life: of the sampler; another one's fragments do not follow on this one's.
        steps: entries of `Transition`, each with a leading axis of steps.
        returns: of the episodes that ended in each step.
    """

    life: str
    steps: Arrays
    returns: list[list[float]]


@dataclass(frozen=True)
class Report:
    """What the trainer tells the process that began the run.

    Args:
        progress: how far the run is.
        files: what is new in the run's folder, by path.
        error: by which the run has ended.
    """

    progress: Progress
    files: dict[str, bytes]
    error: DivergedError | None = None


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
            own = dataclasses.replace(config, seed=seed, torch_threads=1)
            self._acting = OffPolicyTrainer(Run(os.devnull), own)  # which only acts
        acting = self._acting
        acting.env_step = env_step
        acting.agent.load_state_dict(_tensors(policy), strict=False)
        for module in acting.agent.modules():
            if isinstance(module, Exploration):  # whose schedule is the whole run's
                share = len(module.strategies) / config.num_envs
                module.steps.fill_(int(env_step * share))
        steps, returns = [], []
        for _ in range(FRAGMENT_STEPS):
            steps.append(vars(acting.interact(acting.action())))
            returns.append(acting.collector.returns)
        arrays = {name: torch.stack([step[name] for step in steps]).numpy() for name in steps[0]}
        return Fragment(self._life, arrays, returns), None


def weights(agent: nn.Module) -> Arrays:
    """What acting depends on and learning changes: actors, encoders, statistics of observations."""
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
        parts = [
            vars(buffer.sample(n)) for buffer, n in zip(self._buffers, counts, strict=True) if n
        ]
        order = torch.randperm(count)
        return Batch(**{k: torch.cat([part[k] for part in parts])[order] for k in parts[0]})

    def state_dict(self) -> dict[str, Any]:
        """What is stored."""
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
        self._left: Iterator[tuple[Transition, list[float]]] = iter(())
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
        transition, self.returns = step
        self.stack = transition.observation[:, None]
        return transition

    def state_dict(self) -> dict[str, Any]:
        """How many samplers there are; they begin anew."""
        return {"samplers": self._samplers}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See that the run had samplers.

        Raises:
            RunError: it had none.
        """
        if "samplers" not in state:
            raise RunError("the run acted in its own process: go on with it without --ray")


def _steps(fragment: Fragment) -> Iterator[tuple[Transition, list[float]]]:
    steps = _tensors(fragment.steps)
    for k, returns in enumerate(fragment.returns):
        yield Transition(**{name: value[k] for name, value in steps.items()}), returns


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
        super().__init__(run, config, resume=resume)

    def make_collector(self) -> RemoteCollector:
        """Take the steps of samplers in place of own ones."""
        return RemoteCollector(self.config, self._samplers, self._take)

    def make_buffer(self) -> Shards:
        """A part of the buffer for each sampler."""
        size = self.config.buffer_size // self._samplers
        return Shards([self.replay(size) for _ in range(self._samplers)])

    def about(self) -> dict[str, Any]:
        """What the results depend on beside the settings."""
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


class ClusterTrainer:
    """A run whose samplers and trainer are actors of a Ray cluster; see the module.

    Args:
        run: folder that the run was created in, on this machine.
        config: its settings; `num_envs` and `threads` are each sampler's.
        samplers: how many act.
        address: of the cluster, as `ray.init` takes it; by default the one in RAY_ADDRESS, or a new
            one on this machine alone.
        resume: go on from the checkpoint, if there is one.
        show: called with the progress, once in a while.
        setup: called first in every process, to register tasks, for example.

    Raises:
        ConfigError: the algorithm does not learn from a replay buffer.
        RunError: Ray is not installed.
    """

    def __init__(
        self,
        run: Run,
        config: Config,
        *,
        samplers: int = 2,
        address: str | None = None,
        resume: bool = False,
        show: Callable[[Progress], None] | None = None,
        setup: Callable[[], None] | None = None,
    ) -> None:
        if algorithms.find(config.algorithm).Trainer is not OffPolicyTrainer:
            raise ConfigError(
                f"algorithm: {config.algorithm} does not learn from what other policies did, as "
                "samplers' are; td3, ddpg, d4pg and sac do"
            )
        self._ray = _ray()
        self.run_folder = run
        self._config: Any = dataclasses.replace(config, threads=config.threads or 1)
        self._address, self._resume = address, resume
        self._show = show or (lambda progress: None)
        self._setup = setup
        self._count = samplers
        self.samplers: list[Any] = []  # handles of the actors
        self.trainer: Any = None
        self._training: Any = None  # what the trainer's call gives in the end
        self._under_way: dict[Any, Callable[[Any], None]] = {}  # other calls, what follows on each
        self._env_step = 0
        self._deaths: dict[str, int] = {}  # of each since it last got on
        self._stop = False

    def stop(self) -> None:
        """Let the run end, and keep its state."""
        self._stop = True

    def train(self) -> Progress:
        """Train until the budget is spent, or until SIGINT or SIGTERM, and keep the state.

        A second SIGINT interrupts at once.

        Raises:
            ConfigError: the settings do not fit the task.
            DivergedError: a loss is not finite; the last checkpoint is kept.
            RunError: there is no such cluster, it is too small, or an actor dies again and again.
        """
        config, ray = self._config, self._ray
        cpus = self._count * config.threads + config.torch_threads
        shared = ray.is_initialized()
        with _connected(ray, self._address, cpus), signalled(self.stop):
            try:
                self._make_trainer(self._resume)
                self.samplers = [self._make_sampler(index) for index in range(self._count)]
                for index in range(self._count):
                    self._exchange(index, None)
                return self._supervise()
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            finally:
                if shared:  # otherwise they end with the connection
                    for actor in (*self.samplers, self.trainer):
                        ray.kill(actor)

    def _make_sampler(self, index: int) -> Any:
        sampler = self._ray.remote(Sampler)
        options = {"num_cpus": self._config.threads, "scheduling_strategy": "SPREAD"}
        return sampler.options(**options).remote(self._config, index, self._setup)

    def _make_trainer(self, resume: bool) -> None:
        """Make the trainer and let it learn."""
        trainer = self._ray.remote(TrainerActor)
        # Beside the samplers' exchanges it learns, and hears that it shall stop.
        options = {"num_cpus": self._config.torch_threads, "max_concurrency": self._count + 2}
        self.trainer = trainer.options(**options).remote(self._count, self._setup)
        folder = self.run_folder.path
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("[!.]*")
            if path.is_file()
        }
        self._training = self.trainer.train.remote(self._config, files, resume)

    def _supervise(self) -> Progress:
        ray, told = self._ray, None
        while True:
            if self._stop and told is not self.trainer:
                told = self.trainer
                told.stop.remote()
            ready, _ = ray.wait([self._training, *self._under_way], timeout=0.5)
            if self._training in ready:
                try:
                    report = ray.get(self._training)
                except ray.exceptions.RayActorError as error:
                    self._died(TRAINER, self.trainer, error)
                    self._make_trainer(resume=True)
                else:
                    self._note(report)
                    if report.error is not None:
                        raise report.error
                    return report.progress  # type: ignore[no-any-return]
            elif ready:
                self._under_way.pop(ready[0])(ready[0])

    def _died(self, name: str, actor: Any, error: Exception) -> None:
        """Count a death, and see that the actor is gone indeed.

        Raises:
            RunError: it has died several times, and done nothing in between.
        """
        self._deaths[name] = self._deaths.get(name, 0) + 1
        if self._deaths[name] == ATTEMPTS:
            raise RunError(f"{name} has died {ATTEMPTS} times without getting on: {error}")
        self._ray.kill(actor)

    # Each sampler acts and exchanges by turns.

    def _exchange(self, index: int, fragment: Any) -> None:
        exchange = self.trainer.exchange.options(num_returns=2)
        report, weights = exchange.remote(index, fragment)
        self._under_way[report] = lambda done: self._exchanged(index, done, weights)

    def _exchanged(self, index: int, report: Any, weights: Any) -> None:
        try:
            self._note(self._ray.get(report))
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError:  # the trainer has died, or the fragment is lost
            self._exchange(index, None)
            return
        collect = self.samplers[index].collect.options(num_returns=2)
        fragment, done = collect.remote(weights, self._env_step)
        self._under_way[done] = lambda done: self._collected(index, done, fragment)

    def _collected(self, index: int, done: Any, fragment: Any) -> None:
        name = f"sampler {index}"
        try:
            self._ray.get(done)
        except self._ray.exceptions.RayActorError as error:
            self._died(name, self.samplers[index], error)
            self.samplers[index] = self._make_sampler(index)
            self._exchange(index, None)
        else:
            self._deaths[name] = 0
            self._exchange(index, fragment)

    def _note(self, report: Report) -> None:
        """Keep what is new in the run's folder, and show how far it is."""
        folder = self.run_folder
        for name, content in report.files.items():
            path = folder.path / name
            path.parent.mkdir(exist_ok=True)
            atomic.write_bytes(path, content)
            if path == folder.checkpoint_file:
                self._deaths[TRAINER] = 0
        self._env_step = report.progress.env_step
        self._show(report.progress)


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise RunError('Ray is not installed: pip install "mjgym[ray]"') from None
    return ray


@contextlib.contextmanager
def _connected(ray: Any, address: str | None, cpus: int) -> Iterator[None]:
    """Be connected to a cluster with so many CPUs, unless this process is to one already.

    Raises:
        RunError: there is none, or it has fewer.
    """
    address = address or os.environ.get("RAY_ADDRESS")
    with contextlib.ExitStack() as stack:
        if not ray.is_initialized():
            there = {"num_cpus": max(cpus, os.cpu_count() or 1), "include_dashboard": False}
            try:
                ray.init(address or "local", log_to_driver=False, **({} if address else there))
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise RunError(f"there is no Ray cluster at {address}: {error}") from None
            stack.callback(ray.shutdown)
        found = ray.cluster_resources().get("CPU", 0)
        if found < cpus:
            raise RunError(
                f"the samplers and the trainer take {cpus} CPUs, and the cluster has {found:g}: "
                "fewer samplers or threads"
            )
        yield


def _tensors(arrays: Arrays) -> dict[str, Tensor]:
    """Copies as tensors: what Ray hands over is read-only."""
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
