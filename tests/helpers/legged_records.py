"""The recorded models of mjlab and MuJoCo Playground."""

import functools
import json
from typing import Any

from places import DATA

FOLDER = DATA / "legged"
PREFIX = "robot/"  # of the names in mjlab's models


@functools.cache
def model_facts(name: str) -> dict[str, Any]:
    """The numbers of a recorded model, with plain names."""
    text = (FOLDER / f"model_{name}.json").read_text()
    return json.loads(text.replace(f'"{PREFIX}', '"'))
