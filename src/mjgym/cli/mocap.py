"""`mjgym mocap`: inspect motion-capture files and convert them to trajectories."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mjgym.cli import options
from mjgym.cli.output import console, facts, fail, print_json, refusing

AMC = ".amc"

if TYPE_CHECKING:
    from mjgym.mocap.trajectory import Trajectory


def _names(incomplete: str) -> list[str]:
    from mjgym.mocap import find_clips

    return [clip.stem for clip in find_clips("") if clip.stem.startswith(incomplete)]


def mocap(
    clip: Annotated[
        str,
        typer.Argument(
            help="An AMC file of the CMU database, a folder of them, or the name of a clip that"
            " comes with the package; all of those without it.",
            autocompletion=_names,
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write qpos, qvel and timestep to this .npz file; of several clips, to files in"
            " this folder.",
        ),
    ] = None,
    body: Annotated[
        Literal["2019", "2020"],
        typer.Option(help='The humanoid: "2020" is 1.2 times as large; the suite\'s is "2019".'),
    ] = "2020",
    timestep: Annotated[float, typer.Option(help="Seconds between the states.")] = 0.03,
    rate: Annotated[float, typer.Option(help="Frames per second of the file.")] = 120.0,
    json: options.Json = False,
) -> None:
    """Describe motion-capture files, and export them as states of a CMU humanoid.

    To watch a clip: mjgym view cmu_humanoid-tracking --set play=true --set clips=CLIP
    """
    from mjgym.mocap import SCALE_V2020, find_clips, read_amc, to_trajectory

    several = not clip or Path(clip).expanduser().is_dir()
    clips = []
    with refusing(ValueError, OSError):
        paths = [path for path in find_clips(clip) if not several or path.suffix.lower() == AMC]
        if not paths:
            raise ValueError(f"clips: no {AMC} file in the folder {clip!r}")
        outs = [None if out is None else _out(path, out, several) for path in paths]
        for path, target in zip(paths, outs, strict=True):
            read = read_amc(path, rate)
            scale = SCALE_V2020 if body == "2020" else 1.0
            trajectory = to_trajectory(read, timestep, scale)
            data: dict[str, Any] = {
                "clip": str(path),
                "frames": len(read.times),
                "rate": read.rate,
                "duration": float(read.times[-1]),
                "bones": list(read.bones),
                "body": body,
                "states": len(trajectory),
                "timestep": trajectory.timestep,
                "written": None,
            }
            clips.append((data, trajectory, target))
    if out is not None:
        _write(clips)
    if json:
        print_json([data for data, *_ in clips] if several else clips[0][0])
        return
    for k, (data, *_) in enumerate(clips):
        console().print(*([""] if k else []), facts(_shown(data)), sep="\n")


def _write(clips: "list[tuple[dict[str, Any], Trajectory, Path | None]]") -> None:
    for data, trajectory, target in clips:
        assert target is not None
        try:
            trajectory.save(target)
        except OSError as error:
            written = [data["written"] for data, *_ in clips if data["written"]]
            what = f"after {', '.join(written)} nothing" if written else "nothing"
            fail(f"{what} is written: {error}")
        data["written"] = str(target)


def _out(clip: Path, out: Path, several: bool) -> Path:
    if several:
        if not out.is_dir():
            raise typer.BadParameter(f"there is no folder {str(out)!r}.", param_hint="'--out'")
        return out / f"{clip.stem}.npz"
    if out.suffix.lower() != ".npz":
        raise typer.BadParameter(f"{str(out)!r} does not end in .npz.", param_hint="'--out'")
    return out


def _shown(data: dict[str, Any]) -> dict[str, str]:
    bones = data["bones"]
    rows = {
        "clip": data["clip"],
        "frames": f"{data['frames']}, {data['rate']:g} a second",
        "duration": f"{data['duration']:g} s",
        "bones": f"{len(bones)}: {', '.join(bones)}",
        "states": f"{data['states']} of the {data['body']} humanoid, every {data['timestep']:g} s",
    }
    return {**rows, "written": data["written"]} if data["written"] else rows
