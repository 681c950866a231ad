"""Proxy tickets: signed headers that identify a participant of an activity to its server."""

import base64
import json
from http.cookies import SimpleCookie
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hubbub.server.core.config import Config
from hubbub.server.places import activity_instances
from hubbub.server.transports.activities import headers
from tests.server.activities.upstream import EchoedRequest, ProxiedActivity, create_proxied_activity
from tests.world import Actor

HALF_HOUR_MS = 1_800_000
SIGNED_HEADERS = ("X-Signature-Ed25519", "X-Signature-Timestamp", "X-Discord-Proxy-Payload")


async def launch(activity: ProxiedActivity, actor: Actor, session_id: str = "") -> str:
    """Launch the activity in a new guild of `actor` and return the composite instance ID."""
    guild = await activity.world.guild(actor)
    launch_arguments = (activity.bot.application_id, actor.id, guild.general, guild.id)
    instance_row = await activity.world.write(
        lambda call: activity_instances.launch(call, *launch_arguments, session_id=session_id)
    )
    return str(instance_row.composite_id)


async def create_ticket(activity: ProxiedActivity, actor: Actor, **body: Any) -> str:
    """Create a proxy ticket as a user and return it."""
    path = f"/applications/{activity.bot.application_id}/proxy-tickets"
    return str((await actor.post(path, json=body or None)).ok()["ticket"])


async def verified_payload(activity: ProxiedActivity, echoed: EchoedRequest) -> dict[str, Any]:
    """Verify the signature as documented for the application's server, and return the signed payload."""
    key = Ed25519PublicKey.from_public_bytes(
        bytes.fromhex((await activity.bot.get("/applications/@me")).ok()["verify_key"])
    )
    data = base64.b64decode(echoed.headers["X-Discord-Proxy-Payload"], validate=True)
    key.verify(bytes.fromhex(echoed.headers["X-Signature-Ed25519"]), data)
    payload: dict[str, Any] = json.loads(data)
    assert echoed.headers["X-Signature-Timestamp"] == str(payload["created_at"])
    return payload


def is_signed(echoed: EchoedRequest) -> bool:
    """Return whether the request has any of the signed headers."""
    return bool({name.lower() for name in SIGNED_HEADERS} & {name.lower() for name in echoed.headers})


async def test_a_ticket_in_the_url_or_the_cookie_identifies_the_user(store_activity: ProxiedActivity) -> None:
    activity = store_activity
    alice = await activity.world.user()
    instance_id = await launch(activity, alice)
    ticket = await create_ticket(activity, alice)

    response = await activity.request(f"/?discord_proxy_ticket={ticket}&instance_id={instance_id}")
    echoed_request = EchoedRequest(response)
    now = activity.world.clock.now_ms() // 1000
    assert await verified_payload(activity, echoed_request) == {
        "application_id": str(activity.bot.application_id),
        "user_id": str(alice.id),
        "instance_id": instance_id,
        "is_developer": False,
        "created_at": now,
        "expires_at": now + 1800,
    }
    assert echoed_request.path == f"/?discord_proxy_ticket={ticket}&instance_id={instance_id}"
    (set_cookie,) = response.headers.getall("Set-Cookie")
    cookie = SimpleCookie(set_cookie.replace("; Partitioned", ""))["hubbub_proxy_ticket"]
    assert (cookie.value, cookie["path"], cookie["samesite"], cookie["max-age"]) == (ticket, "/", "None", "1800")
    assert cookie["secure"]
    assert cookie["httponly"]
    assert set_cookie.endswith("; Partitioned")

    response = await activity.request("/game.js", headers={"Cookie": f"theme=dark; hubbub_proxy_ticket={ticket}"})
    echoed_request = EchoedRequest(response)
    assert (await verified_payload(activity, echoed_request))["user_id"] == str(alice.id)
    assert echoed_request.headers["Cookie"] == "theme=dark"
    assert "Set-Cookie" not in response.headers
    assert not is_signed(await activity.echo("/"))


async def test_a_ticket_identifies_the_user_of_a_websocket(activity: ProxiedActivity) -> None:
    alice = await activity.world.user()
    await launch(activity, alice)
    ticket = await create_ticket(activity, alice)

    async with activity.connect("/socket", headers={"Cookie": f"hubbub_proxy_ticket={ticket}"}):
        request = activity.upstream.requests[-1]
    assert json.loads(base64.b64decode(request.headers["X-Discord-Proxy-Payload"]))["user_id"] == str(alice.id)


