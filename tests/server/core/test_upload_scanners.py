"""Scanners of uploads: the hash list, clamd and scanners of other packages."""

import asyncio
import contextlib
import hashlib
import os
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import ConfigError, load
from hubbub.server.core.config_sections import ScanningConfig
from hubbub.server.core.upload_scanners import Clamd, ScannerUnavailable, UploadedContent
from tests.fixtures.programs import find_program
from tests.fixtures.validator import ResponseMonitor
from tests.media import data_uri, png
from tests.server.identity.operators import create_operator
from tests.world import NOW_MS, WAIT_TIMEOUT_SECONDS, Actor, ApiResponse, World, small_config

FORBIDDEN_CONTENT = b"a file that the tests forbid"
ALLOWED_CONTENT = b"another file"
POLL_SECONDS = 0.05


class RefusingScanner:
    """A scanner of another package, which finds files whose name contains `bad`."""

    name = "refusing"

    async def scan(self, content: UploadedContent) -> str | None:
        return "bad name" if "bad" in content.filename else None


class StuckScanner:
    """A scanner that never responds."""

    name = "stuck"

    async def scan(self, content: UploadedContent) -> str | None:
        await asyncio.Event().wait()
        return None


def hash_line(data: bytes, note: str = "") -> str:
    """Return a line of a hash list."""
    return f"{hashlib.sha256(data).hexdigest()} {note}\n"


