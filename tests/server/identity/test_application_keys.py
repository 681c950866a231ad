"""Rollover of the keys that sign requests to applications."""

from typing import Any

import pytest

from hubbub.protocol import codec
from hubbub.protocol.resources.application_keys import KEY_OVERLAP_DAYS
from tests.pages import Browser
from tests.receiver import Receiver, subscribe_to_events
from tests.server.play.application_owners import DAY_MS, sign_in_owner
from tests.server.play.test_webhook_events import send_event
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def test_requests_are_signed_with_the_new_key_after_the_switch(
    private_targets_world: World, receiver: Receiver
) -> None:
    world = private_targets_world
    bot = await world.bot()
    owner = await sign_in_owner(world, bot)
    path = f"/applications/{bot.application_id}/key-rollover"
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE")
    initial_rollover = (await owner.get(path)).ok()
    assert (initial_rollover["next_verify_key"], initial_rollover["previous_verify_key"]) == (None, None)

    prepared_rollover = (await owner.post(path)).ok()
    assert (await owner.post(path)).errors("application_id") == ["KEY_ROLLOVER_IN_PROGRESS"]
    await deliver_event(world, bot)
    assert (prepared_rollover["verify_key"], receiver.invalid_signature_count) == (initial_rollover["verify_key"], 0)

    switched_rollover = (await owner.post(f"{path}/switch", json={})).ok()
    assert (switched_rollover["verify_key"], switched_rollover["previous_verify_key"]) == (
        prepared_rollover["next_verify_key"],
        initial_rollover["verify_key"],
    )
    receiver.use_verify_key_of(switched_rollover)
    await deliver_event(world, bot)
    assert (len(receiver.events), receiver.invalid_signature_count) == (2, 0)
    assert (await bot.get("/applications/@me")).ok()["verify_key"] == prepared_rollover["next_verify_key"]

    restored_rollover = (await owner.post(f"{path}/restore")).ok()
    assert (restored_rollover["verify_key"], restored_rollover["next_verify_key"]) == (
        initial_rollover["verify_key"],
        switched_rollover["verify_key"],
    )
    receiver.use_verify_key_of(restored_rollover)
    await deliver_event(world, bot)
    assert (len(receiver.events), receiver.invalid_signature_count) == (3, 0)


async def deliver_event(world: World, bot: Any) -> None:
    """Send a webhook event and deliver it."""
    await send_event(world, bot, 1)
    assert world.app.worker is not None
    await world.app.worker.run_due()


async def test_a_switch_is_scheduled_and_the_previous_key_ends(world: World) -> None:
    bot = await world.bot()
    owner = await sign_in_owner(world, bot)
    path = f"/applications/{bot.application_id}/key-rollover"
    (await owner.post(f"{path}/switch", json={})).rejected(404, 0)
    (await owner.post(f"{path}/restore")).rejected(404, 0)
    (await owner.delete(path)).rejected(404, 0)
    prepared_rollover = (await owner.post(path)).ok()
    now_ms = world.clock.now_ms()
    for wrong_ms in (now_ms - 1, now_ms + (KEY_OVERLAP_DAYS + 1) * DAY_MS):
        rejected_response = await owner.post(f"{path}/switch", json={"switch_at": codec.timestamp(wrong_ms)})
        assert rejected_response.errors("switch_at") == ["KEY_SWITCH_TIME_INVALID"]

    scheduled_rollover = (await owner.post(f"{path}/switch", json={"switch_at": codec.timestamp(now_ms + DAY_MS)})).ok()
    assert scheduled_rollover["switch_at"] == codec.timestamp(now_ms + DAY_MS)
    assert scheduled_rollover["verify_key"] == prepared_rollover["verify_key"]
    await world.clock.run_for(DAY_MS + 1000)
    switched_rollover = (await owner.get(path)).ok()
    assert (switched_rollover["verify_key"], switched_rollover["next_verify_key"]) == (
        prepared_rollover["next_verify_key"],
        None,
    )
    assert switched_rollover["previous_verify_key"] == prepared_rollover["verify_key"]
    await world.clock.run_for(KEY_OVERLAP_DAYS * DAY_MS)
    assert (await owner.get(path)).ok()["previous_verify_key"] is None
    (await owner.post(f"{path}/restore")).rejected(404, 0)
    (await (await world.user()).post(path)).rejected(403, 20012)


async def test_the_portal_leads_through_a_rollover(world: World) -> None:
    bot = await world.bot()
    browser = Browser(world)
    browser.sign_in_as(await sign_in_owner(world, bot))
    page = await browser.open(f"/developers/{bot.application_id}/keys")
    assert "without an overlap" in page.text

    page = await browser.submit(page, "Prepare a new key")
    assert "It is not used yet." in page.text
    error_page = await browser.submit(page, "Switch", switch_at="2100-01-01T00:00")
    assert 'id="error-switch_at"' in error_page.body
    page = await browser.submit(page, "Switch", switch_at="")
    assert "Requests are now signed with the new key." in page.text
    page = await browser.submit(page, "Switch back")
    assert "signed with the previous key again" in page.text
    page = await browser.submit(page, "Discard the next key")
    assert "Prepare a new key" in page.text
