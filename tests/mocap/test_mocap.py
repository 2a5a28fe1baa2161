"""Motion capture: AMC files, trajectories of the CMU humanoids, and the package's clips."""

import importlib.util
import io
import itertools
import json
import zipfile

import mujoco
import numpy as np
import pytest

from helpers.places import ASSETS, DATA, SCRIPTS
from mjgym import mjcf
from mjgym.mocap import (
    CHANNELS,
    JOINTS,
    METRES_PER_UNIT,
    SCALE_V2020,
    Clip,
    Trajectory,
    cubic_spline,
    read_amc,
    resample,
    to_qpos,
    to_trajectory,
    velocities,
)

CLIPS = ASSETS / "locomotion" / "clips"
RATE = 120.0


def script():
    """The script that makes the clips, as a module."""
    spec = importlib.util.spec_from_file_location("make_clips", SCRIPTS / "make_clips.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = script()


@pytest.fixture(scope="module")
def model():
    return mjcf.load("dmc/humanoid_CMU.xml").compile()


def still(frames=5, **bones):
    """A clip that stands still but for the bones given, each (F, n)."""
    root = np.tile([0, 17.0, 0, 0, 0, 0], (frames, 1))
    return Clip({"root": root, **{k: np.array(v, dtype=float) for k, v in bones.items()}}, RATE)


def wild(frames=23, spread=60.0, seed=0):
    """Random numbers for every bone."""
    rng = np.random.default_rng(seed)
    return {
        bone: rng.uniform(-spread, spread, (frames, len(channels)))
        for bone, channels in CHANNELS.items()
    }


@pytest.mark.parametrize("name", MAKE.MOTIONS)
class TestClips:
    def test_the_folder_holds_what_the_generator_makes(self, name):
        read, wanted = read_amc(CLIPS / f"{name}.amc").bones, MAKE.made(name)
        assert list(read) == list(wanted)
        for bone, values in read.items():
            np.testing.assert_allclose(values, wanted[bone], rtol=0, atol=0.00051, err_msg=bone)

    def test_stays_within_the_joints_limits(self, name, model):
        qpos = to_qpos(read_amc(CLIPS / f"{name}.amc"))[:, 7:]
        low, high = model.jnt_range[1:].T
        assert (qpos >= low).all()
        assert (qpos <= high).all()

    def test_stands_on_the_ground(self, name, model):
        data = mujoco.MjData(model)
        trajectory = to_trajectory(read_amc(CLIPS / f"{name}.amc"), 0.02)
        for qpos in trajectory.qpos:
            data.qpos = qpos
            mujoco.mj_kinematics(model, data)
            assert min(MAKE.soles(model, data).values()) == pytest.approx(0.001, abs=0.001)
            assert data.body("head").xpos[2] > 1.1
            assert data.body("thorax").xmat[7] > 0.8  # the world's z along the body's y


def test_the_walk_goes_forward_and_the_pivot_turns():
    walked = to_trajectory(read_amc(CLIPS / "walk.amc"), 0.03).qpos
    assert walked[-1, 1] < -0.5  # the body's z axis, forward, is the world's -y
    assert abs(walked[-1, 0]) < 0.05
    turned = to_trajectory(read_amc(CLIPS / "pivot.amc"), 0.01)
    assert turned.qvel[:, 4].sum() * 0.01 == pytest.approx(np.pi / 2, rel=0.02)  # about y, upwards
    np.testing.assert_allclose(np.diff(turned.qpos[:, 3:7], axis=0), 0, atol=0.02)  # no jump


# --- Reading -------------------------------------------------------------------------------------


class TestReadAmc:
    def write(self, tmp_path, text):
        path = tmp_path / "clip.amc"
        path.write_text(text, encoding="latin-1")
        return path

    def test_reads_what_was_written(self, tmp_path):
        bones = wild()
        clip = read_amc(self.write(tmp_path, MAKE.amc(bones, decimals=9)), rate=60.0)
        assert list(clip.bones) == list(CHANNELS)
        assert clip.rate == 60.0
        for bone, values in clip.bones.items():
            np.testing.assert_allclose(values, bones[bone], rtol=0, atol=5.1e-10)
        np.testing.assert_allclose(clip.times, np.arange(23) / 60, rtol=1e-15)

    def test_bones_go_by_name(self, tmp_path):
        bones = wild()
        turned = MAKE.amc({name: bones[name] for name in reversed(bones)})
        backwards = read_amc(self.write(tmp_path, turned))
        forwards = read_amc(self.write(tmp_path, MAKE.amc(bones)))
        np.testing.assert_array_equal(to_qpos(backwards), to_qpos(forwards))

    def test_the_form_of_a_file(self, tmp_path):
        """Windows' line ends, comments of any bytes, spaces, blank lines, exponents."""
        text = "# caf\xe9 \x85\r\n:degrees\r\n\r\n1\r\n  root 1 -2 +.5\t4e1 0 6. \r\n# done\r\n\r\n"
        path = tmp_path / "clip.amc"
        path.write_bytes(text.encode("latin-1"))
        np.testing.assert_array_equal(read_amc(path).bones["root"], [[1, -2, 0.5, 40, 0, 6]])

    @pytest.mark.parametrize(
        ("text", "line", "complaint"),
        [
            ("", 1, "no frame"),
            (MAKE.HEADER, 1, "no frame"),
            (":RADIANS\n1\nroot 0 0 0 0 0 0\n", 1, "unknown keyword ':RADIANS'.*:DEGREES"),
            (":DEGRES\n", 1, r"unknown keyword ':DEGRES'; did you mean :DEGREES\?"),
            ("root 0 0 0 0 0 0\n", 1, "bone 'root' before the first frame"),
            ("2\nroot 0 0 0 0 0 0\n", 1, "frame 2 stands where frame 1 should"),
            ("1\nroot 0 0 0 0 0 0\n3\nroot 0 0 0 0 0 0\n", 3, "frame 3 .* frame 2 should"),
            ("1\nroot 0 0 0 0 0 0\n1\nroot 0 0 0 0 0 0\n", 3, "frame 1 .* frame 2 should"),
            ("1\nroot 0 0 0 0 0 0\n:DEGREES\n", 3, "keyword ':DEGREES' after the first"),
            ("1\nltibia 5\n", 1, "frame 1 has no root"),
            ("1\n2\n", 1, "frame 1 has no root"),
            (
                "1\nroot 0 0 0 0 0 0\nlfemor 1 2 3\n",
                3,
                "unknown bone 'lfemor'; did .* lfemur",
            ),
            (
                "1\nroot 0 0 0 0 0 0\nLFEMUR 1 2 3\n",
                3,
                "unknown bone 'LFEMUR'; did .* lfemur",
            ),
            ("1\nroot 0 0 0 0 0 0\nqqq 1\n", 3, "unknown bone 'qqq'; there are root, lowerback"),
            ("1\nroot 0 0 0 0 0\n", 2, r"'root' has 6 numbers \(tx ty tz rx ry rz\), got 5"),
            ("1\nroot 0 0 0 0 0 0\nltibia 1 2\n", 3, r"'ltibia' has 1 numbers \(rx\), got 2"),
            ("1\nroot 0 0 0 0 0 0\nltibia\n", 3, "'ltibia' has 1 numbers .*got 0"),
            ("1\nroot 0 0 0 0 x 0\n", 2, "ry of bone 'root' is not a finite number: 'x'"),
            ("1\nroot 0 nan 0 0 0 0\n", 2, "ty of bone 'root' .*: 'nan'"),
            ("1\nroot 0 0 0 0 0 1e999\n", 2, "rz of bone 'root' .*: '1e999'"),
            ("1\nroot 0 0 0 0 0 0\nroot 0 0 0 0 0 0\n", 3, "a second line for bone 'root'"),
            (
                "1\nroot 0 0 0 0 0 0\nltibia 1\n2\nroot 0 0 0 0 0 0\n",
                4,
                "frame 2 has no bone 'ltibia', which frame 1 has",
            ),
            (
                "1\nroot 0 0 0 0 0 0\n2\nroot 0 0 0 0 0 0\nltibia 1\n",
                5,
                "frame 2 has a bone 'ltibia', which frame 1 lacks",
            ),
        ],
    )
    def test_what_is_wrong_and_where(self, tmp_path, text, line, complaint):
        path = self.write(tmp_path, text)
        with pytest.raises(ValueError, match=complaint) as caught:
            read_amc(path)
        assert str(caught.value).startswith(f"{path}:{line}: ")

    def test_no_such_file(self, tmp_path):
        self.write(tmp_path, "")
        with pytest.raises(FileNotFoundError, match=r"clop.amc'; did you mean clip.amc\?"):
            read_amc(tmp_path / "clop.amc")
        with pytest.raises(FileNotFoundError, match=r"walk.amc'$"):
            read_amc(tmp_path / "nowhere" / "walk.amc")
        with pytest.raises(FileNotFoundError):
            read_amc(tmp_path)


class TestClip:
    root = np.zeros((3, 6))

    @pytest.mark.parametrize(
        ("bones", "rate", "complaint"),
        [
            ({"root": root}, 0.0, "rate: .*got 0.0"),
            ({"root": root}, float("nan"), "rate: .*got nan"),
            ({"head": np.zeros((3, 3))}, 120.0, "no root"),
            ({"root": root, "heat": np.zeros((3, 3))}, 120.0, "'heat'; did you mean head"),
            ({"root": np.zeros((3, 5))}, 120.0, r"root must be \(frames, 6\).*got \(3, 5\)"),
            ({"root": np.zeros((0, 6))}, 120.0, r"root must be .*got \(0, 6\)"),
            ({"root": np.zeros(6)}, 120.0, r"root must be .*got \(6,\)"),
            ({"root": np.float64(0)}, 120.0, r"root must be .*got \(\)"),
            ({"root": root, "head": np.zeros((2, 3))}, 120.0, r"head .*3 frames.*got \(2, 3\)"),
            (
                {"root": root + np.array([0, 0, 0, 0, np.inf, 0])},
                120.0,
                "root ry of frame 1 is inf",
            ),
        ],
    )
    def test_refuses(self, bones, rate, complaint):
        with pytest.raises(ValueError, match=complaint):
            Clip(bones, rate)

    def test_keeps_its_own_numbers(self):
        root = np.zeros((3, 6))
        clip = Clip({"root": root}, RATE)
        root[...] = 1.0
        assert not clip.bones["root"].any()
        with pytest.raises(ValueError, match="read-only"):
            clip.bones["root"][0, 0] = 1.0


# --- Positions -----------------------------------------------------------------------------------


class TestToQpos:
    def test_the_joints_are_the_humanoids(self, model):
        assert [model.joint(i).name for i in range(1, model.njnt)] == list(JOINTS)

    @pytest.mark.parametrize("name", ["CMUHumanoid", "CMUHumanoidPositionControlledV2020"])
    def test_the_joints_are_those_of_the_locomotion_humanoids(self, name):
        path = DATA / "locomotion" / "models" / f"walker_{name}.json"
        record = json.loads(path.read_text())
        assert record["walker"]["mocap_joints"] == list(JOINTS)
        compiled = [j.split("/")[-1] for j in record["model"]["joint"]["name"]]
        assert compiled[1:] == list(JOINTS)

    def test_the_larger_humanoid_is_the_skeleton_enlarged(self):
        """To within rounding, but for its shins, shoulders, hands and head."""
        places = []
        for name in ("CMUHumanoid", "CMUHumanoidPositionControlledV2020"):
            path = DATA / "locomotion" / "models" / f"walker_{name}.json"
            body = json.loads(path.read_text())["model"]["body"]
            places.append(dict(zip(body["name"], np.array(body["body_pos"]), strict=True)))
        for bone in ("lfemur", "ltibia", "rfemur", "rtibia", "thorax", "lowerneck", "lradius"):
            small, large = (p[f"walker/{bone}"] for p in places)
            np.testing.assert_allclose(large, SCALE_V2020 * small, atol=1e-4)

    def test_each_hinge_has_the_angle_of_its_name(self, model):
        bones = wild()
        qpos = to_qpos(Clip(bones, RATE))
        for bone, channels in CHANNELS.items():
            for column, channel in enumerate(channels):
                if bone != "root":
                    address = model.joint(bone + channel).qposadr[0]
                    wanted = bones[bone][:, column] * np.pi / 180
                    np.testing.assert_allclose(qpos[:, address], wanted, rtol=1e-15)

    def test_hinges_that_the_clip_lacks_are_at_zero(self):
        qpos = to_qpos(still(ltibia=[[30.0]] * 5))
        assert (np.flatnonzero(qpos[0, 7:]) == JOINTS.index("ltibiarx")).all()
        assert np.count_nonzero(qpos[:, 7:]) == 5

    def test_the_root_by_the_engines_own_rotations(self):
        """Fixed-axis turns about x, y and z in the file's space, whose y is the world's z."""
        bones = wild(spread=170.0)
        qpos = to_qpos(Clip(bones, RATE))
        for row, (x, y, z, *angles) in zip(qpos, bones["root"], strict=True):
            np.testing.assert_allclose(row[:3], np.array([x, -z, y]) * 0.056444, rtol=1e-14)
            quaternion = np.empty(4)
            mujoco.mju_euler2Quat(quaternion, np.deg2rad(angles), "XYZ")
            mujoco.mju_mulQuat(quaternion, np.sqrt([0.5, 0.5, 0.0, 0.0]), quaternion.copy())
            np.testing.assert_allclose(row[3:7], quaternion, atol=1e-15)

    def test_a_recording_at_rest_stands_upright(self, model):
        data = mujoco.MjData(model)
        data.qpos = to_qpos(still())[0]
        mujoco.mj_kinematics(model, data)
        height = 17 * METRES_PER_UNIT
        np.testing.assert_allclose(data.body("root").xpos, [0, 0, height], atol=1e-15)
        np.testing.assert_allclose(data.body("root").xmat.reshape(3, 3)[:, 1], [0, 0, 1], atol=1e-9)
        assert data.body("head").xpos[2] > height + 0.4

    @pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
    def test_refuses_a_scale(self, scale):
        with pytest.raises(ValueError, match=f"scale: must be positive, got {scale}"):
            to_qpos(still(), scale)


# --- Trajectories --------------------------------------------------------------------------------


def random_qpos(rows=20, seed=1):
    """Random positions with a free joint and 56 hinges, as the recordings have."""
    rng = np.random.default_rng(seed)
    qpos = rng.uniform(-1, 1, (rows, 63))
    qpos[:, 3:7] = rng.normal(size=(rows, 4))
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=-1, keepdims=True)
    return qpos


