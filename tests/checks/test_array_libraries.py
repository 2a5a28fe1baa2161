"""Hooks run on the arrays of any library that follows the array API standard."""

from dataclasses import dataclass

import array_api_compat.torch
import array_api_strict
import mujoco
import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from helpers.registered import ids_as_parameters, packaged_ids, registered_task
from mjgym import rotations
from mjgym.checks.array_libraries import CLOSE, failures
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.episode import Episodes
from mjgym.rewards import SIGMOIDS, tolerance
from mjgym.sim import Batched, Single
from mjgym.sim.derived_views import ConvertedView
from mjgym.task import Task, registrations
from mjgym.task.models import compile_model

pytestmark = pytest.mark.torch

LIBRARIES = {"strict": array_api_strict, "torch": array_api_compat.torch}
N = 3
FIELDS = [
    (
        "legged/go1-velocity-v0",
        {
            "privileged": True,
            "pushes": True,
            "encoder_bias": 0.015,
            "air_time": 1.0,
            "command_curriculum": True,
        },
    ),
    ("legged/go1-tracking-v0", {"privileged": True, "pushes": True, "ghost": True}),
    ("legged/go1-joystick-v0", {"privileged": True}),
    ("legged/g1-joystick-v0", {"privileged": True, "dof_acc": -1e-7, "feet_height": -0.1}),
    ("locomotion/ant-maze_forage-v0", {"rangefinders": True}),
    ("locomotion/rodent-two_touch-v0", {"walker": "jumping_ball"}),
    ("locomotion/cmu_humanoid-tracking-v0", {"play": True, "ghost": True}),
    ("locomotion/cmu_humanoid-tracking-v0", {"ends_on_fall": True}),
    (
        "l2m/walk_around-fast-v0",
        {
            "dense_reward": 1.0,
            "progress_reward": 1.0,
            "vector_reward": 1.0,
            "speed_reward": 1.0,
            "direction_reward": 1.0,
            "target_reward": 1.0,
            "crossing_legs_reward": 1.0,
            "knee_bend_reward": 1.0,
        },
    ),
    ("soccer/boxhead-2v2-v0", {"opponent": "random"}),
    ("soccer/boxhead-2v2-v0", {"opponent": "scripted"}),
    ("soccer/boxhead-2v2-v0", {"opponent": "helpers.opponents:waits"}),
    ("soccer/boxhead-1v1-v0", {"opponent": "still", "ends_on_goal": False, "box": True}),
]
CASES = [(id, {}) for id in packaged_ids()] + FIELDS
STEPS = 3  # with random actions, so that the state and the memory are no start's


def begun(task, n):
    """The view of one simulation (None) or of n, after some steps, and an action."""
    model = compile_model(task)
    simulation = Single(model, task.varies) if n is None else Batched(model, n, 1, task.varies)
    rng = np.random.default_rng(0)
    episodes = Episodes(BoundTask(task, simulation), lambda i: rng)
    episodes.reset()
    shape = (*simulation.view.lead, len(task.actions(model)))
    for _ in range(STEPS):
        episodes.step(rng.uniform(-1, 1, shape))
    return simulation.view, rng.uniform(-1, 1, shape)


# One alone of each class, whose hooks are the same.
ALONE = {registrations[id].task_class: (id, fields) for id, fields in CASES}.values()


def assert_same_in_every_library(id, fields, n):
    task = registered_task(id, **fields)
    view, action = begun(task, n)
    for xp in LIBRARIES.values():
        # Stiff tendons make rounding of 1e-16 m a force that differs by 1e-12.
        close = 1e-11 if id.startswith("l2m/") else CLOSE
        assert list(failures(task, view, action, xp, close)) == []


@pytest.mark.parametrize("id", ids_as_parameters())
def test_hooks_of_many_give_the_same_in_every_library(id):
    assert_same_in_every_library(id, {}, N)


@pytest.mark.parametrize(("id", "fields"), mostly_nightly(FIELDS, quick=5))
def test_hooks_with_other_fields_give_the_same_in_every_library(id, fields):
    assert_same_in_every_library(id, fields, N)


# A batch, whose hooks are above, equals single environments: one id of each family is quick.
FAMILIES = {case[0].partition("/")[0]: case for case in reversed(list(ALONE))}


@pytest.mark.parametrize(("id", "fields"), mostly_nightly(ALONE, 7, FAMILIES.values()))
def test_hooks_of_one_alone_give_the_same_in_every_library(id, fields):
    assert_same_in_every_library(id, fields, None)


