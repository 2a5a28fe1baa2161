"""Touch an orb twice, with the right time in between."""

import math
from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array, drawn_row, total
from mjgym.mjcf import Spec, add
from mjgym.rotations import about_z
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Signal, register
from mjgym.tasks.locomotion.walker_task import WalkerTask
from mjgym.tasks.locomotion.walkers.any_walker import HOW_MANY

WAITING, TOUCHED, DONE, TOO_SOON, TOO_LATE = range(5)  # the states of the task
RADIUS, HEIGHT = 0.025, 0.14  # m, of the orb and of its centre
SPREAD = 1.5  # m, largest offset from the centre each way
PLACES = 48  # orbs drawn per episode; each takes 0.7 s, which is 43 in 30 s
DEBOUNCE = 0.2  # s, after the first touch, before a second one counts
SOONEST, LATEST = 0.7, 0.9  # s, between the two touches
PAUSE = 1.2  # s, before a new orb after a failure
NEAR = 0.25  # reward for a hand at the orb's centre
STEEPNESS = 3.0  # 1/m, decay with the distance
BONUS = 25.0  # for the first touch, and for a second one in time
COLOURS = ((0.0, 0.6, 0.0, 1.0), (0.85, 0.85, 0.2, 1.0), (0.2, 0.55, 0.85, 1.0))


