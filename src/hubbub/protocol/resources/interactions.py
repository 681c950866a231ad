"""Interactions: a person runs a command, presses, chooses or submits; the app answers, at once or within fifteen minutes."""

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
from hubbub.protocol.numbers import Bits
from hubbub.protocol.operation import Auth, Event, Operation, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages, webhooks
from hubbub.protocol.resources.activity_instances import EMBEDDED_ACTIVITY_UPDATE_V2
from hubbub.protocol.resources.attachments import (
    ATTACHMENT_BYTES_LARGEST,
    ATTACHMENTS_MAX,
    Attachment,
    AttachmentRequest,
)
from hubbub.protocol.resources.channels import AnyChannel
from hubbub.protocol.resources.commands import CHOICES_MAX, LOCALE_HEADERS, ApplicationCommand, ChoiceName, ChoiceValue
from hubbub.protocol.resources.components import COMPONENTS_MAX, CUSTOM_ID_MAX, MODAL_TITLE_MAX, Component
from hubbub.protocol.resources.embeds import EMBEDS_MAX, EmbedRequest
from hubbub.protocol.resources.entitlements import Entitlement
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.messages import AllowedMentions, Content, Message, MessageApplication
from hubbub.protocol.resources.polls import CreatePoll
from hubbub.protocol.resources.roles import Role
from hubbub.protocol.resources.users import User

ANSWER_MS: Final = 3_000
"""So soon an app must answer first."""
TOKEN_MS: Final = 15 * 60_000
"""So long it may go on answering."""
USER_INSTALL_FOLLOW_UPS_MAX: Final = 5
CONVERSATION_PERMISSIONS: Final = Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE
"""What an app may do in its answers outside guilds (webhooks-and-interactions.md 2.1)."""
AUTOCOMPLETE_VALUE_MAX: Final = 100
NONCE_MAX: Final = 64
SESSION_ID_MAX: Final = 64
ENDPOINT_ANSWER_MAX: Final = 25 * 1024 * 1024
"""Bytes of an answer by an application's own address, its files included; larger ones go by the callback route."""
FAILED_INTERACTIONS_MAX: Final = 100

OptionsMax = Meta(max_length=25)


# What a person sends


class OptionValue(Struct, kw_only=True, omit_defaults=True):
    """An option as it was filled in, or a sub-command with those inside it."""

    type: int
    name: str
    value: str | int | float | bool | None | UnsetType = UNSET
    options: "Annotated[list[OptionValue], OptionsMax] | UnsetType" = UNSET
    focused: bool | UnsetType = UNSET
    """While it is being typed: that this is the one."""


class CommandData(Struct, kw_only=True):
    """Which command, with what."""

    id: CommandId
    name: str | UnsetType = UNSET
    type: int | UnsetType = UNSET
    version: Snowflake | None | UnsetType = UNSET
    """The version that the person's client knows."""
    options: Annotated[list[OptionValue], OptionsMax] | None | UnsetType = UNSET
    target_id: Snowflake | None | UnsetType = UNSET
    """The user or message that a context menu was opened on."""
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    """The files of options, named by their `n` in `files[n]`."""


class ComponentData(Struct, kw_only=True):
    """Which component, and what was chosen."""

    component_type: int
    custom_id: Annotated[str, Meta(min_length=1, max_length=CUSTOM_ID_MAX)]
    values: Annotated[list[str], Meta(max_length=25)] | None | UnsetType = UNSET


class ModalSubmission(Struct, kw_only=True):
    """A modal as it was filled in."""

    id: InteractionId
    """The interaction that was answered with the modal."""
    custom_id: Annotated[str, Meta(min_length=1, max_length=CUSTOM_ID_MAX)]
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)]
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET


class Asking(Struct, kw_only=True):
    """What a person says with everything they ask."""

    application_id: ApplicationId
    channel_id: ChannelId
    guild_id: GuildId | None | UnsetType = UNSET
    session_id: Annotated[str, Meta(max_length=SESSION_ID_MAX)] | None | UnsetType = UNSET
    """The gateway session that is told what becomes of it; absent: all of the person's."""
    nonce: int | Annotated[str, Meta(max_length=NONCE_MAX)] | None | UnsetType = UNSET


