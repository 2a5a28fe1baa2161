"""The training loop of offline algorithms."""

from collections.abc import Iterator
from typing import Any

from mjgym.policies.run_errors import ConfigError
from mjgym_train.learn import demonstrations
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.bc import BC
from mjgym_train.learn.demonstrations import Demonstrations
from mjgym_train.learn.trainer import Trainer

UPDATES = 10  # between checks of the clock


class OfflineTrainer(Trainer):
    """A run of an offline algorithm; see `Trainer`.

    Steps are updates: environments are stepped only in evaluations. BC draws its batches itself,
    off-policy algorithms have a replay buffer of demonstrations only.
    """

    config: Any
    agent: Any

    def prepare(self) -> None:
        dataset = demonstrations.read(self.config, self.collector)
        self.digest = dataset.digest
        self.agent.normalizer.update(dataset.observation)
        if isinstance(self.agent, BC):
            self.agent.learn_from(dataset)
        else:
            self._fill_buffer(dataset)

    def _fill_buffer(self, found: Demonstrations) -> None:
        config = self.config
        if config.rewards == "success" and not found.success.any():
            raise ConfigError(
                "rewards: no step of the dataset says that it succeeded: learn from the task's own"
                " reward with rewards=recorded"
            )
        rewarded = found.sparse() if config.rewards == "success" else found
        self.buffer = rewarded.replay(n_step=config.n_step, history=config.history)
        self.agent.fit_support(rewarded.returns(config.discount), begun=False)

    def begin(self) -> None:
        """Start an idle episode: observation statistics come from the data."""
        self.collector.begin()

    def step(self) -> None:
        for losses in self._learn():
            self.note(losses)
        self.updates += UPDATES
        self.env_step += UPDATES

    def _learn(self) -> Iterator[Metrics]:
        agent, size = self.agent, self.config.batch_size
        if isinstance(agent, BC):
            for _ in range(UPDATES):
                yield agent.update()
            return
        for batch in self.buffer.sample(UPDATES * size).split(size):
            yield agent.update(agent.preprocess(batch))

    def about(self) -> dict[str, Any]:
        return {**super().about(), "data": {"name": self.config.data, "digest": self.digest}}

    def state(self) -> dict[str, Any]:
        return {**super().state(), "data": self.digest}

    def load_state(self, state: dict[str, Any]) -> None:
        demonstrations.require_same(self.config.data, self.digest, state["data"])
        super().load_state(state)