both = pytest.mark.parametrize("interpolation", ["cubic", "linear"])


class TestCubicSpline:
    @pytest.mark.parametrize("rows", [2, 3, 4, 5, 40])
    def test_reproduces_polynomials(self, rows):
        """Of the third degree, or of as many as so few rows tell."""
        times = np.cumsum(np.random.default_rng(rows).uniform(0.1, 1, rows))
        wanted = np.linspace(times[0], times[-1], 101)
        for degree in range(min(rows, 4)):
            got = cubic_spline(times, times[:, None] ** degree, wanted)
            np.testing.assert_allclose(got[:, 0], wanted**degree, rtol=1e-10, atol=1e-10)

    def test_its_numbers(self):
        """Those of SciPy's CubicSpline, whose ends are not-a-knot by default."""
        times = np.array([0.0, 0.1, 0.25, 0.3, 0.7, 0.8])
        rows = np.array([[0.0], [1.0], [-1.0], [0.5], [2.0], [0.0]])
        got = cubic_spline(times, rows, np.array([0.05, 0.2, 0.28, 0.5, 0.75]))
        scipy = [
            1.3435118619698057,
            -1.0870237239396119,
            -0.18001150251617443,
            3.7889647735442122,
            1.0588470524802298,
        ]
        np.testing.assert_allclose(got[:, 0], scipy, rtol=1e-12)


