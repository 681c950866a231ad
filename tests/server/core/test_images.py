"""Processing of uploaded images: re-encoding, limits, and isolation."""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from PIL import ExifTags, Image, PngImagePlugin

from hubbub.protocol import errors
from hubbub.protocol.images import ImageData, TooLargeError
from hubbub.protocol.resources.emojis import EmojiImage
from hubbub.protocol.resources.stickers import StickerData
from hubbub.server.core import images as images_module
from hubbub.server.core.images import ImageConverter, InvalidImageError
from tests import media


@pytest.fixture
async def converter() -> AsyncIterator[ImageConverter]:
    """A converter with default limits."""
    converter = ImageConverter()
    yield converter
    await converter.close()


async def reencode_and_open(converter: ImageConverter, image: ImageData) -> Image.Image:
    """Re-encode an image in place and open the result with Pillow."""
    await converter.reencode(image)
    return media.open_image(image.data)


async def test_an_image_is_re_encoded_without_metadata(converter: ImageConverter) -> None:
    metadata = PngImagePlugin.PngInfo()
    metadata.add_text("Author", "a secret author")
    image = ImageData.from_bytes(media.png(20, 10, pnginfo=metadata) + b"<script>alert(1)</script>")
    uploaded_hash = image.hash
    assert b"secret" in image.data

    reencoded_image = await reencode_and_open(converter, image)

    assert (reencoded_image.format, reencoded_image.size) == ("PNG", (20, 10))
    assert reencoded_image.convert("RGBA").getpixel((3, 3)) == (200, 30, 30, 255)
    assert b"secret" not in image.data
    assert b"script" not in image.data
    assert image.hash != uploaded_hash
    assert not image.is_animated


async def test_exif_data_is_removed_after_applying_the_orientation(converter: ImageConverter) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # The image is rotated by 90 degrees.
    exif[ExifTags.Base.ImageDescription] = "a private description"
    image = ImageData.from_bytes(media.jpeg(30, 10, exif=exif))

    reencoded_image = await reencode_and_open(converter, image)

    assert (reencoded_image.format, reencoded_image.size) == ("JPEG", (10, 30))
    assert not reencoded_image.getexif()
    assert b"a private description" not in image.data


@pytest.mark.parametrize("image_format", ["GIF", "WEBP"])
async def test_animations_are_preserved(converter: ImageConverter, image_format: str) -> None:
    image = ImageData.from_bytes(media.animated_image(image_format, frame_count=4, frame_ms=120))

    reencoded_image = await reencode_and_open(converter, image)

    assert (reencoded_image.format, reencoded_image.n_frames) == (image_format, 4)
    assert image.is_animated
    assert image.hash.startswith("a_")
    assert image.duration_ms == 480


async def test_a_single_frame_is_not_animated(converter: ImageConverter) -> None:
    image = ImageData.from_bytes(media.animated_image("GIF", frame_count=1))
    await converter.reencode(image)
    assert not image.is_animated
    assert not image.hash.startswith("a_")


async def test_an_animated_png_is_flattened_except_as_a_sticker(converter: ImageConverter) -> None:
    data = media.animated_image("PNG", frame_count=3)
    icon, sticker = ImageData.from_bytes(data), StickerData.from_bytes(data)

    assert (await reencode_and_open(converter, icon)).n_frames == 1
    assert (await reencode_and_open(converter, sticker)).n_frames == 3
    assert (icon.is_animated, sticker.is_animated) == (False, True)


async def test_an_image_is_resized_to_the_limit_of_its_field(converter: ImageConverter) -> None:
    assert (await reencode_and_open(converter, EmojiImage.from_bytes(media.png(400, 200)))).size == (128, 64)
    assert (
        await reencode_and_open(converter, StickerData.from_bytes(media.animated_image("GIF", width=640, height=640)))
    ).size == (
        320,
        320,
    )
    assert (await reencode_and_open(converter, ImageData.from_bytes(media.png(16, 16)))).size == (16, 16)


@pytest.mark.parametrize("side", [5_001, 30_000, 2_000_000_000])
async def test_a_decompression_bomb_is_rejected_by_its_header(converter: ImageConverter, side: int) -> None:
    with pytest.raises(InvalidImageError, match="too many pixels"):
        await converter.reencode(ImageData.from_bytes(media.decompression_bomb(side)))
    assert not converter._processes


async def test_too_many_frames_are_rejected(converter: ImageConverter) -> None:
    for side, frames in ((2, 501), (1000, 41), (4900, 2)):
        with pytest.raises(InvalidImageError, match="frames"):
            await converter.reencode(ImageData.from_bytes(media.large_canvas_gif(side, frames)))
    assert (await reencode_and_open(converter, ImageData.from_bytes(media.large_canvas_gif(20, 5)))).size == (20, 20)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n" + b"\0" * 16,
        media.png()[:40],
        media.png(64, 64)[:-30],
        media.jpeg(64, 64)[:200],
        b"GIF89a" + b"\xff" * 40,
        b"RIFF\x00\x00\x00\x00WEBPVP8 " + b"\0" * 60,
        media.png().replace(b"IDAT", b"XXXX"),
    ],
    ids=["zeros", "header only", "truncated png", "truncated jpeg", "gif of ones", "webp of zeros", "no pixels"],
)
async def test_a_corrupt_image_is_rejected_and_the_next_one_is_processed(
    converter: ImageConverter, data: bytes
) -> None:
    with pytest.raises(InvalidImageError):
        await converter.reencode(ImageData.from_bytes(data))
    await converter.reencode(ImageData.from_bytes(media.png()))


