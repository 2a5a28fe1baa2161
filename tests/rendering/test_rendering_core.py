"""Pictures: which OpenGL draws them, that they show the state, and that nothing hangs or leaks."""

import gc
import itertools
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import mujoco
import numpy as np
import pytest

from helpers.lanes import lane, mostly_nightly
from helpers.places import TESTS
from helpers.suite import begin, shown, started, task
from mjgym import rendering
from mjgym.rendering import Renderer, RenderingError, backends, colour_by_reward, renderer, studio
from mjgym.rendering.window import Window
from mjgym.sim import Batched
from mjgym.task.models import compile_model

pytestmark = pytest.mark.gl

WATCHDOG = 240  # s, for a process of its own


@pytest.fixture(autouse=True)
def _others():
    """Threads of renderers that other tests have left to the garbage collector do not count."""
    _left[:] = _drawing_threads()
    yield
    _left.clear()


@pytest.fixture
def draws():
    """Makes renderers, and closes them after the test."""
    made = []

    def make(described, simulation, quality="fast"):
        made.append(Renderer(described.model, simulation.model, quality))
        return made[-1]

    yield make
    for each in made:
        each.close()
    assert not _drawing_threads()


_left: list[threading.Thread] = []


def _drawing_threads():
    threads = [t for t in threading.enumerate() if t.name == "mjgym rendering"]
    return [t for t in threads if t not in _left]


def _run(script, *arguments, **environment):
    """Run a script in a process of its own; its output. It must say nothing else and end well."""
    variables = {**os.environ, "PYTHONPATH": str(TESTS)}
    for name in ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        variables.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", SETUP + script, *map(str, arguments)],
        env={**variables, **environment},
        capture_output=True,
        text=True,
        timeout=WATCHDOG,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


SETUP = """
import os, sys, threading, time
import numpy as np
import mjgym
from helpers.suite import begin, shown, started, task
from mjgym.rendering import Renderer, choose
"""


# --- which OpenGL


@pytest.mark.weekly
def test_import_and_reset_touch_no_opengl():
    _run("""
import gymnasium
before = dict(os.environ)
gymnasium.make("dmc/cartpole-swingup-v0").reset(seed=0)
assert not [m for m in sys.modules if m.startswith("OpenGL") or m == "mujoco.egl"]
assert threading.active_count() == 1
assert dict(os.environ) == before
""")


@pytest.mark.weekly
def test_the_environment_is_as_it_was():
    _run("""
before = dict(os.environ)
described, simulation = started("room")
Renderer(described.model, simulation.model, "fast").render(shown(simulation))
assert choose() in ("egl", "osmesa")
assert dict(os.environ) == before
""")


@pytest.mark.weekly
@pytest.mark.parametrize("backend", ["egl", "osmesa"])
def test_mujoco_gl_is_respected_without_a_probe(backend):
    _run(
        """
import subprocess
subprocess.Popen = None
described, simulation = started("room")
Renderer(described.model, simulation.model, "fast").render(shown(simulation))
assert choose() == sys.argv[1]
assert f"mujoco.{sys.argv[1]}" in sys.modules
""",
        backend,
        MUJOCO_GL=backend,
    )


@pytest.fixture
def undecided(monkeypatch):
    """A process that has not chosen."""
    monkeypatch.setattr(backends, "_state", backends._State())
    for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.skipif(sys.platform != "linux", reason="the order is Linux's")
def test_order_of_the_backends(undecided):
    assert rendering.candidates() == ("egl", "osmesa")
    undecided.setenv("DISPLAY", ":0")
    assert rendering.candidates() == ("glfw", "egl", "osmesa")


def test_the_first_that_works_is_taken_once(undecided):
    probed = []

    def probe(backend):
        probed.append(backend)
        return backends.Probe(backend, backend == "osmesa", "broken")

    undecided.setattr(backends, "probe", probe)
    assert backends.choose() == backends.choose() == "osmesa"
    assert probed == ["egl", "osmesa"]


def test_the_error_says_what_was_tried_why_it_failed_and_what_to_install(undecided):
    undecided.setattr(backends, "probe", lambda b: backends.Probe(b, False, f"no lib{b}.so"))
    with pytest.raises(RenderingError) as error:
        backends.choose()
    message = str(error.value)
    for backend, package in (("egl", "libegl1"), ("osmesa", "libosmesa6")):
        assert f"{backend}: no lib{backend}.so" in message
        assert f"{backend}: apt-get install {package}" in message


