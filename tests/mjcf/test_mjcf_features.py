"""What composition offers, where each part of it is tested, and an example that uses most of it."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from helpers.places import BENCHMARKS
from mjgym import mjcf

sys.path.insert(0, str(BENCHMARKS))

# What libraries that compose models offer: the function here, and a test of it.
FEATURES = {
    "load a model by name or path": (mjcf.load, "test_mjcf.TestLoad.test_any_file"),
    "add elements": (mjcf.add, "test_mjcf.TestAdd.test_equals_the_same_model_in_mjcf"),
    "change attributes": (
        mjcf.assign,
        "test_mjcf_elements.TestAssign.test_equals_adding_with_the_same_attributes",
    ),
    "remove elements": (mjcf.remove, "test_mjcf.TestRemove.test_every_kind"),
    "enumerations as the words of MJCF": (
        mjcf.word,
        "test_mjcf_elements.TestWords.test_every_enumerated_attribute_takes_and_gives_words",
    ),
    "unknown attributes name the nearest": (
        mjcf.add,
        "test_mjcf_elements.TestNothingIsAddedByMistake.test_in_bodies_and_frames",
    ),
    "missing elements name the nearest": (
        mjcf.find,
        "test_mjcf_elements.TestFind.test_mistakes_name_the_nearest",
    ),
    "references by handle": (
        mjcf.add,
        "test_mjcf_elements.TestHandles.test_a_handle_stands_for_a_name_and_says_its_kind",
    ),
    "references follow renames": (
        mjcf.rename,
        "test_mjcf_elements.TestRename.test_everything_follows",
    ),
    "names for unnamed elements": (
        mjcf.name_unnamed,
        "test_mjcf_elements.TestNames.test_all_that_is_unnamed_gets_a_name",
    ),
    "actuator types with their parameters": (
        mjcf.add,
        "test_mjcf_elements.TestActuators.test_equals_the_same_in_mjcf",
    ),
    "default classes": (mjcf.add, "test_mjcf_elements.TestAssign.test_default_classes"),
    "attach at a site, frame or body": (
        mjcf.attach,
        "test_mjcf_attach.TestPlaces.test_where_the_child_comes_to_be",
    ),
    "attach nothing but a prefix": (
        mjcf.attach,
        "test_mjcf_attach.TestEquals.test_alone_in_an_empty_model",
    ),
    "free joints for attached models": (mjcf.attach, "test_mjcf_attach.TestPlaces.test_free"),
    "attached models in attached models": (
        mjcf.attach,
        "test_mjcf_attach.TestHandles.test_they_survive_twice",
    ),
    "the same model several times": (
        mjcf.attach,
        "test_mjcf_attach.TestSeveralTimes.test_copies",
    ),
    "handles survive attachment": (
        mjcf.attach,
        "test_mjcf_attach.TestHandles.test_they_survive",
    ),
    "clashing classes, materials, textures": (
        mjcf.attach,
        "test_mjcf_attach.TestClashes.test_classes_materials_and_textures_of_the_same_names",
    ),
    "clashing files and folders": (
        mjcf.attach,
        "test_mjcf_attach.TestClashes.test_files_of_the_same_names",
    ),
    "merged keyframes": (
        mjcf.attach,
        "test_mjcf_attach.TestKeyframes.test_both_are_merged",
    ),
    "merged options": (mjcf.attach, "test_mjcf_attach.TestEquals.test_or_are_merged"),
    "an attached model by its own names": (
        mjcf.find,
        "test_mjcf_attach.TestHandles.test_a_child_is_searched_by_its_own_names",
    ),
    "all elements of a kind": (mjcf.find_all, "test_mjcf_elements.TestFind.test_all_of_a_kind"),
    "all but the attached": (
        mjcf.find_all,
        "test_mjcf_attach.TestHandles.test_all_but_the_attached",
    ),
    "live arrays of one simulation": (
        mjcf.bind,
        "test_mjcf_binding.TestOne.test_neighbours_are_live",
    ),
    "live arrays of many": (mjcf.bind, "test_mjcf_binding.TestMany.test_a_leading_axis"),
    "writing through them": (mjcf.bind, "test_mjcf_binding.TestOne.test_assignment_writes"),
    "export with all files": (
        mjcf.export,
        "test_mjcf_export.TestEquals.test_a_composed_model_elsewhere",
    ),
    "compile errors say which element": (
        mjcf.compile,
        "test_mjcf_debugging.TestWithoutDebugging.test_elements_of_all_sorts",
    ),
    "and which line made and changed it": (
        mjcf.debug,
        "test_mjcf_debugging.TestDebugging.test_the_lines_that_made_and_changed",
    ),
    "debugging off costs nothing": (
        mjcf.debug,
        "test_mjcf_debugging.TestDebugging.test_off_nothing_is_left",
    ),
    "debugging by the environment": (
        mjcf.debug,
        "test_mjcf_debugging.TestEnvironment.test_the_variable",
    ),
    "a model without textures": (
        mjcf.without_textures,
        "test_mjcf.TestWithoutTextures.test_the_same_physics",
    ),
}


@functools.cache
def parsed(file):
    return ast.parse(Path(__file__).with_name(f"{file}.py").read_text())


@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature_has_a_test(feature):
    function, test = FEATURES[feature]
    assert function.__doc__
    assert getattr(mjcf, function.__name__) is function
    file, group, name = test.split(".")
    tree = parsed(file)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert name in {node.name for node in classes[group].body if hasattr(node, "name")}


def test_every_function_is_a_feature():
    used = {function for function, _ in FEATURES.values()}
    own = {
        value
        for name in mjcf.__all__
        if callable(value := getattr(mjcf, name))
        and getattr(value, "__module__", "").rpartition(".")[2]
        in ("attaching", "binding", "compose", "debugging", "exporting", "finding", "renaming")
        and not isinstance(value, type)
    }
    assert own == used


EXAMPLE = """\
import mujoco