@contextlib.asynccontextmanager
async def run_world(scanning: ScanningConfig) -> AsyncIterator[World]:
    """Run a server with scanners."""
    app = App(small_config(scanning=scanning), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            yield World(app, client)
    finally:
        await app.stop()


async def send_files(user: Actor, channel_id: int, *contents: bytes, name: str = "a.bin") -> ApiResponse:
    """Send a message with files."""
    form = aiohttp.FormData()
    for index, content in enumerate(contents):
        form.add_field(f"files[{index}]", content, filename=name, content_type="application/octet-stream")
    return await user.post(f"/channels/{channel_id}/messages", data=form)


async def test_a_file_of_the_hash_list_is_rejected_and_recorded(
    tmp_path: Path, response_monitor: ResponseMonitor
) -> None:
    path = tmp_path / "hashes.txt"
    path.write_text("# Forbidden files\n\n" + hash_line(FORBIDDEN_CONTENT, "from a list"))
    async with run_world(ScanningConfig(hash_file=str(path))) as world:
        ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
        guild = await world.guild()

        response = await send_files(guild.owner, guild.general, ALLOWED_CONTENT, FORBIDDEN_CONTENT)

        assert response.errors("files.1") == ["FILE_REJECTED"]
        assert (await guild.owner.get(f"/channels/{guild.general}/messages")).ok() == []
        (await send_files(guild.owner, guild.general, ALLOWED_CONTENT)).ok()
        [audit_entry] = (await ann.get("/admin/audit-log", params={"target_id": str(guild.owner.id)})).ok()
        assert (audit_entry["action"], audit_entry["operator_id"], audit_entry["target_name"]) == (
            "upload.reject",
            None,
            guild.owner.name,
        )
        assert audit_entry["detail"].startswith("a.bin (28 bytes): hash list found ")


async def test_images_of_profiles_are_scanned(tmp_path: Path, response_monitor: ResponseMonitor) -> None:
    path = tmp_path / "hashes.txt"
    path.write_text(hash_line(png()))
    async with run_world(ScanningConfig(hash_file=str(path))) as world:
        alice = await world.user("alice")

        response = await alice.patch("/users/@me", json={"avatar": data_uri(png())})

        assert response.errors("avatar") == ["FILE_REJECTED"]


async def test_the_hash_list_is_read_again_after_a_change(tmp_path: Path, response_monitor: ResponseMonitor) -> None:
    path = tmp_path / "hashes.txt"
    path.write_text("")
    async with run_world(ScanningConfig(hash_file=str(path))) as world:
        guild = await world.guild()
        (await send_files(guild.owner, guild.general, FORBIDDEN_CONTENT)).ok()

        path.write_text(hash_line(FORBIDDEN_CONTENT))

        assert (await send_files(guild.owner, guild.general, FORBIDDEN_CONTENT)).errors("files.0") == ["FILE_REJECTED"]
        path.unlink()
        (await send_files(guild.owner, guild.general, ALLOWED_CONTENT)).rejected(503, 0)


async def test_a_scanner_of_another_package_rejects_files(response_monitor: ResponseMonitor) -> None:
    async with run_world(ScanningConfig(scanner=f"{__name__}:RefusingScanner")) as world:
        guild = await world.guild()

        assert (await send_files(guild.owner, guild.general, ALLOWED_CONTENT, name="bad.txt")).errors("files.0")
        (await send_files(guild.owner, guild.general, ALLOWED_CONTENT, name="good.txt")).ok()


@pytest.mark.parametrize(("setting", "status"), [("reject", 503), ("accept", 200)])
async def test_a_scanner_that_does_not_respond_is_bounded(
    setting: str, status: int, response_monitor: ResponseMonitor
) -> None:
    config = ScanningConfig(scanner=f"{__name__}:StuckScanner", timeout_ms=1, when_unavailable=setting)  # type: ignore[arg-type]
    async with run_world(config) as world:
        guild = await world.guild()

        response = await send_files(guild.owner, guild.general, ALLOWED_CONTENT)

        assert response.status == status
        if status == 503:
            assert b"Try again later" in response.body
            assert (await guild.send_message(guild.owner, "text needs no scanner"))["content"]


def test_invalid_settings_are_reported(tmp_path: Path) -> None:
    broken_path = tmp_path / "broken.txt"
    broken_path.write_text("no hash\n")
    for scanning_config, problem in (
        (ScanningConfig(hash_file=str(tmp_path / "missing.txt")), "cannot be read"),
        (ScanningConfig(hash_file=str(broken_path)), "line 1"),
        (ScanningConfig(scanner="no_such_module:Scanner"), "cannot be loaded"),
        (ScanningConfig(scanner="os:getcwd"), "has no scan method"),
        (ScanningConfig(scanner="os"), "must be module:name"),
    ):
        with pytest.raises(ConfigError, match=problem):
            App(small_config(scanning=scanning_config))
    for url in ("http://127.0.0.1", "unix://", "tcp://"):
        with pytest.raises(ConfigError, match="tcp:// or unix://"):
            load(environ={"HUBBUB_SCANNING_CLAMD_URL": url})


# clamd


@contextlib.asynccontextmanager
async def run_protocol_server(path: Path, response: bytes, *, closes_early: bool = False) -> AsyncIterator[list[bytes]]:
    """Run a server that speaks the protocol of clamd and records the received files."""
    received: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readuntil(b"\0") == b"zINSTREAM\0"
        content = b""
        while not closes_early and (chunk_bytes := struct.unpack("!L", await reader.readexactly(4))[0]):
            content += await reader.readexactly(chunk_bytes)
        received.append(content)
        writer.write(response)
        await writer.drain()
        writer.close()

    async with await asyncio.start_unix_server(handle, str(path)):
        yield received


async def scan(scanner: Clamd, data: bytes) -> str | None:
    """Scan content without a name."""
    return await scanner.scan(UploadedContent(filename="", content_type="", data=data))


async def test_a_file_is_sent_to_clamd_in_chunks(tmp_path: Path) -> None:
    data = os.urandom(700_000)
    scanner = Clamd(f"unix://{tmp_path}/clamd.sock")

    async with run_protocol_server(tmp_path / "clamd.sock", b"stream: OK\0") as received:
        assert await scan(scanner, data) is None
        assert await scan(scanner, b"") is None
    assert received == [data, b""]


async def test_responses_of_clamd_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "clamd.sock"
    scanner = Clamd(f"unix://{path}")

    async with run_protocol_server(path, b"stream: Eicar-Signature FOUND\0"):
        assert await scan(scanner, b"x") == "Eicar-Signature"
    path.unlink(missing_ok=True)
    async with run_protocol_server(path, b"INSTREAM size limit exceeded. ERROR\0", closes_early=True):
        with pytest.raises((ScannerUnavailable, ConnectionError)):
            await scan(scanner, os.urandom(3_000_000))
    path.unlink(missing_ok=True)
    with pytest.raises(OSError):
        await scan(scanner, b"x")


@contextlib.asynccontextmanager
async def run_clamd(folder: Path) -> AsyncIterator[str]:
    """Run ClamAV's daemon with one signature, and yield its URL."""
    program = find_program("clamd")
    assert program is not None
    database, socket_path, config = folder / "database", folder / "clamd.sock", folder / "clamd.conf"
    database.mkdir()
    signature = (
        f"{hashlib.md5(FORBIDDEN_CONTENT, usedforsecurity=False).hexdigest()}:{len(FORBIDDEN_CONTENT)}:Hubbub.Test\n"
    )
    (database / "test.hdb").write_text(signature)
    config.write_text(f"Foreground yes\nLocalSocket {socket_path}\nDatabaseDirectory {database}\nStreamMaxLength 1M\n")
    process = await asyncio.create_subprocess_exec(
        program, f"--config-file={config}", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(4 * WAIT_TIMEOUT_SECONDS):
            while not socket_path.exists():
                assert process.returncode is None
                await asyncio.wait([asyncio.ensure_future(process.wait())], timeout=POLL_SECONDS)
        yield f"unix://{socket_path}"
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.program("clamd")
async def test_the_daemon_of_clamav_rejects_a_file_with_a_signature(
    tmp_path: Path, response_monitor: ResponseMonitor
) -> None:
    async with run_clamd(tmp_path) as url, run_world(ScanningConfig(clamd_url=url)) as world:
        ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
        guild = await world.guild()

        assert (await send_files(guild.owner, guild.general, FORBIDDEN_CONTENT)).errors("files.0") == ["FILE_REJECTED"]

        (await send_files(guild.owner, guild.general, ALLOWED_CONTENT)).ok()
        [audit_entry] = (await ann.get("/admin/audit-log", params={"target_id": str(guild.owner.id)})).ok()
        assert audit_entry["detail"] == "a.bin (28 bytes): clamd found Hubbub.Test.UNOFFICIAL"
        (await send_files(guild.owner, guild.general, os.urandom(2_000_000))).rejected(503, 0)
