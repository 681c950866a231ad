"""The command line: which command, with which settings. Commands are imported when they run, so that each starts quickly."""

import argparse
import gc
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import hubbub
from hubbub.server.core import config as settings
from hubbub.server.core.config import Config, ConfigError

SERVE_DEFAULTS: Final[dict[str, Any]] = {"data": "./hubbub-data"}
DEV_DEFAULTS: Final[dict[str, Any]] = {
    "control": True,
    "rate_limits": "report",
    "approval_caps": "report",
    "private_targets": True,
    "identity.any_issuer": True,
    "activities.proxy_host": "activities.localhost",
}

REHEARSAL: Final = ("control", "control_token", "now", "seed", "world")
"""Settings that only `hubbub dev` has."""

MAIN: Final[dict[str, str]] = {
    "data": "the folder of the embedded database and files (default ./hubbub-data)",
    "host": "the address to listen at (default 127.0.0.1)",
    "port": "the port to listen at; 0 picks a free one (default 8080)",
    "public_url": "the address that clients reach us at (default http://HOST:PORT)",
    "database_url": "postgresql://... instead of the embedded database",
    "nats_url": "nats://... the bus between several processes",
    "files_url": "where files are kept: a folder, memory:// or s3://bucket/prefix?...",
    "roles": "what this process does, of api,gateway,voice,worker (default all)",
    "ready_file": "write a JSON file with addresses and tokens here once connections are accepted",
}
DEV: Final[dict[str, str]] = {
    "world": "a world file (TOML) instead of the demo world",
    "data": "the folder of the embedded database and files (default: everything is in memory)",
    "seed": "a number that decides the world's ids and tokens",
    "now": "what time it is at the start, such as 2026-12-01T00:00:00Z",
    "rate_limits": "off, real, or report: count but refuse nothing (default report)",
}
STORE: Final = ("data", "database_url", "nats_url", "files_url")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the number is the process's exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] == "agent":
        # It stands beside the server, on the SDK, and reads its own settings.
        run: Callable[[Sequence[str]], int] = import_module("hubbub.agent.cli").main
        return run(argv[1:])
    arguments = _parser().parse_args(argv)
    try:
        command: Callable[[argparse.Namespace], int] = arguments.run
        return command(arguments)
    except ConfigError as error:
        return complain(error, 2)
    except KeyboardInterrupt:
        return 130


def complain(problem: object, code: int = 1) -> int:
    """Say on the error stream why the command did not work."""
    print(f"hubbub: {problem}", file=sys.stderr)
    return code


def load(arguments: argparse.Namespace, defaults: dict[str, Any], *, rehearsal: bool = False) -> Config:
    """The configuration that a command line, the environment and the file amount to."""
    flags = {name: value for name, value in vars(arguments).items() if name in _FLAGS}
    config = settings.load(flags, environ=os.environ, file=arguments.config, defaults=defaults)
    if not rehearsal:
        for key in REHEARSAL:
            if getattr(config, key):
                raise ConfigError(key, "hubbub serve", "belongs to rehearsals; hubbub dev has it")
    return config


