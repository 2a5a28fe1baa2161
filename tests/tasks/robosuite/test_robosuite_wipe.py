"""Wipe against recorded states of robosuite 1.5.2 on MuJoCo 4.0.0, and its published rules."""

import array_api_strict
import numpy as np
import pytest

from helpers.compiling import nothing_compiled
from helpers.robosuite_records import Record, make_task
from mjgym import Env, VectorEnv
from mjgym.sim.derived_views import ConvertedView
from mjgym.tasks.robosuite.wipe import Wipe

EXACT = 1e-6


def place_spots(v, recorded):
    spots = [f"contact{i}" for i in range(100)]
    v.site_pos[v.rows("site_pos", spots)] = recorded["markers"]


@pytest.fixture(scope="module")
def record():
    return Record("Wipe", place_spots)


@pytest.mark.slow
def test_joints_and_entries_are_the_recorded_ones_in_their_order(record):
    record.assert_same_order()


@pytest.mark.slow
def test_observations_and_successes_are_the_recorded_ones(record):
    errors, touched = record.compare()
    del errors["shaped"]  # not recorded: it takes a history
    assert not touched.any()
    assert {key: worst.max() for key, worst in errors.items() if worst.max() > EXACT} == {}
    assert len(np.unique(record.arrays["obs_wipe_radius"])) > 3


@pytest.mark.slow
def test_recorded_states_are_the_same_all_at_once(record):
    record.assert_same_all_at_once()


# Spots.


def spots_of(env):
    count = env.task.num_markers
    return np.array([env.data.site(f"contact{i}").xpos for i in range(count)])


@pytest.mark.slow
def test_spots_lie_in_a_winding_line_that_is_drawn_for_each_episode():
    env = Env(Wipe())
    lines = []
    with nothing_compiled():
        for seed in range(40):
            env.reset(seed=seed)
            lines.append(spots_of(env))
    lines = np.array(lines)
    np.testing.assert_allclose(lines[..., 2], 0.9)
    far = np.abs(lines[..., :2] - (0.15, 0)).max(axis=(0, 1))
    assert (far <= (0.13, 0.22)).all()
    assert (far > (0.125, 0.21)).all()
    steps = np.diff(lines[..., :2], axis=1)
    np.testing.assert_allclose(np.linalg.norm(steps, axis=-1), 0.005)
    turns = np.abs(np.diff(np.unwrap(np.arctan2(steps[..., 0], steps[..., 1])), axis=1)) > 1e-6
    assert turns.mean() == pytest.approx(0.3, abs=0.06)


def test_two_lines_of_another_number_of_spots():
    env = Env(Wipe(num_markers=31, two_clusters=True))
    env.reset(seed=0)
    steps = np.linalg.norm(np.diff(spots_of(env), axis=0), axis=1)
    apart = np.flatnonzero(steps > 0.006)
    np.testing.assert_array_equal(apart, [14])  # after 15 of them


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gripper": "PandaGripper"}, "WipingGripper"),
        ({"num_markers": 0}, "num_markers"),
        ({"coverage_factor": 0.05}, "no room"),
    ],
)
def test_what_does_not_fit_is_refused(fields, message):
    with nothing_compiled(), pytest.raises(ValueError, match=message):
        Wipe(**fields)


# Wiping.


def towards(env, point):
    """An action that moves the sponge to a point."""
    task = env.task
    ahead = point - env.view.site(task.manipulators[0].tool).xpos
    return np.concatenate([np.clip(ahead / 0.05, -1, 1), np.zeros(3)])


def pressing(**fields):
    """An environment whose sponge lies on the table."""
    fields = {"start_noise": 0.0, "reward_scale": None} | fields
    env = Env(Wipe(**fields), observation="dict", dtype="float64")
    env.reset(seed=0)
    start = env.view.site(env.task.manipulators[0].tool).xpos.copy()
    for _ in range(30):
        env.step(towards(env, np.array([start[0] + 0.05, start[1], 0.89])))
    assert env.data.ncon > 1
    return env


