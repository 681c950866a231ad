"""Webhook events: validation of URLs and interactions endpoints, delivery, failed deliveries, and probes."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import EventWebhooksStatus, InteractionType, WebhookEventType, WebhookPayloadType
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.server.play import webhook_events
from tests.receiver import Receiver, subscribe_to_events
from tests.server.play.application_owners import DAY_MS, sign_in_owner
from tests.world import NOW_MS, Actor, World


async def send_event(world: World, bot: Actor, subject_id: int, data: Any = None, **options: Any) -> None:
    """Send a webhook event to the bot's application."""
    assert bot.application_id is not None
    application_id = ApplicationId(bot.application_id)
    event_type = options.pop("type", WebhookEventType.ENTITLEMENT_CREATE)
    await world.write(
        lambda call: webhook_events.send(call, application_id, event_type, data, subject_id=subject_id, **options)
    )


async def test_a_url_is_pinged_and_probed_before_it_is_stored(private_targets_world: World, receiver: Receiver) -> None:
    bot = await private_targets_world.bot()
    receiver.use_verify_key_of((await bot.get("/applications/@me")).ok())

    application = (await bot.patch("/applications/@me", json={"event_webhooks_url": receiver.events_url})).ok()

    assert application["event_webhooks_url"] == receiver.events_url
    assert receiver.requests == [
        {"version": 1, "application_id": str(bot.application_id), "type": WebhookPayloadType.PING}
    ]
    assert receiver.invalid_signature_count == 1
    for headers in receiver.request_headers:
        assert headers["Content-Type"] == "application/json"
        assert headers["User-Agent"]
        assert headers["X-Signature-Timestamp"] == str(private_targets_world.clock.now_ms() // 1000)
        assert len(bytes.fromhex(headers["X-Signature-Ed25519"])) == 64


@pytest.mark.one_postgres_case
@pytest.mark.parametrize("fault", ["any signature accepted", "other key", "closed", "wrong response"])
async def test_a_url_with_an_invalid_response_is_rejected(
    private_targets_world: World, receiver: Receiver, fault: str
) -> None:
    bot, other_bot = await private_targets_world.bot(), await private_targets_world.bot()
    receiver.use_verify_key_of((await (other_bot if fault == "other key" else bot).get("/applications/@me")).ok())
    receiver.accepts_invalid_signatures = fault == "any signature accepted"
    url = receiver.events_url
    if fault == "closed":
        await receiver.close()
    if fault == "wrong response":
        url = url.replace("/events", "/interactions")

    response = await bot.patch("/applications/@me", json={"event_webhooks_url": url, "description": "new"})

    assert response.errors("event_webhooks_url") == ["APPLICATION_EVENT_WEBHOOKS_URL_INVALID"]
    application = (await bot.get("/applications/@me")).ok()
    assert application["event_webhooks_url"] is None
    assert application["description"] == ""


async def test_local_addresses_are_not_requested(world: World, receiver: Receiver) -> None:
    bot = await world.bot()

    response = await bot.patch("/applications/@me", json={"event_webhooks_url": receiver.events_url})

    assert response.errors("event_webhooks_url") == ["APPLICATION_EVENT_WEBHOOKS_URL_INVALID"]
    assert receiver.request_headers == []


async def test_an_interactions_endpoint_must_respond_with_a_pong(
    private_targets_world: World, receiver: Receiver
) -> None:
    bot = await private_targets_world.bot()
    receiver.use_verify_key_of((await bot.get("/applications/@me")).ok())
    url = receiver.events_url.replace("/events", "/interactions")

    application = (await bot.patch("/applications/@me", json={"interactions_endpoint_url": url})).ok()
    rejected_response = await bot.patch("/applications/@me", json={"interactions_endpoint_url": receiver.events_url})

    assert application["interactions_endpoint_url"] == url
    assert receiver.requests[0]["type"] == InteractionType.PING
    assert receiver.requests[0]["application_id"] == str(bot.application_id)
    assert rejected_response.errors("interactions_endpoint_url") == ["APPLICATION_INTERACTIONS_ENDPOINT_URL_INVALID"]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    "pong", [b'{"type": 1, "more": ' + b"[" * 5000 + b"]" * 5000 + b"}", b'{"type": 1, "\xff": 1}', b"[1]", b""]
)
async def test_an_invalid_pong_is_rejected(private_targets_world: World, receiver: Receiver, pong: bytes) -> None:
    bot = await private_targets_world.bot()
    receiver.use_verify_key_of((await bot.get("/applications/@me")).ok())
    receiver.ping_response = pong

    url = receiver.events_url.replace("/events", "/interactions")
    rejected_response = await bot.patch("/applications/@me", json={"interactions_endpoint_url": url})

    assert rejected_response.errors("interactions_endpoint_url") == ["APPLICATION_INTERACTIONS_ENDPOINT_URL_INVALID"]
    assert receiver.requests[0]["type"] == InteractionType.PING


