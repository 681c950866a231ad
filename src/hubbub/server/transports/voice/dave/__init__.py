"""End-to-end encryption of calls (DAVE): the server's part of MLS, which signs, orders and hands on, and cannot read.

One `ExternalSender` per voice node and one `Group` per call, whose id is the channel's (or the lobby's). The gateway tells the
group what happens and sends what it answers, in that order, to each member named in `Sending.to`:

    group = Group(channel_id, sender)
    op4["dave_protocol_version"] = group.version_for(identify.max_dave_protocol_version)
    send(group.joined(user_id, now, version))     # right after op 4, and after op 11 told the others; answers op 25 among others
    send(group.received(user_id, op, data, now))  # op 26 and 28: the bytes behind the opcode; op 23 and 31: the mapping in `d`
    send(group.left(user_id, now))                # when the session is over; not while it may still resume
    send(group.tick(now))                         # at `group.deadline`, which may move with every call above

`now` is in seconds and never goes back. A `Sending` with bytes goes out as a binary message behind its sequence number and
opcode; one with a struct as JSON `d`. Messages to one member must arrive in the order they were given, so those to somebody who is
away go into the buffer of the session.

`group.late` are members whose client owes a key package for five seconds: close them with 4006, unless they are away.
`group.ready(user_id)` says whether somebody's frames are end-to-end encrypted, `group.plain_allowed(now)` whether other frames
than those (and Opus silence) may be forwarded at all. Only `Group(..., mixed=True)` takes clients that speak no DAVE
(`joined(..., version=0)`) and turns the encryption of the call off and on with them; elsewhere such a client is closed with 4017
before it joins. `group.refused` counts what clients sent and was not taken, by reason.
"""

from hubbub.server.transports.voice.dave.group import VERSION, Group
from hubbub.server.transports.voice.dave.keys import ExternalSender
from hubbub.server.transports.voice.dave.messages import (
    ExecuteTransition,
    Op,
    Payload,
    PrepareEpoch,
    PrepareTransition,
    Sending,
)

__all__ = [
    "Group",
    "ExternalSender",
    "Sending",
    "Op",
    "Payload",
    "PrepareTransition",
    "ExecuteTransition",
    "PrepareEpoch",
    "VERSION",
]
