"""Balls that note who hits them."""

from typing import Any

import numpy as np

from mjgym_compat.dm_control.entities.props.primitive import Primitive
from mjgym_compat.dm_control.locomotion.soccer.team import Player

CAMERAS = {"ball_cam_near": 2, "ball_cam": 7, "ball_cam_far": 10}  # m, behind and above
REGULATION = {"radius": 0.117, "mass": 0.45, "friction": (0.7, 0.05, 0.04), "damp_ratio": 0.4}


class SoccerBall(Primitive):
    """A ball; by default as large and as light as a beach ball.

    Attributes:
        hit: whether a player hit it in this control step.
        repossessed: whether that was not the player who had hit it before.
        intercepted: whether that was a player of the other team.
        dist_between_last_hits: distance between the places of the last two hits, m; None before.
    """

    def _build(
        self,
        radius: float = 0.35,
        mass: float = 0.045,
        friction: Any = (0.7, 0.075, 0.075),
        damp_ratio: float = 1.0,
        name: str = "soccer_ball",
    ) -> None:
        if damp_ratio < 0:
            raise ValueError(f"Invalid `damp_ratio`: expected at least 0, got {damp_ratio}")
        super()._build(
            "sphere", (radius,), name=name, condim=6, priority=1, mass=mass, friction=friction,
            solref=(0.02, damp_ratio), pos=(0, 0, radius),
        )  # fmt: skip
        texture = self._mjcf_root.asset.add(
            "texture", name="ball", type="cube", builtin="checker", rgb1=(1, 1, 1),
            rgb2=(0.15, 0.15, 0.2), width=100, height=100,
        )  # fmt: skip
        self.geom.material = self._mjcf_root.asset.add("material", name="ball", texture=texture)
        for camera, away in CAMERAS.items():
            self._mjcf_root.worldbody.add(
                "camera", name=camera, mode="trackcom", pos=(0, -away, away), zaxis=(0, -1, 1),
                fovy=70,
            )  # fmt: skip
        self._players: list[Player] = []
        self._owners: dict[int, Player] = {}
        self.initialize_entity_trackers()

    def register_player(self, player: Player) -> None:
        self._players.append(player)

    def initialize_entity_trackers(self) -> None:
        self.last_hit: Player | None = None
        self._hitter: Player | None = None
        self._place: np.ndarray | None = None
        self.dist_between_last_hits: float | None = None
        self._clear()

    def _clear(self) -> None:
        self.hit = self.repossessed = self.intercepted = False
        self._hitter = None

    def initialize_episode(self, physics: Any, random_state: Any) -> None:
        self._id = physics.bind(self.geom).element_id
        self._owners = {
            int(number): player
            for player in self._players
            for number in np.ravel(
                physics.bind(player.walker.mjcf_model.find_all("geom")).element_id
            )
        }
        self.initialize_entity_trackers()

    def before_step(self, physics: Any, random_state: Any) -> None:
        self._clear()

    def after_substep(self, physics: Any, random_state: Any) -> None:
        if self._hitter is not None or not physics.data.ncon:
            return
        geoms = physics.data.contact.geom
        others = geoms[(geoms == self._id)[:, ::-1]]
        hits = [self._owners[int(geom)] for geom in others if int(geom) in self._owners]
        self._hitter = hits[0] if hits else None

    def after_step(self, physics: Any, random_state: Any) -> None:
        player, last = self._hitter, self.last_hit
        if player is None:
            return
        place = np.array(physics.bind(self.geom).xpos)
        if self._place is not None:
            self.dist_between_last_hits = float(np.linalg.norm(place - self._place))
        self._place = place
        self.hit = True
        self.repossessed = last is not player
        self.intercepted = last is None or last.team is not player.team
        self.last_hit = player


def regulation_soccer_ball() -> SoccerBall:
    """A ball with the size and mass of a football."""
    return SoccerBall(**REGULATION)  # type: ignore[arg-type]
