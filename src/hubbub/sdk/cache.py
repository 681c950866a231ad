"""In-memory cache of users, relationships, channels, lobbies and recent messages.

The cache holds data only. The caller holds the client's lock, and `events.py` decides which callbacks a change
triggers. Payloads are merged into records of the cache: a missing field usually leaves the cached value. The methods
that merge payloads describe the exceptions.
"""

import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from hubbub.sdk import resources
from hubbub.sdk.enums import AdditionalContentType, ChannelType, RelationshipType
from hubbub.sdk.tolerant_models import has_value, sent_or, value_or

if TYPE_CHECKING:
    from hubbub.protocol.resources.channels import AnyChannel, Channel
    from hubbub.protocol.resources.identities import UserApplicationProfile
    from hubbub.protocol.resources.lobbies import (
        GatewayLobby,
        GatewayLobbyMember,
        LinkedLobbyMessage,
        Lobby,
        LobbyMember,
        LobbyVoiceState,
    )
    from hubbub.protocol.resources.presence import Activity, Presence
    from hubbub.protocol.resources.relationships import AddedRelationship, GameRelationship, Relationship
    from hubbub.protocol.resources.user_messages import DispatchedUserMessage, UserMessage
    from hubbub.protocol.resources.users import PartialUser, User

    AnyMessage: TypeAlias = DispatchedUserMessage | UserMessage | LinkedLobbyMessage
    """A direct message of an event or a response, or a message of a lobby."""

CHANNEL_MESSAGES_MAX: Final = 25
"""Maximum number of recent messages cached per channel (spec/sdk.md#11.2)."""
HISTORY_MESSAGES_MAX: Final = 200
"""Maximum number of direct messages cached per user."""
DIRECT_MESSAGE_TYPES: Final = frozenset((ChannelType.DM, ChannelType.EPHEMERAL_DM))
"""Channel types with two participants: direct messages and ephemeral direct messages."""
OFFLINE_STATUS: Final = "offline"


class CachedUser(Struct):
    """The fields of a user that a game can read."""

    username: str
    global_name: str | None = None
    avatar: str | None = None
    flags: int = 0
    public_flags: int = 0


class CachedPresence(Struct):
    """The online status and the activities of a user."""

    status: str = OFFLINE_STATUS
    activities: "list[Activity]" = []
    has_played_game: bool | None = None
    """Whether the user has played the game; None if it is unknown."""


class CachedRelationship(Struct):
    """The platform and game relationships of the current user to another user."""

    platform: int = 0
    """Type of the platform relationship; 0 if there is none."""
    game: int = 0
    """Type of the game relationship; 0 if there is none."""
    is_spam: bool = False
    """Whether the platform classified an incoming friend request as spam."""
    has_played: bool = False
    """Whether the other user has played the game."""


class CachedChannel(Struct):
    """A private channel, a lobby, or a channel linked to a lobby."""

    type: int
    name: str = ""
    recipient_ids: Sequence[int] = []
    """User IDs of the recipients of a private channel."""


class CachedMember(Struct):
    """A lobby member."""

    metadata: dict[str, str] = {}
    flags: int = 0
    is_connected: bool | None = None
    """Whether the member is connected; None if it is unknown, because HTTP responses do not contain it."""
    additional_name: str | None = None


class CachedVoiceState(Struct):
    """The voice state of a participant in a lobby's call."""

    session_id: str = ""
    """ID of the participant's session; empty if it is unknown."""
    self_mute: bool = False
    self_deaf: bool = False


class CachedLinkedChannel(NamedTuple):
    """The channel that a lobby is linked to."""

    id: int
    name: str
    guild_id: int


class CachedLobby(Struct):
    """The current state of a lobby."""

    id: int
    application_id: int = 0
    metadata: dict[str, str] = {}
    members: dict[int, CachedMember] = {}
    """Members by user ID."""
    flags: int = 0
    linked_channel: CachedLinkedChannel | None = None
    voice_states: dict[int, CachedVoiceState] = {}
    """Voice states of the participants of the lobby's call by user ID."""


