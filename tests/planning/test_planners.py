"""Planners: plans whose optimum is known, and planners as policies."""

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers import toys
from helpers.lanes import mostly_nightly
from helpers.linear_quadratic import IDS, cost_matrices, dynamics, made, riccati
from helpers.rollouts import equal
from mjgym import parallel_env, planning
from mjgym.planning.ilqg import bounded_minimum
from mjgym.planning.learned import learned
from mjgym.policies import network
from mjgym.policies.run_errors import RunError

SAMPLING = sorted(set(planning.METHODS) - {"ilqg"})


# iLQG.


@pytest.mark.parametrize("id", mostly_nightly(IDS, quick=["dmc/lqr-lqr_2_1-v0"]))
def test_ilqg_reaches_the_riccati_solution(id):
    steps = 25
    env = made(id, seed=1)
    A, B = dynamics(env)
    Q, R = cost_matrices(env)
    plain = env.unwrapped
    state = plain.get_state()
    x = np.concatenate([state["qpos"], state["qvel"]])
    best = riccati(A, B, Q, R, steps, x)
    horizon = steps * plain.control_timestep
    planner = planning.Planner(env, "ilqg", horizon=horizon, iterations=5)
    action = planner(None)
    plan = planner.plan()
    assert plan.actions.shape == best.shape
    assert abs(best).max() > 0.1
    assert np.allclose(plan.actions, best, rtol=0, atol=1e-6)
    assert np.array_equal(action, plan.actions[0])
    found, known = plain.rollout(state, np.stack([plan.actions, best])).rewards.sum(axis=1)
    assert found == pytest.approx(known, abs=1e-9)


def test_ilqg_keeps_to_bounds():
    env = mjgym.Env(toys.Cart())
    env.reset(seed=0)
    low, high = env.action_space.low, env.action_space.high
    planner = planning.Planner(env, "ilqg", horizon=0.2, iterations=10)
    planner(None)
    actions = planner.plan().actions
    assert (actions >= low).all()
    assert (actions <= high).all()
    assert np.isclose(abs(actions[0]), high).all()  # towards the middle, as fast as can be


def test_a_bounded_minimum():
    rng = np.random.default_rng(0)
    for _ in range(50):
        root = rng.normal(size=(3, 3))
        H, g = root @ root.T + 0.1 * np.eye(3), rng.normal(size=3)
        low, high = -rng.uniform(0, 1, 3), rng.uniform(0, 1, 3)
        x, free = bounded_minimum(H, g, low, high)
        slope = H @ x + g
        assert ((low <= x) & (x <= high)).all()
        assert abs(slope[free]).max(initial=0) < 1e-8
        assert (slope[~free & (x == low)] >= 0).all()
        assert (slope[~free & (x == high)] <= 0).all()
    with pytest.raises(np.linalg.LinAlgError):
        bounded_minimum(-np.eye(2), np.ones(2), -np.ones(2), np.ones(2))


# Sampling.


@pytest.mark.parametrize("name", mostly_nightly(SAMPLING, quick=4))
def test_sampling_improves(name):
    """On a linear-quadratic task, towards the optimum that is known."""
    env = made(IDS[0], seed=1)
    plain = env.unwrapped
    steps = 20
    planner = planning.Planner(
        env,
        name,
        horizon=steps * plain.control_timestep,
        rollouts=64,
        spacing=4 * plain.control_timestep,
        iterations=10,
    )
    start = plain.get_state()["qpos"]
    plain.set_state({"qpos": 4 * start})  # far enough for the bounds of the draws to matter
    state = plain.get_state()
    planner(None)
    A, B = dynamics(env)
    best = riccati(A, B, *cost_matrices(env), steps, np.concatenate([state["qpos"], state["qvel"]]))
    candidates = np.stack([0 * best, planner.plan().actions, best.clip(-1, 1)])
    nothing, planned, optimal = plain.rollout(state, candidates).rewards.sum(axis=1)
    assert nothing < planned
    assert planned - nothing > 0.5 * (optimal - nothing)


