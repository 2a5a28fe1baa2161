"""Limits on the memory and work that a model asks for, estimated from its file beforehand.

A few bytes of MJCF can ask for any number of elements and bytes (nested `<replicate>`, height
fields, textures, meshes of built-in shapes, sensors), and the engine does not check. Its compiler
also needs time with the square of the number of elements.
"""

import contextlib
import math
import os
import struct
from collections.abc import Callable, Collection
from pathlib import Path

from mjgym.mjcf.lint.reading import Malformed, Node, find_file, parse, read
from mjgym.util import bounded

MOST_BYTES = 2**29
"""Memory of a compiled model and of its compilation, as estimated here."""

MOST_FREEDOMS = 12_000
"""Degrees of freedom of joints, for whose square the engine reserves memory."""

MOST_ITERATIONS = 100_000
"""Iterations of a solver, and steps of the simulation that finds an actuator's range of lengths."""

# Bytes, as measured with MuJoCo 4.0; those of an element and of a mesh's point are for the time
# that they take: 10 s for what `MOST_BYTES` allows.
_ELEMENT, _POINT, _VALUE, _CELL, _TEXEL = 20_000, 3_300, 32, 16, 2
_FLEX_POINT, _FLEX_FILE = 2 * _ELEMENT, 100  # for each byte of a file
_CONTACT = 1000
_STATE = 50  # numbers of a keyframe for each element, at most

_PREFIXES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50, "e": 2**60}
_FREEDOMS = {"free": 6, "ball": 3}
_FILES = ("mesh", "hfield", "texture", "skin", "flexcomp", "flex")
_PNG = b"\x89PNG\r\n\x1a\n"


def require_bounded(file: Path) -> None:
    """Raise if a model file, with its includes and attached models, exceeds the limits.

    A file that is not XML passes: the engine refuses it.
    """
    root, problems = read(file)
    if root is None:
        if not os.path.isfile(file):
            raise ValueError(str(problems[0]))
        return
    _Count(file).add(root)


def require_bounded_text(text: str) -> None:
    """Raise ValueError, with the line, if MJCF text exceeds the limits."""
    try:
        root = parse(text.encode(), Path("model.xml"))
    except Malformed as error:
        if error.beyond:
            raise
        return
    _Count(Path("model.xml")).add(root)


def require_self_contained(text: str, files: Collection[str] = ()) -> None:
    """Raise ValueError, with the line, if MJCF text reads files or exceeds the limits.

    Args:
        files: names of files in memory, which it may read.
    """
    root = parse(text.encode(), Path("model.xml"))
    lasts = {os.path.basename(file) for file in files}  # by which the engine finds them
    for node in root.walk():
        for name in (value for key, value in node.attributes.items() if key.startswith("file")):
            if os.path.isabs(name) or os.path.basename(name) not in lasts:
                raise Malformed(
                    node.problem(f"{node.tag} reads {name!r}, a model in a text no file")
                )
    _Count(Path("model.xml")).add(root)


def require_whole_binary(file: Path) -> None:
    """Raise ValueError if an MJB file is shorter than the arrays that its header declares.

    An array has a byte for each of its numbers at least.
    """
    from mujoco.introspect.structs import STRUCTS  # slow to import

    fields = STRUCTS["mjModel"].fields
    with bounded.opened(file) as opened:
        length = os.fstat(opened.fileno()).st_size
        try:
            _, _, count, _, _ = struct.unpack("=5i", opened.read(20))
            numbers = struct.unpack(f"={count}q", opened.read(8 * min(count, len(fields))))
        except struct.error:
            raise ValueError(f"{file}: is no MJB file, or of another version") from None
    sizes = {field.name: max(0, n) for field, n in zip(fields, numbers, strict=False)}
    shapes = [getattr(field, "array_extent", None) or (0,) for field in fields]
    least = sum(math.prod(sizes.get(n, 1) if isinstance(n, str) else n for n in s) for s in shapes)
    if not least < length < MOST_BYTES:
        raise ValueError(f"{file}: is cut off, or has more than {MOST_BYTES:,} bytes")


def require_bounded_tree(root: Node, main: Path) -> None:
    _Count(main).add(root)


