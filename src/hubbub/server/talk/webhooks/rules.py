"""Permission and validity checks for webhooks, and the permissions and author of the messages that they send."""

import hashlib
import re
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import ButtonStyle, ChannelType, ComponentType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import webhooks as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, users
from hubbub.server.places import guilds, roles
from hubbub.server.places.guilds import GuildRow
from hubbub.server.places.standing import ChannelAccess, ChannelRef, GuildAccess, access
from hubbub.server.talk import messages
from hubbub.server.talk.webhooks import ports, store, tokens
from hubbub.server.talk.webhooks.ports import WebhookAuthor
from hubbub.server.talk.webhooks.store import WebhookRow

MANAGE_PERMISSIONS: Final = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS
"""Permissions that a user needs in a channel to manage its webhooks."""

FOLLOWER_CHANNEL_TYPES: Final = frozenset({ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT})
"""Channel types that can follow an announcement channel."""

SETTABLE_FLAGS: Final = MessageFlags.SETTABLE & ~MessageFlags.IS_VOICE_MESSAGE
"""Message flags that a webhook can set."""

# spec/webhooks-and-interactions.md#6: webhooks may not use the platform's own names.
_RESERVED_WORDS: Final = ("clyde", "discord", "hubbub")

_CDN_AVATAR_PATH_PATTERN: Final = re.compile(r"/avatars/[0-9]{1,19}/((?:a_)?[0-9a-f]{32})(?:\.[a-z]{3,4})?", re.ASCII)

# A webhook may send anything to its own channel. Permissions with effects beyond the channel depend on the owner.
_GRANTED_PERMISSIONS: Final = (
    Permissions.VIEW_CHANNEL
    | Permissions.READ_MESSAGE_HISTORY
    | Permissions.SEND_MESSAGES
    | Permissions.SEND_MESSAGES_IN_THREADS
    | Permissions.EMBED_LINKS
    | Permissions.ATTACH_FILES
    | Permissions.SEND_POLLS
)
_INHERITED_PERMISSIONS: Final = (
    Permissions.MENTION_EVERYONE
    | Permissions.SEND_TTS_MESSAGES
    | Permissions.USE_EXTERNAL_EMOJIS
    | Permissions.USE_EXTERNAL_STICKERS
)

_SELECT_TYPES: Final = frozenset(
    {
        ComponentType.STRING_SELECT,
        ComponentType.USER_SELECT,
        ComponentType.ROLE_SELECT,
        ComponentType.MENTIONABLE_SELECT,
        ComponentType.CHANNEL_SELECT,
    }
)

FieldPath = tuple[str | int, ...]
"""Path of a field in a form error: names of fields and indexes of list items."""


def clean_name(text: str, path: str = "name") -> str:
    """Return the webhook name to store, or raise a form error for the field `path`."""
    name = users.names.clean_name(text)
    if not 1 <= len(name) <= wire.WEBHOOK_NAME_MAX:
        raise errors.invalid(path, *errors.bad_length(1, wire.WEBHOOK_NAME_MAX))
    for word in _RESERVED_WORDS:
        if word in name.lower():
            raise errors.invalid(path, "USERNAME_INVALID_CONTAINS", f'Username cannot contain "{word}"')
    return name


# Management


def require_webhook(call: Call, webhook_id: int) -> WebhookRow:
    """Return a webhook, or raise UNKNOWN_WEBHOOK."""
    row = store.find(call.tx, webhook_id)
    if row is None:
        raise errors.UNKNOWN_WEBHOOK()
    return row


def require_token(call: Call, webhook_id: int, token: str) -> WebhookRow:
    """Return a webhook if the token is valid, otherwise raise UNKNOWN_WEBHOOK or INVALID_WEBHOOK_TOKEN."""
    row = require_webhook(call, webhook_id)
    if not tokens.is_valid_token(store.find_token_key(call.tx), row, token):
        raise errors.INVALID_WEBHOOK_TOKEN()
    return row


