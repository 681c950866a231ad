"""Voice regions: locations of voice servers."""

from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.operation import Operation


class VoiceRegion(Struct, kw_only=True):
    """A voice region, which `rtc_region` of a voice channel can name."""

    id: str
    """ID of the region."""
    name: str
    """Name of the region."""
    custom: bool = False
    """Whether the region is reserved for single guilds or events."""
    deprecated: bool = False
    """Whether the region is deprecated and should not be selected."""
    optimal: bool = False
    """Whether the region is closest to the caller."""


LIST_VOICE_REGIONS = Operation("GET", "/voice/regions", result=list[VoiceRegion])

LIST_GUILD_VOICE_REGIONS = Operation(
    "GET",
    "/guilds/{guild_id}/regions",
    result=list[VoiceRegion],
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)
