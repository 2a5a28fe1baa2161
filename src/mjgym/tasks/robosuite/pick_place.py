"""Sort groceries from one bin into the quarters of another."""

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mjgym import mjcf
from mjgym.mjcf import Spec
from mjgym.placements import Extent, Placement, Uniform
from mjgym.robots import Arm
from mjgym.robots.staged_policy import StagedPolicy
from mjgym.sim import SingleView, View
from mjgym.task import Array, GoalTask, Viewpoint, register, register_variants, variant
from mjgym.tasks.robosuite.scripted_policies import sorting_objects
from mjgym.tasks.robosuite.sorting import ALL, OVER, RANDOM, TAGS, Sorting

# Extents of the objects at the start. The published bottoms are lower than the objects: they fall
# by up to 5 mm; the can's is half a millimetre lower than published, out of the bin's floor.
EXTENTS = {
    "Milk": Extent(radius=0.025, bottom=-0.085, top=0.075, clearance=0.0281),  # m
    "Bread": Extent(radius=0.03, bottom=-0.045, top=0.03, clearance=0.0313),
    "Cereal": Extent(radius=0.04, bottom=-0.1, top=0.03, clearance=0.0523),
    "Can": Extent(radius=0.025, bottom=-0.0605, top=0.04, clearance=0.0251),
}
WALL = 0.05  # m, margin of objects to the bins' edges
ASIDE = -0.1  # m, the robot along y

# Side of the second bin's centre with each object's quarter, along x and y.
SIDES = {"Milk": (-1, -1), "Bread": (1, -1), "Cereal": (-1, 1), "Can": (1, 1)}
DEPTH = 0.1  # m over the second bin's frame, below which an object is in it
CARRY = 0.25  # m over the second bin's frame, of carried objects
GHOST = 0.3  # opacity of the markers of destinations


def grocery(name: str) -> Spec:
    return mjcf.load(f"robosuite/{name.lower()}.xml")


def ghost(name: str) -> Spec:
    """Build the visual copy of an object at its destination."""
    copy = grocery(name)
    mjcf.remove(copy, "joint", "joint0")
    mjcf.remove(copy, "geom", "g0")
    for material in copy.materials:
        material.rgba = (*material.rgba[:3], GHOST)
    return copy


