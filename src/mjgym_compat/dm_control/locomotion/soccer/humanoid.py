"""The humanoid as a football player."""

import enum
from typing import Any

from mjgym.tasks.locomotion.walkers import find_walker
from mjgym_compat.dm_control.locomotion.soccer.team import INVALID_WALKER_ID, require_number
from mjgym_compat.dm_control.locomotion.walkers import CMUHumanoidPositionControlled

_INVALID_WALKER_ID = INVALID_WALKER_ID


class Humanoid(CMUHumanoidPositionControlled):
    """The humanoid of 2019 with servos, in the colour of its team.

    Args:
        walker_id: its number, from 0 to 10; not drawn.
    """

    class Visual(enum.Enum):
        """Looks: bare arms in the team's colour, or a jersey."""

        GEOM = 1
        SKIN = 2
        JERSEY = 3

    def _build(
        self,
        visual: "Humanoid.Visual",
        marker_rgba: Any,
        walker_id: int | None = None,
        initializer: Any = None,
        name: str = "walker",
    ) -> None:
        require_number(walker_id)
        if visual is not Humanoid.Visual.GEOM:
            self.markers = find_walker("soccer_humanoid").jersey
        super()._build(
            name=name, marker_rgba=marker_rgba, include_face=True, initializer=initializer
        )
