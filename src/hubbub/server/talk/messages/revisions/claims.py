"""Replacement of a claimed placeholder account in messages."""

import re
from collections.abc import Sequence

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.identity.imports import ImportedMessageKey
from hubbub.server.talk.messages import store


def list_authored(call: Call, placeholder_id: UserId, limit: int) -> list[tuple[int, int]]:
    """Return the channel ID and message ID of at most `limit` messages of a placeholder account."""
    return store.list_authored(call.tx, placeholder_id, limit)


def reassign_messages(
    call: Call, guild_id: int, keys: Sequence[ImportedMessageKey], placeholder_id: UserId, user_id: UserId
) -> None:
    """Replace a placeholder account by a user as the author of messages, and in their content, mentions and `extra`."""
    id_pattern = re.compile(rf"(?<![0-9]){int(placeholder_id)}(?![0-9])")

    def replace_id(text: str | None) -> str | None:
        return None if text is None else id_pattern.sub(str(int(user_id)), text)

    message_ids_by_channel: dict[int, list[int]] = {}
    for key in keys:
        message_ids_by_channel.setdefault(key.channel_id, []).append(key.message_id)
    for channel_id, message_ids in message_ids_by_channel.items():
        rows = store.find_many(call.tx, channel_id, message_ids).values()
        store.update_user_references(
            call.tx,
            [
                row._replace(
                    author_id=int(user_id) if row.author_id == placeholder_id else row.author_id,
                    content=replace_id(row.content) or "",
                    mentions=replace_id(row.mentions),
                    extra=replace_id(row.extra),
                )
                for row in rows
            ],
        )
