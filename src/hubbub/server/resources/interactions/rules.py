"""Where an app may be asked, by whom, and what it may do in its answers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import (
    ApplicationIntegrationType,
    ChannelType,
    InteractionCallbackType,
    InteractionContextType,
    InteractionType,
)
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.commands import CommandPermission
from hubbub.server.core import access
from hubbub.server.core.access import ChannelAccess, ChannelRef, GuildAccess
from hubbub.server.core.call import Actor, Call
from hubbub.server.resources import applications, channels, commands, guilds, messages
from hubbub.server.resources.commands import CommandRow
from hubbub.server.resources.interactions import deadlines, store
from hubbub.server.resources.interactions.store import Answering, App, Asked, InteractionRow, Reached

GUILD: Final = str(int(ApplicationIntegrationType.GUILD_INSTALL))
USER: Final = str(int(ApplicationIntegrationType.USER_INSTALL))

# webhooks-and-interactions.md 2.1: what answers can use, wherever the app itself is not.
ANSWERING: Final = wire.CONVERSATION_PERMISSIONS | Permissions.USE_EXTERNAL_EMOJIS

_QUIET_ABOVE: Final = 25
"""In guilds of more members, apps that only a person brought along answered them alone, before external_apps."""

_MESSAGES: Final = frozenset(
    {InteractionType.APPLICATION_COMMAND, InteractionType.MESSAGE_COMPONENT, InteractionType.MODAL_SUBMIT}
)
_OPENING: Final = _MESSAGES - {InteractionType.MODAL_SUBMIT}
_CALLBACKS: Final[dict[int, frozenset[InteractionType]]] = {
    InteractionCallbackType.PONG: frozenset({InteractionType.PING}),
    InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE: _MESSAGES,
    InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE: _MESSAGES,
    InteractionCallbackType.DEFERRED_UPDATE_MESSAGE: _MESSAGES - {InteractionType.APPLICATION_COMMAND},
    InteractionCallbackType.UPDATE_MESSAGE: _MESSAGES - {InteractionType.APPLICATION_COMMAND},
    InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT: frozenset(
        {InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE}
    ),
    InteractionCallbackType.MODAL: _OPENING,
    InteractionCallbackType.PREMIUM_REQUIRED: _MESSAGES,
    InteractionCallbackType.LAUNCH_ACTIVITY: _MESSAGES,
}
"""Which interactions each type of answer is for (webhooks-and-interactions.md 3)."""
_UPDATES: Final = (InteractionCallbackType.DEFERRED_UPDATE_MESSAGE, InteractionCallbackType.UPDATE_MESSAGE)


# Asking


class Met(NamedTuple):
    """Who asks and who is asked, where they are."""

    reached: Reached
    here: ChannelAccess
    bot: ChannelAccess | None
    """The bot's standing in the channel, if it is in the guild."""
    application: App
    person: messages.Author


def require_meeting(call: Call, body: wire.Asking) -> Met:
    """The caller's standing where they ask, and the application's; raises where nobody would hear."""
    command_id = body.data.id if isinstance(body, wire.RunCommand | wire.CompleteCommand) else 0
    watch = deadlines.key(deadlines.due_ms(call.now)), deadlines.EXPIRE
    reached = store.reach(
        call.tx, call.user_id, body.application_id, body.channel_id, command_id=command_id, watch=watch
    )
    if reached is None:
        raise errors.UNKNOWN_CHANNEL()
    application, person = reached.application, reached.person
    bot_id = 0 if application is None else application.bot_id or 0
    here, bot = access.together(call, reached.ref, reached.membership, bot_id)
    _require_open(here, body)
    if application is None:
        raise errors.UNKNOWN_APPLICATION()
    if not can_hear(application):
        raise errors.INTERACTION_FAILED_TO_SEND()
    if person is None:
        raise errors.UNAUTHORIZED()
    return Met(reached, here, bot, application, person)


def _require_open(here: ChannelAccess, body: wire.Asking) -> None:
    """Raise unless something can be asked here."""
    if body.guild_id and body.guild_id != here.channel.guild_id:
        raise errors.UNKNOWN_GUILD()
    if here.channel.type not in messages.SPOKEN_IN:
        raise errors.invalid("channel_id", *errors.choices(sorted(int(each) for each in messages.SPOKEN_IN)))
    if here.guild is not None and here.guild.only_reads:
        # http.md 2.2: timed out, pending or quarantined: only reading is left.
        raise errors.MISSING_PERMISSIONS()


