"""Delivery of interactions to HTTP endpoints, and timeouts of unanswered interactions."""
