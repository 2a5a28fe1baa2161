"""Programs on models and tasks of one's own, as in the dm_control paper and its tutorial.

Tunyasuvunakool et al. (2020), sections on PyMJCF and Composer: a creature of jointed legs, a flock
of creatures, a button that notices force, and a creature that learns to press it.
"""

import numpy as np
import pytest

pytest.importorskip("dm_control", reason='needs pip install -e ".[dm-control]"')

import mjgym_compat

mjgym_compat.install("dm_control")

from dm_control import composer, mjcf
from dm_control.composer import variation
from dm_control.composer.observation import observable
from dm_control.composer.variation import distributions, noises

SUBSTEPS = 25  # physics steps per control step
TORSO = 0.1  # m
TORSO_SIZE = (TORSO, TORSO, TORSO / 2)


class Leg:
    """Two segments with a joint and a servo each."""

    def __init__(self, length, rgba):
        self.model = mjcf.RootElement()
        self.model.default.joint.damping = 2
        self.model.default.joint.type = "hinge"
        self.model.default.geom.type = "capsule"
        self.model.default.geom.rgba = rgba
        self.thigh = self.model.worldbody.add("body")
        self.hip = self.thigh.add("joint", axis=[0, 0, 1])
        self.thigh.add("geom", fromto=[0, 0, 0, length, 0, 0], size=[length / 4])
        self.shin = self.thigh.add("body", pos=[length, 0, 0])
        self.knee = self.shin.add("joint", axis=[0, 1, 0])
        self.shin.add("geom", fromto=[0, 0, 0, 0, 0, -length], size=[length / 5])
        self.model.actuator.add("position", joint=self.hip, kp=10)
        self.model.actuator.add("position", joint=self.knee, kp=10)


def make_creature(legs, rng):
    rgba = np.append(rng.uniform(size=3), 1)
    model = mjcf.RootElement()
    model.compiler.angle = "radian"
    model.worldbody.add("geom", name="torso", type="ellipsoid", size=TORSO_SIZE, rgba=rgba)
    for i in range(legs):
        theta = 2 * np.pi * i / legs
        place = TORSO * np.array([np.cos(theta), np.sin(theta), 0])
        site = model.worldbody.add("site", pos=place, euler=[0, 0, theta])
        site.attach(Leg(TORSO, rgba).model)
    return model


class Creature(composer.Entity):
    """A creature as an entity."""

    def _build(self, num_legs):
        self._model = make_creature(num_legs, np.random.RandomState(0))

    def _build_observables(self):
        return CreatureObservables(self)

    @property
    def mjcf_model(self):
        return self._model

    @property
    def actuators(self):
        return tuple(self._model.find_all("actuator"))


class CreatureObservables(composer.Observables):
    """Positions and velocities of the joints."""

    @composer.observable
    def joint_positions(self):
        return observable.MJCFFeature("qpos", self._entity.mjcf_model.find_all("joint"))

    @composer.observable
    def joint_velocities(self):
        return observable.MJCFFeature("qvel", self._entity.mjcf_model.find_all("joint"))


class Button(composer.Entity):
    """A button that is green while it is pressed with a force within a range, N."""

    def _build(self, target_force_range=(5, 10)):
        self._low, self._high = target_force_range
        self._model = mjcf.RootElement()
        shape = {"type": "cylinder", "rgba": [1, 0, 0, 1]}
        self.geom = self._model.worldbody.add("geom", size=[0.25, 0.02], **shape)
        self.site = self._model.worldbody.add("site", size=self.geom.size * 1.01, **shape)
        self.sensor = self._model.sensor.add("touch", site=self.site)
        self.activated_steps = 0

    def _build_observables(self):
        return ButtonObservables(self)

    @property
    def mjcf_model(self):
        return self._model

    def _update(self, physics):
        force = np.array(physics.bind(self.sensor).sensordata).item()
        self.is_activated = self._low <= force <= self._high
        green = [0, 1, 0, 1] if self.is_activated else [1, 0, 0, 1]
        physics.bind(self.geom).rgba = green
        self.activated_steps += self.is_activated

    def initialize_episode(self, physics, random_state):
        self.activated_steps = 0
        self._update(physics)
        self.activated_steps = 0

    def after_substep(self, physics, random_state):
        self._update(physics)


