"""End-to-end encryption of a call with davey (spec/voice.md#8 to 10).

The network thread processes the MLS messages of the group; the voice thread encrypts and decrypts frames. A lock
serializes them.
"""

import threading
from collections.abc import Collection
from typing import Final

import davey

from hubbub.media.rtp import E2EE_TRAILER, SILENCE_FRAME
from hubbub.protocol.voice import DAVE_VERSION

_APPEND_PROPOSALS: Final = 0
"""First byte of a proposals message that adds proposals; another value revokes proposals."""


class GroupError(Exception):
    """Raised when an MLS message cannot be processed, so that the client must rejoin the group."""


class CallEncryption:
    """The client's membership in the MLS group of one call; `group_id` is the ID of the lobby or voice channel."""

    def __init__(self, user_id: int, group_id: int) -> None:
        self._user_id, self._group_id = user_id, group_id
        self._session = davey.DaveSession(DAVE_VERSION, user_id, group_id)
        self._lock = threading.Lock()
        """Guards the session, which the network thread and the voice thread use."""

    @property
    def ready(self) -> bool:
        """Whether the client is in a group and can encrypt and decrypt."""
        with self._lock:
            return self._session.ready

    @property
    def privacy_code(self) -> str:
        """Voice privacy code, which users compare to detect a man in the middle; empty without a group."""
        with self._lock:
            return self._session.voice_privacy_code or ""

    def reset(self) -> bytes:
        """Leave the group and return a new key package for joining another."""
        with self._lock:
            self._session.reinit(DAVE_VERSION, self._user_id, self._group_id)
            return bytes(self._session.get_serialized_key_package())

    def key_package(self) -> bytes:
        """Return the key package with which the client is added to a group."""
        with self._lock:
            return bytes(self._session.get_serialized_key_package())

    def set_external_sender(self, external_sender: bytes) -> None:
        """Set the external sender, which may send proposals."""
        with self._lock:
            try:
                self._session.set_external_sender(external_sender)
            except Exception as error:
                raise GroupError(str(error)) from error

    def process_proposals(self, proposals: bytes, user_ids: Collection[int]) -> bytes | None:
        """Process proposals to add and remove members; return a commit and welcome, or None if none is needed."""
        if not proposals:
            raise GroupError("Empty proposals message")
        operations = davey.ProposalsOperationType
        operation = operations.append if proposals[0] == _APPEND_PROPOSALS else operations.revoke
        with self._lock:
            try:
                result = self._session.process_proposals(operation, proposals[1:], list(user_ids))
            except Exception as error:
                raise GroupError(str(error)) from error
        return None if result is None else bytes(result.commit) + bytes(result.welcome or b"")

    def process_commit(self, commit: bytes) -> None:
        """Process a commit, which advances the group to its next epoch."""
        with self._lock:
            try:
                self._session.process_commit(commit)
            except Exception as error:
                raise GroupError(str(error)) from error

    def process_welcome(self, welcome: bytes) -> None:
        """Process a welcome, which makes the client a member of the group."""
        with self._lock:
            try:
                self._session.process_welcome(welcome)
            except Exception as error:
                raise GroupError(str(error)) from error

    def seal(self, frame: bytes) -> bytes | None:
        """Encrypt a frame for the group; return None without a group or on failure, so that no frame is sent unencrypted."""
        with self._lock:
            if not self._session.ready:
                return None
            try:
                return bytes(self._session.encrypt_opus(frame))
            except Exception:
                return None

    def open(self, user_id: int, frame: bytes) -> bytes | None:
        """Decrypt a frame of a user; return None if that fails or the frame was not encrypted.

        An unencrypted silence frame is returned unchanged."""
        if frame == SILENCE_FRAME:
            return frame
        if not frame.endswith(E2EE_TRAILER):
            return None
        with self._lock:
            try:
                return bytes(self._session.decrypt(user_id, davey.MediaType.audio, frame))
            except Exception:
                return None
