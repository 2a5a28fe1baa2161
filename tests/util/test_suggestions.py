"""What may have been meant by a word that is not known."""

import pytest

from mjgym.util.suggestions import close, did_you_mean, or_else


@pytest.mark.parametrize(
    ("word", "known", "end"),
    [
        ("wlak", ["walk", "run"], "; did you mean walk?"),
        ("wlak", iter(["walk", "walks"]), "; did you mean walk, walks?"),
        ("zzz", ["walk", "run"], "; there are walk, run"),
        ("WALK", ["Walk", "run"], "; did you mean Walk?"),
        ("panda", ["PandaGripper", "none"], "; did you mean PandaGripper?"),
        ("an", ["PandaGripper", "none"], "; there are PandaGripper, none"),
        ("zzz", ["", None], "; there are none"),
        (3, ["walk"], "; there are walk"),
        (None, ["None_", "walk"], "; did you mean None_?"),
        ("__walk", ["_walk"], "; there are _walk"),
    ],
)
def test_the_nearest_or_else_all(word, known, end):
    assert or_else(word, known) == end


def test_the_nearest_or_nothing():
    assert did_you_mean("zzz", ["walk"]) == ""
    assert did_you_mean("wlak", ["walk", "_walk", ""]) == "; did you mean walk?"


def test_the_best_come_first_and_no_more_than_asked_for():
    known = ["walking", "walk", "walks", "wall"]
    assert close("walk", known)[0] == "walk"
    assert len(close("walk", known)) == 3
    assert close("walk", known, most=1) == ["walk"]
    assert close("wxyz", known, alike=0.1)
