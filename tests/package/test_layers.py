"""Who may import whom, and what happens when the package is imported: nothing."""

import ast
import collections
import functools
import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

from helpers.places import ASSETS, SOURCE
from helpers.small_process import fresh

# The layers of the design: a file imports from the layers below its own and from its own row. A row
# is a folder or a module, the longest that stands here; "mjgym" is the package itself.
LAYERS = {
    "arrays": 0,
    "hilly_ground": 0,
    "mocap": 0,
    "rewards": 0,
    "rotations": 0,
    "util": 0,
    "version": 0,
    "actions": 1,
    "sim": 1,
    "sim.bounds": 1,
    "sim.fields": 1,
    "sim.single": 1,
    "variation": 1,
    "mjcf": 1,
    "muscles": 1,
    "observables": 1,
    "placements": 1,
    "resets": 1,
    "controllers": 1,
    "robots": 1,
    "entities": 2,
    "task": 2,
    "task.models": 2,
    "task.visuals": 2,
    "tasks": 3,
    "describe": 4,
    "envs": 4,
    "loop": 4,
    "rendering": 4,
    "checks.array_libraries": 4,
    "checks.benchmark": 5,
    "describe.fingerprint": 5,
    "mjgym": 5,
    "registry": 5,
    "checks": 6,
    "cli": 6,
    "datasets": 6,
    "envs.wrappers": 6,
    "planning": 6,
    "policies": 6,
    "viewing": 6,
    "mjgym_compat": 7,
    "mjgym_compat.dm_control": 7,  # wraps walkers and floor plans
    "mjgym_fast": 7,
    "mjgym_train": 7,
    "mjgym_train.cli": 7,
    "mjgym_train.learn": 7,
}
BELOW = {0: {0}, 1: {0, 1}, 2: {0, 1, 2}, 3: {0, 1, 2}, 4: {0, 1, 2, 4}, 5: {0, 1, 2, 3, 4, 5}}
BELOW[6] = BELOW[5] | {6}
BELOW[7] = BELOW[6] | {7}

# What else is forbidden: rows that a row's files do not touch although they lie below it.
NEVER = {
    "registry": {"sim", "mjcf", "resets"},
    "checks.benchmark": {"tasks"},
    "describe.fingerprint": {"tasks"},
    "cli": {"sim", "tasks"},
    "datasets": {"sim", "tasks", "viewing"},
    "planning": {"sim", "tasks", "viewing", "datasets", "cli"},
    "policies": {"sim", "tasks", "viewing"},
    "viewing": {"sim", "tasks"},
    "mjgym_compat": {"sim", "tasks", "mjgym_fast", "mjgym_train", "mjgym_train.learn"},
    "mjgym_compat.dm_control": {"sim", "mjgym_fast", "mjgym_train", "mjgym_train.learn"},
    "mjgym_fast": {"tasks", "mjgym_compat", "mjgym_train", "mjgym_train.learn"},
    "mjgym_train": {"sim", "tasks", "mjgym_compat", "mjgym_fast", "mjgym_train.learn"},
    "mjgym_train.cli": {"sim", "tasks", "mjgym_compat", "mjgym_fast"},
    "mjgym_train.learn": {"sim", "tasks", "mjgym_compat", "mjgym_fast"},
}

# Packages of others that a row may import, besides NumPy; a row that is not here may import any.
PACKAGES = {
    "actions": {"mujoco"},
    "arrays": {"array_api_compat"},
    "hilly_ground": set(),
    "rewards": {"array_api_compat"},
    "rotations": {"array_api_compat"},
    "util": {"yaml"},
    "version": set(),
    "mocap": {"h5py"},
    "observables": set(),
    "placements": set(),
    "variation": {"mujoco"},
    "sim": {"mujoco", "mujoco_warp", "warp", "torch", "array_api_compat"},
    "sim.bounds": {"mujoco"},
    "sim.fields": {"mujoco"},
    "mjcf": {"mujoco", "lxml"},
    "resets": {"mujoco"},
    "robots": {"mujoco", "mujoco_menagerie"},
    "controllers": {"array_api_compat"},
    "entities": set(),
    "task": set(),
    "task.models": {"mujoco"},
    "task.visuals": {"mujoco"},
    "tasks": set(),
    "loop": set(),
    "envs": {"gymnasium", "mujoco", "pettingzoo", "torch"},
    "describe": {"gymnasium", "mujoco"},
    "rendering": {"gymnasium", "imageio", "mujoco", "PIL"},
    "registry": {"gymnasium"},
    "planning": {"mujoco"},
    "policies": {"onnx", "yaml"},
    "mjgym_fast": {"llvmlite", "mujoco", "numba"},
    "mjgym": {"mujoco"},  # whose import depends on MUJOCO_GL, which it explains
}

