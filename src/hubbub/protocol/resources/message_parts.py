"""Parts of messages: calls, activities, applications, interactions and other objects that messages contain."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.enums import BaseTheme
from hubbub.protocol.ids import (
    ApplicationId,
    ChannelId,
    GuildId,
    MessageId,
    Snowflake,
    Timestamp,
    UserId,
)
from hubbub.protocol.resources.members import PartialMember
from hubbub.protocol.resources.users import User


class MessageCall(Struct, kw_only=True):
    """A call in a private channel."""

    participants: list[UserId]
    """IDs of the users who took part in the call."""
    ended_timestamp: Timestamp | None | UnsetType = UNSET
    """Time at which the call ended; null or absent while it continues."""


class MessageActivity(Struct, kw_only=True):
    """An activity invite; fields that the sender did not set are absent."""

    type: int
    """Type of the invite; an `ActivityActionType`."""
    party_id: str | UnsetType = UNSET
    """ID of the party to join."""
    session_id: str | UnsetType = UNSET
    """ID of the sender's gateway session that shows the activity."""


class MessageApplication(Struct, kw_only=True):
    """The application that sent a message, or that an invite, command or modal belongs to.

    Optional fields that are not set are absent."""

    id: ApplicationId
    """ID of the application."""
    name: str
    """Name of the application."""
    icon: str | None
    """Icon hash of the application; null if it has no icon."""
    description: str
    """Description of the application."""
    type: int | None
    """Type of the application; always null."""
    cover_image: str | UnsetType = UNSET
    """Hash of the cover image."""
    primary_sku_id: Snowflake | UnsetType = UNSET
    """ID of the SKU of the game; always absent."""
    parent_id: ApplicationId | UnsetType = UNSET
    """ID of the publisher's application; sent with invites to a game."""
    bot: User | UnsetType = UNSET
    """Bot user of the application; always absent."""


class MessageInteraction(Struct, kw_only=True):
    """The command that a message responds to.

    Deprecated in favor of the metadata of the interaction.
    """

    id: Snowflake
    """ID of the interaction."""
    type: int
    """Type of the interaction; an `InteractionType`."""
    name: str
    """Name of the command, including subcommands."""
    user: User
    """User who invoked the command."""
    name_localized: str | UnsetType = UNSET
    """Name of the command in the user's locale; always absent."""
    member: PartialMember | UnsetType = UNSET
    """Member who invoked the command; sent in gateway events of guilds."""


class InteractionMetadata(Struct, kw_only=True):
    """The interaction from which a message was created."""

    id: Snowflake
    """ID of the interaction."""
    type: int
    """Type of the interaction; an `InteractionType`."""
    user: User
    """User who invoked the interaction."""
    authorizing_integration_owners: dict[str, Snowflake]
    """IDs of the installing owners by integration type: "0" is the guild ID, or 0 in a DM with the bot; "1" is the user ID."""
    original_response_message_id: MessageId | UnsetType = UNSET
    """ID of the first response; present on follow-ups."""
    target_user: User | UnsetType = UNSET
    """Target of a user command; absent for other interactions."""
    target_message_id: MessageId | UnsetType = UNSET
    """ID of the target of a message command; absent for other interactions."""
    interacted_message_id: MessageId | UnsetType = UNSET
    """ID of the message that contains the component; present on responses to components."""
    triggering_interaction_metadata: "InteractionMetadata | UnsetType" = UNSET
    """Interaction that opened the modal; present on responses to modals."""


class MentionedChannel(Struct, kw_only=True):
    """A channel mentioned in a crossposted message."""

    id: ChannelId
    """ID of the channel."""
    guild_id: GuildId
    """ID of the channel's guild."""
    type: int
    """Type of the channel; a `ChannelType`."""
    name: str
    """Name of the channel."""


class RoleSubscription(Struct, kw_only=True):
    """A purchase or renewal of a role subscription."""

    role_subscription_listing_id: Snowflake
    """ID of the SKU and listing that the user subscribed to."""
    tier_name: str
    """Name of the subscription tier."""
    total_months_subscribed: int
    """Total number of months for which the user has subscribed."""
    is_renewal: bool
    """Whether this is a renewal rather than a new purchase."""


class MessageLobbyMember(Struct, kw_only=True):
    """The name under which a lobby message was sent."""

    additional_name: str
    """Additional name of the author in the lobby at the time of sending."""


class SharedClientTheme(Struct, kw_only=True):
    """A color theme shared in a message."""

    colors: Annotated[list[Annotated[str, Meta(min_length=6, max_length=6)]], Meta(min_length=1, max_length=5)]
    """Colors of the theme as six hexadecimal digits each, from one to five."""
    gradient_angle: Annotated[int, Meta(ge=0, le=360)]
    """Direction of the gradient in degrees."""
    base_mix: Annotated[int, Meta(ge=0, le=100)]
    """Intensity of the colors over the base theme, in percent."""
    base_theme: BaseTheme | None | UnsetType = UNSET
    """Base theme of the colors; null or absent if it is not set."""