def test_spots_under_the_sponge_are_wiped_and_stay_wiped():
    env = pressing()
    task, view = env.task, env.view
    site = env.data.site(task.manipulators[0].tool)
    mat, face = site.xmat.reshape(3, 3).copy(), site.xpos.copy()
    x, y, deep = 0.06, 0.025, 0.02
    cases = [
        ((0, 0, 0.01), True),
        ((0.98 * x, 0.98 * y, 0.01), True),
        ((-0.98 * x, 0.98 * y, 0.01), True),
        ((1.02 * x, 0, 0.01), False),
        ((0, -1.02 * y, 0.01), False),
        ((0, 0, 0.98 * deep), True),
        ((0, 0, 1.02 * deep), False),
        ((0, 0, 0.0002), True),
        ((0, 0, -0.0002), False),
    ]
    before = view.memory["wiped"].copy()
    assert not before.any()
    places = env.model.site_pos.copy()
    table = env.data.body("table").xpos
    for i, ((a, b, inside), _) in enumerate(cases):
        spot = env.model.site(f"contact{i}").id
        places[spot] = face + mat @ (a, b, -inside) - table
    env.set_state({"site_pos": places})
    wiped = task.wiped(view)
    np.testing.assert_array_equal(wiped[: len(cases)], [expected for _, expected in cases])
    new = np.count_nonzero(wiped)
    assert task.terms(view)["wipe"] == 50 * new
    # Once wiped they stay so, wherever they are.
    state = {"site_pos": places * 0, "memory.wiped": wiped.copy()}
    observation = env.set_state(state)
    assert observation["proportion_wiped"] == pytest.approx(new / 100)
    assert task.terms(view)["wipe"] == 50 * np.count_nonzero(task.wiped(view) & ~wiped)


def test_spots_are_not_wiped_without_contact():
    env = Env(Wipe(), observation="dict", dtype="float64")
    env.reset(seed=0)
    site = env.data.site(env.task.manipulators[0].tool)
    inside = site.xpos - 0.01 * site.xmat.reshape(3, 3)[:, 2] - env.data.body("table").xpos
    env.set_state({"site_pos": np.tile(inside, (env.model.nsite, 1))})
    assert env.data.ncon == 0
    assert not env.task.wiped(env.view).any()


def test_every_step_pays_by_the_published_rule():
    """A stroke over the table, against the rule written down anew."""
    env = Env(Wipe(start_noise=0.0, reward_scale=None), observation="dict", dtype="float64")
    env.reset(seed=1)
    task, view = env.task, env.view
    spots = spots_of(env)
    wiped = np.zeros(100, dtype=bool)
    first, seen = np.zeros(3), set()
    for i in range(110):
        target = spots[~wiped][0]
        down = 0.885 if i > 12 else 1.0
        push = towards(env, np.array([*target[:2], down]))
        _, reward, terminated, _, info = env.step(push)
        site, data = env.data.site(task.manipulators[0].tool), env.data
        seen_by_sponge = (spots - site.xpos) @ site.xmat.reshape(3, 3)
        under = (np.abs(seen_by_sponge[:, :2]) < (0.06, 0.025)).all(axis=1)
        under &= (seen_by_sponge[:, 2] < 0) & (seen_by_sponge[:, 2] > -0.02)
        new = under & ~wiped & (data.ncon > 0)
        wiped |= new
        left = spots[~wiped]
        force = data.sensor("gripper0_right_force_ee").data
        size = np.linalg.norm(force)
        expected = 50 * new.sum()
        expected += 5 * (1 - np.tanh(5 * np.linalg.norm(left.mean(axis=0) - site.xpos)))
        if data.ncon and np.linalg.norm(force - first) > 1:
            expected += 0.01
            seen.add("touch")
        if size > 60:
            expected -= 0.05 * size
            seen.add("too hard")
        elif size > 0.5 and data.ncon > 1:
            expected += 0.01 + 0.01 * size + 0.1 * (data.ncon > 50)
            seen.add("press")
        if not first.any():
            first = force.copy()
        assert not terminated
        assert reward == pytest.approx(expected, abs=1e-9)
        assert info["terms/fault"] == 0
        np.testing.assert_array_equal(view.memory["wiped"], wiped)
    assert seen == {"touch", "too hard", "press"}
    assert wiped.sum() > 5


