"""`mjgym record`: what it writes, and what it refuses; a few times as the whole program."""

import importlib.util
import os
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from helpers.commands import SCRIPT, called, mjgym_, refused_call
from helpers.lanes import lane, mostly_nightly
from helpers.small_process import run_on_full_disk
from mjgym.cli import policy_option, record
from mjgym.cli.app import app
from mjgym.rendering import film

pytestmark = pytest.mark.slow

SMALL = ("--width", "48", "--height", "32", "--quality", "fast")
FFMPEG = importlib.util.find_spec("imageio_ffmpeg") is not None
needs_ffmpeg = pytest.mark.skipif(not FFMPEG, reason='mp4 needs pip install -e ".[video]"')
gl = pytest.mark.gl

POLICY = '''
"""Policies of somebody's own."""

import numpy as np

number = 3


class Agent:
    def act(self, observation):
        return np.full(observation.shape[:-1] + (1,), 0.5)


agent = Agent()


def fails(observation):
    raise RuntimeError("out of ideas")


def wide(observation):
    return np.zeros(7)


def nan(observation):
    return np.full(1, np.nan)
'''


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A file with policies."""
    file = tmp_path_factory.mktemp("own") / "own_policies.py"
    file.write_text(POLICY)
    return str(file)


def animation(path):
    """The frames of a GIF or WebP that repeats, and how long each is shown, in ms."""
    with Image.open(path) as image:
        assert image.info.get("loop") == 0
        frames, times = [], []
        for i in range(image.n_frames):
            image.seek(i)
            frames.append(np.asarray(image.convert("RGB")))
            times.append(image.info["duration"])
    return np.stack(frames), times


def mp4(path):
    """The frames of an MP4, and what ffmpeg says about it."""
    import imageio_ffmpeg  # imageio's own reader leaves pipes open

    read = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24"]
    done = subprocess.run([*read, "-fps_mode", "passthrough", "-"], capture_output=True, check=True)
    about = done.stderr.decode()
    width, height = map(int, re.search(r"Video: h264.*?, (\d+)x(\d+)", about).groups())
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3), about


def camera(id, steps, seed=0, action=0.0):
    """A picture after some steps of an action of one number throughout."""
    env = gymnasium.make(id, width=48, height=32, render_quality="fast")
    env.reset(seed=seed)
    for _ in range(steps):
        env.step(np.full(env.action_space.shape, action))
    picture = env.unwrapped.camera()
    env.close()
    return picture


@lane(0, 5)
@gl
def test_a_scripted_policy_ends_soon_after_success(tmp_path):
    out = tmp_path / "lift.gif"
    env = gymnasium.make("robosuite/Lift-v0")
    limit, second = env.spec.max_episode_steps, round(1 / env.unwrapped.control_timestep)
    env.close()
    called("record", "robosuite/Lift-v0", "--policy", "scripted", "--out", str(out), *SMALL)
    frames, _ = animation(out)
    assert second < len(frames) < limit / 2


@gl
class TestMp4:
    @pytest.mark.weekly
    @needs_ffmpeg
    def test_frames_rate_and_size(self, tmp_path):
        out = tmp_path / "walker.mp4"
        done = mjgym_("record", "walker-walk", "--out", str(out), "--steps", "20", *SMALL)
        frames, about = mp4(out)
        assert " 40 fps" in about  # a control step is 0.025 s
        assert "yuv420p" in about
        assert frames.shape == (21, 32, 48, 3)
        assert frames.std() > 10
        assert np.abs(frames[0].astype(int) - frames[-1]).mean() > 1
        assert "21, 40 per second" in done.stdout
        assert [file.name for file in tmp_path.iterdir()] == ["walker.mp4"]

    @needs_ffmpeg
    @pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
    @pytest.mark.parametrize("ending", mostly_nightly(["mp4", "gif"], 2))
    def test_a_full_disk_leaves_nothing_behind(self, tmp_path, ending):
        out = tmp_path / f"x.{ending}"
        words = ("record", "reacher-hard", "--out", str(out), "--steps", "40")
        done = run_on_full_disk(str(SCRIPT), *words, size=4000)
        assert done.returncode == 1
        assert "nothing is written: " in done.stderr
        assert not list(tmp_path.iterdir())

    @pytest.mark.weekly
    def test_without_ffmpeg_it_names_the_extra(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
        arguments = ["record", "walker-walk", "--out", str(tmp_path / "x.mp4")]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 2
        assert 'pip install -e ".[video]"' in " ".join(result.output.split())
        assert not list(tmp_path.iterdir())


@gl
class TestGif:
    @lane(1, 5)
    def test_it_runs_at_the_speed_of_the_simulation(self, tmp_path):
        out = tmp_path / "x.gif"
        arguments = ("--policy", "zero", "--steps", "12", *SMALL)
        called("record", "dmc/walker-walk-v0", "--out", str(out), *arguments)
        frames, times = animation(out)
        assert frames.shape == (13, 32, 48, 3)
        # 2.5 centiseconds each, and a GIF counts in whole ones.
        assert set(times) == {20, 30}
        assert sum(times) == pytest.approx(13 * 25, abs=10)
        for step in (0, 12):
            wanted = camera("dmc/walker-walk-v0", step)
            assert np.abs(frames[step].astype(int) - wanted).mean() < 3  # of 256 colours

    @pytest.mark.weekly
    def test_too_many_frames_a_second_are_thinned_out(self, tmp_path):
        out = tmp_path / "x.gif"
        arguments = ("--policy", "zero", "--steps", "10", *SMALL)
        called("record", "cartpole-swingup", "--out", str(out), *arguments)
        frames, times = animation(out)  # control steps of 0.01 s
        assert sum(times) == 6 * 20  # where nothing moves, a frame stays for longer
        assert np.abs(frames[-1].astype(int) - camera("dmc/cartpole-swingup-v0", 10)).mean() < 3

    @lane(2, 5)
    def test_episodes_have_seeds_of_their_own(self, tmp_path):
        out = tmp_path / "x.gif"
        arguments = ("--policy", "zero", "--steps", "3", "--episodes", "2", "--seed", "5", *SMALL)
        called("record", "reacher-hard", "--out", str(out), *arguments)
        frames, _ = animation(out)
        assert len(frames) == 2  # nothing moves within an episode: a frame each
        starts = np.array([camera("dmc/reacher-hard-v0", 0, seed) for seed in range(4, 9)])
        for frame, seed in ((0, 5), (1, 6)):
            away = np.abs(starts.astype(int) - frames[frame]).mean(axis=(1, 2, 3))
            assert away.min() < 3
            assert away.argmin() == seed - 4


@gl
class TestWebp:
    @lane(3, 5)
    def test_it_runs_at_the_speed_of_the_simulation_and_is_smaller(self, tmp_path):
        arguments = ("--policy", "random", "--steps", "40", "--width", "160", "--height", "120")
        for ending in ("webp", "gif"):
            out = str(tmp_path / f"x.{ending}")
            called("record", "dmc/walker-walk-v0", "--out", out, *arguments)
        frames, times = animation(tmp_path / "x.webp")
        assert frames.shape == (41, 120, 160, 3)
        assert set(times) == {25}
        films = {file.suffix: file.stat().st_size for file in tmp_path.iterdir()}
        assert 3 * films[".webp"] < films[".gif"]

    def test_an_unfinished_film_is_not_written(self, tmp_path):
        """A policy that fails amid the episode leaves what there was."""
        for ending in ("webp", "gif"):
            out = tmp_path / f"x.{ending}"
            made = film.FILMS[f".{ending}"](out, 0.02, list)
            for _ in range(film.TOGETHER + 1):
                made.add(np.zeros((8, 8, 3), np.uint8))
            made.close()
            assert not out.exists() or out.stat().st_size == 0


class TestFilms:
    @pytest.mark.parametrize("ending", ["gif", "webp"])
    def test_frames_are_drawn_together_kept_packed_and_written_in_order(self, tmp_path, ending):
        out, drawn = tmp_path / f"x.{ending}", []

        def draw(scenes):
            drawn.append(list(scenes))
            return [np.full((40, 40, 3), shade, np.uint8) for shade in scenes]

        made = film.FILMS[f".{ending}"](out, 0.02, draw)
        shades = [int(shade) for shade in np.linspace(0, 250, film.TOGETHER + 3)]
        for shade in shades[:-1]:
            made.add(shade)
        made.flush()  # as at the end of an episode
        made.add(shades[-1])
        made.finish()
        assert [len(scenes) for scenes in drawn] == [film.TOGETHER, 2, 1]
        assert sum(map(len, made._packed)) < len(shades) * 40 * 40 * 3 / 10
        made.close()
        for frame, shade in zip(animation(out)[0], shades, strict=True):
            assert np.abs(frame.astype(int) - shade).max() <= 4


@gl
class TestPng:
    @pytest.mark.weekly
    def test_the_last_frame(self, tmp_path):
        out = tmp_path / "x.png"
        for steps in (0, 30):
            arguments = ("--policy", "zero", "--steps", str(steps), *SMALL)
            called("record", "walker-walk", "--out", str(out), *arguments)
            picture = np.asarray(Image.open(out))
            assert np.array_equal(picture, camera("dmc/walker-walk-v0", steps))

    @pytest.mark.weekly
    def test_tiles(self, tmp_path):
        out = tmp_path / "x.png"
        arguments = ("--num-envs", "3", "--steps", "8", "--policy", "zero", *SMALL)
        called("record", "reacher-hard", "--out", str(out), *arguments)
        picture = np.asarray(Image.open(out))
        assert picture.shape == (64, 96, 3)
        for i in range(3):
            y, x = i // 2 * 32, i % 2 * 48
            wanted = camera("dmc/reacher-hard-v0", 8, seed=i)
            assert np.array_equal(picture[y : y + 32, x : x + 48], wanted)
        assert not picture[32:, 48:].any()

    @lane(4, 5)
    def test_camera_quality_arguments_and_reward(self, tmp_path):
        out = tmp_path / "x.png"
        size = ("--width", "48", "--height", "32", "--policy", "zero", "--steps", "0")

        def picture(*arguments):
            called("record", "cartpole-balance", "--out", str(out), *size, *arguments)
            return np.asarray(Image.open(out))

        plain = picture()
        assert np.array_equal(picture("--camera", "fixed"), plain)
        for change in (
            ("--camera", "lookatcart"),
            ("--camera=-1",),
            ("--quality", "fast"),
            ("--set", "poles=2"),
            ("--visualize-reward",),
            ("--show", "joints,transparent"),
            ("--show", "com", "--show", "inertia"),
            ("--groups", "geom="),
        ):
            assert not np.array_equal(picture(*change), plain), change

    @pytest.mark.weekly
    def test_a_policy_acts_alone_and_on_a_batch(self, tmp_path, own):
        out = tmp_path / "x.png"
        for envs in ("1", "2"):
            arguments = ("--num-envs", envs, "--steps", "20", *SMALL)
            policy = ("--policy", f"{own}:agent.act")
            called("record", "cartpole-balance", "--out", str(out), *arguments, *policy)
            wanted = camera("dmc/cartpole-balance-v0", 20, action=0.5)
            assert np.array_equal(np.asarray(Image.open(out))[:32, :48], wanted)


@gl
class TestRecording:
    def test_sub_environments_that_have_ended_stand_still(self):
        class Ends:
            """Two counters; sub-environment i ends after i + 1 steps."""

            control_timestep = 0.02

            def __init__(self):
                self.unwrapped = self

            def reset(self, seed):
                self.count = 0
                return None, {}

            def step(self, action):
                self.count += 1
                ended = self.count >= np.array([1, 3])
                return None, np.ones(2), ended, np.zeros(2, dtype=bool), {}

            def shots(self, name, ids):
                return [Shot(self.count) for _ in ids]

            @property
            def cameras(self):
                return self

            def render(self, shots):
                drawn.append(len(shots))
                return [np.full((1, 1, 3), shot.count, dtype=np.uint8) for shot in shots]

        class Shot:
            def __init__(self, count):
                self.count = count

        drawn = []
        player = record._Player(Ends(), 2, 2, 0)
        scenes = [player.scene() for _ in player.play(lambda o: None, 10, 0)]
        frames = [player.draw(scenes[:2]), player.draw(scenes[2:])]
        assert [f[0, :, 0].tolist() for each in frames for f in each] == [
            [0, 0], [1, 1], [1, 2], [1, 3],
        ]  # fmt: skip
        assert drawn == [4, 2]  # what stands still is drawn once
        assert player.returns == [1.0, 3.0]
        for _ in player.play(lambda o: None, 10, 1):
            pass
        assert player.returns == [1.0, 3.0] * 2  # of all episodes

    def test_a_policy_that_fails_leaves_nothing_behind(self, tmp_path, own):
        out = tmp_path / "x.gif"
        out.write_text("what was there before")
        for name, message in (
            ("fails", "fails failed: RuntimeError: out of ideas (own_policies.py:"),
            ("wide", "wide returned shape (7,), an action has (1,)"),
            ("nan", "nan returned an action that is not finite"),
        ):
            policy = ("--policy", f"{own}:{name}", "--steps", "3", *SMALL)
            done = called("record", "cartpole-balance", "--out", str(out), *policy, code=1)
            assert message in done.stderr
        assert out.read_text() == "what was there before"
        assert [file.name for file in tmp_path.iterdir()] == ["x.gif"]


class TestRefused:
    """Nothing is simulated and nothing is written."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        mostly_nightly(
            [
                (("--out", "x.avi"), "x.avi: end its name in one of .mp4, .gif, .webp, .png"),
                (("--out", "x"), "end its name in one of"),
                (("--out", "nowhere/x.gif"), "there is no such folder"),
                (("--out", "x.gif", "--camera", "sid"), "did you mean side"),
                (("--out", "x.gif", "--camera", "7"), "there is no 7"),
                (("--out", "x.gif", "--quality", "best"), "'reference', 'fast'"),
                (("--out", "x.gif", "--num-envs", "0"), "--num-envs"),
                (("--out", "x.gif", "--episodes", "0"), "--episodes"),
                (("--out", "x.gif", "--width", "9000"), "at most 8192"),
                (("--out", "x.gif", "--num-envs", "900"), "at most 8192"),
                (("--out", "x.gif", "--set", "sped=1"), "did you mean speed"),
                (("--out", "x.gif", "--set", "width=9"), "width has an option of its own: --width"),
                (
                    ("--out", "x.gif", "--policy", "best"),
                    'the folder of a run, a policy file, or "module:function"',
                ),
                (("--out", "x.gif", "--policy", "no_such_module:f"), "no module 'no_such_module'"),
                (("--out", "x.gif", "--policy", "math:no_such"), "math has no no_such"),
                (
                    ("--out", "x.gif", "--policy", "math:pi"),
                    "'--policy': math:pi is not a function but float",
                ),
                ((), "Missing option '--out'"),
            ],
            5,
        ),
    )
    def test_says_why(self, arguments, message, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert message in refused_call("record", "walker-walk", *arguments)
        assert not list(tmp_path.iterdir())

    @pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs Linux")
    def test_a_folder_that_cannot_be_written_to(self):
        assert "/proc cannot be written to" in refused_call(
            "record", "walker-walk", "--out=/proc/x.gif"
        )

    @pytest.mark.weekly
    def test_without_opengl_it_says_so(self, tmp_path):
        arguments = ("--out", str(tmp_path / "x.gif"))
        done = mjgym_("record", "walker-walk", *arguments, code=1, MUJOCO_GL="disable")
        assert "nothing is written: rendering is switched off by MUJOCO_GL=disable" in done.stderr
        assert not list(tmp_path.iterdir())


class TestPolicies:
    def test_random_stays_within_the_bounds_and_repeats(self):
        env = gymnasium.make("dmc/quadruped-walk-v0")
        one, two = (policy_option.load_policy("random", env, seed=3) for _ in range(2))
        actions = np.array([one(None) for _ in range(200)])
        assert np.array_equal(actions, [two(None) for _ in range(200)])
        assert all(env.action_space.contains(a.astype(np.float32)) for a in actions)
        assert np.allclose(actions.min(axis=0), env.action_space.low, atol=0.1)
