"""Build message rows from validated content."""

from typing import Any

from hubbub.protocol import codec, errors
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import UserId
from hubbub.server.talk.messages.content import json_columns
from hubbub.server.talk.messages.content.drafts import Draft
from hubbub.server.talk.messages.content.mentions import Mentions
from hubbub.server.talk.messages.content.records import (
    ApplicationOrigin,
    Author,
    Extra,
    InteractionResponse,
    MessageRow,
    WebhookIdentity,
)
from hubbub.server.talk.messages.content.references import ResolvedReference


def with_content(
    row: MessageRow,
    draft: Draft | None,
    reference: ResolvedReference | None,
    mentioned: Mentions,
    tts: bool,
    position: int | None,
) -> MessageRow:
    """Return the row with its files, embeds, components, reference, mentions and rarely used fields.

    `position` is the position in a thread; None in other channels."""
    extra = Extra(position=position)
    if draft is not None:
        extra.sticker_items, extra.poll, extra.shared_client_theme = draft.stickers, draft.poll, draft.theme
        row = row._replace(
            attachments=encode_json(draft.files),
            embeds=encode_json(draft.embeds),
            components=encode_json(draft.components),
        )
    if reference is not None:
        row = row._replace(reference=encode_json(reference.reference))
        if reference.snapshot is not None:
            row = row._replace(snapshots=encode_json([reference.snapshot]), flags=row.flags | MessageFlags.HAS_SNAPSHOT)
    return row._replace(
        tts=int(tts),
        mention_everyone=int(mentioned.everyone),
        mentions=encode_json(list(mentioned.users)),
        mention_roles=encode_json(list(mentioned.roles)),
        extra=None if extra == Extra() else encode_json(extra),
    )


def with_webhook(row: MessageRow, author: Author) -> MessageRow:
    """Return the row with the author's webhook, if any; a webhook's name and avatar are stored with each message."""
    if author.webhook_id is None:
        return row
    row = row._replace(webhook_id=author.webhook_id, application_id=author.application_id)
    if author.webhook_id != author.user.id or author.is_bot_response:
        return row
    extra = json_columns.extra(row)
    extra.author = WebhookIdentity(username=author.user.username, avatar=author.user.avatar)
    return row._replace(extra=encode_json(extra))


def with_application(row: MessageRow, origin: ApplicationOrigin) -> MessageRow:
    """Return the row of a message that an application sends for its user."""
    extra = json_columns.extra(row)
    extra.metadata, extra.activity, extra.application = origin.metadata, origin.activity, origin.application
    return row._replace(
        flags=row.flags | MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION,
        application_id=origin.application_id,
        extra=None if extra == Extra() else encode_json(extra),
    )


def with_response(row: MessageRow, response: InteractionResponse) -> MessageRow:
    """Return the row of an interaction response."""
    extra = json_columns.extra(row)
    extra.interaction = response.interaction
    if response.flags & MessageFlags.EPHEMERAL:
        if extra.poll is not None:
            # Votes on an ephemeral poll could not be published (decisions/0030).
            raise errors.POLL_INVALID_CHANNEL_TYPE()
        extra.seen_by = [UserId(user_id) for user_id in response.seen_by]
    return row._replace(
        type=response.message_type,
        flags=row.flags | response.flags,
        reference=encode_json(response.reference),
        extra=encode_json(extra),
    )


def plain_response(row: MessageRow, author: Author, response: InteractionResponse) -> MessageRow:
    """Return the row of a public interaction response that consists of content only."""
    return row._replace(
        type=response.message_type,
        webhook_id=author.webhook_id,
        application_id=author.application_id,
        extra=encode_extra(Extra(interaction=response.interaction)),
    )


def encode_extra(extra: Extra) -> str:
    """Encode the rarely used fields for storage."""
    return codec.encode(extra).decode()


def encode_json(value: Any) -> str | None:
    """Encode a value as JSON; return None for an empty value."""
    return codec.encode(value).decode() if value else None