def can_hear(application: App) -> bool:
    """Whether an application hears what is asked of it at all."""
    # Neither a bot on the gateway nor an address of its own: nobody is there.
    return application.bot_id is not None or applications.settings(application).interactions_endpoint_url is not None


def context(application: App, channel: ChannelRef, recipients: Collection[int]) -> InteractionContextType:
    """What kind of place this is to an application; outside guilds it matters who is in it."""
    if channel.guild_id is not None:
        return InteractionContextType.GUILD
    if channel.type == ChannelType.DM and application.bot_id in recipients:
        return InteractionContextType.BOT_DM
    return InteractionContextType.PRIVATE_CHANNEL


def recipients(call: Call, channel: ChannelRef) -> Collection[int]:
    """Who is in a conversation outside guilds."""
    return () if channel.guild_id is not None else channels.recipients_of(call.tx, channel.id)


def owners(
    installed: Collection[int], guild_id: int | None, user_id: int, place: InteractionContextType
) -> dict[str, Snowflake]:
    """Who let an application in where somebody is, by installation context."""
    found: dict[str, Snowflake] = {}
    if place == InteractionContextType.BOT_DM:
        found[GUILD] = Snowflake(0)
    elif guild_id is not None and ApplicationIntegrationType.GUILD_INSTALL in installed:
        found[GUILD] = Snowflake(guild_id)
    if ApplicationIntegrationType.USER_INSTALL in installed:
        found[USER] = Snowflake(user_id)
    return found


def require_command(
    call: Call,
    application: App,
    here: ChannelAccess,
    place: InteractionContextType,
    let_in: dict[str, Snowflake],
    asked: commands.Permitted | None,
) -> tuple[CommandRow, commands.Definition, dict[str, Snowflake]]:
    """A command that the caller may run here, what it says, and who let its application in.

    A command that does not work here is unknown here; one that the caller may not use is forbidden."""
    if asked is None or asked.row.application_id != application.id:
        raise errors.UNKNOWN_APPLICATION_COMMAND()
    row, entries = asked
    if row.scope is not None and row.scope != here.channel.guild_id:
        raise errors.UNKNOWN_APPLICATION_COMMAND()
    said = commands.known_definition(row.definition)
    nsfw = said.nsfw and is_nsfw(call, here.channel)
    found = works_for(row, said, here, place, let_in, nsfw=nsfw)
    if not found:
        raise errors.UNKNOWN_APPLICATION_COMMAND()
    if here.guild is not None and not may_use(call, row, said, here, here.guild, entries):
        raise errors.MISSING_PERMISSIONS()
    return row, said, found


def works_for(
    row: CommandRow,
    said: commands.Definition,
    here: ChannelAccess,
    place: InteractionContextType,
    let_in: dict[str, Snowflake],
    *,
    nsfw: bool,
) -> dict[str, Snowflake]:
    """Those who let an application in that a command is for; nobody where it does not work. `nsfw`: the channel is."""
    if place not in _contexts(row, said):
        return {}
    # Outside guilds for those who opted in: they installed the app for themselves (decisions/0030).
    if said.nsfw and not (nsfw if here.guild is not None else USER in let_in):
        return {}
    return {key: owner for key, owner in let_in.items() if int(key) in said.integration_types}


def may_use(
    call: Call,
    row: CommandRow,
    said: commands.Definition,
    here: ChannelAccess,
    guild: GuildAccess,
    entries: Mapping[int, Sequence[CommandPermission]],
) -> bool:
    """Whether the caller may use a command in a guild, by what is said there of it and of its application."""
    return commands.can_use(
        guild_id=guild.guild_id,
        user_id=call.user_id,
        role_ids=guild.roles,
        channel_id=here.channel.ruling_id,
        permissions=here.allowed,
        needed=said.default_member_permissions,
        of_command=entries.get(row.id, ()),
        of_application=entries.get(row.application_id, ()),
    )


def _contexts(row: CommandRow, said: commands.Definition) -> frozenset[int]:
    """Where a command works (webhooks-and-interactions.md 5.4)."""
    if row.scope is not None:
        return frozenset({InteractionContextType.GUILD})
    if said.contexts is not None:
        return frozenset(said.contexts)
    return frozenset(commands.derived_contexts(said.integration_types))


def is_nsfw(call: Call, channel: ChannelRef) -> bool:
    """Whether a channel is for adults; a thread is as its parent."""
    if not channel.is_thread or channel.parent_id is None:
        return bool(channel.nsfw)
    parent = access.find_channel(call.tx, channel.parent_id)
    return parent is not None and bool(parent.nsfw)


