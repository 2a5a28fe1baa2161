"""`mjgym view`: bad input, policies, keys, Ctrl-C, and the pages as a real browser shows them."""

import contextlib
import importlib.util
import io
import os
import pty
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from PIL import Image
from rich.console import Console

import mjgym  # noqa: F401  (registers the ids)
from helpers import commands, pages
from helpers.commands import SCRIPT
from helpers.lanes import mostly_nightly
from helpers.small_process import fresh
from mjgym.cli import task_arguments
from mjgym.viewing import Command, Keys, Progress, Report, Session, ViewerError, ports, watch

pytestmark = pytest.mark.slow

TASK = "dmc/walker-walk-v0"
START = 60  # s, in which a viewer must be up
LONGEST = 300  # s, after which it is killed
SIZE = (900, 640)  # of the browser's window, pixels

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
DRIVER = shutil.which("chromedriver")
in_chromium = pytest.mark.skipif(
    not (CHROMIUM and DRIVER and importlib.util.find_spec("selenium")),
    reason="needs Chromium: apt-get install chromium chromium-driver; pip install selenium",
)
needs_mjviser = pytest.mark.skipif(
    importlib.util.find_spec("mjviser") is None, reason="needs mjviser"
)
in_xvfb = pytest.mark.skipif(
    not (shutil.which("Xvfb") and shutil.which("xdotool")),
    reason="needs a display: apt-get install xvfb xdotool libgl1",
)

# What a page says that is no fault of it: in software, reading a picture back from WebGL is slow;
# viser's three.js talks about its own next version.
EXPECTED = ("GPU stall due to ReadPixels", "THREE.Clock: This module has been deprecated")


