"""Subscriptions: renewal, change, cancellation, refund and expiry with their events, lists, and dated behavior."""

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import EntitlementType, SkuType, SubscriptionStatus
from hubbub.protocol.flags import SkuFlags
from hubbub.server.play.subscriptions.payments.periods import day_of_month, next_month
from tests.receiver import Receiver, subscribe_to_events
from tests.server.play.application_owners import DAY_MS, sign_in_owner
from tests.server.play.purchases import (
    bearer_headers,
    buy,
    event_names,
    parse_timestamp_ms,
    publish_sku,
    received_events,
)
from tests.world import World


async def run_until(world: World, text: str) -> None:
    """Run the due jobs, then advance the clock to this time and run the jobs on the way."""
    await world.run_due_jobs()
    await world.clock.run_until(parse_timestamp_ms(text))


def period_fields(start: str, end: str) -> dict[str, str]:
    return {"current_period_start": f"{start}.000000+00:00", "current_period_end": f"{end}.000000+00:00"}


def renewal_events(subscription: dict[str, Any], time: str, *days: str) -> list[tuple[str, Any]]:
    """Return the events of renewals on these days except the last, and update `subscription` accordingly."""
    events = []
    for start, end in itertools.pairwise(days):
        subscription |= period_fields(f"{start}T{time}", f"{end}T{time}")
        events.append(("SUBSCRIPTION_UPDATE", dict(subscription)))
    return events


