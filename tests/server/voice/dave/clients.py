"""The two client implementations of DAVE, unmodified, driven as the libraries around them drive them."""

from collections.abc import Set
from typing import Protocol

import dave
import davey

from hubbub.server.transports.voice.dave import DaveOpcode, ExecuteTransition, Payload, PrepareEpoch, PrepareTransition

Message = tuple[int, bytes | dict[str, int]]

SSRC = 7
AUDIO = dave.MediaType.audio


class Client(Protocol):
    """A member's side of a call."""

    user_id: int
    invalid: int
    """How often it had to begin anew."""
    executed: list[int]
    """The transitions it was told to make."""

    def begin(self) -> list[Message]:
        """After op 4: a key package."""
        ...

    def handle(self, op: DaveOpcode, payload: Payload, known: Set[int]) -> list[Message]:
        """Answers to a message of the server."""
        ...

    def seal(self, frame: bytes) -> bytes:
        """A frame for the others."""
        ...

    def open(self, sender: int, sealed: bytes) -> bytes | None:
        """A frame of somebody else, if it can be opened."""
        ...


class Davey:
    """davey (openmls), as discord.py 2.7.1 drives it: what raises from op 25 or 27 there ends the reader, here the test."""

    def __init__(self, user_id: int, group_id: int) -> None:
        self.user_id = user_id
        self.invalid = 0
        self.executed: list[int] = []
        self._group_id = group_id
        self._pending: dict[int, int] = {}
        self.version = 1
        self.session = davey.DaveSession(1, user_id, group_id)

    def begin(self) -> list[Message]:
        return [(DaveOpcode.KEY_PACKAGE, self.session.get_serialized_key_package())]

    def _anew(self) -> list[Message]:
        self.session.reinit(1, self.user_id, self._group_id)
        return self.begin()

    def handle(self, op: DaveOpcode, payload: Payload, known: Set[int]) -> list[Message]:
        match payload:
            case PrepareEpoch(protocol_version=version):
                self.version = version
                return self._anew()
            case PrepareTransition(transition_id=id, protocol_version=version):
                self._pending[id] = version
                if id:
                    return [(DaveOpcode.TRANSITION_READY, {"transition_id": id})]
                self._execute(0)
                return []
            case ExecuteTransition(transition_id=id):
                self._execute(id)
                return []
        assert isinstance(payload, bytes)
        if op == DaveOpcode.EXTERNAL_SENDER:
            self.session.set_external_sender(payload)
            return []
        if op == DaveOpcode.PROPOSALS:
            kind = davey.ProposalsOperationType.append if payload[0] == 0 else davey.ProposalsOperationType.revoke
            made = self.session.process_proposals(kind, payload[1:], sorted(known))
            return [(DaveOpcode.COMMIT_WELCOME, made.commit + (made.welcome or b""))] if made else []
        id = int.from_bytes(payload[:2], "big")
        process = self.session.process_commit if op == DaveOpcode.ANNOUNCE_COMMIT else self.session.process_welcome
        try:
            process(payload[2:])
        except Exception:
            self.invalid += 1
            return [(DaveOpcode.INVALID_COMMIT_WELCOME, {"transition_id": id}), *self._anew()]
        self._pending[id] = self.version
        return [(DaveOpcode.TRANSITION_READY, {"transition_id": id})]

    def _execute(self, id: int) -> None:
        self.executed.append(id)
        self.version = self._pending.pop(id, self.version)

    def seal(self, frame: bytes) -> bytes:
        return self.session.encrypt_opus(frame)

    def open(self, sender: int, sealed: bytes) -> bytes | None:
        try:
            return self.session.decrypt(sender, davey.MediaType.audio, sealed)
        except Exception:
            return None


class Libdave:
    """dave.py (libdave, mlspp): switches its own key when a transition is made, keeps the keys of others at once."""

    def __init__(self, user_id: int, group_id: int) -> None:
        self.user_id = user_id
        self.invalid = 0
        self.executed: list[int] = []
        self._group_id = group_id
        self.session = dave.Session(lambda _source, _reason: None)
        self.session.init(1, group_id, str(user_id), None)
        self._sealer = dave.Encryptor()
        self._sealer.assign_ssrc_to_codec(SSRC, dave.Codec.opus)
        self._openers: dict[int, dave.Decryptor] = {}

    def begin(self) -> list[Message]:
        package = self.session.get_marshalled_key_package()
        assert package is not None
        return [(DaveOpcode.KEY_PACKAGE, package)]

    def _anew(self) -> list[Message]:
        self.session.reset()
        self.session.init(1, self._group_id, str(self.user_id), None)
        return self.begin()

    def handle(self, op: DaveOpcode, payload: Payload, known: Set[int]) -> list[Message]:
        match payload:
            case PrepareEpoch():
                return self._anew()
            case PrepareTransition(transition_id=id):
                return [(DaveOpcode.TRANSITION_READY, {"transition_id": id})] if id else []
            case ExecuteTransition(transition_id=id):
                self.executed.append(id)
                self._sealer.set_key_ratchet(self.session.get_key_ratchet(str(self.user_id)))
                return []
        assert isinstance(payload, bytes)
        names = {str(user_id) for user_id in known}
        if op == DaveOpcode.EXTERNAL_SENDER:
            self.session.set_external_sender(payload)
            return []
        if op == DaveOpcode.PROPOSALS:
            made = self.session.process_proposals(payload, names)
            return [(DaveOpcode.COMMIT_WELCOME, made)] if made else []
        id = int.from_bytes(payload[:2], "big")
        if op == DaveOpcode.ANNOUNCE_COMMIT:
            result = self.session.process_commit(payload[2:])
            if result == dave.RejectType.ignored:
                return []
        else:
            result = self.session.process_welcome(payload[2:], names)
        if not isinstance(result, dict):
            self.invalid += 1
            return [(DaveOpcode.INVALID_COMMIT_WELCOME, {"transition_id": id}), *self._anew()]
        for user_id in known - {self.user_id}:
            ratchet = self.session.get_key_ratchet(str(user_id))
            if ratchet is not None:
                self._openers.setdefault(user_id, dave.Decryptor()).transition_to_key_ratchet(ratchet)
        return [(DaveOpcode.TRANSITION_READY, {"transition_id": id})]

    def seal(self, frame: bytes) -> bytes:
        sealed = self._sealer.encrypt(AUDIO, SSRC, frame)
        assert sealed is not None
        return sealed

    def open(self, sender: int, sealed: bytes) -> bytes | None:
        opener = self._openers.get(sender)
        return opener.decrypt(AUDIO, sealed) if opener is not None else None
