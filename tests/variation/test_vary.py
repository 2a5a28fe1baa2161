"""The keyword argument `vary`: equal to compiled models, single and batched, seeded, restored."""

import copy
import itertools
import pickle
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from mujoco.batch import MODEL_FIELDS

import mjgym
from helpers.compiling import nothing_compiled
from helpers.equivalence import assert_every_slot_equals_a_single_env, assert_states_go_on
from helpers.lanes import lane, mostly_nightly
from helpers.rollouts import actions_for, equal
from helpers.suite import within
from mjgym import mjcf
from mjgym.sim.engine import get_field
from mjgym.variation import (
    Bernoulli,
    Choice,
    Constant,
    Exponential,
    LogNormal,
    Normal,
    Sequence,
    Uniform,
    colours,
    factor,
    offset,
    rotations,
    shared,
)

RIG = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.002" density="10" viscosity="0.1" wind="1 0 0"/>
  <visual><global offwidth="120" offheight="90"/></visual>
  <asset>
    <hfield name="hills" nrow="3" ncol="3" size="1 1 0.3 0.1" elevation="0 1 0  0 0.5 0.5  0.2 0 0"/>
    <material name="paint" rgba="0.2 0.4 0.6 1"/>
  </asset>
  <worldbody>
    <light name="sun" pos="0 0 5"/>
    <camera name="hills" pos="5 -3 2" xyaxes="1 0 0 0 0.5 1"/>
    <camera name="still" pos="0 -4 1.5" xyaxes="1 0 0 0 0.3 1"/>
    <geom name="floor" type="plane" size="9 9 0.1" friction="0.8 0.005 0.0001"/>
    <geom name="wall" type="box" size="0.1 0.2 0.3" pos="1 1 0.3"/>
    <geom name="terrain" type="hfield" hfield="hills" pos="5 0 0"/>
    <body name="arm" pos="0 0 1" gravcomp="0.1">
      <joint name="hinge" axis="0 1 0" range="-0.1 0.1" pos="0.01 0 0" actuatorfrcrange="-9 9"/>
      <geom name="upper" type="capsule" size="0.05 0.2" pos="0.1 0 0" quat="1 1 0 0" margin="0.01"
            gap="0.002"/>
      <geom name="knob" size="0.08" pos="0 0 0.3" solmix="2" material="paint"/>
      <geom name="fin" type="ellipsoid" size="0.1 0.02 0.1" fluidshape="ellipsoid" pos="0 0.2 0"/>
      <site name="shoulder" pos="0.1 0 0"/>
      <camera name="tracking" pos="1 0 0" mode="trackcom"/>
      <light name="lamp" pos="0 0.2 1" mode="track"/>
      <body name="fore" pos="0 0 0.5">
        <joint name="slide" type="slide" axis="1 0 0" stiffness="3" damping="0.1" range="-0.5 0.5"/>
        <joint name="ball" type="ball" pos="0 0 0.01"/>
        <geom name="lower" type="cylinder" size="0.05 0.1" pos="0 0 0.1"/>
        <site name="elbow" pos="0 0 0.3"/>
      </body>
    </body>
    <body name="block" pos="2 0 0.195" simple="false">
      <freejoint name="block"/>
      <geom name="block" type="box" size="0.1 0.1 0.2"/>
    </body>
    <body name="cluster" pos="-2 0 0.6">
      <freejoint name="cluster"/>
      <geom name="part_0" size="0.05" pos="0.3 0 0"/>
      <geom name="part_1" size="0.05" pos="-0.3 0 0"/>
      <geom name="part_2" size="0.05" pos="0 0.3 0"/>
      <geom name="part_3" size="0.05 0.1" pos="0 -0.3 0" type="capsule"/>
      <geom name="part_4" size="0.05 0.05 0.05" type="box" pos="0 0 0.3"/>
    </body>
    <body name="ball" pos="5 0.5 0.33"><freejoint name="marble"/><geom name="marble" size="0.1"/></body>
    <body name="pendant" pos="5 3 2"><freejoint name="pendant"/><geom name="pendant" size="0.1"/></body>
    <body name="hand" mocap="true" pos="3 0 3"><geom name="tip" size="0.1"/></body>
  </worldbody>
  <tendon>
    <spatial name="string" stiffness="30" damping="0.1" range="0 0.9" frictionloss="0.01"
             armature="0.001">
      <site site="shoulder"/><site site="elbow"/>
    </spatial>
    <fixed name="mix" stiffness="2">
      <joint joint="hinge" coef="1"/><joint joint="slide" coef="2"/>
    </fixed>
  </tendon>
  <actuator>
    <position name="servo" joint="hinge" kp="10" kv="1" forcerange="-9 9"/>
    <motor name="pull" tendon="string" gear="2"/>
    <general name="filtered" joint="slide" dyntype="filter" dynprm="0.1" gainprm="3"
             biastype="affine" biasprm="0 -1 -0.1" actlimited="true" actrange="-0.1 0.1"/>
  </actuator>
  <equality>
    <connect name="pin" body1="pendant" anchor="0 0 0.4"/>
    <joint name="couple" joint1="hinge" joint2="slide" polycoef="0 1 0 0 0" active="false"/>
  </equality>
  <contact>
    <pair name="touch" geom1="block" geom2="floor" friction="0.5 0.5 0.1 0.1 0.1"/>
  </contact>
  <sensor><gyro name="gyro" site="shoulder" cutoff="5"/><touch name="touch" site="shoulder"/></sensor>
</mujoco>
"""  # noqa: E501


@dataclass(frozen=True)
class Rig(mjgym.Task):
    """One of everything that varies, moving, swinging, falling and sliding."""

    time_limit = 1.0  # s
    control_timestep = 0.01  # s

    def model(self):
        return mujoco.MjSpec.from_string(RIG)

    def initialize(self, v, rng):
        v.qpos[:2] = rng.uniform(-0.05, 0.05, size=2)

    def observation(self, v):
        return {"qpos": v.qpos.copy(), "qvel": v.qvel.copy(), "sensors": v.sensordata.copy()}

    def terms(self, v):
        return {"height": v.body("fore").xpos[..., 2], "mass": v.body("fore").mass[..., 0]}


@dataclass(frozen=True)
class Meshed(mjgym.Task):
    """A body of two balls and a mesh falls on a floor."""

    time_limit = 1.0  # s
    control_timestep = 0.01  # s

    def model(self):
        return mujoco.MjSpec.from_string(
            """
            <mujoco>
              <asset><mesh name="corner" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
              <worldbody>
                <geom type="plane" size="2 2 0.1"/>
                <body pos="0 0 0.6">
                  <freejoint/>
                  <geom name="ball" size="0.1"/>
                  <geom size="0.1" pos="0.3 0 0"/>
                  <geom type="mesh" mesh="corner" pos="0 0 1"/>
                </body>
              </worldbody>
            </mujoco>
            """
        )

    def observation(self, v):
        return {"qpos": v.qpos.copy()}

    def terms(self, v):
        return {"height": v.qpos[..., 2]}


def rigs(vary, n=3, **kwargs):
    """A single environment and a batch."""
    kwargs = {"dtype": "float64", "vary": vary, **kwargs}
    return mjgym.Env(Rig(), **kwargs), mjgym.VectorEnv(Rig(), n, **kwargs)


def numbers(model):
    names = (*MODEL_FIELDS, "hfield_data", "bvh_nodeid", "bvh_child")
    return {name: np.array(get_field(model, name)) for name in names}


def rows(envs, i):
    """The numbers of a batch's simulation by name, where it has its own."""
    return {name: values[i] for name, values in envs._episodes.simulation.episode_fields.items()}


# --- equal to a compiled model ---


def explicit(spec):
    """A spec that states what the compiler gave it: mass and inertia, places and sizes of geoms."""
    model = spec.compile()
    for body in spec.bodies[1:]:
        body.explicitinertial = True
        body.mass, body.inertia = model.body_mass[body.id], model.body_inertia[body.id]
        body.ipos, body.iquat = model.body_ipos[body.id], model.body_iquat[body.id]
    for geom in spec.geoms:
        if np.isfinite(geom.fromto).all():
            geom.fromto[:] = np.nan
            geom.size, geom.pos = model.geom_size[geom.id], model.geom_pos[geom.id]
            geom.quat = model.geom_quat[geom.id]
    assert equal(numbers(spec.compile()), numbers(model))
    return spec


