"""Prices on pages: amounts in the smallest unit of a currency, as text of a page and of a form field."""

import re
from typing import Final

from hubbub.protocol.resources.skus import SKU_PRICE_MAX
from hubbub.server.core import translation
from hubbub.server.core.translation import gettext

# ISO 4217: currencies whose smallest unit is not a hundredth.
_ZERO_DECIMAL_CURRENCIES: Final = (
    "bif", "clp", "djf", "gnf", "isk", "jpy", "kmf", "krw", "pyg", "rwf", "ugx", "uyi", "vnd", "vuv", "xaf", "xof",
    "xpf",
)  # fmt: skip
_THREE_DECIMAL_CURRENCIES: Final = ("bhd", "iqd", "jod", "kwd", "lyd", "omr", "tnd")
_AMOUNT_PATTERN: Final = re.compile(r"(\d{1,12})(?:[.,](\d{1,6}))?", re.ASCII)


class InvalidPriceError(ValueError):
    """A text that is not a price; the message says what to enter."""


def count_decimal_places(currency: str) -> int:
    """Return the number of decimal places of the currency with a lowercase code."""
    return 0 if currency in _ZERO_DECIMAL_CURRENCIES else 3 if currency in _THREE_DECIMAL_CURRENCIES else 2


def format_price(amount: int, currency: str) -> str:
    """Format an amount in the smallest unit of a currency."""
    if not amount:
        return gettext("Free")
    return f"{translation.format_decimal(amount, count_decimal_places(currency))} {currency.upper()}"


def format_amount(amount: int, currency: str) -> str:
    """Return the text of an amount for a form field, such as `4.99`; `parse_price` reads it."""
    decimal_places = count_decimal_places(currency)
    return translation.format_decimal(amount, decimal_places, has_separators=False)


def parse_price(price_text: str, currency: str) -> int:
    """Return the amount in the smallest unit of a currency for a text such as `4.99`, `4,99` or `5`.

    Raise InvalidPriceError for another text, too many decimal places or an amount above the maximum."""
    decimal_places = count_decimal_places(currency)
    match = _AMOUNT_PATTERN.fullmatch(price_text)
    if match is None:
        example = format_amount(499, currency)
        raise InvalidPriceError(gettext("Enter an amount such as {example}, or 0 for free.", example=example))
    fraction = match[2] or ""
    if len(fraction) > decimal_places:
        if not decimal_places:
            raise InvalidPriceError(
                gettext("{currency} has no decimal places. Enter a whole number.", currency=currency.upper())
            )
        raise InvalidPriceError(
            gettext(
                "{currency} has {number} decimal places. Enter no thousands separators.",
                currency=currency.upper(),
                number=decimal_places,
            )
        )
    amount = int(match[1] + fraction.ljust(decimal_places, "0"))
    if amount > SKU_PRICE_MAX:
        price = format_price(SKU_PRICE_MAX, currency)
        raise InvalidPriceError(gettext("Enter at most {price}.", price=price))
    return amount
