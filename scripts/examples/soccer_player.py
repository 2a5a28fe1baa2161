"""Reward shaping and network inputs of the players of `soccer_ppo.py`."""

import gymnasium as gym
import torch

# Shaping reward per control step of 0.1 s, beside goals: for a player's speed to its destination
# and the ball's to the goal, per m/s, and for the cosine of the angle by which a player faces its
# way. At a discount of 0.98, running at 8 m/s forever is worth 0.8: with more, players would not
# score.
SHAPING = {"speed": 0.002, "ball": 0.005, "facing": 0.004}
BEHIND = 2.0  # m, from the ball, destination of a player beside it

number: dict[str, list[int]] = {}  # indices of each entry in an observation
_match = gym.make("mjgym:soccer/boxhead-1v1-v0", opponent="still").unwrapped
for _row in _match.describe()["observation"]:
    number.setdefault(_row["entry"].partition("/")[2], []).append(_row["index"])
BALL, GOAL, OWN_GOAL, OTHER, SPEED = (
    number[entry][:2]  # in the plane, x ahead
    for entry in (
        *("ball_ego_position", "opponent_goal_mid", "team_goal_mid", "opponent_0_ego_position"),
        "sensors_velocimeter",
    )
)
MOTION = [i for name, places in number.items() if name.endswith("velocity") for i in places]


def unit(x: torch.Tensor, least: float = 0.1) -> torch.Tensor:
    """Soft direction of vectors (..., 2) in m: shorter for short vectors."""
    return x / (x.norm(dim=-1, keepdim=True) + least)


def place(seen: torch.Tensor) -> torch.Tensor:
    """Destination, (..., 2) m: behind the ball, farther if the aim is bad."""
    shot = unit(seen[..., GOAL] - seen[..., BALL])
    aim = (unit(seen[..., BALL]) * shot).sum(-1, keepdim=True)
    return seen[..., BALL] - BEHIND * (1 - aim) * shot


def shaping(seen: torch.Tensor) -> torch.Tensor:
    """The shaping reward of each player."""
    ahead = unit(place(seen))
    speed, ball = (ahead * seen[..., SPEED]).sum(-1), seen[..., number["stats_vel_ball_to_goal"][0]]
    terms = {"speed": speed, "ball": ball, "facing": ahead[..., 0]}
    return sum(weight * terms[name] for name, weight in SHAPING.items())


def features(seen: torch.Tensor) -> torch.Tensor:
    """Network inputs: directions and squashed distances of points, and velocities."""
    ways = [place(seen), *(seen[..., to] for to in (BALL, GOAL, OWN_GOAL, OTHER))]
    heights = seen[..., [number["ball_ego_position"][2], *number["world_zaxis"]]]
    motion = seen[..., [*number["sensors_velocimeter"], *number["sensors_gyro"], *MOTION]]
    return torch.cat([*(unit(x, 1.0) for x in ways), (motion / 4).asinh(), heights], -1)
