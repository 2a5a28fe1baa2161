"""Record controllers of robosuite on a small robot, for the tests.

    /path/to/venv/bin/python scripts/record_robosuite_controllers.py > controllers.json

in an environment with robosuite 1.5.2. `tests/data/robosuite/controllers.json` has, for each case,
the arguments, the actions, and the torques before each physics step, in states that are written
into the simulation. `ik` has joint positions of `IKSolver`, `composites` what composite controllers
return. `JOINT_VELOCITY` is not recorded, as its class raises an AttributeError in this version.
`mink` has joint positions by the package mink 0.0.5, with the tasks of robosuite's solver on it.
"""

import copy
import json
from types import SimpleNamespace
from typing import Any

import mink
import mujoco
import numpy as np
from robosuite.controllers import composite_controller_factory, controller_factory
from robosuite.utils.binding_utils import MjSim
from robosuite.utils.ik_utils import IKSolver, get_nullspace_gains

SEED, STEPS, DIGITS = 0, 3, 9  # physics steps per action; digits of a recorded number
LIMIT = 1e4  # N m, of motors: torques of robosuite's laws are limited by its robots
AXES = ["001", "010", "100", "010", "001", "010", "001"]


def model() -> str:
    """A torso of one joint with two arms of seven, and a finger."""
    arms, motors = "", '<motor joint="torso_yaw"/>'
    for side, y in (("right", -0.3), ("left", 0.3)):
        inner = f'<site name="{side}_tool"/><geom size=".02" mass=".4"/>'
        if side == "right":
            inner += '<body pos="0 0 .05"><joint name="joint_right_finger" type="slide"/>'
            inner += '<geom size=".01" mass=".1"/></body>'
        for i in reversed(range(len(AXES))):
            axis = " ".join(AXES[i])
            inner = (
                f'<body pos="0 .02 {0.1 + 0.02 * i}"><joint name="{side}{i}" axis="{axis}"'
                f' range="-2.5 2.5" damping=".1" armature=".05"/><geom type="capsule" size=".03"'
                f' fromto="0 0 0 0 .02 .1" mass="{1 - 0.1 * i}"/>{inner}</body>'
            )
            motors += f'<motor joint="{side}{i}"/>'
        arms += f'<body pos="0 {y} .1" euler="0 0 {10 * y}">'
        arms += f'<site name="robot0_{side}_center"/>{inner}</body>'
    return (
        '<mujoco><compiler autolimits="true"/><option timestep=".002"/><worldbody>'
        '<body name="robot0_base" pos=".1 .2 .3" euler="0 0 30"><body><joint name="torso_yaw"'
        f' axis="0 0 1" range="-2 2"/><geom size=".1" mass="5"/>{arms}</body></body></worldbody>'
        f'<actuator>{motors}<position name="finger" joint="joint_right_finger" kp="100"'
        ' ctrlrange="-.01 .05"/></actuator></mujoco>'
    )


CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("right", "OSC_POSE", {}),
    ("right", "OSC_POSE", {"kp": [100, 110, 120, 40, 50, 60], "damping_ratio": 0.7}),
    ("right", "OSC_POSE", {"input_ref_frame": "world", "uncouple_pos_ori": False}),
    ("right", "OSC_POSE", {"input_type": "absolute", "input_ref_frame": "world"}),
    ("right", "OSC_POSE", {"impedance_mode": "variable"}),
    ("left", "OSC_POSE", {"impedance_mode": "variable_kp", "output_max": [0.02] * 6}),
    ("left", "OSC_POSITION", {"output_max": 0.1, "output_min": -0.1}),
    ("right", "JOINT_POSITION", {}),
    ("right", "JOINT_POSITION", {"input_type": "absolute", "kp": 70, "kd": 9}),
    (
        "left",
        "JOINT_POSITION",
        {"impedance_mode": "variable", "qpos_limits": [[-0.2] * 7, [0.2] * 7]},
    ),
    ("torso", "JOINT_POSITION", {"interpolation": "linear", "ramp_ratio": 0.2}),
    ("right", "JOINT_POSITION", {"use_torque_compensation": False}),
    ("right", "JOINT_TORQUE", {"output_max": 2, "output_min": -2, "torque_limits": [-1, 1]}),
    ("right", "IK_POSE", {"ik_pos_limit": 0.02, "ik_ori_limit": 0.05, "input_type": "absolute"}),
    ("right_gripper", "GRIP", {}),
    ("right_gripper", "GRIP", {"use_action_scaling": False}),
]
SOLVERS: list[dict[str, Any]] = [
    {},
    {"input_rotation_repr": "quat_wxyz"},
    {"input_action_repr": "relative", "max_dq": 0.0, "max_dq_torso": 0.0},
    {"input_ref_frame": "base", "max_dq": 0.5},
]
LATER_SOLVERS: list[dict[str, Any]] = [
    {"input_action_repr": "relative_pose", "input_rotation_repr": "quat_wxyz"},
    {"gains": {"Kpos": 0.4, "Kori": 0.7}, "max_dq": 0.0},
]
MINK: list[dict[str, Any]] = [
    {},
    {"hand_pos_cost": 2.0, "hand_ori_cost": 0.1, "posture_weights": {"torso_yaw": 50.0}},
]
WHOLE = {
    "ref_name": ["right_tool", "left_tool", "nowhere"],
    "actuation_part_names": ["torso", "right", "left", "head"],
    "nullspace_joint_weights": {"torso_yaw": 100.0, "right2": 3.0},
    "ik_max_dq_torso": 0.1,
}


