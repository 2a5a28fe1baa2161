"""The field of target velocities, against recorded ones."""

import math
from pathlib import Path

import numpy as np
import pytest

from helpers.lanes import mostly_slow
from mjgym.tasks.l2m.target_field import (
    DRAWS,
    FARTHEST_SINK,
    LONGEST_STAY,
    NEAREST_SINK,
    SHORTEST_STAY,
    SINKS,
    TURNS,
    TargetField,
)

DATA = Path(__file__).parents[2] / "data/learn_to_move"
TIMESTEP = 0.01  # s
PACE = 0.03  # m in a step, at which the recorded fields were walked to their sinks
CLOSE = 1e-5  # m/s


def recorded():
    with np.load(DATA / "fields.npz") as file:
        table = dict(file)
    ends = np.cumsum(table["rows"])
    per_row = ("step", "pose", "field", "here", "achieved", "target")
    return [
        {
            "version": int(version),
            "last_map": last_map,
            **{name: table[name][end - rows : end] for name in per_row},
        }
        for version, rows, end, last_map in zip(
            table["version"], table["rows"], ends, table["last_map"], strict=True
        )
    ]


FIELDS = recorded()
NAMES = [f"{i} version {f['version']}" for i, f in enumerate(FIELDS)]


def segments(field):
    """Rows of each sink, with the position around which its map was made and the heading so far."""
    achieved = np.flatnonzero(field["achieved"])
    starts = [0, *achieved]
    ends = [*achieved, len(field["step"])]
    centres = [np.zeros(2), *(field["pose"][i, :2] for i in achieved)]
    headings = [0.0, *(field["target"][i - 1, 2] for i in achieved)]
    return list(zip(starts, ends, centres, headings, strict=True))


def state_of(field, row, centre, phase):
    target = field["target"][row]
    return {
        "map_centre": centre,
        "sink": target[:2],
        "sink_distance": np.linalg.norm(target[:2] - centre),
        "path_heading": target[2],
        "phase": np.asarray(phase),
        "stay": target[3],
        "stayed": np.zeros(()),
        "sinks_achieved": np.zeros(()),
    }


def phase_of(field, rows, centre):
    """The one number that was not recorded: the field is linear in its sine and cosine."""
    law = TargetField(field["version"])

    def seen(phase):
        return law.seen(state_of(field, rows.start, centre, phase), field["pose"][rows])

    middle = (seen(0.0) + seen(math.pi)) / 2
    parts = [seen(math.pi / 2) - middle, seen(0.0) - middle]
    parts = np.stack([part.ravel() for part in parts], axis=-1)
    wanted = (field["field"][rows] - middle).ravel()
    (sine, cosine), *_ = np.linalg.lstsq(parts, wanted, rcond=None)
    assert math.hypot(sine, cosine) == pytest.approx(1, abs=CLOSE)
    return math.atan2(sine, cosine)


def draws_of(field):
    """The random numbers that have led to the recorded sinks."""
    table = np.zeros((SINKS[field["version"]], DRAWS))
    for i, (start, end, centre, heading) in enumerate(segments(field)):
        x, y, accumulated, stay = field["target"][start]
        turn = TURNS[field["version"]]
        distance = math.hypot(x - centre[0], y - centre[1])
        table[i] = (
            (distance - NEAREST_SINK) / (FARTHEST_SINK - NEAREST_SINK),
            (accumulated - heading) / (2 * turn) + 0.5 if turn else 0.0,
            phase_of(field, slice(start, end), centre) / (2 * math.pi) % 1,
            (stay - SHORTEST_STAY) / (LONGEST_STAY - SHORTEST_STAY),
        )
    assert (table >= 0).all()
    assert (table <= 1).all()
    return table.ravel()


def positions(field):
    """Where the walker was after each step: it walks straight to its sink, and stays there."""
    steps, poses, targets = field["step"], field["pose"], field["target"]
    last = None
    for row, step in enumerate(steps):
        if last is not None:
            position = poses[row - 1, :2]
            for between in range(last + 1, step):
                away = targets[row - 1, :2] - position
                distance = np.linalg.norm(away)
                position = (
                    targets[row - 1, :2] if distance <= PACE else position + PACE * away / distance
                )
                yield between, None, position
        yield step, row, poses[row, :2]
        last = step