async def test_both_urls_are_validated_together_and_only_for_managers(
    private_targets_world: World, receiver: Receiver
) -> None:
    bot = await private_targets_world.bot()
    body = {"interactions_endpoint_url": "http://127.0.0.1:1/", "event_webhooks_url": "http://127.0.0.1:1/"}

    rejected_response = await bot.patch("/applications/@me", json=body)
    assert rejected_response.errors("event_webhooks_url")
    assert rejected_response.errors("interactions_endpoint_url")

    stranger = await private_targets_world.user()
    path = f"/applications/{bot.application_id}"
    (await stranger.patch(path, json={"event_webhooks_url": receiver.events_url})).rejected(403, 20012)
    assert receiver.request_headers == []
    assert (await bot.patch("/applications/@me", json={"event_webhooks_types": ["NONSENSE"]})).errors(
        "event_webhooks_types.0"
    )


async def test_an_event_is_delivered_in_its_envelope(private_targets_world: World, receiver: Receiver) -> None:
    bot = await private_targets_world.bot()
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")

    await send_event(private_targets_world, bot, 7, {"id": "5"})

    await receiver.wait_for_events(1)
    assert receiver.requests == [
        {
            "version": 1,
            "application_id": str(bot.application_id),
            "type": WebhookPayloadType.EVENT,
            "event": {"type": "ENTITLEMENT_CREATE", "timestamp": "2026-11-18T11:06:40.000000", "data": {"id": "5"}},
        }
    ]


async def test_only_subscribed_events_are_sent(private_targets_world: World, receiver: Receiver) -> None:
    bot = await private_targets_world.bot()
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE", "QUEST_USER_ENROLLMENT")

    await send_event(private_targets_world, bot, 7, type=WebhookEventType.ENTITLEMENT_DELETE)
    (await bot.patch("/applications/@me", json={"event_webhooks_status": EventWebhooksStatus.DISABLED})).ok()
    await send_event(private_targets_world, bot, 7)
    (await bot.patch("/applications/@me", json={"event_webhooks_status": EventWebhooksStatus.ENABLED})).ok()
    await send_event(private_targets_world, bot, 7, 2)
    await private_targets_world.run_due_jobs()

    assert [event["data"] for event in receiver.events] == [2]


@pytest.mark.dated(changes.WEBHOOK_EVENTS, changes.APPLICATION_DEAUTHORIZED_EVENT)
async def test_no_webhook_events_are_sent_before_their_dates(private_targets_world: World, receiver: Receiver) -> None:
    bot, user = await private_targets_world.bot(), await private_targets_world.user()
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE", "APPLICATION_DEAUTHORIZED")
    application_id = ApplicationId(bot.application_id or 0)

    events_ms, deauthorized_ms = changes.WEBHOOK_EVENTS.at_ms, changes.APPLICATION_DEAUTHORIZED_EVENT.at_ms
    for now_ms in (events_ms - 1, events_ms, deauthorized_ms - 1, deauthorized_ms):
        private_targets_world.clock.set(now_ms)
        await send_event(private_targets_world, bot, 7, now_ms)
        await private_targets_world.write(
            lambda call: webhook_events.send_application_deauthorized(call, application_id, UserId(user.id))
        )
    private_targets_world.clock.set(NOW_MS)
    await private_targets_world.run_due_jobs()

    event_types = [event["type"] for event in receiver.events]
    assert event_types.count("ENTITLEMENT_CREATE") == 3
    assert event_types.count("APPLICATION_DEAUTHORIZED") == 1


