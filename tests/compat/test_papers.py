"""Programs of the dm_control papers: their calls, keyword names and numbers."""

import copy

import gymnasium
import mujoco
import numpy as np
import pytest

pytest.importorskip("dm_env", reason='needs pip install -e ".[dm-env]"')

from helpers.mjcf_models import swinging
from mjgym.tasks.locomotion.arenas.corridors import GapsCorridor, WallsCorridor
from mjgym.tasks.locomotion.walkers import find_walker
from mjgym.variation import Bernoulli, Constant, Uniform
from mjgym_compat import dm_env as adapter
from mjgym_compat.dm_control import manipulation
from mjgym_compat.dm_env import Physics, PhysicsError

SWINGING = swinging(
    *("cube_and_ball", "cube", "ball"),
    """<geom name="floor" type="plane" size="2 2 .1"/>""",
    """<actuator><motor name="torque" joint="swing"/></actuator>""",
)


@pytest.fixture
def physics():
    return Physics.from_xml_string(SWINGING)


class TestLoad:
    def test_keyword_names(self):
        env = adapter.load(
            domain_name="cartpole",
            task_name="swingup",
            task_kwargs={"random": 0},
            environment_kwargs={"flat_observation": True},
            visualize_reward=True,
        )
        assert env.reset().observation["observations"].shape == (5,)

    @pytest.mark.parametrize(
        ("options", "timestep", "steps"),
        [
            ({"n_sub_steps": 2, "time_limit": 1.0}, 0.02, 50),
            ({"control_timestep": 0.05}, 0.05, 200),
            ({"time_limit": 0.1}, 0.01, 10),
        ],
    )
    def test_durations(self, options, timestep, steps):
        env = adapter.load("cartpole", "balance", environment_kwargs=options)
        assert env.control_timestep() == pytest.approx(timestep)
        env.reset()
        count = 1
        while not (last := env.step([0.0])).last():
            count += 1
        assert (count, last.discount) == (steps, 1.0)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"environment_kwargs": {"control_time": 1}}, "did you mean control_timestep"),
            ({"environment_kwargs": {"n_sub_steps": 2, "control_timestep": 0.02}}, "same thing"),
            (
                {"environment_kwargs": {"time_limit": 1}, "task_kwargs": {"time_limit": 1}},
                "time_limit",
            ),
        ],
    )
    def test_mistakes(self, arguments, message):
        with pytest.raises(TypeError, match=message):
            adapter.load("cartpole", "balance", **arguments)

    @pytest.mark.weekly
    @pytest.mark.gl
    def test_pixels(self):
        asked = {"height": 24, "width": 32, "camera_id": 0}
        env = adapter.load("cartpole", "balance", pixels=asked)
        assert {k: v.shape for k, v in env.reset().observation.items()} == {"pixels": (24, 32, 3)}
        env = adapter.load("cartpole", "balance", pixels=asked, pixels_only=False)
        assert set(env.reset().observation) == {"position", "velocity", "pixels"}

    def test_divergence_is_the_published_exception(self):
        env = adapter.load("walker", "walk", {"random": 0})
        env.reset()
        env.physics.data.qvel[:] = np.nan
        with pytest.raises(PhysicsError):
            env.step(np.zeros(6))
        assert env.step(np.zeros(6)).first()


