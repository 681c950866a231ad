"""Incoming webhooks, and channels that follow announcement channels."""

from typing import Final

from hubbub.protocol.enums import AuditLogAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.audit_log import AuditLogRead
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.messages import MessageChanged, MessageCrossposted, MessagesDeleted
from hubbub.server.resources.webhooks import actions, jobs, routes, speaking, store, views
from hubbub.server.resources.webhooks.actions import create
from hubbub.server.resources.webhooks.facts import Speaker, TokenPresented
from hubbub.server.resources.webhooks.rules import require_holding
from hubbub.server.resources.webhooks.store import WebhookRow, find
from hubbub.server.resources.webhooks.views import with_token

_WEBHOOK_ACTIONS: Final = frozenset(
    {AuditLogAction.WEBHOOK_CREATE, AuditLogAction.WEBHOOK_UPDATE, AuditLogAction.WEBHOOK_DELETE}
)


def _add_to_audit_log(call: Call, signal: AuditLogRead) -> None:
    entries = signal.log.audit_log_entries
    webhook_ids = [
        entry.target_id for entry in entries if entry.action_type in _WEBHOOK_ACTIONS and entry.target_id is not None
    ]
    if webhook_ids:
        signal.log.webhooks += views.named(call, store.find_many(call.tx, webhook_ids))


SLICE = Slice(
    name="webhooks",
    modules=(routes, speaking),
    jobs=jobs.JOBS,
    hears={
        ChannelsDeleted: actions.channels_deleted,
        MessageCrossposted: jobs.hear_crosspost,
        MessageChanged: jobs.hear_change,
        MessagesDeleted: jobs.hear_deletion,
        AuditLogRead: _add_to_audit_log,
    },
)

__all__ = ["SLICE", "Speaker", "TokenPresented", "WebhookRow", "create", "find", "require_holding", "with_token"]
