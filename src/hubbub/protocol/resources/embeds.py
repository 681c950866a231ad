"""Embeds: rich content of messages, as messages contain it and as clients send it."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.ids import Timestamp
from hubbub.protocol.numbers import COLOR_MAX
from hubbub.protocol.resources.components import Component

EMBEDS_MAX: Final = 10
"""Maximum number of embeds of a message."""
EMBED_FIELDS_MAX: Final = 25
"""Maximum number of fields of an embed."""
EMBED_TEXT_MAX: Final = 6000
"""Maximum number of characters in all embeds of a message: titles, descriptions, fields, footers and author names."""
EMBED_TITLE_MAX: Final = 256
EMBED_DESCRIPTION_MAX: Final = 4096
EMBED_FIELD_NAME_MAX: Final = 256
EMBED_FIELD_VALUE_MAX: Final = 1024
EMBED_FOOTER_MAX: Final = 2048
"""Maximum length of the text of a footer, in characters."""
EMBED_AUTHOR_MAX: Final = 256
"""Maximum length of the name of an author, in characters."""
EMBED_URL_MAX: Final = 2048

EmbedUrl = Annotated[str, Meta(max_length=EMBED_URL_MAX)]


class EmbedField(Struct, kw_only=True):
    """A title and a text in the body of an embed."""

    name: str
    """Name of the field, at most 256 characters."""
    value: str
    """Value of the field, at most 1024 characters."""
    inline: bool
    """Whether the field may be displayed beside other fields."""


class EmbedAuthor(Struct, kw_only=True):
    """Author line of an embed, above the title."""

    name: str
    """Name of the author, at most 256 characters."""
    url: str | UnsetType = UNSET
    """URL that the name links to; absent if none."""
    icon_url: str | UnsetType = UNSET
    """URL of the author's icon; absent if none."""
    proxy_icon_url: str | UnsetType = UNSET
    """URL of the icon at the media proxy; only for an uploaded file."""


class EmbedFooter(Struct, kw_only=True):
    """Text and icon at the bottom of an embed."""

    text: str
    """Text of the footer, at most 2048 characters."""
    icon_url: str | UnsetType = UNSET
    """URL of the footer's icon; absent if none."""
    proxy_icon_url: str | UnsetType = UNSET
    """URL of the icon at the media proxy; only for an uploaded file."""


class EmbedProvider(Struct, kw_only=True):
    """Website that a link embed comes from."""

    name: str
    """Name of the website."""
    url: str | UnsetType = UNSET
    """URL of the website; absent if unknown."""


class EmbedMedia(Struct, kw_only=True):
    """An image, thumbnail or video of an embed; fields without a value are absent."""

    url: str | UnsetType = UNSET
    """URL of the media."""
    proxy_url: str | UnsetType = UNSET
    """URL of the media at the media proxy."""
    width: int | UnsetType = UNSET
    """Width in pixels; absent if unknown."""
    height: int | UnsetType = UNSET
    """Height in pixels; absent if unknown."""
    content_type: str | UnsetType = UNSET
    """Media type of the file, such as `image/png`."""
    placeholder: str | UnsetType = UNSET
    """ThumbHash placeholder of the media; always absent."""
    placeholder_version: int | UnsetType = UNSET
    """Version of the format of `placeholder`; always absent."""
    description: str | UnsetType = UNSET
    """Alternative text of the media."""
    flags: int | UnsetType = UNSET
    """Flags of the media, an `AttachmentFlags` bit set; always absent."""


class Embed(Struct, kw_only=True):
    """An embed of a message; fields without a value are absent."""

    type: str = "rich"
    """Type of the embed: `rich` for embeds sent by users and applications, otherwise the kind of link.

    Results of polls have `poll_result`, and alerts of auto moderation `auto_moderation_message`."""
    title: str | UnsetType = UNSET
    """Title, at most 256 characters."""
    description: str | UnsetType = UNSET
    """Description, at most 4096 characters."""
    url: str | UnsetType = UNSET
    """URL that the title links to."""
    timestamp: Timestamp | UnsetType = UNSET
    """Time displayed in the footer; absent if none."""
    color: int | UnsetType = UNSET
    """Color of the bar at the side, as an RGB integer."""
    footer: EmbedFooter | UnsetType = UNSET
    """Footer below the fields, with a text and an optional icon."""
    image: EmbedMedia | UnsetType = UNSET
    """Large image below the text."""
    thumbnail: EmbedMedia | UnsetType = UNSET
    """Small image beside the text."""
    video: EmbedMedia | UnsetType = UNSET
    """Video; link embeds only."""
    provider: EmbedProvider | UnsetType = UNSET
    """Website that the link leads to; link embeds only."""
    author: EmbedAuthor | UnsetType = UNSET
    """Author shown above the title."""
    fields: list[EmbedField] | UnsetType = UNSET
    """Fields, at most 25."""
    flags: int | UnsetType = UNSET
    """Flags of the embed, an `EmbedFlags` bit set; always absent."""
    components: list[Component] | UnsetType = UNSET
    """Components that the embed displays instead of its other content; always absent."""