class TestResample:
    @both
    def test_at_the_given_times_gives_the_given_rows(self, interpolation):
        qpos, times = random_qpos(), np.arange(20) / RATE
        same = resample(times, qpos, 1 / RATE, interpolation)
        assert same.shape == qpos.shape
        np.testing.assert_allclose(np.delete(same, range(3, 7), 1), np.delete(qpos, range(3, 7), 1))
        for a, b in zip(same[:, 3:7], qpos[:, 3:7], strict=True):
            assert abs(a @ b) == pytest.approx(1, abs=1e-12)  # q and -q are one rotation

    @pytest.mark.parametrize("timestep", [0.005, 0.02, 0.03, 1 / 120, 0.011])
    @both
    def test_linear_motion_stays_linear(self, timestep, interpolation):
        times = 3 + np.array([0.0, 0.01, 0.04, 0.05, 0.13])  # not even
        slopes = np.linspace(-3, 3, 63)
        qpos = 0.5 + slopes * times[:, None]
        qpos[:, 3:7] = (1, 0, 0, 0)
        got = resample(times, qpos, timestep, interpolation)
        assert len(got) == int(0.13 / timestep + 1e-9) + 1
        wanted = 0.5 + slopes * (3 + timestep * np.arange(len(got))[:, None])
        wanted[:, 3:7] = (1, 0, 0, 0)
        np.testing.assert_allclose(got, wanted, atol=1e-12)

    @pytest.mark.parametrize("turn", [0.0, 1e-9, 0.3, 2.5, -2.5, 3.1])
    def test_a_constant_turn_stays_constant(self, turn):
        """About a slanted axis, by `turn` (rad) in each frame; whole turns too."""
        axis = np.array([1.0, 2.0, -2.0]) / 3
        times, timestep = np.arange(9) * 0.1, 0.03
        qpos = np.zeros((9, 8))
        half = turn * np.arange(9) / 2
        qpos[:, 3] = np.cos(half)
        qpos[:, 4:7] = np.sin(half)[:, None] * axis
        got = resample(times, qpos, timestep, "linear")[:, 3:7]
        half = turn / 0.1 * timestep * np.arange(len(got)) / 2
        wanted = np.column_stack([np.cos(half), np.sin(half)[:, None] * axis])
        np.testing.assert_allclose(got, wanted, atol=1e-13)

    @both
    def test_signs_do_not_matter(self, interpolation):
        qpos, times = random_qpos(), np.arange(20) / RATE
        flipped = qpos.copy()
        flipped[1::2, 3:7] *= -1
        a, b = (resample(times, q, 0.003, interpolation) for q in (qpos, flipped))
        np.testing.assert_allclose(a, b, atol=1e-12)
        assert ((a[1:, 3:7] * a[:-1, 3:7]).sum(axis=-1) >= 0).all()
        np.testing.assert_allclose(np.linalg.norm(a[:, 3:7], axis=-1), 1, rtol=1e-14)

    @pytest.mark.parametrize(
        ("times", "qpos", "timestep", "complaint"),
        [
            (np.arange(3), random_qpos(4), 1.0, r"times: must be \(4,\).*got \(3,\)"),
            (np.array([0, 1, 1, 2]), random_qpos(4), 1.0, "times: .*increase"),
            (np.array([0, 1, np.nan, 2]), random_qpos(4), 1.0, "times: must be finite"),
            (np.arange(4), random_qpos(4), 0.0, "timestep: .*got 0.0"),
            (np.arange(4), random_qpos(4), float("nan"), "timestep: .*got nan"),
            (np.arange(4), random_qpos(4), 3.5, "timestep: 3.5 s is longer than the whole, 3 s"),
            (
                np.arange(4),
                random_qpos(4),
                1e-9,
                "makes 3e\\+09 states of 3 s; 500,000 are the most",
            ),
            (np.arange(1), random_qpos(1), 0.1, r"qpos: .*two or more rows.*\(1, 63\)"),
            (np.arange(4), random_qpos(4)[:, :6], 1.0, r"qpos: .*at least 7.*\(4, 6\)"),
            (np.arange(4), random_qpos(4)[0], 1.0, r"qpos: .*got \(63,\)"),
            (np.arange(4), random_qpos(4) * [[1], [1], [np.nan], [1]], 1.0, "row 2 is not finite"),
            (np.arange(4), random_qpos(4) * [[1], [2], [1], [1]], 1.0, "row 1 has length 2"),
        ],
    )
    def test_refuses(self, times, qpos, timestep, complaint):
        with pytest.raises(ValueError, match=complaint):
            resample(times, qpos, timestep)

    def test_refuses_an_interpolation(self):
        with pytest.raises(ValueError, match="'quadratic' is none of cubic, linear"):
            resample(np.arange(4), random_qpos(4), 0.5, "quadratic")


