"""Any walker in any arena: descriptions, pairs, rangefinders and eyes, mistakes."""

import json

import gymnasium
import mujoco
import numpy as np
import pytest

from helpers.described import OFFSET, PROMISES, entries
from helpers.lanes import lane, mostly_nightly, mostly_slow
from helpers.places import BENCHMARKS, DATA
from helpers.rollouts import actions_for, equal, row
from helpers.suite import gymnasium_checker
from mjgym import registry
from mjgym.tasks.locomotion.walker_task import EYE
from mjgym.tasks.locomotion.walkers import find_walker

PREFIX = "walker/"  # of all names of a walker that is alone in its scene
IDS = registry.ids(namespace="locomotion")
RODENT_TIMES = {"physics_timestep": 0.001, "control_timestep": 0.02}


@pytest.mark.parametrize("id", mostly_slow(IDS, 4))
def test_an_episode_has_the_published_number_of_steps(id):
    """The published tasks add up their clock until it has reached the limit."""
    env = gymnasium.make(id)
    clock, steps = 0.0, 0
    while clock < env.unwrapped.task.time_limit:
        for _ in range(round(env.unwrapped.control_timestep / env.unwrapped.physics_timestep)):
            clock += env.unwrapped.physics_timestep
        steps += 1
    assert env.spec.max_episode_steps == steps
    assert env.unwrapped.physics_timestep == env.unwrapped.task.physics_timestep


# What environments say of themselves.

CASES = [(id, {}) for id in IDS] + [
    ("locomotion/ant-maze_forage-v0", {"rangefinders": True}),
    ("locomotion/cmu_humanoid-run_walls-v0", {"walker": "cmu_humanoid_2020"}),
    ("locomotion/cmu_humanoid-go_to_target-v0", {"walker": "cmu_humanoid_torque"}),
    ("locomotion/rodent-two_touch-v0", {"walker": "jumping_ball"}),
]


PARAMETERS = [
    pytest.param(
        (id, fields),
        marks=lane(i) if i % 6 or fields else (),
        id=f"{id} {fields or ''}".strip(),
    )
    for i, (id, fields) in enumerate(CASES)
]


@pytest.fixture(scope="module", params=PARAMETERS)
def described(request):
    id, fields = request.param
    env = gymnasium.make(id, dtype="float64", **fields)
    env.reset(seed=0)
    yield env.unwrapped
    env.close()


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
@pytest.mark.slow
def test_descriptions(described, promise):
    promise(described)


def test_entries_are_those_of_the_observation_and_their_names_are_unique(described):
    """A walker without some kind of sensor has an entry of no numbers, as published."""
    observation = described.observe()
    rows = entries(described)
    assert list(rows) == [name for name, value in observation.items() if np.size(value)]
    for entry, found in rows.items():
        names = {row["name"] for row in found}
        assert len(names) == len(found) == np.size(observation[entry]), entry
        assert all(row["meaning"].strip() and "\n" not in row["meaning"] for row in found)


def test_names_and_units_are_right(described):
    """Each number of the observation is the engine's number that its name and source promise."""
    env, rng = described, np.random.default_rng(3)
    model, state = env.model, env.get_state()
    written = {
        "qpos": rng.normal(size=model.nq),
        "qvel": rng.normal(size=model.nv),
        "act": rng.uniform(-1, 1, size=model.na),
    }
    env.set_state({name: x for name, x in written.items() if name in state})
    # In a random pose most sensors of touch read 0: give every sensor a reading of its own. What
    # sensors say of places stays as it is.
    readings = env.data.sensordata.copy()
    for i in range(model.nsensor):
        if model.sensor_type[i] not in PLACE_SENSORS:
            start = model.sensor_adr[i]
            readings[start : start + model.sensor_dim[i]] = rng.uniform(
                -2e-3, 2e-3, model.sensor_dim[i]
            )
    observation = env.set_state({"sensordata": readings})
    for number in env.describe()["observation"]:
        if number["source"] in OF_CLIPS:
            continue
        value = promised(env, number)
        assert observation[number["index"]] == pytest.approx(value, rel=1e-9, abs=1e-12), number


