"""XML trees."""

from typing import Any

from lxml import etree


def find_element(root: Any, tag: str, name: str) -> Any:
    """The element with a tag and a name."""
    for element in root.iter(tag):
        if element.get("name") == name:
            return element
    raise ValueError(f"Element with tag {tag!r} and name {name!r} not found")


def nested_element(element: Any, depth: int) -> Any:
    """Nest copies of an element inside it to a depth."""
    if depth > 0:
        child = nested_element(etree.fromstring(etree.tostring(element)), depth - 1)
        element.append(child)
    return element


def parse(file_obj: Any) -> Any:
    """The tree of a file, without blank text."""
    return etree.parse(file_obj, etree.XMLParser(remove_blank_text=True, resolve_entities=False))
