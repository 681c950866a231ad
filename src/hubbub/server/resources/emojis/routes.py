"""Emoji over HTTP."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, EmojiId, GuildId
from hubbub.protocol.resources import emojis as wire
from hubbub.server.core import access
from hubbub.server.core.access import GuildAccess
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import expressions
from hubbub.server.resources.emojis import actions, rules, store, views
from hubbub.server.resources.emojis.store import EmojiRow

# Of guilds


@handles(wire.LIST_GUILD_EMOJIS)
def list_guild_emojis(call: Call, guild_id: GuildId) -> list[wire.Emoji]:
    """A guild's emoji."""
    standing = access.guild(call, guild_id)
    rows = store.list_of_guild(call.tx, guild_id)
    return views.emojis(call.tx, rows, makers=expressions.knows_makers(call, standing))


@handles(wire.GET_GUILD_EMOJI)
def get_guild_emoji(call: Call, guild_id: GuildId, emoji_id: EmojiId) -> wire.Emoji:
    """One emoji of a guild."""
    standing = access.guild(call, guild_id)
    return _show(call, standing, _get(call, guild_id, emoji_id))


@handles(wire.CREATE_GUILD_EMOJI)
def create_guild_emoji(call: Call, guild_id: GuildId, body: wire.CreateGuildEmoji) -> wire.Emoji:
    """Make an emoji."""
    standing = expressions.require_create(call, guild_id)
    animated = body.image.animated
    kept_for = rules.kept_for(call.tx, guild_id, body.roles)
    rules.require_slot(call.tx, guild_id, animated=animated)
    row = EmojiRow(
        id=call.new_id(EmojiId),
        guild_id=guild_id,
        application_id=None,
        user_id=call.user_id,
        name=body.name,
        image=body.image.hash,
        animated=int(animated),
        roles=kept_for,
    )
    actions.create(call, guild_id, row)
    return _show(call, standing, row)


@handles(wire.UPDATE_GUILD_EMOJI)
def update_guild_emoji(call: Call, guild_id: GuildId, emoji_id: EmojiId, body: wire.UpdateGuildEmoji) -> wire.Emoji:
    """Change an emoji's name, or who may use it."""
    standing = access.guild(call, guild_id)
    before = _get(call, guild_id, emoji_id)
    expressions.require_change(call, guild_id, before.user_id)
    after = before
    if body.name is not UNSET:
        after = after._replace(name=body.name)
    if body.roles is not UNSET:
        after = after._replace(roles=rules.kept_for(call.tx, guild_id, body.roles))
    actions.change(call, guild_id, before, after)
    return _show(call, standing, after)


@handles(wire.DELETE_GUILD_EMOJI)
def delete_guild_emoji(call: Call, guild_id: GuildId, emoji_id: EmojiId) -> None:
    """Delete an emoji."""
    access.guild(call, guild_id)
    row = _get(call, guild_id, emoji_id)
    expressions.require_change(call, guild_id, row.user_id)
    actions.delete(call, guild_id, row)


def _get(call: Call, guild_id: GuildId, emoji_id: EmojiId) -> EmojiRow:
    row = store.find(call.tx, emoji_id)
    if row is None or row.guild_id != guild_id:
        raise errors.UNKNOWN_EMOJI()
    return row


def _show(call: Call, standing: GuildAccess, row: EmojiRow) -> wire.Emoji:
    return views.emojis(call.tx, [row], makers=expressions.knows_makers(call, standing))[0]


# Of applications: no events, no audit log, and the maker is always shown


@handles(wire.LIST_APPLICATION_EMOJIS)
def list_application_emojis(call: Call, application_id: ApplicationId) -> wire.ApplicationEmojis:
    """An application's emoji."""
    rules.require_application(call, application_id)
    rows = store.list_of_application(call.tx, application_id)
    return wire.ApplicationEmojis(items=views.emojis(call.tx, rows, makers=True))


@handles(wire.GET_APPLICATION_EMOJI)
def get_application_emoji(call: Call, application_id: ApplicationId, emoji_id: EmojiId) -> wire.Emoji:
    """One emoji of an application."""
    rules.require_application(call, application_id)
    return _show_own(call, _get_own(call, application_id, emoji_id))


@handles(wire.CREATE_APPLICATION_EMOJI)
def create_application_emoji(
    call: Call, application_id: ApplicationId, body: wire.CreateApplicationEmoji
) -> wire.Emoji:
    """Make an emoji that only the application uses, everywhere."""
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
    return _show_own(call, row)


@handles(wire.UPDATE_APPLICATION_EMOJI)
def update_application_emoji(
    call: Call, application_id: ApplicationId, emoji_id: EmojiId, body: wire.UpdateApplicationEmoji
) -> wire.Emoji:
    """Change the name of an application's emoji."""
    rules.require_application(call, application_id)
    row = _get_own(call, application_id, emoji_id)
    if body.name is not UNSET:
        row = row._replace(name=body.name)
        store.update(call.tx, row)
    return _show_own(call, row)


@handles(wire.DELETE_APPLICATION_EMOJI)
def delete_application_emoji(call: Call, application_id: ApplicationId, emoji_id: EmojiId) -> None:
    """Delete an application's emoji."""
    rules.require_application(call, application_id)
    store.delete(call.tx, _get_own(call, application_id, emoji_id).id)


def _get_own(call: Call, application_id: ApplicationId, emoji_id: EmojiId) -> EmojiRow:
    row = store.find(call.tx, emoji_id)
    if row is None or row.application_id != application_id:
        raise errors.UNKNOWN_EMOJI()
    return row


def _show_own(call: Call, row: EmojiRow) -> wire.Emoji:
    return views.emojis(call.tx, [row], makers=True)[0]
