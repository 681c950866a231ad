"""A call without sockets: a group, its clients, and between them lines that keep their order and nothing else."""

import random
from collections import deque
from collections.abc import Iterable
from itertools import permutations

from hubbub.server.transports.voice.dave import DaveGroup, DaveOpcode, ExternalSender, OutgoingMessage, Payload
from tests.server.voice.dave.clients import Client, Davey, Libdave, Message

CHANNEL = 0x0123456789ABCDEF

KINDS = {"davey": (Davey,), "libdave": (Libdave,), "mixed": (Davey, Libdave)}


class Call:
    """Delivers what the group sends and what clients answer, in an order of its own."""

    def __init__(self, kind: str = "davey", *, seed: int | None = None, mixed: bool = False) -> None:
        self.group = DaveGroup(CHANNEL, ExternalSender(), allows_plain_clients=mixed)
        self.now = 1000.0
        self.clients: dict[int, Client] = {}
        self.known: dict[int, set[int]] = {}
        self.down: dict[int, deque[tuple[DaveOpcode, Payload]]] = {}
        self.up: dict[int, deque[Message]] = {}
        self.sent: list[OutgoingMessage] = []
        self.commits = 0
        self._kinds = KINDS[kind]
        self._random = random.Random(seed) if seed is not None else None

    def join(self, *user_ids: int) -> None:
        """Lets people in, who begin at once."""
        for user_id in user_ids:
            client = self._kinds[user_id % len(self._kinds)](user_id, CHANNEL)
            self.clients[user_id] = client
            self.down[user_id] = deque()
            self.up[user_id] = deque(client.begin())
            self.known[user_id] = set(self.clients)
            for known in self.known.values():
                known.add(user_id)
            self.send(self.group.joined(user_id, self.now))

    def leave(self, user_id: int) -> Client:
        """Somebody hangs up; what was on the way to or from them is lost."""
        client = self.clients.pop(user_id)
        del self.down[user_id], self.up[user_id], self.known[user_id]
        self.send(self.group.left(user_id, self.now))
        return client

    def send(self, sendings: Iterable[OutgoingMessage]) -> None:
        """Puts what the group says on the lines."""
        for sending in sendings:
            assert sending.to
            self.sent.append(sending)
            for user_id in sending.to:
                self.down[user_id].append((sending.op, sending.payload))

    def receive(self, user_id: int, op: int, payload: bytes | dict[str, int]) -> list[OutgoingMessage]:
        """Hands something to the group as if this user had sent it."""
        self.commits += op == DaveOpcode.COMMIT_WELCOME
        sendings = self.group.received(user_id, op, payload, self.now)
        self.send(sendings)
        return sendings

    def step(self) -> bool:
        """Delivers one message, to the group or to a client; False when there is none."""
        lines: list[deque[tuple[DaveOpcode, Payload]] | deque[Message]] = [
            line for lines in (self.up, self.down) for line in lines.values() if line
        ]
        if not lines:
            return False
        line = self._random.choice(lines) if self._random else lines[0]
        for user_id in self.clients:
            if self.up[user_id] is line:
                self.receive(user_id, *self.up[user_id].popleft())
                break
            if self.down[user_id] is line:
                op, payload = self.down[user_id].popleft()
                self.up[user_id].extend(self.clients[user_id].handle(op, payload, self.known[user_id]))
                break
        return True

    def until(self, op: DaveOpcode, *, by: int | None = None) -> tuple[int, bytes]:
        """Goes on until a client's next message has this opcode, and takes it off the line."""
        for _ in range(1_000):
            for user_id, line in self.up.items():
                if line and line[0][0] == op and by in (None, user_id):
                    payload = line.popleft()[1]
                    assert isinstance(payload, bytes)
                    return user_id, payload
            assert self.step()
        raise AssertionError("it never came")

    def settle(self) -> None:
        """Until nothing is on the way any more."""
        for _ in range(20_000):
            if not self.step():
                return
        raise AssertionError("this goes on forever")

    def wait(self, seconds: float) -> None:
        """Lets time pass, with every deadline in between kept, and everything delivered."""
        self.settle()
        end = self.now + seconds
        while self.group.deadline is not None and self.group.deadline <= end:
            self.now = max(self.now, self.group.deadline)
            self.send(self.group.tick(self.now))
            self.settle()
        self.now = end

    def require_all_hear_all(self) -> None:
        """Every frame of everybody is opened by everybody else, and the server knows that all are ready."""
        for user_id in self.clients:
            assert self.group.is_encrypted(user_id), user_id
        for sender, receiver in permutations(self.clients, 2):
            require_heard(self.clients[sender], self.clients[receiver])

    def require_all_hear_all_or_one(self) -> None:
        """The same for a call in which nobody may be left to hear."""
        if len(self.clients) > 1:
            self.require_all_hear_all()

    @property
    def trouble(self) -> bool:
        """Whether somebody could not follow. Of some 350 commits libdave fails at one, so that nothing may be counted then."""
        return any(client.invalid for client in self.clients.values())

    def ops(self, user_id: int) -> list[DaveOpcode]:
        """What this user was sent, in order."""
        return [sending.op for sending in self.sent if user_id in sending.to]


def require_heard(sender: Client, receiver: Client) -> None:
    """One frame, there and opened."""
    frame = b"a frame of %d, twenty milliseconds long" % sender.user_id
    sealed = sender.seal(frame)
    assert sealed.endswith(b"\xfa\xfa")
    assert frame not in sealed
    assert receiver.open(sender.user_id, sealed) == frame
