"""Metrics to Weights & Biases, by its own client, which keeps them in the folder."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.training_runs import ID, trainer
from mjgym.policies.run_errors import RunError
from mjgym_train import metrics

pytestmark = pytest.mark.torch


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


def eventually(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)
    return holds()


def test_without_the_package_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    made = trainer(tmp_path / "run", "wandb=walking", algorithm="td3")
    with pytest.raises(RunError, match=r'pip install -e "\.\[wandb\]"'):
        made.train()
