"""Textures made of noise: skies with clouds, grass, slabs, layered clay."""

import functools
from collections.abc import Callable

import mujoco
import numpy as np

from mjgym.mjcf.elements import Spec

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""

_TABLE = np.random.default_rng(0).permutation(256)
_HEIGHTS = np.random.default_rng(1).random(256, np.float32)

_SKY, _CLAY = 256, 128  # pixels, sides of the faces of cubes
_FLAT = 512  # pixels, sides of flat textures


def noise(points: np.ndarray, period: int = 256) -> np.ndarray:
    """Smooth noise from 0 to 1 at points (..., k), that repeats itself after a period."""
    points = np.asarray(points, np.float32)
    low = np.floor(points)
    t = points - low
    t = t * t * (3 - 2 * t)
    near, far = (np.mod(low.astype(np.int32) + i, period) % 256 for i in (0, 1))
    result = np.zeros(points.shape[:-1], np.float32)
    for corner in np.ndindex((2,) * points.shape[-1]):
        weight, place = np.float32(1), 0
        for axis, further in enumerate(corner):
            x = t[..., axis]
            weight = weight * (x if further else 1 - x)
            place = _TABLE[(place + (far if further else near)[..., axis]) % 256]
        result += weight * _HEIGHTS[place]
    return result


def fractal(points: np.ndarray, octaves: int = 3, period: int = 256) -> np.ndarray:
    """Noise of several octaves, each twice as fine and half as strong as the one before."""
    weights = 0.5 ** np.arange(octaves)
    layers = (w * noise(points * 2**k, period * 2**k) for k, w in enumerate(weights))
    return np.asarray(sum(layers, np.float32(0)) / weights.sum())


@functools.cache
def sky(horizon: Colour, zenith: Colour, ground: Colour) -> np.ndarray:
    """A sky with clouds above a hazy horizon, as six faces of a cube."""

    def colours(direction: np.ndarray) -> np.ndarray:
        up = direction[:, 1]
        result = _mix(ground, horizon, _step(-0.06, 0.0, up))
        seen = up > 0
        up = up[seen]
        flat = 1.7 * direction[seen][:, ::2] / (up + 0.16)[:, None] + 40
        cover = 0.85 * _step(0.47, 0.72, fractal(flat, 5)) * _step(0.02, 0.22, up)
        shade = 1 - 0.14 * fractal(flat + 1, 3)
        cloud = np.stack([shade, shade, 0.5 + 0.5 * shade], axis=-1)
        result[seen] = _mix(_mix(horizon, zenith, up**0.6), cloud, cover)
        return result

    return _cube(colours, _SKY)


@functools.cache
def grass(dark: Colour, light: Colour, dry: Colour) -> np.ndarray:
    """A square metre of short grass, tileable."""
    at = _square()
    blades = 0.6 * fractal(at * 32, 3, 32) + 0.4 * noise(at * 256)
    tufts = fractal(at * 6, 3, 6)
    green = _mix(dark, light, _step(0.25, 0.8, blades + 0.5 * (tufts - 0.5)))
    return _mix(green, dry, 0.5 * _step(0.5, 0.8, fractal(at * 5 + 5, 4, 5)))


@functools.cache
def slabs(colour: Colour, other: Colour) -> np.ndarray:
    """Two by two slabs of stone with joints, chequered, tileable."""
    at = _square()
    which = np.floor(2 * at)
    tone = _mix(colour, other, which.sum(axis=-1) % 2)
    grain = 0.16 * (fractal(at * 8, 4, 8) - 0.5) + 0.10 * (noise(at * 128, 128) - 0.5)
    edge = (0.5 - np.abs(2 * at - which - 0.5)).min(axis=-1)
    joint = 0.55 + 0.45 * _step(0.004, 0.018, edge)
    worn = 1.07 - 0.07 * _step(0.012, 0.05, edge)
    return np.clip(tone * ((1 + grain) * joint * worn)[..., None], 0, 1)


@functools.cache
def layers(dark: Colour, light: Colour) -> np.ndarray:
    """Layers of rammed earth around a box with z up, as six faces of a cube."""

    def colours(direction: np.ndarray) -> np.ndarray:
        at = direction / np.abs(direction).max(axis=-1, keepdims=True)
        height = 9 * at[:, 2:] + 0.5 * fractal(3 * at + 20)[:, None] + 30
        grain = fractal(at * (14, 14, 40) + 100)
        tone = _mix(dark, light, np.clip(0.6 * noise(height) + 0.5 * grain - 0.1, 0, 1))
        skirting = 1 - 0.35 * _step(-0.86, -0.88, at[:, 2])
        return tone * skirting[:, None]

    return _cube(colours, _CLAY)


def add_texture(spec: Spec, name: str, colours: np.ndarray, kind: str = "2d") -> None:
    """Add a texture to a spec, or replace the one of that name.

    Args:
        colours: (height, width, 3); six faces below each other for a "cube" or a "skybox".
    """
    texture = spec.texture(name) or spec.add_texture(name=name)
    texture.builtin = mujoco.mjtBuiltin.mjBUILTIN_NONE
    texture.mark = mujoco.mjtMark.mjMARK_NONE
    texture.type = getattr(mujoco.mjtTexture, f"mjTEXTURE_{kind.upper()}")
    texture.height, texture.width, texture.nchannel = colours.shape
    texture.data = (255 * colours).round().astype(np.uint8).tobytes()


def _mix(a: Colour | np.ndarray, b: Colour | np.ndarray, share: np.ndarray) -> np.ndarray:
    """Colours between two, (..., 3), by the share (...) of the second."""
    first, second = np.asarray(a), np.asarray(b)
    return np.asarray(first + share[..., None] * (second - first))


def _step(low: float, high: float, x: np.ndarray) -> np.ndarray:
    t = np.clip((x - low) / (high - low), 0, 1)
    return np.asarray(t * t * (3 - 2 * t))


def _square() -> np.ndarray:
    return np.asarray(np.moveaxis(np.mgrid[:_FLAT, :_FLAT], 0, -1) / _FLAT)


def _cube(colours: Callable[[np.ndarray], np.ndarray], side: int) -> np.ndarray:
    """Six faces of a cube below each other, in OpenGL's order, by the directions to its pixels."""
    t, s = (np.mgrid[:side, :side] + 0.5) / side * 2 - 1
    one = np.ones_like(s)
    towards = (one, -t, -s), (-one, -t, s), (s, one, t), (s, -one, -t), (s, -t, one), (-s, -t, -one)
    directions = np.concatenate([np.stack(face, axis=-1).reshape(-1, 3) for face in towards])
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return np.asarray(np.clip(colours(directions), 0, 1).reshape(6 * side, side, 3))
