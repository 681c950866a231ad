"""Messages with which a gateway node copies its sessions to a backup node (decisions/0172)."""

from typing import Final, Literal

import msgspec

PART_BYTES_MAX: Final = 256 * 1024
"""Maximum size in bytes of the part of a batch in one request; NATS limits messages to 1 MiB by default."""


class ReplicatedEvent(msgspec.Struct, array_like=True):
    """An event that was sent to at least one copied session."""

    event: str
    body: bytes
    """The payload as encoded JSON."""
    age_seconds: float
    has_numeric_permissions: bool
    """Whether the body is for sessions of API versions 6 and 7."""


class NewReplica(msgspec.Struct, array_like=True):
    """A session whose copy begins with this batch."""

    replica_id: int
    session_id: str
    description: bytes
    """The encoded `SessionDescription`."""
    seq: int
    """The sequence number before the first copied event."""


class ReplicaUpdate(msgspec.Struct, array_like=True):
    """The changes of a copied session since its previous update."""

    replica_id: int
    acknowledged_seq: int
    events: list[int]
    """Indexes in `ReplicationBatch.events` of the events that were sent to the session, in order."""
    guild_ids: list[int] | None = None
    """IDs of all guilds of the session; None if they did not change."""
    known_channels: bytes = b""
    """The encoded channels that the client knows, by ID of each guild in which they changed; empty for no change."""


class ReplicationBatch(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The changes of all copied sessions of a node since the previous batch."""

    received_numbers: dict[int, int] = {}
    """Number of the last message that the node handled, by publisher; only those that changed."""
    events: list[ReplicatedEvent] = []
    new_replicas: list[NewReplica] = []
    updates: list[ReplicaUpdate] = []
    held_ids: list[int] = []
    """Replicas that this batch leaves out: the node has not sent all handled events to their sessions yet."""
    released_ids: list[int] = []
    """Replicas that earlier batches left out and this one includes."""
    ended_ids: list[int] = []


class ReplicaInterest(msgspec.Struct, array_like=True):
    """The user and the guilds of a session, whose events the backup node must buffer."""

    replica_id: int
    user_id: int
    guild_ids: list[int]


class ReplicationRequest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A request between a node and its backup node."""

    action: Literal["begin", "prepare", "batch", "end", "ping"]
    """`begin`: discard the copies of the node. `prepare`: buffer events for sessions that will be copied. `batch`: apply
    the batch in `data`. `end`: discard the copies, because the node stops. `ping`: reply, because the node runs."""
    node: str
    """The node that sent the request."""
    epoch: str = ""
    """Random name of the copies, which begin with `begin`."""
    interests: list[ReplicaInterest] = []
    """The sessions of `prepare`."""
    data: bytes = b""
    """A part of an encoded `ReplicationBatch`."""
    is_last_part: bool = True


class ReplicationReply(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The reply to a request."""

    status: Literal["ok", "unknown", "activated"]
    """`unknown`: the backup node has no copies with this epoch. `activated`: it continues the sessions `session_ids`."""
    session_ids: list[str] = []


encode: Final = msgspec.msgpack.Encoder().encode
decode_request: Final = msgspec.msgpack.Decoder(ReplicationRequest).decode
decode_reply: Final = msgspec.msgpack.Decoder(ReplicationReply).decode
decode_batch: Final = msgspec.msgpack.Decoder(ReplicationBatch).decode


def subject(node: str) -> str:
    """Return the bus subject on which a node replies to these requests."""
    return f"replication.{node}"