# Where a spec holds a field of the compiled model, if not under the name behind the underscore.
ATTRIBUTES = {
    "jnt_solref": "solref_limit",
    "jnt_solimp": "solimp_limit",
    "dof_solref": "solref_friction",
    "dof_solimp": "solimp_friction",
    "tendon_solref_lim": "solref_limit",
    "tendon_solimp_lim": "solimp_limit",
    "tendon_solref_fri": "solref_friction",
    "tendon_solimp_fri": "solimp_friction",
    "tendon_lengthspring": "springlength",
    "hfield_data": "userdata",
}
LISTS = {
    "body": "bodies",
    "jnt": "joints",
    "dof": "joints",
    "geom": "geoms",
    "site": "sites",
    "cam": "cameras",
    "light": "lights",
    "mat": "materials",
    "actuator": "actuators",
    "tendon": "tendons",
    "eq": "equalities",
    "pair": "pairs",
    "sensor": "sensors",
    "hfield": "hfields",
}


def compiled_with(spec, model, fields):
    """The compiled model that has some fields of a model, and else what the spec says."""
    for field in fields:
        prefix, _, name = field.partition("." if field.startswith("opt.") else "_")
        if prefix == "opt":
            setattr(spec.option, name, get_field(model, field))
            continue
        values = np.array(getattr(model, field))
        for element in getattr(spec, LISTS[prefix]):
            if element.id == 0 and prefix == "body":
                continue
            row = model.jnt_dofadr[element.id] if prefix == "dof" else element.id
            value = values if prefix == "hfield" else values[row]
            attribute = ATTRIBUTES.get(field, name)
            if name in ("stiffness", "damping"):
                value = [value, *getattr(element, attribute)[1:]]
            elif name.endswith("poly"):
                attribute = name.removesuffix("poly")
                value = [getattr(element, attribute)[0], *value]
            elif field == "geom_fluid":
                attribute, value = "fluid_coefs", value[1:6]
            setattr(element, attribute, value)
    return spec.compile()


def assert_same_model(ours, compiled, derivation=0.0):
    """Every number of two models, but for how the trees of bounding boxes branch.

    Args:
        ours: numbers by name, of the varied model.
        compiled: numbers by name.
        derivation: by how much what follows may differ, relative to the largest number.
    """
    trees = {"bvh_aabb", "bvh_child", "bvh_nodeid", "bvh_depth"}
    for name in ours.keys() & compiled.keys() - trees:
        a, b = ours[name], compiled[name]
        assert a.shape == b.shape, name
        if not np.array_equal(a, b):
            assert np.abs(a - b).max() <= derivation * max(1, np.abs(b).max()), name


def boxes(values):
    """Boxes of geoms' bounds by geom, and of bodies by body."""
    leaves = {int(g): values["bvh_aabb"][i] for i, g in enumerate(values["bvh_nodeid"]) if g >= 0}
    starts = zip(values["body_bvhadr"], values["body_bvhnum"], strict=True)
    return leaves, {b: values["bvh_aabb"][s] for b, (s, count) in enumerate(starts) if count}


def corners(box):
    return np.concatenate([box[:3] - box[3:], box[:3] + box[3:]])


def alike(a, b):
    """Whether boxes are equal, as far as their largest number resolves: a plane's has no end."""
    scale = max(1.0, np.abs(a).max(), np.abs(b).max())
    return np.abs(a - b).max() <= 8 * np.finfo(float).eps * scale


def assert_same_boxes(ours, compiled):
    """Of all geoms and bodies; and in our tree, which branches as before, each holds its own."""
    for mine, theirs in zip(boxes(ours), boxes(compiled), strict=True):
        assert mine.keys() == theirs.keys()
        for key, box in mine.items():
            assert alike(corners(box), corners(theirs[key])), key
    for body, start in enumerate(ours["body_bvhadr"]):
        for node in range(start, start + ours["body_bvhnum"][body]):
            if ours["bvh_nodeid"][node] < 0:
                parts = [corners(ours["bvh_aabb"][start + k]) for k in ours["bvh_child"][node]]
                low, high = np.min(parts, axis=0)[:3], np.max(parts, axis=0)[3:]
                assert alike(corners(ours["bvh_aabb"][node]), np.concatenate([low, high]))


def with_statistics(model, other):
    """A model with the statistics of another one, which vary in no environment."""
    for name in ("meaninertia", "meanmass", "meansize", "extent"):
        setattr(model.stat, name, getattr(other.stat, name))
    model.stat.center[:] = other.stat.center
    return model


def rollout(model, steps=50):
    """Positions, velocities and sensors from a start that depends on no number of the model."""
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    data.qpos[0] = 0.12  # beyond the rig's limit
    data.qvel[:] = 0.3 * rng.normal(size=model.nv)
    found = []
    for _ in range(steps):
        data.ctrl[:] = rng.uniform(-1, 1, model.nu)
        mujoco.mj_step(model, data)
        found.append(np.concatenate([data.qpos, data.qvel, data.act, data.sensordata]))
    return np.array(found)


