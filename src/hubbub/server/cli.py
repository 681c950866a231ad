"""The command line of Hubbub. Commands are imported when they run, so that each one starts quickly."""

import argparse
import contextlib
import gc
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, Final, NoReturn

import hubbub
from hubbub.server.command_parser import CommandParser
from hubbub.server.commands import admin_arguments
from hubbub.server.core import config as settings
from hubbub.server.core.config import Config, ConfigError
from hubbub.server.terminal import print_error, print_missing_package

SERVE_DEFAULTS: Final[dict[str, Any]] = {
    "data": "./hubbub-data",
    "link_previews.enabled": True,
    "log.slow_ms": 1000,
    "protection.raid_joins_max": 60,
}
"""Defaults of all commands except `hubbub dev` and `hubbub replay` that differ from those of `Config`."""
DEV_DEFAULTS: Final[dict[str, Any]] = {
    "control": True,
    "rate_limits": "report",
    "approval_caps": "report",
    "allow_private_targets": True,
    "http.allowed_origins": "",
    "identity.allow_any_issuer": True,
    "activities.proxy_host": "activities.localhost",
    "mail.keep_in_memory": True,
}
"""Defaults of `hubbub dev` and `hubbub replay` that differ from those of `Config`."""

REHEARSAL_SETTINGS: Final = (
    "control",
    "control_token",
    "fork_ports",
    "mail.keep_in_memory",
    "now",
    "seed",
    "tls",
    "world",
)
"""Settings that are only available in rehearsals: `hubbub dev` and `hubbub replay`."""

