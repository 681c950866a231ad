"""Recurrence rules of scheduled events: validation, and the times of occurrences in UTC (spec/http.md#3.9)."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import RecurrenceFrequency
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.resources import scheduled_events as wire
from hubbub.server.core.clock import DAY_MS

T = TypeVar("T")

HORIZON_DAYS: Final = 366 * 8 + 31
"""Maximum distance of two occurrences in days: 29 February recurs after 8 years if a year like 2100 is not a leap year."""

_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
"""Number of 1 January 1970 as `date.toordinal` counts days."""
_DAILY_WEEKDAY_SETS: Final = frozenset(
    frozenset(days) for days in ((0, 1, 2, 3, 4), (1, 2, 3, 4, 5), (6, 0, 1, 2, 3), (4, 5), (5, 6), (6, 0))
)
"""Weekday sets that a daily rule may use: Monday-Friday, Tuesday-Saturday, Sunday-Thursday, and three weekends."""
_READ_ONLY_FIELDS: Final = ("end", "by_year_day", "count")
"""Fields of a rule that a request must not set."""
_RULE_FIELD: Final = "recurrence_rule"
"""Field of the body whose form errors this module adds."""


def parse(body: wire.SetRecurrenceRule, form: FormErrors) -> wire.RecurrenceRule:
    """Return the recurrence rule of a body; add form errors if it is invalid."""
    interval = body.interval or 1
    weekdays = _list_or_none(body.by_weekday)
    nth_weekdays = _list_or_none(body.by_n_weekday)
    months, month_days = _list_or_none(body.by_month), _list_or_none(body.by_month_day)
    for field in _READ_ONLY_FIELDS:
        if getattr(body, field) not in (UNSET, None):
            _add_error(form, field, "RECURRENCE_RULE_FIELD_NOT_SETTABLE", "This field cannot be set.")
    if sum((weekdays is not None, nth_weekdays is not None, months is not None or month_days is not None)) > 1:
        _add_error(form, "", "RECURRENCE_RULE_EXCLUSIVE", "Set only one of by_weekday, by_n_weekday and by_month.")
        return _build_rule(body, interval, weekdays, nth_weekdays, months, month_days)
    interval_max = 2 if body.frequency == RecurrenceFrequency.WEEKLY else 1
    if not 1 <= interval <= interval_max:
        _add_error(form, "interval", *(errors.number_min(1) if interval < 1 else errors.number_max(interval_max)))
    match body.frequency:
        case RecurrenceFrequency.DAILY:
            _allow_only(form, body, "by_weekday")
            if weekdays is not None and frozenset(weekdays) not in _DAILY_WEEKDAY_SETS:
                _add_error(
                    form,
                    "by_weekday",
                    *errors.choices(sorted(sorted(weekday_set) for weekday_set in _DAILY_WEEKDAY_SETS)),
                )
        case RecurrenceFrequency.WEEKLY:
            _allow_only(form, body, "by_weekday")
            _check_single_value(form, "by_weekday", weekdays, is_required=False)
        case RecurrenceFrequency.MONTHLY:
            _allow_only(form, body, "by_n_weekday")
            _check_single_value(form, "by_n_weekday", nth_weekdays)
        case RecurrenceFrequency.YEARLY:
            _allow_only(form, body, "by_month", "by_month_day")
            if _check_single_value(form, "by_month", months) and _check_single_value(form, "by_month_day", month_days):
                assert months is not None
                assert month_days is not None
                if not _is_day_of_month(months[0], month_days[0]):
                    _add_error(form, ("by_month_day", 0), "RECURRENCE_RULE_NO_SUCH_DAY", "The month has no such day.")
    return _build_rule(body, interval, weekdays, nth_weekdays, months, month_days)


def _list_or_none(values: Sequence[T] | UnsetType | None) -> list[T] | None:
    return None if values is UNSET or values is None else list(values)


def _build_rule(
    body: wire.SetRecurrenceRule,
    interval: int,
    weekdays: Sequence[int] | None,
    nth_weekdays: list[wire.NthWeekday] | None,
    months: list[int] | None,
    month_days: list[int] | None,
) -> wire.RecurrenceRule:
    return wire.RecurrenceRule(
        start=codec.timestamp(codec.milliseconds(body.start)),
        frequency=int(body.frequency),
        interval=interval,
        by_weekday=None if weekdays is None else [int(weekday) for weekday in weekdays],
        by_n_weekday=nth_weekdays,
        by_month=months,
        by_month_day=month_days,
    )


def _add_error(form: FormErrors, path: str | tuple[str | int, ...], code: str, message: str) -> None:
    """Add a form error; `path` is below `recurrence_rule`, and empty for the rule itself."""
    path_steps = (path,) if isinstance(path, str) else path
    form.add((_RULE_FIELD, *(path_step for path_step in path_steps if path_step != "")), code, message)


def _allow_only(form: FormErrors, body: wire.SetRecurrenceRule, *fields: str) -> None:
    """Add a form error for each field of the body that restricts days and is not in `fields`."""
    for field in ("by_weekday", "by_n_weekday", "by_month", "by_month_day"):
        if field not in fields and _list_or_none(getattr(body, field)) is not None:
            _add_error(form, field, "RECURRENCE_RULE_FREQUENCY", "This field cannot be used with this frequency.")


def _check_single_value(
    form: FormErrors, field: str, values: Sequence[object] | None, *, is_required: bool = True
) -> bool:
    """Return whether a list has exactly one value; add a form error if not. None adds an error only if `is_required`."""
    if values is None:
        if is_required:
            _add_error(form, field, *errors.required())
        return False
    if len(values) != 1:
        _add_error(form, field, *errors.bad_length(1, 1))
        return False
    return True


def _is_day_of_month(month: int, day: int) -> bool:
    try:
        # 2000 is a leap year, so 29 February is valid.
        date(2000, month, day)
    except ValueError:
        return False
    return True


# Occurrences


def with_start(rule: wire.RecurrenceRule, start_ms: int) -> wire.RecurrenceRule:
    """Return the rule with its start replaced by `start_ms` (Unix milliseconds).

    A series starts with its event, regardless of the start in the body (decisions/0021)."""
    return msgspec.structs.replace(rule, start=codec.timestamp(start_ms))


def read_start_ms(rule: wire.RecurrenceRule) -> int:
    """Return the start of the rule in Unix milliseconds; its time of day applies to every occurrence."""
    return codec.milliseconds(datetime.fromisoformat(rule.start))


def occurs(rule: wire.RecurrenceRule, time_ms: int) -> bool:
    """Return whether the rule has an occurrence at `time_ms` (Unix milliseconds)."""
    rule_start_ms = read_start_ms(rule)
    return (
        time_ms >= rule_start_ms
        and (time_ms - rule_start_ms) % DAY_MS == 0
        and _matches_day(rule, _utc_date(rule_start_ms), _utc_date(time_ms))
    )


def find_next(rule: wire.RecurrenceRule, after_ms: int) -> int | None:
    """Return the first occurrence after `after_ms`, or None if there is none within HORIZON_DAYS.

    Both times are in Unix milliseconds."""
    rule_start_ms = read_start_ms(rule)
    first_day = _utc_date(rule_start_ms)
    day = max(first_day, _utc_date(after_ms))
    for _ in range(HORIZON_DAYS):
        candidate_ms = (day.toordinal() - _EPOCH_ORDINAL) * DAY_MS + rule_start_ms % DAY_MS
        if candidate_ms > after_ms and _matches_day(rule, first_day, day):
            return candidate_ms
        if day == date.max:
            return None
        day += timedelta(days=1)
    return None


def _utc_date(time_ms: int) -> date:
    return datetime.fromtimestamp(time_ms // 1000, UTC).date()


def _matches_day(rule: wire.RecurrenceRule, first_day: date, day: date) -> bool:
    """Return whether a rule that starts on `first_day` has an occurrence on `day`, which is not earlier."""
    match rule.frequency:
        case RecurrenceFrequency.DAILY:
            return rule.by_weekday is None or day.weekday() in rule.by_weekday
        case RecurrenceFrequency.WEEKLY:
            weekday = first_day.weekday() if rule.by_weekday is None else rule.by_weekday[0]
            week_count = (_monday_ordinal(day) - _monday_ordinal(first_day)) // 7
            return day.weekday() == weekday and week_count % rule.interval == 0
        case RecurrenceFrequency.MONTHLY:
            nth_weekday = (rule.by_n_weekday or [])[0]
            return day.weekday() == nth_weekday.day and (day.day - 1) // 7 + 1 == nth_weekday.n
        case _:
            return day.month in (rule.by_month or ()) and day.day in (rule.by_month_day or ())


def _monday_ordinal(day: date) -> int:
    """Return the number of the Monday of a day's week, as `date.toordinal` counts days."""
    return day.toordinal() - day.weekday()
