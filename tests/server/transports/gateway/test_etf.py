"""ETF: the codec alone, compressed streams, and gateway connections with each compression."""

import json
import math
import struct
import zlib
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.server.transports.gateway import etf
from hubbub.server.transports.gateway.compression import (
    BlockCompressor,
    Compression,
    Encoding,
    encode_message,
    template_index,
)
from hubbub.server.transports.gateway.packets import Packet
from tests.server.transports.gateway.harness import PUBLIC_CHANNEL_ID, GatewayPlatform, sample_guild
from tests.server.transports.gateway.test_compression import frame_payload, random_bodies

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda values: st.lists(values, max_size=5) | st.dictionaries(st.text(), values, max_size=5),
    max_leaves=30,
)


@given(JSON_VALUES)
def test_every_json_value_is_decoded_as_it_was_encoded(value: Any) -> None:
    decoded = etf.decode(etf.encode(value))
    assert decoded == value
    assert json.dumps(decoded) == json.dumps(value)


@given(st.binary(max_size=400).map(lambda data: bytes((etf.VERSION,)) + data))
def test_any_bytes_are_decoded_or_rejected(data: bytes) -> None:
    try:
        value = etf.decode(data)
    except etf.EtfError:
        return
    json.dumps(value, allow_nan=False)


@given(JSON_VALUES, st.data())
def test_a_changed_byte_is_decoded_or_rejected(value: Any, data: st.DataObject) -> None:
    encoded = bytearray(etf.encode(value))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    try:
        json.dumps(etf.decode(bytes(encoded)), allow_nan=False)
    except etf.EtfError:
        pass


@given(JSON_VALUES, st.data())
def test_an_incomplete_term_is_rejected(value: Any, data: st.DataObject) -> None:
    encoded = etf.encode(value)
    with pytest.raises(etf.EtfError):
        etf.decode(encoded[: data.draw(st.integers(0, len(encoded) - 1))])


# Terms that Erlang and Elixir send, written out from the specification of the format.
@pytest.mark.parametrize(
    ("term", "value"),
    [
        (b"\x83a\xff", 255),
        (b"\x83b\xff\xff\xff\xff", -1),
        (b"\x83n\x08\x00" + (175928847299117063).to_bytes(8, "little"), 175928847299117063),
        (b"\x83n\x01\x01\x05", -5),
        (b"\x83F" + struct.pack(">d", 1.5), 1.5),
        (b"\x83c" + b"1.50000000000000000000e+00".ljust(31, b"\0"), 1.5),
        (b"\x83d\x00\x03nil", None),
        (b"\x83s\x04true", True),
        (b"\x83w\x05false", False),
        (b"\x83v\x00\x04null", None),
        (b"\x83d\x00\x06online", "online"),
        (b"\x83k\x00\x02\x00\x01", [0, 1]),
        (b"\x83l\x00\x00\x00\x01a\x07j", [7]),
        (b"\x83h\x02a\x00a\x01", [0, 1]),
        (b"\x83i\x00\x00\x00\x01j", [[]]),
        (b"\x83t\x00\x00\x00\x01d\x00\x02opa\x0a", {"op": 10}),
        (b"\x83t\x00\x00\x00\x01m\x00\x00\x00\x02opm\x00\x00\x00\x02\xc3\xa9", {"op": "é"}),
    ],
)
def test_terms_of_other_encoders_are_decoded(term: bytes, value: Any) -> None:
    assert etf.decode(term) == value


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        (b"", "version"),
        (b"{}", "version"),
        (b"\x82a\x01", "version"),
        (b"\x83P\x00\x00\x00\x02" + zlib.compress(b"a\x01"), "unsupported tag 80"),
        (b"\x83g", "unsupported tag 103"),
        (b"\x83o\x00\x00\x00\x01\x00\x01", "unsupported tag 111"),
        (b"\x83a\x01a\x01", "bytes after"),
        (b"\x83m\xff\xff\xff\xffx", "incomplete"),
        (b"\x83l\xff\xff\xff\xffj", "incomplete"),
        (b"\x83t\xff\xff\xff\xff", "incomplete"),
        (b"\x83l\x00\x00\x00\x01a\x01a\x01", "improper list"),
        (b"\x83t\x00\x00\x00\x01a\x01a\x01", "key"),
        (b"\x83m\x00\x00\x00\x01\xff", "UTF-8"),
        (b"\x83n\x09\x00" + bytes(9), "out of range"),
        (b"\x83n\x08\x01" + b"\xff" * 8, "out of range"),
        (b"\x83F" + struct.pack(">d", math.nan), "float"),
        (b"\x83F" + struct.pack(">d", math.inf), "float"),
        (b"\x83c" + b"x" * 31, "float"),
        (b"\x83" + b"l\x00\x00\x00\x01" * 100 + b"j" * 101, "deeply"),
        (b"\x83" + b"h\x01" * 5000 + b"j", "deeply"),
    ],
)
def test_hostile_and_unsupported_terms_are_rejected(term: bytes, reason: str) -> None:
    with pytest.raises(etf.EtfError, match=reason):
        etf.decode(term)


