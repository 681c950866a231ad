"""The two client implementations of DAVE, unmodified, driven as voice libraries drive them."""

from collections.abc import Set
from typing import Protocol

import dave
import davey

from hubbub.server.transports.voice.dave import DaveOpcode, ExecuteTransition, Payload, PrepareEpoch, PrepareTransition

Message = tuple[int, bytes | dict[str, int]]

SSRC = 7
AUDIO = dave.MediaType.audio


class Client(Protocol):
    """A DAVE client of one member."""

    user_id: int
    invalid: int
    """Number of commits and welcomes that the client rejected; it restarts its session after each."""
    executed: list[int]
    """Ids of the executed transitions."""

    def begin(self) -> list[Message]:
        """Return the key package to send after op 4."""
        ...

    def handle(self, op: DaveOpcode, payload: Payload, known: Set[int]) -> list[Message]:
        """Handle a message of the server and return the responses."""
        ...

    def seal(self, frame: bytes) -> bytes:
        """Encrypt a frame."""
        ...

    def open(self, sender: int, sealed: bytes) -> bytes | None:
        """Decrypt a frame of another member; return None on failure."""
        ...


class Davey:
    """davey (openmls), driven as in discord.py 2.7.1.

    An exception from op 25 or 27 ends the reader there, and fails the test here."""

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

    def _restart(self) -> list[Message]:
        self.session.reinit(1, self.user_id, self._group_id)
        return self.begin()

    def handle(self, op: DaveOpcode, payload: Payload, known: Set[int]) -> list[Message]:
        match payload:
            case PrepareEpoch(protocol_version=version):
                self.version = version
                return self._restart()
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
            commit = self.session.process_proposals(kind, payload[1:], sorted(known))
            return [(DaveOpcode.COMMIT_WELCOME, commit.commit + (commit.welcome or b""))] if commit else []
        id = int.from_bytes(payload[:2], "big")
        process = self.session.process_commit if op == DaveOpcode.ANNOUNCE_COMMIT else self.session.process_welcome
        try:
            process(payload[2:])
        except Exception:
            self.invalid += 1
            return [(DaveOpcode.INVALID_COMMIT_WELCOME, {"transition_id": id}), *self._restart()]
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
    """dave.py (libdave, mlspp): changes its own key on a transition, and the keys of others immediately."""

    def __init__(self, user_id: int, group_id: int) -> None:
        self.user_id = user_id
        self.invalid = 0
        self.executed: list[int] = []
        self._group_id = group_id
        self.session = dave.Session(lambda _source, _reason: None)
        self.session.init(1, group_id, str(user_id), None)
        self._encryptor = dave.Encryptor()
        self._encryptor.assign_ssrc_to_codec(SSRC, dave.Codec.opus)
        self._decryptors: dict[int, dave.Decryptor] = {}

    def begin(self) -> list[Message]:
        package = self.session.get_marshalled_key_package()
        assert package is not None
        return [(DaveOpcode.KEY_PACKAGE, package)]

    def _restart(self) -> list[Message]:
        self.session.reset()
        self.session.init(1, self._group_id, str(self.user_id), None)
        return self.begin()

    def handle(self, op: DaveOpcode, payload: Payload, known: Set[int]) -> list[Message]:
        match payload:
            case PrepareEpoch():
                return self._restart()
            case PrepareTransition(transition_id=id):
                return [(DaveOpcode.TRANSITION_READY, {"transition_id": id})] if id else []
            case ExecuteTransition(transition_id=id):
                self.executed.append(id)
                self._encryptor.set_key_ratchet(self.session.get_key_ratchet(str(self.user_id)))
                return []
        assert isinstance(payload, bytes)
        names = {str(user_id) for user_id in known}
        if op == DaveOpcode.EXTERNAL_SENDER:
            self.session.set_external_sender(payload)
            return []
        if op == DaveOpcode.PROPOSALS:
            commit = self.session.process_proposals(payload, names)
            return [(DaveOpcode.COMMIT_WELCOME, commit)] if commit else []
        id = int.from_bytes(payload[:2], "big")
        if op == DaveOpcode.ANNOUNCE_COMMIT:
            result = self.session.process_commit(payload[2:])
            if result == dave.RejectType.ignored:
                return []
        else:
            result = self.session.process_welcome(payload[2:], names)
        if not isinstance(result, dict):
            self.invalid += 1
            return [(DaveOpcode.INVALID_COMMIT_WELCOME, {"transition_id": id}), *self._restart()]
        for user_id in known - {self.user_id}:
            ratchet = self.session.get_key_ratchet(str(user_id))
            if ratchet is not None:
                self._decryptors.setdefault(user_id, dave.Decryptor()).transition_to_key_ratchet(ratchet)
        return [(DaveOpcode.TRANSITION_READY, {"transition_id": id})]

    def seal(self, frame: bytes) -> bytes:
        sealed = self._encryptor.encrypt(AUDIO, SSRC, frame)
        assert sealed is not None
        return sealed

    def open(self, sender: int, sealed: bytes) -> bytes | None:
        decryptor = self._decryptors.get(sender)
        return decryptor.decrypt(AUDIO, sealed) if decryptor is not None else None
