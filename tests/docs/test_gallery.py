"""The gallery: nothing is stale, and every id has a picture and a clip that show something."""

import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from helpers.lanes import lane
from helpers.places import ASSETS, SCRIPTS
from mjgym import registry

pytestmark = pytest.mark.slow

FOLDER = ASSETS / "gallery"
LIMIT = 7_600_000  # bytes of all that is committed
SPACES = ("dmc", "gymnasium", "l2m", "legged", "locomotion", "manipulation", "robosuite", "soccer")
IDS = [id for space in SPACES for id in registry.ids(namespace=space)]


@lane(1, 3)
def test_nothing_is_stale_or_missing():
    check = [sys.executable, str(SCRIPTS / "make_gallery.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("id", IDS)
def test_every_id_has_a_picture_and_a_clip(id):
    with Image.open(FOLDER / f"{id}.still.webp") as still:
        assert still.size == (320, 240)
        _shows_something(np.asarray(still.convert("RGB")))
    with Image.open(FOLDER / f"{id}.clip.webp") as clip:
        assert clip.n_frames >= 10
        clip.seek(0)
        first = np.asarray(clip.convert("RGB"))
        _shows_something(first)
        clip.seek(clip.n_frames // 2)
        later = np.asarray(clip.convert("RGB"))
        assert np.abs(first.astype(int) - later).max() > 50  # something has moved


def _shows_something(picture: np.ndarray) -> None:
    assert picture.mean() > 4  # not black
    assert picture.std() > 5  # not one colour
    red, green, blue = np.moveaxis(picture.astype(int), -1, 0)
    # Bodies are brown, yellow or green, most of the world is blue or grey.
    assert (np.maximum(red, green) > blue + 20).sum() > 1e-4 * red.size


def test_the_whole_is_small():
    assert sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file()) < LIMIT


def test_the_page_filters_by_family_and_robot():
    page = (FOLDER / "index.html").read_text()
    buttons = set(re.findall(r'<button type="button" data-tag="([^"]+)"', page))
    assert {*SPACES, "Panda", "Sawyer"} <= buttons
    cards = {id: tags.split() for id, tags in re.findall(r'id="(\S+)" data-tags="([^"]+)"', page)}
    assert all(id.partition("/")[0] in tags for id, tags in cards.items())
    assert {id for id, tags in cards.items() if "Panda" in tags} == set(
        registry.ids(namespace="robosuite")
    )


def test_the_page_needs_no_server():
    page = (FOLDER / "index.html").read_text()
    assert page.count("<article") == len(IDS)
    assert "://" not in page  # everything lies beside it
    for name in ("gallery.css", "gallery.js"):
        assert f'"{name}"' in page
        assert (FOLDER / name).is_file()
