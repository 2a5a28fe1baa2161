"""Loading and composing models with `mujoco.MjSpec`, and the path of the package's MJCF files."""

from mjgym.mjcf.attaching import attach
from mjgym.mjcf.binding import Bound, bind
from mjgym.mjcf.coats import Coat
from mjgym.mjcf.compose import add, assign, load, remove, without_textures, word
from mjgym.mjcf.debugging import CompileError, compile, debug
from mjgym.mjcf.elements import Spec
from mjgym.mjcf.exporting import export
from mjgym.mjcf.finding import find, find_all, name_unnamed
from mjgym.mjcf.lint.checking import check
from mjgym.mjcf.lint.comparing import Difference, diff
from mjgym.mjcf.lint.editing import edit
from mjgym.mjcf.lint.reading import Problem
from mjgym.mjcf.renaming import rename
from mjgym.util.packaged import asset_path

__all__ = [
    "Bound",
    "Coat",
    "CompileError",
    "Difference",
    "Problem",
    "Spec",
    "add",
    "asset_path",
    "assign",
    "attach",
    "bind",
    "check",
    "compile",
    "debug",
    "diff",
    "edit",
    "export",
    "find",
    "find_all",
    "load",
    "name_unnamed",
    "remove",
    "rename",
    "without_textures",
    "word",
]
