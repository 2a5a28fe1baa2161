"""Observations read as sensors are: intervals, delays, buffers, noise, aggregators, own entries."""

import itertools
import pickle
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import mjgym
from helpers.equivalence import assert_every_slot_equals_a_single_env, assert_states_go_on
from helpers.lanes import mostly_nightly
from helpers.rollouts import actions_for, equal
from helpers.suite import gymnasium_checker
from mjgym import Observable, observe
from mjgym.variation import (
    Custom,
    Exponential,
    Integers,
    Normal,
    Poisson,
    Sequence,
    Uniform,
    noises,
)
from mjgym_compat import dm_env as adapter

IDS = [
    "dmc/walker-run-v0",
    "dmc/cartpole-swingup-v0",  # RK4
    "dmc/finger-turn_hard-v0",  # varies site_pos
    "dmc/humanoid-run-v0",  # a free joint, contacts
    "dmc/quadruped-fetch-v0",  # activations, rangefinders
    "dmc/swimmer-swimmer6-v0",  # varies geom_pos and light_pos
    "dmc/lqr-lqr_2_1-v0",  # terminates
    "dmc/stacker-stack_2-v0",
    "locomotion/ant-run_gaps-v0",
    "locomotion/rolling_ball-go_to_target-v0",  # has a memory
]
# What is read does not know of the mode: each id has one.
ID_AND_MODE = list(zip(IDS, itertools.cycle(AutoresetMode), strict=False))
STEP = 1 / 64  # s, so that times add up without rounding

TICKER = f"""
<mujoco>
  <option timestep="{STEP}" gravity="0 0 0"/>
  <worldbody>
    <body name="cart">
      <joint name="slide" type="slide" axis="1 0 0"/>
      <geom name="ball" size="0.1" mass="1"/>
      <site name="front" pos="0.1 0 0"/>
      <body name="mast" pos="0 0 2">
        <geom size="0.1" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="pull" joint="slide" ctrlrange="-1 1" gear="0"/>
  </actuator>
  <sensor>
    <jointpos name="position" joint="slide"/>
  </sensor>
</mujoco>
"""


@dataclass(frozen=True)
class Ticker(mjgym.Task):
    """A cart that moves on by 1 / 64 m at every physics step, from a whole number of metres."""

    substeps: int = 4  # physics steps in a control step
    time_limit = float("inf")

    control_timestep = 0.0

    def __post_init__(self):
        object.__setattr__(self, "control_timestep", self.substeps * STEP)

    def model(self):
        return mujoco.MjSpec.from_string(TICKER)

    def initialize(self, v, rng):
        v.qpos[0] = rng.integers(1, 1000)
        v.qvel[0] = 1.0

    def observation(self, v):
        Ticker.evaluated += 1
        return {
            "start": v.xp.floor(v.qpos[..., 0] * 0 + 1),
            "position": v.qpos[..., 0],
            "wide": v.xp.ones((*v.lead, 200)),
        }

    def terms(self, v):
        return {"still": v.qpos[..., 0] * 0}


Ticker.evaluated = 0  # how often the observation has been computed


class Clock(observe.Quantity):
    """Physics steps of the episode; it remembers at which it was read in the first simulation."""

    def __init__(self):
        self.read = []

    def __call__(self, v):
        steps = np.rint(np.asarray(v.time) / STEP)
        self.read.append(int(steps.ravel()[0]))
        return steps


def still(env):
    return np.zeros(env.action_space.shape)


def constant_readings(t, interval, delay, buffer):
    """The physics steps whose readings an observation at step t shows, oldest first."""
    there = [k for k in range(0, t + 1, interval) if k + delay <= t]
    return ([0] * buffer + there)[-buffer:]


def drawn_readings(t, intervals, delays, buffer):
    """The same for readings at given intervals, the first of which can be seen at once."""
    taken = list(itertools.accumulate(intervals, initial=0))
    seen_from = [0, *(k + delay for k, delay in zip(taken[1:], delays, strict=True))]
    there = [k for k, first in zip(taken, seen_from, strict=True) if first <= t]
    return ([0] * buffer + there)[-buffer:]


def shown_steps(entry, buffer):
    """An entry of a Clock as a list of its `buffer` numbers."""
    return np.asarray(entry).reshape(-1, buffer).astype(int).tolist()


# --- Intervals, delays and buffers ------------------------------------------------------------


COMBINATIONS = list(itertools.product((1, 2, 3, 4, 7, 8, 30), (0, 1, 3, 4, 5, 9, 21), (1, 2, 3, 6)))


@pytest.mark.parametrize("n", mostly_nightly([None, 3], quick=2))
@pytest.mark.parametrize("substeps", mostly_nightly([4, 1, 5], quick=3))
def test_constant_options_show_what_plain_python_says(substeps, n):
    observables = {
        f"{i} {d} {b}": Observable(Clock(), update_interval=i, delay=d, buffer_size=b)
        for i, d, b in COMBINATIONS
    }
    options = {"observation": "dict", "dtype": "float64", "observables": observables}
    task = Ticker(substeps)
    env = mjgym.Env(task, **options) if n is None else mjgym.VectorEnv(task, n, **options)
    observation, _ = env.reset(seed=0)
    for step in range(14):
        for i, d, b in COMBINATIONS:
            expected = constant_readings(step * substeps, i, d, b)
            assert shown_steps(observation[f"{i} {d} {b}"], b) == [expected] * (n or 1), (i, d, b)
        observation = env.step(still(env))[0]
    env.close()


@pytest.mark.parametrize(
    "id",
    mostly_nightly(["dmc/walker-run-v0", "dmc/cartpole-swingup-v0", "dmc/fish-swim-v0"], quick=3),
)
def test_entries_of_the_suite_show_past_values_bit_for_bit(id):
    """Against a twin that is stepped by MuJoCo's own functions, physics step by physics step."""
    twin = gymnasium.make(id).unwrapped
    twin.reset(seed=3)
    n = round(twin.control_timestep / twin.physics_timestep)
    true = [twin.observe()]
    actions = actions_for(twin, 9)
    for action in actions:
        twin.data.ctrl[:] = action
        for _ in range(n):
            if twin.model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
                mujoco.mj_step(twin.model, twin.data)
            else:
                mujoco.mj_step2(twin.model, twin.data)
            mujoco.mj_step1(twin.model, twin.data)
            true.append(twin.observe())
    settings = [(1, 2, 3), (3, 0, 2), (2 * n + 1, 4, 2), (1, 2 * n + 1, 1), (n, n, 4)]
    for name, (interval, delay, buffer) in itertools.product(true[0], settings):
        observable = Observable(update_interval=interval, delay=delay, buffer_size=buffer)
        env = gymnasium.make(
            id, observation="dict", dtype="float64", observables={name: observable}
        )
        observation, _ = env.reset(seed=3)
        for step in range(10):
            readings = constant_readings(step * n, interval, delay, buffer)
            expected = np.stack([true[k][name] for k in readings])
            shown = np.atleast_1d(expected if buffer > 1 else expected[0])
            assert np.array_equal(observation[name], shown)
            for other in true[0].keys() - {name}:  # and the others are as they would be without
                assert np.array_equal(observation[other], np.atleast_1d(true[step * n][other]))
            if step < len(actions):
                observation = env.step(actions[step])[0]


