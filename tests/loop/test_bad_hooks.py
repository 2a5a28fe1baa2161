"""What goes wrong in a task's hooks, numbers or given states is said, and harms nothing else."""

import copy
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import mjgym
from helpers.lanes import mostly_nightly
from helpers.toys import CART, Cart


def both(task, **options):
    """One environment and three, started."""
    env, envs = mjgym.Env(task, **options), mjgym.VectorEnv(task, 3, **options)
    env.reset(seed=0)
    envs.reset(seed=0)
    return env, envs


# Writes to the model.


@dataclass(frozen=True)
class Writes(Cart):
    """Its start does something with the model."""

    names: tuple[str, ...] = ()
    write: str = "v.body_mass[1] = 2.0"

    @property
    def varies(self):
        return self.names

    def initialize(self, v, rng):
        super().initialize(v, rng)
        exec(self.write, {"v": v, "rng": rng})


WRITES = {
    "v.body_mass[1] = 2.0": "body_mass",
    "v.body_mass = 2.0": "body_mass",
    "v.body_mass *= 2.0": "body_mass",
    "v.body('cart').mass = 2.0": "body_mass",
    "v.joint('slide').damping[0] = 2.0": "dof_damping",
    "v.joint('slide').qpos0[0] = 2.0": "qpos0",
    "v.model.body_mass[1] = 2.0": "body_mass",
    "v.model.geom_rgba[0] = 1.0": "geom_rgba",
    "v.model.opt.gravity[2] = -1.6": "opt.gravity",
    "v.opt.timestep = 0.02": "opt.timestep",
    "v.model.opt.iterations = 3": "opt.iterations",
}


@pytest.mark.parametrize("n", [None, 3])
@pytest.mark.parametrize(("write", "field"), mostly_nightly(WRITES.items(), quick=4))
def test_a_start_writes_only_what_varies_names(n, write, field):
    """Alone and in a batch, which would lose it; the model is as it was, so trying again is too."""

    def begin(names):
        task = Writes(write=write, names=names)
        envs = mjgym.Env(task) if n is None else mjgym.VectorEnv(task, n)
        return envs, envs.reset

    envs, reset = begin(("dof_armature",))
    before = envs.unwrapped.model
    bytes_before = [getattr(before, name).tobytes() for name in ("body_mass", "geom_rgba")]
    advice = (
        rf"Writes\.initialize writes {field} of the model.*varies = \('dof_armature', '{field}'\)"
    )
    for _ in range(2):
        with pytest.raises(ValueError, match=advice):
            reset(seed=0)
    assert bytes_before == [getattr(before, name).tobytes() for name in ("body_mass", "geom_rgba")]
    assert (before.opt.timestep, before.opt.gravity[2]) == (0.01, -9.81)
    if "timestep" not in field:  # control steps would no longer be what they were
        begin((field,))[1](seed=0)


@pytest.mark.parametrize("n", [None, 3])
def test_a_later_start_is_held_to_varies_too(n):
    task = Writes(write="if rng.random() < 0.3: v.geom_size[0] = 0.2")
    envs = mjgym.Env(task) if n is None else mjgym.VectorEnv(task, n)
    fine = [seed for seed in range(50) if np.random.default_rng(seed).random(2)[1] >= 0.3]
    envs.reset(seed=fine[0] if n is None else fine[:n])

    def play():
        for _ in range(50):
            envs.reset()

    with pytest.raises(ValueError, match=r"writes geom_size of .*varies = \('geom_size',\)"):
        play()


def test_constants_that_follow_are_named_too():
    task = Writes(write="v.body_mass[1] = 2.0; v.set_constants()", names=("body_mass",))
    with pytest.raises(ValueError, match=r"'body_mass', .*'dof_invweight0'"):
        mjgym.Env(task).reset(seed=0)


def test_what_cannot_vary_is_said():
    class Hilly(Writes):
        def model(self):
            spec = super().model()
            spec.add_hfield(name="hills", nrow=2, ncol=2, size=[1, 1, 1, 1], userdata=[0, 1, 0, 1])
            return spec

    with pytest.raises(ValueError, match=r"all episodes share hfield_size, so .* in model\(\)"):
        mjgym.Env(Hilly(write="v.model.hfield_size[0] = 2.0")).reset()


