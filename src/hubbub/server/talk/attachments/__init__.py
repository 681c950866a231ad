"""Attachments of messages, served at signed URLs that expire."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk.attachments import ports, routes
from hubbub.server.talk.attachments.stored_attachments import (
    AttachmentSigner,
    StoredAttachment,
    apply_metadata,
    build_attachment,
    clean_filename,
)

SLICE = Slice(name="attachments", modules=(routes, ports))

__all__ = [
    "SLICE",
    "ports",
    "AttachmentSigner",
    "StoredAttachment",
    "clean_filename",
    "apply_metadata",
    "build_attachment",
]
