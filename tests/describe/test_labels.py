"""Labels are derived from the observation itself, and say what was once written by hand."""

import dataclasses
import gzip
import json

import gymnasium
import mujoco
import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from helpers.places import DATA
from mjgym.describe.labels import LabelView, signals
from mjgym.rotations import to_local
from mjgym.sim import Single
from mjgym.task import Signal, Task, registrations
from mjgym.task.models import compile_model
from mjgym.util.docstrings import NAMED, meanings, paragraphs

# Names, units, frames and sources of all numbers, which once were stated by hand.
RECORDED = json.loads(gzip.decompress((DATA / "labels.json.gz").read_bytes()))
FIELDS = ("entry", "name", "unit", "frame", "source")


@pytest.mark.parametrize("id", mostly_nightly(sorted(RECORDED["ids"]), 7, 8))
def test_labels_are_the_recorded_ones(id):
    described = gymnasium.make(id).unwrapped.describe()["observation"]
    labels = [[row[field] for field in FIELDS] for row in described]
    assert labels == RECORDED["rows"][RECORDED["ids"][id]]
    assert all(row["meaning"].strip() for row in described)


SUITE = sorted({r.task_class for r in registrations.values() if r.id.startswith("dmc/")}, key=str)


@pytest.mark.parametrize(
    "cls", mostly_nightly(SUITE, quick=4), ids=lambda cls: f"{cls.__module__}.{cls.__name__}"
)
def test_docstrings_name_exactly_the_entries(cls):
    """Those of every registered task, and of what its switches add."""
    fields = {f.name for f in dataclasses.fields(cls)}
    entries = set()
    for registered in registrations.values():
        if registered.task_class is not cls:
            continue
        task = cls(**registered.fields)
        switches = [f for f in fields if isinstance(getattr(task, f), bool)]
        for changed in [{}, *({f: not getattr(task, f)} for f in switches)]:
            simulation = Single(compile_model(dataclasses.replace(task, **changed)))
            simulation.forward()
            entries |= dataclasses.replace(task, **changed).observation(simulation.view).keys()
    said = {name for text in paragraphs(cls, "Observation") for name in NAMED.findall(text)}
    assert said - fields == entries


def test_meanings_are_what_the_docstring_says_of_an_entry():
    class Base(Task):
        """Do something.

        Observation: `height` of the torso (m); `touch`, ln(1 + force in N; see `scale`) on toe
        and heel.
        """

    class Own(Base):
        """Do more.

        Observation: as of every task, then `arm/joint_angles` (rad) and `height`, counted from
        the table. If asked for, `extra`. `hand`, `box` and, last, `lid`, places (m).
        """

    found = meanings(
        Own, ["height", "touch", "arm/joint_angles", "extra", "hand", "box", "lid", "unsaid"]
    )
    assert found == {
        "height": "counted from the table",
        "touch": "ln(1 + force in N; see scale) on toe and heel",
        "arm/joint_angles": "joint angles (rad)",
        "extra": "extra",
        "hand": "places (m)",
        "box": "places (m)",
        "lid": "places (m)",
        "unsaid": "",
    }


SCENE = """
<mujoco>
  <worldbody>
    <site name="goal" pos="1 2 3"/>
    <body name="cart">
      <joint name="rail" type="slide" axis="1 0 0"/>
      <geom size=".1"/>
      <body name="pole">
        <joint name="hinge" axis="0 1 0"/>
        <geom name="bob" size=".1"/>
        <site name="tip" pos="0 0 1"/>
        <body name="bead"><joint name="slot" type="slide"/><geom size=".1"/></body>
      </body>
    </body>
    <body name="box"><freejoint name="free"/><geom size=".1"/></body>
    <body name="eye"><joint name="ball" type="ball"/><geom size=".1"/></body>
  </worldbody>
  <tendon><spatial name="string"><site site="goal"/><site site="tip"/></spatial></tendon>
  <actuator><motor name="push" joint="rail"/></actuator>
  <sensor>
    <velocimeter name="speed" site="tip"/>
    <framepos name="seen" objtype="site" objname="goal" reftype="body" refname="pole"/>
    <jointpos name="angle" joint="hinge"/>
    <touch name="touch" site="tip"/>
  </sensor>
</mujoco>
"""