def app_permissions(
    here: ChannelAccess,
    place: InteractionContextType,
    bot: ChannelAccess | None,
    everyone: int,
    found: dict[str, Snowflake],
    now: int,
) -> Permissions | UnsetType:
    """What the app may do in its answers, as it is told (webhooks-and-interactions.md 2.1); at first only in guilds."""
    if here.guild is None:
        if not changes.USER_INSTALLS.active(now):
            return UNSET
        return Permissions(ANSWERING if place == InteractionContextType.BOT_DM else wire.CONVERSATION_PERMISSIONS)
    if bot is not None:
        return Permissions(bot.permissions)
    if GUILD in found:
        return Permissions(everyone & ANSWERING)
    return Permissions(here.permissions & ANSWERING)


def is_muted(call: Call, here: ChannelAccess, found: dict[str, Snowflake]) -> bool:
    """Whether an app that only the person brought along may answer them alone (webhooks-and-interactions.md 3)."""
    if GUILD in found:
        return False
    if here.guild is not None:
        if changes.EXTERNAL_APPS.active(call.now):
            if not here.can(Permissions.USE_EXTERNAL_APPS):
                return True
        else:
            # dated-changes.md 3: before there was a permission for it, the size of the guild decided.
            guild = guilds.find(call.tx, here.guild.guild_id)
            if guild is not None and guild.member_count > _QUIET_ABOVE:
                return True
    try:
        messages.require_send(call, here)
    except errors.ApiError:
        # Who may not speak here, or is not heard, does not speak through an app either.
        return True
    return False


def is_muted_since(call: Call, row: InteractionRow, found: dict[str, Snowflake]) -> bool:
    """Whether an app may answer the person alone by now: they can be silenced while it still answers."""
    if GUILD in found:
        return False
    person = call.acting_as(Actor(user_id=UserId(row.user_id), kind="user"))
    try:
        return is_muted(person, access.channel(person, row.channel_id), found)
    except errors.ApiError:
        # They are not even there any more.
        return True


# Answering


def require_unanswered(call: Call, interaction_id: int, token: str) -> Answering:
    """An interaction that can still be answered first, for who has its token."""
    found = store.find_answering(call.tx, token)
    if found is None or found.row.id != interaction_id or call.now - found.row.created_ms > wire.TOKEN_MS:
        raise errors.UNKNOWN_INTERACTION()
    row = found.row
    if row.callback_type is None and call.now - row.created_ms <= wire.ANSWER_MS:
        return found
    late = row.callback_type in (None, store.FAILED)
    raise (errors.UNKNOWN_INTERACTION if late else errors.INTERACTION_ALREADY_ACKNOWLEDGED)()


def find_answered(call: Call, application_id: int, token: str) -> tuple[InteractionRow, App] | None:
    """An interaction that was answered and can be answered further, for who has its token, and who does; or None."""
    found = store.find_by_token(call.tx, token)
    if found is None or found[1].id != application_id or found[0].callback_type in (None, store.FAILED):
        return None
    return found if call.now - found[0].created_ms <= wire.TOKEN_MS else None


def require_fitting(call: Call, row: InteractionRow, asked: Asked, kind: int, application: App) -> None:
    """Raise unless an interaction can be answered in this way."""

    def fits(each: int) -> bool:
        return (
            row.type in _CALLBACKS.get(each, ())
            and (each not in _UPDATES or asked.message_id is not None)
            and (each != InteractionCallbackType.LAUNCH_ACTIVITY or _is_embedded(call, application))
            and (each != InteractionCallbackType.PREMIUM_REQUIRED or store.sells(call.tx, application.id))
        )

    if not fits(kind):
        raise errors.invalid("type", *errors.choices(sorted(int(each) for each in _CALLBACKS if fits(each))))


def require_follow_up(call: Call, row: InteractionRow, asked: Asked) -> None:
    """Raise when an app that only the person brought along has said enough (webhooks-and-interactions.md 3.1)."""
    if GUILD in asked.interacted.owners or row.follow_ups < wire.USER_INSTALL_FOLLOW_UPS_MAX:
        return
    # dated-changes.md 3: at first there was no end to it.
    if changes.EXTERNAL_APPS.active(call.now):
        raise errors.MAX_FOLLOW_UPS()


def _is_embedded(call: Call, application: App) -> bool:
    return bool(application.flags & ApplicationFlags.EMBEDDED) and changes.ENTRY_POINT_COMMANDS.active(call.now)
