"""What a fingerprint says of the engine and of the law between physics steps."""

import ast
import subprocess
import sys

import gymnasium
import pytest

import mjgym
from helpers.small_process import run_small
from mjgym.cli.info import fingerprint_facts
from mjgym.util import plugins


class TestFaultyEngine:
    def test_it_is_named_with_its_fix(self, engine_version):
        engine_version("4.0.0")
        about = mjgym.fingerprint()
        (fault,) = about["warnings"]
        assert "Hessian" in fault["problem"]
        assert fault["fix"] == "pip install --no-deps --force-reinstall mujoco-core==4.0.1"
        assert fault["fix"] in fingerprint_facts(about)["warning"]

    def test_a_mended_one_is_not(self, engine_version):
        engine_version("4.0.1")
        about = mjgym.fingerprint()
        assert about["warnings"] == []
        assert "warning" not in fingerprint_facts(about)

    @pytest.mark.slow
    def test_importing_is_silent(self):
        program = "import mjgym, gymnasium; gymnasium.make('dmc/cartpole-swingup-v0')"
        command = [sys.executable, "-W", "error", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout + done.stderr == ""


class TestLaw:
    def test_of_a_task_without_one(self):
        about = mjgym.fingerprint(gymnasium.make("dmc/cartpole-swingup-v0"))
        reason = "controls are computed once in a control step"
        assert about["law"] == {"runs": "arrays", "reason": reason}
        assert fingerprint_facts(about)["law"] == f"arrays: {reason}"

    def test_the_package_of_laws_is_missing(self, monkeypatch):
        monkeypatch.setattr(plugins, "declared", lambda group: {})
        law = mjgym.fingerprint(gymnasium.make("robosuite/Lift-v0"))["law"]
        reason = "no installed package offers 'hooks' (mjgym.laws)"
        assert law == {"runs": "arrays", "reason": reason}

    @pytest.mark.parametrize("make", ["make", "make_vec"])
    def test_numba_is_missing(self, make):
        program = (
            "import warnings; warnings.simplefilter('error', RuntimeWarning);"
            "sys.modules['numba'] = sys.modules['llvmlite'] = None;"
            "import gymnasium, mjgym;"
            f"env = gymnasium.{make}('robosuite/Lift-v0');"
            "print(mjgym.fingerprint(env)['law'])"
        )
        reason = 'numba is not installed: pip install -e ".[fast]"'
        assert ast.literal_eval(run_small(program)) == {"runs": "arrays", "reason": reason}
