"""Dated changes take effect at their time, which is the start of a day unless a source states another."""

from datetime import UTC, date, datetime

import pytest

from hubbub.protocol import changes
from hubbub.protocol.changes import Change
from tests.world import parse_utc_ms


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (changes.VOICE_VERSIONS, "2024-11-17T23:59:59.999", "2024-11-18T00:00:00"),
        (changes.VOICE_ENCRYPTION, "2024-11-17T23:59:59.999", "2024-11-18T00:00:00"),
        (changes.WEBHOOK_UPLOAD_10MIB, "2025-01-15T23:59:59.999", "2025-01-16T00:00:00"),
        (changes.GUILD_CREATE_REMOVED_FOR_APPS, "2025-07-14T23:59:59.999", "2025-07-15T00:00:00"),
        (changes.MEMBER_REQUEST_LIMIT, "2025-09-30T23:59:59.999", "2025-10-01T00:00:00"),
        (changes.PERMISSION_SPLITS, "2026-02-22T23:59:59.999", "2026-02-23T00:00:00"),
        (changes.E2EE_VOICE_ONLY, "2026-02-28T23:59:59.999", "2026-03-01T00:00:00"),
        (changes.CONNECTIONS_PUBLISHER, "2026-07-09T23:59:59.999", "2026-07-10T00:00:00"),
        (changes.CHANNEL_OBFUSCATION, "2026-11-15T23:59:59.999", "2026-11-16T00:00:00"),
        (changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATED, "2024-11-02T07:58:59.999", "2024-11-02T07:59:00"),
    ],
    ids=lambda value: value.name if isinstance(value, Change) else "",
)
def test_changes_take_effect_at_their_documented_time(change: Change, before: str, after: str) -> None:
    assert not change.is_active(parse_utc_ms(before))
    assert change.is_active(parse_utc_ms(after))


@pytest.mark.parametrize("change", changes.ALL.values(), ids=changes.ALL.keys())
def test_each_change_is_inactive_before_and_active_from_its_date(change: Change) -> None:
    assert change.after != change.before != ""
    assert not change.is_active(change.at_ms - 1)
    assert change.is_active(change.at_ms)
    assert change.is_active(change.at_ms + 1)
    assert datetime.fromtimestamp(change.at_ms / 1000, UTC).date() == change.date
    assert change.after.endswith(".")


def test_each_change_is_listed_by_the_name_of_its_constant() -> None:
    constants = {name: value for name, value in vars(changes).items() if isinstance(value, Change)}
    assert {name.lower(): value for name, value in constants.items()} == changes.ALL


def test_setting_the_clock_back_restores_the_old_behavior() -> None:
    change = Change("a_change", date(2026, 1, 1), "Something differs.", before="Nothing does.")
    assert [change.is_active(parse_utc_ms(day)) for day in ("2026-01-02", "2025-12-31", "2026-01-01")] == [
        True,
        False,
        True,
    ]
