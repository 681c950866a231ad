"""Processing of the MLS group messages of a call (voice.md 10)."""

from collections.abc import Callable, Collection

from hubbub.protocol.voice import DAVE_VERSION, VoiceOpcode
from hubbub.sdk.media.encryption import Encryption, GroupError
from hubbub.sdk.media.socket import VoiceSocket, read
from hubbub.sdk.media.words import Transition


async def follow(
    voice: VoiceSocket,
    encryption: Encryption,
    op: int,
    data: bytes,
    user_ids: Collection[int],
    log: Callable[[str], None],
) -> bool:
    """Process a group message of the voice server and send the response; rejoin the group if that fails.

    Returns False if the voice server wants to continue without encryption."""
    transition = 0
    try:
        if op == VoiceOpcode.MLS_EXTERNAL_SENDER:
            encryption.take_sender(data)
        elif op == VoiceOpcode.MLS_PROPOSALS:
            commit = encryption.take_proposals(data, user_ids)
            if commit is not None:
                await voice.say_bytes(VoiceOpcode.MLS_COMMIT_WELCOME, commit)
        elif op in (VoiceOpcode.MLS_ANNOUNCE_COMMIT, VoiceOpcode.MLS_WELCOME):
            transition = int.from_bytes(data[:2], "big")
            (encryption.take_commit if op == VoiceOpcode.MLS_ANNOUNCE_COMMIT else encryption.take_welcome)(data[2:])
            await _send_transition_ready(voice, transition)
        elif op == VoiceOpcode.DAVE_PREPARE_EPOCH:
            if read(data, Transition).epoch == 1:
                await voice.say_bytes(VoiceOpcode.MLS_KEY_PACKAGE, encryption.begin_anew())
        elif op == VoiceOpcode.DAVE_PREPARE_TRANSITION:
            transition_payload = read(data, Transition)
            if transition_payload.protocol_version < DAVE_VERSION:
                return False
            await _send_transition_ready(voice, transition_payload.transition_id)
    except GroupError as error:
        log(f"Could not process a group message, rejoining the group: {error}")
        await voice.say(VoiceOpcode.MLS_INVALID_COMMIT_WELCOME, {"transition_id": transition})
        await voice.say_bytes(VoiceOpcode.MLS_KEY_PACKAGE, encryption.begin_anew())
    return True


async def _send_transition_ready(voice: VoiceSocket, transition: int) -> None:
    if transition:
        await voice.say(VoiceOpcode.DAVE_TRANSITION_READY, {"transition_id": transition})
