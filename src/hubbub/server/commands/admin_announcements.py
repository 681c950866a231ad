"""Actions of `hubbub admin` on announcements."""

import argparse

from hubbub.protocol.resources import administration
from hubbub.protocol.resources.announcements import ANNOUNCEMENT_CONTENT_MAX, AnnouncementLevel
from hubbub.server.commands.admin_actions import AdminError, action, parse_future_time, parse_id
from hubbub.server.core.call import Call
from hubbub.server.identity import announcements


@action("list-announcements")
def list_announcements(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the newest announcements."""
    rows = announcements.list_page(call.tx, before_id=None, limit=administration.PAGE_LIMIT_MAX)
    views = [announcements.view(call, row) for row in rows]
    lines = [f"{int(view.id)} {view.state} {view.level} until {view.ends_at}: {view.content}" for view in views]
    return lines or ["No announcements."]


@action("announce")
def announce(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Create an announcement for all users and print its ID."""
    if not 0 < len(arguments.text.strip()) <= ANNOUNCEMENT_CONTENT_MAX:
        raise AdminError(f"the text must have 1 to {ANNOUNCEMENT_CONTENT_MAX} characters")
    row = announcements.create(
        call,
        arguments.text,
        level=AnnouncementLevel(arguments.level),
        starts_ms=None if arguments.starts_at is None else parse_future_time(call, arguments.starts_at),
        ends_ms=parse_future_time(call, arguments.ends_at),
        reason=arguments.reason,
    )
    return [f"id: {row.id}"]


@action("end-announcement")
def end_announcement(call: Call, arguments: argparse.Namespace) -> list[str]:
    """End an announcement before its planned end."""
    row = announcements.find(call.tx, parse_id(arguments.announcement_id))
    if row is None or not announcements.end(call, row, reason=arguments.reason):
        raise AdminError("there is no such announcement, or it has ended")
    return ["The announcement has ended."]
