"""Every compiled model of the suite against the recorded numbers."""

import copy

import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.model_facts import compare, facts
from helpers.suite import TASKS, task

# Numbers that the published suite writes at the start of each episode although they are constant
# for the task: ours are in the model.
CONSTANTS = {
    "finger-spin": {"dof_damping[hinge]", "site_rgba[target]", "site_rgba[tip]"},
    "finger-turn_easy": {"site_size[target]"},
    "fish-upright": {"geom_rgba[target]"},
    "reacher-hard": {"geom_size[target]", "geom_rbound[target]", "geom_aabb[target]"},
}
MESH = 7  # mjtGeom
LOOK = "look_"  # how the names of the dog's visible parts begin: they take the meshes' place


DOGS = [name for name in TASKS if name.startswith("dog")]


@pytest.mark.parametrize(
    "name",
    mostly_slow([n for n in TASKS if n not in DOGS], 4),
)
def test_model_equals_the_record(name):
    model = task(name).model().compile()
    differences = compare(model, facts(TASKS[name]["model"]))
    assert {d.split(":")[0] for d in differences} == CONSTANTS.get(name, set()), differences


class WithoutLook:
    """The dog's model as if its visible parts were not there."""

    def __init__(self, model):
        self._model = model
        self._geoms = [i for i in range(model.ngeom) if not model.geom(i).name.startswith(LOOK)]
        self._materials = [i for i in range(model.nmat) if not model.mat(i).name.startswith(LOOK)]
        self.ngeom, self.nmat = len(self._geoms), len(self._materials)

    def geom(self, i):
        return self._model.geom(self._geoms[i])

    def material(self, i):
        return self._model.material(self._materials[i])

    def __getattr__(self, name):
        value = getattr(self._model, name)
        if name.startswith("geom_"):
            return value[self._geoms]
        return value[self._materials] if name.startswith("mat_") else value


def _without_meshes(record):
    """The dog's record without its skeleton, which is only visible, and without its skin."""
    record = copy.deepcopy(record)
    kinds = record["geom"]["geom_type"]
    shapes = [*((record["geom"], field) for field in record["geom"])]
    shapes += [(record["arrays"], field) for field in ("geom_rbound", "geom_aabb")]
    for part, field in shapes:
        part[field] = [x for x, kind in zip(part[field], kinds, strict=True) if kind != MESH]
    names = record["material"]["name"]
    skin = names.index("skin")
    record["geom"]["geom_matid"] = [m - (m > skin) for m in record["geom"]["geom_matid"]]
    for field, values in record["material"].items():
        record["material"][field] = [x for x, n in zip(values, names, strict=True) if n != "skin"]
    textures = record["texture"]["name"].index("skin")
    record["texture"]["name"].remove("skin")
    texid = np.array(record["material"]["mat_texid"])
    record["material"]["mat_texid"] = (texid - (texid > textures)).tolist()
    record["sizes"]["ngeom"] = len(record["geom"]["name"])
    record["sizes"]["nmat"] -= 1
    record["sizes"]["ntex"] -= 1
    del record["geom"]["geom_dataid"], record["sizes"]["nmesh"], record["sizes"]["nskin"]
    return record


@pytest.mark.parametrize("name", mostly_slow(DOGS, 5))
def test_dog_equals_the_record_but_for_its_look(name):
    model = task(name).model().compile()
    assert model.nmesh == model.nskin == 0
    look = np.array([model.geom(i).name.startswith(LOOK) for i in range(model.ngeom)])
    assert not model.geom_contype[look].any()
    assert not model.geom_conaffinity[look].any()
    assert compare(WithoutLook(model), _without_meshes(facts(TASKS[name]["model"]))) == []


def test_a_changed_number_is_seen():
    model = task("walker-walk").model().compile()
    model.body_mass[2] *= 1 + 1e-8
    model.geom_friction[1, 0] += 1e-8
    differences = compare(model, facts(TASKS["walker-walk"]["model"]))
    assert [d.split("[")[0] for d in differences] == ["body_mass", "geom_friction"]