# Value by key; whether the motion within 50 steps depends on it.
EQUAL = {
    "body_mass[fore]": (7.0, True),
    "body_inertia[fore]": ([0.1, 0.2, 0.25], True),
    "body_pos[fore]": ([0.1, 0.2, 0.4], True),
    "body_quat[fore]": ([0.6, 0.8, 0, 0], True),
    "body_ipos[fore]": ([0.1, 0.2, 0.1], True),
    "body_ipos[block]": ([0.0, 0.02, 0.1], True),
    "body_iquat[fore]": ([0.6, 0.8, 0, 0], True),
    "body_gravcomp[fore]": (0.7, True),
    "jnt_pos[hinge]": ([0.1, 0.2, 0.4], True),
    "jnt_axis[slide]": ([0.6, 0.8, 0], True),
    "jnt_stiffness[hinge]": (9.0, True),
    "jnt_stiffnesspoly[hinge, 0]": (9.0, True),
    "jnt_range[hinge]": ([-0.002, 0.003], True),
    "jnt_solref[hinge]": ([0.05, 0.9], True),
    "jnt_solimp[hinge, 1]": (0.5, True),
    "jnt_margin[hinge]": (0.1, True),
    "jnt_actfrcrange[hinge]": ([-0.1, 0.1], True),
    "dof_armature[block]": (0.1, True),
    "dof_armature[slide]": (0.1, True),
    "dof_damping[hinge]": (0.7, True),
    "dof_dampingpoly[hinge, 0]": (0.7, True),
    "dof_frictionloss[hinge]": (0.7, True),
    "geom_size[upper, 0:2]": ([1.1, 0.3], True),
    "geom_size[knob, 0]": (0.5, False),
    "geom_size[fin]": ([0.3, 0.1, 0.2], True),
    "geom_size[block]": ([0.1, 0.1, 0.25], True),
    "geom_size[wall]": ([0.3, 0.1, 1.5], False),
    "geom_size[lower, :2]": ([0.3, 0.1], False),
    "geom_size[part_0, 0]": (0.65, True),
    "geom_size[part_3, 0:2]": ([0.1, 0.65], True),
    "geom_size[part_4]": ([0.1, 0.05, 1.0], True),
    "geom_size[marble, 0]": (0.3, True),
    "geom_pos[knob]": ([0.3, 0.1, -0.95], True),
    "geom_pos[part_1]": ([0.3, 0.1, -0.6], True),
    "geom_pos[block]": ([0.02, 0.01, -0.02], True),
    "geom_pos[terrain]": ([0.1, 0.1, 0.1], True),
    "geom_pos[floor]": ([0.3, 0.1, 0.1], True),
    "geom_quat[upper]": ([0.6, 0.8, 0, 0], False),
    "geom_quat[block]": ([0.6, 0, 0.8, 0], True),
    "geom_friction[marble, 0]": (3.0, True),
    "geom_solref[terrain]": ([0.05, 0.9], True),
    "geom_solimp[terrain, 0]": (0.5, True),
    "geom_solmix[marble]": (0.3, False),
    "geom_margin[part_0]": (0.3, False),
    "geom_margin[marble]": (0.3, True),
    "geom_gap[upper]": (0.005, False),
    "geom_rgba[knob]": ([0.1, 0.2, 0.3, 0.5], False),
    "geom_fluid[fin, 1:3]": ([0.7, 0.3], True),
    "site_pos[shoulder]": ([0.3, 0.1, 0.2], True),
    "site_quat[shoulder]": ([0.6, 0.8, 0, 0], True),
    "site_size[shoulder]": ([0.3, 0.1, 0.2], False),
    "site_rgba[elbow]": ([0.1, 0.2, 0.3, 0.5], False),
    "cam_pos[tracking]": ([0.3, 0.1, 0.2], False),
    "cam_quat[tracking]": ([0.6, 0.8, 0, 0], False),
    "cam_fovy[tracking]": (20.0, False),
    "light_pos[lamp]": ([0.3, 0.1, 0.2], False),
    "light_dir[lamp]": ([0.6, 0, -0.8], False),
    "light_diffuse[sun]": ([0.3, 0.1, 0.2], False),
    "mat_rgba[paint]": ([0.9, 0, 0, 1], False),
    "mat_shininess[paint]": (0.9, False),
    "actuator_gear[pull, 0]": (5.0, True),
    "actuator_gainprm[filtered, 0]": (5.0, True),
    "actuator_biasprm[servo, 1:3]": ([-30.0, -2.0], True),
    "actuator_dynprm[filtered, 0]": (0.3, True),
    "actuator_forcerange[servo]": ([-0.2, 0.2], True),
    "actuator_actrange[filtered]": ([-0.01, 0.01], True),
    "actuator_armature[servo]": (0.2, True),
    "actuator_damping[servo]": (0.2, True),
    "actuator_dampingpoly[servo, 0]": (0.2, True),
    "tendon_stiffness[string]": (90.0, True),
    "tendon_damping[mix]": (0.2, True),
    "tendon_frictionloss[mix]": (0.2, True),
    "tendon_armature[mix]": (0.2, True),
    "tendon_range[string]": ([0.1, 0.2], True),
    "tendon_lengthspring[string]": ([0.1, 0.2], True),
    "tendon_margin[string]": (0.3, True),
    "tendon_width[string]": (0.3, False),
    "eq_data[pin, 2]": (1.5, True),
    "eq_data[couple, 1]": (3.0, False),
    "eq_solref[pin]": ([0.1, 0.2], True),
    "eq_solimp[pin, 0]": (0.1, True),
    "pair_friction[touch, 0:2]": ([0.01, 0.01], True),
    "pair_margin[touch]": (0.01, True),
    "pair_solref[touch]": ([0.1, 0.5], True),
    "sensor_cutoff[gyro]": (0.01, True),
    "hfield_data[hills]": ([1, 1, 1, 0.5, 0, 0.5, 0, 0, 0], True),
    "opt.gravity": ([1, 0, -3], True),
    "opt.timestep": (0.0025, True),
    "opt.density": (300.0, True),
    "opt.viscosity": (3.0, True),
    "opt.wind": ([9, 0, -3], True),
    "opt.impratio": (30.0, True),
}
# The rounding of a spring's length at rest, which changes where nothing else does.
ROUNDED = {"jnt_pos[hinge]": 1e-15}


class TestEqualsACompiledModel:
    @pytest.mark.parametrize("key", mostly_nightly(EQUAL, quick=12))
    def test_in_every_number_and_in_motion(self, key):
        value, moves = EQUAL[key]
        field = key.partition("[")[0]
        single, batch = rigs({key: value})
        single.reset(seed=0)
        batch.reset(seed=0)
        spec = explicit(Rig().model())
        plain = spec.compile()
        index = np.asarray(get_field(single.model, field))
        assert not np.array_equal(index, get_field(plain, field))  # it has been written
        compiled = compiled_with(spec, single.model, [field])
        assert np.array_equal(get_field(compiled, field), index)  # and that is what is compared
        tolerance = ROUNDED.get(key, 0.0)
        expected = numbers(compiled)
        assert_same_model(numbers(single.model), expected, tolerance)
        assert_same_boxes(numbers(single.model), expected)
        for i in range(batch.num_envs):
            assert_same_model(rows(batch, i), expected, tolerance)
            assert_same_boxes({**numbers(plain), **rows(batch, i)}, expected)
        ours, theirs = rollout(single.model), rollout(with_statistics(compiled, plain))
        if tolerance:
            assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        else:
            assert np.array_equal(ours, theirs)
        assert np.array_equal(ours, rollout(plain)) != moves

    @pytest.mark.parametrize("key", mostly_nightly(EQUAL, 7, 8))
    def test_a_batch_moves_with_its_own_numbers(self, key):
        """Each simulation takes the varied field and all that follows from it, flags included."""
        value, _ = EQUAL[key]
        twist = Sequence([np.asarray(value), 0.99 * np.asarray(value)])
        single, batch = rigs({key: twist}, n=2)
        batch.reset(seed=5)
        batch.reset(options={"reset_mask": np.array([False, True])})  # the second number
        alone = []
        for i in range(2):
            single.reset(seed=5 + i)
            for _ in range(i):
                single.reset()
            alone.append([single.step(a[i])[0] for a in actions_for(batch, 12)])
        for k, actions in enumerate(actions_for(batch, 12)):
            observations = batch.step(actions)[0]
            for i in range(2):
                assert np.array_equal(observations[i], alone[i][k])

    @pytest.mark.parametrize(
        "id",
        ["dmc/walker-run-v0", "dmc/humanoid-run-v0", "dmc/quadruped-run-v0", "dmc/fish-swim-v0"],
    )
    def test_all_at_once_on_a_registered_id(self, id):
        vary = {
            "body_mass": factor(LogNormal(0, 0.2)),
            "body_inertia": shared(factor(Uniform(0.8, 1.2))),
            "body_pos": offset(Normal(0, 0.01)),
            "geom_size": factor(Uniform(0.8, 1.2)),
            "geom_friction[*, 0]": Uniform(0.4, 1.2),
            "dof_damping": factor(Uniform(0.5, 2)),
            "dof_armature": factor(Uniform(0.5, 2)),
            "jnt_stiffness": factor(Uniform(0.5, 2)),
            "actuator_gear[*, 0]": factor(Uniform(0.5, 2)),
            "opt.gravity": offset(Normal(0, 1)),
            "opt.timestep": factor(Uniform(0.5, 1)),
        }
        env = gymnasium.make(id, vary=vary).unwrapped
        spec = explicit(mjcf.without_textures(env.task.model()))
        plain = spec.compile()
        env.reset(seed=1)
        # The task's own variation aside: what it writes is of the episode, not of the model.
        model = copy.copy(env.model)
        for name in env.task.varies:
            getattr(model, name)[...] = getattr(plain, name)
        written = [key.partition("[")[0] for key in vary]
        # Of six numbers that a free joint has, a spec holds one.
        free = plain.jnt_type == mujoco.mjtJoint.mjJNT_FREE
        for field in ("dof_damping", "dof_armature"):
            for start in plain.jnt_dofadr[free]:
                getattr(model, field)[start : start + 6] = getattr(plain, field)[start]
        mujoco.mj_setConst(model, mujoco.MjData(model))
        compiled = compiled_with(spec, model, written)
        assert_same_model(numbers(model), numbers(compiled), derivation=1e-13)
        assert_same_boxes(numbers(model), numbers(compiled))
        ours, theirs = (
            rollout(with_statistics(model, plain)),
            rollout(with_statistics(compiled, plain)),
        )
        assert np.allclose(ours, theirs, rtol=1e-8, atol=1e-8)
        assert not np.allclose(ours, rollout(plain))

    def test_statistics_stay(self):
        """Of all simulations together: a batch holds them once."""
        single, _ = rigs({"body_mass": factor(5.0), "geom_size": factor(2.0)})
        single.reset(seed=0)
        plain = Rig().model().compile()
        for name in ("meaninertia", "meanmass", "meansize", "extent"):
            assert getattr(single.model.stat, name) == getattr(plain.stat, name)

    @pytest.mark.parametrize("key", ["geom_size[part_0, 0]", "geom_pos[part_1]"])
    def test_contacts_that_the_old_bounds_would_miss(self, key):
        single, batch = rigs({key: EQUAL[key][0]}, n=2)
        single.reset(seed=0)
        batch.reset(seed=0)
        name = key.partition("[")[2].partition(",")[0].rstrip("]")
        geom, cluster = single.model.geom(name).id, single.model.body("cluster").id

        def touches(model):
            data = mujoco.MjData(model)
            mujoco.mj_forward(model, data)
            return any(geom in pair for pair in data.contact.geom.tolist())

        assert touches(single.model)
        stale, plain = copy.copy(single.model), Rig().model().compile()
        for field in ("geom_rbound", "geom_aabb", "bvh_aabb"):
            getattr(stale, field)[...] = getattr(plain, field)
        assert not touches(stale)
        for one in range(5):  # the batch feels it, too: nothing else holds the cluster up
            assert np.array_equal(
                single.step(np.zeros(3))[0], batch.step(np.zeros((2, 3)))[0][0]
            ), one
        plain_env = mjgym.Env(Rig())
        plain_env.reset(seed=0)
        for _ in range(5):
            plain_env.step(np.zeros(3))
        assert single.data.xpos[cluster, 2] > plain_env.data.xpos[cluster, 2] + 1e-3

    def test_heightfields_differ_from_slot_to_slot(self):
        rough = Sequence([np.linspace(0, 1, 9), np.linspace(1, 0, 9)])
        single, batch = rigs({"hfield_data[hills]": rough, "body_mass": factor(LogNormal(0, 0.3))})
        batch.reset(seed=0)
        batch.reset(options={"reset_mask": np.array([False, True, False])})
        heights = batch.get_state()["hfield_data"]
        assert np.array_equal(heights[0], np.float32(np.linspace(0, 1, 9)))
        assert np.array_equal(heights[1], np.float32(np.linspace(1, 0, 9)))
        single.reset(seed=1)
        single.reset()
        for actions in actions_for(batch, 30):
            assert np.array_equal(batch.step(actions)[0][1], single.step(actions[1])[0])
        heights = batch.get_state()["hfield_data"]
        assert not np.array_equal(heights[0], heights[1])

    def test_what_the_task_varies_itself_the_task_decides(self):
        """`initialize` runs after the draw, so its own terrain counts; `info` tells the draw."""
        kwargs = {"dtype": "float64", "vary": {"hfield_data": 0.5}}
        env = gymnasium.make("dmc/quadruped-escape-v0", **kwargs)
        plain = gymnasium.make("dmc/quadruped-escape-v0", dtype="float64")
        start, info = env.reset(seed=0)
        assert np.array_equal(start, plain.reset(seed=0)[0])
        assert (within(info, "variation")["hfield_data"] == 0.5).all()
        ours, theirs = env.unwrapped.model.hfield_data, plain.unwrapped.model.hfield_data
        assert np.array_equal(ours, theirs)


