"""What developers do with applications of their own: make and delete them, reset their secrets, ask for approvals, invite testers.

First-party: the public description has only what an application's bot may do. Where the platform's own client has an address for
it we use the same (decisions/0039).
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
from hubbub.protocol.resources.users import User

APPLICATIONS_MAX: Final = 50
"""So many one person may own."""
APPLICATION_TESTERS_MAX: Final = 50
APPLICATION_ASSETS_MAX: Final = 300
ASSET_NAME_MAX: Final = 300
APPROVAL_REASON_MAX: Final = 2000

INTENT_GRANT_DAYS: Final = 365
"""Spec, Limits: at or above 10,000 users privileged intents are granted by review, and asked for again every year."""
INTENT_GRACE_DAYS: Final = 90
"""How long one that has grown too large has to ask for a review (http.md 4)."""

_OWNED: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)


# Applications of one's own


class CreateApplication(Struct, kw_only=True):
    """A new application."""

    name: ApplicationName


class Confirmation(Struct, kw_only=True):
    """That it is the owner who asks."""

    code: Annotated[str, Meta(max_length=64)] | UnsetType = UNSET
    """Of the authenticator; needed from people who have one."""


class BotToken(Struct, kw_only=True):
    """A bot's token, shown this once."""

    token: str


class ClientSecret(Struct, kw_only=True):
    """An application's secret, shown this once."""

    secret: str


LIST_APPLICATIONS = Operation("GET", "/applications", result=list[PublicApplication], auth=Auth.USER)

CREATE_APPLICATION = Operation(
    "POST",
    "/applications",
    body=CreateApplication,
    result=Application,
    status=201,
    auth=Auth.USER,
    raises=(errors.APPLICATION_LIMIT,),
)

DELETE_APPLICATION = Operation(
    "DELETE",
    "/applications/{application_id}",
    body=Confirmation,
    optional_body=True,
    auth=Auth.USER,
    raises=(*_OWNED, errors.TWO_FACTOR_REQUIRED),
    emits=(OAUTH2_TOKEN_REVOKE,),
)

SECRETS_LIMIT: Final = RateLimit(10, 60.0, bucket="application_secrets")

CREATE_APPLICATION_BOT = Operation(
    "POST",
    "/applications/{application_id}/bot",
    result=BotToken,
    status=201,
    auth=Auth.USER,
    raises=_OWNED,
    limit=SECRETS_LIMIT,
)

RESET_BOT_TOKEN = Operation(
    "POST",
    "/applications/{application_id}/bot/reset",
    body=Confirmation,
    optional_body=True,
    result=BotToken,
    auth=Auth.USER,
    raises=(*_OWNED, errors.APPLICATION_HAS_NO_BOT, errors.TWO_FACTOR_REQUIRED),
    limit=SECRETS_LIMIT,
)

RESET_CLIENT_SECRET = Operation(
    "POST",
    "/applications/{application_id}/reset",
    body=Confirmation,
    optional_body=True,
    result=ClientSecret,
    auth=Auth.USER,
    raises=(*_OWNED, errors.TWO_FACTOR_REQUIRED),
    limit=SECRETS_LIMIT,
)


# Approvals


@dataclass(frozen=True, slots=True)
class IntentRule:
    """A privileged intent."""

    words: str
    """What a bot hears with it."""
    limited: int
    """The flag of one that switched it on itself,"""
    granted: int
    """and of one that was granted it."""


PRIVILEGED_INTENTS: Final[dict[str, IntentRule]] = {
    "GUILD_PRESENCES": IntentRule(
        "Who is online, and what they do",
        ApplicationFlags.GATEWAY_PRESENCE_LIMITED,
        ApplicationFlags.GATEWAY_PRESENCE,
    ),
    "GUILD_MEMBERS": IntentRule(
        "Who joins, leaves and changes, and the whole list of members",
        ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED,
        ApplicationFlags.GATEWAY_GUILD_MEMBERS,
    ),
    "MESSAGE_CONTENT": IntentRule(
        "What is written in messages that do not mention it",
        ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED,
        ApplicationFlags.GATEWAY_MESSAGE_CONTENT,
    ),
}

ApprovalKind = Literal["scope", "intent"]


class Approval(Struct, kw_only=True):
    """Something that an application may have to ask the operator for."""

    kind: ApprovalKind
    name: str
    description: str
    state: Literal["open", "none", "pending", "approved", "denied", "lapsed"]
    """`open` needs no approval of this application now; `none` needs one and nobody asked."""
    enabled: bool | UnsetType = UNSET
    """Of an intent: whether the bot may ask for it."""
    reason: str | UnsetType = UNSET
    """What the application gave as its reason."""
    requested_at: Timestamp | None = None
    decided_at: Timestamp | None = None
    ends_at: Timestamp | None = None
    """Until when it must have been renewed."""


