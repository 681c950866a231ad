"""The content of a push notification, which the service worker of the chat client shows."""

import re
from typing import Final

import msgspec
from msgspec import UNSET

from hubbub.protocol.enums import USER_MESSAGE_TYPES, ChannelType, MessageType
from hubbub.protocol.resources import messages as wire_messages
from hubbub.server.core import translation
from hubbub.server.core.call import Call
from hubbub.server.core.translation import gettext, gettext_noop, ngettext
from hubbub.server.identity import users
from hubbub.server.places import channels, guilds, members, roles
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.push_subscriptions import recipients

TITLE_LENGTH_MAX: Final = 200
"""Maximum length of the title in characters."""
BODY_LENGTH_MAX: Final = 300
"""Maximum length of the text in characters. With the title it stays below the 4096 bytes that push services accept."""
NOTIFYING_TYPES: Final = frozenset({*USER_MESSAGE_TYPES, MessageType.CALL})
"""Types of messages that are sent as notifications."""
HIDDEN_TEXT: Final = gettext_noop("New message")
"""Text of a notification that does not show any content of its message."""

_MENTION_PATTERN: Final = re.compile(r"<(@!?|@&|#)(\d{1,19})>", re.ASCII)
_EMOJI_PATTERN: Final = re.compile(r"<a?:(\w{2,32}):\d{1,19}>", re.ASCII)
_SPOILER_PATTERN: Final = re.compile(r"\|\|.+?\|\|", re.DOTALL)


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """The payload that is encrypted for a browser."""

    title: str
    body: str
    channel_id: str
    """ID of the channel; a newer notification of the same channel replaces an older one."""
    message_id: str
    path: str
    """Path that a click on the notification opens."""


def build(call: Call, channel: ChannelRef, row: MessageRow, user_id: int, *, with_text: bool) -> Notification:
    """Return the notification about a message in the user's language; `with_text` includes the text of the message."""
    user = users.find(call.tx, user_id)
    language = None if user is None else translation.find_language(user.locale)
    with translation.use_language(language or translation.ENGLISH):
        return _build_in_current_language(call, channel, row, user_id, with_text=with_text)


def _build_in_current_language(
    call: Call, channel: ChannelRef, row: MessageRow, user_id: int, *, with_text: bool
) -> Notification:
    user_call = recipients.acting_as(call, user_id)
    message = messages.views.message(user_call, row, guild_id=channel.guild_id)
    author = _display_name(call, channel, message)
    guild = None if channel.guild_id is None else guilds.find(call.tx, channel.guild_id)
    if guild is not None:
        title = f"{author} (#{channel.name}, {guild.name})"
    elif channel.type == ChannelType.GROUP_DM and channel.name:
        title = f"{author} ({channel.name})"
    else:
        title = author
    guild_segment = "@me" if channel.guild_id is None else str(int(channel.guild_id))
    return Notification(
        title=title[:TITLE_LENGTH_MAX],
        body=_summarize(user_call, channel, message) if with_text else gettext(HIDDEN_TEXT),
        channel_id=str(int(channel.id)),
        message_id=str(int(row.id)),
        path=f"/app/channels/{guild_segment}/{int(channel.id)}/{int(row.id)}",
    )


def _display_name(call: Call, channel: ChannelRef, message: wire_messages.Message) -> str:
    """Return the author's nickname in the guild of a message, or else the display name or username."""
    author_id = int(message.author.id)
    if channel.guild_id is not None:
        member = members.find_rows(call.tx, channel.guild_id, [author_id]).get(author_id)
        if member is not None and member.nick:
            return member.nick
    return message.author.global_name or message.author.username


def _summarize(call: Call, channel: ChannelRef, message: wire_messages.Message) -> str:
    """Return the text of a message in one line, or a description of its other contents."""
    if message.type == MessageType.CALL:
        return gettext("Started a call")
    text = " ".join(_plain_text(call, channel, message).split())
    if text:
        return text[:BODY_LENGTH_MAX]
    if message.attachments:
        count = len(message.attachments)
        return (
            message.attachments[0].filename[:BODY_LENGTH_MAX]
            if count == 1
            else ngettext("{count} file", "{count} files", count)
        )
    if message.sticker_items is not UNSET and message.sticker_items:
        return gettext("Sticker: {name}", name=message.sticker_items[0].name)
    if message.poll is not UNSET:
        return gettext("Poll: {question}", question=message.poll.question.text or "")[:BODY_LENGTH_MAX]
    return gettext(HIDDEN_TEXT)


def _plain_text(call: Call, channel: ChannelRef, message: wire_messages.Message) -> str:
    """Return the content with names in place of mentions and emoji, and without the text of spoilers."""
    unknown_name = gettext("unknown")
    names_by_user_id = {int(user.id): user.global_name or user.username for user in message.mentions}

    def name_of(match: re.Match[str]) -> str:
        prefix, mentioned_id = match[1], int(match[2])
        if prefix == "#":
            # The name of a channel that the user cannot see is not revealed.
            is_visible = recipients.find_access(call, mentioned_id, call.user_id) is not None
            mentioned_channel = channels.find(call.tx, mentioned_id) if is_visible else None
            return f"#{unknown_name if mentioned_channel is None else mentioned_channel.name}"
        if prefix == "@&":
            role = None if channel.guild_id is None else roles.find(call.tx, channel.guild_id, mentioned_id)
            return f"@{unknown_name if role is None else role.name}"
        return f"@{names_by_user_id.get(mentioned_id, unknown_name)}"

    spoiler = gettext("(spoiler)")
    text = _SPOILER_PATTERN.sub(lambda _: spoiler, message.content)
    return _EMOJI_PATTERN.sub(r":\1:", _MENTION_PATTERN.sub(name_of, text))
