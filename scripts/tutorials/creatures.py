"""Creatures with three to eight legs that wander over a chequered floor: composed, run, drawn."""

import argparse
import colorsys
import importlib.util
from collections.abc import Iterator, Sequence

import imageio.v3 as iio
import numpy as np

from mjgym import mjcf
from mjgym.rendering import Renderer
from mjgym.rotations import about_z
from mjgym.sim import Single
from mjgym.util import atomic

TIMESTEP, SUBSTEPS, RATE = 0.002, 20, 25.0  # s, physics steps in a control step, Hz of those
COLOURS = {n: (*colorsys.hsv_to_rgb(n / 6, 0.9, 0.8), 1) for n in range(3, 9)}  # with n legs
TORSO, TORSO_MASS = (0.14, 0.14, 0.05), 0.4  # m, half axes, and kg
THIGH, SHIN, THICKNESS, LIMB_MASS = 0.08, 0.14, 0.015, 0.02  # m, m, m, kg
LIMBS = ("hip", (THIGH, 0, 0), (0, 0, 1), 45), ("knee", (0, 0, -SHIN), (0, 1, 0), 60)  # m, degrees
SERVO = {"type": "position", "kp": 4, "dampratio": 1, "inheritrange": True}  # kp in N m/rad
AMPLITUDE, FREQUENCY, SEED = 0.5, 1.5, 6  # rad, Hz, and of the phases
FLOOR, RAIL, SPACING = 2.0, 0.04, 1.2  # m: half a side, a radius, and between creatures
CHECKER = {"builtin": "checker", "rgb1": (0.3, 0.3, 0.35), "rgb2": (0.6, 0.6, 0.65)}
FILMS = {".mp4": {"fps": RATE}, ".gif": {"duration": 1000 / RATE, "loop": 0}}  # Hz, ms, for ever


def leg(colour: tuple[float, ...]) -> mjcf.Spec:
    """Two limbs on hinges, with servos for angles (rad)."""
    spec = mjcf.Spec()
    mjcf.assign(spec.default.geom, type="capsule", size=THICKNESS, mass=LIMB_MASS, rgba=colour)
    limb, start = spec.worldbody, (0.0, 0.0, 0.0)
    for name, end, axis, reach in LIMBS:
        limb = mjcf.add(limb, "body", name=name, pos=start)
        hinge = mjcf.add(limb, "joint", name=name, axis=axis, range=(-reach, reach), armature=1e-3)
        mjcf.add(limb, "geom", fromto=(0, 0, 0, *end))
        mjcf.add(spec, "actuator", name=name, target=hinge, **SERVO)
        start = end
    return spec


def creature(legs: int, colour: tuple[float, ...]) -> mjcf.Spec:
    """A torso with legs all around, the first in front."""
    spec = mjcf.Spec()
    spec.modelname = f"{legs}_legs"  # prefix of its names where it is attached
    torso = mjcf.add(spec.worldbody, "body", name="torso")
    mjcf.add(torso, "geom", type="ellipsoid", size=TORSO, mass=TORSO_MASS, rgba=colour)
    for i, angle in enumerate(2 * np.pi * np.arange(legs) / legs):
        place = TORSO * np.array([np.cos(angle), np.sin(angle), 0])
        hip = mjcf.add(torso, "site", pos=place, quat=about_z(angle), group=3)  # hidden
        mjcf.attach(spec, leg(colour), at=hip, name=f"leg{i}")
    return spec


