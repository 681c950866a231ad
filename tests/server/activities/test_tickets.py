"""Proxy tickets: who takes part in an activity is told to its server, signed, and to nobody's advantage but theirs."""

import base64
import json
from http.cookies import SimpleCookie
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hubbub.server.core.config import Config
from hubbub.server.resources import activity_instances
from hubbub.server.transports.activities import headers
from tests.server.activities.upstream import Echo, Stage
from tests.server.activities.upstream import stage as make_stage
from tests.world import Actor

HALF_HOUR = 1_800_000
SIGNED = ("X-Signature-Ed25519", "X-Signature-Timestamp", "X-Discord-Proxy-Payload")


async def play(stage: Stage, actor: Actor, session_id: str = "") -> str:
    """Take part in the activity, in a channel of one's own guild; its id."""
    guild = await stage.world.guild(actor)
    place = (stage.bot.application_id, actor.id, guild.general, guild.id)
    launched = await stage.world.write(lambda call: activity_instances.launch(call, *place, session_id=session_id))
    return str(launched.composite_id)


async def ticket(stage: Stage, actor: Actor, **body: Any) -> str:
    """A ticket."""
    path = f"/applications/{stage.bot.application_id}/proxy-tickets"
    return str((await actor.post(path, json=body or None)).ok()["ticket"])


async def verified(stage: Stage, got: Echo) -> dict[str, Any]:
    """What the application's server is told, once it has checked it as its documentation says."""
    key = Ed25519PublicKey.from_public_bytes(
        bytes.fromhex((await stage.bot.get("/applications/@me")).ok()["verify_key"])
    )
    data = base64.b64decode(got.headers["X-Discord-Proxy-Payload"], validate=True)
    key.verify(bytes.fromhex(got.headers["X-Signature-Ed25519"]), data)
    told: dict[str, Any] = json.loads(data)
    assert got.headers["X-Signature-Timestamp"] == str(told["created_at"])
    return told


def is_signed(got: Echo) -> bool:
    """Whether anything is said of who asks."""
    return bool({name.lower() for name in SIGNED} & {name.lower() for name in got.headers})


async def test_a_ticket_says_who_asks_and_the_cookie_says_it_again(kept_stage: Stage) -> None:
    stage = kept_stage
    alice = await stage.world.user()
    instance = await play(stage, alice)
    given = await ticket(stage, alice)

    answer = await stage.ask(f"/?discord_proxy_ticket={given}&instance_id={instance}")
    got = Echo(answer)
    now = stage.world.clock.now_ms() // 1000
    assert await verified(stage, got) == {
        "application_id": str(stage.bot.application_id),
        "user_id": str(alice.id),
        "instance_id": instance,
        "is_developer": False,
        "created_at": now,
        "expires_at": now + 1800,
    }
    assert got.path == f"/?discord_proxy_ticket={given}&instance_id={instance}"
    (line,) = answer.headers.getall("Set-Cookie")
    cookie = SimpleCookie(line.replace("; Partitioned", ""))["hubbub_proxy_ticket"]
    assert (cookie.value, cookie["path"], cookie["samesite"], cookie["max-age"]) == (given, "/", "None", "1800")
    assert cookie["secure"]
    assert cookie["httponly"]
    assert line.endswith("; Partitioned")

    answer = await stage.ask("/game.js", headers={"Cookie": f"theme=dark; hubbub_proxy_ticket={given}"})
    got = Echo(answer)
    assert (await verified(stage, got))["user_id"] == str(alice.id)
    assert got.headers["Cookie"] == "theme=dark"
    assert "Set-Cookie" not in answer.headers
    assert not is_signed(await stage.echo("/"))


async def test_a_websocket_carries_it_too(stage: Stage) -> None:
    alice = await stage.world.user()
    await play(stage, alice)
    given = await ticket(stage, alice)

    async with stage.connect("/socket", headers={"Cookie": f"hubbub_proxy_ticket={given}"}):
        asked = stage.upstream.seen[-1]
    assert json.loads(base64.b64decode(asked.headers["X-Discord-Proxy-Payload"]))["user_id"] == str(alice.id)


