"""Integrations: the applications installed in a guild, with a bot or with commands only."""

from collections.abc import Sequence

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources.audit_log import AuditLogEntry
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity import applications
from hubbub.server.identity.users.signals import UserChanged
from hubbub.server.places.audit_log import ReferencedObjects
from hubbub.server.places.integrations import actions, routes, views
from hubbub.server.places.integrations.actions import publish_created, publish_deleted
from hubbub.server.places.members.signals import MemberAdded, MemberRemoved

AUDITED_ACTIONS = range(AuditLogAction.INTEGRATION_CREATE, AuditLogAction.INTEGRATION_DELETE + 1)
"""Audit log actions whose target is an integration."""


def list_referenced(call: Call, guild_id: GuildId, entries: Sequence[AuditLogEntry]) -> ReferencedObjects:
    """Return the integrations that audit log entries refer to."""
    target_ids = [entry.target_id for entry in entries if entry.action_type in AUDITED_ACTIONS]
    rows_by_id = applications.find_many(call.tx, [target_id for target_id in target_ids if target_id is not None])
    integrations = [views.partial_integration(row) for row in rows_by_id.values()]
    return ReferencedObjects(
        integrations=[msgspec.to_builtins(integration, enc_hook=codec.encode_hook) for integration in integrations]
    )


SLICE = Slice(
    name="integrations",
    modules=(routes,),
    listeners={
        MemberAdded: actions.on_member_added,
        MemberRemoved: actions.on_member_removed,
        UserChanged: actions.on_user_changed,
    },
)

__all__ = ["SLICE", "list_referenced", "publish_created", "publish_deleted"]
