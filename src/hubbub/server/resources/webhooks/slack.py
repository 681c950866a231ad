"""Messages in Slack's form, read into our own: attachments become embeds, and what is too long for those is cut."""

import re
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.resources import embeds
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.embeds import (
    EmbedAuthorRequest,
    EmbedFieldRequest,
    EmbedFooterRequest,
    EmbedMediaRequest,
    EmbedRequest,
)
from hubbub.server.resources.webhooks.cutting import cut

_COLOR: Final = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")
_WORDS: Final = {"good": 0x2EB886, "warning": 0xDAA038, "danger": 0xA30200}
"""The colors that Slack has names for."""

Text = str | None | UnsetType


def read(body: wire.SlackWebhook) -> wire.ExecuteWebhook:
    """What a webhook shall say."""
    if body.payload:
        try:
            body = json.decode(body.payload, wire.SlackWebhook)
        except msgspec.MsgspecError:
            raise errors.invalid("payload", *errors.not_model()) from None
    attachments = body.attachments or []
    if len(attachments) > embeds.EMBEDS_MAX:
        raise errors.invalid("attachments", *errors.bad_length(0, embeds.EMBEDS_MAX))
    form = errors.FormErrors()
    found = [_embed(each, form, ("attachments", index)) for index, each in enumerate(attachments)]
    form.raise_if_any()
    return wire.ExecuteWebhook(
        content=body.text,
        username=cut(body.username, wire.WEBHOOK_NAME_MAX) if body.username else UNSET,
        avatar_url=body.icon_url,
        embeds=found,
    )


def _embed(one: wire.SlackAttachment, form: errors.FormErrors, path: tuple[str | int, ...]) -> EmbedRequest:
    # Slack shows the pretext above the attachment; an embed has no such place, so it leads the text.
    text = "\n".join(part for part in (one.pretext, one.text) if part)
    embed = EmbedRequest(
        title=_cut(one.title, embeds.EMBED_TITLE_MAX),
        url=one.title_link or UNSET,
        description=_cut(text, embeds.EMBED_DESCRIPTION_MAX),
        color=_color(one.color, form, (*path, "color")),
        timestamp=_timestamp(one.ts, form, (*path, "ts")),
    )
    if one.author_name:
        name = cut(one.author_name, embeds.EMBED_AUTHOR_MAX)
        embed.author = EmbedAuthorRequest(name=name, url=one.author_link, icon_url=one.author_icon)
    if one.footer:
        embed.footer = EmbedFooterRequest(text=cut(one.footer, embeds.EMBED_FOOTER_MAX), icon_url=one.footer_icon)
    if one.image_url:
        embed.image = EmbedMediaRequest(url=one.image_url)
    if one.thumb_url:
        embed.thumbnail = EmbedMediaRequest(url=one.thumb_url)
    if one.fields:
        embed.fields = [_field(field) for field in one.fields[: embeds.EMBED_FIELDS_MAX]]
    return embed


def _field(field: wire.SlackField) -> EmbedFieldRequest:
    # An embed's field has both; a mark that takes no room stands for what is not there.
    name = cut(field.title or field.name or "", embeds.EMBED_FIELD_NAME_MAX) or "\u200b"
    value = cut(field.value or "", embeds.EMBED_FIELD_VALUE_MAX) or "\u200b"
    return EmbedFieldRequest(name=name, value=value, inline=bool(field.short or field.inline))


def _cut(text: Text, most: int) -> str | UnsetType:
    return cut(text, most) if text else UNSET


def _color(value: Text, form: errors.FormErrors, path: tuple[str | int, ...]) -> int | UnsetType:
    if not value:
        return UNSET
    if value in _WORDS:
        return _WORDS[value]
    match = _COLOR.fullmatch(value)
    if match is None:
        form.add(path, *errors.regex())
        return UNSET
    digits = match[1] if len(match[1]) == 6 else "".join(digit * 2 for digit in match[1])
    return int(digits, 16)


def _timestamp(
    value: float | str | None | UnsetType, form: errors.FormErrors, path: tuple[str | int, ...]
) -> datetime | UnsetType:
    if value is UNSET or value is None or value == "":
        return UNSET
    try:
        return datetime.fromtimestamp(float(value), UTC)
    except (ValueError, OverflowError, OSError):
        form.add(path, *errors.not_number(value))
        return UNSET
