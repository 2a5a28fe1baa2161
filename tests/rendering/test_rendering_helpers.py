"""Batches whose pictures several processes draw: the same pixels, and no process left behind."""

import gc
import os
import signal
import threading
import weakref

import gymnasium
import mujoco
import numpy as np
import pytest

from helpers.lanes import lane
from helpers.small_process import run_small
from helpers.suite import begin, shown, started
from mjgym import Viewpoint
from mjgym.envs import env as env_module
from mjgym.envs.overlays import Overlay
from mjgym.rendering import Renderer, RenderingError, Shot, backends, renderer
from mjgym.sim import Batched
from mjgym.task.models import compile_model

pytestmark = pytest.mark.gl

SIZE = 5  # of the batch: more than there are processes

with_helpers = lane(1, 3)  # all on the same day: they share processes, which take long to start


@pytest.fixture(scope="module")
def batch():
    return begun()


def begun():
    """Terrain and places of its own for each simulation."""
    described, _ = started("quadruped-escape")
    simulations = Batched(compile_model(described), SIZE, 1, described.varies)
    begin(simulations, described.initialize, np.random.default_rng)
    return described, simulations


@pytest.fixture
def eager(monkeypatch):
    """Sets how slow a batch must be for helpers to start: from now on any."""

    def slow(seconds=0.0):
        monkeypatch.setattr(renderer, "SLOW", seconds)

    slow()
    return slow


@pytest.fixture(scope="module")
def drawn(batch):
    """A renderer for all tests: its helpers take long to start."""
    drawn = Renderer(batch[0].model, batch[1].model, "fast", processes=3)
    yield drawn
    drawn.close()


@pytest.fixture
def helped(batch, drawn, eager):
    """That renderer with its helpers, started anew where a test before has ended them."""
    while drawn._helpers is None:
        drawn.render_all(shots(batch[1]))
    return drawn


def shots(simulations, **options):
    options = {"width": 40, "height": 30, **options}
    return [Shot(shown(simulations, i), **options) for i in range(SIZE)]


def processes(drawn):
    return [process.pid for process, _ in drawn._helpers._running]


def runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.usefixtures("eager")
def test_they_draw_what_one_process_draws(batch):
    described, simulations = batch
    helped = Renderer(described.model, simulations.model, "fast", processes=3)
    alone = Renderer(described.model, simulations.model, "fast")
    wanted = alone.render_all(shots(simulations))
    assert len({picture.tobytes() for picture in wanted}) == SIZE
    np.testing.assert_array_equal(helped.render_all(shots(simulations)), wanted)
    assert helped._helpers is None  # not before it is known to be worth it
    for kind in ("rgb", "depth", "segmentation"):
        asked = shots(simulations, kind=kind)
        np.testing.assert_array_equal(helped.render_all(asked), alone.render_all(asked))
    assert len(processes(helped)) == 2
    colours = simulations.model.mat_rgba.copy()
    simulations.model.mat_rgba[:, :3] = 1.0  # a user may write into the model at any time
    white = alone.render_all(shots(simulations))
    assert not np.array_equal(white, wanted)
    np.testing.assert_array_equal(helped.render_all(shots(simulations)), white)
    simulations.model.mat_rgba[:] = colours
    rewarded = shots(simulations, reward=0.5, hidden_groups=(1,))
    np.testing.assert_array_equal(helped.render_all(rewarded), alone.render_all(rewarded))
    alone.close()
    helped.close()


@with_helpers
def test_they_draw_what_shows_beside_the_shapes_and_viewpoints(batch, helped):
    alone = Renderer(batch[0].model, batch[1].model, "fast")
    overlay = Overlay.from_words(("inertia", "rangefinders", "frames"), {"site": range(6)})
    viewpoint = Viewpoint(elevation=-40, distance=2.0, bodies=("torso",))
    asked = shots(batch[1], overlay=overlay, camera=viewpoint)
    wanted = alone.render_all(asked)
    np.testing.assert_array_equal(helped.render_all(asked), wanted)
    assert not np.array_equal(wanted, alone.render_all(shots(batch[1], camera=viewpoint)))
    alone.close()


