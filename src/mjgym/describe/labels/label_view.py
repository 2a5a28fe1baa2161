"""A simulation's arrays, with a label in place of each number."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym.actions import actuated, actuator_controls, is_linear
from mjgym.arrays import Array
from mjgym.describe.labels.label import WORLD, XYZ, Label
from mjgym.sim.fields import UNEVEN, declared_sizes, field_rows, owner
from mjgym.sim.views import Named, View

# Unit of fields and attributes, and frame of vectors.
_UNITS = {
    "xpos": "m", "xipos": "m", "xanchor": "m", "subtree_com": "m", "pos": "m", "size": "m",
    "xaxis": "1", "subtree_linvel": "m/s", "mass": "kg", "length": "m", "force": "N",
}  # fmt: skip
_PLACES = ("xpos", "xipos", "xanchor", "subtree_com")
_SENSORS = {
    "TOUCH": "N", "ACCELEROMETER": "m/s^2", "VELOCIMETER": "m/s", "GYRO": "rad/s", "FORCE": "N",
    "TORQUE": "N m", "MAGNETOMETER": "T", "RANGEFINDER": "m", "SUBTREECOM": "m",
    "SUBTREELINVEL": "m/s", "SUBTREEANGMOM": "kg m^2/s", "FRAMEPOS": "m", "FRAMEQUAT": "1",
    "FRAMEXAXIS": "1", "FRAMEYAXIS": "1", "FRAMEZAXIS": "1", "FRAMELINVEL": "m/s",
    "FRAMEANGVEL": "rad/s", "FRAMELINACC": "m/s^2", "FRAMEANGACC": "rad/s^2", "BALLQUAT": "1",
    "BALLANGVEL": "rad/s", "CLOCK": "s", "GEOMDIST": "m", "GEOMNORMAL": "1", "GEOMFROMTO": "m",
    "INSIDESITE": "1", "E_POTENTIAL": "J", "E_KINETIC": "J",
}  # fmt: skip
_OWN_AXES = ("ACCELEROMETER", "VELOCIMETER", "GYRO", "FORCE", "TORQUE", "MAGNETOMETER")
_OF_JOINTS = {"JOINTPOS": "qpos", "JOINTVEL": "qvel"}
_TRANSMITTED = {"POS": "length", "VEL": "velocity", "FRC": "force", "ACTFRC": "force"}
_OBJECTS = {
    int(getattr(mujoco.mjtObj, f"mjOBJ_{name.upper()}")): kind
    for name, kind in (
        ("body", "body"), ("xbody", "body"), ("geom", "geom"), ("site", "site"),
        ("joint", "joint"), ("camera", "camera"),
    )
}  # fmt: skip
_PER = {"qpos": "", "qvel": "/s", "qacc": "/s^2"}
_FREE, _BALL, _SLIDE, _HINGE = range(4)  # mjtJoint


class _Functions:
    """NumPy's functions, on arrays of labels."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        """The label of the two, if one is a plain number."""
        a, b = np.broadcast_arrays(np.asarray(a, dtype=object), np.asarray(b, dtype=object))
        pairs = zip(a.ravel(), b.ravel(), strict=True)
        chosen = np.empty(a.size, dtype=object)
        chosen[:] = [x if isinstance(x, Label) else y for x, y in pairs]
        return chosen.reshape(a.shape)

    def maximum(self, a: Any, b: Any) -> Any:
        return self.where(None, a, b)

    minimum = maximum

    def clip(self, x: Any, *_: Any, **__: Any) -> Any:
        return x

    def astype(self, x: Any, dtype: Any, **_: Any) -> Any:
        """The same labels; 0 for integer types, which are used as indices."""
        return np.zeros(np.shape(x), dtype) if np.issubdtype(dtype, np.integer) else x

    def floor(self, x: Any) -> Any:
        return x

    def asarray(self, x: Any, dtype: Any = None, **_: Any) -> Any:
        return np.asarray(x)


