"""The reflex walker: its law against recorded actions, and that it walks."""

import gymnasium
import numpy as np
import pytest
import typer

from helpers.body_records import EPISODES, episodes
from helpers.lanes import lane, mostly_slow
from mjgym.cli.policy_option import load_policy
from mjgym.tasks.l2m.reflex import BALANCE, CONTACT, START, Reflexes, looked_at, parameters

DISTANCE = 35.3  # m, that it walks in OpenSim in 25 s
STEP_TIME = 0.53  # s
DRIVEN = {"planar": "planar", "reflex": "spatial"}  # episodes and parameters


def law(name):
    return Reflexes(parameters(DRIVEN[name]))


@pytest.mark.parametrize("name", [name for name in EPISODES if name in DRIVEN])
class TestRecordedActions:
    def test_from_recorded_observations(self, name):
        record, script = episodes()[name], law(name)
        found = np.array([script(row) for row in record["obs"][:-1]])
        assert np.abs(found - record["action"][1:]).max() < 1e-9

    def test_many_at_once(self, name):
        """Each goes through its own phases, and begins anew where it is told to."""
        rows = episodes()[name]["obs"][:80]
        single, script = law(name), law(name)
        for t in range(60):
            if t == 20:
                script.restart(np.array([False, True]))
                single = law(name)
            seen = rows[[t, t]] if t < 20 else rows[[t, t - 20]]
            found = script(seen)
            if t >= 20:
                np.testing.assert_array_equal(found[1], single(rows[t - 20]))
        assert found.shape == (2, 22)


@pytest.mark.slow
def test_it_sees_the_same_in_a_dict():
    env = gymnasium.make("l2m/walk_planar-v0", observation="dict", dtype="float64")
    flat = gymnasium.make("l2m/walk_planar-v0", dtype="float64")
    by_entries, _ = env.reset(seed=0)
    in_a_row, _ = flat.reset(seed=0)
    task = env.unwrapped.task
    np.testing.assert_array_equal(
        Reflexes.for_task(task)(by_entries), Reflexes.for_task(task)(in_a_row)
    )


def test_of_no_other_task():
    other = gymnasium.make("dmc/walker-walk-v0").unwrapped.task
    with pytest.raises(ValueError, match="no reflexes for"):
        Reflexes.for_task(other)


def walked(steps, id="l2m/walk_planar-v0", start=START):
    """Distance (m), times of footsteps (s) and whether it fell, after some control steps."""
    env = gymnasium.make(id, init_pose=start, dtype="float64")
    observation, _ = env.reset(seed=0)
    script = Reflexes.for_task(env.unwrapped.task)
    taken = []
    for t in range(1, steps + 1):
        observation, _, fell, _, _ = env.step(script(observation))
        if env.unwrapped.get_state()["memory.new_footstep"]:
            taken.append(t * 0.01)
        if fell:
            break
    return float(env.unwrapped.data.joint("pelvis_tx").qpos[0]), taken, fell


@pytest.mark.compiled
def test_it_walks(compiled_forces):
    """As far as the recorded walk has come, within 2 %."""
    steps = 200
    distance, taken, fell = walked(steps)
    assert not fell
    record = episodes()["planar"]["q"]
    tx = list(episodes()["planar"]["coordinates"]).index("pelvis_tx")
    assert distance == pytest.approx(record[steps, tx], rel=0.02)
    assert len(taken) >= 4


@lane(2, 3)
@pytest.mark.compiled
def test_it_walks_for_a_whole_episode(compiled_forces):
    distance, taken, fell = walked(2500)
    assert not fell
    assert distance == pytest.approx(DISTANCE, rel=0.05)
    assert np.mean(np.diff(taken[5:])) == pytest.approx(STEP_TIME, rel=0.05)


@lane(1, 3)
def test_it_walks_for_a_whole_episode_on_muscles_of_mujoco():
    """With parameters of its own: those of OpenSim's walk fall after two seconds."""
    distance, _, fell = walked(2500, "l2m/walk_planar-fast-v0")
    assert not fell
    assert distance > 30


# Forward and rightward speed (m/s), and lean (rad), off START. From all it walks for 10 s.
STARTS = {
    "START": (0.0, 0.0, 0.0),
    "slower, leaning more": (-0.05, 0.0, 0.03),
    "faster, leaning less": (0.05, 0.0, -0.03),
}


