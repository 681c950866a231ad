"""The log of webhook events and interactions that were sent to applications."""

from typing import Any

import pytest

from hubbub.protocol.enums import InteractionType
from hubbub.protocol.resources.deliveries import DELIVERIES_MAX, DELIVERY_DAYS
from tests.pages import Browser
from tests.receiver import Receiver, subscribe_to_events, use_as_interactions_endpoint
from tests.server.play.application_owners import DAY_MS, sign_in_owner
from tests.server.play.interaction_setup import create_interaction_setup
from tests.server.play.test_webhook_events import send_event
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def list_deliveries(owner: Actor, bot: Actor, query: str = "") -> list[Any]:
    """List the logged deliveries as the application's owner."""
    deliveries: list[Any] = (await owner.get(f"/applications/{bot.application_id}/deliveries{query}")).ok()
    return deliveries


async def test_an_event_is_logged_with_its_attempts_and_sent_again(
    private_targets_world: World, receiver: Receiver
) -> None:
    world = private_targets_world
    bot = await world.bot()
    owner = await sign_in_owner(world, bot)
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    receiver.next_statuses = [500]
    await send_event(world, bot, 1, {"a": 1})

    await world.run_due_jobs()

    [waiting_delivery] = await list_deliveries(owner, bot)
    assert (waiting_delivery["kind"], waiting_delivery["name"], waiting_delivery["state"]) == (
        "event",
        "ENTITLEMENT_CREATE",
        "waiting",
    )
    assert (waiting_delivery["status"], waiting_delivery["attempts"]) == (500, 1)
    assert waiting_delivery["error"] == "the endpoint returned status 500"
    assert waiting_delivery["next_attempt_at"] > waiting_delivery["attempted_at"]
    path = f"/applications/{bot.application_id}/deliveries/{waiting_delivery['id']}"
    assert (await owner.post(f"{path}/resend")).status == 204
    await world.run_due_jobs()
    details = (await owner.get(path)).ok()
    assert (details["state"], details["attempts"], details["next_attempt_at"]) == ("delivered", 2, None)
    assert '"a":1' in details["body"]
    assert details["request_headers"]["X-Signature-Ed25519"]
    assert details["response_headers"]["Content-Type"].startswith("application/json")

    # A delivered event is sent again as a new delivery with the same body.
    assert (await owner.post(f"{path}/resend")).status == 204
    await world.run_due_jobs()
    assert [event["data"] for event in receiver.events] == [{"a": 1}] * 3
    resent_delivery, _ = await list_deliveries(owner, bot, "?state=delivered")
    assert resent_delivery["id"] != waiting_delivery["id"]
    assert await list_deliveries(owner, bot, f"?before={waiting_delivery['id']}") == []
    assert await list_deliveries(owner, bot, "?kind=interaction") == []


async def test_a_failed_event_is_retried_by_its_job(private_targets_world: World, receiver: Receiver) -> None:
    world = private_targets_world
    bot = await world.bot()
    owner = await sign_in_owner(world, bot)
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    await receiver.close()
    await send_event(world, bot, 1)
    for _ in range(12):
        await world.run_due_jobs()
        world.clock.advance(120_000)
    await world.run_due_jobs()
    [failed_delivery] = await list_deliveries(owner, bot)
    assert (failed_delivery["state"], failed_delivery["status"], failed_delivery["next_attempt_at"]) == (
        "failed",
        None,
        None,
    )
    assert failed_delivery["error"]

    await receiver.open()
    (await owner.post(f"/applications/{bot.application_id}/deliveries/{failed_delivery['id']}/resend")).ok()
    await world.run_due_jobs()

    [retried_delivery] = await list_deliveries(owner, bot)
    assert (retried_delivery["id"], retried_delivery["state"], retried_delivery["error"]) == (
        failed_delivery["id"],
        "delivered",
        None,
    )


