"""Move the private channels of a provisional account to a full account when they are merged (spec/sdk.md#8.5)."""

from hubbub.protocol.enums import ChannelType
from hubbub.server.core.call import Call
from hubbub.server.identity import identities
from hubbub.server.places import channels
from hubbub.server.talk import messages
from hubbub.server.talk.direct_messages import actions, store


def on_accounts_merged(call: Call, signal: identities.AccountsMerged) -> None:
    """Move the private channels and messages of a merged account to the full account.

    If the full account already has a direct message channel with the same user, the merged account's channel becomes a
    group of the full account and this user. A direct message channel between the two accounts is hidden."""
    for channel_id in store.list_channel_ids(call.tx, signal.source_id):
        row = channels.find(call.tx, channel_id)
        if row is None:
            continue
        other_ids = [
            user_id
            for user_id in channels.private_channels.list_recipient_ids(call.tx, channel_id)
            if user_id != signal.source_id
        ]
        if row.type == ChannelType.DM:
            store.delete_direct_channel(call.tx, channel_id)
            if other_ids == [int(signal.user_id)] or not other_ids:
                # The other recipient is the full account, or there is none, so no other user is left in the channel.
                channels.private_channels.remove_recipient(call.tx, channel_id, signal.source_id)
                channels.private_channels.hide_for_all(call.tx, channel_id)
                continue
            if store.find_direct_channel_id(call.tx, signal.user_id, other_ids[0]) is None:
                store.insert_direct_channel(call.tx, signal.user_id, other_ids[0], channel_id)
            else:
                group = row._replace(type=ChannelType.GROUP_DM, owner_id=signal.user_id)
                channels.update(call.tx, row, group)
                row = group
        if int(signal.user_id) in other_ids:
            channels.private_channels.remove_recipient(call.tx, channel_id, signal.source_id)
        else:
            channels.private_channels.replace_recipient(call.tx, channel_id, signal.source_id, signal.user_id)
        messages.changes.reassign_author(call.tx, channel_id, signal.source_id, signal.user_id)
        actions.publish_moved(call, row, signal.user_id, other_ids)
