"""Composer's initializers, variations of colours and orientations, and props."""

import numpy as np
import pytest

pytest.importorskip("dm_env")

from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import initializers
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.composer.observation.obs_buffer import Buffer
from mjgym_compat.dm_control.composer.variation import (
    colors,
    distributions,
    math,
    noises,
    rotations,
)
from mjgym_compat.dm_control.entities import props
from mjgym_compat.dm_control.entities.manipulators import kinova

RADIUS = 0.05  # m


@pytest.fixture
def balls():
    """Three balls above a floor."""
    arena = composer.Arena()
    arena.mjcf_model.worldbody.add("geom", name="floor", type="plane", size=[1, 1, 1])
    made = [props.Primitive("sphere", [RADIUS], name=f"ball_{i}") for i in range(3)]
    for ball in made:
        arena.add_free_entity(ball)
    physics = mjcf.Physics.from_mjcf_model(arena.mjcf_model)
    for i, ball in enumerate(made):
        ball.set_pose(physics, [i, 0, 1])
    return physics, made


class TestPropPlacer:
    def test_props_touch_nothing_and_keep_what_collides(self, balls):
        physics, made = balls
        kept = physics.model.geom_contype.copy()
        corner = 3 * RADIUS
        place = distributions.Uniform([-corner, -corner, RADIUS], [corner, corner, 3 * RADIUS])
        placer = initializers.PropPlacer(made, place, rotations.UniformQuaternion())
        placer(physics, np.random.RandomState(0))
        assert physics.data.ncon == 0
        assert np.array_equal(physics.model.geom_contype, kept)
        assert len({tuple(ball.get_pose(physics)[1]) for ball in made}) == 3

    def test_no_place_is_an_error_that_names_the_prop(self, balls):
        physics, made = balls
        kept = physics.model.geom_contype.copy()
        placer = initializers.PropPlacer(made, [0, 0, 0.5], max_attempts_per_prop=2)
        with pytest.raises(composer.EpisodeInitializationError, match=r"'ball_1' in 2 attempts"):
            placer(physics, np.random.RandomState(0))
        assert np.array_equal(physics.model.geom_contype, kept)
        initializers.PropPlacer(made, [0, 0, 0.5], ignore_collisions=True)(
            physics, np.random.RandomState(0)
        )

    def test_only_the_props_settle(self, balls):
        physics, made = balls
        placer = initializers.PropPlacer(made[:1], [0, 0, 0.2], settle_physics=True)
        placer(physics, np.random.RandomState(0))
        assert made[0].get_pose(physics)[0][2] == pytest.approx(RADIUS, abs=1e-3)
        assert made[1].get_pose(physics)[0][2] == 1.0
        assert physics.time() == 0.0

    def test_what_never_settles(self, balls):
        physics, made = balls
        options = {"settle_physics": True, "max_settle_physics_time": 0.01}
        initializers.PropPlacer(made[:1], [0, 0, 2], **options)(physics, np.random.RandomState(0))
        strict = initializers.PropPlacer(
            made[:1], [0, 0, 2], raise_exception_on_settle_failure=True, **options
        )
        with pytest.raises(composer.EpisodeInitializationError, match="settle"):
            strict(physics, np.random.RandomState(0))
        with pytest.raises(ValueError, match="at least 1"):
            initializers.PropPlacer(made, [0, 0, 2], max_settle_physics_attempts=0)


class TestVariations:
    def test_rotations(self):
        rng = np.random.RandomState(0)
        drawn = rotations.UniformQuaternion()(random_state=rng)
        assert np.linalg.norm(drawn) == pytest.approx(1)
        half = rotations.QuaternionFromAxisAngle([0, 0, 2], np.pi)
        np.testing.assert_allclose(half(), [0, 0, 0, 1], atol=1e-12)
        turned = rotations.QuaternionPreMultiply(half)(rotations.IDENTITY_QUATERNION)
        np.testing.assert_allclose(turned, [0, 0, 0, 1], atol=1e-12)
        flipped = rotations.QuaternionRotate(half, [1, 0, 0])
        np.testing.assert_allclose(flipped(), [-1, 0, 0], atol=1e-12)
        again = rotations.QuaternionRotate(half, cumulative=True)([9, 9, 9], [0, 1, 0])
        np.testing.assert_allclose(again, [0, -1, 0], atol=1e-12)

    def test_colours(self):
        red = colors.RgbVariation(distributions.Uniform(0.5, 1), 0, 0, 0.25)
        value = red(random_state=np.random.RandomState(0))
        assert 0.5 <= value[0] <= 1
        assert list(value[1:]) == [0, 0, 0.25]
        np.testing.assert_allclose(colors.HsvVariation(1 / 3, 1, 0.5)(), [0, 0.5, 0, 1])
        np.testing.assert_allclose(colors.GrayVariation(0.25)(), [0.25, 0.25, 0.25, 1])

    def test_functions(self):
        numbers = distributions.Uniform([3, 4], [3, 4])
        assert math.Norm(numbers)() == 5
        assert (math.Max(numbers)(), math.Min(numbers)()) == (4, 3)
        assert (2 * math.Log(np.e))() == 2


