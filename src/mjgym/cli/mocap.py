"""`mjgym mocap`: a motion-capture file, looked at and turned into a trajectory."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mjgym.cli.output import console, facts, print_json


def mocap(
    clip: Annotated[Path, typer.Argument(help="An AMC file of the CMU database.", dir_okay=False)],
    out: Annotated[
        Path | None,
        typer.Option(help="Write qpos, qvel and timestep to this .npz file.", dir_okay=False),
    ] = None,
    body: Annotated[
        Literal["2019", "2020"],
        typer.Option(help='The humanoid: "2020" is 1.2 times as large; the suite\'s is "2019".'),
    ] = "2020",
    timestep: Annotated[float, typer.Option(help="Seconds between the states.")] = 0.03,
    interpolation: Annotated[
        Literal["cubic", "linear"],
        typer.Option(help='Between the frames: "cubic" is the published one, a spline.'),
    ] = "cubic",
    rate: Annotated[float, typer.Option(help="Frames per second of the file.")] = 120.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a motion-capture file holds; export it as states of a CMU humanoid.

    The argument play=true of locomotion/cmu_humanoid-tracking-v0 plays it, with clips=CLIP.
    """
    from mjgym.mocap import SCALE_V2020, read_amc, to_trajectory

    if out is not None and out.suffix.lower() != ".npz":
        raise typer.BadParameter(f"{str(out)!r} does not end in .npz.", param_hint="'--out'")
    try:
        read = read_amc(clip, rate)
        scale = SCALE_V2020 if body == "2020" else 1.0
        trajectory = to_trajectory(read, timestep, scale, interpolation)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    data: dict[str, Any] = {
        "clip": str(clip),
        "frames": len(read.times),
        "rate": read.rate,
        "duration": float(read.times[-1]),
        "bones": list(read.bones),
        "body": body,
        "states": len(trajectory),
        "timestep": trajectory.timestep,
        "written": None,
    }
    if out is not None:
        try:
            trajectory.save(out)
        except OSError as error:
            console(stderr=True).print(f"nothing is written: {error}", soft_wrap=True)
            raise typer.Exit(1) from None
        data["written"] = str(out)
    if json:
        print_json(data)
    else:
        console().print(facts(_shown(data)))


def _shown(data: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    bones = data["bones"]
    rows = {
        "clip": data["clip"],
        "frames": f"{data['frames']}, {data['rate']:g} a second",
        "duration": f"{data['duration']:g} s",
        "bones": f"{len(bones)}: {', '.join(bones)}",
        "states": f"{data['states']} of the {data['body']} humanoid, every {data['timestep']:g} s",
    }
    return {**rows, "written": data["written"]} if data["written"] else rows