async def test_authorization_events_are_delivered_in_order(private_targets_world: World, receiver: Receiver) -> None:
    bot, alice = await private_targets_world.bot(), await private_targets_world.user("alice")
    guild = await private_targets_world.guild(alice)
    await subscribe_to_events(receiver, bot, "APPLICATION_AUTHORIZED", "APPLICATION_DEAUTHORIZED")
    application_id = ApplicationId(bot.application_id or 0)

    await private_targets_world.write(
        lambda call: webhook_events.send_application_authorized(
            call, application_id, alice.id, ["bot"], integration_type=0, guild_id=guild.id
        )
    )
    await private_targets_world.write(
        lambda call: webhook_events.send_application_authorized(call, application_id, alice.id, ["identify"])
    )
    await private_targets_world.write(
        lambda call: webhook_events.send_application_deauthorized(call, application_id, alice.id)
    )

    installed_event, authorized_event, deauthorized_event = await receiver.wait_for_events(3)
    assert installed_event["data"]["integration_type"] == 0
    assert installed_event["data"]["guild"]["id"] == str(guild.id)
    assert installed_event["data"]["user"]["username"] == "alice"
    assert authorized_event["data"]["scopes"] == ["identify"]
    assert not {"integration_type", "guild"} & set(authorized_event["data"])
    assert deauthorized_event["type"] == "APPLICATION_DEAUTHORIZED"
    assert deauthorized_event["data"]["user"]["id"] == str(alice.id)


async def test_a_lobby_url_overrides_the_application_url(private_targets_world: World, receiver: Receiver) -> None:
    bot = await private_targets_world.bot()
    receiver.use_verify_key_of((await bot.get("/applications/@me")).ok())

    await send_event(
        private_targets_world, bot, 7, "hi", type=WebhookEventType.LOBBY_MESSAGE_CREATE, url=receiver.events_url
    )

    assert (await receiver.wait_for_events(1))[0]["type"] == "LOBBY_MESSAGE_CREATE"


async def test_managers_list_and_retry_failed_events(private_targets_world: World, receiver: Receiver) -> None:
    bot = await private_targets_world.bot()
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    receiver.default_status = 500
    for number in range(3):
        await send_event(private_targets_world, bot, number, number)
    await private_targets_world.run_due_jobs()
    await private_targets_world.clock.run_for(600_000)
    failed_path = f"/applications/{bot.application_id}/webhook-events/failed"

    owner = await sign_in_owner(private_targets_world, bot)
    failures = (await owner.get(failed_path)).ok()
    assert [(failure["type"], failure["attempts"], failure["error"]) for failure in failures] == [
        ("ENTITLEMENT_CREATE", 11, "PermanentFailure: the endpoint returned status 500")
    ] * 3
    assert [failure["payload"]["event"]["data"] for failure in failures] == [0, 1, 2]
    assert (await owner.get(f"{failed_path}?limit=1&after={failures[0]['id']}")).ok() == failures[1:2]

    other_bot, stranger = await private_targets_world.bot(), await private_targets_world.user()
    assert (await other_bot.get(f"/applications/{other_bot.application_id}/webhook-events/failed")).ok() == []
    for actor in (other_bot, stranger):
        (await actor.get(failed_path)).rejected(403, 20012)
        (await actor.post(f"{failed_path}/retry")).rejected(403, 20012)
        (await actor.post(f"{failed_path}/{failures[0]['id']}/retry")).rejected(403, 20012)
    (
        await other_bot.post(
            f"/applications/{other_bot.application_id}/webhook-events/failed/{failures[0]['id']}/retry"
        )
    ).rejected(404, 0)

    receiver.default_status = 204
    receiver.requests.clear()
    (await bot.post(f"{failed_path}/{failures[1]['id']}/retry")).ok()
    await private_targets_world.run_due_jobs()
    assert [event["data"] for event in receiver.events] == [1]
    (await owner.post(f"{failed_path}/{failures[1]['id']}/retry")).rejected(404, 0)
    (await owner.post(f"{failed_path}/retry")).ok()
    await private_targets_world.run_due_jobs()
    assert sorted(event["data"] for event in receiver.events) == [0, 1, 2]
    assert (await owner.get(failed_path)).ok() == []


