"""Actuators with several controls, and with none: `nu` is not the number of actuators."""

import dataclasses
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym
from mjgym import Task
from mjgym.actions import UNLIMITED, along_slides, controls
from mjgym.checks import of_tasks
from mjgym.controllers import controllers
from mjgym.mjcf import Spec
from mjgym.sim import Batched, Single
from mjgym.sim.fields import UNEVEN, declared_sizes
from mjgym.variation import Uniform

MODEL = """<mujoco><compiler angle="radian"/><option timestep="0.01" integrator="implicitfast"/>
<worldbody>
  <site name="base"/>
  <body><joint name="hinge" axis="0 1 0"/><geom size=".05" pos=".3 0 0"/>
    <site name="tip" pos=".3 0 0"/></body>
  <body pos="0 1 0"><joint name="slide" type="slide" axis="1 0 0"/><geom size=".05"/></body>
  <body pos="0 2 0"><joint name="ball" type="ball"/><geom size=".05" pos=".3 0 0"/></body>
</worldbody><actuator>
  {}
</actuator></mujoco>"""

MIXED = MODEL.format("""
  <pid name="servo" joint="hinge" kp="20" kv="2" posrange="-1 1" velrange="-3 3"/>
  <dcmotor name="idle" joint="hinge" motorconst="1" resistance="2" input="none"/>
  <orientation name="wrist" joint="ball" kp="3" kv="1" input="quat"/>
  <motor name="push" joint="slide" gear="7" ctrlrange="-2 2"/>
""")
MIXED_NAMES = ("servo/pos", "servo/vel", "wrist/qw", "wrist/qx", "wrist/qy", "wrist/qz", "push")


@dataclass(frozen=True)
class Mixed(Task):
    """Hold still. Reward: 1 at rest. Start: at rest. Observation: `command`, `force`."""

    time_limit, control_timestep = 5.0, 0.05

    def model(self):
        return Spec.from_string(MIXED)

    def initialize(self, v, rng):
        pass

    def observation(self, v):
        return {"command": v.ctrl, "force": v.actuator_force}

    def terms(self, v):
        return {"level": np.exp(-(v.joint("hinge").qpos[..., 0] ** 2))}


# A control's name, unit and meaning, by the element of its actuator.
NAMED = {
    '<pid joint="slide" kp="2" input="pos vel ff"/>': [
        ("slide/pos", "m", "target position of joint slide"),
        ("slide/vel", "m/s", "target velocity of joint slide"),
        ("slide/ff", "N", "feedforward force on joint slide"),
    ],
    '<pid name="p" joint="hinge" kv="2" input="vel ff"/>': [
        ("p/vel", "rad/s", "target velocity of joint hinge"),
        ("p/ff", "N m", "feedforward force on joint hinge"),
    ],
    '<pid name="p" joint="hinge" kp="2" input="pos"/>': [
        ("p", "rad", "target position of joint hinge"),
    ],
    '<orientation name="o" site="tip" refsite="base" kp="1"/>': [
        ("o/rx", "rad", "target rotation vector of site tip, x"),
        ("o/ry", "rad", "target rotation vector of site tip, y"),
        ("o/rz", "rad", "target rotation vector of site tip, z"),
    ],
    '<dcmotor name="d" joint="hinge" motorconst="1" resistance="2"/>': [
        ("d", "V", "voltage of the motor of joint hinge"),
    ],
    '<dcmotor name="d" joint="hinge" motorconst="1" resistance="2" input="none"/>': [],
    '<cylinder name="c" joint="slide"/>': [("c", "Pa", "pressure on joint slide")],
    '<intvelocity name="i" joint="hinge" actrange="-1 1"/>': [
        ("i", "rad/s", "target velocity of joint hinge"),
    ],
    '<general name="g" joint="slide" dyntype="integrator" biastype="affine" biasprm="0 -1"/>': [
        ("g", "m/s", "target velocity of joint slide"),
    ],
    '<motor name="m" joint="slide"/>': [("m", "N", "force on joint slide")],
}


@pytest.mark.parametrize("element", NAMED)
def test_each_control_has_its_name_unit_and_meaning(element):
    model = mujoco.MjModel.from_xml_string(MODEL.format(element))
    found = controls(model)
    assert [(c.name, c.unit, c.meaning) for c in found] == NAMED[element]
    assert len(found) == model.nu


def test_every_input_that_the_engine_names_has_a_unit():
    """Fails with a MuJoCo that has further inputs."""
    known = {c[1] for made in NAMED.values() for c in made}
    assert "" not in known
    inputs = {name.removeprefix("mjINPUT_").lower() for name in mujoco.mjtCtrlInput.__members__}
    assert inputs == {"pos", "vel", "ff", "voltage", "pressure", "none"}
    assert {name.removeprefix("mjCHART_").lower() for name in mujoco.mjtCtrlChart.__members__} == {
        "expmap",
        "quat",
    }


def test_ranges_are_those_of_each_control():
    actions = controls(mujoco.MjModel.from_xml_string(MIXED))
    assert tuple(a.name for a in actions) == MIXED_NAMES
    assert [a.low for a in actions] == [-1, -3, *[-UNLIMITED] * 4, -2]
    assert [a.high for a in actions] == [1, 3, *[UNLIMITED] * 4, 2]
    assert [a.gear for a in actions] == [1, 1, 1, 1, 1, 1, 7]


