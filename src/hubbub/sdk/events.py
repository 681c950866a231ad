"""Handlers of gateway events, which update the cache and return the events to emit to the game.

Each handler runs on the network loop, under the client's lock, with the decoded payload.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UnsetType

from hubbub.protocol.ids import Snowflake
from hubbub.sdk import resources
from hubbub.sdk.cache import (
    OFFLINE_STATUS,
    CachedLobby,
    CachedMessage,
    CachedVoiceState,
    cached_member,
    cached_voice_state,
    member_user_id,
)
from hubbub.sdk.core import Core
from hubbub.sdk.enums import ActivityActionTypes, ChannelType, ClientStatus, DisclosureTypes, member_or_default
from hubbub.sdk.event_table import EmittedEvents, EventTable
from hubbub.sdk.handles import SENT_FROM_GAME_FLAG
from hubbub.sdk.records import ActivityInvite
from hubbub.sdk.session_changes import CacheSnapshot
from hubbub.sdk.tolerant_models import decode

if TYPE_CHECKING:
    from hubbub.protocol.resources.channels import AnyChannel
    from hubbub.protocol.resources.direct_messages import ChannelRecipientChange
    from hubbub.protocol.resources.gateway import Ready, ReadySupplemental
    from hubbub.protocol.resources.identities import MergeCompleted, UserApplicationProfiles
    from hubbub.protocol.resources.lobbies import (
        GatewayLobby,
        LinkedLobbyMessage,
        LobbyDeleted,
        LobbyMemberChange,
        LobbyMessageDeleted,
        LobbyVoiceState,
    )
    from hubbub.protocol.resources.lobby_calls import LobbyVoiceServer
    from hubbub.protocol.resources.messages import MessageDeleted
    from hubbub.protocol.resources.presence import Presence
    from hubbub.protocol.resources.relationships import AddedRelationship, GameRelationship, RemovedRelationship
    from hubbub.protocol.resources.user_messages import ActivityInvite as InvitePayload
    from hubbub.protocol.resources.user_messages import DispatchedUserMessage
    from hubbub.protocol.resources.users import MyUser, User
    from hubbub.sdk.cache import AnyMessage

VoiceStateListener = Callable[[int, int, CachedVoiceState | None, CachedVoiceState | None], None]
"""Function that is called with the lobby ID, the user ID, and the new and the previous voice state.

