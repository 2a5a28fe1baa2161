"""Creatures with three to eight legs that wander over a chequered floor: composed, run, drawn."""

import argparse
import colorsys
import importlib.util
from collections.abc import Iterator

import imageio.v3 as iio
import numpy as np

from mjgym import Task, mjcf
from mjgym.rendering import Renderer
from mjgym.rotations import about_z
from mjgym.sim import Single

TIMESTEP, SUBSTEPS = 0.002, 20  # s of a physics step, and their number in a control step
CONTROL_TIMESTEP = TIMESTEP * SUBSTEPS  # s
# By the number of legs: hues all around the circle of colours.
COLOURS = {legs: (*colorsys.hsv_to_rgb((legs - 3) / 6, 0.9, 0.8), 1) for legs in range(3, 9)}
TORSO, TORSO_MASS = (0.14, 0.14, 0.05), 0.4  # m, half axes, and kg
THIGH, SHIN, THICKNESS, LIMB_MASS = 0.08, 0.14, 0.015, 0.02  # m, m, m, kg
LIMBS = ("hip", (THIGH, 0, 0), (0, 0, 1), 45), ("knee", (0, 0, -SHIN), (0, 1, 0), 60)  # m, degrees
SERVO = {"type": "position", "kp": 4, "dampratio": 1, "inheritrange": True}  # kp in N m/rad
AMPLITUDE, FREQUENCY, SEED = 0.5, 1.5, 6  # rad, Hz, and of the phases
FLOOR, WALL, SQUARE, SPACING = 2.0, 0.03, 0.25, 1.2  # m; of floor and walls half their sides
CHECKER = {"builtin": "checker", "rgb1": (0.3, 0.3, 0.35), "rgb2": (0.6, 0.6, 0.65)}
FPS = {".mp4": {"fps": 1 / CONTROL_TIMESTEP}, ".gif": {"duration": 1000 * CONTROL_TIMESTEP}}  # ms
SIZE = {"width": 640, "height": 480}  # pixels


def leg(colour: tuple[float, ...]) -> mjcf.Spec:
    """Two limbs on hinges, with servos that hold the angles (rad) they are given."""
    spec = mjcf.Spec()
    size = (THICKNESS, 0, 0)
    mjcf.assign(spec.default.geom, type="capsule", size=size, mass=LIMB_MASS, rgba=colour)
    limb, start = spec.worldbody, (0, 0, 0)
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
    spec.modelname = f"{legs}_legs"  # what its names begin with where it is attached
    torso = mjcf.add(spec.worldbody, "body", name="torso")
    mjcf.add(torso, "geom", type="ellipsoid", size=TORSO, mass=TORSO_MASS, rgba=colour)
    for i, angle in enumerate(2 * np.pi * np.arange(legs) / legs):
        place = TORSO * np.array([np.cos(angle), np.sin(angle), 0])
        hip = mjcf.add(torso, "site", pos=place, quat=about_z(angle), group=3)  # not drawn
        mjcf.attach(spec, leg(colour), at=hip, name=f"leg{i}")
    return spec


