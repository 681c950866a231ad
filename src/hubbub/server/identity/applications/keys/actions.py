"""Prepare, switch and delete signing keys of applications."""

import secrets
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import application_keys as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.core.jobs import Job
from hubbub.server.identity.applications import store as applications_store
from hubbub.server.identity.applications.keys import store
from hubbub.server.identity.applications.keys.store import OtherKeyRow
from hubbub.server.identity.applications.store import ApplicationRow

KEY_JOB: Final = "applications.key"
"""Kind of the job that switches to the next key at the chosen time, and deletes the previous key at the end of the overlap."""
OVERLAP_MS: Final = wire.KEY_OVERLAP_DAYS * DAY_MS


def create_next_key(call: Call, row: ApplicationRow) -> None:
    """Create the next signing key of an application. It is not used before a switch.

    Raise a form error while a rollover is in progress."""
    if store.find(call.tx, row.id) is not None:
        message = "A roll-over is in progress. Finish it first."
        raise errors.invalid("application_id", "KEY_ROLLOVER_IN_PROGRESS", message)
    key = Ed25519PrivateKey.from_private_bytes(secrets.token_bytes(32))
    store.save(
        call.tx,
        OtherKeyRow(row.id, 1, key.private_bytes_raw(), key.public_key().public_bytes_raw().hex()),
    )


def schedule_switch(call: Call, row: ApplicationRow, switch_ms: int | None) -> None:
    """Switch to the next key at `switch_ms` (Unix milliseconds), or immediately if `switch_ms` is None.

    Raise NOT_FOUND if no key is prepared, and a form error if the time is not within the overlap period."""
    other_key = _require_other_key(call, row, is_next=True)
    if switch_ms is not None and not call.now_ms < switch_ms <= call.now_ms + OVERLAP_MS:
        message = f"Choose a time within the next {wire.KEY_OVERLAP_DAYS} days."
        raise errors.invalid("switch_at", "KEY_SWITCH_TIME_INVALID", message)
    jobs.cancel_jobs(call.tx, KEY_JOB, _job_key(row.id))
    if switch_ms is None:
        _switch_to_next_key(call, row, other_key)
        return
    store.save(call.tx, other_key._replace(switch_ms=switch_ms))
    call.tx.enqueue(KEY_JOB, int(row.id), due_ms=switch_ms, key=_job_key(row.id))


def switch_back(call: Call, row: ApplicationRow) -> None:
    """Use the previous key again; the key in use becomes the next key."""
    other_key = _require_other_key(call, row, is_next=False)
    jobs.cancel_jobs(call.tx, KEY_JOB, _job_key(row.id))
    _set_key(call, row, other_key, OtherKeyRow(row.id, 1, _current_key(call, row), row.verify_key))


def finish_rollover(call: Call, row: ApplicationRow) -> None:
    """Delete the next or previous key, or raise NOT_FOUND if there is none. The key in use does not change."""
    jobs.cancel_jobs(call.tx, KEY_JOB, _job_key(row.id))
    if not store.delete(call.tx, row.id):
        raise errors.NOT_FOUND()


def continue_rollover(call: Call, job: Job) -> None:
    """Switch to the next key if its switch time is reached, or delete the previous key if the overlap has ended."""
    application_id = job.decode(int)
    row, other_key = applications_store.find(call.tx, application_id), store.find(call.tx, application_id)
    if row is None or other_key is None:
        return
    if other_key.is_next:
        if other_key.switch_ms is not None and other_key.switch_ms <= call.now_ms:
            _switch_to_next_key(call, row, other_key)
    elif other_key.ends_ms is not None and other_key.ends_ms <= call.now_ms:
        store.delete(call.tx, application_id)


def view(call: Call, row: ApplicationRow) -> wire.KeyRollover:
    """Build the wire model of a key rollover."""
    other_key = store.find(call.tx, row.id)
    next_key = other_key if other_key is not None and other_key.is_next else None
    previous_key = other_key if other_key is not None and not other_key.is_next else None
    return wire.KeyRollover(
        verify_key=row.verify_key,
        next_verify_key=None if next_key is None else next_key.verify_key,
        switch_at=None if next_key is None or next_key.switch_ms is None else codec.timestamp(next_key.switch_ms),
        previous_verify_key=None if previous_key is None else previous_key.verify_key,
        previous_ends_at=None
        if previous_key is None or previous_key.ends_ms is None
        else codec.timestamp(previous_key.ends_ms),
    )


def _switch_to_next_key(call: Call, row: ApplicationRow, other_key: OtherKeyRow) -> None:
    """Use the next key; the key in use becomes the previous key until the overlap ends."""
    ends_ms = call.now_ms + OVERLAP_MS
    _set_key(call, row, other_key, OtherKeyRow(row.id, 0, _current_key(call, row), row.verify_key, None, ends_ms))
    call.tx.enqueue(KEY_JOB, int(row.id), due_ms=ends_ms, key=_job_key(row.id))


def _set_key(call: Call, row: ApplicationRow, new_key: OtherKeyRow, other_key: OtherKeyRow) -> None:
    applications_store.set_signing_key(call.tx, row.id, new_key.signing_key, new_key.verify_key)
    store.save(call.tx, other_key)


def _current_key(call: Call, row: ApplicationRow) -> bytes:
    key = applications_store.find_signing_key(call.tx, row.id)
    assert key is not None
    return key


def _require_other_key(call: Call, row: ApplicationRow, *, is_next: bool) -> OtherKeyRow:
    other_key = store.find(call.tx, row.id)
    if other_key is None or bool(other_key.is_next) is not is_next:
        raise errors.NOT_FOUND()
    return other_key


def _job_key(application_id: int) -> str:
    return f"{KEY_JOB}:{int(application_id)}"


JOBS = {KEY_JOB: continue_rollover}
