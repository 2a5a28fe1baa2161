"""PickPlace against recorded states of robosuite 1.5.2 on MuJoCo 4.0.0, and on its own."""

import numpy as np
import pytest

from helpers.lanes import mostly_nightly, mostly_slow
from helpers.robosuite_records import make_task
from helpers.sorting_checks import (
    at_work,
    check_drawn,
    check_fixed,
    check_parked,
    check_states,
    moved,
    starts,
    touching_pairs,
)
from mjgym import Env
from mjgym.tasks.robosuite.pick_place import EXTENTS, PickPlace

# States whose contacts with hand or arm are others, at most, and how many of them touch nothing
# here; see `check_states`.
TOUCHING = {
    "PickPlace": (39, 0),
    "PickPlaceSingle": (43, 0),
    "PickPlaceMilk": (36, 0),
    "PickPlaceBread": (41, 0),
    "PickPlaceCereal": (43, 3),
    "PickPlaceCan": (43, 0),
}
FLOOR = 0.82  # m, of both bins
# Lowest and highest place of each object's frame in 60 recorded starts, in the first bin, m.
LIMITS = {
    "Milk": ((-0.02, -0.42, 0.885), (0.22, -0.08, 0.885)),
    "Bread": ((-0.015, -0.415, 0.845), (0.215, -0.085, 0.845)),
    "Cereal": ((-0.005, -0.405, 0.9), (0.205, -0.095, 0.9)),
    "Can": ((-0.02, -0.42, 0.8605), (0.22, -0.08, 0.8605)),
}
# Of the quarters' middles, which the published visual twins of the objects stand at, m.
QUARTERS = {
    "Milk": (0.0025, 0.1575),
    "Bread": (0.1975, 0.1575),
    "Cereal": (0.0025, 0.4025),
    "Can": (0.1975, 0.4025),
}


@pytest.mark.parametrize("name", mostly_nightly(TOUCHING, 6))
def test_observations_rewards_and_successes_are_the_recorded_ones(name):
    check_states(name, *TOUCHING[name])


def test_objects_start_in_the_first_bin_and_touch_nothing():
    places = {name: [] for name in EXTENTS}
    headings = []
    for env, observation in starts("PickPlace"):
        assert touching_pairs(env) == set()
        for name in EXTENTS:
            places[name].append(observation[f"{name}_pos"])
            headings.append(2 * np.arctan2(*observation[f"{name}_quat"][[2, 3]]))
            np.testing.assert_allclose(observation[f"{name}_quat"][:2], 0, atol=1e-12)
    for name, (low, high) in LIMITS.items():
        places_of = np.array(places[name])
        assert (places_of >= np.array(low) - 1e-9).all()
        assert (places_of <= np.array(high) + 1e-9).all()
        assert (np.ptp(places_of, axis=0)[:2] > 0.85 * (np.array(high) - low)[:2]).all()
    assert np.ptp(np.array(headings) % (2 * np.pi)) > 6


def test_objects_come_to_rest_in_the_bin():
    env = Env(PickPlace(), observation="dict", dtype="float64")
    env.reset(seed=4)
    for _ in range(20):
        observation = env.step(np.zeros(7))[0]
    for name, lowest in PickPlace.lowest.items():
        assert observation[f"{name}_pos"][2] == pytest.approx(FLOOR + lowest, abs=2e-3)
        assert np.abs(env.data.joint(f"{name}_joint0").qvel).max() < 0.02


def test_one_object_is_drawn_for_each_episode():
    check_drawn("PickPlaceSingle", "obj")


@pytest.mark.parametrize("name", mostly_slow(EXTENTS, 4))
def test_one_object_is_the_same_in_all_episodes(name):
    check_fixed(f"PickPlace{name}", name)


def test_objects_without_use_stand_far_away():
    check_parked("PickPlaceSingle")
    check_parked("PickPlaceCan")


def in_quarters(names=tuple(EXTENTS)):
    return {
        f"{n}_main": (*QUARTERS[n], FLOOR + PickPlace.lowest[n] + 0.001, 1, 0, 0, 0) for n in names
    }


@pytest.mark.parametrize("paid", ["dense", "sparse"])
def test_each_object_in_its_quarter_counts_and_all_are_success(paid):
    env = Env(PickPlace(reward_type=paid), dtype="float64")
    env.reset(seed=0)
    for count in range(5):
        terms, success = moved(env, in_quarters(list(EXTENTS)[:count]))
        assert terms["placed"] == count
        assert success == (count == 4)
    assert set(terms) - {"placed"} == (
        {"reach", "grasp", "lift", "hover"} if paid == "dense" else set()
    )
    assert all(value == 0 for name, value in terms.items() if name != "placed")
    reward, _, _, info = env.step(np.zeros(7))[1:]
    assert reward == 1
    assert info["success"]
    raw = Env(PickPlace(reward_scale=None), dtype="float64")
    raw.reset(seed=0)
    moved(raw, in_quarters())
    assert raw.step(np.zeros(7))[1] == 4


