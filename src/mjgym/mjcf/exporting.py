"""Export of a model with all its files to a folder that plain MuJoCo can load."""

import copy
import posixpath
import re
import shutil
import tempfile
import zipfile
from pathlib import Path

import mujoco
import numpy as np

from mjgym.mjcf import files
from mjgym.mjcf.debugging import compile as compile_spec
from mjgym.mjcf.debugging import watch
from mjgym.mjcf.elements import Element, Spec
from mjgym.sim.engine import quiet
from mjgym.util import atomic

_FOLDER = "assets"
_WITH_FILES = ("mesh", "hfield", "texture", "skin")

# Compiler settings that each attached model has for itself but a file has only once, with values
# that leave a body with explicit inertia unchanged.
_SETTINGS = {
    "inertiafromgeom": mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO,
    "boundmass": 0.0,
    "boundinertia": 0.0,
    "balanceinertia": False,
    "alignfree": False,
    "inertiagrouprange": [0, 5],
}

# Fields about file locations and compilation, not about the model.
_NOT_THE_MODEL = frozenset({"paths", "npaths", "signature", "buffer", "nbuffer"})


def export(spec: Spec, folder: str | Path) -> Path:
    """Write a model to a folder: "<model name>.xml" and the files it needs in "assets".

    Files come from the disk or from `spec.assets`, from the folders of each attached model. The XML
    holds every number exactly. The export is loaded with `mujoco.MjModel.from_xml_path` and
    compared, field by field, with the compiled spec.

    Args:
        folder: new or empty; created if missing.

    Returns:
        The path of the XML file.

    Raises:
        FileExistsError: the folder is not empty.
        TypeError: the model is no MjSpec.
        CompileError: the model does not compile.
        ValueError: MJCF cannot express the whole spec; the message names the fields that would
            differ.
        OSError: the folder cannot be written to, or the disk is full.

    After an error the folder is unchanged.
    """
    watch()
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"export: {folder} exists and is not an empty folder")
    model = compile_spec(spec)
    with tempfile.TemporaryDirectory() as scratch:
        archive, staged = Path(scratch) / "model.mjz", Path(scratch) / "model"
        _encode(spec, archive)
        name = re.sub(r"[^\w.-]+", "_", spec.modelname) or "model"
        written = _unpack(archive, staged, f"{name}.xml")
        lost = differing(model, mujoco.MjModel.from_xml_path(str(written)))
        if lost:
            raise ValueError(
                f"export: MJCF cannot say all of model {spec.modelname!r}; what it says differs in"
                f" {', '.join(lost)}"
            )
        with atomic.filling(folder) as part:
            shutil.copytree(staged, part, dirs_exist_ok=True)
    return folder / f"{name}.xml"


def _encode(spec: Spec, archive: Path) -> None:
    bare = spec.copy()
    files.name_by_content(bare)
    bare.compiler.savecompiled = False
    with quiet():
        bare.compile()
        try:
            bare.encode(str(archive))
        except mujoco.FatalError:
            # It combines models with different compiler settings, which a file can hold only once.
            _encode_inertias(bare, archive)


def _encode_inertias(spec: Spec, archive: Path) -> None:
    aligns = [
        joint.compiler.alignfree
        if joint.align == mujoco.mjtAlignFree.mjALIGNFREE_AUTO
        else joint.align == mujoco.mjtAlignFree.mjALIGNFREE_TRUE
        for joint in spec.joints
    ]
    for joint in spec.joints:
        joint.align = mujoco.mjtAlignFree.mjALIGNFREE_FALSE  # inertias in body frames
    compiled = spec.compile()
    for joint, align in zip(spec.joints, aligns, strict=True):
        joint.align = mujoco.mjtAlignFree(int(align))
    for body in spec.bodies[1:]:
        i = body.id
        body.explicitinertial = True
        body.mass = compiled.body_mass[i]
        body.inertia = compiled.body_inertia[i]
        body.fullinertia = np.full(6, np.nan)
        body.ipos = compiled.body_ipos[i]
        body.iquat = compiled.body_iquat[i]
        body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
    # A copy shares the settings of attached models with its original: restore them.
    compilers = {id(part.compiler): part.compiler for part in (spec.worldbody, *spec.bodies)}
    before = {
        key: {name: copy.copy(getattr(compiler, name)) for name in _SETTINGS}
        for key, compiler in compilers.items()
    }
    try:
        for compiler in compilers.values():
            for name, value in _SETTINGS.items():
                setattr(compiler, name, value)
        spec.to_xml()  # raises with the reason
        spec.encode(str(archive))
    finally:
        for key, compiler in compilers.items():
            for name, value in before[key].items():
                setattr(compiler, name, value)


def _unpack(archive: Path, folder: Path, name: str) -> Path:
    """Unpack the engine's archive: the XML on top, all other files in one folder beside it."""
    from xml.etree import ElementTree

    with zipfile.ZipFile(archive) as packed:
        root = ElementTree.fromstring(packed.read("model.xml"))
        compiler = root.find("compiler")
        if compiler is not None:
            for directory in ("meshdir", "texturedir", "assetdir", "strippath"):
                compiler.attrib.pop(directory, None)
        (folder / _FOLDER).mkdir(parents=True)
        names: dict[str, str] = {}
        for element in root.iter():
            for attribute, file in list(element.attrib.items()):
                if not (element.tag in _WITH_FILES and attribute.startswith("file")):
                    continue
                if file not in names:
                    names[file] = _free(posixpath.basename(file), set(names.values()))
                    content = packed.read(posixpath.normpath(file))
                    (folder / _FOLDER / names[file]).write_bytes(content)
                element.set(attribute, f"{_FOLDER}/{names[file]}")
    written = folder / name
    written.write_bytes(ElementTree.tostring(root))
    if not names:
        (folder / _FOLDER).rmdir()
    return written


def _free(name: str, taken: set[str]) -> str:
    stem, extension = posixpath.splitext(name)
    number = 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}{extension}"
    return name


def differing(ours: Element, other: Element, prefix: str = "") -> list[str]:
    """List the names of the numbers and arrays in which two models differ, except file paths."""
    names = []
    for name in dir(ours):
        if name.startswith("_") or name in _NOT_THE_MODEL or name.endswith("_pathadr"):
            continue
        a, b = getattr(ours, name), getattr(other, name)
        if name in ("opt", "vis", "stat") or (prefix and type(a).__module__.startswith("mujoco")):
            names += differing(a, b, f"{prefix}{name}.")
        elif isinstance(a, bytes):
            names += [prefix + name] * (a != b)
        elif isinstance(a, int | float | np.ndarray):
            names += [prefix + name] * (not np.array_equal(a, b, equal_nan=True))
    return names
