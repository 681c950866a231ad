"""Processing of the MLS group messages of a call (spec/voice.md#10)."""

from collections.abc import Callable, Collection
from typing import Final

from hubbub.protocol.voice import DAVE_VERSION, PrepareEpoch, PrepareTransition, VoiceOpcode
from hubbub.sdk.media.encryption import CallEncryption, GroupError
from hubbub.sdk.media.voice_socket import VoiceSocket, decode_voice_payload
from hubbub.sdk.tolerant_models import value_or

NEW_GROUP_EPOCH: Final = 1
"""Epoch of a new group, which the client must join with a new key package."""


async def process_group_message(
    voice: VoiceSocket,
    encryption: CallEncryption,
    op: int,
    payload: bytes,
    user_ids: Collection[int],
    log: Callable[[str], None],
) -> bool:
    """Process a group message of the voice server and send the response; rejoin the group if that fails.

    `op` and `payload` belong to the message. `user_ids` are those of the users in the call, who may be added to the
    group. Return False if the voice server announces to continue without end-to-end encryption."""
    transition_id = 0
    try:
        if op == VoiceOpcode.MLS_EXTERNAL_SENDER:
            encryption.set_external_sender(payload)
        elif op == VoiceOpcode.MLS_PROPOSALS:
            commit = encryption.process_proposals(payload, user_ids)
            if commit is not None:
                await voice.send_bytes(VoiceOpcode.MLS_COMMIT_WELCOME, commit)
        elif op in (VoiceOpcode.MLS_ANNOUNCE_COMMIT, VoiceOpcode.MLS_WELCOME):
            transition_id = int.from_bytes(payload[:2], "big")
            (encryption.process_commit if op == VoiceOpcode.MLS_ANNOUNCE_COMMIT else encryption.process_welcome)(
                payload[2:]
            )
            await _send_transition_ready(voice, transition_id)
        elif op == VoiceOpcode.DAVE_PREPARE_EPOCH:
            if decode_voice_payload(payload, PrepareEpoch).epoch == NEW_GROUP_EPOCH:
                await voice.send_bytes(VoiceOpcode.MLS_KEY_PACKAGE, encryption.reset())
        elif op == VoiceOpcode.DAVE_PREPARE_TRANSITION:
            transition = decode_voice_payload(payload, PrepareTransition)
            if value_or(transition.protocol_version, DAVE_VERSION) < DAVE_VERSION:
                return False
            await _send_transition_ready(voice, value_or(transition.transition_id, 0))
    except GroupError as error:
        log(f"Could not process a group message, rejoining the group: {error}")
        await voice.send(VoiceOpcode.MLS_INVALID_COMMIT_WELCOME, {"transition_id": transition_id})
        await voice.send_bytes(VoiceOpcode.MLS_KEY_PACKAGE, encryption.reset())
    return True


async def _send_transition_ready(voice: VoiceSocket, transition_id: int) -> None:
    """Report that the client is ready for a transition; the transition 0 needs no report."""
    if transition_id:
        await voice.send(VoiceOpcode.DAVE_TRANSITION_READY, {"transition_id": transition_id})