class _Count:
    """Bytes and degrees of freedom of a model."""

    def __init__(
        self,
        main: Path,
        outer: frozenset[str] = frozenset(),
        known: "dict[str, _Count] | None" = None,
    ) -> None:
        self.bytes = self.freedoms = 0.0
        self._main = main
        self._outer = outer | {os.path.abspath(main)}
        self._known: dict[str, _Count] = {} if known is None else known
        self._attached: dict[str, _Count] = {}

    def add(self, root: Node) -> "_Count":
        """Count a model's elements, copies included; Malformed beyond the limits."""
        nodes = list(root.walk())
        _require_regular(nodes, self._main)
        self._default: dict[str, str] = {}  # the largest of any class, by attribute
        self._classes: set[Node] = set()  # and what is in them
        for node in nodes:
            if node.tag != "default" and node.parent not in self._classes:
                continue
            self._classes.add(node)
            for name, value in node.attributes.items():
                if _product(value) > _product(self._default.get(name, "0")):
                    self._default[name] = value
        self._cameras = {n.name: n for n in nodes if n.tag == "camera"}
        self._elements = len(nodes)
        self._folders = folders_of(nodes)
        for node in nodes:
            if node.tag == "model" and "file" in node.attributes:
                self._attached[node.attributes.get("name", "")] = self._of_file(node)
        left = [(root, 1.0)]
        while left:
            node, copies = left.pop()
            if node.tag == "replicate":
                copies *= max(1.0, self._number(node, "count"))
            self._add_copies(node, copies)
            left += [(child, copies) for child in node.children]
        return self

    def _add_copies(self, node: Node, copies: float) -> None:
        size, freedoms = self._bytes(node), self._freedoms(node)
        if node.tag == "attach" and (model := self._attached.get(node.attributes.get("model", ""))):
            size, freedoms = model.bytes, model.freedoms
        elif node.tag == "model":  # the engine reads it once for each that names it
            size += getattr(self._attached.get(node.attributes.get("name", "")), "bytes", 0.0)
        self.bytes += copies * (_ELEMENT + size)
        self.freedoms += copies * freedoms
        if not self.bytes <= MOST_BYTES:
            raise node.beyond(
                f"{node.described}: the model asks for more than {MOST_BYTES:,} bytes of memory,"
                " or that much work"
            )
        if not self.freedoms <= MOST_FREEDOMS:
            raise node.beyond(f"the model has more than {MOST_FREEDOMS:,} degrees of freedom")

    def _of_file(self, node: Node) -> "_Count":
        path = find_file(node.attributes["file"], node.file.parent, self._main.parent)
        absolute = os.path.abspath(path or "")
        if path is None or absolute in self._outer:
            return _Count(self._main)
        if absolute not in self._known:
            root, _ = read(path)
            count = _Count(path, self._outer, self._known)
            self._known[absolute] = count if root is None else count.add(root)
        return self._known[absolute]

    def _number(self, node: Node, *names: str) -> float:
        """The product of all numbers in some attributes; anything else counts as 1."""
        values = (node.attributes.get(n, self._default.get(n, "")) for n in names)
        return math.prod(_product(value) for value in values)

    def _bytes(self, node: Node) -> float:
        """Bytes that an element needs beyond the fixed cost of every element."""
        measure = _MEASURES.get(node.tag)
        size = 0.0 if measure is None else measure(self, node)
        outer = "" if node.parent is None else node.parent.tag
        if outer == "actuator":
            size += _VALUE * self._number(node, "actdim") * max(1.0, self._number(node, "nsample"))
            size += _VALUE * self._number(node, "nsample")
        elif outer == "sensor":
            size += _VALUE * self._readings(node) * max(1.0, self._number(node, "nsample"))
        size += sum(map(len, node.attributes.values()))
        if node.tag in _FILES:
            size += self._of_assets(node)
        return size

    def _readings(self, node: Node) -> float:
        size = max(1.0, self._number(node, "dim"), self._number(node, "num"))
        if node.tag == "rangefinder" and "camera" in node.attributes:
            camera = self._cameras.get(node.attributes["camera"], node)
            size *= self._number(camera, "resolution")
        return size

    def _freedoms(self, node: Node) -> float:
        constrained = node.parent is not None and node.parent.tag == "equality"
        if node in self._classes or constrained or node.tag not in ("joint", "freejoint"):
            return 0.0
        kind = node.attributes.get("type", node.tag.removesuffix("joint"))
        return _FREEDOMS.get(kind, 1)

    def _of_assets(self, node: Node) -> float:
        total = 0.0
        folder = self._folders["texture" if node.tag == "texture" else "mesh"]
        for key, name in node.attributes.items():
            if key != "file" and not (node.tag == "texture" and key.startswith("file")):
                continue
            places = (self._main.parent / folder, node.file.parent, self._main.parent)
            path = find_file(name, *places)
            if path is None:
                continue
            total += path.stat().st_size * (_FLEX_FILE if node.tag.startswith("flex") else 1)
            if node.tag in ("texture", "hfield"):
                total += _pixels(path) * 4 * _TEXEL
        return total

    def _of_mesh(self, node: Node) -> float:
        if not node.attributes.get("builtin"):
            return 0.0
        numbers = [_product(word) for word in node.attributes.get("params", "").split()]
        first, second = (*numbers, 1.0, 1.0)[:2]
        kind = node.attributes["builtin"]
        if kind in ("supersphere", "supertorus"):
            return _POINT * first**2
        if kind == "cone":  # its points lie in one plane, where a hull takes the square of them
            return _POINT * (first + first**2 / 160)
        return _POINT * max(first, first * second)

    def _of_texture(self, node: Node) -> float:
        width, height, channels = (self._number(node, n) for n in ("width", "height", "nchannel"))
        if node.attributes.get("type", "cube") != "2d":
            height = max(height, 6 * width)
        return _TEXEL * width * height * max(3.0, channels)

    def _of_sizes(self, node: Node) -> float:
        most = 0.0
        for name, value in node.attributes.items():
            number = _product(value.strip().rstrip("bBkKmMgGtTpPeE"))
            if name == "memory":
                unit = value.strip()[-1:].lower()
                most += number * _PREFIXES.get(unit, 1)
            elif name.startswith("nuser_"):
                most += _VALUE * number * self._elements
            elif name == "nkey":
                most += 8 * number * _STATE * self._elements
            else:
                most += number * (_CONTACT if name in ("nconmax", "njmax") else _VALUE)
        return most

    def _of_option(self, node: Node) -> float:
        for name, value in node.attributes.items():
            if name.endswith("iterations") or name == "sdf_initpoints":
                _require_work(node, f"{name} {value}", _product(value))
        return 0.0

    def _of_lengths(self, node: Node) -> float:
        total, step = (
            float(_product(node.attributes.get(name, ""), default))
            for name, default in (("inttotal", 10.0), ("timestep", 0.01))
        )
        _require_work(node, "inttotal and timestep", total / step if step else math.inf)
        return 0.0

    def _of_quality(self, node: Node) -> float:
        sides = self._number(node, "numslices", "numstacks")
        return (
            50 * (sides + self._number(node, "numquads") ** 2)
            + 4 * self._number(node, "shadowsize") ** 2
        )


