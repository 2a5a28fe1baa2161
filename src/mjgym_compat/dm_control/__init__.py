"""dm_control's interfaces for code that builds its own models.

Change `dm_control` to `mjgym_compat.dm_control` in imports, or call
`mjgym_compat.install("dm_control")` before them.
"""

from mjgym_compat.importing import answer_under_own_name, submodules

# dm_control's module names that differ from those here.
MODULES = {
    "mjcf.base": "mjcf.element",
    "mjcf.export_with_assets_as_zip": "mjcf.export_with_assets",
    "composer.arena": "composer.entity",
    "composer.define": "composer.observation.observable",
    "composer.initializer": "composer.entity",
    "composer.robot": "composer.entity",
    "composer.observation.observable.base": "composer.observation.observable",
    "composer.observation.observable.mjcf": "composer.observation.observable",
    "composer.variation.variation_values": "composer.variation.base",
    "mujoco.wrapper.core": "mujoco.wrapper",
}

answer_under_own_name("dm_control")
__getattr__ = submodules(__name__)
