"""Buying. A purchase is kept before it is paid; it is settled by the buyer's own request or, if that is cut off, by a job."""

import logging
from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.ids import GuildId, SkuId, Snowflake
from hubbub.server.core import access, jobs
from hubbub.server.core.call import Call
from hubbub.server.core.payments import Charge, PaymentDeclined
from hubbub.server.core.work import Work
from hubbub.server.resources import entitlements, skus
from hubbub.server.resources.skus import SkuRow
from hubbub.server.resources.subscriptions import actions, ledger, store
from hubbub.server.resources.subscriptions.store import PurchaseRow, SubscriptionRow
from hubbub.server.resources.users import UserDeleted

log = logging.getLogger(__name__)

SETTLE: Final = "purchases.settle"
SETTLE_AFTER_MS: Final = 60_000
"""How long whoever buys has, before a job looks what became of it."""
GIVE_UP_MS: Final = 24 * 3_600_000
"""How long a purchase waits for a provider that does not answer."""


def begin(call: Call, sku: SkuRow, guild_id: GuildId | None) -> PurchaseRow:
    """Keep that somebody wants to buy something, which they may and do not have yet."""
    _require_for(call, sku, guild_id)
    if _has(call, sku, guild_id):
        raise errors.ENTITLEMENT_ALREADY_GRANTED()
    return _keep(call, sku, guild_id, None)


def begin_upgrade(call: Call, row: SubscriptionRow, sku: SkuRow) -> PurchaseRow:
    """Keep that somebody wants a dearer subscription instead of theirs."""
    if any(each.subscription_id == row.id for each in _pending(call, sku)):
        raise errors.ENTITLEMENT_ALREADY_GRANTED()
    return _keep(call, sku, None if row.guild_id is None else GuildId(row.guild_id), row.id)


def require_on_sale(call: Call, sku_id: SkuId) -> SkuRow:
    """Something that can be bought."""
    sku = skus.find(call.tx, sku_id)
    if sku is None:
        raise errors.UNKNOWN_SKU()
    if not skus.is_on_sale(sku):
        raise errors.INVALID_SKU()
    return sku


def _require_for(call: Call, sku: SkuRow, guild_id: GuildId | None) -> None:
    if sku.for_guilds:
        if guild_id is None:
            raise errors.invalid("guild_id", *errors.required())
        access.guild(call, guild_id)
    elif guild_id is not None:
        raise errors.invalid("guild_id", "SKU_NOT_FOR_GUILDS", "This SKU is not sold to guilds.")


def _has(call: Call, sku: SkuRow, guild_id: GuildId | None) -> bool:
    pending = [each for each in _pending(call, sku) if each.guild_id == guild_id]
    if sku.is_subscription:
        bought = skus.find(call.tx, pending[0].sku_id) if pending else None
        going_on = bought is not None and bought.is_subscription
        return going_on or store.is_subscribed(call.tx, sku.application_id, call.user_id, guild_id)
    # Spec, 7.1: of a consumable one that is not used up.
    bought_now = any(each.sku_id == sku.id for each in pending)
    return bought_now or entitlements.owns(call.tx, sku.id, call.user_id, None, call.now)


def _pending(call: Call, sku: SkuRow) -> list[PurchaseRow]:
    return store.pending_purchases(call.tx, sku.application_id, call.user_id)


def _keep(call: Call, sku: SkuRow, guild_id: GuildId | None, subscription_id: int | None) -> PurchaseRow:
    row = PurchaseRow(
        id=call.new_id(Snowflake),
        application_id=sku.application_id,
        user_id=call.user_id,
        guild_id=guild_id,
        sku_id=sku.id,
        subscription_id=subscription_id,
        state=store.PENDING,
    )
    store.insert_purchase(call.tx, row)
    ledger.ask(call, _payment(row.id), sku, row.user_id, row.guild_id, row.subscription_id)
    call.tx.enqueue(SETTLE, int(row.id), due_ms=call.now + SETTLE_AFTER_MS, key=_key(row))
    return row


