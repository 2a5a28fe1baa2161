"""dm_control's interfaces for code that builds its own models.

Change `dm_control` to `mjgym_compat.dm_control` in imports, or call
`mjgym_compat.install("dm_control")` before them. dm_control documents arguments and methods; the
docstrings here say what differs.
"""

from mjgym_compat.importing import answer_under_own_name, submodules

# dm_control's module names that differ from those here.
MODULES = {
    "_render": "mujoco.gl",
    "mjcf.base": "mjcf.element",
    "mjcf.export_with_assets_as_zip": "mjcf.export_with_assets",
    "composer.arena": "composer.entity",
    "composer.initializer": "composer.entity",
    "composer.robot": "composer.entity",
    "composer.variation.variation_values": "composer.variation.base",
    "entities.manipulators.kinova.jaco_arm": "entities.manipulators.kinova",
    "entities.manipulators.kinova.jaco_hand": "entities.manipulators.kinova",
    "manipulation.bricks": "manipulation.tasks",
    "manipulation.lift": "manipulation.tasks",
    "manipulation.place": "manipulation.tasks",
    "manipulation.reach": "manipulation.tasks",
    "manipulation.props.primitive": "manipulation.props",
    "manipulation.shared.arenas": "manipulation.shared",
    "manipulation.shared.cameras": "manipulation.shared",
    "manipulation.shared.constants": "manipulation.shared",
    "manipulation.shared.observations": "manipulation.shared",
    "manipulation.shared.robots": "manipulation.shared",
    "manipulation.shared.registry": "manipulation.registry",
    "manipulation.shared.tags": "manipulation",
    "manipulation.shared.workspaces": "manipulation.shared",
    "suite.base": "tasks",
    "mujoco.wrapper.core": "mujoco.wrapper",
    "mujoco.wrapper.mjbindings": "mujoco.bindings",
    "mujoco.wrapper.mjbindings.sizes": "mujoco.bindings",
    "mujoco.wrapper.util": "utils.strings",
}

answer_under_own_name("dm_control")
__getattr__ = submodules(__name__)
