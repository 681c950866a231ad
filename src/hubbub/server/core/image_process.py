"""The program that decodes and re-encodes untrusted images, in a process of its own with limited memory.

`core.images` starts it by its path and communicates through pipes: a length, a JSON header, and the number of bytes
that the header gives. An image that crashes the decoder or needs too much memory ends only this process. The process is
not a sandbox: if an image exploits the decoder, its code has the rights of the server's user. The program imports only the
standard library and Pillow.
"""

import json
import struct
import sys
import warnings
from io import BytesIO
from typing import Any, BinaryIO, Final

from PIL import Image, ImageOps, ImageSequence

PIXELS_MAX: Final = 25_000_000
"""Maximum number of pixels of an image by its header, before any decoding."""
FRAMES_MAX: Final = 500
ANIMATION_PIXELS_MAX: Final = 40_000_000
"""Maximum number of pixels of all frames of an animated image together."""
ANIMATED_SIDE_MAX: Final = 512
"""Maximum side length of an animated image, in pixels."""
FRAME_MS_DEFAULT: Final = 100
"""Duration in milliseconds of a frame without a duration or with one of 10 ms or less, as in browsers."""

FORMATS: Final = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}
"""Names of the formats in Pillow, by media type."""

_JPEG_OPTIONS: Final[dict[str, Any]] = {"quality": 90}
_WEBP_OPTIONS: Final[dict[str, Any]] = {"quality": 90, "method": 4}
_ANIMATED_WEBP_OPTIONS: Final[dict[str, Any]] = {"quality": 80, "method": 2}


class RejectedImageError(Exception):
    """Raised when an image has no pixels, too many pixels, or too many frames."""