A state is None while the user is not in the call."""

EXPIRY_CHECK_DELAY_SECONDS: Final = 0.01
"""Delay of the expiry check in seconds, because an invite is still valid at the exact end of its lifetime."""
DISCLOSURE_TEXT: Final = "Messages in this conversation can also be seen in the chat client."

event_table: "Final[EventTable[GatewayEventHandlers]]" = EventTable()


class GatewayEventHandlers:
    """Handlers that apply gateway events to the cache and emit events to the game."""

    def __init__(self, core: Core) -> None:
        self.core: Final = core
        self.cache: Final = core.cache
        self.invites: Final[dict[int, ActivityInvite]] = {}
        """Received invites by message ID."""
        self.accepted_message_ids: Final[set[int]] = set()
        """Message IDs of the invites that this client accepted; only acceptances on other devices are emitted."""
        self.is_disclosed = False
        """Whether the disclosure was shown to the player: the chat client shows the same messages as the game."""
        self.on_disclosed: Callable[[], None] = lambda: None
        """Function called when `is_disclosed` becomes true."""
        self.on_voice_state: VoiceStateListener = lambda lobby_id, user_id, voice_state, previous_voice_state: None
        """Function called with each voice state that is received for a lobby's call, and when a participant leaves."""
        self.on_voice_server: Callable[[LobbyVoiceServer], None] = lambda payload: None
        """Function called with the voice server of a lobby's call."""
        self.on_lobby_removed: Callable[[int], None] = lambda lobby_id: None
        """Function called with the ID of a lobby that the current user is no longer a member of."""
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
        handler = event_table.handlers.get(event)
        if handler is None:
            self.core.logs.verbose(f"Ignored event {event}")
            return
        model, method = handler
        # Decode before taking the lock, which the game's thread may be waiting for.
        payload = decode(data, model)
        with self.core.lock:
            emitted_events = list(method(self, payload))
        for name, *args in emitted_events:
            self.core.emit(name, *args)

    # Session start

    @event_table.handles(lambda: resources.gateway.READY)
    def ready(self, payload: "Ready") -> EmittedEvents:
        """Replace the state of the previous session with that of a new one.

        Users and recent messages stay cached, unless another user signed in."""
        core, cache = self.core, self.cache
        # Copied before the cache is cleared, to emit the changes of participants.
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
        for user in (payload.user, *(payload.users or ())):
            cache.update_user(user)
        if payload.application:
            core.application_id = payload.application.id
            core.application_name = payload.application.name or ""
            core.parent_application_id = payload.application.parent_id or 0
        core.scopes = frozenset(payload.scopes or ())
        flags = payload.feature_flags
        core.disabled_functions = frozenset(flags.disabled_functions or ()) if flags else frozenset()
        for relationship in payload.relationships or ():
            cache.update_relationship(relationship)
        for game_relationship in payload.game_relationships or ():
            cache.update_game_relationship(game_relationship)
        for channel in payload.private_channels or ():
            cache.update_channel(channel)
        for presence in payload.presences or ():
            cache.update_presence(presence)
        for user_id, profiles in (payload.user_application_profiles or {}).items():
            if user_id.isdecimal():
                cache.profiles[int(user_id)] = profiles
        for lobby in payload.lobbies or ():
            cache.update_lobby(lobby)
            if lobby.id not in previous_voice_states:
                yield "lobby_created", lobby.id
            yield from self._emit_call_changes(lobby.id, previous_voice_states.get(lobby.id, {}))
        for lobby_id in previous_voice_states.keys() - cache.lobbies.keys():
            self.on_lobby_removed(lobby_id)
            yield "lobby_deleted", lobby_id
        yield from self._add_pending_invites(payload.game_invites)

    @event_table.handles(lambda: resources.gateway.READY_SUPPLEMENTAL)
    def ready_supplemental(self, payload: "ReadySupplemental") -> EmittedEvents:
        """Add the second part of the initial state."""
        for presence in (payload.merged_presences.friends or ()) if payload.merged_presences else ():
            self.cache.update_presence(presence)
        for channel in payload.lazy_private_channels or ():
            self.cache.update_channel(channel)
        return self._add_pending_invites(payload.game_invites)

    def _status_changed(self, status: ClientStatus) -> None:
        """Emit the differences from the previous session once a new session is ready."""
        if status is not ClientStatus.READY or self._previous_session is None:
            return
        previous_session, self._previous_session = self._previous_session, None
        with self.core.lock:
            emitted_events = [*previous_session.changes(self.cache), *self._revalidate_invites()]
        for name, *args in emitted_events:
            self.core.emit(name, *args)

    def _add_pending_invites(self, payload: "list[InvitePayload] | UnsetType") -> EmittedEvents:
        """Process invites that arrived while the client was disconnected, except those it already has."""
        for invite in payload or ():
            if invite.message_id not in self.invites:
                yield from self.activity_invite_create(invite)

    # Users

    def _cache_user(self, payload: "User | UnsetType") -> EmittedEvents:
        """Cache a user, and emit an update if the user was cached before and changed."""
        if not payload:
            return
        was_cached = payload.id in self.cache.users
        if self.cache.update_user(payload) and was_cached:
            yield "user_updated", payload.id

    @event_table.handles(lambda: resources.users.USER_UPDATE)
    def user_update(self, payload: "MyUser") -> EmittedEvents:
        """Update the current user."""
        if self.cache.update_user(payload):
            yield "user_updated", payload.id

    @event_table.handles(lambda: resources.identities.USER_APPLICATION_IDENTITY_UPDATE)
    def profiles_update(self, payload: "UserApplicationProfiles") -> EmittedEvents:
        """Update the application profiles of a user."""
        if payload.user_id and self.cache.update_profiles(payload.user_id, payload.user_application_profiles):
            yield "user_updated", payload.user_id

    @event_table.handles(lambda: resources.presence.PRESENCE_UPDATE)
    def presence_update(self, payload: "Presence") -> EmittedEvents:
        """Update the status and activities of a user."""
        user_id, has_changed = self.cache.update_presence(payload)
        if not has_changed:
            return
        yield "user_updated", user_id
        if self.cache.is_friend(user_id):
            yield "relationship_groups_updated", user_id
        yield from self._revalidate_invites(user_id)

    @event_table.handles(lambda: resources.relationships.RELATIONSHIP_ADD)
    def relationship_add(self, payload: "AddedRelationship") -> EmittedEvents:
        """Add a platform relationship or change its type."""
        self.cache.update_relationship(payload)
        self.cache.update_profiles(payload.id, payload.user_application_profiles)
        yield "relationship_created", payload.id, True
        yield "relationship_groups_updated", payload.id
        yield from self._hide_presence(payload.id)

    @event_table.handles(
        lambda: resources.relationships.RELATIONSHIP_UPDATE, lambda: resources.relationships.AddedRelationship
    )
    def relationship_update(self, payload: "AddedRelationship") -> EmittedEvents:
        """Update the details of a platform relationship, except its type."""
        yield from self._cache_user(payload.user)
        if payload.id in self.cache.relationships:
            self.cache.update_relationship(payload, keeps_type=True)
            self.cache.update_profiles(payload.id, payload.user_application_profiles)
            yield "relationship_groups_updated", payload.id

    @event_table.handles(lambda: resources.relationships.RELATIONSHIP_REMOVE)
    def relationship_remove(self, payload: "RemovedRelationship") -> EmittedEvents:
        """Remove a platform relationship, and the presence of a user who is no longer a friend."""
        self.cache.remove_relationship(payload.id, is_game_relationship=False)
        yield "relationship_deleted", payload.id, True
        yield "relationship_groups_updated", payload.id
        yield from self._hide_presence(payload.id)

    @event_table.handles(lambda: resources.relationships.GAME_RELATIONSHIP_ADD)
    def game_relationship_add(self, payload: "GameRelationship") -> EmittedEvents:
        """Add a game relationship or change its type."""
        self.cache.update_game_relationship(payload)
        yield "relationship_created", payload.id, False
        yield "relationship_groups_updated", payload.id

    @event_table.handles(lambda: resources.relationships.GAME_RELATIONSHIP_REMOVE)
    def game_relationship_remove(self, payload: "GameRelationship") -> EmittedEvents:
        """Remove a game relationship, and the presence of a user who is no longer a friend."""
        self.cache.remove_relationship(payload.id, is_game_relationship=True)
        yield "relationship_deleted", payload.id, False
        yield "relationship_groups_updated", payload.id
        yield from self._hide_presence(payload.id)

    def _hide_presence(self, user_id: int) -> EmittedEvents:
        """Remove the presence of a user who is no longer a friend, because only friends share it (spec/sdk.md#9.3)."""
        if not self.cache.is_friend(user_id) and self.cache.presences.pop(user_id, None) is not None:
            yield "user_updated", user_id

    # Channels and messages

    @event_table.handles(lambda: resources.channels.CHANNEL_CREATE)
    def channel_create(self, payload: "AnyChannel") -> EmittedEvents:
        """Add a private channel."""
        self.cache.update_channel(payload)
        return ()

    @event_table.handles(lambda: resources.channels.CHANNEL_UPDATE)
    def channel_update(self, payload: "AnyChannel") -> EmittedEvents:
        """Replace a private channel."""
        return self.channel_create(payload)

    @event_table.handles(lambda: resources.channels.CHANNEL_DELETE)
    def channel_delete(self, payload: "AnyChannel") -> EmittedEvents:
        """Remove a channel from the cache; its messages stay cached."""
        self.cache.channels.pop(payload.id, None)
        return ()

    @event_table.handles(lambda: resources.direct_messages.CHANNEL_RECIPIENT_ADD)
    def channel_recipient_add(self, payload: "ChannelRecipientChange") -> EmittedEvents:
        """Add a recipient to a group."""
        yield from self._cache_user(payload.user)
        self._update_recipients(payload, is_added=True)

    @event_table.handles(lambda: resources.direct_messages.CHANNEL_RECIPIENT_REMOVE)
    def channel_recipient_remove(self, payload: "ChannelRecipientChange") -> EmittedEvents:
        """Remove a recipient from a group."""
        self._update_recipients(payload, is_added=False)
        return ()

    def _update_recipients(self, payload: "ChannelRecipientChange", *, is_added: bool) -> None:
        """Remove the user of the payload from the recipients of a cached group, and append it if it was added."""
        group = self.cache.channels.get(payload.channel_id)
        if group is not None and payload.user:
            user_ids = [user_id for user_id in group.recipient_ids if user_id != payload.user.id]
            group.recipient_ids = [*user_ids, payload.user.id] if is_added else user_ids

    @event_table.handles(
        lambda: resources.messages.MESSAGE_CREATE, lambda: resources.user_messages.DispatchedUserMessage
    )
    def message_create(self, payload: "DispatchedUserMessage") -> EmittedEvents:
        """Add a direct message, and emit it as an activity invite or as a new message."""
        self.core.clock.update_from_id(payload.id)
        if payload.channel and payload.channel.type != ChannelType.EPHEMERAL_DM:
            self.cache.update_channel(payload.channel)
        # Invites are cached as well: they are part of the conversation, and a history without them would have a gap.
        message = self.cache.add_direct_message(payload)
        if payload.activity and payload.activity.type in (ActivityActionTypes.JOIN, ActivityActionTypes.JOIN_REQUEST):
            yield from self._add_invite(payload.id, payload)
            return
        is_sent_from_game = bool((payload.flags or 0) & SENT_FROM_GAME_FLAG)
        if (
            message.other_user_id
            and is_sent_from_game
            and payload.channel_id in self.cache.channels
            and not self.is_disclosed
        ):
            yield from self._disclose(message)
        yield "message_created", payload.id

    @event_table.handles(
        lambda: resources.messages.MESSAGE_UPDATE, lambda: resources.user_messages.DispatchedUserMessage
    )
    def message_update(self, payload: "DispatchedUserMessage") -> EmittedEvents:
        """Update an edited message or its moderation metadata."""
        return self._update_message(payload)

    def _update_message(self, payload: "AnyMessage") -> EmittedEvents:
        """Update a message if it is cached; emit the update in any case."""
        message = self.cache.find_message(payload.id)
        if message is not None:
            message.update(payload)
        yield "message_updated", payload.id

    @event_table.handles(lambda: resources.messages.MESSAGE_DELETE)
    def message_delete(self, payload: "MessageDeleted") -> EmittedEvents:
        """Remove a direct message from the cache, and emit its ID and channel ID."""
        message = self.cache.remove_message(payload.id, payload.channel_id or 0)
        yield "message_deleted", payload.id, payload.channel_id or (message.channel_id if message else 0)

    @event_table.handles(lambda: resources.lobbies.LOBBY_MESSAGE_CREATE, lambda: resources.lobbies.LinkedLobbyMessage)
    def lobby_message_create(self, payload: "LinkedLobbyMessage") -> EmittedEvents:
        """Add a message to the recent messages of its lobby."""
        self.core.clock.update_from_id(payload.id)
        self.cache.add_lobby_message(payload)
        yield "message_created", payload.id

    @event_table.handles(lambda: resources.lobbies.LOBBY_MESSAGE_UPDATE, lambda: resources.lobbies.LinkedLobbyMessage)
    def lobby_message_update(self, payload: "LinkedLobbyMessage") -> EmittedEvents:
        """Update a lobby message or its moderation metadata."""
        return self._update_message(payload)

    @event_table.handles(lambda: resources.lobbies.LOBBY_MESSAGE_DELETE)
    def lobby_message_delete(self, payload: "LobbyMessageDeleted") -> EmittedEvents:
        """Remove a lobby message from the cache, and emit its ID and channel ID."""
        # The message may belong to the linked channel; report the channel ID that its handles return.
        channel_id = payload.lobby_id or 0
        message, lobby = self.cache.remove_message(payload.id, channel_id), self.cache.lobbies.get(channel_id)
        if message is not None and message.channel_id:
            channel_id = message.channel_id
        elif lobby is not None and lobby.linked_channel is not None:
            channel_id = lobby.linked_channel.id
        yield "message_deleted", payload.id, channel_id

    def _disclose(self, message: CachedMessage) -> EmittedEvents:
        """Insert a local message that informs the player, once, that the chat client shows the conversation as well."""
        self.is_disclosed = True
        self.on_disclosed()
        # The preceding ID places the notice directly before the message.
        notice = CachedMessage(
            message.id - 1,
            channel_id=message.channel_id,
            content=DISCLOSURE_TEXT,
            other_user_id=message.other_user_id,
            disclosure=DisclosureTypes.MESSAGE_DATA_VISIBLE_ON_PLATFORM,
        )
        self.cache.add_disclosure(notice)
        yield "message_created", notice.id

    # Invites

    @event_table.handles(lambda: resources.user_messages.ACTIVITY_INVITE_CREATE)
    def activity_invite_create(self, payload: "InvitePayload") -> EmittedEvents:
        """Add an invite, unless this client accepted it.

        The platform sends this event to sessions that do not receive messages, and when another device accepts an invite."""
        if payload.message_id in self.accepted_message_ids:
            return ()
        return self._add_invite(payload.message_id or 0, payload)

    def _add_invite(self, message_id: int, payload: "DispatchedUserMessage | InvitePayload") -> EmittedEvents:
        """Store and emit the invite or join request in a message of another user."""
        author, activity, application = payload.author, payload.activity, payload.application
        if not author or not activity:
            return
        self.cache.update_user(author)
        if author.id == self.cache.current_user_id:
            # The invites of the current user are not emitted.
            return
        invite = self.core.make(
            ActivityInvite,
            sender_id=author.id,
            channel_id=payload.channel_id or 0,
            message_id=message_id,
            type=member_or_default(ActivityActionTypes, activity.type or 0, ActivityActionTypes.INVALID),
            application_id=(application.id if application else payload.application_id) or 0,
            parent_application_id=(application.parent_id if application else 0) or 0,
            party_id=activity.party_id or "",
            # A message does not have the session ID; the sender's presence does.
            session_id=activity.session_id or self.cache.session_id_of(author.id, activity.party_id or ""),
            is_valid=True,
        )
        invite.is_valid = self._is_still_valid(invite)
        self.invites[message_id] = invite
        self._schedule_expiry()
        yield "activity_invite_created", invite.copy()

    def _is_still_valid(self, invite: ActivityInvite) -> bool:
        """Return whether an invite has not expired and its sender is still in the activity, as far as visible."""
        if invite.message_id and self.core.clock() > _compute_invite_end_ms(invite):
            return False
        presence = self.cache.presences.get(invite.sender_id)
        if presence is None:
            # The sender's presence is not visible. Accepting the invite will check it.
            return True
        if invite.type == ActivityActionTypes.JOIN_REQUEST or not invite.party_id:
            return presence.status != OFFLINE_STATUS
        return any(activity.party and activity.party.id == invite.party_id for activity in presence.activities)

    def _revalidate_invites(self, sender_id: int | None = None) -> EmittedEvents:
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
            _compute_invite_end_ms(invite) for invite in self.invites.values() if invite.is_valid and invite.message_id
        ]
        if end_times_ms:
            remaining_seconds = max(min(end_times_ms) - self.core.clock(), 0) / 1000
            self._expiry_timer = asyncio.get_running_loop().call_later(
                remaining_seconds + EXPIRY_CHECK_DELAY_SECONDS, self._check_expiry
            )

    def _check_expiry(self) -> None:
        # If the platform's clock was corrected meanwhile, nothing has expired and the timer is set again.
        with self.core.lock:
            emitted_events = list(self._revalidate_invites())
        for name, *args in emitted_events:
            self.core.emit(name, *args)

    # Lobbies

    @event_table.handles(lambda: resources.lobbies.LOBBY_CREATE)
    def lobby_create(self, payload: "GatewayLobby") -> EmittedEvents:
        """Add a lobby, or merge it into the cached lobby."""
        cached_lobby = self.cache.lobbies.get(payload.id)
        previous_voice_states = None if cached_lobby is None else dict(cached_lobby.voice_states)
        _, is_new = self.cache.update_lobby(payload)
        yield ("lobby_created" if is_new else "lobby_updated"), payload.id
        if previous_voice_states is not None:
            yield from self._emit_call_changes(payload.id, previous_voice_states)

    @event_table.handles(lambda: resources.lobbies.LOBBY_UPDATE)
    def lobby_update(self, payload: "GatewayLobby") -> EmittedEvents:
        """Merge changes into a lobby; a lobby that is not cached is added."""
        return self.lobby_create(payload)

    @event_table.handles(lambda: resources.lobbies.LOBBY_DELETE)
    def lobby_delete(self, payload: "LobbyDeleted") -> EmittedEvents:
        """Remove a lobby that was deleted or that the current user left."""
        self.cache.remove_lobby_channels(payload.id)
        if self.cache.lobbies.pop(payload.id, None) is not None:
            self.on_lobby_removed(payload.id)
            yield "lobby_deleted", payload.id

    @event_table.handles(lambda: resources.lobbies.LOBBY_MEMBER_ADD)
    def lobby_member_add(self, payload: "LobbyMemberChange") -> EmittedEvents:
        """Cache a new lobby member; the current user's own join is not emitted."""
        return self._update_member(payload, "lobby_member_added")

    @event_table.handles(lambda: resources.lobbies.LOBBY_MEMBER_UPDATE)
    def lobby_member_update(self, payload: "LobbyMemberChange") -> EmittedEvents:
        """Replace the cached record of a lobby member."""
        return self._update_member(payload, "lobby_member_updated")

    @event_table.handles(lambda: resources.lobbies.LOBBY_MEMBER_CONNECT)
    def lobby_member_connect(self, payload: "LobbyMemberChange") -> EmittedEvents:
        """Mark a lobby member as connected."""
        if payload.member:
            payload.member.connected = True
        return self._update_member(payload, "lobby_member_updated")

    @event_table.handles(lambda: resources.lobbies.LOBBY_MEMBER_DISCONNECT)
    def lobby_member_disconnect(self, payload: "LobbyMemberChange") -> EmittedEvents:
        """Mark a lobby member as disconnected; the membership remains."""
        if payload.member:
            payload.member.connected = False
        return self._update_member(payload, "lobby_member_updated")

    def _update_member(self, payload: "LobbyMemberChange", event: str) -> EmittedEvents:
        """Cache a lobby member and emit `event`, except the current user's own join."""
        if not payload.member:
            return
        lobby = self.cache.lobbies.get(payload.lobby_id)
        yield from self._cache_user(payload.member.user)
        user_id = self.cache.update_member_user(payload.member)
        if lobby is None or not user_id:
            return
        lobby.members[user_id] = cached_member(payload.member, lobby.members.get(user_id))
        if event == "lobby_member_added" and user_id == self.cache.current_user_id:
            return
        yield event, lobby.id, user_id

    @event_table.handles(lambda: resources.lobbies.LOBBY_MEMBER_REMOVE)
    def lobby_member_remove(self, payload: "LobbyMemberChange") -> EmittedEvents:
        """Remove a lobby member and, for another user, the voice state; the current user's removal is not emitted."""
        lobby = self.cache.lobbies.get(payload.lobby_id)
        if lobby is None or not payload.member:
            return
        user_id = member_user_id(payload.member)
        if lobby.members.pop(user_id, None) is None or user_id == self.cache.current_user_id:
            return
        yield from self._update_voice_state(lobby, user_id, None)
        yield "lobby_member_removed", lobby.id, user_id

    # Calls

    @event_table.handles(lambda: resources.lobby_calls.LOBBY_VOICE_STATE_UPDATE)
    def lobby_voice_state_update(self, payload: "LobbyVoiceState") -> EmittedEvents:
        """Update the voice state of a participant, who joined, left or changed mute or deaf."""
        lobby = self.cache.lobbies.get(payload.lobby_id)
        if lobby is None or not payload.user_id:
            return ()
        # The channel is null if the user left the call.
        state = cached_voice_state(payload) if payload.channel_id else None
        return self._update_voice_state(lobby, payload.user_id, state)

    @event_table.handles(lambda: resources.lobby_calls.LOBBY_VOICE_SERVER_UPDATE)
    def lobby_voice_server_update(self, payload: "LobbyVoiceServer") -> EmittedEvents:
        """Pass on the voice server of the current user's call."""
        self.on_voice_server(payload)
        return ()

    def _update_voice_state(self, lobby: CachedLobby, user_id: int, state: CachedVoiceState | None) -> EmittedEvents:
        """Cache or remove the voice state of a user, and emit whether the user joined or left the lobby's call."""
        previous_voice_state = lobby.voice_states.pop(user_id, None)
        if state is not None:
            lobby.voice_states[user_id] = state
        self.on_voice_state(lobby.id, user_id, state, previous_voice_state)
        if (previous_voice_state is None) != (state is None):
            yield "voice_participant_changed", lobby.id, user_id, state is not None

    def _emit_call_changes(self, lobby_id: int, previous_voice_states: dict[int, CachedVoiceState]) -> EmittedEvents:
        """Emit the differences between the previous and the new participants of a lobby's call."""
        lobby = self.cache.lobbies[lobby_id]
        # `_update_voice_state` compares with the cache, so the previous states are restored first.
        voice_states, lobby.voice_states = lobby.voice_states, previous_voice_states
        for user_id in previous_voice_states.keys() - voice_states.keys():
            yield from self._update_voice_state(lobby, user_id, None)
        for user_id, state in voice_states.items():
            yield from self._update_voice_state(lobby, user_id, state)

    # Accounts

    @event_table.handles(lambda: resources.identities.USER_MERGE_OPERATION_COMPLETED)
    def merge_completed(self, payload: "MergeCompleted") -> EmittedEvents:
        """Log that a provisional account was merged into this account."""
        self.core.logs.info("A provisional account was merged into this account")
        return ()


def _compute_invite_end_ms(invite: ActivityInvite) -> int:
    """Return the last time at which an invite is valid, as Unix milliseconds."""
    return Snowflake(invite.message_id).created_ms + resources.user_messages.ACTIVITY_INVITE_LIFETIME_MS
