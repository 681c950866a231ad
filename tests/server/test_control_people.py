"""The people of the control API: messages, events, invites, authorizations and purchases, over HTTP."""

import asyncio
import base64
import re
from types import NoneType
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import codec
from hubbub.server import worlds
from hubbub.server.control.server import ENDPOINTS
from hubbub.server.transports.http.example_values import example
from tests.rehearsal import Rehearsal, start_rehearsal


def field_errors(body: Any, *path: str) -> list[str]:
    """Return the messages of a field's errors."""
    errors = body["errors"]
    for step in path:
        errors = errors[step]
    return [error["message"] for error in errors["_errors"]]


# People


async def test_people_are_listed_and_created(rehearsal: Rehearsal) -> None:
    people = (await rehearsal.control_request("GET", "/people")).ok()
    assert [(person["name"], person["connected"]) for person in people] == [
        ("alice", False),
        ("bob", False),
        ("carol", False),
    ]
    dora = (await rehearsal.control_request("POST", "/people", json={"username": "Dora", "global_name": "Dora"})).ok()
    assert dora["name"] == "dora"
    response = await rehearsal.control_request("POST", "/people", json={"username": "no spaces"})
    assert field_errors(response.json, "username")
    assert (await rehearsal.act("dora", "connect")).ok() == {**dora, "connected": True}
    assert (await rehearsal.act("dora", "disconnect")).ok() == dora
    assert (await rehearsal.act("dora", "request", path="/users/@me")).ok()["global_name"] == "Dora"


async def test_an_unknown_person_is_reported_with_the_known_ones(rehearsal: Rehearsal) -> None:
    response = await rehearsal.act("alcie", "say", channel="general", content="hello")
    assert response.status == 404
    assert response.json["message"] == (
        "This world has no user 'alcie'; it has: alice, bob, carol; did you mean 'alice'?"
    )


async def test_requests_without_the_control_token_are_unauthorized(rehearsal: Rehearsal) -> None:
    response = await rehearsal.control_request("POST", "/people/alice/say", token="wrong", json={"channel": "general"})
    assert response.status == 401


# Messages


async def test_people_send_edit_and_delete_messages(rehearsal: Rehearsal) -> None:
    (await rehearsal.act("bob", "connect")).ok()
    sent_message = (await rehearsal.act("alice", "say", channel="general", content="helo")).ok()
    reply = (await rehearsal.act("bob", "reply", message=sent_message["id"], content="hi")).ok()
    assert reply["message_reference"]["message_id"] == sent_message["id"]
    edited_message = (await rehearsal.act("alice", "edit", message=sent_message["id"], content="hello")).ok()
    assert edited_message["content"] == "hello"
    assert (await rehearsal.act("bob", "react", message=sent_message["id"], emoji="👍")).status == 204
    [latest_message, first_message] = (
        await rehearsal.control_request("GET", "/people/carol/messages?channel=general")
    ).ok()
    assert (latest_message["content"], first_message["reactions"][0]["emoji"]["name"]) == ("hi", "👍")
    assert (await rehearsal.act("bob", "delete", message=reply["id"])).status == 204
    [remaining_message] = (await rehearsal.control_request("GET", "/people/carol/messages?channel=general")).ok()
    assert remaining_message["id"] == sent_message["id"]


async def test_people_send_files_embeds_and_direct_messages(rehearsal: Rehearsal) -> None:
    files = {"note.txt": base64.b64encode(b"words").decode()}
    sent_message = (
        await rehearsal.act("alice", "say", channel="@bob", files=files, fields={"embeds": [{"title": "a title"}]})
    ).ok()
    assert (sent_message["attachments"][0]["filename"], sent_message["embeds"][0]["title"]) == ("note.txt", "a title")
    response = await rehearsal.act("alice", "say", channel="@bob", files={"note.txt": "?"})
    assert field_errors(response.json, "files", "note.txt") == ["The content of a file must be encoded as base64."]


async def test_invalid_arguments_are_reported_with_their_path(rehearsal: Rehearsal) -> None:
    response = await rehearsal.act("alice", "say", channel="attic", content="hello")
    assert (response.status, response.json["code"]) == (400, 50035)
    assert field_errors(response.json, "channel") == [
        "this world has no channel 'attic'; it has: general, staff, Lounge, ideas"
    ]
    response = await rehearsal.act("alice", "say", content="hello")
    assert field_errors(response.json, "channel") == ["This field is required"]
    response = await rehearsal.act("alice", "reply", message="123", content="hello")
    assert field_errors(response.json, "message") == [
        "alice has not received the message 123; name its channel to read it there"
    ]
    response = await rehearsal.act("alice", "expect", event="MESSAGE_CREATE", timeout_ms=300_001)
    assert field_errors(response.json, "timeout_ms") == ["int value should be less than or equal to 300000."]