def arena() -> mjcf.Spec:
    """A chequered floor within rails, and on it the creatures in two rows, free to move."""
    spec = mjcf.Spec()
    spec.option.timestep = TIMESTEP
    world = spec.worldbody
    mjcf.add(world, "light", type="directional", dir=(0.3, 0.3, -1))
    mjcf.add(world, "camera", pos=(0, -3.4, 4), xyaxes=(1, 0, 0, 0, 0.77, 0.64))
    mjcf.add(spec, "texture", name="floor", type="2d", width=256, height=256, **CHECKER)
    mjcf.add(spec, "material", name="floor", textures="floor", texrepeat=(6, 6))
    mjcf.add(world, "geom", type="plane", size=(FLOOR, FLOOR, 1), material="floor")
    for x, y in (FLOOR, FLOOR), (-FLOOR, FLOOR), (-FLOOR, -FLOOR), (FLOOR, -FLOOR):
        mjcf.add(world, "geom", type="capsule", fromto=(x, y, 0, -y, x, 0), size=RAIL)
    for i, (legs, colour) in enumerate(COLOURS.items()):
        start = SPACING * (i % 3 - 1), SPACING * (i // 3 - 0.5), SHIN + THICKNESS  # it stands
        place = mjcf.add(world, "site", pos=start, group=3)
        mjcf.attach(spec, creature(legs, colour), at=place, free=True)
    return spec


def wander(spec: mjcf.Spec, single: Single, seconds: float) -> Iterator[np.ndarray]:
    """Swing all joints; return the torso positions (creature, 3), m, at each control step."""
    torsos = mjcf.bind(single.view, [mjcf.find(spec, "body", f"{n}_legs/torso") for n in COLOURS])
    servos = mjcf.bind(single.view, mjcf.find_all(spec, "actuator"))
    phases = np.random.default_rng(SEED).uniform(0, 2 * np.pi, servos.ctrl.shape)
    single.forward()
    yield torsos.xpos.copy()
    for time in np.arange(round(seconds * RATE)) / RATE:
        servos.ctrl = AMPLITUDE * np.sin(2 * np.pi * FREQUENCY * time + phases)
        single.view.step(SUBSTEPS)
        yield torsos.xpos.copy()


def main(arguments: Sequence[str] | None = None) -> None:
    """Let the creatures wander, and draw on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="to simulate")
    parser.add_argument("--out", help="a PNG to write: the creatures at the end")
    parser.add_argument("--plot", help="a PNG to write: their paths from above")
    parser.add_argument("--video", help=f"a film to write: {' or '.join(FILMS)}")
    given = parser.parse_args(arguments)
    if given.video and not given.video.endswith(tuple(FILMS)):
        parser.error(f"--video {given.video}: end its name in {' or '.join(FILMS)}")
    if str(given.video).endswith(".mp4") and importlib.util.find_spec("imageio_ffmpeg") is None:
        parser.error('.mp4 needs ffmpeg: pip install -e ".[video]"; .gif does not')
    if given.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error('--plot needs matplotlib: pip install -e ".[bench]"')
    spec = arena()
    simulation = Single(mjcf.compile(spec))
    renderer, size = Renderer(arena, simulation.model), {"width": 640, "height": 480}  # pixels
    positions, frames = [], []
    for position in wander(spec, simulation, given.seconds):
        positions.append(position)
        if given.video:
            frames.append(renderer.render({"qpos": simulation.data.qpos}, **size))
    paths = dict(zip(COLOURS, np.stack(positions, axis=1), strict=True))  # (time, 3) each
    for n, path in paths.items():
        print(f"{n} legs: {np.linalg.norm(path[-1] - path[0]):.2f} m from its start")
    if given.out:
        with atomic.replacing(given.out) as part:
            iio.imwrite(part, renderer.render({"qpos": simulation.data.qpos}, **size))
    if given.video:
        with atomic.replacing(given.video) as part:
            iio.imwrite(part, frames, **FILMS[given.video[-4:]])
    if given.plot:
        axes = importlib.import_module("matplotlib.figure").Figure().subplots()
        for n, path in paths.items():  # with a dot where it starts
            axes.plot(*path.T[:2], "o-", markevery=[0], color=COLOURS[n], label=f"{n} legs")
        axes.set(xlabel="x, m", ylabel="y, m", xlim=(-FLOOR, FLOOR), ylim=(-FLOOR, FLOOR), aspect=1)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        with atomic.replacing(given.plot) as part:
            axes.figure.savefig(part, dpi=150)


if __name__ == "__main__":
    main()
