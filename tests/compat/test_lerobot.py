"""LeRobot, unmodified: its programs on our ids, through its own plug-in mechanism."""

import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from helpers.demonstrations import ID, PICTURES, random_demos

pytest.importorskip("lerobot", reason='needs pip install -e ".[lerobot]"')

import lerobot
import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from lerobot.envs.configs import EnvConfig
from lerobot.envs.factory import make_env
from lerobot.envs.utils import env_to_policy_features, preprocess_observation

from mjgym_compat import lerobot as adapter

EVERY = "eval_freq" if lerobot.__version__.startswith("0.4.") else "env_eval_freq"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
PLUGIN = ("--env.discover_packages_path=mjgym_compat.lerobot", "--env.type=mjgym")
TINY = {"dim_model": 16, "n_heads": 2, "dim_feedforward": 16, "n_encoder_layers": 1}
TINY |= {"use_vae": False, "chunk_size": 2, "n_action_steps": 2}


def program(name, *arguments, folder):
    script = Path(sys.executable).with_name(name)
    command = [str(script), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=900, cwd=folder
    )
    assert done.returncode == 0, done.stderr[-4000:]


class TestEnvironment:
    def test_what_lerobot_reads(self):
        env = gymnasium.make(adapter.ID, task=ID, arguments={"max_episode_steps": 3})
        assert (env.task, env._max_episode_steps) == (ID, 3)
        assert "cube" in env.task_description.lower()
        observation, info = env.reset(seed=1)
        assert {name: x.shape for name, x in observation.items()} == {
            "agent_pos": (50,),
            "environment_state": (10,),
        }
        assert info["is_success"] is False
        check_env(env, skip_render_check=True)

    def test_an_episode_ends_with_success(self):
        env = gymnasium.make(adapter.ID, task=ID, arguments={})
        env.reset(seed=1)
        plain = env.unwrapped
        qpos = plain.get_state()["qpos"]
        qpos[plain.model.joint("cube_joint0").qposadr[0] + 2] += 0.3  # m
        plain.set_state({"qpos": qpos})
        _, _, terminated, truncated, info = env.step(np.zeros(7))
        assert (info["is_success"], terminated, truncated) == (True, True, False)

    @pytest.mark.gl
    @pytest.mark.parametrize(
        ("kind", "cameras", "keys"),
        [
            ("pixels", (), {"pixels": (32, 40, 3)}),
            ("pixels_agent_pos", ("agentview",), {"agent_pos": (50,), "pixels": (32, 40, 3)}),
            (
                "pixels_agent_pos",
                PICTURES["camera"],
                {
                    "agent_pos": (50,),
                    "pixels": {"agentview": (32, 40, 3), "robot0_eye_in_hand": (32, 40, 3)},
                },
            ),
        ],
        ids=["pixels", "one camera", "two cameras"],
    )
    def test_pictures(self, kind, cameras, keys):
        def shapes(x):
            return {n: shapes(y) for n, y in x.items()} if isinstance(x, dict) else x.shape

        env = gymnasium.make(
            adapter.ID, task=ID, obs_type=kind, cameras=cameras, height=32, width=40, arguments={}
        )
        observation, _ = env.reset(seed=0)
        assert shapes(observation) == keys
        assert env.observation_space.contains(observation)

    def test_mistakes_are_named(self):
        with pytest.raises(ValueError, match=r"obs_type: 'pixel'.* did you mean pixels"):
            gymnasium.make(adapter.ID, task=ID, obs_type="pixel", arguments={})


