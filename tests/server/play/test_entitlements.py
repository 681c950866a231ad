"""SKUs, test entitlements, lists of entitlements, purchases, and their webhook events."""

from typing import Any

import pytest

from hubbub.protocol.enums import EntitlementOwnerType, EntitlementType, SkuType
from hubbub.protocol.flags import SkuFlags
from hubbub.server.play import entitlements, skus
from tests.receiver import Receiver, subscribe_to_events
from tests.server.play.application_owners import sign_in_owner
from tests.server.play.purchases import bearer_headers, create_test_entitlement, publish_sku
from tests.world import Actor, World

# SKUs


async def test_a_subscription_is_listed_with_its_group(world: World) -> None:
    bot = await world.bot()
    sku_id = await publish_sku(bot, name="Gold & Silver!")
    await publish_sku(bot, SkuType.DURABLE, name="Hat", published=False)

    skus = (await bot.get(f"/applications/{bot.application_id}/skus")).ok()

    assert [sku["type"] for sku in skus] == [SkuType.SUBSCRIPTION, SkuType.SUBSCRIPTION_GROUP, SkuType.DURABLE]
    subscription_sku = next(sku for sku in skus if sku["id"] == str(sku_id))
    assert subscription_sku == {
        "id": str(sku_id),
        "type": SkuType.SUBSCRIPTION,
        "application_id": str(bot.application_id),
        "name": "Gold & Silver!",
        "slug": "gold-silver",
        "flags": SkuFlags.USER_SUBSCRIPTION | SkuFlags.AVAILABLE,
        "dependent_sku_id": None,
        "manifest_labels": None,
        "access_type": 1,
        "features": [],
        "release_date": None,
        "premium": False,
        "show_age_gate": False,
    }
    assert next(sku for sku in skus if sku["type"] == SkuType.DURABLE)["flags"] == 0


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": "x" * 81}, "name"),
        ({"name": ""}, "name"),
        ({"description": "x" * 161}, "description"),
        ({"price": -1}, "price"),
        ({"currency": "dollars"}, "currency"),
        ({"type": SkuType.SUBSCRIPTION_GROUP}, "type"),
        ({"type": 1}, "type"),
        ({"flags": 0}, "flags"),
        ({"flags": SkuFlags.GUILD_SUBSCRIPTION | SkuFlags.USER_SUBSCRIPTION}, "flags"),
        ({"type": SkuType.DURABLE, "flags": SkuFlags.USER_SUBSCRIPTION}, "flags"),
    ],
)
async def test_an_invalid_sku_names_the_invalid_field(world: World, body: dict[str, Any], path: str) -> None:
    bot = await world.bot()
    sku = {"type": SkuType.SUBSCRIPTION, "name": "Premium", "flags": SkuFlags.USER_SUBSCRIPTION, **body}

    assert (await bot.post(f"/applications/{bot.application_id}/skus", json=sku)).errors(path)


async def test_an_application_cannot_mix_user_and_guild_subscriptions(world: World) -> None:
    bot = await world.bot()
    await publish_sku(bot)
    body = {"type": SkuType.SUBSCRIPTION, "name": "Guild", "flags": SkuFlags.GUILD_SUBSCRIPTION}

    assert (await bot.post(f"/applications/{bot.application_id}/skus", json=body)).errors("flags") == [
        "SKU_FLAGS_MIXED"
    ]


async def test_unpublished_skus_are_listed_for_owner_and_bot_only(world: World) -> None:
    bot = await world.bot()
    gold_sku_id, hat_sku_id, deleted_sku_id = (
        await publish_sku(bot, name="Gold"),
        await publish_sku(bot, SkuType.DURABLE, published=False),
        await publish_sku(bot, SkuType.DURABLE),
    )
    (await bot.delete(f"/applications/{bot.application_id}/skus/{deleted_sku_id}")).ok()
    path = f"/applications/{bot.application_id}/store/skus"

    skus = (await bot.get(path)).ok()

    assert [(sku["id"], sku["state"]) for sku in skus] == [
        (str(gold_sku_id), "published"),
        (str(hat_sku_id), "unpublished"),
    ]
    assert (await (await sign_in_owner(world, bot)).get(path)).ok() == skus
    (await (await world.user()).get(path)).rejected(403, 20012)
    (await bot.get("/applications/1/store/skus")).rejected(404, 10002)


