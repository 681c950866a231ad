"""Interactions posted to an application's endpoint: signatures, responses in the body, and failures."""

import asyncio
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hubbub.protocol.enums import CommandOptionType, ComponentType, InteractionCallbackType, InteractionType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.interactions import RESPONSE_TIMEOUT_MS
from hubbub.server.identity import oauth2
from hubbub.server.identity.oauth2.installations import InstallationRow
from tests.oauth import create_application
from tests.receiver import Receiver, extend_timeouts, use_as_interactions_endpoint
from tests.server.play.interaction_setup import BUTTON_ROW, InteractionSetup, create_interaction_setup
from tests.world import Actor, World


def respond_with(callback_type: int, data: Any = None) -> Any:
    """Return a handler that responds with this type and data."""
    return lambda _: web.json_response(
        {"type": callback_type} if data is None else {"type": callback_type, "data": data}
    )


@pytest.fixture
async def setup(private_targets_world: World, receiver: Receiver) -> InteractionSetup:
    """An app whose interactions are posted to `receiver`, and a user in its guild."""
    setup = await create_interaction_setup(private_targets_world)
    await use_as_interactions_endpoint(receiver, setup.bot)
    return setup


async def send_interaction(setup: InteractionSetup, interaction_type: int, data: dict[str, Any], **body: Any) -> None:
    """Send an interaction as the user, and run the job that delivers it to the endpoint."""
    response = await setup.create_interaction(interaction_type, data, **body)
    assert response.status == 204, response.body
    assert setup.world.app.worker is not None
    await setup.world.app.worker.run_due()


async def run_command(setup: InteractionSetup, **data: Any) -> None:
    """Create a command, run it and deliver the interaction to the endpoint."""
    command = await setup.create_command()
    await send_interaction(
        setup, InteractionType.APPLICATION_COMMAND, {"id": command["id"], "name": command["name"], **data}
    )


async def list_failures(setup: InteractionSetup) -> list[Any]:
    """Return the failed interactions of the application, as its bot."""
    failures: list[Any] = (await setup.bot.get(f"{setup.application_path}/interactions/failed")).ok()
    return failures


async def test_an_interaction_is_posted_with_a_signature_and_answered_in_the_body(
    setup: InteractionSetup, receiver: Receiver
) -> None:
    receiver.interaction_handler = respond_with(
        InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "hello"}
    )

    await run_command(setup)

    [interaction] = receiver.interactions
    assert receiver.invalid_signature_count == 0
    assert (interaction["type"], interaction["data"]["name"], interaction["member"]["user"]["id"]) == (
        2,
        "greet",
        str(setup.user.id),
    )
    assert receiver.request_headers[-1]["Content-Type"] == "application/json"
    message = await setup.user_session.next("MESSAGE_CREATE")
    assert (message["content"], message["interaction_metadata"]["id"]) == ("hello", interaction["id"])
    assert (await setup.user_session.next("INTERACTION_SUCCESS"))["id"] == interaction["id"]
    await setup.app_session.assert_not_received("INTERACTION_CREATE")
    webhook_path = f"/webhooks/{setup.bot.application_id}/{interaction['token']}"
    assert (await setup.world.request("GET", f"{webhook_path}/messages/@original")).ok()["id"] == message["id"]
    assert (await setup.world.request("POST", webhook_path, json={"content": "more"})).ok()["content"] == "more"
    assert await list_failures(setup) == []


async def test_an_interaction_that_no_worker_delivered_in_time_is_among_the_failures(
    setup: InteractionSetup, receiver: Receiver
) -> None:
    worker = setup.world.app.worker
    assert worker is not None
    command = await setup.create_command()
    await worker.stop()
    data = {"id": command["id"], "name": command["name"]}
    assert (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, data)).status == 204
    setup.world.clock.advance(RESPONSE_TIMEOUT_MS + 1_000)
    worker.start()
    await worker.run_due()

    assert (await setup.user_session.next("INTERACTION_FAILURE"))["reason_code"] == 2
    assert [failure["error"] for failure in await list_failures(setup)] == ["the interaction was not delivered in time"]
    assert receiver.interactions == []


