"""The users that a message notifies on their devices."""

from collections.abc import Iterable

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import NotificationLevel, Status
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Actor, Call
from hubbub.server.identity import relationships, user_settings
from hubbub.server.places import guilds, members
from hubbub.server.places.standing import ChannelAccess, ChannelRef, access
from hubbub.server.talk import messages, notification_settings
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.push_subscriptions import store


def list_candidate_ids(call: Call, channel: ChannelRef) -> list[int]:
    """Return the IDs of users that messages of a channel may notify: its recipients or, in a guild, all subscribed users."""
    if channel.guild_id is None:
        return [user_id for user_id, _ in messages.history.list_recipients(call.tx, channel.id)]
    return store.list_user_ids(call.tx)


def filter_notified(call: Call, channel: ChannelRef, row: MessageRow, user_ids: Iterable[int]) -> dict[int, int]:
    """Return the IDs among `user_ids` that a message notifies, each with its mention bits.

    The bits are `notification_settings.DIRECT_MENTION` and others.

    `user_ids` are recipients of a private channel, or any users for a channel of a guild. Settings, permissions, blocks
    and presences are those at the time of the call."""
    mention_bits_by_user = _compute_mention_bits(call, channel, row, user_ids)
    rules_by_user = notification_settings.find_rules(call.tx, mention_bits_by_user, call.now_ms, channel.guild_id or 0)
    path = notification_settings.find_channel_paths(call.tx, [channel.id])[channel.id]
    guild = None if channel.guild_id is None else guilds.find(call.tx, channel.guild_id)
    default_level = NotificationLevel.ALL_MESSAGES if guild is None else guild.default_message_notifications
    candidate_ids = [
        user_id
        for user_id, user_mention_bits in mention_bits_by_user.items()
        if rules_by_user[user_id].notifies(path, user_mention_bits, default_level=default_level)
        and rules_by_user[user_id].allows_push(path)
        and not call.presences.is_active(user_id)
    ]
    settings_by_user = user_settings.find_many(call.tx, candidate_ids) if candidate_ids else {}
    do_not_disturb_ids = {
        user_id for user_id, settings_row in settings_by_user.items() if settings_row.status == Status.DND
    }
    blocker_ids = set(relationships.list_blocker_ids(call.tx, row.author_id)) if candidate_ids else set()
    return {
        user_id: mention_bits_by_user[user_id]
        for user_id in candidate_ids
        if user_id not in do_not_disturb_ids
        and user_id not in blocker_ids
        and find_access(call, channel.id, user_id) is not None
    }


def _compute_mention_bits(call: Call, channel: ChannelRef, row: MessageRow, user_ids: Iterable[int]) -> dict[int, int]:
    """Return the mention bits of a message by user ID, for the members or recipients among `user_ids` except its author."""
    mentioned_ids = set(codec.decode(row.mentions, list[Snowflake])) if row.mentions else set[int]()
    if channel.guild_id is None:
        mention_bits_by_user = dict.fromkeys(user_ids, notification_settings.PRIVATE_MESSAGE)
    else:
        role_ids = set(codec.decode(row.mention_roles, list[Snowflake])) if row.mention_roles else set[int]()
        member_ids = members.find_rows(call.tx, channel.guild_id, user_ids).keys()
        roles_by_user = members.find_role_ids(call.tx, channel.guild_id, member_ids) if role_ids else {}
        everyone_bit = notification_settings.EVERYONE_MENTION if row.mention_everyone else 0
        mention_bits_by_user = {
            user_id: everyone_bit
            | (notification_settings.ROLE_MENTION if role_ids.intersection(roles_by_user.get(user_id, ())) else 0)
            for user_id in member_ids
        }
    for user_id in mention_bits_by_user.keys() & mentioned_ids:
        mention_bits_by_user[user_id] |= notification_settings.DIRECT_MENTION
    mention_bits_by_user.pop(row.author_id, None)
    return mention_bits_by_user


def acting_as(call: Call, user_id: int) -> Call:
    """Return a copy of the call with a user as its actor."""
    return call.acting_as(Actor(user_id=UserId(user_id), kind="user"))


def find_access(call: Call, channel_id: int, user_id: int) -> ChannelAccess | None:
    """Return the standing of a user in a channel, or None if they cannot see it."""
    try:
        return access.get_channel_standing(acting_as(call, user_id), channel_id)
    except errors.ApiError:
        return None


def can_read(channel_access: ChannelAccess) -> bool:
    """Return whether a standing allows its user to read stored messages of the channel."""
    return channel_access.can(Permissions.READ_MESSAGE_HISTORY)
