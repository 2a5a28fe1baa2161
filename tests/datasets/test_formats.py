"""The formats of datasets: what is written comes back, and goes from one to another; bad files."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.demonstrations import ID, PICTURES, random_demos
from helpers.lanes import mostly_nightly
from helpers.rollouts import equal
from mjgym import datasets
from mjgym.cli.app import app
from mjgym.datasets import DemonstrationError, Episode, Recording, journaled

ONE_MORE = '<worldbody><body><joint name="x"/><geom size="1" mass="1"/></body>'
RECORDED = Path(__file__).parents[1] / "data" / "robosuite" / "demonstration.hdf5"
# Minari's warnings of what a dataset lacks.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

needs_h5py = pytest.mark.skipif(
    find_spec("h5py") is None,
    reason='needs pip install -e ".[robomimic]"',
)


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=["demos-v0", "demos.hdf5", "lerobot:./demos"])
def name(request):
    """A dataset's name in each format whose package is installed."""
    needed = {"d": "minari", "l": "lerobot"}[request.param[0]]
    needed = "h5py" if request.param.endswith("hdf5") else needed
    pytest.importorskip(needed, reason=f"needs the package {needed}")
    return request.param


def files(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def run(*arguments):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    return done.exit_code, " ".join(done.output.split())


# What is written comes back.

FAST = {"render_quality": "fast"}


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        pytest.param(
            {"observation": "dict", "dtype": "float64", "robot": "Sawyer"}, marks=pytest.mark.slow
        ),
        pytest.param(
            {"observation": "dict+pixels", "pixels": PICTURES, **FAST},
            marks=pytest.mark.gl,
            id="pictures",
        ),
        pytest.param(
            {"observation": "flat+pixels", "pixels": {"width": 32, "height": 32}, **FAST},
            marks=pytest.mark.gl,
            id="one picture",
        ),
    ],
    ids=str,
)
def test_episodes_come_back_bit_for_bit(name, kwargs):
    seen = random_demos(name, **kwargs)
    found = datasets.load(name)
    assert (found.count, found.note) == (3, "")
    assert found.about.id == ID
    assert found.about.algorithm == "random"
    assert "random actions" in found.about.description
    assert found.about.version
    assert found.about.kwargs["max_episode_steps"] == 12
    env = found.environment()
    assert env.unwrapped.task == gymnasium.make(ID, **kwargs).unwrapped.task
    for seed, rows in enumerate(seen):
        episode = found.episode(seed)
        assert (len(episode), episode.seed) == (4 + seed, seed)
        for t, (observation, action, reward) in enumerate(rows):
            assert equal(episode.observation(t), observation)
            if action is not None:
                assert equal(episode.actions[t - 1], action)
                assert episode.rewards[t - 1] == reward
        assert episode.truncations.tolist() == [False] * (3 + seed) + [True]
        assert not episode.terminations.any()
        assert episode.successes.dtype == bool
        assert episode.states["qpos"].shape == (5 + seed, env.unwrapped.model.nq)
        assert episode.states["geom_size"].shape[0] == 1  # it never changes
        replayed = episode.check(env)
        assert (replayed.steps, replayed.touched, replayed.differs) == (4 + seed, 0, None)


def test_nothing_is_overwritten(name):
    random_demos(name, episodes=1)
    env = gymnasium.make(ID)
    with pytest.raises(DemonstrationError, match=r"there is a (dataset|file|folder)"):
        datasets.create(name, env)
    assert datasets.load(name).count == 1


def test_nothing_is_there_before_the_first_episode(name, tmp_path):
    writer = datasets.create(name, gymnasium.make(ID))
    writer.close()
    assert list(tmp_path.rglob("*.*")) == []
    with pytest.raises(DemonstrationError):
        datasets.load(name)


