"""Draw textures of the football pitch and of the ball: assets/locomotion/soccer/*.png."""

from pathlib import Path

import numpy as np
from PIL import Image

from mjgym.util import atomic

FOLDER = Path(__file__).parents[1] / "assets" / "locomotion" / "soccer"
FIELD = (68.0, 46.0)  # m, length and width for which lines are drawn; pitches are near it
PIXELS = 14  # per metre
LINE = 0.24  # m, width of a line
STRIPES = 14  # of mown grass
GRASS = ((86, 158, 72), (97, 171, 80))
WHITE = (242, 246, 240)

FACE = 128  # pixels, of a face of the ball's cube
SEAM = 0.012  # width of a seam, as a difference of cosines
PENTAGON = 1.0135  # enlargement of pentagons relative to nearest-centre faces
LEATHER, BLACK, THREAD = (245, 245, 242), (38, 40, 46), (150, 152, 158)


def field() -> Image.Image:
    """Striped grass with the lines of a football pitch."""
    length, width = FIELD
    x = (np.arange(round(length * PIXELS)) + 0.5) / PIXELS - length / 2
    y = (np.arange(round(width * PIXELS)) + 0.5) / PIXELS - width / 2
    x, y = np.meshgrid(x, y)
    stripe = np.floor((x / length + 0.5) * STRIPES).astype(int) % 2
    picture = np.array(GRASS, dtype=np.uint8)[stripe]
    half = LINE / 2

    def border(half_x: float, half_y: float, from_x: np.ndarray) -> np.ndarray:
        """Border of a rectangle around (0, 0) in the coordinates from_x, y."""
        outside = np.maximum(np.abs(from_x) - half_x, np.abs(y) - half_y)
        return np.abs(outside) < half

    from_end = length / 2 - np.abs(x)  # m, from the goal line
    from_middle = np.hypot(x, y)
    from_spot = np.hypot(from_end - 8.0, y)
    lines = border(length / 2 - half, width / 2 - half, x) | (np.abs(x) < half)
    lines |= (np.abs(from_middle - 7.0) < half) | (from_middle < 0.4)
    lines |= border(11.5, 15.5, from_end) | border(4.5, 9.0, from_end) | (from_spot < 0.35)
    lines |= (np.abs(from_spot - 7.0) < half) & (from_end > 11.5)
    corner = np.hypot(np.abs(x) - length / 2, np.abs(y) - width / 2)
    lines |= np.abs(corner - 1.5) < half
    picture[lines] = WHITE
    return Image.fromarray(picture).quantize(8)


def ball() -> Image.Image:
    """Six faces of a cube around a ball of twelve pentagons and twenty hexagons."""
    golden = (1 + 5**0.5) / 2
    pentagons = np.array(
        [np.roll((0, i, j * golden), k) for k in range(3) for i in (-1, 1) for j in (-1, 1)]
    )
    hexagons = np.array(
        [(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
        + [
            np.roll((0, i / golden, j * golden), k + 1)
            for k in range(3)
            for i in (-1, 1)
            for j in (-1, 1)
        ]
    )
    # Centres of an icosahedron's faces are along the vertices of the dual.
    best = max(
        (np.roll(hexagons, k, axis=1) for k in range(3)),
        key=lambda h: -np.ptp(np.sort(_unit(pentagons) @ _unit(h).T, axis=1)[:, -5:]),
    )
    centres = np.concatenate([_unit(pentagons) * PENTAGON, _unit(best)])
    s, t = np.meshgrid(*[(np.arange(FACE) + 0.5) / FACE * 2 - 1] * 2)
    one = np.ones_like(s)
    faces = []
    for direction in (
        (one, -t, -s), (-one, -t, s), (s, one, t), (s, -one, -t), (s, -t, one), (-s, -t, -one)
    ):  # fmt: skip
        nearness = _unit(np.stack(direction, axis=-1)) @ centres.T
        order = np.sort(nearness, axis=-1)
        picture = np.where(
            (np.argmax(nearness, axis=-1) < len(pentagons))[..., None], BLACK, LEATHER
        )
        seam = order[..., -1] - order[..., -2] < SEAM
        picture[seam & (picture[..., 0] > 100)] = THREAD
        faces.append(picture.astype(np.uint8))
    return Image.fromarray(np.concatenate(faces)).quantize(8)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


if __name__ == "__main__":
    for name, picture in (("field", field()), ("ball", ball())):
        with atomic.replacing(FOLDER / f"{name}.png") as part:
            picture.save(part, optimize=True)
