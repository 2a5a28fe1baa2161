"""What the tests of PickPlace and NutAssembly share."""

import numpy as np

from helpers.robosuite_records import Record, make_task
from mjgym import Env, VectorEnv

EXACT = 1e-6


def check_states(name, touching, unseen=0):
    """Each recorded observation, reward and success of a task, single and batched.

    Args:
        name: of the task, as in its id.
        touching: how many states at most have another acceleration of the arm, because fingers,
            hand or arm touch something: their published shapes are meshes, ours primitives.
        unseen: how many of these touch nothing here.
    """
    record = Record(name)
    record.assert_same_order()
    errors, touched = record.compare()
    accelerations = errors.pop("robot0_joint_acc") > EXACT
    assert {key: worst.max() for key, worst in errors.items() if worst.max() > EXACT} == {}
    assert np.count_nonzero(accelerations) <= touching
    assert np.count_nonzero(accelerations[~touched]) <= unseen
    _check_batched(record, ~accelerations)


def _check_batched(record, exact):
    """The same of all states at once; `exact` says whose accelerations are the recorded ones."""
    task = record.envs["dense"].task
    count = len(record)
    envs = VectorEnv(task, count, observation="dict", dtype="float64")
    envs.reset(seed=0)
    states = [record.state(i) for i in range(count)]
    seen = envs.set_state({key: np.stack([s[key] for s in states]) for key in states[0]})
    for key in record.entries:
        rows = exact if key == "robot0_joint_acc" else slice(None)
        recorded = record.arrays[f"obs_{key}"][rows]
        np.testing.assert_allclose(
            seen[key].reshape(count, -1)[rows],
            recorded.reshape(len(recorded), -1),
            rtol=0,
            atol=EXACT,
            err_msg=key,
        )
    view = envs.view
    paid = task.reward(task.terms(view))
    np.testing.assert_allclose(paid, record.arrays["shaped"], rtol=0, atol=EXACT)
    np.testing.assert_array_equal(task.success(view), record.arrays["success"])
    envs.close()


def starts(name, episodes=60, **fields):
    """An environment at the starts of some episodes, with its model's objects where they begin."""
    env = Env(make_task(name, **fields), observation="dict", dtype="float64")
    for seed in range(episodes):
        yield env, env.reset(seed=seed)[0]


def touching_pairs(env):
    """Names of the bodies that touch each other, as a set of pairs in alphabetical order."""
    model = env.model
    names = [
        [model.body(model.geom_bodyid[g]).name for g in pair] for pair in env.data.contact.geom
    ]
    return {tuple(sorted(pair)) for pair in names}


def at_work(env):
    """The objects that are not parked."""
    task = env.task
    return [n for n in task.object_names if env.data.body(task.body_of(n)).xpos[0] < 5]


def check_drawn(name, label):
    """Of the objects one is drawn for each episode, from the environment's generator alone."""
    seen = []
    for env, observation in starts(name, 40):
        (alone,) = at_work(env)
        seen.append(alone)
        number = env.task.object_names.index(alone)
        assert observation[f"{label}_id"] == number
        np.testing.assert_allclose(
            observation[f"{label}_pos"], env.data.body(env.task.body_of(alone)).xpos
        )
    assert set(seen) == set(env.task.object_names)
    envs = VectorEnv(make_task(name), 8, observation="dict", dtype="float64")
    numbers = envs.reset(seed=0)[0][f"{label}_id"]
    assert [envs.task.object_names[int(i)] for i in numbers.ravel()] == seen[:8]
    envs.close()


def check_fixed(name, alone):
    """One object is there in all episodes, and it alone is observed."""
    for env, observation in starts(name, 5):
        assert at_work(env) == [alone]
        keys = [key for key in observation if "robot0_" not in key]
        assert keys == [f"{alone}_pos", f"{alone}_quat"]


def check_parked(name, **fields):
    """Objects that an episode has no use for stand still, far away, and are worth nothing."""
    env = Env(make_task(name, **fields), observation="dict", dtype="float64")
    env.reset(seed=0)
    task = env.task
    parked = [task.body_of(n) for n in task.object_names if n not in at_work(env)]
    assert len(parked) == len(task.object_names) - 1
    before = np.array([env.data.body(body).xpos for body in parked])
    for _ in range(20):
        env.step(np.zeros(7))
    after = np.array([env.data.body(body).xpos for body in parked])
    np.testing.assert_allclose(after, before, atol=1e-3)
    assert not {b for pair in touching_pairs(env) for b in pair if pair[1] in parked} - {
        "world",
        *parked,
    }


def moved(env, poses):
    """The observation, terms and success after bodies have been put somewhere, at rest."""
    qpos, qvel = env.data.qpos.copy(), np.zeros(env.model.nv)
    for body, pose in poses.items():
        start = env.model.jnt_qposadr[env.model.body(body).jntadr[0]]
        qpos[start : start + len(pose)] = pose
    env.set_state({"qpos": qpos, "qvel": qvel})
    terms = env.task.terms(env.view)
    return {key: float(value) for key, value in terms.items()}, bool(env.task.success(env.view))
