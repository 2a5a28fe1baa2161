"""Logging under robosuite's names; importing it configures nothing."""

import inspect
import logging
import os
import tempfile
import time
from pathlib import Path

LEVEL_COLORS = {
    **dict.fromkeys((logging.DEBUG, logging.INFO), "green"),
    logging.WARNING: "yellow",
    **dict.fromkeys((logging.ERROR, logging.CRITICAL), "red"),
}
FORMAT_STR = {
    "file": "[robosuite %(levelname)s - %(asctime)s] ",
    "console": "[robosuite %(levelname)s] ",
}
MESSAGE_STR = "%(message)s (%(filename)s:%(lineno)d)"
ANSI = {"red": 31, "green": 32, "yellow": 33}
ROBOSUITE_DEFAULT_LOGGER = logging.getLogger("robosuite_logs")


def _coloured(text: str, colour: str) -> str:
    return f"\x1b[1m\x1b[{ANSI[colour]}m{text}\x1b[0m"


class FileFormatter(logging.Formatter):
    """Lines with level and time."""

    kind = "file"

    def format(self, record: logging.LogRecord) -> str:
        head = _coloured(FORMAT_STR[self.kind], LEVEL_COLORS.get(record.levelno, "green"))
        return logging.Formatter(head + MESSAGE_STR, "%Y-%m-%d %H:%M:%S").format(record)


class ConsoleFormatter(FileFormatter):
    """Lines with a level."""

    kind = "console"


class DefaultLogger:
    """A logger that writes to the console, and to a file in the temporary folder.

    Args:
        console_logging_level: name of the lowest level; None for no console.
        file_logging_level: name of the lowest level; None for no file.
    """

    def __init__(
        self,
        logger_name: str = ROBOSUITE_DEFAULT_LOGGER.name,
        console_logging_level: str | None = "INFO",
        file_logging_level: str | None = None,
    ) -> None:
        self.logger_name = logger_name
        logger = self.get_logger()
        if file_logging_level is not None:
            name = f"robosuite_{str(time.time()).replace('.', '_')}_{os.getpid()}.log"
            file = logging.FileHandler(Path(tempfile.gettempdir()) / name)
            file.setLevel(file_logging_level)
            file.setFormatter(FileFormatter())
            logger.addHandler(file)
        if console_logging_level is not None:
            console = logging.StreamHandler()
            console.setFormatter(ConsoleFormatter())
            logger.addHandler(console)
            logger.setLevel(console_logging_level)

    def get_logger(self) -> logging.Logger:
        return logging.getLogger(self.logger_name)


def format_message(level: str, message: str) -> str:
    """A coloured message with its level, and the file and line of its caller."""
    frame = inspect.currentframe()
    caller = frame and frame.f_back
    place = f"{caller.f_code.co_filename}:{caller.f_lineno}" if caller else ""
    colour = LEVEL_COLORS.get(logging.getLevelNamesMapping().get(level, 0), "green")
    return _coloured(f"[{level}] {place} - {message}", colour)


def rs_assert(condition: bool, message: str) -> None:
    """Raise an AssertionError with a message unless a condition holds."""
    if not condition:
        raise AssertionError(format_message("ERROR", message))
