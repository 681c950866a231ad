"""Integrations: the applications that a guild has let in, known by their bots or by their commands alone."""

import msgspec

from hubbub.protocol import wire as json
from hubbub.protocol.enums import AuditLogAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources import applications
from hubbub.server.resources.audit_log import AuditLogRead
from hubbub.server.resources.integrations import actions, routes, views
from hubbub.server.resources.integrations.actions import came, went
from hubbub.server.resources.members import MemberAdded, MemberRemoved
from hubbub.server.resources.users import UserChanged

AUDITED = range(AuditLogAction.INTEGRATION_CREATE, AuditLogAction.INTEGRATION_DELETE + 1)


def _audit_log(call: Call, fact: AuditLogRead) -> None:
    """The integrations that a page of the audit log names."""
    named = [entry.target_id for entry in fact.log.audit_log_entries if entry.action_type in AUDITED]
    rows = applications.find_many(call.tx, [each for each in named if each is not None])
    shown = [views.partial_integration(row) for row in rows.values()]
    fact.log.integrations = [msgspec.to_builtins(each, enc_hook=json.encode_hook) for each in shown]


SLICE = Slice(
    name="integrations",
    modules=(routes,),
    hears={
        AuditLogRead: _audit_log,
        MemberAdded: actions.member_added,
        MemberRemoved: actions.member_removed,
        UserChanged: actions.user_changed,
    },
)

__all__ = ["SLICE", "came", "went"]
