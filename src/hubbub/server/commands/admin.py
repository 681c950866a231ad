"""`hubbub admin`: an operator's actions on the store, with the server running (PostgreSQL) or stopped (embedded)."""

import argparse
import asyncio
import getpass
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from hubbub.protocol import codec
from hubbub.protocol.enums import GuildFeature, PremiumType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import LATEST_MS, ApplicationId, GuildId
from hubbub.protocol.resources.accounts import PASSWORD_MAX, PASSWORD_MIN
from hubbub.protocol.resources.developers import PRIVILEGED_INTENTS
from hubbub.protocol.scopes import SCOPES
from hubbub.server.app import App
from hubbub.server.core import auth
from hubbub.server.core.backends import DATABASE_FILE
from hubbub.server.core.bus import BusError
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.migrations import MigrationError
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.identity import accounts, applications, developers, identities, users
from hubbub.server.places import channels, guilds, members
from hubbub.server.terminal import print_error
from hubbub.server.worlds import schema
from hubbub.server.worlds.schema import WorldError

T = TypeVar("T")

GUILD_CONTROLLED_FEATURES: Final = frozenset(
    {
        GuildFeature.GUILD_ONBOARDING,
        GuildFeature.WELCOME_SCREEN_ENABLED,
        GuildFeature.MEMBER_VERIFICATION_GATE_ENABLED,
        GuildFeature.MEMBER_VERIFICATION_MANUAL_APPROVAL,
    }
)
"""Features that the settings of a guild control, and that an operator cannot change directly."""

ADMIN_PROCESS = 31
"""The value of `process` in the IDs that commands create.

Servers use 0, so the IDs of a command differ from those of a server that is running with the same `worker` number."""


class AdminError(Exception):
    """An action cannot be performed; the message is shown to the operator."""


def create_user(config: Config, arguments: argparse.Namespace) -> int:
    """Create a user, with a password if `--password-stdin` is given, and print a token."""

    def action(call: Call) -> list[str]:
        row = accounts.create_user(call, arguments.username, email=arguments.email, global_name=arguments.global_name)
        if password_hash is not None:
            accounts.set_password(call, row.id, password_hash)
        token = auth.issue(call.tx, kind="user", user_id=row.id, now=call.now_ms, ids=call.ids)
        return [f"id: {row.id}", f"username: {row.username}", f"token: {token}"]

    try:
        password_hash = accounts.passwords.hash_password(_read_password()) if arguments.password_stdin else None
    except AdminError as error:
        return print_error(error)
    return _perform(config, action, can_create_store=True)


def set_password(config: Config, arguments: argparse.Namespace) -> int:
    """Set a user's password and revoke their tokens."""

    def action(call: Call) -> list[str]:
        row = _require_user(call, arguments.username)
        accounts.set_password(call, row.id, password_hash)
        auth.revoke(call.tx, row.id, kind="user")
        return [f"Password of {row.username} changed; all earlier tokens are revoked."]

    try:
        password_hash = accounts.passwords.hash_password(_read_password())
    except AdminError as error:
        return print_error(error)
    return _perform(config, action)


def create_application(config: Config, arguments: argparse.Namespace) -> int:
    """Create an application."""

    def action(call: Call) -> list[str]:
        created = applications.management.create(
            call,
            arguments.name,
            _require_user(call, arguments.owner).id,
            with_bot=not arguments.no_bot,
            flags=schema.parse_flags(
                arguments.intent, schema.PRIVILEGED_INTENT_FLAGS, ("--intent",), "privileged intent"
            ),
            redirect_uris=arguments.redirect_uri,
        )
        if arguments.intent:
            developers.schedule_size_check(call, created.row.id)
        lines = [
            f"id: {created.row.id}",
            f"client secret: {created.client_secret}",
            f"public key: {created.row.verify_key}",
        ]
        if created.bot_token is not None:
            lines.append(f"bot token: {created.bot_token}")
        return lines

    return _perform(config, action)


def reset_bot_token(config: Config, arguments: argparse.Namespace) -> int:
    """Revoke a bot's token and create a new one."""

    def action(call: Call) -> list[str]:
        row = _require_bot_application(call, arguments.application_id)
        return [f"bot token: {applications.management.reset_bot_token(call, row)}"]

    return _perform(config, action)


def add_bot(config: Config, arguments: argparse.Namespace) -> int:
    """Add a bot to a guild."""

    def action(call: Call) -> list[str]:
        row = _require_bot_application(call, arguments.application_id)
        assert row.bot_id is not None
        guild = _require_guild(call, arguments.guild_id)
        permissions = None
        if arguments.permission:
            permissions = schema.parse_permissions(arguments.permission, ("--permission",))
        if members.membership.add(call, GuildId(guild.id), row.bot_id, permissions=permissions) is None:
            raise AdminError(f"{row.name} is already a member of {guild.name}")
        return [f"Added {row.name} to {guild.name}."]

    return _perform(config, action)


