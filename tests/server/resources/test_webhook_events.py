"""Webhook events: which addresses are kept, which events leave, and what becomes of those that do not arrive."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import WebhookEventType
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.server.core.call import Call
from hubbub.server.resources import applications, webhook_events
from tests.receiver import Receiver, subscribe
from tests.world import Actor, World

DAY_MS = 24 * 3_600_000


async def tell(world: World, bot: Actor, subject: int, data: Any = None, **options: Any) -> None:
    """Something happens that the application may hear of."""
    assert bot.application_id is not None
    application_id = ApplicationId(bot.application_id)
    kind = options.pop("type", WebhookEventType.ENTITLEMENT_CREATE)
    await world.write(lambda call: webhook_events.send(call, application_id, kind, data, subject_id=subject, **options))


async def settle(world: World) -> None:
    """All that is due is done."""
    assert world.app.worker is not None
    await world.app.worker.run_due()


async def owner_of(world: World, bot: Actor) -> Actor:
    """The person who owns a bot's application, with a token."""
    from hubbub.server.core import auth

    def sign_in(call: Call) -> tuple[int, str]:
        row = applications.find_by_bot(call.tx, bot.id)
        assert row is not None
        return row.owner_id, auth.issue(call.tx, kind="user", user_id=row.owner_id, now=call.now, ids=call.ids)

    user_id, token = await world.write(sign_in)
    return Actor(world, user_id, token, "owner")