@pytest.mark.parametrize(
    ("value", "said"), mostly_nightly([("off", "switched off"), ("vulkan", "not known")], 2)
)
def test_mujoco_gl_that_cannot_be_followed(undecided, value, said):
    undecided.setenv("MUJOCO_GL", value)
    with pytest.raises(RenderingError, match=said):
        backends.choose()


def test_a_context_that_does_not_open_says_what_to_install(undecided):
    with pytest.raises(RenderingError, match=r"does not work.*\n.*libgl1"):
        backends.open_context("glfw" if sys.platform == "linux" else "cgl")


@pytest.mark.weekly
def test_probe_of_a_driver_that_works():
    found = rendering.probe(rendering.choose())
    assert found.works
    assert found.renderer
    assert found.version


@pytest.mark.parametrize(
    ("does", "timeout", "said"),
    [
        # Who waits for all that hold its output finds the file.
        ('(sleep 20; touch "$0".late) & wait', 0.5, "no answer within 0.5 s"),
        ("kill -SEGV $$", 60, "signal 11"),
        ("echo 'cannot load libEGL.so' >&2; exit 7", 60, "exit code 7: cannot load libEGL.so"),
        ("""echo '{"reason": "no device"}'; exit 1""", 60, "no device"),
    ],
)
def test_probe_of_a_driver_that_does_not(tmp_path, monkeypatch, does, timeout, said):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{does}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    found = backends.probe("egl", timeout)
    assert not found.works
    assert said in found.reason
    assert not Path(f"{python}.late").exists()


# --- what the pictures show

# One for each way of showing something: tendons and their limits, tracking cameras, sizes, places
# and lights that vary, terrain, backdrops, sites.
SHOWN = [
    "ball_in_cup-catch",
    "humanoid_CMU-run",
    "reacher-easy",
    "swimmer-swimmer6",
    "quadruped-escape",
    "manipulator-insert_peg",
    "finger-turn_hard",
]


COMPARED = """
import mujoco
folder, *names = sys.argv[1:]
for number, name in enumerate(names):
    described, simulation = started(name)
    quality = ("fast", "reference")[number % 2]
    renderer = Renderer(described.model, simulation.model, quality)
    picture = renderer.render(shown(simulation), width=160, height=120)
    np.save(f"{folder}/{choose()}-{name}.npy", picture)
    if choose() == "osmesa" and number != 1:
        continue  # EGL's are MuJoCo's
    if quality == "fast":
        renderer = Renderer(described.model, simulation.model, "reference")
    begin(simulation, described.initialize, lambda i: np.random.default_rng(1))
    simulation.step(np.zeros(simulation.model.nu), 3)
    model = described.model().compile()
    for field in described.varies:
        getattr(model, field)[...] = getattr(simulation.model, field)
    data = mujoco.MjData(model)
    for field in ("qpos", "mocap_pos", "mocap_quat"):
        getattr(data, field)[...] = getattr(simulation.data, field)
    mujoco.mj_forward(model, data)
    option = mujoco.MjvOption()
    option.flags[mujoco.mjtVisFlag.mjVIS_RANGEFINDER] = 0
    theirs = mujoco.Renderer(model, 60, 80)
    theirs.update_scene(data, model.ncam - 1, option)
    for kind in ("rgb", "depth", "segmentation"):
        theirs.disable_depth_rendering()
        theirs.disable_segmentation_rendering()
        if kind != "rgb":
            getattr(theirs, f"enable_{kind}_rendering")()
        expected = theirs.render()
        ours = renderer.render(
            shown(simulation), model.ncam - 1, width=80, height=60, kind=kind
        )
        assert (ours.dtype, ours.shape) == (expected.dtype, expected.shape)
        if kind == "depth":
            np.testing.assert_allclose(ours, expected, rtol=1e-3)  # theirs rounds
        else:
            np.testing.assert_array_equal(ours, expected)
    theirs.close()
    renderer.close()
"""


@pytest.mark.parametrize("names", mostly_nightly([SHOWN[::3], SHOWN[1::3], SHOWN[2::3]], 3))
def test_pictures_equal_those_of_mujoco_by_egl_and_by_osmesa(tmp_path, names):
    """On a textured model of its own, in the same state, drawn by mujoco.Renderer."""
    for backend in ("egl", "osmesa"):
        _run(COMPARED, tmp_path, *names, MUJOCO_GL=backend)
    for name in names:
        egl, osmesa = (
            np.load(tmp_path / f"{backend}-{name}.npy").astype(int) for backend in ("egl", "osmesa")
        )
        assert egl.std() > 5  # of 255
        assert np.abs(egl - osmesa).max() <= 1, name