class ButtonObservables(composer.Observables):
    """The force on the button, averaged over a control step."""

    @composer.observable
    def touch_force(self):
        return observable.MJCFFeature(
            "sensordata", self._entity.sensor, buffer_size=SUBSTEPS, aggregator="mean"
        )


class OnCircle(variation.Variation):
    """A place on a circle at an angle that is drawn."""

    def __init__(self, distance):
        self._distance, self._heading = distance, distributions.Uniform(0, 2 * np.pi)

    def __call__(self, initial_value=None, current_value=None, random_state=None):
        distance, heading = variation.evaluate(
            (self._distance, self._heading), random_state=random_state
        )
        return distance * np.cos(heading), distance * np.sin(heading), 0


class PressWithSpecificForce(composer.Task):
    """The creature presses the button as long as it can."""

    def __init__(self, creature):
        self._creature = creature
        self._arena = composer.Arena()
        self._arena.mjcf_model.worldbody.add("geom", type="plane", size=[4, 4, 0.1])
        self._arena.mjcf_model.worldbody.add("light", pos=(0, 0, 4))
        self._arena.add_free_entity(creature)
        self.button = Button()
        self._arena.attach(self.button)
        self._creature_pose = (0, 0, 0.15)
        self._button_pose = OnCircle(distributions.Uniform(0.5, 0.75))
        self._mjcf_variator = variation.MJCFVariator()
        self._physics_variator = variation.PhysicsVariator()
        noise = noises.Additive(distributions.Normal(scale=0.01))
        creature.observables.joint_positions.corruptor = noise
        creature.observables.joint_positions.enabled = True
        scale = distributions.LogNormal(0, 0.01)
        creature.observables.joint_velocities.corruptor = noises.Multiplicative(scale)
        creature.observables.joint_velocities.enabled = True
        self.button.observables.touch_force.enabled = True
        self._to_button = observable.Generic(self._vector_to_button)
        self._to_button.enabled = True
        self.control_timestep = SUBSTEPS * self.physics_timestep

    @property
    def root_entity(self):
        return self._arena

    @property
    def task_observables(self):
        return {"button_position": self._to_button}

    def _vector_to_button(self, physics):
        place, _ = self.button.get_pose(physics)
        return self._creature.global_vector_to_local_frame(physics, place)

    def initialize_episode_mjcf(self, random_state):
        self._mjcf_variator.apply_variations(random_state)

    def initialize_episode(self, physics, random_state):
        self._physics_variator.apply_variations(physics, random_state)
        creature, button = variation.evaluate(
            (self._creature_pose, self._button_pose), random_state=random_state
        )
        self._creature.set_pose(physics, position=creature)
        self.button.set_pose(physics, position=button)

    def get_reward(self, physics):
        return self.button.activated_steps / SUBSTEPS