INTERVALS = [1, 5, 2, 9, 1, 1, 14, 3]
DELAYS = [4, 0, 11, 2, 2, 0, 7, 1, 0, 3]


@pytest.mark.parametrize("n", [None, 2])
@pytest.mark.parametrize("buffer", [1, 2, 5])
@pytest.mark.parametrize("intervals", mostly_nightly([INTERVALS, [1], [6]], quick=3))
@pytest.mark.parametrize("delays", mostly_nightly([DELAYS, [0], [9]], quick=3))
def test_distributions_are_drawn_for_each_reading(intervals, delays, buffer, n):
    clock = Clock()
    observable = Observable(
        clock, update_interval=Sequence(intervals), delay=Sequence(delays), buffer_size=buffer
    )
    options = {"observation": "dict", "dtype": "float64", "observables": {"clock": observable}}
    env = mjgym.Env(Ticker(), **options) if n is None else mjgym.VectorEnv(Ticker(), n, **options)
    observation, _ = env.reset(seed=0)
    clock.read.clear()
    many = [list(itertools.islice(itertools.cycle(x), 200)) for x in (intervals, delays)]
    shown = set()
    for step in range(40):
        expected = drawn_readings(4 * step, *many, buffer)
        assert shown_steps(observation["clock"], buffer) == [expected] * (n or 1)
        shown.update(expected)
        observation = env.step(still(env))[0]
    # And nothing has been read in vain, but for what is still to come.
    last = 4 * 39 - max(delays)
    assert len(clock.read) == len(set(clock.read))
    assert {k for k in clock.read if k <= last} == {k for k in shown if 0 < k <= last}


def test_a_distribution_of_numbers_that_are_not_whole_is_rounded():
    observables = {
        "interval": Observable(Clock(), update_interval=Sequence([1.6, 2.4])),  # 2, 2
        "delay": Observable(Clock(), delay=Sequence([2.7])),  # 3
    }
    env = mjgym.Env(Ticker(1), observation="dict", observables=observables)
    env.reset(seed=0)
    for t in range(1, 20):
        observation = env.step(still(env))[0]
        assert observation["interval"] == t - t % 2
        assert observation["delay"] == max(0, t - 3)


def test_random_delays_have_their_distribution_and_every_reading_its_place():
    """Delays of 2 to 6 steps, all equally likely, of readings at every physics step."""
    n, steps, buffer = 40, 60, 3
    delay = Observable(Clock(), delay=Integers(2, 6), buffer_size=buffer)
    envs = mjgym.VectorEnv(
        Ticker(), n, observation="dict", dtype="float64", observables={"clock": delay}
    )
    envs.reset(seed=1)
    ages = []
    for step in range(1, steps + 1):
        readings = envs.step(still(envs))[0]["clock"]
        assert (np.diff(readings, axis=-1) >= (1 if step > 3 else 0)).all()  # oldest first
        ages.append(4 * step - readings)
    newest, all_ages = np.array(ages[4:])[..., -1], np.array(ages[4:])
    assert newest.min() == 2
    assert newest.max() == 6
    # The readings of the last 2 + k steps are the newest with what the younger ones' delays leave.
    younger = 1.0
    for age in range(2, 7):
        arrived = (age - 1) / 5
        assert np.mean(newest == age) == pytest.approx(younger * arrived, abs=0.03)
        younger *= 1 - arrived
    # Among the newest three there is none older than those that have surely arrived.
    assert all_ages.max() <= 6 + buffer - 1
    different = [tuple(slot) for slot in newest.T]
    assert len(set(different)) == n  # every slot has delays of its own


# --- Only what can still appear is evaluated --------------------------------------------------


@pytest.mark.parametrize(
    ("options", "count"),
    mostly_nightly(
        [
            # Physics steps of which an observation needs readings, in 12 control steps of 5.
            ({}, 12),
            ({"delay": 2}, 12),
            ({"delay": 5}, 12),
            ({"buffer_size": 2}, 24),
            ({"buffer_size": 5}, 60),
            ({"buffer_size": 50}, 60),
            ({"update_interval": 3}, 12),  # 3, 9, 15; not 6 and 12
            ({"update_interval": 3, "buffer_size": 2}, 20),
            ({"update_interval": 4, "delay": 3}, 12),
            ({"update_interval": 10}, 6),
            ({"update_interval": 7}, 8),
            ({"update_interval": 1000}, 0),
            ({"delay": Sequence([0])}, 12),
            ({"update_interval": Sequence([10])}, 6),
            (
                {"delay": Sequence([0, 1, 2, 3, 4]), "update_interval": Sequence([5])},
                10,
            ),  # not 25, 50
        ],
        quick=3,
    ),
)
@pytest.mark.parametrize("n", [None, 2])
def test_only_what_can_still_appear_is_read(options, count, n):
    clock, observable = Clock(), Observable(**options)
    # The task's own entries are computed together, an entry of one's own alone.
    for observables in (
        {"start": observable, "position": observable, "wide": observable},
        {"clock": Observable(clock, **options), **dict.fromkeys(OWN, Observable(enabled=False))},
    ):
        keywords = {"observables": observables}
        task = Ticker(5)
        env = mjgym.Env(task, **keywords) if n is None else mjgym.VectorEnv(task, n, **keywords)
        env.reset(seed=0)
        clock.read.clear()
        Ticker.evaluated = 0
        for _ in range(12):
            env.step(still(env))
        own = "clock" not in observables
        assert Ticker.evaluated == (count if own else 0)
        assert len(clock.read) == (0 if own else count)


OWN = ("start", "position", "wide")


def test_nothing_is_evaluated_at_once_for_an_entry_that_is_left_out():
    everything = dict.fromkeys(OWN, Observable(enabled=False, update_interval=1, buffer_size=9))
    env = mjgym.Env(Ticker(), observables={**everything, "clock": Clock()})
    assert env.reset(seed=0)[0].shape == (1,)
    Ticker.evaluated = 0
    env.step(still(env))
    assert Ticker.evaluated == 0


