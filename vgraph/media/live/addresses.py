"""Which addresses may be reached. What a user gives, and what a server sends on to, must not lead into the network behind this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from vgraph.errors import MediaError, UserError

PORTS: Final = {"http": 80, "https": 443, "rtsp": 554, "rtsps": 322, "udp": 0}
"""The protocols there are, with their usual ports."""


@dataclass(frozen=True, slots=True)
class Address:
    """A checked address. `ip` is what its host was when it was checked: connect there, so that a name cannot come to mean another place.

    `plain` has no user, no password and no query: what may be kept and shown.
    """

    url: str
    scheme: str
    host: str
    port: int
    ip: str

    @property
    def plain(self) -> str:
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, _place(self.host, parts.port), parts.path, "", ""))

    @property
    def pinned(self) -> str:
        """The address with the number in the host's place."""
        parts = urlsplit(self.url)
        user = parts.netloc.rpartition("@")[0]
        place = _place(self.ip, parts.port)
        return urlunsplit(parts._replace(netloc=f"{user}@{place}" if user else place))


def _place(host: str, port: int | None) -> str:
    named = f"[{host}]" if ":" in host else host
    return named if port is None else f"{named}:{port}"


def is_address(text: str) -> bool:
    return "://" in text


def checked_address(url: str, allowed: Sequence[str] = ()) -> Address:
    """An address that may be reached: of a known protocol, at a public host, or at one of `allowed` (names, numbers, networks, or `*`).

    Raises UserError for any other, MediaError where the host's name leads nowhere.
    """
    parts = _parts(url)
    host = parts.hostname or ""
    numbers = _numbers(host, parts.port or PORTS[parts.scheme])
    refused = [number for number in numbers if not _may(host, number, allowed)]
    if refused:
        raise UserError(
            f"{parts.scheme}://{host}: leads to {refused[0]}, which is no public address; VGRAPH_LIVE__ALLOWED_HOSTS={host} allows it"
        )
    return Address(url, parts.scheme, host, parts.port or PORTS[parts.scheme], numbers[0])


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UserError(f"{url!r} is not an address: {error}") from None
    if parts.scheme not in PORTS:
        raise UserError(f"{parts.scheme}: is no protocol that is read; there are: {', '.join(PORTS)}")
    if not parts.hostname:
        raise UserError(f"{parts.scheme}: the address names no host")
    if parts.scheme == "udp" and port is None:
        raise UserError("udp: the address needs a port, for example udp://239.0.0.1:5000")
    if any(ord(character) <= 32 for character in url):
        raise UserError("an address holds no spaces and no control characters")
    return parts


def _numbers(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise MediaError(f"{host}: this host's name leads nowhere ({error})", path=host) from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _may(host: str, number: str, allowed: Sequence[str]) -> bool:
    """A public number, or one that is allowed; numbers that hold another one (IPv4 in IPv6) are judged by that."""
    address = ipaddress.ip_address(number.partition("%")[0])
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    judged = inner or address
    if judged.is_global and not judged.is_multicast:
        return True
    return any(_allows(entry, host, judged) for entry in allowed)


def _allows(entry: str, host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if entry == "*" or entry.lower() == host.lower():
        return True
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
