"""Several walkers in one scene, alike and not: each has names, readings and a place of its own."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.rotations import about_z
from mjgym.sim import Single
from mjgym.task.models import compile_model
from mjgym.tasks.locomotion.walker_task import WalkerTask
from mjgym.tasks.locomotion.walkers import Walker, find_walker

KINDS = {
    "home_0/": "ant",
    "home_1/": "ant",
    "away_0/": "cmu_humanoid_2020",
    "ball/": "rolling_ball",
}
PLACES = {"home_0/": (0, 0), "home_1/": (3, 0), "away_0/": (0, 3), "ball/": (3, 3)}  # m
TURNS = {"home_0/": 0.0, "home_1/": 0.7, "away_0/": -1.2, "ball/": 2.0}  # rad


@dataclass(frozen=True)
class Meeting(WalkerTask):
    """Two ants, a person and a ball."""

    walker: str = "ant"
    ends_on_fall: bool = True
    rangefinders: bool = False
    time_limit: float = 1.0

    @property
    def creatures(self) -> tuple[Walker, ...]:
        return tuple(find_walker(name).with_prefix(prefix) for prefix, name in KINDS.items())

    def initialize(self, v, rng):
        for walker in self.creatures:
            x, y = PLACES[walker.prefix]
            walker.stand(v, (x, y, 0.0), about_z(TURNS[walker.prefix] + rng.uniform(0, 0.1)))

    def terms(self, v):
        return {"speed": self.creatures[1].velocity(v)[..., 0]}

    def terminated(self, v):
        return self.fallen(v)


@pytest.fixture(scope="module")
def alone():
    """What each walker observes that stands alone where it stands in company, and its velocity."""

    def observe(prefix):
        walker = find_walker(KINDS[prefix])
        simulation = Single(compile_model(WalkerTask(walker=KINDS[prefix])))
        x, y = PLACES[prefix]
        walker.stand(simulation.view, (x, y, 0.0), about_z(TURNS[prefix]))
        move(simulation.view, walker)
        simulation.forward()
        return readings(walker, simulation.view)

    return {prefix: observe(prefix) for prefix in KINDS}


def move(v, walker):
    """Give each joint and actuator of a walker a state that goes by its own name."""
    for name in v.names("joint"):
        if name.startswith(walker.prefix) and not name.endswith("/"):
            own = name.removeprefix(walker.prefix)
            v.joint(name).qpos = 0.01 * (sum(map(ord, own)) % 7)
            v.joint(name).qvel = 0.1 * (sum(map(ord, own)) % 5)
    for i, name in enumerate(v.names("actuator")):
        start, count = v.actuator_actadr[i], v.actuator_actnum[i]
        if name.startswith(walker.prefix) and count:
            v.act[start] = 0.01 * (sum(map(ord, name.removeprefix(walker.prefix))) % 9)


def readings(walker, v):
    seen = {key.removeprefix(walker.prefix): x for key, x in walker.observation(v).items()}
    if walker.rangefinder:
        seen["ranges"] = next(iter(walker.ranges(v).values()))
    seen |= {
        "velocity": walker.velocity(v),
        "position": walker.position(v),
        "rotation": walker.rotation(v),
        "head": walker.head_place(v),
        "upright": walker.uprightness(v),
        "heights": walker.heights(v, walker.end_effectors),
        "aliveness": walker.aliveness(v),
        "in_frame": walker.in_frame(v, np.ones(3)),
    }
    return {name: np.array(x) for name, x in seen.items()}


def together(v):
    for walker in Meeting().creatures:
        x, y = PLACES[walker.prefix]
        walker.stand(v, (x, y, 0.0), about_z(TURNS[walker.prefix]))
        move(v, walker)


# What the company changes: what rangefinders see of it, and forces, which contacts share out.
OF_OTHERS = {"ranges", "sensors_accelerometer", "sensors_touch"}


def test_each_reads_what_it_reads_alone(alone):
    simulation = Single(compile_model(Meeting()))
    together(simulation.view)
    simulation.forward()
    for walker in Meeting().creatures:
        for name, value in readings(walker, simulation.view).items():
            if name not in OF_OTHERS:
                expected = alone[walker.prefix][name]
                np.testing.assert_allclose(value, expected, rtol=0, atol=1e-9, err_msg=name)
    # The two that are alike stand elsewhere, and one looks the other way.
    first, second = (readings(walker, simulation.view) for walker in Meeting().creatures[:2])
    assert np.abs(first["position"] - second["position"]).max() == pytest.approx(3)
    assert np.abs(first["rotation"] - second["rotation"]).max() > 0.5


def test_one_falls_and_the_others_do_not():
    task = Meeting()
    simulation = Single(compile_model(task))
    grounds = task.surroundings.ground()
    together(simulation.view)
    simulation.forward()
    assert not task.fallen(simulation.view)
    person = task.creatures[2]
    person.put(simulation.view, (0.0, 3.0, 0.1), (1.0, 0.0, 0.0, 0.0))
    simulation.forward()
    assert task.fallen(simulation.view)
    fallen = [bool(walker.fallen(simulation.view, grounds)) for walker in task.creatures]
    assert fallen == [False, False, True, False]


@pytest.mark.slow
def test_environments_of_several_walkers():
    envs, env = VectorEnv(Meeting(), 2, dtype="float64"), Env(Meeting(), dtype="float64")
    starts, first = envs.reset(seed=4)[0], env.reset(seed=5)[0]
    assert np.array_equal(starts[1], first)
    entries = env.observe()
    assert [key for key in entries if key.endswith("body_height")] == [
        f"{prefix}body_height" for prefix in KINDS
    ]
    rng = np.random.default_rng(0)
    for _ in range(5):
        actions = rng.uniform(-1, 1, envs.action_space.shape)
        many, one = envs.step(actions), env.step(actions[1])
        assert np.array_equal(many[0][1], one[0])
        assert (many[1][1], many[2][1]) == (one[1], one[2])
        assert math.isfinite(one[1])
    rows = env.describe()["observation"]
    for row in rows:
        assert all(row[field] for field in ("name", "unit", "meaning")), row
        own = row["entry"].partition("/")[0] + "/"
        assert not row["name"].startswith(own)
        assert row["frame"] in ("", "world") or row["frame"].startswith(own)
    assert {row["entry"].partition("/")[0] + "/" for row in rows} == set(KINDS)


def test_two_of_one_name_are_refused():
    @dataclass(frozen=True)
    class Twins(WalkerTask):
        walker: str = "ant"

        @property
        def creatures(self):
            return (self.creature, self.creature)

    with pytest.raises(ValueError, match="walker/"):
        Twins().model().compile()
