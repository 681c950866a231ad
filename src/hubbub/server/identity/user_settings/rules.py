"""Validation of user settings."""

from collections.abc import Collection, Sequence

from hubbub.protocol.errors import FormErrors
from hubbub.server.core.call import Call
from hubbub.server.identity.user_settings import store


def require_guilds(call: Call, restricted_guild_ids: Collection[int], requested_guild_ids: Sequence[int]) -> None:
    """Raise form errors for guilds that the caller is not a member of.

    `restricted_guild_ids` are the restricted guilds so far, and `requested_guild_ids` those of the request. A guild that
    the caller left after restricting it may stay in the list."""
    new_ids = set(requested_guild_ids).difference(restricted_guild_ids)
    unknown_ids = new_ids.difference(store.filter_member_guilds(call.tx, call.user_id, new_ids))
    form = FormErrors()
    for index, guild_id in enumerate(requested_guild_ids):
        if guild_id in unknown_ids:
            form.add(("restricted_guilds", index), "GUILD_UNKNOWN", "You are not a member of this guild.")
    form.raise_if_any()
