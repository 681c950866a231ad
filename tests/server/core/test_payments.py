"""Which payment provider a platform has."""

import pytest

from hubbub.protocol.ids import ApplicationId, SkuId, UserId
from hubbub.server.core.config import ConfigError
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
    with pytest.raises(ConfigError, match="has no refund"):
        open_payments("tests.server.core.test_payments:Thief", rehearsal=False)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("mybank", "must be module:name"),
        (":Provider", "must be module:name"),
        ("no_such_bank:Provider", "ModuleNotFoundError"),
        ("tests.server.core.test_payments:Nobody", "AttributeError"),
        ("tests.server.core.test_payments:Moody", "ValueError: not today"),
    ],
)
def test_a_provider_that_cannot_be_loaded_is_a_setting_that_is_wrong(name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        open_payments(name, rehearsal=False)
    assert refused.value.key == "payments"


class Moody:
    """Does not even begin."""

    def __init__(self) -> None:
        raise ValueError("not today")


class Thief:
    """Takes only."""

    enabled = True

    async def charge(self, charge: Charge) -> None:
        """Take."""


PROVIDER = NoPayments()
