"""No command takes a damaged file, prints a traceback, takes 10 s or 1 GiB, or leaves anything."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from helpers.lanes import mostly_nightly
from helpers.small_process import run_small

pytestmark = [
    pytest.mark.skipif(
        any(find_spec(name) is None for name in ("h5py", "torch", "yaml")),
        reason="needs h5py, PyTorch and PyYAML",
    ),
    pytest.mark.skipif(sys.platform == "win32", reason="needs fork"),
]

PROGRAM = "from helpers.damaged_inputs import main; main(int(sys.argv[1]), int(sys.argv[2]))"


@pytest.mark.parametrize(
    ("every", "first"),
    mostly_nightly([(12, 5), *((4, k) for k in range(4))], 7, [(12, 5)]),
)
def test_no_damaged_input_is_taken(tmp_path: Path, every: int, first: int) -> None:
    said = run_small(PROGRAM, str(every), str(first), folder=tmp_path)
    tried, faults = json.loads(said.strip().splitlines()[-1])
    assert tried >= 20
    assert not faults, "\n".join(faults)
    assert not list(tmp_path.iterdir())
