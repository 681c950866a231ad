"""Applications as their developers manage them: approvals, testers and rich presence assets."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources import applications
from hubbub.server.resources.applications import IntentsSwitched
from hubbub.server.resources.developers import routes, store
from hubbub.server.resources.developers.actions import approve, deny, watch
from hubbub.server.resources.developers.jobs import JOBS
from hubbub.server.resources.developers.store import ApprovalRow, list_pending
from hubbub.server.resources.users import UserDeleted

SLICE = Slice(
    name="developers",
    modules=(routes,),
    jobs=JOBS,
    hears={
        IntentsSwitched: lambda call, signal: watch(call, signal.application_id),
        UserDeleted: lambda call, signal: applications.delete_testing(call.tx, signal.user_id),
    },
    assets={"app-assets": store.find_asset_file},
)

__all__ = ["SLICE", "ApprovalRow", "approve", "deny", "list_pending", "watch"]
