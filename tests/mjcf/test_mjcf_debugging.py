"""Compile errors: the element, its place, the lines that made and changed it."""

import inspect
import pickle

import mujoco
import pytest

from helpers.mjcf_models import arena, walker
from helpers.small_process import fresh
from mjgym import mjcf
from mjgym.mjcf import CompileError, add, assign, attach, debug, load, rename
from mjgym.mjcf.debugging import ENVIRONMENT, debugging


def here(back=0):
    """The caller's line, or one before it, as it stands in `info`."""
    caller = inspect.currentframe().f_back
    return f"{caller.f_code.co_filename}:{caller.f_lineno - back}"


def failure(spec):
    """The error that compiling a model gives."""
    with pytest.raises(CompileError) as caught:
        mjcf.compile(spec)
    return caught.value


class TestWithoutDebugging:
    def test_a_model_that_compiles(self):
        spec = walker()
        assert mjcf.compile(spec).nq == walker().compile().nq

    def test_an_error_names_the_model_and_where_the_element_is(self):
        spec = arena()
        arm = add(spec.body("table"), "body", name="arm")
        add(arm, "geom", name="hand")
        error = failure(spec)
        assert error.path == "world > table > arm > geom 'hand'"
        assert (error.model, error.line) == ("arena", "")
        hint = "MJGYM_DEBUG_MJCF=1 shows the line that made the element"
        assert str(error) == f"model 'arena', {error.path}: {error.reason}. {hint}"
        assert error.reason == "size 0 must be positive in geom"
        assert isinstance(error, ValueError)

    @pytest.mark.parametrize(
        ("break_it", "path", "reason"),
        [
            (lambda s: add(s, "actuator", name="a", target="no", trntype="joint"), "actuator 'a'",
             "unknown transmission target"),
            (lambda s: add(s, "sensor", name="a", type="gyro", objname="no", objtype="site"),
             "sensor 'a'", "unrecognized name 'no'"),
            (lambda s: add(s.worldbody, "geom", size=1, material="no"),
             "world > geom 'unnamed_geom_0'", "material 'no' not found"),
            (lambda s: add(s.body("table"), "body", name="b").add_joint(),
             "world > table > body 'b'", "mass and inertia of moving bodies"),
            (lambda s: add(s, "exclude", name="e", bodyname1="no", bodyname2="table"),
             "exclude 'e'", "body 'no' not found"),
            (lambda s: add(s, "equality", name="e", type="weld", objtype="body", name1="no"),
             "equality 'e'", "unknown element 'no'"),
            (lambda s: assign(s.key("ready"), qpos=[1, 2, 3]), "key 'ready'", "invalid qpos size"),
            (lambda s: add(add(s, "tendon", name="t"), "joint", joint="no"), "tendon 't'",
             "joint 'no' not found"),
            (lambda s: add(s, "mesh", name="m", file="no.obj"), "", "no.obj"),
        ],
    )  # fmt: skip
    def test_elements_of_all_sorts(self, break_it, path, reason):
        spec = arena()
        break_it(spec)
        error = failure(spec)
        assert error.path == path
        assert reason in error.reason
        assert "Element name" not in str(error)

    def test_the_spec_is_as_before_and_can_be_mended(self):
        spec = walker()
        infos = [g.info for g in spec.geoms]
        foot = spec.geom("foot")
        assign(foot, size=0.05, type="mesh")
        failure(spec)
        assert [g.info for g in spec.geoms] == infos
        assign(foot, type="sphere")
        assert mjcf.compile(spec).ngeom == 3

    def test_in_an_attached_model(self):
        spec, child = arena(), walker()
        attach(spec, child, name="tom")
        assign(spec.geom("tom/foot"), size=[0, 0, 0])
        assert failure(spec).path == "world > tom/ > tom/torso > tom/leg > geom 'tom/foot'"
        with pytest.raises(ValueError, match="'walker' is attached to 'arena'; compile that"):
            mjcf.compile(child)

    def test_the_error_can_be_sent_to_other_processes(self):
        spec = arena()
        add(spec.worldbody, "geom", name="g")
        error = failure(spec)
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.path) == (str(error), error.path)