@pytest.mark.weekly
@with_helpers
@pytest.mark.usefixtures("eager")
def test_they_draw_successive_frames_of_one_environment(monkeypatch):
    monkeypatch.setattr(env_module, "allowed_cores", lambda: 3)
    env = gymnasium.make("dmc/cartpole-swingup-v0", width=40, height=30).unwrapped
    env.reset(seed=0)
    for _ in range(2):
        later, at_once = [], []
        for _ in range(4):
            env.step(np.ones(1))
            later += env.shots()
            at_once.append(env.camera())
        np.testing.assert_array_equal(env.cameras.render(later), at_once)
    assert len(processes(env.cameras._renderer)) == 2
    env.close()


@pytest.mark.weekly
@with_helpers
def test_fewer_pictures_than_processes(batch, helped):
    asked = shots(batch[1])
    every = helped.render_all(asked)
    np.testing.assert_array_equal(helped.render_all(asked[:2]), every[:2])
    np.testing.assert_array_equal(helped.render(asked[3].state, width=40, height=30), every[3])


@pytest.mark.weekly
def test_nothing_is_started_where_it_is_not_worth_it(batch, eager, monkeypatch):
    described, simulations = batch
    quick = Renderer(described.model, simulations.model, "fast", processes=3)
    eager(1e6)
    for _ in range(2):
        quick.render_all(shots(simulations))
    eager()
    monkeypatch.setattr(backends, "draws_in_caller", lambda: False)  # a graphics card
    for _ in range(2):
        quick.render_all(shots(simulations))
    assert quick._helpers is None
    quick.close()


@with_helpers
def test_closing_and_forgetting_end_them(batch, helped):
    before = processes(helped)
    assert all(map(runs, before))
    helped.close()
    assert not any(map(runs, before))
    other = Renderer(batch[0].model, batch[1].model, "fast", processes=2)
    for _ in range(2):
        other.render_all(shots(batch[1]))
    (pid,) = processes(other)
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None
    assert not runs(pid)
    for thread in threading.enumerate():
        if thread.name == "mjgym rendering":
            thread.join(10)


@pytest.mark.weekly
@with_helpers
def test_one_that_is_killed_is_an_error_and_no_more(batch, helped):
    wanted = helped.render_all(shots(batch[1]))
    os.kill(processes(helped)[0], signal.SIGKILL)
    with pytest.raises(RenderingError, match="a process that draws has ended"):
        helped.render_all(shots(batch[1]))
    np.testing.assert_array_equal(helped.render_all(shots(batch[1])), wanted)


@pytest.mark.weekly
@with_helpers
def test_an_unknown_camera(batch, helped):
    asked = [*shots(batch[1])[:-1], Shot(shown(batch[1], 0), "nosuch", width=40, height=30)]
    with pytest.raises(ValueError, match="no camera 'nosuch'"):
        helped.render_all(asked)
    assert len(helped.render_all(shots(batch[1]))) == SIZE


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("cameras", "asked", "message"),
    [
        ("", 3, "no camera 3; the cameras are -1: free"),
        ('<camera name="side"/><camera/>', 7, "the cameras are 0: 'side', 1, -1: free"),
        ("", "side", r"no camera 'side'.*-1 \(free\)"),
    ],
)
def test_an_unknown_camera_is_answered_with_those_there_are(cameras, asked, message):
    from mjgym.rendering.looks import QUALITIES
    from mjgym.rendering.twin import Twin

    model = f"<mujoco><worldbody>{cameras}<geom size='1'/></worldbody></mujoco>"
    twin = Twin(
        lambda: mujoco.MjSpec.from_string(model),
        mujoco.MjModel.from_xml_string(model),
        QUALITIES["reference"],
    )
    with pytest.raises(ValueError, match=message):
        twin.camera(asked)


@lane(2, 5)
def test_after_a_fork_the_child_leaves_them_to_its_parent():
    run_small("from test_rendering_helpers import draw_in_both; draw_in_both()")


def draw_in_both():
    batch = begun()
    renderer.SLOW = 0.0  # helpers run from the second batch on
    helped = Renderer(batch[0].model, batch[1].model, "fast", processes=3)
    wanted = [helped.render_all(shots(batch[1])) for _ in range(2)][1]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            here = helped.render_all(shots(batch[1]))
            code = 0 if np.array_equal(here, wanted) else 2
        finally:
            os._exit(code)
    np.testing.assert_array_equal(helped.render_all(shots(batch[1])), wanted)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(helped.render_all(shots(batch[1])), wanted)
    helped.close()