@pytest.mark.slow
def test_an_interruption_leaves_whole_episodes(name):
    """Ctrl-C in the middle of writing the second episode."""
    random_demos("source.hdf5", episodes=2)
    source = datasets.load("source.hdf5")
    writer = datasets.create(name, source.environment())
    first, second = source.episode(0), source.episode(1)
    writer.add(first)
    fields = {**vars(second), "actions": _Broken(second.actions)}
    with pytest.raises(KeyboardInterrupt):
        writer.add(Episode(**fields))
    writer.close()
    found = datasets.load(name)
    assert found.count == 1
    assert found.episode(0).check(found.environment()).differs is None


class _Broken:
    """Actions in whose middle somebody presses Ctrl-C."""

    def __init__(self, actions):
        self._actions = actions
        self.dtype, self.shape = actions.dtype, actions.shape

    def __len__(self):
        return len(self._actions)

    def __iter__(self):
        yield self._actions[0]
        raise KeyboardInterrupt

    def __getitem__(self, index):
        raise KeyboardInterrupt

    def __array__(self, *args, **kwargs):
        raise KeyboardInterrupt


def test_a_replayed_step_that_differs_is_found(name):
    random_demos(name, episodes=1)
    found = datasets.load(name)
    episode = found.episode(0)
    episode.rewards[3] += 1e-15
    assert episode.check(found.environment()).differs == 3
    episode.actions[2, 0] += 0.1
    assert episode.check(found.environment()).differs == 2
    assert run("replay", name, "--check") == (0, "episode 0: 4 steps, bit for bit")


def test_a_recording_is_whole_steps():
    recording = Recording(np.zeros(2), seed=7)
    with pytest.raises(ValueError, match="at least one step"):
        recording.episode({})
    for t in range(3):
        state = {"qpos": np.array([float(t)]), "size": np.ones(2)}
        recording.add(state, np.zeros(1), np.full(2, t + 1.0), float(t), False, False, t == 2)
    episode = recording.episode({"qpos": np.array([3.0]), "size": np.ones(2)})
    assert (len(recording), len(episode), episode.seed) == (3, 3, 7)
    assert episode.observations.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert episode.states["qpos"].tolist() == [[0], [1], [2], [3]]
    assert episode.states["size"].shape == (1, 2)
    assert episode.successes.tolist() == [False, False, True]
    assert episode.truncations.tolist() == [False, False, True]
    assert episode.state(3)["size"].tolist() == [1, 1]


# From one format to another.


@pytest.mark.slow
def test_a_dataset_goes_round_all_formats(name):
    random_demos("start.hdf5", observation="dict")
    first = datasets.load("start.hdf5")
    code, said = run("convert", "start.hdf5", "lerobot:./x" if "hdf5" in name else name)
    if "hdf5" in name:
        pytest.importorskip("lerobot", reason="needs the package lerobot")
        name = "lerobot:./x"
    assert code == 0
    place = name.removeprefix("lerobot:./")
    assert re.fullmatch(rf"3 episodes in /.*{place}; play them again: mjgym replay {name}", said)
    assert run("convert", name, "end.hdf5")[0] == 0
    last = datasets.load("end.hdf5")
    assert last.about.kwargs == first.about.kwargs
    assert last.about.algorithm == "random"
    for number in range(3):
        one, other = first.episode(number), last.episode(number)
        assert equal(one.observations, other.observations)
        assert equal(dict(sorted(one.states.items())), dict(sorted(other.states.items())))
        for field in ("actions", "rewards", "terminations", "truncations", "successes"):
            assert equal(getattr(one, field), getattr(other, field))
        assert one.seed == other.seed
    assert run("replay", "end.hdf5", "--check")[0] == 0
    code, said = run("convert", name, "end.hdf5")
    assert code == 1
    assert "there is a file 'end.hdf5'" in said


@pytest.mark.slow
@needs_h5py
def test_an_episode_that_does_not_fit_itself_is_not_written(name):
    env = gymnasium.make(ID)
    random_demos("good.hdf5", episodes=1)
    episode, writer = datasets.load("good.hdf5").episode(0), datasets.create(name, env)
    writer.add(episode)
    for bad in ({"actions": episode.actions[:-1]}, {"rewards": episode.rewards * np.nan}):
        with pytest.raises(DemonstrationError, match=r"rewards|actions"):
            writer.add(dataclasses.replace(episode, **bad))
    writer.close()
    if name.endswith("hdf5"):
        with pytest.raises(DemonstrationError, match="is closed"):
            writer.add(episode)
    assert datasets.load(name).count == 1


