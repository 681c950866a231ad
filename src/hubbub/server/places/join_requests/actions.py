"""Change the member verification form, and submit, review and withdraw join requests."""

from typing import Any, Final

import msgspec

from hubbub.protocol.enums import AuditLogAction, GuildFeature, JoinRequestStatus
from hubbub.protocol.ids import GuildId, JoinRequestId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import join_requests as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places import guilds, members
from hubbub.server.places.audit_log import audit
from hubbub.server.places.guilds import GuildDeleting, GuildRow
from hubbub.server.places.join_requests import rules, store, views
from hubbub.server.places.join_requests.store import FormRow, JoinRequestRow
from hubbub.server.places.members.signals import MemberRemoved

_AUDITED_FIELDS: Final = ("form_fields", "description")


def update_form(
    call: Call, guild: GuildRow, old_form: FormRow | None, new_form: FormRow, *, is_enabled: bool, requires_review: bool
) -> None:
    """Store a guild's form, and the features that enable it.

    `is_enabled` means that new members must complete the form, `requires_review` that join requests need manual approval.
    Disabling the form admits all pending members."""
    if new_form != old_form:
        store.put_form(call.tx, new_form)
        previous_view = None if old_form is None else views.member_verification(old_form)
        changes = audit.differences(previous_view, views.member_verification(new_form), _AUDITED_FIELDS)
        if changes:
            action = AuditLogAction.MEMBER_VERIFICATION_UPDATE
            audit.record(call, guild.id, action, target_id=guild.id, changes=changes)
    updated_guild = guilds.maintenance.with_feature(guild, GuildFeature.MEMBER_VERIFICATION_GATE_ENABLED, is_enabled)
    updated_guild = guilds.maintenance.with_feature(
        updated_guild, GuildFeature.MEMBER_VERIFICATION_MANUAL_APPROVAL, requires_review
    )
    guilds.update(call, guild, updated_guild)
    if rules.is_form_enabled(guild) and not is_enabled:
        members.membership.admit(call, guild.id, members.membership.list_pending_ids(call.tx, guild.id))


def submit(call: Call, guild: GuildRow, row: JoinRequestRow) -> None:
    """Store a join request; admit the member immediately if no review is needed."""
    store.put(call.tx, row)
    _publish_request(call, wire.GUILD_JOIN_REQUEST_CREATE, row)
    if row.status == JoinRequestStatus.APPROVED:
        members.membership.admit(call, guild.id, [row.user_id])


def apply_review(call: Call, row: JoinRequestRow) -> None:
    """Store a reviewed join request and apply the review.

    An approved user becomes a full member, whether or not they are in the guild. A rejected pending member is removed."""
    store.put(call.tx, row)
    _publish_request(call, wire.GUILD_JOIN_REQUEST_UPDATE, row)
    member = members.membership.find_row(call.tx, row.guild_id, row.user_id)
    if row.status == JoinRequestStatus.REJECTED:
        if member is not None and member.pending:
            members.membership.remove(call, row.guild_id, row.user_id)
    elif member is None:
        members.membership.require_can_join(call, row.guild_id, row.user_id)
        members.membership.add(call, row.guild_id, row.user_id, is_pending=False)
    else:
        members.membership.admit(call, row.guild_id, [row.user_id])


def withdraw(call: Call, row: JoinRequestRow) -> None:
    """Delete a join request because its user withdrew it or left the guild."""
    store.delete(call.tx, row.id)
    payload = wire.JoinRequestDeleted(
        id=JoinRequestId(row.id), user_id=UserId(row.user_id), guild_id=GuildId(row.guild_id)
    )
    call.tx.emit(wire.GUILD_JOIN_REQUEST_DELETE, payload, _reviewers_audience(row))


def on_member_removed(call: Call, signal: MemberRemoved) -> None:
    """Withdraw the pending request of a member who leaves; reviewed requests stay."""
    row = store.find_user_request(call.tx, signal.guild_id, signal.user_id)
    if row is not None and row.status == JoinRequestStatus.SUBMITTED:
        withdraw(call, row)


def on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    """Delete the form and the join requests of a deleted guild."""
    store.delete_guild_form_and_requests(call.tx, signal.guild_id)


def _reviewers_audience(row: JoinRequestRow) -> GuildAudience:
    """Return the audience of join request events: members with KICK_MEMBERS (spec/gateway.md#5.1)."""
    return GuildAudience(row.guild_id, permission=Permissions.KICK_MEMBERS)


def _publish_request(call: Call, event: Event[Any], row: JoinRequestRow) -> None:
    payload = wire.GuildJoinRequest(
        guild_id=GuildId(row.guild_id), request=views.join_request(call.tx, row), status=row.status
    )
    call.tx.emit(event, payload, _reviewers_audience(row))


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Withdraw the pending requests of a deleted user, and delete the reviewed ones."""
    for row in store.list_by_user(call.tx, signal.user_id):
        if row.status == JoinRequestStatus.SUBMITTED:
            withdraw(call, row)
        store.delete(call.tx, row.id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return a user's join requests with their responses for the export of their data."""
    return {
        "join_requests": [
            export_row(row, "user_id", "responses", "actioned_by")
            | {"responses": msgspec.to_builtins(row.answered_fields, enc_hook=str)}
            for row in store.list_by_user(call.tx, user_id)
        ]
    }
