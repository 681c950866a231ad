"""Administration: operators, their audit log, and their actions on accounts, job queues, features and documents."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.accounts.signals import SecondFactorChanged
from hubbub.server.identity.administration import listeners, operators, ports, routes, rules, signals
from hubbub.server.identity.administration.audit_entries import audit
from hubbub.server.identity.administration.audit_entries.rejected_uploads import record_rejected_upload
from hubbub.server.identity.administration.job_queues import queue_routes, queues
from hubbub.server.identity.administration.settings import document_routes, feature_routes
from hubbub.server.identity.administration.settings.document_routes import publish as publish_document
from hubbub.server.identity.administration.settings.feature_routes import switch_feature
from hubbub.server.identity.administration.user_accounts import accounts, jobs, session_routes, sessions, user_routes
from hubbub.server.identity.administration.user_accounts.views import user_details
from hubbub.server.identity.users.signals import UserDeleting

SLICE = Slice(
    name="administration",
    modules=(routes, user_routes, session_routes, queue_routes, feature_routes, document_routes, ports),
    operator_guard=rules.require_operator,
    jobs=jobs.JOBS,
    listeners={
        SecondFactorChanged: listeners.on_second_factor_changed,
        UserDeleting: listeners.on_user_deleting,
    },
)

__all__ = [
    "SLICE",
    "accounts",
    "audit",
    "operators",
    "ports",
    "publish_document",
    "queues",
    "record_rejected_upload",
    "rules",
    "sessions",
    "signals",
    "switch_feature",
    "user_details",
]