OF_CLIPS = ("clips", "userdata", "time")  # of motions, which have tests of their own
PLACE_SENSORS = (int(mujoco.mjtSensor.mjSENS_FRAMEPOS), int(mujoco.mjtSensor.mjSENS_FRAMEQUAT))
UNITS = {int(mujoco.mjtJoint.mjJNT_HINGE): "rad", int(mujoco.mjtJoint.mjJNT_SLIDE): "m"}
AXES = ("x", "y", "z")


def promised(env, number):
    """What the engine has where the description of a number of the observation points."""
    data, source = env.data, number["source"]
    root = data.body(PREFIX + env.task.creature.root)
    axes = root.xmat.reshape(3, 3)
    name, _, part = number["name"].rpartition(" ")
    if source in ("qpos", "qvel"):
        joint = PREFIX + number["name"]
        assert number["unit"] == UNITS[env.model.joint(joint).type[0]] + "/s" * (source == "qvel")
        return getattr(data.joint(joint), source)[0]
    if source == "act":
        return data.act[env.model.actuator(PREFIX + number["name"]).actadr[0]]
    if source.startswith("tendon "):
        return getattr(data.tendon(PREFIX + number["name"]), source.removeprefix("tendon "))[0]
    if source.startswith("memory "):
        return env.get_state()[source.replace(" ", ".")]
    if number["entry"] == f"{PREFIX}world_zaxis":
        return axes[2, AXES.index(part)]
    if number["entry"] == f"{PREFIX}bodies_quats":
        body = source.removeprefix("sensor ").removesuffix("_ego_body_quat")
        inverse, turn = np.empty(4), np.empty(4)
        mujoco.mju_negQuat(inverse, root.xquat)
        mujoco.mju_mulQuat(turn, inverse, data.body(body).xquat)
        return turn["wxyz".index(part)]
    if source == "body xmat":  # the root as it sees itself
        return 0.0
    if source == "body xpos":
        assert number["frame"] == "world"
        return data.body(PREFIX + name).xpos[AXES.index(part)]
    if source.endswith("_ego_body_pos"):
        body = source.removeprefix("sensor ").removesuffix("_ego_body_pos")
        return ((data.body(body).xpos - root.xpos) @ axes)[AXES.index(part)]
    if offset := OFFSET.fullmatch(source):
        kind, one, other_kind, other = offset.groups()
        way = getattr(data, kind)(one).xpos - getattr(data, other_kind)(other).xpos
        assert number["frame"] == root.name
        return (way @ axes)[AXES.index(part)]
    return _reading(env, number, source.removeprefix("sensor "))


def _reading(env, number, sensor):
    reading = env.data.sensor(sensor).data
    kind = number["entry"].removeprefix(f"{PREFIX}sensors_")
    assert env.model.sensor(sensor).type[0] == getattr(
        mujoco.mjtSensor, f"mjSENS_{kind.upper()}"
    ), number
    if kind == "touch":
        return float(reading[0] > 1e-3)
    if kind == "rangefinder":
        return 10 * np.tanh(reading[0] / 10) if reading[0] >= 0 else 10.0
    value = reading[AXES.index(number["name"][-1])]
    return np.tanh(value / 30) if kind == "torque" else value


RECORDS = {
    "ant": "Ant",
    "cmu_humanoid": "CMUHumanoidPositionControlled",
    "cmu_humanoid_torque": "CMUHumanoid",
    "cmu_humanoid_2020": "CMUHumanoidPositionControlledV2020",
    "jumping_ball": "JumpingBallWithHead",
    "rodent": "Rodent",
    "rolling_ball": "RollingBallWithHead",
}


@pytest.mark.parametrize("walker", RECORDS)
def test_feet_are_the_parts_that_may_touch_the_ground_in_the_record(walker):
    folder = DATA / "locomotion" / "models"
    record = json.loads((folder / f"walker_{RECORDS[walker]}.json").read_text())
    creature = find_walker(walker)
    model = creature.model().compile()
    feet = {model.body(name).id for name in creature.feet}
    on_feet = []
    for i in range(model.ngeom):
        body = model.geom_bodyid[i]
        while body and body not in feet:
            body = model.body_parentid[body]
        if body:
            on_feet.append(model.geom(i).name)
    assert sorted(on_feet) == sorted(record["walker"]["ground_contact_geoms"])