def indices(sim: Any, part: str) -> dict[str, Any]:
    """Arguments of a part's controller that say where it is."""
    names = {"torso": ["torso_yaw"], "right_gripper": ["joint_right_finger"]}
    joints = names.get(part, [f"{part}{i}" for i in range(len(AXES))])
    found = [sim.model.joint_name2id(name) for name in joints]
    grips = part.endswith("gripper")
    limits = ([-0.01], [0.05]) if grips else ([-LIMIT] * len(joints), [LIMIT] * len(joints))
    places = {"joints": found, "qpos": found, "qvel": found}
    if grips:
        places["actuators"] = [sim.model.actuator_name2id("finger")]
    return {
        "sim": sim,
        "joint_indexes": places,
        "actuator_range": tuple(np.array(end) for end in limits),
        "part_name": part,
        "naming_prefix": "robot0_",
        "ref_name": f"{part}_tool" if part in ("right", "left") else None,
    }


def arguments(sim: Any, part: str, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments as robosuite's robots give them."""
    place = indices(sim, part)
    shared = {"policy_freq": 20, "ndim": len(place["joint_indexes"]["joints"])}
    return {"interpolation": None, "ramp_ratio": 0.2, **shared, **place, **copy.deepcopy(given)}


def move(sim: Any, rng: np.random.RandomState) -> list[list[float]]:
    """Write random positions and velocities into a simulation."""
    state = rng.uniform(-0.6, 0.6, sim.model.nq), rng.uniform(-0.3, 0.3, sim.model.nv)
    sim.data.qpos[:], sim.data.qvel[:] = state
    sim.forward()
    return [half.tolist() for half in state]


def place_frame(sim: Any, part: str, controller: Any) -> None:
    """Tell a controller where the frame of its actions is."""
    site = sim.model.site_name2id(f"robot0_{part}_center")
    axes = np.array(sim.data.site_xmat[site]).reshape(3, 3)
    controller.update_origin(np.array(sim.data.site_xpos[site]), axes)


def drive(case: tuple[str, str, dict[str, Any]], rng: np.random.RandomState) -> dict[str, Any]:
    """Torques of a controller."""
    part, kind, given = case
    sim = MjSim.from_xml_string(model())
    start = move(sim, rng)
    own = {"robot_name": "Panda"} if kind == "IK_POSE" else {}
    controller = controller_factory(part, kind, arguments(sim, part, given) | own)
    arm = part in ("right", "left")
    if arm:
        place_frame(sim, part, controller)
    if kind != "GRIP":
        controller.reset_goal()
    controller.new_update = True  # it has read the start, and states are written by hand here
    steps = []
    for _ in range(3):
        action = rng.uniform(-0.8, 0.8, controller.control_dim)
        if kind == "IK_POSE":
            action = action * 0.03
        if "use_action_scaling" in given:
            action = 0.02 + 0.03 * action  # within the finger's range
        if "variable" in given.get("impedance_mode", ""):
            axes = 6 if kind.startswith("OSC") else 7
            gains = axes if given["impedance_mode"] == "variable_kp" else 2 * axes
            action[:gains] = np.abs(action[:gains]) * 100
        for i in range(STEPS):
            state = move(sim, rng)
            if arm:
                place_frame(sim, part, controller)
            if i == 0:
                controller.set_goal(action.copy())
            torques = np.array(controller.run_controller())
            steps.append([action.tolist() if i == 0 else None, *state, torques.tolist()])
    low, high = (np.broadcast_to(end, controller.control_dim) for end in controller.control_limits)
    return {
        **{"part": part, "type": kind, "given": given, "start": start, "steps": steps},
        **{"low": low.tolist(), "high": high.tolist(), "name": controller.name},
    }


def solve(given: dict[str, Any], rng: np.random.RandomState) -> dict[str, Any]:
    """Joint positions of inverse kinematics."""
    sim = MjSim.from_xml_string(model())
    joints = ["torso_yaw", *(f"{side}{i}" for side in ("right", "left") for i in range(7))]
    config = {
        "end_effector_sites": ["right_tool", "left_tool"],
        "joint_names": joints,
        "mocap_bodies": [],
        "nullspace_gains": get_nullspace_gains(joints, {"right1": 4.0}),
    }
    usual = {"damping": 0.05, "integration_dt": 0.1, "max_dq": 4.0}
    options = {name: x for name, x in given.items() if name != "gains"}
    solver = IKSolver(sim.model._model, sim.data._data, config, **{**usual, **options})
    rows = []
    for _ in range(3):
        state = move(sim, rng)
        action = rng.uniform(-0.4, 0.4, (2, solver.control_dim // 2))
        if solver.rot_dim == 4:
            action[:, 3:] /= np.linalg.norm(action[:, 3:], axis=1, keepdims=True)
        theirs = action.copy()
        if given.get("input_action_repr") == "relative_pose":  # it reads x, y, z, w there
            theirs[:, 3:] = np.roll(action[:, 3:], -1, axis=1)
        found = np.array(solver.solve(theirs.ravel(), **given.get("gains", {})))
        rows.append([*state, action.ravel().tolist(), found.tolist()])
    return {"given": given, "joints": joints, "rows": rows}


def solve_by_mink(given: dict[str, Any], rng: np.random.RandomState) -> dict[str, Any]:
    """Joint positions of inverse kinematics by mink."""
    sim = MjSim.from_xml_string(model())
    own = sim.model._model
    joints = [own.joint(i).name for i in range(own.njnt)]
    costs = given.get("hand_pos_cost", 1.0), given.get("hand_ori_cost", 0.5)
    weights = get_nullspace_gains(joints, given.get("posture_weights", {}))
    posture = mink.PostureTask(own, cost=0.01 * weights, lm_damping=2)
    posture.set_target(np.zeros(own.nq))
    tools = [mink.FrameTask(f"{s}_tool", "site", *costs, lm_damping=1.0) for s in ("right", "left")]
    rows = []
    for reach in (0.6, 2.4, 2.4):  # rad
        qpos = rng.uniform(-reach, reach, own.nq)
        configuration = mink.Configuration(own, q=qpos.copy())
        action = rng.uniform(-0.4, 0.4, (2, 6))
        for tool, row in zip(tools, action, strict=True):
            pose, quat = np.eye(4), np.zeros(4)
            angle = np.linalg.norm(row[3:])
            mujoco.mju_axisAngle2Quat(quat, row[3:] / angle, angle)
            axes = np.zeros(9)
            mujoco.mju_quat2Mat(axes, quat)
            pose[:3, :3], pose[:3, 3] = axes.reshape(3, 3), row[:3]
            tool.set_target(mink.SE3.from_matrix(pose))
        speed = mink.solve_ik(configuration, [posture, *tools], 0.05, "quadprog", 1e-5)
        found = configuration.integrate(speed, 0.05)
        rows.append([qpos.tolist(), action.ravel().tolist(), found.tolist()])
    return {"given": given, "joints": joints, "rows": rows}


def compose(kind: str, rng: np.random.RandomState) -> dict[str, Any]:
    """Limits, splits and torques of a composite controller."""
    sim = MjSim.from_xml_string(model())
    start = move(sim, rng)
    law = "JOINT_POSITION" if kind == "WHOLE_BODY_IK" else "OSC_POSE"
    given: dict[str, Any] = {"type": law}
    if kind == "WHOLE_BODY_IK":
        given |= {"input_type": "absolute"}
    parts = {"right": given, "left": given, "torso": given | {"type": "JOINT_POSITION"}}
    robot = SimpleNamespace(arms=["right", "left"])
    whole = composite_controller_factory(kind, sim, robot, {})
    specific = copy.deepcopy(WHOLE) if kind == "WHOLE_BODY_IK" else {}
    configs = {name: arguments(sim, name, each) for name, each in parts.items()}
    whole.load_controller_config(configs, specific)
    whole.update_state()
    whole.reset()
    for each in whole.part_controllers.values():
        each.new_update = True
    low, high = whole.action_limits
    action = rng.uniform(-0.5, 0.5, len(low))
    state = move(sim, rng)
    whole.update_state()
    whole.set_goal(action.copy())
    enabled = {"right": True, "left": True, "torso": kind != "BASIC"}
    torques = {n: np.array(x).tolist() for n, x in whole.run_controller(enabled).items()}
    return {
        **{"type": kind, "parts": parts, "specific": specific and WHOLE, "start": start},
        **{"state": state, "action": action.tolist(), "enabled": enabled, "torques": torques},
        **{"low": np.array(low).tolist(), "high": np.array(high).tolist()},
        **{"info": whole.get_action_info(), "name": type(whole).name},
    }


def rounded(value: Any) -> Any:
    """Numbers with as many digits as matter; infinities as texts."""
    if isinstance(value, float):
        return str(value) if np.isinf(value) else float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(x) for name, x in value.items()}
    return [rounded(x) for x in value] if isinstance(value, list | tuple) else value


def main() -> None:
    """Record all cases, and print them."""
    rng = np.random.RandomState(SEED)
    recorded: dict[str, Any] = {
        "model": model(),
        "parts": [drive(case, rng) for case in CASES],
        "ik": [solve(given, rng) for given in SOLVERS],
        "composites": [compose(k, rng) for k in ("BASIC", "HYBRID_MOBILE_BASE", "WHOLE_BODY_IK")],
    }
    recorded["ik"] += [solve(given, rng) for given in LATER_SOLVERS]
    recorded["mink"] = [solve_by_mink(given, rng) for given in MINK]
    print(json.dumps(rounded(recorded), separators=(",", ":")))


if __name__ == "__main__":
    main()
