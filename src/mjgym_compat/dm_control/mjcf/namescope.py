"""Scopes of names: a model's, and those of the models attached to it."""

from typing import Any

from mjgym_compat.dm_control.mjcf.constants import FRAME, PREFIX_SEPARATOR

UNNAMED = "/unnamed_"


class NameScope:
    """The names in one model; once it is attached, the model's own name prefixes them."""

    def __init__(self, name: str, mjcf_model: Any) -> None:
        if PREFIX_SEPARATOR in name:
            raise ValueError(f"{name!r} holds {PREFIX_SEPARATOR!r}, which is reserved for prefixes")
        self.name = name
        self.mjcf_model = mjcf_model
        self.parent: NameScope | None = None  # scope of the outer model
        self._names: dict[str, dict[str, Any]] = {}
        self._inner: dict[str, NameScope] = {}
        self._members: dict[str, dict[int, Any]] = {}
        self._numbers: dict[str, dict[int, int]] = {}

    @property
    def root(self) -> "NameScope":
        return self if self.parent is None else self.parent.root

    def full_prefix(self, prefix_root: "NameScope | None" = None) -> str:
        """Prefix of this model's names as written in an outer scope, by default the root."""
        if self is prefix_root or self.parent is None:
            return ""
        return f"{self.parent.full_prefix(prefix_root)}{self.name}{PREFIX_SEPARATOR}"

    def rename(self, name: str) -> None:
        """Rename the model."""
        if PREFIX_SEPARATOR in name:
            raise ValueError(f"{name!r} holds {PREFIX_SEPARATOR!r}, which is reserved for prefixes")
        if self.parent is not None and name != self.name:
            if name in self.parent._inner:
                raise ValueError(f"a model {name!r} is attached already")
            del self.parent._inner[self.name]
            self.parent._inner[name] = self
        self.name = name
        self.renumber()

    def attach(self, scope: "NameScope") -> None:
        """Add the scope of a model attached to this one."""
        if scope.name in self._inner:
            raise ValueError(f"Duplicated identifier {scope.name!r} in namespace <{FRAME}>")
        self._inner[scope.name] = scope
        scope.parent = self

    def detach(self, scope: "NameScope") -> None:
        del self._inner[scope.name]
        scope.parent = None

    def inner(self, name: str) -> "NameScope":
        return self._inner[name]

    def free_name(self, name: str) -> str:
        """A name that no attached model has: the given one, numbered if it is taken."""
        free, number = name, 1
        while free in self._inner:
            free = f"{name}_{number}"
            number += 1
        return free

    def add(self, namespace: str, identifier: str, element: Any) -> None:
        """Register an element's name."""
        names = self._names.setdefault(namespace, {})
        if identifier in names:
            raise ValueError(f"Duplicated identifier {identifier!r} in namespace <{namespace}>")
        names[identifier] = element
        self.renumber()

    def remove(self, namespace: str, identifier: str) -> None:
        del self._names[namespace][identifier]
        self.renumber()

    def get(self, namespace: str, identifier: str) -> Any:
        """Look up an element by its name, prefixed if it is in an attached model."""
        names = self._names.get(namespace, {})
        if identifier in names:
            return names[identifier]
        if namespace == "default" and identifier == PREFIX_SEPARATOR:
            return self.mjcf_model.default
        if UNNAMED in identifier and PREFIX_SEPARATOR not in identifier.strip(PREFIX_SEPARATOR):
            return self._unnamed(namespace, identifier)
        scope_name, _, rest = identifier.partition(PREFIX_SEPARATOR)
        if scope_name not in self._inner:
            raise KeyError(identifier)
        scope = self._inner[scope_name]
        element = scope.outside(namespace, identifier, rest, self)
        return scope.get(namespace, rest) if element is None else element

    def outside(self, namespace: str, identifier: str, rest: str, outer: "NameScope") -> Any:
        """Look up the frame, the frame's joint or the default class named after this model."""
        frame = self.mjcf_model.parent_frame
        if not rest and namespace in (FRAME, "body"):
            return frame
        if not rest and namespace == "default":
            return self.mjcf_model.default
        joints = frame.find_all("joint", immediate_children_only=True)
        if namespace != "joint" or (rest and not rest.endswith(PREFIX_SEPARATOR)):
            return None
        return next((j for j in joints if j.prefixed_identifier(outer) == identifier), None)

    def _unnamed(self, namespace: str, identifier: str) -> Any:
        for member in self._members.get(namespace, {}).values():
            name = member.prefixed_identifier(self)
            if name.strip(PREFIX_SEPARATOR) == identifier.strip(PREFIX_SEPARATOR):
                return member
        raise KeyError(identifier)

    def has(self, namespace: str, identifier: str) -> bool:
        """Tell whether an element has this name."""
        try:
            self.get(namespace, identifier)
        except KeyError:
            return False
        return True

    def enter(self, element: Any) -> None:
        self._members.setdefault(element.spec.namespace, {})[id(element)] = element
        self.renumber()

    def leave(self, element: Any) -> None:
        """Unregister an element and its name."""
        namespace = element.spec.namespace
        self._members.get(namespace, {}).pop(id(element), None)
        name = element._values.get(element.spec.identifier)
        if name is not None and self._names.get(namespace, {}).get(name) is element:
            del self._names[namespace][name]
        self.renumber()

    def renumber(self) -> None:
        """Drop the numbers of unnamed elements after a change of names."""
        self._numbers.clear()

    def number(self, element: Any) -> int:
        """Index of an element among all of its kind in this model, in the order of the document."""
        namespace = element.spec.namespace
        if namespace not in self._numbers:
            members = self.mjcf_model.find_all(namespace, exclude_attachments=True)
            self._numbers[namespace] = {id(member): i for i, member in enumerate(members)}
        return self._numbers[namespace].get(id(element), 0)
