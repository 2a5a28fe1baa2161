"""`mjgym sim2sim`: a deployed policy in bare MuJoCo."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from mjgym.cli import shared_options
from mjgym.cli.output import console, facts, fail, print_json, require
from mjgym.util import bounded
from mjgym.util.bounded import reason

MOST_BYTES = 2**28  # of a file
MOST = 1e6  # of the numbers of a pose or scale
RANGES: dict[str, tuple[float, float]] = {  # what takes time or memory, and a height, m
    "control_rate": (0.1, 10_000.0),  # Hz
    "physics_steps": (1, 1_000),
    "control_steps_per_action": (1, 1_000),
    "history": (1, 1_000),
    "root_height": (-100.0, 100.0),
}


def sim2sim(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of `mjgym export --deploy`.")
    ],
    command: Annotated[
        tuple[float, float, float],
        typer.Option(help="Velocity forward and to the left, m/s, and about the vertical, rad/s."),
    ] = (0.5, 0.0, 0.0),
    seconds: Annotated[float, typer.Option(min=0.1, help="Duration.")] = 20.0,
    json: shared_options.Json = False,
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
    from mjgym.mjcf.lint.refusals import silence
    from mjgym_train.deployed_controller import Controller, MismatchError

    place = folder / "deploy.yaml"
    try:
        _require_bounded(folder, place)
        controller = Controller(folder)
        steps = max(1, round(seconds * controller.about["control_rate"]))
        with silence():
            actions, qpos, qvel = controller.replay(command, steps)
        found = _summary(actions, qpos, qvel, command)
    except OSError:
        raise
    except MismatchError as error:
        fail(error)
    except Exception as error:  # of whatever a description lacks, and of ONNX Runtime
        fail(f"{place} describes no controller: {reason(error)}")
    if json:
        print_json(found)
        return
    console().print(facts({name: str(value) for name, value in found.items()}))


def _require_bounded(folder: Path, place: Path) -> None:
    """Refuse files outside the folder and oversized contents before they are used."""
    from mjgym.mjcf.size_limits import require_self_contained

    about = bounded.yaml_of(bounded.text(place), str(place))
    for name, (low, high) in RANGES.items():
        if type(about[name]) not in (int, type(low)) or not low <= about[name] <= high:
            raise ValueError(f"{name} must be from {low} to {high}, got {about[name]!r}")
    numbers = [[entry["scale"] for entry in about["observation"]]]
    for row in (*numbers, about["default_pose"], about["action_scale"]):
        if not all(type(x) in (int, float) and abs(x) <= MOST for x in row):
            raise ValueError(f"{row!r} must be numbers up to {MOST:g}")
    for name in (*about["sha256"], about["model"], about["policy"]):
        file = folder / name
        if not file.resolve().is_relative_to(folder.resolve()) or file.is_symlink():
            raise ValueError(f"{name} is no file of that folder")
        bounded.content(file, MOST_BYTES)
    require_self_contained(bounded.text(folder / about["model"], MOST_BYTES), about["sha256"])


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
