"""Sockets, frames and handshakes: accepted connections and reasons for closing (spec/rpc.md#2 to 5)."""

import asyncio
import contextlib
import json
import os
import socket
import stat
import struct
from pathlib import Path
from typing import Any

import pytest

from hubbub.agent import addresses, ipc
from hubbub.agent.addresses import AddressUnavailable
from hubbub.agent.agent import CONNECTIONS_PER_APPLICATION_MAX
from hubbub.agent.connections import QUEUED_REQUESTS_MAX
from hubbub.protocol.rpc import CloseCode, RpcErrorCode
from tests import oauth
from tests.machine import CLOSE, FRAME, HANDSHAKE, HEADER, PING, PONG, Machine, NewMachine
from tests.world import WAIT_TIMEOUT_SECONDS, World

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)


@pytest.fixture
async def machine(world: World, new_machine: NewMachine) -> Machine:
    """Mary's machine."""
    return await new_machine(await world.user("mary"))


async def test_ready_names_the_signed_in_user(world: World, machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)

    host = world.url.removeprefix("http://")
    assert program.ready == {
        "v": 1,
        "config": {"cdn_host": f"{host}/cdn", "api_endpoint": f"//{host}/api", "environment": "production"},
        "user": {
            "id": str(machine.owner.id),
            "username": "mary",
            "discriminator": "0",
            "global_name": None,
            "avatar": None,
            "avatar_decoration_data": None,
            "bot": False,
            "flags": 0,
            "premium_type": 0,
        },
    }


@pytest.mark.parametrize(
    ("handshake", "code", "message"),
    [
        ({"v": 1, "client_id": "5"}, CloseCode.INVALID_CLIENT_ID, "Invalid Client ID"),
        ({"v": 1, "client_id": "puddle"}, CloseCode.INVALID_CLIENT_ID, "Invalid Client ID"),
        ({"v": 1, "client_id": "9" * 40}, CloseCode.INVALID_CLIENT_ID, "Invalid Client ID"),
        ({"v": 1}, CloseCode.INVALID_CLIENT_ID, "Invalid Client ID"),
        ({"v": 2, "client_id": "5"}, CloseCode.INVALID_VERSION, "Invalid Version"),
        ({"client_id": "5"}, CloseCode.INVALID_VERSION, "Invalid Version"),
        ([1], CloseCode.UNSUPPORTED, "The handshake must be a JSON object"),
        (b"{", CloseCode.UNSUPPORTED, "The handshake must be a JSON object"),
        (b"\xff\xfe", CloseCode.UNSUPPORTED, "The handshake must be a JSON object"),
        (b'{"\xff": 1}', CloseCode.UNSUPPORTED, "The handshake must be a JSON object"),
        (b"[" * 5000 + b"]" * 5000, CloseCode.UNSUPPORTED, "The handshake must be a JSON object"),
    ],
)
async def test_an_invalid_handshake_is_closed_with_a_code(
    machine: Machine, handshake: Any, code: int, message: str
) -> None:
    program = await machine.open_connection()

    program.write(HANDSHAKE, handshake)

    assert await program.read() == (CLOSE, {"code": code, "message": message})
    assert await program.is_closed()


@pytest.mark.parametrize("opcode", [FRAME, PING, PONG, 9])
async def test_the_first_frame_must_be_a_handshake(machine: Machine, opcode: int) -> None:
    program = await machine.open_connection()

    program.write(opcode, {"cmd": "GET_GUILDS", "nonce": "1"})

    kind, payload = await program.read()
    assert (kind, payload["code"]) == (CLOSE, CloseCode.UNSUPPORTED)
    assert await program.is_closed()


@pytest.mark.parametrize("opcode", [HANDSHAKE, 9])
async def test_a_second_handshake_or_unknown_opcode_closes_the_connection(
    machine: Machine, game: oauth.Client, opcode: int
) -> None:
    program = await machine.connect_program(game.id)

    program.write(opcode, {"v": 1, "client_id": str(game.id)})

    kind, payload = await program.read()
    assert (kind, payload["code"]) == (CLOSE, CloseCode.UNSUPPORTED)
    assert await program.is_closed()


async def test_a_frame_must_hold_json(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)

    program.write(FRAME, b'{"cmd": ' + b"[" * 5000 + b"]" * 5000 + b"}")

    assert await program.read() == (CLOSE, {"code": CloseCode.UNSUPPORTED, "message": "The frame is not valid JSON"})