@pytest.mark.weekly
@pytest.mark.parametrize("name", planning.METHODS)
def test_a_planner_acts(name):
    """The cart comes to the middle and stays about there."""
    env = mjgym.Env(toys.Cart())
    env.reset(seed=0)
    assert env.data.qpos[0] > 0.2
    planner = planning.Planner(env, name, horizon=0.4, every=3)
    rewards = [env.step(planner(None))[1] for _ in range(90)]
    assert min(rewards[-20:]) > 1 / (1 + 0.15)


def test_a_seed_makes_a_plan_again():
    actions = []
    for seed in (0, 0, 1):
        env = made("dmc/cartpole-swingup-v0")
        planner = planning.Planner(env, rollouts=8, horizon=0.2, seed=seed)
        actions.append(np.stack([planner(None) for _ in range(3)]))
    assert equal(actions[0], actions[1])
    assert not equal(actions[0], actions[2])


@pytest.mark.parametrize("options", [{}, {"overlap": 2}], ids=str)
def test_a_batch_is_planned_for(options):
    envs = gymnasium.make_vec("dmc/cartpole-swingup-v0", num_envs=2, **options)
    envs.reset(seed=5)
    planner = planning.Planner(envs, rollouts=8, horizon=0.2, every=2)
    first = planner(None)
    assert first.shape == envs.action_space.shape
    env = made("dmc/cartpole-swingup-v0", seed=5)
    alone = planning.Planner(env, rollouts=8, horizon=0.2, every=2)
    assert equal(first[0], alone(None))
    plans = planner.plan(0), planner.plan(1)
    planner.restart(np.array([True, False]))
    assert planner.plan(0) is None
    assert planner.plan(1) is plans[1]


@pytest.mark.parametrize("spacing", [0.01, 0.03, 0.05])
@pytest.mark.parametrize("spline", ["constant", "linear"])
def test_a_plan_goes_on(spline, spacing):
    """As it was, whatever the knots' phase; its end is held."""
    env = made("dmc/cartpole-swingup-v0").unwrapped
    planner = planning.Planner(env, horizon=0.1, spline=spline, spacing=spacing, rollouts=4)
    planner(None)
    problem, plan = planner.problem, planner.plan()
    for by in (2, 1, 3):
        problem, later = problem.after(plan, by)
        assert np.allclose(later.actions[:-by], plan.actions[by:])
        assert np.allclose(problem.actions(later.knots), later.actions)
        plan = later
    for _ in range(10):
        problem, plan = problem.after(plan, 3)
    assert np.ptp(plan.actions) < 1e-12


# The end of the horizon.


def test_the_tail_counts():
    """With a value of the end, the cart goes where that is large, against the reward."""
    env = mjgym.Env(toys.Cart())
    env.reset(seed=0)
    places = []
    for sign in (-1, 1):
        planner = planning.Planner(
            env,
            "cem",
            horizon=0.2,
            spacing=0.2,
            tail=lambda seen, sign=sign: 100 * sign * seen[:, 0],
        )
        places.append(float(planner(None)[0]))
    assert places[0] < -0.5 < 0.5 < places[1]


def test_a_prior_is_among_the_candidates():
    env = mjgym.Env(toys.Cart())
    observation, _ = env.reset(seed=0)
    best = planning.Planner(env, "ilqg", horizon=0.2, iterations=10)(None)
    seen = []

    def policy(observation):
        seen.append(observation)
        return best

    planner = planning.Planner(env, "predictive_sampling", horizon=0.2, rollouts=2, prior=policy)
    assert np.allclose(planner(observation), best)
    assert np.array_equal(seen[0], observation)
    assert len(seen) == planner.problem.steps
    assert np.array_equal(seen[1], env.step(best)[0])


