"""A reverse proxy before a viewer's page that lets only the invited browser in.

The web viewers answer any request. A page of another site that is open in the same browser could
therefore read what they show and steer it: by opening a websocket, which browsers allow across
sites, or under a name of its own that resolves to this machine ("DNS rebinding"). The guard listens
where people look, refuses requests with a foreign Host or Origin or without the token of the
printed address, and relays all others to the viewer, whose own address no browser can use.

The `websockets` package, on which both viewers are built, speaks HTTP and the websocket protocol to
the browser; `http.client` and `websockets` speak them to the viewer.
"""

import asyncio
import collections
import contextlib
import html
import http
import http.client
import ipaddress
import logging
import re
import secrets
import socket
import threading
import urllib.parse
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from mjgym.viewing import ports

PATIENCE = 10.0  # s, in which a request must have come, and the viewer must answer
STOP = 5.0  # s, in which the thread must end
CLOSING = 1.0  # s, in which a browser must answer that its connection ends
MOST_FROM_BROWSER = 2**20  # bytes of a message: keys, mouse, settings of the page
MOST_FROM_VIEWER = 2**28  # bytes of a message: frames, or meshes of a whole scene
UNDERWAY = 8  # messages that a slow page may be behind
_OTHER_SITES = ("same-site", "cross-site")  # values of Sec-Fetch-Site; another port is another page
_RELAYED = ("accept", "accept-encoding", "if-modified-since", "if-none-match")  # of a request
_DROPPED = ("access-control-allow-origin", "connection", "content-length", "transfer-encoding")
# No other page may show this one in a frame, or guess what an answer is.
_SAFETY = (
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
)

_TITLE = re.compile(rb"<title>[^<]*</title>")
# MuJoCo's page gives itself its own name again, once it has loaded.
_KEEP_TITLE = """<script>
const title = document.title;
Object.defineProperty(document, "title", { get: () => title, set() {} });
</script>"""

# Of both connections.
_WEBSOCKET: dict[str, Any] = {
    "compression": None,
    "open_timeout": PATIENCE,
    "ping_interval": None,  # a page in the background may sleep
    "close_timeout": CLOSING,
    "max_queue": 1,  # only the newest frame is wanted
}

Dial = Callable[[], AbstractContextManager[socket.socket]]
"""Opens a connection to the viewer, which lasts as long as the context."""

Send = Callable[[Any], Awaitable[None]]
"""Sends a message over a websocket."""


