"""The door of a viewer's page: who is refused, and that the viewers have no other door."""

import asyncio
import contextlib
import http.client
import importlib
import importlib.util
import os
import re
import socket
import threading
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import mjgym  # noqa: F401  (registers the ids)
from mjgym.viewing import Session, ports
from mjgym.viewing.guard import Guard, Head, Policy, Refused

BATCH = pytest.param(
    2,
    marks=pytest.mark.skipif(importlib.util.find_spec("mjviser") is None, reason="needs mjviser"),
)
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@contextlib.contextmanager
def opened(envs):
    """A viewer, while another thread runs it."""
    ready, stop, seen = threading.Event(), threading.Event(), {}

    def loop():
        env = gymnasium.make("dmc/pendulum-swingup-v0")
        if envs > 1:
            env = gymnasium.make_vec("dmc/pendulum-swingup-v0", num_envs=envs)
        shape = env.action_space.shape
        session = Session(env, lambda observation: np.zeros(shape))
        module = importlib.import_module(f"mjgym.viewing.{'web' if envs == 1 else 'several'}")
        viewer = (module.Web if envs == 1 else module.Several)(
            session, 0, ports.listen("127.0.0.1", 0)
        )
        seen["viewer"] = viewer
        ready.set()
        try:
            while not stop.wait(0.02) and viewer.sync(session):
                session.advance()
        finally:
            viewer.close()
            env.close()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        assert ready.wait(60)
        yield seen["viewer"]
    finally:
        stop.set()
        thread.join(60)


def ask(port, path, **headers):
    """The status, the headers and the text of the response to a GET."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest("GET", path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        body = b"" if response.status == 101 else response.read()
        return response.status, response.headers, body
    finally:
        connection.close()


def split(url):
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/\?token=[\w-]{24})", url)
    return int(found[1]), found[2]


def enter(url):
    """The port, and the cookie that the printed address is answered with."""
    port, path = split(url)
    status, headers, _ = ask(port, path)
    assert (status, headers["Location"]) == (303, "/")
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "SameSite=Lax" in headers["Set-Cookie"]
    return port, headers["Set-Cookie"].split(";")[0]


def listening():
    """The interfaces and ports on which this process listens, as the kernel writes them."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(descriptor))
    rows = Path("/proc/self/net/tcp").read_text() + Path("/proc/self/net/tcp6").read_text()
    fields = [row.split() for row in rows.splitlines()]
    return {f[1] for f in fields if f[3] == "0A" and f"socket:[{f[9]}]" in links}