MAIN_SETTINGS: Final[dict[str, str]] = {
    "data": "folder of the embedded database and files (default: ./hubbub-data)",
    "host": "address to listen on (default: 127.0.0.1)",
    "port": "port to listen on; 0 picks a free one (default: 8080)",
    "public_url": "URL at which clients reach the server (default: http://HOST:PORT)",
    "database_url": "postgresql://... to use instead of the embedded database",
    "nats_url": "nats://... message bus between several processes",
    "files_url": "file store: a folder, memory:// or s3://bucket/prefix?...",
    "roles": "roles of this process, out of api,gateway,voice,worker (default: all)",
    "ready_file": "JSON file to write URLs and tokens to once the server accepts connections",
}
DEV_SETTINGS: Final[dict[str, str]] = {
    "world": "world file (TOML) to load instead of the demo world",
    "data": "folder of the embedded database and files (default: keep everything in memory)",
    "seed": "number that makes the world's IDs and tokens reproducible",
    "now": "time at the start, such as 2026-12-01T00:00:00Z",
    "tls": "serve HTTPS with a generated certificate authority, which clients must trust",
    "rate_limits": "off, real, or report: count requests but reject none (default: report)",
}
STORE_SETTINGS: Final = ("data", "database_url", "nats_url", "files_url")
"""Settings of the commands that use the store without running a server."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code of the process. `argv` excludes the program name."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] == "agent":
        # The agent runs beside the server, uses the SDK, and has its own settings.
        run_agent: Callable[[Sequence[str]], int] = import_module("hubbub.agent.cli").main
        return run_agent(argv[1:])
    if not argv:
        build_parser().print_help(sys.stderr)
        return 2
    arguments = build_parser(argv[0]).parse_args(argv)
    try:
        command: Callable[[argparse.Namespace], int] = arguments.run
        return command(arguments)
    except ConfigError as error:
        return print_error(error, 2)
    except ModuleNotFoundError as error:
        return print_missing_package(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # A program that reads the output may end early, such as `head`. Other broken connections are errors.
        if _has_output_reader():
            raise
        return 141


def _has_output_reader() -> bool:
    """Return whether a program still reads the standard output of this process."""
    poll = select.poll()
    poll.register(1, 0)
    return not any(event & select.POLLERR for _, event in poll.poll(0))


def run_process() -> NoReturn:
    """Run a command and end the process with its exit code.

    Threads of the file store (obstore) may still release Python objects when a command ends. If the interpreter is being
    finalized at that moment, it aborts the process, so the process ends without finalization."""
    exit_code = main()
    logging.shutdown()
    # The process that reads a pipe may have ended.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(exit_code)


def load_config(arguments: argparse.Namespace, defaults: dict[str, Any], *, is_rehearsal: bool = False) -> Config:
    """Load the configuration from the command line, the environment and the file.

    Raise ConfigError for an invalid setting, and for one of REHEARSAL_SETTINGS unless `is_rehearsal` is true.
    """
    flags = {name: value for name, value in vars(arguments).items() if name in _KEYS_BY_FLAG}
    config = settings.load(flags, environ=os.environ, file=arguments.config, defaults=defaults)
    if not is_rehearsal:
        for key in REHEARSAL_SETTINGS:
            if attrgetter(key)(config):
                raise ConfigError(key, "hubbub serve", "is only available in rehearsals; use hubbub dev")
    return config


_KEYS_BY_FLAG: Final = {key.replace(".", "_"): key for key in settings.KEYS}
"""Setting by the attribute that argparse stores it in."""


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    The settings of a command, and the actions of `hubbub admin`, are only added if `command` names the command or is
    None."""
    parser = CommandParser(prog="hubbub", description="A social platform that you run yourself.")
    parser.add_argument("--version", action="version", version=f"hubbub {hubbub.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add_settings(
        subparser: argparse.ArgumentParser,
        help_texts: dict[str, str],
        excluded_keys: Iterable[str] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        if command is None or subparser is commands.choices.get(command):
            _add_settings(subparser, help_texts, excluded_keys, defaults)

    serve_parser = _add_command(commands, "serve", "run a server with durable data", usage="hubbub serve [SETTINGS]")
    add_settings(serve_parser, MAIN_SETTINGS, excluded_keys=REHEARSAL_SETTINGS, defaults=SERVE_DEFAULTS)
    serve_parser.set_defaults(run=_run_serve)

    dev_parser = _add_command(
        commands,
        "dev",
        "run a rehearsal server in memory, with the demo world and the control API",
        usage="hubbub dev [SETTINGS]",
    )
    add_settings(dev_parser, MAIN_SETTINGS | DEV_SETTINGS, excluded_keys=("control",), defaults=DEV_DEFAULTS)
    dev_parser.add_argument(
        "--stop-with-stdin",
        action="store_true",
        help="shut down when standard input ends, for programs that start the server and may be killed",
    )
    dev_parser.add_argument(
        "--report",
        action="store_true",
        help="print problems of the connected applications at the end, such as rate limits and unused intents",
    )
    dev_parser.add_argument(
        "--record", metavar="FILE", help="write all inputs to a file that hubbub replay can repeat; it contains secrets"
    )
    dev_parser.set_defaults(run=_run_dev)

    replay_parser = _add_command(
        commands,
        "replay",
        "repeat a recorded rehearsal and report what a changed program does differently",
        usage="hubbub replay FILE [--program COMMAND] [SETTINGS] | hubbub replay FILE --as-test TEST.py",
    )
    replay_parser.add_argument("file", metavar="FILE", help="file that hubbub dev --record wrote")
    replay_parser.add_argument(
        "--program", metavar="COMMAND", help="command that starts the program; without it, start the program yourself"
    )
    replay_parser.add_argument("--as-test", metavar="TEST.py", help="write the session as a pytest file instead")
    replay_parser.add_argument(
        "--wait",
        type=float,
        default=3.0,
        metavar="SECONDS",
        help="seconds to wait for each action of the program (default: 3)",
    )
    add_settings(replay_parser, {key: MAIN_SETTINGS[key] for key in ("host", "port")})
    replay_parser.set_defaults(run=_run_replay)

    world_parser = _add_command(commands, "world", "start a rehearsal from your own guild and application")
    _add_world_actions(world_parser)

    watch_parser = _add_command(commands, "watch", "print the traffic of a running hubbub dev")
    watch_parser.add_argument("--url", help="URL of the rehearsal (default: http://127.0.0.1:8080)")
    watch_parser.add_argument(
        "--ready-file", metavar="FILE", help="ready file with the URL and the token (default: HUBBUB_CONTROL_TOKEN)"
    )
    watch_parser.add_argument(
        "--filter", metavar="TEXT", help="show only entries whose route or event contains this text"
    )
    watch_parser.add_argument(
        "--kinds", metavar="KINDS", help="kinds to show, out of http,gateway,interaction,webhook,voice,control"
    )
    watch_parser.add_argument("--failed", action="store_true", help="show only rejected requests and missed events")
    watch_parser.add_argument("--json", action="store_true", help="print each entry as JSON")
    watch_parser.set_defaults(run=_run_watch)

    top_parser = _add_command(commands, "top", "show sessions, rates, latencies and queues of a running server")
    top_parser.add_argument("--url", help="URL of the server (default: from --host and --port)")
    top_parser.add_argument("--ready-file", metavar="FILE", help="ready file of the server, which contains its URL")
    top_parser.add_argument(
        "--once", action="store_true", help="print one snapshot and exit; the default without a terminal"
    )
    top_parser.add_argument(
        "--interval", type=float, default=2.0, metavar="SECONDS", help="seconds between two updates (default: 2)"
    )
    add_settings(top_parser, {key: MAIN_SETTINGS[key] for key in ("host", "port")})
    top_parser.set_defaults(run=_store_command("commands.top", "run"))

    commands.add_parser(
        "agent", help="connect the games on this machine to your account (see hubbub agent --help)", add_help=False
    )

    admin_parser = _add_command(commands, "admin", "manage users, applications, bots and guilds")
    if command in (None, "admin"):
        _add_admin_actions(admin_parser)

    backup_parser = _add_command(
        commands,
        "backup",
        "copy database and files, also while servers are running; or check a backup",
        usage="hubbub backup DEST [--without-files] [SETTINGS] | hubbub backup drill BACKUP [SETTINGS]",
    )
    backup_parser.add_argument("destination", metavar="DEST", help="folder to create; or the word drill")
    backup_parser.add_argument(
        "backup", metavar="BACKUP", nargs="?", help="backup to restore into a scratch database and check"
    )
    _add_backup_arguments(backup_parser)
    add_settings(backup_parser, {key: MAIN_SETTINGS[key] for key in STORE_SETTINGS})
    backup_parser.set_defaults(run=_store_command("commands.backup", "run"))

    restore_parser = _add_command(commands, "restore", "restore a backup into an empty database or a new data folder")
    restore_parser.add_argument("backup", metavar="BACKUP", help="folder that hubbub backup created")
    _add_backup_arguments(restore_parser)
    add_settings(restore_parser, {key: MAIN_SETTINGS[key] for key in STORE_SETTINGS})
    restore_parser.set_defaults(run=_store_command("commands.backup", "run_restore"))

    export_parser = _add_command(
        commands, "export", "write a guild with its messages and files to an archive, also while the server is running"
    )
    export_parser.add_argument("guild_id", metavar="GUILD_ID", help="ID of the guild")
    export_parser.add_argument("--output", required=True, metavar="FILE", help="archive to create (.zip)")
    export_parser.add_argument("--invites", action="store_true", help="include the invites of the guild")
    add_settings(export_parser, {key: MAIN_SETTINGS[key] for key in STORE_SETTINGS})
    export_parser.set_defaults(run=_store_command("commands.export", "run"))

    import_parser = _add_command(
        commands,
        "import",
        "import a guild from an archive, a template or an export of DiscordChatExporter",
        usage="hubbub import FILE --owner USERNAME [--dry-run] | hubbub import claims GUILD_ID",
    )
    import_parser.add_argument(
        "file", metavar="FILE", help="archive, template, JSON file or folder; or the word claims"
    )
    import_parser.add_argument("guild_id", metavar="GUILD_ID", nargs="?", help="guild whose claim codes are listed")
    import_parser.add_argument("--owner", metavar="USERNAME", help="user who will own the new guild")
    import_parser.add_argument("--dry-run", action="store_true", help="check the file and show what would be imported")
    add_settings(import_parser, {key: MAIN_SETTINGS[key] for key in STORE_SETTINGS})
    import_parser.set_defaults(run=_store_command("commands.imports", "run"))

    doctor_parser = _add_command(
        commands,
        "doctor",
        "check a configuration, or a deployment from outside, and suggest fixes",
        usage="hubbub doctor [SETTINGS] | hubbub doctor --url URL [--token-file FILE]",
    )
    add_settings(
        doctor_parser,
        {key: text for key, text in MAIN_SETTINGS.items() if key != "ready_file"},
        excluded_keys=REHEARSAL_SETTINGS,
        defaults=SERVE_DEFAULTS,
    )
    doctor_parser.add_argument(
        "--url", help="check the deployment at this public URL from outside instead of a configuration"
    )
    doctor_parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="with --url: file with the token of a user, to check upload, CDN and voice (- reads standard input)",
    )
    doctor_parser.set_defaults(run=_run_doctor)

    parity_parser = _add_command(
        commands, "parity", "report which operations of a public API description are served and tested"
    )
    parity_parser.add_argument("openapi", metavar="OPENAPI.json", help="API description, an OpenAPI file")
    parity_parser.add_argument(
        "--traffic", metavar="FILE", help="responses recorded by a test run with HUBBUB_TRAFFIC=FILE"
    )
    parity_parser.add_argument(
        "--output", metavar="FILE", default="docs/parity.md", help="report to write (default: docs/parity.md)"
    )
    parity_parser.set_defaults(run=_run_parity)
    return parser


