"""Jacobians, velocities and inertia from live arrays against the engine's own functions."""

import mujoco
import numpy as np
import pytest

from mjgym.sim import Batched, Single
from mjgym.sim.dynamics import (
    chain_mask,
    dense_inertia,
    inertia_index,
    point_jacobian,
    point_velocity,
)

# A tree with every kind of joint, branches, a body of its own and a body that nothing moves.
TREE = """
<mujoco>
  <worldbody>
    <site name="still" pos="1 2 3"/>
    <body name="trunk" pos="0 0 1">
      <freejoint/>
      <geom type="box" size=".2 .1 .1"/>
      <site name="trunk" pos=".1 .2 .3"/>
      <body name="left" pos=".2 0 0">
        <joint name="ball" type="ball"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/>
        <body name="welded" pos=".3 0 0">
          <site name="left" pos=".1 0 .1"/>
          <geom size=".05"/>
          <body name="tip" pos=".1 0 0">
            <joint name="h1" axis="0 1 0"/>
            <joint name="h2" axis="0 0 1" pos="0 .1 0"/>
            <geom type="capsule" fromto="0 0 0 .2 0 0" size=".04"/>
            <site name="tip" pos=".2 0 0"/>
          </body>
        </body>
      </body>
      <body name="right" pos="-.2 0 0">
        <joint name="slide" type="slide" axis="1 1 0" armature=".3"/>
        <geom size=".1"/>
        <site name="right"/>
      </body>
    </body>
    <body name="arm" pos="2 0 0">
      <joint name="a" axis="0 0 1" armature="5"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/>
      <site name="arm" pos=".3 .1 0"/>
    </body>
  </worldbody>
</mujoco>
"""
SITES = ("still", "trunk", "left", "tip", "right", "arm")


@pytest.fixture(scope="module")
def simulations():
    """The tree in random configurations that move."""
    model = mujoco.MjModel.from_xml_string(TREE)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(30):
        data = mujoco.MjData(model)
        data.qpos[:] = rng.normal(size=model.nq)
        data.qvel[:] = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        found.append(data)
    return model, found


def site_arrays(model, data, name):
    site = model.site(name).id
    body = int(model.site_bodyid[site])
    return body, data.site_xpos[site] - data.subtree_com[model.body_rootid[body]]


@pytest.mark.parametrize("name", SITES)
def test_jacobian_is_the_engines_to_the_bit(simulations, name):
    model, found = simulations
    for data in found:
        body, offset = site_arrays(model, data, name)
        mask = chain_mask(model, body, np.arange(model.nv))
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacSite(model, data, linear, angular, model.site(name).id)
        got = point_jacobian(data.cdof, offset, mask)
        np.testing.assert_array_equal(got, np.concatenate([linear, angular]))


@pytest.mark.parametrize("name", SITES)
def test_velocity_is_the_jacobian_times_the_velocities(simulations, name):
    model, found = simulations
    for data in found:
        body, offset = site_arrays(model, data, name)
        mask = chain_mask(model, body, np.arange(model.nv))
        want = point_jacobian(data.cdof, offset, mask) @ data.qvel
        got = point_velocity(data.cvel[body], offset)
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dofs", [range(13), (0, 5, 3), (12,), (6, 7, 8, 9, 10), (11, 12)])
def test_inertia_is_the_engines_to_the_bit(simulations, dofs):
    model, found = simulations
    dofs = np.array(dofs)
    index, there = inertia_index(model, dofs)
    for data in found:
        whole = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, whole)
        np.testing.assert_array_equal(
            dense_inertia(data.M, index, there), whole[np.ix_(dofs, dofs)]
        )


def test_many_at_once_are_each_alone(simulations):
    model, found = simulations
    body, _ = site_arrays(model, found[0], "tip")
    mask = chain_mask(model, body, np.arange(model.nv))
    index, there = inertia_index(model, np.arange(model.nv))
    offsets = [site_arrays(model, data, "tip")[1] for data in found]
    jacobians = point_jacobian(np.array([d.cdof for d in found]), np.array(offsets), mask)
    inertias = dense_inertia(np.array([d.M for d in found]), index, there)
    for i, data in enumerate(found):
        np.testing.assert_array_equal(jacobians[i], point_jacobian(data.cdof, offsets[i], mask))
        np.testing.assert_array_equal(inertias[i], dense_inertia(data.M, index, there))


JOINTS = ("h2", "slide", "h1")
DOFS = (10, 11, 9)


@pytest.fixture(scope="module")
def views():
    """A batch of three in random configurations, and each of them alone."""
    model = mujoco.MjModel.from_xml_string(TREE)
    batch = Batched(model, 3, 1)
    readings(batch.view)  # bound before the states are computed
    rng = np.random.default_rng(1)

    def start(i, scratch):
        scratch.view.qpos = rng.normal(size=model.nq)

    batch.reset(start)
    singles = []
    for i in range(3):
        single = Single(model)
        state = batch.get_state(np.array([i]))
        single.set_state(state)
        singles.append(single.view)
    return batch.view, singles


def readings(v):
    return (
        v.jacobian("site", "tip", JOINTS),
        v.jacobian("body", "right", JOINTS),
        v.inertia(JOINTS),
    )


def test_a_view_of_one_is_the_engines(views):
    for v in views[1]:
        model, data = v.model, v._data
        whole = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, whole)
        linear, angular = np.zeros((2, 3, model.nv))
        mujoco.mj_jacSite(model, data, linear, angular, model.site("tip").id)
        at_site = np.concatenate([linear, angular])[:, DOFS]
        mujoco.mj_jacBody(model, data, linear, angular, model.body("right").id)
        at_body = np.concatenate([linear, angular])[:, DOFS]
        found = readings(v)
        for got, want in zip(found, (at_site, at_body, whole[np.ix_(DOFS, DOFS)]), strict=True):
            np.testing.assert_array_equal(got, want)


def test_a_view_of_many_is_each_alone(views):
    batch, singles = views
    for i, single in enumerate(singles):
        for many, one in zip(readings(batch), readings(single), strict=True):
            np.testing.assert_array_equal(many[i], one)


def test_unknown_names_are_refused_with_the_nearest(views):
    for v in (views[0], views[1][0]):
        with pytest.raises(KeyError, match="did you mean tip"):
            v.jacobian("site", "tipp", JOINTS)
        with pytest.raises(KeyError, match="did you mean slide"):
            v.inertia(("slid",))
        with pytest.raises(KeyError, match="a site and a body"):
            v.jacobian("geom", "tip", JOINTS)
