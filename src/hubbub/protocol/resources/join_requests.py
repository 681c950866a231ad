"""Join requests: the member verification form of a guild, and the requests of users who completed it."""

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
"""Maximum number of join requests on a page."""
REJECTION_REASON_MAX: Final = 160
VERIFICATION_DESCRIPTION_MAX: Final = 300
FORM_FIELDS_MAX: Final = 5
FORM_LABEL_MAX: Final = 300
"""Maximum length of a label, description, placeholder or rule of the form."""
FORM_VALUES_MAX: Final = 16
"""Maximum number of rules in a TERMS field."""
FORM_CHOICES_MAX: Final = 8
FORM_CHOICE_LENGTH_MAX: Final = 150
TEXT_ANSWER_MAX: Final = 150
"""Maximum length of the answer to a TEXT_INPUT field."""
PARAGRAPH_ANSWER_MAX: Final = 1000
"""Maximum length of the answer to a PARAGRAPH field."""

FormText = Annotated[str, Meta(max_length=FORM_LABEL_MAX)]


class FormField(Struct, kw_only=True):
    """A field of the verification form."""

    # The field is stored as JSON: add fields with a default only, and never rename a field.

    field_type: FormFieldType
    """Type of the field."""
    label: FormText | UnsetType = UNSET
    """Question or title of the field, at most 300 characters; required unless the type is TERMS."""
    description: FormText | None | UnsetType = UNSET
    """Additional text below the label, at most 300 characters; absent or null for none."""
    required: bool | UnsetType = UNSET
    """Whether the field must be answered; true if absent in a request."""
    values: Annotated[list[FormText], Meta(min_length=1, max_length=FORM_VALUES_MAX)] | UnsetType = UNSET
    """Rules to accept, 1 to 16; required for TERMS, absent for other types."""
    choices: (
        Annotated[
            list[Annotated[str, Meta(min_length=1, max_length=FORM_CHOICE_LENGTH_MAX)]],
            Meta(min_length=1, max_length=FORM_CHOICES_MAX),
        ]
        | UnsetType
    ) = UNSET
    """Possible answers, 1 to 8; required for MULTIPLE_CHOICE, absent for other types."""
    placeholder: FormText | None | UnsetType = UNSET
    """Text shown in an empty text field, at most 300 characters; absent or null for none."""


class AnsweredField(FormField, kw_only=True):
    """A field of the verification form with the user's answer."""

    response: bool | int | str | None | UnsetType = UNSET
    """Answer of the user: true for TERMS, the index of the choice for MULTIPLE_CHOICE, otherwise text. Absent if none."""


class MemberVerification(Struct, kw_only=True):
    """The form that new members complete before they can participate."""

    version: Timestamp
    """Time at which the form last changed."""
    form_fields: list[FormField]
    """Fields of the form."""
    description: str | None
    """Description of the guild, shown above the form; null if there is none."""


class UpdateMemberVerification(Struct, kw_only=True):
    """Request body for updating the verification form; absent fields keep their value."""

    enabled: bool | UnsetType = UNSET
    """Whether new members must complete the form; sets the feature MEMBER_VERIFICATION_GATE_ENABLED."""
    manual_approval: bool | UnsetType = UNSET
    """Whether a moderator must approve requests; sets the feature MEMBER_VERIFICATION_MANUAL_APPROVAL."""
    form_fields: Annotated[list[FormField], Meta(max_length=FORM_FIELDS_MAX)] | UnsetType = UNSET
    """New fields of the form, at most 5, which replace all previous ones."""
    description: Annotated[str, Meta(max_length=VERIFICATION_DESCRIPTION_MAX)] | None | UnsetType = UNSET
    """New description of the guild, at most 300 characters; null removes it."""


class JoinRequest(Struct, kw_only=True):
    """A user's request to join a guild."""

    id: JoinRequestId
    """ID of the request."""
    created_at: Timestamp
    """Time at which the request was created."""
    reviewed_at: Timestamp | None
    """Time at which the request was approved or rejected; null until then."""
    application_status: str | None
    """Status of the request: `STARTED`, `SUBMITTED`, `REJECTED` or `APPROVED`.

    Never null, although the public API allows null."""
    rejection_reason: str | None
    """Reason given for a rejection; null if there is none."""
    guild_id: GuildId
    """ID of the guild."""
    user_id: UserId
    """ID of the user who made the request."""
    user: User | None | UnsetType = UNSET
    """User who made the request; null if the user no longer exists."""
    form_responses: list[AnsweredField] | None | UnsetType = UNSET
    """Fields of the form with the user's answers; never absent or null."""
    actioned_by_user: User | None | UnsetType = UNSET
    """Moderator who approved or rejected the request; null if no moderator has."""


class JoinRequests(Struct, kw_only=True):
    """A page of join requests; callers without KICK_MEMBERS receive only the total."""

    total: int | UnsetType = UNSET
    """Number of requests with the status of the query."""
    guild_join_requests: list[JoinRequest] | UnsetType = UNSET
    """Join requests of the page; absent for callers without KICK_MEMBERS."""