def _add_settings(
    parser: argparse.ArgumentParser,
    help_texts: dict[str, str],
    excluded_keys: Iterable[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> None:
    """Add flags for settings to a parser.

    `help_texts` are the settings with their own help text. All other settings except `excluded_keys` are added in a
    group; none of them if `excluded_keys` is None. `defaults` are the values that the help text of the group shows.
    """
    parser.add_argument("--config", metavar="FILE", help="TOML file with settings (or set HUBBUB_CONFIG)")
    for key, text in help_texts.items():
        if settings.KEYS[key] is bool:
            parser.add_argument(_flag_name(key), nargs="?", const="true", metavar="true|false", help=text)
        else:
            parser.add_argument(_flag_name(key), metavar=key.rsplit("_")[-1].upper(), help=text)
    if excluded_keys is None:
        return
    group = parser.add_argument_group(
        "other settings",
        "each can also be set as HUBBUB_... in the environment or in the TOML file; docs/settings.md describes them",
    )
    for key in settings.KEYS:
        if key not in help_texts and key not in excluded_keys:
            text = settings.describe_allowed(key)
            default_value = (defaults or {}).get(key, settings.default_text(key))
            if default_value not in (None, ""):
                text += (
                    f" (default: {str(default_value).lower() if isinstance(default_value, bool) else default_value})"
                )
            group.add_argument(_flag_name(key), metavar="...", help=text.replace("%", "%%"))


def _add_backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--without-files", action="store_true", help="leave out the files of the file store")
    parser.add_argument("--pg-bin", metavar="FOLDER", help="folder of pg_dump and pg_restore (default: search PATH)")


def _flag_name(key: str) -> str:
    return "--" + key.replace(".", "-").replace("_", "-")


def _add_command(
    commands: "argparse._SubParsersAction[Any]", name: str, help_text: str, **options: Any
) -> argparse.ArgumentParser:
    """Add a command whose own help begins with its help text in the list of commands."""
    description = f"{help_text[0].upper()}{help_text[1:]}."
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=description, **options)
    return parser


def _add_world_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    template_parser = _add_command(actions, "from-template", "write a world file with the guild of a template")
    template_parser.add_argument("source", metavar="CODE|FILE", help="JSON file of a template, or the code of one")
    template_parser.add_argument(
        "--api", metavar="URL", help="API to fetch the code from, such as https://chat.example/api/v10"
    )
    template_parser.add_argument(
        "--application", default="my-app", metavar="NAME", help="name of the bot (default: my-app)"
    )
    template_parser.add_argument("--output", metavar="WORLD.toml", help="file to write (default: standard output)")
    template_parser.set_defaults(run=_run_world, world_action="from-template")

    copy_parser = _add_command(
        actions, "copy-commands", "register the commands of an application in a running hubbub dev or a world file"
    )
    copy_parser.add_argument(
        "source", metavar="FILE|APPLICATION_ID", help="JSON list of commands; with --api, an application"
    )
    copy_parser.add_argument(
        "--api", metavar="URL", help="API to read the commands from, with the bot token in BOT_TOKEN"
    )
    target_group = copy_parser.add_mutually_exclusive_group(required=True)
    target_group.add_argument("--ready-file", metavar="FILE", help="ready file of a running rehearsal")
    target_group.add_argument("--world", metavar="WORLD.toml", help="world file to add the commands to")
    copy_parser.add_argument("--application", required=True, metavar="NAME", help="application of the world")
    copy_parser.add_argument("--guild", metavar="NAME", help="guild of the world (default: global commands)")
    copy_parser.add_argument("--guild-id", metavar="ID", help="with --api, guild to read the commands of")
    copy_parser.set_defaults(run=_run_world, world_action="copy-commands")


def _add_admin_actions(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(metavar="ACTION", required=True)

    def add_action(name: str, help_text: str) -> argparse.ArgumentParser:
        subparser = _add_command(subparsers, name, help_text)
        _add_settings(subparser, {key: MAIN_SETTINGS[key] for key in STORE_SETTINGS})
        subparser.set_defaults(run=_store_command("commands.admin", "run"), admin_action=name)
        return subparser

    admin_arguments.add_actions(add_action)


def _run_serve(arguments: argparse.Namespace) -> int:
    return _run_server(load_config(arguments, SERVE_DEFAULTS), is_rehearsal=False)


def _run_dev(arguments: argparse.Namespace) -> int:
    if arguments.stop_with_stdin:
        threading.Thread(target=_terminate_with_stdin, daemon=True).start()
    config = load_config(arguments, DEV_DEFAULTS, is_rehearsal=True)
    return _run_server(config, is_rehearsal=True, with_report=arguments.report, record=arguments.record)


def _run_replay(arguments: argparse.Namespace) -> int:
    from hubbub.server.commands import replay

    return replay.run(load_config(arguments, DEV_DEFAULTS, is_rehearsal=True), arguments)


def _terminate_with_stdin() -> None:
    # The end of stdin means that the program that started the server has ended, also after kill -9. sys.stdin is not used,
    # because Python locks it while it is read and closes it at exit.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _run_server(config: Config, *, is_rehearsal: bool, with_report: bool = False, record: str | None = None) -> int:
    # Start-up only creates long-lived objects, so garbage collection would be wasted time.
    gc.disable()
    if is_rehearsal:
        from hubbub.server.core.deferred_certificates import defer_certificate_authorities

        with defer_certificate_authorities():
            import_module("aiohttp")
    from hubbub.server.commands import serve

    return serve.run(config, is_rehearsal=is_rehearsal, with_report=with_report, record=record)


def _run_world(arguments: argparse.Namespace) -> int:
    from hubbub.server.commands import world

    return world.run(arguments)


def _run_watch(arguments: argparse.Namespace) -> int:
    from hubbub.server.commands import watch

    return watch.run(arguments)


def _run_doctor(arguments: argparse.Namespace) -> int:
    if arguments.url is None:
        return _store_command("doctor", "run")(arguments)
    from hubbub.server import deployment

    return deployment.run(arguments)


def _run_parity(arguments: argparse.Namespace) -> int:
    from hubbub.server import parity

    try:
        return parity.run(arguments)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        return print_error(f"{error.filename}: {error.strerror}")


def _store_command(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """Return a command that imports its module when it runs, and calls the function with the configuration."""

    def run(arguments: argparse.Namespace) -> int:
        config = load_config(arguments, SERVE_DEFAULTS)
        command: Callable[[Config, argparse.Namespace], int] = getattr(
            import_module(f"hubbub.server.{module}"), function
        )
        return command(config, arguments)

    return run


if __name__ == "__main__":
    run_process()
