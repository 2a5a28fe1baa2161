"""dm_control's walkers, arenas and tasks on Composer: models, numbers and behaviour of ours."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("dm_env")

from helpers.lanes import mostly_slow
from mjgym.tasks.locomotion.walkers import find_walker
from mjgym_compat.dm_control import composer, manipulation, mjcf
from mjgym_compat.dm_control.composer.variation import deterministic, distributions
from mjgym_compat.dm_control.locomotion import arenas, tasks, walkers
from mjgym_compat.dm_control.locomotion.examples import basic_cmu_2019, basic_rodent_2020
from mjgym_compat.dm_control.locomotion.props import TargetSphere, TargetSphereTwoTouch
from mjgym_compat.dm_control.locomotion.tasks.reach import TwoTouchState
from mjgym_compat.dm_control.locomotion.walkers import base, initializers, rescale

WALKERS = {
    "ant": walkers.Ant,
    "cmu_humanoid_torque": walkers.CMUHumanoid,
    "cmu_humanoid": walkers.CMUHumanoidPositionControlled,
    "cmu_humanoid_2020": walkers.CMUHumanoidPositionControlledV2020,
    "jumping_ball": walkers.JumpingBallWithHead,
    "rolling_ball": walkers.RollingBallWithHead,
    "rodent": walkers.Rat,
}
PHYSICS = (
    *("body_mass", "body_inertia", "body_pos", "body_quat", "geom_size", "geom_friction"),
    *("jnt_range", "dof_armature", "dof_damping", "jnt_stiffness", "actuator_gainprm"),
    *("actuator_biasprm", "actuator_dynprm", "actuator_forcerange", "actuator_gear"),
    *("sensor_type", "sensor_objid", "tendon_range", "exclude_signature", "cam_pos"),
)
BLIND = {"egocentric_camera": {"enabled": False}}


def _environment(task, seed=0, **options):
    return composer.Environment(
        task, random_state=seed, strip_singleton_obs_buffer_dim=True, **options
    )


@pytest.mark.parametrize("name", WALKERS)
def test_a_walker_has_the_physics_of_the_registered_one(name):
    ours = mjcf.Physics.from_mjcf_model(WALKERS[name]().mjcf_model).model.ptr
    registered = find_walker(name).model().compile()
    for field in PHYSICS:
        np.testing.assert_allclose(
            getattr(ours, field), getattr(registered, field), rtol=0, atol=1e-12, err_msg=field
        )


def _blind(build):
    environment = build(random_state=3)
    for entity in environment.task.iter_entities():
        camera = getattr(entity.observables, "egocentric_camera", None)
        if camera is not None:
            camera.enabled = False
    return environment


@pytest.mark.parametrize(
    ("build", "id"),
    mostly_slow(
        [
            (basic_cmu_2019.cmu_humanoid_go_to_target, "locomotion/cmu_humanoid-go_to_target-v0"),
            (basic_cmu_2019.cmu_humanoid_run_walls, "locomotion/cmu_humanoid-run_walls-v0"),
            (basic_rodent_2020.rodent_run_gaps, "locomotion/rodent-run_gaps-v0"),
            (basic_rodent_2020.rodent_two_touch, "locomotion/rodent-two_touch-v0"),
        ],
        4,
    ),
)
def test_an_example_steps_as_the_registered_task(build, id):
    registered = gymnasium.make(id, observation="dict", dtype="float64")
    registered.reset(seed=5)
    plain = registered.unwrapped
    environment = _blind(build)
    environment.reset()
    physics, task = environment.physics, environment.task
    if isinstance(task, tasks.GoToTarget):
        physics.bind(task._target).pos = plain.data.site("target").xpos
    if isinstance(task, tasks.TwoTouch):
        place = plain.data.body("orb").xpos.copy()
        task._targets[0].set_pose(physics, place - np.array([0, 0, 1.0]))
    with physics.reset_context():
        physics.data.qpos[:] = plain.data.qpos
        physics.data.qvel[:] = plain.data.qvel
    assert task.physics_timestep == plain.model.opt.timestep
    assert task.control_timestep == plain.control_timestep
    rng = np.random.default_rng(0)
    for _ in range(5):
        action = rng.uniform(-1, 1, physics.model.nu)
        observation, reward, *_ = registered.step(action)
        step = environment.step(action)
        assert step.reward == pytest.approx(reward, abs=1e-9)
        assert set(step.observation) == set(observation)
        for name, value in observation.items():
            np.testing.assert_allclose(
                np.ravel(step.observation[name]), np.ravel(value), rtol=0, atol=1e-6, err_msg=name
            )


def test_a_corridor_is_drawn_from_variations_for_each_episode():
    arena = arenas.WallsCorridor(
        wall_gap=deterministic.Constant(2.0),
        wall_width=distributions.Uniform(1, 3),
        wall_height=3.0,
        corridor_width=deterministic.Sequence([6.0, 8.0]),
        corridor_length=10,
        include_initial_padding=False,
    )
    task = tasks.RunThroughCorridor(
        walkers.RollingBallWithHead(), arena, walker_spawn_position=(0.5, 0, 0)
    )
    environment = _environment(task)
    widths = set()
    for wide in (6.0, 8.0):
        environment.reset()
        assert arena.corridor_width == wide
        walls = arena.mjcf_model.find("body", "walls").geom
        assert [float(wall.pos[0]) for wall in walls] == [0.0, 2.0, 4.0, 6.0, 8.0]
        for k, wall in enumerate(walls):
            assert abs(wall.pos[1]) + wall.size[1] == pytest.approx(wide / 2)
            assert (wall.pos[1] > 0) == (k % 2 == 0)
        widths |= {float(wall.size[1]) for wall in walls}
    assert len(widths) == 10
    assert arena.is_at_target_position((10.5, 0))
    assert not arena.is_at_target_position((9.5, 0))


def test_gaps_begin_behind_the_first_platform():
    arena = arenas.GapsCorridor(platform_length=1.0, gap_length=0.5, corridor_length=9)
    arena.regenerate(np.random.RandomState(0))
    floors = {geom.name: geom for geom in arena.ground_geoms[1:]}
    assert list(floors) == ["start_floor", "floor_0", "floor_1"]
    assert [float(f.pos[0]) for f in floors.values()] == [3.0, 6.5, 8.0]


class Post(composer.Entity):
    """A post of one's own."""

    def _build(self):
        self._mjcf_root = mjcf.RootElement(model="post")
        self._mjcf_root.worldbody.add("geom", name="post", type="capsule", size=(0.1, 0.5))

    @property
    def mjcf_model(self):
        return self._mjcf_root


