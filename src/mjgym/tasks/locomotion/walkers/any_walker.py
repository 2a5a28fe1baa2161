"""The walker interface of the locomotion family."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add
from mjgym.rotations import Z_ROW, ZZ, product, to_local
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Signal
from mjgym.util.catalogue import Catalogue
from mjgym.variation.written import Written

TOUCHED = 1e-3  # N; touch sensors above it are on
RANGE = 10.0  # m, saturation scale of rangefinders
TORQUE_SCALE = 60.0 / 2  # N m; torques are squashed by tanh(torque / scale)
LEAST_MASS, LEAST_INERTIA = 1e-5, 1e-11  # kg, kg m^2, minimum of a moving body
HOW_MANY = (1, 0, 1)  # contact sensor setting: one number, the count of contacts
Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""
AT_JOINT = 0  # mjtTrn


@dataclass(frozen=True)
class Walker(Written):
    """A walker in a scene: model, observation, start pose, fall detection.

    A walker is a frozen dataclass without state. A new one is a file with a subclass that sets the
    fields and gives `model()`, under `@register_walker("name")`. Names are those of its own MJCF;
    in a scene they begin with `prefix`. A scene may hold several walkers, also of one kind, if each
    has its own prefix: `find_walker("ant").with_prefix("home_0/")`.

    Observation: `joints_pos`, position of each joint; `joints_vel`, velocity of each joint;
    `body_height`, height of the root body; `world_zaxis`, the world's vertical as the root body
    sees it; `end_effectors_pos`, places of the end effectors as the root body sees them;
    `appendages_pos`, places of end effectors and head; `actuator_activation`, state of each
    actuator; `tendons_pos`, length of each tendon; `tendons_vel`, velocity of each tendon;
    `sensors_gyro`, angular velocity; `sensors_velocimeter`, velocity; `sensors_accelerometer`,
    acceleration, gravity included; `sensors_force`, forces; `sensors_torque`,
    tanh(torque / 30 N m); `sensors_touch`, 1 where something is touched; `sensors_rangefinder`,
    10 tanh(distance / 10 m).
    """

    root: str = ""  # the body whose frame is the walker's
    joints: tuple[str, ...] | None = None  # that are observed; None for the driven ones
    end_effectors: tuple[str, ...] = ()  # the bodies at the ends of its limbs
    head: str = ""  # a body that counts as an appendage besides the end effectors; empty for none
    head_site: str = ""  # a site on the head; empty to take the root body instead
    trunk: tuple[str, ...] = ()  # the bodies that are upright when it is; empty for the root alone
    tendons: tuple[str, ...] = ()
    activations: bool = False  # the states of its actuators are observed; they have names then
    hands: tuple[str, ...] = ()  # bodies that handle things; empty for the end effectors
    feet: tuple[str, ...] = ()  # bodies that may touch the ground, with all that hangs on them
    crawls: bool = False  # whether its trunk touches the ground in its usual posture
    scale: float | None = None  # its size beside a human, for arenas; None if it fits in all
    height: float = 0.0  # of its frame above the ground when it stands, m
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)  # of its frame facing +x
    camera: str = "egocentric"
    viewpoint: str = ""  # the camera that shows it to people; empty for the arena's first one
    hidden_groups: tuple[int, ...] = ()  # of geoms that the egocentric camera does not see
    touch: tuple[str, ...] = ()  # its touch sensors
    force: tuple[str, ...] = ()  # its force sensors
    torque: tuple[str, ...] = ()  # its torque sensors
    rangefinder: tuple[str, ...] = ()  # its rangefinders
    velocimeter: str = ""  # the sensor of that kind; empty for none
    gyro: str = ""  # the sensor of that kind; empty for none
    accelerometer: str = ""  # the sensor of that kind; empty for none
    published_file: str = ""  # of its skin, in dm_control; empty for none
    jersey: tuple[str, ...] = ()  # geoms in its team's colour; empty for all that are seen
    prefix: str = "walker/"  # of all its names in the scene, and the name of its frame's body

    @functools.cache  # noqa: B019  (hooks ask for the same few at each step)
    def with_prefix(self, prefix: str) -> Self:
        return dataclasses.replace(self, prefix=prefix)

    def prefixed(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return _prefixed(self.prefix, names)

    # Attachment to a scene.

    def model(self) -> Spec:
        """The creature by itself, without a joint to the world."""
        raise NotImplementedError(f"{type(self).__name__} must define model()")

    def add_coat(self, spec: Spec) -> None:
        """Add a coat to the scene's spec, for images alone; by default there is none."""

    def hang(self, body: Any) -> None:
        """Add the joints between the world and the walker's frame, an MjsBody of the scene."""
        body.add_freejoint(name=self.prefix)

    def enter(self, scene: Spec) -> None:
        """Add the walker to a scene, with its own frame and a sensor for `velocity`."""
        self.join(scene, self.model())
        add(
            scene, "sensor", name=self._velocity, type="subtreelinvel", objtype="body",
            objname=self.prefix + self.root,
        )  # fmt: skip

    def join(
        self, scene: Spec, model: Spec, place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ) -> None:
        """Attach a model of the creature alone to a scene, standing at `place` (m) until an
        episode.
        """
        # Explicit, because the engine would add the mass of a separate frame.
        body = add(
            scene.worldbody, "body", name=self.prefix, pos=place, explicitinertial=True,
            mass=LEAST_MASS, inertia=(LEAST_INERTIA,) * 3, ipos=(0, 0, 0),
        )  # fmt: skip
        self.hang(body)
        scene.attach(model, prefix=self.prefix, frame=body.add_frame())

    def dress(self, model: Spec, colour: Colour) -> None:
        """Colour a model of the walker for a team, before it joins a scene."""
        for geom in model.geoms:
            if geom.name in self.jersey or (not self.jersey and geom.rgba[3] > 0):
                geom.material, geom.rgba = "", (*colour, 1.0)

    def watch_ground(self, scene: Spec, ground: Mapping[str, str]) -> None:
        """Add the sensors that `fallen` reads: contacts with the "geom" or "body" of each name."""
        for name, kind in ground.items():
            for part in ("", *self.feet):  # all of it, and each foot with its descendants
                add(
                    scene, "sensor", name=self._under(name, part), type="contact",
                    objtype=kind, objname=name, reftype="xbody", refname=self.prefix + part,
                    intprm=HOW_MANY,
                )  # fmt: skip

    @property
    def _velocity(self) -> str:
        return f"velocity of {self.prefix}{self.root}"

    def _under(self, ground: str, part: str) -> str:
        return f"{ground} under {self.prefix}{part}"

    # Observation. All hooks run for one simulation and for a batch.

    def observation(self, v: View) -> Arrays:
        """Proprioception, kinematic and dynamic sensors, in the alphabetical order of the keys."""
        entries = {**self.proprioception(v), **self.kinematics(v), **self.dynamics(v)}
        return {self.prefix + name: entries[name] for name in sorted(entries)}

    def proprioception(self, v: View) -> Arrays:
        """Proprioception: the walker's own posture."""
        entries = {
            "joints_pos": self._take(v, "qpos", self.observed_joints),
            "joints_vel": self._take(v, "qvel", self.observed_joints),
            "body_height": self.position(v)[..., 2],
            "world_zaxis": self.rotation(v)[..., Z_ROW],
            "end_effectors_pos": self.places(v, self.end_effectors),
        }
        if self.activations:
            entries["actuator_activation"] = self._take(v, "act", self._actuators)
        if self.head:
            entries["appendages_pos"] = self.places(v, (*self.end_effectors, self.head))
        if self.tendons:
            entries["tendons_pos"] = self._take(v, "ten_length", self.tendons)
            entries["tendons_vel"] = self._take(v, "ten_velocity", self.tendons)
        return entries

    def kinematics(self, v: View) -> Arrays:
        """Gyro, velocimeter and accelerometer."""
        sensors = {
            "sensors_gyro": self.gyro,
            "sensors_velocimeter": self.velocimeter,
            "sensors_accelerometer": self.accelerometer,
        }
        return {
            key: self._take(v, "sensordata", (name,) if name else ())
            for key, name in sensors.items()
        }

    def ranges(self, v: View) -> Arrays:
        """Squashed rangefinder readings: 10 tanh(distance / 10 m), and 10 for no hit."""
        distance = self._take(v, "sensordata", self.rangefinder)
        far = v.xp.where(distance < 0, v.xp.inf, distance)
        return {f"{self.prefix}sensors_rangefinder": RANGE * v.xp.tanh(far / RANGE)}

    def dynamics(self, v: View) -> Arrays:
        """Force, torque and touch."""
        torque = self._take(v, "sensordata", self.torque)
        touched = self._take(v, "sensordata", self.touch) > TOUCHED
        return {
            "sensors_force": self._take(v, "sensordata", self.force),
            "sensors_torque": v.xp.tanh(torque / TORQUE_SCALE),
            "sensors_touch": v.xp.astype(touched, v.xp.float64),
        }

    def labels(self) -> dict[str, Signal]:
        """Labels that cannot be derived, see `Task.labels`, by names without prefix.

        Meanings come from the paragraphs "Observation: ..." of the class's docstring.
        """
        sensors = tuple(f"sensor {name}" for name in self.prefixed(self.touch))
        return {"sensors_touch": Signal(names=self.touch, unit="1", source=sensors)}

    @functools.cached_property
    def observed_joints(self) -> tuple[str, ...]:
        """The names of the joints whose positions and velocities are observed."""
        if self.joints is not None:
            return self.joints
        actuators = self.model().actuators
        return tuple(dict.fromkeys(a.target for a in actuators if int(a.trntype) == AT_JOINT))

    @functools.cached_property
    def _actuators(self) -> tuple[str, ...]:
        return tuple(actuator.name for actuator in self.model().actuators)

    def _take(self, v: View, field: str, names: tuple[str, ...]) -> Array:
        return v.take(field, self.prefixed(names))

    # Position and motion.

    def position(self, v: View) -> Array:
        """The root body's world position, (..., 3) m."""
        return v.body(self.prefix + self.root).xpos

    def rotation(self, v: View) -> Array:
        """The root body's axes in the world, (..., 9)."""
        return v.body(self.prefix + self.root).xmat

    def velocity(self, v: View) -> Array:
        """The world velocity of its centre of mass, (..., 3) m/s."""
        return v.sensor(self._velocity).data

    def in_frame(self, v: View, point: Array) -> Array:
        """A world point in the root body's frame, (..., 3) m."""
        return to_local(self.rotation(v), point - self.position(v))

    def places(self, v: View, bodies: tuple[str, ...]) -> Array:
        """Positions of the named bodies in the root body's frame, concatenated, (..., 3 k) m."""
        points = v.take("xpos", self.prefixed(bodies))
        local = to_local(self.rotation(v)[..., None, :], points - self.position(v)[..., None, :])
        return v.xp.reshape(local, (*v.lead, -1))

    def heights(self, v: View, bodies: tuple[str, ...]) -> Array:
        """Heights of the named bodies' frames above z = 0, (..., k) m."""
        return v.take("xpos", self.prefixed(bodies))[..., 2]

    def head_place(self, v: View) -> Array:
        """The head's position in the world, (..., 3) m."""
        return v.site(self.prefix + self.head_site).xpos if self.head_site else self.position(v)

    def uprightness(self, v: View) -> Array:
        """Cosine of the tilt of each body of the trunk, (..., k)."""
        return v.take("xmat", self.prefixed(self.trunk or (self.root,)))[..., ZZ]

    def fallen(self, v: View, ground: Iterable[str]) -> Array:
        """Tell whether any part except a foot touches the ground, (...); see `watch_ground`."""
        contacts = [
            total(v.take("sensordata", [self._under(name, part) for name in ground]))
            for part in ("", *self.feet)
        ]
        return contacts[0] > sum(contacts[1:])

    # Placement, on a scratch simulation.

    def stand(
        self, v: SingleView, position: Array = (0.0, 0.0, 0.0), turn: Array = (1.0, 0.0, 0.0, 0.0)
    ) -> None:
        """Stand upright, at rest.

        Args:
            v: the scratch simulation.
            position: m, where its frame would be at the origin of the upright pose.
            turn: a quaternion that turns it from facing +x.
        """
        place = np.array(position, dtype=float)
        place[2] += self.height
        self.put(v, place, product(np.asarray(turn), normalised(self.quaternion)))

    def put(self, v: SingleView, position: Array, quaternion: Array) -> None:
        """Set the pose of the walker's frame: position (3,) in m and orientation (4,)."""
        pose = v.joint(self.prefix).qpos
        pose[:3] = position
        pose[3:] = quaternion

    def aliveness(self, v: View) -> Array:
        """A measure of tilt, from -1 (upside down) to 0 (upright), that may end episodes."""
        return v.xp.zeros(v.lead)


@functools.cache  # hooks ask for the same ones at each step
def _prefixed(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(prefix + name for name in names)


def normalised(quaternion: Array) -> np.ndarray:
    q = np.array(quaternion, dtype=float)
    return np.asarray(q / np.sqrt((q * q).sum()))


_walkers: Catalogue[Walker] = Catalogue("walker", Walker, __package__)

register_walker = _walkers.register
"""Class decorator: register a walker under a name for the keyword argument `walker`."""


def walker_names() -> list[str]:
    return _walkers.names()


def find_walker(name: str | Walker) -> Walker:
    """Look up a walker by name or "module:Class"; a walker is returned as is."""
    return _walkers.find(name)
