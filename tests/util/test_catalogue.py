"""Objects by name."""

import fractions

import pytest

from mjgym.util.catalogue import Catalogue


@pytest.fixture
def catalogue():
    found = Catalogue("part", fractions.Fraction)
    found.add("half", fractions.Fraction(1, 2))
    found.add_source("over", lambda rest: fractions.Fraction(1, int(rest)))
    return found


def test_only_registered_names_are_listed(catalogue):
    """Not those that were found elsewhere: an error about another name looks at them all."""
    assert catalogue.find("over:3") is catalogue.find("over:3")
    assert catalogue.find("fractions:Fraction") == 0
    assert catalogue.names() == ["half"]


def test_an_error_names_the_keyword(catalogue):
    with pytest.raises(ValueError, match=r"^part: no 'halv'; did you mean half"):
        catalogue.find("halv")
    with pytest.raises(ValueError, match=r"^weight: no 'halv'; did you mean half"):
        catalogue.find("halv", argument="weight")
    with pytest.raises(TypeError, match=r"^weight: expected a name"):
        catalogue.find(3, argument="weight")
