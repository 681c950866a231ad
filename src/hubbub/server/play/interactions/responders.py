"""Authors and permissions of interaction responses."""

from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, RoleId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.places import guilds, roles
from hubbub.server.places.standing import ChannelAccess, ChannelRef, GuildAccess, access
from hubbub.server.play.interactions import rules, store
from hubbub.server.play.interactions.store import InteractionApplication, InteractionRow, PendingInteraction
from hubbub.server.talk import messages

# An app may always respond, so _ALWAYS_GRANTED_PERMISSIONS are granted. Permissions with effects beyond the message
# (_INHERITED_PERMISSIONS) depend on the permissions of the bot, of @everyone or, for a user-installed app, of the invoking user.
_ALWAYS_GRANTED_PERMISSIONS: Final = (
    Permissions.VIEW_CHANNEL
    | Permissions.READ_MESSAGE_HISTORY
    | Permissions.SEND_MESSAGES
    | Permissions.SEND_MESSAGES_IN_THREADS
)
_CONTENT_PERMISSIONS: Final = (
    Permissions.EMBED_LINKS | Permissions.ATTACH_FILES | Permissions.SEND_POLLS | Permissions.SEND_VOICE_MESSAGES
)
_INHERITED_PERMISSIONS: Final = (
    Permissions.MENTION_EVERYONE
    | Permissions.SEND_TTS_MESSAGES
    | Permissions.USE_EXTERNAL_EMOJIS
    | Permissions.MANAGE_THREADS
)


def response_access(call: Call, application: InteractionApplication, row: InteractionRow) -> ChannelAccess:
    """Return an app's permissions for responses in a channel, whether or not its bot can see the channel."""
    channel_and_standing = access.find_channel_standing(call.tx, call.now_ms, row.channel_id, application.bot_id or 0)
    if channel_and_standing is None:
        raise errors.UNKNOWN_CHANNEL()
    return _response_access(call, row, *channel_and_standing)


def _response_access(
    call: Call, row: InteractionRow, channel: ChannelRef, bot_standing: ChannelAccess | None
) -> ChannelAccess:
    """Return an app's permissions for responses; `bot_standing` is None if its bot is not in the channel's guild."""
    guild: GuildAccess | None = None
    if channel.guild_id is None:
        permissions = _ALWAYS_GRANTED_PERMISSIONS | _CONTENT_PERMISSIONS | rules.RESPONSE_PERMISSIONS
    elif bot_standing is not None:
        guild = bot_standing.guild
        permissions = (
            _ALWAYS_GRANTED_PERMISSIONS | _CONTENT_PERMISSIONS | bot_standing.permissions & _INHERITED_PERMISSIONS
        )
    else:
        guild_row = guilds.find(call.tx, channel.guild_id)
        access.require_unsuspended(call, channel.guild_id, None if guild_row is None else guild_row.suspension_reason)
        guild = everyone_access(call, channel.guild_id)
        if rules.GUILD_INSTALL in store.decode_response_state(row).interaction_metadata.owners:
            permissions = (
                _ALWAYS_GRANTED_PERMISSIONS
                | _CONTENT_PERMISSIONS
                | access.permissions_in(call.tx, guild, channel.overwrites_channel_id) & _INHERITED_PERMISSIONS
            )
        else:
            # A user-installed app has the current permissions of its user, by the same rule as the permissions that the
            # interaction reported (`invocation_rules.app_permissions`).
            permissions = _ALWAYS_GRANTED_PERMISSIONS | _invoker_permissions(call, row) & (
                _CONTENT_PERMISSIONS | _INHERITED_PERMISSIONS
            )
    return ChannelAccess(channel=channel, guild=guild, permissions=permissions, allowed=permissions)


def _invoker_permissions(call: Call, row: InteractionRow) -> int:
    """Return the invoking user's current permissions in the channel; 0 if they have no access."""
    channel_and_standing = access.find_channel_standing(call.tx, call.now_ms, row.channel_id, row.user_id)
    if channel_and_standing is None:
        return 0
    _, standing = channel_and_standing
    return 0 if standing is None else standing.permissions


def require_unlocked(channel_access: ChannelAccess) -> None:
    """Raise THREAD_LOCKED if an app may not post a public response (spec/http.md#3.3)."""
    if channel_access.channel.locked and not channel_access.can(Permissions.MANAGE_THREADS):
        raise errors.THREAD_LOCKED()


