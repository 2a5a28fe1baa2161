"""A rat with 38 actuators: eight bend its spine, neck and tail, thirty move its limbs."""

from dataclasses import dataclass

from mjgym.mjcf import Coat, Spec, load
from mjgym.tasks.locomotion.walkers.any_walker import Walker, register_walker

COAT = Coat(
    ("nose", "fur", "pale_fur"),
    cell=0.0018,
    blend=0.006,
    hair=(0.008, 0.002),
    underside="pale_fur",
    flesh="locomotion/walkers/rodent_coat.xml",
)


@register_walker("rodent")
@dataclass(frozen=True)
class Rodent(Walker):
    """The rodent. All its actuators are servos behind a low-pass filter of 0.04 s."""

    root: str = "torso"
    end_effectors: tuple[str, ...] = ("lower_arm_R", "lower_arm_L", "foot_R", "foot_L")
    head: str = "skull"
    head_site: str = "head"
    trunk: tuple[str, ...] = ("torso", "pelvis")
    tendons: tuple[str, ...] = (
        "lumbar_extend", "lumbar_bend", "lumbar_twist", "cervical_extend", "cervical_bend",
        "cervical_twist", "caudal_extend", "caudal_bend",
    )  # fmt: skip
    activations: bool = True
    hands: tuple[str, ...] = ("hand_L", "hand_R")
    feet: tuple[str, ...] = ("foot_L", "foot_R", "hand_L", "hand_R", "vertebra_C1")  # and the tail
    crawls: bool = True
    scale: float | None = 1 / 6
    hidden_groups: tuple[int, ...] = (1, 2)
    viewpoint: str = "side_alt"
    published_file: str = "locomotion/walkers/assets/rodent.xml"
    velocimeter: str = "velocimeter"
    gyro: str = "gyro"
    accelerometer: str = "accelerometer"
    touch: tuple[str, ...] = ("palm_L", "palm_R", "sole_L", "sole_R")

    def model(self) -> Spec:
        return load("locomotion/walkers/rodent.xml")

    def add_coat(self, spec: Spec) -> None:
        COAT.put_on(spec, self.prefix, group=self.hidden_groups[-1])
