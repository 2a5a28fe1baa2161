"""Driving by keys: what they make of an action, in each viewer's codes; recording and replay."""

import os
import pty
import subprocess
import time

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

import mjgym  # noqa: F401  (registers the ids)
from helpers.commands import SCRIPT, refused_call
from mjgym import datasets as collection
from mjgym.cli.app import app
from mjgym.viewing import Command, Session, keyboard, native, recorded, terminal
from mjgym.viewing.driving import PLACE, TURN, Commander, Driver, DrivingError
from mjgym.viewing.keyboard import APART, HELD, KEYS, LATE, MOVES

ID = "robosuite/Lift-v0"


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def drive(id=ID, **kwargs):
    env = gymnasium.make(id, **kwargs)
    clock = Clock()
    return env, Driver(env.unwrapped.task.actions(env.unwrapped.model), clock), clock


# Keys and actions.


def test_held_keys_are_the_action():
    _, driver, clock = drive()
    assert not driver.act().any()
    driver.press("up")
    driver.press("page down")
    driver.press("6")
    np.testing.assert_allclose(driver.act(), [PLACE, 0, -PLACE, 0, 0, TURN, 0])
    clock.now += HELD / 2
    driver.press("up")
    clock.now += 2 * HELD / 3
    np.testing.assert_allclose(driver.act(), [PLACE, 0, 0, 0, 0, 0, 0])
    clock.now += HELD
    assert not driver.act().any()
    driver.press("up")  # where a picture takes longer than a key is held
    clock.now += 2 * HELD
    assert driver.act()[0] == PLACE
    assert driver.act()[0] == 0
    driver.press("up")
    clock.now += 2 * LATE
    assert not driver.act().any()


def test_opposite_keys_cancel():
    _, driver, _ = drive()
    for key in MOVES:
        driver.press(key)
    np.testing.assert_allclose(driver.act(), np.zeros(7), atol=1e-12)


def test_fingers_stay_as_they_were_told():
    _, driver, clock = drive()
    driver.press(".")
    driver.press(".")  # it is held: the same stroke
    clock.now += APART / 2
    driver.press(".")
    assert driver.act()[6] == 1.0
    clock.now += 2 * APART
    assert driver.act()[6] == 1.0
    driver.press(".")
    assert driver.act()[6] == -1.0
    driver.begin()
    assert driver.act()[6] == 0.0


@pytest.mark.parametrize(
    ("robot", "arms", "numbers"),
    [
        (("Panda", "Panda"), ("robot0_right", "robot1_right"), ((0, 6), (7, 13))),
        ("Baxter", ("robot0_right", "robot0_left"), ((0, 12), (6, 13))),
    ],
    ids=str,
)
def test_a_key_goes_on_to_the_next_arm(robot, arms, numbers):
    _, driver, clock = drive("robosuite/TwoArmLift-v0", robot=robot)
    assert driver.arms == arms
    for arm, (x, gripper) in zip(arms, numbers, strict=True):
        assert driver.arm == arm
        driver.press("up")
        driver.press(".")
        action = driver.act()
        assert action[x] == PLACE
        assert action[gripper] == 1.0
        assert np.count_nonzero(np.delete(action, [n[1] for n in numbers])) == 1
        clock.now += 2 * APART
        driver.press("f9")
        driver.act()
    assert driver.arm == arms[0]


def test_a_share_of_the_range_is_asked_for():
    _, driver, _ = drive(controller="IK_POSE")
    driver.press("left")
    driver.press("7")
    action = driver.act()
    assert action[1] == pytest.approx(PLACE * 0.02)
    assert action[5] == pytest.approx(-TURN * 0.05)
    _, driver, _ = drive(controller="OSC_POSITION")
    driver.press("7")  # nothing turns the tool
    driver.press("down")
    np.testing.assert_allclose(driver.act(), [-PLACE, 0, 0, 0])


@pytest.mark.parametrize(
    ("id", "kwargs", "message"),
    [
        (ID, {"controller": "JOINT_POSITION"}, "displacements"),
        (ID, {"controller": {"type": "OSC_POSE", "input_type": "absolute"}}, "displacements"),
        (ID, {"controller": {"type": "OSC_POSE", "impedance_mode": "variable_kp"}}, "kp x"),
        ("dmc/walker-walk-v0", {}, "right_hip"),
    ],
    ids=str,
)
def test_other_actions_cannot_be_driven(id, kwargs, message):
    with pytest.raises(DrivingError, match=message):
        drive(id, **kwargs)