class Roller(base.Walker):
    """A walker of one's own."""

    def _build(self):
        self._mjcf_root = mjcf.RootElement(model="roller")
        self._ball = self._mjcf_root.worldbody.add("body", name="ball")
        self._ball.add("geom", type="sphere", size=(0.1,))
        wheel = self._ball.add("body", name="wheel", pos=(0, 0, 0.15))
        wheel.add("geom", type="sphere", size=(0.02,))
        self._hinge = wheel.add("joint", name="hinge", axis=(0, 1, 0))
        self._mjcf_root.actuator.add("motor", name="turn", joint=self._hinge, ctrlrange=(-2, 3))

    @property
    def mjcf_model(self):
        return self._mjcf_root

    @property
    def root_body(self):
        return self._ball

    @property
    def observable_joints(self):
        return (self._hinge,)

    @property
    def actuators(self):
        return tuple(self._mjcf_root.find_all("actuator"))


def test_entities_of_ones_own_join_ours():
    arena = arenas.Floor(size=(5, 5))
    arena.attach_offset(Post(), (1.0, 0.0, 0.5))
    ant = walkers.Ant(observable_options=BLIND)
    task = tasks.RunThroughCorridor(ant, arena)
    environment = _environment(task)
    environment.reset()
    place = environment.physics.bind(
        environment.task.root_entity.mjcf_model.find("geom", "post/post")
    )
    np.testing.assert_allclose(place.xpos, (1.0, 0.0, 0.5))
    assert environment.step(np.zeros(8)).reward == pytest.approx(0.0, abs=0.05)
    roller = Roller()
    spec = roller.action_spec
    assert (spec.minimum, spec.maximum, spec.name) == (-2, 3, "turn")
    roller.create_root_joints(arena.attach(roller))
    physics = mjcf.Physics.from_mjcf_model(arena.mjcf_model)
    roller.apply_action(physics, np.array([1.5]), None)
    assert physics.bind(roller.actuators).ctrl == 1.5
    assert roller.observables.joints_pos(physics).shape == (1,)


