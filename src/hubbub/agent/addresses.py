"""Paths of the agent's sockets: the names that games look for, and the first free index (spec/rpc.md#2)."""

import os
import socket
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hubbub.protocol import rpc

DIRECTORY_VARIABLES: Final = ("XDG_RUNTIME_DIR", "TMPDIR", "TMP", "TEMP")
SOCKET_NAMES: Final = (rpc.SOCKET_PREFIX, rpc.COMPATIBLE_SOCKET_PREFIX)
"""Socket name prefixes: the one that this SDK uses, and the one that unmodified libraries use."""
PROBE_TIMEOUT_SECONDS: Final = 1.0
BACKLOG: Final = 64


class AddressUnavailable(Exception):
    """Raised when there is no free address to listen on."""


class Address(NamedTuple):
    """A listening socket and its path."""

    path: Path
    socket: socket.socket


def directories(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the writable directories in which games look for the socket, in their order.

    The first one follows the public rule. Some games also look in the user's runtime directory if no variable names it.
    Raises `Taken` if there is none."""
    first = next((Path(environ[name]) for name in DIRECTORY_VARIABLES if environ.get(name)), Path("/tmp"))
    found = [first]
    if sys.platform == "linux" and not environ.get(DIRECTORY_VARIABLES[0]):
        found.append(Path(f"/run/user/{os.getuid()}"))
    existing: list[Path] = []
    for each in found:
        if each.is_dir() and os.access(each, os.W_OK) and all(not each.samefile(other) for other in existing):
            existing.append(each)
    if not existing:
        raise AddressUnavailable(
            f"Cannot create a socket: {first} is not a writable directory. Set XDG_RUNTIME_DIR to one that is"
        )
    return existing


def claim(folders: Sequence[Path], index: int | None = None) -> list[Address]:
    """Listen at the lowest index that is free under every name and in every folder.

    All games then find the same agent. Raises `Taken` if no index is free."""
    wanted = rpc.SOCKET_INDEXES if index is None else (index,)
    for number in wanted:
        claimed = _claim_all([folder / f"{name}-ipc-{number}" for folder in folders for name in SOCKET_NAMES])
        if claimed is not None:
            return claimed
    indexes = (
        f"Index {index} is" if index is not None else f"Indexes {rpc.SOCKET_INDEXES[0]} to {rpc.SOCKET_INDEXES[-1]} are"
    )
    raise AddressUnavailable(
        f"{indexes} in use in {', '.join(map(str, folders))}. Stop the other agent or chat client first"
    )


def _claim_all(paths: list[Path]) -> list[Address] | None:
    claimed: list[Address] = []
    for path in paths:
        listening = _listen(path)
        if listening is None:
            release(claimed)
            return None
        claimed.append(Address(path, listening))
    return claimed


def _listen(path: Path) -> socket.socket | None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() or path.is_symlink():
            if _is_listening(path) or not stat.S_ISSOCK(path.lstat().st_mode):
                raise FileExistsError(path)
            # No process listens on this socket: its program was killed.
            path.unlink()
        # Create the socket with restricted permissions, so that other users cannot connect before chmod.
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        path.chmod(0o600)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        return None
    return listener


def _is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_TIMEOUT_SECONDS)
        try:
            probe.connect(str(path))
        except TimeoutError:
            # A process listens, but is busy.
            return True
        except OSError:
            return False
        return True


def release(addresses: Sequence[Address]) -> None:
    """Close the sockets and delete their files."""
    for address in addresses:
        address.socket.close()
        address.path.unlink(missing_ok=True)