class RunCommand(Asking, kw_only=True, tag_field="type", tag=2):
    """Run a command."""

    data: CommandData


class UseComponent(Asking, kw_only=True, tag_field="type", tag=3):
    """Press a button, or choose."""

    message_id: MessageId
    data: ComponentData


class CompleteCommand(Asking, kw_only=True, tag_field="type", tag=4):
    """Ask what could be meant by what is typed so far."""

    data: CommandData


class SubmitModal(Asking, kw_only=True, tag_field="type", tag=5):
    """Submit a modal."""

    data: ModalSubmission


Ask = RunCommand | UseComponent | CompleteCommand | SubmitModal


# What the app hears


class Resolved(Struct, kw_only=True, omit_defaults=True):
    """What the ids in an interaction stand for."""

    users: dict[str, User] | UnsetType = UNSET
    members: dict[str, dict[str, Any]] | UnsetType = UNSET
    """Without `user`, `deaf` and `mute`."""
    roles: dict[str, Role] | UnsetType = UNSET
    channels: dict[str, dict[str, Any]] | UnsetType = UNSET
    """With the person's `permissions`, and `app_permissions` where the bot is in the guild."""
    messages: dict[str, Message] | UnsetType = UNSET
    attachments: dict[str, Attachment] | UnsetType = UNSET


class InteractionData(Struct, kw_only=True, omit_defaults=True):
    """What was asked: keys by the interaction's type."""

    id: str | int | UnsetType = UNSET
    """A command's id, which is a string; a component's own, which is a number."""
    name: str | UnsetType = UNSET
    type: int | UnsetType = UNSET
    guild_id: GuildId | UnsetType = UNSET
    options: list[OptionValue] | UnsetType = UNSET
    target_id: Snowflake | UnsetType = UNSET
    custom_id: str | UnsetType = UNSET
    component_type: int | UnsetType = UNSET
    values: list[str] | UnsetType = UNSET
    components: list[Component] | UnsetType = UNSET
    resolved: Resolved | UnsetType = UNSET


class InteractionGuild(Struct, kw_only=True):
    """The little of a guild that an interaction tells."""

    id: GuildId
    features: list[str]
    locale: str


class Interaction(Struct, kw_only=True):
    """What somebody asked of an app."""

    id: InteractionId
    application_id: ApplicationId
    type: int
    token: str
    version: int = 1
    data: InteractionData
    channel_id: ChannelId
    channel: AnyChannel
    guild_id: GuildId | UnsetType = UNSET
    guild: InteractionGuild | UnsetType = UNSET
    guild_locale: str | UnsetType = UNSET
    member: Member | UnsetType = UNSET
    """In a guild, with their permissions in the channel; elsewhere `user`."""
    user: User | UnsetType = UNSET
    locale: str
    message: Message | UnsetType = UNSET
    """Of components, and of modals opened from one."""
    app_permissions: Permissions | UnsetType = UNSET
    """What the app may do in its answers; before user_installs only in guilds."""
    entitlements: list[Entitlement] = []
    """What the person and the guild own of the app now."""
    entitlement_sku_ids: list[Snowflake] = []
    """Their SKUs, where older libraries look."""
    authorizing_integration_owners: dict[str, Snowflake]
    """By installation context: "0" the guild, or 0 in the bot's DM; "1" the user."""
    context: int
    attachment_size_limit: int | UnsetType = UNSET
    """Bytes of each file in an answer; from per_attachment_limit on."""


# What the person hears


class InteractionNote(Struct, kw_only=True):
    """Something became of what the person asked."""

    id: InteractionId
    nonce: int | str | UnsetType = UNSET


class InteractionFailed(InteractionNote, kw_only=True):
    """The app did not answer."""

    reason_code: int
    """2: in time."""


