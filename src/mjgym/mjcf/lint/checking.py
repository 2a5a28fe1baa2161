"""Everything wrong with an MJCF or URDF file, with file, line and the nearest valid word."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import mujoco

from mjgym.mjcf.lint.draft import Draft, described, name_of, silence
from mjgym.mjcf.lint.reading import Node, Problem, found, near_files, parse, read
from mjgym.mjcf.lint.refusals import alike, ask, near, reason_of, settle
from mjgym.mjcf.lint.schema import Kind, parents, schema
from mjgym.mjcf.size_limits import excess

_ROOTS = ("mujoco", "robot")
_READS_FILES = ("include", "model")  # their contents are not read; see _check_model
_DEEP = 50  # models that attach each other
_IN_BODIES = ("body", "frame", "replicate")

# Stand-ins for missing files, so that the rest of the model can be checked.
_STAND_INS = {
    "mesh": {"vertex": "0 0 0 1 0 0 0 1 0 0 0 1"},
    "hfield": {"nrow": "2", "ncol": "2"},
    "texture": {"builtin": "flat", "width": "6", "height": "6"},
}


def check(path: str | Path) -> list[Problem]:
    """Find everything wrong with a model's file and the files it includes.

    Elements and attributes are compared with the schema that the installed engine prints. Words,
    references, names, numbers and physics are left to the engine: each error is repaired as far as
    that is clear and the engine is asked again, until it accepts the model. So the result is empty
    only if the engine compiles the model. Likely consequences of other problems are left out until
    those are fixed. Reported as well is what the engine ignores silently: a misspelt attribute of a
    frame or of an element in one, and a body outside the world.

    Args:
        path: an MJCF or URDF file.

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
    return examine(main, {})


def explain(path: str | Path, error: Exception) -> ValueError:
    """The engine's error about a file, in the words of `check`.

    Args:
        path: of the refused file.
        error: the engine's, repeated if `check` finds nothing.
    """
    problems = check(path)
    if not problems:
        return ValueError(f"{path}: {reason_of(str(error))}")
    return ValueError("\n".join([f"{path} is no model that can be loaded:", *map(str, problems)]))


def examine(main: Path, contents: Mapping[str, bytes]) -> list[Problem]:
    """`check` with some files replaced by `contents`, by absolute path."""
    refused, ignored = _examine(main, contents, frozenset())
    files: dict[Path, None] = dict.fromkeys([main, *(p.file for p in refused + ignored)])
    order = {file: place for place, file in enumerate(files)}
    return sorted(dict.fromkeys(refused + ignored), key=lambda p: (order[p.file], p.line))


def examine_part(content: bytes, file: Path) -> list[Problem]:
    """Problems of an included file according to the schema alone.

    The file is compared with each place in a model that takes some of its elements; the place with
    the fewest problems counts.

    Args:
        content: of the file, which must be XML.
        file: its path, for the problems.
    """
    root = parse(content, file)
    tags = {child.tag for child in root.children}
    candidates: list[list[Problem]] = []
    for kind in schema().walk():
        if not tags.isdisjoint(kind.children):
            part = Draft(file, parse(content, file), ())  # repaired while it is checked
            for child, inner in _check_children(part, part.root, kind):
                _check(part, child, inner)
            candidates.append(part.problems)
    nowhere = [root.problem("nothing in this file can be in a model")] if tags else []
    return min(candidates, key=len, default=nowhere)


def _examine(
    main: Path, contents: Mapping[str, bytes], outer: frozenset[str]
) -> tuple[list[Problem], list[Problem]]:
    """Errors of the engine, and elements it ignores; `outer` are the paths of attaching models."""
    root, problems = read(main, contents)
    if root is None:
        return problems, []
    if (beyond := excess(root)) is not None:  # before the engine allocates it
        return [*problems, beyond], []
    draft = Draft(main, root, problems)
    if not _has_root(draft):
        return draft.problems, []
    ignored = _check_models(draft, contents, outer | {os.path.abspath(main)})
    ignored += _ignored(root)
    refused = bool(draft.problems)
    said = "" if refused else _said(draft, contents)
    if root.tag == "mujoco":
        _check(draft, root, schema())
    if not refused and not said:  # it ignores attributes inside frames
        return [], ignored + draft.problems
    if root.tag == "mujoco":
        _check_files(draft)
    settle(draft)
    if said and not draft.problems:  # the cause is not in the tree
        line = re.search(r"[Ll]ine(?: number=|:? )(\d+)", said)
        number = int(line[1]) if line else root.line
        draft.problems.append(Problem(main, number, " ".join(reason_of(said).split())))
    return draft.problems, ignored


