"""Who reads a message without the message content intent, and which parts of it (gateway.md 5.2)."""

from collections.abc import Iterable, Sequence

from hubbub.protocol.resources import messages as wire
from hubbub.server.core.call import Call
from hubbub.server.resources import applications
from hubbub.server.resources.messages import columns, views
from hubbub.server.resources.messages.records import MessageRow

Partly = Sequence[tuple[frozenset[int], wire.DispatchedMessage]]
"""Who reads some parts of a message only, and what they are told."""


def of(call: Call, row: MessageRow, mentioned: Iterable[int]) -> frozenset[int]:
    """Who reads what a message says itself: its author (the bot whose webhook it is), and whom it mentions."""
    # What an app answers bears its bot's id, which is its own.
    named = row.application_id is None or row.application_id == row.author_id
    owner = None if named else applications.find(call.tx, row.application_id or 0)
    own = () if owner is None or owner.bot_id is None else (owner.bot_id,)
    return frozenset((row.author_id, *own, *mentioned))


def apart(
    call: Call, row: MessageRow, around: views.Around, payload: wire.DispatchedMessage, reading: frozenset[int]
) -> tuple[frozenset[int], Partly]:
    """Which bots read all of a message with others inside it, and what those are told who read some parts of it only."""
    by_part = [reading]
    for part in views.parts(around, row)[1:]:
        if isinstance(part, MessageRow):
            by_part.append(of(call, part, columns.mentions(part)))
        else:
            by_part.append(frozenset((part.author_id, *part.mentions)))
    groups: dict[tuple[bool, ...], set[int]] = {}
    for user_id in frozenset[int]().union(*by_part):
        known = around.users.get(user_id)
        # People read everything, and need no body of their own.
        if known is None or known.bot:
            groups.setdefault(tuple(user_id in each for each in by_part), set()).add(user_id)
    whole = frozenset(groups.pop((True,) * len(by_part), ()))
    return whole, [(frozenset(users), views.veiled(payload, iter(read))) for read, users in groups.items()]
