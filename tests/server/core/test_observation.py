"""The log of slow operations, and the metrics of the event loop, the store and the process."""

import logging
import re
import time

import msgspec
import pytest

from hubbub.server.core.config import Config
from hubbub.server.core.config_sections import LogConfig
from hubbub.server.core.loop_monitor import INTERVAL_SECONDS
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.observation import CURRENT, SLOW_LINES_MAX, SLOW_LINES_SECONDS, Observer
from tests.world import World

LOGGER = "hubbub.server.core.observation"
LAG_SECONDS = 0.1
"""Time in seconds for which a test delays the timer of the monitor."""


class TestSlowOperations:
    """Tests with the lowest limit: operations that take 1 ms or longer are logged as slow."""

    @pytest.fixture
    def world_config(self, store_config: Config) -> Config:
        return msgspec.structs.replace(store_config, log=LogConfig(slow_ms=1))

    async def test_a_slow_request_is_logged_without_personal_data(
        self, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        guild = await world.guild()
        world.app.observer._slow_count = 0
        with caplog.at_level(logging.WARNING, LOGGER):
            # Registration hashes a password, which takes longer than a millisecond on every machine.
            await guild.owner.post("/auth/register", json={"username": "mary.slow", "password": "correct horse"})

        record = next(record for record in caplog.records if "/auth/register" in record.getMessage())
        record_fields = vars(record)
        assert record.getMessage() == "Slow operation: POST /auth/register"
        assert record.levelno == logging.WARNING
        assert record_fields["kind"] == "http"
        assert record_fields["milliseconds"] >= record_fields["store_milliseconds"]
        assert record_fields["milliseconds"] >= 1
        assert record_fields["statements"] > 0
        log_text = repr([vars(record) for record in caplog.records if record.name == LOGGER])
        assert "mary" not in log_text
        assert "horse" not in log_text
        assert str(guild.owner.id) not in log_text
        rendered_metrics = world.app.metrics.render().decode()
        assert float(re.findall(r'slow_operations_total{kind="http"} (\S+)', rendered_metrics)[0]) >= 1

    async def test_units_of_work_belong_to_their_operation_only(self, world: World) -> None:
        user = await world.user()
        assert CURRENT.get() is None
        (await user.get("/users/@me")).ok()
        assert CURRENT.get() is None


def start_and_end(observer: Observer, name: str, seconds: float) -> None:
    observation = observer.start("job", name)
    assert observation is not None
    observation.started_at -= seconds
    observer.end(observation)


def test_only_operations_above_the_limit_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    observer = Observer(Metrics(), slow_ms=1000)
    with caplog.at_level(logging.WARNING, LOGGER):
        start_and_end(observer, "fast", 0.5)
        start_and_end(observer, "slow", 1.5)
    assert [record.getMessage() for record in caplog.records] == ["Slow operation: slow"]
    assert vars(caplog.records[0])["milliseconds"] >= 1500


def test_the_number_of_lines_is_limited_and_the_others_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    observer = Observer(Metrics(), slow_ms=1)
    with caplog.at_level(logging.WARNING, LOGGER):
        for _ in range(SLOW_LINES_MAX + 7):
            start_and_end(observer, "slow", 1.0)
        assert len(caplog.records) == SLOW_LINES_MAX
        observer._window_started_at -= SLOW_LINES_SECONDS
        start_and_end(observer, "slow", 1.0)
    assert vars(caplog.records[-1])["not_logged"] == 7


def test_a_limit_of_zero_disables_observation() -> None:
    observer = Observer(Metrics(), slow_ms=0)
    assert not observer.is_enabled
    assert observer.start("http", "GET /gateway") is None
    observer.end(None)
    assert CURRENT.get() is None


async def test_a_running_server_measures_its_saturation(world: World) -> None:
    guild = await world.guild()
    await guild.send_message(guild.owner)
    # The timer of the monitor is due within an interval, so that an event loop blocked for longer delays it by the rest.
    time.sleep(INTERVAL_SECONDS + LAG_SECONDS)
    async with world.client.get(f"{world.url}/metrics") as response:
        metrics = dict(re.findall(r"^(\S+) (\S+)$", await response.text(), re.MULTILINE))
    assert float(metrics["hubbub_event_loop_lag_seconds_count"]) > 0
    assert float(metrics["hubbub_event_loop_lag_seconds_sum"]) >= LAG_SECONDS / 2
    assert float(metrics["hubbub_db_queued_units"]) == 0
    assert float(metrics["process_resident_memory_bytes"]) > 1_000_000
    assert float(metrics["process_open_fds"]) > 3
    has_connections = float(metrics["hubbub_db_connections"]) > 0
    assert has_connections == (world.app.config.database_url is not None)
