"""The manipulation ids, with and without vision, and what users may change of them."""

import sys
from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers.lanes import lane, mostly_nightly, mostly_slow
from helpers.manipulation_records import NAMES, id_of, tasks
from helpers.rollouts import equal
from mjgym import registry
from mjgym.checks import benchmark, check
from mjgym.robots import JacoArm, JacoHand
from mjgym.tasks.manipulation.bricks import COLOURS

IDS = registry.ids(namespace="manipulation")
FEATURES = [id for id in IDS if "_features-" in id]
VISION = [id for id in IDS if "_vision-" in id]
SOME = [
    "manipulation/reach_site_features-v0",  # varies a site
    "manipulation/place_cradle_features-v0",  # varies a body's place
    "manipulation/stack_2_of_3_bricks_random_order_features-v0",  # and who is who
]
CAMERA = "front_close"
HAND = "jaco_arm/jaco_hand"


def test_ids_are_the_published_ones_and_a_twin_of_ours():
    assert len(IDS) == 26
    assert {id_of(name) for name in NAMES} == set(FEATURES)
    assert {id.replace("_vision-", "_features-") for id in VISION} == set(FEATURES)


# The suite's own tests, on some ids.


@pytest.mark.slow
@pytest.mark.parametrize("id", [*SOME, "manipulation/reassemble_3_bricks_fixed_order_features-v0"])
def test_checks_find_nothing_wrong(id):
    """Among them: the hooks run on arrays that have nothing but the array standard."""
    # Where bricks are stacked from the start a physics step takes long: shorter episodes will do.
    shorter = {"max_episode_steps": 25} if "reassemble" in id else {}
    findings = check(id, **shorter)
    assert len(findings) > 10
    # That random actions seldom press a brick onto another is no fault.
    assert [f for f in findings if f.status != "pass" and f.check != "reward"] == []


@pytest.mark.parametrize("name", mostly_slow(NAMES, 4))
def test_spaces_and_limits_are_the_published_ones(name):
    recorded = tasks()[name]
    env = gymnasium.make(id_of(name), observation="dict")
    shapes = [[key, list(space.shape)] for key, space in env.observation_space.items()]
    assert shapes == recorded["observation"]
    for end in ("minimum", "maximum"):
        limits = {"minimum": env.action_space.low, "maximum": env.action_space.high}[end]
        np.testing.assert_allclose(limits, recorded["action"][end], rtol=1e-6)
    assert env.spec.max_episode_steps == 250
    assert env.unwrapped.physics_timestep == 0.002
    assert env.unwrapped.control_timestep == 0.04
    env.close()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by /proc")
@pytest.mark.parametrize(
    "name", mostly_nightly(["stack_3_bricks", "reassemble_5_bricks_random_order"])
)
def test_many_bricks_take_little_memory(name):
    """Neither for the bricks' default places, all within each other, nor for stacks of them.

    A batch of 32 takes some 0.7 MB for each environment, half of it what any batch takes, and would
    take 2 MB for each.
    """
    assert benchmark.memory(id_of(name), 32) < 1e6


# With and without vision.


@pytest.mark.gl
@pytest.mark.parametrize("id", mostly_nightly(VISION, 6))
def test_a_vision_id_shows_the_picture_and_the_robot_alone(id):
    env = gymnasium.make(id, render_quality="fast")
    twin = gymnasium.make(id.replace("_vision-", "_features-"), observation="dict")
    seen, features = env.reset(seed=3)[0], twin.reset(seed=3)[0]
    assert env.observation_space.contains(seen)
    picture = seen.pop(CAMERA)
    assert (picture.shape, picture.dtype) == ((84, 84, 3), np.uint8)
    assert np.ptp(picture) > 100
    assert equal(seen, {k: x for k, x in features.items() if k.startswith("jaco_arm/")})
    action = env.action_space.sample()
    assert env.step(action)[1] == twin.step(action)[1]
    env.close()
    twin.close()


def test_the_options_of_an_id_are_defaults_in_its_spec():
    assert gymnasium.spec(VISION[0]).kwargs["observation"] == "dict+pixels"
    assert registry.registration(VISION[0]).options == {"observation": "dict+pixels"}
    task = registry.registration(VISION[0]).task_class
    with pytest.raises(TypeError, match="no option 'observaton'; did you mean observation"):
        mjgym.register("test/wrong-v0", options={"observaton": "dict"})(task)
    assert "test/wrong-v0" not in registry.ids()


# What users may change.