async def test_a_receiver_that_fails_for_a_day_is_disabled(private_targets_world: World, receiver: Receiver) -> None:
    bot = await private_targets_world.bot()
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    receiver.default_status = 503

    async def webhooks_status() -> int:
        status: int = (await bot.get("/applications/@me")).ok()["event_webhooks_status"]
        return status

    for number in range(9):
        await send_event(private_targets_world, bot, number)
    await private_targets_world.run_due_jobs()
    await private_targets_world.clock.run_for(600_000)
    assert await webhooks_status() == EventWebhooksStatus.ENABLED
    await private_targets_world.clock.run_for(DAY_MS - 600_001)
    await send_event(private_targets_world, bot, 100)
    await private_targets_world.run_due_jobs()
    assert await webhooks_status() == EventWebhooksStatus.ENABLED
    await private_targets_world.clock.run_for(600_000)

    assert await webhooks_status() == EventWebhooksStatus.DISABLED_BY_PLATFORM
    assert (await bot.get("/applications/@me")).ok()["event_webhooks_url"] == receiver.events_url
    # No more events are queued until the application enables them again.
    event_count = len(receiver.events)
    await send_event(private_targets_world, bot, 101)
    await private_targets_world.run_due_jobs()
    assert len(receiver.events) == event_count
    receiver.default_status = 204
    (await bot.patch("/applications/@me", json={"event_webhooks_status": EventWebhooksStatus.ENABLED})).ok()
    await send_event(private_targets_world, bot, 102, "back")
    await private_targets_world.run_due_jobs()
    assert receiver.events[-1]["data"] == "back"


async def test_deleting_an_application_deletes_its_events(private_targets_world: World, receiver: Receiver) -> None:
    world, user = private_targets_world, await private_targets_world.user()
    bot, other_bot = await world.bot(), await world.bot()
    for app_bot in (bot, other_bot):
        await subscribe_to_events(receiver, app_bot, "ENTITLEMENT_CREATE", "APPLICATION_DEAUTHORIZED")
        # Deleting an application revokes its authorizations, which would be sent as events.
        authorize_path = (
            f"/oauth2/authorize?client_id={app_bot.application_id}&scope=applications.commands&integration_type=1"
        )
        (await user.post(authorize_path, json={"authorize": True})).ok()
    receiver.default_status = 500
    for app_bot in (bot, other_bot):
        await send_event(world, app_bot, 1, 1)
    await world.run_due_jobs()
    await world.clock.run_for(600_000)
    for app_bot in (bot, other_bot):
        await send_event(world, app_bot, 2, 2)
    await world.run_due_jobs()
    owner = await sign_in_owner(world, bot)

    (await owner.delete(f"/applications/{bot.application_id}")).ok()
    await world.run_due_jobs()
    await world.clock.run_for(DAY_MS + 600_000)

    async def stored_rows(app_bot: Actor) -> list[Any]:
        jobs = f"SELECT kind, key, state FROM jobs WHERE key LIKE 'webhook_events.%/{app_bot.application_id}%'"
        failures = f"SELECT * FROM webhook_event_failures WHERE application_id = {app_bot.application_id}"
        rows: list[Any] = await world.app.database.read(lambda tx: [*tx.all(jobs), *tx.all(failures)])
        return rows

    assert await stored_rows(bot) == []
    assert {"failed", "waiting"} <= {row[-1] for row in await stored_rows(other_bot)}


