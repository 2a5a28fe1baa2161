"""robomimic, unmodified: it reads our files, and trains and rolls out in our environments."""

import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from helpers.demonstrations import ID, PICTURES, random_demos

pytest.importorskip("robomimic", reason="needs robomimic and PyTorch")

from robomimic.algo import RolloutPolicy, algo_factory
from robomimic.config import config_factory
from robomimic.utils import env_utils, file_utils, obs_utils, train_utils
from robomimic.utils.dataset import SequenceDataset

from mjgym_compat import robomimic as adapter

RECORDED = Path(__file__).parents[1] / "data" / "robosuite" / "demonstration.hdf5"
KEYS = ("robot0_eef_pos", "robot0_eef_quat", "robot0_gripper_qpos", "object")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "demos.hdf5"
    random_demos(path, episodes=4, observation="dict")
    return str(path)


@pytest.fixture
def known_keys():
    obs_utils.initialize_obs_utils_with_obs_specs({"obs": {"low_dim": KEYS, "rgb": []}})


def env(**kwargs):
    return adapter.Env(ID, observation="dict", **kwargs)


class TestFiles:
    def test_it_reads_ours(self, file, known_keys):
        meta = file_utils.get_env_metadata_from_dataset(file)
        assert (meta["env_name"], meta["type"]) == (ID, 2)
        shapes = file_utils.get_shape_metadata_from_dataset(file, KEYS)
        assert shapes["all_shapes"]["object"] == [10]
        assert shapes["ac_dim"] == 7
        lengths = {}
        for part in ("train", "valid", None):
            found = SequenceDataset(
                hdf5_path=file,
                obs_keys=KEYS,
                dataset_keys=("actions", "rewards", "dones"),
                load_next_obs=True,
                frame_stack=1,
                seq_length=3,
                hdf5_cache_mode="all",
                filter_by_attribute=part,
            )
            lengths[part] = len(found)
        assert lengths[None] == 4 + 5 + 6 + 7
        assert lengths["train"] + lengths["valid"] == lengths[None]
        first = found[0]
        assert first["obs"]["object"].shape == (3, 10)
        np.testing.assert_array_equal(first["next_obs"]["object"][:-1], first["obs"]["object"][1:])
        assert found[3]["dones"].ravel().tolist() == [1, 1, 1]  # the last, and its padding

    def test_it_makes_train_and_valid_of_its_own(self, file):
        done = run("split_train_val", "--dataset", file, "--ratio", "0.5")
        assert "2 validation demonstrations" in done.replace("out of 4 ", "")


class TestEnv:
    def test_episodes_go_on_from_a_state(self):
        one, other = env(), env()
        one.reset()
        for _ in range(3):
            one.step(one.env.action_space.sample())
        state = one.get_state()
        seen = other.reset_to(state)
        for key, value in one.get_observation().items():
            np.testing.assert_array_equal(seen[key], value)
        action = one.env.action_space.sample()
        (first, reward, done, _), (second, again, *_) = one.step(action), other.step(action)
        assert (reward, done) == (again, False)
        assert other.get_reward() == reward
        for key, value in first.items():
            np.testing.assert_array_equal(second[key], value)
        assert state["states"].shape == (1 + 16 + 15,)

    def test_time_and_positions_alone_with_their_model_are_enough(self):
        one, other = env(), env()
        one.reset()
        state = one.get_state()
        seen = other.reset_to({"model": state["model"], "states": state["states"]})
        np.testing.assert_allclose(seen["object"], one.get_observation()["object"], atol=1e-6)
        sizes = [e.get_state()["mjgym"]["geom_size"] for e in (one, other)]
        np.testing.assert_allclose(*sizes, atol=1e-6)

    def test_success_is_that_of_the_state(self):
        made = env()
        made.reset()
        assert made.is_success() == {"task": False}
        state = made.get_state()
        cube = made.env.unwrapped.model.joint("cube_joint0").qposadr[0]
        state["states"][1 + cube + 2] += 0.3  # m
        made.reset_to({"states": state["states"]})
        assert made.is_success() == {"task": True}
        assert not made.is_done()
        assert made.reset_to({}) is None

    def test_it_is_made_anew_from_what_it_says_of_itself(self, file):
        adapter.install()
        meta = file_utils.get_env_metadata_from_dataset(file)
        made = env_utils.create_env_from_metadata(meta)
        assert isinstance(made, adapter.Env)
        again = env_utils.create_env_from_metadata(json.loads(json.dumps(made.serialize())))
        assert again.env.unwrapped.task == made.env.unwrapped.task
        assert (again.name, again.action_dimension) == ("robosuite-Lift-v0", 7)
        assert set(again.reset()) >= set(KEYS)
        with pytest.raises(NotImplementedError):
            made.get_goal()

    def test_arguments_of_robosuite(self):
        import h5py

        adapter.install()
        kwargs = {"robots": ["Panda"], "use_camera_obs": False, "control_freq": 20}
        meta = {"env_name": "Lift", "type": 1, "env_kwargs": kwargs}
        made = env_utils.create_env_from_metadata(meta)
        assert isinstance(made, adapter.RobosuiteEnv)
        assert isinstance(adapter.make(meta), adapter.RobosuiteEnv)
        made.reset()
        with h5py.File(RECORDED) as recorded:
            demo = recorded["data/demo_1"]
            model, states = demo.attrs["model_file"], demo["states"][:]
        seen = made.reset_to({"model": model, "states": states[-1]})
        assert made.is_success()["task"]
        assert seen["object"][2] > 0.85  # m: the cube's height
        np.testing.assert_allclose(made.get_state()["states"], states[-1], atol=1e-12)

    @pytest.mark.gl
    def test_pictures(self, tmp_path):
        path = tmp_path / "pictures.hdf5"
        drawing = {"pixels": PICTURES, "render_quality": "fast"}
        random_demos(path, episodes=2, observation="dict+pixels", **drawing)
        keys = ["agentview_image", "robot0_eye_in_hand_image"]
        specs = {"obs": {"low_dim": ["object"], "rgb": keys}}
        obs_utils.initialize_obs_utils_with_obs_specs(specs)
        shapes = file_utils.get_shape_metadata_from_dataset(str(path), [*keys, "object"])
        assert shapes["all_shapes"]["agentview_image"] == [3, 32, 40]
        made = adapter.make(file_utils.get_env_metadata_from_dataset(str(path)))
        seen = made.reset()
        assert seen["agentview_image"].shape == (3, 32, 40)
        assert 0 < seen["agentview_image"].mean() < 1
        picture = made.render("rgb_array", height=20, width=30, camera_name="frontview")
        assert (picture.shape, picture.dtype) == ((20, 30, 3), np.uint8)
        robosuite = adapter.RobosuiteEnv(
            "Lift",
            use_image_obs=True,
            robots="Panda",
            camera_names=["agentview"],
            camera_heights=24,
        )
        assert robosuite.reset()["agentview_image"].shape == (3, 24, 84)


