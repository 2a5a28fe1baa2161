"""A robot's controller as files, and its replay in bare MuJoCo."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import yaml

import mjgym
from helpers.small_process import fresh
from helpers.training_runs import mjgym_
from mjgym.policies.network import Policy, PolicyError

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from mjgym_train import deployed_controller, deployment

GO1 = "legged/go1-velocity-v0"
COMMAND = (0.4, 0.1, 0.2)
STEPS = 300


def untrained(id: str, gain: float = 0.1, history: int = 1, **about: Any) -> Policy:
    """A policy of random weights, whose actions are small enough that the robot keeps standing."""
    env, rng = gym.make(id), np.random.default_rng(0)
    size, low, high = env.observation_space.shape[0], env.action_space.low, env.action_space.high
    layers = []
    for inputs, outputs, scale in ((size * history, 32, 1.0), (32, len(low), gain)):
        weight = rng.normal(scale=scale / inputs**0.5, size=(outputs, inputs))
        layers.append({"weight": weight.astype(np.float32), "bias": np.zeros(outputs, np.float32)})
    mean = rng.normal(scale=0.1, size=size).astype(np.float32)
    deviation = rng.uniform(0.5, 2.0, size).astype(np.float32)
    return Policy(layers, mean, deviation, low, high, history, limit=5.0, activation="elu", **about)


Act = Callable[[np.ndarray], np.ndarray]


def by_package(id: str, act: Act, steps: int) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Actions in the package's environment, and the start."""
    env = gym.make(id, command=COMMAND, max_episode_steps=steps + 1).unwrapped
    observation, _ = env.reset(seed=3)
    if "g1-joystick" in id:
        env.view.userdata[0] = 1.375  # Hz, the gait of the description
    start = env.view.qpos.copy(), env.view.qvel.copy()
    actions = []
    for _ in range(steps):
        actions.append(act(observation))
        observation, _, terminated, _, _ = env.step(actions[-1])
        assert not terminated
    return np.array(actions), start


def both(folder: Path, id: str, policy: Policy, steps: int = STEPS) -> tuple[np.ndarray, ...]:
    """Actions of the package's environment and policy, and of the loop, from the same start."""
    policy.begin()
    ours, start = by_package(id, policy, steps)
    deployment.write(folder, policy, id, {})
    theirs, _, _ = deployed_controller.Controller(folder).replay(COMMAND, steps, *start)
    return ours, theirs


def test_the_loop_acts_as_the_environment_and_the_policy_do(tmp_path: Path) -> None:
    ours, theirs = both(tmp_path / "go1", GO1, untrained(GO1, gain=0.3))
    assert np.ptp(ours, axis=0).min() > 0.1
    assert np.abs(ours - theirs).max() <= 1e-5


@pytest.mark.parametrize(
    ("id", "gain", "steps"),
    [
        (GO1, 0.3, 300),
        ("legged/g1-velocity-v0", 0.6, 40),
        ("legged/go1-joystick-v0", 0.1, 300),
        ("legged/g1-joystick-v0", 0.3, 40),
    ],
)
def test_with_one_network_no_bit_differs(tmp_path: Path, id: str, gain: float, steps: int) -> None:
    """The graph acts in both: its rounding is all that sets the loop apart."""
    deployment.write(tmp_path / "robot", untrained(id, gain), id, {})
    loop = deployed_controller.Controller(tmp_path / "robot")

    def act(observation: np.ndarray) -> np.ndarray:
        row = observation[None].astype(np.float32)
        action: np.ndarray = loop.policy.run(None, {"observation": row})[0][0]
        return action

    ours, start = by_package(id, act, steps)
    theirs, _, _ = loop.replay(COMMAND, steps, *start)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("about", [{"history": 3}, {"repeat": 2}, {"history": 2, "repeat": 3}])
def test_the_loop_remembers_and_holds(tmp_path: Path, about: dict[str, int]) -> None:
    ours, theirs = both(tmp_path / "go1", GO1, untrained(GO1, **about), 60)
    assert np.abs(ours - theirs).max() <= 1e-5


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deployed") / "go1"
    deployment.write(folder, untrained(GO1), GO1, {"noise": True, "vary": "published"})
    return folder


@pytest.fixture
def copied(deployed: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return shutil.copytree(deployed, tmp_path / "copied")


def described(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "deploy.yaml").read_text())
    return found


