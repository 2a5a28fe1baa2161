"""TorchRL on single environments and on batches.

Tests import it themselves: it takes longer than the collection of all other files.
"""

import gymnasium
import numpy as np
import pytest
import torch

pytestmark = [pytest.mark.slow, pytest.mark.torch]


@pytest.fixture(autouse=True)
def _few_threads():
    torch.set_num_threads(1)


def test_torchrl_gym_env():
    from torchrl.envs import GymEnv
    from torchrl.envs.utils import check_env_specs

    env = GymEnv("dmc/cheetah-run-v0", device="cpu")
    env.set_seed(0)
    check_env_specs(env)
    rollout = env.rollout(20)
    assert rollout["observation"].shape == (20, 17)
    assert rollout["next", "reward"].shape == (20, 1)


@pytest.mark.weekly
def test_torchrl_agrees_with_gymnasium():
    from torchrl.envs import GymEnv

    env = GymEnv("dmc/cheetah-run-v0", device="cpu")
    plain = gymnasium.make("dmc/cheetah-run-v0")
    env.set_seed(3)
    state = env.reset()
    plain.reset(seed=3)  # so does set_seed
    single, _ = plain.reset()
    assert np.array_equal(state["observation"].numpy(), single)
    for _ in range(5):
        action = np.full(6, 0.3, dtype=np.float32)
        state["action"] = torch.from_numpy(action)
        state = env.step(state)["next"]
        single, reward, _, _, _ = plain.step(action)
        assert np.array_equal(state["observation"].numpy(), single)
        assert state["reward"].item() == pytest.approx(reward)


@pytest.mark.parametrize("id", ["dmc/ball_in_cup-catch-v0", "dmc/walker-walk-v0"])
def test_torchrl_reads_infos_by_itself(id):
    from torchrl.envs import GymWrapper

    env = GymWrapper(gymnasium.make(id)).auto_register_info_dict()
    step = env.rollout(3)["next"]
    _, _, _, _, info = env.unwrapped.step(env.action_space.sample())
    assert info.keys() <= set(step.keys())
    assert step["diverged"].dtype == torch.bool
    assert step["diverged"].shape[0] == 3


def batch(mode):
    return gymnasium.make_vec(
        "dmc/walker-walk-v0", 4, autoreset_mode=mode, threads=1, max_episode_steps=10
    )


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_torchrl_on_a_batch(mode):
    """TorchRL's rollouts over ends of episodes are those of the batch under Gymnasium."""
    from torchrl.envs import GymWrapper
    from torchrl.envs.utils import check_env_specs

    check_env_specs(GymWrapper(batch(mode)))
    envs, plain = batch(mode), batch("SameStep")
    env = GymWrapper(envs)
    env.set_seed(3)
    start = env.reset()
    plain.reset()
    observation = plain.set_state(envs.get_state())
    rollout = env.rollout(25, tensordict=start, auto_reset=False, break_when_any_done=False)
    assert rollout.batch_size == (4, 25)
    ends = rollout["next", "truncated"][..., 0].numpy()
    assert np.array_equal(np.flatnonzero(ends[0]), [9, 19])
    for k in range(25):
        assert np.array_equal(rollout["observation"][:, k].numpy(), observation)
        observation, reward, _, cut, info = plain.step(rollout["action"][:, k].numpy())
        shown = np.stack(list(info["final_obs"])) if "final_obs" in info else observation
        assert np.array_equal(rollout["next", "observation"][:, k].numpy(), shown)
        np.testing.assert_allclose(rollout["next", "reward"][:, k, 0].numpy(), reward, 1e-6)
        if mode == "SameStep" and cut.all():  # TorchRL then begins again, also Gymnasium's own
            observation, _ = plain.reset()


@pytest.mark.weekly
@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_torchrl_collects_from_a_batch(mode):
    from torchrl.collectors import Collector
    from torchrl.envs import GymWrapper

    collector = Collector(lambda: GymWrapper(batch(mode)), frames_per_batch=80, total_frames=160)
    batches = list(collector)
    collector.shutdown()
    assert [data.batch_size for data in batches] == [(4, 20), (4, 20)]
    for data in batches:
        assert data["next", "observation"].isfinite().all()
        assert int(data["next", "done"].sum()) == 8


@pytest.mark.parametrize("id", ["dmc/walker-walk-v0", "dmc/reacher-easy-v0"])
@pytest.mark.parametrize("num_envs", [1, 4])
def test_torchrl_takes_the_infos(id, num_envs):
    """The factors of the reward and the flags are entries of a rollout like any other."""
    from torchrl.envs import GymWrapper
    from torchrl.envs.utils import check_env_specs

    envs = gymnasium.make_vec(id, num_envs, autoreset_mode="Disabled", threads=1)
    env = GymWrapper(envs).auto_register_info_dict()
    env.set_seed(0)
    check_env_specs(env)
    rollout = env.rollout(6)
    terms = [k for k in rollout["next"].keys() if str(k).startswith("terms/")]  # noqa: SIM118
    assert terms
    assert all(rollout["next", term].dtype == torch.float64 for term in terms)
    assert rollout["next", "diverged"].dtype == torch.bool
    reward = torch.stack([rollout["next", term] for term in terms]).prod(0)
    if len(terms) == 1:  # reacher's reward is its one factor
        assert torch.equal(reward.float().reshape(-1), rollout["next", "reward"].reshape(-1))
