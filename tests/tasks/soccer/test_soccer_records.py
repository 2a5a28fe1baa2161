"""Players, ball and pitch against recorded numbers, and recorded transitions of all players."""

import mujoco
import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.soccer_records import NAMES, facts, ours, record, sized, states, task
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.episode import Episodes
from mjgym.sim import Single
from mjgym.task.models import compile_model

ONE_ON_ONE = [name for name in NAMES if name.endswith("1v1")]
PLANE, CAPSULE = 0, 3
# The records have 12 digits; contacts of ants magnify that.
TOLERANCE = {"ant_1v1": 1e-8, "ant_2v2": 1e-8}
ROUNDED = 1e-9


@pytest.fixture(scope="module", params=ONE_ON_ONE)
def scene(request):
    """The task, its model with the pitch of the record, and the recorded facts."""
    of = task(request.param)
    found = facts(request.param)
    return sized(compile_model(of), of, found["pitch"]), found


def assert_field(model, kind, number, field, recorded, where):
    attribute = field
    value = np.array(getattr(model, attribute)[number], dtype=float)
    np.testing.assert_allclose(
        value, np.array(recorded, dtype=float), rtol=1e-9, atol=2e-11, err_msg=f"{where} {field}"
    )


def matrix(quaternion):
    """A rotation matrix, (3, 3)."""
    flat = np.empty(9)
    mujoco.mju_quat2Mat(flat, np.array(quaternion, dtype=float))
    return flat.reshape(3, 3)


def test_joints_and_actuators_equal_the_facts_in_their_order(scene):
    model, found = scene
    for kind, count in (("joint", model.njnt), ("actuator", model.nu)):
        columns = found[kind]
        named = [getattr(model, kind)(i).name for i in range(count)]
        assert named == [ours(recorded) for recorded in columns["name"]]
        for field, values in columns.items():
            if field in ("name", "jnt_bodyid"):
                continue
            assert_field(model, kind, slice(None), field, values, kind)
    for field, values in found["arrays"].items():
        if field.startswith("dof_") and not field.endswith("id"):
            assert_field(model, "dof", slice(None), field, values, "all")


def test_what_collides_equals_the_facts(scene):
    model, found = scene
    columns = found["geom"]
    names = [ours(recorded) for recorded in columns["name"]]
    colliding = (model.geom_contype | model.geom_conaffinity) > 0
    assert {model.geom(i).name for i in np.flatnonzero(colliding)} == set(names)
    for i, name in enumerate(names):
        number = model.geom(name).id
        kind = columns["geom_type"][i]
        assert model.body(model.geom_bodyid[number]).name  # has a name
        for field, values in columns.items():
            if field in ("name", "geom_bodyid", "geom_quat"):
                continue
            if kind == PLANE and field == "geom_size":  # is only drawn
                continue
            assert_field(model, "geom", number, field, values[i], name)
        turned, wanted = (matrix(q) for q in (model.geom_quat[number], columns["geom_quat"][i]))
        axis = np.abs(turned[:, 2] @ wanted[:, 2])
        assert axis > 1 - 1e-9, name
        if kind not in (PLANE, CAPSULE, 2):
            np.testing.assert_allclose(turned, wanted, atol=1e-9, err_msg=name)


def test_physics_of_the_scene_equals_the_facts(scene):
    model, found = scene
    for option, value in found["opt"].items():
        np.testing.assert_allclose(getattr(model.opt, option), value, err_msg=option)


def assert_row(name, row, qpos, qvel, entries, reward, terminated, memory):
    """What a recorded step led to; entries have a leading axis of players."""
    z, bound = record(name), TOLERANCE.get(name, ROUNDED)
    np.testing.assert_allclose(qpos, z["after_qpos"][row], rtol=bound, atol=bound)
    np.testing.assert_allclose(qvel, z["after_qvel"][row], rtol=bound, atol=bound)
    np.testing.assert_array_equal(reward, z["reward"][row])
    assert terminated == (z["discount"][row] == 0)
    for entry, values in entries.items():
        for player, value in enumerate(values):
            recorded = np.array(z[f"obs_{player}:{entry}"][row], dtype=float)
            np.testing.assert_allclose(
                np.ravel(value), np.ravel(recorded), rtol=bound, atol=bound, err_msg=entry
            )
    assert memory["scored"] == z["scored"][row]
    assert memory["out"] == z["out"][row]
    assert (memory["hit"] >= 0) == z["hit"][row]


@pytest.mark.parametrize("name", mostly_slow(NAMES, 6))
def test_transitions_replay_in_one_match_for_every_player(name):
    of, z, only = task(name), record(name), np.zeros(1, dtype=int)
    model = compile_model(of)
    rows = states(of, model, name)
    rng = np.random.default_rng(0)
    simulation = Single(model, of.varies)
    episodes = Episodes(BoundTask(of, simulation), lambda i: rng)
    entries = [key.partition(":")[2] for key in z if key.startswith("obs_0:")]
    for row in range(len(z["action"])):
        episodes.reset()
        before = {**episodes.get_state(only), **{k: v[row][None] for k, v in rows.items()}}
        episodes.set_state(before, only)
        step = episodes.step(z["action"][row].ravel())
        seen = episodes.observe()
        assert list(seen) == entries
        v = episodes.view
        assert_row(name, row, v.qpos, v.qvel, seen, step.reward, step.terminated, v.memory)