class ModalCreated(InteractionNote, kw_only=True):
    """The app answers with a form to fill in; it is submitted with this id."""

    channel_id: ChannelId
    application: MessageApplication
    custom_id: str
    title: str
    components: list[Component]


class AutocompleteChoice(Struct, kw_only=True):
    """A value that could be meant."""

    name: ChoiceName
    value: ChoiceValue
    name_localizations: dict[str, ChoiceName] | None | UnsetType = UNSET


class AutocompleteResponse(InteractionNote, kw_only=True):
    """What could be meant."""

    choices: list[AutocompleteChoice]


# What the app answers


class CallbackMessage(Struct, kw_only=True):
    """A message to answer with."""

    content: Content | None | UnsetType = UNSET
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    """Absent: users only."""
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    poll: CreatePoll | None | UnsetType = UNSET
    tts: bool | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET


class CallbackFlags(Struct, kw_only=True):
    """How an answer that comes later will show: EPHEMERAL or not."""

    flags: Bits | None | UnsetType = UNSET


class CallbackChoices(Struct, kw_only=True):
    """What could be meant."""

    choices: Annotated[list[AutocompleteChoice], Meta(max_length=CHOICES_MAX)] | None | UnsetType = UNSET


class CallbackModal(Struct, kw_only=True):
    """A form to fill in."""

    custom_id: Annotated[str, Meta(min_length=1, max_length=CUSTOM_ID_MAX)]
    title: Annotated[str, Meta(min_length=1, max_length=MODAL_TITLE_MAX)]
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)]


class Pong(Struct, kw_only=True, tag_field="type", tag=1):
    """PONG."""


class MessageCallback(Struct, kw_only=True, tag_field="type", tag=4):
    """CHANNEL_MESSAGE_WITH_SOURCE."""

    data: CallbackMessage | None | UnsetType = UNSET


class DeferredMessageCallback(Struct, kw_only=True, tag_field="type", tag=5):
    """DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE."""

    data: CallbackFlags | None | UnsetType = UNSET


class DeferredUpdateCallback(Struct, kw_only=True, tag_field="type", tag=6):
    """DEFERRED_UPDATE_MESSAGE."""


class UpdateCallback(Struct, kw_only=True, tag_field="type", tag=7):
    """UPDATE_MESSAGE."""

    data: CallbackMessage | None | UnsetType = UNSET


class AutocompleteCallback(Struct, kw_only=True, tag_field="type", tag=8):
    """APPLICATION_COMMAND_AUTOCOMPLETE_RESULT."""

    data: CallbackChoices


class ModalCallback(Struct, kw_only=True, tag_field="type", tag=9):
    """MODAL."""

    data: CallbackModal


class PremiumCallback(Struct, kw_only=True, tag_field="type", tag=10):
    """PREMIUM_REQUIRED; deprecated, and answered."""


class LaunchCallback(Struct, kw_only=True, tag_field="type", tag=12):
    """LAUNCH_ACTIVITY."""


Callback = (
    Pong
    | MessageCallback
    | DeferredMessageCallback
    | DeferredUpdateCallback
    | UpdateCallback
    | AutocompleteCallback
    | ModalCallback
    | PremiumCallback
    | LaunchCallback
)


class CallbackQuery(Struct, kw_only=True):
    """How to be answered."""

    with_response: bool = False


class CallbackInteraction(Struct, kw_only=True):
    """The interaction that was answered."""

    id: InteractionId
    type: int
    activity_instance_id: str | UnsetType = UNSET
    response_message_id: MessageId | UnsetType = UNSET
    response_message_loading: bool | UnsetType = UNSET
    response_message_ephemeral: bool | UnsetType = UNSET
    channel_id: ChannelId | UnsetType = UNSET
    guild_id: GuildId | UnsetType = UNSET


class CallbackActivity(Struct, kw_only=True):
    """The activity that was launched or joined."""

    id: str


