"""Attachments: files sent with a message."""

import re
from collections.abc import Iterable
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import AttachmentId, Timestamp
from hubbub.protocol.numbers import INT32_MAX
from hubbub.protocol.operation import Operation
from hubbub.protocol.resources.users import User

ATTACHMENTS_MAX: Final = 10
ATTACHMENT_BYTES_MAX_BY_TIER: Final = (10 << 20, 10 << 20, 50 << 20, 100 << 20)
"""Per file, by the guild's premium tier."""
ATTACHMENT_BYTES_MAX_BY_PREMIUM: Final = {1: 50 << 20, 2: 500 << 20, 3: 50 << 20}
"""Per file, by the sender's premium type (http.md 1.11)."""
ATTACHMENT_BYTES_LARGEST: Final = max(*ATTACHMENT_BYTES_MAX_BY_TIER, *ATTACHMENT_BYTES_MAX_BY_PREMIUM.values())
"""Per file, of anybody; how much of it a server takes, its operator says (`http.max_upload_bytes`)."""
ATTACHMENT_DESCRIPTION_MAX: Final = 1024
ATTACHMENT_FILENAME_MAX: Final = 1024
ATTACHMENT_TITLE_MAX: Final = 1024
ATTACHMENT_WAVEFORM_MAX: Final = 400
ATTACHMENT_URL_SECONDS: Final = 86_400
"""How long a signed address works."""
REFRESH_URLS_MAX: Final = 50

FILE_TYPES: Final = {
    "image": (".png", ".gif", ".jpg", ".jpeg", ".jfif", ".webp", ".avif"),
    "video": (".mp4", ".mov", ".qt", ".webm"),
    "audio": (".mp3", ".m4a", ".wav", ".ogg", ".opus", ".flac"),
}
"""What a filter of files can name beside single endings, and the endings that each stands for (http.md 1.11)."""
_ENDING: Final = re.compile(r"(\.[\w+-]{1,16}){1,3}")


def is_file_type(word: str) -> bool:
    """Whether a filter of files can say this: `image`, `video`, `audio` or an ending such as `.png`, in any case."""
    return word.lower() in FILE_TYPES or _ENDING.fullmatch(word) is not None


def is_of_type(filename: str, words: Iterable[str]) -> bool:
    """Whether a file may pass a filter, by its name alone."""
    name = filename.lower()
    return any(name.endswith(FILE_TYPES.get(word.lower(), word.lower())) for word in words)


class Attachment(Struct, kw_only=True):
    """A file as a message shows it."""

    id: AttachmentId
    filename: str
    size: int
    """Bytes."""
    url: str
    """Signed; a later reading of the message gives a fresh one."""
    proxy_url: str
    title: str | None | UnsetType = UNSET
    description: str | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    width: int | UnsetType = UNSET
    height: int | UnsetType = UNSET
    ephemeral: bool | UnsetType = UNSET
    duration_secs: float | UnsetType = UNSET
    """Voice messages, with `waveform`: base64 of up to 256 samples."""
    waveform: str | UnsetType = UNSET
    flags: int | UnsetType = UNSET
    placeholder: str | UnsetType = UNSET
    placeholder_version: int | UnsetType = UNSET
    clip_created_at: Timestamp | UnsetType = UNSET
    clip_participants: list[User] | UnsetType = UNSET


class AttachmentRequest(Struct, kw_only=True):
    """What to say of a file: a new one, named by its `n` in `files[n]`, or one the message already has, by its id."""

    id: AttachmentId
    filename: Annotated[str, Meta(min_length=1, max_length=ATTACHMENT_FILENAME_MAX)] | None | UnsetType = UNSET
    title: Annotated[str, Meta(max_length=ATTACHMENT_TITLE_MAX)] | None | UnsetType = UNSET
    description: Annotated[str, Meta(max_length=ATTACHMENT_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    duration_secs: Annotated[float, Meta(ge=0, le=INT32_MAX)] | None | UnsetType = UNSET
    waveform: Annotated[str, Meta(max_length=ATTACHMENT_WAVEFORM_MAX)] | None | UnsetType = UNSET
    is_spoiler: bool | None | UnsetType = UNSET
    is_remix: bool | None | UnsetType = UNSET


class RefreshAttachmentUrls(Struct, kw_only=True):
    """Addresses whose signature is to be renewed."""

    attachment_urls: Annotated[list[str], Meta(max_length=REFRESH_URLS_MAX)]


class RefreshedUrl(Struct, kw_only=True):
    """An address and its fresh form."""

    original: str
    refreshed: str


class RefreshedUrls(Struct, kw_only=True):
    """The fresh addresses, in the order asked."""

    refreshed_urls: list[RefreshedUrl]


REFRESH_ATTACHMENT_URLS = Operation(
    "POST",
    "/attachments/refresh-urls",
    body=RefreshAttachmentUrls,
    result=RefreshedUrls,
    raises=(errors.INVALID_FORM_BODY,),
)
