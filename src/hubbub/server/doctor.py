"""`hubbub doctor` without `--url`: checks everything that a configuration depends on, and reports problems with fixes."""

import argparse
import asyncio
import errno
import http.client
import logging
import os
import secrets
import shutil
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from hubbub.server.core import migrations, process_leases
from hubbub.server.core.backends import DATABASE_FILE, FILES_FOLDER
from hubbub.server.core.bus import BusError
from hubbub.server.core.clock import RealClock
from hubbub.server.core.config import ROLES, Config, ConfigError
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.files import Files, FileStoreError, describe_store_error
from hubbub.server.core.logs import Secrets
from hubbub.server.core.mail import MailError, SmtpMailer
from hubbub.server.core.migrations import MigrationError
from hubbub.server.core.payments import open_payments
from hubbub.server.core.sqlite_files import find_damage, is_locked
from hubbub.server.terminal import Finding, print_findings
from hubbub.server.transports.voice import sockets
from hubbub.server.transports.web.static_files import STATIC_FOLDER, list_missing_features

FREE_BYTES_LOW: Final = 1024**3
"""Free bytes on the disk below which a note is printed."""
FREE_BYTES_MIN: Final = 100 * 1024**2
"""Free bytes on the disk below which a problem is reported."""
CLOCK_MIN_MS: Final = 1_735_689_600_000
"""2025-01-01 in Unix milliseconds; a correct clock cannot show an earlier time."""
CLOCK_MAX_MS: Final = 4_102_444_800_000
"""2100-01-01 in Unix milliseconds; a correct clock does not show a later time."""
CHECK_TIMEOUT_SECONDS: Final = 5.0


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Print every finding. Return 1 if any of them is a problem."""
    # Log messages of libraries about unreachable servers would repeat the findings.
    logging.getLogger().addHandler(logging.NullHandler())
    return asyncio.run(print_findings(run_checks(config)))


async def run_checks(config: Config) -> AsyncIterator[Finding]:
    """Run the checks one after another, and yield the result of each."""
    yield _check_clock()
    yield _check_processes(config)
    yield _check_payments(config)
    if config.data is not None:
        yield await asyncio.to_thread(_check_folder, Path(config.data))
        yield await asyncio.to_thread(_check_space, Path(config.data))
    yield await asyncio.to_thread(_check_database, config)
    if config.nats_url is not None:
        yield await _check_nats(config.nats_url)
    yield await _check_files(config)
    yield await _check_mail(config)
    if "api" in config.roles:
        yield check_chat_client()
    yield await asyncio.to_thread(_check_port, config)
    yield _check_public_url(config)
    yield _check_voice(config)
    yield _check_activities(config)


def _check_clock() -> Finding:
    now_ms = RealClock().now_ms()
    if not CLOCK_MIN_MS < now_ms < CLOCK_MAX_MS:
        return Finding(
            "problem",
            "clock",
            "the system clock is years off",
            "set the clock and keep it synchronized with NTP; IDs and tokens contain timestamps",
        )
    return Finding("ok", "clock", "the system clock is plausible")


def _check_processes(config: Config) -> Finding:
    if config.nats_url is not None and config.database_url is None:
        return Finding(
            "problem",
            "processes",
            "NATS is for several processes, but the embedded database supports only one",
            "set --database-url, or remove --nats-url",
        )
    if (missing_roles := find_missing_roles(config)) is not None:
        return missing_roles
    if config.database_url is not None and config.nats_url is None:
        return Finding("note", "processes", "without --nats-url, only one process may use this PostgreSQL database")
    return Finding("ok", "processes", "one process" if config.nats_url is None else "several, with NATS and PostgreSQL")


def find_missing_roles(config: Config) -> Finding | None:
    """Return a finding if this process is the only one, because it has no bus, and lacks a role that a platform needs."""
    missing_roles = [role for role in ROLES if role not in config.roles and role != "voice"]
    if config.nats_url is not None or not missing_roles:
        return None
    return Finding(
        "note",
        "processes",
        f"no process runs the roles {','.join(missing_roles)}: this process runs only {','.join(sorted(config.roles))}, "
        "and has no bus to other processes",
        "remove --roles for one process, or set --database-url and --nats-url for several",
    )


def _check_payments(config: Config) -> Finding:
    try:
        provider = open_payments(config.payments, is_rehearsal=config.control)
    except ConfigError as error:
        return Finding(
            "problem",
            "payments",
            f"{error.source} {error.problem}",
            "set --payments to module:name of an installed payment provider",
        )
    return Finding("ok", "payments", "purchases are enabled" if provider.enabled else "purchases are disabled")


def _nearest_existing(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def _check_folder(folder: Path) -> Finding:
    if folder.exists() and not folder.is_dir():
        return Finding("problem", "data", f"{folder} is not a folder", "set --data to a folder")
    nearest_folder = _nearest_existing(folder)
    if not nearest_folder.is_dir() or not os.access(nearest_folder, os.W_OK | os.X_OK):
        return Finding(
            "problem",
            "data",
            f"{nearest_folder} is not writable by this user",
            f"set --data to another folder, or run: chown $(id -u) {nearest_folder}",
        )
    # A write can fail despite permissions: on a full disk, a read-only mount or a special file system.
    probe_path = nearest_folder / f".doctor-{secrets.token_hex(4)}"
    try:
        if folder.exists():
            probe_path.write_bytes(b"probe")
            probe_path.unlink()
        else:
            probe_path.mkdir()
            probe_path.rmdir()
    except OSError as error:
        return Finding(
            "problem",
            "data",
            f"cannot write to {nearest_folder}: {error.strerror}",
            "check its permissions and its disk",
        )
    return Finding("ok", "data", f"{folder} is writable" if folder.exists() else f"{folder} will be created")


def _check_space(folder: Path) -> Finding:
    free_bytes = shutil.disk_usage(_nearest_existing(folder)).free
    message = f"{free_bytes / 1024**3:.1f} GiB free"
    if free_bytes < FREE_BYTES_MIN:
        return Finding("problem", "disk", message, "free some space; a full disk blocks every write")
    if free_bytes < FREE_BYTES_LOW:
        return Finding("note", "disk", message, "free some space soon")
    return Finding("ok", "disk", message)


def _check_database(config: Config) -> Finding:
    try:
        if config.database_url is not None:
            return _check_postgres(config.database_url, config.worker)
        if config.data is None:
            return Finding("ok", "database", "in memory")
        return _check_embedded(Path(config.data) / DATABASE_FILE)
    except MigrationError as error:
        return Finding("problem", "database", str(error), "run the version that created it, or restore a backup")


def _check_embedded(path: Path) -> Finding:
    if not path.exists():
        return Finding("ok", "database", f"{path} will be created")
    try:
        with closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=CHECK_TIMEOUT_SECONDS)
        ) as connection:
            message = _describe_schema(
                lambda sql: connection.execute(sql).fetchall(), "sqlite_master WHERE name = 'schema_migrations'"
            )
            damage = find_damage(connection)
    except sqlite3.Error as error:
        return Finding("problem", "database", f"{path}: {error}", "restore a backup, or set --data to another folder")
    if damage is not None:
        return Finding("problem", "database", f"{path} is damaged: {damage}", "restore a backup")
    if is_locked(path):
        return Finding(
            "note",
            "database",
            f"{message}; in use by a running server",
            "stop it before you start another one with this folder",
        )
    return Finding("ok", "database", message)


def _check_postgres(url: str, process_number: int) -> Finding:
    import psycopg

    from hubbub.server.core.postgres_capacity import find_shortage

    try:
        with psycopg.connect(url, connect_timeout=int(CHECK_TIMEOUT_SECONDS), autocommit=True) as connection:
            message = _describe_schema(
                lambda sql: connection.execute(sql).fetchall(),
                "information_schema.tables WHERE table_schema = current_schema() AND table_name = 'schema_migrations'",
            )
            version = connection.info.server_version // 10_000
            lease = shortage = None
            if connection.execute("SELECT 1 WHERE to_regclass('process_leases') IS NOT NULL").fetchone():
                lease = connection.execute(process_leases.HOLDER_SQL, (process_number,)).fetchone()
                shortage = find_shortage(lambda sql: connection.execute(sql).fetchall(), process_number)
    except psycopg.Error as error:
        lines = Secrets().clean(str(error)).strip().splitlines()
        return Finding(
            "problem",
            "database",
            lines[0] if lines else "no response",
            "check --database-url and the database server",
        )
    message = f"PostgreSQL {version}, {message}"
    if lease is not None:
        return Finding(
            "note",
            "database",
            f"{message}; process number {process_number} is in use by {lease[0]}",
            "stop that process before you start this one, or set another --worker",
        )
    if shortage is not None:
        return Finding("note", "database", f"{message}; {shortage.message}", shortage.fix)
    return Finding("ok", "database", message)


def _describe_schema(run_query: Callable[[str], list[tuple[object, ...]]], from_clause: str) -> str:
    """Return the version of the schema and the number of pending migrations.

    Raise MigrationError if this version cannot use the database. `run_query` executes SQL. `from_clause` selects a row if
    the table of migrations exists.
    """
    available_migrations = migrations.load()
    applied_migrations: dict[int, migrations.AppliedMigration] = {}
    if run_query(f"SELECT 1 FROM {from_clause}"):
        applied_records = [migrations.AppliedMigration.from_row(*row) for row in run_query(migrations.APPLIED_SQL)]
        applied_migrations = {record.number: record for record in applied_records}
    pending_migrations = migrations.pending(applied_migrations, available_migrations)
    if len(applied_migrations) > len(available_migrations):
        return f"schema {len(applied_migrations)}, newer than schema {len(available_migrations)} of this version, which can use it"
    if not pending_migrations:
        return f"schema {len(available_migrations)}, up to date"
    return f"schema {max(applied_migrations, default=0)}; {len(pending_migrations)} migrations will be applied at the next start"


async def _check_nats(url: str) -> Finding:
    from hubbub.server.core.bus_nats import NatsBus

    try:
        bus = NatsBus(url, Dispatch, connect_timeout_ms=int(CHECK_TIMEOUT_SECONDS * 1000))
        await bus.start()
        await bus.close()
    except BusError as error:
        return Finding("problem", "nats", str(error), "check --nats-url and the NATS server")
    return Finding("ok", "nats", "connected")


async def _check_files(config: Config) -> Finding:
    url = config.files_url
    if url is None:
        if config.data is None:
            return Finding("ok", "files", "in memory")
        folder = Path(config.data) / FILES_FOLDER
        if not await asyncio.to_thread(folder.exists):
            # Writing a test file would create the folder, which the check must not leave behind.
            return Finding("ok", "files", f"{folder} will be created")
        url = str(folder)
    try:
        await Files(url).check()
    except Exception as error:
        reason = describe_store_error(error) if isinstance(error, FileStoreError) else str(error)
        lines = Secrets().clean(reason).strip().splitlines()
        return Finding(
            "problem",
            "files",
            lines[0][:300] if lines else type(error).__name__,
            "check --files-url and its permissions",
        )
    return Finding("ok", "files", "readable and writable")


async def _check_mail(config: Config) -> Finding:
    mail = config.mail
    if mail.host is None:
        return Finding("ok", "mail", "disabled; set --mail-host and --mail-sender to enable password resets by email")
    address = f"{mail.host}:{mail.server_port}"
    try:
        mailer = SmtpMailer(msgspec.structs.replace(mail, timeout_ms=int(CHECK_TIMEOUT_SECONDS * 1000)), RealClock())
        await mailer.check()
    except ConfigError as error:
        return Finding("problem", "mail", f"{error.key} ({error.source}): {error.problem}", "check the file")
    except MailError as error:
        fix = "check --mail-host, --mail-port, --mail-security and the SMTP server"
        if "Authentication" in str(error):
            fix = "check --mail-username and --mail-password"
        elif "CERTIFICATE_VERIFY" in str(error).upper():
            fix = "use the host name of the certificate, or set mail.ca_file to the server's certificate authority"
        return Finding("problem", "mail", f"{address}: {Secrets().clean(str(error))}", fix)
    login_note = "" if mail.username is None else f", logged in as {mail.username}"
    return Finding("ok", "mail", f"{address} accepts connections ({mail.security}{login_note})")


def check_chat_client(folder: Path = STATIC_FOLDER) -> Finding:
    """Return whether the installation has the third-party files of the chat client."""
    missing_features = list_missing_features(folder)
    if not missing_features:
        return Finding("ok", "client", "all files are installed")
    return Finding(
        "note",
        "client",
        f"third-party files are missing, so the chat client has no {', '.join(missing_features)}",
        "the npm registry was not reachable when Hubbub was built: install a published package, or build it again "
        "with access to the registry",
    )


def _check_port(config: Config) -> Finding:
    if config.port == 0:
        return Finding("ok", "port", "a free port will be picked")
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe_socket:
        probe_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe_socket.bind((config.host, config.port))
        except OSError as error:
            fix = {
                errno.EADDRINUSE: "stop the program that listens there, or set another --port",
                errno.EACCES: "ports below 1024 need privileges; set another --port and use a reverse proxy",
                errno.EADDRNOTAVAIL: "this machine does not have that address; set another --host",
            }.get(error.errno or 0, "set another --host or --port")
            if error.errno == errno.EADDRINUSE and _is_server_running(config):
                return Finding(
                    "note",
                    "port",
                    f"a running server listens on {config.host}:{config.port}",
                    "stop it before you start another one with this port",
                )
            return Finding(
                "problem", "port", f"cannot listen on {config.host}:{config.port}: {error.strerror or error}", fix
            )
    return Finding("ok", "port", f"{config.host}:{config.port} is free")


def _is_server_running(config: Config) -> bool:
    """Return whether the program that listens on the address of a configuration responds like a server of Hubbub."""
    connection = http.client.HTTPConnection(config.host, config.port, timeout=CHECK_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        return response.status == http.HTTPStatus.OK and response.read(8).strip() == b"ok"
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _check_voice(config: Config) -> Finding:
    if not sockets.is_voice_enabled(config):
        if "voice" not in config.roles:
            return Finding("ok", "voice", "not a role of this process")
        return Finding(
            "note",
            "voice",
            "voice is disabled: calls are not possible, because clients require TLS",
            "set --voice-certificate-file and --voice-key-file, or --voice-endpoint for a proxy that terminates TLS",
        )
    try:
        voice_sockets = sockets.bind(config)
    except ConfigError as error:
        return Finding("problem", "voice", f"{error.key}: {error.problem}", "check the voice settings")
    voice_sockets.tcp.close()
    voice_sockets.udp.close()
    endpoint = (
        config.voice.endpoint or voice_sockets.endpoint if config.voice.port or config.voice.endpoint else "a free port"
    )
    return Finding("ok", "voice", f"clients connect to {endpoint} and send packets to {voice_sockets.address}")


def _check_public_url(config: Config) -> Finding:
    listens_on_all = config.host in ("0.0.0.0", "::", "")
    if config.public_url is None:
        if listens_on_all:
            return Finding(
                "problem",
                "public url",
                f"clients would get the unusable URL http://{config.host}:{config.port}",
                "set --public-url https://...",
            )
        return Finding("ok", "public url", f"http://{config.host}:{config.port}")
    url_parts = urlsplit(config.public_url)
    if url_parts.path.rstrip("/") or url_parts.query or url_parts.fragment:
        return Finding(
            "problem",
            "public url",
            f"{config.public_url} contains a path",
            f"set it to {url_parts.scheme}://{url_parts.netloc}; the server uses all paths of its host",
        )
    if url_parts.hostname in ("0.0.0.0", "::"):
        return Finding(
            "problem",
            "public url",
            f"clients cannot connect to {url_parts.hostname}",
            "use the host name that clients connect to",
        )
    is_local = url_parts.hostname in ("localhost", "127.0.0.1", "::1")
    if url_parts.scheme == "http" and not is_local:
        return Finding(
            "note",
            "public url",
            f"{config.public_url} is not encrypted; tokens can be read in transit",
            "put a TLS proxy in front of it and use https://...",
        )
    return Finding("ok", "public url", config.public_url)


def _check_activities(config: Config) -> Finding:
    proxy_host = config.activities.proxy_host
    if proxy_host is None:
        return Finding("ok", "activities", "disabled; set --activities-proxy-host to enable them")
    web_host = urlsplit(config.web_url).hostname or ""
    origin = config.activity_origin(1) or ""
    if web_host == proxy_host or web_host.endswith(f".{proxy_host}"):
        return Finding(
            "problem",
            "activities",
            f"the platform's host {web_host} is inside the activity domain {proxy_host}",
            "use a separate domain for activities, so that their pages cannot access the platform's cookies",
        )
    if proxy_host.endswith(f".{web_host}"):
        return Finding(
            "note",
            "activities",
            f"the activity domain {proxy_host} is below {web_host}, so activity pages can set cookies for both",
            "use a separately registered domain for activities",
        )
    return Finding("ok", "activities", f"served at {origin.replace('//1.', '//APPLICATION_ID.')}")