async def test_unknown_keys_and_parameters_are_rejected_with_a_suggestion(rehearsal: Rehearsal) -> None:
    response = await rehearsal.act("alice", "say", channel="general", contnt="hello")
    assert response.status == 400
    assert field_errors(response.json, "contnt") == ["This operation has no key 'contnt'; did you mean 'content'?"]
    # A required key is missing because it is misspelled; the error names the cause.
    response = await rehearsal.act("alice", "say", chanel="general", content="hello")
    assert field_errors(response.json, "chanel") == ["This operation has no key 'chanel'; did you mean 'channel'?"]
    response = await rehearsal.control_request("POST", "/clock/advance", json={"seconds": 5})
    assert field_errors(response.json, "seconds") == ["This operation has no key 'seconds'; it has: ms."]
    response = await rehearsal.control_request("GET", "/trace?usr_id=1")
    assert field_errors(response.json, "usr_id") == ["This operation has no key 'usr_id'; did you mean 'user_id'?"]
    (await rehearsal.act("alice", "say", channel="general", content="hello", fields={"unknown": 1})).ok()


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        (
            "POST",
            "/people/alice/sya",
            "no operation POST /control/people/alice/sya; did you mean /control/people/{name}/say?",
        ),
        ("POST", "/clok/freeze", "no operation POST /control/clok/freeze; did you mean /control/clock/freeze?"),
        ("PATCH", "/users", "/control/users accepts POST, not PATCH."),
        (
            "GET",
            "/nothing/similar",
            "no operation GET /control/nothing/similar. GET /control/openapi.json lists all operations.",
        ),
    ],
)
async def test_unknown_operations_are_reported_with_a_suggestion(
    rehearsal: Rehearsal, method: str, path: str, message: str
) -> None:
    response = await rehearsal.control_request(method, path, json={})
    assert (response.status, message in response.json["message"]) == (404, True), response.json


async def test_a_message_from_before_the_connection_is_found_in_its_channel(rehearsal: Rehearsal) -> None:
    sent_message = (await rehearsal.act("alice", "say", channel="general", content="hello")).ok()
    reply = (await rehearsal.act("bob", "reply", message=sent_message["id"], channel="general", content="hi")).ok()
    assert reply["referenced_message"]["content"] == "hello"


async def test_a_rejected_request_has_the_status_and_code_of_the_api(rehearsal: Rehearsal) -> None:
    response = await rehearsal.act("bob", "say", channel="staff", content="let me in")
    assert (response.status, response.json["code"]) == (403, 50001)
    assert response.json["request"]["method"] == "POST"
    assert "bob: POST /channels/" in response.json["message"]
    response = await rehearsal.act("bob", "say", channel="general", content="x" * 2001)
    assert field_errors(response.json, "content") == ["Must be 2000 or fewer in length."]


# Events


async def test_an_unknown_emoji_of_a_reaction_has_a_cause(rehearsal: Rehearsal) -> None:
    message = (await rehearsal.act("alice", "say", channel="general", content="hello")).ok()
    response = await rehearsal.act("alice", "react", message=message["id"], emoji="thumbsup")
    assert (response.status, response.json["code"]) == (404, 10014)
    assert response.json["cause"].startswith("A reaction is a Unicode emoji, such as 👍, or a custom emoji")


async def test_an_expected_message_is_returned_once(rehearsal: Rehearsal) -> None:
    (await rehearsal.act("bob", "connect")).ok()
    waiting_task = asyncio.create_task(rehearsal.act("bob", "expect-message", channel="general", author="alice"))
    sent_message = (await rehearsal.act("alice", "say", channel="general", content="hello")).ok()
    assert (await waiting_task).ok()["id"] == sent_message["id"]
    assert (await rehearsal.act("bob", "expect-none", event="MESSAGE_CREATE")).status == 204
    await rehearsal.act("alice", "react", message=sent_message["id"], emoji="👍")
    event = (await rehearsal.act("bob", "expect", event="MESSAGE_REACTION_ADD", fields={"emoji": {"name": "👍"}})).ok()
    assert event["data"]["message_id"] == sent_message["id"]
    events = (await rehearsal.control_request("GET", "/people/bob/events?event=MESSAGE_CREATE")).ok()
    assert [event["data"]["content"] for event in events] == ["hello"]


