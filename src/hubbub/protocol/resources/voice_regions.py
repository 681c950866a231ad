"""Voice regions: where voice servers stand."""

from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.operation import Operation


class VoiceRegion(Struct, kw_only=True):
    """A place that a voice channel's `rtc_region` can name."""

    id: str
    name: str
    custom: bool = False
    deprecated: bool = False
    optimal: bool = False
    """That it is the nearest to the caller."""


LIST_VOICE_REGIONS = Operation("GET", "/voice/regions", result=list[VoiceRegion])

LIST_GUILD_VOICE_REGIONS = Operation(
    "GET",
    "/guilds/{guild_id}/regions",
    result=list[VoiceRegion],
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)