def _has_root(draft: Draft) -> bool:
    """Whether the root is a model's, or a misspelling that can be repaired."""
    root = draft.root
    if root.tag in _ROOTS:
        return True
    meant = alike(root.tag, _ROOTS)
    draft.report(root, f"the root of a model is mujoco or robot, not {root.tag!r}", meant)
    if meant and root.tag != "mujocoinclude":
        draft.retag(root, meant[0])
        return True
    return False


def _said(draft: Draft, contents: Mapping[str, bytes]) -> str:
    """The engine's error about the original model; empty if it compiles."""
    if contents:  # the files on disk differ
        refusal = ask(draft)
        return "" if refusal is None else refusal.reason
    try:
        with silence():
            mujoco.MjSpec.from_file(os.path.abspath(draft.main)).compile()
    except (ValueError, RuntimeError) as error:
        return str(error)
    return ""


def _check_models(
    draft: Draft, contents: Mapping[str, bytes], outer: frozenset[str]
) -> list[Problem]:
    """Check the attached models, take out faulty ones; returns what the engine ignores in them."""
    ignored: list[Problem] = []
    for node in [n for n in draft.root.walk() if n.tag == "model"]:
        wrong, more = _check_model(draft, node, contents, outer)
        ignored += more
        if wrong:
            draft.problems += wrong
            draft.take_out(node)
            draft.lose()
    return ignored


def _check_model(
    draft: Draft, node: Node, contents: Mapping[str, bytes], outer: frozenset[str]
) -> tuple[list[Problem], list[Problem]]:
    name = node.attributes.get("file")
    if name is None:
        # Must not reach the engine, which then hangs at the next file it opens.
        return [node.problem(f"{described(node)} needs the attribute 'file'", ("file",))], []
    path = found(name, node.file.parent)
    if path is None:
        files = near_files(name, node.file.parent, but=draft.main)
        return [node.problem(f"{described(node)}: there is no file {name!r}", files)], []
    if os.path.abspath(path) in outer:
        return [node.problem(f"{described(node)}: {name!r} attaches itself")], []
    if len(outer) > _DEEP:
        said = f"{described(node)}: models attach models more than {_DEEP} deep"
        return [node.problem(said)], []
    node.attributes["file"] = os.path.abspath(path)
    if path.suffix not in (".xml", ".urdf"):
        return [], []
    wrong, ignored = _examine(path, contents, outer)
    root, _ = read(path, contents)
    if root is not None:
        draft.models[node.attributes.get("name") or root.attributes.get("model", "")] = root
    return wrong, ignored


def _ignored(root: Node) -> list[Problem]:
    """Elements and attributes that the engine ignores silently."""
    problems: list[Problem] = []
    body = schema().children["worldbody"].children
    has_world = any(child.tag == "worldbody" for child in root.children)
    for node in root.walk() if root.tag == "mujoco" else ():
        if node.parent is root and node.tag in _IN_BODIES and has_world:
            said = f"{described(node)} is outside worldbody, where the engine ignores it"
            problems.append(node.problem(said, ("worldbody",)))
        elif node.tag in body and not body[node.tag].strict:
            known = body[node.tag].attributes
            for name in (n for n in node.attributes if n not in known):
                meant = alike(name, known)
                if meant:  # else the engine may know it without printing it
                    said = f"{described(node)}: the engine ignores the attribute {name!r}"
                    problems.append(node.problem(said, meant))
    return problems


