"""dm_control's tasks of manipulation on Composer."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("dm_env")

from helpers.lanes import mostly_slow
from mjgym_compat.dm_control import composer, manipulation
from mjgym_compat.dm_control.entities import props
from mjgym_compat.dm_control.entities.manipulators import kinova
from mjgym_compat.dm_control.manipulation import bricks, lift, place, reach
from mjgym_compat.dm_control.manipulation.shared import (
    arenas,
    cameras,
    constants,
    observations,
    registry,
    robots,
    tags,
    workspaces,
)
from mjgym_compat.dm_env import MANIPULATION

GROUND = workspaces.BoundingBox((-0.1, -0.1, 1e-6), (0.1, 0.1, 1e-6))
SPACE = workspaces.Workspace(
    tcp_bbox=workspaces.BoundingBox((-0.1, -0.1, 0.2), (0.1, 0.1, 0.4)),
    target_bbox=workspaces.BoundingBox((-0.1, -0.1, 0.07), (0.1, 0.1, 0.17)),
    prop_bbox=GROUND,
    goal_hint_pos=(0.2, 0.1, 0),
    goal_hint_quat=(0, 0, 0, 1),
)


def _brick(kind=props.Duplo):
    settings = observations.PERFECT_FEATURES
    names = observations.FREEPROP_OBSERVABLES
    return kind(observable_options=observations.make_options(settings, names))


def _made(task, settings=observations.PERFECT_FEATURES, workspace=SPACE, **arguments):
    arguments.update(
        arena=arenas.Standard(),
        arm=robots.make_arm(obs_settings=settings),
        hand=robots.make_hand(obs_settings=settings),
        obs_settings=settings,
        workspace=workspace,
        control_timestep=constants.CONTROL_TIMESTEP,
    )
    options = {"random_state": 0, "strip_singleton_obs_buffer_dim": True}
    return composer.Environment(task(**arguments), **options)


def _stack(**arguments):
    options = {"num_bricks": 2, "target_height": 2, "moveable_base": False} | arguments
    return _made(bricks.Stack, **{"randomize_order": False, **options})


def _reassemble(drawn):
    orders = {"randomize_initial_order": drawn, "randomize_desired_order": drawn}
    return _made(bricks.Reassemble, num_bricks=3, **orders)


TASKS = {
    "reach_site": lambda: _made(reach.Reach, prop=None),
    "reach_duplo": lambda: _made(
        reach.Reach, prop=_brick(), workspace=SPACE._replace(target_bbox=GROUND)
    ),
    "lift_brick": lambda: _made(lift.Lift, prop=_brick(lift._DuploWithVertexSites)),
    "place_brick": lambda: _made(place.Place, prop=_brick(), cradle=props.Duplo()),
    "place_cradle": lambda: _made(place.Place, prop=_brick(), cradle=place.SphereCradle()),
    "stack_2_bricks": _stack,
    "stack_2_bricks_moveable_base": lambda: _stack(moveable_base=True),
    "reassemble_3_bricks_fixed_order": lambda: _reassemble(False),
}


@pytest.mark.parametrize("name", mostly_slow(TASKS, 4))
def test_observations_and_rewards_are_those_of_the_registered_task(name):
    env = TASKS[name]()
    env.reset()
    physics = env.physics
    registered = gymnasium.make(
        f"manipulation/{name}_features-v0", observation="dict", dtype="float64"
    )
    plain = registered.unwrapped
    rewards = []
    for seed in range(3):
        registered.reset(seed=seed)
        if "bricks" in name:  # near the goal
            plain.data.qpos[-7:] = [0, 0, 0.0192 + 0.012 * seed, 1, 0, 0, 0]
            plain.model.body("duplo2x4/").pos[:] = 0
            plain.model.body("duplo2x4/").quat[:] = [1, 0, 0, 0]
        observation, reward, *_ = registered.step(np.zeros(registered.action_space.shape))
        with physics.reset_context():
            for i in range(plain.model.nbody):
                body = plain.model.body(i)
                physics.named.model.body_pos[body.name] = body.pos
                physics.named.model.body_quat[body.name] = body.quat
            if name == "reach_site":
                site = plain.model.site(reach.reach.TARGET)
                physics.named.model.site_pos[site.name] = site.pos
            physics.data.qpos[:], physics.data.qvel[:] = plain.data.qpos, plain.data.qvel
        if name == "lift_brick":
            env.task._wanted = plain.data.site("target_height").xpos[2]
        assert env.task.get_reward(physics) == pytest.approx(reward, abs=1e-9)
        rewards.append(reward)
        shown = {key: o for key, o in env.task.observables.items() if o.enabled}
        assert set(shown) == set(observation)
        for key, observable in shown.items():
            if not key.endswith("torque"):  # of the step before
                value = np.ravel(observable(physics))
                np.testing.assert_allclose(value, np.ravel(observation[key]), atol=1e-9)
    assert np.ptp(rewards) > 0


@pytest.mark.slow
def test_the_order_is_drawn_observed_and_shown():
    env = _stack(num_bricks=3, randomize_order=True)
    orders = set()
    for _ in range(6):
        order = env.reset().observation["desired_order"].astype(int)
        orders.add(tuple(order))
        lowest, upper = (env.task._hints[i].get_pose(env.physics)[0] for i in order)
        np.testing.assert_allclose(lowest, SPACE.goal_hint_pos, atol=1e-12)
        np.testing.assert_allclose(upper - lowest, [0, 0, 0.0192], atol=1e-12)
        fixed = [frame.freejoint is None for frame in env.task._frames]
        assert fixed == [i == order[0] for i in range(3)]
    assert len(orders) > 2


@pytest.mark.slow
def test_a_stack_begins_complete_if_the_drawn_orders_agree():
    env = _reassemble(True)
    rewards = []
    for _ in range(8):
        order = env.reset().observation["desired_order"].astype(int)
        rewards.append(env.task.get_reward(env.physics))
        assert order[0] == env.task._initial_order[0]
        assert (rewards[-1] > 0.9) == np.array_equal(order, env.task._initial_order)
    assert min(rewards) < 0.1


@pytest.mark.slow
def test_what_is_observed_follows_the_settings():
    env = _made(reach.Reach, observations.VISION, prop=None)
    spec = env.observation_spec()
    assert spec["front_close"].shape == (84, 84, 3)
    assert "target_position" not in spec
    seen = cameras.add_camera_observables(
        arenas.Standard(), observations.VISION, cameras.FRONT_CLOSE, cameras.TOP_DOWN
    )
    assert list(seen) == ["front_close", "top_down"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"num_bricks": 7}, "num_bricks"), ({"target_height": 3}, "target_height")],
)
def test_impossible_stacks_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        _stack(**arguments)


def test_names_and_tags_are_dm_controls_in_its_order():
    """Of dm_control 1.0, which has no pictures of three bricks in random order."""
    assert set(MANIPULATION) - set(manipulation.ALL) == {"stack_3_bricks_random_order_vision"}
    assert set(manipulation.ALL) < set(MANIPULATION)
    assert len(manipulation.ALL) == 25
    assert manipulation.ALL[:2] == ("stack_2_bricks_features", "stack_2_bricks_vision")
    assert manipulation.ALL[6:8] == (
        "stack_3_bricks_random_order_features",
        "stack_2_of_3_bricks_random_order_features",
    )
    assert manipulation.ALL[-1] == "reach_site_vision"
    counts = {tag: len(manipulation.get_environments_by_tag(tag)) for tag in manipulation.TAGS}
    assert counts == {"features": 13, "vision": 12, "easy": 4}


def test_tasks_of_ones_own_are_loaded_by_name(monkeypatch):
    for kept in ("_functions", "_tags"):  # for this test alone
        monkeypatch.setattr(registry._CONSTRUCTORS, kept, {})

    @registry.add(tags.FEATURES, tags.EASY)
    def drop_ball():
        arena = composer.Arena()
        arena.add_free_entity(props.Primitive("sphere", [0.1]))
        return composer.NullTask(arena)

    assert "drop_ball" in manipulation.get_environments_by_tag("easy")
    assert "drop_ball" not in manipulation.get_environments_by_tag("vision")
    env = manipulation.load("drop_ball", seed=1)
    env.reset()
    steps = 1
    while not env.step(np.zeros(0)).last():
        steps += 1
    assert steps * env.control_timestep() == pytest.approx(10)  # s, as for the published tasks
    assert registry.get_constructor("drop_ball") is drop_ball


def test_geoms_of_the_hand():
    """As dm_control 1.0.50 lists them."""
    hand = kinova.JacoHand()
    assert [geom.name for geom in hand.hand_geom] == ["link_6_main", "link_6_insert"]
    wanted = [f"finger_{part}_{i}" for i in (1, 2, 3) for part in ("knuckle", "tip")]
    assert [geom.name for geom in hand.finger_geoms] == wanted
