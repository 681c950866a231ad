"""Build message rows from validated content."""

from typing import Any, NamedTuple

from hubbub.protocol import codec, errors
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import UserId
from hubbub.server.talk.messages.content.drafts import Draft, clean_content
from hubbub.server.talk.messages.content.mentions import NO_MENTIONS, Mentions
from hubbub.server.talk.messages.content.records import (
    ApplicationOrigin,
    Author,
    ExtraFields,
    InteractionResponse,
    MessageRow,
    WebhookIdentity,
)
from hubbub.server.talk.messages.content.references import ResolvedReference


class NewMessage(NamedTuple):
    """A validated message that is not stored yet."""

    row: MessageRow
    author: Author
    mentions: Mentions = NO_MENTIONS
    """The users and roles that the row mentions."""
    replied_row: MessageRow | None = None
    """The replied-to message, if it is loaded."""
    response: InteractionResponse | None = None
    """Properties of an interaction response; None for other messages."""
    nonce: int | str | None = None
    """The nonce that is returned with the message."""
    extra: ExtraFields | None = None
    """The decoded `row.extra`, or None if it was not decoded."""
    lobby_message_row: tuple[Any, ...] | None = None
    """Row of the lobby message that this message is a copy of; see `ApplicationOrigin`. None for other messages."""


def build_row(
    channel_id: int,
    message_id: int,
    author_id: int,
    draft: Draft,
    *,
    message_type: int = 0,
    mentions: Mentions = NO_MENTIONS,
    reference: ResolvedReference | None = None,
    is_tts: bool = False,
    extra: ExtraFields | None = None,
    webhook_author: Author | None = None,
    origin: ApplicationOrigin | None = None,
    response: InteractionResponse | None = None,
) -> MessageRow:
    """Return the row of a new message; `extra` is the result of `build_extra`.

    `webhook_author` is the author of a webhook message or interaction response, `origin` the application that sends the message
    for its user."""
    if (
        extra is None
        and not (reference or is_tts or webhook_author or origin or response)
        and draft.is_plain
        and mentions == NO_MENTIONS
    ):
        # The common case: content only.
        return MessageRow(channel_id, message_id, author_id, message_type, draft.flags, draft.content)
    flags, application_id, snapshots = draft.flags, None, None
    stored_reference = None if reference is None else reference.reference
    if reference is not None:
        message_type = reference.message_type
        if reference.snapshot is not None:
            snapshots = [reference.snapshot]
            flags |= MessageFlags.HAS_SNAPSHOT
    if webhook_author is not None:
        application_id = webhook_author.application_id
    if origin is not None:
        flags |= MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION
        application_id = origin.application_id
    if response is not None:
        message_type, stored_reference = response.message_type, response.reference
        flags |= response.flags
    return MessageRow(
        channel_id,
        message_id,
        author_id,
        message_type,
        flags,
        draft.content,
        tts=int(is_tts),
        mention_everyone=int(mentions.includes_everyone),
        mentions=encode_json(mentions.users),
        mention_roles=encode_json(mentions.roles),
        attachments=encode_json(draft.files),
        embeds=encode_json(draft.embeds),
        components=encode_json(draft.components),
        reference=encode_json(stored_reference),
        snapshots=encode_json(snapshots),
        webhook_id=None if webhook_author is None else webhook_author.webhook_id,
        application_id=application_id,
        extra=None if extra is None else encode_extra(extra),
    )


def build_extra(
    draft: Draft,
    *,
    position: int | None = None,
    webhook_author: Author | None = None,
    origin: ApplicationOrigin | None = None,
    response: InteractionResponse | None = None,
) -> ExtraFields | None:
    """Return the rarely used fields of a new message, or None if it has none; `position` is the position in a thread.

    Raise POLL_INVALID_CHANNEL_TYPE for a poll in an ephemeral message."""
    if position is None and not (webhook_author or origin or response) and draft.is_plain:
        return None
    extra = ExtraFields(
        position=position,
        sticker_items=draft.stickers,
        poll=draft.poll,
        shared_client_theme=draft.theme,
        call=draft.call,
    )
    if webhook_author is not None:
        extra.author = webhook_identity(webhook_author)
    if origin is not None:
        extra.metadata, extra.activity, extra.application = origin.metadata, origin.activity, origin.application
    if response is not None:
        extra.interaction = response.interaction
        if response.flags & MessageFlags.EPHEMERAL:
            if extra.poll is not None:
                # Votes on an ephemeral poll could not be published (decisions/0030).
                raise errors.POLL_INVALID_CHANNEL_TYPE()
            extra.seen_by = [UserId(user_id) for user_id in response.seen_by]
    return extra


def build_application_row(
    channel_id: int, message_id: int, author_id: int, content: str, origin: ApplicationOrigin, *, flags: int = 0
) -> MessageRow:
    """Return the row of a message that an application sends for its user outside of a channel: in a lobby, or relayed."""
    draft = Draft(content=clean_content(content), flags=flags)
    extra = build_extra(draft, origin=origin)
    return build_row(channel_id, message_id, author_id, draft, extra=extra, origin=origin)


def webhook_identity(author: Author) -> WebhookIdentity | None:
    """Return the name and avatar of a webhook, which are stored with each message; None for users and bots."""
    if author.webhook_id is None or author.webhook_id != author.user.id or author.is_bot_response:
        return None
    return WebhookIdentity(username=author.user.username, avatar=author.user.avatar)


def encode_extra(extra: ExtraFields) -> str | None:
    """Encode the rarely used fields for storage; return None if all have their defaults."""
    extra_json = codec.encode(extra)
    return None if extra_json == b"{}" else extra_json.decode()


def encode_json(value: Any) -> str | None:
    """Encode a value as JSON; return None for an empty value."""
    return codec.encode(value).decode() if value else None
