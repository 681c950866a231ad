"""DTLS 1.2 with a browser, which is the client: handshake, fingerprint check and SRTP keys (RFC 6347, RFC 5764)."""

import datetime
import hmac
import secrets
from collections import deque
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from OpenSSL import SSL

from hubbub.server.transports.voice.webrtc.srtp import PROFILES, SrtpSession

Address = tuple[str, int]

COOKIE_ADDRESSES_MAX: Final = 8
"""Maximum number of addresses whose cookies are valid at the same time."""
DATAGRAM_BYTES_MAX: Final = 1200
"""Size limit in bytes of a sent datagram, so that it is not fragmented."""
_RECORD_HEADER_BYTES: Final = 13
_READ_BYTES: Final = 65_536
_EXPORTER_LABEL: Final = b"EXTRACTOR-dtls_srtp"
# A certificate needs a validity period, but browsers compare only its fingerprint.
_NOT_BEFORE: Final = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_NOT_AFTER: Final = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


class DtlsError(Exception):
    """Raised when an association failed, or the certificate of the browser is not the announced one."""


class DtlsClosed(DtlsError):
    """Raised when the browser closed the association."""


class DtlsIdentity:
    """The self-signed certificate of this process and the context of its associations."""

    def __init__(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = create_self_signed_certificate(key)
        self.fingerprint = compute_fingerprint(certificate)
        """SHA-256 of the certificate, as in SDP."""
        self.context = SSL.Context(SSL.DTLS_SERVER_METHOD)
        self.context.use_privatekey(key)
        self.context.use_certificate(certificate)
        self.context.set_cipher_list(b"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384")
        self.context.set_options(SSL.OP_NO_QUERY_MTU)
        # The browser has to return a cookie before it gets the certificate: its address is proven by then.
        assert SSL.OP_COOKIE_EXCHANGE is not None
        self.context.set_options(SSL.OP_COOKIE_EXCHANGE)
        self.context.set_options(SSL.OP_NO_RENEGOTIATION)
        self.context.set_cookie_generate_callback(_create_cookie)
        self.context.set_cookie_verify_callback(_verify_cookie)
        # Any certificate passes here; `DtlsAssociation` compares its fingerprint after the handshake.
        self.context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, lambda *_: True)
        self.context.set_tlsext_use_srtp(b":".join(PROFILES))


