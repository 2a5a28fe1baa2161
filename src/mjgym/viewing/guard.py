"""A reverse proxy before a viewer's page that lets only the invited browser in.

The web viewers answer whoever asks. A page of another site that is open in the same browser could
therefore read what they show and steer it: by opening a websocket, which browsers allow across
sites, or under a name of its own that resolves to this machine ("DNS rebinding"). The guard listens
where people look, refuses requests with a foreign Host or Origin or without the token of the
printed address, and relays all others to the viewer, whose own address no browser can use.
"""

import asyncio
import contextlib
import http
import ipaddress
import secrets
import socket
import threading
import urllib.parse
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mjgym.viewing import ports

HEAD = 65536  # bytes of a request's or a response's head, at most
PATIENCE = 10.0  # s, in which a head must have come
CHUNK = 65536  # bytes that are relayed at a time
STOP = 5.0  # s, in which the thread must end
_OTHER_SITES = ("same-site", "cross-site")  # values of Sec-Fetch-Site; another port is another page

Dial = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class Refused(Exception):
    """A request that is not relayed.

    Args:
        status: of the response.
        reason: its text.
    """

    def __init__(self, status: http.HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Head:
    """The first line and the headers of a request or a response.

    Attributes:
        first: the first line.
        headers: names as they were written, and values, in order.
    """

    first: str
    headers: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, content: bytes) -> "Head":
        """The head in bytes that end with an empty line.

        Raises:
            ValueError: it is not of that form; nothing is read in two ways.
        """
        first, *lines = content.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        headers = []
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip() or "\n" in line or "\r" in line:
                raise ValueError(f"a malformed header: {line!r}")
            headers.append((name, value.strip()))
        return cls(first, tuple(headers))

    def values(self, name: str) -> list[str]:
        """The values of a header, in order."""
        return [value for key, value in self.headers if key.lower() == name]

    def without(self, *names: str) -> "Head":
        """The head less the headers of some names."""
        return Head(self.first, tuple(h for h in self.headers if h[0].lower() not in names))

    def closing(self) -> "Head":
        """The head, which says that the connection ends with what it begins."""
        return Head(self.first, (*self.without("connection").headers, ("Connection", "close")))

    def to_bytes(self) -> bytes:
        """As it is sent."""
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Policy:
    """Rules for the requests that are relayed.

    Args:
        listener: where the guard listens.
        closed: paths that nobody may ask for.

    Attributes:
        token: what the printed address must hold, once; a cookie holds it from then on.
    """

    def __init__(self, listener: socket.socket, closed: tuple[str, ...] = ()) -> None:
        address, port = listener.getsockname()[:2]
        self.token = secrets.token_urlsafe(18)
        self._cookie = f"mjgym-{port}"  # browsers keep the cookies of all ports of a host together
        self._loopback = ports.is_loopback(address)
        self._closed = closed

    def check(self, request: Head) -> Head | None:
        """The response to a request that holds the token in its address; None to relay it.

        Raises:
            Refused: the request must not be relayed.
        """
        method, _, target = request.first.partition(" ")
        if method not in ("GET", "HEAD"):
            raise Refused(http.HTTPStatus.METHOD_NOT_ALLOWED, "this page is read with GET")
        self._check_sender(request)
        target = target.partition(" ")[0]
        path, _, query = target.partition("?")
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
        if not self._has_cookie(request):
            raise Refused(http.HTTPStatus.FORBIDDEN, _INVITATION)
        return None

    def _check_sender(self, request: Head) -> None:
        """Refuse what a page of another site asks for, or what was asked under another name."""
        hosts, origins = request.values("host"), request.values("origin")
        if len(hosts) != 1 or not self._is_host(hosts[0]):
            raise Refused(http.HTTPStatus.FORBIDDEN, "this page is not served under that name")
        if any(urllib.parse.urlsplit(o).netloc.lower() != hosts[0].lower() for o in origins):
            raise Refused(http.HTTPStatus.FORBIDDEN, "a page of another origin asks for this")
        navigates = "navigate" in request.values("sec-fetch-mode")
        if not navigates and any(s in _OTHER_SITES for s in request.values("sec-fetch-site")):
            raise Refused(http.HTTPStatus.FORBIDDEN, "a page of another site asks for this")

    def _is_host(self, host: str) -> bool:
        """Whether a Host means this machine. The port may be that of a tunnel's other end."""
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
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _has_cookie(self, request: Head) -> bool:
        for value in request.values("cookie"):
            for pair in value.split(";"):
                name, _, given = pair.strip().partition("=")
                if name == self._cookie and self._is_token(given):
                    return True
        return False

    def _welcome(self, path: str) -> Head:
        """Hand out the cookie, and take the token out of the browser's address."""
        # Not "Strict": a link in a terminal that is itself a page would come without the cookie.
        cookie = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax"
        return _response(http.HTTPStatus.SEE_OTHER, ("Location", path), ("Set-Cookie", cookie))