async def test_a_success_clears_earlier_failures(private_targets_world: World, receiver: Receiver) -> None:
    bot = await private_targets_world.bot()
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    receiver.next_statuses = [500, 500, 204]

    await send_event(private_targets_world, bot, 7)
    await private_targets_world.run_due_jobs()
    failures = "SELECT attempts FROM webhook_event_failures"
    assert await private_targets_world.app.database.read(lambda tx: tx.all(failures)) == [(1,)]
    await private_targets_world.clock.run_for(10_000)

    assert await private_targets_world.app.database.read(lambda tx: tx.all(failures)) == []
    assert len(receiver.events) == 3


async def test_the_url_of_a_receiver_that_accepts_a_forged_request_is_removed(
    private_targets_world: World, receiver: Receiver
) -> None:
    bot = await private_targets_world.bot()
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    await private_targets_world.run_due_jobs()

    await private_targets_world.clock.run_for(2 * DAY_MS)
    assert receiver.invalid_signature_count == 2
    receiver.default_status = 500
    await receiver.close()
    await private_targets_world.clock.run_for(DAY_MS)
    await receiver.open()
    assert (await bot.get("/applications/@me")).ok()["event_webhooks_url"] == receiver.events_url
    receiver.accepts_invalid_signatures = True
    await private_targets_world.clock.run_for(DAY_MS)

    application = (await bot.get("/applications/@me")).ok()
    assert (application["event_webhooks_url"], application["event_webhooks_status"]) == (
        None,
        EventWebhooksStatus.DISABLED_BY_PLATFORM,
    )
    probe_count = receiver.invalid_signature_count
    await private_targets_world.clock.run_for(3 * DAY_MS)
    assert receiver.invalid_signature_count == probe_count
    response = await bot.patch("/applications/@me", json={"event_webhooks_status": EventWebhooksStatus.ENABLED})
    assert response.errors("event_webhooks_url") == ["BASE_TYPE_REQUIRED"]
    # Writing a URL that passes the check enables the events again.
    receiver.accepts_invalid_signatures = False
    application = (await bot.patch("/applications/@me", json={"event_webhooks_url": receiver.events_url})).ok()
    assert application["event_webhooks_status"] == EventWebhooksStatus.ENABLED


async def test_enabling_events_requires_a_url(private_targets_world: World, receiver: Receiver) -> None:
    bot = await private_targets_world.bot()
    response = await bot.patch("/applications/@me", json={"event_webhooks_status": EventWebhooksStatus.ENABLED})
    assert response.errors("event_webhooks_url") == ["BASE_TYPE_REQUIRED"]
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")

    application = (await bot.patch("/applications/@me", json={"event_webhooks_url": None})).ok()

    assert (application["event_webhooks_url"], application["event_webhooks_status"]) == (
        None,
        EventWebhooksStatus.DISABLED,
    )


async def test_duplicate_event_types_are_rejected(world: World) -> None:
    bot = await world.bot()

    response = await bot.patch("/applications/@me", json={"event_webhooks_types": ["ENTITLEMENT_CREATE"] * 2})

    assert response.errors("event_webhooks_types.1") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]


async def test_a_removed_url_is_not_probed(private_targets_world: World, receiver: Receiver) -> None:
    bot = await private_targets_world.bot()
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")

    (await bot.patch("/applications/@me", json={"event_webhooks_url": None})).ok()
    await private_targets_world.clock.run_for(3 * DAY_MS)

    assert receiver.invalid_signature_count == 0
