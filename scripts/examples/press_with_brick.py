"""A task with the arm in one file: press a button with a brick."""

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym

from mjgym import mjcf, register
from mjgym.resets import place_bodies, settle
from mjgym.rewards import tolerance
from mjgym.rotations import norm
from mjgym.tasks.manipulation.arena import add_part
from mjgym.tasks.manipulation.arm_scene import Areas, Scene
from mjgym.tasks.manipulation.bricks import brick
from mjgym.tasks.manipulation.props import prop_observation

ID = "example/press_with_brick-v0"
SIDE, TRAVEL = 0.02, 0.006  # m, half a side of the button's cap, and how far it goes down
SPRING = 100.0  # N/m: 0.6 N press it down, which is five times the brick's weight
DOWN = 0.8 * TRAVEL  # m, from which on it is pressed
NEAR = 0.1  # m, of the brick from the button, at which nearness is 0.1
SHAPING = 0.1  # of nearness, where pressing is worth the rest


def button() -> mjcf.Spec:
    """A cap on a spring."""
    spec = mjcf.Spec()
    cap = mjcf.add(spec.worldbody, "body", name="cap", pos=(0, 0, 2 * TRAVEL))
    joint = mjcf.add(cap, "joint", name="press", type="slide", axis=(0, 0, -1), damping=1.0)
    mjcf.assign(joint, range=(0, TRAVEL), stiffness=SPRING, limited=True)
    geom = mjcf.add(cap, "geom", name="cap", type="box", size=(SIDE, SIDE, TRAVEL), mass=0.01)
    mjcf.assign(geom, contype=3, conaffinity=3, rgba=(0.8, 0.1, 0.1, 1))
    return spec


@register(ID, tags=("example",))
@dataclass(frozen=True)
class PressWithBrick(Scene):
    """Press a button on the work top with a brick.

    Reward: 0.9 while the button is down, plus 0.1 near: 1 at the button, 0.1 at 10 cm from it.

    Start: button and brick anywhere in a square of 20 cm, the tool 20 to 40 cm above.
    """

    varies = ("body_pos",)
    areas: ClassVar[Areas] = {
        "tcp": ((-0.1, -0.1, 0.2), (0.1, 0.1, 0.4)),
        "prop": ((-0.1, -0.1, 1e-6), (0.1, 0.1, 1e-6)),
    }

    def furnish(self, scene: mjcf.Spec) -> None:
        add_part(scene, brick(), "brick", free=True)
        add_part(scene, button(), "button")

    def initialize(self, v: Any, rng: Any) -> None:
        place_bodies(v, rng, ["button/", "brick/"], self.areas["prop"], turned=False)
        settle(v, ["brick/"])
        self.draw_fingers(v, rng)
        self.place_hand(v, rng)

    def observe_things(self, v: Any) -> dict[str, Any]:
        return {**prop_observation(v, "brick"), "button/position": v.body("button/cap").xpos}

    def terms(self, v: Any) -> dict[str, Any]:
        away = norm(v.body("brick/").xpos - v.body("button/cap").xpos)
        return {"near": tolerance(away, margin=NEAR), "down": 1.0 * self.success(v)}

    def reward(self, terms: dict[str, Any]) -> Any:
        return SHAPING * terms["near"] + (1 - SHAPING) * terms["down"]

    def success(self, v: Any) -> Any:
        return v.joint("button/press").qpos[..., 0] >= DOWN


if __name__ == "__main__":
    envs = gym.make_vec(ID, num_envs=4)
    envs.reset(seed=0)
    print("rewards", envs.step(envs.action_space.sample())[1])
