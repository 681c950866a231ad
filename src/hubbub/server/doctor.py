"""`hubbub doctor`: looks at everything a configuration relies on, and says what is wrong and how to fix it."""

import argparse
import asyncio
import errno
import logging
import os
import secrets
import shutil
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

from hubbub.server.app import DATABASE_FILE, FILES_FOLDER
from hubbub.server.core import migrations
from hubbub.server.core.bus import BusError, open_bus
from hubbub.server.core.clock import RealClock
from hubbub.server.core.config import Config, ConfigError
from hubbub.server.core.dispatches import Dispatch
from hubbub.server.core.files import Files
from hubbub.server.core.logs import Secrets
from hubbub.server.core.migrations import MigrationError
from hubbub.server.core.payments import open_payments
from hubbub.server.core.sqlite import is_locked
from hubbub.server.transports.voice import listening

LITTLE_SPACE: Final = 1024**3
"""Free bytes below which an operator should look,"""
NO_SPACE: Final = 100 * 1024**2
"""and below which the platform should not start."""
RELEASED_MS: Final = 1_735_689_600_000
"""2025-01-01: no clock that is right shows an earlier time."""
FAR_MS: Final = 4_102_444_800_000
"""2100-01-01."""
PATIENCE_S: Final = 5.0


class Finding(msgspec.Struct, frozen=True):
    """What one check found."""

    level: Literal["ok", "note", "problem"]
    subject: str
    words: str
    fix: str = ""


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Print every finding; 1 if any of them is a problem."""
    # What libraries have to say about a server that does not answer is in the finding.
    logging.getLogger().addHandler(logging.NullHandler())
    problems = asyncio.run(_report(config))
    print("nothing is wrong" if not problems else f"{problems} problem{'s' if problems > 1 else ''}")
    return 1 if problems else 0


async def _report(config: Config) -> int:
    problems = 0
    async for finding in examine(config):
        print(f"{finding.level:<8} {finding.subject:<10} {finding.words}")
        if finding.fix:
            print(f"{'':<19} -> {finding.fix}")
        sys.stdout.flush()
        problems += finding.level == "problem"
    return problems


async def examine(config: Config) -> AsyncIterator[Finding]:
    """Look at one thing after the other."""
    yield _clock()
    yield _combination(config)
    yield _payments(config)
    if config.data is not None:
        yield await asyncio.to_thread(_folder, Path(config.data))
        yield await asyncio.to_thread(_space, Path(config.data))
    yield await asyncio.to_thread(_database, config)
    if config.nats_url is not None:
        yield await _nats(config.nats_url)
    yield await _files(config)
    yield _port(config)
    yield _public_url(config)
    yield _voice(config)
    yield _activities(config)


def _clock() -> Finding:
    now_ms = RealClock().now_ms()
    if not RELEASED_MS < now_ms < FAR_MS:
        return Finding(
            "problem",
            "clock",
            "the system clock is years off",
            "set it, and keep it right with NTP: ids and tokens hold times",
        )
    return Finding("ok", "clock", "the system clock shows a sensible time")


def _combination(config: Config) -> Finding:
    if config.nats_url is not None and config.database_url is None:
        return Finding(
            "problem",
            "processes",
            "NATS connects several processes, and the embedded database serves one",
            "give --database-url, or leave --nats-url out",
        )
    if config.database_url is not None and config.nats_url is None:
        return Finding("note", "processes", "without --nats-url only one process may use this PostgreSQL database")
    if len(config.roles) < 4 and config.nats_url is None:
        roles = ",".join(sorted(config.roles))
        return Finding(
            "note", "processes", f"only {roles} in this process, and no bus to others", "give --nats-url to all of them"
        )
    return Finding("ok", "processes", "one process" if config.nats_url is None else "several, over NATS and PostgreSQL")


def _payments(config: Config) -> Finding:
    try:
        provider = open_payments(config.payments, rehearsal=config.control)
    except ConfigError as error:
        return Finding("problem", "payments", f"{error.source} {error.problem}", "see docs/payments.md")
    return Finding("ok", "payments", "things can be bought" if provider.enabled else "nothing is for sale")


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())


def _folder(folder: Path) -> Finding:
    if folder.exists() and not folder.is_dir():
        return Finding("problem", "data", f"{folder} is not a folder", "give another --data")
    nearest = _existing(folder)
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        return Finding(
            "problem",
            "data",
            f"{nearest} cannot be written by this user",
            f"give --data elsewhere, or: chown $(id -u) {nearest}",
        )
    # Some places refuse whoever has the permission: a disk that is full, mounted to be read, or made of no files at all.
    probe = nearest / f".doctor-{secrets.token_hex(4)}"
    try:
        if folder.exists():
            probe.write_bytes(b"probe")
            probe.unlink()
        else:
            probe.mkdir()
            probe.rmdir()
    except OSError as error:
        return Finding(
            "problem", "data", f"{nearest} cannot be written: {error.strerror}", "look at its permissions and its disk"
        )
    return Finding("ok", "data", f"{folder} can be written" if folder.exists() else f"{folder} will be made")


def _space(folder: Path) -> Finding:
    free = shutil.disk_usage(_existing(folder)).free
    words = f"{free / 1024**3:.1f} GiB free"
    if free < NO_SPACE:
        return Finding("problem", "disk", words, "make room: a full disk stops every write")
    if free < LITTLE_SPACE:
        return Finding("note", "disk", words, "make room soon")
    return Finding("ok", "disk", words)


def _database(config: Config) -> Finding:
    try:
        if config.database_url is not None:
            return _postgres(config.database_url)
        if config.data is None:
            return Finding("ok", "database", "in memory")
        return _embedded(Path(config.data) / DATABASE_FILE)
    except MigrationError as error:
        return Finding("problem", "database", str(error), "run the version that made it, or restore a backup")


def _embedded(path: Path) -> Finding:
    if not path.exists():
        return Finding("ok", "database", f"{path} will be made")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)) as connection:
            words = _schema(
                lambda sql: connection.execute(sql).fetchall(), "sqlite_master WHERE name = 'schema_migrations'"
            )
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return Finding("problem", "database", f"{path}: {error}", "restore a backup, or give another --data")
    if verdict != "ok":
        return Finding("problem", "database", f"{path} is damaged: {verdict}", "restore a backup")
    if is_locked(path):
        return Finding(
            "note", "database", f"{words}; a server has it open", "stop it before another one starts on this folder"
        )
    return Finding("ok", "database", words)


def _postgres(url: str) -> Finding:
    import psycopg

    try:
        with psycopg.connect(url, connect_timeout=int(PATIENCE_S), autocommit=True) as connection:
            words = _schema(
                lambda sql: connection.execute(sql).fetchall(),
                "information_schema.tables WHERE table_schema = current_schema() AND table_name = 'schema_migrations'",
            )
            version = connection.info.server_version // 10_000
    except psycopg.Error as error:
        problem = Secrets().clean(str(error)).strip().splitlines()
        return Finding(
            "problem", "database", problem[0] if problem else "no answer", "look at --database-url and its server"
        )
    return Finding("ok", "database", f"PostgreSQL {version}, {words}")


def _schema(ask: Callable[[str], list[tuple[object, ...]]], table: str) -> str:
    known = migrations.load()
    applied: dict[int, tuple[str, str]] = {}
    if ask(f"SELECT 1 FROM {table}"):
        rows = ask("SELECT number, name, checksum FROM schema_migrations")
        applied = {int(str(number)): (str(name), str(checksum)) for number, name, checksum in rows}
    waiting = migrations.pending(applied, known)
    if not waiting:
        return f"schema {len(known)}, up to date"
    return f"schema {max(applied, default=0)}; {len(waiting)} migrations will be applied at the next start"


async def _nats(url: str) -> Finding:
    try:
        bus = open_bus(url, Dispatch, connect_timeout_ms=int(PATIENCE_S * 1000))
        await bus.start()
        await bus.close()
    except BusError as error:
        return Finding("problem", "nats", str(error), "look at --nats-url and its server")
    return Finding("ok", "nats", "answers")


async def _files(config: Config) -> Finding:
    url = config.files_url
    if url is None:
        if config.data is None:
            return Finding("ok", "files", "in memory")
        folder = Path(config.data) / FILES_FOLDER
        if not await asyncio.to_thread(folder.exists):
            # Trying it would make the folder, and a doctor leaves nothing behind.
            return Finding("ok", "files", f"{folder} will be made")
        url = str(folder)
    key = f"doctor/{secrets.token_hex(8)}"
    try:
        files = Files(url)
        await files.put(key, b"probe")
        kept = await files.get(key) == b"probe"
        await files.delete(key)
    except Exception as error:
        words = Secrets().clean(str(error)).strip().splitlines()
        return Finding(
            "problem", "files", words[0][:300] if words else type(error).__name__, "look at --files-url and its rights"
        )
    if not kept:
        return Finding("problem", "files", "what was written is not what was read", "give another --files-url")
    return Finding("ok", "files", "can be written and read")


def _port(config: Config) -> Finding:
    if config.port == 0:
        return Finding("ok", "port", "a free one will be picked")
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((config.host, config.port))
        except OSError as error:
            fix = {
                errno.EADDRINUSE: "stop what listens there, or give another --port",
                errno.EACCES: "ports below 1024 need privileges: give another --port and put a proxy before it",
                errno.EADDRNOTAVAIL: "this machine does not have that address: give another --host",
            }.get(error.errno or 0, "give another --host or --port")
            return Finding(
                "problem", "port", f"cannot listen at {config.host}:{config.port}: {error.strerror or error}", fix
            )
    return Finding("ok", "port", f"{config.host}:{config.port} is free")


def _voice(config: Config) -> Finding:
    if not listening.is_open(config):
        if "voice" not in config.roles:
            return Finding("ok", "voice", "another process's")
        return Finding(
            "note",
            "voice",
            "no voice server: nobody can call, since clients insist on TLS",
            "give --voice-certificate and --voice-key, or --voice-endpoint of a proxy that speaks TLS",
        )
    try:
        opened = listening.listen(config)
    except ConfigError as error:
        return Finding("problem", "voice", f"{error.key}: {error.problem}", "look at the voice settings")
    opened.tcp.close()
    opened.udp.close()
    shown = config.voice.endpoint or opened.endpoint if config.voice.port or config.voice.endpoint else "a free port"
    return Finding("ok", "voice", f"clients are sent to {shown}, packets to {opened.address}")


def _public_url(config: Config) -> Finding:
    anywhere = config.host in ("0.0.0.0", "::", "")
    if config.public_url is None:
        if anywhere:
            return Finding(
                "problem",
                "public url",
                f"clients would be told http://{config.host}:{config.port}",
                "give --public-url https://...",
            )
        return Finding("ok", "public url", f"http://{config.host}:{config.port}")
    parts = urlsplit(config.public_url)
    if parts.path.rstrip("/") or parts.query or parts.fragment:
        return Finding(
            "problem",
            "public url",
            f"{config.public_url} has a path",
            f"give {parts.scheme}://{parts.netloc}: all paths are ours",
        )
    if parts.hostname in ("0.0.0.0", "::"):
        return Finding(
            "problem", "public url", f"nobody can connect to {parts.hostname}", "give the name that clients use"
        )
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "http" and not local:
        return Finding(
            "note",
            "public url",
            f"{config.public_url} is not encrypted: tokens can be read on the way",
            "put TLS before it: https://...",
        )
    return Finding("ok", "public url", config.public_url)


def _activities(config: Config) -> Finding:
    proxy = config.activities.proxy_host
    if proxy is None:
        return Finding("ok", "activities", "none is served; --activities-proxy-host gives them a domain")
    own = urlsplit(config.web_url).hostname or ""
    shown = config.activity_origin(1) or ""
    if own == proxy or own.endswith(f".{proxy}"):
        return Finding(
            "problem",
            "activities",
            f"{own}, where the platform is, lies within {proxy}, where activities are",
            "give activities another domain: their pages must not come near the platform's cookies",
        )
    if proxy.endswith(f".{own}"):
        return Finding(
            "note",
            "activities",
            f"{proxy} lies below {own}: an activity's page may set cookies for both",
            "give activities a domain that is registered apart",
        )
    return Finding("ok", "activities", f"served at {shown.replace('//1.', '//APPLICATION_ID.')}")
