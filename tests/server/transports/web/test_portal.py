"""The developer portal, without JavaScript."""

import re
from urllib.parse import urlencode

import pytest

from hubbub.protocol.enums import EventWebhooksStatus, SkuType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from hubbub.server.places import members
from tests.media import data_uri, png
from tests.oauth import REDIRECT
from tests.pages import Browser, Page
from tests.receiver import Receiver
from tests.server.identity.accounts import create_user_with_password, enable_totp, totp_code
from tests.server.play.application_owners import sign_in_owner
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")

SECTIONS = (
    "",
    "/bot",
    "/oauth2",
    "/installation",
    "/approvals",
    "/identity",
    "/webhooks",
    "/interactions",
    "/keys",
    "/log",
    "/commands",
    "/pictures",
    "/testers",
    "/store",
)
COPY_SCRIPT = r'<script type="module" src="/static/copy_buttons[^"]*">'


async def create_developer(world: World) -> tuple[Browser, Actor]:
    """Create a user, and return a signed-in browser and the user."""
    alice = await world.user()
    browser = Browser(world)
    browser.sign_in_as(alice)
    return browser, alice


async def submit_application_form(browser: Browser, name: str = "My game") -> tuple[str, Page]:
    """Create an application with the form and return the path and content of its page."""
    page = await browser.submit(await browser.open("/developers"), "Create application", name=name)
    return browser.history[-1].url, page


def find_secrets(page: Page) -> list[str]:
    """Return the parts of a page with secrets that are shown once. Fail if browsers may store the page."""
    assert page.headers["Cache-Control"] == "no-store"
    return [part.partition("</code>")[0] for part in page.body.split('aria-labelledby="secret-') if "</code>" in part]


async def test_an_application_is_created_and_all_its_pages_open(world: World) -> None:
    browser, _ = await create_developer(world)

    portal_path, page = await submit_application_form(browser)

    assert page.status == 200
    assert "My game was created." in page.text
    for section in SECTIONS:
        section_page = await browser.open(portal_path + section)
        assert section_page.status == 200, section
        assert section_page.body.count("<h1>") == 1
        assert 'aria-current="page"' in section_page.body
        # The only script shows the copy buttons, which are hidden without it.
        assert re.findall("<script[^>]*>", section_page.body) == re.findall(COPY_SCRIPT, section_page.body)
        assert section_page.body.count("data-copy hidden") == section_page.body.count("data-copy")
        assert "style=" not in section_page.body
        assert all("form_token" in form.names for form in section_page.forms if form.method == "POST")
    assert portal_path in [url for _, url in (await browser.open("/developers")).links]