async def test_an_interaction_is_logged_without_its_token_and_not_sent_again(
    private_targets_world: World, receiver: Receiver
) -> None:
    world = private_targets_world
    setup = await create_interaction_setup(world)
    await use_as_interactions_endpoint(receiver, setup.bot)
    owner = await sign_in_owner(world, setup.bot)
    command = await setup.create_command()

    await setup.create_interaction(InteractionType.APPLICATION_COMMAND, {"id": command["id"], "name": command["name"]})
    await world.run_due_jobs()

    [logged_delivery] = await list_deliveries(owner, setup.bot)
    assert logged_delivery["name"] == f"APPLICATION_COMMAND {command['name']}"
    assert (logged_delivery["kind"], logged_delivery["status"], logged_delivery["resendable"]) == (
        "interaction",
        500,
        False,
    )
    path = f"/applications/{setup.bot.application_id}/deliveries/{logged_delivery['id']}"
    details = (await owner.get(path)).ok()
    [interaction] = receiver.interactions[:1]
    assert interaction["token"] not in details["body"]
    assert '"token":"removed"' in details["body"]
    response = await owner.post(f"{path}/resend")
    assert response.errors("delivery_id") == ["DELIVERY_NOT_RESENDABLE"]
    browser = Browser(world)
    browser.sign_in_as(owner)
    page = await browser.open(f"/developers/{setup.bot.application_id}/log/{logged_delivery['id']}")
    assert "An interaction cannot be sent again" in page.text
    assert interaction["token"] not in page.body


async def test_only_developers_of_the_application_see_the_log(private_targets_world: World, receiver: Receiver) -> None:
    world = private_targets_world
    bot, stranger = await world.bot(), await world.user()
    owner = await sign_in_owner(world, bot)
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    await send_event(world, bot, 1)
    await world.run_due_jobs()
    [logged_delivery] = await list_deliveries(owner, bot)
    path = f"/applications/{bot.application_id}/deliveries"

    (await stranger.get(path)).rejected(403, 20012)
    (await stranger.get(f"{path}/{logged_delivery['id']}")).rejected(403, 20012)
    (await stranger.post(f"{path}/{logged_delivery['id']}/resend")).rejected(403, 20012)
    (await owner.get(f"{path}/1")).rejected(404, 0)
    (await owner.post(f"{path}/1/resend")).rejected(404, 0)


async def test_the_log_is_bounded_by_count_and_age(private_targets_world: World, receiver: Receiver) -> None:
    world = private_targets_world
    bot = await world.bot()
    owner = await sign_in_owner(world, bot)
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    for number in range(DELIVERIES_MAX + 5):
        await send_event(world, bot, number)
    await world.run_due_jobs()

    pages = [await list_deliveries(owner, bot, "?limit=100")]
    pages.append(await list_deliveries(owner, bot, f"?limit=100&before={pages[0][-1]['id']}"))
    assert [len(page) for page in pages] == [100, 100]
    assert await list_deliveries(owner, bot, f"?before={pages[1][-1]['id']}") == []
    await world.clock.run_for((DELIVERY_DAYS + 2) * DAY_MS)
    await world.run_due_jobs()
    assert await list_deliveries(owner, bot) == []


async def test_the_portal_lists_opens_and_resends_deliveries(private_targets_world: World, receiver: Receiver) -> None:
    world = private_targets_world
    bot = await world.bot()
    browser = Browser(world)
    browser.sign_in_as(await sign_in_owner(world, bot))
    path = f"/developers/{bot.application_id}/log"
    assert "Nothing has been sent yet." in (await browser.open(path)).text
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    await send_event(world, bot, 1, {"note": "<b>"})
    await world.run_due_jobs()

    page = await browser.open(path)

    assert "Delivered" in page.text
    assert "status 204" in page.text
    delivery_page = await browser.open(next(url for label, url in page.links if label == "ENTITLEMENT_CREATE"))
    assert '"note": "<b>"' in delivery_page.text
    assert "X-Signature-Ed25519" in delivery_page.text
    page = await browser.submit(delivery_page, "Resend")
    assert "The event is being sent again." in page.text
    await world.run_due_jobs()
    assert len(receiver.events) == 2
    assert "No deliveries match the filter." in (await browser.open(f"{path}?state=failed")).text
