"""`mjgym.viewing.launch`: a viewer for programs."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import gymnasium
import pytest

import mjgym  # noqa: F401  (registers the ids)
from mjgym.viewing import ViewerError, launch

pytestmark = pytest.mark.slow

PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import gymnasium, mjgym
from mjgym.viewing import launch
env = gymnasium.make("dmc/dog-fetch-v0", show=("joints",), groups={"geom": (0, 3)})
launch(env, policy=None if POLICY else lambda observation: env.action_space.sample(), port=0)
print("over")
"""


@pytest.fixture
def headless(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def env():
    made = gymnasium.make("dmc/cartpole-swingup-v0")
    yield made
    made.close()


@pytest.mark.usefixtures("headless")
class TestLaunch:
    @pytest.mark.weekly
    @pytest.mark.parametrize("policy", ["None", "1"])
    def test_a_page_without_a_display_until_ctrl_c(self, policy, tmp_path):
        process = subprocess.Popen(
            [sys.executable, "-c", f"POLICY = {policy}\n{PROGRAM}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "HOME": str(tmp_path)},
        )
        try:
            url = ""
            for line in process.stdout:
                if line.startswith("open"):
                    url = line.split()[1]
                if "step" in line:  # it runs
                    break
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", url)
            visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with visitor.open(url, timeout=60) as page:
                assert page.status == 200
            process.send_signal(signal.SIGINT)
            said, complaints = process.communicate(timeout=60)
            assert (process.returncode, complaints) == (0, "")
            assert said.endswith("over\n")
        finally:
            process.kill()
            process.communicate()

    def test_a_window_without_a_display_is_refused(self, env):
        with pytest.raises(ViewerError, match="there is no display"):
            launch(env, web=False)

    @pytest.mark.parametrize("other", ["CartPole-v1", "no environment"])
    def test_another_environment_is_refused(self, other):
        env = gymnasium.make(other) if other.endswith("v1") else other
        with pytest.raises(TypeError, match=r"launch: .* is no environment of mjgym"):
            launch(env)

    def test_an_unknown_camera_is_named_before_anything_opens(self, env):
        with pytest.raises(ValueError, match="camera: there is no 'fixd'; did you mean fixed"):
            launch(env, camera="fixd")

    def test_a_taken_port(self, env):
        from mjgym.viewing import ports

        with (
            ports.listen("127.0.0.1", 0) as taken,
            pytest.raises(ViewerError, match="no viewer can listen"),
        ):
            launch(env, web=True, port=taken.getsockname()[1])

    def test_a_batch_has_no_window(self):
        envs = gymnasium.make_vec("dmc/cartpole-swingup-v0", num_envs=2)
        with pytest.raises(ViewerError, match="on a page, not in a window"):
            launch(envs, web=False)
        envs.close()
