"""Compressed streams, which share compressed blocks between sessions, and compression of single payloads."""

import json
import random
import zlib

import pytest
import zstandard

from hubbub.server.transports.gateway.compression import BlockCompressor, Compression, encode_message
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.zstd import zstd
from tests.server.transports.gateway.harness import PUBLIC_CHANNEL_ID, GatewayPlatform, sample_guild

HELLO_PAYLOAD = b'{"t":null,"s":null,"op":10,"d":{"heartbeat_interval":41250}}'
BINARY_FRAME = 0x82
"""First byte of an unfragmented binary WebSocket frame."""


def frame_payload(frame: bytes) -> bytes:
    """Return the payload of a WebSocket frame."""
    length = frame[1]
    payload_start = 2 if length < 126 else 4 if length == 126 else 10
    payload_bytes = length if length < 126 else int.from_bytes(frame[2:payload_start], "big")
    assert len(frame) == payload_start + payload_bytes
    return frame[payload_start:]


def random_bodies(seed: int, count: int) -> list[bytes]:
    """Generate bodies of many sizes with much repetition in and between them."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefgh ", k=rng.randint(1, 12))) for _ in range(300)]
    sizes = [0, 1, 5, 20, 100, 700, 4000] + [30_000] * (seed == 0)
    return [
        json.dumps({"x": " ".join(rng.choices(words, k=rng.choice(sizes))), "n": rng.random()}).encode()
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_every_message_of_a_stream_decodes_to_its_payload(seed: int) -> None:
    compressor = BlockCompressor()
    zlib_decompressor = zlib.decompressobj()
    zstd_decompressors = [zstandard.ZstdDecompressor().decompressobj(), zstd.ZstdDecompressor()]
    assert (
        zlib_decompressor.decompress(
            frame_payload(encode_message(Compression.ZLIB_STREAM, HELLO_PAYLOAD, starts_stream=True))
        )
        == HELLO_PAYLOAD
    )
    for decompressor in zstd_decompressors:
        assert (
            decompressor.decompress(
                frame_payload(encode_message(Compression.ZSTD_STREAM, HELLO_PAYLOAD, starts_stream=True))
            )
            == HELLO_PAYLOAD
        )
    for seq, body in enumerate(random_bodies(seed, 120), start=97):
        packet = Packet("MESSAGE_CREATE", body, compressor)
        expected = {"t": "MESSAGE_CREATE", "s": seq, "op": 0, "d": json.loads(body)}
        deflated_payload = frame_payload(packet.template(Compression.ZLIB_STREAM).frame(seq))
        assert deflated_payload.endswith(b"\x00\x00\xff\xff")
        assert json.loads(zlib_decompressor.decompress(deflated_payload)) == expected
        for decompressor in zstd_decompressors:
            assert (
                json.loads(decompressor.decompress(frame_payload(packet.template(Compression.ZSTD_STREAM).frame(seq))))
                == expected
            )
        assert json.loads(frame_payload(packet.template(Compression.NONE).frame(seq))) == expected
        frame = packet.template(Compression.PAYLOAD).frame(seq)
        text = zlib.decompress(frame_payload(frame)) if frame[0] == BINARY_FRAME else frame_payload(frame)
        assert json.loads(text) == expected
        for compression, decompressor in (
            (Compression.ZLIB_STREAM, zlib_decompressor),
            *((Compression.ZSTD_STREAM, decompressor) for decompressor in zstd_decompressors),
        ):
            assert decompressor.decompress(frame_payload(encode_message(compression, HELLO_PAYLOAD))) == HELLO_PAYLOAD


def test_streams_that_start_at_different_times_share_the_same_bytes() -> None:
    compressor = BlockCompressor()
    packets = [Packet("X", body, compressor) for body in random_bodies(5, 50)]
    for compression, new_decompressor in (
        (Compression.ZLIB_STREAM, zlib.decompressobj),
        (Compression.ZSTD_STREAM, zstd.ZstdDecompressor),
    ):
        for start in (0, 10, 49):
            decompressor = new_decompressor()
            decompressor.decompress(frame_payload(encode_message(compression, HELLO_PAYLOAD, starts_stream=True)))
            for seq, packet in enumerate(packets[start:], start=1):
                assert (
                    json.loads(decompressor.decompress(frame_payload(packet.template(compression).frame(seq))))["s"]
                    == seq
                )


def test_large_bodies_become_smaller() -> None:
    packet = Packet("X", json.dumps({"x": "hello world " * 500}).encode(), BlockCompressor())
    for compression in (Compression.PAYLOAD, Compression.ZLIB_STREAM, Compression.ZSTD_STREAM):
        assert len(packet.template(compression).frame(1)) < packet.size / 10


@pytest.mark.parametrize("compress", ["", "zlib-stream", "zstd-stream"])
async def test_sessions_of_every_compression_receive_the_same_events(platform: GatewayPlatform, compress: str) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    # discord.py requests payload compression together with zlib-stream; it then has no effect.
    client = await platform.start_session(platform.create_bot(user_id=5), compress, compress=True)
    for size in (1, 200, 5000, 100_000):
        await platform.publish_message(PUBLIC_CHANNEL_ID, "word " * size)
    await client.wait_processed()
    assert [len(payload["d"]["content"]) // 5 for payload in client.dispatches] == [1, 200, 5000, 100_000]


async def test_payload_compression_leaves_small_messages_as_text(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5), compress=True)
    await platform.publish_message(PUBLIC_CHANNEL_ID, "small")
    await platform.publish_message(PUBLIC_CHANNEL_ID, "large " * 500)
    small_frame, large_frame = await client.socket.receive(), await client.socket.receive()
    assert (small_frame.type.name, large_frame.type.name) == ("TEXT", "BINARY")
    assert json.loads(zlib.decompress(large_frame.data))["d"]["content"].startswith("large")