class ContentSummary(NamedTuple):
    """Content of a message that a game cannot render as text."""

    item_count: int
    title: str | None = None


class CachedMessage(Struct, eq=False, weakref=True):
    """The current state of a message, shared by its handles so that they see later changes."""

    id: int
    channel_id: int = 0
    """ID of the channel; for a lobby message, the ID of the linked channel or of the lobby."""
    lobby_id: int = 0
    """ID of the lobby; 0 outside of lobbies."""
    author_id: int = 0
    content: str = ""
    edited_timestamp: str = ""
    """Time of the last edit as an ISO 8601 timestamp; empty if the message was not edited."""
    flags: int = 0
    metadata: dict[str, str] = {}
    moderation_metadata: dict[str, str] = {}
    application_id: int | None = None
    additional_name: str | None = None
    """Additional name of the author in the lobby when the message was sent."""
    additional_content: dict[AdditionalContentType, ContentSummary] = {}
    """Content that is not text, by kind; files of a voice message are attachments."""
    other_user_id: int = 0
    """User ID of the other participant of a direct message conversation; 0 elsewhere."""
    disclosure: int | None = None
    """Value of `DisclosureTypes` for a message that the SDK inserted; None for a message of a user."""

    def update(self, payload: "AnyMessage") -> None:
        """Merge a payload into the message; missing and null fields stay unchanged, with two exceptions.

        A null `moderation_metadata` clears the metadata, and a `lobby_member` without an additional name clears the name."""
        self.channel_id = payload.channel_id or self.channel_id
        self.author_id = payload.author.id if payload.author else self.author_id
        self.content = value_or(payload.content, self.content)
        self.edited_timestamp = payload.edited_timestamp or self.edited_timestamp
        self.flags = value_or(payload.flags, self.flags)
        self.metadata = value_or(payload.metadata, self.metadata)
        # A null means that the moderation metadata was removed.
        self.moderation_metadata = sent_or(payload.moderation_metadata, self.moderation_metadata) or {}
        self.application_id = payload.application_id or self.application_id
        if payload.lobby_member:
            self.additional_name = payload.lobby_member.additional_name or None
        self.additional_content = self.additional_content | dict(_additional_content(payload))


class MessageHistory:
    """The newest direct messages with one user, without gaps."""

    __slots__ = ("is_complete", "messages")

    def __init__(self) -> None:
        self.messages: deque[CachedMessage] = deque(maxlen=HISTORY_MESSAGES_MAX)
        """The messages, newest first."""
        self.is_complete = False
        """Whether the platform has no older messages."""

    def add(self, message: CachedMessage) -> None:
        """Insert a new message in order of its ID, unless it is present already, or older than a full history."""
        position = next(
            (index for index, cached in enumerate(self.messages) if cached.id <= message.id), len(self.messages)
        )
        if position == HISTORY_MESSAGES_MAX or (
            position < len(self.messages) and self.messages[position].id == message.id
        ):
            return
        if len(self.messages) == HISTORY_MESSAGES_MAX:
            self.messages.pop()
        self.messages.insert(position, message)

    def can_serve(self, limit: int) -> bool:
        """Return whether the history can serve `limit` messages without a request."""
        return len(self.messages) >= limit or self.is_complete