class Arena(Task):
    """A place to watch creatures: of a task, there is only the model."""

    def model(self) -> mjcf.Spec:
        """A chequered floor within walls, and on it the creatures in two rows, free to move."""
        spec = mjcf.Spec()
        spec.option.timestep = TIMESTEP
        world = spec.worldbody
        mjcf.add(world, "light", type="directional", dir=(0.3, 0.3, -1))
        mjcf.add(world, "camera", pos=(0, -3.4, 4), xyaxes=(1, 0, 0, 0, 0.77, 0.64))
        mjcf.add(spec, "texture", name="floor", type="2d", width=256, height=256, **CHECKER)
        # The texture is two squares wide; with texuniform it is repeated so often per metre.
        repeat = {"texrepeat": np.full(2, 1 / (2 * SQUARE)), "texuniform": True}
        mjcf.add(spec, "material", name="floor", textures="floor", **repeat)
        mjcf.add(world, "geom", type="plane", size=(FLOOR, FLOOR, 1), material="floor")
        for x, y in (1, 0), (-1, 0), (0, 1), (0, -1):
            size = np.maximum(FLOOR * np.abs((y, x, 0)), WALL)
            mjcf.add(world, "geom", type="box", pos=(x * FLOOR, y * FLOOR, 0), size=size)
        for i, (legs, colour) in enumerate(COLOURS.items()):
            start = SPACING * (i % 3 - 1), SPACING * (i // 3 - 0.5), SHIN + THICKNESS  # it stands
            place = mjcf.add(world, "site", pos=start, group=3)
            mjcf.attach(spec, creature(legs, colour), at=place, free=True)
        return spec


def wander(spec: mjcf.Spec, simulation: Single, seconds: float) -> Iterator[np.ndarray]:
    """Swing all joints; at each control step, the positions of the torsos (creature, 3), m."""
    torsos = [mjcf.find(spec, "body", f"{legs}_legs/torso") for legs in COLOURS]
    torso = mjcf.bind(simulation.view, torsos)
    servo = mjcf.bind(simulation.view, mjcf.find_all(spec, "actuator"))
    phase = np.random.default_rng(SEED).uniform(0, 2 * np.pi, servo.ctrl.shape)
    simulation.reset()
    yield torso.xpos.copy()
    for time in CONTROL_TIMESTEP * np.arange(round(seconds / CONTROL_TIMESTEP)):
        servo.ctrl = AMPLITUDE * np.sin(2 * np.pi * FREQUENCY * time + phase)
        simulation.step(SUBSTEPS)
        yield torso.xpos.copy()


def main() -> None:
    """Let the creatures wander, and draw what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="to simulate")
    parser.add_argument("--out", help="a PNG to write: the creatures at the end")
    parser.add_argument("--plot", help="a PNG to write: their paths from above")
    parser.add_argument("--video", help=f"a film to write: {' or '.join(FPS)}")
    arguments = parser.parse_args()
    out, plot, video = arguments.out, arguments.plot, arguments.video
    if video and video[-4:] not in FPS:
        parser.error(f"--video {video}: end its name in {' or '.join(FPS)}")
    film = video and video.endswith(".mp4")
    for wanted, package, extra in (plot, "matplotlib", "bench"), (film, "imageio_ffmpeg", "video"):
        if wanted and importlib.util.find_spec(package) is None:
            parser.error(f'this needs {package}: pip install "mjgym[{extra}]"')
    spec = Arena().model()
    simulation = Single(mjcf.compile(spec))
    renderer = Renderer(Arena(), simulation.model)
    positions, frames = [], []
    for position in wander(spec, simulation, arguments.seconds):
        positions.append(position)
        if video:
            frames.append(renderer.render(simulation.snapshot(), **SIZE))
    paths = dict(zip(COLOURS, np.stack(positions, axis=1), strict=True))  # (time, 3) each
    for legs, path in paths.items():
        print(f"{legs} legs: {np.linalg.norm(path[-1] - path[0]):.2f} m from its start")
    if out:
        iio.imwrite(out, renderer.render(simulation.snapshot(), **SIZE))
    if video:
        iio.imwrite(video, frames, **FPS[video[-4:]])
    if plot:
        axes = importlib.import_module("matplotlib.figure").Figure().subplots()
        for legs, path in paths.items():
            line = {"color": COLOURS[legs], "label": f"{legs} legs"}
            axes.plot(path[:, 0], path[:, 1], "o-", markevery=[0], **line)  # a dot at its start
        axes.set(xlabel="x, m", ylabel="y, m", xlim=(-FLOOR, FLOOR), ylim=(-FLOOR, FLOOR), aspect=1)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        axes.figure.savefig(plot, dpi=150)


if __name__ == "__main__":
    main()
