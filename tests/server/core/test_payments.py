"""Payment providers: selection by configuration, and the two built-in ones."""

import pytest

from hubbub.protocol.ids import ApplicationId, SkuId, UserId
from hubbub.server.core.config import ConfigError
from hubbub.server.core.payments import Charge, InstantPayments, NoPayments, PaymentDeclined, open_payments

CHARGE = Charge(
    key="purchase/1", user_id=UserId(1), application_id=ApplicationId(2), sku_id=SkuId(3), amount=499, currency="usd"
)


async def test_payments_are_instant_in_rehearsals_and_disabled_by_default_otherwise() -> None:
    rehearsal, production = open_payments(None, is_rehearsal=True), open_payments(None, is_rehearsal=False)

    assert rehearsal.enabled
    await rehearsal.charge(CHARGE)
    await rehearsal.refund(CHARGE)
    assert not production.enabled
    with pytest.raises(PaymentDeclined):
        await production.charge(CHARGE)
    with pytest.raises(PaymentDeclined):
        await production.refund(CHARGE)


def test_a_provider_is_loaded_by_name() -> None:
    assert isinstance(open_payments("hubbub.server.core.payments:InstantPayments", is_rehearsal=False), InstantPayments)
    assert isinstance(open_payments("tests.server.core.test_payments:PROVIDER", is_rehearsal=True), NoPayments)


def test_a_provider_without_refunds_is_rejected() -> None:
    with pytest.raises(ConfigError, match="has no refund"):
        open_payments("tests.server.core.test_payments:ProviderWithoutRefund", is_rehearsal=False)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("mybank", "must be module:name"),
        (":Provider", "must be module:name"),
        ("no_such_bank:Provider", "ModuleNotFoundError"),
        ("tests.server.core.test_payments:Missing", "AttributeError"),
        ("tests.server.core.test_payments:RaisingProvider", "ValueError: not today"),
    ],
)
def test_a_provider_that_cannot_be_loaded_is_a_configuration_error(name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        open_payments(name, is_rehearsal=False)
    assert caught.value.key == "payments"


class RaisingProvider:
    """A provider whose constructor raises."""

    def __init__(self) -> None:
        raise ValueError("not today")


class ProviderWithoutRefund:
    """A provider without the refund method."""

    enabled = True

    async def charge(self, charge: Charge) -> None:
        """Accept the charge."""


PROVIDER = NoPayments()
