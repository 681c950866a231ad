"""`hubbub admin`: an operator's deeds on the store itself, with the server running (PostgreSQL) or stopped (embedded)."""

import argparse
import asyncio
import getpass
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from hubbub.protocol import wire
from hubbub.protocol.enums import GuildFeature, PremiumType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import LATEST_MS, ApplicationId, GuildId, UserId
from hubbub.protocol.resources.accounts import PASSWORD_MAX, PASSWORD_MIN
from hubbub.protocol.resources.developers import PRIVILEGED_INTENTS
from hubbub.protocol.scopes import SCOPES
from hubbub.server.app import DATABASE_FILE, App
from hubbub.server.cli import complain
from hubbub.server.core import auth
from hubbub.server.core.bus import BusError
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.migrations import MigrationError
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.resources import accounts, applications, channels, developers, guilds, identities, members, users
from hubbub.server.worlds import files
from hubbub.server.worlds.files import WorldError

T = TypeVar("T")

SWITCHED_BY_MEMBERS: Final = frozenset(
    {
        GuildFeature.GUILD_ONBOARDING,
        GuildFeature.WELCOME_SCREEN_ENABLED,
        GuildFeature.MEMBER_VERIFICATION_GATE_ENABLED,
        GuildFeature.MEMBER_VERIFICATION_MANUAL_APPROVAL,
    }
)
"""Features that say what some page of a guild is set to."""

PROCESS = 31
"""Servers have process number 0, so that ids made here beside a running one differ from its own."""


class Refusal(Exception):
    """What was asked cannot be done, in words for the operator."""


def create_user(config: Config, arguments: argparse.Namespace) -> int:
    """Make a person and sign them in."""

    def deed(call: Call) -> list[str]:
        row = accounts.create(call, arguments.username, email=arguments.email, global_name=arguments.global_name)
        if password_hash is not None:
            accounts.set_password(call, row.id, password_hash)
        token = auth.issue(call.tx, kind="user", user_id=row.id, now=call.now, ids=call.ids)
        return [f"id: {row.id}", f"username: {row.username}", f"token: {token}"]

    try:
        password_hash = accounts.hash_password(_read_password()) if arguments.password_stdin else None
    except Refusal as refusal:
        return complain(refusal)
    return _do(config, deed, begins=True)


def set_password(config: Config, arguments: argparse.Namespace) -> int:
    """Give a person a new password; their tokens end."""

    def deed(call: Call) -> list[str]:
        row = _person(call, arguments.username)
        accounts.set_password(call, row.id, password_hash)
        auth.revoke(call.tx, row.id, kind="user")
        return [f"{row.username} has a new password; earlier tokens have ended"]

    try:
        password_hash = accounts.hash_password(_read_password())
    except Refusal as refusal:
        return complain(refusal)
    return _do(config, deed)


def create_application(config: Config, arguments: argparse.Namespace) -> int:
    """Make an application."""

    def deed(call: Call) -> list[str]:
        made = applications.create(
            call,
            arguments.name,
            _person(call, arguments.owner).id,
            bot=not arguments.no_bot,
            flags=files.bits(arguments.intent, files.PRIVILEGED, ("--intent",), "privileged intent"),
            redirect_uris=arguments.redirect_uri,
        )
        if arguments.intent:
            developers.watch(call, made.row.id)
        lines = [
            f"id: {made.row.id}",
            f"client secret: {made.client_secret}",
            f"public key: {made.row.verify_key}",
        ]
        if made.bot_token is not None:
            lines.append(f"bot token: {made.bot_token}")
        return lines

    return _do(config, deed)


def reset_bot_token(config: Config, arguments: argparse.Namespace) -> int:
    """End a bot's token and make another."""

    def deed(call: Call) -> list[str]:
        row = _with_bot(call, arguments.application_id)
        return [f"bot token: {applications.reset_bot_token(call, row)}"]

    return _do(config, deed)


def add_bot(config: Config, arguments: argparse.Namespace) -> int:
    """Let a bot into a guild."""

    def deed(call: Call) -> list[str]:
        row = _with_bot(call, arguments.application_id)
        assert row.bot_id is not None
        guild = _guild(call, arguments.guild_id)
        permissions = None
        if arguments.permission:
            permissions = files.permissions(arguments.permission, ("--permission",))
        if members.add(call, GuildId(guild.id), row.bot_id, permissions=permissions) is None:
            raise Refusal(f"{row.name} is in {guild.name} already")
        return [f"{row.name} is in {guild.name}"]

    return _do(config, deed)


