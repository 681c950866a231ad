"""Handlers of gateway events, which update the cache and return the events to emit to the game.

Each handler runs on the network loop, under the client's lock, with the decoded payload.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import msgspec

from hubbub.protocol.ids import EPOCH_MS
from hubbub.sdk import payloads as wire
from hubbub.sdk.cache import Lobby, recipients
from hubbub.sdk.core import Core
from hubbub.sdk.enums import ActivityActionTypes, ChannelType, ClientStatus, DisclosureTypes, known
from hubbub.sdk.handles import SENT_FROM_GAME
from hubbub.sdk.payloads import read
from hubbub.sdk.records import ActivityInvite
from hubbub.sdk.renewal import Known

T = TypeVar("T")
Emits = Iterable[tuple[Any, ...]]

INVITE_MS: Final = 6 * 3600 * 1000
"""Lifetime of an invite (sdk.md 10.4)."""
LATE_S: Final = 0.01
"""Delay of the expiry check in seconds, because an invite is still valid at the exact end of its lifetime."""
DISCLOSURE: Final = "Messages in this conversation can also be seen in the chat client."

_handlers: Final[dict[str, tuple[type[Any], Callable[["Events", Any], Emits]]]] = {}


def on(event: str, kind: type[T]) -> Callable[[Callable[["Events", T], Emits]], Callable[["Events", T], Emits]]:
    """Register a method as the handler of a gateway event with payloads of type `kind`."""

    def register(function: Callable[["Events", T], Emits]) -> Callable[["Events", T], Emits]:
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
        self.accepted: Final[set[int]] = set()
        """Message IDs of the invites that this client accepted; only acceptances on other devices are emitted."""
        self.disclosed = False
        """Whether the player has been told that the chat client shows the same messages."""
        self.acknowledge: Callable[[], None] = lambda: None
        """Called when the disclosure was shown to the player."""
        self.voice_state: Callable[[wire.VoiceStatePayload, wire.VoiceStatePayload | None], None] = lambda new, old: (
            None
        )
        """Called with the new and the previous voice state of a participant in a lobby's call."""
        self.voice_server: Callable[[wire.VoiceServerPayload], None] = lambda payload: None
        """Called with the voice server of a lobby's call."""
        self.lobby_gone: Callable[[int], None] = lambda lobby_id: None
        """Called with the ID of a lobby that the current user is no longer a member of."""
        self._aging: asyncio.TimerHandle | None = None
        self._before: Known | None = None
        """State of the cache before the session that is being established; None otherwise."""
        core.closers.append(self.close)
        core.clock.watchers.append(self._grew_old)
        core.watchers.append(self._watch)

    async def close(self) -> None:
        """Cancel the invite expiry timer."""
        if self._aging is not None:
            self._aging.cancel()

    def dispatch(self, event: str, data: msgspec.Raw) -> None:
        """Handle a gateway event; ignore unknown ones."""
        found = _handlers.get(event)
        if found is None:
            self.core.logs.verbose(f"Ignored event {event}")
            return
        kind, function = found
        # Decode before taking the lock, which the game's thread may be waiting for.
        payload = read(data, kind)
        with self.core.lock:
            emits = list(function(self, payload))
        for name, *args in emits:
            self.core.emit(name, *args)

    # Session start

    @on("READY", wire.ReadyPayload)
    def ready(self, told: wire.ReadyPayload) -> Emits:
        """Replace the cache with the state of a new session."""
        core, cache = self.core, self.cache
        before = {lobby.id: dict(lobby.voice_states) for lobby in cache.lobbies.values()}
        if cache.me not in (0, told.user.id):
            # Another user signed in: drop everything of the previous user.
            cache.clear()
            self.invites.clear()
            self._await_age()
            self.disclosed = False
            self._before = None
        elif cache.me and self._before is None:
            self._before = Known(cache)
        cache.begin()
        cache.me = told.user.id
        for user in (told.user, *told.users):
            cache.note_user(user)
        if told.application is not None:
            core.application_id = told.application.id
            core.application_name = told.application.name or ""
            core.parent_id = told.application.parent_id or 0
        core.scopes = frozenset(told.scopes)
        flags = told.feature_flags or wire.FeatureFlagsPayload()
        core.disabled = frozenset(flags.disabled_functions)
        for relationship in told.relationships:
            cache.note_relationship(relationship)
        for game in told.game_relationships:
            cache.note_game_relationship(game)
        for channel in told.private_channels:
            self._note_channel(channel)
        for presence in told.presences:
            cache.note_presence(presence)
        for who, profiles in told.user_application_profiles.items():
            cache.profiles[int(who)] = profiles
        for lobby in told.lobbies:
            self._note_lobby(lobby)
            if lobby.id not in before:
                yield "lobby_created", lobby.id
            yield from self._compare_calls(lobby.id, before.get(lobby.id, {}))
        for gone in before.keys() - cache.lobbies.keys():
            self.lobby_gone(gone)
            yield "lobby_deleted", gone
        yield from self._waiting(told.game_invites)

    @on("READY_SUPPLEMENTAL", wire.ReadySupplementalPayload)
    def ready_supplemental(self, told: wire.ReadySupplementalPayload) -> Emits:
        """Add the second part of the initial state."""
        for presence in told.merged_presences.friends if told.merged_presences else ():
            self.cache.note_presence(presence)
        for channel in told.lazy_private_channels:
            self._note_channel(channel)
        return self._waiting(told.game_invites)

    def _watch(self, status: ClientStatus) -> None:
        """Emit the differences to the previous session once a new session is ready."""
        if status is not ClientStatus.READY or self._before is None:
            return
        before, self._before = self._before, None
        with self.core.lock:
            emits = [*before.news(self.cache), *self._review_invites()]
        for name, *args in emits:
            self.core.emit(name, *args)

    def _waiting(self, told: list[wire.ActivityInvitePayload]) -> Emits:
        """Process invites that arrived while the client was disconnected, except those it already has."""
        for each in told:
            if each.message_id not in self.invites:
                yield from self.activity_invite_create(each)

    def _note_channel(self, channel: wire.ChannelPayload) -> None:
        for user in channel.recipients or ():
            self.cache.note_user(user)
        self.cache.channels[channel.id] = channel

    def _note_lobby(self, told: wire.LobbyPayload) -> bool:
        lobby, new = self.cache.note_lobby(told)
        self.cache.channels[lobby.id] = wire.ChannelPayload(id=lobby.id, type=ChannelType.LOBBY)
        return new

    # Users

    def _note_user(self, told: wire.UserPayload | None) -> Emits:
        """Cache a user, and emit an update if the user was known and changed."""
        known = told is not None and told.id in self.cache.users
        if self.cache.note_user(told) and known and told is not None:
            yield "user_updated", told.id

    @on("USER_UPDATE", wire.UserPayload)
    def user_update(self, told: wire.UserPayload) -> Emits:
        """Update the current user."""
        if self.cache.note_user(told):
            yield "user_updated", told.id

    @on("USER_APPLICATION_IDENTITY_UPDATE", wire.ProfilesPayload)
    def profiles_update(self, told: wire.ProfilesPayload) -> Emits:
        """Update the application profiles of a user."""
        if self.cache.note_profiles(told.user_id, told.user_application_profiles):
            yield "user_updated", told.user_id

    @on("PRESENCE_UPDATE", wire.PresencePayload)
    def presence_update(self, told: wire.PresencePayload) -> Emits:
        """Update the status and activities of a user."""
        who, news = self.cache.note_presence(told)
        if not news:
            return
        yield "user_updated", who
        if self.cache.is_friend(who):
            yield "relationship_groups_updated", who
        yield from self._review_invites(who)

    @on("RELATIONSHIP_ADD", wire.RelationshipPayload)
    def relationship_add(self, told: wire.RelationshipPayload) -> Emits:
        """Add a platform relationship or change its type."""
        self.cache.note_relationship(told)
        yield "relationship_created", told.id, True
        yield "relationship_groups_updated", told.id
        yield from self._look_away(told.id)

    @on("RELATIONSHIP_UPDATE", wire.RelationshipPayload)
    def relationship_update(self, told: wire.RelationshipPayload) -> Emits:
        """Update the details of a platform relationship, except its type."""
        told.type = None
        yield from self._note_user(told.user)
        if told.id in self.cache.relations:
            self.cache.note_relationship(told)
            yield "relationship_groups_updated", told.id

    @on("RELATIONSHIP_REMOVE", wire.RelationshipPayload)
    def relationship_remove(self, told: wire.RelationshipPayload) -> Emits:
        """Remove a platform relationship."""
        self.cache.end_relationship(told.id, game=False)
        yield "relationship_deleted", told.id, True
        yield "relationship_groups_updated", told.id
        yield from self._look_away(told.id)

    @on("GAME_RELATIONSHIP_ADD", wire.GameRelationshipPayload)
    def game_relationship_add(self, told: wire.GameRelationshipPayload) -> Emits:
        """Add a game relationship or change its type."""
        self.cache.note_game_relationship(told)
        yield "relationship_created", told.id, False
        yield "relationship_groups_updated", told.id

    @on("GAME_RELATIONSHIP_REMOVE", wire.GameRelationshipPayload)
    def game_relationship_remove(self, told: wire.GameRelationshipPayload) -> Emits:
        """Remove a game relationship."""
        self.cache.end_relationship(told.id, game=True)
        yield "relationship_deleted", told.id, False
        yield "relationship_groups_updated", told.id
        yield from self._look_away(told.id)

    def _look_away(self, who: int) -> Emits:
        """Remove the presence of a user who is no longer a friend, because only friends share it (sdk.md 9.3)."""
        if not self.cache.is_friend(who) and self.cache.presences.pop(who, None) is not None:
            yield "user_updated", who

    # Channels and messages

    @on("CHANNEL_CREATE", wire.ChannelPayload)
    def channel_create(self, told: wire.ChannelPayload) -> Emits:
        """Add a private channel."""
        self._note_channel(told)
        return ()

    @on("CHANNEL_UPDATE", wire.ChannelPayload)
    def channel_update(self, told: wire.ChannelPayload) -> Emits:
        """Replace a private channel."""
        return self.channel_create(told)

    @on("CHANNEL_DELETE", wire.ChannelPayload)
    def channel_delete(self, told: wire.ChannelPayload) -> Emits:
        """Remove a channel."""
        self.cache.channels.pop(told.id, None)
        return ()

    @on("CHANNEL_RECIPIENT_ADD", wire.RecipientPayload)
    def channel_recipient_add(self, told: wire.RecipientPayload) -> Emits:
        """Add a recipient to a group."""
        yield from self._note_user(told.user)
        self._note_recipients(told, [told.user.id])

    @on("CHANNEL_RECIPIENT_REMOVE", wire.RecipientPayload)
    def channel_recipient_remove(self, told: wire.RecipientPayload) -> Emits:
        """Remove a recipient from a group."""
        self._note_recipients(told, [])
        return ()

    def _note_recipients(self, told: wire.RecipientPayload, here: list[int]) -> None:
        group = self.cache.channels.get(told.channel_id)
        if group is not None:
            ids = [each for each in recipients(group) if each != told.user.id] + here
            self.cache.channels[group.id] = msgspec.structs.replace(group, recipients=None, recipient_ids=ids)

    @on("MESSAGE_CREATE", wire.MessagePayload)
    def message_create(self, told: wire.MessagePayload) -> Emits:
        """Add a direct message; emit an activity invite or a new message."""
        self.core.clock.heard(told.id)
        activity = told.activity
        if told.channel is not None and told.channel.type != ChannelType.EPHEMERAL_DM:
            self._note_channel(told.channel)
        # Invites are cached as well: they are part of the conversation, and a history without them would have a gap.
        message = self.cache.keep(told)
        if activity is not None and activity.type in (ActivityActionTypes.JOIN, ActivityActionTypes.JOIN_REQUEST):
            yield from self._invited(told)
            return
        channel = self.cache.channels.get(told.channel_id)
        if message.other and (told.flags or 0) & SENT_FROM_GAME and channel is not None and not self.disclosed:
            yield from self._disclose(told, message.other)
        yield "message_created", told.id

    @on("MESSAGE_UPDATE", wire.MessagePayload)
    def message_update(self, told: wire.MessagePayload) -> Emits:
        """Update an edited message or its moderation metadata."""
        message = self.cache.message(told.id)
        if message is not None:
            self.cache.change(message, told)
        yield "message_updated", told.id

    @on("MESSAGE_DELETE", wire.MessageDeletedPayload)
    def message_delete(self, told: wire.MessageDeletedPayload) -> Emits:
        """Remove a message."""
        place = told.lobby_id or told.channel_id or 0
        known, lobby = self.cache.drop(told.id, place), self.cache.lobbies.get(place)
        if known is not None and known.payload.channel_id:
            # A lobby message may belong to the linked channel; report the same channel as its handles do.
            place = known.payload.channel_id
        elif told.channel_id is None and lobby is not None and lobby.linked_channel is not None:
            place = lobby.linked_channel.id
        yield "message_deleted", told.id, told.channel_id or place

    @on("LOBBY_MESSAGE_CREATE", wire.MessagePayload)
    def lobby_message_create(self, told: wire.MessagePayload) -> Emits:
        """Add a lobby message."""
        self.core.clock.heard(told.id)
        told.channel_id = told.channel_id or told.lobby_id or 0
        self.cache.keep(told)
        yield "message_created", told.id

    @on("LOBBY_MESSAGE_UPDATE", wire.MessagePayload)
    def lobby_message_update(self, told: wire.MessagePayload) -> Emits:
        """Update a lobby message."""
        return self.message_update(told)

    @on("LOBBY_MESSAGE_DELETE", wire.MessageDeletedPayload)
    def lobby_message_delete(self, told: wire.MessageDeletedPayload) -> Emits:
        """Remove a lobby message."""
        return self.message_delete(told)

    def _disclose(self, told: wire.MessagePayload, other: int) -> Emits:
        """Insert a local message, once, that tells the player that the chat client shows these messages as well."""
        self.disclosed = True
        self.acknowledge()
        # The preceding ID places the notice directly before the message.
        notice = wire.MessagePayload(
            id=told.id - 1, channel_id=told.channel_id, content=DISCLOSURE, timestamp=told.timestamp
        )
        self.cache.keep(notice, other=other, disclosure=DisclosureTypes.MESSAGE_DATA_VISIBLE_ON_PLATFORM)
        yield "message_created", notice.id

    # Invites

    @on("ACTIVITY_INVITE_CREATE", wire.ActivityInvitePayload)
    def activity_invite_create(self, told: wire.ActivityInvitePayload) -> Emits:
        """Add an invite; sent to sessions whose scopes do not allow reading messages."""
        if told.activity is None or told.author is None or told.message_id in self.accepted:
            return ()
        return self._invited(
            wire.MessagePayload(
                id=told.message_id or 0,
                channel_id=told.channel_id or 0,
                author=told.author,
                application=told.application,
                application_id=told.application_id,
                activity=told.activity,
            )
        )

    def _invited(self, told: wire.MessagePayload) -> Emits:
        author, activity = told.author, told.activity
        self.cache.note_user(author)
        if author is None or activity is None or author.id == self.cache.me:
            # Own invites are not emitted.
            return
        application = told.application
        invite = self.core.make(
            ActivityInvite,
            sender_id=author.id,
            channel_id=told.channel_id,
            message_id=told.id,
            type=known(ActivityActionTypes, activity.type, ActivityActionTypes.INVALID),
            application_id=(application.id if application else told.application_id) or 0,
            parent_application_id=(application.parent_id if application else None) or 0,
            party_id=activity.party_id or "",
            # A message does not have the session ID; the sender's presence does.
            session_id=activity.session_id or self.cache.session_of(author.id, activity.party_id or ""),
            is_valid=True,
        )
        invite.is_valid = self._still_valid(invite)
        self.invites[told.id] = invite
        self._await_age()
        yield "activity_invite_created", invite.copy()

    def _still_valid(self, invite: ActivityInvite) -> bool:
        if invite.message_id and self.core.clock() > _end_ms(invite):
            return False
        presence = self.cache.presences.get(invite.sender_id)
        if presence is None:
            # The sender's presence is not visible. Accepting the invite will check it.
            return True
        if invite.type == ActivityActionTypes.JOIN_REQUEST or not invite.party_id:
            return presence.status != "offline"
        return any(each.party is not None and each.party.id == invite.party_id for each in presence.activities)

    def _review_invites(self, sender_id: int | None = None) -> Emits:
        """Update the validity of the invites of a sender, or of all invites, and emit the changes."""
        for invite in self.invites.values():
            if sender_id in (None, invite.sender_id) and invite.is_valid != (valid := self._still_valid(invite)):
                invite.is_valid = valid
                yield "activity_invite_updated", invite.copy()
        self._await_age()

    def _await_age(self) -> None:
        """Set the timer for the invite that expires next."""
        if self._aging is not None:
            self._aging.cancel()
            self._aging = None
        ends = [_end_ms(invite) for invite in self.invites.values() if invite.is_valid and invite.message_id]
        if ends:
            left_s = max(min(ends) - self.core.clock(), 0) / 1000
            self._aging = asyncio.get_running_loop().call_later(left_s + LATE_S, self._grew_old)

    def _grew_old(self) -> None:
        # If the platform's clock was corrected meanwhile, nothing has expired and the timer is set again.
        with self.core.lock:
            emits = list(self._review_invites())
        for name, *args in emits:
            self.core.emit(name, *args)

    # Lobbies

    @on("LOBBY_CREATE", wire.LobbyPayload)
    def lobby_create(self, told: wire.LobbyPayload) -> Emits:
        """Add or replace a lobby."""
        known = self.cache.lobbies.get(told.id)
        before = None if known is None else dict(known.voice_states)
        new = self._note_lobby(told)
        yield ("lobby_created" if new else "lobby_updated"), told.id
        if before is not None:
            yield from self._compare_calls(told.id, before)

    @on("LOBBY_UPDATE", wire.LobbyPayload)
    def lobby_update(self, told: wire.LobbyPayload) -> Emits:
        """Update a lobby."""
        return self.lobby_create(told)

    @on("LOBBY_DELETE", wire.LobbyDeletedPayload)
    def lobby_delete(self, told: wire.LobbyDeletedPayload) -> Emits:
        """Remove a lobby that was deleted or that the current user left."""
        self.cache.forget_places(told.id)
        if self.cache.lobbies.pop(told.id, None) is not None:
            self.lobby_gone(told.id)
            yield "lobby_deleted", told.id

    @on("LOBBY_MEMBER_ADD", wire.LobbyMemberPayload)
    def lobby_member_add(self, told: wire.LobbyMemberPayload) -> Emits:
        """Add a lobby member."""
        return self._member(told, "lobby_member_added")

    @on("LOBBY_MEMBER_UPDATE", wire.LobbyMemberPayload)
    def lobby_member_update(self, told: wire.LobbyMemberPayload) -> Emits:
        """Update a lobby member."""
        return self._member(told, "lobby_member_updated")

    @on("LOBBY_MEMBER_CONNECT", wire.LobbyMemberPayload)
    def lobby_member_connect(self, told: wire.LobbyMemberPayload) -> Emits:
        """Mark a lobby member as connected."""
        told.member.connected = True
        return self._member(told, "lobby_member_updated")

    @on("LOBBY_MEMBER_DISCONNECT", wire.LobbyMemberPayload)
    def lobby_member_disconnect(self, told: wire.LobbyMemberPayload) -> Emits:
        """Mark a lobby member as disconnected; the membership remains."""
        told.member.connected = False
        return self._member(told, "lobby_member_updated")

    def _member(self, told: wire.LobbyMemberPayload, event: str) -> Emits:
        lobby, who = self.cache.lobbies.get(told.lobby_id), told.member.who
        yield from self._note_user(told.member.user)
        self.cache.note_profiles(who, told.member.user_application_profiles)
        if lobby is None:
            return
        known_as = lobby.members.get(who)
        if told.member.connected is None and known_as is not None:
            told.member.connected = known_as.connected
        lobby.members[who] = told.member
        if event == "lobby_member_added" and who == self.cache.me:
            return
        yield event, told.lobby_id, who

    @on("LOBBY_MEMBER_REMOVE", wire.LobbyMemberPayload)
    def lobby_member_remove(self, told: wire.LobbyMemberPayload) -> Emits:
        """Remove a lobby member."""
        lobby, who = self.cache.lobbies.get(told.lobby_id), told.member.who
        if lobby is None or lobby.members.pop(who, None) is None or who == self.cache.me:
            return
        yield from self._call_state(lobby, wire.VoiceStatePayload(user_id=who, lobby_id=lobby.id))
        yield "lobby_member_removed", told.lobby_id, who

    # Calls

    @on("LOBBY_VOICE_STATE_UPDATE", wire.VoiceStatePayload)
    def lobby_voice_state_update(self, told: wire.VoiceStatePayload) -> Emits:
        """Update the voice state of a participant, who joined, left or changed mute or deaf."""
        lobby = self.cache.lobbies.get(told.lobby_id or 0)
        return () if lobby is None else self._call_state(lobby, told)

    @on("LOBBY_VOICE_SERVER_UPDATE", wire.VoiceServerPayload)
    def lobby_voice_server_update(self, told: wire.VoiceServerPayload) -> Emits:
        """Pass on the voice server of the current user's call."""
        self.voice_server(told)
        return ()

    def _call_state(self, lobby: Lobby, told: wire.VoiceStatePayload) -> Emits:
        here = told.channel_id is not None
        was = lobby.voice_states.pop(told.user_id, None)
        if here:
            lobby.voice_states[told.user_id] = told
        self.voice_state(told, was)
        if (was is not None) != here:
            yield "voice_participant_changed", lobby.id, told.user_id, here

    def _compare_calls(self, lobby_id: int, before: dict[int, wire.VoiceStatePayload]) -> Emits:
        """Emit the differences between the previous and the new participants of a lobby's call."""
        lobby = self.cache.lobbies[lobby_id]
        now, lobby.voice_states = lobby.voice_states, before
        for who in before.keys() - now.keys():
            yield from self._call_state(lobby, wire.VoiceStatePayload(user_id=who, lobby_id=lobby_id))
        for state in now.values():
            state.lobby_id = state.channel_id = lobby_id
            yield from self._call_state(lobby, state)

    # Accounts

    @on("USER_MERGE_OPERATION_COMPLETED", wire.MergePayload)
    def merge_completed(self, told: wire.MergePayload) -> Emits:
        """Log that a provisional account was merged into this account."""
        self.core.logs.info("A provisional account was merged into this account")
        return ()


def _end_ms(invite: ActivityInvite) -> int:
    """Return the last time at which an invite is valid, in Unix milliseconds."""
    return (invite.message_id >> 22) + EPOCH_MS + INVITE_MS
