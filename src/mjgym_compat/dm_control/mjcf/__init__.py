"""The interface of PyMJCF: models as trees of elements that can be attached to each other.

from mjgym_compat.dm_control import mjcf

leg = mjcf.RootElement(model="leg")
thigh = leg.worldbody.add("body", name="thigh")
hip = thigh.add("joint", type="hinge", axis=[0, 1, 0])
thigh.add("geom", type="capsule", fromto=[0, 0, 0, 0, 0, -0.3], size=[0.03])
body = mjcf.RootElement(model="body")
body.attach(leg)
physics = mjcf.Physics.from_mjcf_model(body)
physics.bind(hip).qpos = 0.3
"""

from mjgym_compat.dm_control.mjcf.attribute import Asset
from mjgym_compat.dm_control.mjcf.constants import PREFIX_SEPARATOR
from mjgym_compat.dm_control.mjcf.element import Element, RootElement
from mjgym_compat.dm_control.mjcf.export_with_assets import (
    export_with_assets,
    export_with_assets_as_zip,
)
from mjgym_compat.dm_control.mjcf.parser import from_file, from_path, from_xml_string, from_zip
from mjgym_compat.dm_control.mjcf.physics import Physics
from mjgym_compat.dm_control.mjcf.traversal_utils import (
    commit_defaults,
    get_attachment_frame,
    get_frame_freejoint,
    get_frame_joints,
    get_freejoint,
)

__all__ = [
    "PREFIX_SEPARATOR",
    "Asset",
    "Element",
    "Physics",
    "RootElement",
    "commit_defaults",
    "export_with_assets",
    "export_with_assets_as_zip",
    "from_file",
    "from_path",
    "from_xml_string",
    "from_zip",
    "get_attachment_frame",
    "get_frame_freejoint",
    "get_frame_joints",
    "get_freejoint",
]
