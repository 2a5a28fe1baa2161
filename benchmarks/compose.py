"""Time to compose and to compile a scene of six creatures, ours against dm_control's `mjcf`.

    python benchmarks/compose.py                          # the defaults
    python benchmarks/compose.py --repeats 9 --venv FOLDER

An arena has a floor, a light and six sites. At each, a creature is attached with a free joint: a
torso with 3 to 8 legs, each a separate model attached to the torso, with two hinges and two
position servos. Both libraries get the same scene from similar functions, but ours attaches copies
of one leg, while dm_control needs a model for each place. The compiled models are compared before
timing.

Each measurement has a separate process, which builds the scene a few times as a warm-up, and
reports the median of its builds. The two alternate; a ratio is taken within a repeat, and the
median of the repeats is shown. dm_control runs in the virtual environment of `peers.py`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from comparison import installation, report
from comparison.command import described

RESULTS = Path(__file__).resolve().parent / "results"
LEGS = range(3, 9)  # of the creatures
WARM_UP = 2  # builds that do not count
TIMEOUT = 600  # s, of one measurement
RADIUS, LENGTH = 0.1, 0.15  # m, of a torso and of each half of a leg
SPACING = 1.0  # m, between creatures
STIFFNESS = 10.0  # N m/rad, of the servos
PARTS = ("compose", "compile", "both")


def in_arena(number: int) -> list[float]:
    """Site position of a creature, in two rows."""
    return [SPACING * (number % 3 - 1), SPACING * (number // 3 - 0.5), 0.4]


def on_torso(number: int, legs: int) -> tuple[list[float], list[float]]:
    """Position of a leg's site on the torso, and its Euler angles (rad)."""
    angle = 2 * np.pi * number / legs
    return [RADIUS * np.cos(angle), RADIUS * np.sin(angle), 0.0], [0.0, 0.0, angle]