# --- Aggregators ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("aggregator", "function"),
    [(name, getattr(np, name)) for name in ("mean", "median", "min", "max", "sum")]
    + [(np.ptp, np.ptp), (np.std, np.std)],
)
@pytest.mark.parametrize("n", [None, 3])
def test_aggregators(aggregator, function, n):
    observables = {
        "one": Observable(Clock(), buffer_size=6, delay=1, aggregator=aggregator),
        "vector": Observable(
            observe.body("cart").xpos, buffer_size=5, update_interval=2, aggregator=aggregator
        ),
    }
    options = {"observation": "dict", "dtype": "float64", "observables": observables}
    env = mjgym.Env(Ticker(), **options) if n is None else mjgym.VectorEnv(Ticker(), n, **options)
    observation, _ = env.reset(seed=0)
    begin = observation["position"]
    lead = () if n is None else (n,)
    assert observation["one"].shape == (*lead, 1)
    assert observation["vector"].shape == (*lead, 3)
    for step in range(6):
        expected = function(np.array(constant_readings(4 * step, 1, 1, 6), float))
        np.testing.assert_allclose(
            observation["one"][..., 0], np.broadcast_to(expected, lead), rtol=1e-14
        )
        steps = np.array(constant_readings(4 * step, 2, 0, 5))
        x = function(np.asarray(begin) + steps * STEP, axis=-1)
        np.testing.assert_allclose(observation["vector"][..., 0], x, rtol=1e-14)
        observation = env.step(still(env))[0]


# --- Noise ------------------------------------------------------------------------------------


def wide_readings(noise, n=20, steps=30, **options):
    """The 200 ones of a Ticker with a noise, (steps, n, 200)."""
    envs = mjgym.VectorEnv(
        Ticker(),
        n,
        observation="dict",
        dtype="float64",
        observables={"wide": Observable(noise=noise, **options)},
    )
    envs.reset(seed=0)
    return np.array([envs.step(still(envs))[0]["wide"] for _ in range(steps)])


def test_noise_has_its_mean_and_standard_deviation():
    added = wide_readings(noises.additive(Normal(0.5, 2.0))) - 1  # 120,000 numbers
    assert added.mean() == pytest.approx(0.5, abs=0.03)
    assert added.std() == pytest.approx(2.0, abs=0.03)
    multiplied = wide_readings(noises.multiplicative(Uniform(0.5, 1.5)))
    assert multiplied.min() >= 0.5
    assert multiplied.max() < 1.5
    assert multiplied.mean() == pytest.approx(1.0, abs=0.01)
    assert multiplied.std() == pytest.approx(1 / np.sqrt(12), abs=0.01)


def test_noise_is_independent_between_numbers_readings_slots_and_entries():
    x = wide_readings(noises.additive(Normal(0, 1))) - 1
    for axis in range(3):
        a, b = np.delete(x, 0, axis), np.delete(x, -1, axis)
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.02
    noise = noises.additive(Normal(0, 1))
    env = mjgym.Env(
        Ticker(),
        observation="dict",
        dtype="float64",
        observables={
            "wide": Observable(noise=noise),
            "also wide": Observable(observe.field("xmat") * 0, noise=noise),
        },
    )
    observation, _ = env.reset(seed=0)
    assert not np.intersect1d(observation["wide"] - 1, observation["also wide"]).size


def test_a_parameter_that_is_a_distribution_is_drawn_for_each_reading():
    x = wide_readings(noises.additive(Normal(0, Uniform(0.1, 1.0)))) - 1
    spread = x.std(axis=-1)  # of each reading's 200 numbers
    assert spread.min() < 0.2
    assert spread.max() > 0.9
    assert spread.mean() == pytest.approx(0.55, abs=0.04)
    assert np.mean(x**2) == pytest.approx((1 - 0.001) / (3 * 0.9), abs=0.03)


def test_a_reading_keeps_its_noise_for_as_long_as_it_is_seen():
    noise = noises.additive(Normal(0, 1))
    env = mjgym.Env(
        Ticker(4),
        observation="dict",
        dtype="float64",
        observables={
            "wide": Observable(noise=noise, update_interval=12),
            "clock": Observable(Clock(), noise=noise, update_interval=4, buffer_size=5),
        },
    )
    observations = [env.reset(seed=0)[0]]
    for _ in range(12):
        observations.append(env.step(still(env))[0])
        seen = {name: np.atleast_1d(value) for name, value in env.observe().items()}
        assert equal(seen, observations[-1])  # to look again draws nothing
    wide = [o["wide"] for o in observations]
    for k in range(12):
        assert np.array_equal(wide[k], wide[k + 1]) == ((k + 1) % 3 != 0)
        assert np.array_equal(observations[k]["clock"][1:], observations[k + 1]["clock"][:-1])


def test_noise_of_a_sequence_comes_in_its_turn():
    """Nothing is random: the k-th reading gets the k-th value, over several blocks of draws."""
    noise = noises.additive(Sequence(np.arange(1000.0)))
    env = mjgym.Env(
        Ticker(1),
        observation="dict",
        observables={"start": Observable(noise=noise), "wide": Observable(noise=noise)},
    )
    observation, _ = env.reset(seed=0)
    for k in range(300):
        assert observation["start"] == 1 + k
        assert (observation["wide"] == 1 + k).all()
        if k == 200:
            state = env.get_state()
        observation = env.step(still(env))[0]
    # It goes on with the next episode, and from a state, and begins anew with a seed.
    assert env.reset()[0]["start"] == 1 + 301
    env.set_state(state)
    for k in range(201, 400):
        assert env.step(still(env))[0]["start"] == 1 + k
    assert env.reset(seed=0)[0]["start"] == 1


def test_a_noise_of_ones_own():
    def round_up(reading, drawn):
        return np.ceil(reading) + drawn

    noise = noises.Noise(Uniform(0, 0.5), round_up)
    env = mjgym.Env(Ticker(3), dtype="float64", observables={"position": Observable(noise=noise)})
    start, _ = env.reset(seed=0)
    observation = env.step(still(env))[0]
    assert 0 <= start[1] - round(start[1]) < 0.5
    assert 0 <= observation[1] - (np.floor(start[1]) + 1) < 0.5