@pytest.mark.weekly
def test_one_renderer_draws_all_of_a_batch(draws):
    """Terrain, which each simulation of a batch has of its own, is the hardest of it."""
    described, simulation = started("quadruped-escape")
    batch = Batched(compile_model(described), 3, 1, described.varies)
    drawn = draws(described, batch)
    single = draws(described, simulation)
    begin(batch, described.initialize, np.random.default_rng)
    expected = []
    for i in range(3):
        _, simulation = started("quadruped-escape", i)
        expected.append(single.render(shown(simulation)))
    for i in [2, 0, 1, 0]:
        np.testing.assert_array_equal(drawn.render(shown(batch, i)), expected[i])
    assert not np.array_equal(expected[0], expected[1])


def test_what_is_written_into_the_model_shows(draws):
    described, simulation = started("pendulum-swingup")
    drawn = draws(described, simulation)
    before = drawn.render(shown(simulation))
    colour = simulation.model.geom("mass").rgba
    material = simulation.model.mat_rgba.copy()
    simulation.model.mat_rgba[:, :3] = 1
    white = drawn.render(shown(simulation))
    assert white.mean() > before.mean() + 1
    simulation.model.mat_rgba[:] = material
    np.testing.assert_array_equal(drawn.render(shown(simulation)), before)
    colour[:] = (0, 1, 0, 1)
    assert not np.array_equal(drawn.render(shown(simulation)), before)


@pytest.mark.weekly
def test_a_floor_that_changes_its_size_shows(draws):
    described, simulation = started("cartpole-swingup")
    drawn = draws(described, simulation, "reference")
    before = drawn.render(shown(simulation), -1)
    floor = simulation.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    sizes = simulation.model.geom_size.copy()
    simulation.model.geom_size[floor, :2] /= 4
    assert not np.array_equal(drawn.render(shown(simulation), -1), before)
    simulation.model.geom_size[:] = sizes
    np.testing.assert_array_equal(drawn.render(shown(simulation), -1), before)


def test_cameras(draws):
    described, simulation = started("cartpole-swingup")
    drawn = draws(described, simulation)
    state = shown(simulation)
    fixed, following, free = (drawn.render(state, camera) for camera in (0, 1, -1))
    np.testing.assert_array_equal(drawn.render(state, "fixed"), fixed)
    np.testing.assert_array_equal(drawn.render(state, "lookatcart"), following)
    placed = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(simulation.model, placed)
    np.testing.assert_array_equal(drawn.render(state, placed), free)
    placed.distance *= 2
    pictures = [fixed, following, free, drawn.render(state, placed)]
    for i, picture in enumerate(pictures):
        assert not any(np.array_equal(picture, other) for other in pictures[:i])
    with pytest.raises(ValueError, match="no camera 'fixd'; did you mean fixed"):
        drawn.render(state, "fixd")
    for index in (2, -2):
        with pytest.raises(ValueError, match=f"no camera {index}; .*'lookatcart'"):
            drawn.render(state, index)
    np.testing.assert_array_equal(drawn.render(state), fixed)


def test_sizes_and_kinds(draws):
    described, simulation = started("walker-walk")
    drawn = draws(described, simulation)
    state = shown(simulation)
    for width, height in ((84, 84), (1, 1), (700, 500), (33, 7), (84, 84)):
        for kind, shape, dtype in (
            ("rgb", (height, width, 3), np.uint8),
            ("depth", (height, width), np.float32),
            ("segmentation", (height, width, 2), np.int32),
        ):
            picture = drawn.render(state, width=width, height=height, kind=kind)
            assert (picture.shape, picture.dtype) == (shape, dtype)
            assert picture.flags.c_contiguous
            assert picture.flags.writeable
    segmentation = drawn.render(state, kind="segmentation")
    geoms = {i for i, of in segmentation.reshape(-1, 2).tolist() if of == mujoco.mjtObj.mjOBJ_GEOM}
    names = {simulation.model.geom(i).name for i in geoms}
    assert {"floor", "torso"} <= names
    depth = drawn.render(state, kind="depth")
    torso = (segmentation == (simulation.model.geom("torso").id, 5)).all(-1)
    camera = simulation.data.cam_xpos[0]
    distance = np.linalg.norm(camera - simulation.data.body("torso").xpos)
    assert abs(depth[torso].mean() - distance) < 0.3  # m
    for width, height in ((0, 10), (10, -1), (studio.MAX_SIZE + 1, 10)):
        with pytest.raises(ValueError, match="must be from 1 to"):
            drawn.render(state, width=width, height=height)
    with pytest.raises(ValueError, match="kind: 'deph' is none of rgb, depth"):
        drawn.render(state, kind="deph")