@pytest.mark.parametrize("n", [None, 3])
def test_other_hooks_write_to_no_model(n):
    @dataclass(frozen=True)
    class Meddles(Writes):
        write: str = "pass"

        def terms(self, v):
            v.model.opt.gravity[2] += 1.0
            return super().terms(v)

    with pytest.raises(ValueError, match=r"Meddles: a hook writes opt.gravity of the model"):
        mjgym.Env(Meddles()) if n is None else mjgym.VectorEnv(Meddles(), n)


def test_a_users_changes_of_the_model_are_not_the_tasks():
    """Between two episodes of one environment, anybody may change its model."""
    env = mjgym.Env(Cart())
    env.model.body_mass[1] = 3.0
    env.reset(seed=0)
    env.model.opt.gravity[2] = -1.6
    env.reset(seed=0)
    assert (env.model.body_mass[1], env.model.opt.gravity[2]) == (3.0, -1.6)
    mjgym.mjcf.bind(env, mjgym.mjcf.find(Cart().model(), "body", "cart")).mass = 4.0
    assert env.model.body_mass[1] == 4.0


# Numbers that are not finite.


@dataclass(frozen=True)
class Lost(Cart):
    """Its hook of a name gives what is not finite, for the first simulation, from x = 0 on."""

    hook: str = "control"

    def compiled_step(self, *_):
        return "it tells simulations apart"

    def _spoilt(self, v, value):
        first = v.xp.arange(max(1, *v.lead, 1))[: v.lead[0] if v.lead else 1] == 0
        bad = v.xp.where(first, v.xp.nan, 0.0)
        return value + (bad[:, None] if v.lead else bad)

    def control(self, v, action):
        return self._spoilt(v, action) if self.hook == "control" else action

    def observation(self, v):
        if self.hook != "observation":
            return super().observation(v)
        later = np.asarray(v.time)[..., None] > 0  # an episode begins well
        place = v.xp.where(later, self._spoilt(v, v.qpos), v.qpos)
        return {"position": place, "velocity": v.qvel}

    def terms(self, v):
        near = super().terms(v)["near"]
        spoilt = self._spoilt(v, near[..., None])[..., 0] if self.hook == "terms" else near
        return {"near": spoilt}


@pytest.mark.parametrize("hook", ["control", "terms", "observation"])
def test_what_is_not_finite_is_a_divergence_of_its_own_simulation(hook):
    env, envs = both(Lost(hook=hook))
    before = env.observe()
    observation, reward, terminated, truncated, info = env.step(np.array([0.5]))
    assert (reward, terminated, truncated, info["diverged"]) == (0.0, False, True, True)
    np.testing.assert_array_equal(observation[:1], np.float32(before["position"]))
    observations, rewards, _, truncations, info = envs.step(np.full((3, 1), 0.5))
    assert truncations.tolist() == info["diverged"].tolist() == [True, False, False]
    assert rewards[0] == 0 < rewards[1]
    assert np.isfinite(observations).all()
    assert info["_terms/near"].tolist() == [False, True, True]


@pytest.mark.parametrize("hook", ["control", "terms", "observation"])
def test_it_is_raised_on_request(hook):
    env, envs = both(Lost(hook=hook), on_divergence="raise")
    with pytest.raises(mjgym.DivergenceError):
        env.step(np.array([0.5]))
    with pytest.raises(mjgym.DivergenceError, match=r"\[0\]"):
        envs.step(np.full((3, 1), 0.5))
    for one, action in ((env, np.zeros(1)), (envs, np.zeros((3, 1)))):
        with pytest.raises(gymnasium.error.ResetNeeded):
            one.step(action)


def test_a_huge_control_is_no_motionless_simulation():
    env = gymnasium.make("dmc/lqr-lqr_2_1-v0").unwrapped
    env.reset(seed=0)
    _, reward, _, truncated, info = env.step(np.full(1, 1e20))
    assert (reward, truncated, info["diverged"]) == (0.0, True, True)


# States.


