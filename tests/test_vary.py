"""The keyword argument `vary`: equal to compiled models, single and batched, seeded, restored."""

import copy
import pickle
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from mujoco.batch import MODEL_FIELDS
from test_vector import actions_for, equal

import mjgym
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
    <body name="ball" pos="5 -0.5 0.35"><freejoint name="marble"/><geom name="marble" size="0.1"/></body>
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

    time_limit, control_timestep = 1.0, 0.01  # s

    def model(self):
        return mujoco.MjSpec.from_string(RIG)

    def initialize(self, v, rng):
        v.qvel = 0.3 * rng.normal(size=v.qvel.shape)

    def observation(self, v):
        return {"qpos": v.qpos.copy(), "qvel": v.qvel.copy(), "sensors": v.sensordata.copy()}

    def terms(self, v):
        return {"height": v.body("fore").xpos[..., 2], "mass": v.body("fore").mass[..., 0]}


def rigs(vary, n=3, **kwargs):
    """A single environment and a batch."""
    kwargs = {"dtype": "float64", "vary": vary, **kwargs}
    return mjgym.Env(Rig(), **kwargs), mjgym.VectorEnv(Rig(), n, **kwargs)


def numbers(model):
    found = {name: np.array(get_field(model, name)) for name in MODEL_FIELDS}
    return {**found, "hfield_data": model.hfield_data.copy()}


def rows(envs, i):
    """The numbers of a batch's simulation by name, where it has its own."""
    return {name: values[i] for name, values in envs._simulations.episode_fields.items()}


# --- equal to a compiled model ---


def explicit(spec):
    """A spec whose bodies state the mass and inertia that the compiler gave them."""
    model = spec.compile()
    for body in spec.bodies[1:]:
        body.explicitinertial = True
        body.mass, body.inertia = model.body_mass[body.id], model.body_inertia[body.id]
        body.ipos, body.iquat = model.body_ipos[body.id], model.body_iquat[body.id]
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


def assert_same_boxes(ours, compiled):
    """Of all geoms and bodies; and in our tree, which branches as before, each box holds its own.

    A box without an end (a plane's) is held to what its size can resolve.
    """
    for mine, theirs in zip(boxes(ours), boxes(compiled), strict=True):
        assert mine.keys() == theirs.keys()
        for key, box in mine.items():
            assert np.allclose(corners(box), corners(theirs[key]), rtol=1e-13, atol=1e-13), key
    for body, start in enumerate(ours["body_bvhadr"]):
        for node in range(start, start + ours["body_bvhnum"][body]):
            if ours["bvh_nodeid"][node] < 0:
                low, high = np.split(corners(ours["bvh_aabb"][node]), 2)
                parts = [ours["bvh_aabb"][start + child] for child in ours["bvh_child"][node]]
                lows, highs = zip(*(np.split(corners(p), 2) for p in parts), strict=True)
                assert np.allclose(low, np.min(lows, axis=0), rtol=1e-13, atol=1e-13)
                assert np.allclose(high, np.max(highs, axis=0), rtol=1e-13, atol=1e-13)


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
    "jnt_solimp[hinge, 0]": (0.5, True),
    "jnt_margin[hinge]": (0.1, True),
    "jnt_actfrcrange[hinge]": ([-0.1, 0.1], True),
    "dof_armature[block]": (0.1, True),
    "dof_armature[slide]": (0.1, True),
    "dof_damping[hinge]": (0.7, True),
    "dof_dampingpoly[hinge, 0]": (0.7, True),
    "dof_frictionloss[hinge]": (0.7, True),
    "geom_size[upper, 0:2]": ([0.1, 1.5], True),
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
    "geom_friction[marble, 0]": (0.05, True),
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
    @pytest.mark.parametrize("key", EQUAL)
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

    @pytest.mark.parametrize("key", EQUAL)
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
        fallen = gymnasium.make  # free fall, for comparison
        del fallen
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
        heights = batch._simulations.episode_fields["hfield_data"]
        assert np.array_equal(heights[0], np.float32(np.linspace(0, 1, 9)))
        assert np.array_equal(heights[1], np.float32(np.linspace(1, 0, 9)))
        single.reset(seed=1)
        single.reset()
        for actions in actions_for(batch, 30):
            assert np.array_equal(batch.step(actions)[0][1], single.step(actions[1])[0])
        heights = batch._simulations.episode_fields["hfield_data"]
        assert not np.array_equal(heights[0], heights[1])

    def test_what_the_task_varies_itself_the_task_decides(self):
        """`initialize` runs after the draw, so its own terrain counts; `info` tells the draw."""
        kwargs = {"dtype": "float64", "vary": {"hfield_data": 0.5}}
        env = gymnasium.make("dmc/quadruped-escape-v0", **kwargs)
        plain = gymnasium.make("dmc/quadruped-escape-v0", dtype="float64")
        start, info = env.reset(seed=0)
        assert np.array_equal(start, plain.reset(seed=0)[0])
        assert (info["variation"]["hfield_data"] == 0.5).all()
        ours, theirs = env.unwrapped.model.hfield_data, plain.unwrapped.model.hfield_data
        assert np.array_equal(ours, theirs)
