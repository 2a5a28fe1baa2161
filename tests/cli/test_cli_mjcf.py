"""`mjgym mjcf` through its console script."""

import json
import os

import pytest

from helpers import commands

pytestmark = pytest.mark.slow


ARM = """\
<mujoco model="arm">
  <include file="common.xml"/>
  <worldbody>
    <!-- its only body -->
    <body name="upper">
      <joint name="shoulder" damping=".1"/>
      <geom name="upper" size=".1"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="shoulder" joint="shoulder"/>
  </actuator>
</mujoco>
"""
COMMON = '<mujocoinclude>\n  <option timestep=".01"/>\n</mujocoinclude>\n'


@pytest.fixture
def folder(tmp_path):
    """A good model, one with two mistakes in two files, and one that differs from the first."""
    write(tmp_path / "arm.xml", ARM)
    write(tmp_path / "common.xml", COMMON)
    wrong = ARM.replace("damping", "dampng")
    write(tmp_path / "wrong.xml", wrong.replace("common.xml", "bad.xml"))
    write(tmp_path / "bad.xml", COMMON.replace("timestep", "timstep"))
    other = ARM.replace('".1"/>\n    </b', '".2"/>\n      <site name="tip"/>\n    </b')
    write(tmp_path / "other.xml", other.replace('damping=".1"', 'damping=".3"'))
    return tmp_path


def write(path, text):
    path.write_text(text)


def mjcf(folder, *arguments, code=0, columns=200):
    """What a command prints, run in a folder."""
    variables = {**os.environ, "COLUMNS": str(columns)}
    done = commands.run("mjcf", *arguments, folder=folder, environment=variables)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


class TestCheck:
    @pytest.mark.weekly
    def test_a_good_model(self, folder):
        done = mjcf(folder, "check", "arm.xml")
        assert done.stdout == ""
        assert done.stderr == "models: 1, problems: 0\n"

    @pytest.mark.weekly
    def test_all_problems_with_file_line_and_nearest_word(self, folder):
        done = mjcf(folder, "check", "arm.xml", "wrong.xml", code=1)
        assert done.stdout.splitlines() == [
            "wrong.xml:6: joint 'shoulder' has no attribute 'dampng'; did you mean damping?",
            "bad.xml:2: option has no attribute 'timstep'; did you mean timestep?",
        ]
        assert done.stderr == "models: 2, problems: 2\n"

    def test_json(self, folder):
        assert json.loads(mjcf(folder, "check", "arm.xml", "--json").stdout) == []
        found = json.loads(mjcf(folder, "check", "wrong.xml", "--json", code=1).stdout)
        assert found[1] == {
            "file": "bad.xml",
            "line": 2,
            "message": "option has no attribute 'timstep'",
            "nearest": ["timestep"],
        }
        assert len(found) == 2

    def test_a_problem_that_two_models_share_comes_once(self, folder):
        write(folder / "second.xml", '<mujoco><include file="bad.xml"/></mujoco>')
        write(folder / "third.xml", '<mujoco><include file="bad.xml"/></mujoco>')
        done = mjcf(folder, "check", "second.xml", "third.xml", code=1)
        assert len(done.stdout.splitlines()) == 1

    def test_a_file_that_is_not_there(self, folder):
        done = mjcf(folder, "check", "arn.xml", code=2)
        assert "arm.xml" in done.stderr
        assert mjcf(folder, "check", code=2).stdout == ""