async def test_a_subscription_is_renewed_changed_and_canceled_over_a_year(
    private_targets_world: World, receiver: Receiver
) -> None:
    """Buy, renew, downgrade, upgrade, cancel, resume and cancel again until the subscription expires."""
    world = private_targets_world
    world.clock.set(parse_timestamp_ms("2027-01-31T10:00:00"))
    bot, alice = await world.bot(), await world.user()
    gold_sku_id, silver_sku_id = await publish_sku(bot, price=999), await publish_sku(bot, price=499, name="Silver")
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE", "ENTITLEMENT_UPDATE", "ENTITLEMENT_DELETE")
    session = await bot.connect(intents=0)
    path = "/users/@me/subscriptions"

    # January: purchase.
    purchase = await buy(alice, gold_sku_id)
    subscription_created, entitlement_created, subscription_updated = await received_events(session)
    subscription_id = purchase["subscription"]["id"]
    assert subscription_created == (
        "SUBSCRIPTION_CREATE",
        {
            "id": subscription_id,
            "user_id": str(alice.id),
            "sku_ids": [str(gold_sku_id)],
            "renewal_sku_ids": None,
            "entitlement_ids": [],
            "current_period_start": "2027-01-31T10:00:00.000000+00:00",
            "current_period_end": "2027-02-28T10:00:00.000000+00:00",
            "status": SubscriptionStatus.INACTIVE,
            "canceled_at": None,
        },
    )
    first_entitlement = purchase["entitlement"]
    assert entitlement_created == ("ENTITLEMENT_CREATE", first_entitlement)
    assert first_entitlement["type"] == EntitlementType.PURCHASE
    assert first_entitlement["ends_at"] is None
    assert first_entitlement["starts_at"] == "2027-01-31T10:00:00.000000+00:00"
    assert first_entitlement["subscription_id"] == subscription_id
    subscription = subscription_created[1] | {
        "entitlement_ids": [first_entitlement["id"]],
        "renewal_sku_ids": [str(gold_sku_id)],
        "status": SubscriptionStatus.ACTIVE,
    }
    assert subscription_updated == ("SUBSCRIPTION_UPDATE", subscription)
    assert purchase["subscription"] == subscription

    # February, March: renewals on the last day of short months.
    await run_until(world, "2027-02-28T09:59:59")
    assert await received_events(session) == []
    await run_until(world, "2027-02-28T10:00:00")
    subscription |= {
        "current_period_start": "2027-02-28T10:00:00.000000+00:00",
        "current_period_end": "2027-03-31T10:00:00.000000+00:00",
    }
    assert await received_events(session) == [("SUBSCRIPTION_UPDATE", subscription)]
    await run_until(world, "2027-03-31T10:00:00")
    subscription |= {
        "current_period_start": "2027-03-31T10:00:00.000000+00:00",
        "current_period_end": "2027-04-30T10:00:00.000000+00:00",
    }
    assert await received_events(session) == [("SUBSCRIPTION_UPDATE", subscription)]

    # April: a downgrade takes effect at the next renewal.
    await run_until(world, "2027-04-10T00:00:00")
    (await alice.patch(f"{path}/{subscription_id}", json={"sku_id": str(silver_sku_id)})).ok()
    subscription |= {"renewal_sku_ids": [str(silver_sku_id)]}
    assert await received_events(session) == [("SUBSCRIPTION_UPDATE", subscription)]
    await run_until(world, "2027-04-30T10:00:00")
    entitlement_ended, entitlement_created, subscription_changed = await received_events(session)
    assert entitlement_ended == (
        "ENTITLEMENT_UPDATE",
        first_entitlement | {"ends_at": "2027-04-30T10:00:00.000000+00:00"},
    )
    second_entitlement = first_entitlement | {
        "id": entitlement_created[1]["id"],
        "sku_id": str(silver_sku_id),
        "starts_at": "2027-04-30T10:00:00.000000+00:00",
    }
    assert second_entitlement["id"] != first_entitlement["id"]
    assert entitlement_created == ("ENTITLEMENT_CREATE", second_entitlement)
    subscription |= {
        "sku_ids": [str(silver_sku_id)],
        "entitlement_ids": [second_entitlement["id"]],
        "current_period_start": "2027-04-30T10:00:00.000000+00:00",
        "current_period_end": "2027-05-31T10:00:00.000000+00:00",
    }
    assert subscription_changed == ("SUBSCRIPTION_UPDATE", subscription)

    # June: an upgrade takes effect immediately and moves the billing day.
    await run_until(world, "2027-06-15T08:00:00")
    assert await received_events(session) == renewal_events(subscription, "10:00:00", "2027-05-31", "2027-06-30")
    (await alice.patch(f"{path}/{subscription_id}", json={"sku_id": str(gold_sku_id)})).ok()
    entitlement_ended, entitlement_created, subscription_upgraded = await received_events(session)
    assert entitlement_ended == (
        "ENTITLEMENT_UPDATE",
        second_entitlement | {"ends_at": "2027-06-15T08:00:00.000000+00:00"},
    )
    third_entitlement = first_entitlement | {
        "id": entitlement_created[1]["id"],
        "starts_at": "2027-06-15T08:00:00.000000+00:00",
    }
    assert third_entitlement["id"] not in (first_entitlement["id"], second_entitlement["id"])
    assert entitlement_created == ("ENTITLEMENT_CREATE", third_entitlement)
    subscription |= {
        "sku_ids": [str(gold_sku_id)],
        "renewal_sku_ids": [str(gold_sku_id)],
        "entitlement_ids": [third_entitlement["id"]],
        "current_period_start": "2027-06-15T08:00:00.000000+00:00",
        "current_period_end": "2027-07-15T08:00:00.000000+00:00",
    }
    assert subscription_upgraded == ("SUBSCRIPTION_UPDATE", subscription)

    # September: canceled, then resumed before the period ends.
    await run_until(world, "2027-09-01T00:00:00")
    assert await received_events(session) == renewal_events(
        subscription, "08:00:00", "2027-07-15", "2027-08-15", "2027-09-15"
    )
    (await alice.post(f"{path}/{subscription_id}/cancel")).ok()
    subscription_canceled = {
        "status": SubscriptionStatus.ENDING,
        "canceled_at": "2027-09-01T00:00:00.000000+00:00",
        "renewal_sku_ids": None,
    }
    assert await received_events(session) == [("SUBSCRIPTION_UPDATE", subscription | subscription_canceled)]
    (await alice.post(f"{path}/{subscription_id}/resume")).ok()
    assert await received_events(session) == [("SUBSCRIPTION_UPDATE", subscription)]

    # December: canceled again; the subscription expires in January.
    await run_until(world, "2027-12-20T00:00:00")
    months = ("2027-09-15", "2027-10-15", "2027-11-15", "2027-12-15", "2028-01-15")
    assert await received_events(session) == renewal_events(subscription, "08:00:00", *months)
    (await alice.post(f"{path}/{subscription_id}/cancel")).ok()
    subscription |= {
        "status": SubscriptionStatus.ENDING,
        "canceled_at": "2027-12-20T00:00:00.000000+00:00",
        "renewal_sku_ids": None,
    }
    assert await received_events(session) == [("SUBSCRIPTION_UPDATE", subscription)]
    await run_until(world, "2028-01-15T07:59:59")
    assert await received_events(session) == []
    await run_until(world, "2028-01-15T08:00:00")
    entitlement_ended, subscription_expired = await received_events(session)
    assert entitlement_ended == (
        "ENTITLEMENT_UPDATE",
        third_entitlement | {"ends_at": "2028-01-15T08:00:00.000000+00:00"},
    )
    assert subscription_expired == ("SUBSCRIPTION_UPDATE", subscription | {"status": SubscriptionStatus.INACTIVE})
    await run_until(world, "2028-06-01T00:00:00")
    assert await received_events(session) == []

    # The webhook received only the entitlement events, in the same order.
    await world.run_due_jobs()
    assert [(event["type"], event["data"]) for event in receiver.events] == [
        ("ENTITLEMENT_CREATE", first_entitlement),
        ("ENTITLEMENT_UPDATE", first_entitlement | {"ends_at": "2027-04-30T10:00:00.000000+00:00"}),
        ("ENTITLEMENT_CREATE", second_entitlement),
        ("ENTITLEMENT_UPDATE", second_entitlement | {"ends_at": "2027-06-15T08:00:00.000000+00:00"}),
        ("ENTITLEMENT_CREATE", third_entitlement),
        ("ENTITLEMENT_UPDATE", third_entitlement | {"ends_at": "2028-01-15T08:00:00.000000+00:00"}),
    ]
    entitlements = (await bot.get(f"/applications/{bot.application_id}/entitlements?exclude_ended=true")).ok()
    assert entitlements == []
    bought_again = await buy(alice, silver_sku_id)
    assert bought_again["subscription"]["id"] != subscription_id


