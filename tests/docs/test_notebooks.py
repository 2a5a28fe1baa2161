"""The notebooks: without outputs, and each runs from top to bottom."""

import json
import os
import sys

import pytest

from helpers.forks import run_alone
from helpers.lanes import mostly_nightly
from helpers.places import SCRIPTS

NOTEBOOKS = sorted((SCRIPTS / "tutorials").glob("*.ipynb"))


def cells(notebook, kind):
    book = json.loads(notebook.read_text())
    return [cell for cell in book["cells"] if cell["cell_type"] == kind]


def program(notebook):
    """Its code as one program, which trains for few steps: an episode in each sub-environment."""
    code = "\n".join("".join(cell["source"]) for cell in cells(notebook, "code"))
    return code.replace("20_000, 1_000", "4_000, 9_000")


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["first_steps", "own_task", "train_and_look"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped(notebook):
    for cell in cells(notebook, "code"):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
    assert "".join(cells(notebook, "markdown")[0]["source"]).startswith("# ")


@pytest.mark.gl
@pytest.mark.parametrize("notebook", mostly_nightly(NOTEBOOKS, 3), ids=lambda path: path.stem)
def test_it_runs(notebook, tmp_path):
    path = tmp_path / "notebook.py"
    path.write_text(program(notebook))
    search = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": search, "MPLBACKEND": "agg"}
    done = run_alone([sys.executable, str(path)], tmp_path, environment)
    assert done.returncode == 0, done.stderr
