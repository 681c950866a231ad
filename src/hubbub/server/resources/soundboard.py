"""The soundboard over the gateway: Request Soundboard Sounds (gateway.md 6.3)."""

import sys

from hubbub.protocol.resources import gateway as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice, obeys


@obeys(wire.REQUEST_SOUNDBOARD_SOUNDS)
def request_soundboard_sounds(call: Call, payload: wire.RequestSoundboardSounds) -> None:
    """Tell the sounds of each guild that the caller is in; guilds have none before they can be uploaded."""
    for guild_id in dict.fromkeys(payload.guild_ids):
        if access.find_member(call.tx, call.now, guild_id, call.user_id) is not None:
            answer = wire.SoundboardSounds(guild_id=guild_id, soundboard_sounds=[])
            call.replies.append((wire.SOUNDBOARD_SOUNDS, answer))


SLICE = Slice(name="soundboard", modules=(sys.modules[__name__],))
