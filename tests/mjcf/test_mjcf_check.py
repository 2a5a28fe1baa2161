"""What is wrong with a model's file is found at its line, with the nearest valid word."""

import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from helpers.places import ASSETS, DATA
from helpers.small_process import run_small
from mjgym import mjcf
from mjgym.mjcf.lint.checking import check
from mjgym.mjcf.lint.reading import Malformed, parse

MODELS = sorted(ASSETS.glob("dmc/*.xml"))
FOLDER = DATA / "mjcf"

ARM = """\
<mujoco model="arm">
  <compiler autolimits="true" meshdir="parts"/>
  <option timestep=".002" integrator="implicitfast">
    <flag contact="enable"/>
  </option>
  <default>
    <geom type="capsule" size=".03"/>
    <default class="finger">
      <geom size=".01"/>
    </default>
  </default>
  <include file="scene.xml"/>
  <asset>
    <mesh name="palm" file="palm.obj"/>
    <material name="steel" rgba=".5 .5 .6 1"/>
  </asset>
  <worldbody>
    <frame pos="0 0 1">
      <body name="upper">
        <joint name="shoulder" axis="0 1 0" range="-90 90"/>
        <geom name="upper" fromto="0 0 0 .3 0 0" material="steel"/>
        <body name="hand" pos=".3 0 0" childclass="finger">
          <joint name="wrist"
                 axis="0 0 1"/>
          <geom name="palm" type="mesh" mesh="palm" density="500"/>
          <geom name="thumb" fromto="0 0 0 .1 0 0"/>
          <site name="grip" pos=".1 0 0"/>
        </body>
      </body>
    </frame>
  </worldbody>
  <tendon>
    <fixed name="both">
      <joint joint="shoulder" coef="1"/>
      <joint joint="wrist" coef="-1"/>
    </fixed>
  </tendon>
  <actuator>
    <motor name="shoulder" joint="shoulder" gear="20"/>
    <position name="wrist" joint="wrist" kp="5"/>
    <motor name="both" tendon="both"/>
  </actuator>
  <sensor>
    <touch name="grip" site="grip"/>
    <framepos name="hand" objtype="body" objname="hand"/>
  </sensor>
  <contact>
    <exclude body1="upper" body2="hand"/>
  </contact>
  <equality>
    <weld name="held" body1="hand" body2="box" active="false"/>
  </equality>
  <keyframe>
    <key name="up" qpos="0 0 1 1 0 0 0 .5 .5" ctrl="0 .1 0"/>
  </keyframe>
</mujoco>
"""

SCENE = """\
<mujocoinclude>
  <!-- A floor -- and what lies on it. -->
  <worldbody>
    <light name="lamp" type="spot" pos="0 0 3"/>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <include file="box.xml"/>
  </worldbody>
</mujocoinclude>
"""

BOX = """\
<mujocoinclude>
  <body name="box" pos="0 0 1">
    <freejoint/>
    <geom name="box" type="box" size=".1 .1 .1"/>
  </body>
</mujocoinclude>
"""

PALM = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"

FILES = {"arm.xml": ARM, "scene.xml": SCENE, "box.xml": BOX, "parts/palm.obj": PALM}


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / next(iter(files))


def changed(file, good, bad):
    """The arm with something else in one of its files."""
    assert FILES[file].count(good) == 1, good
    return {**FILES, file: FILES[file].replace(good, bad)}


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


def engine_takes(path):
    try:
        mujoco.MjSpec.from_file(str(path)).compile()
    except (ValueError, RuntimeError):
        return False
    return True