async def test_the_number_of_skus_is_limited(world: World) -> None:
    bot = await world.bot()
    for _ in range(50):
        await publish_sku(bot, SkuType.DURABLE)
    body = {"type": SkuType.DURABLE, "name": "One more"}

    assert (await bot.post(f"/applications/{bot.application_id}/skus", json=body)).errors("type") == [
        "SKU_LIMIT_REACHED"
    ]


async def test_only_owner_and_bot_manage_skus(world: World) -> None:
    bot, other_bot, stranger = await world.bot(), await world.bot(), await world.user()
    sku_id = await publish_sku(bot)
    path = f"/applications/{bot.application_id}/skus"

    for actor in (other_bot, stranger):
        (await actor.get(path)).rejected(403, 20012)
        (await actor.post(path, json={"type": SkuType.DURABLE, "name": "x"})).rejected(403, 20012)
        (await actor.patch(f"{path}/{sku_id}", json={"price": 0})).rejected(403, 20012)
        (await actor.delete(f"{path}/{sku_id}")).rejected(403, 20012)
    owner = await sign_in_owner(world, bot)
    assert (await owner.patch(f"{path}/{sku_id}", json={"name": "New", "price": 1, "description": "d"})).ok()[
        "price"
    ] == 1
    (await owner.patch(f"{path}/1", json={"price": 0})).rejected(404, 10027)
    (await bot.get("/applications/1/skus")).rejected(404, 10002)


async def test_a_published_sku_is_active_and_listed_in_the_store(world: World) -> None:
    bot, other_bot = await world.bot(name="shop"), await world.bot()
    sku_id, hidden_id = await publish_sku(bot), await publish_sku(bot, SkuType.DURABLE, listed=False)
    path = f"/applications/{bot.application_id}"

    async def is_active(application: Actor = bot) -> bool:
        application_id = application.application_id or 0
        result: bool = await world.app.database.read(lambda tx: skus.can_offer(tx, application_id, sku_id))
        return result

    assert await is_active()
    assert not await is_active(other_bot)
    store = (await world.request("GET", f"{path}/store")).ok()
    assert store["application"]["name"] == "shop"
    assert [(sku["id"], sku["price"], sku["currency"]) for sku in store["skus"]] == [(str(sku_id), 499, "usd")]
    assert (await world.request("GET", f"{path}/store/{hidden_id}")).ok()["id"] == str(hidden_id)
    (await world.request("GET", f"/applications/{other_bot.application_id}/store/{sku_id}")).rejected(404, 10027)

    (await bot.patch(f"{path}/skus/{sku_id}", json={"published": False})).ok()
    assert not await is_active()
    assert (await world.request("GET", f"{path}/store")).ok()["skus"] == []
    (await bot.delete(f"{path}/skus/{hidden_id}")).ok()
    assert str(hidden_id) in [sku["id"] for sku in (await bot.get(f"{path}/skus")).ok()]
    (await bot.patch(f"{path}/skus/{hidden_id}", json={"published": True})).rejected(400, 50057)
    (await world.request("GET", "/applications/1/store")).rejected(404, 10002)


# Test entitlements