@dataclass(frozen=True)
class Good(Task):
    """A pole, whose hooks see to it."""

    time_limit = 1.0
    control_timestep = 0.01

    def model(self):
        return mujoco.MjSpec.from_string(
            """<mujoco><option timestep="0.01"/><worldbody><body name="pole"><joint name="hinge"/>
            <joint name="twist" axis="1 0 0"/><geom size=".1"/></body></worldbody>
            <actuator><motor name="motor" joint="hinge" ctrlrange="-1 1"/></actuator></mujoco>"""
        )

    def memory(self, v):
        return {"best": v.qpos[..., 0], "seen": v.xp.zeros(v.lead, dtype=v.xp.bool)}

    def update(self, v):
        return {"best": v.xp.maximum(v.memory["best"], v.qpos[..., 0])}

    def observation(self, v):
        return {"angle": v.qpos, "pole": v.body("pole").xmat}

    def terms(self, v):
        return {"high": v.memory["best"], "upright": tolerance(v.qpos[..., 0], margin=1.0)}


class Copies(Good):
    def observation(self, v):
        return {"angle": v.qpos.copy()}


class Leaves(Good):
    def observation(self, v):
        return {"angle": np.asarray([1.0, 2.0]) + np.zeros((*v.lead, 1))}


class Lists(Good):
    def observation(self, v):
        return {"angle": v.qpos if type(v.qpos) is np.ndarray else [0.0, 0.0]}


class Reshapes(Good):
    def terms(self, v):
        return {"high": v.qpos if type(v.qpos) is np.ndarray else v.qpos[..., 0]}


class Rounds(Good):
    def terms(self, v):
        return {"high": v.qpos[..., 0] + (0.0 if type(v.qpos) is np.ndarray else 1e-11)}


@pytest.mark.parametrize("n", mostly_nightly([None, N], quick=2), ids=["single", "batch"])
@pytest.mark.parametrize("xp", LIBRARIES.values(), ids=LIBRARIES)
def test_what_does_not_run_elsewhere_is_found(xp, n):
    assert list(failures(Good(), *begun(Good(), n), xp)) == []
    for task, where, said in (
        (Copies(), "observation", "copy"),
        (Leaves(), "observation()['angle']", "is an array of NumPy"),
        (Lists(), "observation()['angle']", "is a list, no array"),
        (Rounds(), "terms()['high']", "in NumPy"),
    ):
        found = dict(failures(task, *begun(task, n), xp))
        assert said in str(found[where])
    found = dict(failures(Reshapes(), *begun(Good(), n), xp))
    assert "has shape" in str(found["terms()['high']"])


@pytest.mark.parametrize("xp", LIBRARIES.values(), ids=LIBRARIES)
def test_a_converted_view_follows_its_simulation(xp):
    simulation = Single(compile_model(Good()))
    view = ConvertedView(simulation.view, xp)
    assert view.lead == ()
    assert view.names("joint") == ("hinge", "twist")
    for angle in (0.25, 0.5):
        simulation.view.qpos[:] = angle
        assert float(view.qpos[0]) == float(view.joint("twist").qpos[0]) == angle
        assert view.qpos.dtype == xp.float64
    assert view.rows("qpos", ["hinge", "twist"]) == slice(0, 2)
    assert [int(i) for i in view.rows("qpos", ["twist", "hinge"])] == [1, 0]
    with pytest.raises(AttributeError, match="qpos"):
        view.qpoz  # noqa: B018
    with pytest.raises(KeyError, match="hinge"):
        view.rows("qpos", ["hinges"])


@pytest.mark.parametrize("shape", [(), (5,)], ids=["number", "array"])
@pytest.mark.parametrize("xp", LIBRARIES.values(), ids=LIBRARIES)
def test_rewards_and_rotations_in_every_library(xp, shape):
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape)

    def same(found, wanted):
        assert type(found) is type(xp.asarray(0.0))
        np.testing.assert_allclose(np.from_dlpack(found), wanted, rtol=1e-12, atol=1e-12)

    for sigmoid in SIGMOIDS:
        how = {"bounds": (0.1, 0.4), "margin": 0.5, "sigmoid": sigmoid}
        same(tolerance(xp.asarray(x), **how), tolerance(x, **how))
    same(tolerance(xp.asarray(x), (0.1, 0.4)), tolerance(x, (0.1, 0.4)))
    a, b = rng.normal(size=(2, *shape, 4))
    same(rotations.product(xp.asarray(a), xp.asarray(b)), rotations.product(a, b))
    same(rotations.conjugate(xp.asarray(a)), rotations.conjugate(a))
    same(rotations.about_z(xp.asarray(x)), rotations.about_z(x))
