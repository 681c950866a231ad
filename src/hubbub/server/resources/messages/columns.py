"""What the columns of a message hold: each is JSON, or nothing where a message does not have it."""

from functools import lru_cache
from typing import Any, Final

import msgspec

from hubbub.protocol import wire as json
from hubbub.protocol.ids import RoleId, UserId
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.embeds import Embed
from hubbub.server.resources.attachments import StoredAttachment
from hubbub.server.resources.messages.records import Extra, Interacted, MessageRow, StoredSnapshot

_users: Final = json.decoder(list[UserId])
_roles: Final = json.decoder(list[RoleId])
_attachments: Final = json.decoder(list[StoredAttachment])
_embeds: Final = json.decoder(list[Embed])
_components: Final = msgspec.json.Decoder(list[dict[str, Any]])
_reference: Final = json.decoder(wire.MessageReference)
_snapshots: Final = json.decoder(list[StoredSnapshot])
_extra: Final = json.decoder(Extra)


def mentions(row: MessageRow) -> list[UserId]:
    """The users a message notifies."""
    found: list[UserId] = [] if row.mentions is None else _users.decode(row.mentions)
    return found


def attachments(row: MessageRow) -> list[StoredAttachment]:
    """The files of a message, those inside embeds included."""
    found: list[StoredAttachment] = [] if row.attachments is None else _attachments.decode(row.attachments)
    return found


def embeds(row: MessageRow) -> list[Embed]:
    """The embeds of a message, shown or not."""
    found: list[Embed] = [] if row.embeds is None else _embeds.decode(row.embeds)
    return found


def components(row: MessageRow) -> list[dict[str, Any]]:
    """The components of a message, as sent."""
    return [] if row.components is None else _components.decode(row.components)


def snapshots(row: MessageRow) -> list[StoredSnapshot]:
    """What a forward carries."""
    found: list[StoredSnapshot] = [] if row.snapshots is None else _snapshots.decode(row.snapshots)
    return found


def mention_roles(row: MessageRow) -> list[RoleId]:
    """The roles a message notifies."""
    found: list[RoleId] = [] if row.mention_roles is None else _roles.decode(row.mention_roles)
    return found


def reference(row: MessageRow) -> wire.MessageReference | None:
    """The message that another one answers, carries or speaks of."""
    found: wire.MessageReference | None = None if row.reference is None else _reference.decode(row.reference)
    return found


def forwarded_bytes(kept: str) -> int:
    """How many bytes of attachments a stored forward carries."""
    found: list[StoredSnapshot] = _snapshots.decode(kept)
    return sum(file.size for snapshot in found for file in snapshot.attachments)


def extra(row: MessageRow) -> Extra:
    """What few messages have."""
    found: Extra = Extra() if row.extra is None else _extra.decode(row.extra)
    return found


def asking(row: MessageRow) -> int | None:
    """Who ran the command that a message answers, where it names them in the older form too."""
    found = interacted(row)
    return None if found is None or found.name is None else found.user_id


def interacted(row: MessageRow) -> Interacted | None:
    """The interaction that a message answers, to be read and not changed."""
    return None if row.extra is None or '"interaction":' not in row.extra else _interacted_in(row.extra)


@lru_cache(maxsize=256)
def _interacted_in(text: str) -> Interacted | None:
    # A new answer is asked for this several times on its way, and read by many after.
    found: Extra = _extra.decode(text)
    return found.interaction
