"""Put nuts on pegs."""

from dataclasses import dataclass
from types import MappingProxyType

from mjgym import mjcf
from mjgym.mjcf import Spec
from mjgym.placements import Extent, Placement, Several, Uniform
from mjgym.robots.staged_policy import StagedPolicy
from mjgym.sim import SingleView, View
from mjgym.task import Array, register, register_variants, variant
from mjgym.tasks.robosuite.scripted_policies import sorting_objects
from mjgym.tasks.robosuite.sorting import ALL, RANDOM, TAGS, Sorting
from mjgym.tasks.robosuite.tabletop import OneTable

TABLE_TOP = (0.0, 0.0, 0.82)  # m
EXTENTS = {
    "SquareNut": Extent(radius=0.11, bottom=-0.05, top=0.01),  # m; the nuts fall by 6 cm
    "RoundNut": Extent(radius=0.11, bottom=-0.05, top=0.025),
}
AWAY = (-0.115, -0.11)  # m, where the nuts lie from the middle of the table, along x
ASIDE = {"SquareNut": (0.11, 0.225), "RoundNut": (-0.225, -0.11)}  # m, along y
DROP = 0.02  # m, of the extents' bottoms over the table

PEGS = {"SquareNut": (0.23, 0.1), "RoundNut": (0.23, -0.1)}  # m
ON_PEG = 0.03  # m along x and y from the peg's middle
DOWN = 0.05  # m over the table: a nut below it is on its peg
CARRY = 0.2  # m over the centre of the table's slab, of carried nuts


@register("robosuite/NutAssembly-v0", tags=TAGS)
@register_variants(
    "robosuite/NutAssembly{}-v0",
    TAGS,
    Single=variant("Put a randomly chosen nut on its peg.", nut_type=RANDOM),
    Square=variant("Put the square nut on the square peg.", nut_type="square"),
    Round=variant("Put the round nut on the round peg.", nut_type="round"),
)
@dataclass(frozen=True)
class NutAssembly(Sorting, OneTable):
    """Put the square nut on the square peg, and the round nut on the round peg.

    Start: the arm near its published pose; the nuts before the pegs, the square one on the left,
    each turned by any angle about the vertical. With one nut the other lies far away; it is the
    same in all episodes, or drawn for each.

    Observation: the robot's entries (see `Tabletop`), then for each of SquareNut and RoundNut
    `SquareNut_to_robot0_eef_pos` (m) and `SquareNut_to_robot0_eef_quat` (x, y, z, w), its pose in
    the frame at the tool with the axes of the link that carries the hand, `SquareNut_pos` and
    `SquareNut_quat`. With one nut, its entries alone; if it is drawn, they begin with "nut", and
    `nut_id` is 0 for the square one, 1 for the round one.

    Reward: 1 in `placed` for each nut on its peg (within 3 cm of it along x and y, less than 5 cm
    above the table) with the tool more than 4.2 cm away; and the largest of four stages on the way
    with the others. `reach` pays 0.1 (1 - tanh(10 d)) for a distance of d (m) between tool and
    handle; `grasp` 0.35 for fingers on both sides; `lift`, while grasped, 0.35 to 0.5 up
    to 17.5 cm above the table; `hover` as much as lift and 0.2 (1 - tanh(10 r)) for a distance of
    r (m) from the peg, seen from above. The sum is divided by the number of nuts. Success: all nuts
    are placed.
    """

    nut_type: str = ALL  # "all", "square", "round", or "random" for one drawn per episode
    table_top: tuple[float, float, float] = TABLE_TOP  # m; the pegs stay where they are

    object_names = tuple(EXTENTS)
    kinds = MappingProxyType({"square": "SquareNut", "round": "RoundNut"})
    option, drawn_prefix = "nut_type", "nut"
    lowest = MappingProxyType({"SquareNut": 0.01, "RoundNut": 0.01})

    @property
    def default_placement(self) -> Placement:
        return Several(
            tuple(
                Uniform((name,), AWAY, aside, reference=self.table_top, z_offset=DROP)
                for name, aside in ASIDE.items()
            )
        )

    def furnish(self, scene: Spec) -> None:
        super().furnish(scene)
        pegs = mjcf.load("robosuite/pegs.xml")
        scene.attach(pegs, prefix="peg", frame=scene.worldbody.add_frame())
        for word, name in self.kinds.items():
            nut = mjcf.load(f"robosuite/{word}_nut.xml")
            scene.attach(nut, prefix=f"{name}_", frame=scene.worldbody.add_frame())
            self.watch_grasp(scene, self.body_of(name))

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return EXTENTS

    def goal(self, name: str) -> tuple[float, float]:
        return PEGS[name]

    @property
    def lift_height(self) -> float:
        return self.table_top[2] - self.table_size[2] / 2 + CARRY

    def handle(self, v: View, name: str) -> Array:
        return v.site(f"{name}_handle_site").xpos

    def arrived(self, v: View, name: str) -> Array:
        away = v.xp.abs(self.from_goal(v, name))
        height = v.body(self.body_of(name)).xpos[..., 2] - self.table_top[2]
        return (away[..., 0] < ON_PEG) & (away[..., 1] < ON_PEG) & (height < DOWN)

    def scripted_policy(self) -> StagedPolicy:
        return sorting_objects.sort(self, aligned=True)
