"""Models as files: the XML, and the files that it names."""

import io
import zipfile
from pathlib import Path

from mjgym.util import atomic
from mjgym_compat.dm_control.mjcf.element import RootElement


def _contents(
    mjcf_model: RootElement, name: str | None, precision: int, zero_threshold: float
) -> dict[str, bytes]:
    name = f"{mjcf_model.model}.xml" if name is None else name
    if not name.endswith(".xml"):
        raise ValueError(f"if `out_file_name` is specified it must end with '.xml': got {name}")
    text = mjcf_model.to_xml_string(precision=precision, zero_threshold=zero_threshold)
    return {name: text.encode(), **mjcf_model.get_assets()}


def export_with_assets(
    mjcf_model: RootElement,
    out_dir: str | Path,
    out_file_name: str | None = None,
    *,
    precision: int = 17,
    zero_threshold: float = 0.0,
) -> None:
    """Write a model and the files that it names into a folder."""
    files = _contents(mjcf_model, out_file_name, precision, zero_threshold)
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_together({folder / name: contents for name, contents in files.items()})


def export_with_assets_as_zip(
    mjcf_model: RootElement,
    out_dir: str | Path,
    model_name: str | None = None,
    *,
    precision: int = 17,
    zero_threshold: float = 0.0,
) -> None:
    """Write a model and the files that it names into a ZIP archive, in a folder of its name."""
    name = mjcf_model.model if model_name is None else model_name
    files = _contents(mjcf_model, f"{name}.xml", precision, zero_threshold)
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, contents in files.items():
            archive.writestr(f"{name}/{file}", contents)
    atomic.write_bytes(folder / f"{name}.zip", buffer.getvalue())
