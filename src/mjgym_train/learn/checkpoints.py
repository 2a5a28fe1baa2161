"""Checkpoints as data: read without running code, whole or not at all."""

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from mjgym.policies.run_errors import ConfigError, RunError

T = TypeVar("T")


def load(file: Path, use: Callable[[dict[str, Any]], T]) -> T:
    """Return the result of a function of a checkpoint's content.

    Raises:
        RunError: the file is damaged, holds code, or the function fails.
        ConfigError: the function raises it.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            if damaged := archive.testzip():
                raise RunError(f"{file} is damaged: the checksum of {damaged} is wrong")
        # A GPU's tensors too: modules and optimizers copy them to where they are.
        content = torch.load(file, weights_only=True, map_location="cpu")
    except pickle.UnpicklingError:  # PyTorch's message tells how to run it
        raise RunError(f"{file} is not read: it holds objects whose code would run") from None
    except RunError:
        raise
    except Exception as error:  # whatever a damaged file leads to
        kind = type(error).__name__
        raise RunError(f"{file} is damaged: {kind}: {first_lines(error)}") from error
    try:
        return use(content)
    except ConfigError:
        raise
    except Exception as error:  # of state_dict and of what is missing in it
        kind = type(error).__name__
        raise RunError(
            f"{file} is of another network or version: {kind}: {first_lines(error)}"
        ) from error


def first_lines(error: Exception) -> str:
    return " ".join(line.strip() for line in str(error).splitlines()[:2])
