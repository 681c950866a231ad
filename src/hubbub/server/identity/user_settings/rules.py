"""Validation of user settings."""

from collections.abc import Collection, Sequence

from hubbub.protocol.errors import FormErrors
from hubbub.server.core.call import Call
from hubbub.server.identity.user_settings import store


def require_guilds(call: Call, before: Collection[int], wanted: Sequence[int]) -> None:
    """Raise form errors for guilds that the caller is not a member of.

    `before` are the restricted guilds so far, and `wanted` those of the request. A guild that the caller left after
    restricting it may stay in the list."""
    new_ids = set(wanted).difference(before)
    unknown_ids = new_ids.difference(store.filter_member_guilds(call.tx, call.user_id, new_ids))
    form = FormErrors()
    for index, guild_id in enumerate(wanted):
        if guild_id in unknown_ids:
            form.add(("restricted_guilds", index), "GUILD_UNKNOWN", "You are not a member of this guild.")
    form.raise_if_any()
