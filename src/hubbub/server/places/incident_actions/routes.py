"""HTTP handler for incident actions, which disable invites and direct messages temporarily."""

from datetime import datetime
from typing import Final

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import GuildId, Timestamp
from hubbub.protocol.resources import incident_actions as wire
from hubbub.protocol.resources.guilds import IncidentsData
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import guilds

HOUR_MS: Final = 3_600_000


@handles(wire.UPDATE_GUILD_INCIDENT_ACTIONS)
def update_guild_incident_actions(call: Call, guild_id: GuildId, body: wire.SetIncidentActions) -> IncidentsData:
    """Update the incident actions of a guild.

    Invites and direct messages can be disabled for at most 24 hours."""
    guild = guilds.find(call.tx, guild_id)
    if guild is None:
        raise errors.UNKNOWN_GUILD()
    current_incidents = IncidentsData(invites_disabled_until=None, dms_disabled_until=None)
    if guild.incidents is not None:
        current_incidents = codec.decode(guild.incidents, IncidentsData)
    form = FormErrors()
    updated_incidents = IncidentsData(
        invites_disabled_until=_disabled_until(
            call, "invites_disabled_until", body.invites_disabled_until, current_incidents.invites_disabled_until, form
        ),
        dms_disabled_until=_disabled_until(
            call, "dms_disabled_until", body.dms_disabled_until, current_incidents.dms_disabled_until, form
        ),
    )
    form.raise_if_any()
    has_active_incident = (
        updated_incidents.invites_disabled_until is not None or updated_incidents.dms_disabled_until is not None
    )
    guilds.update(
        call, guild, guild._replace(incidents=codec.encode(updated_incidents).decode() if has_active_incident else None)
    )
    return updated_incidents


def _disabled_until(
    call: Call, field: str, requested_end: datetime | UnsetType | None, current_end: Timestamp | None, form: FormErrors
) -> Timestamp | None:
    """Return the end of an incident action, or None if it is not active or already past (decisions/0021).

    `requested_end` is the value of `field` in the body. `current_end` is the stored end, which applies if the field is
    absent. A form error is added if the requested end is too late."""
    if requested_end is UNSET:
        # Stored timestamps have the fixed format of `codec.timestamp`, so comparing the texts compares the times.
        return current_end if current_end is not None and current_end > codec.timestamp(call.now_ms) else None
    if requested_end is None:
        return None
    until_ms = codec.milliseconds(requested_end)
    if until_ms > call.now_ms + wire.INCIDENT_HOURS_MAX * HOUR_MS:
        form.add(field, "INCIDENT_TOO_LONG", f"Must be at most {wire.INCIDENT_HOURS_MAX} hours in the future.")
        return None
    return codec.timestamp(until_ms) if until_ms > call.now_ms else None
