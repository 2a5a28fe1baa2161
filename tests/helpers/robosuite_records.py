"""Recorded states of tabletop tasks, in environments of this package.

`tests/data/robosuite/states_<task>.npz` holds for each of 120 states `qpos`, `qvel` and `ctrl`, the
model's numbers that an episode has changed (`model/<field>/<element>`), what an episode remembers
(`memory/<entry>`), each entry of the observation (`obs_<entry>`), the rewards with and without
shaping (`shaped`, `sparse`) and `success`; and the joints' names in order, `names_jnt`. All is of
one instant.
"""

import copy

import mujoco
import numpy as np

from helpers.places import DATA
from helpers.registered import registered_task
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.sim.engine import FOLLOWING, episode_field, set_constants
from mjgym.sim.single import SingleView

FOLDER = DATA / "robosuite"


def make_task(name, **fields):
    """The task of "robosuite/<name>-v0" with other fields."""
    return registered_task(f"robosuite/{name}-v0", **fields)


class Record:
    """The recorded states of a task, and this package's environments at them.

    Args:
        name: of the task, as in its id.
        resize: given a view of a model with the i-th state's recorded numbers and that state's
            arrays by name, writes what follows from them and was not recorded.
        paid: types of the reward that the task has.
        **fields: of the task.
    """

    def __init__(self, name, resize=None, paid=("dense", "sparse"), **fields):
        self.resize = resize
        with np.load(FOLDER / f"states_{name.lower()}.npz") as arrays:
            self.arrays = dict(arrays)
        self.envs = {
            each: Env(
                make_task(name, reward_type=each, **fields), observation="dict", dtype="float64"
            )
            for each in paid
        }
        for env in self.envs.values():
            env.reset(seed=0)
        self.first = next(iter(self.envs.values()))
        self.model = self.first.model
        self.entries = [key.removeprefix("obs_") for key in self.arrays if key.startswith("obs_")]

    def __len__(self):
        return len(self.arrays["qpos"])

    def state(self, i):
        """The i-th state as `set_state` takes it, with what follows from varied numbers."""
        state = {key: self.arrays[key][i] for key in ("qpos", "qvel", "ctrl")}
        model = copy.copy(self.model)
        for key, values in self.arrays.items():
            if key.startswith("model/"):
                _, field, element = key.split("/")
                kind = field.split("_")[0]
                number = getattr(model, kind)(element).id
                getattr(model, field)[number] = values[i]
                state[field] = episode_field(model, field).copy()
        for key, values in self.arrays.items():
            if key.startswith("memory/"):
                state[key.replace("/", ".")] = values[i]
        varies = self.first.task.varies
        if self.resize is not None:
            recorded = {key: values[i] for key, values in self.arrays.items() if key != "names_jnt"}
            self.resize(SingleView(model, mujoco.MjData(model)), recorded)
            return state | {field: episode_field(model, field).copy() for field in varies}
        if set(FOLLOWING) & set(varies):
            set_constants(model, mujoco.MjData(model))
            state |= {field: episode_field(model, field).copy() for field in FOLLOWING}
        return state

    def at(self, i, paid=None):
        """The observation, the reward and the success of the i-th state."""
        env = self.envs[paid] if paid else self.first
        observation = env.set_state(self.state(i))
        reward = env.task.reward(env.task.terms(env.view))
        return observation, float(reward), bool(env.task.success(env.view))

    def all_at_once(self):
        """What `at` gives, of all states in one batch."""
        envs = VectorEnv(self.first.task, len(self), observation="dict", dtype="float64")
        envs.reset(seed=0)
        states = [self.state(i) for i in range(len(self))]
        stacked = {key: np.stack([state[key] for state in states]) for key in states[0]}
        if "bvh_aabb" in stacked:  # of bodies alone: a batch has no boxes within meshes
            count = envs.get_state()["bvh_aabb"].shape[1]
            stacked["bvh_aabb"] = stacked["bvh_aabb"][:, :count]
        observation = {key: np.array(x) for key, x in envs.set_state(stacked).items()}
        task, view = envs.task, envs.view
        rewards, successes = np.array(task.reward(task.terms(view))), np.array(task.success(view))
        envs.close()
        return observation, rewards, successes

    def assert_same_order(self):
        """Joints and entries are the recorded ones in their order."""
        joints = [self.model.joint(i).name for i in range(self.model.njnt)]
        assert joints == list(self.arrays["names_jnt"])
        assert list(self.at(0)[0]) == self.entries

    def assert_same_all_at_once(self):
        """One batch at all states observes and pays what one environment does at each."""
        observation, rewards, successes = self.all_at_once()
        for i in (0, 1, 60, 119):
            alone, reward, success = self.at(i)
            assert (rewards[i], successes[i]) == (reward, success)
            for key, value in alone.items():
                np.testing.assert_array_equal(observation[key][i], value, err_msg=key)

    def touched(self):
        """Whether an arm or a hand touches something else, in a state that has just been set."""
        env = self.first
        parts = [
            [env.model.body(env.model.geom_bodyid[geom]).name for geom in pair]
            for pair in env.data.contact.geom
        ]
        return any(name.startswith(("robot", "gripper")) for pair in parts for name in pair)

    def compare(self):
        """By entry, "shaped", "sparse" and "success": how far each state is from its record."""
        recorded = {"dense": "shaped", "sparse": "sparse"}
        paid = [recorded[each] for each in self.envs]
        errors = {name: [] for name in (*self.entries, *paid, "success")}
        touched = []
        for i in range(len(self)):
            for each in reversed(self.envs):
                observation, reward, success = self.at(i, each)
                errors[recorded[each]].append(abs(reward - self.arrays[recorded[each]][i]))
            errors["success"].append(float(success != self.arrays["success"][i]))
            for name in self.entries:
                value = self.arrays[f"obs_{name}"][i]
                errors[name].append(np.abs(observation[name] - value).max())
            touched.append(self.touched())
        return {name: np.array(values) for name, values in errors.items()}, np.array(touched)