async def test_a_ticket_expires_after_30_minutes_and_can_be_renewed(store_activity: ProxiedActivity) -> None:
    activity = store_activity
    alice = await activity.world.user()
    await launch(activity, alice)
    ticket = await create_ticket(activity, alice)

    activity.world.clock.advance(HALF_HOUR_MS - 1000)
    assert is_signed(await activity.echo(f"/?discord_proxy_ticket={ticket}"))
    activity.world.clock.advance(1000)
    assert not is_signed(await activity.echo(f"/?discord_proxy_ticket={ticket}"))
    new_ticket = await create_ticket(activity, alice)
    response = await activity.request(
        f"/?discord_proxy_ticket={new_ticket}", headers={"Cookie": f"hubbub_proxy_ticket={ticket}"}
    )
    assert is_signed(EchoedRequest(response))
    assert new_ticket in response.headers["Set-Cookie"]


async def test_a_ticket_is_invalid_after_leaving_the_activity(store_activity: ProxiedActivity) -> None:
    activity = store_activity
    alice = await activity.world.user()
    guild = await activity.world.guild(alice)
    session = await alice.connect()
    body = {"session_id": session.ready["session_id"]}
    (await alice.post(f"/activities/{guild.general}/{activity.bot.application_id}", json=body)).ok()
    update = await session.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    ticket = await create_ticket(activity, alice, instance_id=update["composite_instance_id"])
    assert is_signed(await activity.echo(f"/?discord_proxy_ticket={ticket}"))

    location_path = f"/applications/{activity.bot.application_id}/activities/{update['location']['id']}"
    (await alice.post(f"{location_path}/instances/{update['instance_id']}/leave", json=body)).ok()

    response = await activity.request(f"/?discord_proxy_ticket={ticket}")
    assert not is_signed(EchoedRequest(response))
    assert "Set-Cookie" not in response.headers


async def test_a_ticket_is_for_one_application(activity: ProxiedActivity) -> None:
    other_activity = await create_proxied_activity(activity.world, activity.upstream)
    alice = await activity.world.user()
    await launch(activity, alice)
    await launch(other_activity, alice, "another")
    ticket = await create_ticket(activity, alice)

    assert not is_signed(await other_activity.echo(f"/?discord_proxy_ticket={ticket}"))
    assert is_signed(await other_activity.echo(f"/?discord_proxy_ticket={await create_ticket(other_activity, alice)}"))


async def test_owners_and_testers_are_developers(activity: ProxiedActivity) -> None:
    owner, tester = await activity.world.user(), await activity.world.user()
    application = (await owner.post("/applications", json={"name": "Game"})).ok()
    path = f"/applications/{application['id']}"
    (await owner.patch(path, json={"activities": True})).ok()
    (await owner.post(f"{path}/testers", json={"username": tester.name})).ok()
    (await tester.put(f"/users/@me/testing/{application['id']}")).ok()

    async def is_developer(actor: Actor) -> bool:
        guild = await activity.world.guild(actor)
        await activity.world.write(
            lambda call: activity_instances.launch(call, int(application["id"]), actor.id, guild.general, guild.id)
        )
        ticket = (await actor.post(f"{path}/proxy-tickets")).ok()["ticket"].partition(".")[0]
        return bool(json.loads(base64.urlsafe_b64decode(ticket + "=="))["is_developer"])

    assert [await is_developer(actor) for actor in (owner, tester, await activity.world.user())] == [True, True, False]


async def test_only_participants_get_a_ticket(activity: ProxiedActivity) -> None:
    alice, bob = await activity.world.user(), await activity.world.user()
    path = f"/applications/{activity.bot.application_id}/proxy-tickets"

    (await alice.post("/applications/1/proxy-tickets")).rejected(404, 10002)
    (await alice.post(path)).rejected(400, 50039)
    (await alice.post(path, json={"instance_id": "i-1-gc-1-1"})).rejected(404, 0)
    instance_id = await launch(activity, alice)
    (await bob.post(path, json={"instance_id": instance_id})).rejected(404, 0)
    (await bob.post(path)).rejected(400, 50039)
    (await activity.bot.post(path)).rejected(403, 20001)
    assert (await alice.post(path, json={"instance_id": ""})).errors("instance_id") == ["BASE_TYPE_BAD_LENGTH"]
    response = await alice.post(path, json={"instance_id": instance_id})
    assert response.headers["Cache-Control"] == "no-store"


