"""Joystick tasks against recorded control steps of MuJoCo Playground, and their draws."""

import mujoco
import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.legged_records import Errors, Placed, assert_noise, assert_options, model_facts, record
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.tasks.legged import humanoid_joystick, quadruped_joystick
from mjgym.tasks.legged.humanoid_joystick import HumanoidJoystick
from mjgym.tasks.legged.quadruped_joystick import QuadrupedJoystick

BOUND = 1e-5
TASKS = {"go1": QuadrupedJoystick, "g1": HumanoidJoystick}
# Recorded sensors by ours.
SENSORS = {
    "go1": {
        "local_linvel": "local_linvel", "gyro": "gyro", "global_angvel": "global_angvel",
        "upvector": "upvector", "global_linvel": "global_linvel",
        "accelerometer": "accelerometer",
    },
    "g1": {
        "local_linvel": "local_linvel_pelvis", "gyro": "gyro_pelvis",
        "global_angvel": "global_angvel_pelvis", "upvector": "upvector_torso",
        "global_linvel": "global_linvel_pelvis", "torso_linvel": "global_linvel_torso",
        "torso_angvel": "global_angvel_torso", "accelerometer": "accelerometer_pelvis",
        "left_foot_force": "left_foot_force", "right_foot_force": "right_foot_force",
        "feet": "right_foot_left_foot_found",
        "left_hand_thigh": "left_hand_left_thigh_found",
        "right_hand_thigh": "right_hand_right_thigh_found",
    },
}  # fmt: skip


class Replayed(Placed):
    """A task in Playground's recorded states."""

    def __init__(self, robot, **fields):
        super().__init__(TASKS[robot](**fields))
        self.record = record(f"playground_{robot}")
        self.robot = self.task.body
        sites = self.record.meta["site_names"]
        self.imu = sites.index(self.robot.imu)
        self.feet = [sites.index(foot) for foot in self.robot.feet]

    def recorded_sensors(self, when, t, i):
        """What our sensors should show, by name."""
        z = self.record
        readings = z[f"{when}/sensordata"][t, i]
        known = {ours: z.sensor(readings, name) for ours, name in SENSORS[self.task.robot].items()}
        known["gravity"] = z[f"{when}/site_xmat"][t, i, self.imu, 2]
        for foot, site in zip(self.robot.feet, self.feet, strict=True):
            known[f"{foot}_velocity"] = z.sensor(readings, f"{foot}_global_linvel")
            known[f"{foot}_position"] = z[f"{when}/site_xpos"][t, i, site]
            known[f"{foot}_floor"] = z.sensor(readings, f"{foot}_floor_found")
        return known

    def take_step(self, t, i):
        """Go to where rewards are computed, and to their memory."""
        z, steps = self.record, self.task.physics_steps
        self.stand(z["rew/qpos"][t, i], z["rew/qvel"][t, i])
        for name, readings in self.recorded_sensors("rew", t, i).items():
            if name in self.task._watched:
                self.overwrite_past(name, np.tile(readings, (steps, 1)))
            else:
                self.data.sensor(name).data[:] = readings
        self.data.actuator_force[:] = z["rew/actuator_force"][t, i]
        self.data.qacc[:] = z["rew/qacc"][t, i]
        self.remember(
            action=z["action"][t, i],
            last_act=z["pre/last_act"][t, i],
            air_time=z["pre/feet_air_time"][t, i],
            swing_peak=z["pre/swing_peak"][t, i],
            last_contact=z["pre/last_contact"][t, i],
            command=z["pre/command"][t, i],
            **self.counted(t, i),
        )

    def counted(self, t, i):
        """The memory of commands and gait before a step."""
        z = self.record
        if self.task.robot == "go1":
            return {"steps_left": z["pre/steps_until_next_cmd"][t, i], "number": 0.0}
        self.data.userdata[0] = z["pre/phase_dt"][t, i, 0] / (2 * np.pi * 0.02)
        return {"phase": z["pre/phase"][t, i], "held": z["pre/step"][t, i], "number": 0.0}


@pytest.fixture(scope="module", params=TASKS)
def replayed(request):
    return Replayed(request.param)


# The model.


