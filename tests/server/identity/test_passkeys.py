"""Passkeys: registration, login, management, pages, and the relying party."""

import json
from typing import Any

import pytest

from hubbub.protocol.resources import passkeys as wire
from hubbub.server.core import relying_party
from tests.authenticator import Authenticator, decode
from tests.pages import Browser
from tests.server.identity.accounts import PASSWORD, create_user_with_password, delete_account, enable_totp
from tests.world import Actor, ApiResponse, World

ORIGIN, RP_ID = "https://chat.example", "chat.example"
PASSKEYS_PATH = "/users/@me/passkeys"


@pytest.fixture(autouse=True)
def public_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use `ORIGIN` as the relying party, because the server's IP address does not allow passkeys."""
    party = relying_party.RelyingParty(RP_ID, ORIGIN)
    monkeypatch.setattr(relying_party, "find_relying_party", lambda web_url: party)


def new_authenticator(**fields: Any) -> Authenticator:
    """Return an authenticator with a new key."""
    return Authenticator(**{"origin": ORIGIN, "rp_id": RP_ID} | fields)


async def register_passkey(user: Actor, authenticator: Authenticator, name: str = "Laptop") -> ApiResponse:
    challenge = (await user.post(f"{PASSKEYS_PATH}/challenge", json={"password": PASSWORD})).ok()
    credential = authenticator.create(challenge["options"])
    return await user.post(PASSKEYS_PATH, json={"ticket": challenge["ticket"], "name": name, "credential": credential})


async def start_login(world: World) -> Any:
    """Start a login and return the challenge."""
    return (await world.request("POST", "/auth/passkeys/challenge")).ok()


async def log_in_with_passkey(world: World, authenticator: Authenticator) -> ApiResponse:
    challenge = await start_login(world)
    body = {"ticket": challenge["ticket"], "credential": authenticator.get(challenge["options"])}
    return await world.request("POST", "/auth/passkeys", json=body)


async def test_a_user_registers_a_passkey_and_logs_in_with_it(world: World) -> None:
    alice = await create_user_with_password(world)
    authenticator = new_authenticator()

    passkey = (await register_passkey(alice, authenticator, " Laptop ")).ok()
    assert (passkey["name"], passkey["last_used_at"]) == ("Laptop", None)
    session = (await log_in_with_passkey(world, authenticator)).ok()

    assert session["user_id"] == str(alice.id)
    own_user = await world.request("GET", "/users/@me", headers={"Authorization": session["token"]})
    assert own_user.ok()["id"] == str(alice.id)
    [used_passkey] = (await alice.get(PASSKEYS_PATH)).ok()
    assert (used_passkey["id"], used_passkey["last_used_at"] is not None) == (passkey["id"], True)
    assert (await log_in_with_passkey(world, authenticator)).ok()["user_id"] == str(alice.id)


async def test_a_passkey_replaces_the_second_factor(world: World) -> None:
    alice = await create_user_with_password(world)
    await enable_totp(world, alice)
    authenticator = new_authenticator()
    (await register_passkey(alice, authenticator)).ok()

    assert "token" in (await log_in_with_passkey(world, authenticator)).ok()


async def test_options_require_a_stored_key_and_user_verification(world: World) -> None:
    alice = await create_user_with_password(world)
    authenticator = new_authenticator()
    (await register_passkey(alice, authenticator)).ok()

    options = (await alice.post(f"{PASSKEYS_PATH}/challenge", json={"password": PASSWORD})).ok()["options"]

    assert options["rp"]["id"] == RP_ID
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert [decode(excluded_credential["id"]) for excluded_credential in options["excludeCredentials"]] == [
        authenticator.credential_id
    ]
    assert (await start_login(world))["options"]["userVerification"] == "required"


