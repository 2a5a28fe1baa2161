"""A file is data: what a stranger sends runs no code, and what is wrong with it is named."""

import json
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

from helpers import hostile
from helpers.hostile import ID, LEARNERS, OWN, ROBOSUITE, RUNS, SPECS
from helpers.lanes import mostly_nightly
from mjgym import datasets
from mjgym.cli.app import app
from mjgym.datasets import DemonstrationError
from mjgym.policies import network as policy
from mjgym.policies import trained
from mjgym.task import registrations
from mjgym.util import code_references

needs_h5py = pytest.mark.skipif(find_spec("h5py") is None, reason="needs h5py")


@pytest.fixture(autouse=True)
def _tempted(tmp_path, monkeypatch):
    """A working folder with code that nothing may run, importable by name and by path."""
    hostile.tempt(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "evil", raising=False)  # of an earlier test
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    yield
    assert not Path("PWNED").exists()
    assert "evil" not in sys.modules


def refused(*arguments):
    """What a command says that ends with an error of its own, in one line."""
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code in (1, 2), done.output
    assert isinstance(done.exception, SystemExit), repr(done.exception)
    return " ".join(done.output.replace("│", " ").split())


# Runs.


COMMANDS = {
    "evaluate": ("run", "--episodes", 1, "--num-envs", 1),
    "export": ("run", "--onnx", "p.onnx"),
    "ensemble": ("run", "run", "--by", "mean", "--out", "p.npz"),
}
ONLY_MADE = {"task class, bare", "entry point"}  # no reference to code: make refuses them


@pytest.mark.parametrize(
    ("command", "case"),
    mostly_nightly(
        [(c, case) for c in COMMANDS for case in RUNS if c == "evaluate" or case not in ONLY_MADE],
        quick=8,
    ),
)
def test_a_run_names_code(case, command):
    hostile.run_folder(Path("run"), RUNS[case])
    refused(command, *COMMANDS[command])


@pytest.mark.parametrize(
    "words",
    mostly_nightly(
        [
            ["info"],
            ["check"],
            ["demo"],
            ["bench"],
            ["view", "--web"],
            ["record", "--out", "f.png"],
            ["demos", "--out", "x.hdf5"],
        ],
        quick=4,
    ),
    ids=lambda words: words[0],
)
def test_an_id_of_a_run_is_not_looked_for_in_the_working_folder(words):
    for number, id in enumerate((OWN, f"evil:{OWN}", "evil.py", f"./evil.py:{OWN}")):
        folder = hostile.run_folder(Path(f"run{number}"), {"id": id})
        assert "not registered" in refused(words[0], folder, *words[1:])


@pytest.mark.torch
@pytest.mark.parametrize("how", ["resume", "config"])
@pytest.mark.parametrize("case", mostly_nightly(LEARNERS, quick=2))
def test_settings_of_a_learner_name_code(case, how):
    pytest.importorskip("torch")
    hostile.run_folder(Path("run"), LEARNERS[case])
    words = ("--out", "run", "--resume") if how == "resume" else ("--out", "new")
    if how == "config":
        import yaml

        Path("own.yaml").write_text(yaml.safe_dump(LEARNERS[case], allow_unicode=True))
        words = (*words, "--config", "own.yaml")
    assert "--trust" in refused("train", "td3", ID, *words, "--steps", 9)


def test_a_setting_of_the_command_line_vouches_for_no_other():
    """A part of what is typed is not what the file names."""
    pytest.importorskip("torch")
    hostile.run_folder(Path("run"), {"critic": "evil:C"})
    words = ("--out", "run", "--resume", "env.name=xevil:Cx")
    assert "--trust" in refused("train", "td3", ID, *words)


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("evil:X", "evil"),
        ("evil:", "evil"),
        ("evil:Ä", "evil"),
        ("évil.sub:X.Y", "évil.sub"),
        ("evil.py", "evil.py"),
        ("a/evil.py:own/x-v0", "a/evil.py"),
        ("cuda:0", ""),
        ("lerobot:demos", ""),
        ("menagerie:franka_emika_panda", ""),
        ("https://x.org", ""),
        ("a sentence: with a colon", ""),
        (":X", ""),
        ("panda", ""),
    ],
)
def test_what_is_a_reference_to_code(text, module):
    assert code_references.module_of(text) == module
    assert code_references.outside({"a": [text]}) == ([text] if module else [])


