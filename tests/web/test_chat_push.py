"""Push notifications, the activity of a user, and the installation of the chat client in Chromium.

Chromium without Google's services cannot subscribe to a push service. The tests therefore inject the subscription of a push
service on loopback into the page, and deliver the messages that it received to the service worker over the DevTools protocol.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from hubbub.server.core.config_sections import PushConfig
from tests.push_service import PushService, list_endpoints
from tests.server.talk.test_read_states import send_text
from tests.web.chat import ChatPlatform, ChatWindow, general_path
from tests.web.conftest import OpenPage, run_platform
from tests.web.settings import accessibility_problems
from tests.web.test_chat_account_settings import open_user_settings
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, small_config

pytestmark = pytest.mark.full_browser

SUBSCRIPTION_SCRIPT = """
(subscription => {
  const KEY = "test-push-key";
  const current = () => {
    const key = localStorage.getItem(KEY);
    const endpoint = subscription.endpoint + (localStorage.getItem("test-push-suffix") ?? "");
    return key === null ? null : {
      endpoint,
      options: { applicationServerKey: Uint8Array.from(JSON.parse(key)).buffer },
      toJSON: () => ({ ...subscription, endpoint }),
      unsubscribe: async () => { localStorage.removeItem(KEY); return true; },
    };
  };
  PushManager.prototype.getSubscription = async () => current();
  PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly || applicationServerKey.length !== 65) throw new TypeError("invalid options");
    localStorage.setItem(KEY, JSON.stringify([...applicationServerKey]));
    return current();
  };
  window.isAway = false;
  Object.defineProperty(document, "hidden", { get: () => window.isAway });
  document.hasFocus = () => !window.isAway;
  window.leave = () => { window.isAway = true; document.dispatchEvent(new Event("visibilitychange")); };
  window.comeBack = () => { window.isAway = false; document.dispatchEvent(new Event("visibilitychange")); };
})(SUBSCRIPTION);
"""


PushPlatform = tuple[ChatPlatform, PushService]


@pytest_asyncio.fixture(loop_scope="session")
async def push_platform(open_page: OpenPage) -> AsyncIterator[PushPlatform]:
    """A platform that may send requests to this machine, and a push service on loopback."""
    async with run_platform(open_page, small_config(allow_private_targets=True)) as platform, PushService() as service:
        yield platform, service


def subscription_script(service: PushService) -> str:
    """Return the script that makes the browser subscribe to a push service on loopback."""
    return SUBSCRIPTION_SCRIPT.replace("SUBSCRIPTION)", f"{json.dumps(service.subscription())})")


async def open_notifications(window: ChatWindow) -> Any:
    """Open the screen of notifications and return the switch of push notifications."""
    settings = await open_user_settings(window, "Notifications")
    return settings.get_by_role("checkbox", name="Push notifications")


async def switch_on(window: ChatWindow) -> None:
    """Subscribe the browser of a window on the settings screen, and close the screen."""
    await window.page.context.grant_permissions(["notifications"])
    switch = await open_notifications(window)
    await switch.check()
    await window.page.get_by_text("This browser receives push notifications").wait_for()
    await window.page.keyboard.press("Escape")


class WorkerControl:
    """The service worker of a page, controlled over the DevTools protocol."""

    def __init__(self, window: ChatWindow) -> None:
        self._window = window

    async def find_registration(self) -> None:
        """Wait for the worker and find its registration."""
        page = self._window.page
        await self._window.wait_until("async () => (await navigator.serviceWorker.ready).active !== null")
        self._session = await page.context.new_cdp_session(page)
        registrations: asyncio.Queue[Any] = asyncio.Queue()

        def add_registrations(event: Any) -> None:
            for registration in event["registrations"]:
                registrations.put_nowait(registration)

        self._session.on("ServiceWorker.workerRegistrationUpdated", add_registrations)
        await self._session.send("ServiceWorker.enable")
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            self._registration_id = (await registrations.get())["registrationId"]

    async def deliver(self, notification: dict[str, Any]) -> None:
        """Deliver a push message with this payload to the worker."""
        await self._session.send(
            "ServiceWorker.deliverPushMessage",
            {
                "origin": self._window.platform.url,
                "registrationId": self._registration_id,
                "data": json.dumps(notification),
            },
        )

    async def click(self, channel_id: int) -> None:
        """Dispatch a click on the notification of a channel to the worker."""
        worker = self._window.page.context.service_workers[0]
        await worker.evaluate(
            """async tag => {
              const [notification] = await registration.getNotifications({ tag });
              dispatchEvent(new NotificationEvent("notificationclick", { notification }));
            }""",
            str(channel_id),
        )

    async def wait_notifications(self, expected: list[list[str]]) -> None:
        """Wait until the browser shows exactly these notifications, as title and text."""
        await self._window.wait_until(
            """async expected => {
              const registration = await navigator.serviceWorker.getRegistration("/app");
              const shown = (await registration.getNotifications()).map(({ title, body }) => [title, body]);
              return JSON.stringify(shown.sort()) === JSON.stringify(expected);
            }""",
            expected,
        )


async def wait_active(platform: ChatPlatform, user: Actor, is_active: bool) -> None:
    """Wait until the server regards a user as active or as inactive."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while platform.world.app.presences.is_active(user.id) != is_active:
            await asyncio.sleep(0.01)


