"""Velocity tracking against recorded control steps of mjlab, and the draws of its commands."""

from math import pi

import numpy as np
import pytest

from helpers.lanes import mostly_nightly, mostly_slow
from helpers.legged_records import Errors, Placed, assert_noise, assert_options, model_facts, record
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.task import registrations
from mjgym.tasks.dmc.pendulum import Pendulum
from mjgym.tasks.legged import servos, velocity
from mjgym.tasks.legged.rough import RoughVelocity
from mjgym.tasks.legged.velocity import COLUMNS, COMMANDS, HELD, TERMS, Velocity

BOUND = 1e-5
ROBOTS = ("go1", "g1")
CASES = (*ROBOTS, "go1_rough", "g1_rough")  # recordings; those on rough ground lack the ground
TOUCHING = ("shank_collision", "trunk_head_collision")
TIMES = ("air_time", "contact_time", "last_air_time", "last_contact_time")


def published(case, **fields):
    """The registered task with other fields."""
    robot, _, rough = case.partition("_")
    registration = registrations[f"legged/{robot}-velocity{rough and '-rough'}-v0"]
    cls = RoughVelocity if rough else Velocity
    return cls(**{**registration.fields, **fields})


class Replayed(Placed):
    """A task in mjlab's recorded states."""

    def __init__(self, case, **fields):
        super().__init__(published(case, **fields))
        self.record = record(f"mjlab_{case}")
        self.rough = case.endswith("rough")
        self.robot = self.task.body
        contacts = [n for n in self.record.meta["sensors"] if n.startswith("feet_ground_contact")]
        self.found = [name for name in contacts if name.endswith("_found")]
        self.force = [name for name in contacts if name.endswith("_force")]

    def control(self, t, i):
        """The recorded targets in the order of the joints."""
        order = [self.record.meta["ctrl_joints"].index(name) for name in self.robot.joints]
        return self.record["rew/ctrl"][t, i][order]

    def take_step(self, t, i, *, overwrite=True):
        """Go to where rewards are computed, and to their memory.

        With `overwrite`, contacts and forces are the recorded ones: they are the solver's.
        """
        z = self.record
        middle = [(z["sub/qpos"][t, k, i], z["sub/qvel"][t, k, i]) for k in range(4)]
        start = (z["pre/qpos"][t, i], z["pre/qvel"][t, i])
        self.play([start, *middle], self.control(t, i))
        if overwrite:
            self._overwrite_contacts(t, i)
        self.remember(
            action=z["rew/action"][t, i],
            last_action=z["rew/prev_action"][t, i],
            heights=z["rew/heights"][t, i],
            peaks=z["rew/peak_heights"][t, i],
            **{name: z[f"mem/{key(name)}"][t, i] for name in TIMES},
            **self.commanded(t, i),
        )
        if self.rough:
            self.remember(
                hits=z["rew/scan_hit_pos"][t, i],
                origin=z["mem/env_origins"][t, i],
                level=z["mem/terrain_levels"][t, i],
            )

    def _overwrite_contacts(self, t, i):
        z = self.record
        readings = z["sub/sensordata"][t, :, i]
        for foot, found, force in zip(self.robot.feet, self.found, self.force, strict=True):
            self.overwrite_past(f"{foot}_found", z.sensor(readings, found))
            self.overwrite_past(f"{foot}_force", z.sensor(readings, force))
        if self.task.self_collisions:
            history = z["rew/self_collision_force_history"][t, i, 0]
            self.overwrite_past(servos.ITSELF, history[::-1])  # the newest is recorded first
        if not self.rough:
            return
        for part, geoms in (("thigh", self.robot.thighs), ("shank", self.robot.shanks),
                            ("trunk", self.robot.torso)):  # fmt: skip
            for k, geom in enumerate(geoms):
                history = z[f"rew/{part}_ground_touch_force_history"][t, i, k]
                self.overwrite_past(f"{geom}_touch", history[::-1])

    def commanded(self, t, i):
        """The memory of the command before a step; the next one is its own."""
        z = self.record
        drawn = np.zeros(COLUMNS)
        drawn[:3] = z["pre/command"][t, i]
        drawn[3:6] = (
            z["pre/heading_target"][t, i], z["pre/is_heading"][t, i], z["pre/is_standing"][t, i]
        )  # fmt: skip
        following = np.zeros(COLUMNS)
        following[:3] = z["cmd/command"][t + 1, i]
        following[3:] = (
            z["cmd/heading_target"][t + 1, i], z["cmd/is_heading"][t + 1, i],
            z["cmd/is_standing"][t + 1, i], z["cmd/time_left"][t + 1, i],
        )  # fmt: skip
        self.data.userdata[COLUMNS : 2 * COLUMNS] = following
        return {
            "number": 0.0,
            "drawn": drawn,
            "left": z["pre/time_left"][t, i],
            "command": z["pre/command"][t, i],
        }


