"""A deployed policy in bare MuJoCo: the loop of a robot's controller, from its files alone."""

import hashlib
from collections import deque
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import onnxruntime
import yaml


class MismatchError(ValueError):
    """Parts of a deployment do not fit; the message names what differs."""


class Controller:
    """A deployed policy and its model; `deploy.yaml` says everything else."""

    def __init__(self, folder: Path) -> None:
        self.about = about = yaml.safe_load((folder / "deploy.yaml").read_text(encoding="utf-8"))
        for name in (*about["sha256"], about["model"], about["policy"]):
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != about["sha256"][name]:
                raise MismatchError(f"checksum: {name} is not the file that was deployed")
        self.model = mujoco.MjModel.from_xml_path(str(folder / about["model"]))
        self.policy = onnxruntime.InferenceSession(folder / about["policy"])
        self.rest, self.scale = np.array(about["default_pose"]), np.array(about["action_scale"])
        self.joints = [self.model.joint(i) for i in self.model.actuator_trnid[:, 0]]
        self._require_fitting()

    def _require_fitting(self) -> None:
        about, model, order = self.about, self.model, self.about["joint_order"]
        firsts = [0, *np.cumsum([entry["size"] for entry in about["observation"]]).tolist()]
        shape = firsts[-1:] if about["history"] == 1 else [about["history"], firsts[-1]]
        period = about["physics_timestep"] * about["physics_steps"]
        damping = model.dof_damping[6:] - model.actuator_biasprm[:, 2]
        out = self.policy.get_outputs()[0].shape[-1]
        for name, said, found in (
            ("joint order", order, [model.joint(i).name for i in range(1, model.njnt)]),
            ("actuator order", order, [joint.name for joint in self.joints]),
            ("physics timestep", about["physics_timestep"], model.opt.timestep),
            ("control rate", about["control_rate"], round(1 / period, 6)),
            ("stiffness", about["stiffness"], model.actuator_gainprm[:, 0].tolist()),
            ("damping", about["damping"], damping.tolist()),
            ("poses, scales, actions", [len(self.rest), len(self.scale), out], [len(order)] * 3),
            ("observation order", [entry["first"] for entry in about["observation"]], firsts[:-1]),
            ("observation shape", shape, self.policy.get_inputs()[0].shape[1:]),
        ):
            if said != found:
                raise MismatchError(f"{name}: deploy.yaml says {said}, not {found}")

    def replay(self, command: Any, steps: int, qpos: Any = None, qvel: Any = None) -> list[Any]:
        """Actions, qpos and qvel after them, (steps, ...), from a state or the pose at rest."""
        model, about, data = self.model, self.about, mujoco.MjData(self.model)
        start = (0, 0, about["root_height"], 1, 0, 0, 0, *self.rest)
        data.qpos[:] = start if qpos is None else qpos
        data.qvel[:] = 0 if qvel is None else qvel
        model.opt.disableflags ^= mujoco.mjtDisableBit.mjDSBL_ACTUATION  # there is no target yet
        mujoco.mj_forward(model, data)
        model.opt.disableflags ^= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        actions = deque([np.zeros(len(self.rest))] * 2, maxlen=2)
        shown: deque[np.ndarray] = deque(maxlen=about["history"])
        before, rows = data.sensordata.copy(), []
        for step in range(steps):
            if step % about["control_steps_per_action"] == 0:
                now = self._observation(data, before, actions, command, step)
                shown.extend([now] * (1 if shown else about["history"]))  # the first one fills it
                inputs = np.stack(shown)[None] if about["history"] > 1 else now[None]
                action = self.policy.run(None, {"observation": inputs})[0][0]
            actions.append(action)
            data.ctrl[:] = self.rest + self.scale * action
            for _ in range(about["physics_steps"]):
                before = data.sensordata.copy()
                mujoco.mj_step2(model, data)
                mujoco.mj_step1(model, data)  # what is measured is current
            rows.append((action, data.qpos.copy(), data.qvel.copy()))
        return [np.array(column) for column in zip(*rows, strict=True)]

    def _observation(self, data: Any, before: Any, actions: Any, command: Any, step: int) -> Any:
        found = []
        for entry in self.about["observation"]:
            if entry["quantity"] == "sensor":
                readings = before if entry.get("physics_steps_ago") else data.sensordata
                x = readings[self.model.sensor(entry["of"]).adr[0] :][: entry["size"]]
            elif entry["quantity"] == "gravity_direction":  # in the axes of a body
                x = -data.body(entry["of"]).xmat[6:9]
            elif entry["quantity"] == "gait_phase":
                turns = max(step - 1, 0) * entry["frequency"] / self.about["control_rate"]
                phase = np.array(entry["start"]) + 2 * np.pi * turns
                x = np.concatenate([np.cos(phase), np.sin(phase)])
            else:
                x = {
                    "joint_position_from_default": data.qpos[7:] - self.rest,
                    "joint_velocity": data.qvel[6:],
                    "action": actions[-1 - entry.get("actions_before", 0)],
                    "command": np.array(command),
                }[entry["quantity"]]
            found.append(entry["scale"] * x)
        return np.concatenate(found).astype(np.float32)
