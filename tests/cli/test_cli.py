"""The command line through its console script, with good input and bad."""

import dataclasses
import functools
import itertools
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

import mjgym
from helpers.commands import data, mjgym_, refused
from helpers.lanes import lane, mostly_nightly
from helpers.small_process import fresh
from helpers.toys import Cart
from mjgym.checks import benchmark
from mjgym.cli import bench, diagnosis, doctor, gl
from mjgym.cli import list as list_command
from mjgym.cli.app import app
from mjgym.cli.gl import gl_report
from mjgym.cli.ids import find_id, nearest_ids
from mjgym.describe.fingerprint import ENGINE_FAULT, model_sha256
from mjgym.rendering import Probe
from mjgym.task.models import compile_model
from mjgym.variation import Uniform

pytestmark = pytest.mark.slow

SMALL = "dmc/lqr-lqr_2_1-v0"

TASKS = '''
"""Tasks of somebody's own: one that is good, and some that are not."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mjgym import Task, register
from mjgym.mjcf import Spec

print("a module may print")

XML = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="slider">
      <joint name="slide" type="slide" axis="1 0 0" damping="1"/>
      <geom size=".1" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="slide" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


@register("own/slider-good-v0", tags=("mine",))
@dataclass(frozen=True)
class Good(Task):
    """Stay near [the middle]."""

    mode: Literal["near", "far"] = "near"  # what is rewarded
    limits: tuple[float, ...] = (0.0, 1.0)  # m
    scale: float | None = None

    time_limit = 0.5  # s
    control_timestep = 0.02  # s

    def model(self):
        return Spec.from_string(XML)

    def initialize(self, v, rng):
        v.qpos[:] = rng.uniform(-1, 1)

    def observation(self, v):
        return {"position": v.qpos}

    def terms(self, v):
        return {"near": 1 / (1 + abs(v.qpos[..., 0]))}


@register("own/slider-random-v0")
class Random(Good):
    def initialize(self, v, rng):
        v.qpos[:] = np.random.uniform()


@register("own/slider-mixed-v0")
class Mixed(Good):
    def observation(self, v):
        return {"position": v.qpos - v.qpos.mean(axis=0)}


@register("own/slider-nan-v0")
class Nan(Good):
    def terms(self, v):
        return {"near": np.sqrt(-1 - abs(v.qpos[..., 0]))}


@register("own/slider-wrong-v0")
class Wrong(Good):
    def terms(self, v):
        return {"near": v.qpos[0]}
'''


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with tasks."""
    file = tmp_path_factory.mktemp("own") / "sliders.py"
    file.write_text(TASKS)
    return str(file)


class TestProgram:
    def test_help_names_every_command(self):
        text = mjgym_("--help").stdout
        for name in ("list", "info", "demo", "check", "bench", "doctor"):
            assert re.search(rf"\b{name}\b", text)

    def test_version(self):
        assert mjgym_("--version").stdout == f"mjgym {mjgym.__version__}\n"

    def test_an_unknown_command_names_the_nearest(self):
        assert "Did you mean 'info'" in refused("inf")


HELP = """
import sys
sys.argv = ["mjgym", *sys.argv[1:]]
from mjgym_command import main
try:
    main()
finally:
    print(*sorted({"mujoco", "gymnasium", "mjgym.registry"} & set(sys.modules)), file=sys.stderr)