def test_one_object_in_its_quarter_is_success_if_it_is_the_only_one():
    env = Env(make_task("PickPlaceSingle"), dtype="float64")
    env.reset(seed=0)
    (alone,) = at_work(env)
    terms, success = moved(env, in_quarters([alone]))
    assert success
    assert terms == {"reach": 0, "grasp": 0, "lift": 0, "hover": 0, "placed": 1}


def test_another_objects_quarter_is_no_place():
    env = Env(PickPlace(), dtype="float64")
    env.reset(seed=0)
    terms, _ = moved(env, {"Can_main": (*QUARTERS["Milk"], FLOOR + 0.05, 1, 0, 0, 0)})
    assert terms["placed"] == 0


def test_objects_at_the_tool_or_above_the_bin_are_not_placed():
    env = Env(make_task("PickPlaceCan"), dtype="float64")
    env.reset(seed=0)
    tool = env.data.site("gripper0_right_grip_site").xpos.copy()
    terms, success = moved(env, {"Can_main": (*QUARTERS["Can"], 0.95, 1, 0, 0, 0)})
    assert (terms["placed"], success) == (0, False)
    assert terms["hover"] == pytest.approx(0.7)
    env = Env(
        make_task("PickPlaceCan", bin2_pos=(tool[0] - 0.0975, tool[1] - 0.1225, tool[2] - 0.05))
    )
    env.reset(seed=0)
    terms, success = moved(env, {"Can_main": (*tool, 1, 0, 0, 0)})
    assert (terms["placed"], success) == (0, False)
    assert terms["reach"] > 0.09


def test_fingers_may_hold_two_objects_between_them():
    env = Env(PickPlace(), dtype="float64")
    env.reset(seed=0)
    pads = [env.data.geom(f"gripper0_right_finger{i}_pad_collision").xpos.copy() for i in (1, 2)]
    out = (pads[1] - pads[0]) / np.linalg.norm(pads[1] - pads[0])
    first = {"Bread_main": (*pads[0], 1, 0, 0, 0)}
    second = {"Can_main": (*(pads[1] + 0.01 * out), 1, 0, 0, 0)}
    assert moved(env, first)[0]["grasp"] == 0
    terms, _ = moved(env, {**first, **second})
    assert terms["grasp"] == 0.35
    assert 0.35 < terms["lift"] <= 0.5
    assert terms["hover"] > terms["lift"]


@pytest.mark.slow
def test_bins_can_stand_elsewhere():
    shift = np.array([0.05, 0.1, 0.03])
    task = PickPlace(bin2_pos=(0.15, 0.38, 0.83))
    assert task.goal("Can") == pytest.approx(np.array(QUARTERS["Can"]) + shift[:2])
    env = Env(task, dtype="float64")
    env.reset(seed=0)
    np.testing.assert_allclose(env.data.body("bin2").xpos, (0.15, 0.38, 0.83))
    np.testing.assert_allclose(
        env.data.body("VisualCan_main").xpos, (*task.goal("Can"), 0.83 + 0.0605)
    )
    placed = {body: np.array([*shift, 0, 0, 0, 0]) + pose for body, pose in in_quarters().items()}
    assert moved(env, placed)[1]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"object_type": "mlk"}, "object_type: 'mlk'.*milk"),
        ({"object_type": None}, "object_type: None"),
        ({"robot": ("Panda", "Panda")}, "one robot"),
        ({"placement": {"Cann": {}}}, "Can"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        PickPlace(**fields)


@pytest.mark.slow
def test_two_arms_see_the_objects_and_either_may_hold_them():
    env = Env(PickPlace(robot="Baxter", object_type="can"), observation="dict", dtype="float64")
    observation, _ = env.reset(seed=0)
    for side in ("right", "left"):
        tool = env.data.site(f"gripper0_{side}_grip_site").xpos
        seen = observation[f"Can_to_robot0_{side}_eef_pos"]
        assert np.linalg.norm(seen) == pytest.approx(np.linalg.norm(observation["Can_pos"] - tool))
    assert len(env.describe()["observation"]) == sum(x.size for x in observation.values())
