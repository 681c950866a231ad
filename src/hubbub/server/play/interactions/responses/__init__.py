"""Responses of applications to interactions."""

from hubbub.server.play.interactions.responses import response_messages
from hubbub.server.play.interactions.responses.callback_rules import require_pending
from hubbub.server.play.interactions.responses.creation import launch_activity, respond
from hubbub.server.play.interactions.responses.views import callback_response

__all__ = ["callback_response", "launch_activity", "require_pending", "respond", "response_messages"]
