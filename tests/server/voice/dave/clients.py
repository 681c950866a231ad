"""The two client implementations of DAVE, unmodified, driven as voice libraries drive them."""

from collections.abc import Set
from typing import Protocol

import dave
import davey

from hubbub.server.transports.voice.dave import DaveOpcode, ExecuteTransition, Payload, PrepareEpoch, PrepareTransition

ClientMessage = tuple[int, bytes | dict[str, int]]

SSRC, VIDEO_SSRC = 7, 8
AUDIO, VIDEO = dave.MediaType.audio, dave.MediaType.video


class Client(Protocol):
    """A DAVE client of one member."""

    user_id: int
    rejected_count: int
    """Number of commits and welcomes that the client rejected; it restarts its session after each."""
    executed_transition_ids: list[int]
    """IDs of the executed transitions."""

    def key_package_messages(self) -> list[ClientMessage]:
        """Return the key package to send after SESSION_DESCRIPTION."""
        ...

    def handle_message(self, opcode: DaveOpcode, payload: Payload, known_user_ids: Set[int]) -> list[ClientMessage]:
        """Handle a message of the server and return the responses."""
        ...

    def encrypt(self, frame: bytes) -> bytes: ...

    def decrypt(self, sender_id: int, encrypted: bytes) -> bytes | None:
        """Decrypt a frame of another member; return None on failure."""
        ...

    def encrypt_video(self, codec: str, frame: bytes) -> bytes: ...

    def decrypt_video(self, sender_id: int, encrypted: bytes) -> bytes:
        """Decrypt a video frame of another member."""
        ...


class DaveyClient:
    """davey (openmls), driven as in discord.py 2.7.1.

    An exception while it handles EXTERNAL_SENDER or PROPOSALS ends the reader of discord.py; here it fails the test."""

    def __init__(self, user_id: int, group_id: int) -> None:
        self.user_id = user_id
        self.rejected_count = 0
        self.executed_transition_ids: list[int] = []
        self._group_id = group_id
        self._pending: dict[int, int] = {}
        self.version = 1
        self.session = davey.DaveSession(1, user_id, group_id)

    def key_package_messages(self) -> list[ClientMessage]:
        return [(DaveOpcode.KEY_PACKAGE, self.session.get_serialized_key_package())]

    def _restart(self) -> list[ClientMessage]:
        self.session.reinit(1, self.user_id, self._group_id)
        return self.key_package_messages()

    def handle_message(self, opcode: DaveOpcode, payload: Payload, known_user_ids: Set[int]) -> list[ClientMessage]:
        match payload:
            case PrepareEpoch(protocol_version=version):
                self.version = version
                return self._restart()
            case PrepareTransition(transition_id=transition_id, protocol_version=version):
                self._pending[transition_id] = version
                if transition_id:
                    return [(DaveOpcode.TRANSITION_READY, {"transition_id": transition_id})]
                self._execute(0)
                return []
            case ExecuteTransition(transition_id=transition_id):
                self._execute(transition_id)
                return []
        assert isinstance(payload, bytes)
        if opcode == DaveOpcode.EXTERNAL_SENDER:
            self.session.set_external_sender(payload)
            return []
        if opcode == DaveOpcode.PROPOSALS:
            operation = davey.ProposalsOperationType.append if payload[0] == 0 else davey.ProposalsOperationType.revoke
            commit = self.session.process_proposals(operation, payload[1:], sorted(known_user_ids))
            return [(DaveOpcode.COMMIT_WELCOME, commit.commit + (commit.welcome or b""))] if commit else []
        transition_id = int.from_bytes(payload[:2], "big")
        process = self.session.process_commit if opcode == DaveOpcode.ANNOUNCE_COMMIT else self.session.process_welcome
        try:
            process(payload[2:])
        except Exception:
            self.rejected_count += 1
            return [(DaveOpcode.INVALID_COMMIT_WELCOME, {"transition_id": transition_id}), *self._restart()]
        self._pending[transition_id] = self.version
        return [(DaveOpcode.TRANSITION_READY, {"transition_id": transition_id})]

    def _execute(self, transition_id: int) -> None:
        self.executed_transition_ids.append(transition_id)
        self.version = self._pending.pop(transition_id, self.version)

    def encrypt(self, frame: bytes) -> bytes:
        return self.session.encrypt_opus(frame)

    def decrypt(self, sender_id: int, encrypted: bytes) -> bytes | None:
        try:
            return self.session.decrypt(sender_id, davey.MediaType.audio, encrypted)
        except Exception:
            return None

    def encrypt_video(self, codec: str, frame: bytes) -> bytes:
        return bytes(self.session.encrypt(davey.MediaType.video, getattr(davey.Codec, codec), frame))

    def decrypt_video(self, sender_id: int, encrypted: bytes) -> bytes:
        return bytes(self.session.decrypt(sender_id, davey.MediaType.video, encrypted))


