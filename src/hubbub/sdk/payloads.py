"""Wire models of the SDK, reduced to the fields that it reads; most fields are optional and unknown ones ignored.

They are separate from the protocol's models on purpose: a game must work with older and newer platforms than its SDK,
and should not pay at import for two hundred models that it never sends (decisions/0041).
"""

from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

T = TypeVar("T")


class UserPayload(Struct):
    """A user, possibly with some fields missing."""

    id: int
    username: str | None = None
    global_name: str | None | UnsetType = UNSET
    avatar: str | None | UnsetType = UNSET
    flags: int | None = None
    public_flags: int | None = None
    bot: bool | None = None


class TimestampsPayload(Struct):
    """Start and end of an activity, in Unix milliseconds."""

    start: int | None = None
    end: int | None = None


class PartyPayload(Struct):
    """The party of an activity."""

    id: str | None = None
    size: list[int] | None = None
    """Current and maximum number of players."""
    privacy: int | None = None


class ActivityPayload(Struct):
    """An activity of a user."""

    name: str = ""
    type: int = 0
    application_id: int | None = None
    parent_application_id: int | None = None
    session_id: str | None = None
    status_display_type: int | None = None
    state: str | None = None
    state_url: str | None = None
    details: str | None = None
    details_url: str | None = None
    assets: dict[str, str | None] | None = None
    timestamps: TimestampsPayload | None = None
    party: PartyPayload | None = None
    supported_platforms: list[str] | None = None
    buttons: list[Any] | None = None
    flags: int | None = None


class PresencePayload(Struct):
    """The online status and the activities of a user."""

    user: UserPayload | None = None
    user_id: int | None = None
    """ID of the user; sent instead of `user` if user objects are deduplicated."""
    status: str = "offline"
    activities: list[ActivityPayload] = []
    has_played_game: bool | None = None
    guild_id: int | None = None


class ExternalIdPayload(Struct):
    """Identity of a user at an external provider."""

    provider_id: str | None = None
    provider_issued_user_id: str | None = None
    provider_type: str | int | None = None


class ProfilePayload(Struct):
    """Application profile of a user."""

    username: str | None = None
    avatar_hash: str | None = None
    metadata: Any = None
    external_id: ExternalIdPayload | None = None


class ProfilesPayload(Struct):
    """Change of the application profiles of a user."""

    user_id: int
    user_application_profiles: list[ProfilePayload] = []


class RelationshipPayload(Struct):
    """Platform relationship to another user, who is identified by `id`."""

    id: int
    type: int | None = None
    user: UserPayload | None = None
    user_id: int | None = None
    is_spam_request: bool | None = None
    has_played_game: bool | None = None
    nickname: str | None = None
    user_application_profiles: list[ProfilePayload] | None = None


class GameRelationshipPayload(Struct):
    """Game relationship to another user, who is identified by `id`."""

    id: int
    type: int = 0
    application_id: int | None = None
    user: UserPayload | None = None
    user_application_profiles: list[ProfilePayload] | None = None


class ChannelPayload(Struct):
    """A private channel."""

    id: int
    type: int = 1
    name: str | None = None
    recipients: list[UserPayload] | None = None
    recipient_ids: list[int] | None = None


class RecipientPayload(Struct):
    """A recipient added to or removed from a group."""

    channel_id: int
    user: UserPayload


class VoiceStatePayload(Struct):
    """Voice state of a participant; `channel_id` is None after the user left the call."""

    user_id: int
    lobby_id: int | None = None
    channel_id: int | None = None
    session_id: str | None = None
    self_mute: bool = False
    self_deaf: bool = False


class VoiceServerPayload(Struct):
    """Voice server and token for a lobby's call; without an endpoint no server is assigned yet."""

    lobby_id: int | None = None
    token: str = ""
    endpoint: str | None = None


class MemberPayload(Struct):
    """A lobby member."""

    id: int | None = None
    user_id: int | None = None
    user: UserPayload | None = None
    metadata: dict[str, str] | None = None
    flags: int = 0
    connected: bool | None = None
    additional_name: str | None = None
    user_application_profiles: list[ProfilePayload] | None = None

    @property
    def member_user_id(self) -> int:
        """ID of the user; the gateway and the HTTP API send it in different fields."""
        return self.user_id or (self.user.id if self.user else 0) or self.id or 0


class LinkedChannelPayload(Struct):
    """The channel that a lobby is linked to."""

    id: int
    name: str | None = None
    guild_id: int | None = None


class LobbyPayload(Struct):
    """A lobby; missing metadata, members and voice states are unchanged."""

    id: int
    application_id: int | None = None
    metadata: dict[str, str] | None | UnsetType = UNSET
    members: list[MemberPayload] | UnsetType = UNSET
    flags: int = 0
    linked_channel: LinkedChannelPayload | None = None
    voice_states: list[VoiceStatePayload] | UnsetType = UNSET