# --- ids of ten kinds, through gymnasium.make alone ---

IDS = {
    # RK4, hinges and a slide
    "dmc/cartpole-swingup-v0": {
        "body_mass[pole_1]": factor(LogNormal(0, 0.3)),
        "body_inertia[pole_1]": shared(factor(Uniform(0.5, 2))),
        "dof_damping": Exponential(0.01),
        "opt.gravity[2]": offset(Normal(0, 0.5)),
        "actuator_gear[slide, 0]": factor(Uniform(0.5, 2)),
        "light_pos": offset(Normal(0, 0.3)),
    },
    # a task that varies sites
    "dmc/finger-turn_hard-v0": {
        "geom_size[*tip]": factor(Uniform(0.8, 1.2)),
        "geom_friction[cap*, 0]": Uniform(0.4, 1.2),
        "site_size[target, 0]": factor(Choice([0.5, 1, 2])),
        "dof_frictionloss": Uniform(0, 0.01),
    },
    # contacts, a free joint, another timestep
    "dmc/humanoid-run-v0": {
        "body_mass": shared(factor(Uniform(0.8, 1.2))),
        "geom_size[*foot*]": factor(Uniform(0.8, 1.2)),
        "jnt_stiffness": factor(Uniform(0.5, 2)),
        "dof_armature": factor(LogNormal(0, 0.2)),
        "opt.timestep": factor(Uniform(0.8, 1)),
    },
    # activations, a ball, walls
    "dmc/quadruped-fetch-v0": {
        "geom_size[ball, 0]": factor(Uniform(0.8, 1.2)),
        "body_pos[knee*]": offset(Normal(0, 0.01)),
        "actuator_gainprm[*lift*, 0]": factor(Uniform(0.5, 1.5)),
        "opt.gravity": Choice([[0, 0, -9.81], [0, 1, -5]]),
    },
    # a task that varies geoms and lights, in a fluid
    "dmc/swimmer-swimmer6-v0": {
        "opt.viscosity": factor(LogNormal(0, 0.5)),
        "opt.density": Uniform(500, 5000),
        "geom_pos[nose]": offset(Normal(0, 0.01)),
        "light_pos[light_1]": offset(Normal(0, 0.1)),
        "geom_rgba": colours.HSV(Uniform(), 0.8, Uniform(0.5, 1)),
    },
    # tendons with springs, orientations
    "dmc/fish-swim-v0": {
        "body_quat[tail1]": factor(rotations.About((0, 0, 1), Normal(0, 0.2))),
        "tendon_stiffness": factor(Uniform(0.5, 2)),
        "actuator_gear[*, 0]": factor(Uniform(0.5, 1)),
        "geom_pos[torso_massive]": offset(Normal(0, 0.01)),
    },
    # a task that varies bodies
    "dmc/stacker-stack_2-v0": {
        "body_mass[box*]": LogNormal(-2, 0.5),
        "geom_size[box*]": factor(Uniform(0.9, 1.1)),
        "jnt_pos[finger]": offset(Normal(0, 0.001)),
        "cam_pos[hand]": offset(Normal(0, 0.1)),
    },
    # a tendon with a limit, one number of it
    "dmc/ball_in_cup-catch-v0": {
        "tendon_range[string, 1]": factor(Uniform(0.8, 1.2)),
        "body_mass[ball]": 0.1 * Exponential() + 0.01,
        "geom_friction": Uniform(0.1, 1).clip(0.2, 0.9),
    },
    # a heightfield, for which each simulation has a model of its own
    "dmc/quadruped-escape-v0": {
        "body_mass[torso]": factor(LogNormal(0, 0.3)),
        "actuator_dynprm[*, 0]": factor(Uniform(0.5, 2)),
        "geom_friction[*toe*]": factor(Uniform(0.5, 1)),
        "opt.gravity": offset(Normal(0, 0.3)),
    },
    # walls and platforms that the task refits
    "locomotion/ant-run_gaps-v0": {
        "body_mass[*torso]": factor(LogNormal(0, 0.3)),
        "geom_size[walker/*leg*]": factor(Uniform(0.8, 1.2)),
        "geom_solref[ground]": Sequence([[0.02, 1], [0.05, 0.5]]),
        "jnt_stiffness": factor(Bernoulli(0.5)),
    },
}
LIMIT = 5  # control steps in an episode
# What varies does not know of the mode: each id has one.
ID_AND_MODE = list(zip(IDS, itertools.cycle(AutoresetMode), strict=False))


