"""What environments say of themselves: every number has a name, and the name is the right one."""

import dataclasses
import json
import re
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

from helpers.described import OFFSET, PROMISES, entries, names
from helpers.lanes import mostly_nightly
from helpers.suite import IDS, OF_DOMAINS, TASKS
from mjgym.envs.env import Env
from mjgym.task import Signal, Task

CASES = [(id, {}) for id in IDS] + [
    ("dmc/cartpole-balance-v0", {"poles": 5}),
    ("dmc/humanoid-stand-v0", {"pure_state": True}),
    ("dmc/lqr-lqr_2_1-v0", {"masses": 4, "actuators": 3}),
    ("dmc/manipulator-insert_peg-v0", {"fully_observable": False}),
    ("dmc/stacker-stack_2-v0", {"boxes": 3}),
    ("dmc/stacker-stack_2-v0", {"fully_observable": False}),
    ("dmc/swimmer-swimmer6-v0", {"links": 3}),
    ("dmc/dog-run-v0", {"observe_reward_factors": True}),
]


PARAMETERS = mostly_nightly([(case,) for case in CASES], quick=[((id, {}),) for id in OF_DOMAINS])


@pytest.fixture(
    scope="module", params=PARAMETERS, ids=lambda case: f"{case[0]} {case[1] or ''}".strip()
)
def env(request):
    id, fields = request.param
    env = gymnasium.make(id, dtype="float64", **fields)
    env.reset(seed=0)
    yield env.unwrapped
    env.close()


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_what_is_described(env, promise):
    promise(env)


def test_entries_are_those_of_the_observation_and_their_names_are_unique(env):
    observation = env.observe()
    described = entries(env)
    assert list(described) == list(observation)
    for entry, rows in described.items():
        assert len(rows) == np.size(observation[entry])
        names = [row["name"] for row in rows]
        assert len(set(names)) == len(names), entry


# Which number of a joint the last words of a name mean; a hinge or a slide has only one.
PARTS = {
    "qpos": ("x", "y", "z", *(f"quaternion {part}" for part in "wxyz")),
    "qvel": ("x", "y", "z", "about x", "about y", "about z"),
}
AXES = ("x", "y", "z")
ANGLES = {"sine of ": np.sin, "cosine of ": np.cos}
FUNCTIONS = {"ln": np.log1p, "arcsinh": np.arcsinh, "tanh": np.tanh}
SENSOR = re.compile(r"sensor (\S+)")


def expected(env, row):
    """The number of the engine's that the row's name and source promise; None if they name none."""
    model, data = env.model, env.data
    source, frame = row["source"], row["frame"]
    prefix = next((prefix for prefix in ANGLES if row["name"].startswith(prefix)), "")
    element, _, part = row["name"].removeprefix(prefix).partition(" ")

    if source in PARTS:
        value = getattr(data.joint(element), source)
        index = PARTS[source].index(part) if len(value) > 1 else 0
        return ANGLES[prefix](value[index]) if prefix else value[index]
    if source == "act":
        return data.act[model.actuator(element).actadr[0]]
    if match := SENSOR.fullmatch(source):
        return _reading(env, row, match[1], element)
    if source == "body xmat" and prefix:  # of the angle to the vertical
        return data.body(element).xmat[2 if prefix == "sine of " else 8]
    if source == "body xmat" and element == "vertical":
        return data.body(frame).xmat[6 + AXES.index(part[-1])]
    if source == "body xquat":
        return data.body(element).xquat["wxyz".index(part.removeprefix("quaternion "))]
    if source == "body xpos" and frame == "world":
        return data.body(element).xpos[AXES.index(part)]
    if (match := OFFSET.fullmatch(source)) and part in AXES:
        assert element in (match[2], "origin"), row
        end, start = getattr(data, match[1])(match[2]), getattr(data, match[3])(match[4])
        kind = next(k for k in ("body", "geom", "site") if frame in names(model, k))
        axes = getattr(data, kind)(frame).xmat.reshape(3, 3)
        return ((end.xpos - start.xpos) @ axes)[AXES.index(part)]
    return None


def _reading(env, row, sensor, element):
    """What the row says of a sensor: a component of its reading, or a function of it."""
    value = env.data.sensor(sensor).data
    if len(value) == 1:
        assert row["name"] == sensor, row
        (value,) = value
    else:
        value = value[AXES.index(row["name"][-1])]
        on, bodies = env.model.sensor(sensor), names(env.model, "body")
        if on.objtype == mujoco.mjtObj.mjOBJ_SITE and element != sensor and element in bodies:
            body = env.model.site_bodyid[on.objid[0]]  # the one that the sensor sits on
            assert env.model.body(body).name == element, row
    function, inside, _ = row["unit"].partition("(")
    if function == "tanh" and value == -1:  # a range finder that sees nothing
        return 1.0
    return FUNCTIONS[function](value) if inside else value


