"""Gateway commands of the soundboard: Request Soundboard Sounds (spec/gateway.md#6.3)."""

from hubbub.protocol.resources import gateway as wire
from hubbub.protocol.resources.soundboard import SoundboardSounds
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles_command
from hubbub.server.places import expressions
from hubbub.server.places.soundboard import store, views
from hubbub.server.places.standing import access


@handles_command(wire.REQUEST_SOUNDBOARD_SOUNDS)
def request_soundboard_sounds(call: Call, payload: wire.RequestSoundboardSounds) -> None:
    """Send the sounds of each requested guild that the caller is a member of."""
    for guild_id in dict.fromkeys(payload.guild_ids):
        standing = access.find_member(call.tx, call.now, guild_id, call.user_id)
        if standing is not None:
            rows = store.list_of_guild(call.tx, guild_id)
            sounds = views.sounds(call.tx, rows, with_creators=expressions.can_see_creators(call, standing))
            reply = SoundboardSounds(guild_id=guild_id, soundboard_sounds=sounds)
            call.replies.append((wire.SOUNDBOARD_SOUNDS, reply))