def test_a_detector_notices_what_is_inside(balls):
    physics, made = balls
    del physics
    arena = made[0].parent
    inside = props.PositionDetector([0, 0, 1], [0.5, 0.5, 0.5])
    outside = props.PositionDetector([0, 0], [0.5, 0.5], inverted=True, name="outside")
    for detector in (inside, outside):
        detector.register_entities(*made)
        arena.attach(detector)

    class Places(composer.NullTask):
        def initialize_episode(self, physics, random_state):
            for i, ball in enumerate(made):
                ball.set_pose(physics, [i, 0, 1])

    env = composer.Environment(Places(arena))
    env.reset()
    assert inside.detected_entities == [made[0]]
    assert outside.detected_entities == made[1:]
    inside.set_position(env.physics, [1, 0, 1])
    env.step([])
    assert inside.detected_entities == [made[1]]
    np.testing.assert_allclose(inside.lower, [0.5, -0.5, 0.5])
    np.testing.assert_allclose(env.physics.bind(inside.mid_site).rgba, [0, 1, 0, 0.25])
    inside.deregister_entities()
    assert not inside.activated
    with pytest.raises(ValueError, match="same length"):
        inside.resize([0, 0], [1, 1, 1])


def test_draws_of_observables_are_those_of_dm_control():
    """Recorded with dm_control 1.0.50: intervals, delays and noise of seed 7, in physics steps."""
    whole, normal = distributions.UniformInteger, distributions.Normal
    multiplied = noises.Multiplicative(normal(1, 0.1))
    options = {
        "late": {"delay": whole(0, 7), "update_interval": whole(1, 4), "buffer_size": 3},
        "slow": {"delay": 2, "update_interval": 3, "corruptor": noises.Additive(normal(scale=0.1))},
        "many": {"delay": whole(0, 3), "buffer_size": 9},
        "mean": {"buffer_size": 4, "aggregator": "mean", "corruptor": multiplied},
        "called": {"delay": lambda: 4, "buffer_size": 2},
    }
    entries = {
        name: observable.Generic(lambda physics: physics.time() / 0.002, **given)
        for name, given in options.items()
    }

    class Watched(composer.NullTask):
        task_observables = entries

    for entry in entries.values():
        entry.enabled = True
    task = Watched(composer.Arena())
    task.set_timesteps(0.01, 0.002)
    env = composer.Environment(task, random_state=7)
    env.reset()
    for _ in range(7):
        seen = env.step(np.zeros(0)).observation
    recorded = {
        "late": [30, 27, 32],
        "slow": [33.005527],
        "many": [25, 26, 27, 28, 30, 29, 31, 32, 33],
        "mean": 33.336786,
        "called": [30, 31],
    }
    for name, values in recorded.items():
        np.testing.assert_allclose(seen[name], values, atol=1e-6)


def test_values_arrive_by_their_delay():
    buffer = Buffer(2, (), float, pad_with_initial_value=True)
    for time, delay in ((0, 3), (1, 1), (2, 0)):
        buffer.insert(time, delay, time)
    assert list(buffer.read(1)) == [0, 0]
    assert list(buffer.read(2)) == [1, 2]
    assert list(buffer.read(3)) == [2, 0]


@pytest.mark.parametrize("legacy", [True, False])
def test_orders_of_a_step(legacy):
    """In the published order, poses are those of the new state."""
    model = mjcf.from_xml_string(
        "<mujoco><worldbody><body><joint axis='0 1 0'/><geom size='.1' pos='1 0 0'/></body>"
        "</worldbody></mujoco>"
    )
    task = composer.NullTask(composer.ModelWrapperEntity(model))
    env = composer.Environment(task, legacy_step=legacy)
    env.reset()
    env.step([])
    held = env.physics.data.geom_xpos.copy()
    env.physics.forward()
    assert np.array_equal(env.physics.data.geom_xpos, held) == legacy


