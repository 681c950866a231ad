"""Messages in the archive of a guild."""

from typing import Final

from hubbub.protocol.ids import RoleId, UserId
from hubbub.protocol.resources.components import Component
from hubbub.protocol.resources.embeds import Embed
from hubbub.protocol.resources.messages import MessageReference
from hubbub.server.core.archives import (
    FLAG,
    ID,
    OPTIONAL_ID,
    OPTIONAL_TIME,
    REFERENCE,
    ArchiveTable,
    markdown,
    number,
    optional_json,
)
from hubbub.server.talk.attachments import StoredAttachment
from hubbub.server.talk.messages.content.records import ExtraFields, StoredSnapshot

CONTENT_LENGTH_MAX: Final = 6000
"""Maximum length of the content in an archive, in characters. It exceeds the limit for new messages, because other
servers may have higher limits."""

ARCHIVE: Final = (
    ArchiveTable(
        name="messages",
        key=("channel_id", "id"),
        # Messages have no guild column; the export selects them by channel.
        guild_column="",
        columns={
            "channel_id": REFERENCE,
            "id": ID,
            # The ID of a user, or of the webhook that sent the message.
            "author_id": ID,
            "type": number(255),
            "flags": number(),
            "content": markdown(CONTENT_LENGTH_MAX),
            "tts": FLAG,
            "edited_ms": OPTIONAL_TIME,
            "pinned_ms": OPTIONAL_TIME,
            "mention_everyone": FLAG,
            "mentions": optional_json(list[UserId]),
            "mention_roles": optional_json(list[RoleId]),
            "attachments": optional_json(list[StoredAttachment]),
            "embeds": optional_json(list[Embed]),
            "components": optional_json(list[Component]),
            "reference": optional_json(MessageReference),
            "snapshots": optional_json(list[StoredSnapshot]),
            "webhook_id": OPTIONAL_ID,
            "reacted": FLAG,
            "extra": optional_json(ExtraFields),
        },
    ),
)
