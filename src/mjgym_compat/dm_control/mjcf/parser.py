"""MJCF text, files and archives as trees of elements."""

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from mjgym.mjcf.size_limits import require_bounded, require_bounded_text
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control.mjcf.attribute import File, Identifier, Reference
from mjgym_compat.dm_control.mjcf.constants import PREFIX_SEPARATOR, PREFIX_SEPARATOR_ESCAPE
from mjgym_compat.dm_control.mjcf.element import Element, RootElement
from mjgym_compat.dm_control.mjcf.namescope import UNNAMED
from mjgym_compat.dm_control.mjcf.schema import ElementSpec

_FOLDERS = ("assetdir", "meshdir", "texturedir")


def from_xml_string(
    xml_string: str | bytes,
    escape_separators: bool = False,
    model_dir: str = "",
    resolve_references: bool = True,
    assets: Mapping[str, bytes] | None = None,
) -> RootElement:
    """The model of an MJCF string."""
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


def from_zip(
    path: Any,
    model_file: str = "model.xml",
    escape_separators: bool = False,
    resolve_references: bool = True,
) -> RootElement:
    """The model of an archive, and the files that it names by their paths from the model's folder.

    Instead of the archive's path its contents will do. `model_file` decides where there are several
    .xml files.
    """
    source = io.BytesIO(path) if isinstance(path, bytes) else path
    if not zipfile.is_zipfile(source):
        raise ValueError(f"{path!r:.80} is no ZIP archive")
    with zipfile.ZipFile(source) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name[-1] != "/"}
    models = [name for name in files if name.endswith(".xml")]
    if len(models) > 1:
        models = [name for name in models if name == model_file]
    if not models:
        raise ValueError(f"the archive has no {model_file!r}; its files are {', '.join(files)}")
    text, folder = files.pop(models[0]), os.path.dirname(models[0])
    assets = {os.path.relpath(name, folder or "."): data for name, data in files.items()}
    return from_xml_string(text, escape_separators, "", resolve_references, assets)


def _parse(text: str | bytes) -> Any:
    """An lxml element."""
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
    """Reads MJCF; `folder` and `assets` hold its files, `escape` replaces "/" in names."""

    def __init__(
        self, folder: Path, assets: dict[str, bytes], escape: bool, inside: tuple[str, ...] = ()
    ) -> None:
        self._folder, self._assets, self._escape = folder, assets, escape
        self._inside = inside  # files that include this one

    def read(self, xml: Any, resolve: bool) -> RootElement:
        if xml.tag != "mujoco":
            raise ValueError(f"root element of the XML should be <mujoco>: got <{xml.tag}>")
        included = [self._included(part, resolve) for part in xml.findall("include")]
        for part in xml.findall("include"):
            xml.remove(part)
        self._inline(xml, self._inside)
        root = RootElement(self._named(xml.get("model")), str(self._folder), self._assets)
        for compiler in xml.findall("compiler"):  # the folders that files are in come first
            root.compiler.set_attributes(
                **{n: compiler.attrib.pop(n) for n in _FOLDERS if n in compiler.attrib}
            )
        for part in xml:
            section = getattr(root, part.tag, None)
            if not isinstance(section, Element):
                known = or_else(part.tag, list(root.spec.children))
                raise ValueError(f"<{part.tag}> is not a valid child of <mujoco>{known}")
            self._children(section, part)
        for model in included:
            root.include_copy(model)
        if resolve:
            root.resolve_references()
        return root

    def _file(self, include: Any, inside: tuple[str, ...]) -> tuple[str, Any]:
        """Name and lxml element of an included file."""
        name = include.get("file")
        if name is None:
            raise ValueError("<include> names no file")
        if name in inside:
            raise ValueError(f"{name} includes itself")
        owner = RootElement(None, str(self._folder), self._assets)
        return name, _parse(owner.read_file(name, ""))

    def _included(self, include: Any, resolve: bool) -> RootElement:
        """The model of an included file, under the including document's settings."""
        name, xml = self._file(include, self._inside)
        folder = self._folder if name in self._assets else (self._folder / name).parent
        inside = (*self._inside, name)
        return _Reader(folder, self._assets, self._escape, inside).read(xml, resolve)

    def _inline(self, xml: Any, inside: tuple[str, ...]) -> None:
        for include in list(xml.iter("include")):
            name, inner = self._file(include, inside)
            self._inline(inner, (*inside, name))
            parent = include.getparent()
            place = parent.index(include)
            parent.remove(include)
            for k, child in enumerate(inner):
                parent.insert(place + k, child)

    def _named(self, name: str | None) -> str | None:
        if name is None or not self._escape:
            return name
        doubled = name.replace(PREFIX_SEPARATOR_ESCAPE, PREFIX_SEPARATOR_ESCAPE * 2)
        return doubled.replace(PREFIX_SEPARATOR, PREFIX_SEPARATOR_ESCAPE)

    def _children(self, element: Element, xml: Any) -> None:
        element.set_attributes(**self._attributes(element.spec, xml))
        for part in xml:
            self._child(element, part)

    def _child(self, parent: Element, xml: Any) -> None:
        spec = parent.spec.children.get(xml.tag)
        written = xml.tag == "default" and xml.get("class") == PREFIX_SEPARATOR  # by PyMJCF
        if written and not self._escape:
            self._children(parent, xml)
            return
        if spec is not None and not spec.repeated and parent._only(spec) is not None:
            child = getattr(parent, xml.tag)
            self._children(child, xml)
            return
        child = parent.add(xml.tag, **self._attributes(spec or parent.spec, xml))
        for part in xml:
            self._child(child, part)

    def _attributes(self, spec: ElementSpec, xml: Any) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        for name, value in xml.attrib.items():
            kind = spec.attributes.get(name)
            unnamed = isinstance(kind, Identifier) and value.startswith(PREFIX_SEPARATOR + UNNAMED)
            if not self._escape and (unnamed or (name, value) == ("class", PREFIX_SEPARATOR)):
                continue
            if isinstance(kind, Identifier | Reference):
                attributes["dclass" if name == "class" else name] = self._named(value)
            else:
                attributes[name] = value
            if isinstance(kind, File) and name == "file" and "name" not in xml.attrib:
                attributes.setdefault("name", Path(value).stem)
        return attributes
