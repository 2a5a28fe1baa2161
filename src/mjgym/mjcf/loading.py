"""Load MJCF, and take the textures out of a model."""

from pathlib import Path

import mujoco

from mjgym.mjcf.assets import asset_path
from mjgym.mjcf.debugging import debugging, remember_file, watch
from mjgym.mjcf.elements import Spec
from mjgym.mjcf.lint.checking import explain


def load(name: str | Path) -> Spec:
    """A spec from MJCF.

    Args:
        name: one of the package's assets ("dmc/walker.xml"), or the path of a file anywhere.

    Raises:
        FileNotFoundError: there is neither; the message names the nearest assets.
        ValueError: the engine refuses the file; the message says what is wrong in it, with file,
            line and the nearest valid words, see `check`.
    """
    watch()
    try:
        file = asset_path(str(name))
    except FileNotFoundError:
        file = Path(name)
        if not file.is_file():
            raise
    try:
        spec = mujoco.MjSpec.from_file(str(file))
    except (ValueError, RuntimeError) as error:
        raise explain(file, error) from None
    if debugging():
        remember_file(spec, file)
    return spec


def without_textures(spec: Spec) -> Spec:
    """A copy of a spec that has no textures: the same physics in a fraction of the memory."""
    bare = spec.copy()
    for material in bare.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(bare.textures):
        bare.delete(texture)
    return bare