@pytest.mark.weekly
def test_a_prior_may_change_between_knots():
    """A plan of one knot is one force, which cannot both push the cart and hold it."""
    env = mjgym.Env(toys.Cart())
    observation, _ = env.reset(seed=0)
    env.set_state({"qpos": np.array([0.05])})
    best = planning.Planner(env, "ilqg", horizon=0.8, iterations=10)
    best(None)
    forces = iter(best.plan().actions)
    settings = {"horizon": 0.8, "spacing": 0.8, "rollouts": 2, "every": 40}
    planner = planning.Planner(
        env, "predictive_sampling", prior=lambda observation: next(forces), **settings
    )
    taken = []
    for _ in range(40):
        taken.append(planner(observation))
        observation, *_ = env.step(taken[-1])
    assert np.ptp(taken) > 0.5
    assert np.array_equal(taken, best.plan().actions)


def run_folder(folder, weight, history=1):
    """A run's folder, with a policy that gives tanh(0), and critics that are linear."""
    (folder / "config.yaml").write_text(
        "algorithm: td3\nid: my/cart-v0\nmodule: ''\nenv: {}\nseed: 0\ndiscount: 0.9\n"
    )
    layer = {"weight": np.zeros((1, 2 * history), np.float32), "bias": np.zeros(1, np.float32)}
    zeros, ones = np.zeros(2, np.float32), np.ones(2, np.float32)
    policy = network.Policy([layer], zeros, ones, -ones[:1], ones[:1], history)
    policy.save(folder / "policy.npz")
    critic = {"weight": np.array([[*weight, 0]], np.float32), "bias": np.zeros(1, np.float32)}
    network.Valuation([[critic]], np.ones((1, 1), np.float32), False).save(folder / "critics.npz")


def test_a_run_is_a_prior_and_a_tail(tmp_path):
    run_folder(tmp_path, (100, 0))
    found = learned(tmp_path)
    prior, tail = found["prior"], found["tail"]
    assert found["discount"] == 0.9
    seen = np.array([[0.1, 5.0], [-0.2, 5.0]])
    assert np.allclose(tail(seen), [10, -20])
    assert np.array_equal(prior(seen), np.zeros((2, 1)))
    env = mjgym.Env(toys.Cart())
    observation, _ = env.reset(seed=0)
    planner = planning.Planner(env, "cem", horizon=0.2, spacing=0.2, **found)
    assert planner(observation)[0] > 0.5


def test_a_run_without_critics_is_refused(tmp_path):
    with pytest.raises(RunError, match="holds no run"):
        learned(tmp_path)
    run_folder(tmp_path, (1, 0))
    (tmp_path / "critics.npz").unlink()
    with pytest.raises(
        RunError, match=r"has no critics\.npz: critics are written with a checkpoint"
    ):
        learned(tmp_path)
    (tmp_path / "critics.npz").write_bytes(b"no archive")
    with pytest.raises(RunError, match="holds no critics, or damaged ones"):
        learned(tmp_path)
    (tmp_path / "config.yaml").write_text(
        (tmp_path / "config.yaml").read_text().replace("discount: 0.9", "discount: 2.0")
    )
    with pytest.raises(RunError, match="discount must be above 0 and at most 1"):
        learned(tmp_path)
    run_folder(tmp_path, (1, 0), history=2)
    with pytest.raises(RunError, match="its policy remembers what was before"):
        learned(tmp_path)


# Misuse.


