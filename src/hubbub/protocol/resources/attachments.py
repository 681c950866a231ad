"""Attachments: files sent with messages, limits of their size, and filters of file types."""

import re
from collections.abc import Iterable
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import PremiumType
from hubbub.protocol.ids import AttachmentId, Timestamp
from hubbub.protocol.numbers import INT32_MAX
from hubbub.protocol.operation import Operation
from hubbub.protocol.resources.users import User

ATTACHMENTS_MAX: Final = 10
"""Maximum number of attachments of a message."""
ATTACHMENT_BYTES_MAX_BY_TIER: Final = (10 << 20, 10 << 20, 50 << 20, 100 << 20)
"""Maximum size of a file in bytes, by the guild's premium tier."""
ATTACHMENT_BYTES_MAX_BY_PREMIUM: Final[dict[int, int]] = {
    PremiumType.TIER_1: 50 << 20,
    PremiumType.TIER_2: 500 << 20,
    PremiumType.TIER_0: 50 << 20,
}
"""Maximum size of a file in bytes, by the sender's premium type (spec/http.md#1.11)."""
ATTACHMENT_BYTES_MAX: Final = max(*ATTACHMENT_BYTES_MAX_BY_TIER, *ATTACHMENT_BYTES_MAX_BY_PREMIUM.values())
"""Largest file that any user may send, in bytes; `http.upload_bytes_max` may lower it."""
ATTACHMENT_DESCRIPTION_MAX: Final = 1024
ATTACHMENT_FILENAME_MAX: Final = 1024
ATTACHMENT_TITLE_MAX: Final = 1024
ATTACHMENT_WAVEFORM_MAX: Final = 400
"""Maximum length of the base64 text of a waveform, in characters."""
ATTACHMENT_URL_SECONDS: Final = 86_400
"""Validity of a signed URL in seconds. The specification gives no value (spec/http.md#1.12)."""
REFRESH_URLS_MAX: Final = 50
"""Maximum number of attachment URLs in one request."""

FILE_TYPES: Final = {
    "image": (".png", ".gif", ".jpg", ".jpeg", ".jfif", ".webp", ".avif"),
    "video": (".mp4", ".mov", ".qt", ".webm"),
    "audio": (".mp3", ".m4a", ".wav", ".ogg", ".opus", ".flac"),
}
"""Extensions of each group of file types that a filter can name (spec/http.md#1.11)."""
_EXTENSION_PATTERN: Final = re.compile(r"(\.[\w+-]{1,16}){1,3}")


def is_file_type(value: str) -> bool:
    """Return whether a value is a valid file type: `image`, `video`, `audio` or an extension such as `.png`."""
    return value.lower() in FILE_TYPES or _EXTENSION_PATTERN.fullmatch(value) is not None


def matches_file_types(filename: str, file_types: Iterable[str]) -> bool:
    """Return whether a file has one of the file types; only the extension of its name is checked."""
    name = filename.lower()
    return any(name.endswith(FILE_TYPES.get(file_type.lower(), file_type.lower())) for file_type in file_types)


class Attachment(Struct, kw_only=True):
    """A file of a message."""

    id: AttachmentId
    """ID of the attachment."""
    filename: str
    """Name of the file."""
    size: int
    """Size of the file in bytes."""
    url: str
    """Signed URL of the file; it expires, and reading the message again returns a new one."""
    proxy_url: str
    """URL of the file at the media proxy."""
    title: str | None | UnsetType = UNSET
    """Title of the file, or its original name without extension if `filename` was sanitized; absent if there is neither."""
    description: str | UnsetType = UNSET
    """Alternative text of the file, at most 1024 characters; absent if there is none."""
    content_type: str | UnsetType = UNSET
    """Media type of the file; absent if unknown."""
    width: int | UnsetType = UNSET
    """Width in pixels; absent for files other than images and videos."""
    height: int | UnsetType = UNSET
    """Height in pixels; absent for files other than images and videos."""
    ephemeral: bool | UnsetType = UNSET
    """Whether the file belongs to an ephemeral message and is deleted some time after it; absent if it does not."""
    duration_secs: float | UnsetType = UNSET
    """Duration in seconds; absent for files other than voice messages."""
    waveform: str | UnsetType = UNSET
    """Base64-encoded waveform, at most 400 characters; absent for files other than voice messages."""
    flags: int | UnsetType = UNSET
    """Flags of the attachment, an `AttachmentFlags` bit set; absent if no bit is set."""
    placeholder: str | UnsetType = UNSET
    """ThumbHash placeholder of an image or a video; always absent."""
    placeholder_version: int | UnsetType = UNSET
    """Version of the format of `placeholder`; always absent."""
    clip_created_at: Timestamp | UnsetType = UNSET
    """Time at which a clip was recorded; always absent."""
    clip_participants: list[User] | UnsetType = UNSET
    """Users in the recorded stream of a clip; always absent."""


class AttachmentRequest(Struct, kw_only=True):
    """Metadata of a file to upload or of an existing attachment, of which only the description and spoiler mark can change."""

    id: AttachmentId
    """The `n` of the uploaded part `files[n]`, or the ID of an attachment that the message already has."""
    filename: Annotated[str, Meta(min_length=1, max_length=ATTACHMENT_FILENAME_MAX)] | None | UnsetType = UNSET
    """Name of the file; if absent or null, the name of the uploaded part."""
    title: Annotated[str, Meta(max_length=ATTACHMENT_TITLE_MAX)] | None | UnsetType = UNSET
    """Title of an uploaded file, at most 1024 characters; absent or null for none."""
    description: Annotated[str, Meta(max_length=ATTACHMENT_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    """Alternative text of the file, at most 1024 characters; null removes it."""
    duration_secs: Annotated[float, Meta(ge=0, le=INT32_MAX)] | None | UnsetType = UNSET
    """Duration of a voice message in seconds; absent or null for other files."""
    waveform: Annotated[str, Meta(max_length=ATTACHMENT_WAVEFORM_MAX)] | None | UnsetType = UNSET
    """Base64-encoded waveform of a voice message, at most 400 characters; absent or null for other files."""
    is_spoiler: bool | None | UnsetType = UNSET
    """Whether the file is hidden behind a spoiler warning; null means false, absent keeps the mark of an existing file."""
    is_remix: bool | None | UnsetType = UNSET
    """Whether an uploaded file was edited with the remix feature; false if absent or null."""


class RefreshAttachmentUrls(Struct, kw_only=True):
    """Request body for renewing signed attachment URLs."""

    attachment_urls: Annotated[list[str], Meta(max_length=REFRESH_URLS_MAX)]
    """Attachment URLs to sign again, at most 50."""


class RefreshedUrl(Struct, kw_only=True):
    """An attachment URL and its newly signed form."""

    original: str
    """Attachment URL from the request."""
    refreshed: str
    """Attachment URL with a new signature, valid for one day."""


class RefreshedUrls(Struct, kw_only=True):
    """Newly signed attachment URLs."""

    refreshed_urls: list[RefreshedUrl]
    """Newly signed URLs, in the order of the request."""


REFRESH_ATTACHMENT_URLS = Operation(
    "POST",
    "/attachments/refresh-urls",
    body=RefreshAttachmentUrls,
    result=RefreshedUrls,
    raises=(errors.INVALID_FORM_BODY,),
)