def key(name):
    """How a recording names the memory of contacts."""
    return name if name.startswith("last_") else f"current_{name}"


def ended(z, t, i):
    return z["terminated"][t, i] or z["truncated"][t, i]


@pytest.fixture(scope="module", params=mostly_slow(CASES, ROBOTS))
def replayed(request):
    return Replayed(request.param)


@pytest.fixture(scope="module", params=ROBOTS)
def replayed_flat(request):
    return Replayed(request.param)


# The model.


def test_the_model_is_the_recorded_one(replayed):
    model, facts = replayed.model, model_facts(replayed.task.robot)
    assert_options(model, facts)
    assert model.opt.disableflags == facts["option"]["disableflags"]["value"] == 0
    assert np.array_equal(model.opt.gravity, facts["option"]["gravity"])
    for recorded in facts["actuators"]:
        ours = model.actuator(recorded["joint"])
        for field in ("gainprm", "biasprm", "forcerange", "gear"):
            assert np.allclose(getattr(ours, field), recorded[field], rtol=1e-8, atol=0), field
        assert ours.forcelimited[0] == 1
        assert ours.ctrllimited[0] == 0
    assert model.nu == len(facts["actuators"])
    assert not model.jnt_actfrclimited.any()


def test_scales_and_soft_limits_are_the_recorded_ones(replayed):
    meta, ours = replayed.record.meta, servos.servos_of(replayed.robot)
    assert list(replayed.robot.joints) == meta["action_joints"] == meta["joint_names"]
    assert np.abs(ours.scale - meta["action_scale"]).max() < 1e-7
    limits = np.stack([ours.lower, ours.upper], axis=-1)
    assert np.abs(limits - meta["soft_joint_pos_limits"]).max() < 1e-6
    for name, spread in (("standing", replayed.robot.standing), ("walking", replayed.robot.walking),
                         ("running", replayed.robot.running)):  # fmt: skip
        assert np.abs(np.array(spread) - meta["pose_std"][f"std_{name}"]).max() < 1e-7


# Rewards, ends, memory.


def test_weights_are_the_recorded_ones(replayed):
    ours = {name: getattr(replayed.task, name, 0) for name in (*TERMS, *TOUCHING)}
    recorded = replayed.record.meta["weights"]
    assert {n: w for n, w in ours.items() if w} == {n: w for n, w in recorded.items() if w}


def test_terms_and_rewards_are_the_recorded_ones(replayed):
    z, errors = replayed.record, Errors()
    for t, i in z.rows():
        replayed.take_step(t, i)
        terms = replayed.task.terms(replayed.view)
        for name, term in terms.items():
            weight = z.meta["weights"][name]
            errors.note(name, weight * term, z[f"terms/{name}"][t, i])
        errors.note("reward", replayed.task.reward(terms), z["reward"][t, i])
    assert errors.beyond(BOUND) == {}
    counted = {name for name in errors if name == "reward" or np.any(z[f"terms/{name}"])}
    assert len(counted) >= 10


@pytest.mark.parametrize("robot", mostly_slow(CASES, 4))
def test_terms_without_weight_are_the_recorded_ones(robot):
    unweighted = Replayed(robot, body_ang_vel=1.0, angular_momentum=1.0, air_time=1.0)
    z, errors = unweighted.record, Errors()
    names = [name for name in TERMS if f"raw/{name}" in z and not z.meta["weights"][name]]
    assert set(names) <= {"body_ang_vel", "angular_momentum", "air_time"}
    for t, i in z.rows():
        unweighted.take_step(t, i)
        terms = unweighted.task.terms(unweighted.view)
        for name in names:
            recorded = z[f"raw/{name}"][t, i]
            scale = max(1.0, abs(recorded))
            errors.note(name, terms[name] / scale, recorded / scale)
    assert errors.beyond(BOUND) == {}
    assert all(np.any(z[f"raw/{name}"]) for name in names)
    assert names


