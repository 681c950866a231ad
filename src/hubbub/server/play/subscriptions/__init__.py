"""Subscriptions to SKUs, purchases of SKUs, and their payments."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.play.subscriptions import purchases, routes
from hubbub.server.play.subscriptions.actions import refund
from hubbub.server.play.subscriptions.jobs import JOBS
from hubbub.server.play.subscriptions.purchases import export_data
from hubbub.server.play.subscriptions.rules import require_deletable
from hubbub.server.play.subscriptions.store import SubscriptionRow, find

SLICE = Slice(
    name="subscriptions",
    modules=(routes,),
    jobs=JOBS,
    listeners={UserDeleting: purchases.on_user_deleting},
)

__all__ = ["SLICE", "SubscriptionRow", "export_data", "find", "refund", "require_deletable"]