def split_permissions(config: Config, arguments: argparse.Namespace) -> int:
    """Give a guild's roles and overwrites the permissions that 23 February 2026 split off."""

    def deed(call: Call) -> list[str]:
        guild = _guild(call, arguments.guild_id)
        changed = channels.split_permissions(call, guild.id)
        return [f"{guild.name}: {changed[0]} roles and {changed[1]} overwrites have the newer permissions too"]

    return _do(config, deed)


def change_guild(config: Config, arguments: argparse.Namespace) -> int:
    """Give a guild a boost tier and features, or take them; shows what it has."""

    def deed(call: Call) -> list[str]:
        guild = _guild(call, arguments.guild_id)
        for flag, names in (("--add-feature", arguments.add_feature), ("--remove-feature", arguments.remove_feature)):
            for name in names:
                if files.feature(name, (flag,)) in SWITCHED_BY_MEMBERS:
                    raise Refusal(f"{name} follows from what the guild's own members switch on and off")
        guild = guilds.grant(
            call, guild, premium_tier=arguments.tier, add=arguments.add_feature, remove=arguments.remove_feature
        )
        features = ", ".join(guild.feature_names) or "none"
        return [f"{guild.name}", f"tier: {guild.premium_tier}", f"features: {features}"]

    return _do(config, deed)


def change_user(config: Config, arguments: argparse.Namespace) -> int:
    """Give a person a level of premium, or take it; shows what they have."""

    def deed(call: Call) -> list[str]:
        row = _person(call, arguments.username)
        level = PremiumType(row.premium_type)
        if arguments.premium is not None:
            level = files.PREMIUM[arguments.premium]
            users.set_premium(call, row, level)
        return [f"{row.username}", f"premium: {level.name.lower()}"]

    return _do(config, deed)


def list_approvals(config: Config, arguments: argparse.Namespace) -> int:
    """Show what waits for the operator."""

    def deed(call: Call) -> list[str]:
        pending = developers.list_pending(call.tx)
        known = applications.find_many(call.tx, [row.application_id for row in pending])
        lines = [
            f"{row.application_id} {row.kind} {row.name}: {known[row.application_id].name} says: "
            + " ".join(row.reason.split())
            for row in pending
            if row.application_id in known
        ]
        return lines or ["nothing waits for you"]

    return _do(config, deed)


def approve_scope(config: Config, arguments: argparse.Namespace) -> int:
    """Let an application ask for a scope."""

    def deed(call: Call) -> list[str]:
        row = _application(call, arguments.application_id)
        if arguments.name not in SCOPES:
            raise Refusal(f"there is no scope {arguments.name}")
        developers.approve(call, row, "scope", arguments.name)
        return [f"{row.name} may ask people for {arguments.name}"]

    return _do(config, deed)


def approve_intent(config: Config, arguments: argparse.Namespace) -> int:
    """Give an application a privileged intent for a year."""

    def deed(call: Call) -> list[str]:
        row = _with_bot(call, arguments.application_id)
        if arguments.name not in PRIVILEGED_INTENTS:
            raise Refusal(f"{arguments.name} is not one of {', '.join(PRIVILEGED_INTENTS)}")
        developers.approve(call, row, "intent", arguments.name)
        return [f"{row.name} has {arguments.name} for a year"]

    return _do(config, deed)


def deny_approval(config: Config, arguments: argparse.Namespace) -> int:
    """Say no to what an application asks for."""

    def deed(call: Call) -> list[str]:
        row = _application(call, arguments.application_id)
        kind = "intent" if arguments.name in PRIVILEGED_INTENTS else "scope"
        waiting = {(each.application_id, each.kind, each.name) for each in developers.list_pending(call.tx)}
        if (row.id, kind, arguments.name) not in waiting:
            raise Refusal(f"{row.name} does not ask for {arguments.name}")
        developers.deny(call, row, kind, arguments.name)
        return [f"{row.name} does not get {arguments.name}"]

    return _do(config, deed)