@pytest.mark.parametrize("batch", [False, True])
def test_an_environment_steps_as_mujoco_does(batch):
    env = mjgym.VectorEnv(Mixed(), 2) if batch else mjgym.Env(Mixed())
    env.reset(seed=0)
    model = mujoco.MjModel.from_xml_string(MIXED)
    data = mujoco.MjData(model)
    action = np.array([0.5, -1.0, 0.8, 0.6, 0.0, 0.0, 1.5])
    for _ in range(4):
        env.step(np.tile(action, (2, 1)) if batch else action)
        data.ctrl[:] = action
        mujoco.mj_step(model, data, 5)
    assert np.array_equal(env.get_state()["qpos"], [data.qpos] * 2 if batch else data.qpos)


def test_describe_names_the_actions_and_the_observed_controls():
    described = mjgym.Env(Mixed()).describe()
    assert tuple(row["name"] for row in described["action"]) == MIXED_NAMES
    rows = [(row["name"], row["unit"]) for row in described["observation"]]
    units = ("rad", "rad/s", *["1"] * 4, "N")
    forces = ("servo force", "idle force", *(f"wrist force {a}" for a in "xyz"), "push force")
    assert rows == [
        *zip(MIXED_NAMES, units, strict=True),
        *zip(forces, [*["N m"] * 5, "N"], strict=True),
    ]


def test_the_checks_name_controls_and_actuators():
    elements = '<pid joint="slide"/><pid name="servo" joint="hinge"/>'
    subject = type("Subject", (), {"model": mujoco.MjModel.from_xml_string(MODEL.format(elements))})
    (result,) = of_tasks.check_model_names(subject)
    assert "actuator" not in result[1]


def test_actions_of_the_dm_env_interface_are_named():
    pytest.importorskip("dm_env")
    from mjgym_compat.dm_env import DmEnv

    assert DmEnv(mjgym.Env(Mixed())).action_spec().name.split("\t") == list(MIXED_NAMES)


def test_rows_of_named_actuators_are_those_of_their_controls_and_outputs():
    model = mujoco.MjModel.from_xml_string(MIXED)
    single = Single(model)
    single.data.ctrl[:] = np.arange(model.nu)
    v = single.view
    assert v.take("ctrl", ("push", "servo")).tolist() == [6, 0, 1]
    assert v.take("actuator_force", ("wrist",)).shape == (3,)
    assert v.take("actuator_gear", ("push",))[0, 0] == 7
    assert v.actuator("push").ctrl.tolist() == [6]


def test_varied_fields_of_a_batch_are_those_of_the_named_actuator():
    model = mujoco.MjModel.from_xml_string(MIXED)
    batch = Batched(model, 2, 1, ("actuator_gear", "actuator_ctrlrange"))
    batch.view.actuator_gear[1, -1, 0] = 9
    batch.view.actuator_ctrlrange[1, -1] = -4, 4
    assert batch.view.actuator("push").gear[:, 0].tolist() == [7, 9]
    assert batch.view.actuator("push").ctrlrange.tolist() == [[-2, 2], [-4, 4]]
    assert batch.view.actuator("wrist").gear.shape == (2, 3, 6)


def test_gears_vary_by_the_name_of_the_actuator():
    envs = mjgym.VectorEnv(Mixed(), 3, vary={"actuator_gear[push, 0]": Uniform(1, 2)})
    envs.reset(seed=0)
    gear = envs.view.actuator_gear[..., 0]
    assert (gear[:, :-1] == 1).all()
    assert len(set(gear[:, -1])) == 3
    assert (gear[:, -1] <= 2).all()


def test_sizes_with_several_rows_for_an_element_are_known():
    """Fails with a MuJoCo that has arrays of another such size."""
    model = mujoco.MjModel.from_xml_string(MIXED)
    for kind in ("actuator", "jnt", "sensor"):
        addressed = {
            name.removeprefix(f"{kind}_").removesuffix("adr")
            for name in declared_sizes()
            if name.startswith(f"{kind}_") and name.endswith("adr")
        }
        known = {UNEVEN[size][1] for size in UNEVEN}
        for name in addressed - {"history", "plastic"}:  # not read by element
            assert f"{kind}_{name}adr" in known
    assert model.nout != model.nactuator != model.nu


def test_what_moves_a_slide_is_in_metres_and_newtons():
    model = mujoco.MjModel.from_xml_string(MIXED)
    units = {
        "JOINT_TORQUE": ("0.1 N m", "0.1 N", "force on {}, -0.1 to 0.1 N"),
        "JOINT_VELOCITY": ("0.5 rad/s", "0.5 m/s", "velocity of {}, -0.5 to 0.5 m/s"),
        "JOINT_POSITION": ("0.05 rad", "0.05 m", "displacement of {}, -0.05 to 0.05 m"),
    }
    for law, (turning, sliding, meaning) in units.items():
        actions = [
            dataclasses.replace(action, source=f"joint {action.name}")
            for action in controllers.find(law).actions(("hinge", "slide"))
        ]
        about_hinge, along_slide = along_slides(model, actions)
        assert about_hinge == actions[0]
        assert (about_hinge.unit, along_slide.unit) == (turning, sliding)
        assert along_slide.meaning == meaning.format("slide")


@pytest.mark.parametrize("robot", ["Tiago", "PandaOmron"])
def test_lifts_of_robots_are_in_metres(robot):
    env = gymnasium.make("robosuite/Lift-v0", robot=robot).unwrapped
    lifts = [row for row in env.describe()["action"] if "torso" in row["name"]]
    assert lifts
    assert all(row["unit"] in ("m", "0.05 m") for row in lifts)
    assert not any("rad" in row["meaning"] for row in lifts)
