"""Calls of each section of Tunyasuvunakool et al. (2020), on dm_control itself, in its order.

Its listings have no numbers, so tests are named by section. The programs of its tutorials, sections
3.1 and 5.4, are in `test_creature_programs`.
"""

import numpy as np
import pytest

pytest.importorskip("dm_control", reason='needs pip install -e ".[dm-control]"')

import mjgym_compat
from helpers.mjcf_models import swinging

mjgym_compat.install("dm_control")

from dm_control import composer, manipulation, mjcf, mujoco, suite
from dm_control.composer import variation
from dm_control.composer.observation import observable
from dm_control.composer.variation import distributions, noises
from dm_control.locomotion import arenas, soccer, tasks, walkers
from dm_control.mujoco.wrapper.mjbindings import enums, mjlib
from dm_control.suite.utils import parse_amc
from dm_control.suite.wrappers import pixels
from dm_control.utils import rewards

HANGING = swinging(
    *("pair", "crate", "marble"),
    """<camera name="front" pos="0 -2 0" xyaxes="1 0 0 0 0 1"/><light name="lamp" pos="0 0 1"/>""",
    """<actuator><motor name="pull" joint="swing"/></actuator>""",
)


@pytest.fixture
def physics():
    return mujoco.Physics.from_xml_string(HANGING)


class TestSection2Physics:
    def test_model_and_data_are_fields_of_the_engine(self, physics):
        assert physics.model.opt.timestep == 0.002
        physics.model.opt.timestep = 0.004
        physics.step()
        assert physics.data.time == physics.time() == 0.004
        assert physics.data.geom_xpos.shape == (2, 3)

    def test_a_state_is_written_in_a_context_that_recomputes(self, physics):
        with physics.reset_context():
            physics.named.data.qpos["swing"] = np.pi
        hanging = physics.named.data.geom_xpos["marble", "z"]
        assert hanging == pytest.approx(-0.6)
        physics.data.qpos[:] = 0
        assert physics.named.data.geom_xpos["marble", "z"] == hanging  # of the last computation
        physics.forward()
        assert physics.named.data.geom_xpos["marble", "z"] == pytest.approx(0.2)
        physics.data.qpos[:] = np.pi
        physics.reset()
        assert physics.named.data.geom_xpos["marble", "z"] == pytest.approx(0.2)

    def test_a_loop_runs_until_a_time(self, physics):
        heights = []
        while physics.time() < 0.5:
            physics.set_control(np.array([0.1]))
            physics.step(nstep=5)
            heights.append(physics.named.data.xpos["pair", "z"])
        assert len(heights) == 50
        assert np.array_equal(physics.control(), [0.1])
        assert physics.state().shape == (2,)

    def test_names_select_rows_and_columns(self, physics):
        places = physics.named.data.geom_xpos
        assert np.array_equal(places["marble", ["x", "z"]], physics.data.geom_xpos[1, [0, 2]])
        assert np.array_equal(places[["marble", "crate"]], physics.data.geom_xpos[::-1])
        assert places[:, "z"].shape == (2,)
        physics.named.model.geom_rgba["crate", :3] = 0.5
        assert np.array_equal(physics.model.geom_rgba[0], [0.5, 0.5, 0.5, 1])
        address = physics.model.name2id("marble", "geom")
        assert physics.model.id2name(address, "geom") == "marble"

    def test_functions_of_the_engine_take_pointers_and_arrays(self, physics):
        turned, quat = np.zeros(3), np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
        mjlib.mju_rotVecQuat(turned, np.array([1.0, 0, 0]), quat)
        np.testing.assert_allclose(turned, [0, 1, 0], atol=1e-15)
        jacobian = np.zeros((3, physics.model.nv))
        mjlib.mj_jacGeom(physics.model.ptr, physics.data.ptr, jacobian, None, 1)
        before = physics.named.data.geom_xpos["marble"].copy()
        with physics.reset_context():
            physics.named.data.qpos["swing"] = 1e-6
        moved = (physics.named.data.geom_xpos["marble"] - before) / 1e-6
        np.testing.assert_allclose(jacobian[:, 0], moved, atol=1e-5)

    @pytest.mark.gl
    def test_pictures_by_size_camera_and_kind(self, physics):
        size = {"height": 24, "width": 32, "camera_id": "front"}
        picture = physics.render(**size)
        assert (picture.shape, picture.dtype) == ((24, 32, 3), np.uint8)
        depth = physics.render(**size, depth=True)
        assert 1.0 < depth.min() < 2.0  # m, from the camera to the crate
        kinds = physics.render(**size, segmentation=True)[..., 1]
        assert set(kinds.ravel().tolist()) <= {-1, int(enums.mjtObj.mjOBJ_GEOM)}
        option = mujoco.wrapper.MjvOption()
        option.flags[enums.mjtVisFlag.mjVIS_JOINT] = True
        assert (physics.render(**size, scene_option=option) != picture).any()


