"""Interactions: requests of users' clients, payloads to applications, results, and the routes of responses.

The module also has the index of the commands in a channel, and the list of failed interactions. The bodies of the initial
responses are in `interaction_callbacks`.
"""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import (
    ApplicationId,
    ChannelId,
    CommandId,
    GuildId,
    InteractionId,
    MessageId,
    Snowflake,
)
from hubbub.protocol.operation import Auth, Event, Operation, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages, webhooks
from hubbub.protocol.resources.activity_instances import EMBEDDED_ACTIVITY_UPDATE_V2
from hubbub.protocol.resources.attachments import (
    ATTACHMENT_BYTES_MAX,
    ATTACHMENTS_MAX,
    Attachment,
    AttachmentRequest,
)
from hubbub.protocol.resources.channels import AnyChannel
from hubbub.protocol.resources.commands import COMMAND_OPTIONS_MAX, LOCALE_HEADERS, ApplicationCommand
from hubbub.protocol.resources.components import COMPONENTS_MAX, CUSTOM_ID_MAX, SELECT_VALUES_MAX, Component
from hubbub.protocol.resources.entitlements import Entitlement
from hubbub.protocol.resources.interaction_callbacks import (
    AutocompleteChoice,
    Callback,
    CallbackQuery,
    CallbackResponse,
)
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.message_parts import MessageApplication
from hubbub.protocol.resources.messages import Message
from hubbub.protocol.resources.roles import Role
from hubbub.protocol.resources.users import User

RESPONSE_TIMEOUT_MS: Final = 3_000
"""Milliseconds within which an application must send its initial response."""
TOKEN_LIFETIME_MS: Final = 15 * 60_000
"""Milliseconds for which an interaction token allows follow-ups and edits."""
USER_INSTALL_FOLLOW_UPS_MAX: Final = 5
"""Maximum number of follow-ups to one interaction by an application that only the user installed."""
PRIVATE_CHANNEL_PERMISSIONS: Final = Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE
"""Permissions of an application's responses outside guilds (spec/webhooks-and-interactions.md#2.1)."""
AUTOCOMPLETE_VALUE_MAX: Final = 100
"""Maximum length of a text value in an autocomplete choice."""
INTERACTION_NONCE_MAX: Final = 64
"""Maximum length of the nonce of an interaction, in characters."""
INTERACTION_SESSION_ID_MAX: Final = 64
"""Maximum length of a gateway session ID in a request, in characters."""
ENDPOINT_RESPONSE_BYTES_MAX: Final = 25 * 1024 * 1024
"""Maximum size in bytes of the HTTP response of an application's endpoint, files included.

Larger responses must use the callback route.
"""
FAILED_INTERACTIONS_MAX: Final = 100
"""Maximum number of failed interactions on a page."""


# Requests of the user's client


class OptionValue(Struct, kw_only=True, omit_defaults=True):
    """A command option with its value, or a subcommand with its options."""

    type: int
    """Type of the option; a `CommandOptionType`."""
    name: str
    """Name of the option."""
    value: str | int | float | bool | None | UnsetType = UNSET
    """Value entered by the user; absent for subcommands and subcommand groups."""
    options: "Annotated[list[OptionValue], Meta(max_length=COMMAND_OPTIONS_MAX)] | UnsetType" = UNSET
    """Options of a subcommand or subcommand group; absent for other options."""
    focused: bool | UnsetType = UNSET
    """Whether the user is typing the value of the option; absent if not, and outside autocomplete."""


class CommandData(Struct, kw_only=True):
    """The invoked command and its options."""

    id: CommandId
    """ID of the command."""
    name: str | UnsetType = UNSET
    """Name of the command."""
    type: int | UnsetType = UNSET
    """Type of the command: 1 slash command, 2 user command, 3 message command, 4 entry point."""
    version: Snowflake | None | UnsetType = UNSET
    """Version of the command that the user's client has; absent or null if unknown."""
    options: Annotated[list[OptionValue], Meta(max_length=COMMAND_OPTIONS_MAX)] | None | UnsetType = UNSET
    """Options entered by the user, at most 25; absent or null for none."""
    target_id: Snowflake | None | UnsetType = UNSET
    """ID of the user or message on which a context menu command was invoked; absent or null for other commands."""
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    """Files for attachment options; each `id` is the `n` of a part named `files[n]`. Absent or null for none."""


class ComponentData(Struct, kw_only=True):
    """The used component and the selected values."""

    component_type: int
    """Type of the component; a `ComponentType`."""
    custom_id: Annotated[str, Meta(min_length=1, max_length=CUSTOM_ID_MAX)]
    """Identifier that the application gave the component."""
    values: Annotated[list[str], Meta(max_length=SELECT_VALUES_MAX)] | None | UnsetType = UNSET
    """Selected values, at most 25; absent or null for buttons."""


