"""Developers: management of applications by their owners, with secrets, approvals, testers and assets.

These routes are first-party: the public API only has the operations of an application's bot. The paths are the paths of
the public platform's own client, where they are known (decisions/0039).
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import AssetId, Timestamp
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.resources.applications import Application, ApplicationName, PublicApplication
from hubbub.protocol.resources.oauth2 import OAUTH2_TOKEN_REVOKE
from hubbub.protocol.resources.users import USERNAME_MAX, User

APPLICATIONS_MAX: Final = 50
"""Maximum number of applications that a user may own."""
APPLICATION_TESTERS_MAX: Final = 50
APPLICATION_ASSETS_MAX: Final = 300
"""Maximum number of rich presence assets of an application."""
ASSET_NAME_MAX: Final = 300
APPROVAL_NAME_MAX: Final = 100
"""Maximum length of the name of a scope or intent in a request."""
APPROVAL_REASON_MAX: Final = 2000
CONFIRMATION_CODE_MAX: Final = 64
"""Maximum length of a two-factor code that confirms an operation."""

INTENT_GRANT_DAYS: Final = 365
"""Days until a privileged intent that the operator granted must be renewed (spec/dated-changes.md#3)."""
INTENT_GRACE_DAYS: Final = 90
"""Days in which an application must request a review of its privileged intents after it became too large.

Also the number of days before the end of a grant in which it can be renewed (spec/http.md#4).
"""

_APPLICATION_ERRORS: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)


# Applications


class CreateApplication(Struct, kw_only=True):
    """Request body for creating an application."""

    name: ApplicationName
    """Name of the application, 2 to 32 characters."""


class Confirmation(Struct, kw_only=True):
    """Request body that confirms a sensitive operation with a two-factor code."""

    code: Annotated[str, Meta(max_length=CONFIRMATION_CODE_MAX)] | UnsetType = UNSET
    """Code of the caller's authenticator app, or a backup code; absent if two-factor authentication is disabled."""


class BotToken(Struct, kw_only=True):
    """A newly created bot token."""

    token: str
    """Token of the bot; returned only once."""


class ClientSecret(Struct, kw_only=True):
    """A newly created client secret."""

    secret: str
    """OAuth2 client secret of the application; returned only once."""


LIST_APPLICATIONS = Operation("GET", "/applications", result=list[PublicApplication], auth=Auth.USER)

CREATE_APPLICATION = Operation(
    "POST",
    "/applications",
    body=CreateApplication,
    result=Application,
    status=201,
    auth=Auth.USER,
    raises=(errors.APPLICATION_LIMIT, errors.FEATURE_DISABLED),
)

DELETE_APPLICATION = Operation(
    "DELETE",
    "/applications/{application_id}",
    body=Confirmation,
    optional_body=True,
    auth=Auth.USER,
    raises=(*_APPLICATION_ERRORS, errors.TWO_FACTOR_REQUIRED),
    emits=(OAUTH2_TOKEN_REVOKE,),
)

SECRETS_LIMIT: Final = RateLimit(10, 60.0, bucket="application_secrets")

CREATE_APPLICATION_BOT = Operation(
    "POST",
    "/applications/{application_id}/bot",
    result=BotToken,
    status=201,
    auth=Auth.USER,
    raises=_APPLICATION_ERRORS,
    limit=SECRETS_LIMIT,
)

RESET_BOT_TOKEN = Operation(
    "POST",
    "/applications/{application_id}/bot/reset",
    body=Confirmation,
    optional_body=True,
    result=BotToken,
    auth=Auth.USER,
    raises=(*_APPLICATION_ERRORS, errors.APPLICATION_HAS_NO_BOT, errors.TWO_FACTOR_REQUIRED),
    limit=SECRETS_LIMIT,
)

RESET_CLIENT_SECRET = Operation(
    "POST",
    "/applications/{application_id}/reset",
    body=Confirmation,
    optional_body=True,
    result=ClientSecret,
    auth=Auth.USER,
    raises=(*_APPLICATION_ERRORS, errors.TWO_FACTOR_REQUIRED),
    limit=SECRETS_LIMIT,
)


