"""End-to-end encryption of calls (DAVE): the server's part of MLS, which signs, orders and relays, but cannot decrypt.

There is one `ExternalSender` per voice node and one `DaveGroup` per call, whose ID is that of the channel or lobby. The
voice server reports events to the group and sends the returned messages, in order, to each member in `OutgoingMessage.to`:

    group = DaveGroup(channel_id, sender)
    session_description["dave_protocol_version"] = group.version_for(identify.max_dave_protocol_version)
    # Right after SESSION_DESCRIPTION, and after CLIENTS_CONNECT to the others; returns EXTERNAL_SENDER, among others.
    send(group.add_participant(user_id, now, version))
    # KEY_PACKAGE and COMMIT_WELCOME: the bytes after the opcode; TRANSITION_READY and INVALID_COMMIT_WELCOME: the
    # mapping in `d`.
    send(group.handle_message(user_id, op, data, now))
    # When the session has ended; not while it can be resumed.
    send(group.remove_participant(user_id, now))
    # At `group.deadline`, which may change with every call above.
    send(group.tick(now))

`now` is in seconds and must not decrease. An `OutgoingMessage` with bytes is sent as a binary message after its sequence number
and opcode, one with a struct as JSON `d`. Messages to a member must arrive in the given order, so messages to a
disconnected member are put into the replay buffer of its session.

`group.overdue` are members whose key package has been missing for five seconds: close them with
SESSION_NO_LONGER_VALID (4006), unless they are disconnected. `group.is_encrypted(user_id)` returns whether a member's
frames are end-to-end encrypted, and `group.allows_unencrypted(now)` whether frames that are neither encrypted nor Opus
silence may be forwarded. Only `DaveGroup(..., allows_plain_clients=True)` accepts clients without DAVE
(`add_participant(..., version=0)`) and disables the encryption of the call while they are in it; otherwise such a client is
closed with E2EE_REQUIRED (4017) before it joins. `group.rejections` counts rejected messages of clients by reason.
"""

from hubbub.protocol.voice import ExecuteTransition, PrepareEpoch, PrepareTransition
from hubbub.server.transports.voice.dave.group import DaveGroup
from hubbub.server.transports.voice.dave.keys import ExternalSender
from hubbub.server.transports.voice.dave.messages import (
    DaveOpcode,
    OutgoingMessage,
    Payload,
)

__all__ = [
    "DaveGroup",
    "ExternalSender",
    "OutgoingMessage",
    "DaveOpcode",
    "Payload",
    "PrepareTransition",
    "ExecuteTransition",
    "PrepareEpoch",
]