PACKAGE_NAMES = ("mjgym", "mjgym_compat", "mjgym_fast", "mjgym_train")

# Of the low layers, what imports by name.
IMPORTERS = (
    "mjgym.util.catalogue",
    "mjgym.util.code_references",
    "mjgym.util.packaged",
    "mjgym.util.plugins",
)

ENGINE_CALL = re.compile(r"mj[a-z]?_")
ENGINE_OR_PRIVATE = re.compile(r"mj[a-z]?_|_")
PRIVATE_OF_VIEW = re.compile(r"(v|view)\._[a-z]\w*")


def row(module):
    """The row of a module: "rewards" of "mjgym.rewards", "mjgym_train" of "mjgym_train.run"."""
    parts = module.split(".")
    parts = parts[1:] if parts[0] == "mjgym" else parts
    longest = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((r for r in longest if r in LAYERS), parts[0] if parts else "mjgym")


@functools.cache
def is_module(name, root):
    path = root.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def imports(nodes, module, root):
    """Every import among the nodes of a file: (line, module or name, as absolute)."""
    package = module if (root.joinpath(*module.split(".")) / "__init__.py").is_file() else None
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = (package or module.rpartition(".")[0]).split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [base])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield node.lineno, full if is_module(full, root) else f"{base}:{alias.name}"