def split_permissions(config: Config, arguments: argparse.Namespace) -> int:
    """Add the permissions that were split off others on 23 February 2026 to a guild's roles and overwrites."""

    def action(call: Call) -> list[str]:
        guild = _require_guild(call, arguments.guild_id)
        role_count, overwrite_count = channels.overwrites.split_permissions(call, guild.id)
        return [f"{guild.name}: added the newer permissions to {role_count} roles and {overwrite_count} overwrites."]

    return _perform(config, action)


def change_guild(config: Config, arguments: argparse.Namespace) -> int:
    """Show or change a guild's boost tier and features."""

    def action(call: Call) -> list[str]:
        guild = _require_guild(call, arguments.guild_id)
        for flag, names in (("--add-feature", arguments.add_feature), ("--remove-feature", arguments.remove_feature)):
            for name in names:
                if schema.parse_feature(name, (flag,)) in GUILD_CONTROLLED_FEATURES:
                    raise AdminError(f"{name} is controlled by the guild's own settings and cannot be changed here")
        guild = guilds.maintenance.set_tier_and_features(
            call, guild, premium_tier=arguments.tier, add=arguments.add_feature, remove=arguments.remove_feature
        )
        features = ", ".join(guild.feature_names) or "none"
        return [f"{guild.name}", f"tier: {guild.premium_tier}", f"features: {features}"]

    return _perform(config, action)


def change_user(config: Config, arguments: argparse.Namespace) -> int:
    """Show or change a user's premium tier."""

    def action(call: Call) -> list[str]:
        row = _require_user(call, arguments.username)
        tier = PremiumType(row.premium_type)
        if arguments.premium is not None:
            tier = schema.PREMIUM_TYPES[arguments.premium]
            users.profiles.set_premium(call, row, tier)
        return [f"{row.username}", f"premium: {tier.name.lower()}"]

    return _perform(config, action)


def list_approvals(config: Config, arguments: argparse.Namespace) -> int:
    """Print the pending approval requests."""

    def action(call: Call) -> list[str]:
        pending = developers.list_pending(call.tx)
        applications_by_id = applications.find_many(call.tx, [row.application_id for row in pending])
        lines = [
            f"{row.application_id} {row.kind} {row.name}: {applications_by_id[row.application_id].name}, reason: "
            + " ".join(row.reason.split())
            for row in pending
            if row.application_id in applications_by_id
        ]
        return lines or ["No pending requests."]

    return _perform(config, action)


def approve_scope(config: Config, arguments: argparse.Namespace) -> int:
    """Allow an application to request a scope."""

    def action(call: Call) -> list[str]:
        row = _require_application(call, arguments.application_id)
        if arguments.name not in SCOPES:
            raise AdminError(f"unknown scope {arguments.name}")
        developers.approve(call, row, "scope", arguments.name)
        return [f"{row.name} may now request the scope {arguments.name}."]

    return _perform(config, action)


def approve_intent(config: Config, arguments: argparse.Namespace) -> int:
    """Grant an application a privileged intent for one year."""

    def action(call: Call) -> list[str]:
        row = _require_bot_application(call, arguments.application_id)
        if arguments.name not in PRIVILEGED_INTENTS:
            raise AdminError(
                f"{arguments.name} is not a privileged intent; choose one of {', '.join(PRIVILEGED_INTENTS)}"
            )
        developers.approve(call, row, "intent", arguments.name)
        return [f"{row.name} has the intent {arguments.name} for one year."]

    return _perform(config, action)


def deny_approval(config: Config, arguments: argparse.Namespace) -> int:
    """Deny an application's request for a scope or an intent."""

    def action(call: Call) -> list[str]:
        row = _require_application(call, arguments.application_id)
        kind = "intent" if arguments.name in PRIVILEGED_INTENTS else "scope"
        pending = {(request.application_id, request.kind, request.name) for request in developers.list_pending(call.tx)}
        if (row.id, kind, arguments.name) not in pending:
            raise AdminError(f"{row.name} has no pending request for {arguments.name}")
        developers.deny(call, row, kind, arguments.name)
        return [f"Denied {arguments.name} for {row.name}."]

    return _perform(config, action)


