"""HTTP handlers for voice regions. A server has exactly one region (decisions/0021)."""

from typing import Final

from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import voice_regions as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.standing import access

REGIONS: Final = [wire.VoiceRegion(id="local", name="Local", optimal=True)]


@handles(wire.LIST_VOICE_REGIONS)
def list_voice_regions(call: Call) -> list[wire.VoiceRegion]:
    """List voice regions."""
    return REGIONS


@handles(wire.LIST_GUILD_VOICE_REGIONS)
def list_guild_voice_regions(call: Call, guild_id: GuildId) -> list[wire.VoiceRegion]:
    """List the voice regions of a guild."""
    access.get_guild_standing(call, guild_id)
    return REGIONS
