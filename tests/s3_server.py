"""An S3-compatible object store in memory: objects, ranges, multipart uploads, lists in pages, and signatures (SigV4).

Requests with a wrong signature are rejected, so that tests notice a URL whose credentials are not used.
"""

import asyncio
import hashlib
import hmac
import itertools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from urllib.parse import parse_qsl, quote, unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from aiohttp import web

KEY_ID, SECRET, BUCKET, REGION = "test-key", "secret/with+signs", "files", "eu-test-1"
PAGE_SIZE = 2
"""Maximum number of keys in one response to a list request; S3 has 1000."""
NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


@dataclass
class S3Server:
    """The objects of the bucket and the requests of clients."""

    url: str = ""
    objects: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    """Content and media type by key."""
    methods: list[str] = field(default_factory=list)
    """Methods of all requests with a valid signature, in order."""
    _uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    _upload_ids: Iterator[int] = field(default_factory=itertools.count)

    def files_url(self, prefix: str = "") -> str:
        """Return the setting `files_url` for the bucket."""
        credentials = f"{quote(KEY_ID, safe='')}:{quote(SECRET, safe='')}"
        return f"s3://{credentials}@{BUCKET}/{prefix}?endpoint={self.url}&region={REGION}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Respond to a request of a client."""
        body = await request.read()
        if not _is_signed(request, body):
            return _error(403, "SignatureDoesNotMatch")
        self.methods.append(request.method)
        bucket, _, key = unquote(request.raw_path.partition("?")[0]).removeprefix("/").partition("/")
        if bucket != BUCKET:
            return _error(404, "NoSuchBucket")
        if not key:
            return self._delete_several(body) if request.method == "POST" else self._list(request)
        if "uploads" in request.query or "uploadId" in request.query:
            return self._upload_part(request, key, body)
        if request.method == "PUT":
            self.objects[key] = (body, request.headers.get("Content-Type", "application/octet-stream"))
            return web.Response(headers={"ETag": _etag(body)})
        if request.method == "DELETE":
            self.objects.pop(key, None)
            return web.Response(status=204)
        return self._get(request, key)

    def _get(self, request: web.Request, key: str) -> web.Response:
        if key not in self.objects:
            return _error(404, "NoSuchKey")
        content, content_type = self.objects[key]
        headers = {"ETag": _etag(content), "Last-Modified": formatdate(usegmt=True), "Content-Type": content_type}
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        if match is None:
            # aiohttp leaves out the length of an empty body in a response to HEAD.
            return web.Response(body=content, headers=headers | {"Content-Length": str(len(content))})
        start, end = int(match[1]), min(int(match[2] or len(content) - 1), len(content) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
        return web.Response(status=206, body=content[start : end + 1], headers=headers)

    def _list(self, request: web.Request) -> web.Response:
        prefix, after = request.query.get("prefix", ""), request.query.get("continuation-token", "")
        keys = sorted(key for key in self.objects if key.startswith(prefix) and key > after)
        page = keys[:PAGE_SIZE]
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-01T00:00:00.000Z</LastModified>"
            f"<ETag>{escape(_etag(self.objects[key][0]))}</ETag><Size>{len(self.objects[key][0])}</Size></Contents>"
            for key in page
        )
        is_truncated = len(keys) > len(page)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if is_truncated else ""
        return _xml(
            f"<ListBucketResult {NAMESPACE}><Name>{BUCKET}</Name><KeyCount>{len(page)}</KeyCount>"
            f"<IsTruncated>{str(is_truncated).lower()}</IsTruncated>{token}{entries}</ListBucketResult>"
        )

    def _delete_several(self, body: bytes) -> web.Response:
        keys = [element.text or "" for element in ElementTree.fromstring(body).iter() if element.tag.endswith("Key")]
        for key in keys:
            self.objects.pop(key, None)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        return _xml(f"<DeleteResult {NAMESPACE}>{deleted}</DeleteResult>")

    def _upload_part(self, request: web.Request, key: str, body: bytes) -> web.Response:
        if "uploads" in request.query:
            upload_id = str(next(self._upload_ids))
            self._uploads[upload_id] = {0: request.headers.get("Content-Type", "application/octet-stream").encode()}
            return _xml(
                f"<InitiateMultipartUploadResult {NAMESPACE}><Bucket>{BUCKET}</Bucket><Key>{escape(key)}</Key>"
                f"<UploadId>{upload_id}</UploadId></InitiateMultipartUploadResult>"
            )
        upload_id = request.query["uploadId"]
        if request.method == "PUT":
            self._uploads[upload_id][int(request.query["partNumber"])] = body
            return web.Response(headers={"ETag": _etag(body)})
        parts = self._uploads.pop(upload_id)
        if request.method == "POST":
            content_type = parts.pop(0).decode()
            content = b"".join(part for _, part in sorted(parts.items()))
            self.objects[key] = (content, content_type)
            return _xml(
                f"<CompleteMultipartUploadResult {NAMESPACE}><Key>{escape(key)}</Key>"
                f"<ETag>{escape(_etag(content))}</ETag></CompleteMultipartUploadResult>"
            )
        return web.Response(status=204)


def _etag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


def _xml(text: str) -> web.Response:
    return web.Response(text=f'<?xml version="1.0" encoding="UTF-8"?>{text}', content_type="application/xml")


def _error(status: int, code: str) -> web.Response:
    response = _xml(f"<Error><Code>{code}</Code><Message>{code}</Message></Error>")
    response.set_status(status)
    return response


def _quote(text: str) -> str:
    return quote(text, safe="-_.~")


def _is_signed(request: web.Request, body: bytes) -> bool:
    """Return whether the Authorization header has the signature of the secret (Signature Version 4)."""
    match = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/s3/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w+)",
        request.headers.get("Authorization", ""),
    )
    if match is None or match[1] != KEY_ID or match[3] != REGION:
        return False
    _, date, region, signed_headers, signature = match.groups()
    digest = request.headers["x-amz-content-sha256"]
    if digest not in (hashlib.sha256(body).hexdigest(), "UNSIGNED-PAYLOAD"):
        return False
    path, _, query = request.raw_path.partition("?")
    canonical = "\n".join(
        [
            request.method,
            path,
            "&".join(sorted(f"{_quote(name)}={_quote(value)}" for name, value in parse_qsl(query, True))),
            *(f"{name}:{' '.join(request.headers[name].split())}" for name in signed_headers.split(";")),
            "",
            signed_headers,
            digest,
        ]
    )
    scope = f"{date}/{region}/s3/aws4_request"
    text = "\n".join(
        ["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()]
    )
    key = f"AWS4{SECRET}".encode()
    for part in (*scope.split("/"), text):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(key.hex(), signature)


@contextmanager
def run_s3_server() -> Iterator[S3Server]:
    """Run an empty object store in a thread of its own, so that synchronous commands of a test can use it."""
    server = S3Server()
    loop = asyncio.new_event_loop()
    is_started = threading.Event()

    async def serve() -> web.AppRunner:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", server.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        server.url = f"http://{host}:{port}"
        return runner

    def run() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        is_started.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=run, name="s3-server")
    thread.start()
    is_started.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