def test_wrong_arguments_are_refused():
    env = mjgym.Env(toys.Cart())
    env.reset(seed=0)
    for arguments, error, message in (
        ({"method": "mpi"}, ValueError, "method: 'mpi' is none of .*; did you mean mppi"),
        ({"rolouts": 3}, TypeError, "mppi has no setting 'rolouts'; did you mean rollouts"),
        ({"rollouts": 0}, ValueError, "rollouts: must be at least 1"),
        ({"noise": 0.0}, ValueError, "noise: must be positive"),
        ({"spacing": 0.0}, ValueError, "spacing: .* not 1 to 9999"),
        ({"spline": "cubik"}, ValueError, "spline: 'cubik' is none of constant, linear, cubic"),
        ({"method": "ilqg", "tail": len}, ValueError, "tail: ilqg samples nothing"),
        ({"method": "ilqg", "prior": len}, ValueError, "prior: ilqg samples nothing"),
        ({"horizon": 1e6}, ValueError, "horizon: .* not 1 to 9999"),
        ({"horizon": np.nan}, ValueError, "horizon: nan s are nan control steps"),
        ({"horizon": "1"}, TypeError, "horizon: must be a number, got '1'"),
        ({"discount": None}, TypeError, "discount: must be a number, got None"),
        ({"tail": 3.0}, TypeError, "tail: must be a function of observations, got 3.0"),
        ({"prior": "trained"}, TypeError, "prior: must be a function of observations, got 'tr"),
        ({"discount": 1.5}, ValueError, "discount: must be above 0 and at most 1, got 1.5"),
        ({"method": planning.METHODS["cem"]}, TypeError, r"an object, CrossEntropy\(\), not its"),
        ({"method": 3}, TypeError, "method: int has no 'spline'"),
    ):
        with pytest.raises(error, match=message):
            planning.Planner(env, **arguments)
    with pytest.raises(TypeError, match=r"PendulumEnv.* has no rollouts; planning needs"):
        planning.Planner(gymnasium.make("Pendulum-v1"))
    id = "soccer/boxhead-1v1-v0"
    for match in (gymnasium.make_vec(id, num_envs=2), parallel_env(id)):
        with pytest.raises(TypeError, match=r"one agent.* gymnasium.make\(id\) plays it against"):
            planning.Planner(match)
    alone = gymnasium.make(id)
    alone.reset(seed=0)
    action = planning.Planner(alone, horizon=0.1, rollouts=4)(None)
    assert action.shape == alone.action_space.shape
    few = {"horizon": 0.1, "rollouts": 4}
    with pytest.raises(ValueError, match=r"tail: expected shape \(4,\), got \(4, 1\)"):
        planning.Planner(env, tail=lambda x: np.zeros((len(x), 1)), **few)(np.zeros(2))
    with pytest.raises(ValueError, match=r"prior: expected shape \(1,\), got \(2,\)"):
        planning.Planner(env, prior=lambda x: np.zeros(2), **few)(np.zeros(2))
    mine = planning.METHODS["cem"](rollouts=4)
    assert planning.Planner(env, mine).method is mine
    with pytest.raises(TypeError, match="rollouts: a method of one's own"):
        planning.Planner(env, mine, rollouts=3)


# As a viewer shows it.


def test_the_states_ahead_are_those_that_the_plan_leads_to():
    env = gymnasium.make("dmc/cartpole-swingup-v0")
    env.reset(seed=0)
    planner = planning.Planner(env, "mppi", horizon=0.1, rollouts=8, every=3)
    assert planner.ahead() is None
    env.step(planner(None))
    ahead = planner.ahead()
    actions = planner.plan().actions[1:]
    assert len(ahead["qpos"]) == len(actions) == 9
    for t, action in enumerate(actions):
        env.step(action.astype(np.float32))
        state = env.unwrapped.get_state()
        assert np.allclose(ahead["qpos"][t], state["qpos"], rtol=0, atol=1e-6)


def test_knobs_change_a_planner_while_it_acts():
    env = gymnasium.make("dmc/cartpole-swingup-v0")
    env.reset(seed=0)
    planner = planning.Planner(env, "mppi", horizon=0.1, rollouts=8)
    planner(None)
    assert planner.knobs == {"horizon": pytest.approx(0.1), "noise": 1.0}
    planner.turn("noise", 0.7)
    assert planner.plan() is not None
    planner.turn("horizon", 0.03)
    planner(None)
    assert planner.knobs == {"horizon": pytest.approx(0.03), "noise": 0.7}
    assert planner.plan().actions.shape == (3, 1)
    planner.turn("horizon", 0.2)
    assert planner(None) is not None
    assert planner.plan().knots.shape == (planner.problem.knots, 1)
    assert "noise" not in planning.Planner(env, "ilqg", horizon=0.1).knobs