class Arm:
    """An upper arm and a forearm."""

    def __init__(self, name):
        self.mjcf_model = mjcf.RootElement(model=name)
        self.upper = self.mjcf_model.worldbody.add("body", name="upper")
        self.shoulder = self.upper.add("joint", name="shoulder", type="ball")
        self.upper.add("geom", name="upper", type="capsule", pos=[0, 0, -0.15], size=[0.045, 0.15])
        self.fore = self.upper.add("body", name="fore", pos=[0, 0, -0.3])
        self.elbow = self.fore.add("joint", name="elbow", type="hinge", axis=[0, 1, 0])
        self.fore.add("geom", name="fore", type="capsule", pos=[0, 0, -0.15], size=[0.045, 0.15])


class TestSection3PyMJCF:
    def test_two_arms_hang_from_a_trunk(self):
        trunk = mjcf.RootElement(model="trunk")
        trunk.worldbody.add("geom", name="trunk", type="capsule", size=[0.15, 0.045, 0.25])
        arms = [Arm("left"), Arm("right")]
        for arm, side in zip(arms, (1, -1), strict=True):
            trunk.worldbody.add(
                "site", size=[1e-6] * 3, pos=[0, side * 0.2, 0.25], euler=[0, 0, 90 * side]
            ).attach(arm.mjcf_model)
        physics = mjcf.Physics.from_mjcf_model(trunk)
        names = [physics.model.id2name(i, "joint") for i in range(physics.model.njnt)]
        assert names == ["left/shoulder", "left/elbow", "right/shoulder", "right/elbow"]
        physics.bind(arms[0].elbow).qpos = np.pi / 2
        ends = physics.bind([arm.mjcf_model.find("geom", "fore") for arm in arms]).xpos
        np.testing.assert_allclose(ends, [[0, 0.05, -0.05], [0, -0.2, -0.2]], atol=1e-12)

    def test_elements_are_found_changed_and_removed(self):
        arm = Arm("arm").mjcf_model
        assert arm.find("joint", "elbow").parent is arm.find("body", "fore")
        arm.find("geom", "fore").size = [0.03, 0.2]
        assert len(arm.find_all("geom")) == 2
        arm.find("body", "fore").remove()
        assert arm.find("joint", "elbow") is None
        assert 'name="fore"' not in arm.to_xml_string()


class TestSection4Interface:
    def test_an_episode(self):
        env = suite.load(domain_name="cartpole", task_name="swingup", task_kwargs={"random": 3})
        spec, seen = env.action_spec(), env.observation_spec()
        step, total, count = env.reset(), 0.0, 0
        assert step.first()
        assert step.reward is step.discount is None
        rng = np.random.RandomState(0)
        while not step.last():
            step = env.step(rng.uniform(spec.minimum, spec.maximum, spec.shape))
            for name, value in step.observation.items():
                seen[name].validate(value)
            env.reward_spec().validate(step.reward)
            env.discount_spec().validate(step.discount)
            total, count = total + step.reward, count + 1
        assert count == 1000
        assert step.discount == 1.0  # a time limit ends no task
        assert 0 < total < 1000

    @pytest.mark.parametrize("shape", ["gaussian", "linear", "quadratic", "cosine"])
    def test_rewards_are_1_within_bounds_and_a_value_at_the_margin(self, shape):
        values = rewards.tolerance(
            np.array([1.0, 2.0, 4.0, 0.0]),
            bounds=(1, 3),
            margin=1.0,
            sigmoid=shape,
            value_at_margin=0.2,
        )
        np.testing.assert_allclose(values, [1, 1, 0.2, 0.2])


