"""Closed environments: what they refuse, and what they let go of."""

import os
import textwrap

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

from helpers.small_process import run_small

ID = "dmc/walker-walk-v0"


def both():
    return gymnasium.make(ID), gymnasium.make_vec(ID, num_envs=3, threads=2)


@pytest.mark.parametrize("which", [0, 1], ids=["single", "batch"])
@pytest.mark.parametrize("started", [False, True])
def test_a_closed_environment_refuses_what_needs_its_simulations(which, started):
    env = both()[which]
    plain = env.unwrapped
    if started:
        env.reset(seed=0)
        env.step(env.action_space.sample())
    state = plain.get_state()
    env.close()
    for use in (
        plain.reset,
        lambda: plain.step(env.action_space.sample()),
        lambda: plain.set_state(state),
        plain.get_state,
        plain.observe,
        plain.camera,
        lambda: plain.view,
    ):
        with pytest.raises(ClosedEnvironmentError, match="closed"):
            use()
    assert plain.closed


@pytest.mark.parametrize("which", [0, 1], ids=["single", "batch"])
def test_closing_twice_is_fine(which):
    env = both()[which]
    env.close()
    env.close()


def test_a_closed_environment_does_not_draw():
    for make, options in ((gymnasium.make, {}), (gymnasium.make_vec, {"num_envs": 2})):
        env = make(ID, render_mode="rgb_array", **options)
        env.reset(seed=0)
        env.close()
        with pytest.raises(ClosedEnvironmentError):
            env.unwrapped.render()


def test_a_closed_environment_is_open_again_in_no_copy():
    env, envs = both()
    for each in (env.unwrapped, envs):
        each.close()
        with pytest.raises(ClosedEnvironmentError):
            each.__getstate__()


THREADS = """
import contextlib, os, sys, time
import gymnasium, mjgym

def threads():
    return len(os.listdir("/proc/self/task"))

for id in sys.argv[1:]:
    with contextlib.closing(gymnasium.make_vec(id, num_envs=8, threads=4)) as first:
        first.reset(seed=0)  # what the first use starts, as BLAS does, may stay
    before = threads()
    envs = gymnasium.make_vec(id, num_envs=8, threads=4)
    view = envs.unwrapped.view
    body = view.names("body")[1]
    assert view.body(body).xpos.shape == (8, 3)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    assert threads() > before, id
    envs.close()
    for _ in range(500):  # the system takes a moment to end a thread
        if threads() <= before:
            break
        time.sleep(0.01)
    print(id, threads() - before)
    for use in (lambda: view.qpos, lambda: view.body(body), lambda: view.names("body")):
        try:
            use()
        except RuntimeError as error:
            assert "closed" in str(error), id
        else:
            raise AssertionError(id)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_a_closed_batch_lets_go_of_its_threads():
    """While the environments, their view and what the view gave are still referenced.

    In a process of its own: other tests' threads come and go in this one.
    """
    ids = [ID, "dmc/quadruped-escape-v0", "dmc/point_mass-hard-v0"]
    assert run_small(THREADS, *ids).split() == [word for id in ids for word in (id, "0")]


def test_arrays_of_a_closed_batch_keep_their_numbers():
    envs = gymnasium.make_vec(ID, num_envs=4, threads=2)
    envs.reset(seed=0)
    view = envs.unwrapped.view
    torso, qpos = view.body("torso"), view.qpos
    seen, shown = torso.xpos.copy(), qpos.copy()
    envs.close()
    assert np.array_equal(torso.xpos, seen)
    assert np.array_equal(qpos, shown)
    qpos[...] = 0


FORK = """
import gc, os
import gymnasium, mjgym
envs = gymnasium.make_vec("dmc/cartpole-swingup-v0", num_envs=4, threads=2)
envs.reset(seed=0)
held = envs.unwrapped.view.qpos
{before}
child = os.fork()
if child == 0:
    {in_child}
    del held
    gc.collect()
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    ("before", "in_child"), [("envs.close()", "pass"), ("pass", "envs.close()")]
)
def test_a_closed_batch_does_not_hang_a_forked_child(before, in_child):
    code = textwrap.dedent(FORK.format(before=before, in_child=in_child))
    assert run_small(f"import warnings; warnings.simplefilter('ignore')\n{code}").strip() == "0"


def test_what_the_constructor_refuses_goes_away_quietly():
    """Gymnasium before 1.3 closes whatever is collected."""
    code = """
import gc, gymnasium, mjgym
try:
    gymnasium.make_vec("dmc/walker-walk-v0", num_envs=0)
except ValueError:
    pass
gc.collect()
envs = object.__new__(mjgym.VectorEnv)
envs.close()
"""
    assert run_small(code) == ""