@needs_h5py
def test_a_folder_that_takes_no_files_is_refused_before_anything_is_recorded(monkeypatch):
    monkeypatch.setattr("os.access", lambda place, mode: False)  # which root may always
    with pytest.raises(DemonstrationError, match="no file can be written there"):
        datasets.create("x.hdf5", gymnasium.make("dmc/pendulum-swingup-v0"))


@needs_h5py
def test_a_dataset_of_minari_in_a_namespace():
    pytest.importorskip("minari", reason="needs the package minari")
    for name in ("mine/first-v0", "mine/more/second-v0"):
        random_demos(name, episodes=1)
        assert len(datasets.load(name).episode(0)) > 0
    import minari

    assert {"mine/first-v0", "mine/more/second-v0"} <= set(minari.list_local_datasets())


def test_a_first_episode_that_cannot_be_written_leaves_nothing(name, tmp_path, monkeypatch):
    env = gymnasium.make(ID)
    writer = datasets.create(name, env)
    recording = datasets.record(env, "other.hdf5")
    recording.reset(seed=0)
    recording.step(env.action_space.sample())
    recording.keep()
    recording.close()
    episode = datasets.load("other.hdf5").episode(0)
    before = files(tmp_path)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", "a place")

    with monkeypatch.context() as patch:
        for maker in ("os.mkdir", "os.open", "json.dump", "json.dumps"):
            patch.setattr(maker, refuse)
        with pytest.raises((DemonstrationError, PermissionError)):
            writer.add(episode)
    writer.close()
    assert files(tmp_path) == before


def test_a_name_without_version_or_suffix_is_no_dataset():
    env = gymnasium.make("dmc/pendulum-swingup-v0")
    for call in (datasets.load, lambda name: datasets.create(name, env)):
        with pytest.raises(DemonstrationError, match=r"'lift' is neither .*lift\.hdf5.*lift-v0"):
            call("lift")


def test_what_is_no_environment_to_record_is_refused(tmp_path):
    batch = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=2)
    for env, kind in ((batch, "batch"), (3, "int")):
        with pytest.raises(TypeError, match=f"env: expected a single environment .*, not a {kind}"):
            datasets.create("demos.hdf5", env)
    with pytest.raises(TypeError, match="no environment of mjgym"):
        datasets.record(gymnasium.make("CartPole-v1"), "demos.hdf5")
    assert not files(tmp_path)


OTHERS = {
    "actions": ({"controller": "JOINT_POSITION"}, r"actions: expected .*\(7,\), got .*\(8,\)"),
    "entries": ({"observation": "flat"}, r"observations: expected none, got the shape \(\d+,\)"),
    "sizes": ({"robot": "UR5e"}, r"actions|robot0_joint_pos: expected .*\(7,\), got .*\(6,\)"),
    "states": ({"vary": {"body_mass[cube_main]": 1.0}}, r"no entry 'rng\.variation'"),
    "id": ({"id": "robosuite/Door-v0"}, r"not of robosuite/Lift-v0"),
}


@needs_h5py
@pytest.mark.parametrize(
    ("kwargs", "message"), mostly_nightly(OTHERS.values(), quick=6), ids=OTHERS
)
def test_an_episode_of_another_environment_is_not_written(name, kwargs, message, tmp_path):
    """Neither as the first one nor later, when a format would hold rows of two widths."""
    random_demos("other.hdf5", episodes=1, **{"observation": "dict", **kwargs})
    random_demos("good.hdf5", episodes=1, observation="dict")
    other, good = (datasets.load(f"{n}.hdf5").episode(0) for n in ("other", "good"))
    before = files(tmp_path)
    writer = datasets.create(name, gymnasium.make(ID, observation="dict"))
    with pytest.raises(DemonstrationError, match=message):
        writer.add(other)
    assert files(tmp_path) == before
    writer.add(good)
    with pytest.raises(DemonstrationError, match=message):
        writer.add(other)
    writer.close()
    assert datasets.load(name).count == 1


