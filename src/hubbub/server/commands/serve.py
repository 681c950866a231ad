"""`hubbub serve` and `hubbub dev`: run a server from start to shutdown."""

import asyncio
import contextlib
import errno
import gc
import ipaddress
import logging
import os
import secrets
import signal
import ssl
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from hubbub.protocol.control.ready import ReadyDocument
from hubbub.server import ready_document, worlds
from hubbub.server.app import App
from hubbub.server.commands import certificates, startup_checks
from hubbub.server.commands.admin_socket import AdminSocket
from hubbub.server.control import ControlApi
from hubbub.server.control.lint import format_report
from hubbub.server.core.backends import ServerTls
from hubbub.server.core.bus import BusError
from hubbub.server.core.config import Config, ConfigError
from hubbub.server.core.logs import Logs
from hubbub.server.core.migrations import MigrationError
from hubbub.server.core.process_leases import ProcessNumberInUse
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.ready_document import ReadyFileError
from hubbub.server.recordings.recorder import Recorder
from hubbub.server.recordings.recording_file import FORMAT_VERSION, RecordingError, RecordingHeader
from hubbub.server.terminal import print_error
from hubbub.server.transports.voice import sockets
from hubbub.server.transports.web.static_files import list_missing_features, load_static_files
from hubbub.server.worlds import WorldError

log = logging.getLogger("hubbub")

VOICE_FOLDER: Final = "voice"
"""The folder of the certificate of the voice and HTTP servers, in the data folder of a rehearsal."""
REPEATED_SIGNAL_SECONDS: Final = 0.25
"""Seconds in which a repeated signal is ignored: timeout(1) and others signal a process and then its whole group."""


def run(config: Config, *, is_rehearsal: bool = False, with_report: bool = False, record: str | None = None) -> int:
    """Serve until a signal arrives or the process must stop. Return the exit code, which is 0 after a signal.

    `with_report` prints the report of a rehearsal at the end. `record` is the file to record its inputs to, or None."""
    logs = Logs(level=config.log.level, library_level=config.log.library_level, format=config.log.format)
    logs.install()
    try:
        if config.ready_file is not None:
            ready_document.remove(config.ready_file)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(config, is_rehearsal, with_report, record))
    except WorldError as error:
        return print_error(f"world {config.world or 'demo'}: {error if error.path else error.problem}", 2)
    except (
        BusError,
        MigrationError,
        ProcessNumberInUse,
        ReadyFileError,
        RecordingError,
        StoreUnavailable,
    ) as error:
        return print_error(error)
    except OSError as error:
        return print_error(
            f"cannot listen on {config.host}:{config.port}: {error.strerror or error}; {_next_step(error)}"
        )


def _next_step(error: OSError) -> str:
    """Return what the operator can do when the server cannot listen on its address."""
    if error.errno == errno.EADDRINUSE:
        return "choose another port with --port (0 picks a free one)"
    if error.errno == errno.EACCES:
        return "choose a port above 1023 with --port, and a proxy for the ports 80 and 443"
    return "set --host to an address of this machine, or to 0.0.0.0 for all of them"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # uvloop is not available on Windows.
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _serve(config: Config, is_rehearsal: bool, with_report: bool, record: str | None) -> int:
    # The world file is read before anything is opened, so that an invalid file has no side effects.
    world = None
    if is_rehearsal:
        world = worlds.demo_world() if config.world is None else worlds.read_file(config.world)
    seed = _choose_seed(config) if is_rehearsal else 0
    stop_event = asyncio.Event()
    _stop_on_signals(stop_event)
    with contextlib.ExitStack() as stack:
        tls = None
        if is_rehearsal:
            config, tls = with_certificate(config, stack)
        return await _run_until_stopped(config, is_rehearsal, world, seed, stop_event, tls, with_report, record)


