"""Action of `hubbub import claims` that lists the claim codes of imported accounts."""

import argparse

from hubbub.protocol.ids import GuildId
from hubbub.server.commands.admin_actions import AdminError, action
from hubbub.server.core.call import Call
from hubbub.server.identity import imports
from hubbub.server.places import guilds


@action("list-claims")
def list_claims(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the claim codes of the placeholder accounts of a guild."""
    guild_id_text = str(arguments.guild_id)
    guild = (
        guilds.find(call.tx, GuildId(int(guild_id_text)))
        if guild_id_text.isascii() and guild_id_text.isdigit() and len(guild_id_text) < 20
        else None
    )
    if guild is None:
        raise AdminError(f"there is no guild with the ID {guild_id_text}")
    lines = [f"{claim.code}  {claim.username}" for claim in imports.claims.list_open(call.tx, guild.id)]
    if not lines:
        return ["No placeholder accounts are left to claim."]
    return [*lines, f"A user claims an account at {call.config.web_url}/claim."]
