"""Values of the command line and of YAML files as annotated types."""

import math
import re
from typing import Any, Literal

import pytest

from mjgym.util.values import convert


@pytest.mark.parametrize(
    ("value", "hint", "wanted"),
    [
        ("1e6", int, 1_000_000),
        ("9007199254740993", int, 9007199254740993),  # more digits than a float has
        ("inf", float, math.inf),
        ("yes", bool, True),
        ("0", bool, False),
        ("none", float | None, None),
        ("none", str | None, "none"),
        ("5", str, "5"),
        ("2", Literal["a", 2], 2),
        ([1, 2], tuple[float, ...], (1.0, 2.0)),
        ("(1, 2)", tuple[int, int], (1, 2)),
        ({1: "x"}, dict[str, Any], {"1": "x"}),
    ],
)
def test_values_are_converted(value, hint, wanted):
    converted = convert(value, hint)
    assert converted == wanted
    assert type(converted) is type(wanted)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (True, int),
        (1, bool),
        ("maybe", bool),
        (2.5, int),
        (math.inf, int),
        ("two", float),
        (5, str),
        ("b", Literal["a", 2]),
        ([], Literal["a"]),
        ([1], tuple[int, int]),
        (256, tuple[int, ...]),
        ("'a'", tuple[str, ...]),
        (3, dict[str, Any]),
        ("1 +", dict),
    ],
)
def test_values_of_another_type_are_refused(value, hint):
    with pytest.raises(ValueError, match=re.escape(str(value))) as error:
        convert(value, hint)
    assert error.value.args == (value,)