async def test_a_ping_has_the_common_fields_of_interactions(setup: InteractionSetup, receiver: Receiver) -> None:
    for url in (None, receiver.events_url.replace("/events", "/interactions")):
        (await setup.bot.patch("/applications/@me", json={"interactions_endpoint_url": url})).ok()

    [ping] = [body for body in receiver.requests if body["type"] == InteractionType.PING]
    expected_permissions = Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE
    assert (ping["application_id"], ping["version"]) == (str(setup.bot.application_id), 1)
    assert (ping["entitlements"], ping["authorizing_integration_owners"]) == ([], {})
    assert ping["app_permissions"] == str(expected_permissions)
    assert ping["id"].isdecimal()
    assert ping["token"]


async def test_the_token_is_not_stored_after_delivery(setup: InteractionSetup, receiver: Receiver) -> None:
    receiver.interaction_handler = respond_with(InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE)
    await run_command(setup)

    delivery_jobs = await setup.world.write(
        lambda call: call.tx.all("SELECT kind FROM jobs WHERE kind = 'interactions.deliver'")
    )

    assert delivery_jobs == []


async def test_a_response_can_contain_files(setup: InteractionSetup, receiver: Receiver) -> None:
    def respond(_: dict[str, Any]) -> web.Response:
        form = aiohttp.FormData()
        form.add_field("payload_json", '{"type": 4, "data": {"content": "look", "attachments": [{"id": 0}]}}')
        form.add_field("files[0]", b"x" * 400_000, filename="large.txt", content_type="text/plain")
        body = form()
        return web.Response(body=body, headers={"Content-Type": body.content_type})

    receiver.interaction_handler = respond

    await run_command(setup)

    [file] = (await setup.user_session.next("MESSAGE_CREATE"))["attachments"]
    assert (file["filename"], file["size"]) == ("large.txt", 400_000)
    assert await list_failures(setup) == []


async def test_a_response_can_be_sent_later_by_the_callback_route(setup: InteractionSetup, receiver: Receiver) -> None:
    receiver.interaction_handler = lambda _: web.Response(status=202)
    await run_command(setup)
    [interaction] = receiver.interactions
    assert "INTERACTION_FAILURE" not in setup.user_session.unread_names()

    path = f"/interactions/{interaction['id']}/{interaction['token']}/callback"
    response = await setup.world.request("POST", path, json={"type": 4, "data": {"content": "later"}})

    assert response.status == 204
    assert (await setup.user_session.next("MESSAGE_CREATE"))["content"] == "later"
    await setup.world.clock.run_for(4_000)
    await setup.user_session.assert_not_received("INTERACTION_FAILURE")


async def test_an_interaction_fails_if_no_response_follows_a_202(setup: InteractionSetup, receiver: Receiver) -> None:
    receiver.interaction_handler = lambda _: web.Response(status=202)
    await run_command(setup)

    await setup.world.clock.run_for(4_000)

    assert (await setup.user_session.next("INTERACTION_FAILURE"))["reason_code"] == 2


async def test_commands_buttons_and_modals_are_answered_in_the_body(
    setup: InteractionSetup, receiver: Receiver
) -> None:
    receiver.interaction_handler = respond_with(
        InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE, {"flags": int(MessageFlags.EPHEMERAL)}
    )
    await run_command(setup)
    [interaction] = receiver.interactions
    assert (await setup.user_session.next("MESSAGE_CREATE"))["flags"] & MessageFlags.LOADING
    original_path = f"/webhooks/{setup.bot.application_id}/{interaction['token']}/messages/@original"
    edited_message = (
        await setup.world.request("PATCH", original_path, json={"content": "done", "components": [BUTTON_ROW]})
    ).ok()

    text_input = {"type": ComponentType.TEXT_INPUT, "custom_id": "why", "style": 1}
    modal_body = {
        "custom_id": "form",
        "title": "Why?",
        "components": [{"type": ComponentType.LABEL, "label": "Why", "component": text_input}],
    }
    receiver.interaction_handler = respond_with(InteractionCallbackType.MODAL, modal_body)
    await send_interaction(
        setup,
        InteractionType.MESSAGE_COMPONENT,
        {"component_type": ComponentType.BUTTON, "custom_id": "go"},
        message_id=edited_message["id"],
    )
    modal = await setup.user_session.next("INTERACTION_MODAL_CREATE")
    receiver.interaction_handler = respond_with(
        InteractionCallbackType.UPDATE_MESSAGE, {"content": "changed", "components": []}
    )
    submitted_components = [
        {
            "type": ComponentType.LABEL,
            "component": {"type": ComponentType.TEXT_INPUT, "custom_id": "why", "value": "because"},
        }
    ]
    await send_interaction(
        setup,
        InteractionType.MODAL_SUBMIT,
        {"id": modal["id"], "custom_id": "form", "components": submitted_components},
    )

    assert [interaction["type"] for interaction in receiver.interactions] == [
        InteractionType.APPLICATION_COMMAND,
        InteractionType.MESSAGE_COMPONENT,
        InteractionType.MODAL_SUBMIT,
    ]
    assert receiver.interactions[2]["data"]["components"][0]["component"]["value"] == "because"
    assert (await setup.user_session.next("MESSAGE_UPDATE", lambda data: data["content"] == "changed"))[
        "components"
    ] == []
    assert await list_failures(setup) == []


