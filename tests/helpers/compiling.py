"""Blocks of tests in which no model may be compiled."""

import contextlib
from collections.abc import Iterator
from unittest import mock

import mujoco

COMPILERS = {
    mujoco.MjSpec: ("compile", "recompile"),
    mujoco.MjModel: ("from_xml_string", "from_xml_path", "from_binary_path"),
}


@contextlib.contextmanager
def nothing_compiled() -> Iterator[None]:
    """Let whatever compiles or loads a model fail."""
    refuse = mock.Mock(side_effect=AssertionError("a model is compiled"))
    with contextlib.ExitStack() as stack:
        for cls, names in COMPILERS.items():
            for name in names:
                stack.enter_context(mock.patch.object(cls, name, refuse))
        yield