@pytest.mark.parametrize("n", [1, 3])
def test_a_corruptor_is_a_function_of_a_reading_and_a_generator(n):
    """Each reading gets a generator of its own: a batch draws as single environments do."""

    def drop(reading, rng):
        return np.where(rng.random(reading.shape) < 0.5, 0.0, reading)

    options = {
        "dtype": "float64",
        "observables": {"wide": Observable(noise=noises.corruptor(drop))},
        "observation": "dict",
    }
    envs = mjgym.VectorEnv(Ticker(3), num_envs=n, **options)
    singles = [mjgym.Env(Ticker(3), **options) for _ in range(n)]
    seen = [envs.reset(seed=0)[0]["wide"]]
    own = [[env.reset(seed=i)[0]["wide"] for i, env in enumerate(singles)]]
    for k in range(40):
        if k == 20:
            envs.set_state(envs.get_state())
        seen.append(envs.step(np.zeros(envs.action_space.shape))[0]["wide"])
        own.append([env.step(still(env))[0]["wide"] for env in singles])
    assert np.array_equal(seen, own)
    dropped = (np.array(seen) == 0).mean()
    assert 0.3 < dropped < 0.7


def test_delays_and_intervals_of_ones_own():
    delay = Custom(lambda rng: float(rng.choice([0, 4])), low=0, high=4)
    interval = Custom(lambda rng: float(rng.geometric(0.5)), low=1)
    env = mjgym.Env(
        Ticker(4),
        observation="dict",
        observables={"clock": Observable(Clock(), delay=delay, update_interval=interval)},
    )
    env.reset(seed=0)
    late = set()
    for k in range(1, 200):
        seen = env.step(still(env))[0]["clock"]
        late.add(round(4 * k - float(np.ravel(seen)[0])))
    assert min(late) == 0
    assert max(late) >= 4


def test_custom_draws_stay_within_their_bounds():
    with pytest.raises(ValueError, match="outside of 0 to 1"):
        Custom(lambda rng: 2.0, low=0, high=1)(np.random.default_rng(0))
    with pytest.raises(TypeError, match="function of a generator"):
        Custom(3)


# --- Entries of one's own ---------------------------------------------------------------------


SOURCES = {
    "body": (observe.body("mast").xpos, lambda d, m: d.body("mast").xpos),
    "height": (observe.body("mast").xpos[..., 2], lambda d, m: d.body("mast").xpos[2]),
    "from the left": (observe.body("mast").xpos[2], lambda d, m: d.body("mast").xpos[2]),
    "row": (observe.field("xpos")[1], lambda d, m: d.xpos[1]),
    "part": (observe.field("xpos")[1:, :2], lambda d, m: d.xpos[1:, :2]),
    "chosen": (observe.field("xpos")[[2, 0]], lambda d, m: d.xpos[[2, 0]]),
    "joint": (observe.joint("slide").qpos, lambda d, m: d.joint("slide").qpos),
    "geom": (observe.geom("ball").xmat, lambda d, m: d.geom("ball").xmat),
    "site": (observe.site("front").xpos, lambda d, m: d.site("front").xpos),
    "sensor": (observe.sensor("position"), lambda d, m: d.sensor("position").data),
    "actuator": (observe.actuator("pull").length, lambda d, m: d.actuator("pull").length),
    "time": (observe.field("time"), lambda d, m: d.time),
    "frequency": (1 / (observe.field("time") + 1), lambda d, m: 1 / (d.time + 1)),
    "of the model": (observe.field("body_mass"), lambda d, m: m.body_mass),
    "difference": (
        observe.site("front").xpos - observe.body("cart").xpos,
        lambda d, m: d.site("front").xpos - d.body("cart").xpos,
    ),
    "broadcast": (
        observe.field("xpos") - observe.body("cart").xpos,
        lambda d, m: d.xpos - d.body("cart").xpos,
    ),
    "scalar": (
        observe.body("mast").xpos * observe.field("time"),
        lambda d, m: d.body("mast").xpos * d.time,
    ),
    "numbers": (
        1 - 2 * observe.body("mast").xpos / 3 + np.arange(3),
        lambda d, m: 1 - 2 * d.body("mast").xpos / 3 + np.arange(3),
    ),
    "divided": (
        np.arange(3) / (1 + observe.joint("slide").qpos[0]) + 1,
        lambda d, m: np.arange(3) / (1 + d.joint("slide").qpos[0]) + 1,
    ),
}


@pytest.mark.parametrize("n", [1, 3])  # three slots and three axes must not be mixed up
def test_quantities_of_the_model_by_name(n):
    observables = {name: source for name, (source, _) in SOURCES.items()}
    options = {"observation": "dict", "dtype": "float64", "observables": observables}
    envs, env = mjgym.VectorEnv(Ticker(), n, **options), mjgym.Env(Ticker(), **options)
    batch, _ = envs.reset(seed=5)
    for i in range(n):
        single, _ = env.reset(seed=5 + i)
        assert list(single) == [*OWN, *SOURCES]
        for name, (_, true) in SOURCES.items():
            expected = np.atleast_1d(np.asarray(true(env.data, env.model), dtype=float))
            assert single[name].shape == expected.shape, name
            assert np.array_equal(single[name], expected), name
            assert np.array_equal(batch[name][i], expected), name
    after = envs.step(still(envs))[0]
    env.step(still(env))
    for name, (_, true) in SOURCES.items():
        assert np.array_equal(after[name][n - 1], np.atleast_1d(true(env.data, env.model))), name


def test_an_own_entry_follows_the_tasks_in_the_flat_observation():
    env = mjgym.Env(
        Ticker(),
        dtype="float64",
        observables={"x": observe.body("cart").xpos[0], "wide": Observable(enabled=False)},
    )
    observation, _ = env.reset(seed=0)
    assert observation.tolist() == [1.0, observation[1], observation[1]]


@dataclass(frozen=True)
class Instrumented(Ticker):
    """A task that says itself how its entries are read, and offers one that it does not enable."""

    observables = {
        "wide": Observable(buffer_size=2),
        "front": Observable(observe.site("front").xpos, enabled=False, delay=3),
        "mast": Observable(observe.body("mast").xpos),
    }


def test_what_a_task_says_is_replaced_entry_by_entry():
    def shapes(**observables):
        env = mjgym.Env(Instrumented(), observation="dict", observables=observables)
        return {name: box.shape for name, box in env.observation_space.items()}

    plain = {"start": (1,), "position": (1,), "wide": (2, 200), "mast": (3,)}
    assert shapes() == plain
    assert shapes(front=Observable()) == {**plain, "front": (3,)}  # the source is the task's
    assert shapes(mast=Observable(buffer_size=4)) == {**plain, "mast": (4, 3)}
    assert shapes(wide=Observable()) == {**plain, "wide": (200,)}
    assert shapes(mast=observe.body("mast").xpos[2]) == {**plain, "mast": (1,)}
    del plain["mast"]
    assert shapes(mast=Observable(enabled=False)) == plain


# --- Every kind of id, all options on ---------------------------------------------------------


