"""`mjgym mocap`: inspect motion-capture files and convert them to trajectories."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli import shared_options
from mjgym.cli.output import console, facts, fail, print_json, refusing

AMC = ".amc"
TIMESTEP = 0.03  # s, between the states

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
            " comes with the package (all of those without it); or dm_control's HDF5 file of fitted"
            ' motions, of which "cmu_2020.h5#CMU_016_*" selects some.',
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
    json: shared_options.Json = False,
) -> None:
    """Describe motion-capture files, and export them as states of the CMU humanoid of 2020.

    `mjgym.mocap` has functions for the smaller body of 2019, and for other rates.

    To watch a clip: mjgym view cmu_humanoid-tracking --set play=true --set clips=CLIP
    """
    from mjgym.mocap import clip_names, find_selected, is_fitted

    several = not clip or Path(clip).expanduser().is_dir()
    clips: list[tuple[dict[str, Any], Trajectory, Path | None]] = []
    with refusing(ValueError, OSError):
        found, names = find_selected(clip)
        paths = [path for path in found if not several or path.suffix.lower() == AMC]
        if not paths:
            raise ValueError(f"clips: no {AMC} file in the folder {clip!r}")
        if is_fitted(paths[0]):
            chosen = clip_names(paths[0], names)
            several = len(chosen) > 1
            outs = [None if out is None else _out(name, out, several) for name in chosen]
            read = _fitted(paths[0], chosen)
        else:
            outs = [None if out is None else _out(path.stem, out, several) for path in paths]
            read = map(_recorded, paths)
        clips += [(data, states, to) for (data, states), to in zip(read, outs, strict=True)]
    if out is not None:
        _write(clips)
    if json:
        print_json([data for data, *_ in clips] if several else clips[0][0])
        return
    for k, (data, *_) in enumerate(clips):
        console().print(*([""] if k else []), facts(_shown(data)), sep="\n")


def _recorded(path: Path) -> tuple[dict[str, Any], "Trajectory"]:
    from mjgym.mocap import SCALE_V2020, read_amc, to_trajectory

    read = read_amc(path)
    states = to_trajectory(read, TIMESTEP, SCALE_V2020)
    about = {
        "clip": str(path),
        "frames": len(read.times),
        "rate": read.rate,
        "duration": float(read.times[-1]),
        "bones": list(read.bones),
        "body": "2020",
    }
    return about | _size(states), states


def _fitted(path: Path, names: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], "Trajectory"]]:
    from mjgym.mocap import read_fitted

    for clip in read_fitted(path, names):
        states = clip.trajectory
        about = {
            "clip": f"{path}#{clip.name}",
            "duration": (len(states) - 1) * states.timestep,
            "body": clip.humanoid,
        }
        yield about | _size(states), states


def _size(states: "Trajectory") -> dict[str, Any]:
    return {"states": len(states), "timestep": states.timestep, "written": None}


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


def _out(clip: str, out: Path, several: bool) -> Path:
    if several:
        if not out.is_dir():
            raise typer.BadParameter(f"there is no folder {str(out)!r}.", param_hint="'--out'")
        return out / f"{clip}.npz"
    if out.suffix.lower() != ".npz":
        raise typer.BadParameter(f"{str(out)!r} does not end in .npz.", param_hint="'--out'")
    return out


def _shown(data: dict[str, Any]) -> dict[str, str]:
    rows = {"clip": data["clip"]}
    if "frames" in data:
        rows["frames"] = f"{data['frames']}, {data['rate']:g} a second"
    rows["duration"] = f"{data['duration']:g} s"
    if "bones" in data:
        rows["bones"] = f"{len(data['bones'])}: {', '.join(data['bones'])}"
    humanoid = f"{data['body']} humanoid".lstrip()
    rows["states"] = f"{data['states']} of the {humanoid}, every {data['timestep']:g} s"
    return {**rows, "written": data["written"]} if data["written"] else rows
