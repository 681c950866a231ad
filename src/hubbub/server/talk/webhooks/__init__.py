"""Incoming webhooks, and channels that follow announcement channels."""

from collections.abc import Sequence
from typing import Final

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources.audit_log import AuditLogEntry
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places.audit_log import ReferencedObjects
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.talk.messages.signals import MessageChanged, MessageCrossposted, MessagesDeleted
from hubbub.server.talk.webhooks import actions, ports, routes, store, views
from hubbub.server.talk.webhooks.actions import create, export_data
from hubbub.server.talk.webhooks.archive import ARCHIVE
from hubbub.server.talk.webhooks.execution import execution_routes
from hubbub.server.talk.webhooks.followers import jobs
from hubbub.server.talk.webhooks.ports import WebhookAuthor
from hubbub.server.talk.webhooks.rules import require_webhook_channel
from hubbub.server.talk.webhooks.store import WebhookRow, find, map_owner_ids
from hubbub.server.talk.webhooks.views import webhook_with_token

_WEBHOOK_ACTIONS: Final = frozenset(
    {AuditLogAction.WEBHOOK_CREATE, AuditLogAction.WEBHOOK_UPDATE, AuditLogAction.WEBHOOK_DELETE}
)


def list_referenced(call: Call, guild_id: GuildId, entries: Sequence[AuditLogEntry]) -> ReferencedObjects:
    """Return the webhooks that audit log entries refer to."""
    webhook_ids = [
        entry.target_id for entry in entries if entry.action_type in _WEBHOOK_ACTIONS and entry.target_id is not None
    ]
    if not webhook_ids:
        return ReferencedObjects()
    return ReferencedObjects(webhooks=views.webhook_references(call, store.find_many(call.tx, webhook_ids)))


SLICE = Slice(
    name="webhooks",
    archive=ARCHIVE,
    modules=(routes, execution_routes, ports),
    jobs=jobs.JOBS,
    listeners={
        ChannelsDeleting: actions.on_channels_deleting,
        UserDeleting: actions.on_user_deleting,
        MessageCrossposted: jobs.on_message_crossposted,
        MessageChanged: jobs.on_message_changed,
        MessagesDeleted: jobs.on_messages_deleted,
    },
)

__all__ = [
    "SLICE",
    "WebhookAuthor",
    "WebhookRow",
    "create",
    "export_data",
    "find",
    "list_referenced",
    "map_owner_ids",
    "ports",
    "require_webhook_channel",
    "webhook_with_token",
]
