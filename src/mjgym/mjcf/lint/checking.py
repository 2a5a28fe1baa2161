"""Problems of an MJCF or URDF file, with file, line and the nearest valid word."""

import os
from pathlib import Path

import mujoco

from mjgym.mjcf.lint.engine_schema import Kind, parents, schema
from mjgym.mjcf.lint.reading import Malformed, Node, Problem, find_file, near_files, parse, read
from mjgym.mjcf.lint.refusals import alike, located, near, reason_of, refusal
from mjgym.mjcf.size_limits import folders_of, require_bounded_tree

_ROOTS = ("mujoco", "robot")
_DEEP = 50  # models that attach each other
_IN_BODIES = ("body", "frame", "replicate")


def check(path: str | Path) -> list[Problem]:
    """Find what is wrong with a model's file and the files it includes.

    Elements and attributes are compared with the schema that the installed engine prints, and all
    that differ are reported, as are missing files. Words, references, names, numbers and physics
    are left to the engine, which is asked if nothing else is wrong, and names one problem at a
    time. So the result is empty only if the engine compiles the model. Reported as well is what the
    engine ignores silently: a misspelt attribute of a frame or of an element in one, and a body
    outside the world.

    Returns:
        The problems, those of the model's file first, ordered by line within each file.

    Raises:
        FileNotFoundError: the model does not exist; the message names files with similar names.
    """
    main = Path(path)
    if not main.is_file():
        files = [str(main.parent / name) for name in near_files(main.name, main.parent)]
        hint = f"; did you mean {', '.join(files)}?" if files else ""
        raise FileNotFoundError(f"there is no file {main}{hint}")
    return examine(main)


def explain(path: str | Path, error: Exception) -> ValueError:
    """The engine's error about a file, in the words of `check`."""
    lines = [f"{path}: {reason_of(str(error))}", *map(str, check(path))]
    return ValueError("\n".join(lines))


def examine(main: Path, content: bytes | None = None, *, compiles: bool = True) -> list[Problem]:
    """`check` with the file replaced, and without the engine unless the model `compiles`."""
    problems = dict.fromkeys(_examine(main, content, frozenset(), compiles, set()))
    files = dict.fromkeys([main, *(problem.file for problem in problems)])
    order = {file: place for place, file in enumerate(files)}
    return sorted(problems, key=lambda p: (order[p.file], p.line))


def examine_part(content: bytes, file: Path) -> list[Problem]:
    """Problems of an included file according to the schema alone.

    The file is compared with each place in a model that takes some of its elements; the place with
    the fewest problems counts.
    """
    root = parse(content, file)
    tags = {child.tag for child in root.children}
    kinds = [kind for kind in schema().walk() if not tags.isdisjoint(kind.children)]
    nowhere = [root.problem("nothing in this file can be in a model")] if tags else []
    return min((_misfits(root, k, root=False) for k in kinds), key=len, default=nowhere)


def _examine(
    main: Path, content: bytes | None, outer: frozenset[str], compiles: bool, seen: set[str]
) -> list[Problem]:
    """Problems of a model.

    Args:
        outer: absolute paths of the models that attach it.
        seen: absolute paths of attached models that have been examined.
    """
    try:
        root, problems = read(main, content)
        if root is None:
            return problems
        require_bounded_tree(root, main)  # before the engine allocates it
    except Malformed as error:
        return [error.problem]
    if root.tag not in _ROOTS:
        said = f"the root of a model is mujoco or robot, not {root.tag!r}"
        return [*problems, root.problem(said, alike(root.tag, _ROOTS))]
    attached: list[Node] = []
    for node in root.walk():
        if node.tag == "model":
            deeper = outer | {os.path.abspath(main)}
            problems += _check_model(node, main, attached, deeper, compiles, seen)
    is_mjcf = root.tag == "mujoco"
    misfits = _misfits(root, schema()) if is_mjcf else []
    if problems or not compiles:  # some models without a file make the engine hang
        return problems + misfits
    missing = _missing_files(root, main)
    if content is None:
        refused = refusal(lambda: mujoco.MjSpec.from_file(os.path.abspath(main)), main)
    else:
        refused = refusal(lambda: mujoco.MjSpec.from_string(root.text()[0]), main)
    if misfits or not refused:
        return misfits  # the engine ignores attributes inside frames
    return missing or [located(root, main, attached, refused)]