class Reach(Struct, kw_only=True):
    """How large an application is, as far as privileged intents are concerned."""

    counted: Literal["users", "guilds"]
    """Guilds before 10 June 2026."""
    count: int
    free_below: int
    free: bool
    """Whether privileged intents are a switch of its own."""
    lapses_at: Timestamp | None = None
    """When intents that it switched on while small are taken from it, unless it asks for a review."""


class Approvals(Struct, kw_only=True):
    """What an application may ask for, and what came of it."""

    reach: Reach
    intents: list[Approval]
    scopes: list[Approval]


class RequestApproval(Struct, kw_only=True):
    """What is asked for, and why."""

    kind: ApprovalKind
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    reason: Annotated[str, Meta(min_length=1, max_length=APPROVAL_REASON_MAX)]


GET_APPLICATION_APPROVALS = Operation(
    "GET", "/applications/{application_id}/approvals", result=Approvals, auth=Auth.USER, raises=_OWNED
)

REQUEST_APPLICATION_APPROVAL = Operation(
    "POST",
    "/applications/{application_id}/approvals",
    body=RequestApproval,
    result=Approval,
    auth=Auth.USER,
    raises=_OWNED,
)


# Testers


class Tester(Struct, kw_only=True):
    """A person who tries an application before it is approved."""

    user: User
    state: Literal[1, 2]
    """1 invited, 2 accepted."""


class InviteTester(Struct, kw_only=True):
    """Whom to invite."""

    username: Annotated[str, Meta(min_length=1, max_length=32)]


class TestUser(Struct, kw_only=True):
    """A person of a rehearsal, with what one needs to act as them, shown this once."""

    user: User
    token: str
    password: str


class TesterInvitation(Struct, kw_only=True):
    """An application that asks one to be its tester, or whose tester one is."""

    application: PublicApplication
    state: Literal[1, 2]


LIST_APPLICATION_TESTERS = Operation(
    "GET", "/applications/{application_id}/testers", result=list[Tester], auth=Auth.USER, raises=_OWNED
)

INVITE_APPLICATION_TESTER = Operation(
    "POST",
    "/applications/{application_id}/testers",
    body=InviteTester,
    result=Tester,
    status=201,
    auth=Auth.USER,
    raises=_OWNED,
)

DELETE_APPLICATION_TESTER = Operation(
    "DELETE",
    "/applications/{application_id}/testers/{user_id}",
    auth=Auth.USER,
    raises=(*_OWNED, errors.UNKNOWN_USER),
)

CREATE_TEST_USER = Operation(
    "POST",
    "/applications/{application_id}/test-users",
    body=InviteTester,
    result=TestUser,
    status=201,
    auth=Auth.USER,
    raises=(*_OWNED, errors.NOT_FOUND),
)
"""Only a rehearsal makes people up; elsewhere there is no such address."""

LIST_MY_TESTER_INVITATIONS = Operation("GET", "/users/@me/testing", result=list[TesterInvitation], auth=Auth.USER)

ACCEPT_TESTER_INVITATION = Operation(
    "PUT", "/users/@me/testing/{application_id}", auth=Auth.USER, raises=(errors.UNKNOWN_APPLICATION,)
)

DELETE_TESTER_INVITATION = Operation(
    "DELETE", "/users/@me/testing/{application_id}", auth=Auth.USER, raises=(errors.UNKNOWN_APPLICATION,)
)


# Pictures for rich presence


class AssetImage(ImageData):
    """A picture for rich presence; 1024 by 1024 is what others are shown at most."""

    side_max = 1024
    moving = frozenset()


class Asset(Struct, kw_only=True):
    """A picture that activities name by its key."""

    id: AssetId
    type: int
    """1 small, 2 large."""
    name: str


class CreateAsset(Struct, kw_only=True):
    """A new picture."""

    name: Annotated[str, Meta(min_length=1, max_length=ASSET_NAME_MAX)]
    """Kept in lower case."""
    image: AssetImage
    type: Literal[1, 2] = 2


LIST_APPLICATION_ASSETS = Operation(
    "GET",
    "/oauth2/applications/{application_id}/assets",
    result=list[Asset],
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANYONE,
    raises=(errors.UNKNOWN_APPLICATION,),
)
"""Open to everybody: games look their own keys up, and clients those of others."""

CREATE_APPLICATION_ASSET = Operation(
    "POST",
    "/oauth2/applications/{application_id}/assets",
    body=CreateAsset,
    result=Asset,
    status=201,
    auth=Auth.USER,
    raises=_OWNED,
)

DELETE_APPLICATION_ASSET = Operation(
    "DELETE",
    "/oauth2/applications/{application_id}/assets/{asset_id}",
    auth=Auth.USER,
    raises=(*_OWNED, errors.UNKNOWN_ASSET),
)
