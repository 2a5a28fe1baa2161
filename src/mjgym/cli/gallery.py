"""`mjgym gallery`: a page with an image and a clip of each id, in a browser."""

import os
import sys
import webbrowser
from typing import Annotated

import typer

from mjgym.cli.output import console
from mjgym.util.packaged import assets


def gallery(
    open: Annotated[
        bool, typer.Option("--open/--path", help="Open a browser, or only print the path.")
    ] = True,
) -> None:
    """Open the gallery, a searchable offline page with an image and a clip of each id."""
    page = assets() / "gallery" / "index.html"
    print(page)
    display = any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    can_open = display or not sys.platform.startswith("linux")
    if open and not (can_open and webbrowser.open(page.as_uri())):
        command = f"{os.path.basename(sys.executable)} -m http.server --bind 127.0.0.1 -d"
        out = console(stderr=True)
        out.print("no browser can be opened here; this serves the page:", style="yellow")
        out.print(f"{command} {page.parent}", soft_wrap=True)
