"""The multipart parser: chunks of several sizes, invalid and oversized forms, and file names."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.protocol.errors import ApiError
from hubbub.protocol.operation import Uploads
from hubbub.server.transports.http import multipart
from hubbub.server.transports.http.multipart import MultipartForm, MultipartLimits

CONTENT_TYPE = 'multipart/form-data; boundary="b0"'
LIMITS = MultipartLimits(total_bytes=100_000, file_bytes=50_000, field_bytes=10_000)


def make_part(name: str, data: bytes, *, filename: str | None = None, extra_headers: str = "") -> bytes:
    """Return one encoded part of a form."""
    disposition = f'Content-Disposition: form-data; name="{name}"'
    if filename is not None:
        disposition += f'; filename="{filename}"'
    return f"--b0\r\n{disposition}\r\n{extra_headers}\r\n".encode() + data + b"\r\n"


async def read_form(
    body: bytes, *, chunk_size: int = 7, uploads: Uploads | None = None, limits: MultipartLimits = LIMITS
) -> MultipartForm:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), chunk_size):
            yield body[start : start + chunk_size]

    return await multipart.read_form(chunks(), CONTENT_TYPE, uploads or Uploads(), limits)


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 5, 8, 13, 1000])
async def test_parts_do_not_depend_on_the_chunk_size(chunk_size: int) -> None:
    body = (
        b"a preamble\r\n"
        + make_part("payload_json", b'{"a": 1}', extra_headers="Content-Type: application/json\r\n")
        + make_part("content", "grüße".encode())
        + make_part("files[3]", b"\r\n--b\r\n\r\n--b1", filename="a.png", extra_headers="content-type: image/png\r\n")
        + make_part("files%5B4%5D", b"", filename="")
        + b"--b0--\r\nan epilogue"
    )
    form = await read_form(body, chunk_size=chunk_size)
    assert form.payload == b'{"a": 1}'
    assert form.fields == {"content": ["grüße"]}
    first_file, second_file = form.files
    assert (first_file.index, first_file.filename, first_file.content_type) == (3, "a.png", "image/png")
    assert first_file.data == b"\r\n--b\r\n\r\n--b1"
    assert (second_file.index, second_file.filename, second_file.data) == (4, "unknown", b"")
    assert second_file.content_type == "application/octet-stream"


@given(st.lists(st.binary(max_size=60), max_size=5), st.integers(1, 40))
async def test_any_content_is_parsed_unchanged(contents: list[bytes], chunk_size: int) -> None:
    contents = [data.replace(b"--b0", b"") for data in contents]
    body = b"".join(make_part(f"files[{index}]", data, filename="f") for index, data in enumerate(contents)) + b"--b0--"
    assert [file.data for file in (await read_form(body, chunk_size=chunk_size)).files] == contents


@given(st.binary(max_size=300), st.integers(1, 50))
async def test_any_bytes_are_parsed_or_rejected(body: bytes, chunk_size: int) -> None:
    rejection: ApiError | None = None
    try:
        await read_form(body, chunk_size=chunk_size)
    except ApiError as error:
        rejection = error
    assert rejection is None or rejection.kind.code == 50035


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 50035),
        (b"--b0", 50035),
        (b"--b0\r\nno colon\r\n\r\nx\r\n--b0--", 50035),
        (b"--b0\r\n\r\nx\r\n--b0--", 50035),
        (b"--b0\r\nContent-Disposition: attachment\r\n\r\nx\r\n--b0--", 50035),
        (b"--b0 junk\r\n\r\n", 50035),
        (make_part("content", b"x"), 50035),
        (b"--b0\r\nX: " + b"a" * 9000, 50035),
        (make_part("content", b"x" * 10_001) + b"--b0--", 40005),
        (make_part("files[0]", b"x" * 50_001, filename="f") + b"--b0--", 50045),
        (b"x" * 100_001, 40005),
        (make_part("x", b"") * 201 + b"--b0--", 40005),
        (make_part("files[1]", b"", filename="a") + make_part("files[01]", b"", filename="b") + b"--b0--", 50035),
        (b"".join(make_part(f"files[{index}]", b"", filename="a") for index in range(11)) + b"--b0--", 30015),
    ],
)
async def test_invalid_and_oversized_forms_are_rejected(body: bytes, code: int) -> None:
    with pytest.raises(ApiError) as caught:
        await read_form(body, chunk_size=4096)
    assert caught.value.kind.code == code


async def test_an_undeclared_file_field_is_ignored() -> None:
    body = make_part("files[0]", b"x", filename="f") + make_part("table", b"1", filename="t.csv") + b"--b0--"
    form = await read_form(body, uploads=Uploads(field="table", files_max=1))
    assert [(file.field, file.data) for file in form.files] == [("table", b"1")]


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('filename="a b.png"', "a b.png"),
        ('filename="a%20b.png"', "a b.png"),
        ('filename="100% sure.png"', "100% sure.png"),
        ("filename=\"x\"; filename*=UTF-8''gr%C3%BC%C3%9Fe.png", "grüße.png"),
        ('filename="say \\"hi\\".png"', 'say "hi".png'),
        ('filename="say %22hi%22.png"', 'say "hi".png'),
        ('filename="../../etc/passwd"', "passwd"),
        ('filename="C:\\\\temp\\\\a.png"', "a.png"),
        ('filename="a\x01\x7fb.png"', "ab.png"),
        ('filename=".."', "unknown"),
        ("filename=plain.png", "plain.png"),
    ],
)
async def test_file_names_are_decoded_and_sanitized(disposition: str, name: str) -> None:
    body = f'--b0\r\nContent-Disposition: form-data; name="file"; {disposition}\r\n\r\nx\r\n--b0--'.encode()
    assert (await read_form(body)).files[0].filename == name


def test_a_long_file_name_keeps_its_extension() -> None:
    name = multipart.clean_filename("a" * 400 + ".png")
    assert len(name) <= multipart.FILENAME_LENGTH_MAX
    assert name.endswith(".png")
