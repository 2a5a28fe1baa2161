"""The recorded poses and episodes of OpenSim's walker, and simulations in their states."""

import functools
from pathlib import Path

import numpy as np

from mjgym.sim import Single
from mjgym.tasks.l2m.musculoskeletal import ACTION_TO_MODEL, Musculoskeletal

DATA = Path(__file__).parents[1] / "data/learn_to_move"
AXES = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # OpenSim's vectors in ours


@functools.cache
def poses():
    with np.load(DATA / "poses.npz") as file:
        return {name: file[name] for name in file.files}


@functools.cache
def episodes():
    """By name, the arrays of each: a row for each instant."""
    found = {}
    with np.load(DATA / "episodes.npz") as file:
        for key in file.files:
            episode, _, name = key.partition("/")
            found.setdefault(episode, {})[name] = file[key]
    return found


EPISODES = tuple(episodes())


def planar(name):
    """Whether an episode is of the planar model: what it locks never moves."""
    held = ("pelvis_list", "pelvis_rotation", "pelvis_tz", "hip_adduction_r", "hip_adduction_l")
    record = episodes()[name]
    places = [list(record["coordinates"]).index(c) for c in held]
    return bool(np.abs(record["q"][:, places]).max() < 1e-9)


class Walker:
    """A simulation of one walker, driven as an episode drives it."""

    def __init__(self, body):
        self.body = body
        self.sim = Single(body.model().compile(), ())
        self.v = self.sim.view

    @classmethod
    def from_record(cls, name, substeps=None):
        options = {} if substeps is None else {"longest_step": 0.01 / substeps}
        return cls(Musculoskeletal(planar=planar(name), **options))

    def put(self, q, u, activation=None, fibre=None):
        """Into a state: coordinates, speeds, activations and fibre lengths of OpenSim's."""
        self.body.place(self.v, q, u)
        self.sim.forward()
        if activation is None or not self.v.memory:
            self.v.memory = self.v.owned(self.body.memory(self.v))
        if activation is not None:
            self.v.memory["muscle_activation"] = np.array(activation)
            self.v.memory["muscle_fibre_length"] = np.array(fibre)

    def put_at(self, name, row):
        """Into an instant of an episode."""
        record = episodes()[name]
        names = ("q", "u", "a", "fiber_length")
        self.put(*(record[n][row] for n in names))

    def step(self, action):
        """A control step, with the numbers of an action in the published order."""
        v, body = self.v, self.body
        v.memory = {**v.memory, **v.owned(body.before_step(v, action[ACTION_TO_MODEL]))}
        for _ in range(body.substeps):
            self.sim.step(body.control(v), 1)
            v.memory = {**v.memory, **v.owned(body.substep(v))}