class TestSection5Composer:
    @pytest.fixture
    def task(self):
        """A falling ball, with such observables of the task as a test gives it."""

        class Fall(composer.NullTask):
            task_observables = {}

        model = mjcf.from_xml_string(
            '<mujoco><worldbody><body pos="0 0 1"><freejoint/><geom name="ball" size=".1"/>'
            "</body></worldbody></mujoco>"
        )
        task = Fall(composer.ModelWrapperEntity(model))
        task.control_timestep, task.physics_timestep = 0.02, 0.002
        return task

    def test_an_observation_has_interval_buffer_aggregator_and_delay(self, task):
        ball = task.root_entity.mjcf_model.find("geom", "ball")

        def height(**options):
            feature = observable.MJCFFeature("xpos", ball, index=2, **options)
            feature.enabled = True
            return feature

        type(task).task_observables = {
            "now": height(),
            "late": height(delay=10),  # physics steps: a control step
            "mean": height(update_interval=2, buffer_size=5, aggregator="mean"),
            "noisy": height(corruptor=lambda value, random_state: value + random_state.rand()),
        }
        env = composer.Environment(task, random_state=1, strip_singleton_obs_buffer_dim=True)
        env.reset()
        first, second = env.step([]).observation, env.step([]).observation
        assert second["late"] == first["now"]
        assert second["now"] < second["mean"] < first["now"]
        assert second["noisy"] > second["now"]

    def test_variations_are_drawn_and_computed_with(self):
        rng = np.random.RandomState(0)
        doubled = 2 * distributions.Uniform(1, 2) + 1
        values = [variation.evaluate(doubled, random_state=rng) for _ in range(50)]
        assert 3 <= min(values) < max(values) <= 5
        structure = {"gap": distributions.UniformInteger(1, 3), "size": [0.1, 0.2]}
        drawn = variation.evaluate(structure, random_state=rng)
        assert drawn["gap"] in (1, 2, 3)
        assert drawn["size"] == [0.1, 0.2]
        noise = noises.Additive(distributions.Normal(scale=0.1), cumulative=True)
        walk = 0.0
        for _ in range(3):
            walk = noise(0.0, walk, rng)
        assert walk != 0

    def test_callbacks_run_in_their_order(self, task):
        calls = []

        def called(name):
            return lambda *args: calls.append(name)

        env = composer.Environment(task, time_limit=1)
        hooks = ("initialize_episode_mjcf", "after_compile", "initialize_episode")
        running = ("before_step", "before_substep", "after_substep", "after_step")
        for name in (*hooks, *running):
            env.add_extra_hook(name, called(name))
        env.reset()
        env.step([])
        substeps = [name for _ in range(10) for name in running[1:3]]
        assert calls == [*hooks, running[0], *substeps, running[3]]


