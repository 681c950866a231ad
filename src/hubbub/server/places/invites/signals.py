"""Signals of the invites slice, raised inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, Snowflake, UserId
from hubbub.protocol.resources import invites as wire


class GroupInviteAccepted(msgspec.Struct, frozen=True, kw_only=True):
    """A user accepted a group invite; the listener adds the user to the group, or raises."""

    channel_id: ChannelId
    user_id: UserId


class InviteResolved(msgspec.Struct, frozen=True, kw_only=True):
    """An invite was requested with a scheduled event; the listener adds the event to `invite`."""

    invite: wire.Invite
    event_id: Snowflake