def convert(data: bytes, task: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Decode and re-encode an image.

    The task has `from` (the type detected from the first bytes), `to` (the requested type), `box` (maximum width and
    height) and `animated` (whether to keep all frames, if there are several and the type supports it). Return the
    header of the result and the file. Raise RejectedImageError, or any error of the decoder."""
    image = Image.open(BytesIO(data), formats=[FORMATS[task["from"]]])
    width, height = image.size
    if width < 1 or height < 1:
        raise RejectedImageError("no pixels")
    if width * height > PIXELS_MAX:
        raise RejectedImageError("too many pixels")
    frame_count = getattr(image, "n_frames", 1) if task["animated"] else 1
    if frame_count > 1:
        if frame_count > FRAMES_MAX or frame_count * width * height > ANIMATION_PIXELS_MAX:
            raise RejectedImageError("too many frames")
        width, height = (min(side, ANIMATED_SIDE_MAX) for side in task["box"])
        return _encode_animated(image, task["to"], (width, height))
    width, height = task["box"]
    return _encode_still(image, task["to"], (width, height))


def _encode_still(image: Image.Image, content_type: str, box: tuple[int, int]) -> tuple[dict[str, Any], bytes]:
    """Encode the first frame of an image; return the header of the result and the file."""
    image.seek(0)
    # The orientation is in the EXIF data, which is removed.
    upright = ImageOps.exif_transpose(image)
    frame = _fit(_strip_metadata(upright), box)
    output = BytesIO()
    if content_type == "image/jpeg":
        _flatten_on_white(frame).save(output, "JPEG", **_JPEG_OPTIONS)
    elif content_type == "image/webp":
        frame.save(output, "WEBP", **_WEBP_OPTIONS)
    else:
        frame.save(output, FORMATS[content_type])
    return _result_header(content_type, frame, 1, 0), output.getvalue()


def _encode_animated(image: Image.Image, content_type: str, box: tuple[int, int]) -> tuple[dict[str, Any], bytes]:
    """Encode all frames of an image; return the header of the result and the file."""
    frames: list[Image.Image] = []
    durations_ms: list[int] = []
    loop_count = image.info.get("loop")
    for frame in ImageSequence.Iterator(image):
        resized_frame = _fit(frame.convert("RGBA"), box)
        # Some decoders know the duration only once the frame is decoded.
        duration_ms = frame.info.get("duration") or 0
        durations_ms.append(round(duration_ms) if duration_ms > 10 else FRAME_MS_DEFAULT)
        resized_frame.info = {}
        frames.append(resized_frame)
    options: dict[str, Any] = {"save_all": True, "append_images": frames[1:], "duration": durations_ms}
    output = BytesIO()
    if content_type == "image/gif":
        if loop_count is not None:
            options["loop"] = loop_count
        frames[0].save(output, "GIF", disposal=2, **options)
    elif content_type == "image/webp":
        frames[0].save(
            output, "WEBP", loop=1 if loop_count is None else loop_count, **options, **_ANIMATED_WEBP_OPTIONS
        )
    else:
        frames[0].save(output, "PNG", loop=1 if loop_count is None else loop_count, **options)
    return _result_header(content_type, frames[0], len(frames), sum(durations_ms)), output.getvalue()


def _strip_metadata(image: Image.Image) -> Image.Image:
    """Return only the pixels, as RGBA, RGB or L, without metadata."""
    is_transparent = "A" in image.getbands() or "transparency" in image.info
    stripped_image = image.convert("RGBA" if is_transparent else "L" if image.mode in ("1", "L") else "RGB")
    if stripped_image is image:
        stripped_image = image.copy()
    stripped_image.info = {}
    return stripped_image


def _flatten_on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image
    background = Image.new("RGB", image.size, "white")
    background.paste(image, mask=image)
    return background


def _fit(image: Image.Image, box: tuple[int, int]) -> Image.Image:
    """Scale an image down in place, so that it fits into a box of width and height, and return it."""
    if image.width > box[0] or image.height > box[1]:
        image.thumbnail(box, Image.Resampling.LANCZOS)
    return image


def _result_header(content_type: str, image: Image.Image, frame_count: int, duration_ms: int) -> dict[str, Any]:
    width, height = image.size
    return {"type": content_type, "width": width, "height": height, "frames": frame_count, "duration_ms": duration_ms}


def run_task(data: bytes, task: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Run a task and return its result: the new file, or the reason for a rejection. Never raises."""
    try:
        return convert(data, task)
    except MemoryError:
        return {"rejected": "too much memory"}, b""
    except Exception as error:
        # Any decoder error is attributed to the image.
        return {"rejected": f"{type(error).__name__}: {error}"[:200]}, b""


def read_task(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Read the next task and its file; return None at the end of the input."""
    encoded_length = stream.read(4)
    if len(encoded_length) < 4:
        return None
    task = json.loads(stream.read(*struct.unpack(">I", encoded_length)))
    return task, stream.read(task["bytes"])


def write_result(stream: BinaryIO, header: dict[str, Any], data: bytes) -> None:
    """Write the header of a result, with the size of its file, and the file."""
    encoded_header = json.dumps(header | {"bytes": len(data)}).encode()
    stream.write(struct.pack(">I", len(encoded_header)) + encoded_header + data)
    stream.flush()


def limit_resources(memory_bytes: int) -> None:
    """Limit the memory of this process and forbid writing files, where the system supports it."""
    try:
        import resource
    except ImportError:
        return
    for name, limit in (("RLIMIT_AS", memory_bytes), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        resource_id = getattr(resource, name, None)
        if resource_id is None:
            continue
        try:
            resource.setrlimit(resource_id, (limit, limit))
        except (ValueError, OSError):
            # The system defines the limit but does not support it.
            pass


def main() -> None:
    """Process tasks until the input ends."""
    limit_resources(int(sys.argv[1]))
    Image.MAX_IMAGE_PIXELS = PIXELS_MAX
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    while (task_and_file := read_task(incoming)) is not None:
        task, data = task_and_file
        write_result(outgoing, *run_task(data, task))


if __name__ == "__main__":
    main()
