"""HTTP handler that lists the messages of a user for a data export."""

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, UserId
from hubbub.protocol.resources import data_exports as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.talk.attachments import AttachmentSigner
from hubbub.server.talk.messages import store
from hubbub.server.talk.messages.content import json_columns


@handles(wire.LIST_MY_EXPORTED_MESSAGES, long=True)
def list_my_exported_messages(call: Call, query: wire.ListDataExportMessages) -> list[wire.DataExportMessage]:
    """List the current user's messages for a data export.

    The list contains the caller's messages from all channels, in ascending order of IDs. A page with fewer
    messages than requested is the last one.
    """
    return list_user_messages(call, UserId(call.user_id), query)


def list_user_messages(call: Call, user_id: UserId, query: wire.ListDataExportMessages) -> list[wire.DataExportMessage]:
    """Return a page of a user's messages for a data export."""
    after_id = 0 if query.after is UNSET else int(query.after)
    rows = store.list_by_author(call.tx, user_id, after_id, query.limit)
    guild_ids_by_channel = store.find_guild_ids(call.tx, [row.channel_id for row in rows])
    signer = AttachmentSigner(call)
    exported_messages = []
    for row in rows:
        guild_id = guild_ids_by_channel.get(row.channel_id)
        files = [
            wire.DataExportFile(filename=file.filename, size=file.size, url=signer.sign_url(row.channel_id, file))
            for file in json_columns.attachments(row)
        ]
        extra = json_columns.extra(row)
        exported_messages.append(
            wire.DataExportMessage(
                id=MessageId(row.id),
                channel_id=ChannelId(row.channel_id),
                guild_id=None if guild_id is None else GuildId(guild_id),
                timestamp=codec.timestamp(row.created_ms),
                edited_timestamp=None if row.edited_ms is None else codec.timestamp(row.edited_ms),
                content=row.content,
                attachments=files,
                type=row.type,
                embeds=json_columns.embeds(row),
                components=json_columns.components(row),
                sticker_items=extra.sticker_items,
                poll=extra.poll,
                message_reference=json_columns.reference(row),
            )
        )
    return exported_messages
