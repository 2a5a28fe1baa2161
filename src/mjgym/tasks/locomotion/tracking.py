"""Follow recorded motions of people."""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec
from mjgym.mjcf.ghosts import add_ghost
from mjgym.rotations import angle_between, to_local, turn_between
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Signal, register, vector_names
from mjgym.tasks.locomotion.references import References, appendages, references
from mjgym.tasks.locomotion.walker_task import WalkerTask
from mjgym.util.values import positive, whole_number

CLIP, START = range(2)  # of userdata: index of the clip, first frame of the episode
EARLY = 1e-6  # fraction of a control step by which the summed clock may lag

# Steepness and weight of each term exp(-steepness * squared deviation).
POSE_TERMS = {
    "center_of_mass": (10.0, 0.1),  # 1/m^2
    "joints_velocity": (0.1, 1.0),  # s^2/rad^2
    "appendages": (40.0, 0.15),  # 1/m^2
    "body_quaternions": (2.0, 0.65),  # 1/rad^2
}

HEAVY = 1e12  # kg m^2 and kg; with such inertia no force changes a velocity
CONSTRAINTS_OFF = 1  # bit of opt.disableflags for all constraints


@register("locomotion/cmu_humanoid-tracking-v0", tags=("mocap",))
@dataclass(frozen=True)
class Tracking(WalkerTask):
    """A walker follows clips of recorded motion.

    Reward: r = 1/2 truncation + 1/2 (0.1 center_of_mass + joints_velocity + 0.15 appendages
    + 0.65 body_quaternions), each term 1 where walker and reference agree. truncation is
    1 - e / threshold, where the deviation e is half the mean absolute difference of the bodies'
    coordinates (m) plus half that of the joints' angles (rad). The others are exp(-k d^2), with
    the squared differences of: the centre of mass in the world (k = 10 / m^2), the joints'
    velocities (k = 0.1 s^2/rad^2), end effectors and head in the root's frame (k = 40 / m^2), and
    half the angles between the bodies' orientations (k = 2 / rad^2), each summed over all. The
    terms are those of Hasenclever et al., "CoMic: Complementary task learning & mimicry for
    reusable skills" (ICML 2020), after Peng et al., "DeepMimic" (2018).

    Start: in the state of a frame of a clip, both drawn: each frame that leaves at least
    `shortest` control steps is as likely as any other. With `from_start`, the first frame of a
    clip.

    End: e is above `threshold`; with `ends_on_fall`, also when something but a foot touches the
    ground. The episode is truncated, with success, at the last frame that is followed by `future`
    frames.

    Observation: the walker's own, and for each of the `future` next frames:
    `walker/reference_rel_joints`, reference minus joint angle;
    `walker/reference_rel_bodies_pos_global`, way from each body to its reference;
    `walker/reference_rel_bodies_quats`, rotation from each body to its reference;
    `walker/reference_rel_bodies_pos_local`, way from each body to its reference as the root sees
    it; `walker/reference_ego_bodies_quats`, orientation of the reference's bodies in its root's
    frame; `walker/reference_rel_root_quat`, rotation from the root to its reference;
    `walker/reference_rel_root_pos_local`, way from the root to its reference;
    `walker/reference_appendages_pos`, places of the reference's end effectors and head in its
    root's frame. Then `walker/clip_id`, number of the clip; `walker/time_in_clip`, how much of the
    clip has passed, 0 to 1.
    """

    walker: str = "cmu_humanoid_2020"  # its name, or "module:Class"
    arena: str = "floor"  # its name, or "module:Class"
    sees: bool = False  # with pixels, the egocentric camera's image is observed
    clips: str = ""  # a file, folder or name, e.g. "walk"; empty for the package's own
    future: int = 5  # frames of the reference that are observed
    shortest: int = 10  # control steps that are left of a clip at the start, at least
    threshold: float = 0.3  # deviation from the reference that ends the episode
    from_start: bool = False  # episodes begin with the first frame of a clip
    play: bool = False  # the walker is carried along a whole clip, whatever the actions
    ghost: bool = False  # the reference is drawn as well, translucent

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("future", "shortest"):
            whole_number(name, getattr(self, name))
        positive("threshold", self.threshold)

    def model(self) -> Spec:
        reference = self._read()
        spec = super().model()
        spec.nuserdata = 2
        if self.play:
            _make_inert(spec)
        if self.ghost:
            add_ghost(spec, (self.creature.prefix + self.creature.root, *reference.bodies))
        return spec

    # Clips, and the position in them.

    def _read(self) -> References:
        reference = references(self.clips, self.walker, self.control_timestep)
        wanted = 2 if self.play else self.shortest + self.future + 1
        for clip, frames in zip(reference.clips, reference.frames.tolist(), strict=True):
            if frames < wanted:
                step = self.control_timestep
                raise ValueError(
                    f"clips: {clip} has {frames} frames, {(frames - 1) * step:g} s; the task needs"
                    f" {wanted}, {(wanted - 1) * step:g} s (shortest={self.shortest},"
                    f" future={self.future})"
                )
        return reference

    @functools.cached_property
    def references(self) -> References:
        return self._read()

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def _frame(self, v: View, ahead: int = 0) -> Array:
        """Frame index in the clip, (...): the current one or one ahead."""
        passed = v.xp.floor(v.time / self.control_timestep + EARLY)
        return v.xp.astype(v.userdata[..., START] + passed + ahead, v.xp.int64)

    def _clip(self, v: View) -> Array:
        return v.xp.astype(v.userdata[..., CLIP], v.xp.int64)

    def _row(self, v: View, ahead: int = 0) -> Array:
        """Reference row, (...), of the current frame or one ahead; at most the clip's last."""
        reference, clip = self.references, self._clip(v)
        last = reference.at("frames", clip) - 1
        return reference.at("first", clip) + v.xp.minimum(self._frame(v, ahead), last)

    def _next_rows(self, v: View) -> Array:
        return v.xp.stack([self._row(v, k + 1) for k in range(self.future)], axis=-1)

    def _over(self, v: View) -> Array:
        unfollowed = 0 if self.play else self.future
        return self._frame(v) >= self.references.at("frames", self._clip(v)) - 1 - unfollowed

    # Course of an episode.

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        reference = self.references
        if self.from_start or self.play:
            clip, start = int(rng.integers(len(reference.frames))), 0
        else:
            starts = reference.frames - self.future - self.shortest
            drawn = int(rng.integers(starts.sum()))
            clip = int(np.searchsorted(np.cumsum(starts), drawn, side="right"))
            start = drawn - int(starts[:clip].sum())
        v.userdata[CLIP], v.userdata[START] = clip, start
        row = reference.first[clip] + start
        v.qpos[v.rows("qpos", reference.joints)] = reference.qpos[row]
        v.qvel[v.rows("qvel", reference.joints)] = reference.qvel[row]
        if self.ghost:
            for name, value in self._ghost(v, self._row(v)).items():
                setattr(v, name, value)

    def before_step(self, v: View, action: Array) -> Arrays:
        written: Arrays = {}
        if self.play:
            row = self._row(v)
            written = {field: self._carried(v, field, row) for field in ("qpos", "qvel")}
        if self.ghost:
            written |= self._ghost(v, self._row(v, 1))
        return written

    def _carried(self, v: View, field: str, row: Array) -> Array:
        """Joint positions or velocities, with the walker's taken from a frame."""
        reference, values = self.references, getattr(v, field)
        place = v.rows(field, reference.joints)
        assert isinstance(place, slice)  # joints of one walker are contiguous
        parts = [values[..., : place.start], reference.at(field, row), values[..., place.stop :]]
        return v.xp.concat(parts, axis=-1)

    def _ghost(self, v: View, row: Array) -> Arrays:
        """Poses of the mocap bodies with the ghost (the last of them) in a frame."""
        reference, count = self.references, 1 + len(self.references.bodies)
        position = v.xp.concat(
            [reference.at("position", row)[..., None, :], reference.at("bodies_pos", row)], axis=-2
        )
        quaternion = v.xp.concat(
            [reference.at("quaternion", row)[..., None, :], reference.at("bodies_quats", row)],
            axis=-2,
        )
        return {
            "mocap_pos": v.xp.concat([v.mocap_pos[..., :-count, :], position], axis=-2),
            "mocap_quat": v.xp.concat([v.mocap_quat[..., :-count, :], quaternion], axis=-2),
        }

    # Deviation of the walker.

    def _bodies(self, v: View, field: str) -> Array:
        """Pose field of all bodies of the walker but the root, (..., b, 3 or 4)."""
        return v.take(field, self.references.bodies)

    def _hinges(self, v: View, field: str) -> Array:
        """Positions or velocities of the internal joints, (..., j)."""
        return v.take(field, self.references.joints[1:])

    def _deviation(self, v: View) -> Array:
        """Half the mean deviation of bodies (m) plus half that of joints (rad), (...)."""
        reference, row = self.references, self._row(v)
        away = abs(self._bodies(v, "xpos") - reference.at("bodies_pos", row))
        bodies = v.xp.reshape(away, (*v.lead, -1))
        joints = abs(self._hinges(v, "qpos") - reference.at("qpos", row)[..., 7:])
        means = (total(x) / x.shape[-1] for x in (bodies, joints))
        return sum(0.5 * mean for mean in means)

    def terms(self, v: View) -> Arrays:
        reference, row, walker = self.references, self._row(v), self.creature
        root = v.body(walker.prefix + walker.root)
        angles = angle_between(self._bodies(v, "xquat"), reference.at("bodies_quats", row))
        differences = {
            "center_of_mass": root.subtree_com - reference.at("center_of_mass", row),
            "joints_velocity": self._hinges(v, "qvel") - reference.at("qvel", row)[..., 6:],
            "appendages": walker.places(v, appendages(walker)) - reference.at("appendages", row),
            "body_quaternions": angles / 2,
        }
        terms = {"truncation": 1.0 - self._deviation(v) / self.threshold}
        for name, difference in differences.items():
            steepness, _ = POSE_TERMS[name]
            terms[name] = v.xp.exp(-steepness * total(difference * difference))
        return terms

    def reward(self, terms: Arrays) -> Array:
        pose = sum(share * terms[name] for name, (_, share) in POSE_TERMS.items())
        return 0.5 * terms["truncation"] + 0.5 * pose

    def terminated(self, v: View) -> Array:
        return (self._deviation(v) > self.threshold) | self.fallen(v)

    def truncated(self, v: View) -> Array:
        return self._over(v)

    def success(self, v: View) -> Array:
        return self._over(v) & (self._deviation(v) <= self.threshold)

    # Observation.

    def observation(self, v: View) -> Arrays:
        reference, rows, walker = self.references, self._next_rows(v), self.creature
        root = v.body(walker.prefix + walker.root)
        axes = walker.rotation(v)
        observed = v.take("qpos", walker.prefixed(walker.observed_joints))
        moved = reference.at("bodies_pos", rows) - self._bodies(v, "xpos")[..., None, :, :]
        entries = {
            "rel_joints": reference.at("observed", rows) - observed[..., None, :],
            "rel_bodies_pos_global": moved,
            "rel_bodies_quats": turn_between(
                self._bodies(v, "xquat")[..., None, :, :], reference.at("bodies_quats", rows)
            ),
            "rel_bodies_pos_local": to_local(axes[..., None, None, :], moved),
            "ego_bodies_quats": reference.at("ego_bodies_quats", rows),
            "rel_root_quat": turn_between(
                root.xquat[..., None, :], reference.at("quaternion", rows)
            ),
            "rel_root_pos_local": to_local(
                axes[..., None, :], reference.at("position", rows) - root.xpos[..., None, :]
            ),
            "appendages_pos": reference.at("appendages", rows),
        }
        xp, prefix, shape = v.xp, walker.prefix, (*v.lead, self.future, -1)
        clip = self._clip(v)
        passed, last = self._frame(v), reference.at("frames", clip) - 1
        return {
            **super().observation(v),
            **{f"{prefix}reference_{key}": xp.reshape(x, shape) for key, x in entries.items()},
            f"{prefix}clip_id": xp.astype(clip, xp.float64),
            f"{prefix}time_in_clip": xp.astype(passed, xp.float64) / xp.astype(last, xp.float64),
        }

    def labels(self, v: View) -> dict[str, Signal]:
        walker, prefix = self.creature, self.creature.prefix
        bodies = tuple(name.removeprefix(prefix) for name in self.references.bodies)
        each = tuple(name for name in self.references.bodies for _ in range(4)) * self.future
        root = prefix + walker.root
        of_frames: dict[str, tuple[tuple[str, ...], str, str | tuple[str, ...]]] = {
            "rel_joints": (walker.observed_joints, "rad", ""),
            "rel_bodies_pos_global": (vector_names(*bodies), "m", "world"),
            "rel_bodies_quats": (_quaternion_names(*bodies), "1", each),
            "rel_bodies_pos_local": (vector_names(*bodies), "m", root),
            "ego_bodies_quats": (_quaternion_names(*bodies), "1", ""),
            "rel_root_quat": (_quaternion_names("root"), "1", root),
            "rel_root_pos_local": (vector_names("root"), "m", root),
            "appendages_pos": (vector_names(*appendages(walker)), "m", ""),
        }
        stated = {
            **super().labels(v),
            f"{prefix}clip_id": Signal(names=("clip",), unit="1", source="userdata"),
            f"{prefix}time_in_clip": Signal(names=("time",), unit="1", source="time"),
        }
        for key, (names, unit, frame) in of_frames.items():
            ahead = tuple(
                f"{name}, {k + 1} frame{'s' if k else ''} ahead"
                for k in range(self.future)
                for name in names
            )
            stated[f"{prefix}reference_{key}"] = Signal("", ahead, unit, frame, "clips")
        return stated


def _quaternion_names(*bodies: str) -> tuple[str, ...]:
    return tuple(f"{body} q{part}" for body in bodies for part in "wxyz")


def _make_inert(spec: Spec) -> None:
    """Remove all forces and contacts, so that velocities stay constant.

    A control step then takes the walker from one frame to the next, as `velocities` of
    `mjgym.mocap` computes them, and the sensors show the motion.
    """
    spec.option.disableflags |= CONSTRAINTS_OFF
    for joint in spec.joints:
        joint.armature = HEAVY