def _check_model(
    node: Node,
    main: Path,
    attached: list[Node],
    outer: frozenset[str],
    compiles: bool,
    seen: set[str],
) -> list[Problem]:
    """Problems of an attached model, whose root joins `attached`."""
    name = node.attributes.get("file")
    if name is None:
        return [node.problem(f"{node.described} needs the attribute 'file'", ("file",))]
    path = find_file(name, node.file.parent)
    if path is None:
        files = near_files(name, node.file.parent, but=main)
        return [node.problem(f"{node.described}: there is no file {name!r}", files)]
    if os.path.abspath(path) in outer:
        return [node.problem(f"{node.described}: {name!r} attaches itself")]
    if len(outer) > _DEEP:
        return [node.problem(f"{node.described}: models attach models more than {_DEEP} deep")]
    node.attributes["file"] = os.path.abspath(path)
    is_xml = path.suffix in (".xml", ".urdf")
    root, _ = read(path) if is_xml else (None, [])
    if root is not None:
        attached.append(root)
    known = node.attributes["file"] in seen  # or models that attach two would double the work each
    seen.add(node.attributes["file"])
    return _examine(path, None, outer, compiles, seen) if is_xml and not known else []


def _misfits(top: Node, kind: Kind, *, root: bool = True) -> list[Problem]:
    """Problems with elements and attributes that the schema lacks, or the engine ignores."""
    problems: list[Problem] = []
    left = [(top, kind)]
    while left:
        node, kind = left.pop()
        for name in node.attributes if root or node is not top else ():
            if name in kind.attributes:
                continue
            if kind.strict:
                said = f"{node.described} has no attribute {name!r}"
                problems.append(node.problem(said, near(name, kind.attributes)))
            elif meant := alike(name, kind.attributes):  # else the engine may know it
                said = f"{node.described}: the engine ignores the attribute {name!r}"
                problems.append(node.problem(said, meant))
        first: dict[str, Node] = {}
        for child in node.children:
            inner = kind.children.get(child.tag)
            if inner is None:
                problem, inner = _misplaced(child, node, kind)
                if problem is not None:
                    problems.append(problem)
            elif inner.unique and first.setdefault(child.tag, child) is not child:
                where = first[child.tag].where
                said = f"a second {child.tag} in {node.described}, first at {where}"
                problems.append(child.problem(said))
            if inner is not None:
                left.append((child, inner))
    return problems


def _misplaced(node: Node, outer: Node, kind: Kind) -> tuple[Problem | None, Kind | None]:
    """The problem of an element missing from the schema, and the schema for its children."""
    if kind is schema() and node.tag in _IN_BODIES:
        ignored = any(child.tag == "worldbody" for child in outer.children)
        said = f"{node.described} is outside worldbody, where the engine ignores it"
        problem = node.problem(said, ("worldbody",)) if ignored else None
        return problem, kind.children["worldbody"].children[node.tag]
    meant = alike(node.tag, [*kind.children, "include"])
    elsewhere = parents(node.tag)[:3]
    but = f" but of {' and '.join(elsewhere)}" if elsewhere else ""
    said = f"{node.tag!r} is no element of {outer.described}{but}"
    problem = node.problem(said, meant or elsewhere or near(node.tag, kind.children))
    return problem, kind.children.get(meant[0]) if meant else None


def _missing_files(root: Node, main: Path) -> list[Problem]:
    """Missing asset files; the paths of the others become absolute."""
    problems: list[Problem] = []
    nodes = list(root.walk())
    folders, stripped = folders_of(nodes), "true" if root.tag == "robot" else "false"
    for compiler in (node for node in nodes if node.tag == "compiler"):
        stripped = compiler.attributes.get("strippath", stripped)
    strip = stripped == "true"
    for node in nodes:
        files = {} if node.tag == "model" else node.attributes
        for attribute, value in list(files.items()):
            if not attribute.startswith("file") or not value or ":" in value:
                continue
            name = Path(value).name if strip else value
            place = main.parent / folders["texture" if node.tag == "texture" else "mesh"]
            # An included file may also have its assets beside it.
            places = (place, node.file.parent) if node.file != main else (place,)
            path = find_file(name, *places)
            if path is None:
                said = f"{node.described}: there is no file {name!r} in {place}"
                problems.append(node.problem(said, near_files(name, *places)))
            elif not strip:
                node.attributes[attribute] = os.path.abspath(path)
    return problems
