"""In-memory cache of users, relationships, channels, lobbies and recent messages.

The cache holds data only. The caller holds the client's lock, and `events.py` decides which callbacks a change
triggers.
"""

import weakref
from collections import deque
from typing import Final

import msgspec
from msgspec import UNSET, Struct

from hubbub.sdk.enums import ChannelType, RelationshipType
from hubbub.sdk.payloads import (
    ActivityPayload,
    ChannelPayload,
    GameRelationshipPayload,
    LinkedChannelPayload,
    LobbyPayload,
    MemberPayload,
    MessagePayload,
    PresencePayload,
    ProfilePayload,
    RelationshipPayload,
    UserPayload,
    VoiceStatePayload,
)

CHANNEL_MESSAGES_MAX: Final = 25
"""Maximum number of recent messages cached per channel (spec/sdk.md#11.2)."""
HISTORY_MESSAGES_MAX: Final = 200
"""Maximum number of direct messages cached per user."""
DIRECT_MESSAGE_TYPES: Final = frozenset((ChannelType.DM, ChannelType.EPHEMERAL_DM))
"""Channel types with two participants: direct messages and ephemeral direct messages."""


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


class CachedLobby(Struct):
    """The current state of a lobby."""

    id: int
    application_id: int = 0
    metadata: dict[str, str] = {}
    members: dict[int, MemberPayload] = {}
    """Members by user ID."""
    flags: int = 0
    linked_channel: LinkedChannelPayload | None = None
    voice_states: dict[int, VoiceStatePayload] = {}
    """Voice states of the participants of the lobby's call by user ID."""


class CachedMessage:
    """The current state of a message, shared by its handles so that they see later changes."""

    __slots__ = ("__weakref__", "disclosure", "other_user_id", "payload")

    def __init__(self, payload: MessagePayload, other: int = 0, disclosure: int | None = None) -> None:
        self.payload = payload
        self.other_user_id = other
        """User ID of the other participant of a direct message conversation; 0 elsewhere."""
        self.disclosure = disclosure
        """Value of `DisclosureTypes` for a message that the SDK inserted; None for a message of a user."""


