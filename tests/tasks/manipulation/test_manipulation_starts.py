"""Starts of the manipulation tasks: spread as the recorded ones, and free of forbidden contacts."""

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from helpers.lanes import mostly_nightly, mostly_slow
from helpers.manipulation_records import NAMES, ROBOT_JOINTS, STACKS, Record, id_of, make, tasks
from helpers.stratified import Stratified
from mjgym.tasks.manipulation.bricks import brick_name

ARM, HAND = "jaco_arm/", "jaco_arm/jaco_hand/"
TOOL = f"{HAND}pinchsite"
FEW, MANY = 40, 200  # starts that are looked at
STATISTIC = 2.2  # of Kolmogorov and Smirnov: one comparison of 10,000 has more by chance
FREE = 7  # numbers of a free joint


def starts(name, count, seed=0):
    """An environment at one start after the other."""
    env = make(name)
    env.np_random = rng = Stratified(count, seed)
    for i in range(count):
        rng.begin(i)
        env.reset()
        yield env
    env.close()


def quantities(env, qpos):
    """What a start draws, by name: joints, the tool's place, and the places of free things."""
    model, data = env.model, mujoco.MjData(env.model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    found = {f"joint {i}": qpos[i] for i in range(ROBOT_JOINTS)}
    found.update(zip(("tool x", "tool y", "tool z"), data.site(TOOL).xpos, strict=True))
    for i, start in enumerate(range(ROBOT_JOINTS, model.nq, FREE)):
        x, y, _, w, _, _, turn = qpos[start : start + FREE]
        # z is set, and settles: it is compared by itself.
        found.update(
            {f"x {i}": x, f"y {i}": y, f"turn {i}": np.mod(2 * np.arctan2(turn, w), 2 * np.pi)}
        )
    return found


def apart(a, b):
    """The statistic of two samples: of one and the same distribution it is seldom above 1.4."""
    values = np.sort(np.concatenate([a, b]))
    shares = [np.searchsorted(np.sort(x), values, side="right") / len(x) for x in (a, b)]
    return np.abs(shares[0] - shares[1]).max() * np.sqrt(len(a) * len(b) / (len(a) + len(b)))


def test_the_statistic_sees_differences():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=20), rng.uniform(size=100)
    assert apart(a, b) < STATISTIC
    assert apart(a, b + 0.5) > STATISTIC
    assert apart(a, b / 2) > STATISTIC


@pytest.mark.parametrize("name", mostly_nightly(NAMES, 6))
def test_starts_are_spread_as_the_recorded_ones(name):
    record = Record(name).arrays
    recorded = np.concatenate([record["reset_qpos"], record["start_qpos"]])
    ours = [env.data.qpos.copy() for env in starts(name, FEW)]
    env = make(name)
    assert env.data.qvel[:ROBOT_JOINTS].tolist() == [0] * ROBOT_JOINTS
    samples = [[quantities(env, qpos) for qpos in many] for many in (recorded, ours)]
    for key in samples[0][0]:
        a, b = (np.array([one[key] for one in many]) for many in samples)
        assert apart(a, b) < STATISTIC, key
    if name != "reach_site" and not name.startswith(
        "reassemble"
    ):  # whose bricks stand on each other, in any order
        heights = [np.array(many)[:, ROBOT_JOINTS + 2 :: FREE].ravel() for many in (recorded, ours)]
        away = np.abs(heights[0][:, None] - heights[1]).min(axis=0)
        assert (away < 1e-7).all()  # things settle at one height, or at one of two
    env.close()


@pytest.mark.parametrize("name", mostly_nightly(NAMES, 6))
def test_tools_point_down_within_their_area_and_fingers_are_open_by_any_amount(name):
    box = tasks()[name]["parameters"]["tcp_box"]
    openings = []
    for env in starts(name, FEW):
        tool = env.data.site(TOOL)
        assert (tool.xpos >= np.array(box["lower"]) - 1e-9).all()
        assert (tool.xpos <= np.array(box["upper"]) + 1e-9).all()
        np.testing.assert_allclose(tool.xmat, [0, 1, 0, 1, 0, 0, 0, 0, -1], atol=1e-4)
        fingers = env.data.qpos[6:ROBOT_JOINTS]
        assert (fingers == fingers[0]).all()
        openings.append(fingers[0])
    assert 0.15 < min(openings) < 0.3
    assert 1.2 < max(openings) < 1.35


ROBOT_ARM, ROBOT_HAND, FIXED, LOOSE = range(4)
FORBIDDEN = [(ROBOT_ARM, ROBOT_ARM), (ROBOT_ARM, ROBOT_HAND), (ROBOT_ARM, FIXED),
             (ROBOT_HAND, FIXED)]  # fmt: skip


