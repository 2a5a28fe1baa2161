"""Mirror images of observations and actions, against the physics of mirrored states."""

import gymnasium
import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from mjgym_train.learn.mirror import joint_images, mirrors


def mirrored(model, state):
    """The state with the positions, velocities and actions of the other side."""
    qpos, qvel = state["qpos"].copy(), state["qvel"].copy()
    qpos[[1, 4, 6]] *= -1  # y; the quaternion's x and z
    qvel[[1, 3, 5]] *= -1
    for name, (other, sign) in joint_images(model).items():
        joint, image = model.joint(name), model.joint(other)
        qpos[image.qposadr] = sign * state["qpos"][joint.qposadr]
        qvel[image.dofadr] = sign * state["qvel"][joint.dofadr]
    return {**state, "qpos": qpos, "qvel": qvel, "qacc_warmstart": np.zeros_like(qvel)}


def started(id, **arguments):
    env = gymnasium.make(id, dtype="float64", **arguments).unwrapped
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    low, high = env.action_space.low, env.action_space.high
    return env, rng.uniform(low, high, (20, len(low)))


def test_a_symmetric_robot_moves_as_its_image():
    env, actions = started("dmc/humanoid-walk-v0")
    of_observation, of_action = mirrors(env.describe(), env.model)
    for action in actions[:10]:
        env.step(action)
    start = {**env.get_state(), "qacc_warmstart": np.zeros(env.model.nv)}
    ends = []
    for state, image in ((start, np.asarray), (mirrored(env.model, start), of_action)):
        env.set_state(state)
        for action in actions[10:14]:
            observation, reward, *_ = env.step(image(action))
        ends.append((observation, reward))
    (one, reward), (other, same) = ends
    assert np.abs(one - other).max() > 0.1
    np.testing.assert_allclose(of_observation(one), other, atol=1e-6)
    assert same == pytest.approx(reward, abs=1e-6)


@pytest.mark.parametrize(
    "id", mostly_nightly(["go1-velocity", "go2-velocity", "g1-velocity", "go1-tracking"], quick=4)
)
def test_legged_robots(id):
    """Their inertias differ a little from side to side: a control step, not an episode."""
    commands = ({"command": (0.3, y, -2 * y)} for y in (0.2, -0.2))
    arguments = commands if "velocity" in id else ({}, {})
    (env, actions), (other, _) = (started(f"legged/{id}-v0", **given) for given in arguments)
    of_observation, of_action = mirrors(env.describe(), env.model)
    start, own = env.get_state(), other.get_state()
    env.set_state(start)
    image = mirrored(env.model, start)
    image.update((name, own[name]) for name in own if name.startswith("memory."))
    other.set_state(image)
    ends = [env.step(0.3 * actions[0])[0], other.step(0.3 * of_action(actions[0]))[0]]
    rows = [r["index"] for r in env.describe()["observation"] if "motion" not in r["source"]]
    assert np.abs(ends[0] - ends[1])[rows].max() > 0.1
    np.testing.assert_allclose(of_observation(ends[0])[rows], ends[1][rows], atol=0.05)


@pytest.mark.slow
def test_the_scan_of_heights():
    env, _ = started("legged/go1-velocity-rough-v0")
    of_observation, _ = mirrors(env.describe(), env.model)
    scan = {r["index"]: r["name"] for r in env.describe()["observation"] if "scan" in r["entry"]}
    for i, name in scan.items():
        (x, y), (x_other, y_other) = (
            map(float, found.split()) for found in (name, scan[of_observation.order[i]])
        )
        assert (x, -y, 1) == (x_other, y_other, of_observation.sign[i])
    assert len(scan) == 187


@pytest.mark.parametrize(
    ("id", "number"), [("dmc/walker-walk", "orientations cosine of torso"), ("l2m/walk_around", "")]
)
def test_an_unknown_image_is_refused(id, number):
    env, _ = started(f"{id}-v0")
    with pytest.raises(ValueError, match=f"{number}.*: its image on the other side is unknown"):
        mirrors(env.describe(), env.model)