class ModalSubmission(Struct, kw_only=True):
    """The submitted values of a modal."""

    id: InteractionId
    """ID of the interaction to which the application responded with the modal."""
    custom_id: Annotated[str, Meta(min_length=1, max_length=CUSTOM_ID_MAX)]
    """Identifier that the application gave the modal."""
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)]
    """Components of the modal with the submitted values."""
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    """Files for file upload components; each `id` is the `n` of a part named `files[n]`. Absent or null for none."""


class InteractionRequest(Struct, kw_only=True):
    """Fields common to all interactions that a user's client creates."""

    application_id: ApplicationId
    """ID of the application that handles the interaction."""
    channel_id: ChannelId
    """ID of the channel in which the interaction takes place."""
    guild_id: GuildId | None | UnsetType = UNSET
    """ID of the channel's guild; absent or null outside guilds."""
    session_id: Annotated[str, Meta(max_length=INTERACTION_SESSION_ID_MAX)] | None | UnsetType = UNSET
    """ID of the gateway session that receives the result; if absent or null, all sessions of the user receive it."""
    nonce: int | Annotated[str, Meta(max_length=INTERACTION_NONCE_MAX)] | None | UnsetType = UNSET
    """Value chosen by the client, returned in the events about the interaction; absent or null for none."""


class RunCommand(InteractionRequest, kw_only=True, tag_field="type", tag=2):
    """Request body for invoking a command."""

    data: CommandData
    """Command that the user invoked, with its options."""


class UseComponent(InteractionRequest, kw_only=True, tag_field="type", tag=3):
    """Request body for pressing a button or selecting values in a select menu."""

    message_id: MessageId
    """ID of the message that contains the component."""
    data: ComponentData
    """Component that the user used, with the selected values."""


class AutocompleteCommand(InteractionRequest, kw_only=True, tag_field="type", tag=4):
    """Request body for autocomplete choices while the user types an option."""

    data: CommandData
    """Command with the options entered so far."""


class SubmitModal(InteractionRequest, kw_only=True, tag_field="type", tag=5):
    """Request body for submitting a modal."""

    data: ModalSubmission
    """Values that the user submitted."""


AnyInteractionRequest = RunCommand | UseComponent | AutocompleteCommand | SubmitModal
"""A request body for any interaction; the field `type` selects the class."""


# Payloads to the application


class ResolvedData(Struct, kw_only=True, omit_defaults=True):
    """The objects referenced by ID in an interaction, in maps keyed by ID; maps without objects are absent."""

    users: dict[str, User] | UnsetType = UNSET
    """Users by ID."""
    members: dict[str, dict[str, Any]] | UnsetType = UNSET
    """Members by user ID, without the fields `user`, `deaf` and `mute`."""
    roles: dict[str, Role] | UnsetType = UNSET
    """Roles by ID."""
    channels: dict[str, dict[str, Any]] | UnsetType = UNSET
    """Channels by ID, with the user's `permissions`, and `app_permissions` if the bot is in the guild."""
    messages: dict[str, Message] | UnsetType = UNSET
    """Messages by ID."""
    attachments: dict[str, Attachment] | UnsetType = UNSET
    """Attachments by ID."""


class InteractionData(Struct, kw_only=True, omit_defaults=True):
    """The payload of an interaction; the fields present depend on the type of the interaction."""

    id: str | int | UnsetType = UNSET
    """ID of the command as a string, or `id` of the component within its message as an integer."""
    name: str | UnsetType = UNSET
    """Name of the command."""
    type: int | UnsetType = UNSET
    """Type of the command; a `CommandType`."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild the command is registered in; absent for global commands."""
    options: list[OptionValue] | UnsetType = UNSET
    """Options entered by the user."""
    target_id: Snowflake | UnsetType = UNSET
    """ID of the user or message on which a context menu command was invoked."""
    custom_id: str | UnsetType = UNSET
    """Identifier that the application gave the component or modal."""
    component_type: int | UnsetType = UNSET
    """Type of the component; a `ComponentType`."""
    values: list[str] | UnsetType = UNSET
    """Values selected in a select menu."""
    components: list[Component] | UnsetType = UNSET
    """Components of a modal with the submitted values."""
    resolved: ResolvedData | UnsetType = UNSET
    """Objects referenced by ID in the payload."""


class InteractionGuild(Struct, kw_only=True):
    """The subset of a guild included in an interaction."""

    id: GuildId
    """ID of the guild."""
    features: list[str]
    """Features of the guild."""
    locale: str
    """Preferred locale of the guild."""


