"""Compares a compiled model with the recorded numbers of the published suite.

    PYTHONPATH=tests python -m helpers.model_facts assets/dmc/cartpole.xml cartpole-febc107a

prints every difference and ends with exit code 1 if there is one.
"""

import json
import sys
from typing import Any

import mujoco
import numpy as np

from helpers.places import DATA

FACTS = DATA / "dmc" / "models"
TOLERANCE = 1e-9  # relative to max(1, |recorded|); the records hold 12 decimals
SINGLE = 1e-6  # for what the engine stores in single precision (colours, lights)

OBJECTS = {
    "body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "camera": "ncam",
    "light": "nlight", "actuator": "nu", "sensor": "nsensor", "tendon": "ntendon",
    "equality": "neq", "material": "nmat", "hfield": "nhfield", "pair": "npair",
    "exclude": "nexclude", "numeric": "nnumeric", "key": "nkey",
}  # fmt: skip
COSMETIC = ("mat_", "tex_", "cam_", "light_", "_rgba", "_matid", "_group")


def facts(name: str) -> dict[str, Any]:
    """The recorded numbers of one compiled model."""
    return json.loads((FACTS / f"{name}.json").read_text())


def _names(model: mujoco.MjModel, kind: str, count: int) -> list[str]:
    accessor = "equality" if kind == "equality" else kind
    if kind == "exclude":
        return [
            mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EXCLUDE, i) or "" for i in range(count)
        ]
    return [
        getattr(model, {"camera": "camera", "joint": "joint"}.get(accessor, accessor))(i).name
        for i in range(count)
    ]


class Comparison:
    """Collects the differences between a model and its record."""

    def __init__(self, ignore_cosmetics: bool = False) -> None:
        self.differences: list[str] = []
        self.ignore_cosmetics = ignore_cosmetics

    def _compare(
        self, label: str, ours: Any, recorded: Any, names: list[str] | None = None
    ) -> None:
        if self.ignore_cosmetics and any(part in label for part in COSMETIC):
            return
        a, b = np.asarray(ours, dtype=float), np.asarray(recorded, dtype=float)
        if a.size == b.size:
            a = a.reshape(b.shape)
        if a.shape != b.shape:
            self.differences.append(f"{label}: shape {a.shape}, recorded {b.shape}")
            return
        tolerance = SINGLE if np.asarray(ours).dtype == np.float32 else TOLERANCE
        if label.endswith("quat"):  # q and -q are one rotation
            sign = np.where((a * b).sum(-1, keepdims=True) < 0, -1.0, 1.0)
            a = a * sign
        bad = ~(np.abs(a - b) <= tolerance * np.maximum(1.0, np.abs(b)))
        if not bad.any():
            return
        if names is None or a.ndim == 0 or a.shape[0] != len(names):
            self.differences.append(f"{label}: {a.tolist()}, recorded {b.tolist()}")
            return
        for i in np.flatnonzero(bad.reshape(len(names), -1).any(axis=1)):
            self.differences.append(
                f"{label}[{names[i] or i}]: {a[i].tolist()}, recorded {b[i].tolist()}"
            )

    def run(
        self, model: mujoco.MjModel, record: dict[str, Any], skip: tuple[str, ...] = ()
    ) -> list[str]:
        for name, size in record["sizes"].items():
            if f"sizes.{name}" not in skip and getattr(model, name) != size:
                self.differences.append(f"sizes.{name}: {getattr(model, name)}, recorded {size}")
        for name, value in record["opt"].items():
            self._compare(f"opt.{name}", getattr(model.opt, name), value)
        for name, value in record["stat"].items():
            if f"stat.{name}" not in skip:
                self._compare(f"stat.{name}", getattr(model.stat, name), value)
        if not self.ignore_cosmetics:
            for section, values in record["visual"].items():
                for name, value in values.items():
                    self._compare(
                        f"visual.{section}.{name}",
                        np.float32(getattr(getattr(model.vis, section), name)),
                        value,
                    )
        for kind, size in OBJECTS.items():
            if kind in record and f"sizes.{size}" not in skip:
                self._objects(model, kind, record, skip)
        everything: list[str] | None = None
        for name, value in record["arrays"].items():
            if name in skip:
                continue
            prefix = name.split("_")[0]
            everything = record.get(
                {"body": "body", "geom": "geom", "actuator": "actuator"}.get(prefix, ""), {}
            ).get("name")
            if prefix == "dof":
                joints = record["joint"]["name"]
                everything = [joints[j] for j in record["arrays"].get("dof_jntid", [])]
            self._compare(name, getattr(model, name), value, everything)
        return self.differences

    def _objects(
        self, model: mujoco.MjModel, kind: str, record: dict[str, Any], skip: tuple[str, ...]
    ) -> None:
        names = record[kind].get("name", [])
        ours = _names(model, kind, getattr(model, OBJECTS[kind]))
        if ours != names:
            self.differences.append(f"{kind} names: {ours}, recorded {names}")
            return
        for field, value in record[kind].items():
            if field in ("name", *skip):
                continue
            if field.endswith("matid"):
                materials = [*record["material"]["name"], ""]
                mine = [*_names(model, "material", model.nmat), ""]
                if self.ignore_cosmetics:
                    continue
                for element, a, b in zip(names, getattr(model, field), value, strict=True):
                    if mine[a] != materials[b]:
                        self.differences.append(
                            f"{field}[{element}]: {mine[a]}, recorded {materials[b]}"
                        )
            elif field == "mat_texid":
                textures = [*record.get("texture", {}).get("name", []), ""]
                mine = [*[model.tex(i).name for i in range(model.ntex)], ""]
                if self.ignore_cosmetics:
                    continue
                for element, a, b in zip(names, model.mat_texid, value, strict=True):
                    if [mine[i] for i in a] != [textures[i] for i in b]:
                        self.differences.append(f"mat_texid[{element}] differs")
            else:
                if not hasattr(model, field):
                    self.differences.append(f"{field}: not a field of the model")
                    continue
                self._compare(field, getattr(model, field), value, names)


def compare(
    model: mujoco.MjModel,
    record: dict[str, Any],
    *,
    skip: tuple[str, ...] = (),
    ignore_cosmetics: bool = False,
) -> list[str]:
    """Every difference between a compiled model and a record, one line each.

    Args:
        model: the compiled model.
        record: what `facts` returns.
        skip: fields, or `sizes.<n>` of object kinds, that are not compared.
        ignore_cosmetics: leave out colours, materials, cameras, lights and draw options.
    """
    return Comparison(ignore_cosmetics).run(model, record, skip)


if __name__ == "__main__":
    found = compare(mujoco.MjModel.from_xml_path(sys.argv[1]), facts(sys.argv[2]))
    print("\n".join(found) or "equal")
    sys.exit(bool(found))
