"""Policies for other programs: a graph of ONNX, and a folder of the Hugging Face hub."""

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import yaml

from helpers.small_process import fresh
from helpers.training_runs import SMALL_REPLAY, mjgym_, trainer
from mjgym.policies import network as policies
from mjgym.policies import trained
from mjgym.policies.network import EnsemblePolicy, Policy, PolicyError
from mjgym_train import model_card, onnx_graph

ID = "dmc/walker-walk-v0"  # has a bundled policy
SEEN = "dmc/ball_in_cup-catch-v0"  # has one that acts by images


def layers(rng: np.random.Generator, sizes: list[int], *, norm: bool) -> policies.Layers:
    found = []
    for k, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        found.append(
            {"weight": rng.normal(size=(outputs, inputs)), "bias": rng.normal(size=outputs)}
        )
        if norm and k < len(sizes) - 2:
            found.append({"weight": rng.normal(size=outputs), "bias": rng.normal(size=outputs)})
    return [{name: array.astype(np.float32) for name, array in layer.items()} for layer in found]


def vectors(*, norm: bool, history: int, limit: float | None) -> Policy:
    rng = np.random.default_rng(0)
    return Policy(
        layers(rng, [5 * history, 16, 8, 3], norm=norm),
        rng.normal(size=5).astype(np.float32),
        rng.uniform(0.5, 2, 5).astype(np.float32),
        np.array([-1, -2, 0], np.float32),
        np.array([1, 3, 0.5], np.float32),
        history,
        limit=limit,
    )


def pictures(history: int) -> Policy:
    rng = np.random.default_rng(1)
    size, channels, features = (36, 40, 3), 4, 6
    encoder, inputs, (height, width) = [], 3 * history, size[:2]
    for stride in policies.STRIDES:
        weight = rng.normal(size=(channels, inputs, 3, 3)) / 6
        encoder.append({"weight": weight, "bias": rng.normal(size=channels)})
        inputs, height, width = channels, (height - 3) // stride + 1, (width - 3) // stride + 1
    linear = rng.normal(size=(features, channels * height * width)) / 6
    encoder.append({"weight": linear, "bias": rng.normal(size=features)})
    encoder.append({"weight": rng.normal(size=features), "bias": rng.normal(size=features)})
    last = layers(rng, [features, 8, 2], norm=True)
    last[-1]["weight"] /= 10  # the tanh is not saturated
    return Policy(
        last,
        np.full(size, policies.GREY, np.float32),
        np.full(size, policies.WHITE, np.float32),
        np.full(2, -1, np.float32),
        np.full(2, 1, np.float32),
        history,
        [{name: array.astype(np.float32) for name, array in layer.items()} for layer in encoder],
    )


def by_onnx(policy: Policy, observations: np.ndarray) -> np.ndarray:
    runtime = pytest.importorskip("onnxruntime")
    content = onnx_graph.graph_of(policy, "test").SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    past = [observations[:1]] * (policy.history - 1)
    found = []
    for observation in observations:
        past = [*past[1 - policy.history :], observation[None]] if policy.history > 1 else []
        rows = np.stack(past, 1) if past else observation[None]
        rows = rows.astype(np.uint8 if policy.encoder else np.float32)
        found.append(session.run(None, {onnx_graph.INPUT: rows})[0][0])
    return np.array(found)


@pytest.mark.parametrize(
    "policy",
    [
        vectors(norm=True, history=1, limit=None),
        vectors(norm=False, history=1, limit=1.0),
        vectors(norm=True, history=3, limit=2.0),
    ],
    ids=["plain", "clipped, without norms", "history"],
)
def test_a_graph_acts_as_the_policy_does(policy: Policy) -> None:
    observations = np.random.default_rng(2).normal(scale=2, size=(6, 5)).astype(np.float32)
    by_numpy = np.array([policy(observation) for observation in observations])
    assert by_onnx(policy, observations) == pytest.approx(by_numpy, abs=1e-5)


