"""Interactions over an application's own address: signed, answered in the body, and what happens when they are not."""

import asyncio
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.permissions import Permissions
from hubbub.server.resources import oauth2
from hubbub.server.resources.oauth2 import InstallationRow
from tests.oauth import application
from tests.receiver import Receiver, be_patient, listen
from tests.server.resources.test_interactions import BUTTON, Stage
from tests.world import Actor, World


def say(kind: int, data: Any = None) -> Any:
    """Answer with this."""
    return lambda _: web.json_response({"type": kind} if data is None else {"type": kind, "data": data})


@pytest.fixture
async def stage(near_world: World, receiver: Receiver) -> Stage:
    person = await near_world.user("asker")
    guild = await near_world.guild(None, person)
    bot = await near_world.bot(guild, name="answerer")
    await listen(receiver, bot)
    made = Stage(near_world, guild, person, bot)
    made.app = await bot.connect()
    made.eyes = await person.connect()
    return made


async def ask(stage: Stage, kind: int, data: dict[str, Any], **body: Any) -> None:
    """Ask, and have it delivered."""
    answer = await stage.ask(kind, data, **body)
    assert answer.status == 204, answer.body
    assert stage.world.app.worker is not None
    await stage.world.app.worker.run_due()


async def run(stage: Stage, **data: Any) -> None:
    """Run a command of the app."""
    command = await stage.command()
    await ask(stage, 2, {"id": command["id"], "name": command["name"], **data})


async def failures(stage: Stage) -> list[Any]:
    """What the owner sees."""
    shown: list[Any] = (await stage.bot.get(f"{stage.base}/interactions/failed")).ok()
    return shown


async def test_an_interaction_is_posted_signed_and_answered_in_the_body(stage: Stage, receiver: Receiver) -> None:
    receiver.answering = say(4, {"content": "hello"})

    await run(stage)

    [told] = receiver.interactions
    assert receiver.forged == 0
    assert (told["type"], told["data"]["name"], told["member"]["user"]["id"]) == (2, "greet", str(stage.person.id))
    assert receiver.headers[-1]["Content-Type"] == "application/json"
    said = await stage.eyes.next("MESSAGE_CREATE")
    assert (said["content"], said["interaction_metadata"]["id"]) == ("hello", told["id"])
    assert (await stage.eyes.next("INTERACTION_SUCCESS"))["id"] == told["id"]
    await stage.app.none_of("INTERACTION_CREATE")
    hook = f"/webhooks/{stage.bot.application_id}/{told['token']}"
    assert (await stage.world.request("GET", f"{hook}/messages/@original")).ok()["id"] == said["id"]
    assert (await stage.world.request("POST", hook, json={"content": "more"})).ok()["content"] == "more"
    assert await failures(stage) == []


async def test_a_ping_says_what_every_interaction_says(stage: Stage, receiver: Receiver) -> None:
    for url in (None, receiver.url.replace("/events", "/interactions")):
        (await stage.bot.patch("/applications/@me", json={"interactions_endpoint_url": url})).ok()

    [ping] = [body for body in receiver.requests if body["type"] == 1]
    allowed = Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE
    assert (ping["application_id"], ping["version"]) == (str(stage.bot.application_id), 1)
    assert (ping["entitlements"], ping["authorizing_integration_owners"]) == ([], {})
    assert ping["app_permissions"] == str(allowed)
    assert ping["id"].isdecimal()
    assert ping["token"]


async def test_nothing_of_the_token_is_kept(stage: Stage, receiver: Receiver) -> None:
    receiver.answering = say(5)
    await run(stage)

    left = await stage.world.write(
        lambda call: call.tx.all("SELECT kind FROM jobs WHERE kind = 'interactions.deliver'")
    )

    assert left == []


async def test_files_come_in_the_answer(stage: Stage, receiver: Receiver) -> None:
    def answer(_: dict[str, Any]) -> web.Response:
        form = aiohttp.FormData()
        form.add_field("payload_json", '{"type": 4, "data": {"content": "look", "attachments": [{"id": 0}]}}')
        form.add_field("files[0]", b"x" * 400_000, filename="large.txt", content_type="text/plain")
        made = form()
        return web.Response(body=made, headers={"Content-Type": made.content_type})

    receiver.answering = answer

    await run(stage)

    [file] = (await stage.eyes.next("MESSAGE_CREATE"))["attachments"]
    assert (file["filename"], file["size"]) == ("large.txt", 400_000)
    assert await failures(stage) == []