def test_names_and_sources_are_right(env):
    rng = np.random.default_rng(3)
    model, task_state = env.model, env.get_state()
    state = {
        "qpos": rng.normal(size=model.nq),
        "qvel": rng.normal(size=model.nv),
        "act": rng.uniform(-1, 1, size=model.na),
    }
    observation = env.set_state({name: x for name, x in state.items() if name in task_state})
    rows = env.describe()["observation"]
    checked = 0
    for row in rows:
        value = expected(env, row)
        if row["source"] in (*PARTS, "act") or SENSOR.fullmatch(row["source"]):
            assert value is not None, row
        if value is not None:
            checked += 1
            assert observation[row["index"]] == pytest.approx(value, rel=1e-12, abs=1e-12), row
    assert checked >= 0.9 * len(rows)

    # In a random pose most sensors of touch read 0: give every sensor a reading of its own.
    readings = rng.uniform(0.1, 1.0, size=model.nsensordata)
    finders = model.sensor_adr[model.sensor_type == mujoco.mjtSensor.mjSENS_RANGEFINDER]
    readings[finders[::2]] = -1
    observation = env.set_state({"sensordata": readings})
    for row in rows:
        if SENSOR.fullmatch(row["source"]):
            assert observation[row["index"]] == pytest.approx(expected(env, row), rel=1e-12), row


@pytest.mark.parametrize("id", mostly_nightly(IDS, quick=4))
def test_described_entries_have_the_published_shapes(id):
    published = TASKS[id.removeprefix("dmc/").removesuffix("-v0")]["observation"]
    described = entries(gymnasium.make(id).unwrapped)
    assert {entry: len(rows) for entry, rows in described.items()} == {
        entry: int(np.prod(shape)) for entry, shape in published.items()
    }


SLIDER = """
<mujoco>
  <worldbody>
    <body name="block">
      <joint name="rail" type="slide" axis="1 0 0"/>
      <geom type="box" size=".1 .1 .1"/>
    </body>
  </worldbody>
  <actuator><motor joint="rail" gear="3" ctrllimited="true" ctrlrange="-2 1"/></actuator>
</mujoco>
"""


@dataclasses.dataclass(frozen=True)
class Undescribed(Task):
    """Push a block.

    It has neither signals nor paragraphs on reward and start.
    """

    weight: float = 1.0
    goal: float = 0.5  # m

    time_limit = 1.0
    control_timestep = 0.002

    def model(self):
        return mujoco.MjSpec.from_string(SLIDER)

    def observation(self, v):
        return {
            "place": v.body("block").xpos[..., 0].copy(),
            "state": np.concatenate([v.qpos, v.qvel], axis=-1),
            "rotation": v.body("block").xmat.reshape(*v.lead, 3, 3).copy(),
        }

    def terms(self, v):
        return {"near": self.weight - abs(v.qpos[..., 0] - self.goal)}


class PartlyDescribed(Undescribed):
    def labels(self, v):
        return {"state": Signal("place and speed", ("", "speed"), source=("", "the joint's qvel"))}


def test_a_task_that_states_nothing_gets_labels_from_its_observation():
    described = Env(Undescribed()).describe()
    rows = described["observation"]
    assert [row["index"] for row in rows] == list(range(12))
    assert [(row["name"], row["unit"], row["frame"], row["source"]) for row in rows[:3]] == [
        ("block x", "m", "world", "body xpos"),
        ("rail", "m", "world", "qpos"),
        ("rail velocity", "m/s", "world", "qvel"),
    ]
    assert [row["name"] for row in rows[3:6]] == ["block xx", "block xy", "block xz"]
    assert {row["source"] for row in rows[3:]} == {"body xmat"}
    assert {row["meaning"] for row in rows} == {""}
    (action,) = described["action"]
    assert (action["name"], action["source"]) == ("rail", "joint rail")
    assert (action["low"], action["high"]) == (-2, 1)
    assert (action["unit"], action["gear"]) == ("N", 3)
    assert described["id"] is None
    assert described["summary"] == "Push a block."
    assert described["reward"] == described["start"] == ""
    comments = {row["name"]: row["comment"] for row in described["arguments"]}
    assert {name: comments[name] for name in ("weight", "goal")} == {"weight": "", "goal": "m"}
    lines = Path(described["file"]).read_text().splitlines()
    assert Path(described["file"]) == Path(__file__)
    assert lines[described["line"] - 1] in (
        "@dataclasses.dataclass(frozen=True)",
        "class Undescribed(Task):",
    )
    assert json.loads(json.dumps(described)) == described


def test_a_signal_has_a_unit_and_a_source_for_each_name():
    for wrong in (
        {"unit": ("m",)},
        {"unit": "m", "frame": ("",)},
        {"unit": "m", "source": ("qpos",) * 3},
    ):
        with pytest.raises(ValueError, match=r"for 2 names"):
            Signal(meaning="two numbers", names=("a", "b"), **wrong)
