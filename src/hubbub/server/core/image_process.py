"""The program that reads pictures of strangers: a process of its own, with bounded memory, that knows nothing but pixels.

`core.images` starts it by its path and speaks with it through pipes: a length, a JSON header, and as many bytes as the header says.
It imports the standard library and Pillow, and nothing of ours: what a picture could make of it is a dead process.
"""

import json
import struct
import sys
import warnings
from io import BytesIO
from typing import Any, BinaryIO, Final

from PIL import Image, ImageOps, ImageSequence

PIXELS_MAX: Final = 25_000_000
"""Of one picture, by its header, before a pixel is decoded."""
FRAMES_MAX: Final = 500
FRAME_PIXELS_MAX: Final = 40_000_000
"""Of all frames of a moving picture together."""
MOVING_SIDE_MAX: Final = 512
"""The longest side of a picture that moves."""
FRAME_MS_DEFAULT: Final = 100
"""How long a frame shows that says nothing, or nothing sensible: what browsers do."""

FORMATS: Final = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}

_JPEG: Final[dict[str, Any]] = {"quality": 90}
_WEBP: Final[dict[str, Any]] = {"quality": 90, "method": 4}
_MOVING_WEBP: Final[dict[str, Any]] = {"quality": 80, "method": 2}


class RefusedError(Exception):
    """A picture that we do not read."""


def convert(data: bytes, order: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Read a picture and write it anew.

    The order: `from` (the type that its first bytes say), `to` (the type wanted), `box` (the most of width and height), `moving`
    (whether all its frames are kept, where it has several and the type can hold them)."""
    picture = Image.open(BytesIO(data), formats=[FORMATS[order["from"]]])
    width, height = picture.size
    if width < 1 or height < 1 or width * height > PIXELS_MAX:
        raise RefusedError("too many pixels")
    count = getattr(picture, "n_frames", 1) if order["moving"] else 1
    if count > 1:
        if count > FRAMES_MAX or count * width * height > FRAME_PIXELS_MAX:
            raise RefusedError("too many frames")
        wide, high = (min(side, MOVING_SIDE_MAX) for side in order["box"])
        return _moving(picture, order["to"], (wide, high))
    wide, high = order["box"]
    return _still(picture, order["to"], (wide, high))


def _still(picture: Image.Image, kind: str, box: tuple[int, int]) -> tuple[dict[str, Any], bytes]:
    picture.seek(0)
    # How the camera was held is said in the data that we leave behind.
    upright = ImageOps.exif_transpose(picture)
    frame = _fit(_plain(upright), box)
    written = BytesIO()
    if kind == "image/jpeg":
        _on_white(frame).save(written, "JPEG", **_JPEG)
    elif kind == "image/webp":
        frame.save(written, "WEBP", **_WEBP)
    else:
        frame.save(written, FORMATS[kind])
    return _said(kind, frame, 1, 0), written.getvalue()


def _moving(picture: Image.Image, kind: str, box: tuple[int, int]) -> tuple[dict[str, Any], bytes]:
    frames: list[Image.Image] = []
    durations: list[int] = []
    loop = picture.info.get("loop")
    for frame in ImageSequence.Iterator(picture):
        kept = _fit(frame.convert("RGBA"), box)
        # Some decoders know this only once the frame is decoded.
        shown = frame.info.get("duration") or 0
        durations.append(round(shown) if shown > 10 else FRAME_MS_DEFAULT)
        kept.info = {}
        frames.append(kept)
    options: dict[str, Any] = {"save_all": True, "append_images": frames[1:], "duration": durations}
    written = BytesIO()
    if kind == "image/gif":
        if loop is not None:
            options["loop"] = loop
        frames[0].save(written, "GIF", disposal=2, **options)
    elif kind == "image/webp":
        frames[0].save(written, "WEBP", loop=1 if loop is None else loop, **options, **_MOVING_WEBP)
    else:
        frames[0].save(written, "PNG", loop=1 if loop is None else loop, **options)
    return _said(kind, frames[0], len(frames), sum(durations)), written.getvalue()


def _plain(picture: Image.Image) -> Image.Image:
    """The pixels, in one of three forms, and nothing that was said beside them."""
    clear = "A" in picture.getbands() or "transparency" in picture.info
    plain = picture.convert("RGBA" if clear else "L" if picture.mode in ("1", "L") else "RGB")
    if plain is picture:
        plain = picture.copy()
    plain.info = {}
    return plain


def _on_white(picture: Image.Image) -> Image.Image:
    if picture.mode != "RGBA":
        return picture
    ground = Image.new("RGB", picture.size, "white")
    ground.paste(picture, mask=picture)
    return ground


def _fit(picture: Image.Image, box: tuple[int, int]) -> Image.Image:
    if picture.width > box[0] or picture.height > box[1]:
        picture.thumbnail(box, Image.Resampling.LANCZOS)
    return picture


def _said(kind: str, picture: Image.Image, frames: int, duration_ms: int) -> dict[str, Any]:
    width, height = picture.size
    return {"type": kind, "width": width, "height": height, "frames": frames, "duration_ms": duration_ms}


def answer(data: bytes, order: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What goes back for an order: the new file, or why not. No picture makes this raise."""
    try:
        return convert(data, order)
    except MemoryError:
        return {"refused": "too much memory"}, b""
    except Exception as error:
        # Whatever a decoder stumbles over is the picture's fault.
        return {"refused": f"{type(error).__name__}: {error}"[:200]}, b""


def read(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """The next order and its file; None at the end."""
    length = stream.read(4)
    if len(length) < 4:
        return None
    order = json.loads(stream.read(*struct.unpack(">I", length)))
    return order, stream.read(order["bytes"])


def write(stream: BinaryIO, header: dict[str, Any], data: bytes) -> None:
    """Send an answer and its file."""
    text = json.dumps(header | {"bytes": len(data)}).encode()
    stream.write(struct.pack(">I", len(text)) + text + data)
    stream.flush()


def bound(memory_bytes: int) -> None:
    """Give this process so much memory and no more, and no file to write; a system without such bounds has `PIXELS_MAX` alone."""
    try:
        import resource
    except ImportError:
        return
    for name, most in (("RLIMIT_AS", memory_bytes), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):
            # A system that has the name and not the thing.
            pass


def main() -> None:
    """Serve orders until the other side is gone."""
    bound(int(sys.argv[1]))
    Image.MAX_IMAGE_PIXELS = PIXELS_MAX
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    while (found := read(incoming)) is not None:
        order, data = found
        write(outgoing, *answer(data, order))


if __name__ == "__main__":
    main()
