"""Attributes and methods of sub-environments, as Gymnasium's SyncVectorEnv gives them."""

import gymnasium
import numpy as np
import pytest

ID = "dmc/walker-walk-v0"
N = 3
SHARED = ("task", "physics_timestep", "control_timestep", "render_mode", "closed")
SPACES = ("action_space", "observation_space")


@pytest.fixture
def pair():
    """The same sub-environments as one batch and one after the other."""
    ours = gymnasium.make_vec(ID, num_envs=N, threads=1)
    sync = gymnasium.make_vec(ID, num_envs=N, vectorization_mode="sync")
    for envs in (ours, sync):
        envs.reset(seed=5)
    actions = ours.action_space.sample()
    ours.step(actions)
    sync.step(actions)
    yield ours, sync
    ours.close()
    sync.close()


@pytest.mark.parametrize("name", [*SHARED, *SPACES, "np_random_seed"])
def test_attributes_are_those_of_single_environments(pair, name):
    ours, sync = pair
    got = ours.get_attr(name)
    assert isinstance(got, tuple)
    assert got == sync.get_attr(name)
    assert got == ours.call(name)


def test_random_generators_are_each_ones_own(pair):
    ours, sync = pair
    for one, other in zip(ours.get_attr("np_random"), sync.get_attr("np_random"), strict=True):
        assert one.bit_generator.state == other.bit_generator.state
    assert len({id(rng) for rng in ours.get_attr("np_random")}) == N


def assert_equal(one, other):
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        for name, value in one.items():
            assert np.array_equal(value, other[name]), name
    else:
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", ["get_state", "observe"])
def test_methods_give_what_single_environments_give(pair, name):
    ours, sync = pair
    got = ours.call(name)
    assert len(got) == N
    for one, other in zip(got, sync.call(name), strict=True):
        assert_equal(one, other)


@pytest.mark.weekly
@pytest.mark.gl
def test_pictures_are_those_of_single_environments(pair):
    ours, sync = pair
    arguments = ("side",), {"width": 32, "height": 24, "kind": "segmentation"}
    for one, other in zip(
        ours.call("camera", *arguments[0], **arguments[1]),
        sync.call("camera", *arguments[0], **arguments[1]),
        strict=True,
    ):
        assert one.shape == (24, 32, 2)
        assert np.array_equal(one, other)


@pytest.mark.gl
def test_render():
    envs = gymnasium.make_vec(ID, num_envs=2, render_mode="rgb_array", width=16, height=16)
    envs.reset(seed=0)
    pictures = envs.call("render")
    assert [p.shape for p in pictures] == [(16, 16, 3)] * 2
    assert np.array_equal(pictures, envs.render())


def test_render_without_a_mode_warns_as_a_single_environment_does(pair):
    ours, _ = pair
    with pytest.warns(UserWarning, match="render_mode"):
        assert ours.call("render") == (None,) * N


def test_a_state_is_written_to_each(pair):
    ours, sync = pair
    state = ours.call("get_state")[1]
    for one, other in zip(
        ours.call("set_state", state), sync.call("set_state", state), strict=True
    ):
        assert np.array_equal(one, other)
    for each in ours.call("get_state"):
        assert_equal(each, state)


def test_only_some(pair):
    ours, _ = pair
    before = ours.call("get_state")
    assert ours.call("np_random_seed", ids=[2, 0]) == (7, 5)
    ours.call("set_state", {"qpos": np.zeros(9)}, ids=[1])
    after = ours.call("get_state")
    assert_equal(after[0], before[0])
    assert_equal(after[2], before[2])
    assert not after[1]["qpos"].any()


def test_generators_can_be_set(pair):
    ours, sync = pair
    for envs in pair:
        envs.set_attr("np_random", [np.random.default_rng(i) for i in range(N)])
    assert np.array_equal(ours.reset()[0], sync.reset()[0])
    assert ours.get_attr("np_random_seed") == (-1,) * N
    with pytest.raises(ValueError, match="2 values for 3"):
        ours.set_attr("np_random", [np.random.default_rng(0)] * 2)
    with pytest.raises(TypeError, match="Generator"):
        ours.set_attr("np_random", 3)


def test_unknown_names_are_refused_with_the_nearest(pair):
    ours, _ = pair
    with pytest.raises(AttributeError, match="did you mean get_state"):
        ours.call("get_stat")
    with pytest.raises(AttributeError, match="did you mean control_timestep"):
        ours.get_attr("control_timestp")
    with pytest.raises(AttributeError, match="did you mean np_random"):
        ours.set_attr("np_randm", 1)
    with pytest.raises(AttributeError, match=r"'task' cannot be set.*make_vec"):
        ours.set_attr("task", None)


@pytest.mark.parametrize("name", ["reset", "step", "close"])
def test_what_all_do_together_is_refused(pair, name):
    ours, _ = pair
    before = ours.get_state()
    with pytest.raises(AttributeError, match=rf"use envs\.{name}\(\)"):
        ours.call(name)
    assert_equal(ours.get_state(), before)
    assert not ours.closed
