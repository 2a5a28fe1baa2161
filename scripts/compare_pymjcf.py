"""Compose generated models with dm_control's PyMJCF and with ours, and compare what compiles.

    pip install -e ".[dm-control]"
    python scripts/compare_pymjcf.py --count 1000 --first 0

Each seed is a program of PyMJCF calls: parts with defaults, assets, actuators, tendons, sensors and
exclusions, attached at sites and to worlds, nested, with joints on their frames, detached and
attached again, renamed, copied, included and cut. It runs with both libraries. Both models are
compiled by the installed MuJoCo and compared array by array, names among them; where a call or the
compiler refuses, both must. Prints a line for each seed that differs; exit status 1 if one does.
"""

import argparse
import importlib
import sys
from typing import Any

import mujoco
import numpy as np

OBJ = (
    "v 0 0 0\nv {0} 0 0\nv 0 {0} 0\nv 0 0 {0}\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"  # tetrahedron
)
UNNAMED = "/unnamed_"  # in names of what has none, by which only ours finds it
INCLUDED = """<mujoco><default><default class="inside"><geom rgba="0 1 0 1"/></default></default>
<worldbody><body name="included"><joint name="of_included"/><geom class="inside" size=".1"/></body>
</worldbody></mujoco>"""


class Program:
    """One seed's calls, on one library.

    Args:
        mjcf: `dm_control.mjcf`, or ours.
    """

    def __init__(self, mjcf: Any, seed: int) -> None:
        self.mjcf, self.rng = mjcf, np.random.RandomState(seed)
        self.arena: Any = None
        self.refusals: list[str] = []  # calls that were refused, by the kind of their error
        self.torn = False  # dm_control leaves what it had copied until then, ours nothing
        self.parts: list[Any] = []
        self.by_word = self._chance()  # classes are given by their names, not as elements

    def _chance(self, share: float = 0.5) -> bool:
        return bool(self.rng.rand() < share)

    def _pick(self, things: Any) -> Any:
        return things[self.rng.randint(len(things))]

    def _numbers(self, count: int, low: float = -1, high: float = 1) -> list[float]:
        return [round(float(x), 3) for x in self.rng.uniform(low, high, count)]

    def _attempt(self, call: Any, *arguments: Any, **options: Any) -> Any:
        """The result of a call; None if it is refused."""
        try:
            return call(*arguments, **options)
        except (ValueError, AttributeError, KeyError, RuntimeError, NotImplementedError) as error:
            if not self.torn:
                self.refusals.append(type(error).__name__)
            self.torn |= call.__name__ == "include_copy" and isinstance(error, AttributeError)
            return None

    def _name(self, kind: str, share: float = 0.7) -> dict[str, str]:
        """A name, often none; unique in its model."""
        self.count += 1
        return {"name": f"{kind}{self.count}"} if self._chance(share) else {}

    # Parts.

    def _part(self) -> Any:
        """A model."""
        self.count = 0
        if self._chance(0.15):
            text = '<mujoco model="reader"><include file="inner.xml"/><worldbody/></mujoco>'
            model = self.mjcf.from_xml_string(text, assets={"inner.xml": INCLUDED.encode()})
        else:
            named = self._chance(0.8)
            model = self.mjcf.RootElement(
                model=self._pick(["arm", "leg", "head"]) if named else None
            )
        self._classes(model)
        self._assets(model)
        model.worldbody.add("geom", size=[0.02])  # a frame that moves has a mass
        for _ in range(self.rng.randint(1, 4)):
            self._body(model, model.worldbody, 0)
        self._motion(model)
        self._sensors(model)
        self._relations(model)
        self._custom(model)
        self._settings(model)
        return model

    def _classes(self, model: Any) -> None:
        default = model.default
        if self._chance():
            default.geom.rgba = self._numbers(4, 0, 1)
            default.joint.damping = self._numbers(1, 0, 1)[0]
        for _ in range(self.rng.randint(0, 3)):
            self.count += 1
            inner = default.add("default", dclass=f"class{self.count}")
            inner.geom.friction = self._numbers(3, 0.1, 1)
            inner.position.kp = self._numbers(1, 1, 9)[0]
            if self._chance():
                inner.add("default", dclass=f"deep{self.count}").joint.armature = 0.02

    def _a_class(self, model: Any, key: str = "dclass") -> dict[str, Any]:
        known = model.find_all("default", exclude_attachments=True)
        known = [d for d in known if d.dclass]
        if not known or self._chance(0.6):
            return {}
        chosen = self._pick(known)
        return {key: chosen.dclass if self.by_word else chosen}

    def _assets(self, model: Any) -> None:
        asset = model.asset
        if self._chance():
            texture = asset.add(
                "texture", type="2d", builtin="checker", width=8, height=8, **self._name("tex", 1.0)
            )
            asset.add("material", texture=texture, **self._name("mat", 1.0))
        if self._chance(0.4):
            size = self._pick([1, 2])
            contents = self.mjcf.Asset(OBJ.format(size).encode(), ".obj", "corner")
            asset.add("mesh", file=contents, scale=[0.1] * 3, **self._name("mesh", 1.0))
        if self._chance(0.2):
            asset.add("hfield", nrow=3, ncol=4, size=[1, 1, 0.1, 0.1], **self._name("field"))

    def _body(self, model: Any, parent: Any, depth: int) -> None:
        pos = {"pos": self._numbers(3)} if self._chance(0.8) else {}
        turned = self._pick([{}, {"quat": [1.0, 0, 0.5, 0]}, {"euler": self._numbers(3, -90, 90)}])
        body = parent.add(
            "body", **self._name("body"), **pos, **turned, **self._a_class(model, "childclass")
        )
        if depth == 0 and self.arena is None and self._chance(0.3):  # free only in the world
            body.add("freejoint", **self._name("free"))
        else:
            for _ in range(self.rng.randint(0, 3)):
                kind = self._pick(["hinge", "slide"])
                body.add(
                    "joint", type=kind, axis=self._numbers(3, 0.1, 1),
                    **self._name("joint"), **self._a_class(model),
                )  # fmt: skip
        for _ in range(self.rng.randint(1, 3)):
            self._geom(model, body)
        for _ in range(self.rng.randint(0, 3)):
            body.add("site", pos=self._numbers(3), **self._name("site"))
        if self._chance(0.2):
            body.add("camera", fovy=50, mode="targetbody", target=body, **self._name("camera"))
        if self._chance(0.2):
            body.add("light", pos=[0, 0, 1], **self._name("light"))
        if depth < 2 and self._chance():
            self._body(model, body, depth + 1)

    def _geom(self, model: Any, body: Any) -> None:
        meshes = model.find_all("mesh", exclude_attachments=True)
        materials = model.find_all("material", exclude_attachments=True)
        shape: dict[str, Any] = self._pick(
            [
                {"type": "box", "size": self._numbers(3, 0.05, 0.2)},
                {"size": [0.1]},
                {"type": "capsule", "size": [0.03], "fromto": [0, 0, 0, 0, 0.1, 0.3]},
            ]
        )
        if meshes and self._chance(0.4):
            shape = {"type": "mesh", "mesh": self._pick(meshes)}
        if materials and self._chance():
            shape["material"] = self._pick(materials)
        body.add("geom", **shape, **self._name("geom"), **self._a_class(model))

    def _own(self, model: Any, kind: str) -> list[Any]:
        elements = model.find_all(kind, exclude_attachments=True)
        if kind == "joint":
            return [j for j in elements if j.tag == "joint" and j.type != "ball"]
        return list(elements)

    def _motion(self, model: Any) -> None:
        joints, sites, bodies = (self._own(model, kind) for kind in ("joint", "site", "body"))
        if len(joints) > 1 and self._chance():
            fixed = model.tendon.add("fixed", **self._name("tendon"))
            for joint in joints[:2]:
                fixed.add("joint", joint=joint, coef=self._numbers(1)[0])
        if len(sites) > 1 and self._chance():
            spatial = model.tendon.add("spatial", width=0.01, **self._name("tendon"))
            for site in sites[:2]:
                spatial.add("site", site=site)
        tendons = self._own(model, "tendon")
        kinds = {
            "motor": {"gear": [2]},
            "position": {"kp": 3},
            "velocity": {"kv": 2},
            "intvelocity": {"kp": 2, "actrange": [-1, 1]},
            "damper": {"kv": 1, "ctrlrange": [0, 1]},
            "cylinder": {"timeconst": 0.5},
            "muscle": {"force": 10, "lengthrange": [0.1, 1]},
            "general": {"dyntype": "filter", "dynprm": [0.2], "gainprm": [3]},
        }
        for _ in range(self.rng.randint(0, 6) if joints else 0):
            kind = self._pick(sorted(kinds))
            target = {"joint": self._pick(joints)}
            if tendons and self._chance(0.3):
                target = {"tendon": self._pick(tendons)}
            classes = self._a_class(model)
            model.actuator.add(kind, **target, **kinds[kind], **self._name("actuator"), **classes)
        if bodies and self._chance(0.2):
            limits = {"ctrlrange": [0, 1]}
            model.actuator.add("adhesion", body=self._pick(bodies), gain=2, **limits)

    def _sensors(self, model: Any) -> None:
        sensor = model.sensor
        by_kind = {
            "jointpos": "joint", "jointvel": "joint", "touch": "site", "gyro": "site",
            "rangefinder": "site", "tendonpos": "tendon", "actuatorfrc": "actuator",
            "subtreecom": "body",
        }  # fmt: skip
        for _ in range(self.rng.randint(0, 6)):
            kind = self._pick(sorted(by_kind))
            if targets := self._own(model, by_kind[kind]):
                target = self._pick(targets)
                if by_kind[kind] == "actuator" and target.tag == "adhesion":
                    continue
                sensor.add(kind, **{by_kind[kind]: target}, **self._name("sensor"))
        for kind in ("body", "geom", "site"):
            if (targets := self._own(model, kind)) and self._chance(0.3):
                sensor.add(
                    "framepos", objtype=kind, objname=self._pick(targets), **self._name("sensor")
                )

    def _relations(self, model: Any) -> None:
        bodies, geoms, joints = (self._own(model, kind) for kind in ("body", "geom", "joint"))
        if len(bodies) > 1 and self._chance():
            model.contact.add("exclude", body1=bodies[0], body2=bodies[-1], **self._name("exclude"))
        if len(bodies) > 1 and self._chance(0.3):
            model.equality.add("weld", body1=bodies[0], body2=bodies[-1], **self._name("weld"))
        if bodies and self._chance(0.2):
            model.equality.add("connect", body1=bodies[-1], anchor=[0, 0, 0.1])
        if len(geoms) > 1 and self._chance(0.3):
            model.contact.add("pair", geom1=geoms[0], geom2=geoms[-1], **self._name("pair"))
        if len(joints) > 1 and self._chance(0.3):
            model.equality.add("joint", joint1=joints[0], joint2=joints[1])

    def _custom(self, model: Any) -> None:
        if self._chance(0.3):
            model.custom.add("numeric", data=self._numbers(3), **self._name("numeric", 1.0))
        if self._chance(0.2):
            model.custom.add("text", data="words", **self._name("text", 1.0))
        if (bodies := self._own(model, "body")) and self._chance(0.2):
            row = model.custom.add("tuple", **self._name("tuple", 1.0))
            row.add("element", objtype="body", objname=self._pick(bodies))

    def _settings(self, model: Any) -> None:
        if self._chance(0.3):
            model.option.timestep = self._pick([0.001, 0.002])
        if self._chance(0.2):
            model.option.gravity = [0, 0, self._pick([-9.81, -1.6])]
        if self._chance(0.2):
            model.visual.map.znear = self._pick([0.01, 0.02])
        if self._chance(0.2):
            model.statistic.extent = 2.0
        if self._chance(0.2):
            model.compiler.angle = "radian"

    # Compositions.

    def _attach(self, outer: Any, inner: Any) -> None:
        sites = outer.find_all("site")
        place = self._pick(sites) if sites and self._chance(0.8) else outer
        frame = self._attempt(place.attach, inner)
        if frame is None:
            return
        if self._chance(0.3):
            frame.add("joint", axis=[0, 0, 1], **self._name("of_frame"))
        elif frame.parent is self.arena.worldbody and self._chance(0.4):
            frame.add("freejoint")
        if self._chance(0.2):
            frame.pos = self._numbers(3)

    def run(self) -> Any:
        """The outermost model."""
        self.arena = arena = self._part()
        self.parts = [self._part() for _ in range(self.rng.randint(1, 5))]
        holders = [arena]
        for part in self.parts:
            self._attach(self._pick(holders), part)
            holders.append(part)
        for _ in range(self.rng.randint(0, 4)):
            self._change(arena)
        return arena

    def _change(self, arena: Any) -> None:  # noqa: PLR0912
        part = self._pick(self.parts)
        words = [
            "again",
            "rename",
            "copy",
            "cut",
            "class",
            "late",
            "clash",
            "first",
            "list",
            "text",
        ]
        match self._pick(words):
            case "again" if part.parent_model is not None:
                self._attempt(part.detach)
                self._attach(arena, part)
            case "rename":
                self.count += 1
                self._attempt(setattr, part, "model", f"named{self.count}")
            case "copy":
                twin = self.mjcf.RootElement(model="twin")
                self._attempt(twin.include_copy, part)
                self._attach(arena, twin)
            case "cut":
                kind = self._pick(["geom", "joint", "site", "material", "actuator", "body"])
                if elements := self._own(part, kind):
                    self._attempt(self._pick(elements).remove)
            case "class" if not self.by_word:  # which dm_control does not look up
                for element in self._own(part, "geom"):
                    self._attempt(self.mjcf.commit_defaults, element, ["rgba", "friction"])
            case "late":
                self.count = 100 + self.rng.randint(1000)
                self._body(part, part.worldbody, 1)
            case "first":
                part.worldbody.insert("geom", 0, size=[0.05])
            case "list" if part.worldbody.site or part.worldbody.geom:
                self._attempt(part.worldbody.geom.__delitem__, 0)
            case "text":
                text = self._attempt(arena.to_xml_string, filename_with_hash=False)
                files = {f"corner{e}": OBJ.format(1).encode() for e in (".obj", "")}
                read = text and self._attempt(self.mjcf.from_xml_string, text, True, assets=files)
                if read:
                    self._attach(arena, read)
            case "clash":
                other = self.mjcf.RootElement(model="other")
                other.worldbody.add("body", name="included").add("geom", size=[0.1])
                self._attempt(part.include_copy, other)