# Each viewer's codes.


def test_a_window_passes_keys_on():
    env, driver, _ = drive()
    session = Session(env, driver.act, 0, driver)
    assert set(native.DRIVING.values()) == set(KEYS)
    native.press(session, 265)
    assert driver.act()[0] == PLACE
    native.press(session, 262)  # to the right, no step
    assert driver.act()[1] == -PLACE
    native.press(session, 32)
    session.advance()
    assert session.paused
    watched = Session(env, lambda observation: np.zeros(7))
    native.press(watched, 262)
    watched.advance()
    assert watched.paused
    assert watched.progress.steps == 1


def test_a_terminal_passes_keys_on():
    env, driver, _ = drive()
    session = Session(env, driver.act, 0, driver)
    assert set(terminal.DRIVING.values()) == set(KEYS)
    terminal.press(session, "\x1b[A\x1b[6~8 .")
    np.testing.assert_allclose(driver.act(), [PLACE, 0, -PLACE, 0, TURN, 0, 1.0])
    session.advance()
    assert session.paused
    terminal.press(session, "\x1b[99;9uQ")  # no key of ours; quit
    session.advance()
    assert session.over
    watched = Session(env, lambda observation: np.zeros(7))
    terminal.press(watched, "\x1b[A.s")
    watched.advance()
    assert watched.progress.steps == 1


def test_a_page_passes_keys_on():
    web = pytest.importorskip("mjgym.viewing.web")
    _, driver, _ = drive()
    assert set(web._DRIVING) == set(KEYS)
    down = {web.imgui.Key.UpArrow, web.imgui.Key.Period, web.imgui.Key.N9}
    web._Panel._drive(driver, lambda key: key in down)
    np.testing.assert_allclose(driver.act(), [PLACE, 0, 0, 0, -TURN, 0, 1.0])


def test_keys_move_the_tool_and_are_forgotten_with_the_episode():
    env, driver, clock = drive()
    session = Session(env, driver.act, 0, driver)
    tool = env.unwrapped.view.site("gripper0_right_grip_site")
    before = tool.xpos.copy()
    for _ in range(10):
        driver.press("up")
        driver.press("page up")
        clock.now += 0.05
        session.step()
    moved = tool.xpos - before
    assert moved[0] > 0.03
    assert moved[2] > 0.03
    assert abs(moved[1]) < 0.005
    driver.press(".")
    session.ask(Command.RESET)
    session.pause(True)
    session.advance()
    assert not driver.act().any()


def test_help_names_all_keys():
    named = " ".join(keyboard.Keyboard.controls.values()).lower()
    assert all(key in named for key in KEYS)


def test_help_lists_the_controls_that_the_task_has():
    arm = dict(drive()[1].help)
    assert arm["up, down"] == "along x, which points ahead of the robot"
    assert {"home, end", "."} <= arm.keys()
    assert "F9" not in arm  # one arm
    assert "F9" in dict(drive("robosuite/TwoArmLift-v0", robot="Baxter")[1].help)
    assert "6, 7" not in dict(drive(controller="OSC_POSITION")[1].help)
    legged = gymnasium.make(LEGGED[0])
    assert dict(Commander(legged, stand).help) == {
        "up, down": "walk ahead or back",
        "left, right": "walk to the left or right",
        "6, 7": "turn",
    }


# Recording and replay.