@pytest.mark.parametrize("history", [1, 2])
def test_a_graph_sees_pictures(history: int) -> None:
    policy = pictures(history)
    seen = np.random.default_rng(3).integers(0, 256, (4, 36, 40, 3))
    by_numpy = np.array([policy(picture) for picture in seen])
    assert np.ptp(by_numpy, 0).min() > 1e-4
    assert by_onnx(policy, seen) == pytest.approx(by_numpy, abs=1e-5)


def test_a_bundled_policy_as_a_graph(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    mjgym_("export", ID, "--onnx", tmp_path / "walk.onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(tmp_path / "walk.onnx"))
    policy = trained.bundled(ID).policy
    rows = np.random.default_rng(0).normal(size=(3, policy.mean.size)).astype(np.float32)
    (found,) = session.run(None, {onnx_graph.INPUT: rows})
    assert found == pytest.approx(policy(rows), abs=1e-5)
    done = mjgym_("export", ID, "--onnx", tmp_path / "walk.onnx", code=1)
    assert "is there already" in done.output


def assert_acts_by_images(file: Path, policy: Policy, id: str, arguments: dict[str, Any]) -> None:
    """The graph takes the images of an environment, the last of its decisions, and acts by them."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(file))
    env = gymnasium.make(id, **arguments)
    observation, _ = env.reset(seed=0)
    (seen,), history = session.get_inputs(), [observation] * policy.history
    assert (seen.name, seen.type) == ("observation", "tensor(uint8)")
    assert seen.shape[1:] == [policy.history, *observation.shape]
    for _ in range(4):
        history = [*history[1:], observation]
        (found,) = session.run(None, {seen.name: np.stack(history)[None]})
        for _ in range(policy.repeat):
            assert found[0] == pytest.approx(policy(observation), abs=1e-5)
            observation, *_ = env.step(found[0])
    env.close()


@pytest.mark.gl
def test_a_bundled_policy_that_acts_by_images(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    words = "export", SEEN, "--pixels"
    mjgym_(*words, "--onnx", tmp_path / "catch.onnx", "--hub", tmp_path / "hub")
    bundled = trained.bundled(SEEN, pixels=True)
    assert_acts_by_images(tmp_path / "catch.onnx", bundled.policy, SEEN, bundled.about.arguments)
    kept = json.loads((tmp_path / "hub" / model_card.RESULTS).read_text())
    assert kept["returns"] == list(bundled.about.returns)
    assert "observation='pixels'" in (tmp_path / "hub" / model_card.CARD).read_text()
    said = mjgym_(*words, "--deploy", tmp_path / "robot", code=1).output
    assert "only a policy of flat observations can be deployed: --onnx and --hub" in said
    assert mjgym_(*words, "--envhub", tmp_path / "task", code=2)


@pytest.mark.gl
@pytest.mark.weekly
@pytest.mark.torch
def test_a_run_that_learned_from_images(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    seen = ("env.observation=pixels", "env.pixels={width: 32, height: 32}", "channels=4")
    words = [*SMALL_REPLAY, *seen, "history=2", "action_repeat=2", "evaluations=0"]
    run = trainer(tmp_path / "run", *words, algorithm="td3", id=SEEN, steps=80)
    run.train()
    mjgym_("export", tmp_path / "run", "--onnx", tmp_path / "run.onnx")
    policy, arguments = run.run_folder.policy(), run.config.env
    assert_acts_by_images(tmp_path / "run.onnx", policy, SEEN, arguments)


def test_an_ensemble_is_refused() -> None:
    with pytest.raises(PolicyError, match="only the policy of one agent"):
        onnx_graph.graph_of(EnsemblePolicy([vectors(norm=True, history=1, limit=None)], []), "two")


def metadata(folder: Path) -> dict:
    _, front, _ = (folder / model_card.CARD).read_text().split("---\n", 2)
    found: dict = yaml.safe_load(front)
    return found


def test_a_bundled_policy_as_a_folder_of_the_hub(tmp_path: Path) -> None:
    mjgym_("export", ID, "--hub", tmp_path / "hub")
    about = trained.bundled(ID).about
    (result,) = metadata(tmp_path / "hub")["model-index"][0]["results"]
    assert result["metrics"][0]["value"] == f"{about.mean:.2f} +/- {about.std:.2f}"
    kept = json.loads((tmp_path / "hub" / model_card.RESULTS).read_text())
    assert kept["returns"] == list(about.returns)
    assert len(kept["seeds"]) == len(kept["returns"])
    policy = policies.load(tmp_path / "hub" / model_card.POLICY)
    rows = np.zeros((2, policy.mean.size), np.float32)
    assert np.array_equal(policy(rows), trained.bundled(ID).policy(rows))
    done = mjgym_("export", ID, "--hub", tmp_path / "hub", code=1)
    assert "is there already" in done.output
    assert "--onnx FILE, --hub FOLDER, --deploy DIR or" in mjgym_("export", ID, code=2).output


@pytest.mark.weekly
def test_what_comes_down_from_the_hub_acts_and_is_scored(tmp_path: Path) -> None:
    """The hub, here a folder, hands back a folder's files as they are."""
    mjgym_("export", ID, "--hub", tmp_path / "walker")
    hub, down = tmp_path / "hub", tmp_path / "down"
    shutil.copytree(tmp_path / "walker", hub)
    shutil.rmtree(tmp_path / "walker")
    shutil.copytree(hub, down)
    (code,) = re.findall(r"```python\n(.*?)```", (down / model_card.CARD).read_text(), re.DOTALL)
    code += "print(env.action_space.contains(act(observation)))"
    assert fresh(code, folder=down) == "True\n"
    done = mjgym_("evaluate", down / model_card.POLICY, "--id", ID, "--episodes", 2, "--json")
    returns = json.loads((down / model_card.RESULTS).read_text())["returns"]
    assert json.loads(done.output)["returns"] == pytest.approx(returns[:2], abs=1e-3)


def test_a_card_makes_the_environment_that_a_policy_has_learned_in() -> None:
    text = model_card.Card(ID, env={"observation": "dict"}).text()
    assert f"gym.make(\"{ID}\", observation='dict')" in text


@pytest.mark.weekly
@pytest.mark.torch
def test_a_run_as_a_folder_of_the_hub(tmp_path: Path) -> None:
    made = trainer(tmp_path / "run", algorithm="td3")
    made.train()
    mjgym_("export", tmp_path / "run", "--hub", tmp_path / "unscored")
    assert "model-index" not in metadata(tmp_path / "unscored")
    scored = {"mean": 2.0, "returns": [1.0, 3.0], "seeds": [7, 8]}
    made.run_folder.write_json(made.run_folder.evaluation_file, scored)
    mjgym_("export", tmp_path / "run", "--hub", tmp_path / "scored")
    (result,) = metadata(tmp_path / "scored")["model-index"][0]["results"]
    assert result["metrics"][0]["value"] == "2.00 +/- 1.00"
    settings = yaml.safe_load((tmp_path / "scored" / model_card.SETTINGS).read_text())
    assert settings["algorithm"] == "td3"


@pytest.mark.parametrize(
    "cloned", [{"chunk": 2}, {"modes": 2}, {"memory": {"bias_ih_l0": np.zeros(3)}}], ids=str
)
def test_what_a_cloned_policy_acts_by_is_not_left_out(cloned: dict[str, Any]) -> None:
    layers = [{"weight": np.zeros((4, 2)), "bias": np.zeros(4)}]
    policy = Policy(layers, *np.zeros((2, 2)), *np.zeros((2, 2)), **cloned)
    with pytest.raises(PolicyError, match="cannot be written as ONNX"):
        onnx_graph.graph_of(policy, "cloned")
