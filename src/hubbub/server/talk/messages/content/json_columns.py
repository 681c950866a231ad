"""Decode the JSON columns of a message; a NULL column means that the message lacks the feature."""

from functools import lru_cache
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.ids import RoleId, UserId
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.embeds import Embed
from hubbub.server.talk.attachments import StoredAttachment
from hubbub.server.talk.messages.content.records import ExtraFields, MessageRow, StoredInteraction, StoredSnapshot

_user_ids_decoder: Final = codec.decoder(list[UserId])
_role_ids_decoder: Final = codec.decoder(list[RoleId])
_attachments_decoder: Final = codec.decoder(list[StoredAttachment])
_embeds_decoder: Final = codec.decoder(list[Embed])
_components_decoder: Final = msgspec.json.Decoder(list[dict[str, Any]])
_reference_decoder: Final = codec.decoder(wire.MessageReference)
_snapshots_decoder: Final = codec.decoder(list[StoredSnapshot])
_extra_decoder: Final = codec.decoder(ExtraFields)


def mentions(row: MessageRow) -> list[UserId]:
    """Return the IDs of the users that a message notifies."""
    user_ids: list[UserId] = [] if row.mentions is None else _user_ids_decoder.decode(row.mentions)
    return user_ids


def attachments(row: MessageRow) -> list[StoredAttachment]:
    """Return the files of a message, including those shown in embeds."""
    files: list[StoredAttachment] = [] if row.attachments is None else _attachments_decoder.decode(row.attachments)
    return files


def embeds(row: MessageRow) -> list[Embed]:
    """Return the embeds of a message, including suppressed ones."""
    decoded_embeds: list[Embed] = [] if row.embeds is None else _embeds_decoder.decode(row.embeds)
    return decoded_embeds


def components(row: MessageRow) -> list[dict[str, Any]]:
    """Return the components of a message as stored, with unresolved references to its files."""
    return [] if row.components is None else _components_decoder.decode(row.components)


def snapshots(row: MessageRow) -> list[StoredSnapshot]:
    """Return the forwarded messages that a message contains."""
    decoded_snapshots: list[StoredSnapshot] = [] if row.snapshots is None else _snapshots_decoder.decode(row.snapshots)
    return decoded_snapshots


def mention_roles(row: MessageRow) -> list[RoleId]:
    """Return the IDs of the roles that a message notifies."""
    role_ids: list[RoleId] = [] if row.mention_roles is None else _role_ids_decoder.decode(row.mention_roles)
    return role_ids


def reference(row: MessageRow) -> wire.MessageReference | None:
    """Return the reference of a reply, forward, crosspost or system message, or None."""
    decoded_reference: wire.MessageReference | None = (
        None if row.reference is None else _reference_decoder.decode(row.reference)
    )
    return decoded_reference


def forwarded_bytes(snapshots_json: str) -> int:
    """Return the total attachment size of a stored forward, in bytes."""
    decoded_snapshots: list[StoredSnapshot] = _snapshots_decoder.decode(snapshots_json)
    return sum(file.size for snapshot in decoded_snapshots for file in snapshot.attachments)


def extra(row: MessageRow) -> ExtraFields:
    """Return the rarely used fields of a message."""
    decoded_extra: ExtraFields = ExtraFields() if row.extra is None else _extra_decoder.decode(row.extra)
    return decoded_extra


def invoker_id(row: MessageRow) -> int | None:
    """Return the ID of the user who ran the command that a message responds to.

    The result is None if the message does not show the legacy `interaction` field."""
    stored_interaction = interaction(row)
    return None if stored_interaction is None or stored_interaction.name is None else stored_interaction.user_id


def interaction(row: MessageRow) -> StoredInteraction | None:
    """Return the interaction that a message responds to, or None; it is cached and must not be modified."""
    return None if row.extra is None or '"interaction":' not in row.extra else _decode_interaction(row.extra)


@lru_cache(maxsize=256)
def _decode_interaction(extra_json: str) -> StoredInteraction | None:
    # The result is cached, because it is needed several times while a response is created, and again for each reader.
    decoded_extra: ExtraFields = _extra_decoder.decode(extra_json)
    return decoded_extra.interaction