async def test_autocomplete_choices_are_returned_in_the_body(setup: InteractionSetup, receiver: Receiver) -> None:
    option = {"type": CommandOptionType.STRING, "name": "target", "description": "x", "autocomplete": True}
    command = await setup.create_command(options=[option])
    receiver.interaction_handler = respond_with(
        InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT,
        {"choices": [{"name": "World", "value": "world"}]},
    )

    typed_options = [{"type": CommandOptionType.STRING, "name": "target", "value": "wo", "focused": True}]
    await send_interaction(
        setup,
        InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE,
        {"id": command["id"], "name": "greet", "options": typed_options},
    )

    interaction = await setup.user_session.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert interaction["choices"] == [{"name": "World", "value": "world"}]


@pytest.mark.parametrize(
    ("interaction_handler", "expected"),
    [
        (
            respond_with(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "x" * 4001}),
            "BASE_TYPE_MAX_LENGTH",
        ),
        (respond_with(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {}), "50006"),
        (respond_with(InteractionCallbackType.PONG), "BASE_TYPE_CHOICES"),
        (lambda _: web.Response(body=b"{", content_type="application/json"), "50109"),
        (lambda _: web.Response(text="hello"), "Content-Type"),
        (lambda _: web.json_response({"type": 4}, status=404), "returned HTTP 404"),
        (lambda _: web.Response(status=302, headers={"Location": "/events"}), "returned HTTP 302"),
    ],
)
async def test_an_invalid_response_fails_immediately(
    setup: InteractionSetup, receiver: Receiver, interaction_handler: Any, expected: str
) -> None:
    receiver.interaction_handler = interaction_handler

    await run_command(setup)

    failure_event = await setup.user_session.next("INTERACTION_FAILURE")
    assert (failure_event["nonce"], failure_event["reason_code"]) == ("n1", 1)
    [interaction] = receiver.interactions
    [failure] = await list_failures(setup)
    assert (failure["id"], failure["guild_id"]) == (interaction["id"], str(setup.guild.id))
    assert expected in failure["error"]
    path = f"/interactions/{interaction['id']}/{interaction['token']}/callback"
    (await setup.world.request("POST", path, json={"type": 5})).rejected(404, 10062)


async def test_delivery_is_retried_while_the_endpoint_restarts(setup: InteractionSetup, receiver: Receiver) -> None:
    statuses = [502, 503]
    receiver.interaction_handler = lambda body: (
        web.Response(status=statuses.pop(0))
        if statuses
        else respond_with(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "back"})(body)
    )

    await run_command(setup)
    await setup.world.clock.run_for(1_000)

    assert len({interaction["token"] for interaction in receiver.interactions}) == 1
    assert len(receiver.interactions) == 3
    assert (await setup.user_session.next("MESSAGE_CREATE"))["content"] == "back"


async def test_an_unreachable_endpoint_fails_after_three_seconds(setup: InteractionSetup, receiver: Receiver) -> None:
    await receiver.close()

    await run_command(setup)
    await setup.world.clock.run_for(3_000)

    assert (await setup.user_session.next("INTERACTION_FAILURE"))["reason_code"] == 2
    [failure] = await list_failures(setup)
    assert "Connect" in failure["error"]
    await setup.world.clock.run_for(600_000)
    await setup.user_session.assert_not_received("INTERACTION_FAILURE")


async def test_an_endpoint_that_does_not_respond_fails_after_three_seconds(
    setup: InteractionSetup, receiver: Receiver
) -> None:
    receiver.interaction_handler = receiver.never_respond

    # This takes three real seconds, because sockets do not follow the controlled clock.
    await run_command(setup)

    assert (await setup.user_session.next("INTERACTION_FAILURE"))["reason_code"] == 2
    await setup.world.clock.run_for(4_000)
    assert len(receiver.interactions) == 1
    assert [failure["error"] for failure in await list_failures(setup)] == ["no response in time"]


