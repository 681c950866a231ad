"""Handlers of gateway events, which update the cache and return the events to emit to the game.

Each handler runs on the network loop, under the client's lock, with the decoded payload.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import msgspec

from hubbub.protocol.ids import EPOCH_MS
from hubbub.sdk import payloads as wire
from hubbub.sdk.cache import CachedLobby, recipient_ids
from hubbub.sdk.core import Core
from hubbub.sdk.enums import ActivityActionTypes, ChannelType, ClientStatus, DisclosureTypes, member_or_default
from hubbub.sdk.handles import SENT_FROM_GAME_FLAG
from hubbub.sdk.payloads import decode_payload
from hubbub.sdk.records import ActivityInvite
from hubbub.sdk.session_changes import CacheSnapshot

T = TypeVar("T")
EmittedEvents = Iterable[tuple[Any, ...]]
"""Events for the game: tuples of the event name and the arguments of its callback."""

INVITE_LIFETIME_MS: Final = 6 * 3600 * 1000
"""Lifetime of an invite in milliseconds (spec/sdk.md#10.4)."""
EXPIRY_CHECK_DELAY_SECONDS: Final = 0.01
"""Delay of the expiry check in seconds, because an invite is still valid at the exact end of its lifetime."""
DISCLOSURE_TEXT: Final = "Messages in this conversation can also be seen in the chat client."

_handlers: Final[dict[str, tuple[type[Any], Callable[["Events", Any], EmittedEvents]]]] = {}
"""Type of the payload and handler by gateway event."""


def handles_event(
    event: str, kind: type[T]
) -> Callable[[Callable[["Events", T], EmittedEvents]], Callable[["Events", T], EmittedEvents]]:
    """Register a method as the handler of a gateway event with payloads of type `kind`."""

    def register(function: Callable[["Events", T], EmittedEvents]) -> Callable[["Events", T], EmittedEvents]:
        _handlers[event] = (kind, function)
        return function

    return register


class Events:
    """Applies gateway events to the cache and emits events to the game."""

    def __init__(self, core: Core) -> None:
        self.core: Final = core
        self.cache: Final = core.cache
        self.invites: Final[dict[int, ActivityInvite]] = {}
        """Received invites by message ID."""
        self.accepted_message_ids: Final[set[int]] = set()
        """Message IDs of the invites that this client accepted; only acceptances on other devices are emitted."""
        self.is_disclosed = False
        """Whether the player has been notified that the chat client shows the same messages."""
        self.on_disclosed: Callable[[], None] = lambda: None
        """Called when the disclosure was shown to the player."""
        self.on_voice_state: Callable[[wire.VoiceStatePayload, wire.VoiceStatePayload | None], None] = lambda new, old: (
            None
        )
        """Called with the new and the previous voice state of a participant in a lobby's call."""
        self.on_voice_server: Callable[[wire.VoiceServerPayload], None] = lambda payload: None
        """Called with the voice server of a lobby's call."""
        self.on_lobby_removed: Callable[[int], None] = lambda lobby_id: None
        """Called with the ID of a lobby that the current user is no longer a member of."""
        self._expiry_timer: asyncio.TimerHandle | None = None
        self._previous_session: CacheSnapshot | None = None
        """State of the cache before the session that is being established; None otherwise."""
        core.close_hooks.append(self.close)
        core.clock.jump_watchers.append(self._check_expiry)
        core.status_watchers.append(self._status_changed)

    async def close(self) -> None:
        """Cancel the invite expiry timer."""
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()

    def dispatch(self, event: str, data: msgspec.Raw) -> None:
        """Handle a gateway event; ignore unknown ones."""
        handler = _handlers.get(event)
        if handler is None:
            self.core.logs.verbose(f"Ignored event {event}")
            return
        kind, function = handler
        # Decode before taking the lock, which the game's thread may be waiting for.
        payload = decode_payload(data, kind)
        with self.core.lock:
            emitted_events = list(function(self, payload))
        for name, *args in emitted_events:
            self.core.emit(name, *args)

    # Session start

    @handles_event("READY", wire.ReadyPayload)
    def ready(self, payload: wire.ReadyPayload) -> EmittedEvents:
        """Replace the cache with the state of a new session."""
        core, cache = self.core, self.cache
        previous_voice_states = {lobby.id: dict(lobby.voice_states) for lobby in cache.lobbies.values()}
        if cache.current_user_id not in (0, payload.user.id):
            # Another user signed in: drop everything of the previous user.
            cache.clear()
            self.invites.clear()
            self._schedule_expiry()
            self.is_disclosed = False
            self._previous_session = None
        elif cache.current_user_id and self._previous_session is None:
            self._previous_session = CacheSnapshot(cache)
        cache.start_session()
        cache.current_user_id = payload.user.id
        for user in (payload.user, *payload.users):
            cache.update_user(user)
        if payload.application is not None:
            core.application_id = payload.application.id
            core.application_name = payload.application.name or ""
            core.parent_application_id = payload.application.parent_id or 0
        core.scopes = frozenset(payload.scopes)
        flags = payload.feature_flags or wire.FeatureFlagsPayload()
        core.disabled_functions = frozenset(flags.disabled_functions)
        for relationship in payload.relationships:
            cache.update_relationship(relationship)
        for game_relationship in payload.game_relationships:
            cache.update_game_relationship(game_relationship)
        for channel in payload.private_channels:
            self._cache_channel(channel)
        for presence in payload.presences:
            cache.update_presence(presence)
        for user_id, profiles in payload.user_application_profiles.items():
            cache.profiles[int(user_id)] = profiles
        for lobby in payload.lobbies:
            self._cache_lobby(lobby)
            if lobby.id not in previous_voice_states:
                yield "lobby_created", lobby.id
            yield from self._compare_calls(lobby.id, previous_voice_states.get(lobby.id, {}))
        for lobby_id in previous_voice_states.keys() - cache.lobbies.keys():
            self.on_lobby_removed(lobby_id)
            yield "lobby_deleted", lobby_id
        yield from self._pending_invites(payload.game_invites)

    @handles_event("READY_SUPPLEMENTAL", wire.ReadySupplementalPayload)
    def ready_supplemental(self, payload: wire.ReadySupplementalPayload) -> EmittedEvents:
        """Add the second part of the initial state."""
        for presence in payload.merged_presences.friends if payload.merged_presences else ():
            self.cache.update_presence(presence)
        for channel in payload.lazy_private_channels:
            self._cache_channel(channel)
        return self._pending_invites(payload.game_invites)

    def _status_changed(self, status: ClientStatus) -> None:
        """Emit the differences to the previous session once a new session is ready."""
        if status is not ClientStatus.READY or self._previous_session is None:
            return
        previous_session, self._previous_session = self._previous_session, None
        with self.core.lock:
            emitted_events = [*previous_session.changes(self.cache), *self._review_invites()]
        for name, *args in emitted_events:
            self.core.emit(name, *args)

    def _pending_invites(self, payload: list[wire.ActivityInvitePayload]) -> EmittedEvents:
        """Process invites that arrived while the client was disconnected, except those it already has."""
        for invite in payload:
            if invite.message_id not in self.invites:
                yield from self.activity_invite_create(invite)

    def _cache_channel(self, channel: wire.ChannelPayload) -> None:
        """Cache a channel and its recipients."""
        for user in channel.recipients or ():
            self.cache.update_user(user)
        self.cache.channels[channel.id] = channel

    def _cache_lobby(self, payload: wire.LobbyPayload) -> bool:
        """Cache a lobby and its channel; return whether the lobby is new."""
        lobby, is_new = self.cache.update_lobby(payload)
        self.cache.channels[lobby.id] = wire.ChannelPayload(id=lobby.id, type=ChannelType.LOBBY)
        return is_new

    # Users

    def _cache_user(self, payload: wire.UserPayload | None) -> EmittedEvents:
        """Cache a user, and emit an update if the user was cached before and changed."""
        was_cached = payload is not None and payload.id in self.cache.users
        if self.cache.update_user(payload) and was_cached and payload is not None:
            yield "user_updated", payload.id

    @handles_event("USER_UPDATE", wire.UserPayload)
    def user_update(self, payload: wire.UserPayload) -> EmittedEvents:
        """Update the current user."""
        if self.cache.update_user(payload):
            yield "user_updated", payload.id

    @handles_event("USER_APPLICATION_IDENTITY_UPDATE", wire.ProfilesPayload)
    def profiles_update(self, payload: wire.ProfilesPayload) -> EmittedEvents:
        """Update the application profiles of a user."""
        if self.cache.update_profiles(payload.user_id, payload.user_application_profiles):
            yield "user_updated", payload.user_id

    @handles_event("PRESENCE_UPDATE", wire.PresencePayload)
    def presence_update(self, payload: wire.PresencePayload) -> EmittedEvents:
        """Update the status and activities of a user."""
        user_id, changed = self.cache.update_presence(payload)
        if not changed:
            return
        yield "user_updated", user_id
        if self.cache.is_friend(user_id):
            yield "relationship_groups_updated", user_id
        yield from self._review_invites(user_id)

    @handles_event("RELATIONSHIP_ADD", wire.RelationshipPayload)
    def relationship_add(self, payload: wire.RelationshipPayload) -> EmittedEvents:
        """Add a platform relationship or change its type."""
        self.cache.update_relationship(payload)
        yield "relationship_created", payload.id, True
        yield "relationship_groups_updated", payload.id
        yield from self._hide_presence(payload.id)

    @handles_event("RELATIONSHIP_UPDATE", wire.RelationshipPayload)
    def relationship_update(self, payload: wire.RelationshipPayload) -> EmittedEvents:
        """Update the details of a platform relationship, except its type."""
        payload.type = None
        yield from self._cache_user(payload.user)
        if payload.id in self.cache.relationships:
            self.cache.update_relationship(payload)
            yield "relationship_groups_updated", payload.id

    @handles_event("RELATIONSHIP_REMOVE", wire.RelationshipPayload)
    def relationship_remove(self, payload: wire.RelationshipPayload) -> EmittedEvents:
        """Remove a platform relationship."""
        self.cache.remove_relationship(payload.id, game=False)
        yield "relationship_deleted", payload.id, True
        yield "relationship_groups_updated", payload.id
        yield from self._hide_presence(payload.id)

    @handles_event("GAME_RELATIONSHIP_ADD", wire.GameRelationshipPayload)
    def game_relationship_add(self, payload: wire.GameRelationshipPayload) -> EmittedEvents:
        """Add a game relationship or change its type."""
        self.cache.update_game_relationship(payload)
        yield "relationship_created", payload.id, False
        yield "relationship_groups_updated", payload.id

    @handles_event("GAME_RELATIONSHIP_REMOVE", wire.GameRelationshipPayload)
    def game_relationship_remove(self, payload: wire.GameRelationshipPayload) -> EmittedEvents:
        """Remove a game relationship."""
        self.cache.remove_relationship(payload.id, game=True)
        yield "relationship_deleted", payload.id, False
        yield "relationship_groups_updated", payload.id
        yield from self._hide_presence(payload.id)

    def _hide_presence(self, user_id: int) -> EmittedEvents:
        """Remove the presence of a user who is no longer a friend, because only friends share it (spec/sdk.md#9.3)."""
        if not self.cache.is_friend(user_id) and self.cache.presences.pop(user_id, None) is not None:
            yield "user_updated", user_id

    # Channels and messages

    @handles_event("CHANNEL_CREATE", wire.ChannelPayload)
    def channel_create(self, payload: wire.ChannelPayload) -> EmittedEvents:
        """Add a private channel."""
        self._cache_channel(payload)
        return ()

    @handles_event("CHANNEL_UPDATE", wire.ChannelPayload)
    def channel_update(self, payload: wire.ChannelPayload) -> EmittedEvents:
        """Replace a private channel."""
        return self.channel_create(payload)

    @handles_event("CHANNEL_DELETE", wire.ChannelPayload)
    def channel_delete(self, payload: wire.ChannelPayload) -> EmittedEvents:
        """Remove a channel."""
        self.cache.channels.pop(payload.id, None)
        return ()

    @handles_event("CHANNEL_RECIPIENT_ADD", wire.RecipientPayload)
    def channel_recipient_add(self, payload: wire.RecipientPayload) -> EmittedEvents:
        """Add a recipient to a group."""
        yield from self._cache_user(payload.user)
        self._update_recipients(payload, [payload.user.id])

    @handles_event("CHANNEL_RECIPIENT_REMOVE", wire.RecipientPayload)
    def channel_recipient_remove(self, payload: wire.RecipientPayload) -> EmittedEvents:
        """Remove a recipient from a group."""
        self._update_recipients(payload, [])
        return ()

    def _update_recipients(self, payload: wire.RecipientPayload, added_ids: list[int]) -> None:
        """Remove the user of the payload from the recipients of a cached group, and add the users `added_ids`."""
        group = self.cache.channels.get(payload.channel_id)
        if group is not None:
            user_ids = [user_id for user_id in recipient_ids(group) if user_id != payload.user.id] + added_ids
            self.cache.channels[group.id] = msgspec.structs.replace(group, recipients=None, recipient_ids=user_ids)

    @handles_event("MESSAGE_CREATE", wire.MessagePayload)
    def message_create(self, payload: wire.MessagePayload) -> EmittedEvents:
        """Add a direct message; emit an activity invite or a new message."""
        self.core.clock.update_from_id(payload.id)
        activity = payload.activity
        if payload.channel is not None and payload.channel.type != ChannelType.EPHEMERAL_DM:
            self._cache_channel(payload.channel)
        # Invites are cached as well: they are part of the conversation, and a history without them would have a gap.
        message = self.cache.add_message(payload)
        if activity is not None and activity.type in (ActivityActionTypes.JOIN, ActivityActionTypes.JOIN_REQUEST):
            yield from self._add_invite(payload)
            return
        channel = self.cache.channels.get(payload.channel_id)
        if (
            message.other_user_id
            and (payload.flags or 0) & SENT_FROM_GAME_FLAG
            and channel is not None
            and not self.is_disclosed
        ):
            yield from self._disclose(payload, message.other_user_id)
        yield "message_created", payload.id

    @handles_event("MESSAGE_UPDATE", wire.MessagePayload)
    def message_update(self, payload: wire.MessagePayload) -> EmittedEvents:
        """Update an edited message or its moderation metadata."""
        message = self.cache.find_message(payload.id)
        if message is not None:
            self.cache.update_message(message, payload)
        yield "message_updated", payload.id

    @handles_event("MESSAGE_DELETE", wire.MessageDeletedPayload)
    def message_delete(self, payload: wire.MessageDeletedPayload) -> EmittedEvents:
        """Remove a message."""
        channel_id = payload.lobby_id or payload.channel_id or 0
        message, lobby = self.cache.remove_message(payload.id, channel_id), self.cache.lobbies.get(channel_id)
        if message is not None and message.payload.channel_id:
            # A lobby message may belong to the linked channel; report the channel ID that its handles return.
            channel_id = message.payload.channel_id
        elif payload.channel_id is None and lobby is not None and lobby.linked_channel is not None:
            channel_id = lobby.linked_channel.id
        yield "message_deleted", payload.id, payload.channel_id or channel_id

    @handles_event("LOBBY_MESSAGE_CREATE", wire.MessagePayload)
    def lobby_message_create(self, payload: wire.MessagePayload) -> EmittedEvents:
        """Add a lobby message."""
        self.core.clock.update_from_id(payload.id)
        payload.channel_id = payload.channel_id or payload.lobby_id or 0
        self.cache.add_message(payload)
        yield "message_created", payload.id

    @handles_event("LOBBY_MESSAGE_UPDATE", wire.MessagePayload)
    def lobby_message_update(self, payload: wire.MessagePayload) -> EmittedEvents:
        """Update a lobby message."""
        return self.message_update(payload)

    @handles_event("LOBBY_MESSAGE_DELETE", wire.MessageDeletedPayload)
    def lobby_message_delete(self, payload: wire.MessageDeletedPayload) -> EmittedEvents:
        """Remove a lobby message."""
        return self.message_delete(payload)

    def _disclose(self, payload: wire.MessagePayload, other: int) -> EmittedEvents:
        """Insert a local message, once, which informs the player that the chat client shows these messages as well."""
        self.is_disclosed = True
        self.on_disclosed()
        # The preceding ID places the notice directly before the message.
        notice = wire.MessagePayload(
            id=payload.id - 1, channel_id=payload.channel_id, content=DISCLOSURE_TEXT, timestamp=payload.timestamp
        )
        self.cache.add_message(notice, other_user_id=other, disclosure=DisclosureTypes.MESSAGE_DATA_VISIBLE_ON_PLATFORM)
        yield "message_created", notice.id

    # Invites

    @handles_event("ACTIVITY_INVITE_CREATE", wire.ActivityInvitePayload)
    def activity_invite_create(self, payload: wire.ActivityInvitePayload) -> EmittedEvents:
        """Add an invite; sent to sessions whose scopes do not allow reading messages."""
        if payload.activity is None or payload.author is None or payload.message_id in self.accepted_message_ids:
            return ()
        return self._add_invite(
            wire.MessagePayload(
                id=payload.message_id or 0,
                channel_id=payload.channel_id or 0,
                author=payload.author,
                application=payload.application,
                application_id=payload.application_id,
                activity=payload.activity,
            )
        )

    def _add_invite(self, payload: wire.MessagePayload) -> EmittedEvents:
        """Store and emit the invite or join request in a message of another user."""
        author, activity = payload.author, payload.activity
        self.cache.update_user(author)
        if author is None or activity is None or author.id == self.cache.current_user_id:
            # The invites of the current user are not emitted.
            return
        application = payload.application
        invite = self.core.make(
            ActivityInvite,
            sender_id=author.id,
            channel_id=payload.channel_id,
            message_id=payload.id,
            type=member_or_default(ActivityActionTypes, activity.type, ActivityActionTypes.INVALID),
            application_id=(application.id if application else payload.application_id) or 0,
            parent_application_id=(application.parent_id if application else None) or 0,
            party_id=activity.party_id or "",
            # A message does not have the session ID; the sender's presence does.
            session_id=activity.session_id or self.cache.session_of(author.id, activity.party_id or ""),
            is_valid=True,
        )
        invite.is_valid = self._is_still_valid(invite)
        self.invites[payload.id] = invite
        self._schedule_expiry()
        yield "activity_invite_created", invite.copy()

    def _is_still_valid(self, invite: ActivityInvite) -> bool:
        """Return whether an invite has not expired and its sender is still in the activity, as far as visible."""
        if invite.message_id and self.core.clock() > _invite_end_ms(invite):
            return False
        presence = self.cache.presences.get(invite.sender_id)
        if presence is None:
            # The sender's presence is not visible. Accepting the invite will check it.
            return True
        if invite.type == ActivityActionTypes.JOIN_REQUEST or not invite.party_id:
            return presence.status != "offline"
        return any(
            activity.party is not None and activity.party.id == invite.party_id for activity in presence.activities
        )

    def _review_invites(self, sender_id: int | None = None) -> EmittedEvents:
        """Update the validity of the invites of a sender, or of all invites, and emit the changes."""
        for invite in self.invites.values():
            if sender_id in (None, invite.sender_id) and invite.is_valid != (is_valid := self._is_still_valid(invite)):
                invite.is_valid = is_valid
                yield "activity_invite_updated", invite.copy()
        self._schedule_expiry()

    def _schedule_expiry(self) -> None:
        """Set the timer for the invite that expires next."""
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
            self._expiry_timer = None
        end_times_ms = [
            _invite_end_ms(invite) for invite in self.invites.values() if invite.is_valid and invite.message_id
        ]
        if end_times_ms:
            left_seconds = max(min(end_times_ms) - self.core.clock(), 0) / 1000
            self._expiry_timer = asyncio.get_running_loop().call_later(
                left_seconds + EXPIRY_CHECK_DELAY_SECONDS, self._check_expiry
            )

    def _check_expiry(self) -> None:
        # If the platform's clock was corrected meanwhile, nothing has expired and the timer is set again.
        with self.core.lock:
            emitted_events = list(self._review_invites())
        for name, *args in emitted_events:
            self.core.emit(name, *args)

    # Lobbies

    @handles_event("LOBBY_CREATE", wire.LobbyPayload)
    def lobby_create(self, payload: wire.LobbyPayload) -> EmittedEvents:
        """Add or replace a lobby."""
        cached_lobby = self.cache.lobbies.get(payload.id)
        previous_voice_states = None if cached_lobby is None else dict(cached_lobby.voice_states)
        is_new = self._cache_lobby(payload)
        yield ("lobby_created" if is_new else "lobby_updated"), payload.id
        if previous_voice_states is not None:
            yield from self._compare_calls(payload.id, previous_voice_states)

    @handles_event("LOBBY_UPDATE", wire.LobbyPayload)
    def lobby_update(self, payload: wire.LobbyPayload) -> EmittedEvents:
        """Update a lobby."""
        return self.lobby_create(payload)

    @handles_event("LOBBY_DELETE", wire.LobbyDeletedPayload)
    def lobby_delete(self, payload: wire.LobbyDeletedPayload) -> EmittedEvents:
        """Remove a lobby that was deleted or that the current user left."""
        self.cache.remove_lobby_channels(payload.id)
        if self.cache.lobbies.pop(payload.id, None) is not None:
            self.on_lobby_removed(payload.id)
            yield "lobby_deleted", payload.id

    @handles_event("LOBBY_MEMBER_ADD", wire.LobbyMemberPayload)
    def lobby_member_add(self, payload: wire.LobbyMemberPayload) -> EmittedEvents:
        """Add a lobby member."""
        return self._update_member(payload, "lobby_member_added")

    @handles_event("LOBBY_MEMBER_UPDATE", wire.LobbyMemberPayload)
    def lobby_member_update(self, payload: wire.LobbyMemberPayload) -> EmittedEvents:
        """Update a lobby member."""
        return self._update_member(payload, "lobby_member_updated")

    @handles_event("LOBBY_MEMBER_CONNECT", wire.LobbyMemberPayload)
    def lobby_member_connect(self, payload: wire.LobbyMemberPayload) -> EmittedEvents:
        """Mark a lobby member as connected."""
        payload.member.connected = True
        return self._update_member(payload, "lobby_member_updated")

    @handles_event("LOBBY_MEMBER_DISCONNECT", wire.LobbyMemberPayload)
    def lobby_member_disconnect(self, payload: wire.LobbyMemberPayload) -> EmittedEvents:
        """Mark a lobby member as disconnected; the membership remains."""
        payload.member.connected = False
        return self._update_member(payload, "lobby_member_updated")

    def _update_member(self, payload: wire.LobbyMemberPayload, event: str) -> EmittedEvents:
        """Cache a lobby member and emit `event`; the client's own join is not emitted."""
        lobby, user_id = self.cache.lobbies.get(payload.lobby_id), payload.member.member_user_id
        yield from self._cache_user(payload.member.user)
        self.cache.update_profiles(user_id, payload.member.user_application_profiles)
        if lobby is None:
            return
        previous = lobby.members.get(user_id)
        if payload.member.connected is None and previous is not None:
            payload.member.connected = previous.connected
        lobby.members[user_id] = payload.member
        if event == "lobby_member_added" and user_id == self.cache.current_user_id:
            return
        yield event, payload.lobby_id, user_id

    @handles_event("LOBBY_MEMBER_REMOVE", wire.LobbyMemberPayload)
    def lobby_member_remove(self, payload: wire.LobbyMemberPayload) -> EmittedEvents:
        """Remove a lobby member."""
        lobby, user_id = self.cache.lobbies.get(payload.lobby_id), payload.member.member_user_id
        if lobby is None or lobby.members.pop(user_id, None) is None or user_id == self.cache.current_user_id:
            return
        yield from self._update_voice_state(lobby, wire.VoiceStatePayload(user_id=user_id, lobby_id=lobby.id))
        yield "lobby_member_removed", payload.lobby_id, user_id

    # Calls

    @handles_event("LOBBY_VOICE_STATE_UPDATE", wire.VoiceStatePayload)
    def lobby_voice_state_update(self, payload: wire.VoiceStatePayload) -> EmittedEvents:
        """Update the voice state of a participant, who joined, left or changed mute or deaf."""
        lobby = self.cache.lobbies.get(payload.lobby_id or 0)
        return () if lobby is None else self._update_voice_state(lobby, payload)

    @handles_event("LOBBY_VOICE_SERVER_UPDATE", wire.VoiceServerPayload)
    def lobby_voice_server_update(self, payload: wire.VoiceServerPayload) -> EmittedEvents:
        """Pass on the voice server of the current user's call."""
        self.on_voice_server(payload)
        return ()

    def _update_voice_state(self, lobby: CachedLobby, payload: wire.VoiceStatePayload) -> EmittedEvents:
        """Cache or remove the voice state of a user, and emit whether the user joined or left the lobby's call."""
        is_present = payload.channel_id is not None
        previous = lobby.voice_states.pop(payload.user_id, None)
        if is_present:
            lobby.voice_states[payload.user_id] = payload
        self.on_voice_state(payload, previous)
        if (previous is not None) != is_present:
            yield "voice_participant_changed", lobby.id, payload.user_id, is_present

    def _compare_calls(self, lobby_id: int, previous_voice_states: dict[int, wire.VoiceStatePayload]) -> EmittedEvents:
        """Emit the differences between the previous and the new participants of a lobby's call."""
        lobby = self.cache.lobbies[lobby_id]
        voice_states, lobby.voice_states = lobby.voice_states, previous_voice_states
        for user_id in previous_voice_states.keys() - voice_states.keys():
            yield from self._update_voice_state(lobby, wire.VoiceStatePayload(user_id=user_id, lobby_id=lobby_id))
        for state in voice_states.values():
            state.lobby_id = state.channel_id = lobby_id
            yield from self._update_voice_state(lobby, state)

    # Accounts

    @handles_event("USER_MERGE_OPERATION_COMPLETED", wire.MergePayload)
    def merge_completed(self, payload: wire.MergePayload) -> EmittedEvents:
        """Log that a provisional account was merged into this account."""
        self.core.logs.info("A provisional account was merged into this account")
        return ()


def _invite_end_ms(invite: ActivityInvite) -> int:
    """Return the last time at which an invite is valid, in Unix milliseconds."""
    return (invite.message_id >> 22) + EPOCH_MS + INVITE_LIFETIME_MS
