"""Account linking, pages opened in the chat client, device authorization, and game launch registration."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from hubbub.protocol.control.faults import HttpFault
from hubbub.protocol.flags import LobbyMemberFlags
from hubbub.protocol.rpc import RpcErrorCode
from hubbub.sdk import (
    Activity,
    AuthorizationArgs,
    AuthorizationTokenType,
    Client,
    ClientResult,
    DeviceAuthorizationArgs,
    ErrorType,
    SdkError,
    launch_entries,
)
from hubbub.sdk.tokens import Tokens
from tests import oauth
from tests.machine import NewMachine
from tests.pages import Browser
from tests.sdk.players import (
    BOT_ISSUED,
    SCOPES,
    CallbackRecorder,
    Player,
    create_friends,
    create_game,
    create_player,
    new_client,
    request_provisional_token,
)
from tests.world import WAIT_TIMEOUT_SECONDS, World, befriend

BEARER = AuthorizationTokenType.BEARER


async def create_linked_lobby(world: World, application: oauth.Client, mary: Player, guest_id: int) -> int:
    """Create a lobby of two players that is linked to a channel."""
    guild = await world.guild(mary.user)
    assert application.bot is not None
    members = [{"id": str(mary.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}, {"id": str(guest_id)}]
    lobby_id = int((await application.bot.post("/lobbies", json={"members": members})).ok()["id"])
    await mary.client.link_channel_to_lobby(lobby_id, guild.general)
    return lobby_id


async def test_a_provisional_player_links_an_account_and_joins_the_guild(
    world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = await create_game(world)
    mary, rob = await create_player(world, application, "mary"), await world.user("rob")
    token = (await request_provisional_token(application, "hero-1")).ok()["access_token"]
    client = new_client(world)
    guest_id = (await client.fetch_current_user(BEARER, token)).id
    lobby_id = await create_linked_lobby(world, application, mary, guest_id)
    machine = await new_machine(rob)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(machine.directory))
    await client.update_token(BEARER, token)
    await client.connect()
    merge_requests, completion_recorder = CallbackRecorder(), CallbackRecorder()

    client.join_linked_lobby_guild(lobby_id, merge_requests, completion_recorder)
    await merge_requests.next()
    client.provisional_user_merge_completed(False)
    result, url = await completion_recorder.next()
    assert (result.type, url) == (ErrorType.ABORTED, "")

    client.join_linked_lobby_guild(lobby_id, merge_requests, completion_recorder)
    await merge_requests.next()
    verifier, challenge = oauth.create_pkce_pair()
    code = await application.request_code(rob, SCOPES, code_challenge=challenge, code_challenge_method="S256")
    merged_tokens = await client.get_token_from_provisional_merge(
        application.id, code, verifier, application.redirect_uri, BOT_ISSUED, token
    )
    await client.update_token(BEARER, merged_tokens.access_token)
    client.provisional_user_merge_completed(True)

    result, url = await completion_recorder.next()
    assert result.successful, result
    assert url.startswith(f"{world.url}/invite/")
    assert machine.opened_urls == [url]
    (await rob.post(f"/invites/{url.rpartition('/')[2]}", json={})).ok()
    await client.close()
    await mary.client.close()


async def test_joining_a_linked_guild_opens_the_join_page(
    world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    lobby_id = await create_linked_lobby(world, application, mary, zoe.id)
    machine = await new_machine(zoe.user)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(machine.directory))
    completion_recorder = CallbackRecorder()
    zoe.client.join_linked_lobby_guild(lobby_id, lambda: pytest.fail("zoe is not provisional"), completion_recorder)
    result, _ = await completion_recorder.next()
    assert result.successful, result
    browser = Browser(world)
    browser.sign_in_as(zoe.user)

    page = await browser.open(machine.opened_urls[0])
    assert page.status == 200
    assert "invited you to Guild" in page.text
    page = await browser.submit(page, "Accept invite")

    assert page.status == 200
    assert "You joined Guild." in page.text
    assert "mary linked this channel to a game lobby." in page.text
    page = await browser.submit(page, "Send", content="I am here")
    assert "I am here" in page.text
    await mary.client.close()
    await zoe.client.close()


async def test_messages_and_settings_open_in_the_chat_client(
    world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    mary, zoe = await create_friends(world)
    zoe_machine, other_machine = await new_machine(zoe.user), await new_machine(await world.user())
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(zoe_machine.directory))
    created_events = zoe.record_event("message_created")
    sent_id = await mary.client.send_user_message(zoe.id, "hello")
    await created_events.next(lambda message_id: message_id == sent_id)
    message = zoe.client.get_message_handle(sent_id)
    assert message is not None

    await zoe.client.open_message_in_platform(sent_id, lambda: pytest.fail("zoe is not provisional"))
    await zoe.client.open_connected_games_settings_in_platform()
    assert zoe_machine.opened_urls == [
        f"{world.url}/app/channels/@me/{message.channel_id}/{sent_id}",
        f"{world.url}/settings/apps",
    ]
    browser = Browser(world)
    browser.sign_in_as(zoe.user)
    for url in zoe_machine.opened_urls:
        assert (await browser.open(url)).status == 200, url
    page = await browser.open(zoe_machine.opened_urls[0])
    assert "hello" in page.text
    assert f'<li id="message-{sent_id}" class="marked"' in page.body

    # A different user who is signed in cannot see the channel.
    await zoe_machine.stop()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(other_machine.directory))
    with pytest.raises(SdkError) as caught:
        await zoe.client.open_message_in_platform(sent_id, lambda: None)
    assert (caught.value.result.type, caught.value.result.error_code) == (
        ErrorType.RPC_ERROR,
        RpcErrorCode.INVALID_CHANNEL,
    )
    with pytest.raises(SdkError) as caught:
        await zoe.client.open_message_in_platform(5, lambda: None)
    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()
    await zoe.client.close()


async def test_presence_shown_by_the_chat_client_ends_when_the_game_connects(
    world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    application, zoe = await create_game(world), await world.user("zoe")
    mary = await create_player(world, application, connect=False)
    await befriend(mary.user, zoe)
    zoe_session = await zoe.connect()
    machine = await new_machine(mary.user)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(machine.directory))
    mary.client.set_application_id(application.id)
    await mary.client.update_rich_presence(Activity(name="Puddle II"))
    await zoe_session.next(
        "PRESENCE_UPDATE", lambda data: [activity["name"] for activity in data["activities"]] == ["Puddle II"]
    )

    await mary.client.connect()

    await zoe_session.next("PRESENCE_UPDATE", lambda data: not data["activities"])
    assert machine.agent.context.activities.list_newest_first() == []
    await mary.client.close()


@pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)
async def test_device_polling_continues_after_a_network_outage(world: World) -> None:
    application, mary = await create_game(world), await world.user()
    opened_urls: list[str] = []
    client = new_client(world, open_browser=opened_urls.append)
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        world.clock.advance(int(seconds * 1000))
        if len(waits) == 1:
            world.app.faults.add(HttpFault(effect="drop", route="/oauth2/token"))
        else:
            code = opened_urls[0].partition("user_code=")[2]
            (await mary.post("/oauth2/device/finish", json={"user_code": code, "result": "granted"})).ok()

    client._parts[Tokens].sleep = wait
    tokens = await client.get_token_from_device(
        DeviceAuthorizationArgs(client_id=application.id, scopes=client.get_default_presence_scopes())
    )

    assert waits == [5, 10]
    assert (await client.fetch_current_user(BEARER, tokens.access_token)).id == mary.id
    await client.close()


async def test_the_device_code_screen_is_shown_and_closed() -> None:
    opened_urls: list[str] = []
    client = Client(open_browser=opened_urls.append)
    close_recorder = CallbackRecorder()
    client.set_authorize_device_screen_closed_callback(close_recorder)

    client.open_authorize_device_screen(99, "ABCD2345")
    client.open_authorize_device_screen(99, "A&b=c d#e")
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while len(opened_urls) < 2:
            await asyncio.sleep(0.01)
    client.close_authorize_device_screen()

    assert sorted(opened_urls) == [
        "http://127.0.0.1:8080/activate?user_code=A%26b%3Dc%20d%23e",
        "http://127.0.0.1:8080/activate?user_code=ABCD2345",
    ]
    await close_recorder.next()
    await client.close()


@pytest.mark.skipif(sys.platform != "linux", reason="requires Linux: desktop entries")
def test_registering_a_launch_command_writes_a_desktop_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    client = Client()

    def read_entry(application_id: int) -> str:
        return (tmp_path / "applications" / f"hubbub-{application_id}.desktop").read_text()

    assert client.register_launch_command(99, "/opt/puddle --play")
    assert "Exec=/opt/puddle --play %u\n" in read_entry(99)
    assert "MimeType=x-scheme-handler/hubbub-99;\n" in read_entry(99)
    assert client.register_launch_steam_application(100, 480)
    assert re.search(r"^Exec=\S*xdg-open steam://rungameid/480$", read_entry(100), re.MULTILINE)

    # The Desktop Entry Specification requires arguments that are quoted, then escaped like any string, with doubled percent signs.
    assert client.register_launch_command(101, r"""'./my games/puddle' --luck=50% --say 'a "$HOME" \ `b`' ''""")
    assert (
        f'Exec="{tmp_path}/my games/puddle" --luck=50%% --say '
        r'"a \\"\\$HOME\\" \\\\ \\`b\\`" "" %u' + "\n"
    ) in read_entry(101)
    launch = launch_entries.find_launch("101")
    assert launch is not None
    assert launch.arguments == [
        f"{tmp_path}/my games/puddle",
        "--luck=50%",
        "--say",
        'a "$HOME" \\ `b`',
        "",
    ]
    assert client.register_launch_command(102, "")
    default_launch = launch_entries.find_launch("102")
    assert default_launch is not None
    assert (default_launch.arguments[0], default_launch.working_directory) == (
        os.path.abspath(sys.executable),
        str(tmp_path),
    )

    for invalid_command in ("one\nExec=another", "'unbalanced", "no-such-program-anywhere --play", "   "):
        assert not client.register_launch_command(103, invalid_command)
    assert [launch_entries.find_launch(unknown_id) for unknown_id in ("103", "../applications/hubbub-99", "")] == [
        None,
        None,
        None,
    ]
    client.close()


def test_the_web_base_defaults_to_the_host_of_the_api() -> None:
    for api in ("https://api.example.com/api/v10", "https://api.example.com:8443", "http://localhost/social/api"):
        client = Client(api)
        assert client._core.web_base == "/".join(api.split("/")[:3])
        client.close()


async def test_a_redirect_without_parameters_is_not_an_authorization() -> None:
    opened_event = asyncio.Event()
    loop = asyncio.get_running_loop()
    client = Client(open_browser=lambda _: loop.call_soon_threadsafe(opened_event.set))
    results: list[ClientResult] = []

    args = AuthorizationArgs(client_id=99, scopes="identify", state="s", custom_scheme_param="puddle")
    authorization = client.authorize(args, lambda result, *_: results.append(result))
    await opened_event.wait()
    client.handle_authorize_redirect("puddle:/authorize/callback?state=s")

    with pytest.raises(SdkError) as caught:
        await authorization
    assert caught.value.result.type is ErrorType.AUTHORIZATION_FAILED
    await client.close()
