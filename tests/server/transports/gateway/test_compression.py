"""Compressed streams, which are built from pieces shared by all sessions."""

import json
import random
import zlib

import pytest
import zstandard
from backports import zstd

from hubbub.server.transports.gateway.compression import BlockCompressor, Compression, encode_message
from hubbub.server.transports.gateway.packets import Packet
from tests.server.transports.gateway.harness import Platform, sample_guild

HELLO = b'{"t":null,"s":null,"op":10,"d":{"heartbeat_interval":41250}}'


def payload(frame: bytes) -> bytes:
    """Return the payload of a WebSocket frame."""
    length = frame[1]
    start = 2 if length < 126 else 4 if length == 126 else 10
    size = length if length < 126 else int.from_bytes(frame[2:start], "big")
    assert len(frame) == start + size
    return frame[start:]


def bodies(seed: int, count: int) -> list[bytes]:
    """Generate bodies of all sizes with much repetition in and between them."""
    source = random.Random(seed)
    words = ["".join(source.choices("abcdefgh ", k=source.randint(1, 12))) for _ in range(300)]
    sizes = [0, 1, 5, 20, 100, 700, 4000] + [30_000] * (seed == 0)
    return [
        json.dumps({"x": " ".join(source.choices(words, k=source.choice(sizes))), "n": source.random()}).encode()
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_every_message_of_a_stream_decodes_to_its_payload(seed: int) -> None:
    deflater = BlockCompressor()
    inflate = zlib.decompressobj()
    streams = [zstandard.ZstdDecompressor().decompressobj(), zstd.ZstdDecompressor()]
    assert inflate.decompress(payload(encode_message(Compression.ZLIB_STREAM, HELLO, starts_stream=True))) == HELLO
    for stream in streams:
        assert stream.decompress(payload(encode_message(Compression.ZSTD_STREAM, HELLO, starts_stream=True))) == HELLO
    for seq, body in enumerate(bodies(seed, 120), start=97):
        packet = Packet("MESSAGE_CREATE", body, deflater)
        expected = {"t": "MESSAGE_CREATE", "s": seq, "op": 0, "d": json.loads(body)}
        deflated = payload(packet.template(Compression.ZLIB_STREAM).frame(seq))
        assert deflated.endswith(b"\x00\x00\xff\xff")
        assert json.loads(inflate.decompress(deflated)) == expected
        for stream in streams:
            assert (
                json.loads(stream.decompress(payload(packet.template(Compression.ZSTD_STREAM).frame(seq)))) == expected
            )
        assert json.loads(payload(packet.template(Compression.NONE).frame(seq))) == expected
        frame = packet.template(Compression.PAYLOAD).frame(seq)
        text = zlib.decompress(payload(frame)) if frame[0] == 0x82 else payload(frame)
        assert json.loads(text) == expected
        for kind, decompressor in ((Compression.ZLIB_STREAM, inflate), (Compression.ZSTD_STREAM, streams[0])):
            assert decompressor.decompress(payload(encode_message(kind, HELLO))) == HELLO
        streams[1].decompress(payload(encode_message(Compression.ZSTD_STREAM, HELLO)))


def test_streams_that_start_at_different_times_share_the_same_bytes() -> None:
    deflater = BlockCompressor()
    packets = [Packet("X", body, deflater) for body in bodies(5, 50)]
    for kind, make in ((Compression.ZLIB_STREAM, zlib.decompressobj), (Compression.ZSTD_STREAM, zstd.ZstdDecompressor)):
        for start in (0, 10, 49):
            stream = make()
            stream.decompress(payload(encode_message(kind, HELLO, starts_stream=True)))
            for seq, packet in enumerate(packets[start:], start=1):
                assert json.loads(stream.decompress(payload(packet.template(kind).frame(seq))))["s"] == seq


def test_large_bodies_become_smaller() -> None:
    packet = Packet("X", json.dumps({"x": "hello world " * 500}).encode(), BlockCompressor())
    for kind in (Compression.PAYLOAD, Compression.ZLIB_STREAM, Compression.ZSTD_STREAM):
        assert len(packet.template(kind).frame(1)) < packet.size / 10


@pytest.mark.parametrize("compress", ["", "zlib-stream", "zstd-stream"])
async def test_sessions_of_every_compression_receive_the_same_events(platform: Platform, compress: str) -> None:
    await platform.guild(sample_guild(), {5: []})
    # discord.py requests payload compression together with zlib-stream; it then has no effect.
    client = await platform.session(platform.bot(5), compress, compress=True)
    for size in (1, 200, 5000, 100_000):
        await platform.message(10, "word " * size)
    await client.fence()
    assert [len(p["d"]["content"]) // 5 for p in client.received] == [1, 200, 5000, 100_000]


async def test_payload_compression_leaves_small_messages_as_text(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    client = await platform.session(platform.bot(5), compress=True)
    await platform.message(10, "small")
    await platform.message(10, "large " * 500)
    small, large = await client.socket.receive(), await client.socket.receive()
    assert (small.type.name, large.type.name) == ("TEXT", "BINARY")
    assert json.loads(zlib.decompress(large.data))["d"]["content"].startswith("large")
