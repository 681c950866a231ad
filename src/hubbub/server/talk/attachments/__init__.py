"""Attachments of messages, served at signed URLs that expire."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk.attachments import routes
from hubbub.server.talk.attachments.stored_attachments import (
    AttachmentSigner,
    StoredAttachment,
    apply_metadata,
    build_attachment,
    clean_filename,
)

SLICE = Slice(name="attachments", modules=(routes,))

__all__ = ["SLICE", "AttachmentSigner", "StoredAttachment", "clean_filename", "apply_metadata", "build_attachment"]
