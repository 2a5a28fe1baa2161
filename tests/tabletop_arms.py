"""The arms of the tabletop family, built from their measured numbers."""

import functools
import json
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np

from mjgym.controllers import Chain, Controller

DATA = Path(__file__).parent / "data" / "robosuite"
TIMESTEP = 0.002  # s
SUBSTEPS = 25

_JOINTS = {"hinge": mujoco.mjtJoint.mjJNT_HINGE, "slide": mujoco.mjtJoint.mjJNT_SLIDE}
_EQUALITIES = {
    "joint": mujoco.mjtEq.mjEQ_JOINT,
    "connect": mujoco.mjtEq.mjEQ_CONNECT,
    "tendon": mujoco.mjtEq.mjEQ_TENDON,
}
_GEOMS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
}


def build(numbers: dict) -> mujoco.MjModel:
    """An arm with its hand: bodies, joints, motors, sites, tendons and equalities."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.timestep = TIMESTEP
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 20
    spec.option.density, spec.option.viscosity = 1.2, 2e-5
    bodies = {"world": spec.worldbody}
    for body in numbers["bodies"]:
        bodies[body["name"]] = bodies[body["parent"]].add_body(
            name=body["name"],
            pos=body["pos"],
            quat=body["quat"],
            mass=body["mass"],
            ipos=body["ipos"],
            iquat=body["iquat"],
            inertia=body["inertia"],
            explicitinertial=True,
        )
    for joint in numbers["joints"]:
        bodies[joint["body"]].add_joint(
            name=joint["name"],
            type=_JOINTS[joint["type"]],
            pos=joint["pos"],
            axis=joint["axis"],
            limited=joint["limited"],
            range=joint["range"],
            damping=[joint["damping"], 0, 0],
            armature=joint["armature"],
            frictionloss=joint["frictionloss"],
            stiffness=[joint["stiffness"], 0, 0],
            ref=joint["ref"],
            springref=joint["springref"],
        )
    for site in numbers["sites"]:
        bodies[site["body"]].add_site(name=site["name"], pos=site["pos"], quat=site["quat"])
    for geom in numbers["geoms"]:
        bodies[geom["body"]].add_geom(
            name=geom["name"],
            type=_GEOMS[geom["type"]],
            size=geom["size"],
            pos=geom["pos"],
            quat=geom["quat"],
            contype=geom["contype"],
            conaffinity=geom["conaffinity"],
            condim=geom["condim"],
            friction=geom["friction"],
            solref=geom["solref"],
            solimp=geom["solimp"],
        )
    for tendon in numbers.get("tendons", ()):
        made = spec.add_tendon(
            name=tendon["name"],
            limited=tendon["limited"],
            range=tendon["range"],
            stiffness=[tendon["stiffness"], 0, 0],
            damping=[tendon["damping"], 0, 0],
            frictionloss=tendon["frictionloss"],
            springlength=tendon["springlength"],
        )
        for joint, coefficient in tendon["fixed"]:
            made.wrap_joint(joint, coefficient)
    for actuator in numbers["actuators"]:
        target, kind = ("joint", "JOINT") if "joint" in actuator else ("tendon", "TENDON")
        spec.add_actuator(
            name=actuator["name"],
            target=actuator[target],
            trntype=getattr(mujoco.mjtTrn, f"mjTRN_{kind}"),
            ctrllimited=True,
            ctrlrange=actuator["ctrlrange"],
            forcelimited=actuator["forcerange"] is not None,
            forcerange=actuator["forcerange"] or [0, 0],
            gainprm=[*actuator["gain"], *[0] * 7],
            biasprm=[*actuator["bias"], *[0] * 7],
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            gear=[actuator["gear"], 0, 0, 0, 0, 0],
        )
    for equality in numbers["equality"]:
        made = spec.add_equality(
            type=_EQUALITIES[equality["type"]],
            name1=equality["a"],
            name2=equality["b"] or "",
            data=[*equality["data"], 0],
            solref=equality["solref"],
            solimp=equality["solimp"],
        )
        if equality["type"] == "connect":
            made.objtype = mujoco.mjtObj.mjOBJ_BODY
    return spec.compile()


@functools.cache
def numbers() -> dict:
    """The measured numbers of all arms."""
    return json.loads((DATA / "controllers_arms.json").read_text())


ARMS = tuple(name for name in numbers() if not name.startswith("_"))

# What a state is read from.
FIELDS = ("qpos", "qvel", "qfrc_bias", "M", "cdof", "cvel", "site_xpos", "site_xmat", "subtree_com")


class Arms:
    """The arms of one robot in a simulation, each with a controller of its own."""

    def __init__(self, name: str, controller: Controller | None = None) -> None:
        self.model = build(numbers()[name])
        self.data = mujoco.MjData(self.model)
        self.chains = [
            Chain(self.model, arm["joints"], arm["actuators"], arm["tool"], arm["origin"])
            for arm in numbers()[name]["arms"]
        ]
        every = np.arange(self.model.nq)  # of joints with one degree of freedom each
        self.joints = np.concatenate([every[chain.qpos] for chain in self.chains])
        self.motors = np.concatenate([np.arange(self.model.nu)[c.ctrl] for c in self.chains])
        self.data.qpos[self.joints] = numbers()[name]["start"]
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