class TestModels:
    def test_a_leg_is_simulated_and_drawn_from_its_elements(self):
        leg = Leg(0.3, [1, 0, 0, 1])
        physics = mjcf.Physics.from_mjcf_model(leg.model)
        physics.bind(leg.knee).qpos = 0.3
        assert physics.bind(leg.shin).xpos[0] == pytest.approx(0.3)
        assert 'class="/"' in leg.model.to_xml_string()

    def test_six_legs_move_in_phases(self):
        creature = make_creature(6, np.random.RandomState(3))
        floor = mjcf.RootElement()
        checker = floor.asset.add(
            "texture", type="2d", builtin="checker", width=30, height=30,
            rgb1=[0.2, 0.3, 0.4], rgb2=[0.3, 0.4, 0.5],
        )  # fmt: skip
        grid = floor.asset.add("material", name="grid", texture=checker, texrepeat=[5, 5])
        floor.worldbody.add("geom", type="plane", size=[2, 2, 0.1], material=grid)
        floor.worldbody.add("site", name="spawn", pos=[0, 0, 0.2]).attach(creature).add("freejoint")
        servos = creature.find_all("actuator")
        torso = creature.find("geom", "torso")
        physics = mjcf.Physics.from_mjcf_model(floor)
        phase = 2 * np.pi * np.random.RandomState(0).rand(len(servos))
        path = []
        physics.reset()
        while physics.time() < 2:
            physics.bind(servos).ctrl = 0.3 * np.sin(15 * physics.time() + phase)
            physics.step()
            path.append(physics.bind(torso).xpos.copy())
        moved = np.array(path)[:, :2]
        assert np.isfinite(moved).all()
        assert np.ptp(moved, axis=0).max() > 0.01

    def test_a_flock_of_creatures(self):
        arena = mjcf.RootElement()
        arena.worldbody.add("geom", type="plane", size=[2, 2, 0.1])
        rng = np.random.RandomState(1)
        flock = [make_creature(legs, rng) for legs in range(3, 6)]
        places = [[0.5 * i, 0, 0.2] for i in range(3)]
        for model, place in zip(flock, places, strict=True):
            arena.worldbody.add("site", pos=place).attach(model).add("freejoint")
        physics = mjcf.Physics.from_mjcf_model(arena)
        assert physics.model.nu == 2 * (3 + 4 + 5)
        torsos = [model.find("geom", "torso") for model in flock]
        np.testing.assert_allclose(physics.bind(torsos).xpos, places)
        colours = physics.bind(torsos).rgba
        assert len({tuple(row) for row in colours}) == 3

    def test_two_arms_share_their_names(self):
        arm = mjcf.from_xml_string(
            "<mujoco model='arm'><worldbody><body name='elbow'><joint name='hinge'/>"
            "<geom size='.1'/><site name='attachment_site'/></body></worldbody></mujoco>"
        )
        hand = mjcf.from_xml_string(
            "<mujoco model='hand'><worldbody><geom name='elbow' size='.05'/></worldbody></mujoco>"
        )
        arm.find("site", "attachment_site").attach(hand)
        physics = mjcf.Physics.from_mjcf_model(arm)
        assert physics.model.name2id("hand/elbow", "geom") >= 0
        assert arm.find("geom", "hand/elbow").full_identifier == "hand/elbow"
        assert [geom.full_identifier for geom in arm.find_all("geom")][-1] == "hand/elbow"


class TestTask:
    @pytest.fixture
    def env(self):
        task = PressWithSpecificForce(Creature(num_legs=4))
        return composer.Environment(task, random_state=np.random.RandomState(42))

    def test_an_episode(self, env):
        timestep = env.reset()
        spec = env.action_spec()
        assert spec.shape == (8,)
        entries = timestep.observation
        assert set(entries) == {
            "unnamed_model/joint_positions",
            "unnamed_model/joint_velocities",
            "unnamed_model_1/touch_force",
            "button_position",
        }
        assert entries["unnamed_model/joint_positions"].shape == (1, 8)
        assert 0.5 <= np.linalg.norm(entries["button_position"][0, :2]) <= 0.75
        for _ in range(3):
            timestep = env.step(np.zeros(8))
        assert timestep.mid()
        assert timestep.reward == 0

    def test_the_button_counts_the_steps_with_the_right_force(self, env):
        task = env.task
        task._button_pose = (0, 0, 0)
        env.reset()
        weight = env.physics.bind(task._creature.root_body).subtreemass * 9.81
        task.button._low, task.button._high = 0.2 * weight, 5 * weight
        rewards = [env.step(np.zeros(8)).reward for _ in range(10)]
        assert max(rewards) > 0
        assert env.physics.bind(task.button.geom).rgba[1] == task.button.is_activated

    def test_sensors_are_noisy_by_the_environments_generator(self, env):
        def first():
            return env.reset().observation["unnamed_model/joint_positions"]

        env.random_state.seed(1)
        drawn = first()
        assert drawn.std() > 0
        env.random_state.seed(1)
        assert np.array_equal(first(), drawn)

    def test_it_joins_gymnasium(self, env):
        wrapped = mjgym_compat.gymnasium(env)
        observation, _ = wrapped.reset(seed=1)
        assert wrapped.observation_space.contains(observation)
        assert wrapped.action_space.shape == (8,)
