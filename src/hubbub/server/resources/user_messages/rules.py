"""Whom a player may write to, what is kept of it, and what can be joined (sdk.md 10.3, 11.3)."""

from typing import Any

from hubbub.protocol import errors
from hubbub.protocol.enums import ActivityActionType, InGameMessages, Scope
from hubbub.protocol.flags import ActivityFlags, UserFlags
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import user_messages as wire
from hubbub.server.core.call import Actor, Call
from hubbub.server.resources import (
    applications,
    direct_messages,
    game_sessions,
    identities,
    relationships,
    user_settings,
    users,
    voice_states,
)
from hubbub.server.resources.users import UserRow


def as_game(call: Call, body: wire.SendUserMessage) -> Call:
    """The request of a person's own client as their game would make it: an invite to what they play, and nothing else."""
    form = errors.FormErrors()
    for name in ("application_id", "activity"):
        if not getattr(body, name):
            form.add(name, *errors.required())
    form.raise_if_any()
    row = applications.find(call.tx, body.application_id or 0)
    if row is None:
        raise errors.INVALID_ACTIVITY_ACTION()
    game = Actor(
        user_id=call.actor.user_id,
        kind="bearer",
        application_id=ApplicationId(row.id),
        family_id=row.family_id,
        application_flags=row.flags,
        scopes=frozenset({Scope.DM_CHANNELS_MESSAGES_WRITE.value, Scope.ACTIVITIES_INVITES_WRITE.value}),
    )
    return call.acting_as(game)


def family_of(call: Call) -> ApplicationId:
    """The family of the game that speaks for the caller."""
    assert call.actor.family_id is not None
    return call.actor.family_id


def require_player(call: Call, user_id: int) -> UserRow:
    """Somebody else, who is no bot."""
    found = users.find(call.tx, user_id)
    if found is None:
        raise errors.UNKNOWN_USER()
    if found.id == call.user_id or found.bot:
        raise errors.INVALID_RECIPIENTS()
    return found


def require_player_self(call: Call) -> UserRow:
    """The player who speaks."""
    found = users.find(call.tx, call.user_id)
    if found is None:
        raise errors.UNKNOWN_USER()
    return found


def is_provisional(row: UserRow) -> bool:
    """Whether this is a game's placeholder and no account of the platform."""
    return bool(row.flags & UserFlags.PROVISIONAL_ACCOUNT)


def require_unblocked(call: Call, other_id: int) -> None:
    """Raise where one of the two blocks the other: nothing new is said, and nothing said is changed."""
    if relationships.is_blocked_between(call.tx, call.user_id, other_id):
        raise errors.CANNOT_MESSAGE_USER()


def require_kept(call: Call, me: UserRow, other: UserRow) -> bool:
    """Whether a message to somebody is kept and seen on the platform; raises where it may not be sent at all."""
    tx, family_id = call.tx, family_of(call)
    require_unblocked(call, other.id)
    both_play = game_sessions.is_playing(tx, me.id, family_id) and game_sessions.is_playing(tx, other.id, family_id)
    if is_provisional(me) and identities.is_restricted(call, me.id):
        # sdk.md 11.3: what somebody banned says never leaves the game.
        if not both_play:
            raise errors.CANNOT_MESSAGE_USER()
        return False
    if relationships.are_friends(tx, me.id, other.id, family_id=family_id):
        # sdk.md 8.1: a provisional account writes to friends only while it is in the game.
        if is_provisional(me) and not game_sessions.is_playing(tx, me.id, family_id):
            raise errors.CANNOT_MESSAGE_USER()
        if not relationships.are_friends(tx, me.id, other.id) and not _keeps_game_friends(call, other.id):
            if not both_play:
                raise errors.CANNOT_MESSAGE_USER()
            return False
        return not (is_provisional(me) and is_provisional(other))
    known = direct_messages.find_channel(tx, me.id, other.id) is not None
    if known and direct_messages.can_write_by_a_guild(call, other.id):
        return True
    if not both_play:
        raise (errors.CANNOT_MESSAGE_USER if known else errors.NO_MUTUAL_GUILDS)()
    return False


def _keeps_game_friends(call: Call, other_id: int) -> bool:
    """sdk.md 9.3: what game friends say reaches the chat client unless the user disabled it."""
    return user_settings.find(call.tx, other_id).allow_game_friend_dms_in_platform


def require_shown(call: Call, other_id: int) -> None:
    """Raise where somebody wants no messages in games, and so would never see one that nobody keeps."""
    if user_settings.find(call.tx, other_id).slayer_sdk_receive_dms_in_game == InGameMessages.NONE:
        raise errors.CANNOT_MESSAGE_USER()


def require_activity(call: Call, other_id: int, body: wire.SendUserMessage) -> applications.ApplicationRow:
    """The application whose activity somebody is invited to, or asks to join; 50039 where there is nothing to join."""
    sent = body.activity
    assert sent
    row = applications.find(call.tx, body.application_id or call.actor.application_id or 0)
    if row is None or row.family_id != family_of(call):
        raise errors.INVALID_ACTIVITY_ACTION()
    if sent.type == ActivityActionType.JOIN_REQUEST:
        shown = call.presences.find(other_id, family_id=row.family_id) or call.presences.find(other_id)
        activities = () if shown is None else shown.activities
        if not any(is_joinable(each) for each in activities if int(each.get("application_id", 0)) == row.id):
            raise errors.INVALID_ACTIVITY_ACTION()
        return row
    if sent.type != ActivityActionType.JOIN:
        raise errors.INVALID_ACTIVITY_ACTION()
    activity = call.presences.activity(call.user_id, sent.session_id, row.id)
    if activity is None or not is_joinable(activity) or party_of(activity) != (sent.party_id or party_of(activity)):
        raise errors.INVALID_ACTIVITY_ACTION()
    if call.presences.join_secret(call.user_id, sent.session_id, row.id) is None:
        raise errors.INVALID_ACTIVITY_ACTION()
    return row


def party_of(activity: dict[str, Any]) -> str:
    """The party that an activity shows."""
    return str((activity.get("party") or {}).get("id") or "")


def is_joinable(activity: dict[str, Any]) -> bool:
    """Whether there is a way in, and a party with room; without a most there always is (sdk.md 10.3)."""
    if not party_of(activity) or not activity.get("flags", 0) & ActivityFlags.JOIN:
        return False
    size = (activity.get("party") or {}).get("size")
    return not size or len(size) < 2 or not size[1] or size[0] < size[1]


def may_join_directly(call: Call, sender_id: int, activity: dict[str, Any], family_id: int) -> bool:
    """Whether somebody's friends, or those in one voice channel with them, may join without being asked: the activity says so,
    and they did not decide otherwise (sdk.md 10.3, 10.5)."""
    flags, decided = activity.get("flags", 0), user_settings.find(call.tx, sender_id)
    if flags & ActivityFlags.PARTY_PRIVACY_FRIENDS and decided.allow_activity_party_privacy_friends:
        if relationships.are_friends(call.tx, call.user_id, sender_id, family_id=family_id):
            return True
    if flags & ActivityFlags.PARTY_PRIVACY_VOICE_CHANNEL and decided.allow_activity_party_privacy_voice_channel:
        return voice_states.are_together(call.tx, call.user_id, sender_id)
    return False
