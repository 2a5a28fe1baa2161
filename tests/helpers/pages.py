"""A viewer's page as a browser opens it, without a browser."""

import http.client
import urllib.parse
from typing import Any

from websockets.sync.client import ClientConnection, connect


def visit(url: str, path: str = "/state", **options: Any) -> ClientConnection:
    """Open a page by the address that its viewer prints; options: of its websocket."""
    address = urllib.parse.urlsplit(url)
    door = http.client.HTTPConnection(address.netloc)
    door.request("GET", f"{address.path}?{address.query}")
    cookie = door.getresponse().headers["Set-Cookie"].split(";")[0]
    door.close()
    return connect(
        f"ws://{address.netloc}{path}",
        additional_headers={"Cookie": cookie},
        **{"max_size": None, "max_queue": 1, **options},
    )