# Any walker in any arena.

WALKERS = (*RECORDS, "helpers.extending.hexapod:Hexapod")
# Each walker and each task once, and a part of the other pairs each day.
PAIRS = [
    pytest.param(id, walker, marks=() if i % len(WALKERS) == j else lane(i + j, 7))
    for i, id in enumerate(
        (
            "locomotion/cmu_humanoid-run_walls-v0",
            "locomotion/cmu_humanoid-run_gaps-v0",
            "locomotion/cmu_humanoid-go_to_target-v0",
            "locomotion/cmu_humanoid-maze_forage-v0",
            "locomotion/cmu_humanoid-heterogeneous_forage-v0",
            "locomotion/rodent-escape_bowl-v0",
            "locomotion/rodent-two_touch-v0",
        )
    )
    for j, walker in enumerate(WALKERS)
]


@pytest.mark.parametrize(("id", "walker"), PAIRS)
def test_any_walker_does_any_task(id, walker):
    rat = {**RODENT_TIMES, "ends_on_fall": False} if walker == "rodent" else {}
    kwargs = {"walker": walker, "dtype": "float64", **rat}
    env = gymnasium.make(id, observation="dict", **kwargs)
    envs = gymnasium.make_vec(id, num_envs=2, observation="dict", **kwargs)
    starts = envs.reset(seed=6)[0]
    assert equal(row(starts, 1), env.reset(seed=7)[0])
    alone = find_walker(walker).model().compile()
    assert env.action_space.shape == (alone.nu,)
    assert env.unwrapped.model.nv - alone.nv == (3 if "ball" in walker else 6)
    for actions in actions_for(envs, 6):
        observations, rewards, terminations, _, info = envs.step(actions)
        assert not info["diverged"].any()
        single = env.step(actions[1])
        assert env.observation_space.contains(single[0])
        assert equal(row(observations, 1), single[0])
        assert (rewards[1], terminations[1]) == single[1:3]
        if terminations.any():
            break
    env.close()
    envs.close()


@pytest.mark.parametrize(
    "arena", mostly_slow(["empty_corridor", "floor", "large_floor", "bowl", "open_maze"], 5)
)
def test_any_arena_holds_a_walker(arena):
    env = gymnasium.make("locomotion/ant-run_walls-v0", arena=arena)
    gymnasium_checker(env)
    env.reset(seed=0)
    for _ in range(20):
        _, _, terminated, _, info = env.step(np.zeros(8))
        assert not terminated
        assert not info["diverged"]
    env.close()


@pytest.mark.parametrize("walker", mostly_slow(["jumping_ball", "ant", "cmu_humanoid"], 3))
def test_a_fall_is_a_contact_of_the_ground_with_anything_but_a_foot(walker):
    """What ends an episode is looked up among the engine's contacts."""
    env = gymnasium.make(
        "locomotion/cmu_humanoid-run_walls-v0",
        walker=walker,
        arena="bowl",
        ends_on_fall=True,
        **RODENT_TIMES,
    )
    base, creature = env.unwrapped, find_walker(walker)
    model, seen = base.model, set()
    feet = {model.body(PREFIX + name).id for name in creature.feet}
    rng = np.random.default_rng(0)
    for episode in range(4):
        env.reset(seed=episode)
        if episode % 2:  # upside down or so, a little above the ground
            qpos = base.data.qpos.copy()
            if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
                qpos[2:7] = qpos[2] + 0.1, *rng.normal(size=4)
            base.set_state({"qpos": qpos})
        for _ in range(25):
            terminated = env.step(rng.uniform(-1, 1, model.nu))[2]
            assert terminated == _fallen(base, feet)
            seen.add(terminated)
            if terminated:
                break
    wanted = {False} if "ball" in walker else {False, True}
    assert seen == wanted


