"""Outcomes of events in the delivery trace of the control API."""

from typing import Final

DELIVERED: Final = "delivered"
"""Outcome of a delivered event. Other outcomes that start with this text are deliveries, too."""
REDACTED: Final = "delivered without message content"
"""Outcome of an event that was delivered without the content of its message."""
NOT_SENT_TO_SUBJECT: Final = "not sent to the user it is about"
"""Outcome of an event for the sessions of the user that the event is about, such as a typing user."""