async def test_a_subscribed_browser_shows_notifications_and_opens_their_channels(push_platform: PushPlatform) -> None:
    platform, service = push_platform
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    news_channel_id = await guild.channel("news")

    async with platform.open_window(nora, general_path(guild), init_script=subscription_script(service)) as window:
        worker = WorkerControl(window)
        await worker.find_registration()
        await switch_on(window)
        assert await list_endpoints(nora) == [service.subscription()["endpoint"]]

        await wait_active(platform, nora, True)
        await send_text(omar, news_channel_id, f"<@{nora.id}> while she reads")
        assert platform.world.app.worker is not None
        await platform.world.app.worker.run_due()
        assert service.requests == []

        await window.page.evaluate("leave()")
        await wait_active(platform, nora, False)
        message_id = await send_text(omar, news_channel_id, f"<@{nora.id}> look")
        (request,) = await service.wait_for(1)
        # The page in the background has shown the message; the push message does not add a second notification.
        await worker.wait_notifications([["omar (#news, Guild)", "@nora look"]])
        await window.page.goto(f"{platform.url}/settings/account")
        await worker.deliver(request.notification)
        await worker.deliver({**request.notification, "channel_id": "1", "message_id": "2", "title": "other"})
        await worker.wait_notifications([["omar (#news, Guild)", "@nora look"], ["other", "@nora look"]])

        await window.open(general_path(guild))
        await worker.click(news_channel_id)
        await window.wait_until(
            "path => location.pathname === path", f"/app/channels/{guild.id}/{news_channel_id}/{message_id}"
        )
        await worker.wait_notifications([["other", "@nora look"]])


async def test_notifications_of_read_channels_are_closed(push_platform: PushPlatform) -> None:
    platform, service = push_platform
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    news_channel_id = await guild.channel("news")
    first_message_id = await send_text(omar, news_channel_id, "first")

    async with platform.open_window(nora, general_path(guild), init_script=subscription_script(service)) as window:
        worker = WorkerControl(window)
        await worker.find_registration()
        await window.page.context.grant_permissions(["notifications"])
        payload = {
            "title": "omar",
            "body": "first",
            "channel_id": str(news_channel_id),
            "message_id": first_message_id,
            "path": "/app",
        }
        # The chat client is in use and shows its own notifications.
        await worker.deliver({**payload, "channel_id": "1", "message_id": "2"})
        await window.page.goto(f"{platform.url}/settings/account")
        await worker.deliver(payload)
        await worker.wait_notifications([["omar", "first"]])
        await window.open(general_path(guild))
        await worker.wait_notifications([["omar", "first"]])

        # Another device reads the channel.
        (await nora.post(f"/channels/{news_channel_id}/messages/{first_message_id}/ack", json={"token": None})).ok()
        await worker.wait_notifications([])


async def test_the_subscription_ends_with_the_switch_and_at_logout(push_platform: PushPlatform) -> None:
    platform, service = push_platform
    nora = await platform.world.user("nora")
    async with platform.open_window(nora, init_script=subscription_script(service)) as window:
        await switch_on(window)
        switch = await open_notifications(window)
        await pytest.importorskip("playwright.async_api").expect(switch).to_be_checked()
        await switch.uncheck()
        await window.wait_until("() => localStorage.getItem('test-push-key') === null")
        assert await list_endpoints(nora) == []
        await window.page.keyboard.press("Escape")

        await switch_on(window)
        await window.page.reload()
        await window.page.get_by_role("button", name="Account menu").click()
        await window.page.get_by_role("menuitem", name="Log out").click()
        await window.page.wait_for_url("**/login*")
        assert await window.page.evaluate("localStorage.getItem('test-push-key')") is None


async def test_the_next_login_of_the_browser_does_not_inherit_the_subscription(push_platform: PushPlatform) -> None:
    platform, service = push_platform
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    async with platform.open_window(nora, init_script=subscription_script(service)) as window:
        await switch_on(window)
        cookie = {"name": "hubbub_session", "value": omar.token, "url": platform.url}
        await window.page.context.add_cookies([cookie])
        await window.open("/app")
        await window.wait_until("() => localStorage.getItem('test-push-key') === null")
        assert await list_endpoints(omar) == []