@pytest.mark.parametrize(
    "fields",
    [{"origin": "https://evil.example"}, {"rp_id": "evil.example"}, {"is_user_verified": False}],
    ids=["origin", "rp_id", "user_verification"],
)
async def test_a_credential_for_another_site_or_without_verification_is_rejected(
    world: World, fields: dict[str, Any]
) -> None:
    alice = await create_user_with_password(world)
    assert (await register_passkey(alice, new_authenticator(**fields))).errors("credential") == ["PASSKEY_INVALID"]
    authenticator = new_authenticator()
    (await register_passkey(alice, authenticator)).ok()
    for name, value in fields.items():
        setattr(authenticator, name, value)

    assert (await log_in_with_passkey(world, authenticator)).errors("credential") == ["PASSKEY_INVALID"]


async def test_a_challenge_is_valid_once_for_its_user_and_purpose_and_for_five_minutes(world: World) -> None:
    alice, bob = await create_user_with_password(world), await create_user_with_password(world, "bob")
    authenticator = new_authenticator()
    (await register_passkey(alice, authenticator)).ok()

    challenge = await start_login(world)
    body = {"ticket": challenge["ticket"], "credential": authenticator.get(challenge["options"])}
    (await world.request("POST", "/auth/passkeys", json=body)).ok()
    assert (await world.request("POST", "/auth/passkeys", json=body)).errors("ticket") == ["PASSKEY_TICKET_INVALID"]
    own_challenge = (await alice.post(f"{PASSKEYS_PATH}/challenge", json={"password": PASSWORD})).ok()
    body = {
        "ticket": own_challenge["ticket"],
        "name": "Key",
        "credential": new_authenticator().create(own_challenge["options"]),
    }
    assert (await bob.post(PASSKEYS_PATH, json=body)).errors("ticket") == ["PASSKEY_TICKET_INVALID"]
    own_challenge = (await alice.post(f"{PASSKEYS_PATH}/challenge", json={"password": PASSWORD})).ok()
    body = {"ticket": own_challenge["ticket"], "credential": authenticator.get(own_challenge["options"])}
    assert (await world.request("POST", "/auth/passkeys", json=body)).errors("ticket") == ["PASSKEY_TICKET_INVALID"]
    challenge = await start_login(world)
    world.clock.advance(300_000)
    body = {"ticket": challenge["ticket"], "credential": authenticator.get(challenge["options"])}
    assert (await world.request("POST", "/auth/passkeys", json=body)).errors("ticket") == ["PASSKEY_TICKET_INVALID"]


async def test_copied_unknown_and_malformed_credentials_are_rejected(world: World) -> None:
    alice = await create_user_with_password(world)
    authenticator = new_authenticator()
    (await register_passkey(alice, authenticator)).ok()
    (await log_in_with_passkey(world, authenticator)).ok()

    authenticator.sign_count = 0
    assert (await log_in_with_passkey(world, authenticator)).errors("credential") == ["PASSKEY_INVALID"]
    assert (await log_in_with_passkey(world, new_authenticator())).errors("credential") == ["PASSKEY_INVALID"]
    for credential in ({}, {"id": 1}, {"id": "~"}, {"id": "AAAA", "response": []}):
        body = {"ticket": (await start_login(world))["ticket"], "credential": credential}
        response = await world.request("POST", "/auth/passkeys", json=body)
        assert response.errors("credential") == ["PASSKEY_INVALID"], credential


async def test_registration_and_deletion_need_the_password(world: World) -> None:
    alice = await create_user_with_password(world)
    authenticator = new_authenticator()
    passkey = (await register_passkey(alice, authenticator)).ok()
    wrong_body = {"password": "not this one"}

    assert (await alice.post(f"{PASSKEYS_PATH}/challenge", json=wrong_body)).errors("password") == [
        "PASSWORD_DOES_NOT_MATCH"
    ]
    path = f"{PASSKEYS_PATH}/{passkey['id']}"
    assert (await alice.post(f"{path}/delete", json=wrong_body)).errors("password") == ["PASSWORD_DOES_NOT_MATCH"]
    (await alice.post(f"{path}/delete", json={"password": PASSWORD})).ok()

    assert (await alice.get(PASSKEYS_PATH)).ok() == []
    assert (await log_in_with_passkey(world, authenticator)).errors("credential") == ["PASSKEY_INVALID"]