def ours() -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Scene with `mjgym.mjcf`: a function that composes it, and one that compiles it."""
    import mujoco

    from mjgym import mjcf

    def leg() -> Any:
        spec = mujoco.MjSpec()
        mjcf.assign(spec.compiler, degree=False)
        mjcf.assign(spec.default.joint, damping=2.0)
        mjcf.assign(spec.default.geom, type="capsule", size=LENGTH / 4, rgba=[0.2, 0.6, 0.2, 1])
        thigh = mjcf.add(spec.worldbody, "body", name="thigh")
        hip = mjcf.add(thigh, "joint", name="hip", axis=[0, 0, 1])
        mjcf.add(thigh, "geom", name="thigh", fromto=[0, 0, 0, LENGTH, 0, 0])
        shin = mjcf.add(thigh, "body", name="shin", pos=[LENGTH, 0, 0])
        knee = mjcf.add(shin, "joint", name="knee", axis=[0, 1, 0])
        mjcf.add(shin, "geom", name="shin", fromto=[0, 0, 0, 0, 0, -LENGTH])
        mjcf.add(spec, "actuator", name="hip", type="position", target=hip, kp=STIFFNESS)
        mjcf.add(spec, "actuator", name="knee", type="position", target=knee, kp=STIFFNESS)
        return spec

    def creature(legs: int, one: Any) -> Any:
        spec = mujoco.MjSpec()
        mjcf.assign(spec.compiler, degree=False)
        size = [RADIUS, RADIUS, RADIUS / 2]
        mjcf.add(spec.worldbody, "geom", name="torso", type="ellipsoid", size=size)
        for number in range(legs):
            pos, euler = on_torso(number, legs)
            site = mjcf.add(spec.worldbody, "site", name=f"leg_{number}", pos=pos, euler=euler)
            mjcf.attach(spec, one, at=site, name=f"leg_{number}", copy=True)
        return spec

    def compose() -> Any:
        spec = mujoco.MjSpec()
        mjcf.add(spec.worldbody, "geom", name="floor", type="plane", size=[5, 5, 0.1])
        mjcf.add(spec.worldbody, "light", name="light", pos=[0, 0, 3])
        one = leg()
        for number, legs in enumerate(LEGS):
            pos = in_arena(number)
            site = mjcf.add(spec.worldbody, "site", name=f"creature_{number}", pos=pos)
            mjcf.attach(spec, creature(legs, one), at=site, name=f"creature_{number}", free=True)
        return spec

    return compose, mjcf.compile


def dm_control() -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Scene with `dm_control.mjcf`: a function that composes it, and one that compiles it."""
    os.environ["MUJOCO_GL"] = "disable"
    from comparison.other_suites import drop_stale_fields

    drop_stale_fields()
    from dm_control import mjcf

    def leg(name: str) -> Any:
        model = mjcf.RootElement(model=name)
        model.compiler.angle = "radian"
        model.default.joint.damping = 2.0
        model.default.geom.set_attributes(
            type="capsule", size=[LENGTH / 4], rgba=[0.2, 0.6, 0.2, 1]
        )
        thigh = model.worldbody.add("body", name="thigh")
        hip = thigh.add("joint", name="hip", axis=[0, 0, 1])
        thigh.add("geom", name="thigh", fromto=[0, 0, 0, LENGTH, 0, 0])
        shin = thigh.add("body", name="shin", pos=[LENGTH, 0, 0])
        knee = shin.add("joint", name="knee", axis=[0, 1, 0])
        shin.add("geom", name="shin", fromto=[0, 0, 0, 0, 0, -LENGTH])
        model.actuator.add("position", name="hip", joint=hip, kp=STIFFNESS)
        model.actuator.add("position", name="knee", joint=knee, kp=STIFFNESS)
        return model

    def creature(name: str, legs: int) -> Any:
        model = mjcf.RootElement(model=name)
        model.compiler.angle = "radian"
        size = [RADIUS, RADIUS, RADIUS / 2]
        model.worldbody.add("geom", name="torso", type="ellipsoid", size=size)
        for number in range(legs):
            pos, euler = on_torso(number, legs)
            site = model.worldbody.add("site", name=f"leg_{number}", pos=pos, euler=euler)
            site.attach(leg(f"leg_{number}"))
        return model

    def compose() -> Any:
        model = mjcf.RootElement(model="arena")
        model.compiler.angle = "radian"
        model.worldbody.add("geom", name="floor", type="plane", size=[5, 5, 0.1])
        model.worldbody.add("light", name="light", pos=[0, 0, 3])
        for number, legs in enumerate(LEGS):
            pos = in_arena(number)
            site = model.worldbody.add("site", name=f"creature_{number}", pos=pos)
            site.attach(creature(f"creature_{number}", legs)).add("freejoint")
        return model

    return compose, mjcf.Physics.from_mjcf_model


SUBJECTS = {"mjgym": ours, "dm_control": dm_control}


def measure(subject: str, builds: int) -> dict[str, Any]:
    """Median seconds of each part, and properties of the model."""
    compose, compile_model = SUBJECTS[subject]()
    seconds: dict[str, list[float]] = {part: [] for part in PARTS}
    for _ in range(WARM_UP + builds):
        started = time.perf_counter()
        composed = compose()
        between = time.perf_counter()
        compiled = compile_model(composed)
        ended = time.perf_counter()
        for part, taken in zip(
            PARTS, (between - started, ended - between, ended - started), strict=True
        ):
            seconds[part].append(taken)
    model = getattr(compiled, "model", compiled)
    return {
        "seconds": {part: statistics.median(s[WARM_UP:]) for part, s in seconds.items()},
        "model": {
            **{size: int(getattr(model, size)) for size in ("nbody", "nq", "nv", "ngeom", "nu")},
            "mass": round(float(model.body_mass.sum()), 9),
            "reach": round(float(np.abs(model.body_pos).sum()), 9),
        },
    }


