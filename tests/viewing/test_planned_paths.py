"""Drawings of a session besides the model; settings and paths of a planner, and its pace."""

import time

import gymnasium
import mujoco
import numpy as np
import pytest
from rich.console import Console

from mjgym import planning
from mjgym.cli.policy_option import load_policy
from mjgym.viewing import Progress, Report, Session
from mjgym.viewing.session import MEASURED


@pytest.fixture
def session():
    env = gymnasium.make("dmc/reacher-easy-v0")
    planner = planning.Planner(env, "mppi", horizon=0.1, rollouts=4)
    yield Session(env, planner)
    env.close()


def test_paths_lead_from_the_body_to_the_end_of_the_plan(session):
    assert session.marks() == []
    session.step()
    session.follow()
    marks = session.marks()
    steps = session.planner.plan().actions.shape[0] - 1
    assert len(marks) % steps == 0
    data, model = session.twin.data, session.twin.model
    centres = data.xipos[np.flatnonzero(model.body_weldid)]
    # Capsules lie between two points, and have the half length in their size.
    first = marks[0]
    begin = first.pos - first.mat[:, 2] * first.size[2]
    assert np.linalg.norm(centres - begin, axis=1).min() == pytest.approx(0, abs=1e-5)
    assert session.marks() is marks  # until the next step
    session.step()
    session.follow()
    assert session.marks() is not marks


def test_other_policies_have_neither_paths_nor_knobs():
    env = gymnasium.make("dmc/reacher-easy-v0")
    session = Session(env, load_policy("zero", env))
    session.step()
    assert session.planner is None
    assert session.marks() == []


def test_the_command_line_finds_the_planner():
    env = gymnasium.make("dmc/reacher-easy-v0")
    session = Session(env, load_policy("mppi", env))
    assert isinstance(session.planner, planning.Planner)


def test_a_slider_changes_the_planner_with_the_next_step(session):
    session.turn("noise", 0.9)
    assert session.planner.knobs["noise"] == 1.0
    session.pause(True)
    session.advance()
    assert session.planner.knobs["noise"] == 0.9


def test_the_pace_is_simulated_by_real_time(session, later):
    later(0.0)
    begin = time.monotonic()
    assert session.progress.pace is None
    session.speed = 0.5
    for _ in range(80):
        later(session.env.control_timestep)
        session.advance()
    assert time.monotonic() - begin > 2 * MEASURED
    assert session.progress.pace == pytest.approx(0.5, rel=0.1)


def test_arrows_of_the_commanded_and_the_actual_velocity():
    env = gymnasium.make("legged/go1-velocity-v0", command=(0.5, 0.0, 0.2))
    session = Session(env, lambda observation: np.zeros(12))
    session.step()
    wanted, actual = session.marks()
    assert wanted.type == actual.type == mujoco.mjtGeom.mjGEOM_ARROW
    data = env.unwrapped.data
    axis = wanted.mat[:, 2]
    heading = np.zeros(9)
    mujoco.mju_quat2Mat(heading, data.qpos[3:7])
    flat = heading.reshape(3, 3)[:2, 0]
    assert np.allclose(axis[:2], flat / np.linalg.norm(flat), atol=1e-5)
    velocity = data.qvel[:2]
    assert np.allclose(actual.mat[:2, 2], velocity / np.linalg.norm(velocity), atol=1e-4)
    assert np.allclose(wanted.pos[:2], data.qpos[:2], atol=0.3)
    assert wanted.pos[2] > data.qpos[2] + 0.1
    env.close()


def test_marks_are_geoms_of_the_engine(session):
    session.step()
    assert all(mark.type == mujoco.mjtGeom.mjGEOM_CAPSULE for mark in session.marks())


def test_the_report_says_the_pace():
    console = Console(record=True, width=200)
    Report(console, keys=False).show(Progress(0, pace=0.25))
    assert "0.25 x real time" in console.export_text()
