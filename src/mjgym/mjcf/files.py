"""Files that a model holds in memory, under names that cannot be mistaken for others'."""

import hashlib
import posixpath

from mjgym.mjcf.elements import Spec

_DIRECTORIES = (("meshes", "meshdir"), ("hfields", "meshdir"), ("textures", "texturedir"))


def name_by_content(spec: Spec) -> None:
    """Rename the files in `spec.assets`, and all that refers to them, by what is in them.

    The engine looks for a file in memory under its path and, if there is none, under its last name
    in any folder, before it looks on the disk. Two models that are put together may both have a
    "part.obj", in different folders or one of them on the disk; then one gets the other's. A name
    that follows from the content ("part-3f2a91c0.obj") means the same thing everywhere.
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
    """Empty `spec.assets`, and give what was in it."""
    files = dict(spec.assets)
    if files:
        replace(spec, {})
    return files


def replace(spec: Spec, files: dict[str, bytes]) -> None:
    """Give a model other files."""
    assets = spec.assets  # a live dict; assigning one adds to it
    assets.clear()
    assets.update(files)


def _renamed(files: dict[str, bytes], named: dict[str, bytes], folder: str, file: str) -> str:
    """The new name of a file, which `named` then has where the engine looks for it."""
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
