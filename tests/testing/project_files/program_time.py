"""Tests in which the time of the program follows the platform's clock. `test_plugin.py` runs this file."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from hubbub.testing import Platform


@pytest.mark.hubbub(now="2031-05-01T12:00:00Z")
def test_the_time_of_the_program_follows_the_clock(hubbub: Platform, hubbub_program_time: None) -> None:
    assert datetime.now(UTC).date().isoformat() == "2031-05-01"
    hubbub.clock.freeze()
    before = datetime.now(UTC)
    assert datetime.now(UTC) == before
    hubbub.clock.advance(days=40)
    assert datetime.now(UTC) - before == timedelta(days=40)
    hubbub.clock.set("2033-01-01T00:00:00Z")
    assert time.gmtime().tm_year == 2033
    hubbub.clock.resume()
    start = time.time()
    while time.time() == start:
        pass


@pytest.mark.hubbub(now="2031-05-01T12:00:00Z")
async def test_an_event_loop_continues(hubbub: Platform, hubbub_program_time: None) -> None:
    await hubbub.users["alice"].send_message("general", "before")
    await hubbub.clock.advance(days=400)
    sent_message = await hubbub.users["alice"].send_message("general", "after")
    assert sent_message["timestamp"].startswith(datetime.now(UTC).date().isoformat())


def test_the_time_is_restored() -> None:
    assert datetime.now(UTC).year < 2031
