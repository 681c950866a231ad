"""HTTP handlers for user settings. OAuth2 sessions have no access to them."""

from hubbub.protocol.resources import user_settings as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.user_settings import actions


@handles(wire.GET_USER_SETTINGS)
def get_user_settings(call: Call) -> wire.UserSettings:
    """Get the current user's settings."""
    return actions.read_current(call, call.user_id)


@handles(wire.UPDATE_USER_SETTINGS)
def update_user_settings(call: Call, body: wire.UpdateUserSettings) -> wire.UserSettings:
    """Update the current user's settings."""
    return actions.update(call, body)
