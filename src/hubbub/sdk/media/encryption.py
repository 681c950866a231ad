"""End-to-end encryption of a call, by davey (voice.md 8 to 10). The network's thread follows the group, the voice thread seals and
opens: one at a time."""

import threading
from collections.abc import Collection
from typing import Final

import davey

from hubbub.protocol.voice import DAVE_VERSION
from hubbub.sdk.media.packets import SILENCE

TRAILER: Final = b"\xfa\xfa"


class GroupError(Exception):
    """What came cannot be followed; we have to be added anew."""


class Encryption:
    """Our place in the group of one call."""

    def __init__(self, user_id: int, group_id: int) -> None:
        self._user_id, self._group_id = user_id, group_id
        self._session = davey.DaveSession(DAVE_VERSION, user_id, group_id)
        self._guard = threading.Lock()

    @property
    def ready(self) -> bool:
        """Whether we are in a group, and can speak and hear."""
        with self._guard:
            return self._session.ready

    @property
    def code(self) -> str:
        """What people compare, to know that nobody sits between them; empty without a group."""
        with self._guard:
            return self._session.voice_privacy_code or ""

    def begin_anew(self) -> bytes:
        """Forget the group; the key package by which we are added to another."""
        with self._guard:
            self._session.reinit(DAVE_VERSION, self._user_id, self._group_id)
            return bytes(self._session.get_serialized_key_package())

    def key_package(self) -> bytes:
        """By which we are added."""
        with self._guard:
            return bytes(self._session.get_serialized_key_package())

    def take_sender(self, data: bytes) -> None:
        """Who may propose."""
        with self._guard:
            try:
                self._session.set_external_sender(data)
            except Exception as error:
                raise GroupError(str(error)) from error

    def take_proposals(self, data: bytes, people: Collection[int]) -> bytes | None:
        """Who is to be added and removed; our commit, where there is something to commit."""
        if not data:
            raise GroupError("empty")
        kind = davey.ProposalsOperationType.append if data[0] == 0 else davey.ProposalsOperationType.revoke
        with self._guard:
            try:
                made = self._session.process_proposals(kind, data[1:], list(people))
            except Exception as error:
                raise GroupError(str(error)) from error
        return None if made is None else bytes(made.commit) + bytes(made.welcome or b"")

    def take_commit(self, data: bytes) -> None:
        """The group went on."""
        with self._guard:
            try:
                self._session.process_commit(data)
            except Exception as error:
                raise GroupError(str(error)) from error

    def take_welcome(self, data: bytes) -> None:
        """We are in the group."""
        with self._guard:
            try:
                self._session.process_welcome(data)
            except Exception as error:
                raise GroupError(str(error)) from error

    def seal(self, frame: bytes) -> bytes | None:
        """A frame that only the group can open; None without a group, since nothing is ever sent plain."""
        with self._guard:
            if not self._session.ready:
                return None
            try:
                return bytes(self._session.encrypt_opus(frame))
            except Exception:
                return None

    def open(self, user_id: int, frame: bytes) -> bytes | None:
        """What somebody said; None where we cannot tell, or where it was not encrypted."""
        if frame == SILENCE:
            return frame
        if not frame.endswith(TRAILER):
            return None
        with self._guard:
            try:
                return bytes(self._session.decrypt(user_id, davey.MediaType.audio, frame))
            except Exception:
                return None