def change(folder: Path, about: dict[str, Any], *files: str) -> None:
    """Write another description, with the checksums of files that have changed on purpose."""
    for name in files:
        about["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "deploy.yaml").write_text(yaml.safe_dump(about, sort_keys=False))


def test_a_description_says_what_a_controller_needs(deployed: Path) -> None:
    about, task = described(deployed), gym.make(GO1).unwrapped.task
    legs = [
        f"{leg}_{part}_joint"
        for leg in ("FR", "FL", "RR", "RL")
        for part in ("hip", "thigh", "calf")
    ]
    assert about["joint_order"] == legs
    assert about["vendor_order"] == list(range(12))
    assert "not been tried on a robot" in about["vendor_order_note"]
    assert about["default_pose"] == list(task.rest)
    assert about["action_scale"] == task.scales.tolist()
    assert about["control_rate"] == 50.0
    assert (about["physics_timestep"], about["physics_steps"]) == (0.005, 4)
    assert about["effort_limits"] == [23.7, 23.7, 35.55] * 4
    scales = np.array(about["action_scale"]) * about["stiffness"]
    assert scales == pytest.approx(0.25 * np.array(about["effort_limits"]))
    entries = about["observation"]
    names = [
        "base_lin_vel",
        "base_ang_vel",
        "projected_gravity",
        "joint_pos",
        "joint_vel",
        "actions",
        "command",
    ]
    assert [entry["name"] for entry in entries] == names
    assert [entry["first"] for entry in entries] == [0, 3, 6, 9, 21, 33, 45]
    assert [entry["size"] for entry in entries] == [3, 3, 3, 12, 12, 12, 3]
    assert entries[1]["unit"] == "rad/s"
    assert entries[1]["frame"] == "imu"
    assert [command["range"] for command in about["commands"]] == [[-1, 1], [-1, 1], [-0.5, 0.5]]
    assert set(about["sha256"]) == {about["model"], about["policy"]}
    assert about["versions"]["mjgym"] == mjgym.__version__


def test_joint_damping_and_limits_are_those_of_the_model(tmp_path: Path) -> None:
    id = "legged/g1-joystick-v0"
    deployment.write(tmp_path / "g1", untrained(id), id, {"command": (0.3, 0.0, 0.0)})
    about = described(tmp_path / "g1")
    damping = dict(zip(about["joint_order"], about["damping"], strict=True))
    assert (damping["left_knee_joint"], damping["left_ankle_roll_joint"]) == (2.0, 0.2)
    limits = dict(zip(about["joint_order"], about["effort_limits"], strict=True))
    assert limits["left_knee_joint"] == 139.0
    assert [command["range"] for command in about["commands"]] == [
        [0.3, 0.3],
        [0.0, 0.0],
        [0.0, 0.0],
    ]


@pytest.mark.parametrize("name", ["go1.xml", "policy.onnx"])
def test_a_changed_file_is_refused(copied: Path, name: str) -> None:
    (copied / name).write_bytes((copied / name).read_bytes() + b" ")
    with pytest.raises(deployed_controller.MismatchError, match=f"checksum: {name}"):
        deployed_controller.Controller(copied)


def reordered(rows: list[Any]) -> list[Any]:
    return [rows[1], rows[0], *rows[2:]]


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("control_rate", 100.0, "control rate"),
        ("physics_steps", 2, "control rate"),
        ("physics_timestep", 0.002, "physics timestep"),
        ("history", 3, "observation shape"),
        ("default_pose", [0.0], "poses, scales, actions"),
        ("action_scale", [0.0] * 13, "poses, scales, actions"),
        ("stiffness", [20.0] * 12, "stiffness"),
        ("damping", [0.5] * 12, "damping"),
        ("joint_order", reordered, "joint order"),
        ("observation", lambda rows: rows[:-1], r"observation shape: .*\[45\], not \[48\]"),
        ("observation", reordered, "observation order"),
    ],
)
def test_a_changed_description_is_refused(copied: Path, key: str, value: Any, named: str) -> None:
    about = described(copied)
    change(copied, about | {key: value(about[key]) if callable(value) else value})
    with pytest.raises(deployed_controller.MismatchError, match=named):
        deployed_controller.Controller(copied)


def test_another_order_of_actuators_is_refused(copied: Path) -> None:
    lines = (copied / "go1.xml").read_text().splitlines(keepends=True)
    first, second = (
        i
        for i, line in enumerate(lines)
        if "<general" in line and "FR_" in line and "calf" not in line
    )
    lines[first], lines[second] = lines[second], lines[first]
    (copied / "go1.xml").write_text("".join(lines))
    change(copied, described(copied), "go1.xml")
    with pytest.raises(deployed_controller.MismatchError, match="actuator order"):
        deployed_controller.Controller(copied)


def test_a_file_without_a_checksum_is_refused(copied: Path) -> None:
    about = described(copied)
    del about["sha256"]["go1.xml"]
    change(copied, about)
    assert "'go1.xml' is missing" in mjgym_("sim2sim", copied, code=1).output


