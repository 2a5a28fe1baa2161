"""Reflex controller: muscle stimulations as functions of sensed states.

    env = gymnasium.make("l2m/walk_planar-v0", init_pose=START)
    script = Reflexes.for_task(env.unwrapped.task)
    observation, info = env.reset()
    while True: observation, _, terminated, _, _ = env.step(script(observation))

S. Song and H. Geyer, "A neural circuitry that emphasizes spinal feedback generates diverse
behaviours of human locomotion", The Journal of Physiology 593 (2015), doi 10.1113/JP270228, as in
osim-rl's example controller. One controller drives one environment or, with the observations of a
vector environment, all of them.
"""

import functools
import tomllib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from mjgym import mjcf
from mjgym.task import Task
from mjgym.tasks.l2m.skeleton import SIDES
from mjgym.tasks.l2m.target_field import SEEN

# Start of the recorded walks, for `init_pose`.
START = (
    1.7, 0.5, 0.9023245653983965, 0.2012303881285583,
    0.0, -0.6952390849304798, -0.3231075259785814, 0.1709011708233401,
    0.0, -0.052823239143419, -0.8041966456860847, -0.1745329251994329,
)  # fmt: skip

CONTACT = 0.1  # fraction of body weight on a foot in stance
LEAST = 0.01  # stimulation
HAD_PER_HAB = 3931.8 / 4460.290481  # of the planar walker's constant stimulations: equal forces
HIP_ABDUCTION = 0.1  # stimulation of the planar walker
ANKLE_ZERO = np.pi / 2  # rad, of the ankle at a right angle; hip and knee are straight at pi
UPRIGHT = np.pi / 2  # rad, of a leg under the trunk

# Slices of a leg's published observations: ground reaction forces, angles, rates, and force, length
# and velocity of each muscle.
PELVIS, FORCES, ANGLES, OF_A_MUSCLE = 9, 3, 4, 3
CENTRE = 3  # numbers before those of the body, with the target at the walker alone
HERE = SEEN // 2  # index of the walker's own position in the field
MUSCLES_OF_A_LEG = ("HAB", "HAD", "HFL", "GLU", "HAM", "RF", "VAS", "BFSH", "GAS", "SOL", "TA")
OF_A_LEG = FORCES + 2 * ANGLES + OF_A_MUSCLE * len(MUSCLES_OF_A_LEG)
BODY = PELVIS + len(SIDES) * OF_A_LEG
# Entries after the field.
ENTRIES = (
    *(f"pelvis/{name}" for name in ("height", "pitch", "roll", "vel")),
    *(
        f"{side}_leg/{name}"
        for side in SIDES
        for name in ("ground_reaction_forces", "joint", "d_joint", *MUSCLES_OF_A_LEG)
    ),
)

# Scale and offset of the parameters, degrees for angles; 1 and 0 for the others.
SCALES = {
    "c0": (20.0, 55.0), "cv": (2.0, 0.0), "theta_tgt": (10.0, 0.0), "alpha_delta": (5.0, 0.0),
    "knee_sw_tgt": (20.0, 120.0), "knee_tgt": (15.0, 160.0), "knee_off_st": (10.0, 165.0),
    "ankle_tgt": (20.0, 60.0), "theta_tgt_f": (5.0, 0.0), "c0_f": (20.0, 60.0),
    "cv_f": (10.0, 0.0),
    "HFL_3_PG": (2.0, 0.0), "HFL_6_DG": (0.1, 0.0), "GLU_3_PG": (2.0, 0.0),
    "GLU_3_DG": (0.5, 0.0), "GLU_6_DG": (0.1, 0.0), "GLU_10_PG": (0.5, 0.0),
    "HAM_9_PG": (2.0, 0.0), "RF_1_FG": (0.3, 0.0), "RF_8_DG_knee": (0.1, 0.0),
    "VAS_2_PG": (2.0, 0.0), "VAS_10_PG": (0.3, 0.0), "BFSH_2_PG": (2.0, 0.0),
    "BFSH_7_DG_alpha": (0.2, 0.0), "BFSH_7_PG": (2.0, 0.0), "BFSH_9_G_HAM": (2.0, 0.0),
    "BFSH_9_HAM0": (0.3, 0.0), "BFSH_10_PG": (2.0, 0.0), "GAS_2_FG": (1.2, 0.0),
    "SOL_1_FG": (1.2, 0.0), "TA_5_PG": (2.0, 0.0), "TA_5_G_SOL": (0.5, 0.0),
    "HAB_3_PG": (10.0, 0.0), "HAB_6_PG": (2.0, 0.0), "HAD_3_PG": (2.0, 0.0),
    "HAD_3_DG": (0.3, 0.0), "HAD_6_PG": (2.0, 0.0),
    "cd": (0.1, 0.0), "cd_f": (0.1, 0.0), "cv_lean": (0.1, 0.0), "HAB_6_DG": (0.1, 0.0),
    "HAD_6_DG": (0.1, 0.0),
}  # fmt: skip
IN_DEGREES = (
    "theta_tgt", "c0", "cv", "alpha_delta", "knee_sw_tgt", "knee_tgt", "knee_off_st", "ankle_tgt",
    "theta_tgt_f", "c0_f", "cv_f",
)  # fmt: skip