async def test_the_type_is_detected_from_the_bytes(converter: ImageConverter) -> None:
    image = ImageData.from_data_uri(media.data_uri(media.jpeg(), "image/png"))
    assert image.content_type == "image/jpeg"
    assert (await reencode_and_open(converter, image)).format == "JPEG"
    for other_content in (b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%!PS-Adobe-3.0 EPSF", b"II*\0" + b"\0" * 64):
        with pytest.raises(ValueError, match="Invalid"):
            ImageData.from_bytes(other_content)


async def test_a_process_has_limited_memory() -> None:
    converter = ImageConverter(memory_bytes=160 << 20)
    try:
        await converter.reencode(ImageData.from_bytes(media.png()))
        with pytest.raises(InvalidImageError):
            await converter.reencode(ImageData.from_bytes(media.png(4900, 4900, compress_level=1)))
        await converter.reencode(ImageData.from_bytes(media.png()))
    finally:
        await converter.close()


async def test_a_process_that_exceeds_its_time_is_replaced_and_the_image_rejected() -> None:
    converter = ImageConverter(task_seconds=0.05, processes=1)
    try:
        await converter.reencode(ImageData.from_bytes(media.png()))
        [first_worker] = converter._processes
        with pytest.raises(InvalidImageError, match="image process failed"):
            await converter.reencode(ImageData.from_bytes(media.png(3000, 3000, compress_level=1)))
        assert first_worker not in converter._processes
        await converter.reencode(ImageData.from_bytes(media.png()))
    finally:
        await converter.close()


async def test_a_killed_process_is_replaced(converter: ImageConverter) -> None:
    await converter.reencode(ImageData.from_bytes(media.png()))
    [worker] = converter._processes
    os.kill(worker._process.pid, 9)
    await worker._process.wait()
    with pytest.raises(InvalidImageError):
        await converter.reencode(ImageData.from_bytes(media.png()))
    await converter.reencode(ImageData.from_bytes(media.png()))


async def test_a_process_is_replaced_after_its_maximum_number_of_images() -> None:
    converter = ImageConverter(tasks_max=2, processes=1)
    try:
        workers = set()
        for _ in range(4):
            await converter.reencode(ImageData.from_bytes(media.png()))
            workers |= converter._processes
        assert not converter._processes
        assert len(workers) == 2
    finally:
        await converter.close()


async def test_excess_concurrent_images_are_rejected_as_overloaded(
    converter: ImageConverter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images_module, "QUEUED_IMAGES_MAX", 3)
    results = await asyncio.gather(
        *(converter.reencode(ImageData.from_bytes(media.png())) for _ in range(6)), return_exceptions=True
    )
    rejections = [result for result in results if isinstance(result, errors.ApiError)]
    assert [error.kind for error in rejections] == [errors.RESOURCE_OVERLOADED] * 3


async def test_the_environment_is_not_passed_to_processes(
    converter: ImageConverter, monkeypatch: pytest.MonkeyPatch
) -> None:
    environments: list[dict[str, str]] = []
    start_process = asyncio.create_subprocess_exec

    async def record_environment(*arguments: Any, env: dict[str, str], **options: Any) -> asyncio.subprocess.Process:
        environments.append(env)
        return await start_process(*arguments, env=env, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", record_environment)
    monkeypatch.setenv("HUBBUB_DATABASE_URL", "postgres://secret")
    await converter.reencode(ImageData.from_bytes(media.png()))

    [environment] = environments
    assert "HUBBUB_DATABASE_URL" not in environment


async def test_an_image_that_stays_too_large_is_rejected(converter: ImageConverter) -> None:
    class SmallImageData(ImageData):
        bytes_max = 90

    image = SmallImageData(media.png(64, 64), "image/png")
    with pytest.raises(TooLargeError):
        await converter.reencode(image)


@pytest.mark.parametrize("content_type", ["image/png", "image/jpeg", "image/webp", "image/gif"])
async def test_an_image_can_be_converted_to_any_type(converter: ImageConverter, content_type: str) -> None:
    for data in (media.png(64, 32), media.jpeg(64, 32), media.animated_image("GIF", width=64, height=32)):
        converted_image = await converter.convert(data, to=content_type, side=16)
        assert (
            converted_image.content_type,
            converted_image.width,
            converted_image.height,
            converted_image.is_animated,
        ) == (
            content_type,
            16,
            8,
            False,
        )
        assert media.open_image(converted_image.data).size == (16, 8)


def test_a_too_long_or_invalid_data_uri_is_rejected() -> None:
    with pytest.raises(TooLargeError):
        EmojiImage.from_data_uri("data:image/png;base64," + "A" * 400_000)
    for data_uri in (
        "",
        "data:image/png;base64",
        "data:image/png,abc",
        "data:image/png;base64,###",
        "data:text/html;base64,QQ==",
        5,
    ):
        with pytest.raises(ValueError, match="Invalid"):
            ImageData.from_data_uri(data_uri)
