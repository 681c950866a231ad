"""A network of its own for tests of outbound requests: public addresses, a name server and TLS servers on one machine.

`run_scenario` starts this module as a program in a new network namespace, in which the loopback interface also has public
addresses. There the checks of `core.outbound_http` apply without exceptions: no target is private or allowed in a test.
The name server answers the queries of the system resolver, so that names can change their addresses.
"""

import asyncio
import datetime
import ipaddress
import os
import shlex
import ssl
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

ROOT = Path(__file__).parents[3]
PUBLIC_ADDRESS, OTHER_PUBLIC_ADDRESS, LOCAL_ADDRESS = "93.184.216.34", "93.184.216.35", "127.0.0.1"
NAME_SERVER = "127.0.0.53"
_COMMANDS = (
    "ip link set lo up",
    f"ip address add {PUBLIC_ADDRESS}/32 dev lo",
    f"ip address add {OTHER_PUBLIC_ADDRESS}/32 dev lo",
)


def run_scenario(module: str, name: str) -> None:
    """Run the coroutine function `name` of a module in a network of its own; fail if it raises."""
    if subprocess.run(["unshare", "-rnm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("requires Linux with network namespaces: unshare -rnm true fails")
    with tempfile.TemporaryDirectory() as folder:
        Authority.create(Path(folder))
        resolv_conf = Path(folder, "resolv.conf")
        resolv_conf.write_text(f"nameserver {NAME_SERVER}\noptions timeout:1 attempts:1\n")
        program = [sys.executable, "-m", "tests.server.core.isolated_network", module, name, folder]
        script = " && ".join(
            (*_COMMANDS, f"mount --bind {resolv_conf} /etc/resolv.conf", f"exec {shlex.join(program)}")
        )
        environment = os.environ | {"SSL_CERT_FILE": str(Path(folder, "authority.pem"))}
        completed = subprocess.run(
            ["unshare", "-rnm", "sh", "-c", script],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert completed.returncode == 0, completed.stderr[-4000:]


class NameServer(asyncio.DatagramProtocol):
    """A name server with a list of successive answers for each name; the last one is repeated."""

    def __init__(self) -> None:
        self.answers: dict[str, list[list[str]]] = {}
        self.query_counts: dict[str, int] = {}
        """Number of queries for IPv4 addresses by name."""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Keep the socket."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer a query."""
        labels, position = [], 12
        while data[position]:
            labels.append(data[position + 1 : position + 1 + data[position]].decode())
            position += 1 + data[position]
        name, question_end = ".".join(labels).lower(), position + 5
        (kind,) = struct.unpack(">H", data[position + 1 : position + 3])
        addresses: list[str] = []
        if kind == 1 and name in self.answers:
            self.query_counts[name] = self.query_counts.get(name, 0) + 1
            remaining = self.answers[name]
            addresses = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        records = b"".join(
            b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + ipaddress.IPv4Address(address).packed
            for address in addresses
        )
        code = 0 if name in self.answers else 3
        header = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(addresses), 0, 0)
        self._transport.sendto(header + data[12:question_end] + records, addr)


async def start_name_server(**answers: list[list[str]]) -> NameServer:
    """Start the name server with answers by name; an underscore in a keyword stands for a dot."""
    server = NameServer()
    server.answers = {name.replace("_", "."): list(lists) for name, lists in answers.items()}
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: server, local_addr=(NAME_SERVER, 53))
    return server


async def start_web_server(
    handler: Any, addresses: Iterable[str], port: int, tls: ssl.SSLContext | None = None
) -> None:
    """Serve all paths at these addresses, until the program ends."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    for address in addresses:
        await web.TCPSite(runner, address, port, ssl_context=tls).start()


class Authority:
    """A certificate authority that the program trusts, because SSL_CERT_FILE names its certificate."""

    def __init__(self, folder: Path) -> None:
        """Load the authority of a folder."""
        self._folder = folder
        self._key: Any = serialization.load_pem_private_key((folder / "authority.key").read_bytes(), None)
        self._certificate = x509.load_pem_x509_certificate((folder / "authority.pem").read_bytes())

    @staticmethod
    def create(folder: Path) -> None:
        """Create the authority of a folder. Its file must exist before a program that trusts it starts."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        builder = _certificate_builder(name, name, key, days=10, is_authority=True)
        certificate = builder.add_extension(_AUTHORITY_USAGE, critical=True).sign(key, SHA256())
        (folder / "authority.key").write_bytes(_encode_key(key))
        (folder / "authority.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def server_context(self, name: str, *, days: int = 10, is_self_signed: bool = False) -> ssl.SSLContext:
        """Return the context of a server with a certificate for a name, which ends in `days` days."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = subject if is_self_signed else self._certificate.subject
        builder = _certificate_builder(subject, issuer, key, days=days)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        signing_key = key if is_self_signed else self._key
        issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
        certificate = builder.add_extension(issuer_id, critical=False).sign(signing_key, SHA256())
        file = self._folder / f"{name}{days}{is_self_signed}.pem"
        file.write_bytes(_encode_key(key) + certificate.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


# Python 3.13 and later verify the extensions that RFC 5280 requires.
_AUTHORITY_USAGE = x509.KeyUsage(
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


def _certificate_builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, days: int, is_authority: bool = False
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=30))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption())


if __name__ == "__main__":
    import importlib

    module_name, scenario, folder = sys.argv[1:]
    authority = Authority(Path(folder))
    asyncio.run(getattr(importlib.import_module(module_name), scenario)(authority))