@pytest.mark.parametrize("text", ["evil", "evil:", ".evil:X", "evil:X Y", "cuda:evil", "evil.py"])
def test_nothing_else_is_imported(text):
    with pytest.raises(ValueError, match="is not of the form"):
        code_references.load(text)


# Datasets.


@needs_h5py
@pytest.mark.parametrize("case", mostly_nightly(SPECS, quick=2))
def test_a_dataset_names_code(case):
    changed = SPECS[case]
    hostile.hdf5(Path("s.hdf5"), hostile.recorded(**changed))
    said = refused("replay", "s.hdf5", "--check")
    assert "Traceback" not in said
    refused("convert", "s.hdf5", "t.hdf5")
    assert not Path("t.hdf5").exists()


MINE = """
from dataclasses import dataclass
from mjgym.task import register
from mjgym.tasks.dmc.cartpole import Cartpole

@register("own/mine-v0")
@dataclass(frozen=True)
class Mine(Cartpole):
    pass
"""


@needs_h5py
def test_a_dataset_of_a_task_of_ones_own_names_its_module(tmp_path):
    facts = hostile.recorded(id="own/mine-v0", kwargs={"task_class": "mine_of_this_test:Mine"})
    hostile.hdf5(Path("s.hdf5"), facts)
    assert "mine_of_this_test:Mine" in refused("replay", "s.hdf5", "--check")
    (tmp_path / "mine_of_this_test.py").write_text(MINE)
    done = CliRunner().invoke(app, ["replay", "s.hdf5", "--check", "--module", "mine_of_this_test"])
    assert "names code" not in done.output
    assert "episode 0" in done.output
    for known in (registrations, gymnasium.registry):
        known.pop("own/mine-v0")
    sys.modules.pop("mine_of_this_test")


@needs_h5py
@pytest.mark.parametrize("case", ROBOSUITE)
def test_demonstrations_of_robosuite_name_code(case):
    hostile.robosuite_hdf5(Path("s.hdf5"), ROBOSUITE[case])
    refused("replay", "s.hdf5", "--check")
    hostile.robosuite_hdf5(Path("t.hdf5"), ROBOSUITE[case], "env_info")
    refused("replay", "t.hdf5", "--check")


@needs_h5py
@pytest.mark.parametrize("case", mostly_nightly(hostile.EPISODES, quick=5))
def test_an_episode_is_damaged(case):
    hostile.hdf5(Path("s.hdf5"), hostile.recorded(), hostile.EPISODES[case])
    found = datasets.load("s.hdf5")
    if not found.count:
        return  # it is no whole episode
    with pytest.raises(DemonstrationError):
        found.episode(0).check(found.environment())
    refused("convert", "s.hdf5", "t.hdf5") if "states" not in case and "wide" not in case else None


@needs_h5py
@pytest.mark.parametrize("how", ["external link", "soft link", "circle", "external storage"])
def test_an_episode_lies_elsewhere(how):
    import h5py

    Path("secret").write_bytes(bytes(24))
    hostile.hdf5(Path("s.hdf5"), hostile.recorded(), {"rewards": None})
    with h5py.File("s.hdf5", "a") as file:
        demo = file["data/demo_0"]
        if how == "external link":
            demo["rewards"] = h5py.ExternalLink("other.hdf5", "/x")
        elif how == "soft link":
            demo["rewards"] = h5py.SoftLink("/data/demo_0/actions")
        elif how == "circle":
            demo["rewards"] = np.zeros(3)
            demo["state/again"] = demo
        else:
            demo.create_dataset("rewards", (3,), "f8", external=[("secret", 0, 24)])
    with pytest.raises(DemonstrationError, match=r"leads|contains itself"):
        datasets.load("s.hdf5").episode(0)


