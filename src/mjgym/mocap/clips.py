"""Clip lookup by name, file or folder."""

from pathlib import Path

from mjgym.mocap import fitted
from mjgym.util.packaged import assets
from mjgym.util.suggestions import did_you_mean

# Recordings of the CMU database, `Trajectory.save`, and dm_control's fitted motions.
SUFFIXES = (".amc", ".npz", *fitted.SUFFIXES)
KINDS = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


def find_clips(clips: str) -> tuple[Path, ...]:
    """Files of a selection of clips, in alphabetical order.

    Args:
        clips: a file, a folder of files, or the name of a bundled clip, e.g. "walk"; empty for all
            bundled clips.

    Raises:
        ValueError: there is no such file, folder or name, or no clip in it; the message names the
            nearest ones.
    """
    bundled = _inside(assets() / "locomotion" / "clips")
    path = Path(clips).expanduser()
    if not clips:
        return bundled
    if path.is_dir():
        paths = _inside(path)
        if not paths:
            raise ValueError(f"clips: no {KINDS} file in the folder {clips!r}")
        return paths
    if path.is_file():
        if not _is_clip(path):
            raise ValueError(f"clips: {clips!r} is no {KINDS} file")
        return (path,)
    named = {clip.stem: clip for clip in bundled}
    if clips in named:
        return (named[clips],)
    beside = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    names = [p.name for p in beside if p.is_dir() or _is_clip(p)]
    names += list(named) if path.parent == Path() else []
    raise ValueError(f"clips: no file or folder {clips!r}{did_you_mean(path.name, names)}")


def find_selected(clips: str) -> tuple[tuple[Path, ...], str]:
    """Files of `find_clips`, and the pattern after "#" of clips in HDF5 files: `clip_names`."""
    selected, _, pattern = clips.partition("#")
    paths = find_clips(selected)
    if pattern and not all(map(fitted.is_fitted, paths)):
        raise ValueError(
            f"clips: {selected!r} is no HDF5 file, from which '#{pattern}' could select"
        )
    return paths, pattern


def _inside(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.iterdir() if _is_clip(path)))


def _is_clip(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file()
