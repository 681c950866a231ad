"""Operations of the control API that act as a person, a user of the world, and their request and response bodies."""

from typing import Annotated, Any, Final, Literal, cast

import msgspec
from msgspec import Meta

from hubbub.protocol import errors
from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.control.expectations import (
    DEFAULT_TIMEOUT_MS,
    TIMEOUT_MS_MAX,
    EventOfPerson,
    EventsQuery,
    Expect,
    ExpectMessage,
    ExpectNone,
    FailedExpectation,
    Name,
    Timeout,
)
from hubbub.protocol.control.users import CreateUser
from hubbub.protocol.ids import InteractionId, MessageId, UserId, WideInt
from hubbub.protocol.resources.commands import CommandChoice
from hubbub.protocol.resources.interactions import ModalCreated
from hubbub.protocol.resources.invites import Invite
from hubbub.protocol.resources.messages import Message
from hubbub.protocol.resources.subscriptions import Purchase

File = Annotated[str, Meta(max_length=8 * 1024 * 1024)]

ACTION_FAILED: Final = errors.ErrorCode(0, 409, "The platform is not in the expected state")
"""Error of an expectation that was not met, and of an interaction or voice call that failed."""


class Person(msgspec.Struct, kw_only=True):
    """A user of the world."""

    name: str
    id: UserId
    token: str
    connected: bool
    """Whether the person has a gateway session; every action except reading and `request` starts one."""


# Messages


class Say(msgspec.Struct, kw_only=True):
    """A message to send."""

    channel: Name
    """Name or ID of the channel, such as `general`; `@` and the name of a user or application for a direct message."""
    content: str = ""
    fields: dict[str, Any] = {}
    """Further fields of the API's body, such as `embeds`."""
    files: dict[str, File] = {}
    """Files by name; the content is encoded as base64."""


class MessageTarget(msgspec.Struct, kw_only=True):
    """The message that an action is about."""

    message: MessageId
    """ID of the message."""
    channel: Name | None = None
    """Name or ID of its channel; required only if the person was not connected when the message was sent."""


class SendReply(MessageTarget, kw_only=True):
    """A message that replies to another one."""

    content: str = ""
    fields: dict[str, Any] = {}
    """Further fields of the API's body, such as `embeds`."""


class Edit(MessageTarget, kw_only=True):
    """The new content of a message."""

    content: str | None = None
    """The new text; null keeps it."""
    fields: dict[str, Any] = {}
    """Further fields of the API's body, such as `embeds`."""


class React(MessageTarget, kw_only=True):
    """A reaction to add."""

    emoji: Name
    """Unicode emoji such as `👍`, or `name:id` of a custom emoji."""


class ReadQuery(msgspec.Struct, kw_only=True):
    """Query parameters for reading a channel."""

    channel: Name
    """Name or ID of the channel, such as `general`; `@` and the name of a user or application for direct messages."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    """Maximum number of messages."""


# Applications


class Run(msgspec.Struct, kw_only=True):
    """A command to run."""

    channel: Name
    """Name or ID of the channel, such as `general`; `@` and the name of an application for its direct messages."""
    command: Name
    """Name of the command, followed by the names of its sub-commands: `settings show`."""
    options: dict[str, Any] = {}
    """Values by name. Users, channels and roles may be names; a file is `{"filename", "data"}` with base64 data."""
    target: str | None = None
    """User name, user ID or message ID of a context menu command; null for slash commands."""
    application: Name | None = None
    """Name of the application, if several have a command of this name."""
    wait_for_answer: bool = True
    """Whether to wait for the answer if the application defers its response."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait for the response."""


class Complete(msgspec.Struct, kw_only=True):
    """An option of a command that the person is typing."""

    channel: Name
    """Name or ID of the channel, such as `general`."""
    command: Name
    """Name of the command, followed by the names of its sub-commands: `settings show`."""
    option: Name
    """Name of the option, such as `city`."""
    typed: str = ""
    """Text that the person has typed."""
    options: dict[str, Any] = {}
    """Values of other options by name."""
    application: Name | None = None
    """Name of the application, if several have a command of this name."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait for the choices."""


class ComponentTarget(msgspec.Struct, kw_only=True):
    """The message that contains a component."""

    message: MessageId | None = None
    """ID of the message; null for the latest message that the person received with such a component."""
    channel: Name | None = None
    """Name or ID of its channel; required only if the person was not connected when the message was sent."""


class Click(ComponentTarget, kw_only=True):
    """A button to click."""

    button: Name
    """The custom_id or label of the button, such as `Count`."""
    wait_for_answer: bool = True
    """Whether to wait for the answer if the application defers its response."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait for the response."""


class Choose(ComponentTarget, kw_only=True):
    """Values to choose in a select."""

    select: Name
    """The custom_id or placeholder of the select, such as `member`."""
    values: list[str]
    """Values of a string select; names or IDs of users, roles or channels for other selects."""
    wait_for_answer: bool = True
    """Whether to wait for the answer if the application defers its response."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait for the response."""