@pytest.mark.parametrize("case", SPECS)
def test_a_minari_dataset_names_code(case):
    minari = pytest.importorskip("minari")
    from helpers.demonstrations import random_demos

    random_demos("evil-v0", episodes=1, id=ID)
    file = next(Path("minari").rglob("metadata.json"))
    metadata = json.loads(file.read_text())
    metadata["env_spec"] = json.dumps(hostile.recorded(**SPECS[case])["spec"])
    file.write_text(json.dumps(metadata))
    assert minari
    refused("replay", "evil-v0", "--check")
    del metadata["observation_space"]  # Minari would make the environment to ask it
    file.write_text(json.dumps(metadata))
    refused("replay", "evil-v0", "--check")


# Policies.

BAD = {
    "weight NaN": {"0.weight": np.nan},
    "bias infinite": {"0.bias": np.inf},
    "mean text": {"mean": "evil"},
    "mean complex": {"mean": 1j},
    "mean infinite": {"mean": np.inf},
    "deviation 0": {"deviation": 0.0},
    "deviation negative": {"deviation": -1.0},
    "low above high": {"low": 9.0},
    "high NaN": {"high": np.nan},
    "limit negative": {"limit": np.array(-5.0)},
    "limit NaN": {"limit": np.array(np.nan)},
    "limit two": {"limit": np.ones(2)},
    "repeat 1e12": {"repeat": np.array(10**12)},
    "repeat half": {"repeat": np.array(0.5)},
    "history 1e12": {"history": np.array(10**12)},
    "history text": {"history": np.array("evil")},
    "chunk 0": {"chunk": np.array(0)},
    "modes 1e12": {"modes": np.array(10**12)},
    "ensembling NaN": {"ensembling": np.array(np.nan), "chunk": np.array(1)},
    "activation": {"activation": np.array("evil:X")},
    "objects": {"mean": np.array([{}], dtype=object)},
}


@pytest.mark.parametrize("case", mostly_nightly(BAD, quick=2))
def test_a_policy_is_damaged(case):
    arrays = dict(trained.bundled(ID).policy.arrays())
    for name, value in BAD[case].items():
        shaped = not isinstance(value, np.ndarray)
        arrays[name] = np.full(np.shape(arrays[name]), value) if shaped else value
    np.savez("p.npz", **arrays)
    with pytest.raises(policy.PolicyError):
        policy.load("p.npz")
    refused("evaluate", "p.npz", "--id", ID)


def test_an_entry_that_nothing_needs_is_not_read():
    trained.bundled(ID).policy.save("p.npz")
    with zipfile.ZipFile("p.npz", "a") as archive:
        archive.writestr("unused.npy", b"nonsense that no reader may look at")
    assert policy.load("p.npz").mean.shape == (5,)


def test_an_entry_that_promises_too_much():
    trained.bundled(ID).policy.save("p.npz")
    header = b"\x93NUMPY\x01\x00v\x00"
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000), }"
    with zipfile.ZipFile("p.npz", "a") as archive:
        archive.writestr("7.weight.npy", header + text.ljust(117) + b"\n")
    with pytest.raises(policy.PolicyError, match="promises"):
        policy.load("p.npz")


# Models.

MODELS = {
    "replicate": '<replicate count="100000000"><geom size="1"/></replicate>',
    "replicates in replicates": '<replicate count="2000"><replicate count="2000"><site/>'
    "</replicate></replicate>",
    "deep": "<body>" * 20_000 + "</body>" * 20_000,
    "free bodies": "<body><freejoint/><geom size='1'/></body>" * 3000,
}
ASSETS = {
    "cone": '<mesh name="m" builtin="cone" params="200000000 0.5"/>',
    "supertorus": '<mesh name="m" builtin="supertorus" params="30000 0.5 1 1"/>',
    "plate": '<mesh name="m" builtin="plate" params="30000 30000"/>',
    "cube": '<texture name="t" type="cube" builtin="flat" width="12000" height="12000"/>',
    "many textures": "".join(
        f'<texture name="t{i}" type="2d" builtin="flat" width="9000" height="9000"/>'
        for i in range(8)
    ),
    "device": '<mesh name="m" file="/dev/zero"/>',
    "height field": '<hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/>',
    "texture": '<texture name="t" type="2d" builtin="flat" width="100000" height="100000"/>',
}