_MEASURES: dict[str, Callable[[_Count, Node], float]] = {
    "mesh": _Count._of_mesh,
    "texture": _Count._of_texture,
    "size": _Count._of_sizes,
    "option": _Count._of_option,
    "lengthrange": _Count._of_lengths,
    "quality": _Count._of_quality,
    "global": lambda count, node: 4 * count._number(node, "offwidth", "offheight"),
    "hfield": lambda count, node: _CELL * count._number(node, "nrow", "ncol"),
    "flexcomp": lambda count, node: _FLEX_POINT * count._number(node, "count"),
    "composite": lambda count, node: _FLEX_POINT * count._number(node, "count"),
    "numeric": lambda count, node: _VALUE * count._number(node, "size"),
}


def _require_regular(nodes: list[Node], main: Path) -> None:
    """Refuse devices and pipes, from which the engine would read without end."""
    for node in nodes:
        for key, name in node.attributes.items():
            if not key.startswith("file") or "\0" in name:
                continue
            paths = (os.path.normpath(folder / name) for folder in (node.file.parent, main.parent))
            if any(os.path.exists(p) and not os.path.isfile(p) for p in paths if name.strip("./")):
                raise node.beyond(f"{node.described}: {name!r} is no regular file")


def folders_of(nodes: list[Node]) -> dict[str, str]:
    """The folders of meshes and textures that a model's compiler names."""
    folders = {"mesh": "", "texture": ""}
    for compiler in (node for node in nodes if node.tag == "compiler"):
        both = compiler.attributes.get("assetdir")
        for kind, folder in folders.items():
            default = folder if both is None else both
            folders[kind] = compiler.attributes.get(f"{kind}dir", default)
    return folders


def _require_work(node: Node, what: str, number: float) -> None:
    if not number <= MOST_ITERATIONS:
        raise node.beyond(f"{what}: more than {MOST_ITERATIONS:,} iterations or steps")


def _product(value: str, default: float = 1.0) -> float:
    product, found = 1.0, False
    for word in value.split():
        with contextlib.suppress(ValueError, OverflowError):
            number = float.fromhex(word) if "x" in word.lower() else float(word)
            product *= 1.0 if math.isnan(number) else abs(number)
            found = True
    return product if found else default


def _pixels(path: Path) -> float:
    """Pixels of a PNG file by its header; 0 for other files."""
    with path.open("rb") as file:
        header = file.read(24)
    if not header.startswith(_PNG) or len(header) < 24:
        return 0.0
    return float(int.from_bytes(header[16:20], "big") * int.from_bytes(header[20:24], "big"))
