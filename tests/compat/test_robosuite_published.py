"""The published robosuite on this MuJoCo, and beside `make` of here."""

import contextlib
import io

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import mjgym_compat
import mjgym_compat.robosuite as ours
from helpers.guide_code import FOLDER, program
from helpers.lanes import mostly_nightly
from mjgym_compat.robosuite_hdf5 import RecordedModel

# A module of it: the folder of the tabletop's tests is a package of its name.
pytest.importorskip("robosuite.macros", reason='needs pip install -e ".[robosuite]"')
mjgym_compat.install("robosuite")
robosuite = pytest.importorskip("robosuite")
samplers = pytest.importorskip("robosuite.utils.placement_samplers")

BLIND = {"has_renderer": False, "has_offscreen_renderer": False, "use_camera_obs": False}
NAMES = (
    *("Lift", "Stack", "NutAssembly", "PickPlace", "Door", "Wipe", "ToolHang"),
    *("TwoArmLift", "TwoArmPegInHole", "TwoArmHandover", "TwoArmTransport"),
)


def make(name, suite=robosuite, **asked):
    robots = ["Panda", "Panda"] if name.startswith("TwoArm") else "Panda"
    asked = {"gripper_types": None, **asked} if name == "TwoArmPegInHole" else asked
    return suite.make(name, **{"robots": robots, **BLIND, **asked})


@pytest.mark.parametrize("name", mostly_nightly(NAMES, len(NAMES)))
def test_each_environment_runs_and_has_the_entries_of_ours(name):
    env, same = make(name), make(name, ours)
    published, here = env.reset(), same.reset()
    assert {k: np.shape(x) for k, x in here.items()}.items() <= {
        k: np.shape(x) for k, x in published.items()
    }.items()
    for _ in range(3):
        observation, reward, _, _ = env.step(np.full(env.action_dim, 0.1))
    assert np.isfinite(reward)
    assert all(np.isfinite(x).all() for x in observation.values())
    assert env.action_dim == same.action_dim
    env.close(), same.close()


def test_each_patch_restores_what_robosuite_expects():
    env = make("Lift")
    env.reset()
    model, data = env.sim.model._model, env.sim.data._data
    joint = model.joint("cube_joint0")
    assert env.sim.model.get_joint_qpos_addr("cube_joint0") == (
        joint.qposadr[0],
        joint.qposadr[0] + 7,
    )
    assert env.sim.model.get_joint_qvel_addr("robot0_joint2") == model.joint("robot0_joint2").dofadr
    env.step(np.full(env.action_dim, 0.3))
    arm = env.robots[0].part_controllers["right"]
    arm.update(force=True)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    dofs = arm.qvel_index
    np.testing.assert_array_equal(arm.mass_matrix, full[np.ix_(dofs, dofs)])
    assert env.sim.data.qM.shape == data.M.shape


@pytest.mark.parametrize(
    ("name", "body"), [("TwoArmHandover", "hammer_root"), ("Lift", "cube_main")]
)
def test_a_recorded_model_tells_masses(name, body):
    env, here = make(name), gymnasium.make(f"robosuite/{name}-v0").unwrapped
    env.reset(), here.reset(seed=0)
    theirs, i = env.sim.model._model.body(body), here.model.body(body).id
    drawn = RecordedModel(env.sim.model.get_xml()).drawn(here)
    assert drawn["body_mass"][i] == pytest.approx(theirs.mass.item(), rel=1e-4)
    assert drawn["body_inertia"][i] == pytest.approx(theirs.inertia, rel=1e-3)
    env.close(), here.close()


def test_patches_can_be_applied_again():
    mjgym_compat.install("robosuite")
    assert np.isfinite(make("Lift").step(np.zeros(7))[1])


@pytest.mark.filterwarnings("ignore:.*Box observation space", "ignore:.*render_modes")
def test_an_environment_of_ones_own_passes_gymnasiums_checker():
    spoken: dict = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(program(FOLDER / "robosuite.md"), spoken)
    env = spoken["env"]
    assert isinstance(env, gymnasium.Env)
    assert type(env.env).__name__ == "Reach"
    check_env(env, skip_render_check=True)

    def ball(seed=None):
        env.reset(seed=seed)
        return env.env.sim.data.get_joint_qpos("ball_joint0").copy()

    first = ball(5)
    np.testing.assert_array_equal(ball(5), first)
    assert not np.array_equal(ball(), first)


def test_a_world_built_of_their_models_steps():
    from robosuite.models import MujocoWorldBase
    from robosuite.models.arenas import TableArena
    from robosuite.models.robots import Panda
    from robosuite.utils.binding_utils import MjSim

    world, robot = MujocoWorldBase(), Panda()
    robot.set_base_xpos([0, 0, 0])
    world.merge(robot)
    world.merge(TableArena())
    sim = MjSim.from_xml_string(world.get_xml())
    sim.step()
    assert sim.data.time > 0
    assert sim.model.joint_names[0] == "robot0_joint1"


