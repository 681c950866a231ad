"""HTTP handlers for member verification and join requests."""

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import GuildFeature, JoinRequestStatus
from hubbub.protocol.ids import GuildId, JoinRequestId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import join_requests as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import guilds
from hubbub.server.places.guilds import GuildRow
from hubbub.server.places.join_requests import actions, rules, store, views
from hubbub.server.places.join_requests.store import FormRow, JoinRequestRow
from hubbub.server.places.standing import access

_REVIEW_STATUSES = (JoinRequestStatus.APPROVED, JoinRequestStatus.REJECTED)
"""Statuses that a reviewer can set."""


@handles(wire.GET_GUILD_MEMBER_VERIFICATION)
def get_guild_member_verification(call: Call, guild_id: GuildId) -> wire.MemberVerification:
    """Get the guild's member verification form."""
    rules.require_form_access(call, _require_guild(call, guild_id))
    return views.member_verification(_require_form(call, guild_id))


@handles(wire.UPDATE_GUILD_MEMBER_VERIFICATION)
def update_guild_member_verification(
    call: Call, guild_id: GuildId, body: wire.UpdateMemberVerification
) -> wire.MemberVerification:
    """Update the guild's member verification form.

    The request can also enable or disable the form and its manual review."""
    guild = _require_guild(call, guild_id)
    stored_form = store.find_form(call.tx, guild_id)
    updated_form = stored_form or FormRow(guild_id, call.now_ms)
    if body.form_fields is not UNSET:
        updated_form = updated_form._replace(fields=codec.encode(rules.normalize_fields(body.form_fields)).decode())
    if body.description is not UNSET:
        updated_form = updated_form._replace(description=body.description or None)
    if stored_form is not None and updated_form != stored_form:
        updated_form = updated_form._replace(version_ms=call.now_ms)
    features = guild.feature_names
    requires_review = GuildFeature.MEMBER_VERIFICATION_MANUAL_APPROVAL in features
    actions.update_form(
        call,
        guild,
        stored_form,
        updated_form,
        is_enabled=rules.is_form_enabled(guild) if body.enabled is UNSET else body.enabled,
        requires_review=requires_review if body.manual_approval is UNSET else body.manual_approval,
    )
    return views.member_verification(updated_form)


@handles(wire.GET_GUILD_JOIN_REQUESTS)
def get_guild_join_requests(call: Call, guild_id: GuildId, query: wire.ListJoinRequests) -> wire.JoinRequests:
    """List guild join requests.

    Callers with MANAGE_GUILD but not KICK_MEMBERS get only the total."""
    standing = access.get_guild_standing(call, guild_id)
    can_read = standing.can(Permissions.KICK_MEMBERS)
    access.require_guild(call, guild_id, Permissions.KICK_MEMBERS if can_read else Permissions.MANAGE_GUILD)
    rules.require_manual_review(_require_guild(call, guild_id))
    page = wire.JoinRequests(total=store.count(call.tx, guild_id, query.status))
    if can_read:
        rows = store.list_page(
            call.tx,
            guild_id,
            query.status,
            before=None if query.before is UNSET else query.before,
            after=None if query.after is UNSET else query.after,
            limit=query.limit,
        )
        page.guild_join_requests = views.join_requests(call.tx, rows)
    return page


@handles(wire.ACTION_GUILD_JOIN_REQUEST)
def action_guild_join_request(
    call: Call, guild_id: GuildId, request_id: JoinRequestId, body: wire.ActionJoinRequest
) -> wire.JoinRequest:
    """Approve or reject a join request."""
    rules.require_manual_review(_require_guild(call, guild_id))
    row = store.find(call.tx, guild_id, request_id)
    if row is None:
        raise errors.NOT_FOUND()
    if body.action is UNSET:
        raise errors.invalid("action", *errors.required())
    if body.action not in _REVIEW_STATUSES:
        raise errors.invalid("action", *errors.choices([str(status) for status in _REVIEW_STATUSES]))
    if row.status != JoinRequestStatus.SUBMITTED:
        raise errors.invalid("action", "JOIN_REQUEST_NOT_SUBMITTED", "This request has already been reviewed.")
    is_rejected = body.action == JoinRequestStatus.REJECTED
    row = row._replace(
        status=str(body.action),
        reviewed_ms=call.now_ms,
        rejection_reason=(body.rejection_reason or None) if is_rejected else None,
        actioned_by=call.user_id,
    )
    actions.apply_review(call, row)
    return views.join_request(call.tx, row)


@handles(wire.GET_MY_GUILD_JOIN_REQUEST)
def get_my_guild_join_request(call: Call, guild_id: GuildId) -> wire.JoinRequest:
    """Get the current user's join request."""
    return views.join_request(call.tx, _require_own_request(call, guild_id))


@handles(wire.CREATE_GUILD_JOIN_REQUEST)
def create_guild_join_request(call: Call, guild_id: GuildId, body: wire.SubmitJoinRequest) -> wire.JoinRequest:
    """Create a join request.

    The request contains responses to the member verification form. Without manual review it is approved immediately."""
    guild = _require_guild(call, guild_id)
    rules.require_applicant(call, guild)
    verification_form = _require_form(call, guild_id)
    if codec.milliseconds(body.version) != verification_form.version_ms:
        raise errors.invalid("version", "FORM_OUTDATED", "The form has changed.")
    responses = rules.validate_responses(verification_form.form_fields, body.form_fields)
    requires_review = rules.requires_review(guild)
    row = JoinRequestRow(
        id=call.new_id(JoinRequestId),
        guild_id=guild_id,
        user_id=call.user_id,
        status=str(JoinRequestStatus.SUBMITTED if requires_review else JoinRequestStatus.APPROVED),
        created_ms=call.now_ms,
        reviewed_ms=None if requires_review else call.now_ms,
        responses=codec.encode(responses).decode(),
    )
    actions.submit(call, guild, row)
    return views.join_request(call.tx, row)


@handles(wire.DELETE_MY_GUILD_JOIN_REQUEST)
def delete_my_guild_join_request(call: Call, guild_id: GuildId) -> None:
    """Delete the current user's join request.

    Only a request that has not been reviewed can be deleted."""
    row = _require_own_request(call, guild_id)
    if row.status != JoinRequestStatus.SUBMITTED:
        raise errors.NOT_FOUND()
    actions.withdraw(call, row)


def _require_guild(call: Call, guild_id: int) -> GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _require_form(call: Call, guild_id: int) -> FormRow:
    row = store.find_form(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_MEMBER_VERIFICATION_FORM()
    return row


def _require_own_request(call: Call, guild_id: int) -> JoinRequestRow:
    _require_guild(call, guild_id)
    row = store.find_user_request(call.tx, guild_id, call.user_id)
    if row is None:
        raise errors.NOT_FOUND()
    return row
