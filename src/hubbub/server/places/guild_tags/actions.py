"""Set and remove guild tags, and the tags that members display."""

from typing import Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import guild_tags as wire
from hubbub.protocol.resources.users import PrimaryGuild
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.users import UserRow
from hubbub.server.places.audit_log import audit
from hubbub.server.places.guild_tags import store
from hubbub.server.places.guild_tags.store import GuildTagRow
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.members.signals import MemberRemoved

UPDATE_MEMBERS_JOB: Final = "guild_tags.update_members"
"""Kind of the job that updates the members who display a changed tag. Stored jobs contain it, so it must not change."""
MEMBERS_BATCH_SIZE: Final = 100
"""Number of members that one job updates."""

CLEARED_TAG: Final = PrimaryGuild(identity_guild_id=None, identity_enabled=None, tag=None, badge=None)
"""Value of `User.primary_guild` after the platform removed the displayed tag: all its fields are null."""


class UpdateMembersPayload(msgspec.Struct):
    """Payload of the job that updates the members who display the tag of a guild."""

    guild_id: GuildId
    after_user_id: int = 0
    """The highest user ID that is already updated."""


def update_tag(call: Call, before: wire.GuildProfile, after: wire.GuildProfile) -> None:
    """Store and audit a guild's changed tag, and schedule the update of the members who display it."""
    if before == after:
        return
    store.put(call.tx, after.id, GuildTagRow(after.id, after.tag, after.badge) if after.tag is not None else None)
    audit.record(
        call,
        after.id,
        AuditLogAction.GUILD_PROFILE_UPDATE,
        target_id=after.id,
        changes=audit.differences(before, after, ("tag", "badge")),
    )
    call.tx.enqueue(UPDATE_MEMBERS_JOB, UpdateMembersPayload(guild_id=after.id), key=f"guild_tags:{int(after.id)}")


def set_displayed_tag(call: Call, user: UserRow, row: GuildTagRow | None, guild_id: int | None) -> UserRow:
    """Set the tag that a user displays.

    `row` is the tag to display. If `row` is None, the tag of the guild `guild_id` is stored as hidden. If both are None,
    the user displays no tag."""
    if row is not None:
        return users.profiles.set_primary_guild(call, user, displayed_tag(row))
    if guild_id is None:
        return users.profiles.set_primary_guild(call, user, None)
    hidden_tag = PrimaryGuild(identity_guild_id=GuildId(guild_id), identity_enabled=False, tag=None, badge=None)
    return users.profiles.set_primary_guild(call, user, hidden_tag)


def displayed_tag(row: GuildTagRow) -> PrimaryGuild:
    """Build the tag for the profile of a member who displays it."""
    return PrimaryGuild(identity_guild_id=GuildId(row.guild_id), identity_enabled=True, tag=row.tag, badge=row.badge)


def update_members(call: Call, payload: UpdateMembersPayload) -> None:
    """Set the displayed tag of one batch of members to the guild's current tag, or clear it, and schedule the next batch."""
    row = store.find(call.tx, payload.guild_id)
    tag = CLEARED_TAG if row is None else displayed_tag(row)
    batch = users.profiles.list_by_primary_guild(
        call.tx, payload.guild_id, after_id=payload.after_user_id, limit=MEMBERS_BATCH_SIZE
    )
    for user in batch:
        users.profiles.set_primary_guild(call, user, tag)
    if len(batch) == MEMBERS_BATCH_SIZE:
        call.tx.enqueue(
            UPDATE_MEMBERS_JOB,
            UpdateMembersPayload(guild_id=payload.guild_id, after_user_id=int(batch[-1].id)),
            key=f"guild_tags:{int(payload.guild_id)}",
        )


def on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    """Delete the tag of a deleted guild and schedule the update of the members who display it."""
    store.put(call.tx, signal.guild_id, None)
    call.tx.enqueue(
        UPDATE_MEMBERS_JOB, UpdateMembersPayload(guild_id=signal.guild_id), key=f"guild_tags:{int(signal.guild_id)}"
    )


def on_member_removed(call: Call, signal: MemberRemoved) -> None:
    """Clear the tag that a former member of the guild displays."""
    user = users.find(call.tx, signal.user_id)
    if user is None or user.primary_guild is None:
        return
    if codec.decode(user.primary_guild, PrimaryGuild).identity_guild_id == signal.guild_id:
        users.profiles.set_primary_guild(call, user, CLEARED_TAG)