# Files that are not whole, or not ours.


@needs_h5py
class TestBadFiles:
    @pytest.mark.weekly
    def test_what_is_whole_of_a_file_that_is_cut_off(self, tmp_path):
        random_demos("whole.hdf5", episodes=12)
        content = Path("whole.hdf5").read_bytes()
        whole = datasets.load("whole.hdf5")
        counts = []
        for share in (0.3, 0.5, 0.8, 0.98):
            Path("cut.hdf5").write_bytes(content[: int(share * len(content))])
            found = datasets.load("cut.hdf5")
            counts.append(found.count)
            assert (
                found.note == f"'cut.hdf5' has been cut off: {found.count} whole episodes are left"
            )
            for number in range(found.count):
                one, other = whole.episode(number), found.episode(number)
                assert equal(one.observations, other.observations)
                assert equal(dict(one.states), dict(other.states))
                assert equal(one.rewards, other.rewards)
        assert counts == sorted(counts)
        assert 1 <= counts[1] < 12
        code, said = run("convert", "cut.hdf5", "rescued.hdf5")
        assert code == 1
        assert "has been cut off" in said
        assert datasets.load("rescued.hdf5").count == counts[-1]

    @pytest.mark.slow
    def test_an_episode_that_was_being_written_is_left_out(self):
        import h5py

        random_demos("demos.hdf5")
        with h5py.File("demos.hdf5", "r+") as file:
            del file["data/demo_1"].attrs["num_samples"]
            del file["data/demo_1/obs"]
            file["data/demo_2"].attrs["num_samples"] = 99
        found = datasets.load("demos.hdf5")
        with pytest.raises(DemonstrationError, match="demo_1 is damaged"):
            found.episode(1)
        assert found.count == 2  # the third says that it is longer than it is

    @pytest.mark.slow
    def test_damaged_episodes_are_counted_and_named(self):
        import h5py

        random_demos("demos.hdf5", episodes=6)
        with h5py.File("demos.hdf5", "r+") as file:
            for k in (0, 1, 3, 5):
                del file[f"data/demo_{k}/actions"]
            file.create_group("data/demo_1/actions")
            file["data/demo_2"].attrs["num_samples"] = 7
            file["data/demo_3/actions"] = [[0.0] * 7] * 0
        found = datasets.load("demos.hdf5")
        assert found.count == 1
        assert "'demos.hdf5': 5 of 6 episodes are damaged and left out: demo_0: " in found.note
        assert "demo_1: its actions are a group, no array" in found.note
        assert "demo_2: num_samples is 7, the number of its actions 6; and 2 more" in found.note
        for command in (("convert", "demos.hdf5", "rescued.hdf5"), ("replay", "demos.hdf5")):
            code, said = run(*command, *["--check"] * (command[0] == "replay"))
            assert code == 1
            assert "5 of 6 episodes are damaged" in said
        assert datasets.load("rescued.hdf5").count == 1

    @pytest.mark.parametrize(
        ("spoil", "message"),
        mostly_nightly(
            [
                (lambda data: data.attrs.update(mjgym="{}"), "none of this version's: KeyError"),
                (lambda data: data.attrs.update(mjgym="not JSON"), "none of this version's"),
                (lambda data: data.attrs.__delitem__("mjgym"), "no task of robosuite's"),
            ],
            quick=3,
        ),
        ids=["empty", "no JSON", "of robomimic"],
    )
    def test_other_versions_are_a_sentence(self, spoil, message):
        import h5py

        random_demos("demos.hdf5", episodes=1)
        with h5py.File("demos.hdf5", "r+") as file:
            spoil(file["data"])
        with pytest.raises(DemonstrationError, match=message):
            datasets.load("demos.hdf5")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"id": "robosuite/Lift-v9"}, "of 'robosuite/Lift-v9'; there is robosuite/Lift-v0 now"),
            ({"kwargs": {"task_class": "mjgym.tasks.robosuite.lift:Lift", "robott": 1}}, "robot"),
        ],
        ids=["version", "argument"],
    )
    def test_an_environment_that_is_no_more_is_a_sentence(self, change, message):
        import h5py

        random_demos("demos.hdf5", episodes=1)
        with h5py.File("demos.hdf5", "r+") as file:
            facts = json.loads(file["data"].attrs["mjgym"])
            facts["spec"] |= change
            file["data"].attrs["mjgym"] = json.dumps(facts)
        code, said = run("replay", "demos.hdf5", "--check")
        assert code == 1
        assert message in said

    def test_without_states_nothing_is_replayed(self):
        random_demos("demos.hdf5", episodes=1)
        found = datasets.load("demos.hdf5")
        bare = Episode(**{**vars(found.episode(0)), "states": {}})
        writer = datasets.create("bare.hdf5", found.environment())
        writer.add(bare)
        writer.close()
        code, said = run("replay", "bare.hdf5", "--check")
        assert code == 1
        assert "has no states" in said

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("demo.hdf5", "did you mean demos.hdf5"),
            ("text.hdf5", "is no HDF5 file"),
            ("empty.hdf5", 'no group "data"'),
        ],
    )
    def test_files_that_are_none(self, name, message):
        import h5py

        Path("text.hdf5").write_text("no HDF5")
        h5py.File("empty.hdf5", "w").close()
        random_demos("demos.hdf5", episodes=1)
        with pytest.raises(DemonstrationError, match=message):
            datasets.load(name)

    def test_arguments_that_json_cannot_hold_are_a_sentence(self):
        env = gymnasium.make(ID)
        env.spec.kwargs["placement"] = object()
        with pytest.raises(DemonstrationError, match="cannot be written"):
            datasets.create("demos.hdf5", env)


