"""Incident actions: what a guild switches off for a while."""

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
"""How long something may stay switched off."""


class SetIncidentActions(Struct, kw_only=True):
    """Until when what is off; null switches it on again, what is absent stays."""

    invites_disabled_until: datetime | None | UnsetType = UNSET
    dms_disabled_until: datetime | None | UnsetType = UNSET


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
