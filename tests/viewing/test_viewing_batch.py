"""The page of a batch draws each sub-environment with its own sizes, places and colours."""

import contextlib
import importlib.util
import io
import time

import gymnasium
import numpy as np
import pytest

import mjgym  # noqa: F401  (registers the ids)
from helpers import pages
from mjgym.variation import Uniform
from mjgym.viewing import Session, ViewerError, ports
from mjgym.viewing.session import FRAME

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("mjviser") is None, reason="needs mjviser"),
]

MAZE = "locomotion/rolling_ball-maze_forage-v0"


def mesh_of(handle):
    """What a browser gets."""
    import trimesh

    return trimesh.load(io.BytesIO(handle.glb_data), file_type="glb").to_geometry()


class Scene:
    """A page's scene, as viser sends it to browsers."""

    def __init__(self, viewer):
        self.viewer = viewer

    @property
    def parts(self):
        """Meshes with their bodies and sub-environments."""
        return [part for parts in self.viewer._drawn.values() for part in parts]

    @property
    def middle(self):
        """Point of the world that cameras look at first, (3,)."""
        return -np.array(self.viewer._world.position)

    @property
    def width(self):
        """Width of the ground in sight, m."""
        return self.viewer._size

    def named(self, name):
        """The first handle of a name's beginning."""
        handles = self.viewer._server.scene._handle_from_node_name.items()
        return next(handle for node, handle in handles if node.startswith(name))

    def corners(self, i):
        """Corners of all that it shows of a sub-environment, in its own world's frame."""
        from trimesh.transformations import quaternion_matrix

        corners = []
        for part in (part for part in self.parts if i in part.ids):
            k = part.ids.index(i)
            turn = quaternion_matrix(part.handle.batched_wxyzs[k])[:3, :3]
            place = part.handle.batched_positions[k] - self.viewer._offsets[i]
            corners.append(mesh_of(part.handle).vertices @ turn.T + place)
        return np.concatenate(corners)


def redraw(viewer, session):
    """Show the present state: pages are drawn once in a frame."""
    from mjgym.viewing import batch

    time.sleep(batch.FRAME)
    viewer.sync(session)


def boxes(session, i):
    """Corners of the visible boxes of a sub-environment, as the engine has them."""
    data = session.follow(i)
    model = session.twin.model
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    return np.concatenate(
        [
            data.geom_xpos[g] + (signs * model.geom_size[g]) @ data.geom_xmat[g].reshape(3, 3).T
            for g in np.flatnonzero(model.geom_type == 6)
            if model.geom_group[g] < 3
        ]
    )


@pytest.fixture
def viewer_of():
    """Make the page for a batch; all are closed afterwards."""
    from mjgym.viewing.batch import BatchViewer

    made = []

    def make(id, **options):
        envs = gymnasium.make_vec(id, num_envs=3, **options)
        session = Session(envs, lambda observation: np.zeros(envs.action_space.shape))
        viewer = BatchViewer(session, 0, ports.listen("127.0.0.1", 0))
        made.append((viewer, envs))
        viewer.sync(session)
        return viewer, session

    yield make
    for viewer, envs in made:
        viewer.close()
        envs.close()


@pytest.mark.weekly
def test_walls_stand_where_each_maze_has_them(viewer_of):
    viewer, session = viewer_of(MAZE)
    walls = [boxes(session, i) for i in range(3)]
    assert not np.allclose(walls[0], walls[1])  # else any one would do
    for i in range(3):
        there = Scene(viewer).corners(i)
        distance = np.abs(there[:, None] - walls[i]).max(axis=2).min(axis=0)
        assert distance.max() < 1e-4, i
    session.next()
    redraw(viewer, session)
    for i in range(3):
        wanted = boxes(session, i)
        assert not np.allclose(wanted, walls[i])
        distance = np.abs(Scene(viewer).corners(i)[:, None] - wanted).max(axis=2).min(axis=0)
        assert distance.max() < 1e-4, i


def test_sizes_that_vary_show(viewer_of):
    viewer, session = viewer_of(
        "dmc/reacher-easy-v0", vary={"geom_size[finger]": Uniform(0.01, 0.05)}
    )
    radii = [session.follow(i).model.geom("finger").size[0] for i in range(3)]
    assert len(set(radii)) == 3
    finger = session.twin.model.geom("finger").bodyid[0]
    for i, radius in enumerate(radii):
        part = next(p for p in Scene(viewer).parts if p.body == finger and i in p.ids)
        assert part.ids == [i]
        size = np.ptp(mesh_of(part.handle).vertices, axis=0).max()
        assert size == pytest.approx(2 * radius, rel=0.02)


def test_bodies_that_look_alike_share_their_meshes(viewer_of):
    viewer, _ = viewer_of("dmc/walker-walk-v0")
    parts = Scene(viewer).parts
    assert parts
    assert all(part.ids == [0, 1, 2] for part in parts)


