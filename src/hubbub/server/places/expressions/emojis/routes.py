"""HTTP handlers for guild and application emojis."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import TeamRole
from hubbub.protocol.ids import ApplicationId, EmojiId, GuildId
from hubbub.protocol.resources import emojis as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.expressions import actions, rules, views
from hubbub.server.places.expressions.emojis import rules as emoji_rules
from hubbub.server.places.expressions.kinds import EMOJIS
from hubbub.server.places.expressions.signals import EmojiDeleted
from hubbub.server.places.expressions.store import EmojiRow
from hubbub.server.places.standing import access

# Guild emojis


@handles(wire.LIST_GUILD_EMOJIS)
def list_guild_emojis(call: Call, guild_id: GuildId) -> list[wire.Emoji]:
    """List guild emojis."""
    return views.list_for_member(call, EMOJIS, access.get_guild_standing(call, guild_id))


@handles(wire.GET_GUILD_EMOJI)
def get_guild_emoji(call: Call, guild_id: GuildId, emoji_id: EmojiId) -> wire.Emoji:
    """Get a guild emoji."""
    row = rules.require_expression(call, EMOJIS, guild_id, emoji_id)
    return views.for_member(call, EMOJIS, access.get_guild_standing(call, guild_id), row)


@handles(wire.CREATE_GUILD_EMOJI)
def create_guild_emoji(call: Call, guild_id: GuildId, body: wire.CreateGuildEmoji) -> wire.Emoji:
    """Create a guild emoji.

    The caller needs CREATE_GUILD_EXPRESSIONS. Before 23 February 2026, MANAGE_GUILD_EXPRESSIONS is sufficient, too.
    """
    standing = rules.require_can_create(call, guild_id)
    roles_json = emoji_rules.resolve_roles_json(call.tx, guild_id, body.roles)
    is_animated = body.image.is_animated
    no_slot_error = errors.MAX_ANIMATED_EMOJIS if is_animated else errors.MAX_EMOJIS
    rules.require_free_slot(call.tx, EMOJIS, guild_id, no_slot_error, animated=int(is_animated))
    row = EmojiRow(
        id=call.new_id(EmojiId),
        guild_id=guild_id,
        application_id=None,
        user_id=call.user_id,
        name=body.name,
        image=body.image.hash,
        animated=int(is_animated),
        roles=roles_json,
    )
    actions.create(call, EMOJIS, guild_id, row)
    return views.for_member(call, EMOJIS, standing, row)


@handles(wire.UPDATE_GUILD_EMOJI)
def update_guild_emoji(call: Call, guild_id: GuildId, emoji_id: EmojiId, body: wire.UpdateGuildEmoji) -> wire.Emoji:
    """Update a guild emoji.

    The caller needs MANAGE_GUILD_EXPRESSIONS. CREATE_GUILD_EXPRESSIONS is sufficient for an emoji that the caller
    created.
    """
    before = after = rules.require_changeable(call, EMOJIS, guild_id, emoji_id)
    if body.name is not UNSET:
        after = after._replace(name=body.name)
    if body.roles is not UNSET:
        after = after._replace(roles=emoji_rules.resolve_roles_json(call.tx, guild_id, body.roles))
    actions.update(call, EMOJIS, guild_id, before, after)
    return views.for_member(call, EMOJIS, access.get_guild_standing(call, guild_id), after)


@handles(wire.DELETE_GUILD_EMOJI)
def delete_guild_emoji(call: Call, guild_id: GuildId, emoji_id: EmojiId) -> None:
    """Delete a guild emoji.

    The caller needs MANAGE_GUILD_EXPRESSIONS. CREATE_GUILD_EXPRESSIONS is sufficient for an emoji that the caller
    created.
    """
    actions.delete(call, EMOJIS, guild_id, rules.require_changeable(call, EMOJIS, guild_id, emoji_id))
    call.notify(EmojiDeleted(guild_id, emoji_id))


# Application emojis: no events, no audit log, and every caller sees the creator


@handles(wire.LIST_APPLICATION_EMOJIS)
def list_application_emojis(call: Call, application_id: ApplicationId) -> wire.ApplicationEmojis:
    """List application emojis."""
    emoji_rules.require_application_manager(call, application_id, TeamRole.READ_ONLY)
    rows = EMOJIS.table.list_by(call.tx, application_id=application_id)
    return wire.ApplicationEmojis(items=views.with_creators(call.tx, EMOJIS, rows))


@handles(wire.GET_APPLICATION_EMOJI)
def get_application_emoji(call: Call, application_id: ApplicationId, emoji_id: EmojiId) -> wire.Emoji:
    """Get an application emoji."""
    row = emoji_rules.require_application_emoji(call, application_id, emoji_id)
    return views.with_creators(call.tx, EMOJIS, [row])[0]


@handles(wire.CREATE_APPLICATION_EMOJI)
def create_application_emoji(
    call: Call, application_id: ApplicationId, body: wire.CreateApplicationEmoji
) -> wire.Emoji:
    """Create an application emoji.

    The application can use the emoji everywhere."""
    emoji_rules.require_application_manager(call, application_id)
    if EMOJIS.table.count_by(call.tx, application_id=application_id) >= wire.APPLICATION_EMOJIS_MAX:
        raise errors.MAX_EMOJIS()
    row = EmojiRow(
        id=call.new_id(EmojiId),
        guild_id=None,
        application_id=application_id,
        user_id=call.user_id,
        name=body.name,
        image=body.image.hash,
        animated=int(body.image.is_animated),
    )
    EMOJIS.table.insert(call.tx, row)
    return views.with_creators(call.tx, EMOJIS, [row])[0]


@handles(wire.UPDATE_APPLICATION_EMOJI)
def update_application_emoji(
    call: Call, application_id: ApplicationId, emoji_id: EmojiId, body: wire.UpdateApplicationEmoji
) -> wire.Emoji:
    """Update an application emoji."""
    row = emoji_rules.require_application_emoji(call, application_id, emoji_id)
    if body.name is not UNSET:
        row = row._replace(name=body.name)
        EMOJIS.table.update(call.tx, row)
    return views.with_creators(call.tx, EMOJIS, [row])[0]


@handles(wire.DELETE_APPLICATION_EMOJI)
def delete_application_emoji(call: Call, application_id: ApplicationId, emoji_id: EmojiId) -> None:
    """Delete an application emoji."""
    row = emoji_rules.require_application_emoji(call, application_id, emoji_id)
    EMOJIS.table.delete_by(call.tx, id=row.id)