class Interaction(Struct, kw_only=True):
    """A user's interaction with an application, in the form the application receives."""

    id: InteractionId
    """ID of the interaction."""
    application_id: ApplicationId
    """ID of the application."""
    type: int
    """Type of the interaction; an `InteractionType`."""
    token: str
    """Token for responses and follow-ups, valid for 15 minutes."""
    version: int = 1
    """Version of the payload; always 1."""
    data: InteractionData
    """Payload of the interaction."""
    channel_id: ChannelId
    """ID of the channel in which the interaction took place."""
    channel: AnyChannel
    """Channel in which the interaction took place, without permission overwrites."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the channel's guild; absent outside guilds."""
    guild: InteractionGuild | UnsetType = UNSET
    """Partial guild of the channel; absent outside guilds."""
    guild_locale: str | UnsetType = UNSET
    """Preferred locale of the guild; absent outside guilds."""
    member: Member | UnsetType = UNSET
    """Member who created the interaction, with the permissions of the member in the channel; absent outside guilds."""
    user: User | UnsetType = UNSET
    """User who created the interaction; absent in guilds, where `member` has the user."""
    locale: str
    """Locale of the user."""
    message: Message | UnsetType = UNSET
    """Message that contains the component, or the component that opened the modal; absent for other interactions."""
    app_permissions: Permissions | UnsetType = UNSET
    """Permissions of the application's responses in the channel; absent outside guilds before changes.USER_INSTALLS."""
    entitlements: list[Entitlement] = []
    """Active entitlements of the user and the guild for the application."""
    entitlement_sku_ids: list[Snowflake] = []
    """SKU IDs of `entitlements`; older client libraries read this field."""
    authorizing_integration_owners: dict[str, Snowflake]
    """IDs of the installing owners by integration type: "0" is the guild ID, or 0 in a DM with the bot; "1" is the user ID."""
    context: int
    """Context of the interaction: 0 guild, 1 DM with the bot, 2 other private channel."""
    attachment_size_limit: int | UnsetType = UNSET
    """Maximum size in bytes of each file in a response; absent before changes.ATTACHMENT_SIZE_LIMIT."""


# Payloads to the user's sessions


class InteractionResult(Struct, kw_only=True):
    """The result of an interaction, sent to the user who created it."""

    id: InteractionId
    """ID of the interaction."""
    nonce: int | str | UnsetType = UNSET
    """Nonce sent by the client; absent if it sent none."""


class InteractionFailed(InteractionResult, kw_only=True):
    """Payload of the event for an interaction without a valid response of the application."""

    reason_code: int
    """Reason of the failure: 1 invalid response, 2 no response in time; a `LaunchFailureReason` for an activity."""


class ModalCreated(InteractionResult, kw_only=True):
    """A modal to open in the user's client, which submits it with the ID of this interaction."""

    channel_id: ChannelId
    """ID of the channel in which the interaction took place."""
    application: MessageApplication
    """Application that sent the modal."""
    custom_id: str
    """Identifier that the application gave the modal."""
    title: str
    """Title of the modal."""
    components: list[Component]
    """Components of the modal."""


class AutocompleteResponse(InteractionResult, kw_only=True):
    """The autocomplete choices for an option."""

    choices: list[AutocompleteChoice]
    """Choices in the order in which they are shown."""


# Command index


class CommandIndex(Struct, kw_only=True):
    """The commands available to the user in a channel, with their applications."""

    applications: list[MessageApplication]
    """Applications of the commands."""
    application_commands: list[ApplicationCommand]
    """Commands that the user may invoke."""
    version: Snowflake
    """Greatest version among the commands."""


# Failed interactions


class FailedInteraction(Struct, kw_only=True):
    """An interaction to which the application did not respond, or responded incorrectly."""

    id: InteractionId
    """ID of the interaction."""
    type: int
    """Type of the interaction; an `InteractionType`."""
    channel_id: ChannelId
    """ID of the channel in which the interaction took place."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the channel's guild; absent outside guilds."""
    error: str
    """Description of the failure for the application's developers."""


class ListFailedInteractions(Struct, kw_only=True):
    """Query parameters for listing failed interactions, in ascending order of IDs."""

    after: Snowflake | UnsetType = UNSET
    """Only interactions with a higher ID than this; absent for the first page."""
    limit: Annotated[int, Meta(ge=1, le=FAILED_INTERACTIONS_MAX)] = FAILED_INTERACTIONS_MAX
    """Maximum number of interactions to return, 1 to 100; 100 if absent."""


INTERACTION_CREATE = Event(
    "INTERACTION_CREATE",
    Interaction,
    "Sent when a user interacts with an application. "
    "Applications receive it without an intent; the user's own sessions receive only the ID and the nonce.",
)
INTERACTION_SUCCESS = Event(
    "INTERACTION_SUCCESS", InteractionResult, "Sent to the user when the application responded to an interaction."
)
INTERACTION_FAILURE = Event(
    "INTERACTION_FAILURE",
    InteractionFailed,
    "Sent to the user when an interaction failed or the application did not respond in time.",
)
INTERACTION_MODAL_CREATE = Event(
    "INTERACTION_MODAL_CREATE", ModalCreated, "Sent to the user when the application responds with a modal."
)
APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE = Event(
    "APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE",
    AutocompleteResponse,
    "Sent to the user when the application returns autocomplete choices.",
)

