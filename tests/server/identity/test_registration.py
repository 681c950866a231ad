"""Tests of the registration: modes, invites, approval by operators, and domains of email addresses."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.app import App
from hubbub.server.commands.admin_actions import AdminError
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, MailConfig
from hubbub.server.core.login_config import LoginConfig
from hubbub.server.core.mail import Mailbox
from hubbub.server.core.registration_config import RegistrationConfig
from hubbub.server.identity import registration
from hubbub.server.identity.account_emails import limits
from tests.fixtures.validator import ResponseMonitor
from tests.openid_provider import OpenIdProvider
from tests.pages import Browser
from tests.server.admin_commands import run_admin_command
from tests.server.identity.accounts import PASSWORD, create_user_with_password, log_in, request_registration
from tests.server.identity.operators import create_operator
from tests.smtp import token_in
from tests.world import NOW_MS, Actor, ApiResponse, World

pytestmark = pytest.mark.usefixtures("accented_pages")

StartWorld = Callable[..., Awaitable[World]]
INVITES_PATH, REQUESTS_PATH = "/admin/registration-invites", "/admin/registrations"
DAY_MS = 24 * 3_600_000


@pytest.fixture
async def start_world(store_config: Config, response_monitor: ResponseMonitor) -> AsyncIterator[StartWorld]:
    """A function that starts a platform with these settings of the registration."""
    async with AsyncExitStack() as stack:

        async def start(mode: str = "open", *, changes: dict[str, Any] | None = None, **settings: Any) -> World:
            registration = RegistrationConfig(mode=mode, **settings)
            config = msgspec.structs.replace(store_config, registration=registration, **(changes or {}))
            app = App(config, clock=ControlledClock(NOW_MS, running=False))
            await app.start()
            stack.push_async_callback(app.stop)
            client = await stack.enter_async_context(aiohttp.ClientSession())
            world = World(app, client)
            stack.push_async_callback(world.close)
            return world

        yield start


async def create_invite(operator: Actor, **fields: Any) -> Any:
    """Create an invite as an operator."""
    return (await operator.post(INVITES_PATH, json=fields)).ok()


# Modes


@pytest.mark.parametrize("mode", ["open", "invite", "approval", "closed"])
async def test_the_mode_is_published(start_world: StartWorld, mode: str) -> None:
    world = await start_world(mode)

    settings = (await world.request("GET", "/auth/registration")).ok()

    assert settings == {"mode": mode, "email_required": False, "member_invites": False}


async def test_a_closed_registration_rejects_every_visitor(start_world: StartWorld) -> None:
    world = await start_world("closed")
    operator = await create_operator(world, "olga")
    invite = await create_invite(operator)

    (await request_registration(world, invite=invite["code"])).rejected(403, 0)
    page = await Browser(world).open("/login")
    assert "Create an account" not in page.text


# Invites


async def test_an_invite_is_required_and_counts_its_uses(start_world: StartWorld) -> None:
    world = await start_world("invite")
    operator = await create_operator(world, "olga")
    invite = await create_invite(operator, note="For Mary", uses_max=2)

    assert (await request_registration(world)).errors("invite") == ["REGISTRATION_INVITE_REQUIRED"]
    assert (await request_registration(world, invite="guessed")).errors("invite") == ["REGISTRATION_INVITE_INVALID"]
    assert (await request_registration(world, invite=f" {invite['code'].upper()} ")).ok()["token"] is not None
    assert invite["url"] == f"{world.url}/register?invite={invite['code']}"
    [listed_invite] = (await operator.get(INVITES_PATH)).ok()
    assert (listed_invite["note"], listed_invite["uses"], listed_invite["uses_max"], listed_invite["creator_name"]) == (
        "For Mary",
        1,
        2,
        "olga",
    )
    assert "code" not in listed_invite
    (await request_registration(world, "ben", invite=invite["code"])).ok()
    assert (await request_registration(world, "carl", invite=invite["code"])).errors("invite") == [
        "REGISTRATION_INVITE_INVALID"
    ]
    assert (await operator.get(INVITES_PATH)).ok() == []


async def test_a_failed_registration_does_not_use_the_invite(start_world: StartWorld) -> None:
    world = await start_world("invite")
    operator = await create_operator(world, "olga")
    invite = await create_invite(operator)

    response = await request_registration(world, "olga", invite=invite["code"])

    assert response.errors("username") == ["USERNAME_ALREADY_TAKEN"]
    (await request_registration(world, invite=invite["code"])).ok()


async def test_concurrent_registrations_use_an_invite_once(start_world: StartWorld) -> None:
    world = await start_world("invite")
    invite = await create_invite(await create_operator(world, "olga"), uses_max=1)

    names = ("mary", "ben", "paul")
    responses = await asyncio.gather(*(request_registration(world, name, invite=invite["code"]) for name in names))

    assert sorted(response.status for response in responses) == [201, 400, 400]


async def test_an_invite_expires_and_can_be_deleted(start_world: StartWorld) -> None:
    world = await start_world("invite")
    operator = await create_operator(world, "olga")
    short_invite, unlimited_invite = (
        await create_invite(operator, expires_in_days=1),
        await create_invite(operator, expires_in_days=None),
    )

    world.clock.advance(DAY_MS)
    assert (await request_registration(world, invite=short_invite["code"])).errors("invite") == [
        "REGISTRATION_INVITE_INVALID"
    ]
    assert [invite["id"] for invite in (await operator.get(INVITES_PATH)).ok()] == [unlimited_invite["id"]]
    (await operator.post(f"{INVITES_PATH}/{unlimited_invite['id']}/delete", json={"reason": "leaked"})).ok()
    assert (await request_registration(world, invite=unlimited_invite["code"])).errors("invite") == [
        "REGISTRATION_INVITE_INVALID"
    ]
    (await operator.post(f"{INVITES_PATH}/{unlimited_invite['id']}/delete", json={})).rejected(404, 0)
    actions = [audit_entry["action"] for audit_entry in (await operator.get("/admin/audit-log")).ok()]
    assert actions[:3] == ["registration_invite.delete", "registration_invite.create", "registration_invite.create"]


async def test_users_create_a_limited_number_of_invites_if_the_operator_allows_it(start_world: StartWorld) -> None:
    world = await start_world("invite", allow_member_invites=True, member_invites_max=1)
    alice, bob = await create_user_with_password(world), await create_user_with_password(world, "bob")
    path = "/users/@me/registration-invites"

    invite = (await alice.post(path, json={"note": "Mary"})).ok()
    assert (await alice.post(path, json={})).errors("note") == ["REGISTRATION_INVITES_MAX"]
    assert [listed_invite["id"] for listed_invite in (await alice.get(path)).ok()] == [invite["id"]]
    (await bob.delete(f"{path}/{invite['id']}")).rejected(404, 0)
    (await request_registration(world, invite=invite["code"])).ok()
    second_invite = (await alice.post(path, json={})).ok()
    (await alice.delete(f"{path}/{second_invite['id']}")).ok()
    assert (await request_registration(world, "ben", invite=second_invite["code"])).errors("invite") == [
        "REGISTRATION_INVITE_INVALID"
    ]


async def test_the_data_export_contains_invites_that_cannot_be_used_any_more(start_world: StartWorld) -> None:
    world = await start_world("invite", allow_member_invites=True, member_invites_max=2)
    ben = await create_user_with_password(world, "ben")
    path = "/users/@me/registration-invites"
    used_invite = (await ben.post(path, json={"note": "For Mary"})).ok()
    (await request_registration(world, invite=used_invite["code"])).ok()
    expired_invite = (await ben.post(path, json={"note": "For Carl"})).ok()
    world.clock.advance(30 * DAY_MS)
    assert (await ben.get(path)).ok() == []

    export = (await ben.get("/users/@me/harvest")).ok()

    invites = export["records"]["registration_invites"]
    assert [(invite["id"], invite["note"], invite["uses"]) for invite in invites] == [
        (used_invite["id"], "For Mary", 1),
        (expired_invite["id"], "For Carl", 0),
    ]
    assert "code" not in invites[0]


async def test_an_operator_exports_the_registration_request_of_an_account(start_world: StartWorld) -> None:
    world = await start_world("approval")
    operator = await create_operator(world, "olga")
    (await request_registration(world, message="I am a friend of Olga.")).ok()
    [request] = (await operator.get(REQUESTS_PATH)).ok()

    export = (await operator.post(f"/admin/users/{request['id']}/export", json={"reason": "Mail"})).ok()

    [record] = export["records"]["registration_requests"]
    assert (record["message"], record["rejected_at"], record["reason"]) == ("I am a friend of Olga.", None, None)


async def test_invites_are_sent_by_mail_in_the_language_of_their_creator(start_world: StartWorld) -> None:
    mail = MailConfig(keep_in_memory=True)
    world = await start_world("invite", changes={"mail": mail}, allow_member_invites=True, member_invites_max=20)
    mary = await create_user_with_password(world, "mary")
    (await mary.patch("/users/@me", json={"locale": "de"})).ok()
    path = "/users/@me/registration-invites"

    sent_invite = (await mary.post(path, json={"email": "Ben@example.org"})).ok()
    assert (sent_invite["code"], sent_invite["url"], sent_invite["note"]) == (None, None, "Ben@example.org")
    assert world.app.worker is not None
    await world.app.worker.run_due()
    assert isinstance(world.app.mailer, Mailbox)
    [sent_mail] = world.app.mailer
    assert (sent_mail.to, sent_mail.subject.startswith("Deine Einladung")) == ("ben@example.org", True)
    assert "mary" in sent_mail.text
    code = sent_mail.text.partition("/register?invite=")[2].split()[0]
    (await request_registration(world, "ben", invite=code)).ok()

    for number in range(limits.ACCOUNT_MAILS_MAX - 1):
        (await mary.post(path, json={"email": f"{number}@example.org"})).ok()
    (await mary.post(path, json={"email": "another@example.org"})).rejected(429, 0)
    (await mary.post(path, json={"note": "without mail"})).ok()
    assert (await mary.post(path, json={"email": "no address"})).status == 400


async def test_a_deleted_invite_is_not_sent(start_world: StartWorld) -> None:
    world = await start_world("invite", changes={"mail": MailConfig(keep_in_memory=True)})

    # One transaction, so that the worker sees the invite and its mail only after the deletion.
    def create_and_delete(call: Call) -> None:
        invite = registration.actions.create_invite(
            call, creator_id=None, note="", uses_max=1, days=7, email="ben@example.org"
        )
        registration.requests.delete_invite(call.tx, invite.id)

    await world.write(create_and_delete)
    assert world.app.worker is not None
    await world.app.worker.run_due()

    assert isinstance(world.app.mailer, Mailbox)
    assert not list(world.app.mailer)


async def test_a_server_without_mail_rejects_the_address_of_an_invite(start_world: StartWorld) -> None:
    world = await start_world("invite")
    operator = await create_operator(world, "olga")

    response = await operator.post(INVITES_PATH, json={"email": "ben@example.org"})

    assert response.errors("email") == ["MAIL_DISABLED"]
    console = Browser(world)
    console.sign_in_as(operator)
    assert 'name="email"' not in (await console.open("/admin/registrations")).body


async def test_pages_and_the_command_line_send_invites_by_mail(start_world: StartWorld) -> None:
    mail = MailConfig(keep_in_memory=True)
    world = await start_world("invite", changes={"mail": mail}, allow_member_invites=True)
    console, browser = Browser(world), Browser(world)
    console.sign_in_as(await create_operator(world, "olga"))
    browser.sign_in_as(await create_user_with_password(world))

    page = await console.open("/admin/registrations")
    error_page = await console.submit(page, "Create invite", email="ben")
    assert 'id="error-email"' in error_page.body
    result_page = await console.submit(page, "Create invite", email="1@example.org")
    assert "The invite is sent by mail." in result_page.text
    result_page = await browser.submit(
        await browser.open("/settings/registration-invites"), "Create invite", email="2@example.org"
    )
    assert "The invite is sent by mail." in result_page.text
    command_output = await run_admin_command(world, "create-registration-invite", "--email", "3@example.org")
    assert "The invite is sent to 3@example.org." in command_output
    with pytest.raises(AdminError, match="is not an email address"):
        await run_admin_command(world, "create-registration-invite", "--email", "ben")

    assert world.app.worker is not None
    await world.app.worker.run_due()
    assert isinstance(world.app.mailer, Mailbox)
    assert sorted(mail.to for mail in world.app.mailer) == [f"{number}@example.org" for number in (1, 2, 3)]


async def test_users_cannot_create_invites_by_default(start_world: StartWorld) -> None:
    world = await start_world("invite")
    alice = await create_user_with_password(world)

    (await alice.post("/users/@me/registration-invites", json={})).rejected(403, 0)


async def test_invites_and_requests_are_only_for_operators(start_world: StartWorld) -> None:
    world = await start_world("approval")
    alice, auditor = await create_user_with_password(world), await create_operator(world, "adam", OperatorRole.AUDITOR)
    mary_id = (await request_registration(world)).ok()["user_id"]

    for path in (INVITES_PATH, REQUESTS_PATH):
        (await alice.get(path)).rejected(403, 0)
        (await auditor.get(path)).ok()
    for path in (INVITES_PATH, f"{REQUESTS_PATH}/{mary_id}/approve", f"{REQUESTS_PATH}/{mary_id}/reject"):
        (await alice.post(path, json={})).rejected(403, 0)
        (await auditor.post(path, json={})).rejected(403, 0)


# Approval


async def test_an_account_logs_in_after_an_operator_approved_it(start_world: StartWorld) -> None:
    world = await start_world("approval")
    operator = await create_operator(world, "olga")

    registration_result = (await request_registration(world, message=" I am Mary. ")).ok()
    assert (registration_result["token"], registration_result["pending"]) == (None, True)
    assert (await log_in(world, "mary")).errors("login") == ["REGISTRATION_PENDING"]
    assert (await log_in(world, "mary", "wrong password")).errors("login") == ["INVALID_LOGIN"]
    [request] = (await operator.get(REQUESTS_PATH)).ok()
    assert (request["id"], request["username"], request["message"]) == (
        registration_result["user_id"],
        "mary",
        "I am Mary.",
    )

    (await operator.post(f"{REQUESTS_PATH}/{request['id']}/approve", json={})).ok()
    assert (await log_in(world, "mary")).ok()["token"] is not None
    assert (await operator.get(REQUESTS_PATH)).ok() == []
    (await operator.post(f"{REQUESTS_PATH}/{request['id']}/approve", json={})).rejected(404, 0)
    [audit_entry, *_] = (await operator.get("/admin/audit-log")).ok()
    assert (audit_entry["action"], audit_entry["target_name"]) == ("registration.approve", "mary")


async def test_a_rejected_user_sees_the_reason_and_can_still_be_approved(start_world: StartWorld) -> None:
    world = await start_world("approval")
    operator = await create_operator(world, "olga")
    user_id = (await request_registration(world)).ok()["user_id"]

    (await operator.post(f"{REQUESTS_PATH}/{user_id}/reject", json={"reason": "Unknown person"})).ok()

    response = await log_in(world, "mary")
    assert response.errors("login") == ["REGISTRATION_REJECTED"]
    assert b"Unknown person" in response.body
    assert (await operator.get(REQUESTS_PATH)).ok() == []
    [request] = (await operator.get(f"{REQUESTS_PATH}?state=rejected")).ok()
    assert (request["state"], request["reason"]) == ("rejected", "Unknown person")
    (await operator.post(f"{REQUESTS_PATH}/{user_id}/approve", json={})).ok()
    (await log_in(world, "mary")).ok()


async def test_a_password_reset_does_not_replace_the_approval(start_world: StartWorld) -> None:
    world = await start_world("approval", changes={"mail": MailConfig(keep_in_memory=True)})
    mailer = world.app.mailer
    assert world.app.worker is not None
    assert isinstance(mailer, Mailbox)
    (await request_registration(world, email="mary@example.org")).ok()
    await world.app.worker.run_due()
    (await world.request("POST", "/auth/verify", json={"token": token_in(list(mailer)[-1].text)})).ok()

    (await world.request("POST", "/auth/forgot", json={"email": "mary@example.org"})).ok()
    await world.app.worker.run_due()
    body = {"token": token_in(list(mailer)[-1].text), "password": "another password"}
    response = await world.request("POST", "/auth/reset", json=body)

    assert response.status == 204
    assert (await log_in(world, "mary", "another password")).errors("login") == ["REGISTRATION_PENDING"]


async def test_a_provider_does_not_replace_the_approval_of_an_account_with_the_same_address(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    login = LoginConfig(providers=(provider.settings(trust_email=True, auto_register=True),))
    config_changes = {"login": login, "mail": MailConfig(keep_in_memory=True)}
    world = await start_world("approval", changes=config_changes)
    operator = await create_operator(world, "olga")
    user_id = (await request_registration(world, email="mary@example.org")).ok()["user_id"]
    assert world.app.worker is not None
    assert isinstance(world.app.mailer, Mailbox)
    await world.app.worker.run_due()
    (await world.request("POST", "/auth/verify", json={"token": token_in(list(world.app.mailer)[-1].text)})).ok()

    async def log_in_at_provider() -> ApiResponse:
        login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
        body = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
        return await world.request("POST", "/auth/providers/login", json=body)

    assert (await log_in_at_provider()).errors("login") == ["REGISTRATION_PENDING"]
    (await operator.post(f"{REQUESTS_PATH}/{user_id}/approve", json={})).ok()
    assert (await log_in_at_provider()).ok()["user_id"] == user_id


async def test_an_invite_replaces_the_approval(start_world: StartWorld) -> None:
    world = await start_world("approval")
    invite = await create_invite(await create_operator(world, "olga"))

    assert (await request_registration(world, invite=invite["code"])).ok()["pending"] is False


async def test_the_decision_is_sent_to_a_confirmed_address(start_world: StartWorld) -> None:
    world = await start_world("approval", changes={"mail": MailConfig(keep_in_memory=True)})
    operator = await create_operator(world, "olga")
    mailer = world.app.mailer
    assert world.app.worker is not None
    assert isinstance(mailer, Mailbox)
    for name in ("mary", "ben"):
        user_id = (await request_registration(world, name, email=f"{name}@example.org")).ok()["user_id"]
        await world.app.worker.run_due()
        (await world.request("POST", "/auth/verify", json={"token": token_in(list(mailer)[-1].text)})).ok()
        decision = "approve" if name == "mary" else "reject"
        (await operator.post(f"{REQUESTS_PATH}/{user_id}/{decision}", json={"reason": "Checked"})).ok()
        await world.app.worker.run_due()

    approval_mail, rejection_mail = list(mailer)[1], list(mailer)[3]
    assert (approval_mail.to, "was approved" in approval_mail.subject) == ("mary@example.org", True)
    assert (rejection_mail.to, "was rejected" in rejection_mail.subject) == ("ben@example.org", True)
    assert "Checked" in rejection_mail.text
    assert "Checked" not in approval_mail.text


async def test_users_of_a_provider_follow_the_mode_unless_the_provider_registers_them(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    async def register_with_provider(world: World, **fields: Any) -> ApiResponse:
        login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
        body = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
        login_result = (await world.request("POST", "/auth/providers/login", json=body)).ok()
        body = {"ticket": login_result["registration"]["ticket"], "username": "mary", **fields}
        return await world.request("POST", "/auth/providers/register", json=body)

    login = LoginConfig(providers=(provider.settings(),))
    world = await start_world("approval", changes={"login": login}, denied_email_domains=("example.com",))

    assert (await register_with_provider(world, message="Hi")).ok()["pending"] is True
    login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
    body = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
    response = await world.request("POST", "/auth/providers/login", json=body)
    assert response.errors("login") == ["REGISTRATION_PENDING"]
    provider.subject, provider.claims["email"] = "subject-2", "ben@example.com"
    assert (await register_with_provider(world)).errors("email") == ["EMAIL_DOMAIN_NOT_ALLOWED"]


# Email addresses


async def test_addresses_need_an_allowed_domain(start_world: StartWorld) -> None:
    world = await start_world(allowed_email_domains=("example.org",))

    assert (await request_registration(world)).errors("email") == ["BASE_TYPE_REQUIRED"]
    assert (await request_registration(world, email="mary@example.com")).errors("email") == ["EMAIL_DOMAIN_NOT_ALLOWED"]
    session = (await request_registration(world, email="Mary@Example.org")).ok()
    mary = Actor(world, int(session["user_id"]), session["token"], "mary")
    response = await mary.post("/users/@me/email", json={"email": "mary@example.com", "password": PASSWORD})
    assert response.errors("email") == ["EMAIL_DOMAIN_NOT_ALLOWED"]


async def test_denied_domains_include_their_subdomains(start_world: StartWorld) -> None:
    world = await start_world(denied_email_domains=("mail.example",))

    for email in ("a@mail.example", "a@x.mail.example"):
        assert (await request_registration(world, email=email)).errors("email") == ["EMAIL_DOMAIN_NOT_ALLOWED"]
    (await request_registration(world, email="a@othermail.example")).ok()


# Command line


async def test_the_command_line_decides_about_registrations(start_world: StartWorld) -> None:
    world = await start_world("approval")
    for name in ("mary", "ben"):
        (await request_registration(world, name, message="Hello\nthere")).ok()

    command_output = await run_admin_command(world, "list-registrations")
    assert [line.partition(" ")[0] for line in command_output.splitlines()] == ["mary", "ben"]
    assert command_output.endswith(": Hello there")
    await run_admin_command(world, "approve-registration", "mary")
    await run_admin_command(world, "reject-registration", "ben", "--reason", "spam")
    assert (await run_admin_command(world, "list-registrations")) == "No registrations."
    assert (await run_admin_command(world, "list-registrations", "--state", "rejected")).startswith("ben ")
    (await log_in(world, "mary")).ok()
    with pytest.raises(AdminError, match="mary is not waiting for approval"):
        await run_admin_command(world, "approve-registration", "mary")


async def test_the_command_line_manages_invites(start_world: StartWorld) -> None:
    world = await start_world("invite")

    command_output = await run_admin_command(
        world, "create-registration-invite", "--uses", "0", "--days", "0", "--note", "All"
    )
    fields = dict(line.split(": ") for line in command_output.splitlines())
    (await request_registration(world, invite=fields["code"])).ok()
    assert await run_admin_command(world, "list-registration-invites") == f"{fields['id']} used 1 of any number: All"
    await run_admin_command(world, "delete-registration-invite", fields["id"])
    assert await run_admin_command(world, "list-registration-invites") == "No invites."
    with pytest.raises(AdminError, match="there is no such invite"):
        await run_admin_command(world, "delete-registration-invite", fields["id"])
    with pytest.raises(AdminError, match="--uses must be"):
        await run_admin_command(world, "create-registration-invite", "--uses", "-1")


# Pages


async def test_a_closed_registration_page_links_only_to_providers_that_register_users(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    providers = (
        provider.settings(),
        provider.settings(id="own", name="Own", issuer="https://own.example", auto_register=True),
    )
    world = await start_world("closed", changes={"login": LoginConfig(providers=providers)})

    page = await Browser(world).open("/register")

    assert [label for label, _ in page.links if label.startswith("Continue with")] == ["Continue with Own"]


async def test_the_registration_page_takes_the_invite_from_the_link(start_world: StartWorld) -> None:
    world = await start_world("invite")
    invite = await create_invite(await create_operator(world, "olga"))
    browser = Browser(world)

    page = await browser.open(f"/register?invite={invite['code']}")
    assert f'value="{invite["code"]}"' in page.body
    result_page = await browser.submit(page, "Create account", username="mary", password=PASSWORD)

    assert result_page.status == 200
    assert browser.cookies["hubbub_session"]
    settings_response = await browser.request("GET", "/settings/account")
    assert "Manage invites" not in settings_response.text


@pytest.mark.parametrize("mode", ["invite", "approval"])
async def test_the_invite_of_the_link_is_kept_while_the_visitor_logs_in_at_a_provider(
    start_world: StartWorld, provider: OpenIdProvider, mode: str
) -> None:
    world = await start_world(mode, changes={"login": LoginConfig(providers=(provider.settings(),))})
    invite = await create_invite(await create_operator(world, "olga"))
    browser = Browser(world)

    page = await browser.open(f"/register?invite={invite['code']}&next=/settings/apps")
    page = await browser.submit(page, "Create account", username="m", password=PASSWORD)
    [path] = [path for label, path in page.links if label == "Continue with Work"]
    redirect = await browser.request("GET", path)
    page = await browser.open(await provider.request_redirect(redirect.location))
    page = await browser.submit(page, "Create account", username="m")
    assert page.status == 400
    result_page = await browser.submit(page, "Create account", username="mary", follows_redirects=False)

    assert result_page.location == "/settings/apps"
    assert browser.cookies["hubbub_session"]


async def test_the_registration_page_shows_that_an_account_waits_and_operators_approve_it(
    start_world: StartWorld,
) -> None:
    world = await start_world("approval")
    browser, console = Browser(world), Browser(world)
    console.sign_in_as(await create_operator(world, "olga"))

    page = await browser.open("/register")
    pending_page = await browser.submit(page, "Create account", username="mary", password=PASSWORD, message="It is me")
    assert "Waiting for approval" in pending_page.text
    assert "hubbub_session" not in browser.cookies
    assert "waiting for the approval of an operator" in (await browser.log_in("mary")).text
    requests = await console.open("/admin/registrations")
    assert "It is me" in requests.text
    decided_page = await console.submit(requests, "Approve")
    assert "Registration approved." in decided_page.text
    await browser.log_in("mary")
    assert browser.cookies["hubbub_session"]


async def test_operators_create_and_delete_invites_in_the_console(start_world: StartWorld) -> None:
    world = await start_world("invite")
    console = Browser(world)
    console.sign_in_as(await create_operator(world, "olga"))

    page = await console.open("/admin/registrations")
    error_page = await console.submit(page, "Create invite", uses_max="0")
    assert error_page.status == 400
    created_page = await console.submit(page, "Create invite", note="For Mary", uses_max="", expires_in_days="3")
    assert f"{world.url}/register?invite=" in created_page.text
    registrations_page = await console.open("/admin/registrations")
    assert "For Mary" in registrations_page.text
    deleted_page = await console.submit(registrations_page, "Delete")
    assert "Invite deleted." in deleted_page.text


async def test_users_create_and_delete_invites_on_a_page(start_world: StartWorld) -> None:
    world = await start_world("invite", allow_member_invites=True)
    browser = Browser(world)
    browser.sign_in_as(await create_user_with_password(world))

    assert ("Manage invites", "/settings/registration-invites") in (await browser.open("/settings/account")).links
    page = await browser.open("/settings/registration-invites")
    created_page = await browser.submit(page, "Create invite", note="Mary")
    assert f"{world.url}/register?invite=" in created_page.text
    for _ in range(4):
        await browser.submit(created_page, "Create invite")
    rejected_page = await browser.submit(created_page, "Create invite")
    assert "You have too many unused invites. Delete one first." in rejected_page.text
    deleted_page = await browser.submit(created_page, "Delete")
    assert "Invite deleted." in deleted_page.text