def require_readable(call: Call, row: WebhookRow) -> None:
    """Raise an error unless the caller may manage the webhook or is the application that owns it."""
    if row.application_id is None or row.application_id != call.actor.application_id:
        access.require_channel(call, row.channel_id, MANAGE_PERMISSIONS)


def require_webhook_channel(channel: ChannelRef) -> GuildId:
    """Return the guild of a channel that can have webhooks, or raise CANNOT_EXECUTE_ON_DM or WRONG_CHANNEL_TYPE."""
    if channel.guild_id is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    if channel.type not in wire.WEBHOOK_CHANNEL_TYPES:
        raise errors.WRONG_CHANNEL_TYPE()
    return channel.guild_id


def require_below_webhook_max(call: Call, channel_id: int, guild_id: int | None = None) -> None:
    """Raise MAX_WEBHOOKS if the channel has reached its maximum of webhooks.

    If `guild_id` is not None, raise MAX_GUILD_WEBHOOKS if the guild has reached its maximum."""
    if store.count_channel_webhooks(call.tx, channel_id) >= wire.WEBHOOKS_PER_CHANNEL_MAX:
        raise errors.MAX_WEBHOOKS()
    if guild_id is not None and store.count_guild_webhooks(call.tx, guild_id) >= wire.WEBHOOKS_PER_GUILD_MAX:
        raise errors.MAX_GUILD_WEBHOOKS()


# Execution


def require_sender(call: Call, webhook_id: int, token: str) -> WebhookRow | WebhookAuthor:
    """Return the webhook, or the interaction response author, that a token belongs to.

    Raise UNKNOWN_WEBHOOK if there is no webhook or interaction, and INVALID_WEBHOOK_TOKEN for an invalid token."""
    row = store.find(call.tx, webhook_id)
    if row is None:
        author = ports.find_interaction_author(call, webhook_id, token)
        if author is None:
            raise errors.UNKNOWN_WEBHOOK()
        return author
    if not tokens.is_valid_token(store.find_token_key(call.tx), row, token):
        raise errors.INVALID_WEBHOOK_TOKEN()
    return row


def require_channel(call: Call, row: WebhookRow) -> ChannelRef:
    """Return the channel of a webhook, or raise UNKNOWN_CHANNEL."""
    channel = access.find_channel(call.tx, row.channel_id)
    if channel is None:
        raise errors.UNKNOWN_CHANNEL()
    return channel


def require_thread(call: Call, row: WebhookRow, thread_id: int) -> ChannelRef:
    """Return a thread of the webhook's channel. Raise UNKNOWN_CHANNEL for other threads."""
    thread = access.find_channel(call.tx, thread_id)
    if thread is None or not thread.is_thread or thread.parent_id != row.channel_id:
        raise errors.UNKNOWN_CHANNEL()
    return thread


def webhook_channel_access(call: Call, row: WebhookRow, guild: GuildRow, channel: ChannelRef) -> ChannelAccess:
    """Return the permissions of a webhook in a channel.

    Permissions with effects beyond the channel are those of the owning bot, otherwise those of @everyone."""
    standing = None
    application = None if row.application_id is None else applications.find(call.tx, row.application_id)
    if application is not None and application.bot_id is not None:
        standing = access.find_guild_standing(call.tx, call.now_ms, guild.id, application.bot_id)
    if standing is None:
        standing = _everyone_standing(call, guild)
    permissions = (
        _GRANTED_PERMISSIONS
        | access.permissions_in(call.tx, standing, channel.overwrites_channel_id) & _INHERITED_PERMISSIONS
    )
    return ChannelAccess(channel=channel, guild=standing, permissions=permissions, allowed=permissions)


