"""TLS contexts that load the certificate authorities of the system at their first connection."""

import asyncio
import ssl
from pathlib import Path

import pytest

from hubbub.server.commands import certificates
from hubbub.server.core.deferred_certificates import defer_certificate_authorities


def create_deferred_context() -> ssl.SSLContext:
    with defer_certificate_authorities():
        return ssl.create_default_context()


async def connect(files: certificates.CertificateFiles, client_context: ssl.SSLContext) -> None:
    """Connect to a TLS server with this certificate."""
    server_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_context.load_cert_chain(files.certificate_path, files.key_path)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=server_context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context)
        writer.close()


async def test_a_deferred_context_trusts_the_authorities_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = certificates.issue(tmp_path, [])
    monkeypatch.setenv("SSL_CERT_FILE", str(files.authority_path))
    context = create_deferred_context()
    assert context.cert_store_stats()["x509_ca"] == 0

    await connect(files, context)

    assert context.cert_store_stats()["x509_ca"] == 1
    assert type(context) is ssl.SSLContext


async def test_a_deferred_context_rejects_other_authorities(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await connect(certificates.issue(tmp_path, []), create_deferred_context())


def test_contexts_load_authorities_at_once_outside_of_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.issue(tmp_path, []).authority_path))
    create_deferred_context()

    assert ssl.create_default_context().cert_store_stats()["x509_ca"] == 1