@pytest.mark.parametrize(
    ("entry", "value", "words"),
    [
        ("rng", [-1] * 6, "rng"),
        ("rng", [2**70] * 6, "rng"),
        ("rng", [0] * 6, "no state that a generator"),
        ("rng", [1, 2, 3, 5, 2, 0], "no state that a generator"),
        ("steps", float("nan"), "steps"),
        ("steps", -5, "negative"),
        ("steps", 2.9, "int64"),
        ("qvel", [1 + 2j], "qvel"),
        ("qvel", np.array([1 + 0j]), "qvel.*complex"),
        ("qpos", ["a"], "qpos"),
    ],
)
def test_a_state_is_checked_whole_before_anything_is_written(entry, value, words):
    env = mjgym.Env(Cart())
    env.reset(seed=0)
    before = env.get_state()
    good = {} if entry == "qpos" else {"qpos": [0.25]}
    with pytest.raises(ValueError, match=words):
        env.set_state({**good, entry: value})
    after = env.get_state()
    for name, old in before.items():
        np.testing.assert_array_equal(after[name], old)


# A start that fails.


@dataclass(frozen=True)
class Unlucky(Cart):
    """Its second and later episodes cannot begin where the draw is above a bound."""

    def initialize(self, v, rng):
        if (place := rng.uniform(-1, 1)) > 0.9:
            raise ValueError(f"no room at {place:.2f}")
        v.qpos[0] = place


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_start_that_raises_leaves_no_half_begun_episode(mode):
    envs = mjgym.VectorEnv(Unlucky(), 4, autoreset_mode=mode, max_episode_steps=2)
    seed = next(
        s for s in range(1000)
        if [np.random.default_rng(s + i).uniform(-1, 1) > 0.9 for i in range(4)] == [
            False, False, True, False]
    )  # fmt: skip
    with pytest.raises(ValueError, match="no room"):
        envs.reset(seed=seed)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros((4, 1)))


# Hooks that return something else.


def with_hook(name, hook):
    return dataclass(frozen=True)(type("Wrong", (Cart,), {name: hook}))()


@pytest.mark.parametrize(
    ("hook", "value", "error", "words"),
    mostly_nightly(
        [
            ("observation", None, TypeError, "expected a dict"),
            ("observation", {"position": None}, TypeError, "'position' is no array"),
            ("observation", {"position": np.zeros((7, 1))}, ValueError, r"v\.lead"),
            ("terms", None, TypeError, "expected a dict"),
            ("terms", {"near": np.zeros(7)}, ValueError, "expected shape"),
            ("reward", None, TypeError, "expected numbers"),
            ("reward", np.zeros(7), ValueError, "expected shape"),
            ("terminated", None, TypeError, "expected numbers"),
            ("terminated", 1.0, TypeError, "expected bool"),
            ("truncated", np.zeros(7, dtype=bool), ValueError, "expected shape"),
            ("success", 3.5, TypeError, "expected bool"),
            ("control", None, ValueError, "got None"),
            ("control", np.zeros(5), ValueError, r"expected shape \(3, 1\)"),
            ("memory", 3.0, TypeError, "expected a dict"),
            ("before_step", 3.0, TypeError, "expected a dict"),
            ("update", {"best": np.zeros(3)}, ValueError, "no 'best'"),
            ("current_forces", 2.0, TypeError, "expected bool"),
            ("before_step", {"mocap_poss": np.zeros(3)}, ValueError, "did you mean mocap_pos"),
            ("before_step", {"geom_size": np.zeros((1, 3))}, ValueError, "nor part of the state"),
            (
                "before_step",
                {"xpos": np.zeros((3, 2, 3))},
                ValueError,
                "'xpos' is neither in memory",
            ),
        ],
        quick=4,
    ),
)
def test_a_hook_that_returns_something_else_is_named_when_it_is_made(hook, value, error, words):
    task = with_hook(hook, lambda self, *given: value)
    with pytest.raises(error, match=rf"Wrong\.{hook}\(\).*{words}"):
        mjgym.VectorEnv(task, 3)


@dataclass(frozen=True)
class Counts(Cart):
    """It remembers numbers of one kind, and gives those of another."""

    begin: str = "float64"
    give: str = "int64"

    def memory(self, v):
        return {"n": v.xp.zeros(v.lead, dtype=getattr(v.xp, self.begin))}

    def update(self, v):
        return {"n": v.xp.ones(v.lead, dtype=getattr(v.xp, self.give))}


