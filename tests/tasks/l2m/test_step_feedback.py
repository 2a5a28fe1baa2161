"""Step-to-step feedback of the reflex walker: its law, its strikes, and that it walks further."""

import gymnasium
import numpy as np
import pytest

from helpers.body_records import episodes
from helpers.lanes import lane
from mjgym.tasks.l2m.reflex import START, Reflexes, looked_at, parameters
from mjgym.tasks.l2m.step_feedback import (
    LARGEST_OFFSET,
    LEAD,
    OFFSETS,
    STATE,
    SWING,
    TURN_RATE,
    StepFeedback,
    SteppedReflexes,
    feedback,
    strike_state,
)

WALK = parameters("spatial-walk")
SIDEWAYS = ("roll", "sideways", "roll rate", "yaw rate", "heading")


def constant(offsets):
    """A law of the same offsets at each strike, before they are bounded."""
    size = len(STATE)
    zeros = np.zeros((len(OFFSETS), size))
    return StepFeedback(np.zeros(size), np.ones(size), (zeros,), (np.array(offsets, dtype=float),))


def bounded(offset):
    return LARGEST_OFFSET * np.tanh(offset / LARGEST_OFFSET)


PITCH, ROLL, RATES, YAW = 243, 244, slice(248, 250), 250  # in the flat observation
TARGET = [60, 181]  # forward and leftward, at the walker


def rows(count=84):
    """Recorded observations, with a target where the walker's start headed."""
    observations = episodes()["reflex"]["obs"][:count].copy()
    yaw = observations[:, YAW]
    heading = 0.01 * np.cumsum((yaw + np.append(0.0, yaw[:-1])) / 2)
    observations[:, TARGET] = np.stack([np.cos(heading), -np.sin(heading)], axis=-1)
    return observations


def test_without_offsets_the_reflexes_are_the_same():
    plain = Reflexes(WALK, abduction="angle")
    stepped = SteppedReflexes(WALK, constant([0.0] * len(OFFSETS)))
    np.testing.assert_array_equal([stepped(x) for x in rows()], [plain(x) for x in rows()])


def test_offsets_begin_at_a_strike():
    """And are those that the reflexes have by other parameters."""
    lean = 2.0  # units of 1.5 degrees; a parameter is 10 degrees
    stepped = SteppedReflexes(WALK, constant([lean, *[0.0] * (len(OFFSETS) - 1)]))
    changed = Reflexes(
        {**WALK, "theta_tgt": WALK["theta_tgt"] + 1.5 * bounded(lean) / 10}, abduction="angle"
    )
    plain = Reflexes(WALK, abduction="angle")
    struck = False
    for row in rows():
        found, before, after = stepped(row), plain(row), changed(row)
        struck |= bool(stepped.struck.any())
        np.testing.assert_allclose(found, after if struck else before, atol=1e-12)
    assert struck
    assert stepped.offset[0] == pytest.approx(bounded(lean))


def test_the_network_of_a_law():
    """Two layers by hand: far states are clipped, and offsets bounded."""
    rng = np.random.default_rng(0)
    reference, scale = rng.normal(size=len(STATE)), rng.uniform(0.5, 2, len(STATE))
    weights = rng.normal(size=(3, len(STATE))), rng.normal(size=(len(OFFSETS), 3))
    biases = rng.normal(size=3), rng.normal(size=len(OFFSETS))
    law = StepFeedback(reference, scale, weights, biases)
    states = reference + scale * rng.normal(0, 4, (50, len(STATE)))
    for state, found in zip(states, law.offsets(states), strict=True):
        x = [max(-5.0, min(5.0, d)) for d in (state - reference) / scale]
        hidden = [np.tanh(b + sum(w * d for w, d in zip(row, x, strict=True)))
                  for row, b in zip(weights[0], biases[0], strict=True)]  # fmt: skip
        out = [b + sum(w * h for w, h in zip(row, hidden, strict=True))
               for row, b in zip(weights[1], biases[1], strict=True)]  # fmt: skip
        np.testing.assert_allclose(found, bounded(np.array(out)), rtol=1e-12)
    much = constant([100.0] * len(OFFSETS)).offsets(np.zeros(len(STATE)))
    np.testing.assert_allclose(much, LARGEST_OFFSET)


def test_a_strike_follows_a_swing():
    stepped, airborne = SteppedReflexes(WALK, constant([0.0] * len(OFFSETS))), np.zeros(2)
    for row in rows():
        stepped(row)
        load = looked_at(row).load
        assert not (stepped.struck & (airborne < SWING)).any()
        airborne = np.where(load > 0.1, 0, airborne + 1)


def test_a_left_strike_is_seen_in_a_mirror():
    """With the legs and sideways numbers exchanged, it is a right one."""
    seen = looked_at(rows(1)[0])
    velocity = seen.velocity * np.array([1, -1, 1, 1, -1, -1])
    mirrored = seen._replace(
        roll=-seen.roll,
        velocity=velocity,
        load=seen.load[::-1],
        angles=seen.angles[::-1],
        rates=seen.rates[::-1],
        force={name: x[::-1] for name, x in seen.force.items()},
        target=seen.target * np.array([1, -1]),
    )
    right, left = strike_state(seen, 0), strike_state(mirrored, 1)
    np.testing.assert_array_equal(right, left)
    assert len(right) == len(STATE)
    other = strike_state(seen, 1)
    for name in SIDEWAYS:
        assert other[STATE.index(name)] == -right[STATE.index(name)], name


