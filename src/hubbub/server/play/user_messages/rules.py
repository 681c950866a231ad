"""Permission checks for messages between players, activity invites and activities (spec/sdk.md#10.3, 11.3)."""

from typing import Any

from hubbub.protocol import errors
from hubbub.protocol.enums import ActivityActionType, InGameMessages, Scope
from hubbub.protocol.flags import ActivityFlags, UserFlags
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import user_messages as wire
from hubbub.server.core.call import Actor, Call
from hubbub.server.identity import applications, game_sessions, identities, relationships, user_settings, users
from hubbub.server.identity.users import UserRow
from hubbub.server.places import members, voice_states
from hubbub.server.talk import direct_messages


def act_as_game(call: Call, body: wire.SendUserMessage) -> Call:
    """Return the call with the actor that the user's game would have; used if the user's own client sends an invite.

    Raise an error unless `body` is an invite with an activity and its application."""
    form = errors.FormErrors()
    for name in ("application_id", "activity"):
        if not getattr(body, name):
            form.add(name, *errors.required())
    form.raise_if_any()
    row = applications.find(call.tx, body.application_id or 0)
    if row is None:
        raise errors.INVALID_ACTIVITY_ACTION()
    game_actor = Actor(
        user_id=call.actor.user_id,
        kind="bearer",
        application_id=ApplicationId(row.id),
        family_id=row.family_id,
        application_flags=row.flags,
        scopes=frozenset({Scope.DM_CHANNELS_MESSAGES_WRITE.value, Scope.ACTIVITIES_INVITES_WRITE.value}),
    )
    return call.acting_as(game_actor)


def family_id_of(call: Call) -> ApplicationId:
    """Return the ID of the application family of the calling game."""
    assert call.actor.family_id is not None
    return call.actor.family_id


def require_recipient(call: Call, user_id: int) -> UserRow:
    """Return the recipient of a message; raise UNKNOWN_USER, or INVALID_RECIPIENTS for the caller and bots."""
    row = users.find(call.tx, user_id)
    if row is None:
        raise errors.UNKNOWN_USER()
    if row.id == call.user_id or row.bot:
        raise errors.INVALID_RECIPIENTS()
    return row


def require_sender(call: Call) -> UserRow:
    """Return the row of the calling player."""
    row = users.find(call.tx, call.user_id)
    if row is None:
        raise errors.UNKNOWN_USER()
    return row


def is_provisional(row: UserRow) -> bool:
    """Return whether the user is a provisional account of a game, not a full account."""
    return bool(row.flags & UserFlags.PROVISIONAL_ACCOUNT)


def require_unblocked(call: Call, other_id: int) -> None:
    """Raise CANNOT_MESSAGE_USER if the caller blocks the user `other_id`, or is blocked by them."""
    if relationships.is_blocked_between(call.tx, call.user_id, other_id):
        raise errors.CANNOT_MESSAGE_USER()


def is_stored_message(call: Call, sender: UserRow, other_player: UserRow) -> bool:
    """Return whether a message is stored and visible on the platform; raise an error if it may not be sent at all.

    A message that is not stored is relayed between the games only."""
    tx, family_id = call.tx, family_id_of(call)
    require_unblocked(call, other_player.id)
    are_both_playing = game_sessions.is_playing(tx, sender.id, family_id) and game_sessions.is_playing(
        tx, other_player.id, family_id
    )
    if is_provisional(sender) and identities.is_restricted(call, sender.id):
        # spec/sdk.md#11.3: messages of a banned player stay within the game.
        if not are_both_playing:
            raise errors.CANNOT_MESSAGE_USER()
        return False
    if relationships.are_friends(tx, sender.id, other_player.id, family_id=family_id):
        # spec/sdk.md#8.1: a provisional account may message friends only while it is in the game.
        if is_provisional(sender) and not game_sessions.is_playing(tx, sender.id, family_id):
            raise errors.CANNOT_MESSAGE_USER()
        if not relationships.are_friends(tx, sender.id, other_player.id) and not _accepts_game_friends(
            call, other_player.id
        ):
            if not are_both_playing:
                raise errors.CANNOT_MESSAGE_USER()
            return False
        return not (is_provisional(sender) and is_provisional(other_player))
    has_channel = direct_messages.find_direct_channel_id(tx, sender.id, other_player.id) is not None
    if has_channel and direct_messages.can_message_through_guild(call, other_player.id):
        return True
    if not are_both_playing:
        raise (errors.CANNOT_MESSAGE_USER if has_channel else errors.NO_MUTUAL_GUILDS)()
    return False


def _accepts_game_friends(call: Call, other_id: int) -> bool:
    """Return whether a user receives messages of game friends outside games, a setting of the user (spec/sdk.md#9.3)."""
    return user_settings.read(call.tx, other_id).allow_game_friend_dms_in_platform


