"""`mjgym sim2sim`: a deployed policy in bare MuJoCo."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from mjgym.cli.output import console, facts, failing, print_json, require


def sim2sim(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of `mjgym export --deploy`.")
    ],
    command: Annotated[
        tuple[float, float, float],
        typer.Option(help="Velocity forward and to the left, m/s, and about the vertical, rad/s."),
    ] = (0.5, 0.0, 0.0),
    seconds: Annotated[float, typer.Option(min=0.1, help="Duration.")] = 20.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run a deployed policy in bare MuJoCo, from its files alone, and say how it follows a command.

    The robot starts in its default pose at rest. Shown are the mean velocity in its own frame, m/s
    and rad/s, the lowest height of its root, m, and its largest tilt, degrees.

    Files that do not fit each other are refused: a changed model or policy, another order of
    joints, another control rate.
    """
    require("onnxruntime", "yaml", extra="deploy")
    if not all(map(math.isfinite, command)):
        raise typer.BadParameter(f"three finite numbers, got {command}", param_hint="'--command'")
    import yaml
    from onnxruntime.capi import onnxruntime_pybind11_state as onnx_errors

    from mjgym_train.sim2sim import Controller

    unreadable = (
        *(ArithmeticError, AttributeError, LookupError, TypeError, yaml.YAMLError),
        *(onnx_errors.Fail, onnx_errors.InvalidArgument, onnx_errors.InvalidProtobuf),
    )
    with failing(OSError, ValueError):
        try:
            controller = Controller(folder)
            steps = max(1, round(seconds * controller.about["control_rate"]))
            actions, qpos, qvel = controller.replay(command, steps)
        except unreadable as error:
            missing = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(
                f"{folder / 'deploy.yaml'} describes no controller: {missing}"
            ) from None
        found = _summary(actions, qpos, qvel, command)
    if json:
        print_json(found)
        return
    shown = {name: str(value) for name, value in found.items()}
    console().print(facts(shown))


def _summary(actions: Any, qpos: Any, qvel: Any, command: tuple[float, ...]) -> dict[str, Any]:
    import numpy as np

    from mjgym.rotations import conjugate, product

    turned = qpos[:, 3:7]
    up, velocity = np.zeros((2, len(qpos), 4))
    up[:, 3], velocity[:, 1:] = 1.0, qvel[:, :3]
    up, velocity = (product(conjugate(turned), product(x, turned)) for x in (up, velocity))
    means = velocity[:, 1].mean(), velocity[:, 2].mean(), qvel[:, 5].mean()
    tilt = np.degrees(np.arccos(up[:, 3].clip(-1, 1))).max()
    return {
        "control_steps": len(actions),
        "command": list(command),
        "mean_velocity": [round(float(mean), 4) for mean in means],
        "lowest_root": round(float(qpos[:, 2].min()), 4),
        "largest_tilt": round(float(tilt), 2),
        "largest_action": round(float(np.abs(actions).max()), 4),
    }
