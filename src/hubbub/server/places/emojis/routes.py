"""Handlers for guild and application emojis."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, EmojiId, GuildId
from hubbub.protocol.resources import emojis as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import expressions
from hubbub.server.places.emojis import actions, rules, store, views
from hubbub.server.places.emojis.store import EmojiRow
from hubbub.server.places.standing import GuildAccess, access

# Guild emojis


@handles(wire.LIST_GUILD_EMOJIS)
def list_guild_emojis(call: Call, guild_id: GuildId) -> list[wire.Emoji]:
    """List guild emojis."""
    standing = access.guild(call, guild_id)
    rows = store.list_of_guild(call.tx, guild_id)
    return views.emojis(call.tx, rows, with_creators=expressions.can_see_creators(call, standing))


@handles(wire.GET_GUILD_EMOJI)
def get_guild_emoji(call: Call, guild_id: GuildId, emoji_id: EmojiId) -> wire.Emoji:
    """Get a guild emoji."""
    standing = access.guild(call, guild_id)
    return _emoji_view(call, standing, _get(call, guild_id, emoji_id))


@handles(wire.CREATE_GUILD_EMOJI)
def create_guild_emoji(call: Call, guild_id: GuildId, body: wire.CreateGuildEmoji) -> wire.Emoji:
    """Create a guild emoji."""
    standing = expressions.require_create(call, guild_id)
    animated = body.image.animated
    role_ids = rules.require_roles(call.tx, guild_id, body.roles)
    rules.require_slot(call.tx, guild_id, animated=animated)
    row = EmojiRow(
        id=call.new_id(EmojiId),
        guild_id=guild_id,
        application_id=None,
        user_id=call.user_id,
        name=body.name,
        image=body.image.hash,
        animated=int(animated),
        roles=role_ids,
    )
    actions.create(call, guild_id, row)
    return _emoji_view(call, standing, row)


@handles(wire.UPDATE_GUILD_EMOJI)
def update_guild_emoji(call: Call, guild_id: GuildId, emoji_id: EmojiId, body: wire.UpdateGuildEmoji) -> wire.Emoji:
    """Update a guild emoji."""
    standing = access.guild(call, guild_id)
    before = _get(call, guild_id, emoji_id)
    expressions.require_change(call, guild_id, before.user_id)
    after = before
    if body.name is not UNSET:
        after = after._replace(name=body.name)
    if body.roles is not UNSET:
        after = after._replace(roles=rules.require_roles(call.tx, guild_id, body.roles))
    actions.change(call, guild_id, before, after)
    return _emoji_view(call, standing, after)


@handles(wire.DELETE_GUILD_EMOJI)
def delete_guild_emoji(call: Call, guild_id: GuildId, emoji_id: EmojiId) -> None:
    """Delete a guild emoji."""
    access.guild(call, guild_id)
    row = _get(call, guild_id, emoji_id)
    expressions.require_change(call, guild_id, row.user_id)
    actions.delete(call, guild_id, row)


def _get(call: Call, guild_id: GuildId, emoji_id: EmojiId) -> EmojiRow:
    row = store.find(call.tx, emoji_id)
    if row is None or row.guild_id != guild_id:
        raise errors.UNKNOWN_EMOJI()
    return row


def _emoji_view(call: Call, standing: GuildAccess, row: EmojiRow) -> wire.Emoji:
    return views.emojis(call.tx, [row], with_creators=expressions.can_see_creators(call, standing))[0]


# Application emojis: no events, no audit log, and the creator is always included


@handles(wire.LIST_APPLICATION_EMOJIS)
def list_application_emojis(call: Call, application_id: ApplicationId) -> wire.ApplicationEmojis:
    """List application emojis."""
    rules.require_application(call, application_id)
    rows = store.list_of_application(call.tx, application_id)
    return wire.ApplicationEmojis(items=views.emojis(call.tx, rows, with_creators=True))


@handles(wire.GET_APPLICATION_EMOJI)
def get_application_emoji(call: Call, application_id: ApplicationId, emoji_id: EmojiId) -> wire.Emoji:
    """Get an application emoji."""
    rules.require_application(call, application_id)
    return _application_emoji_view(call, _get_application_emoji(call, application_id, emoji_id))


@handles(wire.CREATE_APPLICATION_EMOJI)
def create_application_emoji(
    call: Call, application_id: ApplicationId, body: wire.CreateApplicationEmoji
) -> wire.Emoji:
    """Create an application emoji.

    The application can use the emoji everywhere."""
    rules.require_application(call, application_id)
    if store.count_of_application(call.tx, application_id) >= wire.APPLICATION_EMOJIS_MAX:
        raise errors.MAX_EMOJIS()
    row = EmojiRow(
        id=call.new_id(EmojiId),
        guild_id=None,
        application_id=application_id,
        user_id=call.user_id,
        name=body.name,
        image=body.image.hash,
        animated=int(body.image.animated),
    )
    store.insert(call.tx, row)
    return _application_emoji_view(call, row)


@handles(wire.UPDATE_APPLICATION_EMOJI)
def update_application_emoji(
    call: Call, application_id: ApplicationId, emoji_id: EmojiId, body: wire.UpdateApplicationEmoji
) -> wire.Emoji:
    """Update an application emoji."""
    rules.require_application(call, application_id)
    row = _get_application_emoji(call, application_id, emoji_id)
    if body.name is not UNSET:
        row = row._replace(name=body.name)
        store.update(call.tx, row)
    return _application_emoji_view(call, row)


@handles(wire.DELETE_APPLICATION_EMOJI)
def delete_application_emoji(call: Call, application_id: ApplicationId, emoji_id: EmojiId) -> None:
    """Delete an application emoji."""
    rules.require_application(call, application_id)
    store.delete(call.tx, _get_application_emoji(call, application_id, emoji_id).id)


def _get_application_emoji(call: Call, application_id: ApplicationId, emoji_id: EmojiId) -> EmojiRow:
    row = store.find(call.tx, emoji_id)
    if row is None or row.application_id != application_id:
        raise errors.UNKNOWN_EMOJI()
    return row


def _application_emoji_view(call: Call, row: EmojiRow) -> wire.Emoji:
    return views.emojis(call.tx, [row], with_creators=True)[0]