class LobbyDeletedPayload(Struct):
    """A lobby that was deleted or that the current user left."""

    id: int
    reason: str = ""


class LobbyMemberPayload(Struct):
    """A change of a lobby member."""

    lobby_id: int
    member: MemberPayload


class MessageActivityPayload(Struct):
    """Activity invite in a message."""

    type: int = 0
    party_id: str | None = None
    session_id: str | None = None


class ApplicationPayload(Struct):
    """An application."""

    id: int
    name: str | None = None
    parent_id: int | None = None


class LobbyMemberNamePayload(Struct):
    """Additional name of the author when the message was sent."""

    additional_name: str | None = None


class PollMediaPayload(Struct):
    """Question of a poll."""

    text: str | None = None


class PollPayload(Struct):
    """A poll."""

    question: PollMediaPayload | None = None


class ThreadPayload(Struct):
    """Thread that was started from a message."""

    name: str | None = None


class MessagePayload(Struct):
    """A lobby message or a direct message."""

    id: int
    channel_id: int = 0
    lobby_id: int | None = None
    guild_id: int | None = None
    author: UserPayload | None = None
    content: str | None = None
    timestamp: str | None = None
    edited_timestamp: str | None = None
    type: int = 0
    flags: int | None = None
    metadata: dict[str, str] | None = None
    moderation_metadata: dict[str, str] | None | UnsetType = UNSET
    application_id: int | None = None
    application: ApplicationPayload | None = None
    activity: MessageActivityPayload | None = None
    lobby_member: LobbyMemberNamePayload | None = None
    channel: ChannelPayload | None = None
    recipient_id: int | None = None
    mentions: list[UserPayload] | None = None
    attachments: list[Any] | None = None
    embeds: list[Any] | None = None
    sticker_items: list[Any] | None = None
    poll: PollPayload | None = None
    thread: ThreadPayload | None = None


class MessageDeletedPayload(Struct):
    """A deleted message."""

    id: int
    channel_id: int | None = None
    lobby_id: int | None = None


class ActivityInvitePayload(Struct):
    """An activity invite for a session whose scopes do not allow reading messages."""

    message_id: int | None = None
    channel_id: int | None = None
    author: UserPayload | None = None
    application: ApplicationPayload | None = None
    application_id: int | None = None
    activity: MessageActivityPayload | None = None


class FeatureFlagsPayload(Struct):
    """Functions and events that the platform disabled."""

    disabled_functions: list[str] = []
    disabled_gateway_events: list[str] = []


class ReadyPayload(Struct):
    """Payload of READY: the initial state of a session (spec/sdk.md#5.4)."""

    user: UserPayload
    session_id: str
    resume_gateway_url: str | None = None
    users: list[UserPayload] = []
    scopes: list[str] = []
    application: ApplicationPayload | None = None
    relationships: list[RelationshipPayload] = []
    game_relationships: list[GameRelationshipPayload] = []
    private_channels: list[ChannelPayload] = []
    lobbies: list[LobbyPayload] = []
    presences: list[PresencePayload] = []
    user_application_profiles: dict[str, list[ProfilePayload]] = {}
    game_invites: list[ActivityInvitePayload] = []
    feature_flags: FeatureFlagsPayload | None = None
    av_sf_protocol_floor: int | None = None


class MergedPresencesPayload(Struct):
    """Presences in READY_SUPPLEMENTAL."""

    friends: list[PresencePayload] = []


class ReadySupplementalPayload(Struct):
    """Payload of READY_SUPPLEMENTAL: the second part of the initial state."""

    merged_presences: MergedPresencesPayload | None = None
    lazy_private_channels: list[ChannelPayload] = []
    game_invites: list[ActivityInvitePayload] = []


class MergePayload(Struct):
    """A provisional account that was merged into the current user's account."""

    source_user_id: int | None = None
    """ID of the provisional account."""
    merge_operation_id: str | None = None


class GrantPayload(Struct):
    """Application, user, scopes and expiry of a token, from GET /oauth2/@me."""

    application: ApplicationPayload | None = None
    user: UserPayload | None = None
    scopes: list[str] = []
    expires: str = ""
    """Expiry of the token as an ISO 8601 timestamp; empty if it is unknown."""


class GatewayFrame(Struct):
    """A gateway message."""

    op: int
    """Opcode."""
    d: msgspec.Raw = msgspec.Raw(b"null")
    """Payload, not yet decoded."""
    s: int | None = None
    """Sequence number of an event; None for other messages."""
    t: str | None = None
    """Name of an event; None for other messages."""


_decoders: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}
"""Decoders by payload type, created on first use."""


def decode_payload(data: bytes | str | msgspec.Raw, kind: type[T]) -> T:
    """Decode JSON to a payload of type `kind`; IDs may be strings or numbers."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind, strict=False)
    result: T = decoder.decode(data)
    return result
