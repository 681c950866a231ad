"""Entries of the audit log for uploads that a scanner rejected."""

from hubbub.server.core.call import Call
from hubbub.server.core.upload_scanners import RejectedUpload
from hubbub.server.identity import users
from hubbub.server.identity.administration.audit_entries import audit

REJECT_ACTION = "upload.reject"
"""Action of the audit log for a rejected upload, which the server performs itself."""


def record_rejected_upload(call: Call, upload: RejectedUpload) -> None:
    """Record a rejected upload in the audit log of operators. The target is the user who uploaded the file, if known."""
    user = None if upload.user_id is None else users.find(call.tx, upload.user_id)
    audit.log_action(
        call,
        REJECT_ACTION,
        "user" if user is not None and not user.bot else "upload",
        target_id=None if user is None else user.id,
        target_name="" if user is None else user.username,
        detail=f"{upload.filename} ({upload.size} bytes): {upload.scanner} found {upload.finding}"[:500],
    )
