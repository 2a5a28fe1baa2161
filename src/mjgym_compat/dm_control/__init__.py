"""dm_control's interfaces for code that builds its own models.

Change `dm_control` to `mjgym_compat.dm_control` in imports, or call
`mjgym_compat.install("dm_control")` before them.
"""

from mjgym_compat.importing import answer_under_own_name, submodules

# dm_control's module names that differ from those here.
MODULES = {
    "mjcf.attribute": "mjcf.values",
    "mjcf.constants": "mjcf.grammar",
    "mjcf.element": "mjcf.elements",
    "mjcf.namescope": "mjcf.names",
    "mjcf.parser": "mjcf.reading",
    "mjcf.physics": "mjcf.binding",
    "mjcf.schema": "mjcf.grammar",
    "mjcf.traversal_utils": "mjcf.frames",
    "composer.arena": "composer.entities",
    "composer.define": "composer.sensing",
    "composer.entity": "composer.entities",
    "composer.environment": "composer.environments",
    "composer.observation": "composer.updating",
    "composer.observation.observable": "composer.sensing",
    "composer.observation.observable.base": "composer.sensing",
    "composer.observation.observable.mjcf": "composer.sensing",
    "composer.observation.updater": "composer.updating",
    "composer.robot": "composer.entities",
    "composer.task": "composer.tasks",
    "composer.variation": "composer.variations",
    "composer.variation.base": "composer.variations",
    "composer.variation.deterministic": "composer.variations",
    "composer.variation.distributions": "composer.variations",
    "composer.variation.noises": "composer.variations",
    "composer.variation.variation_broadcaster": "composer.variations",
    "mujoco.wrapper.core": "mujoco.wrapper",
}

answer_under_own_name("dm_control")
__getattr__ = submodules(__name__)
