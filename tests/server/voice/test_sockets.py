"""Sockets, endpoint and certificate of the voice server, and errors of its settings."""

import ssl
import stat
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509

from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.app import App
from hubbub.server.commands import certificates
from hubbub.server.core.config import Config, ConfigError, VoiceConfig
from hubbub.server.doctor import Finding, run_checks
from hubbub.server.transports.voice import sockets


def voice_config(**voice: Any) -> Config:
    """Return a configuration with these voice settings."""
    return Config(port=0, voice=VoiceConfig(**voice))


def test_the_voice_server_is_enabled_by_a_certificate_or_an_endpoint(tmp_path: Path) -> None:
    assert not sockets.is_voice_enabled(voice_config())
    assert sockets.is_voice_enabled(voice_config(certificate_file="voice.pem"))
    assert sockets.is_voice_enabled(voice_config(endpoint="voice.example"))
    assert not sockets.is_voice_enabled(Config(roles=frozenset({"api"}), voice=VoiceConfig(endpoint="voice.example")))


def test_a_renewed_certificate_has_the_same_authority(tmp_path: Path) -> None:
    first_certificate = certificates.issue(tmp_path / "voice", ["voice.example"])
    trusted_authority = first_certificate.authority_path.read_bytes()
    certificate = x509.load_pem_x509_certificate(first_certificate.certificate_path.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "voice.example"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    for path in (tmp_path / "voice").iterdir():
        if "key" in path.name:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    renewed_certificate = certificates.issue(tmp_path / "voice", [])
    assert renewed_certificate.authority_path.read_bytes() == trusted_authority
    assert renewed_certificate.certificate_path.read_bytes() != certificate.public_bytes(
        certificates.serialization.Encoding.PEM
    )


@pytest.mark.parametrize(
    ("voice", "key"),
    [
        ({"certificate_file": "/nowhere/voice.pem"}, "voice.certificate_file"),
        ({"endpoint": "x", "host": "0.0.0.0"}, "voice.public_address"),
        ({"endpoint": "x", "host": "::1"}, "voice.public_address"),
        ({"endpoint": "x", "host": "192.0.2.1", "public_address": "127.0.0.1"}, "voice.port"),
    ],
)
def test_invalid_settings_are_reported(voice: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sockets.bind(voice_config(**voice))
    assert caught.value.key == key


def test_a_key_of_another_certificate_is_rejected(tmp_path: Path) -> None:
    first_certificate, second_certificate = (
        certificates.issue(tmp_path / "one", []),
        certificates.issue(tmp_path / "other", []),
    )
    with pytest.raises(ConfigError, match="cannot be used with its key"):
        sockets.load_tls_context(
            VoiceConfig(
                certificate_file=str(first_certificate.certificate_path), key_file=str(second_certificate.key_path)
            )
        )


async def voice_finding(settings: Config) -> Finding:
    """Return the finding of `hubbub doctor` about voice."""
    (finding,) = [finding async for finding in run_checks(settings) if finding.subject == "voice"]
    return finding


async def test_the_doctor_reports_the_voice_settings(tmp_path: Path) -> None:
    assert (await voice_finding(voice_config())).level == "note"
    assert (await voice_finding(Config(port=0, roles=frozenset({"api"})))).level == "ok"
    certificate = certificates.issue(tmp_path, [])
    finding_with_certificate = await voice_finding(
        voice_config(certificate_file=str(certificate.certificate_path), key_file=str(certificate.key_path))
    )
    assert (finding_with_certificate.level, finding_with_certificate.message) == (
        "ok",
        "clients connect to a free port and send packets to 127.0.0.1",
    )
    proxied_finding = await voice_finding(voice_config(endpoint="voice.example"))
    assert proxied_finding.message == "clients connect to voice.example and send packets to 127.0.0.1"
    invalid = await voice_finding(voice_config(certificate_file=str(certificate.key_path)))
    assert invalid.level == "problem"


async def test_clients_connect_over_tls_to_the_published_endpoint(tmp_path: Path) -> None:
    certificate = certificates.issue(tmp_path, [])
    app = App(voice_config(certificate_file=str(certificate.certificate_path), key_file=str(certificate.key_path)))
    await app.start()
    try:
        endpoint = app.config.voice.endpoint
        assert endpoint is not None
        assert endpoint.startswith("127.0.0.1:")
        tls_context = ssl.create_default_context(cafile=certificate.authority_path)
        async with aiohttp.ClientSession() as client:
            async with client.ws_connect(f"wss://{endpoint}?v=8", ssl=tls_context) as socket:
                assert (await socket.receive_json(timeout=10))["op"] == VoiceOpcode.HELLO
            async with client.get(f"https://{endpoint}/elsewhere", ssl=tls_context) as response:
                assert response.status == 404
            async with client.get(f"https://{endpoint}/?v=8", ssl=tls_context) as response:
                assert response.status == 426
    finally:
        await app.stop()
