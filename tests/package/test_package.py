"""The wheel: what is in it, and that it works without the checkout."""

import email
import importlib.util
import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

import mjgym
from helpers.forks import LIBRARIES, Forks
from helpers.guide_code import need, needs_gl, pages, program, sections
from helpers.guide_code import run as run_code
from helpers.lanes import mostly_nightly
from helpers.places import ASSETS, ROOT, SCRIPTS, SOURCE
from helpers.registered import packaged_ids

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def inherited():
    """The environment variables without those that would lead into the checkout."""
    return {n: v for n, v in os.environ.items() if not n.startswith(("PYTHON", "PIP_REQUIRE"))}


def run(*command, folder, **environment):
    """Run a command outside of the checkout and its environment variables; what it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**inherited(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from the checkout: without the network where the build backend is here."""
    folder = tmp_path_factory.mktemp("wheel")
    backend = all(map(importlib.util.find_spec, ("hatchling", "hatch_fancy_pypi_readme")))
    isolation = ["--no-build-isolation"] if backend else []
    path = os.pathsep.join(sys.path)  # so that the backend is found wherever it is installed
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", *isolation),
        *("--wheel-dir", folder, ROOT),
        folder=folder,
        **({"PYTHONPATH": path} if isolation else {}),
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The Python of an environment that has the wheel, and an empty folder to run it in.

    Of the running environment it sees the dependencies, and not the package, which is there in
    editable form: a .pth file adds their folder to the search path after its own, and Python reads
    no further .pth files, such as the editable one, in folders that are added so.
    """
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", folder=folder)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [sys.executable, "-m", "pip", "--python", python]
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, folder=folder)
    packages = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder
    )
    dependencies = {
        str(Path(importlib.util.find_spec(name).origin).parents[1])
        for name in ("gymnasium", "mujoco", "numpy", "array_api_compat")
    }
    Path(packages.strip(), "dependencies.pth").write_text("\n".join(sorted(dependencies)))
    empty = folder / "empty"
    empty.mkdir()
    return python, empty


@pytest.fixture(scope="module")
def forks(installed):
    """What runs programs in that environment, where only the package is imported anew."""
    return Forks(installed[0], LIBRARIES, inherited())


@pytest.mark.wheel
class TestWheel:
    def test_holds_the_package_its_assets_and_its_licence_and_nothing_else(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
        info = f"{wheel.name.split('-py3')[0]}.dist-info"
        packaged = {n for n in names if not n.startswith(f"{info}/")}

        def files(folder, prefix):
            return {
                f"{prefix}/{path.relative_to(folder).as_posix()}"
                for path in folder.rglob("*")
                if path.is_file() and "__pycache__" not in path.parts
            }

        source = {"mjgym_command.py"}
        for name in ("mjgym", "mjgym_compat", "mjgym_fast", "mjgym_train"):
            source |= files(SOURCE / name, name)
        assets = files(ASSETS, "mjgym/assets")
        for folder in ("tutorials", "examples"):
            assets |= files(SCRIPTS / folder, f"mjgym/scripts/{folder}")
        assert {"mjgym/py.typed", "mjgym/__init__.py", "mjgym/sim/views.py"} < source
        assert {"mjgym/assets/dmc/walker.xml", "mjgym/assets/dmc/common/visual.xml"} < assets
        checkout = {n for n in assets if fnmatch(n, "mjgym/assets/baselines/scores/*.npz")}
        assert packaged == source | assets - checkout
        assert f"{info}/licenses/LICENSE" in names

    def test_an_editable_install_leaves_no_package_without_code(self, tmp_path):
        """A folder mjgym/assets in site-packages would be imported as an empty mjgym."""
        pytest.importorskip("hatchling")
        program = (
            "import sys; from hatchling.builders.wheel import WheelBuilder;"
            "print(*WheelBuilder(sys.argv[1]).build(directory=sys.argv[2], versions=['editable']))"
        )
        path = os.pathsep.join(sys.path)
        command = (sys.executable, "-c", program, ROOT, tmp_path)
        built = run(*command, folder=ROOT, PYTHONPATH=path).strip()  # where it reads the README
        with zipfile.ZipFile(built) as archive:
            names = archive.namelist()
            (link,) = [name for name in names if name.endswith(".pth")]
            assert archive.read(link).decode().split() == [str(SOURCE)]
        assert [name for name in names if name.startswith("mjgym/")] == []

    def test_the_licence_is_the_checkouts(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [n for n in archive.namelist() if n.endswith("/LICENSE")]
            assert archive.read(name) == (ROOT / "LICENSE").read_bytes()

    def test_says_what_the_project_says(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            (path,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
            metadata = email.message_from_bytes(archive.read(path))
        assert metadata["Name"] == "mjgym"
        assert metadata["Version"] == mjgym.__version__
        assert metadata["Requires-Python"] == ">=3.11"
        assert metadata["License-Expression"] == "Apache-2.0"
        required = [r for r in metadata.get_all("Requires-Dist") if "extra ==" not in r]
        name = re.compile(r"[\w.-]+")
        assert {name.match(r)[0] for r in required} == {
            name.match(d)[0] for d in PROJECT["dependencies"]
        }
        assert set(metadata.get_all("Provides-Extra")) == {
            extra.replace("_", "-") for extra in PROJECT["optional-dependencies"]
        }

    def test_its_page_links_to_the_repository(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            (path,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
            page = email.message_from_bytes(archive.read(path)).get_payload()
        links = re.findall(r'(?:href="|src="|\]\(|^\[\w+\]: )([^")\s]+)', page, re.MULTILINE)
        assert len(links) > 20
        assert [link for link in links if not link.startswith("https://")] == []

    def test_works_outside_of_the_checkout(self, installed):
        python, empty = installed
        program = """
            import json, sys
            from pathlib import Path
            import gymnasium
            import mjgym
            from mjgym.mjcf import asset_path
            env = gymnasium.make("mjgym:dmc/walker-walk-v0", dtype="float64")
            env.reset(seed=0)
            observation, *_ = env.step(0 * env.action_space.sample())
            envs = gymnasium.make_vec("dmc/quadruped-escape-v0", num_envs=2)
            envs.reset(seed=0)
            envs.step(envs.action_space.sample())
            print(json.dumps({
                "prefix": sys.prefix,
                "package": mjgym.__file__,
                "assets": str(asset_path("dmc/walker.xml")),
                "version": mjgym.__version__,
                "ids": mjgym.registry.ids(namespace="dmc"),
                "observation": observation.tolist(),
                "checkout": [m.__file__ for m in list(sys.modules.values())
                    if str(getattr(m, "__file__", "")).startswith(sys.argv[1])],
            }))
        """
        facts = json.loads(run(python, "-c", textwrap.dedent(program), str(SOURCE), folder=empty))
        prefix = Path(facts["prefix"])
        assert prefix.parent == empty.parent
        for place in ("package", "assets"):
            assert Path(facts[place]).is_relative_to(prefix), facts[place]
        assert facts["checkout"] == []
        assert facts["version"] == mjgym.__version__
        assert facts["ids"] == mjgym.registry.ids(namespace="dmc")
        assert list(empty.iterdir()) == []
        import gymnasium

        env = gymnasium.make("dmc/walker-walk-v0", dtype="float64")
        env.reset(seed=0)
        expected, *_ = env.step(0 * env.action_space.sample())
        assert facts["observation"] == expected.tolist()

    @pytest.mark.weekly
    def test_every_model_compiles(self, installed):
        python, empty = installed
        program = """
            import mjgym
            for id in mjgym.registry.ids(namespace="dmc"):
                registration = mjgym.registry.registration(id)
                registration.task_class(**registration.fields).model().compile()
                print(id)
        """
        compiled = run(python, "-c", textwrap.dedent(program), folder=empty).split()
        assert compiled == mjgym.registry.ids(namespace="dmc")

    @pytest.mark.parametrize(
        "page", mostly_nightly(pages(apart=False), 7), ids=lambda page: page.stem
    )
    def test_the_code_of_every_guide_runs(self, forks, page, tmp_path):
        """In one session, top to bottom; that of guides with an extra runs in `test_guides`."""
        if needs_gl(page) and os.environ.get("MUJOCO_GL") in ("disable", "off"):
            pytest.skip("no OpenGL here")
        done = run_code(program(page), tmp_path, inherited(), forks)
        assert done.returncode == 0, done.stderr

    @pytest.mark.parametrize("title", mostly_nightly(sections(apart=False), 6))
    def test_the_code_of_every_client_runs(self, forks, title, tmp_path):
        """That of clients which other tests cannot have beside them runs in `test_clients`."""
        need(title)
        done = run_code(sections(apart=False)[title], tmp_path, inherited(), forks)
        assert done.returncode == 0, done.stderr

    @pytest.mark.weekly
    def test_gallery_tutorials_and_clips_are_there(self, installed):
        python, empty = installed
        command = next(python.parent.glob("mjgym*"))
        page = Path(run(command, "gallery", "--path", folder=empty).strip())
        assert page.is_relative_to(python.parents[1])
        pictures = re.findall(r'<img src="([^"]+)"', page.read_text())
        assert len(pictures) == len(packaged_ids())
        assert all((page.parent / picture).is_file() for picture in pictures)
        tutorial = run(command, "guide", "creatures", "--markdown", folder=empty)
        assert tutorial == (ROOT / "scripts/tutorials/creatures.py").read_text() + "\n"
        shown = json.loads(run(command, "mocap", "walk", "--json", folder=empty))
        assert Path(shown["clip"]).is_relative_to(python.parents[1])

    def test_the_command_runs(self, installed):
        python, empty = installed
        command = next(python.parent.glob("mjgym*"))
        assert "Usage" in run(command, "--help", folder=empty, COLUMNS="80", NO_COLOR="1")


def test_the_version_stands_in_one_place():
    assert "version" not in PROJECT
    assert "version" in PROJECT["dynamic"]
    places = [*ROOT.glob("*.toml"), ROOT / "CITATION.cff", ROOT / "README.md"]
    assert not [path for path in places if f'"{mjgym.__version__}"' in path.read_text()]
