"""Rollouts equal `set_state` and `step`, bit for bit, and leave the environment as it is."""

import os

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers.devices import DEVICE
from helpers.lanes import mostly_nightly
from helpers.registered import of_each_class
from helpers.rollouts import equal, row
from helpers.small_process import run_small
from mjgym.envs.camera import Cameras
from mjgym.envs.vector import VectorEnv
from mjgym.loop.episode import Episodes
from mjgym.registry import one_agent
from mjgym.tasks.dmc.walker import Walker
from mjgym.variation import Normal, Uniform, factor
from mjgym.variation.noises import additive

CANDIDATES, STEPS, BEFORE = 3, 4, 2

QUICK = (
    "dmc/cartpole-swingup-v0",
    "dmc/lqr-lqr_6_2-v0",
    "dmc/walker-walk-v0",
    "dmc/finger-turn_hard-v0",
)


def selected():
    return mostly_nightly(sorted({*QUICK, *of_each_class()}), 7, QUICK)


def draw(env, *lead, seed=0):
    """Random actions within the limits and [-1, 1], (*lead, nu)."""
    space = getattr(env, "single_action_space", env.action_space)
    low, high = np.maximum(space.low, -1), np.minimum(space.high, 1)
    return np.random.default_rng(seed).uniform(low, high, (*lead, *space.shape))


def make(id, **options):
    """A single environment in the middle of an episode."""
    env = gymnasium.make(id, **options).unwrapped
    env.reset(seed=3)
    for action in draw(env, BEFORE, seed=1):
        env.step(action)
    return env


def make_batch(id, count, **options):
    """A batch of which all steps until the end of an episode are the user's."""
    arguments = one_agent(id, autoreset_mode="Disabled", **options)
    envs = gymnasium.make_vec(id, num_envs=count, **arguments)
    envs.reset(seed=7)
    for actions in draw(envs, BEFORE, count, seed=2):
        envs.step(actions)
    return envs


def stepped(env, state, actions):
    """The steps of one environment or of a batch from a state; those of a batch may not end."""
    first = env.set_state(state)
    steps = []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        terms = {k[6:]: v for k, v in info.items() if k.startswith("terms/")}
        steps.append((observation, reward, terminated, truncated, terms, info.get("success")))
        if np.any(terminated | truncated):
            break
    return first, steps


def assert_rolled_out(found, i, steps):
    """Candidate i (`...`: all) took these steps."""
    for t, (observation, reward, terminated, truncated, terms, success) in enumerate(steps):
        index = (i, t) if i is not ... else (slice(None), t)
        seen = found.observations
        seen = {k: v[index] for k, v in seen.items()} if isinstance(seen, dict) else seen[index]
        assert equal(seen, observation)
        assert equal(found.rewards[index], np.float64(reward) if i is not ... else reward)
        assert equal(found.terminated[index], terminated)
        assert equal(found.truncated[index], truncated)
        assert {k: v[index].tolist() for k, v in found.terms.items()} == {
            k: np.asarray(v).tolist() for k, v in terms.items()
        }
        if success is not None:
            assert equal(found.success[index], success)
    if i is not ...:
        assert not found.rewards[i, len(steps) :].any()


def assert_same_outcome(blind, found):
    """Candidates whose observations nobody asked for take the same steps."""
    assert blind.observations is None
    for name in ("rewards", "terms", "terminated", "truncated", "diverged"):
        assert equal(getattr(blind, name), getattr(found, name))
    assert (blind.success is None) == (found.success is None)
    assert found.success is None or equal(blind.success, found.success)


def assert_batch_rolled_out(batch):
    """Candidates from its states are its steps, with observations and without."""
    state, actions = batch.get_state(), draw(batch, CANDIDATES, STEPS)
    found = batch.rollout(state, actions, observations=True)
    assert equal(batch.get_state(), state)
    assert_same_outcome(batch.rollout(state, actions), found)
    _, steps = stepped(batch, state, actions.swapaxes(0, 1))
    assert_rolled_out(found, ..., steps)
    batch.close()