@pytest.mark.parametrize("case", mostly_nightly([*MODELS, *ASSETS], quick=4))
def test_a_model_asks_for_too_much(case):
    from mjgym import mjcf

    asset, body = ASSETS.get(case, ""), MODELS.get(case, "")
    text = f"<mujoco><asset>{asset}</asset><worldbody>{body}</worldbody></mujoco>"
    Path("m.xml").write_text(text)
    Path("good.xml").write_text("<mujoco/>")
    Path("outer.xml").write_text('<mujoco><include file="m.xml"/></mujoco>')
    attach = '<asset><model name="m" file="m.xml"/></asset>'
    Path("attaches.xml").write_text(f"<mujoco>{attach}</mujoco>")
    for name in ("m.xml", "outer.xml", "attaches.xml"):
        with pytest.raises(ValueError, match=r"m\.xml:1: "):
            mjcf.load(name)
    assert "m.xml:1:" in refused("mjcf", "check", "m.xml")
    refused("mjcf", "diff", "good.xml", "m.xml")


WHOLE = {
    "user sensor": '<sensor><user dim="300000000"/></sensor>',
    "history": '<actuator><general joint="j" nsample="200000000" delay="1"/></actuator>',
    "history of a class": '<default><general nsample="200000000" delay="1"/></default>'
    '<actuator><general joint="j"/></actuator>',
    "activation": '<actuator><general joint="j" actdim="900000000" dyntype="user"/></actuator>',
    "user data of bodies": '<size nuser_body="200000000"/>',
    "keyframes": '<size nkey="200000000"/>',
    "hexadecimal": '<size nuserdata="0x7fffffff"/>',
    "memory": '<size memory="1000G"/>',
    "numbers": '<custom><numeric name="n" size="500000000" data="1"/></custom>',
    "rangefinder": '<worldbody><camera name="c" resolution="30000 30000"/></worldbody>'
    '<sensor><rangefinder camera="c"/></sensor>',
    "flex": '<worldbody><flexcomp name="f" type="grid" dim="3" count="600 600 600"/></worldbody>',
    "iterations": '<option iterations="1000000000"/>',
    "range of lengths": '<compiler><lengthrange inttotal="1e12"/></compiler>',
    "device": '<include file="/dev/zero"/>',
}


@pytest.mark.parametrize("case", WHOLE)
def test_a_whole_model_asks_for_too_much(case):
    from mjgym import mjcf

    body = '<worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>'
    path = Path("m.xml").absolute()  # which is no asset of the package
    path.write_text(f"<mujoco>{body}{WHOLE[case]}</mujoco>")
    with pytest.raises(ValueError, match=r"m\.xml:1: "):
        mjcf.load(path)


def test_models_that_attach_two_models_each_ask_for_too_much():
    for k in range(40):
        twice = "".join(f'<model name="{name}" file="m{k + 1}.xml"/>' for name in "ab")
        Path(f"m{k}.xml").write_text(f"<mujoco><asset>{twice}</asset></mujoco>")
    Path("m40.xml").write_text("<mujoco/>")
    refused("mjcf", "check", "m0.xml")


@needs_h5py
@pytest.mark.parametrize("place", ["data", "data/demo_0", "data/demo_0/actions"])
def test_a_dataset_lies_in_another_file(place):
    import h5py

    hostile.hdf5(Path("secret.hdf5"), hostile.recorded())
    hostile.hdf5(Path("s.hdf5"), hostile.recorded())
    with h5py.File("s.hdf5", "r+") as file:
        del file[place]
        file[place] = h5py.ExternalLink("secret.hdf5", f"/{place}")
    refused("replay", "s.hdf5", "--check")
    refused("convert", "s.hdf5", "t.hdf5")
    assert not Path("t.hdf5").exists()


@needs_h5py
@pytest.mark.parametrize(
    "kwargs", [{"render_mode": "human"}, {"poles": 10**7}, {"poles": 10**400}], ids=str
)
def test_a_dataset_asks_for_a_window_or_too_much(kwargs):
    hostile.hdf5(Path("s.hdf5"), hostile.recorded(kwargs=kwargs))
    refused("replay", "s.hdf5", "--check")
