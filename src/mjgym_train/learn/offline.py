"""The training loop of offline algorithms."""

from typing import Any

from mjgym.policies.run_errors import ConfigError
from mjgym_train.learn import demonstrations
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.algorithms.offline_agent import OfflineAgent
from mjgym_train.learn.demonstrations import Demonstrations
from mjgym_train.learn.trainer import Trainer

UPDATES = 10  # between checks of the clock


class OfflineTrainer(Trainer):
    """A run of an offline algorithm; see `Trainer`.

    Steps are updates: environments are stepped only in evaluations.
    """

    config: Any
    agent: Any

    def prepare(self) -> None:
        dataset = demonstrations.read(self.config, self.collector)
        self.digest = dataset.digest
        if self.agent.normalizer.enabled:
            self.agent.normalizer.update(dataset.observation)
        self.learn_from(dataset)

    def learn_from(self, found: Demonstrations) -> None:
        """Take the demonstrations to learn from."""
        raise NotImplementedError

    def learn(self) -> None:
        """Make `UPDATES` updates."""
        raise NotImplementedError

    def begin(self) -> None:
        """Start an idle episode: observation statistics come from the data."""
        self.collector.begin()

    def step(self) -> None:
        self.learn()
        self.updates += UPDATES
        self.env_step += UPDATES

    def about(self) -> dict[str, Any]:
        return {**super().about(), "data": {"name": self.config.data, "digest": self.digest}}

    def state(self) -> dict[str, Any]:
        return {**super().state(), "data": self.digest}

    def load_state(self, state: dict[str, Any]) -> None:
        demonstrations.require_same(self.config.data, self.digest, state["data"])
        super().load_state(state)


class CloningTrainer(OfflineTrainer):
    """A run of an algorithm that draws batches from the demonstrations itself."""

    agent: OfflineAgent

    def learn_from(self, found: Demonstrations) -> None:
        self.agent.learn_from(found)

    def learn(self) -> None:
        for _ in range(UPDATES):
            self.note(self.agent.update())


class OfflineReplayTrainer(OfflineTrainer):
    """A run of an off-policy algorithm with a replay buffer of demonstrations only."""

    agent: OffPolicyAgent

    def learn_from(self, found: Demonstrations) -> None:
        config = self.config
        if config.rewards == "success" and not found.success.any():
            raise ConfigError(
                "rewards: no step of the dataset says that it succeeded: learn from the task's own"
                " reward with rewards=recorded"
            )
        rewarded = found.sparse() if config.rewards == "success" else found
        self.buffer = rewarded.replay(n_step=config.n_step, history=config.history)
        self.agent.fit_support(rewarded.returns(config.discount), begun=False)

    def learn(self) -> None:
        size = self.config.batch_size
        for batch in self.buffer.sample(UPDATES * size).split(size):
            self.note(self.agent.update(self.agent.preprocess(batch)))