def test_a_bare_arena_has_the_published_physics():
    arena = composer.Arena("bare")
    ant = walkers.Ant()
    ant.create_root_joints(arena.attach(ant))
    model = mjcf.Physics.from_mjcf_model(arena.mjcf_model).model
    assert (model.opt.cone, model.opt.noslip_iterations, model.opt.noslip_tolerance) == (1, 5, 0)
    assert model.body_mass[model.name2id("walker/", "body")] == 1e-5


def test_a_fall_ends_the_episode_with_discount_0():
    walker = walkers.CMUHumanoidPositionControlledV2020(observable_options=BLIND)
    environment = _environment(tasks.GoToTarget(walker, arenas.Floor()))
    environment.reset()
    step = environment.step(np.zeros(56))
    assert step.mid()
    assert step.discount == 1.0
    walker.shift_pose(environment.physics, (0, 0, -0.6), (0.7, 0.7, 0, 0))
    step = environment.step(np.zeros(56))
    assert step.last()
    assert step.discount == 0.0


def test_options_of_the_balls():
    seeing = walkers.JumpingBallWithHead(camera_control=True, add_ears=True, camera_height=1.2)
    physics = mjcf.Physics.from_mjcf_model(seeing.mjcf_model)
    assert [a.name for a in seeing.actuators][-2:] == ["camera_height", "camera_tilt"]
    assert physics.model.nu == 5
    assert physics.bind(seeing.mjcf_model.find("body", "egocentric_camera")).pos[2] == 1.2
    assert len(seeing.root_body.site) == 3


def test_options_of_the_rat():
    torques = walkers.Rat(torque_actuators=True, foot_mods=True)
    model = mjcf.Physics.from_mjcf_model(torques.mjcf_model).model
    assert (model.actuator_biastype == 0).all()
    knee = model.name2id("knee_L", "actuator")
    assert model.actuator_gainprm[knee, 0] == 0.2
    assert tuple(model.jnt_range[model.name2id("ankle_L", "joint")]) == (-0.1, 2.0)


def test_a_walker_is_rescaled():
    walker = walkers.CMUHumanoidPositionControlled()
    rescale.rescale_humanoid(walker, 1.2, 1.1, mass=70.0)
    model = mjcf.Physics.from_mjcf_model(walker.mjcf_model).model
    plain = find_walker("cmu_humanoid").model().compile()
    assert sum(model.body_mass) == pytest.approx(70.0)
    femur = model.name2id("lfemur", "body")
    np.testing.assert_allclose(model.body_pos[femur], 1.2 * plain.body("lfemur").pos)


def test_initializers_are_called_in_order():
    called = []

    class Note(initializers.WalkerInitializer):
        def initialize_pose(self, physics, walker, random_state):
            called.append(walker)

    choice = initializers.RandomlySampledInitializer([Note(), Note()])
    walker = walkers.Ant(initializer=[initializers.NoOpInitializer(), choice, Note()])
    arena = arenas.Floor()
    walker.create_root_joints(arena.attach(walker))
    physics = mjcf.Physics.from_mjcf_model(arena.mjcf_model)
    walker.reinitialize_pose(physics, np.random.RandomState(0))
    assert called == [walker, walker]


def test_contacts_are_sorted_by_end_effectors_and_body():
    walker = walkers.Ant()
    arena = arenas.Floor()
    walker.create_root_joints(arena.attach(walker))
    physics = mjcf.Physics.from_mjcf_model(arena.mjcf_model)
    walker.after_compile(physics, None)
    physics.step(200)
    ground = physics.bind(arena.ground_geoms[0]).element_id
    assert walker.end_effector_geom_ids.isdisjoint(walker.body_geom_ids)
    contacts = walker.end_effector_contacts(physics)
    assert contacts
    assert all(ground in pair and force > 0 for pair, force in contacts.items())


