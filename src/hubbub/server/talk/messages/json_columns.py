"""Decode the JSON columns of a message; a NULL column means that the message lacks the feature."""

from functools import lru_cache
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.ids import RoleId, UserId
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.embeds import Embed
from hubbub.server.talk.attachments import StoredAttachment
from hubbub.server.talk.messages.records import Extra, MessageRow, StoredInteraction, StoredSnapshot

_users: Final = codec.decoder(list[UserId])
_roles: Final = codec.decoder(list[RoleId])
_attachments: Final = codec.decoder(list[StoredAttachment])
_embeds: Final = codec.decoder(list[Embed])
_components: Final = msgspec.json.Decoder(list[dict[str, Any]])
_reference: Final = codec.decoder(wire.MessageReference)
_snapshots: Final = codec.decoder(list[StoredSnapshot])
_extra: Final = codec.decoder(Extra)


def mentions(row: MessageRow) -> list[UserId]:
    """Return the IDs of the users that a message notifies."""
    found: list[UserId] = [] if row.mentions is None else _users.decode(row.mentions)
    return found


def attachments(row: MessageRow) -> list[StoredAttachment]:
    """Return the files of a message, including those shown in embeds."""
    found: list[StoredAttachment] = [] if row.attachments is None else _attachments.decode(row.attachments)
    return found


def embeds(row: MessageRow) -> list[Embed]:
    """Return the embeds of a message, including suppressed ones."""
    found: list[Embed] = [] if row.embeds is None else _embeds.decode(row.embeds)
    return found


def components(row: MessageRow) -> list[dict[str, Any]]:
    """Return the components of a message, as sent."""
    return [] if row.components is None else _components.decode(row.components)


def snapshots(row: MessageRow) -> list[StoredSnapshot]:
    """Return the forwarded messages that a message contains."""
    found: list[StoredSnapshot] = [] if row.snapshots is None else _snapshots.decode(row.snapshots)
    return found


def mention_roles(row: MessageRow) -> list[RoleId]:
    """Return the IDs of the roles that a message notifies."""
    found: list[RoleId] = [] if row.mention_roles is None else _roles.decode(row.mention_roles)
    return found


def reference(row: MessageRow) -> wire.MessageReference | None:
    """Return the reference of a reply, forward, crosspost or system message, or None."""
    found: wire.MessageReference | None = None if row.reference is None else _reference.decode(row.reference)
    return found


def forwarded_bytes(snapshots_json: str) -> int:
    """Return the total attachment size of a stored forward, in bytes."""
    found: list[StoredSnapshot] = _snapshots.decode(snapshots_json)
    return sum(file.size for snapshot in found for file in snapshot.attachments)


def extra(row: MessageRow) -> Extra:
    """Return the rarely used fields of a message."""
    found: Extra = Extra() if row.extra is None else _extra.decode(row.extra)
    return found


def invoker_id(row: MessageRow) -> int | None:
    """Return the user who ran the command that a message responds to, if it shows the legacy `interaction` field."""
    found = interaction(row)
    return None if found is None or found.name is None else found.user_id


def interaction(row: MessageRow) -> StoredInteraction | None:
    """Return the interaction that a message responds to, or None; it is cached and must not be modified."""
    return None if row.extra is None or '"interaction":' not in row.extra else _decode_interaction(row.extra)


@lru_cache(maxsize=256)
def _decode_interaction(text: str) -> StoredInteraction | None:
    # This is called several times while a response is created, and again for each reader.
    found: Extra = _extra.decode(text)
    return found.interaction
