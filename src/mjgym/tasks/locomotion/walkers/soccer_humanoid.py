"""The CMU humanoid as a football player: with a face, in a jersey, shorts, socks and boots."""

from dataclasses import dataclass

from mjgym.mjcf import Spec, add
from mjgym.tasks.locomotion.walkers.any_walker import register_walker
from mjgym.tasks.locomotion.walkers.cmu_humanoid import CMUHumanoid

FACE = (0.0, 0.039, 0.0699912)  # m, of the face's frame in that of the head, and again of its mass
FACE_MASS, FACE_INERTIA = 1e-5, 1e-11  # kg, kg m^2
SKIN, SHORTS, BOOTS = (0.87, 0.68, 0.55), (0.95, 0.95, 0.95), (0.12, 0.12, 0.14)
HAIR, EYES = (0.22, 0.14, 0.09), (0.1, 0.1, 0.12)
JERSEY = (
    "lowerback", "upperback", "thorax", "lclavicle", "rclavicle", "lhumerus", "rhumerus",
    "ltibia", "rtibia",
)  # fmt: skip
_SHORTS = ("root_geom", "lhipjoint", "rhipjoint", "lfemur", "rfemur")


@register_walker("soccer_humanoid")
@dataclass(frozen=True)
class SoccerHumanoid(CMUHumanoid):
    """The humanoid of 2019 with servos that hold a position, dressed for football."""

    jersey: tuple[str, ...] = JERSEY

    def model(self) -> Spec:
        spec = super().model()
        for light in list(spec.lights):  # pitches have lights
            spec.delete(light)
        for geom in spec.geoms:
            if "foot" in geom.name or "toes" in geom.name:
                colour = BOOTS
            else:
                colour = SHORTS if geom.name in _SHORTS else SKIN
            geom.material, geom.rgba = "", (*colour, 1.0)
        head = spec.body("head")
        # A separate body of almost no mass, as in the published player.
        face = add(
            head, "body", name="face", pos=FACE, explicitinertial=True, mass=FACE_MASS,
            inertia=(FACE_INERTIA,) * 3, ipos=FACE,
        )  # fmt: skip
        for name, body, kind, place, size, look in (
            ("eye_l", face, "sphere", (0.026, 0.032, -0.012), (0.011, 0, 0), EYES),
            ("eye_r", face, "sphere", (-0.026, 0.032, -0.012), (0.011, 0, 0), EYES),
            ("nose", face, "ellipsoid", (0, 0.01, -0.004), (0.01, 0.017, 0.014), SKIN),
            ("hair", head, "ellipsoid", (0, 0.092, -0.02), (0.077, 0.062, 0.078), HAIR),
        ):
            add(
                body, "geom", name=name, type=kind, pos=place, size=size, rgba=(*look, 1.0),
                mass=0, contype=0, conaffinity=0, group=2,
            )  # fmt: skip
        return spec
