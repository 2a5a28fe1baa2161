"""What people see of locomotion: skies that are not black, walls not white, small textures."""

import itertools

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers.lanes import lane, mostly_nightly
from helpers.registered import registered_task
from mjgym.envs.pixels import viewpoint

IDS = mjgym.registry.ids(namespace="locomotion")
TEXTURES = 1_000_000  # bytes of all that a model has


@pytest.mark.gl
@pytest.mark.parametrize(
    ("id", "quality"), mostly_nightly(itertools.product(IDS, ("fast", "reference")), 7)
)
def test_skies_and_walls(id, quality):
    env = gymnasium.make(id, render_quality=quality).unwrapped
    env.reset(seed=0)
    eyes = [walker.prefix + walker.camera for walker in env.task.creatures]
    for camera in {viewpoint(env.task, env.model), 0, *eyes}:
        picture = env.camera(camera, width=80, height=60)
        kinds = env.camera(camera, width=80, height=60, kind="segmentation")[..., 1]
        sky = picture[kinds == -1]
        if len(sky):
            assert sky.mean() > 60, camera
            assert sky[:, 2].min() > 60, camera  # it is blue
        white = (picture >= 250).all(axis=-1).mean()
        assert white < 0.01, camera
    env.close()


@lane(1, 3)
@pytest.mark.gl
@pytest.mark.parametrize("id", [id for id in IDS if "target" in id or "tr" in id or "two" in id])
def test_the_floor_is_seen_from_high_above(id):
    """The sky, which ends what is drawn, lies behind it."""
    env = gymnasium.make(id, render_quality="fast").unwrapped
    env.reset(seed=0)
    red, _, blue = np.moveaxis(env.camera("top_camera", width=60, height=60).astype(int), -1, 0)
    assert (blue[20:40, 20:40] < 200).all()
    assert blue[30, 30] != blue[2, 30]
    assert len(np.unique(red[10:50, 10:50])) > 5  # chequers
    env.close()


@pytest.mark.parametrize("id", mostly_nightly(IDS, 7))
def test_textures_are_small(id):
    model = registered_task(id).model().compile()
    assert 0 < model.tex_data.nbytes < TEXTURES


@pytest.mark.parametrize("id", ["locomotion/ant-run_walls-v0", "locomotion/ant-run_gaps-v0"])
def test_what_is_only_felt_stays_unseen(id):
    env = gymnasium.make(id).unwrapped
    for side in ("left", "right", "near", "far"):
        assert env.model.geom(side).rgba[3] == 0
        assert env.model.geom(side).matid[0] == -1
    hidden = env.model.geom("ground")
    if "gaps" in id:  # it lies far below the platforms, to end a fall
        assert hidden.rgba[3] == 0
        assert hidden.matid[0] == -1
    assert np.isfinite(env.reset(seed=0)[0]).all()
    env.close()