def _fallen(env, feet):
    model = env.model
    grounds = {model.geom(name).id for name in ("ground", "terrain")}
    for pair in env.data.contact.geom:
        for one, other in (pair, pair[::-1]):
            body, on_foot = model.geom_bodyid[other], False
            names = []
            while body:
                on_foot = on_foot or body in feet
                names.append(model.body(body).name)
                body = model.body_parentid[body]
            if one in grounds and PREFIX in names and not on_foot:
                return True
    return False


def test_the_ant_stands_on_the_first_platform():
    env = gymnasium.make("locomotion/ant-run_gaps-v0")
    env.reset(seed=0)
    for _ in range(50):
        env.step(np.zeros(8))
    assert env.unwrapped.data.body("walker/torso").xpos[2] > 0.4


# Rangefinders and eyes.


def test_rangefinders_are_observed_on_request():
    id = "locomotion/ant-run_walls-v0"
    plain = gymnasium.make(id, observation="dict")
    env = gymnasium.make(id, observation="dict", dtype="float64", rangefinders=True)
    key = "walker/sensors_rangefinder"
    assert key not in plain.observation_space.spaces
    assert list(env.observation_space) == [*plain.observation_space, key]
    observation = env.reset(seed=0)[0]
    base = env.unwrapped
    for reading, name in zip(observation[key], base.task.creature.rangefinder, strict=True):
        raw = base.data.sensor(PREFIX + name).data[0]
        assert reading == (10.0 if raw < 0 else pytest.approx(10 * np.tanh(raw / 10), rel=1e-12))
    assert observation[key].min() < 10.0 == observation[key].max()  # some see something, some not
    gymnasium_checker(env)
    envs = gymnasium.make_vec(id, num_envs=3, dtype="float64", rangefinders=True)
    flat = gymnasium.make(id, dtype="float64", rangefinders=True)
    starts = envs.reset(seed=3)[0]
    for i in range(3):
        assert np.array_equal(starts[i], flat.reset(seed=3 + i)[0])


EYES = [
    "locomotion/cmu_humanoid-run_walls-v0",
    "locomotion/rodent-maze_forage-v0",
    "locomotion/ant-escape_bowl-v0",
    "locomotion/rodent-two_touch-v0",
]


@pytest.mark.gl
@pytest.mark.parametrize("id", mostly_nightly(EYES, 4))
def test_a_walker_sees_with_its_own_camera(id):
    env = gymnasium.make(id, observation="dict+pixels", render_quality="fast")
    key = "walker/egocentric_camera"
    assert env.observation_space[key] == gymnasium.spaces.Box(0, 255, (EYE, EYE, 3), np.uint8)
    assert list(env.observation_space)[:-1] == list(
        gymnasium.make(id, observation="dict").observation_space
    )
    picture = env.reset(seed=1)[0][key]
    walker = env.unwrapped.task.creature
    size = {"width": EYE, "height": EYE}
    drawn = env.unwrapped.camera("walker/egocentric", hidden_groups=walker.hidden_groups, **size)
    assert np.array_equal(picture, drawn)
    assert picture.std() > 5
    gymnasium_checker(env)
    env.close()


@lane(2, 3)
@pytest.mark.gl
@pytest.mark.parametrize(
    ("id", "fields"),
    [
        ("locomotion/rodent-run_gaps-v0", {}),
        ("locomotion/cmu_humanoid-run_walls-v0", {"walker": "cmu_humanoid_2020"}),
    ],
)
def test_a_walker_does_not_see_its_own_head(id, fields):
    env = gymnasium.make(id, render_quality="fast", **fields)
    env.reset(seed=0)
    base = env.unwrapped
    hidden = base.task.creature.hidden_groups
    size = {"width": EYE, "height": EYE}

    def seen(groups):
        picture = base.camera(
            "walker/egocentric", kind="segmentation", hidden_groups=groups, **size
        )
        ids, kinds = picture[..., 0], picture[..., 1]
        shown = set(ids[kinds == mujoco.mjtObj.mjOBJ_GEOM].tolist())
        return {i for i in shown if base.model.geom_group[i] in hidden}

    assert seen(())
    assert not seen(hidden)
    assert not np.array_equal(
        base.camera("walker/egocentric", hidden_groups=hidden, **size),
        base.camera("walker/egocentric", **size),
    )
    env.close()