@pytest.mark.dated(
    changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATING,
    changes.WEBHOOK_EVENTS,
    changes.RENEWAL_SKU_IDS,
)
async def test_a_subscription_lasts_through_the_entitlement_migration(
    private_targets_world: World, receiver: Receiver
) -> None:
    """Buy under the old rules, migrate at a renewal, renew under the new rules, cancel and expire."""
    world = private_targets_world
    world.clock.set(parse_timestamp_ms("2024-08-05T10:00:00"))
    bot, alice = await world.bot(), await world.user()
    gold_sku_id = await publish_sku(bot)
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE", "ENTITLEMENT_UPDATE", "ENTITLEMENT_DELETE")
    session = await bot.connect(intents=0)
    path, renewal_time = "/users/@me/subscriptions", "10:00:00"

    # August: an entitlement of the old type, which ends with the paid month.
    purchase = await buy(alice, gold_sku_id)
    created_event, granted_event, activated_event = await received_events(session)
    subscription = {
        "id": purchase["subscription"]["id"],
        "user_id": str(alice.id),
        "sku_ids": [str(gold_sku_id)],
        "entitlement_ids": [],
        **period_fields("2024-08-05T10:00:00", "2024-09-05T10:00:00"),
        "status": SubscriptionStatus.INACTIVE,
        "canceled_at": None,
    }
    assert created_event == ("SUBSCRIPTION_CREATE", subscription)
    old_entitlement = purchase["entitlement"]
    assert (old_entitlement["type"], old_entitlement["ends_at"]) == (8, "2024-09-05T10:00:00.000000+00:00")
    assert granted_event == ("ENTITLEMENT_CREATE", old_entitlement)
    subscription |= {"entitlement_ids": [old_entitlement["id"]], "status": SubscriptionStatus.ACTIVE}
    assert activated_event == ("SUBSCRIPTION_UPDATE", subscription)

    # September: the renewal moves the end of the entitlement.
    await run_until(world, "2024-09-05T10:00:00")
    old_entitlement |= {"ends_at": "2024-10-05T10:00:00.000000+00:00"}
    assert await received_events(session) == [
        ("ENTITLEMENT_UPDATE", old_entitlement),
        *renewal_events(subscription, renewal_time, "2024-09-05", "2024-10-05"),
    ]

    # October: the renewal migrates the entitlement, which gets the new type and loses its end.
    await run_until(world, "2024-10-05T10:00:00")
    migrated_event, changed_event = await received_events(session)
    entitlement = old_entitlement | {"type": EntitlementType.PURCHASE, "ends_at": None}
    assert migrated_event == ("ENTITLEMENT_CREATE", entitlement)
    assert [changed_event] == renewal_events(subscription, renewal_time, "2024-10-05", "2024-11-05")
    assert (await bot.get(f"/applications/{bot.application_id}/entitlements")).ok() == [entitlement]

    # November, December: only the subscription is renewed.
    await run_until(world, "2024-12-06T00:00:00")
    assert await received_events(session) == renewal_events(
        subscription, renewal_time, "2024-11-05", "2024-12-05", "2025-01-05"
    )

    # From January on, the subscription also contains the SKUs of the next renewal.
    await run_until(world, "2025-07-06T00:00:00")
    subscription |= {"renewal_sku_ids": [str(gold_sku_id)]}
    months = ("2025-01-05", "2025-02-05", "2025-03-05", "2025-04-05", "2025-05-05", "2025-06-05", "2025-07-05")
    assert await received_events(session) == renewal_events(subscription, renewal_time, *months, "2025-08-05")

    # July: canceled; the subscription expires in August.
    (await alice.post(f"{path}/{subscription['id']}/cancel")).ok()
    subscription |= {
        "status": SubscriptionStatus.ENDING,
        "canceled_at": "2025-07-06T00:00:00.000000+00:00",
        "renewal_sku_ids": None,
    }
    assert await received_events(session) == [("SUBSCRIPTION_UPDATE", subscription)]
    await run_until(world, "2025-08-05T10:00:00")
    entitlement |= {"ends_at": "2025-08-05T10:00:00.000000+00:00"}
    assert await received_events(session) == [
        ("ENTITLEMENT_UPDATE", entitlement),
        ("SUBSCRIPTION_UPDATE", subscription | {"status": SubscriptionStatus.INACTIVE}),
    ]
    await run_until(world, "2025-12-01T00:00:00")
    assert await received_events(session) == []

    assert (await bot.get(f"/applications/{bot.application_id}/entitlements")).ok() == [entitlement]

    # Webhook events were introduced after the migration.
    await world.run_due_jobs()
    assert [(event["type"], event["data"]) for event in receiver.events] == [("ENTITLEMENT_UPDATE", entitlement)]