class TestArm:
    @pytest.fixture
    def robot(self):
        arena, arm, hand = composer.Arena(), kinova.JacoArm(), kinova.JacoHand()
        arm.attach(hand)
        arena.attach(arm)
        return arena, arm, hand

    def test_the_tool_reaches_a_pose(self, robot):
        arena, arm, hand = robot
        physics = mjcf.Physics.from_mjcf_model(arena.mjcf_model)
        place, turn = [0.1, 0.2, 0.3], [0, 1, 1, 0]
        placer = initializers.ToolCenterPointInitializer(hand, arm, place, turn)
        placer(physics, np.random.RandomState(0))
        tool = hand.observables.pinch_site_pos(physics)
        np.testing.assert_allclose(tool, place, atol=1e-6)
        assert arm.observables.joints_pos(physics).shape == (6, 2)
        assert arm.observables.joints_torque(physics).shape == (6,)
        hand.set_grasp(physics, 0.5)
        np.testing.assert_allclose(
            physics.bind(hand.joints).qpos, physics.bind(hand.joints).range.mean(axis=1)
        )

    def test_a_pose_inside_something_is_refused(self, robot):
        arena, arm, hand = robot
        place = [0.1, 0.2, 0.3]
        arena.attach(props.Primitive("sphere", [0.2], pos=place))
        physics = mjcf.Physics.from_mjcf_model(arena.mjcf_model)
        before = np.array(physics.bind(arm.joints).qpos)
        options = {"max_rejection_samples": 2, "max_ik_attempts": 2}
        placer = initializers.ToolCenterPointInitializer(hand, arm, place, [0, 1, 1, 0], **options)
        with pytest.raises(composer.EpisodeInitializationError, match="2 poses"):
            placer(physics, np.random.RandomState(0))
        assert np.array_equal(physics.bind(arm.joints).qpos, before)
        placer = initializers.ToolCenterPointInitializer(
            hand, arm, place, [0, 1, 1, 0], ignore_collisions=True
        )
        assert placer(physics, np.random.RandomState(0))


def _pulled(force, **options):
    """Height that a brick pressed onto another has gained after 0.3 s of an upward force in N."""
    lower, upper = (props.Duplo(**options) for _ in range(2))
    for brick in (lower, upper):
        brick.initialize_episode_mjcf(np.random.RandomState(0))
    arena = composer.Arena()
    arena.attach(lower)
    frame = arena.add_free_entity(upper)
    frame.pos = (0, 0, 0.0192)
    physics = mjcf.Physics.from_mjcf_model(arena.mjcf_model)
    with physics.model.disable("gravity"):
        physics.bind(frame).xfrc_applied[2] = force
        for _ in range(150):
            physics.step()
    return physics.bind(frame).xpos[2] - 0.0192


@pytest.mark.parametrize("easy_align", [False, True])
@pytest.mark.parametrize("flanges", [False, True])
def test_bricks_hold_each_other_up_to_10_newton(easy_align, flanges):
    options = {"easy_align": easy_align, "flanges": flanges}
    assert abs(_pulled(8.0, **options)) < 1e-3
    assert _pulled(12.0, **options) > 1e-3


def test_studs_vary_and_colours_are_checked():
    with pytest.raises(ValueError, match="between 0 and 1"):
        props.Duplo(color=(0, 0, 2))
    brick = props.Duplo(variation=1.0, color=(0, 0, 1))
    geom = brick.mjcf_model.find("default", "stud").geom
    radii = set()
    for seed in range(5):
        brick.initialize_episode_mjcf(np.random.RandomState(seed))
        radii.add(float(geom.size[0]))
    assert len(radii) == 5
    assert 0.0046 < min(radii) < max(radii) < 0.0048
    assert brick.studs.shape == brick.holes.shape == (2, 4)
    physics = mjcf.Physics.from_mjcf_model(brick.mjcf_model)
    np.testing.assert_allclose(
        brick.observables.position(physics),
        physics.bind(brick.mjcf_model.find("site", "bounding_box")).xpos,
    )
    assert brick.observables.force(physics).shape == (3,)