def test_the_model_is_the_recorded_one(replayed):
    model, facts = replayed.model, model_facts(f"{replayed.task.robot}_playground")
    assert_options(model, facts)
    assert facts["option"]["disableflags"]["names"] == ["mjDSBL_EULERDAMP"]
    assert model.opt.disableflags == mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    for recorded in facts["joints"][1:]:
        joint = model.joint(recorded["name"])
        for ours, name in (("range", "range"), ("damping", "damping"), ("armature", "armature"),
                           ("frictionloss", "frictionloss")):  # fmt: skip
            assert np.allclose(getattr(joint, ours), recorded[name], rtol=0, atol=1e-9), name
        limited = model.jnt_actfrclimited[joint.id]
        assert limited == recorded["actfrclimited"]
        if limited:
            assert np.array_equal(model.jnt_actfrcrange[joint.id], recorded["actuatorfrcrange"])
    for i, recorded in enumerate(facts["actuators"]):
        ours = model.actuator(i)
        assert model.joint(ours.trnid[0]).name == recorded["joint"]
        for field in ("gainprm", "biasprm", "ctrlrange", "ctrllimited", "forcelimited"):
            assert np.allclose(getattr(ours, field), recorded[field], rtol=0, atol=1e-9), field
        if recorded["forcelimited"]:
            assert np.array_equal(ours.forcerange, recorded["forcerange"])
    assert model.npair == len(facts["pairs"])


def contacts(geoms):
    """Numbers of the shapes that touch, sorted."""
    return sorted(tuple(np.round(np.concatenate([np.ravel(x) for x in g]), 6)) for g in geoms)


def test_what_touches_is_the_recorded(replayed):
    model, facts = replayed.model, model_facts(f"{replayed.task.robot}_playground")
    paired = {name for pair in facts["pairs"] for name in (pair["geom1"], pair["geom2"])}
    fields = ("size", "pos", "friction", "solref", "solimp", "condim", "priority", "contype",
              "conaffinity")  # fmt: skip
    expected = [
        [np.array(g[field], float) for field in fields]
        for g in facts["geoms"]
        if g["contype"] or g["conaffinity"] or g["name"] in paired
    ]
    ours_paired = {*model.pair_geom1.tolist(), *model.pair_geom2.tolist()}
    ours = [
        [getattr(model.geom(i), field) for field in fields]
        for i in range(model.ngeom)
        if model.geom_contype[i] or model.geom_conaffinity[i] or i in ours_paired
    ]
    assert contacts(ours) == contacts(expected)
    frictions = sorted(tuple(pair["friction"]) for pair in facts["pairs"])
    assert sorted(map(tuple, model.pair_friction.tolist())) == frictions
    assert sorted(model.pair_dim.tolist()) == sorted(pair["condim"] for pair in facts["pairs"])


def test_poses_and_soft_limits_are_the_recorded_ones(replayed):
    meta, task = replayed.record.meta, replayed.task
    assert np.abs(np.array(task.rest) - meta["default_pose"]).max() < 1e-7
    assert abs(task.height - meta["init_qpos"][2]) < 1e-7
    assert list(replayed.robot.joints) == meta["joint_names"][1:]
    limits = np.array([meta["soft_lowers"], meta["soft_uppers"]])
    assert np.abs(task.soft_limits() - limits).max() < 1e-6


def test_sensors_of_a_start_show_the_recorded(replayed):
    """Afterwards the recorded ones are of the state before the last physics step."""
    z, errors = replayed.record, Errors()
    for i in range(z.environments):
        replayed.stand(z["data/qpos"][0, i], z["data/qvel"][0, i])
        for name, recorded in replayed.recorded_sensors("data", 0, i).items():
            readings = recorded
            ours = replayed.data.sensor(name).data
            if replayed.model.sensor(name).type == mujoco.mjtSensor.mjSENS_CONTACT:
                ours, readings = ours > 0, readings > 0
            if name not in ("accelerometer", "left_foot_force", "right_foot_force"):  # the solver's
                errors.note(name, ours, readings)
    assert errors.beyond(BOUND) == {}
    assert {"gyro", "gravity", "upvector"} < errors.keys()


# Rewards, ends, memory.


def test_weights_are_the_recorded_ones(replayed):
    recorded = replayed.record.meta["config"]["reward_config"]["scales"]
    assert {name: getattr(replayed.task, name) for name in recorded} == recorded


def test_terms_and_rewards_are_the_recorded_ones(replayed):
    z, errors = replayed.record, Errors()
    for t, i in z.rows():
        replayed.take_step(t, i)
        terms = replayed.task.terms(replayed.view)
        for name, term in terms.items():
            recorded = z[f"metrics/reward/{name}"][t, i]
            errors.note(name, getattr(replayed.task, name) * term, recorded)
        errors.note("reward", replayed.task.reward(terms), z["reward"][t, i])
    assert errors.beyond(BOUND) == {}
    counted = [name for name in errors if name != "reward" and z[f"metrics/reward/{name}"].any()]
    assert len(counted) >= 13