def require_unarchived(channel_access: ChannelAccess, message: messages.MessageRow) -> None:
    """Raise THREAD_ARCHIVED if the thread is archived and the message is not ephemeral."""
    if channel_access.channel.archived and not message.is_ephemeral:
        raise errors.THREAD_ARCHIVED()


def require_editable(channel_access: ChannelAccess, message: messages.MessageRow) -> None:
    """Raise an error if an app may not edit a message because its thread is archived or locked."""
    require_unarchived(channel_access, message)
    if not message.is_ephemeral:
        require_unlocked(channel_access)


def everyone_access(call: Call, guild_id: int) -> GuildAccess:
    """Return the guild access of a member who has no role except @everyone."""
    role = roles.find(call.tx, guild_id, guild_id)
    permissions = 0 if role is None else role.permissions
    return GuildAccess(
        guild_id=GuildId(guild_id),
        user_id=UserId(0),
        owner_id=UserId(0),
        mfa_level=0,
        permissions_by_role={guild_id: permissions},
        ranks=((0, guild_id),),
        permissions=Permissions.ALL if permissions & Permissions.ADMINISTRATOR else permissions,
        is_restricted=False,
    )


def author(
    call: Call, application: InteractionApplication, row: InteractionRow, channel: ChannelRef
) -> messages.Author:
    """Return the author of an app's responses: its bot, or the application itself if it has none."""
    response_author, _ = _author_and_invoker(call, application, row, channel)
    return response_author


class Responder(NamedTuple):
    """An app responding to an interaction, and the user it responds to."""

    channel_access: ChannelAccess
    """The app's permissions for the response."""
    author: messages.Author
    """Author of the response: the bot, or the application if it has none."""
    invoker: messages.Author | None = None
    """The invoking user as a message author, or None if the user was deleted."""
    invoker_role_ids: tuple[RoleId, ...] | None = None
    """The invoking user's roles, or None if not loaded."""


def follow_up_responder(call: Call, application: InteractionApplication, row: InteractionRow) -> Responder:
    """Return the responder of a follow-up message, from newly loaded rows."""
    channel_access = response_access(call, application, row)
    return Responder(channel_access, *_author_and_invoker(call, application, row, channel_access.channel))


def initial_responder(call: Call, pending_interaction: PendingInteraction) -> Responder:
    """Return the responder of an initial response, from the rows that were loaded with the pending interaction."""
    application, bot, invoker = pending_interaction.application, pending_interaction.bot, pending_interaction.invoker
    if bot is None or bot.member is None or invoker is None or invoker.member is None:
        return follow_up_responder(call, application, pending_interaction.row)
    bot_standing, invoker_role_ids = access.find_standing_and_role_ids(
        call.tx,
        call.now_ms,
        pending_interaction.channel_ref,
        pending_interaction.membership,
        bot.user.id,
        invoker.user.id,
    )
    return Responder(
        _response_access(call, pending_interaction.row, pending_interaction.channel_ref, bot_standing),
        _bot_author(application, bot, invoker),
        invoker,
        invoker_role_ids,
    )


def _author_and_invoker(
    call: Call, application: InteractionApplication, row: InteractionRow, channel: ChannelRef
) -> tuple[messages.Author, messages.Author | None]:
    """Return the response author and the invoking user as a message author."""
    bot, invoker = messages.authors.find_two_authors(call.tx, channel.guild_id, application.bot_id or 0, row.user_id)
    if bot is None:
        return _application_author(call, application, channel, invoker), invoker
    return _bot_author(application, bot, invoker), invoker


def _bot_author(
    application: InteractionApplication, bot: messages.Author, invoker: messages.Author | None
) -> messages.Author:
    return bot._replace(
        webhook_id=application.id,
        application_id=application.id,
        is_bot_response=True,
        invoker_premium_type=_premium_type(invoker),
    )


def _premium_type(invoker: messages.Author | None) -> int:
    return 0 if invoker is None else invoker.user.premium_type


def _application_author(
    call: Call, application: InteractionApplication, channel: ChannelRef, invoker: messages.Author | None
) -> messages.Author:
    guild = None if channel.guild_id is None else guilds.find(call.tx, channel.guild_id)
    user = users.UserRow(
        id=UserId(application.id),
        username=application.name,
        discriminator=messages.views.WEBHOOK_DISCRIMINATOR,
        avatar=application.icon,
        bot=1,
    )
    premium_tier = 0 if guild is None else guild.premium_tier
    return messages.Author(
        user,
        None,
        0,
        premium_tier,
        webhook_id=application.id,
        application_id=application.id,
        invoker_premium_type=_premium_type(invoker),
    )
