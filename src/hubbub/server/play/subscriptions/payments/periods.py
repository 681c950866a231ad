"""Monthly billing periods."""

import calendar
from datetime import UTC, datetime


def day_of_month(start_ms: int) -> int:
    """Return the day of the month (1 to 31, UTC) on which a subscription that starts at `start_ms` renews."""
    return datetime.fromtimestamp(start_ms // 1000, UTC).day


def next_month(start_ms: int, anchor_day: int) -> int:
    """Return the Unix milliseconds one month after `start_ms`, on the anchor day or the last day of a shorter month.

    The time of day does not change."""
    start_time = datetime.fromtimestamp(start_ms // 1000, UTC)
    year, month = start_time.year + start_time.month // 12, start_time.month % 12 + 1
    day = min(anchor_day, calendar.monthrange(year, month)[1])
    return int(start_time.replace(year=year, month=month, day=day).timestamp()) * 1000 + start_ms % 1000