# Approvals


@dataclass(frozen=True, slots=True)
class IntentRule:
    """A privileged intent and the application flags that enable it."""

    description: str
    """Data that a bot receives with the intent."""
    limited_flag: int
    """Flag of an application that enabled the intent itself, which small applications may do."""
    granted_flag: int
    """Flag of an application that was granted the intent by review."""


PRIVILEGED_INTENTS: Final[dict[str, IntentRule]] = {
    "GUILD_PRESENCES": IntentRule(
        "See which members are online and what they are doing",
        ApplicationFlags.GATEWAY_PRESENCE_LIMITED,
        ApplicationFlags.GATEWAY_PRESENCE,
    ),
    "GUILD_MEMBERS": IntentRule(
        "See members join, leave and change, and list all members",
        ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED,
        ApplicationFlags.GATEWAY_GUILD_MEMBERS,
    ),
    "MESSAGE_CONTENT": IntentRule(
        "Read the content of messages that do not mention the bot",
        ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED,
        ApplicationFlags.GATEWAY_MESSAGE_CONTENT,
    ),
}

ApprovalKind = Literal["scope", "intent"]


class Approval(Struct, kw_only=True):
    """A scope or privileged intent that may require the operator's approval."""

    kind: ApprovalKind
    """Kind of the approval: `scope` or `intent`."""
    name: str
    """Name of the scope or intent."""
    description: str
    """Access that the scope or intent gives to an application."""
    state: Literal["open", "none", "pending", "approved", "denied", "expired"]
    """State of the approval: `open` if the application needs none at present, `none` if it needs one and has not requested it."""
    enabled: bool | UnsetType = UNSET
    """Whether the bot may identify with the intent; absent for scopes."""
    reason: str | UnsetType = UNSET
    """Reason that the owner gave for the request; absent if none was made."""
    requested_at: Timestamp | None = None
    """Time of the request; null if none was made."""
    decided_at: Timestamp | None = None
    """Time of the decision; null if there is none."""
    ends_at: Timestamp | None = None
    """Time by which the approval must be renewed; null if it does not expire."""


class ApplicationReach(Struct, kw_only=True):
    """Size of an application, which decides whether privileged intents require approval."""

    counted: Literal["users", "guilds"]
    """Unit of `count`: `users`, or `guilds` before changes.PRIVILEGED_INTENTS_BY_USERS."""
    count: int
    """Number of users that the application's bot can reach, or number of its guilds."""
    free_below: int
    """Count from which privileged intents require approval."""
    free: bool
    """Whether the application may enable privileged intents itself."""
    expires_at: Timestamp | None = None
    """Time at which self-enabled intents are revoked unless a review is requested; null if none are affected."""


class Approvals(Struct, kw_only=True):
    """The approvals that an application has or can request, and the size that they depend on."""

    reach: ApplicationReach
    """Size of the application."""
    intents: list[Approval]
    """Privileged intents, with the state of their approval."""
    scopes: list[Approval]
    """OAuth2 scopes that require approval."""


class RequestApproval(Struct, kw_only=True):
    """Request body for requesting an approval."""

    kind: ApprovalKind
    """Kind of the approval: `scope` or `intent`."""
    name: Annotated[str, Meta(min_length=1, max_length=APPROVAL_NAME_MAX)]
    """Name of the scope or intent."""
    reason: Annotated[str, Meta(min_length=1, max_length=APPROVAL_REASON_MAX)]
    """Reason for the request, 1 to 2000 characters."""


GET_APPLICATION_APPROVALS = Operation(
    "GET", "/applications/{application_id}/approvals", result=Approvals, auth=Auth.USER, raises=_APPLICATION_ERRORS
)

REQUEST_APPLICATION_APPROVAL = Operation(
    "POST",
    "/applications/{application_id}/approvals",
    body=RequestApproval,
    result=Approval,
    auth=Auth.USER,
    raises=_APPLICATION_ERRORS,
)


# Testers


class Tester(Struct, kw_only=True):
    """A user who tests an application before it is approved, or who is invited to."""

    user: User
    """User account of the tester."""
    state: Literal[1, 2]
    """State of the invitation: 1 invited, 2 accepted."""