def outcome(mjcf: Any, seed: int) -> tuple[list[str], Any, list[str]]:
    """Run one seed: refused calls, the compiled model or the error's kind, names of elements."""
    program = Program(mjcf, seed)
    model = program.run()
    if program.torn:
        return program.refusals, "torn", []
    try:
        text, assets = model.to_xml_string(), model.get_assets()
    except AttributeError as error:
        return program.refusals, type(error).__name__, []
    kinds = ("body", "joint", "geom", "site", "actuator", "sensor", "tendon", "camera")
    elements = [(kind, element) for kind in kinds for element in model.find_all(kind)]
    names = [element.full_identifier for _, element in elements]
    lost = [
        name
        for name, (kind, element) in zip(names, elements, strict=True)
        if model.find(kind, name) is not element and UNNAMED not in name and name[-1] != "/"
    ]
    names += [f"not found: {name}" for name in lost]
    try:
        return program.refusals, mujoco.MjModel.from_xml_string(text, assets), names
    except ValueError as error:
        return program.refusals, str(error).partition("\n")[0], names


def difference(theirs: Any, ours: Any) -> str:
    """The first difference of two outcomes; "" if there is none."""
    if theirs[0] != ours[0]:
        return f"refused {theirs[0]}, here {ours[0]}"
    if theirs[2] != ours[2]:
        pairs = [(a, b) for a, b in zip(theirs[2], ours[2], strict=False) if a != b]
        return f"names: {pairs[:3] or (len(theirs[2]), len(ours[2]))}"
    a, b = theirs[1], ours[1]
    if not (isinstance(a, mujoco.MjModel) and isinstance(b, mujoco.MjModel)):
        same = a == b if isinstance(a, str) and isinstance(b, str) else False
        return "" if same else f"{a!s:.100} against {b!s:.100}"
    for name in dir(a):
        if name.startswith("_") or callable(value := getattr(a, name)):
            continue
        other = getattr(b, name)
        if isinstance(value, np.ndarray | int | float | bytes) and not np.array_equal(value, other):
            return f"{name}: {value!r:.100} against {other!r:.100}"
    return ""


def main() -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    theirs = importlib.import_module("dm_control.mjcf")
    ours = importlib.import_module("mjgym_compat.dm_control.mjcf")
    compiled = different = 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        results = outcome(theirs, seed), outcome(ours, seed)
        compiled += isinstance(results[0][1], mujoco.MjModel)
        if found := difference(*results):
            different += 1
            print(f"seed {seed}: {found}", flush=True)
    print(f"models: {arguments.count}, compiled: {compiled}, different: {different}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