def test_depth_of_an_orthographic_camera(draws):
    described, simulation = started("pendulum-swingup")
    drawn = draws(described, simulation)
    above = mujoco.MjvCamera()
    above.lookat[:] = simulation.data.geom("mass").xpos
    above.elevation, above.distance, above.orthographic = -90, 3, 1
    depth = drawn.render(shown(simulation), above, kind="depth")
    # So much is in view that the mass is smaller than a pixel: the floor is what is seen.
    np.testing.assert_allclose(depth[42, 42], 3 + above.lookat[2], rtol=1e-4)


def test_unknown_quality(draws):
    described, simulation = started("pendulum-swingup")
    with pytest.raises(ValueError, match="did you mean reference"):
        draws(described, simulation, "refrence")


@pytest.mark.weekly
def test_fast_leaves_out_light_and_fineness_but_no_shapes(draws, monkeypatch):
    described, simulation = started("walker-walk")
    state = shown(simulation)
    context, render = mujoco.MjrContext, mujoco.mjr_render
    uploads, lights = [], []

    def make(model, font):
        quality, size = model.vis.quality, model.geom("floor").size
        cells = max(size[:2]) / size[2]
        made = context(model, font)
        uploads.append(
            (quality.numslices, quality.numstacks, cells, made.offSamples, made.shadowSize)
        )
        return made

    def draw(rectangle, scene, drawing):
        flags = (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION)
        lights.append([bool(scene.flags[flag]) for flag in flags])
        render(rectangle, scene, drawing)

    monkeypatch.setattr(mujoco, "MjrContext", make)
    monkeypatch.setattr(mujoco, "mjr_render", draw)
    pictures, objects = [], []
    for quality in ("reference", "fast"):
        drawn = draws(described, simulation, quality)
        pictures.append(drawn.render(state).astype(int))
        objects.append(drawn.render(state, kind="segmentation"))
    assert lights == [[True, True]] * 2 + [[False, False]] * 2
    reference, fast = uploads
    assert all(fine > coarse for fine, coarse in zip(reference, fast, strict=True))
    assert fast[2:] == (studio.COARSE_PLANE, 0, 0)
    assert (objects[0] != objects[1]).any(-1).mean() < 0.01  # of the pixels
    difference = np.abs(pictures[0] - pictures[1])
    assert 0 < difference.mean() < 20  # of 255
    figure = objects[0][..., 0] != simulation.model.geom("floor").id
    assert difference[figure].mean() < 2  # lit alike, where there are no shadows


# --- colours that follow the reward


def test_colours_follow_the_reward():
    model = task("cheetah-run").model().compile()
    colours = {name: model.material(name).rgba.copy() for name in ("self", "self_highlight")}
    effector = model.material("effector").rgba.copy()
    for reward, weight in ((0, 0), (0.5, 0.0625), (1, 1), (7, 1), (-3, 0)):
        colour_by_reward(model, reward)
        expected = weight * colours["self_highlight"] + (1 - weight) * colours["self"]
        np.testing.assert_allclose(model.material("self").rgba, expected, atol=1e-6)
    colour_by_reward(model, 1)
    assert not np.allclose(model.material("effector").rgba, effector)
    colour_by_reward(model, 0)
    np.testing.assert_allclose(model.material("effector").rgba, effector, atol=1e-6)
    colour_by_reward(mujoco.MjModel.from_xml_string("<mujoco/>"), 1)  # has none of them


def test_colours_of_one_picture_are_not_those_of_the_next(draws):
    described, simulation = started("pendulum-swingup")
    drawn = draws(described, simulation)
    state = shown(simulation)
    plain = drawn.render(state)
    np.testing.assert_array_equal(drawn.render(state, reward=0.0), plain)
    assert not np.array_equal(drawn.render(state, reward=1.0), plain)
    np.testing.assert_array_equal(drawn.render(state), plain)


# --- threads, processes, ends


def test_close_twice_and_go_on(draws):
    described, simulation = started("room")
    drawn = draws(described, simulation)
    drawn.close()
    picture = drawn.render(shown(simulation))
    drawn.close()
    drawn.close()
    assert not _drawing_threads()
    np.testing.assert_array_equal(drawn.render(shown(simulation)), picture)


