"""Modules of dm_control that programs import beside its main interfaces."""

import numpy as np
import pytest

from mjgym_compat.dm_control import mjcf, mujoco
from mjgym_compat.dm_control.manipulation import props
from mjgym_compat.dm_control.mujoco import wrapper
from mjgym_compat.dm_control.suite import cartpole, common


def test_a_model_of_the_suite_by_its_file():
    physics = cartpole.Physics.from_xml_string(common.read_model("cartpole.xml"), common.ASSETS)
    assert physics.cart_position() == 0
    with pytest.raises(ValueError, match=r"did you mean cartpole\.xml"):
        common.read_model("cartpol.xml")


def test_the_engines_own_names():
    physics = cartpole.Physics.from_xml_string(*cartpole.get_model_and_assets())
    model, data = physics.model.ptr, physics.data.ptr
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, 1)
    assert name == "cart"
    mujoco.mj_step(model, data)
    assert data.time == model.opt.timestep
    assert mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco/>")).time == 0
    with pytest.raises(AttributeError, match=r"no dm_control\.mujoco\.mj_stepp"):
        mujoco.mj_stepp  # noqa: B018


def test_a_further_domain_includes_the_suites_files():
    names = "skybox", "visual", "materials"
    includes = "".join(f'<include file="./common/{name}.xml"/>' for name in names)
    physics = cartpole.Physics.from_xml_string(
        f'<mujoco>{includes}<worldbody><geom name="floor" type="plane" size="1 1 1"'
        ' material="grid"/></worldbody></mujoco>',
        common.ASSETS,
    )
    assert physics.model.geom_matid[0] == physics.model.name2id("grid", "material")
    assert {"self", "self_highlight", "effector", "target"} <= {
        physics.model.id2name(i, "material") for i in range(physics.model.nmat)
    }


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("Sphere", [0.05]),
        ("Box", [0.05, 0.1, 0.15]),
        ("Ellipsoid", [0.05, 0.1, 0.15]),
        ("Cylinder", [0.05, 0.15]),
        ("Capsule", [0.05, 0.15]),
        ("BoxWithSites", [0.05, 0.1, 0.15]),
    ],
)
def test_a_prop_with_a_sensor_of_touch(shape, size):
    prop = getattr(props, shape)(mass=2.0)
    scene = mjcf.RootElement()
    scene.worldbody.add("geom", type="plane", size=[1, 1, 0.1])
    scene.worldbody.add("site", pos=[0, 0, size[-1] + size[0]]).attach(prop.mjcf_model).add(
        "freejoint"
    )
    physics = mjcf.Physics.from_mjcf_model(scene)
    np.testing.assert_allclose(physics.bind(prop.geom).size[: len(size)], size)
    assert physics.model.body_mass.sum() == pytest.approx(2.0)
    assert prop.observables.touch(physics) == 0
    for _ in range(500):
        physics.step()
    assert prop.observables.touch(physics) == pytest.approx(2 * 9.81, rel=0.1)
    assert prop.name == shape.removesuffix("WithSites").lower()
    if shape == "BoxWithSites":
        places = [site.pos for site in prop.corner_sites]
        np.testing.assert_allclose(np.abs(places), [size] * 8)


def test_lengths_of_a_prop_by_position():
    np.testing.assert_array_equal(props.Box([0.1, 0.2, 0.3], name="x").geom.size, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(props.Capsule(0.1, 0.3, 2.0).geom.size, [0.1, 0.3])


def test_callbacks_of_the_engine():
    calls = []
    model = wrapper.MjModel.from_xml_string("<mujoco/>")
    data = wrapper.MjData(model)
    wrapper.set_callback("mjcb_passive", lambda m, d: calls.append(d.time))
    try:
        wrapper.mujoco.mj_forward(model.ptr, data.ptr)
    finally:
        wrapper.set_callback("mjcb_passive")
    wrapper.mujoco.mj_forward(model.ptr, data.ptr)
    assert calls == [0.0]
    wrapper.enable_timer()
    assert wrapper.mujoco.get_mjcb_time() is not None
    wrapper.enable_timer(False)
    assert wrapper.mujoco.get_mjcb_time() is None