async def test_a_ticket_ends_after_half_an_hour_and_can_be_had_anew(kept_stage: Stage) -> None:
    stage = kept_stage
    alice = await stage.world.user()
    await play(stage, alice)
    given = await ticket(stage, alice)

    stage.world.clock.advance(HALF_HOUR - 1000)
    assert is_signed(await stage.echo(f"/?discord_proxy_ticket={given}"))
    stage.world.clock.advance(1000)
    assert not is_signed(await stage.echo(f"/?discord_proxy_ticket={given}"))
    fresh = await ticket(stage, alice)
    answer = await stage.ask(f"/?discord_proxy_ticket={fresh}", headers={"Cookie": f"hubbub_proxy_ticket={given}"})
    assert is_signed(Echo(answer))
    assert fresh in answer.headers["Set-Cookie"]


async def test_a_ticket_ends_with_the_activity(kept_stage: Stage) -> None:
    stage = kept_stage
    alice = await stage.world.user()
    guild = await stage.world.guild(alice)
    session = await alice.connect()
    body = {"session_id": session.ready["session_id"]}
    (await alice.post(f"/activities/{guild.general}/{stage.bot.application_id}", json=body)).ok()
    told = await session.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    given = await ticket(stage, alice, instance_id=told["composite_instance_id"])
    assert is_signed(await stage.echo(f"/?discord_proxy_ticket={given}"))

    place = f"/applications/{stage.bot.application_id}/activities/{told['location']['id']}"
    (await alice.post(f"{place}/instances/{told['instance_id']}/leave", json=body)).ok()

    answer = await stage.ask(f"/?discord_proxy_ticket={given}")
    assert not is_signed(Echo(answer))
    assert "Set-Cookie" not in answer.headers


async def test_a_ticket_is_for_one_application(stage: Stage) -> None:
    other = await make_stage(stage.world, stage.upstream)
    alice = await stage.world.user()
    await play(stage, alice)
    await play(other, alice, "another")
    given = await ticket(stage, alice)

    assert not is_signed(await other.echo(f"/?discord_proxy_ticket={given}"))
    assert is_signed(await other.echo(f"/?discord_proxy_ticket={await ticket(other, alice)}"))


async def test_owners_and_testers_are_developers(stage: Stage) -> None:
    owner, tester = await stage.world.user(), await stage.world.user()
    application = (await owner.post("/applications", json={"name": "Game"})).ok()
    path = f"/applications/{application['id']}"
    (await owner.patch(path, json={"activities": True})).ok()
    (await owner.post(f"{path}/testers", json={"username": tester.name})).ok()
    (await tester.put(f"/users/@me/testing/{application['id']}")).ok()

    async def told(actor: Actor) -> bool:
        guild = await stage.world.guild(actor)
        await stage.world.write(
            lambda call: activity_instances.launch(call, int(application["id"]), actor.id, guild.general, guild.id)
        )
        given = (await actor.post(f"{path}/proxy-tickets")).ok()["ticket"].partition(".")[0]
        return bool(json.loads(base64.urlsafe_b64decode(given + "=="))["is_developer"])

    assert [await told(actor) for actor in (owner, tester, await stage.world.user())] == [True, True, False]


async def test_only_who_takes_part_has_a_ticket(stage: Stage) -> None:
    alice, bob = await stage.world.user(), await stage.world.user()
    path = f"/applications/{stage.bot.application_id}/proxy-tickets"

    (await alice.post("/applications/1/proxy-tickets")).refused(404, 10002)
    (await alice.post(path)).refused(400, 50039)
    (await alice.post(path, json={"instance_id": "i-1-gc-1-1"})).refused(404, 0)
    instance = await play(stage, alice)
    (await bob.post(path, json={"instance_id": instance})).refused(404, 0)
    (await bob.post(path)).refused(400, 50039)
    (await stage.bot.post(path)).refused(403, 20001)
    assert (await alice.post(path, json={"instance_id": ""})).errors("instance_id") == ["BASE_TYPE_BAD_LENGTH"]
    answer = await alice.post(path, json={"instance_id": instance})
    assert answer.headers["Cache-Control"] == "no-store"


