"""Step-to-step feedback: reflexes whose parameters are corrected at each foot strike.

    law = SteppedReflexes(parameters("spatial-walk"), feedback("spatial-walk"))
    action = law(observation)

At a strike the body's state is compared with that of the steady walk, and a small network offsets
some parameters until the next strike. `scripts/fit_step_feedback.py` has trained it on a model of
how states and offsets at one strike lead to the state at the next, and for turning
`scripts/reinforce_step_feedback.py` has gone on from there by reinforcement. A strike of the left
foot is seen in a mirror: "own" is the foot that strikes.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mjgym import mjcf
from mjgym.rotations import smallest_angle
from mjgym.tasks.l2m.reflex import CONTACT, TWIST, Reflexes, Seen

SWING = 15  # observations without contact, before a contact is a strike
LARGEST_DEVIATION = 5.0  # of the state, in its scales
LARGEST_OFFSET = 4.0  # in the units of OFFSETS
LARGEST_HEADING = 0.28  # rad, from the course, to which the walker reacts
TURN_RATE = np.deg2rad(22.0)  # rad/s, of the course
LEAD = 0.6  # s; the course leads the heading by at most what it turns in this time
BEHIND = 2.2  # rad, of a target from the course; it keeps turning to one side then
OBSERVED_EVERY = 0.01  # s

# Parameters that are corrected, and the unit of their offsets: rad for angles.
OFFSETS = {
    "theta_tgt": np.deg2rad(1.5), "c0": np.deg2rad(1.5), "c0_f": np.deg2rad(1.5),
    "theta_tgt_f": np.deg2rad(1.5), "SOL_1_FG": 0.04, "VAS_1_FG": 0.06, "HFL_6_PG": 0.03,
    TWIST: 0.5,
}  # fmt: skip
MIRRORED = np.array([1.0, -1.0])  # sideways numbers at strikes of the right foot and of the left

# State at a strike: of the pelvis, joints and their rates, and muscle forces of both legs.
_JOINTS = ("abduction", "hip", "knee", "ankle")
STATE = (
    *("height", "pitch", "roll", "forward", "sideways", "up"),
    *("pitch rate", "roll rate", "yaw rate", "heading"),
    *(f"{leg} {joint}" for leg in ("own", "other") for joint in _JOINTS),
    *(f"{leg} {joint} rate" for leg in ("own", "other") for joint in _JOINTS),
    *("own VAS", "own SOL", "other VAS", "other SOL", "other GAS"),
)
HEADING = STATE.index("heading")  # from the course


class StepFeedback(NamedTuple):
    """Network from the deviation of a state to offsets: hidden layers with tanh."""

    reference: np.ndarray  # (state,), of the steady walk
    scale: np.ndarray  # (state,), of deviations
    weights: tuple[np.ndarray, ...]  # of each layer, (outputs, inputs)
    biases: tuple[np.ndarray, ...]  # of each layer, (outputs,)

    def offsets(self, state: np.ndarray) -> np.ndarray:
        """Offsets of the parameters, (..., offsets), for the state at a strike."""
        deviation = (state - self.reference) / self.scale
        x = np.clip(deviation, -LARGEST_DEVIATION, LARGEST_DEVIATION)
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            x = np.tanh(x @ weight.T + bias)
        x = x @ last[0].T + last[1]
        bounded: np.ndarray = LARGEST_OFFSET * np.tanh(x / LARGEST_OFFSET)
        return bounded


@functools.cache
def feedback(which: str) -> StepFeedback:
    """The feedback that has been trained for named parameters of the reflexes."""
    path = mjcf.asset_path(f"l2m/steps_{which}.npz")
    with np.load(path, allow_pickle=False) as file:
        layers = range(sum(name.startswith("weight_") for name in file))
        weights, biases = (
            tuple(file[f"{kind}_{i}"].astype(float) for i in layers) for kind in ("weight", "bias")
        )
        return StepFeedback(
            file["reference"].astype(float), file["scale"].astype(float), weights, biases
        )


def strike_state(seen: Seen, foot: int) -> np.ndarray:
    """The state at a strike of the right (0) or left foot (1), (..., state)."""
    mirrored, own, other = MIRRORED[foot], foot, 1 - foot
    forward, sideways, up, pitch, roll, yaw = np.moveaxis(seen.velocity, -1, 0)
    target = np.moveaxis(seen.target, -1, 0)
    heading = np.clip(-np.arctan2(target[1], target[0]), -LARGEST_HEADING, LARGEST_HEADING)
    numbers = [
        *(seen.height, seen.pitch, mirrored * seen.roll, forward, mirrored * sideways, up),
        *(pitch, mirrored * roll, mirrored * yaw, mirrored * heading),
        *(
            of[..., leg, i]
            for of in (seen.angles, seen.rates)
            for leg in (own, other)
            for i in range(4)
        ),
        *(seen.force[name][..., own] for name in ("VAS", "SOL")),
        *(seen.force[name][..., other] for name in ("VAS", "SOL", "GAS")),
    ]
    return np.stack(numbers, axis=-1)


class SteppedReflexes(Reflexes):
    """Reflexes in space that are corrected at each foot strike, and turn towards the target.

    The observed pitch and roll are OpenSim's tilt and list: leans forward and to the right of a
    walker that heads along its start, whatever its heading is. Reading them so keeps it on that
    course. Here they are read along a course that turns towards the target, and the walker follows.

    Args:
        parameters: as of `Reflexes`; hips are read by their angle.
        law: the feedback.

    Attributes:
        turn_rate: of the course, rad/s.
        struck: whether each foot has struck at the last observation, (..., 2).
        offset: offsets since the last strike, (..., offsets), in the units of `OFFSETS`.
        heading: since the start, positive leftward, (...), rad.
        course: of the leans, likewise.
    """

    turn_rate: Any = TURN_RATE
    struck: np.ndarray
    offset: np.ndarray
    heading: np.ndarray
    course: np.ndarray
    _yaw_rate: np.ndarray  # at the last observation, rad/s
    _way: np.ndarray  # of turning: 1 to the left, -1 to the right, 0 at first
    _contact: np.ndarray  # of each foot, at the last observation

    def __init__(self, parameters: Mapping[str, Any], law: StepFeedback) -> None:
        super().__init__(parameters, abduction="angle")
        self.law = law
        self._uncorrected = {name: self._p[name] for name in OFFSETS}
        self._swung: np.ndarray | None = None  # observations without contact of each foot

    def restart(self, where: np.ndarray | None = None) -> None:
        """Reset: all environments, or those of a bool mask."""
        super().restart(where)
        if where is None or self._swung is None:
            self._swung = None
            return
        self._swung = np.where(where[..., None], 0, self._swung)
        self._contact = self._contact | where[..., None]
        self.offset = np.where(where[..., None], 0.0, self.offset)
        self.heading, self.course, self._yaw_rate, self._way = (
            np.where(where, 0.0, x) for x in (self.heading, self.course, self._yaw_rate, self._way)
        )

    def act(self, state: Seen) -> np.ndarray:
        """Action, (..., 22), for the input of the reflexes, after corrections at strikes."""
        contact = state.load > CONTACT
        if self._swung is None:
            self._swung, self._contact = np.zeros(contact.shape, int), contact
            self._side = np.ones(contact.shape[:-1])
            self.offset = np.zeros((*contact.shape[:-1], len(OFFSETS)))
            zeros = np.zeros((4, *contact.shape[:-1]))
            self.heading, self.course, self._yaw_rate, self._way = zeros
        state = self._on_course(state)
        self.struck = contact & ~self._contact & (self._swung >= SWING)
        self._swung, self._contact = np.where(contact, 0, self._swung + 1), contact
        for foot in (0, 1):
            struck = self.struck[..., foot]
            if not struck.any():
                continue
            offset = self.respond(strike_state(state, foot), foot)
            self.offset = np.where(struck[..., None], offset, self.offset)
            self._side = np.where(struck, MIRRORED[foot], self._side)
        for (name, unit), offset in zip(
            OFFSETS.items(), np.moveaxis(self.offset, -1, 0), strict=True
        ):
            sign = self._side if name == TWIST else 1.0
            self._p[name] = self._uncorrected[name] + (sign * unit * offset)[..., None]
        return super().act(state)

    def _on_course(self, seen: Seen) -> Seen:
        """Turn the course, and read the leans and the direction of walking along it."""
        *moved, pitch_rate, roll_rate, yaw_rate = np.moveaxis(seen.velocity, -1, 0)
        self.heading = self.heading + OBSERVED_EVERY * (self._yaw_rate + yaw_rate) / 2
        self._yaw_rate = yaw_rate
        ahead, left = np.moveaxis(seen.target, -1, 0)
        turn = smallest_angle(self.heading + np.arctan2(left, ahead) - self.course, 2 * np.pi)
        behind = (np.abs(turn) > BEHIND) & (self._way != 0)
        self._way = np.where(behind, self._way, np.where(turn < 0, -1.0, 1.0))
        step = np.minimum(np.abs(turn), OBSERVED_EVERY * self.turn_rate)
        follows = self._way * (self.course - self.heading) <= LEAD * self.turn_rate
        self.course = self.course + self._way * step * follows
        pitch, roll = _along(self.course, seen.pitch, seen.roll)
        rates = _along(self.course, pitch_rate, roll_rate)
        off = self.heading - self.course
        return seen._replace(
            pitch=pitch,
            roll=roll,
            velocity=np.stack([*moved, *rates, yaw_rate], axis=-1),
            target=np.stack([np.cos(off), -np.sin(off)], axis=-1),
        )

    def respond(self, state: np.ndarray, foot: int) -> np.ndarray:
        """Offsets for the state at a strike of the right (0) or left foot (1)."""
        return self.law.offsets(state)


def _along(
    course: np.ndarray, forward: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    cosine, sine = np.cos(course), np.sin(course)
    return cosine * forward - sine * right, sine * forward + cosine * right
