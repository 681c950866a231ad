"""Subscriptions, and the purchases that begin them."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.subscriptions import routes
from hubbub.server.resources.subscriptions.actions import delete, refund
from hubbub.server.resources.subscriptions.jobs import JOBS
from hubbub.server.resources.subscriptions.store import SubscriptionRow, find

SLICE = Slice(name="subscriptions", modules=(routes,), jobs=JOBS)

__all__ = ["SLICE", "SubscriptionRow", "delete", "find", "refund"]