@pytest.mark.parametrize("id", selected())
def test_rollouts_are_steps(id):
    options = {"observation": "flat"} if "_vision" in id else {}
    env = make(id, **options)
    state, actions = env.get_state(), draw(env, CANDIDATES, STEPS)
    found = env.rollout(state, actions, observations=True, snapshots=True)
    assert equal(env.get_state(), state)
    for i in range(CANDIDATES):
        _, steps = stepped(env, state, actions[i])
        assert_rolled_out(found, i, steps)
        after = {name: values[i, len(steps) - 1] for name, values in found.states.items()}
        reached = {name: value for name, value in env.get_state().items() if name != "id"}
        assert after.keys() == reached.keys()  # a batch has some flags as numbers
        assert all(np.array_equal(after[name], value) for name, value in reached.items())
    env.close()
    assert_batch_rolled_out(make_batch(id, CANDIDATES, **options))


@pytest.mark.parametrize("id", selected())
def test_rollouts_of_varied_models_are_steps(id):
    """Each sub-environment has masses of its own, and so has its candidate."""
    options = {"observation": "flat"} if "_vision" in id else {}
    batch = make_batch(id, CANDIDATES, vary=MASSES, **options)
    masses = batch.get_state()["body_mass"]
    assert not np.array_equal(masses[0], masses[1])
    assert_batch_rolled_out(batch)


def test_hooks_between_physics_steps_see_the_candidates_own_model():
    class Weighed(Walker):
        """Pushes by a mass that varies."""

        def control(self, v, action):
            return action * v.body_mass[..., 1:2] / 10

    batch = VectorEnv(Weighed(), CANDIDATES, vary={"body_mass": Uniform(1.0, 20.0)})
    batch.reset(seed=7)
    state, actions = batch.get_state(), draw(batch, CANDIDATES, STEPS)
    found = batch.rollout(state, actions, observations=True)
    assert_same_outcome(batch.rollout(state, actions), found)
    batch.close()


MASSES = {"body_mass": factor(Uniform(0.8, 1.2))}
VARIED = {
    "mass": {"vary": {"body_mass[torso]": Uniform(2.0, 8.0)}},
    "noise": {"observables": {"height": mjgym.Observable(noise=additive(Normal(0, 1)), delay=2)}},
    "frames": {"frame_stack": 3},
    "entries": {"observation": "dict", "dtype": "float64"},
}


@pytest.mark.parametrize("kind", VARIED)
def test_whatever_varies_is_in_the_state(kind):
    assert_batch_rolled_out(make_batch("dmc/walker-walk-v0", CANDIDATES, **VARIED[kind]))


@pytest.mark.parametrize("kind", ["mass", "noise"])
def test_all_candidates_of_one_environment_have_its_noise(kind):
    """Also in the first rollout, with the states after each step."""
    env = make("dmc/walker-walk-v0", **VARIED[kind])
    state, actions = env.get_state(), draw(env, CANDIDATES, STEPS)
    found = env.rollout(state, actions, observations=True, snapshots=True)
    for i in range(CANDIDATES):
        _, steps = stepped(env, state, actions[i])
        assert_rolled_out(found, i, steps)
        after = {name: values[i, -1] for name, values in found.states.items()}
        assert all(np.array_equal(env.get_state()[name], x) for name, x in after.items())


def test_an_episode_goes_on_as_if_nothing_had_been_tried():
    env, twin = make(QUICK[2]), make(QUICK[2])
    for seed in range(3):
        env.rollout(env.get_state(), draw(env, 2 + seed, STEPS, seed=seed), observations=True)
        action = draw(env, seed=seed)
        assert equal(env.step(action), twin.step(action))
    assert equal(env.reset(), twin.reset())  # the generator has not been drawn from


def test_candidates_begin_in_one_state_or_in_their_own():
    batch, env = make_batch(QUICK[2], 2), make(QUICK[2])
    state, states = env.get_state(), batch.get_state()
    actions = np.repeat(draw(env, 1, STEPS), 2, axis=0)
    one, own = batch.rollout(state, actions), env.rollout(states, actions)
    assert np.array_equal(one.rewards[0], one.rewards[1])
    assert not np.array_equal(own.rewards[0], own.rewards[1])
    assert equal(one.rewards, env.rollout(state, actions).rewards)
    assert equal(own.rewards, batch.rollout(states, actions).rewards)


@pytest.mark.weekly
@pytest.mark.parametrize("threads", [2, 1])
def test_threads_change_nothing(threads):
    batch = make_batch("robosuite/Lift-v0", 2, threads=threads)
    state, actions = batch.get_state([0]), draw(batch, 70, 2)
    found = batch.rollout(state, actions)
    assert equal(found.rewards[:3], make("robosuite/Lift-v0").rollout(state, actions[:3]).rewards)


