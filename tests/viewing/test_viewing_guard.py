"""The door of a viewer's page: who is refused, and that the viewers have no other door."""

import contextlib
import http.client
import importlib
import importlib.util
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request
from websockets.sync.client import connect
from websockets.sync.server import serve

import mjgym  # noqa: F401  (registers the ids)
from mjgym.viewing import Session, ports
from mjgym.viewing.guard import MOST_FROM_BROWSER, Guard, Policy, Refused

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
        module = importlib.import_module(f"mjgym.viewing.{'web' if envs == 1 else 'batch'}")
        viewer = (module.Web if envs == 1 else module.BatchViewer)(
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


@pytest.mark.parametrize("envs", [pytest.param(1, marks=pytest.mark.slow), BATCH])
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
        assert b"<title>dmc/pendulum-swingup-v0</title>" in page
        assert "Access-Control-Allow-Origin" not in headers
        assert headers.get_all("X-Frame-Options") == ["DENY"]
        assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert ("Cross-Origin-Opener-Policy" in headers) == (envs == 1)  # as the viewer answers
        path = "/state?sid=a" if envs == 1 else "/"
        socket_headers = {**UPGRADE, "Cookie": cookie}
        if envs > 1:
            import viser

            socket_headers["Sec-WebSocket-Protocol"] = f"viser-v{viser.__version__}"
        for foreign in (
            {"Origin": "https://example.com"},
            {"Origin": "null"},
            {"Origin": "http://[::1"},
            {"Origin": ""},
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


@pytest.mark.weekly
def test_pages_one_after_another_in_a_process():
    """A closed page that somebody still refers to leaves the next one alone."""
    kept, before = [], listening()
    for _ in range(3):
        with opened(1) as viewer:
            kept.append(viewer)
            enter(viewer.url)
        assert listening() == before


@pytest.mark.weekly
@pytest.mark.skipif(importlib.util.find_spec("mjviser") is None, reason="needs mjviser")
def test_the_batch_viewers_own_port_says_nothing():
    import viser

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


def guarding(listener, dial):
    """A guard, which is closed at the block's end."""
    return contextlib.closing(Guard(listener, dial, "task"))


@pytest.fixture
def listener():
    with ports.listen("127.0.0.1", 0) as found:
        yield found


class TestPolicy:
    def request(self, listener, policy, *headers, path="/", host=None):
        port = listener.getsockname()[1]
        cookie = ("Cookie", f"other=1; mjgym-{port}={policy.token}")
        named = f"127.0.0.1:{port}" if host is None else host
        return Request(path, Headers([("Host", named), cookie, *headers]))

    def test_an_own_page_is_let_in(self, listener):
        policy = Policy(listener)
        port = listener.getsockname()[1]
        assert policy.check(self.request(listener, policy)) is None
        own = ("Origin", f"http://127.0.0.1:{port}")
        assert policy.check(self.request(listener, policy, own)) is None
        linked = (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"))
        assert policy.check(self.request(listener, policy, *linked)) is None

    @pytest.mark.parametrize(
        ("path", "more"),
        [
            ("http://example.com/", ()),
            ("/", (("host", "localhost"),)),
            ("/", (("Origin", "http://[::1"),)),
            ("/drop", ()),
            ("/?token=", ()),
            ("/?token=%ff%ed%a0%80", ()),
        ],
    )
    def test_refusals(self, listener, path, more):
        policy = Policy(listener, ("/drop",))
        with pytest.raises(Refused) as refused:
            policy.check(self.request(listener, policy, *more, path=path))
        assert refused.value.status == 403

    def test_the_rest_of_the_query_is_kept_without_the_token(self, listener):
        policy = Policy(listener)
        path = f"//evil.example/?a=1&token={policy.token}"
        welcome = policy.check(self.request(listener, policy, path=path))
        assert welcome.headers.get_all("location") == ["/evil.example/?a=1"]

    def test_an_open_interface_has_the_names_of_the_machine(self):
        with ports.listen("0.0.0.0", 0) as listener:
            policy = Policy(listener)
            for host in ("192.0.2.7:80", "[2001:db8::1]:80", socket.gethostname(), "localhost:1"):
                assert policy.check(self.request(listener, policy, host=host)) is None, host
            for host in ("rebound.example.com", "", "127.0.0.1.example.com"):
                with pytest.raises(Refused):
                    policy.check(self.request(listener, policy, host=host))


class TestGuard:
    def test_one_request_of_a_connection_is_relayed_and_not_the_cookie(self, listener):
        asked = []

        @contextlib.contextmanager
        def dial():
            near, far = socket.socketpair()
            with near, far:
                far.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                yield near
                asked.append(far.recv(65536))

        with guarding(listener, dial) as guard:
            port, cookie = enter(guard.url)
            status, headers, body = ask(port, "/a?b=1", Cookie=cookie)
            assert (status, body, headers["Connection"]) == (200, b"ok", "close")
            with socket.create_connection(("127.0.0.1", port), 30) as client:
                head = f"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n"
                client.sendall((head + "GET /secret HTTP/1.1\r\n\r\n").encode())
                answer = b""
                with contextlib.suppress(ConnectionResetError):  # nobody reads the second
                    while more := client.recv(65536):
                        answer += more
            assert answer.count(b"HTTP/1.1") <= 1
        assert asked[0].startswith(b"GET /a?b=1 HTTP/1.1\r\n")
        assert cookie.encode() not in asked[0]
        assert b"secret" not in b"".join(asked)

    @pytest.mark.parametrize(
        "content",
        [
            b"nonsense\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\n X: 1\r\n\r\n",
            b"A: " + b"a" * 200_000,
        ],
    )
    def test_what_is_no_request_is_refused(self, listener, content):
        dialed = []

        def dial():
            dialed.append(True)
            raise ConnectionRefusedError

        # The guard closes while the client still writes: that may reset the connection at any
        # call, before or after the answer has been read.
        with (
            guarding(listener, dial),
            socket.create_connection(listener.getsockname(), 30) as client,
            contextlib.suppress(ConnectionError),
        ):
            client.sendall(content)
            answer = client.recv(12)  # none, or from websockets 17 on an error
            assert not answer or answer.startswith(b"HTTP/1.1 4"), answer
        assert not dialed

    def test_a_viewer_that_has_ended(self, listener):
        def dial():
            raise ConnectionRefusedError

        with guarding(listener, dial) as guard:
            port, cookie = enter(guard.url)
            assert ask(port, "/", Cookie=cookie)[0] == 502
            own = {"additional_headers": {"Cookie": cookie}}
            with (
                connect(f"ws://127.0.0.1:{port}", **own) as client,
                pytest.raises(ConnectionClosed) as closed,
            ):
                client.recv(timeout=30)
            assert closed.value.rcvd.code == 1011

    @contextlib.contextmanager
    def before_a_viewer(self, listener, handler):
        """A guard of a websocket server."""
        with serve(handler, "127.0.0.1", 0, max_size=None) as viewer:
            serving = threading.Thread(target=viewer.serve_forever)
            serving.start()
            address = viewer.socket.getsockname()
            try:
                with guarding(listener, lambda: socket.create_connection(address, 30)) as guard:
                    yield guard
            finally:
                viewer.shutdown()
                serving.join(30)

    def test_a_message_of_a_browser_is_bounded(self, listener):
        """What is allowed passes; more ends the connection, and never comes to the viewer."""
        heard, came = [], threading.Event()

        def hear(connection):
            for message in connection:
                heard.append(len(message))
                came.set()

        with self.before_a_viewer(listener, hear) as guard:
            port, cookie = enter(guard.url)
            own = {"additional_headers": {"Cookie": cookie}}
            with connect(f"ws://127.0.0.1:{port}", **own) as client:
                client.send(bytes(MOST_FROM_BROWSER))
                assert came.wait(30)
                with contextlib.suppress(ConnectionClosed):
                    client.send(bytes(MOST_FROM_BROWSER + 1))
                with pytest.raises(ConnectionClosed) as closed:
                    client.recv(timeout=30)
            assert closed.value.rcvd.code == 1009  # message too big
        assert heard == [MOST_FROM_BROWSER]

    def test_a_websocket_passes_both_ways_and_keeps_its_closing_code(self, listener):
        def echo(connection):
            connection.send("of " + connection.request.path)
            for message in connection:
                if message == "end":
                    connection.close(4001, "enough")
                else:  # pictures may be larger than what a browser says
                    connection.send(message * 1_000_000 if message == b"large" else message)

        with self.before_a_viewer(listener, echo) as guard:
            port, cookie = enter(guard.url)
            own = {"additional_headers": {"Cookie": cookie}, "max_size": None}
            with connect(f"ws://127.0.0.1:{port}/state?sid=a", **own) as client:
                assert client.recv(timeout=30) == "of /state?sid=a"
                for message in ("text", b"bytes"):
                    client.send(message)
                    assert client.recv(timeout=30) == message
                client.send(b"large")
                assert client.recv(timeout=30) == b"large" * 1_000_000
                client.send("end")
                with pytest.raises(ConnectionClosed) as closed:
                    client.recv(timeout=30)
                assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "enough")

    @pytest.mark.slow
    def test_its_end_leaves_no_task_behind(self):
        """Whatever stands open: nothing asked, half a request, a websocket without a word."""
        told = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LEAVING],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (told.returncode, told.stdout, told.stderr) == (0, "ended\n", "")


LEAVING = """
import contextlib, gc, socket, threading
from websockets.sync.client import connect
from websockets.sync.server import serve
from mjgym.viewing import ports
from mjgym.viewing.guard import Guard

inner = serve(lambda connection: list(connection), "127.0.0.1", 0)
threading.Thread(target=inner.serve_forever, daemon=True).start()

@contextlib.contextmanager
def dial():
    with socket.create_connection(inner.socket.getsockname()) as connection:
        yield connection

listener = ports.listen("127.0.0.1", 0)
guard = Guard(listener, dial, "task")
address = listener.getsockname()
idle = socket.create_connection(address)
half = socket.create_connection(address)
half.sendall(b"GET / HTTP/1.1\\r\\nHost: ")
cookie = f"mjgym-{address[1]}={guard.url.partition('token=')[2]}"
speaking = connect(f"ws://127.0.0.1:{address[1]}/", additional_headers={"Cookie": cookie})
guard.close()
del guard
gc.collect()
print("ended")
"""
