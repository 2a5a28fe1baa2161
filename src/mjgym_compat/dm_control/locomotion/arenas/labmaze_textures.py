"""Looks of mazes: a sky, walls and floors.

The published textures are photographs of another package; these are plain, in colours by style.
"""

import zlib
from typing import Any

import numpy as np

from mjgym_compat.dm_control import composer, mjcf

FLOORS = ("blue", "orange", "red", "yellow")
SKY = (0.64, 0.8, 0.94), (0.18, 0.5, 0.76)


def _shade(word: str, low: float, high: float) -> np.ndarray:
    """A colour derived from a word, always the same."""
    return np.random.RandomState(zlib.crc32(word.encode())).uniform(low, high, 3)


class _Look(composer.Entity):
    def _build(self, style: str) -> None:
        self._mjcf_root = mjcf.RootElement(model=f"labmaze_{style}")
        self.textures = self._make(style)

    def _make(self, style: str) -> list[mjcf.Element]:
        raise NotImplementedError

    def _checker(self, name: str, colour: np.ndarray) -> mjcf.Element:
        return self._mjcf_root.asset.add(
            "texture", name=name, type="2d", builtin="checker", rgb1=colour, rgb2=0.85 * colour,
            width=64, height=64,
        )  # fmt: skip


class SkyBox(_Look):
    """A sky."""

    def _make(self, style: str) -> list[mjcf.Element]:
        return [
            self._mjcf_root.asset.add(
                "texture", name="texture", type="skybox", builtin="gradient", rgb1=SKY[0],
                rgb2=SKY[1], width=128, height=768,
            )
        ]  # fmt: skip

    @property
    def texture(self) -> mjcf.Element:
        return self.textures[0]


class WallTextures(_Look):
    """Walls."""

    def _make(self, style: str) -> list[mjcf.Element]:
        return [self._checker(f"wall_{k}", _shade(f"{style}{k}", 0.4, 0.9)) for k in range(4)]


class FloorTextures(_Look):
    """Floors."""

    def _make(self, style: str) -> list[mjcf.Element]:
        return [self._checker(f"floor_{n}", _shade(style + n, 0.2, 0.7)) for n in FLOORS]


def texture_list(look: Any) -> list[mjcf.Element]:
    """Texture elements of walls, floors or a skybox, or of a plain list."""
    return list(getattr(look, "textures", look))
