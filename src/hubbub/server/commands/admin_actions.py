"""Actions of `hubbub admin` on users, applications, approvals and guilds, and the functions that all actions share.

An action is a function in one transaction that returns the lines to print.
"""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from hubbub.protocol import codec
from hubbub.protocol.enums import GuildFeature, PremiumType
from hubbub.protocol.ids import LATEST_MS, ApplicationId, GuildId
from hubbub.protocol.resources.administration import GRACE_DAYS_MAX, PAGE_LIMIT_MAX
from hubbub.protocol.resources.developers import PRIVILEGED_INTENTS
from hubbub.protocol.scopes import SCOPES
from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.identity import accounts, administration, applications, developers, identities, users
from hubbub.server.places import channels, guilds, members
from hubbub.server.worlds import schema

GUILD_CONTROLLED_FEATURES: Final = frozenset(
    {
        GuildFeature.GUILD_ONBOARDING,
        GuildFeature.WELCOME_SCREEN_ENABLED,
        GuildFeature.MEMBER_VERIFICATION_GATE_ENABLED,
        GuildFeature.MEMBER_VERIFICATION_MANUAL_APPROVAL,
    }
)
"""Features that the settings of a guild control, and that an operator cannot change directly."""


class AdminError(Exception):
    """An action cannot be performed; the message is shown to the operator."""


Action = Callable[[Call, argparse.Namespace], list[str]]

ACTIONS: Final[dict[str, Action]] = {}
"""Actions by the name of their command."""


def action(name: str) -> Callable[[Action], Action]:
    """Register a function as the action of a command."""

    def register(function: Action) -> Action:
        ACTIONS[name] = function
        return function

    return register


def format_search_results(lines: list[str], plural_noun: str) -> list[str]:
    """Return the lines of a search for objects such as "guilds", with a note if there are none or may be more."""
    if len(lines) == PAGE_LIMIT_MAX:
        lines = [*lines, f"Only the first {PAGE_LIMIT_MAX} {plural_noun} are shown; search for a name to see others."]
    return lines or [f"No {plural_noun} found."]


def require_grace_days(arguments: argparse.Namespace) -> int:
    """Return the argument `--grace-days`, or raise AdminError if it is out of range."""
    grace_days: int = arguments.grace_days
    if not 0 <= grace_days <= GRACE_DAYS_MAX:
        raise AdminError(f"--grace-days must be 0 to {GRACE_DAYS_MAX}")
    return grace_days


