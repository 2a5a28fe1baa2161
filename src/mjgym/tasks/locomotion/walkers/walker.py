"""What a creature tells the tasks of the locomotion family about itself."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from mjgym.arrays import Array, total
from mjgym.catalogue import Catalogue
from mjgym.mjcf import Spec, add
from mjgym.rotations import Z_ROW, ZZ, product, to_local
from mjgym.sim.single import SingleView
from mjgym.sim.view import View
from mjgym.task import Arrays, Signal, vector_names

TOUCHED = 1e-3  # N; touch sensors with more are on
RANGE = 10.0  # m, beyond which rangefinders tell little
TORQUE_SCALE = 60.0 / 2  # N m; torques are squashed by tanh(torque / scale)
HOW_MANY = (1, 0, 1)  # of a contact sensor: count the contacts, as they are, in one number
# The engine's numbers for a joint that slides, a tendon over joints, an actuator at a joint.
SLIDE, OVER_JOINTS, AT_JOINT = 2, 1, 0


@dataclass(frozen=True)
class Walker:
    """A creature in a scene: its model, what of it is observed, and how it stands.

    A walker is a frozen dataclass without state. A new one is a file with a subclass that sets the
    fields and gives `model()`, under `@register_walker("name")`. Names are those of its own MJCF;
    in a scene they begin with `prefix`. A scene holds several walkers, alike or not, if each has a
    prefix of its own: `find_walker("ant").with_prefix("home_0/")`.

    Args:
        root: the body whose frame is the walker's.
        joints: those that are observed, in their order; None for those that actuators act on.
        end_effectors: the bodies with which it meets the world.
        head: a body that counts as an appendage besides the end effectors; empty for none.
        head_site: a site on the head; empty to take the root body instead.
        trunk: the bodies that are upright when it is; empty for the root alone.
        tendons: those that are observed.
        activations: whether the states of its actuators, which then have names, are observed.
        hands: the bodies that it handles things with; empty for the end effectors.
        feet: the bodies that may touch the ground, with all that hangs on them; whatever else
            touches it is a fall.
        height: of its frame above the ground when it stands, m.
        quaternion: of its frame when it stands and faces +x.
        camera: the egocentric camera.
        hidden_groups: of geoms that the egocentric camera does not see: the walker's own.
        touch, force, torque, rangefinder: names of its sensors of each kind.
        velocimeter, gyro, accelerometer: names of its sensors; empty for none.
        prefix: of all its names in the scene, and the name of its frame's body.
    """

    root: str = ""
    joints: tuple[str, ...] | None = None
    end_effectors: tuple[str, ...] = ()
    head: str = ""
    head_site: str = ""
    trunk: tuple[str, ...] = ()
    tendons: tuple[str, ...] = ()
    activations: bool = False
    hands: tuple[str, ...] = ()
    feet: tuple[str, ...] = ()
    height: float = 0.0
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    camera: str = "egocentric"
    hidden_groups: tuple[int, ...] = ()
    touch: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    torque: tuple[str, ...] = ()
    rangefinder: tuple[str, ...] = ()
    velocimeter: str = ""
    gyro: str = ""
    accelerometer: str = ""
    prefix: str = "walker/"

    @functools.cache  # noqa: B019  (hooks ask for the same few at each step)
    def with_prefix(self, prefix: str) -> Self:
        """The same creature under other names: one of several in a scene."""
        return dataclasses.replace(self, prefix=prefix)

    def prefixed(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What some of its elements are called in the scene."""
        return _prefixed(self.prefix, names)

    # Entering a scene.

    def model(self) -> Spec:
        """The creature by itself, without a joint to the world."""
        raise NotImplementedError(f"{type(self).__name__} must define model()")

    def hang(self, body: Any) -> None:
        """Give the walker's frame, an MjsBody of the scene, its joints to the world."""
        body.add_freejoint(name=self.prefix)

    def enter(self, scene: Spec) -> None:
        """Join a scene: with a frame of its own, and a sensor for `velocity`."""
        body = add(scene.worldbody, "body", name=self.prefix)
        self.hang(body)
        scene.attach(self.model(), prefix=self.prefix, frame=body.add_frame())
        add(
            scene, "sensor", name=self._velocity, type="subtreelinvel", objtype="body",
            objname=self.prefix + self.root,
        )  # fmt: skip

    def watch_ground(self, scene: Spec, ground: Mapping[str, str]) -> None:
        """Give a scene the sensors for `fallen`: they count what touches the ground.

        Args:
            scene: that the walker has entered.
            ground: names, and "geom" or "body" for each.
        """
        for name, kind in ground.items():
            for part in ("", *self.feet):  # all of it, and each foot with all that hangs on it
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

    # What is observed. All hooks run for one simulation and for a batch.

    def observation(self, v: View) -> Arrays:
        """Proprioception, kinematic and dynamic sensors, in the alphabetical order of the keys."""
        entries = {**self.proprioception(v), **self.kinematics(v), **self.dynamics(v)}
        return {self.prefix + name: entries[name] for name in sorted(entries)}

    def proprioception(self, v: View) -> Arrays:
        """What the walker knows of its own posture."""
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
        """What the rangefinders read, squashed: 10 tanh(distance / 10 m), and 10 for no hit."""
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

    @functools.cached_property
    def observed_joints(self) -> tuple[str, ...]:
        """Names of the joints whose positions and velocities are observed."""
        if self.joints is not None:
            return self.joints
        actuators = self.model().actuators
        return tuple(dict.fromkeys(a.target for a in actuators if int(a.trntype) == AT_JOINT))

    @functools.cached_property
    def _actuators(self) -> tuple[str, ...]:
        return tuple(actuator.name for actuator in self.model().actuators)

    def _take(self, v: View, field: str, names: tuple[str, ...]) -> Array:
        """The numbers of some elements in a field, (..., k); empty for no names."""
        return v.take(field, self.prefixed(names))

    # Where it is, and how it moves.

    def position(self, v: View) -> Array:
        """Of the root body in the world, (..., 3) m."""
        return v.body(self.prefix + self.root).xpos

    def rotation(self, v: View) -> Array:
        """The root body's axes in the world, (..., 9)."""
        return v.body(self.prefix + self.root).xmat

    def velocity(self, v: View) -> Array:
        """Of its centre of mass in the world, (..., 3) m/s."""
        return v.sensor(self._velocity).data

    def in_frame(self, v: View, point: Array) -> Array:
        """A point of the world as the root body sees it, (..., 3) m."""
        return to_local(self.rotation(v), point - self.position(v))

    def places(self, v: View, bodies: tuple[str, ...]) -> Array:
        """Places of some bodies as the root body sees them, one after the other, (..., 3 k) m."""
        points = v.take("xpos", self.prefixed(bodies))
        seen = to_local(self.rotation(v)[..., None, :], points - self.position(v)[..., None, :])
        return v.xp.reshape(seen, (*v.lead, -1))

    def heights(self, v: View, bodies: tuple[str, ...]) -> Array:
        """Of some bodies' frames above z = 0, (..., k) m."""
        return v.take("xpos", self.prefixed(bodies))[..., 2]

    def head_place(self, v: View) -> Array:
        """Where the head is in the world, (..., 3) m."""
        return v.site(self.prefix + self.head_site).xpos if self.head_site else self.position(v)

    def uprightness(self, v: View) -> Array:
        """Cosine of the tilt of each body of the trunk, (..., k)."""
        return v.take("xmat", self.prefixed(self.trunk or (self.root,)))[..., ZZ]

    def fallen(self, v: View, ground: Iterable[str]) -> Array:
        """Whether something of it but a foot touches the ground, (...); see `watch_ground`."""
        contacts = [
            total(v.take("sensordata", [self._under(name, part) for name in ground]))
            for part in ("", *self.feet)
        ]
        return contacts[0] > sum(contacts[1:])

    # Placing it, on a scratch simulation.

    def stand(
        self,
        v: SingleView,
        position: Array = (0.0, 0.0, 0.0),
        turn: Array = (1.0, 0.0, 0.0, 0.0),
    ) -> None:
        """Stand upright, at rest.

        Args:
            v: the scratch simulation.
            position: m, where its frame would be at the origin of the upright pose.
            turn: a quaternion by which it is turned from where it faces +x.
        """
        place = np.array(position, dtype=float)
        place[2] += self.height
        self.put(v, place, product(np.asarray(turn), normalised(self.quaternion)))

    def put(self, v: SingleView, position: Array, quaternion: Array) -> None:
        """Put the walker's frame somewhere: position (3,) in m and orientation (4,)."""
        pose = v.joint(self.prefix).qpos
        pose[:3] = position
        pose[3:] = quaternion

    def aliveness(self, v: View) -> Array:
        """From -1 (upside down) to 0 (upright), for creatures that this ends an episode of."""
        return v.xp.zeros(v.lead)

    # For people.

    def signals(self, v: View) -> dict[str, Signal]:
        """What each entry of `observation` holds."""
        frame = self.prefix + self.root
        joints, tendons = self.observed_joints, self.tendons
        lengths, stretches = (
            _joint_units(v, self.prefixed(joints)),
            _tendon_units(v, self.prefixed(tendons)),
        )
        texts: dict[str, tuple[str, tuple[str, ...], str | tuple[str, ...], str, Any]] = {
            "joints_pos": ("position of each joint", joints, lengths, "", "qpos"),
            "joints_vel": ("velocity of each joint", joints, _rates(lengths), "", "qvel"),
            "body_height": ("height of the root body", ("height",), "m", "world", "body xpos"),
            "world_zaxis": ("the world's vertical as the root body sees it",
                            vector_names("up"), "1", frame, "body xmat"),
            "end_effectors_pos": ("places of the end effectors",
                                  vector_names(*self.end_effectors), "m", frame, "body xpos"),
            "appendages_pos": ("places of end effectors and head",
                               vector_names(*self.end_effectors, self.head), "m", frame,
                               "body xpos"),
            "actuator_activation": ("state of each actuator", self._stateful(v), "1", "", "act"),
            "tendons_pos": ("length of each tendon", tendons, stretches, "", "ten_length"),
            "tendons_vel": ("velocity of each tendon", tendons, _rates(stretches), "",
                            "ten_velocity"),
            "sensors_gyro": ("angular velocity", _axes("gyro", self.gyro), "rad/s", frame,
                             self._sources(self.gyro)),
            "sensors_velocimeter": ("velocity", _axes("velocity", self.velocimeter), "m/s", frame,
                                    self._sources(self.velocimeter)),
            "sensors_accelerometer": ("acceleration that the root feels, gravity included",
                                      _axes("acceleration", self.accelerometer), "m/s^2", frame,
                                      self._sources(self.accelerometer)),
            "sensors_force": ("forces", vector_names(*self.force), "N", "",
                              self._sources(*self.force)),
            "sensors_torque": (f"tanh(torque / {TORQUE_SCALE:g} N m)", vector_names(*self.torque),
                               "1", "", self._sources(*self.torque)),
            "sensors_rangefinder": (f"{RANGE:g} tanh(distance / {RANGE:g} m)", self.rangefinder,
                                    "1", "", self._sources(*self.rangefinder, size=1)),
            "sensors_touch": ("1 where something is touched", self.touch, "1", "",
                              self._sources(*self.touch, size=1)),
        }  # fmt: skip
        present = {**self.observation(v), **(self.ranges(v) if self.rangefinder else {})}
        return {
            self.prefix + key: Signal(meaning, names, unit or "1", at, source)
            for key, (meaning, names, unit, at, source) in texts.items()
            if self.prefix + key in present
        }

    def _stateful(self, v: View) -> tuple[str, ...]:
        """Names of the actuators that have a state, one for each number of it."""
        counts = _ids(v.actuator_actnum, v.names("actuator"))
        return tuple(n for n in self._actuators for _ in range(counts[self.prefix + n]))

    def _sources(self, *names: str, size: int = 3) -> tuple[str, ...]:
        """The source of each number that some sensors read; none for an empty name."""
        return tuple(f"sensor {self.prefix}{name}" for name in names if name for _ in range(size))


