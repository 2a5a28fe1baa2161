"""A walker in the arena in which its numbers were recorded, and what differs from them.

    PYTHONPATH=tests python -m helpers.locomotion_facts assets/locomotion/walkers/ant.xml walker_Ant

prints every difference and ends with exit code 1 if there is one.
"""

import json
import sys
from typing import Any

import mujoco

from helpers.places import DATA

try:
    from tests.model_facts import compare
except ImportError:  # run as a script
    from helpers.model_facts import compare

FACTS = DATA / "locomotion" / "models"

# The base arena of the published framework, in which each walker was measured alone.
ARENA = """
<mujoco>
  <compiler boundmass="1e-5" boundinertia="1e-11" autolimits="true"/>
  <option cone="elliptic" noslip_iterations="5" noslip_tolerance="0"/>
</mujoco>
"""


def facts(name: str) -> dict[str, Any]:
    """The record of a walker: `walker`, what it is made of, and `model`, its numbers."""
    return json.loads((FACTS / f"{name}.json").read_text())


def scene(walker: mujoco.MjSpec, *, free: bool = True) -> mujoco.MjModel:
    """The walker on a frame body "walker/" in the base arena, compiled."""
    arena = mujoco.MjSpec.from_string(ARENA)
    frame_body = arena.worldbody.add_body(name="walker/")
    if free:
        frame_body.add_freejoint(name="walker/")
    arena.attach(walker, prefix="walker/", frame=frame_body.add_frame())
    return arena.compile()


def differences(
    model: mujoco.MjModel,
    record: dict[str, Any],
    *,
    skip: tuple[str, ...] = (),
    ignore_cosmetics: bool = True,
) -> list[str]:
    """Every difference between a compiled walker and its record, one line each."""
    return compare(model, record["model"], skip=skip, ignore_cosmetics=ignore_cosmetics)


if __name__ == "__main__":
    path, name, *options = sys.argv[1:]
    model = scene(mujoco.MjSpec.from_file(path), free="--fixed" not in options)
    found = differences(model, facts(name))
    print("\n".join(found) or "equal")
    sys.exit(bool(found))
