"""Months, as subscriptions count them."""

import calendar
from datetime import UTC, datetime


def day_of(ms: int) -> int:
    """The day of the month that a subscription which begins now renews on."""
    return datetime.fromtimestamp(ms // 1000, UTC).day


def next_month(ms: int, anchor_day: int) -> int:
    """The same time a month later, on the anchor's day or the last one that the month has."""
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    year, month = moment.year + moment.month // 12, moment.month % 12 + 1
    day = min(anchor_day, calendar.monthrange(year, month)[1])
    return int(moment.replace(year=year, month=month, day=day).timestamp()) * 1000 + ms % 1000