async def test_a_sku_is_created_and_published_on_the_portal(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    page = await browser.open(f"{portal_path}/store")
    assert "No items yet." in page.text

    page = await browser.submit(
        page, "Create SKU", name="Gold <b>", kind="users", price="4.99", currency="EUR", listed="1"
    )
    assert "Gold <b> was created." in page.text
    assert "Monthly subscription for users, 4.99 EUR" in page.text
    assert "Not published" in page.text
    application_id = portal_path.rpartition("/")[2]
    store_path = f"/application-directory/{application_id}/store"
    assert "No items for sale." in (await browser.open(store_path)).text
    page = await browser.submit(page, "Publish Gold <b>")
    assert "Gold <b> was published." in page.text
    assert "4.99 EUR per month" in (await browser.open(store_path)).text
    page = await browser.submit(page, "Unpublish Gold <b>")
    assert "Gold <b> was unpublished." in page.text
    assert "No items for sale." in (await browser.open(store_path)).text

    page = await browser.submit(page, "Create SKU", name="Hat", kind="durable", price="0", published="1", listed=[])
    assert "Hat was published." in page.text
    assert "Published, unlisted" in page.text
    (_, hat) = (await alice.get(f"/applications/{application_id}/store/skus")).ok()
    assert (hat["price"], hat["currency"], hat["listed"], hat["type"]) == (0, "usd", False, SkuType.DURABLE)


async def test_a_sku_is_changed_and_deleted_on_the_portal(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    application_id = portal_path.rpartition("/")[2]
    page = await browser.open(f"{portal_path}/store")
    page = await browser.submit(page, "Create SKU", name="Gold", kind="users", price="4,99", currency="eur", listed="1")

    page = await browser.open(next(url for label, url in page.links if label == "Edit Gold"))
    assert page.form("Save SKU").values[1:] == [
        ("name", "Gold"),
        ("description", ""),
        ("price", "4.99"),
        ("currency", "EUR"),
        ("listed", "1"),
    ]
    error_page = await browser.submit(page, "Save SKU", name="", price="free")
    assert ('id="error-name"' in error_page.body, 'id="error-price"' in error_page.body) == (True, True)
    assert "Enter an amount such as 4.99, or 0 for free." in error_page.text
    yen = await browser.submit(page, "Save SKU", price="4.99", currency="jpy")
    assert "JPY has no decimal places. Enter a whole number." in yen.text
    changes = {"name": "Platinum", "description": "Shiny", "price": "0", "currency": "usd", "listed": []}
    saved_page = await browser.submit(page, "Save SKU", **changes)
    assert "Platinum was saved." in saved_page.text
    (sku,) = (await alice.get(f"/applications/{application_id}/store/skus")).ok()
    assert (sku["name"], sku["description"], sku["price"], sku["currency"], sku["listed"], sku["state"]) == (
        "Platinum",
        "Shiny",
        0,
        "usd",
        False,
        "unpublished",
    )

    deleted_page = await browser.submit(page, "Delete SKU")
    assert "The SKU was deleted." in deleted_page.text
    assert (await alice.get(f"/applications/{application_id}/store/skus")).ok() == []
    assert (await browser.open(page.url)).status == 404


async def test_invalid_sku_fields_and_other_users_are_rejected(world: World) -> None:
    browser, _ = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    page = await browser.open(f"{portal_path}/store")

    page = await browser.submit(page, "Create SKU", name="x" * 81, kind="wings", price="4.999", currency="gold")
    assert page.status == 400
    for field in ("name", "kind", "price", "currency"):
        assert f'id="error-{field}"' in page.body, field
    page = await browser.submit(page, "Create SKU", name="Gold", kind="users", price="4,99", currency="eur")
    page = await browser.submit(page, "Create SKU", name="Crown", kind="guilds", price="4.99", currency="eur")
    assert (page.status, 'id="error-kind"' in page.body) == (400, True)

    stranger, _ = await create_developer(world)
    page = await browser.open(f"{portal_path}/store")
    (publish,) = [form.action for form in page.forms if form.action.endswith("/publish")]
    other_page = await stranger.open((await submit_application_form(stranger))[0] + "/store")
    other_page.forms[-1].action = publish
    assert (await stranger.submit(other_page, "Create SKU", name="x", price="1")).status == 403
    assert (await stranger.open(f"{portal_path}/store")).status == 404


async def test_an_invalid_name_is_reported_at_its_field(world: World) -> None:
    browser, _ = await create_developer(world)

    page = await browser.submit(await browser.open("/developers"), "Create application", name="x")

    assert page.status == 400
    assert 'id="error-name"' in page.body


async def test_applications_of_other_users_are_not_visible(world: World) -> None:
    browser, _ = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    other_developer, _ = await create_developer(world)

    for section in SECTIONS:
        assert (await other_developer.open(portal_path + section)).status == 404
    anonymous = Browser(world)
    assert (await anonymous.open(portal_path)).form("Log in")


async def test_a_forged_form_is_rejected(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    page = await browser.open(f"{portal_path}/oauth2")
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "https://evil.example"}
    data = "redirect_uri=https%3A%2F%2Fevil.example"

    foreign_origin = await browser.request("POST", f"{portal_path}/oauth2/redirects/add", headers=headers, data=data)
    page_without_token = await browser.request(
        "POST", f"{portal_path}/oauth2/redirects/add", headers=headers | {"Origin": world.url}, data=data
    )

    assert (foreign_origin.status, page_without_token.status) == (403, 403)
    assert (await alice.get(f"/applications/{portal_path.rpartition('/')[2]}")).ok()["redirect_uris"] == []
    assert page.status == 200


async def test_a_token_is_shown_once_and_logs_a_bot_in(world: World) -> None:
    browser, _ = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)

    page = await browser.submit(await browser.open(f"{portal_path}/bot"), "Add a bot")

    first_secret = page.body.partition('aria-labelledby="secret-1">')[2].partition("</code>")[0]
    identifier = int(portal_path.rpartition("/")[2])
    bot = Actor(world, identifier, first_secret, "bot", is_bot=True, application_id=identifier)
    (await bot.get("/users/@me")).ok()
    repeated_page = await browser.open(f"{portal_path}/bot")
    assert first_secret not in repeated_page.body
    page = await browser.submit(repeated_page, "Reset token")
    second_secret = page.body.partition('aria-labelledby="secret-1">')[2].partition("</code>")[0]
    assert second_secret not in (first_secret, "")
    assert find_secrets(page)
    (await bot.get("/users/@me")).rejected(401, 0)
    bot.token = second_secret
    await bot.connect(Intents.GUILDS)


async def test_resetting_a_secret_needs_the_authenticator_code(world: World) -> None:
    alice = await create_user_with_password(world)
    secret, _ = await enable_totp(world, alice)
    browser = Browser(world)
    browser.sign_in_as(alice)
    portal_path, _ = await submit_application_form(browser)

    page = await browser.submit(await browser.open(f"{portal_path}/oauth2"), "Reset secret", code="")
    assert (page.status, 'id="error-code"' in page.body) == (400, True)
    page = await browser.submit(page, "Reset secret", code="zzzzzz")
    assert "Invalid two-factor code." in page.text
    page = await browser.submit(page, "Reset secret", code=totp_code(world, secret))
    assert "Shown only once." in page.text


async def test_redirects_are_added_removed_and_validated(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    path = f"/applications/{portal_path.rpartition('/')[2]}"
    page = await browser.open(f"{portal_path}/oauth2")

    page = await browser.submit(page, "Add redirect", redirect_uri=REDIRECT)
    assert (await alice.get(path)).ok()["redirect_uris"] == [REDIRECT]
    error_page = await browser.submit(page, "Add redirect", redirect_uri="javascript:alert(1)")
    assert (error_page.status, 'id="error-redirect_uri"' in error_page.body) == (400, True)
    assert 'value="javascript:alert(1)"' in error_page.body
    page = await browser.submit(page, f"Remove {REDIRECT}")
    assert (await alice.get(path)).ok()["redirect_uris"] == []


async def test_an_authorization_url_is_generated(world: World) -> None:
    browser, _ = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    await browser.submit(await browser.open(f"{portal_path}/oauth2"), "Add redirect", redirect_uri=REDIRECT)

    query = [("scope", "bot"), ("scope", "identify"), ("scope", "fly"), ("permission", "SEND_MESSAGES")]
    query += [("permission", "VIEW_CHANNEL"), ("redirect_uri", REDIRECT)]
    page = await browser.open(f"{portal_path}/oauth2?{urlencode(query)}")

    url = next(url for _, url in page.links if "/oauth2/authorize?" in url)
    assert "scope=bot+identify" in url
    assert f"permissions={Permissions.SEND_MESSAGES | Permissions.VIEW_CHANNEL}" in url
    assert "response_type=code" in url
    assert "redirect_uri=https%3A%2F%2Fgame.example" in url


async def test_general_settings_are_saved_and_validated(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, page = await submit_application_form(browser)
    path = f"/applications/{portal_path.rpartition('/')[2]}"

    page = await browser.submit(
        page, "Save", name="Better", description="Fun.", tags="one, two", terms_of_service_url="https://x.example/t"
    )

    assert "Saved." in page.text
    application = (await alice.get(path)).ok()
    assert (application["name"], application["description"], application["tags"]) == ("Better", "Fun.", ["one", "two"])
    assert application["terms_of_service_url"] == "https://x.example/t"
    error_page = await browser.submit(page, "Save", tags="x" * 21, privacy_policy_url="javascript:x")
    assert (error_page.status, 'id="error-tags"' in error_page.body) == (400, True)
    error_page = await browser.submit(page, "Save", privacy_policy_url="javascript:x")
    assert 'id="error-privacy_policy_url"' in error_page.body


async def test_intents_are_toggled_below_the_limit_and_reviewed_above(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    identifier = int(portal_path.rpartition("/")[2])
    await browser.submit(await browser.open(f"{portal_path}/bot"), "Add a bot")

    page = await browser.submit(await browser.open(f"{portal_path}/bot"), "Save intents", intent=["GUILD_MEMBERS"])
    assert (await alice.get(f"/applications/{identifier}")).ok()[
        "flags"
    ] == ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED
    assert "0 of 10,000 users" in page.text

    guild = await world.guild()

    def add_members(call: Call) -> None:
        members.membership.add(call, guild.id, UserId(identifier))
        sql = "INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, ?)"
        call.tx.run_many(sql, [(guild.id, 1_000_000 + number, call.now_ms) for number in range(10_000)])

    await world.write(add_members, actor=guild.owner.id)
    page = await browser.open(f"{portal_path}/bot")
    assert "Request review" in page.text
    page = await browser.submit(page, "Request review", name="MESSAGE_CONTENT", reason="To moderate")
    assert "Granted for one year." in page.text


async def test_scopes_are_requested_and_terms_accepted(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    page = await browser.open(f"{portal_path}/approvals")

    page = await browser.submit(page, "Request approval", name="voice", reason="To talk")
    assert "voice is approved." in page.text
    page = await browser.submit(page, "Accept terms", accept="1")
    assert "Terms accepted" in page.text
    application = (await alice.get(f"/applications/{portal_path.rpartition('/')[2]}")).ok()
    assert application["flags"] == ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED


async def test_installation_settings_are_saved(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    page = await browser.open(f"{portal_path}/installation")

    page = await browser.submit(page, "Save", guild_scopes="bot fly", guild_permission=["KICK_MEMBERS"])
    assert (page.status, 'id="error-guild_scopes"' in page.body) == (400, True)
    page = await browser.submit(
        await browser.open(f"{portal_path}/installation"),
        "Save",
        guild_on="1",
        user_on=[],
        guild_scopes="bot applications.commands",
        guild_permission=["KICK_MEMBERS"],
    )
    stored_config = (await alice.get(f"/applications/{portal_path.rpartition('/')[2]}")).ok()[
        "integration_types_config"
    ]
    assert stored_config == {
        "0": {"oauth2_install_params": {"scopes": ["bot", "applications.commands"], "permissions": "2"}}
    }


async def test_a_webhook_url_is_verified(private_targets_world: World, receiver: Receiver) -> None:
    browser, alice = await create_developer(private_targets_world)
    portal_path, _ = await submit_application_form(browser)
    receiver.use_verify_key_of((await alice.get(f"/applications/{portal_path.rpartition('/')[2]}")).ok())
    receiver.accepts_invalid_signatures = True
    page = await browser.open(f"{portal_path}/webhooks")
    fields = {"event_webhooks_url": receiver.events_url, "on": "1", "event": ["APPLICATION_AUTHORIZED"]}

    page = await browser.submit(page, "Verify and save", **fields)
    assert (page.status, 'id="error-event_webhooks_url"' in page.body) == (400, True)
    assert f'value="{receiver.events_url}"' in page.body
    assert "URL: " in page.text
    assert "status 204 instead of 401 to a PING with an invalid signature." in page.text
    receiver.accepts_invalid_signatures = False
    page = await browser.submit(page, "Verify and save", **fields)
    assert "Endpoint verified and saved." in page.text
    application = (await alice.get(f"/applications/{portal_path.rpartition('/')[2]}")).ok()
    assert (application["event_webhooks_url"], application["event_webhooks_status"]) == (
        receiver.events_url,
        EventWebhooksStatus.ENABLED,
    )
    receiver.accepts_invalid_signatures = True
    await private_targets_world.clock.run_for(25 * 3_600_000)
    assert "accepted a forged signature" in (await browser.open(f"{portal_path}/webhooks")).text
    receiver.accepts_invalid_signatures = False
    error_page = await browser.submit(
        await browser.open(f"{portal_path}/interactions"),
        "Verify and save",
        interactions_endpoint_url=f"{receiver.events_url}/x",
    )
    assert 'id="error-interactions_endpoint_url"' in error_page.body


async def test_failed_deliveries_can_be_retried(private_targets_world: World, receiver: Receiver) -> None:
    world = private_targets_world
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    identifier = portal_path.rpartition("/")[2]
    receiver.use_verify_key_of((await alice.get(f"/applications/{identifier}")).ok())
    fields = {"event_webhooks_url": receiver.events_url, "on": "1", "event": ["APPLICATION_AUTHORIZED"]}
    await browser.submit(await browser.open(f"{portal_path}/webhooks"), "Verify and save", **fields)
    await browser.submit(await browser.open(f"{portal_path}/oauth2"), "Add redirect", redirect_uri=REDIRECT)
    # A delivery that fails with 500 is retried until its retry period is over.
    receiver.default_status = 500
    authorize_path = (
        f"/oauth2/authorize?client_id={identifier}&response_type=code&scope=identify&redirect_uri={REDIRECT}"
    )
    (await alice.post(authorize_path, json={"authorize": True})).ok()
    assert world.app.worker is not None
    for _ in range(12):
        await world.app.worker.run_due()
        world.clock.advance(120_000)
    await world.app.worker.run_due()

    page = await browser.open(f"{portal_path}/webhooks")
    assert "APPLICATION_AUTHORIZED" in page.text
    assert "attempts" in page.text
    receiver.default_status = 204
    receiver.requests.clear()
    outdated_page = page
    page = await browser.submit(page, "Retry all")
    assert "Delivery restarted." in page.text
    await world.app.worker.run_due()
    assert (await receiver.wait_for_events(1))[0]["type"] == "APPLICATION_AUTHORIZED"
    page = await browser.submit(outdated_page, "Retry APPLICATION_AUTHORIZED")
    assert "No failed deliveries." in page.text
    assert "This event is no longer among the failed deliveries." in page.text
    assert "Delivery restarted." not in page.text


async def test_errors_of_the_url_map_have_the_line_numbers_of_the_form(world: World) -> None:
    browser, _ = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    page = await browser.open(f"{portal_path}/interactions")

    page = await browser.submit(page, "Save URL map", url_map="\n/api api.example.org\n\nsocket socket.example.org")

    assert page.status == 400
    assert "Line 4, prefix: " in page.text
    assert "Line 2" not in page.text


async def test_commands_are_listed_for_all_guilds_and_for_one(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    browser = Browser(world)
    browser.sign_in_as(await sign_in_owner(world, bot))
    portal_path = f"/developers/{bot.application_id}/commands"
    page = await browser.open(portal_path)
    assert "No global commands yet." in page.text
    assert f"POST /applications/{bot.application_id}/commands" in page.text
    option = {"type": 3, "name": "color", "description": "Color of the boat", "required": True}
    option |= {"choices": [{"name": "Red", "value": "r"}]}
    body = {"name": "sail", "description": "Sail away", "options": [option], "default_member_permissions": "32"}
    (await bot.post(f"/applications/{bot.application_id}/commands", json=body | {"contexts": [0]})).ok()
    guild_path = f"/applications/{bot.application_id}/guilds/{guild.id}/commands"
    (await bot.post(guild_path, json={"name": "Rename", "type": 2})).ok()

    page = await browser.open(portal_path)

    assert "/sail Sail away" in page.text
    assert "Slash command" in page.text
    assert "Color of the boat (text, required, choices: Red)" in page.text
    assert "Members with MANAGE_GUILD" in page.text
    assert "Guilds" in page.text
    assert "Rename" not in page.text
    page = await browser.open(next(url for label, url in page.links if label == "Guild (1)"))
    assert "Rename" in page.text
    assert "User menu" in page.text
    assert "/sail" not in page.text
    documentation = next(url for label, url in page.links if label == "Documentation")
    assert (await browser.open(documentation)).status == 200
    assert "No commands of this guild." in (await browser.open(f"{portal_path}?guild_id=1")).text


async def test_images_are_shown_and_deleted(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    identifier = portal_path.rpartition("/")[2]
    (await alice.post(f"/applications/{identifier}/emojis", json={"name": "wave", "image": data_uri(png())})).ok()
    (
        await alice.post(f"/oauth2/applications/{identifier}/assets", json={"name": "castle", "image": data_uri(png())})
    ).ok()

    page = await browser.open(f"{portal_path}/pictures")
    assert ":wave:" in page.text
    assert "castle" in page.text
    error_page = await browser.submit(page, "Add art", art_name="tower")
    assert 'id="error-art_image"' in error_page.body
    for name in ("wave", "castle"):
        page = await browser.submit(page, f"Delete {name}")
    assert ":wave:" not in page.text
    assert "castle" not in page.text


async def test_testers_are_invited_and_accept_on_their_own_page(world: World) -> None:
    browser, _ = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    bob = await world.user("bob")
    guest = Browser(world)
    guest.sign_in_as(bob)

    error_page = await browser.submit(await browser.open(f"{portal_path}/testers"), "Invite", username="missing")
    assert 'id="error-username"' in error_page.body
    page = await browser.submit(error_page, "Invite", username="bob")
    assert "Invited" in page.text
    accepted_page = await guest.submit(await guest.open("/developers"), "Accept")
    assert "You are now a tester." in accepted_page.text
    assert await world.write(
        lambda call: applications.testers.is_tester(call.tx, int(portal_path.rpartition("/")[2]), bob.id)
    )
    page = await browser.submit(await browser.open(f"{portal_path}/testers"), "Remove bob")
    assert "bob" not in page.text


async def test_test_users_are_created_in_a_rehearsal(world: World) -> None:
    browser, _ = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)

    page = await browser.submit(await browser.open(f"{portal_path}/testers"), "Create test user", test_username="tess")

    assert "Shown only once." in page.text
    repeated_page = await browser.submit(
        await browser.open(f"{portal_path}/testers"), "Create test user", test_username="tess"
    )
    assert 'id="error-test_username"' in repeated_page.body


async def test_identity_providers_are_added_removed_and_validated(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    path = f"/applications/{portal_path.rpartition('/')[2]}/external-identity-provider-configurations"
    page = await browser.open(f"{portal_path}/identity")

    error_page = await browser.submit(
        page, "Verify and save", type="OIDC", clients="game", oidc_issuer_url="https://127.0.0.1/issuer"
    )
    assert (error_page.status, 'id="error-oidc_issuer_url"' in error_page.body) == (400, True)
    error_page = await browser.submit(page, "Verify and save", type="STEAM", clients="x" * 257)
    assert 'id="error-clients"' in error_page.body
    page = await browser.submit(page, "Verify and save", type="STEAM", clients="480\n481")
    assert "Steam was saved." in page.text
    configurations = (await alice.get(path)).ok()
    assert [client["id"] for client in configurations[0]["clients"]] == ["480", "481"]
    page = await browser.submit(page, "Remove Steam")
    assert (await alice.get(path)).ok() == []
    assert "Not linked to a publisher." in page.text


async def test_the_form_keeps_client_fields_set_over_the_api(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, _ = await submit_application_form(browser)
    path = f"/applications/{portal_path.rpartition('/')[2]}/external-identity-provider-configurations/STEAM"
    body = {"clients": [{"id": "480", "description": "The demo", "environment": "dev"}]}
    (await alice.put(path, json=body)).ok()

    await browser.submit(
        await browser.open(f"{portal_path}/identity"), "Verify and save", type="STEAM", clients="480\n481"
    )

    clients = (await alice.get(path.rpartition("/")[0])).ok()[0]["clients"]
    assert (clients[0]["description"], clients[0]["environment"], clients[1]["id"]) == ("The demo", "dev", "481")


async def test_deletion_needs_the_application_name(world: World) -> None:
    browser, alice = await create_developer(world)
    portal_path, page = await submit_application_form(browser)

    error_page = await browser.submit(page, "Delete application", confirm="my game")
    assert 'id="error-confirm"' in error_page.body
    deleted_page = await browser.submit(error_page, "Delete application", confirm="My game")
    assert "My game was deleted." in deleted_page.text
    assert (await alice.get("/applications")).ok() == []
    assert (await browser.open(portal_path)).status == 404


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x>'])
async def test_names_and_descriptions_are_escaped(world: World, name: str) -> None:
    browser, alice = await create_developer(world)
    portal_path, page = await submit_application_form(browser)
    body = {"description": name, "name": name[:32]}
    (await alice.patch(f"/applications/{portal_path.rpartition('/')[2]}", json=body)).ok()

    for path in ("/developers", portal_path, f"{portal_path}/bot"):
        page = await browser.open(path)
        assert name not in page.body
        assert page.status == 200