async def test_without_a_name_it_is_for_what_was_joined_last(stage: Stage) -> None:
    alice = await stage.world.user()
    first = await play(stage, alice)
    stage.world.clock.advance(1000)
    second = await play(stage, alice, "another")

    def named(given: str) -> str:
        return str(json.loads(base64.urlsafe_b64decode(given.partition(".")[0] + "=="))["instance_id"])

    assert named(await ticket(stage, alice)) == second
    assert named(await ticket(stage, alice, instance_id=first)) == first


@pytest.mark.parametrize("how", ["forged", "other key", "no json", "nothing", "long", "half", "no hex", "more"])
async def test_what_we_did_not_sign_says_nothing(stage: Stage, how: str) -> None:
    alice, bob = await stage.world.user(), await stage.world.user()
    await play(stage, alice)
    encoded, _, signature = (await ticket(stage, alice)).partition(".")
    told = json.loads(base64.urlsafe_b64decode(encoded + "=="))
    forged = base64.urlsafe_b64encode(json.dumps(told | {"user_id": str(bob.id)}).encode()).decode().rstrip("=")
    foreign = Ed25519PrivateKey.generate().sign(base64.urlsafe_b64decode(encoded + "==")).hex()
    given = {
        "forged": f"{forged}.{signature}",
        "other key": f"{encoded}.{foreign}",
        "no json": f"e30.{signature}",
        "nothing": ".",
        "long": f"{encoded}{'A' * 4000}.{signature}",
        "half": encoded,
        "no hex": f"{encoded}.{signature[:-2]}zz",
        "more": f"{encoded}.{signature}.{signature}",
    }[how]

    answer = await stage.ask(f"/?discord_proxy_ticket={given}")

    assert not is_signed(Echo(answer))
    assert "Set-Cookie" not in answer.headers


async def test_a_changed_payload_is_noticed(stage: Stage) -> None:
    alice = await stage.world.user()
    await play(stage, alice)
    got = await stage.echo(f"/?discord_proxy_ticket={await ticket(stage, alice)}")
    got.headers["X-Discord-Proxy-Payload"] = base64.b64encode(b"{}").decode()

    with pytest.raises(InvalidSignature):
        await verified(stage, got)


@pytest.mark.parametrize(
    ("sent", "signed"),
    [
        ({}, True),
        ({"Origin": "{own}", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Origin": "https://evil.example.org"}, False),
        ({"Origin": "null"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
    ],
)
async def test_pages_of_others_ask_for_nobody(stage: Stage, sent: dict[str, str], signed: bool) -> None:
    alice = await stage.world.user()
    await play(stage, alice)
    own = f"http://{stage.host}:{stage.world.url.rpartition(':')[2]}"
    head = {name: value.format(own=own) for name, value in sent.items()}

    given = await ticket(stage, alice)
    got = await stage.echo("/", "POST", headers={"Cookie": f"hubbub_proxy_ticket={given}", **head})
    assert is_signed(got) is signed
    # In the address it was put by who opened the page.
    assert is_signed(await stage.echo(f"/?discord_proxy_ticket={given}", headers=head))


def test_over_tls_no_other_host_can_set_the_cookie() -> None:
    assert headers.ticket_name(Config(public_url="http://127.0.0.1:8080")) == "hubbub_proxy_ticket"
    assert headers.ticket_name(Config(public_url="https://chat.example.org")) == "__Host-hubbub_proxy_ticket"
