"""Fit the walker of the `-fast` Learn to Move ids to OpenSim's numbers: `assets/l2m/fast.toml`.

    python scripts/fit_fast_walker.py --data tests/data/learn_to_move

It takes a few minutes, and `pip install cma`. All lengths are in m, in OpenSim's axes (x forward,
y up, z right) of the right leg; recorded poses of left legs are mirrored.
"""

import argparse
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cma
import mujoco
import numpy as np
from numpy.polynomial import Polynomial

from mjgym.sim import Single
from mjgym.tasks.l2m import fast_musculoskeletal, skeleton
from mjgym.tasks.l2m.fast_musculoskeletal import FastMusculoskeletal
from mjgym.tasks.l2m.skeleton import COORDINATES, MUSCLES, SLIDES

TARGET = Path(__file__).parents[1] / "assets/l2m/fast.toml"
DEGREE = 4  # of MuJoCo's polynomials between joints
KNEE_ANGLES = np.linspace(-2.1, 0.2, 401)  # rad, slightly beyond the limits
LEG = ("hip_flexion", "hip_adduction", "knee_angle", "ankle_angle")
LENGTH, ARM = 1e-3, 3e-3  # m, tolerances of lengths and moment arms

# Initial values of the searches: centre of a cylinder along x and y, its radius, ... (see
# `_paths`).
STARTS = {
    "hamstrings": ((-0.0255, -0.0308, 0.0108, 0.0002, 0.0004, -0.0015), (0.002,) * 6),
    "gastroc": ((-0.0302, -0.402, 0.0005, 0.0, 0.0002, -0.0004), (0.001,) * 6),
    "iliopsoas": (
        (-0.0324, -0.0828, 0.0041, -0.3, -0.343, 0.0, -0.0065, 0.0036, -0.007, 0.0014, 0.0035),
        (0.002, 0.002, 0.002, 0.1, 0.1, *(0.002,) * 6),
    ),
}
# Of the kneecap: polynomials along x and y (cm, from the constant upwards, relative to those of the
# points that it replaces), its points, and the cylinders of both muscles.
KNEECAP_START = (
    -2.01184, 0.5755, -4.10693, -3.58226, -0.72674, 1.07947, 0.3186, -2.92594, -1.122, -0.05906,
    0.01215, -0.01112, 0.01971, -0.00981, 0.01829, 0.03543, -0.00814, 0.00525, 0.03906, -0.00135,
)  # fmt: skip
KNEECAP_SPREAD = (*(0.02,) * 10, *(0.0005,) * 4, *(0.002,) * 6)
CYLINDER = 0.029  # m, initial radius of both


# Data.


class Poses:
    """Recorded poses, as those of right legs.

    Attributes:
        q: by coordinate, (n,).
        length: by muscle, (n,) m.
        arm: by muscle, of the leg's coordinates, (n, 4) m.
        activation: by muscle, (n,).
        force: of the tendon by muscle, (n,) N.
    """

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "poses.npz") as file:
            data = dict(file)
        sides = skeleton.SIDES

        def each(name: str, muscle: str) -> np.ndarray:
            columns = [data[name][:, MUSCLES.index(f"{muscle}_{s}")] for s in sides]
            return np.concatenate(columns)

        def arms(muscle: str) -> np.ndarray:
            rows = []
            for s in sides:
                where = [COORDINATES.index(f"{name}_{s}") for name in LEG]
                rows.append(data["moment_arm"][:, MUSCLES.index(f"{muscle}_{s}")][:, where])
            return np.concatenate(rows)

        names = tuple(skeleton.numbers()["muscles"])
        self.q = {
            name: np.concatenate([data["q"][:, COORDINATES.index(f"{name}_{s}")] for s in sides])
            for name in LEG
        }
        self.length = {name: each("length", name) for name in names}
        self.arm = {name: arms(name) for name in names}
        self.activation = {name: each("activation", name) for name in names}
        self.force = {name: each("tendon_force", name) for name in names}


def knee_polynomials() -> dict[str, Polynomial]:
    """Polynomials of the tibia's slides in the femur."""
    offsets, _, _ = skeleton.knee()(KNEE_ANGLES)
    return {
        axis: Polynomial.fit(KNEE_ANGLES, offsets[..., i], DEGREE).convert()
        for i, axis in enumerate(SLIDES)
    }