def run(python: Path, subject: str, builds: int) -> dict[str, Any]:
    """Measure in a separate process; {"error": why} on failure."""
    command = [str(python), __file__, "--subject", subject, "--builds", str(builds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode:
        return {"error": lines[-1] if lines else f"it ended with {done.returncode}"}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def compare(
    pythons: dict[str, Path],
    repeats: int,
    builds: int,
    measured_by: Callable[[Path, str, int], dict[str, Any]] = run,
) -> dict[str, Any]:
    """All repeats of all subjects, and medians of them and of the ratios."""
    measured: dict[str, list[dict[str, Any]]] = {subject: [] for subject in pythons}
    errors: dict[str, str] = {}
    for repeat in range(repeats):
        for subject in list(pythons)[:: -1 if repeat % 2 else 1]:
            if subject not in errors:
                result = measured_by(pythons[subject], subject, builds)
                if "error" in result:
                    errors[subject] = result["error"]
                else:
                    measured[subject].append(result)
    models = {subject: results[0]["model"] for subject, results in measured.items() if results}
    if len({json.dumps(model) for model in models.values()}) > 1:
        raise RuntimeError(f"the libraries have built different models: {models}")

    def median(part: str, subject: str) -> float:
        return statistics.median(r["seconds"][part] for r in measured[subject])

    whole = [s for s in pythons if s not in errors]
    ratios = {}
    if len(whole) == len(pythons):
        for part in PARTS:
            pairs = zip(measured["dm_control"], measured["mjgym"], strict=True)
            ratios[part] = statistics.median(
                theirs["seconds"][part] / own["seconds"][part] for theirs, own in pairs
            )
    return {
        "model": next(iter(models.values()), None),
        "seconds": {subject: {part: median(part, subject) for part in PARTS} for subject in whole},
        "ratios": ratios,
        "errors": errors,
    }


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; an error exits with status 2."""
    parser = described(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each library")
    parser.add_argument("--builds", type=int, default=5, help="scenes built in a measurement")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for JSON")
    parser.add_argument(
        "--venv", type=Path, default=RESULTS / "venv", help="virtual environment of the peers"
    )
    parser.add_argument("--subject", choices=SUBJECTS, help="only measure one, here, and print it")
    options = parser.parse_args(arguments)
    for name in ("repeats", "builds"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: must be at least 1, got {getattr(options, name)}")
    return options


def main() -> int:
    """Run the command; returns its status."""
    options = parse(sys.argv[1:])
    if options.subject:
        print(json.dumps(measure(options.subject, options.builds)))
        return 0
    pythons = {"mjgym": Path(sys.executable)}
    refused = {}
    try:
        installation.make(options.venv)
        refused = installation.refusals(options.venv)
    except RuntimeError as error:
        refused = {"dm_control": str(error)}
    if "dm_control" not in refused:
        pythons["dm_control"] = installation.python_of(options.venv)
    result = compare(pythons, options.repeats, options.builds)
    result["errors"] |= {name: why for name, why in refused.items() if name in SUBJECTS}
    if result["model"]:
        print(", ".join(f"{name} {number}" for name, number in result["model"].items()))
    rows = [
        (part, *(f"{result['seconds'][s][part] * 1e3:.2f}" for s in result["seconds"]))
        + ((f"{result['ratios'][part]:.1f}",) if result["ratios"] else ())
        for part in PARTS
    ]
    header = ("", *(f"{s} ms" for s in result["seconds"]))
    print(report.table(header + (("ratio",) if result["ratios"] else ()), rows))
    for subject, why in result["errors"].items():
        print(f"{subject}: {why}")
    options.out.mkdir(parents=True, exist_ok=True)
    report.write_json(options.out / "compose.json", {"machine": report.machine(1), **result})
    print(f"Written: {options.out / 'compose.json'}")
    return 1 if result["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