def is_read(node):
    """Select what these rules read: imports, names in strings, names private or the engine's."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and "." in node.value
    if isinstance(node, ast.Attribute | ast.Name):
        return ENGINE_OR_PRIVATE.match(name_in(node)) is not None
    return isinstance(node, ast.Import | ast.ImportFrom | ast.If)


def name_in(node):
    return node.attr if isinstance(node, ast.Attribute) else node.id


@functools.cache
def nodes_of(text):
    """The nodes of a module that the rules read; its tree is not kept: all trees are a million."""
    return tuple(filter(is_read, ast.walk(ast.parse(text))))


def violations(path, root=SOURCE):
    """What a file below `root` does that its layer may not, as sentences."""
    shown = path.relative_to(root)
    module = ".".join(shown.with_suffix("").parts).removesuffix(".__init__")
    own = row(module)
    if own not in LAYERS:
        return [f"{shown}: no layer is given to it; add it to LAYERS here and to the design"]
    nodes = nodes_of(path.read_text(encoding="utf-8"))
    found = []
    for line, imported in imports(nodes, module, root):
        target, _, name = imported.partition(":")
        where = f"{shown}:{line}: a file of {own!r} (layer {LAYERS[own]})"
        top = target.split(".")[0]
        if top in PACKAGE_NAMES:
            found += [f"{where} {reason}" for reason in _inside(module, target, name)]
        elif top not in sys.stdlib_module_names | {"numpy"}:
            if own in PACKAGES and top not in PACKAGES[own]:
                allowed = ", ".join(sorted(PACKAGES[own] | {"numpy"}))
                found.append(f"{where} imports {top}; it may import {allowed}")
        elif LAYERS[own] <= 3 and top == "importlib" and module not in IMPORTERS:
            found.append(f"{where} imports importlib, which would hide from this test")
    if own == "tasks":
        for node in nodes:
            if not isinstance(node, ast.Attribute | ast.Name):
                continue
            name = name_in(node)
            if ENGINE_CALL.match(name):
                where = f"{shown}:{node.lineno}"
                found.append(f"{where}: a task calls {name}; it gets all it needs from its view")
            private = isinstance(node, ast.Attribute) and name.startswith("_")
            if private and PRIVATE_OF_VIEW.fullmatch(ast.unparse(node)):
                found.append(f"{shown}:{node.lineno}: {ast.unparse(node)} is private to the view")
    return list(dict.fromkeys(found))


def _inside(module, target, name):
    own, other = row(module), row(target)
    if name.startswith("_") and not name.endswith("__") and target != module:
        yield f"imports {name}, which is private to {target}"
    if other not in LAYERS:
        yield f"imports {target}, which has no layer"
    elif own == other == "tasks":
        family, others = module.split(".")[2:3], target.split(".")[2:3]
        if family != others:
            yield f"imports {target}, which belongs to another family of tasks"
    elif own != other and (
        LAYERS[other] not in BELOW[LAYERS[own]] or other in NEVER.get(own, set())
    ):
        layers = ", ".join(str(n) for n in sorted(BELOW[LAYERS[own]]))
        but = f" but not {', '.join(sorted(NEVER[own]))}" if own in NEVER else ""
        yield (
            f"imports {target} of {other!r} (layer {LAYERS[other]});"
            f" it may import from layers {layers}{but}"
        )


FILES = sorted(path for name in PACKAGE_NAMES for path in (SOURCE / name).rglob("*.py"))
ROOMS = sorted({path.parent.relative_to(SOURCE).as_posix() for path in FILES})


def graph(root=SOURCE):
    """The modules that each module imports, at its top or in a function, but not for types only.

    Packages count by what their own `__init__` holds: `from mjgym.sim import View` needs all that
    `mjgym.sim` imports, and the package of a module is no import of the module's own.
    """
    edges = {}
    for path in sorted(path for name in PACKAGE_NAMES for path in (root / name).rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        nodes = nodes_of(path.read_text(encoding="utf-8"))
        typed = {
            inner
            for node in nodes
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
            for child in node.body
            for inner in ast.walk(child)
        }
        shown = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom) if n not in typed]
        targets = {name.partition(":")[0] for _, name in imports(shown, module, root)}
        # Names in strings, which `import_module` takes.
        targets |= {
            node.value.partition(":")[0]
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value
        }
        edges[module] = {t for t in targets if t != module and t.split(".")[0] in PACKAGE_NAMES}
    return {module: targets & edges.keys() for module, targets in edges.items()}


def circles(edges):
    """Groups of modules that import each other, by way of others or at once."""
    order, low, stack, found = {}, {}, [], []

    def visit(module):
        order[module] = low[module] = len(order)
        stack.append(module)
        for target in sorted(edges.get(module, ())):
            if target not in order:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], order[target])
        if low[module] == order[module]:
            group = []
            while not group or group[-1] != module:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for module in sorted(edges):
        if module not in order:
            visit(module)
    return found


def test_no_modules_import_each_other():
    found = circles(graph())
    assert not found, "\n".join(", ".join(group) for group in found)


def test_a_circle_is_found(tmp_path):
    package = tmp_path / "mjgym"
    package.mkdir()
    for name, text in {
        "__init__": "",
        "a": "from mjgym import b",
        "b": "def f():\n    from mjgym.c import g",
        "c": "import mjgym.a",
        "d": "import mjgym.a\nif TYPE_CHECKING:\n    import mjgym.e",
        "e": "import mjgym.d",
    }.items():
        (package / f"{name}.py").write_text(text)
    assert circles(graph(tmp_path)) == [["mjgym.a", "mjgym.b", "mjgym.c"]]


# What others name: the file of a command is called as the command, one of mjgym_compat as the
# published module that it stands for. The place of a task's class is part of its fingerprint.
NAMED_BY_OTHERS = {"mjgym_compat", "cli"}
NAMED_TWICE = {"soccer"}


def test_no_two_modules_have_the_same_name():
    ours = [path for path in FILES if not NAMED_BY_OTHERS & set(path.relative_to(SOURCE).parts)]
    files = [path.stem for path in ours if not path.stem.startswith("__")]
    folders = {path.parent.name for path in ours}
    names = collections.Counter([*files, *folders])
    assert {name for name, count in names.items() if count > 1} == NAMED_TWICE


def test_the_guide_has_these_layers():
    guide = (ASSETS / "guides" / "architecture.md").read_text()
    rows = re.findall(r"^\| (\d) \| (`.*`) \|", guide, re.MULTILINE)
    listed = {name: int(layer) for layer, names in rows for name in re.findall(r"`(.+?)`", names)}
    assert listed.items() <= LAYERS.items()
    within = {name: listed.get(name.rpartition(".")[0]) for name in set(LAYERS) - set(listed)}
    assert within == {name: LAYERS[name] for name in within}  # as the room that they are part of


def test_there_are_files():
    names = {path.relative_to(SOURCE).as_posix() for path in FILES}
    assert {"mjgym/rewards.py", "mjgym/tasks/dmc/walker.py", "mjgym_train/run.py"} < names


@pytest.mark.parametrize("room", ROOMS)
def test_files_import_only_from_lower_layers(room):
    found = [said for path in FILES if path.parent == SOURCE / room for said in violations(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("rewards.py", "import mujoco", "imports mujoco; it may import array_api_compat, numpy"),
        ("rotations.py", "from mjgym.sim import View", "layer 0.*imports mjgym.sim of 'sim'"),
        ("resets.py", "import gymnasium", "imports gymnasium"),
        ("sim/views.py", "from mjgym.tasks.dmc import walker", "imports mjgym.tasks.dmc.walker"),
        ("task/contract.py", "import mujoco", "imports mujoco; it may import numpy"),
        ("tasks/dmc/walker.py", "import mujoco.batch as b", "imports mujoco"),
        ("tasks/dmc/walker.py", "from mjgym import Env", "imports mjgym of 'mjgym'"),
        ("tasks/dmc/walker.py", "from mjgym.tasks.locomotion import ant", "another family"),
        ("tasks/dmc/walker.py", "from ..locomotion import ant", "another family"),
        ("tasks/dmc/walker.py", "def f(v):\n    v.mj_step()", "walker.py:2: a task calls mj_step"),
        ("tasks/dmc/walker.py", "x = v._model.nq", "v._model is private to the view"),
        ("tasks/dmc/walker.py", "import importlib", "hide"),
        ("envs/vector.py", "from mjgym import registry", "imports mjgym.registry"),
        ("registry.py", "from mjgym.sim import Single", "but not .*sim"),
        ("cli/app.py", "from mjgym.sim import Single", "imports mjgym.sim"),
        ("sim/views.py", "from mjgym_fast import arms", "imports mjgym_fast"),
        ("cli/app.py", "from mjgym.registry import _load", "_load, which is private"),
        ("novelty.py", "", "no layer is given to it"),
        ("envs/env.py", "import mjgym.novelty", "which has no layer"),
    ],
)
def test_what_a_violation_looks_like(file, text, complaint, tmp_path):
    for folder in ("sim", "task", "envs", "mjcf", "tasks/dmc", "tasks/locomotion", "cli"):
        (tmp_path / "mjgym" / folder).mkdir(parents=True)
        (tmp_path / "mjgym" / folder / "__init__.py").touch()
    for name in ("envs/env", "registry", "novelty", "tasks/dmc/walker", "cli/app"):
        (tmp_path / "mjgym" / f"{name}.py").touch()
    (tmp_path / "mjgym" / "tasks" / "locomotion" / "ant.py").touch()
    path = tmp_path / "mjgym" / file
    path.write_text(text)
    found = violations(path, tmp_path)
    assert len(found) == 1, found
    assert re.search(complaint, found[0]), found


# Runs in a fresh interpreter. The libraries that the package stands on are imported first: what
# they do is their own affair (MuJoCo imports glfw, if it is there).
IMPORT = """
import json, logging, os, random, sys, threading

