"""Download addresses of the motions that dm_control fitted to the CMU database."""

from pathlib import Path

from mjgym.util.suggestions import or_else

H5_FILENAME = {"2019": "cmu_2019_08756c01.h5", "2020": "cmu_2020_dfe3e9e0.h5"}
H5_URL_BASE = "https://storage.googleapis.com/dm_control/"
H5_URL = {version: H5_URL_BASE + name for version, name in H5_FILENAME.items()}
H5_BYTES = {"2019": 488_143_314, "2020": 476_559_420}
_FOLDERS = (Path(), Path("~/.dm_control"))


def get_path_for_cmu(version: str = "2020") -> str:
    """Path of the file in the current folder or in `~/.dm_control`; nothing is downloaded."""
    if version not in H5_FILENAME:
        raise ValueError(f"version: no {version!r}{or_else(version, list(H5_FILENAME))}")
    paths = [folder.expanduser() / H5_FILENAME[version] for folder in _FOLDERS]
    for path in paths:
        if path.is_file():
            return str(path)
    raise FileNotFoundError(
        f"there is no {' or '.join(map(str, paths))}; download {H5_URL[version]}"
        f" ({H5_BYTES[version] / 1e6:.0f} MB)"
    )
