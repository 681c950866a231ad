"""Rate limits: buckets, the global limit, the guard against invalid requests, and the report."""

import pytest

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.operation import Operation, RateLimit
from hubbub.server.core.rate_limits import FixedWindows, RateLimitMode, RateLimits, Rule, Verdict, build_rule

NOW_MS = 1_780_000_000_000


class ManualTime:
    """A time source that tests set directly."""

    def __init__(self) -> None:
        self.ms = NOW_MS

    def __call__(self) -> int:
        return self.ms


def make_rule(
    path: str = "/channels/{channel_id}/messages", limit: RateLimit | None = None, method: str = "POST"
) -> Rule:
    """Return the rule of an operation with this path and limit, by default two calls in five seconds."""
    rule = build_rule(Operation(method, path, limit=limit or RateLimit(2, 5.0)), "sample_operation")
    assert rule is not None
    return rule


def check(limits: RateLimits, rule: Rule, caller: str | int = 1, values: tuple[str, ...] = ("7",)) -> Verdict:
    """Count a request and return its verdict; `values` are its path parameters."""
    verdict = limits.check(rule, caller, values)
    assert verdict is not None
    return verdict


def test_a_window_starts_with_the_first_call_and_resets_completely() -> None:
    now = ManualTime()
    limits, rule = RateLimits(now), make_rule()
    first_verdict = check(limits, rule)
    assert (first_verdict.is_allowed, first_verdict.limit, first_verdict.remaining, first_verdict.reset_after_ms) == (
        True,
        2,
        1,
        5000,
    )
    now.ms += 4000
    assert check(limits, rule).remaining == 0
    rejected_verdict = check(limits, rule)
    assert (rejected_verdict.is_allowed, rejected_verdict.remaining, rejected_verdict.reset_after_ms) == (
        False,
        0,
        1000,
    )
    now.ms += 1000
    assert check(limits, rule).remaining == 1


def test_callers_and_major_parameters_have_separate_buckets() -> None:
    limits, rule = RateLimits(ManualTime()), make_rule()
    for _ in range(2):
        assert check(limits, rule).is_allowed
    assert not check(limits, rule).is_allowed
    assert check(limits, rule, caller=2).is_allowed
    assert check(limits, rule, values=("8",)).is_allowed


def test_operations_that_name_a_bucket_share_it() -> None:
    limit = RateLimit(1, 1.0, bucket="reactions")
    put, delete = (
        make_rule(limit=limit, method="PUT"),
        make_rule("/channels/{channel_id}/other", limit=limit, method="DELETE"),
    )
    assert put.bucket == delete.bucket
    assert put.bucket != make_rule().bucket
    limits = RateLimits(ManualTime())
    assert check(limits, put).is_allowed
    assert not check(limits, delete).is_allowed


@pytest.mark.parametrize(
    ("path", "per", "major"),
    [
        ("/channels/{channel_id}/messages/{message_id}", None, (0,)),
        ("/guilds/{guild_id}/members/{user_id}", None, (0,)),
        ("/guilds/{guild_id}/members/{user_id}", "user_id", (1,)),
        ("/webhooks/{webhook_id}/{webhook_token}", None, (0, 1)),
        ("/users/{user_id}", None, ()),
        ("/channels/{channel_id}/x/{guild_id}", None, (0,)),
    ],
)
def test_major_parameters_are_derived_from_the_path(path: str, per: str | None, major: tuple[int, ...]) -> None:
    assert make_rule(path, RateLimit(1, 1.0, per=per)).major_positions == major


def test_a_limit_per_unknown_parameter_raises_at_startup() -> None:
    with pytest.raises(ValueError, match="guild_id"):
        make_rule("/users/{user_id}", RateLimit(1, 1.0, per="guild_id"))


def test_ages_of_the_target_have_separate_buckets() -> None:
    now = ManualTime()
    limits = RateLimits(now)
    rule = make_rule(
        "/channels/{channel_id}/messages/{message_id}", RateLimit(1, 1.0, age_thresholds_seconds=(10.0, 1_209_600.0))
    )
    ages_ms = (9_999, 10_000, 1_209_599_999, 1_209_600_000)
    new_message, message_of_10_seconds, recent_message, message_of_14_days = (
        str(int(Snowflake.at(NOW_MS - age))) for age in ages_ms
    )

    verdicts = [
        check(limits, rule, values=("7", message))
        for message in (new_message, message_of_10_seconds, recent_message, message_of_14_days)
    ]

    assert [verdict.is_allowed for verdict in verdicts] == [True, True, False, True]
    assert len({verdict.bucket for verdict in verdicts}) == 3
    assert check(limits, rule, values=("7", "word")).bucket == verdicts[0].bucket