@pytest.mark.parametrize(
    ("begin", "give"), [("int64", "float64"), ("bool", "float64"), ("bool", "int64")]
)
def test_a_memory_that_cannot_hold_what_comes_is_refused(begin, give):
    words = rf"Counts\.update\(\): 'n' is of {give}, but memory\(\) begins it as {begin}"
    for make in (mjgym.Env, lambda task: mjgym.VectorEnv(task, 2)):
        with pytest.raises(TypeError, match=words):
            make(Counts(begin, give))


@pytest.mark.parametrize("give", ["bool", "int64", "float32"])
def test_a_memory_keeps_its_kind(give):
    for env in both(Counts(give=give)):
        env.step(np.zeros(env.action_space.shape))
        kept = env.get_state()["memory.n"]
        assert kept.dtype == np.float64
        assert (kept == 1).all()
        again = copy.deepcopy(env)
        assert (again.get_state()["memory.n"] == 1).all()


@pytest.mark.parametrize("seconds", [0.0, -0.02, float("nan"), 0.003])
def test_a_control_timestep_is_a_whole_number_of_physics_timesteps(seconds):
    with pytest.raises(ValueError, match="Cart: control_timestep"):
        mjgym.Env(Cart(control_timestep=seconds))


# Hooks that index from the left.

TWO_SITES = CART.replace('<geom size="0.1"/>', '<geom size="0.1"/><site name="tip" pos="0 0 0.3"/>')


@dataclass(frozen=True)
class FromTheLeft(Cart):
    """Its tip's height is the third simulation's place in a batch of three, and of its shape."""

    def model(self):
        return mujoco.MjSpec.from_string(TWO_SITES)

    def terms(self, v):
        return {"high": v.site("tip").xpos[2]}


@dataclass(frozen=True)
class EndsFromTheLeft(FromTheLeft):
    """The same of its end."""

    def terms(self, v):
        return {"high": v.site("tip").xpos[..., 2]}

    def terminated(self, v):
        return v.site("tip").xpos[2] > 1


@dataclass(frozen=True)
class Averages(Cart):
    """Its reward is the mean over all simulations."""

    def terms(self, v):
        return {"near": v.qpos.mean()}


@dataclass(frozen=True)
class Stops(Cart):
    """One of its hooks writes to the simulation."""

    def truncated(self, v):
        v.qvel[...] = 0
        return False


@pytest.mark.parametrize("num_envs", [1, 2, 3, 4, 11])
@pytest.mark.parametrize(
    ("task", "hook"),
    [
        (FromTheLeft(), "terms"),
        (EndsFromTheLeft(), "terminated"),
        (Averages(), "terms"),
        (Stops(), "truncated"),
    ],
)
def test_a_hook_that_mixes_simulations_is_refused_at_any_size_of_a_batch(task, hook, num_envs):
    with pytest.raises((ValueError, IndexError)) as caught:
        mjgym.VectorEnv(task, num_envs)
    said = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    line = getattr(type(task), hook).__code__.co_firstlineno
    assert f"{type(task).__name__}.{hook}()" in said
    assert f"test_bad_hooks.py:{line}" in said


def test_what_a_hook_raises_names_the_hook_its_file_and_line():
    def terms(self, v):
        return {"near": v.qpos[..., 5]}

    with pytest.raises(IndexError) as caught:
        mjgym.Env(with_hook("terms", terms))
    assert f"in Wrong.terms() (test_bad_hooks.py:{terms.__code__.co_firstlineno})" in "".join(
        caught.value.__notes__
    )


# Starts that are not finite.


@dataclass(frozen=True)
class StartsBadly(Cart):
    """Some of its episodes begin with an observation that is not finite."""

    bound: float = 0.5  # of the draw, above which they do

    def initialize(self, v, rng):
        v.qpos[0] = rng.uniform(-1, 1)

    def observation(self, v):
        place = v.qpos
        return {"place": v.xp.where((place > self.bound) & (v.qvel == 0), v.xp.nan, place)}


def test_a_start_that_is_not_finite_is_drawn_again_in_a_reset():
    env, envs = both(StartsBadly())
    for seed in range(0, 30, 3):
        observations, _ = envs.reset(seed=seed)
        assert np.isfinite(observations).all()
        for i in range(3):
            observation, _ = env.reset(seed=seed + i)
            np.testing.assert_array_equal(observation, observations[i])
    mask = np.array([False, True, True])
    before = observations[0]
    for _ in range(10):
        observations, _ = envs.reset(options={"reset_mask": mask})
        assert np.isfinite(observations).all()
        assert observations[0] == before


