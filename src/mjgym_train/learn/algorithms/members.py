"""The agents that a run's settings describe: one, or those of its ensemble."""

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import (
    SHARED_OUT,
    Config,
    DataSettings,
    OfflineSettings,
    OffPolicyConfig,
    ReplaySettings,
    RunSettings,
    changed,
    defaults,
    marked,
)
from mjgym_train.learn.algorithms import find
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent

_OVERRIDABLE = {"algorithm", "n_step"}  # settings of the groups below that agents may override
_GROUPS = (RunSettings, ReplaySettings, DataSettings)
OF_RUN = {field.name for group in _GROUPS for field in dataclasses.fields(group)} - _OVERRIDABLE
OF_RUN |= {"entry_weights", "data_share", "ensemble", "ensemble_acting", "ensemble_temperature"}
"""Settings that are the same for all agents."""


@dataclass(frozen=True)
class Member:
    """One agent."""

    name: str  # its distinguishing settings; empty for a single agent
    algorithm: type[OffPolicyAgent]  # its class
    config: OffPolicyConfig  # its settings; `num_envs` are the sub-environments in which it acts


def for_config(config: OffPolicyConfig, algorithm: type[OffPolicyAgent]) -> list[Member]:
    """The agents of a run; one without an ensemble.

    An agent overrides the run's settings. If its algorithm differs from the run's, settings that
    the run leaves at the default take the default of the agent's algorithm.
    """
    if not config.ensemble:
        return [Member("", algorithm, config)]
    agents = []
    for k, (overrides, name) in enumerate(
        zip(config.ensemble, _names(config.ensemble), strict=True)
    ):
        for setting in overrides:
            if setting in OF_RUN:
                raise ConfigError(f"ensemble: {setting} is the same for all agents")
        cls = _algorithm(overrides["algorithm"], k) if "algorithm" in overrides else algorithm
        slots = config.ensemble_acting == "slots"
        envs = len(range(k, config.num_envs, len(config.ensemble) if slots else 1))
        envs = envs if slots else config.num_envs
        values = _inherited(config, cls.Config) | {"ensemble": (), "num_envs": envs}
        settings = changed(cls.Config, values, overrides, f"ensemble[{k}]")
        shares = {
            setting: max(1, round(getattr(settings, setting) * envs / config.num_envs))
            for setting in marked(cls.Config, SHARED_OUT)
        }
        agents.append(Member(name, cls, dataclasses.replace(settings, **shares)))
    return agents


def apart(config: Config, k: int, count: int) -> Config:
    """Settings of trainer k of `count`: those of the ensemble's agent k, as a run of its own."""
    if not isinstance(config, OffPolicyConfig) or not config.ensemble:
        return config
    if len(config.ensemble) != count:
        raise ConfigError(f"ensemble: {len(config.ensemble)} agents, but {count} trainers")
    whole = dataclasses.replace(config, ensemble_acting="episodes")  # each has all the samplers'
    found = for_config(whole, find(config.algorithm))  # type: ignore[arg-type]
    if any(member.config.algorithm != config.algorithm for member in found):
        raise ConfigError(f"ensemble: trainers side by side all learn by {config.algorithm}")
    name = f"{config.name or config.algorithm} {found[k].name}"
    acting = config.ensemble_acting
    return dataclasses.replace(found[k].config, name=name, ensemble_acting=acting)


def _algorithm(name: Any, k: int) -> type[OffPolicyAgent]:
    try:
        algorithm = find(str(name))
    except ConfigError as error:
        raise ConfigError(f"ensemble[{k}]: {error}") from None
    if not issubclass(algorithm, OffPolicyAgent) or issubclass(algorithm.Config, OfflineSettings):
        raise ConfigError(
            f"ensemble[{k}]: {name} does not learn from a buffer that others fill, as td3, ddpg,"
            " d4pg and sac do"
        )
    return algorithm


def _inherited(config: OffPolicyConfig, cls: type[OffPolicyConfig]) -> dict[str, Any]:
    """The run's settings that apply to an agent with settings of a class."""
    values, usual = vars(config), defaults(config)
    if cls is type(config):
        return dict(values)
    known = {field.name for field in dataclasses.fields(cls)}
    return {
        name: value
        for name, value in values.items()
        if name in known and (name in OF_RUN or value != usual[name])
    }


def _names(settings: tuple[Mapping[str, Any], ...]) -> list[str]:
    names = [
        ",".join(
            str(value) if name == "algorithm" else f"{name}={value}" for name, value in own.items()
        )
        for own in settings
    ]
    counted = Counter(names)
    return [name if name and counted[name] == 1 else f"{name}#{k}" for k, name in enumerate(names)]