@register("locomotion/rodent-two_touch-v0", tags=("vision",), walker="rodent")
@dataclass(frozen=True)
class TwoTouch(WalkerTask):
    """A walker touches an orb with a hand, and again 0.8 s later; then there is a new orb.

    Reward: 0.25 exp(-3 d), where d (m) is the distance of the nearer hand from the orb, the sum of
    its absolute differences in x, y and z; plus 25 for the first touch of an orb, and 25 for the
    second one if it comes 0.7 to 0.9 s after it.

    Start: upright at rest in the middle, turned at random; the orb anywhere in a square of 3 m.

    Observation: `task_logic`, state of the task (0 waiting, 1 touched once, 2 done, 3 touched too
    soon, 4 not touched in time) before the events of the step that the reward is for; the walker's
    own; with pixels, what its egocentric camera sees. Where the orb is is not observed. After a
    failure there is no new orb for 1.2 s.
    """

    arena: str = "large_floor"  # its name, or "module:Class"
    control_timestep: float = 0.02  # s
    physics_timestep: float = 0.001  # s

    def model(self) -> Spec:
        spec = super().model()
        orb = add(spec.worldbody, "body", name="orb", mocap=True, pos=(0, 0, HEIGHT))
        # A margin with an equal gap lists contacts without a force.
        add(
            orb, "geom", name="orb", type="sphere", size=(RADIUS, 0, 0), rgba=COLOURS[0],
            margin=-2 * RADIUS, gap=2 * RADIUS,
        )  # fmt: skip
        for hand in self._hands():
            add(
                spec, "sensor", name=f"orb at {hand}", type="contact", intprm=HOW_MANY,
                objtype="geom", objname="orb", reftype="xbody", refname=hand,
            )  # fmt: skip
        spec.nuserdata = 2 * PLACES
        return spec

    def _hands(self) -> tuple[str, ...]:
        walker = self.creature
        return walker.prefixed(walker.hands or walker.end_effectors)

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        self.creature.stand(v, turn=about_z(rng.uniform(0, 2 * math.pi)))
        v.userdata = rng.uniform(-SPREAD, SPREAD, 2 * PLACES)
        v.mocap_pos[0, :2] = v.userdata[:2]

    # The clock of a state starts at the end of the control step in which it began.

    def memory(self, v: View) -> Arrays:
        nothing = v.xp.zeros(v.lead, dtype=v.xp.float64)
        return {
            "state": nothing,
            "shown": nothing,  # the observed state: before the events of the step
            "first": nothing,  # s, of the first touch of the orb
            "second": nothing,  # s, of the second touch, or of giving it up
            "paused": nothing,  # whether a pause must pass before the next orb
            "renew": nothing,  # whether the next control step begins with a new orb
            "orbs": nothing,  # number of earlier orbs
            "touches": nothing,  # of this orb, up to two
            "touches_before": nothing,  # at the end of the previous control step
            "touch_time": nothing,  # s, of the first of them
        }

    def before_step(self, v: View, action: Array) -> Arrays:
        m, xp = v.memory, v.xp
        place = drawn_row(v.userdata, 2, m["orbs"] + 1)
        orb, others = v.mocap_pos[..., :1, :], v.mocap_pos[..., 1:, :]
        orb_xy = xp.where(m["renew"][..., None, None] > 0, place[..., None, :], orb[..., :2])
        return {
            "mocap_pos": xp.concat([xp.concat([orb_xy, orb[..., 2:]], axis=-1), others], axis=-2)
        }

    def substep(self, v: View) -> Arrays:
        m, xp = v.memory, v.xp
        new = m["renew"] > 0  # a new orb: its first physics step
        touches = xp.where(new, 0.0, m["touches"])
        contact = total(v.take("sensordata", self._sensors())) > 0
        time = v.time + xp.zeros(v.lead)
        first = contact & (touches == 0)
        second = contact & (touches == 1) & (time > m["touch_time"] + DEBOUNCE)
        return {
            **m,
            "state": xp.where(new, float(WAITING), m["state"]),
            "renew": xp.zeros_like(m["renew"]),
            "orbs": xp.where(new, m["orbs"] + 1.0, m["orbs"]),
            "touches": xp.where(first | second, touches + 1.0, touches),
            "touches_before": xp.where(new, 0.0, m["touches_before"]),
            "touch_time": xp.where(first, time, m["touch_time"]),
        }

    def _sensors(self) -> tuple[str, ...]:
        return tuple(f"orb at {hand}" for hand in self._hands())

    def current_forces(self, v: View) -> Array:
        return v.memory["touches"] > v.memory["touches_before"]

    def _events(self, v: View) -> dict[str, Array]:
        m = v.memory
        waited = v.time - m["first"]
        touched = (m["state"] == WAITING) & (m["touches"] >= 1)
        expecting = m["state"] == TOUCHED
        again = expecting & (m["touches"] >= 2)
        return {
            "touched": touched,
            "again": again,
            "soon": again & (waited < SOONEST),
            "in_time": again & (waited >= SOONEST) & (waited <= LATEST),
            "late": expecting & (waited > LATEST),
        }

    def update(self, v: View) -> Arrays:
        m, xp, e = v.memory, v.xp, self._events(v)
        now = v.time + xp.zeros(v.lead)
        over = m["state"] >= DONE
        resting = over & (m["paused"] > 0)
        rested = resting & (now > m["second"] + PAUSE)
        state = xp.where(e["touched"], float(TOUCHED), m["state"])
        state = xp.where(e["again"], float(DONE), state)
        state = xp.where(e["soon"], float(TOO_SOON), state)
        return {
            **m,
            "state": xp.where(e["late"], float(TOO_LATE), state),
            "shown": m["state"],
            "first": xp.where(e["touched"], now, m["first"]),
            "second": xp.where(e["again"] | e["late"], now, m["second"]),
            "paused": xp.where(e["soon"] | e["late"], 1.0, xp.where(rested, 0.0, m["paused"])),
            "renew": xp.astype(over & ~resting & (now > m["second"]), xp.float64),
            "touches_before": m["touches"],
        }

    def observation(self, v: View) -> Arrays:
        return {"task_logic": v.memory["shown"][..., None], **super().observation(v)}

    def terms(self, v: View) -> Arrays:
        e, xp = self._events(v), v.xp
        hands = v.take("xpos", self._hands())
        away = xp.min(total(abs(hands - v.mocap_pos[..., :1, :])), axis=-1)
        return {
            "near": NEAR * xp.exp(-STEEPNESS * away),
            "touched": BONUS * xp.astype(e["touched"], xp.float64),
            "in_time": BONUS * xp.astype(e["in_time"], xp.float64),
        }

    def reward(self, terms: Arrays) -> Array:
        return terms["near"] + terms["touched"] + terms["in_time"]

    def success(self, v: View) -> Array:
        return self._events(v)["in_time"]

    def labels(self, v: View) -> dict[str, Signal]:
        return {**super().labels(v), "task_logic": Signal(names=("state",), unit="1")}

    def colours(self, v: View) -> Arrays:
        touches, xp = v.memory["touches"][..., None], v.xp
        once, twice = xp.asarray(COLOURS[1]), xp.asarray(COLOURS[2])
        rgba = xp.where(touches >= 1, once, xp.asarray(COLOURS[0]))
        return {"geom orb": xp.where(touches >= 2, twice, rgba)}