@action("create-user")
def create_user(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Create a user, with a password if the operator entered one, and print a token."""
    row = accounts.create_user(call, arguments.username, email=arguments.email, global_name=arguments.global_name)
    if arguments.password_hash is not None:
        accounts.set_password(call, row.id, arguments.password_hash)
    record_user(call, "user.create", row)
    token = auth.issue(call.tx, kind="user", user_id=row.id, now=call.now_ms, ids=call.ids)
    return [f"id: {row.id}", f"username: {row.username}", f"token: {token}"]


@action("set-password")
def set_password(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Set a user's password and revoke their login tokens."""
    row = require_user(call, arguments.username)
    accounts.set_password(call, row.id, arguments.password_hash)
    auth.revoke(call.tx, row.id, kind="user")
    record_user(call, "user.set_password", row)
    return [f"Password of {row.username} changed; all earlier tokens are revoked."]


@action("create-application")
def create_application(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Create an application and print its secrets."""
    created_application = applications.management.create(
        call,
        arguments.name,
        require_user(call, arguments.owner).id,
        with_bot=not arguments.no_bot,
        flags=schema.parse_flags(arguments.intent, schema.PRIVILEGED_INTENT_FLAGS, ("--intent",), "privileged intent"),
        redirect_uris=arguments.redirect_uri,
    )
    _record_application(call, "application.create", created_application.row)
    if arguments.intent:
        developers.schedule_size_check(call, created_application.row.id)
    lines = [
        f"id: {created_application.row.id}",
        f"client secret: {created_application.client_secret}",
        f"public key: {created_application.row.verify_key}",
    ]
    if created_application.bot_token is not None:
        lines.append(f"bot token: {created_application.bot_token}")
    return lines


@action("reset-bot-token")
def reset_bot_token(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Revoke a bot's token and print a new one."""
    row = _require_bot_application(call, arguments.application_id)
    _record_application(call, "application.reset_bot_token", row)
    return [f"bot token: {applications.management.reset_bot_token(call, row)}"]


@action("add-bot")
def add_bot(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Add the bot of an application to a guild."""
    row = _require_bot_application(call, arguments.application_id)
    assert row.bot_id is not None
    guild = require_guild(call, arguments.guild_id)
    permissions = None
    if arguments.permission:
        permissions = schema.parse_permissions(arguments.permission, ("--permission",))
    if members.membership.add(call, GuildId(guild.id), row.bot_id, permissions=permissions) is None:
        raise AdminError(f"{row.name} is already a member of {guild.name}")
    _record_application(call, "application.add_bot", row, detail=f"guild {guild.id}")
    return [f"Added {row.name} to {guild.name}."]


@action("split-permissions")
def split_permissions(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Add the permissions that were split off others on 23 February 2026 to a guild's roles and overwrites."""
    guild = require_guild(call, arguments.guild_id)
    role_count, overwrite_count = channels.overwrites.split_permissions(call, guild.id)
    _record_guild(call, "guild.split_permissions", guild)
    return [f"{guild.name}: added the newer permissions to {role_count} roles and {overwrite_count} overwrites."]


@action("guild")
def change_guild(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Show or change a guild's boost tier and features."""
    guild = require_guild(call, arguments.guild_id)
    for flag, names in (("--add-feature", arguments.add_feature), ("--remove-feature", arguments.remove_feature)):
        for name in names:
            if schema.parse_feature(name, (flag,)) in GUILD_CONTROLLED_FEATURES:
                raise AdminError(f"{name} is controlled by the guild's own settings and cannot be changed here")
    guild = guilds.maintenance.set_tier_and_features(
        call,
        guild,
        premium_tier=arguments.tier,
        features_to_add=arguments.add_feature,
        features_to_remove=arguments.remove_feature,
    )
    if arguments.tier is not None or arguments.add_feature or arguments.remove_feature:
        _record_guild(call, "guild.update", guild)
    features = ", ".join(guild.feature_names) or "none"
    return [f"{guild.name}", f"tier: {guild.premium_tier}", f"features: {features}"]


@action("user")
def change_user(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Show or change a user's premium tier."""
    row = require_user(call, arguments.username)
    tier = PremiumType(row.premium_type)
    if arguments.premium is not None:
        tier = schema.PREMIUM_TYPES[arguments.premium]
        users.profiles.set_premium(call, row, tier)
        record_user(call, "user.set_premium", row, detail=tier.name.lower())
    return [f"{row.username}", f"premium: {tier.name.lower()}"]


@action("list-approvals")
def list_approvals(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the pending approval requests."""
    pending_requests = developers.list_pending(call.tx)
    applications_by_id = applications.find_many(call.tx, [row.application_id for row in pending_requests])
    lines = [
        f"{row.application_id} {row.kind} {row.name}: {applications_by_id[row.application_id].name}, reason: "
        + " ".join(row.reason.split())
        for row in pending_requests
        if row.application_id in applications_by_id
    ]
    return lines or ["No pending requests."]


@action("approve-scope")
def approve_scope(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Allow an application to request a scope."""
    row = require_application(call, arguments.application_id)
    if arguments.name not in SCOPES:
        raise AdminError(f"unknown scope {arguments.name}")
    developers.approve(call, row, "scope", arguments.name)
    _record_application(call, "application.approve_scope", row, detail=arguments.name)
    return [f"{row.name} may now request the scope {arguments.name}."]


@action("approve-intent")
def approve_intent(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Grant an application a privileged intent for one year."""
    row = _require_bot_application(call, arguments.application_id)
    if arguments.name not in PRIVILEGED_INTENTS:
        raise AdminError(f"{arguments.name} is not a privileged intent; choose one of {', '.join(PRIVILEGED_INTENTS)}")
    developers.approve(call, row, "intent", arguments.name)
    _record_application(call, "application.approve_intent", row, detail=arguments.name)
    return [f"{row.name} has the intent {arguments.name} for one year."]


@action("deny-approval")
def deny_approval(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Deny an application's request for a scope or an intent."""
    row = require_application(call, arguments.application_id)
    kind = "intent" if arguments.name in PRIVILEGED_INTENTS else "scope"
    pending_keys = {
        (request.application_id, request.kind, request.name) for request in developers.list_pending(call.tx)
    }
    if (row.id, kind, arguments.name) not in pending_keys:
        raise AdminError(f"{row.name} has no pending request for {arguments.name}")
    developers.deny(call, row, kind, arguments.name)
    _record_application(call, "application.deny_approval", row, detail=arguments.name)
    return [f"Denied {arguments.name} for {row.name}."]


@action("link-publisher")
def link_publisher(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Make an application a game of a publisher."""
    child, parent = (require_application(call, text) for text in (arguments.application_id, arguments.parent_id))
    problem = identities.find_publisher_problem(call, child, parent)
    if problem is not None:
        raise AdminError(problem)
    if not arguments.yes:
        raise AdminError(
            f"this deletes the tokens, identities, provisional accounts, game friends and lobbies of {child.name} "
            "and cannot be undone; add --yes to confirm"
        )
    identities.join_family(call, child, parent)
    _record_application(call, "application.link_publisher", child, detail=f"publisher {parent.id}")
    return [f"{child.name} is now a game of {parent.name}."]


def record_user(call: Call, name: str, row: users.UserRow, *, detail: str = "") -> None:
    """Record an action on a user in the audit log of operators."""
    administration.audit.log_action(call, name, "user", target_id=row.id, target_name=row.username, detail=detail)


def _record_application(call: Call, name: str, row: applications.ApplicationRow, *, detail: str = "") -> None:
    administration.audit.log_action(call, name, "application", target_id=row.id, target_name=row.name, detail=detail)


def _record_guild(call: Call, name: str, row: guilds.GuildRow) -> None:
    administration.audit.log_action(call, name, "guild", target_id=row.id, target_name=row.name)


def require_user(call: Call, username: str) -> users.UserRow:
    """Return the user with this name, or raise AdminError."""
    row = users.names.find_by_username(call.tx, username.lower())
    if row is None:
        raise AdminError(f"there is no user named {username}")
    return row


def require_guild(call: Call, text: str) -> guilds.GuildRow:
    """Return the guild with this ID, or raise AdminError."""
    row = guilds.find(call.tx, parse_id(text))
    if row is None:
        raise AdminError(f"there is no guild {text}")
    return row


def require_application(call: Call, text: str) -> applications.ApplicationRow:
    """Return the application with this ID, or raise AdminError."""
    row = applications.find(call.tx, ApplicationId(parse_id(text)))
    if row is None:
        raise AdminError(f"there is no application {text}")
    return row


def _require_bot_application(call: Call, text: str) -> applications.ApplicationRow:
    row = require_application(call, text)
    if row.bot_id is None:
        raise AdminError(f"the application {row.name} has no bot")
    return row


def parse_id(text: str) -> int:
    """Parse an ID of the command line; raise AdminError if it is not a number that fits into a signed 64-bit column."""
    if not (text.isascii() and text.isdigit() and len(text) < 20) or int(text) >= 1 << 63:
        raise AdminError(f"{text} is not an ID")
    return int(text)


def parse_future_time(call: Call, text: str) -> int:
    """Parse an ISO 8601 time, in UTC if it has no time zone, and return it as Unix milliseconds.

    Raise AdminError if it is invalid, not in the future, or after `LATEST_MS`."""
    try:
        parsed_time = datetime.fromisoformat(text)
    except ValueError:
        raise AdminError(f"{text} is not a time such as 2026-12-01T00:00:00Z") from None
    time_ms = codec.milliseconds(parsed_time if parsed_time.tzinfo is not None else parsed_time.replace(tzinfo=UTC))
    if time_ms <= call.now_ms:
        raise AdminError(f"{text} is not in the future")
    if time_ms > LATEST_MS:
        raise AdminError(f"{text} is too far in the future")
    return time_ms