_INVITATION = "open the whole address that mjgym view has printed, with its token"


def _response(status: http.HTTPStatus, *headers: tuple[str, str], length: int = 0) -> Head:
    more = (("Content-Length", str(length)), ("Cache-Control", "no-store"))
    return Head(f"HTTP/1.1 {status} {status.phrase}", (*headers, *more)).closing()


class Guard:
    """Relays, in a thread of its own, what the policy lets through.

    Args:
        listener: a bound socket that listens, see `mjgym.viewing.ports`; it is closed with the
            guard.
        dial: opens a connection to the viewer.
        closed: paths that nobody may ask for.

    Attributes:
        url: what a browser on this machine opens; it holds the token.
    """

    def __init__(self, listener: socket.socket, dial: Dial, closed: tuple[str, ...] = ()) -> None:
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
        server = await asyncio.start_server(self._answer, sock=self._listener, limit=HEAD)
        await self._stop.wait()
        server.close()  # the runner cancels the connections

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            try:
                request = await _head(reader)
                welcome = self._policy.check(request)
                if welcome is None:
                    await self._relay(request, reader, writer)
                else:
                    writer.write(welcome.to_bytes())
            except Refused as refusal:
                text = f"{refusal}\n".encode()
                kind = ("Content-Type", "text/plain; charset=utf-8")
                writer.write(_response(refusal.status, kind, length=len(text)).to_bytes() + text)
            finally:
                writer.close()
                await writer.wait_closed()

    async def _relay(
        self, request: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        upgrades = "websocket" in [value.lower() for value in request.values("upgrade")]
        # One request for each connection: a second one would not be looked at.
        sent = request if upgrades else request.closing()
        try:
            inner_reader, inner_writer = await self._dial()
        except OSError:
            raise Refused(http.HTTPStatus.BAD_GATEWAY, "the viewer has ended") from None
        try:
            inner_writer.write(sent.to_bytes())
            await inner_writer.drain()
            try:
                response = await _head(inner_reader)
            except Refused:
                raise Refused(http.HTTPStatus.BAD_GATEWAY, "the viewer gives no answer") from None
            upgraded = upgrades and response.first.split()[1:2] == ["101"]
            response = response.without("access-control-allow-origin")
            writer.write((response if upgraded else response.closing()).to_bytes())
            copies = [asyncio.ensure_future(_copy(inner_reader, writer))]
            if upgraded:
                copies.append(asyncio.ensure_future(_copy(reader, inner_writer)))
            try:
                await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for copy in copies:
                    copy.cancel()
                await asyncio.gather(*copies, return_exceptions=True)
        finally:
            inner_writer.close()


async def _head(reader: asyncio.StreamReader) -> Head:
    """The head of a request or a response.

    Raises:
        Refused: it does not come, is too long, or is malformed.
    """
    try:
        return Head.parse(await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE))
    except TimeoutError:
        raise Refused(http.HTTPStatus.REQUEST_TIMEOUT, "the request does not come") from None
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
        raise Refused(http.HTTPStatus.BAD_REQUEST, "this is not a request") from None


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Relay bytes until one side ends."""
    while content := await reader.read(CHUNK):
        writer.write(content)
        await writer.drain()