class TestVelocities:
    def test_are_the_engines(self, model):
        qpos, timestep = random_qpos(), 0.03
        got, wanted = velocities(qpos, timestep), np.empty(model.nv)
        assert got.shape == (20, 62)
        for row, (a, b) in zip(got, itertools.pairwise(qpos), strict=False):
            mujoco.mj_differentiatePos(model, wanted, timestep, a, b)
            np.testing.assert_allclose(row, wanted, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(got[-1], got[-2])


class TestToTrajectory:
    def test_a_straight_walk(self):
        """A unit a frame along the file's z: 120 units a second along the world's -y."""
        root = np.zeros((61, 6))
        root[:, 1], root[:, 2] = 17.0, np.arange(61)
        trajectory = to_trajectory(Clip({"root": root}, RATE), 0.02)
        assert len(trajectory) == 26
        wanted = np.zeros((26, 62))
        wanted[:, 1] = -120 * METRES_PER_UNIT
        np.testing.assert_allclose(trajectory.qvel, wanted, atol=1e-11)
        np.testing.assert_allclose(trajectory.qpos[-1, :3], [0, -60 * 0.056444, 17 * 0.056444])

    @pytest.mark.parametrize(("column", "axis"), [(3, 0), (4, 1), (5, 2)])
    def test_a_constant_turn(self, column, axis):
        """5 degrees a frame about one axis, past half a turn: 600 degrees a second."""
        root = np.zeros((61, 6))
        root[:, column] = (np.arange(61) * 5 + 180) % 360 - 180
        trajectory = to_trajectory(Clip({"root": root}, RATE), 0.03)
        wanted = np.zeros((len(trajectory), 62))
        wanted[:, 3 + axis] = np.deg2rad(600)
        np.testing.assert_allclose(trajectory.qvel, wanted, atol=1e-10)

    def test_a_hinge_that_passes_half_a_turn_goes_on(self):
        degrees = (np.arange(25) * 10 + 180) % 360 - 180
        trajectory = to_trajectory(still(25, rhumerus=MAKE.columns(degrees, 0, 0)), 0.02)
        turning = trajectory.qvel[:, 6 + JOINTS.index("rhumerusrx")]
        np.testing.assert_allclose(turning, np.deg2rad(1200), rtol=1e-10)

    def test_each_number_is_on_a_spline_of_its_own(self):
        """As in the published suite, whose quaternions are not of length 1."""
        clip = read_amc(CLIPS / "walk.amc")
        trajectory, linear = (to_trajectory(clip, 0.03, 1.0, how) for how in ("cubic", "linear"))
        times = 0.03 * np.arange(len(trajectory))
        wanted = np.column_stack(
            [cubic_spline(clip.times, to_qpos(clip)[:, [i]], times) for i in range(63)]
        )
        wanted[:, 3:7] /= np.linalg.norm(wanted[:, 3:7], axis=-1, keepdims=True)
        np.testing.assert_allclose(trajectory.qpos, wanted, rtol=0, atol=1e-12)
        assert 1e-5 < np.abs(trajectory.qpos - linear.qpos).max() < 0.02
        assert np.abs(trajectory.qvel - linear.qvel).max() > 1e-3

    @pytest.mark.parametrize("timestep", [0.1, float("inf")])
    def test_refuses_a_clip_that_is_too_short(self, timestep):
        with pytest.raises(ValueError, match=r"clip: lasts 0.0333333 s, less than one timestep"):
            to_trajectory(still(5), timestep)
        with pytest.raises(ValueError, match=r"clip: lasts 0 s"):
            to_trajectory(still(1), timestep)


class TestTrajectory:
    def test_saves_and_loads_the_same_bits(self, tmp_path):
        made = to_trajectory(Clip(wild(), RATE), 0.03, SCALE_V2020)
        for name in ("clip.npz", "clip.anything"):
            made.save(tmp_path / name)
            loaded = Trajectory.load(str(tmp_path / name))
            np.testing.assert_array_equal(loaded.qpos, made.qpos)
            np.testing.assert_array_equal(loaded.qvel, made.qvel)
            assert loaded.timestep == made.timestep == 0.03
        assert sorted(p.name for p in tmp_path.iterdir()) == ["clip.anything", "clip.npz"]

    def test_keeps_its_own_numbers(self):
        qpos = random_qpos()
        trajectory = Trajectory(qpos, velocities(qpos, 0.1), 0.1)
        qpos[...] = 0
        assert trajectory.qpos.any()
        for array in (trajectory.qpos, trajectory.qvel):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0

    @pytest.mark.parametrize(
        ("qpos", "qvel", "timestep", "complaint"),
        [
            (random_qpos(4), np.zeros((3, 62)), 0.1, r"qvel: must be \(4, 62\).*got \(3, 62\)"),
            (random_qpos(4), np.zeros((4, 63)), 0.1, r"qvel: .*got \(4, 63\)"),
            (random_qpos(4), np.full((4, 62), np.inf), 0.1, "qvel: row 0 is not finite"),
            (random_qpos(4), np.zeros((4, 62)), -0.1, "timestep: .*got -0.1"),
            (random_qpos(4) * 0, np.zeros((4, 62)), 0.1, "quaternion of row 0 has length 0"),
        ],
    )
    def test_refuses(self, qpos, qvel, timestep, complaint, tmp_path):
        with pytest.raises(ValueError, match=complaint):
            Trajectory(qpos, qvel, timestep)
        path = tmp_path / "bad.npz"
        np.savez(path, qpos=qpos, qvel=qvel, timestep=timestep)
        with pytest.raises(ValueError, match=complaint) as caught:
            Trajectory.load(path)
        assert str(caught.value).startswith(f"{path}: ")

    def test_refuses_other_files(self, tmp_path):
        path = tmp_path / "other.npz"
        with pytest.raises(FileNotFoundError):
            Trajectory.load(path)
        path.write_text("not numbers")
        with pytest.raises(ValueError, match=r"other.npz: not an NPZ file"):
            Trajectory.load(path)
        np.savez(path, qpos=random_qpos(), speed=1.0)
        with pytest.raises(ValueError, match=r"other.npz: no array 'timestep'"):
            Trajectory.load(path)
        np.savez(path, qpos=random_qpos(4), timestep=0.1, joints=["one", "two"])
        with pytest.raises(ValueError, match=r"other.npz: joints: 2 names for 56 joints"):
            Trajectory.load(path)
        np.savez(path, qpos=random_qpos(4), qvel=np.zeros((4, 62)), timestep=[0.1, 0.2])
        with pytest.raises(ValueError, match=r"other.npz: timestep: must be one number"):
            Trajectory.load(path)

    @pytest.mark.weekly
    def test_refuses_headers_that_promise_too_much(self, tmp_path):
        """NumPy would allocate 469 GiB."""
        path, header = tmp_path / "large.npz", io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (1_000_000_000, 63)}
        np.lib.format.write_array_header_1_0(header, shape)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("qpos.npy", header.getvalue() + bytes(800))
        with pytest.raises(
            ValueError, match=r"qpos.npy promises 504,000,000,000 bytes and has 800"
        ):
            Trajectory.load(path)
