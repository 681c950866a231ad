"""A simulated DAVE call without sockets: a group, its clients, and a message queue in each direction."""

import random
from collections import deque
from collections.abc import Callable, Iterable
from itertools import permutations

from hubbub.server.transports.voice.dave import DaveGroup, DaveOpcode, ExternalSender, OutgoingMessage, Payload
from tests.server.voice.dave.clients import Client, Davey, Libdave, Message

CHANNEL = 0x0123456789ABCDEF

IMPLEMENTATIONS: dict[str, tuple[Callable[[int, int], Client], ...]] = {
    "davey": (Davey,),
    "libdave": (Libdave,),
    "mixed": (Davey, Libdave),
}


class SimulatedCall:
    """A call that delivers messages in a chosen or random order; each queue keeps its own order."""

    def __init__(self, kind: str = "davey", *, seed: int | None = None, mixed: bool = False) -> None:
        self.group = DaveGroup(CHANNEL, ExternalSender(), allows_plain_clients=mixed)
        self.now = 1000.0
        self.clients: dict[int, Client] = {}
        self.known: dict[int, set[int]] = {}
        self.to_client: dict[int, deque[tuple[DaveOpcode, Payload]]] = {}
        self.to_group: dict[int, deque[Message]] = {}
        self.sent: list[OutgoingMessage] = []
        self.commits = 0
        self._kinds = IMPLEMENTATIONS[kind]
        self._random = random.Random(seed) if seed is not None else None

    def join(self, *user_ids: int) -> None:
        """Add users, whose clients send their key packages immediately."""
        for user_id in user_ids:
            client = self._kinds[user_id % len(self._kinds)](user_id, CHANNEL)
            self.clients[user_id] = client
            self.to_client[user_id] = deque()
            self.to_group[user_id] = deque(client.begin())
            self.known[user_id] = set(self.clients)
            for known in self.known.values():
                known.add(user_id)
            self.send(self.group.joined(user_id, self.now))

    def leave(self, user_id: int) -> Client:
        """Remove a user; undelivered messages to and from them are lost."""
        client = self.clients.pop(user_id)
        del self.to_client[user_id], self.to_group[user_id], self.known[user_id]
        self.send(self.group.left(user_id, self.now))
        return client

    def send(self, sendings: Iterable[OutgoingMessage]) -> None:
        """Queue messages of the group."""
        for sending in sendings:
            assert sending.to
            self.sent.append(sending)
            for user_id in sending.to:
                self.to_client[user_id].append((sending.op, sending.payload))

    def receive(self, user_id: int, op: int, payload: bytes | dict[str, int]) -> list[OutgoingMessage]:
        """Pass a message to the group as if this user had sent it."""
        self.commits += op == DaveOpcode.COMMIT_WELCOME
        sendings = self.group.received(user_id, op, payload, self.now)
        self.send(sendings)
        return sendings

    def step(self) -> bool:
        """Deliver one message to the group or to a client; return False if there is none."""
        queues: list[deque[tuple[DaveOpcode, Payload]] | deque[Message]] = [
            queue for queues in (self.to_group, self.to_client) for queue in queues.values() if queue
        ]
        if not queues:
            return False
        queue = self._random.choice(queues) if self._random else queues[0]
        for user_id in self.clients:
            if self.to_group[user_id] is queue:
                self.receive(user_id, *self.to_group[user_id].popleft())
                break
            if self.to_client[user_id] is queue:
                op, payload = self.to_client[user_id].popleft()
                self.to_group[user_id].extend(self.clients[user_id].handle(op, payload, self.known[user_id]))
                break
        return True

    def until(self, op: DaveOpcode, *, by: int | None = None) -> tuple[int, bytes]:
        """Deliver messages until a client's next message has this opcode; remove and return it."""
        for _ in range(1_000):
            for user_id, queue in self.to_group.items():
                if queue and queue[0][0] == op and by in (None, user_id):
                    payload = queue.popleft()[1]
                    assert isinstance(payload, bytes)
                    return user_id, payload
            assert self.step()
        raise AssertionError(f"no client sent opcode {op}")

    def settle(self) -> None:
        """Deliver all messages."""
        for _ in range(20_000):
            if not self.step():
                return
        raise AssertionError("the call does not settle")

    def wait(self, seconds: float) -> None:
        """Advance the time, run every deadline in between, and deliver all messages."""
        self.settle()
        end = self.now + seconds
        while self.group.deadline is not None and self.group.deadline <= end:
            self.now = max(self.now, self.group.deadline)
            self.send(self.group.tick(self.now))
            self.settle()
        self.now = end

    def require_all_decrypt(self) -> None:
        """Assert that all clients are ready and decrypt each other's frames."""
        for user_id in self.clients:
            assert self.group.is_encrypted(user_id), user_id
        for sender, receiver in permutations(self.clients, 2):
            require_decrypts(self.clients[sender], self.clients[receiver])

    def require_remaining_decrypt(self) -> None:
        """Require that all clients decrypt each other, if more than one client is left."""
        if len(self.clients) > 1:
            self.require_all_decrypt()

    @property
    def has_failures(self) -> bool:
        """Whether a client rejected a commit.

        libdave fails at one of about 350 valid commits; tests then skip exact counts."""
        return any(client.invalid for client in self.clients.values())

    def ops(self, user_id: int) -> list[DaveOpcode]:
        """Return the opcodes sent to a user, in order."""
        return [sending.op for sending in self.sent if user_id in sending.to]


def require_decrypts(sender: Client, receiver: Client) -> None:
    """Assert that a frame of `sender` is encrypted and that `receiver` decrypts it."""
    frame = b"a frame of %d, twenty milliseconds long" % sender.user_id
    sealed = sender.seal(frame)
    assert sealed.endswith(b"\xfa\xfa")
    assert frame not in sealed
    assert receiver.open(sender.user_id, sealed) == frame
