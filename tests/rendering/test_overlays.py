"""What pictures show beside the shapes: words, groups, the engine's own options."""

import pickle

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym  # noqa: F401  (registers the ids)
from mjgym.envs.overlays import GROUPED, PLAIN, SHOW_WORDS, Overlay

VIS = mujoco.mjtVisFlag
ESCAPE = "dmc/quadruped-escape-v0"
SIZE = {"width": 96, "height": 72, "render_quality": "fast"}


def test_nothing_is_the_engines_own_look_without_rays():
    option, plain = Overlay.from_words().option(), mujoco.MjvOption()
    plain.flags[VIS.mjVIS_RANGEFINDER] = 0
    assert np.array_equal(option.flags, plain.flags)
    for kind in GROUPED:
        assert np.array_equal(getattr(option, f"{kind}group"), getattr(plain, f"{kind}group"))
    assert (option.frame, option.label) == (plain.frame, plain.label)


@pytest.mark.parametrize("word", SHOW_WORDS)
def test_every_word_changes_something_and_survives_pickle(word):
    overlay = Overlay.from_words((word,))
    assert overlay != PLAIN
    assert pickle.loads(pickle.dumps(overlay)) == overlay
    assert Overlay.from_words(word) == overlay  # one word alone


def test_words_and_groups():
    option = Overlay.from_words(
        ("joints", "forces", "geom_frames"), {"geom": (0, 3), "site": 4}
    ).option()
    assert option.flags[VIS.mjVIS_JOINT]
    assert option.flags[VIS.mjVIS_CONTACTFORCE]
    assert option.jointgroup.tolist() == [1] * 6  # of all groups
    assert option.geomgroup.tolist() == [1, 0, 0, 1, 0, 0]
    assert option.sitegroup.tolist() == [0, 0, 0, 0, 1, 0]
    assert option.tendongroup.tolist() == [1, 1, 1, 0, 0, 0]
    assert option.frame == mujoco.mjtFrame.mjFRAME_GEOM


def test_an_option_is_taken_as_it_is():
    given = mujoco.MjvOption()
    given.flags[VIS.mjVIS_SKIN] = 0
    given.geomgroup[:] = 1
    given.label = mujoco.mjtLabel.mjLABEL_ISLAND
    given.bvh_depth = 3
    option = Overlay.from_words(given).option()
    for name in ("flags", *(f"{kind}group" for kind in GROUPED)):
        assert np.array_equal(getattr(option, name), getattr(given, name))
    assert (option.label, option.bvh_depth) == (given.label, given.bvh_depth)
    with pytest.raises(TypeError, match="groups of its own"):
        Overlay.from_words(given, {"geom": 0})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"show": ("joint",)}, ValueError, "show: 'joint' is none of .*; did you mean joints"),
        ({"show": "contact"}, ValueError, "did you mean contacts"),
        ({"show": 3}, TypeError, "expected words"),
        ({"show": ("frames", "geom_frames")}, ValueError, "one kind of frames at a time"),
        ({"show": ("labels", "joint_labels")}, ValueError, "one kind of labels at a time"),
        ({"groups": {"geoms": 3}}, ValueError, "groups: 'geoms' is none of .*; did you mean geom"),
        ({"groups": {"geom": (0, 6)}}, ValueError, "geoms have groups 0 to 5, not 6"),
        ({"groups": (0, 1)}, TypeError, "groups: expected a dict"),
    ],
)
def test_mistakes_are_named_before_anything_is_made(arguments, error, message):
    with pytest.raises(error, match=message):
        gymnasium.make("dmc/pendulum-swingup-v0", **arguments)


@pytest.fixture(scope="module")
def creature():
    """A quadruped that lies on a hill, with range finders."""
    env = gymnasium.make(ESCAPE, render_mode="rgb_array", camera="global", **SIZE)
    env.reset(seed=0)
    for _ in range(60):
        env.step(np.zeros(env.action_space.shape, np.float32))
    yield env
    env.close()


SEEN = (
    "joints", "com", "rangefinders", "inertia", "sites", "frames", "labels", "actuators",
    "geom_frames", "cameras",
)  # fmt: skip
TOUCHING = ("contacts", "forces", "split_forces", "contact_frames", "force_labels")


@pytest.mark.gl
class TestPictures:
    @pytest.mark.weekly
    def test_words_are_seen_and_leave_the_simulation_alone(self, creature):
        base = creature.unwrapped
        before, plain = base.get_state(), creature.render()
        clear = base.camera("y", show=("transparent",))
        assert not np.array_equal(clear, base.camera("y"))
        unseen = [
            word
            for word in SEEN
            if np.array_equal(base.camera("y", show=("transparent", word)), clear)
        ]
        assert unseen == []
        assert np.array_equal(base.camera("y", show=("transparent",)), clear)  # nothing stays
        assert np.array_equal(creature.render(), plain)
        after = base.get_state()
        assert all(np.array_equal(before[name], after[name]) for name in before)

    def test_groups_are_seen(self, creature):
        base = creature.unwrapped
        assert not np.array_equal(base.camera(groups={"geom": ()}), base.camera())
        kinds = base.camera("y", kind="segmentation", groups={"geom": ()})[..., 1]
        assert not (kinds == mujoco.mjtObj.mjOBJ_GEOM).any()

    @pytest.mark.weekly
    def test_the_environments_own_hold_where_a_call_names_none(self):
        words = ("com", "inertia")
        env = gymnasium.make(ESCAPE, render_mode="rgb_array", show=words, **SIZE)
        envs = gymnasium.make_vec(ESCAPE, num_envs=2, render_mode="rgb_array", show=words, **SIZE)
        env.reset(seed=0)
        envs.reset(seed=0)
        base = env.unwrapped
        assert np.array_equal(env.render(), base.camera(show=words))
        assert not np.array_equal(env.render(), base.camera(show=()))
        assert np.array_equal(envs.render()[0], env.render())
        assert np.array_equal(envs.camera(show=())[0], base.camera(show=()))
        env.close()
        envs.close()

    @pytest.mark.weekly
    def test_an_agents_picture_never_has_them(self):
        pictures = []
        for show in ((), ("labels", "inertia")):
            env = gymnasium.make(
                "dmc/walker-walk-v0",
                observation="pixels",
                pixels={"width": 48, "height": 48},
                show=show,
            )
            pictures.append(env.reset(seed=0)[0])
            env.close()
        assert np.array_equal(*pictures)

    def test_contacts_are_those_of_the_state_that_is_shown(self):
        """Put down by hand, without a step of the simulation."""
        env = gymnasium.make("dmc/walker-stand-v0", **SIZE).unwrapped
        env.reset(seed=0)
        for height, touches in ((1.0, False), (-0.3, True)):
            env.set_state({"qpos": np.array([height, *env.data.qpos[1:]])})
            clear = env.camera(show=("transparent",))
            for word in TOUCHING:
                seen = env.camera(show=("transparent", word))
                assert np.array_equal(seen, clear) != touches, word
        env.close()