class CallbackResource(Struct, kw_only=True):
    """What the answer made."""

    type: int
    message: Message | UnsetType = UNSET
    activity_instance: CallbackActivity | UnsetType = UNSET


class CallbackResponse(Struct, kw_only=True):
    """What became of an answer."""

    interaction: CallbackInteraction
    resource: CallbackResource | UnsetType = UNSET


# What people find


class CommandIndex(Struct, kw_only=True):
    """The commands that somebody may use in a place, with the applications that offer them."""

    applications: list[MessageApplication]
    application_commands: list[ApplicationCommand]
    version: Snowflake
    """The newest version among the commands."""


# What its owner sees of it


class FailedInteraction(Struct, kw_only=True):
    """An interaction that an application's own address did not answer, or not as it must."""

    id: InteractionId
    type: int
    channel_id: ChannelId
    guild_id: GuildId | UnsetType = UNSET
    error: str
    """What went wrong."""


class ListFailedInteractions(Struct, kw_only=True):
    """Which of them."""

    after: Snowflake | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=FAILED_INTERACTIONS_MAX)] = FAILED_INTERACTIONS_MAX


# To apps without an intent; the person's own sessions are told the id and the nonce.
INTERACTION_CREATE = Event("INTERACTION_CREATE", Interaction)
INTERACTION_SUCCESS = Event("INTERACTION_SUCCESS", InteractionNote)
INTERACTION_FAILURE = Event("INTERACTION_FAILURE", InteractionFailed)
INTERACTION_MODAL_CREATE = Event("INTERACTION_MODAL_CREATE", ModalCreated)
APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE = Event("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE", AutocompleteResponse)

_BODY_OF_ASK: Any = Ask
_BODY_OF_CALLBACK: Any = Callback
_UPLOADS: Final = Uploads(largest=ATTACHMENT_BYTES_LARGEST)
_BY_TOKEN: Final = (errors.UNKNOWN_WEBHOOK, errors.UNKNOWN_CHANNEL, errors.UNKNOWN_MESSAGE)

# First-party: people's clients ask this before they offer anything (decisions/0036).
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
    body=_BODY_OF_ASK,
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

# 204, or 200 `with_response`. Without a bucket: hikari complains of bucket headers here (http.md 1.4).
CREATE_INTERACTION_RESPONSE = Operation(
    "POST",
    "/interactions/{interaction_id}/{interaction_token}/callback",
    body=_BODY_OF_CALLBACK,
    query=CallbackQuery,
    result=CallbackResponse,
    also=(204,),
    auth=Auth.NONE,
    raises=(
        *messages.SEND_REFUSALS,
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

# First-party: the wire says that the person is told, not how the application's owner sees it (decisions/0036).
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
    raises=_BY_TOKEN,
)

UPDATE_ORIGINAL_WEBHOOK_MESSAGE = Operation(
    "PATCH",
    "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
    body=webhooks.UpdateWebhookMessage,
    query=webhooks.UpdateMessageQuery,
    result=Message,
    auth=Auth.NONE,
    raises=(
        *_BY_TOKEN,
        errors.MISSING_PERMISSIONS,
        errors.EMPTY_MESSAGE,
        errors.MAX_ATTACHMENTS,
        errors.FILE_TOO_LARGE,
        errors.POLL_CANNOT_EDIT,
        errors.POLL_CANNOT_USE_EMOJI,
        errors.POLL_INVALID_CHANNEL_TYPE,
        errors.VOICE_MESSAGE_CANNOT_EDIT,
        errors.THREAD_ARCHIVED,
        errors.THREAD_LOCKED,
        errors.INVALID_FORM_BODY,
    ),
    emits=(messages.MESSAGE_UPDATE,),
    uploads=_UPLOADS,
)

DELETE_ORIGINAL_WEBHOOK_MESSAGE = Operation(
    "DELETE",
    "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
    query=webhooks.WebhookQuery,
    auth=Auth.NONE,
    raises=(*_BY_TOKEN, errors.THREAD_ARCHIVED),
    emits=(messages.MESSAGE_DELETE,),
)
