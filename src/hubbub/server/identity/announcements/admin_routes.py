"""HTTP handlers with which operators manage announcements."""

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import announcements as wire
from hubbub.protocol.resources.administration import AdministrativeAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.announcements import actions, store


@handles(wire.LIST_ANNOUNCEMENTS)
def list_announcements(call: Call, query: wire.ListAnnouncements) -> list[wire.AdministeredAnnouncement]:
    """List all announcements, including scheduled and ended ones, newest first."""
    rows = store.list_page(call.tx, before_id=query.before, limit=query.limit)
    return [actions.view(call, row) for row in rows]


@handles(wire.CREATE_ANNOUNCEMENT)
def create_announcement(call: Call, body: wire.CreateAnnouncement) -> wire.AdministeredAnnouncement:
    """Create an announcement for all users."""
    row = actions.create(
        call,
        body.content,
        level=body.level,
        starts_ms=None if body.starts_at is None else codec.milliseconds(body.starts_at),
        ends_ms=codec.milliseconds(body.ends_at),
        reason=body.reason,
    )
    return actions.view(call, row)


@handles(wire.END_ANNOUNCEMENT)
def end_announcement(call: Call, announcement_id: Snowflake, body: AdministrativeAction) -> None:
    """End an announcement.

    An announcement that is ended before its start is never shown. Ending an announcement again has no effect.
    """
    row = store.find(call.tx, announcement_id)
    if row is None:
        raise errors.NOT_FOUND()
    actions.end(call, row, reason=body.reason)
