"""NutAssembly against recorded states of robosuite 1.5.2 on MuJoCo 4.0.0, and on its own."""

import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from helpers.robosuite_records import make_task
from helpers.sorting_checks import (
    check_drawn,
    check_fixed,
    check_parked,
    check_states,
    moved,
    starts,
    touching_pairs,
)
from mjgym import Env
from mjgym.tasks.robosuite.nut_assembly import NutAssembly

# States whose contacts with hand or arm are others, at most, and how many of them touch nothing
# here; see `check_states`.
TOUCHING = {
    "NutAssembly": (52, 0),
    "NutAssemblySingle": (52, 1),
    "NutAssemblySquare": (52, 0),
    "NutAssemblyRound": (51, 1),
}
NUTS = ("SquareNut", "RoundNut")
PEGS = {"SquareNut": (0.23, 0.1), "RoundNut": (0.23, -0.1)}  # m
TABLE = 0.82  # m
RESTING = TABLE + 0.01  # m


@pytest.mark.parametrize("name", mostly_nightly(TOUCHING, 4))
def test_observations_rewards_and_successes_are_the_recorded_ones(name):
    check_states(name, *TOUCHING[name])


def test_nuts_start_above_the_table_and_fall_on_it():
    sides = {"SquareNut": (0.11, 0.225), "RoundNut": (-0.225, -0.11)}
    headings = []
    for env, observation in starts("NutAssembly"):
        assert touching_pairs(env) == set()
        for name, (low, high) in sides.items():
            x, y, z = observation[f"{name}_pos"]
            assert -0.115 <= x <= -0.11
            assert low <= y <= high
            assert z == pytest.approx(0.89)
            headings.append(2 * np.arctan2(*observation[f"{name}_quat"][[2, 3]]))
    assert np.ptp(np.array(headings) % (2 * np.pi)) > 6
    for _ in range(20):
        observation = env.step(np.zeros(7))[0]
    for name in sides:
        assert observation[f"{name}_pos"][2] == pytest.approx(RESTING, abs=1e-3)


def test_one_nut_is_drawn_for_each_episode():
    check_drawn("NutAssemblySingle", "nut")


@pytest.mark.parametrize("name", NUTS)
def test_one_nut_is_the_same_in_all_episodes(name):
    check_fixed(f"NutAssembly{name.removesuffix('Nut')}", name)


@pytest.mark.slow
def test_nuts_without_use_lie_far_away():
    check_parked("NutAssemblySingle")
    check_parked("NutAssemblyRound")


def test_nuts_that_fall_on_their_pegs_are_placed():
    env = Env(NutAssembly(), dtype="float64")
    env.reset(seed=0)
    turned = np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)
    above = {
        "SquareNut_main": (*PEGS["SquareNut"], 0.98, 1, 0, 0, 0),
        "RoundNut_main": (*PEGS["RoundNut"], 0.98, *turned),
    }
    terms, success = moved(env, above)
    assert (terms["placed"], success) == (0, False)
    for _ in range(20):
        _, reward, _, _, info = env.step(np.zeros(7))
    assert env.data.body("SquareNut_main").xpos[2] == pytest.approx(RESTING, abs=2e-3)
    assert env.data.body("RoundNut_main").xpos[2] == pytest.approx(RESTING, abs=2e-3)
    assert reward == 1
    assert info["success"]


def test_nuts_on_the_wrong_pegs_are_not_placed():
    env = Env(NutAssembly(), dtype="float64")
    env.reset(seed=0)
    swapped = {
        "SquareNut_main": (*PEGS["RoundNut"], RESTING, 1, 0, 0, 0),
        "RoundNut_main": (*PEGS["SquareNut"], RESTING, 1, 0, 0, 0),
    }
    assert moved(env, swapped)[0]["placed"] == 0


def test_the_handle_is_reached_for_and_the_peg_is_hovered_over():
    env = Env(make_task("NutAssemblyRound"), dtype="float64")
    env.reset(seed=0)
    tool = env.data.site("gripper0_right_grip_site").xpos.copy()
    handle = tool - (0.06, 0, 0)
    terms, _ = moved(env, {"RoundNut_main": (*handle, 1, 0, 0, 0)})
    assert terms["reach"] == pytest.approx(0.1)
    away = np.hypot(*(handle[:2] - PEGS["RoundNut"]))
    assert terms["hover"] == pytest.approx(terms["lift"] + 0.2 * (1 - np.tanh(10 * away)))
    # As high as nuts are to be carried, 20 cm over the middle of the table's slab.
    assert env.task.lift_height == pytest.approx(0.995)


def test_a_thicker_table_moves_the_height_that_nuts_are_carried_at():
    assert NutAssembly(table_size=(0.8, 0.8, 0.07)).lift_height == pytest.approx(0.985)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"nut_type: 'squre'.*square"):
        NutAssembly(nut_type="squre")
