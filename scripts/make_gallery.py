"""Draw an image and a clip of each id, and write the two pages with them.

python scripts/make_gallery.py            draws everything and writes everything
python scripts/make_gallery.py ID ...     draws these ids only
python scripts/make_gallery.py --robots   draws the portraits of the tabletop's robots only
python scripts/make_gallery.py --text     draws nothing
python scripts/make_gallery.py --check    exits with 1 if a text is stale or an image is missing
"""

import argparse
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from PIL import Image, ImageOps

from mjgym import Env, Viewpoint, mjcf, registry
from mjgym.policies import trained
from mjgym.policies.network import Policy
from mjgym.robots import arms
from mjgym.tasks.l2m.reflex import START, Reflexes
from mjgym.tasks.l2m.target_field import FASTEST, SINK_RADIUS
from mjgym.tasks.l2m.walk import Walk
from mjgym.tasks.locomotion.soccer import scripted
from mjgym.tasks.robosuite.lift import Lift
from mjgym.util import atomic

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "assets" / "gallery"
PAGE = FOLDER / "index.html"
TABLE = FOLDER / "README.md"  # shown by code hosts below the folder
RUN = "python scripts/make_gallery.py"

PICTURE, CLIP, FILM = (320, 240), (192, 144), (400, 300)  # pixels
LATE = 1e-9  # s, tolerance of rounding
FRAME, FILM_FRAME = 0.05, 0.1  # s, shortest frame of a clip, and of a film
CLIP_BYTES, FILM_BYTES = 42_000, 500_000  # at most
EYE_CAMERA, EYE = "front_close", 84  # observation of the desk tasks: camera, pixels each way
INSET = 0.42  # fraction of an image's height for the inset observation
COLUMNS = 4  # of the table
THUMBNAIL = 160  # pixels, width in the table
SHARP = 88  # image quality, of 100


@dataclass(frozen=True)
class Shot:
    """Settings of an id's still and clip: swaying actuators that may pull towards a pose.

    Attributes:
        camera: name, index or viewpoint; None for the task's viewpoint.
        zoom: into the centre of the camera's view.
        seed: of the start and of the phases.
        upright: begin in the model's default pose instead of a start of the task.
        pose: joints of that pose, rad or m, by name, where they differ from the model's.
        lean: rad, of the whole creature forwards, in its pose.
        lift: m, of the lowest part of a creature in its pose above the ground.
        amplitude: of the actions, relative to their range.
        frequency: of the actions, Hz.
        lag: between neighbouring actuators, in periods; None for random phases.
        hold: stiffness of the joints' pull towards the initial pose.
        keep: servos sway about the initial joint positions, instead of about a control of 0.
        begin: s, of the clip.
        still: s, of the still.
        end: s, of the clip.
        x: m, initial position of a creature; None for the task's.
        eye: observed camera to show in a corner; empty for none.
        scripted: a scripted policy acts.
        trained: the bundled policy acts.
        arguments: of make.
        field: draw the initial target velocities of a walk on the ground, and the sink as a disc.
    """

    camera: str | int | Viewpoint | None = None
    zoom: float = 1.0
    seed: int = 0
    upright: bool = False
    pose: Mapping[str, float] | None = None
    lean: float = 0.0
    lift: float = 0.0
    amplitude: float = 0.7
    frequency: float = 1.0
    lag: float | None = None
    hold: float = 0.0
    keep: bool = False
    begin: float = 0.0
    still: float = 0.5
    end: float = 2.5
    x: float | None = None
    eye: str = ""
    scripted: bool = False
    trained: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    field: bool = False


