"""What a fingerprint says of the engine and of the law between physics steps."""

import ast

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


class TestHooks:
    def test_of_a_task_whose_readings_are_delayed(self):
        delayed = {"orientations": mjgym.Observable(delay=3)}
        env = gymnasium.make("dmc/walker-walk-v0", observables=delayed)
        reason = "observables are read between physics steps"
        about = mjgym.fingerprint(env)
        assert about["hooks"] == {"run": "arrays", "reason": reason, "in_numpy": {}}
        assert fingerprint_facts(about)["hooks"] == f"arrays: {reason}"

    def test_the_package_that_compiles_is_missing(self, monkeypatch):
        monkeypatch.setattr(plugins, "declared", lambda group: {})
        hooks = mjgym.fingerprint(gymnasium.make("robosuite/Lift-v0"))["hooks"]
        reason = "no installed package offers 'hooks' (mjgym.laws)"
        assert hooks == {"run": "arrays", "reason": reason, "in_numpy": {}}

    @pytest.mark.parametrize("make", ["make", "make_vec"])
    def test_llvm_is_missing(self, make):
        program = (
            "import warnings; warnings.simplefilter('error', RuntimeWarning);"
            "sys.modules['llvmlite'] = None;"
            "import gymnasium, mjgym;"
            f"env = gymnasium.{make}('robosuite/Lift-v0');"
            "print(mjgym.fingerprint(env)['hooks'])"
        )
        reason = 'llvmlite is not installed: pip install -e ".[fast]"'
        expected = {"run": "arrays", "reason": reason, "in_numpy": {}}
        assert ast.literal_eval(run_small(program)) == expected
