"""Arguments that can be no path, host, seed or class: a sentence, never a traceback."""

import pytest

from helpers.commands import called, refused_call
from helpers.lanes import mostly_nightly

LONG = "a" * 5000
ID = "dmc/cartpole-balance-v0"


@pytest.mark.parametrize(
    ("words", "said"),
    mostly_nightly(
        [
            (("train", "td3", LONG), "there is neither a module nor an id|there is no id"),
            (("train", "collections:Counter", ID), "it is no subclass of"),
            (("evaluate", LONG), "holds no run"),
            (("compare", LONG), "no metrics can be read"),
            (("demo", "--seed", "-1"), "greater than or equal to 0|not in the range"),
            (("compare", ".", "--csv", "nodir/x.csv"), "there is no such folder"),
            (("plan", "CartPole-v1"), "of another package; this takes ids of mjgym alone"),
            (("view", ID, "--policy", "mpi"), "did you mean mppi?"),
            (
                ("view", ID, "--policy", "zero,zero"),
                "for each team, but dmc/cartpole-balance-v0 has no",
            ),
            (
                ("record", ID, "--policy", "zero,zero", "--out", "x.png"),
                "for each team, but dmc/cartpole-balance-v0 has no teams",
            ),
            (("view", ID, "--web", "--host", LONG), "there is no interface"),
            (("teleop", "robosuite/Lift-v0", "--policy", "x"), "no policy follows your commands"),
        ],
        quick=3,
    ),
    ids=lambda words: " ".join(words)[:30] if isinstance(words, tuple) else None,
)
def test_refused_with_a_sentence(words, said):
    if words[0] in ("train", "evaluate"):
        pytest.importorskip("torch")
    if "--host" in words:
        pytest.importorskip("mjviser")
    message = refused_call(*words).replace(" ", "")
    assert any(part.replace(" ", "") in message for part in said.split("|"))


@pytest.mark.parametrize("words", [("x.hdf5", ""), ("", "x"), ("", "")], ids=str)
def test_an_empty_name_of_a_dataset(words, tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    from mjgym import datasets

    monkeypatch.chdir(tmp_path)
    for name in words:
        if not name:
            with pytest.raises(datasets.DemonstrationError, match="name is empty"):
                datasets.load(name)
    assert "empty" in called("convert", "", "x", code=1).stderr
    teleop = called("teleop", "robosuite/Lift-v0", "--web", "--record", "", code=1)
    assert "name is empty" in teleop.stderr
