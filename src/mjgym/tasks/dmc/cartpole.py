"""Swing up and balance one pole, or a chain of them, by pushing the cart that carries it."""

from dataclasses import dataclass
from math import pi
from typing import Any

from mjgym import mjcf
from mjgym.arrays import columns, largest, smallest, total
from mjgym.rewards import small_control, tolerance
from mjgym.rotations import XZ, ZZ
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Task, register_variants, variant
from mjgym.util.values import whole_number

UPRIGHT_COSINE = 0.995  # cosine of the angle to the vertical within which a pole is upright
CENTRE = 0.25  # m, distance from the middle of the rail that counts as centred
SLIDER_MARGIN = 2.0  # m
HINGE_VELOCITY_MARGIN = 5.0  # rad/s

POLE_LENGTH = 1.0  # m
MOST_POLES = 100
FLOOR_CLEARANCE = 0.05  # m, below the lowest point of a hanging chain of two or more poles

POLES = slice(2, None)  # bodies: the world, the cart, then the poles from the cart outwards

EXTRA = ("extra", "reward_viz")


@register_variants(
    "dmc/cartpole-{}-v0",
    ("benchmarking", "reward_viz"),
    balance=variant("Balance a pole on a cart, from near upright."),
    balance_sparse=variant("Balance a pole within narrow limits.", sparse=True),
    swingup=variant("Swing a pole up by moving its cart, and balance.", swingup=True),
    swingup_sparse=variant(
        "Swing a pole up by moving its cart, and balance within narrow limits.",
        swingup=True,
        sparse=True,
    ),
    two_poles=variant(
        "Swing a chain of two poles up by moving its cart, and balance.",
        EXTRA,
        swingup=True,
        poles=2,
    ),
    three_poles=variant(
        "Swing a chain of three poles up by moving its cart, and balance.",
        EXTRA,
        swingup=True,
        poles=3,
    ),
)
@dataclass(frozen=True)
class Cartpole(Task):
    """Keep every pole upright and the cart in the middle (Barto, Sutton and Anderson, 1983).

    Reward: mean over the poles of (1 + cosine) / 2, times a factor in [0.8, 1] for small control,
    one in [0.5, 1] for slow hinges and one in [0.5, 1] for a centred cart. Sparse: 1 while every
    pole is within 5.7 degrees of upright and the cart within 0.25 m of the middle, else 0.

    Start: balancing near upright, or, with `swingup`, hanging down, with small random velocities.

    Observation: `position`, the cart's place (m), then cosine and sine of each pole's angle to the
    vertical; `velocity`, the cart's (m/s), then each hinge's (rad/s).
    """

    swingup: bool = False  # start hanging down instead of near upright
    sparse: bool = False  # reward 1 at the goal and 0 elsewhere
    poles: int = 1  # in a chain, each hinged to the end of the one before

    time_limit = 10.0  # s
    control_timestep = 0.01  # s

    def __post_init__(self) -> None:
        whole_number("poles", self.poles, most=MOST_POLES)

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/cartpole.xml")
        pole, end = spec.find_default("pole"), [0, 0, POLE_LENGTH]
        body = spec.body("pole_1")
        for k in range(2, self.poles + 1):
            body = mjcf.add(body, "body", name=f"pole_{k}", pos=end, default=pole)
            mjcf.add(body, "joint", name=f"hinge_{k}")  # uses the body's defaults
            mjcf.add(body, "geom", name=f"pole_{k}")
        if self.poles > 1:  # room for the hanging chain and the cameras
            spec.geom("floor").pos[2] = 1 - self.poles * POLE_LENGTH - FLOOR_CLEARANCE
            spec.camera("fixed").pos = [0, -1 - 2 * self.poles, 1]
            spec.camera("lookatcart").pos = [0, -2 * self.poles, 2]
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        if self.swingup:  # cart, first hinge, other hinges
            v.qpos[:2] = 0.01 * rng.normal(size=2) + (0, pi)
            v.qpos[2:] = 0.1 * rng.normal(size=self.poles - 1)
        else:
            v.qpos[0] = rng.uniform(-0.1, 0.1)
            v.qpos[1:] = rng.uniform(-0.034, 0.034, size=self.poles)
        v.qvel[:] = 0.01 * rng.normal(size=1 + self.poles)

    def observation(self, v: View) -> Arrays:
        angles = columns(v.xmat[..., POLES, :], (ZZ, XZ))  # absolute
        angles = v.xp.reshape(angles, (*v.lead, -1))
        position = v.xp.concat([v.qpos[..., :1], angles], axis=-1)
        return {"position": position, "velocity": v.qvel}

    def terms(self, v: View) -> Arrays:
        cosines = v.xmat[..., POLES, ZZ]
        cart = v.qpos[..., 0]
        if self.sparse:
            return {
                "centred": tolerance(cart, (-CENTRE, CENTRE)),
                "upright": tolerance(smallest(cosines), (UPRIGHT_COSINE, 1.0)),
            }
        hinge_velocity = largest(abs(v.qvel[..., 1:]))  # the fastest hinge decides
        return {
            "upright": total(1 + cosines) / (2 * self.poles),
            "small_control": small_control(v.ctrl),
            "small_velocity": (1 + tolerance(hinge_velocity, margin=HINGE_VELOCITY_MARGIN)) / 2,
            "centred": (1 + tolerance(cart, margin=SLIDER_MARGIN)) / 2,
        }
