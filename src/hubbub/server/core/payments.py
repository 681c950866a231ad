"""Taking money for what applications sell: an interface that a real provider replaces.

`config.payments` names one as `module:name`, an object or a class without arguments. Without it a rehearsal grants everything at
once, and a platform that people use sells nothing.
"""

import importlib
from typing import Any, Final, Protocol

import msgspec

from hubbub.protocol.ids import ApplicationId, GuildId, SkuId, Snowflake, UserId
from hubbub.server.core.config import ConfigError

PATIENCE_SECONDS: Final = 30.0
"""How long a provider may take to answer; less than a job may."""


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """One payment to take."""

    key: str
    """The same for every attempt at one payment: a provider that has taken it says yes again and takes nothing."""
    user_id: UserId
    """Who pays."""
    application_id: ApplicationId
    """Whose application is paid."""
    sku_id: SkuId
    amount: int
    """In the smallest unit of the currency."""
    currency: str
    guild_id: GuildId | None = None
    """The guild it is bought for."""
    subscription_id: Snowflake | None = None
    """The subscription it renews or upgrades."""


class PaymentDeclined(Exception):
    """The payment was not taken, or will not be given back, and trying again now would not help."""


class PaymentUncertain(Exception):
    """Nobody knows whether the payment was taken; it is asked for again later."""


class PaymentProvider(Protocol):
    """Takes payments and gives them back. What it does not answer within `PATIENCE_SECONDS` counts as an error."""

    enabled: bool
    """Whether anything can be bought at all."""

    async def charge(self, charge: Charge) -> None:
        """Take a payment, or raise PaymentDeclined; any other error means that nobody knows whether it was taken."""
        ...

    async def refund(self, charge: Charge) -> None:
        """Give back what was taken for this key, once however often it is asked; where nothing was taken, nothing is to be done.

        Raise PaymentDeclined if it never will be; after any other error it is asked again, until it says yes."""
        ...


class InstantPayments:
    """Says yes to everything and takes nothing: a rehearsal."""

    enabled = True

    async def charge(self, charge: Charge) -> None:
        """Granted."""

    async def refund(self, charge: Charge) -> None:
        """Nothing was taken."""


class NoPayments:
    """Nothing is for sale."""

    enabled = False

    async def charge(self, charge: Charge) -> None:
        """Never."""
        raise PaymentDeclined("this platform takes no payments")

    async def refund(self, charge: Charge) -> None:
        """Never: what was taken, another provider took."""
        raise PaymentDeclined("this platform takes no payments")


def open_payments(name: str | None, *, rehearsal: bool) -> PaymentProvider:
    """The provider that the operator chose; raises ConfigError where it cannot be one."""
    if name is None:
        return InstantPayments() if rehearsal else NoPayments()
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ConfigError("payments", name, "must be module:name, as in mybank:Provider")
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
        provider: PaymentProvider = found() if isinstance(found, type) else found
    except Exception as error:
        # Whatever a stranger's module raises, the operator hears which setting named it.
        raise ConfigError("payments", name, f"cannot be loaded: {type(error).__name__}: {error}") from error
    for method in ("charge", "refund"):
        if not callable(getattr(provider, method, None)):
            raise ConfigError("payments", name, f"has no {method}")
    return provider