happened = []

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        writes = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
        if flags & writes:
            happened.append(f"wrote {path}")
    elif event in ("os.mkdir", "os.rename", "os.remove", "shutil.copyfile", "tempfile.mkstemp"):
        happened.append(f"{event} {arguments[0]}")
    elif event in ("socket.connect", "subprocess.Popen", "os.fork", "os.system", "os.putenv"):
        happened.append(f"{event} {arguments[:2]}")

def libraries():
    maps = open("/proc/self/maps") if os.path.exists("/proc/self/maps") else ()
    return {os.path.basename(line.split()[-1]) for line in maps if "/" in line}

import numpy, gymnasium, mujoco

config = lambda: [getattr(mujoco.MjLogConfig.get(), n) for n in ("logto_console", "logto_file")]
legacy = lambda: [numpy.array(part).tolist() for part in numpy.random.get_state()]
state = lambda: {
    "environment": dict(os.environ),
    "numpy's generator": legacy(),
    "Python's generator": str(random.getstate()),
    "working directory": os.getcwd(),
    "the engine's log": config(),
    "threads": threading.active_count(),
    "floating point": str(numpy.geterr()) + str(numpy.get_printoptions()),
    "recursion limit": sys.getrecursionlimit(),
    "search path": sys.path[:],
}
earlier, modules, mapped = state(), set(sys.modules), libraries()
sys.addaudithook(watch)