@pytest.fixture
def datasets(tmp_path, monkeypatch):
    pytest.importorskip("minari", reason='needs pip install -e ".[minari]"')
    pytest.importorskip("h5py", reason='needs pip install -e ".[minari]"')
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def record(name="demos-v0", **kwargs):
    """Two episodes that are kept and one between them that is dropped; what was seen of the two."""
    env, driver, clock = drive(max_episode_steps=12, **kwargs)
    recorder = collection.record(env, name)
    session = recorded.Driven(recorder, driver.act, 5, driver)
    plain, kept = env.unwrapped, []

    def go(steps, *keys):
        for _ in range(steps):
            for key in keys:
                driver.press(key)
            clock.now += 0.05
            session.step()
            seen.append((session._observation, session.progress.reward))

    seen = []
    go(4, "up", ".")
    forces = np.zeros_like(plain.data.xfrc_applied)
    forces[plain.model.body("cube_main").id, 0] = 5.0  # N: somebody pushes the cube
    session.push(forces)
    go(3, "page down", "6")
    session.push(None)
    start = plain.get_state()["qpos"]
    start[-7:-4] += 0.05  # and carries it away
    session.place({"qpos": start})
    go(2)
    kept.append(seen)
    session.next()
    seen = []
    go(3, "down")
    session.reset(session.progress.seed)  # dropped
    seen = []
    go(11, "left", "page up")
    kept.append(seen)
    recorder.keep()
    assert recorder.kept == 2
    recorder.close()
    return kept


def test_recorded_episodes_play_back_bit_for_bit(datasets):
    import minari

    kept = record()
    found = collection.load("demos-v0")
    assert found.count == 2
    env = found.environment()
    for number, seen in enumerate(kept):
        episode = found.episode(number)
        assert len(episode) == len(seen)
        for t, (observation, reward) in enumerate(seen):
            np.testing.assert_array_equal(episode.observation(t + 1), observation)
            assert episode.rewards[t] == reward
        replayed = episode.check(env)
        assert replayed.differs is None
        assert replayed.steps == len(seen)
    assert found.episode(0).seed == 5
    assert found.episode(0).check(env).touched >= 2
    assert found.episode(1).check(env).touched == 0

    plain = minari.load_dataset("demos-v0")
    first, second = plain.iterate_episodes()
    assert second.truncations.tolist() == [False] * 10 + [True]
    assert first.infos["success"].shape == (10,)
    assert first.infos["state"]["qpos"].shape == (10, 16)
    assert first.infos["state"]["body_mass"].shape[0] == 1  # it never changes


def test_a_session_shows_all_episodes_and_is_over(datasets):
    kept = record()
    found = collection.load("demos-v0")
    session = recorded.Replay(found.environment(), found)
    totals, shown = [], []
    while not session.over:
        before = session.progress
        session.step()
        if session.progress.ended != before.ended:
            shown.append(session.progress.ended)
        totals.append(session.progress.total)
    assert len(totals) == sum(map(len, kept))
    assert len(shown) == 1
    assert shown[0].startswith("episode ")
    assert totals[-1] == sum(reward for _, reward in kept[1])


def test_names_that_are_taken_or_none_are_refused(datasets):
    record()
    env = gymnasium.make(ID)
    for name, message in (("demos-v0", "there is a dataset"), ("a b!-v0", "no dataset's name")):
        with pytest.raises(collection.DemonstrationError, match=message):
            collection.record(env, name)
    with pytest.raises(collection.DemonstrationError, match="did you mean demos-v0"):
        collection.load("demo-v0")


def test_replay_on_the_command_line(datasets):
    record()
    done = CliRunner().invoke(app, ["replay", "demos-v0", "--check"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("episode 0: 9 steps, bit for bit, ")
    assert lines[1] == "episode 1: 11 steps, bit for bit"
    done = CliRunner().invoke(app, ["replay", "demos-v0", "--check", "--episode", "2"])
    assert done.exit_code == 2
    assert "0 to 1" in done.output
    assert CliRunner().invoke(app, ["replay", "none-v0"]).exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ID, "--set", "controller=JOINT_TORQUE"), "OSC_POSE"),
        ((ID, "--camera", "frontvew"), "did you mean frontview"),
        ((ID, "--set", "robot=Pandah"), "did you mean Panda"),
        (("dmc/walker-walk-v0",), "takes actions that are displacements"),
    ],
    ids=str,
)
def test_what_cannot_be_driven_is_refused(arguments, message):
    said = refused_call("teleop", *arguments)
    assert message in said
    assert ("controller" in said) == ("controller=JOINT_TORQUE" in arguments)


def test_an_episode_waits_for_its_first_key():
    env, driver, _ = drive()
    session = Session(env, driver.act, 0, driver)
    for _ in range(3):
        session.advance()
    assert (session.progress.waiting, session.progress.steps) == (True, 0)
    session.pause(True)
    session.pause(False)  # as a page does when it opens
    session.advance()
    assert session.progress.steps == 0
    session.press("up")
    session.advance()
    assert not session.progress.waiting
    assert session.progress.steps > 0
    session.reset(0)
    session.advance()
    assert (session.progress.waiting, session.progress.steps) == (True, 0)


