"""Files: reading back whole files and ranges, rejection of invalid keys, and URLs of stores."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from obstore.store import S3Store

from hubbub.server.core.files import FileInfo, Files, FileStoreError, InvalidKeyError
from tests.fixtures.s3 import Bucket, needs_s3


@pytest.fixture(params=["folder", "file", "memory", pytest.param("s3", marks=needs_s3)])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """An empty file store of each kind."""
    urls: dict[str, Callable[[], str]] = {
        "folder": lambda: str(tmp_path / "new" / "store"),
        "file": lambda: (tmp_path / "with space").as_uri(),
        "memory": lambda: "memory://",
        "s3": lambda: request.getfixturevalue("s3_bucket").files_url("platform/one"),
    }
    return Files(urls[request.param]())


async def test_a_file_can_be_read_back(files: Files) -> None:
    await files.put("attachments/1/2/cät (1).png", b"\x89PNG", "image/png")
    assert await files.get("attachments/1/2/cät (1).png") == b"\x89PNG"
    assert await files.exists("attachments/1/2/cät (1).png")
    assert await files.find_info("attachments/1/2/cät (1).png") == FileInfo(size=4, content_type="image/png")


async def test_the_keys_of_all_files_are_listed(files: Files, tmp_path: Path) -> None:
    assert [key async for key in files.list_keys()] == []
    for key in ("attachments/1", "images/a b.png", "top"):
        await files.put(key, b"content")
    # A file that another program stored, whose name is not a valid key.
    for folder in (tmp_path / "new" / "store", tmp_path / "with space"):
        if folder.is_dir():
            (folder / "note~").write_text("")
    assert sorted([key async for key in files.list_keys()]) == ["attachments/1", "images/a b.png", "top"]


async def test_an_empty_file_is_a_file(files: Files) -> None:
    await files.put("empty", b"", "text/plain")
    assert await files.get("empty") == b""
    assert await files.exists("empty")


async def test_a_second_put_replaces_the_first(files: Files) -> None:
    await files.put("a/b", b"long content")
    await files.put("a/b", b"short")
    assert await files.get("a/b") == b"short"


async def test_a_large_file_is_streamed_in_chunks_and_ranges(files: Files) -> None:
    data = bytes(range(256)) * 16_384
    await files.put("large.bin", data)
    chunks = [chunk async for chunk in await files.stream("large.bin")]
    assert b"".join(chunks) == data
    range_chunks = [chunk async for chunk in await files.stream("large.bin", start=100, end=300_000)]
    assert b"".join(range_chunks) == data[100:300_000]
    tail_chunks = [chunk async for chunk in await files.stream("large.bin", start=4_000_000)]
    assert b"".join(tail_chunks) == data[4_000_000:]


async def test_a_file_of_several_parts_is_stored_whole(files: Files) -> None:
    data = bytes(range(256)) * 60_000
    await files.put("very-large.webm", data, "video/webm")
    assert await files.find_info("very-large.webm") == FileInfo(size=len(data), content_type="video/webm")
    range_chunks = [chunk async for chunk in await files.stream("very-large.webm", start=5_000_000, end=11_000_000)]
    assert b"".join(range_chunks) == data[5_000_000:11_000_000]
    assert [key async for key in files.list_keys()] == ["very-large.webm"]
    await files.delete("very-large.webm")
    assert [key async for key in files.list_keys()] == []


async def test_a_missing_file_raises_before_anything_is_read(files: Files) -> None:
    with pytest.raises(FileNotFoundError):
        await files.get("no/such")
    with pytest.raises(FileNotFoundError):
        await files.stream("no/such")
    assert not await files.exists("no/such")
    assert await files.find_info("no/such") is None


async def test_deleting_a_file_is_idempotent(files: Files) -> None:
    await files.put("a/b", b"1")
    await files.delete("a/b")
    assert not await files.exists("a/b")
    await files.delete("a/b")


@pytest.mark.parametrize(
    "key",
    ["", "/etc/passwd", "../x", "a/../../x", "a/./b", "a//b", "a/", "..", ".", "a\\..\\b", "a\x00b", "a\nb", "a#1",
     "c:x", "a%2e%2e/b", "x" * 256, "a/" * 600 + "b", "a\ud800"],
)  # fmt: skip
async def test_an_invalid_key_is_rejected_by_every_method(files: Files, key: str) -> None:
    with pytest.raises(InvalidKeyError):
        await files.put(key, b"")
    with pytest.raises(InvalidKeyError):
        await files.get(key)
    with pytest.raises(InvalidKeyError):
        await files.stream(key)
    with pytest.raises(InvalidKeyError):
        await files.delete(key)
    with pytest.raises(InvalidKeyError):
        await files.exists(key)


async def test_readers_of_a_local_file_never_see_a_partial_write(tmp_path: Path) -> None:
    files = Files(str(tmp_path))
    versions = [bytes([number]) * 1_000_000 for number in range(8)]
    await files.put("file", versions[0])
    first_and_last_bytes: set[bytes] = set()

    async def read() -> None:
        for _ in range(20):
            data = await files.get("file")
            assert len(data) == 1_000_000
            first_and_last_bytes.add(data[:1] + data[-1:])

    async def write() -> None:
        for version in versions:
            await files.put("file", version)

    await asyncio.gather(read(), write(), read())
    assert all(pair[0] == pair[1] for pair in first_and_last_bytes)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_processes_that_start_together_share_a_new_folder(tmp_path: Path) -> None:
    for attempt in range(50):
        barrier = threading.Barrier(4)

        def open_folder(url: str = str(tmp_path / f"store-{attempt}"), barrier: threading.Barrier = barrier) -> Files:
            barrier.wait()
            return Files(url)

        with ThreadPoolExecutor(4) as pool:
            open_results = [pool.submit(open_folder) for _ in range(4)]
        assert all(future.exception() is None for future in open_results)


def test_a_url_with_an_unknown_scheme_is_rejected() -> None:
    with pytest.raises(ValueError, match="ftp"):
        Files("ftp://example.org/x")


def test_an_s3_url_sets_bucket_prefix_endpoint_region_and_credentials() -> None:
    files = Files("s3://key:sec%2Fret@bucket/prefix/below?endpoint=http://127.0.0.1:9000&region=eu-1")

    store = files._store
    assert isinstance(store, S3Store)
    assert store.prefix == "prefix/below"
    assert store.config == {
        "bucket": "bucket",
        "endpoint": "http://127.0.0.1:9000",
        "region": "eu-1",
        "access_key_id": "key",
        "secret_access_key": "sec/ret",
        "virtual_hosted_style_request": "false",
    }
    assert store.client_options == {"allow_http": "true"}


@needs_s3
async def test_a_wrong_secret_of_s3_is_rejected(s3_bucket: Bucket) -> None:
    files = Files(s3_bucket.files_url(secret="secret/with+other"))

    with pytest.raises(FileStoreError, match="SignatureDoesNotMatch"):
        await files.put("a", b"content")
    with pytest.raises(FileStoreError, match="SignatureDoesNotMatch"):
        await files.get("a")

    assert s3_bucket.list_keys() == []


@needs_s3
async def test_a_missing_bucket_is_not_a_missing_file(s3_bucket: Bucket) -> None:
    files = Files(s3_bucket._replace(name="no-such-bucket").files_url())

    with pytest.raises(FileStoreError, match="the bucket no-such-bucket does not exist"):
        await files.put("a", b"content")
    with pytest.raises(FileStoreError, match="the bucket no-such-bucket does not exist"):
        await files.get("a")
    with pytest.raises(FileStoreError, match="the bucket no-such-bucket does not exist"):
        await files.stream("a")
    with pytest.raises(FileStoreError, match="the bucket no-such-bucket does not exist"):
        await files.delete("a")
    with pytest.raises(FileStoreError, match="the bucket no-such-bucket does not exist"):
        [key async for key in files.list_keys()]


def test_an_s3_url_without_options_uses_the_defaults() -> None:
    store = Files("s3://bucket")._store

    assert isinstance(store, S3Store)
    assert store.prefix is None
    assert store.config == {"bucket": "bucket", "region": "us-east-1"}
    assert not store.client_options