async def test_a_frame_above_64_kib_closes_the_connection(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)
    long_request = {"cmd": "SET_ACTIVITY", "nonce": "1", "args": {"pid": 1, "note": "x" * 65_000}}
    assert len(json.dumps(long_request)) < 65_536
    program.write(FRAME, long_request)
    assert (await program.read())[1]["nonce"] == "1"

    program._writer.write(HEADER.pack(FRAME, 65_537))

    kind, payload = await program.read()
    assert (kind, payload["code"]) == (CLOSE, CloseCode.UNSUPPORTED)
    assert await program.is_closed()


async def test_a_connection_without_a_handshake_times_out(world: World, new_machine: NewMachine) -> None:
    machine = await new_machine(await world.user(), handshake_timeout_seconds=0.05)
    program = await machine.open_connection()

    kind, payload = await program.read()

    assert (kind, payload["code"]) == (CLOSE, CloseCode.UNSUPPORTED)
    assert await program.is_closed()


async def test_connecting_and_closing_immediately_logs_no_error(
    machine: Machine, game: oauth.Client, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        (await machine.open_connection()).close()

    await machine.connect_program(game.id)

    assert caplog.records == []


async def test_a_ping_is_answered_with_its_payload(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)

    program.write(PING, b'"caf\\u00e9  1"')

    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        opcode, length = HEADER.unpack(await program._reader.readexactly(8))
        assert (opcode, await program._reader.readexactly(length)) == (PONG, b'"caf\\u00e9  1"')


async def test_a_close_frame_with_any_payload_ends_the_connection(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)

    program.write(CLOSE, {"v": 1, "client_id": str(game.id)})

    assert await program.is_closed()


async def test_undecodable_payloads_are_rejected(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)

    for payload in ({"nonce": "1"}, {"cmd": 5, "nonce": "1"}, {"cmd": "GET_USER", "args": [], "nonce": "1"}):
        program.write(FRAME, payload)
        _, payload = await program.read()
        assert (payload["evt"], payload["data"]["code"], payload["nonce"]) == (
            "ERROR",
            RpcErrorCode.INVALID_PAYLOAD,
            "1",
        )
    assert (await program.call_error("DANCE"))[0] == RpcErrorCode.INVALID_COMMAND

    program.write(FRAME, b"{no json")
    kind, payload = await program.read()
    assert (kind, payload["code"]) == (CLOSE, CloseCode.UNSUPPORTED)


async def test_replies_keep_the_order_of_the_requests(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)
    machine.consent.release = asyncio.Event()
    args = {"client_id": str(game.id), "scopes": ["identify"]}

    program.write(FRAME, {"cmd": "AUTHORIZE", "nonce": "first", "args": args})
    program.write(FRAME, {"cmd": "SET_ACTIVITY", "nonce": "second"})
    program.write(PING, {"n": 1})
    assert await program.read() == (PONG, {"n": 1})
    machine.consent.release.set()

    assert [(await program.read())[1]["nonce"] for _ in range(2)] == ["first", "second"]


async def test_too_many_pending_requests_close_the_connection(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)
    machine.consent.release = asyncio.Event()
    args = {"client_id": str(game.id), "scopes": ["identify"]}
    program.write(FRAME, {"cmd": "AUTHORIZE", "nonce": "0", "args": args})

    for number in range(QUEUED_REQUESTS_MAX + 2):
        program.write(FRAME, {"cmd": "SET_ACTIVITY", "nonce": str(number)})

    assert await program.read() == (CLOSE, {"code": CloseCode.RATE_LIMITED, "message": "Too many queued commands"})
    assert await program.is_closed()


async def test_connections_per_application_are_limited(machine: Machine, game: oauth.Client) -> None:
    programs = [await machine.connect_program(game.id) for _ in range(CONNECTIONS_PER_APPLICATION_MAX)]
    extra_program = await machine.open_connection()

    extra_program.write(HANDSHAKE, {"v": 1, "client_id": str(game.id)})

    assert (await extra_program.read())[1]["code"] == CloseCode.RATE_LIMITED
    assert all(program.ready for program in programs)


async def test_a_program_that_does_not_read_is_disconnected(
    machine: Machine, game: oauth.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ipc, "WRITE_BUFFER_BYTES_MAX", 16_384)
    program = await machine.connect_program(game.id)
    program._reader._transport.pause_reading()  # type: ignore[attr-defined]
    body = b'"' + b"x" * 60_000 + b'"'

    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            for _ in range(200):
                program.write(PING, body)
                await program._writer.drain()
            await program._writer.wait_closed()

    assert await machine.connect_program(game.id)


async def test_an_unreachable_platform_is_reported(machine: Machine, game: oauth.Client) -> None:
    program = await machine.open_connection()
    machine.agent.account._core.api.api = "http://127.0.0.1:1/api/v10"  # type: ignore[misc]
    machine.agent.account._core.api.timeout_ms = 100

    program.write(HANDSHAKE, {"v": 1, "client_id": str(game.id)})

    assert await program.read() == (CLOSE, {"code": CloseCode.ABNORMAL, "message": "The platform cannot be reached"})


# Sockets


def test_sockets_are_private_and_have_both_names(tmp_path: Path, store_config: object) -> None:
    sockets = addresses.open_sockets([tmp_path])
    try:
        assert [listening_socket.path.name for listening_socket in sockets] == ["hubbub-ipc-0", "discord-ipc-0"]
        assert {stat.S_IMODE(listening_socket.path.stat().st_mode) for listening_socket in sockets} == {0o600}
    finally:
        addresses.close_sockets(sockets)
    assert list(tmp_path.iterdir()) == []


def test_a_stale_socket_is_replaced_and_a_live_one_kept(tmp_path: Path, store_config: object) -> None:
    with socket.socket(socket.AF_UNIX) as stale_socket:
        stale_socket.bind(str(tmp_path / "discord-ipc-0"))
    with socket.socket(socket.AF_UNIX) as live_socket:
        live_socket.bind(str(tmp_path / "discord-ipc-1"))
        live_socket.listen()

        first_sockets, second_sockets = addresses.open_sockets([tmp_path]), addresses.open_sockets([tmp_path])
        assert {listening_socket.path.name for listening_socket in first_sockets} == {"hubbub-ipc-0", "discord-ipc-0"}
        assert {listening_socket.path.name for listening_socket in second_sockets} == {"hubbub-ipc-2", "discord-ipc-2"}
        with pytest.raises(AddressUnavailable, match="Index 1 is in use"):
            addresses.open_sockets([tmp_path], 1)
        addresses.close_sockets([*first_sockets, *second_sockets])


def test_a_regular_file_is_not_replaced(tmp_path: Path, store_config: object) -> None:
    (tmp_path / "discord-ipc-0").write_text("regular file")

    sockets = addresses.open_sockets([tmp_path])

    assert sockets[0].path.name == "hubbub-ipc-1"
    assert (tmp_path / "discord-ipc-0").read_text() == "regular file"
    addresses.close_sockets(sockets)


def test_the_first_configured_directory_is_used(tmp_path: Path, store_config: object) -> None:
    runtime_directory, temporary_directory = tmp_path / "run", tmp_path / "tmp"
    runtime_directory.mkdir()
    temporary_directory.mkdir()

    assert (
        addresses.require_socket_directories(
            {"XDG_RUNTIME_DIR": str(runtime_directory), "TMPDIR": str(temporary_directory)}
        )[0]
        == runtime_directory
    )
    assert (
        addresses.require_socket_directories({"XDG_RUNTIME_DIR": "", "TMP": str(temporary_directory)})[0]
        == temporary_directory
    )
    user_directory = Path(f"/run/user/{os.getuid()}")
    assert set(addresses.require_socket_directories({"TEMP": str(temporary_directory)})) == {temporary_directory} | (
        {user_directory} if user_directory.is_dir() else set()
    )
    with pytest.raises(AddressUnavailable, match="XDG_RUNTIME_DIR"):
        addresses.require_socket_directories({"XDG_RUNTIME_DIR": str(tmp_path / "nowhere")})


def test_a_program_of_another_user_is_rejected(monkeypatch: pytest.MonkeyPatch, store_config: object) -> None:
    server_end, client_end = socket.socketpair()
    with server_end, client_end:
        assert ipc._peer_pid(server_end) == os.getpid()
        monkeypatch.setattr(os, "getuid", lambda: 4711)
        with pytest.raises(PermissionError):
            ipc._peer_pid(server_end)


def test_frames_are_little_endian(store_config: object) -> None:
    from hubbub.protocol import rpc

    assert rpc.encode_frame(3, "a") == struct.pack("<II", 3, 3) + b'"a"'
