"""What the invites slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, Snowflake, UserId
from hubbub.protocol.resources import invites as wire


class GroupInviteAccepted(msgspec.Struct, frozen=True, kw_only=True):
    """A user comes into a group by an invite; whoever keeps groups lets them in, or raises."""

    channel_id: ChannelId
    user_id: UserId


class InviteResolved(msgspec.Struct, frozen=True, kw_only=True):
    """A guild's invite is about to be shown with a scheduled event: who keeps those adds it."""

    invite: wire.Invite
    event_id: Snowflake
