"""Member verification and join requests over HTTP."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import GuildFeature, JoinRequestStatus
from hubbub.protocol.ids import GuildId, JoinRequestId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import join_requests as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import guilds
from hubbub.server.resources.guilds import GuildRow
from hubbub.server.resources.join_requests import actions, rules, store, views
from hubbub.server.resources.join_requests.store import FormRow, JoinRequestRow

_DECISIONS = (JoinRequestStatus.APPROVED, JoinRequestStatus.REJECTED)


@handles(wire.GET_GUILD_MEMBER_VERIFICATION)
def get_guild_member_verification(call: Call, guild_id: GuildId) -> wire.MemberVerification:
    """The form that newcomers answer."""
    rules.require_reader(call, _guild(call, guild_id))
    return views.member_verification(_form(call, guild_id))


@handles(wire.UPDATE_GUILD_MEMBER_VERIFICATION)
def update_guild_member_verification(
    call: Call, guild_id: GuildId, body: wire.UpdateMemberVerification
) -> wire.MemberVerification:
    """Change the form, and whether it must be answered."""
    guild = _guild(call, guild_id)
    before = store.find_form(call.tx, guild_id)
    after = before or FormRow(guild_id, call.now)
    if body.form_fields is not UNSET:
        after = after._replace(fields=json.encode(rules.questions(body.form_fields)).decode())
    if body.description is not UNSET:
        after = after._replace(description=body.description or None)
    if before is not None and after != before:
        after = after._replace(version_ms=call.now)
    having = guild.feature_names
    reviewed = GuildFeature.MEMBER_VERIFICATION_MANUAL_APPROVAL in having
    actions.change(
        call,
        guild,
        before,
        after,
        gated=rules.is_gated(guild) if body.enabled is UNSET else body.enabled,
        reviewed=reviewed if body.manual_approval is UNSET else body.manual_approval,
    )
    return views.member_verification(after)


@handles(wire.GET_GUILD_JOIN_REQUESTS)
def get_guild_join_requests(call: Call, guild_id: GuildId, query: wire.ListJoinRequests) -> wire.JoinRequests:
    """Who asks to come in; for those who manage the guild and may not kick, how many."""
    standing = access.guild(call, guild_id)
    reads = standing.can(Permissions.KICK_MEMBERS)
    access.require_guild(call, guild_id, Permissions.KICK_MEMBERS if reads else Permissions.MANAGE_GUILD)
    rules.require_reviewed(_guild(call, guild_id))
    shown = wire.JoinRequests(total=store.count(call.tx, guild_id, query.status))
    if reads:
        rows = store.page(
            call.tx,
            guild_id,
            query.status,
            before=None if query.before is UNSET else query.before,
            after=None if query.after is UNSET else query.after,
            limit=query.limit,
        )
        shown.guild_join_requests = views.join_requests(call.tx, rows)
    return shown


@handles(wire.ACTION_GUILD_JOIN_REQUEST)
def action_guild_join_request(
    call: Call, guild_id: GuildId, request_id: JoinRequestId, body: wire.ActionJoinRequest
) -> wire.JoinRequest:
    """Let somebody in, or not."""
    rules.require_reviewed(_guild(call, guild_id))
    row = store.find(call.tx, guild_id, request_id)
    if row is None:
        raise errors.NOT_FOUND()
    if body.action is UNSET:
        raise errors.invalid("action", *errors.required())
    if body.action not in _DECISIONS:
        raise errors.invalid("action", *errors.choices([str(each) for each in _DECISIONS]))
    if row.status != JoinRequestStatus.SUBMITTED:
        raise errors.invalid("action", "JOIN_REQUEST_NOT_SUBMITTED", "This request was decided already.")
    rejected = body.action == JoinRequestStatus.REJECTED
    row = row._replace(
        status=str(body.action),
        reviewed_ms=call.now,
        rejection_reason=(body.rejection_reason or None) if rejected else None,
        actioned_by=call.user_id,
    )
    actions.decide(call, row)
    return views.join_request(call.tx, row)


@handles(wire.GET_MY_GUILD_JOIN_REQUEST)
def get_my_guild_join_request(call: Call, guild_id: GuildId) -> wire.JoinRequest:
    """What became of one's own request."""
    return views.join_request(call.tx, _own(call, guild_id))


@handles(wire.CREATE_GUILD_JOIN_REQUEST)
def create_guild_join_request(call: Call, guild_id: GuildId, body: wire.SubmitJoinRequest) -> wire.JoinRequest:
    """Answer the form."""
    guild = _guild(call, guild_id)
    rules.require_applicant(call, guild)
    form = _form(call, guild_id)
    if json.milliseconds(body.version) != form.version_ms:
        raise errors.invalid("version", "FORM_OUTDATED", "The form has changed.")
    answers = rules.answers(form.questions, body.form_fields)
    reviewed = rules.is_reviewed(guild)
    row = JoinRequestRow(
        id=call.new_id(JoinRequestId),
        guild_id=guild_id,
        user_id=call.user_id,
        status=str(JoinRequestStatus.SUBMITTED if reviewed else JoinRequestStatus.APPROVED),
        created_ms=call.now,
        reviewed_ms=None if reviewed else call.now,
        responses=json.encode(answers).decode(),
    )
    actions.submit(call, guild, row)
    return views.join_request(call.tx, row)


@handles(wire.DELETE_MY_GUILD_JOIN_REQUEST)
def delete_my_guild_join_request(call: Call, guild_id: GuildId) -> None:
    """Take one's request back; what was decided stays decided."""
    row = _own(call, guild_id)
    if row.status != JoinRequestStatus.SUBMITTED:
        raise errors.NOT_FOUND()
    actions.withdraw(call, row)


def _guild(call: Call, guild_id: int) -> GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _form(call: Call, guild_id: int) -> FormRow:
    row = store.find_form(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_MEMBER_VERIFICATION_FORM()
    return row


def _own(call: Call, guild_id: int) -> JoinRequestRow:
    _guild(call, guild_id)
    row = store.find_of_user(call.tx, guild_id, call.user_id)
    if row is None:
        raise errors.NOT_FOUND()
    return row
