"""Small image and sound files for tests of uploads."""

import base64
import io
import struct
import zlib
from typing import Any

from PIL import Image


def png(width: int = 8, height: int = 8, color: Any = (200, 30, 30, 255), **options: Any) -> bytes:
    """Return a still PNG image."""
    return _encode_frames([Image.new("RGBA", (width, height), color)], "PNG", **options)


def jpeg(width: int = 8, height: int = 8, **options: Any) -> bytes:
    """Return a JPEG image."""
    return _encode_frames([Image.new("RGB", (width, height), (30, 200, 30))], "JPEG", **options)


def animated_image(
    image_format: str = "GIF", frame_count: int = 3, width: int = 8, height: int = 8, frame_ms: int = 100
) -> bytes:
    """Return an animated image: GIF, WEBP or (as PNG) APNG; `frame_ms` is the duration of a frame."""
    images = [Image.new("RGBA", (width, height), (40 * number % 256, 90, 200, 255)) for number in range(frame_count)]
    return _encode_frames(images, image_format, duration=frame_ms, loop=0)


def _encode_frames(frames: list[Image.Image], image_format: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    if len(frames) > 1:
        options |= {"save_all": True, "append_images": frames[1:]}
    frames[0].save(buffer, image_format, **options)
    return buffer.getvalue()


def decompression_bomb(side_pixels: int) -> bytes:
    """Return a small PNG whose header declares a width and height of `side_pixels` pixels."""
    # The data has far fewer rows than the header declares: a reader must reject the image before it decodes them.
    rows = zlib.compress(b"\0" * 100_000, 9)
    header = struct.pack(">IIBBBBB", side_pixels, side_pixels, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def large_canvas_gif(side_pixels: int, frame_count: int) -> bytes:
    """Return a small GIF that declares a large canvas and changes one pixel per frame."""
    frame = b"\x21\xf9\x04\x04\x0a\x00\x00\x00" + struct.pack("<BHHHHB", 0x2C, 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    header = b"GIF89a" + struct.pack("<HHBBB", side_pixels, side_pixels, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    return header + frame * frame_count + b"\x3b"


def _chunk(chunk_type: bytes, chunk_data: bytes) -> bytes:
    return (
        struct.pack(">I", len(chunk_data))
        + chunk_type
        + chunk_data
        + struct.pack(">I", zlib.crc32(chunk_type + chunk_data))
    )


def data_uri(content: bytes, media_type: str = "image/png") -> str:
    """Return a data URI; its media type need not match the data."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def open_image(data: bytes) -> Image.Image:
    """Open an encoded image."""
    return Image.open(io.BytesIO(data))


def mp3(frame_count: int = 10, *, tag: bytes = b"") -> bytes:
    """Return silence as MPEG 1 layer III frames of 128 kbit/s at 44.1 kHz, 26.122 ms each."""
    frame = b"\xff\xfb\x90\x00" + b"\0" * 413
    return tag + frame * frame_count


def ogg(
    milliseconds: int = 1000, *, sample_rate: int = 44100, page_count: int = 3, codec: bytes = b"\x01vorbis"
) -> bytes:
    """Return an Ogg stream whose last page carries the total duration."""
    header = codec + struct.pack("<IBI", 0, 1, sample_rate) + b"\0" * 14
    stream = ogg_page(header, 0, 2, 0)
    for number in range(1, page_count + 1):
        stream += ogg_page(
            b"\0" * 20,
            sample_rate * milliseconds * number // (1000 * page_count),
            4 if number == page_count else 0,
            number,
        )
    return stream


def ogg_page(body: bytes, granule: int, flags: int, sequence: int) -> bytes:
    """Return one page of an Ogg stream; `flags` is its header type (2 for the first page, 4 for the last)."""
    return struct.pack("<4sBBQIIIB", b"OggS", 0, flags, granule, 7, sequence, 0, 1) + bytes([len(body)]) + body