def all_options(id):
    """Every entry of an id with its share of all options, and entries of its model."""
    env = gymnasium.make(id).unwrapped
    additive = noises.additive(Normal(0, 0.01))
    ways = [
        Observable(noise=additive, delay=2, buffer_size=3),
        Observable(
            update_interval=Integers(1, 5),
            delay=Integers(0, 7),
            buffer_size=2,
            noise=noises.multiplicative(Normal(1, Uniform(0, 0.1))),
        ),
        Observable(update_interval=3, buffer_size=4, noise=additive, aggregator="mean"),
        Observable(delay=Poisson(2).clip(0, 4), buffer_size=3, noise=additive, aggregator=np.ptp),
        Observable(update_interval=(1 + Exponential(3.0)).clip(1, 9), delay=1, noise=additive),
    ]
    observables = dict(zip(env.observe(), itertools.cycle(ways)))
    body = env.model.body(env.model.nbody - 1).name
    observables["own qvel"] = Observable(
        observe.field("qvel"), noise=additive, delay=Integers(1, 3)
    )
    observables["own body"] = Observable(observe.body(body).xpos[2], buffer_size=3, delay=4)
    return observables


@pytest.fixture(scope="module")
def options():
    return {id: all_options(id) for id in IDS}


@pytest.mark.parametrize(("id", "mode"), mostly_nightly(ID_AND_MODE, 7, ID_AND_MODE[:1]))
def test_every_slot_equals_a_single_env_over_episodes(id, mode, options):
    """Transition by transition, infos included, with all options on."""
    keywords = {"max_episode_steps": 4, "observables": options[id]}
    assert_every_slot_equals_a_single_env(id, 3, 12, mode, **keywords)


@pytest.mark.parametrize("id", mostly_nightly(IDS, 7, IDS[:1]))
def test_readings_leave_the_episode_alone_and_repeat_under_seeds(id, options):
    plain = gymnasium.make(id, observation="dict", dtype="float64")
    read = gymnasium.make(id, observation="dict", dtype="float64", observables=options[id])
    again = gymnasium.make(id, observation="dict", dtype="float64", observables=options[id])
    again.reset(seed=1)
    for action in actions_for(again, 3):
        again.step(action)
    starts = [env.reset(seed=2)[0] for env in (plain, read, again)]
    assert equal(*starts[1:])
    other, _ = read.reset(seed=3)
    assert any(not np.array_equal(other[name], starts[1][name]) for name in other)
    read.reset(seed=2)
    for action in actions_for(plain, 8, seed=1):
        a, b, c = (env.step(action) for env in (plain, read, again))
        assert a[1:4] == b[1:4] == c[1:4]  # rewards and ends, bit for bit
        assert equal(b[0], c[0])
    qpos = [env.unwrapped.data.qpos for env in (plain, read, again)]
    assert np.array_equal(qpos[0], qpos[1])
    # Episodes without a seed go on with the same random starts.
    starts = [env.reset()[0] for env in (plain, read, again)]
    assert equal(*starts[1:])
    assert np.array_equal(plain.unwrapped.data.qpos, read.unwrapped.data.qpos)


@pytest.mark.parametrize("id", mostly_nightly(IDS, 7, IDS[:1]))
def test_snapshots_continue_bit_for_bit(id, options):
    keywords = {"dtype": "float64", "observables": options[id]}
    env = gymnasium.make(id, **keywords).unwrapped
    env.reset(seed=0)
    entries = [name for name in env.get_state() if name.startswith("observables.")]
    assert len(entries) >= len(options[id])
    assert_states_go_on(id, before=4, **keywords)


@pytest.mark.parametrize("n", [None, 3])
def test_a_part_of_a_state_is_read_anew(n):
    observables = {
        "position": Observable(buffer_size=3, delay=2),
        "clock": Observable(Clock(), update_interval=5, buffer_size=2),
        "drawn": Observable(Clock(), update_interval=Sequence([5]), buffer_size=2),
    }
    options = {"observation": "dict", "dtype": "float64", "observables": observables}
    env = mjgym.Env(Ticker(), **options) if n is None else mjgym.VectorEnv(Ticker(), n, **options)
    env.reset(seed=0)
    for _ in range(3):
        env.step(still(env))
    lead = () if n is None else (n,)
    observation = env.set_state({"qpos": np.full((*lead, 1), 77.0)})
    assert (observation["position"] == 77).all()
    assert (observation["clock"] == 12).all()  # the time has not been written
    assert (observation["drawn"] == 12).all()
    # Delays go on from there: what is then seen is what has been read since.
    observation = env.step(still(env))[0]
    expected = np.broadcast_to(77 + np.array([0, 1, 2]) * STEP, (*lead, 3))
    assert np.array_equal(observation["position"], expected)
    # Constant intervals count from the start of the episode, others from the reading before.
    assert np.array_equal(observation["clock"], np.broadcast_to([12, 15], (*lead, 2)))
    assert np.array_equal(observation["drawn"], np.broadcast_to([12, 12], (*lead, 2)))
    observation = env.step(still(env))[0]
    assert np.array_equal(observation["clock"], np.broadcast_to([15, 20], (*lead, 2)))
    assert np.array_equal(observation["drawn"], np.broadcast_to([12, 17], (*lead, 2)))
    # Time set back is an episode's start.
    observation = env.set_state({"steps": np.zeros(lead, int), "time": np.zeros(lead)})
    assert (observation["clock"] == 0).all()


def test_a_part_of_a_batch_is_read_anew():
    envs = mjgym.VectorEnv(
        Ticker(), 3, observation="dict", dtype="float64", observables={"position": LATE}
    )
    envs.reset(seed=0)
    before = envs.step(still(envs))[0]["position"]
    shown = envs.set_state({"qpos": np.full((1, 1), 77.0)}, ids=[1])["position"]
    assert shown.tolist() == [[77.0, 77.0]]
    after = envs.observe()["position"]
    assert np.array_equal(after[[0, 2]], before[[0, 2]])


LATE = Observable(delay=1, buffer_size=2)


def test_a_reading_can_be_written():
    env = mjgym.Env(Ticker(), observation="dict", observables={"position": LATE})
    env.reset(seed=0)
    state = env.get_state()
    name = "observables.position.readings"
    shown = env.set_state({name: np.full_like(state[name], 5.0)})
    assert shown["position"].tolist() == [5.0, 5.0]
    with pytest.raises(ValueError, match=r"observables\.position\.readings' has shape \(1,\)"):
        env.set_state({name: np.zeros(1)})


@pytest.mark.parametrize("id", mostly_nightly(IDS, 7, IDS[:1]))
def test_gymnasium_checker(id, options):
    for observation in ("flat", "dict"):
        env = gymnasium.make(id, observation=observation, observables=options[id])
        gymnasium_checker(env)
        env.close()