@pytest.mark.parametrize("field", mostly_slow(FIELDS, 4), ids=NAMES)
def test_whole_recorded_fields(field):
    """Every recorded view, target velocity and sink, achieved at the recorded step."""
    law = TargetField(field["version"])
    draws = draws_of(field) if law.version else np.zeros(0)
    state = law.start(draws, np.zeros(2))
    walked = len(field["step"]) > 2
    for step, row, position in positions(field):
        if row is None and not walked:
            continue  # it was looked at from two places, far from each other
        before = state
        state = law.advance(state, draws, position, TIMESTEP)
        achieved = bool(law.version) and state["sinks_achieved"] > before["sinks_achieved"]
        assert achieved == (row is not None and bool(field["achieved"][row])), step
        if row is None:
            continue
        pose = field["pose"][row]
        np.testing.assert_allclose(law.seen(state, pose), field["field"][row], atol=CLOSE)
        here = law.velocity(state, pose[None, :2])[0]
        np.testing.assert_allclose(here, field["here"][row], atol=CLOSE)
        if law.version:
            x, y, heading, stay = field["target"][row]
            np.testing.assert_allclose(state["sink"], (x, y), atol=1e-9)
            np.testing.assert_allclose(state["path_heading"], heading, atol=1e-9)
            np.testing.assert_allclose(state["stay"], stay, atol=1e-9)


@pytest.mark.parametrize("field", FIELDS, ids=NAMES)
def test_the_whole_map(field):
    law = TargetField(field["version"])
    state, centre = {}, np.zeros(2)
    if law.version:
        start, end, centre, _ = segments(field)[-1]
        state = state_of(field, start, centre, phase_of(field, slice(start, end), centre))
    axis = np.arange(81) * 0.5 - 20
    x, y = np.meshgrid(centre[0] + axis, centre[1] + axis, indexing="ij")
    points = np.stack([x.ravel(), y.ravel()], axis=-1)
    found = law.velocity(state, points).T.reshape(2, 81, 81)
    np.testing.assert_allclose(found, field["last_map"], atol=CLOSE)
    beyond = law.velocity(state, points + 3 * np.sign(points - centre))  # as at the edge
    edge = np.abs(points - centre).max(axis=-1) > 19.9
    corner = np.abs(points - centre).min(axis=-1) > 19.9
    assert edge.sum() > corner.sum() == 4
    np.testing.assert_allclose(beyond[corner], law.velocity(state, points[corner]), atol=1e-12)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_many_are_to_the_bit_what_one_is(version):
    rng = np.random.default_rng(0)
    law = TargetField(version)
    draws = rng.uniform(size=(5, law.draws))
    place = rng.normal(size=(5, 2))
    state = law.start(draws, place)
    if version:
        state["stayed"] = np.array([0, 9, 0, 9, 0.0])
        place = np.where(np.arange(5)[:, None] == 1, state["sink"], place)
    pose = np.concatenate([place, rng.normal(size=(5, 1))], axis=-1)

    def after(state, draws, pose):
        new = law.advance(state, draws, pose[..., :2], TIMESTEP)
        return {**new, "seen": law.seen({**state, **new}, pose)}

    together = after(state, draws, pose)
    if version:
        assert together["sinks_achieved"].tolist() == [0, 1, 0, 0, 0]
    for i in range(5):
        alone = after({k: x[i] for k, x in state.items()}, draws[i], pose[i])
        for name, value in alone.items():
            np.testing.assert_array_equal(value, together[name][i], err_msg=name)


def test_the_second_of_two_sinks_stays():
    law = TargetField(3)
    draws = np.full(law.draws, 0.253)  # to stay for 2.506 s
    state = law.start(draws, np.zeros(2))
    achieved = []
    for _ in range(1500):
        state = law.advance(state, draws, state["sink"], TIMESTEP)
        achieved.append(float(state["sinks_achieved"]))
    assert max(achieved) == 2
    assert achieved.count(0.0) == 250
    assert achieved.count(1.0) == 251
    second = state["sink"]
    state = law.advance(state, draws, second + 5, TIMESTEP)
    np.testing.assert_array_equal(state["sink"], second)


def test_there_are_always_more_sinks_in_the_first_round():
    law = TargetField(2)
    draws = np.random.default_rng(0).uniform(size=law.draws)
    state = law.start(draws, np.zeros(2))
    for _ in range(100):
        number = state["sinks_achieved"]
        while state["sinks_achieved"] == number:
            state = law.advance(state, draws, state["sink"], 0.5)
    assert state["sinks_achieved"] == 100


def test_an_unknown_version():
    with pytest.raises(ValueError, match="difficulty: expected 0, 1, 2 or 3, got 4"):
        TargetField(4)
