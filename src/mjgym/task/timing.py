"""Control steps and physics steps."""

import math

import mujoco

from mjgym.task import WHOLE, Task


def substeps(task: Task, model: mujoco.MjModel) -> int:
    """Physics steps per control step.

    Raises:
        ValueError: the control timestep is not a multiple of the physics timestep.
    """
    ratio = task.control_timestep / model.opt.timestep
    n = round(ratio) if math.isfinite(ratio) else 0
    if n < 1 or abs(ratio - n) > WHOLE:
        raise ValueError(
            f"{type(task).__name__}: control_timestep {task.control_timestep} s must be a whole"
            f" number of physics timesteps of {model.opt.timestep} s"
        )
    return int(n)