@pytest.mark.parametrize("id", [IDS[0], IDS[2], IDS[8]])
def test_dm_env_adapter(id, options):
    env = gymnasium.make(id, observation="dict", dtype="float64", observables=options[id])
    adapted = adapter.from_env(env, seed=0)
    specs = adapted.observation_spec()
    assert list(specs) == list(options[id])
    twin = gymnasium.make(id, observation="dict", dtype="float64", observables=options[id])
    timestep, expected = adapted.reset(), twin.reset(seed=0)[0]
    for action in actions_for(env, 4):
        for name, value in timestep.observation.items():  # there, one number has no axis
            assert np.array_equal(np.atleast_1d(value), expected[name])
        for name, spec in specs.items():
            spec.validate(timestep.observation[name])
        timestep, expected = adapted.step(action), twin.step(action)[0]


@pytest.mark.parametrize("id", mostly_nightly(IDS, 7, IDS[:1]))
def test_describe_names_every_number(id, options):
    env = gymnasium.make(id, observables=options[id])
    plain = gymnasium.make(id).unwrapped.describe()["observation"]
    rows = env.unwrapped.describe()["observation"]
    assert [row["index"] for row in rows] == list(range(env.observation_space.shape[0]))
    assert len({(row["entry"], row["name"]) for row in rows}) == len(rows)
    shown = {name: [row for row in rows if row["entry"] == name] for name in options[id]}
    for name in {row["entry"] for row in plain}:
        own = [row for row in plain if row["entry"] == name]
        observable = options[id][name]
        several = observable.buffer_size if observable.aggregator is None else 1
        assert len(shown[name]) == several * len(own)
        for k, row in enumerate(shown[name]):
            ago, source = several - 1 - k // len(own), own[k % len(own)]
            assert row["name"] == source["name"] + (
                f", {ago} reading{'s' * (ago > 1)} ago" if ago else ""
            )
            assert {**row, "index": 0, "name": ""} == {**source, "index": 0, "name": ""}
    assert {row["source"] for row in shown["own qvel"]} == {"field('qvel')"}
    assert len(shown["own body"]) == 3
    assert shown["own body"][0]["source"].endswith(".xpos[2]")
    assert "2 readings ago" in shown["own body"][0]["name"]


def test_quantities_print_as_they_were_written():
    written = "(body('a').xpos[..., 1:, ::2] - (2 * sensor('s')[-1]))"
    quantity = observe.body("a").xpos[..., 1:, ::2] - 2 * observe.sensor("s")[-1]
    assert repr(quantity) == written
    assert repr(observe.field("qvel")[3:5]) == "field('qvel')[3:5]"
    for name in ("body", "joint", "geom", "site", "actuator", "tendon", "camera", "light"):
        assert repr(getattr(observe, name)("x").attribute) == f"{name}('x').attribute"


# --- A simulation that diverges ---------------------------------------------------------------


@dataclass(frozen=True)
class Fragile(Ticker):
    """A Ticker that an action of 1 makes diverge."""

    def before_step(self, v, action):
        return {"qvel": v.qvel * np.where(v.ctrl[..., :1] > 0.9, 1e300, 1.0)}


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_slot_that_diverges_keeps_in_step_with_a_single_env(mode):
    """The noise of its next episode is that of the single environment's."""
    observables = {
        "position": Observable(noise=noises.additive(Normal(0, 1)), delay=1, buffer_size=2),
        "start": Observable(noise=noises.additive(Normal(0, 1))),
    }
    options = {"observation": "dict", "dtype": "float64", "observables": observables}
    ours = mjgym.VectorEnv(Fragile(), 3, autoreset_mode=mode, **options)
    sync = SyncVectorEnv([lambda: mjgym.Env(Fragile(), **options)] * 3, autoreset_mode=mode)
    assert equal(ours.reset(seed=0), sync.reset(seed=0))
    diverged = 0
    for k in range(8):
        actions = np.zeros((3, 1))
        actions[1] = k in (2, 5)
        a, b = ours.step(actions), sync.step(actions)
        assert equal(a[:4], b[:4]), k
        done = a[2] | a[3]
        diverged += done.sum()
        if mode == AutoresetMode.DISABLED and done.any():
            pair = [envs.reset(options={"reset_mask": done.copy()}) for envs in (ours, sync)]
            assert equal(*pair)
    assert diverged == 2


# --- The engine's own delays ------------------------------------------------------------------


def add_velocimeter(spec, joint, name, delay=0.0, interval=0.0):
    """A sensor of a joint's velocity with a delay and an interval (s) of the engine's."""
    sensor = spec.add_sensor(
        name=name,
        type=mujoco.mjtSensor.mjSENS_JOINTVEL,
        objtype=mujoco.mjtObj.mjOBJ_JOINT,
        objname=joint,
    )
    if delay or interval:
        sensor.delay, sensor.interval, sensor.nsample = delay, [interval, 0], 40


@dataclass(frozen=True)
class Measured(mjgym.Task):
    """A walker with sensors that have the engine's own delays and intervals."""

    timestep: float  # s
    early: float = 0.0  # how much earlier than a whole number of steps a delay ends, in steps
    delays = (1, 2, 7, 25)
    intervals = ()
    time_limit = 25.0
    control_timestep = 0.0

    def __post_init__(self):
        object.__setattr__(self, "control_timestep", 10 * self.timestep)

    def model(self):
        spec = gymnasium.make("dmc/walker-run-v0").unwrapped.task.model()
        spec.option.timestep = self.timestep
        add_velocimeter(spec, "right_knee", "now")
        for k in self.delays:
            add_velocimeter(spec, "right_knee", f"{k} late", delay=(k - self.early) * self.timestep)
        for k in self.intervals:
            add_velocimeter(spec, "right_knee", f"{k} apart", interval=k * self.timestep)
        return spec

    def initialize(self, v, rng):
        v.qvel[:] = rng.uniform(-1, 1, v.qvel.shape)

    def observation(self, v):
        return {"qpos": v.qpos}

    def terms(self, v):
        return {"still": v.qpos[..., 0] * 0}


@dataclass(frozen=True)
class MeasuredAtIntervals(Measured):
    """The same with intervals."""

    intervals = (2, 3, 25)