@pytest.fixture(scope="module")
def v():
    simulation = Single(mujoco.MjModel.from_xml_string(SCENE))
    simulation.forward()
    simulation.view.memory = {"best": np.zeros(()), "goal": np.zeros(3), "many": np.zeros((2, 2))}
    return LabelView(simulation.view)


def said(labels):
    return [(x.name, x.whole_unit, x.frame, x.source) for x in np.ravel(labels)]


def test_what_the_engine_holds_has_labels(v):
    assert said(v.qpos)[:6] == [
        ("rail", "m", "world", "qpos"),
        ("hinge", "rad", "", "qpos"),
        ("slot", "m", "", "qpos"),  # along axes that turn with the pole
        ("free x", "m", "world", "qpos"),
        ("free y", "m", "world", "qpos"),
        ("free z", "m", "world", "qpos"),
    ]
    assert [x.name for x in v.qpos[-4:]] == [f"ball quaternion {part}" for part in "wxyz"]
    assert said(v.qvel)[6:8] == [
        ("free about x", "rad/s", "box", "qvel"),
        ("free about y", "rad/s", "box", "qvel"),
    ]
    assert said(v.body("pole").xpos)[2] == ("pole z", "m", "world", "body xpos")
    assert said(v.xpos[..., 2, 2]) == said(v.body("pole").xpos)[2:]
    assert said(v.site_xpos[1]) == said(v.site("tip").xpos)
    assert said(v.tendon("string").length) == [("string", "m", "", "tendon length")]
    assert said(v.ctrl) == [("push", "N", "", "ctrl")]
    assert said(v.sensordata)[2:] == [
        ("speed z", "m/s", "tip", "sensor speed"),
        ("seen x", "m", "pole", "sensor seen"),
        ("seen y", "m", "pole", "sensor seen"),
        ("seen z", "m", "pole", "sensor seen"),
        ("angle", "rad", "", "sensor angle"),
        ("touch", "N", "", "sensor touch"),
    ]
    assert said(v.memory["best"]) == [("best", "", "", "memory best")]
    assert said(v.memory["goal"])[1] == ("goal y", "", "", "memory goal")
    assert v.memory["many"][1, 0].name == "many[1, 0]"
    assert v.jnt_type.dtype.kind == "i"


def test_actuators_and_tendons_are_in_units_of_what_they_move():
    spec = mujoco.MjSpec.from_string(SCENE)
    turned = spec.add_tendon(name="turned")
    turned.wrap_joint("hinge", 1)
    targets = {"rail": "JOINT", "hinge": "JOINT", "string": "TENDON", "turned": "TENDON"}
    for name, kind in targets.items():
        motor = spec.add_actuator(name=f"by_{name}", target=name)
        motor.trntype = getattr(mujoco.mjtTrn, f"mjTRN_{kind}")
        for what in ("FRC", "POS", "VEL"):
            sensor = spec.add_sensor(objname=f"by_{name}")
            sensor.type = getattr(mujoco.mjtSensor, f"mjSENS_ACTUATOR{what}")
            sensor.objtype = mujoco.mjtObj.mjOBJ_ACTUATOR
    for name in ("string", "turned"):
        for what in ("POS", "VEL", "ACTFRC"):
            sensor = spec.add_sensor(objname=name)
            sensor.type = getattr(mujoco.mjtSensor, f"mjSENS_TENDON{what}")
            sensor.objtype = mujoco.mjtObj.mjOBJ_TENDON
    simulation = Single(spec.compile())
    simulation.forward()
    v = LabelView(simulation.view)
    line, angle = ["N", "m", "m/s"], ["N m", "rad", "rad/s"]
    units = [x.unit for x in np.ravel(v.sensordata)][8:]
    assert units[:12] == [*line, *angle, *line, *angle]
    assert units[12:] == ["m", "m/s", "N", "rad", "rad/s", "N m"]
    hinge = v.actuator("by_hinge")
    assert said(hinge.force) == [("by_hinge force", "N m", "", "actuator force")]
    assert said(hinge.length) == [("by_hinge", "rad", "", "actuator length")]
    assert said(hinge.velocity) == [("by_hinge velocity", "rad/s", "", "actuator velocity")]
    assert said(v.tendon("turned").velocity) == [("turned", "rad/s", "", "tendon velocity")]