class TestTenIds:
    @pytest.mark.parametrize(("id", "mode"), mostly_nightly(ID_AND_MODE, 7, ID_AND_MODE[:1]))
    def test_a_batch_equals_single_environments(self, id, mode):
        """Bit for bit over several episodes, `info` included."""
        kwargs = {"vary": IDS[id], "observation": "flat", "max_episode_steps": LIMIT}
        infos = assert_every_slot_equals_a_single_env(id, 3, 14, mode, **kwargs)
        begun = [drawn for info in infos if (drawn := within(info, "variation"))]
        assert len(begun) >= 3  # the one that the mask began, and two of the others
        for key in IDS[id]:
            assert any(v[f"_{key}"].any() for v in begun)

    @pytest.mark.parametrize("id", mostly_nightly(IDS, 7, list(IDS)[:1]))
    def test_the_models_hold_what_info_says(self, id):
        keys = IDS[id]
        env = gymnasium.make(id, vary=keys)
        envs = gymnasium.make_vec(id, num_envs=2, vary=keys)
        _, info = env.reset(seed=3)
        _, infos = envs.reset(seed=3)
        single, batch = (e.unwrapped._episodes.simulation for e in (env, envs))
        assert list(within(info, "variation")) == list(keys)
        taken = env.unwrapped.task.varies  # where the task has had the last word
        for target in single.varying.targets.values():
            part = target.part
            if part.field in taken:
                continue
            drawn = np.asarray(within(info, "variation")[part.key])
            written = np.asarray(get_field(single.model, part.field))[part.index]
            assert np.array_equal(written, drawn.astype(written.dtype))
            assert np.array_equal(batch.episode_fields[part.field][0][part.index], written)
            assert equal(
                within(infos, "variation")[part.key][0], within(info, "variation")[part.key]
            )
            assert within(infos, "variation")[f"_{part.key}"].all()

    @pytest.mark.parametrize("id", mostly_nightly(IDS, 7, list(IDS)[:1]))
    def test_seeds(self, id):
        make = {"num_envs": 3, "vary": IDS[id], "max_episode_steps": LIMIT}
        envs, others = (gymnasium.make_vec(id, **make) for _ in range(2))

        def run(envs, seed):
            _, info = envs.reset(seed=seed)
            drawn = [within(info, "variation")]
            for actions in actions_for(envs, 2 * LIMIT + 2):
                info = envs.step(actions)[4]
                if now := within(info, "variation"):
                    drawn.append(now)
            return drawn

        first = run(envs, 11)
        assert len(first) == 2 + 1
        run(envs, 12)
        assert equal(tuple(first[0].values()), tuple(run(envs, 11)[0].values()))
        for a, b in zip(first, run(others, 11), strict=True):
            assert equal(a, b)
        # Seed 12 of one is the second seed of the other; else everything differs.
        second = run(others, 12)
        for key in IDS[id]:
            assert equal(second[0][key][0], first[0][key][1])
        random = [k for k, v in IDS[id].items() if not isinstance(v, Sequence | type(None))]
        assert any(not equal(first[0][k][0], first[0][k][1]) for k in random)
        assert any(not equal(first[0][k][0], first[1][k][0]) for k in random)

    @pytest.mark.parametrize("id", mostly_nightly(IDS, 7, list(IDS)[:1]))
    def test_starts_are_those_of_the_plain_id(self, id):
        """What is drawn for the model takes nothing from the generator of the starts."""
        keys = {"opt.gravity[0]": Normal(0, 0.1)}  # nothing that a start depends on
        plain, varied = (gymnasium.make(id, vary=vary, dtype="float64") for vary in (None, keys))
        for seed in (5, None, None):
            plain.reset(seed=seed)
            varied.reset(seed=seed)
            ours, theirs = plain.unwrapped.data, varied.unwrapped.data
            assert np.array_equal(ours.qpos, theirs.qpos)
            assert np.array_equal(ours.qvel, theirs.qvel)
            states = [e.unwrapped.np_random.bit_generator.state for e in (plain, varied)]
            assert states[0] == states[1]

    @pytest.mark.parametrize("id", mostly_nightly(IDS, 7, list(IDS)[:1]))
    def test_nothing_is_compiled_after_make(self, id):
        make = {"vary": IDS[id], "max_episode_steps": 2}
        env, envs = gymnasium.make(id, **make), gymnasium.make_vec(id, num_envs=2, **make)
        with nothing_compiled():
            env.reset(seed=0)
            envs.reset(seed=0)
            for actions in actions_for(envs, 7):
                envs.step(actions)
            env.unwrapped.set_state(env.unwrapped.get_state())
            env.reset()


class TestStates:
    @pytest.mark.parametrize("id", mostly_nightly(IDS, 7, list(IDS)[:1]))
    def test_go_on_bit_for_bit(self, id):
        """The next episodes' draws included; in another slot, and in a single environment too."""
        assert_states_go_on(id, before=9, vary=IDS[id], dtype="float64")

    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
    @pytest.mark.parametrize("every", mostly_nightly(["episode", "reset", "never"], quick=3))
    @pytest.mark.parametrize(
        "id", mostly_nightly(["dmc/humanoid-run-v0", "locomotion/ant-run_gaps-v0"], quick=2)
    )
    def test_copies_go_on_bit_for_bit(self, id, every, duplicate):
        make = {"vary": IDS[id], "vary_every": every, "max_episode_steps": LIMIT}
        env, envs = gymnasium.make(id, **make).unwrapped, gymnasium.make_vec(id, num_envs=2, **make)
        env.reset(seed=0)
        envs.reset(seed=0)
        actions = actions_for(envs, LIMIT)
        for a in actions:
            envs.step(a)
            env.step(a[0])
        twin, twins = duplicate(env), duplicate(envs)
        for a in actions_for(envs, LIMIT + 3, seed=1):
            assert equal(envs.step(a), twins.step(a))
            assert equal(env.step(a[0]), twin.step(a[0]))
        assert equal(env.reset(), twin.reset())
        assert equal(envs.reset(), twins.reset())

    def test_what_the_state_holds(self):
        vary = {"body_mass[arm]": factor(LogNormal(0, 0.3)), "opt.gravity": Normal([0, 0, -9], 1)}
        single, batch = rigs(vary, n=2)
        _, info = single.reset(seed=0)
        state = single.get_state()
        assert np.array_equal(state["body_mass"], single.model.body_mass)
        assert np.array_equal(state["opt.gravity"], single.model.opt.gravity)
        for key, value in within(info, "variation").items():
            assert np.array_equal(state[f"variation.{key}"], value)
        assert state["variation.count"] == 1
        batch.reset(seed=0)
        assert batch.get_state(ids=[1])["variation.opt.gravity"].shape == (1, 3)
        plain = mjgym.Env(Rig())
        plain.reset(seed=0)
        assert not [name for name in plain.get_state() if "variation" in name]

    @pytest.mark.parametrize(
        ("key", "kind", "name"),
        [
            ("body_mass", "body", "fore"),
            ("geom_size[part_0, 0]", "geom", "part_0"),
            ("geom_pos[knob]", "geom", "knob"),
            ("site_pos[shoulder]", "site", "shoulder"),
        ],
    )
    def test_a_part_of_a_state_makes_the_rest_follow(self, key, kind, name):
        field = key.partition("[")[0]
        single, batch = rigs({key: factor(Uniform(0.5, 0.6))}, n=2)
        single.reset(seed=1)
        batch.reset(seed=0)
        spec = explicit(Rig().model())
        wanted = spec.compile()
        getattr(wanted, field)[getattr(wanted, kind)(name).id] *= 3
        written = np.array(getattr(wanted, field))
        single.set_state({field: written})
        batch.set_state({field: written[None]}, ids=[1])
        compiled = numbers(compiled_with(spec, wanted, [field]))
        assert_same_model(numbers(single.model), compiled)
        assert_same_model(rows(batch, 1), compiled)
        assert not np.array_equal(rows(batch, 0)[field], written)
        for actions in actions_for(batch, 4):
            assert np.array_equal(batch.step(actions)[0][1], single.step(actions[1])[0])
        single.reset()  # and the next episode knows nothing of it
        assert not np.array_equal(getattr(single.model, field), written)


