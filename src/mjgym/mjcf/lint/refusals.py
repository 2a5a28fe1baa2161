"""Compiler errors as problems with file, line and the nearest valid word."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import mujoco

from mjgym.mjcf.lint.draft import Draft, described, kind_of, name_of, reference, silence
from mjgym.mjcf.lint.reading import Node, near_files
from mjgym.mjcf.lint.schema import Vocabulary
from mjgym.util import suggestions

_FEW = 12  # words that are all listed if none is similar
_ALIKE = 0.65  # minimum difflib ratio of similar words
_NEAREST = 3  # maximum number of suggestions
_LONG = 32  # maximum number of values tried for an attribute
_URDF_JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Refusal:
    """A compiler error.

    Attributes:
        reason: the message without the place.
        node: the element it is about, if known.
        compiled: whether the compiler reported it, after the parser had accepted the text.
    """

    reason: str
    node: Node | None
    compiled: bool

    @property
    def quoted(self) -> list[str]:
        """The words that it quotes."""
        return re.findall(r"'([^']*)'", self.reason)


@dataclass(frozen=True)
class _Diagnosis:
    """The interpretation of a compiler error.

    Attributes:
        node: the faulty element.
        message: why it is wrong.
        nearest: valid replacements.
        attribute: the faulty one, if any.
        value: to put there in order to go on; None deletes the attribute.
        certain: whether it cannot be a consequence of another problem.
        general: whether it holds for all elements of that tag with that value.
    """

    node: Node
    message: str
    nearest: tuple[str, ...] = ()
    attribute: str | None = None
    value: str | None = None
    certain: bool = False
    general: bool = False


def near(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known words similar to a word; all of them if there are none and the list is short."""
    known = list(dict.fromkeys(known))
    return alike(word, known) or (tuple(known) if len(known) <= _FEW else ())


