"""Attachments as messages store them: their construction from uploads, and their wire models with signed URLs."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import UNSET

from hubbub.protocol.flags import AttachmentFlags
from hubbub.protocol.ids import AttachmentId
from hubbub.protocol.resources import attachments as wire
from hubbub.server.core import cdn_urls, media
from hubbub.server.core.call import Call, Upload

SPOILER_PREFIX: Final = "SPOILER_"
"""Start of the filename of a file that clients hide until the user selects it."""
_UNSAFE_CHARACTER_PATTERN: Final = re.compile(r"[^\w.\-]+")


class StoredAttachment(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A file of a message. Stored as JSON: add fields with a default, never rename."""

    id: AttachmentId
    filename: str
    size: int
    content_type: str | None = None
    width: int | None = None
    height: int | None = None
    title: str | None = None
    description: str | None = None
    duration_secs: float | None = None
    waveform: str | None = None
    flags: int = 0
    embedded: bool = False
    """Whether an embed shows the file. Embedded files are not in the message's list of attachments (spec/http.md#1.11)."""


def clean_filename(name: str) -> str:
    """Sanitize a filename for URLs: replace spaces by underscores, remove other unsafe characters and leading dots.

    Return "unknown" if no character remains."""
    name = _UNSAFE_CHARACTER_PATTERN.sub("", name.strip().replace(" ", "_")).lstrip(".")
    return name or "unknown"


def build_attachment(
    upload: Upload, request: wire.AttachmentRequest | None, *, is_spoiler_supported: bool
) -> StoredAttachment:
    """Build an attachment from an uploaded file and its metadata in the request, which is None if the request has none.

    Ignore `is_spoiler` of the metadata unless `is_spoiler_supported`."""
    original_filename = (request.filename if request is not None and request.filename else "") or upload.filename
    filename = clean_filename(original_filename)
    file_info = media.inspect_file(upload.data, filename)
    attachment = StoredAttachment(
        id=upload.attachment_id,
        filename=filename,
        size=upload.size,
        content_type=file_info.content_type,
        width=file_info.width,
        height=file_info.height,
    )
    if filename != original_filename:
        # The title keeps the name that the URL cannot contain, without its extension.
        attachment.title = original_filename.rpartition(".")[0] or original_filename
    if file_info.is_animated:
        attachment.flags |= AttachmentFlags.IS_ANIMATED
    if filename.startswith(SPOILER_PREFIX):
        attachment.flags |= AttachmentFlags.IS_SPOILER
    if request is not None:
        apply_metadata(attachment, request, is_spoiler_supported=is_spoiler_supported)
        if request.title:
            attachment.title = request.title
        if request.is_remix:
            attachment.flags |= AttachmentFlags.IS_REMIX
        attachment.duration_secs = request.duration_secs or None
        attachment.waveform = request.waveform or None
    return attachment


def apply_metadata(
    attachment: StoredAttachment, request: wire.AttachmentRequest, *, is_spoiler_supported: bool
) -> None:
    """Apply the metadata that can be set on a new file and changed on an existing one.

    Ignore `is_spoiler` of the metadata unless `is_spoiler_supported`."""
    if request.description is not UNSET:
        attachment.description = request.description or None
    if request.is_spoiler is not UNSET and is_spoiler_supported:
        # spec/http.md#1.11: the flag alone marks a spoiler; the filename prefix still marks one as well.
        if request.is_spoiler or attachment.filename.startswith(SPOILER_PREFIX):
            attachment.flags |= AttachmentFlags.IS_SPOILER
        else:
            attachment.flags &= ~AttachmentFlags.IS_SPOILER


class AttachmentSigner:
    """Builds signed URLs and wire models of attachments for one call. The constructor reads the signing key."""

    __slots__ = ("_cdn_url", "_key", "_now_ms")

    def __init__(self, call: Call) -> None:
        self._cdn_url = call.config.cdn_url
        # The first file or link preview creates the key, so without a key there is nothing to sign.
        self._key = cdn_urls.find_signing_key(call.tx) or b""
        self._now_ms = call.now_ms

    def proxy_url(self, url: str) -> str:
        """Return the media proxy URL for the signed URL of a file, with its signature (spec/http.md#1.12)."""
        return f"{self._cdn_url}{cdn_urls.MEDIA_PROXY_PATH}{url.removeprefix(self._cdn_url)}"

    def external_media_url(self, url: str) -> str:
        """Return the media proxy URL of an image of another server."""
        return self._cdn_url + cdn_urls.external_media_path(self._key, url)

    def sign_url(self, channel_id: int, attachment: StoredAttachment, *, is_ephemeral: bool = False) -> str:
        """Return the signed URL of a file, valid for one day. `is_ephemeral` marks files of ephemeral messages."""
        path = cdn_urls.attachment_path(channel_id, attachment.id, attachment.filename, is_ephemeral=is_ephemeral)
        return self._cdn_url + cdn_urls.sign(self._key, path, self._now_ms)

    def build_view(
        self, channel_id: int, attachment: StoredAttachment, *, is_ephemeral: bool = False
    ) -> wire.Attachment:
        """Build the wire model of a file. `is_ephemeral` marks files of ephemeral messages."""
        url = self.sign_url(channel_id, attachment, is_ephemeral=is_ephemeral)
        view = wire.Attachment(
            id=attachment.id,
            filename=attachment.filename,
            size=attachment.size,
            url=url,
            proxy_url=self.proxy_url(url),
            content_type=UNSET if attachment.content_type is None else attachment.content_type,
            description=UNSET if attachment.description is None else attachment.description,
        )
        if attachment.title is not None:
            view.title = attachment.title
        if attachment.width is not None and attachment.height is not None:
            view.width, view.height = attachment.width, attachment.height
        if attachment.duration_secs is not None:
            view.duration_secs = attachment.duration_secs
        if attachment.waveform is not None:
            view.waveform = attachment.waveform
        if attachment.flags:
            view.flags = attachment.flags
        if is_ephemeral:
            view.ephemeral = True
        return view

    def build_views(
        self, channel_id: int, stored_attachments: Iterable[StoredAttachment], *, is_ephemeral: bool = False
    ) -> list[wire.Attachment]:
        """Build the wire models of a message's files, without embedded ones.

        `is_ephemeral` marks files of ephemeral messages."""
        return [
            self.build_view(channel_id, attachment, is_ephemeral=is_ephemeral)
            for attachment in stored_attachments
            if not attachment.embedded
        ]