class Refused(Exception):
    """A request that is not relayed."""

    def __init__(self, status: http.HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Policy:
    """Decides which requests are relayed: those with the token of the printed address."""

    def __init__(self, listener: socket.socket, closed: tuple[str, ...] = ()) -> None:
        address, port = listener.getsockname()[:2]
        self.token = secrets.token_urlsafe(18)
        self._cookie = f"mjgym-{port}"  # browsers keep the cookies of all ports of a host together
        self._loopback = ports.is_loopback(address)
        self._closed = closed

    def check(self, request: Request) -> Response | None:
        """The response to a request that holds the token in its address; None to relay it."""
        hosts = request.headers.get_all("host")
        if len(hosts) != 1 or not self._is_host(hosts[0]):
            raise Refused(http.HTTPStatus.FORBIDDEN, "this page is not served under that name")
        if any(
            _authority(origin) != hosts[0].lower() for origin in request.headers.get_all("origin")
        ):
            raise Refused(http.HTTPStatus.FORBIDDEN, "a page of another origin asks for this")
        navigates = "navigate" in request.headers.get_all("sec-fetch-mode")
        if not navigates and any(
            s in _OTHER_SITES for s in request.headers.get_all("sec-fetch-site")
        ):
            raise Refused(http.HTTPStatus.FORBIDDEN, "a page of another site asks for this")
        path, _, query = request.path.partition("?")
        # Viewers may decode a path before they compare it.
        if not path.startswith("/") or urllib.parse.unquote(path).rstrip("/") in self._closed:
            raise Refused(http.HTTPStatus.FORBIDDEN, "this page takes no files")
        fields = urllib.parse.parse_qsl(query, keep_blank_values=True)
        given = [value for name, value in fields if name == "token"]
        if given:
            if not self._is_token(given[0]):
                raise Refused(http.HTTPStatus.FORBIDDEN, _INVITATION)
            rest = urllib.parse.urlencode([f for f in fields if f[0] != "token"])
            return self._welcome("/" + path.lstrip("/") + (f"?{rest}" if rest else ""))
        if not self._has_cookie(request.headers):
            raise Refused(http.HTTPStatus.FORBIDDEN, _INVITATION)
        return None

    def _is_host(self, host: str) -> bool:
        """Tell whether a Host means this machine. The port may be that of a tunnel's other end."""
        try:
            name = urllib.parse.urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if ports.is_loopback(name):
            return True
        if self._loopback:
            return False
        try:
            ipaddress.ip_address(name)  # which no name server can turn into another
        except ValueError:
            own = socket.gethostname().lower()
            return name in (own, own.partition(".")[0], socket.getfqdn().lower())
        return True

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self.token.encode())

    def _has_cookie(self, headers: Headers) -> bool:
        for value in headers.get_all("cookie"):
            for pair in value.split(";"):
                name, _, given = pair.strip().partition("=")
                if name == self._cookie and self._is_token(given):
                    return True
        return False

    def _welcome(self, path: str) -> Response:
        # Not "Strict": a link in a terminal that is itself a page would come without the cookie.
        cookie = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax"
        return _response(http.HTTPStatus.SEE_OTHER, ("Location", path), ("Set-Cookie", cookie))


_INVITATION = "open the whole address that mjgym has printed, with its token"


def _authority(origin: str) -> str | None:
    """Host and port of an origin; None if it is malformed or has none, e.g. "null"."""
    try:
        return urllib.parse.urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _response(status: http.HTTPStatus, *headers: tuple[str, str], text: str = "") -> Response:
    kind = (("Content-Type", "text/plain; charset=utf-8"),) if text else ()
    return _finished(status, status.phrase, (*headers, *kind, ("Cache-Control", "no-store")), text)


def _finished(
    status: int, phrase: str, headers: tuple[tuple[str, str], ...], body: str | bytes
) -> Response:
    """A response after which the connection ends: a second request would not be looked at."""
    content = body.encode() if isinstance(body, str) else body
    last = (("Content-Length", str(len(content))), ("Connection", "close"))
    return Response(status, phrase, Headers([*headers, *_SAFETY, *last]), content)