class TestWhen:
    """Which episodes have new values; a sequence of numbers counts them."""

    VARY = {"body_mass[arm]": Sequence([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])}

    @pytest.mark.parametrize(
        ("every", "expected"), [("episode", [1, 2, 3]), ("reset", [1, 2, 3]), ("never", [1, 1, 1])]
    )
    def test_single(self, every, expected):
        single, _ = rigs(self.VARY, vary_every=every)
        for seed in (4, 4):  # seeding begins anew
            masses = []
            for k in range(3):
                _, info = single.reset(seed=seed if k == 0 else None)
                masses.append(within(info, "variation")["body_mass[arm]"].item())
                assert single.data.model.body("arm").mass.item() == masses[-1]
                single.step(np.zeros(3))
            assert masses == expected

    @pytest.mark.parametrize("mode", list(AutoresetMode))
    @pytest.mark.parametrize("every", ["episode", "reset", "never"])
    def test_batch(self, every, mode):
        envs = mjgym.VectorEnv(
            Rig(), 2, vary=self.VARY, vary_every=every, max_episode_steps=2, autoreset_mode=mode
        )
        held = envs.view.body("arm").mass[:, 0]

        def told(info):
            values = within(info, "variation")["body_mass[arm]"][:, 0]
            assert np.array_equal(values, held)
            return values.tolist()

        def play():
            """Masses of the second and third episode, as they begin."""
            found = []
            while len(found) < 2:
                *_, truncations, info = envs.step(np.zeros((2, 3)))
                if truncations.all() and mode == AutoresetMode.DISABLED:
                    _, info = envs.reset(options={"reset_mask": np.ones(2, dtype=bool)})
                if within(info, "variation"):
                    found.append(told(info))
            return found

        by_reset = mode == AutoresetMode.DISABLED  # there, all episodes begin so
        for seed in (0, 9):
            assert told(envs.reset(seed=seed)[1]) == [1, 1]
            if every == "episode" or (every == "reset" and by_reset):
                assert play() == [[2, 2], [3, 3]]
            else:
                assert play() == [[1, 1], [1, 1]]
        again = told(envs.reset()[1])
        counted = {"episode": 4, "reset": 4 if by_reset else 2, "never": 1}
        assert again == [counted[every]] * 2

    def test_a_mask_counts_for_those_it_names(self):
        _, envs = rigs(self.VARY, vary_every="reset")
        envs.reset(seed=0)
        _, info = envs.reset(options={"reset_mask": np.array([True, False, True])})
        told = within(info, "variation")["body_mass[arm]"][:, 0]
        assert told.tolist() == [2, 0, 2]
        assert within(info, "variation")["_body_mass[arm]"].tolist() == [True, False, True]
        held = envs.view.body("arm").mass[:, 0]
        assert held.tolist() == [2, 1, 2]

    def test_without_vary_there_is_no_word_of_it(self):
        env, envs = mjgym.Env(Rig()), mjgym.VectorEnv(Rig(), 2)
        assert env.reset(seed=0)[1] == {}
        assert envs.reset(seed=0)[1] == {}


class TestValues:
    """How a value meets the model's own number."""

    @staticmethod
    def drawn(vary, seed=0):
        env = mjgym.Env(Rig(), vary=vary)
        _, info = env.reset(seed=seed)
        return env.model, within(info, "variation")

    def test_absolute_factor_and_offset(self):
        own = Rig().model().compile()
        for value, expected in (
            (0.3, 0.3),
            (Constant(0.3), 0.3),
            (factor(0.3), 0.3 * own.body("arm").mass[0]),
            (offset(0.3), 0.3 + own.body("arm").mass[0]),
            (shared(factor(Constant(0.3))), 0.3 * own.body("arm").mass[0]),
        ):
            model, info = self.drawn({"body_mass[arm]": value})
            assert info["body_mass[arm]"].tolist() == [expected]
            assert model.body("arm").mass[0] == expected

    def test_relative_values_do_not_pile_up(self):
        env = mjgym.Env(Rig(), vary={"body_mass": factor(2.0), "geom_pos[knob]": offset(0.1)})
        own = Rig().model().compile()
        for _ in range(3):
            env.reset()
            assert np.array_equal(env.model.body_mass, 2 * own.body_mass)
            assert np.array_equal(env.model.geom("knob").pos, own.geom("knob").pos + 0.1)

    def test_each_number_by_itself_or_one_for_all(self):
        own = Rig().model().compile()
        _, info = self.drawn({"body_mass": factor(Uniform(1, 2))})
        ratios = info["body_mass"] / own.body_mass[1:]
        assert len(np.unique(ratios.round(12))) == own.nbody - 1
        _, info = self.drawn({"body_mass": shared(factor(Uniform(1, 2)))})
        assert np.ptp(info["body_mass"] / own.body_mass[1:]) < 1e-12
        _, info = self.drawn({"geom_pos[part_*]": shared(offset(Normal([0, 0, 0], 1)))})
        moved = info["geom_pos[part_*]"] - own.geom_pos[own.geom("part_0").id :][:5]
        assert moved.shape == (5, 3)
        assert np.ptp(moved, axis=0).max() < 1e-12
        assert np.ptp(moved[0]) > 0.01

    def test_patterns_and_columns(self):
        own = Rig().model().compile()
        parts = [own.geom(f"part_{i}").id for i in range(5)]
        for key, rows_, columns in (
            ("geom_friction[part_*, 0]", parts, 0),
            ("geom_friction[part_[13], 1:]", [parts[1], parts[3]], slice(1, 3)),
            ("geom_friction[ part_2 , -1 ]", [parts[2]], 2),
            ("geom_friction[part_?]", parts, slice(0, 3)),
        ):
            model, info = self.drawn({key: 0.123})
            expected = own.geom_friction.copy()
            expected[rows_, columns] = 0.123
            assert np.array_equal(model.geom_friction, expected)
            assert info[key].shape == np.shape(expected[rows_, columns])
        model, info = self.drawn({"opt.gravity[2]": -1.0, "opt.wind[0:2]": 3.0})
        assert model.opt.gravity.tolist() == [0, 0, -1]
        assert model.opt.wind.tolist() == [3, 3, 0]
        assert np.shape(info["opt.gravity[2]"]) == ()

    def test_joints_have_as_many_numbers_as_degrees_of_freedom(self):
        model, info = self.drawn({"dof_damping[block]": 0.3, "dof_armature[ball]": Uniform(1, 2)})
        assert info["dof_damping[block]"].shape == (6,)
        assert info["dof_armature[ball]"].shape == (3,)
        start = model.joint("block").dofadr[0]
        assert model.dof_damping[start : start + 6].tolist() == [0.3] * 6

    def test_without_a_pattern_only_what_can_vary(self):
        model, info = self.drawn({"geom_size": factor(2.0), "jnt_range": shared(factor(0.5))})
        own = Rig().model().compile()
        fixed = [own.geom(name).id for name in ("floor", "terrain")]
        grown = np.setdiff1d(np.arange(own.ngeom), fixed)
        assert np.array_equal(model.geom_size[fixed], own.geom_size[fixed])
        assert np.array_equal(model.geom_size[grown], 2 * own.geom_size[grown])
        assert len(info["jnt_range"]) == own.jnt_limited.sum() == 2
        model, _ = self.drawn({"body_pos": offset(1.0)})
        moved = np.flatnonzero((model.body_pos != own.body_pos).any(axis=1))
        assert [model.body(i).name for i in moved] == ["arm", "fore"]

    def test_the_later_of_two_keys_counts(self):
        model, _ = self.drawn({"body_mass": 1.0, "body_mass[arm]": 2.0})
        assert model.body("arm").mass[0] == 2
        assert model.body("fore").mass[0] == 1
        model, _ = self.drawn({"body_mass[arm]": 2.0, "body_mass": 1.0})
        assert model.body("arm").mass[0] == 1

    def test_directions_and_orientations_are_one_long(self):
        model, info = self.drawn({"jnt_axis[hinge]": Uniform(1, 5), "body_quat[arm]": Normal()})
        for value in (model.joint("hinge").axis, model.body("arm").quat):
            assert abs(np.linalg.norm(value) - 1) < 1e-12
        assert np.array_equal(info["jnt_axis[hinge]"][0], model.joint("hinge").axis)

    def test_a_factor_turns_an_orientation_about_its_own_axes(self):
        turn = rotations.About((1, 2, 3), 0.7)
        model, _ = self.drawn({"geom_quat[upper]": factor(turn)})
        own, expected = Rig().model().compile().geom("upper").quat, np.empty(4)
        mujoco.mju_mulQuat(expected, own, turn(np.random.default_rng(0)))
        assert np.abs(model.geom("upper").quat - expected).max() < 1e-15

    def test_meshes_beside_what_grows(self):
        """Of a model with meshes, a batch holds the bounding volumes of the bodies alone."""
        single, batch = (
            make(Meshed(), vary={"geom_size[ball, 0]": Uniform(0.1, 0.5)}, dtype="float64")
            for make in (mjgym.Env, mjgym.VectorEnv)
        )
        assert np.array_equal(single.reset(seed=0)[0], batch.reset(seed=0)[0][0])
        for _ in range(20):
            assert np.array_equal(single.step(np.zeros(0))[0], batch.step(np.zeros((1, 0)))[0][0])
        state = batch.get_state()
        batch.reset(seed=1)
        batch.set_state(state)
        assert np.array_equal(single.step(np.zeros(0))[0], batch.step(np.zeros((1, 0)))[0][0])

    def test_one_episodes_numbers_leave_no_trace_in_the_next(self):
        """A factor of 1 gives the plain model back, whatever the last episode was."""
        vary = {
            key: factor(Sequence([3.0, 1.0]))
            for key in ("body_mass", "geom_size", "site_pos", "cam_pos", "dof_armature", "geom_pos")
        }
        single, batch = rigs(vary, n=2)
        plain = numbers(Rig().model().compile())
        for _ in range(2):
            single.reset(seed=0)
            batch.reset(seed=0)
            assert not np.array_equal(single.model.dof_invweight0, plain["dof_invweight0"])
            single.reset()
            batch.reset()
            assert_same_model(numbers(single.model), plain)
            assert_same_model(rows(batch, 1), plain)

    def test_a_distribution_that_fails_later_says_why(self):
        """What no bounds foretell is refused when it has been drawn."""
        env = mjgym.Env(Rig(), vary={"body_mass[arm]": 1 / Sequence([1.0, -1.0])})
        env.reset(seed=0)
        with pytest.raises(ValueError, match=r"'body_mass\[arm\]' drew -1, .*clip"):
            env.reset()


