"""Published selections of clips by name."""

from mjgym.mocap import subsets
from mjgym_compat.dm_control.locomotion.tasks.reference_pose.types import ClipCollection

DATASETS = {name: ClipCollection(ids=ids) for name, ids in subsets().items()}