class ListJoinRequests(Struct, kw_only=True):
    """Query parameters for listing join requests, newest first, or latest reviewed first."""

    status: JoinRequestStatus = JoinRequestStatus.SUBMITTED
    """Status of the requests to return; SUBMITTED if absent."""
    limit: Annotated[int, Meta(ge=1, le=JOIN_REQUESTS_PAGE_MAX)] = JOIN_REQUESTS_PAGE_MAX
    """Maximum number of requests to return, 1 to 100; 100 if absent."""
    before: JoinRequestId | UnsetType = UNSET
    """Only requests with a lower ID than this; ignored with `after`."""
    after: JoinRequestId | UnsetType = UNSET
    """Only requests with a higher ID than this."""


class ActionJoinRequest(Struct, kw_only=True):
    """Request body for approving or rejecting a join request."""

    action: JoinRequestStatus | UnsetType = UNSET
    """Decision about the request, `APPROVED` or `REJECTED`; required."""
    rejection_reason: Annotated[str, Meta(max_length=REJECTION_REASON_MAX)] | None | UnsetType = UNSET
    """Reason for a rejection, at most 160 characters; absent or null for none, ignored in an approval."""


class SubmitJoinRequest(Struct, kw_only=True):
    """Request body for submitting a completed verification form."""

    version: datetime
    """Version of the form that the user completed: the `version` of `MemberVerification`."""
    form_fields: Annotated[list[AnsweredField], Meta(max_length=FORM_FIELDS_MAX)]
    """Fields of the form with the user's answers: one for each field of the form, in its order."""


class GuildJoinRequest(Struct, kw_only=True):
    """A join request in gateway events."""

    guild_id: GuildId
    """ID of the guild."""
    request: JoinRequest
    """Request that was created or changed."""
    status: str
    """Status of the request; a `JoinRequestStatus`."""


class JoinRequestDeleted(Struct, kw_only=True):
    """A join request that its user withdrew, or whose user left the guild."""

    id: JoinRequestId
    """ID of the request."""
    user_id: UserId
    """ID of the user who made the request."""
    guild_id: GuildId
    """ID of the guild."""


GUILD_JOIN_REQUEST_CREATE = Event(
    "GUILD_JOIN_REQUEST_CREATE",
    GuildJoinRequest,
    "Sent when a user submits a request to join a guild.",
    intents=Intents.GUILD_MODERATION,
)
GUILD_JOIN_REQUEST_UPDATE = Event(
    "GUILD_JOIN_REQUEST_UPDATE",
    GuildJoinRequest,
    "Sent when a join request is approved, rejected or changed.",
    intents=Intents.GUILD_MODERATION,
)
GUILD_JOIN_REQUEST_DELETE = Event(
    "GUILD_JOIN_REQUEST_DELETE",
    JoinRequestDeleted,
    "Sent when a join request is withdrawn or deleted.",
    intents=Intents.GUILD_MODERATION,
)

_GUILD_ERRORS: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)

# Members can call this operation, and every user can if the guild is DISCOVERABLE.
GET_GUILD_MEMBER_VERIFICATION = Operation(
    "GET",
    "/guilds/{guild_id}/member-verification",
    result=MemberVerification,
    raises=(*_GUILD_ERRORS, errors.UNKNOWN_MEMBER_VERIFICATION_FORM),
)

UPDATE_GUILD_MEMBER_VERIFICATION = Operation(
    "PATCH",
    "/guilds/{guild_id}/member-verification",
    body=UpdateMemberVerification,
    result=MemberVerification,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_GUILD_ERRORS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
    emits=(guilds.GUILD_UPDATE, members.GUILD_MEMBER_UPDATE),
    audits=(
        AuditLogAction.GUILD_UPDATE,
        AuditLogAction.MEMBER_VERIFICATION_UPDATE,
    ),
)

# KICK_MEMBERS returns the requests, MANAGE_GUILD alone only the total. The guild must have the features
# MEMBER_VERIFICATION_GATE_ENABLED and MEMBER_VERIFICATION_MANUAL_APPROVAL (spec/http.md#3.5).
GET_GUILD_JOIN_REQUESTS = Operation(
    "GET",
    "/guilds/{guild_id}/requests",
    query=ListJoinRequests,
    result=JoinRequests,
    raises=(*_GUILD_ERRORS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
)

ACTION_GUILD_JOIN_REQUEST = Operation(
    "PATCH",
    "/guilds/{guild_id}/requests/{request_id}",
    body=ActionJoinRequest,
    result=JoinRequest,
    needs=Permissions.KICK_MEMBERS,
    raises=(
        *_GUILD_ERRORS,
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

# First-party: the public API has no operations for the user who requests to join (decisions/0021).

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
    raises=(*_GUILD_ERRORS, errors.UNKNOWN_MEMBER_VERIFICATION_FORM, errors.USER_BANNED),
    emits=(GUILD_JOIN_REQUEST_CREATE, members.GUILD_MEMBER_UPDATE),
)

DELETE_MY_GUILD_JOIN_REQUEST = Operation(
    "DELETE",
    "/guilds/{guild_id}/requests/@me",
    auth=Auth.USER,
    raises=(errors.UNKNOWN_GUILD, errors.NOT_FOUND),
    emits=(GUILD_JOIN_REQUEST_DELETE,),
)