async def test_many_interactions_are_delivered_concurrently(
    setup: InteractionSetup, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    extend_timeouts(setup.world, monkeypatch)
    command = await setup.create_command()
    receiver.interaction_handler = respond_with(
        InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "hello"}
    )
    # The endpoint responds only after all requests have arrived.
    receiver.barrier = asyncio.Barrier(16)

    await asyncio.gather(
        *(
            send_interaction(setup, InteractionType.APPLICATION_COMMAND, {"id": command["id"], "name": command["name"]})
            for _ in range(16)
        )
    )

    succeeded_ids = {(await setup.user_session.next("INTERACTION_SUCCESS"))["id"] for _ in range(16)}
    assert sorted(succeeded_ids) == sorted(interaction["id"] for interaction in receiver.interactions)
    assert await list_failures(setup) == []


async def test_an_application_without_a_bot_receives_interactions_at_its_endpoint(
    private_targets_world: World, receiver: Receiver
) -> None:
    client = await create_application(private_targets_world, name="webby", has_bot=False)
    owner, application_path = client.owner, f"/applications/{client.id}"
    receiver.use_verify_key_of((await owner.get(application_path)).ok())
    # The setup only reads the application ID of its bot.
    application = Actor(private_targets_world, 0, "", "webby", application_id=client.id)
    token_request = {"grant_type": "client_credentials", "scope": "applications.commands.update"}
    app_bearer = client.bearer(owner, (await client.post_form("/oauth2/token", **token_request)).ok()["access_token"])
    user = await private_targets_world.user()
    guild = await private_targets_world.guild(None, user)
    command = (
        await app_bearer.post(
            f"{application_path}/commands", json={"name": "greet", "description": "x", "integration_types": [0]}
        )
    ).ok()
    setup = InteractionSetup(private_targets_world, guild, user, application)
    setup.user_session = await user.connect()
    (
        await setup.create_interaction(InteractionType.APPLICATION_COMMAND, {"id": command["id"], "name": "greet"})
    ).rejected(400, 40043)
    endpoint = receiver.events_url.replace("/events", "/interactions")
    (await owner.patch(application_path, json={"interactions_endpoint_url": endpoint})).ok()
    (
        await setup.create_interaction(InteractionType.APPLICATION_COMMAND, {"id": command["id"], "name": "greet"})
    ).rejected(404, 10063)
    await private_targets_world.write(
        lambda call: oauth2.installations.upsert_installation(
            call.tx, InstallationRow(client.id, 0, guild.id, owner.id, "applications.commands", call.now_ms)
        )
    )
    receiver.interaction_handler = respond_with(
        InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "I have no bot"}
    )

    await send_interaction(setup, InteractionType.APPLICATION_COMMAND, {"id": command["id"], "name": "greet"})

    interaction = receiver.interactions[-1]
    assert interaction["authorizing_integration_owners"] == {"0": str(guild.id)}
    message = await setup.user_session.next("MESSAGE_CREATE")
    assert (message["content"], message["author"]["username"], message["webhook_id"]) == (
        "I have no bot",
        "webby",
        str(client.id),
    )


async def test_an_endpoint_that_accepts_invalid_signatures_is_removed(
    setup: InteractionSetup, receiver: Receiver
) -> None:
    await setup.world.clock.run_for(25 * 3_600_000)
    assert receiver.invalid_signature_count == 1
    assert (await setup.bot.get("/applications/@me")).ok()["interactions_endpoint_url"] is not None
    receiver.accepts_invalid_signatures = True

    await setup.world.clock.run_for(25 * 3_600_000)

    assert receiver.invalid_signature_count == 2
    assert (await setup.bot.get("/applications/@me")).ok()["interactions_endpoint_url"] is None
    received_interaction = await setup.run_command(await setup.create_command())
    assert received_interaction.payload["data"]["name"] == "greet"


async def test_failures_are_visible_only_to_managers_of_the_application(setup: InteractionSetup) -> None:
    assert await list_failures(setup) == []
    (await setup.user.get(f"{setup.application_path}/interactions/failed")).rejected(403, 20012)
    (await setup.bot.get("/applications/1/interactions/failed")).rejected(404, 10002)
    response = await setup.bot.get(f"{setup.application_path}/interactions/failed?limit=0")
    assert response.errors("limit") == ["NUMBER_TYPE_MIN"]