def test_wiped_spots_are_not_seen():
    env = Env(Wipe(), observation="dict", dtype="float64")
    env.reset(seed=0)
    wiped = np.arange(100) % 2 == 0
    env.set_state({"memory.wiped": wiped})
    colours = env.task.colours(env.view)
    opaque = np.array([colours[f"site contact{i}"][3] for i in range(100)])
    np.testing.assert_array_equal(opaque, ~wiped)


@pytest.mark.parametrize("paid", ["dense", "sparse"])
def test_clean_table_is_a_success_and_ends_the_episode(paid):
    env = Env(Wipe(reward_type=paid), observation="dict", dtype="float64")
    env.reset(seed=0)
    observation = env.set_state({"memory.wiped": np.ones(100, dtype=bool)})
    assert observation["proportion_wiped"] == 1
    assert observation["wipe_radius"] == 0
    assert not observation["wipe_centroid"].any()
    assert not observation["gripper_to_wipe_centroid"].any()
    _, reward, terminated, _, info = env.step(np.zeros(6))
    assert reward == pytest.approx(25.5 * 1000 / (5000 + 25.51 * 1000))
    assert terminated
    assert info["success"]


def test_spots_one_by_one():
    env = Env(Wipe(num_markers=3, condensed=False), observation="dict", dtype="float64")
    env.reset(seed=0)
    observation = env.set_state({"memory.wiped": np.array([False, True, False])})
    assert list(observation)[-9:] == [
        name
        for i in range(3)
        for name in (f"marker{i}_pos", f"marker{i}_wiped", f"gripper_to_marker{i}")
    ]
    assert [observation[f"marker{i}_wiped"].item() for i in range(3)] == [0, 1, 0]
    tool = observation["robot0_eef_pos"]
    np.testing.assert_allclose(observation["gripper_to_marker2"], spots_of(env)[2] - tool)


# Faults.


@pytest.mark.slow
@pytest.mark.parametrize("ends", [True, False])
def test_joint_at_its_limit_is_a_fault(ends):
    env = Env(Wipe(reward_scale=None, early_terminations=ends), dtype="float64")
    env.reset(seed=0)
    qpos = env.data.qpos.copy()
    low, high = env.model.joint("robot0_joint7").range
    for angle, fault in ((high - 0.12, False), (high - 0.09, True), (low + 0.09, True)):
        qpos[6] = angle
        env.set_state({"qpos": qpos})
        terms = env.task.terms(env.view)
        assert terms["fault"] == (-10 if fault else 0)
        assert (env.task.reward(terms) == -10) == fault
        assert bool(env.task.terminated(env.view)) == (fault and ends)


@pytest.mark.slow
def test_arm_that_touches_the_table_is_a_fault_and_a_sponge_is_none():
    env = pressing()
    assert env.task.terms(env.view)["fault"] == 0
    raised = Env(Wipe(table_height=0.3, start_noise=0.0, reward_scale=None), dtype="float64")
    raised.reset(seed=0)
    assert raised.data.ncon > 0
    assert raised.task.terms(raised.view)["fault"] == -10
    sparse = make_task("Wipe", table_height=0.3, start_noise=0.0, reward_type="sparse")
    env = Env(sparse, dtype="float64")
    env.reset(seed=0)
    assert env.task.reward(env.task.terms(env.view)) == 0
    assert env.task.terminated(env.view)


@pytest.mark.slow
def test_colours_on_any_array_library():
    envs = VectorEnv(Wipe(), 2, dtype="float64")
    envs.reset(seed=0)
    ours = envs.task.colours(envs.view)
    others = envs.task.colours(ConvertedView(envs.view, array_api_strict))
    assert list(ours) == list(others)
    for key, value in ours.items():
        np.testing.assert_array_equal(np.asarray(others[key]), value)
    envs.close()
