"""The package of adapters as a whole."""

import pytest

from helpers.small_process import fresh


@pytest.mark.slow
def test_an_import_of_an_adapter_registers_the_ids():
    fresh("import gymnasium, mjgym_compat; gymnasium.spec('dmc/walker-walk-v0')")


def test_what_is_only_in_dm_control_says_so():
    with pytest.raises(ImportError, match=r"has no 'composer'; mjgym_compat\.install"):
        from mjgym_compat.dm_control import composer  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'suit'"):
        from mjgym_compat.dm_control import suit  # noqa: F401