# Foot placement by the angle of the standing leg, forward and sideways, as Song and Geyer have it;
# lean of the trunk by sideways speed (rad s/m); and damping of the sideways swing.
BALANCE = ("cd", "cd_f", "cv_lean", "HAB_6_DG", "HAD_6_DG")
# How much a leg ahead pushes to the right, and one behind to the left.
TWIST = "twist"


class Seen(NamedTuple):
    """Input of the reflexes, (...) for the trunk and (..., 2) for the right and left legs."""

    height: np.ndarray  # of the pelvis, m
    pitch: np.ndarray  # forward, rad
    roll: np.ndarray  # to the right, rad
    velocity: np.ndarray  # forward, leftward, up (m/s), rates of pitch, roll and yaw, (..., 6)
    load: np.ndarray  # vertical force on the foot over the body weight
    angles: np.ndarray  # hip abduction, and extensions of hip, knee and ankle, (..., 2, 4), rad
    rates: np.ndarray  # rates of the angles, rad/s
    force: dict[str, np.ndarray]  # fibre forces over the largest isometric force, (..., 2)
    target: np.ndarray  # target velocity, forward and leftward, (..., 2), m/s


@functools.cache
def parameters(which: str) -> Mapping[str, float]:
    """Unscaled parameters by name, of "planar", "spatial" or any other in the files.

    "planar" walks with OpenSim's forces and "planar-fast" with MuJoCo's muscles; "spatial-walk"
    walks in space, on the angle of hip abduction. "spatial" does not walk: it is osim-rl's starting
    point for optimisation, on the rate.
    """
    path = mjcf.asset_path("l2m/reflex_fast.toml" if which.endswith("-fast") else "l2m/reflex.toml")
    table: dict[str, dict[str, float]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return table[which]


class Reflexes:
    """Reflexes of both legs and their phases, per environment.

    Args:
        parameters: unscaled, by name, as returned by `parameters`; numbers, or arrays (k, 1) of k
            walkers. Without those of the frontal plane the walker is planar; those of `BALANCE`
            are 0 by default.
        abduction: reading of the hip's abduction that places the foot sideways: its angle, with
            the smallest stimulation added to abductors and adductors too, or its rate, as in
            osim-rl's example.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        abduction: Literal["angle", "rate"] = "rate",
    ) -> None:
        self.planar = "theta_tgt_f" not in parameters
        self.abduction = abduction
        self._p: dict[str, Any] = dict.fromkeys((*BALANCE, TWIST), 0.0)
        for name, value in parameters.items():
            scale, offset = SCALES.get(name, (1.0, 0.0))
            scaled = scale * value + offset
            self._p[name] = np.deg2rad(scaled) if name in IN_DEGREES else scaled
        self._phases: dict[str, np.ndarray] | None = None

    @classmethod
    def for_task(cls, task: Task) -> "Reflexes":
        """Make the reflexes of a task, its scripted policy."""
        policy = task.scripted_policy()
        if not isinstance(policy, cls):
            raise ValueError(f"no reflexes for {type(task).__name__}, only for walking")
        return policy

    def restart(self, where: np.ndarray | None = None) -> None:
        """Reset: all environments, or those of a bool mask."""
        if where is None or self._phases is None:
            self._phases = None
            return
        fresh = _first_phases(where.shape)
        self._phases = {
            name: np.where(where[..., None], fresh[name], x) for name, x in self._phases.items()
        }

    def __call__(self, observation: np.ndarray | Mapping[str, np.ndarray]) -> np.ndarray:
        """Action, (..., 22), for a flat or dict observation."""
        return self.act(looked_at(observation))

    def act(self, state: Seen) -> np.ndarray:
        """Action, (..., 22), for the input of the reflexes."""
        p = self._p
        if self._phases is None:
            self._phases = _first_phases(state.pitch.shape)
        theta, theta_rate = state.pitch[..., None], state.velocity[..., 3:4]
        load, contact = state.load, state.load > CONTACT
        load_other = load[..., ::-1]
        hip, knee = np.pi + state.angles[..., 1], np.pi + state.angles[..., 2]
        ankle = ANKLE_ZERO + state.angles[..., 3]
        knee_rate = state.rates[..., 2]
        alpha, alpha_rate = hip - 0.5 * knee, state.rates[..., 1] - 0.5 * knee_rate

        alpha_target = p["c0"] - p["cv"] * state.velocity[..., 0:1] - theta
        behind = contact * (alpha + theta - UPRIGHT)
        alpha_target = alpha_target - p["cd"] * behind[..., ::-1]
        hip_target = alpha_target + 0.5 * p["knee_tgt"]
        # In double support the foot further behind begins its swing; the left one if equal.
        late = alpha - alpha_target
        right = late[..., 0] > late[..., 1]
        both = np.logical_and.reduce(contact, axis=-1)
        begins = np.stack([right & both, ~right & both], axis=-1)

        phases = self._advance(contact, knee, alpha, alpha_rate, alpha_target)
        flex, hold_knee, stop, hold_leg = (
            phases[name].astype(float) for name in ("flex", "hold_knee", "stop", "hold_leg")
        )
        stance, swing = contact.astype(float), (~contact).astype(float)
        initiating = stance * begins
        swinging = initiating * load_other + swing
        standing = stance * ~begins + initiating * (1 - load_other)
        force = state.force

        leaning = theta - p["theta_tgt"]
        hip_flexion = (
            stance * load * _positive(-p["HFL_3_PG"] * leaning - p["HFL_3_DG"] * theta_rate)
            + swinging * _positive(p["HFL_6_PG"] * late + p["HFL_6_DG"] * alpha_rate)
            + hold_leg * _positive(p["HFL_10_PG"] * (hip - hip_target))
        )  # fmt: skip
        balance = stance * load * _positive(p["GLU_3_PG"] * leaning + p["GLU_3_DG"] * theta_rate)
        gluteus = (
            balance
            + swinging * _positive(-p["GLU_6_PG"] * late - p["GLU_6_DG"] * alpha_rate)
            + hold_leg * _positive(-p["GLU_10_PG"] * (hip - hip_target))
        )
        braking = stop * _positive(-p["HAM_9_PG"] * (late - p["alpha_delta"]))
        rectus = standing * _positive(p["RF_1_FG"] * force["RF"]) + hold_knee * _positive(
            -p["RF_8_DG_knee"] * knee_rate
        )
        straight = _positive(p["VAS_2_PG"] * (knee - p["knee_off_st"]))
        vasti = (
            standing * _positive(p["VAS_1_FG"] * force["VAS"])
            - standing * straight
            + hold_leg * _positive(-p["VAS_10_PG"] * (knee - p["knee_tgt"]))
        )
        bending = p["BFSH_7_PG"] * (knee - p["knee_sw_tgt"]) - p["BFSH_7_DG_alpha"] * alpha_rate
        biceps = (
            standing * _positive(p["BFSH_2_PG"] * (knee - p["knee_off_st"]))
            + (initiating * load_other + flex)
            * _positive(bending)
            + hold_knee
            * _positive(
                p["BFSH_8_DG"] * (knee_rate - p["knee_off_st"]) * p["BFSH_8_DG"] * late
            )
            + _positive(p["BFSH_9_G_HAM"] * (braking - p["BFSH_9_HAM0"]))
            + hold_leg * _positive(p["BFSH_10_PG"] * (knee - p["knee_tgt"]))
        )  # fmt: skip
        soleus = stance * _positive(p["SOL_1_FG"] * force["SOL"])
        tibialis = _positive(p["TA_5_PG"] * (ankle - p["ankle_tgt"])) - stance * _positive(
            p["TA_5_G_SOL"] * soleus
        )
        gastrocnemius = stance * _positive(p["GAS_2_FG"] * force["GAS"])
        stimulations = {
            "HFL": hip_flexion, "GLU": gluteus, "HAM": p["HAM_3_GLU"] * balance + braking,
            "RF": rectus, "VAS": vasti, "BFSH": biceps, "GAS": gastrocnemius, "SOL": soleus,
            "TA": tibialis,
        }  # fmt: skip
        stimulations = {name: LEAST + x for name, x in stimulations.items()}
        stimulations |= self._sideways(state, stance * load, swinging, behind)
        rows = [np.clip(stimulations[name], LEAST, 1.0) for name in MUSCLES_OF_A_LEG]
        legs = np.stack(rows, axis=-1)
        return legs.reshape(*legs.shape[:-2], -1)

    def _sideways(
        self,
        state: Seen,
        standing: np.ndarray,
        swinging: np.ndarray,
        behind: np.ndarray,
    ) -> dict[str, Any]:
        """Stimulations of the hip abductor and adductor."""
        if self.planar:
            constant = np.full(standing.shape, HIP_ABDUCTION)
            return {"HAB": constant, "HAD": HAD_PER_HAB * constant}
        p = self._p
        sign = np.array([1.0, -1.0])
        lean, lean_rate = sign * state.roll[..., None], sign * state.velocity[..., 4:5]
        by_angle = self.abduction == "angle"
        inward = sign * state.velocity[..., 1:2]
        abduction, abduction_rate = state.angles[..., 0], state.rates[..., 0]
        alpha = UPRIGHT - (abduction if by_angle else abduction_rate)
        outside = (state.load > CONTACT) * (abduction - lean)
        target = p["c0_f"] + p["cv_f"] * inward - p["cd_f"] * outside[..., ::-1] - lean
        off = alpha - target
        fallen = lean - p["theta_tgt_f"] - p["cv_lean"] * inward
        twist = sign * p[TWIST] * behind
        push = p["HAB_3_PG"] * fallen + p["HAB_3_DG"] * lean_rate + twist
        pull = p["HAD_3_PG"] * fallen + p["HAD_3_DG"] * lean_rate + twist
        out = _positive(p["HAB_6_PG"] * off - p["HAB_6_DG"] * abduction_rate)
        back = _positive(-p["HAD_6_PG"] * off + p["HAD_6_DG"] * abduction_rate)
        least = LEAST if by_angle else 0.0
        return {
            "HAB": least + standing * _positive(-push) + swinging * out,
            "HAD": least + standing * _positive(pull) + swinging * back,
        }

    def _advance(
        self,
        contact: np.ndarray,
        knee: np.ndarray,
        alpha: np.ndarray,
        alpha_rate: np.ndarray,
        alpha_target: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Advance the swing phases, (..., 2) bool each, by one observation."""
        assert self._phases is not None
        old, p = self._phases, self._p
        left_ground = old["contact"] & ~contact
        flex = (old["flex"] | left_ground) & ~contact
        bent = flex & (knee < p["knee_sw_tgt"])
        later = ~contact & ~flex
        hold_knee = (old["hold_knee"] | bent) & ~contact & ~(later & (alpha < alpha_target))
        near = later & (alpha < alpha_target + p["alpha_delta"])
        stop = (old["stop"] & ~contact) | near
        hold_leg = (old["hold_leg"] & ~contact) | (later & stop & (alpha_rate > 0))
        self._phases = {
            "contact": contact,
            "flex": flex & ~bent,
            "hold_knee": hold_knee,
            "stop": stop,
            "hold_leg": hold_leg,
        }
        return self._phases


def looked_at(observation: np.ndarray | Mapping[str, np.ndarray]) -> Seen:
    """Extract the input of the reflexes from an observation, (..., 339 or 100) or by entries."""
    if isinstance(observation, Mapping):
        lead = np.shape(observation["pelvis/vel"])[:-1]
        entries = [np.reshape(observation[name], (*lead, -1)) for name in ENTRIES]
        body = np.concatenate(entries, axis=-1, dtype=float)
        if "v_tgt" in observation:
            target = np.asarray(observation["v_tgt"], dtype=float)
        else:
            target = np.asarray(observation["v_tgt_field"], dtype=float)[..., HERE, HERE]
    else:
        flat = np.asarray(observation, dtype=float)
        field, body = flat[..., :-BODY], flat[..., -BODY:]
        centre = field.shape[-1] == CENTRE
        target = field[..., :2] if centre else field[..., HERE * (SEEN + 1) :: SEEN * SEEN]
    pelvis = body[..., :PELVIS]
    legs = body[..., PELVIS:].reshape(*body.shape[:-1], len(SIDES), OF_A_LEG)
    first = FORCES + 2 * ANGLES
    muscles = {name: first + OF_A_MUSCLE * i for i, name in enumerate(MUSCLES_OF_A_LEG)}
    return Seen(
        pelvis[..., 0],
        pelvis[..., 1],
        pelvis[..., 2],
        pelvis[..., 3:],
        legs[..., 2],
        legs[..., FORCES : FORCES + ANGLES],
        legs[..., FORCES + ANGLES : first],
        {name: legs[..., muscles[name]] for name in ("RF", "VAS", "GAS", "SOL")},
        target,
    )


def _first_phases(lead: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Initial phases: right foot in stance, left leg swinging and bending."""
    right, left, none = ([True, False], [False, True], [False, False])
    first = {"contact": right, "flex": left, "hold_knee": none, "stop": none, "hold_leg": none}
    return {name: np.broadcast_to(np.array(x), (*lead, 2)) for name, x in first.items()}


def _positive(x: np.ndarray) -> np.ndarray:
    positive: np.ndarray = np.maximum(x, 0.0)
    return positive
