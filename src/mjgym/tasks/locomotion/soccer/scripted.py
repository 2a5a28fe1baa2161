"""A boxhead that goes behind the ball and shoots at the goal."""

from mjgym.arrays import Array, namespace
from mjgym.rotations import norm
from mjgym.task import Arrays

BEHIND = 1.6  # m, from the ball, on the far side of it from the goal: where a run-up begins
AIMED = 0.9  # cosine of the angle between ball and goal, from which on it runs at the ball
NEAR = 1.2  # m, from where it starts its run, that will do
TURNING = 1.6  # steering for each rad that it faces away from where it goes
SETTLING = 0.35  # steering for each rad/s that it turns
SLOWEST = 0.25  # of full speed while it turns


def player(observation: Arrays) -> Array:
    """What players do who see this.

    Args:
        observation: entries by name, (..., k) each, of any number of players.

    Returns:
        Their actions, (..., 3): roll, steer, kick.
    """
    ball = observation["ball_ego_position"][..., :2]
    goal = observation["opponent_goal_mid"][..., :2]
    spin = observation["sensors_gyro"][..., 2]
    xp = namespace(ball)
    shot = _unit(xp, goal - ball)
    to_ball = _unit(xp, ball)
    aimed = (to_ball * shot).sum(axis=-1) > AIMED
    start = ball - BEHIND * shot
    # Around the ball, not through it, where it is in the way.
    side = xp.where(shot[..., 0] * ball[..., 1] - shot[..., 1] * ball[..., 0] > 0, -1.0, 1.0)
    past = xp.stack([-shot[..., 1], shot[..., 0]], axis=-1) * side[..., None]
    blocked = (to_ball * shot).sum(axis=-1) < 0
    around = xp.where(blocked[..., None], start + BEHIND * past, start)
    target = xp.where(aimed[..., None], goal, around)
    target = xp.where((aimed & (norm(ball) > NEAR))[..., None], ball, target)
    angle = xp.atan2(target[..., 1], target[..., 0])
    steer = xp.clip(-TURNING * angle - SETTLING * -spin, -1.0, 1.0)
    ahead = xp.maximum(xp.cos(angle), xp.full_like(angle, SLOWEST))
    return xp.stack([-ahead, steer, xp.zeros_like(angle)], axis=-1)


def _unit(xp: object, vector: Array) -> Array:
    return vector / (norm(vector)[..., None] + 1e-9)