@lane(0, 3)
@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("order", [False, True])
def test_stacks_have_any_number_of_bricks(count, order):
    for id in (SOME[-1], "manipulation/reassemble_3_bricks_fixed_order_features-v0"):
        fields = {"stack_height": 0} if "stack_" in id else {}
        env = gymnasium.make(id, bricks=count, random_order=order, observation="dict", **fields)
        observation, _ = env.reset(seed=count)
        assert f"duplo2x4_{2 * count - 2}/position" in observation
        assert ("desired_order" in observation) == order
        info = env.step(env.action_space.sample())[-1]
        clicks = [name for name in info if name.startswith("terms/click_")]
        assert clicks == [f"terms/click_{i + 1}" for i in range(count - 1)]
        env.close()


@pytest.mark.parametrize(("fields", "words"), [({"bricks": 6}, "of 6"), ({"bricks": 1}, "of 1")])
def test_a_wrong_number_of_bricks_is_refused(fields, words):
    with pytest.raises(
        ValueError, match=f"expected 2 <= height <= count <= {len(COLOURS)}.*{words}"
    ):
        gymnasium.make("manipulation/stack_3_bricks_features-v0", **fields)


@pytest.mark.slow
@pytest.mark.parametrize(
    "id", [SOME[0], *(pytest.param(id, marks=pytest.mark.slow) for id in SOME[1:])]
)
def test_the_fingers_feel_contacts(id):
    env = gymnasium.make(id, touch=True, observation="dict", dtype="float64").unwrapped
    plain = gymnasium.make(id, observation="dict", dtype="float64").unwrapped
    env.reset(seed=0)
    plain.reset(seed=0)
    action = np.zeros(9)
    action[6:] = 5.0  # the fingers close until they touch each other
    felt = 0
    for _ in range(40):
        observation, others = env.step(action)[0], plain.step(action)[0]
        seen = {key: observation.pop(f"{HAND}/{key}") for key in ("contacts", "touch")}
        assert equal(observation, others)
        assert ((seen["contacts"] > 0) == (seen["touch"] > 0)).all()
        # A step's are those at the start of its last physics step; these are of the state itself.
        observation = env.set_state({"qpos": env.data.qpos.copy()})
        counts = observation[f"{HAND}/contacts"]
        assert (counts == touching(env)).all()
        plain.set_state({"qpos": plain.data.qpos.copy()})
        felt += counts.sum()
    assert felt
    env.close()
    plain.close()


def touching(env):
    """How many contacts each finger is in, as the engine lists them."""
    model, data = env.model, env.data
    found = np.zeros(3)
    for contact in data.contact:
        for geom in contact.geom:
            name = model.geom(geom).name
            if name.startswith(f"{HAND}/finger_") and contact.efc_address >= 0:
                found[int(name[-1]) - 1] += 1
    return found


@dataclass(frozen=True)
class LongHand(JacoHand):
    """The hand on an extension of 5 cm."""

    def model(self):
        spec = super().model()
        hand = spec.body("hand")
        hand.pos = [0, 0, 0.05]
        return spec


@dataclass(frozen=True)
class DullArm(JacoArm):
    """The arm without sensors of torque."""

    torques: tuple[str, ...] = ()


@pytest.mark.parametrize("id", SOME)
def test_arms_and_hands_of_ones_own_work(id):
    env = gymnasium.make(
        id, arm=f"{__name__}:DullArm", hand=f"{__name__}:LongHand", observation="dict"
    )
    observation, _ = env.reset(seed=0)
    assert "jaco_arm/joints_torque" not in observation
    low, high = env.unwrapped.task.areas["tcp"]
    tool = observation[f"{HAND}/pinch_site_pos"]
    assert (np.array(low) <= tool + 1e-6).all()
    assert (tool <= np.array(high) + 1e-6).all()
    data = env.unwrapped.data
    away = data.site("jaco_arm/wristsite").xpos - data.body(f"{HAND}/hand").xpos
    assert np.linalg.norm(away) == pytest.approx(0.05)
    env.step(env.action_space.sample())
    env.close()


@pytest.mark.parametrize(("arm", "hand"), [("Panda", "PandaGripper"), ("UR5e", "Robotiq85Gripper")])
def test_other_arms_reach_as_well(arm, hand):
    env = gymnasium.make(SOME[0], arm=arm, hand=hand, observation="dict")
    env.reset(seed=0)
    for _ in range(5):
        observation, reward, *_ = env.step(env.action_space.sample())
    assert env.observation_space.contains(observation)
    assert 0 <= reward <= 1
    env.close()


@pytest.mark.parametrize(
    ("field", "nearest"), [("arm", "jaco_6_joints"), ("hand", "jaco_3_fingers")]
)
def test_an_unknown_part_is_refused(field, nearest):
    with pytest.raises(ValueError, match=f"{field}: no '{nearest}_'; did you mean {nearest}"):
        gymnasium.make(SOME[0], **{field: f"{nearest}_"})