class Submit(msgspec.Struct, kw_only=True):
    """A modal to submit."""

    modal: InteractionId | None = None
    """ID of a modal that the person received; null for the latest one."""
    fields: dict[str, Any] = {}
    """Values by custom_id or label; other fields keep their default values."""
    wait_for_answer: bool = True
    """Whether to wait for the answer if the application defers its response."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait for the response."""


class InteractionResult(msgspec.Struct, kw_only=True):
    """An application's response to an interaction: a message or a modal."""

    message: Message | None = None
    """The new or updated message; null for a modal and for an acknowledgement without a message."""
    modal: ModalCreated | None = None
    """The modal; null for a message."""
    deferred: bool = False
    """Whether the message is a deferred response whose answer has not arrived."""


# Invites, authorization and purchases


class CreateInvite(msgspec.Struct, kw_only=True):
    """The channel and settings of a new invite."""

    channel: Name
    """Name or ID of the channel, such as `general`."""
    fields: dict[str, Any] = {}
    """Fields of the API's body, such as `max_age` and `max_uses`."""


class AcceptInviteCode(msgspec.Struct, kw_only=True):
    """An invite for the person to join a guild."""

    invite: Name
    """Code of the invite, such as `aBcDeFgH`."""


class Befriend(msgspec.Struct, kw_only=True):
    """The user to send a friend request to, or whose request to accept."""

    user: Name
    """Name or ID of the other user, such as `bob`."""


class Authorize(msgspec.Struct, kw_only=True):
    """The authorization of an application."""

    application: Name
    """Name of the application, such as `demo-bot`."""
    scopes: tuple[str, ...] = ("identify",)
    """Scopes; `bot` adds the bot of the application to a guild."""
    guild: Name | None = None
    """Name or ID of the guild to which the bot is added."""
    permissions: WideInt | None = None
    """Permissions of the bot in the guild."""
    query: dict[str, str] = {}
    """Further parameters of the authorization URL, such as `redirect_uri`, `state` and `code_challenge`."""


class Authorization(msgspec.Struct, kw_only=True):
    """The redirect after an authorization."""

    url: str
    """URL to which a browser would be redirected."""
    redirect_uri: str
    """`url` without its parameters."""
    parameters: dict[str, str]
    """Parameters of the URL, such as `code`, `state` and `access_token`."""


class Buy(msgspec.Struct, kw_only=True):
    """The SKU to buy."""

    sku: Name
    """Name or ID of the SKU, such as `Sword`."""
    guild: Name | None = None
    """Name or ID of the guild that a guild subscription is for."""


# Voice


class JoinVoice(msgspec.Struct, kw_only=True):
    """A voice channel to join."""

    channel: Name
    """Name or ID of the voice channel, such as `Lounge`; `@` and the name of a user for a direct call."""
    self_mute: bool = False
    self_deaf: bool = False
    audio: bool = True
    """Whether to connect to the voice server; without audio the person is only shown in the channel."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait for the voice server and its credentials."""


class VoiceCredentials(msgspec.Struct, kw_only=True):
    """The voice server of a call, and the credentials of the person."""

    endpoint: str
    token: str
    session_id: str


class Play(msgspec.Struct, kw_only=True):
    """A file to play in the current call."""

    file: File
    """Ogg Opus file, encoded as base64."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait until another user is connected to the call."""


class Played(msgspec.Struct, kw_only=True):
    """A file that was played."""

    frames: int
    """Number of Opus packets."""
    duration_ms: int
    """Duration in milliseconds."""


class Hear(msgspec.Struct, kw_only=True):
    """Audio to record in the current call."""

    user: Name | None = None
    """Name of the user or application to record, such as `demo-bot`; null for the first one who speaks."""
    duration_ms: Timeout = TIMEOUT_MS_MAX
    """Maximum duration of the recording in milliseconds."""
    quiet_ms: Annotated[int, Meta(ge=20, le=TIMEOUT_MS_MAX)] = 500
    """Pause in milliseconds that ends the recording."""
    timeout_ms: Timeout = DEFAULT_TIMEOUT_MS
    """Time in milliseconds to wait for the first audio."""


class Heard(msgspec.Struct, kw_only=True):
    """A recording of one user."""

    user: str
    """Name of the user or application; the ID if it has no name in the world."""
    user_id: UserId
    frames: int
    """Number of Opus packets."""
    duration_ms: int
    """Duration in milliseconds, without pauses."""
    file: str
    """Ogg Opus file, encoded as base64."""


