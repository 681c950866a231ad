"""Create and end announcements, record both in the audit log of operators, and build their wire model for operators."""

from typing import Final

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import announcements as wire
from hubbub.protocol.resources.announcements import AnnouncementLevel, AnnouncementState
from hubbub.server.core.call import Call
from hubbub.server.identity.administration import audit
from hubbub.server.identity.announcements import store
from hubbub.server.identity.announcements.store import AnnouncementRow

DAY_MS: Final = 24 * 3_600_000


def create(
    call: Call,
    content: str,
    *,
    level: AnnouncementLevel,
    starts_ms: int | None,
    ends_ms: int,
    reason: str | None = None,
) -> AnnouncementRow:
    """Create an announcement, which starts now if `starts_ms` is None.

    Raise a form error for empty content or an impossible time."""
    starts_ms = call.now_ms if starts_ms is None else starts_ms
    form = errors.FormErrors()
    if not content.strip():
        form.add("content", *errors.required())
    if ends_ms <= call.now_ms:
        form.add("ends_at", "TIME_IN_PAST", "Choose a time in the future.")
    elif ends_ms <= starts_ms:
        form.add("ends_at", "ENDS_BEFORE_START", "Choose an end after the start.")
    elif ends_ms - max(starts_ms, call.now_ms) > wire.ANNOUNCEMENT_DAYS_MAX * DAY_MS:
        form.add("ends_at", "TOO_LONG", f"Choose an end within {wire.ANNOUNCEMENT_DAYS_MAX} days of the start.")
    form.raise_if_any()
    row = AnnouncementRow(
        id=call.new_id(Snowflake),
        operator_id=call.user_id_or_none,
        level=level.value,
        content=content.strip(),
        starts_ms=starts_ms,
        ends_ms=ends_ms,
    )
    store.insert(call.tx, row)
    _log_action(call, "announcement.create", row, reason=reason)
    return row


def end(call: Call, row: AnnouncementRow, *, reason: str | None = None) -> bool:
    """End an announcement now. Return False if it is over."""
    if row.ends_ms <= call.now_ms:
        return False
    store.set_end(call.tx, row.id, call.now_ms)
    _log_action(call, "announcement.end", row, reason=reason)
    return True


def derive_state(call: Call, row: AnnouncementRow) -> AnnouncementState:
    """Return whether an announcement is scheduled, shown or over."""
    if row.ends_ms <= call.now_ms:
        return AnnouncementState.ENDED
    return AnnouncementState.SCHEDULED if row.starts_ms > call.now_ms else AnnouncementState.ACTIVE


def view(call: Call, row: AnnouncementRow) -> wire.AdministeredAnnouncement:
    """Build the wire model of an announcement for operators."""
    return wire.AdministeredAnnouncement(
        id=Snowflake(row.id),
        level=AnnouncementLevel(row.level),
        content=row.content,
        starts_at=codec.timestamp(row.starts_ms),
        ends_at=codec.timestamp(row.ends_ms),
        state=derive_state(call, row),
        dismissal_count=store.count_dismissals(call.tx, row.id),
    )


def _log_action(call: Call, action: str, row: AnnouncementRow, *, reason: str | None) -> None:
    audit.log_action(call, action, "announcement", target_id=row.id, target_name=row.content[:80], reason=reason)