def test_without_keys_nothing_waits():
    env = gymnasium.make("dmc/pendulum-swingup-v0")
    session = Session(env, lambda observation: np.zeros(1))
    session.advance()
    assert session.progress.steps > 0


def test_an_interrupted_step_is_not_kept(datasets):
    """A signal arrives amid a step: the episode ends with the step before."""
    env, driver, _ = drive()

    class Interrupted(gymnasium.Wrapper):
        broken = False

        def step(self, action):
            result = super().step(action)
            if self.broken:
                raise SystemExit(143)
            return result

    env = Interrupted(env)
    recorder = collection.record(env, "cut-v0")
    session = recorded.Driven(recorder, driver.act, 0, driver)
    for _ in range(4):
        driver.press("up")
        session.step()
    env.broken = True
    with pytest.raises(SystemExit):
        session.step()
    recorder.keep()
    found = collection.load("cut-v0")
    assert len(found.episode(0)) == 4
    assert found.episode(0).check(drive()[0]).differs is None


@pytest.mark.slow
@pytest.mark.parametrize("end", ["q", "SIGTERM"])
def test_teleop_in_a_terminal_records_what_replay_plays(datasets, end):
    """The command itself, with its page, driven by the terminal's keys."""
    ours, theirs = pty.openpty()
    command = [str(SCRIPT), "teleop", "robosuite/Lift", "--web", "--record", "mine-v0"]
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "200"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    os.close(theirs)
    try:
        for line in process.stdout:
            if line.startswith(b"seed 0, step"):
                break
        for _ in range(20):
            os.write(ours, b"\x1b[A\x1b[6~")
            time.sleep(0.05)
        if end == "q":
            os.write(ours, b"q")
        else:
            process.terminate()
        out, complaints = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(ours)
    assert process.returncode == (0 if end == "q" else 143), complaints
    assert b"mjgym replay mine-v0\n" in out
    found = collection.load("mine-v0")
    episode = found.episode(0)
    assert (episode.actions[:, 0] == PLACE).sum() >= 3
    assert episode.actions[0].any()  # nothing is recorded before the first key
    assert episode.check(found.environment()).differs is None


# Legged robots, whose policies follow the command.


def stand(observation):
    return np.full(12 if observation.shape[-1] == 48 else 29, 0.05)


LEGGED = ("legged/go1-velocity-v0", "legged/go1-joystick-v0", "legged/g1-joystick-v0")


@pytest.mark.weekly
@pytest.mark.parametrize("id", LEGGED)
def test_keys_are_the_command_of_a_legged_robot(id):
    env = gymnasium.make(id, dtype="float64")
    task, clock = env.unwrapped.task, Clock()
    driver = Commander(env, stand, clock)
    session = Session(env, driver.act, 0, driver)
    most = np.array(task.command_ranges)
    presses = {
        ("up", "6"): (most[0, 1], 0, most[2, 1]),
        ("down", "right"): (most[0, 0], most[1, 0], 0),
        (): (0, 0, 0),
    }
    for keys, wanted in presses.items():
        for key in keys:
            driver.press(key)
        session.step()
        assert np.allclose(env.unwrapped.get_state()["memory.command"], wanted)
        clock.now += 2 * LATE
    for _ in range(520):  # longer than any command is held
        session.step()
        if session.episode > 1:  # it has fallen
            break
        assert not env.unwrapped.get_state()["memory.command"].any()
    env.close()


def test_a_command_by_hand_leaves_the_physics_alone():
    """Bit for bit as with the same command from the start."""
    fixed = gymnasium.make(LEGGED[0], dtype="float64", command=(1.0, 0.0, 0.5))
    driven, clock = gymnasium.make(LEGGED[0], dtype="float64"), Clock()
    driver = Commander(driven, stand, clock)
    one, other = fixed.reset(seed=0)[0], driven.reset(seed=0)[0]
    for _ in range(30):
        driver.press("up")
        driver.press("6")
        other, reward, *_ = driven.step(driver.act(other))
        one, wanted, *_ = fixed.step(stand(one))
        assert np.array_equal(one, other)
        assert reward == wanted