# One leg, for the geometry of paths alone.

Path_ = list[dict[str, Any]]


class Leg:
    """A right leg with the paths of some muscles.

    Args:
        paths: by muscle, points as in `assets/l2m/fast.toml`.
        slides: polynomials of the knee angle by joint.
    """

    def __init__(self, paths: Mapping[str, Path_], slides: Mapping[str, Polynomial]) -> None:
        self.slides = slides
        self.names = tuple(paths)
        self.model = mujoco.MjModel.from_xml_string(_leg_xml(paths))
        self.data = mujoco.MjData(self.model)

    def measure(self, q: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (n, muscles) and moment arms (n, muscles, 4) in poses."""
        model, data = self.model, self.data
        knee = q["knee_angle"]
        rates = {name: p.deriv()(knee) for name, p in self.slides.items()}
        values = {**q, **{name: p(knee) for name, p in self.slides.items()}}
        place = {model.joint(i).name: i for i in range(model.njnt)}
        lengths = np.zeros((len(knee), model.ntendon))
        slopes = np.zeros((len(knee), model.ntendon, model.nv))
        for i in range(len(knee)):
            for name, joint in place.items():
                data.qpos[joint] = values[name][i]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_tendon(model, data)
            lengths[i] = data.ten_length
            for k in range(model.ntendon):
                first, count = model.ten_J_rowadr[k], model.ten_J_rownnz[k]
                where = model.ten_J_colind[first : first + count]
                slopes[i, k, where] = data.ten_J[first : first + count]
        arms = -np.stack([slopes[..., place[name]] for name in LEG], axis=-1)
        for name, rate in rates.items():
            arms[..., LEG.index("knee_angle")] -= slopes[..., place[name]] * rate[:, None]
        return lengths, arms


def _row(numbers: Sequence[float]) -> str:
    return " ".join(f"{x:.9g}" for x in numbers)


def _leg_xml(paths: Mapping[str, Path_]) -> str:
    held: dict[str, list[str]] = {b: [] for b in ("pelvis", "femur", "tibia", "patella", "calcn")}
    tendons = []
    for muscle, points in paths.items():
        tendons.append(f'<spatial name="{muscle}">')
        for i, point in enumerate(points):
            name, at, on = f"{muscle}{i}", point["at"], held[point["body"]]
            if "radius" not in point:
                on.append(f'<site name="{name}" pos="{_row(at)}"/>')
                tendons.append(f'<site site="{name}"/>')
                continue
            beside = np.add(at, point["side"])
            on.append(
                f'<geom name="{name}" type="cylinder" size="{point["radius"]:.9g} .03" mass="0"'
                f' pos="{_row(at)}" zaxis="{_row(point["axis"])}"/>'
                f'<site name="{name}s" pos="{_row(beside)}"/>'
            )
            tendons.append(f'<geom geom="{name}" sidesite="{name}s"/>')
        tendons.append("</spatial>")
    bodies = skeleton.numbers()["bodies"]
    offset = {name: bodies[name]["offset"] for name in ("femur", "talus", "calcn")}
    weight = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    own = {name: "".join(rows) + weight for name, rows in held.items()}
    return f"""
    <mujoco><compiler angle="radian"/><worldbody>
      <body>{own["pelvis"]}
        <body pos="{_row(offset["femur"])}">
          <joint name="hip_flexion" axis="0 0 1"/><joint name="hip_adduction" axis="1 0 0"/>
          {own["femur"]}
          <body>
            <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
            <joint name="knee_angle" axis="0 0 1"/>{own["tibia"]}
            <body><joint name="cap x" type="slide" axis="1 0 0"/>
              <joint name="cap y" type="slide" axis="0 1 0"/>{own["patella"]}</body>
            <body pos="{_row(np.add(offset["talus"], 0))}">
              <joint name="ankle_angle" axis="0 0 1"/>{weight}
              <body pos="{_row(offset["calcn"])}">{own["calcn"]}</body>
            </body>
          </body>
        </body>
      </body>
    </worldbody><tendon>{"".join(tendons)}</tendon></mujoco>"""


# Paths with cylinders.


def _fixed(muscle: str, i: int) -> dict[str, Any]:
    row = skeleton.numbers()["muscles"][muscle]["path"][i]
    return {"body": row["body"], "at": list(row["at"])}


def _moved(point: dict[str, Any], by: Sequence[float]) -> dict[str, Any]:
    return {**point, "at": np.add(point["at"], by).tolist()}


def _cylinder(
    body: str,
    middle: Sequence[float],
    radius: float,
    side: Sequence[float],
    axis: Sequence[float] = (0.0, 0.0, 1.0),
) -> dict[str, Any]:
    return {
        "body": body,
        "at": [float(x) for x in middle],
        "radius": abs(float(radius)) + 1e-4,
        "axis": [float(x) for x in axis],
        "side": list(side),
    }


def _hamstrings(x: np.ndarray) -> Path_:
    return [
        _fixed("hamstrings", 0),
        _cylinder("tibia", (x[0], x[1], -0.019), x[2], (-0.1, 0.0, 0.0)),
        _moved(_fixed("hamstrings", 2), x[3:6]),
    ]


def _gastroc(x: np.ndarray) -> Path_:
    return [
        _moved(_fixed("gastroc", 0), x[3:6]),
        _cylinder("femur", (x[0], x[1], -0.025), x[2], (-0.1, 0.0, 0.0)),
        _fixed("gastroc", 2),
    ]


def _iliopsoas(x: np.ndarray) -> Path_:
    axis = np.array([x[3], x[4], 1.0])
    axis /= np.linalg.norm(axis)
    return [
        _fixed("iliopsoas", 0),
        _moved(_fixed("iliopsoas", 1), x[5:8]),
        _cylinder("pelvis", (x[0], x[1], 0.08), x[2], (0.1, 0.0, 0.0), axis.tolist()),
        _moved(_fixed("iliopsoas", 3), x[8:11]),
        _fixed("iliopsoas", 4),
    ]


ONE_BY_ONE = {"hamstrings": _hamstrings, "gastroc": _gastroc, "iliopsoas": _iliopsoas}


def _extensors(x: np.ndarray, recorded: np.ndarray) -> tuple[dict[str, Path_], dict[str, Any]]:
    """Paths of rectus femoris and vasti over a kneecap, and its slides.

    Args:
        x: search variables.
        recorded: reference coefficients of the kneecap, (2, DEGREE + 1).
    """
    cap = [Polynomial(recorded[i] + x[5 * i : 5 * i + 5] / 100) for i in (0, 1)]
    over = (0.2, 0.05, 0.0)
    radius = CYLINDER + 0.001

    def condyle(muscle: str, point: int, x: np.ndarray) -> dict[str, Any]:
        px, py, pz = _fixed(muscle, point)["at"]
        return _cylinder("femur", (px - radius + x[0], py + x[1], pz), CYLINDER + x[2], over)

    paths = {
        "rect_fem": [
            _fixed("rect_fem", 0),
            condyle("rect_fem", 1, x[14:17]),
            {"body": "patella", "at": [x[10], x[11], 0.0014]},
        ],
        "vasti": [
            _fixed("vasti", 0),
            _fixed("vasti", 1),
            condyle("vasti", 2, x[17:20]),
            {"body": "patella", "at": [x[12] - 0.0065, x[13] + 0.0035, 0.0018]},
        ],
    }
    return paths, dict(zip(("cap x", "cap y"), cap, strict=True))


def recorded_kneecap() -> np.ndarray:
    """Polynomials of the moving path point of rectus femoris."""
    path = skeleton.numbers()["muscles"]["rect_fem"]["path"]
    point = next(row for row in path if "moves" in row)
    inner = KNEE_ANGLES[(KNEE_ANGLES > -2.05) & (KNEE_ANGLES < 0.12)]
    splines = [skeleton.cubic_spline(point["knots"], point[axis]) for axis in SLIDES]
    values, _, _ = skeleton.Splines.from_pieces(splines, [None] * len(SLIDES))(inner)
    return np.array([Polynomial.fit(inner, values[..., i], DEGREE).convert().coef for i in (0, 1)])


def _off(leg: Leg, poses: Poses, power: int) -> float:
    lengths, arms = leg.measure(poses.q)
    total = 0.0
    for k, name in enumerate(leg.names):
        far = np.abs(lengths[:, k] - poses.length[name]) / LENGTH
        turn = np.abs(arms[:, k] - poses.arm[name]) / ARM
        total += np.mean(far**power) + np.mean(turn**power)
        total += 0.05 * (np.mean(far**2) + np.mean(turn**2))
    return float(total)


def _least(
    value: Callable[[np.ndarray], float],
    start: Sequence[float],
    spread: Sequence[float],
    generations: int,
    seed: int = 0,
) -> np.ndarray:
    strategy = cma.CMAEvolutionStrategy(
        start, 1.0, {"CMA_stds": spread, "seed": seed + 1, "verbose": -9}
    )
    for _ in range(generations):
        points = strategy.ask()
        strategy.tell(points, [value(x) for x in points])
    return np.asarray(strategy.result.xbest)


def fit_paths(poses: Poses, knee: Mapping[str, Polynomial]) -> tuple[dict[str, Path_], Any]:
    """Fit paths with cylinders, and the kneecap's polynomials."""
    still = {"cap x": Polynomial([0.0]), "cap y": Polynomial([0.0])}
    found: dict[str, Path_] = {}
    for name, path in ONE_BY_ONE.items():

        def off(x: np.ndarray, name: str = name, path: Any = path) -> float:
            return _off(Leg({name: path(x)}, {**knee, **still}), poses, 4)

        start, spread = STARTS[name]
        found[name] = path(_least(off, start, spread, 60))
        _report(Leg({name: found[name]}, {**knee, **still}), poses)
    near = recorded_kneecap()

    def off_both(x: np.ndarray) -> float:
        paths, cap = _extensors(x, near)
        return _off(Leg(paths, {**knee, **cap}), poses, 8)

    best = _least(off_both, KNEECAP_START, KNEECAP_SPREAD, 200)
    paths, cap = _extensors(best, near)
    _report(Leg(paths, {**knee, **cap}), poses)
    return {**found, **paths}, cap


def _report(leg: Leg, poses: Poses) -> None:
    lengths, arms = leg.measure(poses.q)
    for k, name in enumerate(leg.names):
        far = np.abs(lengths[:, k] - poses.length[name]).max()
        turn = np.abs(arms[:, k] - poses.arm[name])
        turn = turn[:, np.abs(poses.arm[name]).max(axis=0) > 1e-9]
        print(
            f"{name:11} length {far:.1e} m, arms {turn.max():.1e} m, median {np.median(turn):.0e}"
        )


# Force curves.


def curve(x: Sequence[float], length: np.ndarray, activation: np.ndarray) -> np.ndarray:
    """Force of MuJoCo's muscle at rest, over its greatest.

    Args:
        x: path length at the optimum and scale of lengths (m), the normalized lengths beyond which
            there is no active force, and the passive force between the longest and the optimum.
        length: path length, m.
        activation: 0 to 1.
    """
    optimum, scale, shortest, longest, passive = x
    at = 1 + (length - optimum) / scale
    low, high = (shortest + 1) / 2, (1 + longest) / 2
    active = np.select(
        [at < shortest, at < low, at < 1, at < high, at < longest],
        [
            np.zeros_like(at),
            ((at - shortest) / (low - shortest)) ** 2 / 2,
            1 - ((1 - at) / (1 - low)) ** 2 / 2,
            1 - ((at - 1) / (high - 1)) ** 2 / 2,
            ((longest - at) / (longest - high)) ** 2 / 2,
        ],
        np.zeros_like(at),
    )
    stretch = np.maximum((at - 1) / (high - 1), 0.0)
    stiff = passive * np.where(stretch < 1, stretch**2 / 2, stretch - 0.5)
    return activation * active + stiff


def fit_curves(poses: Poses) -> dict[str, dict[str, float]]:
    """Fit the muscle curves to the static tendon forces."""
    curves = {}
    for name, row in skeleton.numbers()["muscles"].items():
        length, activation = poses.length[name], poses.activation[name]
        wanted = poses.force[name] / row["force"]

        def off(
            x: np.ndarray, fibre: float = row["fibre"], known: Any = (length, activation, wanted)
        ) -> float:
            _, scale, shortest, longest, passive = x
            if scale <= 0.2 * fibre or passive < 0 or shortest > 0.95 or not 1.05 < longest < 3:
                return np.inf
            return float(np.mean(np.abs(curve(x, *known[:2]) - known[2])))

        start = (row["fibre"] * np.cos(row["pennation"]) + row["tendon"] * 1.02,
                 row["fibre"], 0.4, 1.8, 0.5)  # fmt: skip
        spread = (0.2 * row["fibre"], 0.3 * row["fibre"], 0.1, 0.2, 0.3)
        tries = [_least(off, start, spread, 250, seed) for seed in range(4)]
        x = min(tries, key=off)
        error = np.abs(curve(x, length, activation) - wanted)
        print(f"{name:11} force median {np.median(error):.1%}, largest {error.max():.1%}")
        keys = ("optimum", "scale", "shortest", "longest", "passive")
        curves[name] = dict(zip(keys, x.tolist(), strict=True))
    return curves


def fit_limits() -> dict[str, list[float]]:
    """Fit two one-sided springs with dampers to the smooth onset of OpenSim's.

    They begin some widths of the onset beyond the limit, with shares of its stiffness and damping.
    """
    table = skeleton.numbers()["limits"]
    onset = np.deg2rad(table["transition"])
    stiffness, damping = np.rad2deg(table["stiffness"]), np.rad2deg(table["damping"])
    t, speed = np.meshgrid(np.linspace(-0.4, 1.0, 57), np.linspace(-2.5, 2.5, 21), indexing="ij")
    kept = np.clip(t, 0, 1)
    smooth = 10 * kept**3 - 15 * kept**4 + 6 * kept**5
    wanted = smooth * (stiffness * onset * t + damping * speed)
    often = np.exp(-(speed**2) / 4)
    largest = stiffness * onset

    def torque(x: np.ndarray) -> np.ndarray:
        springs = zip(*np.split(x, 3), strict=True)
        return np.asarray(
            sum(
                np.maximum(slope * largest * (t - start) + share * damping * speed, 0)
                for start, slope, share in springs
            )
        )

    def off(x: np.ndarray) -> float:
        if (x < 0).any():
            return np.inf
        error = np.abs(torque(x) - wanted) / largest * often
        return float(np.mean(error**8) ** (1 / 8))

    x = _least(off, (0.43, 0.22, 0.83, 0.71, 0.7, 0.18), (0.05,) * 6, 200)
    slow = np.abs(speed) <= 1
    far = np.abs(torque(x) - wanted)[slow].max() / largest
    print(f"limits: {far:.1%} of the torque where the onset ends, at most, below 1 rad/s")
    starts, slopes, shares = (part.tolist() for part in np.split(x, 3))
    return {"starts": starts, "slopes": slopes, "shares": shares}


# Contact.


class Contacts:
    """Ground forces in states of the recorded episodes.

    Args:
        folder: of episodes.npz.
    """

    def __init__(self, folder: Path) -> None:
        fast_musculoskeletal.fitted.cache_clear()
        self.body = FastMusculoskeletal()
        model = self.body.model().compile()
        self.simulation = Single(model)
        self.weight = 9.80665 * model.body_mass.sum()
        view = self.simulation.view
        self.geoms = [
            model.geom(f"{name}_{side}").id
            for side in skeleton.SIDES
            for name in skeleton.numbers()["contact"]["spheres"]
        ]
        self.states: list[tuple[np.ndarray, ...]] = []
        self.wanted = []
        with np.load(folder / "episodes.npz") as file:
            for name in sorted({key.partition("/")[0] for key in file.files}):
                rows = slice(None, None, 15 if len(file[f"{name}/q"]) > 200 else 6)
                q, u, a, right, left = (
                    file[f"{name}/{key}"][rows] for key in ("q", "u", "a", "foot_r", "foot_l")
                )
                for i in range(len(q)):
                    self.body.place(view, q[i], u[i])
                    self.states.append((view.qpos.copy(), view.qvel.copy(), a[i]))
                    self.wanted.append([(-f[0], f[2], -f[1]) for f in (right[i], left[i])])

    def off(self, x: np.ndarray) -> float:
        """Mean error of the forces, over the body weight.

        Args:
            x: `solref`'s time constant (s) and damping ratio, then `solimp`'s first four numbers.
        """
        model, data, view = self.simulation.model, self.simulation.data, self.simulation.view
        low, high = (0.004, 0.1, 0.01, 0.1, 0.001, 0.05), (0.2, 5.0, 0.999, 0.999, 0.5, 0.95)
        if (x < low).any() or (x > high).any():
            return np.inf
        model.geom_solref[self.geoms] = x[:2]
        model.geom_solimp[self.geoms] = (*x[2:], 2.0)
        forces = []
        for data.qpos[:], data.qvel[:], data.act[:] in self.states:
            mujoco.mj_forward(model, data)
            forces.append(np.array(self.body.reactions(view)))
        error = np.abs(np.array(forces) - self.wanted) / self.weight
        return float(error[..., 2].mean() + 0.3 * error[..., :2].mean())


def fit_contact(folder: Path) -> dict[str, list[float]]:
    """Fit MuJoCo's contact parameters to Hunt and Crossley's forces."""
    contacts = Contacts(folder)
    start = (0.0296, 1.14, 0.0214, 0.8, 0.025, 0.39)
    x = _least(contacts.off, start, (0.003, 0.1, 0.02, 0.05, 0.003, 0.05), 40)
    print(f"contacts: forces off by {contacts.off(x):.1%} of the body's weight in the mean")
    return {"solref": x[:2].tolist(), "solimp": [*x[2:].tolist(), 2.0]}


# Output.

HEAD = """\
# Numbers of the walker with MuJoCo's own muscles and contacts, fitted to OpenSim's by
# scripts/fit_fast_walker.py. Axes and units are those of walker.toml; polynomials are of the knee's
# angle (rad), from the constant upwards. Paths that are not here are those of walker.toml.
"""


def _write(table: Mapping[str, Any], path: Path) -> None:
    """Write a table of tables of numbers, and of rows of them, atomically."""

    def number(x: Any) -> str:
        if isinstance(x, str):
            return f'"{x}"'
        if isinstance(x, (list, tuple)):
            return "[" + ", ".join(map(number, x)) + "]"
        if isinstance(x, Mapping):
            return "{ " + ", ".join(f"{k} = {number(v)}" for k, v in x.items()) + " }"
        return repr(round(float(x), 7)) if isinstance(x, float) else repr(x)

    lines = [HEAD]
    for name, section in table.items():
        if not isinstance(section, Mapping):
            lines.append(f"{name} = {number(section)}")
    for name, section in table.items():
        if not isinstance(section, Mapping):
            continue
        lines.append(f"\n[{name}]")
        for key, value in section.items():
            if name == "paths":
                rows = "".join(f"  {number(row)},\n" for row in value)
                lines.append(f"{key} = [\n{rows}]")
            else:
                lines.append(f"{key} = {number(value)}")
    text = "\n".join(lines) + "\n"
    tomllib.loads(text)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    Path(file.name).replace(path)


def main() -> None:
    """Fit everything and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of poses.npz")
    folder = parser.parse_args().data
    poses = Poses(folder)
    knee = knee_polynomials()
    paths, cap = fit_paths(poses, knee)
    table = {
        "timestep": 0.002,
        "knee": {
            **{axis: p.coef.tolist() for axis, p in knee.items()},
            "solref": [0.004, 1.0],
            "solimp": [0.9999, 0.9999, 0.001, 0.5, 2.0],
        },
        "kneecap": {
            "x": cap["cap x"].coef.tolist(),
            "y": cap["cap y"].coef.tolist(),
            "mass": 0.001,
            "armature": 3.0,  # the muscles' damping is implicit, the constraints are not
        },
        "limits": fit_limits(),
        "contact": {"solref": [0.04, 1.0], "solimp": [0.9, 0.95, 0.01, 0.5, 2.0]},
        "curves": fit_curves(poses),
        "paths": paths,
    }
    _write(table, TARGET)
    _write({**table, "contact": fit_contact(folder)}, TARGET)


if __name__ == "__main__":
    main()