@pytest.mark.warp
def test_worlds_of_warp_roll_out():
    pytest.importorskip("mujoco_warp")
    import torch

    envs = gymnasium.make_vec(QUICK[0], num_envs=2, backend="warp", device=DEVICE).unwrapped
    envs.reset(seed=0)
    state, actions = envs.get_state(), draw(envs, 2, STEPS).astype(np.float32)
    found = envs.rollout(state, actions, observations=True, snapshots=True)
    envs.set_state(state)
    for t in range(STEPS):
        observation, rewards, *_, info = envs.step(actions[:, t])
        assert torch.equal(rewards, found.rewards[:, t])
        assert torch.equal(observation, found.observations[:, t])
        assert all(torch.equal(v[:, t], info[f"terms/{k}"]) for k, v in found.terms.items())
    assert np.array_equal(found.states["qpos"][:, -1], envs.get_state()["qpos"])


def test_nothing_follows_the_end():
    """An episode that ends within the rollout, by its limit and by the task."""
    envs = gymnasium.make_vec(QUICK[0], num_envs=1, max_episode_steps=6)
    envs.reset(seed=0)
    envs.step(draw(envs, 1))
    found = envs.rollout(envs.get_state(), draw(envs, 2, 9), observations=True)
    assert found.truncated.sum(axis=1).tolist() == [1, 1]
    assert found.truncated[:, 4].all()
    assert found.rewards[:, :5].all()
    assert not found.rewards[:, 5:].any()
    assert not any(term[:, 5:].any() for term in found.terms.values())
    assert np.array_equal(found.observations[:, 8], found.observations[:, 4])
    assert_same_outcome(envs.rollout(envs.get_state(), draw(envs, 2, 9)), found)

    env = make("dmc/lqr-lqr_2_1-v0")
    state = env.get_state()
    rest = {**state, "qpos": 0 * state["qpos"], "qvel": 0 * state["qvel"]}
    states = {name: np.stack([rest[name], state[name]]) for name in state}
    found = env.rollout(states, np.zeros((2, 3, 1)))
    assert found.terminated.tolist() == [[True, False, False], [False] * 3]
    assert found.success.tolist() == [[True, False, False], [False] * 3]
    assert found.rewards[0].tolist() == [1, 0, 0]
    assert found.rewards[1].all()
    assert_same_outcome(found, env.rollout(states, np.zeros((2, 3, 1)), observations=True))


def test_candidates_of_compiled_steps_run_to_their_end_in_one_call(monkeypatch):
    pytest.importorskip("llvmlite", reason='needs llvmlite: pip install -e ".[fast]"')
    env = make(QUICK[2])
    state, actions = env.get_state(), draw(env, CANDIDATES, STEPS)
    found = env.rollout(state, actions, observations=True)
    monkeypatch.setattr(Episodes, "step", None)  # a call would fail
    assert_same_outcome(env.rollout(state, actions), found)


def test_a_candidate_that_diverges_ends_alone():
    env = make("dmc/lqr-lqr_2_1-v0", on_divergence="raise")
    actions = np.zeros((2, 4, *env.action_space.shape))
    actions[1, 1] = 1e30
    found = env.rollout(env.get_state(), actions)
    assert_same_outcome(found, env.rollout(env.get_state(), actions, observations=True))
    assert found.diverged[1].any()
    assert not found.diverged[0].any()
    end = int(found.diverged[1].argmax())
    assert found.truncated[1].tolist() == found.diverged[1].tolist()
    assert not found.rewards[1, end:].any()


def test_pictures_are_drawn_on_request_alone(monkeypatch):
    env = make(QUICK[0])
    pictured = gymnasium.make(QUICK[0], observation="pixels", frame_stack=2).unwrapped
    monkeypatch.setattr(type(pictured.cameras), "show", lambda *_: 0)
    pictured.reset(seed=0)
    monkeypatch.setattr(type(pictured.cameras), "show", None)  # a call would fail
    actions = draw(env, 2, 3)
    rewards = pictured.rollout(pictured.get_state(), actions).rewards
    plain = {k: v for k, v in pictured.get_state().items() if not k.startswith("frames.")}
    assert equal(rewards, env.rollout(plain, actions).rewards)


def test_an_environment_that_sees_by_a_camera_rolls_out(monkeypatch):
    """Its state has readings of the camera, which its candidates need not have."""
    monkeypatch.setattr(Cameras, "show", lambda *_: 0)
    env = make("manipulation/reach_site_vision-v0")
    state, actions = env.get_state(), draw(env, 2, 3)
    assert any("observables." in name for name in state)
    found = env.rollout(state, actions).rewards
    env.set_state(state)
    assert found[0].tolist() == [env.step(action)[1] for action in actions[0]]


