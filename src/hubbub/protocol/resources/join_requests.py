"""Member verification and join requests: what one must answer before one may act in a guild, and who reads it."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, FormFieldType, JoinRequestStatus
from hubbub.protocol.ids import GuildId, JoinRequestId, Timestamp, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds, members
from hubbub.protocol.resources.users import User

JOIN_REQUESTS_PAGE_MAX: Final = 100
REJECTION_REASON_MAX: Final = 160
VERIFICATION_DESCRIPTION_MAX: Final = 300
FORM_FIELDS_MAX: Final = 5
FORM_LABEL_MAX: Final = 300
FORM_VALUES_MAX: Final = 16
FORM_CHOICES_MAX: Final = 8
FORM_CHOICE_MAX: Final = 150
TEXT_ANSWER_MAX: Final = 150
PARAGRAPH_ANSWER_MAX: Final = 1000

FormText = Annotated[str, Meta(max_length=FORM_LABEL_MAX)]


class FormField(Struct, kw_only=True):
    """A question of the form. Stored as JSON: add fields with a default, never rename."""

    field_type: FormFieldType
    label: FormText | UnsetType = UNSET
    description: FormText | None | UnsetType = UNSET
    required: bool | UnsetType = UNSET
    values: Annotated[list[FormText], Meta(min_length=1, max_length=FORM_VALUES_MAX)] | UnsetType = UNSET
    """The rules, of TERMS."""
    choices: (
        Annotated[
            list[Annotated[str, Meta(min_length=1, max_length=FORM_CHOICE_MAX)]],
            Meta(min_length=1, max_length=FORM_CHOICES_MAX),
        ]
        | UnsetType
    ) = UNSET
    """The answers, of MULTIPLE_CHOICE."""
    placeholder: FormText | None | UnsetType = UNSET


class AnsweredField(FormField, kw_only=True):
    """A question with what somebody answered."""

    response: bool | int | str | None | UnsetType = UNSET
    """True for TERMS, a place among the choices, or text."""


class MemberVerification(Struct, kw_only=True):
    """What one must answer to be a full member."""

    version: Timestamp
    """When the form last changed."""
    form_fields: list[FormField]
    description: str | None


class UpdateMemberVerification(Struct, kw_only=True):
    """What may change about the form."""

    enabled: bool | UnsetType = UNSET
    """Whether newcomers must answer it: the feature MEMBER_VERIFICATION_GATE_ENABLED."""
    manual_approval: bool | UnsetType = UNSET
    """Whether somebody must approve: the feature MEMBER_VERIFICATION_MANUAL_APPROVAL."""
    form_fields: Annotated[list[FormField], Meta(max_length=FORM_FIELDS_MAX)] | UnsetType = UNSET
    description: Annotated[str, Meta(max_length=VERIFICATION_DESCRIPTION_MAX)] | None | UnsetType = UNSET


class JoinRequest(Struct, kw_only=True):
    """What somebody answered, and what became of it."""

    id: JoinRequestId
    created_at: Timestamp
    reviewed_at: Timestamp | None
    application_status: str | None
    rejection_reason: str | None
    guild_id: GuildId
    user_id: UserId
    user: User | None | UnsetType = UNSET
    form_responses: list[AnsweredField] | None | UnsetType = UNSET
    actioned_by_user: User | None | UnsetType = UNSET


class JoinRequests(Struct, kw_only=True):
    """Requests, for those who may read them; others who manage the guild learn how many there are."""

    total: int | UnsetType = UNSET
    guild_join_requests: list[JoinRequest] | UnsetType = UNSET


class ListJoinRequests(Struct, kw_only=True):
    """A page of requests; `after` wins over `before`."""

    status: JoinRequestStatus = JoinRequestStatus.SUBMITTED
    limit: Annotated[int, Meta(ge=1, le=JOIN_REQUESTS_PAGE_MAX)] = JOIN_REQUESTS_PAGE_MAX
    before: JoinRequestId | UnsetType = UNSET
    after: JoinRequestId | UnsetType = UNSET


class ActionJoinRequest(Struct, kw_only=True):
    """What is to become of a request."""

    action: JoinRequestStatus | UnsetType = UNSET
    """APPROVED or REJECTED."""
    rejection_reason: Annotated[str, Meta(max_length=REJECTION_REASON_MAX)] | None | UnsetType = UNSET


class SubmitJoinRequest(Struct, kw_only=True):
    """What one answers."""

    version: datetime
    """Of the form one has seen."""
    form_fields: Annotated[list[AnsweredField], Meta(max_length=FORM_FIELDS_MAX)]


class GuildJoinRequest(Struct, kw_only=True):
    """A request as events carry it."""

    guild_id: GuildId
    request: JoinRequest
    status: str


class JoinRequestDeleted(Struct, kw_only=True):
    """A request is withdrawn, or its user is gone."""

    id: JoinRequestId
    user_id: UserId
    guild_id: GuildId


GUILD_JOIN_REQUEST_CREATE = Event("GUILD_JOIN_REQUEST_CREATE", GuildJoinRequest, intents=Intents.GUILD_MODERATION)
GUILD_JOIN_REQUEST_UPDATE = Event("GUILD_JOIN_REQUEST_UPDATE", GuildJoinRequest, intents=Intents.GUILD_MODERATION)
GUILD_JOIN_REQUEST_DELETE = Event("GUILD_JOIN_REQUEST_DELETE", JoinRequestDeleted, intents=Intents.GUILD_MODERATION)

_IN_GUILD: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)

# For members, and for anybody where the guild is DISCOVERABLE.
GET_GUILD_MEMBER_VERIFICATION = Operation(
    "GET",
    "/guilds/{guild_id}/member-verification",
    result=MemberVerification,
    raises=(*_IN_GUILD, errors.UNKNOWN_MEMBER_VERIFICATION_FORM),
)

UPDATE_GUILD_MEMBER_VERIFICATION = Operation(
    "PATCH",
    "/guilds/{guild_id}/member-verification",
    body=UpdateMemberVerification,
    result=MemberVerification,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_IN_GUILD, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
    emits=(guilds.GUILD_UPDATE, members.GUILD_MEMBER_UPDATE),
    audits=(
        AuditLogAction.GUILD_UPDATE,
        AuditLogAction.MEMBER_VERIFICATION_UPDATE,
    ),
)

# KICK_MEMBERS shows them, MANAGE_GUILD alone how many there are; the guild must have both features (http.md 3.5).
GET_GUILD_JOIN_REQUESTS = Operation(
    "GET",
    "/guilds/{guild_id}/requests",
    query=ListJoinRequests,
    result=JoinRequests,
    raises=(*_IN_GUILD, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
)

ACTION_GUILD_JOIN_REQUEST = Operation(
    "PATCH",
    "/guilds/{guild_id}/requests/{request_id}",
    body=ActionJoinRequest,
    result=JoinRequest,
    needs=Permissions.KICK_MEMBERS,
    raises=(
        *_IN_GUILD,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.NOT_FOUND,
        errors.USER_BANNED,
        errors.MAX_GUILDS,
        errors.MAX_MEMBERS,
    ),
    emits=(
        GUILD_JOIN_REQUEST_UPDATE,
        members.GUILD_MEMBER_ADD,
        members.GUILD_MEMBER_UPDATE,
        members.GUILD_MEMBER_REMOVE,
    ),
)

# The published description has no way to ask; people have these three (decisions/0021).
GET_MY_GUILD_JOIN_REQUEST = Operation(
    "GET",
    "/guilds/{guild_id}/requests/@me",
    result=JoinRequest,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_GUILD, errors.NOT_FOUND),
)

CREATE_GUILD_JOIN_REQUEST = Operation(
    "PUT",
    "/guilds/{guild_id}/requests/@me",
    body=SubmitJoinRequest,
    result=JoinRequest,
    auth=Auth.USER,
    raises=(*_IN_GUILD, errors.UNKNOWN_MEMBER_VERIFICATION_FORM, errors.USER_BANNED),
    emits=(GUILD_JOIN_REQUEST_CREATE, members.GUILD_MEMBER_UPDATE),
)

DELETE_MY_GUILD_JOIN_REQUEST = Operation(
    "DELETE",
    "/guilds/{guild_id}/requests/@me",
    auth=Auth.USER,
    raises=(errors.UNKNOWN_GUILD, errors.NOT_FOUND),
    emits=(GUILD_JOIN_REQUEST_DELETE,),
)
