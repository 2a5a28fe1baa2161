"""Update engines of off-policy agents: PyTorch, or the loops of `fast` where possible."""

import importlib.util
from collections.abc import Callable

from mjgym.policies.run_errors import ConfigError
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.d4pg import D4PG
from mjgym_train.learn.algorithms.ddpg import DDPG
from mjgym_train.learn.algorithms.ensemble import Ensemble
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.algorithms.sac import SAC
from mjgym_train.learn.algorithms.td3 import TD3
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.critics import Categorical, Mean, Quantile

FAST, TORCH, AUTO = "fast", "torch", "auto"


def hindrance(agent: OffPolicyAgent | Ensemble) -> str:
    """Why an agent needs PyTorch for its updates; empty if it does not."""
    if type(agent) not in (TD3, DDPG, D4PG, SAC):
        return f"{type(agent).__name__} has no fast update"
    assert isinstance(agent, OffPolicyAgent)
    config = agent.config
    reasons = {
        "observations are images": agent.encoder is not None,
        f"critic={config.critic} is a class of your own": type(agent.critic)
        not in (Categorical, Mean, Quantile),
        "the actor is a class of your own": getattr(config, "actor", "gaussian") != "gaussian",
        f"activation={config.activation}": config.activation != "relu",
        f"network={config.network}": agent.memory is not None,
        "the optimiser is of torch.optim": bool(config.optimizer),
        "replay is prioritised": config.priority_exponent > 0,
        f"target_period={config.target_period}": config.target_period is not None,
        f"action_layer={config.action_layer}": config.action_layer > 0,
        "the actor's gradient is bounded": config.actor_gradient_norm is not None,
        "the networks are on a GPU": next(agent.parameters()).device.type != "cpu",
        "numba is not installed (the extra `train`)": importlib.util.find_spec("numba") is None,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def engine(wanted: str, agent: OffPolicyAgent | Ensemble) -> tuple[str, str]:
    """Return the name of the engine that updates an agent, and why it is not the fast one."""
    if wanted == TORCH:
        return TORCH, "engine=torch"
    reason = hindrance(agent)
    if wanted == FAST and reason:
        raise ConfigError(f"engine: no fast updates here: {reason}")
    return (TORCH, reason) if reason else (FAST, "")


def update_of(name: str, agent: OffPolicyAgent | Ensemble) -> Callable[[Batch], Metrics]:
    """The update of an agent by an engine.

    The fast engine takes over the agent's parameters and optimiser moments, so restore checkpoints
    first.
    """
    if name == TORCH:
        return agent.update
    from mjgym_train.learn.fast.updates import fast_update

    assert isinstance(agent, OffPolicyAgent)
    return fast_update(agent).update
