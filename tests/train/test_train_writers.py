"""Metrics to Weights & Biases and Trackio, by their own clients, which keep them on the disk."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.training_runs import ID, trainer
from mjgym.policies.run_errors import RunError
from mjgym_train import metrics
from mjgym_train.metrics import RETURN

pytestmark = pytest.mark.torch


@pytest.mark.weekly
def test_weights_and_biases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    made = trainer(tmp_path / "run", "wandb=walking", "tensorboard=false", algorithm="td3")
    made.train()
    (kept,) = (tmp_path / "run" / "wandb").glob("offline-run-*")
    file = next(kept.glob("*.wandb"))
    evaluated = [m for m in made.run_folder.metrics() if m.metric == metrics.RETURN]
    # The client's own process writes the end of the file.
    assert eventually(lambda: file.read_bytes().count(metrics.RETURN.encode()) >= len(evaluated))
    for word in (ID, "walking", json.dumps(evaluated[-1].value)):
        assert word.encode() in file.read_bytes()


@pytest.mark.weekly
def test_trackio(tmp_path: Path) -> None:
    pytest.importorskip("trackio")
    folder = tmp_path / "trackio"
    words = ["trackio=walking", "tensorboard=false"]
    code = (
        "import sys; from pathlib import Path; from helpers.training_runs import trainer\n"
        f"trainer(Path(sys.argv[1]), *{words}, algorithm='td3').train()"
    )
    environment = {**os.environ, "TRACKIO_DIR": str(folder)}
    place = Path(__file__).parents[1]
    words = [sys.executable, "-c", code, str(tmp_path / "run")]
    subprocess.run(words, check=True, cwd=place, env=environment, timeout=300)
    evaluated = [m for m in metrics.read(tmp_path / "run" / "metrics.csv") if m.metric == RETURN]
    with sqlite3.connect(folder / "walking.db") as store:
        logged = [json.loads(text) for (text,) in store.execute("SELECT metrics FROM metrics")]
    assert [line[RETURN] for line in logged if RETURN in line] == [m.value for m in evaluated]


def eventually(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)
    return holds()


@pytest.mark.slow
def test_without_the_package_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    made = trainer(tmp_path / "run", "wandb=walking", algorithm="td3")
    with pytest.raises(RunError, match=r'pip install -e "\.\[wandb\]"'):
        made.train()