@pytest.mark.parametrize("on_divergence", ["truncate", "raise"])
def test_episodes_none_of_which_can_begin_are_refused(on_divergence):
    task = StartsBadly(bound=-2.0)
    for make in (mjgym.Env, mjgym.VectorEnv):
        env = make(task, on_divergence=on_divergence)
        with pytest.raises(mjgym.DivergenceError, match=r"StartsBadly.*'place'.*initialize\(\)"):
            env.reset(seed=0)
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(np.zeros(env.action_space.shape))


@pytest.mark.parametrize("mode", mostly_nightly(["NextStep", "SameStep"], quick=2))
@pytest.mark.parametrize("num_envs", [1, 8])
def test_an_autoreset_never_shows_a_start_that_is_not_finite(mode, num_envs):
    envs = mjgym.VectorEnv(StartsBadly(), num_envs, max_episode_steps=2, autoreset_mode=mode)
    observations, _ = envs.reset(seed=0)
    given_up = 0
    for _ in range(60):
        observations, rewards, _, truncations, info = envs.step(np.full((num_envs, 1), 0.5))
        assert np.isfinite(observations).all()
        assert np.isfinite(rewards).all()
        if "diverged" in info:
            assert not (info["diverged"] & ~truncations).any()
            given_up += info["diverged"].sum()
    assert given_up or mode == "SameStep"  # which begins them again with the next step


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_an_autoreset_raises_on_request(mode):
    envs = mjgym.VectorEnv(
        StartsBadly(), 8, max_episode_steps=2, autoreset_mode=mode, on_divergence="raise"
    )
    seed = next(  # eight starts that are finite
        s for s in range(10_000)
        if all(np.random.default_rng(s + i).uniform(-1, 1) <= 0.5 for i in range(8))
    )  # fmt: skip
    envs.reset(seed=seed)

    def play():
        for _ in range(60):
            envs.step(np.zeros((8, 1)))

    with pytest.raises(mjgym.DivergenceError, match=r"sub-environments \["):
        play()


def test_masses_that_the_engine_can_hardly_take_give_no_nan():
    vary = {"body_mass": mjgym.variation.Uniform(1e30, 1e32)}
    envs = gymnasium.make_vec(
        "locomotion/rolling_ball-run_walls-v0", num_envs=16, vary=vary, max_episode_steps=3
    )
    observations, _ = envs.reset(seed=0)
    for _ in range(12):
        assert np.isfinite(observations).all()
        observations, *_ = envs.step(np.zeros(envs.action_space.shape))


@pytest.mark.parametrize("value", [None, "<mujoco/>"])
def test_a_model_that_is_no_spec_is_named(value):
    @dataclass(frozen=True)
    class Forgetful(Cart):
        def model(self):
            return value

    with pytest.raises(TypeError, match=r"Forgetful.model\(\): expected a mujoco.MjSpec, got"):
        mjgym.Env(Forgetful())


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (("geom_poss",), ValueError, "'geom_poss' of MjModel; did you mean geom_pos"),
        (("qpos",), ValueError, "'qpos' of MjModel; did you mean qpos0"),
        (("nq",), ValueError, "no field 'nq' of MjModel"),
        ("geom_pos", TypeError, r"Wide.varies: .* write \('geom_pos',\)"),  # a forgotten comma
    ],
)
def test_fields_that_cannot_vary_are_named(fields, error, message):
    @dataclass(frozen=True)
    class Wide(Cart):
        varies = fields

    for make in (mjgym.Env, lambda task: mjgym.VectorEnv(task, 2)):
        with pytest.raises(error, match=message):
            make(Wide())


@pytest.mark.parametrize(
    ("field", "known"),
    [
        ("kept", r"memory\(\) has no 'm'; there are n"),
        ("reported", r"memory\(\) and terms\(\) have no 'm'; there are n, "),
    ],
)
def test_what_is_kept_or_reported_is_known(field, known):
    task = dataclass(frozen=True)(type("Wide", (Counts,), {field: ("m",)}))()
    for make in (mjgym.Env, lambda task: mjgym.VectorEnv(task, 2)):
        with pytest.raises(ValueError, match=rf"Wide\.{field}: {known}"):
            make(task)
