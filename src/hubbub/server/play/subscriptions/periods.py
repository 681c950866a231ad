"""Monthly billing periods."""

import calendar
from datetime import UTC, datetime


def anchor_day(ms: int) -> int:
    """Return the day of the month (1 to 31, UTC) on which a subscription that starts at `ms` milliseconds renews."""
    return datetime.fromtimestamp(ms // 1000, UTC).day


def next_month(ms: int, anchor_day: int) -> int:
    """Return the time one month after `ms`, on the anchor day or on the last day of a shorter month.

    Both times are in milliseconds; the time of day does not change."""
    start = datetime.fromtimestamp(ms // 1000, UTC)
    year, month = start.year + start.month // 12, start.month % 12 + 1
    day = min(anchor_day, calendar.monthrange(year, month)[1])
    return int(start.replace(year=year, month=month, day=day).timestamp()) * 1000 + ms % 1000
