"""Print the numbers of a robosuite robot: `python scripts/measure_robosuite_robots.py Tiago`.

It needs robosuite 1.5 and its MuJoCo, in an environment of their own; nothing is rendered. What it
prints of each body, joint, actuator and primitive collision geom are the numbers that our models
are written from. With `--record FILE` it also writes what the tests compare ours with: joint
positions under random actions, one row at the start and one for each action; and poses of the tools
with the robot's inertia matrix and bias forces in random configurations. `--controller BASIC` takes
another composite controller than the robot's own, by name or path, `--gripper PandaGripper` other
grippers.
"""

import argparse
import json
from typing import Any

import mujoco
import numpy as np
import robosuite
from robosuite.utils import transform_utils

STEPS = 12  # of a record
WARM = 3  # control steps before it
HIGH = 1.0  # m
AROUND = 0.1  # m and rad, of poses of tools around those at the start
SLOW = 0.3  # second half's actions, so that nothing is touched
POSES = 10  # random configurations of a record
SEED = 0


def main() -> None:
    """Measure one robot in the task Lift."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("robot")
    parser.add_argument("--record", default="")
    parser.add_argument("--controller", default=None)
    parser.add_argument("--gripper", default="default")
    asked = parser.parse_args()
    config = robosuite.load_composite_controller_config(asked.controller, robot=asked.robot)
    env = robosuite.make(
        "Lift",
        robots=asked.robot,
        controller_configs=config,
        gripper_types=asked.gripper,
        use_camera_obs=False,
        has_offscreen_renderer=False,
        initialization_noise=None,
    )
    env.reset()
    report(env, asked.robot)
    if asked.record:
        np.savez_compressed(asked.record, **record(env), **poses(env))


def report(env: robosuite.environments.base.MujocoEnv, name: str) -> None:
    """Print parts of the action, bodies, joints, actuators and geoms."""
    model, controller = env.sim.model._model, env.robots[0].composite_controller
    print(name, controller.name, dict(splits(controller)), env.action_dim)
    for i in range(1, model.nbody):
        body = model.body(i)
        if body.name.startswith(("table", "cube", "left_eef", "right_eef", "gripper")):
            continue
        above = model.body(body.parentid[0]).name
        print(
            f"body {body.name} in {above}: pos {body.pos} quat {body.quat} mass {body.mass[0]:.9g}"
        )
        print(f"  ipos {body.ipos} iquat {body.iquat} inertia {body.inertia}")
        for j in range(body.jntadr[0], body.jntadr[0] + body.jntnum[0]):
            joint, dof = model.joint(j), model.jnt_dofadr[j]
            print(
                f"  joint {joint.name} type {joint.type[0]} pos {joint.pos} axis {joint.axis}"
                f" range {joint.range} limited {model.jnt_limited[j]} damping"
                f" {model.dof_damping[dof]} armature {model.dof_armature[dof]} frictionloss"
                f" {model.dof_frictionloss[dof]}"
            )
        for g in range(body.geomadr[0], body.geomadr[0] + body.geomnum[0]):
            geom = model.geom(g)
            if model.geom_contype[g] or model.geom_conaffinity[g]:
                box = f"size {geom.size}" if geom.dataid[0] < 0 else f"box {model.geom_aabb[g]}"
                print(
                    f"  geom {geom.name} type {geom.type[0]} {box} pos {geom.pos} {geom.friction}"
                )
    for i in range(model.nu):
        actuator = model.actuator(i)
        print(
            f"actuator {actuator.name} range {actuator.ctrlrange} gain {actuator.gainprm[:3]}"
            f" bias {actuator.biasprm[:3]} force {actuator.forcerange}"
        )


def record(env: robosuite.environments.base.MujocoEnv) -> dict[str, np.ndarray]:
    """A state, and joint positions under random actions that follow.

    With each goes whether hands and feet have touched nothing until then, and with the last action
    the robot's entries.

    The state is that after some control steps, as in the first one robosuite's controllers act on
    positions from before the start. A robot on its feet falls from high up.
    """
    robot, rng = env.robots[0], np.random.default_rng(SEED)
    model, data = env.sim.model._model, env.sim.data._data
    low, high = env.action_spec
    hold = held(env)
    for _ in range(WARM):
        env.step(hold.copy())
    if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE and not model.joint(0).name:
        data.qpos[2] += HIGH
        mujoco.mj_forward(model, data)
    rest = {"start/qpos": data.qpos.copy(), "start/qvel": data.qvel.copy()}
    moved = moving(model)
    indices = model.jnt_qposadr[moved]
    actions = rng.uniform(np.maximum(low, -1), np.minimum(high, 1), (STEPS, len(low)))
    poses = np.isinf(low)
    actions[:, poses] = hold[poses] + AROUND * actions[:, poses]
    # First the base stands: robosuite's arms start from where a moving base was a physics step ago.
    split = splits(robot.composite_controller)
    for part in ("base", "torso"):
        begin, end = split.get(part, (0, 0))
        actions[: STEPS // 2, begin:end] = hold[begin:end]
    late = actions[STEPS // 2 :]
    late[:, ~poses] = (hold + SLOW * late)[:, ~poses]
    if "HYBRID" in robot.composite_controller.name:
        actions[: STEPS // 2, -1] = -1
        actions[STEPS // 2 :, -1] = 1
    rows, free = [], []
    for action in actions:
        seen = env.step(action.copy())[0]
        rows.append(data.qpos[indices].copy())
        names = [model.geom(g).name for pair in data.contact.geom for g in pair]
        touching = any(name.startswith(("gripper", "leg")) for name in names)
        free.append(not touching and (free or [True])[-1])
    entries = {
        f"last/{n}": x for n, x in seen.items() if n.startswith(robot.robot_model.naming_prefix)
    }
    return {
        **rest,
        "names": np.array([model.joint(i).name or "root" for i in range(model.njnt)]),
        "action": actions,
        "qpos": np.array(rows),
        "free": np.array(free),
        "joints": np.array([model.joint(i).name for i in moved]),
        "split": np.array(json.dumps(split)),
        "observed": np.array(list(seen)),
        **entries,
    }


def splits(controller: Any) -> dict[str, tuple[int, int]]:
    """Start and end of each part of an action."""
    return getattr(
        controller, "_whole_body_controller_action_split_indexes", controller._action_split_indexes
    )


def held(env: robosuite.environments.base.MujocoEnv) -> np.ndarray:
    """An action of zeros, with the present positions of joints and tools that take positions."""
    robot, data = env.robots[0], env.sim.data._data
    controller, action = robot.composite_controller, np.zeros(env.action_dim)
    policy = getattr(controller, "joint_action_policy", None)
    if policy is not None:
        base = data.body(robot.robot_model.root_body)
        axes = base.xmat.reshape(3, 3).T
        for side, (begin, end) in policy.action_split_indexes().items():
            site = robot.eef_site_id[side]
            turn = transform_utils.mat2quat(axes @ data.site_xmat[site].reshape(3, 3))
            action[begin : begin + 3] = axes @ (data.site_xpos[site] - base.xpos)
            action[begin + 3 : end] = transform_utils.quat2axisangle(turn)
        return action
    for part in ("torso", "head"):
        law = controller.part_controllers.get(part)
        if law is not None and law.input_type == "absolute":
            begin, end = controller._action_split_indexes[part]
            action[begin:end] = env.sim.data.qpos[law.qpos_index]
    return action


def moving(model: mujoco.MjModel) -> list[int]:
    """Joints of the robot without its fingers and a free base."""
    names = [model.joint(i).name for i in range(model.njnt)]
    return [i for i, n in enumerate(names) if n and not n.startswith(("cube", "gripper"))]


def poses(env: robosuite.environments.base.MujocoEnv) -> dict[str, np.ndarray]:
    """Tools, inertia and bias forces of the robot in random configurations, its fingers at rest."""
    env.reset()
    robot, rng = env.robots[0], np.random.default_rng(SEED)
    model, data = env.sim.model._model, env.sim.data._data
    moved = moving(model)
    places, dofs = model.jnt_qposadr[moved], model.jnt_dofadr[moved]
    ranges = np.where(model.jnt_limited[moved, None], model.jnt_range[moved], [-0.5, 0.5])
    found: dict[str, list[np.ndarray]] = {}
    for _ in range(POSES):
        data.qpos[places] = rng.uniform(*ranges.T)
        data.qvel[:] = 0
        data.qvel[dofs] = rng.uniform(-1, 1, len(dofs))
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, mass, data.qM)
        row = {
            "qpos": data.qpos[places],
            "qvel": data.qvel[dofs],
            "mass": mass[np.ix_(dofs, dofs)],
            "bias": data.qfrc_bias[dofs],
        }
        for side, site in robot.eef_site_id.items():
            row[f"{side}_pos"], row[f"{side}_mat"] = data.site_xpos[site], data.site_xmat[site]
        for key, value in row.items():
            found.setdefault(key, []).append(value.copy())
    return {f"poses/{key}": np.array(values) for key, values in found.items()}


if __name__ == "__main__":
    main()