@pytest.mark.parametrize("envs", [1, BATCH])
def test_only_the_invited_browser_is_let_in(envs, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    with opened(envs) as viewer:
        port, cookie = enter(viewer.url)
        own = f"http://127.0.0.1:{port}"
        for path in ("/", "/model", "/index.html"):
            assert ask(port, path)[0] == 403, "without the token"
            assert ask(port, path + "?token=guess")[0] == 403
        status, headers, page = ask(port, "/", Cookie=cookie)
        assert status == 200
        assert b"<html" in page
        assert "Access-Control-Allow-Origin" not in headers
        path = "/state?sid=a" if envs == 1 else "/"
        socket_headers = {**UPGRADE, "Cookie": cookie}
        if envs > 1:
            import viser

            socket_headers["Sec-WebSocket-Protocol"] = f"viser-v{viser.__version__}"
        for foreign in (
            {"Origin": "https://example.com"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:1"},  # another program's page on this machine
            {"Host": "rebound.example.com"},
            {"Host": f"192.0.2.7:{port}"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ):
            assert ask(port, "/", Cookie=cookie, **foreign)[0] == 403, foreign
            assert ask(port, path, **socket_headers, **foreign)[0] == 403, foreign
        assert ask(port, path, **UPGRADE, Origin=own)[0] == 403, "without the token"
        assert ask(port, path, **socket_headers, Origin=own)[0] == 101
        assert ask(port, path, **socket_headers, Host="localhost:99")[0] == 101, "a tunnel's end"
        for closed in ("/drop", "/drop?sid=a", "/%64rop", "/drop/") if envs == 1 else ():
            assert ask(port, closed, **socket_headers, Origin=own)[0] == 403


@pytest.mark.parametrize("envs", [1, BATCH])
def test_nothing_is_bound_but_to_loopback(envs, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    before = listening()
    with opened(envs) as viewer:
        found = listening() - before
        assert any(where.endswith(f":{split(viewer.url)[0]:04X}") for where in found)
        assert {where.split(":")[0] for where in found} == {"0100007F"}
    assert listening() == before


@pytest.mark.skipif(importlib.util.find_spec("mjviser") is None, reason="needs mjviser")
def test_the_batch_viewers_own_port_says_nothing():
    import viser
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    with opened(2) as viewer:
        protocols = [f"viser-v{viser.__version__}"]
        url = f"ws://127.0.0.1:{viewer._server.get_port()}"
        with connect(url, subprotocols=protocols) as client:
            with pytest.raises(ConnectionClosed) as closed:
                client.recv(timeout=30)
            assert closed.value.rcvd.code == 1008
        port, cookie = enter(viewer.url)
        guarded = {"additional_headers": {"Cookie": cookie}, "subprotocols": protocols}
        with connect(f"ws://127.0.0.1:{port}", **guarded) as client:
            assert client.recv(timeout=30)


@pytest.fixture
def listener():
    with ports.listen("127.0.0.1", 0) as found:
        yield found


class TestPolicy:
    def head(self, policy, *headers, first="GET / HTTP/1.1"):
        port = next(iter(re.findall(r"\d+$", policy._cookie)))
        cookie = ("Cookie", f"other=1; mjgym-{port}={policy.token}")
        return Head(first, (("Host", f"127.0.0.1:{port}"), cookie, *headers))

    def test_an_own_page_is_let_in(self, listener):
        policy = Policy(listener)
        port = listener.getsockname()[1]
        assert policy.check(self.head(policy)) is None
        assert policy.check(self.head(policy, ("Origin", f"http://127.0.0.1:{port}"))) is None
        linked = (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"))
        assert policy.check(self.head(policy, *linked)) is None

    @pytest.mark.parametrize(
        ("first", "more", "status"),
        [
            ("POST / HTTP/1.1", (), 405),
            ("GET http://example.com/ HTTP/1.1", (), 403),
            ("GET / HTTP/1.1", (("host", "localhost"),), 403),
            ("GET /drop HTTP/1.1", (), 403),
            ("GET /?token= HTTP/1.1", (), 403),
        ],
    )
    def test_refusals(self, listener, first, more, status):
        policy = Policy(listener, ("/drop",))
        with pytest.raises(Refused) as refused:
            policy.check(self.head(policy, *more, first=first))
        assert refused.value.status == status

    def test_the_rest_of_the_query_is_kept_without_the_token(self, listener):
        policy = Policy(listener)
        first = f"GET //evil.example/?a=1&token={policy.token} HTTP/1.1"
        welcome = policy.check(self.head(policy, first=first))
        assert welcome.values("location") == ["/evil.example/?a=1"]

    def test_an_open_interface_has_the_names_of_the_machine(self):
        with ports.listen("0.0.0.0", 0) as listener:
            policy = Policy(listener)
            for host in ("192.0.2.7:80", "[2001:db8::1]:80", socket.gethostname(), "localhost:1"):
                assert policy._is_host(host), host
            for host in ("rebound.example.com", "", "127.0.0.1.example.com"):
                assert not policy._is_host(host), host


class TestGuard:
    def test_a_second_request_of_a_connection_is_not_relayed(self, listener):
        asked = []

        async def viewer(reader, writer):
            asked.append(await reader.read(65536))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            writer.write_eof()
            asked.append(await reader.read(65536))
            writer.close()

        with ports.listen("127.0.0.1", 0) as inner:

            async def dial():
                if not asked:
                    asked.append(await asyncio.start_server(viewer, sock=inner))
                return await asyncio.open_connection(*inner.getsockname())

            guard = Guard(listener, dial)
            try:
                port, cookie = enter(guard.url)
                with socket.create_connection(("127.0.0.1", port), 30) as client:
                    head = f"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n"
                    client.sendall((head + "GET /secret HTTP/1.1\r\n\r\n").encode())
                    answer = b""
                    while more := client.recv(65536):
                        answer += more
                assert answer.endswith(b"\r\n\r\nok")
                assert b"Connection: close" in answer
            finally:
                guard.close()
        assert b"secret" not in b"".join(asked[1:])

    @pytest.mark.parametrize(
        "content",
        [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n X: 1\r\n\r\n", b"A: " + b"a" * 200_000],
    )
    def test_what_is_no_request_is_refused(self, listener, content):
        dialed = []

        async def dial():
            dialed.append(True)
            raise ConnectionRefusedError

        guard = Guard(listener, dial)
        try:
            # The guard closes while the client still writes: that may reset the connection at any
            # call, before or after the answer has been read.
            with (
                socket.create_connection(listener.getsockname(), 30) as client,
                contextlib.suppress(ConnectionError),
            ):
                client.sendall(content)
                assert client.recv(12) in (b"HTTP/1.1 400", b"HTTP/1.1 403", b"HTTP/1.1 405")
        finally:
            guard.close()
        assert not dialed
