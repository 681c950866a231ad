"""Web Push: subscriptions, recipients, limits, encrypted notifications, and errors of a push service on loopback."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from hubbub.protocol.enums import ChannelType, GatewayOpcode, OverwriteType
from hubbub.protocol.operation import RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import push_subscriptions as wire
from hubbub.server.core.config import Config
from hubbub.server.core.config_sections import PushConfig
from hubbub.server.talk.push_subscriptions import jobs
from tests.push_service import PUSH_SUBSCRIPTIONS_PATH, PushService, list_endpoints
from tests.server.identity.accounts import PASSWORD, register_user
from tests.server.talk.private_channels import create_group, open_dm
from tests.server.talk.test_notification_settings import ALL_MESSAGES, NOTHING, ONLY_MENTIONS, change_settings
from tests.server.talk.test_read_states import send_text
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, Guild, Session, World, befriend

SECOND_MS = 1_000


@pytest.fixture
async def service() -> AsyncIterator[PushService]:
    """A push service on loopback."""
    async with PushService() as push_service:
        yield push_service


@pytest.fixture
async def alice(private_targets_world: World) -> Actor:
    """The author of messages."""
    return await private_targets_world.user("alice")


@pytest.fixture
async def bob(private_targets_world: World, service: PushService) -> Actor:
    """A user whose browser is subscribed."""
    user = await private_targets_world.user("bob")
    await service.subscribe(user)
    return user


@pytest.fixture
async def guild(private_targets_world: World, alice: Actor, bob: Actor) -> Guild:
    """A guild of Alice and Bob."""
    return await private_targets_world.guild(alice, bob)


@pytest.fixture
async def private_channel_id(alice: Actor, bob: Actor) -> str:
    """The ID of the direct message channel of Alice and Bob."""
    return str((await open_dm(alice, bob))["id"])


async def deliver_notifications(world: World, service: PushService) -> list[str]:
    """Run all due jobs, return the texts of the new notifications, and clear the recorded requests.

    The order is defined only for notifications of the same channel."""
    await world.run_due_jobs()
    texts = [request.notification["body"] for request in service.requests]
    service.requests.clear()
    return texts


async def set_afk(session: Session, is_afk: bool) -> None:
    """Report whether the user of a session is away from the keyboard, and wait until the server has processed it."""
    presence: dict[str, Any] = {"status": "invisible", "activities": [], "since": None, "afk": is_afk}
    await session.send(GatewayOpcode.PRESENCE_UPDATE, presence)
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while session.actor.world.app.presences.is_active(session.actor.id) == is_afk:
            await asyncio.sleep(0)


# Content and headers


async def test_a_mention_is_sent_encrypted_and_authorized(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor, guild: Guild
) -> None:
    public_key = (await bob.get(PUSH_SUBSCRIPTIONS_PATH)).ok()["public_key"]

    message_id = await send_text(alice, guild.general, f"<@{bob.id}>  hello\n<#{guild.general}> <:wave:1> ||secret||")

    await private_targets_world.run_due_jobs()
    (request,) = service.requests
    assert request.notification == {
        "title": "alice (#general, Guild)",
        "body": "@bob hello #general :wave: (spoiler)",
        "channel_id": str(guild.general),
        "message_id": message_id,
        "path": f"/app/channels/{guild.id}/{guild.general}/{message_id}",
    }
    assert b"hello" not in request.body
    assert request.headers["Content-Encoding"] == "aes128gcm"
    assert request.headers["Urgency"] == "high"
    assert request.headers["TTL"] == str(jobs.TIME_TO_LIVE_SECONDS)
    assert request.public_key == public_key
    now = private_targets_world.clock.now_ms() // 1000
    claims = request.claims()
    assert claims["aud"] == service.url
    assert now < claims["exp"] <= now + 24 * 3600


async def test_the_size_of_a_request_does_not_depend_on_the_length_of_a_short_text(
    private_targets_world: World, service: PushService, alice: Actor, private_channel_id: str
) -> None:
    await send_text(alice, private_channel_id, "a")
    await send_text(alice, private_channel_id, "b" * 300)
    await send_text(alice, private_channel_id, "𝄞" * 2000)

    await private_targets_world.run_due_jobs()

    short_request, long_request, longest_request = service.requests
    assert len(short_request.body) == len(long_request.body)
    assert longest_request.notification["body"] == "𝄞" * 300
    assert len(longest_request.body) < 4096


async def test_notifications_of_a_channel_have_the_same_topic_which_does_not_reveal_the_channel(
    private_targets_world: World, service: PushService, alice: Actor, guild: Guild, private_channel_id: str
) -> None:
    for channel in (guild.general, guild.general, private_channel_id):
        await send_text(alice, channel, "hello")

    await private_targets_world.run_due_jobs()

    topics = {request.notification["channel_id"]: request.headers["Topic"] for request in service.requests}
    assert [request.headers["Topic"] for request in service.requests].count(topics[str(guild.general)]) == 2
    assert topics[private_channel_id] != topics[str(guild.general)]
    for channel_id, topic in topics.items():
        assert len(topic) == 32
        assert channel_id not in topic


async def test_titles_name_the_place_and_bodies_describe_messages_without_text(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor, guild: Guild, private_channel_id: str
) -> None:
    carol = await private_targets_world.user("carol")
    await befriend(alice, bob)
    await befriend(alice, carol)
    group_id = (await create_group(alice, bob, carol))["id"]
    (await alice.patch(f"/channels/{group_id}", json={"name": "Trip"})).ok()
    (await alice.patch(f"/guilds/{guild.id}/members/@me", json={"nick": "Al"})).ok()
    await send_text(alice, guild.general, "one")
    await send_text(alice, private_channel_id, "two")
    await send_text(alice, group_id, "three")
    await send_text(
        alice,
        private_channel_id,
        "",
        poll={"question": {"text": "When?"}, "answers": [{"poll_media": {"text": "Now"}}]},
    )

    await private_targets_world.run_due_jobs()

    texts = {
        (request.notification["title"], request.notification["body"], request.headers["Urgency"])
        for request in service.requests
    }
    assert texts == {
        ("Al (#general, Guild)", "one", "normal"),
        ("alice", "two", "high"),
        ("alice (Trip)", "three", "high"),
        ("alice", "Poll: When?", "high"),
    }


async def test_names_of_hidden_channels_are_not_revealed(
    private_targets_world: World, service: PushService, alice: Actor, guild: Guild
) -> None:
    hidden_channel_id = await guild.channel("hidden")
    await guild.overwrite(hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)

    await send_text(alice, guild.general, f"see <#{hidden_channel_id}>")

    assert await deliver_notifications(private_targets_world, service) == ["see #unknown"]


# Recipients


async def test_settings_decide_which_messages_notify(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor, guild: Guild, private_channel_id: str
) -> None:
    await change_settings(bob, guild, message_notifications=NOTHING)
    await send_text(alice, guild.general, "@everyone not sent")
    await private_targets_world.run_due_jobs()
    await change_settings(bob, guild, message_notifications=ONLY_MENTIONS)
    await send_text(alice, guild.general, "not a mention")
    await private_targets_world.run_due_jobs()
    await change_settings(bob, guild, mobile_push=False)
    await send_text(alice, guild.general, "@everyone not pushed")
    await private_targets_world.run_due_jobs()
    await change_settings(bob, guild, mobile_push=True, muted=True)
    await send_text(alice, guild.general, f"<@{bob.id}> muted")
    await send_text(bob, private_channel_id, "own message")
    await send_text(alice, private_channel_id, "silent", flags=1 << 12)
    assert await deliver_notifications(private_targets_world, service) == []

    await send_text(alice, private_channel_id, "private")
    await change_settings(bob, guild, muted=False, message_notifications=ALL_MESSAGES)
    await send_text(alice, guild.general, "all messages")
    assert sorted(await deliver_notifications(private_targets_world, service)) == ["all messages", "private"]


async def test_users_who_block_the_author_or_do_not_want_to_be_disturbed_are_not_notified(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor, guild: Guild
) -> None:
    (await bob.patch("/users/@me/settings", json={"status": "dnd"})).ok()
    await send_text(alice, guild.general, "not disturbed")
    assert await deliver_notifications(private_targets_world, service) == []
    (await bob.patch("/users/@me/settings", json={"status": "online"})).ok()
    (await bob.put(f"/users/@me/relationships/{alice.id}", json={"type": 2})).ok()
    await send_text(alice, guild.general, f"<@{bob.id}> blocked")
    assert await deliver_notifications(private_targets_world, service) == []


async def test_an_active_user_is_not_notified_on_other_devices(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor, private_channel_id: str
) -> None:
    session = await bob.connect()
    await send_text(alice, private_channel_id, "unknown whether active")
    assert await deliver_notifications(private_targets_world, service) == ["unknown whether active"]

    await set_afk(session, False)
    await send_text(alice, private_channel_id, "at the keyboard")
    assert await deliver_notifications(private_targets_world, service) == []

    await set_afk(session, True)
    await send_text(alice, private_channel_id, "away")
    assert await deliver_notifications(private_targets_world, service) == ["away"]


# Changes before the delivery


async def test_a_retried_notification_shows_only_what_the_user_can_still_read(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor, guild: Guild
) -> None:
    channels = [await guild.channel(name) for name in ("edited", "deleted", "hidden", "unreadable", "read")]
    edited_channel_id, deleted_channel_id, hidden_channel_id, unreadable_channel_id, read_channel_id = channels
    service.statuses = [503]
    message_ids = {channel: await send_text(alice, channel, f"secret {channel}") for channel in channels}
    await private_targets_world.run_due_jobs()
    service.requests.clear()

    (
        await alice.patch(
            f"/channels/{edited_channel_id}/messages/{message_ids[edited_channel_id]}", json={"content": "new text"}
        )
    ).ok()
    (await alice.delete(f"/channels/{deleted_channel_id}/messages/{message_ids[deleted_channel_id]}")).ok()
    await guild.overwrite(hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    await guild.overwrite(
        unreadable_channel_id, guild.id, deny=Permissions.READ_MESSAGE_HISTORY, target_type=OverwriteType.ROLE
    )
    (
        await bob.post(f"/channels/{read_channel_id}/messages/{message_ids[read_channel_id]}/ack", json={"token": None})
    ).ok()
    await private_targets_world.clock.run_for(jobs.RETRY_DELAY_MS)

    assert sorted(await deliver_notifications(private_targets_world, service)) == ["New message", "new text"]


async def test_a_private_thread_notifies_only_its_members(
    private_targets_world: World, service: PushService, alice: Actor, guild: Guild
) -> None:
    body = {"name": "plans", "type": ChannelType.PRIVATE_THREAD}
    thread_id = (await alice.post(f"/channels/{guild.general}/threads", json=body)).ok()["id"]

    await send_text(alice, thread_id, "@everyone secret")

    assert await deliver_notifications(private_targets_world, service) == []


# Errors of the push service


@pytest.mark.parametrize("status", [404, 410])
async def test_a_subscription_that_is_gone_is_deleted(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor, private_channel_id: str, status: int
) -> None:
    service.statuses = [status]

    await send_text(alice, private_channel_id, "hello")

    assert await deliver_notifications(private_targets_world, service) == ["hello"]
    assert await list_endpoints(bob) == []


async def test_a_failed_notification_is_retried_in_order_until_it_is_too_old(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor, private_channel_id: str
) -> None:
    service.statuses = [503]
    await send_text(alice, private_channel_id, "first")
    await send_text(alice, private_channel_id, "second")
    assert await deliver_notifications(private_targets_world, service) == ["first"]

    await private_targets_world.clock.run_for(jobs.RETRY_DELAY_MS)
    assert await deliver_notifications(private_targets_world, service) == ["first", "second"]

    service.statuses = [500] * 100
    await send_text(alice, private_channel_id, "third")
    await private_targets_world.run_due_jobs()
    await private_targets_world.clock.run_for(jobs.RETRY_PERIOD_MS + jobs.RETRY_DELAY_MAX_MS)
    assert 5 < len(await deliver_notifications(private_targets_world, service)) < 20
    service.statuses = []
    await private_targets_world.clock.run_for(jobs.RETRY_PERIOD_MS)
    assert await deliver_notifications(private_targets_world, service) == []
    assert len(await list_endpoints(bob)) == 1


async def test_retry_after_of_the_push_service_is_honored(
    private_targets_world: World, service: PushService, alice: Actor, private_channel_id: str
) -> None:
    service.statuses, service.response_headers = [429], {"Retry-After": "60"}
    await send_text(alice, private_channel_id, "hello")
    assert await deliver_notifications(private_targets_world, service) == ["hello"]
    await private_targets_world.clock.run_for(59 * SECOND_MS)
    assert await deliver_notifications(private_targets_world, service) == []
    await private_targets_world.clock.run_for(SECOND_MS)
    assert await deliver_notifications(private_targets_world, service) == ["hello"]


async def test_a_notification_that_is_too_large_is_sent_without_text(
    private_targets_world: World, service: PushService, alice: Actor, private_channel_id: str
) -> None:
    service.statuses = [413]
    await send_text(alice, private_channel_id, "hello")
    assert await deliver_notifications(private_targets_world, service) == ["hello", "New message"]


async def test_a_rejected_notification_is_not_retried(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor, private_channel_id: str
) -> None:
    service.statuses = [403]
    await send_text(alice, private_channel_id, "hello")
    await private_targets_world.run_due_jobs()
    await private_targets_world.clock.run_for(3600 * SECOND_MS)
    assert await deliver_notifications(private_targets_world, service) == ["hello"]
    assert len(await list_endpoints(bob)) == 1


async def test_a_push_service_with_a_private_address_is_never_called(world: World, service: PushService) -> None:
    alice, bob = await world.user(), await world.user()
    private_channel_id = (await open_dm(alice, bob))["id"]
    subscription = {**service.subscription(), "endpoint": "https://localhost/1"}
    (await bob.post(PUSH_SUBSCRIPTIONS_PATH, json=subscription)).ok()

    await send_text(alice, private_channel_id, "hello")
    await world.run_due_jobs()

    assert await list_endpoints(bob) == []


# Subscriptions


async def test_a_logged_out_browser_is_not_notified(
    private_targets_world: World, service: PushService, alice: Actor
) -> None:
    bob = await register_user(private_targets_world, "bob")
    private_channel_id = (await open_dm(alice, bob))["id"]
    await service.subscribe(bob, "old")
    service.statuses = [503]
    await send_text(alice, private_channel_id, "hello")
    await private_targets_world.run_due_jobs()
    service.requests.clear()
    (await bob.post("/auth/logout")).ok()
    login = (
        await private_targets_world.request("POST", "/auth/login", json={"login": "bob", "password": PASSWORD})
    ).ok()
    bob = Actor(private_targets_world, bob.id, login["token"], "bob")
    await service.subscribe(bob, "new")

    await private_targets_world.clock.run_for(3600 * SECOND_MS)
    await send_text(alice, private_channel_id, "hello again")
    await private_targets_world.run_due_jobs()

    assert [request.path for request in service.requests] == ["/new"]
    assert await list_endpoints(bob) == [f"{service.url}/new"]


async def test_a_login_session_sees_and_deletes_only_its_own_subscriptions(
    private_targets_world: World, service: PushService
) -> None:
    bob = await register_user(private_targets_world, "bob")
    subscription = await service.subscribe(bob)
    login = (
        await private_targets_world.request("POST", "/auth/login", json={"login": "bob", "password": PASSWORD})
    ).ok()
    other_login = Actor(private_targets_world, bob.id, login["token"], "bob")

    assert await list_endpoints(other_login) == []
    (await other_login.delete(f"{PUSH_SUBSCRIPTIONS_PATH}/{subscription['id']}")).rejected(404, 0)
    assert (await bob.get(PUSH_SUBSCRIPTIONS_PATH)).ok()["subscriptions"] == [subscription]
    # The same browser subscribes after another login.
    assert await service.subscribe(other_login) == subscription
    assert (await list_endpoints(bob), await list_endpoints(other_login)) == ([], [subscription["endpoint"]])
    (await other_login.delete(f"{PUSH_SUBSCRIPTIONS_PATH}/{subscription['id']}")).ok()
    assert await list_endpoints(other_login) == []


async def test_subscriptions_are_limited_and_an_endpoint_belongs_to_the_last_user(
    private_targets_world: World, service: PushService, alice: Actor, bob: Actor
) -> None:
    assert await list_endpoints(bob) == [f"{service.url}/browser"]
    await service.subscribe(alice)
    assert await list_endpoints(bob) == []
    for number in range(20):
        await service.subscribe(alice, str(number))
    assert await list_endpoints(alice) == [f"{service.url}/{number}" for number in range(20)]


async def test_invalid_subscriptions_are_rejected_at_their_field(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(bob)
    bot = await world.bot(guild)
    body = {"endpoint": "http://push.example/1", "keys": {"p256dh": "AAAA", "auth": "AAAA"}}

    response = await bob.post(PUSH_SUBSCRIPTIONS_PATH, json=body)

    assert response.errors("endpoint") == ["URL_TYPE_INVALID_SCHEME"]
    assert response.errors("keys.p256dh") == response.errors("keys.auth") == ["KEY_INVALID"]
    for host in ("127.0.0.1", "[::1]", "192.168.1.4", "169.254.169.254", "2130706433"):
        response = await bob.post(PUSH_SUBSCRIPTIONS_PATH, json={**body, "endpoint": f"https://{host}/1"})
        assert response.errors("endpoint") == ["URL_TYPE_INVALID_HOST"], host
    for url in ("https://", "https://user@push.example/", "https://push.example:x/", "https://[/"):
        assert (await bob.post(PUSH_SUBSCRIPTIONS_PATH, json={**body, "endpoint": url})).errors("endpoint") == [
            "URL_TYPE_INVALID_URL"
        ]
    (await bot.get(PUSH_SUBSCRIPTIONS_PATH)).rejected(403, 20001)


async def test_subscriptions_are_exported_and_deleted_with_the_user(
    private_targets_world: World, service: PushService
) -> None:
    carol = await register_user(private_targets_world, "carol")
    subscription = await service.subscribe(carol)

    harvest = (await carol.get("/users/@me/harvest")).ok()
    assert harvest["records"]["push_subscriptions"] == [subscription]
    (await carol.post("/users/@me/delete", json={"password": PASSWORD})).ok()
    # The next user of the browser is not affected by the deletion.
    dave = await private_targets_world.user()
    assert (await service.subscribe(dave))["id"] != subscription["id"]


class TestLimitedNotifications:
    @pytest.fixture
    def store_config(self, store_config: Config) -> Config:
        return msgspec.structs.replace(store_config, rate_limits="real")

    async def test_a_user_receives_a_limited_number_of_notifications(
        self,
        private_targets_world: World,
        service: PushService,
        alice: Actor,
        private_channel_id: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(wire, "PUSH_NOTIFICATION_LIMIT", RateLimit(2, 60))
        for number in range(3):
            await send_text(alice, private_channel_id, str(number))
        assert await deliver_notifications(private_targets_world, service) == ["0", "1"]
        await private_targets_world.clock.run_for(60 * SECOND_MS)
        await send_text(alice, private_channel_id, "later")
        assert await deliver_notifications(private_targets_world, service) == ["later"]


class TestDisabledNotifications:
    @pytest.fixture
    def store_config(self, store_config: Config) -> Config:
        return msgspec.structs.replace(store_config, push=PushConfig(enabled=False))

    async def test_browsers_cannot_subscribe_and_nothing_is_sent(
        self, private_targets_world: World, service: PushService
    ) -> None:
        bob = await private_targets_world.user()
        assert (await bob.get(PUSH_SUBSCRIPTIONS_PATH)).ok() == {"public_key": None, "subscriptions": []}
        (await bob.post(PUSH_SUBSCRIPTIONS_PATH, json=service.subscription())).rejected(400, 40006)