@pytest.mark.slow
def test_terms_without_weight_have_the_published_formulae():
    """Playground records them as zeros; these are the formulae on what it did record."""
    names = ("lin_vel_z", "base_height", "torques", "action_rate", "energy", "dof_acc",
             "feet_clearance", "feet_height", "alive")  # fmt: skip
    g1 = Replayed("g1", **dict.fromkeys(names, 1.0))
    z, errors = g1.record, Errors()
    for t, i in z.rows():
        g1.take_step(t, i)
        terms = g1.task.terms(g1.view)
        seen = g1.recorded_sensors("rew", t, i)
        torque, speed = z["rew/actuator_force"][t, i], z["rew/qvel"][t, i, 6:]
        height = np.array([seen[f"{side}_foot_position"][2] for side in ("left", "right")])
        velocity = np.array([seen[f"{side}_foot_velocity"][:2] for side in ("left", "right")])
        on = np.array([seen[f"{side}_foot_floor"][0] > 0 for side in ("left", "right")])
        first = (z["pre/feet_air_time"][t, i] > 0) & (on | (z["pre/last_contact"][t, i] > 0))
        peak = np.maximum(z["pre/swing_peak"][t, i], height)
        expected = {
            "lin_vel_z": seen["torso_linvel"][2] ** 2 + seen["global_linvel"][2] ** 2,
            "base_height": (z["rew/qpos"][t, i, 2] - 0.5) ** 2,
            "torques": np.abs(torque).sum(),
            "action_rate": ((z["action"][t, i] - z["pre/last_act"][t, i]) ** 2).sum(),
            "energy": (np.abs(torque) * np.abs(speed)).sum(),
            "dof_acc": (z["rew/qacc"][t, i, 6:] ** 2).sum(),
            "feet_clearance": (
                np.abs(height - 0.15) * np.sqrt(np.hypot(velocity[:, 0], velocity[:, 1]))
            ).sum(),
            "feet_height": ((peak / 0.15 - 1) ** 2 * first).sum(),
            "alive": 1.0,
        }
        for name, value in expected.items():
            errors.note(name, terms[name] / max(1.0, abs(value)), value / max(1.0, abs(value)))
    assert errors.beyond(1e-9) == {}


def test_episodes_end_where_the_recorded_ones_do(replayed):
    z = replayed.record
    fell = 0
    for t, i in z.rows():
        replayed.take_step(t, i)
        fallen = bool(replayed.task.terminated(replayed.view))
        late = z["pre/steps"][t, i] + 1 >= replayed.task.episode_steps()
        begun = t > 0 and z["rew/done"][t - 1, i]  # the counter of the episode before
        assert (fallen or bool(late and not begun)) == bool(z["rew/done"][t, i])
        fell += fallen
    assert fell >= 1


def test_memory_after_a_step_is_the_recorded_one(replayed):
    z, task, errors = replayed.record, replayed.task, Errors()
    for t, i in z.rows():
        replayed.take_step(t, i)
        replayed.remember(**{k: np.asarray(x) for k, x in task.update(replayed.view).items()})
        replayed.remember(**task.before_step(replayed.view, np.zeros(len(task.rest))))
        m = replayed.view.memory  # of the next step
        for ours, name in (
            ("air_time", "feet_air_time"), ("swing_peak", "swing_peak"),
            ("last_contact", "last_contact"), ("last_act", "last_act"),
        ):  # fmt: skip
            errors.note(name, m[ours], z[f"info/{name}"][t + 1, i])
        if task.robot == "g1":
            turn = m["phase"] - z["info/phase"][t + 1, i]
            errors.note("phase", (turn + np.pi) % (2 * np.pi) - np.pi, np.zeros(2))
            if not z["rew/done"][t, i]:
                errors.note("held", m["held"], z["info/step"][t + 1, i])
            redrawn = z["pre/step"][t, i] + 1 > humanoid_joystick.HOLD
        else:
            redrawn = z["pre/steps_until_next_cmd"][t, i] - 1 <= 0
            if not redrawn and not z["rew/done"][t, i]:
                left = z["info/steps_until_next_cmd"][t + 1, i]
                errors.note("steps_left", m["steps_left"], left)
        if not redrawn:
            errors.note("command", m["command"], z["info/command"][t + 1, i])
        assert m["number"] == redrawn
    assert errors.beyond(BOUND) == {}