class TestPlugin:
    def test_environments_of_a_configuration(self):
        config = EnvConfig.get_choice_class("mjgym")(task=ID, episode_length=5)
        assert config.fps == 20
        assert env_to_policy_features(config) == {
            "action": PolicyFeature(FeatureType.ACTION, (7,)),
            "observation.state": PolicyFeature(FeatureType.STATE, (50,)),
            "observation.environment_state": PolicyFeature(FeatureType.ENV, (10,)),
        }
        envs = make_env(config, n_envs=2)["mjgym"][0]
        observation, _ = envs.reset(seed=[3, 4])
        single = gymnasium.make(ID, observation="dict").reset(seed=4)[0]
        found = preprocess_observation(observation)
        cube = found["observation.environment_state"][1, :3].numpy()
        np.testing.assert_array_equal(cube, single["cube_pos"])
        assert all("cube" in words.lower() for words in envs.call("task_description"))
        assert envs.call("_max_episode_steps") == (5, 5)
        for _ in range(5):
            *_, info = envs.step(np.zeros((2, 7), np.float32))
        assert info["final_info"]["is_success"].tolist() == [False, False]
        envs.close()

    @pytest.mark.parametrize("observation", ["dict", "flat"])
    def test_its_features_are_those_of_a_dataset(self, tmp_path, observation):
        try:
            from lerobot.utils.feature_utils import dataset_to_policy_features
        except ImportError:  # before LeRobot 0.5
            from lerobot.datasets.utils import dataset_to_policy_features

        random_demos(f"lerobot:{tmp_path}/demos", episodes=1, observation=observation)
        found = LeRobotDataset("demos", root=tmp_path / "demos")
        config = EnvConfig.get_choice_class("mjgym")(task=ID)
        assert dataset_to_policy_features(found.features) == env_to_policy_features(config)
        assert found.features["observation.state"]["names"][0] == "robot0_joint_pos.0"
        assert len(found.features["action"]["names"]) == 7
        assert found.fps == config.fps
        frame = found[0]
        assert frame["task"] == gymnasium.make(adapter.ID, task=ID, arguments={}).task_description
        assert frame["action"].dtype == torch.float32


@pytest.mark.gl  # it films what it evaluates
class TestPrograms:
    def test_a_policy_that_does_nothing_is_evaluated(self, tmp_path):
        from lerobot.policies.act.configuration_act import ACTConfig
        from lerobot.policies.act.modeling_act import ACTPolicy
        from lerobot.policies.factory import make_pre_post_processors

        features = env_to_policy_features(EnvConfig.get_choice_class("mjgym")(task=ID))
        config = ACTConfig(
            input_features={key: x for key, x in features.items() if key != "action"},
            output_features={"action": features["action"]},
            normalization_mapping={},
            device="cpu",
            **TINY,
        )
        policy = ACTPolicy(config)
        for parameter in policy.parameters():
            torch.nn.init.zeros_(parameter)
        policy.save_pretrained(tmp_path / "nothing")
        for processor in make_pre_post_processors(config):
            processor.save_pretrained(tmp_path / "nothing")
        size = ("--env.observation_height=32", "--env.observation_width=32")
        program(
            "lerobot-eval",
            f"--policy.path={tmp_path / 'nothing'}",
            "--policy.device=cpu",
            *PLUGIN,
            f"--env.task={ID}",
            '--env.kwargs={"robot": "Sawyer"}',
            "--env.episode_length=3",
            *size,
            "--eval.n_episodes=2",
            "--eval.batch_size=2",
            f"--output_dir={tmp_path / 'out'}",
            folder=tmp_path,
        )
        found = json.loads((tmp_path / "out" / "eval_info.json").read_text())
        assert found["overall"]["pc_success"] == 0.0
        assert found["overall"]["n_episodes"] == 2
        rewards = found["per_task"][0]["metrics"]["sum_rewards"]
        for seed, total in enumerate(rewards, start=1000):  # its own seed
            env = gymnasium.make(ID, robot="Sawyer")
            env.reset(seed=seed)
            ours = sum(float(env.step(np.zeros(7))[1]) for _ in range(3))
            assert total == pytest.approx(ours, rel=1e-6)

    def test_act_is_trained_and_evaluated(self, tmp_path):
        random_demos(f"lerobot:{tmp_path}/demos", episodes=3, observation="dict")
        program(
            "lerobot-train",
            "--policy.type=act",
            "--policy.device=cpu",
            "--policy.push_to_hub=false",
            *(f"--policy.{name}={str(value).lower()}" for name, value in TINY.items()),
            "--dataset.repo_id=demos",
            f"--dataset.root={tmp_path / 'demos'}",
            "--steps=2",
            f"--{EVERY}=2",
            "--save_freq=2",
            "--batch_size=2",
            "--num_workers=0",
            "--eval.n_episodes=1",
            "--eval.batch_size=1",
            *PLUGIN,
            f"--env.task={ID}",
            "--env.episode_length=2",
            "--env.observation_height=32",
            "--env.observation_width=32",
            f"--output_dir={tmp_path / 'run'}",
            "--wandb.enable=false",
            folder=tmp_path,
        )
        assert (tmp_path / "run" / "checkpoints" / "000002" / "pretrained_model").is_dir()
        assert list((tmp_path / "run" / "eval").rglob("*.mp4"))