def measured(task, n, steps):
    """What an Observable shows and what the engine's sensor does, by name, at every step."""
    now = observe.sensor("now")
    observables = {}
    for k in task.delays:
        observables[f"{k} late, ours"] = Observable(now, delay=k)
        observables[f"{k} late, engine's"] = observe.sensor(f"{k} late")
    for k in task.intervals:
        observables[f"{k} apart, ours"] = Observable(now, update_interval=k)
        observables[f"{k} apart, engine's"] = observe.sensor(f"{k} apart")
    options = {"observation": "dict", "dtype": "float64", "observables": observables}
    env = mjgym.Env(task, **options) if n is None else mjgym.VectorEnv(task, n, **options)
    observations = [env.reset(seed=0)[0]]
    observations += [env.step(action)[0] for action in actions_for(env, steps)]
    return {
        name: tuple(np.array([o[f"{name}, {whose}"] for o in observations]) for whose in WHOSE)
        for name in {name.partition(",")[0] for name in observables}
    }


WHOSE = ("ours", "engine's")


@pytest.mark.parametrize("n", [None, 2])
def test_a_delay_is_the_engines_once_it_has_passed(n):
    """MuJoCo's sensors can be late by themselves; until the delay has passed, they show zero.

    The engine compares times that it adds up, so half a step of margin makes a delay exact.
    """
    for name, (ours, engines) in measured(Measured(0.0025, early=0.5), n, 60).items():
        k = int(name.split()[0])
        unseen = -(-k // 10)
        assert np.array_equal(ours[unseen:], engines[unseen:])
        assert (ours[:unseen] == ours[0]).all()
        assert ours[0].all()
        assert not engines[:unseen].any()


@pytest.mark.parametrize("n", [None, 2])
def test_intervals_are_the_engines_where_its_times_are_exact(n):
    """With a timestep that is a power of two, no sum of times is rounded."""
    found = measured(MeasuredAtIntervals(1 / 512), n, 60)
    assert {name for name in found if "apart" in name} == {"2 apart", "3 apart", "25 apart"}
    for name, (ours, engines) in found.items():
        unseen = -(-int(name.split()[0]) // 10) if "late" in name else 0
        assert np.array_equal(ours[unseen:], engines[unseen:])
    # With others some are: such an engine's reading is then a step late.
    ours, engines = measured(MeasuredAtIntervals(0.0025), n, 60)["3 apart"]
    assert np.array_equal(ours[0], engines[0])
    assert (ours != engines).any()


# --- Pictures ---------------------------------------------------------------------------------


PICTURES = {
    "late": Observable(observe.image(0, width=12, height=10), delay=3, buffer_size=2),
    "slow": Observable(
        observe.image(-1, width=8, height=8), update_interval=25, buffer_size=2, aggregator="max"
    ),
    "deep": Observable(observe.image(0, width=6, height=6, kind="depth"), buffer_size=3),
}
CART = "dmc/cartpole-swingup-v0"
FAST = {"render_quality": "fast"}


@pytest.mark.weekly
@pytest.mark.gl
def test_pictures_are_past_pictures():
    """Against a twin that draws after every physics step; there is one in a control step."""
    twin = gymnasium.make(CART, max_episode_steps=-1, **FAST).unwrapped
    drawing = {"observation": "dict+pixels", "observables": PICTURES, **FAST}
    env = gymnasium.make(CART, dtype="float64", **drawing)
    drawn = []

    def draw():
        drawn.append(
            {
                "late": twin.camera(0, width=12, height=10),
                "slow": twin.camera(-1, width=8, height=8),
                "deep": twin.camera(0, kind="depth", width=6, height=6),
            }
        )

    twin.reset(seed=4)
    draw()
    observation, _ = env.reset(seed=4)
    assert list(observation) == ["position", "velocity", *PICTURES]
    for step in range(30):
        for name, (interval, delay, buffer) in {
            "late": (1, 3, 2),
            "slow": (25, 0, 2),
            "deep": (1, 0, 3),
        }.items():
            expected = np.stack(
                [drawn[k][name] for k in constant_readings(step, interval, delay, buffer)]
            )
            expected = expected.max(axis=0) if name == "slow" else expected
            assert observation[name].dtype == expected.dtype
            assert np.array_equal(observation[name], expected)
        assert env.observation_space.contains({k: np.asarray(v) for k, v in observation.items()})
        action = np.array([1.0 if step < 15 else -1.0])
        twin.step(action)
        draw()
        observation = env.step(action)[0]
    assert len({picture["late"].tobytes() for picture in drawn}) > 10


@pytest.mark.gl
@pytest.mark.parametrize("observation", mostly_nightly(["dict+pixels", "flat+pixels", "pixels"], 3))
def test_pictures_of_a_batch_equal_those_of_singles(observation):
    noise = noises.additive(Normal(0, 20.0))
    observables = {
        **PICTURES,
        "noisy": Observable(
            observe.image(0, width=8, height=8), noise=noise, delay=Integers(0, 2), buffer_size=2
        ),
    }
    if observation != "pixels":
        observables["position"] = Observable(noise=noises.additive(Normal(0, 1)))
    keywords = {"observation": observation, "observables": observables, **FAST}
    keywords["max_episode_steps"] = 4
    ours = gymnasium.make_vec(CART, num_envs=2, **keywords)
    sync = SyncVectorEnv([lambda: gymnasium.make(CART, **keywords)] * 2)
    assert ours.single_observation_space == sync.single_observation_space
    assert equal(ours.reset(seed=1), sync.reset(seed=1))
    for actions in actions_for(ours, 7):
        a, b = ours.step(actions), sync.step(actions)
        assert equal(a[:4], b[:4])
    assert a[0]["noisy"].dtype == np.uint8
    assert a[0]["noisy"].shape == (2, 2, 8, 8, 3)
    twin = pickle.loads(pickle.dumps(ours))
    for actions in actions_for(ours, 3, seed=1):
        assert equal(ours.step(actions)[:4], twin.step(actions)[:4])
    if observation != "pixels":
        described = ours.unwrapped.single_observation_space
        assert list(described)[-4:] == ["late", "slow", "deep", "noisy"]


def test_an_entry_that_is_not_there_among_pictures_is_refused():
    noisy = {"position": Observable(noise=noises.additive(Normal(0, 1)))}
    with pytest.raises(ValueError, match="observation='pixels' has no entry 'position'"):
        gymnasium.make(CART, observation="pixels", observables=noisy)
    left_out = {"position": Observable(enabled=False)}
    gymnasium.make(CART, observation="pixels", observables=left_out)


@pytest.mark.gl
def test_the_noise_of_a_picture_stays_within_its_range():
    picture = observe.image(0, width=16, height=16)
    observables = {
        "clean": picture,
        "noisy": Observable(picture, noise=noises.additive(Normal(0, 10.0))),
        "white": Observable(picture, noise=noises.additive(Uniform(300, 301))),
    }
    env = gymnasium.make(CART, observation="dict+pixels", observables=observables)
    observation, _ = env.reset(seed=0)
    clean, noisy = observation["clean"].astype(float), observation["noisy"].astype(float)
    assert (observation["white"] == 255).all()
    inner = (clean > 40) & (clean < 215)
    assert inner.sum() > 100
    assert (noisy - clean)[inner].std() == pytest.approx(10, rel=0.15)


@pytest.mark.weekly
@pytest.mark.gl
def test_one_picture_alone_is_the_observation():
    late = {"late": PICTURES["late"]}
    env = gymnasium.make(CART, observation="pixels", observables=late)
    assert env.reset(seed=0)[0].shape == (2, 10, 12, 3)
    beside = gymnasium.make(CART, observation="pixels", pixels={"width": 4}, observables=late)
    assert list(beside.reset(seed=0)[0]) == ["pixels", "late"]


# --- Wrong arguments --------------------------------------------------------------------------


WALKER = "dmc/walker-run-v0"
TORSO = observe.body("torso").xpos
NORMAL = Normal(0, 0.01)


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize(
    ("observables", "words"),
    [
        ({"velocty": Observable()}, "no entry 'velocty'; did you mean velocity?"),
        ({"x": Observable()}, "no entry 'x'; there are orientations, height, velocity;"),
        ({"x": Observable()}, r"needs a source, e\.g\. observe\.body"),
        ({"height": TORSO}, "'height' is an entry of the task"),
        ({"x": observe.body("tors").xpos}, "'x': the model has no body 'tors'; did you mean torso"),
        ({"x": observe.sensor("torso_subtreelinve")}, "'x': the model has no sensor"),
        ({"x": observe.tendon("t").length}, "'x': the model has no tendon 't'; there are none"),
        (
            {"x": observe.camera("sid").xpos},
            "'x': the model has no camera 'sid'; did you mean side",
        ),
        ({"x": observe.body("torso").xpoz}, "'x': body 'torso' has no attribute 'xpoz'; .*xpos"),
        ({"x": observe.field("qvell")}, "'x': neither MjData nor MjModel .*'qvell'; .*qvel"),
        ({"x": observe.field("efc_force")}, "'x': field 'efc_force' has no fixed size"),
        ({"x": observe.field("contact")}, "'x': "),
        ({"x": TORSO[3]}, "'x': index 3 is out of bounds for axis . with size 3"),
        ({"x": TORSO[..., 3]}, "'x': index 3 is out of bounds"),
        ({"x": TORSO["z"]}, "'x': only integers"),
        ({"x": TORSO - observe.field("qpos")}, "'x': operands could not be broadcast"),
        ({"x": observe.image(0)}, "'x' is a picture; it needs observation='flat.pixels'"),
        (
            {"velocity": Observable(noise=noises.additive(Normal([0, 0], 1)))},
            "'velocity': noise: ",
        ),
        (
            {"velocity": Observable(noise=noises.Noise(NORMAL, lambda x, drawn: x[:2]))},
            r"'velocity': noise: gives shape \(2, 9\), expected \(3, 9\)",
        ),
        (
            {"velocity": Observable(aggregator=lambda x: x)},
            "'velocity': aggregator: .*unexpected keyword argument 'axis'",
        ),
        (
            {"velocity": Observable(aggregator=lambda x, axis: 0.0)},
            r"'velocity': aggregator: gives shape \(\), expected \(1, 9\)",
        ),
    ],
)
def test_wrong_observables_name_the_entry_and_the_nearest(make, observables, words):
    with pytest.raises(ValueError, match=f"observables: .*{words}"):
        make(WALKER, observables=observables)


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize(
    ("observables", "words"),
    [
        ([Observable()], "expected a dict by entry, got list"),
        ({"velocity": 3}, "'velocity': source: expected a quantity of mjgym.observe, got 3"),
        ({"velocity": NORMAL}, "'velocity': source: expected a quantity"),
        ({"x": observe.body("torso")}, "'x': source: which array of the element"),
    ],
)
def test_observables_of_a_wrong_type(make, observables, words):
    with pytest.raises(TypeError, match=f"observables: {words}"):
        make(WALKER, observables=observables)


@pytest.mark.parametrize(
    ("error", "keywords", "words"),
    [
        (TypeError, {"source": "torso"}, "source: expected a quantity"),
        (TypeError, {"source": observe.body("torso")}, r"e\.g\. observe\.body\('torso'\)\.xpos"),
        (TypeError, {"enabled": 1}, "enabled: expected True or False, got 1"),
        (ValueError, {"delay": 1.5}, "delay: must be a whole number, got 1.5"),
        (ValueError, {"delay": True}, "delay: must be a whole number"),
        (ValueError, {"update_interval": "2"}, "update_interval: must be a whole number"),
        (TypeError, {"delay": lambda rng: 1}, r"delay: a function needs bounds: Custom"),
        (TypeError, {"noise": lambda x, rng: x}, r"noise: .*corruptor makes a noise"),
        (TypeError, {"noise": NORMAL}, r"noise: expected one of mjgym\.variation\.noises"),
        (TypeError, {"aggregator": 3}, "aggregator: expected a name or a function, got 3"),
        (ValueError, {"delay": -1}, "delay: must be at least 0, got -1"),
        (ValueError, {"update_interval": 0}, "update_interval: must be at least 1"),
        (ValueError, {"buffer_size": 0}, "buffer_size: must be at least 1"),
        (ValueError, {"buffer_size": 2.0}, "buffer_size: must be a whole number"),
        (
            ValueError,
            {"aggregator": "medain"},
            "aggregator: 'medain' is none of .*; did you mean median",
        ),
        (ValueError, {"aggregator": "x"}, "'x' is none of mean, median, min, max, sum"),
        (ValueError, {"delay": Poisson(2)}, r"delay: .*no upper bound; \.clip\(0, \.\.\.\)"),
        (ValueError, {"delay": Normal(2, 1)}, "delay: .*may be less than 0"),
        (ValueError, {"delay": Integers(-1, 2)}, "delay: .*may be less than 0"),
        (ValueError, {"update_interval": Integers(0, 2)}, "update_interval: .*less than 1"),
        (ValueError, {"delay": Uniform([0, 0], 1)}, r"delay: .*draws arrays of shape \(2,\)"),
    ],
)
def test_wrong_options_of_an_entry(error, keywords, words):
    with pytest.raises(error, match=words):
        Observable(**keywords)


def test_pictures_that_cannot_be():
    for image, words in (
        (observe.image("sid"), "'x': there is no 'sid'; did you mean side"),
        (observe.image(0, kind="rbg"), "'x': kind: 'rbg' is none of"),
        (observe.image(0, width=0), "'x': width: must be from 1 to 16384, got 0"),
    ):
        with pytest.raises(ValueError, match=words):
            gymnasium.make(WALKER, observation="pixels", observables={"x": image})
