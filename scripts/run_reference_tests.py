"""Run dm_control's own tests of PyMJCF on `mjgym_compat.dm_control.mjcf`, and count them.

    pip download --no-deps dm_control  # its tests are in the wheel
    pip install absl-py mock
    python scripts/run_reference_tests.py dm_control-*.whl

Prints a table of files with how many tests they have and how many pass, and why others fail.
Imports of their modules find ours; nothing of the wheel but its tests is imported.
"""

import argparse
import importlib
import importlib.util
import io
import sys
import tempfile
import types
import unittest
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjgym_compat.dm_control import mjcf

FOLDER = "dm_control/mjcf"
MODULES = {
    "element": "elements",
    "namescope": "names",
    "parser": "reading",
    "physics": "binding",
    "traversal_utils": "frames",
    "export_with_assets": "exporting",
    "export_with_assets_as_zip": "exporting",
    "schema": "grammar",
    "attribute": "values",
}


def _module(name: str, **members: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(__path__=[], **members)
    sys.modules[name] = module
    return module


class _Model:
    """Wrapper of MjModel under dm_control's names."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model

    @classmethod
    def from_xml_string(cls, text: str, assets: Any = None) -> "_Model":
        return cls(mujoco.MjModel.from_xml_string(text, assets))

    @classmethod
    def from_xml_path(cls, path: str) -> "_Model":
        return cls(mujoco.MjModel.from_xml_path(path))

    def to_bytes(self) -> bytes:
        buffer = np.zeros(mujoco.mj_sizeModel(self._model), np.uint8)
        mujoco.mj_saveModel(self._model, None, buffer)
        return buffer.tobytes()


def answer() -> None:
    """Let imports of dm_control's modules find ours."""
    package = _module("dm_control", mjcf=mjcf)
    sys.modules["dm_control.mjcf"] = mjcf
    for theirs, ours in MODULES.items():
        module = importlib.import_module(f"{mjcf.__name__}.{ours}")
        sys.modules[f"dm_control.mjcf.{theirs}"] = module
        if not theirs.startswith("export"):  # functions of these names
            setattr(mjcf, theirs, module)
    binding = importlib.import_module(f"{mjcf.__name__}.binding")
    binding._PICKLING_NOT_SUPPORTED = binding.PICKLING
    _module("dm_control.mjcf.constants", PREFIX_SEPARATOR="/", PREFIX_SEPARATOR_ESCAPE="\\")
    util = _module(
        "dm_control.mujoco.wrapper.util",
        to_native_string=lambda s: s.decode() if isinstance(s, bytes) else s,
        to_binary_string=lambda s: s.encode() if isinstance(s, str) else s,
    )
    bindings = _module("dm_control.mujoco.wrapper.mjbindings", mjlib=mujoco, enums=mujoco)
    wrapper = _module(
        "dm_control.mujoco.wrapper",
        util=util,
        mjbindings=bindings,
        MjModel=_Model,
        MjData=lambda model: mujoco.MjData(model._model),
    )
    package.mujoco = _module("dm_control.mujoco", wrapper=wrapper)  # type: ignore[attr-defined]


def run(path: Path) -> tuple[int, list[tuple[str, str]]]:
    """Number of tests in a file, and the name and the last line of each that fails."""
    name = f"reference_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (ImportError, AttributeError) as error:
        return 0, [(path.stem, str(error))]
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(io.StringIO()).run(suite)
    bad = [*result.failures, *result.errors]
    return result.testsRun, [(test.id().split(".")[-1], _last(text)) for test, text in bad]


def _last(traceback: str) -> str:
    lines = [line for line in traceback.strip().splitlines() if line[:1].strip()]
    return lines[-1][:120]


def rows(wheel: Path) -> Iterator[tuple[str, int, list[tuple[str, str]]]]:
    """File, number of tests, and failures, for each test file of the wheel."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [n for n in archive.namelist() if n.startswith(FOLDER)])
        for path in sorted((Path(folder) / FOLDER).glob("*_test.py")):
            yield (path.name, *run(path))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, help="a wheel of dm_control")
    wheel = parser.parse_args().wheel
    from absl import flags

    flags.FLAGS(sys.argv[:1])
    answer()
    print("| file | tests | passed |\n|---|---|---|")
    notes = []
    for name, count, bad in rows(wheel):
        print(f"| `{name}` | {count} | {count - len(bad) if count else 0} |")
        notes += [f"{name}: {test}: {text}" for test, text in bad]
    print("", *notes, sep="\n")


if __name__ == "__main__":
    main()
