"""The training loop: budget, evaluations, metrics, checkpoints, stopping and resuming."""

import contextlib
import dataclasses
import signal
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mjgym.policies.run_errors import ConfigError, DivergedError, RunError
from mjgym.util import atomic
from mjgym.util.processes import answered
from mjgym_train import evaluation, metrics
from mjgym_train.config import BUDGETS, Config
from mjgym_train.gymnasium_envs import fingerprint
from mjgym_train.learn import checkpoints, source, thread_pools
from mjgym_train.learn.algorithms.agent import Agent
from mjgym_train.learn.algorithms.ensemble import Ensemble
from mjgym_train.learn.collector import Collector, Transition
from mjgym_train.learn.writers import writers
from mjgym_train.run import Run

MOST_DIVERGED = 10  # episodes in a row, of every sub-environment, before a run ends
RATE_SECONDS = 5.0  # CPU time over which a rate is taken: those of less vary by half
MOST_CLIPPED = 0.01  # of a target's probability outside the support, before there is a warning


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    env_step: int  # steps over all sub-environments
    updates: int  # of the networks
    seconds: float  # of training
    fraction: float  # of the budget
    score: float | None  # mean return of the last evaluation; None before the first
    # Mean return of the last training episodes; None before the first has ended.
    training_return: float | None