class MessageHistory:
    """The newest direct messages with one user, without gaps."""

    __slots__ = ("is_complete", "messages")

    def __init__(self) -> None:
        self.messages: deque[CachedMessage] = deque(maxlen=HISTORY_MESSAGES_MAX)
        """The messages, newest first."""
        self.is_complete = False
        """Whether the platform has no older messages."""

    def add(self, message: CachedMessage) -> None:
        """Insert a new message in order of its ID, unless a history response already contained it."""
        message_id = message.payload.id
        position = next(
            (index for index, cached in enumerate(self.messages) if cached.payload.id <= message_id), len(self.messages)
        )
        if position == HISTORY_MESSAGES_MAX or (
            position < len(self.messages) and self.messages[position].payload.id == message_id
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
        self.users: dict[int, UserPayload] = {}
        """Users by ID."""
        self.presences: dict[int, PresencePayload] = {}
        """Presences by user ID."""
        self.relationships: dict[int, CachedRelationship] = {}
        """Relationships of the current user by the ID of the other user."""
        self.profiles: dict[int, list[ProfilePayload]] = {}
        """Application profiles by user ID."""
        self.channels: dict[int, ChannelPayload] = {}
        """Private channels, lobbies and channels linked to lobbies, by channel ID or lobby ID."""
        self.lobbies: dict[int, CachedLobby] = {}
        """Lobbies by ID."""
        self.histories: dict[int, MessageHistory] = {}
        """Direct messages by the ID of the other user."""
        self._recent: dict[int, deque[CachedMessage]] = {}
        """Recent messages by `channel_key`, oldest first."""
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
        """Reset the cache for a new session, whose READY repeats everything."""
        users, recent = dict(self.users), dict(self._recent)
        self.clear()
        # READY may name known users by ID only, and messages stay readable. Histories may have a gap and are dropped.
        self.users.update(users)
        self._recent.update(recent)

    # Users

    def update_user(self, payload: UserPayload | None) -> bool:
        """Merge a user payload into the cache; return whether anything changed."""
        if payload is None:
            return False
        cached = self.users.get(payload.id)
        if cached is None:
            if payload.username is None:
                return False
            self.users[payload.id] = payload
            return True
        merged = UserPayload(
            id=payload.id,
            username=payload.username if payload.username is not None else cached.username,
            global_name=cached.global_name if payload.global_name is UNSET else payload.global_name,
            avatar=cached.avatar if payload.avatar is UNSET else payload.avatar,
            flags=payload.flags if payload.flags is not None else cached.flags,
            public_flags=payload.public_flags if payload.public_flags is not None else cached.public_flags,
            bot=payload.bot if payload.bot is not None else cached.bot,
        )
        self.users[payload.id] = merged
        return merged != cached

    def update_profiles(self, user_id: int, payload: list[ProfilePayload] | None) -> bool:
        """Replace the application profiles of a user, unless the payload is None; return whether they changed."""
        if payload is None or payload == self.profiles.get(user_id, []):
            return False
        self.profiles[user_id] = payload
        return True

    def update_presence(self, payload: PresencePayload) -> tuple[int, bool]:
        """Store a presence; return the user's ID and whether anything changed."""
        user_id = payload.user.id if payload.user is not None else payload.user_id or 0
        changed = self.update_user(payload.user)
        previous = self.presences.get(user_id)
        if payload.has_played_game is None and previous is not None:
            payload.has_played_game = previous.has_played_game
        payload.user = None
        if previous is not None and (previous.status, previous.activities) == (payload.status, payload.activities):
            return user_id, changed
        self.presences[user_id] = payload
        return user_id, True

    def activity_of(self, user_id: int, applications: frozenset[int], parent: int = 0) -> ActivityPayload | None:
        """Return a user's activity in one of the applications or in a child application of `parent`, or None."""
        presence = self.presences.get(user_id)
        for activity in presence.activities if presence is not None else ():
            if activity.application_id in applications or (parent and activity.parent_application_id == parent):
                return activity
        return None

    def session_of(self, user_id: int, party_id: str) -> str:
        """Return the ID of the session in which a user is in a party; empty if it is not visible."""
        presence = self.presences.get(user_id)
        for activity in presence.activities if presence is not None else ():
            if activity.session_id and activity.party is not None and activity.party.id == party_id:
                return activity.session_id
        return ""

    # Relationships

    def update_relationship(self, payload: RelationshipPayload) -> CachedRelationship:
        """Store a platform relationship."""
        self.update_user(payload.user)
        self.update_profiles(payload.id, payload.user_application_profiles)
        relation = self.relationships.setdefault(payload.id, CachedRelationship())
        if payload.type is not None:
            # The spam flag is sent with each new type, and only if it is set.
            relation.platform, relation.is_spam = payload.type, bool(payload.is_spam_request)
        elif payload.is_spam_request is not None:
            relation.is_spam = payload.is_spam_request
        if payload.has_played_game is not None:
            relation.has_played = payload.has_played_game
        return relation

    def update_game_relationship(self, payload: GameRelationshipPayload) -> CachedRelationship:
        """Store a game relationship."""
        self.update_user(payload.user)
        self.update_profiles(payload.id, payload.user_application_profiles)
        relation = self.relationships.setdefault(payload.id, CachedRelationship())
        relation.game = payload.type
        return relation

    def remove_relationship(self, user_id: int, *, game: bool) -> None:
        """Remove the game relationship or the platform relationship to a user."""
        relation = self.relationships.get(user_id)
        if relation is None:
            return
        if game:
            relation.game = 0
        else:
            relation.platform, relation.is_spam = 0, False
        if not relation.game and not relation.platform:
            del self.relationships[user_id]

    def is_friend(self, user_id: int) -> bool:
        """Return whether a user is a friend on the platform or in the game."""
        relation = self.relationships.get(user_id)
        return relation is not None and RelationshipType.FRIEND in (relation.platform, relation.game)

    # Lobbies

    def update_lobby(self, payload: LobbyPayload) -> tuple[CachedLobby, bool]:
        """Merge a lobby payload into the cache; return the lobby and whether it is new."""
        lobby = self.lobbies.get(payload.id)
        is_new = lobby is None
        if lobby is None:
            lobby = self.lobbies[payload.id] = CachedLobby(payload.id)
        lobby.application_id = payload.application_id or lobby.application_id
        lobby.flags = payload.flags
        if payload.metadata is not UNSET:
            lobby.metadata = dict(payload.metadata or {})
        # A linked lobby always names its channel, so a missing key means that it is not linked.
        previous_channel, channel = lobby.linked_channel, payload.linked_channel
        lobby.linked_channel = channel
        if previous_channel is not None and (channel is None or channel.id != previous_channel.id):
            self._remove_linked_channel(previous_channel.id)
        if channel is not None:
            # Lobby messages name the linked channel, so its handle must exist; only text channels are linked (spec/sdk.md#12.6).
            self.channels[channel.id] = ChannelPayload(id=channel.id, type=ChannelType.GUILD_TEXT, name=channel.name)
        if payload.members is not UNSET:
            previous_members = lobby.members
            lobby.members = {}
            for member in payload.members:
                self.update_user(member.user)
                self.update_profiles(member.member_user_id, member.user_application_profiles)
                if member.connected is None and member.member_user_id in previous_members:
                    # HTTP responses do not have the connection state.
                    member.connected = previous_members[member.member_user_id].connected
                lobby.members[member.member_user_id] = member
        if payload.voice_states is not UNSET:
            lobby.voice_states = {state.user_id: state for state in payload.voice_states}
        return lobby, is_new

    def remove_lobby_channels(self, lobby_id: int) -> None:
        """Remove the channels of a lobby that is about to be removed: the lobby itself and its linked channel."""
        self.channels.pop(lobby_id, None)
        lobby = self.lobbies.get(lobby_id)
        if lobby is not None and lobby.linked_channel is not None:
            channel, lobby.linked_channel = lobby.linked_channel, None
            self._remove_linked_channel(channel.id)

    def _remove_linked_channel(self, channel_id: int) -> None:
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
        if message is None or message not in self._recent.get(self.channel_key(message.payload), ()):
            return None
        return message

    @staticmethod
    def channel_key(payload: MessagePayload) -> int:
        """Return the lobby ID of a message, or its channel ID if it is not in a lobby."""
        return payload.lobby_id or payload.channel_id

    def other_participant(self, payload: MessagePayload) -> int:
        """Return the ID of the other user in a direct message conversation; 0 for a lobby or a group."""
        if payload.lobby_id or payload.guild_id:
            return 0
        channel = payload.channel or self.channels.get(payload.channel_id)
        other_user_ids = (
            [user_id for user_id in recipient_ids(channel) if user_id != self.current_user_id] if channel else []
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

    def add_message(
        self, payload: MessagePayload, *, other_user_id: int = 0, disclosure: int | None = None
    ) -> CachedMessage:
        """Add a new message to the recent messages of its channel and to the history with its other participant.

        The parameters are those of `shared_message`."""
        message = self.shared_message(payload, other_user_id=other_user_id, disclosure=disclosure)
        recent = self._recent.setdefault(self.channel_key(payload), deque(maxlen=CHANNEL_MESSAGES_MAX))
        if message not in recent:
            recent.append(message)
            if message.other_user_id and disclosure is None:
                self.histories.setdefault(message.other_user_id, MessageHistory()).add(message)
        return message

    def shared_message(
        self, payload: MessagePayload, *, other_user_id: int = 0, disclosure: int | None = None
    ) -> CachedMessage:
        """Return the shared object of a message, created or updated from the payload.

        `other_user_id` is the user ID of the other participant, or 0 to determine it from the payload. `disclosure` is set for
        a message that the SDK inserted itself."""
        self.update_user(payload.author)
        for user in payload.mentions or ():
            self.update_user(user)
        message = self._messages.get(payload.id)
        if message is None:
            message = CachedMessage(payload, other_user_id or self.other_participant(payload), disclosure)
            self._messages[payload.id] = message
        else:
            self.update_message(message, payload)
        return message

    @staticmethod
    def update_message(message: CachedMessage, payload: MessagePayload) -> None:
        """Merge an update into a message; fields that are missing in the update stay unchanged."""
        previous = message.payload
        merged = msgspec.structs.replace(payload)
        for name in MessagePayload.__struct_fields__:
            value = getattr(merged, name)
            if name != "moderation_metadata" and (value is None or (value == 0 and name != "flags")):
                setattr(merged, name, getattr(previous, name))
        # Unlike for other fields a null has a meaning: the moderation metadata was removed.
        if merged.moderation_metadata is UNSET:
            merged.moderation_metadata = previous.moderation_metadata
        message.payload = merged

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


def recipient_ids(channel: ChannelPayload) -> list[int]:
    """Return the user IDs of a channel's recipients."""
    return channel.recipient_ids or [user.id for user in channel.recipients or ()]
