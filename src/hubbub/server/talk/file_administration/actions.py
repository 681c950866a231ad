"""Delete files and set quotas, and record each action in the audit log of operators."""

from hubbub.protocol.images import format_bytes
from hubbub.server.core.call import Call
from hubbub.server.identity.administration import audit
from hubbub.server.talk import messages
from hubbub.server.talk.messages.files import FileRow


def delete_file(call: Call, row: FileRow, *, reason: str) -> None:
    """Delete a file: remove it from its message, which is published again, and delete its content."""
    messages.changes.remove_file(call, row)
    detail = f"{format_bytes(row.size)} in message {row.message_id}"
    audit.log_action(
        call, "file.delete", "file", target_id=row.id, target_name=row.filename, detail=detail, reason=reason
    )


def set_quota(
    call: Call,
    target_kind: str,
    target_id: int,
    target_name: str,
    quota_bytes: int | None,
    *,
    reason: str | None = None,
) -> None:
    """Set the storage quota of a user or guild in bytes; None restores the default."""
    messages.files.set_quota(call.tx, target_id, quota_bytes)
    quota_text = "the default" if quota_bytes is None else format_bytes(quota_bytes)
    audit.log_action(
        call,
        f"{target_kind}.set_quota",
        target_kind,
        target_id=target_id,
        target_name=target_name,
        detail=f"to {quota_text}",
        reason=reason,
    )