STANDING = Shot(upright=True, amplitude=0.05, hold=4.0, still=0.25, end=1.5)
CART = Shot(amplitude=0.6, lag=0.0)
ANT = Shot(amplitude=0.5, lag=1 / 8)
PERSON = Shot(amplitude=0.1, keep=True, still=0.3, end=1.5)
RODENT = Shot(zoom=1.3, amplitude=0.3, frequency=2.0, keep=True, end=2.0)
# The first actuator rolls, the second steers, the third kicks.
BALL = Shot(amplitude=-0.3, frequency=0.0, lag=0.25)
DESK_ARM = Shot(amplitude=0.6, frequency=0.5, still=0.0, end=1.4)
TABLE_ARM = Shot(scripted=True)
# Matches on pitches small enough to show in full with distinguishable players.
MATCH = Shot(
    zoom=1.15,
    still=0.6,
    end=1.4,
    scripted=True,
    arguments={
        "pitch": ((7.5, 6.5), (7.5, 6.5)), "goal": (0.7, 1.9, 0.8), "opponent": "scripted",
    },
)  # fmt: skip
STRAY = Shot(
    zoom=1.15,
    arguments={
        "pitch": ((5.6, 4.8), (5.6, 4.8)), "goal": (0.6, 1.5, 0.65), "opponent": "random",
    },
)  # fmt: skip
# Players near a small ball.
NEAR_BALL = replace(STRAY, zoom=1.0, amplitude=0.1, keep=True, still=0.05, end=1.5)
# At the first gaps of a corridor, seen from the side.
GAPS_AT = 6.2  # m
# A rewarded moment of an episode, shown by colours.
PAID = {"visualize_reward": True}
# The reflexes walk, on MuJoCo's muscles in the plane only; in space they fall there after 2.3 s.
STROLL = Shot(scripted=True, arguments={"init_pose": START})
# Poses of gaits, by ids without versions: joints (rad), forward lean (rad), lift (m).
GAITS: dict[str, tuple[dict[str, float], float, float]] = {
    "dmc/walker-walk": (
        {"right_hip": 0.5, "right_knee": -0.2, "left_hip": -0.3, "left_knee": -0.4},
        0.05,
        0.0,
    ),
    "dmc/walker-run": (
        {
            "right_hip": 1.2,
            "right_knee": -1.3,
            "left_hip": -0.3,
            "left_knee": -0.9,
            "left_ankle": 0.5,
        },
        0.3,
        0.12,
    ),
    "dmc/hopper-hop": ({"waist": 0.2, "hip": -0.9, "knee": 1.3, "ankle": 0.2}, 0.25, 0.35),
    "dmc/humanoid-walk": (
        {
            "right_hip_y": -0.6,
            "right_knee": -0.3,
            "left_hip_y": 0.25,
            "left_knee": -0.4,
            "right_shoulder1": -0.4,
            "left_shoulder1": 0.4,
            "right_elbow": -0.5,
            "left_elbow": -0.5,
        },
        0.05,
        0.0,
    ),
    "dmc/humanoid-run": (
        {
            "right_hip_y": -1.5,
            "right_knee": -1.6,
            "left_hip_y": 0.3,
            "left_knee": -1.0,
            "right_shoulder1": -0.9,
            "left_shoulder1": 0.9,
            "right_elbow": -1.5,
            "left_elbow": -1.5,
        },
        0.3,
        0.12,
    ),
    "dmc/humanoid_CMU-walk": (
        {"rfemurrx": -0.6, "rtibiarx": 0.3, "lfemurrx": 0.3, "ltibiarx": 0.4},
        0.05,
        0.0,
    ),
    "dmc/humanoid_CMU-run": (
        {
            "rfemurrx": -1.5,
            "rtibiarx": 1.6,
            "lfemurrx": 0.3,
            "ltibiarx": 1.0,
            "lowerbackrx": 0.3,
            "upperbackrx": 0.2,
        },
        0.3,
        0.12,
    ),
    "dmc/quadruped-run": (
        {f"pitch_{leg}": 0.6 for leg in ("front_left", "front_right", "back_left", "back_right")},
        -0.15,
        0.35,
    ),
    "dmc/dog-walk": (
        {
            "hip_L_extend": -0.4,
            "hip_R_extend": 0.3,
            "shoulder_L_extend": -0.4,
            "shoulder_R_extend": 0.4,
        },
        0.0,
        0.0,
    ),
    "dmc/dog-trot": (
        {
            "hip_L_extend": -0.7,
            "hip_R_extend": 0.6,
            "shoulder_L_extend": 0.7,
            "shoulder_R_extend": -0.6,
            "elbow_R": -1.0,
        },
        0.0,
        0.03,
    ),
    "dmc/dog-run": (
        {
            "hip_L_extend": 0.8,
            "hip_R_extend": 0.9,
            "shoulder_L_extend": 0.9,
            "shoulder_R_extend": 0.8,
            "scapula_L_extend": 0.4,
        },
        -0.1,
        0.12,
    ),
}
SHOTS = {  # by prefix of an id; the longest one applies
    "dmc/acrobot": Shot(still=1.25),
    "dmc/acrobot-swingup_sparse": Shot(
        upright=True, amplitude=0.1, still=0.05, end=2.0, arguments=PAID
    ),
    "dmc/ball_in_cup": Shot(frequency=1.5),
    "dmc/cartpole": replace(CART, amplitude=0.4, frequency=0.6, still=1.5),
    "dmc/cartpole-balance": Shot(amplitude=0.15, frequency=1.5, lag=0.0, still=0.35, end=1.5),
    "dmc/cartpole-balance_sparse": Shot(
        seed=3, amplitude=0.1, lag=0.0, still=0.1, end=1.5, arguments=PAID
    ),
    "dmc/cartpole-swingup_sparse": replace(
        CART, amplitude=0.4, frequency=0.6, still=1.5, arguments=PAID
    ),
    "dmc/cartpole-two": replace(CART, upright=True, begin=0.5, still=1.25, end=3.0),
    "dmc/cartpole-three": replace(CART, upright=True, begin=0.7, still=1.0, end=3.0),
    "dmc/cheetah": Shot(amplitude=1.0, frequency=2.0, lag=0.3, still=0.7),
    "dmc/dog": Shot(upright=True, amplitude=0.02, still=0.1, end=1.5),
    "dmc/fish": Shot(lag=0.2),
    "dmc/fish-swim": Shot(
        seed=3,
        camera=Viewpoint(150, -25, 0.55, (0.0, 0.0, 0.03), ("torso",)),
        lag=0.2,
        still=0.2,
        end=0.7,
    ),
    "dmc/hopper": replace(STANDING, amplitude=0.2),
    "dmc/humanoid": STANDING,
    "dmc/humanoid_CMU": replace(STANDING, hold=8.0, still=0.1, end=1.0),
    "dmc/lqr-lqr_2": Shot(seed=2, still=0.3),
    "dmc/manipulator": Shot(zoom=1.2, seed=4, still=0.1),
    "dmc/pendulum": Shot(zoom=1.5),
    "dmc/point_mass": Shot(zoom=1.5, amplitude=1.0, frequency=0.4, lag=0.25),
    "dmc/quadruped": Shot(upright=True),
    "dmc/quadruped-escape": Shot(
        camera=Viewpoint(35, -22, 4.5, (0.0, 0.0, 0.1), ("torso",)), upright=True
    ),
    "dmc/stacker": Shot(zoom=1.2),
    "dmc/reacher-easy": Shot(seed=1),
    "dmc/swimmer-swimmer6": Shot(seed=7, amplitude=1.0, lag=0.2),
    "dmc/swimmer-swimmer15": Shot(amplitude=1.0, frequency=0.4, lag=0.07),
    "dmc/walker": replace(STANDING, amplitude=0.4, lag=1 / 6),
    **{
        id.removesuffix("-v0"): replace(
            DESK_ARM,
            eye=EYE_CAMERA if "vision" in id else "",
            seed=3 if "moveable_base" in id else 2 if "random_order" in id else 0,
        )
        for id in registry.ids(namespace="manipulation")
    },
    "gymnasium/Ant": replace(ANT, still=0.4, end=0.7),
    "gymnasium/HalfCheetah": Shot(amplitude=1.0, frequency=2.0, lag=0.3, still=0.35, end=0.7),
    "gymnasium/Hopper": Shot(amplitude=0.3, frequency=2.0, still=0.2, end=0.7),
    "gymnasium/Humanoid": Shot(amplitude=0.4, frequency=2.0, still=0.2, end=0.7),
    "gymnasium/HumanoidStandup": Shot(amplitude=0.4, still=0.6, end=1.0),
    "gymnasium/InvertedDoublePendulum": Shot(amplitude=0.05, still=0.2, end=0.6),
    "gymnasium/InvertedPendulum": Shot(amplitude=0.05, still=0.4, end=1.0),
    "gymnasium/Pusher": Shot(amplitude=1.0, frequency=0.5, seed=3, still=0.8, end=2.0),
    "gymnasium/Reacher": Shot(amplitude=0.5, seed=1, still=0.5, end=1.0),
    "gymnasium/Swimmer": Shot(amplitude=1.0, frequency=0.7, lag=0.25, still=0.7, end=1.5),
    "gymnasium/Walker2d": Shot(amplitude=0.4, frequency=2.0, lag=1 / 6, still=0.2, end=0.7),
    "l2m/": STROLL,
    "legged/g1": Shot(seed=18, amplitude=0.15, frequency=1.5, lag=1 / 6, still=0.2, end=0.7),
    "legged/g1-velocity-rough": Shot(
        seed=8, amplitude=0.15, frequency=1.5, lag=1 / 6, still=0.2, end=0.7
    ),
    "legged/go1-velocity-rough": Shot(
        seed=8, amplitude=0.3, frequency=2.0, lag=1 / 6, still=0.6, end=2.0
    ),
    "legged/g1-tracking": Shot(
        seed=137, scripted=True, still=0.1, end=0.6, arguments={"ghost": True}
    ),
    "legged/go1-tracking": Shot(
        seed=105, scripted=True, still=0.5, end=2.0, arguments={"ghost": True}
    ),
    "legged/go2": Shot(seed=12, amplitude=0.3, frequency=2.0, lag=1 / 6, still=0.6, end=2.0),
    "legged/go2-velocity-rough": Shot(
        seed=8, amplitude=0.3, frequency=2.0, lag=1 / 6, still=0.6, end=2.0
    ),
    "legged/go1": Shot(seed=18, amplitude=0.3, frequency=2.0, lag=1 / 6, still=0.6, end=2.0),
    "legged/go1-joystick": Shot(seed=19, amplitude=0.1, frequency=2.0, lag=0.2, still=0.3, end=1.5),
    **{
        f"l2m/{task}": replace(
            STROLL,
            field=True,
            seed=seed,
            begin=still - 0.6,
            still=still,
            end=still + 0.6,
            camera=Viewpoint(azimuth, elevation, distance, (0.4, 0, -0.1), ("torso",)),
        )
        for task, (seed, still, azimuth, elevation, distance) in {
            "walk_around-fast": (1, 0.8, 130, -30, 4.6),
            "walk_forward": (0, 5.0, 125, -16, 3.4),
            "walk_forward-fast": (0, 1.2, 60, -16, 3.4),
            "walk_sinks": (4, 2.25, 28, -24, 4.4),
            "walk_sinks-fast": (2, 1.2, -20, -24, 4.6),
        }.items()
    },
    "l2m/walk_planar": replace(STROLL, zoom=1.15, begin=1.0, still=1.9, end=3.1),
    "locomotion/ant": ANT,
    "locomotion/ant-escape": replace(ANT, seed=67, still=1.0),
    "locomotion/ant-go": replace(
        ANT,
        seed=10,
        camera=Viewpoint(-45, -25, 3.0, (0.5, 0.23, -0.26), ("walker/torso",)),
        still=0.0,
        end=1.5,
    ),
    "locomotion/ant-run_gaps": replace(
        ANT, x=GAPS_AT, camera=Viewpoint(60, -28, 5.0, (1.5, 0.0, -0.5), ("walker/torso",))
    ),
    "locomotion/cmu_humanoid": PERSON,
    "locomotion/cmu_humanoid-run_gaps": replace(
        PERSON, x=GAPS_AT, camera=Viewpoint(60, -25, 5.0, (1.5, 0.0, -0.5), ("walker/root",))
    ),
    "locomotion/cmu_humanoid-tracking": replace(PERSON, end=0.8),
    "locomotion/jumping_ball": replace(
        BALL,
        amplitude=-1.0,
        x=GAPS_AT - 1.5,
        camera=Viewpoint(70, -18, 2.7, (0.6, 0.0, -0.2), ("walker/head_body",)),
        begin=0.5,
        still=0.9,
        end=2.5,
    ),
    "locomotion/rodent": RODENT,
    "locomotion/rodent-escape": replace(RODENT, seed=23),
    "locomotion/rodent-run": replace(
        RODENT,
        zoom=1.0,
        x=GAPS_AT,
        camera=Viewpoint(50, -28, 0.9, (0.2, 0.0, -0.05), ("walker/torso",)),
    ),
    "locomotion/rodent-two": replace(RODENT, seed=52),
    "locomotion/rolling_ball": BALL,
    "locomotion/rolling_ball-go": replace(BALL, seed=48, still=0.0, end=1.0),
    "locomotion/rolling_ball-maze": replace(BALL, seed=3, end=1.3),
    "locomotion/rolling_ball-run": replace(BALL, still=1.1),
    "soccer/ant": replace(STRAY, amplitude=0.6, lag=1 / 8, end=1.4),
    "soccer/ant-1v1": replace(STRAY, seed=2, amplitude=0.6, lag=1 / 8, end=1.4),
    "soccer/boxhead": MATCH,
    "soccer/boxhead-2v2": replace(MATCH, seed=1),
    "soccer/humanoid-2v2": replace(
        NEAR_BALL,
        seed=10,
        camera=Viewpoint(
            60,
            -20,
            0.3,
            (0.0, 0.0, -0.3),
            ("ball", "home_0/root", "home_1/root", "away_0/root", "away_1/root"),
        ),
    ),
    "soccer/humanoid-1v1": replace(
        NEAR_BALL,
        seed=11,
        camera=Viewpoint(90, -15, 1.6, (0.0, 0.0, -0.1), ("ball", "home_0/root", "away_0/root")),
    ),
    "robosuite/Door": replace(TABLE_ARM, still=0.6, end=3.2),
    "robosuite/NutAssembly": replace(TABLE_ARM, seed=1, begin=2.8, still=5.0, end=6.6),
    "robosuite/NutAssemblySingle": replace(TABLE_ARM, seed=2, begin=1.0, still=2.4, end=5.0),
    "robosuite/PickPlace": replace(TABLE_ARM, begin=2.4, still=4.2, end=5.4),
    "robosuite/PickPlaceSingle": replace(TABLE_ARM, seed=3, begin=0.5, still=2.0, end=4.0),
    "robosuite/Lift": replace(TABLE_ARM, seed=1, still=2.0, end=2.4),
    "robosuite/Stack": replace(TABLE_ARM, seed=2, still=3.0, end=4.4),
    "robosuite/ToolHang": replace(TABLE_ARM, zoom=1.4, begin=20.0, still=22.0, end=22.2),
    "robosuite/TwoArmHandover": replace(TABLE_ARM, zoom=1.5, begin=5.4, still=6.2, end=7.4),
    "robosuite/TwoArmLift": replace(TABLE_ARM, begin=0.6, still=3.3, end=3.8),
    "robosuite/TwoArmTransport": replace(TABLE_ARM, zoom=1.2, begin=26.4, still=26.6, end=28.2),
    "robosuite/TwoArmPegInHole": replace(TABLE_ARM, still=1.9, end=2.2),
    "robosuite/Wipe": replace(TABLE_ARM, begin=3.0, still=5.5, end=8.0),
}


