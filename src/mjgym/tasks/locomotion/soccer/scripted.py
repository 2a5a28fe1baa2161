"""A boxhead that goes behind the ball and shoots at the goal."""

from mjgym.arrays import Array, namespace, total
from mjgym.task import Arrays

BEHIND = 2.5  # m, start of a run-up: from the ball, on the line of the shot
BESIDE = 2.0  # m, from the ball, at which a player in front of it passes
AIMED = 0.85  # least cosine between the directions to the ball and from it to the goal
TURNING = 1.6  # steering per rad of heading error
SETTLING = 0.3  # steering per rad/s of turning
FASTEST, SLOWEST = 9.0, 1.0  # m/s
ARRIVING = 1.5  # m/s per m from the start of a run-up
DRIVING = 0.8  # rolling per m/s below the target speed


def player(observation: Arrays) -> Array:
    """Actions (..., 3) of scripted players, roll, steer and kick, from entries (..., k) of each."""
    ball = observation["ball_ego_position"][..., :2]
    goal = observation["opponent_goal_mid"][..., :2]
    xp = namespace(ball)
    shot = _unit(goal - ball)
    aim = total(_unit(ball) * shot)
    shoots = xp.astype(aim > AIMED, xp.float64)[..., None]
    # Around the ball if it is in the way.
    before = xp.astype(aim < 0, xp.float64)[..., None]
    left = xp.astype(shot[..., 0] * ball[..., 1] - shot[..., 1] * ball[..., 0] < 0, xp.float64)
    aside = xp.stack([-shot[..., 1], shot[..., 0]], axis=-1) * (2 * left - 1)[..., None]
    run_up = ball - BEHIND * shot + before * BESIDE * aside
    target = shoots * ball + (1 - shoots) * run_up
    angle = xp.atan2(target[..., 1], target[..., 0])
    steer = xp.clip(SETTLING * observation["sensors_gyro"][..., 2] - TURNING * angle, -1.0, 1.0)
    facing = xp.cos(angle)
    limit = FASTEST * shoots[..., 0] + (1 - shoots[..., 0]) * (SLOWEST + ARRIVING * _length(target))
    wanted = xp.clip(limit, SLOWEST, FASTEST) * (facing + abs(facing)) / 2 * abs(facing)
    faster = wanted - observation["sensors_velocimeter"][..., 0]
    roll = xp.clip(-DRIVING * faster, -1.0, 1.0)
    return xp.stack([roll, steer, 0 * roll], axis=-1)


def team(observation: Arrays) -> Array:
    """The action of a team that is one agent, (..., 3 * players), for its dict observation."""
    players = dict.fromkeys(name.partition("/")[0] for name in observation)
    acting = [
        player({name.partition("/")[2]: x for name, x in observation.items() if name.startswith(p)})
        for p in (f"{name}/" for name in players)
    ]
    return namespace(acting[0]).concat(acting, axis=-1)


def _length(vector: Array) -> Array:
    return namespace(vector).sqrt(total(vector * vector))


def _unit(vector: Array) -> Array:
    return vector / (_length(vector)[..., None] + 1e-9)
