"""robosuite's interface over the tabletop tasks of this package.

`import mjgym_compat.robosuite as suite` and `suite.make("Lift", robots="Panda", ...)`: code
written for robosuite 1.5 runs unchanged. As there, observations include images unless
`use_camera_obs=False`, upside down unless `macros.IMAGE_CONVENTION` is "opencv".
"""

from mjgym_compat.robosuite.controllers import (
    ALL_COMPOSITE_CONTROLLERS,
    ALL_PART_CONTROLLERS,
    load_composite_controller_config,
    load_part_controller_config,
    refactor_composite_controller_config,
)
from mjgym_compat.robosuite.environments import ALL_ENVIRONMENTS, RobosuiteEnv
from mjgym_compat.robosuite.environments.base import make
from mjgym_compat.robosuite.models.grippers import ALL_GRIPPERS
from mjgym_compat.robosuite.robots import ALL_ROBOTS, Robot
from mjgym_compat.robosuite.utils.placement_samplers import (
    ObjectPositionSampler,
    SequentialCompositeSampler,
    UniformRandomSampler,
)

__all__ = [
    "ALL_COMPOSITE_CONTROLLERS",
    "ALL_ENVIRONMENTS",
    "ALL_GRIPPERS",
    "ALL_PART_CONTROLLERS",
    "ALL_ROBOTS",
    "ObjectPositionSampler",
    "RobosuiteEnv",
    "Robot",
    "SequentialCompositeSampler",
    "UniformRandomSampler",
    "load_composite_controller_config",
    "load_part_controller_config",
    "make",
    "refactor_composite_controller_config",
]