@pytest.fixture(scope="module", autouse=True)
def ctrl_c():
    """Viewers that hear Ctrl-C, even when the tests run in the background of a shell (`&`), which
    makes its jobs, and all that they start, ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Where the viewers keep their layouts, and no display."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "COLUMNS", "MUJOCO_GL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    return tmp_path


def free_port():
    """A port that nobody has, below those that the system gives away by itself."""
    ports = random.SystemRandom().sample(range(20_000, 32_000), 100)
    return next(filter(can_listen, ports))


def can_listen(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


class Running:
    """`mjgym view`, or another command, in a process of its own."""

    def __init__(self, *arguments, command="view"):
        self.process = subprocess.Popen(
            [str(SCRIPT), command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines = []

    def line(self, beginning):
        """The next line that begins so."""
        for line in self.process.stdout:
            self.lines.append(line)
            if line.startswith(beginning):
                return line
        raise AssertionError(f"it ended: {self.lines}\n{self.process.stderr.read()}")

    def interrupt(self):
        """Press Ctrl-C; its exit code and what it said on stderr."""
        self.process.send_signal(signal.SIGINT)
        out, complaints = self.process.communicate(timeout=30)
        self.lines += out.splitlines(keepends=True)
        return self.process.returncode, complaints


@contextlib.contextmanager
def running(*arguments, command="view"):
    viewer = Running(*arguments, command=command)
    timer = threading.Timer(LONGEST, viewer.process.kill)
    timer.start()
    try:
        yield viewer
    finally:
        timer.cancel()
        viewer.process.kill()
        viewer.process.communicate()


def refused(*arguments, code=2):
    done = commands.run("view", *arguments)
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return re.sub(r"[│\s]+", " ", done.stderr)


@pytest.fixture
def session():
    env = gymnasium.make(TASK)
    yield Session(env, lambda observation: np.zeros(6), seed=3)
    env.close()


@pytest.mark.usefixtures("home")
class TestCommandLine:
    @pytest.mark.weekly
    def test_an_unknown_camera_names_those_there_are(self):
        assert "did you mean side" in refused(TASK, "--camera", "sid")
        assert "there is no 7" in refused(TASK, "--camera", "7")

    def test_unknown_words_and_groups(self):
        assert "did you mean joints" in refused(TASK, "--show", "contacts,joint")
        assert "did you mean geom" in refused(TASK, "--groups", "geoms=1")
        assert "geoms have groups 0 to 5, not 7" in refused(TASK, "--groups", "geom=7")
        assert "as in geom=0,1,3" in refused(TASK, "--groups", "geom")
        assert "option of its own: --show" in refused(TASK, "--set", "show=joints")

    @needs_mjviser
    def test_a_batch_shows_shapes_alone(self):
        message = refused(TASK, "--num-envs", "2", "--show", "joints", code=1)
        assert "draws geoms and sites alone" in message

    def test_a_busy_port(self):
        with ports.listen("127.0.0.1", 0) as taken:
            message = refused(TASK, "--port", str(taken.getsockname()[1]))
        assert "no viewer can listen on 127.0.0.1" in message
        assert "in use" in message

    @pytest.mark.weekly
    def test_native_without_a_display_says_what_to_do(self):
        message = refused(TASK, "--native", code=1)
        assert "there is no display" in message
        assert "use --web" in message

    @pytest.mark.weekly
    def test_without_mjviser_the_extra_is_named(self, monkeypatch, tmp_path):
        (tmp_path / "sitecustomize.py").write_text(
            "import importlib.util as u\nfind = u.find_spec\n"
            "u.find_spec = lambda n, *a: None if n == 'mjviser' else find(n, *a)\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        assert 'pip install -e ".[viewer]"' in refused(TASK, "--num-envs", "4", code=1)

    @pytest.mark.weekly
    def test_a_policy_that_fails_is_named(self, monkeypatch, tmp_path):
        (tmp_path / "mine.py").write_text("def act(observation):\n    return observation['x']\n")
        with (
            running(TASK, "--policy", f"{tmp_path / 'mine.py'}:act") as viewer,
            pages.visit(viewer.line("open").split()[1]),
        ):
            _, complaints = viewer.process.communicate(timeout=START)
        assert viewer.process.returncode == 1
        assert "mine.py:2" in complaints
        assert "Traceback" not in complaints


@pytest.mark.usefixtures("home")
class TestRunning:
    @pytest.mark.parametrize("policy", mostly_nightly(["zero", "random", "module"], 3))
    def test_it_says_where_to_look_runs_in_real_time_and_ends_with_ctrl_c(self, policy, tmp_path):
        if policy == "module":
            (tmp_path / "mine.py").write_text(
                "import numpy as np\ndef act(observation):\n    return np.ones(6)\n"
            )
            policy = f"{tmp_path / 'mine.py'}:act"
        port = free_port()
        with running(TASK, "--policy", policy, "--port", str(port), "--seed", "5") as viewer:
            address = viewer.line("open").split()[1]
            assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/\?token=[\w-]{{24}}", address)
            assert f"ssh -L {port}:127.0.0.1:{port} " in viewer.line("from another machine")
            assert viewer.line("seed 5, step").endswith(", paused\n")  # until the page is open
            with pages.visit(address):
                assert any(self.in_real_time(viewer) for _ in range(10))  # if the machine is busy
            assert "upright=" in viewer.lines[-1]
            assert not can_listen(port)
            code, complaints = viewer.interrupt()
            assert code == 130
            assert complaints == ""
            assert can_listen(port)
            said = ("open", "from another", "paused", "seed ")
            assert all(line.startswith(said) for line in viewer.lines)

    def in_real_time(self, viewer):
        start = time.monotonic()
        lines = [viewer.line("seed 5, step") for _ in range(3)]
        first, _, last = (float(line.split(", ")[2].removesuffix(" s")) for line in lines)
        return last - first == pytest.approx(time.monotonic() - start, abs=1.5)

    @pytest.mark.weekly
    @pytest.mark.parametrize("count", ["1", pytest.param("2", marks=needs_mjviser)])
    def test_sigterm_leaves_nothing_behind(self, count, tmp_path, monkeypatch):
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        with running(TASK, "--web", "--num-envs", count, "--port", str(free_port())) as viewer:
            viewer.line("seed")
            viewer.process.terminate()
            _, complaints = viewer.process.communicate(timeout=30)
            assert (viewer.process.returncode, complaints) == (143, "")
        assert not list(tmp_path.glob("mjgym-*"))

    @pytest.mark.weekly
    def test_only_loopback_is_bound(self):
        port = free_port()
        with running(TASK, "--port", str(port)) as viewer:
            viewer.line("seed")
            listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
            rows = [row.split() for row in listening.splitlines()]
            where = {r[1].split(":")[0] for r in rows if r[1].endswith(f":{port:04X}")}
            assert where == {"0100007F"}  # 127.0.0.1

    @pytest.mark.weekly
    def test_another_interface_comes_with_a_warning(self):
        with running(TASK, "--port", str(free_port()), "--host", "0.0.0.0") as viewer:
            assert "http://127.0.0.1:" in viewer.line("open")
            viewer.line("others can reach this port")

    @pytest.mark.weekly
    @needs_mjviser
    def test_a_batch_ends_with_ctrl_c(self):
        port = free_port()
        with running(TASK, "--num-envs", "4", "--port", str(port)) as viewer:
            assert f"http://127.0.0.1:{port}/" in viewer.line("open")
            viewer.line("seed 0, step")
            code, complaints = viewer.interrupt()
            assert (code, complaints) == (130, "")
            assert can_listen(port)

    @pytest.mark.weekly
    def test_keys_in_a_terminal(self):
        leader, follower = pty.openpty()
        arguments = [str(SCRIPT), "view", TASK, "--port", str(free_port()), "--policy", "zero"]
        process = subprocess.Popen(
            arguments, stdin=follower, stdout=follower, stderr=follower, close_fds=True
        )
        os.close(follower)
        screen = ""

        def until(pattern):
            nonlocal screen
            end = time.monotonic() + START
            while not re.search(pattern, screen):
                assert time.monotonic() < end, screen[-2000:]
                if select.select([leader], [], [], 1)[0]:
                    screen += os.read(leader, 65536).decode(errors="replace")
            screen = ""

        def press(key):
            os.write(leader, key.encode())

        try:
            until("space: pause")
            press(" ")
            press("n")
            until("seed 1, step")
            press(" ")
            until("paused")
            press("r")
            until(r"seed 1, step 0, .*paused")
            press("s")
            until(r"seed 1, step 1, .*paused")
            press(" ")
            until(r"seed 1, step \d\d")
            press("q")
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
            process.wait()
            os.close(leader)


class TestSession:
    def test_commands(self, session):
        assert session.progress == Progress(3)
        session.ask(Command.STEP)
        session.advance()
        assert session.paused
        assert session.progress.steps == 1
        assert set(session.progress.terms) == {"standing", "upright", "moving"}
        session.ask(Command.RESET)
        session.advance()
        assert session.progress == Progress(3, paused=True)
        session.ask(Command.NEXT)
        session.advance()
        assert session.progress.seed == 4
        assert session.episode == 3
        session.ask(Command.QUIT)
        session.advance()
        assert session.over

    def test_an_episode_that_ends_is_followed_by_the_next(self):
        env = gymnasium.make(TASK, max_episode_steps=2)
        session = Session(env, lambda observation: np.zeros(6))
        session.step()
        session.step()
        assert session.progress.seed == 1
        assert session.progress.ended.startswith("seed 0: time limit, return")

    def test_a_policy_hears_where_episodes_begin(self):
        """All at a reset, and of a batch those that began with the last step."""

        class Remembers:
            def restart(self, where=None):
                heard.append(where if where is None else where.tolist())

            def __call__(self, observation):
                return np.zeros((2, 6))

        heard = []
        envs = gymnasium.make_vec(TASK, num_envs=2, max_episode_steps=3)
        session = Session(envs, Remembers())
        envs.unwrapped.set_state({"steps": np.array([0, 1])})
        for _ in range(5):
            session.step()
        # The second ends with the second step, and begins with the third, in which the first ends.
        assert heard == [None, [False, True], [True, False]]
        session.reset(0)
        assert heard[3:] == [None]
        envs.close()

    def test_a_batch_reports_means(self):
        envs = gymnasium.make_vec(TASK, num_envs=3)
        session = Session(envs, lambda observation: np.zeros((3, 6)))
        _, rewards, *_, info = envs.step(np.zeros((3, 6)))
        session.reset(0)
        session.step()
        assert session.progress.reward == pytest.approx(rewards.mean())
        assert session.progress.terms["upright"] == pytest.approx(info["terms/upright"].mean())
        session.next()
        assert session.progress.seed == 3
        envs.close()

    @pytest.mark.weekly
    @pytest.mark.parametrize(("num_envs", "sides"), [(None, [216, 216]), (2, [])])
    def test_observed_images_are_enlarged_to_be_shown(self, num_envs, sides):
        cameras = {"camera": ["side", "back"], "width": 72, "height": 72}
        options = {"observation": "dict+pixels", "pixels": cameras}
        env = task_arguments.make(TASK, None, num_envs, **options)
        found = Session(env, lambda observation: np.zeros(env.action_space.shape)).images()
        assert [image.shape for image in found] == [(side, side, 3) for side in sides]
        assert all(len(np.unique(image)) > 5 for image in found)
        env.close()

    def test_without_images_none_are_shown(self, session):
        assert session.images() == []

    def test_the_twin_follows(self, session):
        session.step()
        np.testing.assert_array_equal(session.follow().qpos, session.env.data.qpos)
        assert session.twin.model.ntex > 0

    def test_a_force_lasts_while_it_is_renewed(self, session, later):
        still = session.env.get_state()
        session.step()
        unpushed = session.env.data.qpos.copy()
        session.env.set_state(still)
        forces = np.zeros_like(session.env.data.xfrc_applied)
        forces[1, 2] = 100.0  # N
        session.push(forces)
        session.step()
        assert session.env.data.qpos[0] > unpushed[0] + 1e-3
        session.paused = True
        later(1)
        session.advance()
        assert not session.env.data.xfrc_applied.any()

    def test_no_force_leaves_the_tasks_own_alone(self, session):
        session.env.data.xfrc_applied[1, 0] = 1.0
        session.push(np.zeros_like(session.env.data.xfrc_applied))
        assert session.env.data.xfrc_applied[1, 0] == 1.0

    def test_a_simulation_that_is_late_does_not_rush(self, session, later):
        session.advance()
        steps = session.progress.steps
        later(100)
        session.advance()
        assert session.progress.steps <= steps + 5

    def test_an_error_of_the_policy_closes_the_viewer(self, session):
        closed = []

        class Shown:
            def sync(self, session):
                raise ViewerError("gone")

            def close(self):
                closed.append(True)

        with pytest.raises(ViewerError, match="gone"):
            watch(session, Shown(), Keys(), Report(Console(file=io.StringIO()), keys=False))
        assert closed


class TestPorts:
    def test_the_first_free_port_is_taken(self, monkeypatch):
        with ports.listen("127.0.0.1", 0) as taken:
            first = taken.getsockname()[1]
            monkeypatch.setattr(ports, "FIRST", first)
            with ports.listen("127.0.0.1", None) as found:
                assert first < found.getsockname()[1] < first + ports.TRIED


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A headless Chromium with WebGL in software."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "disable-dev-shm-usage",
        "use-angle=swiftshader",
        "enable-unsafe-swiftshader",
        f"window-size={SIZE[0]},{SIZE[1]}",
        "force-device-scale-factor=0.25",  # a sixteenth of the pixels to draw in software
        f"user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def browser(home, chromium):
    """The browser with an empty page, after which it leaves the test's page and draws no more."""
    chromium.get_log("browser")
    yield chromium
    chromium.get("about:blank")


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """The actions of all episodes that have been driven."""
    minari = pytest.importorskip("minari", reason='needs pip install -e ".[minari]"')
    pytest.importorskip("h5py", reason='needs pip install -e ".[minari]"')
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))

    def actions():
        episodes = minari.load_dataset("driven-v0").iterate_episodes()
        return np.concatenate([episode.actions for episode in episodes])

    return actions