def require_visible_in_game(call: Call, other_id: int) -> None:
    """Raise CANNOT_MESSAGE_USER if a user disabled messages in games, since they would never see a passing message."""
    if user_settings.read(call.tx, other_id).slayer_sdk_receive_dms_in_game == InGameMessages.NONE:
        raise errors.CANNOT_MESSAGE_USER()


def require_activity(call: Call, other_id: int, body: wire.SendUserMessage) -> applications.ApplicationRow:
    """Return the application of the activity in an invite or a join request to the user `other_id`.

    Raise INVALID_ACTIVITY_ACTION if the activity does not exist or cannot be joined."""
    requested_activity = body.activity
    assert requested_activity
    row = applications.find(call.tx, body.application_id or call.actor.application_id or 0)
    if row is None or row.family_id != family_id_of(call):
        raise errors.INVALID_ACTIVITY_ACTION()
    if requested_activity.type == ActivityActionType.JOIN_REQUEST:
        presence = call.presences.find(other_id, family_id=row.family_id) or call.presences.find(other_id)
        activities = () if presence is None else presence.activities
        if not any(
            is_joinable(candidate) for candidate in activities if int(candidate.get("application_id", 0)) == row.id
        ):
            raise errors.INVALID_ACTIVITY_ACTION()
        return row
    if requested_activity.type != ActivityActionType.JOIN:
        raise errors.INVALID_ACTIVITY_ACTION()
    activity = call.presences.find_activity(call.user_id, requested_activity.session_id, row.id)
    if (
        activity is None
        or not is_joinable(activity)
        or party_id_of(activity) != (requested_activity.party_id or party_id_of(activity))
    ):
        raise errors.INVALID_ACTIVITY_ACTION()
    if call.presences.join_secret(call.user_id, requested_activity.session_id, row.id) is None:
        raise errors.INVALID_ACTIVITY_ACTION()
    return row


def party_id_of(activity: dict[str, Any]) -> str:
    """Return the ID of an activity's party, or an empty string."""
    return str((activity.get("party") or {}).get("id") or "")


def is_joinable(activity: dict[str, Any]) -> bool:
    """Return whether an activity has a join secret and a party with a free slot (spec/sdk.md#10.3).

    A party without a maximum size always has a free slot."""
    if not party_id_of(activity) or not activity.get("flags", 0) & ActivityFlags.JOIN:
        return False
    party_size = (activity.get("party") or {}).get("size")
    if not party_size or len(party_size) < 2:
        return True
    current_size, maximum_size = party_size[:2]
    return not maximum_size or current_size < maximum_size


def require_visible_activity(call: Call, user_id: int, session_id: str, application_id: int) -> None:
    """Raise INVALID_ACTIVITY_ACTION or MISSING_ACCESS unless the caller sees the activity of a user's session in an application.

    Friends and members of a common guild see it, unless one of both users blocks the other. A user sees their own activity."""
    is_blocked = relationships.is_blocked_between(call.tx, call.user_id, user_id)
    if is_blocked or not (
        call.user_id == user_id
        or relationships.are_friends(call.tx, call.user_id, user_id)
        or _have_mutual_guild(call, user_id)
    ):
        raise errors.MISSING_ACCESS()
    presence = call.presences.find(user_id)
    activities = () if presence is None else presence.activities
    if not any(
        activity.get("session_id") == session_id and int(activity.get("application_id", 0)) == application_id
        for activity in activities
    ):
        raise errors.INVALID_ACTIVITY_ACTION()


def _have_mutual_guild(call: Call, other_id: int) -> bool:
    own_guild_ids = {guild_id for guild_id, _, _ in members.list_memberships(call.tx, call.user_id)}
    return any(guild_id in own_guild_ids for guild_id, _, _ in members.list_memberships(call.tx, other_id))


def can_join_directly(call: Call, sender_id: int, activity: dict[str, Any], family_id: int) -> bool:
    """Return whether the caller may join an activity of the user `sender_id` without an invite (spec/sdk.md#10.3, 10.5).

    Friends, or users in the same voice channel, may join if both the activity and the host's settings allow it."""
    flags, settings = activity.get("flags", 0), user_settings.read(call.tx, sender_id)
    if flags & ActivityFlags.PARTY_PRIVACY_FRIENDS and settings.allow_activity_party_privacy_friends:
        if relationships.are_friends(call.tx, call.user_id, sender_id, family_id=family_id):
            return True
    if flags & ActivityFlags.PARTY_PRIVACY_VOICE_CHANNEL and settings.allow_activity_party_privacy_voice_channel:
        return voice_states.are_together(call.tx, call.user_id, sender_id)
    return False
