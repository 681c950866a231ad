"""Create, update and delete threads and their memberships, and schedule the archiving of inactive threads."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction, ChannelType
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.ids import ChannelId, GuildId, TagId, UserId
from hubbub.protocol.resources import channels as channel_wire
from hubbub.protocol.resources import thread_membership
from hubbub.protocol.resources import threads as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.core.personal_data import export_row
from hubbub.server.core.store import Tx
from hubbub.server.places import channels, members
from hubbub.server.places.audit_log import audit
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.channels.thread_members import ThreadMemberRow
from hubbub.server.talk import messages
from hubbub.server.talk.threads import rules, store

ARCHIVE_JOB: Final = "threads.archive"
"""Kind of the job that archives an inactive thread."""
MINUTE_MS: Final = 60_000
DELETION_BATCH_SIZE: Final = 20
"""Number of threads that one transaction of the deletion of an account deletes or renames."""
DELETED_TITLE: Final = "Deleted thread"
"""Title of a thread whose creator was deleted with everything that they wrote."""


class AuditedThread(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a thread that the audit log records."""

    name: str | None
    type: int
    archived: bool
    auto_archive_duration: int | None
    locked: bool
    invitable: bool | None
    rate_limit_per_user: int
    flags: int
    applied_tags: list[TagId]


class ArchiveJob(msgspec.Struct, frozen=True):
    """Payload of the job that archives an inactive thread."""

    thread_id: ChannelId


def audience(
    tx: Tx,
    row: ChannelRow,
    *,
    extra_member_ids: Iterable[int] = (),
    excluded_user_id: int | None = None,
    intent_exempt_user_id: int | None = None,
) -> GuildAudience:
    """Return the audience of a thread: the viewers of its parent channel.

    For a private thread, the audience is its members, the user IDs `extra_member_ids`, and moderators. `excluded_user_id` does not
    receive the event; `intent_exempt_user_id` receives it without the required intent."""
    member_ids: frozenset[int] | None = None
    if row.type == ChannelType.PRIVATE_THREAD:
        member_ids = frozenset((*channels.thread_members.list_user_ids(tx, row.id), *extra_member_ids))
    return GuildAudience(
        row.guild_id or 0,
        row.parent_id or 0,
        members=member_ids,
        excluded_user_id=excluded_user_id,
        intent_exempt_user_id=intent_exempt_user_id,
    )


def create(call: Call, row: ChannelRow) -> ChannelRow:
    """Create a thread with its creator as a member."""
    channels.creation.insert(call.tx, row)
    membership = ThreadMemberRow(row.id, call.user_id, call.now_ms, 0)
    channels.thread_members.insert(call.tx, membership)
    row = row._replace(member_count=1)
    schedule_archive(call.tx, row)
    audit.record(
        call,
        row.guild_id or 0,
        AuditLogAction.THREAD_CREATE,
        target_id=row.id,
        changes=audit.differences(None, _build_audited_thread(row)),
    )
    call.tx.emit(
        channel_wire.THREAD_CREATE,
        channels.thread_channels.thread_create_payload(row, is_new=True),
        audience(call.tx, row, excluded_user_id=call.user_id),
    )
    _publish_thread_to_member(call, row, membership, is_new=True)
    # spec/http.md#4.2: the creator is the first member.
    publish_member_added(call, row, membership)
    return row


def create_without_member(call: Call, row: ChannelRow) -> ChannelRow:
    """Create a thread without members and without an audit log entry, for a webhook's forum post."""
    channels.creation.insert(call.tx, row)
    schedule_archive(call.tx, row)
    call.tx.emit(
        channel_wire.THREAD_CREATE,
        channels.thread_channels.thread_create_payload(row, is_new=True),
        audience(call.tx, row),
    )
    return row


def _publish_thread_to_member(call: Call, row: ChannelRow, membership: ThreadMemberRow, *, is_new: bool) -> None:
    """Publish THREAD_CREATE to a new member of a thread, with their membership."""
    payload = channels.thread_channels.thread_create_payload(
        row, member=channels.thread_channels.thread_member(membership), is_new=is_new
    )
    event_audience = GuildAudience(row.guild_id or 0, users=frozenset({membership.user_id}))
    call.tx.emit(channel_wire.THREAD_CREATE, payload, event_audience)


