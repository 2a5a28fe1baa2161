"""An edit changes what it is meant to change, and no other byte; a wrong result is not written."""

import os

import pytest

from helpers.places import ASSETS
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
    "a new attribute before a blank": (
        *("//site", {"set": {"size": ".1"}}),
        *('<site name="tip" />', '<site name="tip" size=".1" />'),
    ),
    "a new attribute on a start tag": (
        *("/mujoco/worldbody/body", {"set": {"gravcomp": "1"}}),
        *('pos="0 0 1" >', 'pos="0 0 1" gravcomp="1" >'),
    ),
    "an attribute less": (
        *("//geom[@rgba]", {"set": {"rgba": None}}),
        *('size=".1"   rgba="1 0 0 1"/>', 'size=".1"/>'),
    ),
    "an attribute less in two lines": (
        *("//joint", {"set": {"damping": None}}),
        *('range="-1 1"\n             damping=".1"/>', 'range="-1 1"/>'),
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

    def test_all_that_is_selected(self, arm):
        edit(arm, "//geom", set={"size": ".3", "rgba": None})
        text = arm.read_text()
        assert text.count('size=".3"') == 2
        assert text.replace(".3", ".2").count("rgba") == 0

    def test_an_element_within_another_that_goes(self, arm):
        arm.write_text(ARM.replace('\t\t<motor joint="shoulder"/>\n', ""))
        edit(arm, "//body | //geom", remove=True)
        left = arm.read_text()
        assert "<body" not in left
        assert "geom" not in left
        assert left.count("<!--") == 3 - 1  # what was inside is gone too
        assert "<!-- Its only body. -->\n  </worldbody>" in left

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

    def test_a_real_model(self, tmp_path):
        """Every geom of the walker, and nothing else of its file."""
        text = (ASSETS / "dmc" / "walker.xml").read_text()
        for name in ("visual", "skybox", "materials"):
            (tmp_path / "common").mkdir(exist_ok=True)
            common = (ASSETS / "dmc" / "common" / f"{name}.xml").read_text()
            (tmp_path / "common" / f"{name}.xml").write_text(common)
        path = tmp_path / "walker.xml"
        path.write_text(text)
        count = text.count("<geom")
        change = edit(path, "//geom[not(ancestor::default)]", set={"user": "1"})
        assert path.read_text().replace(' user="1"', "") == text
        assert 0 < path.read_text().count(' user="1"') <= count
        assert change.count("\n+ ") == path.read_text().count(' user="1"')


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

    def test_no_change_is_an_empty_one(self, arm):
        time = arm.stat().st_mtime_ns
        assert edit(arm, "//joint", set={"damping": ".1", "armature": None}) == ""
        assert arm.stat().st_mtime_ns == time


class TestNothingIsSelected:
    @pytest.mark.parametrize(
        ("xpath", "hint"),
        [
            ("//geom[@name='uper']", "did you mean @name='upper'?"),
            ('//geom[@name="uper"]', "did you mean @name='upper'?"),
            ("//gem", "did you mean geom?"),
            ("//gem[@name='upper']/x", "did you mean geom?"),
            ("/mujoco/worldbdy/body", "did you mean worldbody?"),
            ("/mujoco/worldbody/bdy/geom", "did you mean body?"),
            ("//body[@name='upr']/geom", "did you mean @name='upper'?"),
            ("//geom[@mass > 1]", "2 geom do not meet the condition"),
            ("//motor[@joint='sholder']", "did you mean @joint='shoulder'?"),
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
    "an unknown attribute": ("//geom[2]", {"set": {"sise": ".1"}}, 12, "no attribute 'sise'"),
    "an unknown word": ("//geom[2]", {"set": {"type": "spere"}}, 12, "no word 'spere'"),
    "too many numbers": ("//body", {"set": {"pos": "1 2 3 4"}}, 7, "has too much data"),
    "no number": ("//geom[2]", {"set": {"size": "x"}}, 12, "'x', which is no number"),
    "a joint that is needed": ("//joint", {"remove": True}, 16, "there is no joint 'shoulder'"),
    "a repeated name": (
        "//geom[2]",
        {"set": {"name": "upper"}},
        12,
        "a second geom called 'upper'",
    ),
    "a missing include": ("//include", {"set": {"file": "x.xml"}}, 4, "there is no file 'x.xml'"),
    "an unknown reference": (
        *("//motor[@joint]", {"set": {"joint": "sholder"}}),
        *(18, "there is no joint 'sholder'; did you mean shoulder?"),
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
        assert "size has 'x'" in left.message
        with pytest.raises(ValueError, match="nothing is written") as caught:
            edit(arm, "//site", set={"sise": "1"})
        assert len(str(caught.value).splitlines()) == 2

    def test_the_root_stays(self, arm):
        with pytest.raises(ValueError, match="the root cannot be removed"):
            edit(arm, "/*", remove=True)

    @pytest.mark.parametrize("name", ["a b", "", "1a", 'a"'])
    def test_names_of_attributes(self, name, arm):
        with pytest.raises(ValueError, match="cannot be the name of an attribute"):
            edit(arm, "//geom", set={name: "1"})

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