def test_members_that_programs_read_are_those_of_the_compiled_model():
    env = make("Door")
    env.reset()
    model = env.sim.model
    assert env.door_handle_site_id == model.site_name2id("Door_handle")
    assert env.hinge_qpos_addr == model.get_joint_qpos_addr("Door_hinge")
    again = mujoco.MjModel.from_xml_string(env.model.get_xml())
    assert (again.nq, again.nu) == (model.nq, model.nu)
    nuts = make("NutAssembly")
    nuts.reset()
    assert [nut.name for nut in nuts.nuts] == ["SquareNut", "RoundNut"]
    assert nuts.on_peg(np.array(nuts.sim.data.body_xpos[nuts.peg1_body_id]), 0)


def test_rotations_are_rows_of_nine_numbers():
    env = make("Lift")
    env.reset()
    data, model = env.sim.data, env.sim.model
    for kind, count in (("body", model.nbody), ("geom", model.ngeom), ("site", model.nsite)):
        assert getattr(data, f"{kind}_xmat").shape == (count, 9)
    cube = model.body_name2id("cube_main")
    np.testing.assert_array_equal(data.body_xmat[cube], np.ravel(data.get_body_xmat("cube_main")))


def test_objects_know_the_boxes_around_them():
    from robosuite.models.objects import Bin, PotWithHandlesObject

    box = Bin(name="bin", bin_size=(0.3, 0.3, 0.15)).get_bounding_box_half_size()
    np.testing.assert_allclose(box, [0.15, 0.15, 0.075])
    assert PotWithHandlesObject("pot").horizontal_radius == pytest.approx(np.sqrt(2) * 0.16)
    env = make("Stack")
    env.reset()
    for cube, half in ((env.cubeA, 0.02), (env.cubeB, 0.025)):
        np.testing.assert_allclose(cube.get_bounding_box_half_size(), half)


def test_fingers_follow_a_command_that_starts_anew_with_each_episode():
    env = make("Lift", gripper_types="RethinkGripper", hard_reset=False)
    env.reset()
    for k in (1, 2):
        env.step(np.eye(env.action_dim)[-1])
        command = env.robots[0].gripper["right"].current_action
        np.testing.assert_allclose(command, [0.2 * k, -0.2 * k])
    env.reset()
    np.testing.assert_allclose(env.robots[0].gripper["right"].current_action, 0)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("models.objects", "BoxObject CanObject DoorObject PotWithHandlesObject CompositeObject"),
        ("models.grippers", "PandaGripper RethinkGripper gripper_factory GRIPPER_MAPPING"),
        ("models.arenas", "TableArena BinsArena PegsArena"),
        ("environments.manipulation.door", "Door"),
    ],
)
def test_star_imports_bring_the_names_of_a_module(module, names):
    brought: dict = {}
    exec(f"from robosuite.{module} import *", brought)
    assert set(names.split()) <= brought.keys()


# Their samplers place the objects of our environments.


def placed(name, sampler, **asked):
    return make(name, ours, placement_initializer=sampler, **asked)


def test_uniform_sampler_places_the_cube():
    sampler = samplers.UniformRandomSampler(
        "s", x_range=[0.1, 0.2], y_range=[-0.2, -0.1], rotation=0.5, reference_pos=(0, 0, 0.8),
        ensure_object_boundary_in_range=False, z_offset=0.01,
    )  # fmt: skip
    env = placed("Lift", sampler, seed=0)
    for _ in range(5):
        place = env.reset()["cube_pos"]
        assert 0.1 <= place[0] <= 0.2
        assert -0.2 <= place[1] <= -0.1
        assert place[2] == pytest.approx(0.81 + env.env.model.geom("cube_g0").size[2])
    again = placed("Lift", sampler, seed=0)
    for _ in range(5):
        repeated = again.reset()["cube_pos"]
    np.testing.assert_array_equal(repeated, place)


def test_samplers_in_a_row():
    sampler = samplers.SequentialCompositeSampler("nuts")
    for i, name in enumerate(("SquareNut", "RoundNut")):
        sampler.append_sampler(
            samplers.UniformRandomSampler(
                f"{name}Sampler", x_range=[-0.1, -0.1], y_range=[0.4 * i - 0.2] * 2, rotation=0.0,
                reference_pos=(0, 0, 0.82), ensure_object_boundary_in_range=False,
            )
        )  # fmt: skip
    seen = placed("NutAssembly", sampler).reset()
    np.testing.assert_allclose(seen["SquareNut_pos"][:2], [-0.1, -0.2])
    np.testing.assert_allclose(seen["RoundNut_pos"][:2], [-0.1, 0.2])


class InACorner(samplers.ObjectPositionSampler):
    def sample(self, fixtures=None, reference=None, on_top=True):
        upright = np.array([1.0, 0.0, 0.0, 0.0])
        return {
            each.name: (np.array([0.2, 0.2 + 0.1 * i, 0.8 - each.bottom_offset[2]]), upright, each)
            for i, each in enumerate(self.mujoco_objects)
        }


def test_sampler_of_ones_own():
    seen = placed("Stack", InACorner("corner")).reset()
    np.testing.assert_allclose(seen["cubeA_pos"], [0.2, 0.2, 0.82])
    np.testing.assert_allclose(seen["cubeB_pos"], [0.2, 0.3, 0.825])

    class Forgetful(samplers.ObjectPositionSampler):
        def sample(self, fixtures=None, reference=None, on_top=True):
            return {}

    with pytest.raises(ValueError, match="nothing for cubeA, cubeB"):
        placed("Stack", Forgetful("none"))
