"""Evidence of reports: the reported object at the time of the report, as far as the reporter can see it."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, Snowflake, UserId
from hubbub.protocol.resources import messages as message_wire
from hubbub.protocol.resources import reports as wire
from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.places import channels, guilds
from hubbub.server.places.standing import access
from hubbub.server.talk import messages

TITLE_LENGTH_MAX: Final = 200
"""Maximum length of the title of a case, in characters."""
_CONTEXT_BEFORE_MAX: Final = 3
_CONTEXT_AFTER_MAX: Final = wire.REPORT_CONTEXT_MAX - _CONTEXT_BEFORE_MAX


class ReportedObject(NamedTuple):
    """A reported object with the accounts and places that a decision may affect."""

    title: str
    evidence: wire.Evidence
    user_id: int | None
    """ID of the account that a decision affects: the author, the user or the owner of the guild.

    None if the author or user is a bot or webhook, or if the author was deleted."""
    channel_id: int | None = None
    guild_id: int | None = None


def collect(call: Call, body: wire.CreateReport) -> ReportedObject:
    """Return the reported object with the evidence that the caller can see, or raise if they cannot see or report it."""
    if body.kind == wire.ReportTarget.MESSAGE:
        if not isinstance(body.channel_id, int):
            raise errors.invalid("channel_id", *errors.required())
        return _collect_message(call, body.channel_id, MessageId(body.id))
    if body.kind == wire.ReportTarget.USER:
        return _collect_user(call, UserId(body.id))
    return _collect_guild(call, GuildId(body.id))


def _collect_message(call: Call, channel_id: ChannelId, message_id: MessageId) -> ReportedObject:
    channel_access = access.get_channel_standing(call, channel_id)
    row = messages.history.get(call.tx, channel_id, message_id)
    if row.author_id == call.user_id and row.is_user_authored:
        raise errors.invalid("id", "OWN_OBJECT", "You cannot report your own message.")
    channel = channel_access.channel
    rows = [row]
    if messages.history.can_read_history(channel_access):
        rows += messages.history.list_around(
            call, channel_id, message_id, before_limit=_CONTEXT_BEFORE_MAX, after_limit=_CONTEXT_AFTER_MAX
        )
    reported_view, *context_views = messages.views.messages(call, rows, guild_id=channel.guild_id)
    author = users.find(call.tx, row.author_id) if row.is_user_authored else None
    channel_row = channels.find(call.tx, channel_id)
    guild = None if channel.guild_id is None else guilds.find(call.tx, channel.guild_id)
    message = _evidence_message(reported_view)
    return ReportedObject(
        title=(message.content or ", ".join(file.filename for file in message.files))[:TITLE_LENGTH_MAX],
        evidence=wire.Evidence(
            name=message.author_name,
            channel_name=None if channel_row is None else channel_row.name,
            guild_name=None if guild is None else guild.name,
            message=message,
            context=[_evidence_message(context_view) for context_view in context_views],
        ),
        user_id=None if author is None or author.bot else author.id,
        channel_id=channel_id,
        guild_id=channel.guild_id,
    )


def _collect_user(call: Call, user_id: UserId) -> ReportedObject:
    user = users.find(call.tx, user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    if user.id == call.user_id:
        raise errors.invalid("id", "OWN_OBJECT", "You cannot report yourself.")
    return ReportedObject(
        title=user.username if user.global_name is None else f"{user.global_name} ({user.username})",
        evidence=wire.Evidence(name=user.username, description=user.bio, image=user.avatar),
        user_id=None if user.bot else user.id,
    )


def _collect_guild(call: Call, guild_id: GuildId) -> ReportedObject:
    access.get_guild_standing(call, guild_id)
    guild = guilds.find(call.tx, guild_id)
    if guild is None:
        raise errors.UNKNOWN_GUILD()
    return ReportedObject(
        title=guild.name,
        evidence=wire.Evidence(name=guild.name, description=guild.description or "", image=guild.icon),
        user_id=guild.owner_id,
        guild_id=guild_id,
    )


def _evidence_message(message: message_wire.Message) -> wire.EvidenceMessage:
    return wire.EvidenceMessage(
        id=message.id,
        author_id=message.author.id,
        author_name=message.author.username,
        content="\n".join(text for text in _texts(message) if text),
        edited=message.edited_timestamp is not None,
        files=[
            wire.EvidenceFile(
                id=Snowflake(file.id),
                filename=file.filename,
                size=file.size,
                content_type=file.content_type or None,
                key=cdn_urls.attachment_key(file.id),
            )
            for content in _contents(message)
            for file in content.attachments
        ],
    )


def _contents(message: message_wire.Message) -> list[message_wire.MessageContent]:
    """Return a message and the messages that it forwards."""
    return [message, *(snapshot.message for snapshot in message.message_snapshots or ())]


def _texts(message: message_wire.Message) -> Iterator[str]:
    for content in _contents(message):
        yield content.content
        for embed in content.embeds:
            yield from _strings(embed.title, embed.description, embed.url)
    if message.poll:
        yield from _strings(message.poll.question.text)
        for answer in message.poll.answers:
            yield from _strings(answer.poll_media.text)


def _strings(*values: object) -> Sequence[str]:
    return [value for value in values if isinstance(value, str)]