def test_floors_and_skies_have_the_models_colours(viewer_of):
    from mjgym.viewing.shapes import colour, sky

    viewer, session = viewer_of("dmc/walker-walk-v0")
    model = session.twin.model
    red, green, blue = colour(model, model.geom("floor").id)[:3]
    assert blue > red + 0.1  # of the texture: the material alone is white
    grid = Scene(viewer).named("/world/floor")
    assert np.allclose(grid.plane_color, 255 * np.array([red, green, blue]), atol=1)
    assert grid.plane_opacity == 1.0
    above = sky(model)
    assert above.shape[1:] == (1, 3)
    assert above[..., 2].mean() > above[..., 0].mean()  # blue


@pytest.mark.weekly
def test_terrain_is_not_made_coarse(viewer_of):
    viewer, _ = viewer_of("dmc/quadruped-escape-v0")
    ground = [part for part in Scene(viewer).parts if part.body == 0]
    assert any(len(mesh_of(part.handle).vertices) > 10_000 for part in ground)
    assert all(part.handle.lod == "off" for part in ground)


def test_cameras_follow_what_walks_away(viewer_of):
    viewer, session = viewer_of("dmc/walker-walk-v0")
    scene = Scene(viewer)
    before, width = scene.middle, scene.width
    start = session.env.get_state()["qpos"]

    def show(*moved):  # along x, m
        session.place({"qpos": start + np.array(moved)[:, None] * (np.arange(9) == 1)})
        redraw(viewer, session)

    show(0.0, 0.0, 0.0)
    assert np.array_equal(scene.middle, before)
    show(50.0, 50.0, 50.0)
    assert scene.middle[0] > 45
    assert scene.width == width
    show(-50.0, 0.0, 0.0)
    assert scene.width > 50
    show(0.0, 0.0, 0.0)  # as after a reset
    assert scene.width < 1.2 * width


@pytest.mark.weekly
def test_a_slow_page_gets_the_newest_state_and_few_others(viewer_of):
    import viser

    from mjgym.viewing.guard import UNDERWAY

    viewer, session = viewer_of("dmc/walker-walk-v0")
    subprotocol = f"viser-v{viser.__version__}"
    with pages.visit(viewer.url, "/", subprotocols=[subprotocol]) as page:

        def read_all():
            messages = []
            with contextlib.suppress(TimeoutError):
                while True:
                    messages.append(page.recv(timeout=2))
            return messages

        read_all()  # the scene
        pictures = 20 * UNDERWAY
        for _ in range(pictures):  # while it reads nothing
            session.step()
            redraw(viewer, session)
            time.sleep(FRAME)  # viser puts together what comes within one
        messages = read_all()
    # Underway to the guard and to the page, or in the queues of those that read.
    assert len(messages) <= 2 * UNDERWAY + 8 < pictures / 4
    for part in Scene(viewer).parts:
        if part.body:
            newest = part.handle.batched_positions.tobytes()
            assert any(newest in message for message in messages[-3:])


def test_episodes_of_a_batch_end():
    envs = gymnasium.make_vec("dmc/pendulum-swingup-v0", num_envs=2, max_episode_steps=3)
    session = Session(envs, lambda observation: np.ones(envs.action_space.shape))
    total = 0.0
    for _ in range(3):
        assert session.progress.ended == ""
        session.step()
        total += session.progress.reward
    assert session.progress.ended == f"step 3: 2 of 2 episodes end, mean return {total:.2f}"
    session.step()  # begins the next ones
    assert session.progress.total == session.progress.reward
    envs.close()


def test_nothing_moves_before_a_page_is_open():
    env = gymnasium.make("dmc/pendulum-swingup-v0")
    session = Session(env, lambda observation: np.ones(1))
    session.await_page()
    session.attend(False)
    assert session.progress.paused
    session.advance()
    assert session.progress.steps == 0
    assert session.rest() == FRAME  # a pause keeps no processor busy
    session.attend(True)
    assert not session.progress.paused
    session.pause(True)
    session.attend(True)  # a pause of somebody's own stays
    assert session.progress.paused
    env.close()


def test_who_drives_by_hand_is_not_paused_for_a_page():
    """The first key begins, wherever it is pressed."""
    env = gymnasium.make("dmc/pendulum-swingup-v0")

    class Keys:
        def begin(self):
            pass

        def touched(self):
            return True

    session = Session(env, lambda observation: np.ones(1), keys=Keys())
    session.await_page()
    session.advance()
    assert session.progress.steps > 0
    env.close()


@pytest.mark.weekly
def test_groups_show_and_what_has_no_shape_is_refused(viewer_of):
    viewer, _ = viewer_of("dmc/walker-walk-v0", groups={"geom": ()})
    assert not Scene(viewer).parts
    for asked in ({"show": ("joints",)}, {"show": ("frames",)}, {"groups": {"tendon": 3}}):
        with pytest.raises(ViewerError, match="draws geoms and sites alone; leave out --num-envs"):
            viewer_of("dmc/walker-walk-v0", **asked)
