"""Models of robots and their mounts."""

from dataclasses import dataclass, field

from mjgym_compat.robosuite.models.objects import MujocoModel


@dataclass(frozen=True, eq=False)
class RobotModel(MujocoModel):
    """A robot without its hands.

    Args:
        eef_name: the body that carries each arm's hand.
        cameras: attached to it.
        actuators: of its arms.
        models: its base, then its grippers.
    """

    eef_name: dict[str, str] = field(default_factory=dict)
    cameras: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    models: tuple[MujocoModel, ...] = ()

    @property
    def arm_type(self) -> str:
        """ "single" or "bimanual", by its number of arms."""
        return "bimanual" if len(self.eef_name) > 1 else "single"
