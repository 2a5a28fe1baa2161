"""`mjgym_compat.install`: others' imports answered by this package."""

import re

import pytest

from helpers.small_process import run_small

pytest.importorskip("dm_env", reason='needs pip install -e ".[dm_env]"')


def test_imports_of_dm_control_find_the_modules_here():
    said = run_small(
        "import mjgym_compat; mjgym_compat.install('dm_control')\n"
        "from dm_control import composer, mjcf\n"
        "from dm_control.composer.variation import distributions\n"
        "from dm_control.mjcf import element\n"
        "import dm_control.composer.observation.observable.base as observables\n"
        "from mjgym_compat.dm_control import mjcf as same\n"
        "assert mjcf is same and element.RootElement is mjcf.RootElement\n"
        "print(distributions.Uniform.__name__, observables.Generic.__name__)"
    )
    assert said.strip() == "Uniform Generic"


def test_imports_of_robosuite_find_the_modules_here():
    said = run_small(
        "import mjgym_compat; mjgym_compat.install('robosuite')\n"
        "import robosuite as suite\n"
        "import robosuite.utils.transform_utils as T\n"
        "from robosuite.environments.manipulation.lift import Lift\n"
        "from robosuite.environments.manipulation.manipulation_env import ManipulationEnv\n"
        "from robosuite.models.arenas.table_arena import TableArena\n"
        "from robosuite.models.objects.primitive.box import BoxObject\n"
        "from robosuite.models.grippers.gripper_factory import gripper_factory\n"
        "import mjgym_compat.robosuite.environments.manipulation.lift as same\n"
        "env = suite.make('Lift', robots='Panda', use_camera_obs=False)\n"
        "assert type(env) is Lift is same.Lift\n"
        "print(TableArena.__name__, BoxObject.__name__, T.quat2mat.__name__)"
    )
    assert said.strip() == "TableArena BoxObject quat2mat"


def test_the_changed_import_finds_their_module_names_too():
    said = run_small("from mjgym_compat.dm_control.composer import arena; print(arena.__name__)")
    assert said.strip() == "mjgym_compat.dm_control.composer.entity"


@pytest.mark.parametrize(
    ("statement", "nearest"),
    [
        ("import dm_control.mjfc", "dm_control.mjcf"),
        ("from dm_control.composer import Entitty", "dm_control.composer.Entity"),
        ("import dm_control.composer.variation.noise", "dm_control.composer.variation.noises"),
    ],
)
def test_a_missing_module_is_named_with_the_nearest(statement, nearest):
    said = run_small(
        "import mjgym_compat; mjgym_compat.install('dm_control')\n"
        f"try: {statement}\nexcept ModuleNotFoundError as error: print(error)"
    )
    assert nearest in said


def test_their_package_must_not_be_imported_before():
    said = run_small(
        "import sys, types; sys.modules['dm_control'] = types.ModuleType('dm_control')\n"
        "import mjgym_compat\n"
        "try: mjgym_compat.install('dm_control')\nexcept ImportError as error: print(error)"
    )
    assert "was imported already" in said


def test_an_unknown_package_is_refused():
    import mjgym_compat

    with pytest.raises(ValueError, match="dm_control"):
        mjgym_compat.install("dm_kontrol")


