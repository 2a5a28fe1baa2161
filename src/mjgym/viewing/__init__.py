"""Watching a policy act: one loop in real time, and the viewers that show it."""

from mjgym.viewing.opening import launch
from mjgym.viewing.session import Command, Progress, Session
from mjgym.viewing.terminal import Keys, Report
from mjgym.viewing.watch import Viewer, ViewerError, watch

__all__ = [
    "Command",
    "Keys",
    "Progress",
    "Report",
    "Session",
    "Viewer",
    "ViewerError",
    "launch",
    "watch",
]
