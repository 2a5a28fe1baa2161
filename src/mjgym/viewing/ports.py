"""Address of a viewer: the loopback interface, unless another is asked for."""

import getpass
import ipaddress
import socket

from mjgym.viewing.watch import ViewerError

FIRST, TRIED = 8080, 20  # ports to try if none is requested


class PortError(ViewerError):
    """A page cannot listen where it is told to."""


def listen(host: str, port: int | None) -> socket.socket:
    """A socket that listens, on the first free port from `FIRST` by default; 0 means any."""
    reason: object = ""
    try:
        family, *_, address = socket.getaddrinfo(
            host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError, ValueError) as error:  # the last two of what can be no name
        reason = getattr(error, "strerror", None) or error
        raise PortError(f"there is no interface {host!r}: {reason}") from None
    for candidate in range(FIRST, FIRST + TRIED) if port is None else (port,):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address[0], candidate))
            listener.listen()
        except OSError as error:
            listener.close()
            reason = error.strerror or str(error)
        else:
            return listener
    asked = f"{FIRST} to {FIRST + TRIED - 1}" if port is None else str(port)
    raise PortError(f"no viewer can listen on {host}, port {asked}: {reason}")


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an interface."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def url(listener: socket.socket) -> str:
    """The address for a browser on this machine."""
    address, port = listener.getsockname()[:2]
    if ipaddress.ip_address(address).is_unspecified:
        address = "127.0.0.1" if listener.family == socket.AF_INET else "::1"
    return f"http://{f'[{address}]' if ':' in address else address}:{port}/"


def tunnel(listener: socket.socket) -> str:
    """The ssh command that makes the same address work on another machine."""
    address, port = listener.getsockname()[:2]
    host = f"[{address}]" if ":" in address else address
    return f"ssh -L {port}:{host}:{port} {getpass.getuser()}@{socket.gethostname()}"
