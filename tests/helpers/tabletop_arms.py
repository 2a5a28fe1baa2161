"""The arms of the tabletop family in simulations, each driven by a control law."""

import copy
import functools
import json
from types import SimpleNamespace

import mujoco
import numpy as np

from helpers.places import DATA
from mjgym.controllers import Chain, Controller
from mjgym.robots import Limb, arms, attach, bases, hands

FOLDER = DATA / "robosuite"
TIMESTEP = 0.002  # s
SUBSTEPS = 25
FACTS = json.loads((FOLDER / "arms.json").read_text())
ARMS = tuple(FACTS)

# What a state is read from.
FIELDS = ("qpos", "qvel", "qfrc_bias", "M", "cdof", "cvel", "site_xpos", "site_xmat", "subtree_com")


def scene(name: str, touching: frozenset[str] = frozenset()) -> mujoco.MjSpec:
    """A robot with its published hands on its mount."""
    spec = mujoco.MjSpec()
    option = spec.option
    option.timestep, option.impratio, option.cone = TIMESTEP, 20, mujoco.mjtCone.mjCONE_ELLIPTIC
    option.density, option.viscosity = 1.2, 2e-5
    arm = arms.find(name)
    floor = spec.worldbody.add_site(pos=[*FACTS[name]["root"][:2], 0])
    attach(spec, bases.find(arm.base), "base0_", floor)
    attach(spec, arm, "robot0_", "base0_mount")
    for side, limb in arm.limbs.items():
        attach(spec, hands.find(arm.hand), f"gripper0_{side}_", f"robot0_{limb.wrist}")
    for exclude in list(spec.excludes):
        if touching == {exclude.bodyname1, exclude.bodyname2}:
            spec.delete(exclude)
    return spec


@functools.cache
def _compiled(name: str, touching: frozenset[str]) -> mujoco.MjModel:
    return scene(name, touching).compile()


def compiled(name: str, touching: tuple[str, ...] = ()) -> mujoco.MjModel:
    """A robot's model, not shared with anybody.

    Args:
        name: of the arm.
        touching: two bodies that collide although the arm has them not.
    """
    return copy.copy(_compiled(name, frozenset(touching)))


def chain(model: mujoco.MjModel, side: str, limb: Limb) -> Chain:
    """One of its arms, in such a model."""
    return Chain(
        model,
        [f"robot0_{joint}" for joint in limb.joints],
        [f"robot0_{actuator}" for actuator in limb.actuators],
        f"gripper0_{side}_grip_site",
        f"robot0_{limb.origin}",
    )


class Arms:
    """The arms of one robot in a simulation, each with a controller of its own."""

    def __init__(
        self, name: str, controller: Controller | None = None, touching: tuple[str, ...] = ()
    ) -> None:
        self.model = compiled(name, touching)
        self.data = mujoco.MjData(self.model)
        arm = arms.find(name)
        self.chains = [chain(self.model, side, limb) for side, limb in arm.limbs.items()]
        every = np.arange(self.model.nq)  # of joints with one degree of freedom each
        self.joints = np.concatenate([every[chain.qpos] for chain in self.chains])
        self.motors = np.concatenate([every[chain.ctrl] for chain in self.chains])
        self.data.qpos[self.joints] = arm.start
        self.controller = controller
        self.begin()

    def begin(self) -> None:
        """The start of an episode where the joints are."""
        mujoco.mj_step1(self.model, self.data)
        if self.controller:
            self.memories = [self.controller.memory(state) for state in self.states()]

    def states(self) -> list:
        return [chain.state(self.data) for chain in self.chains]

    def goal(self, action: np.ndarray) -> None:
        actions = np.split(action, len(self.chains))
        self.memories = [
            self.controller.goal(*each)
            for each in zip(self.states(), actions, self.memories, strict=True)
        ]

    def torque(self) -> np.ndarray:
        pairs = zip(self.states(), self.memories, strict=True)
        return np.concatenate([self.controller.torque(*pair) for pair in pairs])

    def physics_step(self) -> None:
        """The law, the physics, and what the law remembers of it."""
        self.data.ctrl[self.motors] = self.torque()
        mujoco.mj_step2(self.model, self.data)
        mujoco.mj_step1(self.model, self.data)
        pairs = zip(self.states(), self.memories, strict=True)
        self.memories = [self.controller.substep(*pair) for pair in pairs]

    def step(self, action: np.ndarray) -> None:
        """One control step."""
        self.goal(np.asarray(action, dtype=np.float64))
        for _ in range(SUBSTEPS):
            self.physics_step()

    @property
    def tool(self) -> np.ndarray:
        """The first arm's tool, (3,), m."""
        return self.data.site_xpos[self.chains[0].tool.site].copy()


def many(name: str, count: int, seed: int = 0) -> tuple[Chain, SimpleNamespace]:
    """The first arm of a robot in random moving configurations, as arrays that lead with count."""
    arms = Arms(name)
    rng = np.random.default_rng(seed)
    kept: dict[str, list] = {field: [] for field in FIELDS}
    start = arms.data.qpos.copy()
    for _ in range(count):
        arms.data.qpos[:] = start + rng.normal(size=start.shape) * 0.3
        arms.data.qvel[:] = rng.normal(size=arms.model.nv) * 0.3
        mujoco.mj_step1(arms.model, arms.data)
        for field in FIELDS:
            kept[field].append(getattr(arms.data, field).copy())
    return arms.chains[0], SimpleNamespace(**{f: np.array(rows) for f, rows in kept.items()})
