"""A walker and an arena from outside of the package: two files, and nothing else is touched."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import mjgym
from helpers import described
from helpers.extending.hexapod import Hexapod
from helpers.extending.stairs import Stairs
from helpers.lanes import lane
from helpers.rollouts import actions_for, equal
from mjgym.mjcf import Spec
from mjgym.tasks.locomotion.arenas import Arena
from mjgym.tasks.locomotion.run_through_corridor import RunThroughCorridor

ID = "locomotion/cmu_humanoid-run_walls-v0"
IMPORTED = {
    "walker": "helpers.extending.hexapod:Hexapod",
    "arena": "helpers.extending.stairs:Stairs",
}
NAMED = {"walker": "hexapod", "arena": "stairs"}


def test_a_name_and_a_module_are_the_same():
    imported, named = (gymnasium.make(ID, **kwargs) for kwargs in (IMPORTED, NAMED))
    assert isinstance(imported.unwrapped.task.creature, Hexapod)
    assert isinstance(named.unwrapped.task.surroundings, Stairs)
    for seed in range(3):
        assert equal(imported.reset(seed=seed), named.reset(seed=seed))
        assert equal(imported.unwrapped.get_state(), named.unwrapped.get_state())
    for action in actions_for(gymnasium.make_vec(ID, num_envs=1, **NAMED), 10):
        assert equal(imported.step(action[0]), named.step(action[0]))


def test_every_slot_equals_a_single_env_on_stairs_of_its_own():
    envs = gymnasium.make_vec(ID, num_envs=6, dtype="float64", **IMPORTED)
    singles = [gymnasium.make(ID, dtype="float64", **IMPORTED) for _ in range(6)]
    starts = envs.reset(seed=10)[0]
    for i, env in enumerate(singles):
        assert np.array_equal(starts[i], env.reset(seed=10 + i)[0])
    heights = envs.get_state()["geom_size"]
    assert len({row.tobytes() for row in heights}) == 6
    for i, env in enumerate(singles):
        assert np.array_equal(heights[i], env.unwrapped.get_state()["geom_size"])
    for actions in actions_for(envs, 25):
        observations, rewards, terminations, _, _ = envs.step(actions)
        assert not terminations.any()
        for i, env in enumerate(singles):
            single = env.step(actions[i])
            assert np.array_equal(observations[i], single[0])
            assert (rewards[i], terminations[i]) == single[1:3]


def _make():
    import mjgym  # noqa: F401  (registers the ids in another process)

    return gymnasium.make(ID, max_episode_steps=4, **IMPORTED)


@lane(2, 3)
def test_other_processes_find_what_is_named_by_its_module():
    asynchronous = AsyncVectorEnv([_make] * 2, context="spawn")
    sync = SyncVectorEnv([_make] * 2)
    try:
        assert equal(asynchronous.reset(seed=1)[0], sync.reset(seed=1)[0])
        for actions in np.float32(actions_for(sync, 6)):
            assert equal(asynchronous.step(actions)[:4], sync.step(actions)[:4])
    finally:
        asynchronous.close()


def test_it_stands_before_the_stairs_and_on_them():
    env = gymnasium.make(ID, **IMPORTED)
    env.reset(seed=0)
    base = env.unwrapped
    torso = base.data.body("walker/torso")
    for _ in range(30):
        assert not env.step(np.zeros(12))[2]
    assert torso.xpos[2] == pytest.approx(0.26, abs=0.03)
    # From above the third step it falls on the second to fourth, and still on its feet.
    steps = base.model.geom("step_2")
    top = steps.pos[2] + steps.size[2]
    qpos = base.data.qpos.copy()
    qpos[:3] = steps.pos[0], 0.0, base.model.geom("step_4").pos[2] * 2 + 0.3
    base.set_state({"qpos": qpos, "qvel": np.zeros(base.model.nv)})
    for _ in range(30):
        assert not env.step(np.zeros(12))[2]
    assert torso.xpos[2] > top + 0.15
    # On its back something else touches them.
    qpos[3:7] = 0, 1, 0, 0
    base.set_state({"qpos": qpos, "qvel": np.zeros(base.model.nv)})
    assert any(env.step(np.zeros(12))[2] for _ in range(30))


def test_all_numbers_have_names_and_those_that_it_lacks_are_left_out():
    env = gymnasium.make(ID, dtype="float64", **IMPORTED)
    env.reset(seed=0)
    for promise in (
        described.every_number_of_the_observation_is_described,
        described.units_and_frames_are_known,
        described.prose_arguments_and_numbers,
    ):
        promise(env.unwrapped)
    # The servos have no names: they are called after their joints.
    joints = [f"walker/{part}_{i}" for i in range(6) for part in ("hip", "knee")]
    assert [row["name"] for row in env.unwrapped.describe()["action"]] == joints
    sizes = {name: np.size(value) for name, value in env.unwrapped.observe().items()}
    assert sizes == {
        "walker/body_height": 1,
        "walker/end_effectors_pos": 18,
        "walker/joints_pos": 12,
        "walker/joints_vel": 12,
        "walker/sensors_accelerometer": 0,
        "walker/sensors_force": 0,
        "walker/sensors_gyro": 3,
        "walker/sensors_torque": 0,
        "walker/sensors_touch": 0,
        "walker/sensors_velocimeter": 3,
        "walker/world_zaxis": 3,
    }


def test_an_id_of_ones_own_is_one_more_line():
    id = "test/hexapod-climb-v0"
    mjgym.register(id, tags=("outside",), **IMPORTED, target_speed=0.5)(RunThroughCorridor)
    try:
        envs = gymnasium.make_vec(id, num_envs=2)
        envs.reset(seed=0)
        assert envs.task.target_speed == 0.5
        assert mjgym.registry.ids(tag="outside") == [id]
        assert gymnasium.make(id).unwrapped.describe()["id"] == id
    finally:
        del gymnasium.registry[id]
        del mjgym.task.registrations[id]


@dataclasses.dataclass(frozen=True)
class Footless(Hexapod):
    """Whatever of it touches the ground is a fall."""

    feet: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Bare(Arena):
    """A plane with the engine's own options, that says nothing of the bodies that walkers have."""

    def model(self):
        plane = '<mujoco><worldbody><geom name="ground" type="plane" size="9 9 1"/></worldbody>'
        return Spec.from_string(plane + "</mujoco>")


