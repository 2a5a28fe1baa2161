"""Recordings of the CMU motion-capture database in AMC files."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from mjgym.util import bounded
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
"""Degrees of freedom in the line of each bone, in order."""

# Unit of angles, and a promise that every bone is in every frame, which is checked anyway.
MOST_BYTES = 2**26  # of a file: hours of motion
_KEYWORDS = (":FULLY-SPECIFIED", ":DEGREES")


@dataclass(frozen=True, eq=False)
class Clip:
    """One unconverted recording.

    Raises:
        ValueError: a bone is unknown, the root is missing, an array has the wrong shape, a number
            is not finite, or the rate is not positive.
    """

    # By bone, (F, n), one row per frame with the columns of `CHANNELS`: angles in degrees, root
    # position in units of the recording. The root is required
    bones: Mapping[str, np.ndarray]
    rate: float  # frames per second

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
    frames: list[dict[str, list[float]]] = []
    began = 1  # line of the current frame

    def fail(line: int, message: str) -> NoReturn:
        raise ValueError(f"{path}:{line}: {message}")

    def check_frame() -> None:
        if not frames:
            return
        if "root" not in frames[-1]:
            fail(began, f"frame {len(frames)} has no root")
        for bone in frames[0]:
            if bone not in frames[-1]:
                fail(began, f"frame {len(frames)} has no bone {bone!r}, which frame 1 has")

    # Comments may hold any bytes, and every byte is valid Latin-1.
    for line, text in enumerate(
        bounded.content(path, MOST_BYTES).decode("latin-1").split("\n"), start=1
    ):
        word, *words = text.split() or ["#"]
        if word.startswith(":"):
            if frames:
                fail(line, f"keyword {word!r} after the first frame")
            if word.upper() not in _KEYWORDS:
                fail(line, f"unknown keyword {word!r}{or_else(word.upper(), _KEYWORDS)}")
        elif word.isdecimal() and not words:
            if int(word) != len(frames) + 1:
                fail(line, f"frame {int(word)} stands where frame {len(frames) + 1} should")
            check_frame()
            began = line
            frames.append({})
        elif not word.startswith("#"):
            try:
                _read_bone(frames, word, words)
            except ValueError as error:
                fail(line, str(error))
    if not frames:
        fail(1, "the file has no frame: a line with the number 1 alone")
    check_frame()
    return Clip({bone: np.array([frame[bone] for frame in frames]) for bone in frames[0]}, rate)


def _read_bone(frames: list[dict[str, list[float]]], bone: str, words: list[str]) -> None:
    if bone not in CHANNELS:
        raise ValueError(_unknown_bone(bone))
    if not frames:
        raise ValueError(f"bone {bone!r} before the first frame's number")
    if bone in frames[-1]:
        raise ValueError(f"frame {len(frames)} has a second line for bone {bone!r}")
    if bone not in frames[0] and len(frames) > 1:
        raise ValueError(f"frame {len(frames)} has a bone {bone!r}, which frame 1 lacks")
    channels = CHANNELS[bone]
    if len(words) != len(channels):
        listed = " ".join(channels)
        raise ValueError(f"bone {bone!r} has {len(channels)} numbers ({listed}), got {len(words)}")
    values = frames[-1][bone] = []
    for channel, word in zip(channels, words, strict=True):
        try:
            values.append(float(word))
        except ValueError:
            values.append(math.nan)
        if not math.isfinite(values[-1]):
            raise ValueError(f"{channel} of bone {bone!r} is not a finite number: {word!r}")


def _unknown_bone(name: str) -> str:
    return f"unknown bone {name!r}{or_else(name.lower(), CHANNELS)}"