async def test_a_missing_message_is_reported_with_its_differences(rehearsal: Rehearsal) -> None:
    (await rehearsal.act("bob", "connect")).ok()
    await rehearsal.act("alice", "say", channel="general", content="pnog")
    await rehearsal.act("alice", "say", channel="staff", content="pong")

    response = await rehearsal.act("bob", "expect-message", author="alice", content="pong", timeout_ms=50)

    assert response.status == 409
    assert response.json["differences"] == [{"path": "content", "expected": "pong", "received": "pnog"}]
    assert [event["event"] for event in response.json["received"]][-1] == "MESSAGE_CREATE"
    assert "content: expected 'pong', received 'pnog'" in response.json["message"]
    assert "in #staff was not delivered: missing permission: VIEW_CHANNEL in the channel" in response.json["message"]
    response = await rehearsal.act("bob", "expect-none", event="MESSAGE_CREATE")
    assert (response.status, response.json["received"][0]["data"]["content"]) == (409, "pnog")


async def test_an_unknown_event_is_reported_with_a_suggestion(rehearsal: Rehearsal) -> None:
    response = await rehearsal.act("bob", "expect", event="MESAGE_CREATE", timeout_ms=60_000)
    assert response.status == 400
    assert field_errors(response.json, "event") == ["there is no event 'MESAGE_CREATE'; did you mean 'MESSAGE_CREATE'?"]


async def test_a_wait_ends_when_the_caller_disconnects(rehearsal: Rehearsal) -> None:
    (await rehearsal.act("bob", "connect")).ok()
    tasks_before = len(asyncio.all_tasks())
    with pytest.raises(asyncio.TimeoutError):
        await rehearsal.client.post(
            f"{rehearsal.url}/control/people/bob/expect",
            json={"event": "MESSAGE_CREATE", "timeout_ms": 60_000},
            headers={"Authorization": f"Bearer {rehearsal.control.token}"},
            timeout=aiohttp.ClientTimeout(total=0.2),
        )
    async with asyncio.timeout(5):
        while len(asyncio.all_tasks()) > tasks_before:
            await asyncio.sleep(0.01)
    # The canceled operation did not take the event.
    await rehearsal.act("alice", "say", channel="general", content="hello")
    assert (await rehearsal.act("bob", "expect-message", content="hello")).status == 200


async def test_people_of_a_restored_snapshot_act_again(rehearsal: Rehearsal) -> None:
    snapshot = (await rehearsal.control_request("POST", "/snapshots")).ok()
    await rehearsal.control_request("POST", "/people", json={"username": "dora"})
    await rehearsal.act("dora", "connect")
    (await rehearsal.control_request("POST", f"/snapshots/{snapshot['id']}/restore")).ok()
    assert (await rehearsal.control_request("GET", "/people/dora")).status == 404
    (await rehearsal.control_request("POST", "/people", json={"username": "dora"})).ok()
    assert (await rehearsal.act("dora", "connect")).ok()["connected"]


async def test_people_of_a_fork_act_in_the_fork(rehearsal: Rehearsal) -> None:
    fork = (await rehearsal.control_request("POST", "/forks", json={})).ok()
    body = {"channel": "general", "content": "in the fork"}
    headers = {"Authorization": f"Bearer {fork['control_token']}"}
    (await rehearsal.request("POST", f"{fork['control']}/people/alice/say", json=body, headers=headers)).ok()
    messages_url = f"{fork['control']}/people/bob/messages?channel=general"
    [message] = (await rehearsal.request("GET", messages_url, headers=headers)).ok()
    assert message["content"] == "in the fork"
    assert (await rehearsal.control_request("GET", "/people/bob/messages?channel=general")).ok() == []


# Invites, authorization and purchases


