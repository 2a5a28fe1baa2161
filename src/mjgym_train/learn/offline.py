"""The loop of the algorithms that learn from recorded episodes alone."""

from typing import Any

from mjgym_train.learn import demonstrations
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.algorithms.offline_agent import OfflineAgent
from mjgym_train.learn.demonstrations import Demonstrations
from mjgym_train.learn.trainer import Trainer

UPDATES = 10  # between two looks at the clock


class OfflineTrainer(Trainer):
    """A run of an offline algorithm; see `Trainer`.

    Its steps are updates: no environment is stepped but in evaluations.
    """

    config: Any
    agent: Any

    def prepare(self) -> None:
        """Read the demonstrations."""
        found = demonstrations.read(self.config, self.collector)
        self.digest = found.digest
        if self.agent.normalizer.enabled:
            self.agent.normalizer.update(found.observation)
        self.learn_from(found)

    def learn_from(self, found: Demonstrations) -> None:
        """Take demonstrations to learn from."""
        raise NotImplementedError

    def learn(self) -> None:
        """Make `UPDATES` updates."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin an episode, in which nothing acts: the observations' statistics are the data's."""
        self.collector.begin()

    def step(self) -> None:
        """Some updates."""
        self.learn()
        self.updates += UPDATES
        self.env_step += UPDATES

    def about(self) -> dict[str, Any]:
        """Fingerprint of the run, with the dataset's."""
        return {**super().about(), "data": {"name": self.config.data, "digest": self.digest}}

    def state(self) -> dict[str, Any]:
        """All that the run goes on from."""
        return {**super().state(), "data": self.digest}

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state.

        Raises:
            RunError: the dataset is another one by now.
        """
        demonstrations.require_same(self.config.data, self.digest, state["data"])
        super().load_state(state)


class CloningTrainer(OfflineTrainer):
    """A run of an algorithm that draws its batches from the demonstrations itself."""

    agent: OfflineAgent

    def learn_from(self, found: Demonstrations) -> None:
        """Hand them to the algorithm."""
        self.agent.learn_from(found)

    def learn(self) -> None:
        """Make `UPDATES` updates."""
        for _ in range(UPDATES):
            self.note(self.agent.update())


class OfflineReplayTrainer(OfflineTrainer):
    """A run of an off-policy algorithm whose replay buffer holds the demonstrations alone."""

    agent: OffPolicyAgent

    def learn_from(self, found: Demonstrations) -> None:
        """Fill the buffer, with the rewards of the settings."""
        config = self.config
        rewarded = found.sparse() if config.rewards == "success" else found
        self.buffer = rewarded.replay(n_step=config.n_step, history=config.history)
        self.agent.fit_support(rewarded.returns(config.discount), begun=False)

    def learn(self) -> None:
        """Make `UPDATES` updates."""
        size = self.config.batch_size
        for batch in self.buffer.sample(UPDATES * size).split(size):
            self.note(self.agent.update(self.agent.preprocess(batch)))