async def test_a_test_entitlement_looks_like_a_purchased_one(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    sku_id = await publish_sku(bot, published=False)
    session = await bot.connect(intents=0)

    created_entitlement = await create_test_entitlement(bot, sku_id, alice.id)

    assert created_entitlement == {
        "id": created_entitlement["id"],
        "sku_id": str(sku_id),
        "application_id": str(bot.application_id),
        "user_id": str(alice.id),
        "type": EntitlementType.TEST_MODE_PURCHASE,
        "deleted": False,
        "consumed": False,
        "starts_at": None,
        "ends_at": None,
        "gift_code_flags": 0,
        "promotion_id": None,
    }
    assert await session.next("ENTITLEMENT_CREATE") == created_entitlement
    assert (
        await bot.get(f"/applications/{bot.application_id}/entitlements/{created_entitlement['id']}")
    ).ok() == created_entitlement
    other_bot = await world.bot()
    (
        await other_bot.get(f"/applications/{other_bot.application_id}/entitlements/{created_entitlement['id']}")
    ).rejected(404, 10029)


async def test_a_test_entitlement_of_a_guild_names_guild_and_developer(world: World) -> None:
    bot = await world.bot()
    guild = await world.guild()
    sku_id = await publish_sku(bot, flags=SkuFlags.GUILD_SUBSCRIPTION)

    created_entitlement = await create_test_entitlement(bot, sku_id, guild.id, EntitlementOwnerType.GUILD)

    assert created_entitlement["guild_id"] == str(guild.id)
    assert created_entitlement["user_id"] == str((await sign_in_owner(world, bot)).id)


async def test_a_test_entitlement_is_deleted_once(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    sku_id = await publish_sku(bot)
    session = await bot.connect(intents=0)
    created_entitlement = await create_test_entitlement(bot, sku_id, alice.id)
    path = f"/applications/{bot.application_id}/entitlements"

    (await bot.delete(f"{path}/{created_entitlement['id']}")).ok()

    assert await session.next("ENTITLEMENT_DELETE") == created_entitlement | {"deleted": True}
    (await bot.delete(f"{path}/{created_entitlement['id']}")).rejected(404, 10029)
    assert (await bot.get(path)).ok() == []
    assert [entitlement["deleted"] for entitlement in (await bot.get(f"{path}?exclude_deleted=false")).ok()] == [True]
    await create_test_entitlement(bot, sku_id, alice.id)


async def test_an_invalid_test_entitlement_is_rejected(world: World) -> None:
    bot, other_bot, alice = await world.bot(), await world.bot(), await world.user()
    guild = await world.guild()
    own_sku_id, hat_sku_id, other_sku_id = (
        await publish_sku(bot),
        await publish_sku(bot, SkuType.DURABLE),
        await publish_sku(other_bot),
    )
    path = f"/applications/{bot.application_id}/entitlements"

    def body(sku_id: int, owner: int, owner_type: int = EntitlementOwnerType.USER) -> dict[str, Any]:
        return {"sku_id": str(sku_id), "owner_id": str(owner), "owner_type": owner_type}

    (await bot.post(path, json=body(other_sku_id, alice.id))).rejected(404, 10027)
    (await bot.post(path, json=body(hat_sku_id, alice.id))).rejected(400, 50057)
    (await bot.post(path, json=body(own_sku_id, 1))).rejected(404, 10013)
    assert (await bot.post(path, json=body(own_sku_id, guild.id, EntitlementOwnerType.GUILD))).errors("owner_type")
    assert (await bot.post(path, json=body(own_sku_id, alice.id, 3))).errors("owner_type")
    assert (await bot.post(path, json={})).errors("sku_id")
    await create_test_entitlement(bot, own_sku_id, alice.id)
    (await bot.post(path, json=body(own_sku_id, alice.id))).rejected(400, 40074)
    (await other_bot.post(path, json=body(own_sku_id, alice.id))).rejected(403, 20012)


# Lists


async def test_pages_ascend_in_both_directions(world: World) -> None:
    """discord.py uses the first item of a page as the next `before`, and the last one as the next `after`."""
    bot = await world.bot()
    sku_id = await publish_sku(bot)
    created_ids = [(await create_test_entitlement(bot, sku_id, (await world.user()).id))["id"] for _ in range(5)]
    path = f"/applications/{bot.application_id}/entitlements"

    async def entitlement_ids(query: str) -> list[str]:
        return [entitlement["id"] for entitlement in (await bot.get(f"{path}?{query}")).ok()]

    assert await entitlement_ids("") == created_ids
    assert await entitlement_ids("limit=2") == created_ids[:2]
    assert await entitlement_ids(f"limit=2&after={created_ids[1]}") == created_ids[2:4]
    assert await entitlement_ids(f"limit=2&before={created_ids[4]}") == created_ids[2:4]
    assert await entitlement_ids(f"after={created_ids[0]}&before={created_ids[3]}") == created_ids[1:3]
    assert (await bot.get(f"{path}?limit=101")).errors("limit")
    assert (await bot.get(f"{path}?limit=0")).errors("limit")


async def test_entitlement_lists_are_filtered(world: World) -> None:
    bot, alice, bob = await world.bot(), await world.user(), await world.user()
    gold_sku_id, silver_sku_id = await publish_sku(bot), await publish_sku(bot, name="Silver")
    hat_sku_id, potion_sku_id = await publish_sku(bot, SkuType.DURABLE), await publish_sku(bot, SkuType.CONSUMABLE)
    first_entitlement, second_entitlement, third_entitlement = (
        await create_test_entitlement(bot, gold_sku_id, alice.id),
        await create_test_entitlement(bot, silver_sku_id, alice.id),
        await create_test_entitlement(bot, gold_sku_id, bob.id),
    )
    consumable = (await alice.post("/users/@me/purchases", json={"sku_id": str(potion_sku_id)})).ok()["entitlement"]
    durable = (await bob.post("/users/@me/purchases", json={"sku_id": str(hat_sku_id)})).ok()["entitlement"]
    path = f"/applications/{bot.application_id}/entitlements"
    (await bot.post(f"{path}/{consumable['id']}/consume")).ok()

    async def entitlement_ids(query: str) -> list[str]:
        return [entitlement["id"] for entitlement in (await bot.get(f"{path}?{query}")).ok()]

    assert await entitlement_ids(f"user_id={alice.id}") == [
        first_entitlement["id"],
        second_entitlement["id"],
        consumable["id"],
    ]
    assert await entitlement_ids(f"sku_ids={gold_sku_id},{hat_sku_id}") == [
        first_entitlement["id"],
        third_entitlement["id"],
        durable["id"],
    ]
    assert await entitlement_ids(f"sku_ids={silver_sku_id}&user_id={bob.id}") == []
    assert await entitlement_ids(f"user_id={alice.id}&only_active=true") == [
        first_entitlement["id"],
        second_entitlement["id"],
    ]
    assert await entitlement_ids("guild_id=1") == []

    own_path = f"/users/@me/applications/{bot.application_id}/entitlements"
    headers = await bearer_headers(world, alice, bot, "identify")
    assert [entitlement["id"] for entitlement in (await world.request("GET", own_path, headers=headers)).ok()] == [
        first_entitlement["id"],
        second_entitlement["id"],
    ]
    assert len((await alice.get(f"{own_path}?exclude_consumed=false")).ok()) == 3
    assert len((await alice.get(f"{own_path}?sku_ids={gold_sku_id}")).ok()) == 1
    (await bot.get(own_path)).rejected(403, 20001)
    other_bot = await world.bot()
    other_path = f"/users/@me/applications/{other_bot.application_id}/entitlements"
    (await world.request("GET", other_path, headers=headers)).rejected(403, 20012)
    (await alice.get("/users/@me/applications/1/entitlements")).rejected(404, 10002)


async def test_an_access_token_manages_entitlements_for_the_owner_only(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    owner = await sign_in_owner(world, bot)
    path = f"/applications/{bot.application_id}/entitlements"

    scoped_headers = await bearer_headers(world, owner, bot, "applications.entitlements")
    assert (await world.request("GET", path, headers=scoped_headers)).ok() == []
    stranger_headers = await bearer_headers(world, alice, bot, "applications.entitlements")
    (await world.request("GET", path, headers=stranger_headers)).rejected(403, 20012)
    unscoped_headers = await bearer_headers(world, owner, bot, "identify")
    (await world.request("GET", path, headers=unscoped_headers)).rejected(403, 50026)


# Purchases


async def test_a_consumable_is_bought_consumed_and_bought_again(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    potion_sku_id = await publish_sku(bot, SkuType.CONSUMABLE)
    session = await bot.connect(intents=0)
    body = {"sku_id": str(potion_sku_id)}

    entitlement = (await alice.post("/users/@me/purchases", json=body)).ok()["entitlement"]
    assert (entitlement["type"], entitlement["ends_at"], entitlement["consumed"]) == (1, None, False)
    assert await session.next("ENTITLEMENT_CREATE") == entitlement
    (await alice.post("/users/@me/purchases", json=body)).rejected(400, 40074)

    path = f"/applications/{bot.application_id}/entitlements/{entitlement['id']}"
    (await bot.post(f"{path}/consume")).ok()
    assert await session.next("ENTITLEMENT_UPDATE") == entitlement | {"consumed": True}
    (await bot.post(f"{path}/consume")).ok()
    await session.assert_not_received("ENTITLEMENT_UPDATE")
    (await alice.post("/users/@me/purchases", json=body)).ok()
    (await bot.delete(path)).rejected(400, 40019)


async def test_only_consumables_are_consumed(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    created_entitlement = await create_test_entitlement(bot, await publish_sku(bot), alice.id)
    path = f"/applications/{bot.application_id}/entitlements"

    (await bot.post(f"{path}/{created_entitlement['id']}/consume")).rejected(400, 40018)
    (await bot.post(f"{path}/1/consume")).rejected(404, 10029)


async def test_a_durable_is_bought_once_and_ended_by_a_refund(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    hat_sku_id = await publish_sku(bot, SkuType.DURABLE)
    session = await bot.connect(intents=0)
    purchase = (await alice.post("/users/@me/purchases", json={"sku_id": str(hat_sku_id)})).ok()
    assert "subscription" not in purchase
    (await alice.post("/users/@me/purchases", json={"sku_id": str(hat_sku_id)})).rejected(400, 40074)
    path = f"/applications/{bot.application_id}/entitlements/{purchase['entitlement']['id']}/refund"

    (await alice.post(path)).rejected(403, 20012)
    owner = await sign_in_owner(world, bot)
    (await owner.post(path)).ok()

    assert (await session.next("ENTITLEMENT_DELETE"))["deleted"] is True
    (await owner.post(path)).rejected(404, 10029)
    (await alice.post("/users/@me/purchases", json={"sku_id": str(hat_sku_id)})).ok()


async def test_unpublished_and_unknown_skus_cannot_be_bought(world: World) -> None:
    bot, alice = await world.bot(), await world.user()
    hidden_sku_id = await publish_sku(bot, published=False)
    group = next(
        sku["id"]
        for sku in (await bot.get(f"/applications/{bot.application_id}/skus")).ok()
        if sku["type"] == SkuType.SUBSCRIPTION_GROUP
    )

    (await alice.post("/users/@me/purchases", json={"sku_id": str(hidden_sku_id)})).rejected(400, 50057)
    (await alice.post("/users/@me/purchases", json={"sku_id": group})).rejected(400, 50057)
    (await alice.post("/users/@me/purchases", json={"sku_id": "1"})).rejected(404, 10027)
    (await bot.post("/users/@me/purchases", json={"sku_id": "1"})).rejected(403, 20001)
    assert (await alice.post("/users/@me/purchases", json={})).errors("sku_id")


async def test_active_entitlements_of_user_and_guild_are_found(world: World) -> None:
    app, guild_app = await world.bot(), await world.bot()
    alice = await world.user()
    guild = await world.guild(alice)
    hat_sku_id = await publish_sku(app, SkuType.DURABLE)
    (await alice.post("/users/@me/purchases", json={"sku_id": str(hat_sku_id)})).ok()
    premium_sku_id = await publish_sku(guild_app, flags=SkuFlags.GUILD_SUBSCRIPTION)
    body = {"sku_id": str(premium_sku_id), "guild_id": str(guild.id)}
    (await alice.post("/users/@me/purchases", json=body)).ok()

    async def count_active(bot: Actor, user_id: int, guild_id: int | None) -> int:
        rows: list[Any] = await world.write(
            lambda call: entitlements.list_active_entitlements(call, bot.application_id or 0, user_id, guild_id)
        )
        return len(rows)

    assert await count_active(app, alice.id, None) == 1
    assert await count_active(app, 1, guild.id) == 0
    assert await count_active(guild_app, 1, guild.id) == 1
    # Alice bought the subscription for the guild, not for herself.
    assert await count_active(guild_app, alice.id, None) == 0


async def test_entitlement_events_are_sent_as_webhook_events(private_targets_world: World, receiver: Receiver) -> None:
    bot, alice = await private_targets_world.bot(), await private_targets_world.user()
    await subscribe_to_events(receiver, bot, "ENTITLEMENT_CREATE", "ENTITLEMENT_UPDATE", "ENTITLEMENT_DELETE")
    created_entitlement = await create_test_entitlement(bot, await publish_sku(bot), alice.id)
    purchase = (
        await alice.post("/users/@me/purchases", json={"sku_id": str(await publish_sku(bot, SkuType.CONSUMABLE))})
    ).ok()
    path = f"/applications/{bot.application_id}/entitlements"
    (await bot.post(f"{path}/{purchase['entitlement']['id']}/consume")).ok()
    (await bot.delete(f"{path}/{created_entitlement['id']}")).ok()

    events = await receiver.wait_for_events(4)

    assert [event["type"] for event in events] == [
        "ENTITLEMENT_CREATE",
        "ENTITLEMENT_CREATE",
        "ENTITLEMENT_UPDATE",
        "ENTITLEMENT_DELETE",
    ]
    assert events[0]["data"] == created_entitlement
    assert events[3]["data"] == created_entitlement | {"deleted": True}