async def _run_until_stopped(
    config: Config,
    is_rehearsal: bool,
    world: worlds.World | None,
    seed: int,
    stop_event: asyncio.Event,
    tls: ServerTls | None,
    with_report: bool,
    record: str | None,
) -> int:
    """Start the platform, announce it, wait for `stop_event`, and shut it down."""
    app = App(config, tls=tls)
    control = ControlApi(app) if config.control else None
    exit_code = 0

    def stop_after_failure() -> None:
        nonlocal exit_code
        exit_code = 1
        stop_event.set()

    app.on_fatal = stop_after_failure
    app.trace.is_enabled = with_report
    if not is_rehearsal:
        # Rehearsals are started often, and few of them show the chat client.
        load_static_files()[1].load()
    await app.start()
    compression_task = None if is_rehearsal else asyncio.ensure_future(_compress_client())
    checks_task = None if is_rehearsal else asyncio.ensure_future(startup_checks.run_checks(app))
    admin_socket = AdminSocket(app, {"import": _import_file})
    await admin_socket.start()
    stack = contextlib.ExitStack()
    try:
        built_world = worlds.BuiltWorld()
        if world is not None:
            built_world = await worlds.load_initial(app, world, seed)
        if control is not None:
            control.built_world = built_world
            if record is not None:
                stack.callback(_start_recording(control, record, seed).close)
        control_token = control.token if control is not None else None
        document = ready_document.build_document(app.config, built_world, control_token, tls=tls)
        if config.ready_file is not None:
            ready_document.write(config.ready_file, document)
        console_url = None if control is None else control.create_console_url()
        _announce_ready(
            document,
            is_rehearsal,
            has_pages="api" in config.roles,
            console_url=console_url,
            ready_file=config.ready_file,
        )
        if "api" in config.roles and (missing_features := list_missing_features()):
            log.warning(
                "Third-party files are missing, so the chat client has no %s; see hubbub doctor",
                ", ".join(missing_features),
            )
        tune_garbage_collection()
        await stop_event.wait()
        if with_report and control is not None:
            print(format_report((await control.get_report()).findings), flush=True)
        log.info("Shutting down")
    finally:
        if compression_task is not None:
            await compression_task
        if checks_task is not None:
            checks_task.cancel()
            await asyncio.gather(checks_task, return_exceptions=True)
        if control is not None:
            await control.close()
        await admin_socket.close()
        await app.stop()
        stack.close()
    log.info("Stopped")
    return exit_code


async def _import_file(app: App, values: dict[str, Any], progress: Callable[[str, int, int], None]) -> list[str]:
    # Few servers import a guild, and the modules would slow down the start.
    from hubbub.server.commands.imports import import_file

    return await import_file(app, values, progress)


def _start_recording(control: ControlApi, path: str, seed: int) -> Recorder:
    """Record the inputs of a rehearsal from now on."""
    world_file = control.app.config.world
    header = RecordingHeader(
        version=FORMAT_VERSION,
        seed=seed,
        now_ms=control.clock.now_ms(),
        world=None if world_file is None else Path(world_file).read_text(encoding="utf-8"),
    )
    recorder = Recorder(path, header, lambda: control.built_world)
    control.app.trace.traffic.listeners.append(recorder.record)
    control.traffic_api.keep_on()
    return recorder