def test_rotations_turn_labels_into_their_frame(v):
    pole, goal = v.body("pole"), v.site("goal").xpos
    seen = to_local(pole.xmat, goal - pole.xpos)
    assert said(seen)[1] == ("goal y", "m", "pole", "site goal - body pole")
    flat = pole.xmat[..., 0::3] * goal[..., :1] + pole.xmat[..., 1::3] * goal[..., 1:2]
    assert [x.frame for x in flat] != ["pole"] * 3  # not a rotation into the pole's axes
    spinning = to_local(pole.xmat[..., None, :], np.stack([v.qvel[3:6], v.qvel[6:9]], axis=-2))
    assert [(x.unit, x.frame) for x in spinning[:, 0]] == [("m/s", "pole"), ("rad/s", "pole")]


def test_units_combine(v):
    place, touch = v.qpos[0], v.sensor("touch").data
    xp = v.xp
    assert said(xp.log1p(touch))[0][1] == "ln(1 + N)"
    assert said(xp.asinh(touch) + 1)[0][1] == "arcsinh(N)"
    assert said(xp.tanh(v.qpos[:1] / 10))[0][1] == "tanh(10 m)"
    assert (place * place).unit == "m^2"
    assert xp.sqrt(place * place).unit == "m"
    assert (place / v.qvel[0]).unit == "s"
    assert (1 / v.qvel[0]).unit == "s/m"
    assert (touch[0] * place).unit == "N m"
    assert said(xp.sin(v.qpos[1:2]))[0][:2] == ("sine of hinge", "1")
    assert xp.maximum(v.qpos, 0.0)[1] == xp.minimum(0.0, v.qpos)[1] == v.qpos[1]
    assert said(xp.where(touch > 0, touch, 0.0))[0][1] == "N"
    assert (place + v.qpos[1]).unit == ""  # metres and radians


@dataclasses.dataclass(frozen=True)
class Free(Task):
    """With an entry of each kind.

    Observation: `angle`, how the pole stands; `lost`, of which nothing is known.
    """

    time_limit = 1.0
    control_timestep = 0.002

    def observation(self, v):
        return {
            "angle": v.body("pole").xmat[..., 6:9:2],
            "lost": np.asarray(v.qpos[..., :2], dtype=float),
            "both": v.xp.concat([v.qpos[..., :1], v.qvel[..., :1]], axis=-1),
        }


class Stating(Free):
    def labels(self, v):
        return {"lost": Signal(unit="m", names=("", "second"))}


class Numbers(Free):
    def observation(self, v):
        return {"lost": np.linalg.inv(np.eye(2) * float(v.qpos[1] + 1) + np.isfinite(v.qpos[0]))}


def described(task):
    simulation = Single(mujoco.MjModel.from_xml_string(SCENE))
    simulation.forward()
    with np.errstate(all="ignore"):
        own = task.observation(simulation.view)
    return signals(task, simulation.view, {name: np.shape(x) for name, x in own.items()})


def test_what_cannot_be_derived_is_named_after_its_place_or_stated():
    found = described(Free())
    assert found["angle"].meaning == "how the pole stands"
    assert found["both"].names == ("rail", "rail velocity")
    assert found["lost"].names == ("lost[0]", "lost[1]")
    assert found["lost"].unit == ("", "")
    stated = described(Stating())["lost"]
    assert stated.names == ("lost[0]", "second")
    assert stated.unit == ("m", "m")
    assert stated.meaning == "of which nothing is known"
    # A hook may do what labels cannot: the numbers then have places alone.
    assert described(Numbers())["lost"].names[3] == "lost[1, 1]"


def test_statements_of_what_is_not_there_are_refused():
    class Misnamed(Free):
        def labels(self, v):
            return {"angel": Signal(unit="1")}

    class Miscounted(Free):
        def labels(self, v):
            return {"angle": Signal(unit=("1", "1", "1"))}

    class Texts(Free):
        def labels(self, v):
            return {"angle": "rad"}

    with pytest.raises(TypeError, match=r"Texts\.labels: 'angle': expected a Signal, got 'rad'"):
        described(Texts())
    with pytest.raises(ValueError, match=r"Misnamed\.labels: no entry 'angel'.*angle"):
        described(Misnamed())
    with pytest.raises(
        ValueError, match=r"Miscounted\.labels: 3 units for the 2 numbers of 'angle'"
    ):
        described(Miscounted())