# --- what is wrong is said at make ---

GRAVITY = "opt.gravity"
WRONG = [
    # a field
    ({"body_maass": 1.0}, ValueError, r"no field 'body_maass'; did you mean body_mass"),
    ({"opt.gravty": 1.0}, ValueError, r"no field 'opt.gravty'; did you mean opt.gravity"),
    ({"gravity": 1.0}, ValueError, r"no field 'gravity'; did you mean opt.gravity"),
    ({"body mass": 1.0}, ValueError, r"'body mass' is not of the form field or field\[name, col"),
    ({"body_mass[": 1.0}, ValueError, r"is not of the form"),
    ({3: 1.0}, ValueError, r"3 is not of the form"),
    # fields that cannot vary
    ({"qpos0": 1.0}, ValueError, r"'qpos0' cannot vary: it belongs to the start"),
    ({"key_qpos": 1.0}, ValueError, r"cannot vary: it belongs to the start"),
    ({"actuator_ctrlrange": 1.0}, ValueError, r"cannot vary: it makes the action space"),
    ({"body_subtreemass": 1.0}, ValueError, r"cannot vary: it follows from other fields"),
    ({"geom_rbound": 1.0}, ValueError, r"cannot vary: it follows from other fields"),
    ({"actuator_acc0": 1.0}, ValueError, r"cannot vary: it follows from other fields"),
    ({"stat.extent": 1.0}, ValueError, r"cannot vary: it follows from other fields"),
    ({"mesh_vert": 1.0}, ValueError, r"cannot vary: all simulations share it"),
    ({"tex_data": 1.0}, ValueError, r"cannot vary: all simulations share it"),
    ({"flex_radius": 1.0}, ValueError, r"cannot vary: deformable bodies are compiled once"),
    ({"opt.iterations": 1.0}, ValueError, r"cannot vary: it chooses how the engine computes"),
    ({"opt.tolerance": 1.0}, ValueError, r"cannot vary: it chooses how the engine computes"),
    ({"wrap_prm": 1.0}, ValueError, r"cannot vary: its rows have no names"),
    ({"geom_user": 1.0}, ValueError, r"cannot vary: no simulation depends on it"),
    ({"cam_intrinsic": 1.0}, ValueError, r"cannot vary: cam_fovy says"),
    ({"geom_type": 1.0}, ValueError, r"cannot vary: it is part of the model's structure"),
    ({"body_parentid": 1.0}, ValueError, r"cannot vary: it is part of the model's structure"),
    ({"jnt_limited": 1.0}, ValueError, r"cannot vary: it is part of the model's structure"),
    # an element
    ({"body_mass[torsoo]": 1.0}, ValueError, r"no body fits 'torsoo'; did you mean torso\?"),
    ({"geom_size[xyz*]": 1.0}, ValueError, r"no geom fits 'xyz\*'; there are floor, torso"),
    (
        {"dof_damping[right_hips]": 1.0},
        ValueError,
        r"no joint fits 'right_hips'; did you mean right_hip",
    ),
    ({"mat_rgba[grass]": 1.0}, ValueError, r"no material fits 'grass'"),
    ({"tendon_damping": 1.0}, ValueError, r"no tendon fits '\*'; there are none"),
    ({"cam_pos[sid]": 1.0}, ValueError, r"no camera fits 'sid'; did you mean side"),
    # a column
    ({"geom_friction[floor, 3]": 1.0}, ValueError, r"no column 3, only 0 to 2"),
    ({"geom_friction[floor, -4]": 1.0}, ValueError, r"no column -4, only 0 to 2"),
    ({"geom_friction[floor, 2:2]": 1.0}, ValueError, r"no column 2:2, only 0 to 2"),
    ({"geom_friction[floor, x]": 1.0}, ValueError, r"'x' is no column; give a number or a range"),
    ({"body_mass[torso, 0]": 1.0}, ValueError, r"body_mass has one number for each element"),
    ({"geom_pos[floor, 0, 1]": 1.0}, ValueError, r"geom_pos has 3 numbers in a row for each"),
    ({"opt.gravity[3]": 1.0}, ValueError, r"opt.gravity has no column 3, only 0 to 2"),
    ({"opt.timestep[0]": 1.0}, ValueError, r"opt.timestep has one number"),
    ({"body_quat[torso, 0]": 1.0}, ValueError, r"varies as a whole; give no column"),
    # an element whose number the engine would not notice
    ({"geom_size[floor]": 1.0}, ValueError, r"geom 'floor' has the size of an asset, or no end"),
    ({"body_mass[world]": 1.0}, ValueError, r"body 'world' is the world"),
    ({"body_gravcomp[torso]": 1.0}, ValueError, r"body 'torso' has none, and without flg_gravcomp"),
    ({"jnt_range[root*]": 1.0}, ValueError, r"joint 'rootz' has no such limits"),
    ({"actuator_forcerange": 1.0}, ValueError, r"actuator 'right_hip' has no such limits"),
    ({"geom_fluid[torso]": 1.0}, ValueError, r"geom 'torso' has no fluid forces of its own"),
    ({"actuator_cranklength": 1.0}, ValueError, r"actuator 'right_hip' has no crank"),
    # a value
    ({"body_mass": "heavy"}, TypeError, r"'body_mass': expected a distribution, .* got 'heavy'"),
    ({"body_mass": None}, TypeError, r"'body_mass': expected a distribution, .* got None"),
    ({"body_mass": {"mean": 1}}, TypeError, r"expected a distribution, factor\(...\), offset"),
    ({"body_mass": Uniform}, TypeError, r"expected a distribution"),
    ({"body_mass[torso]": -1.0}, ValueError, r"can draw -1, which cannot be negative; .clip"),
    ({"body_mass[torso]": Uniform(-0.01, 2)}, ValueError, r"can draw -0.01, which cannot be"),
    ({"body_mass": offset(Uniform(-50, 0))}, ValueError, r"can draw -.*, which cannot be negative"),
    ({"body_mass": factor(Constant(-1))}, ValueError, r"can draw -.*, which cannot be negative"),
    ({"body_mass[torso]": 0.0}, ValueError, r"drew 0, which must be positive"),
    ({"geom_size[torso, 0]": 0.0}, ValueError, r"drew 0, which must be positive"),
    ({"opt.timestep": 0.0}, ValueError, r"'opt.timestep' drew 0, which must be positive"),
    ({"geom_friction[torso]": -0.1}, ValueError, r"can draw -0.1, which cannot be negative"),
    ({"dof_armature": Normal(-9, 0.1)}, ValueError, r"drew -.*, which cannot be negative"),
    ({"body_mass[torso]": np.nan}, ValueError, r"'body_mass\[torso\]' drew what is not finite"),
    ({GRAVITY: [0, 0, -np.inf]}, ValueError, r"'opt.gravity' drew what is not finite"),
    ({"jnt_axis[right_hip]": 0.0}, ValueError, r"drew zeros, which have no direction"),
    ({"jnt_range[right_hip]": [0.2, 0.1]}, ValueError, r"drew a range from 0.2 to 0.1"),
    ({"jnt_range[right_knee, 0]": 5.0}, ValueError, r"right_knee, 0\]' drew a range from 5 to 0"),
    (
        {"jnt_range[right_hip, 0]": 0.2, "jnt_range[right_hip, 1]": 0.1},
        ValueError,
        r"drew a range from 0.2 to 0.1",
    ),
    ({GRAVITY: [0.0, 1.0]}, ValueError, r"'opt.gravity', of shape \(3,\): .*shape"),
    (
        {"body_mass[torso]": (0.5, 1.5)},
        ValueError,
        r"a range is a distribution: Uniform\(0.5, 1.5\)",
    ),
    ({GRAVITY: Choice([[0, 1], [1, 0]])}, ValueError, r"of shape \(3,\): Choice: values of shape"),
    (
        {"body_mass": Uniform(Constant(2), 1)},
        ValueError,
        r"'body_mass', of shape \(7,\): Uniform: low 2 is above high 1",
    ),
    ({"body_mass": colours.Grey(0.5)}, ValueError, r"'body_mass', of shape \(7,\): colours end in"),
    ({"body_quat[torso]": offset(0.1)}, ValueError, r"a rotation turns an orientation.*About"),
    ({"body_quat[torso]": factor(1.1)}, ValueError, r"a rotation turns an orientation.*About"),
    # the argument
    ([("body_mass", 1.0)], TypeError, r'vary: expected a dict by field, or "published", got \['),
    ("body_mass", TypeError, r'or "published", got \'body_mass\''),
]


