"""Models in folders of their own, which plain MuJoCo loads."""

import shutil
import struct

import mujoco
import numpy as np
import pytest

from helpers.mjcf_models import PATHS, arena, differences, picture, rock_files, tetrahedron, walker
from helpers.small_process import fresh
from mjgym.mjcf import CompileError, add, assign, attach, compile, export, load


def rocks(folder, where):
    """Two models in one, whose files are called alike and differ."""
    spec = arena()
    for size in (1, 2):
        path, files = rock_files(folder, f"rock{size}", size)
        if where == "disk" or (where == "both" and size == 1):
            rock = load(path)
        else:
            rock = mujoco.MjSpec.from_string(path.read_text(), assets=files)
        attach(spec, rock, at=spec.site("east"))
    return spec


class TestEquals:
    @pytest.mark.parametrize("make", [arena, walker, mujoco.MjSpec])
    def test_a_model_without_files(self, make, tmp_path):
        spec = make()
        path = export(spec, tmp_path / "out")
        assert differences(mujoco.MjModel.from_xml_path(str(path)), spec.compile(), but=PATHS) == []
        assert [p.name for p in (tmp_path / "out").iterdir()] == [path.name]

    def test_every_number_is_exact(self, tmp_path):
        spec = arena()
        numbers = np.random.default_rng(0).uniform(0.1, 1, (5, 3))
        body = add(spec.worldbody, "body", name="b", pos=numbers[0], euler=numbers[1] * 90)
        add(body, "joint", damping=numbers[2, 0], axis=numbers[3])
        add(body, "geom", type="ellipsoid", size=numbers[4], rgba=[*numbers[1], 1])
        path = export(spec, tmp_path)
        model = mujoco.MjModel.from_xml_path(str(path))
        assert differences(model, compile(spec), but=PATHS) == []
        assert model.body("b").pos.tolist() == numbers[0].tolist()

    @pytest.mark.parametrize("where", ["disk", "memory", "both"])
    def test_a_composed_model_elsewhere(self, where, tmp_path):
        spec = rocks(tmp_path / "in", where)
        attach(spec, walker(), free=True)
        model = compile(spec)
        path = export(spec, tmp_path / "out")
        shutil.rmtree(tmp_path / "in")
        moved = tmp_path / "moved" / "deeper"
        shutil.copytree(tmp_path / "out", moved)
        shutil.rmtree(tmp_path / "out")
        again = mujoco.MjModel.from_xml_path(str(moved / path.name))
        assert differences(again, model, but=PATHS) == []
        assert again.ntex == model.ntex == 6
        assert {p.parent.name for p in moved.rglob("*") if p.is_file()} == {"deeper", "assets"}
        assert len(list((moved / "assets").iterdir())) == 6

    @pytest.mark.slow
    def test_in_a_process_without_this_package(self, tmp_path):
        path = export(rocks(tmp_path / "in", "both"), tmp_path / "out")
        program = (
            "import sys, mujoco\n"
            f"model = mujoco.MjModel.from_xml_path({path.name!r})\n"
            "print(model.nmesh, model.nhfield, 'mjgym' in sys.modules)"
        )
        assert fresh(program, folder=path.parent) == "2 2 False\n"

    def test_files_in_all_sorts_of_places(self, tmp_path):
        """Subfolders, folders above, absolute paths, skins, grids of pictures, included MJCF."""
        home = tmp_path / "in" / "home"
        (home / "sub").mkdir(parents=True)
        for number, file in enumerate((home / "sub", home, tmp_path / "in"), 1):
            (file / "rock.obj").write_bytes(tetrahedron(number))
        picture(home / "grid.png", np.arange(6 * 8).reshape(6, 8))
        (home / "more.xml").write_text("<mujocoinclude><geom size='.1'/></mujocoinclude>")
        bone = struct.pack("3f4f", 0, 0, 0, 1, 0, 0, 0) + struct.pack("i", 4)
        (home / "skin.skn").write_bytes(
            struct.pack("4i", 4, 4, 2, 1)
            + np.arange(12, dtype="f4").tobytes()
            + np.zeros(8, "f4").tobytes()
            + np.array([0, 1, 2, 0, 2, 3], "i4").tobytes()
            + b"rock".ljust(40, b"\0")
            + bone
            + np.arange(4, dtype="i4").tobytes()
            + np.ones(4, "f4").tobytes()
        )
        (home / "model.xml").write_text(
            f"""<mujoco model="all sorts/of"><asset>
            <mesh name="a" file="sub/rock.obj"/><mesh name="b" file="rock.obj"/>
            <mesh name="c" file="../rock.obj"/>
            <mesh name="d" file="{tmp_path}/in/rock.obj" scale="2 2 2"/>
            <texture name="grid" type="cube" file="grid.png" gridsize="3 4"
                gridlayout=".U..LFRB.D.."/>
            <material name="grid" texture="grid"/></asset>
            <deformable><skin name="s" file="skin.skn" material="grid"/></deformable>
            <worldbody><include file="more.xml"/><body name="rock">
            <geom type="mesh" mesh="a"/><geom type="mesh" mesh="b"/><geom type="mesh" mesh="c"/>
            <geom type="mesh" mesh="d"/></body></worldbody></mujoco>"""
        )
        spec = load(home / "model.xml")
        model = compile(spec)
        path = export(spec, tmp_path / "out")
        shutil.rmtree(tmp_path / "in")
        assert path.name == "all_sorts_of.xml"
        again = mujoco.MjModel.from_xml_path(str(path))
        assert differences(again, model, but=(*PATHS, "skin_pathadr")) == []
        assert str(tmp_path) not in path.read_text()
        assert len(list((tmp_path / "out" / "assets").iterdir())) == 6

    @pytest.mark.parametrize(
        ("parent", "child"),
        [
            ({}, 'boundmass="3"'),
            ({}, 'boundinertia=".5"'),
            ({}, 'balanceinertia="true"'),
            ({}, 'inertiafromgeom="true"'),
            ({}, 'inertiagrouprange="2 3"'),
            ({}, 'alignfree="true"'),
            ({"alignfree": True}, 'alignfree="false"'),
            ({"boundmass": 0.7}, 'inertiafromgeom="true" alignfree="true"'),
            ({"inertiafromgeom": "true"}, 'inertiafromgeom="auto"'),
        ],
    )
    def test_models_with_settings_of_their_own(self, parent, child, tmp_path):
        """MJCF has one place for compiler settings; the composed model, several sets of them."""
        spec = mujoco.MjSpec()
        assign(spec.compiler, **parent)
        stone = add(spec.worldbody, "body", name="stone", mass=2, inertia=[1, 2, 3])
        add(stone, "freejoint")
        add(stone, "geom", type="box", size=[0.1, 0.2, 0.3], pos=[0.1, 0, 0])
        other = mujoco.MjSpec.from_string(
            f"""<mujoco model="other"><compiler {child}/><worldbody>
            <body name="post" pos="1 1 1"/><body name="a" pos="2 0 1"><freejoint/>
            <inertial mass=".4" pos=".1 .2 .3" diaginertia=".1 .2 .25"/>
            <geom type="box" size=".1 .2 .3" pos=".1 .1 0" euler="10 20 30" group="1"/>
            <body name="b" pos="0 0 1"><joint/><geom size=".2" group="2"/></body></body>
            </worldbody></mujoco>"""
        )
        attach(spec, other, prefix="other/")
        model = compile(spec)
        before = {n: getattr(other.compiler, n) for n in ("boundmass", "alignfree")}
        path = export(spec, tmp_path / "out")
        again = mujoco.MjModel.from_xml_path(str(path))
        assert differences(again, model, but=PATHS) == []
        assert {n: getattr(other.compiler, n) for n in before} == before
        assert differences(spec.compile(), model) == []