async def test_an_answer_may_come_later_by_the_callback_route(stage: Stage, receiver: Receiver) -> None:
    receiver.answering = lambda _: web.Response(status=202)
    await run(stage)
    [told] = receiver.interactions
    assert "INTERACTION_FAILURE" not in stage.eyes.names()

    path = f"/interactions/{told['id']}/{told['token']}/callback"
    answer = await stage.world.request("POST", path, json={"type": 4, "data": {"content": "later"}})

    assert answer.status == 204
    assert (await stage.eyes.next("MESSAGE_CREATE"))["content"] == "later"
    await stage.world.clock.run_for(4_000)
    await stage.eyes.none_of("INTERACTION_FAILURE")


async def test_who_says_202_and_then_nothing_has_failed(stage: Stage, receiver: Receiver) -> None:
    receiver.answering = lambda _: web.Response(status=202)
    await run(stage)

    await stage.world.clock.run_for(4_000)

    assert (await stage.eyes.next("INTERACTION_FAILURE"))["reason_code"] == 2


async def test_a_deferred_answer_a_button_and_a_modal(stage: Stage, receiver: Receiver) -> None:
    receiver.answering = say(5, {"flags": int(MessageFlags.EPHEMERAL)})
    await run(stage)
    [told] = receiver.interactions
    assert (await stage.eyes.next("MESSAGE_CREATE"))["flags"] & MessageFlags.LOADING
    original = f"/webhooks/{stage.bot.application_id}/{told['token']}/messages/@original"
    edited = (await stage.world.request("PATCH", original, json={"content": "done", "components": [BUTTON]})).ok()

    field = {"type": 4, "custom_id": "why", "style": 1}
    form = {"custom_id": "form", "title": "Why?", "components": [{"type": 18, "label": "Why", "component": field}]}
    receiver.answering = say(9, form)
    await ask(stage, 3, {"component_type": 2, "custom_id": "go"}, message_id=edited["id"])
    shown = await stage.eyes.next("INTERACTION_MODAL_CREATE")
    receiver.answering = say(7, {"content": "changed", "components": []})
    filled = [{"type": 18, "component": {"type": 4, "custom_id": "why", "value": "because"}}]
    await ask(stage, 5, {"id": shown["id"], "custom_id": "form", "components": filled})

    assert [each["type"] for each in receiver.interactions] == [2, 3, 5]
    assert receiver.interactions[2]["data"]["components"][0]["component"]["value"] == "because"
    assert (await stage.eyes.next("MESSAGE_UPDATE", lambda d: d["content"] == "changed"))["components"] == []
    assert await failures(stage) == []


async def test_what_is_typed_is_completed(stage: Stage, receiver: Receiver) -> None:
    option = {"type": 3, "name": "whom", "description": "x", "autocomplete": True}
    command = await stage.command(options=[option])
    receiver.answering = say(8, {"choices": [{"name": "World", "value": "world"}]})

    typed = [{"type": 3, "name": "whom", "value": "wo", "focused": True}]
    await ask(stage, 4, {"id": command["id"], "name": "greet", "options": typed})

    told = await stage.eyes.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert told["choices"] == [{"name": "World", "value": "world"}]


@pytest.mark.parametrize(
    ("answering", "words"),
    [
        (say(4, {"content": "x" * 4001}), "BASE_TYPE_MAX_LENGTH"),
        (say(4, {}), "50006"),
        (say(1), "BASE_TYPE_CHOICES"),
        (lambda _: web.Response(body=b"{", content_type="application/json"), "50109"),
        (lambda _: web.Response(text="hello"), "Content-Type"),
        (lambda _: web.json_response({"type": 4}, status=404), "returned HTTP 404"),
        (lambda _: web.Response(status=302, headers={"Location": "/events"}), "returned HTTP 302"),
    ],
)
async def test_what_is_no_answer_fails_at_once(stage: Stage, receiver: Receiver, answering: Any, words: str) -> None:
    receiver.answering = answering

    await run(stage)

    failed = await stage.eyes.next("INTERACTION_FAILURE")
    assert (failed["nonce"], failed["reason_code"]) == ("n1", 1)
    [told] = receiver.interactions
    [shown] = await failures(stage)
    assert (shown["id"], shown["guild_id"]) == (told["id"], str(stage.guild.id))
    assert words in shown["error"]
    path = f"/interactions/{told['id']}/{told['token']}/callback"
    (await stage.world.request("POST", path, json={"type": 5})).refused(404, 10062)


async def test_an_endpoint_that_starts_again_gets_the_interaction_while_there_is_time(
    stage: Stage, receiver: Receiver
) -> None:
    answers = [502, 503]
    receiver.answering = lambda body: (
        web.Response(status=answers.pop(0)) if answers else say(4, {"content": "back"})(body)
    )

    await run(stage)
    await stage.world.clock.run_for(1_000)

    assert len({each["token"] for each in receiver.interactions}) == 1
    assert len(receiver.interactions) == 3
    assert (await stage.eyes.next("MESSAGE_CREATE"))["content"] == "back"


