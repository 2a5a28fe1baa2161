"""Buffer sizes for a model's contacts and constraints on a device."""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

from mjgym.sim.engine import quiet
from mjgym.sim.single import Single

STARTS = 4  # episodes
STEPS = 500  # physics steps per episode: creatures have fallen by then
EVERY = 10  # physics steps between two checks of all pairs of geoms
MARGIN = 2.0  # factor on the measured maximum
SPARE = 16  # added to both sizes
ROUND = 16  # sizes are multiples of this, so that ids with similar needs share kernels


@dataclass(frozen=True)
class Buffers:
    """Buffer sizes for contacts and constraints.

    Attributes:
        nconmax: contacts per world on average, since worlds share one buffer. Pairs of geoms that
            pass the broad phase use it, too.
        njmax: constraint rows per world.
    """

    nconmax: int
    njmax: int


def measured(scratch: Single, start: Callable[[int, Single], None], physics_steps: int) -> Buffers:
    """Buffer sizes for a task, from some episodes with random controls and a margin.

    Args:
        scratch: a simulation of the task's model; its state is overwritten.
        start: writes the start of an episode into it.
        physics_steps: physics steps per control step.
    """
    model, data = scratch.model, scratch.data
    rng = np.random.default_rng(0)
    limited = model.actuator_ctrllimited.astype(bool)
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -1.0)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], 1.0)
    pairs = _pairs(model)
    contacts = constraints = near = 0
    for episode in range(STARTS):
        start(episode, scratch)
        scratch.forward()
        control = np.zeros(model.nu)
        for step in range(STEPS):
            if step % physics_steps == 0:
                control = rng.uniform(low, high)
            with quiet():
                scratch.step(control, 1)
            contacts, constraints = max(contacts, data.ncon), max(constraints, data.nefc)
            if step % EVERY == 0:
                near = max(near, _near(model, data, pairs))
    return Buffers(_room(max(contacts, near)), _room(constraints))


def _room(met: int) -> int:
    return int(np.ceil((MARGIN * met + SPARE) / ROUND) * ROUND)


def _pairs(model: mujoco.MjModel) -> np.ndarray:
    """Pairs of geoms that may collide, (2, n): neither on one body nor on parent and child."""
    first, second = np.triu_indices(model.ngeom, k=1)
    kind, other = model.geom_contype, model.geom_conaffinity
    fit = (kind[first] & other[second]) | (kind[second] & other[first])
    body = model.body_weldid[model.geom_bodyid]
    parent = model.body_weldid[model.body_parentid[body]]
    one, two = body[first], body[second]
    family = ((parent[first] == two) & (two != 0)) | ((parent[second] == one) & (one != 0))
    wanted = (fit != 0) & (one != two) & ~family
    return np.stack([first[wanted], second[wanted]])


def _near(model: mujoco.MjModel, data: mujoco.MjData, pairs: np.ndarray) -> int:
    """Upper bound of the number of pairs that pass the broad phase."""
    first, second = pairs
    radius = model.geom_rbound  # 0 for planes
    reach = radius[first] + radius[second] + model.geom_margin[first] + model.geom_margin[second]
    away = data.geom_xpos[first] - data.geom_xpos[second]
    close = (away * away).sum(axis=-1) <= reach * reach
    for plane, geom in ((first, second), (second, first)):
        endless = radius[plane] == 0
        normal = data.geom_xmat[plane].reshape(-1, 3, 3)[..., 2]
        height = (normal * (data.geom_xpos[geom] - data.geom_xpos[plane])).sum(axis=-1)
        close |= endless & (height <= radius[geom])
    return int(np.count_nonzero(close)) + int(model.npair)