def test_no_limit_means_no_rule() -> None:
    assert build_rule(Operation("GET", "/gateway", limit=None), "get_gateway") is None


def test_a_rejection_has_the_code_of_its_limit() -> None:
    limits = RateLimits(ManualTime())
    verdict = check(limits, make_rule(limit=RateLimit(0, 1.0, code=errors.CHANNEL_WRITE_RATE_LIMIT)))
    assert (verdict.code, verdict.message) == (
        errors.CHANNEL_WRITE_RATE_LIMIT.code,
        errors.CHANNEL_WRITE_RATE_LIMIT.message,
    )


def test_the_global_limit_is_per_caller_and_second() -> None:
    now = ManualTime()
    limits = RateLimits(now, global_calls=50)
    assert all(limits.check_global(1) is None for _ in range(50))
    rejected_verdict = limits.check_global(1)
    assert rejected_verdict is not None
    assert (
        rejected_verdict.is_allowed,
        rejected_verdict.scope,
        rejected_verdict.bucket,
        rejected_verdict.reset_after_ms,
    ) == (
        False,
        "global",
        "",
        1000,
    )
    assert limits.check_global(2) is None
    now.ms += 1000
    assert limits.check_global(1) is None


def test_mode_off_counts_nothing() -> None:
    limits = RateLimits(ManualTime(), RateLimitMode.OFF, global_calls=1, invalid_calls=1)
    assert limits.check(make_rule(), 1, ("7",)) is None
    assert all(limits.check_global(1) is None for _ in range(5))
    limits.record_status("::1", 401)
    assert limits.compute_remaining_block_ms("::1") == 0
    assert limits.report() == []


def test_mode_report_rejects_nothing_and_records_exceeded_limits() -> None:
    now = ManualTime()
    limits, rule = RateLimits(now, "report", global_calls=1), make_rule()
    for _ in range(5):
        assert check(limits, rule).is_allowed
        assert limits.check_global(1) is None
        now.ms += 1
    hits_by_name = {hit.name: hit for hit in limits.report()}
    assert (
        hits_by_name["sample_operation"].times,
        hits_by_name["sample_operation"].caller,
        hits_by_name["sample_operation"].major,
    ) == (3, "1", ["7"])
    assert (hits_by_name["sample_operation"].first_ms, hits_by_name["sample_operation"].last_ms) == (
        NOW_MS + 2,
        NOW_MS + 4,
    )
    assert (hits_by_name["global"].times, hits_by_name["global"].scope, hits_by_name["global"].refused) == (
        4,
        "global",
        False,
    )
    limits.clear()
    assert limits.report() == []


def test_the_guard_blocks_an_ip_address_until_its_window_ends() -> None:
    now = ManualTime()
    limits = RateLimits(now, invalid_calls=3)
    for status in (200, 404, 401, 403):
        limits.record_status("1.2.3.4", status)
    limits.record_status("1.2.3.4", 429, is_shared=True)
    assert limits.compute_remaining_block_ms("1.2.3.4") == 0
    limits.record_status("1.2.3.4", 429)
    assert limits.compute_remaining_block_ms("1.2.3.4") == 600_000
    assert limits.compute_remaining_block_ms("5.6.7.8") == 0
    now.ms += 600_000
    assert limits.compute_remaining_block_ms("1.2.3.4") == 0


def test_the_guard_is_off_by_default() -> None:
    limits = RateLimits(ManualTime())
    for _ in range(20_000):
        limits.record_status("1.2.3.4", 401)
    assert limits.compute_remaining_block_ms("1.2.3.4") == 0


def test_the_number_of_windows_is_bounded() -> None:
    windows = FixedWindows(windows_max=5000)
    for number in range(50_000):
        windows.count((number,), 60_000, NOW_MS)
    assert len(windows) <= 5000
    # Expired windows are removed before the limit is reached.
    windows = FixedWindows(windows_max=5000)
    for number in range(50_000):
        windows.count((number,), 10, NOW_MS + number)
    assert len(windows) <= 2048


def test_setting_the_clock_back_resets_the_windows() -> None:
    now = ManualTime()
    limits, rule = RateLimits(now), make_rule()
    for _ in range(3):
        check(limits, rule)
    now.ms -= 3_600_000
    assert check(limits, rule).remaining == 1


def test_the_report_is_bounded() -> None:
    limits, rule = RateLimits(ManualTime(), "report"), make_rule(limit=RateLimit(0, 1.0))
    for caller in range(3000):
        check(limits, rule, caller)
    assert len(limits.report()) == 1000
