"""`mjgym_compat.install`: others' imports answered by this package."""

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
