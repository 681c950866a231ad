"""Backends that a configuration selects: store, bus, file store, tracer, clock, and socket and TLS of the server."""

import socket
import ssl
from pathlib import Path
from typing import NamedTuple

from hubbub.server.core.bus import Bus, LocalBus
from hubbub.server.core.clock import Clock, ControlledClock, RealClock
from hubbub.server.core.config import Config, ConfigError
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.files import Files, make_private
from hubbub.server.core.logs import Secrets
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.observation import Tracer
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.store import Database, StoreUnavailable

DATABASE_FILE = "hubbub.sqlite3"
"""File name of the embedded database in the data folder."""
FILES_FOLDER = "files"
"""Name of the folder of the file store in the data folder."""


class ServerTls(NamedTuple):
    """TLS of the HTTP server of a rehearsal."""

    context: ssl.SSLContext
    authority: str
    """Path of the PEM file with the certificate authority that clients must trust."""


def open_bus(config: Config, metrics: Metrics) -> Bus[Dispatch]:
    """Return the bus that the configuration selects; it is not started."""
    if config.nats_url is None:
        return LocalBus(metrics)
    # The import is local, because the single-process default starts in half the time without the NATS library.
    from hubbub.server.core.bus_nats import NatsBus

    return NatsBus(
        config.nats_url,
        Dispatch,
        prefix=config.bus.prefix,
        pending_bytes_max=config.bus.pending_bytes_max,
        metrics=metrics,
    )


def open_tracer(config: Config, metrics: Metrics) -> Tracer | None:
    """Return the tracer that sends spans to the configured collector; None without a collector.

    Raise ConfigError if the packages for traces are not installed."""
    if config.telemetry.endpoint is None:
        return None
    # The import is local, because the libraries are optional and most servers send no traces.
    try:
        from hubbub.server.core.spans import OpenTelemetryTracer
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        problem = "needs packages that are not installed; run: pip install 'hubbub[server,telemetry]'"
        raise ConfigError("telemetry.endpoint", "traces", problem) from None
    return OpenTelemetryTracer(config.telemetry, metrics, instance_id=str(config.worker))


def new_clock(config: Config) -> Clock:
    """Return a controlled clock for a rehearsal, and the real clock for any other server."""
    if config.control:
        real_ms = RealClock().now_ms()
        return ControlledClock(config.now_ms if config.now_ms is not None else real_ms)
    return RealClock()


def open_database(config: Config, image: bytes | None = None) -> Database:
    """Return the store that the configuration selects; it is not started.

    `image` is the serialized database that a store in memory starts with, or None. Create the data folder of the embedded
    database. Raise StoreUnavailable if that fails.
    """
    if config.database_url is not None:
        # The import is local, because the embedded default starts faster without the PostgreSQL library.
        from hubbub.server.core.postgres import PostgresDatabase

        return PostgresDatabase(config.database_url)
    if config.data is None:
        return SqliteDatabase(None, image=image)
    folder = Path(config.data)
    _create_data_folder(folder)
    return SqliteDatabase(folder / DATABASE_FILE, cache_bytes=config.database_cache_bytes)


def _create_data_folder(folder: Path) -> None:
    """Create the data folder if it does not exist. Raise StoreUnavailable if that fails."""
    try:
        # The folder contains messages and personal data, so other users of the machine must not read it.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"cannot use the data folder {folder}: {error.strerror}") from error


def open_files(config: Config) -> Files:
    """Return the file store that the configuration selects. Raise StoreUnavailable if it cannot be opened."""
    url = config.files_url
    if url is None:
        url = "memory://" if config.data is None else str(Path(config.data) / FILES_FOLDER)
    try:
        if config.files_url is None and config.data is not None:
            _create_data_folder(Path(config.data))
            make_private(Path(url))
        return Files(url)
    except OSError as error:
        raise StoreUnavailable(f"cannot store files at {Secrets().clean(url)}: {error.strerror or error}") from error


def open_socket(config: Config) -> socket.socket:
    """Return a non-blocking socket that is bound to the configured address and does not listen yet."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((config.host, config.port))
    sock.setblocking(False)
    return sock
