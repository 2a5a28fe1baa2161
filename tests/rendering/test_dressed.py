"""Images show coats in place of what they cover; segmentation shows what is simulated."""

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym  # noqa: F401  (registers the ids)
from mjgym.mjcf import published_look

SKIN = int(mujoco.mjtObj.mjOBJ_SKIN)
GEOM = int(mujoco.mjtObj.mjOBJ_GEOM)


@pytest.mark.weekly
@pytest.mark.gl
@pytest.mark.parametrize("id", ["dmc/dog-stand-v0", "locomotion/rodent-two_touch-v0"])
def test_segmentation_shows_geoms(id):
    env = gymnasium.make(id).unwrapped
    env.reset(seed=0)
    before = env.camera(width=120, height=90)
    objects = env.camera(width=120, height=90, kind="segmentation")
    assert SKIN not in objects[..., 1]
    furry = objects[..., 0][objects[..., 1] == GEOM]
    groups = env.model.geom_group
    assert {int(groups[geom]) for geom in np.unique(furry)} & {1, 2}
    assert np.array_equal(env.camera(width=120, height=90), before)  # the coat is back
    env.close()


@pytest.mark.weekly
@pytest.mark.gl
def test_a_coat_hides_what_it_covers():
    env = gymnasium.make("dmc/dog-stand-v0").unwrapped
    env.reset(seed=0)
    usual = env.camera(width=120, height=90)
    bare = env.camera(width=120, height=90, groups={"skin": (), "geom": (0, 1, 2, 5)})
    bones = env.camera(width=120, height=90, groups={"skin": ()})
    assert np.abs(usual.astype(int) - bare).mean() < 6  # the same dog, of single shapes
    assert np.abs(bare.astype(int) - bones).mean() > 1
    env.close()


@pytest.mark.weekly
@pytest.mark.gl
def test_the_rat_does_not_see_the_inside_of_its_coat():
    env = gymnasium.make("locomotion/rodent-two_touch-v0").unwrapped
    env.reset(seed=0)
    eye = "walker/egocentric"
    hidden = env.task.creature.hidden_groups
    shots = [
        env.camera(eye, hidden_groups=hidden, **kinds) for kinds in ({}, {"groups": {"skin": ()}})
    ]
    assert np.array_equal(*shots)
    env.close()


def test_published_look_needs_its_package(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(published_look, "package_folder", absent)
    with pytest.raises(ModuleNotFoundError, match=r"dm-control\]"):
        gymnasium.make("dmc/dog-run-v0", look="published")
    gymnasium.make("dmc/dog-run-v0").close()


@pytest.mark.parametrize("id", ["dmc/walker-walk-v0", "locomotion/ant-maze_forage-v0"])
def test_published_look_is_of_dog_and_rat(id):
    with pytest.raises(ValueError, match="dog and rat"):
        gymnasium.make(id, look="published")


def test_looks_are_known():
    with pytest.raises(ValueError, match="published"):
        gymnasium.make("dmc/dog-run-v0", look="publish")


@pytest.mark.gl
def test_fast_images_are_of_single_shapes():
    """Policies that learn from images do not pay for coats."""
    env = gymnasium.make("dmc/dog-stand-v0", render_quality="fast").unwrapped
    env.reset(seed=0)
    assert env.cameras.scene().compile().nskin == 0
    plain = env.camera(width=60, height=45)
    assert np.array_equal(env.camera(width=60, height=45, groups={"skin": ()}), plain)
    env.close()