def signalled(stop: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
    """Context manager: call `stop` on SIGINT and SIGTERM; a second SIGINT interrupts."""
    stopped = False

    def answer(number: int, frame: Any) -> None:
        nonlocal stopped
        if stopped and number == signal.SIGINT:
            raise KeyboardInterrupt
        stopped = True
        stop()

    return answered(answer, "SIGINT", "SIGTERM")


class Trainer:
    """A run of an algorithm on a batch of sub-environments.

    `training.make_trainer` picks the subclass for an algorithm. With the same settings and a budget
    in steps, a run that is stopped and resumed ends bit for bit like an uninterrupted one. All
    noise comes from PyTorch's global generator, which the trainer seeds: use one trainer at a time
    per process.

    Args:
        show: called with the progress, a few times a second.

    Raises:
        ConfigError: the settings do not fit the task or the memory, or `start_from` is no run.
        RunError: a checkpoint or the metrics cannot be read.
    """

    def __init__(
        self,
        run: Run,
        config: Config,
        algorithm: type[Agent],
        *,
        resume: bool = False,
        show: Callable[[Progress], None] | None = None,
    ) -> None:
        if sum(getattr(config, name) is not None for name in BUDGETS) != 1:
            raise ConfigError(f"steps: give one of {', '.join(BUDGETS)}")
        self.run_folder, self.config, self.algorithm = run, config, algorithm
        self._show = show or (lambda progress: None)
        thread_pools.limit(config.torch_threads)
        torch.set_float32_matmul_precision(config.matmul_precision)
        torch.manual_seed(config.seed)

        self.collector = self.make_collector()
        self.config = self._for_actions()
        self.low, self.high = self.collector.low, self.collector.high
        device = self.collector.device
        # Where the generator is from which all noise comes.
        self._random: Any = torch.cuda if device.type == "cuda" else torch
        self._random_of = (device,) if device.type == "cuda" else ()
        with self.collector.use():
            self.agent: Agent | Ensemble = self.make_agent()
            self.agent.begin_schedule()
            if self.collector.weights is not None:
                self.agent.normalizer.weigh(torch.as_tensor(self.collector.weights))
        self._evaluation_envs: Any = None
        self.env_step = 0  # over all sub-environments
        self.updates = 0
        self._seconds = 0.0  # until the last resumption
        self._cpu_seconds = 0.0  # the same, of this process's processor time
        self._aside = 0.0  # of that, in evaluations and checkpoints
        self._paced = (0, 0, 0.0)  # steps, updates and other CPU seconds until the last evaluation
        self._fastest = (0.0, 0.0)  # steps and updates per CPU second between two evaluations
        self._logged = (0, 0, 0.0)  # steps, updates and seconds then
        self._score: float | None = None
        self._best: float | None = None  # of all evaluations
        self._last_return: float | None = None
        self._evaluated = 0, 0.0, 0.0  # spent until the last evaluation
        self._ended: list[float] = []  # returns since the last line of metrics
        self._losses: dict[str, list[float]] = {}  # the same
        self._ends = [0, 0]  # episodes since the last line of metrics, and those that diverged
        self._in_a_row: dict[int, Tensor] = {}  # diverged episodes, by sampler
        self._stop = self._all_diverge = False
        self._warned: set[str] = set()  # of what
        self._writers: list[Any] = []
        with self.collector.use():
            self.prepare()
            if config.start_from and not (resume and run.checkpoint_file.exists()):
                self._start_from(Run(config.start_from).checkpoint_file)
            self.begin()
            if resume:
                self._restore()

    # What the subclasses say.

    def make_collector(self) -> Collector:
        return Collector(self.config)

    def make_agent(self) -> Agent | Ensemble:
        return self.algorithm(self.config, self.collector.observation_size, len(self.low))

    def _for_actions(self) -> Config:
        """The settings, with `bins` set to the number of discrete actions."""
        config: Any = self.config
        choices, bins = self.collector.choices, getattr(config, "bins", None)
        if choices is None:
            return self.config
        if not hasattr(config, "bins"):
            raise ConfigError(
                f"id: {config.id} has discrete actions, which {config.algorithm} cannot choose;"
                " dqn, rainbow, reinforce, ppo and a2c can"
            )
        if bins not in (None, choices):
            raise ConfigError(f"bins: {config.id} has {choices} choices; leave it out")
        return dataclasses.replace(self.config, bins=choices)  # type: ignore[call-arg]

    def about(self) -> dict[str, Any]:
        """Fingerprint of the run: everything but the settings that results depend on."""
        rate = self.updates / max(self._cpu_seconds - self._aside, 1e-9)
        learner = {**source.learner(), "updates_per_cpu_second": round(rate, 1)}
        return {**fingerprint(self.collector.envs), "learner": learner}

    def prepare(self) -> None:
        """Make the data source; called once agent and collector exist."""
        raise NotImplementedError

    def begin(self) -> None:
        self.agent.normalizer.update(self.collector.begin())

    def step(self) -> None:
        """One decision in all sub-environments, and the updates due for it."""
        raise NotImplementedError

    def interact(self, action: Tensor) -> Transition:
        """Act in all sub-environments, (n, action size) within -1 and 1, and record the outcome."""
        transition = self.collector.step(action)
        self.agent.normalizer.update(self.collector.observation)
        self.env_step += self.config.num_envs * self.config.action_repeat
        self._ended += self.collector.returns
        if transition.ended.any():
            self.agent.begin(transition.ended)
            self._count_diverged(transition.ended)
        return transition

    def _count_diverged(self, ended: Tensor) -> None:
        diverged, sampler = self.collector.diverged, self.collector.sampler
        self._ends = [self._ends[0] + int(ended.sum()), self._ends[1] + int(diverged.sum())]
        before = self._in_a_row.get(sampler, torch.zeros_like(ended, dtype=torch.int32))
        self._in_a_row[sampler] = torch.where(ended, (before + 1) * diverged, before)
        counts = self._in_a_row.values()
        self._all_diverge = all(bool((count >= MOST_DIVERGED).all()) for count in counts)

    def _require_finite_episodes(self) -> None:
        if self._all_diverge:
            raise DivergedError(
                f"the last {MOST_DIVERGED} episodes of every sub-environment diverged: the state,"
                " the reward or the observation is not finite, and nothing can be learned from it;"
                f" `mjgym check {self.config.id}` looks for the cause"
            )

    def note(self, losses: Mapping[str, Tensor]) -> None:
        for name, value in losses.items():
            self._losses.setdefault(name, []).append(value.item())

    # A whole run.

    def train(self) -> Progress:
        """Train until the budget is spent or SIGINT or SIGTERM arrives, and keep the state.

        A second SIGINT interrupts at once.
        """
        try:
            with self.run_folder.held():
                return self._train()
        finally:
            self.close()

    def _train(self) -> Progress:
        began = time.perf_counter() - self._seconds
        kept = shown = began + self._seconds
        logged = self.env_step // self.config.log_every
        try:
            metrics.keep_until(self.run_folder.metrics_file, self.env_step)
            cpu_began = time.process_time() - self._cpu_seconds
            thread_pools.limit(self.config.torch_threads)  # of libraries loaded since, too
            source.keep(self.config, type(self.agent), self.run_folder.source)
            self.run_folder.write_json(self.run_folder.fingerprint_file, self.about())
            self._writers = writers(self.run_folder, self.config, self.env_step)
            with signalled(self.stop), self.collector.use():
                while not self._stop and self._fraction() < 1:
                    if self.config.learning_rate_left < 1:
                        left = self.scheduled(1.0, self.config.learning_rate_left)
                        self.agent.scale_rates(left)
                    updates = self.updates
                    self.step()
                    self.agent.schedule(self.updates - updates)
                    self._require_finite_episodes()
                    now = time.perf_counter()
                    self._seconds = now - began
                    self._cpu_seconds = time.process_time() - cpu_began
                    if self.env_step // self.config.log_every > logged:
                        logged = self.env_step // self.config.log_every
                        self._log()
                    if self._evaluation_is_due():
                        self._watch_rate()
                        self._evaluate()
                        self.save()
                        kept = time.perf_counter()
                        self._aside += time.process_time() - cpu_began - self._cpu_seconds
                    elif now - kept > 60 * self.config.checkpoint_minutes:
                        self.save()
                        kept = now
                    if now - shown > 0.2:
                        shown = now
                        self._show(self.progress())
                    self._seconds = time.perf_counter() - began
                    self._cpu_seconds = time.process_time() - cpu_began
                if self._evaluation_is_due():  # the budget ended between two looks at the clock
                    self._evaluate()
                self.save()
            self.run_folder.write_json(self.run_folder.fingerprint_file, self.about())
        except DivergedError as error:
            last = "the last checkpoint is kept" if self.run_folder.policy_file.exists() else ""
            raise DivergedError(f"{error} after {self.env_step} steps; {last}") from error
        self._show(self.progress())
        return self.progress()

    def scheduled(self, begin: float, end: float) -> float:
        return begin + (end - begin) * min(self._fraction(), 1.0)

    def stop(self) -> None:
        self._stop = True

    def progress(self) -> Progress:
        spent = self.env_step, self.updates, self._seconds, min(self._fraction(), 1.0)
        return Progress(*spent, self._score, self._last_return)

    def _spent(self) -> tuple[int, float, float]:
        return self.env_step, self._seconds, self._cpu_seconds

    def _fraction(self, spent: tuple[int, float, float] | None = None) -> float:
        config = self.config
        steps, seconds, cpu_seconds = spent or self._spent()
        if config.steps is not None:
            return steps / config.steps
        if config.cpu_minutes is not None:
            return cpu_seconds / 60 / config.cpu_minutes
        return seconds / 60 / (config.minutes or 1)

    def _evaluation_is_due(self) -> bool:
        parts = self.config.evaluations
        return int(self._fraction() * parts) > int(self._fraction(self._evaluated) * parts)

    def _evaluate(self) -> None:
        config = self.config
        if self._evaluation_envs is None:
            count = config.evaluation_episodes
            arguments = {**config.env, **config.evaluation_env}
            self._evaluation_envs = evaluation.make(config.id, count, config.threads, **arguments)
        seeds = evaluation.TRAINING_SEEDS[: config.evaluation_episodes]
        for agent, policy in self.agent.policies(self.low, self.high).items():
            found = evaluation.evaluate(policy, self._evaluation_envs, seeds)
            returns = found.returns
            if not agent:
                self._score = float(returns.mean())
                if self._best is None or self._score > self._best:
                    self._best = self._score
                    policy.save(self.run_folder.best_file)
                if config.keep_policies:
                    folder = Run(self.run_folder.kept / str(self.env_step))
                    folder.path.mkdir(parents=True, exist_ok=True)
                    policy.save(folder.policy_file)
                    self._save_critics(folder.critics_file)
            values = {metrics.RETURN: returns.mean(), f"{metrics.RETURN}_std": returns.std()}
            if found.successes is not None:
                values[metrics.SUCCESS] = found.successes.mean()
            if not agent and self._logged[0] != self.env_step:  # a line there says it already
                values[metrics.CPU_SECONDS] = self._cpu_seconds
            self._write(values, agent)
        self._evaluated = self._spent()

    def _watch_rate(self) -> None:
        """Warn if steps and updates cost more than twice the CPU time that they did before."""
        now = self.env_step, self.updates, self._cpu_seconds - self._aside
        steps, updates, seconds = (b - a for a, b in zip(self._paced, now, strict=True))
        if seconds < RATE_SECONDS:
            return
        rates = steps / seconds, updates / seconds
        self._paced = now
        if all(2 * rate < best for rate, best in zip(rates, self._fastest, strict=True)):
            self._warn_once(
                "rate",
                f"{rates[1]:.0f} updates per CPU second, after {self._fastest[1]:.0f} earlier:"
                " other programs slow this processor down, or the physics of the task takes longer;"
                " scores by CPU minutes are not comparable, those by steps are",
            )
        best_steps, best_updates = map(max, rates, self._fastest)
        self._fastest = best_steps, best_updates

    def _log(self) -> None:
        values = {f"training/{name}": float(np.mean(v)) for name, v in self._losses.items()}
        if self._ended:
            self._last_return = float(np.mean(self._ended))
            values[metrics.TRAINING_RETURN] = self._last_return
        if self._ends[0]:
            values[metrics.DIVERGED] = self._ends[1] / self._ends[0]
        self._losses, self._ended, self._ends = {}, [], [0, 0]
        now = self.env_step, self.updates, self._seconds
        steps, updates, seconds = (b - a for a, b in zip(self._logged, now, strict=True))
        self._logged = now
        speeds = {
            metrics.CPU_SECONDS: self._cpu_seconds,
            "speed/steps_per_second": steps / max(seconds, 1e-9),
            "speed/updates_per_second": updates / max(seconds, 1e-9),
        }
        self._write(values | speeds)
        if diverged := values.get(metrics.DIVERGED, 0.0):
            self._warn_once(
                "diverged",
                f"{diverged:.0%} of the episodes diverged: the state, the reward or the observation"
                f" is not finite; `mjgym check {self.config.id}` looks for the cause",
            )
        clipped = max((v for k, v in values.items() if "clipped_target" in k), default=0.0)
        if clipped > MOST_CLIPPED:
            self._warn_once(
                "clipped",
                f"{clipped:.0%} of the critic's target lies outside its support: leave out"
                " value_min and value_max, or set them further apart",
            )

    def _warn_once(self, what: str, text: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            warnings.warn(text, stacklevel=3)

    def _write(self, values: dict[str, float], agent: str = "") -> None:
        """Append metrics; each agent of an ensemble is a separate experiment."""
        config = self.config
        name = f"{config.name or config.algorithm} {agent}".strip()
        run, now = (name, config.id, config.seed), (self.updates, self._seconds)
        lines = (
            metrics.Metric(*run, metric, self.env_step, float(value), *now)
            for metric, value in values.items()
        )
        metrics.append(self.run_folder.metrics_file, lines)
        for writer in self._writers:
            for metric, value in values.items():
                writer.add_scalar(f"{metric} {agent}".strip(), value, self.env_step)

    # What is kept.

    def state(self) -> dict[str, Any]:
        """The state that a run resumes from: tensors and plain data."""
        return {
            "agent": self.agent.checkpoint(),
            "collector": self.collector.state_dict(),
            "random": self._random.get_rng_state(*self._random_of),
            "trainer": {name: getattr(self, name) for name in _KEPT},
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Resume from the state of a run with the same settings."""
        for name, value in state["trainer"].items():
            setattr(self, name, value)
        self.agent.restore(state["agent"])
        self.collector.load_state_dict(state["collector"])
        self._random.set_rng_state(state["random"], *self._random_of)

    def save(self) -> None:
        """Write the checkpoint and the policy, each atomically."""
        with atomic.replacing(self.run_folder.checkpoint_file) as part:
            try:
                torch.save(self.state(), part)
            except RuntimeError as error:  # what PyTorch makes of a full disk
                reason = checkpoints.first_lines(error)
                raise RunError(
                    f"{self.run_folder.checkpoint_file} cannot be written: {reason};"
                    " the one before is kept"
                ) from error
        self.run_folder.keep_policy(self.agent.policy(self.low, self.high))
        self._save_critics(self.run_folder.critics_file)

    def _save_critics(self, file: Path) -> None:
        with contextlib.suppress(ConfigError):  # custom critics stay in the checkpoint
            if (valuation := self.agent.valuation()) is not None:
                valuation.save(file)

    def _start_from(self, file: Path) -> None:
        if not file.exists():
            raise ConfigError(f"start_from: there is no {file}")
        checkpoints.load(file, lambda state: self.agent.start_from(state["agent"]))

    def _restore(self) -> None:
        if self.run_folder.metrics_file.exists():
            self.run_folder.metrics()  # can be read
        if self.run_folder.checkpoint_file.exists():
            checkpoints.load(self.run_folder.checkpoint_file, self.load_state)
            self._require_budget()

    def _require_budget(self) -> None:
        """Raise RunError if the run has spent more than another budget than before."""
        if not self.run_folder.config_file.exists():
            return
        before = self.run_folder.settings()
        given = {name: getattr(self.config, name) for name in BUDGETS}
        if self._fraction() <= 1 or all(before[name] == given[name] for name in BUDGETS):
            return
        steps, seconds, cpu_seconds = self._spent()
        spent = {"steps": steps, "minutes": seconds / 60, "cpu_minutes": cpu_seconds / 60}
        name, budget = next((n, x) for n, x in given.items() if x is not None)
        raise RunError(
            f"{name}: the run has made {spent[name]:,.6g} already, more than {budget:,.6g}: give a"
            " larger budget, or begin another run with --out"
        )

    def close(self) -> None:
        self.collector.close()
        if self._evaluation_envs is not None:
            self._evaluation_envs.close()
        for writer in self._writers:
            writer.close()


_KEPT = (
    *("env_step", "updates", "_seconds", "_cpu_seconds", "_aside", "_paced", "_fastest"),
    *("_logged", "_score", "_best", "_last_return", "_evaluated", "_ended", "_losses", "_ends"),
    "_in_a_row",
)
