"""In whose name an app answers, and what it may do in its answers."""

from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, RoleId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.server.core import access
from hubbub.server.core.access import ChannelAccess, ChannelRef, GuildAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import guilds, messages, roles, users
from hubbub.server.resources.interactions import rules, store
from hubbub.server.resources.interactions.store import Answering, App, InteractionRow

# An answer may always be given; only what reaches beyond its channel is asked of the bot, or of @everyone.
_GIVEN: Final = (
    Permissions.VIEW_CHANNEL
    | Permissions.READ_MESSAGE_HISTORY
    | Permissions.SEND_MESSAGES
    | Permissions.SEND_MESSAGES_IN_THREADS
)
_CARRYING: Final = (
    Permissions.EMBED_LINKS | Permissions.ATTACH_FILES | Permissions.SEND_POLLS | Permissions.SEND_VOICE_MESSAGES
)
_BORROWED: Final = (
    Permissions.MENTION_EVERYONE
    | Permissions.SEND_TTS_MESSAGES
    | Permissions.USE_EXTERNAL_EMOJIS
    | Permissions.MANAGE_THREADS
)


def standing(call: Call, application: App, row: InteractionRow) -> ChannelAccess:
    """What an app may do in its answers where it was asked, whether it sees that channel or not."""
    found = access.find_standing(call.tx, call.now, row.channel_id, application.bot_id or 0)
    if found is None:
        raise errors.UNKNOWN_CHANNEL()
    return _answering(call, row, *found)


def _answering(call: Call, row: InteractionRow, channel: ChannelRef, member: ChannelAccess | None) -> ChannelAccess:
    guild: GuildAccess | None = None
    if channel.guild_id is None:
        bits = _GIVEN | _CARRYING | rules.ANSWERING
    elif member is not None:
        guild = member.guild
        bits = _GIVEN | _CARRYING | member.permissions & _BORROWED
    else:
        guild = everyone(call, channel.guild_id)
        if rules.GUILD in store.asked(row).interacted.owners:
            bits = _GIVEN | _CARRYING | access.permissions_in(call.tx, guild, channel.ruling_id) & _BORROWED
        else:
            # Who brought the app along lends it what they may themselves, as it was told (`rules.app_permissions`).
            bits = _GIVEN | _lent(call, row) & (_CARRYING | _BORROWED)
    return ChannelAccess(channel=channel, guild=guild, permissions=bits, allowed=bits)


def _lent(call: Call, row: InteractionRow) -> int:
    """What the person who asked may do there by now; nothing where they are gone."""
    found = access.find_standing(call.tx, call.now, row.channel_id, row.user_id)
    return 0 if found is None or found[1] is None else found[1].permissions


def require_unlocked(here: ChannelAccess) -> None:
    """Raise THREAD_LOCKED where an app may not say anything to all (http.md 3.3)."""
    if here.channel.locked and not here.can(Permissions.MANAGE_THREADS):
        raise errors.THREAD_LOCKED()


def require_open(here: ChannelAccess, message: messages.MessageRow) -> None:
    """Raise where a message stays as it is: in a closed thread. What only some know of is not of the thread."""
    if here.channel.archived and not message.ephemeral:
        raise errors.THREAD_ARCHIVED()


def require_changeable(here: ChannelAccess, message: messages.MessageRow) -> None:
    """Raise where an app may not change a message: in a thread that is closed, or locked."""
    require_open(here, message)
    if not message.ephemeral:
        require_unlocked(here)


def everyone(call: Call, guild_id: int) -> GuildAccess:
    """The standing of one who is in a guild and nothing more."""
    role = roles.find(call.tx, guild_id, guild_id)
    bits = 0 if role is None else role.permissions
    return GuildAccess(
        guild_id=GuildId(guild_id),
        user_id=UserId(0),
        owner_id=UserId(0),
        mfa_level=0,
        roles={guild_id: bits},
        ranks=((0, guild_id),),
        permissions=Permissions.ALL if bits & Permissions.ADMINISTRATOR else bits,
        restricted=False,
    )


def author(call: Call, application: App, row: InteractionRow, channel: ChannelRef) -> messages.Author:
    """An app as the author of its answers: its bot, or its own name where it has none."""
    return _two(call, application, row, channel)[0]


class Speaker(NamedTuple):
    """An app that answers, and who it answers."""

    here: ChannelAccess
    author: messages.Author
    person: messages.Author | None = None
    held: tuple[RoleId, ...] | None = None
    """The person's roles, where they are known already."""


def speaker(call: Call, application: App, row: InteractionRow) -> Speaker:
    """An app that answers further."""
    here = standing(call, application, row)
    return Speaker(here, *_two(call, application, row, here.channel))


def first_speaker(call: Call, found: Answering) -> Speaker:
    """An app that answers first."""
    application, bot, person = found.application, found.bot, found.person
    if bot is None or bot.member is None or person is None or person.member is None:
        return speaker(call, application, found.row)
    member, held = access.standing_and_roles(
        call.tx, call.now, found.ref, found.membership, bot.user.id, person.user.id
    )
    return Speaker(_answering(call, found.row, found.ref, member), _as_bot(application, bot, person), person, held)


def _two(
    call: Call, application: App, row: InteractionRow, channel: ChannelRef
) -> tuple[messages.Author, messages.Author | None]:
    """An app as an author, and who asked it."""
    bot, person = messages.find_two_authors(call.tx, channel.guild_id, application.bot_id or 0, row.user_id)
    if bot is None:
        return _own_name(call, application, channel, person), person
    return _as_bot(application, bot, person), person


def _as_bot(application: App, bot: messages.Author, person: messages.Author | None) -> messages.Author:
    return bot._replace(
        webhook_id=application.id, application_id=application.id, known=True, asker_premium=_premium(person)
    )


def _premium(person: messages.Author | None) -> int:
    return 0 if person is None else person.user.premium_type


def _own_name(call: Call, application: App, channel: ChannelRef, person: messages.Author | None) -> messages.Author:
    guild = None if channel.guild_id is None else guilds.find(call.tx, channel.guild_id)
    shown = users.UserRow(
        id=UserId(application.id),
        username=application.name,
        discriminator=messages.views.WEBHOOK_DISCRIMINATOR,
        avatar=application.icon,
        bot=1,
    )
    tier = 0 if guild is None else guild.premium_tier
    return messages.Author(
        shown,
        None,
        0,
        tier,
        webhook_id=application.id,
        application_id=application.id,
        asker_premium=_premium(person),
    )
