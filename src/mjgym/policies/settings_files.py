"""YAML files of settings, read as plain data with line numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from mjgym.policies.run_errors import ConfigError

YAML_ERRORS = (yaml.YAMLError, ValueError, RecursionError)
"""Errors of reading YAML; a date like 2020-13-01 is a ValueError."""


def mapping(file: Path) -> yaml.MappingNode | None:
    """The names and values of a YAML file as nodes; None if it is empty.

    Raises:
        ConfigError: it cannot be read, or is not a mapping.
    """
    try:
        node = yaml.compose(file.read_bytes().decode(), yaml.SafeLoader)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: is not text in UTF-8") from None
    except YAML_ERRORS as error:
        raise ConfigError(_complaint(file, error)) from None
    if node is not None and not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{file}:1: expected names with values")
    return node


def _complaint(file: Path, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or " ".join(str(error).split())
    return f"{file}{f':{mark.line + 1}' if mark else ''}: {problem}"


def entries(file: Path) -> Iterator[tuple[str, Any, str]]:
    """Names, values and places of the settings in a YAML file.

    Raises:
        ConfigError: it cannot be read, or is not a mapping from names.
    """
    node = mapping(file)
    construct = yaml.SafeLoader("").construct_document
    for key, content in node.value if node else ():
        where = f"{file}:{key.start_mark.line + 1}"
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(f"{where}: the name of a setting is a word")
        try:
            yield key.value, construct(content), where
        except YAML_ERRORS as error:
            raise ConfigError(_complaint(file, error)) from None


def settings_of(file: Path) -> dict[str, Any]:
    """The settings in the file of a run, by name, as plain data.

    Raises:
        ConfigError: it cannot be read, or lacks a setting that every run has.
    """
    settings = {name: value for name, value, _ in entries(file)}
    kinds = {"algorithm": str, "id": str, "module": str, "env": dict, "seed": int}
    later = {"evaluation_env": dict}  # missing in older runs
    for name, kind in {**kinds, **later}.items():
        if not (isinstance(settings.get(name), kind) or (name in later and name not in settings)):
            raise ConfigError(f"{file}: is damaged: {name} must be {kind.__name__}")
        if kind is dict and not all(isinstance(key, str) for key in settings.get(name, {})):
            raise ConfigError(f"{file}: is damaged: the names in {name} must be str")
    return settings
