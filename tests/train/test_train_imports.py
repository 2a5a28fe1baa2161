"""Runs and policies are read and scored without PyTorch."""

import ast
import functools
from pathlib import Path

import pytest

from helpers.small_process import fresh

SOURCE = Path(__file__).parents[2] / "src"
WITHOUT_TORCH = sorted(
    path for name in ("mjgym/policies", "mjgym_train") for path in (SOURCE / name).glob("*.py")
)
NEEDS_EXTRA = "deployed_controller"  # of the extra [deploy], imported by its command


def name_of(path):
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def nodes(tree, *, deferred):
    """Statements of a module; with those of its functions if `deferred`, never those for types."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not deferred:
            continue
        yield node
        yield from nodes(node, deferred=deferred)


@functools.cache
def imports(path, *, deferred):
    """Names of the modules that a file imports; a module's packages are imported with it."""
    found = set()
    for node in nodes(ast.parse(path.read_text(encoding="utf-8")), deferred=deferred):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if file_of(full) else node.module)
    return found


def file_of(module):
    path = SOURCE.joinpath(*module.split("."))
    candidates = path.with_suffix(".py"), path / "__init__.py"
    return next((file for file in candidates if file.is_file()), None)


@pytest.mark.parametrize("path", WITHOUT_TORCH, ids=lambda path: path.stem)
def test_no_import_of_pytorch_or_of_learning(path):
    named = imports(path, deferred=True)
    assert not [m for m in named if m.split(".")[0] == "torch" or m.startswith("mjgym_train.learn")]
    left, seen = list(imports(path, deferred=False)), set()
    while left:  # all that their own import brings with it
        module = left.pop()
        if module in seen:
            continue
        seen.add(module)
        assert module.split(".")[0] != "torch", f"{path.name} imports PyTorch by way of {seen}"
        parents = [module.rsplit(".", n)[0] for n in range(module.count(".") + 1)]
        for file in filter(None, map(file_of, {module, *parents})):
            left += imports(file, deferred=False)


@pytest.mark.weekly
def test_scores_without_pytorch_in_a_fresh_interpreter():
    program = "\n".join(
        [
            "import sys",
            "class Missing:",
            "    def find_spec(self, name, path=None, target=None):",
            "        if name.split('.')[0] == 'torch':",
            "            raise ImportError('torch is not installed')",
            "sys.meta_path.insert(0, Missing())",
            *(f"import {name_of(path)}" for path in WITHOUT_TORCH if path.stem != NEEDS_EXTRA),
            "from mjgym.policies import trained",
            "from mjgym_train import evaluation",
            "policy = trained.bundled('dmc/cartpole-swingup-v0').policy",
            "envs = evaluation.make('dmc/cartpole-swingup-v0', 2, 1, max_episode_steps=3)",
            "assert evaluation.evaluate(policy, envs, (1, 2)).lengths.tolist() == [3, 3]",
            "assert 'torch' not in sys.modules",
        ]
    )
    fresh(program)


@pytest.mark.weekly
def test_commands_of_training_can_be_imported_first():
    """As another process does that unpickles one of their functions."""
    program = (
        "import mjgym_train.cli.train; from mjgym.cli.app import app;"
        "assert 'train' in {command.name for command in app.registered_commands}"
    )
    fresh(program)
