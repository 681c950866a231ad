"""Which payment provider a platform has."""

import pytest

from hubbub.protocol.ids import ApplicationId, SkuId, UserId
from hubbub.server.core.payments import Charge, InstantPayments, NoPayments, PaymentDeclined, open_payments

CHARGE = Charge(
    key="purchase/1", user_id=UserId(1), application_id=ApplicationId(2), sku_id=SkuId(3), amount=499, currency="usd"
)


async def test_a_rehearsal_grants_at_once_and_a_platform_sells_nothing_by_itself() -> None:
    rehearsal, platform = open_payments(None, rehearsal=True), open_payments(None, rehearsal=False)

    assert rehearsal.enabled
    await rehearsal.charge(CHARGE)
    await rehearsal.refund(CHARGE)
    assert not platform.enabled
    with pytest.raises(PaymentDeclined):
        await platform.charge(CHARGE)
    with pytest.raises(PaymentDeclined):
        await platform.refund(CHARGE)


def test_an_operator_names_a_provider() -> None:
    assert isinstance(open_payments("hubbub.server.core.payments:InstantPayments", rehearsal=False), InstantPayments)
    assert isinstance(open_payments("tests.server.core.test_payments:PROVIDER", rehearsal=True), NoPayments)


def test_a_provider_that_gives_nothing_back_is_none() -> None:
    with pytest.raises(TypeError, match="has no refund"):
        open_payments("tests.server.core.test_payments:Thief", rehearsal=False)


class Thief:
    """Takes only."""

    enabled = True

    async def charge(self, charge: Charge) -> None:
        """Take."""


PROVIDER = NoPayments()
