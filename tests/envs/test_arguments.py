"""Wrong arguments of `make` and `make_vec` are named, before anything is made or reserved."""

import textwrap
from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

import mjgym
from helpers.small_process import run_small
from mjgym.cli.app import app
from mjgym.sim import batched, noting_batch
from mjgym.tasks.dmc.pendulum import Pendulum

ID = "dmc/cartpole-balance-v0"
HUGE = 10**400

SHARED = [
    ("dtype", (7, [1], {}, "float16")),
    ("observation", (3, ["flat"], {})),
    ("width", ("84", 1.5, [1], 10**12)),
    ("height", (None, 0, -1, HUGE)),
    ("frame_stack", ("2", 1.5, [2], 10**12, HUGE)),
    ("on_divergence", ({}, 1)),
    ("vary", (7, "no", [1])),
    ("vary_every", ([], 1)),
    ("render_quality", ({}, 1)),
    ("visualize_reward", ("yes", [1])),
    ("time_limit", ("10", [1], None, HUGE, -1.0)),
    ("control_timestep", ("x", [1], {}, -1, 0, HUGE, 1e9)),
    ("poles", ("1", 1.5, -1, 10**7, HUGE)),
]
BATCHED = [
    ("render_mode", ("ansi",)),  # Gymnasium's own in `make`
    ("max_episode_steps", ("x", 1.5, [1], -7)),
    ("backend", (7, ["mujoco"], {}, None)),
    ("num_envs", ("2", 1.5, [1], 0, -1, 10**12, 2**63, 10**30)),
    ("threads", ("2", 1.5, [1], 0, 10**6)),
    ("overlap", ("2", 1.5, [1], 0, -1)),
    ("copy", ("no", [1], None)),
    ("autoreset_mode", (7, [1], {}, "never")),
]


def flattened(table):
    """Pairs of an argument and a value, and their names."""
    pairs = [(name, value) for name, values in table for value in values]
    return {"argvalues": pairs, "ids": [f"{n}-{str(v)[:12]}" for n, v in pairs]}


def assert_named(make, name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        make(ID, **{name: value})


@pytest.mark.parametrize(("name", "value"), **flattened(SHARED))
def test_a_wrong_argument_of_make_is_named(name, value):
    assert_named(gymnasium.make, name, value)


@pytest.mark.parametrize(("name", "value"), **flattened(SHARED + BATCHED))
def test_a_wrong_argument_of_make_vec_is_named(name, value):
    assert_named(gymnasium.make_vec, name, value)


@pytest.mark.parametrize(
    ("id", "name", "value"),
    [
        ("dmc/lqr-lqr_2_1-v0", "masses", 10**7),
        ("dmc/swimmer-swimmer6-v0", "links", 10**7),
        ("robosuite/Wipe-v0", "num_markers", 10**7),
        ("locomotion/ant-escape_bowl-v0", "time_limit", 1e300),
        ("locomotion/ant-maze_forage-v0", "others", 1e7),
        ("gymnasium/Ant-v5", "frame_skip", 10**7),
        ("gymnasium/Ant-v5", "main_body", 10**7),
        ("gymnasium/Ant-v5", "default_camera_config", {"trackbodyid": 10**7}),
        ("dmc/pendulum-swingup-v0", "control_timestep", 0.02 * 100_001),
    ],
)
def test_tasks_bound_what_decides_the_size_of_a_model_and_a_step(id, name, value):
    with pytest.raises(ValueError, match=name):
        assert gymnasium.make(id, **{name: value}).unwrapped.task.viewpoint


@pytest.mark.parametrize("free", [(2.0**28, np.inf), (np.inf, 2.0**30)], ids=["used", "reserved"])
def test_more_simulations_than_there_is_memory_for_are_refused(free, monkeypatch):
    env = mjgym.Env(Pendulum())
    env.reset(seed=0)
    made = []
    monkeypatch.setattr(batched, "free_memory", lambda: free)
    monkeypatch.setattr(noting_batch.NotingBatch, "__init__", lambda *_, **__: made.append(1))
    monkeypatch.setattr(batched, "_persists", lambda model: True)
    for make in (
        lambda: gymnasium.make_vec("dmc/pendulum-swingup-v0", num_envs=10**5),
        lambda: gymnasium.make_vec("dmc/pendulum-swingup-v0", num_envs=10**5, overlap=2),
    ):
        with pytest.raises(ValueError, match=r"num_envs: 100000 simulations need \d+\.\d GiB, and"):
            make()
    with pytest.raises(ValueError, match="actions: 100000 simulations need"):
        env.rollout(env.get_state(), np.zeros((10**5, 1, 1), np.float32))
    assert not made


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("thread constructor failed: Resource temporarily unavailable", "threads: 2 are too many"),
        ("Could not allocate memory", "num_envs: 3 are too many"),
    ],
)
def test_what_the_engine_cannot_reserve_is_named(message, words, monkeypatch):
    def refuse(*_, **__):
        raise ValueError(message)

    monkeypatch.setattr(noting_batch.mujoco.batch.Batch, "__init__", refuse)
    with pytest.raises(ValueError, match=words):
        gymnasium.make_vec(ID, num_envs=3, threads=2)


@pytest.mark.slow
def test_memory_limits_of_a_process_are_heeded():
    assert "num_envs: 1000000 simulations need" in run_small(
        textwrap.dedent("""
        import resource
        import gymnasium
        import mjgym
        resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30,) * 2)
        try:
            gymnasium.make_vec("dmc/walker-walk-v0", num_envs=10**6)
        except ValueError as error:
            print(error)
    """)
    )


@dataclass(frozen=True)
class Own(Pendulum):
    """`Pendulum`, with a number of one's own."""

    parts: int = 1


def test_whole_numbers_that_no_engine_holds_are_named():
    with pytest.raises(ValueError, match="Own: parts must be at most 9223372036854775807"):
        mjgym.Env(Own(parts=HUGE))


@pytest.mark.parametrize("command", ["demo", "bench", "view"])
def test_commands_say_what_there_is_no_memory_for(command):
    done = CliRunner().invoke(app, [command, ID, "--num-envs", str(10**9)])
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit)
    assert "num_envs: 1000000000 simulations" in " ".join(done.output.split())