# For ids with a trained policy, another part of the episode.
TRAINED = Shot(begin=1.5, still=2.5, end=4.0, trained=True)
TRAINED_SHOTS = {
    "dmc/acrobot-swingup-v0": replace(TRAINED, seed=2, begin=7.5, still=9.3, end=9.9),
    "dmc/ball_in_cup-catch-v0": replace(TRAINED, begin=0.0, still=1.0, end=2.0),
    # The cart stands still after a second.
    "dmc/cartpole-balance-v0": replace(TRAINED, begin=0.0, still=0.3, end=2.0),
    "dmc/cartpole-balance_sparse-v0": replace(TRAINED, seed=3, begin=0.0, still=0.3, end=2.0),
    "dmc/cartpole-swingup-v0": replace(TRAINED, begin=0.0, still=2.0, end=3.5),
    "dmc/cartpole-swingup_sparse-v0": replace(TRAINED, begin=0.0, still=2.0, end=3.5),
    "dmc/dog-stand-v0": replace(TRAINED, begin=0.0, still=0.0, end=2.5),
    "dmc/finger-turn_easy-v0": replace(TRAINED, seed=1, begin=0.0, still=1.0, end=2.5),
    "dmc/finger-turn_hard-v0": replace(TRAINED, seed=1, begin=0.0, still=1.0, end=2.5),
    "dmc/fish-swim-v0": replace(TRAINED, seed=4, begin=3.0, still=5.0, end=6.0),
    # It gets up in most starts, but not in that of seed 0.
    "dmc/hopper-hop-v0": replace(TRAINED, seed=3, begin=2.0, still=2.5, end=4.5),
    "dmc/hopper-stand-v0": replace(TRAINED, seed=3, begin=0.5, still=3.5, end=3.5),
    "dmc/humanoid-run-v0": replace(TRAINED, begin=8.0, still=9.0, end=10.5),
    "dmc/humanoid-walk-v0": replace(TRAINED, begin=4.0, still=4.6, end=5.2),
    "dmc/point_mass-easy-v0": replace(TRAINED, zoom=1.5, begin=0.0, still=0.5, end=2.0),
    "dmc/reacher-easy-v0": replace(TRAINED, seed=1, begin=0.0, still=0.3, end=2.0),
    "dmc/reacher-hard-v0": replace(TRAINED, seed=1, begin=0.0, still=0.3, end=2.0),
    # The ground that rushes by takes most of the bytes.
    "gymnasium/Hopper-v5": replace(TRAINED, begin=3.0, still=3.4, end=3.8),
    "gymnasium/InvertedDoublePendulum-v5": replace(TRAINED, begin=0.0, still=0.0, end=1.5),
    "gymnasium/InvertedPendulum-v5": replace(TRAINED, begin=0.0, still=0.0, end=1.5),
    "gymnasium/Pusher-v5": replace(TRAINED, seed=3, begin=0.0, still=1.5, end=3.0),
    "gymnasium/Walker2d-v5": replace(TRAINED, begin=3.0, still=3.4, end=3.8),
    "l2m/walk_around-v0": replace(
        TRAINED,
        field=True,
        begin=3.0,
        still=3.6,
        end=4.2,
        camera=Viewpoint(125, -24, 4.4, (0.4, 0, -0.1), ("torso",)),
    ),
    "dmc/walker-stand-v0": replace(TRAINED, seed=5, begin=0.0, still=2.5, end=2.5),
    # Seen from above, as walls hide it from elsewhere.
    "locomotion/ant-run_walls-v0": replace(
        TRAINED, camera=Viewpoint(0, -62, 6.0, (0.8, 0.0, 0.0), ("walker/torso",))
    ),
    "manipulation/reach_site_features-v0": replace(TRAINED, seed=2, begin=0.0, still=0.4, end=2.0),
}

