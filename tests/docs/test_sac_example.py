"""The single-file SAC, held to the one of `mjgym train`."""

import importlib

import pytest

from helpers.places import SCRIPTS

torch = pytest.importorskip("torch")

from mjgym_train.learn.algorithms.sac import SAC, SACConfig  # noqa: E402
from mjgym_train.learn.buffer import Batch  # noqa: E402

pytestmark = pytest.mark.torch

OBSERVATIONS, ACTIONS, ROWS = 7, 3, 64


class Recorded(SAC):
    """The package's SAC, with the losses of its gradient steps."""

    def step(self, optimizer, loss, *arguments):
        self.losses.append(loss.item())
        super().step(optimizer, loss, *arguments)


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS / "examples"))
    return importlib.import_module("sac")


@pytest.fixture
def _double():
    """Sums that two programs take in another order then agree well below the bound."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.weekly
@pytest.mark.usefixtures("_double")
def test_losses_are_those_of_the_package(example):
    """From equal weights on the same batches: ten updates, in which every term has moved."""
    config = SACConfig(
        id="dmc/cartpole-balance-v0",
        algorithm="sac",
        steps=1,
        hidden=(example.WIDTH,) * 2,
        layer_norm=False,
        normalize_observations=False,
        weight_decay=0.0,
        learning_rate=example.LEARNING_RATE,
        target_rate=example.TARGET_RATE,
        discount=example.DISCOUNT,
        temperature=example.TEMPERATURE,
        target_entropy_scale=example.TARGET_ENTROPY,
    )
    torch.manual_seed(0)
    package, single = Recorded(config, OBSERVATIONS, ACTIONS), example.SAC(OBSERVATIONS, ACTIONS)
    single.actor.load_state_dict(package.actor.body.state_dict())
    single.critics.load_state_dict(package.critics.bodies.state_dict())
    single.target_critics.load_state_dict(package.target_critics.bodies.state_dict())
    first = None
    for seed in range(10):
        torch.manual_seed(seed)
        batch = {
            "observation": torch.randn(ROWS, OBSERVATIONS),
            "action": torch.rand(ROWS, ACTIONS) * 2 - 1,
            "reward": torch.rand(ROWS),
            "following": torch.randn(ROWS, OBSERVATIONS),
            "terminated": torch.rand(ROWS) < 0.3,
        }
        torch.manual_seed(seed)
        losses = single.update(batch)
        package.losses = []
        torch.manual_seed(seed)
        package.update(
            Batch(
                batch["observation"][:, None],
                batch["action"],
                batch["reward"][:, None],
                torch.ones(ROWS, dtype=torch.int64),
                batch["following"][:, None],
                batch["terminated"],
            )
        )
        assert losses == pytest.approx(package.losses, rel=1e-6, abs=1e-6)
        first = first or losses
    assert all(abs(a - b) > 1e-3 for a, b in zip(first, losses, strict=True))


def test_a_buffer_returns_what_it_holds_in_a_ring(example):
    buffer = example.Buffer(6, 1, 1)
    for k in range(4):
        rows = torch.full((2, 1), float(k)).numpy()
        buffer.add(rows, rows, rows[:, 0], rows + 1, rows[:, 0] > 2)
    batch = buffer.sample()
    assert batch["reward"].unique().tolist() == [1, 2, 3]
    assert torch.equal(batch["following"], batch["observation"] + 1)
    assert torch.equal(batch["terminated"], batch["reward"] == 3)
