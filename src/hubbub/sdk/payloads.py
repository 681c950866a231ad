"""What the SDK reads of the wire: every field may be missing, what it does not know it passes over.

These are not the protocol's models on purpose. A game meets platforms older and newer than its SDK, so it must read whatever it
can; and it should not pay for the definition of two hundred models that it never sends (decisions/0041).
"""

from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

T = TypeVar("T")


class UserPayload(Struct):
    """A user, or what was told of one."""

    id: int
    username: str | None = None
    global_name: str | None | UnsetType = UNSET
    avatar: str | None | UnsetType = UNSET
    flags: int | None = None
    public_flags: int | None = None
    bot: bool | None = None


class TimestampsPayload(Struct):
    """Since when and until when."""

    start: int | None = None
    end: int | None = None


class PartyPayload(Struct):
    """Who plays together."""

    id: str | None = None
    size: list[int] | None = None
    privacy: int | None = None


class ActivityPayload(Struct):
    """What somebody does."""

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
    """Whether somebody is there."""

    user: UserPayload | None = None
    user_id: int | None = None
    """Where user objects are told once, presences name only the id."""
    status: str = "offline"
    activities: list[ActivityPayload] = []
    has_played_game: bool | None = None
    guild_id: int | None = None


class ExternalIdPayload(Struct):
    """Who a player is elsewhere."""

    provider_id: str | None = None
    provider_issued_user_id: str | None = None
    provider_type: str | int | None = None


class ProfilePayload(Struct):
    """Who a player is in a game."""

    username: str | None = None
    avatar_hash: str | None = None
    metadata: Any = None
    external_id: ExternalIdPayload | None = None


class ProfilesPayload(Struct):
    """That the game knows a player otherwise."""

    user_id: int
    user_application_profiles: list[ProfilePayload] = []


class RelationshipPayload(Struct):
    """How somebody stands to us, platform-wide."""

    id: int
    type: int | None = None
    user: UserPayload | None = None
    user_id: int | None = None
    is_spam_request: bool | None = None
    has_played_game: bool | None = None
    nickname: str | None = None
    user_application_profiles: list[ProfilePayload] | None = None


class GameRelationshipPayload(Struct):
    """How somebody stands to us in the game."""

    id: int
    type: int = 0
    application_id: int | None = None
    user: UserPayload | None = None
    user_application_profiles: list[ProfilePayload] | None = None


class ChannelPayload(Struct):
    """A conversation."""

    id: int
    type: int = 1
    name: str | None = None
    recipients: list[UserPayload] | None = None
    recipient_ids: list[int] | None = None


class RecipientPayload(Struct):
    """Somebody who came to a group or left it."""

    channel_id: int
    user: UserPayload


class VoiceStatePayload(Struct):
    """Somebody in a call."""

    user_id: int
    lobby_id: int | None = None
    channel_id: int | None = None
    session_id: str | None = None
    self_mute: bool = False
    self_deaf: bool = False


class VoiceServerPayload(Struct):
    """Where a lobby's call is, and what lets us in; without an endpoint there is none yet."""

    lobby_id: int | None = None
    token: str = ""
    endpoint: str | None = None


class MemberPayload(Struct):
    """Somebody in a lobby."""

    id: int | None = None
    user_id: int | None = None
    user: UserPayload | None = None
    metadata: dict[str, str] | None = None
    flags: int = 0
    connected: bool | None = None
    additional_name: str | None = None
    user_application_profiles: list[ProfilePayload] | None = None

    @property
    def who(self) -> int:
        """The user's id; the gateway and HTTP write it differently."""
        return self.user_id or (self.user.id if self.user else 0) or self.id or 0


class LinkedChannelPayload(Struct):
    """The channel of a lobby."""

    id: int
    name: str | None = None
    guild_id: int | None = None


class LobbyPayload(Struct):
    """A lobby; missing metadata, members and voice states leave what is known."""

    id: int
    application_id: int | None = None
    metadata: dict[str, str] | None | UnsetType = UNSET
    members: list[MemberPayload] | UnsetType = UNSET
    flags: int = 0
    linked_channel: LinkedChannelPayload | None = None
    voice_states: list[VoiceStatePayload] | UnsetType = UNSET


class LobbyDeletedPayload(Struct):
    """A lobby is over, or we are out of it."""

    id: int
    reason: str = ""


class LobbyMemberPayload(Struct):
    """A change of who is in a lobby."""

    lobby_id: int
    member: MemberPayload


class MessageActivityPayload(Struct):
    """That a message invites to play."""

    type: int = 0
    party_id: str | None = None
    session_id: str | None = None


class ApplicationPayload(Struct):
    """An application."""

    id: int
    name: str | None = None
    parent_id: int | None = None


class LobbyMemberNamePayload(Struct):
    """The author's other name, as it was when they wrote."""

    additional_name: str | None = None


class PollMediaPayload(Struct):
    """A poll's question."""

    text: str | None = None


class PollPayload(Struct):
    """A poll."""

    question: PollMediaPayload | None = None


class ThreadPayload(Struct):
    """A thread that a message began."""

    name: str | None = None


class MessagePayload(Struct):
    """A message, of a lobby or of a conversation."""

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
    """A message is gone."""

    id: int
    channel_id: int | None = None
    lobby_id: int | None = None


class ActivityInvitePayload(Struct):
    """An invitation for a session that may not read messages."""

    message_id: int | None = None
    channel_id: int | None = None
    author: UserPayload | None = None
    application: ApplicationPayload | None = None
    application_id: int | None = None
    activity: MessageActivityPayload | None = None


class FeatureFlagsPayload(Struct):
    """What is switched off."""

    disabled_functions: list[str] = []
    disabled_gateway_events: list[str] = []


class ReadyPayload(Struct):
    """All that a session begins with (sdk.md 5.4)."""

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
    """The presences of a second READY."""

    friends: list[PresencePayload] = []


class ReadySupplementalPayload(Struct):
    """What did not fit into READY."""

    merged_presences: MergedPresencesPayload | None = None
    lazy_private_channels: list[ChannelPayload] = []
    game_invites: list[ActivityInvitePayload] = []


class MergePayload(Struct):
    """A provisional account became part of ours."""

    source_user_id: int | None = None
    merge_operation_id: str | None = None


class TokenPayload(Struct):
    """The token endpoint's answer."""

    access_token: str
    token_type: str = "Bearer"
    expires_in: int = 0
    refresh_token: str | None = None
    scope: str = ""


class DevicePayload(Struct):
    """What a device shows and asks with."""

    device_code: str
    user_code: str
    verification_uri: str = ""
    verification_uri_complete: str = ""
    expires_in: int = 300
    interval: int = 5


class GrantPayload(Struct):
    """What a token allows: the parts of GET /oauth2/@me that a session needs."""

    application: ApplicationPayload | None = None
    user: UserPayload | None = None
    scopes: list[str] = []
    expires: str = ""


class Frame(Struct):
    """Anything that the gateway says."""

    op: int
    d: msgspec.Raw = msgspec.Raw(b"null")
    s: int | None = None
    t: str | None = None


_decoders: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}


def read(data: bytes | str | msgspec.Raw, kind: type[T]) -> T:
    """JSON to a payload; ids may be strings or numbers."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind, strict=False)
    result: T = decoder.decode(data)
    return result
