"""Texts of others: what is beyond the bounds is refused before it takes memory or time."""

import os
import sys
from pathlib import Path

import pytest

from helpers.lanes import mostly_nightly
from mjgym.util import bounded
from mjgym.util.bounded import FileError
from mjgym.util.values import convert

LEVELS = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
BOMB = "\n".join(["a0: &a0 [x, x]", *LEVELS, "hidden: *a9"])


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000 + "]" * 100_000,
        "[" * 200 + "]" * 200,
        '{"poles": 1' + "0" * 400 + "}",
        "9" * 5000,
        "",
        "{",
        b"\xff\xfe\x00",
    ],
    ids=lambda text: str(text[:9]),
)
def test_json_beyond_the_bounds(text):
    with pytest.raises(FileError, match=r"^the place: "):
        bounded.json_of(text, "the place")


def test_json_within_the_bounds():
    text = '{"a": [1, -2.5, NaN, 18446744073709551615], "b": ' + "[" * 90 + "]" * 90 + "}"
    assert bounded.json_of(text, "x")["a"][3] == 2**64 - 1


@pytest.mark.parametrize(
    "text",
    mostly_nightly(
        [
            BOMB,
            "a: " + "[" * 100_000,
            "- " * 50_000,
            "id: &x [*x]",
            "a: 2020-13-01",
            "!!python/object:os.system x",
            "x" * (bounded.MOST_YAML_BYTES + 1),
        ],
        quick=3,
    ),
    ids=lambda text: text[:9],
)
def test_yaml_beyond_the_bounds(text):
    pytest.importorskip("yaml")
    with pytest.raises(FileError, match=r"^the place"):
        bounded.yaml_of(text, "the place")


def test_aliases_within_the_bounds():
    pytest.importorskip("yaml")
    assert bounded.yaml_of("a: &a [1, 2]\nb: [*a, *a]", "x") == {"a": [1, 2], "b": [[1, 2]] * 2}


@pytest.mark.parametrize(
    "text", ["-" * 50_000 + "1", "(" * 50_000, "1+" * 30_000 + "1", "1" * 99_999]
)
def test_literals_beyond_the_bounds(text):
    with pytest.raises(ValueError, match=r"literal|characters"):
        bounded.literal(text)
    with pytest.raises(ValueError, match=r"."):
        convert(text, tuple)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such devices")
def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "none", "/dev/zero", "a\0b"):
        with pytest.raises(FileError):
            bounded.content(path)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**33)
    with pytest.raises(FileError, match="more than"):
        bounded.content(tmp_path / "large")