def ban_user(config: Config, arguments: argparse.Namespace) -> int:
    """Disable an account, permanently or until a given time."""

    def action(call: Call) -> list[str]:
        row = _require_user(call, arguments.username)
        ends_ms = None if arguments.until is None else _parse_future_time(call, arguments.until)
        accounts.ban(call, row.id, ends_ms=ends_ms, reason=arguments.reason)
        ends = "permanently" if ends_ms is None else f"until {codec.timestamp(ends_ms)}"
        return [f"Banned {row.username} {ends}; all tokens are revoked and all game accounts are unlinked."]

    return _perform(config, action)


def unban_user(config: Config, arguments: argparse.Namespace) -> int:
    """Enable a disabled account again."""

    def action(call: Call) -> list[str]:
        row = _require_user(call, arguments.username)
        if not accounts.unban(call, row.id):
            raise AdminError(f"{row.username} is not banned")
        return [f"Unbanned {row.username}."]

    return _perform(config, action)


def link_publisher(config: Config, arguments: argparse.Namespace) -> int:
    """Make an application a game of a publisher."""

    def action(call: Call) -> list[str]:
        child, parent = (_require_application(call, text) for text in (arguments.application_id, arguments.parent_id))
        problem = identities.find_publisher_problem(call, child, parent)
        if problem is not None:
            raise AdminError(problem)
        if not arguments.yes:
            raise AdminError(
                f"this deletes the tokens, identities, provisional accounts, game friends and lobbies of {child.name} "
                "and cannot be undone; add --yes to confirm"
            )
        identities.join_family(call, child, parent)
        return [f"{child.name} is now a game of {parent.name}."]

    return _perform(config, action)


def _parse_future_time(call: Call, text: str) -> int:
    """Parse an ISO 8601 time, in UTC if it has no time zone, and return it as Unix milliseconds."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise AdminError(f"{text} is not a time such as 2026-12-01T00:00:00Z") from None
    ms = codec.milliseconds(time if time.tzinfo is not None else time.replace(tzinfo=UTC))
    if not call.now_ms < ms <= LATEST_MS:
        raise AdminError(f"{text} is not in the future")
    return ms


def _require_user(call: Call, username: str) -> users.UserRow:
    row = users.names.find_by_username(call.tx, username.lower())
    if row is None:
        raise AdminError(f"there is no user named {username}")
    return row


def _require_guild(call: Call, text: str) -> guilds.GuildRow:
    row = guilds.find(call.tx, _parse_id(text))
    if row is None:
        raise AdminError(f"there is no guild {text}")
    return row


def _require_application(call: Call, text: str) -> applications.ApplicationRow:
    row = applications.find(call.tx, ApplicationId(_parse_id(text)))
    if row is None:
        raise AdminError(f"there is no application {text}")
    return row


def _require_bot_application(call: Call, text: str) -> applications.ApplicationRow:
    row = _require_application(call, text)
    if row.bot_id is None:
        raise AdminError(f"the application {row.name} has no bot")
    return row


def _parse_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise AdminError(f"{text} is not an ID")
    return int(text)


def _read_password() -> str:
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise AdminError(f"the password must have {PASSWORD_MIN} to {PASSWORD_MAX} characters")
    return password


def _perform(config: Config, action: Callable[[Call], list[str]], *, can_create_store: bool = False) -> int:
    """Run an action in one transaction and print its result. Fail if the store is missing, unless `can_create_store`."""
    if config.database_url is None and config.data is not None:
        path = Path(config.data) / DATABASE_FILE
        if not path.exists():
            if not can_create_store:
                return print_error(f"{path} does not exist; set --data to the data folder")
            print(f"hubbub: created {path}; start the server with --data {config.data} to use it", file=sys.stderr)
    try:
        lines = asyncio.run(_run_action(config, action))
    except (AdminError, WorldError) as error:
        return print_error(error)
    except ApiError as error:
        return print_error(error.describe())
    except (BusError, MigrationError) as error:
        return print_error(error)
    except StoreUnavailable as error:
        if "another process" in str(error):
            return print_error(f"{error}. The embedded database supports one process at a time: stop the server first")
        return print_error(error)
    print("\n".join(lines))
    return 0


async def _run_action(config: Config, action: Callable[[Call], T]) -> T:
    """Run an action in one transaction and publish its events to running servers."""
    app = App(config)
    app.ids = SnowflakeFactory(app.clock, worker=config.worker, process=ADMIN_PROCESS)
    app.database.on_commit = app.publish
    await app.database.start()
    try:
        # Running servers are notified over the bus, for example of a revoked token or a new bot.
        await app.bus.start()
        try:
            return await app.database.write(lambda tx: action(app.make_call(tx)))
        finally:
            await app.bus.close()
    finally:
        await app.database.close()