@pytest.mark.gl
@pytest.mark.parametrize("id", mostly_nightly(EYES, 4))
def test_pictures_of_a_batch_equal_those_of_single_envs(id):
    kwargs = {"observation": "dict+pixels", "render_quality": "fast", "max_episode_steps": 3}
    envs = gymnasium.make_vec(id, num_envs=3, **kwargs)
    singles = [gymnasium.make(id, **kwargs) for _ in range(3)]
    observations = envs.reset(seed=0)[0]
    for i, env in enumerate(singles):
        assert equal(row(observations, i), env.reset(seed=i)[0])
    pictures = observations["walker/egocentric_camera"]
    assert len({picture.tobytes() for picture in pictures}) == 3  # each in a scene of its own
    for k, actions in enumerate(actions_for(envs, 5)):
        observations = envs.step(actions)[0]
        for i, env in enumerate(singles):
            single = env.reset()[0] if k == 3 else env.step(actions[i])[0]
            assert equal(row(observations, i), single)
    for each in (envs, *singles):
        each.close()


@pytest.mark.gl
def test_eyes_can_be_closed():
    id = "locomotion/rolling_ball-run_walls-v0"
    env = gymnasium.make(id, observation="dict+pixels", sees=False)
    assert "walker/egocentric_camera" not in env.observation_space.spaces
    assert env.observation_space["pixels"].shape == (84, 84, 3)
    plain = gymnasium.make(id, observation="dict")
    assert "walker/egocentric_camera" not in plain.observation_space.spaces
    alone = gymnasium.make(id, observation="pixels")
    assert alone.observation_space == gymnasium.spaces.Box(0, 255, (EYE, EYE, 3), np.uint8)


# Mistakes.


@pytest.mark.parametrize("make", [gymnasium.make, lambda i, **k: gymnasium.make_vec(i, 2, **k)])
@pytest.mark.parametrize(
    ("id", "kwargs", "words"),
    [
        ("cmu_humanoid-run_walls", {"walker": "antt"}, "walker: no 'antt'.*ant"),
        ("cmu_humanoid-run_walls", {"walker": "cmu_humanoid_2002"}, "cmu_humanoid_2020"),
        ("cmu_humanoid-run_walls", {"arena": "wals"}, "arena: no 'wals'.*walls"),
        ("cmu_humanoid-run_walls", {"arena": "forest"}, "arena: no 'forest'.*bowl.*walls"),
        ("ant-maze_forage", {"arena": "walls"}, "arena: 'walls' is no maze.*open_maze"),
        ("rodent-run_gaps", {"rangefinders": True}, "rangefinders: .*'rodent' has no.*ant"),
        ("ant-run_walls", {"walker": "json:Nothing"}, "walker: 'json:Nothing' cannot be imported"),
        ("ant-run_walls", {"walker": "json:JSONEncoder"}, "'json:JSONEncoder' is no Walker"),
        ("ant-run_walls", {"arena": "json:JSONEncoder"}, "'json:JSONEncoder' is no Arena"),
        ("ant-run_walls", {"control_timestep": 0.032}, "whole number of physics timesteps"),
    ],
)
def test_mistakes_name_the_nearest(make, id, kwargs, words):
    with pytest.raises(ValueError, match=words):
        make(f"locomotion/{id}-v0", **kwargs)


# The benchmark; nothing here is timed.


def test_the_benchmark_compares_what_there_is(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import locomotion

    assert set(locomotion.MODULES) <= set(IDS)
    with pytest.raises(SystemExit) as stop:
        locomotion.command.chosen(["locomotion/ant-run_walls-v0"], list(locomotion.MODULES))
    assert stop.value.code == 2
    assert "locomotion/rodent-run_gaps-v0" in capsys.readouterr().err