class TestPhysics:
    def test_names_and_indices(self, physics):
        ball = physics.model.name2id("ball", "geom")
        assert physics.model.id2name(ball, "geom") == "ball"
        with pytest.raises(KeyError, match="did you mean ball"):
            physics.model.name2id("bal", "geom")
        with pytest.raises(KeyError, match="did you mean geom"):
            physics.model.name2id("ball", "goem")
        with pytest.raises(KeyError, match="no geom 9; the model has 3"):
            physics.model.id2name(9, "geom")

    def test_fields_print_with_their_names(self, physics):
        shown = str(physics.named.data.geom_xpos).splitlines()
        assert shown[0] == "FieldIndexer(geom_xpos):"
        assert shown[1].split() == ["x", "y", "z"]
        assert [line.split()[1] for line in shown[2:]] == ["floor", "cube", "ball"]
        assert str(physics.named.data.qpos).splitlines()[1].split()[1:4] == ["swing", "[", "0"]
        assert str(physics.named.data.ctrl).splitlines()[1].split()[1:4] == ["torque", "[", "0"]

    def test_axes_have_the_names(self):
        physics = Physics.from_xml_string(
            """<mujoco><worldbody><body name="torso"><freejoint name="root"/>
            <geom name="g" size=".1"/><body><joint name="elbow"/><geom size=".1"/></body></body>
            <body name="hand" mocap="true"/></worldbody><actuator><motor name="m" joint="elbow"/>
            <general name="f" joint="elbow" dyntype="filter"/></actuator></mujoco>"""
        )
        data = physics.named.data
        assert data.xpos.axes.row.names == ["world", "torso", "", "hand"]
        assert data.xpos.axes.col.names == ["x", "y", "z"]
        assert data.qpos.axes.row.names == ["root", "elbow"]
        assert data.qpos.axes.col is None
        assert data.qpos.axes.row.convert_key_item("elbow") == slice(7, 8)
        assert data.geom_xpos.axes.row.names == ["g", ""]
        assert data.mocap_pos.axes.row.names == ["hand"]
        assert data.act["m"].shape == (0,)  # which has none
        assert data.act["f"] == 0
        assert physics.named.model.geom_friction.axes.col.names == []
        assert physics.named.model.cam_mat0.axes.col.names[:2] == ["xx", "xy"]

    def test_fields_are_arrays(self, physics):
        field = physics.named.data.geom_xpos
        assert field.shape == (3, 3)
        assert len(field) == 3
        assert np.array_equal(2 * field - field, physics.data.geom_xpos)
        assert np.array_equal(np.sqrt(field**2), abs(physics.data.geom_xpos))
        physics.named.data.qpos += 0.25
        physics.named.model.geom_rgba["cube"] = 0, 0, 1, 1
        assert physics.position() == 0.25
        assert np.array_equal(physics.model.geom_rgba[1], [0, 0, 1, 1])

    def test_a_start_is_computed_without_actuation(self, physics):
        with physics.reset_context():
            physics.set_control(1.0)
        assert physics.data.qfrc_actuator == 0

    @pytest.mark.parametrize("integrator", ["Euler", "RK4"])
    def test_steps_are_in_the_published_order(self, integrator):
        """Positions are new, accelerations those of the last step."""
        model = SWINGING.replace("<worldbody>", f'<option integrator="{integrator}"/><worldbody>')
        physics = Physics.from_xml_string(model)
        plain = mujoco.MjModel.from_xml_string(model)
        data = mujoco.MjData(plain)
        mujoco.mj_step(plain, data, 7)
        mujoco.mj_step1(plain, data)
        physics.step(3)
        physics.step(nstep=4)
        assert np.array_equal(physics.position(), data.qpos)
        assert np.array_equal(physics.data.geom_xpos, data.geom_xpos)
        assert physics.time() == data.time

    def test_copies_go_their_own_ways(self, physics):
        physics.set_control([0.5])
        physics.step(5)
        other = physics.copy()
        assert np.array_equal(other.state(), physics.state())
        assert np.array_equal(other.control(), [0.5])
        physics.step()
        other.step()
        assert np.array_equal(other.get_state(), physics.get_state())
        other.step()
        assert other.time() > physics.time()

    def test_warnings_are_exceptions(self, physics):
        physics.data.qpos[:] = np.nan
        with pytest.raises(PhysicsError, match="mjWARN_BADQPOS"):
            physics.step()

    def test_files_and_their_assets(self, tmp_path):
        path = tmp_path / "model.xml"
        path.write_text(SWINGING)
        assert Physics.from_xml_path(path).model.ngeom == 3
        with pytest.raises(ValueError, match="XML"):
            Physics.from_xml_string("<mujoco><worldbody>")
        tetrahedron = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
        model = """<mujoco><asset><mesh name="t" file="t.obj"/></asset>
          <worldbody><body><freejoint/><geom type="mesh" mesh="t"/></body></worldbody></mujoco>"""
        assert Physics.from_xml_string(model, assets={"t.obj": tetrahedron}).model.nmesh == 1

    def test_the_engines_own_functions_take_the_pointers(self, physics):
        mujoco.mj_forward(physics.model.ptr, physics.data.ptr)
        physics.model.opt.gravity[2] = 0
        assert physics.model.ptr.opt.gravity[2] == 0
        physics.data.time = 3.0
        assert physics.time() == physics.data.ptr.time == 3.0


