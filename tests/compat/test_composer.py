"""Composer's interface: tasks of entities, callbacks in order, observables, environments."""

import numpy as np
import pytest

dm_env = pytest.importorskip("dm_env")

from mjgym_compat.dm_control import composer, mjcf  # noqa: E402  (needs dm_env)
from mjgym_compat.dm_control.composer import variation  # noqa: E402
from mjgym_compat.dm_control.composer.observation import observable as sensing  # noqa: E402
from mjgym_compat.dm_control.composer.variation import (  # noqa: E402
    deterministic,
    distributions,
    noises,
    variation_broadcaster,
)


class Ball(composer.Entity):
    """A ball on a slide, with a motor."""

    def _build(self, name="ball", mass=1.0):
        self._model = mjcf.RootElement(model=name)
        body = self._model.worldbody.add("body", name="body")
        self.slide = body.add("joint", name="x", type="slide", axis=[1, 0, 0])
        body.add("geom", size=[0.1], mass=mass)
        self.motor = self._model.actuator.add(
            "motor", name="push", joint=self.slide, ctrllimited=True, ctrlrange=[-1, 1]
        )
        self.calls = []

    def _build_observables(self):
        return BallObservables(self)

    @property
    def mjcf_model(self):
        return self._model

    def initialize_episode(self, physics, random_state):
        self.calls.append("initialize_episode")
        physics.bind(self.slide).qpos = random_state.uniform(-1, 1)

    def before_substep(self, physics, random_state):
        self.calls.append("before_substep")


class BallObservables(composer.Observables):
    """Place and speed."""

    @composer.observable
    def speed(self):
        return sensing.MJCFFeature("qvel", self._entity.slide)

    @composer.observable
    def place(self):
        return sensing.MJCFFeature("qpos", self._entity.slide)


class Push(composer.Task):
    """Push a ball to the origin."""

    def __init__(self, **options):
        self.arena = composer.Arena("world")
        self.ball = Ball(**options)
        self.arena.attach(self.ball)
        self.ball.observables.enable_all()
        self.set_timesteps(control_timestep=0.02, physics_timestep=0.005)
        self.order = []

    @property
    def root_entity(self):
        return self.arena

    def initialize_episode_mjcf(self, random_state):
        self.order.append("mjcf")
        self.ball.mjcf_model.find_all("geom")[0].mass = random_state.uniform(1, 2)

    def after_compile(self, physics, random_state):
        self.order.append("compiled")

    def initialize_episode(self, physics, random_state):
        self.order.append("initialized")

    def get_reward(self, physics):
        return float(-abs(physics.bind(self.ball.slide).qpos.item()))

    def should_terminate_episode(self, physics):
        return abs(physics.bind(self.ball.slide).qpos.item()) > 2


def test_an_episode():
    env = composer.Environment(Push(), time_limit=0.1, random_state=0)
    first = env.reset()
    assert first.first()
    assert set(first.observation) == {"ball/place", "ball/speed"}
    steps = []
    while not steps or not steps[-1].last():
        steps.append(env.step(np.array([1.0])))
    assert len(steps) == 5
    assert steps[-1].discount == 1.0  # a limit of time is no end
    assert steps[0].reward == -abs(steps[0].observation["ball/place"].item())
    assert env.step(np.array([1.0])).first()
    assert env.task.order == ["compiled", *["mjcf", "compiled", "initialized"] * 2]
    assert env.task.ball.calls.count("before_substep") == 5 * 4


def test_it_is_newtons_law():
    task = Push(mass=1.0)
    env = composer.Environment(task, random_state=1)
    env.reset()
    mass = task.ball.mjcf_model.find_all("geom")[0].mass
    before = np.array(env.physics.bind(task.ball.slide).qvel)
    env.step(np.array([0.5]))
    gained = np.array(env.physics.bind(task.ball.slide).qvel) - before
    np.testing.assert_allclose(gained, 0.5 / mass * 0.02, rtol=1e-6)


def test_each_episode_has_its_own_model_or_none():
    drawn = composer.Environment(Push(), random_state=0)
    masses = {(drawn.reset(), drawn.physics.model.body_mass[2])[1] for _ in range(3)}
    assert len(masses) == 3
    once = composer.Environment(Push(), random_state=0, recompile_mjcf_every_episode=False)
    assert len({(once.reset(), once.physics.model.body_mass[2])[1] for _ in range(3)}) == 1
    # What has not been compiled is not changed either.
    (mass,) = (geom.mass for geom in once.task.ball.mjcf_model.find_all("geom"))
    assert once.physics.bind(once.task.ball.mjcf_model.worldbody.body[0]).mass == mass
    assert once.task.order == ["compiled", "mjcf", "compiled", *["initialized"] * 3]


