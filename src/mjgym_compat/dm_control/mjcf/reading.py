"""MJCF text, files and archives as trees of elements."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from mjgym.mjcf.size_limits import require_bounded, require_bounded_text
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control.mjcf.elements import Element, RootElement
from mjgym_compat.dm_control.mjcf.grammar import PREFIX_SEPARATOR
from mjgym_compat.dm_control.mjcf.names import UNNAMED
from mjgym_compat.dm_control.mjcf.values import Asset, File, Identifier, Reference

_FOLDERS = {"texture": "texturedir", "mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir"}
_ESCAPED = "\\"


def from_xml_string(
    xml_string: str | bytes,
    escape_separators: bool = False,
    model_dir: str = "",
    resolve_references: bool = True,
    assets: Mapping[str, bytes] | None = None,
) -> RootElement:
    """The model of an MJCF string.

    Args:
        xml_string: the text.
        escape_separators: whether to replace "/" in names, which is reserved for prefixes.
        model_dir: folder of the files that it names.
        resolve_references: whether attributes hold the elements that they name.
        assets: contents of files by name, which are not read then.

    Raises:
        ValueError: the text is not MJCF, or a name holds "/".
        OSError: a file cannot be read.
    """
    xml = _parse(xml_string)
    return _Reader(Path(model_dir), dict(assets or {}), escape_separators).read(
        xml, resolve_references
    )


def from_file(
    file_handle: Any,
    escape_separators: bool = False,
    model_dir: str = "",
    resolve_references: bool = True,
    assets: Mapping[str, bytes] | None = None,
) -> RootElement:
    """The model of an MJCF file, open or by its name; see `from_xml_string`."""
    text = Path(file_handle).read_text() if isinstance(file_handle, str) else file_handle.read()
    return from_xml_string(text, escape_separators, model_dir, resolve_references, assets)


def from_path(
    path: str | Path,
    escape_separators: bool = False,
    resolve_references: bool = True,
    assets: Mapping[str, bytes] | None = None,
) -> RootElement:
    """The model of an MJCF file; see `from_xml_string`."""
    path = Path(path)
    require_bounded(path)
    return from_xml_string(
        path.read_bytes(), escape_separators, str(path.parent), resolve_references, assets
    )


def from_zip(path: Any) -> RootElement:
    """The model of an archive that holds one MJCF file, and the files that it names.

    Raises:
        ValueError: it holds none, or several.
    """
    source = io.BytesIO(path) if isinstance(path, bytes) else path
    with zipfile.ZipFile(source) as archive:
        assets = {Path(name).name: archive.read(name) for name in archive.namelist()}
    models = [name for name in assets if name.endswith(".xml")]
    if len(models) != 1:
        raise ValueError(f"expected one .xml file, got {models}")
    return from_xml_string(assets.pop(models[0]), assets=assets)


def _parse(text: str | bytes) -> Any:
    """An lxml element.

    Raises:
        ValueError: this is not XML, or is too large.
    """
    content = text.encode() if isinstance(text, str) else text
    require_bounded_text(content.decode())
    if b"<!DOCTYPE" in content:
        raise ValueError("the XML has a document type, which no model needs")
    parser = etree.XMLParser(remove_comments=True, remove_pis=True, resolve_entities=False)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"this is not XML: {error}") from None


class _Reader:
    """Reads MJCF.

    Args:
        folder: of the files that it names.
        assets: contents of files by name.
        escape: whether to replace "/" in names.
    """

    def __init__(self, folder: Path, assets: dict[str, bytes], escape: bool) -> None:
        self._folder, self._assets, self._escape = folder, assets, escape

    def read(self, xml: Any, resolve: bool) -> RootElement:
        """The model of an lxml element."""
        if xml.tag != "mujoco":
            raise ValueError(f"root element of the XML should be <mujoco>: got <{xml.tag}>")
        self._include(xml, self._folder)
        root = RootElement(model=self._named(xml.get("model")))
        for compiler in xml.findall("compiler"):
            for name in ("assetdir", "meshdir", "texturedir"):
                if (folder := compiler.attrib.pop(name, None)) is not None:
                    root.compiler.set_attributes(**{name: folder})
        self._dirs = {
            kind: root.compiler._value(name) or root.compiler._value("assetdir") or ""
            for kind, name in _FOLDERS.items()
        }
        root.compiler.set_attributes(assetdir=None, meshdir=None, texturedir=None)
        for part in xml:
            section = getattr(root, part.tag, None)
            if not isinstance(section, Element):
                known = or_else(part.tag, list(root.spec.children))
                raise ValueError(f"<{part.tag}> is not a valid child of <mujoco>{known}")
            self._children(section, part)
        if resolve:
            root.resolve_references()
        return root

    def _include(self, xml: Any, folder: Path) -> None:
        for include in list(xml.iter("include")):
            path = folder / include.get("file")
            text = self._contents(include.get("file"), path)
            inner = _parse(text)
            self._include(inner, path.parent)
            parent = include.getparent()
            place = parent.index(include)
            parent.remove(include)
            for k, child in enumerate(inner):
                parent.insert(place + k, child)

    def _contents(self, name: str, path: Path) -> bytes:
        for key in (name, str(path), Path(name).name):
            if key in self._assets:
                return self._assets[key]
        return path.read_bytes()

    def _named(self, name: str | None) -> str | None:
        return name.replace(PREFIX_SEPARATOR, _ESCAPED) if name and self._escape else name

    def _children(self, element: Element, xml: Any) -> None:
        element.set_attributes(**self._attributes(element, xml))
        for part in xml:
            self._child(element, part)

    def _child(self, parent: Element, xml: Any) -> None:
        spec = parent.spec.children.get(xml.tag)
        if xml.tag == "default" and xml.get("class") == PREFIX_SEPARATOR:  # as models are written
            self._children(parent, xml)
            return
        if spec is not None and not spec.repeated and parent._only(spec) is not None:
            child = getattr(parent, xml.tag)
            self._children(child, xml)
            return
        probe = Element(spec, parent, parent.root) if spec else parent
        child = parent.add(xml.tag, **self._attributes(probe, xml))
        for part in xml:
            self._child(child, part)

    def _attributes(self, element: Element, xml: Any) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        for name, value in xml.attrib.items():
            kind = element.spec.attributes.get(name)
            if name == "class" and value == PREFIX_SEPARATOR:
                continue
            if isinstance(kind, Identifier) and value.startswith(PREFIX_SEPARATOR + UNNAMED):
                continue
            if isinstance(kind, File):
                path = self._folder / self._dirs.get(element.tag, "") / value
                stem = Path(value).stem
                asset = Asset(self._contents(value, path), Path(value).suffix, stem)
                attributes[name] = asset
                if name == "file" and "name" not in xml.attrib and element.tag != "include":
                    attributes.setdefault("name", stem)
            elif isinstance(kind, Identifier | Reference):
                attributes["dclass" if name == "class" else name] = self._named(value)
            else:
                attributes[name] = value
        return attributes