class LabelView(View):
    """A view with labels in place of floating-point numbers; integers are real."""

    def __init__(self, view: View) -> None:
        functions: Any = _Functions()
        super().__init__((), functions)
        model: mujoco.MjModel = view.model
        self.__dict__.update(_view=view, model=model, _swinging=_swinging(model))
        self.__dict__["memory"] = {
            name: self._numbered(name, f"memory {name}", self._real(value))
            for name, value in view.memory.items()
        }

    def _real(self, value: Array) -> np.ndarray:
        return np.asarray(np.asarray(value)[(0,) * len(self._view.lead)])

    def _field(self, name: str) -> Array:
        real = self._real(getattr(self._view, name))
        if real.dtype.kind != "f":
            return real
        kind, attribute = owner(name)
        # An element may have any number of values.
        if kind is not None and declared_sizes().get(name) in UNEVEN:
            numbers = range(len(self.names(kind)))
            rows = [field_rows(self.model, name, np.array([i])) for i in numbers]
            parts = [self._field_labels(kind, i, attribute, real[rows[i]]) for i in numbers]
            return np.concatenate([np.empty((0, *real.shape[1:]), dtype=object), *parts])
        if real.ndim and kind is not None and len(self.names(kind)) == len(real):
            parts = [self._field_labels(kind, i, attribute, real[i]) for i in range(len(real))]
            return _array(parts, real.shape)
        return self._numbered(name, name, real)

    def _element(self, kind: str, name: str) -> Named:
        real = getattr(self._view, kind)(name)
        number = self.names(kind).index(name)

        def fetch(attribute: str) -> Array:
            value = self._real(getattr(real, attribute))
            return (
                self._field_labels(kind, number, attribute, value)
                if value.dtype.kind == "f"
                else value
            )

        return Named(fetch)

    def _field_labels(self, kind: str, i: int, attribute: str, real: Array) -> Any:
        name = self.names(kind)[i] or f"{kind} {i}"
        if kind == "joint" and attribute in _PER:
            return self._of_joint(i, name, attribute)
        if kind == "sensor" and attribute == "data":
            return self._of_sensor(i, name)
        if kind == "actuator" and attribute in ("act", "ctrl"):
            return self._of_actuator(i, name, attribute)
        source, unit = f"{kind} {attribute}", _UNITS.get(attribute, "")
        if kind in ("tendon", "actuator") and attribute in _TRANSMITTED.values():
            unit = self._transmitted_unit(kind, i, attribute)
            what = name if kind == "tendon" or attribute == "length" else f"{name} {attribute}"
            axes = XYZ if np.size(real) == len(XYZ) else ("",)
            return _array([Label(what, a, unit, source=source) for a in axes], np.shape(real))
        if attribute in ("xmat", "ximat"):
            swings = kind == "body" and i in self._swinging
            labels = [
                Label(name, row + axis, "1", WORLD, source, turn=(name, row, axis), swings=swings)
                for row in XYZ
                for axis in XYZ
            ]
        elif attribute in ("xquat", "quat"):
            labels = _quaternion(name, WORLD, source)
        elif attribute in _PLACES:
            what, place = name, f"{kind} {name}"
            if attribute != "xpos":
                what, place = f"{name} {attribute}", f"{place} {attribute}"
            labels = [Label(what, a, unit, WORLD, source, ends=((place,), ())) for a in XYZ]
        else:
            what = name if attribute == "length" else f"{name} {attribute}"
            return self._numbered(what, source, np.asarray(real), unit)
        return _array(labels, np.shape(real))

    def _of_actuator(self, i: int, name: str, attribute: str) -> Any:
        if attribute == "act":
            named = [(name, "1")] * int(self.model.actuator_actnum[i])
        else:
            named = [(c.name or name, c.unit) for c in actuator_controls(self.model, i)]
        labels = [Label(what, unit=unit, source=attribute) for what, unit in named]
        return _array(labels, (len(labels),))

    def _numbered(self, what: str, source: str, real: np.ndarray, unit: str = "") -> Array:
        if real.ndim == 0 or real.shape == (1,):
            return _array([Label(what, unit=unit, source=source)] * real.size, real.shape)
        if real.shape == (3,):
            return _array([Label(what, axis, unit, source=source) for axis in XYZ], (3,))
        places = np.ndindex(real.shape)
        labels = [Label(f"{what}[{', '.join(map(str, p))}]", "", unit, "", source) for p in places]
        return _array(labels, real.shape)

    def _of_joint(self, i: int, name: str, field: str) -> Any:
        model = self.model
        kind, per = int(model.jnt_type[i]), _PER[field]
        body = model.body(int(model.jnt_bodyid[i])).name
        if kind in (_SLIDE, _HINGE):
            unit = "m" if kind == _SLIDE else "rad"
            frame = WORLD if kind == _SLIDE and self._slides(int(model.jnt_bodyid[i])) else ""
            return _array([Label(name, "", unit + per, frame, field)], (1,))
        labels = []
        if kind == _FREE:
            labels += [Label(name, axis, f"m{per}", WORLD, field) for axis in XYZ]
        if field == "qpos":
            labels += _quaternion(name, WORLD, field)
        else:
            labels += [Label(f"{name} about", axis, f"rad{per}", body, field) for axis in XYZ]
        return _array(labels, (len(labels),))

    def _of_sensor(self, i: int, name: str) -> Any:
        model, source = self.model, f"sensor {name}"
        kind = mujoco.mjtSensor(int(model.sensor_type[i])).name.removeprefix("mjSENS_")
        size = int(model.sensor_dim[i])
        object_kind, object_name = self._element_of(model.sensor_objtype[i], model.sensor_objid[i])
        _, seen_from = self._element_of(model.sensor_reftype[i], model.sensor_refid[i])
        frame = object_name if kind in _OWN_AXES else seen_from or WORLD
        if kind in _OF_JOINTS:
            moved = self._of_joint(int(model.sensor_objid[i]), object_name, _OF_JOINTS[kind])
            return _array([x.replace(what=name, source=source) for x in moved], (size,))
        unit = _SENSORS.get(kind, "")
        for of in ("TENDON", "ACTUATOR"):
            if kind.startswith(of) and (of_it := _TRANSMITTED.get(kind.removeprefix(of))):
                unit = self._transmitted_unit(of.lower(), int(model.sensor_objid[i]), of_it)
        if kind in ("SUBTREELINVEL", "SUBTREECOM"):
            name = "centre of mass"
        if size == 1:
            return _array([Label(name, "", unit, "", source)], (1,))
        if kind.startswith("FRAME") and kind.endswith("AXIS"):
            frame_axis = kind[5].lower()
            turns = [(object_name, axis, frame_axis) for axis in XYZ]
            parts = [Label(name, turn[1], unit, frame, source, turn=turn) for turn in turns]
        elif kind == "FRAMEPOS" and frame == WORLD:
            ends: Any = ((f"{object_kind} {object_name}",), ())
            parts = [Label(object_name, axis, unit, frame, source, ends=ends) for axis in XYZ]
        elif size == 3:
            parts = [Label(name, axis, unit, frame, source) for axis in XYZ]
        elif size == 4 and kind in ("FRAMEQUAT", "BALLQUAT"):
            parts = _quaternion(name, frame, source)
        else:
            return self._numbered(name, source, np.zeros(size), unit)
        return _array(parts, (size,))

    def _element_of(self, kind: int, i: int) -> tuple[str, str]:
        name = _OBJECTS.get(int(kind), "") if i >= 0 else ""
        return name, getattr(self.model, name)(int(i)).name if name else ""

    def _transmitted_unit(self, kind: str, i: int, attribute: str) -> str:
        """Unit of a tendon's or actuator's length, velocity or force, from what it moves."""
        actuator = kind == "actuator"
        linear = actuated(self.model, i)[2] if actuator else is_linear(self.model, i)
        units = {"length": ("rad", "m"), "velocity": ("rad/s", "m/s"), "force": ("N m", "N")}
        return units[attribute][linear]

    def _slides(self, body: int) -> bool:
        """Tell whether a body's slides stay aligned with the world: no body below them turns."""
        model = self.model
        is_lowest = True  # a body's slides come before its hinges
        while body:
            first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
            kinds = {int(model.jnt_type[j]) for j in range(first, first + count)}
            if kinds & {_FREE, _BALL} or (_HINGE in kinds and not is_lowest):
                return False
            body, is_lowest = int(model.body_parentid[body]), False
        return True


def _quaternion(what: str, frame: str, source: str) -> list[Label]:
    return [Label(what, f"quaternion {part}", "1", frame, source) for part in "wxyz"]


def _array(labels: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    if not labels:
        return np.empty(shape, dtype=object)
    arrays = [np.atleast_1d(np.asarray(x, dtype=object)) for x in labels]
    return np.concatenate(arrays).reshape(shape)


def _swinging(model: mujoco.MjModel) -> set[int]:
    """Bodies that turn only about y, so that their angle to the vertical says it all."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    in_plane = set()
    for body in range(1, model.nbody):
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        body_joints = range(first, first + count)
        joints = all(
            model.jnt_type[j] == _SLIDE
            or (model.jnt_type[j] == _HINGE and abs(data.xaxis[j, 1]) > 1 - 1e-9)
            for j in body_joints
        )
        upright = abs(data.xmat[body, 4] - 1) < 1e-9
        parent = int(model.body_parentid[body])
        moves = any(model.jnt_type[j] == _HINGE for j in body_joints)
        if joints and upright and (parent in in_plane or (parent == 0 and (moves or count))):
            in_plane.add(body)
    return in_plane