def test_groups_roll_out():
    envs = gymnasium.make_vec(QUICK[0], num_envs=4, overlap=2)
    envs.reset(seed=0)
    state, actions = envs.get_state(), draw(envs, 4, 3)
    found = envs.rollout(state, actions).rewards
    plain = gymnasium.make_vec(QUICK[0], num_envs=4)
    plain.reset(seed=0)
    assert equal(found, plain.rollout(state, actions).rewards)
    envs.close()


def test_matches_roll_out():
    envs = gymnasium.make_vec("soccer/boxhead-1v1-v0", num_envs=1)
    envs.reset(seed=0)
    actions = np.zeros((1, 2, envs.matches.single_action_space.shape[0]))
    found = envs.matches.rollout(envs.matches.get_state(), actions)
    assert found.rewards.shape == (1, 2, 2)
    assert all(term.shape[:2] == (1, 2) for term in found.terms.values())


def test_what_cannot_be_rolled_out_is_refused():
    env = make(QUICK[0])
    state, actions = env.get_state(), draw(env, 2, 3)
    for wrong in (actions[0], actions[..., :0], actions[:0], actions[:, :0]):
        with pytest.raises(ValueError, match=r"actions: expected shape \(n, steps, 1\), got"):
            env.rollout(state, wrong)
    with pytest.raises(ValueError, match="action: nan at sub-environment 1"):
        env.rollout(state, np.where(np.arange(2)[:, None, None] == 1, np.nan, actions))
    with pytest.raises(ValueError, match="no entry 'qvel'; a rollout begins in a whole state"):
        env.rollout({k: v for k, v in state.items() if k != "qvel"}, actions)
    with pytest.raises(ValueError, match="no entry 'qpoz'; did you mean qpos"):
        env.rollout({**state, "qpoz": state["qpos"]}, actions)
    with pytest.raises(ValueError, match=r"'qpos' has shape \(3, 2\)"):
        env.rollout({**state, "qpos": np.zeros((3, 2))}, actions)
    with pytest.raises(TypeError, match="state: expected a dict"):
        env.rollout(None, actions)
    other = make(QUICK[2])
    with pytest.raises(ValueError, match="it is of 'dmc/walker-walk-v0', not of"):
        env.rollout(other.get_state(), actions)
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.rollout(state, actions)


def test_few_batches_are_kept():
    env = make(QUICK[0])
    state = env.get_state()
    batches = []
    for n in (1, 2, 3, 4, 5, 2):
        env.rollout(state, draw(env, n, 1))
        batches.append(next(reversed(env._candidates.values())).envs)
    assert [batch.closed for batch in batches] == [True, False, False, False, False, False]
    assert batches[5] is batches[1]
    env.close()
    assert all(batch.closed for batch in batches)


def test_rows_of_observations():
    """What candidate i observes is a row of all."""
    env = make(QUICK[0], observation="dict")
    found = env.rollout(env.get_state(), draw(env, 2, 3), observations=True)
    assert list(row(found.observations, 0)) == list(env.observation_space.spaces)


FORKED = """
import os, signal
import gymnasium, mjgym
import numpy as np
env = {make}
env.reset(seed=0)
state = {{name: value if {single} else value[0] for name, value in env.get_state().items()}}
actions = np.full((80, 2, 6), 0.3)
rewards = env.rollout(state, actions).rewards
child = os.fork()
if child == 0:
    signal.alarm(30)
    again = [env.rollout(state, actions).rewards for _ in range(2)]
    env.close()
    os._exit(0 if all(np.array_equal(rewards, each) for each in again) else 1)
print(os.waitpid(child, 0)[1], np.array_equal(env.rollout(state, actions).rewards, rewards))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    ("make", "single"),
    [
        ('gymnasium.make("dmc/walker-walk-v0").unwrapped', True),
        ('gymnasium.make_vec("dmc/walker-walk-v0", num_envs=2)', False),
    ],
    ids=["alone", "batch"],
)
def test_a_forked_child_rolls_out_with_threads_of_its_own(make, single):
    code = FORKED.format(make=make, single=single)
    assert run_small(f"import warnings; warnings.simplefilter('ignore')\n{code}") == "0 True\n"
