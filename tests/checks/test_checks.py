"""`mjgym.checks`: good tasks pass, and each way to break one is found and explained."""

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers.lanes import mostly_nightly
from helpers.small_process import run_small
from mjgym import Task, checks
from mjgym.checks.of_names import check_names
from mjgym.mjcf import Spec
from mjgym.task import Signal, registrations

ID = "checked/slider-push-v0"
XML = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <site name="target" pos="1 0 0"/>
    <body name="slider">
      <joint name="slide" type="slide" axis="1 0 0" damping="1" range="-2 2"/>
      <joint name="lift" type="slide" axis="0 0 1" damping="1" stiffness="10"/>
      <geom name="ball" size=".1" mass="1"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="push" joint="slide" ctrlrange="-1 1"/>
    <motor name="raise" joint="lift" ctrlrange="-1 1"/>
  </actuator>
</mujoco>
"""


@dataclass(frozen=True)
class Good(Task):
    """Push a slider to a target.

    Reward: 1 / (1 + distance to the target, m).

    Start: uniform within 1 m.

    Observation: `position` of the slider (m); `velocity` of the slider (m/s).
    """

    reach: float = 1.0  # m, how far off an episode starts

    time_limit = 1.0  # s
    control_timestep = 0.02  # s
    xml: ClassVar[str] = XML

    def model(self) -> Spec:
        return Spec.from_string(self.xml)

    def initialize(self, v, rng):
        v.qpos[0] = rng.uniform(-self.reach, self.reach)

    def observation(self, v):
        return {"position": v.qpos, "velocity": v.qvel}

    def terms(self, v):
        return {"near": 1 / (1 + abs(v.qpos[..., 0] - 1))}


@dataclass(frozen=True)
class Falling(Good):
    """Push a slider to a target, under another gravity in each episode.

    Reward: 1 / (1 + distance to the target, m).

    Start: uniform within 1 m.

    Observation: `position` of the slider (m); `velocity` of the slider (m/s).
    """

    varies = ("opt.gravity",)

    def initialize(self, v, rng):
        super().initialize(v, rng)
        v.opt.gravity[2] = rng.uniform(-10, -9)


@dataclass(frozen=True)
class Remembers(Good):
    """With everything that a task may use."""

    varies = ("site_pos",)

    def initialize(self, v, rng):
        super().initialize(v, rng)
        v.site("target").pos[0] = rng.uniform(-1, 1)

    def memory(self, v):
        return {"start": v.qpos[..., 0]}

    def terms(self, v):
        moved = abs(v.qpos[..., 0] - v.memory["start"])
        return {**super().terms(v), "moved": 1 / (1 + moved), "constant": 1.0}

    def success(self, v):
        return abs(v.qpos[..., 0] - v.site("target").xpos[..., 0]) < 0.1

    def terminated(self, v):
        return v.qpos[..., 0] > 1.9


@dataclass(frozen=True)
class Helped(Good):
    """With methods that its hooks call, whatever their names, and one that is like no hook."""

    def terms(self, v):
        return {"near": self.compute_reward(v)}

    def compute_reward(self, v):
        return 1 / (1 + abs(self.act(v)))

    def act(self, v):
        return v.qpos[..., 0] - 1

    def distance(self, v):
        return self.act(v)


# --- what can go wrong; the docstring is what the check must say ---


class Starts(Good):
    """determinism: does not repeat"""

    def initialize(self, v, rng):
        v.qpos[0] = np.random.uniform(-1, 1)


CALLS = []


class Counts(Good):
    """determinism: in the module"""

    def observation(self, v):
        CALLS.append(0)
        return {"position": v.qpos + len(CALLS), "velocity": v.qvel}


class Mixes(Good):
    """single = batch: observation[0] (position, slide)"""

    def observation(self, v):
        return {"position": v.qpos - v.qpos.mean(axis=0), "velocity": v.qvel}


class Sums(Good):
    """batch shapes: terms(): 'near': expected shape (5,), got shape ()"""

    def terms(self, v):
        return {"near": v.qpos.mean()}


class Lefts(Good):
    """batch shapes: index from the right"""

    def terms(self, v):
        return {"near": v.qpos[0]}


class Allocates(Good):
    """batch shapes: must begin with v.lead"""

    def observation(self, v):
        return {"position": np.zeros(2), "velocity": v.qvel}


class Decides(Good):
    """batch shapes: instead of `if`"""

    def terms(self, v):
        return {"near": v.qpos[..., 0] if v.qpos[..., 0] > 0 else 0.0}


class Converts(Good):
    """batch shapes: Hooks run for all simulations at once"""

    def terms(self, v):
        return {"near": float(v.qpos[..., 0])}


class Roots(Good):
    """reward: near = nan"""

    def terms(self, v):
        return {"near": np.sqrt(-1 - v.qpos[..., 0] ** 2)}


class Divides(Good):
    """reward: not finite in random step 1: reward() = nan"""

    def reward(self, terms):
        return terms["near"] * np.nan


class Observes(Good):
    """finite: its observation is not finite in 'position'"""

    def observation(self, v):
        return {"position": v.qpos + np.array([0, np.inf]), "velocity": v.qvel}


class Explodes(Good):
    """finite: diverges"""

    xml = XML.replace('stiffness="10"', 'stiffness="1e9"').replace('damping="1" s', "s")

    def initialize(self, v, rng):
        v.qpos[1] = 1


class Writes(Good):
    """hooks: copy one before changing it in place"""

    def observation(self, v):
        position = v.qpos
        position += 1e-3
        return {"position": position, "velocity": v.qvel}


class Vectors(Good):
    """build: terms(): 'near': expected shape (), got shape (2,)"""

    def terms(self, v):
        return {"near": v.qpos}


class Cuts(Good):
    """hooks: copy one before changing it in place"""

    def truncated(self, v):
        v.qvel[...] = 1.0
        return False


class CutsByAxis(Good):
    """build: truncated(): expected shape (), got shape (1,)"""

    def truncated(self, v):
        return v.qpos[..., :1] > 5


class Ends(Good):
    """build: terminated(): expected bool, got float64"""

    def terminated(self, v):
        return v.qpos[..., 0]


class Moves(Good):
    """varies: varies = ('geom_pos',)"""

    def initialize(self, v, rng):
        v.geom("ball").pos[0] = rng.uniform()


class Splits(Good):
    def observation(self, v):
        return {**super().observation(v), "fraction": v.xp.frexp(v.qpos)[0]}


class Falls(Good):
    """varies: varies = ('geom_rgba', 'opt.gravity')"""

    def initialize(self, v, rng):
        super().initialize(v, rng)
        v.geom("ball").rgba[0] = rng.uniform()
        v.opt.gravity[2] = rng.uniform(-10, -9)


class Hides(Good):
    """snapshot: belongs in memory()"""

    def initialize(self, v, rng):
        super().initialize(v, rng)
        v.forward()  # so that it is not compiled
        object.__setattr__(self, "age", 0)

    def observation(self, v):
        object.__setattr__(self, "age", getattr(self, "age", 0) + 1)
        return {"position": v.qpos + self.age, "velocity": v.qvel}


class Idles(Good):
    """action space: no actuators"""

    xml = XML[: XML.index("<actuator>")] + "</mujoco>"


class Draws(Good):
    """build: other numbers the second time"""

    def model(self):
        return Spec.from_string(XML.replace('mass="1"', f'mass="{np.random.uniform(1, 2)}"'))


class Misspells(Good):
    """build: unrecognized attribute: 'mas'"""

    xml = XML.replace("mass=", "mas=")


@dataclass(frozen=True)
class Halves(Good):
    """build: must be a whole number of physics timesteps"""

    control_timestep = 0.015


class Searches(Good):
    """build: in observation)"""

    def observation(self, v):
        return {"position": v.body("slyder").xpos}


@dataclass(frozen=True)
class Hurries(Good):
    """time limit: time_limit is in seconds"""

    time_limit = 0.02


class Counted(Good):
    """observation names: 1 name for the 2 numbers of 'position'"""

    def labels(self, v):
        return {"position": Signal(names=("slide",))}


class Renamed(Good):
    """observation names: did you mean position"""

    def labels(self, v):
        return {"positions": Signal(names=("a", "b"))}


class Succeeds(Good):
    """hook names: nothing calls sucess(): the hook is success(v)"""

    def sucess(self, v):
        return v.qpos[..., 0] > 1


class IsSuccess(Good):
    """hook names: nothing calls is_success(): the hook is success(v)"""

    def is_success(self, v):
        return v.qpos[..., 0] > 1


class Terminates(Good):
    """hook names: nothing calls terminate(): the hook is terminated(v)"""

    def terminate(self, v):
        return v.qpos[..., 0] > 1


class GetsReward(Good):
    """hook names: nothing calls get_reward(): the hook is terms(v) and reward(terms)"""

    def get_reward(self, v):
        return v.qpos[..., 0]


@dataclass(frozen=True)
class RewardOnly(Task):
    """hook names: nothing calls get_reward(): the hook is terms(v) and reward(terms)"""

    time_limit = 1.0
    control_timestep = 0.02

    def model(self):
        return Spec.from_string(XML)

    def observation(self, v):
        return {"position": v.qpos}

    def get_reward(self, v):
        return v.qpos[..., 0]


class Initialises(Good):
    """hook names: nothing calls initialise(): the hook is initialize(v, rng), which there is too"""

    def initialise(self, v, rng):
        v.qpos[0] = 1


class Resets(Good):
    """hook names: nothing calls reset(): the hook is initialize(v, rng), which there is too"""

    def reset(self, v, rng):
        v.qpos[0] = 1


class ChecksSuccess(Good):
    """hook names: nothing calls _check_success(): the hook is success(v)"""

    def _check_success(self):
        return True


@dataclass(frozen=True)
class VariesAlone(Good):
    """varies: there is no initialize(v, rng)"""

    varies = ("site_pos",)
    initialize = Task.initialize


@dataclass(frozen=True)
class Keeps(Good):
    """build: in terms). What an episode must remember does not belong on the task: memory(v)"""

    def terms(self, v):
        self.count = 1
        return super().terms(v)


class KeepsUnfrozen(Good):
    """frozen: a hook sets self.count. What an episode must remember does not belong on the task"""

    def terms(self, v):
        self.count = 1
        return super().terms(v)


FAILING = [
    KeepsUnfrozen,
    Succeeds, IsSuccess, Terminates, GetsReward, RewardOnly, ChecksSuccess, VariesAlone, Keeps,
    Starts, Counts, Mixes, Sums, Lefts, Allocates, Decides, Converts, Roots, Divides, Observes,
    Explodes, Writes, Vectors, Cuts, CutsByAxis, Ends, Moves, Falls, Hides, Idles, Draws,
    Misspells, Halves, Searches, Hurries, Counted, Renamed,
]  # fmt: skip


class Unknown(Good):
    """observation names: 2 of 4 numbers have no unit: return a Signal for velocity"""

    def observation(self, v):
        return {"position": v.qpos, "velocity": np.asarray(v.qvel, dtype=float)}


class Numpys(Good):
    """array libraries: only NumPy runs it: observation: AttributeError"""

    def observation(self, v):
        return {**super().observation(v), "position": v.qpos.copy()}


class Chooses(Good):
    """array libraries: v.xp.where(d < t, v.xp.zeros_like(d), -1.0)"""

    def terms(self, v):
        return {**super().terms(v), "far": v.xp.where(v.qpos[..., 0] < 0.5, 0.0, -1.0)}


class Undecorated(Good):
    """frozen: put @dataclass(frozen=True) above the class"""


class Twins(Good):
    """observation names: more than one number is called position, slide"""

    def labels(self, v):
        return {"position": Signal(names=("slide", "slide"))}


class Unsaid(Good):
    """observation names: places: say in the docstring what it is"""

    def observation(self, v):
        return {**super().observation(v), "places": v.xpos[..., 1]}


class Promises(Good):
    """observation names: the docstring names place, velocityy, which observation() does not return

    Observation: `position` of the slider (m), of `reach`; `velocity`, m/s; `place` and `velocityy`,
    the same again.
    """


class Anonymous(Good):
    """model names: without a name: joint 1 (of 2)"""

    xml = XML.replace('name="lift"', "").replace('joint="lift"', 'joint="slide"')


class Wide(Good):
    """action space: push: no control range"""

    xml = XML.replace('joint="slide" ctrlrange="-1 1"', 'joint="slide"')


class Rests(Good):
    """varies: did not change site_pos"""

    varies = ("site_pos",)


class Flat(Good):
    """reward: nothing that the actions do changes it"""

    def terms(self, v):
        return {"near": 0 * v.qpos[..., 0] + 0.5}


class Stops(Good):
    """time limit: in the first step"""

    def terminated(self, v):
        return v.qpos[..., 0] < 5


@dataclass(frozen=True)
class Odd(Good):
    """time limit: make it a whole number"""

    time_limit = 0.99


class Logs(Good):
    """finite: divide by zero"""

    def terms(self, v):
        return {"near": np.minimum(1, 1 / (0 * v.qpos[..., 0]))}


class Bangs(Good):
    """finite: with every control at an end of its range"""

    xml = XML.replace(' ctrlrange="-1 1"', ' ctrllimited="true" ctrlrange="-1 1" gear="1e13"')

    def control(self, v, action):
        return action * (abs(action) == 1)


WARNED = [
    Undecorated,
    Initialises,
    Resets,
    Chooses,
    Numpys,
    Unknown,
    Twins,
    Unsaid,
    Promises,
    Anonymous,
    Wide,
    Rests,
    Flat,
    Stops,
    Odd,
    Logs,
    Bangs,
]


@pytest.fixture
def examine():
    """Registers a class for as long as the test runs, and checks it."""

    def forget() -> None:
        registrations.pop(ID, None)
        gymnasium.registry.pop(ID, None)

    def run(cls: type[Task], **kwargs: Any) -> dict[str, list[checks.Finding]]:
        forget()
        mjgym.register(ID)(cls)
        found: dict[str, list[checks.Finding]] = {}
        for finding in checks.check(ID, **kwargs):
            assert finding.id == ID
            found.setdefault(finding.check, []).append(finding)
        return found

    yield run
    forget()


def problems(found: dict[str, list[checks.Finding]]) -> list[checks.Finding]:
    return [f for findings in found.values() for f in findings if f.status != "pass"]


@pytest.mark.parametrize(
    "cls", mostly_nightly([Good, Remembers, Falling], quick=3), ids=lambda c: c.__name__
)
def test_a_good_task_passes_every_check(examine, cls):
    found = examine(cls)
    assert problems(found) == []
    assert len(found) == 19
    assert "50 steps, 1 s" in found["time limit"][0].reason


def test_a_check_whose_package_is_missing_is_skipped():
    code = (
        "import sys; sys.modules['array_api_strict'] = None;"
        "from mjgym.checks import check;"
        "print([(f.check, f.reason) for f in check('dmc/pendulum-swingup-v0', max_episode_steps=50)"
        " if f.status == 'skipped'])"
    )
    assert run_small(code).strip() == repr(
        [
            (
                "array libraries",
                "array-api-strict is not installed: pip install array-api-strict",
            )
        ]
    )


@pytest.mark.slow
def test_what_ids_of_one_class_share_is_no_broken_promise():
    """The docstring tells of entries that only others of the class observe."""
    findings = checks.check("dmc/humanoid-run_pure_state-v0", max_episode_steps=5)
    assert not [f for f in findings if "docstring names" in f.reason]


@pytest.mark.slow
def test_the_limit_is_that_of_the_arguments(examine):
    """Shorter than the runs that other checks compare."""
    found = examine(Good, time_limit=0.2)
    assert problems(found) == []
    assert "10 steps, 0.2 s" in found["time limit"][0].reason


@pytest.mark.slow
def test_a_task_of_the_suite_passes():
    findings = checks.check("dmc/pendulum-swingup-v0", max_episode_steps=50)
    assert [f for f in findings if f.status != "pass"] == []


@pytest.mark.weekly
def test_arguments_reach_the_task(examine):
    assert problems(examine(Good, reach=0.5, observation="dict", dtype="float64")) == []
    assert "same observation" in examine(Good, reach=0.0)["determinism"][0].reason


@pytest.mark.parametrize("cls", mostly_nightly(FAILING, quick=12), ids=lambda c: c.__name__)
def test_what_is_broken_fails(examine, cls):
    check, _, words = cls.__doc__.partition(": ")
    found = examine(cls)
    assert found[check][0].status == "fail", found
    assert any(words in f.reason for f in found[check]), found[check]
    assert all(0 < len(f.reason) < 900 for findings in found.values() for f in findings)


@pytest.mark.parametrize("cls", mostly_nightly(WARNED, quick=12), ids=lambda c: c.__name__)
def test_what_people_stumble_over_is_a_warning(examine, cls):
    check, _, words = cls.__doc__.partition("\n")[0].partition(": ")
    found = examine(cls)
    assert any(f.status == "warn" and words in f.reason for f in found[check]), found
    assert "fail" not in {f.status for f in problems(found)}, problems(found)


@pytest.mark.slow
def test_helpers_are_no_misnamed_hooks(examine):
    assert problems(examine(Helped)) == []


def test_no_task_of_the_package_looks_misnamed():
    classes = {r.task_class for r in registrations.values()}
    assert len(classes) > 20
    for cls in classes:
        assert [status for status, _ in check_names(cls)] == ["pass"], cls


def test_places_in_the_task_are_named(examine):
    (finding,) = examine(Searches)["build"]
    assert "test_checks.py:" in finding.reason
    assert "slyder" in finding.reason


def test_checks_that_cannot_be_made_are_left_out(examine):
    assert list(examine(Misspells)) == ["hook names", "build"]
    assert "single = batch" not in examine(Lefts)


def test_mistakes_of_the_caller_are_raised(examine):
    with pytest.raises(gymnasium.error.NameNotFound, match="cartpole-swingup"):
        checks.check("dmc/cartpole-swingupp-v0")
    with pytest.raises(TypeError, match="did you mean reach"):
        examine(Good, reech=1)


def test_checks_that_need_an_episode_wait_for_a_start_that_can_be_written(examine):
    """One fault is reported once."""
    found = examine(Moves)
    assert {name for name, results in found.items() if results[0].status == "fail"} == {"varies"}
    assert "model names" in found
    assert "hooks" not in found


@pytest.mark.weekly
@pytest.mark.compiled
def test_hooks_that_are_left_to_numpy_are_a_remark(examine):
    pytest.importorskip("llvmlite", reason='needs llvmlite: pip install -e ".[fast]"')
    (finding,) = [f for f in checks.check("dmc/cartpole-swingup-v0") if "compiled" in f.check]
    assert (finding.status, finding.reason) == ("pass", "a control step is one compiled function")
    (finding,) = [f for name, (f, *_) in examine(Splits).items() if "compiled" in name]
    assert finding.status == "pass"
    assert finding.reason.startswith("in NumPy, observation: calls frexp")
