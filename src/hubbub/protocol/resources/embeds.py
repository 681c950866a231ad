"""Embeds: the rich boxes under a message, as sent and as shown."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.ids import Timestamp
from hubbub.protocol.resources.components import Component

EMBEDS_MAX: Final = 10
EMBED_FIELDS_MAX: Final = 25
EMBED_TEXT_MAX: Final = 6000
"""Characters of all titles, descriptions, field names and values, footers and author names of a message."""
EMBED_TITLE_MAX: Final = 256
EMBED_DESCRIPTION_MAX: Final = 4096
EMBED_FIELD_NAME_MAX: Final = 256
EMBED_FIELD_VALUE_MAX: Final = 1024
EMBED_FOOTER_MAX: Final = 2048
EMBED_AUTHOR_MAX: Final = 256
EMBED_URL_MAX: Final = 2048
COLOR_MAX: Final = 0xFFFFFF

Url = Annotated[str, Meta(max_length=EMBED_URL_MAX)]


class EmbedField(Struct, kw_only=True):
    """A name and a value."""

    name: str
    value: str
    inline: bool


class EmbedAuthor(Struct, kw_only=True):
    """The line above the title."""

    name: str
    url: str | UnsetType = UNSET
    icon_url: str | UnsetType = UNSET
    proxy_icon_url: str | UnsetType = UNSET


class EmbedFooter(Struct, kw_only=True):
    """The line at the foot."""

    text: str
    icon_url: str | UnsetType = UNSET
    proxy_icon_url: str | UnsetType = UNSET


class EmbedProvider(Struct, kw_only=True):
    """The site a link leads to."""

    name: str
    url: str | UnsetType = UNSET


class EmbedMedia(Struct, kw_only=True):
    """An image, a thumbnail or a video."""

    url: str | UnsetType = UNSET
    proxy_url: str | UnsetType = UNSET
    width: int | UnsetType = UNSET
    height: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    placeholder: str | UnsetType = UNSET
    placeholder_version: int | UnsetType = UNSET
    description: str | UnsetType = UNSET
    flags: int | UnsetType = UNSET


class Embed(Struct, kw_only=True):
    """An embed as shown."""

    type: str = "rich"
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    timestamp: Timestamp | UnsetType = UNSET
    color: int | UnsetType = UNSET
    footer: EmbedFooter | UnsetType = UNSET
    image: EmbedMedia | UnsetType = UNSET
    thumbnail: EmbedMedia | UnsetType = UNSET
    video: EmbedMedia | UnsetType = UNSET
    provider: EmbedProvider | UnsetType = UNSET
    author: EmbedAuthor | UnsetType = UNSET
    fields: list[EmbedField] | UnsetType = UNSET
    flags: int | UnsetType = UNSET
    components: list[Component] | UnsetType = UNSET


class EmbedFieldRequest(Struct, kw_only=True):
    """A name and a value to show."""

    name: Annotated[str, Meta(max_length=EMBED_FIELD_NAME_MAX)]
    value: Annotated[str, Meta(max_length=EMBED_FIELD_VALUE_MAX)]
    inline: bool | None | UnsetType = UNSET


class EmbedAuthorRequest(Struct, kw_only=True):
    """The line above the title to show."""

    name: Annotated[str, Meta(max_length=EMBED_AUTHOR_MAX)] | None | UnsetType = UNSET
    url: Url | None | UnsetType = UNSET
    icon_url: Url | None | UnsetType = UNSET


class EmbedFooterRequest(Struct, kw_only=True):
    """The line at the foot to show."""

    text: Annotated[str, Meta(max_length=EMBED_FOOTER_MAX)] | None | UnsetType = UNSET
    icon_url: Url | None | UnsetType = UNSET


class EmbedMediaRequest(Struct, kw_only=True):
    """An image by address, or an uploaded file by `attachment://name`."""

    url: Url | None | UnsetType = UNSET
    description: Annotated[str, Meta(max_length=EMBED_DESCRIPTION_MAX)] | None | UnsetType = UNSET


# http.md 3.4: `type` is always rich, and provider, video and sizes are not the sender's to say, so they are not read.
class EmbedRequest(Struct, kw_only=True):
    """An embed to show."""

    title: Annotated[str, Meta(max_length=EMBED_TITLE_MAX)] | None | UnsetType = UNSET
    description: Annotated[str, Meta(max_length=EMBED_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    url: Url | None | UnsetType = UNSET
    timestamp: datetime | None | UnsetType = UNSET
    color: Annotated[int, Meta(ge=0, le=COLOR_MAX)] | None | UnsetType = UNSET
    footer: EmbedFooterRequest | None | UnsetType = UNSET
    image: EmbedMediaRequest | None | UnsetType = UNSET
    thumbnail: EmbedMediaRequest | None | UnsetType = UNSET
    author: EmbedAuthorRequest | None | UnsetType = UNSET
    # http.md 1.7: "Must be between 0 and 25 in length."
    # The handler counts them: until 19 December 2023 more were cut off, not refused (dated-changes.md 3).
    fields: (
        Annotated[list[EmbedFieldRequest], Meta(extra_json_schema={"maxItems": EMBED_FIELDS_MAX})] | None | UnsetType
    ) = UNSET