# Observations.


@pytest.mark.parametrize("robot", TASKS)
@pytest.mark.parametrize("privileged", mostly_slow([False, True], 2))
def test_observations_are_the_recorded_ones(robot, privileged):
    replayed = Replayed(robot, privileged=privileged)
    z, task, errors = replayed.record, replayed.task, Errors()
    state = {
        "go1": ("local_linvel", "gyro", "gravity", "joint_pos", "joint_vel", "last_act", "command"),
        "g1": ("local_linvel", "gyro", "gravity", "command", "joint_pos", "joint_vel", "last_act",
               "phase"),
    }[robot]  # fmt: skip
    hidden = {
        "go1": ("gyro", "accelerometer", "gravity", "local_linvel", "global_angvel", "joint_pos",
                "joint_vel", "actuator_force", "last_contact", "feet_vel", "feet_air_time"),
        "g1": ("gyro", "accelerometer", "gravity", "local_linvel", "global_angvel", "joint_pos",
               "joint_vel", "root_height", "actuator_force", "contact", "feet_vel",
               "feet_air_time"),
    }[robot]  # fmt: skip
    for t, i in z.rows():
        if z["rew/done"][t, i]:
            continue  # the observation is that of the first start
        replayed.take_step(t, i)
        replayed.remember(**task.update(replayed.view))
        entries = {name: np.ravel(x) for name, x in task.observation(replayed.view).items()}
        ours = np.concatenate([entries[name] for name in state])
        assert tuple(entries)[: len(state)] == state
        errors.note("state", ours, z["obs/state"][t + 1, i])
        if privileged:
            assert set(entries) == {*state, *hidden}
            ours = np.concatenate([ours, *(entries[name] for name in hidden)])
            whole = z["obs/privileged_state"][t + 1, i]
            errors.note("privileged", ours, whole[: ours.size])
            assert not whole[ours.size :].any()  # pushes, which are off
            assert whole.size - ours.size == (4 if robot == "go1" else 0)
    assert errors.beyond(BOUND) == {}


# Control steps.


@pytest.mark.parametrize(("robot", "median"), [("go1", 1e-6), ("g1", 1e-3)])
def test_a_control_step_leads_near_the_recorded_one(robot, median):
    """Two engines stop far from convergence after so few iterations: large errors are rare."""
    replayed = Replayed(robot)
    env, z, errors = replayed.env, replayed.record, []
    for t, i in z.rows():
        env.set_state({name: z[f"pre/{name}"][t, i] for name in ("qpos", "qvel", "qacc_warmstart")})
        env.step(z["action"][t, i])
        assert np.abs(env.data.ctrl - z["rew/ctrl"][t, i]).max() < 1e-6
        errors.append(np.abs(env.data.qpos - z["rew/qpos"][t, i]).max())
    assert np.median(errors) < median
    assert max(errors) < 0.1


# Draws.


@pytest.mark.slow
def test_a_given_command_is_kept(replayed):
    env = Env(TASKS[replayed.task.robot](command=(0.5, -0.2, 0.3)), observation="dict")
    observation, _ = env.reset(seed=1)
    action = np.zeros(env.action_space.shape)
    for _ in range(600):
        assert np.allclose(observation["command"], [0.5, -0.2, 0.3])
        observation, *_ = env.step(action)


def test_a_quadruped_is_commanded_as_published():
    envs = VectorEnv(QuadrupedJoystick(), num_envs=300)
    envs.reset(seed=0)
    drawn = envs.get_state()["userdata"]
    first, rows = drawn[:, :3], drawn[:, 3:].reshape(-1, quadruped_joystick.COLUMNS)
    for column, largest in enumerate((1.5, 0.8, 1.2)):
        for values in (first[:, column], rows[:, 1 + column]):
            assert 0.95 * largest < np.abs(values).max() <= largest
            assert abs(values.mean()) < 0.12 * largest
    assert np.allclose(rows[:, 4:7].mean(axis=0), [0.9, 0.25, 0.5], rtol=0, atol=0.02)
    assert np.allclose(rows[:, 7:].mean(axis=0), 0.5, rtol=0, atol=0.02)
    assert abs(rows[:, 0].mean() - 250) < 10  # control steps
    assert abs(rows[:, 0].std() - 250) < 15
    envs.close()


