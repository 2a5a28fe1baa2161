"""The arms of the tabletop family, built from their measured numbers."""

import json
from pathlib import Path

import mujoco
import numpy as np

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
