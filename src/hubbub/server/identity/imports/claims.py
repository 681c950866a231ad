"""Claims of placeholder accounts: a user proves with a code that an imported account is theirs (decisions/0128)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.identity.imports import placeholder_accounts, ports, store
from hubbub.server.identity.imports.store import PlaceholderRow

PAGE_SIZE: Final = 500


class OpenClaim(NamedTuple):
    """A placeholder account that no user has claimed."""

    user_id: int
    username: str
    code: str


def list_open(tx: Tx, guild_id: int, *, after_id: int = 0) -> Iterator[OpenClaim]:
    """Yield the placeholder accounts of a guild with IDs above `after_id` that no user has claimed; bots cannot be claimed."""
    while rows := store.list_placeholders(tx, guild_id, after_id=after_id, limit=PAGE_SIZE):
        accounts_by_id = users.find_many(tx, [row.user_id for row in rows])
        for row in rows:
            account = accounts_by_id.get(row.user_id)
            if row.claimed_by is None and account is not None and not account.bot:
                yield OpenClaim(row.user_id, row.username, placeholder_accounts.derive_code(tx, row.user_id))
        after_id = rows[-1].user_id


# Claims

REASSIGN_JOB: Final = "imports.reassign"
"""Kind of the job that replaces a claimed placeholder account in messages."""
REASSIGN_BATCH_SIZE: Final = 500
"""Number of messages that are changed in one transaction, small enough not to block other writers for long."""


class Reassignment(msgspec.Struct):
    """Payload of the job that replaces a claimed placeholder account."""

    guild_id: int
    placeholder_id: UserId
    user_id: UserId


def claim(call: Call, code: str) -> PlaceholderRow:
    """Give the caller the membership of the placeholder account that a code belongs to, and schedule the change of its messages.

    Raise a form error if the code is invalid or used."""
    row = placeholder_accounts.find_by_code(call.tx, code)
    account = None if row is None else users.find(call.tx, row.user_id)
    if row is None or account is None or account.bot:
        raise errors.invalid("code", "CLAIM_CODE_INVALID", "The code is not valid. Ask the owner of the guild for it.")
    if row.claimed_by is not None:
        raise errors.invalid("code", "CLAIM_CODE_USED", "The account was claimed already.")
    placeholder_id = UserId(row.user_id)
    store.claim(call.tx, row.user_id, call.user_id, call.now_ms)
    ports.transfer_membership(call, row.guild_id, placeholder_id, call.user_id)
    payload = Reassignment(row.guild_id, placeholder_id, call.user_id)
    call.tx.enqueue(REASSIGN_JOB, payload, key=f"{REASSIGN_JOB}:{int(placeholder_id)}")
    return row


def reassign(call: Call, job: Job) -> None:
    """Replace a claimed account in a batch of messages, and schedule the next batch while there are more."""
    payload = job.decode(Reassignment)
    authored_keys = ports.list_authored_messages(call, payload.placeholder_id, REASSIGN_BATCH_SIZE)
    message_keys = [store.ImportedMessageKey(*key) for key in authored_keys]
    if not message_keys:
        message_keys = store.list_referencing_messages(call.tx, payload.placeholder_id, REASSIGN_BATCH_SIZE)
    if not message_keys:
        return
    ports.reassign_messages(call, payload.guild_id, message_keys, payload.placeholder_id, payload.user_id)
    store.delete_message_references(call.tx, payload.placeholder_id, [key.message_id for key in message_keys])
    call.tx.enqueue(REASSIGN_JOB, payload, key=job.key)