class LibdaveClient:
    """dave.py (libdave, mlspp): changes its own key on a transition, and the keys of others immediately."""

    def __init__(self, user_id: int, group_id: int) -> None:
        self.user_id = user_id
        self.rejected_count = 0
        self.executed_transition_ids: list[int] = []
        self._group_id = group_id
        self.session = dave.Session(lambda _source, _reason: None)
        self.session.init(1, group_id, str(user_id), None)
        self._encryptor = dave.Encryptor()
        self._encryptor.assign_ssrc_to_codec(SSRC, dave.Codec.opus)
        self._decryptors: dict[int, dave.Decryptor] = {}

    def key_package_messages(self) -> list[ClientMessage]:
        package = self.session.get_marshalled_key_package()
        assert package is not None
        return [(DaveOpcode.KEY_PACKAGE, package)]

    def _restart(self) -> list[ClientMessage]:
        self.session.reset()
        self.session.init(1, self._group_id, str(self.user_id), None)
        return self.key_package_messages()

    def handle_message(self, opcode: DaveOpcode, payload: Payload, known_user_ids: Set[int]) -> list[ClientMessage]:
        match payload:
            case PrepareEpoch():
                return self._restart()
            case PrepareTransition(transition_id=transition_id):
                return [(DaveOpcode.TRANSITION_READY, {"transition_id": transition_id})] if transition_id else []
            case ExecuteTransition(transition_id=transition_id):
                self.executed_transition_ids.append(transition_id)
                self._encryptor.set_key_ratchet(self.session.get_key_ratchet(str(self.user_id)))
                return []
        assert isinstance(payload, bytes)
        known_ids = {str(user_id) for user_id in known_user_ids}
        if opcode == DaveOpcode.EXTERNAL_SENDER:
            self.session.set_external_sender(payload)
            return []
        if opcode == DaveOpcode.PROPOSALS:
            commit = self.session.process_proposals(payload, known_ids)
            return [(DaveOpcode.COMMIT_WELCOME, commit)] if commit else []
        transition_id = int.from_bytes(payload[:2], "big")
        if opcode == DaveOpcode.ANNOUNCE_COMMIT:
            result = self.session.process_commit(payload[2:])
            if result == dave.RejectType.ignored:
                return []
        else:
            result = self.session.process_welcome(payload[2:], known_ids)
        if not isinstance(result, dict):
            self.rejected_count += 1
            return [(DaveOpcode.INVALID_COMMIT_WELCOME, {"transition_id": transition_id}), *self._restart()]
        for user_id in known_user_ids - {self.user_id}:
            ratchet = self.session.get_key_ratchet(str(user_id))
            if ratchet is not None:
                self._decryptors.setdefault(user_id, dave.Decryptor()).transition_to_key_ratchet(ratchet)
        return [(DaveOpcode.TRANSITION_READY, {"transition_id": transition_id})]

    def encrypt(self, frame: bytes) -> bytes:
        encrypted_frame = self._encryptor.encrypt(AUDIO, SSRC, frame)
        assert encrypted_frame is not None
        return encrypted_frame

    def decrypt(self, sender_id: int, encrypted: bytes) -> bytes | None:
        decryptor = self._decryptors.get(sender_id)
        return decryptor.decrypt(AUDIO, encrypted) if decryptor is not None else None

    def encrypt_video(self, codec: str, frame: bytes) -> bytes:
        self._encryptor.assign_ssrc_to_codec(VIDEO_SSRC, getattr(dave.Codec, codec))
        encrypted_frame = self._encryptor.encrypt(VIDEO, VIDEO_SSRC, frame)
        assert encrypted_frame is not None
        return encrypted_frame

    def decrypt_video(self, sender_id: int, encrypted: bytes) -> bytes:
        frame = self._decryptors[sender_id].decrypt(VIDEO, encrypted)
        assert frame is not None
        return frame
