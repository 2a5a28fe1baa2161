"""A gripper that hangs from a fixed body, fingers down, and a cube: how tests run grippers."""

from collections.abc import Sequence

import mujoco
import numpy as np

from mjgym.mjcf import Spec, add
from mjgym.robots import Hand, attach, hands, watch_grasp
from mjgym.sim.single import SingleView

PREFIX = "gripper0_right_"
TIMESTEP, SUBSTEPS = 0.002, 25  # s; 20 Hz
CUBE = 0.04  # m


def scene(name: str, cube: bool = False) -> Spec:
    """The physics of the tabletop family, with a gripper 1 m above nothing."""
    spec = mujoco.MjSpec()
    option = spec.option
    option.timestep, option.impratio, option.cone = TIMESTEP, 20, mujoco.mjtCone.mjCONE_ELLIPTIC
    option.density, option.viscosity = 1.2, 2e-5
    site = add(add(spec.worldbody, "body", name="wrist", pos=[0, 0, 1], quat=[0, 1, 0, 0]), "site")
    hand = hands.find(name)
    attach(spec, hand, PREFIX, site)
    if cube:
        body = add(spec.worldbody, "body", name="cube", pos=[0, 0, 5])
        add(body, "freejoint", name="cube")
        add(
            body, "geom", name="cube_g0", type="box", size=[CUBE / 2] * 3, density=1000,
            condim=4, solref=[0.01, 1],
        )  # fmt: skip
        watch_grasp(spec, hand, PREFIX, "cube")
    return spec


class Bench:
    """One simulation of a gripper, and the commands of its law."""

    def __init__(self, name: str, cube: bool = False) -> None:
        self.hand: Hand = hands.find(name)
        self.model = scene(name, cube).compile()
        self.data = mujoco.MjData(self.model)
        self.view = SingleView(self.model, self.data)
        start = self.hand.start or (0.0,) * len(self.hand.joints)
        self.data.qpos[: len(start)] = start
        self.command = self.hand.law.start(np.zeros(0))
        self.pinned: np.ndarray | None = None
        mujoco.mj_forward(self.model, self.data)

    def step(self, action: float, n: int = 1) -> None:
        """Control steps of one action, the same for all of its numbers."""
        low, high = self.model.actuator_ctrlrange.T
        for _ in range(n):
            law = self.hand.law
            self.command = law.next(self.command, np.full(law.dimensions, float(action)))
            self.data.ctrl[:] = law.control(self.command, (low + high) / 2, (high - low) / 2)
            for _ in range(SUBSTEPS):
                if self.pinned is not None:
                    self.data.joint("cube").qpos[:] = [*self.pinned, 1, 0, 0, 0]
                    self.data.joint("cube").qvel[:] = 0
                mujoco.mj_step(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)

    def pads(self) -> np.ndarray:
        """Centres of the first pad of each of both sides, (2, 3) m."""
        return np.array([self.data.geom(PREFIX + pads[0]).xpos for pads in self.hand.fingers])

    def middle(self) -> np.ndarray:
        """The middle between the means of both sides' pads, (3,) m."""
        sides = [self._mean(pads) for pads in self.hand.fingers]
        return np.mean(sides, axis=0)

    def width(self) -> float:
        """Between the pads, m."""
        return float(np.linalg.norm(np.subtract(*self.pads())))

    def inner_contacts(self) -> set[tuple[str, str]]:
        """Pairs of the hand's bodies that touch each other."""
        names = [self.model.body(int(b)).name for b in self.model.geom_bodyid]
        pairs = [tuple(sorted(names[g] for g in pair)) for pair in self.data.contact.geom]
        return {(a, b) for a, b in pairs if "cube" not in (a, b)}

    def _mean(self, pads: Sequence[str]) -> np.ndarray:
        return np.mean([self.data.geom(PREFIX + pad).xpos for pad in pads], axis=0)
