"""Recordings of the CMU motion-capture database in AMC files."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from mjgym.util.suggestions import did_you_mean, or_else

# Bones in the order of the files. "t" is a translation along an axis of the recording's space (y
# up), "r" a rotation about an axis of the bone.
CHANNELS: Mapping[str, tuple[str, ...]] = {
    "root": ("tx", "ty", "tz", "rx", "ry", "rz"),
    "lowerback": ("rx", "ry", "rz"),
    "upperback": ("rx", "ry", "rz"),
    "thorax": ("rx", "ry", "rz"),
    "lowerneck": ("rx", "ry", "rz"),
    "upperneck": ("rx", "ry", "rz"),
    "head": ("rx", "ry", "rz"),
    "rclavicle": ("ry", "rz"),
    "rhumerus": ("rx", "ry", "rz"),
    "rradius": ("rx",),
    "rwrist": ("ry",),
    "rhand": ("rx", "rz"),
    "rfingers": ("rx",),
    "rthumb": ("rx", "rz"),
    "lclavicle": ("ry", "rz"),
    "lhumerus": ("rx", "ry", "rz"),
    "lradius": ("rx",),
    "lwrist": ("ry",),
    "lhand": ("rx", "rz"),
    "lfingers": ("rx",),
    "lthumb": ("rx", "rz"),
    "rfemur": ("rx", "ry", "rz"),
    "rtibia": ("rx",),
    "rfoot": ("rx", "rz"),
    "rtoes": ("rx",),
    "lfemur": ("rx", "ry", "rz"),
    "ltibia": ("rx",),
    "lfoot": ("rx", "rz"),
    "ltoes": ("rx",),
}
"""What a line of each bone holds, number by number."""

# Unit of angles, and a promise that every bone is in every frame, which is checked anyway.
_KEYWORDS = (":FULLY-SPECIFIED", ":DEGREES")


@dataclass(frozen=True, eq=False)
class Clip:
    """One unconverted recording.

    Args:
        bones: by bone, (F, n), one row per frame with the columns of `CHANNELS`: angles in degrees,
            root position in units of the recording. The root is required.
        rate: frames per second.

    Raises:
        ValueError: a bone is unknown, the root is missing, an array has the wrong shape, a number
            is not finite, or the rate is not positive.
    """

    bones: Mapping[str, np.ndarray]
    rate: float

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:
            raise ValueError(f"rate: must be a positive number of frames a second, got {self.rate}")
        if "root" not in self.bones:
            raise ValueError("bones: there is no root, which places all others")
        arrays = {name: np.array(values, dtype=float) for name, values in self.bones.items()}
        frames = len(np.atleast_1d(arrays["root"]))
        for name, values in arrays.items():
            if name not in CHANNELS:
                raise ValueError(f"bones: {_unknown_bone(name)}")
            if values.shape != (frames, len(CHANNELS[name])) or not frames:
                raise ValueError(
                    f"bones: {name} must be (frames, {len(CHANNELS[name])}), with"
                    f" {max(frames, 1)} frames as the root has, got {values.shape}"
                )
            if not np.isfinite(values).all():
                frame, column = np.argwhere(~np.isfinite(values))[0]
                raise ValueError(
                    f"bones: {name} {CHANNELS[name][column]} of frame {frame + 1}"
                    f" is {values[frame, column]}"
                )
            values.flags.writeable = False
        object.__setattr__(self, "bones", arrays)

    @property
    def times(self) -> np.ndarray:
        """Time of each frame, from 0: (F,) in s."""
        return np.arange(len(self.bones["root"])) / self.rate


def read_amc(path: str | Path, rate: float = 120.0) -> Clip:
    """Read an AMC file of the CMU database's skeleton.

    After comments ("#...") and keywords (":DEGREES", ":FULLY-SPECIFIED") come the frames. Each
    starts with its number alone on a line, counted from 1, then has one line per bone: its name and
    its numbers, in degrees. Bones may come in any order. A bone missing from all frames is not in
    the clip; its joints stay at 0.

    Args:
        path: path of the file.
        rate: frames per second, missing from the file: 120 in nearly all of the database.

    Raises:
        FileNotFoundError: there is no such file; the message names the nearest ones beside it.
        ValueError: the file has another format; the message names the file, the line and, for an
            unknown bone or keyword, the nearest ones.
    """
    path = Path(path)
    if not path.is_file():
        beside = [p.name for p in path.parent.glob("*.amc")] if path.parent.is_dir() else []
        hint = did_you_mean(path.name, sorted(beside))
        raise FileNotFoundError(f"no AMC file {str(path)!r}{hint}")
    # Comments may hold any bytes, and every byte is valid Latin-1.
    frames = _Frames(path)
    for number, line in enumerate(path.read_text(encoding="latin-1").split("\n"), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            frames.read(number, words)
    return Clip(frames.finish(), rate)


class _Frames:
    """Line-by-line reader of a file's frames."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, list[list[float]]] = {}
        self._frame = 0  # number of the current frame
        self._line = 1  # its first line
        self._seen: set[str] = set()  # its bones so far

    def read(self, line: int, words: list[str]) -> None:
        if words[0].startswith(":"):
            self._keyword(line, words[0])
        elif len(words) == 1 and words[0].isdecimal():
            self._begin(line, int(words[0]))
        else:
            self._bone(line, words[0], words[1:])

    def finish(self) -> dict[str, np.ndarray]:
        """Check the last frame and return all frames by bone."""
        if not self._frame:
            self._fail(self._line, "the file has no frame: a line with the number 1 alone")
        self._end()
        return {bone: np.array(rows) for bone, rows in self._rows.items()}

    def _keyword(self, line: int, word: str) -> None:
        if self._frame:
            self._fail(line, f"keyword {word!r} after the first frame")
        if word.upper() not in _KEYWORDS:
            self._fail(line, f"unknown keyword {word!r}{or_else(word.upper(), _KEYWORDS)}")

    def _begin(self, line: int, number: int) -> None:
        if number != self._frame + 1:
            self._fail(line, f"frame {number} stands where frame {self._frame + 1} should")
        if self._frame:
            self._end()
        self._frame, self._line, self._seen = number, line, set()

    def _end(self) -> None:
        if "root" not in self._seen:
            self._fail(self._line, f"frame {self._frame} has no root")
        for bone in self._rows:
            if bone not in self._seen:
                message = f"frame {self._frame} has no bone {bone!r}, which frame 1 has"
                self._fail(self._line, message)

    def _bone(self, line: int, bone: str, words: list[str]) -> None:
        if bone not in CHANNELS:
            self._fail(line, _unknown_bone(bone))
        if not self._frame:
            self._fail(line, f"bone {bone!r} before the first frame's number")
        if bone in self._seen:
            self._fail(line, f"frame {self._frame} has a second line for bone {bone!r}")
        if self._frame > 1 and bone not in self._rows:
            self._fail(line, f"frame {self._frame} has a bone {bone!r}, which frame 1 lacks")
        channels = CHANNELS[bone]
        if len(words) != len(channels):
            self._fail(
                line,
                f"bone {bone!r} has {len(channels)} numbers ({' '.join(channels)}),"
                f" got {len(words)}",
            )
        values = []
        for channel, word in zip(channels, words, strict=True):
            try:
                value = float(word)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                self._fail(line, f"{channel} of bone {bone!r} is not a finite number: {word!r}")
            values.append(value)
        self._rows.setdefault(bone, []).append(values)
        self._seen.add(bone)

    def _fail(self, line: int, message: str) -> NoReturn:
        raise ValueError(f"{self._path}:{line}: {message}")


def _unknown_bone(name: str) -> str:
    return f"unknown bone {name!r}{or_else(name.lower(), CHANNELS)}"