class TestMistakes:
    @pytest.mark.parametrize("given", ["robot.xml", None, mujoco.MjSpec().compile()])
    def test_what_is_no_spec(self, given, tmp_path):
        with pytest.raises(TypeError, match=r"compile: expected a mujoco\.MjSpec, got"):
            compile(given)
        with pytest.raises(TypeError, match=r"compile: expected a mujoco\.MjSpec, got"):
            export(given, tmp_path / "model")
        assert not (tmp_path / "model").exists()
        with pytest.raises(TypeError, match=r"attach: child: expected a mujoco\.MjSpec, got"):
            attach(mujoco.MjSpec(), given, name="a")

    def test_a_folder_with_something_in_it(self, tmp_path):
        (tmp_path / "other.txt").touch()
        with pytest.raises(FileExistsError, match="exists and is not an empty folder"):
            export(arena(), tmp_path)
        with pytest.raises(FileExistsError, match=r"other\.txt exists"):
            export(arena(), tmp_path / "other.txt")
        assert [p.name for p in tmp_path.iterdir()] == ["other.txt"]

    def test_a_model_that_does_not_compile(self, tmp_path):
        spec = arena()
        add(spec.worldbody, "geom", name="zero")
        with pytest.raises(CompileError, match="geom 'zero'"):
            export(spec, tmp_path / "out")
        assert list(tmp_path.iterdir()) == []

    def test_what_mjcf_cannot_say_is_an_error(self, tmp_path, monkeypatch):
        spec = arena()
        # A number that the engine does not save stands in for whatever it may not save one day.
        monkeypatch.setattr("mjgym.mjcf.exporting.differing", lambda *models: ["geom_size"])
        with pytest.raises(ValueError, match="model 'arena'; what it says differs in geom_size"):
            export(spec, tmp_path / "out")
        assert list(tmp_path.iterdir()) == []