@pytest.mark.slow
def test_a_rat_begins_to_escape_where_nothing_touches_the_flat_ground():
    environment = _blind(basic_rodent_2020.rodent_escape_bowl)
    rat = environment.task._walker
    heights = []
    for _ in range(3):
        first = environment.reset()
        physics = environment.physics
        place, turn = rat.get_pose(physics)
        np.testing.assert_allclose(
            first.observation["walker/origin"],
            physics.bind(rat.root_body).xmat.reshape(3, 3).T @ -physics.bind(rat.root_body).xpos,
        )
        assert np.ptp(physics.model.hfield_data) > 0.5
        physics.model.hfield_data[:] = 0.0
        physics.forward()
        assert physics.data.ncon == 0
        rat.set_pose(physics, place - (0, 0, 0.01), turn)
        physics.forward()
        assert place[2] == 0 or physics.data.ncon > 0
        heights.append(place[2])
    assert len(set(heights)) == 3
    assert 0 <= environment.step(np.zeros(38)).reward < 1


# Mazes and targets.


def _maze(**options):
    return arenas.RandomMazeWithTargets(
        x_cells=11, y_cells=11, xy_scale=2.0, spawns_per_room=1, targets_per_room=2, **options
    )


def test_walls_of_a_maze_fill_its_text():
    arena = _maze(skybox_texture=arenas.SkyBox(style="sky_03"),
                  wall_textures=arenas.WallTextures(style="style_01"),
                  floor_textures=arenas.FloorTextures(style="style_01"))  # fmt: skip
    called = []
    arena.text_maze_regenerated_hook = lambda: called.append(arena.maze.entity_layer.copy())
    for seed in range(3):
        arena.regenerate(np.random.RandomState(seed))
        layer = arena.maze.entity_layer
        area = sum(
            4 * geom.size[0] * geom.size[1]
            for geom in arena.mjcf_model.find("body", "maze_body").geom
        )
        assert area == pytest.approx(4.0 * (layer == "*").sum())
        assert len(arena.target_positions) == (layer == "G").sum() == 2 * len(arena.spawn_positions)
        cells = arena.world_to_grid_positions(arena.target_positions)
        np.testing.assert_allclose(cells, arena.target_grid_positions)
        mjcf.Physics.from_mjcf_model(arena.mjcf_model)
    assert len(called) == 3
    assert not np.array_equal(called[0], called[1])


def test_a_target_is_found_again_and_again():
    walker, target = walkers.Ant(), TargetSphere()
    task = tasks.RepeatSingleGoalMaze(
        walker, _maze(), target, target_reward_scale=7.0, max_repeats=1, contact_termination=False,
        enable_global_task_observables=True,
    )  # fmt: skip
    walker.observables.egocentric_camera.enabled = False
    environment = _environment(task)
    first = environment.reset()
    assert first.observation["maze_layout"].shape == (11, 11)
    steps = []
    for _ in range(2):
        place, _ = target.get_pose(environment.physics)
        walker.set_pose(environment.physics, place + np.array([0, 0, 0.6]))
        steps.append(environment.step(np.zeros(8)))
        assert steps[-1].reward == 7.0
        away = walker.get_pose(environment.physics)[0] - place
        assert steps[-1].last() or np.linalg.norm(away[:2]) > 0.5
    assert [step.last() for step in steps] == [False, True]


def test_kinds_of_targets_have_their_shares_and_rewards():
    def build(name):
        return TargetSphere(radius=0.3, name=name)

    walker = walkers.Ant()
    task = tasks.ManyHeterogeneousGoalsMaze(
        walker, _maze(), [build, build], [5.0, -2.0], [1, 1], aliveness_reward=0.25,
        contact_termination=False,
    )  # fmt: skip
    walker.observables.egocentric_camera.enabled = False
    environment = _environment(task)
    for _ in range(2):
        environment.reset()
        values = [value for _, value in task._active]
        assert values.count(5.0) == values.count(-2.0)
        places = {tuple(t.get_pose(environment.physics)[0]) for t, _ in task._active}
        assert places == {tuple(p) for p in task._maze_arena.target_positions}
    target, _ = task._active[-1]
    walker.set_pose(environment.physics, target.get_pose(environment.physics)[0] + (0, 0, 0.7))
    assert environment.step(np.zeros(8)).reward == -1.75
    assert environment.step(np.zeros(8)).reward == 0.25