class Named(Push):
    """A task that looks up the model's parts once it is compiled."""

    def after_compile(self, physics, random_state):
        self.place = physics.model.name2id("ball/", "body")

    @property
    def task_observables(self):
        height = sensing.Generic(lambda physics: physics.data.xpos[self.place, 2])
        height.enabled = True
        return {"height": height}


def test_observables_read_what_is_looked_up_after_compiling():
    env = composer.Environment(Named())
    # Those of the task come first, and an entity's are sorted, as in dm_control.
    assert list(env.observation_spec()) == ["height", "ball/place", "ball/speed"]
    assert list(env.reset().observation) == ["height", "ball/place", "ball/speed"]


def test_a_fixed_start_does_not_depend_on_the_models_draws():
    class Drawn(Push):
        def initialize_episode(self, physics, random_state):
            self.order.append(random_state.uniform())

    options = {"random_state": 2, "fixed_initial_state": True}
    env = composer.Environment(Drawn(), **options)
    once = composer.Environment(Drawn(), **options, recompile_mjcf_every_episode=False)
    for each in (env, once):
        each.reset(), each.reset()
    drawn = [x for x in env.task.order + once.task.order if isinstance(x, float)]
    assert len(drawn) == 4
    assert len(set(drawn)) == 1


def test_seeds():
    def run(**options):
        env = composer.Environment(Push(), **options)
        return [env.reset().observation["ball/place"].item() for _ in range(3)]

    assert run(random_state=3) == run(random_state=np.random.RandomState(3))
    assert run(random_state=3) != run(random_state=4)
    assert len(set(run(random_state=3, fixed_initial_state=True))) == 1


def test_specifications():
    env = composer.Environment(Push(), strip_singleton_obs_buffer_dim=True)
    action = env.action_spec()
    assert (action.shape, action.name) == ((1,), "ball/push")
    assert (action.minimum, action.maximum) == (-1, 1)
    free = mjcf.from_xml_string(
        '<mujoco><worldbody><body><joint name="x"/><geom size=".1"/></body></worldbody>'
        '<actuator><motor joint="x"/></actuator></mujoco>'
    )
    unlimited = composer.Environment(composer.NullTask(composer.ModelWrapperEntity(free)))
    assert unlimited.action_spec().minimum == -1e10  # a number, from which actions can be drawn
    assert unlimited.action_spec().maximum == 1e10
    spec = env.observation_spec()["ball/place"]
    spec.validate(env.reset().observation["ball/place"])
    assert composer.Environment(Push()).observation_spec()["ball/place"].shape[0] == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"buffer_size": 3}, [1.0, 2.0, 3.0]),
        ({"buffer_size": 2, "update_interval": 2}, [0.0, 2.0]),
        ({"delay": 1}, [2.0]),
        ({"buffer_size": 3, "aggregator": "sum"}, 6.0),
        ({"corruptor": lambda value, random_state: value + 10}, [13.0]),
    ],
)
def test_options_of_observables(options, expected):
    task = composer.NullTask(composer.ModelWrapperEntity(mjcf.RootElement()))
    task.set_timesteps(0.003, 0.001)
    clock = sensing.Generic(lambda physics: 1000 * physics.time(), **options)
    clock.enabled = True
    environment = composer.Environment(_Observing(task, clock))
    environment.reset()
    np.testing.assert_allclose(environment.step([]).observation["clock"], expected, atol=1e-9)


class _Observing(composer.NullTask):
    def __init__(self, task, clock):
        super().__init__(task.root_entity)
        self.set_timesteps(task.control_timestep, task.physics_timestep)
        self._clock = clock

    @property
    def task_observables(self):
        return {"clock": self._clock}


def test_what_nobody_sees_is_not_rendered():
    reads = []
    task = composer.NullTask(composer.ModelWrapperEntity(mjcf.RootElement()))
    task.set_timesteps(0.01, 0.001)
    camera = sensing.Generic(lambda physics: reads.append(physics.time()) or 0.0)
    camera.enabled = True
    environment = composer.Environment(_Observing(task, camera))
    environment.reset()
    reads.clear()
    for _ in range(3):
        environment.step([])
    np.testing.assert_allclose(reads, [0.01, 0.02, 0.03])


