"""Attachments as messages keep them, and how they are shown: with an address signed anew each time."""

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
_UNSAFE: Final = re.compile(r"[^\w.\-]+")


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
    """An embed shows it, so the message's list does not (http.md 1.11)."""


def clean_filename(name: str) -> str:
    """A name as it stands in addresses: spaces become underscores, and what is no letter of a name goes."""
    name = _UNSAFE.sub("", name.strip().replace(" ", "_")).lstrip(".")
    return name or "unknown"


def from_upload(upload: Upload, said: wire.AttachmentRequest | None, *, spoiler_flag: bool) -> StoredAttachment:
    """A file that came with the request, with what the sender says of it; `spoiler_flag`: whether is_spoiler is read yet."""
    given = (said.filename if said is not None and said.filename else "") or upload.filename
    filename = clean_filename(given)
    seen = media.look(upload.data, filename)
    stored = StoredAttachment(
        id=upload.attachment_id,
        filename=filename,
        size=upload.size,
        content_type=seen.content_type,
        width=seen.width,
        height=seen.height,
    )
    if filename != given:
        stored.title = given.rpartition(".")[0] or given
    if seen.animated:
        stored.flags |= AttachmentFlags.IS_ANIMATED
    if filename.startswith(SPOILER_PREFIX):
        stored.flags |= AttachmentFlags.IS_SPOILER
    if said is not None:
        describe(stored, said, spoiler_flag=spoiler_flag)
        if said.title:
            stored.title = said.title
        if said.is_remix:
            stored.flags |= AttachmentFlags.IS_REMIX
        stored.duration_secs = said.duration_secs or None
        stored.waveform = said.waveform or None
    return stored


def describe(stored: StoredAttachment, said: wire.AttachmentRequest, *, spoiler_flag: bool) -> None:
    """Take over what may be said of a new file and changed of an old one."""
    if said.description is not UNSET:
        stored.description = said.description or None
    if said.is_spoiler is not UNSET and spoiler_flag:
        # http.md 1.11: the flag alone marks a spoiler; the prefix of the name keeps marking one as well.
        if said.is_spoiler or stored.filename.startswith(SPOILER_PREFIX):
            stored.flags |= AttachmentFlags.IS_SPOILER
        else:
            stored.flags &= ~AttachmentFlags.IS_SPOILER


class Signer:
    """Makes addresses for one call: the key is read once, and only when there is something to sign."""

    __slots__ = ("_base", "_key", "_now")

    def __init__(self, call: Call) -> None:
        self._base = call.config.cdn_url
        self._key = cdn_urls.find_key(call.tx) or b""
        self._now = call.now

    def proxied(self, url: str) -> str:
        """The address of the same file on the media proxy, under the same signature (http.md 1.12)."""
        return f"{self._base}{cdn_urls.PROXY}{url.removeprefix(self._base)}"

    def url(self, channel_id: int, stored: StoredAttachment, *, ephemeral: bool = False) -> str:
        """The address of a file, good for a day."""
        path = cdn_urls.attachment_path(channel_id, stored.id, stored.filename, ephemeral=ephemeral)
        return self._base + cdn_urls.sign(self._key, path, self._now)

    def attachment(self, channel_id: int, stored: StoredAttachment, *, ephemeral: bool = False) -> wire.Attachment:
        """One file as a message shows it; `ephemeral`: as one shows it that only some know of."""
        url = self.url(channel_id, stored, ephemeral=ephemeral)
        shown = wire.Attachment(
            id=stored.id,
            filename=stored.filename,
            size=stored.size,
            url=url,
            proxy_url=self.proxied(url),
            content_type=UNSET if stored.content_type is None else stored.content_type,
            description=UNSET if stored.description is None else stored.description,
        )
        if stored.title is not None:
            shown.title = stored.title
        if stored.width is not None and stored.height is not None:
            shown.width, shown.height = stored.width, stored.height
        if stored.duration_secs is not None:
            shown.duration_secs = stored.duration_secs
        if stored.waveform is not None:
            shown.waveform = stored.waveform
        if stored.flags:
            shown.flags = stored.flags
        if ephemeral:
            shown.ephemeral = True
        return shown

    def attachments(
        self, channel_id: int, stored: Iterable[StoredAttachment], *, ephemeral: bool = False
    ) -> list[wire.Attachment]:
        """The files that a message lists."""
        return [self.attachment(channel_id, each, ephemeral=ephemeral) for each in stored if not each.embedded]
