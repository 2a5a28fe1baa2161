"""Gymnasium's InvertedDoublePendulum: balance two poles on a cart."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Viewpoint, register
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS, GymnasiumTask, start_near_rest

UPRIGHT = 2.0  # m, height that the tip is rewarded for
LOWEST = 1.0  # m, of the tip; below it the episode ends
FASTEST = 10.0  # m/s, rad/s, N, of what is observed

POLES = slice(1, None)  # positions of the poles


@register(
    "gymnasium/InvertedDoublePendulum-v5", "Balance two poles on a cart.", TAGS, options=OPTIONS
)
@dataclass(frozen=True, kw_only=True)
class InvertedDoublePendulum(GymnasiumTask):
    """Balance two poles, one on the other, on a cart, as in Gymnasium's InvertedDoublePendulum-v5.

    Reward: `reward_survive`, the healthy reward while the tip is above 1 m, else the episode ends;
    `distance_penalty`, -(0.01 x^2 + (z - 2)^2) of the tip's place (m); `velocity_penalty`,
    -(0.001 w1^2 + 0.005 w2^2) of the poles' velocities (rad/s).

    Start: positions uniform about 0, velocities normal, both with the noise scale.

    Observation: `cart`, its place (m); `sin`, `cos`, of the poles' angles; `qvel`, velocities of
    the cart (m/s) and the poles (rad/s), within -10 and 10; `cart_force`, the force of constraints
    on the cart (N), within -10 and 10.
    """

    healthy_reward: float = 10.0
    reset_noise_scale: float = 0.1

    xml_file: str = "inverted_double_pendulum.xml"
    frame_skip: int = 5  # physics steps of 0.01 s

    time_limit: float = 50.0  # s: 1000 control steps
    control_timestep: float = field(default=0.05, init=False)  # s

    reported = ("reward_survive", "distance_penalty", "velocity_penalty")
    usual_camera: ClassVar[Viewpoint] = Viewpoint(elevation=-10.0, distance=2.5, lookat=(0, 0, 0.5))

    def initialize(self, v: SingleView, rng: Any) -> None:
        start_near_rest(v, rng, self.reset_noise_scale, normal=True)

    def observation(self, v: View) -> Arrays:
        return {
            "cart": v.qpos[..., 0],
            "sin": v.xp.sin(v.qpos[..., POLES]),
            "cos": v.xp.cos(v.qpos[..., POLES]),
            "qvel": v.xp.clip(v.qvel, -FASTEST, FASTEST),
            "cart_force": v.xp.clip(v.qfrc_constraint[..., 0], -FASTEST, FASTEST),
        }

    def terms(self, v: View) -> Arrays:
        x, z = v.site_xpos[..., 0, 0], v.site_xpos[..., 0, 2]
        first, second = v.qvel[..., 1], v.qvel[..., 2]
        away = 0.01 * squared(v, x) + squared(v, z - UPRIGHT)
        fast = 1e-3 * squared(v, first) + 5e-3 * squared(v, second)
        healthy = v.xp.astype(~self.terminated(v), v.qpos.dtype)
        return {
            "reward_survive": self.healthy_reward * healthy,
            "distance_penalty": -away,
            "velocity_penalty": -fast,
        }

    def reward(self, terms: Arrays) -> Array:
        return terms["reward_survive"] + terms["distance_penalty"] + terms["velocity_penalty"]

    def terminated(self, v: View) -> Array:
        return v.site_xpos[..., 0, 2] <= LOWEST


def squared(v: View, x: Array) -> Array:
    """Squares, in NumPy by the C library's `pow`.

    NumPy squares scalars with it, as Gymnasium's code does here; one square in a thousand has
    another last bit than the product. A recorded hook's `v.xp` has NumPy's name, too, and calls the
    same function.
    """
    return np.float_power(x, 2.0) if v.xp.__name__ == "numpy" else x * x
