"""Props: things that robots move, and places that notice them."""

from mjgym_compat.dm_control.entities.props.duplo import Duplo
from mjgym_compat.dm_control.entities.props.position_detector import PositionDetector
from mjgym_compat.dm_control.entities.props.primitive import Primitive

__all__ = ["Duplo", "PositionDetector", "Primitive"]