def alike(word: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """The known words similar to a word, ignoring case, the best first."""
    lower: dict[str, list[str]] = {}
    for k in known:
        lower.setdefault(k.lower(), []).append(k)
    close = suggestions.close(word.lower(), lower, most, _ALIKE)
    return tuple(itertools.chain.from_iterable(lower[c] for c in close))[:most]


def settle(draft: Draft) -> None:
    """Ask the engine, report and repair its error, until it accepts the draft.

    Likely consequences of reported problems are repaired silently. The work is bounded: if too much
    is wrong, the last report says that there may be more.
    """
    while (refusal := ask(draft)) is not None:
        if not draft.may_ask():
            more = "so much is wrong that the engine was not asked about all of it"
            draft.report(draft.root, f"{more}; mend the rest and check again")
            return
        if refusal.node is None:
            if not draft.problems:
                draft.report(draft.root, refusal.reason)
            return
        diagnosis = _diagnosis(draft, refusal)
        node, attribute = diagnosis.node, diagnosis.attribute
        gone = not draft.gone.isdisjoint(refusal.quoted)
        if not gone and not _is_consequence(draft, refusal, diagnosis):
            draft.report(node, diagnosis.message, diagnosis.nearest)
        if not gone and attribute is not None and (node, attribute) not in draft.touched:
            if diagnosis.general and not refusal.compiled:
                _settle_others(draft, diagnosis)
            draft.rewrite(node, attribute, diagnosis.value)
        elif node.parent is None or node.parent is draft.root:
            return
        else:
            draft.take_out(node)


def _settle_others(draft: Draft, diagnosis: _Diagnosis) -> None:
    """Report and repair the same mistake in other elements without asking the engine."""
    node, attribute = diagnosis.node, diagnosis.attribute
    assert attribute is not None
    assert node.parent is not None
    value, reason = node.attributes[attribute], diagnosis.message.removeprefix(described(node))
    for other in list(draft.root.walk()):
        same = (
            other is not node
            and other.tag == node.tag
            and other.parent is not None
            and other.parent.tag == node.parent.tag
            and other.attributes.get(attribute) == value
        )
        if same and (other, attribute) not in draft.touched:
            draft.report(other, described(other) + reason, diagnosis.nearest)
            draft.rewrite(other, attribute, diagnosis.value)


def _is_consequence(draft: Draft, refusal: Refusal, diagnosis: _Diagnosis) -> bool:
    """Whether the error may follow from a reported problem."""
    node, attribute = diagnosis.node, diagnosis.attribute
    if attribute is None:
        follows = node in draft.emptied
    else:
        follows = (node, attribute) in draft.touched
        follows = follows or (not draft.whole and reference(node, attribute) is not None)
    if follows:
        return True
    if diagnosis.certain or not refusal.compiled:
        return False
    # A keyframe's sizes depend on all joints and actuators, some of which may be missing now.
    mended = not draft.mended.isdisjoint((node, *node.children))
    return mended or (node.tag == "key" and bool(draft.problems))


def ask(draft: Draft, *, compiles: bool = True) -> Refusal | None:
    """Compile a draft; returns the error, or None.

    If names are missing, or `compiles` is False, only the parser is asked.
    """
    text, nodes = draft.text()
    compiled = False
    try:
        with silence():
            spec = mujoco.MjSpec.from_string(text)
            if draft.whole and compiles:
                compiled = True
                spec.modelfiledir = str(draft.main.parent.absolute())
                spec.compile()
    except (ValueError, RuntimeError) as error:
        message = str(error)
        return Refusal(reason_of(message), _located(draft, message, nodes), compiled)
    return None


def reason_of(message: str) -> str:
    """The reason in an error's text, without its place and the word "Error"."""
    reason = message.partition("\nElement ")[0].strip()
    return re.sub(r"^((XML Error|Error|ParseXML|Schema violation): )+", "", reason)


def _located(draft: Draft, message: str, nodes: list[Node]) -> Node | None:
    places = re.findall(r"^Element (?:name )?'(.*)'(?:, id (\d+))?(?:, line (\d+))?", message, re.M)
    if not places:
        return _located_by_words(draft, reason_of(message))
    name, number, line = places[-1]
    if line:
        node = nodes[int(line) - 1] if 0 < int(line) <= len(nodes) else None
        known = node is not None and (
            not number or name.startswith(node.attributes.get("name", ""))
        )
        return node if known else None  # else a line of an attached model's file
    section = {"keyframe": "key"}
    tags = {section.get(word, word) for word in re.findall(r"\w+", message)}
    listed = [n for n in draft.root.walk() if n.parent is not draft.root and kind_of(n) in tags]
    same = [n for n in listed if name and n.attributes.get("name") == name]
    if same:
        return same[0]
    return listed[int(number)] if number and int(number) < len(listed) else None


def _located_by_words(draft: Draft, reason: str) -> Node | None:
    """The element of a message that does not say its place."""
    file = re.match("Error opening file '(.*)'", reason)
    earlier: set[tuple[str, str]] = set()
    for node in draft.root.walk():
        if file and any(Path(v).name == Path(file[1]).name for v in node.attributes.values()):
            return node
        key = (kind_of(node), name_of(node))
        if reason.startswith("repeated") and key[1] and key in earlier:
            return node
        earlier.add(key)
    return None


def _diagnosis(draft: Draft, refusal: Refusal) -> _Diagnosis:
    node = refusal.node
    assert node is not None
    for finder in (_needed, _unknown_word, _joint_type, _repeated, _numbers, _file, _unknown_name):
        diagnosis = finder(draft, refusal, node)
        if diagnosis is not None:
            return diagnosis
    told = name_of(node) in refusal.quoted
    return _Diagnosis(node, refusal.reason if told else f"{described(node)}: {refusal.reason}")


def _needed(_: Draft, refusal: Refusal, node: Node) -> _Diagnosis | None:
    missing = re.match(r"required attribute missing: '(\w+)'", refusal.reason)
    if not missing:
        return None
    return _Diagnosis(
        node, f"{described(node)} needs the attribute {missing[1]!r}", (missing[1],), missing[1]
    )


def _unknown_word(draft: Draft, refusal: Refusal, node: Node) -> _Diagnosis | None:
    if not refusal.reason.startswith("invalid keyword"):
        return None
    (said,) = refusal.quoted
    for attribute, value in node.attributes.items():
        if said not in (value, "(null)"):
            continue
        vocabulary = Vocabulary(node, attribute)
        if not vocabulary.closed():
            continue
        words = [value] if said == value else value.split()
        wrong = [word for word in words if not vocabulary.takes(word)]
        if wrong:
            close = _near_words(draft, wrong[0], vocabulary)
            mended = value.replace(wrong[0], close[0]) if close else None
            message = f"{described(node)}: {attribute} has no word {wrong[0]!r}"
            return _Diagnosis(node, message, close, attribute, mended, general=True)
    return None


def _near_words(draft: Draft, wrong: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The valid words of an attribute that resemble a wrong one; all of them if none does.

    Each question is a model for the engine's parser, so likely words come first, and all words are
    tried for a few attributes only.
    """
    candidates = vocabulary.candidates()
    likely = alike(wrong, candidates, len(candidates))
    taken = tuple(itertools.islice(filter(vocabulary.takes, likely), _NEAREST))
    if taken or not draft.may_list():
        return taken
    known = tuple(filter(vocabulary.takes, candidates))
    return known if len(known) <= _FEW else ()


def _joint_type(draft: Draft, refusal: Refusal, node: Node) -> _Diagnosis | None:
    if "URDF joint" not in refusal.reason or "joint type" not in refusal.reason:
        return None
    wrong = node.attributes["type"]
    known = []
    for word in _URDF_JOINTS:
        node.attributes["type"] = word
        again = ask(draft, compiles=refusal.compiled)
        if again is None or again.reason != refusal.reason:
            known.append(word)
    node.attributes["type"] = wrong
    close = near(wrong, known)
    message = f"{described(node)}: type has no word {wrong!r}"
    return _Diagnosis(node, message, close, "type", close[0] if close else None)


def _repeated(draft: Draft, refusal: Refusal, node: Node) -> _Diagnosis | None:
    if not refusal.reason.startswith("repeated"):
        return None
    kind, name = kind_of(node), name_of(node)
    same = [n for n in draft.root.walk() if (kind_of(n), name_of(n)) == (kind, name)]
    taken = draft.named(kind)
    free = next(n for i in itertools.count(2) if (n := f"{name}_{i}") not in taken)
    said = f"a second {kind} called {name!r}"
    where = f", first at {same[0].where}" if same and same[0] is not node else ""
    attribute = "class" if node.tag == "default" else "name"
    return _Diagnosis(node, said + where, (free,), attribute, free)


def _numbers(draft: Draft, refusal: Refusal, node: Node) -> _Diagnosis | None:
    told = re.search(
        r"bad format in attribute '(?P<bad>\w+)'"
        r"|attribute '(?P<few>\w+)' does not have enough data"
        r"|attribute '(?P<many>\w+)' has too much data",
        refusal.reason,
    )
    if told is None or (attribute := told[str(told.lastgroup)]) not in node.attributes:
        return None
    value = node.attributes[attribute]
    if told["bad"]:
        return _no_number(node, attribute, value)
    numbers = value.split()
    sizes = range(min(len(numbers) - 1, _LONG), 0, -1)
    if told["few"]:
        sizes = range(len(numbers) + 1, _LONG)
    for size in sizes:
        mended = " ".join([*numbers, *itertools.repeat("0", _LONG)][:size])
        node.attributes[attribute] = mended
        again = ask(draft, compiles=refusal.compiled) if draft.may_ask() else refusal
        if again is None or again.reason != refusal.reason:
            break
    node.attributes[attribute] = value
    if again is not None and again.reason == refusal.reason:
        return None
    noun = "number" if size == 1 else "numbers"
    message = f"{described(node)}: {attribute} takes {size} {noun}, not {len(numbers)}"
    return _Diagnosis(node, message, (), attribute, mended, general=True)


def _no_number(node: Node, attribute: str, value: str) -> _Diagnosis:
    words = value.split()
    wrong = [word for word in words if not _NUMBER.fullmatch(word)]
    noun = "number" if wrong else "whole number"
    wrong = wrong or [word for word in words if not re.fullmatch(r"[-+]?\d+", word)] or words
    spaced = re.sub("[,;]+", " ", value).split()
    mended: tuple[str, ...] = ()
    if noun == "whole number":
        mended = (" ".join(str(round(float(word))) for word in words),)
    elif all(_NUMBER.fullmatch(word) for word in spaced):
        mended = (" ".join(spaced),)
    message = f"{described(node)}: {attribute} has {wrong[0]!r}, which is no {noun}"
    fill = mended[0] if mended else None
    return _Diagnosis(node, message, mended, attribute, fill, general=True)


def _file(draft: Draft, refusal: Refusal, node: Node) -> _Diagnosis | None:
    told = re.search("Error opening file '(.*)'", refusal.reason)
    if told is None:
        return None
    last = Path(told[1]).name
    for attribute, value in node.attributes.items():
        if Path(value).name == last:
            files = near_files(value, draft.main.parent, but=draft.main)
            message = f"{described(node)}: there is no file {told[1]!r}"
            return _Diagnosis(node, message, files, attribute, None)
    return None


def _unknown_name(draft: Draft, refusal: Refusal, node: Node) -> _Diagnosis | None:
    for owner in draft.root.walk() if draft.root.tag == "robot" else (node, *node.children):
        for attribute, value in owner.attributes.items():
            kind = reference(owner, attribute)
            if kind is None or (refusal.quoted and value not in refusal.quoted):
                continue
            known = _known_names(draft, owner, attribute, kind)
            if value in known:
                continue
            close = near(value, known)
            message = f"{described(owner)}: there is no {kind} {value!r}"
            # Any name keeps an MJCF model together; in URDF it might create a cycle.
            guess = known[:1] if draft.root.tag == "mujoco" else []
            fill = next(iter([*alike(value, known), *guess]), None)
            return _Diagnosis(owner, message, close, attribute, fill, certain=True)
    return None


def _known_names(draft: Draft, node: Node, attribute: str, kind: str) -> list[str]:
    if node.tag != "attach":
        return draft.named(kind)
    if attribute == "model":
        return list(draft.models)
    model = draft.models.get(node.attributes.get("model", ""))
    return [] if model is None else Draft(draft.main, model, ()).named(kind)
