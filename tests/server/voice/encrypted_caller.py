"""A voice client with end-to-end encryption: it reads its socket continuously and maintains its MLS group."""

import asyncio
from typing import Any

import davey

from hubbub.protocol.voice import VoiceOpcode
from tests.server.voice.caller import Caller

WAIT_TIMEOUT_SECONDS = 60.0
"""Timeout of each wait; a busy machine needs long to create a group with many clients."""


class EncryptedCaller:
    """A voice client that reads its socket continuously, as voice libraries do, and maintains its MLS group."""

    def __init__(self, caller: Caller, channel_id: int) -> None:
        self.caller = caller
        self.channel_id = channel_id
        self.dave_session = davey.DaveSession(1, caller.actor.id, channel_id)
        self.version = 0
        """The DAVE protocol version of the call; 0 without end-to-end encryption."""
        self.executed_transition_ids: list[int] = []
        self.key_packages_sent = 0
        self._frame_handled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def join_and_connect(self, **identify: Any) -> None:
        """Join the call, connect, send a key package if the call is encrypted, and start reading the socket."""
        await self.caller.join_and_connect(self.channel_id, **identify)
        await self.start_encryption()

    async def start_encryption(self) -> None:
        """Send a key package if the call is encrypted, and start reading."""
        self.version = self.caller.session_description["dave_protocol_version"]
        if self.version:
            await self._send_key_package()
        self.start_reading()

    def start_reading(self) -> None:
        """Start a task that reads the socket and handles its frames."""
        self._task = asyncio.create_task(self._read_frames())

    async def stop(self) -> None:
        """Stop reading the socket."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _send_key_package(self) -> None:
        self.key_packages_sent += 1
        await self.caller.socket.send_bytes(
            bytes((VoiceOpcode.MLS_KEY_PACKAGE,)) + self.dave_session.get_serialized_key_package()
        )

    async def _read_frames(self) -> None:
        # Start with the frames that the caller has received but not examined.
        position = self.caller.position
        while True:
            while position < len(self.caller.frames):
                await self._handle_frame(self.caller.frames[position])
                position += 1
                self._frame_handled.set()
            await self.caller.receive_frame()

    async def _handle_frame(self, frame: Any) -> None:
        opcode, data = (frame[1], frame[2]) if isinstance(frame, tuple) else (frame["op"], frame["d"])
        if opcode == VoiceOpcode.MLS_EXTERNAL_SENDER:
            self.dave_session.set_external_sender(data)
        elif opcode == VoiceOpcode.MLS_PROPOSALS:
            kind = davey.ProposalsOperationType.append if data[0] == 0 else davey.ProposalsOperationType.revoke
            result = self.dave_session.process_proposals(kind, data[1:])
            if result is not None:
                message = bytes((VoiceOpcode.MLS_COMMIT_WELCOME,)) + result.commit + (result.welcome or b"")
                await self.caller.socket.send_bytes(message)
        elif opcode in (VoiceOpcode.MLS_ANNOUNCE_COMMIT, VoiceOpcode.MLS_WELCOME):
            transition_id = int.from_bytes(data[:2], "big")
            if opcode == VoiceOpcode.MLS_ANNOUNCE_COMMIT:
                self.dave_session.process_commit(data[2:])
            else:
                self.dave_session.process_welcome(data[2:])
            if transition_id:
                await self.caller.send_json(VoiceOpcode.DAVE_TRANSITION_READY, {"transition_id": transition_id})
        elif opcode == VoiceOpcode.DAVE_PREPARE_TRANSITION:
            if data["transition_id"]:
                await self.caller.send_json(VoiceOpcode.DAVE_TRANSITION_READY, {"transition_id": data["transition_id"]})
            self.version = data["protocol_version"]
        elif opcode == VoiceOpcode.DAVE_EXECUTE_TRANSITION:
            self.executed_transition_ids.append(data["transition_id"])
        elif opcode == VoiceOpcode.DAVE_PREPARE_EPOCH:
            self.version = data["protocol_version"]
            self.dave_session.reinit(1, self.caller.actor.id, self.channel_id)
            await self._send_key_package()

    async def wait_group_members(self, *members: "EncryptedCaller") -> None:
        """Wait until the MLS group has exactly these members."""
        expected = {member.caller.actor.id for member in members}
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not (
                self.dave_session.ready and {int(user) for user in self.dave_session.get_user_ids() or ()} == expected
            ):
                self._frame_handled.clear()
                await self._frame_handled.wait()

    async def wait_until(self, condition: Any) -> None:
        """Wait until a condition holds; it is checked after each frame."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not condition():
                self._frame_handled.clear()
                await self._frame_handled.wait()

    async def assert_decrypts(self, sender: "EncryptedCaller", frame_content: bytes) -> None:
        """Assert that an encrypted frame of another member arrives and can be decrypted."""
        sender.caller.send_frame(bytes(sender.dave_session.encrypt_opus(frame_content)))
        ssrc, frame = await self.caller.receive_media()
        assert ssrc == sender.caller.ready["ssrc"]
        assert frame_content not in frame
        assert bytes(self.dave_session.decrypt(sender.caller.actor.id, davey.MediaType.audio, frame)) == frame_content
