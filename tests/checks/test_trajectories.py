"""Trajectories by which engines are compared, and the command that names what differs."""

import io
import json
import zipfile

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

from mjgym.checks import trajectories
from mjgym.checks.trajectories import Recorded
from mjgym.cli.app import app

POINT, ARM = "dmc/point_mass-easy-v0", "manipulation/reach_site_features-v0"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file of one id with a scripted policy, and one without."""
    path = tmp_path_factory.mktemp("dynamics") / "here.npz"
    assert list(trajectories.write(path, [POINT, ARM])) == [POINT, ARM]
    return path


def changed(file, path, change):
    """The file with other arrays."""
    with np.load(file) as arrays:
        content = dict(arrays)
    change(content)
    np.savez(path, **content)
    return path


def command(*arguments):
    return CliRunner().invoke(app, ["fingerprint", *map(str, arguments)])


class TestTrajectories:
    @pytest.mark.weekly
    def test_actions_are_scripted_where_there_is_a_script(self):
        assert [kind for kind, _ in trajectories.trajectories(ARM)] == ["random", "scripted"]
        kinds = dict(trajectories.trajectories(POINT))
        assert list(kinds) == ["random", "sinusoidal"]
        assert all(states.shape == (201, 4) for states in kinds.values())
        assert all(np.ptp(states, axis=0).min() > 0 for states in kinds.values())

    def test_sinusoidal_actions_keep_within_their_bounds(self):
        env = gymnasium.make("dmc/quadruped-walk-v0")
        swing = trajectories.Sinusoidal(env)
        actions = np.array([swing(None) for _ in range(200)])
        low, high = env.action_space.low, env.action_space.high
        assert (actions >= low - 1e-6).all()
        assert (actions <= high + 1e-6).all()
        assert (np.ptp(actions, axis=0) > 0.99 * (high - low)).all()


@pytest.mark.slow
class TestCommand:
    @pytest.mark.weekly
    def test_the_same_engine_is_equal_to_the_last_bit(self, file):
        result = command("--against", file)
        assert result.exit_code == 0
        assert "2 of 2 ids are equal to the last bit" in result.stdout

    @pytest.mark.weekly
    def test_it_names_what_differs(self, file, tmp_path):
        def change(arrays):
            arrays[f"{ARM}/scripted"][7:, 3] += 1e-9
            arrays[f"{ARM}/scripted"][90, 2] += 0.25
            about = json.loads(str(arrays["about"]))
            about["versions"]["mujoco"] = "3.9.9"
            arrays["about"] = np.array(json.dumps(about))

        other = changed(file, tmp_path / "other.npz", change)
        result = command("--against", other)
        assert result.exit_code == 1
        assert "1 of 2 ids are equal to the last bit" in result.stdout
        (line,) = [x for x in result.stdout.splitlines() if x.startswith(ARM)]
        assert line.split()[1:] == ["scripted", "7", "0.25", "90"]
        assert "3.9.9 in the file" in result.stdout
        rows = json.loads(command("--against", other, ARM, "--json").stdout)["trajectories"]
        assert [row["first"] for row in rows] == [None, 7]

    def test_another_model_differs_from_the_start(self, file, tmp_path):
        def change(arrays):
            arrays[f"{POINT}/random"] = arrays[f"{POINT}/random"][:, 1:]

        other = changed(file, tmp_path / "other.npz", change)
        first, second = Recorded(other).compare([POINT])
        assert (first.first, first.largest) == (0, np.inf)
        assert second.first is None

    def test_wrong_words(self, file):
        assert "either --write FILE or --against FILE" in command().output
        assert command("--write", "x", "--against", file).exit_code == 2
        result = command("dmc/walker-walk-v0", "--against", file)
        assert "has no trajectory" in " ".join(result.output.replace("│", " ").split())


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)


def npy(array, shape=None):
    """An array's bytes, whose header may lie about its shape."""
    buffer = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(buffer, {**header, "shape": shape or array.shape})
    return buffer.getvalue() + array.tobytes()


ABOUT = np.array(json.dumps({"versions": {}}))


class TestHostileFiles:
    """None is a traceback, and none fills the memory."""

    @pytest.mark.parametrize(
        "members",
        [
            {},
            {"about.npy": b"no array"},
            {"about.npy": npy(np.array("[]"))},
            {"about.npy": npy(np.array("[" * 100_000))},
            {"about.npy": npy(ABOUT, (5, 10**12))},
            pytest.param({"about.npy": npy(np.zeros(1 << 24))}, marks=pytest.mark.slow),
            {"about.npy": npy(ABOUT), f"{POINT}/random.npy": npy(np.zeros(3), (10**12,))},
            pytest.param(
                {"about.npy": npy(ABOUT), f"{POINT}/random.npy": npy(np.zeros(1 << 24))},
                marks=pytest.mark.slow,
            ),
            {"about.npy": npy(ABOUT), f"{POINT}/random.npy": b"\x93NUMPY\x01\x00"},
            {"about.npy": npy(ABOUT), "os:system/random.npy": b""},
            {"about.npy": npy(ABOUT), "own/task-v0/random.npy": b""},
        ],
    )
    def test_it_is_refused(self, members, tmp_path):
        path = tmp_path / "hostile.npz"
        zipped(path, **members)
        result = command("--against", path)
        assert result.exit_code == 2, result.output
        assert "--against" in result.output