def _everyone_standing(call: Call, guild: GuildRow) -> GuildAccess:
    """Return the standing of a member who has no role except @everyone."""
    role = roles.find(call.tx, guild.id, guild.id)
    permissions = 0 if role is None else role.permissions
    return GuildAccess(
        guild_id=GuildId(guild.id),
        user_id=UserId(0),
        owner_id=UserId(guild.owner_id),
        mfa_level=0,
        permissions_by_role={guild.id: permissions},
        # Position and ID of @everyone.
        ranks=((0, guild.id),),
        permissions=Permissions.ALL if permissions & Permissions.ADMINISTRATOR else permissions,
        is_restricted=False,
    )


def require_guild(call: Call, row: WebhookRow) -> GuildRow:
    """Return the guild of a webhook. Raise UNKNOWN_WEBHOOK if it does not exist, and an error if it is suspended."""
    guild = guilds.find(call.tx, row.guild_id)
    if guild is None:
        raise errors.UNKNOWN_WEBHOOK()
    access.require_unsuspended(call, guild.id, guild.suspension_reason)
    return guild


def build_author(
    row: WebhookRow, guild: GuildRow, *, name: str | None = None, avatar: str | None = None
) -> messages.Author:
    """Return a webhook as the author of a message; `name` and `avatar` override its own name and avatar hash."""
    user = users.UserRow(
        id=UserId(row.id),
        username=name or row.name,
        discriminator=messages.views.WEBHOOK_DISCRIMINATOR,
        avatar=avatar or row.avatar,
        bot=1,
        locale=guild.preferred_locale,
    )
    return messages.Author(
        user,
        member=None,
        verification_level=0,
        premium_tier=guild.premium_tier,
        webhook_id=row.id,
        application_id=row.application_id,
    )


def resolve_avatar_hash(call: Call, url: str) -> str:
    """Return the avatar hash for an image URL: the hash of an avatar on the server's CDN, otherwise a hash of the URL.

    Raise a form error for `avatar_url` if the URL is invalid."""
    try:
        url_parts = urlsplit(url)
    except ValueError:
        raise errors.invalid("avatar_url", *errors.bad_url()) from None
    if not url_parts.scheme or not url_parts.netloc:
        raise errors.invalid("avatar_url", *errors.bad_url())
    if url_parts.scheme not in ("http", "https"):
        raise errors.invalid("avatar_url", *errors.bad_scheme(url_parts.scheme))
    cdn_url = call.config.cdn_url
    if url.startswith(cdn_url):
        match = _CDN_AVATAR_PATH_PATTERN.match(url, len(cdn_url))
        if match is not None:
            return match[1]
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def require_sendable_components(
    row: WebhookRow, components: list[dict[str, Any]] | None | UnsetType, *, with_components: bool
) -> list[dict[str, Any]] | None | UnsetType:
    """Return the components of a request that a webhook sends.

    Webhooks of applications send all components. For other webhooks, raise a form error if a component is interactive;
    without `with_components`, return UNSET, so that the components are ignored."""
    if not components or row.application_id is not None:
        return components
    if not with_components:
        return UNSET
    form = errors.FormErrors()
    for index, component in enumerate(components):
        _reject_interactive(component, ("components", index), form)
    form.raise_if_any()
    return components


def _reject_interactive(component: Any, path: FieldPath, form: errors.FormErrors) -> None:
    """Add an error for a component, and for each nested component, that is interactive."""
    if not isinstance(component, dict):
        return
    component_type = component.get("type")
    is_interactive_button = component_type == ComponentType.BUTTON and component.get("style") != ButtonStyle.LINK
    # A type that is not a number is reported later, when all components are validated.
    if is_interactive_button or (isinstance(component_type, int) and component_type in _SELECT_TYPES):
        form.add((*path, "type"), *errors.component_type())
    children = component.get("components")
    for index, child in enumerate(children if isinstance(children, list) else ()):
        _reject_interactive(child, (*path, "components", index), form)
    _reject_interactive(component.get("accessory"), (*path, "accessory"), form)
