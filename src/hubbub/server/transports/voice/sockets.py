"""The TCP and UDP sockets of the voice server, and the addresses that clients receive."""

import functools
import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from hubbub.server.core.config import Config, ConfigError
from hubbub.server.core.config_sections import VoiceConfig


@dataclass(frozen=True)
class VoiceSockets:
    """The bound sockets and public addresses of the voice server."""

    tcp: socket.socket
    udp: socket.socket
    tls: ssl.SSLContext | None
    """The TLS context of the WebSocket server; None if a reverse proxy terminates TLS."""
    endpoint: str
    """host[:port] of the WebSocket URL (wss://) that clients connect to."""
    address: str
    """The IPv4 address that clients send UDP packets to."""

    @property
    def udp_port(self) -> int:
        """The port that clients send UDP packets to."""
        port: int = self.udp.getsockname()[1]
        return port


def is_voice_enabled(config: Config) -> bool:
    """Return whether this process runs a voice server.

    Clients require TLS, so it needs a certificate or an endpoint behind a TLS proxy (decisions/0050).
    """
    return "voice" in config.roles and (config.voice.certificate_file is not None or config.voice.endpoint is not None)


def bind(config: Config) -> VoiceSockets:
    """Bind both sockets; raise ConfigError if the settings do not work."""
    settings = config.voice
    tls = load_tls_context(settings)
    host = settings.host or config.host
    address = resolve_public_address(config)
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for sock, port, key in ((tcp, settings.port, "voice.port"), (udp, settings.udp_port, "voice.udp_port")):
            try:
                sock.bind((host, port))
            except OSError as error:
                raise ConfigError(
                    key, "voice server", f"cannot listen at {host}:{port}: {error.strerror or error}"
                ) from None
            sock.setblocking(False)
    except BaseException:
        tcp.close()
        udp.close()
        raise
    endpoint = settings.endpoint
    if endpoint is None:
        name = urlsplit(config.web_url).hostname or host
        endpoint = f"{name}:{tcp.getsockname()[1]}"
    return VoiceSockets(tcp, udp, tls, endpoint, address)


def load_tls_context(settings: VoiceConfig) -> ssl.SSLContext | None:
    """Return the TLS context of the configured certificate, or None; raise ConfigError if it is invalid."""
    if settings.certificate_file is None:
        return None
    key_file = settings.key_file or settings.certificate_file
    try:
        modified_ns = os.stat(settings.certificate_file).st_mtime_ns, os.stat(key_file).st_mtime_ns
        return _load_certificate(settings.certificate_file, key_file, modified_ns)
    except (OSError, ValueError) as error:
        # ssl.SSLError is an OSError.
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            "voice.certificate_file", settings.certificate_file, f"cannot be used with its key: {reason}"
        ) from None


@functools.lru_cache(maxsize=8)
def _load_certificate(certificate_file: str, key_file: str, modified_ns: tuple[int, int]) -> ssl.SSLContext:
    """Return the TLS context of a certificate; the forks of a rehearsal share it until a file is modified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate_file, key_file)
    return context


def resolve_public_address(config: Config) -> str:
    """Return the public IPv4 address of the voice server; raise ConfigError if it cannot be determined."""
    host = config.voice.public_address or config.voice.host or config.host
    try:
        address = ipaddress.ip_address(socket.gethostbyname(host))
    except (OSError, ValueError):
        address = None
    if address is None or address.version != 4 or address.is_unspecified:
        raise ConfigError(
            "voice.public_address",
            "voice server",
            f"clients cannot send packets to {host}; set the server's public IPv4 address",
        )
    return str(address)
