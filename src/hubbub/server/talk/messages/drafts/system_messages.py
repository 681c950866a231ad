"""System messages, which the server creates: the general function, and messages about stages and new members."""

from collections.abc import Sequence

from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import SystemChannelFlags
from hubbub.protocol.ids import MessageId, UserId
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.embeds import Embed
from hubbub.server.core.call import Call
from hubbub.server.places import guilds
from hubbub.server.places.members.signals import MemberAdded
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk.messages import actions, rules
from hubbub.server.talk.messages.content import rows
from hubbub.server.talk.messages.content.drafts import Draft
from hubbub.server.talk.messages.content.mentions import Mentions
from hubbub.server.talk.messages.content.references import ResolvedReference
from hubbub.server.talk.messages.content.rows import NewMessage

__all__ = ["create_stage_message", "create_system_message"]
"""The interface for other slices."""


def create_system_message(
    call: Call,
    channel: ChannelRef,
    message_type: int,
    author_id: int,
    *,
    content: str = "",
    mentioned_user_ids: Sequence[int] = (),
    mentions_everyone: bool = False,
    reference: wire.MessageReference | None = None,
    embeds: Sequence[Embed] = (),
    call_info: wire.MessageCall | None = None,
) -> wire.Message:
    """Create and publish a system message; `call_info` is the voice call that it announces.

    `mentions_everyone` notifies all members."""
    author = rules.require_author(call, channel, author_id)
    mentions = Mentions(
        users=tuple(UserId(user_id) for user_id in mentioned_user_ids), includes_everyone=mentions_everyone
    )
    draft = Draft(content=content, embeds=list(embeds), call=call_info)
    row = rows.build_row(
        channel.id,
        call.new_id(MessageId),
        author_id,
        draft,
        message_type=int(message_type),
        mentions=mentions,
        reference=None if reference is None else ResolvedReference(int(message_type), reference),
        extra=rows.build_extra(draft),
    )
    return actions.create(call, channel, NewMessage(row, author, mentions)).view


def create_stage_message(
    call: Call, channel_id: int, message_type: MessageType, author_id: int, *, topic: str, mentions_everyone: bool
) -> None:
    """Create the system message of a stage that started, ended, or has a new topic or speaker.

    `topic` is the content of the message; `mentions_everyone` notifies all members. Do nothing if the channel does not exist."""
    channel = access.find_channel(call.tx, channel_id)
    if channel is not None:
        create_system_message(
            call, channel, message_type, author_id, content=topic, mentions_everyone=mentions_everyone
        )


def on_member_added(call: Call, signal: MemberAdded) -> None:
    """Post a join message in the guild's system channel, unless the guild suppresses it or `signal.is_announced` is False."""
    guild = guilds.find(call.tx, signal.guild_id) if signal.is_announced else None
    if guild is None or guild.system_channel_id is None:
        return
    if guild.system_channel_flags & SystemChannelFlags.SUPPRESS_JOIN_NOTIFICATIONS:
        return
    channel = access.find_channel(call.tx, guild.system_channel_id)
    if channel is not None:
        create_system_message(call, channel, MessageType.USER_JOIN, signal.user_id)
