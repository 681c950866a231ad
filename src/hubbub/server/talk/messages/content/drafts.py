"""The validated content of a message, and the checks of a body that need no stored data."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from hubbub.protocol import changes, errors
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.embeds import Embed
from hubbub.protocol.resources.polls import Poll
from hubbub.protocol.resources.stickers import StickerItem
from hubbub.server.core.call import Upload
from hubbub.server.talk.attachments import StoredAttachment
from hubbub.server.talk.messages.content.links import is_link_preview
from hubbub.server.talk.messages.content.rich_content import components
from hubbub.server.talk.messages.content.rich_content.component_fields import ComponentReferences

# spec/http.md#3.4: fields that a message with IS_COMPONENTS_V2 cannot have.
_LEGACY_ONLY_FIELDS: Final = ("content", "embeds", "sticker_ids", "poll", "shared_client_theme")


class Draft(msgspec.Struct, kw_only=True):
    """The validated content of a message."""

    content: str = ""
    flags: int = 0
    embeds: list[Embed] = []
    components: list[dict[str, Any]] = []
    files: list[StoredAttachment] = []
    stickers: list[StickerItem] = []
    poll: Poll | None = None
    theme: wire.SharedClientTheme | None = None
    call: wire.MessageCall | None = None
    """The voice call that a system message announces."""

    @property
    def is_plain(self) -> bool:
        """Whether the message has nothing but text content and flags."""
        return not (
            self.embeds or self.components or self.files or self.stickers or self.poll or self.theme or self.call
        )

    @property
    def is_empty(self) -> bool:
        """Whether the message has no content at all (spec/http.md#3.4)."""
        if self.flags & MessageFlags.IS_COMPONENTS_V2:
            return not self.components
        return not self.content and self.is_plain

    def mention_texts(self) -> Iterator[str]:
        """Iterate over the texts in which mentions are searched."""
        yield self.content
        if self.flags & MessageFlags.IS_COMPONENTS_V2:
            yield from components.text_contents(self.components)

    def readable_texts(self) -> Iterator[str]:
        """Iterate over the texts of the sender in content, text displays, embeds, poll and files, without link previews."""
        yield from self.mention_texts()
        for embed in self.embeds:
            if is_link_preview(embed):
                continue
            yield from (embed.title or "", embed.description or "")
            yield from (embed.author.name if embed.author else "", embed.footer.text if embed.footer else "")
            for field in embed.fields or ():
                yield from (field.name, field.value)
        if self.poll is not None:
            yield self.poll.question.text or ""
            yield from (answer.poll_media.text or "" for answer in self.poll.answers)
        for file in self.files:
            yield from (file.filename, file.description or "")

    def linked_texts(self) -> Iterator[str]:
        """Iterate over the texts of the sender and the URLs of embeds and buttons."""
        yield from self.readable_texts()
        for embed in self.embeds:
            if not is_link_preview(embed):
                yield from _embed_urls(embed)
        for component in components.walk_components(self.components):
            yield component.get("url") or ""


def _embed_urls(embed: Embed) -> Iterator[str]:
    """Iterate over the URLs that readers of an embed can open."""
    yield embed.url or ""
    if embed.author:
        yield embed.author.url or ""


def clean_content(content: str | None) -> str:
    """Return content for storage: trimmed, and without NUL characters, which PostgreSQL cannot store."""
    return (content or "").replace("\x00", "").strip()


def as_create_body(body: wire.UpdateMessage, now_ms: int) -> wire.CreateMessageContent:
    """Return an edit of a deferred response as the body of a new message, by the rules at `now_ms`."""
    return wire.CreateMessageContent(
        content=body.content,
        embeds=body.embeds,
        allowed_mentions=body.allowed_mentions,
        components=body.components,
        attachments=body.attachments,
        flags=edited_flags(0, body.flags or 0, now_ms),
    )


def edited_flags(current_flags: int, requested_flags: int, now_ms: int) -> int:
    """Return the flags after an edit at `now_ms` (spec/http.md#3.4).

    SUPPRESS_EMBEDS can be set and cleared, IS_COMPONENTS_V2 only set."""
    flags_after_edit = current_flags & ~MessageFlags.SUPPRESS_EMBEDS | requested_flags & MessageFlags.SUPPRESS_EMBEDS
    return flags_after_edit | settable_flags(requested_flags, now_ms) & MessageFlags.IS_COMPONENTS_V2


def settable_flags(requested_flags: int, now_ms: int) -> int:
    """Return the requested flags that a sender may set at `now_ms`; other flags are ignored without an error (decisions/0013)."""
    flags = requested_flags & MessageFlags.SETTABLE
    if flags & MessageFlags.IS_COMPONENTS_V2 and not changes.COMPONENTS_V2.is_active(now_ms):
        flags &= ~MessageFlags.IS_COMPONENTS_V2
    return flags


def reject_legacy_fields(body: wire.CreateMessageContent, form: errors.FormErrors) -> None:
    """Add an error for each field that a message with IS_COMPONENTS_V2 cannot have."""
    for name in _LEGACY_ONLY_FIELDS:
        if getattr(body, name):
            form.add((name,), *errors.components_v2_field(name))


def check_named_files(references: ComponentReferences, files: list[StoredAttachment], form: errors.FormErrors) -> None:
    """Add an error for each file that components refer to and that is missing or of the wrong type."""
    files_by_name = {file.filename: file for file in files}
    for path, filename, must_be_image in references.files:
        file = files_by_name.get(filename)
        if file is None or (must_be_image and not (file.content_type or "").startswith("image/")):
            form.add(path, *errors.attachment_not_found())


def uploads_by_index(files: Sequence[Upload]) -> dict[int, Upload]:
    """Return the uploads by the index used in attachment metadata.

    A `file` part without an index gets the first unused one."""
    indexed_uploads: dict[int, Upload] = {upload.index: upload for upload in files if upload.index is not None}
    for upload in files:
        if upload.index is None:
            index = 0
            while index in indexed_uploads:
                index += 1
            indexed_uploads[index] = upload
    return indexed_uploads


def require_voice_message(draft: Draft) -> None:
    """Raise unless there is one audio file with duration and waveform, and nothing else (spec/http.md#3.4)."""
    if draft.content or draft.embeds or draft.components or draft.stickers or draft.poll or draft.theme:
        raise errors.VOICE_MESSAGE_EXTRA_CONTENT()
    if len(draft.files) != 1 or not (draft.files[0].content_type or "").startswith("audio/"):
        raise errors.VOICE_MESSAGE_SINGLE_AUDIO()
    if draft.files[0].duration_secs is None or draft.files[0].waveform is None:
        raise errors.VOICE_MESSAGE_METADATA()
