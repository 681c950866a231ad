"""Management of applications by their developers: creation, secrets, approvals, testers and rich presence assets."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity import applications
from hubbub.server.identity.applications.signals import ApplicationDeleting, IntentsEnabled
from hubbub.server.identity.developers import routes, store
from hubbub.server.identity.developers.actions import approve, deny, schedule_size_check
from hubbub.server.identity.developers.jobs import JOBS
from hubbub.server.identity.developers.store import ApprovalRow, list_pending
from hubbub.server.identity.users.signals import UserDeleting

SLICE = Slice(
    name="developers",
    modules=(routes,),
    jobs=JOBS,
    listeners={
        ApplicationDeleting: lambda call, signal: store.delete_approvals_and_assets(call.tx, signal.row.id),
        IntentsEnabled: lambda call, signal: schedule_size_check(call, signal.application_id),
        UserDeleting: lambda call, signal: applications.testers.delete_tester_from_all(call.tx, signal.user_id),
    },
    assets={"app-assets": store.find_asset_key},
)

__all__ = ["SLICE", "ApprovalRow", "approve", "deny", "list_pending", "schedule_size_check"]
