"""What developers do with applications of their own, and what the operator decides about them."""

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
        IntentsSwitched: lambda call, fact: watch(call, fact.application_id),
        UserDeleted: lambda call, fact: applications.delete_testing(call.tx, fact.user_id),
    },
    assets={"app-assets": store.find_asset_file},
)

__all__ = ["SLICE", "ApprovalRow", "approve", "deny", "list_pending", "watch"]
