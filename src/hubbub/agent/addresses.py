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
SOCKET_PREFIXES: Final = (rpc.SOCKET_PREFIX, rpc.COMPATIBLE_SOCKET_PREFIX)
"""Prefixes of the socket names: the one that this SDK uses, and the one that unmodified libraries use."""
PROBE_TIMEOUT_SECONDS: Final = 1.0
BACKLOG: Final = 64

_Socket = socket.socket


class AddressUnavailable(Exception):
    """Raised when there is no directory or index that the agent can listen on."""


class ListeningSocket(NamedTuple):
    """A listening socket and its path."""

    path: Path
    socket: _Socket


def require_socket_directories(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the writable directories in which games look for the socket, in their order.

    The first directory is the one named by the first variable of `DIRECTORY_VARIABLES` that is set, or /tmp. Some games
    also look in the user's runtime directory if XDG_RUNTIME_DIR is not set. Raise `AddressUnavailable` if none of these
    is a writable directory."""
    first_directory = next((Path(environ[name]) for name in DIRECTORY_VARIABLES if environ.get(name)), Path("/tmp"))
    candidates = [first_directory]
    if sys.platform == "linux" and not environ.get(DIRECTORY_VARIABLES[0]):
        candidates.append(Path(f"/run/user/{os.getuid()}"))
    writable_directories: list[Path] = []
    for candidate in candidates:
        if (
            candidate.is_dir()
            and os.access(candidate, os.W_OK)
            and not any(map(candidate.samefile, writable_directories))
        ):
            writable_directories.append(candidate)
    if not writable_directories:
        raise AddressUnavailable(
            f"Cannot create a socket: {first_directory} is not a writable directory. Set XDG_RUNTIME_DIR to one that is"
        )
    return writable_directories


def open_sockets(directories: Sequence[Path], index: int | None = None) -> list[ListeningSocket]:
    """Open sockets that listen at the lowest index that is free with every prefix and in every directory.

    All games then find the same agent. With `index`, listen at this index only. Raise `AddressUnavailable` if no index is
    free."""
    indexes = rpc.SOCKET_INDEXES if index is None else (index,)
    for socket_index in indexes:
        listening_sockets = _open_all(
            [directory / f"{prefix}-ipc-{socket_index}" for directory in directories for prefix in SOCKET_PREFIXES]
        )
        if listening_sockets is not None:
            return listening_sockets
    subject = (
        f"Index {index} is" if index is not None else f"Indexes {rpc.SOCKET_INDEXES[0]} to {rpc.SOCKET_INDEXES[-1]} are"
    )
    raise AddressUnavailable(
        f"{subject} in use in {', '.join(map(str, directories))}. Stop the other agent or chat client first"
    )


def _open_all(paths: list[Path]) -> list[ListeningSocket] | None:
    listening_sockets: list[ListeningSocket] = []
    for path in paths:
        listener = _listen(path)
        if listener is None:
            close_sockets(listening_sockets)
            return None
        listening_sockets.append(ListeningSocket(path, listener))
    return listening_sockets


def _listen(path: Path) -> socket.socket | None:
    """Return a socket that listens at a path; None if the path is in use or not writable."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() or path.is_symlink():
            if _is_listening(path) or not stat.S_ISSOCK(path.lstat().st_mode):
                raise FileExistsError(path)
            # No process listens on this socket: its program was killed.
            path.unlink()
        # Create the socket with restricted permissions, so that other users cannot connect before chmod.
        previous_umask = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(previous_umask)
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


def close_sockets(listening_sockets: Sequence[ListeningSocket]) -> None:
    """Close the sockets of `open_sockets` and delete their files."""
    for listening_socket in listening_sockets:
        listening_socket.socket.close()
        listening_socket.path.unlink(missing_ok=True)