# Longer than clips, from the start of an episode.
FILMS = {
    "soccer/boxhead-2v2-v0": Shot(
        zoom=1.15,
        seed=4,
        end=10.0,
        scripted=True,
        arguments={
            "pitch": ((10.0, 8.0), (10.0, 8.0)), "goal": (0.7, 2.2, 0.9), "ends_on_goal": False,
            "opponent": "scripted",
        },
    ),
    "l2m/walk_around-v0": Shot(
        end=8.0,
        trained=True,
        field=True,
        camera=Viewpoint(125, -24, 4.4, (0.4, 0, -0.1), ("torso",)),
    ),
}  # fmt: skip

# Ids with similar images, by suffix: the other id and a sentence on the difference.
ALIKE = {
    "acrobot-swingup_sparse": (
        "dmc/acrobot-swingup",
        "the reward is 1 at the target, which the colours show, and 0 elsewhere",
    ),
    "cartpole-balance_sparse": (
        "dmc/cartpole-balance",
        "the reward is 1 near the upright pose, which the colours show, and 0 elsewhere",
    ),
    "cartpole-swingup_sparse": (
        "dmc/cartpole-swingup",
        "the reward is 1 near the upright pose, which the colours would show, and 0 elsewhere",
    ),
    "humanoid-run_pure_state": (
        "dmc/humanoid-run",
        "positions and velocities of all joints are observed",
    ),
    "NutAssemblySingle": (
        "robosuite/NutAssemblySquare",
        "each episode draws which of the two nuts is there",
    ),
    "PickPlaceSingle": (
        "robosuite/PickPlaceMilk",
        "each episode draws which of the four objects is there",
    ),
    "stack_2_bricks_moveable_base_features": (
        "manipulation/stack_2_bricks_features",
        "the lowest brick is free to move",
    ),
    "stack_3_bricks_random_order_features": (
        "manipulation/stack_3_bricks_features",
        "each episode draws the order of the bricks",
    ),
    "stack_2_of_3_bricks_random_order_features": (
        "manipulation/stack_3_bricks_random_order_features",
        "two bricks are to be stacked, and one is left over",
    ),
}


