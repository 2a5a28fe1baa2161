"""An edit changes what it is meant to change, and no other byte; a wrong result is not written."""

import os

import pytest

from helpers.small_process import run_small
from mjgym.mjcf.lint.checking import check
from mjgym.mjcf.lint.editing import edit

ARM = """\
<?xml version="1.0"?>
<!-- An arm -- with hyphens. -->
<mujoco   model='arm'>
  <include file="common.xml"/>
  <worldbody>
    <!-- Its only body. -->
    <body name="upper"
          pos="0 0 1" >  <!-- above the floor -->
      <joint name='shoulder' range="-1 1"
             damping=".1"/>
      <geom name="upper" size=".1"   rgba="1 0 0 1"/>
      <geom name="lower" size=".2"/><site name="tip" />
    </body>
  </worldbody>

  <sensor></sensor>
\t<actuator>
\t\t<motor joint="shoulder"/>
\t</actuator>
</mujoco>
"""

COMMON = """\
<mujocoinclude>
  <option timestep=".01"/> <!-- s -->
</mujocoinclude>
"""


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "common.xml").write_text(COMMON)
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    return path


def after(good, bad):
    assert ARM.count(good) == 1, good
    return ARM.replace(good, bad)


EDITS = {
    "a value": ("//joint", {"set": {"damping": ".2"}}, 'damping=".1"', 'damping=".2"'),
    "a value in single quotes": (
        *("/mujoco", {"set": {"model": "it's"}}),
        *("model='arm'", "model='it&apos;s'"),
    ),
    "signs that XML forbids": (
        *("//site", {"set": {"name": "a<b & \"c\" 'd'"}}),
        *('<site name="tip" />', "<site name=\"a&lt;b &amp; &quot;c&quot; 'd'\" />"),
    ),
    "a new attribute": (
        *("//geom[@name='lower']", {"set": {"mass": "1", "group": "2"}}),
        *('size=".2"/>', 'size=".2" mass="1" group="2"/>'),
    ),
    "an attribute less": (
        *("//geom[@rgba]", {"set": {"rgba": None}}),
        *('size=".1"   rgba="1 0 0 1"/>', 'size=".1"/>'),
    ),
    "an element less, with its line": (
        *("//geom[1]", {"remove": True}),
        *('      <geom name="upper" size=".1"   rgba="1 0 0 1"/>\n', ""),
    ),
    "an element less, in its line": (
        *("//site", {"remove": True}),
        *('<site name="tip" />', ""),
    ),
}


class TestBytes:
    @pytest.mark.parametrize("name", EDITS)
    def test_only_what_is_meant_changes(self, name, arm):
        xpath, how, good, bad = EDITS[name]
        expected = after(good, bad)
        before = arm.read_text()
        change = edit(arm, xpath, **how)
        assert arm.read_text() == expected
        assert check(arm) == []
        removed = [line[1:] for line in change.splitlines() if line[:1] == "-" != line[1:2]]
        added = [line[1:] for line in change.splitlines() if line[:1] == "+" != line[1:2]]
        assert all(line in before.splitlines() for line in removed)
        assert all(line in expected.splitlines() for line in added)
        assert removed or added

    def test_line_ends_of_windows_and_a_byte_order_mark(self, arm):
        arm.write_bytes(b"\xef\xbb\xbf" + ARM.replace("\n", "\r\n").encode())
        edit(arm, "//site", remove=True)
        text = arm.read_bytes()
        expected = after('<site name="tip" />', "")
        assert text == b"\xef\xbb\xbf" + expected.replace("\n", "\r\n").encode()

    def test_another_encoding(self, arm):
        start = '<?xml version="1.0" encoding="iso-8859-1"?>'
        text = ARM.replace('<?xml version="1.0"?>', start).replace("An arm", "Ein Ärmchen")
        arm.write_bytes(text.encode("latin-1"))
        edit(arm, "//site", set={"name": "Öse Ω"})
        wanted = text.replace('"tip"', '"Öse &#937;"').encode("latin-1")
        assert arm.read_bytes() == wanted


class TestDryRun:
    def test_it_shows_the_change_and_writes_nothing(self, arm):
        before = sorted(os.listdir(arm.parent))
        change = edit(arm, "//joint", set={"damping": ".2"}, dry_run=True)
        assert arm.read_text() == ARM
        assert sorted(os.listdir(arm.parent)) == before
        assert change.splitlines()[:2] == [f"--- {arm}", f"+++ {arm}"]
        lines = [line for line in change.splitlines()[2:] if line[:1] in "+-"]
        assert lines == ['-             damping=".1"/>', '+             damping=".2"/>']
        assert edit(arm, "//joint", set={"damping": ".2"}) == change