async def test_an_endpoint_that_is_away_fails_in_time(stage: Stage, receiver: Receiver) -> None:
    await receiver.close()

    await run(stage)
    await stage.world.clock.run_for(3_000)

    assert (await stage.eyes.next("INTERACTION_FAILURE"))["reason_code"] == 2
    [shown] = await failures(stage)
    assert "Connect" in shown["error"]
    await stage.world.clock.run_for(600_000)
    await stage.eyes.none_of("INTERACTION_FAILURE")


async def test_silence_fails_after_three_seconds(stage: Stage, receiver: Receiver) -> None:
    receiver.answering = receiver.silence

    # Really three seconds: sockets do not follow the clock of the world.
    await run(stage)

    assert (await stage.eyes.next("INTERACTION_FAILURE"))["reason_code"] == 2
    await stage.world.clock.run_for(4_000)
    assert len(receiver.interactions) == 1
    assert [each["error"] for each in await failures(stage)] == ["no response in time"]


async def test_an_application_that_is_asked_much_at_once_answers_all(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(stage.world, monkeypatch)
    command = await stage.command()
    receiver.answering = say(4, {"content": "hello"})
    # It answers none before all have arrived.
    receiver.together = asyncio.Barrier(16)

    await asyncio.gather(*(ask(stage, 2, {"id": command["id"], "name": command["name"]}) for _ in range(16)))

    told = {(await stage.eyes.next("INTERACTION_SUCCESS"))["id"] for _ in range(16)}
    assert sorted(told) == sorted(each["id"] for each in receiver.interactions)
    assert await failures(stage) == []


async def test_an_application_without_a_bot_is_asked_over_its_address(near_world: World, receiver: Receiver) -> None:
    client = await application(near_world, name="webby", bot=False)
    owner, url = client.owner, f"/applications/{client.id}"
    receiver.of((await owner.get(url)).ok())
    bot = Actor(near_world, 0, "", "webby", application_id=client.id)
    alone = {"grant_type": "client_credentials", "scope": "applications.commands.update"}
    keeper = client.bearer(owner, (await client.post("/oauth2/token", **alone)).ok()["access_token"])
    person = await near_world.user()
    guild = await near_world.guild(None, person)
    command = (
        await keeper.post(f"{url}/commands", json={"name": "greet", "description": "x", "integration_types": [0]})
    ).ok()
    stage = Stage(near_world, guild, person, bot)
    stage.eyes = await person.connect()
    (await stage.ask(2, {"id": command["id"], "name": "greet"})).refused(400, 40043)
    address = receiver.url.replace("/events", "/interactions")
    (await owner.patch(url, json={"interactions_endpoint_url": address})).ok()
    (await stage.ask(2, {"id": command["id"], "name": "greet"})).refused(404, 10063)
    await near_world.write(
        lambda call: oauth2.keep_installation(
            call.tx, InstallationRow(client.id, 0, guild.id, owner.id, "applications.commands", call.now)
        )
    )
    receiver.answering = say(4, {"content": "I have no bot"})

    await ask(stage, 2, {"id": command["id"], "name": "greet"})

    told = receiver.interactions[-1]
    assert told["authorizing_integration_owners"] == {"0": str(guild.id)}
    said = await stage.eyes.next("MESSAGE_CREATE")
    assert (said["content"], said["author"]["username"], said["webhook_id"]) == (
        "I have no bot",
        "webby",
        str(client.id),
    )


async def test_an_endpoint_that_takes_forged_requests_loses_its_address(stage: Stage, receiver: Receiver) -> None:
    await stage.world.clock.run_for(25 * 3_600_000)
    assert receiver.forged == 1
    assert (await stage.bot.get("/applications/@me")).ok()["interactions_endpoint_url"] is not None
    receiver.trusting = True

    await stage.world.clock.run_for(25 * 3_600_000)

    assert receiver.forged == 2
    assert (await stage.bot.get("/applications/@me")).ok()["interactions_endpoint_url"] is None
    heard = await stage.run(await stage.command())
    assert heard.told["data"]["name"] == "greet"


async def test_failures_are_shown_to_those_who_manage_the_application(stage: Stage) -> None:
    (await stage.person.get(f"{stage.base}/interactions/failed")).refused(403, 20012)
    (await stage.bot.get("/applications/1/interactions/failed")).refused(404, 10002)
    answer = await stage.bot.get(f"{stage.base}/interactions/failed?limit=0")
    assert answer.errors("limit") == ["NUMBER_TYPE_MIN"]