def test_episodes_end_where_the_recorded_ones_do(replayed):
    z, task = replayed.record, replayed.task
    for t, i in z.rows():
        replayed.take_step(t, i)
        assert not np.any(task.truncated(replayed.view))  # none has left the ground
        assert bool(replayed.task.terminated(replayed.view)) == z["terminated"][t, i]
    assert z["terminated"].any()
    # The environment handles the time limit.
    assert np.array_equal(z["truncated"], z["rew/episode_length"] >= replayed.task.episode_steps())


def test_memory_and_commands_after_a_step_are_the_recorded_ones(replayed):
    z, errors = replayed.record, Errors()
    redrawn = headed = 0
    for t, i in z.rows():
        replayed.take_step(t, i)
        after = replayed.task.update(replayed.view)
        for name in TIMES:
            errors.note(name, after[name], z[f"rew/{key(name)}"][t, i])
        errors.note("peaks", after["peaks"], z["mem/peak_heights"][t + 1, i])
        if replayed.rough and ended(z, t, i):
            level = min(after["next_level"], z["mem/terrain_levels"].max())
            errors.note("level", level, z["mem/terrain_levels"][t + 1, i])
        if ended(z, t, i):
            continue
        if not replayed.rough:
            errors.note("heights", after["heights"], z["mem/heights"][t + 1, i])
        errors.note("command", after["command"], z["cmd/command"][t + 1, i])
        errors.note("left", after["left"], z["cmd/time_left"][t + 1, i])
        redrawn += int(after["number"] == 1)
        headed += int(after["drawn"][velocity.HEADS] > 0)
    assert errors.beyond(BOUND) == {}
    assert redrawn >= 1
    assert headed > 10


# Observations.


def bias_of(z, i):
    return np.array(z.meta["encoder_bias"][i])


@pytest.mark.parametrize("robot", mostly_slow(CASES, 4))
@pytest.mark.parametrize("group", ["actor", "critic"])
def test_observations_are_the_recorded_ones(robot, group):
    biased = group == "actor"  # the critic sees the true joints
    placed = Replayed(robot, privileged=not biased, encoder_bias=0.015 if biased else 0.0)
    z, errors = placed.record, Errors()
    names, dims = z.meta["obs_terms"][group], z.meta["obs_dims"][group]
    for t in range(z.steps + 1):
        for i in range(z.environments):
            placed.stand(z["data/qpos"][t, i], z["data/qvel"][t, i])
            if biased:
                bias, first = bias_of(z, i), COMMANDS * COLUMNS
                placed.data.userdata[first : first + len(bias)] = bias
            for k, foot in enumerate(placed.robot.feet):
                placed.data.sensor(f"{foot}_found").data[:] = z["mem/found"][t, i, k]
                placed.data.sensor(f"{foot}_force").data[:] = z["mem/force"][t, i, k]
            placed.remember(
                action=z["mem/action"][t, i],
                command=z["cmd/command"][t, i],
                heights=z["mem/heights"][t, i],
                air_time=z["mem/current_air_time"][t, i],
            )
            if placed.rough:
                placed.remember(hits=z["mem/scan_hit_pos"][t, i])
            entries = placed.task.observation(placed.view)
            assert list(entries) == names
            first = 0
            for name, dim in zip(names, dims, strict=True):
                size = int(np.prod(dim))
                recorded = z[f"obs/{group}"][t, i, first : first + size]
                errors.note(name, np.ravel(entries[name]), recorded)
                first += size
            assert first == z[f"obs/{group}"].shape[-1]
    assert errors.beyond(BOUND) == {}


# Control steps.


