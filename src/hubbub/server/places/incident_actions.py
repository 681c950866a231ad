"""HTTP handler for incident actions, which disable invites and direct messages temporarily."""

import sys
from datetime import datetime
from typing import Final

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import GuildId, Timestamp
from hubbub.protocol.resources import incident_actions as wire
from hubbub.protocol.resources.guilds import IncidentsData
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice, handles
from hubbub.server.places import guilds

HOUR_MS: Final = 3_600_000


@handles(wire.UPDATE_GUILD_INCIDENT_ACTIONS)
def update_guild_incident_actions(call: Call, guild_id: GuildId, body: wire.SetIncidentActions) -> IncidentsData:
    """Update the incident actions of a guild.

    Invites and direct messages can be disabled for at most 24 hours."""
    before = guilds.find(call.tx, guild_id)
    if before is None:
        raise errors.UNKNOWN_GUILD()
    known = IncidentsData(invites_disabled_until=None, dms_disabled_until=None)
    if before.incidents is not None:
        known = codec.decode(before.incidents, IncidentsData)
    form = FormErrors()
    after = IncidentsData(
        invites_disabled_until=_until(
            call, "invites_disabled_until", body.invites_disabled_until, known.invites_disabled_until, form
        ),
        dms_disabled_until=_until(call, "dms_disabled_until", body.dms_disabled_until, known.dms_disabled_until, form),
    )
    form.raise_if_any()
    off = after.invites_disabled_until is not None or after.dms_disabled_until is not None
    guilds.change(call, before, before._replace(incidents=codec.encode(after).decode() if off else None))
    return after


def _until(
    call: Call, field: str, wanted: datetime | UnsetType | None, known: Timestamp | None, form: FormErrors
) -> Timestamp | None:
    """Return the end of an incident action, or None if it is not active or already past (decisions/0021)."""
    if wanted is UNSET:
        # Stored timestamps have the format of wire.timestamp, so comparing the text compares the time.
        return known if known is not None and known > codec.timestamp(call.now) else None
    if wanted is None:
        return None
    ms = codec.milliseconds(wanted)
    if ms > call.now + wire.INCIDENT_HOURS_MAX * HOUR_MS:
        form.add(field, "INCIDENT_TOO_LONG", f"Must be at most {wire.INCIDENT_HOURS_MAX} hours in the future.")
        return None
    return codec.timestamp(ms) if ms > call.now else None


SLICE = Slice(name="incident_actions", modules=(sys.modules[__name__],))
