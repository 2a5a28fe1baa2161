"""The package of adapters as a whole."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_an_import_of_an_adapter_registers_the_ids():
    program = "import gymnasium, mjgym_compat; gymnasium.spec('dmc/walker-walk-v0')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_only_in_dm_control_says_so():
    with pytest.raises(ImportError, match=r"has no 'composer'; mjgym_compat\.install"):
        from mjgym_compat.dm_control import composer  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'suit'"):
        from mjgym_compat.dm_control import suit  # noqa: F401
