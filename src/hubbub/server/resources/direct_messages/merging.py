"""Direct messages of an account that became part of another (sdk.md 8.5)."""

from hubbub.protocol.enums import ChannelType
from hubbub.server.core.call import Call
from hubbub.server.resources import channels, identities, messages
from hubbub.server.resources.direct_messages import actions, store


def merge(call: Call, fact: identities.AccountsMerged) -> None:
    """What a provisional account said and was told is the full account's from now on.

    Where the full account already speaks with somebody, the two conversations cannot be one: the older account's becomes a group
    of the same two."""
    for channel_id in store.list_channels(call.tx, fact.source_id):
        row = channels.find(call.tx, channel_id)
        if row is None:
            continue
        others = [each for each in channels.recipients_of(call.tx, channel_id) if each != fact.source_id]
        if row.type == ChannelType.DM:
            store.forget_direct(call.tx, channel_id)
            if others == [int(fact.user_id)] or not others:
                # With itself: there is nobody left to speak to.
                store.remove(call.tx, channel_id, fact.source_id)
                store.hide_all(call.tx, channel_id)
                continue
            if store.find_direct(call.tx, fact.user_id, others[0]) is None:
                store.insert_direct(call.tx, fact.user_id, others[0], channel_id)
            else:
                after = row._replace(type=ChannelType.GROUP_DM, owner_id=fact.user_id)
                channels.update(call.tx, row, after)
                row = after
        if int(fact.user_id) in others:
            store.remove(call.tx, channel_id, fact.source_id)
        else:
            store.replace(call.tx, channel_id, fact.source_id, fact.user_id)
        messages.change_author(call.tx, channel_id, fact.source_id, fact.user_id)
        actions.tell_moved(call, row, fact.user_id, others)
