"""Money: what is asked for, taken and given back.

A payment is kept before its provider is asked. Where nobody knows whether it was taken it is asked for again, in the same words;
what is taken and gives nothing is given back, however long its provider cannot be reached.
"""

import asyncio
import logging
from typing import Final

import msgspec

from hubbub.protocol.ids import ApplicationId, GuildId, SkuId, SubscriptionId, UserId
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.payments import PATIENCE_SECONDS, Charge, PaymentDeclined, PaymentUncertain
from hubbub.server.core.work import Work
from hubbub.server.resources.skus import SkuRow
from hubbub.server.resources.subscriptions import store
from hubbub.server.resources.subscriptions.store import PaymentRow

log = logging.getLogger(__name__)

GIVE_BACK: Final = "payments.give_back"

SOON_MS: Final = 60_000
LATER_MS: Final = 3_600_000


class Returning(msgspec.Struct, frozen=True):
    """A payment to give back. Stored as JSON in jobs: add fields with a default, never rename."""

    key: str
    since_ms: int


def again_ms(now: int, since_ms: int) -> int:
    """When to ask a provider again that has not answered since a moment: later and later, at least every hour."""
    return now + min(max(now - since_ms, SOON_MS), LATER_MS)


def ask(call: Call, key: str, sku: SkuRow, user_id: int, guild_id: int | None, subscription_id: int | None) -> Charge:
    """A payment to take: as it was asked for before, while nobody knows whether it was taken."""
    row = store.find_payment(call.tx, key)
    if row is None:
        row = PaymentRow(
            key=key,
            user_id=user_id,
            application_id=sku.application_id,
            sku_id=sku.id,
            guild_id=guild_id,
            subscription_id=subscription_id,
            amount=sku.price,
            currency=sku.currency,
            asked_ms=call.now,
        )
        store.insert_payment(call.tx, row)
    return charge(row)


def charge(row: PaymentRow) -> Charge:
    """A payment as its provider is told of it."""
    return Charge(
        key=row.key,
        user_id=UserId(row.user_id),
        application_id=ApplicationId(row.application_id),
        sku_id=SkuId(row.sku_id),
        amount=row.amount,
        currency=row.currency,
        guild_id=None if row.guild_id is None else GuildId(row.guild_id),
        subscription_id=None if row.subscription_id is None else SubscriptionId(row.subscription_id),
    )


async def take(work: Work, asked: Charge) -> None:
    """Have a payment taken, or raise PaymentDeclined or PaymentUncertain."""
    try:
        # In real seconds: somebody else's machine is slow, whatever our clock says.
        async with asyncio.timeout(PATIENCE_SECONDS):
            await work.payments.charge(asked)
    except PaymentDeclined:
        raise
    except Exception as error:
        raise PaymentUncertain(asked.key) from error


def taken(call: Call, asked: Charge, entitlement_id: int | None) -> None:
    """It was taken, and this is what it gave."""
    row = _kept(call, asked)
    store.update_payment(call.tx, row._replace(state=store.TAKEN, entitlement_id=entitlement_id))


def declined(call: Call, key: str) -> None:
    """It was not taken; the next attempt is at the price of its day."""
    store.delete_payment(call.tx, key)


def release(call: Call, key: str) -> None:
    """Nobody wants it any more: give it back if it was asked for, as it may have been taken."""
    row = store.find_payment(call.tx, key)
    if row is not None and row.state == store.ASKED:
        give_back(call, charge(row))


def useless(call: Call, asked: Charge) -> None:
    """It was taken after what it was for had gone; not if it was only taken twice, which is once."""
    row = store.find_payment(call.tx, asked.key)
    if row is None or row.state != store.TAKEN:
        give_back(call, asked)


def refund(call: Call, entitlement_id: int) -> None:
    """Give the last payment for an entitlement back."""
    row = store.last_payment(call.tx, entitlement_id)
    if row is not None:
        give_back(call, charge(row))


def give_back(call: Call, asked: Charge) -> None:
    """Have it given back; once more where it may have been taken since the last time."""
    store.update_payment(call.tx, _kept(call, asked)._replace(state=store.RETURNING))
    _enqueue(call, Returning(asked.key, call.now), call.now)


def _kept(call: Call, asked: Charge) -> PaymentRow:
    row = store.find_payment(call.tx, asked.key)
    if row is None:
        row = PaymentRow(**msgspec.structs.asdict(asked), asked_ms=call.now)
        store.insert_payment(call.tx, row)
    return row


def _enqueue(call: Call, returning: Returning, due_ms: int) -> None:
    key = f"{GIVE_BACK}/{returning.key}"
    jobs.cancel(call.tx, GIVE_BACK, key)
    call.tx.enqueue(GIVE_BACK, returning, due_ms=due_ms, key=key)


async def return_payment(work: Work, job: Job) -> None:
    """Give a payment back, and never forget to."""
    returning = job.decode(Returning)
    asked = await work.read(lambda call: _returning(call, returning.key))
    if asked is None:
        return
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await work.payments.refund(asked)
    except PaymentDeclined as error:
        log.error("payment %s will not be given back: %s", returning.key, error)
        await work.write(lambda call: _end(call, returning.key, store.KEPT))
    except Exception as error:
        log.warning("payment %s could not be given back, and is tried again", returning.key, exc_info=error)
        await work.write(lambda call: _enqueue(call, returning, again_ms(call.now, returning.since_ms)))
    else:
        await work.write(lambda call: _end(call, returning.key, store.RETURNED))


def _returning(call: Call, key: str) -> Charge | None:
    row = store.find_payment(call.tx, key)
    return charge(row) if row is not None and row.state == store.RETURNING else None


def _end(call: Call, key: str, state: int) -> None:
    row = store.find_payment(call.tx, key)
    if row is not None and row.state == store.RETURNING:
        store.update_payment(call.tx, row._replace(state=state))