"""


class TestStart:
    """What the command needs before it does anything."""

    @pytest.mark.weekly
    @pytest.mark.parametrize(
        "command",
        [
            (),
            ("record",),
            ("bench",),
            ("view",),
            ("teleop",),
            ("replay",),
            ("convert",),
            ("doctor",),
        ],
    )
    def test_help_needs_no_engine(self, command):
        done = subprocess.run(
            [sys.executable, "-c", HELP, *command, "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "Usage" in done.stdout
        assert done.stderr.strip() == ""

    @pytest.mark.weekly
    def test_the_package_is_whole_once_it_is_asked_for(self):
        program = (
            "import sys, mjgym_command; mjgym_command.defer(); import mjgym;"
            "import mjgym.cli.app, mjgym.util.suggestions;"
            "assert not {'mujoco', 'gymnasium', 'mjgym.registry'} & set(sys.modules);"
            "from mjgym import Task, registry; from mjgym.util import atomic;"
            "import gymnasium; gymnasium.make('dmc/walker-walk-v0');"
            "assert mjgym.Env and mjgym.util.atomic is atomic;"
            "assert callable(mjgym.fingerprint);"
            "assert type(mjgym).__name__ == 'module' and mjgym.__all__;"
            "assert not hasattr(mjgym, 'nothing')"
        )
        fresh(program)

    @pytest.fixture(params=["an unknown name", "a library that is not there"])
    def broken(self, request, tmp_path):
        """Environment variables with which MuJoCo cannot be imported."""
        if request.param == "an unknown name":
            return {"MUJOCO_GL": "vulkan"}
        (tmp_path / "OpenGL").mkdir()
        (tmp_path / "OpenGL" / "__init__.py").write_text(
            "raise AttributeError(\"'NoneType' object has no attribute 'eglQueryString'\")"
        )
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {"MUJOCO_GL": "egl", "PYTHONPATH": path}

    def test_the_package_says_which_variable_and_what_to_set(self, broken):
        done = subprocess.run(
            [sys.executable, "-c", "import mjgym"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **broken},
        )
        last = done.stderr.splitlines()[-1]
        assert last.startswith("ImportError: MuJoCo cannot be imported with MUJOCO_GL=")
        assert "Unset the environment variable MUJOCO_GL" in last
        assert "or set it to egl, osmesa" in last

    @pytest.mark.weekly
    def test_other_commands_say_it_without_a_traceback(self, broken):
        done = mjgym_("list", code=1, **broken)
        assert f"MUJOCO_GL={broken['MUJOCO_GL']}" in done.stderr
        assert '"mjgym doctor" tries them' in done.stderr

    @lane(0, 5)
    def test_the_doctor_explains_it(self, broken):
        report = json.loads(mjgym_("doctor", "--json", **broken).stdout)
        assert report["environment"]["MUJOCO_GL"] == broken["MUJOCO_GL"]
        (problem,) = [p for p in report["problems"] if "MUJOCO_GL" in p["problem"]]
        assert problem["problem"].startswith("MuJoCo cannot be imported with MUJOCO_GL=")
        assert "unset MUJOCO_GL" in problem["fix"]
        assert report["fingerprint"]["id"] == diagnosis.SAMPLE


listed_row = functools.cache(list_command.row)


class TestList:
    @pytest.fixture
    def made_once(self, monkeypatch):
        """Commands in this process make an environment of each id once for all of these tests."""
        mjgym_("list", "pendulum")  # from the script, unless that has been
        monkeypatch.setattr(list_command, "row", listed_row)

    def test_a_table(self):
        done = mjgym_("list", "pendulum")
        (line,) = [x for x in done.stdout.splitlines() if x.startswith("dmc/")]
        assert line.split()[:5] == ["dmc/pendulum-swingup-v0", "3", "1", "1000", "0.02"]
        assert "Swing up" in line
        assert not any(x.endswith(" ") for x in done.stdout.splitlines())

    def test_json_and_filters(self):
        rows = data("list", "--namespace", "dmc", "--tag", "easy", "--tag", "benchmarking")
        ids = [row["id"] for row in rows]
        assert ids == mjgym.registry.ids(namespace="dmc", tag=("easy", "benchmarking"))
        assert rows[0]["tags"] == ["benchmarking", "easy", "reward_viz"]
        by_id = {row["id"]: row for row in data("list", "sliding balls")}
        assert by_id[SMALL]["steps"] is None
        assert by_id[SMALL]["observation"] == 4
        assert by_id[SMALL]["action"] == 1
        assert by_id[SMALL]["control_timestep"] == 0.03

    @pytest.mark.parametrize("width", mostly_nightly(["40", "72", "80", "100", "110", "200"], 5))
    @pytest.mark.usefixtures("made_once")
    def test_an_id_is_never_broken(self, width):
        text = mjgym_("list", "locomotion", COLUMNS=width).stdout
        for id in mjgym.registry.ids(namespace="locomotion"):
            assert re.search(rf"^{id}( |$)", text, re.MULTILINE), id

    @lane(1, 5)
    @pytest.mark.usefixtures("made_once")
    def test_each_id_is_one_line_of_a_terminal_and_nothing_is_cut_in_a_pipe(self):
        text, rows = mjgym_("list").stdout, data("list")
        lines = mjgym_("list", COLUMNS="100").stdout.splitlines()
        assert [x.split()[0] for x in lines[2:]] == [row["id"] for row in rows]
        assert max(map(len, lines)) <= 100
        assert len(text.splitlines()) == len(rows) + 2
        for row in rows:
            assert row["summary"] in text

    def test_nothing_found_is_no_error(self):
        done = mjgym_("list", "pendulun-swingup")
        assert done.stdout == ""
        assert "dmc/pendulum-swingup-v0" in done.stderr
        assert json.loads(mjgym_("list", "xyzzy", "--json").stdout) == []

    def test_wrong_words(self):
        assert "did you mean benchmarking" in refused("list", "--tag", "benchmarkin")
        assert "did you mean dmc" in refused("list", "--namespace", "dm")


class TestCheckOfFiles:
    @pytest.mark.weekly
    def test_a_dataclass_that_is_not_frozen_says_what_to_write(self, tmp_path):
        file = tmp_path / "thawed.py"
        file.write_text(
            "from dataclasses import dataclass\nfrom mjgym import Task\n\n"
            "@dataclass\nclass Thawed(Task):\n    time_limit = 1.0\n"
        )
        done = mjgym_("check", str(file), code=1)
        assert "put @dataclass(frozen=True) above the class instead of @dataclass" in done.stdout


class TestInfo:
    @pytest.mark.weekly
    def test_everything_is_there(self):
        info = data("info", "cartpole-swingup", "--set", "poles=2", "--set", "dtype=float64")
        assert info["id"] == "dmc/cartpole-swingup-v0"
        source = Path(info["file"]).read_text().splitlines()[info["line"] - 1 :]
        assert any("class Cartpole" in line for line in source[:15])
        assert [row["index"] for row in info["observation"]] == list(range(8))
        assert all(row["name"] and row["unit"] and row["meaning"] for row in info["observation"])
        assert [row["name"] for row in info["action"]] == ["slide"]
        assert info["max_episode_steps"] == 1000
        values = {a["name"]: (a["value"], a["default"]) for a in info["arguments"]}
        assert values["poles"] == (2, 1)
        env = gymnasium.make("dmc/cartpole-swingup-v0", poles=2, dtype="float64")
        assert info["fingerprint"] == mjgym.fingerprint(env)

    @pytest.mark.weekly
    def test_text_names_every_index(self):
        text = mjgym_("info", "dmc/cartpole-swingup-v0", COLUMNS="70").stdout
        described: Any = gymnasium.make("dmc/cartpole-swingup-v0").unwrapped
        described = described.describe()
        for row in [*described["observation"], *described["action"]]:
            pattern = rf"^ +{row['index']} +{row['name']} .*{re.escape(row['unit'])}"
            assert re.search(pattern, text, re.MULTILINE)
        words = " ".join(text.split())
        for part in (described["reward"], described["start"], f"{described['file']}:"):
            assert " ".join(part.split()) in words
        for a in described["arguments"]:
            assert re.search(rf"^{a['name']} +{a['value']} +{a['default']}", text, re.MULTILINE)

    def test_json_is_strict(self):
        text = mjgym_("info", SMALL, "--json").stdout
        assert json.loads(text, parse_constant=pytest.fail)["time_limit"] is None

    def test_a_task_of_ones_own(self, tasks):
        name = f"{tasks}:own/slider-good-v0"
        done = mjgym_("info", name, "--set", "mode=far", "--set", "scale=none")
        text = done.stdout
        assert "a module may print" in done.stderr
        assert "[the middle]" in text  # no markup
        assert re.search(r"^mode +'far' +'near' +'near' \| 'far'", text, re.MULTILINE)
        info = data("info", name, "--set", "limits=[1, 2]", "--set", "scale=1e3")
        assert {a["name"]: a["value"] for a in info["arguments"]} == {
            "time_limit": 0.5,
            "control_timestep": 0.02,
            "mode": "near",
            "limits": [1, 2],
            "scale": 1000.0,
        }

    def test_a_file_stands_for_the_one_id_that_it_registers(self, tmp_path, tasks):
        file = tmp_path / "one_task.py"
        mjgym_("new", str(file))
        id = re.search(r'register\("([^"]+)"', file.read_text())[1]
        assert data("info", str(file))["id"] == id
        assert "name one" in refused("info", tasks)

    def test_a_run_stands_for_its_task(self, tmp_path):
        run = tmp_path / "run"
        run.mkdir()
        settings = "algorithm: td3\nmodule: ''\nenv: {}\nseed: 0\n"
        (run / "config.yaml").write_text(f"id: dmc/walker-walk-v0\n{settings}")
        assert data("info", str(run))["id"] == "dmc/walker-walk-v0"
        (run / "config.yaml").write_text(f"id: own/thing-v0\n{settings}")
        assert "a run of 'own/thing-v0', which is not registered" in refused("info", str(run))
        (run / "config.yaml").write_text("- 1\n")
        assert "expected names with values" in refused("info", str(run))

    @pytest.mark.parametrize(
        ("given", "meant"),
        [
            ("pendulum-swingup", "dmc/pendulum-swingup-v0"),
            ("pendulum-swingup-v0", "dmc/pendulum-swingup-v0"),
            ("rolling_ball-run_walls", "locomotion/rolling_ball-run_walls-v0"),
            ("locomotion/rolling_ball-run_walls", "locomotion/rolling_ball-run_walls-v0"),
        ],
    )
    def test_ids_without_namespace_or_version(self, given, meant):
        result = CliRunner().invoke(app, ["info", given])
        assert result.exit_code == 0
        assert result.output.startswith(f"{meant}\n")

    def test_the_suite_goes_before_and_others_must_be_told_apart(self, own_ids):
        for id in ("a/walker-walk-v0", "a/crawl-v0", "b/crawl-v0", "b/roll-v0"):
            mjgym.register(id)(Cart)
        assert find_id("walker-walk") == "dmc/walker-walk-v0"
        assert find_id("roll") == "b/roll-v0"
        assert find_id("crawl") is None
        assert "a/crawl-v0, b/crawl-v0" in nearest_ids("crawl-v0")


class TestDemo:
    @pytest.mark.weekly
    def test_it_steps(self):
        text = mjgym_("demo", SMALL, "--num-envs", "2", "--steps", "3").stdout
        assert "steps per second" in text.splitlines()[-1]
        assert "dmc/walker" not in text
        assert "no episode has ended" in text

    def test_a_return_is_that_of_one_episode(self):
        """Rewards of several episodes in a row are several returns."""
        text = mjgym_("demo", "cartpole-balance", "--num-envs", "2", "--steps", "2005").stdout
        found = re.search(r"returns of 4 episodes: mean [\d.]+, .* highest ([\d.]+)", text)
        assert found, text
        assert float(found[1]) < 1000

    @pytest.mark.weekly
    def test_ranges_without_zero(self, tmp_path):
        file = tmp_path / "lifted.py"
        file.write_text(TASKS.replace('ctrlrange="-1 1"', 'ctrlrange="2 5"'))
        id = f"{file}:own/slider-good-v0"
        assert "steps per second" in mjgym_("demo", id, "--num-envs", "2", "--steps", "3").stdout

    def test_wrong_numbers(self):
        assert "num-envs" in refused("demo", "--num-envs", "0")


class TestNew:
    def test_it_passes_its_own_check(self, tmp_path):
        file = tmp_path / "my_task.py"
        done = mjgym_("new", str(file))
        assert f"written: {file}, which registers my/my_task-reach-v0" in done.stdout
        findings = data("check", str(file))
        assert {f["id"] for f in findings} == {"my/my_task-reach-v0"}
        assert {f["check"] for f in findings if f["status"] != "pass"} <= {"observation names"}
        assert "class MyTaskReach(Task):" in file.read_text()
        assert data("info", f"{file}:my/my_task-reach-v0")["reward"].startswith("1 with")

    def test_it_is_formatted(self, tmp_path):
        file = tmp_path / "my_task.py"
        mjgym_("new", str(file))
        for command in ("check --select E,F,I,UP,B", "format --check"):
            ruff = [sys.executable, "-m", "ruff", *command.split(), "--isolated"]
            subprocess.run([*ruff, "--line-length", "88", str(file)], check=True, cwd=tmp_path)

    @pytest.mark.weekly
    @pytest.mark.parametrize("name", ["my-task.py", "my_task.txt", "class.py", "my_task"])
    def test_a_name_that_is_no_module(self, tmp_path, name):
        assert "name it as a Python module" in refused("new", str(tmp_path / name))
        assert not list(tmp_path.iterdir())

    def test_nothing_is_overwritten(self, tmp_path):
        file = tmp_path / "mine.py"
        file.write_text("precious")
        assert "is there already" in refused("new", str(file))
        assert file.read_text() == "precious"


class TestCompletion:
    @pytest.mark.parametrize(
        ("words", "wanted"),
        mostly_nightly(
            [
                ("mjgym reco", ["record"]),
                (
                    "mjgym info dmc/walker",
                    ["dmc/walker-run-v0", "dmc/walker-stand-v0", "dmc/walker-walk-v0"],
                ),
                ("mjgym bench dmc/pendulum-swingup-v0 hopper-h", ["hopper-hop-v0"]),
                ("mjgym view pendulum", ["pendulum-swingup-v0"]),
                ("mjgym record dm", ["dmc/"]),
                ("mjgym check dmc/lqr-lqr_2", ["dmc/lqr-lqr_2_1-v0"]),
            ],
            5,
        ),
    )
    def test_of_commands_and_ids(self, words, wanted):
        count = str(len(words.split()) - 1)
        shell = {"_MJGYM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
        assert mjgym_(**shell).stdout.split() == wanted


class TestCheck:
    @pytest.mark.weekly
    def test_an_id_that_nobody_has_imported(self):
        said = refused("check", "my/puck-push-v0")
        assert 'name its module as well: "my_module:my/puck-push-v0"' in said
        assert "module" not in refused("info", "dmc/walker-fly-v0")

    def test_an_id_of_the_suite_passes(self):
        findings = data("check", "pendulum-swingup", "--set", "dtype=float64")
        assert {f["id"] for f in findings} == {"dmc/pendulum-swingup-v0"}
        assert {f["status"] for f in findings} == {"pass"}

    @pytest.mark.weekly
    def test_a_file_with_broken_tasks_fails(self, tasks):
        findings = data("check", tasks, code=1)
        failed = {(f["id"], f["check"]) for f in findings if f["status"] == "fail"}
        assert {
            ("own/slider-random-v0", "determinism"),
            ("own/slider-mixed-v0", "single = batch"),
            ("own/slider-nan-v0", "reward"),
            ("own/slider-wrong-v0", "batch shapes"),
        } <= failed
        assert "own/slider-good-v0" not in {id for id, _ in failed}
        warned = {f["check"] for f in findings if f["id"] == "own/slider-good-v0"} - {"pass"}
        assert "observation names" in warned
        assert all(f["reason"] for f in findings)

    def test_a_table_for_people(self, tasks):
        done = mjgym_("check", f"{tasks}:own/slider-wrong-v0", code=1)
        assert re.search(r"^batch shapes +fail +in a batch of \d+: .*terms", done.stdout, re.M)
        narrow = mjgym_("check", f"{tasks}:own/slider-good-v0", COLUMNS="50").stdout
        assert "warn observation names: position: say in the docstring" in " ".join(narrow.split())

    @pytest.mark.weekly
    def test_a_module_by_its_name(self, tasks, monkeypatch):
        monkeypatch.chdir(Path(tasks).parent)
        findings = data("check", "sliders", code=1)
        assert len({f["id"] for f in findings}) == 5

    @pytest.mark.weekly
    def test_a_module_that_cannot_be_imported(self, tmp_path):
        file = tmp_path / "typo.py"
        file.write_text("import mjgym\n\nmjgym.registr('a/b-v0')\n")
        (finding,) = data("check", str(file), code=1)
        assert finding["status"] == "fail"
        assert "typo.py:3" in finding["reason"]


class TestBench:
    @lane(2, 5)
    def test_json_file_and_table(self, tmp_path, tasks):
        out = tmp_path / "bench.json"
        id = f"{tasks}:own/slider-good-v0"
        arguments = ("--num-envs", "1,3", "--seconds", "0.01", "--out", str(out))
        text = mjgym_("bench", id, *arguments).stdout
        assert len(re.findall(r"^own/slider-good-v0 +[13] ", text, re.MULTILINE)) == 2
        content = json.loads(out.read_text())
        assert [r["num_envs"] for r in content["results"]] == [1, 3]
        for r in content["results"]:
            assert r["steps_per_second"] > 0
            assert r["limit_steps_per_second"] > 0
            assert r["ratio_to_limit"] > 0
            assert r["reset_seconds"] > 0
            assert r["creation_seconds"] > 0
            assert r["bytes_per_env"] is not None
            assert r["fingerprint"]["id"] == "own/slider-good-v0"
        assert content["versions"] == mjgym.fingerprint()["versions"]

    @pytest.mark.parametrize("width", ["200", "40"])
    def test_rows_are_printed_as_they_come(self, monkeypatch, capsys, width):
        monkeypatch.setenv("COLUMNS", width)
        seen = []

        def timed(id, n, *_):
            seen.append(capsys.readouterr())
            numbers = ("steps_per_second", "limit_steps_per_second", "ratio_to_limit")
            others = ("reset_seconds", "creation_seconds", "bytes_per_env")
            return {"id": id, "num_envs": n} | dict.fromkeys((*numbers, *others), 1.0)

        monkeypatch.setattr(bench, "_result", timed)
        ids = ["dmc/a-b-v0", "dmc/c-d-v0"]
        bench.measure(ids, [1, 8], 1.0, None, bench.Rows(ids, [1, 8]))
        told = [*seen[1:], capsys.readouterr()]
        for k, (id, n) in enumerate([(ids[0], 1), (ids[0], 8), (ids[1], 1), (ids[1], 8)]):
            assert re.search(rf"{id} +{n} |{n} x {id}$", told[k].out, re.MULTILINE)
            assert f"timing {n} x {id} ({k + 1} of 4)" in seen[k].err
        assert max(len(line) for one in told for line in one.out.splitlines()) <= int(width)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["info", "dmc/cartpole-swinup-v0"], "Did you mean dmc/cartpole-swingup-v0"),
        (["info", "nowhere:cartpole-swingup"], "neither a module nor an id 'nowhere'"),
        (["info", "cartpole-swingup", "--set", "pole=2"], "did you mean poles"),
        (["info", "cartpole-swingup", "--set", "poles=two"], "'two' is not int"),
        (["info", "cartpole-swingup", "--set", "sparse=maybe"], "'maybe' is not bool"),
        (["info", "cartpole-swingup", "--set", "poles"], "not of the form name=value"),
        (["info", "cartpole-swingup", "--set", "poles=0"], "must be from 1 to 100"),
        (["info", "cartpole-swingup", "--set", "poles=1", "--set", "poles=2"], "set twice"),
        (["info", "cartpole-swingup", "--set", "dtype=int8"], "none of float32, float64"),
        (["check", "no_such_module"], "neither a module nor an id 'no_such_module'"),
        (["check", "no_such_file.py"], "there is no file no_such_file.py"),
        (["check", "json"], "json registers no ids"),
        (["check", "dmc/pendulum-swngup-v0"], "Did you mean dmc/pendulum-swingup-v0"),
        (["check", "cartpole-swingup", "--set", "pole=2"], "did you mean poles"),
        (["bench", "walker-wlak"], "Did you mean dmc/walker-walk-v0"),
        (["bench", SMALL, "--num-envs", "1,x"], "'1,x' is no list of numbers"),
        (["bench", SMALL, "--backend", "jax"], "'jax' is none of mujoco, warp"),
        (["bench", SMALL, "--seconds", "0"], "--seconds"),
        (["bench", SMALL, "--out", "no/such/folder/x.json"], "there is no such folder"),
    ],
)
def test_wrong_words(words, said):
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert said in re.sub(r"[│\s]+", " ", result.output)


class TestBenchmark:
    def test_the_engine_alone_steps_what_it_says(self):
        subject = benchmark.engine("dmc/pendulum-swingup-v0", 3, threads=2)
        assert subject.control_steps % 3 == 0
        assert subject.control_steps // 3 >= benchmark.PHYSICS_STEPS
        assert not subject.call()
        subject.close()

    def test_the_engine_alone_steps_controllers_as_they_were(self, monkeypatch):
        subject = benchmark.engine("robosuite/Lift-v0", 2, threads=1, seed=7)
        assert subject.control_steps == 12
        env = gymnasium.make("robosuite/Lift-v0").unwrapped
        env.reset(seed=7)
        space = env.action_space
        # The second simulation starts some steps later than the first.
        before = (space.low, space.high, (), space.dtype, benchmark.CYCLE, 7)
        then = (space.low, space.high, (), np.float64, 6, 8)
        for sequence, steps in ((before, benchmark.APART), (then, 6)):
            for action in itertools.islice(benchmark.random_actions(*sequence), steps):
                env.step(action)
        states = []
        take = benchmark.rollout.Rollout.rollout

        def rollout(*arguments, **options):
            take(*arguments, **options)
            states.append(options["state"][1, -1].copy())

        monkeypatch.setattr(benchmark.rollout.Rollout, "rollout", rollout)
        for _ in range(2):
            assert not subject.call()
        subject.close()
        want = np.empty(states[0].shape)
        mujoco.mj_getState(env.model, env.data, want, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        for state in states:
            np.testing.assert_array_equal(state, want)

    def test_subjects_end_with_their_episodes(self):
        for subject in (
            benchmark.single(SMALL, max_episode_steps=3),
            benchmark.batch(SMALL, 2, threads=1, max_episode_steps=3),
        ):
            assert [subject.call() for _ in range(3)] == [False, False, True]
            assert subject.restart is not None
            subject.restart()
            assert not subject.call()
            subject.close()

    def test_resets_count_as_often_as_episodes_end(self, monkeypatch):
        subject = benchmark.Subject(lambda: False, 4, simulations=2)
        monkeypatch.setattr(benchmark, "reset_seconds", lambda subject: 10.0)
        monkeypatch.setattr(benchmark, "seconds_per_step", lambda subject, seconds: 0.5)
        rates = benchmark.rates({"a": subject}, 1.0, episode_steps=10, rounds=2)
        assert rates == {"a": [1.0, 1.0]}  # 0.5 s and a tenth of 10 s / 2

    def test_random_actions_where_there_is_no_range(self):
        low, high = np.array([-1e10, 0.0]), np.array([1e10, 2.0])
        drawn = next(benchmark.random_actions(low, high, (1000,), np.float32, 1, 0))
        assert drawn.dtype == np.float32
        assert np.abs(drawn[:, 0]).max() <= 1
        assert (drawn[:, 1] >= 0).all()
        assert drawn[:, 1].max() > 1

    @pytest.mark.weekly
    def test_a_failure_in_the_other_process_is_told(self):
        with pytest.raises(RuntimeError, match="ValueError"):
            benchmark.memory(SMALL, 2, threads=-1)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """What doctor says of this machine."""
    found: dict[str, Any] = data("doctor")
    return found


@pytest.fixture
def reporting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs doctor on a machine of which a report is true."""

    def run(report: dict[str, Any], *words: str) -> Any:
        monkeypatch.setattr(doctor, "examine", lambda: report)
        return CliRunner().invoke(app, ["doctor", *words])

    return run


