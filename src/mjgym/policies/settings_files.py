"""YAML files of settings, read as plain data with line numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from mjgym.policies.run_errors import ConfigError
from mjgym.util import bounded


def mapping(file: Path) -> yaml.MappingNode:
    """The names and values of a YAML file as nodes."""
    try:
        node = bounded.yaml_node(bounded.text(file, pipes=True), str(file))
    except bounded.FileError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{file}:1: expected names with values")
    return node


def entries(file: Path) -> Iterator[tuple[str, Any, str]]:
    """Names, values and places of the settings in a YAML file."""
    for key, content in mapping(file).value:
        where = f"{file}:{key.start_mark.line + 1}"
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(f"{where}: the name of a setting is a word")
        yield key.value, bounded.yaml_value(content, str(file)), where


def settings_of(file: Path) -> dict[str, Any]:
    """The settings in the file of a run, by name, as plain data."""
    settings = {name: value for name, value, _ in entries(file)}
    kinds = {"algorithm": str, "id": str, "module": str, "env": dict, "seed": int}
    later = {"evaluation_env": dict}  # missing in older runs
    for name, kind in {**kinds, **later}.items():
        if not (isinstance(settings.get(name), kind) or (name in later and name not in settings)):
            raise ConfigError(f"{file}: is damaged: {name} must be {kind.__name__}")
        if kind is dict and not all(isinstance(key, str) for key in settings.get(name, {})):
            raise ConfigError(f"{file}: is damaged: the names in {name} must be str")
    return settings