# Demonstrations of robosuite: recorded with its version 1.5.2, of whose model are left the names of
# joints and the cube's size.


@needs_h5py
class TestRobosuite:
    def test_actions_play_from_their_recorded_states(self):
        import h5py

        found = datasets.load(str(RECORDED))
        assert (found.count, found.about.id) == (1, ID)
        assert found.about.description == "Lift of robosuite 1.5.2"
        episode, env = found.episode(0), found.environment()
        with h5py.File(RECORDED) as file:
            demo = file["data/demo_1"]
            np.testing.assert_array_equal(episode.actions, demo["actions"])
            np.testing.assert_array_equal(episode.states["time"][:-1], demo["states"][:, 0])
            np.testing.assert_array_equal(episode.states["qpos"][:-1], demo["states"][:, 1:17])
            np.testing.assert_array_equal(episode.states["qvel"][:-1], demo["states"][:, 17:])
            np.testing.assert_allclose(episode.rewards, demo["recorded_rewards"], atol=2e-3)
        cube = env.unwrapped.model.geom("cube_g0").id
        size = episode.states["geom_size"][0][cube]
        np.testing.assert_allclose(size, [0.0200215, 0.0208706, 0.0211622])
        assert episode.successes[-1]
        assert not episode.successes[0]
        assert episode.check(env).differs is None

    @pytest.mark.weekly
    def test_they_become_ours(self):
        assert run("convert", RECORDED, "ours.hdf5")[0] == 0
        code, said = run("replay", "ours.hdf5", "--check")
        assert code == 0
        assert said.startswith("episode 0: 45 steps, bit for bit, ")
        ours = datasets.load("ours.hdf5")
        assert ours.environment().unwrapped.task.robot == "Panda"
        assert equal(ours.episode(0).rewards, datasets.load(str(RECORDED)).episode(0).rewards)

    @pytest.mark.slow
    def test_as_robomimic_has_them_with_words_of_older_versions(self):
        import h5py

        shutil.copy(RECORDED, "old.hdf5")
        law = {
            "type": "OSC_POSE",
            "input_max": 1,
            "input_min": -1,
            "output_max": [0.05, 0.05, 0.05, 0.5, 0.5, 0.5],
            "output_min": [-0.05, -0.05, -0.05, -0.5, -0.5, -0.5],
            "kp": 150,
            "damping": 1,
            "impedance_mode": "fixed",
            "kp_limits": [0, 300],
            "damping_limits": [0, 10],
            "position_limits": None,
            "orientation_limits": None,
            "uncouple_pos_ori": True,
            "control_delta": True,
            "interpolation": None,
            "ramp_ratio": 0.2,
        }
        args = {
            "env_name": "Lift",
            "type": 1,
            "env_kwargs": {
                "robots": ["Panda"],
                "controller_configs": law,
                "reward_shaping": True,
                "has_renderer": False,
                "has_offscreen_renderer": False,
                "ignore_done": True,
                "use_object_obs": True,
                "use_camera_obs": False,
                "control_freq": 20,
                "camera_depths": False,
                "camera_heights": 84,
                "camera_widths": 84,
            },
        }
        with h5py.File("old.hdf5", "r+") as file:
            data = file["data"]
            del data.attrs["env"], data.attrs["env_info"]
            data.attrs["env_args"] = json.dumps(args)
            xml = data["demo_1"].attrs["model_file"]
            data["demo_1"].attrs["model_file"] = xml.replace("gripper0_right_", "gripper0_")
            data["demo_1"].attrs["num_samples"] = 45
        old, new = datasets.load("old.hdf5"), datasets.load(str(RECORDED))
        usual = {"observation": "dict", "max_episode_steps": -1}
        assert old.about.kwargs == new.about.kwargs == usual
        assert equal(old.episode(0).rewards, new.episode(0).rewards)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"env_name": "Lifd"}, "'Lifd' is no task here; did you mean Lift"),
            ({"env_name": "Lift", "robots": "SpotArm"}, "Lift as it is recorded is not here"),
        ],
        ids=["task", "robot"],
    )
    def test_what_is_not_here_is_a_sentence(self, change, message):
        import h5py

        shutil.copy(RECORDED, "other.hdf5")
        with h5py.File("other.hdf5", "r+") as file:
            file["data"].attrs["env_info"] = json.dumps({"robots": "Panda", **change})
        with pytest.raises(DemonstrationError, match=message):
            datasets.load("other.hdf5")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                ("cube_joint0", "ball_joint0"),
                "with a joint 'ball_joint0'; did you mean cube_joint0",
            ),
            (("<mujoco>", "<mujoco"), "is no model"),
            (("<worldbody>", ONE_MORE), r"have 32 numbers, its model 1 \+ 17"),
        ],
        ids=["joint", "XML", "size"],
    )
    def test_states_that_do_not_fit_are_a_sentence(self, change, message):
        import h5py

        shutil.copy(RECORDED, "other.hdf5")
        with h5py.File("other.hdf5", "r+") as file:
            demo = file["data/demo_1"]
            demo.attrs["model_file"] = demo.attrs["model_file"].replace(*change)
        with pytest.raises(DemonstrationError, match=message):
            datasets.load("other.hdf5").episode(0)


@pytest.mark.slow
@needs_h5py
def test_a_file_that_another_process_holds_is_waited_for_and_whole_afterwards(monkeypatch):
    monkeypatch.setattr(journaled, "PATIENCE", 0.3)
    env = datasets.record(gymnasium.make(ID), "held.hdf5")

    def record(seed):
        env.reset(seed=seed)
        for _ in range(3):
            env.step(env.action_space.sample())
        env.keep()

    record(0)
    code = (
        "import h5py, sys; held = h5py.File('held.hdf5', 'r+'); print(1, flush=True);"
        "sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    holder.stdout.readline()
    with pytest.raises(DemonstrationError, match="another process"):
        datasets.load("held.hdf5")
    with pytest.raises(DemonstrationError, match="another process"):
        record(1)
    holder.communicate(timeout=30)
    env.close()
    found = datasets.load("held.hdf5")
    assert len(found.episode(0)) == 3