async def test_a_ticket_without_an_instance_is_for_the_last_joined_one(activity: ProxiedActivity) -> None:
    alice = await activity.world.user()
    first_session = await launch(activity, alice)
    activity.world.clock.advance(1000)
    second = await launch(activity, alice, "another")

    def decode_instance_id(ticket: str) -> str:
        return str(json.loads(base64.urlsafe_b64decode(ticket.partition(".")[0] + "=="))["instance_id"])

    assert decode_instance_id(await create_ticket(activity, alice)) == second
    assert decode_instance_id(await create_ticket(activity, alice, instance_id=first_session)) == first_session


@pytest.mark.parametrize(
    "problem", ["forged", "other key", "wrong payload", "empty", "too long", "no signature", "not hex", "extra part"]
)
async def test_an_invalid_ticket_is_ignored(activity: ProxiedActivity, problem: str) -> None:
    alice, bob = await activity.world.user(), await activity.world.user()
    await launch(activity, alice)
    encoded, _, signature = (await create_ticket(activity, alice)).partition(".")
    payload = json.loads(base64.urlsafe_b64decode(encoded + "=="))
    forged_payload = (
        base64.urlsafe_b64encode(json.dumps(payload | {"user_id": str(bob.id)}).encode()).decode().rstrip("=")
    )
    other_signature = Ed25519PrivateKey.generate().sign(base64.urlsafe_b64decode(encoded + "==")).hex()
    ticket = {
        "forged": f"{forged_payload}.{signature}",
        "other key": f"{encoded}.{other_signature}",
        "wrong payload": f"e30.{signature}",
        "empty": ".",
        "too long": f"{encoded}{'A' * 4000}.{signature}",
        "no signature": encoded,
        "not hex": f"{encoded}.{signature[:-2]}zz",
        "extra part": f"{encoded}.{signature}.{signature}",
    }[problem]

    response = await activity.request(f"/?discord_proxy_ticket={ticket}")

    assert not is_signed(EchoedRequest(response))
    assert "Set-Cookie" not in response.headers


async def test_a_modified_payload_fails_verification(activity: ProxiedActivity) -> None:
    alice = await activity.world.user()
    await launch(activity, alice)
    echoed_request = await activity.echo(f"/?discord_proxy_ticket={await create_ticket(activity, alice)}")
    echoed_request.headers["X-Discord-Proxy-Payload"] = base64.b64encode(b"{}").decode()

    with pytest.raises(InvalidSignature):
        await verified_payload(activity, echoed_request)


@pytest.mark.parametrize(
    ("headers", "is_accepted"),
    [
        ({}, True),
        ({"Origin": "{own_origin}", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Origin": "https://evil.example.org"}, False),
        ({"Origin": "null"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
    ],
)
async def test_a_cookie_is_ignored_in_cross_site_requests(
    activity: ProxiedActivity, headers: dict[str, str], is_accepted: bool
) -> None:
    alice = await activity.world.user()
    await launch(activity, alice)
    own_origin = f"http://{activity.host}:{activity.world.url.rpartition(':')[2]}"
    request_headers = {name: value.format(own_origin=own_origin) for name, value in headers.items()}

    ticket = await create_ticket(activity, alice)
    echoed_request = await activity.echo(
        "/", "POST", headers={"Cookie": f"hubbub_proxy_ticket={ticket}", **request_headers}
    )
    assert is_signed(echoed_request) is is_accepted
    # A ticket in the URL was put there by the client that opened the page.
    assert is_signed(await activity.echo(f"/?discord_proxy_ticket={ticket}", headers=request_headers))


def test_over_tls_no_other_host_can_set_the_cookie() -> None:
    # Browsers accept a cookie with the prefix __Host- only from the host itself.
    assert headers.ticket_cookie_name(Config(public_url="http://127.0.0.1:8080")) == "hubbub_proxy_ticket"
    assert headers.ticket_cookie_name(Config(public_url="https://chat.example.org")) == "__Host-hubbub_proxy_ticket"