def test_a_renderer_that_nobody_closes_goes_away():
    described, simulation = started("room")
    drawn = Renderer(described.model, simulation.model)
    drawn.render(shown(simulation))
    (thread,) = _drawing_threads()
    del drawn
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.weekly
@pytest.mark.parametrize(("closed", "backend"), [(True, "egl"), (False, "osmesa")])
def test_the_process_ends_without_a_word(closed, backend):
    script = """
described, simulation = started("room")
renderers = [Renderer(described.model, simulation.model, q) for q in ("fast", "reference")]
for renderer in renderers:
    renderer.render(shown(simulation))
"""
    _run(script + ("renderers[0].close()" if closed else ""), MUJOCO_GL=backend)


@pytest.mark.weekly
@pytest.mark.parametrize("shared", [True, False], ids=["one_renderer", "own_renderers"])
def test_eight_threads_render_at_once(draws, shared):
    described, simulation = started("room")
    states = []
    for _ in range(8):
        states.append(shown(simulation))
        simulation.step(np.zeros(simulation.model.nu), 20)
    common = draws(described, simulation)
    expected = [common.render(state) for state in states]
    wrong = []

    def work(i):
        own = common if shared else draws(described, simulation)
        for _ in range(25):
            if not np.array_equal(own.render(states[i]), expected[i]):
                wrong.append(i)
        if i % 2 and not shared:
            own.close()

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCHDOG)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong


@pytest.mark.weekly
def test_four_processes_render_at_once():
    script = """
described, simulation = started("room")
renderer = Renderer(described.model, simulation.model, "fast")
print(sum(int(renderer.render(shown(simulation)).sum()) for _ in range(10)))
"""
    outputs = []
    threads = [
        threading.Thread(target=lambda: outputs.append(_run(script)), daemon=True) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCHDOG)
    assert len(outputs) == 4
    assert len(set(outputs)) == 1


FORK = """
described, simulation = started("room")
state = shown(simulation)
renderer = Renderer(described.model, simulation.model, "fast")
expected = renderer.render(state)
busy = "busy" in sys.argv
drawing, stop = threading.Event(), threading.Event()
others = [Renderer(described.model, simulation.model, "fast") for _ in range(3 * busy)]
pictures = [0] * len(others)

def draw(i):
    while drawing.wait() and not stop.is_set():
        others[i].render(state)
        pictures[i] += 1

def begin_drawing():
    before = list(pictures)
    drawing.set()
    while any(now == then for now, then in zip(pictures, before)):
        time.sleep(0.001)

threads = [threading.Thread(target=draw, args=(i,)) for i in range(len(others))]
for thread in threads:
    thread.start()
if "closed" in sys.argv:
    renderer.close()
for i in range(2):
    begin_drawing()
    child = os.fork()
    if child == 0:
        assert np.array_equal(renderer.render(state), expected)
        if i == 0:
            renderer.close()  # which is not the parent's
        if busy:
            assert np.array_equal(others[0].render(state), expected)
            os._exit(0)  # the parent's threads are not there to be ended
        grandchild = os.fork()
        assert np.array_equal(renderer.render(state), expected)
        if grandchild:
            assert os.waitpid(grandchild, 0)[1] == 0
        sys.exit(0)
    assert np.array_equal(renderer.render(state), expected)
    drawing.clear()  # or the child waits long for a core
    assert os.waitpid(child, 0)[1] == 0
stop.set()
drawing.set()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize(
    ("how", "backend"),
    mostly_nightly(itertools.product(("open", "closed", "busy"), ("egl", "osmesa")), 5),
)
def test_after_a_fork_both_render(how, backend):
    _run(FORK, how, MUJOCO_GL=backend, PYTHONWARNINGS="ignore")


@pytest.mark.weekly
def test_after_a_fork_an_error_where_the_driver_cannot_go_on():
    """Mesa's software driver with threads of its own, as the user may ask for."""
    _run(
        """
from mjgym.rendering import RenderingError
described, simulation = started("room")
renderer = Renderer(described.model, simulation.model, "fast")
renderer.render(shown(simulation))
child = os.fork()
if child == 0:
    try:
        renderer.render(shown(simulation))
    except RenderingError as error:
        assert "spawn" in str(error), error
        os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
renderer.render(shown(simulation))
""",
        MUJOCO_GL="egl",
        LP_NUM_THREADS="2",
        PYTHONWARNINGS="ignore",
    )