import mjgym

done = happened[:]
later = state()
loggers = [logging.root, *(logging.getLogger(name) for name in logging.root.manager.loggerDict)]
handlers = [
    f"{logger.name}: {handler}"
    for logger in loggers
    for handler in logger.handlers
    if not isinstance(handler, logging.NullHandler)
]
print(json.dumps({
    "happened": done,
    "changed": [name for name in earlier if earlier[name] != later[name]],
    "handlers": handlers,
    "level": logging.root.level,
    "modules": sorted(set(sys.modules) - modules),
    "libraries": sorted(libraries() - mapped),
    "ids": len([i for i in gymnasium.registry if i.startswith("dmc/")]),
}))
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """What `import mjgym` did to a fresh interpreter."""
    folder, home = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("home")
    kept = {n: v for n, v in os.environ.items() if n not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    environment = {**kept, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(IMPORT)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    facts["said"] = done.stdout.splitlines()[:-1] + done.stderr.splitlines()
    facts["left"] = [p.name for place in (folder, home) for p in place.rglob("*")]
    return facts


class TestImport:
    def test_registers_the_ids(self, imported):
        assert imported["ids"] > 40
        assert "mjgym.envs.env" in imported["modules"]  # the facts are those of this import

    def test_loads_only_what_every_environment_needs(self, imported):
        others = (
            *("OpenGL", "glfw", "mujoco.cgl", "mujoco.egl", "mujoco.glfw", "mujoco.osmesa"),
            *("mujoco.studio", "mujoco.viewer", "dm_env", "imageio", "jax", "matplotlib", "rich"),
            *("torch", "typer", "yaml"),
        )
        modules = imported["modules"]
        assert [m for m in modules if any(f"{m}.".startswith(f"{name}.") for name in others)] == []

    def test_loads_no_opengl_library(self, imported):
        pattern = re.compile(r"lib(EGL|GLX?|GLdispatch|OpenGL|OSMesa|glfw|X11)\b")
        assert [name for name in imported["libraries"] if pattern.match(name)] == []

    def test_changes_nothing_global(self, imported):
        """The environment, the random generators, the engine's log, threads, ..."""
        assert imported["changed"] == []

    def test_configures_no_logging(self, imported):
        assert imported["handlers"] == []
        assert imported["level"] == 30  # WARNING, as Python starts

    def test_writes_no_file_and_starts_nothing(self, imported):
        assert imported["happened"] == []
        assert imported["left"] == []

    def test_says_nothing(self, imported):
        assert imported["said"] == []


@pytest.mark.weekly
def test_environments_need_no_opengl():
    """Not even the Python packages of it; only pictures do."""
    program = """
        import sys

        class Missing:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in ("glfw", "OpenGL"):
                    raise ImportError(f"{name} is not installed")

        sys.meta_path.insert(0, Missing())
        import gymnasium
        import mjgym
        env = gymnasium.make("dmc/walker-walk-v0")
        env.reset(seed=0)
        env.step(env.action_space.sample())
        envs = gymnasium.make_vec("dmc/walker-walk-v0", num_envs=2)
        envs.reset(seed=0)
        envs.step(envs.action_space.sample())
        assert not [name for name in sys.modules if name.split(".")[0] in ("glfw", "OpenGL")]
    """
    fresh(program)
