"""`mjgym export --envhub`: a folder of the hub whose `env.py` LeRobot loads."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from helpers.training_runs import mjgym_

ID, STEPS = "robosuite/Lift-v0", 2


def exported(folder: Path, id: str = ID) -> Path:
    mjgym_("export", id, "--envhub", folder)
    return folder / "env.py"


def loaded(file: Path) -> ModuleType:
    """The module of a file, by the calls of LeRobot's loader."""
    spec = importlib.util.spec_from_file_location("hub_env_someone_lift", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def the_only(suites: Any) -> Any:
    ((suite, tasks),) = suites.items()
    assert (suite, list(tasks)) == ("robosuite", [0])
    assert isinstance(tasks[0], gymnasium.vector.VectorEnv)
    return tasks[0]


@pytest.fixture
def without_lerobot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lerobot", None)
    monkeypatch.delitem(sys.modules, "mjgym_compat.lerobot_env", raising=False)


def check_an_evaluation(envs: Any) -> None:
    """What `lerobot-eval` reads of a vector environment, in which one of two succeeds."""
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    observation, _ = envs.reset(seed=[3, 4], options={"lerobot_new_rollout": True})
    alone = gymnasium.make(ID, observation="dict").reset(seed=4)[0]
    np.testing.assert_array_equal(observation["environment_state"][1, :3], alone["cube_pos"])
    assert envs.call("_max_episode_steps") == (STEPS, STEPS)
    assert repr(envs.unwrapped.metadata["render_fps"]) == "20"  # no float, which PyAV refuses
    assert all("cube" in words.lower() for words in envs.call("task_description"))
    assert [env.task for env in envs.envs] == [ID, ID]
    raised: Any = envs.envs[1].unwrapped
    qpos = raised.get_state()["qpos"]
    qpos[raised.model.joint("cube_joint0").qposadr[0] + 2] += 0.3  # m
    raised.set_state({"qpos": qpos})
    action = np.zeros(envs.action_space.shape, np.float32)
    _, _, terminations, truncations, info = envs.step(action)
    assert info["final_info"]["is_success"].tolist() == [False, True]
    assert (terminations.tolist(), truncations.tolist()) == ([False, True], [False, False])
    *_, truncations, info = envs.step(action)
    assert info["final_info"]["is_success"].tolist() == [False, False]
    assert truncations.tolist() == [True, False]
    envs.close()


@pytest.mark.usefixtures("without_lerobot")
class TestFile:
    @pytest.mark.slow
    def test_lerobots_evaluation(self, tmp_path: Path) -> None:
        module = loaded(exported(tmp_path / "hub"))
        envs = the_only(module.make_env(n_envs=2, max_episode_steps=STEPS))
        assert isinstance(envs, SyncVectorEnv)
        check_an_evaluation(envs)

    def test_a_process_for_each(self, tmp_path: Path) -> None:
        module = loaded(exported(tmp_path / "hub"))
        envs = the_only(module.make_env(n_envs=1, use_async_envs=True, max_episode_steps=1))
        assert isinstance(envs, AsyncVectorEnv)
        envs.reset(seed=0)
        *_, info = envs.step(np.zeros(envs.action_space.shape, np.float32))
        assert info["final_info"]["is_success"].tolist() == [False]
        envs.close()

    def test_mistakes_are_named(self, tmp_path: Path) -> None:
        module = loaded(exported(tmp_path / "hub"))
        with pytest.raises(ValueError, match="n_envs: 0 is less than 1"):
            module.make_env(n_envs=0)
        with pytest.raises(ValueError, match=r"obs_type: 'stat'.* did you mean state"):
            module.make_env(obs_type="stat")


def test_a_task_of_a_module_is_imported(tmp_path: Path) -> None:
    mjgym_("new", tmp_path / "hub_puck.py")
    file = exported(tmp_path / "hub", str(tmp_path / "hub_puck.py"))
    assert "import hub_puck  # registers the id" in file.read_text().splitlines()
    ((tasks,),) = [suite.values() for suite in loaded(file).make_env().values()]
    tasks.reset(seed=0)
    tasks.close()


def test_nothing_is_written_at_a_mistake(tmp_path: Path) -> None:
    done = mjgym_("export", "robosuite/Lif-v0", "--envhub", tmp_path / "hub", code=2)
    assert "robosuite/Lift-v0" in done.stderr
    done = mjgym_("export", ID, "--envhub", tmp_path / "hub", "--hub", tmp_path / "p", code=2)
    assert "give it alone" in done.stderr
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "env.py").write_text("mine")
    assert "is there already" in mjgym_("export", ID, "--envhub", tmp_path, code=1).stderr
    assert (tmp_path / "env.py").read_text() == "mine"


@pytest.mark.slow
def test_lerobots_own_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lerobot", reason='needs pip install -e ".[lerobot]"')
    from lerobot.envs import factory, utils

    file = exported(tmp_path / "hub")
    monkeypatch.setattr(utils, "hf_hub_download", lambda **asked: str(file))
    made = factory.make_env("someone/lift", n_envs=2, trust_remote_code=True)
    envs = the_only(made)
    observation, _ = envs.reset(seed=[0, 1])
    found = utils.preprocess_observation(observation)
    assert found["observation.state"].shape == (2, 50)
    assert all("cube" in words.lower() for words in envs.call("task_description"))
    utils.close_envs(made)