class Guard:
    """Relays permitted requests, in its own thread.

    Args:
        listener: a bound socket that listens, see `mjgym.viewing.ports`; it is closed with the
            guard.
        dial: opens a connection to the viewer; it is called in any thread.

    Attributes:
        url: what a browser on this machine opens; it holds the token.
        visited: set once a page has connected.
    """

    def __init__(
        self, listener: socket.socket, dial: Dial, title: str, closed: tuple[str, ...] = ()
    ) -> None:
        self.visited = threading.Event()
        self._title = f"<title>{html.escape(title)}</title>{_KEEP_TITLE}".encode()
        self._listener = listener
        self._dial = dial
        self._policy = Policy(listener, closed)
        self.url = f"{ports.url(listener)}?token={self._policy.token}"
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="mjgym-guard", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all connections; more than once is fine."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOP)
        self._listener.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with serve(
            self._relay,
            sock=self._listener,
            process_request=self._answer,
            process_response=_isolate,
            select_subprotocol=lambda connection, offered: offered[0] if offered else None,
            max_size=MOST_FROM_BROWSER,
            server_header=None,
            logger=_SILENT,
            **_WEBSOCKET,
        ):
            await self._stop.wait()

    async def _answer(self, browser: ServerConnection, request: Request) -> Response | None:
        del browser
        try:
            welcome = self._policy.check(request)
            if welcome is not None:
                return welcome
            if "websocket" in [value.lower() for value in request.headers.get_all("upgrade")]:
                return None
            return await asyncio.to_thread(self._fetch, request)
        except Refused as refusal:
            return _response(refusal.status, text=f"{refusal}\n")

    def _fetch(self, request: Request) -> Response:
        asked = {name: request.headers[name] for name in _RELAYED if name in request.headers}
        page = request.path.partition("?")[0] in ("/", "/index.html")
        if page:  # whose title is replaced: it must come, and as it is
            asked = {name: value for name, value in asked.items() if name == "accept"}
        try:
            with self._dial() as connection:
                viewer = http.client.HTTPConnection("localhost", timeout=PATIENCE)
                connection.settimeout(PATIENCE)
                viewer.sock = connection
                viewer.request("GET", request.path, headers={**asked, "Connection": "close"})
                answer = viewer.getresponse()
                body = answer.read()
        except (OSError, http.client.HTTPException):
            raise Refused(http.HTTPStatus.BAD_GATEWAY, "the viewer does not answer") from None
        headers = tuple(h for h in answer.getheaders() if h[0].lower() not in _DROPPED)
        if page:
            body = _TITLE.sub(lambda _: self._title, body, count=1)
        return _finished(answer.status, answer.reason, headers, body)

    async def _relay(self, browser: ServerConnection) -> None:
        if browser.request is None:
            return
        spoken = [browser.subprotocol] if browser.subprotocol else None
        try:
            with self._dial() as connection:
                address = f"ws://localhost{browser.request.path}"
                sizes = {"max_size": MOST_FROM_VIEWER, **_WEBSOCKET}
                async with connect(
                    address, sock=connection, subprotocols=spoken, proxy=None, **sizes
                ) as viewer:
                    self.visited.set()
                    await _exchange(browser, viewer)
        except (OSError, TimeoutError, InvalidHandshake):
            await browser.close(CloseCode.INTERNAL_ERROR, "the viewer does not answer")


def _isolate(browser: ServerConnection, request: Request, response: Response) -> None:
    del browser, request
    if response.status_code != http.HTTPStatus.SWITCHING_PROTOCOLS:
        return
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    response.headers["Cross-Origin-Embedder-Policy"] = "require-corp"


async def _exchange(browser: ServerConnection, viewer: ClientConnection) -> None:
    copies = [
        asyncio.ensure_future(_copy(viewer, paced(browser))),
        asyncio.ensure_future(_copy(browser, viewer.send)),
    ]
    try:
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for copy in copies:
            copy.cancel()
        await asyncio.gather(*copies, return_exceptions=True)
    # The page tells by the code why it was sent away; some codes only mean that none was given.
    if viewer.close_code is not None:
        given = viewer.close_code
        silent = given in (CloseCode.NO_STATUS_RCVD, CloseCode.ABNORMAL_CLOSURE)
        code = CloseCode.GOING_AWAY if silent else given
        await browser.close(code, viewer.close_reason or "")


async def _copy(source: ServerConnection | ClientConnection, send: Send) -> None:
    with contextlib.suppress(ConnectionClosed):
        async for message in source:
            await send(message)


def paced(connection: ServerConnection) -> Send:
    """The connection's `send`, which waits while the other side is `UNDERWAY` messages behind.

    Else the system's buffers hold pictures of many seconds, which a slow page shows one by one.
    Each message is followed by a ping, which is answered once the message has been read.
    """
    send = connection.send
    unread: collections.deque[Awaitable[float]] = collections.deque()

    async def send_paced(message: Any) -> None:
        await send(message)
        unread.append(await connection.ping())
        if len(unread) > UNDERWAY:
            await unread.popleft()

    return send_paced


# Without handlers, the last resort of `logging` would print each browser that comes and goes.
_SILENT = logging.getLogger("mjgym.viewing.guard")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