def _check(draft: Draft, node: Node, kind: Kind) -> None:
    """Report and repair schema violations in an element and below it."""
    left = [(node, kind)]
    while left:
        node, kind = left.pop()
        if kind.strict:
            _check_attributes(draft, node, kind)
        left += _check_children(draft, node, kind)


def _check_attributes(draft: Draft, node: Node, kind: Kind) -> None:
    for name in [n for n in node.attributes if n not in kind.attributes]:
        said = f"{described(node)} has no attribute {name!r}"
        draft.report(node, said, near(name, kind.attributes))
        for meant in alike(name, kind.attributes)[:1]:
            if meant not in node.attributes:
                draft.rewrite(node, meant, node.attributes[name])
        draft.rewrite(node, name, None)


def _check_children(draft: Draft, node: Node, kind: Kind) -> list[tuple[Node, Kind]]:
    """The children that the schema knows, with their entries."""
    known: list[tuple[Node, Kind]] = []
    once: dict[str, Node] = {}
    for child in list(node.children):
        inner = _known(draft, child, kind)
        if inner is None:
            continue
        if inner.unique and child.tag in once:
            first = once[child.tag].where
            draft.report(child, f"a second {child.tag} in {described(node)}, first at {first}")
            draft.take_out(child)
        else:
            once[child.tag] = child
            known.append((child, inner))
    return known


def _known(draft: Draft, node: Node, outer: Kind) -> Kind | None:
    """The schema's entry for an element, under its corrected name, or None."""
    if node.tag in outer.children:
        return outer.children[node.tag]
    if outer is schema() and node.tag in _IN_BODIES:  # ignored by the engine
        return outer.children["worldbody"].children[node.tag]
    meant = alike(node.tag, [*outer.children, "include"])
    place = described(node.parent) if node.parent is not None else "a model"
    elsewhere = parents(node.tag)
    said = f"{node.tag!r} is no element of {place}"
    if elsewhere:
        said += f" but of {' and '.join(elsewhere[:3])}"
    draft.report(node, said, meant or elsewhere[:3] or near(node.tag, outer.children))
    if meant and meant[0] not in _READS_FILES:
        draft.retag(node, meant[0])
        return outer.children[meant[0]]
    draft.take_out(node)
    if meant:
        draft.lose()
    return None


def _check_files(draft: Draft) -> None:
    """Report missing asset files, and put stand-ins in their place."""
    folders, strip = _folders(draft.root)
    for node in draft.root.walk():
        files = {} if node.tag == "model" else node.attributes
        for attribute, value in list(files.items()):
            if not attribute.startswith("file") or not value or ":" in value:
                continue
            name = Path(value).name if strip else value
            folder = draft.main.parent / folders["texture" if node.tag == "texture" else "mesh"]
            # An included file may also have its assets beside it.
            places = (folder, node.file.parent) if node.file != draft.main else (folder,)
            path = found(name, *places)
            if path is None:
                said = f"{described(node)}: there is no file {name!r} in {folder}"
                draft.report(node, said, near_files(name, *places))
                _stand_in(draft, node, attribute)
            elif not strip:
                node.attributes[attribute] = os.path.abspath(path)


def _folders(root: Node) -> tuple[dict[str, str], bool]:
    """Folders of meshes and textures, and whether paths are stripped to file names."""
    folders, strip = {"mesh": "", "texture": ""}, "false"
    for compiler in [n for n in root.walk() if n.tag == "compiler"]:
        both = compiler.attributes.get("assetdir")
        for kind, folder in folders.items():
            default = folder if both is None else both
            folders[kind] = compiler.attributes.get(f"{kind}dir", default)
        strip = compiler.attributes.get("strippath", strip)
    return folders, strip == "true"


def _stand_in(draft: Draft, node: Node, attribute: str) -> None:
    if node.tag not in _STAND_INS:
        draft.take_out(node)
        return
    node.attributes["name"] = name_of(node)
    draft.rewrite(node, attribute, None)
    node.attributes |= _STAND_INS[node.tag]
