"""Payments of subscriptions: billing periods, charges and refunds."""