class TestSection6Suite:
    def test_all_benchmark_tasks_are_listed(self):
        assert len(suite.BENCHMARKING) == 28
        easy = {("ball_in_cup", "catch"), ("point_mass", "easy"), ("reacher", "easy")}
        assert set(suite.EASY) == easy
        assert set(suite.TASKS_BY_DOMAIN["walker"]) == {"run", "stand", "walk"}
        assert ("humanoid_CMU", "run") in suite.EXTRA

    @pytest.mark.gl
    def test_pixels_replace_or_join_the_observation(self):
        size = {"height": 24, "width": 32, "camera_id": 0}
        env = pixels.Wrapper(suite.load("cartpole", "swingup"), render_kwargs=size)
        assert {k: v.shape for k, v in env.reset().observation.items()} == {"pixels": (24, 32, 3)}
        env = pixels.Wrapper(suite.load("cartpole", "swingup"), False, size)
        assert set(env.reset().observation) == {"position", "velocity", "pixels"}

    def test_a_captured_motion_is_played_on_the_humanoid(self, tmp_path):
        physics = suite.load("humanoid_CMU", "stand").physics
        path = tmp_path / "fall.amc"
        rest = 56 * " 0"  # the other bones' angles
        frames = [f"{i + 1}\nroot 0 {20 - i} 0 0 0 0\nothers{rest}\n" for i in range(6)]
        path.write_text(":FULLY-SPECIFIED\n:DEGREES\n" + "".join(frames))
        motion = parse_amc.convert(path, physics, timestep=0.02)
        heights = []
        for qpos, qvel in zip(motion.qpos.T, motion.qvel.T, strict=False):
            with physics.reset_context():
                physics.data.qpos[:] = qpos
                physics.data.qvel[:] = qvel
            heights.append(float(physics.head_height()))
        assert motion.qpos.shape == (physics.model.nq, len(motion.time))
        fallen = motion.qpos[2, 0] - motion.qpos[2, 1]
        assert fallen > 0
        assert heights[0] - heights[1] == pytest.approx(fallen)


class TestSection7Locomotion:
    def test_a_humanoid_runs_along_a_corridor(self):
        walker = walkers.CMUHumanoidPositionControlledV2020(
            observable_options={"egocentric_camera": {"enabled": False}}
        )
        arena = arenas.WallsCorridor(
            wall_gap=3.0,
            wall_width=distributions.Uniform(2.0, 3.0),
            wall_height=distributions.Uniform(2.5, 3.5),
            corridor_width=4.0,
            corridor_length=30.0,
        )
        task = tasks.RunThroughCorridor(
            walker=walker,
            arena=arena,
            walker_spawn_position=(0.5, 0, 0),
            target_velocity=3.0,
            physics_timestep=0.005,
            control_timestep=0.03,
        )
        env = composer.Environment(
            task, time_limit=10, random_state=0, strip_singleton_obs_buffer_dim=True
        )
        env.reset()
        np.testing.assert_allclose(walker.get_pose(env.physics)[0][:2], [0.5, 0])
        last = env.step(np.zeros(env.action_spec().shape))
        assert 0 <= last.reward <= 1
        assert last.observation["walker/joints_pos"].shape == (56,)

    def test_players_of_both_teams_have_a_list_entry_each(self):
        env = soccer.load(
            team_size=2,
            time_limit=10.0,
            random_state=0,
            disable_walker_contacts=False,
            enable_field_box=True,
            terminate_on_goal=False,
            walker_type=soccer.WalkerType.BOXHEAD,
        )
        specs = env.action_spec()
        first = env.reset()
        step = env.step([np.zeros(spec.shape) for spec in specs])
        assert len(specs) == len(first.observation) == len(step.reward) == 4
        assert "ball_ego_position" in step.observation[0]


class TestSection8Manipulation:
    def test_tasks_are_loaded_by_name_and_by_tag(self):
        assert len(manipulation.ALL) == 25
        assert "stack_2_of_3_bricks_random_order_vision" in (
            manipulation.get_environments_by_tag("vision")
        )
        env = manipulation.load("stack_2_of_3_bricks_random_order_features", seed=42)
        spec = env.action_spec()
        rng = np.random.RandomState(42)
        step = env.reset()
        start = step.observation
        for _ in range(2):
            step = env.step(rng.uniform(spec.minimum, spec.maximum).astype(spec.dtype))
        assert step.mid()
        again = manipulation.load("stack_2_of_3_bricks_random_order_features", seed=42)
        for name, value in again.reset().observation.items():
            np.testing.assert_array_equal(value, start[name])