def difference(id: str) -> str:
    """Sentence on the id with a similar image, and the difference; empty without one."""
    name = _short(id)
    if name.endswith("_vision"):
        other = name.removesuffix("_vision") + "_features"
        said = "the picture in the corner is observed, and no position of what is not the robot"
        return f"As {other}, but {said}."
    other, said = ALIKE.get(name.rpartition("/")[2], ("", ""))
    return f"As {other}, but {said}." if other else ""


ROBOTS = tuple(name for name in arms.names() if arms.find(name).base)  # of the tabletop
PORTRAIT = (240, 240)  # pixels


@dataclass(frozen=True)
class Portrait(Lift):
    """Lift with a front side view of the robot."""

    agentview = ((1.05, -1.2, 1.6), (0.693, 0.579, 0.275, 0.33))


def shot(id: str) -> Shot:
    """Settings of an id; its trained policy acts if there is one."""
    prefixes = [prefix for prefix in SHOTS if id.startswith(prefix)]
    how = SHOTS[max(prefixes, key=len)] if prefixes else Shot()
    if id in trained.ids():
        usual = replace(how, scripted=False, trained=True) if how.scripted else TRAINED
        return TRAINED_SHOTS.get(id, usual)
    for prefix, (pose, lean, lift) in GAITS.items():
        if id.removesuffix("-v0").removesuffix("_pure_state") == prefix:
            return replace(how, pose=pose, lean=lean, lift=lift, still=0.0)
    return how


def file(id: str, what: str) -> Path:
    """Path of an id's "still" or "clip"."""
    return FOLDER / f"{id}.{what}.webp"


def play(id: str, how: Shot) -> Iterator[tuple[float, Any]]:
    """Play an episode, yielding time and environment."""
    arguments = (
        {**trained.bundled(id).about.arguments, **how.arguments} if how.trained else how.arguments
    )
    env: Any = gymnasium.make(id, **arguments).unwrapped
    observation, _ = env.reset(seed=how.seed)
    if how.field:
        env = Env(with_field(env))
        observation, _ = env.reset(seed=how.seed)
    if how.trained:
        yield from act(env, trained.bundled(id).policy, observation)
    if how.scripted:
        yield from perform(env, observation)
    model, data = env.model, env.data
    if env.action_space.shape != (model.nu,) and "opponent" not in how.arguments:
        yield from reach(env, how)
    if how.x is not None:
        env.set_state({"qpos": np.concatenate([[how.x], data.qpos[1:]])})
    if how.pose is not None:
        take_pose(env, how)
    elif how.upright:
        rest = {"qvel": np.zeros(model.nv), "act": np.zeros(model.na)}
        env.set_state({"qpos": model.qpos0, **{k: v for k, v in rest.items() if v.size}})
    space = env.action_space
    low, high = np.maximum(space.low, -1), np.minimum(space.high, 1)
    n = len(low)  # of controls; those of an opponent come after them
    phases = (
        np.random.default_rng(how.seed).uniform(size=n)
        if how.lag is None
        else 0.25 - how.lag * np.arange(n)  # a cosine first, without drift
    )
    joints = model.actuator_trnid[:n, 0]
    driven = model.actuator_trntype[:n] == mujoco.mjtTrn.mjTRN_JOINT
    qpos, qvel = model.jnt_qposadr[joints * driven], model.jnt_dofadr[joints * driven]
    pose = data.qpos[qpos].copy()
    bias, gain = model.actuator_biasprm[:n], model.actuator_gainprm[:n, 0]
    servo = (bias[:, 1] != 0) & how.keep
    force = bias[:, 0] + bias[:, 1] * data.actuator_length[:n]
    middle = np.where(servo, -force / gain, 0.0)
    time = 0.0
    while True:
        yield time, env
        sway = how.amplitude * np.sin(2 * np.pi * (how.frequency * time + phases))
        pull = how.hold * (pose - data.qpos[qpos]) - how.hold / 20 * data.qvel[qvel]
        half = (high - low) / 2
        env.step(np.clip(middle + half * (sway + driven * pull), low, high))
        time += env.control_timestep