def test_a_specification_survives_json():
    vary = {
        "body_mass": shared(factor(Uniform(0.5, Normal(1.5, 0.01)))),
        "geom_pos[floor, 2]": offset(-abs(Normal(0, 0.01))),
        "geom_rgba[floor]": colours.HSV(Uniform(), 1, 1),
        "body_quat[torso]": factor(rotations.About((0, 1, 0), Uniform(-0.1, 0.1))),
    }
    env = gymnasium.make("dmc/walker-run-v0", vary=vary)
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    drawn, read = (within(e.reset(seed=3)[1], "variation") for e in (env, again))
    assert drawn.keys() == read.keys() == vary.keys()
    for key in vary:
        np.testing.assert_array_equal(drawn[key], read[key])
    with pytest.raises(TypeError, match="ndarray"):
        gymnasium.make("dmc/walker-run-v0", vary={"body_mass": np.ones(7)}).spec.to_json()


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize(("vary", "error", "words"), WRONG, ids=[str(w[0])[:40] for w in WRONG])
def test_what_is_wrong_is_said_at_make(vary, error, words, make):
    with pytest.raises(error, match=f"vary: .*{words}" if "vary" not in words else words):
        make("dmc/walker-run-v0", vary=vary)


class TestWrongOnTheRig:
    """What the walker has none of."""

    @pytest.mark.parametrize(
        ("vary", "words"),
        [
            ({"hfield_data": 1.5}, "drew 1.5; elevations are fractions of the hfield's height"),
            ({"hfield_data": -0.5}, "can draw -0.5, which cannot be negative"),
            ({"geom_size[terrain]": 1.0}, "geom 'terrain' has the size of an asset"),
            ({"body_pos[hand]": 1.0}, "body 'hand' is placed by mocap_pos and mocap_quat"),
            ({"body_quat[cluster]": 1.0}, "body 'cluster' is placed by its free joint"),
            ({"jnt_axis[ball]": 1.0}, "joint 'ball' is a ball joint, which has none"),
            ({"jnt_pos[marble]": 1.0}, "joint 'marble' is a free joint, which has none"),
            ({"body_ipos[pendant]": 1.0}, "body 'pendant' is held .* simple='false' of the body"),
            ({"geom_fluid[fin, 6]": 1.0}, "geom_fluid has no column 6, only 0 to 5"),
            ({"tendon_range[mix]": 1.0}, "tendon 'mix' has no such limits"),
            ({"geom_adhesion": 1.0}, "has none, and without flg_adhesion in the model"),
            ({"eq_data[pn]": 1.0}, "no equality fits 'pn'; did you mean pin"),
            ({"pair_gap[touched]": 1.0}, "no pair fits 'touched'; did you mean touch"),
            ({"hfield_data[hill]": 1.0}, "no hfield fits 'hill'; did you mean hills"),
            ({"sensor_cutoff[gyr]": 1.0}, "no sensor fits 'gyr'; did you mean gyro"),
            ({"light_pos[lmp]": 1.0}, "no light fits 'lmp'; did you mean lamp"),
        ],
        ids=str,
    )
    def test_is_said_with_the_reason(self, vary, words):
        for make in (mjgym.Env, mjgym.VectorEnv):
            with pytest.raises(ValueError, match=words):
                make(Rig(), vary=vary)

    def test_an_unknown_moment(self):
        with pytest.raises(ValueError, match="vary_every: 'always' is none of episode, reset, nev"):
            gymnasium.make("dmc/walker-run-v0", vary={}, vary_every="always")


# --- pictures ---


@pytest.mark.gl
class TestPictures:
    SEEN = {
        "geom_size[block]": ("still", 0.4),
        "geom_rgba[block]": ("still", colours.RGB(1, 0, 0)),
        "geom_pos[wall]": ("still", offset([-1.0, 0, 0])),
        "geom_pos[block]": ("still", [0.3, 0, 0.3]),  # in whose body's frame it has been
        "mat_rgba[paint]": ("still", [1.0, 0, 0, 1]),
        "light_pos[sun]": ("still", [3.0, -3.0, 1.0]),
        "light_diffuse[sun]": ("still", 0.1),
        "cam_pos[still]": ("still", offset([0, 0, 0.5])),
        "cam_fovy[still]": ("still", 20.0),
        "cam_pos[tracking]": ("tracking", offset([0.5, 0, 0.5])),
        "hfield_data": ("still", Sequence([[0.0] * 8 + [1.0], [1.0, 0.3] + [0.0] * 7])),
    }

    @pytest.mark.parametrize("key", mostly_nightly(SEEN, 6))
    def test_show_what_varies(self, key):
        camera, value = self.SEEN[key]
        single, batch = rigs({key: value}, n=2, width=120, height=90)
        plain = mjgym.Env(Rig(), width=120, height=90)
        for env in (single, batch, plain):
            env.reset(seed=0)
        if key == "hfield_data":
            camera = "hills"
        pictures = [single.camera(camera), plain.camera(camera)]
        batched = batch.camera(camera)
        assert (pictures[0] != pictures[1]).any(axis=-1).mean() > 0.001
        assert np.array_equal(batched[0], pictures[0])
        for env in (single, batch, plain):
            env.close()

    @lane(1, 3)
    def test_each_slot_shows_its_own(self):
        vary = {
            "geom_rgba[block]": colours.HSV(Uniform(), 1, 1),
            "geom_size[block]": Uniform(0.1, 0.5),
        }
        _, batch = rigs(vary, n=3)
        batch.reset(seed=0)
        pictures = batch.camera("still")
        assert len({picture.tobytes() for picture in pictures}) == 3
        batch.reset()
        assert len({p.tobytes() for p in (*pictures, *batch.camera("still"))}) == 6
        batch.close()