def publish_member_added(call: Call, row: ChannelRow, membership: ThreadMemberRow) -> None:
    """Publish a new thread member: to the member with the GUILDS intent, to others with GUILD_MEMBERS."""
    member = members.find(call.tx, row.guild_id or 0, membership.user_id)
    presence = call.presences.find(membership.user_id)
    added_member = thread_membership.AddedThreadMember(
        id=ChannelId(row.id),
        user_id=UserId(membership.user_id),
        join_timestamp=codec.timestamp(membership.joined_ms),
        flags=membership.flags,
        presence=None if presence is None else members.views.presence_in_guild(presence),
    )
    if member is not None:
        added_member.member = members.views.member(member)
    _publish_members_update(call, row, membership.user_id, added_members=[added_member])


def _publish_members_update(call: Call, row: ChannelRow, user_id: int, **changes: Any) -> None:
    """Publish THREAD_MEMBERS_UPDATE about a user. `changes` are the fields with added or removed members."""
    payload = thread_membership.ThreadMembersUpdate(
        id=ChannelId(row.id),
        guild_id=GuildId(row.guild_id or 0),
        member_count=min(row.member_count, channel_wire.THREAD_MEMBER_COUNT_MAX),
        **changes,
    )
    event_audience = audience(call.tx, row, extra_member_ids=(user_id,), intent_exempt_user_id=user_id)
    call.tx.emit(thread_membership.THREAD_MEMBERS_UPDATE, payload, event_audience)


def add_member(call: Call, row: ChannelRow, user_id: int) -> bool:
    """Add a user to a thread and return whether they are new."""
    membership = ThreadMemberRow(row.id, user_id, call.now_ms, 0)
    if not channels.thread_members.insert(call.tx, membership):
        return False
    row = row._replace(member_count=row.member_count + 1)
    publish_member_added(call, row, membership)
    _publish_thread_to_member(call, row, membership, is_new=False)
    return True


def remove_member(call: Call, row: ChannelRow, user_id: int) -> bool:
    """Remove a user from a thread and return whether they were a member."""
    if not channels.thread_members.delete(call.tx, row.id, user_id):
        return False
    row = row._replace(member_count=max(0, row.member_count - 1))
    _publish_members_update(call, row, user_id, removed_member_ids=[UserId(user_id)])
    return True


def update(call: Call, before: ChannelRow, after: ChannelRow, *, is_audited: bool = True) -> ChannelRow:
    """Store and publish a thread's new state, if it differs; `is_audited` also records it in the audit log.

    Archiving or unarchiving updates `archive_changed_ms`; archiving also clears the PINNED flag."""
    if after.archived != before.archived:
        after = after._replace(archive_changed_ms=call.now_ms)
        if after.archived:
            # spec/http.md#3.3: archiving a pinned post clears the PINNED flag.
            after = after._replace(flags=after.flags & ~ChannelFlags.PINNED)
    if after == before:
        return after
    channels.update(call.tx, before, after)
    if is_audited:
        changes = audit.differences(_build_audited_thread(before), _build_audited_thread(after))
        audit.record(call, after.guild_id or 0, AuditLogAction.THREAD_UPDATE, target_id=after.id, changes=changes)
    call.tx.emit(channel_wire.THREAD_UPDATE, channels.views.thread(after), audience(call.tx, after))
    if before.archived and not after.archived:
        _publish_own_memberships(call, after)
    schedule_archive(call.tx, after)
    return after


def _publish_own_memberships(call: Call, row: ChannelRow) -> None:
    """Publish each member's own membership after a thread was unarchived (spec/http.md#3.3)."""
    for membership in channels.thread_members.list_members(call.tx, row.id):
        payload = wire.ThreadMemberUpdate(
            id=ChannelId(row.id),
            user_id=UserId(membership.user_id),
            join_timestamp=codec.timestamp(membership.joined_ms),
            flags=membership.flags,
            guild_id=GuildId(row.guild_id or 0),
        )
        event_audience = GuildAudience(row.guild_id or 0, row.parent_id or 0, users=frozenset({membership.user_id}))
        call.tx.emit(wire.THREAD_MEMBER_UPDATE, payload, event_audience)


