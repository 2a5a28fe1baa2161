"""Files and folders are written whole or not at all."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from helpers.places import ASSETS, BENCHMARKS, SCRIPTS
from helpers.small_process import run_on_full_disk
from mjgym.mjcf import export, load
from mjgym.util import atomic

SCRIPT = Path(sys.executable).with_name("mjgym")
CLIP = ASSETS / "locomotion" / "clips" / "squat.amc"


class TestReplacing:
    def test_a_new_file_has_the_permissions_of_any(self, tmp_path):
        plain = tmp_path / "plain"
        plain.write_text("x")
        atomic.write_text(tmp_path / "new.json", "ä")
        assert (tmp_path / "new.json").read_bytes() == "ä".encode()
        assert (tmp_path / "new.json").stat().st_mode == plain.stat().st_mode

    def test_an_error_leaves_the_old_content(self, tmp_path):
        path = tmp_path / "x.npz"
        path.write_text("old")

        def fail():
            with atomic.replacing(path) as part:
                assert part.suffix == ".npz"
                part.write_text("half")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_permissions_and_links_stay(self, tmp_path):
        path, link = tmp_path / "x", tmp_path / "link"
        path.write_text("old")
        path.chmod(0o640)
        link.symlink_to(path)
        atomic.write_bytes(link, b"new")
        assert link.is_symlink()
        assert path.read_text() == "new"
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    @pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs a device")
    def test_a_device_is_written_to(self):
        atomic.write_text("/dev/null", "x")
        assert not Path("/dev/null").is_file()

    def test_a_missing_folder_is_named_not_the_temporary_file(self, tmp_path):
        with (
            pytest.raises(FileNotFoundError, match="no such folder") as caught,
            atomic.replacing(tmp_path / "none" / "file.txt"),
        ):
            pass
        assert caught.value.filename == str(tmp_path / "none")

    def test_a_folder_that_takes_no_files_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setattr("os.access", lambda place, mode: False)  # which root may always
        with (
            pytest.raises(PermissionError, match="no file can be written there") as caught,
            atomic.replacing(tmp_path / "file.txt"),
        ):
            pass
        assert caught.value.filename == str(tmp_path)


class TestFilling:
    def test_entries_appear_at_the_end(self, tmp_path):
        folder = tmp_path / "a" / "b"
        with atomic.filling(folder) as part:
            (part / "assets").mkdir()
            (part / "assets" / "x").write_text("1")
            assert list(folder.iterdir()) == [part]
        assert (folder / "assets" / "x").read_text() == "1"
        assert [p.name for p in folder.iterdir()] == ["assets"]

    @pytest.mark.parametrize("there", [True, False])
    def test_an_error_leaves_things_as_they_were(self, tmp_path, there):
        folder = tmp_path / "a" / "b"
        if there:
            folder.mkdir(parents=True)

        def fail():
            with atomic.filling(folder) as part:
                (part / "x").write_text("half")
                raise OSError

        with pytest.raises(OSError):  # noqa: PT011  (the one above)
            fail()
        assert folder.exists() == there
        assert (tmp_path / "a").exists() == there
        assert not there or not list(folder.iterdir())


BENCH = ("bench", "lqr-lqr_2_1", "--num-envs", "1", "--seconds", "0.001")


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
@pytest.mark.slow
@pytest.mark.parametrize(("command", "name"), [(("mocap", str(CLIP)), "x.npz"), (BENCH, "x.json")])
def test_a_full_disk_keeps_the_file_that_is_there(command, name, tmp_path):
    out = tmp_path / name
    out.write_text('"precious"')
    done = run_on_full_disk(str(SCRIPT), *command, "--out", str(out))
    assert done.returncode == 1
    assert "nothing is written: " in done.stderr
    assert out.read_text() == '"precious"'
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.weekly
def test_an_export_that_fails_can_be_made_again(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    spec = load("dmc/walker.xml")

    def full(source, target, **options):
        (Path(target) / "walker.xml").touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copytree", full)
        with pytest.raises(OSError, match="No space"):
            export(spec, folder)
    assert not folder.exists()
    path = export(spec, folder)
    compiled = mujoco.MjModel.from_xml_path(str(path))
    assert np.array_equal(compiled.body_mass, spec.compile().body_mass)


PLAIN = re.compile(
    r"\.(write_text|write_bytes)\(|(imwrite|savefig|\.save)\((?!part\b|packed\b)|open\(.*[\"'][wxa]b?[\"']"
)
# What writes plainly, and may: into folders that are replaced as a whole, through a client's own
# method, which adds an ending of its own, or the output of a process while it runs.
MAY = {"make_site.py", "sb3.py", "sb3_her.py", "pixels_on_gpu.py"}


@pytest.mark.parametrize(
    "path",
    sorted([*SCRIPTS.rglob("*.py"), *BENCHMARKS.glob("*.py")]),
    ids=lambda path: path.name,
)
def test_scripts_write_whole_files(path):
    lines = path.read_text().splitlines()
    plain = [
        line
        for line in lines
        if PLAIN.search(line) and "atomic." not in line and not line.endswith("save(")
    ]
    assert path.name in MAY or not plain, plain


@pytest.mark.weekly
def test_what_a_killed_writer_has_left_goes_with_the_next_one(tmp_path):
    program = (
        "import os, pathlib; from mjgym.util import atomic\n"
        "with atomic.replacing(pathlib.Path('checkpoint.pt')) as part:\n"
        "    part.write_bytes(b'half')\n"
        "    with atomic.stage(pathlib.Path()): os._exit(9)"
    )
    for _ in range(2):
        died = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False)
        assert died.returncode == 9
    assert len(list(tmp_path.iterdir())) == 2  # of the last one
    with atomic.replacing(tmp_path / "checkpoint.pt") as own:
        own.write_bytes(b"whole")
        atomic.write_text(tmp_path / "checkpoint.pt", "another writer of this process")
        assert own.exists()
    with atomic.stage(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]
