"""Subscriptions, and the purchases that start them."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import ApplicationDeleting
from hubbub.server.resources.subscriptions import purchases, routes, rules
from hubbub.server.resources.subscriptions.actions import refund
from hubbub.server.resources.subscriptions.jobs import JOBS
from hubbub.server.resources.subscriptions.store import SubscriptionRow, find
from hubbub.server.resources.users import UserDeleted

SLICE = Slice(
    name="subscriptions",
    modules=(routes,),
    jobs=JOBS,
    listeners={UserDeleted: purchases.on_user_deleted, ApplicationDeleting: rules.require_deletable},
)

__all__ = ["SLICE", "SubscriptionRow", "find", "refund"]
