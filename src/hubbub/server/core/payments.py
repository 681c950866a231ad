"""Payments for the SKUs of applications: the interface of a payment provider, and the default providers.

The setting `payments` names the provider as `module:name`, an object or a class without arguments. By default a rehearsal
accepts every payment immediately, and any other server declines all payments.
"""

import importlib
from typing import Any, Final, Protocol

import msgspec

from hubbub.protocol.ids import ApplicationId, GuildId, SkuId, Snowflake, UserId
from hubbub.server.core.config import ConfigError

PROVIDER_TIMEOUT_SECONDS: Final = 30.0
"""Timeout of a call to the provider in seconds; shorter than that of a job."""


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """A payment for a SKU that a provider takes or refunds."""

    key: str
    """Idempotency key, the same for every attempt at one payment; the provider takes each key's payment only once.

    Charges with the same key are equal. A retry at a new price has another key."""
    user_id: UserId
    """The user who pays."""
    application_id: ApplicationId
    """The application that is paid."""
    sku_id: SkuId
    amount: int
    """The amount in the smallest unit of the currency."""
    currency: str
    guild_id: GuildId | None = None
    """The guild that the purchase is for, if any."""
    subscription_id: Snowflake | None = None
    """The subscription that is renewed or upgraded, if any."""


class PaymentDeclined(Exception):
    """The payment was not taken, or will not be refunded, and a retry now would not help."""


class PaymentUncertain(Exception):
    """The outcome of the payment is unknown; it is requested again later."""


class PaymentProvider(Protocol):
    """Takes and refunds payments. A call that exceeds `PROVIDER_TIMEOUT_SECONDS` counts as an error."""

    enabled: bool
    """Whether purchases are possible at all."""

    async def charge(self, charge: Charge) -> None:
        """Take a payment, or raise PaymentDeclined. Any other error means that the outcome is unknown."""
        ...

    async def refund(self, charge: Charge) -> None:
        """Refund the payment with this key, once regardless of the number of calls; do nothing if none was taken.

        Raise PaymentDeclined if it will never be refunded. After any other error the refund is requested again until it
        succeeds."""
        ...


class InstantPayments:
    """A provider for rehearsals that accepts everything and takes no money."""

    enabled = True

    async def charge(self, charge: Charge) -> None:
        """Accept the payment."""

    async def refund(self, charge: Charge) -> None:
        """Do nothing; no money was taken."""


class NoPayments:
    """A provider that declines everything; nothing is for sale."""

    enabled = False

    async def charge(self, charge: Charge) -> None:
        """Raise PaymentDeclined."""
        raise PaymentDeclined("this platform does not accept payments")

    async def refund(self, charge: Charge) -> None:
        """Raise PaymentDeclined: the payment was taken by another provider."""
        raise PaymentDeclined("this platform does not accept payments")


def open_payments(name: str | None, *, is_rehearsal: bool) -> PaymentProvider:
    """Load the provider with a name of the form `module:name`, or the default for None.

    Raise ConfigError if the name has another form, or if the object cannot be loaded or is not a payment provider."""
    if name is None:
        return InstantPayments() if is_rehearsal else NoPayments()
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ConfigError("payments", name, "must be module:name, such as mybank:Provider")
    try:
        provider_or_class: Any = getattr(importlib.import_module(module), attribute)
        provider: PaymentProvider = provider_or_class() if isinstance(provider_or_class, type) else provider_or_class
    except Exception as error:
        # The module is third-party code: report any error together with the setting that named it.
        raise ConfigError("payments", name, f"cannot be loaded: {type(error).__name__}: {error}") from error
    for method in ("charge", "refund"):
        if not callable(getattr(provider, method, None)):
            raise ConfigError("payments", name, f"has no {method} method")
    return provider
