"""What a fingerprint says of the engine and of the law between physics steps."""

import subprocess
import sys

import gymnasium
import mujoco
import pytest

import mjgym
from mjgym.cli.info import fingerprint_facts


class TestFaultyEngine:
    def test_it_is_named_with_its_fix(self, monkeypatch):
        monkeypatch.setattr(mujoco, "mj_versionString", lambda: "4.0.0")
        about = mjgym.fingerprint()
        (fault,) = about["warnings"]
        assert "Hessian" in fault["problem"]
        assert fault["fix"] == "pip install --no-deps --force-reinstall mujoco-core==4.0.1"
        assert fault["fix"] in fingerprint_facts(about)["warning"]

    def test_a_mended_one_is_not(self, monkeypatch):
        monkeypatch.setattr(mujoco, "mj_versionString", lambda: "4.0.1")
        about = mjgym.fingerprint()
        assert about["warnings"] == []
        assert "warning" not in fingerprint_facts(about)

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

    @pytest.mark.parametrize("num_envs", [None, 2])
    def test_numba_is_missing(self, num_envs, monkeypatch):
        monkeypatch.setattr(
            "mjgym.sim.compiled.available.refusal", lambda: "numba is not installed"
        )
        id = "robosuite/Lift-v0"
        # Of a task that no other test has compiled a law for.
        options = {"controller": "JOINT_TORQUE"}
        env = (
            gymnasium.make(id, **options)
            if num_envs is None
            else gymnasium.make_vec(id, num_envs, **options)
        )
        law = mjgym.fingerprint(env)["law"]
        assert law == {"runs": "arrays", "reason": "numba is not installed"}
