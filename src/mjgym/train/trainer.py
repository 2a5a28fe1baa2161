"""The loop of the off-policy algorithms: act, store, learn, evaluate, keep."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

import mjgym
from mjgym import atomic
from mjgym.actions import UNLIMITED
from mjgym.train import algorithms, evaluation, metrics
from mjgym.train.buffer import Batch, ReplayBuffer
from mjgym.train.config import OffPolicyConfig
from mjgym.train.errors import ConfigError, DivergedError, RunError
from mjgym.train.run import Run


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Args:
        env_step: steps of all sub-environments together.
        updates: of the networks.
        seconds: of training.
        fraction: of the budget.
        score: mean return of the last evaluation; None before the first.
        training_return: mean of the last episodes of training; None before the first has ended.
    """

    env_step: int
    updates: int
    seconds: float
    fraction: float
    score: float | None
    training_return: float | None


class Trainer:
    """A run of an off-policy algorithm on a batch of sub-environments.

    With the same settings and a budget in steps, a run that was stopped and resumed with its buffer
    ends as one that was not, bit for bit. It seeds PyTorch's global generator, from which all its
    noise comes: one trainer at a time in a process.

    Args:
        run: folder that the run was created in.
        config: its settings.
        resume: go on from the checkpoint, if there is one.
        show: called with the progress, once in a while.

    Raises:
        ConfigError: the settings do not fit the task, or there is no such algorithm.
    """

    def __init__(
        self,
        run: Run,
        config: OffPolicyConfig,
        *,
        resume: bool = False,
        show: Callable[[Progress], None] | None = None,
    ) -> None:
        if (config.steps is None) == (config.minutes is None):
            raise ConfigError("steps: give either steps or minutes")
        self.run_folder, self.config = run, config
        self._show = show or (lambda progress: None)
        torch.set_num_threads(config.torch_threads)
        torch.manual_seed(config.seed)

        n = config.num_envs
        self.envs = evaluation.make(config.id, n, config.threads, **config.env)
        self._evaluation_envs: Any = None
        shape = self.envs.single_observation_space.shape
        if shape is None or len(shape) != 1:
            raise ConfigError('env: observations must be one vector, observation="flat"')
        self.low, self.high = _bounds(self.envs.single_action_space)
        self.agent = algorithms.find(config.algorithm)(config, shape[0], len(self.low))
        self.buffer = ReplayBuffer(
            config.buffer_size,
            n,
            shape[0],
            len(self.low),
            n_step=config.n_step,
            history=config.history,
        )

        self.env_step = self.updates = 0
        self._owed = 0.0  # updates
        self._seconds = 0.0  # until the last resumption
        self._score: float | None = None
        self._last_return: float | None = None
        self._evaluations = 0
        self._returns = torch.zeros(n, dtype=torch.float64)
        self._age = torch.zeros(n, dtype=torch.int32)
        self._whole = torch.ones(n, dtype=torch.bool)  # whether the episodes began at their start
        self._ended: list[float] = []  # returns since the last line of metrics
        self._losses: dict[str, list[float]] = {}  # the same
        self._stop = False
        self._stack = self._begin()
        if resume and run.checkpoint_file.exists():
            self._restore()
        self._writer = self._tensorboard()
        learner = {"torch": torch.__version__, "torch_threads": torch.get_num_threads()}
        run.write_json(run.fingerprint_file, {**mjgym.fingerprint(self.envs), "learner": learner})

    def _begin(self) -> Tensor:
        """Begin all episodes; returns the histories of observations."""
        seeds = np.random.SeedSequence(self.config.seed).generate_state(self.config.num_envs)
        observation, _ = self.envs.reset(seed=seeds.tolist())
        limit = self.envs.unwrapped.max_episode_steps
        if self.config.stagger and limit is not None:
            steps = np.arange(self.config.num_envs) * limit // self.config.num_envs
            observation = self.envs.unwrapped.set_state({"steps": steps})
            self._whole = torch.from_numpy(steps == 0)
        start = torch.from_numpy(np.array(observation, np.float32))
        self.agent.normalizer.update(start)
        return start[:, None].repeat(1, self.config.history, 1)

    # One step.

    def step(self) -> None:
        """One step of all sub-environments, and the updates that belong to it."""
        config = self.config
        if self.env_step < config.learning_starts:
            action = torch.rand(config.num_envs, len(self.low)) * 2 - 1
        else:
            action = self.agent.act(self._stack)
        self._interact(action)
        if len(self.buffer) >= min(config.learning_starts, config.buffer_size):
            self._owed += config.updates_per_step * config.num_envs
            count = int(self._owed)
            self._owed -= count
            if count:
                self._learn(count)

    def _interact(self, action: Tensor) -> None:
        scaled = self.low + (action.numpy() + 1) / 2 * (self.high - self.low)
        observation, reward, terminated, truncated, info = self.envs.step(scaled)
        now = torch.from_numpy(np.asarray(observation, np.float32))
        ended = torch.from_numpy(terminated | truncated)
        following = now
        if ended.any():
            following = now.clone()
            following[ended] = torch.from_numpy(np.stack(info["final_obs"][ended.numpy()])).float()
        rewards = torch.from_numpy(reward)
        self.buffer.add(
            observation=self._stack[:, -1],
            action=action,
            reward=rewards.float(),
            following=following,
            terminated=torch.from_numpy(terminated),
            ended=ended,
            age=self._age,
        )
        self.agent.normalizer.update(now)
        self.env_step += self.config.num_envs
        self._returns += rewards
        self._age = torch.where(ended, 0, self._age + 1)
        self._stack = torch.cat([self._stack[:, 1:], now[:, None]], 1)
        if ended.any():
            self._ended += self._returns[ended & self._whole].tolist()
            self._returns[ended] = 0
            self._whole = self._whole | ended
            self._stack[ended] = now[ended][:, None]
            self.agent.begin(ended)

    def _learn(self, count: int) -> None:
        drawn = self.buffer.sample(count * self.config.batch_size)
        normalize = self.agent.normalizer
        drawn = Batch(
            **{
                **vars(drawn),
                "observation": normalize(drawn.observation),
                "following": normalize(drawn.following),
            }
        )
        for batch in drawn.split(self.config.batch_size):
            for name, value in self.agent.update(batch).items():
                self._losses.setdefault(name, []).append(value.item())
        self.updates += count

    # A whole run.

    def train(self) -> Progress:
        """Train until the budget is spent, or until SIGINT or SIGTERM, and keep the state.

        A second SIGINT interrupts at once.

        Raises:
            DivergedError: a loss is not finite; the last checkpoint is kept.
        """
        began = time.perf_counter() - self._seconds
        kept = shown = began + self._seconds
        logged = self.env_step // self.config.log_every
        try:
            with self._signals():
                while not self._stop and self._fraction() < 1:
                    self.step()
                    now = time.perf_counter()
                    self._seconds = now - began
                    if self.env_step // self.config.log_every > logged:
                        logged = self.env_step // self.config.log_every
                        self._log()
                    if self._fraction() * self.config.evaluations >= self._evaluations + 1:
                        self._evaluate()
                        self.save()
                        kept = time.perf_counter()
                    elif now - kept > 60 * self.config.checkpoint_minutes:
                        self.save()
                        kept = now
                    if now - shown > 0.2:
                        shown = now
                        self._show(self.progress())
                    self._seconds = time.perf_counter() - began
                self.save()
        except DivergedError as error:
            last = "the last checkpoint is kept" if self.run_folder.policy_file.exists() else ""
            raise DivergedError(f"{error} after {self.env_step} steps; {last}") from error
        finally:
            self.close()
        self._show(self.progress())
        return self.progress()

    def progress(self) -> Progress:
        """How far the run is."""
        return Progress(
            self.env_step,
            self.updates,
            self._seconds,
            min(self._fraction(), 1.0),
            self._score,
            self._last_return,
        )

    def _fraction(self) -> float:
        if self.config.steps is not None:
            return self.env_step / self.config.steps
        return self._seconds / 60 / (self.config.minutes or 1)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the loop after a whole step, where signals can be had."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: Any) -> None:
            if self._stop and number == signal.SIGINT:
                raise KeyboardInterrupt
            self._stop = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _evaluate(self) -> None:
        config = self.config
        if self._evaluation_envs is None:
            count = config.evaluation_episodes
            self._evaluation_envs = evaluation.make(config.id, count, config.threads, **config.env)
        seeds = evaluation.TRAINING_SEEDS[: config.evaluation_episodes]
        policy = self.agent.policy(self.low, self.high)
        result = evaluation.evaluate(policy, self._evaluation_envs, seeds)
        self._evaluations = int(self._fraction() * config.evaluations)
        self._score = float(result.returns.mean())
        self._write({metrics.RETURN: self._score, f"{metrics.RETURN}_std": result.returns.std()})

    def _log(self) -> None:
        values = {f"training/{name}": float(np.mean(v)) for name, v in self._losses.items()}
        if self._ended:
            self._last_return = float(np.mean(self._ended))
            values[metrics.TRAINING_RETURN] = self._last_return
        self._losses, self._ended = {}, []
        self._write(values)

    def _write(self, values: dict[str, float]) -> None:
        config = self.config
        name = config.name or config.algorithm
        metrics.append(
            self.run_folder.metrics_file,
            (
                metrics.Metric(
                    name,
                    config.id,
                    config.seed,
                    metric,
                    self.env_step,
                    float(value),
                    self.updates,
                    self._seconds,
                )
                for metric, value in values.items()
            ),
        )
        if self._writer is not None:
            for metric, value in values.items():
                self._writer.add_scalar(metric, value, self.env_step)

    def _tensorboard(self) -> Any:
        if not self.config.tensorboard:
            return None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise RunError(
                'TensorBoard is not installed: pip install "mjgym[train]", or set tensorboard=false'
            ) from None
        step = self.env_step or None  # of a resumed run, whose later events are dropped
        return SummaryWriter(str(self.run_folder.tensorboard), purge_step=step)

    # What is kept.

    def save(self) -> None:
        """Write the checkpoint and the policy, each in one piece."""
        run = self.run_folder
        state = {name: torch.as_tensor(v) for name, v in self.envs.unwrapped.get_state().items()}
        content = {
            "agent": self.agent.checkpoint(),
            "buffer": self.buffer.state_dict() if self.config.keep_buffer else None,
            "envs": state,
            "random": torch.get_rng_state(),
            "trainer": {name: getattr(self, name) for name in _KEPT},
        }
        with atomic.replacing(run.checkpoint_file) as part:
            torch.save(content, part)
        self.agent.policy(self.low, self.high).save(run.policy_file)

    def _restore(self) -> None:
        content = torch.load(self.run_folder.checkpoint_file, weights_only=True)
        for name, value in content["trainer"].items():
            setattr(self, name, value)
        self.agent.restore(content["agent"])
        if content["buffer"] is not None:
            self.buffer.load_state_dict(content["buffer"])
        self.envs.unwrapped.set_state({k: v.numpy() for k, v in content["envs"].items()})
        metrics.keep_until(self.run_folder.metrics_file, self.env_step)
        torch.set_rng_state(content["random"])

    def close(self) -> None:
        """Close the environments and TensorBoard's file."""
        self.envs.close()
        if self._evaluation_envs is not None:
            self._evaluation_envs.close()
        if self._writer is not None:
            self._writer.close()


_KEPT = (
    "env_step",
    "updates",
    "_owed",
    "_seconds",
    "_score",
    "_last_return",
    "_evaluations",
    "_returns",
    "_age",
    "_whole",
    "_ended",
    "_losses",
    "_stack",
)


def _bounds(space: Any) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of an action; -1 and 1 where there are none."""
    low = np.where(space.low > -UNLIMITED, space.low, -1.0).astype(np.float32)
    high = np.where(space.high < UNLIMITED, space.high, 1.0).astype(np.float32)
    return low, high
