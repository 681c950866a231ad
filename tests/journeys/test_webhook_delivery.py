"""Webhook event delivery under failures, over real sockets: no event is lost, retries end, and the order is preserved."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hubbub.protocol.enums import WebhookEventType
from hubbub.protocol.ids import ApplicationId
from hubbub.server.app import App
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.play import webhook_events
from tests.fixtures.validator import ResponseMonitor
from tests.receiver import NO_RESPONSE, Receiver, extend_timeouts, subscribe_to_events
from tests.world import NOW_MS, Actor, World, small_config

ATTEMPT_SECONDS = [0, 1, 3, 7, 15, 31, 63, 127, 255, 383, 511]
"""Times of the attempts in seconds after the first: each delay doubles up to 128, and there is no attempt after 600."""


async def publish_event(world: World, bot: Actor, subject_id: int, data: Any) -> None:
    """Publish an event that the application subscribes to, and make the delivery attempts that are due."""
    assert bot.application_id is not None
    application_id, event_type = ApplicationId(bot.application_id), WebhookEventType.ENTITLEMENT_UPDATE
    await world.write(lambda call: webhook_events.send(call, application_id, event_type, data, subject_id=subject_id))
    await world.run_due_jobs()


async def list_failed_data(bot: Actor) -> list[Any]:
    """Return the event data of the deliveries that failed permanently."""
    deliveries = (await bot.get(f"/applications/{bot.application_id}/webhook-events/failed")).ok()
    return [delivery["payload"]["event"]["data"] for delivery in deliveries]


@pytest.fixture
async def bot(private_targets_world: World, receiver: Receiver) -> Actor:
    """The bot of an application that subscribes to ENTITLEMENT_UPDATE at the receiver."""
    bot_actor = await private_targets_world.bot()
    await subscribe_to_events(receiver, bot_actor, "ENTITLEMENT_UPDATE")
    return bot_actor


async def test_a_failing_receiver_is_retried_with_backoff_for_ten_minutes(
    private_targets_world: World, receiver: Receiver, bot: Actor
) -> None:
    receiver.default_status = 500
    attempt_seconds: list[int] = []
    await publish_event(private_targets_world, bot, 1, "lost?")

    for second in range(700):
        attempt_seconds += [second] * (len(receiver.events) - len(attempt_seconds))
        await private_targets_world.clock.run_for(1_000)
    await private_targets_world.clock.run_for(3_600_000)

    assert attempt_seconds == ATTEMPT_SECONDS
    assert len(receiver.events) == len(ATTEMPT_SECONDS)
    assert all(event == receiver.events[0] for event in receiver.events)
    assert await list_failed_data(bot) == ["lost?"]


async def test_events_wait_for_an_unreachable_receiver_and_arrive_in_order(
    private_targets_world: World, receiver: Receiver, bot: Actor
) -> None:
    await receiver.close()
    for number in range(5):
        await publish_event(private_targets_world, bot, 1, number)
    await private_targets_world.clock.run_for(60_000)
    await receiver.open()

    await private_targets_world.clock.run_for(10_000)

    assert [event["data"] for event in receiver.events] == [0, 1, 2, 3, 4]
    assert await list_failed_data(bot) == []


async def test_a_failing_subject_delays_only_its_own_events(
    private_targets_world: World, receiver: Receiver, bot: Actor
) -> None:
    receiver.next_statuses = [500, 500]
    await publish_event(private_targets_world, bot, 1, "first")
    await publish_event(private_targets_world, bot, 1, "second")
    receiver.next_statuses = [204, 500]
    await publish_event(private_targets_world, bot, 2, "other")
    assert [event["data"] for event in receiver.events] == ["first", "other"]

    await private_targets_world.clock.run_for(10_000)

    assert [event["data"] for event in receiver.events] == ["first", "other", "first", "first", "second"]


async def test_the_next_event_of_a_subject_is_sent_after_a_failed_one_is_dropped(
    private_targets_world: World, receiver: Receiver, bot: Actor
) -> None:
    receiver.next_statuses = [500] * len(ATTEMPT_SECONDS)
    await publish_event(private_targets_world, bot, 1, "poison")
    await publish_event(private_targets_world, bot, 1, "good")

    await private_targets_world.clock.run_for(600_000)

    assert [event["data"] for event in receiver.events] == ["poison"] * len(ATTEMPT_SECONDS) + ["good"]
    assert await list_failed_data(bot) == ["poison"]


async def test_a_slow_response_is_not_an_acknowledgement(
    private_targets_world: World, receiver: Receiver, bot: Actor
) -> None:
    receiver.next_statuses = [NO_RESPONSE, 204]

    # Three real seconds: sockets do not follow the world's clock.
    await publish_event(private_targets_world, bot, 1, "slow")
    await private_targets_world.clock.run_for(1_000)

    assert [event["data"] for event in receiver.events] == ["slow", "slow"]


async def test_a_slow_receiver_gets_events_of_many_subjects_exactly_once(
    private_targets_world: World, receiver: Receiver, bot: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    extend_timeouts(private_targets_world, monkeypatch)
    assert bot.application_id is not None
    application_id, event_type = ApplicationId(bot.application_id), WebhookEventType.ENTITLEMENT_UPDATE
    # The receiver responds only when it holds as many requests as one application may have, so this passes only if
    # none waits for a connection.
    receiver.barrier = asyncio.Barrier(jobs.GROUP_JOBS_MAX)

    def publish_events(call: Call) -> None:
        for subject_id in range(2 * jobs.GROUP_JOBS_MAX):
            webhook_events.send(call, application_id, event_type, subject_id, subject_id=subject_id)

    await private_targets_world.write(publish_events)
    await private_targets_world.run_due_jobs()

    assert sorted(event["data"] for event in receiver.events) == list(range(2 * jobs.GROUP_JOBS_MAX))
    assert await list_failed_data(bot) == []


async def test_a_receiver_that_rejects_the_signature_is_retried(
    private_targets_world: World, receiver: Receiver, bot: Actor
) -> None:
    other_bot = await private_targets_world.bot()
    receiver.use_verify_key_of((await other_bot.get("/applications/@me")).ok())
    await publish_event(private_targets_world, bot, 1, "signed event")
    assert receiver.events == []
    receiver.use_verify_key_of((await bot.get("/applications/@me")).ok())

    await private_targets_world.clock.run_for(1_000)

    assert [event["data"] for event in receiver.events] == ["signed event"]


async def test_deliveries_of_a_killed_process_are_completed_by_the_next(
    tmp_path: Path, receiver: Receiver, response_monitor: ResponseMonitor
) -> None:
    config = small_config(data=str(tmp_path), allow_private_targets=True)
    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        bot = await world.bot()
        await subscribe_to_events(receiver, bot, "ENTITLEMENT_UPDATE")
        # The receiver gets the first event and does not respond; two more wait behind it, and one for another subject.
        receiver.next_statuses = [NO_RESPONSE, NO_RESPONSE]
        application_id, event_type = ApplicationId(bot.application_id or 0), WebhookEventType.ENTITLEMENT_UPDATE
        for subject_id, data in ((1, "a"), (1, "b"), (1, "c"), (2, "d")):
            await world.write(
                lambda call, subject_id=subject_id, data=data: webhook_events.send(
                    call, application_id, event_type, data, subject_id=subject_id
                )
            )
        await receiver.wait_for_events(2)
        await world.close()
        # Simulate a kill: claimed jobs are neither finished nor released.
        assert app.worker is not None
        tasks = list(app.worker._tasks_by_job_id.values())
        app.worker._is_stopped = True
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        app.worker = None
        await app.stop()

    # The lease of the claimed jobs has to expire first.
    restarted_app = App(config, clock=ControlledClock(NOW_MS + 600_000, running=False))
    await restarted_app.start()
    async with aiohttp.ClientSession() as client:
        world = World(restarted_app, client)
        bot.world = world
        await world.run_due_jobs()
        received_data = [event["data"] for event in receiver.events]
        assert sorted(received_data[:2]) == ["a", "d"]
        assert [data for data in received_data[2:] if data != "d"] == ["a", "b", "c"]
        assert received_data.count("d") == 2
        assert await list_failed_data(bot) == []
        await world.close()
    await restarted_app.stop()


async def test_an_orderly_shutdown_releases_its_events_immediately(
    tmp_path: Path, receiver: Receiver, response_monitor: ResponseMonitor
) -> None:
    config = small_config(data=str(tmp_path), allow_private_targets=True)
    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        bot = await world.bot()
        await subscribe_to_events(receiver, bot, "ENTITLEMENT_UPDATE")
        receiver.default_status = 500
        await publish_event(world, bot, 1, "a")
        await world.close()
        await app.stop()

    receiver.default_status = 204
    restarted_app = App(config, clock=ControlledClock(NOW_MS + 1_000, running=False))
    await restarted_app.start()
    async with aiohttp.ClientSession() as client:
        await World(restarted_app, client).run_due_jobs()
        assert [event["data"] for event in receiver.events] == ["a", "a"]
    await restarted_app.stop()


async def test_redirects_and_error_statuses_are_not_acknowledgements(
    private_targets_world: World, receiver: Receiver, bot: Actor
) -> None:
    receiver.next_statuses = [302, 404, 200]
    await publish_event(private_targets_world, bot, 1, "x")
    await private_targets_world.clock.run_for(10_000)

    assert len(receiver.events) == 3
    assert await list_failed_data(bot) == []
