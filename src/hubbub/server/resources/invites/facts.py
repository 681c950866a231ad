"""What the invites slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, UserId


class GroupInviteAccepted(msgspec.Struct, frozen=True, kw_only=True):
    """A user comes into a group by an invite; whoever keeps groups lets them in, or raises."""

    channel_id: ChannelId
    user_id: UserId
