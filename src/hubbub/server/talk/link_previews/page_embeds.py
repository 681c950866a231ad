"""Embeds from image and video files, and from the metadata of web pages: OpenGraph, Twitter cards, oEmbed and HTML."""

import re
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import UNSET, UnsetType
from yarl import URL

from hubbub.protocol.resources.embeds import (
    EMBED_AUTHOR_MAX,
    EMBED_TITLE_MAX,
    EMBED_URL_MAX,
    Embed,
    EmbedAuthor,
    EmbedMedia,
    EmbedProvider,
)
from hubbub.server.core.media import Media
from hubbub.server.core.page_reader import PageMetadata

DESCRIPTION_LENGTH_MAX: Final = 350
"""Maximum length of the description of a preview, in characters."""
PROVIDER_LENGTH_MAX: Final = 256
"""Maximum length of the name of a website, in characters."""

_COLOR_PATTERN: Final = re.compile(r"#([0-9a-f]{6}|[0-9a-f]{3})", re.IGNORECASE)
_CONTROL_PATTERN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_IMAGE_PROPERTIES: Final = ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src")
_VIDEO_PROPERTIES: Final = ("og:video:secure_url", "og:video", "og:video:url", "twitter:player:stream")


class OembedDocument(msgspec.Struct, frozen=True):
    """The fields of an oEmbed document that previews use; its HTML is ignored."""

    title: str | None = None
    author_name: str | None = None
    author_url: str | None = None
    provider_name: str | None = None
    provider_url: str | None = None
    thumbnail_url: str | None = None


NO_OEMBED: Final = OembedDocument()


def build_page_embed(
    url: URL, metadata: PageMetadata, oembed: OembedDocument, image: EmbedMedia | UnsetType
) -> Embed | None:
    """Return the preview of a page, or None if the page has neither a title nor a description nor an image."""
    properties = metadata.properties
    title = _clean(
        _first_property(metadata, "og:title", "twitter:title") or oembed.title or metadata.title, EMBED_TITLE_MAX
    )
    description = _clean(
        _first_property(metadata, "og:description", "twitter:description", "description"), DESCRIPTION_LENGTH_MAX
    )
    if not (title or description or image):
        return None
    video_url = next((link for name in _VIDEO_PROPERTIES if (link := resolve(url, properties.get(name)))), None)
    provider_name = _clean(properties.get("og:site_name") or oembed.provider_name, PROVIDER_LENGTH_MAX)
    embed = Embed(
        type=_choose_type(metadata, has_video=video_url is not None),
        title=title or UNSET,
        description=description or UNSET,
        color=_parse_color(properties.get("theme-color", "")),
        author=_build_author(url, metadata, oembed),
    )
    if provider_name:
        provider_url = resolve(url, oembed.provider_url) or str(url.origin())
        embed.provider = EmbedProvider(name=provider_name, url=provider_url)
    if image:
        embed.thumbnail = image
    if video_url is not None:
        embed.video = EmbedMedia(url=video_url)
    return embed


def build_file_embed(url: URL, media: Media) -> Embed | None:
    """Return the preview of an image or a video file, or None for another file or an image of unknown size."""
    if (media.content_type or "").startswith("image/") and media.width:
        return Embed(type="image", thumbnail=build_media(url, media))
    if (media.content_type or "").startswith("video/"):
        name = _clean(unquote(url.raw_parts[-1] if url.raw_parts else ""), EMBED_TITLE_MAX)
        return Embed(type="video", title=name or url.host or "", video=build_media(url, media))
    return None


def build_media(url: URL, media: Media, description: str | None = None) -> EmbedMedia:
    """Return an image or a video of an embed."""
    embed_media = EmbedMedia(url=str(url), content_type=media.content_type or UNSET)
    if media.width and media.height:
        embed_media.width, embed_media.height = media.width, media.height
    if text := _clean(description, DESCRIPTION_LENGTH_MAX):
        embed_media.description = text
    return embed_media


def find_image_url(url: URL, metadata: PageMetadata, oembed: OembedDocument) -> str | None:
    """Return the absolute URL of the image that represents a page, or None."""
    candidates = (*(metadata.properties.get(name) for name in _IMAGE_PROPERTIES), oembed.thumbnail_url)
    return next((link for candidate in candidates if (link := resolve(url, candidate))), None)


def resolve(page_url: URL, reference: str | None) -> str | None:
    """Return the absolute http or https URL of a reference in a page, or None if it is missing, invalid or too long."""
    if not reference:
        return None
    try:
        url = page_url.join(URL(reference.strip()))
    except ValueError:
        return None
    text = str(url)
    if url.scheme not in ("http", "https") or not url.host or len(text) > EMBED_URL_MAX:
        return None
    return text


def _first_property(metadata: PageMetadata, *names: str) -> str | None:
    return next((metadata.properties[name] for name in names if name in metadata.properties), None)


def _choose_type(metadata: PageMetadata, *, has_video: bool) -> str:
    properties = metadata.properties
    if has_video:
        return "video"
    is_article = properties.get("og:type", "").lower() == "article"
    has_large_image = properties.get("twitter:card", "").lower() == "summary_large_image"
    return "article" if is_article or has_large_image else "link"


def _build_author(url: URL, metadata: PageMetadata, oembed: OembedDocument) -> EmbedAuthor | UnsetType:
    name = _clean(oembed.author_name or _first_property(metadata, "article:author", "author"), EMBED_AUTHOR_MAX)
    # Some pages contain the URL of the author's profile in place of the name.
    if not name or "://" in name:
        return UNSET
    return EmbedAuthor(name=name, url=resolve(url, oembed.author_url) or UNSET)


def _parse_color(text: str) -> int | UnsetType:
    """Return a color of the form #rgb or #rrggbb as an RGB integer, or UNSET."""
    match = _COLOR_PATTERN.fullmatch(text.strip())
    if match is None:
        return UNSET
    digits = match[1] if len(match[1]) == 6 else "".join(digit * 2 for digit in match[1])
    return int(digits, 16)


def _clean(text: str | None, length_max: int) -> str:
    """Return a text on one line without control characters; cut it off with an ellipsis at `length_max` characters."""
    cleaned_text = " ".join(_CONTROL_PATTERN.sub("", text or "").split())
    return cleaned_text if len(cleaned_text) <= length_max else f"{cleaned_text[: length_max - 1].rstrip()}…"