def delete(call: Call, row: ChannelRow, *, is_audited: bool = True) -> None:
    """Delete a thread and its messages; `is_audited` also records its title in the audit log."""
    event_audience = audience(call.tx, row)
    if is_audited:
        audit.record(
            call,
            row.guild_id or 0,
            AuditLogAction.THREAD_DELETE,
            target_id=row.id,
            changes=audit.differences(_build_audited_thread(row), None),
        )
    delete_without_events(call, row.guild_id, [row.id])
    payload = channel_wire.ThreadDeleted(
        id=ChannelId(row.id),
        guild_id=GuildId(row.guild_id or 0),
        parent_id=ChannelId(row.parent_id or 0),
        type=row.type,
    )
    call.tx.emit(channel_wire.THREAD_DELETE, payload, event_audience)


def delete_without_events(call: Call, guild_id: int | None, thread_ids: Sequence[int]) -> None:
    """Delete threads and all dependent data without publishing events."""
    call.notify(channels.signals.ChannelsDeleting(guild_id=guild_id, channel_ids=tuple(thread_ids)))
    channels.thread_channels.delete_threads(call.tx, thread_ids)


def _build_audited_thread(row: ChannelRow) -> AuditedThread:
    return AuditedThread(
        name=row.name,
        type=row.type,
        archived=bool(row.archived),
        auto_archive_duration=row.auto_archive_duration,
        locked=bool(row.locked),
        invitable=None if row.invitable is None else bool(row.invitable),
        rate_limit_per_user=row.rate_limit_per_user,
        flags=row.flags,
        applied_tags=[] if row.applied_tags is None else codec.decode(row.applied_tags, list[TagId]),
    )


def compute_archive_due_ms(row: ChannelRow) -> int | None:
    """Return the time in Unix milliseconds at which an inactive thread is archived (spec/http.md#3.3).

    The result is None for archived threads and pinned posts."""
    if row.archived or row.flags & ChannelFlags.PINNED:
        return None
    last_active_ms = max(row.created_ms or 0, row.archive_changed_ms or 0)
    if row.last_message_id is not None:
        last_active_ms = max(last_active_ms, ChannelId(row.last_message_id).created_ms)
    return last_active_ms + (row.auto_archive_duration or rules.AUTO_ARCHIVE_MINUTES_DEFAULT) * MINUTE_MS


def schedule_archive(tx: Tx, row: ChannelRow) -> None:
    """Schedule the job that archives an inactive thread, or cancel the job for an archived thread or a pinned post.

    New messages do not reschedule the job; a job that runs too early schedules itself again."""
    jobs.cancel_jobs(tx, ARCHIVE_JOB, _archive_job_key(row.id))
    due_ms = compute_archive_due_ms(row)
    if due_ms is not None:
        tx.enqueue(ARCHIVE_JOB, ArchiveJob(ChannelId(row.id)), due_ms=due_ms, key=_archive_job_key(row.id))


def _archive_job_key(thread_id: int) -> str:
    return f"thread-{int(thread_id)}"


# Personal data


def delete_by_owner(call: Call, user_id: UserId) -> bool:
    """Delete a batch of the threads that a user created. Return whether there may be more.

    The messages of the user are already deleted. A thread with messages of other users stays: its title, which the user
    wrote, is replaced, and it has no owner. The audit log does not get the titles (decisions/0167)."""
    rows = store.list_by_owner(call.tx, user_id, limit=DELETION_BATCH_SIZE)
    for row in rows:
        if messages.history.list_newest(call.tx, row.id, 1):
            update(call, row, row._replace(name=DELETED_TITLE, owner_id=None), is_audited=False)
        else:
            delete(call, row, is_audited=False)
    return len(rows) == DELETION_BATCH_SIZE


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the threads that a user created and joined for the export of their data."""
    return {
        "threads": [
            {
                name: value
                for name, value in export_row(row).items()
                if name in {"id", "guild_id", "parent_id", "type", "name", "created_at"}
            }
            for row in store.list_by_owner(call.tx, user_id)
        ],
        "thread_memberships": [
            {"thread_id": str(thread_id), "joined_at": codec.timestamp(joined_ms)}
            for thread_id, joined_ms in store.list_memberships(call.tx, user_id)
        ],
    }