@functools.cache  # hooks ask for the same ones at each step
def _prefixed(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(prefix + name for name in names)


def _axes(word: str, sensor: str) -> tuple[str, ...]:
    """Names of what a sensor with three numbers reads; none without a sensor."""
    return vector_names(word) if sensor else ()


def _joint_units(v: View, joints: tuple[str, ...]) -> tuple[str, ...]:
    """The unit of each joint's position."""
    kinds = _ids(v.jnt_type, v.names("joint"))
    return tuple("m" if kinds[joint] == SLIDE else "rad" for joint in joints)


def _tendon_units(v: View, tendons: tuple[str, ...]) -> tuple[str, ...]:
    """The unit of each tendon's length: that of the joints it adds up, or m if it is a string."""
    first = _ids(v.tendon_adr, v.names("tendon"))
    joints = v.names("joint")
    units: list[str] = []
    for tendon in tendons:
        place = first[tendon]
        if np.ravel(v.wrap_type)[place] == OVER_JOINTS:
            units += _joint_units(v, (joints[int(np.ravel(v.wrap_objid)[place])],))
        else:
            units.append("m")
    return tuple(units)


def _rates(units: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{unit}/s" for unit in units)


def _ids(field: Array, names: tuple[str, ...]) -> dict[str, int]:
    """The whole number that a field of the model has for each element, by name."""
    return {name: int(n) for name, n in zip(names, np.ravel(field), strict=False)}


def normalised(quaternion: Array) -> np.ndarray:
    """A quaternion (4,) of length one."""
    q = np.array(quaternion, dtype=float)
    return np.asarray(q / np.sqrt((q * q).sum()))


_walkers: Catalogue[Walker] = Catalogue("walker", Walker)

WalkerType = TypeVar("WalkerType", bound=type[Walker])


def register_walker(name: str, **fields: Any) -> Callable[[WalkerType], WalkerType]:
    """Give a walker a name for the keyword argument `walker`; stands above the class.

    Args:
        name: for the argument.
        **fields: values of the class's fields that make this walker.
    """

    def decorate(walker_class: WalkerType) -> WalkerType:
        _walkers.add(name, walker_class(**fields))
        return walker_class

    return decorate


def walker_names() -> list[str]:
    """The names of all walkers, sorted."""
    return _walkers.names()


def find_walker(name: str) -> Walker:
    """The walker of a name, or of "module:Class".

    Raises:
        ValueError: there is none; the message names the nearest ones.
    """
    return _walkers.find(name)
