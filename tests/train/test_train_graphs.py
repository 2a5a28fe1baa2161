"""Updates as CUDA graphs: those of PyTorch, in fewer launches."""

import copy

import pytest
import torch

from helpers import training_runs
from helpers.devices import DEVICE, KIND
from helpers.training_runs import SMALL
from mjgym.policies.run_errors import ConfigError
from mjgym_train.learn import algorithms, graphed_update
from mjgym_train.learn.buffer import Batch

pytestmark = pytest.mark.torch

SIZE = (33, 33, 3)  # of an image


class Repeated:
    """In place of a CUDA graph: the update of a batch that stays in place."""

    def __init__(self, agent, batch):
        self.agent, self.batch = agent, batch.mapped(torch.clone)
        agent.updates += 1

    def repeat(self, batch):
        self.batch.mapped(torch.Tensor.copy_, batch)
        self.agent.updates -= 1  # by the update itself
        return self.agent.update(self.agent.preprocess(self.batch))


def batches(count, n_step):
    """Batches that differ: the critics' loss is that of other rewards."""
    for k in range(count):
        yield Batch(
            observation=torch.randint(256, (16, 2, *SIZE), dtype=torch.uint8),
            action=torch.rand(16, 1),
            rewards=(k + 1) * torch.ones(16, n_step),
            steps=torch.full((16,), n_step),
            following=torch.randint(256, (16, 2, *SIZE), dtype=torch.uint8),
            terminated=torch.zeros(16, dtype=torch.bool),
        )


@pytest.mark.parametrize("algorithm", ["td3", "ddpg"])
def test_they_are_those_of_pytorch(algorithm, monkeypatch):
    if KIND == "cpu":
        monkeypatch.setattr(graphed_update, "_Graph", Repeated)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        cls = algorithms.find(algorithm)
        quiet = {"target_noise": 0.0} if algorithm == "td3" else {}
        settings = cls.Config(hidden=(32,), history=2, critic="mean", shift=0, **quiet)
        agent = cls(settings, SIZE, 1)
        twin = copy.deepcopy(agent)
        update = graphed_update.GraphedUpdate(twin)
        for batch in batches(20, settings.n_step):
            expected = agent.update(agent.preprocess(batch))
            found = update(batch)
            assert set(found) == set(expected)
            for name, value in expected.items():
                assert float(found[name]) == pytest.approx(float(value), rel=0.05, abs=0.05), name
    assert int(twin.updates) == int(agent.updates) == 20
    assert len(update._graphs) == (2 if algorithm == "td3" else 1)


def test_a_support_that_moves_is_another_form():
    agent = algorithms.find("td3")(algorithms.find("td3").Config(), 3, 1)
    before = agent.update_form
    agent.critic.set_bounds(0.0, 200.0)
    assert agent.update_form != before


@pytest.mark.parametrize(
    ("algorithm", "reason"),
    [("td3", "the networks are not on a GPU"), ("sac", "SAC has no graphs")],
)
def test_what_hinders_them_is_named(algorithm, reason, tmp_path):
    with pytest.raises(ConfigError, match=f"engine: no graphs here: {reason}"):
        training_runs.trainer(tmp_path / "run", *SMALL, "engine=graph", algorithm=algorithm)