def tune_garbage_collection() -> None:
    """Reduce garbage collection: existing objects are permanent, and requests leave hardly any reference cycles."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


def with_certificate(config: Config, stack: contextlib.ExitStack) -> tuple[Config, ServerTls | None]:
    """Create a certificate for the voice server of a rehearsal, and for HTTPS if `tls` is set.

    The files are in the data folder, or in a temporary folder if there is none. Return the configuration with the voice
    certificate, and the certificate of the HTTP server or None."""
    host_names = [urlsplit(config.web_url).hostname or "localhost"]
    voice = config.voice
    needs_voice = "voice" in config.roles and voice.certificate_file is None and voice.endpoint is None
    if needs_voice:
        try:
            host_names.append(sockets.resolve_public_address(config))
        except ConfigError as error:
            log.warning("Voice is disabled: %s", error)
            needs_voice = False
    if not needs_voice and not config.tls:
        return config, None
    if config.data is None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hubbub-voice-")))
    else:
        folder = Path(config.data) / VOICE_FOLDER
        with contextlib.suppress(OSError):
            # Create the folder with the mode that the store uses; if this fails, the store reports the error.
            Path(config.data).mkdir(mode=0o700, parents=True, exist_ok=True)
    certificate_files = certificates.issue(folder, host_names)
    authority = str(certificate_files.authority_path.absolute())
    if needs_voice:
        voice = msgspec.structs.replace(
            voice,
            certificate_file=str(certificate_files.certificate_path),
            key_file=str(certificate_files.key_path),
            ca_file=authority,
        )
    config = msgspec.structs.replace(config, voice=voice)
    if not config.tls:
        return config, None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate_files.certificate_path, certificate_files.key_path)
    return config, ServerTls(context, authority)


def _stop_on_signals(stop_event: asyncio.Event) -> None:
    """Shut down orderly on the first signal, and exit immediately on the second."""
    loop = asyncio.get_running_loop()
    first_signal_at = 0.0

    def stop(signal_number: int) -> None:
        nonlocal first_signal_at
        if not stop_event.is_set():
            first_signal_at = loop.time()
            stop_event.set()
        elif loop.time() - first_signal_at > REPEATED_SIGNAL_SECONDS:
            log.warning("Forced shutdown")
            logging.shutdown()
            os._exit(128 + signal_number)

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # On Windows an interrupt ends the loop.
            loop.add_signal_handler(signal_number, stop, signal_number)


async def _compress_client() -> None:
    """Compress the chat client before the first browser requests it."""
    _, client_files, _ = load_static_files()
    await asyncio.to_thread(client_files.compress_start_files)


def _choose_seed(config: Config) -> int:
    """Return the configured seed of the world; by default 0 if only this machine can connect, else a random number.

    Raise ConfigError if other machines can connect to a stored world without a configured seed (decisions/0015).
    """
    if config.seed is not None:
        return config.seed
    if _is_loopback(config.host):
        return 0
    if config.data is not None or config.database_url is not None:
        raise ConfigError(
            "seed",
            "hubbub dev",
            f"{config.host} is reachable from other machines and the world is stored; set --seed to a secret number, "
            "so that the next start uses the same tokens",
        )
    log.warning(
        "The world has new random tokens, because %s is reachable from other machines; use --seed N to keep them",
        config.host,
    )
    return secrets.randbits(63)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _announce_ready(
    document: ReadyDocument, is_rehearsal: bool, *, has_pages: bool, console_url: str | None, ready_file: str | None
) -> None:
    """Log that the server is ready. Print its URLs on a terminal; otherwise a rehearsal prints two lines.

    Other output is often stored, so the second line names the file with passwords and tokens instead of printing them.
    """
    log.info("Ready", extra={"api": document.api, "gateway": document.gateway, "web": document.web})
    if sys.stdout.isatty():
        summary = startup_summary(document, is_rehearsal=is_rehearsal, has_pages=has_pages, console_url=console_url)
        print(summary, flush=True)
    elif is_rehearsal:
        location_text = "run it in a terminal or set --ready-file FILE" if ready_file is None else f"see {ready_file}"
        print(f"hubbub dev is ready at {document.web}\nUsers, passwords and tokens: {location_text}", flush=True)


def startup_summary(
    document: ReadyDocument, *, is_rehearsal: bool = True, has_pages: bool = True, console_url: str | None = None
) -> str:
    """Return the text that a terminal shows after the start.

    `is_rehearsal` adds the users, bots and guilds of the world. `has_pages` adds the URLs of the pages, which only the
    role `api` serves. `console_url` is a link that opens the console once, or None.
    """
    lines = ["", "  Hubbub is ready", ""]
    if has_pages:
        lines += [
            f"    start    {document.web}/",
            f"    chat     {document.web}/app",
            f"    log in   {document.web}/login",
            f"    portal   {document.web}/developers",
            f"    docs     {document.web}/docs",
        ]
    lines += [f"    API      {document.api}", f"    gateway  {document.gateway}", f"    CDN      {document.cdn}"]
    if document.voice is not None:
        lines += [f"    voice    {document.voice.endpoint}"]
    authority = None if document.voice is None else document.voice.authority
    if isinstance(document.authority, str):
        authority = document.authority
    if authority is not None:
        lines += [
            "             clients require TLS; start yours with",
            f"             SSL_CERT_FILE={authority}",
            f"             NODE_EXTRA_CA_CERTS={authority}",
        ]
    if document.control is not None:
        lines += [f"    control  {document.control}", f"             token {document.control_token}"]
    if console_url is not None:
        lines += [f"    console  {console_url}"]
    return "\n".join(lines + (_world_lines(document) if is_rehearsal else _operating_lines()))


def _operating_lines() -> list[str]:
    return [
        "",
        "  Settings: hubbub serve --help. Checks: hubbub doctor. Backups: hubbub backup --help.",
        "  Manage the server at /admin or with `hubbub admin`. The first operator of a new server, with the same --data:",
        "    hubbub admin create-user NAME",
        "    hubbub admin set-operator NAME owner",
        "  Press Ctrl-C to stop; requests in progress are completed first.",
        "",
    ]


def _world_lines(document: ReadyDocument) -> list[str]:
    lines = ["", "  Users (Authorization: TOKEN)", ""]
    for name, user in document.users.items():
        lines += [f"    {name:<10} password {user.password}", f"    {'':<10} token    {user.token}"]
    bots = {name: application.bot for name, application in document.applications.items() if application.bot is not None}
    if bots:
        lines += ["", "  Bots (Authorization: Bot TOKEN)", ""]
        lines += [f"    {name:<10} token    {bot.token}" for name, bot in bots.items()]
    lines += [""]
    for name, guild in document.guilds.items():
        lines += [f"  {name}: {', '.join(guild.channels)}"]
    lines += [
        "",
        "  Point a client library at the API URL above and log in with a bot token, or open the web app and log in with a",
        "  username and password. In the repository, examples/README.md lists small programs to run, docs/worlds.md explains",
        "  your own world with --world FILE.toml, and docs/control.md the clock, snapshots and faults.",
        "  All data is in memory unless you set --data DIR. Press Ctrl-C to stop.",
        "",
    ]
    return lines