from mjgym import mjcf


def leg():
    spec = mujoco.MjSpec()
    thigh = mjcf.add(spec.worldbody, "body", name="thigh")
    hip = mjcf.add(thigh, "joint", name="hip", type="hinge", axis=[0, 1, 0], range=[-60, 60])
    mjcf.add(thigh, "geom", type="capsule", fromto=[0, 0, 0, 0, 0, -0.2], size=0.04)
    mjcf.add(spec, "actuator", name="hip", type="position", target=hip, kp=20)  # by handle
    return spec, hip


robot = mujoco.MjSpec()
mjcf.add(robot.worldbody, "geom", name="torso", type="box", size=[0.2, 0.1, 0.05])
hips = []
for name, x in {"front": 0.15, "back": -0.15}.items():
    site = mjcf.add(robot.worldbody, "site", name=name, pos=[x, 0, -0.05])
    spec, hip = leg()
    mjcf.attach(robot, spec, at=site, name=name)
    hips.append(hip)

arena = mujoco.MjSpec()
mjcf.add(arena.worldbody, "geom", name="floor", type="plane", size=[5, 5, 0.1])
start = mjcf.add(arena.worldbody, "site", name="start", pos=[0, 0, 0.35])
mjcf.attach(arena, robot, at=start, name="robot", free=True)
print(hips[0].name)  # robot/front/hip: handles survive

model = mjcf.compile(arena)
data = mujoco.MjData(model)
angles = mjcf.bind((model, data), hips)  # or a task's view, or an environment
angles.qpos = [0.3, -0.3]
mujoco.mj_step(model, data, 100)
print(angles.qpos, angles.range.shape)  # live; a batch's have an axis in front

mjcf.export(arena, "robot_in_arena")  # XML and files, for plain MuJoCo
"""


def test_the_example_of_the_readme(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first == "robot/front/hip"
    assert second.endswith("(2, 2)")
    (written,) = (tmp_path / "robot_in_arena").iterdir()
    model = mujoco.MjModel.from_xml_path(str(written))
    assert (model.nq, model.nu, model.body(1).name) == (7 + 2, 2, "robot/")
    np.testing.assert_allclose(model.joint("robot/back/hip").range, [-np.pi / 3, np.pi / 3])


class TestBenchmark:
    def test_the_scene(self):
        import compose

        result = compose.measure("mjgym", builds=1)
        legs = sum(compose.LEGS)
        sizes = {"nbody": 1 + 6 + 3 * legs, "nq": 6 * 7 + 2 * legs, "nv": 6 * 6 + 2 * legs}
        sizes |= {"ngeom": 1 + 6 + 2 * legs, "nu": 2 * legs}
        assert result["model"] == result["model"] | sizes
        assert set(result["seconds"]) == {"compose", "compile", "both"}

    @pytest.mark.slow
    def test_one_library_that_does_not_run(self, tmp_path):
        import compose

        broken = tmp_path / "python"
        broken.write_text("#!/bin/sh\necho 'ImportError: none here' >&2\nexit 1\n")
        broken.chmod(0o755)
        pythons = {"mjgym": Path(sys.executable), "dm_control": broken}
        result = compose.compare(pythons, repeats=1, builds=1)
        assert result["errors"] == {"dm_control": "ImportError: none here"}
        assert list(result["seconds"]) == ["mjgym"]
        assert result["ratios"] == {}

    def test_ratios_are_of_the_same_repeat(self):
        import compose

        taken = iter([4.0, 8.0, 40.0, 2.0, 3.0, 90.0])  # dm_control goes first in the second
        calls = []

        def run(python, subject, builds):
            calls.append(subject)
            seconds = next(taken)
            return {"seconds": dict.fromkeys(compose.PARTS, seconds), "model": {"nq": 1}}

        pythons = {"mjgym": Path(), "dm_control": Path()}
        result = compose.compare(pythons, repeats=3, builds=1, measured_by=run)
        assert calls == ["mjgym", "dm_control", "dm_control", "mjgym", "mjgym", "dm_control"]
        assert result["ratios"]["both"] == 20
        assert result["seconds"]["mjgym"]["both"] == 3
        assert result["seconds"]["dm_control"]["both"] == 40

    def test_different_models_are_not_compared(self):
        import compose

        models = iter([1, 2])

        def run(python, subject, builds):
            seconds = dict.fromkeys(compose.PARTS, 1.0)
            return {"seconds": seconds, "model": {"nq": next(models)}}

        pythons = {"mjgym": Path(), "dm_control": Path()}
        with pytest.raises(RuntimeError, match="different models"):
            compose.compare(pythons, repeats=1, builds=1, measured_by=run)

    @pytest.mark.parametrize("wrong", [["--repeats", "0"], ["--builds", "-1"], ["--subject", "x"]])
    def test_arguments(self, wrong, capsys):
        import compose

        with pytest.raises(SystemExit) as stopped:
            compose.parse(wrong)
        assert stopped.value.code == 2
        assert wrong[0] in capsys.readouterr().err
