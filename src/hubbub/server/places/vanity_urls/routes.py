"""HTTP handlers for vanity URLs."""

import re
from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.enums import GuildFeature
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import vanity_urls as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import guilds
from hubbub.server.places.guilds import GuildRow
from hubbub.server.places.vanity_urls import store

_CODE_PATTERN: Final = re.compile(r"[a-z0-9](?:-?[a-z0-9])+", re.ASCII)


@handles(wire.GET_GUILD_VANITY_URL)
def get_guild_vanity_url(call: Call, guild_id: GuildId) -> wire.VanityUrl:
    """Get a guild's vanity URL.

    The response contains the code and its number of uses."""
    _require_guild_with_feature(call, guild_id)
    row = store.find_guild_code(call.tx, guild_id)
    return wire.VanityUrl(code=None, uses=0) if row is None else wire.VanityUrl(code=row.code, uses=row.uses)


@handles(wire.UPDATE_GUILD_VANITY_URL)
def update_guild_vanity_url(call: Call, guild_id: GuildId, body: wire.UpdateVanityUrl) -> wire.VanityUrl:
    """Update a guild's vanity URL.

    A null code removes the vanity URL. The guild needs the VANITY_URL feature."""
    guild = _require_guild_with_feature(call, guild_id)
    code = (body.code or "").strip().lower() or None
    if code is not None and (_CODE_PATTERN.fullmatch(code) is None or store.is_code_taken(call.tx, guild_id, code)):
        raise errors.INVITE_INVALID_OR_TAKEN()
    if code != guild.vanity_url_code:
        store.put(call.tx, guild_id, code)
        guilds.update(call, guild, guild._replace(vanity_url_code=code))
    row = store.find_guild_code(call.tx, guild_id)
    return wire.VanityUrl(code=code, uses=0 if row is None else row.uses)


def _require_guild_with_feature(call: Call, guild_id: int) -> GuildRow:
    """Return the guild; raise unless it has the feature VANITY_URL."""
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    if GuildFeature.VANITY_URL not in row.feature_names:
        raise errors.MORE_BOOSTS_NEEDED()
    return row
