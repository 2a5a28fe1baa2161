"""Files that a model holds in memory, under names that cannot clash."""

import hashlib
import posixpath

from mjgym.mjcf.elements import Spec

_DIRECTORIES = (("meshes", "meshdir"), ("hfields", "meshdir"), ("textures", "texturedir"))


def name_by_content(spec: Spec) -> None:
    """Rename the files in `spec.assets`, and references to them, by a hash of their content.

    The engine looks for a file in memory by its path, then by its base name in any folder, then on
    the disk. So of two models with a "part.obj", one would get the other's. A name derived from the
    content ("part-3f2a91c0.obj") is unique.
    """
    files: dict[str, bytes] = dict(spec.assets)
    if not files:
        return
    named: dict[str, bytes] = {}
    for plural, directory in _DIRECTORIES:
        for element in getattr(spec, plural):
            folder = getattr(element.compiler, directory)
            if element.file:
                element.file = _renamed(files, named, folder, element.file)
            if plural == "textures" and any(element.cubefiles):
                element.cubefiles = [
                    _renamed(files, named, folder, file) if file else ""
                    for file in element.cubefiles
                ]
    for skin in spec.skins:
        if skin.file:
            skin.file = _renamed(files, named, "", skin.file)
    replace(spec, named)


def take(spec: Spec) -> dict[str, bytes]:
    """Empty `spec.assets` and return its files, named by their content."""
    name_by_content(spec)
    files = dict(spec.assets)
    if files:
        replace(spec, {})
    return files


def replace(spec: Spec, files: dict[str, bytes]) -> None:
    """Replace the files of a model."""
    assets = spec.assets  # a live dict; assigning one adds to it
    assets.clear()
    assets.update(files)


def _renamed(files: dict[str, bytes], named: dict[str, bytes], folder: str, file: str) -> str:
    """The new name of a file, added to `named` at the path where the engine looks for it."""
    content = _content(files, folder, file)
    if content is None:  # it is on the disk
        return file
    stem, extension = posixpath.splitext(posixpath.basename(file))
    digest = hashlib.sha256(content).hexdigest()[:8]
    new = f"{stem.removesuffix('-' + digest)}-{digest}{extension}"
    named[posixpath.join(folder, new)] = content
    return new


def _content(files: dict[str, bytes], folder: str, file: str) -> bytes | None:
    whole = posixpath.normpath(posixpath.join(folder, file))
    by_path = {posixpath.normpath(name): content for name, content in files.items()}
    if whole in by_path:
        return by_path[whole]
    last = posixpath.basename(file)
    return next((c for name, c in by_path.items() if posixpath.basename(name) == last), None)