@pytest.mark.parametrize(("robot", "close"), mostly_slow([("go1", 1e-5), ("g1", 1e-4)], 2))
def test_an_environment_goes_through_the_recorded_steps(robot, close):
    """All at once, single and batched: physics, readings, rewards, ends, memory."""
    placed = Replayed(robot, encoder_bias=0.015)
    env, z, errors = placed.env, placed.record, Errors()
    envs = VectorEnv(placed.task, num_envs=2, observation="dict", dtype="float64")
    envs.reset(seed=0)
    for t, i in z.rows():
        memory = {
            "action": z["rew/prev_action"][t, i],
            "heights": z["rew/heights"][t, i],
            "peaks": z["rew/peak_heights"][t, i],
            **{name: z[f"mem/{key(name)}"][t, i] for name in TIMES},
            **placed.commanded(t, i),
        }
        userdata = placed.data.userdata.copy()
        userdata[COMMANDS * COLUMNS :] = bias_of(z, i)
        state = {name: z[f"pre/{name}"][t, i] for name in ("qpos", "qvel", "qacc_warmstart")}
        state |= {f"memory.{name}": np.asarray(x, dtype=float) for name, x in memory.items()}
        state["userdata"] = userdata
        env.set_state(state)
        observation, reward, terminated, _, info = env.step(z["action"][t, i])
        errors.note("qpos", env.data.qpos, z["rew/qpos"][t, i])
        errors.note("qvel", env.data.qvel / 100, z["rew/qvel"][t, i] / 100)
        errors.note("ctrl", env.data.ctrl, placed.control(t, i))
        envs.set_state({name: np.stack([x, x]) for name, x in state.items()})
        observations, rewards, *_ = envs.step(np.stack([z["action"][t, i]] * 2))
        assert rewards.tolist() == [reward, reward]
        assert all(np.array_equal(observations[name][1], x) for name, x in observation.items())
        assert terminated == z["terminated"][t, i]
        errors.note("reward", reward, z["reward"][t, i])
        for name in placed.task.terms(env.view):
            ours = z.meta["weights"][name] * info[f"terms/{name}"]
            errors.note(name, ours / 100, z[f"terms/{name}"][t, i] / 100)
        if not ended(z, t, i):
            ours = np.concatenate([np.ravel(x) for x in observation.values()])
            errors.note("observation", ours / 100, z["obs/actor"][t + 1, i] / 100)
    assert errors.beyond(close) == {}
    envs.close()


# Commands.


def test_commands_are_drawn_as_published():
    rng = np.random.default_rng(0)
    task = published("go1")
    drawn = np.concatenate([task._draw_commands(rng, task.command_ranges) for _ in range(500)])
    forward = (drawn[:, velocity.VY] == 0) & (drawn[:, velocity.WZ] == 0)
    others = drawn[~forward]
    assert abs(forward.mean() - 0.2) < 0.02
    assert abs(drawn[:, velocity.HEADS].mean() - 0.3) < 0.02
    assert abs(drawn[:, velocity.STANDS].mean() - 0.1) < 0.02
    assert drawn[forward, velocity.VX].min() >= 0.3
    assert (drawn[forward, velocity.VX] == 0.3).mean() == pytest.approx(0.3, abs=0.03)
    for column, low, high in ((velocity.VX, -1, 1), (velocity.VY, -1, 1), (velocity.WZ, -0.5, 0.5),
                              (velocity.TARGET, -pi, pi), (HELD, 3, 8)):  # fmt: skip
        found = others[:, column]
        assert low <= found.min() < low + 0.01 * (high - low)
        assert high >= found.max() > high - 0.01 * (high - low)
        assert abs(found.mean() - (low + high) / 2) < 0.03 * (high - low)


def test_a_given_command_is_kept():
    env = Env(published("go1", command=(0.5, -0.2, 0.3)), observation="dict", dtype="float64")
    observation, _ = env.reset(seed=1)
    for _ in range(450):  # longer than commands are held
        assert np.array_equal(observation["command"], [0.5, -0.2, 0.3])
        observation, *_ = env.step(np.zeros(12))
    assert env.get_state()["memory.number"] >= 1


def test_starts_are_drawn_as_published():
    envs = VectorEnv(published("go1", encoder_bias=0.015), num_envs=200)
    envs.reset(seed=0)
    state = envs.get_state()
    qpos = state["qpos"]
    assert np.abs(qpos[:, :2]).max() < 0.5
    assert np.abs(qpos[:, :2]).max() > 0.45
    assert qpos[:, 2].min() >= 0.278 + 0.01
    assert qpos[:, 2].max() <= 0.278 + 0.05
    assert np.array_equal(qpos[:, 7:], np.tile(envs.task.body.pose, (200, 1)))
    assert not state["qvel"].any()
    assert np.ptp(2 * np.arctan2(qpos[:, 6], qpos[:, 3])) > 6
    biases = state["userdata"][:, COMMANDS * COLUMNS :]
    assert np.abs(biases).max() < 0.015
    assert np.abs(biases).max() > 0.014
    envs.close()