class EmbedFieldRequest(Struct, kw_only=True):
    """A field of an embed to send."""

    name: Annotated[str, Meta(max_length=EMBED_FIELD_NAME_MAX)]
    """Name of the field, at most 256 characters."""
    value: Annotated[str, Meta(max_length=EMBED_FIELD_VALUE_MAX)]
    """Value of the field, at most 1024 characters."""
    inline: bool | None | UnsetType = UNSET
    """Whether the field may be displayed beside other fields; false if absent or null."""


class EmbedAuthorRequest(Struct, kw_only=True):
    """Author line of an embed to send; null is equivalent to an absent field."""

    name: Annotated[str, Meta(max_length=EMBED_AUTHOR_MAX)] | None | UnsetType = UNSET
    """Name of the author, at most 256 characters."""
    url: EmbedUrl | None | UnsetType = UNSET
    """URL that the name links to, at most 2048 characters."""
    icon_url: EmbedUrl | None | UnsetType = UNSET
    """URL of the author's icon, or `attachment://filename` for an uploaded file."""


class EmbedFooterRequest(Struct, kw_only=True):
    """Footer of an embed to send; null is equivalent to an absent field."""

    text: Annotated[str, Meta(max_length=EMBED_FOOTER_MAX)] | None | UnsetType = UNSET
    """Text of the footer, at most 2048 characters."""
    icon_url: EmbedUrl | None | UnsetType = UNSET
    """URL of the footer's icon, or `attachment://filename` for an uploaded file."""


class EmbedMediaRequest(Struct, kw_only=True):
    """An image or thumbnail of an embed to send; null is equivalent to an absent field."""

    url: EmbedUrl | None | UnsetType = UNSET
    """URL of the image, or `attachment://filename` for an uploaded file."""
    description: Annotated[str, Meta(max_length=EMBED_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    """Alternative text of the image."""


# Senders cannot set the type, which is always `rich`, nor the provider, video and sizes (spec/http.md#3.4).
class EmbedRequest(Struct, kw_only=True):
    """An embed to send; null is equivalent to an absent field.

    The texts of all embeds of a message have at most 6000 characters together."""

    title: Annotated[str, Meta(max_length=EMBED_TITLE_MAX)] | None | UnsetType = UNSET
    """Title, at most 256 characters."""
    description: Annotated[str, Meta(max_length=EMBED_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    """Description, at most 4096 characters."""
    url: EmbedUrl | None | UnsetType = UNSET
    """URL that the title links to, at most 2048 characters."""
    timestamp: datetime | None | UnsetType = UNSET
    """Time to display in the footer; absent or null for none."""
    color: Annotated[int, Meta(ge=0, le=COLOR_MAX)] | None | UnsetType = UNSET
    """Color of the bar at the side, as an RGB integer from 0 to 16777215."""
    footer: EmbedFooterRequest | None | UnsetType = UNSET
    """Footer to show below the fields; null or absent for none."""
    image: EmbedMediaRequest | None | UnsetType = UNSET
    """Large image to show below the text; null or absent for none."""
    thumbnail: EmbedMediaRequest | None | UnsetType = UNSET
    """Small image to show beside the text; null or absent for none."""
    author: EmbedAuthorRequest | None | UnsetType = UNSET
    """Author to show above the title; null or absent for none."""
    # The handler checks the length (spec/http.md#1.7): before 19 December 2023 further fields were dropped, not rejected
    # (spec/dated-changes.md#3).
    fields: (
        Annotated[list[EmbedFieldRequest], Meta(extra_json_schema={"maxItems": EMBED_FIELDS_MAX})] | None | UnsetType
    ) = UNSET
    """Fields, at most 25."""