def test_the_loop_needs_nothing_of_this_package(deployed: Path, tmp_path: Path) -> None:
    """Its file alone, in a Python that finds no package of this project."""
    shutil.copy(deployed_controller.__file__, tmp_path / "loop.py")
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import loop\n"
        f"actions, _, _ = loop.Controller(loop.Path({str(deployed)!r})).replay((0.4, 0, 0), 20)\n"
        "assert not [name for name in sys.modules if name.startswith('mjgym')]\n"
        "print(len(actions))\n"
    )
    assert fresh(code) == "20\n"
    assert len(Path(deployed_controller.__file__).read_text().splitlines()) <= 100


class TestCommands:
    def test_from_a_policy_to_a_replay(self, tmp_path: Path) -> None:
        untrained(GO1).save(tmp_path / "policy.npz")
        words = (tmp_path / "policy.npz", "--id", GO1, "--deploy", tmp_path / "go1")
        assert "deploy.yaml" in mjgym_("export", *words).output
        assert "is there already" in mjgym_("export", *words, code=1).output
        command = ("--command", 0.4, 0, 0, "--seconds", 1)
        done = mjgym_("sim2sim", tmp_path / "go1", *command, "--json")
        found = json.loads(done.output)
        assert found["control_steps"] == 50
        assert found["largest_tilt"] < 20
        assert found["lowest_root"] > 0.2
        assert "mean_velocity" in mjgym_("sim2sim", tmp_path / "go1", *command).output
        done = mjgym_("sim2sim", tmp_path / "go1", "--command", "nan", 0, 0, code=2)
        assert "three finite numbers" in done.output

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("[", "no controller"),
            ("[]", "no controller"),
            ("a: 1", "'control_rate' is missing"),
            ("a: " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ],
        ids=lambda text: text[:9],
    )
    def test_what_is_no_description(self, tmp_path: Path, text: str, named: str) -> None:
        (tmp_path / "deploy.yaml").write_text(text)
        assert named in mjgym_("sim2sim", tmp_path, code=1).output

    @pytest.mark.parametrize(
        ("key", "value"),
        [("control_steps_per_action", 0), ("physics_steps", "four"), ("observation", {"size": 48})],
    )
    def test_what_describes_no_controller(self, copied: Path, key: str, value: Any) -> None:
        change(copied, described(copied) | {key: value})
        assert "describes no controller" in mjgym_("sim2sim", copied, code=1).output

    def test_what_is_no_graph(self, copied: Path) -> None:
        (copied / "policy.onnx").write_bytes(b"no graph")
        change(copied, described(copied), "policy.onnx")
        assert "describes no controller" in mjgym_("sim2sim", copied, code=1).output

    def test_a_bundled_policy(self, tmp_path: Path) -> None:
        mjgym_("export", GO1, "--deploy", tmp_path / "go1")
        names = [entry["name"] for entry in described(tmp_path / "go1")["observation"]]
        assert names == list(gym.make(GO1).unwrapped.entry_shapes)
        command = ("--command", 0.5, 0, 0.2, "--seconds", 3, "--json")
        found = json.loads(mjgym_("sim2sim", tmp_path / "go1", *command).output)
        assert abs(found["mean_velocity"][0] - 0.5) < 0.15

    def test_another_family(self, tmp_path: Path) -> None:
        done = mjgym_("export", "dmc/walker-walk-v0", "--deploy", tmp_path / "walker", code=1)
        assert "only legged/ ids say" in done.output
        assert not (tmp_path / "walker").exists()
        both = ("--onnx", tmp_path / "walk.onnx", "--deploy", tmp_path / "walker")
        mjgym_("export", "dmc/walker-walk-v0", *both, code=1)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"privileged": True}, "does not know foot_height"),
        ({"observation": "dict"}, "flat observations"),
        ({"frame_stack": 2}, "frame_stack cannot be deployed"),
        ({"robot": "g1"}, "the policy is not one of"),
    ],
    ids=str,
)
def test_what_no_controller_can_do_is_refused(
    tmp_path: Path, env: dict[str, Any], named: str
) -> None:
    with pytest.raises(PolicyError, match=named):
        deployment.write(tmp_path / "go1", untrained(GO1), GO1, env)
    assert not (tmp_path / "go1").exists()


def test_all_is_written_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    policy = untrained(GO1)
    monkeypatch.setattr(yaml, "safe_dump", full)
    with pytest.raises(OSError, match="no space left"):
        deployment.write(tmp_path / "new" / "go1", policy, GO1, {})
    assert not list(tmp_path.iterdir())
