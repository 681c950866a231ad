"""A simulated DAVE call without sockets: a group, its clients, and a message queue in each direction."""

import random
from collections import deque
from collections.abc import Callable, Iterable
from itertools import permutations

from hubbub.server.transports.voice.dave import DaveGroup, DaveOpcode, ExternalSender, OutgoingMessage, Payload
from tests.server.voice.dave.clients import Client, ClientMessage, DaveyClient, LibdaveClient

CHANNEL_ID = 0x0123456789ABCDEF

CLIENT_TYPES: dict[str, tuple[Callable[[int, int], Client], ...]] = {
    "davey": (DaveyClient,),
    "libdave": (LibdaveClient,),
    "mixed": (DaveyClient, LibdaveClient),
}


class SimulatedCall:
    """A call that delivers one message at a time, of a random queue if it has a seed; each queue keeps its own order."""

    def __init__(
        self, implementation: str = "davey", *, seed: int | None = None, allows_plain_clients: bool = False
    ) -> None:
        self.group = DaveGroup(CHANNEL_ID, ExternalSender(), allows_plain_clients=allows_plain_clients)
        self.now = 1000.0
        self.clients: dict[int, Client] = {}
        self.known_user_ids: dict[int, set[int]] = {}
        """IDs of the users that each client was informed of, by the client's user ID."""
        self.to_client: dict[int, deque[tuple[DaveOpcode, Payload]]] = {}
        """Undelivered messages of the group by the recipient's user ID."""
        self.to_group: dict[int, deque[ClientMessage]] = {}
        """Undelivered messages of the clients by the sender's user ID."""
        self.sent_messages: list[OutgoingMessage] = []
        self.commit_count = 0
        self._client_types = CLIENT_TYPES[implementation]
        self._rng = random.Random(seed) if seed is not None else None

    def join(self, *user_ids: int) -> None:
        """Add users, whose clients send their key packages immediately."""
        for user_id in user_ids:
            client = self._client_types[user_id % len(self._client_types)](user_id, CHANNEL_ID)
            self.clients[user_id] = client
            self.to_client[user_id] = deque()
            self.to_group[user_id] = deque(client.key_package_messages())
            self.known_user_ids[user_id] = set(self.clients)
            for user_ids_of_client in self.known_user_ids.values():
                user_ids_of_client.add(user_id)
            self.queue_messages(self.group.add_participant(user_id, self.now))

    def leave(self, user_id: int) -> Client:
        """Remove a user; undelivered messages to and from them are lost."""
        client = self.clients.pop(user_id)
        del self.to_client[user_id], self.to_group[user_id], self.known_user_ids[user_id]
        self.queue_messages(self.group.remove_participant(user_id, self.now))
        return client

    def queue_messages(self, messages: Iterable[OutgoingMessage]) -> None:
        """Queue messages of the group."""
        for message in messages:
            assert message.to
            self.sent_messages.append(message)
            for user_id in message.to:
                self.to_client[user_id].append((message.op, message.payload))

    def receive_from(self, user_id: int, opcode: int, payload: bytes | dict[str, int]) -> list[OutgoingMessage]:
        """Pass a message to the group as if this user had sent it."""
        self.commit_count += opcode == DaveOpcode.COMMIT_WELCOME
        messages = self.group.handle_message(user_id, opcode, payload, self.now)
        self.queue_messages(messages)
        return messages

    def deliver_one(self) -> bool:
        """Deliver one message to the group or to a client; return False if there is none."""
        queues: list[deque[tuple[DaveOpcode, Payload]] | deque[ClientMessage]] = [
            queue for queues in (self.to_group, self.to_client) for queue in queues.values() if queue
        ]
        if not queues:
            return False
        queue = self._rng.choice(queues) if self._rng else queues[0]
        for user_id in self.clients:
            if self.to_group[user_id] is queue:
                self.receive_from(user_id, *self.to_group[user_id].popleft())
                break
            if self.to_client[user_id] is queue:
                op, payload = self.to_client[user_id].popleft()
                self.to_group[user_id].extend(
                    self.clients[user_id].handle_message(op, payload, self.known_user_ids[user_id])
                )
                break
        return True

    def deliver_until(self, opcode: DaveOpcode, *, sender_id: int | None = None) -> tuple[int, bytes]:
        """Deliver messages until a client's next message has this opcode; remove and return it."""
        for _ in range(1_000):
            for user_id, queue in self.to_group.items():
                if queue and queue[0][0] == opcode and sender_id in (None, user_id):
                    payload = queue.popleft()[1]
                    assert isinstance(payload, bytes)
                    return user_id, payload
            assert self.deliver_one()
        raise AssertionError(f"no client sent opcode {opcode}")

    def deliver_all(self) -> None:
        """Deliver all messages."""
        for _ in range(20_000):
            if not self.deliver_one():
                return
        raise AssertionError("the call did not become idle after 20,000 messages")

    def advance_time(self, seconds: float) -> None:
        """Advance the time, run every deadline in between, and deliver all messages."""
        self.deliver_all()
        end = self.now + seconds
        while self.group.deadline is not None and self.group.deadline <= end:
            self.now = max(self.now, self.group.deadline)
            self.queue_messages(self.group.tick(self.now))
            self.deliver_all()
        self.now = end

    def assert_all_decrypt(self) -> None:
        """Assert that all clients are ready and decrypt each other's frames."""
        for user_id in self.clients:
            assert self.group.is_encrypted(user_id), user_id
        for sender, receiver in permutations(self.clients, 2):
            assert_decrypts(self.clients[sender], self.clients[receiver])

    def assert_remaining_decrypt(self) -> None:
        """Assert that all clients decrypt each other's frames, if more than one client is left."""
        if len(self.clients) > 1:
            self.assert_all_decrypt()

    @property
    def has_rejected_commits(self) -> bool:
        """Whether a client rejected a commit or a welcome.

        libdave fails at one of about 350 valid commits; tests then skip exact counts."""
        return any(client.rejected_count for client in self.clients.values())

    def opcodes_sent_to(self, user_id: int) -> list[DaveOpcode]:
        """Return the opcodes sent to a user, in order."""
        return [message.op for message in self.sent_messages if user_id in message.to]


def assert_decrypts(sender: Client, receiver: Client) -> None:
    """Assert that a frame of `sender` is encrypted and that `receiver` decrypts it."""
    frame = b"a frame of %d, twenty milliseconds long" % sender.user_id
    encrypted_frame = sender.encrypt(frame)
    assert encrypted_frame.endswith(b"\xfa\xfa")
    assert frame not in encrypted_frame
    assert receiver.decrypt(sender.user_id, encrypted_frame) == frame