class TestDoctor:
    def test_it_reports_this_machine(self, report):
        assert report["fingerprint"] == mjgym.fingerprint(gymnasium.make(diagnosis.SAMPLE))
        assert [b["backend"] for b in report["gl"]][:2] == ["egl", "osmesa"]
        for b in report["gl"]:
            assert b["works"] == (b["error"] is None)
            assert (b["frames_per_second"] is not None) == b["works"]
        assert set(report["peers"]) == set(diagnosis.PEERS)
        assert all(p["problem"] and p["fix"] for p in report["problems"])

    @pytest.mark.weekly
    def test_it_says_how_hooks_run(self, report, reporting):
        hooks = report["hooks"]
        assert hooks["run"] in ("compiled", "arrays")
        assert (hooks["reason"] == "") == (hooks["run"] == "compiled")
        text = " ".join(reporting(report).stdout.split())
        assert ": ".join(filter(None, (hooks["run"], hooks["reason"]))) in text

    @pytest.mark.parametrize(("version", "faults"), [("4.0.0", 1), ("4.0.1", 0)])
    def test_an_engine_with_a_known_fault(self, monkeypatch, engine_version, version, faults):
        engine_version(version)
        monkeypatch.setattr("mjgym.cli.gl.gl_report", lambda: [])
        fixes = [problem["fix"] for problem in diagnosis.examine()["problems"]]
        assert fixes.count(ENGINE_FAULT["fix"]) == faults

    @pytest.mark.parametrize(("llvmlite", "kind"), [(None, "notes"), ("0.50.0", "problems")])
    def test_hooks_that_are_not_compiled(self, monkeypatch, llvmlite, kind):
        monkeypatch.delenv("MJGYM_DISABLE_COMPILED", raising=False)
        said: dict[str, list[Any]] = {"problems": [], "notes": []}
        hooks = {"run": "arrays", "reason": "no reason in particular", "in_numpy": {}}
        diagnosis.judge_hooks(hooks, llvmlite, **said)
        assert len(said[kind]) == sum(map(len, said.values())) == 1
        assert "no reason in particular" in str(said[kind][0])

    def test_text_and_strictness(self, report, reporting):
        report = {**report, "problems": []}
        result = reporting(report, "--strict")
        assert result.exit_code == 0
        assert "no problems" in result.stdout
        report = {**report, "problems": [{"problem": "it is ill", "fix": "make it well"}]}
        assert reporting(report).exit_code == 0
        result = reporting(report, "--strict")
        assert result.exit_code == 1
        assert "problem: it is ill" in result.stdout
        assert "fix: make it well" in result.stdout

    def test_no_opengl_names_the_packages(self):
        backends = [broken("egl", "no libEGL"), broken("osmesa", "no libOSMesa")]
        (problem,) = judged_gl(backends)
        assert "egl: no libEGL; osmesa: no libOSMesa" in problem["problem"]
        assert problem["fix"].endswith(" libegl1 libgl1 libosmesa6")

    def test_a_gpu_that_does_not_draw(self):
        backends = [{**broken("egl"), "renderer": "llvmpipe (LLVM 15)"}]
        gpus = [{"name": "NVIDIA", "driver_version": "570.124.06"}]
        (problem,) = judged_gl(backends, gpus)
        assert "libnvidia-gl-570" in problem["fix"]
        assert judged_gl(backends) == []

    def test_a_backend_that_was_asked_for_in_vain(self, monkeypatch):
        backends = [broken("egl", "no libEGL"), broken("osmesa")]
        monkeypatch.setenv("MUJOCO_GL", "egl")
        (problem,) = judged_gl(backends)
        assert problem["fix"] == "export MUJOCO_GL=osmesa"
        for harmless in ("osmesa", "off", ""):
            monkeypatch.setenv("MUJOCO_GL", harmless)
            assert judged_gl(backends) == []

    def test_a_driver_that_hangs(self):
        (found,) = gl_report(("egl",), timeout=0.01)
        assert found["error"] == "no answer within 0.01 s"
        assert not found["works"]

    @pytest.mark.parametrize(
        ("program", "error"),
        [
            ("import os; os.kill(os.getpid(), 11)", "ended with -11"),
            ("raise RuntimeError('no display')", "RuntimeError: no display"),
        ],
    )
    def test_a_driver_that_dies(self, program, error):
        found = gl.measured(Probe("egl", True), gl.TIMEOUT, program)
        assert found["error"] == error
        assert not found["works"]

    def test_cores_and_load(self):
        machine = {"allowed_cores": 8, "architecture": "x86_64", "features": ["avx2"]}
        problems: list[diagnosis.Problem] = []
        notes: list[str] = []
        diagnosis.judge_cores(machine, 1.0, None, problems, notes)
        assert problems == notes == []
        diagnosis.judge_cores(machine, 20.0, 2.0, problems, notes)
        assert "threads=2" in problems[0]["fix"]
        assert "busy" in notes[0]
        diagnosis.judge_cores({**machine, "features": []}, None, None, problems, notes)
        assert "AVX" in problems[1]["problem"]

    @pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels of another processor")
    def test_narrow_kernels(self):
        program = (
            "from mjgym.cli import diagnosis; notes = [];"
            "about = diagnosis.judge_blas({'features': ['avx512f']}, notes);"
            "assert about['gigaflops'] > 0;"
            "print(about['kernels'], *notes)"
        )
        said = fresh(program, OPENBLAS_CORETYPE="Haswell")
        assert said.startswith("Haswell NumPy's matrix products use Haswell kernels")
        assert "by OPENBLAS_CORETYPE=Haswell" in said

    def test_versions(self):
        problems: list[diagnosis.Problem] = []
        diagnosis.judge_versions(problems)
        assert problems == []
        diagnosis.judge_versions(problems, lambda name: "3.9.1")
        assert [p["problem"].split()[0] for p in problems] == ["mujoco"]

    @pytest.mark.parametrize(
        ("package", "file", "code", "said"),
        [
            (
                "dm_control",
                "sizes.py",
                "{'ten_J_colind': ('nJten',)}",
                "MjModel's now: ten_J_colind",
            ),
            ("metaworld", "env.py", "model.eq_data[i] = weld", "longer now: eq_data in env.py"),
        ],
        ids=["a table of fields", "a longer row"],
    )
    def test_packages_for_mujoco_3(self, monkeypatch, tmp_path, package, file, code, said):
        path = tmp_path / package / file
        path.parent.mkdir(parents=True)
        path.write_text(code)
        about = tmp_path / f"{package}-1.2.dist-info" / "METADATA"
        about.parent.mkdir()
        pinned = "Requires-Dist: mujoco==3.3.0\n"
        about.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n{pinned}")
        (tmp_path / package / "__init__.py").touch()
        monkeypatch.delitem(sys.modules, package, raising=False)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(
            diagnosis, "REMEDIES", {package: diagnosis.REMEDIES[package], "not_installed": ""}
        )
        notes: list[str] = []
        diagnosis.judge_migration(notes)
        (note,) = notes
        assert note.startswith(f"{package} 1.2 is written for MuJoCo 3 (")
        assert said in note
        assert "it requires mujoco==3.3.0" in note
        assert note.endswith(diagnosis.REMEDIES[package].format(package))
        path.write_text(
            "data.M, model.ten_J_colind, kind == mujoco.mjtJoint.mjJNT_FREE, model.eq_data[i, :7]"
        )
        about.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        diagnosis.judge_migration(notes)
        assert notes == [note]

    def test_what_mujoco_4_changed(self):
        """The facts behind the notes, of the engine that is installed."""
        model, data_ = {*dir(mujoco.MjModel)}, {*dir(mujoco.MjData)}
        assert (model | data_).isdisjoint(diagnosis.REMOVED)
        assert model - data_ >= {*diagnosis.MOVED}
        assert np.int32(3) not in (mujoco.mjtJoint.mjJNT_HINGE,)
        assert mujoco.mjtJoint.mjJNT_HINGE == 3
        assert mujoco.mjNEQDATA == 12  # of MuJoCo 3: 11


