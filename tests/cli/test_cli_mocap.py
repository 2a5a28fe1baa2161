"""`mjgym mocap`: files, folders and the package's own clips by name; and `mjgym gallery`."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mjgym  # noqa: F401  (registers the ids)
from helpers.commands import mjgym_
from mjgym.cli.app import app
from mjgym.mocap import find_clips, read_amc
from mjgym.util.packaged import assets


def run(*words):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(word) for word in words])


def test_a_bundled_clip_by_its_name(tmp_path):
    out = tmp_path / "walk.npz"
    (own,) = find_clips("walk")
    assert own == assets() / "locomotion/clips/walk.amc"
    shown = json.loads(run("mocap", "walk", "--out", out, "--json").output)
    assert shown["clip"] == str(own)
    assert shown["frames"] == len(read_amc(own).times)
    with np.load(out) as written:
        assert written["qpos"].shape == (shown["states"], 63)


def test_a_folder(tmp_path):
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.mkdir()
    for name in ("squat", "walk"):
        shutil.copy(find_clips(name)[0], mine / f"my_{name}.amc")
    missing = run("mocap", mine, "--out", out)
    assert missing.exit_code == 2
    assert "there is no folder" in missing.output
    out.mkdir()
    assert run("mocap", mine, "--out", out).exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == ["my_squat.npz", "my_walk.npz"]
    again = tmp_path / "again.npz"
    run("mocap", mine / "my_walk.amc", "--out", again)
    with np.load(again) as one, np.load(out / "my_walk.npz") as other:
        np.testing.assert_array_equal(one["qpos"], other["qpos"])


def test_one_bad_file_of_a_folder_and_nothing_is_written(tmp_path):
    shutil.copy(find_clips("walk")[0], tmp_path)
    (tmp_path / "x.amc").write_text("no clip")
    done = run("mocap", tmp_path, "--out", tmp_path)
    assert done.exit_code == 2
    assert "x.amc" in done.output
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.parametrize("typo", ["wakl", "walks"])
def test_a_typo_names_the_nearest(typo):
    assert "did you mean walk" in run("mocap", typo).output
    with pytest.raises(ValueError, match="did you mean walk"):
        find_clips(typo)


def test_a_file_here_comes_before_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(find_clips("squat")[0], tmp_path / "walk.amc")
    assert find_clips("walk.amc") == (Path("walk.amc"),)
    (tmp_path / "walk").mkdir()
    with pytest.raises(ValueError, match="in the folder 'walk'"):
        find_clips("walk")


class TestGallery:
    @pytest.fixture
    def browser(self, tmp_path):
        """The user's own, which writes down what it opens."""
        program = tmp_path / "browser"
        program.write_text(f"#!/bin/sh\necho $1 >> {tmp_path / 'opened'}\n")
        program.chmod(0o755)
        return program

    @pytest.mark.slow
    def test_opens_the_page(self, browser):
        page = assets() / "gallery" / "index.html"
        assert mjgym_("gallery", BROWSER=str(browser)).stdout.strip() == str(page)
        assert browser.with_name("opened").read_text() == f"{page.as_uri()}\n"

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a browser")
    def test_without_a_browser_it_says_how_to_serve_the_page(self):
        nothing = dict.fromkeys(("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"), "")
        assert "http.server --bind 127.0.0.1" in mjgym_("gallery", **nothing).stderr

    def test_only_says_where_it_is(self, browser):
        done = mjgym_("gallery", "--path", BROWSER=str(browser))
        assert done.stdout.strip().endswith("index.html")
        assert not browser.with_name("opened").exists()
