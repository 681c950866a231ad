"""Login at an independent OpenID Connect provider in a real browser."""

import pytest

from hubbub.server.core.clock import ControlledClock, RealClock
from hubbub.server.core.login_config import LoginConfig
from tests.independent_provider import REQUIRES_INDEPENDENT_PROVIDER, IndependentProvider
from tests.pages import PASSWORD
from tests.web.conftest import DESKTOP_WIDTH, OpenPage
from tests.world import run_with_settings, small_config

pytestmark = [pytest.mark.timeout(400), *REQUIRES_INDEPENDENT_PROVIDER]


async def test_a_user_registers_links_and_logs_out_with_an_independent_provider(open_page: OpenPage) -> None:
    provider = IndependentProvider()
    config = small_config(login=LoginConfig(providers=(provider.settings(),)))
    async with (
        run_with_settings(config, ControlledClock(RealClock().now_ms())) as world,
        open_page(DESKTOP_WIDTH) as page,
    ):
        provider.register(world.url)
        provider.add_key("RSA")
        await provider.start()
        try:
            await page.goto(f"{world.url}/login?next=/settings/account")
            await page.get_by_role("link", name="Continue with Work").click()
            await page.locator("input[name=login]").fill("mary")
            await page.locator("input[name=password]").fill("any")
            await page.get_by_role("button", name="Sign-in").click()
            await page.get_by_role("button", name="Continue").click()
            await page.get_by_role("button", name="Create account").click()
            await page.wait_for_url("**/settings/account")
            assert await page.get_by_role("link", name="Unlink Work").count() == 1

            await page.get_by_label("New password").first.fill(PASSWORD)
            await page.get_by_role("button", name="Set password").click()
            await page.goto(f"{world.url}/settings/account/logins/add/work")
            await page.get_by_label("Password").fill(PASSWORD)
            await page.get_by_role("button", name="Continue").click()
            # The provider asks again, although the user is logged in there.
            await page.locator("input[name=login]").fill("second")
            await page.locator("input[name=password]").fill("any")
            await page.get_by_role("button", name="Sign-in").click()
            await page.get_by_role("button", name="Continue").click()
            await page.wait_for_url("**/settings/account*")
            assert await page.get_by_role("link", name="Unlink Work").count() == 2

            await page.get_by_role("button", name="Log out", exact=True).first.click()
            await page.get_by_role("link", name="Log out of Work").click()
            await page.get_by_role("button", name="Yes, sign me out").click()
            await page.wait_for_url(f"{world.url}/login")
        finally:
            await provider.stop()
