"""Monthly billing periods."""

import calendar
from datetime import UTC, datetime


def anchor_day(ms: int) -> int:
    """Return the day of the month on which a subscription that starts now renews."""
    return datetime.fromtimestamp(ms // 1000, UTC).day


def next_month(ms: int, anchor_day: int) -> int:
    """Return the same time a month later, on the anchor day or on the last day of a shorter month."""
    current = datetime.fromtimestamp(ms // 1000, UTC)
    year, month = current.year + current.month // 12, current.month % 12 + 1
    day = min(anchor_day, calendar.monthrange(year, month)[1])
    return int(current.replace(year=year, month=month, day=day).timestamp()) * 1000 + ms % 1000
