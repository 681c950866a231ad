"""Validate embeds and convert requests to stored embeds."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.resources.embeds import (
    EMBED_FIELDS_MAX,
    EMBED_TEXT_MAX,
    Embed,
    EmbedAuthor,
    EmbedAuthorRequest,
    EmbedField,
    EmbedFieldRequest,
    EmbedFooter,
    EmbedFooterRequest,
    EmbedMedia,
    EmbedMediaRequest,
    EmbedRequest,
)
from hubbub.server.talk.attachments import StoredAttachment, clean_filename

ATTACHMENT: Final = "attachment://"
"""Start of a URL that refers to an uploaded file of the message by its filename."""
# spec/http.md#1.11: only these file types may be referenced by attachment:// in embeds.
_IMAGE_EXTENSIONS: Final = ("jpg", "jpeg", "png", "webp", "gif")

FieldPath = tuple[str | int, ...]


def validate_embeds(embed_requests: Sequence[EmbedRequest], form: errors.FormErrors, *, now_ms: int) -> list[Embed]:
    """Validate and convert requested embeds by the rules at `now_ms`; add errors to the form."""
    for index, request in enumerate(embed_requests):
        _limit_fields(request, form, ("embeds", index, "fields"), now_ms)
    embeds = [_build_embed(request, form, ("embeds", index)) for index, request in enumerate(embed_requests)]
    if sum(_text_length(embed) for embed in embeds) > EMBED_TEXT_MAX:
        form.add(("embeds",), *errors.embed_size(EMBED_TEXT_MAX))
    return embeds


def mark_embedded_files(embeds: Iterable[Embed], files: Sequence[StoredAttachment]) -> None:
    """Mark the image files that embeds refer to, which the message then does not list as attachments.

    Sanitize the filenames in the URLs of the embeds."""
    files_by_name = {file.filename: file for file in files}
    for embed in embeds:
        for media in (embed.image, embed.thumbnail):
            if media and media.url:
                media.url = _mark_embedded_url(media.url, files_by_name)
        for element in (embed.author, embed.footer):
            if element and element.icon_url:
                element.icon_url = _mark_embedded_url(element.icon_url, files_by_name)


def _mark_embedded_url(url: str, files_by_name: dict[str, StoredAttachment]) -> str:
    if not url.startswith(ATTACHMENT):
        return url
    filename = clean_filename(url.removeprefix(ATTACHMENT))
    file = files_by_name.get(filename)
    if file is not None and filename.rpartition(".")[2].lower() in _IMAGE_EXTENSIONS:
        file.embedded = True
    return ATTACHMENT + filename


def _build_embed(request: EmbedRequest, form: errors.FormErrors, path: FieldPath) -> Embed:
    embed = Embed(
        title=_stripped(request.title),
        description=_stripped(request.description),
        url=_check_url(request.url, form, (*path, "url")),
        timestamp=codec.timestamp(codec.milliseconds(request.timestamp)) if request.timestamp else UNSET,
        color=UNSET if request.color is None else request.color,
        footer=_build_footer(request.footer, form, (*path, "footer")),
        image=_build_media(request.image, form, (*path, "image")),
        thumbnail=_build_media(request.thumbnail, form, (*path, "thumbnail")),
        author=_build_author(request.author, form, (*path, "author")),
    )
    if request.fields:
        embed.fields = [
            _build_field(field, form, (*path, "fields", index)) for index, field in enumerate(request.fields)
        ]
    has_text = embed.title or embed.description or embed.fields or embed.author or embed.footer
    if not (has_text or embed.image or embed.thumbnail):
        form.add((*path, "description"), *errors.required())
    return embed


def _limit_fields(request: EmbedRequest, form: errors.FormErrors, path: FieldPath, now_ms: int) -> None:
    """Reject too many fields at `now_ms` (Unix milliseconds). Before `changes.EMBED_FIELDS_REJECTED` the surplus was dropped."""
    if not request.fields or len(request.fields) <= EMBED_FIELDS_MAX:
        return
    if changes.EMBED_FIELDS_REJECTED.is_active(now_ms):
        form.add(path, *errors.bad_length(0, EMBED_FIELDS_MAX))
    request.fields = request.fields[:EMBED_FIELDS_MAX]


def _build_field(request: EmbedFieldRequest, form: errors.FormErrors, path: FieldPath) -> EmbedField:
    name, value = request.name.strip(), request.value.strip()
    if not name:
        form.add((*path, "name"), *errors.required())
    if not value:
        form.add((*path, "value"), *errors.required())
    return EmbedField(name=name, value=value, inline=bool(request.inline))


def _build_author(
    request: EmbedAuthorRequest | None | UnsetType, form: errors.FormErrors, path: FieldPath
) -> EmbedAuthor | UnsetType:
    if not request or not (name := _stripped(request.name)):
        return UNSET
    return EmbedAuthor(
        name=name,
        url=_check_url(request.url, form, (*path, "url")),
        icon_url=_check_url(request.icon_url, form, (*path, "icon_url"), is_media=True),
    )


def _build_footer(
    request: EmbedFooterRequest | None | UnsetType, form: errors.FormErrors, path: FieldPath
) -> EmbedFooter | UnsetType:
    if not request or not (text := _stripped(request.text)):
        return UNSET
    return EmbedFooter(text=text, icon_url=_check_url(request.icon_url, form, (*path, "icon_url"), is_media=True))


def _build_media(
    request: EmbedMediaRequest | None | UnsetType, form: errors.FormErrors, path: FieldPath
) -> EmbedMedia | UnsetType:
    if not request or not (url := _check_url(request.url, form, (*path, "url"), is_media=True)):
        return UNSET
    return EmbedMedia(url=url, description=_stripped(request.description))


def _stripped(text: str | None | UnsetType) -> str | UnsetType:
    """Return a text without surrounding whitespace, or UNSET if it is absent or empty."""
    return (text.strip() or UNSET) if text else UNSET


def _check_url(
    requested_url: str | None | UnsetType, form: errors.FormErrors, path: FieldPath, *, is_media: bool = False
) -> str | UnsetType:
    """Return a URL, or UNSET if it is absent or cannot be parsed.

    Add an error for a malformed URL or a scheme that is not allowed. `is_media` also allows attachment URLs."""
    url = _stripped(requested_url)
    if not url:
        return UNSET
    allowed_schemes = ("http", "https", "attachment") if is_media else ("http", "https")
    try:
        url_parts = urlsplit(url)
    except ValueError:
        form.add(path, *errors.bad_url())
        return UNSET
    if not url_parts.scheme or not url_parts.netloc:
        form.add(path, *errors.bad_url())
    elif url_parts.scheme not in allowed_schemes:
        form.add(path, *errors.bad_scheme(url_parts.scheme, allowed_schemes))
    return url


def _text_length(embed: Embed) -> int:
    return sum(len(text) for text in _texts(embed))


def _texts(embed: Embed) -> Iterator[str]:
    yield embed.title or ""
    yield embed.description or ""
    if embed.footer:
        yield embed.footer.text
    if embed.author:
        yield embed.author.name
    for field in embed.fields or ():
        yield field.name
        yield field.value