def test_every_message_of_a_compressed_stream_decodes_to_its_payload() -> None:
    compressor = BlockCompressor()
    hello = etf.encode({"t": None, "s": None, "op": 10, "d": {"heartbeat_interval": 41250}})
    streams = {
        Compression.ZLIB_STREAM: zlib.decompressobj(),
        Compression.ZSTD_STREAM: zstandard.ZstdDecompressor().decompressobj(),
    }
    for compression, stream in streams.items():
        started_stream = encode_message(compression, hello, encoding=Encoding.ETF, starts_stream=True)
        assert stream.decompress(frame_payload(started_stream)) == hello
    assert encode_message(Compression.NONE, hello, encoding=Encoding.ETF)[0] == 0x82
    for seq, body in enumerate(random_bodies(0, 40), start=97):
        packet = Packet("MESSAGE_CREATE", body, compressor)
        expected = {"t": "MESSAGE_CREATE", "s": seq, "op": 0, "d": json.loads(body)}
        payloads = {
            compression: frame_payload(packet.template(template_index(compression, Encoding.ETF)).frame(seq))
            for compression in Compression
        }
        for compression, stream in streams.items():
            assert etf.decode(stream.decompress(payloads[compression])) == expected
        assert etf.decode(payloads[Compression.NONE]) == expected
        compressed_payload = payloads[Compression.PAYLOAD]
        plain = compressed_payload if compressed_payload[0] == etf.VERSION else zlib.decompress(compressed_payload)
        assert etf.decode(plain) == expected
        assert json.loads(frame_payload(packet.template(Compression.NONE).frame(seq))) == expected


@pytest.mark.parametrize("compression", ["", "zlib-stream", "zstd-stream", "payload"])
async def test_a_session_starts_and_resumes_in_etf(platform: GatewayPlatform, compression: str) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    transport = "" if compression == "payload" else compression
    client = await platform.connect(transport, encoding="etf")
    ready = await client.identify(platform.create_bot(user_id=5), compress=compression == "payload", shard=[0, 1])
    assert ready["v"] == 10
    assert (await client.next_event("GUILD_CREATE"))["name"] == "Town Square"
    await platform.wait_idle()
    await platform.publish_message(PUBLIC_CHANNEL_ID, "é" * 1500)
    assert (await client.next_event("MESSAGE_CREATE"))["content"] == "é" * 1500
    await client.send(GatewayOpcode.HEARTBEAT, client.seq)
    assert (await client.next_payload(GatewayOpcode.HEARTBEAT_ACK))["d"] is None

    resumed_client = await platform.connect(transport, encoding="etf")
    await resumed_client.send(
        GatewayOpcode.RESUME, {"token": client.token, "session_id": client.session_id, "seq": (client.seq or 0) - 1}
    )
    assert (await resumed_client.next_event("MESSAGE_CREATE"))["content"] == "é" * 1500


@pytest.mark.parametrize("data", [b'{"op":1,"d":null}', b"\x83", b"\x83a\x01", b"\x83" + b"h\x01" * 7000 + b"j"])
async def test_an_invalid_frame_closes_the_connection(platform: GatewayPlatform, data: bytes) -> None:
    client = await platform.connect(encoding="etf")
    await client.socket.send_bytes(data)
    assert await client.wait_close_code() == CloseCode.DECODE_ERROR


async def test_sessions_in_json_and_etf_receive_the_same_event(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: []})
    clients = [await platform.connect(encoding=encoding) for encoding in ("json", "etf")]
    for client, user_id in zip(clients, (5, 6), strict=True):
        await client.identify(platform.create_bot(user_id=user_id))
        await client.next_event("GUILD_CREATE")
    await platform.wait_idle()
    await platform.publish_message(PUBLIC_CHANNEL_ID, "hello")
    json_event, etf_event = [await client.next_event("MESSAGE_CREATE") for client in clients]
    assert json_event == etf_event