def picture(browser):
    return np.asarray(Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB"))


def complaints(browser):
    """What the page has written into the console, beside notes and what is expected."""
    entries = browser.get_log("browser")
    return [
        entry["message"]
        for entry in entries
        if entry["level"] not in ("INFO", "DEBUG")
        and not any(words in entry["message"] for words in EXPECTED)
    ]


def colours(pixels):
    return len(np.unique(pixels.reshape(-1, 3) // 8, axis=0))


def orange(pixels):
    """The share of the walker's colour."""
    red, _, blue = np.moveaxis(pixels[..., :3].astype(int), -1, 0)
    return ((red > blue + 40) & (red > 120)).mean()


def wait_for(condition, seconds=START):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def middle(pixels):
    """Where only the scene is drawn."""
    height, width = pixels.shape[:2]
    return pixels[height // 3 : -height // 4, width // 3 : -width // 4]


@pytest.mark.browser
@in_chromium
class TestWebPage:
    def test_it_loads_draws_and_moves_without_errors(self, browser):
        port = free_port()
        with running(TASK, "--port", str(port)) as viewer:
            browser.get(viewer.line("open").split()[1])
            # The scene comes piece by piece: the floor may be there before the walker.
            wait_for(lambda: 0.005 < orange(middle(picture(browser))) < 0.5)
            first = picture(browser)
            save(first, "web")
            assert browser.title == TASK  # and not what the page calls itself
            drawn = middle(first).astype(int)
            viewer.process.stdout.readline()
            wait_for(lambda: (np.abs(middle(picture(browser)) - drawn) > 20).mean() > 0.01)
            assert complaints(browser) == []
            assert viewer.interrupt() == (130, "")

    @pytest.mark.weekly
    def test_space_pauses_and_the_mouse_pushes(self, browser):
        from selenium.webdriver.common.keys import Keys as Key

        seen = {"force": 0.0}
        ready, stop = threading.Event(), threading.Event()

        def loop():
            from mjgym.viewing.web import Web

            env = gymnasium.make(TASK)
            session = Session(env, lambda observation: np.zeros(6))
            session.pause(True)
            listener = ports.listen("127.0.0.1", 0)
            viewer = Web(session, 0, listener)
            seen["url"] = viewer.url
            seen["viewer"], seen["session"] = viewer, session
            ready.set()
            try:
                while not stop.is_set() and viewer.sync(session):
                    session.advance()
                    force = np.abs(session.env.data.xfrc_applied).max()
                    seen["force"] = max(seen["force"], force)
                    time.sleep(session.rest())
            finally:
                viewer.close()
                env.close()

        thread = threading.Thread(target=loop)
        thread.start()
        try:
            assert ready.wait(START)
            session, perturb = seen["session"], seen["viewer"]._panel.viewer.perturb
            browser.get(seen["url"])
            wait_for(lambda: colours(middle(picture(browser))) > 50)
            # A double-click selects a body, if it is quick; in software, WebGL is not.
            perturb.select = 1
            Pointer(browser).send_keys(Key.SPACE).perform()
            wait_for(lambda: not session.paused, 20)
            Pointer(browser).drag_right(SIZE[0] // 2, SIZE[1] // 2, Key.CONTROL)
            wait_for(lambda: seen["force"] > 1.0, 20)
            wait_for(lambda: not session.env.data.xfrc_applied.any(), 20)
            assert complaints(browser) == []
        finally:
            stop.set()
            thread.join(START)

    @pytest.mark.weekly
    def test_keys_drive_a_tool(self, browser, recorded):
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys as Key

        arguments = ("robosuite/Lift", "--port", str(free_port()), "--record", "driven-v0")
        with running(*arguments, command="teleop") as viewer:
            browser.get(viewer.line("open").split()[1])
            for _ in range(5):  # in software, WebGL draws a room slowly, and keys come late
                with contextlib.suppress(TimeoutException):
                    chain = ActionChains(browser)
                    chain.key_down(Key.ARROW_UP).pause(2).key_up(Key.ARROW_UP).perform()
            assert viewer.interrupt()[0] == 130
        assert (recorded()[:, 0] > 0).any()

    @pytest.mark.weekly
    @needs_mjviser
    def test_keys_of_a_batch_and_all_in_sight_that_walk_away(self, browser):
        from mjgym.viewing.batch import BatchViewer

        envs = gymnasium.make_vec(TASK, num_envs=4)
        session = Session(envs, lambda observation: np.zeros((4, 6)))
        session.pause(True)
        viewer = BatchViewer(session, 0, ports.listen("127.0.0.1", 0))

        def run_until(condition):
            def ran():
                session.advance()
                viewer.sync(session)
                return condition()

            wait_for(ran)

        stop = threading.Event()
        thread = threading.Thread(target=lambda: (browser.get(viewer.url), stop.set()))
        try:
            thread.start()
            run_until(lambda: stop.is_set() and viewer._server.get_clients())
            state = envs.unwrapped.get_state()["qpos"]
            state[:, 1] += [30.0, 35.0, 40.0, 45.0]
            envs.unwrapped.set_state({"qpos": state})
            client = next(iter(viewer._server.get_clients().values()))
            run_until(lambda: np.linalg.norm(client.camera.position) > 15)
            seen = np.concatenate(
                [session.follow(i).xpos[1:] + viewer._offsets[i] for i in range(4)]
            )
            camera = client.camera
            ahead = camera.look_at - camera.position
            ahead /= np.linalg.norm(ahead)
            aside = np.cross(ahead, [0, 0, 1])
            aside /= np.linalg.norm(aside)
            rays = seen + viewer._world.position - camera.position
            depth = rays @ ahead
            half = np.tan(camera.fov / 2)
            assert (depth > 0).all()
            assert (np.abs(rays @ aside) < half * camera.aspect * depth).all()
            assert (np.abs(rays @ np.cross(aside, ahead)) < half * depth).all()
            Pointer(browser).send_keys("n").perform()
            run_until(lambda: session.progress.seed == 4)
            Pointer(browser).send_keys("s").perform()
            run_until(lambda: session.progress.steps == 1)
            Pointer(browser).send_keys("r").perform()
            run_until(lambda: (session.progress.seed, session.progress.steps) == (4, 0))
            Pointer(browser).send_keys(" ").perform()
            run_until(lambda: not session.paused)
            assert browser.title == TASK
        finally:
            viewer.close()
            envs.close()
            thread.join(START)


def save(pixels, name):
    """Keep a screenshot, if somebody wants to look at it."""
    folder = os.environ.get("MJGYM_SCREENSHOTS")
    if folder:
        Image.fromarray(pixels).save(Path(folder) / f"{name}.png")


class Pointer:
    """Mouse and keyboard of a browser, in pixels of its page."""

    def __init__(self, browser):
        from selenium.webdriver.common.action_chains import ActionChains

        self._chain = ActionChains(browser, duration=100)

    def move_to_location(self, x, y):
        self._chain.w3c_actions.pointer_action.move_to_location(x, y)
        self._chain.w3c_actions.key_action.pause()
        return self

    def send_keys(self, key):
        self._chain.key_down(key).pause(0.15).key_up(key)
        return self

    def perform(self):
        self._chain.perform()

    def drag_right(self, x, y, modifier):
        from selenium.webdriver.common.actions.mouse_button import MouseButton

        self.move_to_location(x, y)
        self._chain.key_down(modifier).pause(0.2)
        mouse, keys = (
            self._chain.w3c_actions.pointer_action,
            self._chain.w3c_actions.key_action,
        )
        mouse.pointer_down(button=MouseButton.RIGHT)
        keys.pause()
        for i in range(1, 16):
            mouse.move_to_location(x + 4 * i, y - 6 * i)
            keys.pause()
        mouse.pause(0.5)
        keys.pause(0.5)
        mouse.pointer_up(button=MouseButton.RIGHT)
        keys.pause()
        self._chain.key_up(modifier).perform()


GOING_ALONG = """
import time
import gymnasium, mujoco, numpy as np, mjgym
from mjgym.viewing import Session
from mjgym.viewing.native import Native
from mjgym.viewing.opening import place_of

show, groups = ("joints", "contacts"), {"geom": (0, 4)}
seen = {"observation": "flat+pixels", "pixels": {"width": 64, "height": 96}}
env = gymnasium.make("dmc/dog-fetch-v0", show=show, groups=groups, **seen)
session = Session(env, lambda observation: np.zeros(38))
session.pause(True)
viewer = Native(session, place_of("camera", None, env))
option, camera = viewer._viewer.opt, viewer._viewer.cam
assert option.flags[mujoco.mjtVisFlag.mjVIS_JOINT]
assert option.flags[mujoco.mjtVisFlag.mjVIS_CONTACTPOINT]
assert option.geomgroup.tolist() == [1, 0, 0, 0, 1, 0]
viewer.sync(session)
((place, image),) = viewer._at_the_right(session.images())
assert image.shape == (place.height, place.width, 3) == (288, 192, 3)
assert place.bottom + place.height == viewer._viewer.viewport.height
camera.azimuth, camera.distance = 10.0, camera.distance / 2  # as somebody does with the mouse
before, near = camera.lookat.copy(), camera.distance
qpos = env.unwrapped.data.qpos.copy()
qpos[:2] += 3.0
qpos[80:82] += 3.0
session.place({"qpos": qpos})
viewer._shown = (-1, -1)
viewer.sync(session)
assert np.allclose(camera.lookat - before, [3.0, 3.0, 0.0], atol=1e-6)
assert abs(camera.distance - near) < 1e-6 and camera.azimuth == 10.0
for _ in range(20):  # the window has been there for a while when it goes
    viewer.sync(session)
    time.sleep(0.05)
viewer.close()
print("done")
"""

PUSHING = """
import subprocess, sys, threading, time
import gymnasium, numpy as np, mjgym
from mjgym.viewing import Session
from mjgym.viewing.native import Native, hindrance

assert hindrance() == ""
env = gymnasium.make("dmc/walker-walk-v0")
session = Session(env, lambda observation: np.zeros(6))
session.pause(True)
viewer = Native(session, 0)

def mouse():
    time.sleep(3)
    x, y = viewer._viewer.viewport.width // 2, viewer._viewer.viewport.height // 2
    xdotool = lambda *words: subprocess.run(["xdotool", *map(str, words)], check=True)
    xdotool("mousemove", x, y)
    xdotool("click", "--repeat", 2, "--delay", 100, 1)
    time.sleep(1)
    session.pause(False)
    xdotool("keydown", "ctrl", "mousedown", 3)
    for i in range(40):
        xdotool("mousemove", x + 3 * i, y - 3 * i)
        time.sleep(0.05)
    xdotool("mouseup", 3, "keyup", "ctrl")

thread = threading.Thread(target=mouse)
thread.start()
force = 0.0
while thread.is_alive() and viewer.sync(session):
    session.advance()
    force = max(force, abs(env.unwrapped.data.xfrc_applied).max())
    time.sleep(session.rest())
for _ in range(20):
    viewer.sync(session)
    session.advance()
    time.sleep(0.05)
print(viewer._viewer.perturb.select, force, abs(env.unwrapped.data.xfrc_applied).max())
viewer.close()
"""


@pytest.fixture
def display(home, monkeypatch):
    """The name of a display of its own."""
    reading, writing = os.pipe()
    arguments = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x960x24", "-nolisten"]
    process = subprocess.Popen([*arguments, "tcp"], pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as stream:
        name = f":{stream.readline().strip()}"
    monkeypatch.setenv("DISPLAY", name)
    yield name
    process.terminate()
    process.wait()


@pytest.mark.display
@in_xvfb
class TestWindow:
    @pytest.mark.weekly
    def test_it_draws_and_obeys_keys(self, display):
        from PIL import ImageGrab

        with running(TASK) as viewer:
            viewer.line("seed 0, step")
            wait_for(lambda: colours(np.asarray(ImageGrab.grab(xdisplay=display))) > 50)
            save(np.asarray(ImageGrab.grab(xdisplay=display)), "window")
            subprocess.run(["xdotool", "key", "space"], check=True)
            while "paused" not in viewer.line("seed 0"):
                pass
            subprocess.run(["xdotool", "key", "Return"], check=True)
            viewer.line("seed 1, step 0")
            subprocess.run(["xdotool", "key", "Right"], check=True)
            viewer.line("seed 1, step 1")
            assert viewer.interrupt() == (130, "")

    @pytest.mark.weekly
    def test_keys_drive_a_tool(self, display, recorded):
        from PIL import ImageGrab

        with running("robosuite/Lift", "--record", "driven-v0", command="teleop") as viewer:
            viewer.line("seed 0, step")
            wait_for(lambda: colours(np.asarray(ImageGrab.grab(xdisplay=display))) > 50)
            save(np.asarray(ImageGrab.grab(xdisplay=display)), "teleop_window")
            subprocess.run(["xdotool", "key", "period"], check=True)
            for _ in range(30):  # where pictures are drawn in software, keys come late
                subprocess.run(["xdotool", "key", "Up"], check=True)
                if "reach=0.020" not in viewer.line("seed 0, step"):
                    break
            assert viewer.interrupt() == (130, "")
        actions = recorded()
        assert (actions[:, 0] > 0).any()
        assert actions[-1, 6] == 1.0

    @pytest.mark.weekly
    @pytest.mark.usefixtures("display")
    def test_it_shows_what_is_asked_for_and_goes_along_with_a_viewpoint(self):
        assert fresh(GOING_ALONG) == "done\n"

    @pytest.mark.weekly
    @pytest.mark.usefixtures("display")
    def test_the_mouse_pushes(self):
        selected, force, afterwards = map(float, fresh(PUSHING).split())
        assert selected > 0
        assert force > 1.0
        assert afterwards == 0.0