@pytest.mark.slow
def test_two_touches_need_the_right_time_in_between():
    rat = walkers.Rat(observable_options=BLIND)
    orb = TargetSphereTwoTouch(radius=0.025)
    task = tasks.TwoTouch(
        rat, arenas.Floor(size=(10, 10)), [lambda name: orb], [25.0], target_area=(1.5, 1.5),
        physics_timestep=0.001, control_timestep=0.02,
    )  # fmt: skip
    rat.observables.egocentric_camera.enabled = False
    environment = _environment(task)

    def play(second):
        """States of a second and a half, with touches at 0.1 s and at a later time."""
        environment.reset()
        states, rewards = [], []
        orb.touched = lambda physics: min(abs(physics.time() - t) for t in (0.1, second)) < 5e-4
        for _ in range(75):
            step = environment.step(np.zeros(38))
            states.append(TwoTouchState(int(step.observation["task_logic"][0])))
            rewards.append(step.reward)
        big = sum(reward > 20 for reward in rewards)
        return list(dict.fromkeys(states)), big

    before, once, twice, soon, none = TwoTouchState
    assert play(0.9) == ([before, once, twice], 2)
    assert play(0.5) == ([before, once, soon], 1)
    assert play(1.4)[0][:3] == [before, once, none]


def test_a_sphere_counts_only_the_geoms_that_it_is_told():
    arena = arenas.Floor()
    ant = walkers.Ant()
    ant.create_root_joints(arena.attach(ant))
    anything = TargetSphere(radius=0.5, height_above_ground=0.5, name="anything")
    nothing = TargetSphere(
        radius=0.5, height_above_ground=0.5, specific_collision_geom_ids=(), name="nothing"
    )
    for sphere in (anything, nothing):
        arena.attach(sphere)
    environment = composer.Environment(composer.NullTask(arena))
    environment.reset()
    assert anything.activated
    assert not nothing.activated
    assert environment.physics.bind(anything.material).rgba[3] == 0


# Manipulation.


def test_manipulation_tasks_are_loaded_by_name():
    assert "stack_3_bricks_random_order_features" in manipulation.ALL
    assert set(manipulation.get_environments_by_tag("easy")) == {
        f"reach_{what}_{kind}" for what in ("duplo", "site") for kind in ("features", "vision")
    }
    for tag in ("features", "vision"):
        assert set(manipulation.get_environments_by_tag(tag)) == {
            name for name in manipulation.ALL if name.endswith(tag)
        }
    environment = manipulation.load("reach_site_features", seed=1)
    drawn = environment.random_state.uniform(-1, 1, environment.action_spec().shape)
    assert np.array_equal(drawn, np.random.RandomState(1).uniform(-1, 1, drawn.shape))
    again = manipulation.load("reach_site_features", seed=1)
    first = environment.reset().observation
    for name, value in again.reset().observation.items():
        np.testing.assert_array_equal(value, first[name])
    with pytest.raises(ValueError, match="reach_site_features"):
        manipulation.load("reach_sites_features")


def test_a_floor_of_ones_own_extends_the_published_one():
    class Steps(arenas.Floor):
        def _build(self, **options):
            super()._build(**options)
            self.step = self._mjcf_root.worldbody.add("geom", type="box", size=[0.3, 2, 0.05])

        @property
        def ground_geoms(self):
            return (self._ground_geom, self.step)  # names of dm_control 1.0.50

    arena = Steps(size=(2, 3))
    assert [geom.type for geom in arena.ground_geoms] == ["plane", "box"]
    np.testing.assert_allclose(arena.ground_geoms[0].size[:2], (2, 3))