class Cache:
    """The cache of one client."""

    def __init__(self) -> None:
        self.current_user_id: int = 0
        """ID of the current user; 0 before the first session."""
        self.users: dict[int, CachedUser] = {}
        """Users by ID."""
        self.presences: dict[int, CachedPresence] = {}
        """Presences by user ID."""
        self.relationships: dict[int, CachedRelationship] = {}
        """Relationships of the current user by the ID of the other user."""
        self.profiles: dict[int, list[UserApplicationProfile]] = {}
        """Application profiles by user ID."""
        self.channels: dict[int, CachedChannel] = {}
        """Private channels, lobbies and channels linked to lobbies, by channel ID or lobby ID."""
        self.lobbies: dict[int, CachedLobby] = {}
        """Lobbies by ID."""
        self.histories: dict[int, MessageHistory] = {}
        """Direct messages by the ID of the other user."""
        self._recent: dict[int, deque[CachedMessage]] = {}
        """Recent messages by `_channel_key`, oldest first."""
        self._messages: weakref.WeakValueDictionary[int, CachedMessage] = weakref.WeakValueDictionary()
        """All messages that the cache or a handle still holds, by ID."""

    def clear(self) -> None:
        """Remove everything except messages that a handle still holds."""
        self.current_user_id = 0
        for entries in (
            self.users,
            self.presences,
            self.relationships,
            self.profiles,
            self.channels,
            self.lobbies,
            self.histories,
            self._recent,
        ):
            entries.clear()

    def start_session(self) -> None:
        """Remove everything except users and recent messages; the READY of a new session repeats the rest, except histories."""
        users, recent = dict(self.users), dict(self._recent)
        self.clear()
        # READY may name known users by ID only, and messages stay readable. Histories may have a gap and are dropped.
        self.users.update(users)
        self._recent.update(recent)

    # Users

    def update_user(self, payload: "User | PartialUser | None") -> bool:
        """Merge a user into the cache and return whether anything changed; null clears the display name and the avatar.

        A user without a username, in the payload or in the cache, is ignored."""
        if not payload:
            return False
        cached_user = self.users.get(payload.id)
        username = payload.username or (cached_user.username if cached_user else "")
        if not username:
            return False
        previous_user = cached_user or CachedUser(username)
        merged_user = CachedUser(
            username,
            global_name=sent_or(payload.global_name, previous_user.global_name),
            avatar=sent_or(payload.avatar, previous_user.avatar),
            flags=value_or(payload.flags, previous_user.flags),
            public_flags=value_or(payload.public_flags, previous_user.public_flags),
        )
        self.users[payload.id] = merged_user
        return merged_user != cached_user

    def update_profiles(self, user_id: int, profiles: "list[UserApplicationProfile] | UnsetType") -> bool:
        """Replace the application profiles of a user, unless they are missing; return whether they changed."""
        cached = self.profiles.get(user_id, [])
        merged_profiles = value_or(profiles, cached)
        if merged_profiles == cached:
            return False
        self.profiles[user_id] = merged_profiles
        return True

    def update_presence(self, payload: "Presence") -> tuple[int, bool]:
        """Store a presence of another user; return the user's ID, or 0 if it is missing, and whether anything changed."""
        user_id = payload.user.id if payload.user else payload.user_id or 0
        if not user_id:
            return 0, False
        user_changed = self.update_user(payload.user)
        has_played_game = payload.has_played_game if isinstance(payload.has_played_game, bool) else None
        presence = CachedPresence(payload.status or OFFLINE_STATUS, payload.activities or [], has_played_game)
        return user_id, self.store_presence(user_id, presence) or user_changed

    def store_presence(self, user_id: int, presence: CachedPresence) -> bool:
        """Store the presence of a user if its status or its activities changed; return whether they did.

        The IDs and creation times of its activities are cleared."""
        for activity in presence.activities:
            # A game cannot read these two fields, and they change if the user shows the same activity in a new session.
            activity.created_at, activity.id = 0, UNSET
        previous_presence = self.presences.get(user_id)
        if previous_presence is not None:
            if presence.has_played_game is None:
                presence.has_played_game = previous_presence.has_played_game
            if (previous_presence.status, previous_presence.activities) == (presence.status, presence.activities):
                return False
        self.presences[user_id] = presence
        return True

    def activity_of(
        self, user_id: int, application_ids: frozenset[int], parent_application_id: int = 0
    ) -> "Activity | None":
        """Return a user's activity in one of the applications or in a child of the parent application, or None."""
        presence = self.presences.get(user_id)
        for activity in presence.activities if presence is not None else ():
            if activity.application_id in application_ids or (
                parent_application_id and activity.parent_application_id == parent_application_id
            ):
                return activity
        return None

    def session_id_of(self, user_id: int, party_id: str) -> str:
        """Return the ID of the session in which a user is in a party; empty if it is not visible."""
        presence = self.presences.get(user_id)
        for activity in presence.activities if presence is not None else ():
            if activity.session_id and activity.party and activity.party.id == party_id:
                return activity.session_id
        return ""

    # Relationships

    def update_relationship(
        self, payload: "Relationship | AddedRelationship", *, keeps_type: bool = False
    ) -> CachedRelationship:
        """Store a platform relationship; `keeps_type` ignores the type in the payload."""
        self.update_user(payload.user or None)
        relationship = self.relationships.setdefault(payload.id, CachedRelationship())
        if has_value(payload.type) and not keeps_type:
            # The spam flag is sent with each new type, and only if it is set.
            relationship.platform, relationship.is_spam = payload.type, bool(payload.is_spam_request)
        else:
            relationship.is_spam = value_or(payload.is_spam_request, relationship.is_spam)
        relationship.has_played = value_or(payload.has_played_game, relationship.has_played)
        return relationship

    def update_game_relationship(self, payload: "GameRelationship") -> CachedRelationship:
        """Store a game relationship, its user and the user's application profiles."""
        self.update_user(payload.user or None)
        self.update_profiles(payload.id, payload.user_application_profiles)
        relationship = self.relationships.setdefault(payload.id, CachedRelationship())
        relationship.game = payload.type or 0
        return relationship

    def remove_relationship(self, user_id: int, *, is_game_relationship: bool) -> None:
        """Remove the game relationship or the platform relationship to a user."""
        relationship = self.relationships.get(user_id)
        if relationship is None:
            return
        if is_game_relationship:
            relationship.game = 0
        else:
            relationship.platform, relationship.is_spam = 0, False
        if not relationship.game and not relationship.platform:
            del self.relationships[user_id]

    def is_friend(self, user_id: int) -> bool:
        """Return whether a user is a friend on the platform or in the game."""
        relationship = self.relationships.get(user_id)
        return relationship is not None and RelationshipType.FRIEND in (relationship.platform, relationship.game)

    # Channels

    def update_channel(self, payload: "AnyChannel") -> None:
        """Store a private channel and its recipients."""
        for user in payload.recipients or ():
            self.update_user(user)
        self.channels[payload.id] = _channel(payload)

    # Lobbies

    def update_lobby(self, payload: "GatewayLobby | Lobby") -> tuple[CachedLobby, bool]:
        """Merge a lobby into the cache; return the lobby and whether it is new.

        Missing flags count as 0, and a missing linked channel removes the link."""
        lobby = self.lobbies.get(payload.id)
        is_new = lobby is None
        if lobby is None:
            lobby = self.lobbies[payload.id] = CachedLobby(payload.id)
        self.channels[lobby.id] = CachedChannel(ChannelType.LOBBY)
        lobby.application_id = payload.application_id or lobby.application_id
        lobby.flags = payload.flags or 0
        metadata = sent_or(payload.metadata, lobby.metadata)
        lobby.metadata = metadata or {}
        self._update_linked_channel(lobby, payload.linked_channel)
        if has_value(payload.members):
            previous_members, lobby.members = lobby.members, {}
            for member in payload.members:
                if user_id := self.update_member_user(member):
                    lobby.members[user_id] = cached_member(member, previous_members.get(user_id))
        if isinstance(payload, resources.lobbies.GatewayLobby) and has_value(payload.voice_states):
            lobby.voice_states = {
                state.user_id: cached_voice_state(state) for state in payload.voice_states if state.user_id
            }
        return lobby, is_new

    def update_member_user(self, payload: "GatewayLobbyMember | LobbyMember") -> int:
        """Store the user and the application profiles of a lobby member, which events contain; return the user's ID."""
        user_id = member_user_id(payload)
        if isinstance(payload, resources.lobbies.GatewayLobbyMember):
            self.update_user(payload.user)
            self.update_profiles(user_id, payload.user_application_profiles)
        return user_id

    def _update_linked_channel(self, lobby: CachedLobby, payload: "Channel | UnsetType") -> None:
        """Store the channel that a lobby is linked to; a payload without a channel means that the lobby is not linked."""
        previous_channel, lobby.linked_channel = lobby.linked_channel, None
        if payload:
            channel = CachedLinkedChannel(payload.id, payload.name or "", payload.guild_id or 0)
            lobby.linked_channel = channel
            # Lobby messages name the linked channel, so its handle must exist; only text channels are linked (spec/sdk.md#12.6).
            self.channels[channel.id] = CachedChannel(ChannelType.GUILD_TEXT, channel.name)
        if previous_channel is not None:
            self._remove_linked_channel(previous_channel.id)

    def remove_lobby_channels(self, lobby_id: int) -> None:
        """Remove the channels of a lobby that is about to be removed: the lobby itself and its linked channel."""
        self.channels.pop(lobby_id, None)
        lobby = self.lobbies.get(lobby_id)
        if lobby is not None and lobby.linked_channel is not None:
            channel, lobby.linked_channel = lobby.linked_channel, None
            self._remove_linked_channel(channel.id)

    def _remove_linked_channel(self, channel_id: int) -> None:
        """Remove a channel unless a lobby is linked to it."""
        # The event of another lobby that was linked to this channel may have arrived first.
        if not any(lobby.linked_channel and lobby.linked_channel.id == channel_id for lobby in self.lobbies.values()):
            self.channels.pop(channel_id, None)

    # Messages

    def find_message(self, message_id: int) -> CachedMessage | None:
        """Return a message that the cache or a handle still holds, or None."""
        return self._messages.get(message_id)

    def find_recent_message(self, message_id: int) -> CachedMessage | None:
        """Return a message that is among the recent messages of its channel, or None."""
        message = self._messages.get(message_id)
        if message is None or message not in self._recent.get(_channel_key(message), ()):
            return None
        return message

    def other_participant_id(self, payload: "DispatchedUserMessage") -> int:
        """Return the ID of the other user in a direct message conversation; 0 for a guild channel or a group."""
        if payload.guild_id:
            return 0
        channel = _channel(payload.channel) if payload.channel else self.channels.get(payload.channel_id)
        other_user_ids = (
            [user_id for user_id in channel.recipient_ids if user_id != self.current_user_id] if channel else []
        )
        if channel is not None and (channel.type not in DIRECT_MESSAGE_TYPES or len(other_user_ids) > 1):
            return 0
        author_id = payload.author.id if payload.author else 0
        if author_id and author_id != self.current_user_id:
            return author_id
        if payload.recipient_id:
            return payload.recipient_id
        if len(other_user_ids) == 1:
            return other_user_ids[0]
        # An ephemeral conversation has no channel: its ID is the other user's (spec/sdk.md#11.3).
        return payload.channel_id if payload.channel_id in self.users and channel is None else 0

    def add_direct_message(self, payload: "DispatchedUserMessage") -> CachedMessage:
        """Add a new direct message to the recent messages of its channel and to the history with its other participant."""
        message = self.shared_message(payload, other_user_id=self.other_participant_id(payload))
        if self._add_recent_message(message) and message.other_user_id:
            self.histories.setdefault(message.other_user_id, MessageHistory()).add(message)
        return message

    def add_lobby_message(self, payload: "LinkedLobbyMessage") -> CachedMessage:
        """Add a new lobby message to the recent messages of its lobby."""
        message = self.shared_message(payload, lobby_id=payload.lobby_id or payload.channel_id or 0)
        self._add_recent_message(message)
        return message

    def add_disclosure(self, message: CachedMessage) -> None:
        """Add a message that the SDK inserted to the recent messages of its channel."""
        self._messages[message.id] = message
        self._add_recent_message(message)

    def _add_recent_message(self, message: CachedMessage) -> bool:
        """Add a message to the recent messages of its channel; return whether it is new there."""
        recent = self._recent.setdefault(_channel_key(message), deque(maxlen=CHANNEL_MESSAGES_MAX))
        if message in recent:
            return False
        recent.append(message)
        return True

    def shared_message(self, payload: "AnyMessage", *, lobby_id: int = 0, other_user_id: int = 0) -> CachedMessage:
        """Return the shared object of a message, created or updated from the payload.

        `lobby_id` is the ID of the message's lobby, `other_user_id` the ID of the other participant of a direct message
        conversation. Both are 0 elsewhere."""
        self.update_user(payload.author)
        for user in payload.mentions or ():
            self.update_user(user)
        message = self._messages.get(payload.id)
        if message is None:
            message = CachedMessage(payload.id, channel_id=lobby_id, lobby_id=lobby_id, other_user_id=other_user_id)
            self._messages[payload.id] = message
        message.update(payload)
        return message

    def remove_message(self, message_id: int, channel_id: int) -> CachedMessage | None:
        """Remove a deleted message; return it if it was cached, or None."""
        message = self._messages.pop(message_id, None)
        recent = self._recent.get(channel_id)
        if message is None:
            return None
        if recent is not None and message in recent:
            recent.remove(message)
        history = self.histories.get(message.other_user_id)
        if history is not None and message in history.messages:
            history.messages.remove(message)
        return message