def test_a_driver_that_hangs_raises(draws, monkeypatch):
    described, simulation = started("room")
    drawn = draws(described, simulation)
    expected = drawn.render(shown(simulation))
    answer = threading.Event()
    with monkeypatch.context() as patched:
        patched.setattr(renderer, "TIMEOUT", 0.2)
        patched.setattr(mujoco, "mjr_render", lambda *_: answer.wait())
        (stuck,) = _drawing_threads()
        with pytest.raises(RenderingError, match=r"has not answered for 0\.2 s"):
            drawn.render(shown(simulation))
        drawn.close()
    np.testing.assert_array_equal(drawn.render(shown(simulation)), expected)
    drawn.close()
    answer.set()
    stuck.join(10)
    assert not stuck.is_alive()


def test_a_driver_that_fails_can_be_tried_again(draws, monkeypatch):
    described, simulation = started("room")
    drawn = draws(described, simulation)
    with monkeypatch.context() as patched:
        patched.setattr(mujoco, "MjrContext", _fail)
        with pytest.raises(RenderingError, match="cannot draw this model: no memory"):
            drawn.render(shown(simulation))
    drawn.render(shown(simulation))


def _fail(*_):
    raise mujoco.FatalError("no memory")


def _resident():
    """Memory of this process, bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def _open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.weekly
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_thousands_of_renders_leave_memory_flat(draws):
    described, simulation = started("room")
    drawn = draws(described, simulation)
    for kind in rendering.KINDS * 100:
        drawn.render(shown(simulation), width=32, height=32, kind=kind)
    gc.collect()
    memory, files, threads = _resident(), _open_files(), threading.active_count()
    for i in range(3_000):  # each picture has 3 kB
        simulation.step(np.zeros(simulation.model.nu), 1)
        drawn.render(shown(simulation), width=32, height=32, kind=rendering.KINDS[i % 20 // 18])
    gc.collect()
    assert _resident() - memory < 4 * 2**20
    assert _open_files() <= files  # fewer, if what an earlier test has left ends now
    assert threading.active_count() <= threads


@pytest.mark.weekly
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_opening_and_closing_leaves_memory_flat(draws):
    described, simulation = started("room")
    drawn = draws(described, simulation)

    def cycle():
        drawn.render(shown(simulation), width=16, height=16)
        drawn.close()

    for _ in range(6):
        cycle()
    gc.collect()
    files, threads, memory = _open_files(), threading.active_count(), [_resident()]
    for _ in range(3):
        for _ in range(4):
            cycle()
        gc.collect()
        memory.append(_resident())
    # What leaks does so in each round; what the heap takes once, it does not take again.
    assert np.diff(memory).min() < 4 * 2**20
    assert _open_files() <= files  # fewer, if what an earlier test has left ends now
    assert threading.active_count() <= threads


# --- on the screen


def test_a_window_without_a_display(undecided):
    described, simulation = started("room")
    window = Window(described, simulation.model)
    with pytest.raises(RenderingError, match='render_mode="human" needs a display') as raised:
        window.show(shown(simulation))
    assert "mjgym.viewing.launch(env)" in str(raised.value)
    window.close()


@lane(3, 5)
@pytest.mark.display
@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="no virtual display")
def test_on_a_display(tmp_path):
    """GLFW is taken there, forked processes fall back on another, and a window shows up."""
    script = tmp_path / "script.py"
    script.write_text(
        SETUP
        + """
from mjgym.rendering.window import Window
described, simulation = started("quadruped-escape")
if "close" not in sys.argv:
    renderer = Renderer(described.model, simulation.model, "fast")
    picture = renderer.render(shown(simulation))
    assert choose() == "glfw", choose()
    child = os.fork()
    if child == 0:
        other = renderer.render(shown(simulation))
        assert choose() in ("egl", "osmesa")
        assert np.abs(picture.astype(int) - other).max() <= 1
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
window = Window(described, simulation.model, "fast")
for seed in range(3):
    begin(simulation, described.initialize, lambda i: np.random.default_rng(seed))
    window.show(shown(simulation), "global", reward=0.5)
if "close" in sys.argv:
    window.close()
    window.close()
print("shown")
"""
    )
    for arguments in ([], ["close"]):
        done = subprocess.run(
            ["xvfb-run", "-a", "-s", "-screen 0 640x480x24", sys.executable, script, *arguments],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            capture_output=True,
            text=True,
            timeout=WATCHDOG,
            check=False,
        )
        assert (done.returncode, done.stdout.strip()) == (0, "shown"), done.stderr