@pytest.mark.parametrize("walker", ["rolling_ball", "ant", "cmu_humanoid"])
def test_an_arena_need_know_nothing_of_walkers(walker):
    env = gymnasium.make(ID, walker=walker, arena=f"{__name__}:Bare")
    env.reset(seed=0)
    assert env.unwrapped.model.body("walker/").mass == 1e-5  # of the frame, as in every arena
    assert not env.step(np.zeros(env.action_space.shape))[2]


@dataclasses.dataclass(frozen=True)
class Unfinished(mjgym.tasks.locomotion.walkers.Walker):
    """It has no model."""


def test_mistakes_in_what_is_outside():
    with pytest.raises(ValueError, match=r"ends_on_fall.*Footless.* has no feet.*ant"):
        gymnasium.make(ID, walker=f"{__name__}:Footless")
    with pytest.raises(NotImplementedError, match=r"Unfinished must define model\(\)"):
        gymnasium.make(ID, walker=f"{__name__}:Unfinished", ends_on_fall=False)
    with pytest.raises(
        ValueError, match=r"'helpers.extending.hexapod:Hexapodd' cannot be imported"
    ):
        gymnasium.make(ID, walker="helpers.extending.hexapod:Hexapodd")
    with pytest.raises(ValueError, match=r"'helpers.extending.stairs:Stairs' is no Walker"):
        gymnasium.make(ID, walker="helpers.extending.stairs:Stairs")
    with pytest.raises(ValueError, match=r"'stars'.*stairs"):
        gymnasium.make(ID, arena="stars")
