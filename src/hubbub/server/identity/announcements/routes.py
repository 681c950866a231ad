"""HTTP handlers for announcements."""

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import announcements as wire
from hubbub.protocol.resources.announcements import AnnouncementLevel
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.announcements import store


@handles(wire.LIST_MY_ANNOUNCEMENTS)
def list_my_announcements(call: Call) -> list[wire.Announcement]:
    """List the active announcements that the current user has not dismissed."""
    return [
        wire.Announcement(
            id=Snowflake(row.id),
            level=AnnouncementLevel(row.level),
            content=row.content,
            starts_at=codec.timestamp(row.starts_ms),
            ends_at=codec.timestamp(row.ends_ms),
        )
        for row in store.list_active(call.tx, call.user_id, call.now_ms)
    ]


@handles(wire.DISMISS_ANNOUNCEMENT)
def dismiss_announcement(call: Call, announcement_id: Snowflake) -> None:
    """Dismiss an announcement for the current user."""
    if store.find(call.tx, announcement_id) is None:
        raise errors.NOT_FOUND()
    store.dismiss(call.tx, announcement_id, call.user_id)
