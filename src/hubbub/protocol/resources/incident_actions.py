"""Incident actions, which temporarily disable the invites or the direct messages of a guild."""

from datetime import datetime
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.operation import Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds
from hubbub.protocol.resources.guilds import IncidentsData

INCIDENT_HOURS_MAX: Final = 24
"""Maximum number of hours for which invites or direct messages can be disabled."""


class SetIncidentActions(Struct, kw_only=True):
    """Request body for disabling or enabling the invites and direct messages of a guild."""

    invites_disabled_until: datetime | None | UnsetType = UNSET
    """Time until which invites are disabled, at most 24 hours ahead.
    Null enables them again; absent keeps the current value."""
    dms_disabled_until: datetime | None | UnsetType = UNSET
    """Time until which direct messages between members are disabled, at most 24 hours ahead.
    Null enables them again; absent keeps the current value."""


UPDATE_GUILD_INCIDENT_ACTIONS = Operation(
    "PUT",
    "/guilds/{guild_id}/incident-actions",
    body=SetIncidentActions,
    result=IncidentsData,
    needs=Permissions.MANAGE_GUILD,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
    emits=(guilds.GUILD_UPDATE,),
    audits=(AuditLogAction.GUILD_UPDATE,),
)