@pytest.mark.parametrize("free", [False, True])
def test_poses(free):
    arena, ball = composer.Arena(), Ball()
    frame = arena.add_free_entity(ball) if free else arena.attach(ball)
    frame.add("inertial", pos=[0, 0, 0], mass=1, diaginertia=[1, 1, 1])
    physics = mjcf.Physics.from_mjcf_model(arena.mjcf_model)
    quarter = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    ball.set_pose(physics, [1, 2, 3], quarter)
    ball.shift_pose(physics, [0, 0, 1], quarter)
    position, quaternion = ball.get_pose(physics)
    np.testing.assert_allclose(position, [1, 2, 4])
    np.testing.assert_allclose(np.abs(quaternion), [0, 0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(physics.bind(frame).xpos, [1, 2, 4])
    np.testing.assert_allclose(
        ball.global_vector_to_local_frame(physics, [1, 0, 0]), [-1, 0, 0], atol=1e-12
    )
    if not free:
        with pytest.raises(ValueError, match="free joint"):
            ball.get_velocity(physics)


def test_divergence_ends_the_episode_or_raises():
    class Explodes(Push):
        def before_step(self, physics, action, random_state):
            physics.bind(self.ball.slide).qvel = np.nan

    from mjgym_compat.dm_control.rl.simulation import PhysicsError

    env = composer.Environment(Explodes())
    env.reset()
    with pytest.raises(PhysicsError):
        env.step([0.0])
    env = composer.Environment(Explodes(), raise_exception_on_physics_error=False)
    env.reset()
    last = env.step([0.0])
    assert last.last()
    assert (last.reward, last.discount) == (0.0, 0.0)


def test_mistakes_are_named():
    ball = Ball()
    with pytest.raises(KeyError, match="No observable with name 'plaice'"):
        ball.observables.set_options({"plaice": {}})
    with pytest.raises(AttributeError, match=r"Cannot add attribute dely.*delay"):
        ball.observables.set_options({"place": {"dely": 1}})
    with pytest.raises(KeyError, match=r"'maxx'.*max"):
        ball.observables.set_options({"aggregator": "maxx"})
    with pytest.raises(RuntimeError, match="not attached"):
        ball.detach()
    with pytest.raises(ValueError, match="no multiple"):
        Push().set_timesteps(0.01, 0.003)
    with pytest.raises(ValueError, match=r"'after_stp'.*after_step"):
        composer.Environment(Push()).add_extra_hook("after_stp", print)


class TestVariations:
    def test_arithmetic(self):
        doubled = 2 * distributions.Uniform(1, 2) + 1
        assert 3 <= doubled(random_state=np.random.RandomState(0)) <= 5
        assert (deterministic.Constant(np.array([1, 2, 3]))[1])() == 2
        assert (-deterministic.Constant(3))() == -3
        assert distributions.Uniform(0, 1) + 1 == distributions.Uniform(0, 1) + 1
        assert distributions.Uniform(0, 1) != distributions.Uniform(0, 2)
        nested = variation.evaluate({"a": [deterministic.Constant(1), 2]})
        assert nested == {"a": [1, 2]}

    def test_each_number_has_its_own_draw_or_all_have_one(self):
        rng = np.random.RandomState(0)
        assert len(set(distributions.Normal()(np.zeros(4), random_state=rng))) == 4
        assert np.ndim(distributions.Normal(single_sample=True)(np.zeros(4), random_state=rng)) == 0

    def test_attributes_of_a_model_vary_about_their_first_values(self):
        model = mjcf.RootElement()
        geom = model.worldbody.add("geom", size=[1.0])
        variator, rng = variation.MJCFVariator(), np.random.RandomState(0)
        variator.bind_attributes(geom, size=noises.Multiplicative(distributions.Uniform(1, 2)))
        sizes = [(variator.apply_variations(rng), geom.size.item())[1] for _ in range(20)]
        assert 1 <= min(sizes) < max(sizes) <= 2  # not a product of all draws
        variator.bind_attributes(geom, size=None)
        variator.apply_variations(rng)
        assert geom.size.item() == sizes[-1]

    def test_numbers_of_a_simulation_vary_and_come_back(self):
        model = creature = mjcf.RootElement()
        joints = [
            creature.worldbody.add("body").add("joint", name=f"j{i}", damping=1.0) for i in range(2)
        ]
        for joint in joints:
            joint.parent.add("geom", size=[0.1])
        physics = mjcf.Physics.from_mjcf_model(model)
        variator = variation.PhysicsVariator()
        variator.bind_attributes(joints, damping=noises.Additive(distributions.Uniform(0, 1)))
        variator.apply_variations(physics, np.random.RandomState(0))
        assert len(set(physics.model.dof_damping)) == 2
        assert (physics.model.dof_damping >= 1).all()
        variator.reset_initial_values(physics)
        assert (physics.model.dof_damping == 1).all()

    def test_one_draw_for_several(self):
        source = variation_broadcaster.VariationBroadcaster(distributions.Uniform(0, 1))
        first, second = source.get_proxy(), source.get_proxy()
        rng = np.random.RandomState(0)
        drawn = [first(random_state=rng) for _ in range(3)]
        assert [second(random_state=rng) for _ in range(3)] == drawn
        assert len(set(drawn)) == 3

    @pytest.mark.parametrize("name", ["stdev", "timescale"])
    def test_a_walk_that_cannot_be(self, name):
        with pytest.raises(ValueError, match=f"`{name}` must be >= 0"):
            distributions.BiasedRandomWalk(**{name: -1})