def test_a_change_of_a_quadrupeds_command_is_the_published_one():
    env = Env(QuadrupedJoystick(), observation="dict", dtype="float64")
    env.reset(seed=0)
    state = env.get_state()
    change = np.array([1.0, 0.5, 0.6, 0.7, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    state["userdata"][3:13] = change
    state["userdata"][13:23] = [40.0, *change[1:]]
    env.set_state({**state, "memory.change": change, "memory.steps_left": np.array(1.0)})
    before = env.get_state()["memory.command"]
    observation, *_ = env.step(np.zeros(12))
    assert np.array_equal(observation["command"], before)  # that of the reward
    assert env.get_state()["memory.steps_left"] == 40
    observation, *_ = env.step(np.zeros(12))
    assert np.array_equal(observation["command"], [0.5, 0.0, before[2]])


def test_a_humanoid_is_commanded_as_published():
    envs = VectorEnv(HumanoidJoystick(), num_envs=300)
    envs.reset(seed=0)
    drawn = envs.get_state()["userdata"]
    assert 1.25 <= drawn[:, 0].min() < 1.26
    assert 1.49 < drawn[:, 0].max() <= 1.5
    rows = drawn[:, 1:].reshape(-1, 3)
    still = ~rows.any(axis=1)
    assert abs(still.mean() - 0.1) < 0.02
    for column, largest in enumerate((1.0, 0.5, 1.0)):
        values = rows[~still, column]
        assert 0.98 * largest < np.abs(values).max() <= largest
        assert abs(values.mean()) < 0.05 * largest
    envs.close()


def test_starts_are_drawn_as_published(replayed):
    envs = VectorEnv(TASKS[replayed.task.robot](), num_envs=200)
    envs.reset(seed=0)
    state, rest = envs.get_state(), np.array(envs.task.rest)
    qpos, qvel = state["qpos"], state["qvel"]
    assert 0.45 < np.abs(qpos[:, :2]).max() < 0.5
    assert np.array_equal(qpos[:, 2], np.full(200, envs.task.height))
    assert np.ptp(2 * np.arctan2(qpos[:, 6], qpos[:, 3])) > 6
    assert 0.45 < np.abs(qvel[:, :6]).max() < 0.5
    assert not qvel[:, 6:].any()
    bent = qpos[:, 7:][:, rest != 0] / rest[rest != 0]
    if replayed.task.robot == "g1":
        assert 0.5 <= bent.min() < 0.51
        assert 1.49 < bent.max() <= 1.5
    else:
        assert np.array_equal(bent, np.ones_like(bent))
    envs.close()


# Randomization, which is off by default.


@pytest.mark.slow
def test_published_variations_are_drawn(replayed):
    task, model = replayed.task, replayed.model
    envs = VectorEnv(task, num_envs=200, vary="published")
    _, info = envs.reset(seed=0)
    low, high = {"go1": (0.9, 1.1), "g1": (0.5, 2.0)}[task.robot]
    factors = {
        "dof_frictionloss": (model.dof_frictionloss[6:], low, high),
        "dof_armature": (model.dof_armature[6:], 1.0, 1.05),
    }
    for name, (nominal, low, high) in factors.items():
        drawn = info[f"variation/{name}"][:, 6:] / nominal
        margin = 0.01 * (high - low)
        assert low <= drawn.min() < low + margin
        assert high - margin < drawn.max() <= high + 1e-12
    mass = info[f"variation/body_mass[{task.body.trunk}]"] / model.body(task.body.trunk).mass
    assert 0.9 - 1 / 5 < mass.min() < mass.max() < 1.1 + 1 / 5
    assert np.ptp(mass) > 0.2
    friction = info[
        {"go1": "variation/geom_friction[floor, 0]",
         "g1": "variation/pair_friction[*_foot_floor, :2]"}[task.robot]
    ]  # fmt: skip
    assert 0.4 <= friction.min() < 0.42
    assert 0.98 < friction.max() <= 1.0
    envs.close()


@pytest.mark.slow
def test_noise_is_the_published_one(replayed):
    made = TASKS[replayed.task.robot]
    scales = replayed.record.meta["config"]["noise_config"]["scales"]
    largest = {("local_linvel" if name == "linvel" else name): x for name, x in scales.items()}
    assert_noise(made(noise=True), made(), largest)


# Fields.


def test_a_robot_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"robot G1 has 29 joints and 2 feet.*three joints each"):
        QuadrupedJoystick(robot="g1")
    with pytest.raises(ValueError, match=r"robot Go1 has no 'left_hip_roll_joint'.*G1"):
        HumanoidJoystick(robot="go1")
