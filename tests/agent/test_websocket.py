"""Connections of web pages and programs to the agent over WebSocket: origins, users and permissions (spec/rpc.md#1, 4)."""

import os
from typing import Any

import aiohttp
import pytest

from hubbub.agent import peers
from hubbub.protocol.enums import ActivityActionType
from hubbub.protocol.rpc import CloseCode, RpcErrorCode
from tests import oauth
from tests.agent.setups import JOINABLE_ACTIVITY
from tests.machine import Machine, NewMachine
from tests.world import WAIT_TIMEOUT_SECONDS, World, befriend, wait_until

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)

PAGE_ORIGIN = "https://puddle.example"


@pytest.fixture
async def machine(world: World, new_machine: NewMachine) -> Machine:
    """Mary's machine, whose agent also serves web pages."""
    return await new_machine(await world.user("mary"), websocket_ports=(0,))


@pytest.fixture
async def game(world: World) -> oauth.Client:
    """A game with a web page."""
    game = await oauth.create_application(world, name="Puddle")
    (await game.owner.patch(f"/applications/{game.id}", json={"rpc_origins": [PAGE_ORIGIN]})).ok()
    return game


class Page:
    """A web page's connection to the agent."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def read(self) -> Any:
        """Return the next payload."""
        return await self.socket.receive_json(timeout=WAIT_TIMEOUT_SECONDS)

    async def send_command(self, cmd: str, args: Any = None) -> Any:
        """Send a command and return the reply."""
        await self.socket.send_json({"cmd": cmd, "args": args, "nonce": "1"})
        return await self.read()

    async def wait_close(self) -> tuple[int | None, str | None]:
        """Wait for the close and return its code and reason."""
        message = await self.socket.receive(timeout=WAIT_TIMEOUT_SECONDS)
        assert message.type is aiohttp.WSMsgType.CLOSE, message
        return message.data, message.extra


async def connect_page(
    machine: Machine, client_id: object, origin: str | None = PAGE_ORIGIN, **parameters: str
) -> Page:
    headers = {} if origin is None else {"Origin": origin}
    query = {"v": "1", "client_id": str(client_id), "encoding": "json"} | parameters
    port = machine.agent.websocket_port
    socket = await machine.world.client.ws_connect(f"ws://127.0.0.1:{port}/", params=query, headers=headers)
    return Page(socket)


async def test_a_web_page_cannot_use_local_commands(machine: Machine, game: oauth.Client) -> None:
    page = await connect_page(machine, game.id)

    ready = await page.read()
    assert (ready["evt"], ready["data"]["user"]["username"]) == ("READY", "mary")
    reply = await page.send_command("SET_ACTIVITY", {"activity": {"state": "here"}})
    assert (reply["evt"], reply["data"]["code"]) == ("ERROR", RpcErrorCode.INVALID_PERMISSIONS)
    token = (await machine.world.bearer(machine.owner, game.id, "identify rpc")).token
    assert (await page.send_command("AUTHENTICATE", {"access_token": token}))["evt"] is None
    assert (await page.send_command("GET_GUILDS"))["data"] == {"guilds": []}
    await page.socket.close()


async def test_programs_without_an_origin_and_the_platforms_pages_are_trusted(
    machine: Machine, game: oauth.Client
) -> None:
    program = await connect_page(machine, game.id, None)
    await program.read()
    assert (await program.send_command("SET_ACTIVITY", {"activity": {"state": "here"}}))["evt"] is None
    page = await connect_page(machine, game.id, machine.world.url)
    await page.read()
    guild = await machine.world.guild(machine.owner)
    invite = (await machine.owner.post(f"/channels/{guild.general}/invites", json={})).ok()["code"]

    assert (await page.send_command("INVITE_BROWSER", {"code": invite}))["data"]["code"] == invite
    assert machine.opened_urls == [f"{machine.world.url}/invite/{invite}"]
    template = (await machine.owner.post(f"/guilds/{guild.id}/templates", json={"name": "T"})).ok()["code"]
    assert (await page.send_command("GUILD_TEMPLATE_BROWSER", {"code": template}))["data"]["code"] == template
    for command, args, code in (
        ("INVITE_BROWSER", {"code": "nothing"}, RpcErrorCode.INVALID_INVITE),
        ("GUILD_TEMPLATE_BROWSER", {"code": "nothing"}, RpcErrorCode.INVALID_GUILD_TEMPLATE),
        ("GIFT_CODE_BROWSER", {"code": "nothing"}, RpcErrorCode.INVALID_GIFT_CODE),
        ("CONNECTIONS_CALLBACK", {"providerType": "steam"}, RpcErrorCode.INVALID_CONNECTION_CALLBACK_STATE),
    ):
        assert (await page.send_command(command, args))["data"]["code"] == code
        assert (await program.send_command(command, args))["data"]["code"] == RpcErrorCode.INVALID_PERMISSIONS
    await page.socket.close()
    await program.socket.close()


@pytest.mark.parametrize(
    ("origin", "client_id", "parameters", "code"),
    [
        ("https://elsewhere.example", None, {}, CloseCode.INVALID_ORIGIN),
        (f"{PAGE_ORIGIN}.elsewhere.example", None, {}, CloseCode.INVALID_ORIGIN),
        ("null", None, {}, CloseCode.INVALID_ORIGIN),
        (PAGE_ORIGIN, "5", {}, CloseCode.INVALID_CLIENT_ID),
        (PAGE_ORIGIN, None, {"v": "2"}, CloseCode.INVALID_VERSION),
        (PAGE_ORIGIN, None, {"encoding": "etf"}, CloseCode.INVALID_ENCODING),
    ],
)
async def test_a_rejected_connection_gets_a_close_code(
    machine: Machine, game: oauth.Client, origin: str, client_id: str | None, parameters: dict[str, str], code: int
) -> None:
    page = await connect_page(machine, client_id or game.id, origin, **parameters)

    assert (await page.wait_close())[0] == code


async def test_binary_frames_and_foreign_host_names_are_rejected(machine: Machine, game: oauth.Client) -> None:
    page = await connect_page(machine, game.id)
    await page.read()
    await page.socket.send_bytes(b"\x83")
    assert (await page.wait_close())[0] == CloseCode.INVALID_ENCODING

    url = f"http://127.0.0.1:{machine.agent.websocket_port}/?v=1&client_id={game.id}"
    async with machine.world.client.ws_connect(
        f"ws{url[4:]}", headers={"Host": "localhost:1", "Origin": PAGE_ORIGIN}
    ) as socket:
        assert (await socket.receive_json())["evt"] == "READY"
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await machine.world.client.ws_connect(
            f"ws{url[4:]}", headers={"Host": "puddle.example:80", "Origin": PAGE_ORIGIN}
        )


@pytest.mark.parametrize("origin", [None, PAGE_ORIGIN, "platform"])
async def test_programs_of_other_users_of_the_machine_are_rejected(
    machine: Machine, game: oauth.Client, monkeypatch: pytest.MonkeyPatch, origin: str | None
) -> None:
    monkeypatch.setattr(peers, "find_peer_uid", lambda peer_address, own_address: os.getuid() + 1)
    page = await connect_page(machine, game.id, machine.world.url if origin == "platform" else origin)
    assert await page.wait_close() == (CloseCode.INVALID_ORIGIN, "Invalid Origin")


async def test_a_program_without_an_origin_is_rejected_if_its_user_is_unknown(
    machine: Machine, game: oauth.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "find_peer_uid", lambda peer_address, own_address: None)
    program = await connect_page(machine, game.id, None)
    assert await program.wait_close() == (CloseCode.INVALID_ORIGIN, "Invalid Origin")
    page = await connect_page(machine, game.id)
    assert (await page.read())["evt"] == "READY"
    await page.socket.close()


async def test_the_chat_client_accepts_an_invite_for_a_game_on_the_machine(
    machine: Machine, game: oauth.Client, new_machine: NewMachine
) -> None:
    zoe = await machine.world.user("zoe")
    await befriend(machine.owner, zoe)
    host = await (await new_machine(zoe)).connect_program(game.id)
    await host.call("SET_ACTIVITY", {"activity": JOINABLE_ACTIVITY})
    await host.call("ACTIVITY_INVITE_USER", {"user_id": str(machine.owner.id), "type": ActivityActionType.JOIN})
    context = machine.agent.context
    await wait_until(lambda: context.invites)
    (invite,) = context.invites.values()
    args = {
        "type": ActivityActionType.JOIN,
        "user_id": invite["user"]["id"],
        "session_id": invite["session_id"],
        "channel_id": invite["channel_id"],
        "message_id": invite["message_id"],
    }
    chat_client = await connect_page(machine, game.id, machine.world.url)
    await chat_client.read()

    # The page has a connection of the application, but it is not the game.
    reply = await chat_client.send_command("ACCEPT_ACTIVITY_INVITE", args)
    assert (reply["evt"], reply["data"]["code"]) == ("ERROR", RpcErrorCode.SERVICE_UNAVAILABLE)
    program = await machine.connect_program(game.id)
    await program.request("SUBSCRIBE", evt="ACTIVITY_JOIN")
    assert (await chat_client.send_command("ACCEPT_ACTIVITY_INVITE", args))["evt"] is None
    assert await program.next("ACTIVITY_JOIN") == {"secret": "come-in", "application_id": str(game.id)}
    other_page = await connect_page(machine, game.id)
    await other_page.read()
    reply = await other_page.send_command("ACCEPT_ACTIVITY_INVITE", args)
    assert (reply["evt"], reply["data"]["code"]) == ("ERROR", RpcErrorCode.INVALID_PERMISSIONS)
    for page in (chat_client, other_page):
        await page.socket.close()
