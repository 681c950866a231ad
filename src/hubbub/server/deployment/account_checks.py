"""Checks with a user's token in a temporary guild: upload, CDN ranges and voice packets. The guild is deleted afterwards."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp

from hubbub.media.datagrams import discovery_request, parse_discovery_response
from hubbub.media.rtp import PACKET_BYTES_MAX
from hubbub.protocol.enums import ChannelType, GatewayOpcode
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.deployment.target import (
    CONNECTION_ERRORS,
    REQUEST_TIMEOUT_SECONDS,
    UPLOAD_TIMEOUT_SECONDS,
    DeploymentTarget,
    connection_problem,
)
from hubbub.server.terminal import Finding

TEST_FILE_BYTES: Final = 3 * 1024**2
"""Size of the uploaded file in bytes: above the usual default limit of a proxy, below the default limit of Hubbub."""
TEST_RANGE: Final = (1_000_000, 1_000_999)
"""First and last byte of the range request."""
PACKET_TRIES_MAX: Final = 5
PACKET_TIMEOUT_SECONDS: Final = 1.0
"""Seconds to wait for the response to one packet."""


class AccountChecks:
    """The checks of one deployment that use an account."""

    def __init__(self, target: DeploymentTarget) -> None:
        self._target = target

    async def run(self) -> AsyncIterator[Finding]:
        """Create a guild, run the checks in it, and delete it."""
        try:
            status, guild = await self._target.request("POST", "/guilds", json={"name": "hubbub doctor"})
        except CONNECTION_ERRORS as error:
            yield connection_problem("account", self._target.url, error)
            return
        if status != 201:
            yield Finding(
                "problem",
                "account",
                f"a guild could not be created: {status} {_error_message(guild)}",
                "use the token of a user who may create guilds; bots cannot",
            )
            return
        try:
            async for finding in self._check_in_guild(str(guild["id"])):
                yield finding
        finally:
            status, body = await self._target.request("DELETE", f"/guilds/{guild['id']}")
        if status != 204:
            yield Finding(
                "note",
                "account",
                f"the guild {guild['id']} was not deleted: {_error_message(body)}",
                "delete this guild",
            )

    async def _check_in_guild(self, guild_id: str) -> AsyncIterator[Finding]:
        _, channels = await self._target.request("GET", f"/guilds/{guild_id}/channels")
        text_channel_id, voice_channel_id = (
            next(channel["id"] for channel in channels if channel["type"] == channel_type)
            for channel_type in (ChannelType.GUILD_TEXT, ChannelType.GUILD_VOICE)
        )
        try:
            async for finding in self._check_file(text_channel_id):
                yield finding
        except CONNECTION_ERRORS as error:
            yield connection_problem("upload", self._target.url, error)
        try:
            yield await self._check_voice(guild_id, voice_channel_id)
        except CONNECTION_ERRORS as error:
            yield connection_problem("voice", self._target.url, error)

    async def _check_file(self, channel_id: str) -> AsyncIterator[Finding]:
        content = secrets.token_bytes(TEST_FILE_BYTES)
        form = aiohttp.FormData()
        form.add_field("files[0]", content, filename="probe.bin")
        async with self._target.client.post(
            f"{self._target.api}/channels/{channel_id}/messages",
            data=form,
            headers={"Authorization": self._target.token or ""},
            timeout=aiohttp.ClientTimeout(total=UPLOAD_TIMEOUT_SECONDS),
        ) as response:
            status = response.status
            message = await response.json(content_type=None) if "json" in response.content_type else {}
        if status != 200:
            yield Finding(
                "problem",
                "upload",
                f"a file of 3 MiB was rejected: {status} {_error_message(message)}",
                "check the size limits",
            )
            return
        yield Finding("ok", "upload", "a file of 3 MiB was stored")
        yield await self._check_range(message["attachments"][0]["url"], content)

    async def _check_range(self, url: str, content: bytes) -> Finding:
        if not url.startswith(f"{self._target.url}/"):
            return Finding(
                "problem", "cdn range", f"files are at {url.partition('?')[0]}", f"set --public-url {self._target.url}"
            )
        first_byte, last_byte = TEST_RANGE
        async with self._target.client.get(url, headers={"Range": f"bytes={first_byte}-{last_byte}"}) as response:
            body = await response.read()
            if response.status == 206 and body == content[first_byte : last_byte + 1]:
                return Finding("ok", "cdn range", "serves parts of files")
            return Finding(
                "problem",
                "cdn range",
                f"a range request returned {response.status} with {len(body)} bytes",
                "pass the Range header to Hubbub and disable the proxy's cache for /cdn",
            )

    async def _check_voice(self, guild_id: str, channel_id: str) -> Finding:
        async with (
            asyncio.timeout(2 * REQUEST_TIMEOUT_SECONDS),
            self._target.client.ws_connect(f"{self._target.gateway}?v=10&encoding=json", max_msg_size=0) as gateway,
        ):
            identify_payload: dict[str, Any] = {"token": self._target.token, "intents": 0, "properties": {}}
            await gateway.send_json({"op": GatewayOpcode.IDENTIFY, "d": identify_payload})
            ready_payload = (await _receive_events(gateway, "READY"))["READY"]
            # Join only after GUILD_CREATE: a voice state that it already contains is not sent as an event.
            while (await _receive_events(gateway, "GUILD_CREATE"))["GUILD_CREATE"]["id"] != guild_id:
                pass
            voice_state = {"guild_id": guild_id, "channel_id": channel_id, "self_mute": True, "self_deaf": True}
            await gateway.send_json({"op": GatewayOpcode.VOICE_STATE_UPDATE, "d": voice_state})
            events = await _receive_events(gateway, "VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")
            voice_server = events["VOICE_SERVER_UPDATE"]
            if voice_server["endpoint"] is None:
                return Finding(
                    "note",
                    "voice",
                    "voice is disabled: calls are not possible",
                    "set --voice-certificate-file and --voice-key-file, or --voice-endpoint for a proxy that terminates TLS",
                )
            voice_identify = {
                "server_id": guild_id,
                "user_id": ready_payload["user"]["id"],
                "session_id": events["VOICE_STATE_UPDATE"]["session_id"],
                "token": voice_server["token"],
                "max_dave_protocol_version": 1,
            }
            return await self._check_call(str(voice_server["endpoint"]), voice_identify)

    async def _check_call(self, endpoint: str, identify_payload: dict[str, Any]) -> Finding:
        """Start a voice session and check that packets arrive."""
        url = f"wss://{endpoint}/?v=8"
        try:
            async with self._target.client.ws_connect(url) as voice_gateway:
                await _receive(voice_gateway, VoiceOpcode.HELLO)
                await voice_gateway.send_json({"op": VoiceOpcode.IDENTIFY, "d": identify_payload})
                ready_payload = await _receive(voice_gateway, VoiceOpcode.READY)
                return await check_packets(ready_payload["ip"], ready_payload["port"], ready_payload["ssrc"])
        except aiohttp.WSServerHandshakeError as error:
            return Finding(
                "problem",
                "voice",
                f"the WebSocket upgrade at {url} failed with {error.status}",
                "forward this host to voice.port, with HTTP/1.1, Upgrade and Connection",
            )
        except ConnectionAbortedError as error:
            return Finding(
                "problem", "voice", f"{endpoint} closed the connection: {error}", "see the log of the voice server"
            )
        except (aiohttp.ClientError, OSError) as error:
            return connection_problem("voice", url, error)


async def check_packets(ip: str, port: int, ssrc: int) -> Finding:
    """Send up to `PACKET_TRIES_MAX` address discovery packets to a voice server, and return the finding about its response."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp_socket:
        udp_socket.setblocking(False)
        udp_socket.connect((ip, port))
        for _ in range(PACKET_TRIES_MAX):
            try:
                udp_socket.send(discovery_request(ssrc))
                async with asyncio.timeout(PACKET_TIMEOUT_SECONDS):
                    while True:
                        address = parse_discovery_response(await loop.sock_recv(udp_socket, PACKET_BYTES_MAX), ssrc)
                        if address is not None:
                            return Finding("ok", "voice", f"packets to {ip}:{port} arrive, from {address[0]}")
            except TimeoutError:
                continue
            except OSError:
                # The port is closed.
                break
    return Finding(
        "problem",
        "voice",
        f"no response from UDP {ip}:{port}",
        "open this UDP port in the firewall, and set --voice-public-address to the public IPv4 address",
    )


