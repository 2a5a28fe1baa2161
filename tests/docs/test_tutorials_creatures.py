"""The tutorial of creatures in an arena: what the script composes, runs and draws."""

import colorsys
import importlib
import importlib.util
import subprocess
import sys

import imageio.v3 as iio
import mujoco
import numpy as np
import pytest

from helpers.places import SCRIPTS
from mjgym import mjcf
from mjgym.sim import Single

pytestmark = pytest.mark.slow

SCRIPT = SCRIPTS / "tutorials" / "creatures.py"
LEGS = (3, 4, 5, 6, 7, 8)
RED = (0.8, 0.1, 0.2, 1)


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(SCRIPT.parent))
    yield importlib.import_module(SCRIPT.stem)
    sys.path.remove(str(SCRIPT.parent))
    sys.modules.pop(SCRIPT.stem)


@pytest.fixture(scope="module")
def spec(script):
    return script.arena()


@pytest.fixture(scope="module")
def model(spec):
    return mjcf.compile(spec)


@pytest.fixture(scope="module")
def paths(script, spec, model):
    """Where the torsos are in 10 s, (time, creature, 3)."""
    return np.stack(list(script.wander(spec, Single(model), 10)))


def run(*arguments):
    """The script as a program, where no warning passes."""
    command = [sys.executable, "-W", "error", str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def hues(picture):
    """The number of clearly coloured pixels near each of the six creatures' hues."""
    pixels = np.asarray(picture)[..., :3].reshape(-1, 3).astype(int)
    coloured = pixels[np.ptp(pixels, axis=1) > 0.7 * pixels.max(axis=1)]
    coloured = coloured[coloured.max(axis=1) > 60]
    found = [colorsys.rgb_to_hsv(*(pixel / 255))[0] for pixel in coloured]
    return np.bincount(np.rint(np.multiply(found, 6)).astype(int) % 6, minlength=6)


def test_a_leg_is_two_limbs_on_hinges_with_position_servos(script):
    model = mjcf.compile(script.leg(RED))
    assert [model.joint(i).name for i in range(model.njnt)] == ["hip", "knee"]
    assert (model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE).all()
    assert model.jnt_axis.tolist() == [[0, 0, 1], [0, 1, 0]]
    assert (model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE).all()
    # A position servo: gain kp on the control, -kp on the angle, and a damping.
    assert model.actuator_gainprm[:, 0].tolist() == [4, 4]
    assert model.actuator_biasprm[:, 1].tolist() == [-4, -4]
    assert (model.actuator_biasprm[:, 2] < 0).all()
    assert np.array_equal(model.actuator_ctrlrange, model.jnt_range)
    assert np.allclose(np.rad2deg(model.jnt_range), [[-45, 45], [-60, 60]])


@pytest.mark.parametrize("legs", LEGS)
def test_a_creature_has_its_legs_all_around_and_one_colour(script, legs):
    model = mjcf.compile(script.creature(legs, RED))
    assert (model.njnt, model.nu, model.ngeom) == (2 * legs, 2 * legs, 2 * legs + 1)
    assert np.allclose(model.geom_rgba, RED)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hips = data.xpos[[model.body(f"leg{i}/hip").id for i in range(legs)]]
    feet = data.xpos[[model.body(f"leg{i}/knee").id for i in range(legs)]]
    angles = np.remainder(np.arctan2(hips[:, 1], hips[:, 0]), 2 * np.pi)
    assert np.allclose(angles, 2 * np.pi * np.arange(legs) / legs)
    assert np.allclose(np.linalg.norm(hips, axis=1), 0.14)
    assert np.allclose(feet, hips * (0.14 + 0.08) / 0.14)  # straight outwards


def test_the_arena_has_six_free_creatures_in_colours_of_their_own(script, model):
    assert list(script.COLOURS) == list(LEGS)
    names = [model.body(i).name for i in range(model.nbody)]
    assert names.count("world") == 1
    entities = [name.partition("/")[0] for name in names[1:]]
    assert {n: entities.count(f"{n}_legs") for n in LEGS} == {n: 2 + 3 * n for n in LEGS}
    assert len(entities) == sum(2 + 3 * n for n in LEGS)
    free = model.jnt_type == mujoco.mjtJoint.mjJNT_FREE
    assert [model.joint(i).name for i in np.flatnonzero(free)] == [f"{n}_legs/" for n in LEGS]
    for n in LEGS:
        own = [i for i in range(model.nu) if model.actuator(i).name.startswith(f"{n}_legs/")]
        assert len(own) == 2 * n
        bodies = [i for i, name in enumerate(names) if name.startswith(f"{n}_legs/")]
        geoms = np.isin(model.geom_bodyid, bodies)
        assert geoms.sum() == 2 * n + 1
        assert np.allclose(model.geom_rgba[geoms], script.COLOURS[n])
    found = sorted(colorsys.rgb_to_hsv(*c[:3])[0] for c in script.COLOURS.values())
    assert np.allclose(found, np.arange(6) / 6)
    # A control step is a whole number of physics steps, as many as the rate says.
    assert model.opt.timestep * script.SUBSTEPS * script.RATE == pytest.approx(1)


def test_they_go_their_ways_and_stay_on_the_floor(paths):
    assert paths.shape == (251, 6, 3)
    assert np.isfinite(paths).all()
    assert (np.abs(paths[..., :2]) < 2.0).all()  # m: within the rails
    assert (paths[..., 2] > 0.05).all()  # upright: a half axis of the torso
    assert (paths[..., 2] < 0.3).all()
    places = paths[..., :2]
    far = np.linalg.norm(places - places[0], axis=-1).max(axis=0)
    assert (far > 0.2).all()
    pairs = np.triu_indices(6, 1)
    gaps = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)[:, *pairs]
    assert gaps.min() > 0.3  # nobody walks over another
    assert gaps[-1].mean() > gaps[0].mean()
    ways = places[-1] - places[0]
    assert np.linalg.norm(ways[:, None] - ways, axis=-1)[pairs].min() > 0.1


@pytest.mark.weekly
@pytest.mark.gl
def test_the_program_writes_a_picture_a_plot_and_a_film(tmp_path):
    pytest.importorskip("matplotlib")
    ending = ".mp4" if importlib.util.find_spec("imageio_ffmpeg") else ".gif"
    out, plot, film = tmp_path / "out.png", tmp_path / "plot.png", tmp_path / f"film{ending}"
    done = run("--seconds", 1, "--out", out, "--plot", plot, "--video", film)
    assert done.returncode == 0, done.stderr
    picture = iio.imread(out)
    assert picture.shape == (480, 640, 3)
    assert hues(picture).min() > 100
    lines = iio.imread(plot)
    assert lines.shape[0] > 400
    # A key, a dot and a path each; axes and letters are black.
    assert hues(lines).min() > 200
    frames = iio.imread(film)
    assert frames.shape == (26, 480, 640, 3)
    assert hues(frames[0]).min() > 50  # films blur colours
    assert np.abs(frames[-1].astype(int) - frames[0]).max() > 100  # something has moved
    # The last frame is the picture, but for the film's losses.
    assert np.abs(frames[-1].astype(int) - picture).mean() < 6