async def test_a_subscription_that_the_browser_or_the_server_replaced_is_renewed(push_platform: PushPlatform) -> None:
    platform, service = push_platform
    nora = await platform.world.user("nora")
    async with platform.open_window(nora, init_script=subscription_script(service)) as window:
        await switch_on(window)
        await window.page.evaluate("localStorage.setItem('test-push-suffix', '-renewed')")
        await window.page.reload()
        await wait_endpoints(nora, [f"{service.url}/browser-renewed"])

        key = await window.page.evaluate("localStorage.getItem('test-push-key')")
        await platform.world.app.database.write(lambda tx: tx.run("DELETE FROM meta WHERE name = 'vapid_key'"))
        await window.page.reload()
        await window.wait_until("key => ![key, null].includes(localStorage.getItem('test-push-key'))", key)
        assert await list_endpoints(nora) == [f"{service.url}/browser-renewed"]


async def wait_endpoints(user: Actor, expected: list[str]) -> None:
    """Wait until the login session of a user has exactly these subscriptions."""
    endpoints: list[str] = []
    try:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while (endpoints := await list_endpoints(user)) != expected:
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"the subscriptions are {endpoints}") from None


LONG_TIMERS_SCRIPT = """
window.skippedMs = 0;
window.isFocused = true;
const { setTimeout: start, Date: { now } } = window;
const timers = [];
Date.now = () => now() + window.skippedMs;
document.hasFocus = () => window.isFocused;
window.setTimeout = (run, ms, ...values) => {
  const id = start(run, ms, ...values);
  if (ms >= 10_000) timers.push([ms, run]);
  return id;
};
// Run the timers with a delay of about this length.
window.skip = length => {
  window.skippedMs += length;
  for (const [ms, run] of timers.splice(0)) if (ms <= length && ms > length * 0.9) run();
};
"""


async def test_a_user_without_input_or_focus_is_away(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    async with platform.open_window(nora, init_script=LONG_TIMERS_SCRIPT) as window:
        await wait_active(platform, nora, True)
        await window.page.evaluate("skip(5 * 60_000)")
        await wait_active(platform, nora, False)
        await window.page.mouse.move(100, 100)
        await wait_active(platform, nora, True)

        await window.page.evaluate("window.isFocused = false; window.dispatchEvent(new Event('blur')); skip(10_000)")
        await wait_active(platform, nora, False)
        await window.page.evaluate("window.isFocused = true; window.dispatchEvent(new Event('focus'))")
        await wait_active(platform, nora, True)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("delete window.PushManager", "does not support push notifications"),
        (
            "Object.defineProperty(Notification, 'permission', { get: () => 'denied' })",
            "This browser blocks notifications",
        ),
        ("Object.defineProperty(window, 'isSecureContext', { get: () => false })", "served over HTTPS"),
    ],
)
async def test_the_screen_explains_why_a_browser_cannot_subscribe(
    platform: ChatPlatform, script: str, text: str
) -> None:
    nora = await platform.world.user("nora")
    async with platform.open_window(nora, init_script=script) as window:
        switch = await open_notifications(window)
        await window.page.get_by_role("status").filter(has_text=text).first.wait_for()
        assert await switch.is_disabled()
        assert await accessibility_problems(window) == []


async def test_the_screen_reports_a_browser_without_a_push_service(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    script = "PushManager.prototype.subscribe = async () => { throw new DOMException('no service', 'AbortError'); }"
    async with platform.open_window(nora, init_script=script) as window:
        await window.page.context.grant_permissions(["notifications"])
        switch = await open_notifications(window)
        await switch.click()
        await window.page.get_by_text("The push service of this browser cannot be reached.").wait_for()
        assert not await switch.is_checked()


async def test_the_screen_reports_that_the_operator_disabled_push_notifications(open_page: OpenPage) -> None:
    async with run_platform(open_page, small_config(push=PushConfig(enabled=False))) as platform:
        nora = await platform.world.user("nora")
        async with platform.open_window(nora) as window:
            switch = await open_notifications(window)
            await window.page.get_by_text("The operator of this server has disabled push notifications.").wait_for()
            assert await switch.is_disabled()


async def test_chromium_can_install_the_client(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    async with platform.open_window(nora) as window:
        session = await window.page.context.new_cdp_session(window.page)
        manifest = await session.send("Page.getAppManifest")
        assert (manifest["errors"], manifest["url"]) == ([], f"{platform.url}/manifest.webmanifest")
        errors = (await session.send("Page.getInstallabilityErrors"))["installabilityErrors"]
        # Every test has a private window, in which Chromium installs nothing.
        assert [error["errorId"] for error in errors if error["errorId"] != "in-incognito"] == []
