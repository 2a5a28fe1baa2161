"""PPO of TorchRL's parts on a batch of environments in one process.

    pip install -e ".[torchrl]"
    python scripts/examples/torchrl_ppo.py dmc/cartpole-swingup-v0 --steps 1000000

The collector takes a factory. Its batch uses the autoreset mode "Disabled": TorchRL itself resets
the sub-environments with ended episodes.
"""

import argparse
import functools

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import EnvBase, GymWrapper, RewardSum, TransformedEnv
from torchrl.modules import MLP, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

EPOCHS = 8  # passes over a batch
MINIBATCHES = 8  # of a batch


def make_env(id: str, num_envs: int) -> EnvBase:
    """Make a batch for TorchRL; collectors in other processes call this there."""
    envs = gymnasium.make_vec(f"mjgym:{id}", num_envs, autoreset_mode="Disabled")
    return TransformedEnv(GymWrapper(envs), RewardSum())


def networks(env: EnvBase, width: int = 128) -> tuple[ProbabilisticActor, ValueOperator]:
    """Gaussian policy, squashed into the action ranges, and value function."""
    space = env.full_action_spec_unbatched["action"].space
    hidden = {"num_cells": [width, width], "activation_class": nn.Tanh}
    numbers = space.low.shape[-1]
    parameters = nn.Sequential(MLP(out_features=2 * numbers, **hidden), NormalParamExtractor())
    policy = ProbabilisticActor(
        TensorDictModule(parameters, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": space.low, "high": space.high},
        return_log_prob=True,
    )
    value = ValueOperator(MLP(out_features=1, **hidden), in_keys=["observation"])
    sample = env.reset()
    policy(sample)  # initialises the lazy layers
    value(sample)
    return policy, value


def train(id: str, steps: int, num_envs: int = 32, horizon: int = 128) -> list[float]:
    """Train and print the mean return of the episodes that ended in each batch.

    Args:
        id: id of the task.
        steps: control steps, over all environments.
        num_envs: environments in the batch.
        horizon: control steps of each between two updates.

    Returns:
        Mean return per update; NaN where no episode has ended.
    """
    torch.manual_seed(0)
    policy, value = networks(make_env(id, num_envs))
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=value, average_gae=True)
    loss = ClipPPOLoss(policy, value, clip_epsilon=0.2, entropy_coeff=1e-4)
    optimizer = torch.optim.Adam(loss.parameters(), lr=3e-4)
    size = num_envs * horizon
    collector = Collector(
        functools.partial(make_env, id, num_envs),
        policy,
        frames_per_batch=size,
        total_frames=max(steps // size, 1) * size,
    )
    buffer = ReplayBuffer(
        storage=LazyTensorStorage(size),
        sampler=SamplerWithoutReplacement(),
        batch_size=size // MINIBATCHES,
    )
    returns = []
    for update, batch in enumerate(collector):
        for _ in range(EPOCHS):
            with torch.no_grad():
                advantage(batch)
            buffer.extend(batch.reshape(-1))
            for minibatch in buffer:
                losses = loss(minibatch)
                total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimizer.zero_grad()
                total.backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
        ended = batch["next", "episode_reward"][batch["next", "done"]]
        returns.append(float(ended.mean()))
        print(f"{(update + 1) * size:9d} steps  return {returns[-1]:7.1f}")
    collector.shutdown()
    return returns


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", nargs="?", default="dmc/cartpole-swingup-v0")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--horizon", type=int, default=128)
    arguments = parser.parse_args()
    train(arguments.id, arguments.steps, arguments.num_envs, arguments.horizon)


if __name__ == "__main__":
    main()