def test_months_keep_their_billing_day_when_they_have_it() -> None:
    renewal_ms = parse_timestamp_ms("2027-10-31T12:30:00") + 5
    renewals = []
    for _ in range(6):
        renewal_ms = next_month(renewal_ms, 31)
        renewals.append(datetime.fromtimestamp(renewal_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M"))
        assert renewal_ms % 1000 == 5
    assert renewals == [
        "2027-11-30 12:30",
        "2027-12-31 12:30",
        "2028-01-31 12:30",
        "2028-02-29 12:30",
        "2028-03-31 12:30",
        "2028-04-30 12:30",
    ]
    assert day_of_month(parse_timestamp_ms("2027-10-31T12:30:00")) == 31


async def test_a_guild_subscription_requires_membership_in_the_guild(world: World) -> None:
    bot, alice, stranger = await world.bot(), await world.user(), await world.user()
    guild = await world.guild(alice)
    sku_id = await publish_sku(bot, flags=SkuFlags.GUILD_SUBSCRIPTION)
    body = {"sku_id": str(sku_id), "guild_id": str(guild.id)}

    assert (await alice.post("/users/@me/purchases", json={"sku_id": str(sku_id)})).errors("guild_id")
    (await stranger.post("/users/@me/purchases", json=body)).rejected(403, 50001)
    (await alice.post("/users/@me/purchases", json=body | {"guild_id": "1"})).rejected(404, 10004)
    purchase = await buy(alice, sku_id, guild_id=str(guild.id))
    assert (purchase["entitlement"]["guild_id"], purchase["entitlement"]["user_id"]) == (str(guild.id), str(alice.id))
    (await alice.post("/users/@me/purchases", json=body)).rejected(400, 40074)

    other_bot = await world.bot()
    plain_sku_id = await publish_sku(other_bot)
    assert (await alice.post("/users/@me/purchases", json=body | {"sku_id": str(plain_sku_id)})).errors("guild_id")

    (await alice.delete(f"/guilds/{guild.id}")).ok()
    await world.run_due_jobs()
    await world.clock.run_for(32 * DAY_MS)
    (subscription,) = (await alice.get("/users/@me/subscriptions")).ok()
    assert subscription["status"] == SubscriptionStatus.INACTIVE


async def test_a_user_has_one_subscription_per_application(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    gold_sku_id, silver_sku_id = await publish_sku(bot), await publish_sku(bot, name="Silver")
    await buy(alice, gold_sku_id)

    (await alice.post("/users/@me/purchases", json={"sku_id": str(silver_sku_id)})).rejected(400, 40074)
    await buy(alice, await publish_sku(await world.bot()))
    assert len((await alice.get("/users/@me/subscriptions")).ok()) == 2


async def test_a_subscription_of_a_deleted_sku_ends_with_its_period(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    sku_id = await publish_sku(bot)
    await buy(alice, sku_id)
    session = await bot.connect(intents=0)
    (await bot.delete(f"/applications/{bot.application_id}/skus/{sku_id}")).ok()

    await world.run_due_jobs()
    await world.clock.run_for(29 * DAY_MS)
    assert await received_events(session) == []
    await world.clock.run_for(2 * DAY_MS)

    assert event_names(await received_events(session)) == ["ENTITLEMENT_UPDATE", "SUBSCRIPTION_UPDATE"]


async def test_a_refund_ends_a_subscription_immediately(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    purchase = await buy(alice, await publish_sku(bot))
    session = await bot.connect(intents=0)
    owner = await sign_in_owner(world, bot)

    (await owner.post(f"/applications/{bot.application_id}/entitlements/{purchase['entitlement']['id']}/refund")).ok()

    (_, deleted_entitlement), (_, expired_subscription) = await received_events(session)
    assert deleted_entitlement["deleted"] is True
    assert expired_subscription["status"] == SubscriptionStatus.INACTIVE
    await world.run_due_jobs()
    await world.clock.run_for(40 * DAY_MS)
    assert await received_events(session) == []
    path = f"/users/@me/subscriptions/{purchase['subscription']['id']}"
    for action in ("cancel", "resume"):
        assert (await alice.post(f"{path}/{action}")).errors("subscription_id") == ["SUBSCRIPTION_INACTIVE"]


async def test_only_the_subscriber_changes_a_subscription(world: World) -> None:
    bot, other_bot, alice, bob = await world.bot(), await world.bot(), await world.user(), await world.user()
    gold_sku_id, hat_sku_id, foreign_sku_id = (
        await publish_sku(bot),
        await publish_sku(bot, SkuType.DURABLE),
        await publish_sku(other_bot),
    )
    path = f"/users/@me/subscriptions/{(await buy(alice, gold_sku_id))['subscription']['id']}"

    for action in ("cancel", "resume"):
        (await bob.post(f"{path}/{action}")).rejected(404, 0)
        (await bot.post(f"{path}/{action}")).rejected(403, 20001)
    (await bob.patch(path, json={"sku_id": str(gold_sku_id)})).rejected(404, 0)
    (await alice.patch(path, json={"sku_id": str(hat_sku_id)})).rejected(400, 50057)
    (await alice.patch(path, json={"sku_id": str(foreign_sku_id)})).rejected(400, 50057)
    (await alice.patch(path, json={"sku_id": "1"})).rejected(404, 10027)


async def test_requests_without_a_change_publish_nothing(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    gold_sku_id, silver_sku_id = await publish_sku(bot, price=2), await publish_sku(bot, price=1)
    path = f"/users/@me/subscriptions/{(await buy(alice, gold_sku_id))['subscription']['id']}"
    session = await bot.connect(intents=0)

    (await alice.post(f"{path}/resume")).ok()
    (await alice.patch(path, json={"sku_id": str(gold_sku_id)})).ok()
    assert await received_events(session) == []
    (await alice.patch(path, json={"sku_id": str(silver_sku_id)})).ok()
    (await alice.patch(path, json={"sku_id": str(silver_sku_id)})).ok()
    assert event_names(await received_events(session)) == ["SUBSCRIPTION_UPDATE"]
    # A change back to the current SKU cancels the planned change.
    (await alice.patch(path, json={"sku_id": str(gold_sku_id)})).ok()
    ((_, subscription),) = await received_events(session)
    assert subscription["renewal_sku_ids"] == [str(gold_sku_id)]
    (await alice.post(f"{path}/cancel")).ok()
    (await alice.post(f"{path}/cancel")).ok()
    assert event_names(await received_events(session)) == ["SUBSCRIPTION_UPDATE"]


async def test_an_application_lists_its_users_subscriptions(world: World) -> None:
    bot, other_bot, alice = await world.bot(), await world.bot(), await world.user()
    sku_id = await publish_sku(bot)
    path = f"/skus/{sku_id}/subscriptions"
    created_ids = []
    for _ in range(3):
        purchase = await buy(alice, sku_id)
        created_ids.append(purchase["subscription"]["id"])
        owner = await sign_in_owner(world, bot)
        (
            await owner.post(f"/applications/{bot.application_id}/entitlements/{purchase['entitlement']['id']}/refund")
        ).ok()
        world.clock.advance(1)

    async def subscription_ids(query: str = "", **options: Any) -> list[str]:
        return [
            subscription["id"] for subscription in (await bot.get(f"{path}?user_id={alice.id}&{query}", **options)).ok()
        ]

    assert (await bot.get(path)).errors("user_id") == ["BASE_TYPE_REQUIRED"]
    assert await subscription_ids() == created_ids
    assert await subscription_ids("limit=1") == created_ids[:1]
    assert await subscription_ids(f"before={created_ids[2]}&limit=1") == created_ids[1:2]
    assert await subscription_ids(f"after={created_ids[0]}") == created_ids[1:]
    assert (await bot.get(f"{path}?user_id=1")).ok() == []
    assert (await bot.get(f"{path}/{created_ids[0]}")).ok()["id"] == created_ids[0]
    (await bot.get(f"{path}/1")).rejected(404, 0)
    (await other_bot.get(f"{path}?user_id={alice.id}")).rejected(403, 20012)
    (await other_bot.get(f"{path}/{created_ids[0]}")).rejected(403, 20012)
    (await bot.get("/skus/1/subscriptions?user_id=1")).rejected(404, 10027)

    # A request with the user's access token needs no user ID, and lists no subscriptions of other users.
    own_headers = await bearer_headers(world, alice, bot, "identify")
    assert len((await world.request("GET", path, headers=own_headers)).ok()) == 3
    stranger_headers = await bearer_headers(world, await world.user(), bot, "identify")
    assert (await world.request("GET", f"{path}?user_id={alice.id}", headers=stranger_headers)).ok() == []
    (await world.request("GET", f"{path}/{created_ids[0]}", headers=stranger_headers)).rejected(404, 0)


# Earlier behavior


@pytest.mark.dated(
    changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATING, changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATED, changes.RENEWAL_SKU_IDS
)
async def test_old_entitlements_have_a_moving_end_and_are_then_migrated(world: World) -> None:
    world.clock.set(parse_timestamp_ms("2024-08-05T00:00:00"))
    bot, alice, bob = await world.bot(), await world.user(), await world.user()
    sku_id = await publish_sku(bot)
    session = await bot.connect(intents=0)
    purchase = await buy(alice, sku_id)
    ending_subscription = await buy(bob, sku_id)
    _, (_, entitlement), (_, subscription), *_ = await received_events(session)
    assert (entitlement["type"], entitlement["ends_at"]) == (8, "2024-09-05T00:00:00.000000+00:00")
    assert "renewal_sku_ids" not in subscription

    # Before the migration window each renewal moves the end.
    await run_until(world, "2024-09-05T00:00:00")
    received_renewals = await received_events(session)
    assert sorted(event_names(received_renewals)) == ["ENTITLEMENT_UPDATE"] * 2 + ["SUBSCRIPTION_UPDATE"] * 2
    moved_entitlement = next(
        data for name, data in received_renewals if name == "ENTITLEMENT_UPDATE" and data["user_id"] == str(alice.id)
    )
    assert moved_entitlement == purchase["entitlement"] | {"ends_at": "2024-10-05T00:00:00.000000+00:00"}
    (await bob.post(f"/users/@me/subscriptions/{ending_subscription['subscription']['id']}/cancel")).ok()
    await received_events(session)

    # During the window a renewal removes the end of the entitlement. A canceled subscription is not migrated.
    assert (
        parse_timestamp_ms("2024-09-05T00:00:00")
        < changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATING.at_ms
        < parse_timestamp_ms("2024-10-05T00:00:00")
    )
    await run_until(world, "2024-10-05T00:00:00")
    window_events = await received_events(session)
    alice_events = [(name, data) for name, data in window_events if data["user_id"] == str(alice.id)]
    assert event_names(alice_events) == ["ENTITLEMENT_CREATE", "SUBSCRIPTION_UPDATE"]
    migrated_entitlement = alice_events[0][1]
    assert migrated_entitlement == purchase["entitlement"] | {"type": EntitlementType.PURCHASE, "ends_at": None}
    assert alice_events[1][1]["entitlement_ids"] == [migrated_entitlement["id"]]
    listed_entitlements = (await bot.get(f"/applications/{bot.application_id}/entitlements?user_id={alice.id}")).ok()
    assert listed_entitlements == [migrated_entitlement]
    assert event_names([(name, data) for name, data in window_events if data["user_id"] == str(bob.id)]) == [
        "SUBSCRIPTION_UPDATE"
    ]

    # After the window no entitlement has the old type, including those that ended during it.
    entitlements_path = f"/applications/{bot.application_id}/entitlements?user_id={bob.id}&exclude_ended=false"
    for offset_ms, entitlement_type in ((-1, 8), (0, 1)):
        world.clock.set(changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATED.at_ms + offset_ms)
        assert [entitlement["type"] for entitlement in (await bot.get(entitlements_path)).ok()] == [entitlement_type]

    # After the window a renewal changes only the subscription. RENEWAL_SKU_IDS adds the SKUs of the next renewal to it.
    assert (
        parse_timestamp_ms("2024-12-05T00:00:00")
        < changes.RENEWAL_SKU_IDS.at_ms
        < parse_timestamp_ms("2025-01-05T00:00:00")
    )
    await run_until(world, "2024-12-05T00:00:00")
    assert event_names(await received_events(session)) == ["SUBSCRIPTION_UPDATE"] * 2
    await run_until(world, "2025-01-05T00:00:00")
    ((_, subscription),) = await received_events(session)
    assert subscription["renewal_sku_ids"] == [str(sku_id)]
