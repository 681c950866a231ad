"""Conversion of Slack messages: attachments become embeds. Long names and long texts of embeds are truncated."""

import re
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import embeds
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.embeds import (
    EmbedAuthorRequest,
    EmbedFieldRequest,
    EmbedFooterRequest,
    EmbedMediaRequest,
    EmbedRequest,
)
from hubbub.server.talk.webhooks.execution.truncation import truncate

_HEX_COLOR_PATTERN: Final = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")
_NAMED_COLORS: Final = {"good": 0x2EB886, "warning": 0xDAA038, "danger": 0xA30200}
"""The colors that Slack has names for."""

OptionalText = str | None | UnsetType
"""A text of a request, which may be null or absent."""


def convert(body: wire.SlackWebhook) -> wire.ExecuteWebhook:
    """Convert a Slack message to the body of a webhook execution."""
    if body.payload:
        try:
            body = codec.decode(body.payload, wire.SlackWebhook)
        except msgspec.MsgspecError:
            raise errors.invalid("payload", *errors.not_model()) from None
    attachments = body.attachments or []
    if len(attachments) > embeds.EMBEDS_MAX:
        raise errors.invalid("attachments", *errors.bad_length(0, embeds.EMBEDS_MAX))
    form = errors.FormErrors()
    embed_requests = [
        _build_embed(attachment, form, ("attachments", index)) for index, attachment in enumerate(attachments)
    ]
    form.raise_if_any()
    return wire.ExecuteWebhook(
        content=body.text,
        username=truncate(body.username, wire.WEBHOOK_NAME_MAX) if body.username else UNSET,
        avatar_url=body.icon_url,
        embeds=embed_requests,
    )


def _build_embed(
    attachment: wire.SlackAttachment, form: errors.FormErrors, path: tuple[str | int, ...]
) -> EmbedRequest:
    # Slack shows the pretext above the attachment; an embed has no such field, so the pretext precedes the text.
    text = "\n".join(part for part in (attachment.pretext, attachment.text) if part)
    embed = EmbedRequest(
        title=_truncate_or_unset(attachment.title, embeds.EMBED_TITLE_MAX),
        url=attachment.title_link or UNSET,
        description=_truncate_or_unset(text, embeds.EMBED_DESCRIPTION_MAX),
        color=_parse_color(attachment.color, form, (*path, "color")),
        timestamp=_parse_timestamp(attachment.ts, form, (*path, "ts")),
    )
    if attachment.author_name:
        name = truncate(attachment.author_name, embeds.EMBED_AUTHOR_MAX)
        embed.author = EmbedAuthorRequest(name=name, url=attachment.author_link, icon_url=attachment.author_icon)
    if attachment.footer:
        embed.footer = EmbedFooterRequest(
            text=truncate(attachment.footer, embeds.EMBED_FOOTER_MAX), icon_url=attachment.footer_icon
        )
    if attachment.image_url:
        embed.image = EmbedMediaRequest(url=attachment.image_url)
    if attachment.thumb_url:
        embed.thumbnail = EmbedMediaRequest(url=attachment.thumb_url)
    if attachment.fields:
        embed.fields = [_build_field(field) for field in attachment.fields[: embeds.EMBED_FIELDS_MAX]]
    return embed


def _build_field(field: wire.SlackField) -> EmbedFieldRequest:
    # The name and value of an embed's field are required; a zero-width space replaces a missing name or value.
    name = truncate(field.title or field.name or "", embeds.EMBED_FIELD_NAME_MAX) or "\u200b"
    value = truncate(field.value or "", embeds.EMBED_FIELD_VALUE_MAX) or "\u200b"
    return EmbedFieldRequest(name=name, value=value, inline=bool(field.short or field.inline))


def _truncate_or_unset(text: OptionalText, length_max: int) -> str | UnsetType:
    return truncate(text, length_max) if text else UNSET


def _parse_color(color_text: OptionalText, form: errors.FormErrors, path: tuple[str | int, ...]) -> int | UnsetType:
    if not color_text:
        return UNSET
    if color_text in _NAMED_COLORS:
        return _NAMED_COLORS[color_text]
    match = _HEX_COLOR_PATTERN.fullmatch(color_text)
    if match is None:
        form.add(path, *errors.regex())
        return UNSET
    digits = match[1] if len(match[1]) == 6 else "".join(digit * 2 for digit in match[1])
    return int(digits, 16)


def _parse_timestamp(
    unix_seconds: float | str | None | UnsetType, form: errors.FormErrors, path: tuple[str | int, ...]
) -> datetime | UnsetType:
    if unix_seconds is UNSET or unix_seconds is None or unix_seconds == "":
        return UNSET
    try:
        return datetime.fromtimestamp(float(unix_seconds), UTC)
    except (ValueError, OverflowError, OSError):
        form.add(path, *errors.not_number(unix_seconds))
        return UNSET