class TestLocomotion:
    def test_the_scene_of_section_7(self):
        arena = WallsCorridor(
            wall_gap=3.0,
            wall_width=Uniform(1.0, 7.0),
            wall_height=Uniform(2.5, 3.5),
            corridor_length=30.0,
        )
        env = gymnasium.make("locomotion/cmu_humanoid-run_walls-v0", arena=arena).unwrapped
        heights = set()
        for seed in range(3):
            env.reset(seed=seed)
            rows = env.view.rows("geom_size", arena.names())
            size, pos = env.view.geom_size[rows], env.view.geom_pos[rows]
            used = pos[:, 2] > 0
            assert np.allclose(pos[used, 0], 1.0 + 3.0 * np.arange(used.sum()))
            assert pos[used, 0].max() > 27
            assert ((size[used, 1] >= 0.5) & (size[used, 1] <= 3.5)).all()
            assert ((size[used, 2] >= 1.25) & (size[used, 2] <= 1.75)).all()
            assert np.allclose(pos[used, 2], size[used, 2])  # they stand on the ground
            assert (np.sign(pos[used, 1]) == [1, -1] * 4 + [1, -1][: used.sum() - 8]).all()
            heights |= {*size[used, 2]}
        assert len(heights) > 20

    def test_gaps_and_sides_may_be_drawn(self):
        arena = WallsCorridor(
            wall_gap=Uniform(2.0, 6.0), swap_wall_side=Bernoulli(0.5), corridor_length=60.0
        )
        env = gymnasium.make("locomotion/ant-run_walls-v0", arena=arena).unwrapped
        counts, repeats = set(), 0
        for seed in range(10):
            env.reset(seed=seed)
            pos = env.view.geom_pos[env.view.rows("geom_pos", arena.names())]
            pos = pos[pos[:, 2] > 0]
            steps = np.diff(pos[:, 0])
            assert ((steps >= 2) & (steps <= 6)).all()
            assert 54 <= pos[-1, 0] < 60
            counts.add(len(pos))
            repeats += (np.diff(np.sign(pos[:, 1])) == 0).sum()
        assert len(counts) > 1
        assert repeats > 20

    def test_a_colour(self):
        arena = WallsCorridor(wall_rgba=(1, 0, 0, 1), corridor_length=10)
        model = arena.model().compile()
        assert np.array_equal(model.geom("wall_0").rgba, [1, 0, 0, 1])

    def test_gaps_of_any_distribution(self):
        arena = GapsCorridor(platform_length=Constant(2.0), gap_length=0.5, corridor_length=20.0)
        env = gymnasium.make("locomotion/jumping_ball-run_gaps-v0", arena=arena).unwrapped
        env.reset(seed=0)
        pos = env.view.geom_pos[env.view.rows("geom_pos", arena.names())]
        assert np.allclose(np.diff(pos[pos[:, 2] > -1, 0]), 2.5)

    @pytest.mark.slow
    def test_instances_and_names_are_the_same_environment(self):
        named = gymnasium.make("locomotion/ant-run_walls-v0")
        given = gymnasium.make(
            "locomotion/ant-run_walls-v0", walker=find_walker("ant"), arena=WallsCorridor()
        )
        again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(given.spec.to_json()))
        copied = copy.deepcopy(given.unwrapped)
        expected = named.reset(seed=5)[0]
        for env in (given, again, copied):
            assert np.array_equal(env.reset(seed=5)[0], expected)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"wall_gap": 0}, "wall_gap: must be positive"),
            ({"wall_gap": Uniform(-1, 2)}, "wall_gap: must be positive"),
            ({"wall_width": 11.0}, "do not fit"),
            ({"corridor_length": float("nan")}, "corridor_length"),
        ],
    )
    def test_walls_that_cannot_stand(self, fields, message):
        with pytest.raises(ValueError, match=message):
            WallsCorridor(**fields)

    def test_a_start_outside_of_the_corridor(self):
        with pytest.raises(ValueError, match=r"start: must lie in the corridor, 0 to 100"):
            gymnasium.make("locomotion/ant-run_walls-v0", start=200.0)

    def test_something_else(self):
        with pytest.raises(TypeError, match=r"arena: expected a name, .* or an instance of Arena"):
            gymnasium.make("locomotion/ant-run_walls-v0", arena=3)


class TestOthers:
    def test_names_and_tags(self):
        assert len(adapter.MANIPULATION) == 26
        assert "cmu_humanoid_run_walls" in adapter.LOCOMOTION
        assert set(manipulation.get_environments_by_tag("vision")) < set(adapter.MANIPULATION)
        with pytest.raises(ValueError, match="features"):
            manipulation.get_environments_by_tag("feature")
        brick = adapter.load_manipulation("reach_brick", seed=1)
        duplo = adapter.load_manipulation("reach_duplo_features", seed=1)
        for ours, other in zip(
            brick.reset().observation.values(), duplo.reset().observation.values(), strict=True
        ):
            assert np.array_equal(ours, other)

    def test_soccer_has_a_list_entry_for_each_player(self):
        env = adapter.load_soccer(team_size=2, time_limit=0.5, random_state=3)
        first = env.reset()
        assert len(first.observation) == len(env.action_spec()) == len(env.reward_spec()) == 4
        for spec, seen in zip(env.observation_spec(), first.observation, strict=True):
            assert list(spec) == list(seen)
            for name, value in seen.items():
                spec[name].validate(value)
                assert value.shape[0] == 1
        zeros = [np.zeros(spec.shape) for spec in env.action_spec()]
        count = 1
        while not (last := env.step(zeros)).last():
            assert last.mid()
            count += 1
        assert count == 20
        assert [r.dtype for r in last.reward] == [np.float32] * 4
        assert last.discount == 1.0
        assert env.step(zeros).first()
        with pytest.raises(ValueError, match="a list of 4"):
            env.step(zeros[:3])
        with pytest.raises(ValueError, match=r"player 1: expected shape \(3,\), got \(2,\)"):
            env.step([zeros[0], np.zeros(2), *zeros[2:]])

    def test_soccer_is_that_of_the_registry(self):
        env = adapter.load_soccer(team_size=1, random_state=7)
        players = gymnasium.make_vec("soccer/boxhead-1v1-v0", observation="dict", dtype="float64")
        expected, _ = players.reset(seed=7)
        for i, seen in enumerate(env.reset().observation):
            for name, value in seen.items():
                assert np.array_equal(value[0], expected[name][i])

    def test_soccer_refuses_what_it_has_not(self):
        with pytest.raises(ValueError, match="did you mean ant"):
            adapter.load_soccer(2, walker_type="antt")
