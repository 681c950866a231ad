"""Interaction callbacks: the initial responses of applications to interactions, and the results of sending them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.ids import ChannelId, GuildId, InteractionId, MessageId
from hubbub.protocol.numbers import Bits
from hubbub.protocol.resources.attachments import ATTACHMENTS_MAX, AttachmentRequest
from hubbub.protocol.resources.commands import CHOICES_MAX, ChoiceName, ChoiceValue
from hubbub.protocol.resources.components import COMPONENTS_MAX, CUSTOM_ID_MAX, MODAL_TITLE_MAX, Component
from hubbub.protocol.resources.embeds import EMBEDS_MAX, EmbedRequest
from hubbub.protocol.resources.messages import AllowedMentions, Content, Message
from hubbub.protocol.resources.polls import CreatePoll


class AutocompleteChoice(Struct, kw_only=True):
    """A choice offered while the user types an option."""

    name: ChoiceName
    """Name of the choice, shown to the user, 1 to 100 characters."""
    value: ChoiceValue
    """Value of the option if the user selects the choice."""
    name_localizations: dict[str, ChoiceName] | None | UnsetType = UNSET
    """Translations of the name by locale; absent or null for none."""


class CallbackMessage(Struct, kw_only=True):
    """A message that responds to an interaction, or the changes to a message; null is treated as absent in a new message."""

    content: Content | None | UnsetType = UNSET
    """Text of the message."""
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    """Embeds of the message, at most 10."""
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    """Mentions that send a notification; if absent or null, mentions of users only."""
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    """Components of the message."""
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    """Metadata of the uploaded files, at most 10; in an update also the existing attachments to keep."""
    poll: CreatePoll | None | UnsetType = UNSET
    """Poll to attach to the message."""
    tts: bool | None | UnsetType = UNSET
    """Whether the message is read aloud with text-to-speech."""
    flags: Bits | None | UnsetType = UNSET
    """Flags of the message, such as EPHEMERAL, SUPPRESS_EMBEDS and IS_COMPONENTS_V2; a `MessageFlags` bit set."""


class CallbackFlags(Struct, kw_only=True):
    """Options of a deferred response."""

    flags: Bits | None | UnsetType = UNSET
    """Flags of the later message; only EPHEMERAL has an effect."""


class CallbackChoices(Struct, kw_only=True):
    """Choices of an autocomplete response."""

    choices: Annotated[list[AutocompleteChoice], Meta(max_length=CHOICES_MAX)] | None | UnsetType = UNSET
    """Choices to offer, at most 25; absent or null for none."""


class CallbackModal(Struct, kw_only=True):
    """A modal sent as the response to an interaction."""

    custom_id: Annotated[str, Meta(min_length=1, max_length=CUSTOM_ID_MAX)]
    """Identifier that the application receives when the modal is submitted, 1 to 100 characters."""
    title: Annotated[str, Meta(min_length=1, max_length=MODAL_TITLE_MAX)]
    """Title of the modal, 1 to 45 characters."""
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)]
    """Components of the modal."""


class Pong(Struct, kw_only=True, tag_field="type", tag=1):
    """Type 1, PONG: acknowledges a PING."""


class MessageCallback(Struct, kw_only=True, tag_field="type", tag=4):
    """Type 4, CHANNEL_MESSAGE_WITH_SOURCE: responds with a message."""

    data: CallbackMessage | None | UnsetType = UNSET
    """Message to send; may be absent or null if the request uploads files."""


class DeferredMessageCallback(Struct, kw_only=True, tag_field="type", tag=5):
    """Type 5, DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE: shows a loading state until the message is sent."""

    data: CallbackFlags | None | UnsetType = UNSET
    """Options of the later message; absent or null for the defaults."""


class DeferredUpdateCallback(Struct, kw_only=True, tag_field="type", tag=6):
    """Type 6, DEFERRED_UPDATE_MESSAGE: acknowledges a component without a loading state."""


class UpdateCallback(Struct, kw_only=True, tag_field="type", tag=7):
    """Type 7, UPDATE_MESSAGE: edits the message that contains the component."""

    data: CallbackMessage | None | UnsetType = UNSET
    """Changes to the message; absent or null for none."""


class AutocompleteCallback(Struct, kw_only=True, tag_field="type", tag=8):
    """Type 8, APPLICATION_COMMAND_AUTOCOMPLETE_RESULT: offers choices for an option."""

    data: CallbackChoices
    """Choices to offer."""


class ModalCallback(Struct, kw_only=True, tag_field="type", tag=9):
    """Type 9, MODAL: opens a modal."""

    data: CallbackModal
    """Modal to open."""


class PremiumCallback(Struct, kw_only=True, tag_field="type", tag=10):
    """Type 10, PREMIUM_REQUIRED: shows an upgrade prompt.

    Deprecated in favor of premium buttons.
    """


class LaunchCallback(Struct, kw_only=True, tag_field="type", tag=12):
    """Type 12, LAUNCH_ACTIVITY: launches the application's activity."""


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
"""A callback of any type; the field `type` selects the class."""


class CallbackQuery(Struct, kw_only=True):
    """Query parameters of an interaction response."""

    with_response: bool = False
    """Whether to return a `CallbackResponse` with status 200 instead of an empty response with status 204."""


class CallbackInteraction(Struct, kw_only=True):
    """The interaction that was responded to."""

    id: InteractionId
    """ID of the interaction."""
    type: int
    """Type of the interaction; an `InteractionType`."""
    activity_instance_id: str | UnsetType = UNSET
    """ID of the launched activity instance; absent if none was launched."""
    response_message_id: MessageId | UnsetType = UNSET
    """ID of the message created or edited by the response; absent if there is none."""
    response_message_loading: bool | UnsetType = UNSET
    """Whether the message still shows a loading state; absent if there is no message."""
    response_message_ephemeral: bool | UnsetType = UNSET
    """Whether only the user who created the interaction can see the message; absent if there is no message."""
    channel_id: ChannelId | UnsetType = UNSET
    """ID of the channel in which the interaction took place."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the channel's guild; absent outside guilds."""


class CallbackActivity(Struct, kw_only=True):
    """The activity instance launched or joined by a response."""

    id: str
    """ID of the activity instance."""


class CallbackResource(Struct, kw_only=True):
    """The object created or edited by a response."""

    type: int
    """Type of the response; an `InteractionCallbackType`."""
    message: Message | UnsetType = UNSET
    """Created or edited message; present for CHANNEL_MESSAGE_WITH_SOURCE and UPDATE_MESSAGE."""
    activity_instance: CallbackActivity | UnsetType = UNSET
    """Launched activity instance; present for LAUNCH_ACTIVITY."""


class CallbackResponse(Struct, kw_only=True):
    """The result of an interaction response."""

    interaction: CallbackInteraction
    """Interaction that was responded to."""
    resource: CallbackResource | UnsetType = UNSET
    """Object created or edited by the response; absent if there is none."""