def ban_user(config: Config, arguments: argparse.Namespace) -> int:
    """Close an account, until a moment or for good."""

    def deed(call: Call) -> list[str]:
        row = _person(call, arguments.username)
        ends_ms = None if arguments.until is None else _moment(call, arguments.until)
        accounts.ban(call, row.id, ends_ms=ends_ms, reason=arguments.reason)
        ends = "for good" if ends_ms is None else f"until {wire.timestamp(ends_ms)}"
        return [f"{row.username} is banned {ends}; every token has ended, and every game has been left"]

    return _do(config, deed)


def unban_user(config: Config, arguments: argparse.Namespace) -> int:
    """Open an account again."""

    def deed(call: Call) -> list[str]:
        row = _person(call, arguments.username)
        if not accounts.unban(call, row.id):
            raise Refusal(f"{row.username} is not banned")
        return [f"{row.username} is no longer banned"]

    return _do(config, deed)


def link_publisher(config: Config, arguments: argparse.Namespace) -> int:
    """Let an application become a publisher's game."""

    def deed(call: Call) -> list[str]:
        child, parent = (_application(call, text) for text in (arguments.application_id, arguments.parent_id))
        problem = identities.find_publisher_problem(call, child, parent)
        if problem is not None:
            raise Refusal(problem)
        if not arguments.yes:
            raise Refusal(
                f"this deletes the tokens, identities, provisional accounts, game friends and lobbies of {child.name} "
                "and cannot be undone: add --yes"
            )
        identities.join_family(call, child, parent)
        return [f"{child.name} is a game of {parent.name}"]

    return _do(config, deed)


def _moment(call: Call, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(f"{text} is not a time such as 2026-12-01T00:00:00Z") from None
    ms = wire.milliseconds(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    if not call.now < ms <= LATEST_MS:
        raise Refusal(f"{text} is not a time to come")
    return ms


def _person(call: Call, username: str) -> users.UserRow:
    row = users.find_person(call.tx, username.lower())
    if row is None:
        raise Refusal(f"nobody is called {username}")
    return row


def _guild(call: Call, text: str) -> guilds.GuildRow:
    row = guilds.find(call.tx, _number(text))
    if row is None:
        raise Refusal(f"there is no guild {text}")
    return row


def _application(call: Call, text: str) -> applications.ApplicationRow:
    row = applications.find(call.tx, ApplicationId(_number(text)))
    if row is None:
        raise Refusal(f"there is no application {text}")
    return row


def _with_bot(call: Call, text: str) -> applications.ApplicationRow:
    row = _application(call, text)
    if row.bot_id is None:
        raise Refusal(f"the application {row.name} has no bot")
    return row


def _number(text: str) -> UserId:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise Refusal(f"{text} is not an id")
    return UserId(int(text))


def _read_password() -> str:
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise Refusal(f"a password has {PASSWORD_MIN} to {PASSWORD_MAX} characters")
    return password


def _do(config: Config, deed: Callable[[Call], list[str]], *, begins: bool = False) -> int:
    """Run a deed in one transaction and print what came of it; only one that `begins` makes sense in an empty store."""
    if config.database_url is None and config.data is not None:
        path = Path(config.data) / DATABASE_FILE
        if not path.exists():
            if not begins:
                return complain(f"{path} does not exist; --data names the data folder")
            print(f"hubbub: {path} is new: a server on this machine uses it with --data {config.data}", file=sys.stderr)
    try:
        lines = asyncio.run(_run(config, deed))
    except (Refusal, WorldError) as refusal:
        return complain(refusal)
    except ApiError as error:
        return complain(error.in_words())
    except (BusError, MigrationError) as error:
        return complain(error)
    except StoreUnavailable as error:
        if "another process" in str(error):
            return complain(f"{error}. The embedded database has one process at a time: stop the server first")
        return complain(error)
    print("\n".join(lines))
    return 0


async def _run(config: Config, deed: Callable[[Call], T]) -> T:
    app = App(config)
    app.ids = SnowflakeFactory(app.clock, worker=config.worker, process=PROCESS)
    app.database.on_commit = app.publish
    await app.database.start()
    try:
        # Running servers hear of it over the bus: a token that ended, a bot that came.
        await app.bus.start()
        try:
            return await app.database.write(lambda tx: deed(app.make_call(tx)))
        finally:
            await app.bus.close()
    finally:
        await app.database.close()