# The curriculum of commands.


def ranges_of(envs):
    """Lowest and highest numbers of all drawn commands that neither stand nor go straight ahead."""
    drawn = envs.get_state()["userdata"][:, : COMMANDS * COLUMNS].reshape(-1, COLUMNS)
    free = drawn[drawn[:, velocity.VY] != 0]
    return np.stack([free[:, :3].min(axis=0), free[:, :3].max(axis=0)], axis=-1)


@pytest.mark.parametrize("case", mostly_slow(["go1", "go1_rough"], 2))
def test_ranges_of_commands_grow_as_recorded_in_the_settings(case):
    """An environment counts its control steps over episodes, until it is seeded."""
    envs = VectorEnv(
        published(case, command_curriculum=True), num_envs=60, max_episode_steps=3,
        autoreset_mode="SameStep",
    )  # fmt: skip
    envs.reset(seed=0)
    stages = (
        (0, ((-1, 1), (-1, 1), (-0.5, 0.5))),
        (119_999, ((-1, 1), (-1, 1), (-0.5, 0.5))),
        (120_000, ((-1.5, 2), (-1, 1), (-0.7, 0.7))),
        (239_999, ((-1.5, 2), (-1, 1), (-0.7, 0.7))),
        (240_000, ((-2, 3), (-1, 1), (-0.7, 0.7))),
    )
    action = np.zeros((60, 12))
    for steps, wanted in stages:
        if steps:
            envs.set_state({"memory.steps": np.full(60, steps - 3.0)})
            for _ in range(3):
                *_, truncations, _ = envs.step(action)
            assert truncations.all()
            assert (envs.get_state()["memory.steps"] == steps).all()
        found = ranges_of(envs)
        assert (np.abs(found - wanted) < 0.02 * np.ptp(wanted, axis=1)[:, None]).all(), steps
        assert (np.abs(found) <= np.abs(wanted)).all()
    envs.reset(seed=1)
    assert (envs.get_state()["memory.steps"] == 0).all()
    assert np.abs(ranges_of(envs)[0]).max() <= 1
    assert envs.task.command_ranges == ((-2, 3), (-1, 1), (-0.7, 0.7))
    envs.close()


def test_headings_turn_at_the_rate_of_the_stage():
    env = Env(published("go1", command_curriculum=True), observation="dict", dtype="float64")
    env.reset(seed=0)
    for largest in (0.5, 0.7):
        state = env.get_state()
        state["userdata"][-2:] = -largest, largest
        row = np.zeros(COLUMNS)
        row[[velocity.TARGET, velocity.HEADS]] = 3.0, 1.0
        turned = {"qpos": np.array([0, 0, 0.3, 1, 0, 0, 0, *env.task.body.pose])}
        env.set_state({**state, **turned, "memory.drawn": row})
        observation, *_ = env.step(np.zeros(12))
        assert observation["command"][2] == largest


# Fields.


def test_a_range_goes_from_low_to_high():
    with pytest.raises(ValueError, match=r"lin_vel_y: a range from low to high, got \(1.0, -1.0\)"):
        Velocity(lin_vel_y=(1.0, -1.0))
    with pytest.raises(ValueError, match=r"encoder_bias: at least 0, got -0\.1"):
        Velocity(encoder_bias=-0.1)


# Events, which are off by default.


