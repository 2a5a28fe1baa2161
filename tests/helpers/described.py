"""Promises about what an environment says of itself."""

import ast
import dataclasses
import json
import re
from pathlib import Path

import numpy as np

UNIT = re.compile(
    r"1|rad|m|N|N m|rad/s|m/s|rad/s\^2|m/s\^2|ln\(1 \+ N\)"
    r"|(0\.1 )?(arcsinh|tanh)\((\d+ )?(N|N m|m)\)"
)
OFFSET = re.compile(r"(body|geom|site) (\S+) - (body|geom|site) (\S+)")


def entries(env):
    """The rows of each entry of the observation."""
    rows: dict[str, list] = {}
    for row in env.describe()["observation"]:
        rows.setdefault(row["entry"], []).append(row)
    return rows


def names(model, kind):
    count = {"body": model.nbody, "site": model.nsite, "geom": model.ngeom}[kind]
    return {getattr(model, kind)(i).name for i in range(count)}


def every_number_of_the_observation_is_described(env):
    rows = env.describe()["observation"]
    assert [row["index"] for row in rows] == list(range(env.observation_space.shape[0]))
    for row in rows:
        for field in ("entry", "name", "unit", "source", "meaning"):
            assert isinstance(row[field], str), row
            assert row[field].strip(), row
        assert isinstance(row["frame"], str), row


def every_number_of_the_action_is_described(env):
    rows = env.describe()["action"]
    assert [row["index"] for row in rows] == list(range(env.action_space.shape[0]))
    assert [row["name"] for row in rows] == [
        env.model.actuator(i).name for i in range(env.model.nu)
    ]
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        for field in ("name", "unit", "source"):
            assert row[field].strip(), row
    np.testing.assert_array_equal(np.float32([row["low"] for row in rows]), env.action_space.low)
    np.testing.assert_array_equal(np.float32([row["high"] for row in rows]), env.action_space.high)


def units_and_frames_are_known(env):
    elements = {"world", ""}.union(*(names(env.model, kind) for kind in ("body", "site", "geom")))
    for row in env.describe()["observation"]:
        assert UNIT.fullmatch(row["unit"]), row
        assert row["frame"] in elements, row


def file_and_line_show_the_class(env):
    described = env.describe()
    name = type(env.task).__name__
    tree = ast.parse(Path(described["file"]).read_text())
    (found,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name]
    assert described["line"] == found.lineno
    assert described["task"] == f"{type(env.task).__module__}:{name}"


def prose_arguments_and_numbers(env):
    described = env.describe()
    for field in ("summary", "description", "reward", "start"):
        assert described[field].strip(), field
        assert "\n" not in described[field] or field == "description"
    arguments = {row["name"]: row for row in described["arguments"]}
    assert list(arguments) == [field.name for field in dataclasses.fields(env.task)]
    for name, row in arguments.items():
        value = getattr(env.task, name)
        assert row["value"] == ("inf" if value == float("inf") else value)
        assert row["comment"].strip(), name
        parts = {*row["type"].split(" | ")}
        assert parts <= {"bool", "int", "float", "str", "Walker", "Arena"}, name
    model = env.model
    assert described["physics_timestep"] == model.opt.timestep
    assert described["control_timestep"] == env.task.control_timestep
    endless = env.task.time_limit == float("inf")
    assert described["time_limit"] == (None if endless else env.task.time_limit)
    json.dumps(described, allow_nan=False)
    assert described["terms"] == list(env.task.terms(env.view))
    assert described["success"] == (env.task.success(env.view) is not None)
    assert described["model"]["nq"] == model.nq
    assert described["model"]["njnt"] == model.njnt


PROMISES = (
    every_number_of_the_observation_is_described,
    every_number_of_the_action_is_described,
    units_and_frames_are_known,
    file_and_line_show_the_class,
    prose_arguments_and_numbers,
)