class TestDebugging:
    def test_the_lines_that_made_and_changed(self):
        with debug():
            spec = mujoco.MjSpec()
            spec.modelname = "robot"
            body = add(spec.worldbody, "body", name="arm")
            arm = here(1)
            add(body, "joint")
            hand = add(body, "geom", name="hand", size=0.1)
            made = here(1)
            hand.size = [0, 0, 0]
            assert failure(spec).line == f"{made}; changed at {here(1)}"
            assign(hand, rgba=[1, 0, 0, 1])
            assert hand.info == f"{made}; changed at {here(1)}"
            rename(spec, hand, "fist")
            assert hand.info == f"{made}; changed at {here(1)}"
            assert body.info == arm
        error = failure(spec)
        assert f"model 'robot', world > arm > geom 'fist' ({made}; changed at {__file__}:" in str(
            error
        )
        assert str(error).endswith("size 0 must be positive in geom")

    def test_the_engines_own_methods_and_attributes(self):
        with debug():
            spec = mujoco.MjSpec()
            body = spec.worldbody.add_body(name="b")
            assert body.info == here(1)
            frame = body.add_frame()
            geom = frame.add_geom(size=[1])
            assert geom.info == here(1)
            free = body.add_freejoint()
            assert free.info == here(1)
            motor = spec.add_actuator(name="m", target="b", trntype=mujoco.mjtTrn.mjTRN_BODY)
            made = here(1)
            motor.set_to_motor()
            assert motor.info == f"{made}; changed at {here(1)}"
            motor.group = 3
            assert motor.info == f"{made}; changed at {here(1)}"
            tendon = spec.add_tendon(name="t")
            made = here(1)
            tendon.wrap_joint("j", 1.0)
            assert tendon.info == f"{made}; changed at {here(1)}"
            mesh = spec.add_mesh(name="s")
            made = here(1)
            mesh.make_sphere(subdivision=1)
            assert mesh.info == f"{made}; changed at {here(1)}"

    def test_the_path_of_a_tendon(self):
        with debug():
            spec = arena()
            tendon = add(spec, "tendon", name="t")
            add(tendon, "joint", joint="no")
            line = here(1)
        error = failure(spec)
        assert error.path == "tendon 't'"
        assert error.line.endswith(f"; changed at {line}")

    def test_files(self, tmp_path):
        file = tmp_path / "broken.xml"
        file.write_text("<mujoco>\n<worldbody>\n<geom name='g'/>\n</worldbody>\n</mujoco>")
        with debug():
            spec = load(file)
            assert failure(spec).line == f"{file}, line 3"
            assign(spec.geom("g"), size=0)
            assert failure(spec).line == f"{file}, line 3; changed at {here(1)}"
        assert failure(load(file)).line == "line 3"

    def test_attached_models_keep_their_lines(self):
        with debug():
            child = mujoco.MjSpec()
            add(add(child.worldbody, "body", name="b"), "geom", name="g")
            line = here(1)
            spec = arena()
            body = attach(spec, child, name="c")
            assert body.info == here(1)
        assert failure(spec).line == line

    def test_off_nothing_is_left(self):
        classes = [mujoco.MjSpec, mujoco.MjsBody, mujoco.MjsFrame, mujoco.MjsGeom, mujoco.MjsMesh]
        before = [dict(vars(c)) for c in classes]
        with debug():
            assert debugging()
            assert dict(vars(mujoco.MjsGeom)) != before[3]
            with debug():
                pass
            assert debugging()
        assert not debugging()
        assert [dict(vars(c)) for c in classes] == before
        geom = mujoco.MjSpec().worldbody.add_geom(size=[1])
        geom.group = 3
        assert geom.info == ""


@pytest.mark.slow
class TestEnvironment:
    PROGRAM = (
        "from mjgym import mjcf\n"
        "spec = mjcf.load('dmc/pendulum.xml')\n"
        "mjcf.add(spec.worldbody, 'geom', name='zero')\n"
        "try:\n    mjcf.compile(spec)\n"
        "except mjcf.CompileError as error:\n    print(error.line)"
    )

    @pytest.mark.weekly
    @pytest.mark.parametrize(("value", "line"), [("1", "<string>:3"), ("0", ""), ("", "")])
    def test_the_variable(self, value, line):
        assert fresh(self.PROGRAM, **{ENVIRONMENT: value}) == f"{line}\n"


class TestStacks:
    """Where one function makes many elements, its callers tell which of them it is."""

    @staticmethod
    def limb(spec, size):
        return mjcf.add(spec.worldbody, "geom", name="limb", size=size)

    def test_on_request(self):
        spec = mujoco.MjSpec()
        with mjcf.debug(stack=True):
            geom = self.limb(spec, [0.1, 0, 0])
        made = geom.info.split(" < ")
        assert made[0].endswith(" in limb")
        assert made[1].endswith(" in test_on_request")
        assert "mjgym/mjcf" not in geom.info

    @pytest.mark.slow
    def test_by_the_environment(self):
        program = (
            "import mujoco\nfrom mjgym import mjcf\nspec = mujoco.MjSpec()\n"
            "def leg():\n    return mjcf.add(spec.worldbody, 'geom', size=[1, 0, 0])\n"
            "print(leg().info)\n"
        )
        made = fresh(program, **{ENVIRONMENT: "stack"})
        assert made == "<string>:5 in leg < <string>:6 in <module>\n"
