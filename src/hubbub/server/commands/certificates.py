"""The certificate of a rehearsal, issued by a certificate authority that is generated on this machine.

The voice server uses it because clients require TLS (spec/voice.md#2). The HTTP server uses it with `hubbub dev --tls`.
"""

import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hubbub.server.core.clock import RealClock

AUTHORITY_DAYS: Final = 3650
"""Validity of the certificate authority in days."""
CERTIFICATE_DAYS: Final = 390
"""Validity of a certificate in days."""
LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")
"""Names that every certificate contains."""


class CertificateFiles(NamedTuple):
    """The paths of the PEM files of a certificate."""

    authority_path: Path
    """Path of the certificate of the authority, which clients must trust."""
    certificate_path: Path
    key_path: Path


def issue(folder: Path, names: list[str]) -> CertificateFiles:
    """Issue a certificate for these names and LOCAL_NAMES.

    The certificate authority is read from the folder, or created there if it is missing.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    certificate_files = CertificateFiles(folder / "ca.pem", folder / "voice.pem", folder / "voice-key.pem")
    authority, authority_key = _load_or_create_authority(certificate_files.authority_path, folder / "ca-key.pem")
    key = ec.generate_private_key(ec.SECP256R1())
    subject_names = [_general_name(name) for name in dict.fromkeys((*LOCAL_NAMES, *names))]
    certificate = (
        _certificate_builder("Hubbub voice", authority.subject, key, CERTIFICATE_DAYS)
        .add_extension(x509.SubjectAlternativeName(subject_names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    _write_key(certificate_files.key_path, key)
    certificate_files.certificate_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return certificate_files


def _load_or_create_authority(path: Path, key_path: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Load the authority of an earlier start, so that clients still trust it, or create a new one."""
    if path.exists() and key_path.exists():
        key = serialization.load_pem_private_key(key_path.read_bytes(), None)
        if isinstance(key, ec.EllipticCurvePrivateKey):
            return x509.load_pem_x509_certificate(path.read_bytes()), key
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Hubbub rehearsal authority")])
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _certificate_builder("Hubbub rehearsal authority", subject, key, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write_key(key_path, key)
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return certificate, key


def _certificate_builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    # Clients check the validity against the real time, not against the clock of the rehearsal.
    now = datetime.fromtimestamp(RealClock().now_ms() / 1000, UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=days))
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(key_pem)