async def test_an_account_has_a_limited_number_of_passkeys(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "PASSKEYS_MAX", 2)
    alice = await create_user_with_password(world)
    for name in ("Laptop", "Phone"):
        (await register_passkey(alice, new_authenticator(), name)).ok()

    assert (await register_passkey(alice, new_authenticator())).errors("name") == ["PASSKEYS_MAX"]
    assert len((await alice.get(PASSKEYS_PATH)).ok()) == 2


async def test_passkeys_are_renamed_by_their_user_only(world: World) -> None:
    alice, bob = await create_user_with_password(world), await create_user_with_password(world, "bob")
    passkey = (await register_passkey(alice, new_authenticator())).ok()
    path = f"{PASSKEYS_PATH}/{passkey['id']}"

    assert (await alice.patch(path, json={"name": "Phone"})).ok()["name"] == "Phone"
    assert (await alice.patch(path, json={"name": ""})).errors("name") == ["BASE_TYPE_BAD_LENGTH"]
    (await bob.patch(path, json={"name": "Mine"})).rejected(404, 0)
    (await bob.post(f"{path}/delete", json={"password": PASSWORD})).rejected(404, 0)
    assert (await bob.get(PASSKEYS_PATH)).ok() == []


async def test_a_credential_is_registered_once_and_passkeys_end_with_the_account(world: World) -> None:
    alice, bob = await create_user_with_password(world), await create_user_with_password(world, "bob")
    authenticator = new_authenticator()
    (await register_passkey(alice, authenticator)).ok()
    assert (await register_passkey(bob, authenticator)).errors("credential") == ["PASSKEY_INVALID"]
    assert (await alice.get("/users/@me/harvest")).ok()["records"]["passkeys"][0]["name"] == "Laptop"

    await delete_account(alice)

    assert (await log_in_with_passkey(world, authenticator)).errors("credential") == ["PASSKEY_INVALID"]


async def test_the_pages_log_in_with_a_passkey_and_remove_it(world: World) -> None:
    alice = await create_user_with_password(world)
    authenticator = new_authenticator()
    (await register_passkey(alice, authenticator)).ok()
    browser = Browser(world)

    page = await browser.open("/login")
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    rejected_page = await browser.submit(page, "Log in with a passkey", ticket="unknown", credential="{")
    assert "This passkey could not be verified." in rejected_page.text
    challenge = await start_login(world)
    credential = json.dumps(authenticator.get(challenge["options"]))
    result_page = await browser.submit(page, "Log in with a passkey", ticket=challenge["ticket"], credential=credential)
    assert result_page.url == "/app"

    page = await browser.open("/settings/account")
    page = await browser.open(dict(page.links)["Remove Laptop"])
    error_page = await browser.submit(page, "Remove passkey", password="not this one")
    assert (error_page.status, 'id="error-password"' in error_page.body) == (400, True)
    assert "Passkey removed." in (await browser.submit(page, "Remove passkey", password=PASSWORD)).text
    assert (await alice.get(PASSKEYS_PATH)).ok() == []


@pytest.mark.parametrize(
    ("url", "party"),
    [
        ("https://chat.example", ("chat.example", "https://chat.example")),
        ("https://chat.example:8443", ("chat.example", "https://chat.example:8443")),
        ("http://localhost:8080", ("localhost", "http://localhost:8080")),
        ("http://chat.example", None),
        ("https://192.0.2.1", None),
        ("http://127.0.0.1:8080", None),
        ("https://[2001:db8::1]:8443", None),
    ],
)
def test_the_relying_party_comes_from_the_public_url(
    url: str, party: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    assert relying_party.find_relying_party(url) == party
