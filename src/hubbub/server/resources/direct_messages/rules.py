"""Whom one may bring into a private channel, and who decides there."""

from collections.abc import Mapping, Sequence

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import direct_messages as wire
from hubbub.protocol.resources.guilds import IncidentsData
from hubbub.protocol.resources.members import NICK_MAX
from hubbub.server.core import access, auth
from hubbub.server.core.call import Call
from hubbub.server.resources import channels, messages, relationships, user_settings, users
from hubbub.server.resources.channels import ChannelRow
from hubbub.server.resources.direct_messages import store
from hubbub.server.resources.users import UserRow


def require_other(call: Call, user_id: int) -> UserRow:
    """Somebody to talk to: anybody there is, but not oneself."""
    if user_id == call.user_id:
        raise errors.INVALID_RECIPIENTS()
    found = users.find(call.tx, user_id)
    if found is None:
        raise errors.UNKNOWN_USER()
    return found


def require_reachable(call: Call, fact: messages.DirectMessageDrafted) -> None:
    """Raise where one of two people blocks the other, and where every guild that they share has stopped direct messages
    (http.md 4.4, incident actions) or is one whose members the recipient does not want to hear from.

    Friends may always; so may those who share none, which is no guild's business."""
    if relationships.is_blocked_between(call.tx, call.user_id, fact.recipient_id):
        raise errors.CANNOT_MESSAGE_USER()
    found = store.shared_guilds(call.tx, call.user_id, fact.recipient_id)
    if found and not _open(call, fact.recipient_id, found):
        if not relationships.are_friends(call.tx, call.user_id, fact.recipient_id):
            raise errors.CANNOT_MESSAGE_USER()


def can_write_by_a_guild(call: Call, recipient_id: int) -> bool:
    """Whether the caller shares a guild with somebody who hears its members (sdk.md 11.3)."""
    return _open(call, recipient_id, store.shared_guilds(call.tx, call.user_id, recipient_id))


def _open(call: Call, recipient_id: int, shared: Mapping[int, str | None]) -> bool:
    running = [guild_id for guild_id, incidents in shared.items() if not _paused(call, incidents)]
    if not running:
        return False
    restricted = set(user_settings.find(call.tx, recipient_id).restricted_guilds)
    return any(guild_id not in restricted for guild_id in running)


def _paused(call: Call, incidents: str | None) -> bool:
    until = None if incidents is None else json.decode(incidents, IncidentsData).dms_disabled_until
    # Both are written in the one form of wire.timestamp, so that text compares as time.
    return until is not None and until > json.timestamp(call.now)


def require_companions(call: Call, user_ids: Sequence[int]) -> None:
    """Whom a person may bring into a group: friends, and people they share a guild with (decisions/0016)."""
    found = users.find_many(call.tx, user_ids)
    if len(found) < len(set(user_ids)):
        raise errors.UNKNOWN_USER()
    known = store.sharing_a_guild(call.tx, call.user_id, list(found))
    known.update(relationships.friend_ids(call.tx, call.user_id))
    if any(row.bot or row.id not in known for row in found.values()):
        raise errors.INVALID_RECIPIENTS()


def require_consent(call: Call, token: str) -> UserId:
    """The user who let the calling application bring them into groups by this token."""
    found = auth.find_actor(call.tx, token, call.now)
    if found is None:
        raise errors.INVALID_OAUTH2_ACCESS_TOKEN()
    actor = found[0]
    if actor.kind != "bearer" or actor.application_id != call.actor.application_id:
        raise errors.INVALID_OAUTH2_ACCESS_TOKEN()
    if "gdm.join" not in actor.scopes:
        raise errors.MISSING_OAUTH2_SCOPE()
    return actor.user_id


def require_nick(nick: str, path: str) -> str | None:
    """A name for somebody in a group, or None for none."""
    nick = users.clean_name(nick)
    if len(nick) > NICK_MAX:
        raise errors.invalid(path, *errors.max_length(NICK_MAX))
    return nick or None


def require_room_for_group(call: Call) -> None:
    """http.md 8: ten active groups of one application or person."""
    if store.count_groups(call.tx, call.user_id) >= wire.GROUPS_MAX:
        raise errors.MAX_GROUP_DMS()


def require_size(count: int) -> None:
    """http.md 8: ten in one group, the caller included."""
    if count > wire.GROUP_RECIPIENTS_MAX:
        raise errors.MAX_RECIPIENTS()


def require_group(call: Call, channel_id: int) -> ChannelRow:
    """A group that the caller is in."""
    here = access.channel(call, channel_id)
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    if here.channel.type != ChannelType.GROUP_DM:
        raise errors.WRONG_CHANNEL_TYPE()
    return row


def require_can_add(call: Call, group: ChannelRow) -> None:
    """http.md 4.2: an application's group grows by its bot alone; people's by anybody in it."""
    if group.application_id is not None and group.application_id != call.actor.application_id:
        raise errors.MISSING_PERMISSIONS()


def require_can_remove(call: Call, group: ChannelRow, user_id: int) -> None:
    """The owner removes others; everybody may go."""
    if user_id != call.user_id and group.owner_id != call.user_id:
        raise errors.MISSING_PERMISSIONS()