class TestDiff:
    def test_the_same(self, folder):
        done = mjcf(folder, "diff", "arm.xml", "arm.xml")
        assert done.stdout == ""
        assert done.stderr == "differences: 0\n"

    def test_what_differs(self, folder):
        lines = mjcf(folder, "diff", "arm.xml", "other.xml", code=1).stdout.splitlines()
        rows = [line.split() for line in lines]
        assert rows[0] == ["kind", "name", "field", "A", "B"]
        assert ["joint", "shoulder", "damping", "0.1", "0.3"] in rows
        assert ["geom", "upper", "size", "0.1", "0", "0", "0.2", "0", "0"] in rows
        assert ["site", "tip", "added"] in rows
        assert not any("invweight0" in row for row in rows)

    def test_in_lines_where_a_table_is_too_wide(self, folder):
        done = mjcf(folder, "diff", "arm.xml", "other.xml", code=1, columns=40)
        assert "joint 'shoulder': damping 0.1 -> 0.3" in done.stdout.splitlines()
        assert "site 'tip': added" in done.stdout.splitlines()

    def test_with_what_is_derived(self, folder):
        done = mjcf(folder, "diff", "arm.xml", "other.xml", "--derived", code=1)
        assert "invweight0" in done.stdout

    def test_tolerance(self, folder):
        write(folder / "near.xml", ARM.replace('damping=".1"', 'damping=".1001"'))
        mjcf(folder, "diff", "arm.xml", "near.xml", "--tolerance", "1e-3")
        mjcf(folder, "diff", "arm.xml", "near.xml", "--tolerance", "1e-5", code=1)
        mjcf(folder, "diff", "arm.xml", "near.xml", "--tolerance", "-1", code=2)

    def test_json(self, folder):
        found = json.loads(mjcf(folder, "diff", "arm.xml", "other.xml", "--json", code=1).stdout)
        damping = {"kind": "joint", "name": "shoulder", "field": "damping", "a": [0.1], "b": [0.3]}
        assert damping in found
        assert {"kind": "site", "name": "tip", "field": "", "a": None, "b": "upper"} in found

    @pytest.mark.weekly
    def test_what_is_no_model(self, folder):
        done = mjcf(folder, "diff", "arm.xml", "wrong.xml", code=2)
        assert done.stdout == ""
        assert "wrong.xml:6: joint 'shoulder' has no attribute 'dampng'" in done.stderr
        assert "none.xml" in mjcf(folder, "diff", "arm.xml", "none.xml", code=2).stderr


class TestEdit:
    def test_the_change_is_written_and_shown(self, folder):
        done = mjcf(folder, "edit", "arm.xml", "//joint", "--set", "damping=.2")
        assert (folder / "arm.xml").read_text() == ARM.replace('damping=".1"', 'damping=".2"')
        assert '+      <joint name="shoulder" damping=".2"/>' in done.stdout.splitlines()
        assert done.stderr == "written: arm.xml\n"

    def test_dry_run(self, folder):
        done = mjcf(folder, "edit", "arm.xml", "//joint", "--unset", "damping", "--dry-run")
        assert (folder / "arm.xml").read_text() == ARM
        assert '+      <joint name="shoulder"/>' in done.stdout.splitlines()
        assert done.stderr == "not written: arm.xml\n"

    def test_elements(self, folder):
        mjcf(folder, "edit", "arm.xml", "//actuator", "--remove")
        text = (folder / "arm.xml").read_text()
        assert "actuator" not in text
        assert "<!-- its only body -->" in text

    def test_an_included_file(self, folder):
        options = ("edit", "common.xml", "//option", "--set")
        assert "integrator" in mjcf(folder, *options, "integrater=RK4", code=1).stderr
        mjcf(folder, *options, "integrator=RK4")
        assert 'integrator="RK4"' in (folder / "common.xml").read_text()

    def test_what_is_refused(self, folder):
        edit = ("edit", "arm.xml")
        assert "did you mean geom" in mjcf(folder, *edit, "//gem", "--remove", code=1).stderr
        assert "soulder" in mjcf(folder, *edit, "//motor", "--set", "joint=soulder", code=1).stderr
        mjcf(folder, *edit, "//geom", code=2)
        mjcf(folder, *edit, "//geom", "--set", "size", code=2)
        mjcf(folder, *edit, "//geom", "--remove", "--set", "size=1", code=2)
        mjcf(folder, *edit, "//geom", "--unset", "size", "--set", "size=1", code=2)
        mjcf(folder, "edit", "none.xml", "//geom", "--remove", code=2)
        assert (folder / "arm.xml").read_text() == ARM
