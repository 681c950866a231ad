"""What an event of the gateway means: a change of the cache, and what the game is told of it.

Each function runs where the network lives, under the lock, with the payload decoded; it returns what to emit.
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
"""An invite older than this is not valid any more (sdk.md 10.4)."""
LATE_S: Final = 0.01
"""So much after its end an invite is looked at: at the very end it is still valid."""
DISCLOSURE: Final = "Messages in this conversation can also be seen in the chat client."

_handlers: Final[dict[str, tuple[type[Any], Callable[["Events", Any], Emits]]]] = {}


def on(event: str, kind: type[T]) -> Callable[[Callable[["Events", T], Emits]], Callable[["Events", T], Emits]]:
    """This is what an event means."""

    def register(function: Callable[["Events", T], Emits]) -> Callable[["Events", T], Emits]:
        _handlers[event] = (kind, function)
        return function

    return register


class Events:
    """Takes events in."""

    def __init__(self, core: Core) -> None:
        self.core: Final = core
        self.cache: Final = core.cache
        self.invites: Final[dict[int, ActivityInvite]] = {}
        """Those that came, by message."""
        self.accepted: Final[set[int]] = set()
        """Those that this client accepted itself: only other devices need to be told."""
        self.disclosed = False
        """Whether the player knows that the chat client shows the same messages."""
        self.acknowledge: Callable[[], None] = lambda: None
        """Told when they were told."""
        self.voice_state: Callable[[wire.VoiceStatePayload, wire.VoiceStatePayload | None], None] = lambda told, was: (
            None
        )
        """Told how somebody is in a lobby's call now, and how they were."""
        self.voice_server: Callable[[wire.VoiceServerPayload], None] = lambda told: None
        """Told where a lobby's call is."""
        self.lobby_gone: Callable[[int], None] = lambda lobby_id: None
        """Told of a lobby that we are in no more."""
        self._aging: asyncio.TimerHandle | None = None
        self._before: Known | None = None
        """What the game knew before a session that is just beginning."""
        core.closers.append(self.close)
        core.clock.watchers.append(self._grew_old)
        core.watchers.append(self._watch)

    async def close(self) -> None:
        """Wait for no invite any more."""
        if self._aging is not None:
            self._aging.cancel()

    def dispatch(self, event: str, data: msgspec.Raw) -> None:
        """Take one in; what nobody knows is passed over."""
        found = _handlers.get(event)
        if found is None:
            self.core.logs.verbose(f"event {event} passed over")
            return
        kind, function = found
        # Decoded before the lock is taken: the game may be waiting for it.
        payload = read(data, kind)
        with self.core.lock:
            emits = list(function(self, payload))
        for name, *args in emits:
            self.core.emit(name, *args)

    # The beginning

    @on("READY", wire.ReadyPayload)
    def ready(self, told: wire.ReadyPayload) -> Emits:
        """Everything anew."""
        core, cache = self.core, self.cache
        before = {lobby.id: dict(lobby.voice_states) for lobby in cache.lobbies.values()}
        if cache.me not in (0, told.user.id):
            # Somebody else plays now: nothing of what the one before knew is theirs.
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
        """The second part."""
        for presence in told.merged_presences.friends if told.merged_presences else ():
            self.cache.note_presence(presence)
        for channel in told.lazy_private_channels:
            self._note_channel(channel)
        return self._waiting(told.game_invites)

    def _watch(self, status: ClientStatus) -> None:
        """A session that began anew is complete: tell what is not as it was before."""
        if status is not ClientStatus.READY or self._before is None:
            return
        before, self._before = self._before, None
        with self.core.lock:
            emits = [*before.news(self.cache), *self._review_invites()]
        for name, *args in emits:
            self.core.emit(name, *args)

    def _waiting(self, told: list[wire.ActivityInvitePayload]) -> Emits:
        """Invites that came while we were away; what this client knows already it is not told anew."""
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

    # People

    def _note_user(self, told: wire.UserPayload | None) -> Emits:
        """Remember somebody; the game hears of it where it knew them otherwise."""
        known = told is not None and told.id in self.cache.users
        if self.cache.note_user(told) and known and told is not None:
            yield "user_updated", told.id

    @on("USER_UPDATE", wire.UserPayload)
    def user_update(self, told: wire.UserPayload) -> Emits:
        """We changed."""
        if self.cache.note_user(told):
            yield "user_updated", told.id

    @on("USER_APPLICATION_IDENTITY_UPDATE", wire.ProfilesPayload)
    def profiles_update(self, told: wire.ProfilesPayload) -> Emits:
        """The game knows somebody otherwise."""
        if self.cache.note_profiles(told.user_id, told.user_application_profiles):
            yield "user_updated", told.user_id

    @on("PRESENCE_UPDATE", wire.PresencePayload)
    def presence_update(self, told: wire.PresencePayload) -> Emits:
        """Somebody came, went, or does something else."""
        who, news = self.cache.note_presence(told)
        if not news:
            return
        yield "user_updated", who
        if self.cache.is_friend(who):
            yield "relationship_groups_updated", who
        yield from self._review_invites(who)

    @on("RELATIONSHIP_ADD", wire.RelationshipPayload)
    def relationship_add(self, told: wire.RelationshipPayload) -> Emits:
        """A relationship began, or is of another kind now."""
        self.cache.note_relationship(told)
        yield "relationship_created", told.id, True
        yield "relationship_groups_updated", told.id
        yield from self._look_away(told.id)

    @on("RELATIONSHIP_UPDATE", wire.RelationshipPayload)
    def relationship_update(self, told: wire.RelationshipPayload) -> Emits:
        """A detail of one."""
        told.type = None
        yield from self._note_user(told.user)
        if told.id in self.cache.relations:
            self.cache.note_relationship(told)
            yield "relationship_groups_updated", told.id

    @on("RELATIONSHIP_REMOVE", wire.RelationshipPayload)
    def relationship_remove(self, told: wire.RelationshipPayload) -> Emits:
        """One is over."""
        self.cache.end_relationship(told.id, game=False)
        yield "relationship_deleted", told.id, True
        yield "relationship_groups_updated", told.id
        yield from self._look_away(told.id)

    @on("GAME_RELATIONSHIP_ADD", wire.GameRelationshipPayload)
    def game_relationship_add(self, told: wire.GameRelationshipPayload) -> Emits:
        """The same, in the game."""
        self.cache.note_game_relationship(told)
        yield "relationship_created", told.id, False
        yield "relationship_groups_updated", told.id

    @on("GAME_RELATIONSHIP_REMOVE", wire.GameRelationshipPayload)
    def game_relationship_remove(self, told: wire.GameRelationshipPayload) -> Emits:
        """The same, in the game."""
        self.cache.end_relationship(told.id, game=True)
        yield "relationship_deleted", told.id, False
        yield "relationship_groups_updated", told.id
        yield from self._look_away(told.id)

    def _look_away(self, who: int) -> Emits:
        """Who is a friend no more does not show us any more whether they are there; only friends do (sdk.md 9.3)."""
        if not self.cache.is_friend(who) and self.cache.presences.pop(who, None) is not None:
            yield "user_updated", who

    # Conversations

    @on("CHANNEL_CREATE", wire.ChannelPayload)
    def channel_create(self, told: wire.ChannelPayload) -> Emits:
        """A conversation began."""
        self._note_channel(told)
        return ()

    @on("CHANNEL_UPDATE", wire.ChannelPayload)
    def channel_update(self, told: wire.ChannelPayload) -> Emits:
        """One changed."""
        return self.channel_create(told)

    @on("CHANNEL_DELETE", wire.ChannelPayload)
    def channel_delete(self, told: wire.ChannelPayload) -> Emits:
        """One is gone."""
        self.cache.channels.pop(told.id, None)
        return ()

    @on("CHANNEL_RECIPIENT_ADD", wire.RecipientPayload)
    def channel_recipient_add(self, told: wire.RecipientPayload) -> Emits:
        """Somebody came to a group."""
        yield from self._note_user(told.user)
        self._note_recipients(told, [told.user.id])

    @on("CHANNEL_RECIPIENT_REMOVE", wire.RecipientPayload)
    def channel_recipient_remove(self, told: wire.RecipientPayload) -> Emits:
        """Somebody left one, or was asked to."""
        self._note_recipients(told, [])
        return ()

    def _note_recipients(self, told: wire.RecipientPayload, here: list[int]) -> None:
        group = self.cache.channels.get(told.channel_id)
        if group is not None:
            ids = [each for each in recipients(group) if each != told.user.id] + here
            self.cache.channels[group.id] = msgspec.structs.replace(group, recipients=None, recipient_ids=ids)

    @on("MESSAGE_CREATE", wire.MessagePayload)
    def message_create(self, told: wire.MessagePayload) -> Emits:
        """Somebody wrote."""
        self.core.clock.heard(told.id)
        activity = told.activity
        if told.channel is not None and told.channel.type != ChannelType.EPHEMERAL_DM:
            self._note_channel(told.channel)
        # An invite as well: it is a message of the conversation, and a history without it would have a gap.
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
        """Somebody edited, or a backend judged."""
        message = self.cache.message(told.id)
        if message is not None:
            self.cache.change(message, told)
        yield "message_updated", told.id

    @on("MESSAGE_DELETE", wire.MessageDeletedPayload)
    def message_delete(self, told: wire.MessageDeletedPayload) -> Emits:
        """A message is gone."""
        place = told.lobby_id or told.channel_id or 0
        known, lobby = self.cache.drop(told.id, place), self.cache.lobbies.get(place)
        if known is not None and known.payload.channel_id:
            # A lobby's message may stand in the linked channel, and its handles say so.
            place = known.payload.channel_id
        elif told.channel_id is None and lobby is not None and lobby.linked_channel is not None:
            place = lobby.linked_channel.id
        yield "message_deleted", told.id, told.channel_id or place

    @on("LOBBY_MESSAGE_CREATE", wire.MessagePayload)
    def lobby_message_create(self, told: wire.MessagePayload) -> Emits:
        """Somebody wrote in a lobby."""
        self.core.clock.heard(told.id)
        told.channel_id = told.channel_id or told.lobby_id or 0
        self.cache.keep(told)
        yield "message_created", told.id

    @on("LOBBY_MESSAGE_UPDATE", wire.MessagePayload)
    def lobby_message_update(self, told: wire.MessagePayload) -> Emits:
        """The same for a lobby."""
        return self.message_update(told)

    @on("LOBBY_MESSAGE_DELETE", wire.MessageDeletedPayload)
    def lobby_message_delete(self, told: wire.MessageDeletedPayload) -> Emits:
        """The same for a lobby."""
        return self.message_delete(told)

    def _disclose(self, told: wire.MessagePayload, other: int) -> Emits:
        """Say once that the chat client shows it, too; this message exists here alone."""
        self.disclosed = True
        self.acknowledge()
        # One below: the notice stands right before the message that made it necessary.
        notice = wire.MessagePayload(
            id=told.id - 1, channel_id=told.channel_id, content=DISCLOSURE, timestamp=told.timestamp
        )
        self.cache.keep(notice, other=other, disclosure=DisclosureTypes.MESSAGE_DATA_VISIBLE_ON_PLATFORM)
        yield "message_created", notice.id

    # Invites

    @on("ACTIVITY_INVITE_CREATE", wire.ActivityInvitePayload)
    def activity_invite_create(self, told: wire.ActivityInvitePayload) -> Emits:
        """An invite for a session that may not read messages."""
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
            # Nobody hears of their own invites.
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
            # A message does not name the session; the presence that it invites to does.
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
            # Whoever is no friend's friend shows us nothing; the secret route knows better.
            return True
        if invite.type == ActivityActionTypes.JOIN_REQUEST or not invite.party_id:
            return presence.status != "offline"
        return any(each.party is not None and each.party.id == invite.party_id for each in presence.activities)

    def _review_invites(self, sender_id: int | None = None) -> Emits:
        """Whether those of a sender, or all, are still valid."""
        for invite in self.invites.values():
            if sender_id in (None, invite.sender_id) and invite.is_valid != (valid := self._still_valid(invite)):
                invite.is_valid = valid
                yield "activity_invite_updated", invite.copy()
        self._await_age()

    def _await_age(self) -> None:
        """One timer, for the valid invite that becomes too old first."""
        if self._aging is not None:
            self._aging.cancel()
            self._aging = None
        ends = [_end_ms(invite) for invite in self.invites.values() if invite.is_valid and invite.message_id]
        if ends:
            left_s = max(min(ends) - self.core.clock(), 0) / 1000
            self._aging = asyncio.get_running_loop().call_later(left_s + LATE_S, self._grew_old)

    def _grew_old(self) -> None:
        # The clock may say that it did not: then this waits again.
        with self.core.lock:
            emits = list(self._review_invites())
        for name, *args in emits:
            self.core.emit(name, *args)

    # Lobbies

    @on("LOBBY_CREATE", wire.LobbyPayload)
    def lobby_create(self, told: wire.LobbyPayload) -> Emits:
        """A lobby is there."""
        known = self.cache.lobbies.get(told.id)
        before = None if known is None else dict(known.voice_states)
        new = self._note_lobby(told)
        yield ("lobby_created" if new else "lobby_updated"), told.id
        if before is not None:
            yield from self._compare_calls(told.id, before)

    @on("LOBBY_UPDATE", wire.LobbyPayload)
    def lobby_update(self, told: wire.LobbyPayload) -> Emits:
        """A lobby changed."""
        return self.lobby_create(told)

    @on("LOBBY_DELETE", wire.LobbyDeletedPayload)
    def lobby_delete(self, told: wire.LobbyDeletedPayload) -> Emits:
        """A lobby is over, or we are out of it."""
        self.cache.forget_places(told.id)
        if self.cache.lobbies.pop(told.id, None) is not None:
            self.lobby_gone(told.id)
            yield "lobby_deleted", told.id

    @on("LOBBY_MEMBER_ADD", wire.LobbyMemberPayload)
    def lobby_member_add(self, told: wire.LobbyMemberPayload) -> Emits:
        """Somebody joined."""
        return self._member(told, "lobby_member_added")

    @on("LOBBY_MEMBER_UPDATE", wire.LobbyMemberPayload)
    def lobby_member_update(self, told: wire.LobbyMemberPayload) -> Emits:
        """Somebody changed."""
        return self._member(told, "lobby_member_updated")

    @on("LOBBY_MEMBER_CONNECT", wire.LobbyMemberPayload)
    def lobby_member_connect(self, told: wire.LobbyMemberPayload) -> Emits:
        """Somebody is there."""
        told.member.connected = True
        return self._member(told, "lobby_member_updated")

    @on("LOBBY_MEMBER_DISCONNECT", wire.LobbyMemberPayload)
    def lobby_member_disconnect(self, told: wire.LobbyMemberPayload) -> Emits:
        """Somebody quit the game, and is still a member."""
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
        """Somebody left."""
        lobby, who = self.cache.lobbies.get(told.lobby_id), told.member.who
        if lobby is None or lobby.members.pop(who, None) is None or who == self.cache.me:
            return
        yield from self._call_state(lobby, wire.VoiceStatePayload(user_id=who, lobby_id=lobby.id))
        yield "lobby_member_removed", told.lobby_id, who

    # Calls

    @on("LOBBY_VOICE_STATE_UPDATE", wire.VoiceStatePayload)
    def lobby_voice_state_update(self, told: wire.VoiceStatePayload) -> Emits:
        """Somebody came into a call, left it, or muted."""
        lobby = self.cache.lobbies.get(told.lobby_id or 0)
        return () if lobby is None else self._call_state(lobby, told)

    @on("LOBBY_VOICE_SERVER_UPDATE", wire.VoiceServerPayload)
    def lobby_voice_server_update(self, told: wire.VoiceServerPayload) -> Emits:
        """Where our call is."""
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
        """Who is in a lobby's call was told anew; the game hears of what is different."""
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
        """A provisional account became part of this one."""
        self.core.logs.info("a provisional account was merged into this one")
        return ()


def _end_ms(invite: ActivityInvite) -> int:
    """The last moment at which an invite is valid."""
    return (invite.message_id >> 22) + EPOCH_MS + INVITE_MS
