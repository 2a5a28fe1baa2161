"""Trees of MJCF elements; models can be attached to each other."""

import copy
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from lxml import etree

from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control.mjcf.attribute import BasePath, File, Identifier, Memory, Reference
from mjgym_compat.dm_control.mjcf.constants import PREFIX_SEPARATOR
from mjgym_compat.dm_control.mjcf.namescope import UNNAMED as UNNAMED_PREFIX
from mjgym_compat.dm_control.mjcf.namescope import NameScope
from mjgym_compat.dm_control.mjcf.schema import ElementSpec, collect_namespaces, frame_spec, schema

UNNAMED = "unnamed_model"
_ORDERED = ("spatial", "fixed")  # whose children have an order
_ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_SEPARATE = ("worldbody", "default", "asset")  # sections that models do not share
_EITHER = ("visual", "statistic")  # sections where the values of the outer model stand


class Element:
    """An element of a model; its attributes and children are attributes of this object."""

    spec: ElementSpec
    tag: str
    parent: "Element | None"
    root: "RootElement"
    namescope: NameScope
    is_removed: bool
    _values: dict[str, Any]
    _children: "list[Element]"
    _single: "dict[str, Element]"

    def __init__(self, spec: ElementSpec, parent: "Element | None", root: "RootElement") -> None:
        self.__dict__.update(
            spec=spec, tag=spec.name, parent=parent, root=root, namescope=root.namescope,
            is_removed=False, _values={}, _children=[], _single={},
        )  # fmt: skip

    @property
    def full_identifier(self) -> str:
        return self.prefixed_identifier()

    def prefixed_identifier(self, prefix_root: NameScope | None = None) -> str:
        prefix = self.namescope.full_prefix(prefix_root)
        if self.tag == "worldbody":
            return prefix or "world"
        identifier = self.spec.identifier
        name = self._values.get(identifier) if identifier else None
        if isinstance(self.parent, AttachmentFrame):
            inside = self.parent.prefixed_identifier(prefix_root)
            return f"{inside}{name}{PREFIX_SEPARATOR}" if name else inside
        if name:
            return f"{prefix}{name}"
        if self.tag == "default":
            return prefix or PREFIX_SEPARATOR
        number = self.namescope.number(self)
        return f"{prefix or PREFIX_SEPARATOR}{UNNAMED_PREFIX}{self.spec.namespace}_{number}"

    # Attributes and children.

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if (failed := getattr(type(self), name, None)) is not None:  # a property: its own error
            return failed.__get__(self)
        spec = self.spec
        if (attribute := _inner(name)) in spec.attributes and name != "class":
            return self._value(attribute)
        child = spec.children.get(name)
        if child is None:
            raise self._no_attribute(name)
        if child.repeated:
            return ElementList(self, child, [c for c in self.all_children() if c.tag == name])
        return self._only(child)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            self.__dict__[name] = value
        elif _inner(name) not in self.spec.attributes:
            raise AttributeError(f"can't set attribute {name!r}{or_else(name, self._words())}")
        else:
            self.set_attributes(**{name: value})

    def __delattr__(self, name: str) -> None:
        if _inner(name) in self.spec.attributes:
            self.set_attributes(**{name: None})
        elif name in self.spec.children:
            child = self.spec.children[name]
            if child.repeated:
                raise AttributeError(f"can't delete all of {name!r}; remove() each")
            if (present := self._only(child)) is not None:
                present.remove()
        else:
            raise self._no_attribute(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._words()})

    def _no_attribute(self, name: str) -> AttributeError:
        kind = type(self).__name__
        known = or_else(name, self._words())
        return AttributeError(f"{kind!r} object has no attribute {name!r}{known}")

    def _words(self) -> list[str]:
        return [*map(_outer, self.spec.attributes), *self.spec.children]

    def _value(self, name: str) -> Any:
        value = self._values.get(name)
        if isinstance(value, Element) and value.is_removed:
            kind = self.spec.attributes[name]
            self._require(name)
            self._values.pop(name)
            if isinstance(kind, Reference) and kind.namespace.startswith("@"):
                self._values.pop(kind.namespace[1:], None)
            return None
        return value

    def get_attributes(self) -> dict[str, Any]:
        values = {name: self._value(name) for name in list(self._values)}
        return {_outer(name): value for name, value in values.items() if value is not None}

    def set_attributes(self, **attributes: Any) -> None:
        """Set attributes; None clears one."""
        converted = self._converted(attributes)
        identifier = self.spec.identifier
        if identifier in converted:  # may fail
            self._rename(converted.pop(identifier))
        for name, value in converted.items():
            self._write(name, value)

    def _converted(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        converted: dict[str, Any] = {}
        for name, value in attributes.items():
            attribute = _inner(name)
            kind = self.spec.attributes.get(attribute)
            if kind is None or name == "class":
                raise AttributeError(
                    f"{name!r} is not a valid attribute for <{self.tag}>"
                    f"{or_else(name, [*map(_outer, self.spec.attributes)])}"
                )
            if empty := value is None or (isinstance(value, str) and value == ""):
                self._require(attribute)
            try:
                converted[attribute] = None if empty else kind.convert(value, self)
            except (ValueError, OSError) as error:
                where = f"attribute {name!r} of <{self.tag}>"
                if isinstance(kind, Reference):  # whose message is the published one
                    error.add_note(where)
                    raise
                raise type(error)(f"{where}: {error}") from error
            if isinstance(kind, BasePath):  # files that are converted next are in it
                self.root.folders[kind.files] = value or ""
        return converted

    def _require(self, attribute: str) -> None:
        if attribute in self.spec.required:
            raise AttributeError(f"attribute {_outer(attribute)!r} of <{self.tag}> is required")

    def _rename(self, name: str | None) -> None:
        identifier = self.spec.identifier
        if identifier is None:
            return
        scope, before = self.namescope, self._values.get(identifier)
        if name == before:
            return
        if not isinstance(self.parent, AttachmentFrame):
            if name is not None:
                scope.add(self.spec.namespace, name, self)
            if before is not None:
                scope.remove(self.spec.namespace, before)
        self._put(identifier, name)
        scope.renumber()

    def _write(self, name: str, value: Any) -> None:
        if isinstance(self.spec.attributes[name], Identifier):
            self._rename(value)
            return
        self._put(name, value)
        if not self.spec.repeated and not isinstance(self.spec.attributes[name], BasePath):
            for other in self._merged():  # attached models share their options
                other._put(name, value)

    def _put(self, name: str, value: Any) -> None:
        if value is None:
            self._values.pop(name, None)
        else:
            self._values[name] = value
        kind = self.spec.attributes[name]
        if isinstance(kind, Reference) and isinstance(value, Element) and not self.referred(kind):
            self._put(kind.namespace[1:], value.spec.namespace)

    def _only(self, spec: ElementSpec) -> "Element | None":
        """The only child of its kind, created on first access unless it is on demand."""
        child = self._single.get(spec.name)
        if child is None and not spec.on_demand:
            child = self._single[spec.name] = Element(spec, self, self.root)
        return child

    def _path(self) -> "tuple[ElementSpec, ...]":
        """Specs of the ancestors below the root and of the element itself."""
        path, element = [], self
        while element.parent is not None:
            path.append(element.spec)
            element = element.parent
        return tuple(reversed(path))

    def _merged(self) -> "list[Element]":
        """This section in the other models of the tree, which share its attributes."""
        path = self._path()
        if not path or path[0].name in _SEPARATE:
            return []
        if any(spec.repeated or spec.on_demand for spec in path):
            return []
        models = self.root.root_model.all_models()
        return [_at(model, path) for model in models if model is not self.root]

    def all_children(self) -> "list[Element]":
        for spec in self.spec.children.values():
            if not spec.repeated:
                self._only(spec)
        return self._existing()

    def get_children(self, element_name: str) -> Any:
        return getattr(self, self._child_spec(element_name).name)

    def _child_spec(self, name: str) -> ElementSpec:
        children = self.spec.children
        if name not in children:
            known = or_else(name, list(children))
            raise AttributeError(f"<{name}> is not a valid child of <{self.tag}>{known}")
        return children[name]

    def _attached_sections(self) -> "list[Element]":
        """This section in directly attached models, if it lists their elements too."""
        if self.parent is not self.root or self.tag in ("worldbody", "default"):
            return []
        return [getattr(model, self.tag) for model in self.root.attached_models]

    # Building.

    def add(self, element_name: str, **attributes: Any) -> "Element":
        return self.insert(element_name, len(self._children), **attributes)

    def insert(self, element_name: str, position: int, **attributes: Any) -> "Element":
        spec = self._child_spec(element_name)
        if not spec.repeated and self._only(spec) is not None:
            raise ValueError(f"a <{element_name}> child already exists")
        child = Element(spec, self, self.root)
        for name in spec.required:
            if attributes.get(_outer(name)) is None:
                child._require(name)
        child.set_attributes(**attributes)
        if spec.repeated:
            self._children.insert(position, child)
        else:
            self._single[element_name] = child
        if spec.identifier and not isinstance(self, AttachmentFrame):
            self.namescope.enter(child)
        self.namescope.renumber()
        return child

    def remove(self, affect_attachments: bool = False) -> None:
        """Remove this element, or clear it if its parent always has it.

        Raises:
            ValueError: it contains parts of attached models and `affect_attachments` is False.
        """
        others = self._merged()
        if not affect_attachments and (others or self._holds_attachments()):
            raise ValueError(
                f"<{self.tag}> has parts of attached models; to clear them all, use"
                " remove(affect_attachments=True), or detach() the models before"
            )
        for element in (self, *others):
            element._remove()

    def _holds_attachments(self) -> bool:
        frame = isinstance(self, AttachmentFrame)
        return frame or any(child._holds_attachments() for child in self._children)

    def _remove(self) -> None:
        for child in [*self._children, *self._single.values()]:
            child._remove()
        if self.spec.identifier and not isinstance(self.parent, AttachmentFrame):
            self.namescope.leave(self)
        self._values.clear()
        parent = self.parent
        if parent is None or not (self.spec.repeated or self.spec.on_demand):
            return
        if self.spec.repeated:
            parent._children[:] = [c for c in parent._children if c is not self]
        else:
            parent._single.pop(self.tag, None)
        self.__dict__["is_removed"] = True
        self.namescope.renumber()

    def attach(self, attachment: "RootElement") -> "AttachmentFrame":
        """Attach a model to this body, or to its parent at the pose of this site."""
        if self.tag not in ("site", "body", "worldbody"):
            raise AttributeError(f"<{self.tag}> takes no attachments, only bodies and sites do")
        return self.root.attach_to(self, attachment)

    # Finding.

    def find(self, namespace: str, identifier: str) -> "Element | None":
        """Find an element of this subtree by name; None if there is none."""
        self._require_namespace(namespace)
        try:
            element: Element = self.namescope.get(namespace, identifier)
        except KeyError:
            return None
        ancestor: Element | None = element
        while ancestor is not None and ancestor is not self:
            ancestor = ancestor._holder()
        return element if ancestor is self else None

    def _require_namespace(self, namespace: str) -> None:
        known = collect_namespaces(self.root.spec)
        if namespace not in known:
            raise ValueError(
                f"{namespace!r} is not a valid namespace{or_else(namespace, sorted(known))}"
            )

    def _holder(self) -> "Element | None":
        """The parent, or the attachment frame of an attached root."""
        if self.parent is not None:
            return self.parent
        return self.root.parent_frame

    def find_all(
        self,
        namespace: str,
        immediate_children_only: bool = False,
        exclude_attachments: bool = False,
    ) -> "list[Element]":
        """All elements of a kind in this subtree; frames of attached models are bodies."""
        self._require_namespace(namespace)
        elements: list[Element] = []
        for child in self._existing():
            if exclude_attachments and child.root is not self.root:
                continue
            kind = "body" if isinstance(child, AttachmentFrame) else child.spec.namespace
            if kind == namespace and child.tag != "worldbody":
                elements.append(child)
            if not immediate_children_only:
                elements += child.find_all(namespace, False, exclude_attachments)
        return elements

    def _existing(self) -> "list[Element]":
        """Children that exist already; `all_children` creates missing sections."""
        single = self._single
        children = [single[tag] for tag in self.spec.children if tag in single] if single else []
        children += self._children
        for other in self._attached_sections():
            children += [c for c in other._existing() if c.spec.repeated]
        return children

    def resolve_references(self) -> None:
        for name, kind in self.spec.attributes.items():
            value = self._values.get(name)
            if isinstance(kind, Reference) and isinstance(value, str):
                namespace = self.referred(kind)
                if self.namescope.has(namespace, value):
                    self._values[name] = self.namescope.get(namespace, value)
        for child in self._existing():
            child.resolve_references()

    def referred(self, kind: Reference) -> str:
        """Namespace that an attribute refers to; "" if it is not set yet."""
        if not kind.namespace.startswith("@"):
            return kind.namespace
        word = str(self._values.get(kind.namespace[1:], ""))
        return "body" if word == "xbody" else word

    # Comparing.

    def is_same_as(self, other: Any) -> bool:
        if not isinstance(other, Element) or other.spec is not self.spec:
            return False
        if not self._same_attributes(other):
            return False
        mine, others = self._by_tag(), other._by_tag()
        return (
            mine.keys() == others.keys()
            and all(
                len(children) == len(others[tag])
                and all(a.is_same_as(b) for a, b in zip(children, others[tag], strict=True))
                for tag, children in mine.items()
            )
            and (self.tag not in _ORDERED or self._tags() == other._tags())
        )

    def _tags(self) -> list[str]:
        return [child.tag for child in self.all_children()]

    def _by_tag(self) -> "dict[str, list[Element]]":
        children: dict[str, list[Element]] = {}
        for child in self._existing():
            if child.spec.repeated or child._values or child._by_tag():
                children.setdefault(child.tag, []).append(child)
        return children

    def _same_attributes(self, other: "Element") -> bool:
        mine, others = self.get_attributes(), other.get_attributes()
        if self.parent is None:
            mine.pop("model", None)
            others.pop("model", None)
        if mine.keys() != others.keys():
            return False
        for name, value in mine.items():
            a, b = value, others[name]
            if isinstance(a, Element):
                a = a.prefixed_identifier(self.namescope)
            if isinstance(b, Element):
                b = b.prefixed_identifier(other.namescope)
            if not np.array_equal(a, b):
                return False
        return True

    # XML.

    def to_xml(
        self,
        prefix_root: NameScope | None = None,
        debug_context: Any = None,
        *,
        precision: int = 17,
        zero_threshold: float = 0.0,
        self_only: bool = False,
        filename_with_hash: bool = True,
    ) -> Any:
        """The element as an lxml element."""
        del debug_context
        scope = prefix_root or self.namescope
        writer = _Writer(scope, precision, zero_threshold, hashed=filename_with_hash)
        return writer.write(self, self_only)

    def to_xml_string(
        self,
        prefix_root: NameScope | None = None,
        self_only: bool = False,
        pretty_print: bool = True,
        debug_context: Any = None,
        *,
        precision: int = 17,
        zero_threshold: float = 0.0,
        filename_with_hash: bool = True,
    ) -> str:
        del debug_context
        scope = prefix_root or self.namescope
        writer = _Writer(scope, precision, zero_threshold, hashed=filename_with_hash)
        return self._text(writer, self_only, pretty_print)

    def _text(self, writer: "_Writer", self_only: bool = True, pretty_print: bool = False) -> str:
        xml = writer.write(self, self_only)
        if self_only and self._existing():
            xml.text = "..."
        text: str = etree.tostring(xml, pretty_print=pretty_print and not self_only, encoding=str)
        return text

    def __str__(self) -> str:
        return self._text(_Writer(self.namescope, unnamed=False))

    def __repr__(self) -> str:
        return f"MJCF Element: {self}"

    def __copy__(self) -> Any:
        raise NotImplementedError("only whole models can be copied")

    def __deepcopy__(self, memo: Any) -> Any:
        raise NotImplementedError("only whole models can be copied")


class AttachmentFrame(Element):
    """The body that holds an attached model; joints can be added to it."""

    attachment: "RootElement"

    def __init__(self, parent: Element, site: Element | None, attachment: "RootElement") -> None:
        body = parent.root.spec.children["worldbody"].children["body"]
        super().__init__(frame_spec(body, parent.tag == "worldbody"), parent, parent.root)
        self.__dict__["attachment"] = attachment
        if site is not None:
            for name in ("pos", *_ORIENTATIONS):
                self._put(name, copy.copy(site._value(name)))

    def prefixed_identifier(self, prefix_root: NameScope | None = None) -> str:
        return self.attachment.namescope.full_prefix(prefix_root)

    def all_children(self) -> list[Element]:
        own = [*self._single.values(), *self._children]
        return own + self.attachment.worldbody.all_children()

    def _existing(self) -> list[Element]:
        return self.all_children()

    def _remove(self) -> None:
        self.attachment.worldbody._remove()
        self.attachment.detach()


class RootElement(Element):
    """A model."""

    folders: dict[str, str]  # within `model_dir`, by kind of files
    parent_frame: AttachmentFrame | None
    attached_models: "list[RootElement]"

    def __init__(
        self,
        model: str | None = None,
        model_dir: str = "",
        assets: Mapping[str, str | bytes] | None = None,
    ) -> None:
        self.__dict__.update(
            namescope=NameScope(model or UNNAMED, self), parent_frame=None, attached_models=[],
            folders={}, _assets=dict(assets or {}), _model_dir=model_dir,
        )  # fmt: skip
        super().__init__(schema(), None, self)
        self._values["model"] = model or UNNAMED

    @property
    def parent_model(self) -> "RootElement | None":
        return None if self.parent_frame is None else self.parent_frame.root

    @property
    def root_model(self) -> "RootElement":
        outer = self.parent_model
        return self if outer is None else outer.root_model

    def read_file(self, name: str, files: str) -> bytes:
        """Contents of a file named by an attribute."""
        folder = self.folders.get(files) or self.folders.get("asset", "")
        path = os.path.normpath(os.path.join(self._model_dir, folder, name))
        for key in (name, path, os.path.basename(name)):
            if key in self._assets:
                contents = self._assets[key]
                return contents.encode() if isinstance(contents, str) else contents
        return Path(path).read_bytes()

    def named_body(self, name: str) -> Any:
        return _NamedBody(self, name)

    @property
    def worldbody(self) -> Element:
        world = self._only(self.spec.children["worldbody"])
        assert world is not None
        return world

    def all_models(self) -> "Iterator[RootElement]":
        """This model and all attached to it, recursively."""
        yield self
        for model in self.attached_models:
            yield from model.all_models()

    def prefixed_identifier(self, prefix_root: NameScope | None = None) -> str:
        return self.namescope.full_prefix(prefix_root)

    def _write(self, name: str, value: Any) -> None:
        self.namescope.rename(value or UNNAMED)
        self._put(name, value or UNNAMED)

    def attach(self, attachment: "RootElement") -> AttachmentFrame:
        return self.worldbody.attach(attachment)

    def attach_to(self, place: Element, attachment: "RootElement") -> AttachmentFrame:
        """Attach a model to a body or a site of this one; see `Element.attach`."""
        if not isinstance(attachment, RootElement):
            raise ValueError(f"Expected a mjcf.RootElement: got {attachment}")
        if attachment is self or attachment in _outer_models(self):
            raise ValueError("Cannot merge a model to itself")
        if attachment.parent_model is not None:
            raise ValueError(f"the model {attachment.model!r} is already attached elsewhere")
        values = _reconciled(self.root_model, attachment)
        body = place.parent if place.tag == "site" else place
        assert body is not None
        attachment.model = self.namescope.free_name(attachment.model)
        self.namescope.attach(attachment.namescope)
        frame = AttachmentFrame(body, place if place.tag == "site" else None, attachment)
        siblings, index = body._children, len(body._children)
        if place.tag == "site":  # after it, and after what is attached there already
            index = 1 + next(i for i, child in enumerate(siblings) if child is place)
            while index < len(siblings) and isinstance(siblings[index], AttachmentFrame):
                index += 1
        siblings.insert(index, frame)
        self.namescope.renumber()
        self.attached_models.append(attachment)
        attachment.__dict__["parent_frame"] = frame
        for section, name, value in values:
            section._write(name, value)
        for section in _sections(self.root_model):
            for model in attachment.all_models() if section._values else ():
                _at(model, section._path())._values.update(section._values)
        return frame

    def detach(self) -> None:
        """Detach this model from its parent model."""
        frame, outer = self.parent_frame, self.parent_model
        if frame is None or outer is None or frame.parent is None:
            raise RuntimeError("this model is not attached to another")
        Element._remove(frame)
        outer.attached_models.remove(self)
        outer.namescope.detach(self.namescope)
        self.__dict__["parent_frame"] = None

    def include_copy(self, other: "RootElement", override_attributes: bool = False) -> None:
        """Copy the contents of another model into this one."""
        if other.attached_models:
            raise NotImplementedError("a model that others are attached to cannot be copied")
        _drop_dead_references(other)
        if not override_attributes:
            _refuse_clashes(self, other)
        _drop_dead_references(self)
        made: dict[int, Element] = {id(other): self, id(other.worldbody): self.worldbody}
        _copy_into(self, other, override_attributes, made)
        for copied in list(made.values()):
            for name, value in copied._values.items():
                if isinstance(value, Element) and id(value) in made:
                    copied._values[name] = made[id(value)]

    def __copy__(self) -> Self:
        copied = type(self)(model=self.model)
        copied.include_copy(self)
        return copied

    def __deepcopy__(self, memo: Any) -> Self:
        return self.__copy__()

    def get_assets(self) -> dict[str, bytes]:
        assets: dict[str, bytes] = {}
        for model in self.all_models():
            for element in model._files():
                for name, kind in element.spec.attributes.items():
                    value = element._values.get(name)
                    if isinstance(kind, File) and value is not None:
                        assets[value.get_vfs_filename()] = value.contents
        return assets

    def _files(self) -> Iterator[Element]:
        for section in ("asset", "deformable"):
            if section in self._single:
                yield from self._single[section]._children


class _NamedBody:
    def __init__(self, root: RootElement, name: str) -> None:
        self.root, self._name = root, name

    @property
    def full_identifier(self) -> str:
        return f"{self.root.namescope.full_prefix()}{self._name}"


class ElementList(list[Element]):
    """Children of one kind, by index or by name."""

    def __init__(self, parent: Element, spec: ElementSpec, elements: list[Element]) -> None:
        super().__init__(elements)
        self.parent, self.spec = parent, spec

    def add(self, **attributes: Any) -> Element:
        return self.parent.add(self.spec.name, **attributes)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for element in self:
            if element.prefixed_identifier(self.parent.namescope) == key:
                return element
        raise KeyError(f"no <{self.spec.name}> {key!r} in <{self.parent.tag}>")

    def __delitem__(self, key: Any) -> None:
        for element in [self[key]] if isinstance(key, str | int) else self[key]:
            element.remove()
            self.remove(element)

    def clear(self) -> None:
        del self[:]

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            scope = self.parent.namescope
            return any(element.prefixed_identifier(scope) == key for element in self)
        return super().__contains__(key)


def _inner(name: str) -> str:
    """Name of an attribute in XML; "class" is a keyword in Python."""
    return "class" if name == "dclass" else name


def _outer(name: str) -> str:
    return "dclass" if name == "class" else name


def _outer_models(model: RootElement) -> Iterator[RootElement]:
    outer = model.parent_model
    while outer is not None:
        yield outer
        outer = outer.parent_model


def _at(model: "RootElement", path: tuple[ElementSpec, ...]) -> Element:
    element: Element = model
    for spec in path:
        only = element._only(spec)
        assert only is not None
        element = only
    return element


def _sections(model: Element) -> Iterator[Element]:
    for spec in model.spec.children.values():
        if not spec.repeated and spec.name not in _SEPARATE:
            section = model._single.get(spec.name)
            if section is not None:
                yield section
                yield from _sections(section)


def _reconciled(outer: RootElement, inner: RootElement) -> list[tuple[Element, str, Any]]:
    """Shared settings after an attachment: outer section, attribute and value of each."""
    values: list[tuple[Element, str, Any]] = []
    for section in _sections(inner):
        path = section._path()
        target = _at(outer, path)
        for name in section._values:
            if isinstance(section.spec.attributes[name], BasePath):
                continue
            a, b = target._value(name), section._value(name)
            if a is not None and not np.array_equal(a, b):
                either = "any" if path[0].name in _EITHER else None
                match section.spec.conflicts.get(name, either):
                    case "min":
                        b = min(a, b)
                    case "max":
                        b = max(a, b)
                    case "max_bytes":
                        sizes = Memory.bytes(a), Memory.bytes(b)
                        b = str(-1 if -1 in sizes else max(sizes))
                    case "any":
                        b = a
                    case _:
                        raise ValueError(
                            f"Conflicting values for attribute `{name}` of <{section.tag}>:"
                            f" {a} and {b}"
                        )
            values.append((target, name, b))
    return values


def _drop_dead_references(element: Element) -> None:
    """Clear references to what was removed; AttributeError for one that an element needs."""
    element.get_attributes()
    for child in element._existing():
        _drop_dead_references(child)


def _namesake(child: Element, target: Element) -> Element | None:
    """The target's child with the kind and name of `child`, which no other element may have."""
    name = child._values.get(child.spec.identifier or "")
    found = target.root.find(child.spec.namespace, name) if name else None
    if found is not None and found.parent is not target:
        raise ValueError(f"<{child.tag}> {name!r} is a child of another element already")
    return found


def _refuse_clashes(target: Element, source: Element) -> None:
    """Raise ValueError for names and values of the source that its copy would have twice."""
    for name, value in source._values.items() if source.parent is not None else ():
        present = target._value(name)
        if present is not None and not np.array_equal(present, value):
            raise ValueError(
                f"Conflicting values for attribute `{name}` of <{source.tag}>:"
                f" {present} and {value}"
            )
    for child in source._single.values():
        if (twin := target._single.get(child.tag)) is not None:
            _refuse_clashes(twin, child)
    for child in source._children:
        _refuse_names(target.root, child)


def _refuse_names(root: "RootElement", element: Element) -> None:
    name = element._values.get(element.spec.identifier or "")
    if name and root.find(element.spec.namespace, name) is not None:
        raise ValueError(f"Duplicated identifier {name!r} in namespace <{element.spec.namespace}>")
    for child in [*element._single.values(), *element._children]:
        _refuse_names(root, child)


def _copy_into(target: Element, source: Element, override: bool, made: dict[int, Element]) -> None:
    for name, value in source._values.items() if source.parent is not None else ():
        target._write(name, value.copy() if isinstance(value, np.ndarray) else value)
    for child in source._single.values():
        twin = target._only(child.spec)
        if twin is None:
            twin = target._single[child.tag] = Element(child.spec, target, target.root)
            if child.spec.identifier:
                target.namescope.enter(twin)
        made[id(child)] = twin
        _copy_into(twin, child, override, made)
    for child in source._children:
        twin = _namesake(child, target) if override else None
        if twin is None:
            twin = Element(child.spec, target, target.root)
            target._children.append(twin)
            if child.spec.identifier:
                target.namescope.enter(twin)
        made[id(child)] = twin
        _copy_into(twin, child, override, made)


class _Writer:
    """Writes elements as XML; smaller numbers than `zero_threshold` are 0.

    Args:
        scope: scope that names are relative to.
        unnamed: whether to number elements without a name.
        hashed: whether names of files have a hash of their contents.
    """

    def __init__(
        self,
        scope: NameScope | None,
        precision: int = 17,
        zero_threshold: float = 0.0,
        unnamed: bool = True,
        hashed: bool = True,
    ) -> None:
        self._scope, self._format = scope, (precision, zero_threshold)
        self._unnamed, self._hashed = unnamed, hashed

    def write(self, element: Element, self_only: bool = False) -> Any:
        in_class = False  # whether a body above gives a default class
        above: Element | None = element
        while above is not None and above.root is element.root:
            in_class = in_class or "childclass" in above._values
            above = above.parent
        if element.tag == "default" and element.parent is element.root:
            return self._defaults(element.root)
        return self._element(element, in_class, self_only)

    def _element(self, element: Element, in_class: bool, self_only: bool = False) -> Any:
        in_class = in_class or "childclass" in element._values
        xml = self.attributes(element, in_class)
        if self_only:
            return xml
        if element.parent is None:
            self._root(element, xml)
            return xml
        children = element._existing()
        for child in children:
            written = self._element(child, in_class and child.root is element.root)
            if child.spec.repeated or child.spec.on_demand or len(written) or written.attrib:
                xml.append(written)
        return xml

    def attributes(self, element: Element, in_class: bool) -> Any:
        """An lxml element without children."""
        spec = element.spec
        xml = etree.Element(spec.name)
        outside = isinstance(element.parent, AttachmentFrame)  # its name ends with a prefix
        framed = outside or isinstance(element, AttachmentFrame)
        if not framed:
            self._name(element, xml)
        if "class" in spec.attributes and spec.name != "default":
            if "class" in element._values:
                self._attribute(element, "class", xml)
            elif not in_class:
                xml.set("class", element.root.default.prefixed_identifier(self._scope))
        for name in list(element._values):  # of which references to what was removed go
            if name not in xml.attrib and name != spec.identifier:
                self._attribute(element, name, xml)
        if framed and (spec.identifier or not outside):
            xml.set("name", element.prefixed_identifier(self._scope))
        return xml

    def _root(self, element: Element, xml: Any) -> None:
        models = list(element.root.all_models())
        for name in element.spec.children:
            if name == "default":
                xml.append(self._defaults(element.root))
            elif name == "worldbody" or any(name in model._single for model in models):
                written = self._element(getattr(element, name), False)
                if len(written) or written.attrib or name == "worldbody":
                    xml.append(written)

    def _defaults(self, root: RootElement) -> Any:
        xml = etree.Element("default")
        for model in root.all_models():
            own = self._element(model.default, False)
            own.set("class", model.default.prefixed_identifier(self._scope))
            xml.append(own)
        return xml

    def _name(self, element: Element, xml: Any) -> None:
        identifier = element.spec.identifier
        if element.parent is None:
            xml.set("model", element.model)
        elif identifier is not None and (self._unnamed or identifier in element._values):
            xml.set(identifier, element.prefixed_identifier(self._scope))

    def _attribute(self, element: Element, name: str, xml: Any) -> None:
        value, kind = element._value(name), element.spec.attributes[name]
        if value is None or (element.parent is None and name == "model"):
            return
        if isinstance(value, Element):
            xml.set(name, value.prefixed_identifier(self._scope))
        elif isinstance(kind, Reference):
            xml.set(name, element.namescope.full_prefix(self._scope) + value)
        elif isinstance(kind, File):
            xml.set(name, value.get_vfs_filename(self._hashed))
        elif (text := kind.text(value, *self._format)) is not None:
            xml.set(name, text)