async def test_people_join_guilds_and_become_friends(rehearsal: Rehearsal) -> None:
    (await rehearsal.control_request("POST", "/people", json={"username": "dora"})).ok()
    invite = (await rehearsal.act("alice", "invite", channel="general", fields={"max_uses": 1})).ok()
    assert (await rehearsal.act("dora", "join", invite=invite["code"])).ok()["guild"]["name"] == "Town Square"
    assert (await rehearsal.act("dora", "say", channel="general", content="here")).status == 200
    assert (await rehearsal.act("dora", "befriend", user="alice")).status == 204
    assert (await rehearsal.act("alice", "befriend", user="dora")).status == 204
    event = (await rehearsal.act("dora", "expect", event="RELATIONSHIP_ADD", fields={"type": 1})).ok()
    assert event["data"]["id"] == str(rehearsal.actor("alice").id)
    response = await rehearsal.act("dora", "join", invite="nowhere")
    assert (response.status, response.json["code"]) == (404, 10006)


async def test_people_authorize_applications(rehearsal: Rehearsal) -> None:
    challenge = {"code_challenge": "a" * 43, "code_challenge_method": "S256", "state": "7"}
    redirect = (await rehearsal.act("alice", "authorize", application="demo-game", query=challenge)).ok()
    assert redirect["redirect_uri"] == "http://127.0.0.1/callback"
    assert redirect["parameters"]["state"] == "7"
    assert redirect["parameters"]["code"]
    response = await rehearsal.act("alice", "authorize", application="demo-gmae")
    assert field_errors(response.json, "application") == [
        "this world has no application 'demo-gmae'; it has: demo-bot, demo-game, demo-web; did you mean 'demo-game'?"
    ]
    guild = (await rehearsal.act("alice", "request", method="POST", path="/guilds", body={"name": "Elsewhere"})).ok()
    bot = {"application": "demo-bot", "scopes": ["bot"], "guild": guild["id"], "permissions": "2048"}
    assert (await rehearsal.act("alice", "authorize", **bot)).status == 200


async def test_the_demo_web_application_exchanges_its_code(rehearsal: Rehearsal) -> None:
    application = rehearsal.control.built_world.applications["demo-web"]
    redirect = (await rehearsal.act("alice", "authorize", application="demo-web", scopes=["identify"])).ok()
    form = {
        "grant_type": "authorization_code",
        "code": redirect["parameters"]["code"],
        "redirect_uri": redirect["redirect_uri"],
        "client_id": str(application.id),
        "client_secret": application.client_secret,
    }
    tokens = (await rehearsal.request("POST", f"{rehearsal.api}/oauth2/token", data=form)).ok()
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert (await rehearsal.request("GET", f"{rehearsal.api}/users/@me", headers=headers)).ok()["username"] == "alice"


async def test_people_buy_skus() -> None:
    world_file = worlds.read_mapping(
        {
            "users": {"alice": {}},
            "applications": {"shop": {"owner": "alice"}},
            "skus": {"Sword": {"application": "shop", "type": "durable", "price": 100}},
        }
    )
    async with start_rehearsal(world_file) as rehearsal:
        purchase = (await rehearsal.act("alice", "buy", sku="Sword")).ok()
        assert purchase["entitlement"]["user_id"] == str(rehearsal.actor("alice").id)
        response = await rehearsal.act("alice", "buy", sku="Swrod")
        assert field_errors(response.json, "sku") == [
            "this world has no SKU 'Swrod'; it has: Sword; did you mean 'Sword'?"
        ]


# The OpenAPI document


async def test_the_openapi_document_describes_every_operation(rehearsal: Rehearsal) -> None:
    response = await rehearsal.request("GET", f"{rehearsal.url}/control/openapi.json")
    document = response.ok()
    assert (document["info"]["title"], document["servers"]) == ("Hubbub control API", [{"url": "/control"}])
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    for operation in operations:
        assert operation["summary"], operation["operationId"]
        assert operation["security"] == [{"ControlToken": []}]
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (operation["operationId"], parameter["name"])
    for endpoint in ENDPOINTS:
        if endpoint.operation.body is not NoneType:
            codec.convert(example(endpoint.operation.body, is_in_request=True), endpoint.operation.body)
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', response.body.decode()))
    assert references <= set(document["components"]["schemas"])
    stream = document["paths"]["/traffic/stream"]["get"]
    assert list(stream["responses"]["200"]["content"]) == ["text/event-stream"]
    assert [parameter["name"] for parameter in stream["parameters"]] == [
        "after",
        "kinds",
        "user_id",
        "text",
        "failed",
        "Last-Event-ID",
    ]
    assert len(operations) == len(ENDPOINTS) + 1
    expect = document["paths"]["/people/{name}/expect"]["post"]
    assert expect["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/Expect")
