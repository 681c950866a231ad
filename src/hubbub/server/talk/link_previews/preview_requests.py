"""Fetch a link, and the image and the oEmbed document of its page, to build a preview."""

import asyncio
import re
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType
from yarl import URL

from hubbub.protocol.resources.embeds import Embed, EmbedMedia
from hubbub.server.core import media
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.config import Config
from hubbub.server.core.outbound_http import FetchedDocument, UnreachableError
from hubbub.server.core.page_reader import PageMetadata, UnreadablePageError
from hubbub.server.talk.link_previews import page_embeds
from hubbub.server.talk.link_previews.page_embeds import NO_OEMBED, OembedDocument

RESPONSE_BYTES_MAX: Final = 512 * 1024
"""Maximum number of bytes that are read of a page, an image or an oEmbed document; the rest is ignored."""
REQUEST_TIMEOUT_SECONDS: Final = 5.0
"""Timeout of one request in seconds."""
PREVIEW_TIMEOUT_SECONDS: Final = 20.0
"""Time limit in seconds for all requests of a preview."""

_PAGE_TYPES: Final = ("text/html", "application/xhtml+xml")
_CHARSET_PATTERN: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.ASCII | re.IGNORECASE)


async def fetch_preview(operation: AsyncOperation, config: Config, link: str) -> Embed | None:
    """Return the preview of a link, whose URL is not set, or None if the link has no preview or cannot be fetched."""
    try:
        async with asyncio.timeout(PREVIEW_TIMEOUT_SECONDS):
            return await _PreviewFetch(operation, config).run(link)
    except (UnreachableError, UnreadablePageError, TimeoutError):
        return None


class _PreviewFetch:
    """The requests for one preview."""

    def __init__(self, operation: AsyncOperation, config: Config) -> None:
        self._operation = operation
        self._config = config

    async def run(self, link: str) -> Embed | None:
        document = await self._fetch(link, "text/html,application/xhtml+xml,image/*,video/*;q=0.9")
        document_body = document.response.body
        file = media.inspect_file(document_body)
        if media.displayable_type(document_body[: media.HEAD_BYTES]) is not None:
            return page_embeds.build_file_embed(document.url, file)
        content_type = document.response.content_type
        if content_type.partition(";")[0].strip().lower() not in _PAGE_TYPES:
            return None
        charset_match = _CHARSET_PATTERN.search(content_type)
        metadata = await self._operation.page_reader.read(
            document_body, "" if charset_match is None else charset_match[1]
        )
        oembed = await self._fetch_oembed(document.url, metadata)
        image = await self._fetch_image(document.url, metadata, oembed)
        return page_embeds.build_page_embed(document.url, metadata, oembed, image)

    async def _fetch_oembed(self, url: URL, metadata: PageMetadata) -> OembedDocument:
        """Return the oEmbed document that a page refers to; an empty one if there is none or it cannot be fetched or decoded."""
        oembed_url = page_embeds.resolve(url, metadata.oembed_url)
        if oembed_url is None:
            return NO_OEMBED
        try:
            document = await self._fetch(oembed_url, "application/json")
            return msgspec.json.decode(document.response.body, type=OembedDocument)
        except (UnreachableError, ValueError):
            return NO_OEMBED

    async def _fetch_image(self, url: URL, metadata: PageMetadata, oembed: OembedDocument) -> EmbedMedia | UnsetType:
        """Return the image of a page with its type and size; UNSET if it is missing, unreachable or of unknown size."""
        image_url = page_embeds.find_image_url(url, metadata, oembed)
        if image_url is None:
            return UNSET
        try:
            document = await self._fetch(image_url, "image/*")
        except UnreachableError:
            return UNSET
        image = media.inspect_file(document.response.body)
        if not image.width or not image.height:
            return UNSET
        description = metadata.properties.get("og:image:alt") or metadata.properties.get("twitter:image:alt")
        return page_embeds.build_media(URL(image_url), image, description)

    async def _fetch(self, url: str, accepted_types: str) -> FetchedDocument:
        return await self._operation.outbound.fetch(
            url,
            headers={
                "Accept": accepted_types,
                # The client does not decompress, so that a small response cannot become a large one.
                "Accept-Encoding": "identity",
                "User-Agent": self._config.fetch_user_agent,
            },
            timeout_seconds=REQUEST_TIMEOUT_SECONDS,
            response_bytes_max=RESPONSE_BYTES_MAX,
            allows_truncation=True,
            is_host_allowed=self._config.link_previews.is_host_allowed,
        )