ARROWS = (-2, 15, -5, 6)  # m, places along both axes
ARROW, ARROW_WIDTH, BARB = 0.35, 0.012, 0.1  # m per m/s, m


def with_field(env: Any) -> Walk:
    """A walk whose ground shows the target velocities of an environment, and its sink."""
    task, memory = env.task, env.view.memory
    first, last, right, left = ARROWS
    places = np.mgrid[first:last, right:left].reshape(2, -1).T.astype(float)
    velocities = task.field.velocity(memory, places)

    def model(self: Walk) -> Any:
        spec = type(task).model(task)
        look = {"contype": 0, "conaffinity": 0, "mass": 0.0}

        def stroke(start: np.ndarray, end: np.ndarray, rgba: tuple[float, ...]) -> None:
            middle, along = (start + end) / 2, end - start
            angle = math.atan2(along[1], along[0]) / 2
            mjcf.add(
                spec.worldbody, "geom", type="box", pos=(*middle, 0.003), rgba=rgba,
                quat=(math.cos(angle), 0, 0, math.sin(angle)),
                size=(np.hypot(*along) / 2 + ARROW_WIDTH / 2, ARROW_WIDTH, 0.003), **look,
            )  # fmt: skip

        for place, velocity in zip(places, velocities, strict=True):
            speed = float(np.hypot(*velocity))
            if speed < 0.1:
                continue
            rgba = (0.25 + 0.4 * speed / FASTEST, 0.85, 0.95 - 0.6 * speed / FASTEST, 1)
            tip, back = place + ARROW * velocity, -BARB * velocity / speed
            stroke(place, tip, rgba)
            for turn in (0.5, -0.5):
                cosine, sine = math.cos(turn), math.sin(turn)
                barb = np.array([[cosine, -sine], [sine, cosine]]) @ back
                stroke(tip, tip + barb, rgba)
        if "sink" in memory:
            mjcf.add(
                spec.worldbody, "geom", type="cylinder", pos=(*memory["sink"], 0.002),
                size=(SINK_RADIUS, 0.004), rgba=(0.95, 0.55, 0.1, 1), **look,
            )  # fmt: skip
        return spec

    own = dataclass(frozen=True)(type("Drawn", (type(task),), {"model": model}))
    drawn: Walk = own(**{f.name: getattr(task, f.name) for f in fields(task)})
    return drawn


def take_pose(env: Any, how: Shot) -> None:
    """Put a creature into its pose at rest, at the height of the settings."""
    model, data = env.model, env.data
    qpos = model.qpos0.copy()
    for name, value in (how.pose or {}).items():
        qpos[model.joint(name).qposadr] = value
    if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
        height = 2
        lean = np.array([np.cos(how.lean / 2), 0.0, np.sin(how.lean / 2), 0.0])
        mujoco.mju_mulQuat(qpos[3:7], lean, model.qpos0[3:7])
    else:
        height = model.joint("rootz").qposadr[0]
        qpos[model.joint("rooty").qposadr] = how.lean
    rest = {"qvel": np.zeros(model.nv), "act": np.zeros(model.na)}
    rest = {name: value for name, value in rest.items() if value.size}
    ground = model.geom_bodyid == 0
    low, high = qpos[height] - 2.0, qpos[height] + 2.0  # touching the ground, and not
    for _ in range(20):
        qpos[height] = (low + high) / 2
        env.set_state({"qpos": qpos, **rest})
        touches = ground[data.contact.geom].any() or (data.geom_xpos[~ground, 2] < 0).any()
        low, high = (qpos[height], high) if touches else (low, qpos[height])
    qpos[height] = high + how.lift
    env.set_state({"qpos": qpos, **rest})


def reach(env: Any, how: Shot) -> Iterator[tuple[float, Any]]:
    """Play an episode with swaying controller actions."""
    phases, time = np.random.default_rng(how.seed).uniform(size=env.action_space.shape), 0.0
    while True:
        yield time, env
        env.step(how.amplitude * np.sin(2 * np.pi * (how.frequency * time + phases)))
        time += env.control_timestep


def perform(env: Any, observation: Any) -> Iterator[tuple[float, Any]]:
    """Play an episode with a scripted policy."""
    walks = isinstance(env.task, Walk)
    script: Any
    if walks:
        script = Reflexes.for_task(env.task)
    elif "opponent" in {f.name for f in fields(env.task)}:
        script = scripted.team
    else:
        script = env.task.scripted_policy()
    time = 0.0
    while True:
        yield time, env
        if not walks:  # by entries; observations add an axis to scalar ones
            observation = {name: np.atleast_1d(x) for name, x in env.observe().items()}
        observation, *_ = env.step(script(observation))
        time += env.control_timestep


def act(env: Any, policy: Policy, observation: Any) -> Iterator[tuple[float, Any]]:
    """Play an episode with a trained policy."""
    policy.begin()
    time = 0.0
    while True:
        yield time, env
        observation, *_ = env.step(policy(observation))
        time += env.control_timestep


