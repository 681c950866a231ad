"""Port of the audit log slice: the objects of other slices that audit log entries refer to."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources.audit_log import AuditLogEntry
from hubbub.protocol.resources.auto_moderation import AutoModerationRule
from hubbub.protocol.resources.channels import Thread
from hubbub.protocol.resources.scheduled_events import ScheduledEvent
from hubbub.protocol.resources.webhooks import Webhook
from hubbub.server.core.call import Call
from hubbub.server.core.ports import multi_port


class ReferencedObjects(msgspec.Struct, kw_only=True):
    """Objects of a slice that audit log entries refer to, in the fields of `AuditLog`."""

    threads: list[Thread] = []
    integrations: list[dict[str, Any]] = []
    webhooks: list[Webhook] = []
    guild_scheduled_events: list[ScheduledEvent] = []
    application_commands: list[dict[str, Any]] = []
    auto_moderation_rules: list[AutoModerationRule] = []


@multi_port
def list_referenced(call: Call, guild_id: GuildId, entries: Sequence[AuditLogEntry]) -> ReferencedObjects:
    """Return the existing objects of a slice that audit log entries refer to. Each bound slice returns its own objects."""
