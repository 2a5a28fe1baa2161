"""References to code in text: the rule that recognizes them, and the one function that imports.

Run folders, settings, datasets and models are data. Text in them that names code outside this
package ("module:Class", the path of a .py file) must not be imported unless the user asks for it:
commands look for such text with `outside` before they use the data. `load` imports only what
`outside` recognizes.
"""

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

_PACKAGES = frozenset({"mjgym", "mjgym_compat", "mjgym_fast", "mjgym_train"})
_DATA = frozenset({"cuda", "lerobot", "menagerie"})
"""Words before a colon that never name a module: devices, datasets, robots."""


def split(text: str) -> tuple[str, str] | None:
    """Module and attribute that a text names, or None if it is not a reference to code.

    A reference is a dotted module name, a colon and anything but the rest of a URL or a path.
    "module:" with an empty attribute is one too, since importing the module alone runs its code.
    """
    module, colon, attribute = text.partition(":")
    named = colon and module not in _DATA and _is_dotted(module)
    named = named and not attribute.startswith(("/", "\\"))
    return (module, attribute) if named else None


def is_path(text: str) -> bool:
    return text.endswith(".py")


def outside(value: Any) -> list[str]:
    """References to code outside this package, in plain data."""
    return list(dict.fromkeys(_outside(value)))


def _outside(root: Any) -> Iterable[str]:
    left = [root]  # no recursion: the depth of the data is unbounded
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, str) and not is_packaged(module_of(value)):
            yield value


def module_of(text: str) -> str:
    """The module or file that a text names; empty if it is not a reference to code."""
    reference = split(text)
    if reference is not None:
        return reference[0]
    path = text.rpartition(":")[0] or text
    return next((p for p in (text, path) if is_path(p)), "")


def is_packaged(module: str) -> bool:
    """Tell whether a module is part of this project's packages; True for the empty name."""
    return not module or module.partition(".")[0] in _PACKAGES


def load(text: str) -> Any:
    """The class, function or object that "module:name" names; "name" may have dots."""
    reference = split(text)
    if reference is None or not _is_dotted(reference[1]):
        raise ValueError(f'{text!r} is not of the form "module:name"')
    target: Any = importlib.import_module(reference[0])
    for part in reference[1].split("."):
        target = getattr(target, part)
    return target


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))