def picture(env: Any, how: Shot, size: tuple[int, int]) -> Image.Image:
    """Current image of an environment's camera."""
    width, height = (round(how.zoom * side) for side in size)
    left, top = (width - size[0]) // 2, (height - size[1]) // 2
    whole = Image.fromarray(env.camera(how.camera, width=width, height=height))
    whole = whole.crop((left, top, left + size[0], top + size[1]))
    if how.eye:
        observed = Image.fromarray(env.camera(how.eye, width=EYE, height=EYE))
        side, rim = round(INSET * size[1]), max(1, size[1] // 120)
        observed = observed.resize((side, side), Image.Resampling.BICUBIC)
        whole.paste(ImageOps.expand(observed, rim, "white"), (size[0] - side - 2 * rim, 0))
    return whole


def draw(id: str) -> None:
    """Write the still, the clip and any film of an id."""
    still, frames, period = recorded(id, shot(id), CLIP, FRAME)
    file(id, "still").parent.mkdir(parents=True, exist_ok=True)
    with atomic.replacing(file(id, "still")) as part:
        still.save(part, quality=SHARP, method=6)
    atomic.write_bytes(file(id, "clip"), _packed(frames, period, CLIP_BYTES))
    if id in FILMS:
        _, frames, period = recorded(id, FILMS[id], FILM, FILM_FRAME)
        atomic.write_bytes(file(id, "film"), _packed(frames, period, FILM_BYTES))


def recorded(
    id: str, how: Shot, size: tuple[int, int], least: float
) -> tuple[Image.Image, list[Image.Image], int]:
    """Record the still of an id, and frames of a size at least `least` seconds apart.

    Returns:
        The still, the frames, and the frame period in ms.
    """
    still, frames, times = None, [], []
    for time, env in play(id, how):
        if still is None and time >= how.still - LATE:
            still = picture(env, how, PICTURE)
        if time >= (times[-1] + least if times else how.begin) - LATE:
            # Rendered large and downsampled, for smoothness.
            large = picture(env, how, (2 * size[0], 2 * size[1]))
            frames.append(large.resize(size, Image.Resampling.BOX))
            times.append(time)
        if time >= max(how.end, how.still):
            env.close()
            break
    assert still is not None
    return still, frames, round(1000 * (times[-1] - times[0]) / (len(times) - 1))


def portrait(robot: str) -> Path:
    """Path of a robot's portrait."""
    return FOLDER / "robosuite" / "robots" / f"{robot}.webp"


def draw_robot(robot: str) -> None:
    """Write the portrait of a robot with its default gripper."""
    env = Env(Portrait(robot=robot, start_noise=0.0), camera="agentview")
    env.reset(seed=0)
    large = picture(env, Shot("agentview"), (2 * PORTRAIT[0], 2 * PORTRAIT[1]))
    env.close()
    portrait(robot).parent.mkdir(parents=True, exist_ok=True)
    with atomic.replacing(portrait(robot)) as part:
        large.resize(PORTRAIT, Image.Resampling.BOX).save(part, quality=SHARP, method=6)


def _packed(frames: list[Image.Image], period: int, most: int) -> bytes:
    """Frames as the best animated WebP within a number of bytes.

    Raises:
        RuntimeError: no quality fits.
    """
    for quality in range(75, 0, -5):
        packed = BytesIO()
        frames[0].save(
            packed,
            format="webp",
            save_all=True,
            append_images=frames[1:],
            duration=period,
            loop=0,
            quality=quality,
            method=4,
        )
        if packed.tell() <= most:
            return packed.getvalue()
    raise RuntimeError(f"no clip fits into {most} bytes")


def entries() -> list[dict[str, Any]]:
    """Texts on each id."""
    texts = []
    for id in registry.ids():
        env: Any = gymnasium.make(id, observation="flat")
        described = env.unwrapped.describe()
        texts.append(
            {
                "id": id,
                "summary": described["summary"],
                "observation": dimensions(env),
                "action": env.action_space.shape[0],
                "steps": env.spec.max_episode_steps,
                "control": env.unwrapped.control_timestep,
                "tags": sorted(registry.registration(id).tags),
                "terms": described["terms"],
                "robots": _robots(id),
                "reward": described["reward"],
                "trained": trained.summary(id),
            }
        )
        env.close()
    return texts


def dimensions(env: Any) -> str:
    """Size of the flat observation, and whether the default observation is an image."""
    numbers = str(env.observation_space.shape[0])
    usual = registry.registration(env.spec.id).options.get("observation", "")
    return f"{numbers} and a picture" if "pixels" in usual else numbers


def table(found: list[dict[str, Any]]) -> str:
    """Page for code hosts: an image of each id, linked to its clip."""
    cells = []
    for entry in found:
        id = entry["id"]
        still, clip = (_beside(id, what) for what in ("still", "clip"))
        image = f'<img src="{still}" width="{THUMBNAIL}" alt="{escape(entry["summary"])}">'
        star = " ★" if entry["trained"] else ""
        differs = f"<br>{difference(id)}" if difference(id) else ""
        cells.append(f"[{image}]({clip})<br>`{_short(id)}`{star}{differs}")
    cells += [""] * (-len(cells) % COLUMNS)
    lines = [
        "# Gallery",
        "",
        "A picture of each id, which leads to a clip. `index.html` is a page to search, with the",
        "reward and a command to try for each: open it from disk. Ids with a trained policy, which",
        "are marked by a star, are played by that one (`mjgym view ID --policy trained`).",
        "",
        "|" + "   |" * COLUMNS,
        "|" + ":-:|" * COLUMNS,
    ]
    for i in range(0, len(cells), COLUMNS):
        lines.append("| " + " | ".join(cells[i : i + COLUMNS]) + " |")
    lines += ["", "A match of scripted players:", ""]
    lines += [f"![{id}]({_beside(id, 'film')})" for id in FILMS]
    lines += ["", "The robots of the tabletop, each with its own gripper:", ""]
    for i in range(0, len(ROBOTS), COLUMNS):
        row = ROBOTS[i : i + COLUMNS]
        places = (portrait(robot).relative_to(FOLDER).as_posix() for robot in row)
        images = (
            f'<img src="{place}" width="{THUMBNAIL}" alt="{robot}"><br>`{robot}`'
            for place, robot in zip(places, row, strict=True)
        )
        lines.append("| " + " | ".join(images) + " |")
        if i == 0:
            lines.append("|" + ":-:|" * COLUMNS)
    return "\n".join(lines) + "\n"


def _beside(id: str, what: str) -> str:
    return file(id, what).relative_to(FOLDER).as_posix()


def _short(id: str) -> str:
    return re.sub(r"-v\d+$", "", id)


def page(found: list[dict[str, Any]]) -> str:
    """Page with a card for each id; works from disk, and without scripts."""
    tags = sorted({tag for entry in found for tag in entry["tags"]})
    families = {entry["id"].partition("/")[0]: "" for entry in found}
    robots = sorted({robot for entry in found for robot in entry["robots"]})
    cards = "\n".join(card(entry) for entry in found)
    return f"""<!doctype html>
<!-- Written by scripts/make_gallery.py. -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>mjgym gallery</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="gallery.css">
<script src="gallery.js" defer></script>
</head>
<body>
<header>
<h1>mjgym</h1>
<p>MuJoCo control tasks for Gymnasium. Point at a picture, or move the focus to it, to see it
move.</p>
<search hidden>
<label for="words">Search</label>
<input id="words" type="search" placeholder="walker, reward, swing&hellip;" autocomplete="off">
<div class="tags" data-one role="group" aria-label="Family">
{_buttons(families)}
</div>
<div class="tags" data-one role="group" aria-label="Robot">
{_buttons(robots)}
</div>
<div class="tags" role="group" aria-label="Tags">
{_buttons(tags)}
</div>
<p id="count" role="status"></p>
</search>
</header>
<main>
{cards}
</main>
</body>
</html>
"""


def _buttons(tags: Iterable[str]) -> str:
    return "\n".join(
        f'<button type="button" data-tag="{escape(tag)}" aria-pressed="false">'
        f"{escape(tag)}</button>"
        for tag in tags
    )


def _robots(id: str) -> list[str]:
    """Robots of an id, alone or in pairs; empty without a choice."""
    if not id.startswith("robosuite/"):
        return []
    return [name for name in arms.names() if arms.find(name).base]


def card(entry: dict[str, Any]) -> str:
    """Card of an id on the page."""
    id = entry["id"]
    still, clip = (_beside(id, what) for what in ("still", "clip"))
    limit = f"{entry['steps']}&nbsp;steps" if entry["steps"] else "no limit"
    tags = "".join(f"<li>{escape(tag)}</li>" for tag in entry["tags"])
    filters = " ".join([id.partition("/")[0], *entry["robots"], *entry["tags"]])
    terms = ", ".join(f"<code>{escape(term)}</code>" for term in entry["terms"])
    differs = f"\n<p>{escape(difference(id))}</p>" if difference(id) else ""
    policy = f"\n<dt>trained</dt><dd>{escape(entry['trained'])}</dd>" if entry["trained"] else ""
    command = f"mjgym view {_short(id)}{' --policy trained' if entry['trained'] else ''}"
    return f"""<article id="{escape(id)}" data-tags="{escape(filters)}">
<a class="picture" href="{clip}" data-clip="{clip}">
<img src="{still}" width="{PICTURE[0]}" height="{PICTURE[1]}" loading="lazy"
alt="{escape(id)}, a picture; the link shows it moving"></a>
<h2>{escape(id)}</h2>
<p>{escape(entry["summary"])}</p>{differs}
<dl>
<dt>observation</dt><dd>{entry["observation"]}</dd>
<dt>action</dt><dd>{entry["action"]}</dd>
<dt>episode</dt><dd>{limit} of {entry["control"]:g}&nbsp;s</dd>
<dt>reward</dt><dd>{terms}</dd>{policy}
</dl>
<details><summary>Reward in words</summary><p>{escape(entry["reward"])}</p></details>
<ul>{tags}</ul>
<p class="command"><code>{escape(command)}</code></p>
</article>"""


def faults() -> list[str]:
    """Stale or missing files."""
    found = entries()
    texts = {PAGE: page(found), TABLE: table(found)}
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    wanted = {file(entry["id"], what) for entry in found for what in ("still", "clip")}
    wanted |= {file(id, "film") for id in FILMS}
    wanted |= {portrait(robot) for robot in ROBOTS}
    there = set(FOLDER.rglob("*.webp"))
    return [
        *(f"stale: {path.relative_to(ROOT)}" for path in stale),
        *(f"missing: {path.relative_to(ROOT)}" for path in sorted(wanted - there)),
        *(f"of no id: {path.relative_to(ROOT)}" for path in sorted(there - wanted)),
    ]


def main() -> int:
    """Draw, write or check; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="draw only these")
    parser.add_argument("--robots", action="store_true", help="draw only the robots")
    parser.add_argument("--text", action="store_true", help="draw nothing")
    parser.add_argument("--check", action="store_true", help="only say what is stale or missing")
    arguments = parser.parse_args()
    if arguments.check:
        found = faults()
        print("\n".join([*found, f"run {RUN}"]) if found else "the gallery is up to date")
        return int(bool(found))
    if arguments.robots or not (arguments.text or arguments.ids):
        for robot in ROBOTS:
            draw_robot(robot)
            print(robot, f"{portrait(robot).stat().st_size:,}")
    if not (arguments.text or arguments.robots):
        for id in arguments.ids or registry.ids():
            draw(id)
            print(id, *(f"{file(id, what).stat().st_size:,}" for what in ("still", "clip")))
    texts = entries()
    atomic.write_text(TABLE, table(texts))
    atomic.write_text(PAGE, page(texts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