LOOPS = {
    "dm_control": (
        # the introduction of dm_control's page: a random agent
        "from dm_control import suite\n"
        "import numpy as np\n"
        "env = suite.load(domain_name='cartpole', task_name='swingup')\n"
        "action_spec, time_step = env.action_spec(), env.reset()\n"
        "for _ in range(3):\n"
        "    action = np.random.uniform(action_spec.minimum, action_spec.maximum)\n"
        "    time_step = env.step(action)\n"
        "print(time_step.reward >= 0, time_step.discount, *time_step.observation)",
        # all tasks of a set, with their pixels
        "from dm_control import suite\n"
        "from dm_control.suite.wrappers import pixels\n"
        "assert all(domain in dict(suite.ALL_TASKS) for domain, _ in suite.BENCHMARKING)\n"
        "env = pixels.Wrapper(suite.load('pendulum', 'swingup', task_kwargs={'random': 1}))\n"
        "print(env.observation_spec()['pixels'].dtype, env.physics.model.name)",
        # a model of one's own
        "from dm_control import mujoco\n"
        'physics = mujoco.Physics.from_xml_string(\'<mujoco><worldbody><body name="box">'
        '<freejoint/><geom size=".1"/></body></worldbody></mujoco>\')\n'
        "while physics.time() < 0.1: physics.step()\n"
        "print(physics.named.data.xpos['box', 'z'] < 0, physics.data.qpos.shape)",
    ),
    "robosuite": (
        # the quick start: a random agent
        "import numpy as np\n"
        "import robosuite as suite\n"
        "env = suite.make(env_name='Lift', robots='Panda', has_renderer=False,\n"
        "                 has_offscreen_renderer=False, use_camera_obs=False)\n"
        "env.reset()\n"
        "for i in range(2):\n"
        "    action = np.random.randn(*env.action_spec[0].shape)\n"
        "    obs, reward, done, info = env.step(action)\n"
        "print(obs['robot0_eef_pos'].shape, done)",
        # a controller of one's choice, and its parts
        "import robosuite as suite\n"
        "from robosuite.controllers import load_part_controller_config\n"
        "from robosuite.controllers.composite.composite_controller_factory import (\n"
        "    refactor_composite_controller_config)\n"
        "from robosuite.controllers.parts.controller_factory import controller_factory\n"
        "from robosuite.controllers.parts.arm.osc import OperationalSpaceController\n"
        "part = load_part_controller_config(default_controller='OSC_POSE')\n"
        "config = refactor_composite_controller_config(part, 'Sawyer', ['right'])\n"
        "env = suite.make('Lift', 'Sawyer', controller_configs=config, use_camera_obs=False)\n"
        "arm = env.robots[0].composite_controller.get_controller('right')\n"
        "assert callable(controller_factory)\n"
        "print(isinstance(arm, OperationalSpaceController), arm.name, env.action_dim)",
        # a world built of models, in the bindings' simulation
        "from robosuite.models import MujocoWorldBase\n"
        "from robosuite.models.arenas import TableArena\n"
        "from robosuite.models.robots import Panda\n"
        "from robosuite.utils.binding_utils import MjSim\n"
        "world, robot = MujocoWorldBase(), Panda()\n"
        "robot.set_base_xpos([0, 0, 0])\n"
        "world.merge(robot)\n"
        "world.merge(TableArena())\n"
        "sim = MjSim.from_xml_string(world.get_xml())\n"
        "sim.step()\n"
        "print(sim.data.time > 0, sim.model.joint_names[0])",
    ),
}
SAID = {
    "dm_control": ("True 1.0 position velocity", "uint8 pendulum", r"True \(7,\)"),
    "robosuite": (r"\(3,\) False", "True OSC_POSE 7", "True robot0_joint1"),
}


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("package", LOOPS)
def test_their_first_programs_run_unmodified(package, number):
    said = run_small(
        f"import mjgym_compat; mjgym_compat.install({package!r})\n{LOOPS[package][number]}"
    )
    assert re.fullmatch(SAID[package][number], said.strip()), said


def test_torchrl_uses_it_for_dm_control():
    pytest.importorskip("torchrl", reason='needs pip install -e ".[torchrl]"')
    said = run_small(
        "import mjgym_compat; mjgym_compat.install('dm_control')\n"
        "from torchrl.envs.libs.dm_control import DMControlEnv\n"
        "env = DMControlEnv('cartpole', 'balance')\n"
        "found = env.rollout(5)\n"
        "print(*found['position'].shape, bool((found['next', 'reward'] > 0).all()))"
    )
    assert said.split()[-3:] == ["5", "3", "True"]
