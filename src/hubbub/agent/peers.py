"""Lookup of the user that owns the other end of a local TCP connection."""

import socket
import struct
from pathlib import Path
from typing import Final

TCP_TABLE: Final = Path("/proc/net/tcp")
"""Table of the IPv4 connections of this machine; only Linux has it."""
_LOCAL_ADDRESS_COLUMN, _REMOTE_ADDRESS_COLUMN, _UID_COLUMN = 1, 2, 7
"""Columns of the table, counted from 0."""


def find_peer_uid(peer_address: tuple[str, int], own_address: tuple[str, int]) -> int | None:
    """Return the user ID of the program at `peer_address` that is connected to `own_address`, or None.

    None means that the connection is not in the table, or that the system has no table."""
    # The connection is in the table twice; the line of the peer has the address of the peer as its local address.
    local, remote = _format_address(*peer_address), _format_address(*own_address)
    try:
        lines = TCP_TABLE.read_text().splitlines()[1:]
    except OSError:
        return None
    for fields in map(str.split, lines):
        if len(fields) > _UID_COLUMN and (fields[_LOCAL_ADDRESS_COLUMN], fields[_REMOTE_ADDRESS_COLUMN]) == (
            local,
            remote,
        ):
            return int(fields[_UID_COLUMN])
    return None


def _format_address(host: str, port: int) -> str:
    """Return an IPv4 address and a port as in the table: the address in the byte order of the machine, both in hex."""
    (number,) = struct.unpack("=I", socket.inet_aton(host))
    return f"{number:08X}:{port:04X}"