def test_a_policy_of_its_own_rolls_out(known_keys):
    """One whose weights are as they began."""
    config = config_factory("bc")
    with config.values_unlocked():
        config.observation.modalities.obs.low_dim = list(KEYS)
    made = env()
    seen = made.reset()
    shapes = {key: list(seen[key].shape) for key in KEYS}
    policy = algo_factory("bc", config, obs_key_shapes=shapes, ac_dim=7, device="cpu")
    found = train_utils.run_rollout(RolloutPolicy(policy), made, horizon=5)
    assert found["Horizon"] == 5
    assert found["Success_Rate"] == 0.0
    stats, _ = train_utils.rollout_with_stats(
        RolloutPolicy(policy), {"lift": made}, horizon=3, num_episodes=2
    )
    assert stats["lift"]["Horizon"] == 3.0


def run(*arguments):
    command = [sys.executable, "-m", "mjgym_compat.robomimic", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_its_scripts_run_here(file, tmp_path):
    """Training with rollouts, its agent again, observations of recorded states."""
    config = {
        "algo_name": "bc",
        "experiment": {
            "name": "tiny",
            "save": {"enabled": True, "every_n_epochs": 1},
            "epoch_every_n_steps": 2,
            "rollout": {"enabled": True, "n": 1, "horizon": 3, "rate": 1, "warmstart": 0},
            "render_video": False,
        },
        "train": {
            "data": file,
            "output_dir": str(tmp_path / "runs"),
            "num_data_workers": 0,
            "hdf5_filter_key": "train",
            "num_epochs": 1,
            "batch_size": 4,
            "cuda": False,
        },
        "observation": {"modalities": {"obs": {"low_dim": KEYS}}},
    }
    (tmp_path / "bc.json").write_text(json.dumps(config))
    said = run("train", "--config", str(tmp_path / "bc.json"))
    assert "finished run successfully" in said
    (agent,) = (tmp_path / "runs").rglob("*.pth")
    out = str(tmp_path / "rollouts.hdf5")
    rollout = ("--n_rollouts", "1", "--horizon", "3", "--seed", "0", "--dataset_path", out)
    said = run("run_trained_agent", "--agent", str(agent), *rollout, "--dataset_obs")
    assert '"Success_Rate": 0.0' in said
    assert file_utils.get_env_metadata_from_dataset(out)["env_name"] == ID
    said = run("dataset_states_to_obs", "--dataset", file, "--output_name", "o.hdf5", "--n", "2")
    assert "Wrote 2 trajectories" in said


def test_an_id_without_robots(known_keys):
    made = adapter.Env("dmc/walker-walk-v0")
    seen = made.reset()
    assert {key: value.shape for key, value in seen.items()} == {"flat": (24,)}
    assert made.is_success() == {"task": False}
    assert gymnasium.spec("dmc/walker-walk-v0").max_episode_steps == 1000
    assert made.env.spec.max_episode_steps is None