class TestNothingIsSelected:
    @pytest.mark.parametrize(
        ("xpath", "hint"),
        [
            ("//geom[@name='uper']", "did you mean upper?"),
            ('//geom[@name="uper"]', "did you mean upper?"),
            ("//gem", "did you mean geom?"),
            ("//gem[@name='upper']/x", "did you mean geom?"),
            ("/mujoco/worldbdy/body", "did you mean worldbody?"),
            ("/mujoco/worldbody/bdy/geom", "did you mean body?"),
            ("//body[@name='upr']/geom", "did you mean upper?"),
            ("//geom[@size > 1]", "selects nothing in"),
            ("//motor[@joint='sholder']", "did you mean shoulder?"),
        ],
    )
    def test_the_nearest_that_is_there(self, xpath, hint, arm):
        with pytest.raises(ValueError, match="selects nothing in") as caught:
            edit(arm, xpath, remove=True)
        assert repr(xpath) in str(caught.value)
        assert hint in str(caught.value)
        assert arm.read_text() == ARM

    @pytest.mark.parametrize(
        "xpath", ["//geom/@size", "count(//geom)", "//comment()", "//geom = 1"]
    )
    def test_what_is_no_element(self, xpath, arm):
        with pytest.raises(ValueError, match="selects no elements but"):
            edit(arm, xpath, remove=True)

    @pytest.mark.parametrize("xpath", ["//geom[", "", "//geom[@name=]", "nothing()"])
    def test_what_is_no_xpath(self, xpath, arm):
        with pytest.raises(ValueError, match="is no XPath"):
            edit(arm, xpath, remove=True)


WRONG = {
    "an unknown word": (
        "//geom[2]",
        {"set": {"type": "spere"}},
        12,
        "keyword: 'spere'; did you mean sphere",
    ),
    "a joint that is needed": (
        "//joint",
        {"remove": True},
        16,
        "unknown transmission target 'shoulder'",
    ),
    "a missing include": ("//include", {"set": {"file": "x.xml"}}, 4, "there is no file 'x.xml'"),
    "an unknown reference": (
        *("//motor[@joint]", {"set": {"joint": "sholder"}}),
        *(18, "'sholder' for actuator id = 0; did you mean shoulder?"),
    ),
}


class TestWrongResults:
    @pytest.mark.parametrize("name", WRONG)
    def test_they_are_not_written(self, name, arm):
        xpath, how, line, message = WRONG[name]
        before = sorted(os.listdir(arm.parent))
        with pytest.raises(ValueError, match="nothing is written") as caught:
            edit(arm, xpath, **how)
        assert arm.read_text() == ARM
        assert sorted(os.listdir(arm.parent)) == before
        first = str(caught.value).splitlines()[1]
        assert first.startswith(f"{arm}:{line}: ")
        assert message in first

    def test_problems_that_were_there_do_not_matter(self, arm):
        arm.write_text(ARM.replace('damping=".1"', 'dampng=".1"').replace('size=".2"', 'size="x"'))
        edit(arm, "//joint", set={"dampng": None, "damping": ".1"})
        (left,) = check(arm)
        assert "attribute 'size'" in left.message
        with pytest.raises(ValueError, match="nothing is written") as caught:
            edit(arm, "//site", set={"sise": "1"})
        assert len(str(caught.value).splitlines()) == 2

    def test_a_file_that_is_no_xml(self, arm):
        arm.write_text(ARM.replace("</worldbody>", ""))
        with pytest.raises(ValueError, match=r"arm.xml:\d+: "):
            edit(arm, "//geom", set={"size": "1"})


class TestArguments:
    @pytest.mark.parametrize(
        "how",
        [{}, {"set": {}}, {"remove": True, "set": {"a": "b"}}],
    )
    def test_one_thing_to_do(self, how, arm):
        with pytest.raises(ValueError, match="give either set or remove"):
            edit(arm, "//geom", **how)

    def test_files_that_are_not_there(self, arm):
        with pytest.raises(FileNotFoundError, match=r"none\.xml"):
            edit(arm.with_name("none.xml"), "//geom", remove=True)


class TestIncludedFiles:
    def test_alone_by_the_schema(self, arm):
        common = arm.with_name("common.xml")
        edit(common, "//option", set={"timestep": ".02"})
        assert common.read_text() == COMMON.replace(".01", ".02")
        with pytest.raises(ValueError, match=r"common\.xml:2: option has no attribute 'timstep'"):
            edit(common, "//option", set={"timstep": ".02"})


class TestWriting:
    def test_mode_and_links_stay(self, arm):
        arm.chmod(0o640)
        link = arm.with_name("link.xml")
        link.symlink_to(arm.name)
        edit(link, "//joint", set={"damping": ".3"})
        assert link.is_symlink()
        assert 'damping=".3"' in arm.read_text()
        assert arm.stat().st_mode & 0o777 == 0o640

    def test_a_full_disk_leaves_the_file_and_nothing_else(self, arm):
        before = sorted(os.listdir(arm.parent))
        program = (
            "import resource\n"
            "from mjgym.mjcf import edit\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
            f"try: edit({str(arm)!r}, '//joint', set={{'damping': '.3'}})\n"
            "except OSError as error: print(error.strerror)"
        )
        assert run_small(program) == "File too large\n"
        assert arm.read_text() == ARM
        assert sorted(os.listdir(arm.parent)) == before
