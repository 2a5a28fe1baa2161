"""Errors of the engine end an episode as diverged, compiled or not, and never the process."""

from dataclasses import dataclass

import numpy as np
import pytest

from helpers.numpy_hooks import in_numpy
from mjgym import Env, Task, VectorEnv
from mjgym.loop.episode import DivergenceError
from mjgym.mjcf import Spec

SMALL, ENOUGH = "30K", "1M"
STEPS = 30
WARNING = r"an episode ends as diverged, since MuJoCo raised: mj_stackAlloc.*\(increase <size"
BOX = """<body pos="{x} 0 1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>"""
MODEL = """
<mujoco>
  <size memory="{memory}"/>
  <option timestep="0.01"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 2"><joint name="lift" type="slide" axis="0 0 1"/><geom size=".1"/></body>
    {boxes}
  </worldbody>
  <actuator><motor joint="lift" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


@dataclass(frozen=True)
class Boxes(Task):
    """Boxes fall onto a floor. Reward: 1. Start: in the air. Observation: all positions."""

    arena: str = SMALL  # of which many contacts take more than there is
    time_limit, control_timestep = 5.0, 0.05

    def model(self):
        boxes = "".join(BOX.format(x=0.3 * k) for k in range(1, 12))
        return Spec.from_string(MODEL.format(memory=self.arena, boxes=boxes))

    def initialize(self, v, rng):
        v.qpos[9::7] += rng.uniform(0, 2)  # height of all boxes

    def observation(self, v):
        return {"positions": v.qpos}

    def terms(self, v):
        return {"height": v.qpos[..., 0] + 1}


@dataclass(frozen=True)
class Lagging(Boxes):
    """The same with quantities that lag."""

    lagging = True


@pytest.fixture(params=[pytest.param("compiled", marks=pytest.mark.compiled), "numpy"])
def of(request):
    """Makes a task whose hooks run so."""
    if request.param == "numpy":
        return in_numpy
    pytest.importorskip("llvmlite", reason='needs llvmlite: pip install -e ".[fast]"')
    return lambda task: task


def played(envs):
    """Observations, rewards, and masks of the diverged: (steps, environments, ...)."""
    envs.reset(seed=0)
    found = []
    for _ in range(STEPS):
        seen, rewards, _, truncated, info = envs.step(np.zeros(envs.action_space.shape))
        found.append((seen, rewards, info.get("diverged", np.zeros_like(truncated)) & truncated))
    envs.close()
    return [np.array(x) for x in zip(*found, strict=True)]


@pytest.mark.parametrize("lagging", [False, True])
def test_a_simulation_of_a_batch_ends_and_the_others_go_on(of, lagging) -> None:
    cls = Lagging if lagging else Boxes
    with pytest.warns(RuntimeWarning, match=WARNING):
        *found, diverged = played(VectorEnv(of(cls()), 4, dtype="float64"))
    *usual, none = played(VectorEnv(of(cls(arena=ENOUGH)), 4, dtype="float64"))
    assert diverged.any(0).all()  # sooner or later
    assert not none.any()
    before = ~np.logical_or.accumulate(diverged)
    assert before[5:].any()
    for one, other in zip(found, usual, strict=True):
        np.testing.assert_array_equal(one[before], other[before])
    assert (found[1][diverged] == 0).all()


def to_the_end(env):
    """How many steps an episode has, the last reward and info."""
    env.reset(seed=0)
    steps, truncated = 0, False
    while steps < STEPS and not truncated:
        _, reward, _, truncated, info = env.step(np.zeros(1))
        steps += 1
    return steps, reward, info


def test_a_single_one_ends_and_begins_anew(of) -> None:
    env = Env(of(Boxes()), dtype="float64")
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=WARNING):
            steps, reward, info = to_the_end(env)
        assert steps > 5
        assert reward == 0
        assert info["diverged"]
    env.close()


def test_it_is_an_error_where_divergence_is_one(of) -> None:
    env = Env(of(Boxes()), dtype="float64", on_divergence="raise")
    with pytest.warns(RuntimeWarning, match=WARNING), pytest.raises(DivergenceError):
        to_the_end(env)
    env.close()


def test_candidates_of_a_rollout_are_cut_off(of) -> None:
    env = Env(of(Boxes()), dtype="float64")
    env.reset(seed=0)
    with pytest.warns(RuntimeWarning, match=WARNING):
        found = env.rollout(env.get_state(), np.zeros((3, STEPS, 1)))
    ends = found.truncated.argmax(1)
    assert (ends > 5).all()
    assert (found.rewards[np.arange(3), ends] == 0).all()
    np.testing.assert_array_equal(env.step(np.zeros(1))[1] > 0, True)  # the environment goes on
    env.close()