def test_many_at_once():
    """Each has its own strikes, and begins anew where it is told to."""
    law, seen = feedback("spatial-walk"), rows()
    single, script = SteppedReflexes(WALK, law), SteppedReflexes(WALK, law)
    for t in range(80):
        if t == 40:
            script.restart(np.array([False, True]))
            single = SteppedReflexes(WALK, law)
        found = script(seen[[t, t if t < 40 else t - 40]])
        if t >= 40:
            np.testing.assert_allclose(found[1], single(seen[t - 40]), atol=1e-12)
    assert np.abs(script.offset[0]).max() > 0


def turned(observations, angle):
    """The same motion, with the tilt and the list about axes that are turned by an angle."""
    found = observations.copy()
    cosine, sine = np.cos(angle), np.sin(angle)
    for pitch, roll in ((PITCH, ROLL), (RATES.start, RATES.start + 1)):
        found[:, pitch] = cosine * observations[:, pitch] + sine * observations[:, roll]
        found[:, roll] = cosine * observations[:, roll] - sine * observations[:, pitch]
    return found


def test_it_acts_the_same_in_every_direction():
    """Once the course has turned, leans are along it."""
    angle, law = 1.0, feedback("spatial-walk")
    straight, aside = SteppedReflexes(WALK, law), SteppedReflexes(WALK, law)
    plain = rows()
    straight(plain[0])
    aside(plain[0])
    aside.course, aside.heading = aside.course + angle, aside.heading + angle
    for row, other in zip(plain[1:], turned(plain, angle)[1:], strict=True):
        np.testing.assert_allclose(aside(other), straight(row), atol=1e-9)
    assert aside.course - straight.course == pytest.approx(angle)


@pytest.mark.slow
@pytest.mark.parametrize("side", [1, -1])
def test_the_course_turns_to_the_target(side):
    """Even behind it: to one side, at no more than the turn rate, within the lead."""
    script = SteppedReflexes(WALK, feedback("spatial-walk"))
    row = rows(1)[0]
    row[YAW] = 0.0  # it does not turn itself
    for step in range(1, 400):
        # The target changes sides behind it.
        row[TARGET] = -1.0, (0.1 if step < 20 else -0.1) * side
        script(row)
        lead = side * script.course
        assert lead <= (LEAD + 0.01) * TURN_RATE + 1e-9
        assert lead == pytest.approx(min(step * 0.01 * TURN_RATE, lead), abs=1e-9)
    assert lead > LEAD * TURN_RATE


@lane(1, 3)
@pytest.mark.compiled
def test_it_turns(compiled_forces):
    """To targets on the left and on the right of two walkers, and the heading is known."""
    envs = gymnasium.make_vec(
        "l2m/walk_around-v0", 2, dtype="float64", init_pose=START, observation="dict",
        seen_field="centre",
    )  # fmt: skip
    script = envs.unwrapped.task.scripted_policy()
    observation, _ = envs.reset(seed=0)
    for _ in range(800):
        observation["v_tgt"] = 1.4 * np.array([[np.cos(0.8), x * np.sin(0.8)] for x in (1, -1)])
        observation, _, fell, _, _ = envs.step(script(observation))
        assert not fell.any()
    heading = envs.unwrapped.view.qpos[:, envs.unwrapped.model.joint("pelvis_rotation").qposadr]
    heading = np.ravel(heading)
    assert heading[0] > 0.8
    assert heading[1] < -0.8
    np.testing.assert_allclose(script.heading, heading, atol=0.05)


@pytest.mark.weekly
@pytest.mark.compiled
def test_it_walks_from_more_starts(compiled_forces):
    """Of 12 starts around START, more for 6 s than without feedback."""
    starts = np.random.default_rng(3).uniform(-1, 1, (12, 3)) * [0.1, 0.1, np.deg2rad(3)]
    envs = gymnasium.make_vec(
        "l2m/walk_forward-v0", len(starts), dtype="float64", init_pose=START, time_limit=6.0
    )
    walked = []
    for script in (
        SteppedReflexes(WALK, feedback("spatial-walk")),
        Reflexes(WALK, abduction="angle"),
    ):
        observation, _ = envs.reset(seed=0)
        state = envs.unwrapped.get_state()
        dofs = [envs.unwrapped.model.joint(f"pelvis_{name}").id for name in ("tx", "tz", "tilt")]
        state["qvel"][:, dofs[:2]] += starts[:, :2]
        state["qpos"][:, dofs[2]] += starts[:, 2]
        observation = envs.unwrapped.set_state(state)
        fallen = np.zeros(len(starts), dtype=bool)
        for _ in range(595):
            observation, _, terminated, _, _ = envs.step(script(observation))
            fallen |= terminated
        walked.append(len(starts) - fallen.sum())
    assert walked[0] > walked[1]
