"""robosuite's `make` over the tabletop tasks of this package.

`import mjgym_compat.robosuite as suite` and `suite.make("Lift", robots="Panda", ...)`: an
environment with the arguments, entries and loop of robosuite 1.5, whose resets take milliseconds.
What else robosuite has (models, controllers, environments of one's own) runs on the published
package, see `mjgym_compat.install`. As there, observations include images unless
`use_camera_obs=False`, upside down unless `macros.IMAGE_CONVENTION` is "opencv".
"""

from mjgym.robots import hands
from mjgym_compat.robosuite.controllers import (
    ALL_COMPOSITE_CONTROLLERS,
    ALL_PART_CONTROLLERS,
    load_composite_controller_config,
    load_part_controller_config,
    refactor_composite_controller_config,
)
from mjgym_compat.robosuite.environment import ENVIRONMENTS, make
from mjgym_compat.robosuite.robots import ALL_ROBOTS

__version__ = "1.5.2"  # whose interface this is; programs write it into demonstrations
ALL_ENVIRONMENTS = tuple(ENVIRONMENTS)
ALL_GRIPPERS = tuple(hands.names())

__all__ = [
    "ALL_COMPOSITE_CONTROLLERS",
    "ALL_ENVIRONMENTS",
    "ALL_GRIPPERS",
    "ALL_PART_CONTROLLERS",
    "ALL_ROBOTS",
    "load_composite_controller_config",
    "load_part_controller_config",
    "make",
    "refactor_composite_controller_config",
]
