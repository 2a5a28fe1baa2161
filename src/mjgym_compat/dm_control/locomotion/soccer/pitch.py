"""Pitches: a field with two goals between walls."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mjgym.tasks.locomotion.soccer.pitch import BOX_ONLY, COLOURS, LID, MARGIN, POSTS, SIDES
from mjgym.tasks.locomotion.soccer.pitch import Pitch as Ground
from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.composer import variation
from mjgym_compat.dm_control.composer.variation.distributions import Uniform
from mjgym_compat.dm_control.entities.props import PositionDetector
from mjgym_compat.dm_control.locomotion.arenas import looks
from mjgym_compat.dm_control.locomotion.models import read
from mjgym_compat.dm_control.locomotion.soccer.team import Team

MINI_FOOTBALL_GOAL_SIZE = (0.61, 1.83, 0.61)  # m, half of a goal of humanoids
MINI_FOOTBALL_MIN_AREA_PER_HUMANOID = 100.0  # m^2
MINI_FOOTBALL_MAX_AREA_PER_HUMANOID = 350.0  # m^2
WALLS = {"wall_right": (1, -1), "wall_left": (1, 1), "wall_home": (0, -1), "wall_away": (0, 1)}


class Goal(PositionDetector):
    """A goal that notices the ball in it."""

    _posts: Sequence[mjcf.Element] = ()

    def _build(self, direction: int, rgba: Any = (1, 1, 1, 1), **kwargs: Any) -> None:
        super()._build(visible=False, retain_substep_detections=True, **kwargs)
        self._direction = direction
        self._posts = [
            self._mjcf_root.worldbody.add(
                "geom", name=name, type="capsule", size=(0.1,), fromto=(0, 0, 0, 0, 0, 1), rgba=rgba
            )
            for name in POSTS
        ]

    def place_posts(self, ends: np.ndarray, radii: np.ndarray) -> None:
        for post, fromto, radius in zip(self._posts, ends, radii, strict=True):
            post.fromto, post.size = fromto.ravel(), (radius,)


class Pitch(looks.Place):
    """A field with two goals between four walls without end.

    Args:
        field_box_offset: m, between the field and those walls; only 0 is supported.
        hoarding_color_scheme_id: not used: there are no hoardings.
    """

    def _build(
        self,
        size: Any = (12, 9),
        goal_size: Any = None,
        top_camera_distance: float = 95.0,
        field_box: bool = False,
        field_box_offset: float = 0.0,
        hoarding_color_scheme_id: int = 0,
        name: str = "pitch",
    ) -> None:
        if field_box_offset:
            raise ValueError("field_box_offset: only 0 is supported")
        self._mjcf_root = read("soccer/pitch.xml", name)
        for kind, what in (("body", "ball"), ("material", "ball"), ("texture", "ball")):
            self._mjcf_root.find(kind, what).remove()
        self.ground_geom = self._mjcf_root.find("geom", "ground")
        self._camera = self._mjcf_root.worldbody.add(
            "camera", name="top_down", pos=(0, 0, top_camera_distance), fovy=45
        )
        self._facts = Ground(goal=None if goal_size is None else tuple(goal_size), box=field_box)
        self._goals = {
            team: Goal(
                int(-side), (*colour, 1.0), pos=(side, 0, 1), size=(1, 1, 1),
                name=f"{team.name.lower()}_goal",
            )
            for team, side, colour in zip(Team, SIDES, COLOURS, strict=True)
        }  # fmt: skip
        self.field = PositionDetector(
            pos=(0, 0), size=(1, 1), inverted=True, visible=False, name="field"
        )
        for entity in (*self._goals.values(), self.field):
            self.attach(entity)
        self._box: dict[str, mjcf.Element] = {}
        self.resize(size)

    def resize(self, size: Any) -> None:
        self.size = size
        along, across = (float(half) for half in size)
        facts, half = self._facts, (along, across)
        self.ground_geom.size = (*facts.field(half), 0.4)
        self._mjcf_root.find("geom", "surroundings").size = (1.15 * along, 1.15 * across, 0.4)
        for wall, (axis, sign) in WALLS.items():
            place = np.zeros(3)
            place[axis] = sign * half[axis]
            self._mjcf_root.find("geom", wall).pos = place
        for goal, side in zip(self._goals.values(), SIDES, strict=True):
            goal.resize(tuple(facts.goal_place(half, side)), tuple(facts.goal_size(half)))
            goal.place_posts(*facts.posts(half, side))
        self.field.resize((0, 0), tuple(facts.field(half)))
        seen = np.arctan2(MARGIN * max(half), float(self._camera.pos[2]))
        self._camera.fovy = 2 * np.degrees(seen)
        if facts.box:
            self._place_box(half)

    def _place_box(self, half: tuple[float, float]) -> None:
        look = {"contype": BOX_ONLY, "conaffinity": 0, "rgba": (1, 1, 1, 0.08)}
        for name, (place, size) in self._facts.box_walls(half).items():
            if name not in self._box:
                self._box[name] = self._mjcf_root.worldbody.add(
                    "geom", name=name, type="box", size=size, **look
                )
            self._box[name].set_attributes(pos=place, size=size)
        if "lid" not in self._box:
            self._box["lid"] = self._mjcf_root.worldbody.add(
                "geom", name="box_lid", type="plane", pos=(0, 0, LID), zaxis=(0, 0, -1),
                size=(1e-7,) * 3, **look,
            )  # fmt: skip

    def register_ball(self, ball: Any) -> None:
        for detector in (*self._goals.values(), self.field):
            detector.register_entities(ball)
        if self._box:
            ball.geom.conaffinity = 1 | BOX_ONLY

    def detected_goal(self) -> Team | None:
        if self.home_goal.detected_entities:
            return Team.AWAY
        return Team.HOME if self.away_goal.detected_entities else None

    def detected_off_court(self) -> list[Any]:
        return self.field.detected_entities

    @property
    def home_goal(self) -> Goal:
        return self._goals[Team.HOME]

    @property
    def away_goal(self) -> Goal:
        return self._goals[Team.AWAY]

    @property
    def ground_geoms(self) -> tuple[mjcf.Element, ...]:
        return (self.ground_geom,)


class RandomizedPitch(Pitch):
    """A pitch with a size drawn for each match."""

    def _build(
        self,
        min_size: Any,
        max_size: Any,
        randomizer: Any = None,
        keep_aspect_ratio: bool = False,
        name: str = "randomized_pitch",
        **kwargs: Any,
    ) -> None:
        self._between = np.array(min_size, float), np.array(max_size, float)
        self._share = randomizer or Uniform()
        self._keeps = keep_aspect_ratio
        super()._build(size=max_size, name=name, **kwargs)

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        draws = 1 if self._keeps else 2
        share = [variation.evaluate(self._share, random_state=random_state) for _ in range(draws)]
        low, high = self._between
        self.resize(tuple((low + np.array(share) * (high - low)).tolist()))
