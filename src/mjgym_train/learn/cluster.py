"""Training on a Ray cluster: sampler actors that act and trainer actors that learn.

A sampler acts in its sub-environments by the latest policy it has received, and returns a fragment
of steps. Each trainer, mostly there is one, stores the fragments of all samplers, makes the updates
that its settings require for each step, and returns its policy. Both go through Ray's object store.
The driver process forwards them, replaces actors that die, and keeps the run folders.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mjgym.policies.run_errors import ConfigError, RunError
from mjgym.util import atomic
from mjgym.util.packaged import install
from mjgym.util.processes import allowed_cores
from mjgym_train.config import Config
from mjgym_train.learn.actors import Report, Sampler, TrainerActor, Worker, distributed_algorithm
from mjgym_train.learn.algorithms.a3c import A3C
from mjgym_train.learn.algorithms.ensemble import BY_CRITICS
from mjgym_train.learn.trainer import Progress, signalled
from mjgym_train.run import Run

ATTEMPTS = 4  # deaths without progress after which the actor itself is at fault
TRAINER = "the trainer"


class _Learning:
    """One trainer of a run: its folder, settings, actor and progress."""

    def __init__(self, name: str, run: Run, config: Config) -> None:
        self.name, self.folder = name, run
        self.given, self.kept = config, False  # the settings, and whether they have been written
        self.config: Any = dataclasses.replace(config, threads=config.threads or 1)
        self.actor: Any = None
        self.told: Any = None  # the actor that has been told to stop
        self.training: Any = None  # reference to the result of the actor's call
        self.end: Progress | None = None
        self.env_step = 0


class ClusterTrainer:
    """A run with samplers and trainers as actors of a Ray cluster; see the module.

    Args:
        config: its settings; `num_envs` and `threads` are per sampler.
        others: folders and settings of further trainers, which learn from the same fragments. Of K
            trainers, trainer k has the samplers k, k + K, k + 2 K and so on act.
        address: as in `ray.init`; by default RAY_ADDRESS, or a cluster on this machine alone.
        setup: called first in every process, e.g. to register tasks.
    """

    def __init__(
        self,
        run: Run,
        config: Config,
        *,
        others: Sequence[tuple[Run, Config]] = (),
        samplers: int = 2,
        address: str | None = None,
        resume: bool = False,
        show: Callable[[Progress], None] | None = None,
        setup: Callable[[], None] | None = None,
    ) -> None:
        self._sampler = Sampler
        if issubclass(distributed_algorithm(config.algorithm), A3C):
            self._sampler = Worker
            if others:
                raise ConfigError(
                    f"trainers: the gradients of {config.algorithm}'s workers are of one trainer's"
                    " weights; leave out --trainers"
                )
        if getattr(config, "ensemble_acting", "slots") in BY_CRITICS:
            raise ConfigError(
                "ensemble_acting: samplers have no critics; with --ray, take slots, episodes or"
                " mean"
            )
        if samplers <= len(others):
            raise ConfigError(
                f"trainers: {len(others) + 1} need as many samplers, so that each has one that acts"
                f" by its policy; there are {samplers}"
            )
        self._ray = _ray()
        runs = [(run, config), *others]
        names = [f"trainer {k}" for k in range(len(runs))] if others else [TRAINER]
        self.trainers = [_Learning(name, *of) for name, of in zip(names, runs, strict=True)]
        self._address, self._resume, self._setup = address, resume, setup
        self._show = show or (lambda progress: None)
        self._count = samplers
        self.samplers: list[Any] = []  # handles of the actors
        self._policies: dict[int, Any] = {}  # references to the weights by which each shall act
        self._open = [0] * samplers  # trainers that have yet to take a sampler's fragment
        self._under_way: dict[Any, Callable[[Any], None]] = {}  # calls but training, callbacks
        self._deaths: dict[str, int] = {}  # of each actor since its last progress
        self._stop = False

    def stop(self) -> None:
        self._stop = True

    def train(self) -> list[Progress]:
        """Train as `Trainer.train` does; returns each trainer's progress."""
        ray = self._ray
        shared = ray.is_initialized()
        address = self._address or os.environ.get("RAY_ADDRESS")
        learning = sum(trainer.config.torch_threads for trainer in self.trainers)
        acting = sum(self._teacher(index).config.threads for index in range(self._count))
        if not shared and not address and acting > (cores := allowed_cores()):
            raise RunError(
                f"{self._count} samplers take {acting} cores, and this machine has {cores}: take"
                " fewer samplers or threads, or the cores of a cluster (--address)"
            )
        with _connected(ray, address, acting + learning), signalled(self.stop):
            try:
                for trainer in self.trainers:
                    self._make_trainer(trainer, self._resume)
                self.samplers = [self._make_sampler(index) for index in range(self._count)]
                for index in range(self._count):
                    self._exchange(index, None)
                return self._supervise()
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            finally:
                if shared:  # otherwise they end with the connection
                    for actor in (*self.samplers, *(trainer.actor for trainer in self.trainers)):
                        ray.kill(actor)

    def _teacher(self, index: int) -> _Learning:
        """The trainer whose policy a sampler uses."""
        return self.trainers[index % len(self.trainers)]

    def _make_sampler(self, index: int) -> Any:
        sampler, config = self._ray.remote(self._sampler), self._teacher(index).config
        options = {"num_cpus": config.threads, "scheduling_strategy": "SPREAD"}
        return sampler.options(**options).remote(config, index, self._setup)

    def _make_trainer(self, trainer: _Learning, resume: bool) -> None:
        actor = self._ray.remote(TrainerActor)
        # Concurrent calls: training, exchanges with samplers, and stopping.
        config, most = trainer.config, self._count + 2
        options = {"num_cpus": config.torch_threads, "max_concurrency": most}
        trainer.actor = actor.options(**options).remote(self._count, self._setup)
        folder = trainer.folder.path
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("[!.]*")
            if path.is_file()
        }
        trainer.training = trainer.actor.train.remote(config, files, resume)

    def _supervise(self) -> list[Progress]:
        ray = self._ray
        while learning := {t.training: t for t in self.trainers if t.end is None}:
            for trainer in learning.values():
                if self._stop and trainer.told is not trainer.actor:
                    trainer.told = trainer.actor
                    trainer.actor.stop.remote()
            ready, _ = ray.wait([*learning, *self._under_way], timeout=0.5)
            if ready and (ended := learning.get(ready[0])):
                self._ended(ended)
            elif ready:
                self._under_way.pop(ready[0])(ready[0])
        return [trainer.end for trainer in self.trainers if trainer.end is not None]

    def _ended(self, trainer: _Learning) -> None:
        try:
            report = self._ray.get(trainer.training)
        except self._ray.exceptions.RayActorError as error:
            self._died(trainer.name, trainer.actor, error)
            self._make_trainer(trainer, resume=True)
            return
        self._note(trainer, report)
        if report.error is not None:
            raise report.error
        trainer.end = report.progress

    def _died(self, name: str, actor: Any, error: Exception) -> None:
        self._deaths[name] = self._deaths.get(name, 0) + 1
        if self._deaths[name] == ATTEMPTS:
            raise RunError(f"{name} has died {ATTEMPTS} times without getting on: {error}")
        self._ray.kill(actor)

    # Each sampler alternates between acting and exchanging.

    def _exchange(self, index: int, fragment: Any) -> None:
        """Pass a sampler's fragment to all trainers; the sampler resumes when all have taken it."""
        for trainer in self.trainers:
            if trainer.end is None:
                self._deliver(index, trainer, fragment)

    def _deliver(self, index: int, trainer: _Learning, fragment: Any) -> None:
        exchange = trainer.actor.exchange.options(num_returns=2)
        report, weights = exchange.remote(index, fragment)
        if trainer is self._teacher(index):
            self._policies[index] = weights
        self._open[index] += 1
        self._under_way[report] = lambda done: self._exchanged(index, trainer, done)

    def _exchanged(self, index: int, trainer: _Learning, report: Any) -> None:
        self._open[index] -= 1
        try:
            self._note(trainer, self._ray.get(report))
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError:  # the trainer has died, or the fragment is lost
            if trainer.end is None:
                self._deliver(index, trainer, None)
        if self._open[index]:
            return
        collect = self.samplers[index].collect.options(num_returns=2)
        fragment, done = collect.remote(self._policies[index], self._teacher(index).env_step)
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

    def _note(self, trainer: _Learning, report: Report) -> None:
        folder = trainer.folder
        if not trainer.kept:  # the trainer has created environments and networks
            folder.keep(trainer.given)
            trainer.kept = True
        for name, content in report.files.items():
            path = folder.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_bytes(path, content)
            if path == folder.checkpoint_file:
                self._deaths[trainer.name] = 0
        trainer.env_step = report.progress.env_step
        if trainer is self.trainers[0]:
            self._show(report.progress)


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise RunError(f"Ray is not installed: {install('ray')}") from None
    return ray


@contextlib.contextmanager
def _connected(ray: Any, address: str | None, cpus: int) -> Iterator[None]:
    """Connect to a cluster with enough CPUs, unless this process is already connected."""
    with contextlib.ExitStack() as stack:
        if not ray.is_initialized():
            # No more CPUs than needed: Ray starts a process for each in advance.
            there = {"num_cpus": cpus, "include_dashboard": False}
            try:
                ray.init(address or "local", log_to_driver=False, **({} if address else there))
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise RunError(f"there is no Ray cluster at {address}: {error}") from None
            stack.callback(ray.shutdown)
        total = ray.cluster_resources().get("CPU", 0)
        if total < cpus:
            raise RunError(
                f"the samplers and the trainer take {cpus} CPUs, and the cluster has {total:g}: "
                "fewer samplers or threads"
            )
        yield