def kinds(model):
    """What each geom belongs to, (ngeom,)."""
    found = []
    for body in model.geom_bodyid:
        name, root = model.body(body).name, model.body_rootid[body]
        joint = model.body_jntadr[root]
        if name.startswith(ARM):
            found.append(ROBOT_HAND if name.startswith(HAND) else ROBOT_ARM)
        elif joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            found.append(LOOSE)
        else:
            found.append(FIXED)
    return np.array(found)


def wrong_contacts(name, model):
    """A function that gives the names of those pairs of geoms which should not touch, but do."""
    of, ground = kinds(model), model.geom("ground").id
    # There things lie on the work top, each alone.
    alone = name.startswith(("stack", "place", "reach"))

    def find(data):
        pairs = data.contact.geom[data.contact.dist <= 0]
        belongs = np.sort(of[pairs], axis=1)
        wrong = (belongs[:, None] == FORBIDDEN).all(axis=-1).any(axis=-1)
        if alone:
            by_hand = (belongs == ROBOT_HAND).all(axis=1)
            wrong |= ~by_hand & (pairs != ground).all(axis=1)
        return [[model.geom(geom).name for geom in pair] for pair in pairs[wrong]]

    return find


def assert_contacts_are_allowed(name, count):
    find = None
    for env in starts(name, count):
        find = find or wrong_contacts(name, env.model)
        assert find(env.data) == []


@pytest.mark.parametrize("name", mostly_slow(NAMES, 4))
def test_no_start_has_a_forbidden_contact(name):
    assert_contacts_are_allowed(name, 5)


@pytest.mark.parametrize("name", mostly_nightly(NAMES, 6))
def test_none_of_many_starts_has_a_forbidden_contact(name):
    """The ids with vision begin by the same code.

    Where something stands in reach, one start in about a thousand is rejected for a contact.
    """
    assert_contacts_are_allowed(name, 1000 if name.startswith("place") else MANY)


@pytest.mark.parametrize(
    "name", mostly_nightly([name for name in STACKS if name.startswith("stack")], 4)
)
def test_orders_are_drawn_where_they_are_random(name):
    orders = {tuple(env.data.userdata.astype(int)) for env in starts(name, FEW)}
    if "random" in name:
        assert len(orders) == 6  # of 3 bricks, or of 2 of 3
    else:
        assert orders == {tuple(range(env_height(name)))}


def env_height(name):
    return len(tasks()[name]["episodes"][0]["desired_order"])


def heights(env, count):
    """Numbers of the bricks of a stack, from the bottom."""
    observation = env.observe()
    return np.argsort([observation[f"{brick_name(i)}/position"][2] for i in range(count)]).tolist()


def test_three_bricks_are_reassembled_from_one_order_into_another():
    for env in starts("reassemble_3_bricks_fixed_order", 5):
        assert heights(env, 3) == [0, 1, 2]
        assert env.data.userdata.tolist() == [0, 2, 1]
        assert env.task.reward(env.task.terms(env.view)) == 0


@pytest.mark.slow
def test_five_bricks_are_reassembled_from_any_order_into_any_with_the_same_base():
    bases, right, n = set(), 0, 300
    for env in starts("reassemble_5_bricks_random_order", n):
        stacked, wanted = heights(env, 5), env.data.userdata.astype(int).tolist()
        assert sorted(wanted) == [0, 1, 2, 3, 4]
        assert stacked[0] == wanted[0]
        bases.add(stacked[0])
        reward = env.task.reward(env.task.terms(env.view))
        assert bool(env.task.success(env.view)) == (stacked == wanted) == (reward == 1)
        right += stacked == wanted
    assert bases == {0, 1, 2, 3, 4}
    assert abs(right - n / 24) < 4 * np.sqrt(n * 23) / 24


@pytest.mark.parametrize(
    ("area", "box", "words"),
    mostly_slow(
        [
            (
                "prop",
                ((0, 0, 1e-6), (0, 0, 1e-6)),
                "no place for 'duplo2x4_[24]' without contacts in 20",
            ),
            (
                "tcp",
                ((0, 0, 5), (0, 0, 5)),
                "no place for 'jaco_arm/jaco_hand/pinchsite'.*not be reached",
            ),
            ("tcp", ((0, 0, -0.1), (0, 0, -0.1)), "of 10 drawn, 10 had .* touching"),
        ],
        3,
    ),
)
@pytest.mark.parametrize("num_envs", mostly_slow([2, None], 2))
def test_an_episode_that_cannot_be_begun_is_refused_and_none_begins(
    area, box, words, num_envs, monkeypatch
):
    id = id_of("stack_3_bricks_random_order")
    env = gymnasium.make(id) if num_envs is None else gymnasium.make_vec(id, num_envs=num_envs)
    task = type(env.unwrapped.task)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    monkeypatch.setattr(task, "areas", {**task.areas, area: box})
    with pytest.raises(RuntimeError, match=words):
        env.reset(seed=0)
    env = env.unwrapped
    with pytest.raises(ResetNeeded):
        env.step(env.action_space.sample())
    env.close()