async def settle(work: Work, purchase_id: int) -> PurchaseRow | None:
    """Take the payment and give what was bought; None where it was declined. Doing it again does nothing more."""
    asked = await work.read(lambda call: _charge(call, purchase_id))
    if asked is not None:
        try:
            await ledger.take(work, asked)
        except PaymentDeclined as declined:
            log.info("purchase %d was declined: %s", purchase_id, declined)
            return await work.write(lambda call: _decline(call, purchase_id))
    return await work.write(lambda call: _complete(call, purchase_id, asked))


def postpone(call: Call, purchase_id: int) -> None:
    """Its provider does not answer: ask again later, or let the buyer go after a day; if it took the money, it gives it back."""
    row = store.find_purchase(call.tx, purchase_id)
    if row is None or row.state != store.PENDING:
        return
    begun_ms = Snowflake(row.id).created_ms
    if call.now >= begun_ms + GIVE_UP_MS:
        give_up(call, row)
        return
    jobs.cancel(call.tx, SETTLE, _key(row))
    call.tx.enqueue(SETTLE, int(row.id), due_ms=ledger.again_ms(call.now, begun_ms), key=_key(row))


def give_up(call: Call, row: PurchaseRow) -> None:
    """End a purchase that nobody knows to be paid."""
    ledger.release(call, _payment(row.id))
    _end(call, row._replace(state=store.DECLINED))


def _charge(call: Call, purchase_id: int) -> Charge | None:
    row = store.find_purchase(call.tx, purchase_id)
    asked = store.find_payment(call.tx, _payment(purchase_id))
    return None if row is None or asked is None or row.state != store.PENDING else ledger.charge(asked)


def _decline(call: Call, purchase_id: int) -> None:
    row = store.find_purchase(call.tx, purchase_id)
    if row is not None and row.state == store.PENDING:
        ledger.declined(call, _payment(purchase_id))
        _end(call, row._replace(state=store.DECLINED))


def _complete(call: Call, purchase_id: int, paid: Charge | None) -> PurchaseRow | None:
    row = store.find_purchase(call.tx, purchase_id)
    if row is None or row.state == store.DECLINED:
        if paid is not None:
            # Given up while the provider was taking it.
            ledger.give_back(call, paid)
        return None
    if row.state == store.DONE:
        return row
    if paid is None:
        give_up(call, row)
        return None
    sku = skus.find(call.tx, row.sku_id)
    assert sku is not None
    current = None if row.subscription_id is None else store.find(call.tx, row.subscription_id)
    if sku.is_subscription:
        if current is None or current.status == SubscriptionStatus.INACTIVE:
            # Also where the one to upgrade ended meanwhile: what is paid is given.
            begun = actions.begin(call, sku, row.user_id, row.guild_id)
        else:
            begun = actions.upgrade(call, current, sku)
        row = row._replace(subscription_id=begun.id, entitlement_id=begun.entitlement_id)
    else:
        row = row._replace(entitlement_id=entitlements.grant(call, sku, row.user_id).id)
    ledger.taken(call, paid, row.entitlement_id)
    row = row._replace(state=store.DONE)
    _end(call, row)
    return row


def _end(call: Call, row: PurchaseRow) -> None:
    store.update_purchase(call.tx, row)
    jobs.cancel(call.tx, SETTLE, _key(row))


def _payment(purchase_id: int) -> str:
    return f"purchase/{purchase_id}"


def _key(row: PurchaseRow) -> str:
    return f"{SETTLE}/{row.id}"


def user_deleted(call: Call, fact: UserDeleted) -> None:
    """A person is gone, buys nothing and pays for nothing more."""
    for purchase in store.pending_of_user(call.tx, fact.user_id):
        give_up(call, purchase)
    for row in store.list_of_user(call.tx, fact.user_id):
        actions.delete(call, row)