def broken(backend: str, error: str | None = None) -> dict[str, Any]:
    return {"backend": backend, "works": error is None, "renderer": "a card", "error": error}


def judged_gl(backends: Any, gpus: Any = ()) -> list[diagnosis.Problem]:
    problems: list[diagnosis.Problem] = []
    diagnosis.judge_gl(backends, list(gpus), problems, [], diagnosis.chosen_backend(), "")
    return problems


class TestFingerprint:
    @pytest.mark.weekly
    def test_it_is_the_same_in_another_process(self):
        code = (
            "import gymnasium, json, mjgym;"
            "print(json.dumps(mjgym.fingerprint(gymnasium.make('dmc/point_mass-hard-v0'))))"
        )
        env = gymnasium.make("dmc/point_mass-hard-v0")
        assert json.loads(fresh(code)) == mjgym.fingerprint(env)

    def test_every_physical_number_counts(self):
        env: Any = gymnasium.make("dmc/point_mass-hard-v0")
        before = mjgym.fingerprint(env)["model_sha256"]
        model = env.unwrapped.model
        for array in (model.body_mass, model.geom_friction, model.opt.gravity, model.qpos0):
            old = array.copy()
            array.flat[-1] = np.nextafter(array.flat[-1], np.inf)
            assert mjgym.fingerprint(env)["model_sha256"] != before
            array[...] = old
        model.opt.timestep *= 2
        assert mjgym.fingerprint(env)["model_sha256"] != before
        model.opt.timestep /= 2
        model.geom_rgba[:] = 0.5  # a look
        assert mjgym.fingerprint(env)["model_sha256"] == before

    def test_episodes_do_not_count(self):
        env: Any = gymnasium.make("dmc/point_mass-hard-v0")
        before = mjgym.fingerprint(env)
        rest = model_sha256(env.unwrapped.model)
        env.reset(seed=0)
        assert model_sha256(env.unwrapped.model) != rest  # it varies
        assert mjgym.fingerprint(env) == before
        envs = gymnasium.make_vec("dmc/point_mass-hard-v0", num_envs=2)
        envs.reset(seed=0)
        assert mjgym.fingerprint(envs)["model_sha256"] == before["model_sha256"]

    def test_what_the_user_or_an_option_varies_does_not_count(self):
        @dataclasses.dataclass(frozen=True)
        class Falling(Cart):
            varies = ("opt.gravity",)

            def initialize(self, v, rng):
                super().initialize(v, rng)
                v.opt.gravity[2] = rng.uniform(-10, -9)

        vary = {"body_mass[cart]": Uniform(1, 2), "opt.timestep": Uniform(0.009, 0.011)}
        env = mjgym.Env(Falling(), vary=vary)
        before = mjgym.fingerprint(env)["model_sha256"]
        assert before == model_sha256(compile_model(Cart()))
        for seed in range(2):
            env.reset(seed=seed)
            assert mjgym.fingerprint(env)["model_sha256"] == before

    def test_of_players_and_of_groups(self):
        players = gymnasium.make_vec("soccer/boxhead-1v1-v0", num_envs=2)
        match = gymnasium.make("soccer/boxhead-1v1-v0", opponent="still")
        groups = gymnasium.make_vec(SMALL, num_envs=4, overlap=2)
        for one, other in ((players, match), (groups, gymnasium.make(SMALL))):
            one.reset(seed=0)
            found, same = mjgym.fingerprint(one), mjgym.fingerprint(other)
            assert found["model_sha256"] == same["model_sha256"]
            assert found["hooks"] == same["hooks"]

    def test_what_it_says(self):
        env = gymnasium.make("dmc/cartpole-swingup-v0", poles=2, dtype="float64")
        found = mjgym.fingerprint(env)
        assert (found["id"], found["version"]) == ("dmc/cartpole-swingup-v0", 0)
        assert found["task"] == "mjgym.tasks.dmc.cartpole:Cartpole"
        times = {"time_limit": 10.0, "control_timestep": 0.01}
        assert found["arguments"] == {**times, "swingup": True, "sparse": False, "poles": 2}
        assert found["options"] == {"dtype": "float64"}
        assert found["max_episode_steps"] == 1000
        always = {"mjgym", "mujoco", "numpy", "gymnasium", "python"}
        assert set(found["versions"]) - {"llvmlite", "numba"} == always
        assert found["machine"]["allowed_cores"] >= 1
        assert json.loads(json.dumps(found)) == found

    def test_other_environments_are_refused(self):
        with pytest.raises(TypeError, match="not an environment of mjgym"):
            mjgym.fingerprint(gymnasium.make("CartPole-v1"))
