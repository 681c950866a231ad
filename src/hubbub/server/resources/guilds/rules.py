"""Who may make, change and leave a guild, and what it may be."""

from collections.abc import Iterable
from typing import Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import LOCALES, ChannelType, GuildFeature, PremiumType
from hubbub.protocol.images import ImageData
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds as wire
from hubbub.server.core import access
from hubbub.server.core.access import GuildAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import users
from hubbub.server.resources.guilds import store
from hubbub.server.resources.guilds.store import GuildRow
from hubbub.server.resources.users import UserDeletionAsked

BOT_GUILDS_MAX: Final = 10
"""A bot in so many guilds could make no more, while bots could (dated-changes.md 2.3)."""

_FEATURE_NEEDS: Final[dict[str, int]] = {
    GuildFeature.COMMUNITY: Permissions.ADMINISTRATOR,
    GuildFeature.DISCOVERABLE: Permissions.ADMINISTRATOR,
    GuildFeature.INVITES_DISABLED: Permissions.MANAGE_GUILD,
    GuildFeature.RAID_ALERTS_DISABLED: Permissions.MANAGE_GUILD,
}
"""The features one may write, and who may."""

_SPEAKING: Final = frozenset({ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT})
_CHANNEL_TYPES: Final = {
    "afk_channel_id": frozenset({ChannelType.GUILD_VOICE}),
    "system_channel_id": _SPEAKING,
    "rules_channel_id": _SPEAKING,
    "public_updates_channel_id": _SPEAKING,
    "safety_alerts_channel_id": _SPEAKING,
}
_COMMUNITY_CHANNELS: Final = ("rules_channel_id", "public_updates_channel_id")


def require_creation(call: Call) -> None:
    """Raise unless the caller may make one more guild."""
    if call.actor.is_bot:
        if changes.GUILD_CREATE_FOR_APPS.active(call.now):
            raise errors.BOTS_CANNOT_USE_ENDPOINT()
        most = BOT_GUILDS_MAX
    else:
        most = guilds_max(call, call.user_id)
    if store.count_of_user(call.tx, call.user_id) >= most:
        raise errors.MAX_GUILDS()


def guilds_max(call: Call, user_id: int) -> int:
    """How many guilds a person may be in."""
    row = users.find(call.tx, user_id)
    return wire.GUILDS_MAX_PREMIUM if row is not None and row.premium_type == PremiumType.TIER_2 else wire.GUILDS_MAX


def clean_name(text: str) -> str:
    """A guild's name as it is kept, or the form error that says why not."""
    name = text.strip()
    if not wire.GUILD_NAME_MIN <= len(name) <= wire.GUILD_NAME_MAX:
        raise errors.invalid("name", *errors.bad_length(wire.GUILD_NAME_MIN, wire.GUILD_NAME_MAX))
    return name


def require_owner(standing: GuildAccess) -> None:
    """Raise unless the caller owns the guild."""
    if not standing.owns:
        raise errors.MISSING_PERMISSIONS()


def require_heir(call: Call, standing: GuildAccess, user_id: int) -> None:
    """Raise unless the caller may hand the guild over to this member."""
    require_owner(standing)
    pending = store.pending(call.tx, standing.guild_id, user_id)
    if pending is None:
        raise errors.UNKNOWN_MEMBER()
    row = users.find(call.tx, user_id)
    if row is None or row.bot:
        raise errors.OWNERSHIP_CANNOT_GO_TO_BOT()
    if pending:
        raise errors.OWNER_CANNOT_BE_PENDING()


def require_channel(call: Call, guild_id: int, field: str, channel_id: int) -> None:
    """Raise unless the channel is one of the guild's and of a kind that the field takes."""
    channel = access.find_channel(call.tx, channel_id)
    if channel is None or channel.guild_id != guild_id:
        raise errors.UNKNOWN_CHANNEL()
    if channel.type not in _CHANNEL_TYPES[field]:
        raise errors.COMMUNITY_CHANNELS_MUST_BE_TEXT() if field in _COMMUNITY_CHANNELS else errors.WRONG_CHANNEL_TYPE()


def features(standing: GuildAccess, before: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """The features a guild has after a request: only some can be written, the rest of what was asked is ignored (http.md 3.5)."""
    old, asked = set(before), set(wanted)
    writable = set(_FEATURE_NEEDS)
    for feature in (old ^ asked) & writable:
        standing.require(_FEATURE_NEEDS[feature])
    return sorted(old - writable | asked & writable)


def require_community(row: GuildRow) -> None:
    """Raise unless a guild that calls itself a community has the two channels it needs (decisions/0010)."""
    if GuildFeature.COMMUNITY not in row.feature_names:
        return
    form = errors.FormErrors()
    for field in _COMMUNITY_CHANNELS:
        if getattr(row, field) is None:
            form.add(field, *errors.required())
    form.raise_if_any()


def require_picture(field: str, image: ImageData, having: Iterable[str]) -> None:
    """Raise unless the guild's features let it wear this picture."""
    needed = {
        "splash": GuildFeature.INVITE_SPLASH,
        "discovery_splash": GuildFeature.DISCOVERABLE,
        "banner": GuildFeature.BANNER,
    }
    moving = {"icon": GuildFeature.ANIMATED_ICON, "banner": GuildFeature.ANIMATED_BANNER}
    wanted = {needed[field]} if field in needed else set()
    if image.animated and field in moving:
        wanted.add(moving[field])
    if not wanted <= set(having):
        raise errors.MORE_BOOSTS_NEEDED()


def require_locale(locale: str) -> str:
    """A locale that the platform speaks, or the form error."""
    if locale not in LOCALES:
        raise errors.invalid("preferred_locale", *errors.choices(sorted(LOCALES)))
    return locale


def require_no_guild(call: Call, asked: UserDeletionAsked) -> None:
    """Raise for somebody who owns a guild and wants to be gone: it would have no owner."""
    if store.is_owner(call.tx, asked.user_id):
        raise errors.MUST_TRANSFER_OWNERSHIP()
