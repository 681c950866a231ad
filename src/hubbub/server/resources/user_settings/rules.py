"""What a person may decide."""

from collections.abc import Collection, Sequence

from hubbub.protocol.errors import FormErrors
from hubbub.server.core.call import Call
from hubbub.server.resources.user_settings import store


def require_guilds(call: Call, before: Collection[int], wanted: Sequence[int]) -> None:
    """Guilds that the caller is in. One that they left since they decided on it may stay, for the day they come back."""
    new = set(wanted).difference(before)
    unknown = new.difference(store.guilds_among(call.tx, call.user_id, new))
    form = FormErrors()
    for index, guild_id in enumerate(wanted):
        if guild_id in unknown:
            form.add(("restricted_guilds", index), "GUILD_UNKNOWN", "You are in no guild of this id.")
    form.raise_if_any()