async def _receive_events(gateway: aiohttp.ClientWebSocketResponse, *names: str) -> dict[str, Any]:
    """Receive payloads until each of these events has arrived, and return their data by name."""
    events: dict[str, Any] = {}
    while not events.keys() >= set(names):
        frame = await gateway.receive()
        if frame.type is not aiohttp.WSMsgType.TEXT:
            raise aiohttp.ClientConnectionError(f"the gateway closed the connection with {gateway.close_code}")
        payload = frame.json()
        if payload["t"] in names:
            events[payload["t"]] = payload["d"]
    return events


async def _receive(voice_gateway: aiohttp.ClientWebSocketResponse, opcode: VoiceOpcode) -> Any:
    """Receive messages of the voice gateway until one has the opcode, and return its data."""
    while True:
        frame = await voice_gateway.receive()
        if frame.type is aiohttp.WSMsgType.BINARY:
            continue
        if frame.type is not aiohttp.WSMsgType.TEXT:
            raise ConnectionAbortedError(f"code {voice_gateway.close_code}")
        payload = frame.json()
        if payload["op"] == opcode:
            return payload["d"]


def _error_message(body: Any) -> str:
    """Return the message of an error body, or an empty string."""
    return str(body.get("message", "")) if isinstance(body, dict) else ""