def member_user_id(payload: "GatewayLobbyMember | LobbyMember") -> int:
    """Return the user ID of a lobby member, which events and HTTP responses have in different fields; 0 if it is missing."""
    if isinstance(payload, resources.lobbies.LobbyMember):
        return payload.id
    return payload.user_id or (payload.user.id if payload.user else 0)


def cached_member(payload: "GatewayLobbyMember | LobbyMember", previous_member: CachedMember | None) -> CachedMember:
    """Return the record of a lobby member; a missing connection state is taken from the previous record."""
    is_connected = payload.connected if isinstance(payload, resources.lobbies.GatewayLobbyMember) else None
    return CachedMember(
        payload.metadata or {},
        payload.flags or 0,
        value_or(is_connected, previous_member.is_connected if previous_member else None),
        payload.additional_name or None,
    )


def cached_voice_state(payload: "LobbyVoiceState") -> CachedVoiceState:
    """Return the record of a participant's voice state."""
    return CachedVoiceState(payload.session_id or "", bool(payload.self_mute), bool(payload.self_deaf))


def _channel(payload: "AnyChannel") -> CachedChannel:
    """Return the record of a private channel."""
    recipient_ids = payload.recipient_ids if isinstance(payload, resources.gateway.ReadyChannel) else UNSET
    return CachedChannel(
        value_or(payload.type, ChannelType.DM),
        payload.name or "",
        recipient_ids or [user.id for user in payload.recipients or ()],
    )


def _channel_key(message: CachedMessage) -> int:
    """Return the lobby ID of a message, or its channel ID if it is not in a lobby."""
    return message.lobby_id or message.channel_id


def _additional_content(payload: "AnyMessage") -> Iterator[tuple[AdditionalContentType, ContentSummary]]:
    """Yield the content of a payload that is not text; kinds that the payload does not mention are left out."""
    if payload.poll:
        question = payload.poll.question
        yield AdditionalContentType.POLL, ContentSummary(1, (question.text or None) if question else None)
    if payload.thread:
        yield AdditionalContentType.THREAD, ContentSummary(1, payload.thread.name or None)
    lists: tuple[tuple[AdditionalContentType, Sequence[object] | UnsetType], ...] = (
        (AdditionalContentType.ATTACHMENT, payload.attachments),
        (AdditionalContentType.STICKER, payload.sticker_items),
        (AdditionalContentType.EMBED, payload.embeds),
    )
    for kind, items in lists:
        if has_value(items):
            yield kind, ContentSummary(len(items))