async def test_an_address_is_pinged_and_probed_before_it_is_kept(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    receiver.of((await bot.get("/applications/@me")).ok())

    shown = (await bot.patch("/applications/@me", json={"event_webhooks_url": receiver.url})).ok()

    assert shown["event_webhooks_url"] == receiver.url
    assert receiver.requests == [{"version": 1, "application_id": str(bot.application_id), "type": 0}]
    assert receiver.forged == 1
    for headers in receiver.headers:
        assert headers["Content-Type"] == "application/json"
        assert headers["User-Agent"]
        assert headers["X-Signature-Timestamp"] == str(near_world.clock.now_ms() // 1000)
        assert len(bytes.fromhex(headers["X-Signature-Ed25519"])) == 64


@pytest.mark.parametrize("trouble", ["trusting", "other key", "closed", "wrong answer"])
async def test_an_address_that_does_not_answer_as_it_should_is_refused(
    near_world: World, receiver: Receiver, trouble: str
) -> None:
    bot, other = await near_world.bot(), await near_world.bot()
    receiver.of((await (other if trouble == "other key" else bot).get("/applications/@me")).ok())
    receiver.trusting = trouble == "trusting"
    url = receiver.url
    if trouble == "closed":
        await receiver.close()
    if trouble == "wrong answer":
        url = url.replace("/events", "/interactions")

    answer = await bot.patch("/applications/@me", json={"event_webhooks_url": url, "description": "new"})

    assert answer.errors("event_webhooks_url") == ["APPLICATION_EVENT_WEBHOOKS_URL_INVALID"]
    shown = (await bot.get("/applications/@me")).ok()
    assert shown["event_webhooks_url"] is None
    assert shown["description"] == ""


async def test_addresses_of_this_machine_are_not_called(world: World, receiver: Receiver) -> None:
    bot = await world.bot()

    answer = await bot.patch("/applications/@me", json={"event_webhooks_url": receiver.url})

    assert answer.errors("event_webhooks_url") == ["APPLICATION_EVENT_WEBHOOKS_URL_INVALID"]
    assert receiver.headers == []


async def test_an_interactions_endpoint_must_answer_a_ping_with_a_pong(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    receiver.of((await bot.get("/applications/@me")).ok())
    url = receiver.url.replace("/events", "/interactions")

    shown = (await bot.patch("/applications/@me", json={"interactions_endpoint_url": url})).ok()
    refused = await bot.patch("/applications/@me", json={"interactions_endpoint_url": receiver.url})

    assert shown["interactions_endpoint_url"] == url
    assert receiver.requests[0]["type"] == 1
    assert receiver.requests[0]["application_id"] == str(bot.application_id)
    assert refused.errors("interactions_endpoint_url") == ["APPLICATION_INTERACTIONS_ENDPOINT_URL_INVALID"]


@pytest.mark.parametrize(
    "pong", [b'{"type": 1, "more": ' + b"[" * 5000 + b"]" * 5000 + b"}", b'{"type": 1, "\xff": 1}', b"[1]", b""]
)
async def test_an_answer_that_is_no_pong_is_refused(near_world: World, receiver: Receiver, pong: bytes) -> None:
    bot = await near_world.bot()
    receiver.of((await bot.get("/applications/@me")).ok())
    receiver.pong = pong

    url = receiver.url.replace("/events", "/interactions")
    refused = await bot.patch("/applications/@me", json={"interactions_endpoint_url": url})

    assert refused.errors("interactions_endpoint_url") == ["APPLICATION_INTERACTIONS_ENDPOINT_URL_INVALID"]
    assert receiver.requests[0]["type"] == 1


async def test_both_addresses_are_refused_together_and_others_have_no_say(
    near_world: World, receiver: Receiver
) -> None:
    bot = await near_world.bot()
    body = {"interactions_endpoint_url": "http://127.0.0.1:1/", "event_webhooks_url": "http://127.0.0.1:1/"}

    refused = await bot.patch("/applications/@me", json=body)
    assert refused.errors("event_webhooks_url")
    assert refused.errors("interactions_endpoint_url")

    stranger = await near_world.user()
    path = f"/applications/{bot.application_id}"
    (await stranger.patch(path, json={"event_webhooks_url": receiver.url})).refused(403, 20012)
    assert receiver.headers == []
    assert (await bot.patch("/applications/@me", json={"event_webhooks_types": ["NONSENSE"]})).errors(
        "event_webhooks_types.0"
    )


async def test_an_event_arrives_in_its_envelope(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    await subscribe(receiver, bot, "ENTITLEMENT_CREATE")

    await tell(near_world, bot, 7, {"id": "5"})

    await receiver.take(1)
    assert receiver.requests == [
        {
            "version": 1,
            "application_id": str(bot.application_id),
            "type": 1,
            "event": {"type": "ENTITLEMENT_CREATE", "timestamp": "2026-11-18T11:06:40.000000", "data": {"id": "5"}},
        }
    ]


async def test_only_what_was_asked_for_is_sent(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    await subscribe(receiver, bot, "ENTITLEMENT_CREATE", "QUEST_USER_ENROLLMENT")

    await tell(near_world, bot, 7, type=WebhookEventType.ENTITLEMENT_DELETE)
    (await bot.patch("/applications/@me", json={"event_webhooks_status": 1})).ok()
    await tell(near_world, bot, 7)
    (await bot.patch("/applications/@me", json={"event_webhooks_status": 2})).ok()
    await tell(near_world, bot, 7, 2)
    await settle(near_world)

    assert [event["data"] for event in receiver.events] == [2]


@pytest.mark.dated(changes.WEBHOOK_EVENTS, changes.APPLICATION_DEAUTHORIZED_EVENT)
async def test_before_their_day_there_are_no_webhook_events(near_world: World, receiver: Receiver) -> None:
    bot, person = await near_world.bot(), await near_world.user()
    await subscribe(receiver, bot, "ENTITLEMENT_CREATE", "APPLICATION_DEAUTHORIZED")
    application_id = ApplicationId(bot.application_id or 0)

    first, second = changes.WEBHOOK_EVENTS.at_ms, changes.APPLICATION_DEAUTHORIZED_EVENT.at_ms
    for day in (first - 1, first, second - 1, second):
        near_world.clock.set(day)
        await tell(near_world, bot, 7, day)
        await near_world.write(
            lambda call: webhook_events.application_deauthorized(call, application_id, UserId(person.id))
        )
    near_world.clock.set(1_795_000_000_000)
    await settle(near_world)

    kinds = [event["type"] for event in receiver.events]
    assert kinds.count("ENTITLEMENT_CREATE") == 3
    assert kinds.count("APPLICATION_DEAUTHORIZED") == 1


async def test_who_authorizes_and_takes_it_back_is_told_in_order(near_world: World, receiver: Receiver) -> None:
    bot, alice = await near_world.bot(), await near_world.user("alice")
    guild = await near_world.guild(alice)
    await subscribe(receiver, bot, "APPLICATION_AUTHORIZED", "APPLICATION_DEAUTHORIZED")
    application_id = ApplicationId(bot.application_id or 0)

    await near_world.write(
        lambda call: webhook_events.application_authorized(
            call, application_id, alice.id, ["bot"], integration_type=0, guild_id=guild.id
        )
    )
    await near_world.write(
        lambda call: webhook_events.application_authorized(call, application_id, alice.id, ["identify"])
    )
    await near_world.write(lambda call: webhook_events.application_deauthorized(call, application_id, alice.id))

    installed, authorized, deauthorized = await receiver.take(3)
    assert installed["data"]["integration_type"] == 0
    assert installed["data"]["guild"]["id"] == str(guild.id)
    assert installed["data"]["user"]["username"] == "alice"
    assert authorized["data"]["scopes"] == ["identify"]
    assert not {"integration_type", "guild"} & set(authorized["data"])
    assert deauthorized["type"] == "APPLICATION_DEAUTHORIZED"
    assert deauthorized["data"]["user"]["id"] == str(alice.id)


async def test_a_lobbys_own_address_gets_its_events_instead(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    receiver.of((await bot.get("/applications/@me")).ok())

    await tell(near_world, bot, 7, "hi", type=WebhookEventType.LOBBY_MESSAGE_CREATE, url=receiver.url)

    assert (await receiver.take(1))[0]["type"] == "LOBBY_MESSAGE_CREATE"


async def test_what_was_given_up_is_seen_and_tried_again_by_those_who_manage(
    near_world: World, receiver: Receiver
) -> None:
    bot = await near_world.bot()
    await subscribe(receiver, bot, "ENTITLEMENT_CREATE")
    receiver.status = 500
    for number in range(3):
        await tell(near_world, bot, number, number)
    await settle(near_world)
    await near_world.clock.run_for(600_000)
    failed = f"/applications/{bot.application_id}/webhook-events/failed"

    owner = await owner_of(near_world, bot)
    shown = (await owner.get(failed)).ok()
    assert [(each["type"], each["attempts"], each["error"]) for each in shown] == [
        ("ENTITLEMENT_CREATE", 11, "GiveUp: the endpoint returned status 500")
    ] * 3
    assert [each["payload"]["event"]["data"] for each in shown] == [0, 1, 2]
    assert (await owner.get(f"{failed}?limit=1&after={shown[0]['id']}")).ok() == shown[1:2]

    other, stranger = await near_world.bot(), await near_world.user()
    assert (await other.get(f"/applications/{other.application_id}/webhook-events/failed")).ok() == []
    for actor in (other, stranger):
        (await actor.get(failed)).refused(403, 20012)
        (await actor.post(f"{failed}/retry")).refused(403, 20012)
        (await actor.post(f"{failed}/{shown[0]['id']}/retry")).refused(403, 20012)
    (await other.post(f"/applications/{other.application_id}/webhook-events/failed/{shown[0]['id']}/retry")).refused(
        404, 0
    )

    receiver.status = 204
    receiver.requests.clear()
    (await bot.post(f"{failed}/{shown[1]['id']}/retry")).ok()
    await settle(near_world)
    assert [event["data"] for event in receiver.events] == [1]
    (await owner.post(f"{failed}/{shown[1]['id']}/retry")).refused(404, 0)
    (await owner.post(f"{failed}/retry")).ok()
    await settle(near_world)
    assert sorted(event["data"] for event in receiver.events) == [0, 1, 2]
    assert (await owner.get(failed)).ok() == []


async def test_a_receiver_that_is_gone_for_a_day_is_switched_off(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    await subscribe(receiver, bot, "ENTITLEMENT_CREATE")
    receiver.status = 503

    async def status() -> int:
        shown: int = (await bot.get("/applications/@me")).ok()["event_webhooks_status"]
        return shown

    for number in range(9):
        await tell(near_world, bot, number)
    await settle(near_world)
    await near_world.clock.run_for(600_000)
    assert await status() == 2
    await near_world.clock.run_for(DAY_MS - 600_001)
    await tell(near_world, bot, 100)
    await settle(near_world)
    assert await status() == 2
    await near_world.clock.run_for(600_000)

    assert await status() == 3
    assert (await bot.get("/applications/@me")).ok()["event_webhooks_url"] == receiver.url
    # Nothing more is written down, and its owner can begin anew.
    heard = len(receiver.events)
    await tell(near_world, bot, 101)
    await settle(near_world)
    assert len(receiver.events) == heard
    receiver.status = 204
    (await bot.patch("/applications/@me", json={"event_webhooks_status": 2})).ok()
    await tell(near_world, bot, 102, "back")
    await settle(near_world)
    assert receiver.events[-1]["data"] == "back"


async def test_nothing_is_kept_of_an_application_that_was_deleted(near_world: World, receiver: Receiver) -> None:
    world, person = near_world, await near_world.user()
    bot, other = await world.bot(), await world.bot()
    for each in (bot, other):
        await subscribe(receiver, each, "ENTITLEMENT_CREATE", "APPLICATION_DEAUTHORIZED")
        # Deleting an application takes back what people allowed it, of which it would hear.
        address = f"/oauth2/authorize?client_id={each.application_id}&scope=applications.commands&integration_type=1"
        (await person.post(address, json={"authorize": True})).ok()
    receiver.status = 500
    for each in (bot, other):
        await tell(world, each, 1, 1)
    await settle(world)
    await world.clock.run_for(600_000)
    for each in (bot, other):
        await tell(world, each, 2, 2)
    await settle(world)
    owner = await owner_of(world, bot)

    (await owner.delete(f"/applications/{bot.application_id}")).ok()
    await settle(world)
    await world.clock.run_for(DAY_MS + 600_000)

    async def kept(each: Actor) -> list[Any]:
        said = f"SELECT kind, key, state FROM jobs WHERE key LIKE 'webhook_events.%/{each.application_id}%'"
        failures = f"SELECT * FROM webhook_event_failures WHERE application_id = {each.application_id}"
        found: list[Any] = await world.app.database.read(lambda tx: [*tx.all(said), *tx.all(failures)])
        return found

    assert await kept(bot) == []
    assert {"failed", "waiting"} <= {row[-1] for row in await kept(other)}


async def test_one_success_forgets_the_failures_before(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    await subscribe(receiver, bot, "ENTITLEMENT_CREATE")
    receiver.answers = [500, 500, 204]

    await tell(near_world, bot, 7)
    await settle(near_world)
    failures = "SELECT attempts FROM webhook_event_failures"
    assert await near_world.app.database.read(lambda tx: tx.all(failures)) == [(1,)]
    await near_world.clock.run_for(10_000)

    assert await near_world.app.database.read(lambda tx: tx.all(failures)) == []
    assert len(receiver.events) == 3


async def test_a_receiver_that_takes_a_forged_request_loses_its_address(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    await subscribe(receiver, bot, "ENTITLEMENT_CREATE")
    await settle(near_world)

    await near_world.clock.run_for(2 * DAY_MS)
    assert receiver.forged == 2
    receiver.status = 500
    await receiver.close()
    await near_world.clock.run_for(DAY_MS)
    await receiver.open()
    assert (await bot.get("/applications/@me")).ok()["event_webhooks_url"] == receiver.url
    receiver.trusting = True
    await near_world.clock.run_for(DAY_MS)

    shown = (await bot.get("/applications/@me")).ok()
    assert (shown["event_webhooks_url"], shown["event_webhooks_status"]) == (None, 3)
    heard = receiver.forged
    await near_world.clock.run_for(3 * DAY_MS)
    assert receiver.forged == heard
    answer = await bot.patch("/applications/@me", json={"event_webhooks_status": 2})
    assert answer.errors("event_webhooks_url") == ["BASE_TYPE_REQUIRED"]


async def test_without_an_address_there_are_no_events(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    answer = await bot.patch("/applications/@me", json={"event_webhooks_status": 2})
    assert answer.errors("event_webhooks_url") == ["BASE_TYPE_REQUIRED"]
    await subscribe(receiver, bot, "ENTITLEMENT_CREATE")

    gone = (await bot.patch("/applications/@me", json={"event_webhooks_url": None})).ok()

    assert (gone["event_webhooks_url"], gone["event_webhooks_status"]) == (None, 1)


async def test_each_type_is_subscribed_to_once(world: World) -> None:
    bot = await world.bot()

    answer = await bot.patch("/applications/@me", json={"event_webhooks_types": ["ENTITLEMENT_CREATE"] * 2})

    assert answer.errors("event_webhooks_types.1") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]


async def test_a_removed_address_is_not_probed_any_more(near_world: World, receiver: Receiver) -> None:
    bot = await near_world.bot()
    await subscribe(receiver, bot, "ENTITLEMENT_CREATE")

    (await bot.patch("/applications/@me", json={"event_webhooks_url": None})).ok()
    await near_world.clock.run_for(3 * DAY_MS)

    assert receiver.forged == 0