_FLAGS: Final = {key.replace(".", "_"): key for key in settings.KEYS}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hubbub", description="A social platform that you run yourself.")
    parser.add_argument("--version", action="version", version=f"hubbub {hubbub.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    serve = commands.add_parser("serve", help="run the durable platform", usage="hubbub serve [SETTINGS]")
    _add_settings(serve, MAIN, without=REHEARSAL)
    serve.set_defaults(run=_serve)

    dev = commands.add_parser(
        "dev",
        help="run a rehearsal platform: in memory, with the demo world and the control API",
        usage="hubbub dev [SETTINGS]",
    )
    _add_settings(dev, MAIN | DEV, without=("control",), defaults=DEV_DEFAULTS)
    dev.set_defaults(run=_dev)

    commands.add_parser(
        "agent", help="let the games on this machine speak for you: hubbub agent --help", add_help=False
    )

    admin = commands.add_parser("admin", help="make and change users, applications and bots in the store")
    _add_admin(admin)

    backup = commands.add_parser("backup", help="copy the embedded database and its files, also while the server runs")
    backup.add_argument(
        "destination", metavar="DEST", help="a folder that does not exist yet; it becomes a data folder"
    )
    _add_settings(backup, {key: MAIN[key] for key in STORE})
    backup.set_defaults(run=_later("commands.backup", "run"))

    doctor = commands.add_parser(
        "doctor", help="say what is wrong with a configuration, and how to fix it", usage="hubbub doctor [SETTINGS]"
    )
    _add_settings(doctor, {key: text for key, text in MAIN.items() if key != "ready_file"}, without=REHEARSAL)
    doctor.set_defaults(run=_later("doctor", "run"))

    parity = commands.add_parser(
        "parity", help="say which operations of a public API description are served and tested"
    )
    parity.add_argument("openapi", metavar="OPENAPI.json", help="the description, an OpenAPI file")
    parity.add_argument("--traffic", metavar="FILE", help="what a run of the tests with HUBBUB_TRAFFIC=FILE recorded")
    parity.add_argument(
        "--output", metavar="FILE", default="docs/parity.md", help="where to write the ledger (default docs/parity.md)"
    )
    parity.set_defaults(run=_parity)
    return parser


def _add_settings(
    parser: argparse.ArgumentParser,
    shown: dict[str, str],
    without: Iterable[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> None:
    """Flags for these settings; where some are left out by name, for all others too."""
    parser.add_argument("--config", metavar="FILE", help="a TOML file of settings (or HUBBUB_CONFIG)")
    for key, text in shown.items():
        parser.add_argument(_flag(key), metavar=key.rsplit("_")[-1].upper(), help=text)
    if without is None:
        return
    more = parser.add_argument_group(
        "more settings",
        "docs/operating.md explains them; each is also HUBBUB_... in the environment, and a key of the file",
    )
    for key in settings.KEYS:
        if key not in shown and key not in without:
            text = settings.allowed(key)
            usual = (defaults or {}).get(key, settings.default(key))
            if usual is not None:
                text += f" (default {str(usual).lower() if isinstance(usual, bool) else usual})"
            more.add_argument(_flag(key), metavar="...", help=text.replace("%", "%%"))


def _flag(key: str) -> str:
    return "--" + key.replace(".", "-").replace("_", "-")


def _add_admin(parser: argparse.ArgumentParser) -> None:
    deeds = parser.add_subparsers(metavar="WHAT", required=True)

    def deed(name: str, function: str, text: str) -> argparse.ArgumentParser:
        made = deeds.add_parser(name, help=text)
        _add_settings(made, {key: MAIN[key] for key in STORE})
        made.set_defaults(run=_later("commands.admin", function))
        return made

    user = deed("create-user", "create_user", "make a person; prints their token")
    user.add_argument("username")
    user.add_argument("--email")
    user.add_argument("--global-name")
    user.add_argument("--password-stdin", action="store_true", help="read a password from standard input")

    password = deed("set-password", "set_password", "give a person a new password, read from standard input")
    password.add_argument("username")

    application = deed("create-application", "create_application", "make an application; prints its secrets, this once")
    application.add_argument("name")
    application.add_argument("--owner", required=True, metavar="USERNAME")
    application.add_argument("--no-bot", action="store_true", help="without a bot user")
    application.add_argument(
        "--intent", action="append", default=[], metavar="NAME", help="a privileged intent it may ask for"
    )
    application.add_argument("--redirect-uri", action="append", default=[], metavar="URI")

    token = deed("reset-bot-token", "reset_bot_token", "end a bot's token; prints the new one, this once")
    token.add_argument("application_id", metavar="APPLICATION_ID")

    deed("list-approvals", "list_approvals", "show what applications ask you for")
    scope = deed("approve-scope", "approve_scope", "let an application ask people for a scope that needs approval")
    intent = deed("approve-intent", "approve_intent", "give a large application a privileged intent for a year")
    denied = deed("deny-approval", "deny_approval", "say no to what an application asks for")
    for decision in (scope, intent, denied):
        decision.add_argument("application_id", metavar="APPLICATION_ID")
        decision.add_argument("name", metavar="NAME", help="of the scope or the intent")

    ban = deed("ban-user", "ban_user", "close an account: every token ends, and every game is left")
    ban.add_argument("username")
    ban.add_argument("--until", metavar="TIME", help="such as 2026-12-01T00:00:00Z; without it for good")
    ban.add_argument("--reason")

    unban = deed("unban-user", "unban_user", "open an account again")
    unban.add_argument("username")

    publisher = deed("link-publisher", "link_publisher", "let an application become a publisher's game, for good")
    publisher.add_argument("application_id", metavar="APPLICATION_ID")
    publisher.add_argument("parent_id", metavar="PARENT_ID")
    publisher.add_argument("--yes", action="store_true", help="yes, delete what the application has of its own players")

    bot = deed("add-bot", "add_bot", "let an application's bot into a guild")
    bot.add_argument("application_id", metavar="APPLICATION_ID")
    bot.add_argument("guild_id", metavar="GUILD_ID")
    bot.add_argument(
        "--permission", action="append", default=[], metavar="NAME", help="give it a role with this permission"
    )

    guild = deed("guild", "change_guild", "give a guild a boost tier and features, or take them; shows what it has")
    guild.add_argument("guild_id", metavar="GUILD_ID")
    guild.add_argument("--tier", type=int, choices=range(4), help="what boosts would have made of it")
    guild.add_argument("--add-feature", action="append", default=[], metavar="NAME", help="such as VANITY_URL")
    guild.add_argument("--remove-feature", action="append", default=[], metavar="NAME")

    person = deed("user", "change_user", "give a person premium, or take it; shows what they have")
    person.add_argument("username")
    person.add_argument("--premium", choices=("none", "tier_0", "tier_1", "tier_2"))

    split = deed(
        "split-permissions",
        "split_permissions",
        "let who holds the older permissions pin, bypass slowmode and create expressions and events as before",
    )
    split.add_argument("guild_id", metavar="GUILD_ID")


def _serve(arguments: argparse.Namespace) -> int:
    return _run(load(arguments, SERVE_DEFAULTS), rehearsal=False)


def _dev(arguments: argparse.Namespace) -> int:
    return _run(load(arguments, DEV_DEFAULTS, rehearsal=True), rehearsal=True)


def _run(config: Config, *, rehearsal: bool) -> int:
    # Start-up only makes things that stay; looking for garbage among them is time lost.
    gc.disable()
    from hubbub.server.commands import serve

    return serve.run(config, rehearsal=rehearsal)


def _parity(arguments: argparse.Namespace) -> int:
    from hubbub.server import parity

    try:
        return parity.run(arguments)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        return complain(f"{error.filename}: {error.strerror}")


def _later(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """A command that only needs the store."""

    def run(arguments: argparse.Namespace) -> int:
        config = load(arguments, SERVE_DEFAULTS)
        found: Callable[[Config, argparse.Namespace], int] = getattr(import_module(f"hubbub.server.{module}"), function)
        return found(config, arguments)

    return run


if __name__ == "__main__":
    sys.exit(main())