@pytest.mark.slow
def test_pushes_change_the_velocity_of_the_root_in_world_axes():
    env = Env(published("go1", pushes=True), observation="dict", dtype="float64")
    env.reset(seed=0)
    state = env.get_state()
    first = COMMANDS * COLUMNS
    shove = np.array([0.4, -0.3, 0.2, 0.1, -0.2, 0.5])
    state["userdata"][first : first + 14] = [0.5, *shove, 1.5, *shove]
    turned = np.array([np.cos(np.pi / 4), 0.0, 0.0, np.sin(np.pi / 4)])  # a quarter to the left
    state["qpos"][3:7] = turned
    env.set_state({**state, "memory.push_left": np.array(0.0)})
    before = env.data.qvel[:6].copy()
    entries = env.task.before_step(env.view, np.zeros(12))
    change = entries["qvel"][:6] - before
    assert np.allclose(change[:3], shove[:3])
    assert np.allclose(change[3:], [shove[4], -shove[3], shove[5]])  # in the root's axes
    assert np.array_equal(entries["qvel"][6:], env.data.qvel[6:])
    assert entries["push_number"] == 1
    assert entries["push_left"] == 1.5 - 0.02
    env.set_state({**state, "memory.push_left": np.array(0.1)})
    entries = env.task.before_step(env.view, np.zeros(12))
    assert np.array_equal(entries["qvel"], env.data.qvel)
    assert entries["push_number"] == 0


@pytest.mark.slow
def test_pushes_are_drawn_as_published():
    envs = VectorEnv(published("g1", pushes=True), num_envs=100)
    envs.reset(seed=0)
    rows = envs.get_state()["userdata"][:, COMMANDS * COLUMNS :].reshape(-1, 7)
    assert len(rows) == 2000
    assert 1 <= rows[:, 0].min() < 1.02
    assert 2.98 < rows[:, 0].max() <= 3
    for column, largest in enumerate((0.5, 0.5, 0.4, 0.52, 0.52, 0.78), start=1):
        assert 0.99 * largest < np.abs(rows[:, column]).max() <= largest
        assert abs(rows[:, column].mean()) < 0.05 * largest
    envs.close()


@pytest.mark.slow
def test_published_variations_are_those_of_the_settings(replayed_flat):
    """Of the centre of mass and of friction; mjlab draws them once for each environment."""
    task, model = replayed_flat.task, replayed_flat.model
    envs = VectorEnv(task, num_envs=300, vary="published", vary_every="never")
    _, info = envs.reset(seed=0)
    trunk = model.body(task.body.trunk)
    for axis, largest in enumerate((0.025, 0.025, 0.03)):
        shift = info[f"variation/body_ipos[{task.body.trunk}, {axis}]"] - trunk.ipos[axis]
        assert 0.98 * largest < np.abs(shift).max() <= largest
    sliding = info["variation/geom_friction[*_foot*, 0]"]
    assert sliding.shape == (300, 4 if task.robot == "go1" else 14)
    assert not np.ptp(sliding, axis=1).any()  # the same for all feet
    high = 1.5 if task.robot == "go1" else 1.2
    assert 0.3 <= sliding.min() < 0.32
    assert high - 0.02 < sliding.max() <= high
    if task.robot == "go1":
        for column, low, high in ((1, 1e-4, 2e-2), (2, 1e-5, 5e-3)):
            drawn = info[f"variation/geom_friction[*_foot*, {column}]"]
            assert low <= drawn.min() < 1.1 * low
            assert 0.9 * high < drawn.max() <= high
            assert np.median(drawn) == pytest.approx(np.sqrt(low * high), rel=0.5)
    envs.close()


@pytest.mark.parametrize("case", mostly_nightly(CASES, 4))
def test_noise_is_the_published_one(case):
    largest = {"base_lin_vel": 0.5, "base_ang_vel": 0.2, "projected_gravity": 0.05,
               "joint_pos": 0.01, "joint_vel": 1.5, "height_scan": 0.02}  # fmt: skip
    assert_noise(published(case, noise=True), published(case), largest)


def test_published_variations_are_refused_where_there_are_none():
    with pytest.raises(ValueError, match=r'vary: Pendulum has no "published" variations'):
        Env(Pendulum(), vary="published")


# What `info` says.


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_commands_are_in_the_info_of_a_batch(mode):
    task = published("go1", time_limit=0.1)
    envs = VectorEnv(task, num_envs=3, observation="dict", dtype="float64", autoreset_mode=mode)
    observation, info = envs.reset(seed=0)
    for _ in range(12):
        assert np.array_equal(info["command"], observation["command"])
        assert info["_command"].all()
        observation, _, _, truncated, info = envs.step(np.zeros((3, 12)))
        if truncated.any() and mode == "SameStep":
            last = info["final_obs"][0]["command"]
            assert np.array_equal(info["final_info"]["command"][0], last)
        if truncated.any() and mode == "Disabled":
            observation, info = envs.reset(options={"reset_mask": truncated})
    envs.close()
