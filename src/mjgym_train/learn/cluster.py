"""Training on a Ray cluster: sampler actors that act and a trainer actor that learns.

A sampler acts in its sub-environments by the latest policy it has received, and returns a fragment
of steps. The trainer stores the fragments of all samplers, makes the updates that the settings
require for each step, and returns its policy. Both go through Ray's object store. The driver
process forwards them, replaces actors that die, and keeps the run folder.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import Any

from mjgym.policies.run_errors import ConfigError, RunError
from mjgym.util import atomic
from mjgym.util.packaged import install
from mjgym_train.config import Config
from mjgym_train.learn.actors import Report, Sampler, TrainerActor, Worker, distributed_algorithm
from mjgym_train.learn.algorithms.a3c import A3C
from mjgym_train.learn.algorithms.ensemble import BY_CRITICS
from mjgym_train.learn.trainer import Progress, signalled
from mjgym_train.run import Run

ATTEMPTS = 4  # deaths without progress after which the actor itself is at fault
TRAINER = "the trainer"


class ClusterTrainer:
    """A run with samplers and trainer as actors of a Ray cluster; see the module.

    Args:
        run: folder that the run was created in, on this machine.
        config: its settings; `num_envs` and `threads` are per sampler.
        address: of the cluster, as in `ray.init`; by default RAY_ADDRESS, or a new one on this
            machine alone.
        resume: continue from the checkpoint, if there is one.
        show: called with the progress, from time to time.
        setup: called first in every process, e.g. to register tasks.

    Raises:
        ConfigError: the algorithm learns from its own latest steps alone.
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
        self._sampler = Sampler
        if issubclass(distributed_algorithm(config.algorithm), A3C):
            self._sampler = Worker
        if getattr(config, "ensemble_acting", "slots") in BY_CRITICS:
            raise ConfigError(
                "ensemble_acting: samplers have no critics; with --ray, take slots, episodes or"
                " mean"
            )
        self._ray = _ray()
        self.run_folder = run
        self._given, self._kept = config, False  # the settings, and whether they have been written
        self._config: Any = dataclasses.replace(config, threads=config.threads or 1)
        self._address, self._resume = address, resume
        self._show = show or (lambda progress: None)
        self._setup = setup
        self._count = samplers
        self.samplers: list[Any] = []  # handles of the actors
        self.trainer: Any = None
        self._training: Any = None  # reference to the result of the trainer's call
        self._under_way: dict[Any, Callable[[Any], None]] = {}  # other calls, their callbacks
        self._env_step = 0
        self._deaths: dict[str, int] = {}  # of each actor since its last progress
        self._stop = False

    def stop(self) -> None:
        self._stop = True

    def train(self) -> Progress:
        """Train until the budget is spent or SIGINT or SIGTERM arrives, and keep the state.

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
        sampler = self._ray.remote(self._sampler)
        options = {"num_cpus": self._config.threads, "scheduling_strategy": "SPREAD"}
        return sampler.options(**options).remote(self._config, index, self._setup)

    def _make_trainer(self, resume: bool) -> None:
        trainer = self._ray.remote(TrainerActor)
        # Concurrent calls: training, exchanges with samplers, and stopping.
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
        self._deaths[name] = self._deaths.get(name, 0) + 1
        if self._deaths[name] == ATTEMPTS:
            raise RunError(f"{name} has died {ATTEMPTS} times without getting on: {error}")
        self._ray.kill(actor)

    # Each sampler alternates between acting and exchanging.

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
        folder = self.run_folder
        if not self._kept:  # the trainer has created environments and networks
            folder.keep(self._given)
            self._kept = True
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
        raise RunError(f"Ray is not installed: {install('ray')}") from None
    return ray


@contextlib.contextmanager
def _connected(ray: Any, address: str | None, cpus: int) -> Iterator[None]:
    """Connect to a cluster with enough CPUs, unless this process is already connected."""
    address = address or os.environ.get("RAY_ADDRESS")
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