class SendRequest(msgspec.Struct, kw_only=True):
    """A request to the public API."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: Annotated[str, Meta(pattern="^/")]
    """Path below the API version, such as `/users/@me`."""
    body: Any = None
    """JSON body; null for none."""


PERSON_PATH: Final = "/people/{name}"

LIST_PEOPLE: Final = control_operation("GET", "/people", result=list[Person])
CREATE_PERSON: Final = control_operation("POST", "/people", body=CreateUser, result=Person)
GET_PERSON: Final = control_operation("GET", PERSON_PATH, errors.NOT_FOUND, result=Person)
CONNECT: Final = control_operation("POST", f"{PERSON_PATH}/connect", errors.NOT_FOUND, result=Person)
DISCONNECT: Final = control_operation("POST", f"{PERSON_PATH}/disconnect", errors.NOT_FOUND, result=Person)

SAY: Final = control_operation("POST", f"{PERSON_PATH}/say", errors.NOT_FOUND, body=Say, result=Message)
REPLY: Final = control_operation("POST", f"{PERSON_PATH}/reply", errors.NOT_FOUND, body=SendReply, result=Message)
EDIT: Final = control_operation("POST", f"{PERSON_PATH}/edit", errors.NOT_FOUND, body=Edit, result=Message)
DELETE: Final = control_operation("POST", f"{PERSON_PATH}/delete", errors.NOT_FOUND, body=MessageTarget)
REACT: Final = control_operation("POST", f"{PERSON_PATH}/react", errors.NOT_FOUND, body=React)
READ: Final = control_operation(
    "GET", f"{PERSON_PATH}/messages", errors.NOT_FOUND, query=ReadQuery, result=list[Message]
)

LIST_EVENTS: Final = control_operation(
    "GET", f"{PERSON_PATH}/events", errors.NOT_FOUND, query=EventsQuery, result=list[EventOfPerson]
)
EXPECT: Final = control_operation(
    "POST",
    f"{PERSON_PATH}/expect",
    errors.NOT_FOUND,
    ACTION_FAILED,
    body=Expect,
    result=EventOfPerson,
    error_model=FailedExpectation,
)
EXPECT_NONE: Final = control_operation(
    "POST",
    f"{PERSON_PATH}/expect-none",
    errors.NOT_FOUND,
    ACTION_FAILED,
    body=ExpectNone,
    error_model=FailedExpectation,
)
EXPECT_MESSAGE: Final = control_operation(
    "POST",
    f"{PERSON_PATH}/expect-message",
    errors.NOT_FOUND,
    ACTION_FAILED,
    body=ExpectMessage,
    result=Message,
    error_model=FailedExpectation,
)

RUN: Final = control_operation(
    "POST", f"{PERSON_PATH}/run", errors.NOT_FOUND, ACTION_FAILED, body=Run, result=InteractionResult
)
COMPLETE: Final = control_operation(
    "POST", f"{PERSON_PATH}/complete", errors.NOT_FOUND, ACTION_FAILED, body=Complete, result=list[CommandChoice]
)
CLICK: Final = control_operation(
    "POST", f"{PERSON_PATH}/click", errors.NOT_FOUND, ACTION_FAILED, body=Click, result=InteractionResult
)
CHOOSE: Final = control_operation(
    "POST", f"{PERSON_PATH}/choose", errors.NOT_FOUND, ACTION_FAILED, body=Choose, result=InteractionResult
)
SUBMIT: Final = control_operation(
    "POST", f"{PERSON_PATH}/submit", errors.NOT_FOUND, ACTION_FAILED, body=Submit, result=InteractionResult
)

INVITE: Final = control_operation("POST", f"{PERSON_PATH}/invite", errors.NOT_FOUND, body=CreateInvite, result=Invite)
JOIN: Final = control_operation("POST", f"{PERSON_PATH}/join", errors.NOT_FOUND, body=AcceptInviteCode, result=Invite)
BEFRIEND: Final = control_operation("POST", f"{PERSON_PATH}/befriend", errors.NOT_FOUND, body=Befriend)
AUTHORIZE: Final = control_operation(
    "POST", f"{PERSON_PATH}/authorize", errors.NOT_FOUND, body=Authorize, result=Authorization
)
BUY: Final = control_operation("POST", f"{PERSON_PATH}/buy", errors.NOT_FOUND, body=Buy, result=Purchase)
JOIN_VOICE: Final = control_operation(
    "POST", f"{PERSON_PATH}/voice/join", errors.NOT_FOUND, ACTION_FAILED, body=JoinVoice, result=VoiceCredentials
)
LEAVE_VOICE: Final = control_operation("POST", f"{PERSON_PATH}/voice/leave", errors.NOT_FOUND)
PLAY: Final = control_operation(
    "POST", f"{PERSON_PATH}/voice/play", errors.NOT_FOUND, ACTION_FAILED, body=Play, result=Played
)
HEAR: Final = control_operation(
    "POST", f"{PERSON_PATH}/voice/hear", errors.NOT_FOUND, ACTION_FAILED, body=Hear, result=Heard
)
REQUEST: Final = control_operation(
    "POST", f"{PERSON_PATH}/request", errors.NOT_FOUND, body=SendRequest, result=cast("type[Any]", Any)
)