_REQUEST_BODY: Any = AnyInteractionRequest
_CALLBACK_BODY: Any = Callback
_UPLOADS: Final = Uploads(file_bytes_max=ATTACHMENT_BYTES_MAX)
_TOKEN_ERRORS: Final = (
    errors.UNKNOWN_WEBHOOK,
    errors.UNKNOWN_CHANNEL,
    errors.UNKNOWN_MESSAGE,
    errors.MISSING_ACCESS,
)

# First-party: lists the commands that a client offers in a channel (decisions/0036).
GET_CHANNEL_APPLICATION_COMMAND_INDEX = Operation(
    "GET",
    "/channels/{channel_id}/application-command-index",
    result=CommandIndex,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS),
    headers=LOCALE_HEADERS,
)

CREATE_INTERACTION = Operation(
    "POST",
    "/interactions",
    body=_REQUEST_BODY,
    auth=Auth.USER,
    raises=(
        errors.UNKNOWN_APPLICATION,
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_GUILD,
        errors.UNKNOWN_MESSAGE,
        errors.UNKNOWN_APPLICATION_COMMAND,
        errors.UNKNOWN_INTERACTION,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.INTERACTION_FAILED_TO_SEND,
        errors.FILE_TOO_LARGE,
        errors.INVALID_FORM_BODY,
    ),
    emits=(
        INTERACTION_CREATE,
        INTERACTION_SUCCESS,
        INTERACTION_FAILURE,
        messages.MESSAGE_CREATE,
        EMBEDDED_ACTIVITY_UPDATE_V2,
    ),
    uploads=_UPLOADS,
)

# The status is 204, or 200 with `with_response`. There is no rate limit bucket, because hikari warns about bucket headers
# on this route (spec/http.md#1.4).
CREATE_INTERACTION_RESPONSE = Operation(
    "POST",
    "/interactions/{interaction_id}/{interaction_token}/callback",
    body=_CALLBACK_BODY,
    query=CallbackQuery,
    result=CallbackResponse,
    other_statuses=(204,),
    auth=Auth.NONE,
    raises=(
        *messages.SEND_ERRORS,
        errors.UNKNOWN_INTERACTION,
        errors.INTERACTION_ALREADY_ACKNOWLEDGED,
        errors.UNKNOWN_MESSAGE,
        errors.THREAD_ARCHIVED,
        errors.THREAD_LOCKED,
        errors.MAX_ACTIVE_THREADS,
        errors.WRONG_CHANNEL_TYPE,
        errors.INVALID_ACTIVITY_ACTION,
        errors.POLL_CANNOT_EDIT,
        errors.VOICE_MESSAGE_EXTRA_CONTENT,
        errors.VOICE_MESSAGE_SINGLE_AUDIO,
        errors.VOICE_MESSAGE_METADATA,
        errors.VOICE_MESSAGE_NOT_ALLOWED,
    ),
    emits=(
        messages.MESSAGE_CREATE,
        messages.MESSAGE_UPDATE,
        INTERACTION_SUCCESS,
        INTERACTION_MODAL_CREATE,
        APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE,
        EMBEDDED_ACTIVITY_UPDATE_V2,
    ),
    limit=None,
    uploads=_UPLOADS,
)

# First-party: the published API does not show failed interactions to the application's owner (decisions/0036).
LIST_FAILED_INTERACTIONS = Operation(
    "GET",
    "/applications/{application_id}/interactions/failed",
    query=ListFailedInteractions,
    result=list[FailedInteraction],
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION),
)

GET_ORIGINAL_WEBHOOK_MESSAGE = Operation(
    "GET",
    "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
    query=webhooks.WebhookQuery,
    result=Message,
    auth=Auth.NONE,
    raises=_TOKEN_ERRORS,
)

UPDATE_ORIGINAL_WEBHOOK_MESSAGE = Operation(
    "PATCH",
    "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
    body=webhooks.UpdateWebhookMessage,
    query=webhooks.UpdateMessageQuery,
    result=Message,
    auth=Auth.NONE,
    raises=(*_TOKEN_ERRORS, *webhooks.UPDATE_ERRORS),
    emits=(messages.MESSAGE_UPDATE,),
    uploads=_UPLOADS,
)

DELETE_ORIGINAL_WEBHOOK_MESSAGE = Operation(
    "DELETE",
    "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
    query=webhooks.WebhookQuery,
    auth=Auth.NONE,
    raises=(*_TOKEN_ERRORS, errors.THREAD_ARCHIVED),
    emits=(messages.MESSAGE_DELETE,),
)