@lane(1, 3)
@pytest.mark.compiled
@pytest.mark.parametrize("off", STARTS.values(), ids=STARTS)
def test_it_walks_in_space(off, compiled_forces):
    forward, right, lean = off
    start = (START[0] + forward, START[1] + right, START[2], START[3] + lean, *START[4:])
    distance, taken, fell = walked(1000, "l2m/walk_forward-v0", start)
    assert not fell
    assert distance > 9
    assert len(taken) > 15


class TestBalance:
    """Terms beyond those of osim-rl's example, in recorded states."""

    @pytest.fixture
    def rows(self):
        return episodes()["reflex"]["obs"][:60]

    def change(self, rows, name, value=2.0):
        """Of each leg's stimulations, (T, 2, 11), by one parameter."""
        known = {**parameters("spatial-walk"), **dict.fromkeys(BALANCE, 0.0)}
        laws = [Reflexes({**known, name: x}, abduction="angle") for x in (0.0, value)]
        with_, without = ([law(row) for row in rows] for law in reversed(laws))
        return (np.array(with_) - np.array(without)).reshape(len(rows), 2, -1)

    def test_the_foot_goes_out_when_the_standing_leg_leans_out(self, rows):
        seen = looked_at(rows)
        out = seen.angles[..., 0] - np.array([1.0, -1.0]) * seen.roll[:, None]
        changed = self.change(rows, "cd_f")[..., 0]  # the abductors
        standing = (seen.load > CONTACT)[:, ::-1]
        assert (changed[standing & (out[:, ::-1] < 0)] <= 0).all()
        assert (changed[standing & (out[:, ::-1] > 0)] >= 0).all()
        assert np.abs(changed).max() > 0.001
        assert not changed[~standing].any()

    def test_the_swing_is_damped(self, rows):
        rate = looked_at(rows).rates[..., 0]
        abductors = self.change(rows, "HAB_6_DG")[..., 0]
        adductors = self.change(rows, "HAD_6_DG")[..., 1]
        assert (abductors * rate <= 0).all()
        assert (adductors * rate >= 0).all()
        assert abductors.any()
        assert adductors.any()

    @pytest.mark.parametrize("name", ["cd", "cv_lean"])
    def test_the_others_change_the_walk(self, rows, name):
        """The foot's placement forward, and the lean of the trunk."""
        muscles = [0, 1] if name == "cv_lean" else [2, 3]
        assert np.abs(self.change(rows, name)[..., muscles]).max() > 0.001


def test_each_walker_has_its_parameters():
    rows = episodes()["reflex"]["obs"][:20]
    sets = [dict.fromkeys(BALANCE, 0.0) | parameters("spatial"), parameters("spatial-walk")]
    both = Reflexes({name: np.array([[x[name]] for x in sets]) for name in sets[0]})
    each = [Reflexes(x) for x in sets]
    for row in rows:
        np.testing.assert_array_equal(both(np.stack([row, row])), [one(row) for one in each])


@pytest.mark.slow
def test_many_walk_as_one():
    """Bit for bit, as every id does."""
    envs = gymnasium.make_vec("l2m/walk_planar-v0", num_envs=3, init_pose=START, dtype="float64")
    env = gymnasium.make("l2m/walk_planar-v0", init_pose=START, dtype="float64")
    many, _ = envs.reset(seed=5)
    one, _ = env.reset(seed=6)
    scripts = Reflexes.for_task(env.unwrapped.task), Reflexes.for_task(env.unwrapped.task)
    for _ in range(15):
        many, *_ = envs.step(scripts[0](many))
        one, *_ = env.step(scripts[1](one))
        np.testing.assert_array_equal(many[1], one)


class TestCommandLine:
    """`--policy scripted`."""

    @pytest.mark.parametrize("make", mostly_slow([gymnasium.make, gymnasium.make_vec], 2))
    def test_it_acts_in_one_and_in_many(self, make):
        env = make("l2m/walk_planar-v0", init_pose=START)
        observation, _ = env.reset(seed=0)
        action = load_policy("scripted", env)(observation)
        np.testing.assert_array_equal(action, Reflexes.for_task(env.unwrapped.task)(observation))

    def test_a_task_without_one(self):
        with pytest.raises(typer.BadParameter, match="no scripted policy for dmc/walker-walk-v0"):
            load_policy("scripted", gymnasium.make("dmc/walker-walk-v0"))
