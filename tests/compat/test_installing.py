"""`install`: published packages made to run on this MuJoCo."""

import importlib.util
import sys
import types

import pytest

from helpers.small_process import run_small
from mjgym_compat import installing

INSTALL = "import mjgym_compat; mjgym_compat.install('dm_control')\n"


def test_an_unknown_package_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean dm_control"):
        installing.install("dm_kontrol")


def test_an_absent_package_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install -e "\.\[dm-control\]"'):
        installing.install("dm_control")


@pytest.mark.parametrize("found", ["0.9", "1.0.3.post1", "2.0", "unknown"])
def test_a_version_that_nobody_tried_is_refused(monkeypatch, found):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(installing, "version", lambda name: found)
    tried = installing.PUBLISHED["dm_control"].version
    with pytest.raises(ImportError, match=rf"{found} is unknown.*dm_control=={tried}"):
        installing.install("dm_control")


class TestDmControl:
    @pytest.fixture(autouse=True)
    def _installed(self):
        pytest.importorskip("dm_control", reason='needs pip install -e ".[dm-control]"')

    def test_its_introduction_runs(self):
        said = run_small(
            f"{INSTALL}from dm_control import suite\n"
            "import numpy as np\n"
            "env = suite.load(domain_name='cartpole', task_name='swingup')\n"
            "action_spec, time_step = env.action_spec(), env.reset()\n"
            "for _ in range(3):\n"
            "    action = np.random.uniform(action_spec.minimum, action_spec.maximum)\n"
            "    time_step = env.step(action)\n"
            "print(time_step.reward >= 0, time_step.discount, *time_step.observation)"
        )
        assert said.strip() == "True 1.0 position velocity"

    def test_its_mjcf_is_that_of_here_on_its_own_physics(self):
        said = run_small(
            f"{INSTALL}mjgym_compat.install('dm_control')  # a second time changes nothing\n"
            "from dm_control import composer, mjcf, mujoco\n"
            "import dm_control.mjcf.element as element\n"
            "from dm_control.mjcf import base, export_with_assets, physics\n"
            "from mjgym_compat.dm_control import mjcf as ours\n"
            "assert mjcf.RootElement is element.RootElement is ours.RootElement\n"
            "assert base is element and callable(export_with_assets)\n"
            "assert physics.Physics is mjcf.Physics is not ours.Physics\n"
            "assert issubclass(mjcf.Physics, mujoco.Physics)\n"
            "assert composer.Arena().mjcf_model.__class__ is ours.RootElement\n"
            "brought = {}; exec('from dm_control.mjcf import *', brought)\n"
            "assert brought['Physics'] is mjcf.Physics\n"
            "print('same')"
        )
        assert said.strip() == "same"

    def test_its_own_mjcf_on_request(self):
        said = run_small(
            "import mjgym_compat; mjgym_compat.install('dm_control', mjcf=False)\n"
            "from dm_control import mjcf; print(mjcf.RootElement.__module__)"
        )
        assert said.strip() == "dm_control.mjcf.element"

    def test_its_mjcf_must_not_be_imported_before(self, monkeypatch):
        theirs = types.ModuleType("dm_control.mjcf")
        monkeypatch.setitem(sys.modules, "dm_control.mjcf", theirs)
        with pytest.raises(ImportError, match="was imported already"):
            installing.install("dm_control")

    def test_a_run_that_must_not_stop_when_it_diverges(self):
        said = run_small(
            f"{INSTALL}from dm_control import suite\n"
            "import numpy as np\n"
            "env = suite.load('cheetah', 'run', task_kwargs={'random': 0})\n"
            "env.reset()\n"
            "env.physics.data.qpos[:] = 1e20\n"
            "with env.physics.suppress_physics_errors(): step = env.step(np.zeros(6))\n"
            "print(np.isfinite(step.reward))"
        )
        assert "True" in said.splitlines()  # beside the engine's warning

    def test_mazes_without_labmaze(self):
        """As on Python 3.13, for which labmaze has no wheel."""
        said = run_small(
            "import importlib.util as util, sys\n"
            "found = util.find_spec\n"
            "util.find_spec = lambda name: None if name == 'labmaze' else found(name)\n"
            f"{INSTALL}import labmaze, numpy as np\n"
            "assert labmaze.__name__ == 'mjgym_compat.dm_control.labmaze'\n"
            "from dm_control.locomotion.arenas import PaddedRoom\n"
            "from dm_control.locomotion.examples import basic_cmu_2019, basic_rodent_2020\n"
            "for make in (basic_rodent_2020.rodent_maze_forage,\n"
            "             basic_cmu_2019.cmu_humanoid_heterogeneous_forage):\n"
            "    env = make(np.random.RandomState(0))\n"
            "    assert env.reset().first()\n"
            "    layer = env.task._maze_arena.maze.entity_layer\n"
            "    print((layer == 'G').sum() > 0, (layer == 'P').sum() > 0, *layer[0])"
        )
        for line in said.splitlines()[:2]:
            assert set(line.split()) == {"True", "*"}

    @pytest.mark.weekly
    def test_torchrl_uses_it(self):
        pytest.importorskip("torchrl", reason='needs pip install -e ".[torchrl]"')
        said = run_small(
            f"{INSTALL}from torchrl.envs.libs.dm_control import DMControlEnv\n"
            "env = DMControlEnv('cartpole', 'balance')\n"
            "found = env.rollout(5)\n"
            "print(*found['position'].shape, bool((found['next', 'reward'] > 0).all()))"
        )
        assert said.split()[-3:] == ["5", "3", "True"]
