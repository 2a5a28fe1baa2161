"""The rodent equals its record, and has what its tasks rely on."""

import mujoco
import numpy as np
import pytest

from helpers.locomotion_facts import differences, facts, scene
from helpers.places import ASSETS

RODENT = ASSETS / "locomotion" / "walkers" / "rodent.xml"
FACTS = facts("walker_Rodent")
WALKER = FACTS["walker"]
RECORD = FACTS["model"]


@pytest.fixture(scope="module")
def model():
    return scene(mujoco.MjSpec.from_file(str(RODENT)))


@pytest.fixture(scope="module")
def on_floor():
    """Model and data of the rodent as it starts, on a plane."""
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
    body = spec.worldbody.add_body(name="walker/")
    body.add_freejoint(name="walker/")
    spec.attach(mujoco.MjSpec.from_file(str(RODENT)), prefix="walker/", frame=body.add_frame())
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def test_model_equals_the_record(model):
    # Cameras are observations and hide groups of geoms, so nothing recorded counts as cosmetic. An
    # attached file's statistics stay behind: the size of drawn joints is the arena's.
    skip = ("stat.meansize",)
    assert differences(model, FACTS, skip=skip, ignore_cosmetics=False) == []


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("body", "body_mass"),
        ("body", "body_inertia"),
        ("arrays", "dof_armature"),
        ("arrays", "dof_invweight0"),
        ("arrays", "body_invweight0"),
        ("arrays", "wrap_prm"),
    ],
)
def test_small_numbers_are_right_in_proportion(model, kind, field):
    # A toe's inertia is 1e-8 kg m2: an absolute tolerance would not see it.
    recorded = np.array(RECORD[kind][field])
    np.testing.assert_allclose(
        getattr(model, field).reshape(recorded.shape), recorded, rtol=1e-9, atol=0
    )


def touching(model, data):
    """Names of the geoms that touch the floor."""
    names = {model.geom(g).name.removeprefix("walker/") for g in data.contact.geom.ravel()}
    return names - {"floor"}


def test_it_starts_on_its_hands_and_tail(on_floor):
    model, data = on_floor
    np.testing.assert_allclose(
        data.body("walker/torso").xpos, WALKER["after_reset"]["root_xpos"], atol=1e-9
    )
    parts = touching(model, data)
    assert parts <= set(WALKER["ground_contact_geoms"])
    assert {name.split("_")[0] for name in parts} == {"hand", "finger", "vertebra"}
    # A box around a part reaches a little further down than the part.
    assert WALKER["after_reset"]["lowest_contact_geom_box_z"] < data.contact.dist.min() < -0.002