class AddTester(Struct, kw_only=True):
    """Request body for adding a tester: for inviting a user, or for creating a test user."""

    username: Annotated[str, Meta(min_length=1, max_length=USERNAME_MAX)]
    """Username of the user to invite or create, 1 to 32 characters."""


class TestUser(Struct, kw_only=True):
    """A newly created user of a rehearsal, with credentials; the user is a tester of the application."""

    user: User
    """User account of the test user."""
    token: str
    """Token of the user; returned only once."""
    password: str
    """Password of the user; returned only once."""


class TesterInvitation(Struct, kw_only=True):
    """An application that the current user tests or is invited to test."""

    application: PublicApplication
    """Application that the user tests or is invited to test."""
    state: Literal[1, 2]
    """State of the invitation: 1 invited, 2 accepted."""


LIST_APPLICATION_TESTERS = Operation(
    "GET", "/applications/{application_id}/testers", result=list[Tester], auth=Auth.USER, raises=_APPLICATION_ERRORS
)

INVITE_APPLICATION_TESTER = Operation(
    "POST",
    "/applications/{application_id}/testers",
    body=AddTester,
    result=Tester,
    status=201,
    auth=Auth.USER,
    raises=_APPLICATION_ERRORS,
)

DELETE_APPLICATION_TESTER = Operation(
    "DELETE",
    "/applications/{application_id}/testers/{user_id}",
    auth=Auth.USER,
    raises=(*_APPLICATION_ERRORS, errors.UNKNOWN_USER),
)

CREATE_TEST_USER = Operation(
    "POST",
    "/applications/{application_id}/test-users",
    body=AddTester,
    result=TestUser,
    status=201,
    auth=Auth.USER,
    raises=(*_APPLICATION_ERRORS, errors.NOT_FOUND),
)

LIST_MY_TESTER_INVITATIONS = Operation("GET", "/users/@me/testing", result=list[TesterInvitation], auth=Auth.USER)

ACCEPT_TESTER_INVITATION = Operation(
    "PUT", "/users/@me/testing/{application_id}", auth=Auth.USER, raises=(errors.UNKNOWN_APPLICATION,)
)

DELETE_TESTER_INVITATION = Operation(
    "DELETE", "/users/@me/testing/{application_id}", auth=Auth.USER, raises=(errors.UNKNOWN_APPLICATION,)
)


# Rich presence assets


class AssetImage(ImageData):
    """Image for rich presence, at most 1024 by 1024 pixels; larger images are scaled down."""

    side_pixels_max = 1024
    animated_types = frozenset()


class Asset(Struct, kw_only=True):
    """A rich presence image, which activities refer to by its name."""

    id: AssetId
    """ID of the asset."""
    type: int
    """Type of the asset: 1 small image, 2 large image."""
    name: str
    """Name of the asset, in lower case."""


class CreateAsset(Struct, kw_only=True):
    """Request body for creating an asset."""

    name: Annotated[str, Meta(min_length=1, max_length=ASSET_NAME_MAX)]
    """Name of the asset, 1 to 300 characters; stored in lower case."""
    image: AssetImage
    """Image as a data URI."""
    type: Literal[1, 2] = 2
    """Type of the asset: 1 small image, 2 large image; 2 if absent."""


LIST_APPLICATION_ASSETS = Operation(
    "GET",
    "/oauth2/applications/{application_id}/assets",
    result=list[Asset],
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANONYMOUS,
    raises=(errors.UNKNOWN_APPLICATION,),
)

CREATE_APPLICATION_ASSET = Operation(
    "POST",
    "/oauth2/applications/{application_id}/assets",
    body=CreateAsset,
    result=Asset,
    status=201,
    auth=Auth.USER,
    raises=_APPLICATION_ERRORS,
)

DELETE_APPLICATION_ASSET = Operation(
    "DELETE",
    "/oauth2/applications/{application_id}/assets/{asset_id}",
    auth=Auth.USER,
    raises=(*_APPLICATION_ERRORS, errors.UNKNOWN_ASSET),
)