# One mistake each: the file, the right text, the wrong one; what the wrong word is, and the word
# that should be offered instead, with which the model is right again.
SLIPS = {
    "an element in a body": ("arm.xml", '<site name="grip"', '<siet name="grip"', "siet", "site"),
    "an element in a section": ("arm.xml", "<framepos ", "<framepose ", "framepose", "framepos"),
    "an attribute": ("arm.xml", 'density="500"', 'densty="500"', "densty", "density"),
    "an attribute in capitals": ("arm.xml", 'pos=".3 0 0"', 'Pos=".3 0 0"', "Pos", "pos"),
    "a word": ("arm.xml", 'type="capsule"', 'type="capsul"', "capsul", "capsule"),
    "a word in capitals": (
        "arm.xml",
        '"implicitfast"',
        '"ImplicitFast"',
        "ImplicitFast",
        "implicitfast",
    ),
    "yes or no": ("arm.xml", 'active="false"', 'active="flase"', "flase", "false"),
    "an actuator's joint": ("arm.xml", '"shoulder" gear', '"sholder" gear', "sholder", "shoulder"),
    "a sensor's site": ("arm.xml", 'site="grip"', 'site="girp"', "girp", "grip"),
    "an excluded body": ("arm.xml", 'body1="upper"', 'body1="uper"', "uper", "upper"),
    "a welded body of another file": ("arm.xml", 'body2="box"', 'body2="bx"', "bx", "box"),
    "a mesh": ("arm.xml", 'mesh="palm"', 'mesh="plam"', "plam", "palm"),
    "a class": ("arm.xml", 'childclass="finger"', 'childclass="fingr"', "fingr", "finger"),
    "a mesh's file": ("arm.xml", "palm.obj", "plam.obj", "plam.obj", "palm.obj"),
    "an included file": ("arm.xml", "scene.xml", "scen.xml", "scen.xml", "scene.xml"),
    "a frame's attribute": ("arm.xml", '<frame pos="', '<frame poss="', "poss", "pos"),
    "an element of an included file": ("scene.xml", "<light ", "<lihgt ", "lihgt", "light"),
    "an include in an include": ("scene.xml", "box.xml", "bx.xml", "bx.xml", "box.xml"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_named_with_file_line_and_nearest_word(slip, tmp_path):
    """With that word the model is right; the engine overlooks only what is in frames."""
    file, good, bad, wrong, right = SLIPS[slip]
    main = write(tmp_path, changed(file, good, bad))
    (problem,) = check(main)
    assert problem.file == tmp_path / file
    element = FILES[file].rindex("<", 0, FILES[file].index(good) + 1)
    assert problem.line == FILES[file][:element].count("\n") + 1
    assert repr(wrong) in problem.message
    assert problem.nearest[0] == right
    assert str(problem).startswith(f"{problem.file}:{problem.line}: ")
    assert f"did you mean {right}" in str(problem)
    ignored = ("a frame's attribute", "an attribute", "an attribute in capitals")
    assert engine_takes(main) == slip.startswith(ignored)
    (tmp_path / file).write_text(FILES[file].replace(good, bad.replace(wrong, right)))
    assert check(main) == []
    assert engine_takes(main)


class Fault(NamedTuple):
    """A mistake that is no misspelt word."""

    file: str
    good: str
    bad: str
    at: str  # how the element begins that is to be named, in the changed file
    message: str


STEEL, DENSITY = 'rgba=".5 .5 .6 1"', 'density="500"'
IN_SCENE = '<include file="scene.xml"/>'
IN_BOX = '<include file="box.xml"/>'
BOX_GEOM = '<geom name="box" type="box" size=".1 .1 .1"/>'
FLAG = '<flag contact="enable"/>'
NO_PLUGIN = '<extension>\n<plugin plugin="no.such"/>\n</extension>\n<tendon>'

FAULTS = {
    "too many numbers": Fault(
        *("arm.xml", STEEL, 'rgba="1 1 1 1 1"', "<material", "attribute 'rgba' has too much data")
    ),
    "a repeated name": Fault(
        *(
            "arm.xml",
            '"thumb"',
            '"palm"',
            '<geom name="palm" fromto',
            "repeated name 'palm' in geom",
        )
    ),
    "a needed attribute": Fault(
        *("arm.xml", ' body2="hand"', "", "<exclude", "required attribute missing: 'body2'")
    ),
    "a size": Fault("box.xml", '".1 .1 .1"', '".1 -1 .1"', "<geom", "must be positive"),
    "no mass": Fault("box.xml", BOX_GEOM, "", "<body", "mass and inertia of moving bodies"),
    "a keyframe's size": Fault(
        *("arm.xml", "0 .5 .5", "0 .5 .5 .5", "<key ", "invalid qpos size, expected 9, got 10")
    ),
    "two of a kind": Fault(
        *("arm.xml", FLAG, f"<flag/>\n{FLAG}", FLAG, "a second flag in option, first at")
    ),
    "a wrong place": Fault(
        *("arm.xml", "<tendon>", '<motor joint="wrist"/>\n<tendon>', '<motor joint="wrist"'),
        "'motor' is no element of mujoco but of actuator",
    ),
    "attributes of the world": Fault(
        *("scene.xml", "<worldbody", '<worldbody pos="1 0 0"', "<worldbody", "no attribute 'pos'")
    ),
    "an include of nothing": Fault(
        *("scene.xml", IN_BOX, "<include/>", "<include", "needs the attribute 'file'")
    ),
    "an include in a circle": Fault(
        *("box.xml", "<freejoint/>", IN_SCENE, "<include", "comes twice or in a circle")
    ),
    "an include twice": Fault(
        *("arm.xml", IN_SCENE, f'{IN_SCENE}\n<include file="./scene.xml"/>', "<include file='./"),
        "comes twice or in a circle",
    ),
    "a plug-in": Fault("arm.xml", "<tendon>", NO_PLUGIN, "<plugin", "plugin no.such not found"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_misspelt_word_is_found_at_its_line(fault, tmp_path):
    file, good, bad, at, message = FAULTS[fault]
    files = changed(file, good, bad)
    main = write(tmp_path, files)
    (problem,) = check(main)
    assert message in problem.message
    assert problem.file == tmp_path / file
    assert problem.line == line_of(files[file], at.replace("'", '"'))
    assert not engine_takes(main)


class TestNoModel:
    @pytest.mark.parametrize(
        ("text", "line", "message", "nearest"),
        [
            ("<mujoco>\n<asset>\n</mujoco>", 3, "tag mismatch: asset line 2", None),
            ("<mujoco>\n<option timestep='1/>\n</mujoco>", 3, "no XML: unescaped", None),
            ("<mujoco>\n<option a='1' a='2'/>\n</mujoco>", 2, "attribute a redefined", None),
            ("<mujoco>\n", 2, "no XML: premature end", None),
            ("", 1, "the file is empty", None),
            ("<mujco>\n<option/></mujco>", 1, "is mujoco or robot, not 'mujco'", "mujoco"),
            ("<model/>", 1, "is mujoco or robot, not 'model'", None),
            ("<mujoco>\n<?x y?>\n</mujoco>", 2, "XML parse error", None),
        ],
    )  # fmt: skip
    def test_what_is_no_model(self, text, line, message, nearest, tmp_path):
        main = write(tmp_path, {"m.xml": text})
        (problem,) = check(main)
        assert problem.line == line
        assert message in problem.message
        assert problem.nearest[:1] == ((nearest,) if nearest else ())
        assert not engine_takes(main)

    def test_a_file_that_is_not_there(self, tmp_path):
        write(tmp_path, FILES)
        with pytest.raises(FileNotFoundError, match=r"no file .*arn\.xml; did you mean .*arm\.xml"):
            check(tmp_path / "arn.xml")

    def test_an_included_file_that_is_no_xml(self, tmp_path):
        (problem,) = check(write(tmp_path, changed("box.xml", "<freejoint/>", "<freejoint>")))
        assert (problem.file, problem.line) == (tmp_path / "box.xml", 5)
        assert "tag mismatch: freejoint" in problem.message

    def test_a_body_outside_the_world_which_the_engine_ignores(self, tmp_path):
        files = changed("arm.xml", "<tendon>", '<body name="lost"/>\n<tendon>')
        main = write(tmp_path, files)
        assert engine_takes(main)
        (problem,) = check(main)
        assert problem.line == line_of(files["arm.xml"], '<body name="lost"')
        assert problem.nearest == ("worldbody",)
        assert "the engine ignores it" in problem.message


class TestSeveral:
    """What differs from the schema comes first, then missing files, then the engine's errors."""

    FILES = {
        **FILES,
        "arm.xml": ARM.replace('timestep="', 'timstep="')
        .replace("palm.obj", "plam.obj")
        .replace('"shoulder" gear', '"sholder" gear')
        .replace('site="grip"', 'site="girp"'),
        "box.xml": BOX.replace("freejoint", "freejiont").replace('size="', 'sise="'),
    }
    ORDER = (("timstep", "timestep"), ("freejiont", "freejoint"), ("sise", "size"))

    def mended(self, *pairs):
        files = dict(self.FILES)
        for wrong, right in pairs:
            files = {name: text.replace(wrong, right) for name, text in files.items()}
        return files

    def test_the_schema_across_files_in_the_order_of_the_text(self, tmp_path):
        problems = check(write(tmp_path, self.FILES))
        assert [(p.file.name, p.line, p.nearest[:1]) for p in problems] == [
            ("arm.xml", line_of(self.FILES["arm.xml"], "timstep"), ("timestep",)),
            ("box.xml", 3, ("freejoint",)),
            ("box.xml", 4, ("size",)),
        ]

    def test_missing_files_next(self, tmp_path):
        (problem,) = check(write(tmp_path, self.mended(*self.ORDER)))
        assert problem.line == line_of(self.FILES["arm.xml"], "plam")
        assert problem.nearest == ("palm.obj",)

    def test_then_the_errors_of_the_engine_one_by_one(self, tmp_path):
        order = [*self.ORDER, ("plam", "palm")]
        for wrong, right in (("sholder", "shoulder"), ("girp", "grip")):
            (problem,) = check(write(tmp_path, self.mended(*order)))
            assert problem.line == line_of(self.FILES["arm.xml"], wrong)
            assert problem.nearest[0] == right
            order.append((wrong, right))
        assert check(write(tmp_path, self.mended(*order))) == []

    @pytest.mark.parametrize(
        "file", mostly_nightly(["box.xml", "scene.xml", "arm.xml"], quick=["box.xml", "scene.xml"])
    )
    def test_every_attribute_and_every_empty_element_misspelt(self, file, tmp_path):
        """Each by itself, with a letter twice: found where it is, alone, with the right word."""
        text = FILES[file]
        words = [m.span(1) for m in re.finditer(r"\s(\w+)=\"", text)]
        words += [m.span(1) for m in re.finditer(r"<(\w+)[^<>]*/>", text)]
        assert len(words) > 5
        for start, stop in words:
            wrong = f"{text[: start + 1]}{text[start:]}"
            problems = check(write(tmp_path, {**FILES, file: wrong}))
            place = text[:start].rindex("<")
            at = (tmp_path / file, text[:place].count("\n") + 1)
            right = text[start:stop]
            assert [(p.file, p.line) for p in problems] == [at], (right, problems)
            assert problems[0].nearest[0] == right

    def test_what_follows_from_a_mistake_is_not_reported(self, tmp_path):
        """Without the body there are no joint, site, tendon, actuators, sensors and keyframe."""
        files = changed("arm.xml", '<body name="hand"', '<bxyz name="hand"')
        files["arm.xml"] = files["arm.xml"].replace(
            "</body>\n      </body>", "</bxyz>\n      </body>"
        )
        (problem,) = check(write(tmp_path, files))
        assert "'bxyz' is no element of body 'upper'" in problem.message


class TestBoundedWork:
    """How often the engine is asked, which is what takes time."""

    @pytest.fixture
    def asked(self, monkeypatch):
        """The lengths of the texts that the engine's parser is given."""
        lengths = []
        real = mujoco.MjSpec.from_string

        def from_string(text, *arguments):
            lengths.append(len(text))
            return real(text, *arguments)

        monkeypatch.setattr(mujoco.MjSpec, "from_string", from_string)
        return lengths

    def model(self, tmp_path, lines):
        path = tmp_path / "model.xml"
        path.write_text("\n".join(["<mujoco><worldbody>", *lines, "</worldbody></mujoco>"]))
        return path

    def test_a_word(self, tmp_path, asked):
        (problem,) = check(self.model(tmp_path, ['<geom type="spere" size=".1"/>']))
        assert problem.nearest[0] == "sphere"
        assert len(asked) < 3  # not once for each word

    def test_numbers_in_a_large_model(self, tmp_path, asked):
        lines = ['<body><joint axis="1 0 0 0 0"/><geom size=".1"/></body>'] * 1000
        (problem,) = check(self.model(tmp_path, lines))
        assert problem.line == 2
        assert "has too much data" in problem.message
        assert len([length for length in asked if length > 10_000]) == 1

    def test_a_word_that_looks_like_nothing(self, tmp_path, asked):
        (problem,) = check(self.model(tmp_path, ["<geom type='qqq'/>"]))
        assert "qqq" in problem.message
        assert len(asked) < 3


class TestUnreadable:
    """What once ended in an exception."""

    def test_elements_deeper_than_python_recurses(self, tmp_path):
        path = tmp_path / "deep.xml"
        depth = 2 * sys.getrecursionlimit()
        bodies = "<body>" * depth + "</body>" * depth
        path.write_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
        (problem,) = check(path)
        assert "too deep" in problem.message

    @pytest.mark.slow
    def test_a_long_chain_of_includes(self, tmp_path):
        count = 2 * sys.getrecursionlimit()
        for i in range(count):
            (tmp_path / f"{i}.xml").write_text(f'<mujoco><include file="{i + 1}.xml"/></mujoco>')
        (problem,) = check(tmp_path / "0.xml")
        assert problem.file.name == f"{count - 1}.xml"
        assert "there is no file" in problem.message

    @pytest.mark.slow
    def test_a_long_chain_of_attached_models(self, tmp_path):
        text = "<mujoco><asset><model name='m' file='{}.xml'/></asset></mujoco>"
        for i in range(60):
            (tmp_path / f"{i}.xml").write_text(text.format(i + 1))
        (problem,) = check(tmp_path / "0.xml")
        assert "models attach models more than 50 deep" in problem.message

    @pytest.mark.parametrize("encoding", ["bogus", "utf-7"])
    def test_an_unknown_encoding(self, tmp_path, encoding):
        path = tmp_path / "model.xml"
        path.write_text(f'<?xml version="1.0" encoding="{encoding}"?><mujoco/>')
        (problem,) = check(path)
        assert problem.message.startswith("no XML: ")

    @pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file like that")
    def test_a_file_that_cannot_be_read(self, tmp_path):
        path = tmp_path / "model.xml"
        (tmp_path / "bad.xml").symlink_to("/proc/self/mem")
        path.write_text('<mujoco><include file="bad.xml"/></mujoco>')
        (problem,) = check(path)
        assert "cannot be read: Input/output error" in problem.message
        (problem,) = check(tmp_path / "bad.xml")
        assert "cannot be read: Input/output error" in problem.message


class TestGoodModels:
    @pytest.mark.parametrize("path", mostly_nightly(MODELS, quick=12), ids=lambda p: p.stem)
    def test_of_this_package_have_no_problem(self, path):
        assert check(path) == []

    def test_two_hyphens_in_a_comment_are_let_pass(self, tmp_path):
        assert re.search("<!-- .*--.* -->", SCENE)
        assert check(write(tmp_path, FILES)) == []

    @pytest.mark.slow
    def test_bodies_as_deep_as_the_engine_takes_them(self, tmp_path):
        depth = 450
        body = '<body pos="0 0 .1"><joint/><geom size=".01"/>'
        text = f"<mujoco><worldbody>{body * depth}{'</body>' * depth}</worldbody></mujoco>"
        assert check(write(tmp_path, {"m.xml": text})) == []
        deepest = f"{body * (depth - 1)}\n{body.replace('size', 'sise')}"
        (problem,) = check(write(tmp_path, {"m.xml": text.replace(body * depth, deepest)}))
        assert (problem.line, problem.nearest[0]) == (2, "size")

    def test_a_relative_path_gives_relative_paths(self, tmp_path, monkeypatch):
        write(tmp_path, changed("box.xml", "size", "sise"))
        monkeypatch.chdir(tmp_path)
        (problem,) = check("arm.xml")
        assert problem.file == Path("box.xml")
        assert str(problem).startswith("box.xml:4: ")

    def test_nothing_is_written_and_no_warning_comes(self, tmp_path, monkeypatch, capfd):
        """The engine warns of numbers that are none in a log file of the working folder."""
        main = write(tmp_path, changed("arm.xml", 'kp="5"', 'kp="nan"'))
        before = sorted(os.listdir(tmp_path))
        monkeypatch.chdir(tmp_path)
        check(main)
        assert sorted(os.listdir(tmp_path)) == before
        assert capfd.readouterr() == ("", "")


class TestFolders:
    """Files are looked for where the engine looks for them."""

    @pytest.mark.parametrize(
        ("compiler", "file", "place", "fine"),
        [
            ("", "a.obj", "a.obj", True),
            ("", "a.obj", "b/a.obj", False),
            ('<compiler meshdir="b"/>', "a.obj", "a.obj", False),
            ('<compiler meshdir="b"/>', "a.obj", "b/a.obj", True),
            ('<compiler assetdir="b"/>', "a.obj", "b/a.obj", True),
            ('<compiler assetdir="c" meshdir="b"/>', "a.obj", "b/a.obj", True),
            ('<compiler meshdir="b"/><compiler assetdir="c"/>', "a.obj", "b/a.obj", False),
            ('<compiler meshdir="b"/>', "c/a.obj", "b/a.obj", False),
            ('<compiler meshdir="b" strippath="true"/>', "c/a.obj", "b/a.obj", True),
            ('<compiler texturedir="b"/>', "a.obj", "b/a.obj", False),
        ],
    )
    def test_of_meshes(self, compiler, file, place, fine, tmp_path):
        text = (
            f'<mujoco>{compiler}<asset>\n<mesh name="m" file="{file}"/></asset>\n'
            '<worldbody><geom type="mesh" mesh="m"/><geom size="-1"/></worldbody></mujoco>'
        )
        main = write(tmp_path, {"m.xml": text.replace("-1", "1"), place: PALM})
        assert engine_takes(main) == fine
        assert (check(main) == []) == fine
        main.write_text(text)  # the same with another mistake
        assert [p.line for p in check(main)] == ([3] if fine else [2])

    @pytest.mark.parametrize("place", ["i/a.obj", "a.obj", "b/a.obj"])
    def test_of_an_included_file(self, place, tmp_path):
        files = {
            "m.xml": '<mujoco><include file="i/i.xml"/><worldbody>'
            '<geom type="mesh" mesh="m"/>\n<geom size="1"/></worldbody></mujoco>',
            "i/i.xml": '<x>\n<compiler meshdir="b"/>\n'
            '<asset>\n<mesh name="m" file="a.obj"/></asset></x>',
            place: PALM,
        }
        main = write(tmp_path, files)
        fine = place != "a.obj"
        assert engine_takes(main) == fine
        assert [(p.file.name, p.line) for p in check(main)] == ([] if fine else [("i.xml", 4)])


class TestAttachedModels:
    MAIN = """\
<mujoco>
  <asset>
    <model name="tool" file="tool.xml"/>
  </asset>
  <worldbody>
    <attach model="tool" body="blade" prefix="t-"/>
  </worldbody>
  <sensor><framepos objtype="body" objname="t-blade"/></sensor>
</mujoco>
"""
    TOOL = """\
<mujoco>
  <worldbody>
    <body name="blade">
      <geom size=".1"/>
    </body>
  </worldbody>
</mujoco>
"""

    def test_are_checked_in_their_own_file(self, tmp_path):
        files = {"m.xml": self.MAIN, "tool.xml": self.TOOL.replace("size", "sise")}
        (problem,) = check(write(tmp_path, files))
        assert (problem.file, problem.line, problem.nearest) == (
            tmp_path / "tool.xml",
            4,
            ("size",),
        )

    def test_fine(self, tmp_path):
        assert check(write(tmp_path, {"m.xml": self.MAIN, "tool.xml": self.TOOL})) == []

    def test_a_body_that_they_do_not_have(self, tmp_path):
        main = self.MAIN.replace('body="blade"', 'body="blad"')
        problems = check(write(tmp_path, {"m.xml": main, "tool.xml": self.TOOL}))
        assert (problems[0].line, problems[0].nearest) == (6, ("blade",))

    def test_without_a_file_they_never_reach_the_engine(self, tmp_path):
        """After such a model the engine waits for ever at the next file that it opens."""
        files = {
            **FILES,
            "m.xml": self.MAIN.replace(' file="tool.xml"', ""),
            "n.xml": self.MAIN.replace("<model ", "<modl "),
            "tool.xml": self.TOOL,
        }
        write(tmp_path, files)
        program = (
            "from mjgym.mjcf.lint.checking import check\n"
            "for name in ('m.xml', 'n.xml', 'arm.xml'): print(len(check(name)))"
        )
        assert run_small(program, folder=tmp_path).split() == ["1", "1", "0"]

    def test_one_that_attaches_itself(self, tmp_path):
        (problem,) = check(write(tmp_path, {"m.xml": self.MAIN.replace("tool.xml", "m.xml")}))
        assert "attaches itself" in problem.message


class TestSchema:
    def test_places_in_the_text(self):
        text = b'<a>\n <b\n  c=">" d=\'"\'\n />\n <e>x</e ></a>'
        root = parse(text, Path("f"))
        assert [(n.tag, n.line, text[n.start : n.stop]) for n in root.walk()] == [
            ("a", 1, text),
            ("b", 2, b'<b\n  c=">" d=\'"\'\n />'),
            ("e", 5, b"<e>x</e >"),
        ]
        with pytest.raises(Malformed, match="f:1: "):
            parse(b"<a", Path("f"))


class TestOtherProjects:
    """Models laid out as others do load, are found right, and compose."""

    def attached(self, path):
        arena = mujoco.MjSpec.from_string(
            '<mujoco model="arena"><option timestep=".004" integrator="implicitfast"/><worldbody>'
            '<geom name="ground" type="plane" size="5 5 .1"/><site name="here" pos="1 0 .5"/>'
            "</worldbody></mujoco>"
        )
        mjcf.attach(arena, mjcf.load(path), arena.site("here"))
        return mjcf.compile(arena)

    def test_mjcf_with_nested_includes(self):
        path = FOLDER / "desk" / "desk.xml"
        assert check(path) == []
        model = self.attached(path)
        assert [model.joint(i).name for i in range(model.njnt)] == ["desk/turn", "desk/slide"]
        assert [model.actuator(i).name for i in range(model.nu)] == ["desk/turn", "desk/slide"]
        np.testing.assert_allclose(model.joint("desk/turn").range, [-1.5, 1.5])  # radians
        np.testing.assert_allclose(model.mesh("desk/wedge").vertnum, 4)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        # The site's place, and those of base, link, finger and tip, each in the one before.
        tip = np.sum(
            [(1, 0, 0.5), (-0.3, 0, 0.05), (0, 0, 0.05), (0.2, 0, 0), (0.05, 0, 0)], axis=0
        )
        np.testing.assert_allclose(data.site("desk/tip").xpos, tip, atol=1e-12)

    def test_urdf(self):
        path = FOLDER / "slewer" / "slewer.urdf"
        assert check(path) == []
        model = self.attached(path)
        assert [model.joint(i).name for i in range(model.njnt)] == ["slewer/slew", "slewer/travel"]
        np.testing.assert_allclose(model.joint("slewer/slew").range, [-2, 2])  # radians
        assert model.joint("slewer/travel").type == mujoco.mjtJoint.mjJNT_SLIDE
        np.testing.assert_allclose(model.body("slewer/jib").mass, 0.5)
        assert model.mesh("slewer/counterweight").vertnum == 4

    @pytest.mark.parametrize(
        ("good", "bad", "at", "message"),
        [
            (
                '<child link="trolley"/>',
                '<child link="troley"/>',
                '<joint name="travel"',
                "child missing",
            ),
            (
                'type="prismatic"',
                'type="prismatik"',
                '<joint name="travel"',
                "did you mean prismatic",
            ),
            (
                "counterweight.obj",
                "conterweight.obj",
                "<mesh",
                "did you mean counterweight.obj",
            ),
            ('<mass value=".5"/>', '<mass vaule=".5"/>', "<mass vaule", "missing: 'value'"),
        ],
    )
    def test_a_urdf_with_a_mistake(self, good, bad, at, message, tmp_path):
        text = (FOLDER / "slewer" / "slewer.urdf").read_text()
        mesh = (FOLDER / "slewer" / "meshes" / "counterweight.obj").read_text()
        assert text.count(good) == 1
        text = text.replace(good, bad)
        files = {"slewer.urdf": text, "meshes/counterweight.obj": mesh}
        (problem,) = check(write(tmp_path, files))
        assert problem.line == text[: text.rindex(at)].count("\n") + 1
        assert message in str(problem)