@register("robosuite/PickPlace-v0", tags=TAGS)
@register_variants(
    "robosuite/PickPlace{}-v0",
    TAGS,
    Single=variant(
        "Put a randomly chosen object into its quarter of the other bin.", object_type=RANDOM
    ),
    Milk=variant("Put the milk into its quarter of the other bin.", object_type="milk"),
    Bread=variant("Put the bread into its quarter of the other bin.", object_type="bread"),
    Cereal=variant("Put the cereal box into its quarter of the other bin.", object_type="cereal"),
    Can=variant("Put the can into its quarter of the other bin.", object_type="can"),
)
@dataclass(frozen=True)
class PickPlace(Sorting, GoalTask):
    """Sort milk, bread, cereal and a can from one bin into the quarters of another.

    Start: the arm near its published pose; the objects anywhere in the first bin, apart from each
    other, turned by any angle about the vertical. With one object, the rest stand far away; it is
    fixed, or drawn for each episode.

    Observation: the robot's entries (see `Tabletop`), then for each of Milk, Bread, Cereal and Can
    `Milk_to_robot0_eef_pos` (m) and `Milk_to_robot0_eef_quat` (x, y, z, w), its pose in the frame
    at the tool with the axes of the link that carries the hand, `Milk_pos` and `Milk_quat`. With
    one object, its entries alone; if it is drawn, they begin with "obj", and `obj_id` is its number
    in that order, from 0.

    Reward: 1 in `placed` for each object in its quarter, below the walls' rim, with the tool more
    than 4.2 cm away; and the largest of four stages on the way with the others. `reach` pays
    0.1 (1 - tanh(10 d)) for a distance of d (m) between tool and object; `grasp` 0.35 for fingers
    on both sides; `lift`, while grasped, 0.35 to 0.5 up to 25 cm above the second bin;
    `hover` as much as lift, or 0.5 above the object's quarter, and 0.2 (1 - tanh(10 r)) for a
    distance of r (m) from its middle, seen from above. The sum is divided by the number of objects.
    Success: all objects are placed.

    Goal: where the objects are (m), all or the one that is drawn, reached while each is in its
    quarter, held or not.

    Objects begin and have their quarters within `bin_size` along x and y; its height does nothing.
    """

    object_type: str = ALL  # or a kind, e.g. "milk"; "random" for one drawn per episode
    bin1_pos: tuple[float, float, float] = (0.1, -0.25, 0.8)  # m, of the first bin's frame
    bin2_pos: tuple[float, float, float] = (0.1, 0.28, 0.8)  # m, of the second's
    bin_size: tuple[float, float, float] = (0.39, 0.49, 0.82)  # m; the bins themselves keep theirs

    viewpoint = Viewpoint(azimuth=150, elevation=-25, distance=1.8, lookat=(0.0, 0.1, 1.0))

    agentview = ((1.0, 0.0, 1.75), (0.653, 0.271, 0.271, 0.653))
    object_names = tuple(EXTENTS)
    kinds = MappingProxyType({name.lower(): name for name in EXTENTS})
    option, drawn_prefix = "object_type", "obj"
    lowest = MappingProxyType({"Milk": 0.0611, "Bread": 0.0233, "Cereal": 0.075, "Can": 0.0403})

    @property
    def default_placement(self) -> Placement:
        x, y = (round(size / 2 - WALL, 9) for size in self.bin_size[:2])
        return Uniform(self.object_names, (-x, x), (-y, y), whole=True, reference=self.bin1_pos)

    def robot_place(self, arm: Arm) -> tuple[float, float]:
        return -arm.bins_distance, ASIDE

    def furnish(self, scene: Spec) -> None:
        bins = mjcf.load("robosuite/bins.xml")
        bins.body("1").pos, bins.body("2").pos = self.bin1_pos, self.bin2_pos
        scene.attach(bins, prefix="bin", frame=scene.worldbody.add_frame())
        for name in self.object_names:
            place = scene.worldbody.add_frame()
            place.pos = (*self.goal(name), self.bin2_pos[2] - EXTENTS[name].bottom)
            scene.attach(ghost(name), prefix=f"Visual{name}_", frame=place)
        for name in self.object_names:
            scene.attach(grocery(name), prefix=f"{name}_", frame=scene.worldbody.add_frame())
            self.watch_grasp(scene, self.body_of(name))

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return EXTENTS

    @property
    def quarter(self) -> tuple[float, float]:
        """Half the sizes of a quarter of the second bin, along x and y, m."""
        return self.bin_size[0] / 4, self.bin_size[1] / 4

    def goal(self, name: str) -> tuple[float, float]:
        (x, y, _), (side_x, side_y) = self.bin2_pos, SIDES[name]
        return x + side_x * self.quarter[0], y + side_y * self.quarter[1]

    @property
    def lift_height(self) -> float:
        return self.bin2_pos[2] + CARRY

    def over_quarter(self, v: View, name: str) -> Array:
        away = v.xp.abs(self.from_goal(v, name))
        return (away[..., 0] < self.quarter[0]) & (away[..., 1] < self.quarter[1])

    def arrived(self, v: View, name: str) -> Array:
        height = v.body(self.body_of(name)).xpos[..., 2] - self.bin2_pos[2]
        return self.over_quarter(v, name) & (height > 0) & (height < DEPTH)

    def achieved(self, v: View) -> Array:
        return self._of_chosen(v, {n: v.body(self.body_of(n)).xpos for n in self.object_names})

    def desired(self, v: View) -> Array:
        xp, middle = v.xp, self.bin2_pos[2] + DEPTH / 2
        places = {name: (*self.goal(name), middle) for name in self.object_names}
        return self._of_chosen(
            v,
            {
                name: xp.broadcast_to(xp.asarray(place, dtype=xp.float64), (*v.lead, 3))
                for name, place in places.items()
            },
        )

    def _of_chosen(self, v: View, places: Mapping[str, Array]) -> Array:
        """Positions of the objects to put away, one after the other, (..., 3 k) m."""
        if self.choice == ALL:
            return v.xp.concat(list(places.values()), axis=-1)
        if self.choice != RANDOM:
            return places[self.kinds[self.choice]]
        chosen, *others = places.values()
        for i, place in enumerate(others, start=1):
            chosen = v.xp.where(v.memory["object"][..., None] == i, place, chosen)
        return chosen

    def reached(self, achieved: Array, desired: Array) -> Array:
        within = (*self.quarter, DEPTH / 2) * (achieved.shape[-1] // 3)
        away = abs(achieved - desired)
        return functools.reduce(
            operator.and_, (away[..., i] < size for i, size in enumerate(within))
        )

    def carried(self, v: View, name: str, lift: Array) -> Array:
        return v.xp.where(self.over_quarter(v, name), v.xp.full_like(lift, OVER), lift)

    def scripted_policy(self) -> StagedPolicy:
        return sorting_objects.sort(self, aligned=False)