class DtlsAssociation:
    """A DTLS association with one browser. It performs no I/O: methods return the datagrams to send."""

    def __init__(self, identity: DtlsIdentity, remote_fingerprint: str) -> None:
        """Create an association; `remote_fingerprint` is the SHA-256 of the certificate that the browser announced."""
        self._remote_fingerprint = remote_fingerprint
        self._connection = SSL.Connection(identity.context, None)
        self._connection.set_app_data(self)
        self._connection.set_accept_state()
        self._connection.set_ciphertext_mtu(DATAGRAM_BYTES_MAX)
        self._cookie_secret = secrets.token_bytes(32)
        self._source_address: Address | None = None
        """Address that the current datagram came from."""
        self._cookie_addresses: deque[Address] = deque(maxlen=COOKIE_ADDRESSES_MAX)
        """The latest addresses that a cookie was sent to."""
        self.proven_address: Address | None = None
        """The address that returned its cookie; None before."""
        self.srtp_session: SrtpSession | None = None
        """The SRTP keys; None until the handshake is complete and the fingerprint is verified."""

    @property
    def destination(self) -> Address | None:
        """The address that handshake datagrams are sent to; None before the first datagram.

        If the browser switches to another address during the handshake, it still receives at the proven one.
        """
        return self.proven_address or self._source_address

    def create_cookie(self) -> bytes:
        """Return the cookie of the address that the current datagram came from."""
        assert self._source_address is not None
        if self._source_address not in self._cookie_addresses:
            self._cookie_addresses.append(self._source_address)
        return self._compute_cookie(self._source_address)

    def verify_cookie(self, cookie: bytes) -> bool:
        """Return whether a cookie was sent to an address of the browser, and record this address as proven."""
        for address in self._cookie_addresses:
            if hmac.compare_digest(self._compute_cookie(address), cookie):
                self.proven_address = address
                return True
        return False

    def _compute_cookie(self, address: Address) -> bytes:
        return hmac.digest(self._cookie_secret, f"{address[0]} {address[1]}".encode(), "sha256")

    def receive(self, datagram: bytes, address: Address) -> list[bytes]:
        """Handle a datagram of the browser; raise DtlsError if the association ends."""
        self._source_address = address
        self._connection.bio_write(datagram)
        return self._advance()

    def find_timeout_seconds(self) -> float | None:
        """Return the delay until `handle_timeout` must be called, or None if no datagram may have to be sent again."""
        timeout: float | None = self._connection.DTLSv1_get_timeout()
        return timeout

    def handle_timeout(self) -> list[bytes]:
        """Return the datagrams of the last flight again, if its timeout has passed. Raise DtlsError on failure."""
        try:
            self._connection.DTLSv1_handle_timeout()
        except SSL.Error as error:
            raise DtlsError from error
        return self._flush()

    def close(self) -> list[bytes]:
        """Return the datagrams that end the association."""
        try:
            self._connection.shutdown()
        except SSL.Error:
            return []
        return self._flush()

    def _advance(self) -> list[bytes]:
        try:
            if self.srtp_session is None:
                self._connection.do_handshake()
                self._complete()
            else:
                # Nothing but the end of the association is expected; application data is discarded.
                self._connection.recv(_READ_BYTES)
        except SSL.WantReadError:
            pass
        except SSL.ZeroReturnError as error:
            raise DtlsClosed from error
        except SSL.Error as error:
            raise DtlsError from error
        return self._flush()

    def _complete(self) -> None:
        """Verify the certificate of the browser and derive the SRTP keys."""
        certificate = self._connection.get_peer_certificate(as_cryptography=True)
        profile = PROFILES.get(self._connection.get_selected_srtp_profile())
        if certificate is None or profile is None:
            raise DtlsError
        if not hmac.compare_digest(compute_fingerprint(certificate), self._remote_fingerprint):
            raise DtlsError
        keying_material = self._connection.export_keying_material(_EXPORTER_LABEL, profile.keying_bytes)
        self.srtp_session = SrtpSession(profile, keying_material, is_server=True)

    def _flush(self) -> list[bytes]:
        try:
            return pack_records(self._connection.bio_read(_READ_BYTES))
        except SSL.WantReadError:
            return []


def _create_cookie(connection: SSL.Connection) -> bytes:
    association: DtlsAssociation = connection.get_app_data()
    return association.create_cookie()


def _verify_cookie(connection: SSL.Connection, cookie: bytes) -> bool:
    association: DtlsAssociation = connection.get_app_data()
    return association.verify_cookie(cookie)


def pack_records(records: bytes) -> list[bytes]:
    """Group DTLS records into datagrams; OpenSSL's memory buffer does not retain the boundaries of datagrams."""
    datagrams: list[bytes] = []
    datagram = b""
    while records:
        record_bytes = _RECORD_HEADER_BYTES + int.from_bytes(records[11:_RECORD_HEADER_BYTES], "big")
        record, records = records[:record_bytes], records[record_bytes:]
        if datagram and len(datagram) + len(record) > DATAGRAM_BYTES_MAX:
            datagrams.append(datagram)
            datagram = b""
        datagram += record
    return [*datagrams, datagram] if datagram else datagrams


def create_self_signed_certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    """Return a self-signed certificate for a DTLS association."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "WebRTC")])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOT_BEFORE)
        .not_valid_after(_NOT_AFTER)
        .sign(key, hashes.SHA256())
    )


def compute_fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of a certificate in the form of SDP: pairs of upper-case hexadecimal digits, separated by colons."""
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()
