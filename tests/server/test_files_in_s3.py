"""A server with its files in an S3-compatible store: uploads, ranges, an outage of the store, wrong settings."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hubbub.server import cli
from tests.contract.shell import choose_free_port
from tests.fixtures.s3 import Bucket, S3Server, needs_s3
from tests.journeys.processes import ApiUser, create_guild, register_user, running_server

pytestmark = [needs_s3, pytest.mark.xdist_group("s3")]

CONTENT = bytes(range(256)) * 30_000
"""Content of an upload: more than a part of an upload to S3 (5 MiB)."""


async def upload_file(user: ApiUser, channel_id: str) -> Any:
    """Send a message with a file and return the response."""
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"content": "with a file"}))
    form.add_field("files[0]", CONTENT, filename="film.bin")
    return await user.request("POST", f"/channels/{channel_id}/messages", data=form)


async def test_files_are_uploaded_and_read_in_ranges(s3_bucket: Bucket, tmp_path: Path) -> None:
    flags = ["--data", str(tmp_path / "data"), "--files-url", s3_bucket.files_url("chat")]
    async with running_server(tmp_path, "serve", *flags) as server, aiohttp.ClientSession() as client:
        alice = await register_user(client, server, "alice")
        _, channel_id, _ = await create_guild(alice)
        [attachment] = (await upload_file(alice, channel_id)).ok()["attachments"]
        assert s3_bucket.list_keys() == [f"chat/attachments/{attachment['id']}"]

        async with client.get(attachment["url"], headers={"Range": "bytes=5242870-5242889"}) as response:
            assert (response.status, await response.read()) == (206, CONTENT[5242870:5242890])
            assert response.headers["Content-Range"] == f"bytes 5242870-5242889/{len(CONTENT)}"
        async with client.get(attachment["url"]) as response:
            assert await response.read() == CONTENT


async def test_an_outage_of_the_store_affects_files_only_and_ends_without_a_restart(
    s3_server: S3Server, s3_bucket: Bucket, tmp_path: Path
) -> None:
    flags = ["--data", str(tmp_path / "data"), "--files-url", s3_bucket.files_url()]
    async with running_server(tmp_path, "serve", *flags) as server, aiohttp.ClientSession() as client:
        alice = await register_user(client, server, "alice")
        _, channel_id, _ = await create_guild(alice)
        [attachment] = (await upload_file(alice, channel_id)).ok()["attachments"]

        s3_server.stop()
        try:
            rejected_response = await upload_file(alice, channel_id)
            assert rejected_response.status == 503
            assert json.loads(rejected_response.body) == {
                "message": "Files cannot be stored at the moment. Try again later.",
                "code": 0,
            }
            async with client.get(attachment["url"]) as response:
                assert response.status == 503
            await alice.create_message(channel_id, "text")
        finally:
            await asyncio.to_thread(s3_server.start)

        async with client.get(attachment["url"]) as response:
            assert await response.read() == CONTENT
        (await upload_file(alice, channel_id)).ok()
        messages = (await alice.get(f"/channels/{channel_id}/messages")).ok()
        assert [message["content"] for message in messages] == ["with a file", "text", "with a file"]
        log = server.log_text()
    assert "The file store failed" in log
    assert "Traceback" not in log


@pytest.mark.parametrize(
    ("secret", "name", "problem"),
    [("wrong", None, "403 Forbidden"), (None, "no-such-bucket", "the bucket no-such-bucket does not exist")],
    ids=["wrong secret", "missing bucket"],
)
async def test_wrong_settings_are_named_by_the_doctor_and_in_the_log(
    s3_bucket: Bucket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    secret: str | None,
    name: str | None,
    problem: str,
) -> None:
    bucket = s3_bucket if name is None else s3_bucket._replace(name=name)
    url = bucket.files_url() if secret is None else bucket.files_url(secret=secret)
    flags = ["--data", str(tmp_path / "data"), "--files-url", url]

    assert await asyncio.to_thread(cli.main, ["doctor", "--port", "0", *flags]) == 1
    output = capsys.readouterr().out
    assert problem in output
    assert "-> check --files-url and its permissions" in output

    async with running_server(tmp_path, "serve", *flags) as server, aiohttp.ClientSession() as client:
        await server.wait_logged("Files cannot be stored: ")
        assert problem in server.log_text()
        alice = await register_user(client, server, "alice")
        guild_id, channel_id, _ = await create_guild(alice)
        assert (await upload_file(alice, channel_id)).status == 503
        assert problem in server.log_text()
        assert "Traceback" not in server.log_text()

    # The guild has no files, so its export needs no store.
    archive = str(tmp_path / "guild.zip")
    assert await asyncio.to_thread(cli.main, ["export", guild_id, "--output", archive, *flags]) == 0
    assert s3_bucket.list_keys() == []


async def test_an_unreachable_endpoint_is_named_by_the_doctor_and_after_the_start(
    s3_bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket = s3_bucket._replace(endpoint=f"http://127.0.0.1:{choose_free_port()}")
    flags = ["--data", str(tmp_path / "data"), "--files-url", bucket.files_url(secret="hush-hush")]

    async with running_server(tmp_path, "serve", *flags) as server, aiohttp.ClientSession() as client:
        await server.wait_logged("Files cannot be stored: ")
        # Everything else works.
        await create_guild(await register_user(client, server, "alice"))
        log = server.log_text()
    assert await asyncio.to_thread(cli.main, ["doctor", "--port", "0", *flags]) == 1
    output = capsys.readouterr().out

    assert "uploads fail until this is corrected. Check --files-url, or run hubbub doctor" in log
    assert "-> check --files-url and its permissions" in output
    assert "hush-hush" not in log + output
