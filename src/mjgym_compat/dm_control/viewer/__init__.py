"""The interface of the viewer: `viewer.launch(env, policy=policy)`."""

import time
from collections.abc import Callable
from typing import Any

import dm_env
import numpy as np

from mjgym import viewing
from mjgym.viewing import native
from mjgym_compat.dm_env import DmEnv


def launch(
    environment_loader: Any,
    policy: Callable[[dm_env.TimeStep], Any] | None = None,
    title: str = "Explorer",
    width: int = 1024,
    height: int = 768,
) -> None:
    """Watch a policy act in an environment, in a window, else in a browser.

    An environment that is not loaded by this package, or wrapped, is shown in a window only.

    Args:
        title: unused, as `width` and `height`: the viewer has its own.

    Raises:
        TypeError: it is no environment, or the policy no function.
    """
    env = environment_loader() if callable(environment_loader) else environment_loader
    if not hasattr(env, "action_spec"):  # any wrapper will do
        raise TypeError(f"environment_loader: expected an environment or its loader, got {env!r}")
    if not (policy is None or callable(policy)):
        raise TypeError(f"policy: expected a function of a TimeStep, got {policy!r}")
    if not isinstance(env, DmEnv):
        _show(env, policy)
        return

    def of_observation(observation: Any) -> Any:
        assert policy is not None
        return policy(dm_env.transition(None, observation))

    viewing.launch(env.env, None if policy is None else of_observation)


def _show(env: Any, policy: Callable[[dm_env.TimeStep], Any] | None) -> None:
    if reason := native.hindrance():
        raise viewing.ViewerError(reason)
    from mujoco import viewer  # opens a display

    rest = np.zeros(env.action_spec().shape)
    timestep = env.reset()
    running = True
    while running:
        data = env.physics.data.ptr  # another object after a model has been recompiled
        with viewer.launch_passive(env.physics.model.ptr, data) as window:
            while (running := window.is_running()) and env.physics.data.ptr is data:
                start = time.monotonic()
                timestep = env.step(rest if policy is None else policy(timestep))
                window.sync()
                time.sleep(max(0.0, env.control_timestep() - (time.monotonic() - start)))
